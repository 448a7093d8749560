/* How far a run came and how it ended. Exceptions and markers are events of the logs; nothing here
 * reads a file or a clock. */
#include "core/facts/outcome.h"

#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/curves.h"
#include "core/facts/other_runs.h"

#define RESUMED_NS    60000000000LL     /* the last lines of a crash come to all files at once */
#define MESSAGE_LINES 20                /* of an exception, before the bar is drawn a last time */

/* ---- Progress ---- */

/* Fields of trainer_state.json stand under their own name or with "state." before it. */
static bool setting_of_state(const struct run_facts *facts, const struct source *source,
                             const char *field, double *out)
{
    size_t n;
    const struct setting *const *settings = facts_settings_of(facts, source->id, &n);

    for (size_t i = 0; i < n; i++) {
        const char *name = settings[i]->raw_name;

        if (strncmp(name, "state.", 6) == 0)
            name += 6;
        if (strcmp(name, field) == 0 && setting_number(settings[i], out))
            return true;
    }
    return false;
}

static bool is_state(const struct source *source)
{
    return strcmp(source->importer, "hf_trainer_state") == 0;
}

/* The state that came furthest; the root's own on ties. */
static const struct source *newest_state(const struct run_facts *facts, double *global_step)
{
    const struct source *newest = NULL;
    bool newest_is_final = false;
    double step;

    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *s = &facts->sources[i];

        if (!is_state(s) || !setting_of_state(facts, s, "global_step", &step))
            continue;
        bool is_final = facts_checkpoint_step(facts, s->path) == NONE;
        if (newest && (step < *global_step || (step == *global_step && newest_is_final)))
            continue;
        newest = s;
        newest_is_final = is_final;
        *global_step = step;
    }
    return newest;
}

static void raise_to(int64_t *place, double value)
{
    if (value >= 0 && value < 9e15 && (int64_t)value > *place)
        *place = (int64_t)value;
}

static double capture_number(const struct event *event, int group)
{
    char digits[40];
    size_t n = 0;
    double value;

    for (const char *c = event_capture(event, group); *c && n < sizeof digits - 1; c++)
        if (*c != ',')
            digits[n++] = *c;
    return n && number_parse_any(str_from(digits, n), &value) ? value : NAN;
}

static const struct event *event_of_pattern(const struct run_facts *facts, const char *pattern)
{
    for (size_t i = 0; i < facts->n_events; i++)
        if (facts->events[i].pattern && strcmp(facts->events[i].pattern, pattern) == 0)
            return &facts->events[i];
    return NULL;
}

/* The bar counts steps of training only in a log that trains: a bar of generation counts rows. */
static bool trains(const struct run_facts *facts, int64_t source_id)
{
    for (const struct event *e = facts_event(facts, "log-summary", NULL); e;
         e = facts_event(facts, "log-summary", e))
        if (e->source_id == source_id)
            return strcmp(event_capture(e, 3), "training") == 0;
    return false;
}

static void steps_of_logs(struct run_facts *facts)
{
    double done, total, epochs;
    const struct event *banner = event_of_pattern(facts, "total-steps");

    for (const struct event *e = facts_event(facts, "last-progress", NULL); e;
         e = facts_event(facts, "last-progress", e)) {
        done = capture_number(e, 1);
        total = capture_number(e, 2);
        if (!trains(facts, e->source_id) || isnan(total) || total <= 0 ||
            other_runs_has(facts, e->source_id))
            continue;
        raise_to(&facts->last_step, done);
        if (!banner)
            raise_to(&facts->max_steps, total);
    }
    if (banner)
        raise_to(&facts->max_steps, capture_number(banner, 1));
    const struct event *named = event_of_pattern(facts, "num-examples");
    epochs = named ? capture_number(named, 2) : NAN;
    if (isnan(epochs)) {
        named = event_of_pattern(facts, "num-epochs");
        epochs = named ? capture_number(named, 1) : NAN;
    }
    if (isnan(facts->planned_epochs) && !isnan(epochs))
        facts->planned_epochs = epochs;
}

