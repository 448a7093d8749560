/* P.4: does the reward outrun its meaning? Three signs: the KL explodes for the last bit of reward, a
 * reward of style rises while that of right answers falls, or the outputs have become one answer. A
 * fourth, weaker: the reward per KL falls behind what the first half promised (F8). */
#include <math.h>
#include <string.h>

#include "core/checks/generation_sets.h"
#include "core/checks/held_out.h"
#include "core/checks/preference_completions.h"
#include "core/checks/preference_series.h"
#include "core/stats/robust.h"

enum { ENOUGH_ROWS = 20, ENOUGH_PART_ROWS = 8, ENOUGH_PROMPTS = 5, SHOWN_PHRASES = 5 };

static const double TOKEN_KL = 0.5, SEQUENCE_KL = 6.0, NEAR_MAXIMUM = 0.05;
static const double FALL = 1.0 / 3.0, ALIKE = 0.5, DEVIATIONS = 2.0;

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "not a GRPO or PPO run";
    return facts->run.kind == KIND_GRPO || facts->run.kind == KIND_PPO;
}

struct pair_of_curves {
    struct values reward;
    struct kl kl;
    bool has_both;
    bool is_apart;              /* both were logged, of other parts of the run */
};

/* The finite values of one reach into the last quarter of the other: else the ends are of other times. */
static bool reaches(const struct values *own, const struct values *other)
{
    int64_t end = values_step(own, own->n - 1), quarter = values_step(other, 3 * other->n / 4);

    return end == NONE || quarter == NONE || end >= quarter;
}

static void read_curves(struct check_ctx *ctx, struct pair_of_curves *out)
{
    out->has_both = values_read(ctx, "reward", &out->reward);
    out->has_both &= kl_read(ctx, &out->kl);
    out->is_apart = out->has_both && !(reaches(&out->reward, &out->kl.values) &&
                                       reaches(&out->kl.values, &out->reward));
    out->has_both &= !out->is_apart;
}

/* ---- The KL explodes ---- */

/* Growth from the third quarter to the last; by the spread where the reward comes near 0. */
static double reward_growth(const struct values *reward)
{
    double third = values_quarter(reward, 2), last = values_quarter(reward, 3);
    double low = stat_quantile(reward->y, reward->n, 0.0001),
           high = stat_quantile(reward->y, reward->n, 1.0);
    double sd = stat_sd(reward->y, reward->n);

    if (low <= 0.0 && high >= 0.0)
        return sd > 0.0 ? (last - third) / sd : 0.0;
    return (last - third) / fabs(third);
}

static bool reward_holds(const struct values *reward)
{
    double third = values_quarter(reward, 2), last = values_quarter(reward, 3);
    double high = stat_quantile(reward->y, reward->n, 1.0);

    return last > third || last >= high - NEAR_MAXIMUM * fabs(high);
}

static bool explodes(const struct pair_of_curves *curves)
{
    const struct values *kl = &curves->kl.values;
    double third = values_quarter(kl, 2), last = values_quarter(kl, 3);
    double growth = third > 0.0 ? last / third - 1.0 : INFINITY;

    return curves->reward.n >= ENOUGH_PART_ROWS && kl->n >= ENOUGH_PART_ROWS &&
           reward_holds(&curves->reward) && kl_knee(&curves->kl) >= 0 &&
           last >= (curves->kl.is_sequence ? SEQUENCE_KL : TOKEN_KL) &&
           growth > reward_growth(&curves->reward);
}

static void state_explosion(struct check_ctx *ctx, const struct pair_of_curves *curves)
{
    const struct values *kl = &curves->kl.values, *reward = &curves->reward;
    double level = values_half(kl, 0), last = values_quarter(kl, 3);
    size_t knee = (size_t)kl_knee(&curves->kl);

    check_fail(ctx, CONFIDENCE_STRONG, "kl",
               "the KL grows from %.3g to %.3g %s for a reward that goes from %.3g to %.3g in the "
               "last half",
               level, last, kl_unit(&curves->kl), values_quarter(reward, 2),
               values_quarter(reward, 3));
    check_begins(ctx, values_step(kl, knee));
    (void)values_evidence(ctx, reward, "reward");
    struct evidence *e = values_evidence(ctx, kl, "KL");
    e->value = last;
    e->has_value = true;
    e->bound = KL_KNEE * level;
    e->has_bound = true;
    evidence_point(ctx, kl->curve, kl->at[knee], "the knee: five times the KL of the first half");
}

