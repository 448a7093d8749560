/* Rows in the one shape: every form, names that settings change, and what is wrong with a row. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/text/conversation.h"

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

static struct conversation read_named(const char *text, const struct column_names *names)
{
    struct conversation out;
    const struct json *row;
    struct error err;

    if (json_parse_exact(str_of(text), arena, &row, &err) != OK)
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(conversation_of_row(row, names, arena, &out, &err), OK);
    assert_int_equal(out.form, form_of_row(row, names));
    assert_ptr_equal(out.row, row);
    return out;
}

static struct conversation read_row(const char *text)
{
    return read_named(text, NULL);
}

static void assert_json(const struct json *value, const char *expected)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    if (value)
        json_write(&text, value);
    assert_string_equal(text.n ? text.p : "", expected);
    buf_free(&text);
}

static void assert_text(struct str text, const char *expected)
{
    assert_true(text.p ? expected && str_is(text, expected) : !expected);
}

static void assert_odd(const char *row, enum row_form form, const char *oddity)
{
    struct conversation out = read_row(row);

    assert_string_equal(row_form_name(out.form), row_form_name(form));
    assert_non_null(out.oddity);
    assert_string_equal(out.oddity, oddity);
}

static void messages_stay_as_they_are(void **state)
{
    const char *messages = "[{\"role\":\"user\",\"content\":\"a\"},"
                           "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":1}]},"
                           "{\"role\":\"tool\",\"content\":[{\"type\":\"text\",\"text\":\"b\"}]}]";
    struct buf row;

    (void)state;
    buf_init(&row, 1 << 16);
    buf_printf(&row, "{\"messages\": %s, \"tools\": \"[{\\\"name\\\": \\\"f\\\"}]\", "
                     "\"chat_template_kwargs\": {\"x\": 1}, \"documents\": [1]}", messages);
    struct conversation out = read_row(row.p);
    assert_int_equal(out.form, ROW_MESSAGES);
    assert_json(out.messages, messages);
    assert_json(out.tools, "[{\"name\":\"f\"}]");
    assert_json(out.kwargs, "{\"x\":1}");
    assert_json(out.documents, "[1]");
    assert_null(out.oddity);
    assert_null(out.prompt_messages);
    assert_null(out.prompt.p);
    buf_free(&row);
}

static void sharegpt_turns_get_role_and_content(void **state)
{
    struct conversation out =
        read_row("{\"conversations\": [{\"from\": \"system\", \"value\": \"s\"}, "
                 "{\"from\": \"human\", \"value\": \"a\", \"weight\": 0}, "
                 "{\"from\": \"gpt\", \"value\": \"b\"}, {\"from\": \"observation\", "
                 "\"value\": \"c\"}]}");

    (void)state;
    assert_int_equal(out.form, ROW_SHAREGPT);
    assert_null(out.oddity);
    assert_json(out.messages, "[{\"role\":\"system\",\"content\":\"s\"},"
                              "{\"weight\":0,\"role\":\"user\",\"content\":\"a\"},"
                              "{\"role\":\"assistant\",\"content\":\"b\"},"
                              "{\"role\":\"observation\",\"content\":\"c\"}]");
    out = read_row("{\"conversation\": [{\"role\": \"user\", \"content\": \"a\"}]}");
    assert_int_equal(out.form, ROW_SHAREGPT);
    assert_json(out.messages, "[{\"role\":\"user\",\"content\":\"a\"}]");
}

static void prompt_and_completion_are_texts_or_turns(void **state)
{
    struct conversation out = read_row("{\"prompt\": \"a\", \"completion\": \"b\"}");

    (void)state;
    assert_int_equal(out.form, ROW_PROMPT_COMPLETION);
    assert_text(out.prompt, "a");
    assert_text(out.completion, "b");
    out = read_row("{\"prompt\": [{\"role\": \"user\", \"content\": \"a\"}], "
                   "\"completion\": [{\"from\": \"gpt\", \"value\": \"b\"}]}");
    assert_int_equal(out.form, ROW_PROMPT_COMPLETION);
    assert_json(out.prompt_messages, "[{\"role\":\"user\",\"content\":\"a\"}]");
    assert_json(out.completion_messages, "[{\"role\":\"assistant\",\"content\":\"b\"}]");
    assert_null(out.prompt.p);
    assert_null(out.oddity);
    out = read_row("{\"prompt\": \"a\", \"completion\": \"b\", \"label\": false}");
    assert_int_equal(out.form, ROW_KTO);
    assert_text(out.completion, "b");
    out = read_row("{\"prompt\": \"a\", \"completion\": \"b\", \"label\": 1}");
    assert_int_equal(out.form, ROW_PROMPT_COMPLETION);
}

static void whole_conversations_of_a_preference_share_their_prompt(void **state)
{
    struct conversation out = read_row(
        "{\"prompt\": \"a\", \"chosen\": [{\"role\": \"user\", \"content\": \"a\"}, "
        "{\"role\": \"assistant\", \"content\": \"b\"}], \"rejected\": [{\"content\": \"a\", "
        "\"role\": \"user\"}, {\"role\": \"assistant\", \"content\": \"c\"}]}");

    (void)state;
    assert_int_equal(out.form, ROW_PREFERENCE);
    assert_json(out.prompt_messages, "[{\"role\":\"user\",\"content\":\"a\"}]");
    assert_json(out.chosen_messages, "[{\"role\":\"assistant\",\"content\":\"b\"}]");
    assert_json(out.rejected_messages, "[{\"role\":\"assistant\",\"content\":\"c\"}]");
    assert_null(out.oddity);
    out = read_row("{\"chosen\": \"x y\", \"rejected\": \"x z\"}");
    assert_int_equal(out.form, ROW_PREFERENCE);
    assert_text(out.chosen, "x y");
    assert_text(out.rejected, "x z");
    assert_text(out.prompt, NULL);
    out = read_row("{\"chosen\": [{\"role\": \"assistant\", \"content\": \"b\"}], "
                   "\"rejected\": [{\"role\": \"assistant\", \"content\": \"b\"}]}");
    assert_null(out.prompt_messages);
    assert_json(out.chosen_messages, "[{\"role\":\"assistant\",\"content\":\"b\"}]");
}

static void alpaca_rows_become_turns(void **state)
{
    struct conversation out =
        read_row("{\"instruction\": \"do\", \"input\": \"this\", \"output\": \"done\", "
                 "\"system\": \"s\", \"history\": [[\"q\", \"a\"]], \"text\": \"all\"}");

    (void)state;
    assert_int_equal(out.form, ROW_ALPACA);
    assert_text(out.instruction, "do");
    assert_text(out.input, "this");
    assert_text(out.prompt, "do\nthis");
    assert_text(out.completion, "done");
    assert_text(out.system, "s");
    assert_text(out.text, "all");
    assert_json(out.history, "[[\"q\",\"a\"]]");
    assert_json(out.messages, "[{\"role\":\"system\",\"content\":\"s\"},"
                              "{\"role\":\"user\",\"content\":\"q\"},"
                              "{\"role\":\"assistant\",\"content\":\"a\"},"
                              "{\"role\":\"user\",\"content\":\"do\\nthis\"},"
                              "{\"role\":\"assistant\",\"content\":\"done\"}]");
    out = read_row("{\"instruction\": \"do\", \"input\": \"\", \"output\": \"done\"}");
    assert_text(out.prompt, "do");
    out = read_row("{\"instruction\": \"\", \"input\": \"x\", \"response\": \"done\"}");
    assert_text(out.prompt, "x");
    assert_null(out.oddity);
    assert_odd("{\"instruction\": \"a\", \"output\": \"b\", \"history\": [[\"q\"]]}", ROW_ALPACA,
               "entry 1 of history is not a question and an answer");
}

static void text_and_questions(void **state)
{
    const struct column_names names = {.text = "body"};
    struct conversation out = read_row("{\"text\": \"a\"}");

    (void)state;
    assert_int_equal(out.form, ROW_TEXT);
    assert_text(out.text, "a");
    out = read_row("{\"question\": \"q\", \"answer\": \"a\"}");
    assert_int_equal(out.form, ROW_QA);
    assert_text(out.prompt, "q");
    assert_text(out.completion, "a");
    out = read_row("{\"prompt\": [{\"role\": \"user\", \"content\": \"q\"}], \"answer\": \"4\"}");
    assert_int_equal(out.form, ROW_QA);
    assert_json(out.prompt_messages, "[{\"role\":\"user\",\"content\":\"q\"}]");
    assert_text(out.completion, "4");
    assert_null(out.oddity);
    out = read_named("{\"instruction\": \"i\", \"output\": \"o\", \"body\": \"b\"}", &names);
    assert_int_equal(out.form, ROW_TEXT);
    assert_text(out.text, "b");
    assert_odd("{\"id\": 1}", ROW_OTHER, "no column that a trainer knows");
    assert_odd("{\"prompt\": \"p\"}", ROW_OTHER, "a prompt without an answer");
    assert_text(read_row("{\"prompt\": \"p\"}").prompt, "p");
    assert_odd("{}", ROW_OTHER, "no column that a trainer knows");
}

static void names_of_settings_replace_the_usual_ones(void **state)
{
    const struct column_names turns = {
        .messages = "dialog", .role = "speaker", .content = "says", .system = "sys"};
    const struct column_names pair = {.prompt = "in", .completion = "out"};
    struct conversation out =
        read_named("{\"dialog\": [{\"speaker\": \"user\", \"says\": \"a\"}], \"sys\": \"s\", "
                   "\"messages\": 7}", &turns);

    (void)state;
    assert_int_equal(out.form, ROW_MESSAGES);
    assert_json(out.messages, "[{\"role\":\"user\",\"content\":\"a\"}]");
    assert_text(out.system, "s");
    out = read_named("{\"in\": \"a\", \"out\": \"b\"}", &pair);
    assert_int_equal(out.form, ROW_PROMPT_COMPLETION);
    assert_text(out.prompt, "a");
    assert_text(out.completion, "b");
}

static void the_order_of_forms_is_that_of_trl(void **state)
{
    (void)state;
    assert_int_equal(read_row("{\"messages\": [{}], \"text\": \"a\"}").form, ROW_MESSAGES);
    assert_int_equal(read_row("{\"messages\": [{}], \"prompt\": \"a\"}").form, ROW_MESSAGES);
    assert_int_equal(read_row("{\"messages\": [{}], \"prompt\": \"a\", \"completion\": \"b\"}").form,
                     ROW_PROMPT_COMPLETION);
    assert_int_equal(read_row("{\"messages\": [{}], \"input_ids\": [1]}").form, ROW_TOKENS);
    assert_int_equal(read_row("{\"chosen\": \"a\", \"rejected\": \"b\", \"messages\": [{}]}").form,
                     ROW_PREFERENCE);
    /* Mixed schemas are filled up with nulls. */
    struct conversation out =
        read_row("{\"prompt\": null, \"completion\": null, \"messages\": null, \"text\": \"a\"}");
    assert_int_equal(out.form, ROW_TEXT);
    assert_null(out.oddity);
    assert_odd("{\"messages\": null}", ROW_MESSAGES, "messages is null, not a list");
    assert_odd("{\"text\": null}", ROW_TEXT, "text is null, not a text");
    assert_odd("{\"prompt\": \"a\", \"completion\": null}", ROW_PROMPT_COMPLETION,
               "completion is null, not a text");
}

