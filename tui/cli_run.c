/* The sub-commands that work on the facts of one run: curves, memory, make,
 * overfit-ten. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/number.h"
#include "core/base/unicode.h"
#include "core/exports/clean_split.h"
#include "core/exports/contradictions.h"
#include "core/exports/healthcheck.h"
#include "core/exports/longest_first.h"
#include "core/exports/memory_report.h"
#include "core/exports/overfit_ten.h"
#include "core/exports/retention.h"
#include "tui/cli.h"
#include "tui/tell.h"
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

static bool is_first_of_name(const struct run_facts *facts, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(facts->series[k].name, facts->series[i].name) == 0)
            return false;
    return true;
}

/* Says what there is to draw instead. */
static void tell_series(const struct run_facts *facts)
{
    struct buf names;
    size_t n = 0;

    buf_init(&names, 4096);
    for (size_t i = 0; i < facts->n_series && !names.failed; i++)
        if (is_first_of_name(facts, i))
            buf_printf(&names, "%s%s", n++ ? ", " : "", facts->series[i].name);
    if (n)
        tell("the run has %s", names.p);
    else
        tell("nothing to draw: no metric rows were found");
    buf_free(&names);
}

static int draw_curves(struct session *session, const struct options *options)
{
    struct str rest = str_of(options->series ? options->series : "loss,eval_loss,grad_norm"), name;
    struct run_facts *facts;
    struct run run;
    struct buf text;
    int columns = 80, rows = 24, status = 2;
    size_t n_drawn = 0;

    if (options->size && !parse_size(options->size, &columns, &rows)) {
        tell("--size %s: expected COLUMNSxROWS of at least 20x5", options->size);
        return 2;
    }
    facts = open_facts(session, options, 0, &run);
    if (!facts)
        return 2;
    buf_init(&text, (size_t)16 << 20);
    while (str_split(&rest, ',', &name)) {
        char metric[128];

        snprintf(metric, sizeof metric, "%.*s", (int)name.n, name.p);
        if (!facts_curve(facts, metric)) {
            if (options->series)
                tell("%s: no such series in this run", metric);
            continue;
        }
        curves_as_text(&text, facts, metric, rows, columns, options->unicode && !options->ascii);
        n_drawn++;
    }
    if (n_drawn == 0)
        tell_series(facts);
    else if (cli_write("-", buf_view(&text), false))
        status = 0;
    run_facts_close(facts);
    buf_free(&text);
    return status;
}

int cli_curves(const struct options *options)
{
    if (options->n_paths != 1) {
        tell("curves needs one run; see flatline curves --help");
        return 2;
    }
    return in_session(options, draw_curves);
}

static int print_memory(struct session *session, const struct options *options)
{
    struct run run;
    struct run_facts *facts = open_facts(session, options, 0, &run);
    struct buf text;
    int status = 2;

    if (!facts)
        return 2;
    buf_init(&text, (size_t)1 << 20);
    if (memory_report(&text, facts, &session->err) != OK)
        cli_complain(&session->err);
    else if (cli_write("-", buf_view(&text), false))
        status = 0;
    run_facts_close(facts);
    buf_free(&text);
    return status;
}

int cli_memory(const struct options *options)
{
    if (options->n_paths != 1) {
        tell("memory needs a run; see flatline memory --help");
        return 2;
    }
    return in_session(options, print_memory);
}

