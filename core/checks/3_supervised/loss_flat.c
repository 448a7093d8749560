/* loss-flat (CHECKS.md C3.10): does the loss move? Exact constants first (F2), then F3 with its four
 * answers. A plateau after a fall is no fault. */
#include <math.h>

#include "core/checks/registry.h"
#include "core/facts/loss_zero.h"
#include "core/stats/curve.h"
#include "core/stats/robust.h"

#define LN2            0.693147
#define START_BAND     0.0005   /* around ln 2 or 0.5 */
#define CHANCE_BAND    0.005    /* around ln C */
#define UNTRAINED_BAND 0.3      /* around ln V */
#define LEAST_ROWS     5
#define F3_ROWS        30

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.kind == KIND_GRPO || facts->run.kind == KIND_PPO) {
        *reason = "the loss of reinforcement learning is not a learning curve";
        return false;
    }
    *reason = "nothing was trained";
    return !(facts->run.marks & MARK_EVAL_ONLY);
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "almost never the learning rate: settle the checks above of this stage in order");
    check_fix(ctx, "then train on ten rows until they are memorised; what fails there is plumbing");
}

struct rows {
    double *y;                  /* finite positive values of the longest segment, in order */
    size_t *index;              /* their places in the curve */
    size_t n;
};

static bool finite_rows(const struct curve *loss, struct arena *arena, struct rows *out)
{
    int32_t best = 0;
    size_t most = 0, run_length = 0;

    for (size_t i = 0; i < loss->n; i++) {
        run_length = i && loss->segment[i] == loss->segment[i - 1] ? run_length + 1 : 1;
        if (run_length > most) {
            most = run_length;
            best = loss->segment[i];
        }
    }
    out->y = arena_array(arena, loss->n, sizeof *out->y);
    out->index = arena_array(arena, loss->n, sizeof *out->index);
    out->n = 0;
    if (!out->y || !out->index)
        return false;
    for (size_t i = 0; i < loss->n; i++)
        if (loss->segment[i] == best && isfinite(loss->value[i]) && loss->value[i] > 0.0) {
            out->y[out->n] = loss->value[i];
            out->index[out->n++] = i;
        }
    return true;
}

static bool all_within(const struct rows *rows, size_t from, double centre, double band)
{
    for (size_t i = from; i < rows->n; i++)
        if (fabs(rows->y[i] - centre) > band)
            return false;
    return rows->n >= from + LEAST_ROWS;
}

static bool equal_to_six_digits(const struct rows *rows)
{
    for (size_t i = 1; i < rows->n; i++)
        if (fabs(rows->y[i] - rows->y[0]) > 5e-7 * fabs(rows->y[0]))
            return false;
    return rows->n >= LEAST_ROWS;
}

static int say(struct check_ctx *ctx, const struct curve *loss, const struct rows *rows,
               const char *meaning)
{
    evidence_range(ctx, loss, rows->index[0], rows->index[rows->n - 1], "loss %.6g on all %zu rows: %s",
                   rows->y[rows->n - 1], rows->n, meaning);
    check_begins(ctx, loss->step[rows->index[0]]);
    add_fixes(ctx);
    return check_fail(ctx, CONFIDENCE_CERTAIN, "constant", "the loss is %.4g on all %zu rows: %s",
                      rows->y[rows->n - 1], rows->n, meaning);
}

/* DPO and reward models: against ln 2 (KTO: 0.5) only, after warm-up, with margins at 0. */
static int preference(struct check_ctx *ctx, const struct curve *loss, const struct rows *rows)
{
    const struct curve *margins = facts_curve(ctx->facts, "rewards/margins");
    size_t warm_up = rows->n / 10;
    bool has_margin = false;

    for (size_t i = 0; margins && i < margins->n; i++)
        has_margin |= isfinite(margins->value[i]) && fabs(margins->value[i]) > 1e-3;
    if (rows->n >= LEAST_ROWS && !has_margin && all_within(rows, warm_up, LN2, START_BAND))
        return say(ctx, loss, rows, "ln 2, still at the start");
    if (rows->n >= LEAST_ROWS && !has_margin && all_within(rows, warm_up, 0.5, START_BAND) &&
        facts_curve(ctx->facts, "kl"))
        return say(ctx, loss, rows, "0.5, KTO still at the start");
    if (rows->n < LEAST_ROWS)
        return check_unknown(ctx, "%zu more logged rows (%zu are there)", LEAST_ROWS - rows->n, rows->n);
    return check_pass(ctx, CONFIDENCE_STRONG, "the loss left its starting value (%.4g to %.4g)",
                      rows->y[0], rows->y[rows->n - 1]);
}

