/* Long JSON documents: every event, at every size of the window. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/base/random.h"
#include "core/read/json.h"
#include "core/read/source.h"

/* What was delivered, as text: one line an event. */
struct trace {
    struct buf out;
    int rc;
    bool cut;
    struct error err;
    int stop_after; /* rows; 0: never */
};

static void trace_field(struct buf *out, const struct json_field *field)
{
    buf_printf(out, " %.*s=", (int)field->key.n, field->key.p);
    json_write_string(out, field->text);
    if (field->is_quoted)
        buf_puts(out, "q");
    if (field->is_number)
        json_write_number(out, field->number);
    else
        assert_true(isnan(field->number));
}

static int on_row(void *ctx, const struct json_row *row, struct error *err)
{
    struct trace *trace = ctx;

    buf_printf(&trace->out, "row %d@%d", (int)row->line, (int)row->byte);
    for (size_t i = 0; i < row->n; i++)
        trace_field(&trace->out, &row->fields[i]);
    if (row->tree) {
        buf_putc(&trace->out, ' ');
        json_write(&trace->out, row->tree);
    }
    buf_putc(&trace->out, '\n');
    if (trace->stop_after && --trace->stop_after == 0)
        return error_set(err, E_CANCELLED, "enough");
    return OK;
}

static int on_member(void *ctx, const struct json *value, struct error *err)
{
    struct trace *trace = ctx;

    (void)err;
    buf_printf(&trace->out, "member %.*s@%d ", (int)value->key.n, value->key.p, (int)value->line);
    json_write(&trace->out, value);
    buf_putc(&trace->out, '\n');
    return OK;
}

static void run(struct trace *trace, struct str text, const char *array_key, size_t buffer_bytes)
{
    struct json_stream handler = {array_key, on_member, on_row, trace, NULL};
    struct source_file *file;

    buf_init(&trace->out, 1 << 20);
    assert_int_equal(source_open_bytes(&file, "memory", text.p, text.n, NULL), OK);
    source_set_buffer_bytes(file, buffer_bytes);
    trace->rc = json_stream(file, &handler, &trace->cut, &trace->err);
    source_close(file);
}

static void assert_events(const char *text, const char *array_key, const char *expected)
{
    for (size_t buffer = 1; buffer < strlen(text) + 3; buffer++) {
        struct trace trace = {.stop_after = 0};

        run(&trace, str_of(text), array_key, buffer);
        if (trace.rc != OK)
            fail_msg("buffer %zu: %s", buffer, trace.err.message);
        if (strcmp(trace.out.p, expected) != 0)
            fail_msg("buffer %zu:\n%s\nexpected:\n%s", buffer, trace.out.p, expected);
        assert_false(trace.cut);
        buf_free(&trace.out);
    }
}

static void rows_and_members_come_with_their_places(void **state)
{
    (void)state;
    assert_events("{\n  \"best\": null,\n  \"log_history\": [\n    {\n      \"loss\": 1.5,\n"
                  "      \"step\": 10\n    },\n    {\"eval_loss\": 2e-05}\n  ],\n"
                  "  \"max_steps\": 20, \"x\": {\"y\": [1]}\n}\n",
                  "log_history",
                  "member best@2 null\n"
                  "row 4@41 loss=\"1.5\"1.5 step=\"10\"10.0\n"
                  "row 8@90 eval_loss=\"2e-05\"2e-05\n"
                  "member max_steps@10 20\n"
                  "member x@10 {\"y\":[1]}\n");
}

static void a_document_may_be_the_array_itself(void **state)
{
    (void)state;
    assert_events("\xEF\xBB\xBF[{\"a\": 1}, {\"b\": [2]}, 3, \"x\", [], {}]", NULL,
                  "row 1@4 a=\"1\"1.0\n"
                  "row 1@14 {\"b\":[2]}\n"
                  "row 1@26 3\n"
                  "row 1@29 \"x\"\n"
                  "row 1@34 []\n"
                  "row 1@38\n");
    assert_events(" [ ] ", NULL, "");
    assert_events("{}", "log_history", "");
    assert_events("{\"log_history\": []}", "log_history", "");
    assert_events("{\"log_history\": null}", "log_history", "member log_history@1 null\n");
    assert_events("12", "log_history", "member @1 12\n");
    assert_events("{\"a\": [1]}", NULL, "member a@1 [1]\n");
}

static void fields_tell_numbers_from_texts(void **state)
{
    (void)state;
    assert_events("[{\"a\": NaN, \"b\": -Infinity, \"c\": \"5.072\", \"d\": \"nan\", \"e\": \"x\","
                  " \"f\": null, \"g\": true, \"h\": \"a\\u00e4\\n\", \"i\": 9007199254740993}]",
                  NULL,
                  "row 1@1 a=\"NaN\"\"NaN\" b=\"-Infinity\"\"-Infinity\" c=\"5.072\"q5.072"
                  " d=\"nan\"q\"NaN\" e=\"x\"q f=\"null\" g=\"true\" h=\"a\xC3\xA4\\n\"q"
                  " i=\"9007199254740993\"9007199254740992.0\n");
}

