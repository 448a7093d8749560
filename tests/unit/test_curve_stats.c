/* Curve tests F3 to F8, C0.19 and stage P, to the digits of CHECKS.md where its cases are small. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "core/base/random.h"
#include "core/stats/curve.h"

#define N(array) (sizeof(array) / sizeof *(array))

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g, expected %.17g", value, expected);
}

/* About normal: the sum of twelve uniform draws. */
static double noise(struct random *random)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++)
        sum += random_unit(random);
    return sum;
}

/* ---- F3 ---- */

static void few_rows_are_too_few_to_call_flat(void **state)
{
    double y[29];
    struct flat flat;
    (void)state;
    for (size_t i = 0; i < N(y); i++)
        y[i] = 1.0;
    curve_flat(y, N(y), &flat);
    assert_int_equal(flat.answer, FLAT_TOO_FEW);
    assert_int_equal(flat.more_needed, 1);
}

static void a_level_curve_is_flat_and_a_falling_one_learns(void **state)
{
    double level[60], falling[60], rising[60];
    struct flat flat;
    (void)state;
    for (size_t i = 0; i < N(level); i++) {
        level[i] = 2.0;
        falling[i] = 2.0 * exp(-0.01 * (double)i);
        rising[i] = 1.0 + 0.02 * (double)i;
    }
    curve_flat(level, N(level), &flat);
    assert_int_equal(flat.answer, FLAT_FLAT);
    near(flat.drop, 0.0, 1e-12);
    curve_flat(falling, N(falling), &flat);
    assert_int_equal(flat.answer, FLAT_LEARNING);
    near(flat.drop, 0.01 * (49.5 - 2.5), 1e-9); /* means of the first 6 and last 20 */
    curve_flat(rising, N(rising), &flat);
    assert_int_equal(flat.answer, FLAT_RISING);
}

static void noise_around_a_level_is_never_called_learning_often(void **state)
{
    size_t learning = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct random random;
        double y[60];
        struct flat flat;
        random_seed(&random, seed);
        for (size_t i = 0; i < N(y); i++)
            y[i] = exp(0.06 * noise(&random));
        curve_flat(y, N(y), &flat);
        learning += flat.answer == FLAT_LEARNING;
    }
    assert_true(learning <= 16); /* 0.08 of 200 */
}

static void a_small_decay_under_noise_is_never_called_flat(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct random random;
        double y[60];
        struct flat flat;
        random_seed(&random, seed);
        for (size_t i = 0; i < N(y); i++)
            y[i] = (1.0 + 0.4 * exp(-(double)i / 20.0)) * exp(0.06 * noise(&random));
        curve_flat(y, N(y), &flat);
        assert_int_not_equal(flat.answer, FLAT_FLAT);
    }
}

/* ---- F4 ---- */

static void onset_is_the_first_row_of_what_persists(void **state)
{
    double y[] = {1, NAN, 1, 1, INFINITY, NAN, 1, NAN};
    struct onset onset;
    (void)state;
    curve_onset(y, NULL, N(y), &onset);
    assert_true(onset.found && onset.is_persistent);
    assert_int_equal(onset.first_bad, 4);
    assert_int_equal(onset.last_finite, 3);
    assert_int_equal(onset.n_bad, 4);
}

static void a_single_bad_row_does_not_persist(void **state)
{
    double y[] = {1, NAN, 1, 1};
    struct onset onset;
    (void)state;
    curve_onset(y, NULL, N(y), &onset);
    assert_true(onset.found);
    assert_false(onset.is_persistent);
    assert_int_equal(onset.first_bad, 1);
    assert_int_equal(onset.last_finite, 0);
}

static void a_bad_last_row_persists_to_the_end(void **state)
{
    double y[] = {1, 2, NAN};
    struct onset onset;
    (void)state;
    curve_onset(y, NULL, N(y), &onset);
    assert_true(onset.is_persistent);
    assert_int_equal(onset.first_bad, 2);
}

