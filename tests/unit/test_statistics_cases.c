/* 1,000 random cases with the answers of scipy and statsmodels, to 6 digits:
 * tests/engines/statistics/cases.jsonl, written by tests/fuzz/oracle/statistics_cases.py. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/read/jsonl.h"
#include "core/stats/length_controlled.h"
#include "core/stats/paired.h"

#define CASES "tests/engines/statistics/cases.jsonl"
enum { MAX_VALUES = 128 };

struct tally {
    const char *kind;
    int n;
    int64_t line;
};

static double number(const struct json *row, const char *key)
{
    const struct json *value = json_get(row, key);

    if (!json_is(value, JSON_NUMBER))
        fail_msg("no number %s", key);
    return value->number;
}

static int64_t count(const struct json *row, const char *key)
{
    return (int64_t)number(row, key);
}

static size_t numbers(const struct json *row, const char *key, double *out)
{
    const struct json *list = json_get(row, key);
    size_t n = 0;

    assert_true(json_is(list, JSON_ARRAY));
    for (const struct json *item = list->child; item; item = item->next) {
        assert_true(n < MAX_VALUES);
        out[n++] = item->type == JSON_NUMBER ? item->number : item->type == JSON_TRUE;
    }
    return n;
}

/* Six digits of the number, or of 1 where it is smaller. */
static void meets(const struct tally *at, const struct json *row, const char *key, double value)
{
    double expected = number(row, key), scale = fmax(1.0, fabs(expected));

    if (!(fabs(value - expected) <= 5e-7 * scale))
        fail_msg("line %lld: %s %.12g, expected %.12g", (long long)at->line, key, value, expected);
}

static void meets_interval(const struct tally *at, const struct json *row, struct interval got)
{
    meets(at, row, "low", got.low);
    meets(at, row, "high", got.high);
}

static void wilson_case(const struct tally *at, const struct json *row)
{
    meets_interval(at, row, wilson(count(row, "k"), count(row, "n")));
    meets_interval(at, row,
                   wilson_of_share(number(row, "k") / number(row, "n"), number(row, "n")));
}

static void newcombe_case(const struct tally *at, const struct json *row)
{
    meets_interval(at, row, newcombe(count(row, "k1"), count(row, "n1"), count(row, "k2"),
                                     count(row, "n2")));
}

static void mcnemar_case(const struct tally *at, const struct json *row)
{
    double p = mcnemar_p(count(row, "b"), count(row, "c")), expected = number(row, "p");

    meets(at, row, "p", p);
    if (expected > 1e-300 && fabs(p / expected - 1.0) > 1e-6)
        fail_msg("line %lld: p %.9g, expected %.9g", (long long)at->line, p, expected);
}

static void paired_binary_case(const struct tally *at, const struct json *row)
{
    meets_interval(at, row,
                   paired_binary(count(row, "lost"), count(row, "gained"), count(row, "n")));
}

static void paired_scores_case(const struct tally *at, const struct json *row)
{
    double d[MAX_VALUES];
    size_t n = numbers(row, "d", d);
    struct paired_scores got = paired_scores(d, NULL, n);

    meets(at, row, "mean", got.mean);
    meets(at, row, "se", got.se);
    meets(at, row, "p", got.p);
    meets_interval(at, row, got.interval);
}

static void clustered_case(const struct tally *at, const struct json *row)
{
    double d[MAX_VALUES], numbered[MAX_VALUES];
    int64_t cluster[MAX_VALUES];
    size_t n = numbers(row, "d", d);

    assert_int_equal(numbers(row, "cluster", numbered), n);
    for (size_t i = 0; i < n; i++)
        cluster[i] = (int64_t)numbered[i];
    struct paired_scores got = paired_scores(d, cluster, n);
    meets(at, row, "mean", got.mean);
    meets(at, row, "se", got.se);
}

static void holm_case(const struct tally *at, const struct json *row)
{
    double p[MAX_VALUES], expected[MAX_VALUES];
    bool rejects[MAX_VALUES];
    size_t n = numbers(row, "p", p);

    assert_int_equal(numbers(row, "rejects", expected), n);
    holm(p, n, rejects);
    for (size_t i = 0; i < n; i++)
        if (rejects[i] != (expected[i] > 0.0))
            fail_msg("line %lld: test %zu", (long long)at->line, i);
}

static void power_case(const struct tally *at, const struct json *row)
{
    double omega = number(row, "omega"), n = number(row, "n");

    meets(at, row, "visible", smallest_effect(n, omega));
    if (fabs(items_needed(number(row, "delta"), omega) - ceil(n)) > 1e-6 * n + 1.0)
        fail_msg("line %lld: %.0f items, expected %.3f", (long long)at->line,
                 items_needed(number(row, "delta"), omega), n);
}

static void controlled_case(const struct tally *at, const struct json *row)
{
    double base[MAX_VALUES], tuned[MAX_VALUES], score[MAX_VALUES];
    size_t n = numbers(row, "base", base);
    struct length_controlled got;

    assert_int_equal(numbers(row, "ft", tuned), n);
    assert_int_equal(numbers(row, "score", score), n);
    assert_true(length_controlled(base, tuned, score, n, &got));
    meets(at, row, "sd", got.sd);
    meets(at, row, "theta", got.theta);
    meets(at, row, "phi", got.phi);
    meets(at, row, "rate", got.rate);
    assert_true(got.interval.low < got.rate && got.rate < got.interval.high);
}

struct kind {
    const char *name;
    void (*judge)(const struct tally *at, const struct json *row);
    int n;
};

static struct kind kinds[] = {
    {"wilson", wilson_case, 0},           {"newcombe", newcombe_case, 0},
    {"mcnemar", mcnemar_case, 0},         {"paired_binary", paired_binary_case, 0},
    {"paired_scores", paired_scores_case, 0}, {"clustered", clustered_case, 0},
    {"holm", holm_case, 0},               {"power", power_case, 0},
    {"controlled", controlled_case, 0},
};

static int on_row(void *ctx, const struct json_row *row, struct error *err)
{
    const struct json *kind = json_get(row->tree, "kind");
    struct tally at = {.line = row->line};

    (void)ctx;
    (void)err;
    assert_true(json_is(kind, JSON_STRING));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_is(kind->text, kinds[i].name)) {
            kinds[i].judge(&at, row->tree);
            kinds[i].n++;
        }
    return OK;
}

static int on_bad(void *ctx, const struct source_line *line, bool is_last, const struct error *why,
                  struct error *err)
{
    (void)ctx;
    (void)is_last;
    (void)err;
    fail_msg("line %lld: %s", (long long)line->number, why->message);
    return OK;
}

static void a_thousand_cases_meet_scipy_and_statsmodels(void **state)
{
    const struct jsonl_handler handler = {.row = on_row, .bad = on_bad, .always_tree = true};
    struct source_file *file;
    struct error err;
    int n = 0;

    (void)state;
    assert_int_equal(source_open(&file, CASES, &err), OK);
    assert_int_equal(jsonl_read(file, &handler, &err), OK);
    source_close(file);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        assert_true(kinds[i].n >= 50);
        n += kinds[i].n;
    }
    assert_int_equal(n, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_cases_meet_scipy_and_statsmodels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
