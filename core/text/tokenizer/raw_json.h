/* The long members of a tokenizer.json (vocab, merges), read straight from their text.
 *
 * As strict as serde_json is, since the tokenizers library refuses what it refuses: no control
 * characters in strings, no lone surrogates, no NaN, numbers as its arithmetic gives them. Only
 * for files of this folder; settings are read by core/read/json.h. */
#ifndef CORE_TEXT_TOKENIZER_RAW_JSON_H
#define CORE_TEXT_TOKENIZER_RAW_JSON_H

#include "core/base/error.h"
#include "core/base/str.h"

struct raw_json {
    const char *begin, *p, *end;
    const char *what;           /* "model.vocab", for messages */
    struct error *err;
};

/* The next byte that is no blank, 0 at the end; not taken. */
char raw_peek(struct raw_json *raw);
/* Takes the byte c; E_PARSE when another stands there. */
MUST_CHECK int raw_take(struct raw_json *raw, char c);
/* In a list or object: after an item. *more: another one follows (the comma is taken); else the
 * closing byte is taken. */
MUST_CHECK int raw_next(struct raw_json *raw, char closing, bool *more);
/* A string. Where it has no escapes *out is part of the text, else it is decoded to *room, which
 * has space for as many bytes as the text between the quotes, and *room moves on. */
MUST_CHECK int raw_string(struct raw_json *raw, char **room, struct str *out);
/* A whole number of at most 2^32 - 1. */
MUST_CHECK int raw_id(struct raw_json *raw, uint32_t *out);
/* A number, as serde_json computes it: up to one unit in the last place from the nearest double.
 * Viterbi's ties depend on it. */
MUST_CHECK int raw_number(struct raw_json *raw, double *out);
/* Only blanks are left. */
MUST_CHECK int raw_end(struct raw_json *raw);

#endif
