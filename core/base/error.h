/* Status codes, the caller's error record, and the check for our own mistakes.
 *
 * A function that can fail returns int: OK or a negative enum status, and takes a
 * `struct error *` as its last parameter (NULL allowed). The record is the caller's, has a
 * fixed size and never allocates; it is meaningful only when the result is not OK, and
 * output parameters are untouched then.
 *
 * Messages: lower case, no full stop, what was found and what was expected.
 * Wrong data is not an error: it is a note (importers) or a finding (checks). */
#ifndef CORE_BASE_ERROR_H
#define CORE_BASE_ERROR_H

#include <stddef.h>
#include <stdint.h>

#define MUST_CHECK        __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

/* "Not stated" for lines, bytes, steps, rows and counts, which are all >= 0. */
#define NONE ((int64_t)-1)

enum status {
    OK = 0,
    E_NOMEM = -1,
    E_IO = -2,
    E_PARSE = -3,
    E_LIMIT = -4,
    E_DB = -5,
    E_GIT = -6,
    E_UNSUPPORTED = -7,
    E_NOTFOUND = -8,
    E_CANCELLED = -9
};

struct error {
    int status;         /* enum status */
    int64_t line;       /* from 1, or NONE */
    int64_t byte;       /* offset from 0, or NONE */
    char path[1024];    /* "" when no file is concerned */
    char message[512];
};

/* Clears the place, writes the message, returns `status`. */
int error_set(struct error *err, int status, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Adds the place to an error that is already set. line and byte may be NONE. */
void error_at(struct error *err, const char *path, int64_t line, int64_t byte);
/* "PATH:LINE: message" (or byte N where there is no line); always NUL-terminated. */
void error_format(const struct error *err, char *out, size_t n);

/* A broken invariant of ours: restores the terminal through the hook, prints, aborts. */
#define BUG(...) bug_stop(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void bug_stop(const char *file, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);
void bug_set_hook(void (*restore_terminal)(void));

#endif
