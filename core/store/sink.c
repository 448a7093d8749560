/* The front of every sink: the protocol of sink.h, the handles of series, the sticky failure.
 * Stores nothing itself; that is sink_store.c and sink_text.c. */
#include "core/store/sink.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/store/sink_backend.h"

/* Each metric costs memory until the end. What a file has beyond them gets one handle for all, whose
 * points go nowhere. */
#define MAX_SERIES 20000
#define LEFT_OUT   MAX_SERIES

/* Between 2001 and 2096: what is outside is no time of a record. */
static const double EARLIEST = 1e9, LATEST = 4e9;

struct name {
    char *raw_name;
    uint64_t hash;
};

struct sink {
    const struct sink_backend *backend;
    void *self;
    bool is_begun;
    struct error failure;       /* status OK: none */

    struct name *names;         /* by handle */
    int n_names;
    int *slots;                 /* open addressing: handle + 1, 0 is free */
    size_t n_slots;             /* a power of two, or 0 */
    bool has_left_out;          /* metrics beyond MAX_SERIES */
    double first_wall, last_wall;       /* of the points of this source; NaN */
    int64_t next_id;            /* ids of a backend that gives none */
};

int sink_open_backend(struct sink **out, const struct sink_backend *backend, void *self,
                      struct error *err)
{
    struct sink *sink = calloc(1, sizeof *sink);

    if (!sink) {
        if (backend->close)
            backend->close(self);
        return error_set(err, E_NOMEM, "no memory for a sink");
    }
    sink->backend = backend;
    sink->self = self;
    *out = sink;
    return OK;
}

int sink_open_null(struct sink **out, struct error *err)
{
    static const struct sink_backend nothing = {0};

    return sink_open_backend(out, &nothing, NULL, err);
}

static void forget_names(struct sink *sink)
{
    for (int i = 0; i < sink->n_names; i++)
        free(sink->names[i].raw_name);
    free(sink->names);
    free(sink->slots);
    sink->names = NULL;
    sink->slots = NULL;
    sink->n_names = 0;
    sink->n_slots = 0;
}

void sink_close(struct sink *sink)
{
    if (!sink)
        return;
    sink_abort(sink);
    if (sink->backend->close)
        sink->backend->close(sink->self);
    forget_names(sink);
    free(sink);
}

/* ---- Protocol ------------------------------------------------------------------------------- */

/* OK when a record may be stored now; else the failure that came before. */
static int ready(const struct sink *sink, struct error *err)
{
    if (!sink->is_begun)
        BUG("a record outside sink_begin and sink_end");
    if (sink->failure.status != OK) {
        if (err)
            *err = sink->failure;
        return sink->failure.status;
    }
    return OK;
}

/* Keeps the first failure, so that every later call repeats it. */
static int result(struct sink *sink, int rc, const struct error *met, struct error *err)
{
    if (rc == OK)
        return OK;
    sink->failure = *met;
    sink->failure.status = rc;
    if (err)
        *err = *met;
    return rc;
}

int sink_begin(struct sink *sink, const struct run *run, const struct source *source,
               struct error *err)
{
    struct error met;
    int rc = OK;

    if (sink->is_begun)
        BUG("sink_begin inside a source");
    forget_names(sink);
    sink->failure = (struct error){.status = OK};
    sink->next_id = 1;
    sink->has_left_out = false;
    sink->first_wall = sink->last_wall = NAN;
    if (sink->backend->begin)
        rc = sink->backend->begin(sink->self, run, source, &met);
    if (rc == OK)
        sink->is_begun = true;
    else if (err)
        *err = met;
    return rc;
}

int sink_end(struct sink *sink, int64_t read_to, enum source_state state, struct error *err)
{
    struct error met;
    int rc = ready(sink, err);

    if (rc == OK && sink->has_left_out)
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err,
                       "more than %d different metrics: the others are left out", MAX_SERIES);
    if (rc == OK && sink->backend->end) {
        rc = sink->backend->end(sink->self, read_to, state, &met);
        if (rc != OK && err)
            *err = met;
    }
    if (rc != OK)
        sink_abort(sink);
    sink->is_begun = false;
    return rc;
}

void sink_abort(struct sink *sink)
{
    if (!sink->is_begun)
        return;
    if (sink->backend->abort)
        sink->backend->abort(sink->self);
    sink->is_begun = false;
}

/* ---- Series --------------------------------------------------------------------------------- */

static void put_slot(struct sink *sink, int handle)
{
    size_t i = sink->names[handle].hash & (sink->n_slots - 1);

    while (sink->slots[i])
        i = (i + 1) & (sink->n_slots - 1);
    sink->slots[i] = handle + 1;
}

static int find_name(const struct sink *sink, const char *raw_name, uint64_t hash)
{
    if (sink->n_slots == 0)
        return -1;
    for (size_t i = hash & (sink->n_slots - 1); sink->slots[i];
         i = (i + 1) & (sink->n_slots - 1)) {
        const struct name *name = &sink->names[sink->slots[i] - 1];

        if (name->hash == hash && strcmp(name->raw_name, raw_name) == 0)
            return sink->slots[i] - 1;
    }
    return -1;
}

