/* Rows of data as Python's reader gives them. Documents with repairs are test_json.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/read/json.h"

static struct arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = arena_open((size_t)16 << 20);
    return arena ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    arena_close(arena);
    return 0;
}

static const struct json *parsed(const char *text)
{
    const struct json *out = NULL;
    struct error err;

    if (json_parse_exact(str_of(text), arena, &out, &err) != OK)
        fail_msg("%s: %s", text, err.message);
    return out;
}

static void assert_text(const struct json *value, const char *bytes, size_t n)
{
    assert_int_equal(value->type, JSON_STRING);
    assert_int_equal(value->text.n, n);
    assert_memory_equal(value->text.p, bytes, n);
}

static void test_a_zero_and_lone_surrogates_stay(void **state)
{
    (void)state;
    assert_text(parsed("\"a\\u0000b\""), "a\0b", 3);
    assert_text(parsed("\"\\ud800x\""), "\xED\xA0\x80x", 4);
    assert_text(parsed("\"\\udc00\\ud83d\\ude00\""), "\xED\xB0\x80\xF0\x9F\x98\x80", 7);
    assert_text(parsed("\"\\ud83d\\ud83d\\ude00\""), "\xED\xA0\xBD\xF0\x9F\x98\x80", 7);
    assert_text(parsed("\"\xED\xA0\x80\""), "\xED\xA0\x80", 3);
    assert_text(parsed("\"\\u00e9\\u20AC\\n\\/\\\\\\\"\""), "\xC3\xA9\xE2\x82\xAC\n/\\\"", 9);
}

static void test_texts_without_escapes_are_borrowed(void **state)
{
    static const char text[] = "[\"plain text of some length\", \"a\\nb\"]";
    const struct json *out = NULL;

    (void)state;
    assert_int_equal(json_parse_exact(str_of(text), arena, &out, NULL), OK);
    assert_ptr_equal(out->child->text.p, text + 2);
    assert_text(out->child->next, "a\nb", 3);
}

static void test_numbers_keep_their_text_and_kind(void **state)
{
    const struct json *out =
        parsed("[1, 1.0, 1e3, -0, 12345678901234567890123, NaN, Infinity, -Infinity, 2.50]");
    static const struct {
        const char *text;
        bool is_integer;
    } expected[] = {{"1", true},
                    {"1.0", false},
                    {"1e3", false},
                    {"-0", true},
                    {"12345678901234567890123", true},
                    {"NaN", false},
                    {"Infinity", false},
                    {"-Infinity", false},
                    {"2.50", false}};
    size_t i = 0;

    (void)state;
    assert_int_equal(out->n, 9);
    for (const struct json *child = out->child; child; child = child->next, i++) {
        assert_int_equal(child->type, JSON_NUMBER);
        assert_true(str_is(child->text, expected[i].text));
        assert_int_equal(child->is_integer, expected[i].is_integer);
    }
    assert_true(isnan(out->child->next->next->next->next->next->number));
}

static void test_words_and_nesting(void **state)
{
    const struct json *out = parsed(" {\"a\": [true, false, null],\n \"b\": {}, \"c\": []} ");

    (void)state;
    assert_int_equal(out->n, 3);
    assert_int_equal(json_get(out, "a")->n, 3);
    assert_int_equal(json_get(out, "a")->child->type, JSON_TRUE);
    assert_int_equal(json_get(out, "a")->child->next->type, JSON_FALSE);
    assert_int_equal(json_get(out, "a")->child->next->next->type, JSON_NULL);
    assert_int_equal(json_get(out, "b")->type, JSON_OBJECT);
    assert_int_equal(json_get(out, "b")->line, 2);
    assert_int_equal(json_get(out, "c")->type, JSON_ARRAY);
}

static void test_the_last_of_duplicate_keys_counts_at_the_first_place(void **state)
{
    const struct json *out = parsed("{\"a\": 1, \"b\": 2, \"a\": 3, \"a\": 4}");
    char many[2048];
    size_t n = 0;

    (void)state;
    assert_int_equal(out->n, 2);
    assert_true(str_is(out->child->key, "a"));
    assert_true(str_is(out->child->text, "4"));
    assert_true(str_is(out->child->next->text, "2"));
    assert_null(out->child->next->next);

    out = parsed("{\"a\": 1, \"a\": 2}");
    assert_int_equal(out->n, 1);
    assert_true(str_is(out->child->text, "2"));
    assert_null(out->child->next);

    many[n++] = '{';
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(many + n, sizeof many - n, "%s\"k%d\": %d", i ? ", " : "", i % 30, i);
    snprintf(many + n, sizeof many - n, "}");
    out = parsed(many);
    assert_int_equal(out->n, 30);
    assert_true(str_is(json_get(out, "k9")->text, "39"));
    assert_true(str_is(json_get(out, "k10")->text, "10"));
}

static void test_wrong_texts_are_refused_with_their_place(void **state)
{
    static const char *const wrong[] = {"",      "[1,",    "[1,]",    "{\"a\"}",   "{\"a\":1,}",
                                        "\"abc", "\"a\\",  "\"\\q\"", "\"\\u12\"", "nul",
                                        "1 2",   "{a: 1}", "[1 2]",   "-",         "tru e"};
    struct error err;
    const struct json *out;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (json_parse_exact(str_of(wrong[i]), arena, &out, &err) != E_PARSE)
            fail_msg("%s was accepted", wrong[i]);
    assert_int_equal(json_parse_exact(str_of("[1,\n\n x]"), arena, &out, &err), E_PARSE);
    assert_int_equal(err.line, 3);
    assert_int_equal(err.byte, 6);
}

static void test_depth_is_bounded(void **state)
{
    char text[1001];
    const struct json *out;

    (void)state;
    memset(text, '[', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(json_parse_exact(str_of(text), arena, &out, NULL), E_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_zero_and_lone_surrogates_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_texts_without_escapes_are_borrowed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_numbers_keep_their_text_and_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_words_and_nesting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_last_of_duplicate_keys_counts_at_the_first_place,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_texts_are_refused_with_their_place, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_depth_is_bounded, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
