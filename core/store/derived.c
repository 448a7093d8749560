/* Texts that core/facts made of a run's files and that are too dear to be made at every look: one a
 * name and run, with the key of all that it was made from. */
#include <string.h>

#include "core/store/blocks.h"
#include "core/store/db.h"

static uint64_t hash_text(const char *text, size_t n)
{
    return block_hash_more(n, text, n);
}

int store_derived(struct store *store, int64_t run_id, const char *name, struct arena *arena,
                  struct stored_text *out, struct error *err)
{
    sqlite3_stmt *statement;
    int rc =
        db_prepare(store, "SELECT key, text, hash FROM derived WHERE run_id = ?1 AND name = ?2",
                   &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, run_id);
    db_bind_text(store, statement, 2, name);
    rc = db_step(store, statement, err);
    if (rc != 1)
        return rc == OK ? error_set(err, E_NOTFOUND, "nothing is kept by the name %s", name) : rc;
    size_t n = (size_t)sqlite3_column_bytes(statement, 1);
    *out = (struct stored_text){.key = (uint64_t)sqlite3_column_int64(statement, 0)};
    if (arena) {
        const char *text = db_text(statement, 1, arena);
        bool is_sound = text && hash_text(text, n) == (uint64_t)sqlite3_column_int64(statement, 2);

        out->text = is_sound ? text : NULL;
    }
    sqlite3_reset(statement);
    return arena ? db_arena_check(arena, "what was made of the rows", err) : OK;
}

int store_derived_put(struct store *store, int64_t run_id, const char *name,
                      const struct stored_text *text, struct error *err)
{
    sqlite3_stmt *statement;

    db_batch_leave(store);
    int rc = db_prepare(store,
                        "INSERT OR REPLACE INTO derived (run_id, name, key, text, hash)"
                        " VALUES (?1, ?2, ?3, ?4, ?5)",
                        &statement, err);
    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, run_id);
    db_bind_text(store, statement, 2, name);
    db_bind_int(store, statement, 3, (int64_t)text->key);
    db_bind_text(store, statement, 4, text->text);
    db_bind_int(store, statement, 5, (int64_t)hash_text(text->text, strlen(text->text)));
    return db_run(store, statement, err);
}
