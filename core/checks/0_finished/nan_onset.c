/* nan-onset (CHECKS.md C0.13): is every logged number finite? The symptom's own entry: it names
 * the interval and the causes still possible; the causes are checks of their own. */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/checks/registry.h"
#include "core/facts/onset.h"
#include "core/facts/trainable.h"

#define ROWS_SHOWN 20

static void show_rows_before(struct check_ctx *ctx, const struct run_onset *onset)
{
    const struct curve *curve = onset->curve;
    const struct curve *grad = facts_curve(ctx->facts, "grad_norm");
    double g;

    if (onset->last_finite < 0)
        return;
    size_t last = (size_t)onset->last_finite;
    size_t first = last + 1 > ROWS_SHOWN ? last + 1 - ROWS_SHOWN : 0;
    evidence_range(ctx, curve, first, last, "the %zu rows before: %s %.4g … %.4g", last - first + 1,
                   curve->name, curve->value[first], curve->value[last]);
    if (grad && curve_on_row(grad, curve, last, &g))
        evidence_point(ctx, curve, last, "grad_norm %.4g on the last finite row", g);
}

static void show_batch(struct check_ctx *ctx, const struct run_onset *onset)
{
    struct onset_rows rows;
    int64_t from = onset->last_finite_step == NONE ? 0 : onset->last_finite_step;

    onset_replay(ctx->facts, ctx->arena, from, onset->first_bad_step, &rows);
    if (!rows.is_named) {
        check_info(ctx, "the rows of the onset cannot be named: %s", rows.why_not);
        return;
    }
    for (size_t i = 0; i < rows.n_rows && i < 16; i++) {
        struct evidence *e = evidence_add(ctx, "dataset",
                                          "row %lld is in the batches of the onset "
                                          "(by replay of the sampler)",
                                          (long long)rows.rows[i]);
        e->source_id = rows.dataset ? rows.dataset->source_id : 0;
        e->row = rows.rows[i];
        e->step = onset->first_bad_step;
    }
    if (rows.n_rows > 16)
        check_info(ctx, "%zu rows lie in the batches of the onset, the first 16 are shown",
                   rows.n_rows);
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "settle the causes first: nan-fp16-overflow, nan-high-lr, "
                   "nan-all-masked-rows, nan-bad-data");
    check_fix(ctx, "repeat from the last finite checkpoint with every step logged (transformers: "
                   "logging_steps=1, logging_nan_inf_filter=False)");
    check_fix(ctx, "another attention kernel (transformers: attn_implementation=\"eager\" or \"sdpa\")");
}

static const char *possible_causes(const struct run_onset *onset)
{
    if (onset->last_finite < 0)
        return "bad from the first row: labels, precision or the attention kernel";
    if (onset->first_loss > 20.0)
        return "the loss began above 20: a broken kernel or broken weights";
    return "possible: the learning rate, fp16, the data";
}

static bool has_word(struct str text, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= text.n; i++) {
        bool starts = i == 0 || !isalnum((unsigned char)text.p[i - 1]);
        bool ends = i + n == text.n || !isalnum((unsigned char)text.p[i + n]);

        if (starts && ends && strncasecmp(text.p + i, word, n) == 0)
            return true;
    }
    return false;
}

/* An exception that complains of such numbers (sampling, an anomaly detector, the script's own
 * guard) is this fault's: run-incomplete is explained by the finding that holds its line. */
static void show_exception(struct check_ctx *ctx, const struct run_onset *onset)
{
    static const char *const words[] = {"nan", "nans", "inf", "infinity", "non-finite", "infinite"};
    const struct event *event = NULL;

    while ((event = facts_event(ctx->facts, "exception", event))) {
        struct str message = str_of(event_capture(event, 2));
        bool complains = false;

        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            complains |= has_word(message, words[i]);
        if (complains && (event->step == NONE || event->step >= onset->last_finite_step))
            evidence_event(ctx, event);
    }
}

/* One NaN batch poisons the window sum for ever when the filter is off, while the weights live. */
static bool weights_seem_alive(const struct run_facts *facts, const struct run_onset *onset)
{
    const struct curve *grad = facts_curve(facts, "grad_norm");
    size_t n = 0, n_finite = 0;
    double g;

    for (size_t i = onset->first_bad; grad && i < onset->curve->n; i++)
        if (curve_on_row(grad, onset->curve, i, &g)) {
            n++;
            n_finite += isfinite(g);
        }
    return n >= 2 && n == n_finite;
}

