/* From paths to runs (FORMATS.md B0): roots, files, splits, roles, names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "importers/folder.h"
#include "tests/harness/tempdir.h"

struct fixture {
    char *folder;
    struct arena *arena;
    struct plan plan;
    struct answer answers[4];
    struct plan_options options;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = tempdir_make();
    f->arena = arena_open((size_t)64 << 20);
    f->options.answers = f->answers;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    tempdir_remove(f->folder);
    arena_close(f->arena);
    free(f);
    return 0;
}

/* A trainer state with n rows that nothing else repeats. */
static void write_state(struct fixture *f, const char *name, int n, double first)
{
    char text[8192];
    int at = snprintf(text, sizeof text,
                      "{\"global_step\": %d, \"max_steps\": %d, "
                      "\"log_history\": [",
                      n, n);

    for (int i = 1; i <= n; i++)
        at +=
            snprintf(text + at, sizeof text - (size_t)at,
                     "%s{\"loss\": %.4f, \"learning_rate\": 0.001, \"epoch\": %.2f, \"step\": %d}",
                     i > 1 ? ", " : "", first / i, i / 10.0, i);
    snprintf(text + at, sizeof text - (size_t)at, "]}\n");
    tempdir_write_text(f->folder, name, text);
}

static void write_console(struct fixture *f, const char *name, int n, double first)
{
    char text[8192];
    int at = 0;

    for (int i = 1; i <= n; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "{'loss': %.4g, 'learning_rate': 0.001, 'epoch': %.2f}\n", first / i,
                       i / 10.0);
    tempdir_write_text(f->folder, name, text);
}

static void write_rows(struct fixture *f, const char *name)
{
    tempdir_write_text(f->folder, name,
                       "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}, "
                       "{\"role\": \"assistant\", \"content\": \"Hello\"}]}\n"
                       "{\"messages\": [{\"role\": \"user\", \"content\": \"Bye\"}, "
                       "{\"role\": \"assistant\", \"content\": \"See you\"}]}\n");
}

static void plan(struct fixture *f)
{
    const char *path = f->folder;
    struct error err;

    assert_int_equal(plan_make(&path, 1, &f->options, f->arena, &f->plan, &err), OK);
}

static const struct plan_file *file_in(const struct plan_run *run, const char *shown)
{
    for (size_t i = 0; i < run->n_files; i++)
        if (strcmp(run->files[i].shown, shown) == 0)
            return &run->files[i];
    return NULL;
}

static const struct plan_run *run_at(struct fixture *f, const char *below)
{
    for (size_t i = 0; i < f->plan.n_runs; i++) {
        const char *folder = f->plan.runs[i].run.folder;
        size_t n = strlen(folder), m = strlen(below);

        if (n >= m && strcmp(folder + n - m, below) == 0)
            return &f->plan.runs[i];
    }
    return NULL;
}

static const char *ignored(struct fixture *f, const char *shown)
{
    for (size_t i = 0; i < f->plan.n_ignored; i++)
        if (strcmp(f->plan.ignored[i].shown, shown) == 0)
            return f->plan.ignored[i].reason;
    return NULL;
}

static void one_root_takes_everything_under_the_argument(void **state)
{
    struct fixture *f = *state;

    write_state(f, "run/trainer_state.json", 8, 3);
    write_state(f, "run/checkpoint-4/trainer_state.json", 4, 3);
    write_console(f, "console.log", 8, 3);
    write_rows(f, "data/train.jsonl");
    write_rows(f, "data/test.jsonl");
    tempdir_write_text(f->folder, "run/checkpoint-4/optimizer.pt", "x");
    plan(f);
    assert_int_equal(f->plan.n_runs, 1);
    const struct plan_run *run = &f->plan.runs[0];
    assert_non_null(run_at(f, "/run"));
    assert_non_null(file_in(run, "console.log"));
    assert_non_null(file_in(run, "run/checkpoint-4/trainer_state.json"));
    assert_string_equal(file_in(run, "data/train.jsonl")->role, "train");
    assert_string_equal(file_in(run, "data/test.jsonl")->role, "test");
    assert_string_equal(file_in(run, "run")->importer->id, "checkpoints");
    assert_non_null(ignored(f, "run/checkpoint-4/optimizer.pt"));
    assert_false(f->plan.nothing_readable);
    /* "run" says nothing: the folder around it is part of the name. */
    const char *name = strrchr(run->run.name, '/');
    assert_non_null(name);
    assert_string_equal(name, "/run");
}

