/* trainer_state.json, the result files and trainer_log.jsonl. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "importers/registry.h"
#include "tests/harness/tempdir.h"

static char *folder;
static struct buf dump;

static int set_up(void **state)
{
    (void)state;
    folder = tempdir_make();
    buf_init(&dump, (size_t)16 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_free(&dump);
    tempdir_remove(folder);
    return 0;
}

static void read_as(const struct importer *importer, const char *name, const char *text)
{
    struct error err = {0};
    struct sink *sink;
    tempdir_write_text(folder, name, text);
    const char *path = tempdir_path(folder, name);
    const struct run run = {.key = "k", .folder = folder, .name = "n", .project = folder};
    const struct source source = {.path = path, .importer = importer->id, .importer_version = 1};
    buf_clear(&dump);
    assert_int_equal(sink_open_text(&sink, &dump, &err), OK);
    assert_int_equal(sink_begin(sink, &run, &source, &err), OK);
    struct import import = {.path = path, .run = &run, .sink = sink};
    import.arena = arena_open(ARENA_BATCH_BYTES);
    assert_non_null(import.arena);
    assert_int_equal(importer->run(&import, &err), OK);
    assert_int_equal(sink_end(sink, import.read_to, import.state, &err), OK);
    sink_close(sink);
    arena_close(import.arena);
}

static void read_state(const char *text)
{
    read_as(&importer_hf_trainer_state, "trainer_state.json", text);
}

static void has(const char *needle)
{
    if (strstr(dump.p, needle) == NULL) {
        fail_msg("missing %s in\n%s", needle, dump.p);
    }
}

static void has_not(const char *needle)
{
    if (strstr(dump.p, needle) != NULL) {
        fail_msg("unexpected %s in\n%s", needle, dump.p);
    }
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
    has("setting\ttrain\tstate.global_step\tstate.global_step\tint\t4\tline 5");
    has("setting\ttrain\tstate.max_steps\tstate.max_steps\tint\t4");
    has("setting\ttrain\tmax_steps\tmax_steps\tint\t4");
    has("setting\ttrain\tstate.best_model_checkpoint\tstate.best_model_checkpoint\ttext\t"
        "out/checkpoint-2");
    has("setting\ttrain\tstate.should_training_stop\tstate.should_training_stop\tbool\ttrue");
    has("state.EarlyStoppingCallback.early_stopping_patience");
    has_not("state.best_metric");
}

static void every_number_of_a_row_is_a_point(void **state)
{
    (void)state;
    read_state(whole);
    has("point\tloss\tseq 0\tsegment 0\tstep 2\t1.5\tline 7");
    has("point\tgrad_norm\tseq 0\tsegment 0\tstep 2\tnan");
    has("point\teval_loss\tseq 1\tsegment 0\tstep 2\t0.75");
    has("point\trewards/format\tseq 2\tsegment 0\tstep 4\t1.0");
    has("point\tcompletion_length\tseq 3\tsegment 0\tstep -\t12.5");
    has("series\tcompletion_length\tcompletions/mean_length");
    has("point\ttrain_loss\tseq 4\tsegment 0\tstep 4\t1.25");
    has_not("point\tstep");
    has("end\twhole");
}

static void a_step_that_goes_back_begins_a_segment(void **state)
{
    (void)state;
    read_state("{\"log_history\": [{\"loss\": 1, \"step\": 10}, {\"loss\": 2, \"step\": 5},\n"
               "{\"loss\": 3, \"step\": 10}]}");
    has("point\tloss\tseq 1\tsegment 1\tstep 5");
    has("point\tloss\tseq 2\tsegment 1\tstep 10");
}

static void of_a_cut_file_the_readable_part_is_kept(void **state)
{
    (void)state;
    char text[sizeof whole];
    size_t n = (size_t)(strstr(whole, "\"eval_loss\": \"0.75\"") - whole) + 12;
    memcpy(text, whole, n);
    text[n] = '\0';
    read_state(text);
    has("point\tloss\tseq 0");
    has("state.global_step");
    has("note\terror\tline 14");
    has("1 rows of log_history were read");
    has("end\tdamaged");
}

static void any_prefix_is_read_without_a_failure(void **state)
{
    (void)state;
    char text[sizeof whole];
    for (size_t n = 0; n < sizeof whole - 3; n += 3) {
        memcpy(text, whole, n);
        text[n] = '\0';
        read_state(text);
        has("end\tdamaged");
    }
}

static void a_pointer_is_named(void **state)
{
    (void)state;
    read_state("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n");
    has("Git LFS pointer");
    has("end\tdamaged");
}

static void strange_rows_are_noted(void **state)
{
    (void)state;
    read_state("{\"log_history\": [1, [2], {\"loss\": 1, \"step\": 1}]}");
    has("2 elements of log_history are no objects");
    has("point\tloss\tseq 0\tsegment 0\tstep 1");
}

static void results_become_settings_of_the_evaluation(void **state)
{
    (void)state;
    read_as(&importer_hf_results, "eval_results.json",
            "{\n    \"epoch\": 3.0,\n    \"eval_loss\": NaN\n}\n");
    has("setting\teval\tresults.eval_results.epoch\t");
    has("\tresults.eval_results.eval_loss\tresults.eval_results.eval_loss\tfloat\tNaN\t");
    has_not("point");
}

static void the_log_of_llama_factory_has_a_plan(void **state)
{
    (void)state;
    read_as(&importer_trainer_log, "trainer_log.jsonl",
            "{\"current_steps\": 10, \"total_steps\": 570, \"loss\": 1.5234, \"lr\": 1.7e-05, "
            "\"epoch\": 0.05, \"elapsed_time\": \"0:00:40\"}\n"
            "{\"current_steps\": 20, \"total_steps\": 570, \"eval_loss\": 1.41}\n"
            "{\"current_steps\": 10, \"total_steps\": 570, \"loss\": 1.6}\n"
            "{\"current_steps\": 20, \"tot");
    has("point\tloss\tseq 0\tsegment 0\tstep 10\t1.5234\tline 1");
    has("series\tlr\tlearning_rate");
    has("point\tloss\tseq 2\tsegment 1\tstep 10\t1.6\tline 3");
    has("setting\ttrain\ttotal_steps\tmax_steps\tint\t570");
    has("note\tinfo\tline 4");
    has_not("elapsed_time");
}

static int probe(const struct importer *importer, const char *name, const char *text)
{
    struct peek peek = {.path = name, .name = name, .folder_name = "", .head = str_of(text)};
    peek.size = (int64_t)peek.head.n;
    return importer->probe(&peek);
}

static void files_are_known_by_name_or_content(void **state)
{
    (void)state;
    assert_true(probe(&importer_hf_trainer_state, "trainer_state.json", whole) > 90);
    assert_true(probe(&importer_hf_trainer_state, "copy.json", whole) > 80);
    assert_int_equal(probe(&importer_hf_trainer_state, "config.json", "{\"a\": 1}"), 0);
    assert_true(probe(&importer_hf_results, "all_results.json", "{\n \"epoch\": 1\n}") > 90);
    assert_int_equal(probe(&importer_hf_results, "other.json", "{}"), 0);
    assert_true(probe(&importer_trainer_log, "trainer_log.jsonl", "{\"loss\": 1}\n") > 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fields_become_settings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_number_of_a_row_is_a_point, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_step_that_goes_back_begins_a_segment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_a_cut_file_the_readable_part_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_prefix_is_read_without_a_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pointer_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(strange_rows_are_noted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(results_become_settings_of_the_evaluation, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_log_of_llama_factory_has_a_plan, set_up, tear_down),
        cmocka_unit_test(files_are_known_by_name_or_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
