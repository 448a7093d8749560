/* The program in a real terminal: attributes, sizes, signals, environment. What the panes say is the
 * matter of tests/screen. */
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/harness/screen.h"
#include "tests/harness/tempdir.h"

#define CAUSE "likely cause"
#define MAX_ENV 16

struct fixture {
    char *home;
    char program[4096];
    char variables[4][4200];
    const char *env[MAX_ENV];
    size_t n_env;
};

static void set_env(struct fixture *f, const char *assignment)
{
    assert_true(f->n_env + 1 < MAX_ENV);
    f->env[f->n_env++] = assignment;
    f->env[f->n_env] = NULL;
}

/* The program lies beside tests/ in the same build folder. */
static void find_program(struct fixture *f)
{
    ssize_t n = readlink("/proc/self/exe", f->program, sizeof f->program - 32);

    assert_true(n > 0);
    f->program[n] = '\0';
    for (int i = 0; i < 3; i++)
        *strrchr(f->program, '/') = '\0';
    snprintf(f->program + strlen(f->program), 16, "/flatline");
    if (access(f->program, X_OK) != 0)
        fail_msg("%s is not built", f->program);
}

static int set_up(void **state)
{
    static const char *const folders[] = {"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"};
    struct fixture *f = calloc(1, sizeof *f);

    if (!f)
        return -1;
    find_program(f);
    f->home = tempdir_make();
    for (size_t i = 0; i < 4; i++) {
        snprintf(f->variables[i], sizeof f->variables[i], "%s=%s", folders[i], f->home);
        set_env(f, f->variables[i]);
    }
    set_env(f, "TERM=xterm-256color");
    set_env(f, "LC_ALL=C.UTF-8");
    set_env(f, "NO_COLOR=");
    set_env(f, "EDITOR=");
    set_env(f, "VISUAL=");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    tempdir_remove(f->home);
    free(f);
    return 0;
}

static struct terminal *start(struct fixture *f, const char *option, int rows, int columns)
{
    const char *const argv[] = {f->program, "tests/screen/data/nan-run", option, NULL};

    return terminal_open(argv, f->env, rows, columns);
}

static struct terminal *start_and_see(struct fixture *f)
{
    struct terminal *t = start(f, NULL, 24, 80);

    terminal_wait(t, CAUSE);
    terminal_wait(t, "cursor step");
    terminal_wait(t, "finished  sft");      /* the import has ended: nothing more comes by itself */
    return t;
}

static void quit(struct terminal *t)
{
    int status;

    terminal_send(t, "q");
    status = terminal_wait_exit(t);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    terminal_close(t);
}

static bool left_cleanly(struct terminal *t)
{
    size_t n;
    const char *raw = terminal_raw(t, &n);

    return strstr(raw, "\x1b[?1049l") && strstr(raw, "\x1b[?2004l");
}

static void verdicts_differ_by_word_and_by_look(void **state)
{
    struct terminal *t = start_and_see(*state);
    int column, row = terminal_find(t, "FAIL", &column);

    assert_true(row > 0);
    assert_true(terminal_look(t, row, column).has_colour);
    assert_false(terminal_look(t, row, 3).has_colour);
    quit(t);
}

static void the_cursor_row_is_reversed_and_moves(void **state)
{
    struct terminal *t = start_and_see(*state);
    int row = terminal_find(t, ">nan-high-lr", NULL);

    assert_true(terminal_look(t, row, 5).reverse);
    assert_false(terminal_look(t, row + 1, 5).reverse);
    terminal_send(t, "j");
    terminal_wait(t, "10 of");
    assert_false(terminal_look(t, row, 5).reverse);
    assert_true(terminal_look(t, row + 1, 5).reverse);
    quit(t);
}

#define MOVES 8

/* Budgets of a slow line. */
static void the_first_screen_and_a_row_move_cost_few_bytes(void **state)
{
    struct terminal *t = start_and_see(*state);
    size_t before, after;

    /* the first move's answer comes behind all of the first screen; the others are counted */
    terminal_send(t, "j");
    terminal_wait(t, "10 of");
    (void)terminal_raw(t, &before);
    assert_in_range(before, 1, 6 * 1024);
    for (int i = 0; i < MOVES / 2; i++) {
        terminal_send(t, "k");
        terminal_wait(t, " 9 of");
        terminal_send(t, "j");
        terminal_wait(t, "10 of");
    }
    (void)terminal_raw(t, &after);
    assert_in_range(after - before, MOVES, MOVES * 150);
    quit(t);
}

