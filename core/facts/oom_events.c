/* Gathers the lines of one out-of-memory message into one event and decides what it was. torch
 * spreads its figures over several sentences, which the patterns match one by one. */
#include "core/facts/oom_events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/onset.h"
#include "core/stats/robust.h"

enum { SAME_MESSAGE_LINES = 25, LATE_STEP = 50, FIRST_BATCHES = 10 };

static const double HELD_SHARE = 0.5; /* of capacity, by another process */
static const double OWN_SHARE = 0.25; /* of capacity, by this one */
static const double FREE_SHARE = 0.05;
static const double TAIL = 2.0; /* max/p95 of the lengths */

/* Which captures hold which number: first group of the amount, its unit is the next; 0: none. */
struct figures {
    const char *pattern;
    bool is_message; /* by itself an OOM, not a sentence about one */
    int asked, capacity, allocated, free, reserved, unused, own;
};

static const struct figures FIGURES[] = {
    {"oom-torch-1-5", true, 1, 4, 6, 8, 10, 0, 0},
    {"oom-torch-1-0", true, 1, 4, 6, 8, 10, 0, 0},
    {"oom-torch-2-1", true, 2, 5, 0, 7, 0, 0, 0},
    {"oom-npu", true, 1, 4, 6, 8, 10, 0, 0},
    {"oom-other", true, 2, 0, 0, 0, 0, 0, 0},
    {"oom-allocation-on-device", true, 0, 0, 0, 0, 0, 0, 0},
    {"oom-xla", true, 0, 0, 0, 0, 0, 0, 0},
    {"oom-mps", true, 7, 5, 1, 0, 0, 0, 0},
    {"oom-cuda-bare", true, 0, 0, 0, 0, 0, 0, 0},
    {"oom-deepspeed", true, 0, 0, 0, 0, 0, 0, 0},
    {"gpu-capacity", false, 0, 2, 0, 4, 0, 0, 0},
    {"own-memory", false, 0, 0, 0, 0, 0, 0, 1},
    {"allocated-memory", false, 0, 0, 1, 0, 0, 3, 0},
    {"process-memory", false, 0, 0, 0, 0, 0, 0, 0},
};

static const char *const EVAL_FRAMES[] = {"evaluation_loop", "prediction_step", "nested_concat",
                                          "evaluate",        "predict",         "generate"};

struct reading {
    const struct run_facts *facts;
    struct arena *arena;
    const struct curve *loss;
    struct oom_event *events;
    size_t n;
};

static bool is_pattern(const struct event *event, const char *name)
{
    return event->pattern && strcmp(event->pattern, name) == 0;
}

static const struct figures *figures_of(const struct event *event)
{
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++)
        if (is_pattern(event, FIGURES[i].pattern))
            return &FIGURES[i];
    return NULL;
}

static double size_at(const struct event *event, int group)
{
    double bytes = 0.0;

    if (group < 1 || !number_parse_bytes(str_of(event_capture(event, group)),
                                         str_of(event_capture(event, group + 1)), &bytes))
        return 0.0;
    return bytes;
}

static void take(double *place, double value)
{
    if (value > 0.0 && *place == 0.0)
        *place = value;
}

/* A sentence about the processes that hold memory: ours is listed too, told by its size. */
static void take_process(struct oom_event *oom, const struct event *event)
{
    double size = size_at(event, 2);
    double own = oom->own > 0.0 ? oom->own : oom->allocated;

    if (own > 0.0 && fabs(size - own) <= 0.15 * own)
        return;
    if (size > oom->others) {
        oom->others = size;
        oom->other_pid = event_capture(event, 1);
    }
}

static void take_figures(struct oom_event *oom, const struct event *event)
{
    const struct figures *f = figures_of(event);

    if (!f)
        return;
    take(&oom->asked, size_at(event, f->asked));
    take(&oom->capacity, size_at(event, f->capacity));
    take(&oom->allocated, size_at(event, f->allocated));
    take(&oom->reserved, size_at(event, f->reserved));
    take(&oom->own, size_at(event, f->own));
    if (f->free && oom->free < 0.0)
        oom->free = size_at(event, f->free);
    if (f->unused && oom->reserved == 0.0)
        oom->reserved = size_at(event, f->allocated) + size_at(event, f->unused);
}

