/* Files beside a run that tell of another one: attempts, and logs that several runs wrote to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/facts/other_runs.h"
#include "core/facts/run_facts.h"
#include "core/store/sink.h"
#include "core/store/store.h"
#include "tests/harness/tempdir.h"

struct fixture {
    char *folder;
    struct store *store;
    struct sink *sink;
    struct run_facts *facts;
    int64_t seq;
};

static const struct run RUN = {.key = "k",
                               .folder = "/x/run",
                               .name = "run",
                               .project = "/x",
                               .started_at = NONE,
                               .ended_at = NONE};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct error err;

    f->folder = tempdir_make();
    const struct store_options options = {.in_memory = true,
                                          .kept_path = tempdir_path(f->folder, "kept.db")};
    assert_int_equal(store_open(&f->store, &options, &err), OK);
    assert_int_equal(sink_open_store(&f->sink, f->store, &err), OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    run_facts_close(f->facts);
    sink_close(f->sink);
    store_close(f->store);
    tempdir_remove(f->folder);
    free(f);
    return 0;
}

static void begin(struct fixture *f, const char *path, const char *importer)
{
    struct error err;
    const struct source source = {
        .path = path, .importer = importer, .importer_version = 1, .role = "log"};

    assert_int_equal(sink_begin(f->sink, &RUN, &source, &err), OK);
}

static void end(struct fixture *f)
{
    struct error err;

    assert_int_equal(sink_end(f->sink, 0, SOURCE_WHOLE, &err), OK);
}

static void setting(struct fixture *f, const char *raw_name, const char *name, const char *value)
{
    struct error err;
    const struct setting s = {.side = SIDE_TRAIN,
                              .raw_name = raw_name,
                              .name = name,
                              .value = value,
                              .type = VALUE_FLOAT,
                              .line = NONE};

    assert_int_equal(sink_setting(f->sink, &s, &err), OK);
}

/* Values scale/step at the steps from, from + 1, … to; NONE as step: one value without a step. */
static void metric(struct fixture *f, const char *name, int64_t from, int64_t to, double scale)
{
    struct error err;
    int handle;

    f->seq = 0;
    assert_int_equal(sink_series(f->sink, name, name, &handle, &err), OK);
    for (int64_t step = from; step <= to; step++) {
        const struct point p = {.seq = f->seq++,
                                .step = step,
                                .value = step > 0 ? scale / (double)step : scale,
                                .line = f->seq,
                                .wall = NAN};

        assert_int_equal(sink_point(f->sink, handle, &p, &err), OK);
    }
}

static const struct run_facts *facts(struct fixture *f)
{
    struct error err;
    struct arena *arena = arena_open((size_t)1 << 20);
    struct run run;

    assert_int_equal(store_run_find(f->store, "k", arena, &run, &err), OK);
    assert_int_equal(run_facts_open(&f->facts, f->store, run.id, &err), OK);
    arena_close(arena);
    return f->facts;
}

static void event_file(struct fixture *f, const char *path, int64_t from, int64_t to, double scale,
                       const char *rate)
{
    begin(f, path, "tensorboard");
    metric(f, "loss", from, to, scale);
    metric(f, "learning_rate", from, to, 1e-3);
    if (rate)
        setting(f, "args/learning_rate", "learning_rate", rate);
    end(f);
}

static void an_attempt_gives_no_settings_to_the_run(void **state)
{
    struct fixture *f = *state;
    double rate;

    event_file(f, "/x/run/events.out.tfevents.100.host.1.0", 1, 10, 5.0, "1e-05");
    event_file(f, "/x/run/events.out.tfevents.200.host.2.0", 1, 30, 2.0, "0.0005");
    const struct run_facts *run = facts(f);
    assert_true(facts_number(run, "learning_rate", &rate));
    assert_true(rate == 0.0005);
    assert_int_equal(facts_curve(run, "loss")->n, 30);
}

static void the_event_file_that_agrees_goes_on_where_the_state_ends(void **state)
{
    struct fixture *f = *state;

    begin(f, "/x/run/checkpoint-10/trainer_state.json", "hf_trainer_state");
    metric(f, "loss", 1, 10, 2.0);
    metric(f, "learning_rate", 1, 10, 1e-3);
    setting(f, "max_steps", "max_steps", "100");
    end(f);
    event_file(f, "/x/run/events.out.tfevents.100.host.1.0", 1, 30, 2.2, NULL);
    event_file(f, "/x/run/events.out.tfevents.200.host.2.0", 8, 40, 2.3, NULL);
    event_file(f, "/x/run/events.out.tfevents.300.host.3.0", 1, 15, 2.0, NULL);
    const struct run_facts *run = facts(f);
    assert_int_equal(run->last_step, 15);
    assert_int_equal(facts_curve(run, "loss")->n, 15);
    /* schedules are alike in all attempts: only the losses tell them apart */
    assert_int_equal(facts_curve(run, "learning_rate")->n, 15);
}

static void a_resumed_process_is_the_same_run(void **state)
{
    struct fixture *f = *state;
    const struct source *s;

    event_file(f, "/x/run/events.out.tfevents.100.host.1.0", 1, 20, 2.0, NULL);
    event_file(f, "/x/run/events.out.tfevents.200.host.2.0", 15, 60, 2.01, NULL);
    const struct run_facts *run = facts(f);
    for (size_t i = 0; i < run->n_sources; i++) {
        s = &run->sources[i];
        assert_false(other_runs_has(run, s->id));
    }
    assert_int_equal(run->last_step, 60);
}

static void log_with_end(struct fixture *f, double runtime, double per_second)
{
    begin(f, "/x/run/app.log", "console_log");
    metric(f, "train_runtime", NONE, NONE, runtime);
    metric(f, "train_steps_per_second", NONE, NONE, per_second);
    metric(f, "eval_loss", NONE, NONE, 0.5);
    end(f);
}

static void state_of_100_steps(struct fixture *f)
{
    begin(f, "/x/run/checkpoint-90/trainer_state.json", "hf_trainer_state");
    metric(f, "loss", 1, 90, 2.0);
    setting(f, "state.max_steps", "max_steps", "100");
    end(f);
}

static void the_end_of_another_run_is_not_this_ones(void **state)
{
    struct fixture *f = *state;

    state_of_100_steps(f);
    log_with_end(f, 10.0, 250.0); /* 2,500 steps */
    const struct run_facts *run = facts(f);
    assert_false(run->has_end_marker);
    assert_false(facts_has_curve(run, "eval_loss"));
    assert_int_not_equal(run->run.outcome, OUTCOME_FINISHED);
}

static void the_runs_own_end_counts(void **state)
{
    struct fixture *f = *state;

    state_of_100_steps(f);
    log_with_end(f, 38.07, 2.627); /* 100 steps, as it is printed */
    const struct run_facts *run = facts(f);
    assert_true(run->has_end_marker);
    assert_true(facts_has_curve(run, "eval_loss"));
    assert_int_equal(run->run.outcome, OUTCOME_FINISHED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_attempt_gives_no_settings_to_the_run),
        CASE(the_event_file_that_agrees_goes_on_where_the_state_ends),
        CASE(a_resumed_process_is_the_same_run),
        CASE(the_end_of_another_run_is_not_this_ones),
        CASE(the_runs_own_end_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
