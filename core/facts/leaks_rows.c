/* The rows of data sets, some hundred at a time over the threads: normal texts, shingles, what the
 * index finds. Given on in the order of the file, so that the threads do not show. See
 * leaks_parts.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/facts/leaks_parts.h"
#include "core/read/rows.h"
#include "core/similar/normal.h"
#include "core/text/row_parts.h"

#define BATCH_ROWS  512
#define FIRST_ROWS  16 /* of a side: what they tell spares the others much */
#define BATCH_BYTES ((size_t)32 << 20) /* of trees, unless one row alone is larger */
#define TREE_BYTES  ((size_t)512 << 20)
#define TEXT_BYTES  ((size_t)64 << 20) /* of one normal text */

struct leak_threads {
    struct parallel *parallel;
    struct arena *trees, *scratch[PARALLEL_MAX];
    struct similar_asker askers[PARALLEL_MAX];
    const struct similar_index *asked; /* of which the askers are */
    struct leak_row rows[BATCH_ROWS];
    size_t n, most;
    const struct leak_pass *pass;
    struct arena *names;
    struct column_names columns; /* of the data set that is read */
};

static void close_threads(struct leak_threads *t)
{
    parallel_close(t->parallel);
    arena_close(t->trees);
    arena_close(t->names);
    for (int i = 0; i < PARALLEL_MAX; i++) {
        arena_close(t->scratch[i]);
        similar_asker_free(&t->askers[i]);
    }
    for (size_t i = 0; i < BATCH_ROWS; i++) {
        buf_free(&t->rows[i].input);
        buf_free(&t->rows[i].target);
        buf_free(&t->rows[i].text);
        shingles_free(&t->rows[i].set);
        free(t->rows[i].matches);
        free(t->rows[i].grams);
    }
    free(t);
}

int leak_reader_open(struct leak_reader *reader, struct error *err)
{
    struct leak_threads *t = calloc(1, sizeof *t);
    int n_threads = reader->hooks ? reader->hooks->n_threads : 1;
    int rc = t ? OK : error_set(err, E_NOMEM, "no memory for comparing rows");

    if (rc == OK)
        rc = parallel_open(&t->parallel, n_threads ? n_threads : 1, err);
    for (int i = 0; rc == OK && i < parallel_workers(t->parallel); i++)
        if (!(t->scratch[i] = arena_open(TREE_BYTES)))
            rc = error_set(err, E_NOMEM, "no memory for comparing rows");
    if (rc == OK && (!(t->trees = arena_open(TREE_BYTES)) ||
                     !(t->names = arena_open(ARENA_CHECK_BYTES))))
        rc = error_set(err, E_NOMEM, "no memory for comparing rows");
    for (size_t i = 0; rc == OK && i < BATCH_ROWS; i++) {
        buf_init(&t->rows[i].input, TEXT_BYTES);
        buf_init(&t->rows[i].target, TEXT_BYTES);
        buf_init(&t->rows[i].text, 2 * TEXT_BYTES);
    }
    if (rc == OK)
        reader->threads = t;
    else if (t)
        close_threads(t);
    return rc;
}

void leak_reader_close(struct leak_reader *reader)
{
    if (reader->threads)
        close_threads(reader->threads);
    reader->threads = NULL;
}

/* ---- One row ---- */

void leak_row_join(struct leak_row *row)
{
    buf_clear(&row->text);
    buf_str(&row->text, buf_view(&row->input));
    buf_putc(&row->text, '\n');
    buf_str(&row->text, buf_view(&row->target));
    row->exact = hash_bytes(row->text.p, row->text.n);
    buf_clear(&row->text);
    buf_str(&row->text, buf_view(&row->input));
    if (row->input.n && row->target.n)
        buf_putc(&row->text, ' ');
    buf_str(&row->text, buf_view(&row->target));
}

static int read_parts(struct leak_threads *t, struct arena *arena, struct leak_row *row)
{
    struct conversation conversation;
    struct row_parts parts;
    int rc = conversation_of_row(row->line, &t->columns, arena, &conversation, NULL);

    if (rc == OK)
        rc = row_parts_of(&conversation, arena, &parts, NULL);
    if (rc == OK && parts.flags & ROW_NOT_READABLE) {
        row->line = NULL;
        return OK;
    }
    if (rc == OK)
        rc = normal_text(parts.input, &row->input, NULL);
    if (rc == OK)
        rc = normal_text(parts.target, &row->target, NULL);
    if (rc == OK)
        leak_row_join(row);
    return rc == OK && row->text.failed ? E_NOMEM : rc;
}

static int keep_matches(struct leak_row *row, const struct similar_asker *asker)
{
    row->n_matches = asker->n_matches;
    if (row->n_matches > row->capacity) {
        struct similar_match *grown = realloc(row->matches, row->n_matches * sizeof *grown);

        if (!grown)
            return E_NOMEM;
        row->matches = grown;
        row->capacity = row->n_matches;
    }
    if (row->n_matches)
        memcpy(row->matches, asker->matches, row->n_matches * sizeof *row->matches);
    return OK;
}

