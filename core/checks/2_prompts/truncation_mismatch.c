/* truncation-mismatch (CHECKS.md C2.4): do training and serving see prompts of the same length, cut on the
 * same side? Lengths are counted (an audit, lengths.csv), or estimated from the rows' words; estimates
 * count as beyond a limit only by half of it. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/prompt_evidence.h"
#include "core/checks/registry.h"
#include "core/facts/audit.h"
#include "core/facts/serving.h"
#include "core/stats/robust.h"

#define ESTIMATE_MARGIN 1.5

struct lengths {
    double *tokens, *answers;   /* of the rows; answers: what comes behind the prompt */
    size_t n, n_answers;
    bool is_estimated;
    int64_t source_id;
    const char *from;           /* "lengths.csv" */
    double p95, p99, max, answer_p95;
};

struct limits {
    double train, window, answer;       /* tokens, 0: not known */
    const struct setting *train_setting, *window_setting, *answer_setting;
    const struct setting *train_side, *serve_side;
    bool is_default;            /* of the trainer, not stated */
    const char *truncates;      /* what the server does with more than its window; NULL: not known */
};

/* ---- Lengths ---- */

static bool room(struct check_ctx *ctx, struct lengths *l, size_t n)
{
    l->tokens = arena_array(ctx->arena, n + 1, sizeof *l->tokens);
    l->answers = arena_array(ctx->arena, n + 1, sizeof *l->answers);
    return l->tokens && l->answers;
}

static void put(struct lengths *l, int32_t tokens, int32_t prompt)
{
    if (tokens < 0)
        return;
    l->tokens[l->n++] = tokens;
    if (prompt >= 0 && prompt < tokens)
        l->answers[l->n_answers++] = tokens - prompt;
}

static void by_audit(struct check_ctx *ctx, struct lengths *l)
{
    const struct audit *audit = facts_audit(ctx->facts, "train");

    if (!audit || audit->basis != AUDIT_SIMULATED || !audit->rows ||
        !room(ctx, l, (size_t)audit->n_rows))
        return;
    for (int64_t i = 0; i < audit->n_rows; i++)
        put(l, audit->rows[i].n_tokens, audit->rows[i].n_prompt);
    l->from = "the rows, tokenised";
    l->source_id = audit->dataset ? audit->dataset->source_id : 0;
}

static void by_samples(struct check_ctx *ctx, struct lengths *l, const struct sample *samples,
                       size_t n, const struct dataset *dataset)
{
    if (!samples || n == 0 || !room(ctx, l, n))
        return;
    for (size_t i = 0; i < n; i++) {
        put(l, samples[i].n_tokens, samples[i].n_prompt_tokens);
        l->is_estimated |= (samples[i].flags & SAMPLE_ESTIMATED) != 0;
    }
    l->source_id = dataset ? dataset->source_id : 0;
    l->from = dataset && dataset->name ? dataset->name : "the rows";
}

static void by_rows(struct check_ctx *ctx, struct lengths *l)
{
    const struct dataset *dataset = NULL;
    size_t n = 0;

    (void)facts_train_rows(ctx->facts, &dataset);
    const struct sample *samples = dataset ? facts_samples(ctx->facts, dataset, &n) : NULL;
    by_samples(ctx, l, samples, n, dataset);
}

static void read_lengths(struct check_ctx *ctx, struct lengths *l)
{
    const struct dataset *dataset = NULL;
    size_t n = 0;
    const struct sample *samples = facts_lengths(ctx->facts, &n, &dataset);

    by_samples(ctx, l, samples, n, dataset);
    if (l->n == 0)
        by_audit(ctx, l);
    if (l->n == 0)
        by_rows(ctx, l);
    if (l->n == 0)
        return;
    l->p95 = stat_quantile(l->tokens, l->n, 0.95);
    l->p99 = stat_quantile(l->tokens, l->n, 0.99);
    l->max = stat_quantile(l->tokens, l->n, 1.0);
    l->answer_p95 = l->n_answers ? stat_quantile(l->answers, l->n_answers, 0.95) : 0.0;
}

static double margin(const struct lengths *l)
{
    return l->is_estimated ? ESTIMATE_MARGIN : 1.0;
}

