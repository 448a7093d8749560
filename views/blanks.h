/* Blanks that one can see: dots for spaces, \t for tabs, the code of every other kind of space. */
#ifndef VIEWS_BLANKS_H
#define VIEWS_BLANKS_H

#include "views/textflow.h"

/* Adds a text without line ends. `all`: every blank is shown; else those at its end alone, and only
 * where `is_end` says that nothing stands behind it: they are what one does not see. */
void blanks_text(struct textflow *flow, enum style_role style, struct str text, bool all, bool is_end);
/* What stands for one space: a middle dot, "_" in ASCII. */
const char *blanks_dot(const struct canvas *canvas);
/* Cells that blanks_text takes. */
int blanks_width(const struct canvas *canvas, struct str text, bool all, bool is_end);

#endif
