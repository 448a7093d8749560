/* resume-jump: boundaries that continue, boundaries that do not, and what is no boundary. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/checks/registry.h"
#include "tests/harness/fake_run.h"

enum { ROWS = 24, RESUMED = 12 };

struct rows {
    int64_t step[ROWS + 8];
    double loss[ROWS + 8], rate[ROWS + 8], tokens[ROWS + 8];
    size_t n;
};

/* A run of 24 rows at steps 4, 8 …, a linear schedule, tokens that count on. */
static void ordinary(struct rows *r)
{
    r->n = ROWS;
    for (size_t i = 0; i < ROWS; i++) {
        r->step[i] = 4 * ((int64_t)i + 1);
        r->loss[i] = 1.3 - 0.01 * (double)i;
        r->rate[i] = 0.005 * (1.0 - (double)i / 30.0);
        r->tokens[i] = 1000.0 * (double)(i + 1);
    }
}

static struct fake_run *run_of(const struct rows *r)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    fake_curve_at(run, "loss", r->step, r->loss, r->n);
    fake_curve_at(run, "learning_rate", r->step, r->rate, r->n);
    fake_curve_at(run, "num_tokens", r->step, r->tokens, r->n);
    return run;
}

static enum verdict verdict_of(const struct rows *r, struct check_result *out)
{
    struct fake_run *run = run_of(r);

    fake_check(run, &check_resume_jump, out);
    enum verdict verdict = out->verdict;
    fake_run_free(run);
    return verdict;
}

static void tokens_begin_again(struct rows *r)
{
    for (size_t i = RESUMED; i < r->n; i++)
        r->tokens[i] -= 1000.0 * RESUMED;
}

static void a_run_without_a_boundary_passes(void **state)
{
    struct check_result out;
    struct rows r;

    (void)state;
    ordinary(&r);
    assert_int_equal(verdict_of(&r, &out), VERDICT_PASS);
}

static void a_resume_that_goes_on_passes(void **state)
{
    struct check_result out;
    struct rows r;

    (void)state;
    ordinary(&r);
    tokens_begin_again(&r);
    assert_int_equal(verdict_of(&r, &out), VERDICT_PASS);
}

static void a_schedule_that_starts_anew_is_a_warning(void **state)
{
    struct check_result out;
    struct rows r;

    (void)state;
    ordinary(&r);
    tokens_begin_again(&r);
    for (size_t i = RESUMED; i < ROWS; i++)
        r.rate[i] = r.rate[i - RESUMED];
    assert_int_equal(verdict_of(&r, &out), VERDICT_WARN);
}

static void rate_and_loss_that_jump_fail_at_the_row_after(void **state)
{
    struct check_result out;
    struct rows r;

    (void)state;
    ordinary(&r);
    tokens_begin_again(&r);
    for (size_t i = RESUMED; i < ROWS; i++) {
        r.rate[i] = r.rate[i - RESUMED];
        r.loss[i] += 0.7;
    }
    struct fake_run *run = run_of(&r);
    fake_check(run, &check_resume_jump, &out);
    assert_int_equal(out.verdict, VERDICT_FAIL);
    assert_int_equal(out.from_step, r.step[RESUMED]);
    assert_int_equal(out.evidence[0].step, r.step[RESUMED]);
    assert_int_equal(out.evidence[1].last_step, r.step[RESUMED - 1]);
    fake_run_free(run);
}

static void a_loss_that_jumps_alone_is_a_warning(void **state)
{
    struct check_result out;
    struct rows r;

    (void)state;
    ordinary(&r);
    tokens_begin_again(&r);
    for (size_t i = RESUMED; i < ROWS; i++)
        r.loss[i] += 0.7;
    assert_int_equal(verdict_of(&r, &out), VERDICT_WARN);
}

/* The rows printed last lie beyond the checkpoint: the comparison has to go back with the resume.
 */
