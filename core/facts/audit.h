/* The audit of a run's rows: each row of a data set rendered, tokenised and masked as the run's
 * trainer does it, or read as recorded; counts over all rows. Made once on the worker thread before the
 * checks (audits_refresh), kept in the cache, read by checks and panes. */
#ifndef CORE_FACTS_AUDIT_H
#define CORE_FACTS_AUDIT_H

#include <stdatomic.h>

#include "core/facts/mask_policy.h"
#include "core/facts/run_facts.h"

#define AUDIT_VERSION 1         /* raise when a row could be counted differently */

enum audit_basis {
    AUDIT_NONE,                 /* could not be made: `missing` */
    AUDIT_RECORDED,             /* labels_sample.jsonl or a token dump */
    AUDIT_SIMULATED             /* by the engines; `assumption` tells what is not proven */
};

enum audit_flag {
    AUDIT_REFUSED = 1 << 0,         /* cannot be rendered or read: counted, nothing else known */
    AUDIT_UNREADABLE = 1 << 1,      /* no JSON, no record */
    AUDIT_ALL_MASKED = 1 << 2,      /* no supervised token after the cut */
    AUDIT_CUT = 1 << 3,             /* longer than max_length */
    AUDIT_CUT_TO_NOTHING = 1 << 4,  /* had supervised tokens before the cut, none after */
    AUDIT_CUT_ANSWER = 1 << 5,      /* the cut took supervised tokens */
    AUDIT_PROMPT_FILLS = 1 << 6,    /* prompt tokens >= max_length */
    AUDIT_DROPPED = 1 << 7,         /* the trainer leaves the row out */
    AUDIT_NO_MARKER = 1 << 8,
    AUDIT_TWO_BOS = 1 << 9,         /* the first two ids are both the BOS id */
    AUDIT_END_TRAINED = 1 << 10,    /* the last supervised token (newlines passed over) is a stop id */
    AUDIT_HAS_PAD_EOS = 1 << 11,    /* holds the id that is both pad and EOS (or turn end) */
    AUDIT_PAD_EOS_TRAINED = 1 << 12,/* … and it is supervised at least once */
    AUDIT_NO_ASSISTANT = 1 << 13,
    AUDIT_EMPTY_ANSWER = 1 << 14,
    AUDIT_HAS_SIDES = 1 << 15,      /* boundaries are known: n_trained_prompt counts */
    AUDIT_ALL_TRAINED = 1 << 16,    /* every token that is no padding is supervised */
    AUDIT_HAS_NEW_ID = 1 << 17,     /* an id that the base's vocabulary has not */
    AUDIT_STARTS_TWICE = 1 << 18,   /* the first two ids are equal, whatever they are */
    AUDIT_BAD_ID = 1 << 19          /* an id beyond the model's vocabulary */
};
#define AUDIT_N_FLAGS 20

struct audit_row {
    int32_t n_tokens;               /* before the cut; -1: refused */
    int32_t n_prompt;               /* up to the answer, -1 not known */
    int32_t n_trained;              /* after the cut; -1: the labels are not known */
    int32_t n_trained_prompt;       /* of them in system, user, tool turns or headers */
    uint32_t flags;                 /* enum audit_flag */
    int32_t last_id;                /* last supervised id, trailing newline tokens passed over; -1 none */
};

struct audit_new_id {               /* an id that the base's vocabulary has not */
    int64_t id, n_rows;
    const char *text;               /* NULL: no name is known */
};
#define AUDIT_MAX_NEW_IDS 64

