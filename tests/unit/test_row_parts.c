/* Input and target of rows of every form, and what is told of rows that lack one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/text/row_parts.h"

static struct arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = arena_open(ARENA_RENDER_BYTES);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_close(arena);
    return 0;
}

static struct row_parts parts_of(const char *text)
{
    struct conversation row;
    struct row_parts out;
    const struct json *tree;
    struct error err;

    assert_int_equal(json_parse_exact(str_of(text), arena, &tree, &err), OK);
    assert_int_equal(conversation_of_row(tree, NULL, arena, &row, &err), OK);
    assert_int_equal(row_parts_of(&row, arena, &out, &err), OK);
    assert_non_null(out.input.p);
    assert_non_null(out.target.p);
    return out;
}

static void check(const char *row, const char *input, const char *target)
{
    struct row_parts parts = parts_of(row);

    if (!str_is(parts.input, input))
        fail_msg("%s: input \"%.*s\"", row, (int)parts.input.n, parts.input.p);
    if (!str_is(parts.target, target))
        fail_msg("%s: target \"%.*s\"", row, (int)parts.target.n, parts.target.p);
    assert_int_equal(parts.flags, 0);
    assert_true(parts.has_target);
}

static void test_texts_before_the_last_answer_are_the_input(void **state)
{
    (void)state;
    check("{\"messages\": [{\"role\": \"system\", \"content\": \"S\"}, {\"role\": \"user\", "
          "\"content\":"
          " \"a\"}, {\"role\": \"assistant\", \"content\": \"b\"}, {\"role\": \"user\", "
          "\"content\": \"c\"},"
          " {\"role\": \"assistant\", \"content\": \"d\"}]}",
          "S\na\nb\nc", "d");
    check("{\"conversations\": [{\"from\": \"human\", \"value\": \"q\"}, {\"from\": \"gpt\", "
          "\"value\":"
          " \"a\"}], \"system\": \"S\"}",
          "S\nq", "a");
    check(
        "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"q\"},"
        " {\"type\": \"image\"}]}, {\"role\": \"assistant\", \"content\": \"a\"}]}",
        "q", "a");
}

static void test_each_pair_form_has_its_two_sides(void **state)
{
    (void)state;
    check("{\"prompt\": \"p\", \"completion\": \"c\"}", "p", "c");
    check("{\"prompt\": [{\"role\": \"user\", \"content\": \"p\"}], \"completion\": [{\"role\":"
          " \"assistant\", \"content\": \"c\"}]}",
          "p", "c");
    check("{\"prompt\": \"p\", \"completion\": \"c\", \"label\": true}", "p", "c");
    check("{\"prompt\": \"p\", \"chosen\": \"c\", \"rejected\": \"r\"}", "p", "c");
    check("{\"chosen\": \"c\", \"rejected\": \"r\"}", "", "c");
    check("{\"problem\": \"p\", \"chosen\": \"c\", \"rejected\": \"r\"}", "p", "c");
    check("{\"chosen\": [{\"role\": \"user\", \"content\": \"q\"}, {\"role\": \"assistant\", "
          "\"content\":"
          " \"c\"}], \"rejected\": [{\"role\": \"user\", \"content\": \"q\"}, {\"role\": "
          "\"assistant\","
          " \"content\": \"r\"}]}",
          "q", "c");
    check("{\"question\": \"q\", \"answer\": \"a\"}", "q", "a");
    check("{\"instruction\": \"i\", \"input\": \"x\", \"output\": \"o\"}", "i\nx", "o");
    check("{\"instruction\": \"i\", \"input\": \"\", \"output\": \"o\", \"system\": \"S\", "
          "\"history\":"
          " [[\"a\", \"b\"]]}",
          "S\na\nb\ni", "o");
    check("{\"text\": \"t\"}", "", "t");
}

static void test_a_class_is_the_target_of_its_text(void **state)
{
    (void)state;
    check("{\"text\": \"t\", \"label\": 1}", "t", "1");
    check("{\"text\": \"t\", \"label\": \"late\"}", "t", "late");
    check("{\"id\": \"7\", \"premise\": \"p\", \"hypothesis\": \"h\", \"label\": 2}", "p\nh", "2");
    check("{\"question\": \"q\", \"label\": false}", "q", "false");
    /* one class a token is none of the row */
    check("{\"text\": \"t\", \"labels\": [1, 2]}", "", "t");
}

static void test_what_is_missing_is_flagged(void **state)
{
    (void)state;
    assert_int_equal(parts_of("[1]").flags, ROW_NOT_READABLE);
    assert_int_equal(parts_of("{\"prompt\": \" \", \"completion\": \"c\"}").flags, ROW_EMPTY_INPUT);
    assert_int_equal(parts_of("{\"prompt\": \"p\", \"completion\": \"\\n\"}").flags,
                     ROW_EMPTY_TARGET);
    assert_int_equal(parts_of("{\"instruction\": \"p\", \"output\": null}").flags,
                     ROW_NULL_FIELD | ROW_EMPTY_TARGET);
    assert_int_equal(parts_of("{\"messages\": [{\"role\": \"user\", \"content\": \"q\"}, {\"role\":"
                              " \"assistant\", \"content\": null}]}")
                         .flags,
                     ROW_NULL_FIELD | ROW_EMPTY_TARGET);
    assert_int_equal(parts_of("{\"text\": \"\"}").flags, ROW_EMPTY_TARGET);
}

static void test_a_prompt_alone_and_a_tool_call_have_no_target(void **state)
{
    (void)state;
    struct row_parts parts = parts_of("{\"prompt\": \"p\"}");

    assert_true(str_is(parts.input, "p"));
    assert_false(parts.has_target);
    assert_int_equal(parts.flags, 0);
    parts = parts_of(
        "{\"messages\": [{\"role\": \"user\", \"content\": \"q\"}, {\"role\": \"assistant\","
        " \"content\": null, \"tool_calls\": [{\"function\": {\"name\": \"f\"}}]}]}");
    assert_true(str_is(parts.input, "q"));
    assert_false(parts.has_target);
    assert_int_equal(parts.flags, 0);
    parts = parts_of("{\"messages\": [{\"role\": \"user\", \"content\": \"q\"}]}");
    assert_true(str_is(parts.input, "q"));
    assert_false(parts.has_target);
    assert_false(parts_of("{\"input_ids\": [1, 2]}").has_target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_before_the_last_answer_are_the_input),
        cmocka_unit_test(test_each_pair_form_has_its_two_sides),
        cmocka_unit_test(test_a_class_is_the_target_of_its_text),
        cmocka_unit_test(test_what_is_missing_is_flagged),
        cmocka_unit_test(test_a_prompt_alone_and_a_tool_call_have_no_target),
    };

    return cmocka_run_group_tests_name("row_parts", tests, setup, teardown);
}
