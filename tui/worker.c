/* Requests of the UI to its worker thread. See worker.h. */
#include "tui/worker_parts.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/checks/runner.h"
#include "importers/folder.h"

int worker_open(struct worker **out, struct store *writer, struct error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);
    int rc;

    if (!worker)
        return error_set(err, E_NOMEM, "worker");
    worker->store = writer;
    rc = job_open(&worker->job, err);
    if (rc != OK) {
        free(worker);
        return rc;
    }
    *out = worker;
    return OK;
}

void worker_close(struct worker *worker)
{
    if (!worker)
        return;
    atomic_store(&worker->is_closing, true);
    job_close(worker->job);
    follow_close(worker->follow);
    free(worker);
}

struct job *worker_job(struct worker *worker)
{
    return worker->job;
}

/* ---- Import ---- */

void worker_release_import(void *argument)
{
    struct import_request *request = argument;

    arena_close(request->arena);
    free(request);
}

/* Between two records of a file or two files: what the user wrote goes in now. A write of its own
 * ends the batch that is open, which is no more than an early commit of whole records. */
void worker_serve_writes(struct import_request *request)
{
    struct error ignored;

    if (job_yield(request->job, &ignored) != OK)
        return;                 /* cancelled: plan_import sees the flag itself */
}

static void on_progress(void *ctx, int64_t done, int64_t total)
{
    struct import_request *request = ctx;

    job_send(request->job, JOB_PROGRESS, done, total, "%s", "");
    worker_serve_writes(request);
}

static void on_file(void *ctx, const struct import_event *event)
{
    (void)event;
    worker_serve_writes(ctx);
}

/* The audit of the rows before the checks: shown in rows, stopped as an import is. */
static void on_audit(void *ctx, int64_t rows, int64_t total)
{
    job_send(ctx, JOB_PROGRESS, rows, total, "%s", WORKER_AUDITS);
}

static void on_measure(void *ctx, int64_t done, int64_t total)
{
    job_send(ctx, JOB_PROGRESS, done, total, "%s", "");
}

static int serve_audit(void *ctx, struct error *err)
{
    return job_yield(ctx, err);
}

static void on_more(void *ctx, int64_t run_id)
{
    job_send(ctx, JOB_BATCH, run_id, 0, "%s", "");
}

int worker_run_checks(struct job *job, struct store *store, int64_t run_id, bool is_shown,
                      struct error *err)
{
    const struct audit_hooks hooks = {.cancel = job_cancel_flag(job),
                                      .progress = is_shown ? on_audit : NULL,
                                      .bytes = is_shown ? on_measure : NULL,
                                      .yield = serve_audit,
                                      .batch = is_shown ? on_more : NULL,
                                      .ctx = job,
                                      .n_threads = -1};

    return checks_run_with(store, run_id, NULL, &hooks, err);
}

static int check_run(struct import_request *request, const struct plan_run *planned,
                     struct error *err)
{
    struct run run;
    int rc;

    for (size_t i = 0; i < request->n_answers; i++) {
        rc = store_answer_set(request->worker->store, planned->run.key, request->answers[i].name,
                              request->answers[i].value, err);
        if (rc != OK)
            return rc;
    }
    rc = store_run_find(request->worker->store, planned->run.key, request->arena, &run, err);
    if (rc == E_NOTFOUND)       /* nothing of it could be read */
        return OK;
    if (rc == OK)
        rc = worker_run_checks(request->job, request->worker->store, run.id, true, err);
    if (rc == OK)
        job_send(request->job, JOB_BATCH, run.id, 0, "%s", "");
    return rc;
}

