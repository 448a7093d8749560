/* Text as bytes with a length. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

static void comparing_looks_at_lengths_and_bytes(void **state)
{
    (void)state;
    assert_true(str_eq(str_of("ab"), str_from("abc", 2)));
    assert_false(str_eq(str_of("ab"), str_of("abc")));
    assert_true(str_eq(str_from(NULL, 0), str_of("")));
    assert_true(str_is_ignoring_case(str_of("LoSS"), "loss"));
    assert_false(str_is_ignoring_case(str_of("loss "), "loss"));
    assert_int_equal(str_of(NULL).n, 0);
    assert_true(str_compare(str_of("a"), str_of("ab")) < 0);
    assert_true(str_compare(str_of("b"), str_of("ab")) > 0);
    assert_true(str_compare(str_of("\xFF"), str_of("a")) > 0);
    assert_int_equal(str_compare(str_of("ab"), str_of("ab")), 0);
}

static void ends_and_starts(void **state)
{
    (void)state;
    assert_true(str_starts(str_of("eval_loss"), "eval_"));
    assert_true(str_starts(str_of(""), ""));
    assert_false(str_starts(str_of("eva"), "eval"));
    assert_true(str_ends(str_of("a.json"), ".json"));
    assert_false(str_ends(str_of("json"), ".json"));
}

static void finding_gives_the_first_place(void **state)
{
    (void)state;
    assert_int_equal(str_find(str_of("aabab"), "ab"), 1);
    assert_int_equal(str_find(str_of("aaa"), "b"), -1);
    assert_int_equal(str_find(str_of("ab"), "abc"), -1);
    assert_int_equal(str_find(str_of("abc"), ""), 0);
    assert_int_equal(str_find(str_from("abc", 2), "c"), -1);
    assert_int_equal(str_find(str_of("xxab"), "ab"), 2);
    assert_true(str_has_ignoring_case(str_of("CUDA out of Memory"), "OUT OF MEM"));
    assert_false(str_has_ignoring_case(str_of("out"), "outer"));
}

static void trimming_skipping_and_cutting_stay_inside(void **state)
{
    (void)state;
    assert_true(str_is(str_trim(str_of(" \t\r\n a b \v\f")), "a b"));
    assert_int_equal(str_trim(str_of("   ")).n, 0);
    assert_true(str_is(str_skip(str_of("abc"), 1), "bc"));
    assert_int_equal(str_skip(str_of("abc"), 9).n, 0);
    assert_true(str_is(str_first(str_of("abc"), 2), "ab"));
    assert_true(str_is(str_first(str_of("abc"), 9), "abc"));
}

static void splitting_gives_every_part_once(void **state)
{
    static const char *const expected[] = {"a", "", "b", ""};
    struct str rest = str_of("a,,b,"), part;
    size_t n = 0;

    (void)state;
    while (str_split(&rest, ',', &part)) {
        assert_true(n < 4);
        assert_true(str_is(part, expected[n++]));
    }
    assert_int_equal(n, 4);
    rest = str_of("");
    assert_true(str_split(&rest, ',', &part));
    assert_int_equal(part.n, 0);
    assert_false(str_split(&rest, ',', &part));
}

static void a_fresh_buf_is_an_empty_text(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 10);
    assert_string_equal(buf.p, "");
    buf_add(&buf, NULL, 0);
    buf_str(&buf, str_from(NULL, 0));
    assert_string_equal(buf.p, "");

    char *text = buf_steal(&buf);

    assert_string_equal(text, "");
    free(text);
    buf_free(&buf);
}

static void appending_keeps_the_end(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 100000);
    for (int i = 0; i < 1000; i++) {
        buf_printf(&buf, "%d", i % 10);
        buf_putc(&buf, ',');
        buf_repeat(&buf, '-', 2);
    }
    assert_int_equal(buf.n, 4000);
    assert_int_equal(strlen(buf.p), 4000);
    assert_int_equal(strncmp(buf.p, "0,--1,--", 8), 0);
    buf_clear(&buf);
    assert_string_equal(buf.p, "");
    buf_puts(&buf, "again");
    assert_true(str_is(buf_view(&buf), "again"));
    buf_free(&buf);
}

static void the_limit_is_exact_and_failure_is_sticky(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 5);
    buf_puts(&buf, "12345");
    assert_false(buf.failed);
    buf_putc(&buf, '6');
    assert_true(buf.failed);
    assert_string_equal(buf.p, "12345");
    buf_clear(&buf);
    buf_puts(&buf, "123456");
    assert_true(buf.failed);
    buf_puts(&buf, "1");
    assert_string_equal(buf.p, "");
    assert_null(buf_steal(&buf));
    assert_false(buf.failed);
    buf_printf(&buf, "%s", "123456");
    assert_true(buf.failed);
    buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparing_looks_at_lengths_and_bytes),
        cmocka_unit_test(ends_and_starts),
        cmocka_unit_test(finding_gives_the_first_place),
        cmocka_unit_test(trimming_skipping_and_cutting_stay_inside),
        cmocka_unit_test(splitting_gives_every_part_once),
        cmocka_unit_test(a_fresh_buf_is_an_empty_text),
        cmocka_unit_test(appending_keeps_the_end),
        cmocka_unit_test(the_limit_is_exact_and_failure_is_sticky),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