/* Room for one more name with at most half of the slots in use. */
static bool grow_names(struct sink *sink)
{
    if ((size_t)sink->n_names * 2 < sink->n_slots)
        return true;

    size_t n = sink->n_slots ? sink->n_slots * 2 : 32;
    struct name *names = realloc(sink->names, n / 2 * sizeof *names);

    if (!names)
        return false;
    sink->names = names;

    int *slots = calloc(n, sizeof *slots);

    if (!slots)
        return false;
    free(sink->slots);
    sink->slots = slots;
    sink->n_slots = n;
    for (int i = 0; i < sink->n_names; i++)
        put_slot(sink, i);
    return true;
}

static int add_name(struct sink *sink, const char *raw_name, uint64_t hash, struct error *err)
{
    char *copy = grow_names(sink) ? strdup(raw_name) : NULL;

    if (!copy)
        return error_set(err, E_NOMEM, "no memory for a series");
    sink->names[sink->n_names] = (struct name){copy, hash};
    put_slot(sink, sink->n_names);
    sink->n_names++;
    return OK;
}

int sink_series(struct sink *sink, const char *raw_name, const char *name, int *handle,
                struct error *err)
{
    struct error met;
    int rc = ready(sink, err);

    if (rc != OK)
        return rc;

    uint64_t hash = hash_bytes(raw_name, strlen(raw_name));
    int found = find_name(sink, raw_name, hash);

    if (found >= 0) {
        *handle = found;
        return OK;
    }
    if (sink->n_names >= MAX_SERIES) {
        sink->has_left_out = true;
        *handle = LEFT_OUT;
        return OK;
    }
    rc = add_name(sink, raw_name, hash, &met);
    if (rc == OK && sink->backend->series)
        rc = sink->backend->series(sink->self, sink->n_names - 1, raw_name, name, &met);
    if (rc == OK)
        *handle = sink->n_names - 1;
    return result(sink, rc, &met, err);
}

static void need_handle(const struct sink *sink, int handle)
{
    if (handle < 0 || (handle >= sink->n_names && handle != LEFT_OUT))
        BUG("handle %d of %d series", handle, sink->n_names);
}

/* fmin and fmax pass over NaN. */
static void note_time(struct sink *sink, double wall)
{
    if (!(wall >= EARLIEST && wall <= LATEST))
        return;
    sink->first_wall = fmin(sink->first_wall, wall);
    sink->last_wall = fmax(sink->last_wall, wall);
}

void sink_times(const struct sink *sink, double *first, double *last)
{
    *first = sink->first_wall;
    *last = sink->last_wall;
}

int sink_mark(struct sink *sink, const struct source *marks, struct error *err)
{
    struct error met;
    int rc = ready(sink, err);

    if (rc != OK || !sink->backend->mark)
        return rc;
    rc = sink->backend->mark(sink->self, marks, &met);
    return result(sink, rc, &met, err);
}

int sink_point(struct sink *sink, int handle, const struct point *point, struct error *err)
{
    struct error met;
    int rc = ready(sink, err);

    if (rc == OK)
        note_time(sink, point->wall);
    if (rc != OK || !sink->backend->point)
        return rc;
    need_handle(sink, handle);
    if (handle == LEFT_OUT)
        return OK;
    rc = sink->backend->point(sink->self, handle, point, &met);
    return result(sink, rc, &met, err);
}

static int each_point(struct sink *sink, const struct point_row *row, struct error *err)
{
    struct point point = {.seq = row->seq,
                          .segment = row->segment,
                          .step = row->step,
                          .line = row->line,
                          .wall = row->wall};
    int rc = OK;

    for (size_t i = 0; rc == OK && i < row->n; i++) {
        point.value = row->values[i];
        if (row->handles[i] != LEFT_OUT)
            rc = sink->backend->point(sink->self, row->handles[i], &point, err);
    }
    return rc;
}

int sink_point_row(struct sink *sink, const struct point_row *row, struct error *err)
{
    struct error met;
    int rc = ready(sink, err);

    if (rc == OK)
        note_time(sink, row->wall);
    if (rc != OK || !sink->backend->point)
        return rc;
    for (size_t i = 0; i < row->n; i++)
        need_handle(sink, row->handles[i]);
    rc = each_point(sink, row, &met);
    return result(sink, rc, &met, err);
}

/* ---- Other records -------------------------------------------------------------------------- */

int sink_setting(struct sink *sink, const struct setting *setting, struct error *err)
{
    struct error met;
    int rc = ready(sink, err);

    if (rc != OK || !sink->backend->setting)
        return rc;
    rc = sink->backend->setting(sink->self, setting, &met);
    return result(sink, rc, &met, err);
}

int sink_event(struct sink *sink, const struct event *event, struct error *err)
{
    struct error met;
    int rc = ready(sink, err);

    if (rc != OK || !sink->backend->event)
        return rc;
    if (event->n_captures < 0 || event->n_captures > EVENT_MAX_CAPTURES)
        BUG("an event with %d captures", event->n_captures);
    rc = sink->backend->event(sink->self, event, &met);
    return result(sink, rc, &met, err);
}

