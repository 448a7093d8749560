/* `flatline prompts`: the prompt trained against the prompt served, as text. */
#ifndef CORE_EXPORTS_PROMPTS_REPORT_H
#define CORE_EXPORTS_PROMPTS_REPORT_H

#include "core/base/str.h"
#include "core/facts/prompt_pair.h"

/* One sentence on where the two part: what the prompts pane has in its first line too. */
void prompts_verdict(struct buf *out, const struct prompt_pair *pair);
/* How much of each side is compared: up to the assistant's turn, blanks or thoughts that serving puts behind
 * the header included. What follows in bytes is the answer. */
void prompts_compared(const struct prompt_pair *pair, size_t *train_end, size_t *serve_end);

/* Both sides with where they are from, the verdict, and a unified diff by line. E_NOTFOUND when
 * neither side is there: the message says what to import. */
MUST_CHECK int prompts_report(struct buf *out, const struct run_facts *facts, struct error *err);

#endif