static const char *last_finite(struct check_ctx *ctx, const struct run_onset *onset)
{
    if (onset->last_finite < 0)
        return "none";
    if (onset->last_finite_step == NONE)
        return "the row before";
    return arena_printf(ctx->arena, "step %lld", (long long)onset->last_finite_step);
}

static void state(struct check_ctx *ctx, const struct run_onset *onset, const char *branch)
{
    const struct curve *curve = onset->curve;
    const char *file = facts_file_name(ctx->facts, curve_source(curve, onset->first_bad));

    evidence_point(ctx, curve, onset->first_bad, "%s is non-finite%s", curve->name,
                   onset->is_substitution ? " (the log shows a substitute)" : "");
    show_rows_before(ctx, onset);
    if (onset->is_persistent)
        show_exception(ctx, onset);
    check_begins(ctx, onset->first_bad_step);
    if (onset->is_persistent) {
        bool is_alive = weights_seem_alive(ctx->facts, onset);
        if (is_alive)
            check_info(ctx, "grad_norm stays finite on these rows: one non-finite step poisons the "
                            "logged sum while the weights may live on");
        add_fixes(ctx);
        check_fail(ctx, is_alive ? CONFIDENCE_STRONG : CONFIDENCE_CERTAIN, branch,
                   "%s is non-finite for good from %s on (last finite: %s; %s:%lld); %s",
                   curve->name, onset_place(onset, ctx->arena), last_finite(ctx, onset), file,
                   (long long)onset->line, possible_causes(onset));
        return;
    }
    add_fixes(ctx);
    check_warn(ctx, CONFIDENCE_LIKELY, branch,
               "%s is non-finite at %s and finite again after it (%zu of %zu rows)", curve->name,
               onset_place(onset, ctx->arena), onset->n_bad, curve->n);
}

/* Weights that hold NaNs settle it, whatever was logged. Returns whether there are any. */
static bool read_weights(struct check_ctx *ctx)
{
    const struct artefact *adapter = trained_adapter(ctx->facts);
    size_t n = 0, n_bad = 0;
    const struct tensor *tensors = adapter ? facts_tensors(ctx->facts, adapter, &n) : NULL, *first = NULL;

    for (size_t i = 0; i < n; i++)
        if (tensors[i].n_nonfinite > 0) {
            n_bad++;
            first = first ? first : &tensors[i];
        }
    if (n_bad == 0)
        return false;
    evidence_add(ctx, "artefact", "%zu of %zu tensors of the saved adapter hold non-finite values, "
                                  "first %s", n_bad, n, first->name)
        ->source_id = adapter->source_id;
    if (check_verdict(ctx) != VERDICT_FAIL)
        add_fixes(ctx);
    check_fail(ctx, CONFIDENCE_CERTAIN, "weights",
               "%zu of %zu tensors of the saved adapter hold non-finite values", n_bad, n);
    return true;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;
    const struct curve *loss = facts_curve(facts, "loss");
    struct run_onset training, eval;
    size_t n_eval = 0;

    (void)err;
    facts_eval_losses(facts, &n_eval);
    if (!loss && n_eval == 0)
        return read_weights(ctx) ? OK : check_unknown(ctx, "%s", need_hint(NEEDS_TRAIN_SERIES));
    onset_training(facts, ctx->arena, &training);
    onset_eval(facts, ctx->arena, &eval);
    /* A scaler skips steps, some in a row while it looks for its scale, and goes on. */
    bool is_scaler = training.found && training.only_infinite_grad && training.recovers &&
                     precision_is_fp16(facts, NULL) == 1;
    if (is_scaler)
        check_info(ctx, "the fp16 scaler skipped steps (grad_norm non-finite, loss finite)");
    if (training.found && !is_scaler) {
        state(ctx, &training, "training");
        if (training.is_persistent)
            show_batch(ctx, &training);
    }
    if (eval.found)
        state(ctx, &eval, "eval");
    (void)read_weights(ctx);
    if (check_verdict(ctx) >= VERDICT_WARN)
        return OK;
    return check_pass(ctx, CONFIDENCE_STRONG,
                      "%zu training rows and %zu evaluation curves, all "
                      "finite",
                      loss ? loss->n : 0, n_eval);
}

const struct check check_nan_onset = {
    .id = "nan-onset",
    .version = 1,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "Every logged number is finite",
    .why = "After a persistent NaN the weights are lost, whatever the later rows print.",
    .run = run,
};
