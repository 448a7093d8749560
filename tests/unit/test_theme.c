/* Themes: the shipped ones, the user's own, and files that are wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/harness/tempdir.h"
#include "tui/theme.h"

static char *folder;

static int setup(void **state)
{
    (void)state;
    folder = tempdir_make();
    setenv("XDG_CONFIG_HOME", folder, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tempdir_remove(folder);
    return 0;
}

static struct look look_of(const char *text, enum style_role role)
{
    struct theme theme;
    struct error err;

    if (theme_parse(&theme, str_of(text), "x.theme", &err) != OK)
        fail_msg("%s: %s", text, err.message);
    return theme.looks[role];
}

static void every_shipped_theme_is_read(void **state)
{
    struct theme theme;
    struct error err;
    size_t n = 0;

    (void)state;
    for (const char *const *name = theme_names(); *name; name++, n++) {
        if (theme_load(&theme, *name, &err) != OK)
            fail_msg("%s: %s", *name, err.message);
        for (int i = 0; i < N_STYLES; i++) {
            assert_in_range(theme.looks[i].foreground + 1, 0, 256);
            assert_in_range(theme.looks[i].background + 1, 0, 256);
            assert_in_range(theme.looks[i].fallback + 1, 0, 8);
        }
    }
    assert_int_equal(n, 4);
}

/* No meaning by colour alone: without colours FAIL, the cursor and the focus still stand out. */
static void the_mono_theme_has_no_colour_but_marks_what_matters(void **state)
{
    static const enum style_role marked[] = {STYLE_FAIL, STYLE_FRAME_FOCUS, STYLE_MATCH,
                                             STYLE_RAIL_BAD, STYLE_HOSTILE};
    struct theme theme;

    (void)state;
    assert_int_equal(theme_load(&theme, "mono", NULL), OK);
    for (int i = 0; i < N_STYLES; i++) {
        assert_int_equal(theme.looks[i].foreground, -1);
        assert_int_equal(theme.looks[i].background, -1);
    }
    for (size_t i = 0; i < sizeof marked / sizeof marked[0]; i++) {
        const struct look *look = &theme.looks[marked[i]];

        if (!look->bold && !look->underline && !look->reverse)
            fail_msg("%s looks like plain text", style_name(marked[i]));
    }
}

static void verdicts_differ_from_each_other_in_every_coloured_theme(void **state)
{
    static const char *const names[] = {"default", "light", "colourblind"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct theme theme;

        assert_int_equal(theme_load(&theme, names[i], NULL), OK);
        assert_int_not_equal(theme.looks[STYLE_FAIL].foreground, theme.looks[STYLE_PASS].foreground);
        assert_int_not_equal(theme.looks[STYLE_FAIL].foreground, theme.looks[STYLE_WARN].foreground);
        assert_int_not_equal(theme.looks[STYLE_CURVE_A].foreground,
                             theme.looks[STYLE_CURVE_B].foreground);
    }
}

static void words_of_a_line_are_taken_in_any_order(void **state)
{
    struct look look = look_of("# a comment\n\n  fail  =  bold 196 underline on 52  # red\n", STYLE_FAIL);

    (void)state;
    assert_true(look.bold && look.underline);
    assert_false(look.dim || look.reverse);
    assert_int_equal(look.foreground, 196);
    assert_int_equal(look.background, 52);
    assert_int_equal(look.fallback, -1);

    look = look_of("fail = 208 yellow", STYLE_FAIL);
    assert_int_equal(look.foreground, 208);
    assert_int_equal(look.fallback, 3);
    look = look_of("fail = bright-red", STYLE_FAIL);
    assert_int_equal(look.foreground, 9);
    assert_int_equal(look.fallback, 1);
    look = look_of("fail = on white", STYLE_FAIL);
    assert_int_equal(look.foreground, -1);
    assert_int_equal(look.background, 7);
    look = look_of("fail = plain", STYLE_FAIL);
    assert_int_equal(look.foreground, -1);
    assert_false(look.bold);
}

static void a_role_that_is_not_named_is_plain_and_the_last_line_counts(void **state)
{
    struct look look = look_of("fail = bold red\nfail = dim\n", STYLE_FAIL);

    (void)state;
    assert_false(look.bold);
    assert_true(look.dim);
    assert_int_equal(look.foreground, -1);
    look = look_of("fail = bold", STYLE_WARN);
    assert_int_equal(look.foreground, -1);
    assert_false(look.bold);
    look = look_of("", STYLE_WARN);
    assert_int_equal(look.background, -1);
}

