/* Where a run became non-finite, and what the rows before say; see the header. */
#include "core/facts/onset.h"

#include <math.h>
#include <string.h>

#include "core/stats/curve.h"
#include "core/stats/replay.h"
#include "core/stats/robust.h"

#define RAMP_ROWS         20
#define MAX_REPLAYED_ROWS 4096

static void clear(struct run_onset *out)
{
    *out = (struct run_onset){.last_finite = -1,
                              .last_finite_step = NONE,
                              .first_bad_step = NONE,
                              .line = NONE,
                              .grad_ratio = NAN,
                              .grad_before = NAN,
                              .grad_median = NAN,
                              .loss_ratio = NAN,
                              .loss_sigmas = NAN,
                              .first_loss = NAN};
}

static int64_t step_at(const struct curve *curve, ptrdiff_t i)
{
    return i >= 0 && curve->step ? curve->step[i] : NONE;
}

static void take(struct run_onset *out, const struct curve *curve, const struct onset *onset)
{
    out->found = true;
    out->is_persistent = onset->is_persistent;
    out->curve = curve;
    out->first_bad = onset->first_bad;
    out->last_finite = onset->last_finite;
    out->last_finite_step = step_at(curve, onset->last_finite);
    out->first_bad_step = step_at(curve, (ptrdiff_t)onset->first_bad);
    out->line = curve->line ? curve->line[onset->first_bad] : NONE;
    out->n_bad = onset->n_bad;
}

/* A persistent onset before an isolated value, then the earlier step. */
static bool comes_first(const struct curve *curve, const struct onset *a, const struct run_onset *b)
{
    if (!b->found)
        return true;
    if (a->is_persistent != b->is_persistent)
        return a->is_persistent;
    return step_at(curve, (ptrdiff_t)a->first_bad) < b->first_bad_step;
}

static void consider(struct run_onset *out, const struct curve *curve, const bool *also_bad)
{
    struct onset onset;

    if (!curve || curve->n == 0)
        return;
    curve_onset(curve->value, also_bad, curve->n, &onset);
    if (onset.found && comes_first(curve, &onset, out))
        take(out, curve, &onset);
}

/* ---- The rows before the onset ---- */

static void read_grad_ramp(const struct loss_zero *zero, size_t first_bad, struct run_onset *out)
{
    double before[RAMP_ROWS];
    size_t n = 0;
    ptrdiff_t last = -1;

    for (size_t i = first_bad; i-- > 0 && n < RAMP_ROWS;) {
        double g;
        if (!loss_zero_grad_norm(zero, i, &g) || !isfinite(g))
            continue;
        if (last < 0)
            last = (ptrdiff_t)i;
        else
            before[n++] = g;
    }
    if (last < 0 || n < 2)
        return;
    out->grad_before = zero->grad_norm[last];
    out->grad_median = stat_median(before, n);
    if (out->grad_median > 0.0)
        out->grad_ratio = out->grad_before / out->grad_median;
    out->has_ramp_data = true;
}

static double running_minimum_of_medians(const double *y, size_t n)
{
    double least = INFINITY;

    for (size_t i = 3; i <= n; i++)
        least = fmin(least, stat_median(y + i - 3, 3));
    return least;
}

static void read_loss_rise(const double *y, size_t n, struct arena *arena, struct run_onset *out)
{
    double least = INFINITY;

    if (n < 2)
        return;
    out->has_ramp_data = true;
    if (n < 6) {
        for (size_t i = 0; i < n; i++)
            least = fmin(least, y[i]);
        out->loss_ratio = y[n - 1] / least;
        out->loss_rose = out->loss_ratio >= 1.3;
        return;
    }
    double *logs = arena_array(arena, n, sizeof *logs);
    if (!logs)
        return;
    for (size_t i = 0; i < n; i++)
        logs[i] = log(y[i]);
    double sigma = stat_noise(logs, n);
    out->loss_ratio = stat_median(y + n - 3, 3) / running_minimum_of_medians(y, n);
    out->loss_sigmas =
        sigma > 0.0 ? log(out->loss_ratio) / sigma : (out->loss_ratio > 1.0 ? INFINITY : 0.0);
    out->loss_rose = out->loss_ratio >= 1.3 && out->loss_sigmas > 4.0;
}

