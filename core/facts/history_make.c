/* One file's commits, each with what it changed setting by setting. */
#include <stdlib.h>
#include <string.h>

#include "core/facts/history_parts.h"

#define SCRATCH_BYTES ((size_t)128 << 20)
#define NOTES_BYTES   ((size_t)16 << 10)

/* ---- Versions ---- */

/* A version parsed once serves two revisions: as the new text of the older one and the old text of the
 * newer one. Two arenas in turn. */
struct version {
    struct arena *arena;
    char blob[GIT_ID_HEX + 1];          /* "": none is held */
    struct str text;                    /* p NULL: the file was not there */
    const char *problem;                /* its content cannot be had: why */
};

struct maker {
    struct history_walk *walk;
    struct repository *repository;
    struct version held[2];
    int newest;                         /* which of them was filled last */
    struct arena *scratch;              /* one revision */
    int64_t ord;
};

int history_text(struct repository *repository, const char *blob, struct arena *arena,
                 struct str *out, struct error *err)
{
    struct object object;
    struct git_id id;
    int rc = git_id_parse(str_of(blob), &id) ? OK : error_set(err, E_GIT, "%s is no id", blob);

    if (rc == OK)
        rc = objects_read(repository->objects, &id, OBJECT_BLOB, CONFIG_TEXT_BYTES, &object, err);
    if (rc != OK)
        return rc;
    *out = str_from(arena_strndup(arena, object.bytes.n ? object.bytes.p : "", object.bytes.n),
                    object.bytes.n);
    object_free(&object);
    return arena_failed(arena) ? error_set(err, E_NOMEM, "a version of a file") : OK;
}

static const char *why_not(struct arena *arena, int rc, const struct repository *repository,
                           const struct error *why)
{
    if (rc == E_NOTFOUND && repository->is_partial)
        return "content not fetched (a partial clone)";
    return arena_strdup(arena, why->message);
}

/* The version of an entry; from what is held when it is there. */
static struct version *version_of(struct maker *m, const struct tree_entry *entry)
{
    char hex[GIT_ID_HEX + 1] = "";
    struct error why;

    if (entry->mode)
        git_id_hex(&entry->id, hex);
    for (int i = 0; i < 2; i++)
        if (m->held[i].blob[0] && strcmp(m->held[i].blob, hex) == 0) {
            m->newest = i;
            return &m->held[i];
        }
    m->newest = 1 - m->newest;
    struct version *v = &m->held[m->newest];
    arena_reset(v->arena);
    v->text = (struct str){NULL, 0};
    v->problem = NULL;
    memcpy(v->blob, hex, sizeof hex);
    if (!entry->mode)
        return v;
    if ((entry->mode & MODE_KIND) == MODE_SUBMODULE) {
        v->problem = "a submodule: its own repository has the history";
        return v;
    }
    int rc = history_text(m->repository, hex, v->arena, &v->text, &why);
    if (rc != OK)
        v->problem = why_not(v->arena, rc, m->repository, &why);
    return v;
}

/* ---- Revisions ---- */

static void describe_change(struct maker *m, const struct history_row *row, struct revision *r,
                            struct error *err, int *rc)
{
    /* The new version first: it is the old one of the revision before, and held. */
    struct version *new = version_of(m, &row->entry);
    struct version *old = version_of(m, &row->old_entry);
    struct config_diff diff = {.n = 0};

    if (new->problem || old->problem) {
        r->by_lines = arena_printf(m->scratch, "not compared: %s",
                                   new->problem ? new->problem : old->problem);
        return;
    }
    *rc = config_diff_texts(row->path, old->text, new->text, m->scratch, &diff, err);
    r->n_settings = (int64_t)diff.n_settings;
    r->by_lines = diff.by_lines;
    /* What a new file states is its content, not a change. */
    if (!row->entry.mode || !row->old_entry.mode)
        return;
    r->changes = diff.changes;
    r->n_changes = diff.n;
    r->n_more = (int64_t)diff.n_more;
}

static int take_row(struct maker *m, const struct history_row *row, struct error *err)
{
    char commit[GIT_ID_HEX + 1], blob[GIT_ID_HEX + 1];
    struct revision r = {.commit = commit,
                         .author_time = row->author_time,
                         .commit_time = row->commit_time,
                         .author_offset = row->author_offset,
                         .author = row->author,
                         .subject = row->subject,
                         .path = row->path,
                         .old_path = row->old_path,
                         .status = history_status_name(row->status),
                         .similarity = row->similarity};
    int rc = OK;

    git_id_hex(&row->commit, commit);
    if (row->entry.mode) {
        git_id_hex(&row->entry.id, blob);
        r.blob = blob;
    }
    arena_reset(m->scratch);
    describe_change(m, row, &r, err, &rc);
    return rc == OK ? m->walk->take(m->walk->ctx, m->ord++, &r, err) : rc;
}

/* ---- Notes ---- */

