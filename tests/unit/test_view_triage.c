/* The checklist pane: what it shows at two sizes, and where its keys lead. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/harness/golden.h"
#include "tests/harness/pane.h"
#include "views/registry.h"

static int set_up(void **state)
{
    *state = pane_new(&view_triage);
    return 0;
}

static int tear_down(void **state)
{
    pane_free(*state);
    return 0;
}

static void open_at(struct pane *pane, const char *check)
{
    pane_usual_checklist(pane);
    pane->desk.check = pane_index(pane, check);
    pane_load(pane, 30, 38);
}

/* The row under the cursor. */
static const char *cursor_row(struct pane *pane)
{
    static char row[200];
    struct str rest = str_of(pane_drawn(pane, true)), line, before = {NULL, 0};

    while (str_split(&rest, '\n', &line)) {
        if (str_starts(line, "|") && str_find(line, "reverse") >= 0) {
            before = str_trim(before);
            memcpy(row, before.p, before.n < 199 ? before.n : 199);
            row[before.n < 199 ? before.n : 199] = '\0';
            return row;
        }
        before = line;
    }
    return "";
}

/* A row that begins and ends like this is on the screen. */
static bool has_row(struct pane *pane, const char *start, const char *end)
{
    struct str rest = str_of(pane_drawn(pane, false)), line;

    while (str_split(&rest, '\n', &line))
        if (str_starts(line, start) && str_ends(line, end))
            return true;
    return false;
}

static bool cursor_is_on(struct pane *pane, const char *text)
{
    return strstr(cursor_row(pane), text) != NULL;
}

static void the_checklist_stands_with_the_likely_cause_open(void **state)
{
    struct pane *pane = *state;

    open_at(pane, "nan-onset");
    golden_compare("views/triage-38x30.txt", pane_drawn(pane, true));
    pane_load(pane, 18, 25);
    golden_compare("views/triage-25x18.txt", pane_drawn(pane, true));
}

static void every_stage_has_its_row_key_and_word(void **state)
{
    struct pane *pane = *state;
    const char *text;

    pane_usual_checklist(pane);
    pane_load(pane, 30, 38);
    text = pane_drawn(pane, false);
    for (int i = 0; i < N_STAGES; i++)
        assert_non_null(strstr(text, stage_name((enum stage)i)));
    assert_true(has_row(pane, " 0 finished & finite ", " FAIL"));
    assert_true(has_row(pane, " P preference ", " n/a"));
    assert_true(has_row(pane, " 1 adapter ", " ?"));
    assert_true(has_row(pane, " 7 hyperparameters ", " ok"));     /* its warning is dismissed */
}

static void enter_opens_a_stage_and_enter_again_closes_it(void **state)
{
    struct pane *pane = *state;

    pane_usual_checklist(pane);
    pane_load(pane, 30, 38);
    assert_null(strstr(pane_drawn(pane, false), "nan-onset   "));
    pane_act(pane, "open");
    assert_non_null(strstr(pane_drawn(pane, false), "run-incomplete "));
    assert_true(cursor_is_on(pane, "0 finished"));
    pane_act(pane, "open");
    assert_null(strstr(pane_drawn(pane, false), "run-incomplete "));
}

static void one_stage_at_most_is_open(void **state)
{
    struct pane *pane = *state;

    pane_usual_checklist(pane);
    pane_load(pane, 30, 38);
    pane_act(pane, "stage-0");
    pane_act(pane, "stage-3");
    assert_true(cursor_is_on(pane, "3 supervised"));
    assert_non_null(strstr(pane_drawn(pane, false), "flat-all-masked"));
    assert_null(strstr(pane_drawn(pane, false), "run-incomplete "));
}

static void enter_on_a_check_opens_its_evidence(void **state)
{
    struct pane *pane = *state;

    pane_usual_checklist(pane);
    pane_load(pane, 30, 38);
    pane_act(pane, "open");
    pane_act(pane, "down");
    pane_act(pane, "down");
    assert_true(cursor_is_on(pane, "nan-onset"));
    pane_act(pane, "open");
    assert_int_equal(pane->desk.check, pane_index(pane, "nan-onset"));
    assert_string_equal(pane->desk.open_view, "evidence");
    assert_null(pane->desk.request);
    assert_non_null(strstr(pane_drawn(pane, false), ">nan-onset"));
}

