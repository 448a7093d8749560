/* C7.5: are epochs, target modules, rank and rate in the usual ranges? A range is no proof: only
 * the first knob outside is proposed, in the order in which they are worth trying. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/gate.h"
#include "core/facts/eval_points.h"

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.marks & (MARK_TEN_ROW_TEST | MARK_EVAL_ONLY)) {
        *reason = facts->run.marks & MARK_TEN_ROW_TEST ? "a ten-row test is meant to memorise"
                                                       : "nothing was trained";
        return false;
    }
    *reason = "no usual ranges are known for this kind of run";
    return facts->run.kind == KIND_SFT || facts->run.kind == KIND_DPO ||
           facts->run.kind == KIND_GRPO;
}

static bool is_kto(const struct run_facts *facts)
{
    static const char *const NAMES[] = {"rl", "loss_type", "args_class", "trainer"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const char *text = facts_text(facts, NAMES[i]);
        if (text && str_has_ignoring_case(str_of(text), "kto"))
            return true;
    }
    return false;
}

/* The first finding is the warning; what comes after it is said beside it. */
static void outside(struct check_ctx *ctx, const char *branch, const struct setting *setting,
                    const char *sentence, const char *fix)
{
    if (check_verdict(ctx) == VERDICT_WARN) {
        check_info(ctx, "%s", sentence);
        return;
    }
    check_warn(ctx, CONFIDENCE_POSSIBLE, branch, "%s", sentence);
    evidence_setting(ctx, setting);
    check_fix(ctx, "%s, nothing else, with the same seed", fix);
}

/* ---- Epochs ---- */

static double last_value(const struct run_facts *facts, const char *name)
{
    const struct curve *curve = facts_curve(facts, name);

    return curve && curve->n > 0 ? curve->value[curve->n - 1] : NAN;
}

/* Rows of the training set; without a file what the trainer counted at the end, or what an epoch's
 * steps took at least (on one device). */
static double example_count(const struct run_facts *facts)
{
    int64_t rows = facts_train_rows(facts, NULL);
    double micro = 0.0, accumulation = 1.0;
    double seen = last_value(facts, "train_runtime") * last_value(facts, "train_samples_per_second");

    if (rows != NONE)
        return (double)rows;
    /* The rate is that of all planned rows, so the plan has to have been carried out. */
    if (seen > 0.0 && facts->last_epoch > 0.0 && facts->last_step >= facts->max_steps)
        return floor(seen / facts->last_epoch);
    if (!(facts->last_epoch > 0.0) || facts->last_step <= 0 || facts_bool(facts, "packing") == 1 ||
        !facts_number(facts, "per_device_train_batch_size", &micro) || !(micro >= 1.0))
        return 0.0;
    (void)facts_number(facts, "gradient_accumulation_steps", &accumulation);
    return floor((double)facts->last_step / facts->last_epoch * micro * fmax(accumulation, 1.0));
}

static bool still_falls(struct check_ctx *ctx)
{
    size_t n = 0;
    const struct curve *const *curves = facts_eval_losses(ctx->facts, &n);

    for (size_t i = 0; i < n; i++) {
        struct eval_points e;
        if (!eval_points_read(curves[i], ctx->arena, &e) || e.n < 2)
            continue;
        size_t best = 0;
        for (size_t k = 1; k < e.n; k++)
            if (e.value[k] < e.value[best])
                best = k;
        if (best == e.n - 1)
            return true;
    }
    return false;
}

