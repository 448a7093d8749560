/* A curve as plain text: `flatline curves` and the charts of Markdown reports. The same plot as
 * the pane, drawn on a canvas of its own and dumped. */
#ifndef VIEWS_CURVES_TEXT_H
#define VIEWS_CURVES_TEXT_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/facts/run_facts.h"

/* A title line, then `rows` lines of at most `columns` cells (both are raised to 8 and 30 and cut
 * to 200 and 400), each ended by '\n'. A metric that was not logged gives one line that says so.
 * unicode: braille, else ASCII only. */
void curves_as_text(struct buf *out, const struct run_facts *facts, const char *metric, int rows,
                    int columns, bool unicode);

#endif
