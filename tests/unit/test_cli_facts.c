/* `flatline facts` from the command line: which files, which splits, what is said. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/flatline_run.h"
#include "tests/harness/tempdir.h"

struct fixture {
    char *folder;
    struct flatline_run run;
    char head[4096];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = tempdir_make();
    tempdir_write_text(f->folder, "d/train-00001-of-00002.jsonl", "{\"text\":\"second\"}\n");
    tempdir_write_text(f->folder, "d/train-00000-of-00002.jsonl", "{\"text\":\"first\"}\n");
    tempdir_write_text(f->folder, "d/validation.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n"
                                                       "{\"text\":\"c\"}\n{\"text\":\"d\"}\nbroken\n");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    flatline_run_free(&f->run);
    tempdir_remove(f->folder);
    free(f);
    return 0;
}

/* "@" stands for the folder, also inside of a word. */
static void run(struct fixture *f, const char *words)
{
    char all[4096];
    size_t n = 0;

    for (const char *p = words; *p && n + 1 < sizeof all; p++)
        n += (size_t)(*p == '@' ? snprintf(all + n, sizeof all - n, "%s", f->folder)
                                : snprintf(all + n, sizeof all - n, "%c", *p));
    flatline_run(f->folder, NULL, all, NULL, NULL, &f->run);
    flatline_run_is_sound(&f->run, words);
}

static const char *head_of(struct fixture *f, const char *name)
{
    FILE *file = fopen(tempdir_path(f->folder, name), "rb");

    assert_non_null(file);
    f->head[fread(f->head, 1, sizeof f->head - 1, file)] = '\0';
    fclose(file);
    return f->head;
}

static void a_folder_gives_its_data_by_split_and_name(void **state)
{
    struct fixture *f = *state;

    run(f, "facts @/d -o @/out");
    assert_int_equal(f->run.status, 0);
    assert_non_null(strstr(f->run.out, "7 rows of 2 splits, 1 not readable"));
    assert_non_null(strstr(head_of(f, "out/facts.json"),
                           "[{\"name\": \"train\", \"rows\": 2, \"files\": [\"train-00000-of-00002.jsonl\", "
                           "\"train-00001-of-00002.jsonl\"]}, {\"name\": \"eval\", \"rows\": 5, "));
}

static void a_split_can_be_said_and_training_comes_first(void **state)
{
    struct fixture *f = *state;

    run(f, "facts @/d/validation.jsonl @/d/train-00000-of-00002.jsonl -o @/out "
           "--set split:validation.jsonl=bench");
    assert_int_equal(f->run.status, 0);
    assert_non_null(strstr(head_of(f, "out/facts.json"),
                           "[{\"name\": \"train\", \"rows\": 1, "
                           "\"files\": [\"train-00000-of-00002.jsonl\"]}, "
                           "{\"name\": \"bench\", \"rows\": 5, "));
}

static void data_without_training_rows_is_told(void **state)
{
    struct fixture *f = *state;

    run(f, "facts @/d/validation.jsonl -o @/out");
    assert_int_equal(f->run.status, 0);
    assert_non_null(strstr(f->run.err, "no training rows"));
}

static void what_is_left_out_of_a_folder_is_told(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, "d/notes.bin", "nothing");
    run(f, "facts @/d -o @/out");
    assert_int_equal(f->run.status, 0);
    assert_non_null(strstr(f->run.err, "notes.bin: left out"));
}

static void bad_use_is_refused_with_a_reason(void **state)
{
    static const struct {
        const char *words, *said;
    } CASES[] = {
        {"facts -o @/out", "needs data files and -o DIR"},
        {"facts @/d", "needs data files and -o DIR"},
        {"facts @/none.jsonl -o @/out", "no such file or folder"},
        {"facts @/d -o @/d", "holds other files"},
        {"facts @/d -o @/no/such/place", "cannot be made"},
        {"facts @/d -o @/out --tokenizer @/none.json", "none.json"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        run(f, CASES[i].words);
        assert_int_equal(f->run.status, 2);
        assert_non_null(strstr(f->run.err, CASES[i].said));
        flatline_run_free(&f->run);
        f->run = (struct flatline_run){0};
        assert_int_not_equal(access(tempdir_path(f->folder, "out"), F_OK), 0);
    }
}

static void the_help_names_it(void **state)
{
    struct fixture *f = *state;

    run(f, "facts --help");
    assert_int_equal(f->run.status, 0);
    assert_non_null(strstr(f->run.out, "--tokenizer"));
    assert_non_null(strstr(f->run.out, "JSON lines"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_folder_gives_its_data_by_split_and_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_split_can_be_said_and_training_comes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(data_without_training_rows_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_left_out_of_a_folder_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_use_is_refused_with_a_reason, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_help_names_it, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