static bool judge_epochs(struct check_ctx *ctx)
{
    const struct run_facts *facts = ctx->facts;
    const struct setting *setting = facts_setting(facts, "num_train_epochs");
    double epochs = 0.0, steps = 0.0;
    bool by_steps = facts_number(facts, "max_steps", &steps) && steps > 0.0;

    if (by_steps && facts->last_epoch > 0.0) {
        setting = facts_setting(facts, "max_steps");
        /* max_steps overrides the epochs; a run that stopped before them was meant to go on */
        epochs = facts->last_step > 0 && (double)facts->last_step < steps
                     ? facts->last_epoch * steps / (double)facts->last_step
                     : facts->last_epoch;
    } else if (!setting_number(setting, &epochs)) {
        epochs = facts->planned_epochs > 0.0 ? facts->planned_epochs : 0.0;
    }
    if (facts->has_end_marker && facts->last_epoch > 0.0 && facts->last_epoch < epochs)
        epochs = facts->last_epoch; /* it stopped early by its own rule */
    if (!(epochs > 0.0))
        return false;
    char *sentence = arena_alloc(ctx->arena, 160);
    if (!sentence)
        return false;
    if (facts->run.kind == KIND_DPO && epochs > 2.0) {
        (void)snprintf(sentence, 160, "%.3g epochs of preference tuning; usual are 1 to 2", epochs);
        outside(ctx, "epochs", setting, sentence, "1 epoch");
    } else if (facts->run.kind == KIND_SFT && epochs > 5.0) {
        double rows = example_count(facts);
        bool falls = still_falls(ctx);
        (void)snprintf(sentence, 160, "%.3g epochs over %s%.0f rows; usual are 1 to 3", epochs,
                       facts_train_rows(facts, NULL) == NONE ? "at least " : "", rows);
        if (rows >= 1000.0 && !falls)
            outside(ctx, "epochs", setting, sentence, "3 epochs");
        else
            check_info(ctx, "%.3g epochs: %s", epochs,
                       falls        ? "the evaluation loss still falls"
                       : rows > 0.0 ? "few rows, more epochs than usual are common"
                                    : "how many rows there are is not known");
    }
    return true;
}

/* ---- Target modules, rank ---- */

static void judge_targets(struct check_ctx *ctx)
{
    static const char *const MLP[] = {"gate", "up_proj", "down_proj", "mlp",    "fc",     "dense_h",
                                      "w1",   "w2",      "all",       "linear", "c_proj", "dense"};
    const char *targets = facts_text(ctx->facts, "target_modules");

    if (!targets || facts_bool(ctx->facts, "lora_target_linear") == 1)
        return;
    for (size_t i = 0; i < sizeof MLP / sizeof *MLP; i++)
        if (str_has_ignoring_case(str_of(targets), MLP[i]))
            return;
    check_info(ctx, "target modules are attention only; all linear layers are usual");
}

static bool judge_rank(struct check_ctx *ctx)
{
    const struct run_facts *facts = ctx->facts;
    const struct setting *setting = facts_setting(facts, "lora_r");
    double rank = 0.0, alpha = 0.0;
    char *sentence = arena_alloc(ctx->arena, 160);

    if (!setting)
        setting = facts_setting_on(facts, SIDE_ADAPTER, "r");
    if (!setting_number(setting, &rank) || rank <= 0.0 || !sentence)
        return false;
    (void)snprintf(sentence, 160, "LoRA rank %.0f; usual are 8 to 64", rank);
    if (rank < 8.0 || rank > 256.0)
        outside(ctx, "rank", setting, sentence, rank < 8.0 ? "rank 16" : "rank 64");
    else if (rank > 64.0)
        check_info(ctx, "%s", sentence);
    const struct setting *scale = facts_setting(facts, "lora_alpha");
    char *ratio = arena_alloc(ctx->arena, 160);
    if (!ratio || facts_bool(facts, "use_rslora") == 1 || !setting_number(scale, &alpha))
        return true;
    (void)snprintf(ratio, 160, "lora_alpha %.4g is %.3g times the rank %.0f; usual are 0.25 to 4",
                   alpha, alpha / rank, rank);
    if (alpha / rank < 0.25 || alpha / rank > 4.0)
        outside(ctx, "alpha", scale, ratio, "lora_alpha equal to the rank or twice it");
    return true;
}

/* ---- Rate ---- */

struct range {
    double low, high;
    const char *what;
};

static struct range usual_rate(const struct run_facts *facts, int is_adapter)
{
    if (facts->run.kind == KIND_GRPO)
        return is_adapter == 0 ? (struct range){1e-6, 5e-6, "GRPO, full fine-tune"}
                               : (struct range){1e-6, 5e-5, "GRPO with LoRA"};
    if (facts->run.kind == KIND_DPO && is_kto(facts))
        return (struct range){5e-7, is_adapter == 1 ? 5e-5 : 5e-6, "KTO"};
    if (facts->run.kind == KIND_DPO)
        return is_adapter == 0 ? (struct range){5e-7, 5e-6, "DPO, full fine-tune"}
                               : (struct range){5e-7, 5e-5, "DPO with LoRA"};
    if (is_adapter == 1)
        return (struct range){5e-5, 5e-4, "supervised LoRA"};
    if (is_adapter == 0)
        return (struct range){1e-6, 5e-5, "a supervised full fine-tune"};
    return (struct range){1e-6, 5e-4, "supervised training"};
}