static bool has_end_marker(const struct run_facts *facts)
{
    static const char *const SERIES[] = {"train_runtime", "train_loss", "train_samples_per_second"};

    for (size_t i = 0; i < sizeof SERIES / sizeof *SERIES; i++)
        for (size_t k = 0; k < facts->n_series; k++)
            if (strcmp(facts->series[k].name, SERIES[i]) == 0 && facts->series[k].n_points > 0 &&
                !other_runs_disagrees(facts, facts->series[k].source_id))
                return true;
    for (const struct event *e = facts_event(facts, "end-marker", NULL); e;
         e = facts_event(facts, "end-marker", e))
        if (!other_runs_has(facts, e->source_id))
            return true;
    return false;
}

static bool state_says_stop(const struct run_facts *facts, const struct source *state)
{
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        const char *dot = strrchr(s->raw_name, '.');

        if (s->source_id == state->id &&
            strcmp(dot ? dot + 1 : s->raw_name, "should_training_stop") == 0 &&
            setting_bool(s) == 1)
            return true;
    }
    return false;
}

void outcome_progress(struct run_facts *facts)
{
    double step = -1, number;
    const struct source *state = newest_state(facts, &step);

    facts->last_step = facts->max_steps = NONE;
    facts->planned_epochs = NAN;
    raise_to(&facts->last_step, step);
    if (state && setting_of_state(facts, state, "max_steps", &number) && number > 0)
        raise_to(&facts->max_steps, number);
    if (state && setting_of_state(facts, state, "num_train_epochs", &number) && number > 0)
        facts->planned_epochs = number;
    int64_t logged = curves_last_step(facts);
    if (logged > facts->last_step)
        facts->last_step = logged;
    if (facts->max_steps == NONE)
        steps_of_logs(facts);
    else {
        int64_t planned = facts->max_steps;

        steps_of_logs(facts);
        facts->max_steps = planned;
    }
    if (facts->max_steps == NONE && facts_number(facts, "max_steps", &number) && number > 0)
        raise_to(&facts->max_steps, number);
    if (facts->max_steps == NONE && !isnan(curves_last_value(facts, "total_steps")))
        raise_to(&facts->max_steps, curves_last_value(facts, "total_steps"));
    if (isnan(facts->planned_epochs) && facts_number(facts, "num_train_epochs", &number))
        facts->planned_epochs = number;
    facts->last_epoch = curves_last_value(facts, "epoch");
    if (isnan(facts->last_epoch) && state && setting_of_state(facts, state, "epoch", &number))
        facts->last_epoch = number;
    facts->has_end_marker = has_end_marker(facts) || (state && state_says_stop(facts, state));
    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *s = &facts->sources[i];

        facts->has_training_log |= importer_is_log(s->importer) && trains(facts, s->id) &&
                                   !other_runs_has(facts, s->id);
        facts->has_final_state |= is_state(s) && s->state != SOURCE_DAMAGED &&
                                  facts_checkpoint_step(facts, s->path) == NONE;
    }
}

/* ---- How it ended ---- */

/* Line of the last sign of training (a row or an end marker) in a log, or NONE. */
static int64_t last_training_line(const struct run_facts *facts, int64_t source_id)
{
    static const char *const NAMES[] = {"loss", "reward", "train_runtime"};
    int64_t last = NONE;

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const struct curve *curve = facts_curve(facts, NAMES[i]);

        for (size_t k = 0; curve && k < curve->n; k++)
            if (curve_source(curve, k) == source_id && curve->line[k] > last)
                last = curve->line[k];
    }
    for (size_t i = 0; i < facts->n_events; i++) {
        const struct event *e = &facts->events[i];

        if (e->source_id == source_id && e->line > last &&
            (strcmp(e->kind, "end-marker") == 0 || strcmp(e->kind, "last-row") == 0))
            last = e->line;
    }
    return last;
}

/* A full bar is drawn once more when it closes, behind the end marker. */
static bool is_unfinished_bar(const struct event *event)
{
    double done = capture_number(event, 1), total = capture_number(event, 2);

    return strcmp(event->kind, "last-progress") == 0 && !(done >= total);
}

/* The exception belongs to what followed training, unless another training began in between. */
static bool ended_before(const struct run_facts *facts, const struct event *event)
{
    int64_t end = NONE, began = NONE;

    for (size_t i = 0; i < facts->n_events; i++) {
        const struct event *e = &facts->events[i];
        bool begins = strcmp(e->kind, "start-marker") == 0 ||
                      strcmp(e->kind, "training-restart") == 0 || is_unfinished_bar(e);

        if (e->source_id != event->source_id || e->line >= event->line)
            continue;
        if (strcmp(e->kind, "end-marker") == 0 && e->line > end)
            end = e->line;
        if (begins && e->line > began)
            began = e->line;
    }
    return end != NONE && began <= end;
}

