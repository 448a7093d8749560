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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instruction_given_back_is_an_echo),
        cmocka_unit_test(the_last_user_turn_of_a_rendered_prompt_is_looked_for),
        cmocka_unit_test(a_greeting_returned_is_no_echo),
        cmocka_unit_test(a_pipeline_that_returns_the_whole_text_is_no_echo),
        cmocka_unit_test(headers_and_ends_are_told_apart),
        cmocka_unit_test(blanks_are_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
