/* trainer_state.json, the result files and trainer_log.jsonl. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "importers/registry.h"
#include "tests/harness/dumped.h"

static void read_state(const char *text)
{
    dumped_read_text(&importer_hf_trainer_state, "trainer_state.json", text);
}

static const char whole[] =
    "{\n  \"best_metric\": null,\n  \"best_model_checkpoint\": \"out/checkpoint-2\",\n"
    "  \"epoch\": 0.5,\n  \"global_step\": 4,\n  \"log_history\": [\n"
    "    {\n      \"epoch\": 0.25,\n      \"grad_norm\": NaN,\n      \"loss\": 1.5,\n"
    "      \"step\": 2\n    },\n"
    "    {\n      \"eval_loss\": \"0.75\",\n      \"step\": 2\n    },\n"
    "    {\n      \"rewards\": {\"format\": 1.0},\n      \"step\": 4\n    },\n"
    "    {\n      \"completion_length\": 12.5\n    },\n"
    "    {\n      \"train_loss\": 1.25,\n      \"train_runtime\": 8.0,\n      \"step\": 4\n    }\n"
    "  ],\n  \"logging_steps\": 2,\n  \"max_steps\": 4,\n  \"stateful_callbacks\": {\n"
    "    \"EarlyStoppingCallback\": {\"args\": {\"early_stopping_patience\": 3}},\n"
    "    \"TrainerControl\": {\"args\": {\"should_training_stop\": true}, \"attributes\": {}}\n"
    "  },\n  \"trial_name\": null\n}\n";

static void fields_become_settings(void **state)
{
    (void)state;
    read_state(whole);
    dumped_has("setting\ttrain\tstate.global_step\tstate.global_step\tint\t4\tline 5");
    dumped_has("setting\ttrain\tstate.max_steps\tstate.max_steps\tint\t4");
    dumped_has("setting\ttrain\tmax_steps\tmax_steps\tint\t4");
    dumped_has("setting\ttrain\tstate.best_model_checkpoint\tstate.best_model_checkpoint\ttext\t"
        "out/checkpoint-2");
    dumped_has("setting\ttrain\tstate.should_training_stop\tstate.should_training_stop\t"
               "bool\ttrue");
    dumped_has("state.EarlyStoppingCallback.early_stopping_patience");
    dumped_has_not("state.best_metric");
}

static void every_number_of_a_row_is_a_point(void **state)
{
    (void)state;
    read_state(whole);
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 2\t1.5\tline 7");
    dumped_has("point\tgrad_norm\tseq 0\tsegment 0\tstep 2\tnan");
    dumped_has("point\teval_loss\tseq 1\tsegment 0\tstep 2\t0.75");
    dumped_has("point\trewards/format\tseq 2\tsegment 0\tstep 4\t1.0");
    dumped_has("point\tcompletion_length\tseq 3\tsegment 0\tstep -\t12.5");
    dumped_has("series\tcompletion_length\tcompletions/mean_length");
    dumped_has("point\ttrain_loss\tseq 4\tsegment 0\tstep 4\t1.25");
    dumped_has_not("point\tstep");
    dumped_has("end\twhole");
}

static void a_step_that_goes_back_begins_a_segment(void **state)
{
    (void)state;
    read_state("{\"log_history\": [{\"loss\": 1, \"step\": 10}, {\"loss\": 2, \"step\": 5},\n"
               "{\"loss\": 3, \"step\": 10}]}");
    dumped_has("point\tloss\tseq 1\tsegment 1\tstep 5");
    dumped_has("point\tloss\tseq 2\tsegment 1\tstep 10");
}

static void of_a_cut_file_the_readable_part_is_kept(void **state)
{
    (void)state;
    char text[sizeof whole];
    size_t n = (size_t)(strstr(whole, "\"eval_loss\": \"0.75\"") - whole) + 12;
    memcpy(text, whole, n);
    text[n] = '\0';
    read_state(text);
    dumped_has("point\tloss\tseq 0");
    dumped_has("state.global_step");
    dumped_has("note\terror\tline 14");
    dumped_has("1 rows of log_history were read");
    dumped_has("end\tdamaged");
}

static void any_prefix_is_read_without_a_failure(void **state)
{
    (void)state;
    char text[sizeof whole];
    for (size_t n = 0; n < sizeof whole - 3; n += 3) {
        memcpy(text, whole, n);
        text[n] = '\0';
        read_state(text);
        dumped_has("end\tdamaged");
    }
}

static void a_pointer_is_named(void **state)
{
    (void)state;
    read_state("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n");
    dumped_has("Git LFS pointer");
    dumped_has("end\tdamaged");
}

static void strange_rows_are_noted(void **state)
{
    (void)state;
    read_state("{\"log_history\": [1, [2], {\"loss\": 1, \"step\": 1}]}");
    dumped_has("2 elements of log_history are no objects");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 1");
}

static void results_become_settings_of_the_evaluation(void **state)
{
    (void)state;
    dumped_read_text(&importer_hf_results, "eval_results.json",
            "{\n    \"epoch\": 3.0,\n    \"eval_loss\": NaN\n}\n");
    dumped_has("setting\teval\tresults.eval_results.epoch\t");
    dumped_has("\tresults.eval_results.eval_loss\tresults.eval_results.eval_loss\tfloat\tNaN\t");
    dumped_has_not("point");
}

static void the_log_of_llama_factory_has_a_plan(void **state)
{
    (void)state;
    dumped_read_text(&importer_trainer_log, "trainer_log.jsonl",
            "{\"current_steps\": 10, \"total_steps\": 570, \"loss\": 1.5234, \"lr\": 1.7e-05, "
            "\"epoch\": 0.05, \"elapsed_time\": \"0:00:40\"}\n"
            "{\"current_steps\": 20, \"total_steps\": 570, \"eval_loss\": 1.41}\n"
            "{\"current_steps\": 10, \"total_steps\": 570, \"loss\": 1.6}\n"
            "{\"current_steps\": 20, \"tot");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 10\t1.5234\tline 1");
    dumped_has("series\tlr\tlearning_rate");
    dumped_has("point\tloss\tseq 2\tsegment 1\tstep 10\t1.6\tline 3");
    dumped_has("setting\ttrain\ttotal_steps\tmax_steps\tint\t570");
    dumped_has("note\tinfo\tline 4");
    dumped_has_not("elapsed_time");
}

static void a_value_of_megabytes_is_left_out_and_told(void **state)
{
    struct buf text;

    (void)state;
    buf_init(&text, (size_t)4 << 20);
    buf_puts(&text, "{\"eval_loss\": 1.5,\n\"samples\": \"");
    buf_repeat(&text, 'x', (2 << 20));
    buf_puts(&text, "\"}\n");
    dumped_read(&importer_hf_results, "all_results.json", text.p, text.n);
    buf_free(&text);
    dumped_has("results.all_results.eval_loss");
    dumped_has("note\tinfo\tline 2\tbyte -\tresults.all_results.samples: a value longer than");
    dumped_has_not("xxxx");
}

static void files_are_known_by_name_or_content(void **state)
{
    (void)state;
    assert_true(dumped_probe(&importer_hf_trainer_state, "trainer_state.json", whole) > 90);
    assert_true(dumped_probe(&importer_hf_trainer_state, "copy.json", whole) > 80);
    assert_int_equal(dumped_probe(&importer_hf_trainer_state, "config.json", "{\"a\": 1}"), 0);
    assert_true(dumped_probe(&importer_hf_results, "all_results.json", "{\n \"epoch\": 1\n}") > 90);
    assert_int_equal(dumped_probe(&importer_hf_results, "other.json", "{}"), 0);
    assert_true(dumped_probe(&importer_trainer_log, "trainer_log.jsonl", "{\"loss\": 1}\n") > 90);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, dumped_set_up, dumped_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fields_become_settings),
        TEST(every_number_of_a_row_is_a_point),
        TEST(a_step_that_goes_back_begins_a_segment),
        TEST(of_a_cut_file_the_readable_part_is_kept),
        TEST(any_prefix_is_read_without_a_failure),
        TEST(a_pointer_is_named),
        TEST(strange_rows_are_noted),
        TEST(results_become_settings_of_the_evaluation),
        TEST(the_log_of_llama_factory_has_a_plan),
        TEST(a_value_of_megabytes_is_left_out_and_told),
        cmocka_unit_test(files_are_known_by_name_or_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
