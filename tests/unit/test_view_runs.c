/* The runs pane: opening a run, drawing one beside it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/harness/golden.h"
#include "tests/harness/pane.h"
#include "views/registry.h"

static const struct run RUNS[] = {
    {.id = 1, .name = "qwen-sft-07", .folder = "/runs/qwen-sft-07", .kind = KIND_SFT,
     .outcome = OUTCOME_CRASHED},
    {.id = 2, .name = "qwen-sft-06", .folder = "/runs/qwen-sft-06", .kind = KIND_SFT,
     .outcome = OUTCOME_FINISHED},
    {.id = 3, .name = "a-name-that-is-much-longer-than-any-column-could-be", .folder = "/runs/x",
     .kind = KIND_DPO, .outcome = OUTCOME_UNKNOWN},
    {.id = 4, .name = "evil\x1b[2J\xe2\x80\xae", .folder = "/runs/\x07", .kind = KIND_UNKNOWN,
     .outcome = OUTCOME_RUNNING}};

static int set_up(void **state)
{
    struct pane *pane = pane_new(&view_runs);

    pane->desk.runs = RUNS;
    pane->desk.n_runs = 4;
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

static void runs_are_listed_with_state_kind_and_folder(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 8, 78);
    golden_compare("views/runs-78x8.txt", pane_drawn(pane, true));
    pane_load(pane, 8, 38);
    golden_compare("views/runs-38x8.txt", pane_drawn(pane, false));
}

static void enter_opens_the_run_and_forgets_the_place_in_the_other(void **state)
{
    struct pane *pane = *state;

    pane->desk.check = 3;
    pane->desk.evidence = 2;
    pane->desk.step = 40;
    pane_load(pane, 8, 78);
    pane_act(pane, "down");
    pane_act(pane, "open");
    assert_int_equal(pane->desk.run_id, 2);
    assert_string_equal(pane->desk.open_view, "triage");
    assert_int_equal(pane->desk.check, -1);
    assert_int_equal(pane->desk.evidence, 0);
    assert_int_equal(pane->desk.step, NONE);
    assert_true(shows(pane, "> qwen-sft-06") || shows(pane, ">  qwen-sft-06"));
}

static void a_baseline_is_set_and_taken_back(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 8, 78);
    pane_act(pane, "down");
    pane_act(pane, "baseline");
    assert_int_equal(pane->desk.baseline_id, 2);
    assert_true(shows(pane, "= qwen-sft-06") || shows(pane, "=  qwen-sft-06"));
    pane_act(pane, "baseline");
    assert_int_equal(pane->desk.baseline_id, 0);
}

static void the_open_run_is_no_baseline_of_itself(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 8, 78);
    pane_act(pane, "baseline");
    assert_int_equal(pane->desk.baseline_id, 0);
}

static void opening_the_baseline_leaves_none(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 8, 78);
    pane_act(pane, "down");
    pane_act(pane, "baseline");
    pane_act(pane, "open");
    assert_int_equal(pane->desk.run_id, 2);
    assert_int_equal(pane->desk.baseline_id, 0);
}

static void names_from_files_are_drawn_as_marks(void **state)
{
    struct pane *pane = *state;

    pane->desk.ascii = false;
    pane_load(pane, 8, 78);
    assert_false(shows(pane, "\x1b"));
    assert_false(shows(pane, "\xe2\x80\xae"));
}

static void search_finds_a_run_by_name_state_and_folder(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 3, 78);
    assert_int_equal(pane_search(pane, "sft-06"), 1);
    assert_int_equal(pane_search(pane, "finished"), 1);
    assert_int_equal(pane_search(pane, "/runs/x"), 2);
    view_runs.go(&pane->view, 2);
    assert_true(shows(pane, "a-name-that"));
    assert_int_equal(view_runs.at(&pane->view), 2);
}

static void without_runs_nothing_is_opened(void **state)
{
    struct pane *pane = *state;

    pane->desk.n_runs = 0;
    pane->desk.run_id = 0;
    pane_load(pane, 8, 78);
    assert_true(shows(pane, "no runs yet"));
    pane_act(pane, "open");
    pane_act(pane, "down");
    pane_act(pane, "baseline");
    assert_int_equal(pane->desk.run_id, 0);
    assert_int_equal(pane->desk.baseline_id, 0);
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
        TEST(runs_are_listed_with_state_kind_and_folder),
        TEST(enter_opens_the_run_and_forgets_the_place_in_the_other),
        TEST(a_baseline_is_set_and_taken_back),
        TEST(the_open_run_is_no_baseline_of_itself),
        TEST(opening_the_baseline_leaves_none),
        TEST(names_from_files_are_drawn_as_marks),
        TEST(search_finds_a_run_by_name_state_and_folder),
        TEST(without_runs_nothing_is_opened),
        TEST(no_size_is_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
