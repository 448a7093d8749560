/* The frame's state: private to tui/app.c, layout.c, dispatch.c, commands.c, desk.c. */
#ifndef TUI_FRAME_H
#define TUI_FRAME_H

#include <stdio.h>

#include "tui/app.h"
#include "tui/prompt.h"
#include "tui/screen.h"
#include "tui/theme.h"
#include "tui/worker.h"
#include "views/registry.h"

#define MAX_VIEWS   24
#define MAX_PANES   6
#define MAX_HISTORY 16
#define MAX_PATHS   64

enum slot { SLOT_TRIAGE, SLOT_MAIN, SLOT_EVIDENCE, SLOT_SECOND, SLOT_SIDE, SLOT_RUNS, N_SLOTS };

struct pane {
    enum slot slot;
    struct view *view;
    struct area area;           /* with its frame */
};

struct app {
    const struct options *options;
    struct screen *screen;
    struct canvas *canvas;
    struct theme theme;

    struct store *writer;       /* the worker's */
    struct store *reader;       /* this thread's */
    struct worker *worker;
    char private_folder[64];    /* --no-cache: removed at exit; "" none */

    struct desk desk;
    struct arena *desk_arena;   /* verdicts, remarks, runs */
    struct run_facts *facts;
    struct verdicts verdicts;

    struct view views[MAX_VIEWS];       /* one of each kind, by registry index */
    struct pane panes[MAX_PANES];
    size_t n_panes;
    enum slot focus;
    const struct view_ops *main_view;
    const struct view_ops *second_view;
    const struct view_ops *history[MAX_HISTORY];    /* what the main place showed before */
    size_t n_history;
    int zoom;                   /* 0 normal, 1 full */

    struct prompt prompt;
    char search[200];
    size_t search_at, search_n; /* "n of m", 0 of 0 none */
    char message[400];
    bool message_is_error;

    const char *paths[MAX_PATHS];       /* what was opened and imported since */
    size_t n_paths;
    char folder_key[4096];      /* real path of the first path: which cached run to show */
    FILE *record;
    bool place_is_restored, wants_quit, needs_reload, needs_layout;
    bool opened_at_start;       /* the first run's place was chosen */
    int stop_signal;
    int exit_status;
};

/* desk.c */
int app_load_desk(struct app *app, struct error *err);
void app_choose_first_run(struct app *app);
void app_place_cursor(struct app *app);         /* the likely cause, --at, or the kept place */
void app_save_place(const struct app *app);

/* layout.c */
void app_layout(struct app *app);
void app_draw(struct app *app);
struct view *app_view(struct app *app, const struct view_ops *ops);
void app_load_views(struct app *app, unsigned changed, bool all);
struct view *app_focused(struct app *app);
/* Shows a view: where it stands already, else in the main place. */
void app_open_view(struct app *app, const struct view_ops *ops, bool focus);

/* dispatch.c */
extern const struct action FRAME_ACTIONS[];
void app_key(struct app *app, int key);
void app_act_frame(struct app *app, int action);
void app_after_action(struct app *app);         /* takes what the desk says has changed */
void app_search(struct app *app, int direction);    /* 0: from here on, while typing */

/* commands.c */
void app_command(struct app *app, const char *command);
void app_complete(void *app, const char *text, struct buf *out);
void app_screenshot(struct app *app, struct str name);

/* app.c */
void app_say(struct app *app, const char *fmt, ...) PRINTF_LIKE(2, 3);
void app_complain(struct app *app, const struct error *err);
void app_import(struct app *app, const char *path, bool reimport);

#endif
