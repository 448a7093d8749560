/* What stands for a result of an item, and items whose name stands more than once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "importers/outputs/item_results.h"

static double value_of(const char *text)
{
    struct arena *arena = arena_open((size_t)1 << 20);
    const struct json *value = NULL;
    struct error err;

    assert_non_null(arena);
    assert_int_equal(json_parse(str_of(text), false, arena, &value, NULL, &err), OK);
    double number = result_value(value);
    if (result_is_missing(value))
        number = -99.0;
    arena_close(arena);
    return number;
}

static void numbers_truth_values_and_texts_of_them_are_results(void **state)
{
    (void)state;
    assert_true(value_of("0.25") == 0.25);
    assert_true(value_of("\" 0.25 \"") == 0.25);
    assert_true(value_of("true") == 1.0);
    assert_true(value_of("\"False\"") == 0.0);
    assert_true(value_of("\"C\"") == 1.0);
    assert_true(value_of("\"P\"") == 0.5);
    assert_true(value_of("\"I\"") == 0.0);
    assert_true(isnan(value_of("\"perhaps\"")));
    assert_true(isnan(value_of("[1]")));
    assert_true(isnan(value_of("{\"value\": 1}")));
}

static void what_says_that_there_is_none_is_told_from_what_is_wrong(void **state)
{
    static const char *const NONE_OF_THEM[] = {"null", "NaN", "Infinity", "\"nan\"", "\"N/A\"", "\"\""};

    (void)state;
    for (size_t i = 0; i < sizeof NONE_OF_THEM / sizeof *NONE_OF_THEM; i++)
        assert_true(value_of(NONE_OF_THEM[i]) == -99.0);
}

static void measures_are_known_by_their_names(void **state)
{
    (void)state;
    assert_true(result_counts("acc_norm") && result_counts("exact_match") && result_counts("pass@1"));
    assert_false(result_counts("f1") || result_counts("bleu"));
    assert_true(result_less_is_better("word_perplexity") && result_less_is_better("brier_score"));
    assert_true(result_less_is_better("wer"));
    assert_false(result_less_is_better("answer") || result_less_is_better("acc"));
}

struct put {
    struct sink *sink;
    struct item_names *names;
};

static void open_put(struct put *put)
{
    const struct run run = {.key = "r", .folder = "/r", .name = "r"};
    const struct source source = {
        .path = "/r/eval_results.jsonl", .importer = "eval_results", .role = "evals"};
    struct error err;

    assert_int_equal(sink_open_null(&put->sink, &err), OK);
    assert_int_equal(sink_begin(put->sink, &run, &source, &err), OK);
    put->names = item_names_open();
    assert_non_null(put->names);
}

static void close_put(struct put *put)
{
    item_names_close(put->names);
    sink_close(put->sink);
}

static void repeats_are_counted_suite_by_suite(void **state)
{
    const struct eval_item one = {.item = "q1", .score = 1.0}, none = {.item = "q2", .score = NAN};
    struct put put;
    struct error err;

    (void)state;
    open_put(&put);
    assert_int_equal(item_names_put(put.names, put.sink, 1, &one, &err), OK);
    assert_int_equal(item_names_put(put.names, put.sink, 2, &one, &err), OK);
    assert_int_equal(item_names_repeats(put.names), 0);
    assert_int_equal(item_names_put(put.names, put.sink, 1, &one, &err), OK);
    assert_int_equal(item_names_put(put.names, put.sink, 1, &none, &err), OK);
    assert_int_equal(item_names_repeats(put.names), 1);
    assert_int_equal(item_names_missing(put.names), 1);
    close_put(&put);
}

static void a_file_without_an_end_is_read_up_to_a_limit(void **state)
{
    struct put put;
    struct error err = {0};
    char name[24];
    int rc = OK;
    int64_t n = 0;

    (void)state;
    open_put(&put);
    while (n < 2 * (int64_t)MAX_RESULT_ITEMS && rc != E_LIMIT) {
        snprintf(name, sizeof name, "q%lld", (long long)n++);
        const struct eval_item item = {.item = name, .score = 1.0};
        rc = item_names_put(put.names, put.sink, 1, &item, &err);
    }
    assert_int_equal(n, MAX_RESULT_ITEMS + 1);
    assert_non_null(strstr(err.message, "the rest is not read"));
    assert_int_equal(item_names_repeats(put.names), 0);
    close_put(&put);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_truth_values_and_texts_of_them_are_results),
        cmocka_unit_test(what_says_that_there_is_none_is_told_from_what_is_wrong),
        cmocka_unit_test(measures_are_known_by_their_names),
        cmocka_unit_test(repeats_are_counted_suite_by_suite),
        cmocka_unit_test(a_file_without_an_end_is_read_up_to_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
