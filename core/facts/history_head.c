/* What the cache keeps of a history and of a run's place in it, as JSON: written, read, asked. */
#include "core/facts/history_parts.h"

#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/facts/run_time.h"

#define HEAD_BYTES ((size_t)1 << 20)
#define MAX_DIRTY  200

static void put_text(struct buf *out, const char *name, const char *text)
{
    if (!text)
        return;
    buf_printf(out, ",\"%s\":", name);
    json_write_string(out, str_of(text));
}

static void put_optional(struct buf *out, const char *text)
{
    if (text)
        json_write_string(out, str_of(text));
    else
        buf_puts(out, "null");
}

static void put_changes(struct buf *out, const char *name, const struct config_change *changes, size_t n)
{
    buf_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < n && i < MAX_DIRTY; i++) {
        const struct config_change *c = &changes[i];

        buf_puts(out, i ? ",[" : "[");
        json_write_string(out, str_of(c->name));
        buf_putc(out, ',');
        put_optional(out, c->old_value);
        buf_putc(out, ',');
        put_optional(out, c->new_value);
        buf_printf(out, ",%lld]", (long long)c->line);
    }
    buf_putc(out, ']');
}

/* Of a run's part. */
static void put_run_head(struct buf *out, const struct config_history *h, int64_t began)
{
    buf_printf(out, "{\"use\":%d,\"is_dirty\":%d,\"is_uncommitted\":%d", (int)h->use, h->is_dirty,
               h->is_uncommitted);
    if (began != NONE)
        buf_printf(out, ",\"began\":%lld", (long long)began);
    put_text(out, "repository", h->repository);
    put_text(out, "path", h->path);
    put_text(out, "problem", h->problem);
    put_text(out, "run_file", h->run_file);
    put_text(out, "working_file", h->working_file);
    if (h->working_file)
        buf_printf(out, ",\"working_stamp\":\"%016llx\"", (unsigned long long)history_stamp(h->working_file));
    put_text(out, "used", h->used);
    put_text(out, "because", h->because);
    if (h->used_at >= 0 && h->used_at < (ptrdiff_t)h->n_revisions)
        put_text(out, "at_commit", h->revisions[h->used_at].commit);
    put_text(out, "dirty_from", h->dirty_from);
    put_changes(out, "dirty", h->dirty, h->n_dirty);
    put_changes(out, "uncommitted", h->uncommitted, h->n_uncommitted);
    buf_putc(out, '}');
}

static const char *text_in(const struct json *tree, const char *name, struct arena *arena)
{
    const struct json *value = json_get(tree, name);

    return json_is(value, JSON_STRING) ? arena_strndup(arena, value->text.p, value->text.n) : NULL;
}

static int64_t number_in(const struct json *value, int64_t otherwise)
{
    return json_is(value, JSON_NUMBER) && value->number > -9e15 && value->number < 9e15
               ? (int64_t)value->number
               : otherwise;
}

static const char *text_of(const struct json *value, struct arena *arena)
{
    return json_is(value, JSON_STRING) ? arena_strndup(arena, value->text.p, value->text.n) : NULL;
}

static const struct config_change *take_changes(const struct json *list, struct arena *arena, size_t *n)
{
    struct config_change *changes =
        json_is(list, JSON_ARRAY) ? arena_array(arena, list->n + 1, sizeof *changes) : NULL;

    for (const struct json *item = changes ? list->child : NULL; item; item = item->next) {
        const struct json *name = item->child, *old = name ? name->next : NULL;
        const struct json *new = old ? old->next : NULL;

        if (new)
            changes[(*n)++] = (struct config_change){text_of(name, arena) ? text_of(name, arena) : "",
                                                     text_of(old, arena), text_of(new, arena),
                                                     number_in(new->next, NONE)};
    }
    return changes;
}

void history_take_run_head(const char *head, struct arena *arena, struct config_history *h,
                          struct history_run_part *part)
{
    const struct json *tree;

