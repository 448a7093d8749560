/* The worker thread: imports with verdicts, what the user writes in the middle of one, stopping. */
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/checks/verdicts.h"
#include "tests/harness/tempdir.h"
#include "tui/worker.h"

#define PATIENCE_MS 60000

struct fixture {
    char *folder;
    char cache[4200], kept[4200];
    struct store *writer, *reader;
    struct worker *worker;
    struct arena *arena;
    struct run run;
};

/* What came until the request with a tag ended. */
struct heard {
    bool ended, failed;
    int n_batches, n_writes;
    int64_t run_id;
    char notice[512], failure[512];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct store_options options = {0};
    struct error err;

    assert_non_null(f);
    f->folder = tempdir_make();
    snprintf(f->cache, sizeof f->cache, "%s/cache.db", f->folder);
    snprintf(f->kept, sizeof f->kept, "%s/kept.db", f->folder);
    options.cache_path = f->cache;
    options.kept_path = f->kept;
    assert_int_equal(store_open(&f->writer, &options, &err), OK);
    options.read_only = true;
    assert_int_equal(store_open(&f->reader, &options, &err), OK);
    assert_int_equal(worker_open(&f->worker, f->writer, &err), OK);
    f->arena = arena_open(ARENA_CHECK_BYTES);
    assert_non_null(f->arena);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    worker_close(f->worker);
    store_close(f->reader);
    store_close(f->writer);
    arena_close(f->arena);
    tempdir_remove(f->folder);
    free(f);
    return 0;
}

/* Blocks until a message waits. */
static void next_message(struct fixture *f, struct job_message *out)
{
    struct job *job = worker_job(f->worker);
    struct pollfd fd = {.fd = job_fd(job), .events = POLLIN};

    while (!job_next_message(job, out))
        if (poll(&fd, 1, PATIENCE_MS) <= 0)
            fail_msg("the worker said nothing");
}

static void listen_until(struct fixture *f, int tag, struct heard *heard)
{
    struct job_message message;

    while (!heard->ended) {
        next_message(f, &message);
        switch (message.kind) {
        case JOB_BATCH:
            heard->n_batches++;
            if (message.a)
                heard->run_id = message.a;
            break;
        case JOB_NOTICE:
            snprintf(heard->notice, sizeof heard->notice, "%s", message.text);
            break;
        case JOB_DONE:
            heard->n_writes += message.tag == WORKER_WRITE;
            heard->ended |= message.tag == tag;
            break;
        case JOB_FAILED:
            snprintf(heard->failure, sizeof heard->failure, "%s", message.text);
            heard->failed = true;
            heard->ended |= message.tag == tag;
            break;
        case JOB_PROGRESS:
            break;
        }
    }
}

static void post_import(struct fixture *f, const char *path)
{
    struct error err;

    if (worker_import(f->worker, &path, 1, NULL, 0, false, &err) != OK)
        fail_msg("%s", err.message);
}

static void import(struct fixture *f, const char *path, struct heard *heard)
{
    struct error err;

    *heard = (struct heard){0};
    post_import(f, path);
    listen_until(f, WORKER_IMPORT, heard);
    if (heard->run_id)
        assert_int_equal(store_run_by_id(f->reader, heard->run_id, f->arena, &f->run, &err), OK);
}

static void wait_written(struct fixture *f)
{
    struct heard heard = {0};

    listen_until(f, WORKER_WRITE, &heard);
    assert_false(heard.failed);
}

/* A console log of about so many MiB. */
static const char *write_log(struct fixture *f, size_t mib)
{
    const char *path = tempdir_path(f->folder, "run/train.log");
    FILE *file;

    tempdir_write_text(f->folder, "run/train.log", "***** Running training *****\n");
    file = fopen(path, "a");
    assert_non_null(file);
    for (size_t i = 0; (size_t)ftell(file) < mib << 20; i++) {
        fprintf(file, "{'loss': %.4f, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': %.5f}\n",
                2.0 + (double)(i % 7) / 10, (double)i / 100000);
        for (int j = 0; j < 100; j++)
            fprintf(file, "[worker] shard %d of step %zu was read, nothing else to say here\n", j, i);
    }
    assert_int_equal(fclose(file), 0);
    return tempdir_path(f->folder, "run");
}

