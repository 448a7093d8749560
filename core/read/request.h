/* A captured request to an OpenAI-like server: where its body and its answer lie in a JSON value
 * (FORMATS.md B23), and the first body of a file: one object, a list, or one a line. */
#ifndef CORE_READ_REQUEST_H
#define CORE_READ_REQUEST_H

#include "core/base/arena.h"
#include "core/read/json.h"

#define REQUEST_FILE_BYTES  ((size_t)16 << 20)
#define REQUEST_ARENA_BYTES ((size_t)256 << 20)    /* for a file of that size */

/* The object with `messages` or `prompt` (or of TGI's or SGLang's own form): the value itself, or what it
 * holds under request, body or json, also one in another. NULL: none. */
const struct json *request_body_of(const struct json *value);
/* The text that a body without messages gives the model (TGI: inputs, SGLang: text), or NULL. */
const struct json *request_prompt_of(const struct json *body);
/* The object with `choices`: the value itself, or under response, answer or body. NULL: none. */
const struct json *request_answer_of(const struct json *value);

/* A file as values: calls `value` for each with its first line until it returns false. A line that is no
 * JSON is left out and counted. E_IO; E_LIMIT when the arena is too small for what is in it; E_PARSE
 * when no value can be read. */
struct request_values {
    bool (*value)(void *ctx, const struct json *value, int64_t line);
    void *ctx;
    int64_t n_bad;              /* lines that are no JSON */
    int64_t first_bad;          /* line, NONE */
};
MUST_CHECK int request_read(const char *path, struct arena *arena, struct request_values *values,
                            struct error *err);

#endif
