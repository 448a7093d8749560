/* flat-no-grad (CHECKS.md C3.8): do gradients reach the weights, and do the weights move? By
 * grad_norm, by lora_B of the saved adapter (zero at the start, so zero means untouched). */
#include <math.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/checks/registry.h"
#include "core/facts/adapter_facts.h"
#include "core/facts/lineage.h"
#include "core/facts/loss_zero.h"
#include "core/facts/trainable.h"

#define MOST_ROWS  0.9
#define LEAST_ROWS 3
#define SOME_ZERO  0.1          /* of the lora_B tensors */
enum { LAYERS_NAMED = 8 };

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "nothing was trained";
    return !(facts->run.marks & MARK_EVAL_ONLY);
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "model.enable_input_require_grads(), or prepare_model_for_kbit_training(model)");
    check_fix(ctx, "gradient_checkpointing_kwargs={\"use_reentrant\": False}");
    check_fix(ctx, "no torch.no_grad() or inference_mode around the forward; build the optimiser after the "
                   "model is wrapped");
}

/* Rows with a rate above 0 (all, when none is logged): how many have grad_norm exactly 0. */
struct gradient_rows {
    size_t n, n_zero, n_positive, first_zero;
    bool loss_is_positive;
};

static void count_rows(const struct run_facts *facts, const struct curve *gradient,
                       struct gradient_rows *out)
{
    const struct curve *rate = facts_curve(facts, "learning_rate");
    const struct curve *loss = facts_curve(facts, "loss");

    *out = (struct gradient_rows){.first_zero = gradient->n};
    for (size_t i = 0; i < gradient->n; i++) {
        double value;

        if (rate && curve_on_row(rate, gradient, i, &value) && value == 0.0)
            continue;
        out->n++;
        out->n_positive += gradient->value[i] > 0.0;
        if (gradient->value[i] != 0.0)
            continue;
        if (loss && curve_on_row(loss, gradient, i, &value)) {
            if (!(value > 0.0))
                continue;       /* no loss, no gradient: other checks ask why */
            out->loss_is_positive = true;
        }
        if (out->n_zero++ == 0)
            out->first_zero = i;
    }
}

static bool is_grpo_without_signal(const struct run_facts *facts)
{
    const struct curve *spread = facts_curve(facts, "reward_std");
    size_t n_zero = 0;

    for (size_t i = 0; spread && i < spread->n; i++)
        n_zero += spread->value[i] == 0.0;
    return spread && n_zero * 2 >= spread->n;
}

/* -1 not logged, 0 the rule did not fire, 1 it did. */
static int read_gradient(struct check_ctx *ctx, struct gradient_rows *rows)
{
    const struct curve *gradient = facts_curve(ctx->facts, "grad_norm");

    if (!gradient || gradient->n == 0)
        return -1;
    count_rows(ctx->facts, gradient, rows);
    if (rows->n < LEAST_ROWS || (double)rows->n_zero < MOST_ROWS * (double)rows->n ||
        rows->n_zero < LEAST_ROWS)
        return 0;
    if (is_grpo_without_signal(ctx->facts) || !rows->loss_is_positive)
        return 0;               /* no signal, or nothing supervised: other checks say so */
    evidence_point(ctx, gradient, rows->first_zero, "grad_norm exactly 0.0 on %zu of %zu rows",
                   rows->n_zero, rows->n);
    check_begins(ctx, gradient->step[rows->first_zero]);
    (void)check_fail(ctx, CONFIDENCE_CERTAIN, "grad-norm",
                     "grad_norm is exactly 0.0 on %zu of %zu rows while the loss is not", rows->n_zero,
                     rows->n);
    return 1;
}

/* PiSSA, OLoRA and the like do not start lora_B at zero. */
static bool starts_at_zero(const struct run_facts *facts)
{
    const struct setting *init = facts_setting_on(facts, SIDE_ADAPTER, "init_lora_weights");

    return !init || init->type == VALUE_BOOL || init->type == VALUE_NULL ||
           (init->value && strcmp(init->value, "gaussian") == 0);
}

/* The adapter has been through at least one step. */
static bool was_trained(const struct run_facts *facts)
{
    return facts->last_step == NONE || facts->last_step >= 1;
}

