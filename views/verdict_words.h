/* How panes write a verdict: a word and a style, never colour alone. */
#ifndef VIEWS_VERDICT_WORDS_H
#define VIEWS_VERDICT_WORDS_H

#include "core/model.h"
#include "views/view.h"

const char *verdict_word(enum verdict verdict);             /* "FAIL" "warn" "?" "ok" "n/a" */
enum style_role verdict_style(enum verdict verdict);
/* "train.log:42, step 40": the file below the run's folder, the line, the step, steps or row; ""
 * for none; in the arena. */
const char *evidence_place(const struct run_facts *facts, const struct evidence *evidence,
                           struct arena *arena);

#endif
