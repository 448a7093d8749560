/* system-prompt-mismatch (CHECKS.md C2.3): is the system turn on both sides or on neither? The rows give
 * the shares; the rendered training prompt says what its template makes of rows without one. */
#include <math.h>
#include <string.h>

#include "core/checks/prompt_evidence.h"
#include "core/checks/registry.h"

#define TEXT_BYTES 160

struct systems {
    double share;           /* of the training rows that have one as rendered; NAN: not known */
    double constant;        /* of the rows with the most usual text; NAN: not known */
    const char *train_text, *serve_text;
    int serve;              /* 1, 0, -1 not known */
    bool is_inserted;       /* by the training template */
    bool is_one_sample;     /* only one training prompt is known, no rows */
};

static const char *own_text(struct check_ctx *ctx, const struct prompt_record *record)
{
    struct str text = prompt_system_text(&record->side);

    return text.p ? arena_strndup(ctx->arena, text.p, text.n) : NULL;
}

/* What the template makes of the rows: it may put a text of its own, or leave the rows' turn out. */
static void read_training(struct check_ctx *ctx, const struct prompt_pair *pair, struct systems *s)
{
    const struct prompt_shape *shape = &pair->train.side.shape;
    bool is_known = pair->train.origin != PROMPT_ABSENT && shape->family != FAMILY_NONE;
    bool has = is_known && shape->system < shape->n;

    s->share = pair->system_share;
    s->constant = pair->system_constant_share;
    s->train_text = pair->system_text;
    if (isnan(s->share) && is_known) {
        s->share = has ? 1.0 : 0.0;
        s->constant = NAN;
        s->is_one_sample = true;
    } else if (has && s->share <= 0.1 && (pair->train.inserts_system || s->share == 0.0)) {
        s->is_inserted = true;
        s->share = 1.0;
        s->constant = 1.0;
    } else if (is_known && !has && s->share >= 0.9) {
        s->share = NAN;     /* the template made something else of it */
    }
    if (has && (s->is_inserted || s->is_one_sample))
        s->train_text = own_text(ctx, &pair->train);
}

/* A prompt that was captured or that stands for the request; else what the request itself sends. */
static void read_serving(struct check_ctx *ctx, const struct prompt_pair *pair, struct systems *s)
{
    const struct prompt_shape *shape = &pair->serve.side.shape;

    s->serve = -1;
    if (prompt_is_captured(&pair->serve) && shape->family != FAMILY_NONE) {
        s->serve = shape->system < shape->n;
        s->serve_text = own_text(ctx, &pair->serve);
    } else if (pair->request_has_system == 1) {
        s->serve = 1;
        s->serve_text = pair->request_system;
    } else if (pair->serve.origin == PROMPT_RENDERED && shape->family != FAMILY_NONE &&
               pair->comparison.difference == PROMPTS_SYSTEM_ONE_SIDE) {
        s->serve = shape->system < shape->n;    /* the same messages, so the templates differ */
        s->serve_text = own_text(ctx, &pair->serve);
    }
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "send the training system text at inference (Ollama SYSTEM)");
    check_fix(ctx, "or train a share of the rows without it");
    check_fix(ctx, "if a template inserts a default text, pass an explicit one on both sides");
}

static void show(struct check_ctx *ctx, const struct prompt_pair *pair, const struct systems *s)
{
    struct evidence *e;

    if (!s->is_one_sample && !s->is_inserted && pair->dataset) {
        e = evidence_add(ctx, "dataset",
                         "%.0f %% of %lld training rows have a system turn%s%s", 100.0 * s->share,
                         (long long)pair->n_seen, s->train_text ? ", mostly: " : "",
                         s->train_text ? prompt_text(ctx, str_of(s->train_text), TEXT_BYTES) : "");
        e->source_id = pair->dataset->source_id;
    } else if (s->is_inserted) {
        evidence_add(ctx, "file", "no row has a system turn, the training template inserts: %s",
                     prompt_text(ctx, str_of(s->train_text ? s->train_text : ""), TEXT_BYTES));
    }
    if (s->serve == 1)
        evidence_add(ctx, "file", "serving sends: %s",
                     prompt_text(ctx, str_of(s->serve_text ? s->serve_text : ""), TEXT_BYTES));
    if (prompts_are_known(pair))
        prompts_show(ctx, pair);
}

