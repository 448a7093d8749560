/* Flags of outputs: echo of the prompt, turn headers, empty, running on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "importers/outputs/output_facts.h"

static unsigned facts(const char *output, const char *prompt, const char *user)
{
    return output_facts(str_of(output), prompt ? str_of(prompt) : (struct str){0},
                        user ? str_of(user) : (struct str){0});
}

static void an_instruction_given_back_is_an_echo(void **state)
{
    (void)state;
    const char *prompt = "### Instruction:\nName a crop grown in shade.\n\n### Response:\n";

    assert_true(facts("name a crop  grown in shade. Coffee.", prompt, NULL) &
                GENERATION_ECHOES_PROMPT);
    assert_false(facts("Coffee is grown in shade.", prompt, NULL) & GENERATION_ECHOES_PROMPT);
}

static void the_last_user_turn_of_a_rendered_prompt_is_looked_for(void **state)
{
    (void)state;
    const char *prompt = "<|im_start|>system\nBe brief and kind.<|im_end|>\n<|im_start|>user\n"
                         "What is a lathe used for?<|im_end|>\n<|im_start|>assistant\n";

    assert_true(facts("What is a lathe used for? A tool.", prompt, NULL) &
                GENERATION_ECHOES_PROMPT);
    assert_true(facts("What is a lathe used for? A tool.", NULL, "What is a lathe used for?") &
                GENERATION_ECHOES_PROMPT);
    assert_false(facts("Be brief", prompt, NULL) & GENERATION_ECHOES_PROMPT);
}

static void a_greeting_returned_is_no_echo(void **state)
{
    (void)state;
    assert_false(facts("Hello! How can I help?", NULL, "Hello") & GENERATION_ECHOES_PROMPT);
}

static void a_pipeline_that_returns_the_whole_text_is_no_echo(void **state)
{
    (void)state;
    const char *prompt = "<|im_start|>user\nWhere is the brass lamp?<|im_end|>\n"
                         "<|im_start|>assistant\n";
    unsigned flags = facts("<|im_start|>user\nWhere is the brass lamp?<|im_end|>\n"
                           "<|im_start|>assistant\nIn Galdo.",
                           prompt, NULL);

    assert_false(flags & (GENERATION_ECHOES_PROMPT | GENERATION_STARTS_WITH_HEADER));
}

static void headers_and_ends_are_told_apart(void **state)
{
    (void)state;
    assert_true(facts("<|im_start|>assistant\nYes.", NULL, NULL) & GENERATION_STARTS_WITH_HEADER);
    assert_true(facts(" <start_of_turn>model\nYes.", NULL, NULL) & GENERATION_STARTS_WITH_HEADER);
    assert_false(facts("<|im_end|>", NULL, NULL) & GENERATION_STARTS_WITH_HEADER);
    assert_true(facts("Grey.<|im_end|>\nGrey.<|im_end|>\n", NULL, NULL) & GENERATION_RUNS_ON);
    assert_false(facts("Grey.<|im_end|>\n", NULL, NULL) & GENERATION_RUNS_ON);
    assert_false(facts("a < b and [INST]", NULL, NULL) & GENERATION_RUNS_ON);
}

static void blanks_are_empty(void **state)
{
    (void)state;
    assert_true(facts(" \n", "a prompt", NULL) & GENERATION_IS_EMPTY);
    assert_false(facts("x", NULL, NULL) & (GENERATION_IS_EMPTY | GENERATION_HAS_PROMPT));
    assert_true(facts("x", NULL, NULL) & GENERATION_HAS_TEXT);
}

static int64_t opening(const char *output, const char *prompt, int64_t *n)
{
    return output_opening(str_of(output), prompt ? str_of(prompt) : (struct str){0}, n);
}

static void the_first_eight_words_are_an_opening(void **state)
{
    int64_t n, m;
    (void)state;

    int64_t a = opening("Great question! I am so happy to help", NULL, &n);
    assert_int_equal(n, 8);
    assert_true(a != 0);
    assert_int_equal(opening(" Great  question! I am\nso happy to help you with it", NULL, &m), a);
    assert_int_equal(m, 11);
    assert_int_not_equal(opening("Great question! I am so happy to aid you", NULL, &m), a);
    assert_int_not_equal(opening("Great question!I am so happy to help you", NULL, &m), a);
    assert_int_equal(opening("Great question! I am so happy to", NULL, &m), 0);
    assert_int_equal(m, 7);
    assert_int_equal(opening("", NULL, &m), 0);
    assert_int_equal(m, 0);
    assert_int_equal(opening("Why? Great question! I am so happy to help", "Why? ", &m), a);
    /* 8 characters of a script that writes no blanks */
    assert_int_not_equal(opening("\xe4\xbd\xa0\xe5\xa5\xbd\xe6\x88\x91\xe6\x98\xaf\xe4\xb8\xad"
                                 "\xe5\x9b\xbd\xe4\xba\xba\xe4\xbb\xac",
                                 NULL, &m),
                         0);
    assert_int_equal(m, 8);
    (void)opening("\xe4\xbd", NULL, &m); /* cut inside a character */
    assert_int_equal(m, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instruction_given_back_is_an_echo),
        cmocka_unit_test(the_last_user_turn_of_a_rendered_prompt_is_looked_for),
        cmocka_unit_test(a_greeting_returned_is_no_echo),
        cmocka_unit_test(a_pipeline_that_returns_the_whole_text_is_no_echo),
        cmocka_unit_test(headers_and_ends_are_told_apart),
        cmocka_unit_test(blanks_are_empty),
        cmocka_unit_test(the_first_eight_words_are_an_opening),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
