/* What models wrote when asked, what they reached and which was preferred: generations, suites and
 * their items, judgements, to the database and back. */
#include "core/store/outputs.h"

#include <math.h>

static int prepare(struct store *store, const char *sql, sqlite3_stmt **out, struct error *err)
{
    int rc = db_batch_open(store, err);

    return rc == OK ? db_prepare(store, sql, out, err) : rc;
}

int output_put_generation(struct store *store, int64_t source_id, const struct generation *made,
                          struct error *err)
{
    sqlite3_stmt *statement;
    int rc = prepare(store,
                     "INSERT INTO generation (source_id, ord, row_no, step, model, finish_reason,"
                     " n_tokens, max_new_tokens, batch, exact, flags, prompt_hash, output_hash,"
                     " opening_hash, n_words) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
                     " ?11, ?12, ?13, ?14, ?15)",
                     &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, source_id);
    db_bind_int(store, statement, 2, made->ord);
    db_bind_count(store, statement, 3, made->row);
    db_bind_count(store, statement, 4, made->step);
    db_bind_text(store, statement, 5, made->model);
    db_bind_text(store, statement, 6, made->finish_reason);
    db_bind_count(store, statement, 7, made->n_tokens);
    db_bind_count(store, statement, 8, made->max_new_tokens);
    db_bind_count(store, statement, 9, made->batch);
    db_bind_int(store, statement, 10, made->exact);
    db_bind_int(store, statement, 11, (int64_t)made->flags);
    db_bind_int(store, statement, 12, made->prompt_hash);
    db_bind_int(store, statement, 13, made->output_hash);
    db_bind_int(store, statement, 14, made->opening_hash);
    db_bind_int(store, statement, 15, made->n_words);
    return db_run(store, statement, err);
}

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
        .opening_hash = sqlite3_column_int64(row, 13),
        .n_words = sqlite3_column_int64(row, 14),
    };
}

int store_generations(struct store *store, int64_t run_id, struct arena *arena,
                      const struct generation **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct generation)};
    int rc = db_load_by_id(store,
                           "SELECT g.source_id, g.ord, g.row_no, g.step, g.model,"
                           " g.finish_reason, g.n_tokens, g.max_new_tokens, g.batch, g.exact,"
                           " g.flags, g.prompt_hash, g.output_hash, g.opening_hash, g.n_words"
                           " FROM source s JOIN generation g ON g.source_id = s.id"
                           " WHERE s.run_id = ?1 ORDER BY s.id, g.ord, g.id",
                           run_id, &list, fill_generation, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

/* ---- Suites and items ----------------------------------------------------------------------- */

int output_put_suite(struct store *store, int64_t source_id, const struct eval_suite *suite,
                     int64_t *id, struct error *err)
{
    uint8_t bits[8];
    sqlite3_stmt *statement;
    int rc = prepare(store,
                     "INSERT INTO eval_suite (source_id, suite, model, metric, step, n, n_correct,"
                     " artefact, sha256, frozen, line)"
                     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                     &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, source_id);
    db_bind_text(store, statement, 2, suite->suite);
    db_bind_text(store, statement, 3, suite->model);
    db_bind_text(store, statement, 4, suite->metric);
    db_bind_count(store, statement, 5, suite->step);
    db_bind_count(store, statement, 6, suite->n);
    db_bind_double(store, statement, 7, suite->n_correct, bits);
    db_bind_text(store, statement, 8, suite->artefact);
    db_bind_text(store, statement, 9, suite->sha256);
    db_bind_text(store, statement, 10, suite->frozen);
    db_bind_count(store, statement, 11, suite->line);
    rc = db_run(store, statement, err);
    if (rc == OK)
        *id = sqlite3_last_insert_rowid(store->db);
    return rc;
}

int output_put_item(struct store *store, int64_t suite_id, const struct eval_item *item,
                    struct error *err)
{
    uint8_t bits[8];
    sqlite3_stmt *statement;
    int rc = prepare(store,
                     "INSERT OR REPLACE INTO eval_item (suite_id, item, score, cluster,"
                     " prompt_hash) VALUES (?1, ?2, ?3, ?4, ?5)",
                     &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, suite_id);
    db_bind_text(store, statement, 2, item->item);
    db_bind_double(store, statement, 3, item->score, bits);
    db_bind_text(store, statement, 4, item->cluster);
    db_bind_int(store, statement, 5, item->prompt_hash);
    return db_run(store, statement, err);
}

static void fill_suite(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct eval_suite *)item = (struct eval_suite){
        .id = sqlite3_column_int64(row, 0),
        .source_id = sqlite3_column_int64(row, 1),
        .suite = db_text(row, 2, arena),
        .model = db_text(row, 3, arena),
        .metric = db_text(row, 4, arena),
        .step = db_count(row, 5),
        .n = db_count(row, 6),
        .n_correct = db_double(row, 7),
        .artefact = db_text(row, 8, arena),
        .sha256 = db_text(row, 9, arena),
        .frozen = db_text(row, 10, arena),
        .line = db_count(row, 11),
        .n_items = sqlite3_column_int64(row, 12),
    };
}

