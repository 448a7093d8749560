/* Numbers from text and back, exactly.
 *
 * Parsing never depends on the locale and takes a length, not a NUL. Printing of doubles is
 * shortest round trip as Python's repr does it ("1e-05", "2.0", "nan", "inf"). */
#ifndef CORE_BASE_NUMBER_H
#define CORE_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

/* The whole text must be a decimal number (sign, digits, fraction, exponent); correctly
 * rounded. 1e999 gives inf and true. Fast for the 17 digits that Python writes. */
bool number_parse(struct str text, double *out);
/* As above, and also nan, inf, infinity, nan.0 in any case with a sign, as loggers write them. */
bool number_parse_any(struct str text, double *out);
/* The longest number at the start of the text: returns the bytes used, 0 when there is none. */
size_t number_prefix(struct str text, double *out);
/* The number at p by JSON's grammar (as Python's reader takes it: of "01" the "0", of "1." the
 * "1"); 0 when there is none. is_integer: neither fraction nor exponent. */
size_t number_prefix_json(const char *p, const char *end, double *out, bool *is_integer);
bool number_parse_int(struct str text, int64_t *out); /* false on overflow */

/* Python's repr of a float. Writes at most 32 bytes with the NUL. */
void number_repr(char out[32], double value);
/* For people: `digits` significant digits, no trailing zeros, 2.0e-4 below 1e-3, thousands kept
 * plain ("1240", "0.0512", "2e-04", "NaN", "+Inf", "-Inf"). At most 32 bytes with the NUL. */
void number_short(char out[32], double value, int digits);
/* "23.7 GiB", "512 B": powers of 1024, three significant digits. */
void number_bytes(char out[32], double bytes);
/* A size as torch, the kernel and people write it: "23.70 GiB", "24G", "22957108kB", "1,024 MB";
 * all prefixes are powers of 1024. */
bool number_parse_bytes(struct str amount, struct str unit, double *bytes);

#endif
