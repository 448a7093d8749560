/* Histories of files in git: revisions with their changes, and which run has which. */
#include "core/store/db.h"

/* ---- Histories ---- */

#define HISTORY_COLUMNS \
    "SELECT id, repository, path, head_id, version, is_whole, head," \
    " (SELECT coalesce(max(ord) - min(ord) + 1, 0) FROM revision WHERE history_id = git_history.id)" \
    " FROM git_history"

static void fill_history(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct stored_history *)item = (struct stored_history){
        .id = sqlite3_column_int64(row, 0),
        .repository = db_text(row, 1, arena),
        .path = db_text(row, 2, arena),
        .head_id = db_text(row, 3, arena),
        .version = sqlite3_column_int(row, 4),
        .is_whole = sqlite3_column_int(row, 5) != 0,
        .head = db_text(row, 6, arena),
        .n_revisions = sqlite3_column_int64(row, 7),
    };
}

static int take_one(const struct db_list *list, struct stored_history *out, struct error *err)
{
    if (list->n == 0)
        return error_set(err, E_NOTFOUND, "no such history");
    *out = *(const struct stored_history *)list->items;
    return OK;
}

int store_history_find(struct store *store, const char *repository, const char *path,
                       struct arena *arena, struct stored_history *out, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof *out};
    sqlite3_stmt *statement;
    int rc = db_prepare(store, HISTORY_COLUMNS " WHERE repository = ?1 AND path = ?2", &statement, err);

    if (rc != OK)
        return rc;
    db_bind_text(store, statement, 1, repository);
    db_bind_text(store, statement, 2, path);
    rc = db_load(store, statement, &list, fill_history, err);
    return rc == OK ? take_one(&list, out, err) : rc;
}

int store_history_by_id(struct store *store, int64_t id, struct arena *arena,
                        struct stored_history *out, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof *out};
    int rc = db_load_by_id(store, HISTORY_COLUMNS " WHERE id = ?1", id, &list, fill_history, err);

    return rc == OK ? take_one(&list, out, err) : rc;
}

static int replace_history(struct store *store, struct stored_history *history, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "INSERT INTO git_history (repository, path, head_id, version, is_whole)"
                        " VALUES (?1, ?2, ?3, ?4, 0) ON CONFLICT (repository, path) DO UPDATE SET"
                        " head_id = ?3, version = ?4, is_whole = 0, head = NULL RETURNING id",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_text(store, statement, 1, history->repository);
    db_bind_text(store, statement, 2, history->path);
    db_bind_text(store, statement, 3, history->head_id);
    db_bind_int(store, statement, 4, history->version);
    rc = db_step(store, statement, err);
    if (rc != 1)
        return rc == OK ? error_set(err, E_DB, "a history was not kept") : rc;
    history->id = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return db_run_id(store, "DELETE FROM revision WHERE history_id = ?1", history->id, err);
}

int store_history_begin(struct store *store, struct stored_history *history, struct error *err)
{
    db_batch_leave(store);
    int rc = store_begin(store, err);

    if (rc != OK)
        return rc;
    rc = replace_history(store, history, err);
    if (rc == OK)
        return store_commit(store, err);
    store_rollback(store);
    return rc;
}

int store_history_done(struct store *store, int64_t history_id, bool is_whole, const char *head,
                       struct error *err)
{
    sqlite3_stmt *statement;

    db_batch_leave(store);
    int rc = db_prepare(store, "UPDATE git_history SET is_whole = ?2, head = ?3 WHERE id = ?1",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, history_id);
    db_bind_int(store, statement, 2, is_whole);
    db_bind_text(store, statement, 3, head);
    return db_run(store, statement, err);
}

/* ---- Revisions ---- */

static int add_change(struct store *store, int64_t history_id, int64_t ord, int64_t i,
                      const struct config_change *change, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "INSERT INTO config_change (history_id, ord, i, name, old_value, new_value, line)"
                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, history_id);
    db_bind_int(store, statement, 2, ord);
    db_bind_int(store, statement, 3, i);
    db_bind_text(store, statement, 4, change->name);
    db_bind_text(store, statement, 5, change->old_value);
    db_bind_text(store, statement, 6, change->new_value);
    db_bind_count(store, statement, 7, change->line);
    return db_run(store, statement, err);
}

