/* YAML as config loaders mean it: types, anchors and merge keys, places of errors, bombs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/yaml.h"
#include "tests/harness/tempdir.h"

struct fixture {
    struct arena *arena;
    const struct json *top;
    struct error err;
    struct buf text;
};

static int setup(void **state)
{
    static struct fixture fixture;

    memset(&fixture, 0, sizeof fixture);
    fixture.arena = arena_open(64u << 20);
    buf_init(&fixture.text, 1 << 20);
    *state = &fixture;
    return fixture.arena ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    arena_close(f->arena);
    buf_free(&f->text);
    return 0;
}

static int parse(struct fixture *f, const char *text)
{
    return yaml_parse(str_of(text), f->arena, &f->top, &f->err);
}

static const char *as_json(struct fixture *f)
{
    buf_clear(&f->text);
    json_write(&f->text, f->top);
    return f->text.p;
}

static void plain_scalars_are_typed_as_loaders_mean_them(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *text;
        enum json_type type;
        double number;
        const char *shown;
    } cases[] = {
        {"2e-5", JSON_NUMBER, 2e-5, "2e-5"},
        {"1.0e-4", JSON_NUMBER, 1e-4, "1.0e-4"},
        {"1_000", JSON_NUMBER, 1000, "1000"},
        {"010", JSON_NUMBER, 8, "8"},
        {"0x1F", JSON_NUMBER, 31, "31"},
        {"-3", JSON_NUMBER, -3, "-3"},
        {".5", JSON_NUMBER, 0.5, "0.5"},
        {"+5", JSON_NUMBER, 5, "5.0"},
        {".inf", JSON_NUMBER, INFINITY, NULL},
        {"-.Inf", JSON_NUMBER, -INFINITY, NULL},
        {"yes", JSON_TRUE, 0, NULL},
        {"On", JSON_TRUE, 0, NULL},
        {"TRUE", JSON_TRUE, 0, NULL},
        {"no", JSON_FALSE, 0, NULL},
        {"off", JSON_FALSE, 0, NULL},
        {"~", JSON_NULL, 0, NULL},
        {"null", JSON_NULL, 0, NULL},
        {"12:30:45", JSON_STRING, 0, "12:30:45"},
        {"'2e-5'", JSON_STRING, 0, "2e-5"},
        {"\"no\"", JSON_STRING, 0, "no"},
        {"!!python/object:os.system x", JSON_STRING, 0, "x"},
        {"1.2.3", JSON_STRING, 0, "1.2.3"},
        {"_", JSON_STRING, 0, "_"},
        {"${output_dir}/logs", JSON_STRING, 0, "${output_dir}/logs"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(f, cases[i].text), OK);
        assert_int_equal(f->top->type, cases[i].type);
        if (cases[i].type == JSON_NUMBER)
            assert_true(f->top->number == cases[i].number);
        if (cases[i].shown)
            assert_true(str_is(f->top->text, cases[i].shown));
    }
    assert_int_equal(parse(f, ".nan"), OK);
    assert_true(f->top->type == JSON_NUMBER && isnan(f->top->number));
}

static void whole_numbers_are_marked_whole(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(parse(f, "16"), OK);
    assert_true(f->top->is_integer);
    assert_int_equal(parse(f, "16.0"), OK);
    assert_false(f->top->is_integer);
}

static void merge_keys_fill_what_the_mapping_does_not_say(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(parse(f, "base: &b {lr: 1, r: 8}\nother: &o {lr: 3, x: 9}\n"
                              "run:\n  <<: [*b, *o]\n  r: 16\n"),
                     OK);
    f->top = json_get(f->top, "run");
    assert_string_equal(as_json(f), "{\"x\":9,\"lr\":1,\"r\":16}");
}

static void of_duplicate_keys_the_last_wins(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(parse(f, "a: 1\nb: 2\na: 3\n"), OK);
    assert_string_equal(as_json(f), "{\"b\":2,\"a\":3}");
    assert_int_equal(json_get(f->top, "a")->line, 3);
}

static void errors_name_the_line(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(parse(f, "a: 1\nb: [1, 2\nc: 3\n"), E_PARSE);
    assert_true(f->err.line >= 2);
    assert_int_equal(parse(f, "a: *nobody\n"), E_PARSE);
    assert_int_equal(parse(f, "a: \xff\xfe\n"), E_PARSE);
}

static void aliases_that_explode_or_contain_themselves_are_refused(void **state)
{
    struct fixture *f = *state;
    const char *const laughs =
        "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
        "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
        "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
        "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
        "f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";

    assert_int_equal(parse(f, laughs), E_LIMIT);
    assert_int_equal(parse(f, "&a [*a]"), E_LIMIT);
    assert_int_equal(parse(f, "&a {<<: *a}"), E_LIMIT);
    char deep[300];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    deep[200] = '\0';
    assert_int_equal(parse(f, deep), E_LIMIT);
}

/* The loader alone needs minutes for these, and then tells that they do not end. */
static void thousands_of_open_brackets_are_refused_before_they_are_loaded(void **state)
{
    static const char *const OPENERS[] = {"[", "{", "- ", "? ", "{a: ["};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof OPENERS / sizeof *OPENERS; i++) {
        struct buf text;

        buf_init(&text, 1 << 20);
        buf_puts(&text, "lora_r: 8\nx:\n  ");
        for (size_t k = 0; k < 20000; k++)
            buf_puts(&text, OPENERS[i]);
        assert_int_equal(parse(f, text.p), E_LIMIT);
        assert_int_equal(f->err.line, 3);
        buf_free(&text);
    }
}

