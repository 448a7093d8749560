/* The real terminal: ncurses. Copies the canvas out, reads keys, survives signals. The only file
 * beside keys that knows curses; only the UI's thread calls it. */
#include "tui/screen.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "tui/keys.h"
#include "tui/theme.h"

#define PASTE_BEGIN 2000
#define PASTE_END   2001
#define CTRL_LEFT   2002
#define CTRL_RIGHT  2003
#define MAX_PAIRS   128
#define PASTE_BYTES ((size_t)1 << 20)

struct curses {
    struct screen screen;
    SCREEN *terminal;
    FILE *keyboard;             /* /dev/tty when stdin is data; else NULL */
    int keyboard_fd;
    struct theme theme;
    bool has_colour;
    struct {
        short foreground, background;
    } pairs[MAX_PAIRS];
    int n_pairs;
    struct cell *shown;         /* what the terminal holds */
    int shown_rows, shown_columns;
    struct buf paste;
    bool was_resized;
};

/* What handlers may touch: a pipe to write to, a prepared text, saved terminal modes. */
static int signal_pipe[2] = {-1, -1};
static char restore_text[256];
static size_t restore_bytes;
static struct termios saved_modes;
static int saved_fd = -1;

static void on_stop_signal(int number)
{
    unsigned char byte = (unsigned char)number;
    int saved = errno;
    ssize_t ignored = write(signal_pipe[1], &byte, 1);

    (void)ignored;              /* a full pipe holds a signal already */
    errno = saved;
}

static void restore_now(void)
{
    if (restore_bytes) {
        ssize_t ignored = write(STDOUT_FILENO, restore_text, restore_bytes);

        (void)ignored;
    }
    if (saved_fd >= 0)
        tcsetattr(saved_fd, TCSANOW, &saved_modes);
}

static void on_fatal_signal(int number)
{
    restore_now();
    signal(number, SIG_DFL);
    raise(number);
}

static void add_restore(const char *text)
{
    size_t n = text && text != (const char *)-1 ? strlen(text) : 0;

    if (restore_bytes + n < sizeof restore_text) {
        memcpy(restore_text + restore_bytes, text ? text : "", n);
        restore_bytes += n;
    }
}

static void add_capability(const char *name)
{
    add_restore(tigetstr((char *)(uintptr_t)name));
}

static void prepare_restore(void)
{
    restore_bytes = 0;
    add_restore("\x1b[?2004l");
    add_capability("sgr0");
    add_capability("rmkx");
    add_capability("rmcup");
    add_capability("cnorm");
    bug_set_hook(restore_now);
}

static int catch_signals(struct error *err)
{
    static const int stops[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_handler = on_stop_signal, .sa_flags = SA_RESTART};

    if (signal_pipe[0] < 0 && pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return error_set(err, E_IO, "pipe: %s", strerror(errno));
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++)
        sigaction(stops[i], &action, NULL);
    action.sa_handler = on_fatal_signal;
    action.sa_flags = (int)SA_RESETHAND;
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        sigaction(fatal[i], &action, NULL);
    return OK;
}

static void start_modes(void)
{
    raw();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    printf("\x1b[?2004h");
    fflush(stdout);
}

static void stop_modes(void)
{
    printf("\x1b[?2004l");
    fflush(stdout);
    endwin();
}

/* ---- Output ---- */

static short pair_of(struct curses *curses, const struct look *look)
{
    int foreground = look->foreground, background = look->background;

    if (!curses->has_colour)
        return 0;
    if (COLORS < 256 && (foreground >= COLORS || look->fallback != foreground))
        foreground = look->fallback;
    if (background >= COLORS)
        background = -1;
    if (foreground < 0 && background < 0)
        return 0;
    for (int i = 0; i < curses->n_pairs; i++)
        if (curses->pairs[i].foreground == foreground && curses->pairs[i].background == background)
            return (short)(i + 1);
    if (curses->n_pairs >= MAX_PAIRS || curses->n_pairs + 1 >= COLOR_PAIRS)
        return 0;
    curses->pairs[curses->n_pairs].foreground = (short)foreground;
    curses->pairs[curses->n_pairs].background = (short)background;
    init_pair((short)(curses->n_pairs + 1), (short)foreground, (short)background);
    return (short)++curses->n_pairs;
}

