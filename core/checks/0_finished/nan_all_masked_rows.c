/* nan-all-masked-rows (CHECKS.md C0.16): is a row left without a supervised token? The mean over no
 * token is NaN; where the loss is a sum over a clamped count such a batch logs 0.0 beside 0.0. All
 * rows masked is another fault: flat-all-masked. */
#include <math.h>
#include <string.h>

#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"
#include "core/facts/loss_zero.h"
#include "core/facts/onset.h"

enum { ROWS_SHOWN = 8 };

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.kind == KIND_GRPO || facts->run.kind == KIND_PPO) {
        *reason = "the rows of reinforcement learning are prompts: nothing in them is masked";
        return false;
    }
    if (facts->run.kind == KIND_CLASSIFICATION) {
        *reason = "a classification row has one label, not a mask";
        return false;
    }
    return true;
}

/* Masked rows of one split, as far as rows were seen. */
struct count {
    const struct dataset *dataset;    /* that has them */
    const struct audit *audit;        /* labels; NULL: by estimated prompt lengths */
    int64_t n_rows, n_seen, n_masked; /* n_rows: of the split, NONE when not known */
    bool is_exact;                    /* by labels without an assumption */
    int64_t rows[ROWS_SHOWN];
    int32_t prompt_tokens[ROWS_SHOWN];
};

struct masked {
    struct count train, eval;
    double limit; /* max_length, NaN */
    const struct setting *limit_setting;
    int64_t n_degenerate; /* rows with an empty answer */
};

static bool is_eval_split(const struct dataset *dataset)
{
    return dataset->split &&
           (strcmp(dataset->split, "eval") == 0 || strcmp(dataset->split, "test") == 0);
}

/* 1 the prompt is not trained on, 0 it is, -1 not known. */
static int masks_prompt(const struct run_facts *facts)
{
    static const char *const MASKING[] = {"completion_only_loss", "assistant_only_loss",
                                          "train_on_responses_only"};

    if (facts_bool(facts, "train_on_inputs") >= 0)
        return !facts_bool(facts, "train_on_inputs");
    for (size_t i = 0; i < sizeof MASKING / sizeof MASKING[0]; i++)
        if (facts_bool(facts, MASKING[i]) == 1)
            return 1;
    if (facts_text(facts, "response_template") || facts_text(facts, "response_part"))
        return 1;
    /* Both mask the prompt unless told otherwise. */
    struct str framework = str_of(facts->run.framework);
    if (str_has_ignoring_case(framework, "llamafactory") ||
        str_has_ignoring_case(framework, "llama-factory") ||
        str_has_ignoring_case(framework, "axolotl"))
        return 1;
    return -1;
}

static void add_masked(struct count *count, int64_t row, int32_t prompt_tokens)
{
    if (count->n_masked < ROWS_SHOWN) {
        count->rows[count->n_masked] = row;
        count->prompt_tokens[count->n_masked] = prompt_tokens;
    }
    count->n_masked++;
}

/* A masked row that the trainer drops is in no batch. */
static bool count_labels(const struct run_facts *facts, const char *split, struct count *count)
{
    const struct audit *audit = labels_of(facts, split);

    if (!audit)
        return false;
    /* A sample without such a row says less than all rows simulated. */
    if (labels_count(audit, AUDIT_ALL_MASKED) == 0) {
        const struct audit *other = labels_beside(facts, audit, AUDIT_ALL_MASKED);

        audit = other ? other : audit;
    }
    *count = (struct count){.dataset = audit->dataset,
                            .audit = audit,
                            .n_rows = audit->n_file_rows,
                            .n_seen = labels_seen(audit),
                            .is_exact = audit->assumption == NULL};
    for (int64_t i = 0; i < audit->n_rows; i++)
        if (labels_row_has(&audit->rows[i], AUDIT_ALL_MASKED, AUDIT_DROPPED))
            add_masked(count, i, audit->rows[i].n_prompt);
    return true;
}

