/* What the commands share: opening the store, importing, checking, complaining. Knows no output
 * form; that is cli.c and core/exports. */
#include "tui/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/checks/runner.h"
#include "tui/tell.h"

#define SILENT_NS 1000000000    /* before that nobody wonders */
#define AGAIN_NS  100000000     /* as often as an eye follows */

void cli_complain(const struct error *err)
{
    char text[sizeof err->path + sizeof err->message + 64];

    error_format(err, text, sizeof text);
    tell("%s", text);
}

static bool complain_memory(void)
{
    tell("out of memory");
    return false;
}

static struct store_options store_choice(const struct options *options)
{
    return (struct store_options){.cache_path = options->db, .in_memory = options->no_cache};
}

static void print_notices(const struct store *store)
{
    for (const char *const *notice = store_notices(store); *notice; notice++)
        tell("%s", *notice);
}

static bool session_open(struct session *session, const struct options *options)
{
    struct store_options how = store_choice(options);

    if (options->log && log_open(options->log, &session->err) != OK) {
        cli_complain(&session->err);
        return false;
    }
    session->arena = arena_open(ARENA_VIEW_BYTES);
    if (!session->arena)
        return complain_memory();
    if (store_open(&session->store, &how, &session->err) != OK) {
        cli_complain(&session->err);
        return false;
    }
    print_notices(session->store);
    return true;
}

/* As if it had just been opened, on a fresh cache. */
static bool session_renew(struct session *session, const struct options *options)
{
    struct store_options how = store_choice(options);

    free(session->run_ids);
    session->run_ids = NULL;
    session->n_runs = 0;
    session->plan = (struct plan){0};
    arena_reset(session->arena);
    if (store_renew(&session->store, &how, &session->err) != OK) {
        cli_complain(&session->err);
        return false;
    }
    print_notices(session->store);
    return true;
}

static void session_close(struct session *session)
{
    store_close(session->store);
    arena_close(session->arena);
    free(session->run_ids);
}

int in_session(const struct options *options, session_fn *work)
{
    struct session session = {0};
    int status = 2;

    if (session_open(&session, options)) {
        status = work(&session, options);
        if (status == 2 && store_is_damaged(session.store) && session_renew(&session, options))
            status = work(&session, options);
    }
    session_close(&session);
    return status;
}

/* --set NAME=VALUE and --gpu belong to every run of the call and are kept with it. The forms with
 * a path (split:, role:, importer:) were used by the plan and are kept too. */
static int save_answers(struct session *session, const struct options *options, const char *key)
{
    for (size_t i = 0; i < options->n_answers; i++) {
        const struct answer *answer = &options->answers[i];
        int rc = store_answer_set(session->store, key, answer->name,
                                  answer->value[0] ? answer->value : NULL, &session->err);

        if (rc != OK)
            return rc;
    }
    if (options->gpu)
        return store_answer_set(session->store, key, "gpu", options->gpu, &session->err);
    return OK;
}

static int import_all(struct session *session, const struct options *options,
                      const struct import_hooks *hooks)
{
    const struct plan_options how = {options->answers, options->n_answers};
    struct sink *sink = NULL;
    int rc = plan_make(options->paths, options->n_paths, &how, session->arena, &session->plan,
                       &session->err);

    if (rc == OK)
        rc = sink_open_store(&sink, session->store, &session->err);
    if (rc == OK)
        rc = plan_import(&session->plan, sink, false, hooks, &session->err);
    sink_close(sink);
    return rc;
}

static int find_runs(struct session *session, const struct options *options)
{
    size_t n = session->plan.n_runs;

    session->run_ids = calloc(n + 1, sizeof *session->run_ids);
    if (!session->run_ids)
        return error_set(&session->err, E_NOMEM, "%zu runs", n);
    for (size_t i = 0; i < n; i++) {
        const char *key = session->plan.runs[i].run.key;
        struct run run;
        int rc = save_answers(session, options, key);

        if (rc == OK)
            rc = store_run_find(session->store, key, session->arena, &run, &session->err);
        if (rc == E_NOTFOUND)       /* none of its files could be read: the plan lists them */
            continue;
        if (rc != OK)
            return rc;
        session->run_ids[session->n_runs++] = run.id;
    }
    return OK;
}

/* ---- The audit of rows may take long: Ctrl-C ends it, what was counted is kept ---- */

static atomic_bool is_interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    atomic_store(&is_interrupted, true);
}

struct audit_line {
    int64_t began, shown; /* ticks; 0: not yet */
};