static void an_import_ends_with_verdicts(void **state)
{
    struct fixture *f = *state;
    struct verdicts verdicts;
    struct heard heard;
    struct error err;

    import(f, "tests/screen/data/nan-run", &heard);
    assert_false(heard.failed);
    assert_true(heard.run_id > 0);
    assert_int_equal(verdicts_load(f->reader, heard.run_id, f->arena, &verdicts, &err), OK);
    assert_true(verdicts.headline >= 0);
    assert_string_equal(verdicts.rows[verdicts.headline].check->id, "nan-high-lr");
}

static void a_folder_without_runs_is_said(void **state)
{
    struct fixture *f = *state;
    struct heard heard;

    tempdir_write(f->folder, "empty/picture.png", "\x89PNG\r\n\x1a\n", 8);
    import(f, tempdir_path(f->folder, "empty"), &heard);
    assert_false(heard.failed);
    assert_int_equal(heard.run_id, 0);
    assert_non_null(strstr(heard.notice, "nothing to check"));
}

static void marks_and_remarks_are_kept(void **state)
{
    struct fixture *f = *state;
    const struct remark *remarks;
    const struct tick *ticks;
    struct heard heard;
    struct error err;
    size_t n;

    import(f, "tests/screen/data/nan-run", &heard);
    assert_int_equal(worker_tick(f->worker, &f->run, "nan-onset", "dismissed", "known", &err), OK);
    wait_written(f);
    assert_int_equal(worker_remark(f->worker, &f->run, "nan-onset", "x:1", "ask", &err), OK);
    wait_written(f);
    assert_int_equal(store_ticks(f->reader, f->run.key, f->arena, &ticks, &n, &err), OK);
    assert_int_equal(n, 1);
    assert_string_equal(ticks[0].reason, "known");
    assert_int_equal(store_remarks(f->reader, f->run.key, f->arena, &remarks, &n, &err), OK);
    assert_int_equal(n, 1);
    assert_string_equal(remarks[0].text, "ask");
    assert_string_equal(remarks[0].place, "x:1");
    assert_int_equal(worker_tick(f->worker, &f->run, "nan-onset", NULL, NULL, &err), OK);
    wait_written(f);
    assert_int_equal(store_ticks(f->reader, f->run.key, f->arena, &ticks, &n, &err), OK);
    assert_int_equal(n, 0);
}

static void a_finding_is_kept_and_counted_as_exported(void **state)
{
    struct fixture *f = *state;
    const struct user_finding finding = {.check_id = "nan-onset", .verdict = "fail",
                                         .sentence = "it broke", .line = 3, .step = 8};
    const struct user_finding *findings;
    struct heard heard;
    struct error err;
    size_t n;

    import(f, "tests/screen/data/nan-run", &heard);
    assert_int_equal(worker_finding(f->worker, &f->run, &finding, &err), OK);
    wait_written(f);
    assert_int_equal(worker_exported(f->worker, &f->run, &err), OK);
    wait_written(f);
    assert_int_equal(store_user_findings(f->reader, f->run.key, f->arena, &findings, &n, &err), OK);
    assert_int_equal(n, 1);
    assert_string_equal(findings[0].sentence, "it broke");
    assert_int_equal(findings[0].step, 8);
    assert_true(findings[0].exported);
}

static void an_answer_changes_the_verdicts(void **state)
{
    struct fixture *f = *state;
    struct verdicts verdicts;
    struct heard heard;
    struct error err;

    import(f, "tests/screen/data/nan-run", &heard);
    assert_int_equal(worker_answer(f->worker, &f->run, "kind", "dpo", &err), OK);
    wait_written(f);
    wait_written(f);                        /* the checks */
    assert_int_equal(verdicts_load(f->reader, f->run.id, f->arena, &verdicts, &err), OK);
    assert_int_equal(verdicts.run.kind, KIND_DPO);
}

