/* Bars give steps to rows and events; rows become points; falling steps begin segments. */
#include "importers/run/console_progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/metric_names.h"
#include "importers/run/console_exception.h"

#define MAX_SERIES 2000

int console_progress_open(struct console_progress *progress, struct sink *sink,
                          struct console_events *events, struct error *err)
{
    *progress = (struct console_progress){.sink = sink,
                                          .events = events,
                                          .total = NONE,
                                          .done = NONE,
                                          .bar_line = NONE,
                                          .bar_byte = NONE,
                                          .other_total = NONE,
                                          .other_done = NONE,
                                          .planned = NONE,
                                          .epoch_total = NONE,
                                          .first_epoch = NONE,
                                          .fell_from = NONE,
                                          .last_step = NONE,
                                          .last_row_step = NONE,
                                          .last_epoch = NAN,
                                          .segment_is_new = true};
    buf_init(&progress->waiting.text, 4096);
    progress->series = calloc(MAX_SERIES, sizeof progress->series[0]);
    return progress->series != NULL ? OK : error_set(err, E_NOMEM, "no memory for series");
}

void console_progress_close(struct console_progress *progress)
{
    buf_free(&progress->waiting.text);
    free(progress->series);
    progress->series = NULL;
}

int64_t console_progress_step(const struct console_progress *progress)
{
    bool is_other_at_work =
        progress->other_since_end && progress->other_done < progress->other_total;
    if (progress->has_ended && is_other_at_work) {
        return progress->other_done;
    }
    return progress->done != NONE ? progress->done : progress->last_step;
}

void console_progress_evaluate(struct console_progress *progress)
{
    progress->is_evaluating = true;
}

void console_progress_plan(struct console_progress *progress, int64_t steps)
{
    progress->planned = steps;
    if (progress->total != steps) { /* what was taken for the bar of the training is none */
        progress->total = progress->done = NONE;
        progress->bar_since_row = false;
    }
}

static int say_restart(struct console_progress *progress, int64_t step, int64_t line, int64_t byte,
                       struct str text, struct error *err)
{
    char before[32], total[32];
    struct console_said said = {.kind = "training-restart",
                                .step = step,
                                .line = line,
                                .byte = byte,
                                .text = text,
                                .n_captures = 2};
    said.captures[0] = step != NONE ? console_line_text(before, step) : str_of("");
    said.captures[1] =
        progress->total != NONE ? console_line_text(total, progress->total) : str_of("");
    return console_events_add(progress->events, &said, err);
}

/* ---- Rows to points ---- */

/* Does a point of this row begin a new segment? */
static void see_segment(struct console_progress *progress, const struct console_waiting *row,
                        int64_t step)
{
    bool falls = step != NONE && progress->last_step != NONE && step < progress->last_step;
    bool epoch_falls = row->is_training && step == NONE && row->epoch < progress->last_epoch;
    bool begins_again = row->is_training && progress->has_ended;
    if ((falls || epoch_falls || begins_again) && !progress->segment_is_new) {
        progress->segment++;
    }
    if (row->is_training) {
        progress->segment_is_new = progress->has_ended = false;
    }
    progress->last_step = step != NONE ? step : progress->last_step;
    progress->last_row_step = step;
    if (row->is_training && !isnan(row->epoch)) {
        progress->last_epoch = row->epoch;
    }
}

static int say_eval_row(struct console_progress *progress, const struct console_waiting *row,
                        int64_t step, struct error *err)
{
    char number[32];
    struct console_said said = {.kind = "eval-row",
                                .step = step,
                                .line = row->line,
                                .byte = row->byte,
                                .text = buf_view(&row->text),
                                .n_captures = 1};
    said.captures[0] = step != NONE ? console_line_text(number, step) : str_of("");
    return console_events_add(progress->events, &said, err);
}