static void marked_rows_are_bad_and_a_finite_curve_has_no_onset(void **state)
{
    double y[] = {0, 0, 1};
    bool marked[] = {true, true, false};
    struct onset onset;
    (void)state;
    curve_onset(y, marked, N(y), &onset);
    assert_true(onset.found && onset.is_persistent);
    assert_int_equal(onset.last_finite, -1);
    curve_onset(y, NULL, N(y), &onset);
    assert_false(onset.found);
}

/* ---- F5 ---- */

static void a_plateau_names_where_it_began(void **state)
{
    int64_t step[90];
    double y[90];
    struct plateau plateau;
    (void)state;
    for (size_t i = 0; i < N(y); i++) {
        step[i] = 10 * (int64_t)(i + 1);
        y[i] = i < 30 ? 3.0 - 0.05 * (double)i : i % 2 ? 1.5 : 1.5003;
    }
    assert_true(curve_plateau(step, y, N(y), 900, &plateau));
    assert_true(plateau.is_plateau);
    assert_in_range(plateau.from_step, 310, 400);
}

static void a_falling_end_is_no_plateau_and_few_rows_are_no_answer(void **state)
{
    int64_t step[60];
    double y[60];
    struct plateau plateau;
    (void)state;
    for (size_t i = 0; i < N(y); i++) {
        step[i] = (int64_t)i + 1;
        y[i] = exp(-0.02 * (double)i);
    }
    assert_true(curve_plateau(step, y, N(y), 60, &plateau));
    assert_false(plateau.is_plateau);
    near(plateau.slope_percent, -0.012, 1e-9); /* 0.02 a step, 1 % is 0.6 steps */
    assert_false(curve_plateau(step, y, 29, 60, &plateau));
    assert_false(curve_plateau(step, y, 60, 0, &plateau));
}

/* ---- F6 ---- */

static void overfitting_meets_the_stated_rises(void **state)
{
    const double wobble[] = {1.52, 1.41, 1.36, 1.345, 1.351, 1.338, 1.334, 1.336};
    const double second_epoch[] = {1.55, 1.43, 1.39, 1.46, 1.51, 1.55, 1.78, 1.86, 1.91};
    double overwritten[30];
    struct overfit overfit;
    (void)state;
    assert_true(curve_overfit(wobble, N(wobble), &overfit));
    near(overfit.rise, 0.0015, 5e-5);
    near(overfit.sigma, 0.0157, 5e-5);
    assert_int_equal(overfit.n_later, 1);
    assert_true(curve_overfit(second_epoch, N(second_epoch), &overfit));
    near(overfit.rise, 0.374, 5e-4);
    assert_int_equal(overfit.best, 2);
    for (size_t i = 0; i < N(overwritten); i++)
        overwritten[i] = i <= 20 ? 1.21 - 0.012 * (double)i : 0.97 + 0.02 * (double)(i - 20);
    assert_true(curve_overfit(overwritten, N(overwritten), &overfit));
    near(overfit.rise, 0.186, 5e-4);
    assert_int_equal(overfit.best, 20);
    assert_int_equal(overfit.n_later, 9);
}

static void the_first_of_equal_minima_is_the_best(void **state)
{
    const double e[] = {2, 1, 1, 3};
    struct overfit overfit;
    (void)state;
    assert_true(curve_overfit(e, N(e), &overfit));
    assert_int_equal(overfit.best, 1);
    near(overfit.sigma, 0.0, 0); /* below 5 points only percentages count */
    assert_false(curve_overfit(e, 2, &overfit));
}

static void a_reloaded_best_model_is_recognised(void **state)
{
    const int64_t step[] = {100, 200, 300, 360};
    const double reloaded[] = {1.4668, 1.48, 1.5020, 1.4668}, level[] = {1.5, 1.4, 1.4, 1.4},
                 falling[] = {1.5, 1.4, 1.3, 1.2};
    (void)state;
    assert_true(curve_repeats_best(step, reloaded, 4));
    assert_false(curve_repeats_best(step, level, 4));
    assert_false(curve_repeats_best(step, falling, 4));
}

/* ---- F8, C0.19 ---- */

