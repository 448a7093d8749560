/* Models and parts of them, with their tensors. */
#include "core/store/db.h"

static void fill_artefact(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct artefact *)item = (struct artefact){
        .id = sqlite3_column_int64(row, 0),
        .source_id = sqlite3_column_int64(row, 1),
        .kind = db_text(row, 2, arena),
        .role = db_text(row, 3, arena),
        .path = db_text(row, 4, arena),
        .size = db_count(row, 5),
        .step = db_count(row, 6),
        .sha256 = db_text(row, 7, arena),
    };
}

int store_artefacts(struct store *store, int64_t run_id, struct arena *arena,
                    const struct artefact **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct artefact)};
    int rc = db_load_by_id(store,
                           "SELECT a.id, a.source_id, a.kind, a.role, a.path, a.size, a.step,"
                           " a.sha256 FROM source s JOIN artefact a ON a.source_id = s.id"
                           " WHERE s.run_id = ?1 ORDER BY s.id, a.id",
                           run_id, &list, fill_artefact, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

static void fill_tensor(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct tensor *)item = (struct tensor){
        .name = db_text(row, 0, arena),
        .dtype = db_text(row, 1, arena),
        .shape = db_text(row, 2, arena),
        .n_values = db_count(row, 3),
        .norm = db_double(row, 4),
        .n_nonzero = db_count(row, 5),
        .n_nonfinite = db_count(row, 6),
        .delta_norm = db_double(row, 7),
        .content_hash = db_count(row, 8),
    };
}

int store_tensors(struct store *store, int64_t artefact_id, struct arena *arena,
                  const struct tensor **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct tensor)};
    int rc = db_load_by_id(store,
                           "SELECT name, dtype, shape, n_values, norm, n_nonzero, n_nonfinite,"
                           " delta_norm, content_hash"
                           " FROM tensor WHERE artefact_id = ?1 ORDER BY ord",
                           artefact_id, &list, fill_tensor, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

/* ---- Measured on request ---- */

static int put_hash(struct store *store, int64_t artefact_id, const struct source *file,
                    const char *sha256, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store, "UPDATE artefact SET sha256 = ?2 WHERE id = ?1", &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, artefact_id);
    db_bind_text(store, statement, 2, sha256);
    rc = db_run(store, statement, err);
    if (rc == OK)
        rc = db_prepare(store,
                        "INSERT OR REPLACE INTO file_hash (device, inode, size, mtime_ns, sha256)"
                        " VALUES (?1, ?2, ?3, ?4, ?5)",
                        &statement, err);
    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, file->device);
    db_bind_int(store, statement, 2, file->inode);
    db_bind_int(store, statement, 3, file->size);
    db_bind_int(store, statement, 4, file->mtime_ns);
    db_bind_text(store, statement, 5, sha256);
    return db_run(store, statement, err);
}

static int put_values(struct store *store, int64_t artefact_id, int64_t ord,
                      const struct tensor *tensor, struct error *err)
{
    uint8_t bits[8], delta_bits[8];
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "UPDATE tensor SET norm = ?4, n_nonzero = ?5, n_nonfinite = ?6,"
                        " delta_norm = ?7, content_hash = ?8"
                        " WHERE artefact_id = ?1 AND ord = ?2 AND name = ?3",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, artefact_id);
    db_bind_int(store, statement, 2, ord);
    db_bind_text(store, statement, 3, tensor->name);
    db_bind_double(store, statement, 4, tensor->norm, bits);
    db_bind_count(store, statement, 5, tensor->n_nonzero);
    db_bind_count(store, statement, 6, tensor->n_nonfinite);
    db_bind_double(store, statement, 7, tensor->delta_norm, delta_bits);
    db_bind_int(store, statement, 8, tensor->content_hash);
    return db_run(store, statement, err);
}

static void fill_first(sqlite3_stmt *row, struct arena *arena, void *item)
{
    (void)arena;
    *(int64_t *)item = db_count(row, 0);
}

int store_measured(struct store *store, int64_t artefact_id, const struct source *file,
                   const char *sha256, const struct tensor *const *tensors, size_t n,
                   struct error *err)
{
    struct arena *scratch = arena_open(4096);
    struct db_list list = {.arena = scratch, .item_bytes = sizeof(int64_t)};
    int rc = scratch ? db_load_by_id(store, "SELECT min(ord) FROM tensor WHERE artefact_id = ?1",
                                     artefact_id, &list, fill_first, err)
                     : error_set(err, E_NOMEM, "no memory for %zu tensors", n);
    int64_t first = rc == OK && list.n ? *(const int64_t *)list.items : NONE;

    arena_close(scratch);
    if (rc == OK)
        rc = db_batch_open(store, err);
    if (rc == OK && sha256)
        rc = put_hash(store, artefact_id, file, sha256, err);
    for (size_t i = 0; i < n && rc == OK && first != NONE; i++)
        rc = put_values(store, artefact_id, first + (int64_t)i, tensors[i], err);
    if (rc != OK) {
        db_batch_rollback(store);
        return rc;
    }
    return db_batch_commit(store, err);
}