static void enter_on_an_open_question_asks_for_the_file(void **state)
{
    struct pane *pane = *state;

    open_at(pane, "flat-all-masked");
    assert_true(cursor_is_on(pane, "flat-all-masked"));
    pane_act(pane, "open");
    assert_string_equal(pane->desk.request, "import ");
}

static void escape_closes_the_stage_and_is_free_when_none_is_open(void **state)
{
    struct pane *pane = *state;
    int close = -1;

    open_at(pane, "nan-onset");
    pane_act(pane, "close");
    assert_true(cursor_is_on(pane, "0 finished"));
    for (const struct action *a = view_triage.actions; a->name; a++)
        if (strcmp(a->name, "close") == 0)
            close = a->id;
    assert_false(view_triage.act(&pane->view, close));
}

static void what_is_no_action_is_not_used(void **state)
{
    struct pane *pane = *state;

    pane_usual_checklist(pane);
    pane_load(pane, 30, 38);
    assert_false(view_triage.act(&pane->view, 500));
    assert_false(view_triage.act(&pane->view, 5000));
    assert_false(view_triage.act(&pane->view, -1));
}

static void the_cursor_stops_at_both_ends(void **state)
{
    struct pane *pane = *state;

    pane_usual_checklist(pane);
    pane_load(pane, 30, 38);
    pane_act(pane, "up");
    assert_true(cursor_is_on(pane, "0 finished"));
    pane_act(pane, "bottom");
    assert_true(cursor_is_on(pane, "7 hyper"));
    pane_act(pane, "down");
    pane_act(pane, "page-down");
    assert_true(cursor_is_on(pane, "7 hyper"));
    pane_act(pane, "top");
    assert_true(cursor_is_on(pane, "0 finished"));
}

/* FAIL, warn and ? stay; the rest is one line that Enter unfolds. */
static void quiet_checks_fold_where_they_do_not_fit(void **state)
{
    struct pane *pane = *state;

    pane_usual_checklist(pane);
    pane_load(pane, 18, 25);
    pane_act(pane, "open");
    assert_non_null(strstr(pane_drawn(pane, false), "5 ok  2 n/a"));
    assert_null(strstr(pane_drawn(pane, false), "oom-train"));
    pane_act(pane, "down");
    pane_act(pane, "down");
    pane_act(pane, "down");
    assert_true(cursor_is_on(pane, "5 ok  2 n/a"));
    pane_act(pane, "open");
    assert_non_null(strstr(pane_drawn(pane, false), "oom-train"));
}

static void the_cause_is_named_with_what_it_explains(void **state)
{
    struct pane *pane = *state;
    const char *text;

    open_at(pane, "nan-onset");
    text = pane_drawn(pane, false);
    assert_non_null(strstr(text, "likely cause"));
    assert_non_null(strstr(text, "explains 2"));
    assert_non_null(strstr(text, "the loss is NaN from step 1212 on"));
    pane->rows[pane_index(pane, "nan-onset")].result.verdict = VERDICT_WARN;
    pane->rows[pane_index(pane, "loss-flat")].result.verdict = VERDICT_PASS;
    pane_checklist(pane);
    pane_load(pane, 30, 38);
    assert_non_null(strstr(pane_drawn(pane, false), "possible cause"));
}

static void without_a_fault_the_cheapest_import_is_named(void **state)
{
    struct pane *pane = *state;
    const char *text;

    pane_check(pane, STAGE_FINISHED, "nan-onset", VERDICT_PASS);
    pane_checklist(pane);
    pane->verdicts.cheapest_import = "trainer_state.json";
    pane_load(pane, 30, 38);
    text = pane_drawn(pane, false);
    assert_non_null(strstr(text, "no fault found in what was imported"));
    assert_non_null(strstr(text, "trainer_state.json"));
    assert_null(strstr(text, "look at"));
}

static void a_warning_that_is_no_cause_is_named_too(void **state)
{
    struct pane *pane = *state;
    const char *text;

    pane_check(pane, STAGE_FINISHED, "nan-onset", VERDICT_WARN);
    pane_checklist(pane);
    const size_t root = (size_t)pane_index(pane, "nan-onset");
    pane->verdicts.headline = -1;
    pane->verdicts.roots = &root;
    pane->verdicts.n_roots = 1;
    pane->verdicts.cheapest_import = "the console log of the run, whole";
    pane_load(pane, 30, 25);
    text = pane_drawn(pane, false);
    assert_non_null(strstr(text, "no fault found in what"));
    assert_non_null(strstr(text, "look at nan-onset"));
}