static int give_points(struct console_progress *progress, int64_t step, struct error *err)
{
    struct console_waiting *row = &progress->waiting;
    row->is_busy = false;
    see_segment(progress, row, step);
    struct point point = {.seq = row->seq,
                          .segment = progress->segment,
                          .step = step,
                          .line = row->line,
                          .wall = NAN};
    for (size_t i = 0; i < row->n; i++) {
        point.value = row->values[i];
        int rc = sink_point(progress->sink, row->handles[i], &point, err);
        if (rc != OK) {
            return rc;
        }
    }
    return row->is_eval ? say_eval_row(progress, row, step, err) : OK;
}

int console_progress_settle(struct console_progress *progress, struct error *err)
{
    const struct console_waiting *row = &progress->waiting;
    if (!row->is_busy) {
        return OK;
    }
    int64_t step = row->step != NONE ? row->step : row->is_crowded ? NONE : row->bar_before;
    return give_points(progress, step, err);
}

/* ---- Bars ---- */

static bool says_training(struct str description)
{
    static const char *const no[] = {"dataset", "token", "load",  "map",      "eval",   "val",
                                     "predict", "test",  "split", "download", "generat"};
    if (!str_has_ignoring_case(description, "train") &&
        !str_has_ignoring_case(description, "epoch") && !str_is(description, "step")) {
        return false;
    }
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        if (str_has_ignoring_case(description, no[i])) {
            return false;
        }
    }
    return true;
}

/* Is this the bar of the training, and not of an evaluation in it or behind it? */
static bool is_training_bar(struct console_progress *progress, const struct console_bar *bar)
{
    if (!bar->counts_steps || bar->total == 0 ||
        (bar->description.n > 0 && !says_training(bar->description))) {
        return false;
    }
    if (progress->planned != NONE || progress->total != NONE) {
        return bar->total == progress->total || bar->total == progress->planned;
    }
    return !progress->is_evaluating;
}

/* A new process draws 0 first, so only that may be a restart; ranks that run a little behind are
 * not. An evaluation with as many steps counts up from 0, too, and then the old count goes on. */
static void see_fall(struct console_progress *progress, const struct console_bar *bar, int64_t line,
                     int64_t byte)
{
    bool falls = progress->done > 0 && bar->done == 0;
    if (falls && bar->total == progress->total && progress->fell_from == NONE &&
        progress->n_rows > 0) {
        progress->fell_from = progress->done;
        progress->fell_line = line;
        progress->fell_byte = byte;
        progress->n_low = 0;
    }
    progress->n_low += bar->done > 0 && bar->done < progress->fell_from;
}

/* The row before this bar gets the bar's step. */
static int settle_by_bar(struct console_progress *progress, int64_t done, struct error *err)
{
    const struct console_waiting *row = &progress->waiting;
    if (row->step != NONE || row->is_crowded) {
        return console_progress_settle(progress, err);
    }
    bool is_redrawn = row->bar_before == NONE || done >= row->bar_before;
    return give_points(progress, is_redrawn ? done : row->bar_before, err);
}

/* A bar that begins again in each epoch: steps go on, the plan is known when the epochs are. */
static int epoch_bar(struct console_progress *progress, const struct console_bar *bar, int64_t line,
                     int64_t byte, struct error *err)
{
    if (progress->epoch_total == NONE) {
        progress->epoch_total = bar->total;
        progress->first_epoch = bar->epoch == 1 ? 1 : 0;
    }
    if (bar->total != progress->epoch_total || bar->total > INT64_C(1000000000)) {
        return console_progress_settle(progress, err);
    }
    int64_t done = (bar->epoch - progress->first_epoch) * bar->total + bar->done;
    progress->done = done < 0 ? bar->done : done;
    progress->total = bar->n_epochs != NONE ? bar->n_epochs * bar->total : NONE;
    progress->bar_line = line;
    progress->bar_byte = byte;
    int rc = progress->waiting.is_busy ? settle_by_bar(progress, progress->done, err) : OK;
    progress->bar_since_row = true;
    return rc;
}

