/* run-incomplete (CHECKS.md C0.1): did the run reach its planned end? How far it came and how it
 * ended is decided by core/facts/outcome.c; this says it with its evidence. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/registry.h"
#include "core/facts/outcome.h"

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.marks & MARK_EVAL_ONLY) {
        *reason = "nothing was trained";
        return false;
    }
    return true;
}

/* "step 160 of 400", "epoch 1.2 of 3", or what is known of it. */
static const char *progress(const struct check_ctx *ctx)
{
    const struct run_facts *facts = ctx->facts;

    if (facts->last_step >= 0 && facts->max_steps > 0)
        return arena_printf(ctx->arena, "step %lld of %lld", (long long)facts->last_step,
                            (long long)facts->max_steps);
    if (isfinite(facts->last_epoch) && isfinite(facts->planned_epochs))
        return arena_printf(ctx->arena, "epoch %.4g of %.4g", facts->last_epoch,
                            facts->planned_epochs);
    if (facts->last_step >= 0)
        return arena_printf(ctx->arena, "step %lld", (long long)facts->last_step);
    return "no training step was logged";
}

static void show_progress(struct check_ctx *ctx)
{
    struct evidence *evidence = evidence_add(ctx, "number", "%s", progress(ctx));

    if (ctx->facts->last_step >= 0) {
        evidence->step = ctx->facts->last_step;
        evidence->value = (double)ctx->facts->last_step;
        evidence->has_value = true;
    }
    if (ctx->facts->max_steps > 0) {
        evidence->bound = (double)ctx->facts->max_steps;
        evidence->has_bound = true;
    }
}

/* Rows of evidence of kind "log" are what a cause has to share (explains.c): the exception line and
 * the first line of its traceback. */
static void show_crash(struct check_ctx *ctx, const struct event *crash)
{
    int64_t first = NONE;

    evidence_event(ctx, crash);
    if (strcmp(crash->kind, "exception") != 0 ||
        !number_parse_int(str_of(event_capture(crash, 5)), &first) || first < 1 ||
        first >= crash->line)
        return;
    struct evidence *evidence = evidence_add(ctx, "log", "the traceback begins here");
    evidence->source_id = crash->source_id;
    evidence->line = first;
    evidence->step = crash->step;
}

/* The last line of a log that just stops; a place of another kind where a cause is known. */
static void show_last_lines(struct check_ctx *ctx)
{
    const struct event *event = NULL;

    while ((event = facts_event(ctx->facts, "last-line", event)))
        evidence_event(ctx, event);
}

static bool is_cut(const struct note *note)
{
    return note->message && (str_has_ignoring_case(str_of(note->message), "cut") ||
                             str_has_ignoring_case(str_of(note->message), "ends inside") ||
                             str_has_ignoring_case(str_of(note->message), "unfinished") ||
                             str_has_ignoring_case(str_of(note->message), "end of file"));
}

/* A row cut in the middle shows that the writer was stopped, whatever the reason. */
static bool show_cut_rows(struct check_ctx *ctx)
{
    const struct run_facts *facts = ctx->facts;
    bool any = false;

    for (size_t i = 0; i < facts->n_notes; i++) {
        const struct note *note = &facts->notes[i];
        if (note->severity == NOTE_INFO || !is_cut(note))
            continue;
        struct evidence *evidence = evidence_add(ctx, "file", "%s", note->message);
        evidence->source_id = note->source_id;
        evidence->line = note->line;
        any = true;
    }
    for (size_t i = 0; i < facts->n_sources && !any; i++) {
        if (facts->sources[i].state != SOURCE_DAMAGED)
            continue;
        struct evidence *evidence = evidence_add(ctx, "file", "the file is damaged or cut");
        evidence->source_id = facts->sources[i].id;
        any = true;
    }
    return any;
}

static void fix_exception(struct check_ctx *ctx, const char *type, const char *message)
{
    if (strcmp(type, "ModuleNotFoundError") == 0 || strcmp(type, "ImportError") == 0)
        check_fix(ctx, "install what is missing: %s", message);
    else if (strcmp(type, "OSError") == 0 && strstr(message, "No space left"))
        check_fix(ctx, "free disk space, or save fewer checkpoints (save_total_limit)");
    else if (strcmp(type, "KeyboardInterrupt") == 0)
        check_fix(ctx, "the run was interrupted by hand: resume it from the last checkpoint");
    else
        check_fix(ctx, "read the exception line: %s: %s", type, message);
    check_fix(ctx, "then resume from the last checkpoint (resume_from_checkpoint)");
}

/* What a scheduler says of its own reason; NULL: nothing. */
static const char *reason_outside(const struct event *crash)
{
    struct str text = str_of(crash->text ? crash->text : "");

    if (str_has_ignoring_case(text, "time limit"))
        return "the scheduler's time limit";
    if (str_has_ignoring_case(text, "preempt"))
        return "pre-emption by the scheduler";
    return NULL;
}