static void count_rows(const struct run_facts *facts, const struct dataset *dataset, double limit,
                       struct count *count)
{
    size_t n = 0;
    const struct sample *samples = facts_samples(facts, dataset, &n);
    struct count own = {.dataset = dataset, .n_rows = dataset->n_rows};

    for (size_t i = 0; i < n; i++) {
        if (samples[i].n_prompt_tokens < 0)
            continue;
        own.n_seen++;
        if ((double)samples[i].n_prompt_tokens >= limit)
            add_masked(&own, (int64_t)i, samples[i].n_prompt_tokens);
    }
    if (own.n_seen > 0 && (!count->dataset || own.n_masked > count->n_masked))
        *count = own;
}

static int64_t count_degenerate(const struct run_facts *facts)
{
    int64_t count = 0;

    for (size_t i = 0; i < facts->n_datasets; i++) {
        size_t n = 0;
        const char *form = facts->datasets[i].form;
        if (form && (strcmp(form, "tokens") == 0 || strcmp(form, "lengths") == 0))
            continue;
        const struct sample *samples = facts_samples(facts, &facts->datasets[i], &n);
        for (size_t k = 0; k < n; k++)
            count += (samples[k].flags & SAMPLE_EMPTY_ANSWER) != 0;
    }
    return count;
}

/* TRL from 1.9 on drops such rows itself: their text says nothing about what was trained then. */
static bool drops_masked_rows(const struct run_facts *facts)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, "truncation-cuts-answer", event)))
        if (event->pattern && strcmp(event->pattern, "trl-dropping-masked") == 0)
            return true;
    return false;
}

static void count_all(const struct run_facts *facts, struct masked *m)
{
    bool by_text = masks_prompt(facts) == 1 && isfinite(m->limit) && !drops_masked_rows(facts) &&
                   facts_bool(facts, "packing") != 1;
    bool has_train = count_labels(facts, "train", &m->train);
    bool has_eval = count_labels(facts, "eval", &m->eval) || count_labels(facts, "test", &m->eval);

    for (size_t i = 0; by_text && i < facts->n_datasets; i++) {
        const struct dataset *dataset = &facts->datasets[i];
        bool is_eval = is_eval_split(dataset);

        if (dataset->form && (strcmp(dataset->form, "tokens") == 0 ||
                              strcmp(dataset->form, "lengths") == 0))
            continue;
        if (is_eval ? !has_eval : !has_train)
            count_rows(facts, dataset, m->limit, is_eval ? &m->eval : &m->train);
    }
    m->n_degenerate = count_degenerate(facts);
}

static void show_count(struct check_ctx *ctx, const struct masked *m, const struct count *count)
{
    for (int64_t i = 0; i < count->n_masked && i < ROWS_SHOWN; i++) {
        struct evidence *e =
            count->prompt_tokens[i] >= 0 && isfinite(m->limit)
                ? evidence_add(ctx, "dataset",
                               "row %lld: %s%d prompt tokens of %.0f, nothing is "
                               "left to train on",
                               (long long)count->rows[i], count->is_exact ? "" : "about ",
                               count->prompt_tokens[i], m->limit)
                : evidence_add(ctx, "dataset", "row %lld: every label is -100",
                               (long long)count->rows[i]);
        e->source_id = count->dataset->source_id;
        e->row = count->rows[i];
    }
    evidence_number(ctx, (double)count->n_masked / (double)count->n_seen, 0.01,
                    "%lld of %lld rows seen have no supervised token", (long long)count->n_masked,
                    (long long)count->n_seen);
    evidence_setting(ctx, m->limit_setting);
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "drop the rows without a supervised token");
    check_fix(ctx, "raise max_length to the smallest value that keeps 99.5 %% of the rows");
    check_fix(ctx, "cut the prompt's side, not the answer");
    check_fix(ctx, "a newer TRL drops such rows itself");
}

/* ---- The rows of the log ---- */

