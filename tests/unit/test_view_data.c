/* The panes of rows: the table that sorts, filters and counts, one row whole, and pairs with their
 * differences marked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/facts/data_facts.h"
#include "tests/harness/imported_run.h"
#include "tests/harness/pane.h"
#include "views/registry.h"

struct fixture {
    struct imported_run *run;
    struct pane *data, *pairs;
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){imported_run_new(), pane_new(&view_data), pane_new(&view_pairs)};
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    pane_free(f->data);
    pane_free(f->pairs);
    imported_run_free(f->run);
    return 0;
}

static const char ROWS[] =
    "{\"prompt\": \"Is the red lamp in the hall?\", \"completion\": \"yes it is\"}\n"
    "{\"prompt\": \"A\", \"completion\": \"b\"}\n"
    "{\"prompt\": \"Is the red lamp in the hall?\", \"completion\": \"no it is\"}\n"
    "{\"prompt\": \"Which way does the long road behind the old house go?\", \"completion\": \"\"}\n"
    "{\"prompt\": \"bad \\u001b[31m\", \"completion\": \"x\"}\n";

static void open_rows(struct fixture *f, const char *rows)
{
    struct error err;

    tempdir_write_text(f->run->folder, "train.jsonl", rows);
    imported_run_audit(f->run, NULL);
    assert_int_equal(data_facts_refresh(f->run->facts, f->run->store, NULL, &err), OK);
    f->data->desk.facts = f->pairs->desk.facts = f->run->facts;
    f->data->desk.row = f->pairs->desk.row = NONE;
}

static const char *drawn(struct pane *pane, int rows, int columns)
{
    pane_load(pane, rows, columns);
    return pane_drawn(pane, false);
}

static void assert_shows(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static const char *heading(const struct pane *pane)
{
    return pane->view.ops->heading(&pane->view);
}

static const char *said(struct pane *pane)
{
    buf_clear(&pane->text);
    pane->view.ops->status(&pane->view, &pane->text);
    return pane->text.p ? pane->text.p : "";
}

static void rows_stand_with_flags_and_texts(void **state)
{
    struct fixture *f = *state;

    open_rows(f, ROWS);
    const char *text = drawn(f->data, 12, 90);
    assert_shows(text, "row");
    assert_shows(text, "contradicts");
    assert_shows(text, "empty answer");
    assert_shows(text, "Is the red lamp");
    assert_shows(text, "bad <0x1B>[31m");
    assert_string_equal(heading(f->data), "train.jsonl, 5 of 5 rows");
}

static void rows_are_sorted_and_filtered(void **state)
{
    struct fixture *f = *state;

    open_rows(f, ROWS);
    drawn(f->data, 12, 90);
    pane_act(f->data, "sort");
    const char *text = drawn(f->data, 12, 90);
    assert_true(strstr(text, "Which way") < strstr(text, "Is the red"));
    pane_act(f->data, "filter");
    drawn(f->data, 12, 90);
    assert_string_equal(heading(f->data), "train.jsonl, 3 of 5 rows, with a flag");
    pane_act(f->data, "filter");
    drawn(f->data, 12, 90);
    assert_string_equal(heading(f->data), "train.jsonl, 2 of 5 rows, contradictory");
}

static void one_row_is_read_whole_and_left_again(void **state)
{
    struct fixture *f = *state;

    open_rows(f, ROWS);
    drawn(f->data, 12, 90);
    pane_act(f->data, "down");
    pane_act(f->data, "read-row");
    const char *text = drawn(f->data, 20, 90);
    assert_shows(text, "as it stands in its file");
    assert_shows(text, "{\"prompt\": \"A\"");
    assert_string_equal(heading(f->data), "train.jsonl:2, row 1");
    pane_act(f->data, "read-row");
    assert_shows(drawn(f->data, 12, 90), "contradicts");
}

static void counts_stand_with_bars(void **state)
{
    struct fixture *f = *state;

    open_rows(f, ROWS);
    drawn(f->data, 12, 90);
    pane_act(f->data, "count");
    const char *text = drawn(f->data, 40, 90);
    assert_shows(text, "contradictory              1");
    assert_shows(text, "empty answer               1");
    assert_shows(text, "estimated, without a tokenizer");
}

static const char LABELLED[] =
    "{\"text\": \"one two three\", \"label\": \"red\", \"meta\": {\"site\": \"x\"}}\n"
    "{\"text\": \"four five\", \"label\": \"blue\", \"meta\": {\"site\": \"y\"}}\n"
    "{\"text\": \"six \\u202eseven\", \"label\": \"red\", \"meta\": {\"site\": \"x\"}}\n"
    "{\"text\": \"eight\", \"label\": 1}\n"
    "{\"text\": \"nine\", \"label\": \"1\", \"meta\": {\"site\": \"x\"}}\n";

/* The cursor on the line of the counts, or of the values. */
static void stand_on(struct pane *pane, const char *text)
{
    ptrdiff_t line = pane_search(pane, text);

    assert_true(line >= 0);
    pane->view.ops->go(&pane->view, (size_t)line);
    pane_load(pane, 40, 90);
}

