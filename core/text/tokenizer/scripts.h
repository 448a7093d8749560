/* Scripts of characters, for the pre-tokenizer UnicodeScripts alone. */
#ifndef CORE_TEXT_TOKENIZER_SCRIPTS_H
#define CORE_TEXT_TOKENIZER_SCRIPTS_H

#include <stdint.h>

#define SCRIPT_ANY 0 /* goes with what is around it: the blank, what is not assigned */

int script_of(int32_t c);

#endif