/* ---- Places ---- */

static bool rows_have_lines(const struct reading *r, const struct event *event)
{
    return r->loss && r->loss->n > 0 && r->loss->source_id == event->source_id;
}

/* Metric rows between two lines of the event's log (by line), or up to the step (other source). */
static size_t rows_between(const struct reading *r, const struct event *event, int64_t from_line)
{
    size_t n = 0;

    for (size_t i = 0; r->loss && i < r->loss->n; i++) {
        if (rows_have_lines(r, event))
            n += r->loss->line[i] > from_line && r->loss->line[i] < event->line;
        else
            n += event->step != NONE && r->loss->step[i] != NONE && r->loss->step[i] <= event->step;
    }
    return n;
}

static bool rows_follow(const struct reading *r, const struct event *event)
{
    for (size_t i = 0; r->loss && i < r->loss->n; i++) {
        if (rows_have_lines(r, event) ? r->loss->line[i] > event->line
                                      : event->step != NONE && r->loss->step[i] > event->step)
            return true;
    }
    for (const struct event *end = facts_event(r->facts, "end-marker", NULL); end;
         end = facts_event(r->facts, "end-marker", end))
        if (end->source_id == event->source_id && end->line > event->line)
            return true;
    return false;
}

static bool is_marker(const struct event *event)
{
    static const char *const KINDS[] = {"start-marker", "training-restart", "eval-marker",
                                        "eval-row",     "end-marker",       "checkpoint-saved"};
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(event->kind, KINDS[i]) == 0)
            return true;
    return false;
}

static bool is_kind(const struct event *event, const char *kind)
{
    return event && strcmp(event->kind, kind) == 0;
}

static void find_markers(const struct reading *r, struct oom_event *oom)
{
    const struct event *at = oom->event;

    for (size_t i = 0; i < r->facts->n_events; i++) {
        const struct event *event = &r->facts->events[i];
        if (event->source_id != at->source_id || event->line >= at->line || !is_marker(event))
            continue;
        if (!oom->marker || event->line >= oom->marker->line)
            oom->marker = event;
        if (is_kind(event, "end-marker"))
            oom->earlier_end = event;
    }
}

static void find_exception(const struct reading *r, struct oom_event *oom, int64_t last_line)
{
    for (const struct event *e = facts_event(r->facts, "exception", NULL); e;
         e = facts_event(r->facts, "exception", e)) {
        if (e->source_id != oom->event->source_id || e->line < oom->event->line)
            continue;
        if (e->line <= last_line + SAME_MESSAGE_LINES)
            oom->exception = e;
        return;
    }
}

static bool has_word(const char *words, const char *word)
{
    struct str rest = str_of(words), part;

    while (str_split(&rest, ' ', &part))
        if (str_is(part, word))
            return true;
    return false;
}

static void find_step(const struct reading *r, struct oom_event *oom)
{
    int64_t from = oom->earlier_end ? oom->earlier_end->line : 0;
    double every = 1.0;

    oom->rows_before = rows_between(r, oom->event, from);
    if (oom->event->step != NONE) {
        oom->step = oom->event->step;
        return;
    }
    if (facts_number(r->facts, "logging_steps", &every) && every < 1.0)
        every = 1.0;
    oom->step = (int64_t)(fmin(every, 1e6) * (double)oom->rows_before);
}

/* ---- What it was ---- */

static bool was_retried(const struct reading *r, struct oom_event *oom)
{
    for (const struct event *e = facts_event(r->facts, "info", NULL); e;
         e = facts_event(r->facts, "info", e))
        if (is_pattern(e, "batch-size-retried") && e->source_id == oom->event->source_id &&
            (e->line > oom->event->line || !oom->retry))
            oom->retry = e;
    /* No exception, and training went on: caught by the script, or a text that speaks of one. */
    if (!oom->retry && facts_bool(r->facts, "auto_find_batch_size") != 1 && oom->exception)
        return false;
    return rows_follow(r, oom->event);
}

