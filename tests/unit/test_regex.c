/* PCRE2 with limits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/regex.h"

static struct regex *compiled(const char *pattern)
{
    struct regex *regex = NULL;
    struct error err;

    assert_int_equal(regex_compile(&regex, str_of(pattern), &err), OK);
    return regex;
}

static void groups_are_parts_of_the_text(void **state)
{
    struct regex *regex = compiled("step (\\d+)(?: of (\\d+))?, loss ([\\d.]+)");
    struct regex_match match;
    struct str text = str_of("at step 12, loss 0.5 now");

    (void)state;
    assert_int_equal(regex_search(regex, text, &match), 1);
    assert_int_equal(match.n_groups, 4);
    assert_true(str_is(match.group[0], "step 12, loss 0.5"));
    assert_ptr_equal(match.group[0].p, text.p + 3);
    assert_true(str_is(match.group[1], "12"));
    assert_null(match.group[2].p);
    assert_true(str_is(match.group[3], "0.5"));
    assert_int_equal(regex_search(regex, str_of("nothing"), &match), 0);
    assert_int_equal(regex_search(regex, str_from(NULL, 0), &match), 0);
    regex_close(regex);
    regex_close(NULL);
}

static void the_length_ends_the_text(void **state)
{
    struct regex *regex = compiled("b$");
    struct regex_match match;

    (void)state;
    assert_int_equal(regex_search(regex, str_from("abc", 2), &match), 1);
    assert_int_equal(regex_search(regex, str_from("abc", 3), &match), 0);
    regex_close(regex);
}

static void invalid_bytes_match_nothing_but_do_not_stop_the_search(void **state)
{
    struct regex *regex = compiled("loss.x|nan");
    struct regex_match match;

    (void)state;
    assert_int_equal(regex_search(regex, str_of("\xFF\xFE loss\xFFx then nan"), &match), 1);
    assert_true(str_is(match.group[0], "nan"));
    assert_int_equal(regex_search(regex, str_of("loss\xC3\xA4x"), &match), 1);
    assert_int_equal(regex_search(regex, str_of("\xFF\xFF"), &match), 0);
    regex_close(regex);
}

static void a_pattern_that_explodes_gives_up(void **state)
{
    struct regex *regex = compiled("^(a|aa)*(b|bb)*\\1*(a+)+$");
    struct regex_match match;
    char text[201];

    (void)state;
    memset(text, 'a', 200);
    text[199] = 'c';
    text[200] = '\0';
    assert_int_equal(regex_search(regex, str_of(text), &match), E_LIMIT);
    regex_close(regex);
}

static void a_long_line_is_searched_whole(void **state)
{
    struct regex *regex = compiled("(?:x|y)+z");
    struct regex_match match;
    size_t n = 20000; /* more than the stack of the JIT holds */
    char *text = malloc(n);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', n);
    text[n - 1] = 'z';
    assert_int_equal(regex_search(regex, str_from(text, n), &match), 1);
    assert_int_equal(match.group[0].n, n);
    free(text);
    regex_close(regex);
}

static void a_wrong_pattern_is_told_with_its_place(void **state)
{
    struct regex *regex = NULL;
    struct error err;

    (void)state;
    assert_int_equal(regex_compile(&regex, str_of("ab(c"), &err), E_PARSE);
    assert_null(regex);
    assert_non_null(strstr(err.message, "at byte 4"));
}

static void more_groups_than_we_keep_are_dropped(void **state)
{
    struct regex *regex = compiled("(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)"
                                   "(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)");
    struct regex_match match;

    (void)state;
    assert_int_equal(regex_search(regex, str_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), &match), 1);
    assert_int_equal(match.n_groups, REGEX_MAX_GROUPS);
    regex_close(regex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_parts_of_the_text),
        cmocka_unit_test(the_length_ends_the_text),
        cmocka_unit_test(invalid_bytes_match_nothing_but_do_not_stop_the_search),
        cmocka_unit_test(a_pattern_that_explodes_gives_up),
        cmocka_unit_test(a_long_line_is_searched_whole),
        cmocka_unit_test(a_wrong_pattern_is_told_with_its_place),
        cmocka_unit_test(more_groups_than_we_keep_are_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