static void no_color_leaves_bold_and_reverse(void **state)
{
    struct fixture *f = *state;
    struct terminal *t;
    int column, row;

    set_env(f, "NO_COLOR=1");
    t = start_and_see(f);
    for (int i = 0; i < 24; i++)
        for (int j = 0; j < 80; j++)
            assert_false(terminal_look(t, i, j).has_colour);
    row = terminal_find(t, ">nan-high-lr", &column);
    assert_true(terminal_look(t, row, column).reverse);
    row = terminal_find(t, CAUSE, &column);
    assert_true(terminal_look(t, row, column).bold);
    quit(t);
}

static void the_option_beats_no_color(void **state)
{
    struct fixture *f = *state;
    struct terminal *t;
    int column, row;

    set_env(f, "NO_COLOR=1");
    t = start(f, "--color=always", 24, 80);
    terminal_wait(t, CAUSE);
    row = terminal_find(t, "FAIL", &column);
    assert_true(terminal_look(t, row, column).has_colour);
    quit(t);
}

static void the_c_locale_gets_ascii_alone(void **state)
{
    struct fixture *f = *state;
    struct terminal *t;
    const char *raw;
    size_t n;

    set_env(f, "LC_ALL=C");
    t = start_and_see(f);
    raw = terminal_raw(t, &n);
    for (size_t i = 0; i < n; i++)
        assert_true((unsigned char)raw[i] < 128);
    quit(t);
}

static void a_resize_repaints_down_to_one_cell_and_back(void **state)
{
    struct terminal *t = start_and_see(*state);

    terminal_resize(t, 20, 60);
    terminal_wait(t, "Tab pane");
    terminal_resize(t, 1, 1);
    terminal_send(t, "j");
    terminal_resize(t, 9, 39);
    terminal_wait(t, "terminal too small");
    terminal_resize(t, 30, 100);
    terminal_wait(t, "x=step");
    quit(t);
}

static void a_dumb_terminal_gets_the_report_without_escapes(void **state)
{
    struct fixture *f = *state;
    struct terminal *t;
    size_t n;
    int status;

    set_env(f, "TERM=dumb");
    t = start(f, NULL, 24, 80);
    status = terminal_wait_exit(t);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_null(strchr(terminal_raw(t, &n), '\x1b'));
    assert_non_null(strstr(terminal_raw(t, &n), "nan-high-lr"));
    terminal_close(t);
}

static void an_unknown_terminal_is_one_line_and_2(void **state)
{
    struct fixture *f = *state;
    struct terminal *t;
    size_t n;
    int status;

    set_env(f, "TERM=no-such-terminal");
    t = start(f, NULL, 24, 80);
    status = terminal_wait_exit(t);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
    assert_null(strchr(terminal_raw(t, &n), '\x1b'));
    assert_non_null(strstr(terminal_raw(t, &n), "no-such-terminal"));
    terminal_close(t);
}

static bool session_is_saved(const struct fixture *f)
{
    return access(tempdir_path(f->home, "flatline/session"), F_OK) == 0;
}

static void signals_restore_the_terminal_save_and_are_passed_on(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct terminal *t = start_and_see(f);
        int status;

        unlink(tempdir_path(f->home, "flatline/session"));
        kill(terminal_pid(t), signals[i]);
        status = terminal_wait_exit(t);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        assert_true(left_cleanly(t));
        assert_true(session_is_saved(f));
        terminal_close(t);
    }
}

static void a_crash_restores_the_terminal(void **state)
{
    struct terminal *t = start_and_see(*state);

    kill(terminal_pid(t), SIGSEGV);
    assert_true(WIFSIGNALED(terminal_wait_exit(t)));
    assert_true(left_cleanly(t));
    terminal_close(t);
}

