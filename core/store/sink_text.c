/* A sink that writes one line a record, tab-separated: what the importer tests compare.
 *
 *     source        importer, path below the run's folder, role
 *     setting       side, raw name, canonical name, type, value, line
 *     series        raw name, canonical name
 *     point         raw name, seq, segment, step, value, line, wall where known
 *     event         seq, kind, pattern, step, line, byte, text, captures
 *     artefact      id, kind, role, path, size, step, sha256
 *     tensor        artefact, name, dtype, shape, values, norm, non-zero, non-finite
 *     dataset       id, name, split, form, columns, rows, unreadable
 *     sample        dataset, at, length, flags, tokens, prompt tokens, trained tokens
 *     dataset-done  dataset, form, columns, rows, unreadable
 *     generation    ord, row, model, step, finish reason, tokens, limit, batch, exact, flags
 *     eval-suite    id, suite, model, metric, step, n, correct, artefact, sha256, frozen, line
 *     eval-item     suite, item, score, cluster
 *     judgement     ord, item, base, candidate, score, length of the base's answer and of the other,
 *                   step, line
 *     note          severity, line, byte, message
 *     end           state, read to
 *     abort         (then only the notes of the source are left above it)
 *
 * "-" is what is not stated; a text that is "-" is written as "\-". Ids count from 1 in each
 * source. Sizes and times of the file itself are left out: they differ between machines. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/store/sink.h"
#include "core/store/sink_backend.h"

struct text_sink {
    struct buf *out;
    size_t start;               /* of the open source */
    char *folder;               /* of its run: paths are shown below it */
    char **series;              /* raw names by handle */
    int n_series, capacity;
    int64_t next_artefact, next_dataset, next_suite;
};

static int check(const struct text_sink *sink, struct error *err)
{
    if (sink->out->failed)
        return error_set(err, E_LIMIT, "the dump grows beyond %zu bytes", sink->out->limit);
    return OK;
}

/* ---- Fields --------------------------------------------------------------------------------- */

/* Tabs, line ends and control bytes never reach the dump raw. */
static void put_text(struct buf *out, const char *text)
{
    buf_putc(out, '\t');
    if (!text) {
        buf_putc(out, '-');
        return;
    }
    if (strcmp(text, "-") == 0)
        buf_putc(out, '\\');
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;

        if (c == '\t')
            buf_puts(out, "\\t");
        else if (c == '\n')
            buf_puts(out, "\\n");
        else if (c == '\r')
            buf_puts(out, "\\r");
        else if (c == '\\')
            buf_puts(out, "\\\\");
        else if (c < 0x20 || c == 0x7f)
            buf_printf(out, "\\x%02x", c);
        else
            buf_putc(out, *p);
    }
}

static void put_count(struct buf *out, const char *label, int64_t n)
{
    buf_putc(out, '\t');
    if (label)
        buf_printf(out, "%s ", label);
    if (n == NONE)
        buf_putc(out, '-');
    else
        buf_printf(out, "%" PRId64, n);
}

static void put_number(struct buf *out, const char *label, double value)
{
    char text[32];

    number_repr(text, value);
    buf_putc(out, '\t');
    if (label)
        buf_printf(out, "%s ", label);
    buf_puts(out, text);
}

/* Below the run's folder where it is there, so that a dump is the same in any place. */
static void put_path(const struct text_sink *sink, const char *path)
{
    size_t n = sink->folder ? strlen(sink->folder) : 0;

    if (path && n && strncmp(path, sink->folder, n) == 0 && path[n] == '/')
        put_text(sink->out, path + n + 1);
    else if (path && n && strcmp(path, sink->folder) == 0)
        put_text(sink->out, ".");
    else
        put_text(sink->out, path);
}

static const char *const TYPES[] = {
    [VALUE_NULL] = "null", [VALUE_BOOL] = "bool", [VALUE_INT] = "int",
    [VALUE_FLOAT] = "float", [VALUE_TEXT] = "text", [VALUE_LIST] = "list",
    [VALUE_OBJECT] = "object",
};
static const char *const SEVERITIES[] = {
    [NOTE_INFO] = "info", [NOTE_WARN] = "warn", [NOTE_ERROR] = "error"};

/* ---- Records -------------------------------------------------------------------------------- */

static void forget_source(struct text_sink *sink)
{
    for (int i = 0; i < sink->n_series; i++)
        free(sink->series[i]);
    sink->n_series = 0;
    free(sink->folder);
    sink->folder = NULL;
}

static int begin(void *self, const struct run *run, const struct source *source,
                 struct error *err)
{
    struct text_sink *sink = self;