static void judge_series(struct check_ctx *ctx, const struct loss_zero *zero)
{
    size_t shown = 0;

    if (!zero->loss || zero->has_reward_keys)
        return;
    double share = (double)zero->n_masked_batch / (double)zero->n_rows;
    for (size_t i = 0; i < zero->n_rows && shown < ROWS_SHOWN; i++)
        if (zero->is_masked_batch[i]) {
            evidence_point(ctx, zero->loss, i,
                           "loss 0.0 beside grad_norm 0.0, non-zero rows "
                           "before and after");
            if (shown++ == 0)
                check_begins(ctx, zero->loss->step[i]);
        }
    if (zero->n_masked_batch >= 3 && share >= 0.01)
        check_fail(ctx, CONFIDENCE_STRONG, "zero-rows",
                   "%zu of %zu logged rows are 0.0 with grad_norm 0.0 between ordinary ones: every "
                   "row of these batches was masked",
                   zero->n_masked_batch, zero->n_rows);
    else if (zero->n_masked_batch > 0)
        check_warn(ctx, CONFIDENCE_LIKELY, "zero-rows",
                   "%zu of %zu logged rows are 0.0 with grad_norm 0.0 between ordinary ones",
                   zero->n_masked_batch, zero->n_rows);
}

/* loss > 0 with a gradient of exactly 0.0: the last step of that window had only masked rows. A
 * gradient that is always 0.0 is flat-no-grad. */
static void judge_dead_gradients(struct check_ctx *ctx, const struct loss_zero *zero)
{
    double steps = 1.0;

    if (!zero->loss || zero->n_dead_gradient == 0 || 2 * zero->n_dead_gradient >= zero->n_rows ||
        ctx->facts->run.kind != KIND_SFT ||
        !(facts_number(ctx->facts, "logging_steps", &steps) && steps > 1.0))
        return;
    if (zero->n_dead_gradient < 3 || 100 * zero->n_dead_gradient < zero->n_rows) {
        check_info(ctx, "%zu rows have grad_norm exactly 0.0 beside an ordinary loss",
                   zero->n_dead_gradient);
        return;
    }
    for (size_t i = 0; i < zero->n_rows; i++)
        if (zero->has_grad_norm_on[i] && zero->grad_norm[i] == 0.0 && zero->loss->value[i] > 0.0) {
            evidence_point(ctx, zero->loss, i, "grad_norm exactly 0.0 beside loss %.4g",
                           zero->loss->value[i]);
            break;
        }
    check_warn(ctx, CONFIDENCE_LIKELY, "dead-gradient",
               "%zu of %zu rows have grad_norm exactly 0.0 beside an ordinary loss: the last step "
               "of these windows had only masked rows",
               zero->n_dead_gradient, zero->n_rows);
}

/* ---- The rows of the data ---- */

static void judge_train(struct check_ctx *ctx, const struct masked *m, bool has_nan)
{
    const struct count *c = &m->train;
    double share = c->n_seen > 0 ? (double)c->n_masked / (double)c->n_seen : 0.0, micro = NAN;
    const char *branch =
        m->n_degenerate > 0 && c->n_masked <= m->n_degenerate ? "degenerate" : "rows";
    const char *about = c->is_exact ? "" : "about ";

    facts_number(ctx->facts, "per_device_train_batch_size", &micro);
    if (c->n_masked == 0 || c->n_masked == c->n_seen)
        return;
    if (has_nan) {
        show_count(ctx, m, c);
        check_begins(ctx, NONE);
        check_fail(ctx, c->is_exact ? CONFIDENCE_STRONG : CONFIDENCE_LIKELY, branch,
                   "%s%lld of %lld training rows have no supervised token, and the loss is "
                   "non-finite: the mean over nothing",
                   about, (long long)c->n_masked, (long long)c->n_seen);
    } else if (share >= 0.01 || micro == 1.0) {
        show_count(ctx, m, c);
        check_warn(ctx, CONFIDENCE_LIKELY, branch,
                   "%s%lld of %lld training rows have no supervised token", about,
                   (long long)c->n_masked, (long long)c->n_seen);
    } else {
        check_info(ctx, "%lld of %lld training rows have no supervised token: few enough",
                   (long long)c->n_masked, (long long)c->n_seen);
    }
}

