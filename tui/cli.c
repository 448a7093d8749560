/* The sub-commands of CLI.md. Each opens a session, asks core/exports or the store, and prints. */
#include "tui/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/number.h"
#include "core/base/unicode.h"
#include "core/checks/registry.h"
#include "core/exports/report.h"
#include "tui/tell.h"
#include "views/curves_text.h"

#define OUTPUT_BYTES ((size_t)256 << 20)

static int bad_use(const char *text)
{
    tell("%s; see flatline --help", text);
    return 2;
}

/* Prints text from files: never raw. */
static void print_safe(FILE *out, const char *text)
{
    struct buf safe;

    buf_init(&safe, 1 << 20);
    unicode_visible(&safe, str_of(text), false);
    fputs(safe.p, out);
    buf_free(&safe);
}

static bool only_is_known(const char *only)
{
    struct str rest = str_of(only), id;
    char name[64];
    size_t n = 0;

    while (only && str_split(&rest, ',', &id)) {
        snprintf(name, sizeof name, "%.*s", (int)id.n, id.p);
        if (id.n && !check_by_id(name)) {
            tell("--only %s: no such check", name);
            return false;
        }
        n += id.n > 0;
    }
    if (only && n == 0)
        tell("--only: expected the id of a check");
    return !only || n > 0;
}

static struct report_options report_settings(const struct options *options)
{
    const char *first = options->n_paths ? options->paths[0] : NULL;

    return (struct report_options){
        .redact = {.secrets = !options->no_redact, .anonymous = options->anonymous},
        .unicode_charts = options->unicode,
        .colour = options->color > 0 ||
                  (options->color == 0 && isatty(STDOUT_FILENO) && !getenv("NO_COLOR")),
        .columns = 80,
        .only = options->only,
        .argument = first,
        .version = FLATLINE_VERSION,
    };
}

static bool is_named(const struct options *options, const struct plan_file *file)
{
    for (size_t i = 0; i < options->n_paths; i++)
        if (strcmp(options->paths[i], file->shown) == 0)
            return true;
    return false;
}

/* What was left out and why, all of it when nothing was found. Beside something, only what the user
 * named: a mistyped path must not pass in silence. */
static void list_ignored(const struct session *session, const struct options *options)
{
    for (size_t i = 0; i < session->plan.n_ignored; i++) {
        const struct plan_file *file = &session->plan.ignored[i];

        if (session->n_runs && !is_named(options, file))
            continue;
        fputs("flatline: ", stderr);
        print_safe(stderr, file->shown);
        fputs(": ", stderr);
        print_safe(stderr, file->reason);
        fputc('\n', stderr);
    }
}

/* 2 when nothing was readable, 1 when a run is at the --fail-on level, else 0. */
static int exit_status(struct session *session, const struct options *options)
{
    bool at_warn = options->fail_on && strcmp(options->fail_on, "warn") == 0;

    if (session->n_runs == 0)
        return 2;
    for (size_t i = 0; i < session->n_runs; i++) {
        struct verdicts verdicts;

        if (verdicts_load(session->store, session->run_ids[i], session->arena, &verdicts,
                          &session->err) != OK) {
            cli_complain(&session->err);
            return 2;
        }
        for (size_t k = 0; k < verdicts.n_rows; k++) {
            enum verdict verdict = verdicts.rows[k].result.verdict;

            if (!verdicts.rows[k].dismissed &&
                (verdict == VERDICT_FAIL || (at_warn && verdict == VERDICT_WARN)))
                return 1;
        }
    }
    return 0;
}

typedef int report_writer(struct buf *, struct store *, const int64_t *, size_t,
                          const struct report_options *, struct error *);

static report_writer *writer_for(const char *format)
{
    static const struct {
        const char *name;
        report_writer *write;
    } writers[] = {
        {"text", report_text}, {"md", report_markdown}, {"json", report_json}, {"tsv", report_tsv}};

    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++)
        if (strcmp(writers[i].name, format ? format : "text") == 0)
            return writers[i].write;
    return NULL;
}

static void draw_chart(struct buf *out, const struct run_facts *facts, const char *metric,
                       bool unicode)
{
    curves_as_text(out, facts, metric, 18, 78, unicode);
}

/* Writes the report of the session's runs to `path`. */
static bool write_report(struct session *session, const struct options *options,
                         report_writer *write, const char *path)
{
    struct report_options how = report_settings(options);
    struct buf text;
    bool good = false;

    how.chart = draw_chart;
    buf_init(&text, OUTPUT_BYTES);
    if (write(&text, session->store, session->run_ids, session->n_runs, &how, &session->err) != OK)
        cli_complain(&session->err);
    else if (text.failed)
        tell("report: out of memory or larger than %zu MiB",
                OUTPUT_BYTES >> 20);
    else
        good = cli_write(path, buf_view(&text), options->force);
    buf_free(&text);
    return good;
}

