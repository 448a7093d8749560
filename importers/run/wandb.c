/* Runs of Weights & Biases as they lie on the disk (FORMATS.md B5): the .wandb log with its
 * history, and config.yaml, wandb-metadata.json and wandb-summary.json of files/. What the process
 * printed is output.log's to tell (console_log.c); only where that file is missing it is taken from
 * the log. */
#include "importers/run/wandb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/read/decompress.h"
#include "core/read/protobuf.h"
#include "core/read/source.h"
#include "core/read/wandb_log.h"
#include "importers/peek.h"
#include "importers/run/console_log.h"

#define MAX_NOTES    5
#define OUTPUT_BYTES ((size_t)16 << 20)
#define LOOK_EVERY   256

/* ---- Which file ---- */

static bool is_log_name(const struct peek *peek)
{
    return peek_name_ends(peek, ".wandb");
}

/* "key: {value: …}" throughout, as W&B writes it beside its log. */
static bool is_config(const struct peek *peek)
{
    bool is_beside = strcmp(peek->folder_name, "files") == 0;
    bool has_form =
        str_find(peek->head, "\n    value:") >= 0 || str_find(peek->head, "\n  value:") >= 0;

    return peek_name_is(peek, "config.yaml") &&
           (str_find(peek->head, "_wandb:") >= 0 || is_beside) && has_form;
}

static int probe(const struct peek *peek)
{
    if (wandb_log_begins(peek->head))
        return 97;
    if (is_log_name(peek))
        return 60;
    if (peek_name_is(peek, "wandb-metadata.json") || peek_name_is(peek, "wandb-summary.json"))
        return 95;
    return is_config(peek) ? 95 : 0;
}

/* ---- Records ---- */

struct reader {
    struct import *import;
    struct wandb_history history;
    struct buf output; /* what was printed, when output.log is missing */
    bool wants_output, is_full;
    int64_t n_records, n_bad, n_strange, n_long;
};

/* files/output.log beside the log. */
static bool has_output_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct source_stat stat;
    char name[1024];
    int n = snprintf(name, sizeof name, "%.*sfiles/output.log", slash ? (int)(slash - path + 1) : 0,
                     path);

    return n < (int)sizeof name && source_stat_path(name, &stat, NULL) == OK;
}

static void take_output(struct reader *reader, struct str record)
{
    struct protobuf in = protobuf_of(record);
    struct protobuf_field field;

    while (reader->wants_output && protobuf_next(&in, &field, NULL) == 1)
        if (field.number == 3 && field.wire == WIRE_BYTES)
            buf_str(&reader->output, field.bytes);
}

static int take_exit(struct reader *reader, struct str record, int64_t byte, struct error *err)
{
    struct protobuf in = protobuf_of(record);
    struct protobuf_field field;
    int64_t code = 0;
    char text[64], digits[32];

    while (protobuf_next(&in, &field, NULL) == 1)
        if (field.number == 1 && field.wire == WIRE_VARINT)
            code = (int32_t)field.value;
    snprintf(digits, sizeof digits, "%lld", (long long)code);
    snprintf(text, sizeof text, "W&B: the process ended with code %lld", (long long)code);
    const struct event event = {.seq = reader->n_records,
                                .kind = "logger-exit",
                                .pattern = "wandb-exit",
                                .step = reader->history.rows.last_step,
                                .line = NONE,
                                .byte = byte,
                                .text = text,
                                .n_captures = 1,
                                .captures = {digits}};

    reader->import->is_over = true;
    return sink_event(reader->import->sink, &event, err);
}

/* One record: a number, and one of many kinds. */
static int take_record(struct reader *reader, const struct wandb_log_record *record,
                       struct error *err)
{
    enum {
        HISTORY = 2,
        OUTPUT = 4,
        CONFIG = 5,
        OUTPUT_RAW = 13,
        RUN = 17,
        EXIT = 18,
        ENVIRONMENT = 26
    };
    struct protobuf in = protobuf_of(record->data);
    struct import *import = reader->import;
    struct protobuf_field field;
    int rc = OK, more = 0;

    while (rc == OK && (more = protobuf_next(&in, &field, NULL)) == 1) {
        if (field.wire != WIRE_BYTES)
            continue;
        if (field.number == HISTORY)
            rc = wandb_history_add(&reader->history, field.bytes, err);
        else if (field.number == OUTPUT || field.number == OUTPUT_RAW)
            take_output(reader, field.bytes);
        else if (field.number == CONFIG)
            rc = wandb_take_config(import, field.bytes, err);
        else if (field.number == RUN)
            rc = wandb_take_run(import, field.bytes, err);
        else if (field.number == EXIT)
            rc = take_exit(reader, field.bytes, record->byte, err);
        else if (field.number == ENVIRONMENT)
            rc = wandb_take_environment(import, field.bytes, err);
    }
    reader->is_full = rc == 1;
    if (rc > 0)
        rc = OK;
    if (rc != OK || more >= 0)
        return rc;
    import->state = SOURCE_DAMAGED;
    if (reader->n_strange++ >= MAX_NOTES)
        return OK;
    return sink_note(import->sink, NOTE_WARN, NONE, record->byte, err,
                     "a record with the right checksum is no record of W&B");
}

