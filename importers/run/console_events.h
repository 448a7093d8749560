/* Events on their way to the sink: counted, capped, held back while a chained traceback may still
 * change what an earlier one means. */
#ifndef IMPORTERS_RUN_CONSOLE_EVENTS_H
#define IMPORTERS_RUN_CONSOLE_EVENTS_H

#include "core/base/str.h"
#include "core/model.h"
#include "core/store/sink.h"

#define CONSOLE_MAX_COUNTERS 400
#define CONSOLE_QUEUE        256

/* What was seen; all texts are borrowed and copied by the call. kind and pattern must stay valid,
 * and a pattern must be the same pointer each time. */
struct console_said {
    const char *kind, *pattern;
    int64_t step, line, byte;
    struct str text;
    struct str captures[EVENT_MAX_CAPTURES];
    int n_captures;
};

/* An event with its own memory. */
struct console_packed {
    struct event event;
    struct buf memory;
    bool is_open; /* reserved, not yet said */
    bool is_dropped;
};

struct console_counter {
    const char *kind, *pattern;
    int64_t n, first_line, last_line;
    struct console_packed *last; /* the last one beyond the cap; NULL: none */
};

struct console_events {
    struct sink *sink;
    int64_t next_seq;
    int64_t n_stored;
    struct console_counter *counters;
    size_t n_counters;
    struct console_packed *queue;
    size_t n_queued, n_open;
    struct console_packed scratch;
};

MUST_CHECK int console_events_open(struct console_events *events, struct sink *sink,
                                   struct error *err);
void console_events_close(struct console_events *events);
MUST_CHECK int console_events_add(struct console_events *events, const struct console_said *said,
                                  struct error *err);
/* Keeps a place in the order for an event that is said later. *place is NONE when the queue is
 * full; filling that adds the event at the end. */
int64_t console_events_reserve(struct console_events *events);
/* said NULL: it turned out not to be an event. */
MUST_CHECK int console_events_fill(struct console_events *events, int64_t place,
                                   const struct console_said *said, struct error *err);
/* What is queued, the last one of each kind beyond the cap, and the counts. */
MUST_CHECK int console_events_finish(struct console_events *events, struct error *err);

#endif
