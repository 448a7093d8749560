/* The log pane: the window around a line of a file, moving it, and files that cannot be shown. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/harness/golden.h"
#include "tests/harness/pane.h"
#include "tests/harness/tempdir.h"
#include "views/registry.h"

struct fixture {
    struct pane *pane;
    char *folder;
    struct evidence evidence[2];
};

static struct fixture fixture;

static int set_up(void **state)
{
    fixture = (struct fixture){.pane = pane_new(&view_log), .folder = tempdir_make()};
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pane_free(fixture.pane);
    tempdir_remove(fixture.folder);
    return 0;
}

/* A file of that many numbered lines as the evidence's file; line 0: without a line. */
static void open_file(struct fixture *f, const char *name, int n_lines, int64_t line)
{
    struct pane *pane = f->pane;
    struct buf text;
    int64_t source;

    buf_init(&text, (size_t)8 << 20);
    for (int i = 1; i <= n_lines; i++)
        buf_printf(&text, "line %d of the log\n", i);
    tempdir_write_text(f->folder, name, text.p);
    buf_free(&text);
    source = fake_source(pane->run, tempdir_path(f->folder, name), "console_log");
    f->evidence[0] = (struct evidence){.kind = "log", .source_id = source, .line = line ? line : NONE,
                                       .step = NONE, .row = NONE, .token = NONE, .last_step = NONE,
                                       .text = "x"};
    pane_usual_checklist(pane);
    pane->rows[1].result.evidence = f->evidence;
    pane->rows[1].result.n_evidence = 1;
    pane->desk.check = 1;
    pane_facts(pane);
}

static bool shows(struct fixture *f, const char *text)
{
    return strstr(pane_drawn(f->pane, false), text) != NULL;
}

static void the_line_of_the_evidence_stands_in_the_upper_third(void **state)
{
    struct fixture *f = *state;

    open_file(f, "console.log", 300, 210);
    pane_load(f->pane, 18, 38);
    golden_compare("views/log-38x18.txt", pane_drawn(f->pane, true));
    assert_true(shows(f, ">  210 line 210 of the log"));
    assert_string_equal(view_log.heading(&f->pane->view), "console.log");
}

static void a_line_far_down_is_reached_and_counted_right(void **state)
{
    struct fixture *f = *state;

    open_file(f, "console.log", 20000, 15000);
    pane_load(f->pane, 18, 38);
    assert_true(shows(f, ">15000 line 15000 of the log"));
    pane_act(f->pane, "top");
    assert_true(shows(f, "     1 line 1 of the log"));
    pane_act(f->pane, "place");
    assert_true(shows(f, ">15000 line 15000 of the log"));
}

static void paging_leads_through_the_whole_file(void **state)
{
    struct fixture *f = *state;
    int n = 0;

    open_file(f, "console.log", 2000, 1);
    pane_load(f->pane, 18, 38);
    while (!shows(f, "  2000 line 2000 of the log") && n++ < 400)
        pane_act(f->pane, "page-down");
    assert_in_range(n, 50, 200);
    n = 0;
    while (!shows(f, ">    1 line 1 of the log") && n++ < 400)
        pane_act(f->pane, "page-up");
    assert_in_range(n, 50, 200);
}

static void moving_line_by_line_skips_none_at_the_border_of_the_window(void **state)
{
    struct fixture *f = *state;

    open_file(f, "console.log", 1500, 1);
    pane_load(f->pane, 3, 38);
    for (int i = 1; i + 2 <= 1500; i++) {
        char row[64];

        snprintf(row, sizeof row, "%5d line %d of the log\n", i, i);
        if (!shows(f, row))
            fail_msg("line %d was skipped:\n%s", i, pane_drawn(f->pane, false));
        pane_act(f->pane, "down");
    }
}

static void long_lines_scroll_or_wrap(void **state)
{
    struct fixture *f = *state;

    open_file(f, "console.log", 1, 1);
    tempdir_write_text(f->folder, "console.log", "0123456789abcdefghijklmnopqrstuvwxyz\nshort\n");
    pane_load(f->pane, 4, 17);
    assert_true(shows(f, ">    1 012345678>"));
    pane_act(f->pane, "right");
    assert_true(shows(f, ">    1 <9abcdefg>"));
    pane_act(f->pane, "left");
    pane_act(f->pane, "left");
    assert_true(shows(f, ">    1 012345678>"));
    pane_act(f->pane, "wrap");
    assert_true(shows(f, "\n       abcdefghij\n"));
}