static void put_cell(struct curses *curses, int row, int column, const struct cell *cell)
{
    const struct look *look = &curses->theme.looks[cell->style < N_STYLES ? cell->style : 0];
    wchar_t text[4] = {cell->base ? (wchar_t)cell->base : L' ', (wchar_t)cell->marks[0],
                       (wchar_t)cell->marks[1], 0};
    attr_t attributes = A_NORMAL;
    cchar_t out;

    if (cell->marks[0] == 0)
        text[1] = 0;
    attributes |= look->bold ? A_BOLD : 0;
    attributes |= look->dim ? A_DIM : 0;
    attributes |= look->underline ? A_UNDERLINE : 0;
    attributes |= look->reverse != cell->reverse ? A_REVERSE : 0;
    if (setcchar(&out, text, attributes, pair_of(curses, look), NULL) == OK)
        mvadd_wchnstr(row, column, &out, 1);
}

static bool same_cell(const struct cell *a, const struct cell *b)
{
    return a->base == b->base && a->marks[0] == b->marks[0] && a->marks[1] == b->marks[1] &&
           a->style == b->style && a->reverse == b->reverse;
}

static void present(struct screen *screen, const struct canvas *canvas)
{
    struct curses *curses = screen->state;
    size_t n = (size_t)canvas->rows * (size_t)canvas->columns;
    bool is_fresh = !curses->shown || curses->shown_rows != canvas->rows ||
                    curses->shown_columns != canvas->columns;

    if (is_fresh) {
        free(curses->shown);
        curses->shown = calloc(n ? n : 1, sizeof *curses->shown);
        curses->shown_rows = canvas->rows;
        curses->shown_columns = canvas->columns;
        erase();
    }
    for (int row = 0; row < canvas->rows && row < LINES; row++) {
        for (int column = 0; column < canvas->columns && column < COLS; column++) {
            const struct cell *cell = &canvas->cells[row * canvas->columns + column];

            if (cell->base == -1 ||
                (!is_fresh && curses->shown &&
                 same_cell(cell, &curses->shown[row * canvas->columns + column])))
                continue;
            put_cell(curses, row, column, cell);
        }
    }
    if (curses->shown)
        memcpy(curses->shown, canvas->cells, n * sizeof *curses->shown);
    curs_set(canvas->cursor_row >= 0 ? 1 : 0);
    if (canvas->cursor_row >= 0)
        move(canvas->cursor_row, canvas->cursor_column);
    refresh();
}

static void redraw_all(struct screen *screen)
{
    struct curses *curses = screen->state;

    clearok(curscr, TRUE);
    free(curses->shown);
    curses->shown = NULL;
}

static void suspend_screen(struct screen *screen)
{
    (void)screen;
    stop_modes();
}

static void resume_screen(struct screen *screen)
{
    refresh();
    start_modes();
    redraw_all(screen);
}

/* ---- Input ---- */

static int key_of_code(wint_t code)
{
    static const struct {
        int curses, key;
    } codes[] = {
        {KEY_UP, KEYCODE_UP},           {KEY_DOWN, KEYCODE_DOWN},
        {KEY_LEFT, KEYCODE_LEFT},       {KEY_RIGHT, KEYCODE_RIGHT},
        {KEY_HOME, KEYCODE_HOME},       {KEY_END, KEYCODE_END},
        {KEY_PPAGE, KEYCODE_PAGE_UP},   {KEY_NPAGE, KEYCODE_PAGE_DOWN},
        {KEY_ENTER, KEYCODE_ENTER},     {KEY_BTAB, KEYCODE_BACKTAB},
        {KEY_BACKSPACE, KEYCODE_BACKSPACE}, {KEY_DC, KEYCODE_DELETE},
        {CTRL_LEFT, KEYCODE_CTRL_LEFT}, {CTRL_RIGHT, KEYCODE_CTRL_RIGHT},
    };

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if ((wint_t)codes[i].curses == code)
            return codes[i].key;
    if (code >= KEY_F(1) && code <= KEY_F(12))
        return KEYCODE_F1 + (int)code - KEY_F(1);
    return -1;
}