int store_history_add(struct store *store, int64_t history_id, int64_t ord,
                      const struct revision *r, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "INSERT INTO revision (history_id, ord, commit_id, authored_at, committed_at, zone,"
                        " author, subject, path, old_path, status, similarity, blob_id, n_settings,"
                        " n_more, by_lines)"
                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, history_id);
    db_bind_int(store, statement, 2, ord);
    db_bind_text(store, statement, 3, r->commit);
    db_bind_int(store, statement, 4, r->author_time);
    db_bind_int(store, statement, 5, r->commit_time);
    db_bind_int(store, statement, 6, r->author_offset);
    db_bind_text(store, statement, 7, r->author);
    db_bind_text(store, statement, 8, r->subject);
    db_bind_text(store, statement, 9, r->path);
    db_bind_text(store, statement, 10, r->old_path);
    db_bind_text(store, statement, 11, r->status);
    db_bind_int(store, statement, 12, r->similarity);
    db_bind_text(store, statement, 13, r->blob);
    db_bind_int(store, statement, 14, r->n_settings);
    db_bind_int(store, statement, 15, r->n_more);
    db_bind_text(store, statement, 16, r->by_lines);
    rc = db_run(store, statement, err);
    for (size_t i = 0; rc == OK && i < r->n_changes; i++)
        rc = add_change(store, history_id, ord, (int64_t)i, &r->changes[i], err);
    return rc;
}

static void fill_revision(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct revision *)item = (struct revision){
        .commit = db_text(row, 0, arena),
        .author_time = sqlite3_column_int64(row, 1),
        .commit_time = sqlite3_column_int64(row, 2),
        .author_offset = sqlite3_column_int(row, 3),
        .author = db_text(row, 4, arena),
        .subject = db_text(row, 5, arena),
        .path = db_text(row, 6, arena),
        .old_path = db_text(row, 7, arena),
        .status = db_text(row, 8, arena),
        .similarity = sqlite3_column_int(row, 9),
        .blob = db_text(row, 10, arena),
        .n_settings = sqlite3_column_int64(row, 11),
        .n_more = sqlite3_column_int64(row, 12),
        .by_lines = db_text(row, 13, arena),
    };
}

struct change_row {
    int64_t ord;
    struct config_change change;
};

static void fill_change(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct change_row *)item = (struct change_row){
        sqlite3_column_int64(row, 0),
        {db_text(row, 1, arena), db_text(row, 2, arena), db_text(row, 3, arena), db_count(row, 4)},
    };
}

/* The changes stand in one list in order of their revision: each gets its stretch. */
static int share_out(const struct db_list *rows, int64_t first, struct revision *revisions, size_t n,
                     struct arena *arena, struct error *err)
{
    const struct change_row *row = rows->items;
    struct config_change *changes = arena_array(arena, rows->n + 1, sizeof *changes);

    if (!changes)
        return error_set(err, E_NOMEM, "the changes of a history");
    for (size_t i = 0; i < rows->n; i++) {
        changes[i] = row[i].change;
        int64_t at = row[i].ord - first;
        if (at < 0 || (size_t)at >= n)
            continue;
        struct revision *r = &revisions[at];
        if (r->n_changes++ == 0)
            r->changes = &changes[i];
    }
    return OK;
}

int store_history_first(struct store *store, int64_t history_id, int64_t *ord, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store, "SELECT coalesce(min(ord), 0) FROM revision WHERE history_id = ?1",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, history_id);
    rc = db_step(store, statement, err);
    if (rc == 1)
        *ord = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return rc < 0 ? rc : OK;
}

/* HEAD has moved on, and what is kept stays: newer revisions are added before it. */
int store_history_go_on(struct store *store, int64_t history_id, const char *head_id, struct error *err)
{
    sqlite3_stmt *statement;

    db_batch_leave(store);
    int rc = db_prepare(store, "UPDATE git_history SET head_id = ?2, is_whole = 0 WHERE id = ?1",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, history_id);
    db_bind_text(store, statement, 2, head_id);
    return db_run(store, statement, err);
}

