/* Results of checks with their evidence and their lists of texts. */
#include <string.h>

#include "core/base/clock.h"
#include "core/store/db.h"

enum list { LIST_FIX, LIST_MISSING, LIST_INFORMATION, N_LISTS };

static const char *const LISTS[N_LISTS] = {
    [LIST_FIX] = "fix", [LIST_MISSING] = "missing", [LIST_INFORMATION] = "information"};

/* ---- Writing -------------------------------------------------------------------------------- */

static int drop_result(struct store *store, int64_t run_id, const char *check_id,
                       struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store, "DELETE FROM check_result WHERE run_id = ?1 AND check_id = ?2",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, run_id);
    db_bind_text(store, statement, 2, check_id);
    return db_run(store, statement, err);
}

static int put_head(struct store *store, int64_t run_id, const struct check_result *result,
                    uint64_t inputs_hash, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "INSERT INTO check_result (run_id, check_id, check_version, verdict,"
                        " confidence, finding, branch, from_step, inputs_hash, ran_at)"
                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, run_id);
    db_bind_text(store, statement, 2, result->check_id);
    db_bind_int(store, statement, 3, result->check_version);
    db_bind_text(store, statement, 4, verdict_name(result->verdict));
    db_bind_int(store, statement, 5, (int64_t)result->confidence);
    db_bind_text(store, statement, 6, result->finding);
    db_bind_text(store, statement, 7, result->branch);
    db_bind_count(store, statement, 8, result->from_step);
    db_bind_int(store, statement, 9, (int64_t)inputs_hash);
    db_bind_int(store, statement, 10, clock_now());
    return db_run(store, statement, err);
}