static void the_last_of_duplicate_keys_counts(void **state)
{
    (void)state;
    assert_events("[{\"a\": 1, \"b\": 2, \"a\": \"x\"}]", NULL, "row 1@1 a=\"x\"q b=\"2\"2.0\n");
}

static void keys_with_escapes_are_decoded(void **state)
{
    (void)state;
    assert_events("{\"lo\\u0067\": [{\"l\\u006fss\": 1}]}", "log", "row 1@14 loss=\"1\"1.0\n");
}

static void assert_breaks(const char *text, bool cut, int64_t line, const char *events)
{
    for (size_t buffer = 1; buffer < strlen(text) + 3; buffer++) {
        struct trace trace = {.stop_after = 0};

        run(&trace, str_of(text), "rows", buffer);
        assert_int_equal(trace.rc, E_PARSE);
        if (trace.cut != cut || trace.err.line != line)
            fail_msg("'%s' buffer %zu: cut %d line %d: %s", text, buffer, trace.cut,
                     (int)trace.err.line, trace.err.message);
        assert_string_equal(trace.out.p, events);
        assert_string_equal(trace.err.path, "memory");
        assert_true(trace.err.byte >= 0 && trace.err.byte <= (int64_t)strlen(text));
        buf_free(&trace.out);
    }
}

static void what_came_before_a_break_is_delivered(void **state)
{
    (void)state;
    assert_breaks("", true, 1, "");
    assert_breaks("{\"rows\": [{\"a\": 1},\n{\"a\": 2", true, 2, "row 1@10 a=\"1\"1.0\n");
    assert_breaks("{\"rows\": [{\"a\": 1},\n", true, 2, "row 1@10 a=\"1\"1.0\n");
    assert_breaks("{\"rows\": [{\"a\": 1}]", true, 1, "row 1@10 a=\"1\"1.0\n");
    assert_breaks("{\"rows\": [{\"a\": 1},\n{\"a\": x}]}", false, 2, "row 1@10 a=\"1\"1.0\n");
    assert_breaks("{\"rows\": [1 2]}", false, 1, "row 1@10 1\n");
    assert_breaks("{\"rows\": [1]} x", false, 1, "row 1@10 1\n");
    assert_breaks("{\"rows\": [1,]}", false, 1, "row 1@10 1\n");
    assert_breaks("{\"a\": tru", true, 1, "");
    assert_breaks("{\"a", true, 1, "");
    assert_breaks("{\"a\" 1}", false, 1, "");
    assert_breaks("{1: 1}", false, 1, "");
}

static void the_handler_can_stop(void **state)
{
    struct trace trace = {.stop_after = 2};

    (void)state;
    run(&trace, str_of("[1,2,3]"), NULL, 3);
    assert_int_equal(trace.rc, E_CANCELLED);
    assert_string_equal(trace.out.p, "row 1@1 1\nrow 1@3 2\n");
    assert_string_equal(trace.err.message, "enough");
    assert_false(trace.cut);
    buf_free(&trace.out);
}

static void nesting_has_a_limit(void **state)
{
    struct trace trace = {.stop_after = 0};
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_puts(&text, "{\"rows\": [1, {\"a\": ");
    buf_repeat(&text, '[', 100000);
    run(&trace, buf_view(&text), "rows", 4096);
    assert_int_equal(trace.rc, E_LIMIT);
    assert_false(trace.cut);
    assert_string_equal(trace.out.p, "row 1@10 1\n");
    buf_free(&text);
    buf_free(&trace.out);
}

static void repairs_are_counted_once_however_often_a_value_is_tried(void **state)
{
    static const char text[] =
        "[{\"a\": \"\\ud800\", \"a\": 1}, {\"b\": \"\\u0000\", \"c\": []}, \"\xFF\"]";

    (void)state;
    for (size_t buffer = 1; buffer < sizeof text; buffer++) {
        int n_repairs = 100;
        struct json_stream handler = {.n_repairs = &n_repairs};
        struct source_file *file;
        bool cut;

        assert_int_equal(source_open_bytes(&file, "m", text, sizeof text - 1, NULL), OK);
        source_set_buffer_bytes(file, buffer);
        assert_int_equal(json_stream(file, &handler, &cut, NULL), OK);
        assert_int_equal(n_repairs, 104);
        source_close(file);
    }
}

static void missing_handlers_pass_over(void **state)
{
    struct json_stream handler = {.array_key = "rows"};
    struct source_file *file;
    bool cut = true;

    (void)state;
    assert_int_equal(source_open_bytes(&file, "m", "{\"rows\": [1], \"a\": 2}", 21, NULL), OK);
    assert_int_equal(json_stream(file, &handler, &cut, NULL), OK);
    assert_false(cut);
    source_close(file);
}