static void an_answer_before_the_end_is_kept(void **state)
{
    struct fixture *f = *state;
    const struct run run = {.key = "some-run"};
    const struct answer *answers;
    struct error err;
    size_t n;

    post_import(f, write_log(f, 4));
    assert_int_equal(worker_answer(f->worker, &run, "kind", "dpo", &err), OK);
    worker_close(f->worker);
    f->worker = NULL;
    assert_int_equal(store_answers(f->reader, "some-run", f->arena, &answers, &n, &err), OK);
    assert_int_equal(n, 1);
    assert_string_equal(answers[0].value, "dpo");
}

/* On a machine that is fast or busy a small log is read before the test can act: then a larger one. */
static void a_remark_in_the_middle_of_a_file_does_not_wait_for_its_end(void **state)
{
    struct fixture *f = *state;
    const struct run run = {.key = "some-run"};
    const struct remark *remarks;
    struct error err;
    bool came_before = false;
    size_t n;

    for (size_t mib = 8; !came_before && mib <= 128; mib *= 4) {
        struct job_message message = {.kind = JOB_BATCH};
        struct heard heard = {0};

        post_import(f, write_log(f, mib));
        while (message.kind != JOB_PROGRESS && message.kind != JOB_DONE)
            next_message(f, &message);
        assert_int_equal(worker_remark(f->worker, &run, NULL, NULL, "now", &err), OK);
        if (message.kind == JOB_DONE) {
            wait_written(f);
            continue;
        }
        listen_until(f, WORKER_IMPORT, &heard);
        came_before = heard.n_writes > 0;
        if (!came_before)
            wait_written(f);
    }
    assert_true(came_before);
    assert_int_equal(store_remarks(f->reader, "some-run", f->arena, &remarks, &n, &err), OK);
    assert_true(n >= 1);
}

static void a_stopped_import_keeps_what_was_read(void **state)
{
    struct fixture *f = *state;
    const struct series *series;
    const struct source *sources;
    struct heard heard = {0};
    struct error err;
    size_t n;

    for (size_t mib = 32; !strstr(heard.notice, "stopped") && mib <= 512; mib *= 4) {
        struct job_message message = {.kind = JOB_BATCH};

        heard = (struct heard){0};
        post_import(f, write_log(f, mib));
        for (int n_progress = 0; n_progress < 2 && message.kind != JOB_DONE;) {
            next_message(f, &message);
            n_progress += message.kind == JOB_PROGRESS;
        }
        if (message.kind == JOB_DONE)
            continue;
        job_cancel(worker_job(f->worker));
        listen_until(f, WORKER_IMPORT, &heard);
        assert_false(heard.failed);
    }
    assert_non_null(strstr(heard.notice, "stopped"));
    assert_true(heard.run_id > 0);
    assert_int_equal(store_series(f->reader, heard.run_id, f->arena, &series, &n, &err), OK);
    assert_true(n >= 3);
    assert_int_equal(store_sources(f->reader, heard.run_id, f->arena, &sources, &n, &err), OK);
    assert_int_equal(n, 1);
    assert_int_equal(sources[0].state, SOURCE_GROWING);
}

static void closing_in_the_middle_of_an_import_keeps_a_remark(void **state)
{
    struct fixture *f = *state;
    const struct run run = {.key = "some-run"};
    const struct remark *remarks;
    struct error err;
    size_t n;

    post_import(f, write_log(f, 8));
    assert_int_equal(worker_remark(f->worker, &run, NULL, NULL, "last words", &err), OK);
    worker_close(f->worker);
    f->worker = NULL;
    assert_int_equal(store_remarks(f->reader, "some-run", f->arena, &remarks, &n, &err), OK);
    assert_int_equal(n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_import_ends_with_verdicts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_without_runs_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(marks_and_remarks_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_finding_is_kept_and_counted_as_exported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_answer_changes_the_verdicts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_answer_before_the_end_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_remark_in_the_middle_of_a_file_does_not_wait_for_its_end,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stopped_import_keeps_what_was_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(closing_in_the_middle_of_an_import_keeps_a_remark, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
