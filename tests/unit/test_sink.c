/* What a sink writes comes back from the store; batches, aborts, sources current or gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/sink.h"
#include "core/store/store.h"
#include "tests/harness/tempdir.h"

static const struct run RUN = {.key = "k", .folder = "/run", .name = "run"};
static const struct source SOURCE = {.path = "/run/log", .importer = "log", .importer_version = 1,
                                     .size = 4, .mtime_ns = 3, .device = 2, .inode = 1,
                                     .role = "log"};

struct fixture {
    char *folder, *cache;
    struct store *store, *reader;
    struct sink *sink;
    struct arena *arena;
    struct error err;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = tempdir_make();
    f->cache = strdup(tempdir_path(f->folder, "cache.db"));

    struct store_options options = {.cache_path = f->cache,
                                    .kept_path = tempdir_path(f->folder, "triage.db")};

    assert_int_equal(store_open(&f->store, &options, &f->err), OK);
    options.read_only = true;
    assert_int_equal(store_open(&f->reader, &options, &f->err), OK);
    assert_int_equal(sink_open_store(&f->sink, f->store, &f->err), OK);
    f->arena = arena_open(ARENA_CHECK_BYTES);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    sink_close(f->sink);
    store_close(f->reader);
    store_close(f->store);
    arena_close(f->arena);
    tempdir_remove(f->folder);
    free(f->cache);
    free(f);
    return 0;
}

static void begin(struct fixture *f)
{
    assert_int_equal(sink_begin(f->sink, &RUN, &SOURCE, &f->err), OK);
}

static void finish(struct fixture *f)
{
    assert_int_equal(sink_end(f->sink, 4, SOURCE_WHOLE, &f->err), OK);
}

static int64_t run_id(struct fixture *f)
{
    struct run run;

    assert_int_equal(store_run_find(f->reader, "k", f->arena, &run, &f->err), OK);
    return run.id;
}

static size_t n_events(struct fixture *f)
{
    const struct event *events;
    size_t n;

    assert_int_equal(store_events(f->reader, run_id(f), f->arena, &events, &n, &f->err), OK);
    return n;
}

static void put_event(struct fixture *f, int64_t seq)
{
    struct event event = {.seq = seq, .kind = "k", .text = "t", .step = NONE, .line = seq,
                          .byte = NONE};

    assert_int_equal(sink_event(f->sink, &event, &f->err), OK);
}

/* ---- Round trips ---------------------------------------------------------------------------- */

static void settings_come_back_in_order_and_the_last_statement_counts(void **state)
{
    struct fixture *f = *state;
    struct setting lr = {.side = SIDE_TRAIN, .raw_name = "lr", .name = "learning_rate",
                         .value = "1e-4", .type = VALUE_FLOAT, .line = 1};
    struct setting odd = {.side = SIDE_GENERATION, .raw_name = "x.y", .value = NULL,
                          .type = VALUE_NULL, .line = NONE};
    const struct setting *got;
    size_t n;

    begin(f);
    assert_int_equal(sink_setting(f->sink, &lr, &f->err), OK);
    assert_int_equal(sink_setting(f->sink, &odd, &f->err), OK);
    lr.value = "2e-4";
    lr.line = 9;
    assert_int_equal(sink_setting(f->sink, &lr, &f->err), OK);
    lr.side = SIDE_EVAL;
    assert_int_equal(sink_setting(f->sink, &lr, &f->err), OK);
    finish(f);
    assert_int_equal(store_settings(f->reader, run_id(f), f->arena, &got, &n, &f->err), OK);
    assert_int_equal(n, 3);
    assert_string_equal(got[0].raw_name, "x.y");
    assert_null(got[0].name);
    assert_null(got[0].value);
    assert_int_equal(got[0].side, SIDE_GENERATION);
    assert_int_equal(got[0].type, VALUE_NULL);
    assert_int_equal(got[0].line, NONE);
    assert_string_equal(got[1].value, "2e-4");
    assert_string_equal(got[1].name, "learning_rate");
    assert_int_equal(got[1].type, VALUE_FLOAT);
    assert_int_equal(got[1].line, 9);
    assert_int_equal(got[2].side, SIDE_EVAL);
    assert_true(got[0].source_id > 0);
}

