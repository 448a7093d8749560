/* A look at the run that is followed: were files changed, which are read again, what is gone, is it
 * alive. What a change means is follow.c's. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/read/source.h"
#include "importers/file_ends.h"
#include "tui/worker_parts.h"

struct looking {
    struct import_request *request;
    struct follow *follow;
    const struct source *stored;
    size_t n_stored;
    bool *has_rows;             /* of stored, by index */
    bool is_settling;
    size_t n_read;
    int64_t began_at;           /* monotonic ns: the file that is being read */
    struct error failure;       /* of a callback */
    char words[512];
};

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The first thing is said, and that there is more. */
static void say(struct looking *looking, const char *name, const char *what)
{
    size_t n = strlen(looking->words);

    if (n == 0)
        snprintf(looking->words, sizeof looking->words, "%.200s %s", name, what);
    else if (looking->words[n - 1] != '.')
        snprintf(looking->words + n, sizeof looking->words - n, "; more under :import.");
}

/* ---- What the store holds ---- */

static ptrdiff_t find_stored(const struct looking *looking, const char *path, const char *importer)
{
    for (size_t i = 0; i < looking->n_stored; i++)
        if (strcmp(looking->stored[i].path, path) == 0 &&
            (!importer || strcmp(looking->stored[i].importer, importer) == 0))
            return (ptrdiff_t)i;
    return -1;
}

static int load_stored(struct looking *looking, struct error *err)
{
    struct import_request *request = looking->request;
    const struct series *series = NULL;
    size_t n = 0;
    int rc = store_sources(request->worker->store, request->run_id, request->arena,
                           &looking->stored, &looking->n_stored, err);

    if (rc == OK)
        rc = store_series(request->worker->store, request->run_id, request->arena, &series, &n, err);
    if (rc != OK)
        return rc;
    looking->has_rows = arena_array(request->arena, looking->n_stored + 1, sizeof(bool));
    if (!looking->has_rows)
        return error_set(err, E_NOMEM, "no memory for %zu sources", looking->n_stored);
    for (size_t i = 0; i < looking->n_stored; i++) {
        looking->has_rows[i] = importer_is_log(looking->stored[i].importer);
        for (size_t k = 0; k < n && !looking->has_rows[i]; k++)
            looking->has_rows[i] = series[k].source_id == looking->stored[i].id;
    }
    return OK;
}

/* ---- What is read ---- */

/* What was read of a file that was cut stands beside it from now on, by the time of day. */
static int keep_cut(struct looking *looking, const struct source *stored, struct error *err)
{
    time_t now = (time_t)clock_now();
    struct tm tm;
    char path[PATH_MAX + 40], until[32] = "";

    if (localtime_r(&now, &tm))
        strftime(until, sizeof until, "%F %T", &tm);
    snprintf(path, sizeof path, "%s (until %s)", stored->path, until);
    say(looking, name_of(stored->path), "was cut: what was read of it stays");
    return store_source_set_gone(looking->request->worker->store, stored->id, path,
                                 "the file was cut: this is what was read of it before", err);
}

/* Asked only where something changed: two places are read. */
static bool is_rewritten(const struct source *stored, const struct source *now)
{
    bool is_changed = stored->mtime_ns != now->mtime_ns || stored->size != now->size ||
                      stored->inode != now->inode;

    return is_changed && now->size >= stored->hashed_to && !file_ends_hold(stored);
}

static enum import_choice choose(void *ctx, const struct plan_file *file, const struct source *now)
{
    struct looking *looking = ctx;
    ptrdiff_t i = find_stored(looking, now->path, now->importer);
    const struct source *stored = i < 0 ? NULL : &looking->stored[i];
    const struct follow_file about = {.stored = stored,
                                      .now = now,
                                      .has_rows = stored && looking->has_rows[i],
                                      .is_settling = looking->is_settling,
                                      .is_rewritten = stored && is_rewritten(stored, now)};
    bool is_cut;
    enum import_choice choice = follow_choose(looking->follow, &about, &is_cut);

    (void)file;
    looking->began_at = clock_ticks_ns();
    if (choice == IMPORT_GROWING && !is_cut && !looking->is_settling &&
        follow_rests(looking->follow, stored, now->size, looking->began_at))
        return IMPORT_LEAVE;
    if (is_cut && looking->failure.status == OK)
        (void)keep_cut(looking, about.stored, &looking->failure);
    return choice;
}

static void on_progress(void *ctx, int64_t done, int64_t total)
{
    (void)done;
    (void)total;
    worker_serve_writes(((struct looking *)ctx)->request);
}

static void on_file(void *ctx, const struct import_event *event)
{
    struct looking *looking = ctx;

    if (event->file->size >= FOLLOW_LARGE && !event->was_current) {
        int64_t now = clock_ticks_ns();

        follow_was_read(looking->follow, event->file->path, now - looking->began_at, now);
    }
    looking->n_read += !event->was_current && event->state != SOURCE_GONE;
    worker_serve_writes(looking->request);
}

