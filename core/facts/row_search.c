/* See row_search.h. */
#include "core/facts/row_search.h"

#include <string.h>

#include "core/read/rows.h"

#define ROW_ARENA_BYTES ((size_t)64 << 20)

static bool holds(const struct json *value, const char *text)
{
    if (value->type == JSON_STRING)
        return str_find(value->text, text) >= 0;
    for (const struct json *child = value->child; child; child = child->next)
        if (holds(child, text))
            return true;
    return false;
}

static void look_at(const struct json *tree, int64_t row, struct row_search *searches, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!holds(tree, searches[i].text))
            continue;
        searches[i].n_rows++;
        if (searches[i].first_row == NONE)
            searches[i].first_row = row;
    }
}

int64_t row_search(const struct run_facts *facts, const struct dataset *dataset,
                   struct row_search *searches, size_t n)
{
    const struct source *source = dataset ? facts_source(facts, dataset->source_id) : NULL;
    struct arena *arena = source ? arena_open(ROW_ARENA_BYTES) : NULL;
    struct rows *rows = NULL;
    struct error why, err;
    int64_t n_rows = 0;

    for (size_t i = 0; i < n; i++) {
        searches[i].n_rows = 0;
        searches[i].first_row = NONE;
    }
    bool is_facts = dataset && dataset->form && strcmp(dataset->form, "facts") == 0;
    if (!arena || is_facts || rows_open(&rows, source->path, &err) != OK)
        goto out;
    for (const struct json *tree; n_rows < ROW_SEARCH_ROWS; n_rows++) {
        struct row_place place;

        arena_reset(arena);
        if (rows_next(rows, arena, &tree, &place, &why, &err) <= 0)
            break;
        if (tree)
            look_at(tree, place.row, searches, n);
    }
out:
    rows_close(rows);
    arena_close(arena);
    return n_rows;
}
