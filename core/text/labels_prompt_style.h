/* The wordings around an instruction that axolotl, torchtune and litgpt use. */
#ifndef CORE_TEXT_LABELS_PROMPT_STYLE_H
#define CORE_TEXT_LABELS_PROMPT_STYLE_H

#include "core/base/str.h"

enum prompt_style { STYLE_INSTRUCT, STYLE_CHAT, STYLE_CHATML, STYLE_PHI, STYLE_NONE, N_STYLES };

/* By name; N_STYLES: unknown. */
enum prompt_style prompt_style_of(const char *name);
/* Appends the text up to the answer. */
void prompt_style_write(struct buf *out, enum prompt_style style, struct str instruction,
                        struct str input);

#endif
