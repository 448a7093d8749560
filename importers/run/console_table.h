/* Tables of metrics: what a notebook shows of a training ("Step  Training Loss" and rows of
 * numbers below), as text with tabs or blanks, or drawn with '|'. */
#ifndef IMPORTERS_RUN_CONSOLE_TABLE_H
#define IMPORTERS_RUN_CONSOLE_TABLE_H

#include <stdint.h>

#include "importers/run/console_bar.h"
#include "importers/run/console_row.h"

#define CONSOLE_TABLE_COLUMNS 64
#define CONSOLE_TABLE_NAME    96

enum console_table_style { TABLE_CLOSED, TABLE_TABS, TABLE_BLANKS, TABLE_PIPES };

struct console_table {
    enum console_table_style style;
    size_t n_columns;
    char names[CONSOLE_TABLE_COLUMNS][CONSOLE_TABLE_NAME]; /* as rows of dicts call them */
    bool has_step;
    int64_t total, n_epochs; /* of the bar above it when epochs divide it evenly; else NONE */
};

/* Could the line begin a table or a notebook's bar? One look at its first bytes. */
static inline bool console_table_may_begin(struct str line)
{
    size_t i = 0;
    while (i < line.n && (line.p[i] == ' ' || line.p[i] == '|' || line.p[i] == '\t')) {
        i++;
    }
    return i < line.n && (line.p[i] == 'S' || line.p[i] == 'E' || line.p[i] == 's' ||
                          line.p[i] == 'e' || line.p[i] == '[');
}

/* "[ 22/290 02:50 < 38:04, 0.12 it/s, Epoch 0.36/5]": the notebook's bar of a training (that of
 * an evaluation names no epoch). Remembered for the epochs of the table below it. */
bool console_table_bar(struct console_table *table, struct str line, struct console_bar *bar);
/* Opens the table when the line is a header: Step or Epoch first, then a loss or a reward. */
bool console_table_header(struct console_table *table, struct str line);
/* 1 a row of numbers (keys borrow from the table), 0 a ruler that belongs to the table, -1 neither:
 * the table is closed. *step: where the epoch of a row without a step ends, or NONE. */
int console_table_row(struct console_table *table, struct str line, struct console_row *row,
                      int64_t *step);

#endif