static void values_of_a_column_lead_to_their_rows_and_back(void **state)
{
    struct fixture *f = *state;

    open_rows(f, LABELLED);
    drawn(f->data, 40, 90);
    pane_act(f->data, "count");
    stand_on(f->data, "label");
    pane_act(f->data, "read-row");
    const char *text = drawn(f->data, 40, 90);
    assert_string_equal(heading(f->data), "label: 4 values in 5 rows");
    assert_shows(text, "2  40.0  ##########  text    red");
    assert_shows(text, "number  1");
    assert_shows(text, "text    1");
    pane_act(f->data, "read-row");
    text = drawn(f->data, 40, 90);
    assert_string_equal(heading(f->data), "train.jsonl, 2 of 5 rows, label = red");
    assert_shows(text, "one two three");
    assert_shows(text, "<U+202E>seven");
    pane_act(f->data, "close");         /* to the values, to the counts, to all rows */
    drawn(f->data, 40, 90);
    assert_string_equal(heading(f->data), "label: 4 values in 5 rows");
    pane_act(f->data, "close");
    stand_on(f->data, "meta.site");
    pane_act(f->data, "read-row");
    text = drawn(f->data, 40, 90);
    assert_shows(text, "  text    x");
    assert_shows(text, "absent");
    pane_act(f->data, "close");
    pane_act(f->data, "close");
    drawn(f->data, 40, 90);
    assert_string_equal(heading(f->data), "train.jsonl, 5 of 5 rows");
}

static void bars_lead_to_the_rows_behind_them(void **state)
{
    struct fixture *f = *state;

    open_rows(f, ROWS);
    drawn(f->data, 60, 90);
    pane_act(f->data, "count");
    drawn(f->data, 60, 90);
    stand_on(f->data, "words of the target");
    assert_shows(drawn(f->data, 60, 90), "median ");
    ptrdiff_t title = pane_search(f->data, "words of the target");
    f->data->view.ops->go(&f->data->view, (size_t)title + 1);   /* 0 words: the empty answer */
    pane_act(f->data, "read-row");
    drawn(f->data, 60, 90);
    assert_string_equal(heading(f->data), "train.jsonl, 1 of 5 rows, 0 words");
    pane_act(f->data, "close");
    drawn(f->data, 60, 90);
    f->data->view.ops->go(&f->data->view, (size_t)title + 2);
    pane_act(f->data, "read-row");
    drawn(f->data, 60, 90);
    assert_string_equal(heading(f->data), "train.jsonl, 2 of 5 rows, 1 words");
}

