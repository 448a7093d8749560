/* Go's text/template by cases, whose expectations are what Go 1.26 gave: a text, or the line of the
 * complaint. Then what is refused, and what is bounded. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/source.h"
#include "core/text/go/ollama_parts.h"

#define CASES "tests/engines/go/language.json"

static const struct go_settings frozen = {.now = 1768435200, .utc_offset = -3600};

static int render(struct str text, const struct go_value *data, struct buf *out,
                  struct go_failure *failure)
{
    struct go_template *tmpl = NULL;
    struct error err;
    int rc = go_template_open(&tmpl, text, failure, &err);

    if (rc != OK)
        return rc;
    rc = go_template_render(tmpl, data, &frozen, out, failure, &err);
    go_template_close(tmpl);
    return rc;
}

/* 1 when the case came out as Go has it. */
static int check(const struct json *one, const struct go_value *data)
{
    const struct json *text = json_get(one, "text"), *line = json_get(one, "line");
    struct str source = json_get(one, "template")->text;
    struct go_failure failure = {.line = 0};
    struct buf out;

    buf_init(&out, GO_OUTPUT_BYTES);
    int rc = render(source, data, &out, &failure);
    int right = text ? rc == OK && str_eq(text->text, buf_view(&out))
                     : rc == E_PARSE && failure.line == (int)line->number && failure.message[0];

    if (!right)
        print_error("%.*s\n  gives %s\n  line %d: %s\n", (int)source.n, source.p,
                    out.p ? out.p : "", failure.line, failure.message);
    buf_free(&out);
    return right;
}

static void templates_render_and_fail_as_go_renders_them(void **state)
{
    struct arena *arena = arena_open((size_t)64 << 20);
    const struct json *document = NULL;
    struct error err;
    char *text;
    size_t n, n_cases = 0, n_right = 0;

    (void)state;
    assert_int_equal(source_slurp(CASES, 1 << 20, &text, &n, &err), OK);
    assert_int_equal(json_parse_exact(str_from(text, n), arena, &document, &err), OK);
    struct go_value data = ollama_any(arena, json_get(document, "context"));

    for (const struct json *one = json_get(document, "cases")->child; one; one = one->next) {
        n_cases++;
        n_right += (size_t)check(one, &data);
    }
    assert_true(n_cases > 100);
    assert_int_equal(n_right, n_cases);
    free(text);
    arena_close(arena);
}

/* ---- complaints ---- */

static struct go_failure failure_of(const char *text, int *rc)
{
    const struct go_value data = {.type = GO_MAP};
    struct go_failure failure = {.line = 0};
    struct buf out;

    buf_init(&out, GO_OUTPUT_BYTES * 2);
    *rc = render(str_of(text), &data, &out, &failure);
    buf_free(&out);
    return failure;
}

static void complaints_name_the_place_and_the_line(void **state)
{
    static const struct {
        const char *text, *message;
        int line;
    } cases[] = {
        {"a\n{{ .x.y }}", "at <.x.y>: nil pointer evaluating interface {}.y", 2},
        {"a\n\n{{ if .x }}", "unexpected EOF", 3},
        {"{{ $x }}", "undefined variable \"$x\"", 1},
        {"{{ eq 1 \"1\" }}",
         "at <eq 1 \"1\">: error calling eq: incompatible types for comparison: int and string", 1},
        {"{{ .a\n.b", "unclosed action started at line 1", 2},
        {"{{ template \"x\" . }}", "at <{{template \"x\" .}}>: template \"x\" not defined", 1},
        {"{{ range .x }}{{ end }}{{ len 3 }}", "at <len 3>: error calling len: len of type int", 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc;
        struct go_failure failure = failure_of(cases[i].text, &rc);

        assert_int_equal(rc, E_PARSE);
        assert_string_equal(failure.message, cases[i].message);
        assert_int_equal(failure.line, cases[i].line);
    }
}

static void what_is_not_known_is_refused_by_name(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a\n{{ trimSpace . }}", "function \"trimSpace\" not defined"},
        {"a\n{{ 1i }}", "complex number 1i"},
        {"a\n{{ printf \"%p\" . }}", "at <printf \"%p\" .>: prints an address"},
        {"a\n{{ printf \"%x\" 1.5 }}", "at <printf \"%x\" 1.5>: verb %x of a float"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc;
        struct go_failure failure = failure_of(cases[i].text, &rc);

        assert_int_equal(rc, E_UNSUPPORTED);
        assert_int_equal(failure.kind, GO_UNSUPPORTED);
        assert_string_equal(failure.message, cases[i].message);
        assert_int_equal(failure.line, 2);
    }
}

