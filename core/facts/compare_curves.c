/* Where the curves of two runs part. The rule stands in compare.h. */
#include <math.h>
#include <string.h>

#include "core/facts/compare.h"
#include "core/facts/eval_points.h"
#include "core/stats/robust.h"

enum { FEWEST_COMMON = 5, SMALLEST_WINDOW = 5, LARGEST_WINDOW = 25 };

static const double FLOOR = 0.005, MEDIAN_ERROR = 1.2533;

/* Values at the common steps. */
struct common {
    size_t n;
    double *a, *b, *r;
    int64_t *step;
};

static bool find_common(const struct eval_points *a, const struct eval_points *b, struct arena *arena,
                        struct common *out)
{
    size_t most = a->n < b->n ? a->n : b->n;

    *out = (struct common){.a = arena_array(arena, most, sizeof *out->a),
                           .b = arena_array(arena, most, sizeof *out->b),
                           .r = arena_array(arena, most, sizeof *out->r),
                           .step = arena_array(arena, most, sizeof *out->step)};
    if (!out->a || !out->b || !out->r || !out->step)
        return false;
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (a->step[i] == b->step[k]) {
            out->a[out->n] = a->value[i];
            out->b[out->n] = b->value[k];
            out->step[out->n++] = a->step[i];
        }
        bool next_a = a->step[i] <= b->step[k], next_b = b->step[k] <= a->step[i];
        i += next_a;
        k += next_b;
    }
    return true;
}

static bool all_positive(const struct common *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!(c->a[i] > 0.0) || !(c->b[i] > 0.0))
            return false;
    return true;
}

/* Half a percent: of r as a logarithm, else of the usual size of the values. */
static double floor_of(const struct common *c, struct arena *arena, bool is_relative)
{
    double *sizes = arena_array(arena, c->n, sizeof *sizes);

    if (is_relative || !sizes)
        return FLOOR;
    for (size_t i = 0; i < c->n; i++)
        sizes[i] = fmax(fabs(c->a[i]), fabs(c->b[i]));
    return FLOOR * stat_median(sizes, c->n);
}

static bool is_beyond(double median, double bound, double side)
{
    return fabs(median) > bound && (side == 0.0 || (median > 0.0) == (side > 0.0));
}

/* From which row on a shift by `median` is more likely than none: the sum of r m - m^2/2 to the end of
 * the window behind is largest there. */
static size_t first_row(const double *r, size_t from, size_t to, double median)
{
    double sum = 0.0, most = -INFINITY;
    size_t best = from;

    for (size_t i = to; i-- > from;) {
        sum += r[i] * median - 0.5 * median * median;
        if (sum >= most) {
            most = sum;
            best = i;
        }
    }
    return best;
}

static void find_parting(const struct common *c, struct compared_curve *out)
{
    size_t w = c->n / 10;

    w = w < SMALLEST_WINDOW ? SMALLEST_WINDOW : w > LARGEST_WINDOW ? LARGEST_WINDOW : w;
    out->bound = fmax(out->bound, 3.0 * MEDIAN_ERROR * out->sigma / sqrt((double)w));
    out->answer = PARTING_WITHIN_NOISE;
    for (size_t i = 0; i + w <= c->n; i++) {
        double median = stat_median(c->r + i, w);
        size_t rest = c->n - i - w, behind = rest < w ? rest : w;

        if (!is_beyond(median, out->bound, 0.0))
            continue;
        if (behind * 2 >= w && !is_beyond(stat_median(c->r + i + w, behind), out->bound, median))
            continue;
        double shift = behind ? stat_median(c->r + i + w, behind) : median;
        size_t at = first_row(c->r, i, i + w + behind, shift);
        out->answer = PARTING_FOUND;
        out->from_start = at == 0;
        out->step = c->step[at];
        out->at_a = c->a[at];
        out->at_b = c->b[at];
        return;
    }
}

bool compare_curve(const struct curve *a, const struct curve *b, struct arena *arena,
                   struct compared_curve *out)
{
    struct eval_points x, y;
    struct common c;
    bool is_equal = true;

    *out = (struct compared_curve){.name = a ? a->name : NULL, .a = a, .b = b, .step = NONE,
                                   .at_a = NAN, .at_b = NAN, .last_a = NAN, .last_b = NAN,
                                   .sigma = NAN, .bound = NAN};
    if (!eval_points_read(a, arena, &x) || !eval_points_read(b, arena, &y) || x.step[0] == NONE ||
        y.step[0] == NONE || !find_common(&x, &y, arena, &c))
        return false;
    out->n_common = c.n;
    if (c.n == 0)
        return true;
    out->last_a = out->at_a = c.a[c.n - 1];
    out->last_b = out->at_b = c.b[c.n - 1];
    out->is_relative = all_positive(&c);
    for (size_t i = 0; i < c.n; i++) {
        c.r[i] = out->is_relative ? log(c.b[i] / c.a[i]) : c.b[i] - c.a[i];
        is_equal = is_equal && c.a[i] == c.b[i];
    }
    if (is_equal)
        out->answer = PARTING_EQUAL;
    if (is_equal || c.n < FEWEST_COMMON)
        return true;
    out->sigma = stat_noise(c.r, c.n);
    out->bound = floor_of(&c, arena, out->is_relative);
    find_parting(&c, out);
    return true;
}

static int weight_of(const char *name)
{
    static const char *const FIRST[] = {"loss", "eval_loss", "grad_norm", "learning_rate"};

    for (int i = 0; i < 4; i++)
        if (strcmp(name, FIRST[i]) == 0)
            return i;
    return strncmp(name, "eval_", 5) == 0 ? 4 : 5;
}

/* Counters and times are no curves that one compares. */
static bool is_bookkeeping(const char *name)
{
    static const char *const NAMES[] = {"epoch", "num_tokens", "step", "total_flos", "step_time"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(name, NAMES[i]) == 0)
            return true;
    return strstr(name, "runtime") || strstr(name, "_per_second") || strstr(name, "memory");
}

static bool is_listed(const struct compared_curve *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return true;
    return false;
}

bool compare_curves(const struct run_facts *a, const struct run_facts *b, struct arena *arena,
                    const struct compared_curve **out, size_t *n)
{
    struct compared_curve *list = arena_array(arena, a->n_series + 1, sizeof *list);

    *n = 0;
    *out = list;
    if (!list)
        return false;
    for (int weight = 0; weight <= 5; weight++)
        for (size_t i = 0; i < a->n_series; i++) {
            const char *name = a->series[i].name;

            if (!name || weight_of(name) != weight || is_bookkeeping(name) ||
                is_listed(list, *n, name) || !facts_has_curve(b, name))
                continue;
            struct compared_curve now;
            if (compare_curve(facts_curve(a, name), facts_curve(b, name), arena, &now) &&
                now.n_common > 0)
                list[(*n)++] = now;
        }
    return !arena_failed(arena);
}
