/* What the user wrote: marks on checks, remarks, own findings, answers. Keyed by run.key, in the
 * kept database, so that it survives a new import and a lost cache. Each statement is a
 * transaction of its own: what the user wrote never hangs on an import. */
#include "core/base/clock.h"
#include "core/store/db.h"

static int prepare(struct store *store, const char *sql, sqlite3_stmt **out, struct error *err)
{
    db_batch_leave(store);
    return db_prepare(store, sql, out, err);
}

static int run_with_key(struct store *store, const char *sql, const char *run_key,
                        struct error *err)
{
    sqlite3_stmt *statement;
    int rc = prepare(store, sql, &statement, err);

    if (rc != OK)
        return rc;
    db_bind_text(store, statement, 1, run_key);
    return db_run(store, statement, err);
}

/* ---- Marks on checks ------------------------------------------------------------------------ */

int store_tick_set(struct store *store, const char *run_key, const char *check_id,
                   const char *state, const char *reason, struct error *err)
{
    static const char SET[] =
        "INSERT INTO kept.triage (run_key, check_id, state, reason, set_at)"
        " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (run_key, check_id)"
        " DO UPDATE SET state = ?3, reason = ?4, set_at = ?5";
    static const char UNDO[] = "DELETE FROM kept.triage WHERE run_key = ?1 AND check_id = ?2";
    sqlite3_stmt *statement;
    int rc = prepare(store, state ? SET : UNDO, &statement, err);

    if (rc != OK)
        return rc;
    db_bind_text(store, statement, 1, run_key);
    db_bind_text(store, statement, 2, check_id);
    if (state) {
        db_bind_text(store, statement, 3, state);
        db_bind_text(store, statement, 4, reason);
        db_bind_int(store, statement, 5, clock_now());
    }
    return db_run(store, statement, err);
}

static void fill_tick(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct tick *)item = (struct tick){
        .check_id = db_text(row, 0, arena),
        .state = db_text(row, 1, arena),
        .reason = db_text(row, 2, arena),
        .set_at = sqlite3_column_int64(row, 3),
    };
}

int store_ticks(struct store *store, const char *run_key, struct arena *arena,
                const struct tick **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct tick)};
    int rc = db_load_by_key(store,
                            "SELECT check_id, state, reason, set_at FROM kept.triage"
                            " WHERE run_key = ?1 ORDER BY check_id",
                            run_key, &list, fill_tick, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

/* ---- Remarks -------------------------------------------------------------------------------- */

static int drop_remark(struct store *store, const char *run_key, int64_t id, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = prepare(store, "DELETE FROM kept.remark WHERE run_key = ?1 AND id = ?2", &statement,
                     err);

    if (rc != OK)
        return rc;
    db_bind_text(store, statement, 1, run_key);
    db_bind_int(store, statement, 2, id);
    return db_run(store, statement, err);
}

int store_remark_put(struct store *store, const char *run_key, const struct remark *remark,
                     int64_t *id, struct error *err)
{
    static const char INSERT[] =
        "INSERT INTO kept.remark (run_key, check_id, place, text, written_at)"
        " VALUES (?1, ?2, ?3, ?4, ?5)";
    static const char CHANGE[] =
        "UPDATE kept.remark SET check_id = ?2, place = ?3, text = ?4, written_at = ?5"
        " WHERE run_key = ?1 AND id = ?6";
    sqlite3_stmt *statement;
    int rc = OK;

    if (!remark->text || !*remark->text) {
        rc = remark->id ? drop_remark(store, run_key, remark->id, err) : OK;
        if (rc == OK)
            *id = remark->id;
        return rc;
    }
    rc = prepare(store, remark->id ? CHANGE : INSERT, &statement, err);
    if (rc != OK)
        return rc;
    db_bind_text(store, statement, 1, run_key);
    db_bind_text(store, statement, 2, remark->check_id);
    db_bind_text(store, statement, 3, remark->place);
    db_bind_text(store, statement, 4, remark->text);
    db_bind_int(store, statement, 5, clock_now());
    if (remark->id)
        db_bind_int(store, statement, 6, remark->id);
    rc = db_run(store, statement, err);
    if (rc != OK)
        return rc;
    if (remark->id && sqlite3_changes(store->db) == 0)
        return error_set(err, E_NOTFOUND, "this remark is not there any more");
    *id = remark->id ? remark->id : sqlite3_last_insert_rowid(store->db);
    return OK;
}

static void fill_remark(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct remark *)item = (struct remark){
        .id = sqlite3_column_int64(row, 0),
        .check_id = db_text(row, 1, arena),
        .place = db_text(row, 2, arena),
        .text = db_text(row, 3, arena),
        .written_at = sqlite3_column_int64(row, 4),
    };
}