/* The prompt was cut at the front: C2.4 explains that. */
static bool serving_was_cut(const struct run_facts *facts)
{
    for (const struct event *e = facts_event(facts, NULL, NULL); e; e = facts_event(facts, NULL, e))
        if (e->pattern && strcmp(e->pattern, "ollama-truncated") == 0)
            return true;
    return false;
}

/* FAIL and WARN of presence; false: both have one or neither has. */
static bool presence_differs(struct check_ctx *ctx, const struct prompt_pair *pair,
                             const struct systems *s)
{
    enum confidence confidence = s->is_one_sample ? CONFIDENCE_STRONG : prompts_confidence(pair);

    if (s->share > 0.1 && s->share < 0.9) {
        check_warn(ctx, CONFIDENCE_LIKELY, "some-rows",
                   "%.0f %% of the training rows have a system turn, and serving has %s",
                   100.0 * s->share, s->serve ? "one" : "none");
        return true;
    }
    if ((s->share >= 0.9) == (s->serve == 1))
        return false;
    if (s->share >= 0.9)
        check_fail(ctx, confidence,
                   serving_was_cut(ctx->facts) ? "cut-system" : "serving-lacks",
                   "%.0f %% of the training prompts have a system turn, the serving prompt has none",
                   100.0 * s->share);
    else
        check_fail(ctx, confidence, "serving-adds",
                   "%.0f %% of the training prompts have a system turn, the serving prompt has one",
                   100.0 * s->share);
    return true;
}

/* The words of the serving text against the text that most rows have. */
static bool text_differs(struct check_ctx *ctx, const struct prompt_pair *pair,
                         const struct systems *s)
{
    struct prompt_system_texts texts;

    if (s->share < 0.9 || s->serve != 1 || !s->serve_text || !s->train_text)
        return false;
    prompt_system_compare(str_of(s->train_text), str_of(s->serve_text), ctx->arena, &texts);
    if (texts.only_dates_differ) {
        check_info(ctx, "the system texts differ in a date");
        return false;
    }
    if (texts.jaccard >= 0.5) {
        if (!texts.are_equal)
            check_info(ctx, "the system texts differ a little (word sets %.2f alike)", texts.jaccard);
        return false;
    }
    evidence_number(ctx, texts.jaccard, 0.5, "likeness of the word sets of the two system texts");
    if (s->constant >= 0.9)
        check_fail(ctx, prompts_confidence(pair), "other-text",
                   "serving has another system text than the one of %.0f %% of the training prompts "
                   "(word sets %.2f alike)",
                   100.0 * s->constant, texts.jaccard);
    else
        check_warn(ctx, CONFIDENCE_LIKELY, "other-text",
                   "serving has another system text than training (word sets %.2f alike)%s",
                   texts.jaccard,
                   isnan(s->constant) ? "" : ", and the training texts vary too");
    return true;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct prompt_pair *pair = facts_prompt_pair(ctx->facts);
    struct systems s = {0};

    (void)err;
    if (!pair)
        return OK;
    if (pair->comparison.difference == PROMPTS_OTHER_FAMILY)
        return check_unknown(ctx, "a training and a serving prompt of one format (they render other "
                                  "formats: see template-mismatch)");
    read_training(ctx, pair, &s);
    read_serving(ctx, pair, &s);
    if (isnan(s.share))
        check_unknown(ctx, "the training rows (with turns or markers) or prompt_train.txt");
    if (s.serve < 0)
        check_unknown(ctx, "what serving sends: prompt_infer.txt or a captured request (request.json)");
    if (isnan(s.share) || s.serve < 0)
        return OK;
    if (presence_differs(ctx, pair, &s) || text_differs(ctx, pair, &s)) {
        show(ctx, pair, &s);
        add_fixes(ctx);
        if (serving_was_cut(ctx->facts))
            check_info(ctx, "the server cut prompts, which takes their beginning first");
        return OK;
    }
    if (s.is_inserted)
        check_info(ctx, "the template inserts a default system text on both sides");
    return check_pass(ctx, prompts_confidence(pair), "%s a system turn%s",
                      s.serve ? "both sides have" : "neither side has",
                      s.is_one_sample ? " (one training prompt is known)" : "");
}

const struct check check_system_prompt_mismatch = {
    .id = "system-prompt-mismatch",
    .version = 1,
    .stage = STAGE_PROMPTS,
    .severity = SEVERITY_MISLEADS,
    .title = "The system turn is present on both sides or on neither",
    .why = "What was trained behind a system text is reached through that text. A default text that a "
           "template inserts is easily overlooked.",
    .applies = prompts_apply,
    .run = run,
};
