/* Numbers from text and back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/random.h"

#define N_DRAWS 300000

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void assert_parses(const char *text, double expected)
{
    double value = 12345;

    if (!number_parse(str_of(text), &value))
        fail_msg("%s does not parse", text);
    if (!same_bits(value, expected))
        fail_msg("%s gives %a, expected %a", text, value, expected);
}

static void decimal_texts_are_read(void **state)
{
    (void)state;
    assert_parses("0", 0.0);
    assert_parses("-0", -0.0);
    assert_parses("-0.0", -0.0);
    assert_parses("+1.5", 1.5);
    assert_parses(".5", 0.5);
    assert_parses("5.", 5.0);
    assert_parses("007", 7.0);
    assert_parses("1e-05", 1e-05);
    assert_parses("2E+3", 2000.0);
    assert_parses("0.8123456789012345", 0.8123456789012345);
    assert_parses("0.30000000000000004", 0.30000000000000004);
    assert_parses("12345678", 12345678.0);
    assert_parses("123456789012345678", 123456789012345678.0);
}

static void overflow_is_infinite_and_underflow_is_zero(void **state)
{
    (void)state;
    assert_parses("1e999", INFINITY);
    assert_parses("-1e999", -INFINITY);
    assert_parses("1e99999999999999999999", INFINITY);
    assert_parses("1e-99999999999999999999", 0.0);
    assert_parses("0e99999999999999999999", 0.0);
    assert_parses("5e-324", 5e-324);
    assert_parses("2.4703282292062327e-324", 0.0);
    assert_parses("2.4703282292062328e-324", 5e-324);
    assert_parses("1.7976931348623157e308", 1.7976931348623157e308);
}

static void midpoints_go_to_even_and_a_digit_behind_them_decides(void **state)
{
    (void)state;
    assert_parses("9007199254740993", 9007199254740992.0);
    assert_parses("9007199254740995", 9007199254740996.0);
    assert_parses("9007199254740993.0000000000000000000000000000000000001", 9007199254740994.0);
    assert_parses("9007199254740992.9999999999999999999999999999999999999", 9007199254740992.0);
    assert_parses("1.00000000000000011102230246251565404236316680908203125", 1.0);
    assert_parses("1.00000000000000011102230246251565404236316680908203126", 1.0000000000000002);
}

static void digits_far_behind_a_midpoint_still_decide(void **state)
{
    char text[3001];

    (void)state;
    memset(text, '0', 3000);
    memcpy(text, "9007199254740993.", 17);
    text[3000] = '\0';
    assert_parses(text, 9007199254740992.0);
    text[2999] = '1';
    assert_parses(text, 9007199254740994.0);
}

static void long_runs_of_zeros_count(void **state)
{
    char text[2100];
    size_t n = (size_t)snprintf(text, sizeof text, "0.%02000de2001", 7);

    (void)state;
    assert_int_equal(n, 2007);
    assert_parses(text, 70.0);
    n = (size_t)snprintf(text, sizeof text, "1%0299d", 0);
    assert_int_equal(n, 300);
    assert_parses(text, 1e299);
}

static void what_is_no_number_is_refused(void **state)
{
    static const char *const bad[] = {"",    " 1",   "1 ",  "+",   "-",   ".",   "e5",  "1e",
                                      "1e+", "0x10", "1,5", "1_0", "nan", "inf", "--1", "1.2.3"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double value = 7;

        assert_false(number_parse(str_of(bad[i]), &value));
        assert_true(value == 7);
    }
}

static void loggers_words_are_numbers_where_asked_for(void **state)
{
    double value;

    (void)state;
    assert_true(number_parse_any(str_of("NaN"), &value) && isnan(value));
    assert_true(number_parse_any(str_of("nan.0"), &value) && isnan(value));
    assert_true(number_parse_any(str_of("-inf"), &value) && value == -INFINITY);
    assert_true(number_parse_any(str_of("+Infinity"), &value) && value == INFINITY);
    assert_true(number_parse_any(str_of("5.072"), &value) && value == 5.072);
    assert_false(number_parse_any(str_of("nano"), &value));
    assert_false(number_parse_any(str_of(""), &value));
}

static void prefix_takes_the_longest_number(void **state)
{
    static const struct {
        const char *text;
        size_t n;
    } cases[] = {{"1.5GiB", 3}, {"12e", 2}, {"12e+x", 2}, {"-3,4", 2}, {"abc", 0}, {"1e5e5", 3}};
    double value;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(number_prefix(str_of(cases[i].text), &value), cases[i].n);
}

static void json_grammar_is_strict(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        bool is_integer;
    } cases[] = {{"01", 1, true},   {"1.", 1, true},   {"1.e5", 1, true}, {"1e", 1, true},
                 {"-0", 2, true},   {"+1", 0, false},  {".5", 0, false},  {"-", 0, false},
                 {"-.5", 0, false}, {"1.0", 3, false}, {"1e5", 3, false}, {"10", 2, true}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *p = cases[i].text;
        double value;
        bool is_integer = false;

        assert_int_equal(number_prefix_json(p, p + strlen(p), &value, &is_integer), cases[i].n);
        assert_int_equal(is_integer, cases[i].is_integer);
    }
}

static void text_ends_where_its_length_says(void **state)
{
    double value;

    (void)state;
    assert_true(number_parse(str_from("1234567890123", 5), &value));
    assert_true(value == 12345);
}

static void integers_are_exact_or_refused(void **state)
{
    int64_t value;

    (void)state;
    assert_true(number_parse_int(str_of("9223372036854775807"), &value) && value == INT64_MAX);
    assert_true(number_parse_int(str_of("-9223372036854775808"), &value) && value == INT64_MIN);
    assert_false(number_parse_int(str_of("9223372036854775808"), &value));
    assert_false(number_parse_int(str_of("-9223372036854775809"), &value));
    assert_false(number_parse_int(str_of("99999999999999999999"), &value));
    assert_false(number_parse_int(str_of("1.0"), &value));
    assert_false(number_parse_int(str_of(""), &value));
    assert_false(number_parse_int(str_of("-"), &value));
}

/* ---- against the C library, on drawn texts ---- */

