/* The checklist on stored runs: results are stored, kept while nothing changed, and renewed when an
 * input or a version did. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/checks/registry.h"
#include "core/checks/runner.h"
#include "core/checks/verdicts.h"
#include "core/store/sink.h"
#include "tests/harness/tempdir.h"

struct bench {
    char *folder;
    struct store *store;
    struct arena *arena;
    struct error err;
    int64_t run_id;
};

static void must(const struct bench *b, int rc)
{
    if (rc != OK)
        fail_msg("%s", b->err.message);
}

/* One metrics file: loss and grad_norm in n rows, the rate of the run as a setting. */
static void import_run(struct bench *b, const char *key, const double *loss, size_t n,
                       int64_t mtime)
{
    const struct run run = {.key = key,
                            .folder = key,
                            .name = key,
                            .project = "/p",
                            .started_at = NONE,
                            .ended_at = NONE};
    const struct source source = {.path = arena_printf(b->arena, "%s/metrics.jsonl", key),
                                  .importer = "metrics_table",
                                  .importer_version = 1,
                                  .size = 100,
                                  .mtime_ns = mtime,
                                  .state = SOURCE_WHOLE};
    struct sink *sink = NULL;
    int handle = -1;

    must(b, sink_open_store(&sink, b->store, &b->err));
    must(b, sink_begin(sink, &run, &source, &b->err));
    must(b, sink_series(sink, "loss", "loss", &handle, &b->err));
    for (size_t i = 0; i < n; i++) {
        const struct point point = {.seq = (int64_t)i,
                                    .step = (int64_t)i + 1,
                                    .value = loss[i],
                                    .line = (int64_t)i + 1,
                                    .wall = NAN};
        must(b, sink_point(sink, handle, &point, &b->err));
    }
    must(b, sink_end(sink, 100, SOURCE_WHOLE, &b->err));
    sink_close(sink);
    struct run found;
    must(b, store_run_find(b->store, key, b->arena, &found, &b->err));
    b->run_id = found.id;
}

static int set_up(void **state)
{
    static struct bench bench;

    bench = (struct bench){.folder = tempdir_make(), .arena = arena_open(64u << 20)};
    const struct store_options options = {.kept_path = tempdir_path(bench.folder, "triage.db"),
                                          .in_memory = true};
    *state = &bench;
    return bench.arena && store_open(&bench.store, &options, &bench.err) == OK ? 0 : -1;
}

static int tear_down(void **state)
{
    struct bench *b = *state;

    store_close(b->store);
    arena_close(b->arena);
    tempdir_remove(b->folder);
    return 0;
}

static const struct check_result *result(struct bench *b, const char *id, uint64_t *hash)
{
    const struct check_result *results = NULL;
    size_t n = 0;

    must(b, store_results(b->store, b->run_id, b->arena, &results, &n, hash, &b->err));
    for (size_t i = 0; i < n; i++)
        if (strcmp(results[i].check_id, id) == 0)
            return &results[i];
    return NULL;
}

/* Writes another finding under the same hash: only a check that runs again removes it. */
static void forge(struct bench *b, const char *id, int version)
{
    uint64_t hash = 0;
    struct check_result forged = *result(b, id, &hash);

    forged.finding = "forged";
    forged.check_version = version;
    must(b, store_results_put(b->store, b->run_id, &forged, 1, hash, &b->err));
}

static const double DEAD[] = {2.0, 1.9, NAN, NAN, NAN};

static void results_of_every_check_are_stored(void **state)
{
    struct bench *b = *state;
    struct verdicts v;

    import_run(b, "/p/a", DEAD, 5, 1);
    must(b, checks_run(b->store, b->run_id, NULL, &b->err));
    must(b, verdicts_load(b->store, b->run_id, b->arena, &v, &b->err));
    assert_int_equal(v.n_rows, check_count());
    for (size_t i = 0; i < v.n_rows; i++)
        assert_string_not_equal(v.rows[i].result.finding, "not run yet");
    assert_true(v.headline >= 0);
    assert_string_equal(v.rows[v.headline].check->id, "nan-onset");
    const struct check_result *onset = &v.rows[v.headline].result;
    assert_int_equal(onset->from_step, 3);
    assert_true(onset->n_evidence > 0);
    assert_int_equal(onset->evidence[0].line, 3);
}

static void an_unchanged_run_is_not_checked_again(void **state)
{
    struct bench *b = *state;
    uint64_t hash = 0;

    import_run(b, "/p/a", DEAD, 5, 1);
    must(b, checks_run(b->store, b->run_id, NULL, &b->err));
    forge(b, "nan-onset", check_by_id("nan-onset")->version);
    must(b, checks_run(b->store, b->run_id, NULL, &b->err));
    assert_string_equal(result(b, "nan-onset", &hash)->finding, "forged");
    forge(b, "nan-onset", check_by_id("nan-onset")->version + 1);
    must(b, checks_run(b->store, b->run_id, NULL, &b->err));
    assert_string_not_equal(result(b, "nan-onset", &hash)->finding, "forged");
}

