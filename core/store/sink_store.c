/* The sink that writes to the cache. See sink.h for the protocol and db.h for batches.
 *
 * Numbers are gathered in blocks of COLUMN_MAX_ROWS, already encoded, and written as they fill;
 * other records are written at once (sink_store_rows.c). A batch is committed every BATCH_ROWS
 * records or BATCH_BYTES of blocks. Gathered blocks never hold more than MAX_GATHERED rows, however
 * many series a file has: then all are written, full or not. */
#include <stdlib.h>

#include "core/base/log.h"
#include "core/store/runs.h"
#include "core/store/sink_store_parts.h"

#define BATCH_ROWS   2000
#define BATCH_BYTES  (1u << 20)
#define MAX_GATHERED (1u << 19)     /* rows: 16 bytes each, 8 MiB */
#define MAX_DATASETS 4096

int sink_no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for the rows of a file");
}

/* ---- Batches -------------------------------------------------------------------------------- */

int sink_wrote(struct store_sink *sink, size_t bytes, struct error *err)
{
    sink->batch_rows++;
    sink->batch_bytes += bytes;
    if (sink->batch_rows < BATCH_ROWS && sink->batch_bytes < BATCH_BYTES)
        return OK;
    sink->batch_rows = 0;
    sink->batch_bytes = 0;
    return db_batch_commit(sink->store, err);
}

int sink_prepare(struct store_sink *sink, const char *sql, sqlite3_stmt **out, struct error *err)
{
    int rc = db_batch_open(sink->store, err);

    return rc == OK ? db_prepare(sink->store, sql, out, err) : rc;
}

int sink_insert(struct store_sink *sink, sqlite3_stmt *statement, struct error *err)
{
    int rc = db_run(sink->store, statement, err);

    return rc == OK ? sink_wrote(sink, 0, err) : rc;
}

/* ---- Gathered blocks ------------------------------------------------------------------------ */

static int write_points(struct store_sink *sink, struct point_block *block, struct error *err)
{
    size_t n = block->n, bytes = 0;
    int rc = n ? db_batch_open(sink->store, err) : OK;

    if (rc != OK || n == 0)
        return rc;
    rc = point_block_write(block, sink->store, &bytes, err);
    if (rc != OK)
        return rc;
    sink->n_gathered -= n;
    return sink_wrote(sink, bytes, err);
}

static int write_samples(struct store_sink *sink, struct sample_block *block, struct error *err)
{
    size_t n = block->n, bytes = 0;
    int rc = n ? db_batch_open(sink->store, err) : OK;

    if (rc != OK || n == 0)
        return rc;
    rc = sample_block_write(block, sink->store, &bytes, err);
    if (rc != OK)
        return rc;
    sink->n_gathered -= n;
    return sink_wrote(sink, bytes, err);
}

static int write_all(struct store_sink *sink, struct error *err)
{
    int rc = OK;

    for (int i = 0; i < sink->n_series && rc == OK; i++)
        rc = write_points(sink, &sink->series[i], err);
    for (int i = 0; i < sink->n_datasets && rc == OK; i++)
        rc = write_samples(sink, &sink->datasets[i], err);
    return rc;
}

static int gathered_one(struct store_sink *sink, struct error *err)
{
    return ++sink->n_gathered >= MAX_GATHERED ? write_all(sink, err) : OK;
}

/* ---- The source ----------------------------------------------------------------------------- */

static void forget_gathered(struct store_sink *sink)
{
    for (int i = 0; i < sink->n_series; i++)
        point_block_free(&sink->series[i]);
    for (int i = 0; i < sink->n_datasets; i++)
        sample_block_free(&sink->datasets[i]);
    sink->n_series = 0;
    sink->n_datasets = 0;
    sink->n_gathered = 0;
}

/* The row of the source stays, so that evidence of earlier results still points to its file. */
static int drop_records(struct store_sink *sink, bool with_notes, struct error *err)
{
    static const char *const TABLES[] = {
        "DELETE FROM series WHERE source_id = ?1",     "DELETE FROM event WHERE source_id = ?1",
        "DELETE FROM config_key WHERE source_id = ?1", "DELETE FROM artefact WHERE source_id = ?1",
        "DELETE FROM dataset WHERE source_id = ?1",
        "DELETE FROM generation WHERE source_id = ?1",
        "DELETE FROM eval_suite WHERE source_id = ?1",
        "DELETE FROM judgement WHERE source_id = ?1",
    };
    int rc = OK;

    for (size_t i = 0; i < sizeof TABLES / sizeof TABLES[0] && rc == OK; i++)
        rc = db_run_id(sink->store, TABLES[i], sink->source_id, err);
    if (rc == OK && with_notes)
        rc = db_run_id(sink->store, "DELETE FROM note WHERE source_id = ?1", sink->source_id, err);
    return rc;
}

static int begin(void *self, const struct run *run, const struct source *source,
                 struct error *err)
{
    struct store_sink *sink = self;
    int64_t run_id = 0;

