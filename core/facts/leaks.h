/* Test rows that training has seen: each row of each test and evaluation split against all training
 * rows of the run, by CHECKS.md F12, and the columns that stand on both sides by which rows belong
 * together (C6.2). Made once on the worker (leaks_refresh), kept in the cache, read by checks,
 * panes and exports.
 *
 * Every row is looked at; where that was not possible (stopped by the user, memory) it is said. */
#ifndef CORE_FACTS_LEAKS_H
#define CORE_FACTS_LEAKS_H

#include "core/facts/audit.h"
#include "core/facts/form_read.h"
#include "core/facts/run_facts.h"

#define LEAKS_VERSION        3 /* raise when a row could be judged differently */
#define LEAK_NEAR_JACCARD    0.8
#define LEAK_CONTAINMENT     0.8
#define LEAK_CLUSTER_JACCARD 0.5
#define LEAK_MAX_SETS        16    /* test sets of one run */
#define LEAK_MAX_PAIRS       20000 /* kept one by one, of a set */
#define LEAK_MAX_GROUPS      8
enum { LEAK_SHORT_WORDS = 3, LEAK_OVERLAP_WORDS = 13 };

enum leak_flag {
    LEAK_EXACT = 1,     /* input and target are those of a training row, normalised */
    LEAK_NEAR = 2,      /* Jaccard >= LEAK_NEAR_JACCARD */
    LEAK_CONTAINED = 4, /* the test row's shingles in a training row: >= LEAK_CONTAINMENT */
    LEAK_CLUSTERED = 8  /* Jaccard >= LEAK_CLUSTER_JACCARD: no leak, but of one family */
};
#define LEAK_ANY (LEAK_EXACT | LEAK_NEAR | LEAK_CONTAINED)

/* A test row with the training row that is nearest (by Jaccard, else by containment). */
struct leak_pair {
    const struct dataset *test, *train;
    int64_t row, train_row;           /* in their files, from 0 */
    int32_t n_row, n_train, n_shared; /* shingles; 0 shared: equal as texts alone */
    unsigned flags;                   /* enum leak_flag, without LEAK_CLUSTERED alone */
    const char *id;                   /* of the test row, as the row says; NULL: it has none */
    struct form_place place, train_place; /* of facts: their texts among the candidates, file -1: nowhere */
};
double leak_jaccard(const struct leak_pair *pair); /* 1 of an exact copy */
double leak_containment(const struct leak_pair *pair);

struct leak_group {
    const char *value;
    int64_t n_train, n_test; /* rows */
};

struct leak_column {
    const char *name; /* "metadata.user" of a member of an object */
    bool is_key_by_name;
    int64_t n_values; /* on both sides together */
    int64_t n_rows;   /* with a value */
    int64_t n_test_groups, n_shared_groups, n_test_rows, n_shared_rows;
    double expected; /* share of test groups that a split by rows would share */
    struct leak_group largest[LEAK_MAX_GROUPS]; /* of the shared ones */
    size_t n_largest;
};

struct leak_file { /* of a set */
    const struct dataset *dataset;
    int64_t n_rows;
};

struct leak_set {                  /* a test file, or the shards of one */
    const struct dataset *dataset; /* the first shard */
    const struct leak_file *files; /* in the order in which their rows are counted */
    size_t n_files;
    const char *name;
    int64_t n_rows, n_unreadable;
    int64_t n_short;        /* LEAK_SHORT_WORDS words or fewer: counted apart */
    int64_t n_short_exact;  /* of them */
    int64_t n_compared;     /* the others */
    int64_t n_not_compared; /* more than memory holds */
    int64_t n_exact, n_near, n_contained, n_leaked, n_clustered;
    int64_t n_long, n_overlap; /* of them of LEAK_OVERLAP_WORDS words or more, and of those the ones that
                                  share so many words in a row with a training row; n_long 0: not counted */
    const struct leak_pair *pairs; /* by row, at most LEAK_MAX_PAIRS */
    size_t n_pairs;
    const int64_t *leaked;             /* every leaked row, ascending, counted through the shards */
    const struct leak_column *columns; /* that may be a key, the worst first */
    size_t n_columns;
};

struct leaks {
    const struct leak_set *sets;
    size_t n_sets;
    int64_t n_train, n_train_unreadable;
    const char *prefix, *suffix; /* stripped from all rows; "" */
    bool is_banded;              /* by 42 x 6 bands and verification, else each with each */
    int64_t n_crowded;           /* test rows of which not every candidate was looked at */
    bool is_partial;             /* stopped: counts are of what was read until then */
    const char *trouble;         /* a file that could not be read to its end, or NULL */
    const char *limits;          /* of facts made elsewhere: what they leave out; NULL: the rows are here */
};

/* The largest share of leaked rows first. NULL: none was made (no test split, no training rows). */
const struct leaks *facts_leaks(const struct run_facts *facts);
uint64_t facts_leaks_hash(const struct run_facts *facts); /* 0: there are none */

/* Rows that are not here but whose facts are (form.h)? */
bool leaks_dataset_is_facts(const struct dataset *dataset);
/* Input and target of a row of facts, at most `limit` bytes each, in the arena. False: they are not
 * among the candidates. */
bool leak_pair_texts(const struct run_facts *facts, const struct dataset *dataset,
                     const struct form_place *place, size_t limit, struct arena *arena,
                     struct form_candidate *out);

/* Are these rows of texts that training (tests) read? */
bool leaks_dataset_is(const struct dataset *dataset, bool is_test);
/* Has the run rows of texts on that side ("train", or "test" for test and evaluation splits)? */
bool leaks_have_side(const struct run_facts *facts, const char *side);

/* Makes and stores what is missing or stale, as audits_refresh does. */
MUST_CHECK int leaks_refresh(const struct run_facts *facts, struct store *store,
                             const struct audit_hooks *hooks, struct error *err);
/* For what is made for the user: refreshed on the facts' own connection, which writes. E_NOTFOUND
 * with what to import when there is nothing to compare. */
MUST_CHECK int leaks_now(const struct run_facts *facts, const struct leaks **out,
                         struct error *err);

#endif
