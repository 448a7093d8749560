/* How far a run came and how it ended (CHECKS.md C0.1). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/facts/facts_cache.h"
#include "core/facts/outcome.h"

#define MAX 16
#define LOG 1 /* id of the console log, which is the first source */

static struct source sources[MAX];
static struct setting settings[MAX];
static struct series series[MAX];
static struct event events[MAX];
static struct curve curves[2];
static int64_t steps[MAX], lines[MAX], seqs[MAX];
static int32_t segments[MAX];
static double values[MAX];
static struct facts_memory memory;
static struct run_facts *facts;

static int set_up(void **state)
{
    (void)state;
    memset(&memory, 0, sizeof memory);
    memset(curves, 0, sizeof curves);
    memory.lists.sources = sources;
    memory.lists.settings = settings;
    memory.lists.series = series;
    memory.lists.events = events;
    memory.curves = curves;
    memory.lists.run.folder = "/x/run";
    facts = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    run_facts_close(facts);
    return 0;
}

static int64_t source(const char *path, const char *importer)
{
    size_t n = memory.lists.n_sources++;

    sources[n] = (struct source){.id = (int64_t)n + 1, .path = path, .importer = importer};
    return sources[n].id;
}

static void state_says(int64_t id, const char *name, const char *value)
{
    settings[memory.lists.n_settings++] = (struct setting){.source_id = id,
                                                           .side = SIDE_TRAIN,
                                                           .raw_name = name,
                                                           .value = value,
                                                           .type = VALUE_INT,
                                                           .line = NONE};
}

static struct event *event(const char *kind, int64_t line)
{
    struct event *e = &events[memory.lists.n_events++];

    *e = (struct event){.id = (int64_t)memory.lists.n_events,
                        .source_id = LOG,
                        .kind = kind,
                        .line = line,
                        .step = NONE,
                        .text = ""};
    return e;
}

static void training_log(void)
{
    source("/x/console.log", "console_log");
    struct event *e = event("log-summary", 1000);
    e->n_captures = 4;
    e->captures[0] = "1000";
    e->captures[1] = "9";
    e->captures[2] = "training";
    e->captures[3] = "0";
}

/* n rows at lines 10, 20, …, steps 1, 2, … of the log. */
static void loss_rows(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        steps[i] = (int64_t)i + 1;
        lines[i] = 10 * (int64_t)(i + 1);
        values[i] = 1;
    }
    curves[0] = (struct curve){.name = "loss",
                               .source_id = LOG,
                               .n = n,
                               .value = values,
                               .step = steps,
                               .seq = seqs,
                               .line = lines,
                               .segment = segments,
                               .n_segments = 1};
    memory.n_curves = 1;
    series[memory.lists.n_series++] =
        (struct series){.source_id = LOG, .name = "loss", .raw_name = "loss"};
}

static struct event *progress(const char *done, const char *total)
{
    struct event *e = event("last-progress", 90);

    e->n_captures = 2;
    e->captures[0] = done;
    e->captures[1] = total;
    return e;
}

static enum outcome decide(void)
{
    struct error err;

    assert_int_equal(run_facts_from_memory(&facts, &memory, &err), OK);
    outcome_progress(facts);
    outcome_decide(facts);
    return facts->run.outcome;
}

static void an_exception_after_the_last_row_is_a_crash(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    event("exception", 60);
    assert_int_equal(decide(), OUTCOME_CRASHED);
    assert_string_equal(facts->outcome_reason, "exception at console.log:60");
    assert_ptr_equal(outcome_crash(facts), &facts->events[1]);
}

static void an_exception_that_training_survived_is_none(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    event("exception", 25);
    event("end-marker", 80);
    assert_int_equal(decide(), OUTCOME_FINISHED);
    assert_null(outcome_crash(facts));
}

static void an_exception_after_the_end_belongs_to_what_followed(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    event("end-marker", 60);
    event("exception", 70);
    assert_int_equal(decide(), OUTCOME_FINISHED);
}

