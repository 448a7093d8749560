/* The sub-commands that work on the facts of one run: curves, memory, make. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/exports/longest_first.h"
#include "core/exports/memory_report.h"
#include "tui/cli.h"
#include "views/curves_text.h"

/* Opens the run named by the first path after `skip` words and its facts. */
static struct run_facts *open_facts(struct session *session, const struct options *options,
                                    size_t skip, struct run *run)
{
    struct run_facts *facts = NULL;

    if (!session_find_run(session, options, options->paths[skip], run))
        return NULL;
    if (run_facts_open(&facts, session->store, run->id, &session->err) != OK) {
        cli_complain(&session->err);
        return NULL;
    }
    return facts;
}

static bool parse_size(const char *text, int *columns, int *rows)
{
    char end;

    return sscanf(text, "%dx%d%c", columns, rows, &end) == 2 && *columns >= 20 && *rows >= 5 &&
           *columns <= 1000 && *rows <= 1000;
}

int cli_curves(const struct options *options)
{
    struct str rest = str_of(options->series ? options->series : "loss,eval_loss,grad_norm"), name;
    struct session session;
    struct run_facts *facts;
    struct run run;
    struct buf text;
    int columns = 80, rows = 24, status = 2;
    size_t n_drawn = 0;

    if (options->n_paths != 1) {
        fprintf(stderr, "flatline: curves needs one run; see flatline curves --help\n");
        return 2;
    }
    if (options->size && !parse_size(options->size, &columns, &rows)) {
        fprintf(stderr, "flatline: --size %s: expected COLUMNSxROWS of at least 20x5\n",
                options->size);
        return 2;
    }
    if (!session_open(&session, options))
        return 2;
    buf_init(&text, (size_t)16 << 20);
    facts = open_facts(&session, options, 0, &run);
    while (facts && str_split(&rest, ',', &name)) {
        char metric[128];

        snprintf(metric, sizeof metric, "%.*s", (int)name.n, name.p);
        if (!facts_curve(facts, metric)) {
            if (options->series)
                fprintf(stderr, "flatline: %s: no such series in this run\n", metric);
            continue;
        }
        curves_as_text(&text, facts, metric, rows, columns, options->unicode && !options->ascii);
        n_drawn++;
    }
    if (facts && n_drawn == 0)
        fprintf(stderr, "flatline: nothing to draw: no metric rows were found\n");
    else if (facts)
        status = cli_write("-", buf_view(&text), false) ? 0 : 2;
    run_facts_close(facts);
    buf_free(&text);
    session_close(&session);
    return status;
}

int cli_memory(const struct options *options)
{
    struct session session;
    struct run_facts *facts;
    struct run run;
    struct buf text;
    int status = 2;

    if (options->n_paths != 1) {
        fprintf(stderr, "flatline: memory needs a run; see flatline memory --help\n");
        return 2;
    }
    if (!session_open(&session, options))
        return 2;
    buf_init(&text, (size_t)1 << 20);
    facts = open_facts(&session, options, 0, &run);
    if (facts && memory_report(&text, facts, &session.err) != OK)
        cli_complain(&session.err);
    else if (facts)
        status = cli_write("-", buf_view(&text), false) ? 0 : 2;
    run_facts_close(facts);
    buf_free(&text);
    session_close(&session);
    return status;
}

/* flatline-out/<run>/<name> in the current folder, made on the way. */
static bool default_folder(const char *run, const char *name, char *out, size_t n)
{
    char safe[200];
    size_t k = 0;

    for (const char *p = run; *p && k + 1 < sizeof safe; p++)
        safe[k++] = *p == '/' || *p < ' ' ? '_' : *p;
    safe[k] = '\0';
    mkdir("flatline-out", 0777);
    snprintf(out, n, "flatline-out/%s", safe);
    mkdir(out, 0777);
    return snprintf(out, n, "flatline-out/%s/%s", safe, name) < (int)n;
}

int cli_make(const struct options *options)
{
    struct session session;
    struct run_facts *facts;
    struct run run;
    struct buf said;
    char folder[1024];
    int rc = E_NOTFOUND;

    if (options->n_paths != 2) {
        fprintf(stderr, "flatline: make needs what to make and a run; see flatline make --help\n");
        return 2;
    }
    if (strcmp(options->paths[0], "longest-first") != 0) {
        fprintf(stderr, "flatline: make %s: expected longest-first\n", options->paths[0]);
        return 2;
    }
    if (!session_open(&session, options))
        return 2;
    buf_init(&said, 1 << 16);
    facts = open_facts(&session, options, 1, &run);
    if (facts) {
        if (options->output)
            snprintf(folder, sizeof folder, "%s", options->output);
        else
            default_folder(run.name, "longest-first", folder, sizeof folder);
        rc = make_longest_first(facts, folder, options->force, &said, &session.err);
        if (rc != OK)
            cli_complain(&session.err);
        fputs(said.p, stdout);
    }
    run_facts_close(facts);
    buf_free(&said);
    session_close(&session);
    return rc == OK ? 0 : 2;
}