static int do_import(struct job *job, void *argument, struct error *err)
{
    struct import_request *request = argument;
    const struct plan_options options = {request->answers, request->n_answers};
    struct import_hooks hooks = {.progress = on_progress,
                                 .file_done = on_file,
                                 .ctx = request,
                                 .cancel = job_cancel_flag(job)};
    struct sink *sink = NULL;
    struct plan plan;
    int rc = plan_make(request->paths, request->n_paths, &options, request->arena, &plan, err);

    request->job = job;
    if (rc == OK && plan.n_runs == 0)
        job_send(job, JOB_NOTICE, 0, 0, "nothing to check was found under %s", request->paths[0]);
    if (rc == OK)
        rc = sink_open_store(&sink, request->worker->store, err);
    if (rc == OK)
        rc = plan_import(&plan, sink, request->reimport, &hooks, err);
    sink_close(sink);
    if (rc == E_CANCELLED && !atomic_load(&request->worker->is_closing)) {
        job_send(job, JOB_NOTICE, 0, 0, "stopped: the verdicts rest on what was read; R reads on");
        rc = OK;
    }
    job_send(job, JOB_BATCH, 0, 0, "%s", "");     /* the files are in: curves before verdicts */
    /* after all are in, since some checks look at the project's other runs */
    for (size_t i = 0; rc == OK && i < plan.n_runs; i++)
        rc = check_run(request, &plan.runs[i], err);
    job_send(job, JOB_PROGRESS, 0, 0, "%s", "");
    return rc;
}

struct import_request *worker_import_request(struct worker *worker, const char *const *paths,
                                             size_t n_paths, const struct answer *answers,
                                             size_t n_answers)
{
    struct import_request *request = calloc(1, sizeof *request);

    if (!request)
        return NULL;
    request->arena = arena_open(ARENA_VIEW_BYTES);
    if (!request->arena) {
        free(request);
        return NULL;
    }
    request->worker = worker;
    request->paths = arena_array(request->arena, n_paths + 1, sizeof *request->paths);
    request->answers = arena_array(request->arena, n_answers + 1, sizeof *request->answers);
    if (request->paths && request->answers) {
        for (size_t i = 0; i < n_paths; i++)
            request->paths[request->n_paths++] = arena_strdup(request->arena, paths[i]);
        for (size_t i = 0; i < n_answers; i++)
            request->answers[request->n_answers++] =
                (struct answer){arena_strdup(request->arena, answers[i].name),
                                arena_strdup(request->arena, answers[i].value)};
    }
    if (!arena_failed(request->arena))
        return request;
    worker_release_import(request);
    return NULL;
}

int worker_import(struct worker *worker, const char *const *paths, size_t n_paths,
                  const struct answer *answers, size_t n_answers, bool reimport,
                  struct error *err)
{
    struct import_request *request =
        worker_import_request(worker, paths, n_paths, answers, n_answers);

    if (!request)
        return error_set(err, E_NOMEM, "import");
    request->reimport = reimport;
    return job_post(worker->job, do_import, request, worker_release_import, WORKER_IMPORT, false,
                    err);
}

/* ---- What the user writes ---- */

enum write_kind { WRITE_TICK, WRITE_REMARK, WRITE_FINDING, WRITE_ANSWER, WRITE_EXPORTED,
                  WRITE_VERDICTS };

struct write_request {
    struct worker *worker;
    struct arena *arena;
    enum write_kind kind;
    int64_t run_id;
    const char *key;
    const char *a, *b, *c;      /* texts, by kind */
    struct user_finding finding;
};

static void release_write(void *argument)
{
    struct write_request *request = argument;

    arena_close(request->arena);
    free(request);
}

static bool changes_facts(enum write_kind kind)
{
    return kind == WRITE_ANSWER || kind == WRITE_VERDICTS;
}