static void tokens_and_batches(void **state)
{
    struct conversation out = read_row("{\"input_ids\": [1, 2], \"labels\": [-100, 2], "
                                       "\"attention_mask\": [1, 1]}"), row;

    (void)state;
    assert_int_equal(out.form, ROW_TOKENS);
    assert_json(out.labels, "[-100,2]");
    assert_json(out.attention_mask, "[1,1]");
    assert_int_equal(conversation_batch(&out), 0);
    assert_null(out.oddity);
    out = read_row("{\"input_ids\": [[1, 2], [3]], \"labels\": [[-100, 2], [4, 5]]}");
    assert_int_equal(conversation_batch(&out), 2);
    conversation_batch_row(&out, 0, &row);
    assert_json(row.input_ids, "[1,2]");
    assert_json(row.labels, "[-100,2]");
    assert_null(row.oddity);
    conversation_batch_row(&out, 1, &row);
    assert_string_equal(row.oddity, "input_ids and labels have different lengths");
    conversation_batch_row(&out, 2, &row);
    assert_null(row.input_ids);
    assert_non_null(row.oddity);
    assert_odd("{\"input_ids\": [1], \"labels\": [1, 2]}", ROW_TOKENS,
               "input_ids and labels have different lengths");
    assert_odd("{\"input_ids\": 1}", ROW_TOKENS, "input_ids is not a list");
}

