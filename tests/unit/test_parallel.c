/* Items over several threads: each once, each in its slot, no worker in two items at a time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "core/jobs/parallel.h"

#define N_ITEMS 5000

struct sheet {
    int result[N_ITEMS];
    atomic_int inside[PARALLEL_MAX];
    atomic_bool has_overlapped;
};

static void square(void *ctx, int worker, size_t i)
{
    struct sheet *sheet = ctx;

    if (atomic_fetch_add(&sheet->inside[worker], 1) != 0)
        atomic_store(&sheet->has_overlapped, true);
    sheet->result[i] += (int)(i * i % 1000) + 1;
    atomic_fetch_sub(&sheet->inside[worker], 1);
}

static void every_item_is_done_once_by_any_number_of_threads(void **state)
{
    static struct sheet sheet;

    (void)state;
    for (int n = 1; n <= PARALLEL_MAX; n++) {
        struct parallel *p = NULL;

        memset(&sheet, 0, sizeof sheet);
        assert_int_equal(parallel_open(&p, n, NULL), OK);
        assert_true(parallel_workers(p) <= n);
        parallel_run(p, N_ITEMS, square, &sheet);
        for (size_t i = 0; i < N_ITEMS; i++)
            assert_int_equal(sheet.result[i], (int)(i * i % 1000) + 1);
        assert_false(sheet.has_overlapped);
        parallel_close(p);
    }
}

static void threads_serve_one_run_after_the_other(void **state)
{
    static struct sheet sheet;
    struct parallel *p = NULL;

    (void)state;
    memset(&sheet, 0, sizeof sheet);
    assert_int_equal(parallel_open(&p, 4, NULL), OK);
    for (int run = 0; run < 200; run++)
        parallel_run(p, 10, square, &sheet);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(sheet.result[i], 200 * ((int)(i * i % 1000) + 1));
    parallel_run(p, 0, square, &sheet);
    parallel_close(p);
}

static void the_machine_decides_when_nobody_does(void **state)
{
    struct parallel *p = NULL;

    (void)state;
    assert_int_equal(parallel_open(&p, 0, NULL), OK);
    assert_in_range(parallel_workers(p), 1, PARALLEL_MAX);
    parallel_close(p);
    parallel_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_done_once_by_any_number_of_threads),
        cmocka_unit_test(threads_serve_one_run_after_the_other),
        cmocka_unit_test(the_machine_decides_when_nobody_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
