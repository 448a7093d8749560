/* The import pane: the files that were read, and the notes on places in them. */
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
    *state = pane_new(&view_import);
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

static void files_stand_with_their_importer_and_notes_with_their_words(void **state)
{
    struct pane *pane = *state;

    fake_source(pane->run, "/fake/run/checkpoint-40/trainer_state.json", "hf_trainer_state");
    fake_source(pane->run, "/else/where/config.json", "hf_model");
    fake_note(pane->run, NOTE_WARN, "a row has two values for one step");
    fake_note(pane->run, NOTE_ERROR, "the last line is cut");
    pane_facts(pane);
    pane_load(pane, 18, 78);
    golden_compare("views/import-78x18.txt", pane_drawn(pane, true));
    pane_load(pane, 18, 25);
    golden_compare("views/import-25x18.txt", pane_drawn(pane, false));
    assert_true(shows(pane, "3 files were read"));
    assert_true(shows(pane, "2 notes"));
}

static void files_that_are_not_whole_say_so(void **state)
{
    struct pane *pane = *state;

    pane_facts(pane);
    ((struct source *)(uintptr_t)pane->desk.facts->sources)[0].state = SOURCE_DAMAGED;
    pane_load(pane, 18, 78);
    assert_true(shows(pane, "train.log  console_log  damaged"));
}

static void hostile_notes_are_drawn_as_marks(void **state)
{
    struct pane *pane = *state;

    fake_source(pane->run, "/fake/run/\x1b[31m.json", "settings_file");
    fake_note(pane->run, NOTE_WARN, "found \x1b]0;x\x07 \xe2\x80\xae here");
    pane_facts(pane);
    pane->desk.ascii = false;
    pane_load(pane, 18, 78);
    assert_false(shows(pane, "\x1b"));
    assert_false(shows(pane, "\xe2\x80\xae"));
}

static void many_notes_are_scrolled_and_searched(void **state)
{
    struct pane *pane = *state;
    ptrdiff_t line;

    for (int i = 0; i < 12; i++)
        fake_note(pane->run, NOTE_INFO, i == 11 ? "the last of them" : "one of many");
    pane_facts(pane);
    pane_load(pane, 5, 60);
    assert_false(shows(pane, "the last of them"));
    pane_act(pane, "bottom");
    assert_true(shows(pane, "the last of them"));
    pane_act(pane, "top");
    assert_true(shows(pane, "files were read"));
    line = pane_search(pane, "the last of them");
    assert_true(line > 5);
    view_import.go(&pane->view, (size_t)line);
    assert_true(shows(pane, "the last of them"));
}

static void without_a_run_it_says_so(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 18, 78);
    assert_true(shows(pane, "no run is open"));
    pane_small_sizes(pane);
}

static void no_size_is_too_small(void **state)
{
    struct pane *pane = *state;

    fake_note(pane->run, NOTE_WARN, "a row has two values for one step");
    pane_facts(pane);
    pane_small_sizes(pane);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(files_stand_with_their_importer_and_notes_with_their_words),
        TEST(files_that_are_not_whole_say_so),
        TEST(hostile_notes_are_drawn_as_marks),
        TEST(many_notes_are_scrolled_and_searched),
        TEST(without_a_run_it_says_so),
        TEST(no_size_is_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
