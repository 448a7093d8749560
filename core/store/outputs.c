/* What models wrote when asked: generations. */
#include "core/store/db.h"

static void fill_generation(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct generation *)item = (struct generation){
        .source_id = sqlite3_column_int64(row, 0),
        .ord = sqlite3_column_int64(row, 1),
        .row = db_count(row, 2),
        .step = db_count(row, 3),
        .model = db_text(row, 4, arena),
        .finish_reason = db_text(row, 5, arena),
        .n_tokens = db_count(row, 6),
        .max_new_tokens = db_count(row, 7),
        .batch = db_count(row, 8),
        .exact = sqlite3_column_int(row, 9),
        .flags = (unsigned)sqlite3_column_int(row, 10),
        .prompt_hash = sqlite3_column_int64(row, 11),
        .output_hash = sqlite3_column_int64(row, 12),
    };
}

int store_generations(struct store *store, int64_t run_id, struct arena *arena,
                      const struct generation **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct generation)};
    int rc = db_load_by_id(store,
                           "SELECT g.source_id, g.ord, g.row_no, g.step, g.model,"
                           " g.finish_reason, g.n_tokens, g.max_new_tokens, g.batch, g.exact,"
                           " g.flags, g.prompt_hash, g.output_hash"
                           " FROM source s JOIN generation g ON g.source_id = s.id"
                           " WHERE s.run_id = ?1 ORDER BY s.id, g.ord, g.id",
                           run_id, &list, fill_generation, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}
