/* A run that was put into a store by hand. See stored_run.h. */
#include "tests/harness/stored_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/checks/registry.h"
#include "core/store/sink.h"
#include "tests/harness/tempdir.h"

#define MAX_RESULTS 200

struct stored_run *stored_run_open(void)
{
    struct stored_run *f = calloc(1, sizeof *f);
    struct store_options options = {.in_memory = true};

    assert_non_null(f);
    clock_fix(1768435200);
    f->folder = tempdir_make();
    f->arena = arena_open(ARENA_CHECK_BYTES);
    assert_non_null(f->arena);
    options.kept_path = tempdir_path(f->folder, "triage.db");
    assert_int_equal(store_open(&f->store, &options, NULL), OK);
    return f;
}

void stored_run_close(struct stored_run *f)
{
    store_close(f->store);
    arena_close(f->arena);
    tempdir_remove(f->folder);
    free(f);
    clock_fix(NONE);
}

static void put_sources(struct stored_run *f, const struct run *run, const char *log_name)
{
    const double loss[] = {2.5, 2.25, NAN, INFINITY};
    char log[4096], state[4096];
    struct source source = {.importer = "console_log", .importer_version = 1, .mtime_ns = 1};
    struct sink *sink;
    int series;

    snprintf(log, sizeof log, "%s/%s", run->folder, log_name);
    snprintf(state, sizeof state, "%s/trainer_state.json", run->folder);
    assert_int_equal(sink_open_store(&sink, f->store, NULL), OK);
    source.path = log;
    assert_int_equal(sink_begin(sink, run, &source, NULL), OK);
    assert_int_equal(sink_note(sink, NOTE_WARN, 17, 800, NULL, "bytes that are no UTF-8"), OK);
    assert_int_equal(sink_end(sink, 900, SOURCE_WHOLE, NULL), OK);
    source.path = state;
    source.importer = "hf_trainer_state";
    assert_int_equal(sink_begin(sink, run, &source, NULL), OK);
    assert_int_equal(sink_series(sink, "loss", "loss", &series, NULL), OK);
    for (int i = 0; i < 4; i++) {
        struct point point = {.seq = i, .step = 10 * (i + 1), .value = loss[i], .line = 12 + 8 * i,
                              .wall = NAN};

        assert_int_equal(sink_point(sink, series, &point, NULL), OK);
    }
    assert_int_equal(sink_end(sink, 400, SOURCE_WHOLE, NULL), OK);
    sink_close(sink);
}

static void find_ids(struct stored_run *f, const char *key)
{
    const struct source *sources;
    size_t n;

    assert_int_equal(store_run_find(f->store, key, f->arena, &f->run, NULL), OK);
    assert_int_equal(store_sources(f->store, f->run.id, f->arena, &sources, &n, NULL), OK);
    for (size_t i = 0; i < n; i++)
        *(strcmp(sources[i].importer, "console_log") == 0 ? &f->log : &f->state) = sources[i].id;
}

void stored_run_put(struct stored_run *f, const char *name, const char *log_name)
{
    char folder[2048];
    struct run run = {.key = "key-1", .folder = folder, .name = name, .project = f->folder};

    snprintf(folder, sizeof folder, "%s/%s", f->folder, name);
    put_sources(f, &run, log_name);
    find_ids(f, "key-1");
}

struct evidence stored_run_evidence(int64_t source, int64_t line, int64_t step, const char *text)
{
    return (struct evidence){.kind = "log", .source_id = source, .line = line, .step = step,
                             .row = NONE, .token = NONE, .last_step = NONE, .text = text};
}

/* The given results, and n.a. for every other check of the registry: a golden file then does not
 * change with each new check. */
void stored_run_results(struct stored_run *f, const struct check_result *given, size_t n_given)
{
    static struct check_result all[MAX_RESULTS];
    size_t n = 0;

    assert_true(check_count() < MAX_RESULTS);
    for (size_t i = 0; i < check_count(); i++) {
        const struct check *check = check_at(i);

        all[n] = (struct check_result){.verdict = VERDICT_NOT_APPLICABLE, .finding = "not asked",
                                       .branch = "", .from_step = NONE};
        for (size_t k = 0; k < n_given; k++)
            if (strcmp(given[k].check_id, check->id) == 0)
                all[n] = given[k];
        all[n].check_id = check->id;
        all[n].check_version = check->version;
        n++;
    }
    assert_int_equal(store_results_put(f->store, f->run.id, all, n, 1, NULL), OK);
}

/* `text` stands where texts of files can get: findings, evidence, fixes, missing, information. */
void stored_run_findings(struct stored_run *f, const char *text)
{
    struct evidence nan[] = {stored_run_evidence(f->state, 28, 30, text),
                             stored_run_evidence(f->log, NONE, 30, "grad_norm inf")};
    struct evidence fp16[] = {stored_run_evidence(0, NONE, NONE, "fp16 = true")};
    const char *const fixes[] = {"train in bf16", text};
    const char *const missing[] = {"the training rows", text};
    const char *const information[] = {text};
    struct check_result results[] = {
        {.check_id = "nan-onset", .verdict = VERDICT_FAIL, .confidence = CONFIDENCE_CERTAIN,
         .finding = text, .branch = "nan", .from_step = 30, .evidence = nan, .n_evidence = 2},
        {.check_id = "nan-fp16-overflow", .verdict = VERDICT_FAIL, .confidence = CONFIDENCE_LIKELY,
         .finding = "overflow in fp16 at step 30", .branch = "inf", .from_step = 30,
         .evidence = fp16, .n_evidence = 1, .fixes = fixes, .n_fixes = 2},
        {.check_id = "nan-high-lr", .verdict = VERDICT_UNKNOWN, .finding = "no learning rate",
         .branch = "", .from_step = NONE, .missing = missing, .n_missing = 2},
        {.check_id = "oom-train", .verdict = VERDICT_PASS, .confidence = CONFIDENCE_STRONG,
         .finding = "no out-of-memory message", .branch = "", .from_step = NONE,
         .information = information, .n_information = 1},
        {.check_id = "run-incomplete", .verdict = VERDICT_WARN, .confidence = CONFIDENCE_POSSIBLE,
         .finding = "40 of 400 steps", .branch = "", .from_step = NONE},
    };

    nan[0].series = "loss";
    nan[0].has_value = nan[0].has_bound = true;
    nan[0].value = NAN;
    nan[0].bound = 4.5;
    nan[0].commit = "a1b2c3d";
    nan[1].last_step = 40;
    stored_run_results(f, results, sizeof results / sizeof results[0]);
}

void stored_run_remarks(struct stored_run *f, const char *text)
{
    struct remark remark = {.check_id = "nan-onset", .place = text, .text = text};
    struct user_finding finding = {.check_id = "nan-onset", .verdict = "warn", .sentence = text,
                                   .path = text, .line = NONE, .step = 30};
    int64_t id = 0;

    assert_int_equal(store_remark_put(f->store, f->run.key, &remark, &id, NULL), OK);
    id = 0;
    assert_int_equal(store_user_finding_put(f->store, f->run.key, &finding, &id, NULL), OK);
    assert_int_equal(
        store_tick_set(f->store, f->run.key, "run-incomplete", "dismissed", text, NULL), OK);
}
