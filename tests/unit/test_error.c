/* Status codes and the error record. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/error.h"

static void setting_clears_the_place_and_returns_the_status(void **state)
{
    struct error err;

    (void)state;
    memset(&err, 'x', sizeof err);
    assert_int_equal(error_set(&err, E_PARSE, "%d is not %s", 3, "four"), E_PARSE);
    assert_int_equal(err.status, E_PARSE);
    assert_string_equal(err.message, "3 is not four");
    assert_string_equal(err.path, "");
    assert_int_equal(err.line, NONE);
    assert_int_equal(err.byte, NONE);
}

static void no_record_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, E_IO, "lost"), E_IO);
    error_at(NULL, "a", 1, 2);
}

static void assert_formats(const struct error *err, const char *expected)
{
    char text[2000];

    error_format(err, text, sizeof text);
    assert_string_equal(text, expected);
}

static void the_place_is_shown_as_far_as_it_is_known(void **state)
{
    struct error err;

    (void)state;
    error_set(&err, E_PARSE, "bad");
    assert_formats(&err, "bad");
    error_at(&err, "run/log.json", NONE, NONE);
    assert_formats(&err, "run/log.json: bad");
    error_at(&err, NULL, NONE, 0);
    assert_formats(&err, "run/log.json: byte 0: bad");
    error_at(&err, NULL, 7, 100);
    assert_formats(&err, "run/log.json:7: bad");
}

static void long_texts_are_cut_not_overrun(void **state)
{
    char long_text[3000], small[8];
    struct error err;

    (void)state;
    memset(long_text, 'y', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    error_set(&err, E_IO, "%s", long_text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    error_at(&err, long_text, NONE, NONE);
    assert_int_equal(strlen(err.path), sizeof err.path - 1);
    error_format(&err, small, sizeof small);
    assert_int_equal(strlen(small), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_clears_the_place_and_returns_the_status),
        cmocka_unit_test(no_record_is_allowed),
        cmocka_unit_test(the_place_is_shown_as_far_as_it_is_known),
        cmocka_unit_test(long_texts_are_cut_not_overrun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
