/* Audits of rows: what core/facts made of a data set's rows, kept so that an unchanged run does not
 * pay for it again. The head is the maker's own text; the rows are columns of numbers in blocks. */
#include <string.h>

#include "core/store/blocks.h"

static uint64_t hash_head(const char *head, size_t n)
{
    return block_hash_more(n, head, n);
}

/* A head that is damaged is as good as none. */
static void fill_audit(sqlite3_stmt *row, struct arena *arena, void *item)
{
    const char *head = db_text(row, 4, arena);
    bool is_sound = head && hash_head(head, strlen(head)) == (uint64_t)sqlite3_column_int64(row, 5);

    *(struct stored_audit *)item = (struct stored_audit){
        .id = sqlite3_column_int64(row, 0),
        .dataset_id = sqlite3_column_int64(row, 1),
        .key = (uint64_t)sqlite3_column_int64(row, 2),
        .n_rows = sqlite3_column_int64(row, 3),
        .head = is_sound ? head : NULL,
    };
}

int store_audits(struct store *store, int64_t run_id, struct arena *arena,
                 const struct stored_audit **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct stored_audit)};
    int rc = db_load_by_id(store,
                           "SELECT id, dataset_id, key, n_rows, head, hash FROM audit"
                           " WHERE run_id = ?1 ORDER BY id",
                           run_id, &list, fill_audit, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static int damaged(struct store *store, struct error *err)
{
    int rc = error_set(err, E_DB, "the audited rows are damaged in the database");

    error_at(err, store->cache_path, NONE, NONE);
    store->is_damaged = true;
    return rc;
}

static bool take_block(sqlite3_stmt *row, size_t n, size_t at, int32_t *const *columns)
{
    int64_t numbers[COLUMN_MAX_ROWS];
    uint64_t hash = n;

    for (int c = 0; c < AUDIT_COLUMNS; c++) {
        const uint8_t *bytes = sqlite3_column_blob(row, 2 + c);
        size_t n_bytes = (size_t)sqlite3_column_bytes(row, 2 + c);

        hash = block_hash_more(hash, bytes, n_bytes);
        if (!column_decode(bytes, n_bytes, numbers, n))
            return false;
        for (size_t i = 0; i < n; i++)
            columns[c][at + i] = (int32_t)numbers[i];
    }
    return hash == (uint64_t)sqlite3_column_int64(row, 1);
}

static int take_blocks(struct store *store, const struct stored_audit *audit,
                       int32_t *const *columns, struct error *err)
{
    size_t n = (size_t)audit->n_rows, at = 0;
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "SELECT n, hash, c0, c1, c2, c3, c4, c5"
                        " FROM audit_block WHERE audit_id = ?1 ORDER BY block",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, audit->id);
    while ((rc = db_step(store, statement, err)) == 1) {
        int64_t n_block = sqlite3_column_int64(statement, 0);

        if (n_block < 1 || n_block > COLUMN_MAX_ROWS || (size_t)n_block > n - at ||
            !take_block(statement, (size_t)n_block, at, columns)) {
            sqlite3_reset(statement);
            return damaged(store, err);
        }
        at += (size_t)n_block;
    }
    /* Another connection may have put a newer one in its place: then there are none of this one. */
    return rc == OK && at != n && at != 0 ? damaged(store, err) : rc == OK && at != n ? 1 : rc;
}

