/* The frame's state: private to tui/app.c, bars.c, commands.c, desk.c, dispatch.c, layout.c,
 * live.c, notebook.c, search.c, way.c. */
#ifndef TUI_FRAME_H
#define TUI_FRAME_H

#include <stdio.h>

#include "tui/app.h"
#include "tui/config.h"
#include "tui/prompt.h"
#include "tui/screen.h"
#include "tui/theme.h"
#include "tui/worker.h"
#include "views/registry.h"

#define MAX_VIEWS   24
#define NARROW_COLUMNS 72
#define WIDE_COLUMNS   120
#define BOTTOM_ROWS    3
#define MAX_PANES   6
#define MAX_WAY     32
#define MAX_PATHS   64

enum slot { SLOT_TRIAGE, SLOT_MAIN, SLOT_EVIDENCE, SLOT_SECOND, SLOT_SIDE, SLOT_RUNS, N_SLOTS };

enum zoom { ZOOM_NONE, ZOOM_HALF, ZOOM_FULL };

struct pane {
    enum slot slot;
    struct view *view;
    struct area area;           /* with its frame */
};

/* What was seen before a pane was opened: where Esc and q go back to. */
struct way {
    const struct view_ops *main_view;
    bool main_is_chosen;
    enum slot focus;
    enum zoom zoom;
};

/* Whether the open run is followed, and what the last look found. */
struct live {
    enum { LIVE_AUTO, LIVE_ON, LIVE_OFF } choice;
    bool is_on;                 /* by choice, or because the run may be going on */
    bool is_looking;            /* asked for and not ended */
    bool was_asked;             /* by the user: the answer is told */
    bool holds_paint;           /* what is on the screen stays until all panes have the new rows */
    int64_t run_id;             /* what follows is about it */
    unsigned found;             /* LOOK_… of the last look */
    int64_t began_at, next_at;  /* monotonic ns */
    int64_t n_looks;
    int64_t silent_minutes;     /* of a run that is silent */
    char word[48];              /* app_live_word's */
    char said[200];             /* by a look: taken back when new rows come */
};

struct app {
    const struct options *options;
    struct screen *screen;
    struct canvas *canvas;
    struct theme theme;
    struct config config;

    struct store *writer;       /* the worker's */
    struct store *reader;       /* this thread's */
    struct worker *worker;
    bool cache_is_damaged;      /* the worker met it; the reader knows by itself */
    bool is_renewed;            /* that happened once already */

    struct desk desk;
    struct arena *desk_arena;   /* verdicts, remarks, runs */
    struct run_facts *facts;
    struct verdicts verdicts;

    struct view views[MAX_VIEWS];       /* one of each kind, by registry index */
    struct pane panes[MAX_PANES];
    size_t n_panes;
    enum slot focus;
    const struct view_ops *main_view;
    bool main_is_chosen;        /* by the user; else it follows the opened check */
    const struct view_ops *second_view;
    struct way way[MAX_WAY];
    size_t n_way;
    enum zoom zoom;

    struct prompt prompt;
    char search[200];
    struct arena *search_arena;
    size_t search_at, search_n; /* "n of m", 0 of 0 none */
    size_t search_from;         /* line where the search began */
    char message[400];
    bool message_is_error;

    const char *paths[MAX_PATHS];       /* what was opened and imported since */
    size_t n_paths;
    char folder_key[4096];      /* real path of the first path: which cached run to show */
    int n_imports;              /* asked for and not ended */
    int64_t progress_at;        /* of the last progress that was shown */
    bool may_be_outdated;       /* the worker said so: the store's version decides */
    int64_t store_version;      /* when the desk was loaded */
    bool holds_back;            /* the first screen: long curves come after it */
    bool facts_are_stale;       /* not so after a mark or a remark: reading them again takes time */
    int64_t checks_asked_for;   /* run whose missing verdicts were asked for */
    bool has_acted;             /* the user pressed a key: the run is not changed under them */
    struct live live;
    FILE *record;
    bool wants_quit, wants_runs, needs_reload, needs_layout;
    bool opened_at_start;       /* the first run's place was chosen */
    int stop_signal;
};

/* desk.c */
int app_load_desk(struct app *app, struct error *err);
/* Something else than the desk was loaded from is in the store, or there are no verdicts yet. */
bool app_is_outdated(const struct app *app);
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
void app_open_view(struct app *app, const struct view_ops *ops);
void app_show_view(struct app *app, const struct view_ops *ops);    /* leaves no way back */
/* The panes beside the checklist that show what the opened check rests on. */
void app_suit_views(struct app *app);

/* bars.c: the title above the panes and the three rows below them */
void app_draw_title(struct app *app, struct canvas *canvas);
void app_draw_bottom(struct app *app, struct canvas *canvas, int row);

/* way.c */
void app_mark_way(struct app *app);             /* before something else is shown */
bool app_go_back(struct app *app);              /* false: there is nothing to go back to */
void app_zoom(struct app *app);                 /* normal, half, full */
void app_move_focus(struct app *app, int by);

/* dispatch.c */
extern const struct action FRAME_ACTIONS[];
void app_key(struct app *app, int key);
void app_act_frame(struct app *app, int action);
void app_after_action(struct app *app);         /* takes what the desk says has changed */

/* search.c */
void app_search_begin(struct app *app);
void app_search(struct app *app, int direction);    /* 0: from here on, while typing */
void app_search_end(struct app *app);
/* Marks the hits in the area of a pane. */
void app_mark_hits(const struct app *app, struct canvas *canvas, const struct area *area);

/* notebook.c: what the user writes */
void app_make_finding(struct app *app);
void app_mark_check(struct app *app);           /* seen, dismissed, neither */
void app_save_remark(struct app *app, const char *text);
void app_edit_remark(struct app *app);
void app_dismiss(struct app *app, const char *reason);
void app_copy_evidence(struct app *app);
const struct verdict_row *app_opened(const struct app *app);

/* live.c: following the run that is open */
void app_live_decide(struct app *app);          /* after the desk was loaded */
void app_live_toggle(struct app *app);          /* `F` */
void app_live_look(struct app *app, bool is_asked);     /* now, followed or not */
void app_live_wait(struct app *app);            /* how long the screen may wait for an event */
void app_live_time(struct app *app);            /* something happened: is a look due? */
void app_live_pass(struct app *app, int64_t seconds);   /* of a script's clock */
void app_live_take(struct app *app, const struct job_message *message);
/* For the title: "live on", "live silent for 14 min", "". Lives until it is asked again. */
const char *app_live_word(struct app *app);

/* commands.c */
void app_command(struct app *app, const char *command);
void app_complete(void *app, const char *text, struct buf *out);
void app_screenshot(struct app *app, struct str name);
void app_set_line(struct app *app, const char *style);

/* app.c */
void app_say(struct app *app, const char *fmt, ...) PRINTF_LIKE(2, 3);
void app_complain(struct app *app, const struct error *err);
void app_import(struct app *app, const char *path, bool reimport);

#endif