static int key_of_character(wint_t character)
{
    switch (character) {
    case '\r':
    case '\n':
        return KEYCODE_ENTER;
    case '\t':
        return KEYCODE_TAB;
    case 27:
        return KEYCODE_ESC;
    case 127:
    case 8:
        return KEYCODE_BACKSPACE;
    default:
        return (int)character;
    }
}

/* Text between the paste marks; control characters are dropped. */
static void read_paste(struct curses *curses)
{
    wint_t code;
    int kind;

    buf_clear(&curses->paste);
    nodelay(stdscr, FALSE);
    timeout(1000);              /* a paste whose end mark never comes must not hold the program */
    while ((kind = get_wch(&code)) != ERR && !(kind == KEY_CODE_YES && code == PASTE_END)) {
        char bytes[MB_LEN_MAX];
        int n = kind == KEY_CODE_YES || code < 32 ? 0 : wctomb(bytes, (wchar_t)code);

        if (n > 0)
            buf_add(&curses->paste, bytes, (size_t)n);
    }
    nodelay(stdscr, TRUE);
}

static bool read_key(struct curses *curses, struct screen_event *event)
{
    wint_t code;
    int kind = get_wch(&code);

    if (kind == ERR)
        return false;
    if (kind == KEY_CODE_YES && code == KEY_RESIZE) {
        curses->screen.rows = LINES;
        curses->screen.columns = COLS;
        *event = (struct screen_event){.kind = EVENT_RESIZE, .rows = LINES, .columns = COLS};
        return true;
    }
    if (kind == KEY_CODE_YES && code == PASTE_BEGIN) {
        read_paste(curses);
        *event = (struct screen_event){.kind = EVENT_PASTE, .text = buf_view(&curses->paste)};
        return true;
    }

    int key = kind == KEY_CODE_YES ? key_of_code(code) : key_of_character(code);

    if (key == 26) {            /* Ctrl-Z: raw mode makes no signal of it */
        stop_modes();
        kill(0, SIGTSTP);
        resume_screen(&curses->screen);
        *event = (struct screen_event){.kind = EVENT_RESIZE, .rows = LINES, .columns = COLS};
        return true;
    }
    *event = (struct screen_event){.kind = key < 0 ? EVENT_NONE : EVENT_KEY, .key = key};
    return true;
}

static int next_event(struct screen *screen, int job_fd, struct screen_event *event,
                      struct error *err)
{
    struct curses *curses = screen->state;
    unsigned char number;

    for (;;) {
        struct pollfd fds[3] = {{.fd = curses->keyboard_fd, .events = POLLIN},
                                {.fd = signal_pipe[0], .events = POLLIN},
                                {.fd = job_fd, .events = POLLIN}};

        if (read_key(curses, event))
            return OK;
        int n_ready = poll(fds, 3, screen->is_busy ? 0 : screen->wait_ms);

        if (n_ready < 0 && errno != EINTR)
            return error_set(err, E_IO, "poll: %s", strerror(errno));
        if (n_ready == 0) {
            *event = (struct screen_event){.kind = screen->is_busy ? EVENT_NONE : EVENT_TIME};
            return OK;
        }
        if (read(signal_pipe[0], &number, 1) == 1) {
            *event = (struct screen_event){.kind = EVENT_SIGNAL, .signal = number};
            return OK;
        }
        if (fds[2].revents & POLLIN) {
            *event = (struct screen_event){.kind = EVENT_JOB};
            return OK;
        }
        /* the terminal is gone without a signal (a closed pseudo-terminal) */
        if ((fds[0].revents & (POLLHUP | POLLERR)) && !(fds[0].revents & POLLIN)) {
            *event = (struct screen_event){.kind = EVENT_SIGNAL, .signal = SIGHUP};
            return OK;
        }
    }
}

