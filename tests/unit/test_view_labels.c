/* The labels pane: which row is shown, what is trained without colour, whose turn it is, ids under the
 * tokens, rows that are long, broken or hostile. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/exports/labels_report.h"
#include "tests/harness/byte_tokenizer.h"
#include "tests/harness/imported_run.h"
#include "tests/harness/pane.h"
#include "views/registry.h"

#define PLAIN  "{user\nWhere?}\n{assistant\nHere.}\n"
#define BEGIN  (sizeof "{user\nWhere?}\n{assistant\n" - 1)
#define END    (BEGIN + sizeof "Here.}" - 1)

struct fixture {
    struct imported_run *run;
    struct pane *pane;
    struct buf rows;
    struct evidence evidence;
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){.run = imported_run_new(), .pane = pane_new(&view_labels)};
    buf_init(&f.rows, 16 << 20);
    byte_tokenizer_write(f.run->folder);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    pane_free(f->pane);
    imported_run_free(f->run);
    buf_free(&f->rows);
    return 0;
}

static void row(struct fixture *f, const char *text, size_t first, size_t end)
{
    byte_row(&f->rows, text, first, end);
}

/* Reads the rows and gives them to the pane. */
static void open_pane(struct fixture *f)
{
    tempdir_write_text(f->run->folder, "labels_sample.jsonl", f->rows.p);
    imported_run_audit(f->run, NULL);
    f->pane->desk.facts = f->run->facts;
}

static const char *drawn(struct fixture *f, int rows, int columns)
{
    pane_load(f->pane, rows, columns);
    return pane_drawn(f->pane, false);
}

static void assert_shows(const char *drawn, const char *text)
{
    if (!strstr(drawn, text))
        fail_msg("\"%s\" is not in:\n%s", text, drawn);
}

static void assert_hides(const char *drawn, const char *text)
{
    if (strstr(drawn, text))
        fail_msg("\"%s\" is in:\n%s", text, drawn);
}

static void what_is_trained_stands_in_brackets_with_a_bar_and_the_role(void **state)
{
    struct fixture *f = *state;

    row(f, PLAIN, BEGIN, END);
    open_pane(f);
    const char *text = drawn(f, 20, 60);
    assert_shows(text, "no fault in this row");
    assert_shows(text, "recorded labels");
    assert_shows(text, "user   <|im_start|>user\\n\n");
    assert_shows(text, "       Where?<|im_end|>\\n\n");
    assert_shows(text, "asst | [[Here.<|im_end|>]]\\n\n");
    assert_string_equal(f->pane->view.ops->heading(&f->pane->view), "row 0 of 1  trained 6 of 32 tokens");
}

static void a_pane_opens_at_the_first_row_with_a_fault_and_n_finds_the_others(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 6; i++)
        row(f, PLAIN, BEGIN, i == 2 || i == 4 ? BEGIN : END);
    row(f, "{user\nHow long may a row be?}\n{assistant\nAs long as this.}\n", 42, 57);
    open_pane(f);
    assert_shows(drawn(f, 20, 60), "no supervised token");
    assert_memory_equal(f->pane->view.ops->heading(&f->pane->view), "row 2 of 7  trained 0 of", 24);
    assert_shows(pane_drawn(f->pane, false), "(n: 2 such rows)");
    pane_act(f->pane, "next-fault");
    assert_memory_equal(f->pane->view.ops->heading(&f->pane->view), "row 4", 5);
    pane_act(f->pane, "next-fault");
    assert_memory_equal(f->pane->view.ops->heading(&f->pane->view), "row 2", 5);
    pane_act(f->pane, "previous-fault");
    assert_memory_equal(f->pane->view.ops->heading(&f->pane->view), "row 4", 5);
    for (int i = 0; i < 3; i++)
        pane_act(f->pane, "next-row");
    assert_memory_equal(f->pane->view.ops->heading(&f->pane->view), "row 6", 5);
    pane_act(f->pane, "previous-row");
    assert_memory_equal(f->pane->view.ops->heading(&f->pane->view), "row 5", 5);
}