static void events_come_back_with_their_captures(void **state)
{
    struct fixture *f = *state;
    struct event full = {.seq = 1, .kind = "oom", .pattern = "cuda-oom", .step = 0, .line = 7,
                         .byte = 99, .text = "torch \xf0\x9f\x94\xa5", .n_captures = 3,
                         .captures = {"", "24.00 GiB", ""}};
    struct event empty = {.seq = 0, .kind = "last-line", .step = NONE, .line = NONE, .byte = NONE,
                          .text = ""};
    const struct event *got;
    size_t n;

    begin(f);
    assert_int_equal(sink_event(f->sink, &full, &f->err), OK);
    assert_int_equal(sink_event(f->sink, &empty, &f->err), OK);
    finish(f);
    assert_int_equal(store_events(f->reader, run_id(f), f->arena, &got, &n, &f->err), OK);
    assert_int_equal(n, 2);
    assert_string_equal(got[0].kind, "last-line");
    assert_null(got[0].pattern);
    assert_int_equal(got[0].n_captures, 0);
    assert_int_equal(got[0].step, NONE);
    assert_int_equal(got[0].byte, NONE);
    assert_string_equal(got[1].pattern, "cuda-oom");
    assert_string_equal(got[1].text, "torch \xf0\x9f\x94\xa5");
    assert_int_equal(got[1].step, 0);
    assert_int_equal(got[1].line, 7);
    assert_int_equal(got[1].byte, 99);
    assert_int_equal(got[1].n_captures, 3);
    assert_string_equal(got[1].captures[0], "");
    assert_string_equal(got[1].captures[1], "24.00 GiB");
    assert_string_equal(got[1].captures[2], "");
}

static void models_come_back_with_their_tensors(void **state)
{
    struct fixture *f = *state;
    struct artefact adapter = {.kind = "adapter", .role = "trained", .path = "/run/a", .size = 7,
                               .step = 40, .sha256 = "ab"};
    struct artefact base = {.kind = "base", .path = "/run/b", .size = NONE, .step = NONE};
    struct tensor known = {.name = "A", .dtype = "BF16", .shape = "[2,2]", .n_values = 4,
                           .norm = INFINITY, .n_nonzero = 3, .n_nonfinite = 1, .delta_norm = NAN};
    struct tensor bare = {.name = "B", .dtype = "", .shape = "", .n_values = NONE, .norm = NAN,
                          .n_nonzero = NONE, .n_nonfinite = NONE, .delta_norm = NAN};
    const struct artefact *got;
    const struct tensor *tensors;
    int64_t first, second;
    size_t n;

    begin(f);
    assert_int_equal(sink_artefact(f->sink, &adapter, &first, &f->err), OK);
    assert_int_equal(sink_artefact(f->sink, &base, &second, &f->err), OK);
    assert_int_equal(sink_tensor(f->sink, first, &known, &f->err), OK);
    assert_int_equal(sink_tensor(f->sink, second, &bare, &f->err), OK);
    assert_int_equal(sink_tensor(f->sink, first, &bare, &f->err), OK);
    finish(f);
    assert_int_equal(store_artefacts(f->reader, run_id(f), f->arena, &got, &n, &f->err), OK);
    assert_int_equal(n, 2);
    assert_int_equal(got[0].id, first);
    assert_string_equal(got[0].sha256, "ab");
    assert_int_equal(got[0].step, 40);
    assert_null(got[1].role);
    assert_int_equal(got[1].size, NONE);
    assert_int_equal(store_tensors(f->reader, first, f->arena, &tensors, &n, &f->err), OK);
    assert_int_equal(n, 2);
    assert_string_equal(tensors[0].name, "A");
    assert_string_equal(tensors[0].shape, "[2,2]");
    assert_true(isinf(tensors[0].norm));
    assert_int_equal(tensors[0].n_nonfinite, 1);
    assert_true(isnan(tensors[1].norm));
    assert_int_equal(tensors[1].n_values, NONE);
    assert_string_equal(tensors[1].dtype, "");
}