static bool peak_rate(const struct run_facts *facts, double *out)
{
    const struct curve *curve = facts_curve(facts, "learning_rate");
    double peak = 0.0;

    for (size_t i = 0; curve && i < curve->n; i++)
        if (isfinite(curve->value[i]))
            peak = fmax(peak, curve->value[i]);
    *out = peak;
    return peak > 0.0;
}

/* The usual rates are those of Adam and its kin; SGD and Adafactor have other ones. */
static bool is_adam(const struct run_facts *facts)
{
    const char *optimiser = facts_text(facts, "optim");

    return !optimiser || str_has_ignoring_case(str_of(optimiser), "adam") ||
           str_has_ignoring_case(str_of(optimiser), "lion");
}

static bool judge_rate(struct check_ctx *ctx)
{
    const struct setting *setting = facts_setting(ctx->facts, "learning_rate");
    struct range usual = usual_rate(ctx->facts, facts_is_adapter_run(ctx->facts, NULL));
    double rate = 0.0;
    char *sentence = arena_alloc(ctx->arena, 200), *fix = arena_alloc(ctx->arena, 80);

    if (!setting_number(setting, &rate) && !peak_rate(ctx->facts, &rate))
        return false;
    if (!sentence || !fix)
        return false;
    (void)snprintf(sentence, 200, "learning rate %.3g; usual for %s are %.0e to %.0e", rate,
                   usual.what, usual.low, usual.high);
    (void)snprintf(fix, 80, "learning rate %.0e", usual.high);
    if (rate > usual.high * 1.001 && is_adam(ctx->facts))
        outside(ctx, "rate", setting, sentence, fix);
    else if (rate > usual.high * 1.001 || rate < usual.low * 0.999)
        check_info(ctx, "%s", sentence);
    return true;
}

static void judge_kto_batch(struct check_ctx *ctx)
{
    const struct setting *setting = facts_setting(ctx->facts, "per_device_train_batch_size");
    double micro = 0.0, accumulation = 1.0;

    if (!is_kto(ctx->facts) || !setting_number(setting, &micro))
        return;
    (void)facts_number(ctx->facts, "gradient_accumulation_steps", &accumulation);
    if (micro < 4.0)
        outside(ctx, "batch", setting, "KTO with fewer than 4 rows a step estimates its KL badly",
                "per_device_train_batch_size 4 or more");
    else if (micro * accumulation < 16.0 || micro * accumulation > 128.0)
        check_info(ctx, "an effective batch of %.0f rows per device; usual for KTO are 16 to 128",
                   micro * accumulation);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    int is_adapter = facts_is_adapter_run(ctx->facts, NULL);
    const struct check *failed = NULL;

    int rc = gate_failure(ctx, &failed, err);
    if (rc != OK || failed)
        return rc != OK ? rc : check_skip(ctx, "not yet: %s fails", failed->id);
    bool has_epochs = judge_epochs(ctx);
    judge_targets(ctx);
    bool has_rank = judge_rank(ctx);
    bool has_rate = judge_rate(ctx);
    judge_kto_batch(ctx);
    if (check_verdict(ctx) == VERDICT_WARN)
        return OK;
    if (!has_rate)
        check_unknown(ctx, "the learning rate (training arguments or metric rows)");
    if (!has_epochs && ctx->facts->run.kind != KIND_GRPO)
        check_unknown(ctx, "the number of epochs (training arguments or trainer_state.json)");
    if (is_adapter == 1 && !has_rank)
        check_unknown(ctx, "the LoRA rank (adapter_config.json)");
    if (!has_rate || (!has_epochs && ctx->facts->run.kind != KIND_GRPO) ||
        (is_adapter == 1 && !has_rank))
        return OK;
    return check_pass(ctx, CONFIDENCE_STRONG, "epochs, %srate are in the usual ranges",
                      has_rank ? "rank and " : "");
}

const struct check check_hyperparams_range = {
    .id = "hyperparams-range",
    .version = 3,
    .stage = STAGE_HYPERPARAMETERS,
    .severity = SEVERITY_WASTES,
    .title = "Epochs, target modules, rank and rate are in the usual ranges",
    .why =
        "A value far outside what others use is the first single change to try, once the cheaper "
        "checks have passed.",
    .applies = applies,
    .run = run,
};
