/* The sub-commands that show text: labels and prompts. */
#include <stdio.h>

#include "core/base/number.h"
#include "core/exports/labels_report.h"
#include "core/exports/prompts_report.h"
#include "tui/cli.h"
#include "tui/tell.h"

#define TEXT_BYTES ((size_t)256 << 20)

typedef int report_fn(struct buf *out, const struct run_facts *facts, const struct options *options,
                      struct error *err);

/* Finds the run of the one path, lets `report` write, prints. Exit status. */
static int print_report(struct session *session, const struct options *options, report_fn *report)
{
    struct run_facts *facts = NULL;
    struct run run;
    struct buf text;
    int rc;

    if (!session_find_run(session, options, options->paths[0], &run))
        return 2;
    buf_init(&text, TEXT_BYTES);
    rc = run_facts_open(&facts, session->store, run.id, &session->err);
    if (rc == OK)
        rc = report(&text, facts, options, &session->err);
    run_facts_close(facts);
    if (rc == OK && text.failed)
        rc = error_set(&session->err, E_NOMEM, "the text does not fit into memory");
    if (rc != OK)
        cli_complain(&session->err);
    else if (!cli_write("-", buf_view(&text), false))
        rc = E_IO;
    buf_free(&text);
    return rc == OK ? 0 : 2;
}

static int report_labels(struct buf *out, const struct run_facts *facts, const struct options *options,
                         struct error *err)
{
    struct labels_report_options how = {.row = NONE, .all = options->all, .ascii = options->ascii};

    if (options->row && (!number_parse_int(str_of(options->row), &how.row) || how.row < 0))
        return error_set(err, E_PARSE, "--row %s: expected the number of a row, from 0", options->row);
    return labels_report(out, facts, &how, err);
}

static int report_prompts(struct buf *out, const struct run_facts *facts, const struct options *options,
                          struct error *err)
{
    (void)options;
    return prompts_report(out, facts, err);
}

static int print_labels(struct session *session, const struct options *options)
{
    return print_report(session, options, report_labels);
}

static int print_prompts(struct session *session, const struct options *options)
{
    return print_report(session, options, report_prompts);
}

static int with_one_run(const struct options *options, session_fn *work)
{
    if (options->n_paths == 1)
        return in_session(options, work);
    tell("%s needs one run; see flatline %s --help", options->command->name, options->command->name);
    return 2;
}

int cli_labels(const struct options *options)
{
    return with_one_run(options, print_labels);
}

int cli_prompts(const struct options *options)
{
    return with_one_run(options, print_prompts);
}
