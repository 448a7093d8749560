/* Runs that the loggers themselves wrote (tests/engines/loggers, WRITERS.txt): every point and every
 * setting is what the logger's own reader returns, and no point is there that it does not return. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/read/json.h"
#include "core/read/source.h"
#include "importers/folder.h"

#define FOLDER      "tests/engines/loggers"
#define ARENA_BYTES ((size_t)64 << 20)
#define MAX_POINTS  1000
#define MAX_FIELDS  12

struct told {
    struct str series;
    int64_t step;
    double value;
    bool is_expected;
};

struct dump {
    struct told points[MAX_POINTS];
    size_t n_points;
    struct str text; /* of the run that is meant */
};

/* ---- What flatline says ---- */

static void import_folder(const char *name, struct arena *arena, struct buf *text)
{
    char path[300];
    const char *paths[] = {path};
    struct plan plan;
    struct sink *sink;
    struct error err = {0};

    (void)snprintf(path, sizeof path, FOLDER "/%s", name);
    assert_int_equal(plan_make(paths, 1, NULL, arena, &plan, &err), OK);
    assert_int_equal(sink_open_text(&sink, text, &err), OK);
    if (plan_import(&plan, sink, true, NULL, &err) != OK)
        fail_msg("%s: %s", name, err.message);
    sink_close(sink);
}

static size_t fields_of(struct str line, struct str fields[MAX_FIELDS])
{
    size_t n = 0;

    while (n < MAX_FIELDS && str_split(&line, '\t', &fields[n]))
        n++;
    return n;
}

static void take_point(struct dump *dump, struct str line)
{
    struct str f[MAX_FIELDS];
    struct told *told = &dump->points[dump->n_points];

    assert_true(fields_of(line, f) >= 6);
    assert_true(dump->n_points < MAX_POINTS);
    *told = (struct told){.series = f[1], .step = NONE};
    assert_true(str_starts(f[4], "step "));
    if (!str_is(f[4], "step -"))
        assert_true(number_parse_int(str_skip(f[4], 5), &told->step));
    assert_true(number_parse_any(f[5], &told->value));
    dump->n_points++;
}

/* The sources of one run of a store that holds several: those that state its name. */
static void take_dump(struct dump *dump, struct str text, const char *run_name)
{
    struct str rest = text, line;
    const char *begin = text.p;
    char mark[100];

    dump->n_points = 0;
    dump->text = text;
    (void)snprintf(mark, sizeof mark, "trackio.run_name\trun_name\ttext\t%s\t", run_name);
    while (str_split(&rest, '\n', &line)) {
        if (str_starts(line, "source\t"))
            begin = line.p;
        if (str_starts(line, "end\t") && *run_name) {
            dump->text = str_from(begin, (size_t)(line.p - begin));
            if (str_find(dump->text, mark) >= 0)
                break;
            dump->text = (struct str){0};
        }
    }
    assert_true(dump->text.n > 0);
    rest = dump->text;
    while (str_split(&rest, '\n', &line))
        if (str_starts(line, "point\t"))
            take_point(dump, line);
}

/* ---- What the logger's reader says ---- */

static bool is_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void expect_point(struct dump *dump, const struct json *row, const char *name)
{
    const struct json *series = json_get(row, "series"), *value = json_get(row, "value");
    const struct json *step = json_get(row, "step");

    assert_true(series && value && step);
    for (size_t i = 0; i < dump->n_points; i++) {
        struct told *told = &dump->points[i];

        if (!told->is_expected && str_eq(told->series, series->text) &&
            told->step == (int64_t)step->number && is_same(told->value, value->number)) {
            told->is_expected = true;
            return;
        }
    }
    fail_msg("%s: %.*s at step %.0f is not %.17g", name, (int)series->text.n, series->text.p,
             step->number, value->number);
}

static void expect_setting(const struct dump *dump, const struct json *row, const char *name)
{
    const struct json *key = json_get(row, "setting"), *value = json_get(row, "value");
    struct str rest = dump->text, line, f[MAX_FIELDS];

    while (str_split(&rest, '\n', &line))
        if (str_starts(line, "setting\t") && fields_of(line, f) >= 6 && str_eq(f[2], key->text) &&
            str_eq(f[5], value->text))
            return;
    fail_msg("%s: %.*s is not %.*s", name, (int)key->text.n, key->text.p, (int)value->text.n,
             value->text.p);
}

static void compare(const char *golden)
{
    char path[300], name[100], *bytes;
    struct arena *arena = arena_open(ARENA_BYTES);
    struct dump *dump = malloc(sizeof *dump);
    struct buf text;
    struct str rest, line;
    size_t n;

    (void)snprintf(path, sizeof path, FOLDER "/%s", golden);
    (void)snprintf(name, sizeof name, "%.*s", (int)(strlen(golden) - strlen(".jsonl")), golden);
    char *dot = strchr(name, '.'); /* "trackio.first": a run of its own in a common store */
    if (dot)
        *dot = '\0';
    buf_init(&text, ARENA_BYTES);
    import_folder(name, arena, &text);
    assert_non_null(dump);
    take_dump(dump, buf_view(&text), dot ? dot + 1 : "");
    assert_int_equal(source_slurp(path, ARENA_BYTES, &bytes, &n, NULL), OK);
    rest = str_from(bytes, n);
    while (str_split(&rest, '\n', &line)) {
        const struct json *row;

        if (line.n == 0)
            continue;
        assert_int_equal(json_parse(line, false, arena, &row, NULL, NULL), OK);
        if (json_get(row, "series"))
            expect_point(dump, row, golden);
        else
            expect_setting(dump, row, golden);
    }
    for (size_t i = 0; i < dump->n_points; i++)
        if (!dump->points[i].is_expected)
            fail_msg("%s: nobody wrote %.*s %.17g at step %lld", golden,
                     (int)dump->points[i].series.n, dump->points[i].series.p,
                     dump->points[i].value, (long long)dump->points[i].step);
    free(bytes);
    free(dump);
    buf_free(&text);
    arena_close(arena);
}

static int is_golden(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);

    return n > 6 && strcmp(entry->d_name + n - 6, ".jsonl") == 0;
}

static void every_value_is_what_the_loggers_reader_returns(void **state)
{
    struct dirent **list;
    int n = scandir(FOLDER, &list, is_golden, alphasort);

    (void)state;
    assert_true(n >= 10);
    for (int i = 0; i < n; i++) {
        compare(list[i]->d_name);
        free(list[i]);
    }
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_what_the_loggers_reader_returns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
