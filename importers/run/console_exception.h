/* The grammar of single lines around a traceback. Private to console_traceback.c and its tests. */
#ifndef IMPORTERS_RUN_CONSOLE_EXCEPTION_H
#define IMPORTERS_RUN_CONSOLE_EXCEPTION_H

#include "importers/run/console_traceback.h"

/* "OutOfMemoryError", "KeyboardInterrupt", "torch.cuda.OutOfMemoryError": ends as such names do. */
bool console_is_exception_name(struct str name);
/* The function of a frame line. */
bool console_frame_name(struct str line, bool is_notebook, struct str *name);
struct str console_line_text(char out[32], int64_t line);

void console_report_init(struct console_report *report);
void console_report_free(struct console_report *report);
MUST_CHECK int console_report_line(struct console_tracebacks *tracebacks,
                                   const struct console_line *line, struct error *err);
MUST_CHECK int console_report_finish(struct console_tracebacks *tracebacks, struct error *err);

#endif
