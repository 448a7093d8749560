/* The evidence pane: the five lines, the pieces of evidence, and where Enter leads. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/harness/golden.h"
#include "tests/harness/pane.h"
#include "views/evidence_view.h"
#include "views/registry.h"

static struct evidence pieces[4];
static const char *const FIXES[] = {"lower the learning rate", "train in bf16"};

static struct evidence piece(const char *kind, int64_t source, int64_t line, int64_t step,
                             const char *text)
{
    return (struct evidence){.kind = kind, .source_id = source, .line = line, .step = step,
                             .row = NONE, .token = NONE, .last_step = NONE, .text = text};
}

/* nan-onset with four pieces: a line of the log, a range on the curve, a setting, a row. */
static int set_up(void **state)
{
    struct pane *pane = pane_new(&view_evidence);
    struct check_result *result;

    pane_usual_checklist(pane);
    result = &pane->rows[pane_index(pane, "nan-onset")].result;
    pieces[0] = piece("log", FAKE_LOG, 210, 1212, "{'loss': nan, 'grad_norm': inf}");
    pieces[1] = piece("rows", FAKE_LOG, NONE, 1204, "grad_norm rises from 0.9 to 71");
    pieces[1].last_step = 1211;
    pieces[1].series = "grad_norm";
    pieces[2] = piece("setting", FAKE_LOG, 3, NONE, "learning_rate = 0.003");
    pieces[3] = piece("dataset", 0, NONE, NONE, "row 9 has no answer");
    pieces[3].row = 9;
    result->evidence = pieces;
    result->n_evidence = 4;
    result->fixes = FIXES;
    result->n_fixes = 2;
    pane_facts(pane);
    pane->desk.check = pane_index(pane, "nan-onset");
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

static void a_finding_is_told_in_five_lines_and_more(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 30, 78);
    golden_compare("views/evidence-78x30.txt", pane_drawn(pane, true));
    pane_load(pane, 30, 38);
    golden_compare("views/evidence-38x30.txt", pane_drawn(pane, true));
    pane_load(pane, 18, 25);
    golden_compare("views/evidence-25x18.txt", pane_drawn(pane, false));
}

static void the_five_lines_answer_the_five_questions(void **state)
{
    struct pane *pane = *state;
    const char *text;

    pane_load(pane, 30, 100);
    text = pane_drawn(pane, false);
    assert_true(strncmp(text, "FAIL the loss is NaN from step 1212 on", 38) == 0);
    assert_non_null(strstr(text, "\nWHY  {'loss': nan, 'grad_norm': inf}"));
    assert_non_null(strstr(text, "\nSEE  explains run-incomplete, loss-flat"));
    assert_non_null(strstr(text, "\nNEXT Enter opens train.log:210, step 1212"));
    assert_non_null(strstr(text, "\nON   4 pieces of evidence, steps 1204-1212; certain, blocks"));
}

static void enter_leads_to_the_place_of_the_evidence(void **state)
{
    static const struct {
        size_t evidence;
        const char *view;
        int64_t step;
    } cases[] = {{0, "log", 1212}, {1, "curves", 1204}, {2, "settings", NONE}, {3, "labels", NONE}};
    struct pane *pane = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pane->desk.evidence = cases[i].evidence;
        pane->desk.step = NONE;
        pane->desk.open_view = NULL;
        pane_load(pane, 30, 78);
        pane_act(pane, "open");
        assert_string_equal(pane->desk.open_view, cases[i].view);
        assert_int_equal(pane->desk.step, cases[i].step);
        assert_null(pane->desk.request);
    }
}

static void evidence_without_a_place_opens_nothing(void **state)
{
    struct pane *pane = *state;

    pieces[3].row = NONE;
    pane->desk.evidence = 3;
    pane_load(pane, 30, 78);
    pane_act(pane, "open");
    assert_null(pane->desk.open_view);
    assert_null(pane->desk.request);
}

