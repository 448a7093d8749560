/* Splits a shell script into commands and words as a shell would, without expanding anything:
 * $VAR and $(…) stay text. Quotes, backslash, line continuation, comments. */
#ifndef CORE_READ_SHELL_WORDS_H
#define CORE_READ_SHELL_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/str.h"

struct shell_word {
    const char *text;
    int64_t line;
    bool has_variable; /* part of it is only known to the shell */
};

struct shell_command {
    const struct shell_word *words;
    size_t n;
};

struct shell_reader {
    struct str text; /* what is left */
    int64_t line;    /* of its first byte; 1 at the start */
};

#define SHELL_MAX_WORDS 10000 /* of one command; what is more is left out */

/* The next command that has words, in the arena. False at the end, or when the arena failed. */
bool shell_next(struct shell_reader *reader, struct arena *arena, struct shell_command *out);

#endif