static void a_long_list_is_not_deep(void **state)
{
    struct fixture *f = *state;
    struct buf text;

    buf_init(&text, 1 << 20);
    for (size_t k = 0; k < 3000; k++)
        buf_puts(&text, "- [1, {a: b}]\n");
    assert_int_equal(parse(f, text.p), OK);
    buf_free(&text);
}

static void an_empty_file_is_null(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(parse(f, ""), OK);
    assert_int_equal(f->top->type, JSON_NULL);
    assert_int_equal(parse(f, "# only a comment\n"), OK);
    assert_int_equal(f->top->type, JSON_NULL);
}

static void front_matter_lies_between_two_lines_of_dashes(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(
        yaml_front_matter(str_of("\n---\r\nbase_model: x\r\ntags: [a]\r\n---\r\n# Card\n"),
                          f->arena, &f->top, &f->err),
        OK);
    assert_string_equal(as_json(f), "{\"base_model\":\"x\",\"tags\":[\"a\"]}");
    assert_int_equal(json_get(f->top, "base_model")->line, 3);
    assert_int_equal(yaml_front_matter(str_of("# Card\n---\n"), f->arena, &f->top, &f->err),
                     E_NOTFOUND);
    assert_int_equal(yaml_front_matter(str_of("---\na: 1\n"), f->arena, &f->top, &f->err),
                     E_NOTFOUND);
    assert_int_equal(yaml_front_matter(str_of(""), f->arena, &f->top, &f->err), E_NOTFOUND);
}

static int read_documents(struct fixture *f, const char *folder, const char *text)
{
    tempdir_write_text(folder, "several.yaml", text);
    return yaml_read_documents(tempdir_path(folder, "several.yaml"), f->arena, &f->top, &f->err);
}

static void several_documents_are_a_list_and_one_is_itself(void **state)
{
    struct fixture *f = *state;
    char *folder = tempdir_make();

    assert_int_equal(read_documents(f, folder, "kind: Service\n---\nkind: Pod\nspec: [1]\n"), OK);
    assert_string_equal(as_json(f), "[{\"kind\":\"Service\"},{\"kind\":\"Pod\",\"spec\":[1]}]");
    assert_int_equal(f->top->n, 2);
    assert_int_equal(f->top->child->next->line, 3);
    assert_int_equal(yaml_read_file(tempdir_path(folder, "several.yaml"), f->arena, &f->top, &f->err), OK);
    assert_string_equal(as_json(f), "{\"kind\":\"Service\"}");
    assert_int_equal(read_documents(f, folder, "---\nkind: Pod\n---\n"), OK);
    assert_string_equal(as_json(f), "{\"kind\":\"Pod\"}");
    assert_int_equal(read_documents(f, folder, "# nothing\n"), OK);
    assert_string_equal(as_json(f), "null");
    assert_int_equal(read_documents(f, folder, "a: 1\n---\nb: [\n"), E_PARSE);
    tempdir_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plain_scalars_are_typed_as_loaders_mean_them, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(whole_numbers_are_marked_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(merge_keys_fill_what_the_mapping_does_not_say, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(of_duplicate_keys_the_last_wins, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_name_the_line, setup, teardown),
        cmocka_unit_test_setup_teardown(aliases_that_explode_or_contain_themselves_are_refused,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            thousands_of_open_brackets_are_refused_before_they_are_loaded, setup, teardown),
        cmocka_unit_test_setup_teardown(a_long_list_is_not_deep, setup, teardown),
        cmocka_unit_test_setup_teardown(several_documents_are_a_list_and_one_is_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(an_empty_file_is_null, setup, teardown),
        cmocka_unit_test_setup_teardown(front_matter_lies_between_two_lines_of_dashes, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
