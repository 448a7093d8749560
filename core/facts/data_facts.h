/* What the rows of the training data say together: inputs that repeat with their targets, classes and
 * what gives them away, duplicates, lengths. One pass over all rows of all training files and shards,
 * made once on the worker thread before the checks (data_facts_refresh) and kept in the cache; checks,
 * exports and panes read it. Texts stay in their files; those that are shown are kept here.
 *
 * Memory: 64 bytes a row during the pass and 32 more while they are sorted, 48 more for rows with a class,
 * of at most DATA_MOST_ROWS rows; of repeated inputs with several targets the texts, at most
 * DATA_TEXT_BYTES. */
#ifndef CORE_FACTS_DATA_FACTS_H
#define CORE_FACTS_DATA_FACTS_H

#include "core/facts/audit.h"
#include "core/facts/data_columns.h"
#include "core/facts/run_facts.h"

#define DATA_FACTS_VERSION 4        /* raise when a row could be counted differently */
#define DATA_TEXT_BYTES ((size_t)512 << 20)
#define DATA_MOST_ROWS  ((size_t)1 << 25)   /* beyond them the pass is partial */
#define DATA_GROUPS     20          /* shown of all */
#define DATA_OPENINGS   12
#define DATA_CLASSES    64          /* kept with their counts */

struct data_file {
    const char *path;
    int64_t source_id;              /* 0: not of this run */
    int64_t first_row, n_rows;      /* among the rows of all files */
    const char *split;              /* of the facts (form.h) that `path` is, whose rows are not here; NULL:
                                       a file of rows */
    struct column_names columns;    /* by which its rows are read; none: the usual ones */
};

struct data_place {
    int64_t file, row, at;          /* row of the file; at: for rows_seek */
};

struct data_target {
    const char *text;               /* cut at 4 KiB */
    int64_t count;
    const struct data_place *rows;  /* the first ones */
    size_t n_rows;
};

enum data_group_kind {
    DATA_AGREES,                    /* one target, or only other words for it */
    DATA_FREE_TEXT,                 /* long targets that have little in common */
    DATA_CONTRADICTORY,             /* short targets that cannot both be right */
    DATA_RANKED_BOTH_WAYS,          /* preference: two answers, or more in a circle */
    DATA_BOTH_LABELS                /* KTO: one answer, liked and disliked */
};

struct data_group {                 /* rows of one input */
    uint64_t key;
    const char *input;              /* cut at 16 KiB */
    enum data_group_kind kind;
    int64_t n_rows;
    double jaccard;                 /* the lowest of two of its targets */
    const struct data_target *targets; /* the commonest first */
    size_t n_targets;
    int64_t n_more;                 /* targets that are not kept */
};

struct data_opening {
    const char *text;               /* NULL: the class has none of so many words */
    int64_t n_in, n_out;            /* rows of the class that begin so, and others */
};

struct data_class {
    const char *name;
    int64_t n_rows;
    struct data_opening openings[DATA_OPENINGS];   /* the commonest of 1 … 12 words */
};

struct data_length_rule {
    const char *of;                 /* "words", "bytes"; NULL: there is none */
    int64_t threshold;              /* up to here one class, above it the other */
    int64_t n_right, n_rows, n_majority;
    const char *below, *above;      /* names of the classes; "chosen", "rejected" */
};

#define DATA_BINS 24
struct data_lengths {               /* of one kind of text, in words */
    int64_t n, median, p95, longest, longest_row;
    int64_t bins[DATA_BINS];        /* [0]: none; [i]: 2^(i-1) … 2^i - 1 */
};

/* Words of the answers that stand in spans which at least 80 % of the rows share (F19). */
struct data_spans {
    int64_t n_rows;                 /* looked at, evenly over all; 0: too few */
    int64_t n_words, n_constant;    /* of them, and in such a span */
    const char *longest;            /* of one row, cut; NULL: there is none */
};

struct data_facts {
    const struct data_file *files;
    size_t n_files;
    int64_t n_rows, n_file_rows;    /* looked at, and that there are */
    bool is_partial;
    const char *missing;            /* why it is partial, or why there is nothing; NULL */
    const char *limits;             /* of facts made elsewhere: what they leave out; NULL: rows of files */
    const char *not_grouped;        /* likewise: why inputs are not compared; NULL: they are */
    const char *form;               /* of most rows */
    int64_t n_unreadable, n_degenerate, n_no_target, n_no_input, n_not_grouped;
    int64_t n_preference, n_kto;
    int64_t first_unreadable, first_degenerate;    /* rows of all files; NONE */
    /* Repeated inputs. */
    int64_t n_groups, n_group_rows; /* inputs that stand in several rows, and those rows */
    int64_t n_best_rows;            /* of them, with the commonest target of their group */
    int64_t n_contradictory, n_contradictory_rows;
    int64_t n_free, n_free_rows;
    int64_t n_duplicates;           /* rows that are another one again, input and target */
    int64_t n_not_compared;         /* groups that are too large to compare */
    const struct data_group *groups;
    size_t n_shown;
    /* Classes: one a row. */
    bool has_classes;
    bool has_labels;                /* a column says them */
    int64_t n_classes, n_class_rows, n_distinct_targets;
    int64_t n_shared_words;         /* so many first words are the same in nearly all of these rows */
    const struct data_class *classes;   /* the largest first */
    size_t n_kept_classes;
    struct data_length_rule length_rule, pair_rule; /* pair_rule: of chosen against rejected */
    struct data_lengths input, target;
    struct data_spans spans;
};

/* Of the run, or NULL: it has no training rows, or they were not looked at yet. */
const struct data_facts *facts_data(const struct run_facts *facts);
/* Changes when they were made anew; 0: there are none. */
uint64_t facts_data_hash(const struct run_facts *facts);

#define DATA_FACTS_NAME "data"      /* in the store */
/* What is stored, when the facts of the run are opened; there may be nothing. */
MUST_CHECK int data_facts_find(const struct run_facts *facts, struct store *store, struct error *err);

/* Makes and stores what is missing or stale; on the connection that writes. A stopped pass is kept as
 * partial. */
MUST_CHECK int data_facts_refresh(const struct run_facts *facts, struct store *store,
                                  const struct audit_hooks *hooks, struct error *err);
/* For what is made for the user: refreshed on the facts' own connection, which writes. E_NOTFOUND with what
 * to import. */
MUST_CHECK int data_facts_now(const struct run_facts *facts, const struct data_facts **out,
                              struct error *err);

/* The pass itself over some files, for tests and for files that belong to no run. Paths, ids and counts of
 * the files are given (n_rows NONE: not known); all else is filled in the arena. */
MUST_CHECK int data_facts_make(struct data_file *files, size_t n_files,
                               const struct audit_hooks *hooks, struct arena *arena,
                               struct data_facts *out, struct error *err);

/* All files of facts (form.h) that the run has. */
uint64_t data_form_hash(const struct run_facts *facts, uint64_t hash);

double data_ceiling(const struct data_facts *data);     /* F13; 1 without repeated inputs */
/* As rows are named: its last name, or of facts the split. */
const char *data_file_name(const struct data_file *file);
/* The file of a row of all, and the row in it. */
const struct data_file *data_file_of(const struct data_facts *data, int64_t row, int64_t *in_file);

#endif
