/* The line of input at the bottom: editing, history, completion, long and strange texts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"
#include "tui/keys.h"
#include "tui/prompt.h"

static struct prompt prompt;

static int setup(void **state)
{
    (void)state;
    prompt_init(&prompt);
    prompt_open(&prompt, PROMPT_COMMAND, "");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    prompt_close(&prompt);
    return 0;
}

static void type(const char *text)
{
    struct str rest = str_of(text);
    int32_t codepoint;

    while (rest.n) {
        rest = str_skip(rest, unicode_next(rest, &codepoint));
        assert_int_equal(prompt_key(&prompt, codepoint, NULL, NULL), PROMPT_CHANGED);
    }
}

static enum prompt_result press(int key)
{
    return prompt_key(&prompt, key, NULL, NULL);
}

static void text_is_typed_and_accepted(void **state)
{
    (void)state;
    type("goto step 1212");
    assert_string_equal(prompt.text.p, "goto step 1212");
    assert_int_equal(press(KEYCODE_ENTER), PROMPT_ACCEPTED);
    assert_string_equal(prompt.text.p, "goto step 1212");
}

static void escape_and_control_c_give_up(void **state)
{
    (void)state;
    type("x");
    assert_int_equal(press(KEYCODE_ESC), PROMPT_CANCELLED);
    assert_int_equal(press(3), PROMPT_CANCELLED);
}

static void the_cursor_moves_by_characters_not_bytes(void **state)
{
    (void)state;
    type("aä€😀");
    assert_int_equal(prompt.at, 10);
    press(KEYCODE_LEFT);
    assert_int_equal(prompt.at, 6);
    press(KEYCODE_LEFT);
    press(KEYCODE_LEFT);
    assert_int_equal(prompt.at, 1);
    type("b");
    assert_string_equal(prompt.text.p, "abä€😀");
    press(KEYCODE_RIGHT);
    assert_int_equal(prompt.at, 4);
    press(KEYCODE_BACKSPACE);
    assert_string_equal(prompt.text.p, "ab€😀");
    press(KEYCODE_DELETE);
    assert_string_equal(prompt.text.p, "ab😀");
    press(KEYCODE_HOME);
    press(KEYCODE_LEFT);
    assert_int_equal(prompt.at, 0);
    type("<");
    press(KEYCODE_END);
    press(KEYCODE_RIGHT);
    type(">");
    assert_string_equal(prompt.text.p, "<ab😀>");
}

static void deleting_at_the_ends_changes_nothing(void **state)
{
    (void)state;
    type("ab");
    press(KEYCODE_DELETE);
    assert_string_equal(prompt.text.p, "ab");
    press(KEYCODE_HOME);
    press(KEYCODE_BACKSPACE);
    assert_string_equal(prompt.text.p, "ab");
    assert_int_equal(prompt.at, 0);
}

static void backspace_in_an_empty_line_leaves_it(void **state)
{
    (void)state;
    type("a");
    assert_int_equal(press(KEYCODE_BACKSPACE), PROMPT_CHANGED);
    assert_int_equal(press(KEYCODE_BACKSPACE), PROMPT_CANCELLED);
}

static void control_u_empties_the_line(void **state)
{
    (void)state;
    type("something");
    press(21);
    assert_string_equal(prompt.text.p, "");
    assert_int_equal(prompt.at, 0);
}

static void other_keys_are_no_text(void **state)
{
    static const int keys[] = {KEYCODE_F1, KEYCODE_PAGE_UP, KEYCODE_CTRL_LEFT, KEYCODE_BACKTAB,
                               2, 26, 127};

    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_int_equal(press(keys[i]), PROMPT_GOES_ON);
    assert_int_equal(prompt.text.n, 0);
}

static void history_goes_from_new_to_old_and_back(void **state)
{
    (void)state;
    prompt_remember(&prompt, "first");
    prompt_remember(&prompt, "second");
    prompt_open(&prompt, PROMPT_COMMAND, "");
    press(KEYCODE_UP);
    assert_string_equal(prompt.text.p, "second");
    assert_int_equal(prompt.at, 6);
    press(KEYCODE_UP);
    assert_string_equal(prompt.text.p, "first");
    press(KEYCODE_UP);
    assert_string_equal(prompt.text.p, "first");
    press(KEYCODE_DOWN);
    press(KEYCODE_DOWN);
    assert_string_equal(prompt.text.p, "");
    press(KEYCODE_DOWN);
    assert_string_equal(prompt.text.p, "");
}

static void history_belongs_to_commands_only(void **state)
{
    (void)state;
    prompt_remember(&prompt, "first");
    prompt_open(&prompt, PROMPT_SEARCH, "lo");
    press(KEYCODE_UP);
    assert_string_equal(prompt.text.p, "lo");
}

static void history_keeps_the_newest(void **state)
{
    char command[32];

    (void)state;
    for (int i = 0; i < PROMPT_HISTORY + 20; i++) {
        snprintf(command, sizeof command, "goto step %d", i);
        prompt_remember(&prompt, command);
    }
    prompt_open(&prompt, PROMPT_COMMAND, "");
    assert_int_equal(prompt.n_history, PROMPT_HISTORY);
    press(KEYCODE_UP);
    assert_string_equal(prompt.text.p, "goto step 69");
    for (int i = 0; i < 2 * PROMPT_HISTORY; i++)
        press(KEYCODE_UP);
    assert_string_equal(prompt.text.p, "goto step 20");
}

/* ---- Completion ---- */