static void rows_of_two_datasets_come_back_in_order(void **state)
{
    enum { N = 9000 };                      /* more than two blocks */
    struct fixture *f = *state;
    struct dataset train = {.name = "train", .split = "train", .form = "other", .n_rows = NONE,
                            .n_unreadable = NONE};
    struct dataset test = {.name = "test", .split = "test", .form = "text", .columns = "text",
                           .n_rows = 1, .n_unreadable = 0};
    const struct dataset *got;
    const struct sample *rows;
    int64_t first, second;
    size_t n;

    begin(f);
    assert_int_equal(sink_dataset(f->sink, &train, &first, &f->err), OK);
    assert_int_equal(sink_dataset(f->sink, &test, &second, &f->err), OK);
    for (int i = 0; i < N; i++) {
        struct sample row = {.at = (int64_t)i * 1000, .length = N - i, .flags = (uint32_t)i << 18,
                             .n_tokens = i % 3 ? i : -1, .n_prompt_tokens = -1, .n_trained = 0};

        assert_int_equal(sink_sample(f->sink, i % 2 ? first : second, &row, &f->err), OK);
    }
    assert_int_equal(
        sink_dataset_done(f->sink, first, "messages", "messages,tools", N / 2, 3, &f->err), OK);
    assert_int_equal(sink_dataset_done(f->sink, second, NULL, NULL, N / 2, 0, &f->err), OK);
    finish(f);
    assert_int_equal(store_datasets(f->reader, run_id(f), f->arena, &got, &n, &f->err), OK);
    assert_int_equal(n, 2);
    assert_string_equal(got[0].form, "messages");
    assert_string_equal(got[0].columns, "messages,tools");
    assert_int_equal(got[0].n_rows, N / 2);
    assert_int_equal(got[0].n_unreadable, 3);
    assert_string_equal(got[1].form, "text");
    assert_string_equal(got[1].columns, "text");
    assert_int_equal(store_samples(f->reader, got[0].id, f->arena, &rows, &n, &f->err), OK);
    assert_int_equal(n, N / 2);
    for (int i = 0; i < N / 2; i++) {
        int was = 2 * i + 1;

        assert_int_equal(rows[i].at, (int64_t)was * 1000);
        assert_int_equal(rows[i].length, N - was);
        assert_int_equal(rows[i].flags, (uint32_t)was << 18);
        assert_int_equal(rows[i].n_tokens, was % 3 ? was : -1);
        assert_int_equal(rows[i].n_prompt_tokens, -1);
        assert_int_equal(rows[i].n_trained, 0);
    }
}