/* Every logged rate is 0: weights that stay as they are need no other reason (C3.9). */
static bool rate_is_zero(const struct run_facts *facts)
{
    const struct curve *rate = facts_curve(facts, "learning_rate");

    for (size_t i = 0; rate && i < rate->n; i++)
        if (rate->value[i] != 0.0)
            return false;
    return rate && rate->n > 0;
}

static bool is_zero(const struct tensor *b)
{
    return b && b->norm == 0.0 && b->n_nonfinite <= 0;
}

/* "0, 1, 2 and 9 more" */
static void show_layers(struct check_ctx *ctx, const struct artefact *artefact)
{
    struct adapter_facts adapter;
    int64_t last = NONE;
    size_t n = 0;
    const char *text = "";

    if (!adapter_facts_read(ctx->facts, artefact, ctx->arena, &adapter))
        return;
    for (int64_t layer = 0; layer < 1000; layer++)
        for (size_t i = 0; i < adapter.n_pairs; i++)
            if (adapter.pairs[i].layer == layer && is_zero(adapter.pairs[i].b) && layer != last) {
                last = layer;
                if (n++ < LAYERS_NAMED)
                    text = arena_printf(ctx->arena, "%s%s%lld", text, n > 1 ? ", " : "",
                                        (long long)layer);
            }
    if (n > LAYERS_NAMED)
        text = arena_printf(ctx->arena, "%s and %zu more", text, n - LAYERS_NAMED);
    if (n)
        evidence_add(ctx, "artefact", "layers with a zero lora_B: %s", text)->source_id =
            artefact->source_id;
}

static int read_adapter(struct check_ctx *ctx, struct lora_b *count)
{
    const struct artefact *adapter = trained_adapter(ctx->facts);

    if (!adapter || !starts_at_zero(ctx->facts) || rate_is_zero(ctx->facts))
        return -1;
    lora_b_count(ctx->facts, adapter, count);
    if (count->n_measured == 0)
        return -1;
    if (count->n_zero == 0 || !was_trained(ctx->facts))
        return 0;
    double share = (double)count->n_zero / (double)count->n_measured;
    if (share < SOME_ZERO)
        return 0;
    evidence_add(ctx, "artefact", "%zu of %zu lora_B tensors are all zero, first %s", count->n_zero,
                 count->n_measured, count->first_zero)
        ->source_id = adapter->source_id;
    show_layers(ctx, adapter);
    if (share >= MOST_ROWS)
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "lora-b",
                         "%zu of %zu lora_B tensors of the saved adapter are zero: it was not trained",
                         count->n_zero, count->n_measured);
    else
        (void)check_warn(ctx, CONFIDENCE_STRONG, "lora-b",
                         "%zu of %zu lora_B tensors of the saved adapter are zero", count->n_zero,
                         count->n_measured);
    return 1;
}

/* ---- The same weights at two steps ---- */

/* Of all trainable tensors of a checkpoint: names and contents. False: some are not known. */
static bool hash_tensors(const struct run_facts *facts, const struct artefact *a, uint64_t *hash)
{
    size_t n;
    const struct tensor *tensors = facts_tensors(facts, a, &n);

    *hash = hash_bytes("tensors", 7);
    for (size_t i = 0; i < n; i++) {
        if (tensors[i].content_hash == 0)
            return false;
        *hash = hash_more(*hash, tensors[i].name, strlen(tensors[i].name));
        *hash = hash_more(*hash, &tensors[i].content_hash, sizeof tensors[i].content_hash);
    }
    return n > 0;
}

static bool same_weights(const struct run_facts *facts, const struct artefact *a,
                         const struct artefact *b)
{
    uint64_t x, y;

    if (strcmp(a->kind, b->kind) != 0 || a->size != b->size)
        return false;
    if (hash_tensors(facts, a, &x) && hash_tensors(facts, b, &y))
        return x == y;
    return a->sha256 && b->sha256 && strcmp(a->sha256, b->sha256) == 0;
}

/* The weights of a checkpoint: what the run itself saved at a step. */
static bool is_checkpoint(const struct artefact *a)
{
    return a->step != NONE && a->path && artefact_is_weights(a) &&
           (!a->role || strcmp(a->role, "trained") == 0);
}

