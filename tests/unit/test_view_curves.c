/* The curves pane: which metric a check opens, what the cursor says, restarts, marks, text form. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/fake_run.h"
#include "views/curves_data.h"
#include "views/curves_text.h"
#include "views/registry.h"

struct fixture {
    struct fake_run *run;
    struct desk desk;
    struct view view;
    struct verdicts verdicts;
    struct verdict_row row;
    struct check check;
    struct evidence evidence;
    struct buf text;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    f->run = fake_run_new(KIND_SFT);
    f->desk = (struct desk){.check = -1, .step = NONE, .search = "", .run_id = 1};
    f->view = (struct view){.ops = &view_curves, .desk = &f->desk, .rows = 20, .columns = 78,
                            .state = calloc(1, view_curves.state_size),
                            .arena = arena_open(ARENA_VIEW_BYTES)};
    f->check = (struct check){.id = "nan-onset", .stage = STAGE_FINISHED};
    f->row.check = &f->check;
    f->row.result.from_step = NONE;
    f->evidence = (struct evidence){.kind = "rows", .line = NONE, .step = NONE, .row = NONE,
                                    .token = NONE, .last_step = NONE};
    f->row.result.evidence = &f->evidence;
    f->verdicts.rows = &f->row;
    f->verdicts.n_rows = 1;
    buf_init(&f->text, 1u << 20);
    *state = f;
    return f->view.state && f->view.arena ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    view_curves.close(&f->view);
    arena_close(f->view.arena);
    free(f->view.state);
    buf_free(&f->text);
    fake_run_free(f->run);
    free(f);
    return 0;
}

static void open_pane(struct fixture *f)
{
    struct error err;
    f->desk.facts = fake_facts(f->run);
    arena_reset(f->view.arena);
    assert_int_equal(view_curves.load(&f->view, &err), OK);
}

static void open_check(struct fixture *f, const char *id, enum stage stage, const char *series,
                       int64_t step)
{
    f->check.id = id;
    f->check.stage = stage;
    f->evidence.series = series;
    f->evidence.step = step;
    f->row.result.n_evidence = series || step != NONE ? 1 : 0;
    f->desk.verdicts = &f->verdicts;
    f->desk.check = 0;
    open_pane(f);
}

static void act(struct fixture *f, const char *name)
{
    for (const struct action *action = view_curves.actions; action->name; action++)
        if (strcmp(action->name, name) == 0) {
            assert_true(view_curves.act(&f->view, action->id));
            return;
        }
    fail_msg("no action %s", name);
}

static const char *status(struct fixture *f)
{
    buf_clear(&f->text);
    view_curves.status(&f->view, &f->text);
    return f->text.p ? f->text.p : "";
}

static const char *drawn(struct fixture *f, int rows, int columns)
{
    struct canvas *canvas;
    assert_int_equal(canvas_open(&canvas, rows, columns, f->desk.ascii, NULL), OK);
    view_curves.draw(&f->view, canvas);
    buf_clear(&f->text);
    canvas_dump(canvas, false, &f->text);
    canvas_close(canvas);
    return f->text.p;
}

static void assert_shows(struct fixture *f, const char *metric)
{
    const char *text = drawn(f, 20, 78);
    assert_true(strncmp(text, metric, strlen(metric)) == 0 && text[strlen(metric)] == ' ');
}

static void add_nan_run(struct fixture *f)
{
    double loss[100], lr[100];
    for (int i = 0; i < 100; i++) {
        loss[i] = i < 80 ? 3 - 0.02 * i : NAN;
        lr[i] = 2e-4;
    }
    fake_curve(f->run, "loss", loss, 100);
    fake_curve(f->run, "learning_rate", lr, 100);
}

static void a_check_opens_the_metric_that_its_evidence_names(void **state)
{
    struct fixture *f = *state;
    add_nan_run(f);
    fake_level(f->run, "kl", 0.1, 100);
    open_check(f, "some-check", STAGE_FINISHED, "learning_rate", 5);
    assert_shows(f, "learning_rate");
    open_check(f, "some-check", STAGE_FINISHED, NULL, 5);
    f->desk.evidence = 1;               /* looked at elsewhere: the pane starts anew */
    open_pane(f);
    assert_shows(f, "loss");
    f->desk.evidence = 0;
    open_check(f, "negative-kl", STAGE_PREFERENCE, NULL, NONE);
    assert_shows(f, "kl");
    f->desk.evidence = 1;
    open_check(f, "lr-zero", STAGE_SUPERVISED, NULL, NONE);
    assert_shows(f, "learning_rate");
}

