/* TensorBoard event files (FORMATS.md B4): scalars as points, texts and hparams as settings.
 *
 * Several files of one run are sources of their own: curves.c strings them together. Numbers that
 * are logged one after the other with the same step are one row; a tag that comes again, or another
 * step, begins the next. A tag whose step falls begins a segment. */
#include "importers/run/tensorboard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/unicode.h"
#include "core/checks/check.h"
#include "core/read/decompress.h"
#include "core/read/source.h"
#include "core/read/tfrecord.h"
#include "importers/peek.h"
#include "importers/run/logged_name.h"

#define TAGS_MAX   32768 /* more than a sink keeps, which tells what it left out */
#define SLOTS      (TAGS_MAX * 2)
#define TAG_BYTES  ((size_t)8 << 20)
#define MAX_NOTES  5
#define LOOK_EVERY 256

struct tag {
    struct str name;
    enum tensorboard_plugin plugin; /* stated with the first value only */
    int handle;                     /* of the series; -1: none was begun yet */
    bool is_usable;
    int64_t last_step, last_row;
    int32_t segment;
    struct tag *follower; /* the tag that came behind it last time */
};

struct reader {
    struct import *import;
    struct arena *arena; /* holds the tags */
    struct tag **slots;
    size_t n_tags;
    struct tag *last;
    int64_t row, step; /* at hand; -1 before the first */
    int32_t segment;
    int64_t byte; /* of the record at hand */
    int64_t n_records, n_points, n_bad, n_strange, n_long, n_left_out, n_unnamed;
    bool is_full, has_version;
};

static bool is_event_name(const struct peek *peek)
{
    return str_has_ignoring_case(str_of(peek->name), ".tfevents.");
}

static int probe(const struct peek *peek)
{
    bool begins = tfrecord_begins(peek->head);
    if (is_event_name(peek)) {
        return begins ? 97 : 60;
    }
    bool is_event = begins && str_find(str_first(peek->head, 64), "brain.Event:") >= 0;
    return is_event ? 93 : 0;
}

/* ---- Tags ---- */

static struct tag *new_tag(struct reader *reader, struct str name)
{
    struct tag *tag = arena_alloc(reader->arena, sizeof *tag);
    if (tag == NULL) {
        return NULL;
    }
    *tag = (struct tag){.name = arena_str(reader->arena, name),
                        .handle = -1,
                        .last_step = INT64_MIN,
                        .last_row = -1};
    tag->is_usable = name.n > 0 && name.n < TENSORBOARD_TAG_BYTES &&
                     memchr(name.p, '\0', name.n) == NULL && unicode_is_valid(name);
    return tag;
}

/* *out is NULL when there are more tags than a run can have. */
static int find_tag(struct reader *reader, struct str name, struct tag **out, struct error *err)
{
    struct tag *next = reader->last != NULL ? reader->last->follower : NULL;
    if (next == NULL || !str_eq(next->name, name)) {
        size_t at = hash_bytes(name.p, name.n) % SLOTS;
        while (reader->slots[at] != NULL && !str_eq(reader->slots[at]->name, name)) {
            at = (at + 1) % SLOTS;
        }
        next = reader->slots[at];
        if (next == NULL && reader->n_tags == TAGS_MAX) {
            reader->n_left_out++;
            *out = NULL;
            return OK;
        }
        if (next == NULL) {
            next = new_tag(reader, name);
            if (next == NULL || arena_failed(reader->arena)) {
                return error_set(err, E_NOMEM, "no memory for the tags of an event file");
            }
            reader->slots[at] = next;
            reader->n_tags++;
        }
    }
    if (reader->last != NULL) {
        reader->last->follower = next;
    }
    reader->last = next;
    *out = next;
    return OK;
}

/* ---- Points ---- */

static int begin_series(struct reader *reader, struct tag *tag, struct error *err)
{
    char name[LOGGED_NAME_BYTES];
    const char *raw = tag->name.p; /* the arena's copy ends with a NUL */
    return sink_series(reader->import->sink, raw, logged_name(raw, name), &tag->handle, err);
}

static void see_row(struct reader *reader, const struct tag *tag, int64_t step)
{
    if (step != reader->step || tag->last_row == reader->row || reader->row < 0) {
        reader->row++;
        reader->step = step;
    }
}

