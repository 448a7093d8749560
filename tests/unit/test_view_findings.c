/* The findings pane: the user's findings and remarks beside the program's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/harness/golden.h"
#include "tests/harness/pane.h"
#include "views/registry.h"

static const struct user_finding FINDINGS[] = {
    {.id = 1, .check_id = "nan-onset", .verdict = "fail", .sentence = "NaN begins at the resume",
     .line = NONE, .step = 1212},
    {.id = 2, .check_id = "no-such-check", .verdict = "warn", .sentence = "an old one",
     .exported = true, .line = NONE, .step = NONE},
    {.id = 3, .verdict = "nonsense", .sentence = "without a check", .line = NONE, .step = NONE}};
static const struct remark REMARKS[] = {{.id = 1, .text = "ask the others"}};

static int set_up(void **state)
{
    struct pane *pane = pane_new(&view_findings);

    pane_usual_checklist(pane);
    pane->desk.user_findings = FINDINGS;
    pane->desk.n_user_findings = 3;
    pane->desk.remarks = REMARKS;
    pane->desk.n_remarks = 1;
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

static void all_that_an_export_will_hold_is_listed(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 18, 100);
    golden_compare("views/findings-100x18.txt", pane_drawn(pane, true));
    pane_load(pane, 30, 38);
    golden_compare("views/findings-38x30.txt", pane_drawn(pane, false));
}

static void enter_opens_the_evidence_of_the_finding(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 18, 100);
    pane_act(pane, "open");
    assert_string_equal(pane->desk.open_view, "evidence");
    assert_int_equal(pane->desk.check, pane_index(pane, "nan-onset"));
}

static void enter_on_a_finding_about_no_known_check_opens_nothing(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 18, 100);
    pane_act(pane, "down");
    pane_act(pane, "open");
    pane_act(pane, "down");
    pane_act(pane, "open");
    assert_null(pane->desk.open_view);
    assert_int_equal(pane->desk.check, -1);
}

static void checks_that_passed_are_no_findings(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 18, 100);
    assert_false(shows(pane, "oom-train"));
    assert_false(shows(pane, "flat-all-masked"));
    assert_true(shows(pane, "it is a demo"));           /* a dismissed one with its reason */
}

static void search_finds_a_sentence_and_goes_there(void **state)
{
    struct pane *pane = *state;
    ptrdiff_t line;

    pane_load(pane, 4, 100);
    line = pane_search(pane, "does not go down");
    assert_true(line > 3);
    view_findings.go(&pane->view, (size_t)line);
    assert_true(shows(pane, "the loss does not go down"));
    assert_int_equal(view_findings.at(&pane->view), line);
}

static void long_sentences_can_be_scrolled_sideways(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 18, 50);
    assert_false(shows(pane, "29 of 1240 rows"));
    for (int i = 0; i < 6; i++)
        pane_act(pane, "right");
    assert_true(shows(pane, "29 of 1240 rows"));
    for (int i = 0; i < 20; i++)
        pane_act(pane, "left");
    assert_true(shows(pane, "FAIL"));
}

static void the_selection_stays_inside_when_the_list_becomes_shorter(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 18, 100);
    pane_act(pane, "bottom");
    pane->desk.verdicts = NULL;
    pane->desk.n_user_findings = 1;
    pane->desk.n_remarks = 0;
    pane_load(pane, 18, 100);
    assert_int_equal(view_findings.at(&pane->view), 0);
    pane_act(pane, "open");
}

static void an_empty_list_says_how_to_fill_it(void **state)
{
    struct pane *pane = *state;

    pane->desk.verdicts = NULL;
    pane->desk.n_user_findings = pane->desk.n_remarks = 0;
    pane_load(pane, 18, 100);
    assert_true(shows(pane, "no findings yet"));
    pane_act(pane, "open");
    pane_act(pane, "page-down");
    assert_null(pane->desk.open_view);
    pane_small_sizes(pane);
}

static void no_size_is_too_small(void **state)
{
    pane_small_sizes(*state);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(all_that_an_export_will_hold_is_listed),
        TEST(enter_opens_the_evidence_of_the_finding),
        TEST(enter_on_a_finding_about_no_known_check_opens_nothing),
        TEST(checks_that_passed_are_no_findings),
        TEST(search_finds_a_sentence_and_goes_there),
        TEST(long_sentences_can_be_scrolled_sideways),
        TEST(the_selection_stays_inside_when_the_list_becomes_shorter),
        TEST(an_empty_list_says_how_to_fill_it),
        TEST(no_size_is_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