/* The folders of default_folder that are empty, as when nothing could be made. */
static void drop_empty_folders(const char *path)
{
    char parent[PATH_MAX];
    char *slash;

    snprintf(parent, sizeof parent, "%s", path);
    while ((slash = strrchr(parent, '/'))) {
        *slash = '\0';
        if (rmdir(parent) != 0)
            return;
    }
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

/* What writes files for one run; see core/exports. */
typedef int make_fn(const struct run_facts *facts, const struct made_folder *folder,
                    const struct options *options, struct error *err);

/* Into -o, or flatline-out/<run>/<name>; prints what was made. Exit status. */
static int make_files(struct session *session, const struct options *options, size_t skip,
                      const char *name, make_fn *make)
{
    struct run run;
    struct run_facts *facts = open_facts(session, options, skip, &run);
    struct buf said, shown;
    char path[PATH_MAX];
    struct made_folder folder = {.path = path, .force = options->force, .said = &said};
    bool fits;
    int rc;

    if (!facts)
        return 2;
    buf_init(&said, 1 << 16);
    buf_init(&shown, 1 << 18);
    fits = options->output ? snprintf(path, sizeof path, "%s", options->output) < (int)sizeof path
                           : default_folder(run.name, name, path, sizeof path);
    rc = fits ? make(facts, &folder, options, &session->err)
              : error_set(&session->err, E_LIMIT, "-o: longer than %d bytes", PATH_MAX - 1);
    if (rc != OK)
        cli_complain(&session->err);
    if (rc != OK && fits && !options->output)
        drop_empty_folders(path);
    unicode_visible(&shown, buf_view(&said), true);
    fputs(shown.p, stdout);
    buf_free(&shown);
    run_facts_close(facts);
    buf_free(&said);
    return rc == OK ? 0 : 2;
}

static int longest_first(const struct run_facts *facts, const struct made_folder *folder,
                         const struct options *options, struct error *err)
{
    (void)options;
    return make_longest_first(facts, folder, err);
}

static int healthcheck(const struct run_facts *facts, const struct made_folder *folder,
                       const struct options *options, struct error *err)
{
    (void)options;
    return make_healthcheck(facts, folder, err);
}

static int drop_rows(const struct run_facts *facts, const struct made_folder *folder,
                     const struct options *options, struct error *err)
{
    (void)options;
    return make_drop_rows(facts, folder, err);
}

static int group_split(const struct run_facts *facts, const struct made_folder *folder,
                       const struct options *options, struct error *err)
{
    (void)options;
    return make_group_split(facts, folder, err);
}

static int clean_test(const struct run_facts *facts, const struct made_folder *folder,
                      const struct options *options, struct error *err)
{
    (void)options;
    return make_clean_test(facts, folder, err);
}

static int contradictions(const struct run_facts *facts, const struct made_folder *folder,
                          const struct options *options, struct error *err)
{
    (void)options;
    return make_contradictions(facts, folder, err);
}

static int retention(const struct run_facts *facts, const struct made_folder *folder,
                     const struct options *options, struct error *err)
{
    (void)facts; /* the same for every run: it is frozen */
    (void)options;
    return make_retention(folder, err);
}

static const struct {
    const char *name;
    make_fn *make;
} MADE[] = {{"healthcheck", healthcheck}, {"longest-first", longest_first},
            {"drop-rows", drop_rows},     {"group-split", group_split},
            {"clean-test", clean_test},   {"retention", retention},
            {"contradictions", contradictions}};
#define N_MADE (sizeof MADE / sizeof MADE[0])

static size_t made_by_name(const char *name)
{
    size_t i = 0;

    while (i < N_MADE && strcmp(MADE[i].name, name) != 0)
        i++;
    return i;
}

static int make_named(struct session *session, const struct options *options)
{
    size_t i = made_by_name(options->paths[0]);

    return make_files(session, options, 1, MADE[i].name, MADE[i].make);
}

/* "healthcheck, longest-first … or contradictions" */
static void list_made(struct buf *out)
{
    for (size_t i = 0; i < N_MADE; i++)
        buf_printf(out, "%s%s", i == 0 ? "" : i + 1 < N_MADE ? ", " : " or ", MADE[i].name);
}

int cli_make(const struct options *options)
{
    bool is_known = options->n_paths == 2 && made_by_name(options->paths[0]) < N_MADE;
    struct buf names;

    if (is_known)
        return in_session(options, make_named);
    buf_init(&names, 1024);
    list_made(&names);
    if (options->n_paths != 2)
        tell("make needs what to make and a run; what: %s", names.p);
    else
        tell("make %s: expected %s", options->paths[0], names.p);
    buf_free(&names);
    return 2;
}

static int overfit_ten(const struct run_facts *facts, const struct made_folder *folder,
                       const struct options *options, struct error *err)
{
    int64_t n = OVERFIT_TEN_ROWS;

    if (options->n && (!number_parse_int(str_of(options->n), &n) || n < 1 || n > OVERFIT_TEN_MOST))
        return error_set(err, E_PARSE, "-n %s: expected 1 to %d rows", options->n, OVERFIT_TEN_MOST);
    return make_overfit_ten(facts, folder, (int)n, err);
}

static int make_ten(struct session *session, const struct options *options)
{
    return make_files(session, options, 0, "overfit10", overfit_ten);
}

int cli_overfit_ten(const struct options *options)
{
    if (options->n_paths != 1) {
        tell("overfit-ten needs a run or its data; see flatline overfit-ten --help");
        return 2;
    }
    return in_session(options, make_ten);
}
