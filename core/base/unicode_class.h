/* Classes of characters as the tokenizers library has them. Its parts were built with tables of
 * different years (normal forms of Unicode 9, categories of Unicode 8, words of Unicode 16), so
 * that a class is utf8proc's but for the code points listed in unicode_class.c. */
#ifndef CORE_BASE_UNICODE_CLASS_H
#define CORE_BASE_UNICODE_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

bool char_is_space(int32_t c);       /* White_Space */
bool char_is_word(int32_t c);        /* \w of the regex crate */
bool char_is_number(int32_t c);      /* Nd, Nl, No */
bool char_is_punctuation(int32_t c); /* ASCII punctuation, P */
bool char_is_mark(int32_t c);        /* M, by the tables of the normal forms */
bool char_is_nonspacing(int32_t c);  /* Mn */
bool char_is_other(int32_t c);       /* Cc, Cf, Co */
bool char_is_chinese(int32_t c);     /* the blocks that BertNormalizer sets apart */
/* The first code point of the lower case; only U+0130 has a second one, U+0307. */
int32_t char_lower(int32_t c);
/* Bytes of the first extended grapheme cluster of a text that is not empty and valid UTF-8. */
size_t unicode_grapheme(struct str text);

#endif