/* OSC 52: the terminal on the user's side of the SSH connection takes the text. */
static void copy(struct screen *screen, struct str text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    (void)screen;
    printf("\x1b]52;c;");
    for (size_t i = 0; i < text.n; i += 3) {
        uint32_t bits = (uint32_t)(unsigned char)text.p[i] << 16;

        bits |= i + 1 < text.n ? (uint32_t)(unsigned char)text.p[i + 1] << 8 : 0;
        bits |= i + 2 < text.n ? (uint32_t)(unsigned char)text.p[i + 2] : 0;
        putchar(digits[bits >> 18 & 63]);
        putchar(digits[bits >> 12 & 63]);
        putchar(i + 1 < text.n ? digits[bits >> 6 & 63] : '=');
        putchar(i + 2 < text.n ? digits[bits & 63] : '=');
    }
    printf("\a");
    fflush(stdout);
}

static void set_theme(struct screen *screen, const struct theme *theme)
{
    struct curses *curses = screen->state;

    curses->theme = *theme;
    redraw_all(screen);
}

static void close_screen(struct screen *screen)
{
    struct curses *curses = screen->state;

    stop_modes();
    if (saved_fd >= 0)
        tcsetattr(saved_fd, TCSADRAIN, &saved_modes);
    saved_fd = -1;
    restore_bytes = 0;
    bug_set_hook(NULL);
    delscreen(curses->terminal);
    if (curses->keyboard)
        fclose(curses->keyboard);
    buf_free(&curses->paste);
    free(curses->shown);
    free(curses);
}

static int open_terminal(struct curses *curses, struct error *err)
{
    FILE *input = stdin;

    if (!isatty(STDIN_FILENO)) {
        curses->keyboard = input = fopen("/dev/tty", "r");
        if (!input)
            return error_set(err, E_IO, "/dev/tty: %s", strerror(errno));
    }
    curses->keyboard_fd = fileno(input);
    if (tcgetattr(curses->keyboard_fd, &saved_modes) == 0)
        saved_fd = curses->keyboard_fd;
    curses->terminal = newterm(NULL, stdout, input);
    if (!curses->terminal)
        return error_set(err, E_UNSUPPORTED, "terminal type %s is not known here",
                         getenv("TERM") ? getenv("TERM") : "(unset)");
    return OK;
}

static void start_colour(struct curses *curses, int colour)
{
    const char *no_colour = getenv("NO_COLOR");
    bool wanted = colour > 0 || (colour == 0 && !(no_colour && no_colour[0]));

    if (wanted && has_colors() && start_color() == OK) {
        use_default_colors();
        curses->has_colour = COLORS >= 8;
    }
}

int screen_curses_open(struct screen **out, const struct theme *theme, bool ascii, int colour,
                       struct error *err)
{
    struct curses *curses = calloc(1, sizeof *curses);
    int rc;

    if (!curses)
        return error_set(err, E_NOMEM, "screen");
    rc = open_terminal(curses, err);
    if (rc == OK)
        rc = catch_signals(err);
    if (rc != OK) {
        if (curses->keyboard)
            fclose(curses->keyboard);
        free(curses);
        return rc;
    }
    set_escdelay(25);
    prepare_restore();
    start_modes();
    define_key("\033[200~", PASTE_BEGIN);
    define_key("\033[201~", PASTE_END);
    define_key("\033[1;5D", CTRL_LEFT);
    define_key("\033[1;5C", CTRL_RIGHT);
    buf_init(&curses->paste, PASTE_BYTES);
    curses->theme = *theme;
    start_colour(curses, colour);
    curses->screen = (struct screen){
        .rows = LINES,
        .columns = COLS,
        .wait_ms = -1,
        .ascii = ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0,
        .next_event = next_event,
        .present = present,
        .redraw_all = redraw_all,
        .suspend = suspend_screen,
        .resume = resume_screen,
        .copy = copy,
        .set_theme = set_theme,
        .close = close_screen,
        .state = curses,
    };
    *out = &curses->screen;
    return OK;
}