static void assert_as_strtod(const char *text)
{
    double value = 0, expected = strtod(text, NULL);

    if (!number_parse(str_of(text), &value) || !same_bits(value, expected))
        fail_msg("%s gives %a, strtod %a", text, value, expected);

    /* Within a row, with much behind it and with little. */
    char row[1024];
    bool is_integer;
    int n = snprintf(row, sizeof row, "%s, \"a key\": 12345678}", text);
    size_t length = strlen(text);

    assert_in_range(n, 1, sizeof row - 1);
    for (int i = 0; i < 2; i++) {
        size_t used = number_prefix_json(row, row + (i ? (size_t)n : length), &value, &is_integer);

        if (used != length || memcmp(&value, &expected, sizeof value) != 0)
            fail_msg("%s gives %a of %zu bytes, strtod %a", text, value, used, expected);
        assert_int_equal(is_integer, strpbrk(text, ".eEnN") == NULL);
    }
}

static void drawn_doubles_are_read_as_strtod_reads_them(void **state)
{
    struct random random;
    char text[64];

    (void)state;
    random_seed(&random, 20260115);
    for (int i = 0; i < N_DRAWS; i++) {
        uint64_t bits = random_u64(&random);
        double value;

        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        snprintf(text, sizeof text, "%.17g", value);
        assert_as_strtod(text);
        snprintf(text, sizeof text, "%.*g", 15 + i % 3, random_unit(&random));
        assert_as_strtod(text);
    }
}

static void drawn_digits_and_midpoints_are_read_as_strtod_reads_them(void **state)
{
    struct random random;
    char text[64];

    (void)state;
    random_seed(&random, 4711);
    for (int i = 0; i < N_DRAWS; i++) {
        uint64_t digits = random_u64(&random) >> random_below(&random, 64);
        uint64_t odd = (random_u64(&random) >> 11) * 2 + 1;

        snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits,
                 (int)random_below(&random, 70) - 35);
        assert_as_strtod(text);
        snprintf(text, sizeof text, "%llu%s", (unsigned long long)odd, i % 2 ? ".5" : "");
        assert_as_strtod(text);
    }
}

/* ---- printing ---- */

