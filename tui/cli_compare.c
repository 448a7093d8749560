/* flatline compare: two runs, named by path, name or key, beside each other. */
#include <stdlib.h>
#include <string.h>

#include "core/exports/compare_report.h"
#include "tui/cli.h"
#include "tui/tell.h"

struct side_of {
    struct run run;
    struct run_facts *facts;
    struct verdicts verdicts;
};

/* The session holds the runs of one import; the next one begins with none. */
static void forget_import(struct session *session)
{
    free(session->run_ids);
    session->run_ids = NULL;
    session->n_runs = 0;
}

static bool find(struct session *session, const struct options *options, size_t i, struct side_of *side)
{
    forget_import(session);
    return session_find_run(session, options, options->paths[i], &side->run);
}

static int load(struct session *session, struct side_of *side)
{
    int rc = run_facts_open(&side->facts, session->store, side->run.id, &session->err);

    return rc == OK ? verdicts_load(session->store, side->run.id, session->arena, &side->verdicts,
                                    &session->err)
                    : rc;
}

static int print_comparison(struct session *session, const struct options *options)
{
    bool as_json = options->format && strcmp(options->format, "json") == 0;
    struct side_of a = {.facts = NULL}, b = {.facts = NULL};
    struct buf text;

    if (!find(session, options, 0, &a) || !find(session, options, 1, &b))
        return 2;
    if (a.run.id == b.run.id) {
        tell("%s and %s are the same run", options->paths[0], options->paths[1]);
        return 2;
    }
    buf_init(&text, (size_t)32 << 20);
    int rc = load(session, &a);
    if (rc == OK)
        rc = load(session, &b);
    const struct compared_run x = {a.facts, &a.verdicts}, y = {b.facts, &b.verdicts};
    if (rc == OK)
        rc = as_json ? compare_json(&text, &x, &y, &session->err)
                     : compare_text(&text, &x, &y, &session->err);
    if (rc != OK)
        cli_complain(&session->err);
    else if (!cli_write("-", buf_view(&text), false))
        rc = E_IO;
    run_facts_close(a.facts);
    run_facts_close(b.facts);
    buf_free(&text);
    return rc == OK ? 0 : 2;
}

int cli_compare(const struct options *options)
{
    const char *format = options->format;

    if (options->n_paths != 2) {
        tell("compare needs two runs; see flatline compare --help");
        return 2;
    }
    if (format && strcmp(format, "text") != 0 && strcmp(format, "json") != 0) {
        tell("--format %s: expected text or json", format);
        return 2;
    }
    return in_session(options, print_comparison);
}