int store_remarks(struct store *store, const char *run_key, struct arena *arena,
                  const struct remark **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct remark)};
    int rc = db_load_by_key(store,
                            "SELECT id, check_id, place, text, written_at FROM kept.remark"
                            " WHERE run_key = ?1 ORDER BY id",
                            run_key, &list, fill_remark, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

/* `flatline forget --remarks`: all that the user wrote of a run, in one transaction. */
int store_remarks_drop(struct store *store, const char *run_key, struct error *err)
{
    static const char *const TABLES[] = {
        "DELETE FROM kept.triage WHERE run_key = ?1",
        "DELETE FROM kept.answer WHERE run_key = ?1",
        "DELETE FROM kept.remark WHERE run_key = ?1",
        "DELETE FROM kept.user_finding WHERE run_key = ?1",
    };
    int rc = store_begin(store, err);

    if (rc != OK)
        return rc;
    for (size_t i = 0; i < sizeof TABLES / sizeof TABLES[0] && rc == OK; i++)
        rc = run_with_key(store, TABLES[i], run_key, err);
    if (rc == OK)
        return store_commit(store, err);
    store_rollback(store);
    return rc;
}

/* ---- Own findings --------------------------------------------------------------------------- */

static void bind_finding(struct store *store, sqlite3_stmt *statement,
                         const struct user_finding *finding)
{
    db_bind_text(store, statement, 2, finding->check_id);
    db_bind_text(store, statement, 3, finding->verdict);
    db_bind_text(store, statement, 4, finding->sentence);
    db_bind_text(store, statement, 5, finding->path);
    db_bind_count(store, statement, 6, finding->line);
    db_bind_count(store, statement, 7, finding->step);
    db_bind_text(store, statement, 8, finding->commit);
    db_bind_int(store, statement, 9, finding->exported);
    db_bind_int(store, statement, 10, clock_now());
}

int store_user_finding_put(struct store *store, const char *run_key,
                           const struct user_finding *finding, int64_t *id, struct error *err)
{
    static const char INSERT[] =
        "INSERT INTO kept.user_finding (run_key, check_id, verdict, sentence, path, line, step,"
        " commit_id, exported, made_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    static const char CHANGE[] =
        "UPDATE kept.user_finding SET check_id = ?2, verdict = ?3, sentence = ?4, path = ?5,"
        " line = ?6, step = ?7, commit_id = ?8, exported = ?9, made_at = ?10"
        " WHERE run_key = ?1 AND id = ?11";
    static const char DROP[] = "DELETE FROM kept.user_finding WHERE run_key = ?1 AND id = ?2";
    bool is_drop = finding->id && (!finding->sentence || !*finding->sentence);
    sqlite3_stmt *statement;
    int rc = prepare(store, is_drop ? DROP : finding->id ? CHANGE : INSERT, &statement, err);

    if (rc != OK)
        return rc;
    db_bind_text(store, statement, 1, run_key);
    if (is_drop)
        db_bind_int(store, statement, 2, finding->id);
    else
        bind_finding(store, statement, finding);
    if (finding->id && !is_drop)
        db_bind_int(store, statement, 11, finding->id);
    rc = db_run(store, statement, err);
    if (rc != OK)
        return rc;
    if (finding->id && !is_drop && sqlite3_changes(store->db) == 0)
        return error_set(err, E_NOTFOUND, "this finding is not there any more");
    *id = finding->id ? finding->id : sqlite3_last_insert_rowid(store->db);
    return OK;
}

static void fill_finding(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct user_finding *)item = (struct user_finding){
        .id = sqlite3_column_int64(row, 0),
        .check_id = db_text(row, 1, arena),
        .verdict = db_text(row, 2, arena),
        .sentence = db_text(row, 3, arena),
        .path = db_text(row, 4, arena),
        .line = db_count(row, 5),
        .step = db_count(row, 6),
        .commit = db_text(row, 7, arena),
        .exported = sqlite3_column_int(row, 8) != 0,
        .made_at = sqlite3_column_int64(row, 9),
    };
}

int store_user_findings(struct store *store, const char *run_key, struct arena *arena,
                        const struct user_finding **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct user_finding)};
    int rc = db_load_by_key(store,
                            "SELECT id, check_id, verdict, sentence, path, line, step, commit_id,"
                            " exported, made_at FROM kept.user_finding WHERE run_key = ?1"
                            " ORDER BY id",
                            run_key, &list, fill_finding, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

int store_user_findings_exported(struct store *store, const char *run_key, struct error *err)
{
    return run_with_key(store, "UPDATE kept.user_finding SET exported = 1 WHERE run_key = ?1",
                        run_key, err);
}

/* ---- Answers -------------------------------------------------------------------------------- */

int store_answer_set(struct store *store, const char *run_key, const char *name,
                     const char *value, struct error *err)
{
    static const char SET[] = "INSERT INTO kept.answer (run_key, name, value, set_at)"
                              " VALUES (?1, ?2, ?3, ?4) ON CONFLICT (run_key, name)"
                              " DO UPDATE SET value = ?3, set_at = ?4";
    static const char UNDO[] = "DELETE FROM kept.answer WHERE run_key = ?1 AND name = ?2";
    sqlite3_stmt *statement;
    int rc = prepare(store, value ? SET : UNDO, &statement, err);

    if (rc != OK)
        return rc;
    db_bind_text(store, statement, 1, run_key);
    db_bind_text(store, statement, 2, name);
    if (value) {
        db_bind_text(store, statement, 3, value);
        db_bind_int(store, statement, 4, clock_now());
    }
    return db_run(store, statement, err);
}

static void fill_answer(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct answer *)item =
        (struct answer){.name = db_text(row, 0, arena), .value = db_text(row, 1, arena)};
}

int store_answers(struct store *store, const char *run_key, struct arena *arena,
                  const struct answer **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct answer)};
    int rc = db_load_by_key(store,
                            "SELECT name, value FROM kept.answer WHERE run_key = ?1"
                            " ORDER BY name",
                            run_key, &list, fill_answer, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}
