/* Which side a data file is on, by its name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "importers/split_name.h"

static void a_word_of_the_name_decides(void **state)
{
    (void)state;
    assert_string_equal(split_by_name("run/data/train.jsonl"), "train");
    assert_string_equal(split_by_name("run/data/my_test_rows.jsonl"), "test");
    assert_string_equal(split_by_name("run/data/validation-00000.parquet"), "eval");
    assert_string_equal(split_by_name("test.jsonl"), "test");
    assert_string_equal(split_by_name("run/contest.jsonl"), "train");
}

static void the_folder_of_a_split_decides_by_its_whole_name(void **state)
{
    (void)state;
    assert_string_equal(split_by_name("run/test/data-00000-of-00001.arrow"), "test");
    assert_string_equal(split_by_name("run/Validation/rows.jsonl"), "eval");
    assert_string_equal(split_by_name("runs/qwen-test-3/dataset.jsonl"), "train");
    assert_string_equal(split_by_name("/tmp/test_run/data.jsonl"), "train");
}

static void the_file_stands_before_the_folder(void **state)
{
    (void)state;
    assert_string_equal(split_by_name("run/test/train.jsonl"), "train");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_of_the_name_decides),
        cmocka_unit_test(the_folder_of_a_split_decides_by_its_whole_name),
        cmocka_unit_test(the_file_stands_before_the_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