static int add_point(struct reader *reader, struct tag *tag, const struct tensorboard_event *event,
                     double value, struct error *err)
{
    if (tag->handle < 0) {
        int rc = begin_series(reader, tag, err);
        if (rc != OK) {
            return rc;
        }
    }
    see_row(reader, tag, event->step);
    if (tag->segment == reader->segment && event->step < tag->last_step) {
        reader->segment++;
    }
    tag->segment = reader->segment;
    tag->last_step = event->step;
    tag->last_row = reader->row;
    reader->n_points++;
    struct point point = {.seq = reader->row,
                          .segment = reader->segment,
                          .step = event->step >= 0 ? event->step : NONE,
                          .value = value,
                          .line = NONE,
                          .wall = event->wall > 0 ? event->wall : (double)NAN};
    return sink_point(reader->import->sink, tag->handle, &point, err);
}

static int take_value(struct reader *reader, const struct tensorboard_event *event,
                      const struct tensorboard_value *value, struct error *err)
{
    struct tag *tag = NULL;
    struct str text;
    double number;
    int rc = find_tag(reader, value->tag, &tag, err);
    if (rc != OK || tag == NULL) {
        return rc;
    }
    if (value->plugin != PLUGIN_NONE) {
        tag->plugin = value->plugin;
    }
    if (tag->plugin == PLUGIN_HPARAMS) {
        return tensorboard_take_hparams(reader->import, value->content, err);
    }
    if (tag->plugin == PLUGIN_TEXT) {
        bool has_text = tensorboard_tensor_text(value->tensor, &text);
        return has_text ? tensorboard_take_text(reader->import, value->tag, text, err) : OK;
    }
    if (!tag->is_usable) {
        reader->n_unnamed++;
        return OK;
    }
    if (value->has_number) {
        return add_point(reader, tag, event, value->number, err);
    }
    bool is_scalar =
        tag->plugin == PLUGIN_SCALARS && tensorboard_tensor_number(value->tensor, &number);
    return is_scalar ? add_point(reader, tag, event, number, err) : OK;
}

/* ---- Events ---- */

static int note_place(struct reader *reader, int64_t *n, const char *what, struct error *err)
{
    reader->import->state = SOURCE_DAMAGED;
    if ((*n)++ >= MAX_NOTES) {
        return OK;
    }
    return sink_note(reader->import->sink, NOTE_WARN, NONE, reader->byte, err, "%s", what);
}

static int note_version(struct reader *reader, const struct tensorboard_event *event,
                        struct error *err)
{
    static const char PREFIX[] = "brain.Event:";
    struct str version = event->file_version;
    if (reader->n_records > 1) {
        return OK;
    }
    if (version.n == 0) {
        return sink_note(reader->import->sink, NOTE_INFO, NONE, 0, err,
                         "the first record states no file version: the start of the file is "
                         "missing, or another program wrote it");
    }
    bool is_known = str_is(version, "brain.Event:2") || str_is(version, "brain.Event:1");
    if (is_known) {
        return OK;
    }
    bool is_ours = str_starts(version, PREFIX) && unicode_is_valid(version);
    struct str shown = is_ours ? str_first(version, 40) : str_of("of another kind");
    return sink_note(reader->import->sink, NOTE_WARN, NONE, 0, err,
                     "file version %.*s, expected brain.Event:2: read as such", (int)shown.n,
                     shown.p);
}

static int take_event(struct reader *reader, struct str bytes, struct error *err)
{
    struct tensorboard_event event;
    struct tensorboard_value value;
    struct import *import = reader->import;
    bool is_whole = tensorboard_event_of(bytes, &event);
    int rc = note_version(reader, &event, err), more = 0;
    while (rc == OK && (more = tensorboard_next_value(&event.summary, &value)) == 1) {
        if (import->max_rows > 0 && reader->n_points >= import->max_rows) {
            reader->is_full = true;
            return OK;
        }
        rc = take_value(reader, &event, &value, err);
    }
    if (rc == OK && (!is_whole || more < 0)) {
        rc = note_place(reader, &reader->n_strange,
                        "a record with the right checksum holds no whole event", err);
    }
    return rc;
}

static int take_record(struct reader *reader, const struct tfrecord *record, struct error *err)
{
    struct sink *sink = reader->import->sink;
    reader->byte = record->byte;
    switch (record->kind) {
    case TFRECORD_DATA:
        return take_event(reader, record->data, err);
    case TFRECORD_LONG:
        reader->n_long++;
        return OK;
    case TFRECORD_DAMAGED:
        reader->import->state = SOURCE_DAMAGED;
        if (reader->n_bad++ >= MAX_NOTES) {
            return OK;
        }
        return sink_note(sink, NOTE_WARN, NONE, record->byte, err,
                         "%lld bytes hold no record with the right checksum, skipped",
                         (long long)(record->end - record->byte));
    case TFRECORD_CUT:
        if (reader->import->state == SOURCE_WHOLE) {
            reader->import->state = SOURCE_GROWING;
        }
        return sink_note(sink, NOTE_INFO, NONE, record->byte, err,
                         "the last record is half written: %lld bytes",
                         (long long)(record->end - record->byte));
    }
    return OK;
}

