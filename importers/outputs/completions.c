/* Completions that a trainer logged while it trained: TRL's completions_<step>.parquet, tables of W&B,
 * ms-swift's completions.jsonl, verl's rollouts. They are what the model wrote, never rows to train on.
 * Kept are how many there are, of which steps, and which numbers stand beside them; the texts stay in
 * the file (core/facts/completions.h reads them). */
#include <stdio.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/read/completion_rows.h"
#include "importers/importer.h"
#include "importers/peek.h"

enum { MAX_BAD_NOTES = 20, MAX_NAMES = COMPLETION_VALUES, NAME_BYTES = 128 };

static bool has_either(const struct peek *peek, const char *a, const char *b)
{
    return peek_has_key(peek, a) || peek_has_key(peek, b);
}

static bool is_named(const struct peek *peek)
{
    return peek_name_starts(peek, "completions") ||
           (peek->folder_name && strcmp(peek->folder_name, "completions") == 0);
}

/* A row, or a line of columns, which may well be longer than what is looked at. */
static int probe_rows(const struct peek *peek)
{
    bool has_step = has_either(peek, "step", "gen_step");
    bool has_text = peek_has_key(peek, "completion");

    if (has_text && has_either(peek, "prompt", "messages") &&
        has_either(peek, "advantage", "advantages"))
        return 92;
    if (is_named(peek) && has_step && (has_text || has_either(peek, "prompt", "messages")))
        return 92;
    bool is_rollout = peek_has_key(peek, "input") && peek_has_key(peek, "output") &&
                      peek_has_key(peek, "score") && peek_has_key(peek, "step");
    return is_rollout ? 90 : 0;
}

static int probe(const struct peek *peek)
{
    if (peek->is_table)
        return probe_rows(peek);
    if (peek_name_ends(peek, ".table.json"))
        return str_find(peek->head, "\"completion\"") >= 0 && str_find(peek->head, "\"prompt\"") >= 0 &&
                       peek_has_key(peek, "columns") && peek_has_key(peek, "data")
                   ? 92
                   : 0;
    if (!peek_name_ends(peek, ".jsonl") || peek_first(peek) != '{')
        return 0;
    return probe_rows(peek);
}

struct reading {
    struct import *import;
    int64_t n, n_bad, first_step, last_step, n_without_step;
    char names[MAX_NAMES][NAME_BYTES];
    size_t n_names;
};

static void see_name(struct reading *reading, struct str name)
{
    for (size_t i = 0; i < reading->n_names; i++)
        if (str_is(name, reading->names[i]))
            return;
    if (reading->n_names == MAX_NAMES || name.n == 0 || name.n >= NAME_BYTES)
        return;
    memcpy(reading->names[reading->n_names], name.p, name.n);
    reading->names[reading->n_names++][name.n] = '\0';
}

static int on_row(void *ctx, const struct completion_row *row, struct error *err)
{
    struct reading *reading = ctx;

    if (reading->n++ % 256 == 0 && import_is_cancelled(reading->import))
        return error_set(err, E_CANCELLED, "cancelled");
    for (size_t i = 0; i < row->n_values; i++)
        see_name(reading, row->values[i].name);
    if (row->step == NONE) {
        reading->n_without_step++;
        return OK;
    }
    if (reading->first_step == NONE || row->step < reading->first_step)
        reading->first_step = row->step;
    if (row->step > reading->last_step)
        reading->last_step = row->step;
    return OK;
}

static int on_bad(void *ctx, int64_t line, const char *why, struct error *err)
{
    struct reading *reading = ctx;

    if (reading->n_bad++ >= MAX_BAD_NOTES)
        return OK;
    return sink_note(reading->import->sink, NOTE_WARN, line, NONE, err, "%s", why);
}

static int put_number(struct reading *reading, const char *name, int64_t n, struct error *err)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)n);
    return import_setting(reading->import, SIDE_EVAL, name, text, VALUE_INT, NONE, err);
}

static int put_names(struct reading *reading, struct error *err)
{
    struct buf list;

    buf_init(&list, (size_t)1 << 20);
    buf_putc(&list, '[');
    for (size_t i = 0; i < reading->n_names; i++) {
        buf_puts(&list, i ? "," : "");
        json_write_string(&list, str_of(reading->names[i]));
    }
    buf_putc(&list, ']');
    int rc = list.failed ? error_set(err, E_NOMEM, "no memory for the names of rewards")
                         : import_setting(reading->import, SIDE_EVAL, "completions.numbers", list.p,
                                          VALUE_LIST, NONE, err);
    buf_free(&list);
    return rc;
}

static int put(struct reading *reading, struct error *err)
{
    int rc = put_number(reading, "completions.n", reading->n, err);

    if (rc == OK && reading->n_bad > MAX_BAD_NOTES)
        rc = sink_note(reading->import->sink, NOTE_WARN, NONE, NONE, err,
                       "%lld rows in all that are no completions", (long long)reading->n_bad);
    if (rc == OK && reading->n_without_step > 0)
        rc = sink_note(reading->import->sink, NOTE_WARN, NONE, NONE, err,
                       "%lld completions without a step, in a file whose name ends with none",
                       (long long)reading->n_without_step);
    if (rc == OK && reading->first_step != NONE) {
        rc = put_number(reading, "completions.first_step", reading->first_step, err);
        if (rc == OK)
            rc = put_number(reading, "completions.last_step", reading->last_step, err);
    }
    return rc == OK ? put_names(reading, err) : rc;
}

static int run(struct import *import, struct error *err)
{
    struct reading reading = {.import = import, .first_step = NONE, .last_step = NONE};
    struct completion_handler handler = {on_row, on_bad, &reading};
    struct error why = {0};
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "completions";
    if (rc != OK || is_odd)
        return rc;
    rc = completion_rows_read(import->path, &handler, &why);
    import->n_rows = reading.n;
    if (rc != OK)
        rc = import_note_error(import, &why, err);
    return rc == OK && reading.n > 0 ? put(&reading, err) : rc;
}

const struct importer importer_completions = {
    .id = "completions",
    .title = "completions that a trainer logged, with their rewards",
    .hint = "completions/*.parquet of TRL, completions.jsonl of ms-swift, rollouts of verl",
    .supplies = 0,
    .version = 1,
    .role = "completions",
    .reads_tables = true,
    .probe = probe,
    .run = run,
};
