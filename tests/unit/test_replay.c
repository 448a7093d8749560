/* Permutations equal torch.randperm's (torch 2.15, CPU generator), batches are its slices. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include <stdlib.h>

#include "core/stats/replay.h"

#define N(array) (sizeof(array) / sizeof *(array))

static void ten_rows_are_shuffled_as_torch_does(void **state)
{
    static const struct {
        uint64_t seed;
        int64_t order[10];
    } rows[] = {
        {0, {4, 1, 7, 5, 3, 9, 0, 8, 6, 2}},
        {42, {2, 6, 1, 8, 4, 5, 0, 9, 3, 7}},
        {43, {8, 4, 9, 0, 5, 1, 6, 7, 2, 3}},
        {4294967301u, {1, 4, 9, 6, 3, 5, 0, 2, 8, 7}}, /* only the low 32 bits count */
    };
    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        int64_t order[10];
        assert_int_equal(replay_randperm(rows[i].seed, 10, order, NULL), OK);
        assert_memory_equal(order, rows[i].order, sizeof order);
    }
}

/* The whole order as one number: h = h · 1000003 + row, modulo 2^61 − 1. */
static uint64_t fingerprint(const int64_t *order, int64_t n)
{
    const uint64_t prime = ((uint64_t)1 << 61) - 1;
    uint64_t h = 0;
    for (int64_t i = 0; i < n; i++) {
        /* 20 bits at a time, so that no product passes 64 bits */
        uint64_t product = 0, factor = 1000003, term = h;
        while (factor > 0) {
            if (factor & 1)
                product = (product + term) % prime;
            term = term * 2 % prime;
            factor >>= 1;
        }
        h = (product + (uint64_t)order[i]) % prime;
    }
    return h;
}

static void long_permutations_are_those_of_torch_to_the_last_row(void **state)
{
    static const struct {
        int64_t n;
        uint64_t seed;
        int64_t first[4], last[4];
        uint64_t fingerprint;
    } rows[] = {
        {100, 0, {44, 19, 93, 90}, {86, 43, 99, 51}, 383312090478156064u},
        {100, 42, {42, 96, 62, 98}, {25, 92, 49, 28}, 1794357371514824234u},
        {100, 43, {88, 94, 37, 23}, {29, 54, 72, 35}, 709680461117702565u},
        {1000, 0, {44, 37, 675, 775}, {932, 745, 263, 354}, 260558523090049842u},
        {1000, 42, {542, 618, 816, 68}, {284, 638, 96, 455}, 1427477817755689927u},
        {1000, 43, {588, 148, 223, 575}, {569, 220, 174, 439}, 1588545540659327731u},
        {100000,
         42,
         {37542, 60279, 68544, 70051},
         {77199, 44288, 94835, 53243},
         2061650535590705037u},
    };
    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        int64_t n = rows[i].n;
        int64_t *order = malloc((size_t)n * sizeof *order);
        assert_non_null(order);
        assert_int_equal(replay_randperm(rows[i].seed, n, order, NULL), OK);
        assert_memory_equal(order, rows[i].first, sizeof rows[i].first);
        assert_memory_equal(order + n - 4, rows[i].last, sizeof rows[i].last);
        assert_true(fingerprint(order, n) == rows[i].fingerprint);
        free(order);
    }
}

static void too_many_rows_are_refused(void **state)
{
    struct error err;
    (void)state;
    assert_int_equal(replay_randperm(0, (int64_t)1 << 40, NULL, &err), E_LIMIT);
    assert_int_equal(replay_randperm(0, -1, NULL, &err), E_LIMIT);
}

static void a_step_takes_the_next_slice_of_the_epochs_order(void **state)
{
    const struct replay replay = {
        .n_rows = 10, .seed = 42, .micro_batch = 2, .accumulation = 2, .world = 1};
    const int64_t second[] = {4, 5, 0, 9}, third[] = {3, 7}, fourth[] = {8, 4, 9, 0};
    int64_t rows[8];
    size_t n;
    (void)state;
    assert_int_equal(replay_step_rows(&replay, 2, rows, N(rows), &n, NULL), OK);
    assert_int_equal(n, 4);
    assert_memory_equal(rows, second, sizeof second);
    assert_int_equal(replay_step_rows(&replay, 3, rows, N(rows), &n, NULL), OK);
    assert_int_equal(n, 2); /* what the epoch has left */
    assert_memory_equal(rows, third, sizeof third);
    assert_int_equal(replay_step_rows(&replay, 4, rows, N(rows), &n, NULL), OK);
    assert_int_equal(n, 4); /* epoch 1: seed 43 */
    assert_memory_equal(rows, fourth, sizeof fourth);
}

static void ranks_add_to_the_rows_of_a_step(void **state)
{
    const struct replay replay = {
        .n_rows = 10, .seed = 0, .micro_batch = 1, .accumulation = 2, .world = 3};
    int64_t rows[8];
    size_t n;
    (void)state;
    assert_int_equal(replay_step_rows(&replay, 1, rows, N(rows), &n, NULL), OK);
    assert_int_equal(n, 6);
}

static void sequential_order_is_the_files(void **state)
{
    const struct replay replay = {.n_rows = 5,
                                  .seed = 1,
                                  .is_sequential = true,
                                  .micro_batch = 2,
                                  .accumulation = 1,
                                  .world = 1};
    const int64_t expected[] = {2, 3};
    int64_t rows[2];
    size_t n;
    (void)state;
    assert_int_equal(replay_step_rows(&replay, 2, rows, N(rows), &n, NULL), OK);
    assert_memory_equal(rows, expected, sizeof expected);
}

static void impossible_questions_get_no_rows(void **state)
{
    struct replay replay = {.n_rows = 5, .micro_batch = 2, .accumulation = 1, .world = 1};
    int64_t rows[2];
    size_t n = 9;
    (void)state;
    assert_int_equal(replay_step_rows(&replay, 0, rows, N(rows), &n, NULL), OK);
    assert_int_equal(n, 0);
    replay.micro_batch = 0;
    assert_int_equal(replay_step_rows(&replay, 1, rows, N(rows), &n, NULL), OK);
    assert_int_equal(n, 0);
    replay.micro_batch = 4;
    assert_int_equal(replay_step_rows(&replay, 1, rows, N(rows), &n, NULL), E_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_rows_are_shuffled_as_torch_does),
        cmocka_unit_test(long_permutations_are_those_of_torch_to_the_last_row),
        cmocka_unit_test(too_many_rows_are_refused),
        cmocka_unit_test(a_step_takes_the_next_slice_of_the_epochs_order),
        cmocka_unit_test(ranks_add_to_the_rows_of_a_step),
        cmocka_unit_test(sequential_order_is_the_files),
        cmocka_unit_test(impossible_questions_get_no_rows),
    };
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