static int do_write(struct job *job, void *argument, struct error *err)
{
    struct write_request *w = argument;
    struct store *store = w->worker->store;
    int64_t id = 0;
    int rc = OK;

    switch (w->kind) {
    case WRITE_TICK:
        rc = store_tick_set(store, w->key, w->a, w->b, w->c, err);
        break;
    case WRITE_REMARK: {
        struct remark remark = {.check_id = w->a, .place = w->b, .text = w->c,
                                .written_at = clock_now()};

        rc = store_remark_put(store, w->key, &remark, &id, err);
        break;
    }
    case WRITE_FINDING:
        rc = store_user_finding_put(store, w->key, &w->finding, &id, err);
        break;
    case WRITE_ANSWER:
        rc = store_answer_set(store, w->key, w->a, w->b, err);
        break;
    case WRITE_VERDICTS:
        rc = worker_run_checks(job, store, w->run_id, true, err);
        break;
    case WRITE_EXPORTED:
        rc = store_user_findings_exported(store, w->key, err);
        break;
    }
    if (rc == OK)
        job_send(job, JOB_BATCH, w->run_id, changes_facts(w->kind), "%s", "");
    return rc;
}

static struct write_request *new_write(struct worker *worker, enum write_kind kind,
                                       const struct run *run)
{
    struct write_request *request = calloc(1, sizeof *request);

    if (!request)
        return NULL;
    request->arena = arena_open(ARENA_FRAME_BYTES);
    if (!request->arena) {
        free(request);
        return NULL;
    }
    request->worker = worker;
    request->kind = kind;
    request->run_id = run->id;
    request->key = arena_strdup(request->arena, run->key);
    return request;
}

static int post(struct write_request *request, struct error *err)
{
    if (!request)
        return error_set(err, E_NOMEM, "message to the worker");
    if (arena_failed(request->arena)) {
        release_write(request);
        return error_set(err, E_LIMIT, "text longer than %u bytes", ARENA_FRAME_BYTES);
    }
    return job_post(request->worker->job, do_write, request, release_write, WORKER_WRITE,
                    request->kind != WRITE_VERDICTS, err);
}

static int post_texts(struct worker *worker, enum write_kind kind, const struct run *run,
                      const char *const texts[3], struct error *err)
{
    struct write_request *request = new_write(worker, kind, run);

    if (request) {
        request->a = arena_strdup(request->arena, texts[0]);
        request->b = arena_strdup(request->arena, texts[1]);
        request->c = arena_strdup(request->arena, texts[2]);
    }
    return post(request, err);
}

int worker_tick(struct worker *worker, const struct run *run, const char *check_id,
                const char *state, const char *reason, struct error *err)
{
    const char *const texts[3] = {check_id, state, reason};

    return post_texts(worker, WRITE_TICK, run, texts, err);
}

int worker_remark(struct worker *worker, const struct run *run, const char *check_id,
                  const char *place, const char *text, struct error *err)
{
    const char *const texts[3] = {check_id, place, text};

    return post_texts(worker, WRITE_REMARK, run, texts, err);
}

int worker_answer(struct worker *worker, const struct run *run, const char *name,
                  const char *value, struct error *err)
{
    const char *const texts[3] = {name, value, NULL};
    int rc = post_texts(worker, WRITE_ANSWER, run, texts, err);

    return rc == OK ? worker_check(worker, run, err) : rc;
}

int worker_check(struct worker *worker, const struct run *run, struct error *err)
{
    const char *const texts[3] = {NULL, NULL, NULL};

    return post_texts(worker, WRITE_VERDICTS, run, texts, err);
}

int worker_exported(struct worker *worker, const struct run *run, struct error *err)
{
    const char *const texts[3] = {NULL, NULL, NULL};

    return post_texts(worker, WRITE_EXPORTED, run, texts, err);
}

int worker_finding(struct worker *worker, const struct run *run,
                   const struct user_finding *finding, struct error *err)
{
    struct write_request *request = new_write(worker, WRITE_FINDING, run);

    if (request) {
        request->finding = *finding;
        request->finding.check_id = arena_strdup(request->arena, finding->check_id);
        request->finding.verdict = arena_strdup(request->arena, finding->verdict);
        request->finding.sentence = arena_strdup(request->arena, finding->sentence);
        request->finding.path = arena_strdup(request->arena, finding->path);
        request->finding.commit = arena_strdup(request->arena, finding->commit);
    }
    return post(request, err);
}