static void the_cursor_starts_at_the_evidence_and_says_the_values(void **state)
{
    struct fixture *f = *state;
    add_nan_run(f);
    fake_artefact(f->run, "checkpoint", "checkpoint-50", 50);
    open_check(f, "nan-onset", STAGE_FINISHED, "loss", 81);
    assert_int_equal(f->desk.step, 81);
    assert_non_null(strstr(status(f), "step 81  loss NaN"));
    assert_non_null(strstr(status(f), "ckpt 50"));
    assert_non_null(strstr(status(f), "20 NaN"));
    act(f, "previous-sample");
    assert_int_equal(f->desk.step, 80);
    assert_non_null(strstr(status(f), "loss 1.42"));
    assert_null(strstr(status(f), "NaN"));
}

static void marks_are_walked_in_order(void **state)
{
    struct fixture *f = *state;
    add_nan_run(f);
    fake_artefact(f->run, "checkpoint", "checkpoint-50", 50);
    open_pane(f);
    act(f, "first-sample");
    act(f, "next-mark");
    assert_int_equal(f->desk.step, 50);
    act(f, "next-mark");
    assert_int_equal(f->desk.step, 81);
    act(f, "next-mark");
    assert_int_equal(f->desk.step, 81);
    act(f, "previous-mark");
    assert_int_equal(f->desk.step, 50);
    assert_int_equal(view_curves.n_lines(&f->view), 2);
    assert_true(str_is(view_curves.line(&f->view, 1), "step 81-100  20 NaN"));
}

static void series_are_cycled_and_come_back(void **state)
{
    struct fixture *f = *state;
    add_nan_run(f);
    open_pane(f);
    assert_shows(f, "loss");
    act(f, "next-series");
    assert_shows(f, "learning_rate");
    act(f, "next-series");
    assert_shows(f, "loss");
    act(f, "previous-series");
    assert_shows(f, "learning_rate");
}

static void a_restart_keeps_the_tail_and_says_the_overlap(void **state)
{
    struct fixture *f = *state;
    int64_t step[60];
    double loss[60];
    struct picture picture;

    for (int i = 0; i < 60; i++) {
        step[i] = i < 40 ? i + 1 : i - 9;           /* 1 … 40, then 31 … 50 */
        loss[i] = 3 - 0.02 * (double)step[i];
    }
    fake_curve_at(f->run, "loss", step, loss, 60);
    open_pane(f);
    assert_non_null(strstr(drawn(f, 20, 110), "step 31-40 run twice, last kept"));
    assert_int_equal(picture_make(&picture, f->desk.facts, "loss", PICTURE_STEP, 0, f->view.arena,
                                  NULL),
                     OK);
    assert_int_equal(picture.n_series, 2);
    assert_int_equal(picture.series[0].n, 50);
    assert_true(picture.series[1].is_tail && picture.series[1].n == 10);
    assert_int_equal(picture_point_at(&picture, 35), 44);       /* the kept one */
    assert_non_null(strchr(strstr(drawn(f, 20, 78), "rail"), 'R'));
}

