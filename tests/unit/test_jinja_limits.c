/* Templates that would not end, spans and pieces of the output, and what is told of a program. The
 * language itself is test_jinja_language.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/jinja/jinja.h"

static struct arena *arena;
static struct jinja_output output;
static struct jinja_failure failure;

static int set_up(void **state)
{
    (void)state;
    arena = arena_open((size_t)16 << 20);
    return arena ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    jinja_output_free(&output);
    arena_close(arena);
    return 0;
}

static int render_with(const char *text, const char *context, const struct jinja_settings *settings)
{
    struct jinja_program *program = NULL;
    const struct json *tree = NULL;
    int rc = jinja_compile(&program, str_of(text), &failure, NULL);

    if (rc != OK)
        return rc;
    assert_int_equal(json_parse_exact(str_of(context), arena, &tree, NULL), OK);
    rc = jinja_render(program, tree, settings, &output, &failure, NULL);
    jinja_close(program);
    return rc;
}

static int render(const char *text, const char *context)
{
    static const struct jinja_settings plain;

    return render_with(text, context, &plain);
}

static void assert_limit(const char *text)
{
    if (render(text, "{}") == OK || failure.kind != JINJA_LIMIT)
        fail_msg("%.80s: not stopped by a limit but %s", text, failure.message);
}

static void test_templates_that_would_not_end_are_stopped(void **state)
{
    (void)state;
    assert_limit("{{ 'x' * 10**9 }}");
    assert_limit("{{ [0] * 10**9 }}");
    assert_limit("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}");
    assert_limit("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
    assert_limit("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}");
    assert_limit("{% set ns = namespace(a=[]) %}{% for i in range(5000) %}"
                 "{% set ns.a = [ns.a] %}{% endfor %}{{ ns.a }}");
    assert_limit("{% set ns = namespace(s='a') %}{% for i in range(60) %}"
                 "{% set ns.s = ns.s + ns.s %}{% endfor %}");
    assert_limit("{{ 9 ** 999999 }}");
    assert_limit("{{ '%1000000d' % 1 }}");
    assert_limit("{{ ''.center(10**9) }}");
    assert_limit("{% for i in range(99999) %}{{ 'abcdefgh' * 1000 }}{% endfor %}");
}

/* Few bytes, endless to walk: each tuple holds the one before it twice. */
static void test_shared_items_are_counted_each_time(void **state)
{
    (void)state;
    const char *const uses[] = {"{ns.a: 1}", "{}[ns.a]", "ns.a is filter", "[ns.a, ns.a] | unique | list"};

    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        char text[256];

        snprintf(text, sizeof text,
                 "{%% set ns = namespace(a=(1,)) %%}{%% for i in range(64) %%}"
                 "{%% set ns.a = (ns.a, ns.a) %%}{%% endfor %%}{%% set x = %s %%}",
                 uses[i]);
        assert_limit(text);
    }
}

static void test_a_call_has_so_many_keywords(void **state)
{
    struct buf text;
    (void)state;

    buf_init(&text, (size_t)1 << 20);
    buf_puts(&text, "{{ dict(");
    for (int i = 0; i < 30000; i++)
        buf_printf(&text, "a%d=1,", i);
    buf_puts(&text, ") }}");
    assert_limit(text.p);
    buf_free(&text);
}

/* What is read counts, also where nothing is made of it. */
static void test_reading_a_long_text_is_work(void **state)
{
    static const struct jinja_settings few = {.steps = 20000};
    const char *const uses[] = {"s.strip()", "s.rstrip(' ')", "s | trim", "s.startswith(s)",
                                "s.removesuffix(s)", "s.split(none, 1)", "s.rsplit(none, 1)",
                                "s == t", "s | int(9)"};
    (void)state;

    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        char text[256];

        snprintf(text, sizeof text,
                 "{%% set s = ' ' * 100000 %%}{%% set t = ' ' * 100000 %%}"
                 "{%% for i in range(99) %%}{%% set x = %s %%}{%% endfor %%}",
                 uses[i]);
        if (render_with(text, "{}", &few) == OK || failure.kind != JINJA_LIMIT)
            fail_msg("%s: not stopped by a limit", uses[i]);
    }
}

static void assert_deep_is_stopped(const char *unit, const char *end)
{
    struct buf text;

    buf_init(&text, (size_t)1 << 20);
    buf_puts(&text, "{{ ");
    for (int i = 0; i < 20000; i++)
        buf_puts(&text, unit);
    buf_puts(&text, end);
    assert_limit(text.p);
    buf_free(&text);
}

