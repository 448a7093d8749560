/* Counting, capping and ordering of events. Knows nothing of patterns or tracebacks. */
#include "importers/run/console_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"
#include "importers/run/console_log.h"

#define TEXT_BYTES   2000
#define MEMORY_BYTES ((size_t)64 << 10)

int console_events_open(struct console_events *events, struct sink *sink, struct error *err)
{
    *events = (struct console_events){.sink = sink};
    events->counters = calloc(CONSOLE_MAX_COUNTERS, sizeof events->counters[0]);
    events->queue = calloc(CONSOLE_QUEUE, sizeof events->queue[0]);
    if (events->counters == NULL || events->queue == NULL) {
        console_events_close(events);
        return error_set(err, E_NOMEM, "no memory for the events of a log");
    }
    buf_init(&events->scratch.memory, MEMORY_BYTES);
    for (size_t i = 0; i < CONSOLE_QUEUE; i++) {
        buf_init(&events->queue[i].memory, MEMORY_BYTES);
    }
    return OK;
}

void console_events_close(struct console_events *events)
{
    for (size_t i = 0; events->counters != NULL && i < events->n_counters; i++) {
        if (events->counters[i].last != NULL) {
            buf_free(&events->counters[i].last->memory);
            free(events->counters[i].last);
        }
    }
    for (size_t i = 0; events->queue != NULL && i < CONSOLE_QUEUE; i++) {
        buf_free(&events->queue[i].memory);
    }
    buf_free(&events->scratch.memory);
    free(events->counters);
    free(events->queue);
    events->counters = NULL;
    events->queue = NULL;
}

/* Appends the text, cut and made valid, with a NUL; returns where it begins. */
static size_t pack_text(struct buf *memory, struct str text)
{
    size_t begin = memory->n;
    struct str cut = text.n > TEXT_BYTES ? unicode_cut(text, TEXT_BYTES) : text;
    unicode_valid(memory, cut);
    buf_putc(memory, '\0');
    return begin;
}

static int pack(struct console_packed *packed, const struct console_said *said, int64_t seq,
                struct error *err)
{
    size_t at[EVENT_MAX_CAPTURES + 1];
    buf_clear(&packed->memory);
    at[EVENT_MAX_CAPTURES] = pack_text(&packed->memory, said->text);
    for (int i = 0; i < said->n_captures; i++) {
        at[i] = pack_text(&packed->memory, said->captures[i]);
    }
    if (packed->memory.failed) {
        return error_set(err, E_NOMEM, "no memory for an event");
    }
    packed->event = (struct event){.seq = seq,
                                   .kind = said->kind,
                                   .pattern = said->pattern,
                                   .step = said->step,
                                   .line = said->line,
                                   .byte = said->byte,
                                   .text = packed->memory.p + at[EVENT_MAX_CAPTURES],
                                   .n_captures = said->n_captures};
    for (int i = 0; i < said->n_captures; i++) {
        packed->event.captures[i] = packed->memory.p + at[i];
    }
    return OK;
}

static struct console_counter *counter_of(struct console_events *events,
                                          const struct console_said *said)
{
    for (size_t i = 0; i < events->n_counters; i++) {
        struct console_counter *counter = &events->counters[i];
        if (counter->kind == said->kind && counter->pattern == said->pattern) {
            return counter;
        }
    }
    for (size_t i = 0; i < events->n_counters; i++) { /* the same text at another address */
        struct console_counter *counter = &events->counters[i];
        if (said->pattern == NULL && counter->pattern == NULL &&
            strcmp(counter->kind, said->kind) == 0) {
            return counter;
        }
    }
    if (events->n_counters == CONSOLE_MAX_COUNTERS) {
        return NULL;
    }
    struct console_counter *counter = &events->counters[events->n_counters++];
    *counter = (struct console_counter){
        .kind = said->kind, .pattern = said->pattern, .first_line = said->line};
    return counter;
}

static int keep_last(struct console_counter *counter, const struct console_said *said, int64_t seq,
                     struct error *err)
{
    if (counter->last == NULL) {
        counter->last = calloc(1, sizeof *counter->last);
        if (counter->last == NULL) {
            return error_set(err, E_NOMEM, "no memory for an event");
        }
        buf_init(&counter->last->memory, MEMORY_BYTES);
    }
    return pack(counter->last, said, seq, err);
}

static int store(struct console_events *events, const struct event *event, struct error *err)
{
    events->n_stored++;
    return sink_event(events->sink, event, err);
}