static void offer(void *ctx, const char *text, struct buf *out)
{
    struct str rest = str_of(ctx), one;

    while (str_split(&rest, '\n', &one))
        if (str_starts(one, text)) {
            buf_str(out, one);
            buf_putc(out, '\n');
        }
}

static void press_tab(const char *offered)
{
    assert_int_equal(prompt_key(&prompt, KEYCODE_TAB, offer, (void *)(uintptr_t)offered),
                     PROMPT_CHANGED);
}

static void the_only_completion_is_taken_with_a_blank_behind_it(void **state)
{
    (void)state;
    type("exp");
    press_tab("export\nopen");
    assert_string_equal(prompt.text.p, "export ");
    assert_int_equal(prompt.at, prompt.text.n);
    assert_string_equal(prompt.candidates, "");
}

static void a_folder_is_completed_without_a_blank(void **state)
{
    (void)state;
    type("import r");
    press_tab("import runs/");
    assert_string_equal(prompt.text.p, "import runs/");
}

static void what_all_completions_share_is_taken_and_they_are_shown(void **state)
{
    (void)state;
    type("import t");
    press_tab("import train.log\nimport trainer_state.json\nopen");
    assert_string_equal(prompt.text.p, "import train");
    assert_string_equal(prompt.candidates, "train.log  trainer_state.json  ");
    type("e");
    assert_string_equal(prompt.candidates, "");
}

static void completions_that_share_half_a_character_give_none_of_it(void **state)
{
    (void)state;
    type("import x");
    press_tab("import xä\nimport xö");
    assert_string_equal(prompt.text.p, "import x");
}

static void no_completion_leaves_the_text(void **state)
{
    (void)state;
    type("zzz");
    press_tab("export\nopen");
    assert_string_equal(prompt.text.p, "zzz");
    assert_int_equal(press(KEYCODE_TAB), PROMPT_CHANGED);       /* nobody completes */
    assert_string_equal(prompt.text.p, "zzz");
}

static void a_blank_of_completion_stands_at_the_end(void **state)
{
    (void)state;
    type("export");
    press(KEYCODE_HOME);
    press_tab("export");
    assert_string_equal(prompt.text.p, "export ");
}

static void many_and_long_completions_do_not_overflow(void **state)
{
    struct buf many;

    (void)state;
    buf_init(&many, 1u << 20);
    for (int i = 0; i < 500; i++)
        buf_printf(&many, "%simport file-%d%0*d", i ? "\n" : "", i, i % 7 ? 5 : 230, 0);
    type("import f");
    press_tab(many.p);
    assert_string_equal(prompt.text.p, "import file-");
    assert_true(strlen(prompt.candidates) < sizeof prompt.candidates);
    buf_free(&many);
}

/* ---- Long and pasted texts ---- */

static void a_full_line_takes_no_more_and_loses_nothing(void **state)
{
    size_t full;

    (void)state;
    for (int i = 0; i < 10000; i++)
        press('a' + i % 26);
    full = prompt.text.n;
    assert_in_range(full, 1000, 10000);
    press(KEYCODE_HOME);
    press(0x1f600);
    assert_int_equal(prompt.text.n, full);
    assert_int_equal(prompt.text.p[0], 'a');
    press(KEYCODE_END);
    press('x');
    assert_int_equal(prompt.text.n, full);
    press(KEYCODE_BACKSPACE);
    press('!');
    assert_int_equal(prompt.text.n, full);
    assert_int_equal(prompt.text.p[full - 1], '!');
}

static void pasted_lines_become_one(void **state)
{
    (void)state;
    type("()");
    press(KEYCODE_LEFT);
    prompt_paste(&prompt, str_of("a\r\nb\tc\nd"));
    assert_string_equal(prompt.text.p, "(a b c d)");
    assert_int_equal(prompt.at, 8);
}

static void pasted_control_characters_and_broken_bytes_are_left_out(void **state)
{
    (void)state;
    prompt_paste(&prompt, str_from("x\x1b[31m\0y\xff\xc3z\x7f", 12));
    assert_string_equal(prompt.text.p, "x[31myz");
    press(KEYCODE_HOME);
    for (int i = 0; i < 20; i++)
        press(KEYCODE_RIGHT);
    assert_int_equal(prompt.at, prompt.text.n);
}