static void repeated_steps_are_compared_with_the_rows_before_them(void **state)
{
    struct check_result out;
    struct rows r, again;

    (void)state;
    ordinary(&r);
    again = r;
    for (size_t i = 0; i < 4; i++) {
        again.step[ROWS + i] = r.step[ROWS - 4 + i];
        again.loss[ROWS + i] = r.loss[ROWS - 4 + i];
        again.rate[ROWS + i] = r.rate[ROWS - 4 + i];
        again.tokens[ROWS + i] = r.tokens[ROWS - 4 + i];
    }
    again.n = ROWS + 4;
    assert_int_equal(verdict_of(&again, &out), VERDICT_PASS);
}

static void a_scheduler_with_restarts_may_rise(void **state)
{
    struct check_result out;
    struct rows r;

    (void)state;
    ordinary(&r);
    tokens_begin_again(&r);
    for (size_t i = RESUMED; i < ROWS; i++)
        r.rate[i] = r.rate[i - RESUMED];
    struct fake_run *run = run_of(&r);
    fake_setting(run, "lr_scheduler_type", "cosine_with_restarts");
    fake_check(run, &check_resume_jump, &out);
    assert_int_equal(out.verdict, VERDICT_PASS);
    fake_run_free(run);
}

static void stairs_at_epoch_ends_are_no_boundary(void **state)
{
    struct check_result out;
    struct rows r;

    (void)state;
    ordinary(&r);
    for (size_t i = 8; i < ROWS; i++)
        r.loss[i] *= i < 16 ? 0.7 : 0.4;
    assert_int_equal(verdict_of(&r, &out), VERDICT_PASS);
}

static void a_resume_line_names_the_checkpoint(void **state)
{
    struct check_result out;
    struct rows r;

    (void)state;
    ordinary(&r);
    for (size_t i = RESUMED; i < ROWS; i++)
        r.loss[i] += 0.7;
    struct fake_run *run = run_of(&r);
    fake_event(run, "resume-jump", "resume-continue", 48,
               "  Continuing training from global step 48")
        ->line = 500;
    fake_capture(run, 1, "48");
    fake_check(run, &check_resume_jump, &out);
    assert_int_equal(out.verdict, VERDICT_WARN);
    assert_int_equal(out.from_step, 52);
    fake_run_free(run);
}

static void a_hidden_restart_needs_rate_and_loss(void **state)
{
    struct check_result out;
    struct rows r;

    (void)state;
    ordinary(&r);
    for (size_t i = RESUMED; i < ROWS; i++)
        r.rate[i] = r.rate[i - RESUMED];
    assert_int_equal(verdict_of(&r, &out), VERDICT_PASS);
    for (size_t i = RESUMED; i < ROWS; i++)
        r.loss[i] += 0.9;
    assert_int_equal(verdict_of(&r, &out), VERDICT_FAIL);
}

static void a_run_without_rows_is_unknown(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct check_result out;

    (void)state;
    fake_check(run, &check_resume_jump, &out);
    assert_int_equal(out.verdict, VERDICT_UNKNOWN);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_without_a_boundary_passes),
        cmocka_unit_test(a_resume_that_goes_on_passes),
        cmocka_unit_test(a_schedule_that_starts_anew_is_a_warning),
        cmocka_unit_test(rate_and_loss_that_jump_fail_at_the_row_after),
        cmocka_unit_test(a_loss_that_jumps_alone_is_a_warning),
        cmocka_unit_test(repeated_steps_are_compared_with_the_rows_before_them),
        cmocka_unit_test(a_scheduler_with_restarts_may_rise),
        cmocka_unit_test(stairs_at_epoch_ends_are_no_boundary),
        cmocka_unit_test(a_resume_line_names_the_checkpoint),
        cmocka_unit_test(a_hidden_restart_needs_rate_and_loss),
        cmocka_unit_test(a_run_without_rows_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
