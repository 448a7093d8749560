/* Curves out of the points of several sources (FORMATS.md B0 rule 6, CHECKS.md F1 and 2.4 rule 8).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/facts/run_facts.h"
#include "core/store/sink.h"
#include "core/store/store.h"
#include "tests/harness/tempdir.h"

struct fixture {
    char *folder;
    struct store *store;
    struct sink *sink;
    struct run_facts *facts;
    int64_t seq, line;
    int handle;
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
    f->seq = f->line = 0;
}

static void end(struct fixture *f)
{
    struct error err;

    assert_int_equal(sink_end(f->sink, 0, SOURCE_WHOLE, &err), OK);
}

static void global_step(struct fixture *f, const char *value)
{
    struct error err;
    const struct setting setting = {.side = SIDE_TRAIN,
                                    .raw_name = "state.global_step",
                                    .name = "state.global_step",
                                    .value = value,
                                    .type = VALUE_INT,
                                    .line = NONE};

    assert_int_equal(sink_setting(f->sink, &setting, &err), OK);
}

static void metric(struct fixture *f, const char *name)
{
    struct error err;

    assert_int_equal(sink_series(f->sink, name, name, &f->handle, &err), OK);
}

static void put(struct fixture *f, int32_t segment, int64_t step, double value)
{
    struct error err;
    const struct point point = {.seq = f->seq++,
                                .segment = segment,
                                .step = step,
                                .value = value,
                                .line = ++f->line,
                                .wall = NAN};

    assert_int_equal(sink_point(f->sink, f->handle, &point, &err), OK);
}

/* Steps from, from + by, … with the value 1/step. */
static void falling(struct fixture *f, int64_t from, int64_t to, int64_t by)
{
    for (int64_t step = from; step <= to; step += by)
        put(f, 0, step, 1.0 / (double)step);
}

static const struct curve *curve(struct fixture *f, const char *name)
{
    struct error err;
    struct arena *arena = arena_open((size_t)1 << 20);
    struct run run;

    if (!f->facts) {
        assert_int_equal(store_run_find(f->store, "k", arena, &run, &err), OK);
        assert_int_equal(run_facts_open(&f->facts, f->store, run.id, &err), OK);
    }
    arena_close(arena);
    return facts_curve(f->facts, name);
}

static void the_later_row_wins_for_the_same_step(void **state)
{
    struct fixture *f = *state;

    begin(f, "/x/run/metrics.jsonl", "metrics_table");
    metric(f, "loss");
    put(f, 0, 1, 3);
    put(f, 0, 2, 9);
    put(f, 0, 2, 2);
    put(f, 0, 3, 1);
    end(f);
    const struct curve *c = curve(f, "loss");
    assert_int_equal(c->n, 3);
    assert_true(c->value[1] == 2);
    assert_int_equal(c->line[1], 3);
    assert_int_equal(c->n_segments, 1);
    assert_null(c->source);
    assert_ptr_equal(facts_curve(f->facts, "loss"), c);
    assert_null(facts_curve(f->facts, "reward"));
}

static void a_step_that_falls_back_starts_a_segment(void **state)
{
    struct fixture *f = *state;

    begin(f, "/x/run/metrics.jsonl", "metrics_table");
    metric(f, "loss");
    put(f, 0, 1, 3);
    put(f, 0, 2, 2);
    put(f, 0, 2, 2.5);
    put(f, 0, 1, 3);
    put(f, 0, 2, 2);
    end(f);
    const struct curve *c = curve(f, "loss");
    assert_int_equal(c->n, 4);
    assert_int_equal(c->n_segments, 2);
    assert_int_equal(c->segment[1], 0);
    assert_int_equal(c->segment[2], 1);
    assert_int_equal(curve_at_step(c, 1), 2);
    assert_int_equal(curve_at_step(c, 0), -1);
    assert_int_equal(curve_at_step(c, 99), 3);
}

static void the_state_counts_before_table_and_console(void **state)
{
    struct fixture *f = *state;

    begin(f, "/x/console.log", "console_log");
    metric(f, "loss");
    falling(f, 1, 9, 1);
    metric(f, "entropy");
    falling(f, 1, 9, 1);
    end(f);
    begin(f, "/x/run/trainer_state.json", "hf_trainer_state");
    metric(f, "loss");
    falling(f, 1, 9, 1);
    end(f);
    const struct curve *c = curve(f, "loss");
    assert_string_equal(facts_file_name(f->facts, c->source_id), "trainer_state.json");
    c = curve(f, "entropy");
    assert_string_equal(facts_file_name(f->facts, c->source_id), "console.log");
}

