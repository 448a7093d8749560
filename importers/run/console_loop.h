/* Lines of training loops written by hand: "Epoch 1/3 | train_loss 1.23 | val_loss 1.34",
 * "Epoch [2/10], Step [100/600], Loss: 0.12", "step 250: train loss 2.0, val loss 2.1",
 * the dashed rows of console_dashed.h, "2025-03-02 10:00:01 INFO epoch 0 step 20/3000 loss 1.9",
 * "[train] it=5 loss=2.1". */
#ifndef IMPORTERS_RUN_CONSOLE_LOOP_H
#define IMPORTERS_RUN_CONSOLE_LOOP_H

#include <stdint.h>

#include "importers/run/console_dashed.h"
#include "importers/run/console_row.h"

/* Where a loop is that counts its steps anew in each epoch. */
struct console_loop {
    double epoch, step;   /* of the last line with both */
    double base;          /* steps of the epochs before */
    double eval_loss;     /* printed last beside a step */
    double epoch_above;   /* of a line that says no more than which epoch it is */
    int n_lines_of_epoch; /* below it that may be of it */
};

/* One look at the first bytes: does it begin with an epoch or a step, or with a worker's head? */
static inline bool console_loop_may_begin(struct str line)
{
    size_t i = line.n > 0 && line.p[0] == '[' ? 1 : 0;
    if (line.n > 0 && line.p[0] == '(')
        return console_dashed_may_begin(line);
    return line.n > i + 12 && (line.p[i] | 0x20) >= 'e' && (line.p[i] | 0x20) <= 's' &&
           ((line.p[i + 3] | 0x20) == 'c' || (line.p[i + 3] | 0x20) == 'p');
}

/* True for a line that counts an epoch or a step, behind no more than a logger's head, and gives a
 * loss. Only names that are known become fields; their keys are those of transformers. */
bool console_loop_read(struct console_loop *loop, struct str line, struct console_row *row);

/* How many such lines are in the text; stops at `enough`. */
size_t console_loop_count(struct str head, size_t enough);

#endif