static void test_deep_nesting_is_stopped(void **state)
{
    (void)state;
    assert_deep_is_stopped("(", "");
    assert_deep_is_stopped("1+", "1 }}");
    assert_deep_is_stopped("not ", "1 }}");
    assert_deep_is_stopped("-", "1 }}");
    assert_deep_is_stopped("1 if 1 else ", "1 }}");
    assert_deep_is_stopped("1 }}{% if 1 %}{{ ", "1 }}");
}

static void test_limits_can_be_set(void **state)
{
    (void)state;
    assert_int_equal(render_with("{% for i in range(100) %}{% endfor %}", "{}",
                                 &(struct jinja_settings){.steps = 50}),
                     E_PARSE);
    assert_int_equal(failure.kind, JINJA_LIMIT);
    assert_int_equal(
        render_with("{{ 'abc' * 3 }}", "{}", &(struct jinja_settings){.output_bytes = 8}), E_PARSE);
    assert_int_equal(failure.kind, JINJA_LIMIT);
    assert_int_equal(
        render_with("{{ 'abc' * 3 }}", "{}", &(struct jinja_settings){.output_bytes = 9}), OK);
}

static void test_a_failure_tells_its_kind_and_line(void **state)
{
    (void)state;
    assert_int_equal(render("a\n{{ x.y }}", "{}"), E_PARSE);
    assert_int_equal(failure.kind, JINJA_RUNTIME);
    assert_int_equal(failure.line, 2);
    assert_string_equal(failure.message, "'x' is undefined");
    assert_int_equal(render("\n\n{% if %}", "{}"), E_PARSE);
    assert_int_equal(failure.kind, JINJA_SYNTAX);
    assert_int_equal(failure.line, 3);
    assert_int_equal(render("{{ raise_exception('no ' ~ 1) }}", "{}"), E_PARSE);
    assert_int_equal(failure.kind, JINJA_RAISED);
    assert_string_equal(failure.message, "no 1");
}

static void test_generation_blocks_have_spans_in_bytes(void **state)
{
    (void)state;
    assert_int_equal(
        render("é{% for m in l %}{% generation %}<{{ m }}>{% endgeneration %}-{% endfor %}",
               "{\"l\": [\"ü\", \"b\"]}"),
        OK);
    assert_string_equal(output.text.p, "é<ü>-<b>-");
    assert_int_equal(output.n_generation, 2);
    assert_int_equal(output.generation[0].begin, 2);
    assert_int_equal(output.generation[0].end, 6);
    assert_int_equal(output.generation[1].begin, 7);
    assert_int_equal(output.generation[1].end, 10);
}

static void test_pieces_tell_where_the_output_comes_from(void **state)
{
    (void)state;
    assert_int_equal(render_with("<u>{{ c|trim }}</u>{{ 1 + n }}", "{\"c\": \" hi \", \"n\": 1}",
                                 &(struct jinja_settings){.wants_pieces = true}),
                     OK);
    assert_string_equal(output.text.p, "<u>hi</u>2");
    assert_int_equal(output.n_pieces, 4);
    assert_true(output.pieces[0].is_literal);
    assert_false(output.pieces[1].is_literal);
    assert_non_null(output.pieces[1].value);
    assert_memory_equal(output.pieces[1].value, "hi", 2);
    assert_int_equal(output.pieces[1].begin, 3);
    assert_int_equal(output.pieces[1].end, 5);
    assert_null(output.pieces[3].value);
}

static void test_a_program_tells_what_it_uses(void **state)
{
    struct jinja_program *program = NULL;

    (void)state;
    assert_int_equal(jinja_compile(&program,
                                   str_of("{% set a = 1 %}{{ b }}{{ strftime_now('%Y') }}"
                                          "{% generation %}x{% endgeneration %}"),
                                   &failure, NULL),
                     OK);
    assert_true(jinja_has_generation(program));
    assert_true(jinja_uses_clock(program));
    jinja_close(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_templates_that_would_not_end_are_stopped, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_deep_nesting_is_stopped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shared_items_are_counted_each_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_call_has_so_many_keywords, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reading_a_long_text_is_work, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits_can_be_set, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failure_tells_its_kind_and_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_generation_blocks_have_spans_in_bytes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_pieces_tell_where_the_output_comes_from, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_program_tells_what_it_uses, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
