/* Where in the training a log is: progress bars, metric rows, restarts (CHECKS.md 2.4, rule 9).
 *
 * A row without a step takes it from the bar. tqdm draws the bar anew right behind a row, with the
 * step that the row belongs to, so a row waits for the next piece; the bar before it is only second
 * best. Rows that come in heaps, with no bar between them (standard output was buffered), have no
 * step: the bar says nothing about them. */
#ifndef IMPORTERS_RUN_CONSOLE_PROGRESS_H
#define IMPORTERS_RUN_CONSOLE_PROGRESS_H

#include "importers/run/console_bar.h"
#include "importers/run/console_events.h"
#include "importers/run/console_row.h"

/* A row that waits for its step. */
struct console_waiting {
    bool is_busy;
    int64_t seq, line, byte;
    int64_t step;       /* its own, or NONE */
    int64_t bar_before; /* step of a bar seen since the last row, or NONE */
    bool is_crowded;    /* no bar since the last row */
    bool is_training, is_eval, has_total;
    double epoch;
    struct buf text; /* of an eval row */
    size_t n;
    int handles[CONSOLE_MAX_FIELDS];
    double values[CONSOLE_MAX_FIELDS];
};

struct console_series {
    char key[96];
    int handle;
    bool is_step, is_total;
};

struct console_progress {
    struct sink *sink;
    struct console_events *events;

    int64_t total, done;        /* of the training bar; NONE before the first */
    int64_t bar_line, bar_byte; /* where it was last seen */
    int64_t other_total;        /* of the last bare bar that is not the training bar */
    int64_t other_done;
    int64_t planned;                  /* "Total optimization steps", or NONE */
    int64_t epoch_total, first_epoch; /* of bars per epoch; NONE */
    bool bar_since_row, other_since_row, other_since_end, has_ended;
    bool is_evaluating; /* an evaluation was announced and has no row yet */
    int64_t fell_from;  /* the bar began again at 0: step before, else NONE */
    int64_t fell_line, fell_byte;
    int n_low; /* bars since then below fell_from */

    struct console_waiting waiting;
    int64_t n_rows, n_training_rows;
    int64_t last_step;     /* of the last row with one */
    int64_t last_row_step; /* of the last row; NONE when it has none */
    double last_epoch;
    int32_t segment;
    bool segment_is_new;           /* no training row in it yet */
    struct console_series *series; /* by place in the row: rows look alike */
    size_t n_series;
};

MUST_CHECK int console_progress_open(struct console_progress *progress, struct sink *sink,
                                     struct console_events *events, struct error *err);
void console_progress_close(struct console_progress *progress);

/* A bar; settles a waiting row. is_bare: no description, or one that says training. */
MUST_CHECK int console_progress_bar(struct console_progress *progress,
                                    const struct console_bar *bar, int64_t line, int64_t byte,
                                    struct error *err);
/* Any other piece settles a waiting row, too. */
MUST_CHECK int console_progress_settle(struct console_progress *progress, struct error *err);
struct console_place {
    int64_t line, byte;
    struct str text;
    int64_t step; /* stated outside the fields, or NONE */
    bool is_apart; /* a row of a table: bars around it say nothing about its step */
};
/* A metric row. */
MUST_CHECK int console_progress_row(struct console_progress *progress,
                                    const struct console_row *row,
                                    const struct console_place *place, struct error *err);
/* "***** Running training *****" */
MUST_CHECK int console_progress_start(struct console_progress *progress,
                                      const struct console_place *place, struct error *err);
/* "***** Running Evaluation *****": the next bar is its bar. */
void console_progress_evaluate(struct console_progress *progress);
void console_progress_plan(struct console_progress *progress, int64_t steps);
/* The step of an event that is said now. */
int64_t console_progress_step(const struct console_progress *progress);

#endif