static void line_ends_of_other_systems_are_taken(void **state)
{
    struct look look = look_of("warn = yellow\r\nfail = bold red\r\n", STYLE_FAIL);

    (void)state;
    assert_true(look.bold);
    assert_int_equal(look.foreground, 1);
    look = look_of("fail\t=\tbold\tred", STYLE_FAIL);
    assert_true(look.bold);
    assert_int_equal(look.foreground, 1);
}

static void a_wrong_line_is_named_and_nothing_is_taken_over(void **state)
{
    static const struct {
        const char *text;
        int64_t line;
        const char *said;
    } cases[] = {
        {"fail = red\nfial = red\n", 2, "fial"},
        {"\n\n\nfail = crimson\n", 4, "crimson"},
        {"fail\n", 1, "role = words"},
        {"fail = 256\n", 1, "256"},
        {"fail = -1\n", 1, "-1"},
        {"fail = bright-\n", 1, ""},
        {"fail = bright-7\n", 1, ""},
        {"= red\n", 1, "role"},
        {"fail = red on\n", 1, "on"},
        {"fail = red on bold\n", 1, "on"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct theme theme = {.looks = {{.foreground = 77}}};
        struct error err;

        if (theme_parse(&theme, str_of(cases[i].text), "mine.theme", &err) != E_PARSE)
            fail_msg("%s: taken", cases[i].text);
        assert_string_equal(err.path, "mine.theme");
        assert_int_equal(err.line, cases[i].line);
        assert_non_null(strstr(err.message, cases[i].said));
        assert_int_equal(theme.looks[0].foreground, 77);
    }
}

static void bytes_of_any_kind_do_no_harm(void **state)
{
    char text[512];
    struct theme theme;
    struct error err;

    (void)state;
    for (unsigned seed = 0; seed < 500; seed++) {
        unsigned x = seed * 2654435761u + 1;

        for (size_t i = 0; i < sizeof text; i++) {
            x = x * 1664525u + 1013904223u;
            text[i] = "fail=red on\n# 9bright-\0\xff\x1b\t\r"[(x >> 16) % 27];
        }
        (void)!theme_parse(&theme, str_from(text, sizeof text), "x", &err);
    }
    memset(text, 'a', sizeof text);
    assert_int_equal(theme_parse(&theme, str_from(text, sizeof text), "x", &err), E_PARSE);
    text[100] = '=';
    assert_int_equal(theme_parse(&theme, str_from(text, sizeof text), "x", &err), E_PARSE);
}

static void the_users_own_theme_goes_first(void **state)
{
    struct theme theme;
    struct error err;

    (void)state;
    tempdir_write_text(folder, "flatline/themes/default.theme", "fail = underline\n");
    assert_int_equal(theme_load(&theme, "default", &err), OK);
    assert_true(theme.looks[STYLE_FAIL].underline);
    assert_false(theme.looks[STYLE_FAIL].bold);

    tempdir_write_text(folder, "other.theme", "fail = blue\nnonsense\n");
    assert_int_equal(theme_load(&theme, tempdir_path(folder, "other.theme"), &err), E_PARSE);
    assert_int_equal(err.line, 2);
    assert_string_equal(err.path, tempdir_path(folder, "other.theme"));
    tempdir_write_text(folder, "flatline/themes/default.theme", "fial = underline\n");
    assert_int_equal(theme_load(&theme, "default", &err), E_PARSE);
    assert_int_equal(err.line, 1);
}

static void a_theme_that_is_not_there_is_told_with_those_that_are(void **state)
{
    struct theme theme;
    struct error err;

    (void)state;
    assert_int_equal(theme_load(&theme, "solarized", &err), E_NOTFOUND);
    assert_non_null(strstr(err.message, "solarized"));
    for (const char *const *name = theme_names(); *name; name++)
        assert_non_null(strstr(err.message, *name));
    assert_int_equal(theme_load(&theme, "/no/such/file.theme", &err), E_NOTFOUND);
    assert_int_equal(theme_load(&theme, "", &err), E_NOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shipped_theme_is_read),
        cmocka_unit_test(the_mono_theme_has_no_colour_but_marks_what_matters),
        cmocka_unit_test(verdicts_differ_from_each_other_in_every_coloured_theme),
        cmocka_unit_test(words_of_a_line_are_taken_in_any_order),
        cmocka_unit_test(a_role_that_is_not_named_is_plain_and_the_last_line_counts),
        cmocka_unit_test(line_ends_of_other_systems_are_taken),
        cmocka_unit_test(a_wrong_line_is_named_and_nothing_is_taken_over),
        cmocka_unit_test(bytes_of_any_kind_do_no_harm),
        cmocka_unit_test(the_users_own_theme_goes_first),
        cmocka_unit_test(a_theme_that_is_not_there_is_told_with_those_that_are),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