int store_audit_rows(struct store *store, const struct stored_audit *audit, struct arena *arena,
                     const int32_t *columns[AUDIT_COLUMNS], struct error *err)
{
    int32_t *own[AUDIT_COLUMNS];

    for (int c = 0; c < AUDIT_COLUMNS; c++) {
        own[c] = arena_array(arena, (size_t)audit->n_rows + 1, sizeof **own);
        if (!own[c])
            return error_set(err, E_NOMEM, "no memory for %lld audited rows",
                             (long long)audit->n_rows);
        columns[c] = own[c];
    }
    int rc = take_blocks(store, audit, own, err);
    return rc == 1 ? error_set(err, E_NOTFOUND, "the audit was replaced meanwhile") : rc;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static int put_head(struct store *store, int64_t run_id, const struct stored_audit *audit,
                    struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "INSERT INTO audit (run_id, dataset_id, key, n_rows, head, hash)"
                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, run_id);
    db_bind_int(store, statement, 2, audit->dataset_id);
    db_bind_int(store, statement, 3, (int64_t)audit->key);
    db_bind_int(store, statement, 4, audit->n_rows);
    db_bind_text(store, statement, 5, audit->head);
    db_bind_int(store, statement, 6, (int64_t)hash_head(audit->head, strlen(audit->head)));
    return db_run(store, statement, err);
}

static int encode(struct column *columns, const int32_t *const rows[AUDIT_COLUMNS], size_t from,
                  size_t n, struct error *err)
{
    for (int c = 0; c < AUDIT_COLUMNS; c++) {
        column_clear(&columns[c]);
        bool has_room = true;

        for (size_t i = 0; has_room && i < n; i++)
            has_room = column_add(&columns[c], rows[c][from + i]);
        if (!has_room || !column_end(&columns[c]))
            return error_set(err, E_NOMEM, "no memory for audited rows");
    }
    return OK;
}

static int put_block(struct store *store, int64_t audit_id, int64_t block, size_t n,
                     const struct column *columns, struct error *err)
{
    uint64_t hash = n;
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "INSERT INTO audit_block (audit_id, block, n, c0, c1, c2, c3, c4, c5, hash)"
                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, audit_id);
    db_bind_int(store, statement, 2, block);
    db_bind_int(store, statement, 3, (int64_t)n);
    for (int c = 0; c < AUDIT_COLUMNS; c++) {
        const void *bytes = columns[c].has_any ? columns[c].bytes : NULL;
        size_t n_bytes = bytes ? columns[c].n : 0;

        db_bind_blob(store, statement, 4 + c, bytes, n_bytes);
        hash = block_hash_more(hash, bytes, n_bytes);
    }
    db_bind_int(store, statement, 10, (int64_t)hash);
    return db_run(store, statement, err);
}

static int put_rows(struct store *store, int64_t audit_id, size_t n,
                    const int32_t *const rows[AUDIT_COLUMNS], struct error *err)
{
    struct column columns[AUDIT_COLUMNS] = {0};
    int64_t block = 0;
    int rc = OK;

    for (size_t from = 0; from < n && rc == OK; from += COLUMN_MAX_ROWS) {
        size_t n_block = n - from < COLUMN_MAX_ROWS ? n - from : COLUMN_MAX_ROWS;

        rc = encode(columns, rows, from, n_block, err);
        if (rc == OK)
            rc = put_block(store, audit_id, block++, n_block, columns, err);
    }
    for (int c = 0; c < AUDIT_COLUMNS; c++)
        column_free(&columns[c]);
    return rc;
}

int store_audit_put(struct store *store, int64_t run_id, struct stored_audit *audit,
                    const int32_t *const rows[AUDIT_COLUMNS], struct error *err)
{
    db_batch_leave(store);
    int rc = store_begin(store, err);

    if (rc != OK)
        return rc;
    rc = db_run_id(store, "DELETE FROM audit WHERE dataset_id = ?1", audit->dataset_id, err);
    if (rc == OK)
        rc = put_head(store, run_id, audit, err);
    if (rc == OK) {
        audit->id = sqlite3_last_insert_rowid(store->db);
        rc = put_rows(store, audit->id, (size_t)audit->n_rows, rows, err);
    }
    if (rc == OK)
        return store_commit(store, err);
    store_rollback(store);
    return rc;
}

int store_audit_drop(struct store *store, int64_t id, struct error *err)
{
    db_batch_leave(store);
    return db_run_id(store, "DELETE FROM audit WHERE id = ?1", id, err);
}
