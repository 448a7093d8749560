/* JSON documents as trees, and writing them, by cases. Drawn documents are test_json_drawn.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/json.h"
#include "tests/harness/tempdir.h"

#define DATA "tests/unit/data/json/"

struct fixture {
    struct arena *arena;
    const struct json *top;
    int n_repairs;
    struct error err;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->arena = arena_open((size_t)64 << 20);
    *state = f;
    return f->arena ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    arena_close(f->arena);
    free(f);
    return 0;
}

static int parse(struct fixture *f, struct str text)
{
    f->top = NULL;
    f->n_repairs = 0;
    return json_parse(text, false, f->arena, &f->top, &f->n_repairs, &f->err);
}

static const struct json *parsed(struct fixture *f, const char *text)
{
    if (parse(f, str_of(text)) != OK)
        fail_msg("%s: %s", text, f->err.message);
    return f->top;
}

static const struct json *read_sample(struct fixture *f, const char *name)
{
    f->n_repairs = 0;
    if (json_read_file(name, false, f->arena, &f->top, &f->n_repairs, &f->err) != OK)
        fail_msg("%s: %s", name, f->err.message);
    return f->top;
}

static void assert_written(const struct json *value, const char *expected)
{
    struct buf out;

    buf_init(&out, 1 << 20);
    json_write(&out, value);
    assert_string_equal(out.p, expected);
    buf_free(&out);
}

static void values_keep_type_text_and_line(void **state)
{
    const struct json *top = parsed(*state, "{\"a\": [1, 2.50,\n -3e-05],\n\n\"b\": {\"c\": null,"
                                            "\n\"d\": true}, \"e\": \"x\\ny\", \"f\": false}");
    const struct json *a = json_get(top, "a"), *b = json_get(top, "b");

    assert_int_equal(top->n, 4);
    assert_int_equal(a->n, 3);
    assert_true(a->child->is_integer);
    assert_true(str_is(a->child->next->text, "2.50"));
    assert_false(a->child->next->is_integer);
    assert_true(a->child->next->number == 2.5);
    assert_int_equal(a->child->next->next->line, 2);
    assert_int_equal(b->line, 4);
    assert_true(json_is(json_get(b, "c"), JSON_NULL));
    assert_int_equal(json_get(b, "d")->line, 5);
    assert_true(str_is(json_get(top, "e")->text, "x\ny"));
    assert_null(json_get(top, "A"));
    assert_null(json_get(a, "a"));
    assert_null(json_get(NULL, "a"));
    assert_false(json_is(NULL, JSON_NULL));
}

static void words_of_python_are_numbers(void **state)
{
    struct fixture *f = *state;
    const struct json *row = json_get(read_sample(f, DATA "nan_inf.json"), "log_history")->child;

    assert_true(json_is(json_get(row, "loss"), JSON_NUMBER));
    assert_true(isnan(json_get(row, "loss")->number));
    assert_true(json_get(row, "grad_norm")->number == INFINITY);
    assert_true(json_get(row->next, "loss")->number == -INFINITY);
    assert_true(str_is(json_get(row->next, "loss")->text, "-Infinity"));
    assert_false(json_get(row, "loss")->is_integer);
    assert_int_equal(f->n_repairs, 0);
}

static void numbers_are_exact(void **state)
{
    const struct json *top = read_sample(*state, DATA "numbers.json");

    assert_true(str_is(json_get(top, "i")->text, "9007199254740993"));
    assert_true(str_is(json_get(top, "k")->text, "1234567890123456789012345678901234567890"));
    assert_true(json_get(top, "f")->number == 0.30000000000000004);
    assert_true(json_get(top, "g")->number == INFINITY);
    assert_true(json_get(top, "h")->number == 1e-05);
    assert_written(top, "{\"i\":9007199254740993,\"j\":18446744073709551616,"
                        "\"k\":1234567890123456789012345678901234567890,"
                        "\"f\":0.30000000000000004,\"g\":Infinity,\"h\":1e-05}");
}

static void the_last_of_duplicate_keys_counts(void **state)
{
    struct fixture *f = *state;
    const struct json *top = read_sample(f, DATA "duplicate_keys.json");

    assert_int_equal(top->n, 2);
    assert_true(json_get(top, "a")->number == 2);
    assert_int_equal(f->n_repairs, 1);
    assert_written(parsed(f, "{\"a\":1,\"b\":[1],\"a\":2,\"b\":3,\"a\":{\"c\":4}}"),
                   "{\"a\":{\"c\":4},\"b\":3}");
    assert_int_equal(f->n_repairs, 3);
}

static void many_duplicates_are_found_without_comparing_all(void **state)
{
    struct fixture *f = *state;
    struct buf text;

    buf_init(&text, 8 << 20);
    for (int i = 0; i < 60000; i++)
        buf_printf(&text, "%s\"key%d\":%d", i ? "," : "{", i % 30000, i);
    buf_putc(&text, '}');
    assert_int_equal(parse(f, buf_view(&text)), OK);
    assert_int_equal(f->top->n, 30000);
    assert_int_equal(f->n_repairs, 30000);
    assert_true(json_get(f->top, "key0")->number == 30000);
    assert_true(json_get(f->top, "key29999")->number == 59999);
    buf_free(&text);
}

static void lone_surrogates_and_zeros_are_replaced_and_counted(void **state)
{
    struct fixture *f = *state;
    const struct json *top = read_sample(f, DATA "lone_surrogates.json");

    assert_true(str_is(json_get(top, "a")->text, "\xEF\xBF\xBD"));
    assert_true(str_is(json_get(top, "b")->text, "\xEF\xBF\xBDx"));
    assert_true(str_is(json_get(top, "c")->text, "\xF0\x9F\x98\x80"));
    assert_true(str_is(json_get(top, "d")->text, "NaN inside"));
    assert_int_equal(f->n_repairs, 2);
    top = read_sample(f, DATA "nul_escape.json");
    assert_true(str_is(top->child->key, "a\xEF\xBF\xBD"
                                        "b"));
    assert_true(str_is(top->child->text, "x\xEF\xBF\xBDy"));
    assert_int_equal(f->n_repairs, 2);
    top = parsed(f, "\"\\ud83d\\ud83d\\ude00\\ude00\"");
    assert_true(str_is(top->text, "\xEF\xBF\xBD\xF0\x9F\x98\x80\xEF\xBF\xBD"));
    assert_int_equal(f->n_repairs, 2);
}

static void raw_zeros_and_invalid_bytes_are_replaced_and_counted(void **state)
{
    struct fixture *f = *state;

    assert_true(str_is(json_get(read_sample(f, DATA "raw_nul.json"), "a")->text, "x\xEF\xBF\xBDy"));
    assert_int_equal(f->n_repairs, 1);
    read_sample(f, DATA "bad_utf8.json");
    assert_true(
        str_is(json_get(f->top, "a")->text, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"));
    assert_int_equal(f->n_repairs, 4);
    assert_true(str_is(read_sample(f, DATA "raw_control.json")->child->text, "a\tb"));
}

static void escapes_are_decoded(void **state)
{
    struct fixture *f = *state;

    assert_true(str_is(parsed(f, "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e4\\u4E2d\"")->text,
                       "\"\\/\b\f\n\r\tA\xC3\xA4\xE4\xB8\xAD"));
    assert_int_equal(f->n_repairs, 0);
    assert_int_equal(parse(f, str_of("\"\\x\"")), E_PARSE);
    assert_int_equal(parse(f, str_of("\"\\u12\"")), E_PARSE);
    assert_int_equal(parse(f, str_of("\"\\u12g4\"")), E_PARSE);
    assert_int_equal(parse(f, str_of("\"\\")), E_PARSE);
}

static void a_mark_at_the_start_is_skipped(void **state)
{
    assert_true(json_is(json_get(read_sample(*state, DATA "bom.json"), "bom"), JSON_TRUE));
}

static void wrong_documents_are_refused_with_their_place(void **state)
{
    static const struct {
        const char *text;
        int64_t line, byte;
    } cases[] = {
        {"", 1, 0},
        {"  ", 1, 2},
        {"[1,]", 1, 3},
        {"{} trailing", 1, 3},
        {"{}{}", 1, 2},
        {"truex", 1, 4},
        {"tru", 1, 3},
        {"[01]", 1, 2},
        {"[1.]", 1, 2},
        {"[1e]", 1, 2},
        {"[+1]", 1, 1},
        {"[.5]", 1, 1},
        {"[-]", 1, 1},
        {"{\"a\" 1}", 1, 5},
        {"{a: 1}", 1, 1},
        {"{'a': 1}", 1, 1},
        {"[1\n2]", 2, 3},
        {"[\n\n\"x", 3, 5},
        {"{\"a\":\n}", 2, 6},
        {"nan", 1, 0},
        {"[1 // no\n]", 1, 3},
        {"[\"a\"\n,\n", 3, 7},
        {"\x01", 1, 0},
        {"{\"a\":1,}", 1, 7},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (parse(f, str_of(cases[i].text)) != E_PARSE)
            fail_msg("'%s' is accepted", cases[i].text);
        if (f->err.line != cases[i].line || f->err.byte != cases[i].byte)
            fail_msg("'%s': line %d byte %d", cases[i].text, (int)f->err.line, (int)f->err.byte);
        assert_null(f->top);
    }
}

static void comments_are_skipped_only_where_allowed(void **state)
{
    static const char text[] =
        "// first\n{ /* two\nlines */ \"a\": 1, // \"b\": 2\n \"c\": \"//\"}\n//";
    struct fixture *f = *state;

    assert_int_equal(json_parse(str_of(text), true, f->arena, &f->top, NULL, &f->err), OK);
    assert_int_equal(f->top->n, 2);
    assert_int_equal(json_get(f->top, "c")->line, 4);
    assert_true(str_is(json_get(f->top, "c")->text, "//"));
    assert_int_equal(parse(f, str_of(text)), E_PARSE);
    assert_int_equal(json_parse(str_of("[1 /* "), true, f->arena, &f->top, NULL, &f->err), E_PARSE);
    assert_int_equal(json_parse(str_of("[1 / 2]"), true, f->arena, &f->top, NULL, &f->err),
                     E_PARSE);
}

