/* A file that grows, followed: cut at many places, read at each by the rules of a run that is followed, it
 * comes to the same as the whole file read once. One sample of each logger that writes at the end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/read/source.h"
#include "core/store/store.h"
#include "importers/file_ends.h"
#include "importers/folder.h"
#include "tests/harness/tempdir.h"
#include "tui/follow.h"

enum { CUTS = 24 };

struct whole_file {
    const char *name; /* below the run's folder */
    char *bytes;
    size_t n;
};

static void read_sample(struct whole_file *sample, const char *name, const char *path)
{
    struct error err;

    sample->name = name;
    assert_int_equal(source_slurp(path, 1 << 24, &sample->bytes, &sample->n, &err), OK);
}

/* ---- What is in the store ---- */

static void dump_series(struct store *store, int64_t run_id, struct arena *arena, struct buf *out)
{
    const struct series *series;
    struct point_columns p;
    struct error err;
    size_t n;

    assert_int_equal(store_series(store, run_id, arena, &series, &n, &err), OK);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "series %s %s\n", series[i].raw_name, series[i].name ? series[i].name : "-");
        assert_int_equal(store_points(store, series[i].id, arena, &p, &err), OK);
        for (size_t k = 0; k < p.n; k++)
            buf_printf(out, "%" PRId64 " %" PRId64 " %" PRId64 " %d %.17g\n", p.seq[k], p.step[k],
                       p.line[k], p.segment[k], p.value[k]);
    }
}

static void dump(struct store *store, struct buf *out)
{
    struct arena *arena = arena_open(ARENA_VIEW_BYTES);
    const struct setting *settings;
    const struct event *events;
    const struct run *runs;
    struct error err;
    size_t n_runs, n;

    assert_non_null(arena);
    assert_int_equal(store_runs(store, arena, &runs, &n_runs, &err), OK);
    assert_int_equal(n_runs, 1);
    dump_series(store, runs[0].id, arena, out);
    assert_int_equal(store_events(store, runs[0].id, arena, &events, &n, &err), OK);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "event %s %" PRId64 " %" PRId64 " %s\n", events[i].kind, events[i].line,
                   events[i].step, events[i].text ? events[i].text : "");
    assert_int_equal(store_settings(store, runs[0].id, arena, &settings, &n, &err), OK);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "setting %s %s\n", settings[i].raw_name,
                   settings[i].value ? settings[i].value : "");
    assert_false(out->failed);
    arena_close(arena);
}

/* ---- Reading as it is followed ---- */

struct following {
    struct store *store;
    struct follow *follow;
    size_t n_cut;
};

static enum import_choice choose(void *ctx, const struct plan_file *file, const struct source *now)
{
    struct following *f = ctx;
    struct arena *arena = arena_open(ARENA_VIEW_BYTES);
    const struct source *sources = NULL, *stored = NULL;
    const struct run *runs;
    struct error err;
    size_t n_runs = 0, n = 0;
    bool is_cut;

    (void)file;
    assert_int_equal(store_runs(f->store, arena, &runs, &n_runs, &err), OK);
    if (n_runs)
        assert_int_equal(store_sources(f->store, runs[0].id, arena, &sources, &n, &err), OK);
    for (size_t i = 0; i < n; i++)
        if (strcmp(sources[i].path, now->path) == 0)
            stored = &sources[i];
    const struct follow_file about = {.stored = stored,
                                      .now = now,
                                      .has_rows = true,
                                      .is_rewritten = stored && !file_ends_hold(stored)};
    enum import_choice choice = follow_choose(f->follow, &about, &is_cut);
    f->n_cut += is_cut;
    arena_close(arena);
    return choice;
}

static void import(struct following *f, const char *folder, bool follows)
{
    const struct plan_options none = {0};
    const struct import_hooks hooks = {.choose = follows ? choose : NULL, .ctx = f};
    struct arena *arena = arena_open(ARENA_VIEW_BYTES);
    struct sink *sink = NULL;
    struct error err;
    struct plan plan;

    assert_int_equal(plan_make(&folder, 1, &none, arena, &plan, &err), OK);
    assert_int_equal(sink_open_store(&sink, f->store, &err), OK);
    assert_int_equal(plan_import(&plan, sink, false, &hooks, &err), OK);
    sink_close(sink);
    arena_close(arena);
}

static struct store *open_store(void)
{
    const struct store_options options = {.in_memory = true};
    struct store *store = NULL;
    struct error err;

    assert_int_equal(store_open(&store, &options, &err), OK);
    return store;
}

static void follow_in_cuts(const struct whole_file *sample, struct buf *out)
{
    struct following f = {.store = open_store()};
    char *folder = tempdir_make();
    struct error err;

    assert_int_equal(follow_open(&f.follow, &err), OK);
    /* what makes it a run from the first byte on */
    tempdir_write_text(folder, "train_config.json", "{\"learning_rate\": 0.001, \"max_steps\": 40}");
    for (int i = 1; i <= CUTS; i++) {
        tempdir_write(folder, sample->name, sample->bytes, sample->n * (size_t)i / CUTS);
        (void)follow_look(f.follow);
        import(&f, folder, true);
    }
    assert_int_equal(f.n_cut, 0);
    dump(f.store, out);
    follow_close(f.follow);
    store_close(f.store);
    tempdir_remove(folder);
}