static void seen_and_dismissed_checks_are_marked(void **state)
{
    struct pane *pane = *state;

    pane_usual_checklist(pane);
    pane_load(pane, 30, 38);
    pane_act(pane, "stage-7");
    assert_true(has_row(pane, "   overfit ", " off"));
    assert_true(has_row(pane, " v last-not-best ", " ok"));
}

static void search_finds_folded_checks_and_goes_there(void **state)
{
    struct pane *pane = *state;

    pane_usual_checklist(pane);
    pane_load(pane, 18, 25);
    assert_int_equal(view_triage.n_lines(&pane->view), pane->verdicts.n_rows);
    assert_int_equal(pane_search(pane, "no-such-check"), -1);
    view_triage.go(&pane->view, (size_t)pane_search(pane, "loss-flat"));
    assert_true(cursor_is_on(pane, "loss-flat"));
    assert_int_equal(view_triage.at(&pane->view), pane_index(pane, "loss-flat"));
}

static void the_cursor_stays_while_numbers_change_and_starts_anew_for_another_run(void **state)
{
    struct pane *pane = *state;

    open_at(pane, "nan-onset");
    pane_act(pane, "bottom");
    pane_load(pane, 30, 38);
    assert_true(cursor_is_on(pane, "7 hyper"));
    pane->desk.run_id = 2;
    pane->desk.check = -1;
    pane_load(pane, 30, 38);
    assert_true(cursor_is_on(pane, "0 finished"));
}

static void hostile_findings_are_drawn_as_marks(void **state)
{
    struct pane *pane = *state;

    pane_check(pane, STAGE_FINISHED, "nan-onset", VERDICT_FAIL)->result.finding =
        "a\x1b[31mb\xe2\x80\xae" "c\xff\nd";
    pane_checklist(pane);
    pane->desk.ascii = false;
    pane_load(pane, 30, 38);
    assert_null(strchr(pane_drawn(pane, false), '\x1b'));
    assert_null(strstr(pane_drawn(pane, false), "\xe2\x80\xae"));
}

static void without_a_run_it_says_what_to_do(void **state)
{
    struct pane *pane = *state;

    pane->desk.run_id = 0;
    pane_load(pane, 18, 25);
    assert_non_null(strstr(pane_drawn(pane, false), "no run is open"));
    assert_false(view_triage.act(&pane->view, view_triage.actions[0].id));
    assert_int_equal(view_triage.n_lines(&pane->view), 0);
    pane->desk.is_importing = true;
    pane_load(pane, 18, 25);
    assert_non_null(strstr(pane_drawn(pane, false), "reading the files"));
}

static void no_size_is_too_small(void **state)
{
    struct pane *pane = *state;

    pane_small_sizes(pane);
    pane_usual_checklist(pane);
    pane->desk.check = pane_index(pane, "nan-onset");
    pane_small_sizes(pane);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_checklist_stands_with_the_likely_cause_open),
        TEST(every_stage_has_its_row_key_and_word),
        TEST(enter_opens_a_stage_and_enter_again_closes_it),
        TEST(one_stage_at_most_is_open),
        TEST(enter_on_a_check_opens_its_evidence),
        TEST(enter_on_an_open_question_asks_for_the_file),
        TEST(escape_closes_the_stage_and_is_free_when_none_is_open),
        TEST(what_is_no_action_is_not_used),
        TEST(the_cursor_stops_at_both_ends),
        TEST(quiet_checks_fold_where_they_do_not_fit),
        TEST(the_cause_is_named_with_what_it_explains),
        TEST(without_a_fault_the_cheapest_import_is_named),
        TEST(a_warning_that_is_no_cause_is_named_too),
        TEST(seen_and_dismissed_checks_are_marked),
        TEST(search_finds_folded_checks_and_goes_there),
        TEST(the_cursor_stays_while_numbers_change_and_starts_anew_for_another_run),
        TEST(hostile_findings_are_drawn_as_marks),
        TEST(without_a_run_it_says_what_to_do),
        TEST(no_size_is_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