static int check(struct session *session, const struct options *options)
{
    report_writer *write = writer_for(options->format);
    int status = session_import(session, options, NULL) ? exit_status(session, options) : 2;

    if (status != 2 || session->plan.n_runs == 0) {
        list_ignored(session, options);
        if ((session->n_runs || write == report_json) && !write_report(session, options, write, "-"))
            status = 2;
    }
    if (session->n_runs == 0 && write != report_json)
        tell("nothing to check was found there");
    return status;
}

int cli_check(const struct options *options)
{
    if (!writer_for(options->format))
        return bad_use("--format takes text, md, json or tsv");
    if (options->fail_on && strcmp(options->fail_on, "fail") && strcmp(options->fail_on, "warn"))
        return bad_use("--fail-on takes fail or warn");
    if (options->n_paths == 0)
        return bad_use("check needs a path");
    if (options->only && !only_is_known(options->only))
        return 2;
    return in_session(options, check);
}

static int report(struct session *session, const struct options *options)
{
    if (!session_import(session, options, NULL))
        return 2;
    list_ignored(session, options);
    if (session->n_runs == 0) {
        tell("nothing to report on was found there");
        return 2;
    }
    return write_report(session, options, report_markdown,
                        options->output ? options->output : "-")
               ? 0
               : 2;
}

int cli_report(const struct options *options)
{
    if (options->n_paths == 0)
        return bad_use("report needs a path");
    if (options->only && !only_is_known(options->only))
        return 2;
    return in_session(options, report);
}

/* ---- import ---- */

/* "3 metric rows", "1 metric row". */
static void print_count(long long n, const char *things)
{
    size_t length = strlen(things);

    printf("%lld %.*s", n, (int)(n == 1 && length && things[length - 1] == 's' ? length - 1 : length),
           things);
}

struct summary {
    const char *last_run;
    size_t n_read, n_unchanged;
};

static void print_file(void *ctx, const struct import_event *event)
{
    struct summary *summary = ctx;
    char size[32];

    if (!summary->last_run || strcmp(summary->last_run, event->run->run.key) != 0) {
        fputs("run ", stdout);
        print_safe(stdout, event->run->run.name);
        printf("  (");
        print_safe(stdout, event->run->reason);
        printf(")\n");
        summary->last_run = event->run->run.key;
    }
    number_bytes(size, (double)event->file->size);
    fputs("  ", stdout);
    print_safe(stdout, event->file->shown);
    printf("  %s  %s", event->file->importer->id, size);
    if (event->was_current)
        printf("  unchanged, not read again");
    else if (event->n_rows_are && event->n_rows_are[0]) {
        fputs("  ", stdout);
        print_count(event->n_rows, event->n_rows_are);
    }
    if (event->state != SOURCE_WHOLE)
        printf("  %s", source_state_name(event->state));
    putchar('\n');
    if (event->was_current)
        summary->n_unchanged++;
    else
        summary->n_read++;
}

static bool print_notes(struct session *session)
{
    static const char *const words[] = {[NOTE_INFO] = "note", [NOTE_WARN] = "warning",
                                        [NOTE_ERROR] = "damaged"};

    for (size_t i = 0; i < session->n_runs; i++) {
        const struct note *notes;
        size_t n;

        if (store_notes(session->store, session->run_ids[i], session->arena, &notes, &n,
                        &session->err) != OK) {
            cli_complain(&session->err);
            return false;
        }
        for (size_t k = 0; k < n; k++) {
            printf("%s: ", words[notes[k].severity]);
            print_safe(stdout, notes[k].path ? notes[k].path : "");
            if (notes[k].line != NONE)
                printf(":%lld", (long long)notes[k].line);
            else if (notes[k].byte != NONE)
                printf(": byte %lld", (long long)notes[k].byte);
            printf(": ");
            print_safe(stdout, notes[k].message);
            putchar('\n');
        }
    }
    return true;
}

static int import(struct session *session, const struct options *options)
{
    struct summary summary = {0};
    struct import_hooks hooks = {.file_done = print_file, .ctx = &summary};

    if (!session_import_only(session, options, &hooks) || !print_notes(session))
        return 2;
    for (size_t i = 0; i < session->plan.n_ignored; i++) {
        fputs("ignored ", stdout);
        print_safe(stdout, session->plan.ignored[i].shown);
        fputs(": ", stdout);
        print_safe(stdout, session->plan.ignored[i].reason);
        putchar('\n');
    }
    print_count((long long)session->n_runs, "runs");
    printf(", %zu file%s read", summary.n_read, summary.n_read == 1 ? "" : "s");
    if (summary.n_unchanged)
        printf(", %zu unchanged", summary.n_unchanged);
    printf(", %zu ignored\n", session->plan.n_ignored);
    return session->n_runs ? 0 : 2;
}

int cli_import(const struct options *options)
{
    return options->n_paths ? in_session(options, import) : bad_use("import needs a path");
}

