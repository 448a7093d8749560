/* Histories of a file, a repository or a bundle that the user names: without a run, nothing is kept. */
#include "core/facts/history_parts.h"

struct gathered {
    struct arena *arena;
    struct revision *list;
    size_t n, capacity;
};

static const struct config_change *copy_changes(struct arena *arena, const struct revision *r)
{
    struct config_change *changes = arena_array(arena, r->n_changes + 1, sizeof *changes);

    for (size_t i = 0; changes && i < r->n_changes; i++)
        changes[i] = (struct config_change){arena_strdup(arena, r->changes[i].name),
                                            arena_strdup(arena, r->changes[i].old_value),
                                            arena_strdup(arena, r->changes[i].new_value),
                                            r->changes[i].line};
    return changes;
}

static int gather(void *ctx, int64_t ord, const struct revision *r, struct error *err)
{
    struct gathered *g = ctx;
    struct revision copy = *r;
    struct revision *list;

    if (ord >= HISTORY_MAX_SHOWN)
        return OK;
    list = arena_room(g->arena, g->list, g->n, &g->capacity, sizeof *list);
    copy.commit = arena_strdup(g->arena, r->commit);
    copy.author = arena_strdup(g->arena, r->author);
    copy.subject = arena_strdup(g->arena, r->subject);
    copy.path = arena_strdup(g->arena, r->path);
    copy.old_path = arena_strdup(g->arena, r->old_path);
    copy.blob = arena_strdup(g->arena, r->blob);
    copy.by_lines = arena_strdup(g->arena, r->by_lines);
    copy.changes = copy_changes(g->arena, r);
    if (!list || arena_failed(g->arena))
        return error_set(err, E_NOMEM, "a history of %zu commits", g->n);
    g->list = list;
    g->list[g->n++] = copy;
    return OK;
}

static int history_without_run(const struct history_target *target, struct arena *arena,
                               struct config_history *out, struct error *err)
{
    struct gathered gathered = {.arena = arena};
    struct history_walk walk = {.target = target, .take = gather, .ctx = &gathered};
    char head[GIT_ID_HEX + 1];
    const struct json *notes = NULL;
    int rc = history_walk(&walk, err);

    if (rc != OK) {
        buf_free(&walk.notes);
        return rc;
    }
    git_id_hex(&target->place->head, head);
    *out = (struct config_history){.repository = target->place->path,
                                   .path = target->path,
                                   .head = arena_strdup(arena, head),
                                   .head_name = target->place->head_name,
                                   .revisions = gathered.list,
                                   .n_revisions = gathered.n,
                                   .n_all = walk.n_revisions,
                                   .n_walked = walk.n_walked,
                                   .is_whole = true,
                                   .used_at = -1};
    if (json_parse(str_of(arena_strdup(arena, walk.notes.p)), false, arena, &notes, NULL, NULL) == OK)
        history_take_notes(notes, arena, out);
    buf_free(&walk.notes);
    return history_use_find(NULL, target, arena, out, err);
}

int config_histories_of_path(const char *path, const struct repository_options *options,
                             struct arena *arena, const struct config_history **out, size_t *n,
                             struct error *err)
{
    struct history_search search = {.options = options, .arena = arena};
    struct config_history *list = arena_array(arena, HISTORY_MAX_TARGETS, sizeof *list);
    int rc = list ? history_search_path(&search, path, err) : error_set(err, E_NOMEM, "a history");

    *n = 0;
    for (size_t i = 0; rc == OK && i < search.n_targets; i++) {
        rc = history_without_run(&search.targets[i], arena, &list[*n], err);
        *n += rc == OK;
    }
    history_search_close(&search);
    *out = list;
    return rc;
}
