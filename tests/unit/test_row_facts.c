/* Facts of single rows: what is empty, where the answer begins, how long a row is without a
 * tokenizer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "importers/dataset/row_facts.h"

static struct sample facts_of(const char *text)
{
    struct arena *arena = arena_open(1 << 20);
    const struct json *row = NULL;
    struct sample sample;
    struct error err;

    assert_int_equal(json_parse(str_of(text), false, arena, &row, NULL, &err), OK);
    row_facts_of_tree(row, &sample);
    arena_close(arena);
    return sample;
}

static uint32_t faults(const char *text)
{
    return facts_of(text).flags & ~(uint32_t)SAMPLE_ESTIMATED;
}

static void empty_answers_are_flagged_in_every_form(void **state)
{
    static const char *const ROWS[] = {
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
        "{\"role\":\"assistant\",\"content\":\" \\n\"}]}",
        "{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"},{\"from\":\"gpt\",\"value\":\"\"}"
        "]}",
        "{\"prompt\":\"a\",\"completion\":null}",
        "{\"prompt\":\"a\",\"response\":\"\"}",
        "{\"instruction\":\"a\",\"input\":\"\",\"output\":\"\"}",
        "{\"prompt\":\"a\",\"chosen\":\"b\",\"rejected\":\"\"}",
        "{\"chosen\":[{\"role\":\"assistant\",\"content\":\"\"}],"
        "\"rejected\":[{\"role\":\"assistant\",\"content\":\"x\"}]}",
        "{\"text\":\"\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (faults(ROWS[i]) != SAMPLE_EMPTY_ANSWER)
            fail_msg("%s: flags %u", ROWS[i], faults(ROWS[i]));
}

static void sound_rows_have_no_faults(void **state)
{
    static const char *const ROWS[] = {
        "{\"messages\":[{\"role\":\"system\",\"content\":\"\"},{\"role\":\"user\",\"content\":"
        "\"a\"},"
        "{\"role\":\"assistant\",\"content\":\"b\"}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\","
        "\"content\":null,\"tool_calls\":[{\"id\":\"1\"}]}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\"}]},"
        "{\"role\":\"assistant\",\"content\":\"b\"}]}",
        "{\"instruction\":\"a\",\"input\":\"\",\"output\":\"b\"}",
        "{\"instruction\":\"\",\"input\":\"a\",\"output\":\"b\"}",
        "{\"prompt\":[{\"role\":\"user\",\"content\":\"a\"}],\"chosen\":\"b\",\"rejected\":\"c\"}",
        "{\"text\":\"a\"}",
        "{\"premise\":\"\",\"hypothesis\":\"b\",\"label\":1}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (faults(ROWS[i]) != 0)
            fail_msg("%s: flags %u", ROWS[i], faults(ROWS[i]));
}

static void a_conversation_without_an_answer_and_an_empty_question_are_flagged(void **state)
{
    (void)state;
    assert_int_equal(faults("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}"),
                     SAMPLE_NO_ASSISTANT);
    assert_int_equal(faults("{\"messages\":[{\"role\":\"user\",\"content\":\"\"},"
                            "{\"role\":\"assistant\",\"content\":\"b\"}]}"),
                     SAMPLE_EMPTY_PROMPT);
}

static void lengths_are_estimated_by_words_or_characters(void **state)
{
    struct sample words = facts_of("{\"prompt\":\"a b c d\",\"completion\":\"e f\"}");
    struct sample characters = facts_of("{\"text\":\"abcdefghijklmnopqrst\"}");
    struct sample two_turns = facts_of(
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a b c\"},"
        "{\"role\":\"assistant\",\"content\":\"d\"},{\"role\":\"user\",\"content\":\"e f\"},"
        "{\"role\":\"assistant\",\"content\":\"g\"}]}");

    (void)state;
    assert_int_equal(words.n_prompt_tokens, 6);     /* ceil(1.3 * 4) */
    assert_int_equal(words.n_tokens, 8);            /* ceil(1.3 * 6) */
    assert_int_equal(characters.n_tokens, 5);       /* 20 / 4 */
    assert_int_equal(two_turns.n_prompt_tokens, 4); /* up to the first answer */
    assert_true((words.flags & SAMPLE_ESTIMATED) != 0);
    assert_int_equal(words.n_trained, -1);
}

static void token_rows_count_their_labels(void **state)
{
    struct sample row = facts_of("{\"input_ids\":[1,2,3,4],\"labels\":[-100,-100,3,4]}");

    (void)state;
    assert_int_equal(row.n_tokens, 4);
    assert_int_equal(row.n_trained, 2);
    assert_int_equal(row.flags, 0);
    assert_int_equal(facts_of("{\"input_ids\":[1]}").n_trained, -1);
}

static void flat_rows_say_the_same(void **state)
{
    const struct str names[] = {str_of("question"), str_of("answer")};
    const struct str texts[] = {str_of("how far"), str_of(NULL)};
    struct sample sample;

    (void)state;
    row_facts_of_texts(names, texts, 2, &sample);
    assert_int_equal(sample.flags, SAMPLE_EMPTY_ANSWER | SAMPLE_ESTIMATED);
    assert_int_equal(sample.n_prompt_tokens, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_answers_are_flagged_in_every_form),
        cmocka_unit_test(sound_rows_have_no_faults),
        cmocka_unit_test(a_conversation_without_an_answer_and_an_empty_question_are_flagged),
        cmocka_unit_test(lengths_are_estimated_by_words_or_characters),
        cmocka_unit_test(token_rows_count_their_labels),
        cmocka_unit_test(flat_rows_say_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