/* On a terminal, and only when it has taken a while. */
static void show_line(struct audit_line *line, const char *what, int64_t done, int64_t total)
{
    int64_t now = clock_ticks_ns();

    if (line->began == 0)
        line->began = now;
    if (!isatty(STDERR_FILENO) || now - line->began < SILENT_NS || now - line->shown < AGAIN_NS)
        return;
    line->shown = now;
    fprintf(stderr, "\r%s %lld/%lld ", what, (long long)done, (long long)total);
}

static void show_audit(void *ctx, int64_t done, int64_t total)
{
    show_line(ctx, "auditing rows", done, total);
}

static void show_measure(void *ctx, int64_t done, int64_t total)
{
    show_line(ctx, "measuring tensors, MiB", done >> 20, total >> 20);
}

static int check_run(struct session *session, const struct options *options, int64_t run_id)
{
    struct audit_line line = {0};
    const struct audit_hooks hooks = {
        .cancel = &is_interrupted, .progress = show_audit, .bytes = show_measure, .ctx = &line,
        .n_threads = -1};
    /* the second Ctrl-C is the shell's */
    struct sigaction ours = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND}, before;
    bool is_ours = sigaction(SIGINT, &ours, &before) == 0;
    int rc = checks_run_with(session->store, run_id, options->only, &hooks, &session->err);

    if (is_ours)
        (void)sigaction(SIGINT, &before, NULL);
    if (line.shown)
        fputs("\r\033[K", stderr);
    return rc;
}

/* After all runs are in, since some checks look at the project's other runs. */
static int check_runs(struct session *session, const struct options *options)
{
    for (size_t i = 0; i < session->n_runs; i++) {
        int rc = check_run(session, options, session->run_ids[i]);

        if (rc != OK)
            return rc;
    }
    if (atomic_load(&is_interrupted))
        tell("stopped: the verdicts rest on the rows that were counted");
    return OK;
}

static bool import_paths(struct session *session, const struct options *options,
                         const struct import_hooks *hooks, bool with_checks)
{
    static const struct import_hooks none;
    int rc = import_all(session, options, hooks ? hooks : &none);

    if (rc == OK)
        rc = find_runs(session, options);
    if (rc == OK && with_checks)
        rc = check_runs(session, options);
    if (rc == OK && arena_failed(session->arena))
        rc = error_set(&session->err, E_LIMIT, "more files than fit into %u MiB of plan",
                       ARENA_VIEW_BYTES >> 20);
    if (rc != OK)
        cli_complain(&session->err);
    return rc == OK;
}

bool session_import(struct session *session, const struct options *options,
                    const struct import_hooks *hooks)
{
    return import_paths(session, options, hooks, true);
}

bool session_import_only(struct session *session, const struct options *options,
                         const struct import_hooks *hooks)
{
    return import_paths(session, options, hooks, false);
}

bool session_find_run(struct session *session, const struct options *options, const char *what,
                      struct run *run)
{
    int rc;

    if (access(what, F_OK) == 0) {
        struct options one = *options;

        one.paths = &what;
        one.n_paths = 1;
        if (!session_import(session, &one, NULL))
            return false;
        if (session->n_runs == 1) {
            rc = store_run_by_id(session->store, session->run_ids[0], session->arena, run,
                                 &session->err);
            if (rc != OK)
                cli_complain(&session->err);
            return rc == OK;
        }
        tell("%s: %zu runs found, expected one%s", what, session->n_runs,
                session->n_runs ? "; name one as flatline runs lists it" : "");
        return false;
    }
    rc = store_run_find(session->store, what, session->arena, run, &session->err);
    if (rc == E_NOTFOUND)
        tell("%s: no such path, and no run of that name or key; see flatline runs", what);
    else if (rc != OK)
        cli_complain(&session->err);
    return rc == OK;
}

static bool write_all(int fd, struct str text)
{
    while (text.n) {
        ssize_t n = write(fd, text.p, text.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text = str_skip(text, (size_t)n);
    }
    return true;
}

bool cli_write(const char *path, struct str text, bool force)
{
    bool is_stdout = strcmp(path, "-") == 0;
    int fd = is_stdout ? STDOUT_FILENO
                       : open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0666);
    bool good;

    if (fd < 0 && errno == EEXIST) {
        tell("%s: exists already; --force overwrites it", path);
        return false;
    }
    if (fd < 0) {
        tell("%s: cannot be opened for writing: %s", path, strerror(errno));
        return false;
    }
    good = write_all(fd, text);
    if (!good && is_stdout && errno == EPIPE)
        return false;           /* no news to a reader who has left: head, a pager */
    if (!is_stdout && close(fd) != 0)
        good = false;
    if (!good)
        tell("%s: write: %s", is_stdout ? "standard output" : path, strerror(errno));
    return good;
}
