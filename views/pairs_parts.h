/* The pieces of the pane of pairs, private to views/pairs*.c: which pairs a run has, and how the two sides
 * of one are written. */
#ifndef VIEWS_PAIRS_PARTS_H
#define VIEWS_PAIRS_PARTS_H

#include "core/checks/check.h"
#include "core/facts/data_facts.h"
#include "core/facts/leaks.h"
#include "views/row_text.h"
#include "views/textflow.h"
#include "views/view.h"

/* ---- Which pairs there are ---- */

enum pair_kind {
    PAIR_TARGETS,               /* targets of one repeated input against the commonest of them */
    PAIR_LEAK,                  /* a test row with the training row that is nearest */
    PAIR_ANSWERS                /* chosen and rejected of one row */
};

/* Pairs that follow each other: of one input, of one test set, of one file of preferences. */
struct pair_section {
    enum pair_kind kind;
    size_t first, n;
    const struct data_group *group;
    const struct leak_set *set;
    const struct dataset *dataset;
};

struct pair_list {
    struct pair_section *sections;
    size_t n_sections, n;
};

MUST_CHECK int pairs_list(const struct run_facts *facts, struct arena *arena, struct pair_list *out,
                          struct error *err);
/* The section of a pair; NULL: there is none of that number. */
const struct pair_section *pairs_section(const struct pair_list *list, size_t at);
/* Among all pairs of its kind: its number from 1, and how many they are. */
size_t pairs_number(const struct pair_list *list, size_t at, size_t *n);
/* The pair that a piece of evidence is about, or the first of the kind that the check is about; false:
 * there is none. */
bool pairs_of_evidence(const struct run_facts *facts, const struct pair_list *list,
                       const struct check *check, const struct evidence *evidence, size_t *at);

/* ---- Its two sides ---- */

struct pair_side {
    const char *title;          /* file and row */
    const char *input_name, *target_name;
    struct str input, target, fields;
    bool is_cut;
};

void pairs_sides(const struct view *view, struct row_reader *reader, const struct pair_section *section,
                 size_t index, struct pair_side sides[2]);

struct pair_layout {
    struct textflow *flow, *right;      /* right: NULL when one stands under the other */
    ptrdiff_t current;                  /* the difference that is marked, -1 none */
    size_t *lines;                      /* of each difference the first line that shows it */
    size_t n, capacity;
    size_t n_seen;                      /* differences so far, of both texts */
};

MUST_CHECK int pairs_write(const struct pair_side sides[2], struct pair_layout *layout, struct error *err);

#endif