struct audit {
    enum audit_basis basis;
    const struct dataset *dataset;  /* whose rows */
    const char *policy;             /* one line: what was simulated, or "recorded labels" */
    const char *because;            /* what decided it */
    const char *assumption;         /* NULL: none */
    const char *missing;            /* AUDIT_NONE, or what would settle the assumption; NULL */
    bool is_partial;                /* stopped by the user or by a limit: n_rows are not all */
    bool is_sampled;                /* recorded rows are a sample of the data set */
    int64_t n_rows;                 /* rows looked at */
    int64_t n_file_rows;            /* rows that the data set has; NONE */
    const struct audit_row *rows;   /* NULL when nothing is known row by row */
    int64_t max_length;             /* the limit used; NONE */
    int64_t pad_id, eos_id, bos_id, turn_end_id;    /* NONE */
    const char *eos_text, *turn_end_text;           /* as the vocabulary spells them, or NULL */
    int64_t last_id;                /* the last supervised id of most rows, and in how many of those
                                       with supervised tokens */
    int64_t n_last_id;
    const char *last_text;          /* its spelling, or NULL */
    bool last_is_special;           /* it is an added or special token */
    const char *first_refusal;      /* of the first refused row, and which row */
    int64_t first_refused_row;
    const char *marker;             /* response marker looked for, as text, and what stands nearest */
    const char *marker_ids, *nearest_ids, *nearest_text;
    int64_t n_vocab, first_new_id;  /* rows of the model's embedding; where the base's vocabulary ends;
                                       NONE: not known */
    int64_t max_id, max_id_row;     /* the highest id of all rows and the first row that has it; NONE */
    const struct audit_new_id *new_ids; /* those that stand in rows, at most AUDIT_MAX_NEW_IDS */
    size_t n_new_ids;
    /* Totals over rows. */
    int64_t n_flagged[AUDIT_N_FLAGS];   /* rows with flag 1 << i */
    int64_t n_tokens, n_trained, n_trained_prompt, n_with_sides;
};

/* The audit of a split ("train", "eval"): recorded rows before simulated ones; of several training files
 * the sum is not made, the one with most rows stands first. NULL: none was made. */
const struct audit *facts_audit(const struct run_facts *facts, const char *split);
/* All audits of the run, a simulated one beside a recorded one. */
const struct audit *const *facts_audits(const struct run_facts *facts, size_t *n);

/* Changes with each audit that was made anew; 0: there are none. */
uint64_t facts_audits_hash(const struct run_facts *facts);

struct audit_hooks {                /* all NULL allowed */
    const atomic_bool *cancel;      /* what was counted until then is kept, is_partial */
    void (*progress)(void *ctx, int64_t rows_done, int64_t rows_total);
    void (*bytes)(void *ctx, int64_t done, int64_t total);  /* while tensors are measured (measure.h) */
    int (*yield)(void *ctx, struct error *err);     /* every 256 rows */
    void (*batch)(void *ctx, int64_t run_id);       /* something more of the run can be shown */
    void *ctx;
    int n_threads;              /* 0 and 1: this one alone; below 0: as many as the machine has */
};

/* Makes and stores the audits that are missing or stale. Called by the runner before the checks, on
 * the connection that writes. E_CANCELLED never: a stopped audit is partial. */
MUST_CHECK int audits_refresh(struct run_facts *facts, struct store *store,
                              const struct audit_hooks *hooks, struct error *err);

/* One row of an audit again, whole, for the labels pane and `flatline labels`: ids, mask, reasons. The
 * window keeps tokenizer, template and file open. */
struct audit_window;
MUST_CHECK int audit_window_open(struct audit_window **out, const struct run_facts *facts,
                                 const struct audit *audit, struct error *err);
void audit_window_close(struct audit_window *window);
/* Lives until the next call. *raw (may be NULL): the row's own source text, cut at 256 KiB. */
MUST_CHECK int audit_window_row(struct audit_window *window, int64_t row,
                                const struct labelled_row **out, struct str *raw,
                                struct error *err);
/* The row's own source text alone, at most `limit` bytes of it; lives in the arena. */
MUST_CHECK int audit_window_raw(struct audit_window *window, int64_t row, size_t limit,
                                struct arena *arena, struct str *out, struct error *err);
const struct tokenizer *audit_window_tokenizer(const struct audit_window *window); /* or NULL */

#endif