static void the_row_of_the_evidence_is_opened_and_that_of_another_file_is_not(void **state)
{
    struct fixture *f = *state;
    size_t n;

    for (int i = 0; i < 5; i++)
        row(f, PLAIN, BEGIN, END);
    open_pane(f);
    pane_usual_checklist(f->pane);
    f->evidence = (struct evidence){.kind = "dataset", .row = 3, .step = NONE, .line = NONE, .token = NONE,
                                    .source_id = facts_audits(f->run->facts, &n)[0]->dataset->source_id,
                                    .text = "x"};
    f->pane->rows[1].result.evidence = &f->evidence;
    f->pane->rows[1].result.n_evidence = 1;
    f->pane->desk.check = 1;
    (void)drawn(f, 20, 60);
    assert_memory_equal(f->pane->view.ops->heading(&f->pane->view), "row 3", 5);
    pane_act(f->pane, "previous-row");
    (void)drawn(f, 20, 60);             /* the same evidence does not pull back */
    assert_memory_equal(f->pane->view.ops->heading(&f->pane->view), "row 2", 5);
    f->evidence.source_id += 1000;
    f->evidence.row = 4;
    f->pane->desk.check = 2;
    f->pane->rows[2].result.evidence = &f->evidence;
    f->pane->rows[2].result.n_evidence = 1;
    (void)drawn(f, 20, 60);
    assert_memory_equal(f->pane->view.ops->heading(&f->pane->view), "row 2", 5);
}

static void a_row_named_on_the_command_line_is_opened(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 5; i++)
        row(f, PLAIN, BEGIN, END);
    open_pane(f);
    f->pane->desk.row = 4;
    (void)drawn(f, 20, 60);
    assert_memory_equal(f->pane->view.ops->heading(&f->pane->view), "row 4 of 5", 10);
}

static void ids_and_labels_stand_under_their_tokens(void **state)
{
    struct fixture *f = *state;

    row(f, "{user\na b}", 7, 9);
    open_pane(f);
    (void)drawn(f, 24, 70);
    pane_act(f->pane, "ids");
    const char *text = pane_drawn(f->pane, false);
    assert_shows(text, "text   <|im_start|>    u    s    e    r   \\n    a  _  b <|im_end|>\n");
    assert_shows(text, "id              256  117  115  101  114   10   97 32 98        257\n");
    assert_shows(text, "label          -100 -100 -100 -100 -100 -100 -100 32 98       -100\n");
}

static void hostile_text_is_shown_and_not_obeyed(void **state)
{
    struct fixture *f = *state;

    row(f, "{user\n\x1b[31m \xe2\x80\xae \xff}\n{assistant\nok}\n", 0, 0);
    open_pane(f);
    const char *text = drawn(f, 24, 70);
    assert_shows(text, "<0x1B>[31m");
    assert_shows(text, "<U+202E>");
    assert_hides(text, "\x1b");
    pane_small_sizes(f->pane);
}

static void a_character_of_several_tokens_is_one_also_where_the_label_changes_inside(void **state)
{
    struct fixture *f = *state;

    f->pane->desk.ascii = false;
    row(f, "{user\nab\xf0\x9f\x98\x80\xe6\xbc\xa2z}", 10, 15);    /* the last two bytes of the face on */
    canvas_close(f->pane->measure);
    assert_int_equal(canvas_open(&f->pane->measure, 1, 1, false, NULL), OK);
    f->pane->view.canvas = f->pane->measure;
    open_pane(f);
    const char *text = drawn(f, 24, 70);
    assert_shows(text, "\xf0\x9f\x98\x80");
    assert_shows(text, "\xe6\xbc\xa2");
    assert_hides(text, "<0x");
    assert_shows(text, "\xe2\x9f\xa6");
}

static void long_rows_come_in_parts_that_scrolling_crosses(void **state)
{
    struct fixture *f = *state;
    static char text[30001];

    memset(text, 'x', sizeof text - 1);
    for (size_t i = 79; i < sizeof text - 1; i += 80)
        text[i] = '\n';
    row(f, text, 29000, 30000);
    open_pane(f);
    struct buf status;
    buf_init(&status, 200);
    (void)drawn(f, 20, 100);
    f->pane->view.ops->status(&f->pane->view, &status);
    assert_shows(status.p, "part 1 of 8");
    pane_act(f->pane, "bottom");
    assert_shows(pane_drawn(f->pane, false), "part 8 of 8");
    assert_shows(pane_drawn(f->pane, false), "]]");
    pane_act(f->pane, "top");
    pane_act(f->pane, "up");
    for (int i = 0; i < 200; i++)
        pane_act(f->pane, "down");
    buf_clear(&status);
    f->pane->view.ops->status(&f->pane->view, &status);
    assert_shows(status.p, "part 6 of 8");
    buf_free(&status);
}

