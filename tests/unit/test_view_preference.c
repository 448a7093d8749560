/* The preference pane on runs built by hand: reward over KL, the knee, lengths, what the rows say. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/completions.h"
#include "tests/harness/fake_run.h"
#include "views/registry.h"

struct fixture {
    struct fake_run *run;
    struct desk desk;
    struct view view;
    struct buf text;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    f->run = fake_run_new(KIND_GRPO);
    f->desk = (struct desk){.check = -1, .step = NONE, .search = "", .run_id = 1};
    f->view = (struct view){.desk = &f->desk, .rows = 20, .columns = 78,
                            .arena = arena_open(ARENA_VIEW_BYTES)};
    buf_init(&f->text, 1u << 20);
    *state = f;
    return f->view.arena ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    arena_close(f->view.arena);
    free(f->view.state);
    buf_free(&f->text);
    fake_run_free(f->run);
    free(f);
    return 0;
}

static void open_pane(struct fixture *f, const struct view_ops *ops, bool has_facts)
{
    struct error err;
    free(f->view.state);
    f->view.ops = ops;
    f->view.state = calloc(1, ops->state_size);
    assert_non_null(f->view.state);
    f->desk.facts = has_facts ? fake_facts(f->run) : NULL;
    assert_int_equal(ops->load(&f->view, &err), OK);
}

static const char *drawn(struct fixture *f, int rows, int columns)
{
    struct canvas *canvas;
    struct error err;
    assert_int_equal(canvas_open(&canvas, rows, columns, true, NULL), OK);
    f->view.rows = rows;
    f->view.columns = columns;
    f->view.canvas = canvas;
    assert_int_equal(f->view.ops->load(&f->view, &err), OK);
    f->view.ops->draw(&f->view, canvas);
    f->view.canvas = NULL;
    buf_clear(&f->text);
    canvas_dump(canvas, false, &f->text);
    canvas_close(canvas);
    return f->text.p ? f->text.p : "";
}

static void act(struct fixture *f, const char *name)
{
    for (const struct action *action = f->view.ops->actions; action->name; action++)
        if (strcmp(action->name, name) == 0) {
            assert_true(f->view.ops->act(&f->view, action->id));
            return;
        }
    fail_msg("no action %s", name);
}

static void a_knee_is_named_and_marked(void **state)
{
    struct fixture *f = *state;
    double reward[32], kl[32];

    for (size_t i = 0; i < 32; i++) {
        reward[i] = 3.0 * (1.0 - exp(-(double)i / 6.0));
        kl[i] = 0.02 * exp((double)i / 6.0);
    }
    fake_curve(f->run, "reward", reward, 32);
    fake_curve(f->run, "kl", kl, 32);
    fake_line(f->run, "completions/mean_length", 100, 400, 32);
    fake_line(f->run, "rewards/format_reward/mean", 0.1, 0.9, 32);
    open_pane(f, &view_preference, true);
    const char *text = drawn(f, 40, 100);
    assert_non_null(strstr(text, "reward, by KL per token"));
    assert_non_null(strstr(text, "| knee"));
    assert_non_null(strstr(text, "knee at step 19"));
    assert_non_null(strstr(text, "mean length of the outputs"));
    assert_non_null(strstr(text, "rewards/format_reward/mean"));
    act(f, "switch-axis");
    text = drawn(f, 40, 100);
    assert_null(strstr(text, "by KL per token"));
    assert_non_null(strstr(text, "reward, by step"));
}

static void a_calm_kl_has_no_knee(void **state)
{
    struct fixture *f = *state;

    fake_line(f->run, "reward", 0.1, 0.9, 20);
    fake_line(f->run, "kl", 0.01, 0.03, 20);
    open_pane(f, &view_preference, true);
    const char *text = drawn(f, 30, 100);
    assert_non_null(strstr(text, "no knee"));
    assert_null(strstr(text, "| knee"));
}

/* Eight steps, whose groups die, and one phrase. */
static void some_completions(struct completions *out, struct completion_step *steps,
                             const struct completion_phrase *phrase)
{
    *out = (struct completions){.n = 128, .n_files = 8, .steps = steps, .n_steps = 8,
                                .length_r = 0.4, .n_length = 128, .n_tested = 900, .n_inflated = 7,
                                .phrases = phrase, .n_phrases = 1,
                                .first = {.first_step = 1, .last_step = 2, .n = 32, .n_groups = 8,
                                          .alike = {.same = "", .opening = ""}},
                                .last = {.first_step = 7, .last_step = 8, .n = 32, .n_groups = 8,
                                         .alike = {.n_prompts = 8, .n_same = 6, .same = "I \033[2J see",
                                                   .opening = ""}}};
    for (int i = 0; i < 8; i++)
        steps[i] = (struct completion_step){.step = i + 1, .n = 16, .words = 10 + i, .reward = 0.1 * i,
                                            .n_grouped = 16, .n_groups = 4, .n_dead = i / 2,
                                            .n_dead_rows = 4 * (i / 2), .n_wrong = 1 * (i > 5)};
}

