/* Readings of loss 0.0 and the substitution rows; see the header. */
#include "core/facts/loss_zero.h"

#include <math.h>
#include <string.h>

#include "core/facts/facts_cache.h"

static bool is_rl(enum run_kind kind)
{
    return kind == KIND_GRPO || kind == KIND_PPO;
}

static bool has_reward_keys(const struct run_facts *facts)
{
    static const char *const KEYS[] = {"reward", "rewards/margins", "rewards/chosen",
                                       "rewards/accuracies", "objective/kl"};

    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++)
        if (facts_has_curve(facts, KEYS[i]))
            return true;
    return is_rl(facts->run.kind);
}

/* Loaded side by side: one column of row numbers serves both (curves.c). */
static bool are_same_rows(const struct curve *a, const struct curve *b)
{
    return a->seq == b->seq && a->n == b->n && a->source_id == b->source_id && !a->source &&
           !b->source;
}

/* grad_norm of every row of the loss. Where another source logged it, the row of the same step
 * counts: the console and the state file are two prints of one row. */
static bool read_grad_norms(const struct run_facts *facts, struct loss_zero *out, bool *known)
{
    const struct curve *grad = facts_curve(facts, "grad_norm");

    if (grad && are_same_rows(grad, out->loss)) {
        out->grad_norm = grad->value;
        out->has_grad_norm = true;
        memset(known, true, out->n_rows);
        return true;
    }
    double *values = arena_array(facts->cache->arena, out->n_rows, sizeof *values);
    out->grad_norm = values;
    if (!values)
        return false;
    for (size_t i = 0; grad && i < out->n_rows; i++) {
        known[i] = curve_on_row(grad, out->loss, i, &values[i]);
        if (!known[i] && grad->source_id != out->loss->source_id && out->loss->step[i] != NONE) {
            ptrdiff_t at = curve_at_step(grad, out->loss->step[i]);
            known[i] = at >= 0 && grad->step[at] == out->loss->step[i];
            if (known[i])
                values[i] = grad->value[at];
        }
        out->has_grad_norm = out->has_grad_norm || known[i];
    }
    return true;
}

static bool is_live(double y)
{
    return isfinite(y) && y != 0.0;
}

/* Without grad_norm: two live rows, then nothing but 0.0 to the end of the segment. */
static void mark_trailing_zeros(const struct loss_zero *zero, bool *is_substitution)
{
    const struct curve *loss = zero->loss;
    size_t end = zero->n_rows;

    while (end > 0) {
        size_t i = end, first = end;
        int32_t segment = loss->segment ? loss->segment[end - 1] : 0;
        while (i > 0 && (!loss->segment || loss->segment[i - 1] == segment) &&
               loss->value[i - 1] == 0.0)
            first = --i;
        size_t live = 0;
        while (i > 0 && (!loss->segment || loss->segment[i - 1] == segment))
            live += is_live(loss->value[--i]);
        for (size_t k = first; live >= 2 && k < end; k++)
            is_substitution[k] = true;
        end = i;
    }
}

static void mark_substitutions(struct loss_zero *out, bool *is_substitution)
{
    if (!out->has_grad_norm && !out->has_reward_keys)
        mark_trailing_zeros(out, is_substitution);
    out->first_substitution = out->n_rows;
    for (size_t i = 0; i < out->n_rows; i++) {
        if (out->has_grad_norm_on[i] && isfinite(out->loss->value[i]) &&
            !isfinite(out->grad_norm[i]))
            is_substitution[i] = true;
        if (!is_substitution[i])
            continue;
        out->n_substitution++;
        if (out->first_substitution == out->n_rows)
            out->first_substitution = i;
    }
}

static void mark_masked_batches(struct loss_zero *out, bool *is_masked)
{
    bool live_before = false;
    size_t last_live = 0;

    for (size_t i = out->n_rows; i-- > 0 && last_live == 0;)
        if (is_live(out->loss->value[i]))
            last_live = i;
    for (size_t i = 0; i < out->n_rows; i++) {
        bool has_none = out->has_grad_norm_on[i] && out->grad_norm[i] == 0.0;
        if (is_live(out->loss->value[i]))
            live_before = true;
        if (!has_none || out->has_reward_keys)
            continue;
        if (out->loss->value[i] == 0.0 && live_before && i < last_live) {
            is_masked[i] = true;
            out->n_masked_batch++;
        } else if (out->loss->value[i] > 0.0) {
            out->n_dead_gradient++;
        }
    }
}

static bool is_at_row(const struct run_facts *facts, const char *name, const struct curve *loss,
                      size_t i, double *value)
{
    const struct curve *curve = facts_curve(facts, name);

    return curve && curve_on_row(curve, loss, i, value);
}

