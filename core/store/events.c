/* What logs said. */
#include <string.h>

#include "core/store/db.h"

/* Each capture with its NUL. */
static void fill_captures(sqlite3_stmt *row, int column, struct arena *arena, struct event *event)
{
    const char *bytes = sqlite3_column_blob(row, column);
    size_t left = (size_t)sqlite3_column_bytes(row, column);

    while (bytes && left > 0 && event->n_captures < EVENT_MAX_CAPTURES) {
        size_t n = strnlen(bytes, left);

        event->captures[event->n_captures++] = arena_strndup(arena, bytes, n);
        n = n < left ? n + 1 : left;
        bytes += n;
        left -= n;
    }
}

static void fill_event(sqlite3_stmt *row, struct arena *arena, void *item)
{
    struct event *event = item;

    *event = (struct event){
        .id = sqlite3_column_int64(row, 0),
        .source_id = sqlite3_column_int64(row, 1),
        .seq = sqlite3_column_int64(row, 2),
        .kind = db_text(row, 3, arena),
        .pattern = db_text(row, 4, arena),
        .step = db_count(row, 5),
        .line = db_count(row, 6),
        .byte = db_count(row, 7),
        .text = db_text(row, 8, arena),
    };
    fill_captures(row, 9, arena, event);
}

int store_events(struct store *store, int64_t run_id, struct arena *arena,
                 const struct event **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct event)};
    int rc = db_load_by_id(store,
                           "SELECT e.id, e.source_id, e.seq, e.kind, e.pattern, e.step, e.line,"
                           " e.byte_off, e.text, e.captures"
                           " FROM source s JOIN event e ON e.source_id = s.id"
                           " WHERE s.run_id = ?1 ORDER BY s.id, e.seq, e.id",
                           run_id, &list, fill_event, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}
