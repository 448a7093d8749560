/* tqdm's progress bars: "  7%|▋   | 2321/31570 [4:16:04<33:18:50,  4.10s/it, loss=0.1]". */
#ifndef IMPORTERS_RUN_CONSOLE_BAR_H
#define IMPORTERS_RUN_CONSOLE_BAR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/str.h"

struct console_bar {
    struct str description; /* before the percentage, without ": "; empty for a bare bar */
    int64_t done, total;
    bool counts_steps;       /* unit it (or step, batch), not examples, bytes, files */
    struct str postfix;      /* behind the speed: "loss=0.1, lr=1e-4" */
    struct str rest;         /* behind the closing bracket, blanks trimmed on the left */
    int64_t epoch, n_epochs; /* of a bar per epoch, "Epoch 1/3:"; NONE */
};

/* True when the piece holds a bar with a total. */
bool console_bar_read(struct str piece, struct console_bar *bar);

#endif
