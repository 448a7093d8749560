/* Debug lines for --log FILE. See log.h. */
#include "core/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"

static FILE *file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int log_open(const char *path, struct error *err)
{
    FILE *opened = fopen(path, "a");

    if (!opened) {
        int rc = error_set(err, E_IO, "debug log: %s", strerror(errno));

        error_at(err, path, NONE, NONE);
        return rc;
    }
    log_close();
    file = opened;
    return OK;
}

void log_close(void)
{
    if (file)
        fclose(file);
    file = NULL;
}

void log_line(const char *fmt, ...)
{
    va_list args;

    if (!file)
        return;
    pthread_mutex_lock(&lock);
    fprintf(file, "%.3f ", (double)clock_ticks_ns() / 1e9);
    va_start(args, fmt);
    vfprintf(file, fmt, args);
    va_end(args);
    fputc('\n', file);
    fflush(file);
    pthread_mutex_unlock(&lock);
}
