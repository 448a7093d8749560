/* Lengths without a tokenizer, by CHECKS.md F-LEN. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/text/text_size.h"

static int32_t tokens(const char *text)
{
    return text_size_tokens(text_size_of(str_of(text)));
}

static void words_and_characters_are_counted(void **state)
{
    struct text_size size = text_size_of(str_of("  two\twords\n"));

    (void)state;
    assert_true(size.words == 2);
    assert_true(size.characters == 12);
    assert_true(text_size_of(str_of("h\xc3\xa9")).characters == 2);
    assert_true(text_size_of(str_of("")).words == 0);
}

static void the_larger_estimate_counts(void **state)
{
    (void)state;
    assert_int_equal(tokens(""), 0);
    assert_int_equal(tokens("a b c"), 4);                   /* 3.9 by words, 1.25 by characters */
    assert_int_equal(tokens("abcdefghijklmnopqrstuvwxy"), 7); /* 1.3, 6.25 */
}

static void parts_are_added_before_they_are_rounded(void **state)
{
    struct text_size one = text_size_of(str_of("word"));

    (void)state;
    assert_int_equal(text_size_tokens(one), 2);
    assert_int_equal(text_size_tokens(text_size_sum(one, one)), 3);
}

static void a_length_beyond_the_type_stays_at_its_end(void **state)
{
    (void)state;
    assert_int_equal(text_size_tokens((struct text_size){1e12, 0}), INT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_characters_are_counted),
        cmocka_unit_test(the_larger_estimate_counts),
        cmocka_unit_test(parts_are_added_before_they_are_rounded),
        cmocka_unit_test(a_length_beyond_the_type_stays_at_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