static double number_of_classes(const struct run_facts *facts)
{
    double n;

    if (setting_number(facts_setting_on(facts, SIDE_MODEL, "num_labels"), &n) && n >= 2.0)
        return n;
    return NAN;
}

static bool at_chance(struct check_ctx *ctx, const struct curve *loss, const struct rows *rows)
{
    double classes = number_of_classes(ctx->facts);
    double counts[] = {classes, 2.0, 3.0, 5.0, 10.0};

    if (ctx->facts->run.kind != KIND_CLASSIFICATION)
        return false;
    for (size_t i = 0; i < (isnan(classes) ? 5u : 1u); i++) {
        if (isnan(counts[i]) || !all_within(rows, 0, log(counts[i]), CHANCE_BAND))
            continue;
        evidence_range(ctx, loss, rows->index[0], rows->index[rows->n - 1],
                       "loss at ln %.0f on all %zu rows", counts[i], rows->n);
        (void)check_warn(ctx, CONFIDENCE_LIKELY, "chance",
                         "the loss stays at ln %.0f = %.4f: chance level for %.0f classes", counts[i],
                         log(counts[i]), counts[i]);
        return true;
    }
    return false;
}

/* An untrained head or another model's tokenizer: starts at ln V and stays near it. */
static void near_ln_vocabulary(struct check_ctx *ctx, const struct curve *loss,
                               const struct rows *rows, bool is_learning)
{
    double vocabulary, start;

    if (rows->n < LEAST_ROWS ||     /* two or three rows are nothing to judge by */
        !setting_number(facts_setting_on(ctx->facts, SIDE_MODEL, "vocab_size"), &vocabulary) ||
        vocabulary < 1000.0 || ctx->facts->run.kind == KIND_CLASSIFICATION)
        return;
    start = log(vocabulary);
    if (fabs(rows->y[0] - start) > UNTRAINED_BAND)
        return;
    if (is_learning) {
        check_info(ctx, "the first loss is ln %.0f = %.3f: training from random weights", vocabulary,
                   start);
        return;
    }
    if (rows->y[rows->n - 1] < 0.8 * rows->y[0])
        return;
    evidence_point(ctx, loss, rows->index[0], "first loss %.4g, ln of %.0f vocabulary rows is %.4g",
                   rows->y[0], vocabulary, start);
    (void)check_warn(ctx, CONFIDENCE_LIKELY, "ln-vocabulary",
                     "the loss starts at ln of the vocabulary (%.3f) and is still %.3f: untrained head, or "
                     "the tokenizer of another model", start, rows->y[rows->n - 1]);
}

/* F3 measures in logarithms; people read per cent of the start. */
static double fall_percent(const struct flat *flat)
{
    return 100.0 * (1.0 - exp(-flat->drop));
}

static double fall_error(const struct flat *flat)
{
    return 100.0 * exp(-flat->drop) * flat->se;
}

static void by_f3(struct check_ctx *ctx, const struct curve *loss, const struct rows *rows,
                  const struct flat *flat)
{
    if (flat->answer != FLAT_FLAT)
        return;
    evidence_range(ctx, loss, rows->index[0], rows->index[rows->n - 1],
                   "fall of the logarithm %.4f ± %.4f over %zu rows (F3)", flat->drop, flat->se, rows->n);
    (void)check_warn(ctx, CONFIDENCE_LIKELY, "flat",
                     "the loss %s: %.1f %% ± %.1f %% over %zu rows (bound 5 %%)",
                     flat->drop > 1.645 * flat->se ? "hardly falls" : "does not fall",
                     fall_percent(flat), fall_error(flat), rows->n);
}