/* What a terminal would have left of a bar that was drawn over and over. */
static void a_progress_bar_shows_its_last_state(void **state)
{
    struct fixture *f = *state;

    open_file(f, "console.log", 1, 2);
    tempdir_write_text(f->folder, "console.log", "start\n 1% |#|\r50% |##|\r99% |###|\r\nend\n");
    pane_load(f->pane, 6, 38);
    assert_true(shows(f, ">    2 99% |###|\n"));
    assert_false(shows(f, "50%"));
    assert_true(shows(f, "     3 end"));
}

static void hostile_lines_are_drawn_as_marks(void **state)
{
    struct fixture *f = *state;

    open_file(f, "console.log", 1, 1);
    tempdir_write(f->folder, "console.log", "a\x1b[2J\x1b]0;x\x07\0b\xff\xe2\x80\xae" "c\n", 18);
    f->pane->desk.ascii = false;
    pane_load(f->pane, 6, 78);
    assert_false(shows(f, "\x1b"));
    assert_false(shows(f, "\xe2\x80\xae"));
    assert_false(shows(f, "\xff"));
}

static void a_file_that_is_gone_is_told(void **state)
{
    struct fixture *f = *state;

    open_file(f, "console.log", 10, 5);
    assert_int_equal(remove(tempdir_path(f->folder, "console.log")), 0);
    pane_load(f->pane, 6, 78);
    assert_true(strlen(pane_drawn(f->pane, false)) > 20);
    assert_int_equal(view_log.n_lines(&f->pane->view), 0);
    pane_act(f->pane, "page-down");
    pane_act(f->pane, "bottom");
}

static void a_file_that_became_shorter_is_shown_as_far_as_it_goes(void **state)
{
    struct fixture *f = *state;

    open_file(f, "console.log", 10, 9);
    tempdir_write_text(f->folder, "console.log", "only\n");
    pane_load(f->pane, 6, 78);
    assert_true(shows(f, "     1 only"));
}

static void evidence_in_a_binary_file_falls_back_to_text(void **state)
{
    struct fixture *f = *state;

    open_file(f, "adapter_model.safetensors", 1, 1);
    pane_load(f->pane, 6, 78);
    assert_false(shows(f, "line 1 of the log"));
}

static void the_status_says_which_lines_are_seen(void **state)
{
    struct fixture *f = *state;
    struct buf out;

    open_file(f, "console.log", 300, 210);
    pane_load(f->pane, 12, 38);
    buf_init(&out, 1000);
    view_log.status(&f->pane->view, &out);
    assert_string_equal(out.p, "console.log  lines 206-217  evidence at 210");
    buf_free(&out);
}

static void search_runs_over_the_window(void **state)
{
    struct fixture *f = *state;
    ptrdiff_t line;

    open_file(f, "console.log", 300, 1);
    pane_load(f->pane, 12, 38);
    line = pane_search(f->pane, "line 250 of");
    assert_int_equal(line, 249);
    view_log.go(&f->pane->view, (size_t)line);
    assert_true(shows(f, "   250 line 250 of the log"));
    assert_int_equal(pane_search(f->pane, "line 301 of"), -1);
}

static void without_a_run_there_is_nothing_to_show(void **state)
{
    struct fixture *f = *state;

    pane_load(f->pane, 6, 38);
    assert_true(shows(f, "nothing to show"));
    pane_small_sizes(f->pane);
}

static void no_size_is_too_small(void **state)
{
    struct fixture *f = *state;

    open_file(f, "console.log", 50, 20);
    pane_small_sizes(f->pane);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_line_of_the_evidence_stands_in_the_upper_third),
        TEST(a_line_far_down_is_reached_and_counted_right),
        TEST(paging_leads_through_the_whole_file),
        TEST(moving_line_by_line_skips_none_at_the_border_of_the_window),
        TEST(long_lines_scroll_or_wrap),
        TEST(a_progress_bar_shows_its_last_state),
        TEST(hostile_lines_are_drawn_as_marks),
        TEST(a_file_that_is_gone_is_told),
        TEST(a_file_that_became_shorter_is_shown_as_far_as_it_goes),
        TEST(evidence_in_a_binary_file_falls_back_to_text),
        TEST(the_status_says_which_lines_are_seen),
        TEST(search_runs_over_the_window),
        TEST(without_a_run_there_is_nothing_to_show),
        TEST(no_size_is_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
