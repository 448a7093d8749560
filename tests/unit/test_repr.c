/* core/read/repr: what Python and Rust programs print of their arguments. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/read/repr.h"

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

static void expect(const char *text, const char *json)
{
    const struct json *value = NULL;
    struct error err = {0};
    struct buf out;
    size_t used = 0;

    if (repr_parse(str_of(text), arena, &value, &used, &err) != OK)
        fail_msg("%s: %s", text, err.message);
    buf_init(&out, 1 << 20);
    json_write(&out, value);
    assert_string_equal(out.p, json);
    buf_free(&out);
}

static void expect_refusal(const char *text, int status)
{
    const struct json *value = NULL;
    struct error err = {0};
    size_t used = 0;

    assert_int_equal(repr_parse(str_of(text), arena, &value, &used, &err), status);
}

static void a_namespace_is_an_object(void **state)
{
    (void)state;
    expect("Namespace(model='org/x', n=4, f=0.5, on=True, off=False, none=None)",
           "{\"model\":\"org/x\",\"n\":4,\"f\":0.5,\"on\":true,\"off\":false,\"none\":null}");
}

static void calls_lists_and_dicts_nest(void **state)
{
    (void)state;
    expect("{'a': [LoRAModulePath(name='s', path='/p', base=None)], \"b\": (1, 2), 'c': {'d': -1e-3}}",
           "{\"a\":[{\"name\":\"s\",\"path\":\"/p\",\"base\":null}],\"b\":[1,2],\"c\":{\"d\":-0.001}}");
}

static void wrapped_values_and_bare_words_are_their_text(void **state)
{
    (void)state;
    expect("A(p=PosixPath('/x'), d=torch.bfloat16, e=<Mode.ON: 'on'>, f=<function g at 0x7f>)",
           "{\"p\":\"/x\",\"d\":\"torch.bfloat16\",\"e\":\"on\",\"f\":\"function g at 0x7f\"}");
}

static void rusts_debug_form_is_the_same(void **state)
{
    (void)state;
    expect("Args {\n    model_id: \"org/x\",\n    revision: None,\n    max: Some(\n        4096,\n    ),\n"
           "    q: Some(\n        Awq,\n    ),\n    trust: false,\n}",
           "{\"model_id\":\"org/x\",\"revision\":null,\"max\":4096,\"q\":\"Awq\",\"trust\":false}");
}

static void escapes_are_decoded(void **state)
{
    (void)state;
    expect("['a\\n\\'b\\x41\\u00e9', \"\\u{e9}\"]", "[\"a\\n'bAé\",\"é\"]");
}

static void empty_forms_keep_their_kind(void **state)
{
    (void)state;
    expect("[[], {}, (), X()]", "[[],{},[],{}]");
}

static void what_breaks_off_is_refused(void **state)
{
    static const char *const CUT[] = {"Namespace(a=", "Namespace(a='x", "[1, 2", "{'a' 1}", "",
                                      "<Enum.X: 'y'", "['\\x4"};

    (void)state;
    for (size_t i = 0; i < sizeof CUT / sizeof *CUT; i++)
        expect_refusal(CUT[i], E_PARSE);
}

static void nesting_is_bounded(void **state)
{
    char text[2001];

    (void)state;
    memset(text, '[', 2000);
    text[2000] = '\0';
    expect_refusal(text, E_LIMIT);
}

static void text_may_go_on_behind_the_value(void **state)
{
    const struct json *value = NULL;
    struct error err = {0};
    size_t used = 0;

    (void)state;
    assert_int_equal(repr_parse(str_of("A(x=1) and more"), arena, &value, &used, &err), OK);
    assert_int_equal(used, 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_namespace_is_an_object),
        TEST(calls_lists_and_dicts_nest),
        TEST(wrapped_values_and_bare_words_are_their_text),
        TEST(rusts_debug_form_is_the_same),
        TEST(escapes_are_decoded),
        TEST(empty_forms_keep_their_kind),
        TEST(what_breaks_off_is_refused),
        TEST(nesting_is_bounded),
        TEST(text_may_go_on_behind_the_value),
    };

    return cmocka_run_group_tests_name("repr", tests, NULL, NULL);
}