static void a_long_paste_is_taken_as_far_as_there_is_room(void **state)
{
    char *long_text = malloc(20001);

    (void)state;
    assert_non_null(long_text);
    memset(long_text, 'p', 20000);
    long_text[20000] = '\0';
    type("ab");
    press(KEYCODE_LEFT);
    prompt_paste(&prompt, str_of(long_text));
    assert_in_range(prompt.text.n, 1000, 10000);
    assert_int_equal(prompt.text.p[0], 'a');
    assert_int_equal(prompt.text.p[prompt.text.n - 1], 'b');
    free(long_text);
}

/* ---- Drawing ---- */

static const char *drawn(int columns, int *cursor)
{
    static char text[4096];
    struct canvas *canvas;
    struct buf dump;

    assert_int_equal(canvas_open(&canvas, 1, columns, false, NULL), OK);
    prompt_draw(&prompt, canvas, 0);
    buf_init(&dump, sizeof text);
    canvas_dump(canvas, false, &dump);
    snprintf(text, sizeof text, "%s", dump.p);
    text[strcspn(text, "\n")] = '\0';
    *cursor = canvas->cursor_column;
    assert_int_equal(canvas->cursor_row, 0);
    canvas_close(canvas);
    buf_free(&dump);
    return text;
}

static void the_line_shows_its_sign_and_its_cursor(void **state)
{
    int cursor;

    (void)state;
    type("open");
    press(KEYCODE_LEFT);
    assert_string_equal(drawn(20, &cursor), ":open");
    assert_int_equal(cursor, 4);
    prompt_open(&prompt, PROMPT_SEARCH, "loss");
    assert_string_equal(drawn(20, &cursor), "/loss");
    assert_int_equal(cursor, 5);
    prompt_open(&prompt, PROMPT_REMARK, "x");
    assert_string_equal(drawn(20, &cursor), "remark: x");
}

static void the_cursor_stays_in_sight_of_a_long_line(void **state)
{
    int cursor;

    (void)state;
    type("0123456789abcdefghij");
    assert_string_equal(drawn(10, &cursor), ":cdefghij");
    assert_int_equal(cursor, 9);
    press(KEYCODE_HOME);
    assert_string_equal(drawn(10, &cursor), ":012345678");
    assert_int_equal(cursor, 1);
    prompt_open(&prompt, PROMPT_COMMAND, "日本語日本語");
    drawn(8, &cursor);
    assert_in_range(cursor, 1, 7);
}

static void one_cell_is_enough_not_to_crash(void **state)
{
    int cursor;

    (void)state;
    for (int kind = PROMPT_NONE; kind <= PROMPT_DISMISS; kind++) {
        prompt_open(&prompt, (enum prompt_kind)kind, "日本語 text");
        for (int columns = 1; columns < 30; columns++) {
            drawn(columns, &cursor);
            assert_true(cursor >= 0);
        }
    }
}

static void hostile_text_is_drawn_as_marks(void **state)
{
    int cursor;

    (void)state;
    prompt_open(&prompt, PROMPT_COMMAND, "a\x1b]0;x\x07\xe2\x80\xae");
    assert_null(strchr(drawn(60, &cursor), '\x1b'));
    assert_null(strstr(drawn(60, &cursor), "\xe2\x80\xae"));
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_is_typed_and_accepted, setup, teardown),
        cmocka_unit_test_setup_teardown(escape_and_control_c_give_up, setup, teardown),
        cmocka_unit_test_setup_teardown(the_cursor_moves_by_characters_not_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(deleting_at_the_ends_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(backspace_in_an_empty_line_leaves_it, setup, teardown),
        cmocka_unit_test_setup_teardown(control_u_empties_the_line, setup, teardown),
        cmocka_unit_test_setup_teardown(other_keys_are_no_text, setup, teardown),
        cmocka_unit_test_setup_teardown(history_goes_from_new_to_old_and_back, setup, teardown),
        cmocka_unit_test_setup_teardown(history_belongs_to_commands_only, setup, teardown),
        cmocka_unit_test_setup_teardown(history_keeps_the_newest, setup, teardown),
        cmocka_unit_test_setup_teardown(the_only_completion_is_taken_with_a_blank_behind_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_folder_is_completed_without_a_blank, setup, teardown),
        cmocka_unit_test_setup_teardown(what_all_completions_share_is_taken_and_they_are_shown,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(completions_that_share_half_a_character_give_none_of_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(no_completion_leaves_the_text, setup, teardown),
        cmocka_unit_test_setup_teardown(a_blank_of_completion_stands_at_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(many_and_long_completions_do_not_overflow, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_line_takes_no_more_and_loses_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(pasted_lines_become_one, setup, teardown),
        cmocka_unit_test_setup_teardown(pasted_control_characters_and_broken_bytes_are_left_out,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_long_paste_is_taken_as_far_as_there_is_room, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_line_shows_its_sign_and_its_cursor, setup, teardown),
        cmocka_unit_test_setup_teardown(the_cursor_stays_in_sight_of_a_long_line, setup, teardown),
        cmocka_unit_test_setup_teardown(one_cell_is_enough_not_to_crash, setup, teardown),
        cmocka_unit_test_setup_teardown(hostile_text_is_drawn_as_marks, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