    forget_source(sink);
    if (run->folder && !(sink->folder = strdup(run->folder)))
        return error_set(err, E_NOMEM, "no memory for a path");
    sink->start = sink->out->n;
    sink->next_artefact = sink->next_dataset = sink->next_suite = 1;
    buf_puts(sink->out, "source");
    put_text(sink->out, source->importer);
    put_path(sink, source->path);
    put_text(sink->out, source->role);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

static int setting(void *self, const struct setting *set, struct error *err)
{
    struct text_sink *sink = self;

    buf_puts(sink->out, "setting");
    put_text(sink->out, side_name(set->side));
    put_text(sink->out, set->raw_name);
    put_text(sink->out, set->name);
    put_text(sink->out, TYPES[set->type]);
    put_text(sink->out, set->value);
    put_count(sink->out, "line", set->line);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

static int series(void *self, int handle, const char *raw_name, const char *name,
                  struct error *err)
{
    struct text_sink *sink = self;

    if (handle >= sink->capacity) {
        int capacity = sink->capacity ? sink->capacity * 2 : 16;
        char **grown = realloc(sink->series, (size_t)capacity * sizeof *grown);

        if (!grown)
            return error_set(err, E_NOMEM, "no memory for a series");
        sink->series = grown;
        sink->capacity = capacity;
    }
    sink->series[handle] = strdup(raw_name);
    if (!sink->series[handle])
        return error_set(err, E_NOMEM, "no memory for a series");
    sink->n_series = handle + 1;
    buf_puts(sink->out, "series");
    put_text(sink->out, raw_name);
    put_text(sink->out, name);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

static int point(void *self, int handle, const struct point *at, struct error *err)
{
    struct text_sink *sink = self;

    buf_puts(sink->out, "point");
    put_text(sink->out, sink->series[handle]);
    put_count(sink->out, "seq", at->seq);
    put_count(sink->out, "segment", at->segment);
    put_count(sink->out, "step", at->step);
    put_number(sink->out, NULL, at->value);
    put_count(sink->out, "line", at->line);
    if (!isnan(at->wall))
        put_number(sink->out, "wall", at->wall);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

static int event(void *self, const struct event *said, struct error *err)
{
    struct text_sink *sink = self;

    buf_puts(sink->out, "event");
    put_count(sink->out, "seq", said->seq);
    put_text(sink->out, said->kind);
    put_text(sink->out, said->pattern);
    put_count(sink->out, "step", said->step);
    put_count(sink->out, "line", said->line);
    put_count(sink->out, "byte", said->byte);
    put_text(sink->out, said->text);
    for (int i = 0; i < said->n_captures; i++)
        put_text(sink->out, said->captures[i]);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

static int artefact(void *self, const struct artefact *found, int64_t *id, struct error *err)
{
    struct text_sink *sink = self;

    *id = sink->next_artefact++;
    buf_puts(sink->out, "artefact");
    put_count(sink->out, NULL, *id);
    put_text(sink->out, found->kind);
    put_text(sink->out, found->role);
    put_path(sink, found->path);
    put_count(sink->out, "size", found->size);
    put_count(sink->out, "step", found->step);
    put_text(sink->out, found->sha256);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

static int tensor(void *self, int64_t artefact_id, const struct tensor *of, struct error *err)
{
    struct text_sink *sink = self;

    buf_puts(sink->out, "tensor");
    put_count(sink->out, NULL, artefact_id);
    put_text(sink->out, of->name);
    put_text(sink->out, of->dtype);
    put_text(sink->out, of->shape);
    put_count(sink->out, "values", of->n_values);
    put_number(sink->out, "norm", of->norm);
    put_count(sink->out, "non-zero", of->n_nonzero);
    put_count(sink->out, "non-finite", of->n_nonfinite);
    if (!isnan(of->delta_norm))
        put_number(sink->out, "delta", of->delta_norm);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

static void put_rows(struct buf *out, const struct dataset *set)
{
    put_text(out, set->form);
    put_text(out, set->columns);
    put_count(out, "rows", set->n_rows);
    put_count(out, "unreadable", set->n_unreadable);
    buf_putc(out, '\n');
}

static int dataset(void *self, const struct dataset *set, int64_t *id, struct error *err)
{
    struct text_sink *sink = self;

    *id = sink->next_dataset++;
    buf_puts(sink->out, "dataset");
    put_count(sink->out, NULL, *id);
    put_text(sink->out, set->name);
    put_text(sink->out, set->split);
    put_rows(sink->out, set);
    return check(sink, err);
}

static int sample(void *self, int64_t dataset_id, const struct sample *row, struct error *err)
{
    struct text_sink *sink = self;

    buf_puts(sink->out, "sample");
    put_count(sink->out, NULL, dataset_id);
    put_count(sink->out, "at", row->at);
    put_count(sink->out, "length", row->length);
    buf_printf(sink->out, "\tflags 0x%" PRIx32, row->flags);
    put_count(sink->out, "tokens", row->n_tokens);
    put_count(sink->out, "prompt", row->n_prompt_tokens);
    put_count(sink->out, "trained", row->n_trained);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

static int dataset_done(void *self, int64_t dataset_id, const struct dataset *done,
                        struct error *err)
{
    struct text_sink *sink = self;

    buf_puts(sink->out, "dataset-done");
    put_count(sink->out, NULL, dataset_id);
    put_rows(sink->out, done);
    return check(sink, err);
}

static int generation(void *self, const struct generation *made, struct error *err)
{
    struct text_sink *sink = self;

    buf_puts(sink->out, "generation");
    put_count(sink->out, NULL, made->ord);
    put_count(sink->out, "row", made->row);
    put_text(sink->out, made->model);
    put_count(sink->out, "step", made->step);
    put_text(sink->out, made->finish_reason);
    put_count(sink->out, "tokens", made->n_tokens);
    put_count(sink->out, "limit", made->max_new_tokens);
    put_count(sink->out, "batch", made->batch);
    put_count(sink->out, "exact", made->exact);
    put_count(sink->out, "flags", made->flags ? (int64_t)made->flags : NONE);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

static int eval_suite(void *self, const struct eval_suite *suite, int64_t *id, struct error *err)
{
    struct text_sink *sink = self;

    *id = sink->next_suite++;
    buf_puts(sink->out, "eval-suite");
    put_count(sink->out, NULL, *id);
    put_text(sink->out, suite->suite);
    put_text(sink->out, suite->model);
    put_text(sink->out, suite->metric);
    put_count(sink->out, "step", suite->step);
    put_count(sink->out, "n", suite->n);
    put_number(sink->out, NULL, suite->n_correct);
    put_text(sink->out, suite->artefact);
    put_text(sink->out, suite->sha256);
    put_text(sink->out, suite->frozen);
    put_count(sink->out, "line", suite->line);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

static int eval_item(void *self, int64_t suite_id, const struct eval_item *item, struct error *err)
{
    struct text_sink *sink = self;

    buf_puts(sink->out, "eval-item");
    put_count(sink->out, NULL, suite_id);
    put_text(sink->out, item->item);
    put_number(sink->out, NULL, item->score);
    put_text(sink->out, item->cluster);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

static int judgement(void *self, const struct judgement *said, struct error *err)
{
    struct text_sink *sink = self;

    buf_puts(sink->out, "judgement");
    put_count(sink->out, NULL, said->ord);
    put_text(sink->out, said->item);
    put_text(sink->out, said->base);
    put_text(sink->out, said->candidate);
    put_number(sink->out, NULL, said->score);
    put_count(sink->out, "base", said->length_base);
    put_count(sink->out, "candidate", said->length_candidate);
    put_count(sink->out, "step", said->step);
    put_count(sink->out, "line", said->line);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

static int note(void *self, const struct note *said, struct error *err)
{
    struct text_sink *sink = self;

    buf_puts(sink->out, "note");
    put_text(sink->out, SEVERITIES[said->severity]);
    put_count(sink->out, "line", said->line);
    put_count(sink->out, "byte", said->byte);
    put_text(sink->out, said->message);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

static int end(void *self, int64_t read_to, enum source_state state, struct error *err)
{
    struct text_sink *sink = self;

    buf_puts(sink->out, "end");
    put_text(sink->out, source_state_name(state));
    put_count(sink->out, "read", read_to);
    buf_putc(sink->out, '\n');
    return check(sink, err);
}

/* Keeps the source line and the notes, as the store does. */
static void abort_source(void *self)
{
    struct text_sink *sink = self;
    struct buf *out = sink->out;
    size_t kept = sink->start;

    for (size_t at = sink->start; at < out->n;) {
        const char *line = out->p + at;
        const char *line_end = memchr(line, '\n', out->n - at);
        size_t n = line_end ? (size_t)(line_end - line) + 1 : out->n - at;

        if (strncmp(line, "source\t", 7) == 0 || strncmp(line, "note\t", 5) == 0) {
            memmove(out->p + kept, line, n);
            kept += n;
        }
        at += n;
    }
    if (out->p && out->capacity) {
        out->n = kept;
        out->p[kept] = '\0';
    }
    buf_puts(out, "abort\n");
}

static void close_text(void *self)
{
    struct text_sink *sink = self;

    forget_source(sink);
    free(sink->series);
    free(sink);
}

static const struct sink_backend text_backend = {
    .begin = begin,           .setting = setting, .series = series,
    .point = point,           .event = event,     .artefact = artefact,
    .tensor = tensor,         .dataset = dataset, .sample = sample,
    .dataset_done = dataset_done, .generation = generation, .note = note,
    .eval_suite = eval_suite, .eval_item = eval_item, .judgement = judgement,
    .end = end,               .abort = abort_source, .close = close_text,
};

int sink_open_text(struct sink **out, struct buf *text, struct error *err)
{
    struct text_sink *sink = calloc(1, sizeof *sink);

    if (!sink)
        return error_set(err, E_NOMEM, "no memory for a sink");
    sink->out = text;
    return sink_open_backend(out, &text_backend, sink, err);
}
