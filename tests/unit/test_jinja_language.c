/* The language of chat templates by cases, whose expectations are what jinja2 gave. Limits and
 * pieces are test_jinja_limits.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/source.h"
#include "core/text/jinja/jinja.h"

#define CASES "tests/engines/jinja/language.json"

static const struct jinja_settings frozen = {.now = 1768435200}; /* 2026-01-15 */

static int render(struct str text, const struct json *context, struct jinja_output *output,
                  struct jinja_failure *failure)
{
    struct jinja_program *program = NULL;
    int rc = jinja_compile(&program, text, failure, NULL);

    if (rc != OK)
        return rc;
    rc = jinja_render(program, context, &frozen, output, failure, NULL);
    jinja_close(program);
    return rc;
}

/* 1 when the case came out as jinja2 has it. */
static int check(const struct json *one, const struct json *context, struct jinja_output *output)
{
    const struct json *text = json_get(one, "text");
    struct str source = json_get(one, "template")->text;
    struct jinja_failure failure = {.kind = JINJA_RUNTIME};
    int rc = render(source, context, output, &failure);

    if (!text && rc != OK)
        return 1;
    if (text && rc == OK && str_eq(text->text, buf_view(&output->text)))
        return 1;
    print_error("%.*s\n  gives %.*s, not %.*s\n", (int)source.n, source.p,
                rc == OK ? (int)output->text.n : (int)strlen(failure.message),
                rc == OK ? output->text.p : failure.message, text ? (int)text->text.n : 8,
                text ? text->text.p : "an error");
    return 0;
}

static void test_templates_render_as_jinja2_renders_them(void **state)
{
    struct arena *arena = arena_open((size_t)64 << 20);
    struct jinja_output output = {0};
    const struct json *document = NULL, *context;
    struct error err;
    char *text;
    size_t n, n_cases = 0, n_right = 0;

    (void)state;
    assert_non_null(arena);
    assert_int_equal(source_slurp(CASES, (size_t)8 << 20, &text, &n, &err), OK);
    assert_int_equal(json_parse_exact(str_from(text, n), arena, &document, &err), OK);
    context = json_get(document, "context");
    for (const struct json *one = json_get(document, "cases")->child; one; one = one->next) {
        n_cases++;
        n_right += (size_t)check(one, context, &output);
    }
    assert_true(n_cases > 300);
    assert_int_equal(n_right, n_cases);
    jinja_output_free(&output);
    arena_close(arena);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_templates_render_as_jinja2_renders_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
