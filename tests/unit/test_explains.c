/* Folding, consequences and roots by the tables of CHECKS.md 1.4 and 1.5. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/checks/explains.h"

enum { MAX = 8 };

struct board {
    struct check_result results[MAX];
    bool is_dismissed[MAX], is_folded[MAX];
    ptrdiff_t explained_by[MAX];
    size_t n;
};

static struct check_result *put(struct board *b, const char *id, enum verdict verdict)
{
    struct check_result *r = &b->results[b->n++];

    *r = (struct check_result){.check_id = id,
                               .verdict = verdict,
                               .branch = "",
                               .confidence = CONFIDENCE_STRONG,
                               .from_step = NONE};
    return r;
}

static void mark(struct board *b)
{
    explains_mark(b->results, b->is_dismissed, b->n, b->explained_by, b->is_folded);
}

static void the_tables_have_no_cycles(void **state)
{
    (void)state;
    assert_true(explains_is_sound());
}

static void a_found_cause_leads_the_non_finite_group(void **state)
{
    struct board b = {.n = 0};

    (void)state;
    put(&b, "nan-hidden-in-log", VERDICT_FAIL)->from_step = 50;
    put(&b, "nan-onset", VERDICT_FAIL)->from_step = 50;
    put(&b, "nan-fp16-overflow", VERDICT_FAIL);
    mark(&b);
    assert_int_equal(b.explained_by[2], -1);
    assert_int_equal(b.explained_by[0], 2);
    assert_int_equal(b.explained_by[1], 2);
    assert_true(b.is_folded[0] && b.is_folded[1]);
}

static void onset_leads_the_hidden_rows_without_a_cause(void **state)
{
    struct board b = {.n = 0};

    (void)state;
    put(&b, "nan-hidden-in-log", VERDICT_FAIL);
    put(&b, "nan-onset", VERDICT_FAIL);
    mark(&b);
    assert_int_equal(b.explained_by[1], -1);
    assert_int_equal(b.explained_by[0], 1);
}

static void a_setting_alone_explains_no_failure(void **state)
{
    struct board b = {.n = 0};

    (void)state;
    put(&b, "nan-onset", VERDICT_FAIL);
    put(&b, "nan-fp16-overflow", VERDICT_WARN)->confidence = CONFIDENCE_POSSIBLE;
    put(&b, "diverged", VERDICT_FAIL);
    mark(&b);
    assert_int_equal(b.explained_by[0], -1);
    assert_int_equal(b.explained_by[2], -1);
}

static void nothing_explains_what_came_before_it(void **state)
{
    struct board b = {.n = 0};

    (void)state;
    put(&b, "diverged", VERDICT_FAIL)->from_step = 10;
    put(&b, "resume-jump", VERDICT_FAIL)->from_step = 40;
    mark(&b);
    assert_int_equal(b.explained_by[0], -1);
    b.results[0].from_step = 41;
    mark(&b);
    assert_int_equal(b.explained_by[0], 1);
}

static void a_dismissed_finding_neither_explains_nor_is_explained(void **state)
{
    struct board b = {.n = 0};

    (void)state;
    put(&b, "nan-onset", VERDICT_FAIL);
    put(&b, "nan-high-lr", VERDICT_FAIL);
    b.is_dismissed[1] = true;
    mark(&b);
    assert_int_equal(b.explained_by[0], -1);
    b.is_dismissed[0] = true;
    b.is_dismissed[1] = false;
    mark(&b);
    assert_int_equal(b.explained_by[0], -1);
}

static void branches_decide_where_the_table_says_so(void **state)
{
    struct board b = {.n = 0};

    (void)state;
    put(&b, "flat-no-grad", VERDICT_FAIL);
    struct check_result *loaded = put(&b, "adapter-not-loaded", VERDICT_FAIL);
    mark(&b);
    assert_int_equal(b.explained_by[1], -1);
    loaded->branch = "identical-output";
    mark(&b);
    assert_int_equal(b.explained_by[1], 0);
}

static void two_ways_of_reward_hacking_do_not_circle(void **state)
{
    struct board b = {.n = 0};

    (void)state;
    struct check_result *hacking = put(&b, "reward-hacking", VERDICT_FAIL);
    put(&b, "kl-too-low", VERDICT_FAIL);
    hacking->branch = "contradiction";
    mark(&b);
    assert_int_equal(b.explained_by[0], -1);
    assert_int_equal(b.explained_by[1], 0);
    hacking->branch = "length";
    mark(&b);
    assert_int_equal(b.explained_by[0], 1);
    assert_int_equal(b.explained_by[1], -1);
}

static const struct evidence *log_line(struct evidence *e, int64_t source, int64_t line)
{
    *e = (struct evidence){.kind = "log", .source_id = source, .line = line, .step = NONE};
    return e;
}

static void the_owner_of_the_exception_line_explains_the_end(void **state)
{
    struct evidence own[2], other;
    struct board b = {.n = 0};

    (void)state;
    struct check_result *stop = put(&b, "run-incomplete", VERDICT_FAIL);
    struct check_result *oom = put(&b, "oom-train", VERDICT_FAIL);
    log_line(&own[0], 1, 210);
    log_line(&own[1], 1, 190);
    stop->branch = "exception";
    stop->evidence = own;
    stop->n_evidence = 2;
    oom->evidence = log_line(&other, 1, 210);
    oom->n_evidence = 1;
    mark(&b);
    assert_int_equal(b.explained_by[0], 1);
    other.line = 195; /* inside the same traceback */
    mark(&b);
    assert_int_equal(b.explained_by[0], 1);
    other.line = 100;
    mark(&b);
    assert_int_equal(b.explained_by[0], -1);
    other.line = 210;
    other.source_id = 2;
    mark(&b);
    assert_int_equal(b.explained_by[0], -1);
}

