/* UTF-8 steps, and making hostile text harmless.
 *
 * Text from files never reaches a terminal, a report or a JSON string except through
 * `unicode_visible`, `unicode_valid` or the canvas (which uses the same rules). */
#ifndef CORE_BASE_UNICODE_H
#define CORE_BASE_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

/* Decodes one code point at the start of a non-empty text. Returns the bytes used (>= 1);
 * *codepoint is -1 for an invalid byte (then 1 byte is used). Overlong forms and surrogates
 * are invalid. */
size_t unicode_next(struct str text, int32_t *codepoint);
size_t unicode_put(char out[4], int32_t codepoint); /* bytes written, 0 if not valid */
bool unicode_is_valid(struct str text);
size_t unicode_count(struct str text); /* code points; invalid bytes count 1 */

/* Control characters, escape sequences' ESC, bidi controls, zero-width and line separators. */
bool unicode_is_hostile(int32_t codepoint);
/* Appends the text with every hostile code point and invalid byte shown as <0x1B>, <U+202E>;
 * tab becomes a blank when keep_newlines is false, newline becomes \n as two characters. */
void unicode_visible(struct buf *out, struct str text, bool keep_newlines);
/* Appends the text with invalid bytes replaced by U+FFFD, everything else as it is. */
void unicode_valid(struct buf *out, struct str text);
/* A prefix of at most n_bytes that does not cut a code point. */
struct str unicode_cut(struct str text, size_t n_bytes);

#endif