static bool was_held(struct oom_event *oom)
{
    double own = oom->own > 0.0 ? oom->own : oom->allocated;

    if (oom->step > 1)
        return false;
    if (oom->capacity > 0.0 && oom->others >= HELD_SHARE * oom->capacity)
        oom->reason = OOM_BECAUSE_OTHER_PROCESS;
    else if (oom->capacity > 0.0 && own > 0.0 && own <= OWN_SHARE * oom->capacity &&
             oom->free >= 0.0 && oom->free < FREE_SHARE * oom->capacity)
        oom->reason = OOM_BECAUSE_LITTLE_OWN;
    else if (oom->earlier_end)
        oom->reason = OOM_BECAUSE_EARLIER_RUN;
    else if (is_pattern(oom->event, "oom-cuda-bare") && oom->step == 0 && oom->asked == 0.0 &&
             oom->capacity == 0.0)
        oom->reason = OOM_BECAUSE_BARE;
    else
        return false;
    return true;
}

static bool was_eval(const struct reading *r, struct oom_event *oom)
{
    const char *frames = event_capture(oom->exception, 4);

    for (size_t i = 0; i < sizeof EVAL_FRAMES / sizeof *EVAL_FRAMES && !oom->eval_frame; i++)
        if (has_word(frames, EVAL_FRAMES[i]))
            oom->eval_frame = EVAL_FRAMES[i];
    bool is_marked = is_kind(oom->marker, "eval-marker") || is_kind(oom->marker, "eval-row");
    if (is_marked && rows_have_lines(r, oom->event))
        is_marked = rows_between(r, oom->event, oom->marker->line) == 0;
    if (is_marked && oom->marker->step != NONE && oom->step > oom->marker->step + 1)
        is_marked = false; /* training went on before the next row was logged */
    if (!is_marked && !oom->eval_frame)
        return false;
    oom->reason = oom->eval_frame ? OOM_BECAUSE_FRAME : OOM_BECAUSE_MARKER;
    /* The bar of an evaluation counts its own batches. */
    if (is_marked && oom->marker->step != NONE)
        oom->step = oom->marker->step;
    else if (is_kind(oom->marker, "eval-marker") && r->facts->last_step != NONE)
        oom->step = r->facts->last_step;
    return true;
}

static double *known_lengths(const struct reading *r, size_t *n)
{
    size_t all = 0;
    const struct sample *samples = facts_lengths(r->facts, &all, NULL);
    double *tokens = samples ? arena_array(r->arena, all + 1, sizeof *tokens) : NULL;

    *n = 0;
    for (size_t i = 0; tokens && i < all; i++)
        if (samples[i].n_tokens >= 0)
            tokens[(*n)++] = samples[i].n_tokens;
    return *n > 0 ? tokens : NULL;
}

/* The rows of the step that broke, when they can be named, and whether one is among the longest. */
static bool batch_is_long(const struct reading *r, struct oom_event *oom)
{
    struct onset_rows rows;
    size_t n = 0;
    const struct sample *samples = facts_lengths(r->facts, &n, NULL);
    bool is_long = false;

    onset_replay(r->facts, r->arena, oom->step, oom->step + 1, &rows);
    if (!rows.is_named || (int64_t)n != facts_train_rows(r->facts, NULL))
        return false;
    for (size_t i = 0; i < rows.n_rows; i++)
        if (rows.rows[i] >= 0 && (uint64_t)rows.rows[i] < n &&
            samples[rows.rows[i]].n_tokens >= oom->p99)
            is_long = true;
    oom->batch = rows.rows;
    oom->n_batch = rows.n_rows;
    return is_long;
}

static bool is_grouped(const struct run_facts *facts)
{
    const char *strategy = facts_text(facts, "train_sampling_strategy");

    return facts_bool(facts, "group_by_length") == 1 ||
           (strategy && strcmp(strategy, "group_by_length") == 0);
}

static bool follows_save(const struct oom_event *oom)
{
    return is_kind(oom->marker, "checkpoint-saved") && oom->marker->step != NONE &&
           oom->step <= oom->marker->step + 1;
}

