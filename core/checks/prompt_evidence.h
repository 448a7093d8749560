/* What the checks of prompts (stage 2) share: the pair as evidence, and how sure it makes them. */
#ifndef CORE_CHECKS_PROMPT_EVIDENCE_H
#define CORE_CHECKS_PROMPT_EVIDENCE_H

#include "core/checks/check.h"
#include "core/facts/prompt_pair.h"

/* False with a reason for runs that no one prompts. */
bool prompts_apply(const struct run_facts *facts, const char **reason);
/* Both sides are there. */
bool prompts_are_known(const struct prompt_pair *pair);
/* What the serving side is was recorded, not rendered by us. */
bool prompt_is_captured(const struct prompt_record *record);
/* UNKNOWN with what each absent side lacks, or why its template failed. */
int prompts_unknown(struct check_ctx *ctx, const struct prompt_pair *pair);
/* Where each side is from, and around the first difference what stands there. */
void prompts_show(struct check_ctx *ctx, const struct prompt_pair *pair);
/* A text for one line: hostile bytes and line ends made visible, cut at `most` bytes. In the check's
 * arena. */
const char *prompt_text(struct check_ctx *ctx, struct str text, size_t most);
/* certain: both sides captured or standing in the rows; strong: one was rendered. */
enum confidence prompts_confidence(const struct prompt_pair *pair);

#endif