/* ---- Components against each other ---- */

static double noise_bar(const struct values *values)
{
    double k = (double)(values->n / 4);

    return 3.0 * 1.25 * stat_noise(values->y, values->n) * sqrt(2.0 / k);
}

/* By a third of its size, and by more than its noise. */
static bool falls_by_a_third(const struct values *values, double *from, double *to)
{
    if (values->n < ENOUGH_PART_ROWS)
        return false;
    *from = values_quarter(values, 0);
    *to = values_quarter(values, 3);
    return *from > 0.0 && *from - *to >= FALL * *from && *from - *to > noise_bar(values);
}

static bool contradict(struct check_ctx *ctx)
{
    struct reward_part *parts = arena_array(ctx->arena, MAX_REWARD_PARTS, sizeof *parts);
    size_t n = parts ? reward_parts_read(ctx, parts) : 0;
    const struct reward_part *style = NULL, *accuracy = NULL;
    struct movement rise = {0}, own;
    double from = NAN, to = NAN;

    for (size_t i = 0; i < n; i++) {
        if (parts[i].is_accuracy && !accuracy && falls_by_a_third(&parts[i].values, &from, &to))
            accuracy = &parts[i];
        if (parts[i].is_accuracy || parts[i].values.n < ENOUGH_PART_ROWS || style ||
            !values_move(&parts[i].values, &own) || !own.rose)
            continue;
        style = &parts[i];
        rise = own;
    }
    if (!style || !accuracy)
        return false;
    check_fail(ctx, CONFIDENCE_STRONG, "contradiction",
               "%s rises from %.3g to %.3g while %s falls from %.3g to %.3g", style->name,
               rise.first, rise.last, accuracy->name, from, to);
    check_begins(ctx, values_step(&style->values, 0));
    (void)values_evidence(ctx, &style->values, "the reward that rises");
    (void)values_evidence(ctx, &accuracy->values, "the reward of right answers");
    return true;
}

/* ---- One answer to all ---- */

static bool is_one_answer(const struct alike *alike)
{
    size_t most = alike->n_same > alike->n_opening ? alike->n_same : alike->n_opening;

    return alike->n_prompts >= ENOUGH_PROMPTS && (double)most >= ALIKE * (double)alike->n_prompts;
}

static bool outputs_are_alike(struct check_ctx *ctx)
{
    struct generation_set *sets = arena_array(ctx->arena, MAX_GENERATION_SETS, sizeof *sets);
    size_t n = sets ? generation_sets_read(ctx, sets) : 0;

    for (size_t i = 0; i < n; i++) {
        struct alike own = generation_alike(ctx, &sets[i]);
        const struct generation_set *before = generation_set_before(sets, n, &sets[i]);

        if (sets[i].is_base || !generation_set_is_last(sets, n, &sets[i]) || !is_one_answer(&own))
            continue;
        if (before) {
            struct alike first = generation_alike(ctx, before);
            if (is_one_answer(&first)) {
                check_info(ctx, "the outputs are alike before the training too");
                continue;
            }
        }
        bool same = own.n_same >= own.n_opening;
        size_t most = same ? own.n_same : own.n_opening;
        const struct generation *shown = same ? own.same : own.opening;
        check_fail(ctx, CONFIDENCE_STRONG, "outputs",
                   "%zu of %zu outputs to different prompts %s", most, own.n_prompts,
                   same ? "are the same text" : "begin with the same eight words");
        if (shown->step != NONE)
            check_begins(ctx, shown->step);
        struct evidence *e = evidence_number(ctx, (double)most / (double)own.n_prompts, ALIKE,
                                             "share of prompts whose output is alike");
        e->source_id = shown->source_id;
        return true;
    }
    return false;
}

/* A format that is rewarded gives all answers one opening: no sign of anything while right answers rise. */
static bool right_answers_rise(struct check_ctx *ctx)
{
    struct reward_part *parts = arena_array(ctx->arena, MAX_REWARD_PARTS, sizeof *parts);
    size_t n = parts ? reward_parts_read(ctx, parts) : 0;

    for (size_t i = 0; i < n; i++)
        if (parts[i].is_accuracy && values_rose(&parts[i].values))
            return true;
    return false;
}