static void several_roots_are_a_project(void **state)
{
    struct fixture *f = *state;

    write_state(f, "a/trainer_state.json", 8, 3);
    write_state(f, "b/trainer_state.json", 8, 5);
    write_console(f, "second.log", 8, 5);
    write_rows(f, "data/train.jsonl");
    plan(f);
    assert_int_equal(f->plan.n_runs, 2);
    assert_string_equal(f->plan.runs[0].run.name, "a");
    assert_string_equal(f->plan.runs[1].run.name, "b");
    assert_string_not_equal(f->plan.runs[0].run.key, f->plan.runs[1].run.key);
    assert_string_equal(f->plan.runs[0].run.project, f->plan.runs[1].run.project);
    /* The log repeats the rows of b; the data belong to both. */
    assert_null(file_in(&f->plan.runs[0], "second.log"));
    assert_non_null(file_in(&f->plan.runs[1], "second.log"));
    assert_non_null(file_in(&f->plan.runs[0], "data/train.jsonl"));
    assert_non_null(file_in(&f->plan.runs[1], "data/train.jsonl"));
}

static void a_data_set_belongs_to_the_run_whose_settings_name_it(void **state)
{
    struct fixture *f = *state;

    write_state(f, "a/trainer_state.json", 8, 3);
    write_state(f, "b/trainer_state.json", 8, 5);
    tempdir_write_text(f->folder, "b/train_config.json",
                       "{\"learning_rate\": 0.001, \"num_train_epochs\": 3, "
                       "\"dataset\": \"data/letters.jsonl\"}");
    write_rows(f, "data/letters.jsonl");
    plan(f);
    assert_null(file_in(&f->plan.runs[0], "data/letters.jsonl"));
    assert_non_null(file_in(&f->plan.runs[1], "data/letters.jsonl"));
}

static void rows_that_no_run_names_stand_for_themselves(void **state)
{
    struct fixture *f = *state;

    write_state(f, "a/trainer_state.json", 8, 3);
    write_state(f, "b/trainer_state.json", 8, 5);
    write_rows(f, "letters/part/rows.jsonl");
    plan(f);
    assert_int_equal(f->plan.n_runs, 3);
    assert_non_null(run_at(f, "/letters"));
    assert_int_equal(f->plan.runs[0].n_files, 1);
    assert_int_equal(f->plan.runs[1].n_files, 1);
}

static void a_log_of_another_training_is_a_run_of_its_own(void **state)
{
    struct fixture *f = *state;

    write_state(f, "a/trainer_state.json", 8, 3);
    write_state(f, "b/trainer_state.json", 8, 5);
    write_console(f, "third.log", 8, 7);
    plan(f);
    assert_int_equal(f->plan.n_runs, 3);
    assert_null(file_in(&f->plan.runs[0], "third.log"));
    assert_null(file_in(&f->plan.runs[1], "third.log"));
    assert_non_null(file_in(&f->plan.runs[2], "third.log"));
}

static void a_table_beside_the_root_that_repeats_it_is_the_same_run(void **state)
{
    struct fixture *f = *state;
    char text[2048];
    int at = 0;

    write_state(f, "run/trainer_state.json", 8, 3);
    for (int i = 1; i <= 8; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "{\"step\": %d, \"loss\": %.4f, \"lr\": 0.001}\n", i, 3.0 / i);
    tempdir_write_text(f->folder, "metrics.jsonl", text);
    plan(f);
    assert_int_equal(f->plan.n_runs, 1);
    assert_non_null(run_at(f, "/run"));
    assert_non_null(file_in(&f->plan.runs[0], "metrics.jsonl"));
}

static void arguments_beside_a_copy_of_the_model_are_no_run(void **state)
{
    struct fixture *f = *state;

    write_state(f, "out/trainer_state.json", 8, 3);
    tempdir_write_text(f->folder, "out/final/training_args.json", "{\"learning_rate\": 0.001}");
    plan(f);
    assert_int_equal(f->plan.n_runs, 1);
    assert_non_null(file_in(&f->plan.runs[0], "out/final/training_args.json"));
}

static void logs_without_a_root_are_runs(void **state)
{
    struct fixture *f = *state;

    write_console(f, "first.log", 8, 3);
    write_console(f, "second.log", 8, 5);
    write_rows(f, "train.jsonl");
    plan(f);
    assert_int_equal(f->plan.n_runs, 2);
    assert_non_null(file_in(&f->plan.runs[0], "first.log"));
    assert_null(file_in(&f->plan.runs[0], "second.log"));
    assert_non_null(file_in(&f->plan.runs[1], "train.jsonl"));
    assert_string_not_equal(f->plan.runs[0].run.name, f->plan.runs[1].run.name);
}