/* A source that another program dropped meanwhile is stored as none. */
static int put_evidence(struct store *store, int64_t run_id, const struct check_result *result,
                        size_t i, struct error *err)
{
    const struct evidence *seen = &result->evidence[i];
    uint8_t value[8], bound[8];
    sqlite3_stmt *statement;
    int rc = db_prepare(store,
                        "INSERT INTO evidence (run_id, check_id, ord, kind, source_id, line,"
                        " step, last_step, row_no, token, series, commit_id, value, bound, text)"
                        " VALUES (?1, ?2, ?3, ?4, (SELECT id FROM source WHERE id = ?5), ?6, ?7,"
                        " ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, run_id);
    db_bind_text(store, statement, 2, result->check_id);
    db_bind_int(store, statement, 3, (int64_t)i);
    db_bind_text(store, statement, 4, seen->kind ? seen->kind : "");
    db_bind_int(store, statement, 5, seen->source_id);
    db_bind_count(store, statement, 6, seen->line);
    db_bind_count(store, statement, 7, seen->step);
    db_bind_count(store, statement, 8, seen->last_step);
    db_bind_count(store, statement, 9, seen->row);
    db_bind_count(store, statement, 10, seen->token);
    db_bind_text(store, statement, 11, seen->series);
    db_bind_text(store, statement, 12, seen->commit);
    if (seen->has_value)
        db_bind_double(store, statement, 13, seen->value, value);
    if (seen->has_bound)
        db_bind_double(store, statement, 14, seen->bound, bound);
    db_bind_text(store, statement, 15, seen->text);
    return db_run(store, statement, err);
}

static int put_list(struct store *store, int64_t run_id, const struct check_result *result,
                    enum list list, struct error *err)
{
    const char *const *texts[N_LISTS] = {result->fixes, result->missing, result->information};
    size_t n[N_LISTS] = {result->n_fixes, result->n_missing, result->n_information};
    int rc = OK;

    for (size_t i = 0; i < n[list] && rc == OK; i++) {
        sqlite3_stmt *statement;

        rc = db_prepare(store,
                        "INSERT INTO result_text (run_id, check_id, list, ord, text)"
                        " VALUES (?1, ?2, ?3, ?4, ?5)",
                        &statement, err);
        if (rc != OK)
            return rc;
        db_bind_int(store, statement, 1, run_id);
        db_bind_text(store, statement, 2, result->check_id);
        db_bind_text(store, statement, 3, LISTS[list]);
        db_bind_int(store, statement, 4, (int64_t)i);
        db_bind_text(store, statement, 5, texts[list][i] ? texts[list][i] : "");
        rc = db_run(store, statement, err);
    }
    return rc;
}

static int put_result(struct store *store, int64_t run_id, const struct check_result *result,
                      uint64_t inputs_hash, struct error *err)
{
    int rc = drop_result(store, run_id, result->check_id, err);

    if (rc == OK)
        rc = put_head(store, run_id, result, inputs_hash, err);
    for (size_t i = 0; i < result->n_evidence && rc == OK; i++)
        rc = put_evidence(store, run_id, result, i, err);
    for (int list = 0; list < N_LISTS && rc == OK; list++)
        rc = put_list(store, run_id, result, (enum list)list, err);
    return rc;
}

int store_results_put(struct store *store, int64_t run_id, const struct check_result *results,
                      size_t n, uint64_t inputs_hash, struct error *err)
{
    int rc = store_begin(store, err);

    if (rc != OK)
        return rc;
    for (size_t i = 0; i < n && rc == OK; i++)
        rc = put_result(store, run_id, &results[i], inputs_hash, err);
    if (rc == OK)
        return store_commit(store, err);
    store_rollback(store);
    return rc;
}

/* ---- Reading -------------------------------------------------------------------------------- */

struct loaded {
    struct check_result result;
    uint64_t inputs_hash;
};
struct loaded_evidence {
    const char *check_id;
    struct evidence evidence;
};
struct loaded_text {
    const char *check_id;
    int list;
    const char *text;
};

static void fill_result(sqlite3_stmt *row, struct arena *arena, void *item)
{
    struct loaded *loaded = item;
    const char *verdict = db_text(row, 2, arena);
    int confidence = sqlite3_column_int(row, 3);

    loaded->result = (struct check_result){
        .check_id = db_text(row, 0, arena),
        .check_version = sqlite3_column_int(row, 1),
        .verdict = VERDICT_UNKNOWN,
        .confidence = confidence > CONFIDENCE_NONE && confidence <= CONFIDENCE_CERTAIN
                          ? (enum confidence)confidence
                          : CONFIDENCE_NONE,
        .finding = db_text(row, 4, arena),
        .branch = db_text(row, 5, arena),
        .from_step = db_count(row, 6),
    };
    if (verdict && !verdict_parse(verdict, &loaded->result.verdict))
        loaded->result.verdict = VERDICT_UNKNOWN;
    loaded->inputs_hash = (uint64_t)sqlite3_column_int64(row, 7);
}

static void fill_evidence(sqlite3_stmt *row, struct arena *arena, void *item)
{
    struct loaded_evidence *loaded = item;

    loaded->check_id = db_text(row, 0, arena);
    loaded->evidence = (struct evidence){
        .kind = db_text(row, 1, arena),
        .source_id = sqlite3_column_int64(row, 2),
        .line = db_count(row, 3),
        .step = db_count(row, 4),
        .last_step = db_count(row, 5),
        .row = db_count(row, 6),
        .token = db_count(row, 7),
        .series = db_text(row, 8, arena),
        .commit = db_text(row, 9, arena),
        .value = db_double(row, 10),
        .has_value = sqlite3_column_type(row, 10) != SQLITE_NULL,
        .bound = db_double(row, 11),
        .has_bound = sqlite3_column_type(row, 11) != SQLITE_NULL,
        .text = db_text(row, 12, arena),
    };
}

static void fill_text(sqlite3_stmt *row, struct arena *arena, void *item)
{
    struct loaded_text *loaded = item;
    const char *list = db_text(row, 1, arena);

    loaded->check_id = db_text(row, 0, arena);
    loaded->text = db_text(row, 2, arena);
    loaded->list = N_LISTS;
    for (int i = 0; i < N_LISTS; i++)
        if (list && strcmp(list, LISTS[i]) == 0)
            loaded->list = i;
}

/* All three lists come sorted by check, so each result takes its part from where the last one
 * stopped. */
static bool take_evidence(struct check_result *result, const struct db_list *all, size_t *at,
                          struct arena *arena)
{
    const struct loaded_evidence *rows = all->items;
    size_t first = *at;

    while (*at < all->n && strcmp(rows[*at].check_id, result->check_id) == 0)
        (*at)++;
    if (*at == first)
        return true;

    struct evidence *evidence = arena_array(arena, *at - first, sizeof *evidence);

    if (!evidence)
        return false;
    for (size_t i = first; i < *at; i++)
        evidence[i - first] = rows[i].evidence;
    result->evidence = evidence;
    result->n_evidence = *at - first;
    return true;
}

static bool take_texts(struct check_result *result, const struct db_list *all, size_t *at,
                       struct arena *arena)
{
    const struct loaded_text *rows = all->items;
    size_t first = *at, n[N_LISTS + 1] = {0};
    const char **texts[N_LISTS] = {NULL};

    for (; *at < all->n && strcmp(rows[*at].check_id, result->check_id) == 0; (*at)++)
        n[rows[*at].list]++;
    for (int list = 0; list < N_LISTS; list++)
        if (n[list] && !(texts[list] = arena_array(arena, n[list], sizeof *texts[list])))
            return false;
    result->n_fixes = n[LIST_FIX];
    result->n_missing = n[LIST_MISSING];
    result->n_information = n[LIST_INFORMATION];
    memset(n, 0, sizeof n);
    for (size_t i = first; i < *at; i++)
        if (rows[i].list < N_LISTS)
            texts[rows[i].list][n[rows[i].list]++] = rows[i].text;
    result->fixes = texts[LIST_FIX];
    result->missing = texts[LIST_MISSING];
    result->information = texts[LIST_INFORMATION];
    return true;
}

/* Results that were made of different inputs have no common hash: all are to be made again. */
static uint64_t common_hash(const struct loaded *rows, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (rows[i].inputs_hash != rows[0].inputs_hash)
            return 0;
    return n ? rows[0].inputs_hash : 0;
}

static int load_all(struct store *store, int64_t run_id, struct db_list *heads,
                    struct db_list *evidence, struct db_list *texts, struct error *err)
{
    int rc = db_load_by_id(store,
                           "SELECT check_id, check_version, verdict, confidence, finding, branch,"
                           " from_step, inputs_hash FROM check_result WHERE run_id = ?1"
                           " ORDER BY check_id",
                           run_id, heads, fill_result, err);

    if (rc == OK)
        rc = db_load_by_id(store,
                           "SELECT check_id, kind, source_id, line, step, last_step, row_no,"
                           " token, series, commit_id, value, bound, text FROM evidence"
                           " WHERE run_id = ?1 ORDER BY check_id, ord",
                           run_id, evidence, fill_evidence, err);
    if (rc == OK)
        rc = db_load_by_id(store,
                           "SELECT check_id, list, text FROM result_text WHERE run_id = ?1"
                           " ORDER BY check_id, list, ord",
                           run_id, texts, fill_text, err);
    return rc;
}

int store_results(struct store *store, int64_t run_id, struct arena *arena,
                  const struct check_result **out, size_t *n, uint64_t *inputs_hash,
                  struct error *err)
{
    struct db_list heads = {.arena = arena, .item_bytes = sizeof(struct loaded)};
    struct db_list evidence = {.arena = arena, .item_bytes = sizeof(struct loaded_evidence)};
    struct db_list texts = {.arena = arena, .item_bytes = sizeof(struct loaded_text)};
    size_t evidence_at = 0, text_at = 0;
    /* One state of the database for the three reads. */
    bool is_own = sqlite3_get_autocommit(store->db);
    int rc = is_own ? db_exec(store, "BEGIN", err) : OK;

    if (rc != OK)
        return rc;
    rc = load_all(store, run_id, &heads, &evidence, &texts, err);
    if (is_own)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    if (rc != OK)
        return rc;

    const struct loaded *rows = heads.items;
    struct check_result *results = arena_array(arena, heads.n, sizeof *results);

    for (size_t i = 0; i < heads.n && results; i++) {
        results[i] = rows[i].result;
        if (!take_evidence(&results[i], &evidence, &evidence_at, arena) ||
            !take_texts(&results[i], &texts, &text_at, arena))
            break;
    }
    rc = db_arena_check(arena, "the results of a run", err);
    if (rc != OK)
        return rc;
    *out = results;
    *n = heads.n;
    *inputs_hash = common_hash(rows, heads.n);
    return OK;
}