static void a_bar_drawn_again_as_it_closes_begins_nothing(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    event("end-marker", 60);
    progress("5", "5")->line = 61;
    event("exception", 70);
    assert_int_equal(decide(), OUTCOME_FINISHED);
}

static void a_bar_drawn_while_unwinding_is_no_step(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    event("exception", 70)->step = 5;
    progress("5", "400")->line = 71;
    assert_int_equal(decide(), OUTCOME_CRASHED);
}

/* tqdm draws at most ten times a second: the last bar is further than the one before the exception */
static void a_last_bar_close_behind_the_exception_is_the_unwinding(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    event("exception", 70)->step = 5;
    progress("12", "400")->line = 71;
    event("last-line", 71);
    assert_int_equal(decide(), OUTCOME_CRASHED);
}

static void bars_that_go_on_for_long_say_that_the_exception_was_caught(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    event("exception", 70)->step = 5;
    progress("300", "400")->line = 370;
    event("last-line", 370);
    assert_int_equal(decide(), OUTCOME_STOPPED);
}

static void a_bar_that_goes_on_says_that_the_exception_was_caught(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    event("exception", 70)->step = 5;
    progress("400", "400")->line = 90;
    assert_int_equal(decide(), OUTCOME_FINISHED);
}

static void a_death_without_an_exception_is_a_crash(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    event("host-oom-killed", 70);
    assert_int_equal(decide(), OUTCOME_CRASHED);
    assert_string_equal(facts->outcome_reason, "process death at console.log:70");
}

static struct event *logger_exit(const char *how, const char *text)
{
    struct event *e = event("logger-exit", NONE);

    e->n_captures = 1;
    e->captures[0] = how;
    e->text = text;
    return e;
}

static void a_process_that_its_logger_saw_fail_has_crashed(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    logger_exit("1", "W&B: the process ended with code 1");
    assert_int_equal(decide(), OUTCOME_CRASHED);
    assert_string_equal(facts->outcome_reason, "W&B: the process ended with code 1");
}

static void a_failure_that_a_later_run_made_good_is_none(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    logger_exit("FAILED", "MLflow: the run is FAILED");
    logger_exit("FINISHED", "MLflow: the run is FINISHED");
    assert_int_not_equal(decide(), OUTCOME_CRASHED);
}

static void a_failure_behind_the_end_of_training_is_none(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    event("end-marker", 80);
    logger_exit("1", "W&B: the process ended with code 1");
    assert_int_equal(decide(), OUTCOME_FINISHED);
}

static void an_oom_answered_with_a_smaller_batch_is_none(void **state)
{
    (void)state;
    training_log();
    loss_rows(1);
    event("exception", 30);
    event("info", 31)->pattern = "batch-size-retried";
    progress("9", "9");
    assert_int_equal(decide(), OUTCOME_FINISHED);
}

static void an_inference_log_does_not_crash_the_training(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    int64_t infer = source("/x/infer.log", "console_log");
    event("exception", 3)->source_id = infer;
    event("end-marker", 80);
    assert_int_equal(decide(), OUTCOME_FINISHED);
}

static void an_exception_before_any_training_is_a_crash(void **state)
{
    (void)state;
    source("/x/console.log", "console_log");
    struct event *e = event("log-summary", 20);
    e->n_captures = 4;
    e->captures[0] = e->captures[1] = e->captures[2] = e->captures[3] = "";
    event("exception", 12);
    assert_int_equal(decide(), OUTCOME_CRASHED);
}

static void fewer_steps_than_planned_without_an_end_is_stopped(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    progress("5", "400");
    assert_int_equal(decide(), OUTCOME_STOPPED);
    assert_int_equal(facts->last_step, 5);
    assert_int_equal(facts->max_steps, 400);
    assert_string_equal(facts->outcome_reason, "step 5 of 400, no end marker");
}

static void all_planned_steps_are_the_end(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    progress("400", "400");
    assert_int_equal(decide(), OUTCOME_FINISHED);
}

