/* Tracebacks of one or many ranks, chained ones, and the report of torch's elastic launcher. */
#ifndef IMPORTERS_RUN_CONSOLE_TRACEBACK_H
#define IMPORTERS_RUN_CONSOLE_TRACEBACK_H

#include "importers/run/console_events.h"

#define CONSOLE_MAX_TRACEBACKS 64

/* One line as the reader has taken it apart. */
struct console_line {
    struct str text;  /* whole, ANSI removed */
    struct str body;  /* behind a progress bar */
    struct str inner; /* behind a rank's prefix, too */
    int64_t line, byte, step;
};

enum traceback_state { TRACEBACK_FREE, TRACEBACK_FRAMES, TRACEBACK_SAID, TRACEBACK_CHAINED };

struct console_traceback {
    enum traceback_state state;
    struct buf prefix; /* what stands before each of its lines: "[rank3]: " */
    bool prefix_is_sure;
    bool is_notebook; /* IPython's form: frames are not indented */
    bool was_frame;   /* its last line was one */
    int n_headers;    /* "Traceback" lines without an exception yet, of mixed ranks */
    int age;          /* lines since something of it was seen */
    int64_t header_line, header_byte, header_step;
    int64_t place; /* in the order of events */
    struct buf frames, type, message, cause, text;
    int64_t line, byte, step; /* of the exception line */
};

struct console_report { /* "Root Cause (first observed failure):" */
    int n_left;         /* lines still to read; 0: none */
    struct buf host, rank, exit_code, pid, traceback, text;
    int64_t line, byte, step;
};

struct console_tracebacks {
    struct console_events *events;
    struct console_traceback *all;
    size_t n_busy;
    bool saw_training; /* a traceback went through a training loop */
    struct console_report report;
};

MUST_CHECK int console_tracebacks_open(struct console_tracebacks *tracebacks,
                                       struct console_events *events, struct error *err);
void console_tracebacks_close(struct console_tracebacks *tracebacks);
/* The line holds "Traceback (most recent call last)". */
MUST_CHECK int console_tracebacks_begin(struct console_tracebacks *tracebacks,
                                        const struct console_line *line, struct error *err);
/* Any line. Sees exceptions without a traceback, too. */
MUST_CHECK int console_tracebacks_line(struct console_tracebacks *tracebacks,
                                       const struct console_line *line, struct error *err);
/* The line says "Root Cause". */
void console_tracebacks_begin_report(struct console_tracebacks *tracebacks,
                                     const struct console_line *line);
/* Training went on: what was said so far is final. */
MUST_CHECK int console_tracebacks_settle(struct console_tracebacks *tracebacks, struct error *err);
/* The end of the log: settles, and says tracebacks that break off. */
MUST_CHECK int console_tracebacks_finish(struct console_tracebacks *tracebacks, struct error *err);

/* Bytes of a rank's prefix at the start of the text ("[rank3]: ", "[default0]:", "0: ",
 * "(task, pid=…) "), 0: none. *rank gets what names it. */
size_t console_rank(struct str text, struct str *rank);
/* "ValueError: text": the type and the message. `is_sure` accepts any CamelCase name, as behind a
 * frame. */
bool console_exception(struct str text, bool is_sure, struct str *type, struct str *message);

#endif
