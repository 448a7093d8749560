/* The backend of the UI: where events come from and where the canvas goes. Two of them: curses
 * (screen_curses.c) and a key script (screen_script.c). */
#ifndef TUI_SCREEN_H
#define TUI_SCREEN_H

#include <stdint.h>

#include <stdbool.h>

#include "core/base/error.h"
#include "views/canvas.h"

enum screen_event_kind {
    EVENT_NONE,
    EVENT_KEY,          /* key: a code of tui/keys.h */
    EVENT_PASTE,        /* text */
    EVENT_RESIZE,       /* rows, columns */
    EVENT_JOB,          /* the worker's pipe is readable */
    EVENT_TIME,         /* wait_ms are over */
    EVENT_WAIT,         /* seconds: of a script, which has a clock of its own */
    EVENT_SIGNAL,       /* signal number: leave cleanly, then die by it */
    EVENT_COMMAND,      /* text: a `:` command of a script */
    EVENT_SCREENSHOT,   /* text: name, or name+attrs */
    EVENT_END           /* the script is over */
};

struct screen_event {
    enum screen_event_kind kind;
    int key;
    int rows, columns, signal;
    int64_t seconds;
    struct str text;            /* borrowed until the next event */
};

struct theme;

struct screen {
    int rows, columns;
    bool ascii;                 /* the terminal or the user wants ASCII */
    bool is_busy;               /* there is work to do: next_event gives EVENT_NONE, never waits */
    bool is_scripted;           /* each event is asked for when all is quiet; nothing is shown */
    int wait_ms;                /* then EVENT_TIME; -1: as long as it takes */
    int (*next_event)(struct screen *screen, int job_fd, struct screen_event *event,
                      struct error *err);       /* blocks unless is_busy, for wait_ms at most */
    void (*present)(struct screen *screen, const struct canvas *canvas);
    void (*redraw_all)(struct screen *screen);  /* Ctrl-L */
    void (*suspend)(struct screen *screen);     /* before an editor or pager runs */
    void (*resume)(struct screen *screen);
    void (*copy)(struct screen *screen, struct str text);       /* OSC 52; NULL: cannot */
    void (*set_theme)(struct screen *screen, const struct theme *theme);    /* NULL: no looks */
    void (*close)(struct screen *screen);
    void *state;
};

/* colour: -1 never, 0 as NO_COLOR and the terminal say, 1 whatever NO_COLOR says. E_UNSUPPORTED:
 * the terminal type is not known. */
MUST_CHECK int screen_curses_open(struct screen **out, const struct theme *theme, bool ascii,
                                  int colour, struct error *err);
/* Keys from a script file; 80x24 until it says otherwise. */
MUST_CHECK int screen_script_open(struct screen **out, const char *path, bool ascii,
                                  struct error *err);

#endif
