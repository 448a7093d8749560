/* Completions by step and by group: the completions of one prompt at one step. A group whose rewards are
 * all one teaches nothing; whether all of it was wrong or all of it right is told by the lowest and the
 * best reward that the run has seen. */
#include <math.h>
#include <stdlib.h>

#include "core/facts/completions_parts.h"

static int by_step(const void *pa, const void *pb)
{
    const struct completion_fact *a = pa, *b = pb;

    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->prompt != b->prompt)
        return a->prompt < b->prompt ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return (a->ord > b->ord) - (a->ord < b->ord);
}

static double mean_of(double sum, int64_t n)
{
    return n > 0 ? sum / (double)n : NAN;
}

static void sums_to_means(struct completion_pass *pass)
{
    for (size_t i = 0; i < pass->n_steps; i++) {
        struct completion_step *step = &pass->steps[i];
        const int64_t *counts = pass->counts[i];

        step->words = mean_of(step->words, step->n);
        step->reward = mean_of(step->reward, counts[COMPLETION_REWARDS]);
        for (size_t k = 0; k < COMPLETION_REWARDS; k++)
            step->parts[k] = mean_of(step->parts[k], counts[k]);
    }
}

struct range {
    double low, high;
};

static void widen(struct range *range, double value)
{
    if (isnan(value))
        return;
    if (isnan(range->low) || value < range->low)
        range->low = value;
    if (isnan(range->high) || value > range->high)
        range->high = value;
}

struct ranges {
    struct range reward, accuracy;
};

static bool is_equal(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(1.0, fmax(fabs(a), fabs(b)));
}

/* 1 the rewards of the group are one, 0 they are not, -1 they are not known. */
static int is_dead(const struct completion_fact *rows, size_t n)
{
    bool has_rewards = true, has_advantages = true, same_reward = true, same_advantage = true;

    for (size_t i = 0; i < n; i++) {
        has_rewards &= !isnan(rows[i].reward);
        has_advantages &= !isnan(rows[i].advantage);
    }
    for (size_t i = 1; i < n; i++) {
        same_reward &= has_rewards && is_equal(rows[i].reward, rows[0].reward);
        same_advantage &= has_advantages && is_equal(rows[i].advantage, rows[0].advantage);
    }
    if (has_advantages) /* what the trainer itself made of them */
        return same_advantage;
    return has_rewards ? same_reward : -1;
}

/* At which end of what the run has seen a group of one reward stands: -1 all wrong, 1 all right, 0 between
 * or not to be told. */
static int end_of(const struct completion_fact *row, const struct ranges *ranges)
{
    bool by_accuracy = !isnan(row->accuracy) && ranges->accuracy.high > ranges->accuracy.low;
    double value = by_accuracy ? row->accuracy : row->reward;
    const struct range *range = by_accuracy ? &ranges->accuracy : &ranges->reward;

    if (isnan(value))
        return 0;
    if (!(range->high > range->low))
        return value <= 0.0 ? -1 : value >= 1.0 ? 1 : 0;
    return is_equal(value, range->low) ? -1 : is_equal(value, range->high) ? 1 : 0;
}

/* Sums for the correlation of length and reward inside groups. */
struct inside {
    double xx, yy, xy;
    int64_t n;
};

static void add_inside(struct inside *inside, const struct completion_fact *rows, size_t n)
{
    double mx = 0.0, my = 0.0;

    for (size_t i = 0; i < n; i++) {
        if (isnan(rows[i].reward))
            return;
        mx += rows[i].words / (double)n;
        my += rows[i].reward / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        double x = rows[i].words - mx, y = rows[i].reward - my;

        inside->xx += x * x;
        inside->yy += y * y;
        inside->xy += x * y;
    }
    inside->n += (int64_t)n;
}

static void count_group(struct completion_step *step, const struct completion_fact *rows, size_t n,
                        const struct ranges *ranges)
{
    int dead = is_dead(rows, n);

    if (n < 2 || rows[0].prompt == 0 || dead < 0)
        return;
    step->n_groups++;
    step->n_grouped += (int64_t)n;
    if (!dead)
        return;
    step->n_dead++;
    step->n_dead_rows += (int64_t)n;
    int end = end_of(&rows[0], ranges);
    step->n_wrong += end < 0;
    step->n_right += end > 0;
}

int completions_count_steps(struct completion_pass *pass, struct error *err)
{
    struct completions *out = pass->out;
    struct ranges ranges = {{NAN, NAN}, {NAN, NAN}};
    struct inside inside = {0};
    size_t at = 0;

    sums_to_means(pass);
    for (size_t i = 0; i < pass->n; i++) {
        widen(&ranges.reward, pass->rows[i].reward);
        widen(&ranges.accuracy, pass->rows[i].accuracy);
    }
    if (pass->n)
        qsort(pass->rows, pass->n, sizeof *pass->rows, by_step);
    for (size_t i = 0, k; i < pass->n; i = k) {
        const struct completion_fact *rows = &pass->rows[i];

        for (k = i + 1; k < pass->n && pass->rows[k].step == rows->step &&
                        pass->rows[k].prompt == rows->prompt;)
            k++;
        while (pass->steps[at].step != rows->step)
            at++;
        count_group(&pass->steps[at], rows, k - i, &ranges);
        if (rows->prompt && k - i > 1)
            add_inside(&inside, rows, k - i);
    }
    out->low = ranges.reward.low;
    out->high = ranges.reward.high;
    out->n_length = inside.n;
    out->length_r = inside.xx > 0.0 && inside.yy > 0.0 ? inside.xy / sqrt(inside.xx * inside.yy) : NAN;
    struct completion_step *steps = arena_array(pass->arena, pass->n_steps + 1, sizeof *steps);
    if (!steps)
        return error_set(err, E_NOMEM, "no memory for %zu steps of completions", pass->n_steps);
    for (size_t i = 0; i < pass->n_steps; i++)
        steps[i] = pass->steps[i];
    out->steps = steps;
    out->n_steps = pass->n_steps;
    return OK;
}