static void repr_is_as_python_writes_it(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {2e-05, "2e-05"},
        {0.0001, "0.0001"},
        {123456.0, "123456.0"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {9999999999999998.0, "9999999999999998.0"},
        {1.5e300, "1.5e+300"},
        {-1.25, "-1.25"},
        {0.30000000000000004, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {5e-324, "5e-324"},
        {1e-310, "1e-310"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {0x1p-44, "5.684341886080802e-14"},
        {1e22, "1e+22"},
        {1e23, "1e+23"},
        {100.0, "100.0"},
        {NAN, "nan"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {-1.7976931348623157e-300, "-1.7976931348623157e-300"},
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        number_repr(text, cases[i].value);
        assert_string_equal(text, cases[i].text);
    }
}

static void repr_comes_back_as_the_same_double(void **state)
{
    struct random random;
    char text[32];

    (void)state;
    random_seed(&random, 99);
    for (int i = 0; i < 50000; i++) {
        uint64_t bits = random_u64(&random);
        double value, back;

        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        number_repr(text, value);
        assert_true(number_parse(str_of(text), &back));
        assert_true(same_bits(back, value));
    }
}

static void short_form_is_for_people(void **state)
{
    static const struct {
        double value;
        int digits;
        const char *text;
    } cases[] = {
        {1240, 3, "1240"},
        {0.0512, 3, "0.0512"},
        {2e-4, 3, "2e-04"},
        {NAN, 3, "NaN"},
        {INFINITY, 3, "+Inf"},
        {-INFINITY, 3, "-Inf"},
        {0, 3, "0"},
        {-0.0, 3, "0"},
        {1.0, 3, "1"},
        {2.50, 3, "2.5"},
        {-3.14159, 3, "-3.14"},
        {0.0999999, 3, "0.1"},
        {185000, 3, "185000"},
        {1.2e18, 3, "1.2e+18"},
        {0.001, 3, "0.001"},
        {99.96, 3, "100"},
        {9.87654e-7, 2, "9.9e-07"},
        {10000000, 3, "1e+07"},
        {0.99999, 4, "1"},
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        number_short(text, cases[i].value, cases[i].digits);
        assert_string_equal(text, cases[i].text);
    }
}

static void sizes_have_three_digits_and_a_unit(void **state)
{
    static const struct {
        double bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {512, "512 B"},
        {1023, "1023 B"},
        {1024, "1.00 KiB"},
        {1536, "1.50 KiB"},
        {23.7 * 0x1p30, "23.7 GiB"},
        {80 * 0x1p30, "80.0 GiB"},
        {1000 * 0x1p20, "1000 MiB"},
        {1023.9 * 0x1p20, "1.00 GiB"},
        {-0x1p30, "-1.00 GiB"},
        {NAN, "NaN"},
        {0x1p60, "1.00 EiB"},
        {9.999 * 0x1p10, "10.0 KiB"},
        {1e300, "8.67e+281 EiB"},
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        number_bytes(text, cases[i].bytes);
        assert_string_equal(text, cases[i].text);
    }
}

static void sizes_are_read_as_tools_write_them(void **state)
{
    static const struct {
        const char *amount, *unit;
        double bytes;
    } cases[] = {
        {"23.70", "GiB", 23.70 * 0x1p30},
        {"24G", "", 24 * 0x1p30},
        {"22957108kB", "", 22957108 * 1024.0},
        {"1,024", "MB", 0x1p30},
        {"512", "bytes", 512},
        {"512", "", 512},
        {"2", "t", 0x1p41},
        {" 7 MiB ", "", 7 * 0x1p20},
        {"0", "B", 0},
    };
    double bytes;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(number_parse_bytes(str_of(cases[i].amount), str_of(cases[i].unit), &bytes));
        assert_true(bytes == cases[i].bytes);
    }
    assert_false(number_parse_bytes(str_of("x"), str_of("GiB"), &bytes));
    assert_false(number_parse_bytes(str_of("1"), str_of("QiB"), &bytes));
    assert_false(number_parse_bytes(str_of("1G"), str_of("B"), &bytes));
    assert_false(number_parse_bytes(str_of("-1"), str_of("B"), &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimal_texts_are_read),
        cmocka_unit_test(overflow_is_infinite_and_underflow_is_zero),
        cmocka_unit_test(midpoints_go_to_even_and_a_digit_behind_them_decides),
        cmocka_unit_test(digits_far_behind_a_midpoint_still_decide),
        cmocka_unit_test(long_runs_of_zeros_count),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(loggers_words_are_numbers_where_asked_for),
        cmocka_unit_test(prefix_takes_the_longest_number),
        cmocka_unit_test(json_grammar_is_strict),
        cmocka_unit_test(text_ends_where_its_length_says),
        cmocka_unit_test(integers_are_exact_or_refused),
        cmocka_unit_test(drawn_doubles_are_read_as_strtod_reads_them),
        cmocka_unit_test(drawn_digits_and_midpoints_are_read_as_strtod_reads_them),
        cmocka_unit_test(repr_is_as_python_writes_it),
        cmocka_unit_test(repr_comes_back_as_the_same_double),
        cmocka_unit_test(short_form_is_for_people),
        cmocka_unit_test(sizes_have_three_digits_and_a_unit),
        cmocka_unit_test(sizes_are_read_as_tools_write_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
