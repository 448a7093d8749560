/* The help pane is made from the tables: nothing that can be pressed is missing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/harness/pane.h"
#include "views/registry.h"

static const struct action FRAME[] = {{1, "quit-it", "q", "leave the program"},
                                      {2, "next-pane", "Tab", "the keys go to the next pane"},
                                      {0, NULL, NULL, NULL}};

static const char *bound(const struct action *action, const char *view_id)
{
    return strcmp(view_id, "frame") == 0 && action->id == 1 ? "C-q" : action->keys;
}

static int set_up(void **state)
{
    *state = pane_new(&view_help);
    view_help_set_frame_actions(FRAME, bound);
    return 0;
}

static int tear_down(void **state)
{
    pane_free(*state);
    return 0;
}

/* The whole text, as search sees it. */
static bool says(struct pane *pane, const char *text)
{
    return pane_search(pane, text) >= 0;
}

static void every_action_of_every_pane_is_listed(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 30, 110);
    for (size_t i = 0; i < view_count(); i++)
        for (const struct action *a = view_at(i)->actions; a->name; a++)
            if (!says(pane, a->name))
                fail_msg("%s of %s is missing", a->name, view_at(i)->id);
    for (const struct action *a = FRAME; a->name; a++)
        assert_true(says(pane, a->help));
}

static void keys_are_those_that_the_user_bound(void **state)
{
    struct pane *pane = *state;
    struct str line;

    pane_load(pane, 30, 110);
    line = view_help.line(&pane->view, (size_t)pane_search(pane, "quit-it"));
    assert_true(str_find(line, "C-q") >= 0);
}

static void the_signs_are_explained(void **state)
{
    struct pane *pane = *state;

    pane_load(pane, 30, 110);
    assert_true(says(pane, "N NaN"));
    assert_true(says(pane, "FAIL"));
    assert_true(says(pane, "smoothed line"));
}

static void no_line_is_wider_than_the_pane(void **state)
{
    static const int widths[] = {25, 38, 60, 78, 110};
    struct pane *pane = *state;

    for (size_t w = 0; w < 5; w++) {
        pane_load(pane, 30, widths[w]);
        for (size_t i = 0; i < view_help.n_lines(&pane->view); i++)
            if (view_help.line(&pane->view, i).n > (size_t)widths[w])
                fail_msg("%d columns: line %zu is longer", widths[w], i);
    }
}

static void it_scrolls_to_its_end_and_no_further(void **state)
{
    struct pane *pane = *state;
    char first[200], last[200];

    pane_load(pane, 20, 78);
    strncpy(first, pane_drawn(pane, false), sizeof first - 1);
    first[sizeof first - 1] = '\0';
    pane_act(pane, "bottom");
    strncpy(last, pane_drawn(pane, false), sizeof last - 1);
    last[sizeof last - 1] = '\0';
    assert_string_not_equal(first, last);
    for (int i = 0; i < 5; i++)
        pane_act(pane, "page-down");
    assert_int_equal(strncmp(last, pane_drawn(pane, false), sizeof last - 1), 0);
    pane_act(pane, "top");
    assert_int_equal(strncmp(first, pane_drawn(pane, false), sizeof first - 1), 0);
}

static void no_size_is_too_small(void **state)
{
    pane_small_sizes(*state);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_action_of_every_pane_is_listed),
        TEST(keys_are_those_that_the_user_bound),
        TEST(the_signs_are_explained),
        TEST(no_line_is_wider_than_the_pane),
        TEST(it_scrolls_to_its_end_and_no_further),
        TEST(no_size_is_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