static void both_streams_of_one_job_are_one_run(void **state)
{
    struct fixture *f = *state;

    write_console(f, "job.out", 8, 3);
    tempdir_write_text(f->folder, "job.err",
                       "  0%|          | 0/8 [00:00<?, ?it/s]\n"
                       "***** Running training *****\n"
                       "Traceback (most recent call last):\n"
                       "ValueError: no\n");
    plan(f);
    assert_int_equal(f->plan.n_runs, 1);
    assert_int_equal(f->plan.runs[0].n_files, 2);
}

static void files_without_training_are_one_run(void **state)
{
    struct fixture *f = *state;

    write_rows(f, "train.jsonl");
    write_rows(f, "validation.jsonl");
    plan(f);
    assert_int_equal(f->plan.n_runs, 1);
    assert_string_equal(file_in(&f->plan.runs[0], "validation.jsonl")->role, "eval");
}

static void the_user_says_split_and_importer(void **state)
{
    struct fixture *f = *state;

    write_rows(f, "train.jsonl");
    f->answers[0] = (struct answer){"split:train.jsonl", "test"};
    f->options.n_answers = 1;
    plan(f);
    assert_string_equal(file_in(&f->plan.runs[0], "train.jsonl")->role, "test");
    f->answers[1] = (struct answer){"importer:train.jsonl", "console_log"};
    f->options.n_answers = 2;
    plan(f);
    assert_string_equal(file_in(&f->plan.runs[0], "train.jsonl")->importer->id, "console_log");
}

static void artefacts_get_the_role_of_their_place(void **state)
{
    struct fixture *f = *state;
    static const char CONFIG[] = "{\"architectures\": [\"Qwen2ForCausalLM\"], "
                                 "\"model_type\": \"qwen2\", \"vocab_size\": 645}";

    write_state(f, "run/trainer_state.json", 8, 3);
    tempdir_write_text(f->folder, "run/config.json", CONFIG);
    tempdir_write_text(f->folder, "base/config.json", CONFIG);
    tempdir_write_text(f->folder, "merged/config.json", CONFIG);
    tempdir_write_text(f->folder, "serve/config.json", CONFIG);
    plan(f);
    const struct plan_run *run = &f->plan.runs[0];
    assert_string_equal(file_in(run, "run/config.json")->role, "trained");
    assert_string_equal(file_in(run, "base/config.json")->role, "base");
    assert_string_equal(file_in(run, "merged/config.json")->role, "merged");
    assert_string_equal(file_in(run, "serve/config.json")->role, "served");
}

static void pointers_and_empty_files_are_listed_and_the_run_stays(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(
        f->folder, "run/trainer_state.json",
        "version https://git-lfs.github.com/spec/v1\n"
        "oid sha256:5dbdbdd2ce1b0ee6cb5dcf1c9b4b1e2cf4f6e1b7e2a0c1f6b9c4f5a0e1d2c3b4\n"
        "size 14027\n");
    tempdir_write_text(f->folder, "run/training_args.bin", "");
    plan(f);
    assert_non_null(ignored(f, "run/trainer_state.json"));
    assert_non_null(ignored(f, "run/training_args.bin"));
    assert_int_equal(f->plan.n_runs, 1);
    assert_int_equal(f->plan.runs[0].n_files, 1);
    assert_string_equal(f->plan.runs[0].files[0].importer->id, "checkpoints");
}

static void nothing_readable_is_said(void **state)
{
    struct fixture *f = *state;
    const char *paths[] = {tempdir_path(f->folder, "none")};
    struct error err;

    assert_int_equal(plan_make(paths, 1, NULL, f->arena, &f->plan, &err), OK);
    assert_true(f->plan.nothing_readable);
    assert_int_equal(f->plan.n_ignored, 1);
}

static void keys_stay_the_same_when_the_argument_changes(void **state)
{
    struct fixture *f = *state;
    struct error err;

    write_state(f, "a/run/trainer_state.json", 8, 3);
    plan(f);
    const char *key = f->plan.runs[0].run.key;
    const char *paths[] = {tempdir_path(f->folder, "a/run")};
    struct plan other;
    assert_int_equal(plan_make(paths, 1, NULL, f->arena, &other, &err), OK);
    assert_string_equal(other.runs[0].run.key, key);
    assert_string_equal(other.runs[0].run.name, "a/run");
    paths[0] = tempdir_path(f->folder, "a/run/trainer_state.json");
    assert_int_equal(plan_make(paths, 1, NULL, f->arena, &other, &err), OK);
    assert_string_equal(other.runs[0].run.key, key);
}

