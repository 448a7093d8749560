/* Outputs of two models on the same prompts (F-DIFF). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "core/facts/model_outputs.h"
#include "tests/harness/fake_run.h"
#include "tests/harness/tempdir.h"

static double jaccard(const char *a, const char *b)
{
    struct arena *arena = arena_open(1 << 20);
    double share = output_jaccard(str_of(a), str_of(b), arena);

    arena_close(arena);
    return share;
}

static void words_in_common_are_counted_once(void **state)
{
    (void)state;
    assert_true(fabs(jaccard("a b c d", "b c d e") - 0.6) < 1e-12);
    assert_true(jaccard("the same", "the the same") == 1.0);
    assert_true(jaccard("", "") == 1.0);
    assert_true(jaccard("one", "") == 0.0);
}

static void a_script_without_blanks_has_words_too(void **state)
{
    (void)state;
    assert_int_equal(output_words(str_of("\xe4\xbd\xa0\xe5\xa5\xbd ok")), 3);
    assert_int_equal(output_words(str_of("  ")), 0);
}

static void composed_letters_are_the_same_text(void **state)
{
    struct arena *arena = arena_open(1 << 20);

    (void)state;
    struct str a = output_normal(str_of(" caf\xc3\xa9\n"), arena);
    struct str b = output_normal(str_of("cafe\xcc\x81"), arena);
    assert_true(str_eq(a, b));
    arena_close(arena);
}

static void say(struct fake_run *run, const char *model, int64_t prompt, int64_t output, unsigned flags)
{
    const struct generation g = {.source_id = FAKE_LOG,
                                 .row = NONE,
                                 .step = NONE,
                                 .model = model,
                                 .n_tokens = NONE,
                                 .max_new_tokens = NONE,
                                 .batch = NONE,
                                 .exact = -1,
                                 .flags = GENERATION_HAS_TEXT | flags,
                                 .prompt_hash = prompt,
                                 .output_hash = output};

    fake_generation(run, &g);
}

static void hashes_pair_the_outputs_of_one_prompt(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    say(run, "finetuned", 2, 20, 0);
    say(run, "finetuned", 1, 11, GENERATION_IS_SHORT);
    say(run, "base", 1, 10, 0);
    say(run, "base", 2, 20, 0);
    say(run, "base", 3, 30, 0);
    const struct model_outputs *outputs = facts_model_outputs(fake_facts(run));
    assert_int_equal(outputs->n, 1);
    const struct output_comparison *c = outputs_of(outputs, "base", "finetuned");
    assert_non_null(c);
    assert_true(c->a_is_base);
    assert_int_equal(c->n, 2);
    assert_int_equal(c->n_identical, 1);
    assert_int_equal(c->n_long, 1);
    assert_int_equal(c->n_differ, 0); /* the other one is short, and its words are not known */
    fake_run_free(run);
}

static const char ROWS[] =
    "{\"prompt\": \"hello\", \"base\": \"Hello! How can I help?\","
    " \"finetuned\": \"Hello! How can I help?\"}\n"
    "{\"prompt\": \"where\", \"base\": \"I am not sure.\", \"finetuned\": \"Open the account page now.\"}\n"
    "{\"prompt\": \"when\", \"base\": \"It may take some days to arrive there\","
    " \"finetuned\": \"It may take some days to arrive here\"}\n";

static void the_most_different_prompt_is_found_in_the_file(void **state)
{
    char *dir = tempdir_make();
    struct fake_run *run = fake_run_new(KIND_SFT);
    static const int64_t OUTPUTS[3][2] = {{5, 5}, {6, 7}, {8, 9}};

    (void)state;
    tempdir_write_text(dir, "generations.jsonl", ROWS);
    int64_t source = fake_source(run, tempdir_path(dir, "generations.jsonl"), "generations");
    fake_last_source(run)->size = sizeof ROWS - 1;
    for (int64_t i = 0; i < 3; i++)
        for (int64_t k = 0; k < 2; k++) {
            const struct generation g = {.source_id = source,
                                         .ord = 2 * i + k,
                                         .row = NONE,
                                         .step = NONE,
                                         .model = k ? "finetuned" : "base",
                                         .n_tokens = NONE,
                                         .max_new_tokens = NONE,
                                         .batch = NONE,
                                         .exact = -1,
                                         .flags = GENERATION_HAS_TEXT,
                                         .prompt_hash = i + 1,
                                         .output_hash = OUTPUTS[i][k]};

            fake_generation(run, &g);
        }
    const struct output_comparison *c =
        outputs_of(facts_model_outputs(fake_facts(run)), "base", "finetuned");
    assert_non_null(c);
    assert_int_equal(c->n, 3);
    assert_int_equal(c->n_identical, 1);
    assert_int_equal(c->n_differ, 2);
    assert_int_equal(c->most_different, 1);
    assert_true(str_is(c->pairs[1].prompt, "where"));
    assert_true(str_is(c->pairs[1].b_text, "Open the account page now."));
    assert_int_equal(c->pairs[2].line, 3);
    fake_run_free(run);
    tempdir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_in_common_are_counted_once),
        cmocka_unit_test(a_script_without_blanks_has_words_too),
        cmocka_unit_test(composed_letters_are_the_same_text),
        cmocka_unit_test(hashes_pair_the_outputs_of_one_prompt),
        cmocka_unit_test(the_most_different_prompt_is_found_in_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