static void completions_give_lengths_groups_and_phrases(void **state)
{
    struct fixture *f = *state;
    struct completion_step steps[8];
    struct completions completions;
    const struct completion_phrase phrase = {"great question", 0, 31, 0.0, 0.97, 30.5, 1e-7, 0.25, 6, 6};

    some_completions(&completions, steps, &phrase);
    fake_line(f->run, "reward", 0.1, 0.9, 20);
    fake_completions(f->run, &completions);
    open_pane(f, &view_preference, true);
    const char *text = drawn(f, 50, 100);
    assert_non_null(strstr(text, "mean length of the outputs in words, by step"));
    assert_non_null(strstr(text, "12 of 32 groups have no difference in reward: 2 all wrong"));
    assert_non_null(strstr(text, "r +0.40"));
    assert_non_null(strstr(text, "6 of 8 prompts get one text: I <0x1B>[2J see"));
    assert_non_null(strstr(text, "7 of 900 tested, steps 1-2 against 7-8"));
    assert_non_null(strstr(text, "97 %   30.5x    +0.25 great question"));
    (void)drawn(f, 1, 1);
    (void)drawn(f, 5, 20);
}

static void margins_and_pairs_of_dpo_are_shown(void **state)
{
    struct fixture *f = *state;

    fake_line(f->run, "rewards/margins", 0.0, 2.0, 12);
    fake_line(f->run, "logps/chosen", -20, -30, 12);
    fake_dataset(f->run, "train", "preference", 36);
    fake_setting(f->run, "rows.preference",
                 "{\"pairs\":36,\"longer\":28,\"shorter\":8,\"mean_chosen\":37.667,"
                 "\"mean_rejected\":16.5,\"sd_chosen\":15,\"sd_rejected\":9,\"scored\":36,"
                 "\"contradicting\":2,\"score\":\"a\\u001b[2J\"}");
    open_pane(f, &view_preference, true);
    const char *text = drawn(f, 34, 110);
    assert_non_null(strstr(text, "margin between chosen and rejected"));
    assert_non_null(strstr(text, "log-probability of the chosen answers"));
    assert_non_null(strstr(text, "chosen 37.7 words, rejected 16.5"));
    assert_non_null(strstr(text, "a<0x1B>[2J contradicts the columns in 2 of 36 rows"));
}

static void nothing_to_show_says_what_to_import(void **state)
{
    struct fixture *f = *state;

    open_pane(f, &view_preference, true);
    assert_non_null(strstr(drawn(f, 10, 100), "import the metric rows of a preference run"));
    open_pane(f, &view_preference, false);
    assert_non_null(strstr(drawn(f, 10, 100), "no run chosen"));
}

static void any_size_does_no_harm(void **state)
{
    struct fixture *f = *state;

    fake_line(f->run, "reward", 0.1, 0.9, 20);
    fake_level(f->run, "kl", 0.0, 20);
    open_pane(f, &view_preference, true);
    (void)drawn(f, 1, 1);
    (void)drawn(f, 8, 3);
    (void)drawn(f, 13, 20);
    (void)drawn(f, 200, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_knee_is_named_and_marked, setup, teardown),
        cmocka_unit_test_setup_teardown(a_calm_kl_has_no_knee, setup, teardown),
        cmocka_unit_test_setup_teardown(completions_give_lengths_groups_and_phrases, setup, teardown),
        cmocka_unit_test_setup_teardown(margins_and_pairs_of_dpo_are_shown, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_to_show_says_what_to_import, setup, teardown),
        cmocka_unit_test_setup_teardown(any_size_does_no_harm, setup, teardown),
    };

    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