static size_t count_over(const struct lengths *l, double limit)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += l->tokens[i] > limit * margin(l);
    return n;
}

/* ---- Limits ---- */

static double number_of(const struct setting *setting)
{
    double value = 0.0;

    return setting_number(setting, &value) && value > 0.0 && value < 1e12 ? value : 0.0;
}

/* The trainer cuts at the end unless it is told otherwise. */
static const char *side_text(const struct setting *setting)
{
    if (!setting || !setting->value)
        return "right";
    if (strcmp(setting->value, "keep_end") == 0 || strcmp(setting->value, "left") == 0)
        return "left";
    return "right";
}

/* What a server takes, and what becomes of more: TGI has a limit of its own for the prompt. */
static void read_window(const struct run_facts *facts, struct limits *out)
{
    const struct serving *serving = facts_serving(facts);

    out->window_setting = facts_setting_on(facts, SIDE_SERVE, "n_ctx");
    if (serving && serving->context_setting)
        out->window_setting = serving->context_setting;
    out->window = serving && serving->context > 0 ? (double)serving->context
                                                  : number_of(out->window_setting);
    out->serve_side = facts_setting_on(facts, SIDE_SERVE, "truncation_side");
    out->truncates = serving ? serving->truncates : NULL;
}

static void read_limits(const struct run_facts *facts, struct limits *out)
{
    const struct audit *audit = facts_audit(facts, "train");

    out->train_setting = facts_setting(facts, "max_length");
    out->train = number_of(out->train_setting);
    if (out->train <= 0.0 && !out->train_setting && audit && audit->basis == AUDIT_SIMULATED &&
        audit->max_length > 0) {
        out->train = (double)audit->max_length;
        out->is_default = true;
    }
    read_window(facts, out);
    out->answer_setting = facts_setting_on(facts, SIDE_SERVE, "max_tokens");
    out->answer = number_of(out->answer_setting);
    out->train_side = facts_setting(facts, "truncation_mode");
    if (!out->train_side)
        out->train_side = facts_setting(facts, "truncation_side");
    if (!out->train_side)
        out->train_side = facts_setting_on(facts, SIDE_TOKENIZER, "truncation_side");
}

static bool sides_differ(const struct limits *limits)
{
    return limits->serve_side &&
           strcmp(side_text(limits->serve_side), side_text(limits->train_side)) != 0;
}

/* Rows are joined and cut into blocks: nothing is lost at the limit. */
static bool rows_are_joined(const struct run_facts *facts)
{
    const char *strategy = facts_text(facts, "packing_strategy");

    return facts_bool(facts, "packing") == 1 && !(strategy && strcmp(strategy, "bfd") == 0);
}

/* ---- Branches ---- */

struct judging {
    struct check_ctx *ctx;
    struct lengths lengths;
    struct limits limits;
    size_t over;
    double share;               /* of rows beyond the training limit */
    bool is_joined;
};

static enum confidence sure(const struct judging *j, enum confidence confidence)
{
    if (!j->lengths.is_estimated)
        return confidence;
    return confidence < CONFIDENCE_LIKELY ? confidence : CONFIDENCE_LIKELY;
}

static const char *estimated(const struct judging *j)
{
    return j->lengths.is_estimated ? " (estimated)" : "";
}

/* Training cut rows, and serving takes them whole or cuts them on the other side. */
static bool training_cuts(const struct judging *j)
{
    const struct limits *l = &j->limits;

    if (j->is_joined || l->train <= 0.0)
        return false;
    bool is_wider = l->window >= 2.0 * l->train;
    bool has_sides = sides_differ(l);
    if (j->share >= 0.05 && (is_wider || has_sides)) {
        if (is_wider)
            check_fail(j->ctx, sure(j, CONFIDENCE_CERTAIN), "cut-in-training",
                       "training cuts %zu of %zu rows at %.0f tokens%s, serving takes %.0f", j->over,
                       j->lengths.n, l->train, estimated(j), l->window);
        else
            check_fail(j->ctx, sure(j, CONFIDENCE_CERTAIN), "other-side",
                       "training cuts %zu of %zu rows on the %s%s, serving cuts on the %s", j->over,
                       j->lengths.n, side_text(l->train_side), estimated(j),
                       side_text(l->serve_side));
        return true;
    }
    if (has_sides && j->share >= 0.01) {
        check_warn(j->ctx, sure(j, CONFIDENCE_LIKELY), "other-side",
                   "%.1f %% of the rows are cut, on the %s in training and on the %s in serving%s",
                   100.0 * j->share, side_text(l->train_side), side_text(l->serve_side),
                   estimated(j));
        return true;
    }
    if (l->window <= 0.0 && j->lengths.p95 > l->train * margin(&j->lengths)) {
        check_warn(j->ctx, sure(j, CONFIDENCE_STRONG), "long-rows",
                   "the 95th percentile of %zu rows is %.0f tokens%s, training cuts at %.0f",
                   j->lengths.n, j->lengths.p95, estimated(j), l->train);
        return true;
    }
    return false;
}