static void a_spike_stands_out_of_the_fifty_rows_before(void **state)
{
    double y[120];
    bool is_spike[120];
    struct random random;
    (void)state;
    random_seed(&random, 7);
    for (size_t i = 0; i < N(y); i++)
        y[i] = exp(0.05 * noise(&random));
    assert_int_equal(curve_spikes(y, N(y), is_spike), 0);
    y[80] *= 2.5;
    y[20] *= 2.5; /* no fifty rows before it */
    assert_int_equal(curve_spikes(y, N(y), is_spike), 1);
    assert_true(is_spike[80]);
}

static void a_jump_that_stays_is_a_divergence(void **state)
{
    const double y[] = {1.21, 1.08, 0.97, 0.95, 0.93, 3.11, 5.87, 6.66, 6.61, 6.64};
    struct divergence divergence;
    (void)state;
    curve_divergence(y, N(y), &divergence);
    assert_true(divergence.fails);
    near(divergence.ratio, 6.81, 5e-3);
    near(divergence.minimum, 0.97, 1e-12);
    near(divergence.end, 6.61, 1e-12);
    assert_int_equal(divergence.jump, 5);
}

static void a_resume_at_a_higher_loss_is_no_divergence(void **state)
{
    const double y[] = {2.152,  1.6445, 1.3454, 1.1257, 0.9755, 0.8989, 0.8286, 0.7857,
                        0.7605, 0.7365, 1.92,   1.5,    1.2,    1.01,   0.9};
    struct divergence divergence;
    (void)state;
    curve_divergence(y, N(y), &divergence);
    assert_false(divergence.fails);
    near(divergence.ratio, 1.53, 5e-3);
}

static void noise_of_single_batches_is_no_divergence(void **state)
{
    double y[40];
    struct divergence divergence;
    (void)state;
    for (size_t i = 0; i < N(y); i++)
        y[i] = i % 2 ? 0.3 : 0.1;
    for (size_t i = 10; i < 15; i++)
        y[i] = 0.06 + 0.001 * (double)i;
    for (size_t i = 35; i < 40; i++)
        y[i] = 0.25;
    curve_divergence(y, N(y), &divergence);
    assert_true(divergence.ratio > 2.0);
    assert_true(divergence.sigmas < 4.0);
    assert_false(divergence.fails);
}

static void blowing_up_in_the_first_rows_is_a_divergence(void **state)
{
    double y[24];
    struct divergence divergence;
    (void)state;
    for (size_t i = 0; i < N(y); i++)
        y[i] = i < 2 ? 1.0 : i < 8 ? 9.0 : 4.0 - 0.01 * (double)i;
    curve_divergence(y, N(y), &divergence);
    assert_true(divergence.fails);
    assert_true(divergence.in_first_rows);
    assert_int_equal(divergence.jump, 2);
}

static void six_rows_can_diverge_in_the_short_form(void **state)
{
    const double up[] = {2.0, 1.5, 6.0, 7.0, 7.5, 7.0}, back[] = {2.0, 1.5, 6.0, 7.0, 2.5, 1.6};
    struct divergence divergence;
    (void)state;
    curve_divergence(up, N(up), &divergence);
    assert_true(divergence.fails && divergence.is_short_form);
    assert_int_equal(divergence.jump, 2);
    curve_divergence(back, N(back), &divergence);
    assert_false(divergence.fails);
    curve_divergence(up, 5, &divergence);
    assert_false(divergence.fails);
}

static void a_slow_drift_up_only_warns(void **state)
{
    double y[60];
    struct divergence divergence;
    (void)state;
    for (size_t i = 0; i < N(y); i++)
        y[i] = i < 30 ? 1.2 - 0.01 * (double)i : 0.9 + 0.02 * (double)(i - 30);
    curve_divergence(y, N(y), &divergence);
    assert_false(divergence.fails);
    assert_true(divergence.warns);
}

/* Independent rows of 30 % noise, drawn until their last 10-row medians stood 1.2 times above the
 * least one. */
