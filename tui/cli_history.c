/* `flatline history PATH`: a run's configuration over git; or that of a file, a repository, a bundle. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/exports/history_report.h"
#include "core/git/repository.h"
#include "tui/cli.h"
#include "tui/tell.h"

#define TEXT_BYTES ((size_t)256 << 20)

static int print(struct session *session, const struct buf *text, int rc)
{
    if (rc == OK && text->failed)
        rc = error_set(&session->err, E_NOMEM, "the text does not fit into memory");
    if (rc != OK)
        cli_complain(&session->err);
    else if (!cli_write("-", buf_view(text), false))
        rc = E_IO;
    return rc == OK ? 0 : 2;
}

static int report_run(struct session *session, const struct run *run, struct buf *text,
                      const struct options *options)
{
    const struct history_report_options how = {.ascii = options->ascii, .run_id = run->id};
    struct run_facts *facts = NULL;
    const struct config_history *const *list;
    size_t n = 0, n_runs;
    const struct history_run *runs;
    int rc = run_facts_open(&facts, session->store, run->id, &session->err);

    if (rc == OK)
        rc = histories_refresh(facts, session->store, NULL, &session->err);
    if (rc == OK)
        list = facts_histories(facts, &n);
    for (size_t i = 0; rc == OK && i < n; i++) {
        rc = config_history_runs(session->store, list[i], session->arena, &runs, &n_runs, &session->err);
        if (rc == OK) {
            buf_puts(text, i ? "\n" : "");
            history_report(text, list[i], runs, n_runs, &how);
        }
    }
    if (rc == OK)
        rc = run_facts_status(facts, &session->err);
    if (rc == OK && n == 0)
        rc = error_set(&session->err, E_NOTFOUND,
                       "%s: no git repository around its configuration, and no bundle beside it", run->name);
    run_facts_close(facts);
    return rc;
}

/* --set git-owner=any, which is the run's where there is one. */
static bool trusts_owner(const struct options *options)
{
    for (size_t i = 0; i < options->n_answers; i++)
        if (strcmp(options->answers[i].name, "git-owner") == 0)
            return strcmp(options->answers[i].value, "any") == 0;
    return false;
}

static int report_path(struct session *session, const struct options *options, struct buf *text,
                       const struct history_report_options *how)
{
    const struct repository_options repository = {.trusts_owner = trusts_owner(options)};
    const struct config_history *list;
    const char *path = options->paths[0];
    size_t n;
    int rc = config_histories_of_path(path, &repository, session->arena, &list, &n, &session->err);

    for (size_t i = 0; rc == OK && i < n; i++) {
        buf_puts(text, i ? "\n" : "");
        history_report(text, &list[i], NULL, 0, how);
    }
    if (rc == OK && n == 0)
        rc = error_set(&session->err, E_NOTFOUND, "%s: no configuration was found in it", path);
    return rc;
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A path that is not there, but the folder it would be in: a file that was deleted, or not checked out. */
static bool is_gone_file(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');

    return slash && slash != path &&
           snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path) < (int)sizeof folder &&
           is_folder(folder);
}

/* One file is asked for its own history; a bundle and a bare repository have no run in them. */
static bool is_own_path(const char *path)
{
    struct stat st;
    char head[4096];

    if (stat(path, &st) != 0)
        return is_gone_file(path);
    if (S_ISREG(st.st_mode))
        return true;
    return snprintf(head, sizeof head, "%s/HEAD", path) < (int)sizeof head && stat(head, &st) == 0;
}

static int history(struct session *session, const struct options *options)
{
    const struct history_report_options how = {.ascii = options->ascii};
    const char *path = options->paths[0];
    struct run run;
    struct buf text;
    int rc = OK;

    buf_init(&text, TEXT_BYTES);
    if (is_own_path(path))
        rc = report_path(session, options, &text, &how);
    else if (session_find_run(session, options, path, &run))
        rc = report_run(session, &run, &text, options);
    else {
        buf_free(&text);
        return 2;
    }
    int status = print(session, &text, rc);
    buf_free(&text);
    return status;
}

int cli_history(const struct options *options)
{
    if (options->n_paths == 1)
        return in_session(options, history);
    tell("history needs one run, file or repository; see flatline history --help");
    return 2;
}