static void the_newest_state_counts_and_the_roots_on_ties(void **state)
{
    struct fixture *f = *state;

    begin(f, "/x/run/checkpoint-9/trainer_state.json", "hf_trainer_state");
    global_step(f, "9");
    metric(f, "loss");
    falling(f, 1, 9, 1);
    metric(f, "grad_norm");
    falling(f, 1, 9, 1);
    end(f);
    begin(f, "/x/run/checkpoint-10/trainer_state.json", "hf_trainer_state");
    global_step(f, "10");
    metric(f, "loss");
    falling(f, 1, 10, 1);
    end(f);
    begin(f, "/x/run/trainer_state.json", "hf_trainer_state");
    global_step(f, "10");
    metric(f, "loss");
    falling(f, 1, 10, 1);
    end(f);
    const struct curve *c = curve(f, "loss");
    assert_int_equal(c->n, 10);
    assert_string_equal(facts_source(f->facts, c->source_id)->path, "/x/run/trainer_state.json");
    assert_int_equal(curve(f, "grad_norm")->n, 9);
    assert_int_equal(f->facts->last_step, 10);
}

static void the_console_goes_on_where_the_last_checkpoint_ends(void **state)
{
    struct fixture *f = *state;
    double value;

    begin(f, "/x/run/checkpoint-10/trainer_state.json", "hf_trainer_state");
    metric(f, "loss");
    falling(f, 1, 10, 1);
    end(f);
    begin(f, "/x/console.log", "console_log");
    metric(f, "loss");
    for (int64_t step = 1; step <= 14; step++)
        put(f, 0, step, round(1e4 / (double)step) / 1e4);
    f->seq = 0;
    metric(f, "grad_norm");
    falling(f, 1, 14, 1);
    end(f);
    const struct curve *c = curve(f, "loss");
    assert_int_equal(c->n, 14);
    assert_int_equal(c->step[13], 14);
    assert_non_null(c->source);
    assert_int_equal(curve_source(c, 9), c->source_id);
    assert_string_equal(facts_file_name(f->facts, curve_source(c, 10)), "console.log");
    assert_int_equal(c->n_segments, 1);
    const struct curve *norm = curve(f, "grad_norm");
    assert_true(curve_on_row(norm, c, 13, &value));
    assert_true(value == 1.0 / 14);
    assert_false(curve_on_row(norm, c, 0, &value));
    assert_true(curve_on_row(c, norm, 13, &value));
    assert_false(curve_on_row(c, norm, 2, &value));
}

static void another_runs_console_is_not_appended(void **state)
{
    struct fixture *f = *state;

    begin(f, "/x/run/checkpoint-10/trainer_state.json", "hf_trainer_state");
    metric(f, "loss");
    falling(f, 1, 10, 1);
    end(f);
    begin(f, "/x/console.log", "console_log");
    metric(f, "loss");
    for (int64_t step = 1; step <= 14; step++)
        put(f, 0, step, 2.0 / (double)step);
    end(f);
    assert_int_equal(curve(f, "loss")->n, 10);
}

static void all_eval_losses_are_listed(void **state)
{
    struct fixture *f = *state;
    size_t n;

    begin(f, "/x/run/trainer_state.json", "hf_trainer_state");
    metric(f, "eval_math_loss");
    falling(f, 1, 3, 1);
    metric(f, "eval_loss");
    falling(f, 1, 3, 1);
    metric(f, "eval_accuracy");
    falling(f, 1, 3, 1);
    end(f);
    (void)curve(f, "loss");
    const struct curve *const *list = facts_eval_losses(f->facts, &n);
    assert_int_equal(n, 2);
    assert_string_equal(list[0]->name, "eval_loss");
    assert_string_equal(list[1]->name, "eval_math_loss");
}

static void values_that_are_no_numbers_stay(void **state)
{
    struct fixture *f = *state;

    begin(f, "/x/run/trainer_state.json", "hf_trainer_state");
    metric(f, "loss");
    put(f, 0, 1, NAN);
    put(f, 0, 2, INFINITY);
    put(f, 0, NONE, 1);
    put(f, 0, NONE, 2);
    end(f);
    const struct curve *c = curve(f, "loss");
    assert_int_equal(c->n, 4);
    assert_true(isnan(c->value[0]) && isinf(c->value[1]));
}

static void the_inputs_hash_follows_the_sources(void **state)
{
    struct fixture *f = *state;
    struct error err;

    begin(f, "/x/run/trainer_state.json", "hf_trainer_state");
    end(f);
    (void)curve(f, "loss");
    uint64_t before = f->facts->inputs_hash;
    assert_true(before != 0);
    run_facts_close(f->facts);
    f->facts = NULL;
    (void)curve(f, "loss");
    assert_true(f->facts->inputs_hash == before);
    run_facts_close(f->facts);
    f->facts = NULL;
    assert_int_equal(store_answer_set(f->store, "k", "kind", "dpo", &err), OK);
    (void)curve(f, "loss");
    assert_true(f->facts->inputs_hash != before);
    assert_int_equal(f->facts->run.kind, KIND_DPO);
    assert_int_equal(run_facts_status(f->facts, &err), OK);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_later_row_wins_for_the_same_step),
        CASE(a_step_that_falls_back_starts_a_segment),
        CASE(the_state_counts_before_table_and_console),
        CASE(the_newest_state_counts_and_the_roots_on_ties),
        CASE(the_console_goes_on_where_the_last_checkpoint_ends),
        CASE(another_runs_console_is_not_appended),
        CASE(all_eval_losses_are_listed),
        CASE(values_that_are_no_numbers_stay),
        CASE(the_inputs_hash_follows_the_sources),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
