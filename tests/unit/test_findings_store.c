/* store_results gives back what store_results_put got. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "core/store/sink.h"
#include "core/store/store.h"
#include "tests/harness/tempdir.h"

struct fixture {
    char *folder;
    struct store *store;
    struct sink *sink;
    struct arena *arena;
    struct error err;
    int64_t run, source;
};

static const struct run RUN = {.key = "k", .folder = "/run", .name = "run"};
static const struct source SOURCE = {.path = "/run/log", .importer = "log"};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    const struct source *sources;
    struct run run;
    size_t n;

    f->folder = tempdir_make();
    f->arena = arena_open(ARENA_CHECK_BYTES);

    struct store_options options = {.in_memory = true,
                                    .kept_path = tempdir_path(f->folder, "triage.db")};

    assert_int_equal(store_open(&f->store, &options, &f->err), OK);
    assert_int_equal(sink_open_store(&f->sink, f->store, &f->err), OK);
    assert_int_equal(sink_begin(f->sink, &RUN, &SOURCE, &f->err), OK);
    assert_int_equal(sink_end(f->sink, 1, SOURCE_WHOLE, &f->err), OK);
    assert_int_equal(store_run_find(f->store, "k", f->arena, &run, &f->err), OK);
    f->run = run.id;
    assert_int_equal(store_sources(f->store, f->run, f->arena, &sources, &n, &f->err), OK);
    f->source = sources[0].id;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    sink_close(f->sink);
    store_close(f->store);
    arena_close(f->arena);
    tempdir_remove(f->folder);
    free(f);
    return 0;
}

static void same_text(const char *a, const char *b)
{
    if (!a || !b)
        assert_true(a == b);
    else
        assert_string_equal(a, b);
}

static void same_double(double a, double b)
{
    assert_memory_equal(&a, &b, sizeof a);
}

static void same_evidence(const struct evidence *a, const struct evidence *b)
{
    same_text(a->kind, b->kind);
    assert_int_equal(a->source_id, b->source_id);
    assert_int_equal(a->line, b->line);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->last_step, b->last_step);
    assert_int_equal(a->row, b->row);
    assert_int_equal(a->token, b->token);
    same_text(a->series, b->series);
    same_text(a->commit, b->commit);
    assert_int_equal(a->has_value, b->has_value);
    assert_int_equal(a->has_bound, b->has_bound);
    same_double(a->value, b->value);
    same_double(a->bound, b->bound);
    same_text(a->text, b->text);
}

static void same_texts(const char *const *a, size_t n_a, const char *const *b, size_t n_b)
{
    assert_int_equal(n_a, n_b);
    for (size_t i = 0; i < n_a; i++)
        same_text(a[i], b[i]);
}

static void same_result(const struct check_result *a, const struct check_result *b)
{
    same_text(a->check_id, b->check_id);
    assert_int_equal(a->check_version, b->check_version);
    assert_int_equal(a->verdict, b->verdict);
    assert_int_equal(a->confidence, b->confidence);
    same_text(a->finding, b->finding);
    same_text(a->branch, b->branch);
    assert_int_equal(a->from_step, b->from_step);
    assert_int_equal(a->n_evidence, b->n_evidence);
    for (size_t i = 0; i < a->n_evidence; i++)
        same_evidence(&a->evidence[i], &b->evidence[i]);
    same_texts(a->fixes, a->n_fixes, b->fixes, b->n_fixes);
    same_texts(a->missing, a->n_missing, b->missing, b->n_missing);
    same_texts(a->information, a->n_information, b->information, b->n_information);
}

static const struct check_result *load(struct fixture *f, size_t *n, uint64_t *hash)
{
    const struct check_result *results = NULL;

    assert_int_equal(store_results(f->store, f->run, f->arena, &results, n, hash, &f->err), OK);
    return results;
}

static struct evidence bare(const char *kind)
{
    return (struct evidence){.kind = kind, .line = NONE, .step = NONE, .row = NONE, .token = NONE,
                             .last_step = NONE, .value = NAN, .bound = NAN};
}

static void results_come_back_exactly(void **state)
{
    static const char *const FIXES[] = {"lower the rate", "use bf16", ""};
    static const char *const MISSING[] = {"a console log"};
    struct fixture *f = *state;
    struct evidence evidence[4] = {bare("log"), bare("rows"), bare("number"), bare("file")};
    uint64_t hash = 0;
    size_t n;

    evidence[0].source_id = f->source;
    evidence[0].line = 42;
    evidence[0].text = "loss: nan | `tick`\n";
    evidence[1].series = "train/loss";
    evidence[1].step = 0;
    evidence[1].last_step = 40;
    evidence[1].row = 0;
    evidence[1].token = 12;
    evidence[1].commit = "abc";
    evidence[2].has_value = evidence[2].has_bound = true;
    evidence[2].value = -NAN;
    evidence[2].bound = INFINITY;
    evidence[3].has_value = true;
    evidence[3].value = -0.0;

    const struct check_result results[] = {
        {.check_id = "b-full", .check_version = 3, .verdict = VERDICT_FAIL,
         .confidence = CONFIDENCE_CERTAIN, .finding = "loss is NaN from step 40", .branch = "fp16",
         .from_step = 40, .evidence = evidence, .n_evidence = 4, .fixes = FIXES, .n_fixes = 3},
        {.check_id = "a-bare", .check_version = 1, .verdict = VERDICT_NOT_APPLICABLE,
         .confidence = CONFIDENCE_NONE, .finding = NULL, .branch = "", .from_step = NONE},
        {.check_id = "c-unknown", .check_version = 1, .verdict = VERDICT_UNKNOWN,
         .confidence = CONFIDENCE_NONE, .finding = "no log", .branch = NULL, .from_step = NONE,
         .missing = MISSING, .n_missing = 1, .information = FIXES, .n_information = 2},
    };
    const size_t order[] = {1, 0, 2};

    assert_int_equal(store_results_put(f->store, f->run, results, 3, UINT64_MAX - 5, &f->err), OK);

    const struct check_result *got = load(f, &n, &hash);

    assert_int_equal(n, 3);
    assert_true(hash == UINT64_MAX - 5);
    for (size_t i = 0; i < 3; i++)
        same_result(&got[i], &results[order[i]]);
}

static void a_run_without_results_has_no_hash(void **state)
{
    struct fixture *f = *state;
    uint64_t hash = 1;
    size_t n = 1;

    load(f, &n, &hash);
    assert_int_equal(n, 0);
    assert_int_equal(hash, 0);
    assert_int_equal(store_results_put(f->store, f->run, NULL, 0, 5, &f->err), OK);
    load(f, &n, &hash);
    assert_int_equal(n, 0);
    assert_int_equal(hash, 0);
}

static void only_the_checks_that_ran_are_replaced(void **state)
{
    struct fixture *f = *state;
    struct evidence evidence[2] = {bare("log"), bare("log")};
    struct check_result a = {.check_id = "a", .check_version = 1, .verdict = VERDICT_FAIL,
                             .from_step = NONE, .evidence = evidence, .n_evidence = 2};
    struct check_result b = {.check_id = "b", .check_version = 1, .verdict = VERDICT_PASS,
                             .from_step = NONE};
    uint64_t hash;
    size_t n;

    assert_int_equal(store_results_put(f->store, f->run, &a, 1, 7, &f->err), OK);
    assert_int_equal(store_results_put(f->store, f->run, &b, 1, 7, &f->err), OK);
    load(f, &n, &hash);
    assert_int_equal(n, 2);
    assert_int_equal(hash, 7);
    a.n_evidence = 1;
    a.verdict = VERDICT_WARN;
    assert_int_equal(store_results_put(f->store, f->run, &a, 1, 8, &f->err), OK);

    const struct check_result *got = load(f, &n, &hash);

    assert_int_equal(n, 2);
    assert_int_equal(got[0].verdict, VERDICT_WARN);
    assert_int_equal(got[0].n_evidence, 1);
    assert_int_equal(hash, 0);              /* not all were made of the same inputs */
}