    *part = (struct history_run_part){.began = NONE};
    h->used_at = -1;
    if (!head || json_parse(str_of(head), false, arena, &tree, NULL, NULL) != OK)
        return;
    int64_t use = number_in(json_get(tree, "use"), 0);
    h->use = use >= 0 && use <= HISTORY_USE_TIME ? (enum history_use)use : HISTORY_USE_UNKNOWN;
    part->at_commit = text_in(tree, "at_commit", arena);
    h->is_dirty = number_in(json_get(tree, "is_dirty"), 0) == 1;
    h->repository = text_in(tree, "repository", arena);
    h->path = text_in(tree, "path", arena);
    h->problem = text_in(tree, "problem", arena);
    h->run_file = text_in(tree, "run_file", arena);
    h->working_file = text_in(tree, "working_file", arena);
    h->used = text_in(tree, "used", arena);
    h->because = text_in(tree, "because", arena);
    h->dirty_from = text_in(tree, "dirty_from", arena);
    h->is_uncommitted = number_in(json_get(tree, "is_uncommitted"), 0) == 1;
    h->dirty = take_changes(json_get(tree, "dirty"), arena, &h->n_dirty);
    h->uncommitted = take_changes(json_get(tree, "uncommitted"), arena, &h->n_uncommitted);
    part->began = number_in(json_get(tree, "began"), NONE);
}

/* Shallow clones: what was fetched since makes the history longer at its end. */
static uint64_t boundary_of(const struct repository *repository)
{
    return repository->n_shallow
               ? hash_bytes(repository->shallow, repository->n_shallow * sizeof(struct git_id))
               : 0;
}

/* Of the shared part. `notes`: a list of JSON texts. */
void history_put_head(struct buf *out, const struct history_place *place,
                             const struct history_walk *walk)
{
    buf_printf(out, "{\"n_walked\":%lld,\"boundary\":\"%016llx\",\"head_name\":", (long long)walk->n_walked,
               (unsigned long long)boundary_of(place->repository));
    json_write_string(out, str_of(place->head_name));
    buf_puts(out, ",\"notes\":");
    buf_str(out, walk->notes.failed ? str_of("[]") : buf_view(&walk->notes));
    buf_putc(out, '}');
}

void history_take_notes(const struct json *list, struct arena *arena, struct config_history *h)
{
    const char **notes = json_is(list, JSON_ARRAY) ? arena_array(arena, list->n + 1, sizeof *notes) : NULL;

    for (const struct json *item = notes ? list->child : NULL; item; item = item->next)
        if (json_is(item, JSON_STRING))
            notes[h->n_notes++] = text_of(item, arena);
    h->notes = notes;
}

void history_take_head(const char *head, struct arena *arena, struct config_history *h)
{
    const struct json *tree;

    h->head_name = "";
    if (!head || json_parse(str_of(head), false, arena, &tree, NULL, NULL) != OK)
        return;
    const char *name = text_in(tree, "head_name", arena);
    h->head_name = name ? name : "";
    h->n_walked = number_in(json_get(tree, "n_walked"), 0);
    history_take_notes(json_get(tree, "notes"), arena, h);
}

bool history_has_boundary(const struct stored_history *stored, const struct repository *repository,
                              struct arena *arena, int64_t *n_walked, size_t *n_notes)
{
    char boundary[24];
    const struct json *tree;

    if (!stored->head || json_parse(str_of(stored->head), false, arena, &tree, NULL, NULL) != OK)
        return false;
    const char *known = text_in(tree, "boundary", arena);
    const struct json *notes = json_get(tree, "notes");
    *n_walked = number_in(json_get(tree, "n_walked"), 0);
    *n_notes = json_is(notes, JSON_ARRAY) ? notes->n : 0;
    snprintf(boundary, sizeof boundary, "%016llx", (unsigned long long)boundary_of(repository));
    return known && strcmp(known, boundary) == 0;
}

/* The file of the work tree need not be one of the run's own, whose times are in the key. */
bool history_has_working_file(const char *head, struct arena *arena)
{
    const struct json *tree;
    char stamp[24];

    if (!head || json_parse(str_of(head), false, arena, &tree, NULL, NULL) != OK)
        return false;
    const char *path = text_in(tree, "working_file", arena);
    const char *known = text_in(tree, "working_stamp", arena);
    if (!path || !known)
        return true;
    snprintf(stamp, sizeof stamp, "%016llx", (unsigned long long)history_stamp(path));
    return strcmp(stamp, known) == 0;
}

const char *history_run_head(const struct run_facts *facts, const struct config_history *h,
                            struct arena *arena)
{
    struct buf out;

    buf_init(&out, HEAD_BYTES);
    put_run_head(&out, h, run_began(facts));
    const char *text = out.failed ? "{}" : arena_strdup(arena, out.p);
    buf_free(&out);
    return text;
}
