/* Series of preference tuning as the checks of stage P read them: finite values alone, the unit of the
 * KL, the length of outputs, the groups of GRPO. Readings, no verdicts. */
#ifndef CORE_CHECKS_PREFERENCE_SERIES_H
#define CORE_CHECKS_PREFERENCE_SERIES_H

#include "core/checks/check.h"
#include "core/stats/curve.h"

/* The finite values of one curve, in its order. */
struct values {
    const struct curve *curve;  /* NULL: not logged */
    double *y;
    size_t *at;                 /* the point of each */
    size_t n;
};

/* False: the metric was not logged, or never with a finite value. */
bool values_read(struct check_ctx *ctx, const char *name, struct values *out);
/* The same of shares. One that is logged outside 0 to 1 (per cent?) is not read, and that is noted. */
bool values_read_share(struct check_ctx *ctx, const char *name, struct values *out);
/* The first of the names that has values; NULL ends them. */
bool values_read_first(struct check_ctx *ctx, const char *const *names, struct values *out);
/* The start of a run is left out where a rule asks how it went on. */
void values_drop_first_tenth(struct values *values);
/* Median of quarter 0 to 3; of the half that begins with quarter 0 or 2. NaN below 4 values. */
double values_quarter(const struct values *values, int quarter);
double values_half(const struct values *values, int half);
/* Stage P: rose or fell by a standard deviation. False below 4 values. */
bool values_move(const struct values *values, struct movement *out);
bool values_rose(const struct values *values);
/* The point of value i as a step, for check_begins. */
int64_t values_step(const struct values *values, size_t i);
/* From the first value to the last as evidence. */
struct evidence *values_evidence(struct check_ctx *ctx, const struct values *values,
                                 const char *text);

/* The KL: per token (GRPO), or per sequence (PPO, objective/kl). */
struct kl {
    struct values values;
    bool is_sequence;
    double length;              /* mean length of the outputs of a KL per sequence; 0: not known */
};
bool kl_read(struct check_ctx *ctx, struct kl *out);
/* "per token" or "per sequence" */
const char *kl_unit(const struct kl *kl);
/* The knee: the first value of KL_KNEE times its median over the first half; -1: the last quarter is not
 * that far, or there are fewer than 8 values. */
#define KL_KNEE 5.0
ptrdiff_t kl_knee(const struct kl *kl);

/* Mean length of outputs by step: completions/mean_length, eval_output_tokens … */
bool lengths_read(struct check_ctx *ctx, struct values *out);
/* The same, else the words of logged completions by step; *unit: "tokens", "words". */
bool lengths_read_any(struct check_ctx *ctx, struct values *out, const char **unit);
/* Its median, 0 when it was not logged. */
double lengths_median(struct check_ctx *ctx);

/* Share of groups without a difference, row by row: frac_reward_zero_std, else 1 where reward_std is 0,
 * else as the logged completions say. */
struct dead_groups {
    struct values z;
    bool is_share;              /* rows are 0 or 1: their mean counts, not their median */
};
bool dead_groups_read(struct check_ctx *ctx, struct dead_groups *out);
/* 1: the groups of a GRPO run give no signal, 0 they do, -1 not logged. */
int dead_groups_known(struct check_ctx *ctx);

/* The coefficient that holds the policy: beta, init_kl_coef, kl_coef; NULL: not stated. A number. */
const struct setting *kl_coefficient(struct check_ctx *ctx, double *value);

/* A component of the reward: rewards/<name>/mean, older rewards/<name>. */
struct reward_part {
    const char *name;           /* of the series */
    bool is_accuracy;           /* it measures whether the answer is right */
    struct values values;
};
enum { MAX_REWARD_PARTS = 24 };
/* In order of first use; those that DPO logs (chosen, rejected, margins, accuracies) are none. */
size_t reward_parts_read(struct check_ctx *ctx, struct reward_part out[MAX_REWARD_PARTS]);

/* Calls `see` once for each metric that was logged, by canonical name. */
void each_metric(const struct run_facts *facts, void (*see)(void *ctx, const char *name), void *ctx);
/* The name holds one of the words, whatever its case; NULL ends them. */
bool name_holds(const char *name, const char *const *words);
/* It speaks of right answers: acc, correct, exact, match, solve, answer, verif, test. */
bool name_is_accuracy(const char *name);

#endif