static bool serving_cuts(const struct judging *j)
{
    const struct limits *l = &j->limits;
    bool fired = false;
    double seen = j->lengths.p95;

    if (l->train > 0.0 && !j->is_joined && seen > l->train)
        seen = l->train;        /* more than that was never trained */
    if (l->window > 0.0 && l->window * margin(&j->lengths) < seen) {
        check_warn(j->ctx, sure(j, CONFIDENCE_STRONG), "small-window",
                   "the serving window of %.0f tokens is below the 95th percentile of the training "
                   "rows, %.0f%s",
                   l->window, j->lengths.p95, estimated(j));
        evidence_setting(j->ctx, l->window_setting);
        if (l->truncates && strcmp(l->truncates, "refuses") == 0)
            check_info(j->ctx, "the server refuses what is longer");
        else if (l->truncates && strcmp(l->truncates, "oldest messages") == 0)
            check_info(j->ctx, "the server leaves out the oldest messages of what is longer");
        fired = true;
    }
    if (l->answer > 0.0 && j->lengths.n_answers > 0 &&
        l->answer * margin(&j->lengths) < j->lengths.answer_p95) {
        check_warn(j->ctx, sure(j, CONFIDENCE_LIKELY), "short-answers",
                   "serving stops answers at %.0f tokens, the 95th percentile of the training answers "
                   "is %.0f%s",
                   l->answer, j->lengths.answer_p95, estimated(j));
        evidence_setting(j->ctx, l->answer_setting);
        fired = true;
    }
    return fired;
}

/* A tokenizer met a text longer than the model's limit: of interest when it is beyond the trainer's. */
static bool log_says(const struct judging *j)
{
    for (const struct event *e = facts_event(j->ctx->facts, NULL, NULL); e;
         e = facts_event(j->ctx->facts, NULL, e)) {
        int64_t length = 0;

        if (!e->pattern)
            continue;
        if (strcmp(e->pattern, "ollama-truncated") == 0) {
            evidence_event(j->ctx, e);
            check_warn(j->ctx, CONFIDENCE_STRONG, "served-cut",
                       "the server cut a prompt of %s tokens to %s", event_capture(e, 2),
                       event_capture(e, 1));
            return true;
        }
        if (strcmp(e->pattern, "longer-than-model-max") != 0 || j->limits.train <= 0.0 ||
            j->is_joined || !number_parse_int(str_of(event_capture(e, 1)), &length) ||
            (double)length <= j->limits.train || (j->lengths.n > 0 && !j->lengths.is_estimated &&
                                                  j->lengths.max <= j->limits.train))
            continue;
        evidence_event(j->ctx, e);
        check_warn(j->ctx, CONFIDENCE_LIKELY, "tokenizer-message",
                   "a text of %lld tokens was tokenised, training cuts at %.0f", (long long)length,
                   j->limits.train);
        return true;
    }
    return false;
}

/* ---- The verdict ---- */

static void show(const struct judging *j)
{
    const struct lengths *l = &j->lengths;

    evidence_setting(j->ctx, j->limits.train_setting);
    if (j->limits.is_default)
        check_info(j->ctx, "the limit of %.0f tokens is the trainer's default", j->limits.train);
    evidence_setting(j->ctx, j->limits.window_setting);
    evidence_setting(j->ctx, j->limits.serve_side);
    if (l->n == 0)
        return;
    struct evidence *e =
        evidence_number(j->ctx, j->share, 0.05,
                        "%zu of %zu rows are longer than training's limit: p95 %.0f, p99 %.0f, max "
                        "%.0f tokens%s (%s)",
                        j->over, l->n, l->p95, l->p99, l->max, estimated(j), l->from);
    e->source_id = l->source_id;
}

