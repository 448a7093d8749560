/* Status codes, the caller's error record, BUG(). See error.h. */
#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void (*bug_hook)(void);

int error_set(struct error *err, int status, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return status;
    err->status = status;
    err->line = NONE;
    err->byte = NONE;
    err->path[0] = '\0';
    va_start(args, fmt);
    vsnprintf(err->message, sizeof err->message, fmt, args);
    va_end(args);
    return status;
}

void error_at(struct error *err, const char *path, int64_t line, int64_t byte)
{
    if (!err)
        return;
    if (path)
        snprintf(err->path, sizeof err->path, "%s", path);
    err->line = line;
    err->byte = byte;
}

void error_format(const struct error *err, char *out, size_t n)
{
    if (err->path[0] && err->line > 0)
        snprintf(out, n, "%s:%lld: %s", err->path, (long long)err->line, err->message);
    else if (err->path[0] && err->byte >= 0)
        snprintf(out, n, "%s: byte %lld: %s", err->path, (long long)err->byte, err->message);
    else if (err->path[0])
        snprintf(out, n, "%s: %s", err->path, err->message);
    else
        snprintf(out, n, "%s", err->message);
}

void bug_set_hook(void (*restore_terminal)(void))
{
    bug_hook = restore_terminal;
}

void bug_stop(const char *file, int line, const char *fmt, ...)
{
    va_list args;

    if (bug_hook)
        bug_hook();
    fprintf(stderr, "flatline: bug at %s:%d: ", file, line);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}
