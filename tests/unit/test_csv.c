/* Rows and cells of CSV: quotes, blanks, line ends, places. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/read/csv.h"

struct seen {
    struct buf text; /* "line:cell|cell\n" for each row; ~ is an empty cell without quotes */
};

static int on_row(void *ctx, const struct csv_row *row, struct error *err)
{
    struct seen *seen = ctx;

    (void)err;
    buf_printf(&seen->text, "%d:", (int)row->line);
    for (size_t i = 0; i < row->n; i++) {
        if (i)
            buf_putc(&seen->text, '|');
        if (row->cells[i].p)
            buf_str(&seen->text, row->cells[i]);
        else
            buf_putc(&seen->text, '~');
    }
    buf_putc(&seen->text, ';');
    return OK;
}

static void expect(const char *text, char separator, const char *rows)
{
    struct source_file *file = NULL;
    struct error err = {0};
    struct seen seen;
    struct csv_handler handler = {.row = on_row, .ctx = &seen};

    buf_init(&seen.text, 1 << 20);
    assert_int_equal(source_open_bytes(&file, "t.csv", text, strlen(text), &err), OK);
    assert_int_equal(csv_read_rows(file, separator, &handler, &err), OK);
    assert_string_equal(seen.text.p ? seen.text.p : "", rows);
    source_close(file);
    buf_free(&seen.text);
}

static void cells_are_as_pandas_reads_them(void **state)
{
    (void)state;
    expect("a,b\n1,2\n", ',', "1:a|b;2:1|2;");
    expect("a,b\r\n1,2\r\n", ',', "1:a|b;2:1|2;");
    expect("a, b \n", ',', "1:a| b ;");
    expect("a,\"x \"\"y\"\",\n z\"\nq,r", ',', "1:a|x \"y\",\n z;3:q|r;");
    expect("a,,\"\"\n", ',', "1:a|~|;");
    expect("\n\na,b\n\n1,2", ',', "3:a|b;5:1|2;");
    expect("\xef\xbb\xbf"
           "a,b",
           ',', "1:a|b;");
    expect("", ',', "");
}

static void the_first_line_decides_the_separator(void **state)
{
    (void)state;
    expect("a\tb,c\td\n", 0, "1:a|b,c|d;");
    expect("a,b\tc,d\n", 0, "1:a|b\tc|d;");
}

static int refuse(void *ctx, const struct csv_row *row, struct error *err)
{
    (void)ctx;
    (void)row;
    return error_set(err, E_CANCELLED, "cancelled");
}

static void an_error_of_the_handler_comes_out(void **state)
{
    struct source_file *file = NULL;
    struct error err = {0};
    struct csv_handler handler = {.row = refuse};

    (void)state;
    assert_int_equal(source_open_bytes(&file, "t.csv", "a\nb\n", 4, &err), OK);
    assert_int_equal(csv_read_rows(file, ',', &handler, &err), E_CANCELLED);
    source_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_as_pandas_reads_them),
        cmocka_unit_test(the_first_line_decides_the_separator),
        cmocka_unit_test(an_error_of_the_handler_comes_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
