/* One JSON value a line, and flat rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/read/jsonl.h"

struct trace {
    struct buf out;
    int rc;
};

static int on_row(void *ctx, const struct json_row *row, struct error *err)
{
    struct trace *trace = ctx;

    (void)err;
    buf_printf(&trace->out, "%d@%d", (int)row->line, (int)row->byte);
    for (size_t i = 0; i < row->n; i++)
        buf_printf(&trace->out, " %.*s=%.*s", (int)row->fields[i].key.n, row->fields[i].key.p,
                   (int)row->fields[i].text.n, row->fields[i].text.p);
    if (row->tree) {
        buf_puts(&trace->out, " tree ");
        json_write(&trace->out, row->tree);
    }
    buf_putc(&trace->out, '\n');
    return OK;
}

static int on_bad(void *ctx, const struct source_line *line, bool is_last, const struct error *why,
                  struct error *err)
{
    struct trace *trace = ctx;

    (void)err;
    assert_true(why->status == E_PARSE || why->status == E_LIMIT);
    assert_int_equal(why->line, line->number);
    assert_true(why->byte >= line->byte && why->byte <= line->byte + (int64_t)line->text.n);
    buf_printf(&trace->out, "%d@%d bad%s\n", (int)line->number, (int)line->byte,
               is_last ? " last" : "");
    return OK;
}

static void assert_events(struct str text, bool always_tree, const char *expected)
{
    for (size_t buffer = 1; buffer < text.n + 3; buffer += buffer < 40 ? 1 : 97) {
        struct trace trace = {.rc = OK};
        struct jsonl_handler handler = {on_row, on_bad, &trace, always_tree, NULL};
        struct source_file *file;
        struct error err;

        buf_init(&trace.out, 1 << 20);
        assert_int_equal(source_open_bytes(&file, "memory", text.p, text.n, NULL), OK);
        source_set_buffer_bytes(file, buffer);
        assert_int_equal(jsonl_read(file, &handler, &err), OK);
        if (strcmp(trace.out.p, expected) != 0)
            fail_msg("buffer %zu:\n%s\nexpected:\n%s", buffer, trace.out.p, expected);
        source_close(file);
        buf_free(&trace.out);
    }
}

static void flat_lines_are_fields_and_others_trees(void **state)
{
    (void)state;
    assert_events(str_of("{\"loss\": 1.5, \"note\": \"a\\tb\"}\r\n\r\n  \n{\"m\": [1]}\n 7 \n{}\n"),
                  false,
                  "1@0 loss=1.5 note=a\tb\n"
                  "4@36 tree {\"m\":[1]}\n"
                  "5@47 tree 7\n"
                  "6@51\n");
}

static void every_line_is_a_tree_where_asked_for(void **state)
{
    (void)state;
    assert_events(str_of("\xEF\xBB\xBF{\"a\": 1}\n{\"b\": \"\xE2\x80\xA8\"}"), true,
                  "1@3 tree {\"a\":1}\n2@12 tree {\"b\":\"\xE2\x80\xA8\"}\n");
}

static void bad_lines_are_told_and_the_rest_is_read(void **state)
{
    (void)state;
    assert_events(
        str_of("{\"a\": 1}\n{\"a\": }\nnot json\n{\"a\": 2} x\n{\"a\": {}} x\n{\"a\": 3}\n"), false,
        "1@0 a=1\n2@9 bad\n3@17 bad\n4@26 bad\n5@37 bad\n6@49 a=3\n");
    assert_events(str_of("{\"a\": 1}\n{\"a\": 2"), false, "1@0 a=1\n2@9 bad last\n");
    assert_events(str_of("{\"a\": 1}\n{\"a\": 2}"), false, "1@0 a=1\n2@9 a=2\n");
}

static void the_sample_that_is_cut_is_read_up_to_there(void **state)
{
    struct trace trace = {.rc = OK};
    int n_repairs = 0;
    struct jsonl_handler handler = {on_row, on_bad, &trace, true, &n_repairs};
    struct source_file *file;

    (void)state;
    buf_init(&trace.out, 1 << 20);
    assert_int_equal(source_open(&file, "tests/unit/data/json/truncated_crlf.jsonl", NULL), OK);
    assert_int_equal(jsonl_read(file, &handler, NULL), OK);
    assert_string_equal(trace.out.p, "1@0 tree {\"messages\":[{\"role\":\"user\",\"content\":"
                                     "\"hi\"}]}\n3@53 bad last\n");
    assert_int_equal(n_repairs, 0);
    source_close(file);
    buf_free(&trace.out);
}

static void a_line_nested_too_deep_is_a_bad_line(void **state)
{
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_puts(&text, "{\"a\": ");
    buf_repeat(&text, '[', 1000);
    buf_puts(&text, "\n{\"a\": 1}\n");
    assert_events(buf_view(&text), false, "1@0 bad\n2@1007 a=1\n");
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_lines_are_fields_and_others_trees),
        cmocka_unit_test(every_line_is_a_tree_where_asked_for),
        cmocka_unit_test(bad_lines_are_told_and_the_rest_is_read),
        cmocka_unit_test(the_sample_that_is_cut_is_read_up_to_there),
        cmocka_unit_test(a_line_nested_too_deep_is_a_bad_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
