/* Datasets and the facts of their rows, read back from the blocks that sink_store.c writes. */
#include "core/store/blocks.h"

static void fill_dataset(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct dataset *)item = (struct dataset){
        .id = sqlite3_column_int64(row, 0),
        .source_id = sqlite3_column_int64(row, 1),
        .name = db_text(row, 2, arena),
        .split = db_text(row, 3, arena),
        .form = db_text(row, 4, arena),
        .columns = db_text(row, 5, arena),
        .n_rows = db_count(row, 6),
        .n_unreadable = db_count(row, 7),
    };
}

int store_datasets(struct store *store, int64_t run_id, struct arena *arena,
                   const struct dataset **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct dataset)};
    int rc = db_load_by_id(store,
                           "SELECT d.id, d.source_id, d.name, d.split, d.form, d.columns,"
                           " d.n_rows, d.n_unreadable"
                           " FROM source s JOIN dataset d ON d.source_id = s.id"
                           " WHERE s.run_id = ?1 ORDER BY s.id, d.id",
                           run_id, &list, fill_dataset, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

/* ---- Samples -------------------------------------------------------------------------------- */

static bool take_column(sqlite3_stmt *row, int column, int64_t *out, size_t n)
{
    const uint8_t *bytes = sqlite3_column_blob(row, column);

    return column_decode(bytes, (size_t)sqlite3_column_bytes(row, column), out, n);
}

/* As blocks.c made it. */
static bool is_sound(sqlite3_stmt *row)
{
    uint64_t hash = (uint64_t)sqlite3_column_int64(row, 0);

    for (int i = 1; i <= N_SAMPLE_COLUMNS; i++) {
        const void *bytes = sqlite3_column_blob(row, i);

        hash = block_hash_more(hash, bytes, (size_t)sqlite3_column_bytes(row, i));
    }
    return hash == (uint64_t)sqlite3_column_int64(row, 7);
}

static bool take_block(sqlite3_stmt *row, struct sample *out, size_t n)
{
    int64_t numbers[COLUMN_MAX_ROWS];

    if (!is_sound(row) || !take_column(row, 1, numbers, n))
        return false;
    for (size_t i = 0; i < n; i++)
        out[i].at = numbers[i];
    if (!take_column(row, 2, numbers, n))
        return false;
    for (size_t i = 0; i < n; i++)
        out[i].length = numbers[i];
    if (!take_column(row, 3, numbers, n))
        return false;
    for (size_t i = 0; i < n; i++)
        out[i].flags = numbers[i] < 0 ? 0 : (uint32_t)numbers[i];
    if (!take_column(row, 4, numbers, n))
        return false;
    for (size_t i = 0; i < n; i++)
        out[i].n_tokens = (int32_t)numbers[i];
    if (!take_column(row, 5, numbers, n))
        return false;
    for (size_t i = 0; i < n; i++)
        out[i].n_prompt_tokens = (int32_t)numbers[i];
    if (!take_column(row, 6, numbers, n))
        return false;
    for (size_t i = 0; i < n; i++)
        out[i].n_trained = (int32_t)numbers[i];
    return true;
}

/* `count` stays on its row, so that both reads see the same state of the database. */
static int make_rows(struct store *store, sqlite3_stmt *count, struct arena *arena,
                     struct sample **rows, size_t *n, struct error *err)
{
    int rc = db_step(store, count, err);

    if (rc < 0)
        return rc;
    *n = rc == 1 ? (size_t)sqlite3_column_int64(count, 0) : 0;
    *rows = arena_array(arena, *n, sizeof **rows);
    return db_arena_check(arena, "the rows of a dataset", err);
}

static int take_blocks(struct store *store, int64_t dataset_id, struct sample *rows, size_t n,
                       struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "SELECT n, at, length, flags, n_tokens, n_prompt_tokens, n_trained, hash"
                        " FROM sample_block WHERE dataset_id = ?1 ORDER BY block",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, dataset_id);
    while ((rc = db_step(store, statement, err)) == 1) {
        int64_t n_block = sqlite3_column_int64(statement, 0);

        if (n_block < 1 || n_block > COLUMN_MAX_ROWS || (size_t)n_block > n ||
            !take_block(statement, rows, (size_t)n_block)) {
            sqlite3_reset(statement);
            rc = error_set(err, E_DB, "the rows of a dataset are damaged in the database");
            error_at(err, store->cache_path, NONE, NONE);
            store->is_damaged = true;
            return rc;
        }
        rows += n_block;
        n -= (size_t)n_block;
    }
    return rc;
}

int store_samples(struct store *store, int64_t dataset_id, struct arena *arena,
                  const struct sample **out, size_t *n, struct error *err)
{
    struct sample *rows = NULL;
    size_t n_rows = 0;
    sqlite3_stmt *count;
    int rc = db_prepare(store,
                        "SELECT coalesce(sum(n), 0) FROM sample_block WHERE dataset_id = ?1",
                        &count, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, count, 1, dataset_id);
    rc = make_rows(store, count, arena, &rows, &n_rows, err);
    if (rc == OK)
        rc = take_blocks(store, dataset_id, rows, n_rows, err);
    sqlite3_reset(count);
    if (rc != OK)
        return rc;
    *out = rows;
    *n = n_rows;
    return OK;
}