static void eval_points_share_the_axis_only_when_they_fit(void **state)
{
    struct fixture *f = *state;
    const int64_t at[] = {20, 40, 60};
    const double near[] = {2.5, 2.4, 2.6}, far[] = {90, 80, 95};
    struct picture picture;

    fake_line(f->run, "loss", 3, 1, 60);
    fake_curve_at(f->run, "eval_loss", at, near, 3);
    fake_curve_at(f->run, "eval_far_loss", at, far, 3);
    open_pane(f);
    assert_int_equal(picture_make(&picture, f->desk.facts, "loss", PICTURE_STEP, 0, f->view.arena,
                                  NULL),
                     OK);
    assert_int_equal(picture.n_series, 2);
    assert_true(picture.series[1].is_points);
    assert_string_equal(picture.other_scale, "eval_far_loss");
}

static void an_early_end_leaves_the_planned_axis_empty(void **state)
{
    struct fixture *f = *state;
    struct picture picture;

    fake_line(f->run, "loss", 3, 1, 60);
    fake_decided(f->run)->max_steps = 100;
    fake_decided(f->run)->last_step = 60;
    fake_decided(f->run)->run.outcome = OUTCOME_CRASHED;
    open_pane(f);
    assert_int_equal(picture_make(&picture, f->desk.facts, "loss", PICTURE_STEP, 0, f->view.arena,
                                  NULL),
                     OK);
    assert_true(picture.x_high == 100);
    assert_non_null(strchr(strstr(drawn(f, 20, 78), "rail"), 'X'));
}

static void zoom_shows_a_part_and_all_of_it_again(void **state)
{
    struct fixture *f = *state;
    add_nan_run(f);
    open_check(f, "nan-onset", STAGE_FINISHED, "loss", 81);
    char whole[8192];
    snprintf(whole, sizeof whole, "%s", drawn(f, 20, 78));
    act(f, "zoom-in");
    assert_string_not_equal(drawn(f, 20, 78), whole);
    assert_non_null(strstr(drawn(f, 20, 78), " of 100 pts"));
    act(f, "first-sample");             /* the shown part follows the cursor */
    assert_non_null(strstr(drawn(f, 20, 78), " of 100 pts"));
    act(f, "zoom-all");
    act(f, "next-mark");
    assert_string_equal(drawn(f, 20, 78), whole);
}

static void smoothing_log_and_clip_are_named_in_the_title(void **state)
{
    struct fixture *f = *state;
    double loss[100];

    for (int i = 0; i < 100; i++)
        loss[i] = i == 50 ? 60 : 2 + 0.01 * (i % 7);
    fake_curve(f->run, "loss", loss, 100);
    open_pane(f);
    assert_non_null(strstr(drawn(f, 20, 78), "loss  x=step  y=lin  ema .60  1 clipped at 60  100 pts"));
    act(f, "smoothing");
    act(f, "log-y");
    assert_non_null(strstr(drawn(f, 20, 78), "y=log  ema .90  1 clipped at 60"));
    act(f, "clip-spikes");
    assert_null(strstr(drawn(f, 20, 78), "clipped"));
}

static void nothing_logged_is_said(void **state)
{
    struct fixture *f = *state;
    open_pane(f);
    assert_non_null(strstr(drawn(f, 10, 78), "no metrics were logged"));
    assert_string_equal(status(f), "");
    f->desk.facts = NULL;
    struct error err;
    assert_int_equal(view_curves.load(&f->view, &err), OK);
    assert_non_null(strstr(drawn(f, 10, 78), "no run chosen"));
}

static void hostile_names_and_values_are_harmless(void **state)
{
    struct fixture *f = *state;
    const int64_t step[] = {5, 5, 5, 1, 1, 9};
    const double y[] = {NAN, 1e308, -1e308, INFINITY, 0, -INFINITY};

    fake_curve_at(f->run, "\x1b[31mevil", step, y, 6);
    open_pane(f);
    for (int rows = 0; rows < 30; rows += 3)
        for (int columns = 0; columns < 130; columns += 13)
            assert_null(strchr(drawn(f, rows, columns), '\x1b'));
    act(f, "log-y");
    act(f, "x-axis");
    act(f, "x-axis");
    for (int i = 0; i < 80; i++)
        act(f, i % 7 == 0 ? "next-sample" : "zoom-in");
    assert_null(strchr(drawn(f, 20, 120), '\x1b'));
}