static void other_looks_the_source_whitespace_and_lines_that_are_not_wrapped(void **state)
{
    struct fixture *f = *state;

    row(f, "{user\nan answer \tof words that go on and on and on until the line has no more room}", 5, 9);
    open_pane(f);
    (void)drawn(f, 20, 50);
    pane_act(f->pane, "blanks");
    assert_shows(pane_drawn(f->pane, false), "answer_\\tof");
    pane_act(f->pane, "wrap");
    assert_hides(pane_drawn(f->pane, false), "no_more");
    for (int i = 0; i < 5; i++)
        pane_act(f->pane, "right");
    assert_shows(pane_drawn(f->pane, false), "no_more");
    assert_memory_equal(f->pane->view.ops->heading(&f->pane->view), "row 0", 5);
    pane_act(f->pane, "source");
    assert_shows(pane_drawn(f->pane, false), "256, 117");
    pane_act(f->pane, "source");
    pane_act(f->pane, "lengths");
    assert_shows(pane_drawn(f->pane, false), "supervised");
}

static void the_key_for_changes_goes_to_where_training_begins(void **state)
{
    struct fixture *f = *state;
    static char text[4000];

    memset(text, '\n', sizeof text - 1);
    text[1000] = 'A';
    row(f, text, 1000, 1001);
    open_pane(f);
    assert_hides(drawn(f, 20, 60), "[[A]]");
    pane_act(f->pane, "next-change");
    assert_shows(pane_drawn(f->pane, false), "[[A]]");
}

static void without_rows_it_says_what_is_missing(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->run->folder, "trainer_state.json", "{\"global_step\": 1, \"log_history\": []}");
    imported_run_audit(f->run, NULL);
    f->pane->desk.facts = f->run->facts;
    assert_shows(drawn(f, 20, 80), "no labels to show, missing:");
    f->pane->desk.facts = NULL;
    assert_shows(drawn(f, 20, 80), "no run is open");
}

/* ---- The report ---- */

static void the_report_has_counts_and_rows_with_a_fault(void **state)
{
    struct fixture *f = *state;
    struct labels_report_options how = {.row = NONE, .ascii = true};
    struct error err;
    struct buf out;

    for (int i = 0; i < 4; i++)
        row(f, PLAIN, BEGIN, i == 1 ? BEGIN : END);
    row(f, "{user\nHow long may a row be?}\n{assistant\nAs long as this.}\n", 42, 57);
    open_pane(f);
    buf_init(&out, 1 << 20);
    assert_int_equal(labels_report(&out, f->run->facts, &how, &err), OK);
    assert_shows(out.p, "labels_sample.jsonl: 5 rows\n");
    assert_shows(out.p, "row 1  32 tokens, 0 supervised  FAULT: no supervised token\n");
    assert_hides(out.p, "row 0");
    buf_clear(&out);
    how.all = true;
    assert_int_equal(labels_report(&out, f->run->facts, &how, &err), OK);
    assert_shows(out.p, "[[Here.<|im_end|>]]");
    buf_clear(&out);
    how = (struct labels_report_options){.row = 2, .ascii = true};
    assert_int_equal(labels_report(&out, f->run->facts, &how, &err), OK);
    assert_shows(out.p, "row 2");
    assert_shows(out.p, "source: {\"input_ids\"");
    how.row = 5;
    assert_int_equal(labels_report(&out, f->run->facts, &how, &err), E_NOTFOUND);
    assert_shows(err.message, "there is no row 5");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_trained_stands_in_brackets_with_a_bar_and_the_role, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_pane_opens_at_the_first_row_with_a_fault_and_n_finds_the_others,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_row_of_the_evidence_is_opened_and_that_of_another_file_is_not,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_named_on_the_command_line_is_opened, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ids_and_labels_stand_under_their_tokens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_text_is_shown_and_not_obeyed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_character_of_several_tokens_is_one_also_where_the_label_changes_inside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_rows_come_in_parts_that_scrolling_crosses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_looks_the_source_whitespace_and_lines_that_are_not_wrapped,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_key_for_changes_goes_to_where_training_begins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_rows_it_says_what_is_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_report_has_counts_and_rows_with_a_fault, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