static void the_search_sees_all_rows_and_whole_texts(void **state)
{
    struct fixture *f = *state;
    struct buf rows;

    buf_init(&rows, 1 << 24);
    for (int i = 0; i < 3000; i++)      /* more than one step of the pass */
        buf_printf(&rows, "{\"prompt\": \"number %d\", \"completion\": \"%0500d%s\"}\n", i, 0,
                   i == 2500 ? " the needle" : "");
    open_rows(f, rows.p);
    buf_free(&rows);
    f->data->view.rows = 12;
    f->data->view.columns = 90;
    assert_int_equal(f->data->view.ops->load(&f->data->view, NULL), OK);
    assert_shows(said(f->data), " of 3000 rows read for search and counts");
    assert_true(f->data->view.wants_load);
    drawn(f->data, 12, 90);             /* the frame goes on until all is read */
    assert_false(f->data->view.wants_load);
    assert_string_equal(said(f->data), "");
    assert_int_equal(pane_search(f->data, "the needle"), 2500);
    f->data->view.ops->go(&f->data->view, 2500);
    assert_shows(drawn(f->data, 12, 90), "number 2500");
    assert_int_equal(f->data->view.ops->at(&f->data->view), 2500);
}

static void evidence_about_rows_opens_them(void **state)
{
    struct fixture *f = *state;
    struct evidence evidence = {.kind = "dataset", .row = 3};

    open_rows(f, LABELLED);
    evidence.source_id = f->run->facts->datasets[0].source_id;
    struct verdict_row *row = pane_check(f->data, STAGE_DATA, "dataset-unshuffled", VERDICT_FAIL);
    row->result.evidence = &evidence;
    row->result.n_evidence = 1;
    pane_checklist(f->data);
    f->data->desk.check = 0;
    drawn(f->data, 12, 90);
    assert_int_equal(f->data->view.ops->at(&f->data->view), 3);
    assert_false(f->data->view.ops->act(&f->data->view, 1));    /* Esc is the frame's: back to the evidence */
}

static void a_pair_marks_what_differs(void **state)
{
    struct fixture *f = *state;

    open_rows(f, ROWS);
    const char *text = drawn(f->pairs, 20, 60);
    assert_shows(text, "[-yes-]");
    assert_shows(text, "{+no+}");
    assert_shows(text, "train.jsonl row 0");
    assert_shows(text, "train.jsonl row 2");
    assert_shows(heading(f->pairs), "1 of 1, contradictory, Jaccard");
    text = drawn(f->pairs, 20, 120);        /* side by side */
    const char *line = strstr(text, "train.jsonl row 0");
    assert_non_null(line);
    assert_true(strstr(line, "train.jsonl row 2") < strchr(line, '\n'));
    line = strstr(text, "[-yes-]");
    assert_true(line && strstr(line, "{+no+}") < strchr(line, '\n'));
    pane_act(f->pairs, "next-pair");
    assert_shows(heading(f->pairs), "1 of 1");
}

static const char PAIRS[] =
    "{\"prompt\": \"Name a tree.\", \"chosen\": \"the old oak by the road\", \"rejected\": \"the very "
    "new oak by the river\", \"score_chosen\": 2, \"score_rejected\": 9}\n"
    "{\"prompt\": \"Name a bird.\", \"chosen\": \"a \\u202ewren\", \"rejected\": \"\"}\n";

static void answers_of_a_preference_row_stand_beside_each_other(void **state)
{
    struct fixture *f = *state;

    open_rows(f, PAIRS);
    const char *text = drawn(f->pairs, 20, 60);
    assert_string_equal(heading(f->pairs), "1 of 2, chosen | rejected");
    assert_shows(text, "train.jsonl row 0: chosen");
    assert_shows(text, "train.jsonl row 0: rejected");
    assert_shows(text, "score_chosen 2  score_rejected 9");
    assert_shows(text, "prompt, the same in both");
    assert_shows(text, "the [-old-] oak by the [-road-]");
    assert_shows(text, "the {+very new+} oak by the {+river+}");
    pane_act(f->pairs, "next-pair");
    text = drawn(f->pairs, 20, 60);
    assert_shows(text, "<U+202E>");
    assert_shows(text, "(empty)");
}