/* The run by its key; else the one that its files belong to now. */
static const struct plan_run *find_planned(const struct looking *looking, const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_runs; i++)
        if (strcmp(plan->runs[i].run.key, looking->request->run_key) == 0)
            return &plan->runs[i];
    for (size_t i = 0; i < plan->n_runs; i++)
        for (size_t k = 0; k < plan->runs[i].n_files; k++) {
            ptrdiff_t at = find_stored(looking, plan->runs[i].files[k].path, NULL);

            if (at >= 0 && looking->has_rows[at])
                return &plan->runs[i];
        }
    return NULL;
}

static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

/* A file and the folders from it up to the run's: new files show in their dates. */
static void watch_file(struct follow *follow, const char *path, const char *folder)
{
    char up[PATH_MAX];
    char *slash;

    follow_watch(follow, path);
    snprintf(up, sizeof up, "%s", path);
    while ((slash = strrchr(up, '/')) && slash != up) {
        *slash = '\0';
        if (!is_below(up, folder))
            break;
        follow_watch(follow, up);
    }
}

/* Before anything is read: what is written from here on is news for the next look. */
static void watch(struct looking *looking, const struct plan *plan, const struct plan_run *run)
{
    struct follow *follow = looking->follow;

    follow_watch_begin(follow);
    follow_watch(follow, run->run.folder);
    for (size_t i = 0; i < run->n_files; i++)
        watch_file(follow, run->files[i].path, run->run.folder);
    for (size_t i = 0; i < plan->n_ignored; i++)
        if (is_below(plan->ignored[i].path, run->run.folder))
            watch_file(follow, plan->ignored[i].path, run->run.folder);
}

static bool is_planned(const struct plan_run *run, const struct source *source)
{
    for (size_t i = 0; run && i < run->n_files; i++)
        if (strcmp(run->files[i].path, source->path) == 0)
            return true;
    return false;
}

/* Not dropped: what was shown stays, and the list of files says that it is gone. */
static int mark_gone(struct looking *looking, const struct plan_run *run, size_t *n_gone,
                     struct error *err)
{
    struct store *store = looking->request->worker->store;
    int rc = OK;

    for (size_t i = 0; i < looking->n_stored && rc == OK; i++) {
        const struct source *source = &looking->stored[i];
        bool is_there = access(source->path, F_OK) == 0;

        if (source->state == SOURCE_GONE || is_planned(run, source) ||
            (is_there && access(source->path, R_OK) == 0))
            continue;
        say(looking, name_of(source->path),
            is_there ? "cannot be read any more: what was read of it stays"
                     : "is gone: what was read of it stays");
        rc = store_source_set_gone(store, source->id, NULL,
                                   is_there ? "the file cannot be read any more: this is what was "
                                              "read of it before"
                                            : "the file is gone: this is what was read of it before",
                                   err);
        *n_gone += rc == OK;
    }
    return rc;
}

static int read_changed(struct looking *looking, const struct plan_run *run, struct error *err)
{
    struct import_request *request = looking->request;
    const struct plan one = {.runs = run, .n_runs = 1};
    const struct import_hooks hooks = {.progress = on_progress,
                                       .file_done = on_file,
                                       .choose = choose,
                                       .ctx = looking,
                                       .cancel = job_cancel_flag(request->job)};
    struct sink *sink = NULL;
    int rc = sink_open_store(&sink, request->worker->store, err);

    if (rc == OK)
        rc = plan_import(&one, sink, false, &hooks, err);
    sink_close(sink);
    if (rc == OK && looking->failure.status != OK) {
        *err = looking->failure;
        rc = err->status;
    }
    return rc;
}

/* ---- How it lives ---- */

