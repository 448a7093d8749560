/* Between the files of the labels pane: what is loaded, and how it becomes lines. */
#ifndef VIEWS_LABELS_PARTS_H
#define VIEWS_LABELS_PARTS_H

#include "core/facts/audit.h"
#include "views/scroll.h"

/* A row of a million tokens is shown in parts of so many: lines are made for one part alone. */
#define LABELS_PART_TOKENS ((size_t)4096)
#define LABELS_PART_BYTES  ((size_t)256 << 10)

enum labels_mode { LABELS_TEXT, LABELS_SOURCE, LABELS_HISTOGRAMS };

struct labels_state {
    struct scroll scroll;               /* first: scroll_view_… */
    enum labels_mode mode;
    bool shows_ids, shows_blanks, no_wrap;
    int left;                           /* cells moved sideways, with no_wrap */
    /* What the window was opened on; the facts are made anew after each import. */
    struct audit_window *window;
    uint64_t serial;
    const struct audit *audit;
    size_t which;                       /* of the run's audits that have rows */
    int64_t row;                        /* NONE: not chosen yet */
    int64_t read_row;                   /* what `labelled` is of; NONE: nothing is read */
    bool was_announced;                 /* "reading row …" is on the screen: the next load reads */
    int64_t wanted_row;                 /* a row of very many tokens that the user asked for, or NONE */
    size_t part;                        /* of LABELS_PART_TOKENS */
    bool from_below;                    /* the part before was left upwards: its end is shown */
    ptrdiff_t check;                    /* 1 + the check, whose evidence the row was taken from */
    size_t evidence;
    int64_t run_id;
    /* The row; borrowed from the window until the next one is read. */
    const struct labelled_row *labelled;
    struct str raw;
    struct error failure;               /* of opening or reading: OK, or what to say */
    /* The text's lines in the flow, with a gutter of so many cells before them. */
    size_t first_text, end_text;
    int gutter;
    char heading[160];
};

/* Adds the lines of what is loaded to state->scroll.flow. */
void labels_write(struct labels_state *state, const struct view *view);
void labels_draw(const struct labels_state *state, struct canvas *canvas);
/* The line from which on text is trained where it was masked, or the other way round, behind the top one;
 * wraps. The top line when there is none. */
size_t labels_next_change(const struct labels_state *state);
size_t labels_count_parts(const struct labels_state *state);
/* The one fault of a row that n and N look for; 0: the row has none. */
uint32_t labels_main_fault(const struct audit *audit, int64_t row);

/* labels_ids.c: ids and labels under the tokens of the part; labels_histogram.c: over all rows */
void labels_write_ids(struct textflow *flow, const struct labels_state *state);
void labels_write_histograms(struct textflow *flow, const struct audit *audit);

bool labels_is_trained(const struct labelled_row *row, size_t i);
enum style_role labels_style(const struct labelled_row *row, size_t i);

#endif
