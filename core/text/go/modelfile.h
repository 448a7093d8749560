/* An Ollama Modelfile as Ollama reads it (FORMATS.md B21): instructions with their arguments, character by
 * character. What cannot be printed is dropped from texts, as there (zero-width joiners, blanks
 * that do not break). Ollama refuses a file with a mistake as a whole; here the rest is still
 * read, and each mistake is told with its line. */
#ifndef CORE_TEXT_GO_MODELFILE_H
#define CORE_TEXT_GO_MODELFILE_H

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/str.h"

#define MODELFILE_BYTES      ((size_t)16 << 20)
#define MODELFILE_COMPLAINTS 20 /* what is more is not told */

struct modelfile_instruction {
    const char *name; /* lower case: "from", "parameter", "template", "message" … */
    const char *key;  /* name of the parameter, role of the message; else NULL */
    struct str value; /* NUL-terminated */
    int64_t line;     /* where the instruction begins */
};

struct modelfile_complaint {
    int64_t line;
    const char *message;
};

struct modelfile {
    const struct modelfile_instruction *items;
    size_t n;
    const struct modelfile_complaint *complaints;
    size_t n_complaints;
};

/* Texts are in the arena. E_NOMEM, E_LIMIT. */
MUST_CHECK int modelfile_read(struct str text, struct arena *arena, struct modelfile *out,
                              struct error *err);
/* The last one of that name, which is the one that counts; NULL: none. */
const struct modelfile_instruction *modelfile_last(const struct modelfile *file, const char *name);
bool modelfile_is_instruction(struct str word); /* in any case of letters */

#endif