static void read_rows_before(const struct loss_zero *zero, struct arena *arena,
                             struct run_onset *out)
{
    size_t n = 0, end = out->first_bad;
    const struct curve *loss = zero->loss;

    if (!loss || out->last_finite < 0)
        return;
    if (out->curve != loss) {
        ptrdiff_t at = curve_at_step(loss, out->last_finite_step);
        end = at < 0 ? 0 : (size_t)at + 1;
    }
    double *y = arena_array(arena, end, sizeof *y);
    if (!y)
        return;
    for (size_t i = 0; i < end; i++)
        if (isfinite(loss->value[i]) && loss->value[i] > 0.0 && !zero->is_substitution[i] &&
            (!loss->segment || loss->segment[i] == loss->segment[end - 1]))
            y[n++] = loss->value[i];
    read_loss_rise(y, n, arena, out);
    read_grad_ramp(zero, end, out);
}

static bool is_grad_only(const struct loss_zero *zero)
{
    if (!zero->loss || zero->n_substitution == 0)
        return false;
    for (size_t i = 0; i < zero->n_rows; i++)
        if (!isfinite(zero->loss->value[i]) ||
            (zero->is_substitution[i] && zero->loss->value[i] == 0.0))
            return false;
    return true;
}

static bool is_policy_metric(const char *name)
{
    return strcmp(name, "entropy") == 0 || strcmp(name, "kl") == 0 ||
           strncmp(name, "logps", 5) == 0;
}

void onset_training(const struct run_facts *facts, struct arena *arena, struct run_onset *out)
{
    struct loss_zero zero;

    clear(out);
    loss_zero_read(facts, &zero);
    if (zero.loss)
        consider(out, zero.loss, zero.is_substitution);
    else
        consider(out, facts_curve(facts, "grad_norm"), NULL);
    for (size_t i = 0; i < facts->n_series; i++)
        if (facts->series[i].name && is_policy_metric(facts->series[i].name))
            consider(out, facts_curve(facts, facts->series[i].name), NULL);
    for (size_t i = 0; zero.loss && i < zero.n_rows && isnan(out->first_loss); i++)
        if (isfinite(zero.loss->value[i]) && !zero.is_substitution[i])
            out->first_loss = zero.loss->value[i];
    if (!out->found)
        return;
    out->is_substitution = out->curve == zero.loss && zero.is_substitution[out->first_bad];
    out->only_infinite_grad = out->curve == zero.loss && is_grad_only(&zero);
    out->recovers = out->curve == zero.loss && zero.n_rows > 0 &&
                    isfinite(zero.loss->value[zero.n_rows - 1]) &&
                    !zero.is_substitution[zero.n_rows - 1];
    read_rows_before(&zero, arena, out);
}

void onset_eval(const struct run_facts *facts, struct arena *arena, struct run_onset *out)
{
    size_t n = 0;
    const struct curve *const *curves = facts_eval_losses(facts, &n);

    (void)arena;
    clear(out);
    for (size_t i = 0; i < n; i++)
        consider(out, curves[i], NULL);
}

/* ---- Batch replay ---- */

/* Optimiser steps of the whole run by rows and batch; equal to what was logged only when no other
 * process shared the rows. */
static int64_t world_size(const struct run_facts *facts, double rows, double per_step)
{
    double epochs = facts->planned_epochs;
    double stated;

    if (facts_number(facts, "world_size", &stated) && stated >= 1.0)
        return (int64_t)stated;
    if (facts->max_steps > 0 && isfinite(epochs) && epochs > 0.0) {
        double world = rows * epochs / (per_step * (double)facts->max_steps);
        double whole = floor(world + 0.5);
        if (whole >= 1.0 && fabs(world - whole) < 0.2)
            return (int64_t)whole;
    }
    if (facts->last_step > 0 && isfinite(facts->last_epoch) && facts->last_epoch > 0.0) {
        double world = rows * facts->last_epoch / (per_step * (double)facts->last_step);
        double whole = floor(world + 0.5);
        if (whole >= 1.0 && fabs(world - whole) < 0.2)
            return (int64_t)whole;
    }
    return NONE;
}

