/* The scrolling table. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdio.h>

#include "views/table.h"

static struct str cell(const void *context, size_t row, size_t column, enum style_role *style)
{
    static char text[32];
    const char *const *names = context;

    if (column == 0)
        return str_of(names[row]);
    *style = STYLE_WARN;
    snprintf(text, sizeof text, "%zu", row * 10);
    return str_of(text);
}

static const char *const NAMES[] = {"lr", "\xE6\xB0\xB4\xE6\xB0\xB4", "warmup", "d", "e"};
static const struct table_column COLUMNS[] = {{"name", false, 0}, {"n", true, 0}};

static struct table make_table(void)
{
    return (struct table){.columns = COLUMNS, .n_columns = 2, .n_rows = 5, .cell = cell,
                          .context = NAMES, .sorted_by = -1};
}

static void assert_drawn(const struct table *table, int rows, bool with_styles, bool has_focus,
                         const char *expected)
{
    struct canvas *canvas;
    struct buf text;

    assert_int_equal(canvas_open(&canvas, rows, 14, false, NULL), OK);
    table_draw(table, canvas, has_focus);
    buf_init(&text, 4096);
    canvas_dump(canvas, with_styles, &text);
    assert_string_equal(text.p, expected);
    buf_free(&text);
    canvas_close(canvas);
}

static void columns_are_as_wide_as_their_content(void **state)
{
    struct table table = make_table();
    (void)state;
    assert_drawn(&table, 4, false, true,
                 "name     n\nlr       0\n\xE6\xB0\xB4\xE6\xB0\xB4    10\nwarmup  20\n");
}

static void the_selected_row_is_always_seen(void **state)
{
    struct table table = make_table();
    (void)state;
    table.selected = 4;
    assert_drawn(&table, 3, true, true,
                 "name     n\n|0+4 strong 9+1 strong\n"
                 "d       30\n|8+2 warn\n"
                 "e       40\n|0+8 text reverse 8+2 warn reverse 10+4 text reverse\n");
}

static void moving_stops_at_both_ends(void **state)
{
    struct table table = make_table();
    (void)state;
    table_move(&table, -3, 3);
    assert_int_equal(table.selected, 0);
    table_move(&table, 99, 3);
    assert_int_equal(table.selected, 4);
    assert_int_equal(table.top, 3);
    table_go(&table, 3, 3);
    assert_int_equal(table.top, 3);
    table.n_rows = 0;
    table_go(&table, 2, 3);
    assert_int_equal(table.selected, 0);
}

static void sideways_and_match(void **state)
{
    struct table table = make_table();
    (void)state;
    table_scroll(&table, 2);
    table_scroll(&table, -9);
    table_scroll(&table, 2);
    table.match = "MU";
    table.selected = 2;
    assert_drawn(&table, 4, true, false,
                 "me     n\n|0+2 strong 7+1 strong\n"
                 "       0\n|7+1 warn\n"
                 "\xE6\xB0\xB4    10\n|6+2 warn\n"
                 "rmup  20\n|0+14 cursor\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_content),
        cmocka_unit_test(the_selected_row_is_always_seen),
        cmocka_unit_test(moving_stops_at_both_ends),
        cmocka_unit_test(sideways_and_match),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