static void generations_come_back(void **state)
{
    struct fixture *f = *state;
    struct generation made = {.ord = 1, .row = 0, .step = 30, .model = "finetuned",
                              .finish_reason = "length", .n_tokens = 64, .max_new_tokens = 64,
                              .batch = 2, .exact = 1,
                              .flags = GENERATION_HAS_TEXT | GENERATION_RUNS_ON,
                              .prompt_hash = -7, .output_hash = INT64_MAX,
                              .opening_hash = -11, .n_words = 40};
    struct generation bare = {.ord = 0, .row = NONE, .step = NONE, .model = "", .n_tokens = NONE,
                              .max_new_tokens = NONE, .batch = NONE, .exact = -1};
    const struct generation *got;
    size_t n;

    begin(f);
    assert_int_equal(sink_generation(f->sink, &made, &f->err), OK);
    assert_int_equal(sink_generation(f->sink, &bare, &f->err), OK);
    finish(f);
    assert_int_equal(store_generations(f->reader, run_id(f), f->arena, &got, &n, &f->err), OK);
    assert_int_equal(n, 2);
    assert_int_equal(got[0].row, NONE);
    assert_int_equal(got[0].exact, -1);
    assert_string_equal(got[0].model, "");
    assert_null(got[0].finish_reason);
    assert_int_equal(got[1].row, 0);
    assert_int_equal(got[1].batch, 2);
    assert_int_equal(got[1].exact, 1);
    assert_string_equal(got[1].finish_reason, "length");
    assert_int_equal(got[1].flags, GENERATION_HAS_TEXT | GENERATION_RUNS_ON);
    assert_int_equal(got[1].prompt_hash, -7);
    assert_int_equal(got[1].output_hash, INT64_MAX);
    assert_int_equal(got[1].opening_hash, -11);
    assert_int_equal(got[1].n_words, 40);
    assert_int_equal(got[0].flags, 0);
}

static void judgements_come_back_in_the_order_of_the_file(void **state)
{
    struct fixture *f = *state;
    struct judgement second = {.ord = 1, .item = "q1", .base = "base", .candidate = "ft",
                               .length_base = 12, .length_candidate = 0, .score = 0.93,
                               .step = 400, .line = 7};
    struct judgement first = {.ord = 0, .base = "ref", .candidate = "dpo", .length_base = NONE,
                              .length_candidate = NONE, .score = 0.5, .step = NONE, .line = NONE};
    const struct judgement *got;
    size_t n;

    begin(f);
    assert_int_equal(sink_judgement(f->sink, &second, &f->err), OK);
    assert_int_equal(sink_judgement(f->sink, &first, &f->err), OK);
    finish(f);
    assert_int_equal(store_judgements(f->reader, run_id(f), f->arena, &got, &n, &f->err), OK);
    assert_int_equal(n, 2);
    assert_null(got[0].item);
    assert_string_equal(got[0].base, "ref");
    assert_int_equal(got[0].length_base, NONE);
    assert_int_equal(got[0].step, NONE);
    assert_true(got[0].score == 0.5);
    assert_string_equal(got[1].item, "q1");
    assert_string_equal(got[1].candidate, "ft");
    assert_int_equal(got[1].length_base, 12);
    assert_int_equal(got[1].length_candidate, 0);
    assert_true(got[1].score == 0.93);
    assert_int_equal(got[1].line, 7);
    begin(f); /* the file anew: what it said before is gone */
    finish(f);
    assert_int_equal(store_judgements(f->reader, run_id(f), f->arena, &got, &n, &f->err), OK);
    assert_int_equal(n, 0);
}

/* ---- Batches -------------------------------------------------------------------------------- */

static void a_reader_sees_whole_batches_of_a_long_import(void **state)
{
    struct fixture *f = *state;

    begin(f);
    for (int i = 0; i < 5000; i++)
        put_event(f, i);

    size_t n = n_events(f);

    assert_true(n > 0 && n < 5000);
    finish(f);
    assert_int_equal(n_events(f), 5000);
}

