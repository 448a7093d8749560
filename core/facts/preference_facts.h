/* What the rows of a preference data set say together, over all training files (CHECKS.md F9): counted
 * when the rows were read (setting "rows.preference" of each file). Numbers only. */
#ifndef CORE_FACTS_PREFERENCE_FACTS_H
#define CORE_FACTS_PREFERENCE_FACTS_H

#include "core/facts/run_facts.h"

enum { PREFERENCE_ROWS_SHOWN = 5 };

struct preference_row {
    int64_t source_id, line, row;
    double chosen, rejected;    /* the scores */
};

struct preference_facts {
    int64_t source_id;          /* of the first file */
    int64_t n;                  /* rows with both answers; 0: there are none */
    int64_t n_longer, n_shorter;        /* rows whose chosen answer is the longer one, in words */
    int64_t n_equal;            /* rows whose two answers are one text */
    double mean_chosen, mean_rejected;  /* words */
    double sd_chosen, sd_rejected;      /* sample */
    double ratio;               /* of the means; NaN when the rejected ones are empty */
    double d;                   /* F9: Cohen's d; NaN without spread */
    int64_t n_scored, n_contradicting;
    const char *score;          /* the key of the score, "" */
    struct preference_row rows[PREFERENCE_ROWS_SHOWN];  /* the first that contradict */
    size_t n_rows;
    int64_t n_labels, n_true;   /* of KTO rows */
};

/* False: no training file has pairs or labels, or there is no memory. */
bool preference_facts_read(const struct run_facts *facts, struct arena *arena,
                           struct preference_facts *out);

/* A reward function's own name in that of its series: rewards/<name>/mean, older rewards/<name>; false: the
 * series is none (chosen, rejected, margins, accuracies of DPO, a standard deviation). */
bool reward_part_name(const char *series, char *out, size_t size);
/* It speaks of right answers: acc, correct, exact, match, solve, answer, verif, test. */
bool reward_name_is_accuracy(const char *name);

#endif