    forget_gathered(sink);
    sink->next_tensor = 0;
    sink->batch_rows = sink->batch_bytes = 0;

    int rc = db_batch_open(sink->store, err);

    if (rc == OK)
        rc = run_put(sink->store, run, &run_id, err);
    if (rc == OK)
        rc = source_put(sink->store, run_id, source, &sink->source_id, err);
    if (rc == OK)
        rc = drop_records(sink, true, err);
    if (rc != OK)
        db_batch_rollback(sink->store);
    return rc;
}

static int mark(void *self, const struct source *marks, struct error *err)
{
    struct store_sink *sink = self;
    sqlite3_stmt *statement;
    int rc = sink_prepare(sink,
                          "UPDATE source SET first_wall = ?2, last_wall = ?3, hashed_to = ?4,"
                          " head_hash = ?5, tail_hash = ?6 WHERE id = ?1",
                          &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(sink->store, statement, 1, sink->source_id);
    db_bind_count(sink->store, statement, 2, marks->first_wall);
    db_bind_count(sink->store, statement, 3, marks->last_wall);
    db_bind_int(sink->store, statement, 4, marks->hashed_to);
    db_bind_int(sink->store, statement, 5, marks->head_hash);
    db_bind_int(sink->store, statement, 6, marks->tail_hash);
    return sink_insert(sink, statement, err);
}

static int close_source(struct store_sink *sink, int64_t read_to, enum source_state state,
                        struct error *err)
{
    sqlite3_stmt *statement;
    int rc = sink_prepare(sink, "UPDATE source SET read_to = ?2, state = ?3 WHERE id = ?1",
                          &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(sink->store, statement, 1, sink->source_id);
    db_bind_int(sink->store, statement, 2, read_to);
    db_bind_text(sink->store, statement, 3, source_state_name(state));
    rc = db_run(sink->store, statement, err);
    return rc == OK ? db_batch_commit(sink->store, err) : rc;
}

static int end(void *self, int64_t read_to, enum source_state state, struct error *err)
{
    struct store_sink *sink = self;
    int rc = write_all(sink, err);

    if (rc == OK)
        rc = close_source(sink, read_to, state, err);
    if (rc == OK)
        forget_gathered(sink);
    return rc;
}

/* Where the database failed there may be nothing more that can be written: then the source stays
 * "growing", which is not current, and the next import begins it anew. */
static void abort_source(void *self)
{
    struct store_sink *sink = self;
    struct error err;
    char text[sizeof err.path + sizeof err.message];

    forget_gathered(sink);
    if (sink->store->batch_failure.status != OK || sqlite3_get_autocommit(sink->store->db))
        db_batch_rollback(sink->store);

    int rc = db_batch_open(sink->store, &err);

    if (rc == OK)
        rc = drop_records(sink, false, &err);
    if (rc == OK)
        rc = close_source(sink, 0, SOURCE_DAMAGED, &err);
    if (rc == OK)
        return;
    db_batch_rollback(sink->store);
    error_format(&err, text, sizeof text);
    log_line("a given-up source could not be marked: %s", text);
}

/* ---- Records -------------------------------------------------------------------------------- */

static struct point_block *add_series(struct store_sink *sink)
{
    if (sink->n_series == sink->series_capacity) {
        int capacity = sink->series_capacity ? sink->series_capacity * 2 : 16;
        struct point_block *grown =
            realloc(sink->series, (size_t)capacity * sizeof *grown);

        if (!grown)
            return NULL;
        sink->series = grown;
        sink->series_capacity = capacity;
    }
    sink->series[sink->n_series] = (struct point_block){0};
    return &sink->series[sink->n_series++];
}

static int series(void *self, int handle, const char *raw_name, const char *name,
                  struct error *err)
{
    struct store_sink *sink = self;
    sqlite3_stmt *statement;
    struct point_block *added = add_series(sink);

    if (!added)
        return sink_no_memory(err);
    if (handle != sink->n_series - 1)
        BUG("series %d after %d", handle, sink->n_series - 2);

    int rc = sink_prepare(sink,
                          "INSERT INTO series (source_id, raw_name, name) VALUES (?1, ?2, ?3)",
                          &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(sink->store, statement, 1, sink->source_id);
    db_bind_text(sink->store, statement, 2, raw_name);
    db_bind_text(sink->store, statement, 3, name);
    rc = db_run(sink->store, statement, err);
    if (rc != OK)
        return rc;
    added->id = sqlite3_last_insert_rowid(sink->store->db);
    return sink_wrote(sink, 0, err);
}

static int point(void *self, int handle, const struct point *at, struct error *err)
{
    struct store_sink *sink = self;
    struct point_block *gathered = &sink->series[handle];

    if (!point_block_add(gathered, at))
        return sink_no_memory(err);

    int rc = gathered_one(sink, err);

    if (rc == OK && gathered->n == COLUMN_MAX_ROWS)
        rc = write_points(sink, gathered, err);
    return rc;
}

static struct sample_block *add_dataset(struct store_sink *sink)
{
    if (sink->n_datasets == sink->datasets_capacity) {
        int capacity = sink->datasets_capacity ? sink->datasets_capacity * 2 : 4;
        struct sample_block *grown =
            realloc(sink->datasets, (size_t)capacity * sizeof *grown);

        if (!grown)
            return NULL;
        sink->datasets = grown;
        sink->datasets_capacity = capacity;
    }
    sink->datasets[sink->n_datasets] = (struct sample_block){0};
    return &sink->datasets[sink->n_datasets++];
}

static int dataset(void *self, const struct dataset *set, int64_t *id, struct error *err)
{
    struct store_sink *sink = self;
    struct store *store = sink->store;
    sqlite3_stmt *statement;

    if (sink->n_datasets >= MAX_DATASETS)
        return error_set(err, E_LIMIT, "more than %d datasets in one file", MAX_DATASETS);

    struct sample_block *added = add_dataset(sink);

    if (!added)
        return sink_no_memory(err);

    int rc = sink_prepare(sink,
                          "INSERT INTO dataset (source_id, name, split, form, columns, n_rows,"
                          " n_unreadable) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                          &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, sink->source_id);
    db_bind_text(store, statement, 2, set->name);
    db_bind_text(store, statement, 3, set->split);
    db_bind_text(store, statement, 4, set->form);
    db_bind_text(store, statement, 5, set->columns);
    db_bind_count(store, statement, 6, set->n_rows);
    db_bind_count(store, statement, 7, set->n_unreadable);
    rc = db_run(store, statement, err);
    if (rc != OK)
        return rc;
    added->id = sqlite3_last_insert_rowid(store->db);
    *id = added->id;
    return sink_wrote(sink, 0, err);
}

static struct sample_block *find_dataset(struct store_sink *sink, int64_t id)
{
    for (int i = sink->n_datasets - 1; i >= 0; i--)     /* mostly the last one */
        if (sink->datasets[i].id == id)
            return &sink->datasets[i];
    BUG("no dataset %lld in this source", (long long)id);
}

static int sample(void *self, int64_t dataset_id, const struct sample *row, struct error *err)
{
    struct store_sink *sink = self;
    struct sample_block *gathered = find_dataset(sink, dataset_id);

    if (!sample_block_add(gathered, row))
        return sink_no_memory(err);

    int rc = gathered_one(sink, err);

    if (rc == OK && gathered->n == COLUMN_MAX_ROWS)
        rc = write_samples(sink, gathered, err);
    return rc;
}

static int dataset_done(void *self, int64_t dataset_id, const struct dataset *done,
                        struct error *err)
{
    struct store_sink *sink = self;
    struct store *store = sink->store;
    sqlite3_stmt *statement;
    int rc = sink_prepare(sink,
                          "UPDATE dataset SET form = coalesce(?2, form),"
                          " columns = coalesce(?3, columns), n_rows = ?4, n_unreadable = ?5"
                          " WHERE id = ?1",
                          &statement, err);

    if (rc != OK)
        return rc;
    db_bind_int(store, statement, 1, dataset_id);
    db_bind_text(store, statement, 2, done->form);
    db_bind_text(store, statement, 3, done->columns);
    db_bind_count(store, statement, 4, done->n_rows);
    db_bind_count(store, statement, 5, done->n_unreadable);
    return sink_insert(sink, statement, err);
}

/* ---- Between sources ------------------------------------------------------------------------ */

static bool is_current(void *self, const struct run *run, const struct source *source)
{
    return source_is_current(((struct store_sink *)self)->store, run, source);
}

static int keep_only(void *self, const struct run *run, const struct source *keep, size_t n,
                     struct error *err)
{
    const struct source_list list = {keep, n};

    return sources_keep_only(((struct store_sink *)self)->store, run, &list, err);
}

static void close_sink(void *self)
{
    struct store_sink *sink = self;

    forget_gathered(sink);
    free(sink->series);
    free(sink->datasets);
    free(sink);
}

static const struct sink_backend store_backend = {
    .begin = begin,
    .setting = row_setting,
    .series = series,
    .point = point,
    .event = row_event,
    .artefact = row_artefact,
    .tensor = row_tensor,
    .dataset = dataset,
    .sample = sample,
    .dataset_done = dataset_done,
    .generation = row_generation,
    .eval_suite = row_eval_suite,
    .eval_item = row_eval_item,
    .judgement = row_judgement,
    .note = row_note,
    .mark = mark,
    .end = end,
    .abort = abort_source,
    .is_current = is_current,
    .keep_only = keep_only,
    .close = close_sink,
};

int sink_open_store(struct sink **out, struct store *store, struct error *err)
{
    struct store_sink *sink = calloc(1, sizeof *sink);

    if (!sink)
        return sink_no_memory(err);
    sink->store = store;
    return sink_open_backend(out, &store_backend, sink, err);
}
