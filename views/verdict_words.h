/* How panes write a verdict: a word and a style, never colour alone. */
#ifndef VIEWS_VERDICT_WORDS_H
#define VIEWS_VERDICT_WORDS_H

#include "core/model.h"
#include "views/view.h"

const char *verdict_word(enum verdict verdict);             /* "FAIL" "warn" "?" "ok" "n/a" */
enum style_role verdict_style(enum verdict verdict);
/* "trainer_state.json:120" below the run's folder, "" for none; in the arena. */
const char *evidence_file(const struct run_facts *facts, const struct evidence *evidence,
                          struct arena *arena);
/* The same with its step, steps or row: "train.log:42, step 40". */
const char *evidence_place(const struct run_facts *facts, const struct evidence *evidence,
                           struct arena *arena);

#endif
