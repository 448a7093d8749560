/* The template lint on small templates, each with one property that holds or breaks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/text/template_lint.h"

#define LOOP(body) "{% for m in messages %}" body "{% endfor %}"
#define CHATML     "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
#define HEADER     "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

static int setup(void **state)
{
    *state = arena_open(ARENA_CHECK_BYTES);
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    arena_close(*state);
    return 0;
}

static struct lint lint_of(void **state, const char *text)
{
    struct lint lint;
    struct error err = {0};

    assert_int_equal(template_lint(str_of(text), NULL, *state, &lint, &err), OK);
    return lint;
}

static void expect(const struct lint *lint, enum lint_property property, enum lint_verdict verdict,
                   const char *shape)
{
    assert_int_equal(lint->lines[property].verdict, verdict);
    if (shape)
        assert_string_equal(lint->lines[property].shape, shape);
}

static void plain_chatml_breaks_nothing_but_parts_and_null(void **state)
{
    struct lint lint = lint_of(state, LOOP(CHATML) HEADER);

    expect(&lint, LINT_RENDERS, LINT_OK, NULL);
    expect(&lint, LINT_PREFIX, LINT_OK, NULL);
    expect(&lint, LINT_GENERATION_PROMPT, LINT_OK, NULL);
    expect(&lint, LINT_MARKERS, LINT_OK, NULL);
    expect(&lint, LINT_CONTENT, LINT_OK, NULL);
    expect(&lint, LINT_CLOCK, LINT_OK, NULL);
    expect(&lint, LINT_GENERATION_SPANS, LINT_NOT_APPLICABLE, NULL);
    expect(&lint, LINT_REPR, LINT_FAILS, "content as parts");
}

static void texts_alone_leak_no_repr(void **state)
{
    struct lint lint =
        lint_of(state, LOOP("{% if m.content is string %}" CHATML "{% endif %}") HEADER);

    expect(&lint, LINT_REPR, LINT_OK, NULL);
    assert_false(lint.fails);
}

static void a_template_that_does_not_compile_fails_at_its_line(void **state)
{
    struct lint lint = lint_of(state, "a\n{% for %}");

    expect(&lint, LINT_RENDERS, LINT_FAILS, NULL);
    assert_non_null(strstr(lint.lines[LINT_RENDERS].text, "syntax at line 2"));
    expect(&lint, LINT_PREFIX, LINT_NOT_APPLICABLE, NULL);
}

static void its_own_refusal_is_a_note(void **state)
{
    struct lint lint = lint_of(
        state, "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" LOOP(
                   CHATML) HEADER);

    expect(&lint, LINT_RENDERS, LINT_NOTE, "system, user, assistant");
    assert_non_null(strstr(lint.lines[LINT_RENDERS].text, "no system"));
}

static void an_error_on_plain_turns_is_a_failure(void **state)
{
    struct lint lint = lint_of(state, LOOP("{{ m.name.first }}"));

    expect(&lint, LINT_RENDERS, LINT_FAILS, "user, assistant");
}

static void an_end_after_the_last_turn_alone_breaks_the_prefix(void **state)
{
    struct lint lint = lint_of(state, LOOP(CHATML) "<end>" HEADER);

    expect(&lint, LINT_PREFIX, LINT_FAILS, "user, assistant");
}

static void a_header_that_only_training_has_is_found(void **state)
{
    struct lint lint = lint_of(state, LOOP(CHATML));

    expect(&lint, LINT_GENERATION_PROMPT, LINT_FAILS, "user, assistant");
    assert_non_null(strstr(lint.lines[LINT_GENERATION_PROMPT].text, "adds nothing"));
}

static void a_newline_more_than_in_training_is_found(void **state)
{
    struct lint lint = lint_of(state, LOOP(CHATML) "{% if add_generation_prompt %}<|im_start|>assistant\n\n"
                                                   "{% endif %}");

    expect(&lint, LINT_GENERATION_PROMPT, LINT_FAILS, "user, assistant");
}

static void a_format_without_a_header_has_none_to_miss(void **state)
{
    struct lint lint = lint_of(state, LOOP("{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
                                           "{% else %}{{ m.content }}</s>{% endif %}"));

    expect(&lint, LINT_GENERATION_PROMPT, LINT_OK, NULL);
    expect(&lint, LINT_MARKERS, LINT_OK, NULL);
}

static void a_thinking_block_behind_the_header_is_a_note(void **state)
{
    struct lint lint = lint_of(state, LOOP("<|im_start|>{{ m.role }}\n"
                                           "{% if m.role == 'assistant' %}<think>\n\n"
                                           "</think>\n\n{% endif %}{{ m.content }}<|im_end|>\n") HEADER);

    expect(&lint, LINT_GENERATION_PROMPT, LINT_NOTE, "user, assistant");
}

static void a_turn_that_is_not_closed_is_found(void **state)
{
    struct lint lint = lint_of(state, LOOP("<|im_start|>{{ m.role }}\n{{ m.content }}"
                                           "{% if not loop.last %}<|im_end|>{% endif %}\n"));

    expect(&lint, LINT_MARKERS, LINT_FAILS, "user, assistant");
}

static void trimmed_and_lost_contents_are_told_apart(void **state)
{
    struct lint trimmed = lint_of(state, LOOP("{{ m.role }}: {{ m.content|trim }}\n"));
    struct lint lost = lint_of(state, LOOP("{{ m.role }}: {{ m.content|upper }}\n"));

    expect(&trimmed, LINT_CONTENT, LINT_NOTE, "blanks at the edges");
    expect(&lost, LINT_CONTENT, LINT_FAILS, "user, assistant");
}

static void the_day_in_the_text_is_found(void **state)
{
    struct lint lint = lint_of(state, "{{ strftime_now('%Y') }}" LOOP(CHATML) HEADER);

    expect(&lint, LINT_CLOCK, LINT_FAILS, "user, assistant");
}

#define SPANS(inside, outside)                                                                      \
    LOOP("{% if m.role == 'assistant' %}<|im_start|>assistant\n{% generation %}{{ m.content }}" inside \
         "{% endgeneration %}" outside "\n{% else %}" CHATML "{% endif %}") HEADER

static void spans_have_to_hold_the_end_of_turn(void **state)
{
    struct lint good = lint_of(state, SPANS("<|im_end|>", ""));
    struct lint bad = lint_of(state, SPANS("", "<|im_end|>"));

    expect(&good, LINT_GENERATION_SPANS, LINT_OK, NULL);
    expect(&bad, LINT_GENERATION_SPANS, LINT_FAILS, "user, assistant");
    assert_non_null(strstr(bad.lines[LINT_GENERATION_SPANS].text, "<|im_end|>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plain_chatml_breaks_nothing_but_parts_and_null, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_alone_leak_no_repr, setup, teardown),
        cmocka_unit_test_setup_teardown(a_template_that_does_not_compile_fails_at_its_line, setup, teardown),
        cmocka_unit_test_setup_teardown(its_own_refusal_is_a_note, setup, teardown),
        cmocka_unit_test_setup_teardown(an_error_on_plain_turns_is_a_failure, setup, teardown),
        cmocka_unit_test_setup_teardown(an_end_after_the_last_turn_alone_breaks_the_prefix, setup, teardown),
        cmocka_unit_test_setup_teardown(a_header_that_only_training_has_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(a_newline_more_than_in_training_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(a_format_without_a_header_has_none_to_miss, setup, teardown),
        cmocka_unit_test_setup_teardown(a_thinking_block_behind_the_header_is_a_note, setup, teardown),
        cmocka_unit_test_setup_teardown(a_turn_that_is_not_closed_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(trimmed_and_lost_contents_are_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(the_day_in_the_text_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(spans_have_to_hold_the_end_of_turn, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