int sink_artefact(struct sink *sink, const struct artefact *artefact, int64_t *id,
                  struct error *err)
{
    struct error met;
    int rc = ready(sink, err);
    int64_t made = sink->next_id++;

    if (rc != OK)
        return rc;
    if (sink->backend->artefact)
        rc = sink->backend->artefact(sink->self, artefact, &made, &met);
    if (rc == OK)
        *id = made;
    return result(sink, rc, &met, err);
}

int sink_tensor(struct sink *sink, int64_t artefact_id, const struct tensor *tensor,
                struct error *err)
{
    struct error met;
    int rc = ready(sink, err);

    if (rc != OK || !sink->backend->tensor)
        return rc;
    rc = sink->backend->tensor(sink->self, artefact_id, tensor, &met);
    return result(sink, rc, &met, err);
}

int sink_dataset(struct sink *sink, const struct dataset *dataset, int64_t *id,
                 struct error *err)
{
    struct error met;
    int rc = ready(sink, err);
    int64_t made = sink->next_id++;

    if (rc != OK)
        return rc;
    if (sink->backend->dataset)
        rc = sink->backend->dataset(sink->self, dataset, &made, &met);
    if (rc == OK)
        *id = made;
    return result(sink, rc, &met, err);
}

int sink_sample(struct sink *sink, int64_t dataset_id, const struct sample *sample,
                struct error *err)
{
    struct error met;
    int rc = ready(sink, err);

    if (rc != OK || !sink->backend->sample)
        return rc;
    rc = sink->backend->sample(sink->self, dataset_id, sample, &met);
    return result(sink, rc, &met, err);
}

int sink_dataset_done(struct sink *sink, int64_t dataset_id, const char *form,
                      const char *columns, int64_t n_rows, int64_t n_unreadable,
                      struct error *err)
{
    struct dataset done = {
        .form = form, .columns = columns, .n_rows = n_rows, .n_unreadable = n_unreadable};
    struct error met;
    int rc = ready(sink, err);

    if (rc != OK || !sink->backend->dataset_done)
        return rc;
    rc = sink->backend->dataset_done(sink->self, dataset_id, &done, &met);
    return result(sink, rc, &met, err);
}

int sink_generation(struct sink *sink, const struct generation *generation, struct error *err)
{
    struct error met;
    int rc = ready(sink, err);

    if (rc != OK || !sink->backend->generation)
        return rc;
    rc = sink->backend->generation(sink->self, generation, &met);
    return result(sink, rc, &met, err);
}

int sink_eval_suite(struct sink *sink, const struct eval_suite *suite, int64_t *id,
                    struct error *err)
{
    struct error met;
    int64_t made = 0;
    int rc = ready(sink, err);

    *id = 0;
    if (rc != OK || !sink->backend->eval_suite)
        return rc;
    rc = sink->backend->eval_suite(sink->self, suite, &made, &met);
    if (rc == OK)
        *id = made;
    return result(sink, rc, &met, err);
}

int sink_eval_item(struct sink *sink, int64_t suite_id, const struct eval_item *item,
                   struct error *err)
{
    struct error met;
    int rc = ready(sink, err);

    if (rc != OK || !sink->backend->eval_item)
        return rc;
    rc = sink->backend->eval_item(sink->self, suite_id, item, &met);
    return result(sink, rc, &met, err);
}

int sink_judgement(struct sink *sink, const struct judgement *judgement, struct error *err)
{
    struct error met;
    int rc = ready(sink, err);

    if (rc != OK || !sink->backend->judgement)
        return rc;
    rc = sink->backend->judgement(sink->self, judgement, &met);
    return result(sink, rc, &met, err);
}

int sink_note(struct sink *sink, enum note_severity severity, int64_t line, int64_t byte,
              struct error *err, const char *fmt, ...)
{
    char text[1024];
    struct note note = {.severity = severity, .line = line, .byte = byte, .message = text};
    struct error met;
    va_list args;
    int rc = ready(sink, err);

    /* A limit breaks nothing in the store, and what met it is still to be told. */
    if ((rc != OK && rc != E_LIMIT) || !sink->backend->note)
        return rc;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    rc = sink->backend->note(sink->self, &note, &met);
    return sink->failure.status == E_LIMIT && rc == OK ? OK : result(sink, rc, &met, err);
}

/* ---- Between sources ------------------------------------------------------------------------ */

bool sink_is_current(struct sink *sink, const struct run *run, const struct source *source)
{
    return sink->backend->is_current && sink->backend->is_current(sink->self, run, source);
}

int sink_keep_only(struct sink *sink, const struct run *run, const struct source *keep,
                   size_t n, struct error *err)
{
    if (sink->is_begun)
        BUG("sink_keep_only inside a source");
    if (!sink->backend->keep_only)
        return OK;
    return sink->backend->keep_only(sink->self, run, keep, n, err);
}