static void a_state_in_a_checkpoint_alone_does_not_tell(void **state)
{
    (void)state;
    int64_t id = source("/x/run/checkpoint-200/trainer_state.json", "hf_trainer_state");
    state_says(id, "state.global_step", "200");
    state_says(id, "max_steps", "300");
    assert_int_equal(decide(), OUTCOME_UNKNOWN);
    assert_int_equal(facts->last_step, 200);
    assert_int_equal(facts->max_steps, 300);
    assert_false(facts->has_final_state);
}

static void a_final_state_short_of_the_plan_is_stopped(void **state)
{
    (void)state;
    int64_t early = source("/x/run/checkpoint-100/trainer_state.json", "hf_trainer_state");
    int64_t id = source("/x/run/trainer_state.json", "hf_trainer_state");
    state_says(early, "state.global_step", "100");
    state_says(early, "max_steps", "999");
    state_says(id, "state.global_step", "200");
    state_says(id, "max_steps", "300");
    assert_int_equal(decide(), OUTCOME_STOPPED);
    assert_true(facts->has_final_state);
}

static void a_stop_by_the_trainers_own_control_is_an_end(void **state)
{
    (void)state;
    int64_t id = source("/x/run/trainer_state.json", "hf_trainer_state");
    state_says(id, "state.global_step", "200");
    state_says(id, "max_steps", "300");
    state_says(id, "state.should_training_stop", "true");
    assert_int_equal(decide(), OUTCOME_FINISHED);
    assert_true(facts->has_end_marker);
}

static void a_growing_log_is_running(void **state)
{
    (void)state;
    training_log();
    sources[0].state = SOURCE_GROWING;
    loss_rows(5);
    progress("5", "400");
    assert_int_equal(decide(), OUTCOME_RUNNING);
}

static void another_log_that_grows_later_goes_on_after_a_crash(void **state)
{
    (void)state;
    training_log();
    loss_rows(5);
    event("exception", 90);
    int64_t second = source("/x/run/console2.log", "console_log");
    struct event *summary = event("log-summary", 9);
    summary->source_id = second;
    summary->n_captures = 3;
    summary->captures[2] = "training";
    sources[0].mtime_ns = 1000000000000;
    sources[1].mtime_ns = 1030000000000;
    sources[1].state = SOURCE_GROWING;
    assert_int_equal(decide(), OUTCOME_CRASHED);        /* the same crash, seen in both */
    run_facts_close(facts);
    facts = NULL;
    sources[1].mtime_ns = 1090000000000;
    assert_int_equal(decide(), OUTCOME_RUNNING);
}

static void nothing_seen_is_unknown(void **state)
{
    (void)state;
    source("/x/data.jsonl", "dataset_rows");
    assert_int_equal(decide(), OUTCOME_UNKNOWN);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_exception_after_the_last_row_is_a_crash),
        CASE(an_exception_that_training_survived_is_none),
        CASE(an_exception_after_the_end_belongs_to_what_followed),
        CASE(a_bar_drawn_again_as_it_closes_begins_nothing),
        CASE(a_bar_drawn_while_unwinding_is_no_step),
        CASE(a_last_bar_close_behind_the_exception_is_the_unwinding),
        CASE(bars_that_go_on_for_long_say_that_the_exception_was_caught),
        CASE(a_bar_that_goes_on_says_that_the_exception_was_caught),
        CASE(a_death_without_an_exception_is_a_crash),
        CASE(a_process_that_its_logger_saw_fail_has_crashed),
        CASE(a_failure_that_a_later_run_made_good_is_none),
        CASE(a_failure_behind_the_end_of_training_is_none),
        CASE(an_oom_answered_with_a_smaller_batch_is_none),
        CASE(an_inference_log_does_not_crash_the_training),
        CASE(an_exception_before_any_training_is_a_crash),
        CASE(fewer_steps_than_planned_without_an_end_is_stopped),
        CASE(all_planned_steps_are_the_end),
        CASE(a_state_in_a_checkpoint_alone_does_not_tell),
        CASE(a_final_state_short_of_the_plan_is_stopped),
        CASE(a_stop_by_the_trainers_own_control_is_an_end),
        CASE(a_growing_log_is_running),
        CASE(another_log_that_grows_later_goes_on_after_a_crash),
        CASE(nothing_seen_is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