static bool was_longest(const struct reading *r, struct oom_event *oom)
{
    size_t n = 0;
    double *lengths = known_lengths(r, &n);

    if (lengths) {
        oom->max_length = stat_quantile(lengths, n, 1.0);
        oom->p95 = stat_quantile(lengths, n, 0.95);
        oom->p99 = stat_quantile(lengths, n, 0.99);
    }
    if (oom->step < LATE_STEP || oom->rows_before == 0 || follows_save(oom))
        return false;
    if (!lengths)
        oom->reason = OOM_BECAUSE_FORM;
    else if (oom->p95 > 0.0 && oom->max_length >= TAIL * oom->p95)
        oom->reason = OOM_BECAUSE_TAIL;
    else if (batch_is_long(r, oom))
        oom->reason = OOM_BECAUSE_BATCH;
    else if (is_grouped(r->facts) && oom->step > FIRST_BATCHES)
        oom->reason = OOM_BECAUSE_GROUPED;
    else
        return false;
    return true;
}

static enum oom_class classify(const struct reading *r, struct oom_event *oom)
{
    bool is_longest = was_longest(r, oom); /* the lengths are of use to all classes */
    enum oom_reason reason = oom->reason;

    oom->reason = OOM_BECAUSE_ORDINARY;
    if (was_retried(r, oom))
        return OOM_RETRIED;
    if (was_held(oom))
        return OOM_HELD;
    if (was_eval(r, oom))
        return OOM_EVAL;
    oom->reason = reason;
    return is_longest ? OOM_LONGEST : OOM_TRAIN;
}

/* ---- Gathering ---- */

static bool belongs(const struct reading *r, const struct oom_event *oom, const struct event *event,
                    int64_t last_line)
{
    if (event->source_id != oom->event->source_id || event->line > last_line + SAME_MESSAGE_LINES)
        return false;
    struct event until = *event;
    return !rows_have_lines(r, event) || rows_between(r, &until, last_line) == 0;
}

static bool is_cublas(const struct event *event)
{
    return is_pattern(event, "cublas-alloc") || is_pattern(event, "cublas-init");
}

static void gather(struct reading *r, struct oom_events *out)
{
    int64_t last_line = NONE;

    for (size_t i = 0; i < r->facts->n_events; i++) {
        const struct event *event = &r->facts->events[i];
        const struct figures *f = figures_of(event);
        if (is_cublas(event) && !out->ambiguous)
            out->ambiguous = event;
        if (!f)
            continue;
        struct oom_event *oom = r->n > 0 ? &r->events[r->n - 1] : NULL;
        if (!oom || !belongs(r, oom, event, last_line)) {
            if (!f->is_message)
                continue;
            oom = &r->events[r->n++];
            *oom = (struct oom_event){.event = event, .free = -1.0};
        }
        last_line = event->line;
        take_figures(oom, event);
        if (oom->exception == NULL)
            find_exception(r, oom, last_line);
    }
}

/* After all figures are there, since our own size tells which process is ours. */
static void gather_processes(struct reading *r, struct oom_event *oom)
{
    for (size_t i = 0; i < r->facts->n_events; i++) {
        const struct event *event = &r->facts->events[i];
        if (is_pattern(event, "process-memory") && event->source_id == oom->event->source_id &&
            event->line >= oom->event->line && event->line <= oom->event->line + SAME_MESSAGE_LINES)
            take_process(oom, event);
    }
}

void oom_events_read(const struct run_facts *facts, struct arena *arena, struct oom_events *out)
{
    struct reading reading = {.facts = facts, .arena = arena, .loss = facts_curve(facts, "loss")};

    *out = (struct oom_events){NULL, 0, NULL};
    reading.events = arena_array(arena, facts->n_events + 1, sizeof *reading.events);
    if (!reading.events)
        return;
    gather(&reading, out);
    for (size_t i = 0; i < reading.n; i++) {
        struct oom_event *oom = &reading.events[i];
        gather_processes(&reading, oom);
        find_markers(&reading, oom);
        find_step(&reading, oom);
        oom->class = classify(&reading, oom);
        if (oom->free < 0.0)
            oom->free = 0.0;
    }
    out->events = reading.events;
    out->n = reading.n;
}

const struct oom_event *oom_events_first(const struct oom_events *events, enum oom_class class)
{
    for (size_t i = 0; i < events->n; i++)
        if (events->events[i].class == class)
            return &events->events[i];
    return NULL;
}
