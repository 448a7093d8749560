/* `make longest-first`: the files, their order, and what stops it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/exports/longest_first.h"
#include "core/read/json.h"
#include "tests/harness/fake_run.h"
#include "tests/harness/tempdir.h"

#define ROWS "{\"r\": 0}\n{\"r\": 1, \"text\": \"\xc3\xa4\\n\"}\n\n{\"r\": 2}\n{\"r\":3}"

struct fixture {
    struct fake_run *run;
    char *folder, *out;
    int64_t rows;               /* source of the training file, 0 none; its data set is the first */
    struct buf said, text;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f)
        return -1;
    f->run = fake_run_new(KIND_SFT);
    f->folder = tempdir_make();
    f->out = strdup(tempdir_path(f->folder, "out"));
    buf_init(&f->said, 1u << 16);
    buf_init(&f->text, 1u << 20);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    fake_run_free(f->run);
    tempdir_remove(f->folder);
    free(f->out);
    buf_free(&f->said);
    buf_free(&f->text);
    free(f);
    return 0;
}

/* The training file with these bytes becomes the run's training rows. */
static void put_rows(struct fixture *f, const char *name, const char *rows, int64_t n_rows)
{
    f->rows = fake_source(f->run, tempdir_path(f->folder, name), "dataset_rows");
    tempdir_write_text(f->folder, name, rows);
    fake_dataset(f->run, "train", "text", n_rows);
}

static void put_lengths(struct fixture *f)
{
    const int32_t tokens[] = {10, 40, 30, 40};

    fake_lengths(f->run, tokens, 4);
}

static int make(struct fixture *f, bool force, struct error *err)
{
    const struct run_facts *facts = fake_facts(f->run);

    buf_clear(&f->said);
    /* the harness lays every data set into the log */
    if (f->rows)
        ((struct dataset *)(uintptr_t)facts->datasets)[0].source_id = f->rows;
    const struct made_folder folder = {.path = f->out, .force = force, .said = &f->said};

    return make_longest_first(facts, &folder, err);
}

static void make_well(struct fixture *f)
{
    struct error err;

    if (make(f, false, &err) != OK)
        fail_msg("%s: %s", err.path, err.message);
}

static const char *file_text(struct fixture *f, const char *name)
{
    char piece[4096];
    char path[4096];
    size_t n;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", f->out, name);
    file = fopen(path, "rb");
    buf_clear(&f->text);
    if (!file)
        return NULL;
    while ((n = fread(piece, 1, sizeof piece, file)) > 0)
        buf_add(&f->text, piece, n);
    fclose(file);
    return f->text.p;
}

static void rows_are_ordered_by_length_and_equal_ones_by_place(void **state)
{
    struct fixture *f = *state;

    put_rows(f, "train.jsonl", ROWS, 4);
    put_lengths(f);
    make_well(f);
    assert_string_equal(file_text(f, "order.csv"),
                        "position,row,tokens\n0,1,40\n1,3,40\n2,2,30\n3,0,10\n");
}

/* micro batch 1, one process: the three longest rows, then the others in file order. */
static void the_longest_rows_come_first_byte_for_byte(void **state)
{
    struct fixture *f = *state;

    put_rows(f, "train.jsonl", ROWS, 4);
    put_lengths(f);
    make_well(f);
    assert_string_equal(file_text(f, "train.jsonl"),
                        "{\"r\": 1, \"text\": \"\xc3\xa4\\n\"}\n{\"r\":3}\n{\"r\": 2}\n{\"r\": 0}\n");
    assert_non_null(strstr(f->said.p, "order.csv"));
    assert_non_null(strstr(f->said.p, "the 3 longest rows first"));
}

static void three_batches_of_every_process_come_first(void **state)
{
    struct fixture *f = *state;

    fake_setting(f->run, "per_device_train_batch_size", "8");
    fake_setting(f->run, "world_size", "2");
    put_rows(f, "train.jsonl", ROWS, 4);
    put_lengths(f);
    make_well(f);                       /* 48 rows are more than there are */
    assert_string_equal(file_text(f, "train.jsonl"),
                        "{\"r\": 1, \"text\": \"\xc3\xa4\\n\"}\n{\"r\":3}\n{\"r\": 2}\n{\"r\": 0}\n");
}

