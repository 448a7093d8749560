/* The Jinja of chat templates: what Jinja2 3.1 renders in the environment of transformers
 * (ImmutableSandboxedEnvironment, trim_blocks, lstrip_blocks, loop controls, the `generation` tag,
 * autoescape off), to the byte. The language and its traps: TEMPLATES.md, FORMATS.md B16.
 *
 * A program is compiled once, is const afterwards and may be shared by threads. A render takes the
 * variables as a JSON object (json_parse_exact: NUL and lone surrogates kept, integers of any
 * length, int and float apart) and writes text. Nothing is executed, nothing is loaded: import,
 * include and extends are refused. Every loop counts steps; output, depth and memory are bounded,
 * so that a hostile template ends with JINJA_LIMIT.
 *
 * Ownership: a failure and an output are the caller's; texts of an output live in its buf and
 * arrays until jinja_output_free. Errors: E_PARSE with `failure` filled when the template or its
 * render fails (wrong data, not ours), E_NOMEM. */
#ifndef CORE_TEXT_JINJA_JINJA_H
#define CORE_TEXT_JINJA_JINJA_H

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/read/json.h"

struct jinja_program;

enum jinja_fault {
    JINJA_SYNTAX,  /* does not compile; also an unknown filter or test outside of a branch */
    JINJA_RUNTIME, /* undefined operand, wrong type, sandbox, overflow … */
    JINJA_RAISED,  /* the template's own raise_exception: message is exactly its argument */
    JINJA_LIMIT    /* steps, depth, output or memory */
};

struct jinja_failure {
    enum jinja_fault kind;
    int line;           /* of the template, from 1; 0 not known */
    char message[1024]; /* cut at a code point */
};

const char *jinja_fault_name(enum jinja_fault fault); /* "syntax" "runtime" "raised" "limit" */

#define JINJA_OUTPUT_BYTES ((size_t)16 << 20)
#define JINJA_MEMORY_BYTES ((size_t)256 << 20)
#define JINJA_STEPS        10000000
#define JINJA_DEPTH        100 /* macros and recursion */
#define JINJA_PARSE_DEPTH  200

struct jinja_settings {
    int64_t now;         /* for strftime_now: seconds since 1970 … */
    int64_t utc_offset;  /* … and what local time adds to it */
    size_t output_bytes; /* limits; 0: the ones above */
    size_t memory_bytes;
    uint64_t steps;
    int depth;
    bool wants_pieces; /* fill output.pieces */
};

/* A half-open range of bytes of the text: one {% generation %} block. */
struct jinja_span {
    size_t begin, end;
};

/* Where a stretch of the output comes from. Neighbours of one origin are joined. */
struct jinja_piece {
    size_t begin, end;
    int line;          /* of the template */
    bool is_literal;   /* template text or a constant of the template; else a value */
    const char *value; /* a value that is a slice of a context string: its place there (by
                          address, in the JSON tree that was given); else NULL */
};

struct jinja_output {
    struct buf text;
    struct jinja_span *generation;
    size_t n_generation;
    struct jinja_piece *pieces;
    size_t n_pieces;
    size_t generation_capacity, pieces_capacity;
    struct jinja_memory *memory; /* of the last render, kept for the next */
};

MUST_CHECK int jinja_compile(struct jinja_program **out, struct str text,
                             struct jinja_failure *failure, struct error *err);
void jinja_close(struct jinja_program *program); /* NULL allowed */
bool jinja_has_generation(const struct jinja_program *program);
bool jinja_uses_clock(const struct jinja_program *program); /* strftime_now is called somewhere */

/* Renders anew into *output, which is zeroed or was rendered into before (its memory is reused).
 * `context`: an object; a name that is not there is Undefined. */
MUST_CHECK int jinja_render(const struct jinja_program *program, const struct json *context,
                            const struct jinja_settings *settings, struct jinja_output *output,
                            struct jinja_failure *failure, struct error *err);
void jinja_output_free(struct jinja_output *output);

#endif
