/* What every report form needs of one run. See report_run.h. */
#include "core/exports/report_run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"

#define TEXT_BYTES ((size_t)1 << 16)

static void close_run(struct report_run *run)
{
    run_facts_close(run->facts);
    arena_close(run->arena);
}

static int open_run(struct report_run *out, struct store *store, int64_t run_id,
                    const struct report_options *options, struct error *err)
{
    char real[PATH_MAX];
    struct report_run run = {.options = options};
    int rc;

    run.arena = arena_open(ARENA_REPORT_BYTES);
    if (!run.arena)
        return error_set(err, E_NOMEM, "report");
    if (options->argument && realpath(options->argument, real))
        run.argument = arena_strdup(run.arena, real);
    rc = verdicts_load(store, run_id, run.arena, &run.verdicts, err);
    if (rc == OK)
        rc = run_facts_open(&run.facts, store, run_id, err);
    if (rc == OK)
        rc = store_remarks(store, run.verdicts.run.key, run.arena, &run.remarks, &run.n_remarks,
                           err);
    if (rc == OK)
        rc = store_user_findings(store, run.verdicts.run.key, run.arena, &run.user_findings,
                                 &run.n_user_findings, err);
    if (rc != OK) {
        close_run(&run);
        return rc;
    }
    *out = run;
    return OK;
}

/* Did the texts fit into the arena? */
static int status_of(const struct report_run *run, struct error *err)
{
    if (!arena_failed(run->arena))
        return OK;
    return error_set(err, E_LIMIT, "report of %s: larger than %u MiB", run->verdicts.run.name,
                     (unsigned)(ARENA_REPORT_BYTES >> 20));
}

int report_each(struct buf *out, const struct report_job *job, struct error *err)
{
    for (size_t i = 0; i < job->n; i++) {
        struct report_run run;
        int rc = open_run(&run, job->store, job->run_ids[i], job->options, err);

        if (rc != OK)
            return rc;
        job->write(out, &run, i, job->ctx);
        rc = status_of(&run, err);
        close_run(&run);
        if (rc != OK)
            return rc;
    }
    return OK;
}

const char *report_redacted(const struct report_run *run, const char *text)
{
    struct buf out;
    const char *kept;

    if (!text)
        return "";
    buf_init(&out, TEXT_BYTES);
    redact_text(&out, str_of(text), &run->options->redact);
    kept = arena_strndup(run->arena, out.p, out.n);
    buf_free(&out);
    return kept ? kept : "";    /* report_each tells */
}

const char *report_line(const struct report_run *run, const char *text)
{
    struct buf out;
    const char *kept;

    buf_init(&out, TEXT_BYTES);
    unicode_visible(&out, str_of(report_redacted(run, text)), false);
    kept = arena_strndup(run->arena, out.p, out.n);
    buf_free(&out);
    return kept ? kept : "";    /* report_each tells */
}

const char *report_shown_path(const struct report_run *run, const char *path)
{
    size_t n = run->argument ? strlen(run->argument) : 0;
    const char *slash = strrchr(path, '/');

    if (n && strncmp(path, run->argument, n) == 0) {
        if (path[n] == '/')
            return report_line(run, path + n + 1);
        if (path[n] == '\0')            /* the argument is the file itself */
            return report_line(run, slash ? slash + 1 : path);
    }
    return report_line(run, path);
}

const char *report_path(const struct report_run *run, int64_t source_id)
{
    const struct source *source = source_id ? facts_source(run->facts, source_id) : NULL;

    return source ? report_shown_path(run, source->path) : "";
}

const char *report_place(const struct report_run *run, const struct evidence *evidence)
{
    const char *file = report_path(run, evidence->source_id);
    char place[1400];
    size_t n = 0;

    if (file[0] && evidence->line != NONE)
        n = (size_t)snprintf(place, sizeof place, "%s:%lld", file, (long long)evidence->line);
    else
        n = (size_t)snprintf(place, sizeof place, "%s", file);
    if (n >= sizeof place)
        n = sizeof place - 1;
    if (evidence->step != NONE && evidence->last_step != NONE &&
        evidence->last_step != evidence->step)
        snprintf(place + n, sizeof place - n, "%ssteps %lld-%lld", n ? ", " : "",
                 (long long)evidence->step, (long long)evidence->last_step);
    else if (evidence->step != NONE)
        snprintf(place + n, sizeof place - n, "%sstep %lld", n ? ", " : "",
                 (long long)evidence->step);
    else if (evidence->row != NONE)
        snprintf(place + n, sizeof place - n, "%srow %lld", n ? ", " : "",
                 (long long)evidence->row);

    const char *kept = arena_strdup(run->arena, place);

    return kept ? kept : "";
}

bool report_wants(const struct report_options *options, const char *check_id)
{
    struct str rest = str_of(options->only), id;

    if (!options->only || !options->only[0])
        return true;
    while (str_split(&rest, ',', &id))
        if (str_is(id, check_id))
            return true;
    return false;
}

const char *report_word(enum verdict verdict)
{
    static const char *const words[] = {
        [VERDICT_FAIL] = "FAIL", [VERDICT_WARN] = "warn",         [VERDICT_UNKNOWN] = "?",
        [VERDICT_PASS] = "ok",   [VERDICT_NOT_APPLICABLE] = "n/a"};

    return words[verdict];
}

const char *report_steps(const struct report_run *run)
{
    const struct run_facts *facts = run->facts;
    const char *text = "no step known";

    if (facts->last_step != NONE && facts->max_steps == NONE)
        text = arena_printf(run->arena, "step %lld", (long long)facts->last_step);
    else if (facts->last_step != NONE)
        text = arena_printf(run->arena, "step %lld of %lld", (long long)facts->last_step,
                            (long long)facts->max_steps);
    return text ? text : "";
}