static void importing_again_replaces_what_was_there(void **state)
{
    struct fixture *f = *state;
    const struct source *sources;
    const struct note *notes;
    size_t n;
    int64_t id;

    begin(f);
    put_event(f, 1);
    put_event(f, 2);
    assert_int_equal(sink_note(f->sink, NOTE_INFO, 1, 1, &f->err, "old"), OK);
    finish(f);
    assert_int_equal(store_sources(f->reader, run_id(f), f->arena, &sources, &n, &f->err), OK);
    id = sources[0].id;
    begin(f);
    put_event(f, 3);
    finish(f);
    assert_int_equal(n_events(f), 1);
    assert_int_equal(store_notes(f->reader, run_id(f), f->arena, &notes, &n, &f->err), OK);
    assert_int_equal(n, 0);
    assert_int_equal(store_sources(f->reader, run_id(f), f->arena, &sources, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_int_equal(sources[0].id, id);        /* evidence still points to it */
}

static void an_abort_keeps_the_notes_only(void **state)
{
    struct fixture *f = *state;
    const struct source *sources;
    const struct note *notes;
    size_t n;

    begin(f);
    for (int i = 0; i < 3000; i++)              /* more than one batch */
        put_event(f, i);
    assert_int_equal(sink_note(f->sink, NOTE_ERROR, 8, NONE, &f->err, "torn"), OK);
    put_event(f, 3000);
    sink_abort(f->sink);
    assert_int_equal(n_events(f), 0);
    assert_int_equal(store_notes(f->reader, run_id(f), f->arena, &notes, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_string_equal(notes[0].message, "torn");
    assert_int_equal(store_sources(f->reader, run_id(f), f->arena, &sources, &n, &f->err), OK);
    assert_int_equal(sources[0].state, SOURCE_DAMAGED);
    assert_false(sink_is_current(f->sink, &RUN, &SOURCE));
}

static void what_the_user_writes_during_an_import_does_not_hang_on_it(void **state)
{
    struct fixture *f = *state;
    const struct tick *ticks;
    size_t n;

    begin(f);
    put_event(f, 1);
    assert_int_equal(store_tick_set(f->store, "k", "c", "seen", NULL, &f->err), OK);
    put_event(f, 2);
    sink_abort(f->sink);
    assert_int_equal(store_ticks(f->reader, "k", f->arena, &ticks, &n, &f->err), OK);
    assert_int_equal(n, 1);
    begin(f);
    put_event(f, 1);
    assert_int_equal(store_answer_set(f->store, "k", "kind", "dpo", &f->err), OK);
    put_event(f, 2);
    finish(f);
    assert_int_equal(n_events(f), 2);
}

/* ---- Current and gone ----------------------------------------------------------------------- */

static void a_source_is_current_while_the_file_is_the_same(void **state)
{
    struct fixture *f = *state;
    const struct run other = {.key = "other", .folder = "/x", .name = "x"};
    struct source changed = SOURCE;

    assert_false(sink_is_current(f->sink, &RUN, &SOURCE));
    begin(f);
    assert_false(sink_is_current(f->sink, &RUN, &SOURCE));
    finish(f);
    assert_true(sink_is_current(f->sink, &RUN, &SOURCE));
    assert_false(sink_is_current(f->sink, &other, &SOURCE));
    changed.size++;
    assert_false(sink_is_current(f->sink, &RUN, &changed));
    changed = SOURCE;
    changed.mtime_ns++;
    assert_false(sink_is_current(f->sink, &RUN, &changed));
    changed = SOURCE;
    changed.inode++;
    assert_false(sink_is_current(f->sink, &RUN, &changed));
    changed = SOURCE;
    changed.importer_version++;
    assert_false(sink_is_current(f->sink, &RUN, &changed));
    changed = SOURCE;
    changed.role = "served";
    assert_false(sink_is_current(f->sink, &RUN, &changed));
    begin(f);
    assert_int_equal(sink_end(f->sink, 2, SOURCE_GROWING, &f->err), OK);
    assert_false(sink_is_current(f->sink, &RUN, &SOURCE));
}

static void sources_that_are_gone_are_dropped_with_their_rows(void **state)
{
    struct fixture *f = *state;
    struct source second = SOURCE;
    const struct source *sources;
    size_t n;

    begin(f);
    put_event(f, 1);
    finish(f);
    second.path = "/run/second";
    assert_int_equal(sink_begin(f->sink, &RUN, &second, &f->err), OK);
    put_event(f, 1);
    finish(f);
    second.importer = "other";
    assert_int_equal(sink_begin(f->sink, &RUN, &second, &f->err), OK);
    put_event(f, 1);
    finish(f);
    assert_int_equal(sink_keep_only(f->sink, &RUN, &second, 1, &f->err), OK);
    assert_int_equal(store_sources(f->reader, run_id(f), f->arena, &sources, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_string_equal(sources[0].importer, "other");
    assert_int_equal(n_events(f), 1);
    assert_int_equal(sink_keep_only(f->sink, &RUN, NULL, 0, &f->err), OK);
    assert_int_equal(n_events(f), 0);
}

/* A row of the last metric that is kept and the first that is not. */
static void metrics_beyond_the_limit_are_left_out_and_told(void **state)
{
    struct fixture *f = *state;
    const double values[] = {1, 2};
    const struct series *series;
    const struct note *notes;
    char name[32];
    int handles[2] = {0};
    size_t n;

    begin(f);
    for (int i = 0; i < 20001; i++) {
        snprintf(name, sizeof name, "m%d", i);
        handles[0] = handles[1];
        assert_int_equal(sink_series(f->sink, name, NULL, &handles[1], &f->err), OK);
    }
    const struct point_row row = {.step = 1, .line = 1, .wall = NAN, .n = 2, .handles = handles,
                                  .values = values};
    assert_int_equal(sink_point_row(f->sink, &row, &f->err), OK);
    const struct point point = {.step = 1, .value = 3, .line = 1, .wall = NAN};
    assert_int_equal(sink_point(f->sink, handles[1], &point, &f->err), OK);
    assert_int_equal(sink_point(f->sink, 0, &point, &f->err), OK);
    finish(f);
    assert_int_equal(store_series(f->reader, run_id(f), f->arena, &series, &n, &f->err), OK);
    assert_int_equal(n, 20000);
    assert_int_equal(series[0].n_points, 1);
    assert_int_equal(series[n - 1].n_points, 1);
    assert_int_equal(store_notes(f->reader, run_id(f), f->arena, &notes, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_non_null(strstr(notes[0].message, "20000"));
}

/* What a limit of the store stopped is told, else a file has no rows and nobody knows why. */
static void a_limit_of_the_store_can_still_be_noted(void **state)
{
    struct fixture *f = *state;
    const struct dataset dataset = {.form = "x"};
    const struct note *notes;
    int64_t id;
    int rc = OK;
    size_t n;

    begin(f);
    for (int i = 0; i < 5000 && rc == OK; i++)
        rc = sink_dataset(f->sink, &dataset, &id, &f->err);
    assert_int_equal(rc, E_LIMIT);
    assert_int_equal(sink_note(f->sink, NOTE_ERROR, NONE, NONE, &f->err, "too many"), OK);
    assert_int_equal(sink_dataset(f->sink, &dataset, &id, &f->err), E_LIMIT);
    sink_abort(f->sink);
    assert_int_equal(store_notes(f->reader, run_id(f), f->arena, &notes, &n, &f->err), OK);
    assert_int_equal(n, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(settings_come_back_in_order_and_the_last_statement_counts),
        TEST(events_come_back_with_their_captures),
        TEST(models_come_back_with_their_tensors),
        TEST(rows_of_two_datasets_come_back_in_order),
        TEST(generations_come_back),
        TEST(judgements_come_back_in_the_order_of_the_file),
        TEST(a_reader_sees_whole_batches_of_a_long_import),
        TEST(importing_again_replaces_what_was_there),
        TEST(an_abort_keeps_the_notes_only),
        TEST(metrics_beyond_the_limit_are_left_out_and_told),
        TEST(a_limit_of_the_store_can_still_be_noted),
        TEST(what_the_user_writes_during_an_import_does_not_hang_on_it),
        TEST(a_source_is_current_while_the_file_is_the_same),
        TEST(sources_that_are_gone_are_dropped_with_their_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