static int take(struct reader *reader, const struct wandb_log_record *record, struct error *err)
{
    struct import *import = reader->import;

    switch (record->kind) {
    case WANDB_LOG_DATA:
        return take_record(reader, record, err);
    case WANDB_LOG_LONG:
        reader->n_long++;
        return OK;
    case WANDB_LOG_DAMAGED:
        import->state = SOURCE_DAMAGED;
        if (reader->n_bad++ >= MAX_NOTES)
            return OK;
        return sink_note(import->sink, NOTE_WARN, NONE, record->byte, err, "%s: skipped %lld bytes",
                         record->why, (long long)(record->end - record->byte));
    case WANDB_LOG_CUT:
        if (import->state == SOURCE_WHOLE)
            import->state = SOURCE_GROWING;
        return sink_note(import->sink, NOTE_INFO, NONE, record->byte, err,
                         "the last record is half written: %lld bytes",
                         (long long)(record->end - record->byte));
    }
    return OK;
}

static int read_records(struct reader *reader, struct wandb_log *log, struct error *err)
{
    struct import *import = reader->import;
    struct wandb_log_record record;
    int rc = 0;

    while (!reader->is_full && (rc = wandb_log_next(log, &record, err)) == 1) {
        if (reader->n_records++ % LOOK_EVERY == 0) {
            if (import_is_cancelled(import))
                return error_set(err, E_CANCELLED, "import cancelled");
            if (import->progress)
                import->progress(import->progress_ctx, record.byte);
        }
        import->read_to = record.kind == WANDB_LOG_CUT ? record.byte : record.end;
        rc = take(reader, &record, err);
        if (rc != OK)
            return rc;
    }
    return rc < 0 ? rc : OK;
}

/* ---- After the last record ---- */

static int note_counts(struct reader *reader, struct error *err)
{
    struct sink *sink = reader->import->sink;
    struct wandb_history *history = &reader->history;
    int rc = OK;

    if (reader->n_bad > MAX_NOTES)
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err, "%lld places in all hold no record",
                       (long long)reader->n_bad);
    if (rc == OK && reader->n_strange > MAX_NOTES)
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err, "%lld records in all are none of W&B",
                       (long long)reader->n_strange);
    if (rc == OK && reader->n_long > 0)
        rc = sink_note(sink, NOTE_INFO, NONE, NONE, err,
                       "%lld records of more than %zu bytes were stepped over",
                       (long long)reader->n_long, WANDB_LOG_MAX_BYTES);
    if (rc == OK && history->n_damaged > 0)
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err, "%lld items of the history are damaged",
                       (long long)history->n_damaged);
    if (rc == OK && history->n_left_out > 0)
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err,
                       "%lld rows or values of the history were left out: a row of more than %d "
                       "values, or names without end",
                       (long long)history->n_left_out, WANDB_ROW_FIELDS);
    return rc;
}

static int read_output(struct reader *reader, struct error *err)
{
    struct import *import = reader->import;
    const struct import before = *import;
    struct source_file *file = NULL;

    if (reader->output.n == 0)
        return OK;
    int rc = source_open_bytes(&file, import->path, reader->output.p, reader->output.n, err);
    if (rc != OK)
        return rc;
    rc = console_log_read(import, file, err);
    source_close(file);
    import->n_rows = before.n_rows;
    import->n_rows_are = before.n_rows_are;
    import->read_to = before.read_to;
    import->state = before.state;
    if (rc == OK)
        rc = sink_note(import->sink, NOTE_INFO, NONE, NONE, err,
                       "files/output.log is missing: what was printed was taken from the log; a "
                       "line is one of the output");
    return rc;
}

static int read_log(struct import *import, struct source_file *file, struct error *err)
{
    struct reader reader = {.import = import, .wants_output = !has_output_file(import->path)};
    struct wandb_log *log = NULL;
    struct error why = {0};
    int rc = wandb_history_begin(&reader.history, import, err);

    buf_init(&reader.output, OUTPUT_BYTES);
    if (rc == OK)
        rc = wandb_log_open(&log, file, err);
    if (rc == OK) {
        rc = read_records(&reader, log, &why);
        if (rc != OK)
            rc = import_note_error(import, &why, err);
    }
    if (rc == OK)
        rc = note_counts(&reader, err);
    if (rc == OK)
        rc = read_output(&reader, err);
    wandb_log_close(log);
    wandb_history_end(&reader.history);
    buf_free(&reader.output);
    return rc;
}

static int run_log(struct import *import, struct error *err)
{
    struct source_file *file = NULL;
    struct error why = {0};
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    if (rc != OK || is_odd)
        return rc;
    rc = source_open(&file, import->path, &why);
    rc = rc == OK ? read_log(import, file, err) : import_note_error(import, &why, err);
    source_close(file);
    return rc;
}

static int run(struct import *import, struct error *err)
{
    struct str path = str_of(import->path);

    import->state = SOURCE_WHOLE;
    import->n_rows_are = "settings";
    if (str_ends(path, "/wandb-summary.json"))
        return wandb_read_summary_file(import, err);
    if (str_ends(path, "/wandb-metadata.json"))
        return wandb_read_metadata_file(import, err);
    if (str_ends(path, "/config.yaml"))
        return wandb_read_config_file(import, err);
    import->n_rows_are = "metric rows";
    return run_log(import, err);
}

const struct importer importer_wandb = {
    .id = "wandb",
    .title = "run of Weights & Biases",
    .hint = "run-*.wandb in wandb/run-* or wandb/offline-run-*",
    .supplies = NEEDS_TRAIN_SERIES | NEEDS_EVAL_SERIES | NEEDS_SETTINGS,
    .version = 1,
    .role = "metrics",
    .probe = probe,
    .run = run,
};