int store_revisions(struct store *store, int64_t history_id, int64_t limit, struct arena *arena,
                    const struct revision **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct revision)};
    struct db_list changes = {.arena = arena, .item_bytes = sizeof(struct change_row)};
    sqlite3_stmt *statement;
    int64_t first = 0;
    int rc = store_history_first(store, history_id, &first, err);

    if (rc != OK)
        return rc;
    limit = limit > INT64_MAX - (first > 0 ? first : 0) ? INT64_MAX : limit + first;
    rc = db_prepare(store,
                        "SELECT commit_id, authored_at, committed_at, zone, author, subject, path,"
                        " old_path, status, similarity, blob_id, n_settings, n_more, by_lines"
                        " FROM revision WHERE history_id = ?1 AND ord < ?2 ORDER BY ord",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, history_id);
    db_bind_int(store, statement, 2, limit);
    rc = db_load(store, statement, &list, fill_revision, err);
    if (rc == OK)
        rc = db_prepare(store,
                        "SELECT ord, name, old_value, new_value, line FROM config_change"
                        " WHERE history_id = ?1 AND ord < ?2 ORDER BY ord, i",
                        &statement, err);
    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, history_id);
    db_bind_int(store, statement, 2, limit);
    rc = db_load(store, statement, &changes, fill_change, err);
    if (rc == OK)
        rc = share_out(&changes, first, list.items, list.n, arena, err);
    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

/* ---- Runs ---- */

static void fill_run_history(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct run_history *)item = (struct run_history){
        .run_id = sqlite3_column_int64(row, 0),
        .history_id = sqlite3_column_int64(row, 1),
        .key = (uint64_t)sqlite3_column_int64(row, 2),
        .head = db_text(row, 3, arena),
    };
}

static int load_run_histories(struct store *store, const char *sql, int64_t id, struct arena *arena,
                              const struct run_history **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct run_history)};
    int rc = db_load_by_id(store, sql, id, &list, fill_run_history, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

int store_run_histories(struct store *store, int64_t run_id, struct arena *arena,
                        const struct run_history **out, size_t *n, struct error *err)
{
    return load_run_histories(store,
                              "SELECT run_id, history_id, key, head FROM run_history"
                              " WHERE run_id = ?1 ORDER BY ord",
                              run_id, arena, out, n, err);
}

int store_history_runs(struct store *store, int64_t history_id, struct arena *arena,
                       const struct run_history **out, size_t *n, struct error *err)
{
    return load_run_histories(store,
                              "SELECT run_id, history_id, key, head FROM run_history"
                              " WHERE history_id = ?1 ORDER BY run_id, ord",
                              history_id, arena, out, n, err);
}

static int put_run_history(struct store *store, int64_t run_id, int64_t ord,
                           const struct run_history *item, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "INSERT INTO run_history (run_id, ord, history_id, key, head)"
                        " VALUES (?1, ?2, nullif(?3, 0), ?4, ?5)",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, run_id);
    db_bind_int(store, statement, 2, ord);
    db_bind_int(store, statement, 3, item->history_id);
    db_bind_int(store, statement, 4, (int64_t)item->key);
    db_bind_text(store, statement, 5, item->head);
    return db_run(store, statement, err);
}

int store_run_histories_put(struct store *store, int64_t run_id, const struct run_history *list,
                            size_t n, struct error *err)
{
    db_batch_leave(store);
    int rc = store_begin(store, err);

    if (rc != OK)
        return rc;
    rc = db_run_id(store, "DELETE FROM run_history WHERE run_id = ?1", run_id, err);
    for (size_t i = 0; rc == OK && i < n; i++)
        rc = put_run_history(store, run_id, (int64_t)i, &list[i], err);
    if (rc == OK)
        rc = db_exec(store,
                     "DELETE FROM git_history WHERE id NOT IN"
                     " (SELECT history_id FROM run_history WHERE history_id IS NOT NULL)",
                     err);
    if (rc == OK)
        return store_commit(store, err);
    store_rollback(store);
    return rc;
}
