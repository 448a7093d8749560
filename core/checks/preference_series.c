/* Series of stage P. See preference_series.h. */
#include "core/checks/preference_series.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/checks/preference_completions.h"
#include "core/facts/preference_facts.h"
#include "core/stats/robust.h"

bool values_read(struct check_ctx *ctx, const char *name, struct values *out)
{
    *out = (struct values){.curve = facts_curve(ctx->facts, name)};
    if (!out->curve)
        return false;
    out->y = arena_array(ctx->arena, out->curve->n + 1, sizeof *out->y);
    out->at = arena_array(ctx->arena, out->curve->n + 1, sizeof *out->at);
    for (size_t i = 0; out->y && out->at && i < out->curve->n; i++) {
        if (!isfinite(out->curve->value[i]))
            continue;
        out->at[out->n] = i;
        out->y[out->n++] = out->curve->value[i];
    }
    return out->n > 0;
}

bool values_read_share(struct check_ctx *ctx, const char *name, struct values *out)
{
    if (!values_read(ctx, name, out))
        return false;
    for (size_t i = 0; i < out->n; i++)
        if (!(out->y[i] >= -1e-6 && out->y[i] <= 1.0 + 1e-6)) {
            check_info(ctx, "%s is logged outside 0 to 1 (%.4g at step %lld): not read as a share", name,
                       out->y[i], (long long)values_step(out, i));
            *out = (struct values){0};
            return false;
        }
    return true;
}

bool values_read_first(struct check_ctx *ctx, const char *const *names, struct values *out)
{
    for (; *names; names++)
        if (values_read(ctx, *names, out))
            return true;
    *out = (struct values){0};
    return false;
}

void values_drop_first_tenth(struct values *values)
{
    size_t drop = values->n / 10;

    values->y += drop;
    values->at += drop;
    values->n -= drop;
}

double values_quarter(const struct values *values, int quarter)
{
    size_t k = values->n / 4, from = (size_t)quarter * values->n / 4;

    if (k == 0)
        return NAN;
    if (quarter == 3)
        from = values->n - k;
    return stat_median(values->y + from, k);
}

double values_half(const struct values *values, int half)
{
    size_t k = values->n / 2;

    if (values->n < 4)
        return NAN;
    return stat_median(half == 0 ? values->y : values->y + k, half == 0 ? k : values->n - k);
}

bool values_move(const struct values *values, struct movement *out)
{
    return curve_movement(values->y, values->n, out);
}

bool values_rose(const struct values *values)
{
    struct movement movement;

    return values_move(values, &movement) && movement.rose;
}

int64_t values_step(const struct values *values, size_t i)
{
    return values->curve->step[values->at[i]];
}

struct evidence *values_evidence(struct check_ctx *ctx, const struct values *values,
                                 const char *text)
{
    return evidence_range(ctx, values->curve, values->at[0], values->at[values->n - 1], "%s", text);
}

/* ---- KL and lengths ---- */

bool lengths_read(struct check_ctx *ctx, struct values *out)
{
    static const char *const NAMES[] = {
        "completions/mean_length",   "eval_output_tokens",       "tokens/responses_len_mean",
        "objective/response_length", "response_length",          "eval_mean_length",
        "eval_generation_length",    "eval_gen_len",             NULL};

    return values_read_first(ctx, NAMES, out);
}

bool lengths_read_any(struct check_ctx *ctx, struct values *out, const char **unit)
{
    *unit = "tokens";
    if (lengths_read(ctx, out))
        return true;
    *unit = "words";
    return completions_values(ctx, COMPLETIONS_WORDS, out);
}

double lengths_median(struct check_ctx *ctx)
{
    struct values length;
    double median = lengths_read(ctx, &length) ? stat_median(length.y, length.n) : 0.0;

    return median > 0.0 ? median : 0.0;
}

/* OpenRLHF and verl log a mean over tokens under PPO too; the lengths beside it tell who logs. */
static bool is_mean_over_tokens(const struct run_facts *facts)
{
    static const char *const MARKS[] = {"total_length", "train/total_length", "critic/kl",
                                        "actor/reward_kl_penalty"};

    for (size_t i = 0; i < facts->n_series; i++)
        for (size_t k = 0; k < sizeof MARKS / sizeof *MARKS && facts->series[i].raw_name; k++)
            if (strcmp(facts->series[i].raw_name, MARKS[k]) == 0)
                return true;
    return false;
}