static void a_failed_put_leaves_the_old_results(void **state)
{
    struct fixture *f = *state;
    struct check_result good = {.check_id = "a", .check_version = 1, .verdict = VERDICT_FAIL,
                                .from_step = NONE};
    struct check_result pair[2] = {good, good};
    uint64_t hash;
    size_t n;

    assert_int_equal(store_results_put(f->store, f->run, &good, 1, 7, &f->err), OK);
    pair[0].verdict = VERDICT_PASS;
    pair[1].check_id = NULL;                /* NOT NULL in the table */
    assert_int_equal(store_results_put(f->store, f->run, pair, 2, 8, &f->err), E_DB);

    const struct check_result *got = load(f, &n, &hash);

    assert_int_equal(n, 1);
    assert_int_equal(got[0].verdict, VERDICT_FAIL);
    assert_int_equal(hash, 7);
    /* A run that is not there. */
    assert_int_equal(store_results_put(f->store, 999, &good, 1, 7, &f->err), E_DB);
}

static void evidence_outlives_its_source(void **state)
{
    struct fixture *f = *state;
    struct evidence evidence[2] = {bare("log"), bare("log")};
    struct check_result result = {.check_id = "a", .check_version = 1, .verdict = VERDICT_FAIL,
                                  .from_step = NONE, .evidence = evidence, .n_evidence = 2};
    uint64_t hash;
    size_t n;

    evidence[0].source_id = f->source;
    evidence[0].line = 5;
    evidence[1].source_id = 12345;          /* dropped since */
    assert_int_equal(store_results_put(f->store, f->run, &result, 1, 7, &f->err), OK);
    assert_int_equal(sink_keep_only(f->sink, &RUN, NULL, 0, &f->err), OK);

    const struct check_result *got = load(f, &n, &hash);

    assert_int_equal(got[0].n_evidence, 2);
    assert_int_equal(got[0].evidence[0].source_id, 0);
    assert_int_equal(got[0].evidence[0].line, 5);
    assert_int_equal(got[0].evidence[1].source_id, 0);
}

static void forgetting_a_run_drops_its_results(void **state)
{
    struct fixture *f = *state;
    struct evidence evidence = bare("log");
    struct check_result result = {.check_id = "a", .check_version = 1, .verdict = VERDICT_FAIL,
                                  .from_step = NONE, .evidence = &evidence, .n_evidence = 1};
    uint64_t hash;
    size_t n;

    assert_int_equal(store_results_put(f->store, f->run, &result, 1, 7, &f->err), OK);
    assert_int_equal(store_run_forget(f->store, f->run, &f->err), OK);
    load(f, &n, &hash);
    assert_int_equal(n, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(results_come_back_exactly),
        TEST(a_run_without_results_has_no_hash),
        TEST(only_the_checks_that_ran_are_replaced),
        TEST(a_failed_put_leaves_the_old_results),
        TEST(evidence_outlives_its_source),
        TEST(forgetting_a_run_drops_its_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
