/* The evals pane: whiskers with 0 marked, what the items can show, flips on Enter. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/harness/pane.h"
#include "views/registry.h"

enum { N_ITEMS = 40 };

static void add_items(struct pane *pane, const char *model, int right, int flipped)
{
    static char names[N_ITEMS][24];
    struct eval_item items[N_ITEMS] = {{0}};

    for (int i = 0; i < N_ITEMS; i++) {
        snprintf(names[i], sizeof names[i], "q%02d", i);
        bool is_right = i < right;
        items[i] = (struct eval_item){.item = names[i], .score = i < flipped ? !is_right : is_right};
    }
    fake_suite(pane->run, model, "tickets", 0, N_ITEMS);
    fake_items(pane->run, items, N_ITEMS);
}

static int set_up(void **state)
{
    struct pane *pane = pane_new(&view_evals);

    add_items(pane, "base", 10, 0);
    add_items(pane, "ft", 22, 1); /* q00 lost, twelve gained */
    fake_suite(pane->run, "base", "essays\x1b[31m", 60, 100);
    fake_suite(pane->run, "ft", "essays\x1b[31m", 62, 100);
    fake_suite(pane->run, "ft", "alone", 5, 10);
    pane_usual_checklist(pane);
    pane_facts(pane);
    *state = pane;
    return 0;
}

static int tear_down(void **state)
{
    pane_free(*state);
    return 0;
}

static bool shows(struct pane *pane, const char *text)
{
    return strstr(pane_drawn(pane, false), text) != NULL;
}

static void whiskers_show_0_and_the_power(void **state)
{
    struct pane *pane = *state;

    pane->desk.ascii = true;
    pane_load(pane, 20, 78);
    assert_true(shows(pane, "tickets  ft  40 items"));
    assert_true(shows(pane, "   25.0  52.5  +27.5 "));
    assert_true(shows(pane, "|     [------*------]")); /* leaves 0 out */
    assert_true(shows(pane, " +12.0 +43.0"));
    assert_true(shows(pane, "100 items see 12.4 points or more; 2.0 points need 3923; not paired"));
    assert_true(shows(pane, "1 suite stands without a result of the other side"));
    assert_false(shows(pane, "\x1b"));
}

static void enter_lists_the_flips_and_takes_them_away(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 30, 78);
    assert_false(shows(pane, "gained q10"));
    pane_act(pane, "flips");
    assert_true(shows(pane, "1 lost, 12 gained of 40"));
    assert_true(shows(pane, "- lost   q00  1 to 0"));
    assert_true(shows(pane, "+ gained q10  0 to 1"));
    pane_act(pane, "flips");
    assert_false(shows(pane, "gained q10"));
}

static void a_narrow_pane_cuts_no_number(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 20, 51);
    assert_true(shows(pane, "tickets  ft  40 items"));
    assert_true(shows(pane, "   25.0  52.5  +27.5 "));
    assert_true(shows(pane, " +12.0 +43.0"));
    assert_true(shows(pane, "  items see 12.4 points; 2.0 need 3923; not paired"));
}

static void a_wide_pane_has_a_line_for_each(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 20, 120);
    assert_true(shows(pane, "ft            40  25.0  52.5  +27.5"));
}

static void the_power_curve_marks_this_run(void **state)
{
    struct pane *pane = *state;

    pane->desk.ascii = true;
    pane_load(pane, 60, 78);
    for (int i = 0; i < 3; i++)
        pane_act(pane, "down"); /* the suite without pairs */
    pane_act(pane, "flips");
    assert_true(shows(pane, "points that can be seen (80 % power) by items"));
    assert_true(shows(pane, "# this run: 100 items, +2.0 points, below the curve"));
    assert_true(shows(pane, "o 2.0 points need 3923"));
    assert_true(shows(pane, "* 100 items see 12.4 points or more"));
    assert_true(shows(pane, "*o*"));
}

static void enter_on_judgements_shows_which_length_won(void **state)
{
    struct judgement judged[60];
    struct pane *pane = pane_new(&view_evals);

    (void)state;
    for (int i = 0; i < 60; i++)
        judged[i] = (struct judgement){.source_id = 1, .ord = i, .base = "base", .candidate = "ft",
                                       .length_base = 100, .length_candidate = i < 20 ? 100 : 160,
                                       .score = i < 10 || i >= 20, .step = NONE, .line = i + 1};
    fake_judgements(pane->run, judged, 60);
    pane_usual_checklist(pane);
    pane_facts(pane);
    pane->desk.ascii = true;
    pane_load(pane, 40, 51);
    pane_act(pane, "flips");
    assert_true(shows(pane, "  0.9-1.1x ########### 20, won 50 %"));
    assert_true(shows(pane, "  1.5-2.0x ##################### 40, won 100 %"));
    pane_free(pane);
}

static void any_size_does_no_harm(void **state)
{
    struct pane *pane = *state;

    pane_small_sizes(pane);
}

static void an_empty_run_says_what_to_import(void **state)
{
    struct pane *pane = pane_new(&view_evals);

    (void)state;
    pane_usual_checklist(pane);
    pane_facts(pane);
    pane_load(pane, 10, 78);
    assert_true(shows(pane, "eval_results.jsonl"));
    pane_free(pane);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whiskers_show_0_and_the_power, set_up, tear_down),
        cmocka_unit_test_setup_teardown(enter_lists_the_flips_and_takes_them_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_narrow_pane_cuts_no_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wide_pane_has_a_line_for_each, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_power_curve_marks_this_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_size_does_no_harm, set_up, tear_down),
        cmocka_unit_test(enter_on_judgements_shows_which_length_won),
        cmocka_unit_test(an_empty_run_says_what_to_import),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