static void noise_of_single_batches_is_no_drift(void **state)
{
    static const double y[] = {
        1.04, 3.20, 1.69, 2.43, 1.57, 2.10, 1.90, 1.24, 2.24, 2.42, 1.43, 1.07,
        1.65, 1.55, 2.07, 1.99, 3.24, 2.43, 1.85, 2.10, 0.84, 1.52, 1.52, 1.93,
        2.20, 2.13, 2.65, 1.63, 2.19, 1.92, 2.01, 2.20, 1.84, 2.13, 1.98, 2.72,
        1.93, 2.19, 4.36, 2.41, 2.33, 2.76, 1.48, 2.47, 2.50, 2.28, 2.68, 2.53};
    struct divergence divergence;
    (void)state;
    curve_divergence(y, N(y), &divergence);
    assert_false(divergence.fails || divergence.warns);
}

static void a_row_that_is_not_finite_forbids_the_question(void **state)
{
    double y[12] = {1, 1, 1, 1, 1, 1, 1, 9, 9, 9, INFINITY, 9};
    struct divergence divergence;
    (void)state;
    curve_divergence(y, N(y), &divergence);
    assert_false(divergence.fails || divergence.warns);
}

/* ---- Stage P ---- */

static void quarters_of_noise_do_not_move_and_a_ramp_does(void **state)
{
    const double reward[] = {1.8,   1.827, 1.777, 1.792, 1.83,  1.784, 1.784, 1.83,  1.791, 1.777,
                             1.827, 1.8,   1.773, 1.823, 1.808, 1.77,  1.817, 1.816, 1.77,  1.809};
    double ramp[20], level[20];
    struct movement movement;
    (void)state;
    assert_true(curve_movement(reward, N(reward), &movement));
    assert_false(movement.rose || movement.fell);
    for (size_t i = 0; i < N(ramp); i++) {
        ramp[i] = -0.1 * (double)i;
        level[i] = 1.0;
    }
    assert_true(curve_movement(ramp, N(ramp), &movement));
    assert_true(movement.fell);
    near(movement.moved, -1.5, 1e-12);
    assert_true(curve_movement(level, N(level), &movement));
    assert_false(movement.rose || movement.fell);
    assert_false(curve_movement(level, 3, &movement));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rows_are_too_few_to_call_flat),
        cmocka_unit_test(a_level_curve_is_flat_and_a_falling_one_learns),
        cmocka_unit_test(noise_around_a_level_is_never_called_learning_often),
        cmocka_unit_test(a_small_decay_under_noise_is_never_called_flat),
        cmocka_unit_test(onset_is_the_first_row_of_what_persists),
        cmocka_unit_test(a_single_bad_row_does_not_persist),
        cmocka_unit_test(a_bad_last_row_persists_to_the_end),
        cmocka_unit_test(marked_rows_are_bad_and_a_finite_curve_has_no_onset),
        cmocka_unit_test(a_plateau_names_where_it_began),
        cmocka_unit_test(a_falling_end_is_no_plateau_and_few_rows_are_no_answer),
        cmocka_unit_test(overfitting_meets_the_stated_rises),
        cmocka_unit_test(the_first_of_equal_minima_is_the_best),
        cmocka_unit_test(a_reloaded_best_model_is_recognised),
        cmocka_unit_test(a_spike_stands_out_of_the_fifty_rows_before),
        cmocka_unit_test(a_jump_that_stays_is_a_divergence),
        cmocka_unit_test(a_resume_at_a_higher_loss_is_no_divergence),
        cmocka_unit_test(noise_of_single_batches_is_no_divergence),
        cmocka_unit_test(blowing_up_in_the_first_rows_is_a_divergence),
        cmocka_unit_test(six_rows_can_diverge_in_the_short_form),
        cmocka_unit_test(a_slow_drift_up_only_warns),
        cmocka_unit_test(noise_of_single_batches_is_no_drift),
        cmocka_unit_test(a_row_that_is_not_finite_forbids_the_question),
        cmocka_unit_test(quarters_of_noise_do_not_move_and_a_ramp_does),
    };
    return cmocka_run_group_tests_name("curve_stats", tests, NULL, NULL);
}
