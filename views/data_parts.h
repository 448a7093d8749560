/* The pieces of the data pane, private to views/data*.c: its state, the rows that are shown, the lists of
 * what was counted. */
#ifndef VIEWS_DATA_PARTS_H
#define VIEWS_DATA_PARTS_H

#include "core/checks/check.h"
#include "core/facts/data_facts.h"
#include "views/data_scan.h"
#include "views/row_text.h"
#include "views/scroll.h"

enum { DATA_MOST_SEEN = 200, DATA_N_FLAGS = 3, DATA_TOKEN_BINS = 32 };

enum data_mode {
    DATA_ROWS,                  /* the table */
    DATA_COUNTS,                /* what was counted over all rows */
    DATA_VALUES,                /* the values of one column, the commonest first */
    DATA_ROW                    /* one row whole */
};

enum data_filter_kind {
    DATA_ALL,
    DATA_FLAGGED,
    DATA_CONTRADICTS,
    DATA_WITH_FLAG,
    DATA_IN_TOKENS,             /* the three between low and high */
    DATA_IN_INPUT_WORDS,
    DATA_IN_TARGET_WORDS,
    DATA_WITH_VALUE             /* low: of the column that is counted */
};

struct data_filter {
    enum data_filter_kind kind;
    uint32_t flag;
    int64_t low, high;
    char said[100];             /* behind the number of rows: "label = yes" */
};

/* A line of the counts, and what Enter on it shows. */
struct data_line {
    const char *name, *column;  /* column: Enter counts its values; NULL */
    const char *note;           /* behind the bar, or the title; NULL */
    int64_t n, most;            /* the bar is n of most; NONE: a title or a sentence */
    enum style_role style;
    bool has_filter;
    struct data_filter filter;
};

enum { DATA_COLUMN_ROW, DATA_COLUMN_TOKENS, DATA_COLUMN_PROMPT, DATA_COLUMN_FLAGS, DATA_COLUMN_TARGET,
       DATA_COLUMN_INPUT, DATA_N_COLUMNS };
enum { DATA_N_SORTED = DATA_COLUMN_FLAGS + 1 };

struct data_state {
    enum data_mode mode, home;  /* home: where the pane was entered, Esc leaves it there */
    bool came_from_values;      /* to the rows */
    bool has_no_rows;           /* only what was counted of them can be shown */
    struct table rows, counts, values;
    struct scroll row;          /* one row */
    bool is_row_new;
    struct data_filter filter;
    int sorted_by;
    bool is_falling;
    /* What is looked at. */
    int64_t run_id;
    ptrdiff_t check;            /* whose evidence was followed, and which */
    size_t evidence;
    size_t set;                 /* of the data sets with rows */
    const struct dataset *dataset;
    const struct source *source;
    const struct sample *samples;
    size_t n;
    const struct run_facts *facts;
    uint64_t facts_hash;
    struct column_names names;  /* in `kept` */
    struct arena *kept;
    /* The rows that are shown; until something changes. */
    bool is_stale;
    size_t *order;
    uint8_t *contradicts;       /* of a row; NULL: none does */
    size_t n_contradicts;
    /* Of all rows of the set. */
    int64_t n_with_flag[DATA_N_FLAGS], token_bins[DATA_TOKEN_BINS], n_over;
    double limit;               /* max_length; 0 not known */
    /* Their texts. */
    struct arena *seen;
    size_t first_text, n_texts; /* of the order */
    struct row_text texts[DATA_MOST_SEEN];
    struct row_reader reader;
    /* What is counted. */
    struct data_scan scan;
    struct value_count count;
    const struct data_line *lines;      /* in the pane's arena */
    size_t n_lines;
    int bar_cells;
    char number[80];
    char heading[240];
};

/* ---- views/data_choose.c: what it is about ---- */

size_t data_count_sets(const struct run_facts *facts);
void data_begin_run(struct view *view);
/* The set with its rows, and the passes over it; false: there are no rows. */
bool data_find_set(struct view *view);
void data_open_mode(struct data_state *state, enum data_mode mode);
void data_show_all(struct data_state *state);
/* Begins to count the values of a column, unless they are counted already. */
void data_count_values(struct data_state *state, const char *column);
/* Evidence of the opened check that this pane shows and has not followed yet, or NULL. */
const struct evidence *data_new_evidence(struct view *view, const struct check **check);
void data_choose_source(struct data_state *state, const struct run_facts *facts, int64_t source_id);
/* The column that stands on both sides of the split, the worst one; NULL: none. */
const char *data_shared_column(const struct run_facts *facts);
void data_follow_row(struct data_state *state, int64_t row);
void data_follow_desk(struct view *view);

/* ---- views/data_table.c: rows ---- */

/* Chooses and sorts the rows again where something changed. */
MUST_CHECK int data_order(struct view *view, struct error *err);
/* Reads the texts of the rows that are seen. */
void data_read_seen(struct view *view);
void data_table_columns(struct data_state *state);
/* The bytes of a row as search sees them; "" while it was not read. */
struct str data_search_text(const struct data_state *state, size_t i);
void data_put_row(struct view *view);

/* ---- views/data_counts.c: lists ---- */

void data_tally(struct data_state *state);

MUST_CHECK int data_write_counts(struct view *view, struct error *err);
void data_count_columns(struct data_state *state, int columns);
void data_value_columns(struct data_state *state, int columns);
/* The first line of classes, of what gives them away; 0 when there are none. */
size_t data_line_of_classes(const struct data_state *state);

#endif