/* The log ends with this bar, close behind the message, which may have several lines. */
static bool ends_with(const struct run_facts *facts, const struct event *progress,
                      const struct event *event)
{
    for (const struct event *e = facts_event(facts, "last-line", NULL); e;
         e = facts_event(facts, "last-line", e))
        if (e->source_id == progress->source_id)
            return e->line == progress->line && progress->line - event->line <= MESSAGE_LINES;
    return false;
}

/* The bar is drawn once more when the process unwinds, a few steps further than it was drawn last,
 * since it is not drawn at every step: only what comes after it says that the process lived. */
static bool is_later_progress(const struct run_facts *facts, const struct event *progress,
                              const struct event *event)
{
    double done = capture_number(progress, 1);

    return progress->line > event->line &&
           (event->step == NONE || isnan(done) || done > (double)event->step) &&
           !ends_with(facts, progress, event);
}

/* A bar that went on, or an OOM that was answered with a smaller batch, says that it lived. */
static bool went_on(const struct run_facts *facts, const struct event *event)
{
    if (last_training_line(facts, event->source_id) > event->line)
        return true;
    for (size_t i = 0; i < facts->n_events; i++) {
        const struct event *e = &facts->events[i];

        if (e->source_id != event->source_id || e->line <= event->line)
            continue;
        if (strcmp(e->kind, "training-restart") == 0 || strcmp(e->kind, "start-marker") == 0 ||
            (e->pattern && strcmp(e->pattern, "batch-size-retried") == 0) ||
            (strcmp(e->kind, "last-progress") == 0 && is_later_progress(facts, e, event)))
            return true;
    }
    return false;
}

/* Half of a pair "job.err", "stderr.log" belongs to the log that trains, though it may show no row. */
static bool is_error_stream(const struct run_facts *facts, int64_t source_id)
{
    struct str name = str_of(facts_file_name(facts, source_id));

    return str_ends(name, ".err") || str_find(name, "stderr") >= 0;
}

static bool is_death(const struct event *event)
{
    static const char *const KINDS[] = {"exception", "process-death", "host-oom-killed"};

    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(event->kind, KINDS[i]) == 0)
            return true;
    return false;
}

static bool reached_plan(const struct run_facts *facts)
{
    if (facts->max_steps > 0 && facts->last_step >= facts->max_steps)
        return true;
    return facts->max_steps <= 0 && !isnan(facts->planned_epochs) && facts->last_epoch > 0 &&
           facts->last_epoch >= 0.99 * facts->planned_epochs;
}

static bool ended_well(const struct event *exit)
{
    return strcmp(event_capture(exit, 1), "0") == 0 || strcmp(event_capture(exit, 1), "FINISHED") == 0;
}

/* Where no log tells it: the code or state with which a logger saw the process end. A run that came to
 * its end, or that some logger saw end well (a resumed one), did not die of it. */
static const struct event *logger_crash(const struct run_facts *facts)
{
    const struct event *failed = NULL;

    if (facts->has_end_marker || reached_plan(facts))
        return NULL;
    for (const struct event *e = facts_event(facts, "logger-exit", NULL); e;
         e = facts_event(facts, "logger-exit", e)) {
        if (other_runs_has(facts, e->source_id))
            continue;
        if (ended_well(e))
            return NULL;
        failed = failed ? failed : e;
    }
    return failed;
}

const struct event *outcome_crash(const struct run_facts *facts)
{
    bool has_rows = facts->has_training_log || facts->last_step > 0;

    for (size_t i = 0; i < facts->n_events; i++) {
        const struct event *e = &facts->events[i];

        if (!is_death(e) || other_runs_has(facts, e->source_id))
            continue;
        if (has_rows && !trains(facts, e->source_id) && !is_error_stream(facts, e->source_id))
            continue;           /* inference, merge, server: not this training */
        if (!went_on(facts, e) && !ended_before(facts, e))
            return e;
    }
    return logger_crash(facts);
}

static void say(struct run_facts *facts, enum outcome outcome, const char *reason)
{
    facts->run.outcome = outcome;
    facts->outcome_reason = reason;
}

