/* Letters as Python's str sees them: case with all its special mappings, and the is… predicates.
 *
 * utf8proc knows the simple mappings and the categories; the special ones (ß to SS, the final
 * sigma, ligatures) and what Python counts differently stand here. Code points of surrogates are
 * let through unchanged. */
#ifndef CORE_BASE_UNICODE_CASE_H
#define CORE_BASE_UNICODE_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

bool unicode_is_assigned(int32_t codepoint); /* in Unicode 14 */
bool unicode_is_space(int32_t codepoint);    /* str.isspace, \s */
bool unicode_is_word(int32_t codepoint);     /* \w: letters, digits, underscore not counted */
bool unicode_is_identifier_start(int32_t codepoint);
bool unicode_is_printable(int32_t codepoint); /* str.isprintable */
bool unicode_is_alpha(int32_t codepoint);
bool unicode_is_decimal(int32_t codepoint);
bool unicode_is_digit(int32_t codepoint);
bool unicode_is_numeric(int32_t codepoint);
bool unicode_is_cased(int32_t codepoint);
bool unicode_is_case_ignorable(int32_t codepoint);
bool unicode_is_upper(int32_t codepoint);
bool unicode_is_lower(int32_t codepoint);
bool unicode_is_title(int32_t codepoint);
int unicode_decimal_value(int32_t codepoint); /* -1: not a decimal digit */

/* Full mappings: up to three code points. Returns how many. */
int unicode_upper(int32_t codepoint, int32_t out[3]);
int unicode_lower(int32_t codepoint, int32_t out[3]); /* without the rule of the final sigma */
int unicode_title(int32_t codepoint, int32_t out[3]);
int unicode_fold(int32_t codepoint, int32_t out[3]);

/* Without white space at an end. */
struct str unicode_strip_left(struct str text);
struct str unicode_strip_right(struct str text);

#endif