bool kl_read(struct check_ctx *ctx, struct kl *out)
{
    bool is_ppo = ctx->facts->run.kind == KIND_PPO && !is_mean_over_tokens(ctx->facts);

    out->length = 0.0;
    out->is_sequence = values_read(ctx, "objective/kl", &out->values);
    if (!out->is_sequence && !values_read(ctx, "kl", &out->values))
        return false;
    out->is_sequence = out->is_sequence || is_ppo;
    if (out->is_sequence)
        out->length = lengths_median(ctx);
    return true;
}

const char *kl_unit(const struct kl *kl)
{
    return kl->is_sequence ? "per sequence" : "per token";
}

ptrdiff_t kl_knee(const struct kl *kl)
{
    const struct values *values = &kl->values;
    double level = KL_KNEE * values_half(values, 0);

    if (values->n < 8 || !(values_quarter(values, 3) >= level))
        return -1;
    for (size_t i = 0; i < values->n; i++)
        if (values->y[i] >= level)
            return (ptrdiff_t)i;
    return -1;
}

const struct setting *kl_coefficient(struct check_ctx *ctx, double *value)
{
    static const char *const NAMES[] = {"init_kl_coef", "kl_coef", "beta"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const struct setting *setting = facts_setting(ctx->facts, NAMES[i]);
        if (setting && setting_number(setting, value) && isfinite(*value))
            return setting;
    }
    return NULL;
}

/* ---- Groups ---- */

bool dead_groups_read(struct check_ctx *ctx, struct dead_groups *out)
{
    *out = (struct dead_groups){0};
    if (values_read_share(ctx, "frac_reward_zero_std", &out->z))
        return true;
    if (values_read(ctx, "reward_std", &out->z))
        out->is_share = true;
    else
        return completions_values(ctx, COMPLETIONS_DEAD, &out->z);
    for (size_t i = 0; i < out->z.n; i++)
        out->z.y[i] = out->z.y[i] == 0.0 ? 1.0 : 0.0;
    return true;
}

int dead_groups_known(struct check_ctx *ctx)
{
    struct values z, std;
    bool has_z = values_read_share(ctx, "frac_reward_zero_std", &z);
    bool has_std = values_read(ctx, "reward_std", &std);

    if (has_z && stat_median(z.y, z.n) >= 0.9)
        return 1;
    if (has_std && stat_median(std.y, std.n) <= 0.0)
        return 1;
    return has_z || has_std ? 0 : -1;
}

/* ---- Names ---- */

void each_metric(const struct run_facts *facts, void (*see)(void *ctx, const char *name), void *ctx)
{
    for (size_t i = 0; i < facts_metric_count(facts); i++) {
        const char *name = facts_metric_name(facts, i);
        bool is_first = name != NULL;

        for (size_t k = 0; k < i && is_first; k++) {
            const char *other = facts_metric_name(facts, k);
            is_first = !other || strcmp(other, name) != 0;
        }
        if (is_first)
            see(ctx, name);
    }
}

bool name_holds(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strcasestr(name, *words))
            return true;
    return false;
}

bool name_is_accuracy(const char *name)
{
    return reward_name_is_accuracy(name);
}

/* ---- Components of the reward ---- */

struct part_list {
    struct check_ctx *ctx;
    struct reward_part *parts;
    size_t n;
};

static void see_part(void *ctx, const char *name)
{
    struct part_list *list = ctx;
    struct reward_part part = {.name = name};
    char own[160];

    if (list->n == MAX_REWARD_PARTS || !reward_part_name(name, own, sizeof own) ||
        !values_read(list->ctx, name, &part.values))
        return;
    part.is_accuracy = name_is_accuracy(own);
    list->parts[list->n++] = part;
}

size_t reward_parts_read(struct check_ctx *ctx, struct reward_part out[MAX_REWARD_PARTS])
{
    struct part_list list = {.ctx = ctx, .parts = out};

    each_metric(ctx->facts, see_part, &list);
    return list.n;
}
