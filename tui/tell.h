/* One line to the user on stderr. Words of the command line and names of files are hostile text,
 * too: everything is made visible on its way. */
#ifndef TUI_TELL_H
#define TUI_TELL_H

#include "core/base/error.h"

/* "flatline: …" and a newline; longer than 8 KiB is cut. */
void tell(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* The exit status after all that was printed is out: 2, told, when standard output took it not. */
int tell_end(int status);

#endif