static void add_note(struct history_walk *walk, const char *text)
{
    buf_puts(&walk->notes, walk->notes.n > 1 ? "," : "");
    json_write_string(&walk->notes, str_of(text));
}

static void add_notes(struct history_walk *walk, const struct repository *repository,
                      const struct history_sum *sum, struct arena *arena)
{
    if (sum->ends_shallow && !repository->is_bundle)
        add_note(walk, "a shallow clone: older commits were not fetched");
    if (repository->is_bundle && (sum->ends_shallow || sum->n_missing_commits))
        add_note(walk, "the bundle holds only a part of the history");
    else if (repository->is_partial && sum->n_missing_commits)
        add_note(walk, arena_printf(arena, "a partial clone: %lld commits have trees that were not fetched, "
                                    "their changes are not seen", (long long)sum->n_missing_commits));
    else if (sum->n_missing_commits)
        add_note(walk, arena_printf(arena, "%lld commits are missing or damaged (%s): what lies behind "
                                    "them is not seen", (long long)sum->n_missing_commits,
                                    sum->first_problem ? sum->first_problem : "no reason known"));
    if (sum->n_missing_contents)
        add_note(walk, "contents were not fetched (a partial clone): a rename may be missed");
    if (sum->is_bounded)
        add_note(walk, "an origin was looked for among some of the files only");
    if (sum->is_cut)
        add_note(walk, arena_printf(arena, "only the newest %lld commits were looked at",
                                    (long long)sum->n_commits));
    if (walk->target->place->is_bounded)
        add_note(walk, HISTORY_BOUNDED);
    if (repository->is_worktree)
        add_note(walk, arena_printf(arena, "a linked worktree of %s", repository->common_folder));
}

/* ---- Walking ---- */

static int on_step(void *ctx, int64_t n_commits, struct error *err)
{
    const struct maker *m = ctx;
    const struct audit_hooks *hooks = m->walk->hooks;

    if (!hooks)
        return OK;
    if (hooks->cancel && atomic_load(hooks->cancel))
        return error_set(err, E_CANCELLED, "stopped after %lld commits", (long long)n_commits);
    return hooks->yield ? hooks->yield(hooks->ctx, err) : OK;
}

static int walk_rows(struct maker *m, struct history *history, struct error *err)
{
    struct history_row row;
    int rc;

    while ((rc = history_next(history, &row, err)) == 1) {
        rc = take_row(m, &row, err);
        if (rc != OK)
            return rc;
    }
    return rc;
}

int history_walk(struct history_walk *walk, struct error *err)
{
    struct maker m = {.walk = walk, .ord = walk->first_ord, .repository = walk->target->place->repository,
                      .held = {{.arena = arena_open(SCRATCH_BYTES)}, {.arena = arena_open(SCRATCH_BYTES)}},
                      .scratch = arena_open(SCRATCH_BYTES)};
    const struct history_options options = {.from = &walk->target->place->head, .step = on_step, .ctx = &m,
                                            .until = walk->until};
    struct history *history = NULL;
    struct history_sum sum;
    int rc = m.held[0].arena && m.held[1].arena && m.scratch ? OK
                                                             : error_set(err, E_NOMEM, "a file's history");

    buf_init(&walk->notes, NOTES_BYTES);
    buf_putc(&walk->notes, '[');
    if (rc == OK)
        rc = history_open(&history, m.repository, walk->target->path, &options, err);
    if (rc == OK)
        rc = walk_rows(&m, history, err);
    if (history) {
        history_sum(history, &sum);
        add_notes(walk, m.repository, &sum, m.scratch);
        walk->n_walked = sum.n_commits;
    }
    buf_putc(&walk->notes, ']');
    walk->n_revisions = m.ord - walk->first_ord;
    walk->is_stopped = rc == E_CANCELLED;
    history_close(history);
    arena_close(m.held[0].arena);
    arena_close(m.held[1].arena);
    arena_close(m.scratch);
    return rc == E_CANCELLED ? OK : rc;
}

#define MAX_NEW_COMMITS 5000            /* beyond it the first rows would wait */

int history_count_new(const struct history_target *target, const struct git_id *until,
                      const struct audit_hooks *hooks, int64_t *n_revisions, struct error *err)
{
    struct history_walk walk = {.hooks = hooks};
    struct maker m = {.walk = &walk};
    const struct history_options options = {.from = &target->place->head, .step = on_step, .ctx = &m,
                                            .until = until, .max_commits = MAX_NEW_COMMITS};
    struct history *history = NULL;
    struct history_row row;
    struct history_sum sum;
    int64_t n = 0;
    int rc = history_open(&history, target->place->repository, target->path, &options, err);

    *n_revisions = -1;
    if (rc != OK)
        return rc;
    while ((rc = history_next(history, &row, err)) == 1)
        n++;
    history_sum(history, &sum);
    if (rc == OK && sum.reached_until && !sum.ends_shallow && !sum.is_bounded && !sum.n_missing_commits &&
        !sum.n_missing_contents)
        *n_revisions = n;
    history_close(history);
    return rc;
}