static int parse_nested(struct fixture *f, int depth, bool is_closed)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    buf_repeat(&text, '[', (size_t)depth);
    buf_repeat(&text, ']', is_closed ? (size_t)depth : 0);

    int rc = parse(f, buf_view(&text));

    buf_free(&text);
    return rc;
}

static void nesting_has_a_limit(void **state)
{
    assert_int_equal(parse_nested(*state, JSON_MAX_DEPTH, true), OK);
    assert_int_equal(parse_nested(*state, JSON_MAX_DEPTH + 1, true), E_LIMIT);
    assert_int_equal(parse_nested(*state, 100000, true), E_LIMIT);
    assert_int_equal(parse_nested(*state, 100000, false), E_LIMIT);
}

static void a_document_beyond_its_memory_is_refused(void **state)
{
    struct fixture *f = *state;
    struct arena *small = arena_open(2000);

    assert_int_equal(json_parse(str_of("[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]"),
                                false, small, &f->top, NULL, &f->err),
                     E_LIMIT);
    arena_close(small);
}

static void files_that_are_something_else_are_named(void **state)
{
    struct fixture *f = *state;
    char *folder = tempdir_make();

    tempdir_write_text(folder, "a.json", "version https://git-lfs.github.com/spec/v1\n");
    tempdir_write(folder, "b.json", "\xFF\xFE{\0}\0", 6);
    tempdir_write_text(folder, "c.json", "");
    tempdir_write_text(folder, "d.json", "{\n\"a\": }");
    assert_int_equal(
        json_read_file(tempdir_path(folder, "a.json"), false, f->arena, &f->top, NULL, &f->err),
        E_UNSUPPORTED);
    assert_non_null(strstr(f->err.message, "LFS"));
    assert_int_equal(
        json_read_file(tempdir_path(folder, "b.json"), false, f->arena, &f->top, NULL, &f->err),
        E_UNSUPPORTED);
    assert_int_equal(
        json_read_file(tempdir_path(folder, "c.json"), false, f->arena, &f->top, NULL, &f->err),
        E_PARSE);
    assert_int_equal(
        json_read_file(tempdir_path(folder, "d.json"), false, f->arena, &f->top, NULL, &f->err),
        E_PARSE);
    assert_int_equal(f->err.line, 2);
    assert_string_equal(f->err.path, tempdir_path(folder, "d.json"));
    assert_int_equal(
        json_read_file(tempdir_path(folder, "e.json"), false, f->arena, &f->top, NULL, NULL),
        E_NOTFOUND);
    tempdir_remove(folder);
}

