/* `flatline facts`: the facts form of a data set, for stages 5 and 6 where the data itself cannot go
 * (CLI.md). Finds the files and their splits; what the form is, core/facts/form.h says. */
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/facts/form_write.h"
#include "importers/split_name.h"
#include "tui/cli.h"
#include "tui/tell.h"

#define SILENT_NS 1000000000 /* before that nobody wonders */
#define AGAIN_NS  100000000

enum { MOST_SKIPPED = 20 };

static atomic_bool is_interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    atomic_store(&is_interrupted, true);
}

struct data_file {
    const char *split, *path, *name;
};

struct facts_command {
    const struct options *options;
    struct arena *arena;
    struct data_file *files;
    size_t n, capacity, n_skipped;
    int64_t began, shown; /* ticks; 0: not yet */
    struct error err;
};

/* ---- Which files ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* --set split:PATH=NAME; PATH as given, as shown, whole, or the last component. */
static const char *split_of(const struct facts_command *command, const char *path, const char *shown)
{
    const struct options *options = command->options;

    for (size_t i = options->n_answers; i-- > 0;) {
        const char *name = options->answers[i].name;

        if (strncmp(name, "split:", 6) != 0 || !options->answers[i].value[0])
            continue;
        name += 6;
        if (strcmp(name, shown) == 0 || strcmp(name, path) == 0 || strcmp(name, base_name(path)) == 0)
            return options->answers[i].value;
    }
    return split_by_name(path);
}

/* A file that is named twice counts once. */
static bool add_file(struct facts_command *command, const char *path, const char *shown)
{
    for (size_t i = 0; i < command->n; i++)
        if (strcmp(command->files[i].path, path) == 0)
            return true;
    struct data_file *files = arena_room(command->arena, command->files, command->n,
                                         &command->capacity, sizeof *files);
    if (!files)
        return false;
    command->files = files;
    path = arena_strdup(command->arena, path);
    files[command->n++] = (struct data_file){split_of(command, path, shown), path, base_name(path)};
    return true;
}

static void skip(struct facts_command *command, const char *shown, const char *reason)
{
    if (command->n_skipped++ < MOST_SKIPPED)
        tell("%s: left out: %s", shown, reason ? reason : "not a data file");
}

/* What a run's data is made of, by the rules of importing. */
static bool add_folder(struct facts_command *command, const char *path)
{
    const struct plan_options how = {command->options->answers, command->options->n_answers};
    struct plan plan;
    bool is_good = true;

    if (plan_make(&path, 1, &how, command->arena, &plan, &command->err) != OK) {
        cli_complain(&command->err);
        return false;
    }
    for (size_t i = 0; i < plan.n_runs; i++)
        for (size_t k = 0; is_good && k < plan.runs[i].n_files; k++) {
            const struct plan_file *file = &plan.runs[i].files[k];

            if (file->importer && strcmp(file->importer->id, "dataset_rows") == 0)
                is_good = add_file(command, file->path, file->shown);
            else
                skip(command, file->shown, file->importer ? file->importer->title : file->reason);
        }
    for (size_t i = 0; i < plan.n_ignored; i++)
        skip(command, plan.ignored[i].shown, plan.ignored[i].reason);
    return is_good;
}

static bool add_path(struct facts_command *command, const char *path)
{
    char real[PATH_MAX];
    struct stat st;

    if (!realpath(path, real) || stat(real, &st) != 0) {
        tell("%s: no such file or folder", path);
        return false;
    }
    return S_ISDIR(st.st_mode) ? add_folder(command, path) : add_file(command, real, path);
}

static bool is_train(const struct data_file *file)
{
    return strcmp(file->split, "train") == 0;
}

static int by_name(const void *a, const void *b)
{
    const struct data_file *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order ? order : strcmp(x->path, y->path);
}

/* The splits in the order of their coming, "train" first; their files by name. */
static struct form_data *group(struct facts_command *command, size_t *n_data)
{
    struct form_data *data = arena_array(command->arena, command->n + 1, sizeof *data);
    struct data_file *sorted = arena_array(command->arena, command->n + 1, sizeof *sorted);
    const char **paths = arena_array(command->arena, command->n + 1, sizeof *paths);
    size_t n = 0, at = 0;