static void by_range(struct check_ctx *ctx, const struct curve *loss, const struct rows *rows)
{
    double low = rows->y[0], high = rows->y[0], middle = stat_median(rows->y, rows->n);

    for (size_t i = 0; i < rows->n; i++) {
        low = fmin(low, rows->y[i]);
        high = fmax(high, rows->y[i]);
    }
    if (!(middle > 0.0) || (high - low) / middle >= 0.005)
        return;
    evidence_range(ctx, loss, rows->index[0], rows->index[rows->n - 1],
                   "loss between %.4g and %.4g on %zu rows", low, high, rows->n);
    (void)check_warn(ctx, CONFIDENCE_LIKELY, "narrow",
                     "the loss stays within %.2f %% of its median on %zu rows",
                     100.0 * (high - low) / middle, rows->n);
}

static double fall_of_thirds(const struct rows *rows)
{
    size_t k = rows->n / 3;
    double first = stat_median(rows->y, k), last = stat_median(rows->y + rows->n - k, k);

    return k ? (first - last) / fabs(first) : NAN;
}

static int conclude(struct check_ctx *ctx, const struct rows *rows, const struct flat *flat)
{
    if (flat->answer == FLAT_LEARNING)
        return check_pass(ctx, CONFIDENCE_STRONG, "the loss falls by %.1f %% ± %.1f %% over %zu rows (F3)",
                          fall_percent(flat), fall_error(flat), rows->n);
    if (rows->n < F3_ROWS && rows->n >= 6 && fall_of_thirds(rows) > 0.02)
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "the loss falls by %.1f %% from the first to the last third of %zu rows",
                          100.0 * fall_of_thirds(rows), rows->n);
    if (rows->n >= F3_ROWS && flat->answer == FLAT_RISING)
        return check_unknown(ctx, "the cause first: the loss rises, see diverged and resume-jump");
    if (rows->n >= F3_ROWS)
        return check_unknown(ctx, "about %zu more logged rows: the fall of %.1f %% is within the noise",
                             flat->more_needed, fall_percent(flat));
    return check_unknown(ctx, "%zu more logged rows (%zu are there)", F3_ROWS - rows->n, rows->n);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct curve *loss = facts_curve(ctx->facts, "loss");
    struct loss_zero zero;
    struct rows rows;
    struct flat flat = {.answer = FLAT_TOO_FEW};

    if (!loss || loss->n == 0)
        return check_unknown(ctx, "%s", need_hint(NEEDS_TRAIN_SERIES));
    loss_zero_read(ctx->facts, &zero);
    if (!finite_rows(loss, ctx->arena, &rows))
        return error_set(err, E_NOMEM, "loss-flat");
    if (rows.n < 2)
        return check_unknown(ctx, "%zu more logged rows", F3_ROWS - rows.n);
    if (zero.n_zero == loss->n)
        return check_unknown(ctx, "nothing here: every row is 0.0, see loss-zero-all-masked");
    if (zero.n_substitution)
        return check_unknown(ctx, "a run without non-finite rows: %zu rows stand for a NaN, see "
                                  "nan-hidden-in-log", zero.n_substitution);
    if (ctx->facts->run.kind == KIND_DPO || ctx->facts->run.kind == KIND_REWARD_MODEL)
        return preference(ctx, loss, &rows);
    if (equal_to_six_digits(&rows))
        return say(ctx, loss, &rows, "nothing that trains can repeat a loss to six digits");
    if (rows.n >= F3_ROWS)
        curve_flat(rows.y, rows.n, &flat);
    near_ln_vocabulary(ctx, loss, &rows, flat.answer == FLAT_LEARNING);
    if (!at_chance(ctx, loss, &rows)) {
        if (rows.n >= F3_ROWS)
            by_f3(ctx, loss, &rows, &flat);
        else if (rows.n >= 6)
            by_range(ctx, loss, &rows);
    }
    if (check_verdict(ctx) >= VERDICT_WARN) {
        check_begins(ctx, loss->step[rows.index[0]]);
        add_fixes(ctx);
        return OK;
    }
    return conclude(ctx, &rows, &flat);
}

const struct check check_loss_flat = {
    .id = "loss-flat",
    .version = 1,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_BLOCKS,
    .title = "The loss moves",
    .why = "A loss that never moves means that nothing is being learned: frozen weights, masked labels, "
           "a rate of zero.",
    .applies = applies,
    .run = run,
};