static void cells_of_a_table_hold_lists_as_json(void **state)
{
    struct conversation out =
        read_row("{\"messages\": \"[{\\\"role\\\": \\\"user\\\", \\\"content\\\": \\\"a\\\"}]\"}");

    (void)state;
    assert_int_equal(out.form, ROW_MESSAGES);
    assert_json(out.messages, "[{\"role\":\"user\",\"content\":\"a\"}]");
    assert_null(out.oddity);
    /* Only where the column says so: a prompt may look like a list. */
    out = read_row("{\"prompt\": \"[{}]\", \"completion\": \"[1]\"}");
    assert_text(out.prompt, "[{}]");
    assert_null(out.prompt_messages);
    assert_odd("{\"messages\": \"[{'role': 1}]\"}", ROW_MESSAGES, "messages is a text, not a list");
}

static void what_is_wrong_is_told_and_never_more(void **state)
{
    (void)state;
    assert_odd("{\"messages\": 3}", ROW_MESSAGES, "messages is a number, not a list");
    assert_odd("{\"messages\": []}", ROW_MESSAGES, "messages is an empty list");
    assert_odd("{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}, 3]}", ROW_MESSAGES,
               "turn 2 of messages is a number, not an object");
    assert_odd("{\"messages\": [{\"content\": \"a\"}]}", ROW_MESSAGES, "turn 1 has no role");
    assert_odd("{\"messages\": [{\"role\": 1, \"content\": \"a\"}]}", ROW_MESSAGES,
               "the role of turn 1 is a number");
    assert_odd("{\"messages\": [{\"role\": \"user\", \"content\": null}]}", ROW_MESSAGES,
               "the content of turn 1 is null");
    assert_odd("{\"messages\": [{\"role\": \"user\"}]}", ROW_MESSAGES, "turn 1 has no content");
    assert_odd("{\"prompt\": 1, \"completion\": \"a\"}", ROW_PROMPT_COMPLETION,
               "prompt is a number, not a text");
    assert_odd("{\"prompt\": \"a\", \"completion\": [{\"role\": \"assistant\", "
               "\"content\": \"b\"}]}", ROW_PROMPT_COMPLETION,
               "one of prompt and completion is a list of turns, the other is not");
    assert_odd("{\"text\": \"a\", \"tools\": \"{not\"}", ROW_TEXT,
               "tools is a text that holds no such JSON, not a list");
    assert_odd("[1]", ROW_OTHER, "the row is no JSON object");
    struct conversation out = read_row("{\"messages\": []}");
    assert_non_null(out.messages); /* a template decides about it */
    out = read_row("{\"messages\": [3]}");
    assert_null(out.messages);
}

