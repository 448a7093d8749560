/* Rows that verl prints: values between dashes, behind the head of a worker or alone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "importers/run/console_loop.h"

static struct console_row row;

static void values_between_dashes_become_a_row(void **state)
{
    (void)state;
    struct str line = str_of("step:12 - critic/score/mean:0.31 - actor/lr:1e-06 - "
                             "actor/pg_loss:np.float64(-0.02) - timing_s/step:61.20 - perf/mfu:0.3");

    assert_true(console_loop_may_begin(line));
    assert_true(console_dashed_read(line, &row));
    assert_int_equal(row.n, 4);
    assert_true(str_is(row.fields[0].key, "step"));
    assert_true(row.fields[0].value == 12.0);
    assert_true(str_is(row.fields[1].key, "critic/score/mean"));
    assert_true(row.fields[3].value == -0.02);
}

static void the_head_of_a_worker_is_passed_over(void **state)
{
    (void)state;
    struct str line = str_of("(TaskRunner pid=4121, ip=10.0.0.4) step:3 - a:1 - b:nan - c:-2e-3");

    assert_true(console_loop_may_begin(line));
    assert_true(console_dashed_read(line, &row));
    assert_int_equal(row.n, 4);
    assert_true(row.fields[2].value != row.fields[2].value);
}

static void other_lines_are_no_rows(void **state)
{
    static const char *const LINES[] = {
        "step:12 - saving the checkpoint - done",
        "step:twelve - a:1 - b:2 - c:3",
        "step:12",
        "(step:12) - a:1 - b:2 - c:3",
        "(WorkerDict pid=4121) loading shard 3 of 4: ok",
        "epoch 3 - step:12 - a:1 - b:2 - c:3",
        "",
    };

    (void)state;
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++)
        assert_false(console_dashed_read(str_of(LINES[i]), &row));
}

static void more_values_than_a_row_holds_are_left_out(void **state)
{
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 16);
    buf_puts(&text, "step:1");
    for (int i = 0; i < 2 * CONSOLE_MAX_FIELDS; i++)
        buf_printf(&text, " - a%d:%d", i, i);
    assert_true(console_dashed_read(buf_view(&text), &row));
    assert_int_equal(row.n, CONSOLE_MAX_FIELDS);
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_between_dashes_become_a_row),
        cmocka_unit_test(the_head_of_a_worker_is_passed_over),
        cmocka_unit_test(other_lines_are_no_rows),
        cmocka_unit_test(more_values_than_a_row_holds_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
