/* See tell.h. Knows no command. */
#include "tui/tell.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/base/unicode.h"

void tell(const char *fmt, ...)
{
    char line[8192];
    struct buf safe;
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    buf_init(&safe, 1 << 20);
    unicode_visible(&safe, str_of(line), false);
    fprintf(stderr, "flatline: %s\n", safe.failed ? "out of memory" : safe.p);
    buf_free(&safe);
}

int tell_end(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    /* told already, or the reader has seen enough */
    if (status != 2 && errno != EPIPE)
        tell("standard output: write: %s", strerror(errno));
    return 2;
}