int console_progress_bar(struct console_progress *progress, const struct console_bar *bar,
                         int64_t line, int64_t byte, struct error *err)
{
    if (bar->epoch != NONE && bar->counts_steps && says_training(bar->description)) {
        return epoch_bar(progress, bar, line, byte, err);
    }
    if (!is_training_bar(progress, bar)) {
        if (bar->description.n == 0 && bar->counts_steps) {
            progress->other_total = bar->total;
            progress->other_done = bar->done;
            progress->other_since_row = true;
            progress->other_since_end = progress->has_ended;
        }
        return console_progress_settle(progress, err);
    }
    see_fall(progress, bar, line, byte);
    progress->total = bar->total;
    progress->done = bar->done;
    progress->bar_line = line;
    progress->bar_byte = byte;
    int rc = OK;
    if (progress->waiting.is_busy) {
        rc = settle_by_bar(progress, bar->done, err);
    }
    progress->bar_since_row = true;
    return rc;
}

/* A row with a loss right behind another bar: that one is the bar of the training. */
static void adopt_bar(struct console_progress *progress)
{
    if (progress->bar_since_row || !progress->other_since_row || progress->other_done == 0) {
        return;
    }
    progress->total = progress->other_total;
    progress->done = progress->other_done;
    progress->bar_since_row = true;
}

/* ---- Reading a row ---- */

static int find_series(struct console_progress *progress, struct str key,
                       struct console_series **out, struct error *err)
{
    char name[sizeof progress->series[0].key];
    size_t n = key.n < sizeof name ? key.n : sizeof name - 1;
    memcpy(name, key.p, n);
    name[n] = '\0';
    for (size_t i = 0; i < progress->n_series; i++) {
        if (strcmp(progress->series[i].key, name) == 0) {
            *out = &progress->series[i];
            return OK;
        }
    }
    *out = NULL;
    if (progress->n_series == MAX_SERIES) {
        return OK;
    }
    struct console_series *series = &progress->series[progress->n_series];
    memcpy(series->key, name, sizeof name);
    series->is_total = strcmp(name, "total") == 0 || strcmp(name, "total_steps") == 0 ||
                       strcmp(name, "max_steps") == 0;
    series->is_step = !series->is_total && metric_is_step(name);
    if (!series->is_step && !series->is_total) {
        int rc = sink_series(progress->sink, name, metric_name(name), &series->handle, err);
        if (rc != OK) {
            return rc;
        }
    }
    progress->n_series++;
    *out = series;
    return OK;
}

/* The series of the i-th field: most often the one that stood there in the last row. */
static int series_of(struct console_progress *progress, struct str key, size_t i,
                     struct console_series **out, struct error *err)
{
    if (i < progress->n_series && str_is(key, progress->series[i].key)) {
        *out = &progress->series[i];
        return OK;
    }
    return find_series(progress, key, out, err);
}

/* "17/124" of ms-swift. */
static void take_fraction(struct console_progress *progress, struct console_waiting *row,
                          struct str text)
{
    struct str rest = text, part;
    int64_t step, total;
    if (str_split(&rest, '/', &part) && number_parse_int(part, &step)) {
        row->step = step;
        if (number_parse_int(rest, &total)) {
            progress->total = total;
            row->has_total = true;
        }
    }
}

static int take_field(struct console_progress *progress, const struct console_field *field,
                      size_t i, struct error *err)
{
    struct console_waiting *row = &progress->waiting;
    if (!field->is_number) {
        if (str_is(field->key, "global_step/max_steps")) {
            take_fraction(progress, row, field->text);
        }
        return OK;
    }
    struct console_series *series;
    int rc = series_of(progress, field->key, i, &series, err);
    if (rc != OK || series == NULL) {
        return rc;
    }
    bool is_count = field->value >= 0 && field->value < 9e15;
    if (series->is_step) {
        row->step = is_count ? (int64_t)field->value : NONE;
    } else if (series->is_total && is_count && field->value > 0) {
        progress->total = (int64_t)field->value;
        row->has_total = true;
    } else if (series->is_total) {
        return OK;
    } else {
        row->handles[row->n] = series->handle;
        row->values[row->n++] = field->value;
    }
    if (str_is(field->key, "epoch")) {
        row->epoch = field->value;
    }
    return OK;
}

