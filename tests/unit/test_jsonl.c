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

/* A row is compared with what stood around the values of the rows before it. */
static void rows_that_look_alike_are_read_as_any_other(void **state)
{
    (void)state;
    assert_events(str_of("{\"a\": 1, \"b\": \"x\"}\n{\"a\": -2.5e-3, \"b\": null}\n"
                         "{\"a\": \"nan\", \"b\": \"\\u00e9\"}\n{\"a\": 1, \"b\": 2, \"c\": 3}\n"
                         "{\"a\": 1}\n{\"a\": [1], \"b\": 2}\n{\"a\": 7, \"b\": 8}\n"),
                  false,
                  "1@0 a=1 b=x\n2@19 a=-2.5e-3 b=null\n3@45 a=nan b=\xC3\xA9\n4@73 a=1 b=2 c=3\n"
                  "5@98 a=1\n6@107 tree {\"a\":[1],\"b\":2}\n7@126 a=7 b=8\n");
}

static void what_is_wrong_with_a_row_that_begins_like_another_is_told(void **state)
{
    (void)state;
    assert_events(str_of("{\"a\": 1, \"b\": 2}\n{\"a\": 01, \"b\": 2}\n{\"a\": 1, \"b\": }\n"
                         "{\"a\": 1, \"b\": 2\n{\"a\": 1., \"b\": 2}\n{\"a\": 3, \"b\": 4}x\n"
                         "{\"a\": 5, \"a\": 6}\n{\"a\": 7, \"a\": 8}\n{\"a\": 9, \"b\": 1"),
                  false,
                  "1@0 a=1 b=2\n2@17 bad\n3@35 bad\n4@51 bad\n5@67 bad\n6@85 bad\n"
                  "7@103 a=6\n8@120 a=8\n9@137 bad last\n");
}

struct shapes {
    uint64_t number[8];
    size_t n;
};

static int on_shape(void *ctx, const struct json_row *row, struct error *err)
{
    struct shapes *shapes = ctx;

    (void)err;
    shapes->number[shapes->n++] = row->shape;
    return OK;
}

static void rows_of_the_same_keys_have_the_same_number(void **state)
{
    const char *text = "{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\": \"4\"}\n{\"eval\": 1}\n"
                       "{\"a\": 3, \"b\": true}\n{\"eval\": 2}\n{\"k\\n\": 2}\n{\"a\": 1, \"a\": 2}\n";
    struct shapes shapes = {.n = 0};
    struct jsonl_handler handler = {.row = on_shape, .ctx = &shapes};
    struct source_file *file;

    (void)state;
    assert_int_equal(source_open_bytes(&file, "memory", text, strlen(text), NULL), OK);
    assert_int_equal(jsonl_read(file, &handler, NULL), OK);
    source_close(file);
    assert_int_equal(shapes.n, 7);
    assert_true(shapes.number[0] != 0 && shapes.number[2] != 0);
    assert_true(shapes.number[0] == shapes.number[1] && shapes.number[0] == shapes.number[3]);
    assert_true(shapes.number[2] == shapes.number[4] && shapes.number[0] != shapes.number[2]);
    assert_true(shapes.number[5] == 0 && shapes.number[6] == 0);
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
        cmocka_unit_test(rows_that_look_alike_are_read_as_any_other),
        cmocka_unit_test(what_is_wrong_with_a_row_that_begins_like_another_is_told),
        cmocka_unit_test(rows_of_the_same_keys_have_the_same_number),
        cmocka_unit_test(every_line_is_a_tree_where_asked_for),
        cmocka_unit_test(bad_lines_are_told_and_the_rest_is_read),
        cmocka_unit_test(the_sample_that_is_cut_is_read_up_to_there),
        cmocka_unit_test(a_line_nested_too_deep_is_a_bad_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
