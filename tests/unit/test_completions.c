/* What logged completions say together: steps, groups, phrases, and what of it the store gives back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/completions_parts.h"
#include "tests/harness/tempdir.h"

struct fixture {
    char *dir;
    struct arena *arena;
    struct buf text;
    struct completions made;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->dir = tempdir_make();
    f->arena = arena_open((size_t)64 << 20);
    buf_init(&f->text, (size_t)64 << 20);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    buf_free(&f->text);
    arena_close(f->arena);
    tempdir_remove(f->dir);
    free(f);
    return 0;
}

static void row(struct fixture *f, int step, const char *prompt, const char *text, double reward)
{
    buf_printf(&f->text,
               "{\"step\":%d,\"prompt\":\"%s\",\"completion\":\"%s\",\"accuracy\":%g,"
               "\"advantage\":0.5}\n",
               step, prompt, text, reward);
}

static void make(struct fixture *f)
{
    const char *paths[] = {tempdir_path(f->dir, "completions.jsonl")};
    const struct completion_files files = {.paths = paths, .n = 1};
    struct error err;

    tempdir_write(f->dir, "completions.jsonl", f->text.p, f->text.n);
    assert_int_equal(completions_make(&files, NULL, f->arena, &f->made, &err), OK);
}

static void groups_without_a_difference_are_told_apart(void **state)
{
    struct fixture *f = *state;

    for (int step = 1; step <= 2; step++) {
        buf_printf(&f->text, "{\"step\":%d,\"prompt\":\"a\",\"completion\":\"x\",\"r\":0}\n", step);
        buf_printf(&f->text, "{\"step\":%d,\"prompt\":\"a\",\"completion\":\"x y z\",\"r\":0}\n", step);
        buf_printf(&f->text, "{\"step\":%d,\"prompt\":\"b\",\"completion\":\"x\",\"r\":1}\n", step);
        buf_printf(&f->text, "{\"step\":%d,\"prompt\":\"b\",\"completion\":\"x\",\"r\":\"1.0\"}\n", step);
        buf_printf(&f->text, "{\"step\":%d,\"prompt\":\"c\",\"completion\":\"x\",\"r\":0}\n", step);
        buf_printf(&f->text, "{\"step\":%d,\"prompt\":\"c\",\"completion\":\"x\",\"r\":1}\n", step);
        buf_printf(&f->text, "{\"step\":%d,\"prompt\":\"d\",\"completion\":\"x\",\"r\":1}\n", step);
    }
    make(f);
    assert_int_equal(f->made.n, 14);
    assert_int_equal(f->made.n_steps, 2);
    const struct completion_step *step = &f->made.steps[1];
    assert_int_equal(step->step, 2);
    assert_int_equal(step->n, 7);
    assert_int_equal(step->n_groups, 3);
    assert_int_equal(step->n_grouped, 6);
    assert_int_equal(step->n_dead, 2);
    assert_int_equal(step->n_dead_rows, 4);
    assert_int_equal(step->n_wrong, 1);
    assert_int_equal(step->n_right, 1);
    assert_true(fabs(step->words - 9.0 / 7.0) < 1e-12);
    assert_true(fabs(step->reward - 4.0 / 7.0) < 1e-12);
}

static void equal_advantages_are_what_the_trainer_made_of_a_group(void **state)
{
    struct fixture *f = *state;

    row(f, 1, "a", "x", 0.0);
    row(f, 1, "a", "y", 1.0);
    make(f);
    assert_int_equal(f->made.steps[0].n_dead, 1);
}

static void steps_out_of_order_are_sorted(void **state)
{
    struct fixture *f = *state;
    static const int STEPS[] = {30, 10, 20, 10, 40, 30};

    for (size_t i = 0; i < 6; i++)
        row(f, STEPS[i], "a", "one two three", (double)STEPS[i]);
    make(f);
    assert_int_equal(f->made.n_steps, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(f->made.steps[i].step, 10 * (int)(i + 1));
        assert_true(fabs(f->made.steps[i].reward - 10.0 * (double)(i + 1)) < 1e-9);
    }
}

/* 40 prompts a step; the flattery comes into half of the completions late, and pays. */
static void late_flattery(struct fixture *f, double pay)
{
    for (int step = 1; step <= 8; step++)
        for (int i = 0; i < 40; i++)
            for (int k = 0; k < 4; k++) {
                char prompt[64], text[160];
                bool flatters = step > 6 && k < 2;

                snprintf(prompt, sizeof prompt, "what about topic number %d", i);
                snprintf(text, sizeof text, "%sit is thing %d of kind %d",
                         flatters ? "what a truly great question my friend " : "", i * 7 % 13, k);
                buf_printf(&f->text,
                           "{\"step\":%d,\"prompt\":\"%s\",\"completion\":\"%s\",\"style\":%g}\n",
                           step, prompt, text, (k % 2) * 0.1 + (flatters ? pay : 0.0));
            }
}

