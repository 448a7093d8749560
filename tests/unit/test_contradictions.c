/* The files of repeated inputs: what stands in them, and what is said when there are none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/exports/contradictions.h"
#include "core/facts/data_facts.h"
#include "core/read/json.h"
#include "tests/harness/tempdir.h"

static char *folder;
static struct arena *arena;

static int setup(void **state)
{
    (void)state;
    folder = tempdir_make();
    arena = arena_open((size_t)64 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_close(arena);
    tempdir_remove(folder);
    return 0;
}

static int make(const char *rows, const char *name, struct error *err)
{
    const char *path = tempdir_path(folder, "train.jsonl");
    struct data_file file = {.path = arena_strdup(arena, path), .n_rows = NONE};
    struct data_facts data;
    struct facts_memory memory = {.data = rows ? &data : NULL};
    struct run_facts *facts;
    struct buf said;
    struct made_folder made = {.path = arena_printf(arena, "%s/%s", folder, name), .said = &said};

    tempdir_write_text(folder, "train.jsonl", rows ? rows : "");
    assert_int_equal(data_facts_make(&file, 1, NULL, arena, &data, err), OK);
    assert_int_equal(run_facts_from_memory(&facts, &memory, err), OK);
    buf_init(&said, 4096);
    int rc = make_contradictions(facts, &made, err);
    buf_free(&said);
    run_facts_close(facts);
    return rc;
}

static const char *read_back(const char *name)
{
    static char text[65536];
    FILE *file = fopen(tempdir_path(folder, name), "rb");

    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static const char ROWS[] = "{\"prompt\": \"Is it red?\", \"completion\": \"yes\"}\n"
                           "{\"prompt\": \"Is it red?\", \"completion\": \"no\"}\n"
                           "{\"prompt\": \"Is it red?\", \"completion\": \"no\"}\n"
                           "{\"prompt\": \"# a\\u001b[31m\", \"completion\": \"b\"}\n"
                           "{\"prompt\": \"# a\\u001b[31m\", \"completion\": \"b\"}\n";

static void test_groups_stand_with_rows_counts_and_the_difference(void **state)
{
    struct error err;

    (void)state;
    if (make(ROWS, "out", &err) != OK)
        fail_msg("%s", err.message);
    const char *text = read_back("out/groups.md");
    assert_non_null(strstr(text, "2 inputs stand in several of the 5 rows; 1 of them"));
    assert_non_null(strstr(text, "0.8000"));
    assert_non_null(strstr(text, "    Is it red?\n"));
    assert_non_null(strstr(text, "Target of 2 rows (train.jsonl rows 1, 2):\n\n    no\n"));
    assert_non_null(strstr(text, "First difference: \"no\" against \"yes\"."));
    assert_non_null(strstr(text, "    # a<0x1B>[31m"));
    assert_null(strchr(text, '\x1b'));
    assert_true(strstr(text, "Is it red?") < strstr(text, "# a"));
}

static void test_lines_are_json_with_all_rows(void **state)
{
    const struct json *tree;
    struct error err;

    (void)state;
    assert_int_equal(make(ROWS, "lines", &err), OK);
    struct str rest = str_of(read_back("lines/groups.jsonl")), line;
    assert_true(str_split(&rest, '\n', &line));
    assert_int_equal(json_parse(line, false, arena, &tree, NULL, &err), OK);
    assert_int_equal(json_get(tree, "n")->number, 3);
    const struct json *target = json_get(tree, "targets")->child;
    assert_true(str_is(json_get(target, "text")->text, "no"));
    assert_int_equal(json_get(target, "count")->number, 2);
    assert_int_equal(json_get(target, "rows")->child->next->number, 2);
}

static void test_nothing_that_repeats_is_an_error_with_a_reason(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(make("{\"prompt\": \"p\", \"completion\": \"c\"}\n", "none", &err), E_NOTFOUND);
    assert_non_null(strstr(err.message, "no input stands in two"));
    assert_int_equal(make(NULL, "none", &err), E_NOTFOUND);
    assert_non_null(strstr(err.message, "import them"));
}

static void test_what_exists_is_not_overwritten(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(make(ROWS, "twice", &err), OK);
    assert_int_equal(make(ROWS, "twice", &err), E_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_stand_with_rows_counts_and_the_difference),
        cmocka_unit_test(test_lines_are_json_with_all_rows),
        cmocka_unit_test(test_nothing_that_repeats_is_an_error_with_a_reason),
        cmocka_unit_test(test_what_exists_is_not_overwritten),
    };

    return cmocka_run_group_tests_name("contradictions", tests, setup, teardown);
}
