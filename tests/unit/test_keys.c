/* Names of keys, the tables of actions of every pane, and what the config file may rebind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tui/frame.h"
#include "tui/keys.h"
#include "views/scroll.h"

static const char *const NAMES[] = {
    "Space", "Up",  "Down",  "Left",  "Right",     "Home",   "End",    "PgUp",    "PgDn",
    "Enter", "Tab", "S-Tab", "Esc",   "BackSpace", "Delete", "C-Left", "C-Right", "F1",
    "F9",    "F10", "F12",   "C-a",   "C-d",       "C-z",    "j",      "G",       "?",
    "]",     "}",   "/",     ":",     "=",         "ä",      "€",      "😀",      "C",
    "F",     "#",   "-",
};

static void every_name_is_parsed_and_said_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        int key = key_parse(NAMES[i]);
        char name[16];

        assert_true(key > 0);
        key_to_name(key, name);
        assert_string_equal(name, NAMES[i]);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(key_parse(NAMES[k]), key);
    }
}

static void every_key_code_has_a_name_that_is_parsed(void **state)
{
    char name[16];

    (void)state;
    for (int key = KEYCODE_FIRST + 1; key <= KEYCODE_F12; key++) {
        key_to_name(key, name);
        assert_int_equal(key_parse(name), key);
    }
    for (int key = 1; key <= 26; key++) {
        key_to_name(key, name);
        assert_int_equal(key_parse(name), key);
    }
    for (int key = ' '; key < 127; key++) {
        key_to_name(key, name);
        assert_int_equal(key_parse(name), key);
    }
}

static void what_is_no_key_is_refused(void **state)
{
    static const char *const texts[] = {
        "",      "jj",      "C-",      "C-A",  "C-ab",  "F0",   "F13",     "F1x", "F123",
        "space", "Control", "M-x",     " ",    "\x1b",  "\t",   "\xff",    "\xc3", "S-Up",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(key_parse(texts[i]), -1);
}

static bool is_motion(const struct action *action)
{
    return action->id >= MOTION_FIRST && action->id <= MOTION_PAGE_UP;
}

/* Every key of the table is one, and no two actions share one: but a pane's own action may take a
 * key of moving when it stands before it, as keys_find takes the first. */
static void check_keys(const char *table, const struct action *actions)
{
    int seen[256];
    size_t n = 0;

    for (const struct action *action = actions; action->name; action++) {
        struct str rest = str_of(action->keys), word;

        while (str_split(&rest, ' ', &word)) {
            char name[32];
            int key;

            if (word.n == 0)
                continue;
            assert_true(word.n < 16);
            snprintf(name, sizeof name, "%.*s", (int)word.n, word.p);
            key = key_parse(name);
            if (key < 0)
                fail_msg("%s %s: no key %s", table, action->name, name);
            for (size_t i = 0; i < n; i++)
                if (seen[i] == key && !is_motion(action))
                    fail_msg("%s %s: the key %s has another action", table, action->name, name);
            assert_true(n < 256);
            seen[n++] = key;
        }
    }
}

static void check_names(const char *table, const struct action *actions)
{
    for (const struct action *a = actions; a->name; a++) {
        if (!a->name[0] || strspn(a->name, "abcdefghijklmnopqrstuvwxyzP0123456789-") != strlen(a->name))
            fail_msg("%s: %s is no name for the command line", table, a->name);
        if (!a->help || !a->help[0] || strlen(a->help) > 100)
            fail_msg("%s %s: no help of one line", table, a->name);
        for (const struct action *b = actions; b < a; b++) {
            if (strcmp(a->name, b->name) == 0)
                fail_msg("%s: two actions %s", table, a->name);
            if (a->id == b->id)
                fail_msg("%s: %s and %s have one id", table, a->name, b->name);
        }
    }
}

static void actions_of_every_pane_have_keys_names_and_help_of_their_own(void **state)
{
    (void)state;
    check_keys("frame", FRAME_ACTIONS);
    check_names("frame", FRAME_ACTIONS);
    for (size_t i = 0; i < view_count(); i++) {
        check_keys(view_at(i)->id, view_at(i)->actions);
        check_names(view_at(i)->id, view_at(i)->actions);
    }
}

/* `:` takes names of the frame and of the pane; the same name has to mean the same to the hand. */
static void one_name_has_one_first_key_in_all_panes(void **state)
{
    static const char *const shared[] = {"down", "up", "top", "bottom", "left", "right", "open"};

    (void)state;
    for (size_t s = 0; s < sizeof shared / sizeof shared[0]; s++) {
        const char *first = NULL;

        for (size_t i = 0; i < view_count(); i++)
            for (const struct action *a = view_at(i)->actions; a->name; a++) {
                size_t n;

                if (strcmp(a->name, shared[s]) != 0 || !a->keys[0])
                    continue;
                n = strcspn(a->keys, " ");
                if (first && (strcspn(first, " ") != n || strncmp(first, a->keys, n) != 0))
                    fail_msg("%s in %s: %s, elsewhere %s", a->name, view_at(i)->id, a->keys, first);
                first = a->keys;
            }
    }
}

static void a_key_finds_its_action(void **state)
{
    static const struct action actions[] = {
        {1, "down", "j Down", "down"}, {2, "page", "Space C-d", "page"}, {3, "none", "", "no key"},
        {0, NULL, NULL, NULL}};

    (void)state;
    assert_int_equal(keys_find(actions, "x", key_parse("Down"))->id, 1);
    assert_int_equal(keys_find(actions, "x", ' ')->id, 2);
    assert_int_equal(keys_find(actions, "x", 4)->id, 2);
    assert_null(keys_find(actions, "x", 'k'));
    assert_null(keys_find(actions, "x", -1));
    assert_null(keys_find(NULL, "x", 'j'));
}

static void a_rebinding_goes_before_the_table_in_its_own_pane(void **state)
{
    static const struct action actions[] = {{1, "down", "j Down", "down"}, {0, NULL, NULL, NULL}};

    (void)state;
    assert_true(keys_rebind("pane-a", "down", "n C-n"));
    assert_string_equal(keys_of(actions, "pane-a"), "n C-n");
    assert_string_equal(keys_of(actions, "pane-b"), "j Down");
    assert_int_equal(keys_find(actions, "pane-a", 'n')->id, 1);
    assert_null(keys_find(actions, "pane-a", 'j'));
    assert_int_equal(keys_find(actions, "pane-b", 'j')->id, 1);
    assert_true(keys_rebind("pane-a", "down", "m"));    /* the last one counts */
    assert_string_equal(keys_of(actions, "pane-a"), "m");
    assert_false(keys_rebind("pane-a", "down", "m NoSuchKey"));
    assert_string_equal(keys_of(actions, "pane-a"), "m");
}

/* A word longer than any name must not be taken for the name it begins with. */
static void a_long_word_is_no_key(void **state)
{
    (void)state;
    assert_false(keys_rebind("pane-c", "down", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
    assert_false(keys_rebind("pane-c", "down", "Space-and-more-than-that"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_parsed_and_said_again),
        cmocka_unit_test(every_key_code_has_a_name_that_is_parsed),
        cmocka_unit_test(what_is_no_key_is_refused),
        cmocka_unit_test(actions_of_every_pane_have_keys_names_and_help_of_their_own),
        cmocka_unit_test(one_name_has_one_first_key_in_all_panes),
        cmocka_unit_test(a_key_finds_its_action),
        cmocka_unit_test(a_rebinding_goes_before_the_table_in_its_own_pane),
        cmocka_unit_test(a_long_word_is_no_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