static void classify(struct console_waiting *waiting, const struct console_row *row)
{
    bool has_eval = false, has_loss = false, is_final = false;
    for (size_t i = 0; i < row->n; i++) {
        struct str key = row->fields[i].key;
        has_eval |= str_starts(key, "eval_");
        has_loss |= str_is(key, "loss") || str_is(key, "reward") || str_is(key, "train_loss");
        is_final |= str_is(key, "train_runtime");
    }
    waiting->is_training = has_loss && !is_final;
    waiting->is_eval = has_eval && !has_loss && !is_final;
}

static int confirm_restart(struct console_progress *progress, struct error *err)
{
    if (progress->fell_from == NONE) {
        return OK;
    }
    int64_t step = progress->fell_from;
    progress->fell_from = NONE;
    if (progress->done >= step && progress->n_low > 1) {
        return OK;
    }
    if (!progress->segment_is_new) {
        progress->segment++;
        progress->segment_is_new = true;
        progress->last_step = NONE;
    }
    return say_restart(progress, step, progress->fell_line, progress->fell_byte, str_of(""), err);
}

int console_progress_row(struct console_progress *progress, const struct console_row *row,
                         const struct console_place *place, struct error *err)
{
    struct console_waiting *waiting = &progress->waiting, kind = {0};
    classify(&kind, row);
    if (waiting->is_busy && kind.is_training && !progress->bar_since_row) {
        waiting->is_crowded = true; /* the bar is not drawn anew: output was buffered */
    }
    int rc = console_progress_settle(progress, err);
    if (rc != OK) {
        return rc;
    }
    if (place->is_apart) {
        progress->bar_since_row = progress->other_since_row = false;
    }
    waiting->is_training = kind.is_training;
    waiting->is_eval = kind.is_eval;
    if (waiting->is_training) {
        adopt_bar(progress);
        rc = confirm_restart(progress, err);
    }
    waiting->is_busy = true;
    waiting->seq = progress->n_rows++;
    waiting->line = place->line;
    waiting->byte = place->byte;
    waiting->step = place->step;
    waiting->bar_before = progress->bar_since_row ? progress->done : NONE;
    waiting->is_crowded = waiting->seq > 0 && !progress->bar_since_row;
    if (place->is_apart) {
        waiting->is_crowded = true;
    } else if (waiting->is_crowded && !waiting->is_training && !progress->segment_is_new) {
        waiting->bar_before = progress->last_row_step; /* the training row's beside it */
        waiting->is_crowded = false;
    }
    waiting->epoch = NAN;
    waiting->has_total = false;
    waiting->n = 0;
    buf_clear(&waiting->text);
    buf_str(&waiting->text, waiting->is_eval ? str_first(place->text, 4000) : str_of(""));
    for (size_t i = 0; i < row->n && rc == OK; i++) {
        rc = take_field(progress, &row->fields[i], i, err);
        progress->has_ended |= str_is(row->fields[i].key, "train_runtime");
    }
    if (waiting->has_total && waiting->step != NONE) { /* "step 20/400" is as good as a bar */
        progress->done = waiting->step;
        progress->bar_line = place->line;
        progress->bar_byte = place->byte;
    }
    progress->n_training_rows += waiting->is_training;
    progress->bar_since_row = progress->other_since_row = progress->is_evaluating = false;
    if (waiting->step != NONE && rc == OK) {
        rc = console_progress_settle(progress, err);
    }
    return rc;
}

int console_progress_start(struct console_progress *progress, const struct console_place *place,
                           struct error *err)
{
    int rc = console_progress_settle(progress, err);
    int64_t before = console_progress_step(progress);
    bool is_again = progress->n_rows > 0 || before > 0;
    if (rc == OK && is_again) {
        rc = say_restart(progress, before, place->line, place->byte, place->text, err);
    }
    if (!progress->segment_is_new) {
        progress->segment++;
        progress->segment_is_new = true;
    }
    progress->total = progress->done = progress->planned = NONE;
    progress->fell_from = NONE;
    progress->last_step = NONE;
    progress->last_epoch = NAN;
    progress->has_ended = progress->is_evaluating = false;
    return rc;
}
