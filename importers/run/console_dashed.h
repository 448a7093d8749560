/* Rows of verl's console logger: "step:12 - actor/pg_loss:0.01 - critic/score/mean:0.31 - …", often
 * behind the head that Ray gives to the lines of a worker: "(TaskRunner pid=4121) ". */
#ifndef IMPORTERS_RUN_CONSOLE_DASHED_H
#define IMPORTERS_RUN_CONSOLE_DASHED_H

#include "importers/run/console_row.h"

/* A first look: a worker's head with a step behind it. Without a head the line begins like any loop's. */
static inline bool console_dashed_may_begin(struct str line)
{
    return line.n > 20 && line.p[0] == '(' && str_find(str_first(line, 120), ") step:") >= 0;
}

/* True for a line that counts a step and gives three more values. Times and speeds are left out. */
bool console_dashed_read(struct str line, struct console_row *row);

#endif