static void fill_item(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct eval_item *)item = (struct eval_item){
        .item = db_text(row, 0, arena),
        .score = db_double(row, 1),
        .cluster = db_text(row, 2, arena),
        .prompt_hash = sqlite3_column_int64(row, 3),
    };
}

/* SQL cannot add doubles that are kept as bytes. */
static int count_items(struct store *store, struct eval_suite *suite, struct error *err)
{
    sqlite3_stmt *statement;
    int rc = db_prepare(store, "SELECT score FROM eval_item WHERE suite_id = ?1 ORDER BY item",
                        &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, suite->id);
    suite->n = 0;
    suite->n_correct = 0.0;
    while ((rc = db_step(store, statement, err)) == 1) {
        double score = db_double(statement, 0);

        suite->n += isfinite(score);
        suite->n_correct += isfinite(score) ? score : 0.0;
    }
    return rc;
}

int store_eval_suites(struct store *store, int64_t run_id, struct arena *arena,
                      const struct eval_suite **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct eval_suite)};
    int rc = db_load_by_id(store,
                           "SELECT e.id, e.source_id, e.suite, e.model, e.metric, e.step, e.n,"
                           " e.n_correct, e.artefact, e.sha256, e.frozen, e.line,"
                           " (SELECT count(*) FROM eval_item i WHERE i.suite_id = e.id)"
                           " FROM source s JOIN eval_suite e ON e.source_id = s.id"
                           " WHERE s.run_id = ?1 ORDER BY s.id, e.id",
                           run_id, &list, fill_suite, err);

    struct eval_suite *suites = list.items;
    for (size_t i = 0; rc == OK && i < list.n; i++)
        if (suites[i].n_items > 0)
            rc = count_items(store, &suites[i], err);
    if (rc != OK)
        return rc;
    *out = suites;
    *n = list.n;
    return OK;
}

int store_eval_items(struct store *store, int64_t suite_id, struct arena *arena,
                     const struct eval_item **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct eval_item)};
    int rc = db_load_by_id(store,
                           "SELECT item, score, cluster, prompt_hash FROM eval_item"
                           " WHERE suite_id = ?1 ORDER BY item",
                           suite_id, &list, fill_item, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}

/* ---- Judgements ----------------------------------------------------------------------------- */

int output_put_judgement(struct store *store, int64_t source_id, const struct judgement *said,
                         struct error *err)
{
    uint8_t bits[8];
    sqlite3_stmt *statement;
    int rc = prepare(store,
                     "INSERT INTO judgement (source_id, ord, item, base, candidate, length_base,"
                     " length_candidate, score, step, line)"
                     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                     &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, source_id);
    db_bind_int(store, statement, 2, said->ord);
    db_bind_text(store, statement, 3, said->item);
    db_bind_text(store, statement, 4, said->base);
    db_bind_text(store, statement, 5, said->candidate);
    db_bind_count(store, statement, 6, said->length_base);
    db_bind_count(store, statement, 7, said->length_candidate);
    db_bind_double(store, statement, 8, said->score, bits);
    db_bind_count(store, statement, 9, said->step);
    db_bind_count(store, statement, 10, said->line);
    return db_run(store, statement, err);
}

static void fill_judgement(sqlite3_stmt *row, struct arena *arena, void *item)
{
    *(struct judgement *)item = (struct judgement){
        .source_id = sqlite3_column_int64(row, 0),
        .ord = sqlite3_column_int64(row, 1),
        .item = db_text(row, 2, arena),
        .base = db_text(row, 3, arena),
        .candidate = db_text(row, 4, arena),
        .length_base = db_count(row, 5),
        .length_candidate = db_count(row, 6),
        .score = db_double(row, 7),
        .step = db_count(row, 8),
        .line = db_count(row, 9),
    };
}

int store_judgements(struct store *store, int64_t run_id, struct arena *arena,
                     const struct judgement **out, size_t *n, struct error *err)
{
    struct db_list list = {.arena = arena, .item_bytes = sizeof(struct judgement)};
    int rc = db_load_by_id(store,
                           "SELECT j.source_id, j.ord, j.item, j.base, j.candidate, j.length_base,"
                           " j.length_candidate, j.score, j.step, j.line"
                           " FROM source s JOIN judgement j ON j.source_id = s.id"
                           " WHERE s.run_id = ?1 ORDER BY s.id, j.ord",
                           run_id, &list, fill_judgement, err);

    if (rc != OK)
        return rc;
    *out = list.items;
    *n = list.n;
    return OK;
}