static void read_whole(const struct whole_file *sample, struct buf *out)
{
    struct following f = {.store = open_store()};
    char *folder = tempdir_make();

    tempdir_write_text(folder, "train_config.json", "{\"learning_rate\": 0.001, \"max_steps\": 40}");
    tempdir_write(folder, sample->name, sample->bytes, sample->n);
    import(&f, folder, false);
    dump(f.store, out);
    store_close(f.store);
    tempdir_remove(folder);
}

static void in_cuts_it_is_the_whole(const struct whole_file *sample)
{
    struct buf whole, cuts;

    buf_init(&whole, 1 << 24);
    buf_init(&cuts, 1 << 24);
    read_whole(sample, &whole);
    follow_in_cuts(sample, &cuts);
    assert_true(str_find(str_from(whole.p, whole.n), "series ") >= 0);
    assert_string_equal(cuts.p, whole.p);
    buf_free(&whole);
    buf_free(&cuts);
}

static void a_file_of_events_in_cuts(void **state)
{
    struct whole_file sample;

    (void)state;
    read_sample(&sample, "events.out.tfevents.1700000000.host",
                "tests/importers/tensorboard/writer-x/events.out.tfevents.1700000000.host");
    in_cuts_it_is_the_whole(&sample);
    free(sample.bytes);
}

static void a_wandb_file_in_cuts(void **state)
{
    struct whole_file sample;

    (void)state;
    read_sample(&sample, "run-abc12345.wandb",
                "tests/importers/wandb/offline/run-abc12345.wandb");
    in_cuts_it_is_the_whole(&sample);
    free(sample.bytes);
}

static void a_console_log_in_cuts(void **state)
{
    struct whole_file sample;

    (void)state;
    read_sample(&sample, "train.log", "tests/checks/grpo-no-signal/pass-grpo-ok/train.log");
    in_cuts_it_is_the_whole(&sample);
    free(sample.bytes);
}

/* Rows that gain a column, begin again, and are not finite. */
static void write_rows(struct buf *out, bool is_csv)
{
    if (is_csv)
        buf_puts(out, "step,loss,eval_loss\n");
    for (int i = 1; i <= 90; i++) {
        int step = i <= 50 ? i : i - 10;

        if (is_csv)
            buf_printf(out, "%d,%g,%s\n", step, i == 33 ? (double)INFINITY : 2.0 - 0.01 * i,
                       i % 7 ? "" : "1.5");
        else if (i % 7 == 0)
            buf_printf(out, "{\"step\": %d, \"eval_loss\": 1.5, \"note\": \"a\"}\n", step);
        else
            buf_printf(out, "{\"step\": %d, \"loss\": %s%g}\n", step, i == 33 ? "NaN, \"x\": " : "",
                       2.0 - 0.01 * i);
    }
}

static void rows_in_cuts(void **state)
{
    static const char *const NAMES[] = {"metrics.jsonl", "metrics.csv"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct buf text;

        buf_init(&text, 1 << 20);
        write_rows(&text, i == 1);
        const struct whole_file sample = {NAMES[i], text.p, text.n};
        in_cuts_it_is_the_whole(&sample);
        buf_free(&text);
    }
}

/* ---- Cut and grown beyond its old size ---- */

static void look_at_rewritten(const char *name, const char *before, const char *after, size_t n_cut)
{
    struct following f = {.store = open_store()};
    char *folder = tempdir_make();
    struct error err;

    assert_int_equal(follow_open(&f.follow, &err), OK);
    tempdir_write_text(folder, name, before);
    import(&f, folder, true);
    tempdir_write_text(folder, name, after);
    import(&f, folder, true);
    assert_int_equal(f.n_cut, n_cut);
    follow_close(f.follow);
    store_close(f.store);
    tempdir_remove(folder);
}

static void a_file_that_was_cut_and_grew_beyond_its_size_is_another(void **state)
{
    static const char ROWS[] = "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.4}\n"
                               "{\"step\": 3, \"loss\": 2.3}\n";
    static const char MORE[] = "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.4}\n"
                               "{\"step\": 3, \"loss\": 2.3}\n{\"step\": 4, \"loss\": 2.2}\n";
    static const char OTHER[] = "{\"step\": 1, \"loss\": 9.5}\n{\"step\": 2, \"loss\": 9.4}\n"
                                "{\"step\": 3, \"loss\": 9.3}\n{\"step\": 4, \"loss\": 9.2}\n";
    static const char TABLE[] = "step,loss\n1,2.5\n2,2.4\n3,2.3\n";
    static const char WIDER[] = "step,loss,eval_loss\n1,2.5,\n2,2.4,\n3,2.3,\n3,,2.2\n";

    (void)state;
    look_at_rewritten("metrics.jsonl", ROWS, MORE, 0);
    look_at_rewritten("metrics.jsonl", ROWS, OTHER, 1);
    /* a table is written anew when it gains a column: it is the same one */
    look_at_rewritten("metrics.csv", TABLE, WIDER, 0);
}

/* The user's own remarks are none of this. */
static int set_up(void **state)
{
    char *home = tempdir_make();

    *state = home;
    return setenv("XDG_STATE_HOME", home, 1);
}

static int tear_down(void **state)
{
    tempdir_remove(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_events_in_cuts),
        cmocka_unit_test(a_wandb_file_in_cuts),
        cmocka_unit_test(a_console_log_in_cuts),
        cmocka_unit_test(rows_in_cuts),
        cmocka_unit_test(a_file_that_was_cut_and_grew_beyond_its_size_is_another),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