static int take_pulse(struct looking *looking, bool *is_held, struct error *err)
{
    struct import_request *request = looking->request;
    const struct series *series = NULL;
    int64_t newest = 0, n_rows = 0;
    size_t n = 0;
    int rc = load_stored(looking, err);

    if (rc == OK)
        rc = store_series(request->worker->store, request->run_id, request->arena, &series, &n, err);
    if (rc != OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        n_rows = series[i].n_points > n_rows ? series[i].n_points : n_rows;
    *is_held = false;
    for (size_t i = 0; i < looking->n_stored; i++) {
        const struct source *source = &looking->stored[i];

        if (!looking->has_rows[i])
            continue;
        *is_held |= source->state == SOURCE_GROWING;
        if (source->mtime_ns / 1000000000 > newest)
            newest = source->mtime_ns / 1000000000;
    }
    if (newest > 0)
        follow_rows(looking->follow, n_rows, newest, clock_now());
    return OK;
}

/* ---- A look ---- */

static int64_t find_run(struct looking *looking, const struct plan_run *run)
{
    struct run found;

    return store_run_find(looking->request->worker->store, run->run.key, looking->request->arena,
                          &found, NULL) == OK
               ? found.id
               : looking->request->run_id;
}

/* Its files belong to another run since there is more of them (a log, then the folder of its
 * checkpoints): that one is followed, and the first is no run any more. */
static int move_on(struct looking *looking, const struct plan_run *run, int64_t to, struct error *err)
{
    struct import_request *request = looking->request;
    int rc = store_run_forget(request->worker->store, request->run_id, err);

    request->run_id = to;
    follow_reset(looking->follow, run->run.key);
    request->worker->looks_again = true;
    return rc;
}

static int look_into(struct looking *looking, int64_t *flags, struct error *err)
{
    struct import_request *request = looking->request;
    struct worker *worker = request->worker;
    const struct plan_options options = {request->answers, request->n_answers};
    const struct plan_run *run;
    struct plan plan;
    size_t n_gone = 0;
    int rc = plan_make(request->paths, request->n_paths, &options, request->arena, &plan, err);

    if (rc == OK)
        rc = load_stored(looking, err);
    if (rc != OK)
        return rc;
    run = find_planned(looking, &plan);
    if (run) {
        watch(looking, &plan, run);
        rc = read_changed(looking, run, err);
        if (rc == OK && find_run(looking, run) != request->run_id) {
            rc = move_on(looking, run, find_run(looking, run), err);
            *flags |= LOOK_MOVED;
        }
    }
    if (!run && !worker->is_lost)
        say(looking, name_of(request->paths[0]), "cannot be seen any more: what was read of it stays");
    worker->is_lost = run == NULL;
    if (rc == OK && run && !(*flags & LOOK_MOVED))
        rc = mark_gone(looking, run, &n_gone, err);
    if (rc == OK && (looking->n_read || n_gone)) {
        *flags |= LOOK_CHANGED;
        rc = worker_run_checks(request->job, worker->store, request->run_id, false, err);
    }
    return rc;
}

/* Silent from now on: what was taken for growing is settled, and said so once. */
static int fall_silent(struct looking *looking, int64_t *flags, struct error *err)
{
    struct worker *worker = looking->request->worker;
    struct run run;
    bool is_held = false;
    int rc;

    worker->is_silent = true;
    looking->is_settling = true;
    looking->n_read = 0;
    rc = look_into(looking, flags, err);
    if (rc == OK)
        rc = take_pulse(looking, &is_held, err);
    if (rc == OK)
        rc = store_run_by_id(worker->store, looking->request->run_id, looking->request->arena, &run,
                             err);
    if (rc == OK && run.outcome != OUTCOME_FINISHED && run.outcome != OUTCOME_CRASHED &&
        !looking->words[0])
        follow_say_silence(looking->follow, clock_now(), is_held, looking->words,
                           sizeof looking->words);
    return rc;
}

static int begin_follow(struct import_request *request, struct error *err)
{
    struct worker *worker = request->worker;
    int rc = worker->follow ? OK : follow_open(&worker->follow, err);

    if (rc == OK && !follow_is_of(worker->follow, request->run_key)) {
        follow_reset(worker->follow, request->run_key);
        worker->looks_again = true;
        worker->is_lost = worker->is_silent = false;
    }
    return rc;
}

static int do_look(struct job *job, void *argument, struct error *err)
{
    struct import_request *request = argument;
    struct worker *worker = request->worker;
    struct looking looking = {.request = request, .failure = {.status = OK}};
    bool ignored;
    int64_t flags = 0;
    int rc = begin_follow(request, err);

    request->job = job;
    if (rc != OK)
        return rc;
    looking.follow = worker->follow;
    bool is_due = follow_look(worker->follow) > 0;
    if (is_due || worker->looks_again) {
        rc = look_into(&looking, &flags, err);
        if (rc == OK)
            rc = take_pulse(&looking, &ignored, err);
        worker->looks_again = is_due || looking.n_read || follow_waits(worker->follow);
    }
    if (rc == OK && !follow_is_silent(worker->follow, clock_now()))
        worker->is_silent = false;
    else if (rc == OK && !worker->is_silent && !worker->is_lost)
        rc = fall_silent(&looking, &flags, err);
    if (rc == E_CANCELLED && atomic_load(&worker->is_closing))
        return OK;
    flags |= (worker->is_silent ? LOOK_SILENT : 0) | (worker->is_lost ? LOOK_LOST : 0);
    if (worker->is_silent)
        flags |= follow_silent_minutes(worker->follow, clock_now()) << LOOK_MINUTES_SHIFT;
    job_send(job, JOB_BATCH, request->run_id, flags, "%s", looking.words);
    return rc;
}

int worker_look(struct worker *worker, const struct run *run, const char *const *paths,
                size_t n_paths, const struct answer *answers, size_t n_answers, struct error *err)
{
    struct import_request *request =
        worker_import_request(worker, paths, n_paths, answers, n_answers);

    if (!request)
        return error_set(err, E_NOMEM, "a look at the run");
    request->run_key = arena_strdup(request->arena, run->key);
    request->run_id = run->id;
    if (!request->run_key) {
        worker_release_import(request);
        return error_set(err, E_NOMEM, "a look at the run");
    }
    return job_post(worker->job, do_look, request, worker_release_import, WORKER_LOOK, false, err);
}
