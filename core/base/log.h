/* Debug lines for --log FILE: off unless opened, never on the terminal. Thread-safe. */
#ifndef CORE_BASE_LOG_H
#define CORE_BASE_LOG_H

#include "core/base/error.h"

MUST_CHECK int log_open(const char *path, struct error *err);
void log_close(void);
void log_line(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
