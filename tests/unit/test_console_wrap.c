/* Logs that went through another program before they became a file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "importers/registry.h"
#include "importers/run/console_wrap.h"
#include "tests/harness/dumped.h"

static void read_log(const char *text)
{
    dumped_read_text(&importer_console_log, "train.log", text);
}

static enum console_wrap_kind kind_of(const char *text)
{
    struct console_wrap wrap;
    console_wrap_find(&wrap, str_of(text));
    return wrap.kind;
}

static void a_record_of_docker_holds_the_line(void **state)
{
    (void)state;
    read_log("{\"log\":\"***** Running training *****\\n\",\"stream\":\"stdout\",\"time\":\"t\"}\n"
             "{\"log\":\"{'loss': 1.5, 'epoch': 0.1}\\r 10%|#| 10/100 [00:01<00:09,  9.1it/s]\\n\","
             "\"stream\":\"stdout\",\"time\":\"t\"}\n"
             "{\"log\":\"{'loss': 1.25, 'epoch': 0.2}\\r 20%|\\u2588| 20/100 [00:02<00:09,  "
             "9.1it/s]\\n\",\"stream\":\"stdout\",\"time\":\"t\"}\n"
             "{\"log\":\"a \\\"quoted\\\" name\\n\",\"stream\":\"stderr\",\"time\":\"t\"}\n");
    dumped_has("point\tloss\tseq 0\tsegment 0\tstep 10\t1.5\tline 2");
    dumped_has("point\tloss\tseq 1\tsegment 0\tstep 20\t1.25\tline 3");
    /* Rows of a data set that begin alike are none. */
    assert_int_equal(kind_of("{\"log\": \"loss\", \"n\": 1}\n{\"log\": \"loss\", \"n\": 2}\n"
                             "{\"log\": \"loss\", \"n\": 3}\n"),
                     WRAP_NONE);
}

static void a_time_before_every_line_is_passed_over(void **state)
{
    static const char *const heads[] = {
        "2025-03-04T10:02:11.123456789Z ", "2025-03-04T10:02:11.123456789Z stdout F ",
        "[2025-03-04 10:02:11] ", "Mar 04 10:02:11 gpu3 python[4411]: ", "trainer-1  | ",
        "[pod/sft-7x2lq/trainer] ", "[default0]:", "0: "};
    static const enum console_wrap_kind kinds[] = {WRAP_TIME,    WRAP_TIME, WRAP_BRACKET,
                                                   WRAP_JOURNAL, WRAP_SAME, WRAP_SAME,
                                                   WRAP_SAME,    WRAP_SAME};
    static const char *const lines[] = {
        "***** Running training *****",
        "{'loss': 1.5, 'epoch': 0.1}\r 10%|#| 10/100 [00:01<00:09,  9.1it/s]",
        "{'loss': 1.25, 'epoch': 0.2}\r 20%|#| 20/100 [00:02<00:09,  9.1it/s]",
        "Traceback (most recent call last):", "  File \"a.py\", line 3, in <module>",
        "ValueError: no"};
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        char text[2000] = "";
        for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++) {
            size_t n = strlen(text);
            snprintf(text + n, sizeof text - n, "%s%s\n", heads[i], lines[k]);
        }
        assert_int_equal(kind_of(text), kinds[i]);
        read_log(text);
        dumped_has("point\tloss\tseq 0\tsegment 0\tstep 10\t1.5\tline 2");
        dumped_has("point\tloss\tseq 1\tsegment 0\tstep 20\t1.25\tline 3");
        dumped_has("exception\t-\tstep 20\tline 6");
    }
}

static void what_some_lines_have_is_no_wrap(void **state)
{
    (void)state;
    assert_int_equal(kind_of("0: a\n1: b\n0: c\n1: d\n0: e\n1: f\n"), WRAP_NONE); /* two ranks */
    assert_int_equal(kind_of("[2025-03-04 10:02:11] a\n{'loss': 1.5}\n{'loss': 1.5}\n"), WRAP_NONE);
    assert_int_equal(kind_of("[1, 2, 3]\n[4, 5, 6]\n[7, 8, 9]\n"), WRAP_NONE);
    assert_int_equal(kind_of(""), WRAP_NONE);
    assert_int_equal(kind_of("\n\n\n"), WRAP_NONE);
}

static size_t widen(const char *text, char *out)
{
    size_t n = 0;
    out[n++] = (char)0xff;
    out[n++] = (char)0xfe;
    for (; *text; text++) {
        out[n++] = *text;
        out[n++] = '\0';
    }
    return n;
}

static void utf16_is_read_as_text(void **state)
{
    struct console_wrap wrap;
    struct buf scratch;
    char wide[400];
    (void)state;
    size_t n = widen("loss 1\r\n", wide);
    assert_true(console_wrap_is_utf16(str_from(wide, n)));
    console_wrap_find(&wrap, str_from(wide, n));
    assert_int_equal(wrap.kind, WRAP_UTF16);
    buf_init(&scratch, 100);
    struct str text = console_wrap_open(&wrap, str_from(wide, n - 4), &scratch);
    assert_true(str_is(text, "loss 1"));
    /* A bar's block, U+2588, behind the high byte of a newline. */
    text = console_wrap_open(&wrap, str_from("\0|\0\x88%", 5), &scratch);
    assert_true(str_is(text, "|\xe2\x96\x88"));
    assert_false(console_wrap_is_utf16(str_of("plain text that is not wide")));
    buf_free(&scratch);
}

static void a_damaged_record_ends_where_it_is_cut(void **state)
{
    static const char *const cut[] = {"{\"log\":\"a\\", "{\"log\":\"a\\u00", "{\"log\":\"", "{\"log\":"};
    struct console_wrap wrap = {.kind = WRAP_DOCKER};
    struct buf scratch;
    (void)state;
    buf_init(&scratch, 100);
    for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++) {
        struct str text = console_wrap_open(&wrap, str_of(cut[i]), &scratch);
        assert_true(text.n <= strlen(cut[i]));
    }
    struct str whole = str_of("{\"log\":\"a\\u0041\\q\\\"b\",\"stream\":\"stdout\"}");
    assert_true(str_is(console_wrap_open(&wrap, whole, &scratch), "aAq\"b"));
    buf_free(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_of_docker_holds_the_line),
        cmocka_unit_test(a_time_before_every_line_is_passed_over),
        cmocka_unit_test(what_some_lines_have_is_no_wrap),
        cmocka_unit_test(utf16_is_read_as_text),
        cmocka_unit_test(a_damaged_record_ends_where_it_is_cut),
    };
    return cmocka_run_group_tests(tests, dumped_set_up, dumped_tear_down);
}
