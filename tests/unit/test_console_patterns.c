/* The table of console patterns: every example matches its own row, and the filter finds it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "importers/run/console_patterns.h"

static int open_table(void **state)
{
    struct console_patterns *patterns;
    struct error err;
    if (console_patterns_open(&patterns, &err) != OK) {
        return -1;
    }
    *state = patterns;
    return 0;
}

static int close_table(void **state)
{
    console_patterns_close(*state);
    return 0;
}

/* Calls `check` for every example of every row. */
static void each_example(struct console_patterns *patterns,
                         void (*check)(struct console_patterns *, size_t, struct str))
{
    static const char separator[] = " \xC2\xA6 ";
    size_t n = 0;
    for (size_t i = 0; i < patterns->n; i++) {
        struct str rest = patterns->all[i].examples;
        for (;;) {
            ptrdiff_t at = str_find(rest, separator);
            check(patterns, i, at < 0 ? rest : str_first(rest, (size_t)at));
            n++;
            if (at < 0) {
                break;
            }
            rest = str_skip(rest, (size_t)at + sizeof separator - 1);
        }
    }
    assert_true(n > patterns->n);
}

static void check_match(struct console_patterns *patterns, size_t i, struct str example)
{
    struct regex_match match;
    if (console_pattern_match(&patterns->all[i], example, &match) != 1) {
        fail_msg("%s does not match %.*s", patterns->all[i].name, (int)example.n, example.p);
    }
}

static void check_filter(struct console_patterns *patterns, size_t i, struct str example)
{
    struct console_set set = {0};
    if (patterns->all[i].use == CONSOLE_SKIP) {
        return;
    }
    console_filter_line(patterns->filter, example, &set);
    console_filter_start(patterns->filter, example, &set);
    if (!console_set_has(&set, i)) {
        fail_msg("the filter does not find %s in %.*s", patterns->all[i].name, (int)example.n,
                 example.p);
    }
}

static void every_example_matches_its_own_pattern(void **state)
{
    each_example(*state, check_match);
}

static void the_filter_finds_every_example(void **state)
{
    each_example(*state, check_filter);
}

static const struct console_pattern *by_name(const struct console_patterns *patterns,
                                             const char *name)
{
    for (size_t i = 0; i < patterns->n; i++) {
        if (strcmp(patterns->all[i].name, name) == 0) {
            return &patterns->all[i];
        }
    }
    fail_msg("no pattern %s", name);
    return NULL;
}

static void names_are_unique_and_short(void **state)
{
    const struct console_patterns *patterns = *state;
    for (size_t i = 0; i < patterns->n; i++) {
        assert_true(strlen(patterns->all[i].name) > 2 && strlen(patterns->all[i].name) < 40);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(patterns->all[i].name, patterns->all[k].name);
        }
    }
}

static void the_fourth_column_decides_the_kinds(void **state)
{
    const struct console_pattern *p = by_name(*state, "trainable-params");
    assert_int_equal(p->n_kinds, 1);
    assert_string_equal(p->kinds[0], "flat-zero-trainable");
    p = by_name(*state, "cublas-alloc");
    assert_int_equal(p->n_kinds, 2);
    assert_string_equal(p->kinds[1], "vocab-mismatch");
    p = by_name(*state, "load-report");
    assert_int_equal(p->n_kinds, 1);
    assert_string_equal(p->kinds[0], "adapter-not-loaded");
    assert_string_equal(by_name(*state, "running-training")->kinds[0], "start-marker");
    assert_string_equal(by_name(*state, "running-evaluation")->kinds[0], "eval-marker");
    assert_string_equal(by_name(*state, "unsloth-bf16")->kinds[0], "info");
    assert_string_equal(by_name(*state, "deepspeed-killing")->kinds[0], "process-death");
    assert_int_equal(by_name(*state, "use-cache-checkpointing")->use, CONSOLE_SKIP);
    assert_int_equal(by_name(*state, "metric-bare")->use, CONSOLE_SKIP);
}

static void rows_of_other_loggers_name_their_groups(void **state)
{
    const struct console_pattern *p = by_name(*state, "metric-mlx-val");
    assert_int_equal(p->use, CONSOLE_ROW);
    assert_string_equal(p->fields[1], "step");
    assert_string_equal(p->fields[2], "eval_loss");
    p = by_name(*state, "metric-megatron");
    assert_string_equal(p->fields[7], "grad_norm");
    assert_string_equal(p->fields[2], "total");
}

static void literals(const char *regex, const char *expected)
{
    struct arena *arena = arena_open(1u << 20);
    struct str texts[CONSOLE_MAX_LITERALS];
    size_t n;
    console_literals(str_of(regex), arena, texts, &n);
    struct buf joined;
    buf_init(&joined, 4096);
    for (size_t i = 0; i < n; i++) {
        buf_puts(&joined, i > 0 ? "|" : "");
        buf_str(&joined, texts[i]);
    }
    assert_string_equal(joined.p != NULL ? joined.p : "", expected);
    buf_free(&joined);
    arena_close(arena);
}

static void the_text_of_a_regex_is_in_every_match(void **state)
{
    (void)state;
    literals("abc\\.def", "abc.def");
    literals("abcd?efgh", "efgh");
    literals("ab(?:cdef)?gh", "ab");
    literals("ab(?:cdef)+gh", "cdef");
    literals("x[abc]+yz|(\\d+) longer", "yz| longer");
    literals("(one|three) b", "one|three");
    literals("(one|\\d+) b", " b");
    literals("a*|bcd", "");
    literals("(?=look)ab", "ab");
    literals("^\\s*(\\S+)$", "");
}

static const char *line_of_length(char *out, size_t n)
{
    memset(out, '.', n);
    memcpy(out + n - 10, "needle-two", 10);
    return out;
}

static void the_filter_finds_a_text_at_every_place(void **state)
{
    (void)state;
    static const char table[] = "name\tpattern\tf\tevent\tg\tb\te\n"
                                "one\tneedle-two\t\ta-b\tnone\tb\tneedle-two\n"
                                "two\tneedle-one x\t\ta-b\tnone\tb\tneedle-one x\n";
    struct console_patterns *patterns;
    struct error err;
    assert_int_equal(console_patterns_parse(&patterns, str_of(table), &err), OK);
    for (size_t n = 10; n < 60; n++) {
        char *line = malloc(n);
        struct console_set set = {0};
        console_filter_line(patterns->filter, str_from(line_of_length(line, n), n), &set);
        assert_true(console_set_has(&set, 0));
        assert_false(console_set_has(&set, 1));
        free(line);
    }
    console_patterns_close(patterns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_matches_its_own_pattern),
        cmocka_unit_test(the_filter_finds_every_example),
        cmocka_unit_test(names_are_unique_and_short),
        cmocka_unit_test(the_fourth_column_decides_the_kinds),
        cmocka_unit_test(rows_of_other_loggers_name_their_groups),
        cmocka_unit_test(the_text_of_a_regex_is_in_every_match),
        cmocka_unit_test(the_filter_finds_a_text_at_every_place),
    };
    return cmocka_run_group_tests(tests, open_table, close_table);
}
