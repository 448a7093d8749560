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