static int crashed(struct check_ctx *ctx)
{
    const struct event *crash = outcome_crash(ctx->facts);

    if (!crash)
        return check_fail(ctx, CONFIDENCE_STRONG, "launcher",
                          "the run ended before its planned "
                          "end (%s)",
                          progress(ctx));
    show_crash(ctx, crash);
    show_progress(ctx);
    show_cut_rows(ctx);
    check_begins(ctx, crash->step);
    const char *file = facts_file_name(ctx->facts, crash->source_id);
    if (strcmp(crash->kind, "exception") == 0) {
        const char *type = event_capture(crash, 1), *message = event_capture(crash, 2);
        fix_exception(ctx, type, message);
        return check_fail(ctx, CONFIDENCE_CERTAIN, "exception",
                          "%s%s%.200s ends the log at %s:%lld "
                          "(%s)",
                          type, message[0] ? ": " : "", message, file, (long long)crash->line,
                          progress(ctx));
    }
    if (strcmp(crash->kind, "logger-exit") == 0) {
        check_fix(ctx, "import the console log: its last lines say what ended the process");
        return check_fail(ctx, CONFIDENCE_STRONG, "launcher", "%s (%s, %s)", crash->text, file,
                          progress(ctx));
    }
    const char *why = reason_outside(crash);
    if (why)
        check_fix(ctx, "resume from the last checkpoint, and ask for more time or a queue that is not "
                       "pre-empted; save often enough for both");
    else
        check_fix(ctx, "find what ended the process: host memory, a time limit, a pre-emption");
    return check_fail(ctx, CONFIDENCE_STRONG, "launcher",
                      "the process was ended from outside%s%s (%s:%lld, %s)", why ? ": " : "",
                      why ? why : "", file, (long long)crash->line, progress(ctx));
}

static int stopped(struct check_ctx *ctx)
{
    show_progress(ctx);
    show_last_lines(ctx);
    bool is_cut_short = show_cut_rows(ctx);
    check_fix(ctx, "look at what ended the process (the scheduler's or the kernel's log); if the "
                   "log is an excerpt, import the whole one");
    check_fix(ctx, "resume from the last checkpoint");
    return check_warn(ctx, is_cut_short ? CONFIDENCE_STRONG : CONFIDENCE_LIKELY, "stopped",
                      "%s, without an end marker and without an exception%s", progress(ctx),
                      is_cut_short ? "; a file ends in the middle of a row" : "");
}

/* An exception behind the end marker belongs to what followed: saving, evaluation, merging. */
static const struct event *exception_after_end(const struct run_facts *facts)
{
    const struct event *exception = NULL;

    while ((exception = facts_event(facts, "exception", exception))) {
        const struct event *end = NULL;
        while ((end = facts_event(facts, "end-marker", end)))
            if (end->source_id == exception->source_id && end->line < exception->line)
                return exception;
    }
    return NULL;
}

static int finished(struct check_ctx *ctx)
{
    const struct event *after = exception_after_end(ctx->facts);

    if (!after)
        return check_pass(ctx, CONFIDENCE_STRONG, "%s, %s",
                          ctx->facts->outcome_reason ? ctx->facts->outcome_reason : "finished",
                          progress(ctx));
    show_crash(ctx, after);
    check_begins(ctx, after->step);
    fix_exception(ctx, event_capture(after, 1), event_capture(after, 2));
    return check_warn(ctx, CONFIDENCE_STRONG, "after-training",
                      "training reached its end, but %s ends the log at %s:%lld: saving, "
                      "evaluation or merging did not",
                      event_capture(after, 1), facts_file_name(ctx->facts, after->source_id),
                      (long long)after->line);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;

    (void)err;
    switch (facts->run.outcome) {
    case OUTCOME_CRASHED:
        return crashed(ctx);
    case OUTCOME_FINISHED:
        return finished(ctx);
    case OUTCOME_RUNNING:
        return check_unknown(ctx, "the end of the run: still running (%s)",
                             facts->outcome_reason ? facts->outcome_reason : progress(ctx));
    case OUTCOME_STOPPED:
        /* A state inside a checkpoint always stops early. */
        if (facts->has_training_log || facts->has_final_state)
            return stopped(ctx);
        break;
    case OUTCOME_UNKNOWN:
        break;
    }
    /* A table of metrics that ends inside a row was written by a process that was stopped. */
    if (show_cut_rows(ctx) && facts->last_step > 0 && facts->max_steps > facts->last_step)
        return stopped(ctx);
    return check_unknown(ctx, "the console log of the run, or the trainer_state.json of its final "
                              "folder");
}

const struct check check_run_incomplete = {
    .id = "run-incomplete",
    .version = 2,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "The run reached its planned end",
    .why = "A run that ended early has no final weights, and its last rows say nothing about what "
           "it would have become.",
    .applies = applies,
    .run = run,
};
