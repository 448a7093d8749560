/* A metric row as training scripts print it: a Python dict or JSON object of numbers. */
#ifndef IMPORTERS_RUN_CONSOLE_ROW_H
#define IMPORTERS_RUN_CONSOLE_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"
#include "core/base/str.h"

#define CONSOLE_MAX_FIELDS 160

struct console_field {
    struct str key;
    struct str text; /* of the value, without quotes */
    double value;
    bool is_number; /* also quoted ones, nan, inf */
};

struct console_row {
    struct console_field fields[CONSOLE_MAX_FIELDS];
    size_t n;
    size_t used; /* bytes of the text that the dict took */
};

/* True when the text begins with a dict whose values could be read; nested ones come with '/'
 * between the keys. Texts borrow from `text` or live in the arena. */
bool console_row_read(struct str text, struct arena *arena, struct console_row *row);
/* "loss=0.1, lr=1e-4" of a progress bar. */
bool console_row_read_pairs(struct str text, struct console_row *row);
/* Does it tell of a training or an evaluation: a loss, a reward …, and mostly numbers? */
bool console_row_is_metric(const struct console_row *row);
/* "786K", "1.2M" as loggers shorten numbers; false for "n/a". */
bool console_row_amount(struct str text, double *out);
/* Where a row counts batches inside its epoch ("batch" and "total"), they become its step. */
void console_row_count_batches(struct console_row *row);

#endif