static void the_config_has_the_runs_settings_with_the_few_changes(void **state)
{
    struct fixture *f = *state;
    const struct json *config;

    fake_setting(f->run, "learning_rate", "0.0002");
    fake_setting(f->run, "max_steps", "5000");
    fake_setting(f->run, "eval_strategy", "steps");
    fake_setting(f->run, "output_dir", "out \"q\"");
    fake_setting(f->run, "bf16", "true");
    fake_setting_on(f->run, SIDE_SERVE, "temperature", "0.7");
    put_lengths(f);
    make_well(f);
    file_text(f, "config.json");
    assert_int_equal(json_parse(buf_view(&f->text), false, fake_arena(f->run), &config, NULL, NULL),
                     OK);
    assert_int_equal(json_get(config, "max_steps")->number, 3);
    assert_true(str_is(json_get(config, "eval_strategy")->text, "no"));
    assert_true(str_is(json_get(config, "train_sampling_strategy")->text, "sequential"));
    assert_true(str_is(json_get(config, "learning_rate")->text, "0.0002"));
    assert_true(str_is(json_get(config, "output_dir")->text, "out \"q\""));
    assert_true(json_is(json_get(config, "bf16"), JSON_TRUE));
    assert_null(json_get(config, "temperature"));
}

static void the_readme_names_the_longest_row(void **state)
{
    struct fixture *f = *state;

    put_lengths(f);
    make_well(f);
    assert_non_null(strstr(file_text(f, "README.md"), "The longest row has 40 tokens."));
}

static void without_the_training_file_the_order_is_written_and_that_is_said(void **state)
{
    struct fixture *f = *state;

    put_lengths(f);
    make_well(f);
    assert_non_null(file_text(f, "order.csv"));
    assert_null(file_text(f, "train.jsonl"));
    assert_non_null(strstr(f->said.p, "no train.jsonl"));
}

static void without_lengths_it_says_what_to_import(void **state)
{
    struct fixture *f = *state;
    struct error err;

    put_rows(f, "train.jsonl", ROWS, 4);
    assert_int_equal(make(f, false, &err), E_NOTFOUND);
    assert_non_null(strstr(err.message, "lengths.csv"));
    assert_null(file_text(f, "order.csv"));
}

static void an_existing_file_is_kept_unless_forced(void **state)
{
    struct fixture *f = *state;
    struct error err;

    put_lengths(f);
    tempdir_write_text(f->folder, "out/order.csv", "mine\n");
    assert_int_equal(make(f, false, &err), E_IO);
    assert_non_null(strstr(err.path, "order.csv"));
    assert_string_equal(file_text(f, "order.csv"), "mine\n");
    assert_int_equal(make(f, true, &err), OK);
    assert_non_null(strstr(file_text(f, "order.csv"), "position"));
}

static void lengths_of_another_file_are_refused(void **state)
{
    struct fixture *f = *state;
    struct error err;

    put_rows(f, "train.jsonl", "{\"r\": 0}\n{\"r\": 1}\n", 2);
    put_lengths(f);
    assert_int_equal(make(f, false, &err), E_PARSE);
    assert_non_null(strstr(err.message, "2 rows here, but 4 lengths"));
    assert_non_null(strstr(err.path, "train.jsonl"));
    assert_null(file_text(f, "train.jsonl"));
}

static void a_training_file_that_is_gone_is_told(void **state)
{
    struct fixture *f = *state;
    struct error err;

    put_rows(f, "train.jsonl", ROWS, 4);
    put_lengths(f);
    assert_int_equal(remove(tempdir_path(f->folder, "train.jsonl")), 0);
    assert_int_not_equal(make(f, false, &err), OK);
    assert_non_null(strstr(err.path, "train.jsonl"));
}

static void a_folder_that_cannot_be_made_is_told(void **state)
{
    struct fixture *f = *state;
    struct error err;

    put_lengths(f);
    tempdir_write_text(f->folder, "out", "a file");
    assert_int_equal(make(f, false, &err), E_IO);
    assert_non_null(strstr(err.path, "out"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(rows_are_ordered_by_length_and_equal_ones_by_place),
        TEST(the_longest_rows_come_first_byte_for_byte),
        TEST(three_batches_of_every_process_come_first),
        TEST(the_config_has_the_runs_settings_with_the_few_changes),
        TEST(the_readme_names_the_longest_row),
        TEST(without_the_training_file_the_order_is_written_and_that_is_said),
        TEST(without_lengths_it_says_what_to_import),
        TEST(an_existing_file_is_kept_unless_forced),
        TEST(lengths_of_another_file_are_refused),
        TEST(a_training_file_that_is_gone_is_told),
        TEST(a_folder_that_cannot_be_made_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