/* ---- runs, forget, remark ---- */

static void runs_as_json(struct buf *out, const struct run *runs, size_t n)
{
    buf_puts(out, "[");
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s\n  {\"key\": ", i ? "," : "");
        json_write_string(out, str_of(runs[i].key));
        buf_puts(out, ", \"name\": ");
        json_write_string(out, str_of(runs[i].name));
        buf_puts(out, ", \"path\": ");
        json_write_string(out, str_of(runs[i].folder));
        buf_printf(out, ", \"kind\": \"%s\", \"state\": \"%s\"}", run_kind_name(runs[i].kind),
                   outcome_name(runs[i].outcome));
    }
    buf_puts(out, n ? "\n]\n" : "]\n");
}

static void runs_as_lines(struct buf *out, const struct run *runs, size_t n, bool is_tsv)
{
    if (is_tsv)
        buf_puts(out, "key\tname\tkind\tstate\tpath\n");
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%-16s%s", runs[i].key, is_tsv ? "\t" : "  ");
        unicode_visible(out, str_of(runs[i].name), false);
        buf_puts(out, is_tsv ? "\t" : "  ");
        buf_puts(out, run_kind_name(runs[i].kind));
        buf_puts(out, is_tsv ? "\t" : "  ");
        buf_puts(out, outcome_name(runs[i].outcome));
        buf_puts(out, is_tsv ? "\t" : "  ");
        unicode_visible(out, str_of(runs[i].folder), false);
        buf_putc(out, '\n');
    }
    if (n == 0 && !is_tsv)
        buf_puts(out, "no runs in the cache; flatline PATH imports some\n");
}

static int list_runs(struct session *session, const struct options *options)
{
    const char *format = options->format ? options->format : "text";
    const struct run *runs;
    struct buf text;
    size_t n;
    int status = 2;

    if (store_runs(session->store, session->arena, &runs, &n, &session->err) != OK) {
        cli_complain(&session->err);
        return 2;
    }
    buf_init(&text, OUTPUT_BYTES);
    if (strcmp(format, "json") == 0)
        runs_as_json(&text, runs, n);
    else
        runs_as_lines(&text, runs, n, strcmp(format, "tsv") == 0);
    if (text.failed)
        tell("runs: out of memory or larger than %zu MiB",
                OUTPUT_BYTES >> 20);
    else if (cli_write("-", buf_view(&text), false))
        status = 0;
    buf_free(&text);
    return status;
}

int cli_runs(const struct options *options)
{
    const char *format = options->format ? options->format : "text";

    if (strcmp(format, "text") && strcmp(format, "json") && strcmp(format, "tsv"))
        return bad_use("runs --format takes text, json or tsv");
    if (options->n_paths)
        return bad_use("runs takes no path");
    return in_session(options, list_runs);
}

static int forget(struct session *session, const struct options *options)
{
    struct run run;
    int rc = store_run_find(session->store, options->paths[0], session->arena, &run, &session->err);

    if (rc == OK && options->remarks)
        rc = store_remarks_drop(session->store, run.key, &session->err);
    if (rc == OK)
        rc = store_run_forget(session->store, run.id, &session->err);
    if (rc != OK)
        cli_complain(&session->err);
    return rc == OK ? 0 : 2;
}

int cli_forget(const struct options *options)
{
    if (options->n_paths != 1)
        return bad_use("forget needs one run, by name, key or folder");
    return in_session(options, forget);
}

static int write_remark(struct session *session, const struct options *options)
{
    const struct remark remark = {.check_id = options->check, .text = options->paths[1],
                                  .written_at = clock_now()};
    struct run run;
    int64_t id = 0;
    int rc;

    if (!session_find_run(session, options, options->paths[0], &run))
        return 2;
    if (options->dismiss)
        rc = store_tick_set(session->store, run.key, options->check, "dismissed", remark.text,
                            &session->err);
    else
        rc = store_remark_put(session->store, run.key, &remark, &id, &session->err);
    if (rc != OK)
        cli_complain(&session->err);
    return rc == OK ? 0 : 2;
}

int cli_remark(const struct options *options)
{
    if (options->n_paths != 2 || !options->paths[1][0])
        return bad_use("remark needs a run and a text");
    if (options->dismiss && !options->check)
        return bad_use("remark --dismiss needs --check ID");
    if (options->check && !check_by_id(options->check))
        return bad_use("remark --check: no such check");
    return in_session(options, write_remark);
}

int cli_completions(const struct options *options)
{
    struct buf text;
    int status = 2;

    if (options->n_paths != 1)
        return bad_use("completions needs a shell: bash, zsh or fish");
    buf_init(&text, 1 << 18);
    options_completions(&text, options->paths[0]);
    if (text.n)
        status = cli_write("-", buf_view(&text), false) ? 0 : 2;
    else
        tell("%s: expected bash, zsh or fish", options->paths[0]);
    buf_free(&text);
    return status;
}