static bool fell_short(const struct run_facts *facts)
{
    if (facts->max_steps > 0 && facts->last_step >= 0)
        return facts->last_step < facts->max_steps;
    return !isnan(facts->planned_epochs) && facts->last_epoch >= 0 &&
           facts->last_epoch < 0.99 * facts->planned_epochs;
}

/* The one that was written last: of a resumed run the files of the process that died may be fresh too. */
static bool is_growing(const struct run_facts *facts, const struct source **which)
{
    *which = NULL;
    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *s = &facts->sources[i];

        if (s->state == SOURCE_GROWING && (!*which || s->mtime_ns > (*which)->mtime_ns))
            *which = s;
    }
    return *which != NULL;
}

/* A metric file that the process wrote row by row ends where the process ended. */
static bool has_log(const struct run_facts *facts)
{
    static const char *const LOGS[] = {"metrics_table", "trainer_log"};

    for (size_t i = 0; i < facts->n_sources; i++)
        for (size_t k = 0; k < sizeof LOGS / sizeof *LOGS; k++)
            if (strcmp(facts->sources[i].importer, LOGS[k]) == 0)
                return true;
    return facts->has_training_log;
}

/* Something later than the crash carried training on: another log, or a state beyond it. */
static bool was_resumed_after(const struct run_facts *facts, const struct event *crash)
{
    for (size_t i = 0; i < facts->n_events; i++)
        if (strcmp(facts->events[i].kind, "end-marker") == 0 &&
            facts->events[i].source_id != crash->source_id)
            return true;
    return facts->has_final_state && facts->has_end_marker && reached_plan(facts);
}

static const struct source *source_of(const struct run_facts *facts, int64_t id)
{
    for (size_t i = 0; i < facts->n_sources; i++)
        if (facts->sources[i].id == id)
            return &facts->sources[i];
    return NULL;
}

/* Another log of training is being written, and was when the one that crashed no longer was: by the
 * dates of the two files, which stand in one folder. */
static bool goes_on_after(const struct run_facts *facts, const struct event *crash)
{
    const struct source *crashed = source_of(facts, crash->source_id);

    for (size_t i = 0; crashed && i < facts->n_sources; i++) {
        const struct source *s = &facts->sources[i];

        if (s->state == SOURCE_GROWING && s != crashed &&
            s->mtime_ns > crashed->mtime_ns + RESUMED_NS && trains(facts, s->id))
            return true;
    }
    return false;
}

void outcome_decide(struct run_facts *facts)
{
    struct arena *arena = facts->cache->arena;
    const struct event *crash = outcome_crash(facts);
    const struct source *growing = NULL;

    if (crash && !was_resumed_after(facts, crash) && !goes_on_after(facts, crash)) {
        if (strcmp(crash->kind, "logger-exit") == 0)
            say(facts, OUTCOME_CRASHED, crash->text);
        else
            say(facts, OUTCOME_CRASHED,
                arena_printf(arena, "%s at %s:%lld",
                             strcmp(crash->kind, "exception") == 0 ? "exception" : "process death",
                             facts_file_name(facts, crash->source_id), (long long)crash->line));
        return;
    }
    if (facts->has_end_marker)
        say(facts, OUTCOME_FINISHED, "end marker seen");
    else if (facts_event(facts, "early-stopping", NULL))
        say(facts, OUTCOME_FINISHED, "stopped early by its own rule");
    else if (reached_plan(facts))
        say(facts, OUTCOME_FINISHED, "the last step is the planned one");
    else if (is_growing(facts, &growing))
        say(facts, OUTCOME_RUNNING,
            arena_printf(arena, "%s is still being written", facts_file_name(facts, growing->id)));
    else if (facts->run.marks & MARK_EVAL_ONLY)
        say(facts, OUTCOME_UNKNOWN, "nothing was trained");
    else if ((has_log(facts) || facts->has_final_state) && fell_short(facts))
        say(facts, OUTCOME_STOPPED,
            facts->max_steps > 0
                ? arena_printf(arena, "step %lld of %lld, no end marker",
                               (long long)facts->last_step, (long long)facts->max_steps)
                : arena_printf(arena, "epoch %.4g of %.4g, no end marker", facts->last_epoch,
                               facts->planned_epochs));
    else
        say(facts, OUTCOME_UNKNOWN, "no console log and no final state that shows the end");
}