static void roles_and_texts_of_turns(void **state)
{
    const struct json *turn;
    struct error err;

    (void)state;
    assert_int_equal(json_parse_exact(str_of("{\"from\": \"human\", \"content\": [\"a\", "
                                             "{\"type\": \"image\"}, {\"text\": \"b\"}]}"),
                                      arena, &turn, &err), OK);
    assert_text(turn_role(turn), "user");
    assert_text(turn_text(turn, arena), "ab");
    assert_int_equal(json_parse_exact(str_of("{\"role\": \"ipython\", \"content\": null}"), arena,
                                      &turn, &err), OK);
    assert_text(turn_role(turn), "ipython");
    assert_text(turn_text(turn, arena), NULL);
    assert_text(turn_role(NULL), "");
}

/* Lists of any length cost what they are long. */
static void a_long_history_is_no_trap(void **state)
{
    struct buf row;

    (void)state;
    buf_init(&row, (size_t)32 << 20);
    buf_puts(&row, "{\"instruction\": \"i\", \"output\": \"o\", \"history\": [[\"\",\"\"]");
    for (int i = 1; i < 100000; i++)
        buf_puts(&row, ",[\"\",\"\"]");
    buf_puts(&row, "]}");
    struct arena *large = arena_open(ARENA_CHECK_BYTES);
    struct conversation out;
    const struct json *tree;
    struct error err;
    assert_int_equal(json_parse_exact(buf_view(&row), large, &tree, &err), OK);
    assert_int_equal(conversation_of_row(tree, NULL, large, &out, &err), OK);
    assert_int_equal(out.messages->n, 200002);
    arena_close(large);
    buf_free(&row);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(messages_stay_as_they_are),
        TEST(sharegpt_turns_get_role_and_content),
        TEST(prompt_and_completion_are_texts_or_turns),
        TEST(whole_conversations_of_a_preference_share_their_prompt),
        TEST(alpaca_rows_become_turns),
        TEST(text_and_questions),
        TEST(names_of_settings_replace_the_usual_ones),
        TEST(the_order_of_forms_is_that_of_trl),
        TEST(tokens_and_batches),
        TEST(cells_of_a_table_hold_lists_as_json),
        TEST(what_is_wrong_is_told_and_never_more),
        TEST(roles_and_texts_of_turns),
        TEST(a_long_history_is_no_trap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
