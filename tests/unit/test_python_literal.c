/* Python literals as training scripts print them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/read/python_literal.h"

static int set_up(void **state)
{
    *state = arena_open((size_t)16 << 20);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    arena_close(*state);
    return 0;
}

static void assert_reads_as(struct arena *arena, const char *text, const char *json, size_t used)
{
    const struct json *value;
    struct error err;
    struct buf out;
    size_t n;

    arena_reset(arena);
    if (python_literal_parse(str_of(text), arena, &value, &n, &err) != OK)
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(n, used);
    buf_init(&out, 10000);
    json_write(&out, value);
    assert_string_equal(out.p, json);
    buf_free(&out);
}

static void printed_values_are_read(void **state)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"{'loss': 1.46, 'x': nan}", "{\"loss\":1.46,\"x\":NaN}"},
        {"{'a': inf, 'b': -inf, 'c': 4.5e-06}", "{\"a\":Infinity,\"b\":-Infinity,\"c\":4.5e-06}"},
        {"[True, False, None]", "[true,false,null]"},
        {"(1, 2.50, -3)", "[1,2.5,-3]"},
        {"(1,)", "[1]"},
        {"()", "[]"},
        {"{}", "{}"},
        {"{'a': 1,}", "{\"a\":1}"},
        {"1_000_000", "1000000"},
        {"'it\\'s'", "\"it's\""},
        {"\"it's\"", "\"it's\""},
        {"'\\x41\\u00e4\\U0001F600\\n\\101\\q'", "\"A\xC3\xA4\xF0\x9F\x98\x80\\nA\\\\q\""},
        {"'\\x00\\ud800'", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"{1: 'a', None: 'b'}", "{\"1\":\"a\",\"None\":\"b\"}"},
        {"{'a': 1, 'a': 2}", "{\"a\":2}"},
        {"{'a': {'b': [1, (2, {'c': 'd'})]}}", "{\"a\":{\"b\":[1,[2,{\"c\":\"d\"}]]}}"},
        {"np.float64(0.5)", "0.5"},
        {"tensor(5., device='cuda:0')", "5.0"},
        {"{'l': tensor([1.5, 2], dtype=torch.float32), 'm': 1}", "{\"l\":[1.5,2],\"m\":1}"},
        {"{\n 'a': 1,\n 'b': 2}", "{\"a\":1,\"b\":2}"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_reads_as(*state, cases[i].text, cases[i].json, strlen(cases[i].text));
}

static void text_may_go_on_after_it(void **state)
{
    assert_reads_as(*state, "{'loss': 1.5} 12%|#  | 3/9", "{\"loss\":1.5}", 13);
    assert_reads_as(*state, "3, 4", "3", 1);
    assert_reads_as(*state, " [1]]", "[1]", 4);
}

static void what_is_no_literal_is_refused(void **state)
{
    static const char *const bad[] = {
        "",           "  ",       "{",    "{'a'",   "{'a':",  "{'a': 1",    "{'a' 1}",
        "[1",         "[1 2]",    "'abc", "'ab\n'", "'\\x4'", "'\\",        "foo",
        "{'a': foo}", "[1, ...]", "1 + ", "f(",     "f(1",    "f('",        "{'a': 1]",
        "-",          "[,]",      "1__x", "{**a}",  "lambda", "{'a': <x>}", "\xFF",
    };
    struct arena *arena = *state;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct json *value = NULL;
        struct error err;
        size_t used = 77;
        int rc = python_literal_parse(str_of(bad[i]), arena, &value, &used, &err);

        if (strcmp(bad[i], "1 + ") == 0) {
            assert_int_equal(rc, OK); /* a number, and text after it */
            assert_int_equal(used, 1);
            continue;
        }
        if (rc != E_PARSE)
            fail_msg("'%s' gives %d", bad[i], rc);
        assert_null(value);
        assert_int_equal(used, 77);
    }
}

static void nesting_and_size_have_limits(void **state)
{
    static const char *const open[] = {"[", "(", "{'a':", "f(", "{("};
    struct arena *arena = *state;
    const struct json *value;
    struct buf text;
    size_t used;

    buf_init(&text, 2 << 20);
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        buf_clear(&text);
        for (int n = 0; n < 100000; n++)
            buf_puts(&text, open[i]);
        arena_reset(arena);
        assert_int_equal(python_literal_parse(buf_view(&text), arena, &value, &used, NULL),
                         E_LIMIT);
    }
    buf_clear(&text);
    buf_puts(&text, "[");
    for (int n = 0; n < 400000; n++)
        buf_puts(&text, "1,");
    arena_reset(arena);
    assert_int_equal(python_literal_parse(buf_view(&text), arena, &value, &used, NULL), E_LIMIT);
    buf_free(&text);
}

static void lines_are_counted(void **state)
{
    const struct json *value;
    size_t used;

    assert_int_equal(
        python_literal_parse(str_of("{'a': 1,\n\n'b': 2}"), *state, &value, &used, NULL), OK);
    assert_int_equal(json_get(value, "a")->line, 1);
    assert_int_equal(json_get(value, "b")->line, 3);
}

static void damaged_literals_do_no_harm(void **state)
{
    static const char sound[] =
        "{'a': [1.5e-3, nan, 'x\\n\\u00e4'], \"b\": (None, tensor(1.)), 3: {}}";
    static const char bytes[] = "{}[]()',:\\\"-e_.\n\xC3";
    struct arena *arena = *state;

    for (size_t at = 0; at < sizeof sound - 1; at++)
        for (size_t b = 0; b < sizeof bytes; b++)
            for (size_t n = at; n < sizeof sound; n += 5) {
                char *text = malloc(n + 1);
                const struct json *value;
                size_t used;

                memcpy(text, sound, n);
                if (at < n)
                    text[at] = bytes[b];
                text = realloc(text, n ? n : 1);
                arena_reset(arena);
                if (python_literal_parse(str_from(text, n), arena, &value, &used, NULL) == OK)
                    assert_true(used <= n);
                free(text);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(printed_values_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_may_go_on_after_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_literal_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nesting_and_size_have_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_literals_do_no_harm, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