/* Rows, shares, scores and curves of the stages about quality each have a pane of their own. */
static void evidence_of_quality_opens_the_pane_that_shows_it(void **state)
{
    static const struct {
        enum stage stage;
        const char *id, *kind;
        int64_t source, line, row;
        const char *series, *view;
    } cases[] = {
        {STAGE_EVAL_POWER, "gain-within-ci", "number", 1, 2, NONE, NULL, "evals"},
        {STAGE_EVAL_POWER, "length-only-gain", "number", 0, NONE, NONE, NULL, "evals"},
        {STAGE_EVAL_POWER, "catastrophic-forgetting", "setting", 1, 2, NONE, NULL, "settings"},
        {STAGE_DATA, "contradictory-targets", "dataset", 1, NONE, 12, NULL, "pairs"},
        {STAGE_DATA, "contradictory-targets", "number", 0, NONE, NONE, NULL, "pairs"},
        {STAGE_DATA, "trivial-task", "dataset", 1, NONE, NONE, NULL, "data"},
        {STAGE_DATA, "trivial-task", "rows", 1, 4, NONE, "accuracies", "curves"},
        {STAGE_DATA, "dataset-unshuffled", "dataset", 1, NONE, 40, NULL, "data"},
        {STAGE_LEAK, "leak-near-duplicate", "dataset", 1, NONE, 3, NULL, "pairs"},
        {STAGE_LEAK, "leak-near-duplicate", "number", 0, NONE, NONE, NULL, "pairs"},
        {STAGE_LEAK, "leak-near-duplicate", "dataset", 1, NONE, NONE, NULL, "evals"},
        {STAGE_LEAK, "row-split", "dataset", 1, NONE, NONE, NULL, "data"},
        {STAGE_PREFERENCE, "chosen-rejected-swapped", "dataset", 1, 3, 2, NULL, "pairs"},
        {STAGE_PREFERENCE, "chosen-rejected-swapped", "number", 1, NONE, NONE, NULL, "pairs"},
        {STAGE_PREFERENCE, "dpo-length-exploitation", "dataset", 1, NONE, NONE, NULL, "preference"},
        {STAGE_PREFERENCE, "reward-hacking", "rows", 1, 7, NONE, "kl", "preference"},
        {STAGE_PREFERENCE, "grpo-no-signal", "rows", 1, 7, NONE, "frac_reward_zero_std", "curves"},
        {STAGE_PREFERENCE, "reward-hacking", "number", 1, NONE, NONE, NULL, "log"},
        {STAGE_PREFERENCE, "off-policy-drift", "number", 1, 1, NONE, NULL, "evals"},
        {STAGE_PREFERENCE, "negative-kl", "log", 1, 5, NONE, NULL, "log"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct check check = {.id = cases[i].id, .stage = cases[i].stage};
        struct evidence evidence = piece(cases[i].kind, cases[i].source, cases[i].line, NONE, "");

        evidence.row = cases[i].row;
        evidence.series = cases[i].series;
        assert_string_equal(evidence_view(&check, &evidence), cases[i].view);
    }
}

static void an_open_question_asks_for_the_missing_file(void **state)
{
    struct pane *pane = *state;

    pane->desk.check = pane_index(pane, "flat-all-masked");
    pane_load(pane, 30, 78);
    assert_true(shows(pane, "not decided"));
    assert_true(shows(pane, "import to decide"));
    assert_true(shows(pane, "the training rows (train.jsonl)"));
    pane_act(pane, "open");
    assert_string_equal(pane->desk.request, "import ");
}

static void a_consequence_names_its_cause_and_a_dismissed_check_its_reason(void **state)
{
    struct pane *pane = *state;

    pane->desk.check = pane_index(pane, "loss-flat");
    pane_load(pane, 30, 78);
    assert_true(shows(pane, "SEE  follows from nan-onset"));
    pane->rows[pane->desk.check].is_folded = true;
    pane_load(pane, 30, 78);
    assert_true(shows(pane, "SEE  the same fault as nan-onset"));
    pane->desk.check = pane_index(pane, "overfit");
    pane_load(pane, 30, 78);
    assert_true(shows(pane, "dismissed: it is a demo"));
}

static void remarks_on_the_check_are_shown_others_are_not(void **state)
{
    static const struct remark remarks[] = {{.id = 1, .check_id = "nan-onset", .text = "both GPUs"},
                                            {.id = 2, .check_id = "overfit", .text = "not here"},
                                            {.id = 3, .text = "about the run"}};
    struct pane *pane = *state;

    pane->desk.remarks = remarks;
    pane->desk.n_remarks = 3;
    pane_load(pane, 30, 78);
    assert_true(shows(pane, "remark: both GPUs"));
    assert_false(shows(pane, "not here"));
}

/* The chosen piece comes into sight in a low pane. */
static void the_chosen_evidence_is_brought_into_sight(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 6, 78);
    assert_false(shows(pane, "\n  row 9  "));
    pane->desk.evidence = 3;
    pane_load(pane, 6, 78);
    assert_true(shows(pane, "> row 9"));
}