    *n_data = 0;
    if (!data || !sorted || !paths)
        return NULL;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < command->n; i++) {
            bool is_known = is_train(&command->files[i]) != (pass == 0);

            for (size_t k = 0; !is_known && k < n; k++)
                is_known = strcmp(data[k].split, command->files[i].split) == 0;
            if (!is_known)
                data[n++].split = command->files[i].split;
        }
    memcpy(sorted, command->files, command->n * sizeof *sorted);
    qsort(sorted, command->n, sizeof *sorted, by_name);
    for (size_t k = 0; k < n; k++) {
        data[k].paths = &paths[at];
        for (size_t i = 0; i < command->n; i++)
            if (strcmp(sorted[i].split, data[k].split) == 0)
                paths[at++] = sorted[i].path;
        data[k].n_paths = (size_t)(&paths[at] - data[k].paths);
    }
    *n_data = n;
    return data;
}

/* ---- The work ---- */

/* On a terminal, and only when it has taken a while. */
static void show_progress(void *ctx, const char *what, int64_t n_rows)
{
    struct facts_command *command = ctx;
    int64_t now = clock_ticks_ns();

    if (command->began == 0)
        command->began = now;
    if (!isatty(STDERR_FILENO) || now - command->began < SILENT_NS ||
        now - command->shown < AGAIN_NS)
        return;
    command->shown = now;
    fprintf(stderr, "\r\033[K%s %" PRId64 " ", what, n_rows);
}

static void show_notice(void *ctx, const char *text)
{
    (void)ctx;
    tell("%s", text);
}

static void say(const struct form_written *written, const struct form_options *how)
{
    printf("%s: %" PRId64 " rows of %zu split%s", how->folder, written->n_rows, how->n_data,
           how->n_data == 1 ? "" : "s");
    if (written->n_unreadable)
        printf(", %" PRId64 " not readable", written->n_unreadable);
    printf("\ncommon text: %zu words before, %zu behind", written->n_prefix, written->n_suffix);
    printf("\ncandidates: %" PRId64 " rows with their texts", written->n_candidates);
    if (written->n_crowded)
        printf("\nnot compared: rows of %zu bands that more than %d rows share", written->n_crowded,
               FORM_CROWD);
    printf("\nnext: flatline check RUN %s\n", how->folder);
}

static int write_facts(struct facts_command *command, const struct tokenizer *tokenizer)
{
    struct form_options how = {
        .folder = command->options->output,
        .version = FLATLINE_VERSION,
        .made_by = "flatline facts",
        .force = command->options->force,
        .tokenizer = tokenizer,
        .hooks = {show_progress, show_notice, command, &is_interrupted},
    };
    struct sigaction ours = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND}, before;
    struct form_written written;

    how.data = group(command, &how.n_data);
    if (!how.data) {
        tell("out of memory");
        return 2;
    }
    if (!is_train(&(struct data_file){.split = how.data[0].split}))
        tell("no training rows: nothing is taken for the rows' common text; say which file is "
             "training with --set split:PATH=train");
    bool is_ours = sigaction(SIGINT, &ours, &before) == 0;
    int rc = form_write(&how, &written, &command->err);
    if (is_ours)
        (void)sigaction(SIGINT, &before, NULL);
    if (command->shown)
        fputs("\r\033[K", stderr);
    if (rc != OK) {
        cli_complain(&command->err);
        return 2;
    }
    say(&written, &how);
    return 0;
}

static bool find_files(struct facts_command *command)
{
    for (size_t i = 0; i < command->options->n_paths; i++)
        if (!add_path(command, command->options->paths[i]))
            return false;
    if (command->n_skipped > MOST_SKIPPED)
        tell("%zu more files were left out", command->n_skipped - MOST_SKIPPED);
    if (command->n == 0)
        tell("no data files found");
    if (arena_failed(command->arena))
        tell("out of memory");
    return command->n > 0 && !arena_failed(command->arena);
}

int cli_facts(const struct options *options)
{
    struct facts_command command = {.options = options};
    struct tokenizer *tokenizer = NULL;
    int status = 2;

    if (options->n_paths == 0 || !options->output) {
        tell("facts needs data files and -o DIR; see flatline facts --help");
        return 2;
    }
    command.arena = arena_open(ARENA_VIEW_BYTES);
    if (!command.arena)
        tell("out of memory");
    else if (options->tokenizer &&
             tokenizer_load(&tokenizer, options->tokenizer, NULL, &command.err) != OK)
        cli_complain(&command.err);
    else if (find_files(&command))
        status = write_facts(&command, tokenizer);
    tokenizer_close(tokenizer);
    arena_close(command.arena);
    return tell_end(status);
}
