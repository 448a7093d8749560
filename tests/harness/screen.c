/* A pseudo-terminal and the screen behind it. See screen.h. */
#include "tests/harness/screen.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <vterm.h>

struct terminal {
    pid_t pid;
    int fd;
    int rows, columns;
    VTerm *vterm;
    VTermScreen *screen;
    char *raw;
    size_t n_raw, capacity;
    bool has_ended;
    int status;
};

static void run_child(const char *const *argv, const char *const *env)
{
    for (; *env; env++) {
        char name[128];
        const char *equals = strchr(*env, '=');

        snprintf(name, sizeof name, "%.*s", (int)(equals - *env), *env);
        if (equals[1])
            setenv(name, equals + 1, 1);
        else
            unsetenv(name);
    }
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

struct terminal *terminal_open(const char *const *argv, const char *const *env, int rows,
                               int columns)
{
    struct terminal *terminal = calloc(1, sizeof *terminal);
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};

    if (!terminal)
        abort();
    terminal->rows = rows;
    terminal->columns = columns;
    terminal->vterm = vterm_new(rows, columns);
    vterm_set_utf8(terminal->vterm, 1);
    terminal->screen = vterm_obtain_screen(terminal->vterm);
    vterm_screen_enable_altscreen(terminal->screen, 1);
    vterm_screen_reset(terminal->screen, 1);
    terminal->pid = forkpty(&terminal->fd, NULL, NULL, &size);
    if (terminal->pid < 0)
        abort();
    if (terminal->pid == 0)
        run_child(argv, env);
    return terminal;
}

void terminal_close(struct terminal *terminal)
{
    if (!terminal->has_ended) {
        kill(terminal->pid, SIGKILL);
        waitpid(terminal->pid, &terminal->status, 0);
    }
    close(terminal->fd);
    vterm_free(terminal->vterm);
    free(terminal->raw);
    free(terminal);
}

pid_t terminal_pid(const struct terminal *terminal)
{
    return terminal->pid;
}

void terminal_send(struct terminal *terminal, const char *bytes)
{
    size_t n = strlen(bytes);

    if (write(terminal->fd, bytes, n) != (ssize_t)n)
        fail_msg("the terminal takes no more keys");
}

void terminal_resize(struct terminal *terminal, int rows, int columns)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};

    terminal->rows = rows;
    terminal->columns = columns;
    vterm_set_size(terminal->vterm, rows, columns);
    ioctl(terminal->fd, TIOCSWINSZ, &size);
}

static void keep(struct terminal *terminal, const char *bytes, size_t n)
{
    if (terminal->n_raw + n + 1 > terminal->capacity) {
        terminal->capacity = (terminal->n_raw + n + 1) * 2;
        terminal->raw = realloc(terminal->raw, terminal->capacity);
        if (!terminal->raw)
            abort();
    }
    memcpy(terminal->raw + terminal->n_raw, bytes, n);
    terminal->n_raw += n;
    terminal->raw[terminal->n_raw] = '\0';
}

/* One piece of output; false when there is no more, or none came in time. */
static bool read_some(struct terminal *terminal, int patience_ms)
{
    struct pollfd fd = {.fd = terminal->fd, .events = POLLIN};
    char bytes[8192];
    ssize_t n;

    if (poll(&fd, 1, patience_ms) <= 0)
        return false;
    n = read(terminal->fd, bytes, sizeof bytes);
    if (n <= 0)
        return false;
    keep(terminal, bytes, (size_t)n);
    vterm_input_write(terminal->vterm, bytes, (size_t)n);
    vterm_screen_flush_damage(terminal->screen);
    return true;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void row_text(const struct terminal *terminal, int row, char *out, size_t n)
{
    const VTermRect rect = {row, row + 1, 0, terminal->columns};
    size_t used = vterm_screen_get_text(terminal->screen, out, n - 1, rect);

    out[used < n ? used : n - 1] = '\0';
}

static void print_screen(const struct terminal *terminal)
{
    char text[8192];

    for (int row = 0; row < terminal->rows; row++) {
        row_text(terminal, row, text, sizeof text);
        print_message("%s\n", text);
    }
}

int terminal_find(const struct terminal *terminal, const char *text, int *column)
{
    char line[8192];

    for (int row = 0; row < terminal->rows; row++) {
        const char *found;

        row_text(terminal, row, line, sizeof line);
        found = strstr(line, text);
        if (!found)
            continue;
        if (column) {
            *column = 0;
            for (const char *p = line; p < found; p++)
                *column += ((unsigned char)*p & 0xc0) != 0x80;
        }
        return row;
    }
    return -1;
}

bool terminal_shows(const struct terminal *terminal, const char *text)
{
    return terminal_find(terminal, text, NULL) >= 0;
}

void terminal_wait(struct terminal *terminal, const char *text)
{
    int64_t end = now_ms() + TERMINAL_PATIENCE_MS;

    while (!terminal_shows(terminal, text))
        if (!read_some(terminal, (int)(end - now_ms())) || now_ms() > end) {
            print_screen(terminal);
            fail_msg("the screen never showed: %s", text);
        }
}

void terminal_wait_raw(struct terminal *terminal, const char *bytes)
{
    int64_t end = now_ms() + TERMINAL_PATIENCE_MS;

    while (!terminal->raw || !strstr(terminal->raw, bytes))
        if (!read_some(terminal, (int)(end - now_ms())) || now_ms() > end)
            fail_msg("these bytes never came: %s", bytes);
}

int terminal_wait_exit(struct terminal *terminal)
{
    while (read_some(terminal, TERMINAL_PATIENCE_MS))
        continue;
    if (waitpid(terminal->pid, &terminal->status, 0) != terminal->pid)
        fail_msg("waitpid: %s", strerror(errno));
    terminal->has_ended = true;
    return terminal->status;
}

struct look_at terminal_look(const struct terminal *terminal, int row, int column)
{
    VTermScreenCell cell;

    if (!vterm_screen_get_cell(terminal->screen, (VTermPos){row, column}, &cell))
        fail_msg("no cell at row %d, column %d", row, column);
    return (struct look_at){.bold = cell.attrs.bold,
                            .reverse = cell.attrs.reverse,
                            .underline = cell.attrs.underline != 0,
                            .has_colour = !VTERM_COLOR_IS_DEFAULT_FG(&cell.fg) ||
                                          !VTERM_COLOR_IS_DEFAULT_BG(&cell.bg)};
}

const char *terminal_raw(const struct terminal *terminal, size_t *n)
{
    *n = terminal->n_raw;
    return terminal->raw ? terminal->raw : "";
}
