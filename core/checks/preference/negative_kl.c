/* P.7: is the estimated KL clearly negative? A divergence cannot be; an estimate below −1 means
 * that the samples were not drawn from the policy that is measured. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"

static const double CLEAR = -5.0, BOUND = -1.0;

struct lows {
    size_t n; /* values below −1 */
    double least;
    const struct curve *curve; /* where the least stands, or NULL */
    size_t at, first;
    const struct event *event; /* a warning in the log, or NULL */
    double event_least;
    size_t n_events;
};

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "not a GRPO or PPO run";
    return facts->run.kind == KIND_GRPO || facts->run.kind == KIND_PPO ||
           facts_event(facts, "negative-kl", NULL);
}

static bool look_at_curve(const struct curve *curve, struct lows *lows)
{
    bool has_values = false;

    for (size_t i = 0; curve && i < curve->n; i++) {
        double y = curve->value[i];
        if (!isfinite(y))
            continue;
        has_values = true;
        if (y >= BOUND)
            continue;
        if (lows->n++ == 0)
            lows->first = i;
        if (y < lows->least) {
            lows->least = y;
            lows->curve = curve;
            lows->at = i;
        }
    }
    return has_values;
}

static void look_at_warnings(const struct run_facts *facts, struct lows *lows)
{
    for (const struct event *e = facts_event(facts, "negative-kl", NULL); e;
         e = facts_event(facts, "negative-kl", e)) {
        double y = NAN;
        if (!number_parse_any(str_of(event_capture(e, 1)), &y) || !(y < BOUND))
            continue;
        lows->n_events++;
        if (!lows->event || y < lows->event_least) {
            lows->event = e;
            lows->event_least = y;
        }
    }
}

static void show(struct check_ctx *ctx, const struct lows *lows)
{
    static const char *const NAMES[] = {"top_k",        "top_p",          "temperature",
                                        "min_length",   "min_new_tokens", "generation_kwargs",
                                        "pad_token_id", "eos_token_id"};

    if (lows->curve) {
        check_begins(ctx, lows->curve->step[lows->first]);
        struct evidence *e = evidence_point(ctx, lows->curve, lows->at, "the lowest KL");
        e->bound = BOUND;
        e->has_bound = true;
    }
    if (lows->event) {
        check_begins(ctx, lows->event->step);
        evidence_event(ctx, lows->event);
    }
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        evidence_setting(ctx, facts_setting(ctx->facts, NAMES[i]));
    check_fix(ctx, "sample with top_k 0, top_p 1.0, temperature 1.0 and no forced minimum length; "
                   "left padding for batched generation");
    check_fix(ctx, "the same end and padding tokens on the policy and the reference");
    check_fix(ctx, "dropout off");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct lows lows = {.least = INFINITY};

    (void)err;
    bool has_sequence = look_at_curve(facts_curve(ctx->facts, "objective/kl"), &lows);
    bool has_token = look_at_curve(facts_curve(ctx->facts, "kl"), &lows);
    look_at_warnings(ctx->facts, &lows);
    double least = fmin(lows.least, lows.event ? lows.event_least : INFINITY);
    /* A warning repeats a value that a row may hold too: they are not two. */
    size_t n = lows.n > lows.n_events ? lows.n : lows.n_events;
    if (n == 0 && !has_sequence && !has_token)
        return check_unknown(ctx, "metric rows with the KL (GRPO with beta 0 logs none)");
    if (n == 0)
        return check_pass(ctx, CONFIDENCE_CERTAIN, "no KL below -1");
    if (least <= CLEAR || n >= 2)
        check_fail(ctx, CONFIDENCE_CERTAIN, "", "the KL is negative: %.4g%s", least,
                   n >= 2 ? ", more than once below -1" : "");
    else
        check_warn(ctx, CONFIDENCE_LIKELY, "", "the KL is negative once: %.4g", least);
    show(ctx, &lows);
    return OK;
}

const struct check check_negative_kl = {
    .id = "negative-kl",
    .version = 1,
    .stage = STAGE_PREFERENCE,
    .severity = SEVERITY_MISLEADS,
    .title = "Estimated KL is not clearly negative",
    .why =
        "A KL clearly below zero means that samples and policy do not belong together: the penalty "
        "then rewards what it should hold back.",
    .applies = applies,
    .run = run,
};