static void a_changed_file_makes_results_stale(void **state)
{
    const double healthy[] = {2.0, 1.9, 1.8, 1.7, 1.6};
    struct bench *b = *state;
    uint64_t hash = 0;

    import_run(b, "/p/a", DEAD, 5, 1);
    must(b, checks_run(b->store, b->run_id, NULL, &b->err));
    assert_int_equal(result(b, "nan-onset", &hash)->verdict, VERDICT_FAIL);
    import_run(b, "/p/a", healthy, 5, 2);
    must(b, checks_run(b->store, b->run_id, NULL, &b->err));
    assert_int_equal(result(b, "nan-onset", &hash)->verdict, VERDICT_PASS);
}

static void a_second_run_of_the_project_makes_comparisons_stale(void **state)
{
    const double healthy[] = {2.0, 1.9, 1.8, 1.7, 1.6};
    struct bench *b = *state;
    uint64_t before = 0, after = 0;

    import_run(b, "/p/b", healthy, 5, 1);
    int64_t first = b->run_id;
    must(b, checks_run(b->store, first, NULL, &b->err));
    (void)result(b, "nan-onset", &before);
    import_run(b, "/p/c", healthy, 5, 1);
    b->run_id = first;
    must(b, checks_run(b->store, first, NULL, &b->err));
    (void)result(b, "nan-onset", &after);
    assert_true(before != after);
}

/* What changed since another run is read from the history of both. */
static void a_history_of_another_run_makes_comparisons_stale(void **state)
{
    const double healthy[] = {2.0, 1.9, 1.8, 1.7, 1.6};
    struct bench *b = *state;
    uint64_t before = 0, between = 0, after = 0;

    import_run(b, "/p/b", healthy, 5, 1);
    int64_t first = b->run_id;
    import_run(b, "/p/c", healthy, 5, 1);
    const struct run_history of_other = {.run_id = b->run_id, .key = 7, .head = "{}"};
    b->run_id = first;
    must(b, checks_run(b->store, first, NULL, &b->err));
    (void)result(b, "nan-onset", &before);
    must(b, checks_run(b->store, first, NULL, &b->err));
    (void)result(b, "nan-onset", &between);
    assert_true(before == between);
    must(b, store_run_histories_put(b->store, of_other.run_id, &of_other, 1, &b->err));
    must(b, checks_run(b->store, first, NULL, &b->err));
    (void)result(b, "nan-onset", &after);
    assert_true(before != after);
}

static void only_the_asked_checks_run_at_first(void **state)
{
    struct bench *b = *state;
    uint64_t hash = 0;

    import_run(b, "/p/a", DEAD, 5, 1);
    must(b, checks_run(b->store, b->run_id, "nan-onset, diverged", &b->err));
    assert_non_null(result(b, "nan-onset", &hash));
    assert_non_null(result(b, "diverged", &hash));
    assert_null(result(b, "resume-jump", &hash));
    must(b, checks_run(b->store, b->run_id, NULL, &b->err));
    assert_non_null(result(b, "resume-jump", &hash));
}

static void what_is_stale_is_renewed_although_not_asked_for(void **state)
{
    const double healthy[] = {2.0, 1.9, 1.8, 1.7, 1.6};
    struct bench *b = *state;
    uint64_t hash = 0;

    import_run(b, "/p/a", DEAD, 5, 1);
    must(b, checks_run(b->store, b->run_id, NULL, &b->err));
    import_run(b, "/p/a", healthy, 5, 2);
    must(b, checks_run(b->store, b->run_id, "diverged", &b->err));
    assert_int_equal(result(b, "nan-onset", &hash)->verdict, VERDICT_PASS);
}

static void the_users_word_makes_a_range_the_headline(void **state)
{
    struct bench *b = *state;
    struct verdicts v;

    import_run(b, "/p/a", DEAD, 2, 1);
    const struct check_result range = {.check_id = "hyperparams-range",
                                       .verdict = VERDICT_WARN,
                                       .branch = "",
                                       .finding = "f",
                                       .confidence = CONFIDENCE_POSSIBLE,
                                       .from_step = NONE,
                                       .check_version = check_by_id("hyperparams-range")->version};
    must(b, store_results_put(b->store, b->run_id, &range, 1, 7, &b->err));
    must(b, verdicts_load(b->store, b->run_id, b->arena, &v, &b->err));
    assert_int_equal(v.headline, -1);
    must(b, store_answer_set(b->store, v.run.key, "outcome", "disappointing", &b->err));
    must(b, verdicts_load(b->store, b->run_id, b->arena, &v, &b->err));
    assert_string_equal(v.rows[v.headline].check->id, "hyperparams-range");
}

static void an_unknown_run_is_an_error(void **state)
{
    struct bench *b = *state;

    assert_int_not_equal(checks_run(b->store, 999, NULL, &b->err), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(results_of_every_check_are_stored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unchanged_run_is_not_checked_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_file_makes_results_stale, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_second_run_of_the_project_makes_comparisons_stale, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_history_of_another_run_makes_comparisons_stale, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(only_the_asked_checks_run_at_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_stale_is_renewed_although_not_asked_for, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_users_word_makes_a_range_the_headline, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_unknown_run_is_an_error, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