static void the_keys_step_from_difference_to_difference(void **state)
{
    struct fixture *f = *state;

    open_rows(f, PAIRS);
    drawn(f->pairs, 20, 60);
    assert_shows(said(f->pairs), "2 differences, d goes to the first");
    pane_act(f->pairs, "difference");
    assert_shows(said(f->pairs), "difference 1 of 2");
    pane_act(f->pairs, "difference");
    pane_act(f->pairs, "difference");
    assert_shows(said(f->pairs), "difference 2 of 2");
    pane_act(f->pairs, "difference-before");
    assert_shows(said(f->pairs), "difference 1 of 2");
    drawn(f->pairs, 2, 60);             /* what it stands on is scrolled to */
    pane_act(f->pairs, "difference-before");
    assert_shows(drawn(f->pairs, 3, 60), "[-old-]");
}

static void evidence_of_a_pair_opens_it(void **state)
{
    static const struct evidence EVIDENCE[] = {{.kind = "number", .row = NONE},
                                               {.kind = "dataset", .row = 1, .line = 2}};
    struct fixture *f = *state;
    struct evidence evidence[2] = {EVIDENCE[0], EVIDENCE[1]};

    open_rows(f, PAIRS);
    evidence[1].source_id = f->run->facts->datasets[0].source_id;
    struct verdict_row *row = pane_check(f->pairs, STAGE_PREFERENCE, "chosen-rejected-swapped", VERDICT_FAIL);
    row->result.evidence = evidence;
    row->result.n_evidence = 2;
    pane_checklist(f->pairs);
    f->pairs->desk.check = 0;
    f->pairs->desk.evidence = 1;
    drawn(f->pairs, 20, 60);
    assert_string_equal(heading(f->pairs), "2 of 2, chosen | rejected");
    pane_act(f->pairs, "previous-pair");
    drawn(f->pairs, 20, 60);
    assert_string_equal(heading(f->pairs), "1 of 2, chosen | rejected");
    f->pairs->desk.evidence = 0;        /* the share of all: the first row that is shown of them */
    drawn(f->pairs, 20, 60);
    assert_string_equal(heading(f->pairs), "2 of 2, chosen | rejected");
}

static void nothing_to_show_says_why(void **state)
{
    struct fixture *f = *state;

    assert_shows(drawn(f->data, 5, 60), "no run chosen");
    assert_shows(drawn(f->pairs, 5, 60), "no run chosen");
    open_rows(f, "{\"prompt\": \"p\", \"completion\": \"c\"}\n");
    assert_shows(drawn(f->pairs, 5, 60), "no input stands in several rows");
    drawn(f->data, 5, 60);
    pane_act(f->data, "filter");
    assert_shows(drawn(f->data, 5, 60), "no row is left by the filter");
}

static void any_size_does_no_harm(void **state)
{
    struct fixture *f = *state;

    open_rows(f, ROWS);
    for (int rows = 1; rows < 6; rows++)
        for (int columns = 1; columns < 100; columns += 7) {
            drawn(f->data, rows, columns);
            drawn(f->pairs, rows, columns);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_stand_with_flags_and_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_are_sorted_and_filtered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_row_is_read_whole_and_left_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counts_stand_with_bars, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_of_a_column_lead_to_their_rows_and_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bars_lead_to_the_rows_behind_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_search_sees_all_rows_and_whole_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(evidence_about_rows_opens_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pair_marks_what_differs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answers_of_a_preference_row_stand_beside_each_other, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_keys_step_from_difference_to_difference, set_up, tear_down),
        cmocka_unit_test_setup_teardown(evidence_of_a_pair_opens_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_to_show_says_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_size_does_no_harm, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("view_data", tests, NULL, NULL);
}
