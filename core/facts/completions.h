/* What the completions say that a trainer logged while it trained (importer "completions"), over all files
 * of the run: by step how many, how long, how well rewarded, how many of the groups of one prompt had no
 * difference; and which phrases became more frequent with the reward. Made once on the worker
 * (completions_refresh), kept in the cache, read by stage P, panes and reports. The texts stay in their
 * files; the phrases that are shown are kept here.
 *
 * All rows are read. Phrases are looked for in at most COMPLETION_TEXTS completions of the first and of
 * the last quarter of the steps, whole groups evenly spread. Memory: 72 bytes a row, of at most
 * COMPLETION_ROWS rows, and the texts of those that are looked at. */
#ifndef CORE_FACTS_COMPLETIONS_H
#define CORE_FACTS_COMPLETIONS_H

#include "core/facts/audit.h"
#include "core/facts/run_facts.h"

#define COMPLETIONS_VERSION 1       /* raise when a row could be counted differently */
#define COMPLETION_ROWS     ((size_t)1 << 21)
#define COMPLETION_TEXTS    6000    /* of each quarter */
#define COMPLETION_STEPS    20000   /* kept one by one */
enum { COMPLETION_REWARDS = 16, COMPLETION_PHRASES = 20, COMPLETION_WORDS = 5 };

struct completion_step {
    int64_t step;
    int64_t n;                      /* completions */
    double words;                   /* mean length */
    double reward;                  /* mean of the whole reward; NaN: no numbers */
    int64_t n_grouped, n_groups;    /* completions of a prompt that has several; those prompts */
    int64_t n_dead;                 /* groups whose rewards are all one */
    int64_t n_dead_rows;            /* their completions */
    int64_t n_wrong, n_right;       /* dead groups at the lowest, at the best reward of the run */
    double parts[COMPLETION_REWARDS];   /* mean of each reward function; NaN */
};

/* A phrase that more completions hold in the last quarter of the steps than in the first. */
struct completion_phrase {
    const char *text;
    int64_t n_first, n_last;        /* completions that hold it */
    double first, last;             /* share of completions, mean over the groups */
    double times;                   /* (last + smoothing) / (first + smoothing) */
    double p;                       /* of the rise, by groups, times the phrases that were tested */
    double gain;                    /* reward with it less reward without it, mean over n_gain groups that
                                       have both; NaN: none has */
    int64_t n_gain, n_gain_up;      /* groups; of them those where it is above 0 */
};

/* Different prompts of one quarter (one completion each, of four words or more) whose completion is one
 * text, or begins with the same eight words. */
struct completion_alike {
    int64_t n_prompts, n_same, n_opening;
    const char *same, *opening;     /* that text, its beginning; "" */
};

struct completion_quarter {
    int64_t first_step, last_step;
    int64_t n, n_groups;            /* looked at for phrases: completions, prompts at a step */
    int64_t n_all;                  /* completions that there are */
    struct completion_alike alike;
};

struct completions {
    int64_t n, n_files, n_bad;
    int64_t n_without_step, n_not_numbers;
    int64_t n_more_steps;           /* beyond COMPLETION_STEPS: their rows are in no step */
    bool is_partial;                /* stopped, or more than COMPLETION_ROWS */
    const char *missing;            /* why, or which file could not be read to its end; NULL */
    const struct completion_step *steps;
    size_t n_steps;
    const char *rewards[COMPLETION_REWARDS];
    size_t n_rewards;
    bool is_weighted;               /* the whole reward is by reward_weights, or a column of its own */
    double low, high;               /* the whole reward of all completions; NaN */
    double length_r;                /* correlation of length and reward inside groups; NaN */
    int64_t n_length;               /* completions that it is of */
    struct completion_quarter first, last;  /* n 0: fewer than four steps */
    int64_t n_tested;               /* phrases */
    int64_t min_groups;             /* support: groups of the last quarter that must hold it */
    int64_t n_inflated;             /* phrases that rose beyond chance and with the reward */
    const struct completion_phrase *phrases;    /* of them the ones that say it all, most inflated first */
    size_t n_phrases;
};

/* NULL: no completions were imported. */
const struct completions *facts_completions(const struct run_facts *facts);
uint64_t facts_completions_hash(const struct run_facts *facts);  /* 0: there are none */
/* Makes and stores what is missing or stale, as data_facts_refresh does. */
MUST_CHECK int completions_refresh(const struct run_facts *facts, struct store *store,
                                   const struct audit_hooks *hooks, struct error *err);

/* From files, for tests and tools. `rewards` are the functions that are known by their series, in any
 * order; `weights` are those of the trainer's order, which is that of the columns. Both may be NULL. */
struct completion_files {
    const char *const *paths; size_t n;
    const char *const *rewards; size_t n_rewards;
    const double *weights; size_t n_weights;
};
MUST_CHECK int completions_make(const struct completion_files *files,
                                const struct audit_hooks *hooks, struct arena *arena,
                                struct completions *out, struct error *err);

#endif
