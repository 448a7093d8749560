/* What a pane is.
 *
 * A view has state (allocated by the frame), loads what it shows from the store into its arena
 * (may fail), draws purely from that (no I/O, cannot fail), and changes its own state by actions.
 * Views share one desk: the run, check, evidence and step that the user looks at. A view changes
 * the desk only through desk_* so that the frame reloads who depends on it. */
#ifndef VIEWS_VIEW_H
#define VIEWS_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/checks/verdicts.h"
#include "core/facts/run_facts.h"
#include "core/store/store.h"
#include "views/canvas.h"

/* One table of actions per view and one for the frame: help, footer, key file, palette, man page
 * all come from it. */
struct action {
    int id;                     /* enum of the view, or of the frame (tui/app.h) */
    const char *name;           /* long name for `:` and the key file: "next-check" */
    const char *keys;           /* default keys separated by blanks: "j Down" */
    const char *help;           /* one line */
};

enum line_style { LINE_BRAILLE, LINE_BLOCK, LINE_ASCII };

/* What all panes look at. Owned by the app; borrowed by views. */
struct desk {
    struct store *store;                /* reading connection */
    int64_t run_id;                     /* 0: none chosen */
    const struct verdicts *verdicts;    /* of the run; NULL while none */
    const struct run_facts *facts;      /* of the run; NULL while none */
    ptrdiff_t check;                    /* index into verdicts->rows, or -1 */
    size_t evidence;                    /* index into the check's evidence */
    int64_t step;                       /* of the sample cursor, NONE */
    int64_t row;                        /* of the data, to open at; NONE */
    int64_t baseline_id;                /* run drawn beside, 0 none */
    /* A commit of the configuration that was chosen in the history. */
    char effect_said[160];              /* "a1b2c3d took effect with …"; "": none was */
    int64_t effect_step;                /* where in this run it took effect, if has_effect_step */
    bool has_effect_step;
    enum line_style line;
    bool ascii;
    bool is_importing;
    bool is_auditing;                   /* the two below count rows */
    int64_t import_done, import_total;  /* bytes; total 0: not known yet, checking, or idle */
    /* What the user wrote about this run. */
    const struct remark *remarks;               size_t n_remarks;
    const struct user_finding *user_findings;   size_t n_user_findings;
    const struct run *runs;                     size_t n_runs;
    const char *search;                 /* running search, "" none */
    unsigned changed;                   /* DESK_… bits set by views, taken by the frame */
    const char *open_view;              /* a view asks the frame to open this view id; NULL */
    bool open_stays;                    /* … and to leave the keys where they are if it is shown already */
    const char *open_setting;           /* to stand on in the settings: canonical or raw name; NULL */
    enum side open_side;
    const char *request;                /* a view asks the frame to run this `:` command; NULL */
};

enum { DESK_RUN = 1, DESK_CHECK = 2, DESK_EVIDENCE = 4, DESK_STEP = 8, DESK_BASELINE = 16,
       DESK_EFFECT = 32, DESK_SETTING = 64 };

struct view;

struct view_ops {
    const char *id, *title;
    size_t state_size;                  /* zeroed at first */
    const struct action *actions;       /* ends with name NULL */
    int (*load)(struct view *view, struct error *err);          /* reads the store; may fail */
    void (*draw)(const struct view *view, struct canvas *canvas);   /* pure, clip = the pane */
    bool (*act)(struct view *view, int action);                 /* false: not used */
    void (*close)(struct view *view);                           /* NULL allowed */
    /* The text of line `i` for search and copy, and going to it; NULL: no search in this view. */
    size_t (*n_lines)(const struct view *view);
    struct str (*line)(const struct view *view, size_t i);
    void (*go)(struct view *view, size_t i);
    /* Where the pane stands, as an index of `line`: search goes on from there. NULL: 0. */
    size_t (*at)(const struct view *view);
    /* One line for the status row (values at the cursor), into buf; NULL allowed. */
    void (*status)(const struct view *view, struct buf *out);
    /* For the lower border when not all is seen: "3 of 40"; NULL allowed. */
    void (*position)(const struct view *view, struct buf *out);
    /* What the pane is about now, beside its title; NULL allowed, may give NULL. */
    const char *(*heading)(const struct view *view);
    unsigned depends_on;                /* DESK_… bits that need a reload */
};

struct view {
    const struct view_ops *ops;
    void *state;
    struct arena *arena;                /* reset before each load */
    struct desk *desk;
    bool has_focus;
    bool wants_load;                    /* set by act: what is to be shown is not loaded yet */
    int rows, columns;                  /* inner size, set by the frame before load and draw */
    const struct canvas *canvas;        /* for widths only */
};

void desk_choose_check(struct desk *desk, ptrdiff_t check);
void desk_choose_evidence(struct desk *desk, size_t evidence);
void desk_choose_step(struct desk *desk, int64_t step);
void desk_choose_run(struct desk *desk, int64_t run_id);

#endif