static void text_form_is_ascii_unless_unicode_is_asked_for(void **state)
{
    struct fixture *f = *state;
    struct buf text;

    add_nan_run(f);
    open_pane(f);
    buf_init(&text, 1u << 16);
    curves_as_text(&text, f->desk.facts, "loss", 8, 40, false);
    assert_string_equal(text.p, "loss  ema .60  100 pts\n"
                                "   3 |--\\___\n"
                                "     |     ---\\___\n"
                                "     |          '---____\n"
                                "   2 |                 ---\\___\n"
                                "     |                      '---\\_\n"
                                "     ++-----+------+------+------+-----+\n"
                                " rail                            NNNNNNN\n"
                                "      0    20     40     60     80   100\n");
    buf_clear(&text);
    curves_as_text(&text, f->desk.facts, "loss", 12, 60, true);
    assert_non_null(strstr(text.p, "\xE2\xA0"));
    buf_clear(&text);
    curves_as_text(&text, f->desk.facts, "kl\x1b", 12, 60, true);
    assert_string_equal(text.p, "kl<0x1B> was not logged\n");
    buf_free(&text);
}

static void a_loss_that_hides_a_nan_is_marked_and_not_drawn_at_zero(void **state)
{
    struct fixture *f = *state;
    const double loss[] = {2, 1.9, 1.8, 1.7, 1.6, 0, 0, 0}, grad[] = {1, 1, 1, 1, 1, NAN, NAN, NAN};

    fake_curve(f->run, "loss", loss, 8);
    fake_curve(f->run, "grad_norm", grad, 8);
    f->desk.facts = fake_facts(f->run);
    curves_as_text(&f->text, f->desk.facts, "loss", 10, 40, false);
    assert_non_null(strstr(f->text.p, "N"));
    assert_null(strstr(f->text.p, "\n 0.0 |"));
}

static void what_the_log_says_of_checkpoints_and_resumes_is_on_the_rail(void **state)
{
    struct fixture *f = *state;
    double loss[40];
    const char *rail;

    for (size_t i = 0; i < 40; i++)
        loss[i] = 2.0 - (double)i / 40;
    fake_curve(f->run, "loss", loss, 40);
    fake_event(f->run, "checkpoint-saved", "checkpoint-saved", 9,
               "Saving model checkpoint to out/checkpoint-10");
    fake_capture(f->run, 1, "out/checkpoint-10");
    fake_event(f->run, "resume-jump", "resume-continue", 19,
               "Continuing training from global step 20");
    fake_capture(f->run, 1, "20");
    f->desk.facts = fake_facts(f->run);
    curves_as_text(&f->text, f->desk.facts, "loss", 10, 60, false);
    rail = strstr(f->text.p, "rail");
    assert_non_null(rail);
    assert_non_null(strchr(rail, 'C'));
    assert_non_null(strchr(rail, 'R'));
    assert_true(strchr(rail, 'C') < strchr(rail, 'R'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_loss_that_hides_a_nan_is_marked_and_not_drawn_at_zero,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_log_says_of_checkpoints_and_resumes_is_on_the_rail,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_check_opens_the_metric_that_its_evidence_names, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_cursor_starts_at_the_evidence_and_says_the_values,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(marks_are_walked_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(series_are_cycled_and_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(a_restart_keeps_the_tail_and_says_the_overlap, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(eval_points_share_the_axis_only_when_they_fit, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_early_end_leaves_the_planned_axis_empty, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(zoom_shows_a_part_and_all_of_it_again, setup, teardown),
        cmocka_unit_test_setup_teardown(smoothing_log_and_clip_are_named_in_the_title, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nothing_logged_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(hostile_names_and_values_are_harmless, setup, teardown),
        cmocka_unit_test_setup_teardown(text_form_is_ascii_unless_unicode_is_asked_for, setup,
                                        teardown),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