static const char *why_not_replayable(const struct run_facts *facts)
{
    const char *strategy = facts_text(facts, "train_sampling_strategy");

    if (facts_bool(facts, "group_by_length") == 1)
        return "batches were grouped by length";
    if (strategy && strcmp(strategy, "random") != 0 && strcmp(strategy, "sequential") != 0)
        return "the sampler is neither random nor sequential";
    if (facts_bool(facts, "packing") == 1)
        return "rows were packed";
    if (facts_bool(facts, "streaming") == 1)
        return "the data was streamed";
    if (!facts_setting(facts, "per_device_train_batch_size"))
        return "the batch size is not stated";
    return NULL;
}

static const char *prepare(const struct run_facts *facts, struct replay *replay,
                           const struct dataset **dataset)
{
    double micro = 0.0, accumulation = 1.0, seed = 42.0;
    const char *strategy = facts_text(facts, "train_sampling_strategy");
    int64_t rows = facts_train_rows(facts, dataset);
    const char *why_not = why_not_replayable(facts);

    if (why_not)
        return why_not;
    if (rows <= 0)
        return "the number of training rows is not known";
    if (!facts_number(facts, "per_device_train_batch_size", &micro) || !(micro >= 1.0))
        return "the batch size is not stated";
    if (facts_number(facts, "gradient_accumulation_steps", &accumulation) && !(accumulation >= 1.0))
        accumulation = 1.0;
    if (!facts_number(facts, "data_seed", &seed) && !facts_number(facts, "seed", &seed))
        return "the seed is not stated";
    int64_t world = world_size(facts, (double)rows, micro * accumulation);
    if (world < 1)
        return "the logged epochs do not agree with the rows and the batch size";
    if (!(seed >= 0.0 && seed < 9e15) || micro > 1e6 || accumulation > 1e6 || world > 1000000)
        return "the seed or the batch size is out of range";
    *replay = (struct replay){.n_rows = rows,
                              .seed = (uint64_t)seed,
                              .is_sequential = strategy && strcmp(strategy, "sequential") == 0,
                              .micro_batch = (int64_t)micro,
                              .accumulation = (int64_t)accumulation,
                              .world = world};
    return NULL;
}

void onset_replay(const struct run_facts *facts, struct arena *arena, int64_t from_step,
                  int64_t to_step, struct onset_rows *out)
{
    struct replay replay;

    *out = (struct onset_rows){0};
    out->why_not = prepare(facts, &replay, &out->dataset);
    if (out->why_not)
        return;
    if (to_step < 1 || from_step < 0 || to_step - from_step > MAX_REPLAYED_ROWS) {
        out->why_not = "the steps of the onset are not known";
        return;
    }
    int64_t *rows = arena_array(arena, MAX_REPLAYED_ROWS, sizeof *rows);
    for (int64_t step = from_step + 1; rows && step <= to_step; step++) {
        size_t n = 0;
        int rc = replay_step_rows(&replay, step, rows + out->n_rows,
                                  MAX_REPLAYED_ROWS - out->n_rows, &n, NULL);
        if (rc != OK || n == 0) {
            out->why_not = "the batches of the onset hold too many rows to name";
            return;
        }
        out->n_rows += n;
    }
    out->rows = rows;
    out->is_named = rows != NULL;
}

const char *onset_place(const struct run_onset *onset, struct arena *arena)
{
    bool has_step = onset->first_bad_step != NONE;
    const char *place = arena_printf(arena, "%s %lld", has_step ? "step" : "line",
                                     (long long)(has_step ? onset->first_bad_step : onset->line));

    return place ? place : "a row";
}