/* ---- writing ---- */

static void writing_is_compact_and_exact(void **state)
{
    struct fixture *f = *state;

    assert_written(
        parsed(f, " { \"a\" : [ 1 , 2.50 , 1E5, -0, -0.0, 123456789012345678901 ] , "
                  "\"\\u00e4\\n\\u0001\\\"\" : { } , \"n\":[null,true,false,NaN,-Infinity,[]]}"),
        "{\"a\":[1,2.5,100000.0,0,-0.0,123456789012345678901],"
        "\"\xC3\xA4\\n\\u0001\\\"\":{},\"n\":[null,true,false,NaN,-Infinity,[]]}");
}

static void strings_are_escaped_and_made_valid(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    json_write_string(&out, str_from("a\0\x1F\"\\/\x7F\xFF\t", 9));
    assert_string_equal(out.p, "\"a\\u0000\\u001f\\\"\\\\/\\u007f\xEF\xBF\xBD\\t\"");
    buf_clear(&out);
    json_write_string(&out, str_from(NULL, 0));
    assert_string_equal(out.p, "\"\"");
    buf_free(&out);
}

/* CSI as one character, bidi override, line separator, a tag; and a tree keeps them as they are. */
static void what_a_terminal_would_obey_is_an_escape(void **state)
{
    static const char TEXT[] = "\xC2\x9B\xE2\x80\xAE\xE2\x80\xA8\xF3\xA0\x81\x81\xC3\xA9";
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    json_write_string(&out, str_of(TEXT));
    assert_string_equal(out.p, "\"\\u009b\\u202e\\u2028\\udb40\\udc41\xC3\xA9\"");
    buf_clear(&out);
    json_write(&out, &(struct json){.type = JSON_STRING, .text = str_of(TEXT)});
    assert_memory_equal(out.p + 1, TEXT, sizeof TEXT - 1);
    buf_free(&out);
}

static void numbers_that_json_lacks_are_strings(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    json_write_number(&out, NAN);
    json_write_number(&out, INFINITY);
    json_write_number(&out, -INFINITY);
    json_write_number(&out, 0.1);
    assert_string_equal(out.p, "\"NaN\"\"Infinity\"\"-Infinity\"0.1");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_keep_type_text_and_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_of_python_are_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_last_of_duplicate_keys_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_duplicates_are_found_without_comparing_all, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(lone_surrogates_and_zeros_are_replaced_and_counted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(raw_zeros_and_invalid_bytes_are_replaced_and_counted,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(escapes_are_decoded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_mark_at_the_start_is_skipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_documents_are_refused_with_their_place, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(comments_are_skipped_only_where_allowed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nesting_has_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_document_beyond_its_memory_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_that_are_something_else_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writing_is_compact_and_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(strings_are_escaped_and_made_valid, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_terminal_would_obey_is_an_escape, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_that_json_lacks_are_strings, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