static void versions_that_share_a_folder_are_runs_of_their_own(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, "lightning_logs/version_0/metrics.csv",
                       "epoch,step,train_loss\n0,1,2.5\n0,2,2.25\n0,3,2.125\n");
    tempdir_write_text(f->folder, "lightning_logs/version_1/metrics.csv",
                       "epoch,step,train_loss\n0,1,1.5\n0,2,1.25\n0,3,1.125\n");
    plan(f);
    assert_int_equal(f->plan.n_runs, 2);
    assert_string_not_equal(f->plan.runs[0].run.key, f->plan.runs[1].run.key);
    assert_int_equal(f->plan.runs[0].n_files, 1);
    assert_int_equal(f->plan.runs[1].n_files, 1);
}

static void plan_paths(struct fixture *f, const char *const *names, size_t n)
{
    const char *paths[4];
    struct error err;

    for (size_t i = 0; i < n; i++) {
        char *path = arena_array(f->arena, 4096, 1);

        snprintf(path, 4096, "%s/%s", f->folder, names[i]);
        paths[i] = path;
    }
    assert_int_equal(plan_make(paths, n, &f->options, f->arena, &f->plan, &err), OK);
}

static void files_named_beside_the_only_run_are_its_own(void **state)
{
    struct fixture *f = *state;

    write_state(f, "out/trainer_state.json", 5, 2.0);
    write_rows(f, "elsewhere/train.jsonl");
    write_rows(f, "elsewhere/test.jsonl");
    plan_paths(f, (const char *const[]){"elsewhere/train.jsonl", "out", "elsewhere/test.jsonl"}, 3);
    assert_int_equal(f->plan.n_runs, 1);
    assert_int_equal(f->plan.runs[0].n_files, 3);
    for (size_t i = 1; i < 3; i++)
        assert_string_equal(f->plan.runs[0].files[i].shown, f->plan.runs[0].files[i].path);
}

static void a_folder_of_facts_beside_the_only_run_is_its_own(void **state)
{
    struct fixture *f = *state;

    write_state(f, "out/trainer_state.json", 5, 2.0);
    tempdir_write_text(f->folder, "facts/facts.json",
                       "{\"format\": \"flatline-facts/1\", \"splits\": []}\n");
    plan_paths(f, (const char *const[]){"out", "facts"}, 2);
    assert_int_equal(f->plan.n_runs, 1);
    assert_int_equal(f->plan.runs[0].n_files, 2);
}

static void what_is_named_beside_several_runs_stands_alone(void **state)
{
    struct fixture *f = *state;

    write_state(f, "a/trainer_state.json", 5, 2.0);
    write_state(f, "b/trainer_state.json", 5, 3.0);
    write_rows(f, "train.jsonl");
    plan_paths(f, (const char *const[]){"a", "b", "train.jsonl"}, 3);
    assert_int_equal(f->plan.n_runs, 3);
}

static void a_run_named_beside_a_run_stays_one(void **state)
{
    struct fixture *f = *state;

    write_state(f, "a/trainer_state.json", 5, 2.0);
    write_console(f, "other.log", 20, 3.0);
    write_rows(f, "c/train.jsonl");
    plan_paths(f, (const char *const[]){"a", "other.log", "c"}, 3);
    assert_int_equal(f->plan.n_runs, 3);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(files_named_beside_the_only_run_are_its_own),
        CASE(a_folder_of_facts_beside_the_only_run_is_its_own),
        CASE(what_is_named_beside_several_runs_stands_alone),
        CASE(a_run_named_beside_a_run_stays_one),
        CASE(one_root_takes_everything_under_the_argument),
        CASE(several_roots_are_a_project),
        CASE(a_data_set_belongs_to_the_run_whose_settings_name_it),
        CASE(rows_that_no_run_names_stand_for_themselves),
        CASE(a_log_of_another_training_is_a_run_of_its_own),
        CASE(a_table_beside_the_root_that_repeats_it_is_the_same_run),
        CASE(arguments_beside_a_copy_of_the_model_are_no_run),
        CASE(logs_without_a_root_are_runs),
        CASE(both_streams_of_one_job_are_one_run),
        CASE(files_without_training_are_one_run),
        CASE(the_user_says_split_and_importer),
        CASE(artefacts_get_the_role_of_their_place),
        CASE(pointers_and_empty_files_are_listed_and_the_run_stays),
        CASE(nothing_readable_is_said),
        CASE(keys_stay_the_same_when_the_argument_changes),
        CASE(versions_that_share_a_folder_are_runs_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
