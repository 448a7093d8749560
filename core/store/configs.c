/* Settings as files state them. */
#include "core/store/db.h"

static void fill_setting(sqlite3_stmt *row, struct arena *arena, void *item)
{
    struct setting *setting = item;
    const char *side = db_text(row, 1, arena);
    int type = sqlite3_column_int(row, 5);

    *setting = (struct setting){
        .source_id = sqlite3_column_int64(row, 0),
        .raw_name = db_text(row, 2, arena),
        .name = db_text(row, 3, arena),
        .value = db_text(row, 4, arena),
        .type = type >= VALUE_NULL && type <= VALUE_OBJECT ? (enum value_type)type : VALUE_TEXT,
        .line = db_count(row, 6),
    };
    if (!side || !side_parse(side, &setting->side))
        setting->side = SIDE_TRAIN;
}

int store_settings(struct store *store, int64_t run_id, struct arena *arena,
                   const struct setting **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct setting)};
    int rc = db_load_by_id(store,
                           "SELECT c.source_id, c.side, c.raw_name, c.name, c.value, c.type,"
                           " c.line FROM source s JOIN config_key c ON c.source_id = s.id"
                           " WHERE s.run_id = ?1 ORDER BY s.id, c.id",
                           run_id, &list, fill_setting, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}