/* A row that is larger than any limit counts as not readable. */
static void work(void *ctx, int worker, size_t i)
{
    struct leak_threads *t = ctx;
    struct leak_row *row = &t->rows[i];

    row->n_matches = row->n_grams = 0;
    row->rc = OK;
    if (!row->line)
        return;
    arena_reset(t->scratch[worker]);
    int rc = read_parts(t, t->scratch[worker], row);
    if (rc == E_LIMIT)
        row->line = NULL;
    if (rc == OK && row->line && t->pass->depth >= LEAK_SETS) {
        row->stripped = common_strip(t->pass->common, buf_view(&row->text));
        rc = shingles_of(row->stripped, &row->set, NULL);
    }
    if (rc == OK && row->line && t->pass->depth == LEAK_MATCHES) {
        rc = similar_ask(t->pass->index, &t->askers[worker], row->set.items, row->set.n, SIZE_MAX,
                         NULL);
        rc = rc == OK ? keep_matches(row, &t->askers[worker]) : rc;
        if (rc == OK && t->pass->overlap)
            rc = leak_overlap_look(t->pass->overlap, row);
    }
    row->rc = rc == E_LIMIT ? OK : rc;
}

/* ---- A file ---- */

/* As rows_next: 1 more may come, 0 the end. */
static int read_batch(struct leak_threads *t, struct rows *rows, struct error *err)
{
    struct row_place place;
    struct error why;
    int rc = 1;

    arena_reset(t->trees);
    for (t->n = 0; rc == 1 && t->n < t->most && arena_used(t->trees) < BATCH_BYTES;) {
        const struct json *line = NULL;

        rc = rows_next(rows, t->trees, &line, &place, &why, err);
        if (rc == 1)
            t->rows[t->n++].line = json_is(line, JSON_OBJECT) ? line : NULL;
    }
    return rc;
}

static bool goes_on(struct leak_reader *reader)
{
    const struct audit_hooks *hooks = reader->hooks;
    struct error ignored;

    if (!hooks)
        return true;
    if (hooks->progress)
        hooks->progress(hooks->ctx, reader->n_done, reader->n_total);
    if (hooks->cancel && atomic_load(hooks->cancel))
        reader->is_stopped = true;
    else if (hooks->yield && hooks->yield(hooks->ctx, &ignored) != OK)
        reader->is_stopped = true;
    return !reader->is_stopped;
}

static int give(struct leak_reader *reader, const struct dataset *dataset, int64_t first,
                const struct leak_pass *pass, struct error *err)
{
    struct leak_threads *t = reader->threads;
    int rc = OK;

    if (pass->index && similar_is_spilled(pass->index)) /* its blocks come one at a time */
        for (size_t i = 0; i < t->n; i++)
            work(t, 0, i);
    else
        parallel_run(t->parallel, t->n, work, t);
    for (size_t i = 0; rc == OK && i < t->n; i++) {
        rc = t->rows[i].rc == OK
                 ? pass->row(pass->ctx, dataset, first + (int64_t)i, &t->rows[i], err)
                 : error_set(err, t->rows[i].rc, "no memory for comparing rows");
    }
    reader->n_done += (int64_t)t->n;
    t->most = t->most < BATCH_ROWS / 2 ? 2 * t->most : BATCH_ROWS;
    return rc == OK && pass->index ? similar_settle(pass->index, t->askers, PARALLEL_MAX, err) : rc;
}

static void set_trouble(struct leak_reader *reader, const struct dataset *dataset, int64_t row,
                        const struct error *why)
{
    if (!reader->trouble[0])
        snprintf(reader->trouble, sizeof reader->trouble, "%s cannot be read from row %lld on: %s",
                 dataset->name ? dataset->name : "a data set", (long long)row, why->message);
}

static void start(struct leak_reader *reader, const struct dataset *dataset,
                  const struct leak_pass *pass)
{
    struct leak_threads *t = reader->threads;

    if (t->asked != pass->index)
        for (int i = 0; i < PARALLEL_MAX; i++)
            similar_asker_free(&t->askers[i]);
    t->asked = pass->index;
    t->most = pass->index ? FIRST_ROWS : BATCH_ROWS;
    t->pass = pass;
    arena_reset(t->names);
    t->columns = data_columns_of(reader->facts, dataset, t->names);
}

int leak_reader_run(struct leak_reader *reader, const struct dataset *dataset,
                    const struct leak_pass *pass, struct error *err)
{
    const struct source *source = facts_source(reader->facts, dataset->source_id);
    struct rows *rows = NULL;
    struct error why = {0};
    int64_t first = 0;
    int rc = source ? rows_open(&rows, source->path, &why) : E_NOTFOUND, more = 1;

    if (rc != OK) { /* gone since it was imported, or not to be read */
        set_trouble(reader, dataset, 0, &why);
        return rc == E_NOMEM ? error_set(err, rc, "%s", why.message) : OK;
    }
    start(reader, dataset, pass);
    while (rc == OK && more == 1 && goes_on(reader)) {
        more = read_batch(reader->threads, rows, &why);
        rc = give(reader, dataset, first, pass, err);
        first += (int64_t)reader->threads->n;
    }
    rows_close(rows);
    if (rc == OK && more == E_NOMEM)
        return error_set(err, E_NOMEM, "%s", why.message);
    if (more < 0)
        set_trouble(reader, dataset, first, &why);
    return rc;
}