static void judge_eval(struct check_ctx *ctx, const struct masked *m, const struct run_onset *eval,
                       bool training_is_finite)
{
    const struct count *c = &m->eval;

    if (c->n_masked == 0)
        return;
    if (eval->found && training_is_finite) {
        show_count(ctx, m, c);
        evidence_point(ctx, eval->curve, eval->first_bad, "%s is non-finite, training is finite",
                       eval->curve->name);
        check_begins(ctx, NONE);
        check_fail(ctx, c->is_exact ? CONFIDENCE_STRONG : CONFIDENCE_LIKELY, "eval",
                   "%s%lld of %lld evaluation rows have no supervised token, and %s is non-finite "
                   "while training is finite",
                   c->is_exact ? "" : "about ", (long long)c->n_masked, (long long)c->n_seen,
                   eval->curve->name);
    } else if (100 * c->n_masked >= c->n_seen) {
        show_count(ctx, m, c);
        check_warn(ctx, CONFIDENCE_LIKELY, "eval",
                   "%lld of %lld evaluation rows have no supervised "
                   "token",
                   (long long)c->n_masked, (long long)c->n_seen);
    }
}

/* A file that calls itself a sample is not the whole, as long as nothing says how many rows there
 * are. */
static bool is_whole(const struct run_facts *facts, const struct count *c)
{
    int64_t rows = facts_train_rows(facts, NULL);

    if (c->audit)
        return labels_are_all(c->audit);
    if (!c->dataset || c->n_seen < c->n_rows)
        return false;
    if (rows == NONE)
        return !c->dataset->name || !str_has_ignoring_case(str_of(c->dataset->name), "sample");
    return c->n_seen >= rows;
}

static int nothing_found(struct check_ctx *ctx, const struct masked *m, bool eval_is_nan)
{
    if (eval_is_nan && !m->eval.dataset)
        return check_unknown(ctx, "the evaluation rows, with labels or with the tokenizer: "
                                  "evaluation is non-finite while training is finite");
    if (m->train.n_seen > 0 && m->train.n_masked == m->train.n_seen)
        return check_skip(ctx, "every row is masked: see flat-all-masked");
    if (is_whole(ctx->facts, &m->train))
        return check_pass(ctx, m->train.is_exact ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY,
                          "%lld rows, %lld without a supervised token%s",
                          (long long)m->train.n_seen, (long long)m->train.n_masked,
                          m->train.is_exact ? "" : " (estimated)");
    /* F14: no bad row of n seen leaves a share of up to 1 - 0.05^(1/n) of the unseen ones. */
    if (m->train.dataset && m->train.n_masked == 0 &&
        1.0 - pow(0.05, 1.0 / (double)m->train.n_seen) < 0.01)
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "none of %lld rows seen is without a supervised "
                          "token: below 1 %% of all",
                          (long long)m->train.n_seen);
    if (m->train.dataset)
        return check_unknown(ctx, "the labels of all rows: %lld were seen",
                             (long long)m->train.n_seen);
    return labels_unknown(ctx, "train");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;
    struct masked m = {.limit = NAN, .limit_setting = facts_setting(facts, "max_length")};
    struct run_onset training, eval;
    struct loss_zero zero;

    (void)err;
    setting_number(m.limit_setting, &m.limit);
    loss_zero_read(facts, &zero);
    onset_training(facts, ctx->arena, &training);
    onset_eval(facts, ctx->arena, &eval);
    count_all(facts, &m);
    judge_series(ctx, &zero);
    judge_dead_gradients(ctx, &zero);
    judge_train(ctx, &m, training.found);
    judge_eval(ctx, &m, &eval, zero.loss && !training.found);
    if (check_verdict(ctx) >= VERDICT_WARN) {
        add_fixes(ctx);
        return OK;
    }
    return nothing_found(ctx, &m, eval.found && zero.loss && !training.found);
}

const struct check check_nan_all_masked_rows = {
    .id = "nan-all-masked-rows",
    .version = 2,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "No row is left without a supervised token",
    .why = "A row whose labels are all -100 has no mean loss: 0/0 is NaN, and one such batch is "
           "enough to lose the weights.",
    .applies = applies,
    .run = run,
};