static const char *name_in_folder(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The rate was above 0 at some row between the two. */
static bool rate_was_up(const struct run_facts *facts, int64_t from, int64_t to)
{
    const struct curve *rate = facts_curve(facts, "learning_rate");
    bool any = false;

    for (size_t i = 0; rate && i < rate->n; i++) {
        if (rate->step[i] <= from || rate->step[i] > to)
            continue;
        any = true;
        if (rate->value[i] > 0.0)
            return true;
    }
    return !any;
}

/* 1: two checkpoints hold the same weights, 0: they differ, -1: there are no two. */
static int compare_checkpoints(struct check_ctx *ctx)
{
    const struct run_facts *facts = ctx->facts;
    int seen = -1;

    for (size_t i = 0; i < facts->n_artefacts; i++)
        for (size_t k = 0; k < facts->n_artefacts; k++) {
            const struct artefact *a = &facts->artefacts[i], *b = &facts->artefacts[k];

            if (!is_checkpoint(a) || !is_checkpoint(b) || a->step >= b->step ||
                strcmp(name_in_folder(a->path), name_in_folder(b->path)) != 0)
                continue;
            if (!same_weights(facts, a, b) || !rate_was_up(facts, a->step, b->step)) {
                seen = seen < 0 ? 0 : seen;
                continue;
            }
            struct evidence *e = evidence_add(ctx, "artefact", "the weights of step %lld and of step %lld "
                                                               "are the same, value by value",
                                              (long long)a->step, (long long)b->step);
            e->source_id = b->source_id;
            e->step = b->step;
            check_begins(ctx, a->step);
            (void)check_fail(ctx, CONFIDENCE_CERTAIN, "equal-hash",
                             "the trained weights did not change from step %lld to step %lld: equal hashes",
                             (long long)a->step, (long long)b->step);
            return 1;
        }
    return seen;
}

static bool loss_is_flat(const struct run_facts *facts)
{
    const struct curve *loss = facts_curve(facts, "loss");
    double low = INFINITY, high = -INFINITY;

    for (size_t i = 0; loss && i < loss->n; i++)
        if (isfinite(loss->value[i])) {
            low = fmin(low, loss->value[i]);
            high = fmax(high, loss->value[i]);
        }
    return loss && loss->n >= 3 && high > 0.0 && (high - low) / high < 0.005;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct event *event = NULL, *warning = NULL;
    struct gradient_rows rows = {0};
    struct lora_b count = {0};
    int by_gradient = read_gradient(ctx, &rows);
    int by_adapter = read_adapter(ctx, &count);
    int by_hash = compare_checkpoints(ctx);

    (void)err;
    while ((event = facts_event(ctx->facts, "no-grad-graph", event)))
        if (event->pattern && strcmp(event->pattern, "checkpoint-no-grad") == 0 && !warning)
            warning = event;
    if (warning && (check_verdict(ctx) >= VERDICT_WARN || loss_is_flat(ctx->facts))) {
        evidence_event(ctx, warning);
        (void)check_warn(ctx, CONFIDENCE_LIKELY, "warning",
                         "checkpointed inputs need no gradient, and the loss is flat");
    }
    if (check_verdict(ctx) >= VERDICT_WARN) {
        add_fixes(ctx);
        return OK;
    }
    if (by_adapter == 0 && count.n_zero == 0)
        return check_pass(ctx, CONFIDENCE_CERTAIN, "each of %zu measured lora_B tensors is not zero",
                          count.n_measured);
    if (by_hash == 0 && by_gradient < 0)
        return check_pass(ctx, CONFIDENCE_STRONG, "the weights of two checkpoints differ");
    if (by_gradient == 0 && rows.n_positive > 0)
        return check_pass(ctx, CONFIDENCE_STRONG, "grad_norm is above 0 on %zu of %zu rows with a rate "
                                                  "above 0", rows.n_positive, rows.n);
    if (by_gradient == 0)
        return check_unknown(ctx, "more logged rows, or the saved adapter: grad_norm is not above 0 on "
                                  "%zu rows, for reasons that other checks name", rows.n);
    return check_unknown(ctx, "grad_norm in the metric rows (transformers 4.38 or later), or the saved "
                              "adapter's weights");
}

const struct check check_flat_no_grad = {
    .id = "flat-no-grad",
    .version = 2,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_BLOCKS,
    .title = "Gradients reach the weights",
    .why = "A graph that is cut, or an optimiser over the wrong weights, leaves the adapter as it was "
           "while the log looks busy.",
    .applies = applies,
    .run = run,
};