static void another_check_begins_at_its_top(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 6, 78);
    pane_act(pane, "bottom");
    assert_false(shows(pane, "FAIL the loss is NaN"));
    pane->desk.check = pane_index(pane, "loss-flat");
    pane_load(pane, 6, 78);
    assert_true(shows(pane, "FAIL the loss does not go down"));
}

static void scrolling_stops_at_both_ends(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 6, 78);
    pane_act(pane, "up");
    assert_true(shows(pane, "FAIL the loss is NaN"));
    for (int i = 0; i < 50; i++)
        pane_act(pane, "page-down");
    assert_true(shows(pane, "because it would be bad"));    /* the last line stays in sight */
    pane_act(pane, "top");
    assert_true(shows(pane, "FAIL the loss is NaN"));
}

static void search_runs_over_the_lines_and_goes_there(void **state)
{
    struct pane *pane = *state;
    ptrdiff_t line;

    pane_load(pane, 6, 78);
    line = pane_search(pane, "train in bf16");
    assert_true(line > 6);
    assert_int_equal(pane_search(pane, "no such text"), -1);
    view_evidence.go(&pane->view, (size_t)line);
    assert_true(shows(pane, "train in bf16"));
}

static void hostile_evidence_is_drawn_as_marks(void **state)
{
    struct pane *pane = *state;

    pieces[0].text = "a\x1b]0;owned\x07\xe2\x80\xae" "b\xff\nc";
    pane->desk.ascii = false;
    pane_load(pane, 30, 78);
    assert_false(shows(pane, "\x1b"));
    assert_false(shows(pane, "\xe2\x80\xae"));
    assert_false(shows(pane, "\xff"));
}

static void without_a_check_nothing_happens(void **state)
{
    struct pane *pane = *state;

    pane->desk.check = -1;
    pane_load(pane, 30, 78);
    assert_true(shows(pane, "no check is open"));
    assert_false(view_evidence.act(&pane->view, view_evidence.actions[0].id));
    pane->desk.verdicts = NULL;
    pane->desk.check = 3;
    pane_load(pane, 30, 78);
    assert_true(shows(pane, "no check is open"));
}

static void no_size_is_too_small(void **state)
{
    struct pane *pane = *state;

    pane_small_sizes(pane);
    pane->desk.check = pane_index(pane, "flat-all-masked");
    pane_small_sizes(pane);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_finding_is_told_in_five_lines_and_more),
        TEST(the_five_lines_answer_the_five_questions),
        TEST(enter_leads_to_the_place_of_the_evidence),
        TEST(evidence_without_a_place_opens_nothing),
        TEST(evidence_of_quality_opens_the_pane_that_shows_it),
        TEST(an_open_question_asks_for_the_missing_file),
        TEST(a_consequence_names_its_cause_and_a_dismissed_check_its_reason),
        TEST(remarks_on_the_check_are_shown_others_are_not),
        TEST(the_chosen_evidence_is_brought_into_sight),
        TEST(another_check_begins_at_its_top),
        TEST(scrolling_stops_at_both_ends),
        TEST(search_runs_over_the_lines_and_goes_there),
        TEST(hostile_evidence_is_drawn_as_marks),
        TEST(without_a_check_nothing_happens),
        TEST(no_size_is_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
