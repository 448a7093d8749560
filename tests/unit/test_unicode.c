/* UTF-8 steps, and making hostile text harmless. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/unicode.h"

static void every_code_point_comes_back(void **state)
{
    (void)state;
    for (int32_t codepoint = 0; codepoint <= 0x110000; codepoint++) {
        char bytes[4];
        int32_t back;
        size_t n = unicode_put(bytes, codepoint);
        bool is_scalar = codepoint <= 0x10FFFF && (codepoint < 0xD800 || codepoint > 0xDFFF);

        assert_int_equal(n > 0, is_scalar);
        if (!n)
            continue;
        assert_int_equal(unicode_next(str_from(bytes, n), &back), n);
        assert_int_equal(back, codepoint);
        if (n > 1) { /* cut short it is invalid, one byte at a time */
            assert_int_equal(unicode_next(str_from(bytes, n - 1), &back), 1);
            assert_int_equal(back, -1);
        }
    }
}

static void wrong_bytes_are_invalid_one_at_a_time(void **state)
{
    static const char *const bad[] = {
        "\x80",
        "\xBF",
        "\xC0\x80",
        "\xC1\xBF",
        "\xE0\x80\x80",
        "\xE0\x9F\xBF",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFF",
        "\xC3(",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int32_t codepoint;

        assert_int_equal(unicode_next(str_of(bad[i]), &codepoint), 1);
        assert_int_equal(codepoint, -1);
        assert_false(unicode_is_valid(str_of(bad[i])));
    }
    assert_false(unicode_is_valid(str_of("twelve bytes \xFF")));
    assert_true(
        unicode_is_valid(str_of("na\xC3\xAFve \xE4\xB8\xAD \xF0\x9F\x98\x80 and some ascii")));
    assert_true(unicode_is_valid(str_of("")));
}

static void code_points_are_counted_with_invalid_bytes(void **state)
{
    (void)state;
    assert_int_equal(unicode_count(str_of("")), 0);
    assert_int_equal(unicode_count(str_of("abcdefghij")), 10);
    assert_int_equal(unicode_count(str_of("a\xC3\xA4\xE4\xB8\xAD\xFF\xFE")), 5);
}

static void what_hides_or_steers_is_hostile(void **state)
{
    static const int32_t hostile[] = {0,      7,      0x1B,   0x7F,   0x85,    0x9B,
                                      0xAD,   0x200B, 0x200D, 0x200E, 0x2028,  0x2029,
                                      0x202E, 0x2066, 0x2069, 0xFEFF, 0xE0041, -1};
    static const int32_t harmless[] = {' ', '~', 'A', 0xA0, 0xE4, 0x4E2D, 0x1F600, 0xFFFD, 0x301};

    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++)
        assert_true(unicode_is_hostile(hostile[i]));
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        assert_false(unicode_is_hostile(harmless[i]));
}

static void assert_visible(struct str text, bool keep_newlines, const char *expected)
{
    struct buf out;

    buf_init(&out, 1000);
    unicode_visible(&out, text, keep_newlines);
    assert_string_equal(out.p, expected);
    buf_free(&out);
}

static void hostile_text_becomes_marks(void **state)
{
    (void)state;
    assert_visible(str_of("\x1B[31mred"), false, "<0x1B>[31mred");
    assert_visible(str_of("a\xE2\x80\xAEz"), false, "a<U+202E>z");
    assert_visible(str_of("a\xC2\x9Bz"), false, "a<U+009B>z");
    assert_visible(str_of("\xFF\xC3"), false, "<0xFF><0xC3>");
    assert_visible(str_of("a\tb\nc\r"), false, "a b\\nc<0x0D>");
    assert_visible(str_of("a\tb\nc"), true, "a\tb\nc");
    assert_visible(str_from("a\0b", 3), false, "a<0x00>b");
    assert_visible(str_of("\xE4\xB8\xAD"), false, "\xE4\xB8\xAD");
    assert_visible(str_of(""), false, "");
}

static void invalid_bytes_are_replaced_and_nothing_else(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    unicode_valid(&out, str_of("a\x1B\xFF\xE4\xB8\xAD\xE4\xB8"));
    assert_string_equal(out.p, "a\x1B\xEF\xBF\xBD\xE4\xB8\xAD\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_true(unicode_is_valid(buf_view(&out)));
    buf_free(&out);
}

static void a_cut_never_splits_a_code_point(void **state)
{
    struct str text = str_of("a\xC3\xA4\xE4\xB8\xAD\xF0\x9F\x98\x80"
                             "b");
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};

    (void)state;
    for (size_t n = 0; n < sizeof expected / sizeof expected[0]; n++)
        assert_int_equal(unicode_cut(text, n).n, expected[n]);
    assert_int_equal(unicode_cut(str_of("\x80\x80\x80\x80\x80\x80"), 5).n, 5);
    assert_int_equal(unicode_cut(str_of("\xFF\xFF\xFF"), 1).n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_comes_back),
        cmocka_unit_test(wrong_bytes_are_invalid_one_at_a_time),
        cmocka_unit_test(code_points_are_counted_with_invalid_bytes),
        cmocka_unit_test(what_hides_or_steers_is_hostile),
        cmocka_unit_test(hostile_text_becomes_marks),
        cmocka_unit_test(invalid_bytes_are_replaced_and_nothing_else),
        cmocka_unit_test(a_cut_never_splits_a_code_point),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
