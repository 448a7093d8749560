/* The win rate at equal length: what it corrects, what it refuses, and that it is the same each time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "core/base/random.h"
#include "core/stats/length_controlled.h"

enum { N = 400 };

struct judged {
    double base[N], tuned[N], score[N];
};

/* Wins follow the difference in length as far as `by_length`, and the candidate as far as `by_merit`
 * (both in log odds). */
static struct judged draw(double by_length, double by_merit)
{
    struct judged made;
    struct random random;

    random_seed(&random, 7);
    for (int i = 0; i < N; i++) {
        made.base[i] = 100.0 + 100.0 * random_unit(&random);
        made.tuned[i] = made.base[i] * (1.0 + 0.8 * random_unit(&random));
        double longer = (made.tuned[i] - made.base[i]) / 60.0;
        double p = 1.0 / (1.0 + exp(-(by_merit + by_length * tanh(longer))));
        made.score[i] = random_unit(&random) < p;
    }
    return made;
}

static void a_gain_by_length_alone_is_gone_at_equal_length(void **state)
{
    struct judged made = draw(2.0, 0.0);
    struct length_controlled got;
    double raw = 0.0;

    (void)state;
    for (int i = 0; i < N; i++)
        raw += made.score[i] / N;
    assert_true(length_controlled(made.base, made.tuned, made.score, N, &got));
    assert_true(raw > 0.7);
    assert_true(got.interval.low < 0.5 && got.interval.high > 0.5);
    assert_true(got.phi > 0.5);
}

static void a_gain_by_merit_stays(void **state)
{
    struct judged made = draw(0.0, 1.5);
    struct length_controlled got;

    (void)state;
    assert_true(length_controlled(made.base, made.tuned, made.score, N, &got));
    assert_true(got.interval.low > 0.5);
}

static void the_same_judgements_give_the_same_interval(void **state)
{
    struct judged made = draw(1.0, 0.3);
    struct length_controlled a, b;

    (void)state;
    assert_true(length_controlled(made.base, made.tuned, made.score, N, &a));
    assert_true(length_controlled(made.base, made.tuned, made.score, N, &b));
    assert_true(a.interval.low == b.interval.low && a.interval.high == b.interval.high);
    assert_true(a.interval.low < a.rate && a.rate < a.interval.high);
}

static void few_judgements_and_equal_lengths_are_refused(void **state)
{
    struct judged made = draw(1.0, 0.3);
    struct length_controlled got;

    (void)state;
    assert_true(length_controlled(made.base, made.tuned, made.score, 50, &got));
    assert_false(length_controlled(made.base, made.tuned, made.score, 49, &got));
    assert_false(length_controlled(made.base, made.base, made.score, N, &got));
    assert_true(isnan(got.rate));
    assert_false(length_controlled(made.base, made.tuned, made.score, 0, &got));
}

static void all_won_is_a_rate_of_one(void **state)
{
    struct judged made = draw(1.0, 0.3);
    struct length_controlled got;

    (void)state;
    for (int i = 0; i < N; i++)
        made.score[i] = 1.0;
    assert_true(length_controlled(made.base, made.tuned, made.score, N, &got));
    assert_true(got.rate > 0.99 && got.interval.low > 0.99);
    for (int i = 0; i < N; i++)
        made.score[i] = 0.5;
    assert_true(length_controlled(made.base, made.tuned, made.score, N, &got));
    assert_true(fabs(got.rate - 0.5) < 1e-9);
}

static double logit(double p)
{
    return log(p / (1.0 - p));
}

/* The same judgements 8 times and 512 times: 204,800 of them, whose interval is 8 times as narrow and is not
 * drawn. */
static void very_many_judgements_have_the_interval_that_drawing_would_give(void **state)
{
    enum { TIMES = 512, FEW = 8 };
    struct judged made = draw(1.0, 0.5);
    double *all = calloc((size_t)3 * N * TIMES, sizeof *all);
    double *base = all, *tuned = all + N * TIMES, *score = tuned + N * TIMES;
    struct length_controlled few, many;

    (void)state;
    assert_non_null(all);
    for (int i = 0; i < N * TIMES; i++) {
        base[i] = made.base[i % N];
        tuned[i] = made.tuned[i % N];
        score[i] = made.score[i % N];
    }
    assert_true(length_controlled(base, tuned, score, N * FEW, &few));
    assert_true(length_controlled(base, tuned, score, N * TIMES, &many));
    double drawn = (logit(few.interval.high) - logit(few.interval.low)) / sqrt(TIMES / FEW);
    double width = logit(many.interval.high) - logit(many.interval.low);
    assert_true(fabs(width / drawn - 1.0) < 0.06);
    assert_true(many.interval.low < many.rate && many.rate < many.interval.high);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gain_by_length_alone_is_gone_at_equal_length),
        cmocka_unit_test(a_gain_by_merit_stays),
        cmocka_unit_test(the_same_judgements_give_the_same_interval),
        cmocka_unit_test(few_judgements_and_equal_lengths_are_refused),
        cmocka_unit_test(all_won_is_a_rate_of_one),
        cmocka_unit_test(very_many_judgements_have_the_interval_that_drawing_would_give),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
