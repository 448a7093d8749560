/* What a check is, and how it speaks.
 *
 * A check is one constant: metadata and a pure rule over run_facts (CHECKS.md section 3). The rule
 * calls check_fail, check_warn, check_pass, check_unknown, check_skip, adds evidence and fixes,
 * and returns OK; an error status is for failures of ours only.
 *
 * Merging inside one check: the worst verdict wins (FAIL, WARN, UNKNOWN, PASS, n.a.), the sentence
 * and branch of the first statement at the worst level stand; evidence, fixes, missing and
 * information add up. So a branch that cannot be evaluated turns PASS into UNKNOWN and never hides
 * a WARN or FAIL of another branch. */
#ifndef CORE_CHECKS_CHECK_H
#define CORE_CHECKS_CHECK_H

#include "core/base/arena.h"
#include "core/facts/run_facts.h"
#include "core/model.h"

/* What every branch of a rule needs. A missing need gives UNKNOWN by the runner with the hint of
 * the importers that could supply it; alternatives are weighed in run(). */
enum need {
    NEEDS_LOG = 1 << 0,             /* console output */
    NEEDS_TRAIN_SERIES = 1 << 1,    /* metric rows of training */
    NEEDS_EVAL_SERIES = 1 << 2,
    NEEDS_SETTINGS = 1 << 3,        /* training arguments */
    NEEDS_MODEL_CONFIG = 1 << 4,
    NEEDS_TOKENIZER = 1 << 5,
    NEEDS_TEMPLATE = 1 << 6,
    NEEDS_DATASET = 1 << 7,
    NEEDS_TEST_DATASET = 1 << 8,
    NEEDS_LABELS = 1 << 9,
    NEEDS_LENGTHS = 1 << 10,
    NEEDS_CHECKPOINTS = 1 << 11,
    NEEDS_ADAPTER_TENSORS = 1 << 12,
    NEEDS_GENERATIONS = 1 << 13,
    NEEDS_EVAL_ITEMS = 1 << 14,
    NEEDS_JUDGEMENTS = 1 << 15,
    NEEDS_SERVING = 1 << 16,
    NEEDS_REQUEST = 1 << 17,
    NEEDS_GIT = 1 << 18,
    N_NEEDS = 19
};

/* Which check of stages 0 to 3 fails, once it was asked for (core/checks/gate.h). */
struct gate {
    bool is_known;
    const struct check *failed;             /* NULL: none */
    size_t n_seen;
};

struct check_ctx {
    const struct run_facts *facts;
    const struct run_facts *const *others;  /* other runs of the same project */
    size_t n_others;
    struct arena *arena;                    /* of this one check; its result is copied */
    struct gate *gate;                      /* of the run, shared by its checks; NULL: asked anew */
    struct check_draft *draft;              /* private: the result being built */
};

struct check {
    const char *id;                 /* stable: stored and reported */
    int version;                    /* raise when a verdict could change */
    enum stage stage;
    enum severity severity;
    const char *title;              /* true when the check passes */
    const char *why;                /* why it matters, one or two sentences */
    unsigned needs;                 /* enum need */
    /* NULL: always. False: n.a., with the reason in *reason (a constant text). */
    bool (*applies)(const struct run_facts *facts, const char **reason);
    int (*run)(struct check_ctx *ctx, struct error *err);
};

/* ---- Statements. All return OK, so that a rule may end with `return check_pass(ctx, …);` ---- */

int check_fail(struct check_ctx *ctx, enum confidence confidence, const char *branch,
               const char *fmt, ...) PRINTF_LIKE(4, 5);
int check_warn(struct check_ctx *ctx, enum confidence confidence, const char *branch,
               const char *fmt, ...) PRINTF_LIKE(4, 5);
/* The sentence is the reason: which inputs, how many rows, what was within which bound. */
int check_pass(struct check_ctx *ctx, enum confidence confidence, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* `missing`: what to import, in the user's terms ("the tokenizer folder of the served model"). */
int check_unknown(struct check_ctx *ctx, const char *fmt, ...) PRINTF_LIKE(2, 3);
int check_skip(struct check_ctx *ctx, const char *fmt, ...) PRINTF_LIKE(2, 3);      /* n.a. */
/* Text beside a PASS or UNKNOWN: not a finding. */
void check_info(struct check_ctx *ctx, const char *fmt, ...) PRINTF_LIKE(2, 3);
void check_fix(struct check_ctx *ctx, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The verdict so far. */
enum verdict check_verdict(const struct check_ctx *ctx);

/* ---- Evidence. Each returns the record (never NULL) so that fields can be added. ---- */

struct evidence *evidence_add(struct check_ctx *ctx, const char *kind, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The line of the log itself. */
struct evidence *evidence_event(struct check_ctx *ctx, const struct event *event);
/* "learning_rate = 0.003" at its file and line. NULL setting: nothing is added. */
void evidence_setting(struct check_ctx *ctx, const struct setting *setting);
/* One row of a curve: step, line, value. */
struct evidence *evidence_point(struct check_ctx *ctx, const struct curve *curve, size_t i,
                                const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Rows i … j of a curve (a range of steps). */
struct evidence *evidence_range(struct check_ctx *ctx, const struct curve *curve, size_t i,
                                size_t j, const char *fmt, ...) PRINTF_LIKE(5, 6);
/* A number against its bound. */
struct evidence *evidence_number(struct check_ctx *ctx, double value, double bound,
                                 const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Where the fault begins in the run; the smallest step wins. NONE: before the run. */
void check_begins(struct check_ctx *ctx, int64_t step);

#endif