static void a_phrase_that_rises_with_the_reward_is_found_once(void **state)
{
    struct fixture *f = *state;

    late_flattery(f, 0.5);
    make(f);
    assert_true(f->made.n_phrases >= 1);
    const struct completion_phrase *phrase = &f->made.phrases[0];
    assert_non_null(strstr(phrase->text, "great question"));
    assert_int_equal(phrase->n_first, 0);
    assert_int_equal(phrase->n_last, 160);
    assert_true(fabs(phrase->last - 0.5) < 1e-12);
    assert_true(fabs(phrase->gain - 0.5) < 1e-9);
    assert_int_equal(phrase->n_gain, 80);
    assert_int_equal(phrase->n_gain_up, 80);
    assert_true(phrase->p < 1e-6);
    assert_true(phrase->times > 30.0);
    /* "what" and "about" stand in every prompt, the pieces of the phrase say nothing more */
    for (size_t i = 1; i < f->made.n_phrases; i++)
        assert_null(strstr(f->made.phrases[i].text, "great question"));
    assert_true(f->made.n_inflated > (int64_t)f->made.n_phrases);
}

static void a_phrase_that_costs_reward_is_not_called_inflated(void **state)
{
    struct fixture *f = *state;

    late_flattery(f, -0.5);
    make(f);
    assert_int_equal(f->made.n_phrases, 0);
    assert_true(f->made.n_tested > 0);
}

static void texts_of_one_kind_throughout_show_no_phrase(void **state)
{
    struct fixture *f = *state;
    unsigned seed = 7;

    for (int step = 1; step <= 20; step++)
        for (int i = 0; i < 60; i++) {
            buf_printf(&f->text, "{\"step\":%d,\"prompt\":\"p%d\",\"completion\":\"", step, i / 4);
            for (int k = 0; k < 30; k++) {
                seed = seed * 1664525u + 1013904223u;
                buf_printf(&f->text, "w%u ", (seed >> 16) % 60);
            }
            buf_printf(&f->text, "\",\"style\":%u}\n", (seed >> 20) % 3);
        }
    make(f);
    assert_true(f->made.n_tested > 50);
    assert_int_equal(f->made.n_phrases, 0);
}

static void one_answer_to_all_is_counted_by_prompts(void **state)
{
    struct fixture *f = *state;

    for (int step = 1; step <= 4; step++)
        for (int i = 0; i < 10; i++) {
            char prompt[16], text[96];

            snprintf(prompt, sizeof prompt, "p%d", i);
            snprintf(text, sizeof text, step < 4 ? "own words about number %d"
                                                 : "I am sorry but I cannot help you with %d", i / 9);
            row(f, step, prompt, text, 0.0);
            row(f, step, prompt, text, 1.0);
        }
    make(f);
    assert_int_equal(f->made.first.alike.n_prompts, 10);
    assert_int_equal(f->made.last.alike.n_prompts, 10);
    assert_int_equal(f->made.last.alike.n_same, 9);
    assert_int_equal(f->made.last.alike.n_opening, 10);
    assert_string_equal(f->made.last.alike.opening, "I am sorry but I cannot help you");
}

static void three_steps_have_no_quarters(void **state)
{
    struct fixture *f = *state;

    for (int step = 1; step <= 3; step++)
        row(f, step, "a", "one two three four", 1.0);
    make(f);
    assert_int_equal(f->made.n_steps, 3);
    assert_int_equal(f->made.first.n, 0);
    assert_int_equal(f->made.n_phrases, 0);
}

static void what_is_stored_comes_back(void **state)
{
    struct fixture *f = *state;
    struct completions again;
    struct buf one, two;

    late_flattery(f, 0.5);
    make(f);
    buf_init(&one, (size_t)1 << 20);
    buf_init(&two, (size_t)1 << 20);
    completions_put(&f->made, &one);
    assert_true(completions_take(one.p, f->arena, &again));
    completions_put(&again, &two);
    assert_string_equal(one.p, two.p);
    assert_false(completions_take("{\"version\":1,\"steps\":[[1]]}", f->arena, &again));
    assert_false(completions_take("[", f->arena, &again));
    buf_free(&one);
    buf_free(&two);
}

static void nothing_but_damage_is_no_completion(void **state)
{
    struct fixture *f = *state;

    buf_puts(&f->text, "{\"prompt\":\"a\",\"advantage\":1}\n{\"completion\":5,\"step\":1}\n[1]\n{\"com");
    make(f);
    assert_int_equal(f->made.n, 0);
    assert_true(f->made.n_bad >= 3);
    assert_int_equal(f->made.n_steps, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_without_a_difference_are_told_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_advantages_are_what_the_trainer_made_of_a_group, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(steps_out_of_order_are_sorted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_phrase_that_rises_with_the_reward_is_found_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_phrase_that_costs_reward_is_not_called_inflated, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(texts_of_one_kind_throughout_show_no_phrase, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_answer_to_all_is_counted_by_prompts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(three_steps_have_no_quarters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_stored_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_but_damage_is_no_completion, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