static void a_remark_outlives_a_hangup(void **state)
{
    struct terminal *t = start_and_see(*state);

    terminal_send(t, "e");
    terminal_wait(t, "remark:");
    terminal_send(t, "asked the night shift\r");
    terminal_wait(t, "remark saved");
    kill(terminal_pid(t), SIGHUP);
    terminal_wait_exit(t);
    terminal_close(t);
    t = start_and_see(*state);
    terminal_send(t, ":findings\r");
    terminal_wait(t, "asked the night shift");
    kill(terminal_pid(t), SIGTERM);
    terminal_wait_exit(t);
    terminal_close(t);
}

static void a_remark_may_be_written_in_an_editor(void **state)
{
    struct fixture *f = *state;
    char editor[4200];
    struct terminal *t;

    tempdir_write_text(f->home, "editor", "#!/bin/sh\necho from the editor > \"$2\"\n");
    assert_int_equal(chmod(tempdir_path(f->home, "editor"), 0755), 0);
    snprintf(editor, sizeof editor, "EDITOR=%s --wait", tempdir_path(f->home, "editor"));
    set_env(f, editor);
    t = start_and_see(f);
    terminal_send(t, "e");
    terminal_wait(t, "remark saved");
    terminal_send(t, ":findings\r");
    terminal_wait(t, "from the editor");
    terminal_send(t, "q");
    quit(t);
}

/* By a shell with job control: without one a stop signal is dropped. */
static void stop_and_continue_repaint(void **state)
{
    static const char *const argv[] = {"bash", "--norc", "--noprofile", "-i", NULL};
    struct fixture *f = *state;
    char command[4300];
    struct terminal *t;

    set_env(f, "PS1=ready ");
    t = terminal_open(argv, f->env, 24, 80);
    terminal_wait(t, "ready");
    snprintf(command, sizeof command, "%s tests/screen/data/nan-run\r", f->program);
    terminal_send(t, command);
    terminal_wait(t, CAUSE);
    terminal_send(t, "\x1a");
    terminal_wait(t, "Stopped");
    assert_true(left_cleanly(t));
    terminal_send(t, "fg\r");
    terminal_wait(t, CAUSE);
    terminal_send(t, "q");
    terminal_wait(t, "Stopped");        /* the shell's own screen is back */
    terminal_close(t);
}

static void a_copy_goes_to_the_terminals_clipboard(void **state)
{
    struct terminal *t = start_and_see(*state);

    terminal_send(t, "y");
    terminal_wait_raw(t, "\x1b]52;c;");
    terminal_wait(t, "clipboard");
    quit(t);
}

static void a_paste_into_the_prompt_runs_nothing(void **state)
{
    struct terminal *t = start_and_see(*state);

    terminal_send(t, ":\x1b[200~set gpu=24G\n\x1b[201~");
    terminal_wait(t, ":set gpu=24G");
    terminal_send(t, "\x1b");
    terminal_wait(t, "? help");
    quit(t);
}

static void the_mouse_stays_off(void **state)
{
    struct terminal *t = start_and_see(*state);
    size_t n;
    const char *raw = terminal_raw(t, &n);

    assert_null(strstr(raw, "\x1b[?1000h"));
    assert_null(strstr(raw, "\x1b[?1002h"));
    assert_null(strstr(raw, "\x1b[?1006h"));
    quit(t);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(verdicts_differ_by_word_and_by_look),
        CASE(the_cursor_row_is_reversed_and_moves),
        CASE(the_first_screen_and_a_row_move_cost_few_bytes),
        CASE(no_color_leaves_bold_and_reverse),
        CASE(the_option_beats_no_color),
        CASE(the_c_locale_gets_ascii_alone),
        CASE(a_resize_repaints_down_to_one_cell_and_back),
        CASE(a_dumb_terminal_gets_the_report_without_escapes),
        CASE(an_unknown_terminal_is_one_line_and_2),
        CASE(signals_restore_the_terminal_save_and_are_passed_on),
        CASE(a_crash_restores_the_terminal),
        CASE(a_remark_outlives_a_hangup),
        CASE(a_remark_may_be_written_in_an_editor),
        CASE(stop_and_continue_repaint),
        CASE(a_copy_goes_to_the_terminals_clipboard),
        CASE(a_paste_into_the_prompt_runs_nothing),
        CASE(the_mouse_stays_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