static enum loss_zero_reading read_reward_run(const struct run_facts *facts,
                                              const struct loss_zero *zero)
{
    size_t n_saturated = 0, n_dead = 0, n_grad = 0, n_moving = 0;

    for (size_t i = 0; i < zero->n_rows; i++) {
        double margin = NAN, accuracy = NAN, deviation = NAN;
        if (zero->has_grad_norm_on[i]) {
            n_grad++;
            n_moving += zero->grad_norm[i] > 0.0;
        }
        if (zero->loss->value[i] != 0.0)
            continue;
        if (is_at_row(facts, "rewards/margins", zero->loss, i, &margin) &&
            is_at_row(facts, "rewards/accuracies", zero->loss, i, &accuracy))
            n_saturated += margin > 10.0 && accuracy >= 1.0;
        if (is_at_row(facts, "reward_std", zero->loss, i, &deviation) && deviation == 0.0)
            n_dead += zero->has_grad_norm_on[i] && zero->grad_norm[i] == 0.0;
    }
    if (2 * n_saturated >= zero->n_zero)
        return LOSS_ZERO_DPO_SATURATED;
    if (2 * n_moving < n_grad && 2 * n_dead >= zero->n_zero)
        return LOSS_ZERO_RL_NO_SIGNAL;
    return LOSS_ZERO_RL_NORMAL;
}

static enum loss_zero_reading read_zero(const struct run_facts *facts, const struct loss_zero *zero)
{
    if (zero->n_zero == 0)
        return LOSS_ZERO_NONE;
    if (zero->has_reward_keys)
        return read_reward_run(facts, zero);
    if (zero->n_masked_batch > 0 && zero->n_masked_batch == zero->n_zero)
        return LOSS_ZERO_MASKED_BATCH;
    if (!zero->first_row_is_zero) {
        for (size_t i = zero->first_substitution; i < zero->n_rows; i++)
            if (zero->is_substitution[i] && zero->loss->value[i] == 0.0)
                return LOSS_ZERO_NONFINITE;
        return zero->n_masked_batch > 0 ? LOSS_ZERO_MASKED_BATCH : LOSS_ZERO_ROUNDED;
    }
    if (!zero->has_grad_norm_on[0])
        return LOSS_ZERO_NOTHING_SUPERVISED;
    if (!isfinite(zero->grad_norm[0]))
        return LOSS_ZERO_UNDECIDED;
    return zero->grad_norm[0] > 1e-4 ? LOSS_ZERO_ROUNDED : LOSS_ZERO_NOTHING_SUPERVISED;
}

static void read_all(const struct run_facts *facts, struct loss_zero *out)
{
    struct arena *arena = facts->cache->arena;
    const struct curve *loss = facts_curve(facts, "loss");

    *out =
        (struct loss_zero){.reading = LOSS_ZERO_NO_LOSS, .has_reward_keys = has_reward_keys(facts)};
    if (!loss || loss->n == 0)
        return;
    bool *known = arena_array(arena, loss->n, sizeof *known);
    bool *is_substitution = arena_array(arena, loss->n, sizeof *is_substitution);
    bool *is_masked = arena_array(arena, loss->n, sizeof *is_masked);
    if (!known || !is_substitution || !is_masked)
        return;
    out->loss = loss;
    out->n_rows = loss->n;
    if (!read_grad_norms(facts, out, known)) {
        *out = (struct loss_zero){.reading = LOSS_ZERO_NO_LOSS};
        return;
    }
    out->has_grad_norm_on = known;
    out->is_substitution = is_substitution;
    out->is_masked_batch = is_masked;
    for (size_t i = 0; i < loss->n; i++)
        out->n_zero += loss->value[i] == 0.0;
    out->first_row_is_zero = loss->value[0] == 0.0;
    mark_substitutions(out, is_substitution);
    mark_masked_batches(out, is_masked);
    out->reading = read_zero(facts, out);
}

void loss_zero_read(const struct run_facts *facts, struct loss_zero *out)
{
    struct facts_cache *cache = facts->cache;

    if (cache->loss_zero) {
        *out = *cache->loss_zero;
        return;
    }
    read_all(facts, out);
    struct loss_zero *kept = arena_alloc(cache->arena, sizeof *kept);
    if (kept)
        *kept = *out;
    cache->loss_zero = kept;
}

bool loss_zero_grad_norm(const struct loss_zero *zero, size_t i, double *value)
{
    if (i >= zero->n_rows || !zero->has_grad_norm_on[i])
        return false;
    *value = zero->grad_norm[i];
    return true;
}