static void add_fixes(const struct judging *j)
{
    double limit = 64.0 * ceil(j->lengths.p99 / 64.0);

    if (j->lengths.n)
        check_fix(j->ctx, "max_length %.0f (p99 rounded up to 64)", limit);
    else
        check_fix(j->ctx, "max_length at the 99th percentile of the rows, rounded up to 64");
    check_fix(j->ctx, "cut on the same side in training and serving");
    check_fix(j->ctx, "a serving window of at least the p99 of the prompts plus max_tokens");
}

static const char *missing_window(const struct run_facts *facts)
{
    const struct serving *serving = facts_serving(facts);

    switch (serving ? serving->engine : SERVING_NONE) {
    case SERVING_OLLAMA:
        return "the serving limits: PARAMETER num_ctx or OLLAMA_CONTEXT_LENGTH is not stated, and "
               "Ollama's default differs between releases (its log tells: --ctx-size)";
    case SERVING_LLAMA_CPP:
        return "the serving limits: --ctx-size is not stated, and llama.cpp's default differs between "
               "releases (its log tells: n_ctx)";
    case SERVING_VLLM:
    case SERVING_SGLANG:
    case SERVING_TGI:
        return "the serving limits: the server is told none, its log tells the model's own";
    case SERVING_NONE:
    case SERVING_OTHER:
        break;
    }
    return "the serving limits (serve.json with max_model_len)";
}

static void pass(const struct judging *j)
{
    struct check_ctx *ctx = j->ctx;
    const struct limits *l = &j->limits;
    bool has_lengths = j->lengths.n > 0;
    bool fits_all = has_lengths && l->window > 0.0 && j->lengths.max * margin(&j->lengths) <= l->window;

    if (!has_lengths)
        check_unknown(ctx, "the token lengths of the training rows (lengths.csv)");
    if (l->train <= 0.0 && !j->is_joined)
        check_unknown(ctx, "the length limit of training (max_length, cutoff_len, sequence_len)");
    if (l->window <= 0.0)
        check_unknown(ctx, "%s", missing_window(ctx->facts));
    if (!has_lengths || (l->train <= 0.0 && !j->is_joined) || l->window <= 0.0)
        return;
    if (j->is_joined)
        check_pass(ctx, sure(j, CONFIDENCE_STRONG),
                   "rows are packed, so that nothing is cut at the training limit; the serving window of "
                   "%.0f holds the 95th percentile, %.0f tokens%s",
                   l->window, j->lengths.p95, estimated(j));
    else
        check_pass(ctx, sure(j, j->share < 0.01 && fits_all ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY),
                   "%zu of %zu rows are longer than the training limit %.0f%s; the serving window is "
                   "%.0f",
                   j->over, j->lengths.n, l->train, estimated(j), l->window);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct judging j = {.ctx = ctx, .is_joined = rows_are_joined(ctx->facts)};

    (void)err;
    read_lengths(ctx, &j.lengths);
    read_limits(ctx->facts, &j.limits);
    if (j.lengths.n && j.limits.train > 0.0) {
        j.over = count_over(&j.lengths, j.limits.train);
        j.share = (double)j.over / (double)j.lengths.n;
    }
    bool fired = j.lengths.n && training_cuts(&j);
    fired |= j.lengths.n && serving_cuts(&j);
    fired |= log_says(&j);
    if (!fired) {
        pass(&j);
        return OK;
    }
    show(&j);
    add_fixes(&j);
    return OK;
}

const struct check check_truncation_mismatch = {
    .id = "truncation-mismatch",
    .version = 2,
    .stage = STAGE_PROMPTS,
    .severity = SEVERITY_MISLEADS,
    .title = "Training and serving see the same shapes",
    .why = "Rows that training cut taught the model texts that break off. A server that takes them whole, "
           "or cuts them elsewhere, asks for what was never shown.",
    .applies = prompts_apply,
    .run = run,
};
