/* The questions that checks ask of a run, on a run built in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/facts/run_facts.h"

static const struct source SOURCES[] = {
    {.id = 3, .path = "/x/console.log", .importer = "console_log"},
    {.id = 5, .path = "/x/run/adapter_model.safetensors", .importer = "peft_adapter"},
};

static struct run_facts *open_with(const struct facts_memory *memory)
{
    struct run_facts *facts = NULL;
    struct error err;

    assert_int_equal(run_facts_from_memory(&facts, memory, &err), OK);
    return facts;
}

static void events_are_found_by_kind_in_order(void **state)
{
    static const struct event EVENTS[] = {
        {.id = 1, .source_id = 3, .kind = "oom-train", .line = 4},
        {.id = 2,
         .source_id = 3,
         .kind = "exception",
         .line = 5,
         .n_captures = 2,
         .captures = {"ValueError", "no"}},
        {.id = 3, .source_id = 3, .kind = "oom-train", .line = 9},
    };
    const struct facts_memory memory = {.lists = {.events = EVENTS, .n_events = 3}};

    (void)state;
    struct run_facts *facts = open_with(&memory);
    const struct event *first = facts_event(facts, "oom-train", NULL);
    assert_int_equal(first->line, 4);
    const struct event *second = facts_event(facts, "oom-train", first);
    assert_int_equal(second->line, 9);
    assert_null(facts_event(facts, "oom-train", second));
    assert_int_equal(facts_count_events(facts, "oom-train"), 2);
    assert_int_equal(facts_count_events(facts, NULL), 3);
    const struct event *exception = facts_event(facts, "exception", NULL);
    assert_string_equal(event_capture(exception, 2), "no");
    assert_string_equal(event_capture(exception, 3), "");
    assert_string_equal(event_capture(exception, 0), "");
    run_facts_close(facts);
}

static void files_are_named_by_their_last_component(void **state)
{
    const struct facts_memory memory = {.lists = {.sources = SOURCES, .n_sources = 2}};

    (void)state;
    struct run_facts *facts = open_with(&memory);
    assert_string_equal(facts_file_name(facts, 5), "adapter_model.safetensors");
    assert_string_equal(facts_file_name(facts, 0), "");
    assert_string_equal(facts_file_name(facts, 99), "");
    assert_null(facts_source(facts, 4));
    run_facts_close(facts);
}

static void tensors_belong_to_their_artefact(void **state)
{
    static const struct tensor TENSORS[] = {{.name = "a"}, {.name = "b"}};
    static const struct facts_tensor_set SETS[] = {{.artefact_id = 7, .tensors = TENSORS, .n = 2}};
    const struct facts_memory memory = {.tensors = SETS, .n_tensor_sets = 1};
    size_t n;

    (void)state;
    struct run_facts *facts = open_with(&memory);
    const struct artefact seven = {.id = 7}, eight = {.id = 8};
    assert_ptr_equal(facts_tensors(facts, &seven, &n), TENSORS);
    assert_int_equal(n, 2);
    assert_null(facts_tensors(facts, &eight, &n));
    assert_int_equal(n, 0);
    assert_null(facts_tensors(facts, NULL, &n));
    run_facts_close(facts);
}

static void training_rows_are_counted_over_the_training_files(void **state)
{
    static const struct dataset DATASETS[] = {
        {.name = "a", .split = "train", .form = "messages", .n_rows = 100},
        {.name = "b", .split = "train", .form = "messages", .n_rows = 300},
        {.name = "c", .split = "test", .form = "messages", .n_rows = 1000},
        {.name = "lengths", .split = "train", .form = "lengths", .n_rows = 400},
        {.name = "sample", .split = "train", .form = "tokens", .n_rows = 20},
    };
    const struct facts_memory memory = {.lists = {.datasets = DATASETS, .n_datasets = 5}};
    const struct dataset *largest;

    (void)state;
    struct run_facts *facts = open_with(&memory);
    assert_int_equal(facts_train_rows(facts, &largest), 400);
    assert_string_equal(largest->name, "b");
    run_facts_close(facts);
}

static void the_log_counts_the_rows_where_no_file_does(void **state)
{
    static const struct event EVENTS[] = {
        {.kind = "info", .pattern = "num-examples", .n_captures = 1, .captures = {"12,345"}}};
    const struct facts_memory memory = {.lists = {.events = EVENTS, .n_events = 1}};
    const struct facts_memory nothing = {0};

    (void)state;
    struct run_facts *facts = open_with(&memory);
    assert_int_equal(facts_train_rows(facts, NULL), 12345);
    run_facts_close(facts);
    facts = open_with(&nothing);
    assert_int_equal(facts_train_rows(facts, NULL), NONE);
    run_facts_close(facts);
}

static void lengths_come_with_their_dataset(void **state)
{
    static const struct sample LENGTHS[] = {{.n_tokens = 5}, {.n_tokens = 9}};
    static const struct dataset OF = {.name = "lengths"};
    const struct facts_memory memory = {.lengths = LENGTHS, .n_lengths = 2, .lengths_of = &OF};
    const struct dataset *of;
    size_t n;

    (void)state;
    struct run_facts *facts = open_with(&memory);
    assert_ptr_equal(facts_lengths(facts, &n, &of), LENGTHS);
    assert_int_equal(n, 2);
    assert_ptr_equal(of, &OF);
    run_facts_close(facts);
}

static void the_share_of_trained_parameters_tells_an_adapter(void **state)
{
    static const struct {
        const char *share;
        int is;
    } CASES[] = {{"0.2160", 1}, {"100.0", 0}, {"nan", -1}};

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct event event = {.kind = "flat-zero-trainable",
                                    .pattern = "trainable-params",
                                    .n_captures = 3,
                                    .captures = {"1,024", "2,048", CASES[i].share}};
        const struct facts_memory memory = {.lists = {.events = &event, .n_events = 1}};
        struct run_facts *facts = open_with(&memory);

        assert_int_equal(facts_is_adapter_run(facts, NULL), CASES[i].is);
        run_facts_close(facts);
    }
}

static void a_gpu_is_read_from_the_message_of_an_oom(void **state)
{
    static const struct event EVENTS[] = {
        {.kind = "oom-train",
         .pattern = "oom-torch-2-1",
         .n_captures = 8,
         .captures = {"CUDA", "2.00", "GiB", "0", "23.69", "GiB", "1.10", "GiB"}}};
    const struct facts_memory memory = {.lists = {.events = EVENTS, .n_events = 1}};

    (void)state;
    struct run_facts *facts = open_with(&memory);
    assert_true(facts_gpu_bytes(facts, NULL) == 23.69 * (1 << 30));
    run_facts_close(facts);
}

static void points_of_one_row_find_each_other(void **state)
{
    static const double LOSS[] = {3, 2, 1}, NORM[] = {30, 10};
    static const int64_t STEP[] = {1, 2, 3}, SEQ[] = {0, 2, 4}, NORM_STEP[] = {1, 3},
                         NORM_SEQ[] = {0, 4};
    static const int32_t SEGMENT[3] = {0};
    static const struct curve CURVES[] = {
        {.name = "loss",
         .source_id = 3,
         .n = 3,
         .value = LOSS,
         .step = STEP,
         .seq = SEQ,
         .line = STEP,
         .segment = SEGMENT,
         .n_segments = 1},
        {.name = "grad_norm",
         .source_id = 3,
         .n = 2,
         .value = NORM,
         .step = NORM_STEP,
         .seq = NORM_SEQ,
         .line = NORM_STEP,
         .segment = SEGMENT,
         .n_segments = 1},
        {.name = "eval_loss",
         .source_id = 5,
         .n = 2,
         .value = NORM,
         .step = NORM_STEP,
         .seq = NORM_SEQ,
         .line = NORM_STEP,
         .segment = SEGMENT,
         .n_segments = 1},
    };
    const struct facts_memory memory = {.curves = CURVES, .n_curves = 3};
    double value = 0;
    size_t n;

    (void)state;
    struct run_facts *facts = open_with(&memory);
    const struct curve *loss = facts_curve(facts, "loss"), *norm = facts_curve(facts, "grad_norm");
    assert_true(curve_on_row(norm, loss, 2, &value));
    assert_true(value == 10);
    assert_false(curve_on_row(norm, loss, 1, &value));
    assert_false(curve_on_row(facts_curve(facts, "eval_loss"), loss, 2, &value));
    assert_false(curve_on_row(NULL, loss, 0, &value));
    assert_false(curve_on_row(norm, loss, 3, &value));
    assert_ptr_equal(facts_eval_losses(facts, &n)[0], &CURVES[2]);
    assert_int_equal(n, 1);
    run_facts_close(facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_found_by_kind_in_order),
        cmocka_unit_test(files_are_named_by_their_last_component),
        cmocka_unit_test(tensors_belong_to_their_artefact),
        cmocka_unit_test(training_rows_are_counted_over_the_training_files),
        cmocka_unit_test(the_log_counts_the_rows_where_no_file_does),
        cmocka_unit_test(lengths_come_with_their_dataset),
        cmocka_unit_test(the_share_of_trained_parameters_tells_an_adapter),
        cmocka_unit_test(a_gpu_is_read_from_the_message_of_an_oom),
        cmocka_unit_test(points_of_one_row_find_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