/* The queue's head up to the first reserved place. */
static int flush(struct console_events *events, struct error *err)
{
    if (events->n_open > 0) {
        return OK;
    }
    int rc = OK;
    for (size_t i = 0; i < events->n_queued && rc == OK; i++) {
        if (!events->queue[i].is_dropped) {
            rc = store(events, &events->queue[i].event, err);
        }
    }
    events->n_queued = 0;
    return rc;
}

/* Counts it; true when it is to be stored now. */
static int count(struct console_events *events, const struct console_said *said, int64_t seq,
                 bool *is_stored, struct error *err)
{
    struct console_counter *counter = counter_of(events, said);
    *is_stored = counter != NULL;
    if (counter == NULL) {
        return OK;
    }
    counter->n++;
    counter->last_line = said->line;
    if (counter->n > CONSOLE_MAX_EVENTS) {
        *is_stored = false;
        return keep_last(counter, said, seq, err);
    }
    return OK;
}

int console_events_add(struct console_events *events, const struct console_said *said,
                       struct error *err)
{
    int64_t seq = events->next_seq++;
    bool is_stored;
    int rc = count(events, said, seq, &is_stored, err);
    if (rc != OK || !is_stored) {
        return rc;
    }
    bool is_direct = events->n_open == 0 || events->n_queued == CONSOLE_QUEUE;
    struct console_packed *packed = is_direct ? &events->scratch : &events->queue[events->n_queued];
    rc = pack(packed, said, seq, err);
    if (rc != OK) {
        return rc;
    }
    if (is_direct) {
        return store(events, &packed->event, err);
    }
    packed->is_open = packed->is_dropped = false;
    events->n_queued++;
    return OK;
}

int64_t console_events_reserve(struct console_events *events)
{
    if (events->n_queued == CONSOLE_QUEUE) {
        return NONE;
    }
    struct console_packed *packed = &events->queue[events->n_queued];
    packed->event.seq = events->next_seq++;
    packed->is_open = true;
    packed->is_dropped = false;
    events->n_open++;
    return (int64_t)events->n_queued++;
}

int console_events_fill(struct console_events *events, int64_t place,
                        const struct console_said *said, struct error *err)
{
    if (place == NONE) {
        return said != NULL ? console_events_add(events, said, err) : OK;
    }
    struct console_packed *packed = &events->queue[place];
    int64_t seq = packed->event.seq;
    packed->is_open = false;
    packed->is_dropped = true;
    events->n_open--;
    if (said != NULL) {
        bool is_stored;
        int rc = count(events, said, seq, &is_stored, err);
        if (rc != OK) {
            return rc;
        }
        packed->is_dropped = !is_stored;
        rc = pack(packed, said, seq, err);
        if (rc != OK) {
            return rc;
        }
    }
    return flush(events, err);
}

static int compare_counters(const void *a, const void *b)
{
    const struct console_counter *x = a, *y = b;
    int64_t left = x->last != NULL ? x->last->event.seq : INT64_MAX;
    int64_t right = y->last != NULL ? y->last->event.seq : INT64_MAX;
    return left < right ? -1 : left > right;
}

static int add_count(struct console_events *events, const struct console_counter *counter,
                     struct error *err)
{
    char number[3][32];
    snprintf(number[0], sizeof number[0], "%lld", (long long)counter->n);
    snprintf(number[1], sizeof number[1], "%lld", (long long)counter->first_line);
    snprintf(number[2], sizeof number[2], "%lld", (long long)counter->last_line);
    struct event event = {.seq = events->next_seq++,
                          .kind = "count",
                          .step = NONE,
                          .line = counter->first_line,
                          .byte = NONE,
                          .text = "",
                          .n_captures = 5,
                          .captures = {counter->kind,
                                       counter->pattern != NULL ? counter->pattern : "", number[0],
                                       number[1], number[2]}};
    return store(events, &event, err);
}

int console_events_finish(struct console_events *events, struct error *err)
{
    events->n_open = 0;
    int rc = flush(events, err);
    qsort(events->counters, events->n_counters, sizeof events->counters[0], compare_counters);
    for (size_t i = 0; i < events->n_counters && rc == OK; i++) {
        if (events->counters[i].last != NULL) {
            rc = store(events, &events->counters[i].last->event, err);
        }
    }
    for (size_t i = 0; i < events->n_counters && rc == OK; i++) {
        const struct console_counter *counter = &events->counters[i];
        bool is_worth_it = counter->pattern != NULL || counter->n > 1;
        rc = is_worth_it ? add_count(events, counter, err) : OK;
    }
    return rc;
}