static bool completions_are_alike(struct check_ctx *ctx)
{
    bool is_same, is_old;
    const char *what = completions_alike(ctx, &is_same, &is_old);
    const struct completions *completions = facts_completions(ctx->facts);

    if (is_old)
        check_info(ctx, "the completions are alike from the first quarter on");
    if (!what)
        return false;
    const struct completion_alike *alike = &completions->last.alike;
    if (!is_same && right_answers_rise(ctx)) {
        check_info(ctx, "%s begin with the same eight words, while right answers rise", what);
        return false;
    }
    check_fail(ctx, CONFIDENCE_STRONG, "outputs", "%s %s", what,
               is_same ? "are the same text" : "begin with the same eight words");
    check_begins(ctx, completions->last.first_step);
    struct evidence *e = evidence_number(
        ctx, (double)(is_same ? alike->n_same : alike->n_opening) / (double)alike->n_prompts, ALIKE,
        "share of prompts whose completion %s \"%s\"", is_same ? "is" : "begins with",
        is_same ? alike->same : alike->opening);
    e->step = completions->last.first_step;
    e->last_step = completions->last.last_step;
    return true;
}

/* ---- F8: reward against the square root of the KL ---- */

struct line {
    double a, b, sd;            /* reward = a root + b */
};

static bool fit(const double *x, const double *y, size_t n, struct line *out)
{
    double mx = stat_mean(x, n), my = stat_mean(y, n), xx = 0.0, xy = 0.0, rest = 0.0;

    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        xy += (x[i] - mx) * (y[i] - my);
    }
    if (n < 3 || xx <= 0.0)
        return false;
    out->a = xy / xx;
    out->b = my - out->a * mx;
    for (size_t i = 0; i < n; i++) {
        double d = y[i] - out->a * x[i] - out->b;
        rest += d * d;
    }
    out->sd = sqrt(rest / (double)(n - 2));
    return true;
}

static bool rises(const double *y, size_t n)
{
    double sum = 0.0, mean = ((double)n - 1.0) / 2.0;

    for (size_t i = 0; i < n; i++)
        sum += ((double)i - mean) * y[i];
    return sum > 0.0;
}

/* Mean of the last quarter below the fit of the first half, in residual deviations; NaN: not told. */
static double behind_fit(const double *root, const double *reward, size_t n)
{
    size_t half = n / 2, from = n - n / 4;
    struct line line;
    double gap = 0.0;

    if (n < ENOUGH_ROWS || !fit(root, reward, half, &line) || line.a <= 0.0 ||
        !rises(root + half, n - half) || !rises(reward + half, n - half))
        return NAN;
    for (size_t i = from; i < n; i++)
        gap += line.a * root[i] + line.b - reward[i];
    gap /= (double)(n - from);
    /* rows without noise have no deviation to be measured by */
    return line.sd > 1e-9 * (1.0 + fabs(line.b)) ? gap / line.sd : NAN;
}

static bool falls_behind(struct check_ctx *ctx, const struct pair_of_curves *curves)
{
    const struct values *kl = &curves->kl.values, *reward = &curves->reward;
    double *x = arena_array(ctx->arena, kl->n + 1, sizeof *x),
           *y = arena_array(ctx->arena, kl->n + 1, sizeof *y);
    size_t n = 0;

    for (size_t i = 0; x && y && i < kl->n; i++) {
        double value;
        if (!curve_on_row(reward->curve, kl->curve, kl->at[i], &value) || !isfinite(value))
            continue;
        x[n] = sqrt(kl->y[i] > 0.0 ? kl->y[i] : 0.0);
        y[n++] = value;
    }
    double deviations = behind_fit(x, y, n);
    if (!(deviations > DEVIATIONS))
        return false;
    check_warn(ctx, CONFIDENCE_POSSIBLE, "root-kl",
               "the reward of the last quarter is %.1f deviations below what the first half "
               "promised for its KL",
               deviations);
    check_begins(ctx, values_step(kl, kl->n / 2));
    (void)values_evidence(ctx, reward, "reward");
    (void)values_evidence(ctx, kl, "KL");
    return true;
}

