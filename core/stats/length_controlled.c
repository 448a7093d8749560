/* Newton's method for two parameters, and the bootstrap over judgements around it. */
#include "core/stats/length_controlled.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/random.h"

enum { N_DRAWS = 2000, MIN_DRAWS = 200, N_STEPS = 100, SEED = 20 };
static const double Z = 1.959964;
static const double LAMBDA = 1.0, STOP = 1e-12;
static const double MAX_WORK = 4e7; /* judgements over all draws: fewer draws of very many */

struct fit {
    double theta, phi;
};

/* pick: which judgements, NULL: each once. `from` is where the search begins. */
static struct fit fit_logistic(const double *x, const double *y, const size_t *pick, size_t n,
                               struct fit from)
{
    struct fit at = from;

    for (int step = 0; step < N_STEPS; step++) {
        double g0 = 0.0, g1 = LAMBDA * at.phi, h00 = 0.0, h01 = 0.0, h11 = LAMBDA;

        for (size_t k = 0; k < n; k++) {
            size_t i = pick ? pick[k] : k;
            double p = 1.0 / (1.0 + exp(-(at.theta + at.phi * x[i]))), w = p * (1.0 - p);

            g0 += p - y[i];
            g1 += (p - y[i]) * x[i];
            h00 += w;
            h01 += w * x[i];
            h11 += w * x[i] * x[i];
        }
        double det = h00 * h11 - h01 * h01;
        if (!(det > 1e-300))
            break; /* all won or all lost: theta would run away for ever */
        double d0 = (h11 * g0 - h01 * g1) / det, d1 = (h00 * g1 - h01 * g0) / det;
        at.theta -= fmax(-5.0, fmin(5.0, d0));
        at.phi -= fmax(-5.0, fmin(5.0, d1));
        if (fabs(d0) < STOP && fabs(d1) < STOP)
            break;
    }
    return at;
}

static double sigmoid(double theta)
{
    return 1.0 / (1.0 + exp(-theta));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Nearest rank. */
static double quantile(const double *sorted, size_t n, double q)
{
    size_t rank = (size_t)ceil(q * (double)n);

    return sorted[rank > 0 ? rank - 1 : 0];
}

static bool bootstrap(const double *x, const double *y, size_t n, struct length_controlled *out)
{
    size_t n_draws = (double)n * N_DRAWS <= MAX_WORK ? N_DRAWS : (size_t)(MAX_WORK / (double)n);
    struct random random;

    n_draws = n_draws < MIN_DRAWS ? MIN_DRAWS : n_draws;
    size_t *pick = calloc(n, sizeof *pick);
    double *rates = calloc(n_draws, sizeof *rates);
    if (!pick || !rates) {
        free(pick);
        free(rates);
        return false;
    }
    random_seed(&random, SEED);
    for (size_t d = 0; d < n_draws; d++) {
        for (size_t i = 0; i < n; i++)
            pick[i] = (size_t)random_below(&random, n);
        struct fit fit = fit_logistic(x, y, pick, n, (struct fit){out->theta, out->phi});
        rates[d] = sigmoid(fit.theta);
    }
    qsort(rates, n_draws, sizeof *rates, by_value);
    out->interval = (struct interval){quantile(rates, n_draws, 0.025),
                                      quantile(rates, n_draws, 0.975)};
    free(pick);
    free(rates);
    return true;
}

/* Of very many, where drawing them again takes minutes and the rate is normal in the logit: the variance
 * that the bootstrap estimates, inverse Hessian, squares of the scores, inverse Hessian. */
static void by_formula(const double *x, const double *y, size_t n, struct length_controlled *out)
{
    double h00 = 0.0, h01 = 0.0, h11 = LAMBDA, s00 = 0.0, s01 = 0.0, s11 = 0.0;

    for (size_t i = 0; i < n; i++) {
        double p = sigmoid(out->theta + out->phi * x[i]), w = p * (1.0 - p), r = (p - y[i]) * (p - y[i]);

        h00 += w;
        h01 += w * x[i];
        h11 += w * x[i] * x[i];
        s00 += r;
        s01 += r * x[i];
        s11 += r * x[i] * x[i];
    }
    double det = h00 * h11 - h01 * h01, half = 0.0;
    if (det > 1e-300)
        half = Z * sqrt(fmax(0.0, h11 * h11 * s00 - 2.0 * h11 * h01 * s01 + h01 * h01 * s11)) / det;
    out->interval = (struct interval){sigmoid(out->theta - half), sigmoid(out->theta + half)};
}

static double sample_sd(const double *x, size_t n)
{
    double mean = 0.0, squares = 0.0;

    for (size_t i = 0; i < n; i++)
        mean += x[i];
    mean /= (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return sqrt(squares / (double)(n - 1));
}

bool length_controlled(const double *length_base, const double *length_candidate,
                       const double *score, size_t n, struct length_controlled *out)
{
    *out = (struct length_controlled){.n = n, .sd = NAN, .theta = NAN, .phi = NAN, .rate = NAN,
                                      .interval = {NAN, NAN}};
    double *x = n >= LENGTH_CONTROLLED_MIN ? calloc(n, sizeof *x) : NULL;
    if (!x)
        return false;
    for (size_t i = 0; i < n; i++)
        x[i] = length_candidate[i] - length_base[i];
    out->sd = sample_sd(x, n);
    bool is_done = isfinite(out->sd) && out->sd > 0.0;
    for (size_t i = 0; i < n && is_done; i++)
        x[i] = tanh(x[i] / out->sd);
    if (is_done) {
        struct fit fit = fit_logistic(x, score, NULL, n, (struct fit){0.0, 0.0});
        out->theta = fit.theta;
        out->phi = fit.phi;
        out->rate = sigmoid(fit.theta);
        if ((double)n * MIN_DRAWS > MAX_WORK)
            by_formula(x, score, n, out);
        else
            is_done = bootstrap(x, score, n, out);
    }
    free(x);
    return is_done;
}