static void a_kill_by_the_kernel_explains_a_log_that_stops(void **state)
{
    struct board b = {.n = 0};

    (void)state;
    struct check_result *stop = put(&b, "run-incomplete", VERDICT_WARN);
    put(&b, "host-oom-killed", VERDICT_FAIL);
    stop->branch = "stopped";
    mark(&b);
    assert_int_equal(b.explained_by[0], 1);
    stop->branch = "exception";
    mark(&b);
    assert_int_equal(b.explained_by[0], -1);
}

static void truncation_leads_where_prompts_alone_reach_the_limit(void **state)
{
    struct board b = {.n = 0};

    (void)state;
    struct check_result *cut = put(&b, "truncation-cuts-answer", VERDICT_FAIL);
    put(&b, "flat-all-masked", VERDICT_FAIL);
    put(&b, "loss-zero-all-masked", VERDICT_FAIL);
    cut->branch = "prompt-at-limit";
    mark(&b);
    assert_int_equal(b.explained_by[0], -1);
    assert_int_equal(b.explained_by[1], 0);
    assert_int_equal(b.explained_by[2], 0);
    assert_true(b.is_folded[1] && b.is_folded[2]);
}

static void last_not_best_leads_only_when_the_best_is_gone(void **state)
{
    struct board b = {.n = 0};

    (void)state;
    put(&b, "overfit", VERDICT_FAIL);
    struct check_result *last = put(&b, "last-not-best", VERDICT_FAIL);
    mark(&b);
    assert_int_equal(b.explained_by[0], -1);
    assert_int_equal(b.explained_by[1], 0);
    last->branch = "gone";
    mark(&b);
    assert_int_equal(b.explained_by[0], 1);
    assert_int_equal(b.explained_by[1], -1);
}

static void consequences_of_consequences_end_at_one_root(void **state)
{
    struct board b = {.n = 0};

    (void)state;
    put(&b, "loss-scale-overflow", VERDICT_FAIL);
    put(&b, "nan-fp16-overflow", VERDICT_FAIL);
    put(&b, "diverged", VERDICT_FAIL);
    put(&b, "overfit", VERDICT_WARN);
    mark(&b);
    size_t roots = 0;
    for (size_t i = 0; i < b.n; i++) {
        size_t at = i, steps = 0;
        while (b.explained_by[at] >= 0 && steps++ < MAX)
            at = (size_t)b.explained_by[at];
        assert_int_equal(at, 1);
        roots += b.explained_by[i] < 0;
    }
    assert_int_equal(roots, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_have_no_cycles),
        cmocka_unit_test(a_found_cause_leads_the_non_finite_group),
        cmocka_unit_test(onset_leads_the_hidden_rows_without_a_cause),
        cmocka_unit_test(a_setting_alone_explains_no_failure),
        cmocka_unit_test(nothing_explains_what_came_before_it),
        cmocka_unit_test(a_dismissed_finding_neither_explains_nor_is_explained),
        cmocka_unit_test(branches_decide_where_the_table_says_so),
        cmocka_unit_test(two_ways_of_reward_hacking_do_not_circle),
        cmocka_unit_test(the_owner_of_the_exception_line_explains_the_end),
        cmocka_unit_test(a_kill_by_the_kernel_explains_a_log_that_stops),
        cmocka_unit_test(truncation_leads_where_prompts_alone_reach_the_limit),
        cmocka_unit_test(last_not_best_leads_only_when_the_best_is_gone),
        cmocka_unit_test(consequences_of_consequences_end_at_one_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