/* ---- The rule ---- */

/* Each reward function that moved: one up for another that goes down is what a sum hides. */
static void tell_parts(struct check_ctx *ctx)
{
    struct reward_part *parts = arena_array(ctx->arena, MAX_REWARD_PARTS, sizeof *parts);
    size_t n = parts ? reward_parts_read(ctx, parts) : 0;
    const char *up = "", *down = "";

    for (size_t i = 0; i < n; i++) {
        struct movement m;

        if (parts[i].values.n < ENOUGH_PART_ROWS || !values_move(&parts[i].values, &m))
            continue;
        if (m.rose)
            up = arena_printf(ctx->arena, "%s%s%s %.3g to %.3g", up, *up ? ", " : "", parts[i].name,
                              m.first, m.last);
        if (m.fell)
            down = arena_printf(ctx->arena, "%s%s%s %.3g to %.3g", down, *down ? ", " : "",
                                parts[i].name, m.first, m.last);
    }
    if (*up && *down)
        check_info(ctx, "rewards that rise: %s; that fall: %s", up, down);
}

static void advise(struct check_ctx *ctx)
{
    evidence_setting(ctx, facts_setting(ctx->facts, "init_kl_coef"));
    evidence_setting(ctx, facts_setting(ctx->facts, "beta"));
    check_fix(ctx, "take the checkpoint at the knee");
    check_fix(ctx, "the KL coefficient times 2 to 10: it acts like stopping earlier");
    check_fix(ctx, "a penalty on length or on the format that is rewarded");
    check_fix(ctx, "a better reward model or verifier");
}

static int judge_quiet(struct check_ctx *ctx, const struct pair_of_curves *curves,
                       const struct held_out *held)
{
    size_t n = curves->reward.n < curves->kl.values.n ? curves->reward.n : curves->kl.values.n;

    if (curves->is_apart)
        return check_unknown(ctx, "reward and KL of the same part of the run: one of them ends, or is not "
                                  "finite, before the last quarter of the other");
    if (!curves->has_both)
        return check_unknown(ctx, "metric rows with the reward and the KL (GRPO with beta 0 logs "
                                  "no KL)");
    if (n < ENOUGH_ROWS)
        return check_unknown(ctx, "%zu more logged rows with reward and KL", ENOUGH_ROWS - n);
    if (held->answer == HELD_OUT_UNKNOWN)
        return check_unknown(ctx, HELD_OUT_MISSING);
    if (held->answer == HELD_OUT_FELL) {
        held_out_show(ctx, held);
        check_info(ctx, "held-out quality falls (%s), though reward and KL do not part", held->what);
        return check_unknown(ctx, "generations before and after, or the components of the reward");
    }
    return check_pass(ctx, CONFIDENCE_STRONG,
                      "the KL is %.3g %s in the last quarter, and held-out quality does not fall "
                      "(%s)",
                      values_quarter(&curves->kl.values, 3), kl_unit(&curves->kl), held->what);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct held_out held = held_out_read(ctx);
    bool is_better = held.answer == HELD_OUT_ROSE;
    struct pair_of_curves curves = {0};

    (void)err;
    read_curves(ctx, &curves);
    bool fired = contradict(ctx);
    if (!is_better && curves.has_both && explodes(&curves)) {
        state_explosion(ctx, &curves);
        fired = true;
    }
    if (!is_better)
        fired |= outputs_are_alike(ctx) || completions_are_alike(ctx);
    if (!is_better && !fired && curves.has_both)
        fired = falls_behind(ctx, &curves);
    tell_parts(ctx);
    if (!fired) {
        completions_note_phrase(ctx);
        return judge_quiet(ctx, &curves, &held);
    }
    held_out_show(ctx, &held);
    completions_show_phrases(ctx, SHOWN_PHRASES);
    advise(ctx);
    return OK;
}

const struct check check_reward_hacking = {
    .id = "reward-hacking",
    .version = 3,
    .stage = STAGE_PREFERENCE,
    .severity = SEVERITY_MISLEADS,
    .title = "Reward does not outrun its meaning",
    .why = "A policy finds what the reward measures before what it means. The reward alone always "
           "looks well: it has to be read beside the KL, its components and the outputs.",
    .applies = applies,
    .run = run,
};