/* ---- a long document, as Python writes it ---- */

struct sum {
    double losses;
    size_t n;
};

static int add_loss(void *ctx, const struct json_row *row, struct error *err)
{
    struct sum *sum = ctx;

    (void)err;
    assert_int_equal(row->n, 3);
    assert_true(str_is(row->fields[0].key, "grad_norm"));
    sum->losses += row->fields[1].number;
    sum->n++;
    assert_true(row->fields[2].number == (double)sum->n);
    assert_int_equal(row->line, (int64_t)(sum->n - 1) * 5 + 3);
    return OK;
}

static void many_rows_are_read_exactly(void **state)
{
    struct json_stream handler = {.array_key = "log_history", .row = add_loss};
    struct source_file *file;
    struct random random;
    struct buf text;
    struct sum sum = {0, 0};
    double expected = 0;
    bool cut;

    (void)state;
    random_seed(&random, 8);
    buf_init(&text, 64 << 20);
    buf_puts(&text, "{\n  \"log_history\": [");
    for (int i = 1; i <= 20000; i++) {
        double loss = random_unit(&random);

        expected += loss;
        buf_printf(&text,
                   "%s\n    {\n      \"grad_norm\": %.17g,\n      \"loss\": %.17g,\n"
                   "      \"step\": %d\n    }",
                   i > 1 ? "," : "", random_unit(&random), loss, i);
    }
    buf_puts(&text, "\n  ]\n}\n");
    handler.ctx = &sum;
    assert_int_equal(source_open_bytes(&file, "m", text.p, text.n, NULL), OK);
    source_set_buffer_bytes(file, 5000);
    assert_int_equal(json_stream(file, &handler, &cut, NULL), OK);
    assert_int_equal(sum.n, 20000);
    assert_true(sum.losses == expected);
    source_close(file);
    buf_free(&text);
}

static void a_value_larger_than_the_window_is_read(void **state)
{
    struct trace trace = {.stop_after = 0};
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_puts(&text, "[{\"a\": \"");
    buf_repeat(&text, 'x', 100000);
    buf_puts(&text, "\", \"b\": [1]}, 2]");
    run(&trace, buf_view(&text), NULL, 64);
    assert_int_equal(trace.rc, OK);
    assert_true(str_ends(buf_view(&trace.out), "xxx\",\"b\":[1]}\nrow 1@100022 2\n"));
    buf_free(&text);
    buf_free(&trace.out);
}

/* One byte changed: the same events and the same end at two sizes of the window. */
static void damage_is_told_the_same_at_every_window(void **state)
{
    static const char sound[] =
        "{\"b\": 1, \"rows\": [{\"a\": 1.5e3, \"b\": \"x\\n\"}, {\"c\": [1, "
        "{\"d\": NaN}]}, -Infinity, {}], \"m\": {\"n\": null}}";
    static const char bytes[] = "{}[]\",:\\0-eE.\n /\x80";
    char text[sizeof sound];

    (void)state;
    for (size_t at = 0; at < sizeof sound - 1; at++)
        for (size_t b = 0; b < sizeof bytes; b++) {
            struct trace whole = {.stop_after = 0}, pieces = {.stop_after = 0};

            memcpy(text, sound, sizeof sound);
            text[at] = bytes[b];
            run(&whole, str_from(text, sizeof sound - 1), "rows", 1000);
            run(&pieces, str_from(text, sizeof sound - 1), "rows", 7);
            assert_int_equal(whole.rc, pieces.rc);
            assert_int_equal(whole.cut, pieces.cut);
            assert_string_equal(whole.out.p, pieces.out.p);
            if (whole.rc != OK) {
                assert_string_equal(whole.err.message, pieces.err.message);
                assert_int_equal(whole.err.byte, pieces.err.byte);
                assert_int_equal(whole.err.line, pieces.err.line);
            }
            buf_free(&whole.out);
            buf_free(&pieces.out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_members_come_with_their_places),
        cmocka_unit_test(a_document_may_be_the_array_itself),
        cmocka_unit_test(fields_tell_numbers_from_texts),
        cmocka_unit_test(the_last_of_duplicate_keys_counts),
        cmocka_unit_test(keys_with_escapes_are_decoded),
        cmocka_unit_test(what_came_before_a_break_is_delivered),
        cmocka_unit_test(the_handler_can_stop),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(repairs_are_counted_once_however_often_a_value_is_tried),
        cmocka_unit_test(missing_handlers_pass_over),
        cmocka_unit_test(many_rows_are_read_exactly),
        cmocka_unit_test(a_value_larger_than_the_window_is_read),
        cmocka_unit_test(damage_is_told_the_same_at_every_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
