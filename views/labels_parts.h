/* Between the files of the labels pane: what is loaded, and how it becomes lines. */
#ifndef VIEWS_LABELS_PARTS_H
#define VIEWS_LABELS_PARTS_H

#include "core/facts/audit.h"
#include "views/scroll.h"

enum labels_mode { LABELS_TEXT, LABELS_SOURCE, LABELS_HISTOGRAMS };

struct labels_state {
    struct scroll scroll;               /* first: scroll_view_… */
    enum labels_mode mode;
    bool shows_ids, shows_blanks, no_wrap;
    /* What the window was opened on; the facts are made anew after each import. */
    struct audit_window *window;
    uint64_t serial;
    const struct audit *audit;
    size_t which;                       /* of the run's audits */
    int64_t row;                        /* NONE: not chosen yet */
    ptrdiff_t check;                    /* 1 + the check, whose evidence the row was taken from */
    size_t evidence;
    int64_t run_id;
    /* The row; borrowed from the window until the next load. */
    const struct labelled_row *labelled;
    struct str raw;
    struct error failure;               /* of opening or reading: OK, or what to say */
};

/* Adds the lines of what is loaded to state->scroll.flow. */
void labels_write(struct labels_state *state, const struct view *view);
/* The one fault of a row that n and N look for; 0: the row has none. */
uint32_t labels_main_fault(const struct audit *audit, int64_t row);
/* How many rows have it; with 0: any fault. */
int64_t labels_count_fault(const struct audit *audit, uint32_t fault);

#endif