/* ---- bounds ---- */

static void what_never_ends_is_stopped(void **state)
{
    static const char *const cases[] = {
        "{{ define \"x\" }}{{ template \"x\" . }}{{ end }}{{ template \"x\" . }}",
        "{{ range 1000000000 }}{{ range 1000000000 }}{{ end }}{{ end }}",
        "{{ range 1000000000 }}0123456789012345678901234567890123456789{{ end }}",
        "{{ $x := \"x\" }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}",
        "{{ range 100000 }}{{ printf \"%999999d\" 1 }}{{ end }}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc;
        struct go_failure failure = failure_of(cases[i], &rc);

        assert_int_equal(rc, E_LIMIT);
        assert_int_equal(failure.kind, GO_LIMIT);
    }
}

static void deep_nesting_is_refused_not_followed(void **state)
{
    static const char *const parts[][3] = {
        {"(", "1", ")"}, {"{{ if 1 }}", "x", "{{ end }}"}};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct buf text;
        int rc;

        buf_init(&text, 1 << 20);
        buf_puts(&text, k == 0 ? "{{ " : "");
        for (int i = 0; i < 20000; i++)
            buf_puts(&text, parts[k][0]);
        buf_puts(&text, parts[k][1]);
        for (int i = 0; i < 20000; i++)
            buf_puts(&text, parts[k][2]);
        buf_puts(&text, k == 0 ? " }}" : "");
        struct go_failure failure = failure_of(text.p, &rc);

        assert_int_equal(rc, E_LIMIT);
        assert_string_equal(failure.message, "nested deeper than 200");
        buf_free(&text);
    }
}

static void a_template_above_the_limit_is_refused(void **state)
{
    char *text = malloc(GO_TEMPLATE_BYTES + 2);
    int rc;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', GO_TEMPLATE_BYTES + 1);
    text[GO_TEMPLATE_BYTES + 1] = '\0';
    failure_of(text, &rc);
    assert_int_equal(rc, E_LIMIT);
    free(text);
}

/* ---- the rest ---- */

static void what_was_written_before_a_failure_stays(void **state)
{
    const struct go_value data = {.type = GO_MAP};
    struct go_failure failure;
    struct buf out;

    (void)state;
    buf_init(&out, GO_OUTPUT_BYTES);
    buf_puts(&out, "before ");
    assert_int_equal(render(str_of("a{{ .x.y }}b"), &data, &out, &failure), E_PARSE);
    assert_string_equal(out.p, "before a");
    buf_free(&out);
}

static void dates_are_local_and_the_clock_stands_still(void **state)
{
    const struct go_value data = {.type = GO_MAP};
    struct go_failure failure;
    struct buf out;

    (void)state;
    buf_init(&out, GO_OUTPUT_BYTES);
    assert_int_equal(render(str_of("{{ currentDate }} {{ yesterdayDate \"x\" }}"), &data, &out,
                            &failure),
                     OK);
    assert_string_equal(out.p, "2026-01-14 2026-01-13");
    buf_free(&out);
}

static void variables_that_it_names_are_found(void **state)
{
    struct go_template *tmpl;
    struct go_failure failure;
    struct error err;

    (void)state;
    assert_int_equal(go_template_open(&tmpl, str_of("{{ if .System }}{{ end }}{{ (.Hidden).x }}"
                                                    "{{ define \"t\" }}{{ $.Messages }}{{ end }}"),
                                      &failure, &err),
                     OK);
    assert_true(go_template_names(tmpl, "system"));
    assert_true(go_template_names(tmpl, "messages"));
    assert_false(go_template_names(tmpl, "prompt"));
    assert_false(go_template_names(tmpl, "hidden")); /* Ollama does not look there */
    go_template_close(tmpl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates_render_and_fail_as_go_renders_them),
        cmocka_unit_test(complaints_name_the_place_and_the_line),
        cmocka_unit_test(what_is_not_known_is_refused_by_name),
        cmocka_unit_test(what_never_ends_is_stopped),
        cmocka_unit_test(deep_nesting_is_refused_not_followed),
        cmocka_unit_test(a_template_above_the_limit_is_refused),
        cmocka_unit_test(what_was_written_before_a_failure_stays),
        cmocka_unit_test(dates_are_local_and_the_clock_stands_still),
        cmocka_unit_test(variables_that_it_names_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