static int read_records(struct reader *reader, struct tfrecord_reader *records, struct error *err)
{
    struct import *import = reader->import;
    struct tfrecord record;
    int rc = 0;
    while (!reader->is_full && (rc = tfrecord_next(records, &record, err)) == 1) {
        if (reader->n_records % LOOK_EVERY == 0) {
            if (import_is_cancelled(import)) {
                return error_set(err, E_CANCELLED, "import cancelled");
            }
            if (import->progress != NULL) {
                import->progress(import->progress_ctx, record.byte);
            }
        }
        reader->n_records++;
        import->read_to = record.kind == TFRECORD_CUT ? record.byte : record.end;
        rc = take_record(reader, &record, err);
        if (rc != OK) {
            return rc;
        }
    }
    return rc < 0 ? rc : OK;
}

static int note_counts(struct reader *reader, struct error *err)
{
    struct sink *sink = reader->import->sink;
    int rc = OK;
    if (reader->n_bad > MAX_NOTES) {
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err, "%lld places in all hold no record",
                       (long long)reader->n_bad);
    }
    if (rc == OK && reader->n_strange > MAX_NOTES) {
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err, "%lld records in all hold no whole event",
                       (long long)reader->n_strange);
    }
    if (rc == OK && reader->n_long > 0) {
        rc = sink_note(sink, NOTE_INFO, NONE, NONE, err,
                       "%lld records of more than %zu bytes (graphs, pictures) were stepped over",
                       (long long)reader->n_long, TFRECORD_MAX_BYTES);
    }
    if (rc == OK && reader->n_left_out > 0) {
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err,
                       "%lld values were left out: more than %d tags",
                       (long long)reader->n_left_out, TAGS_MAX);
    }
    if (rc == OK && reader->n_unnamed > 0) {
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err,
                       "%lld values were left out: their tag is empty, is not UTF-8 or has %d bytes "
                       "or more",
                       (long long)reader->n_unnamed, TENSORBOARD_TAG_BYTES);
    }
    return rc;
}

static int read_file(struct reader *reader, struct source_file *file, struct error *err)
{
    struct tfrecord_reader *records = NULL;
    struct error why = {0};
    int rc = tfrecord_open(&records, file, err);
    if (rc != OK) {
        return rc;
    }
    rc = read_records(reader, records, &why);
    if (rc != OK) {
        rc = import_note_error(reader->import, &why, err);
    }
    tfrecord_close(records);
    return rc == OK ? note_counts(reader, err) : rc;
}

static int run(struct import *import, struct error *err)
{
    struct reader reader = {.import = import, .row = -1, .step = -1};
    struct source_file *file = NULL;
    struct error why = {0};
    enum packing packing;
    bool is_odd;
    import->n_rows_are = "scalars";
    import->state = SOURCE_WHOLE;
    int rc = import_oddity(import, &is_odd, err);
    if (rc != OK || is_odd) {
        return rc;
    }
    reader.arena = arena_open(TAG_BYTES);
    reader.slots = calloc(SLOTS, sizeof reader.slots[0]);
    if (reader.arena == NULL || reader.slots == NULL) {
        rc = error_set(err, E_NOMEM, "no memory for the tags of an event file");
        goto out;
    }
    rc = source_open_unpacked(&file, &packing, import->path, &why);
    rc = rc == OK ? read_file(&reader, file, err) : import_note_error(import, &why, err);
    import->n_rows = reader.n_points;
    if (packing != PACKING_NONE && rc == OK) {
        struct source_stat stat;
        import->read_to = source_stat_path(import->path, &stat, NULL) == OK ? stat.size : NONE;
    }
out:
    source_close(file);
    free(reader.slots);
    arena_close(reader.arena);
    return rc;
}

const struct importer importer_tensorboard = {
    .id = "tensorboard",
    .title = "event file of TensorBoard",
    .hint = "events.out.tfevents.* in runs/ or logs/",
    .supplies = NEEDS_TRAIN_SERIES | NEEDS_EVAL_SERIES,
    .version = 1,
    .role = "metrics",
    .reads_packed = true,
    .probe = probe,
    .run = run,
};
