/* One table of sub-commands and options. See options.h. Parses argv and prints help and
 * completions from the table; runs nothing. */
#include "tui/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/run_facts.h"
#include "core/git/repository.h"
#include "tui/app.h"
#include "tui/cli.h"
#include "tui/tell.h"

static const struct command COMMANDS[] = {
    {"", "[PATH…]", "open the UI on the runs found under the paths (default: this folder)", app_run,
     NULL},
    {"check", "PATH…", "import, run the checklist, print it", cli_check, NULL},
    {"report", "PATH…", "findings, evidence and remarks as Markdown", cli_report, NULL},
    {"import", "PATH…", "import into the cache and print what was read and what was ignored",
     cli_import, NULL},
    {"runs", "", "list the runs that the cache holds", cli_runs, NULL},
    {"forget", "RUN", "drop a run from the cache (remarks stay)", cli_forget, NULL},
    {"remark", "RUN TEXT", "write a remark about a run or a check", cli_remark, NULL},
    {"curves", "PATH", "curves as text", cli_curves, NULL},
    {"labels", "PATH", "label rows decoded, with the mask shown, and counts over all rows", cli_labels,
     NULL},
    {"prompts", "PATH", "the prompt trained against the prompt served", cli_prompts, NULL},
    {"history", "PATH", "the configuration over git: commits, what each changed, the one the run used",
     cli_history, NULL},
    {"compare", "RUN RUN", "two runs side by side: settings, data, curves and verdicts that differ",
     cli_compare, NULL},
    {"memory", "PATH", "memory by phase, and what to change so that it fits", cli_memory, NULL},
    {"make", "WHAT PATH",
     "write files for the user; WHAT: one of the names that `flatline make` lists", cli_make,
     "healthcheck longest-first drop-rows group-split clean-test retention contradictions"},
    {"overfit-ten", "DATA", "ten rows and a config to see whether the pipeline can memorise them",
     cli_overfit_ten, NULL},
    {"facts", "DATA…",
     "what stages 5 and 6 need to know of rows, as JSON lines in the folder -o DIR", cli_facts, NULL},
    {"render", "TEMPLATE", "render a chat template on a conversation", cli_render, NULL},
    {"tokenize", "[TEXT…]", "text to ids and back, as --tokenizer FILE does it", cli_tokenize,
     VALUE_FREE},
    {"completions", "SHELL", "completion script for bash, zsh or fish", cli_completions,
     "bash zsh fish"},
    {"manual", "PAGE", "a manual page as roff; PAGE: flatline, checks or config", cli_manual,
     "flatline checks config"},
    {NULL, NULL, NULL, NULL, NULL},
};

#define FIELD(member) offsetof(struct options, member)

static const struct option_row OPTIONS[] = {
    {"format", 0, OPTION_TEXT, "FORM", FIELD(format), "check runs compare", "text, md, json or tsv",
     "text md json tsv"},
    {"only", 0, OPTION_TEXT, "IDS", FIELD(only), "check report", "only these checks (a,b,c)",
     VALUE_CHECK},
    {"fail-on", 0, OPTION_TEXT, "LEVEL", FIELD(fail_on), "check",
     "exit 1 at fail (default) or already at warn", "fail warn"},
    {"output", 'o', OPTION_TEXT, "FILE", FIELD(output), "report make overfit-ten facts",
     "write there; - is standard output; make, facts: a folder", NULL},
    {"unicode", 0, OPTION_FLAG, NULL, FIELD(unicode), "report curves", "charts in braille", NULL},
    {"redact", 0, OPTION_FLAG, NULL, FIELD(redact), "report check", "mask secrets (the default)", NULL},
    {"no-redact", 0, OPTION_FLAG, NULL, FIELD(no_redact), "report check", "do not mask secrets", NULL},
    {"anonymous", 0, OPTION_FLAG, NULL, FIELD(anonymous), "report check",
     "mask folders, users and hosts too", NULL},
    {"series", 0, OPTION_TEXT, "NAMES", FIELD(series), "curves", "loss,grad_norm,…", VALUE_FREE},
    {"row", 0, OPTION_TEXT, "N", FIELD(row), "labels", "this row (from 0), with its token ids", VALUE_FREE},
    {"all", 0, OPTION_FLAG, NULL, FIELD(all), "labels", "every row, not only those with a fault", NULL},
    {"rows", 'n', OPTION_TEXT, "N", FIELD(n), "overfit-ten", "how many rows (10)", VALUE_FREE},
    {"size", 0, OPTION_TEXT, "CxR", FIELD(size), "curves ui", "columns x rows, for example 80x24",
     VALUE_FREE},
    {"gpu", 0, OPTION_TEXT, "SIZE", FIELD(gpu), "memory check", "GPU memory, for example 24G",
     VALUE_FREE},
    {"check", 0, OPTION_TEXT, "ID", FIELD(check), "remark", "the remark is about this check",
     VALUE_CHECK},
    {"dismiss", 0, OPTION_FLAG, NULL, FIELD(dismiss), "remark",
     "the check is not a problem here; TEXT is the reason", NULL},
    {"remarks", 0, OPTION_FLAG, NULL, FIELD(remarks), "forget", "drop the remarks too", NULL},
    {"force", 0, OPTION_FLAG, NULL, FIELD(force), "make overfit-ten report facts",
     "overwrite existing files", NULL},
    {"at", 0, OPTION_TEXT, "PLACE", FIELD(at), "ui", "open at stage=3,check=ID,step=N,row=N",
     VALUE_FREE},
    {"tokenizer", 0, OPTION_TEXT, "FILE", FIELD(tokenizer), "tokenize facts",
     "tokenizer.json, another tokenizer file, or a folder with one", NULL},
    {"batch", 0, OPTION_FLAG, NULL, FIELD(batch), "render tokenize",
     "answer JSON lines from standard input by JSON lines", NULL},
    {"context", 0, OPTION_TEXT, "FILE", FIELD(context), "render",
     "a JSON object with messages, tools, kwargs … (- is standard input)", NULL},
    {"lint", 0, OPTION_FLAG, NULL, FIELD(lint), "render",
     "what the template does with plain conversations; exit 1 when a property fails", NULL},
    {"now", 0, OPTION_TEXT, "TIME", FIELD(now), "render",
     "the time for templates that ask, for example 2026-01-15T00:00:00", VALUE_FREE},
    {"ids", 0, OPTION_FLAG, NULL, FIELD(ids), "tokenize", "the text is a list of ids", NULL},
    {"set", 0, OPTION_SET, "NAME=VALUE", 0, "",
     "say what the files do not: kind=dpo, goal=shorter, gpu=24G, split:PATH=test …",
     "kind= goal= outcome= gpu="},
    {"db", 0, OPTION_TEXT, "FILE", FIELD(db), "", "use that cache", NULL},
    {"no-cache", 0, OPTION_FLAG, NULL, FIELD(no_cache), "", "keep the cache in memory", NULL},
    {"color", 0, OPTION_COLOR, "WHEN", 0, "", "auto, always or never", "auto always never"},
    {"ascii", 0, OPTION_FLAG, NULL, FIELD(ascii), "", "ASCII only", NULL},
    {"theme", 0, OPTION_TEXT, "NAME", FIELD(theme), "ui", "default, light, mono, colourblind",
     "default light mono colourblind"},
    {"no-follow", 0, OPTION_FLAG, NULL, FIELD(no_follow), "ui", "do not look for new rows", NULL},
    {"script", 0, OPTION_TEXT, "FILE", FIELD(script), "ui", "replay keys from a file", NULL},
    {"record", 0, OPTION_TEXT, "FILE", FIELD(record), "ui", "write the keys to a file", NULL},
    {"log", 0, OPTION_TEXT, "FILE", FIELD(log), "", "write debug lines there", NULL},
    {"help", 'h', OPTION_HELP, NULL, 0, "", "this text", NULL},
    {"version", 0, OPTION_VERSION, NULL, 0, "", "versions of the program and its libraries", NULL},
};

#define N_OPTIONS (sizeof OPTIONS / sizeof OPTIONS[0])

const struct option_row *options_table(size_t *n)
{
    *n = N_OPTIONS;
    return OPTIONS;
}

const struct command *options_commands(void)
{
    return COMMANDS;
}

static bool word_in(const char *words, const char *word)
{
    struct str rest = str_of(words), part;

    while (str_split(&rest, ' ', &part))
        if (str_is(part, word))
            return true;
    return false;
}

bool option_is_for(const struct option_row *row, const struct command *command)
{
    return !row->commands[0] || word_in(row->commands, command->name[0] ? command->name : "ui");
}

static void help_options(struct buf *out, const struct command *command)
{
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const struct option_row *row = &OPTIONS[i];
        char left[64];

        if (command && !option_is_for(row, command))
            continue;
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", row->letter ? "-" : "  ",
                 row->letter ? row->letter : ' ', row->letter ? ", " : " ", row->name,
                 row->argument ? " " : "", row->argument ? row->argument : "");
        buf_printf(out, "  %-26s %s\n", left, row->help);
    }
}

void options_help(struct buf *out, const struct command *command)
{
    if (command && command->name[0]) {
        buf_printf(out, "flatline %s %s\n  %s\n\nOptions\n", command->name, command->arguments,
                   command->help);
        help_options(out, command);
        return;
    }
    buf_puts(out, "flatline: why did this fine-tuning run go wrong?\n\nUsage\n");
    for (const struct command *c = COMMANDS; c->name; c++) {
        char left[40];

        snprintf(left, sizeof left, "flatline %s%s%s", c->name, c->name[0] ? " " : "",
                 c->arguments);
        /* %-*s counts bytes; the dots of "…" are three of them */
        buf_printf(out, "  %-*s %s\n", strstr(left, "…") ? 30 : 28, left, c->help);
    }
    buf_puts(out, "\nOptions\n");
    help_options(out, NULL);
    buf_puts(out, "\nExit status: 0 nothing wrong found, 1 findings, 2 cannot tell or bad use.\n");
}

static int say_version(void)
{
    char git[16];

    repository_library_version(git);
    printf("flatline %s\n", FLATLINE_VERSION);
    printf("libgit2 %s\n", git);
    return fflush(stdout) == 0 ? 0 : 2;
}

/* 1 + the exit status of bad use. */
static int usage(const char *word, const char *problem)
{
    tell("%s: %s; see flatline --help", word, problem);
    return 1 + 2;
}

static const struct option_row *option_find(const char *name, size_t n)
{
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (strlen(OPTIONS[i].name) == n && memcmp(OPTIONS[i].name, name, n) == 0)
            return &OPTIONS[i];
    return NULL;
}

/* A dash before the number is the dash of a name ("A100-80GB"), but not in front of all. */
static bool is_memory_size(const char *text)
{
    return text[0] != '-' && gpu_bytes_of_text(text) > 0;
}

static int set_answer(struct options *out, const char *text)
{
    /* a path stands before the value of split:, role: and importer:, so the last '=' splits them */
    const char *first = strchr(text, '='), *colon = strchr(text, ':');
    const char *equals = first && colon && colon < first ? strrchr(text, '=') : first;
    struct answer *answers;
    enum run_kind kind;
    char *name;

    if (!equals || equals == text)
        return usage(text, "expected NAME=VALUE");
    if (strncmp(text, "kind=", 5) == 0 && text[5] && !run_kind_parse(text + 5, &kind))
        return usage(text, "expected grpo, ppo, dpo, reward-model, classification, seq2seq, "
                           "pretraining or sft");
    if (strncmp(text, "gpu=", 4) == 0 && text[4] && !is_memory_size(text + 4))
        return usage(text, "expected a size such as 24G");
    answers = realloc((void *)(uintptr_t)out->answers, (out->n_answers + 1) * sizeof *answers);
    name = strndup(text, (size_t)(equals - text));
    if (!answers || !name) {
        free(name);
        tell("out of memory");
        return 1 + 2;
    }
    answers[out->n_answers].name = name;
    answers[out->n_answers].value = equals + 1;
    out->answers = answers;
    out->n_answers++;
    return 0;
}

static int set_color(struct options *out, const char *value)
{
    if (strcmp(value, "auto") == 0)
        out->color = 0;
    else if (strcmp(value, "always") == 0)
        out->color = 1;
    else if (strcmp(value, "never") == 0)
        out->color = -1;
    else
        return usage(value, "--color takes auto, always or never");
    return 0;
}

static int apply(struct options *out, const struct option_row *row, const char *value)
{
    char *base = (char *)out;

    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)(void *)(base + row->field) = true;
        return 0;
    case OPTION_TEXT:
        if (row->field == FIELD(gpu) && !is_memory_size(value))
            return usage(value, "--gpu takes a size such as 24G");
        *(const char **)(void *)(base + row->field) = value;
        return 0;
    case OPTION_SET:
        return set_answer(out, value);
    case OPTION_COLOR:
        return set_color(out, value);
    case OPTION_HELP:
    case OPTION_VERSION:
        return 0;
    }
    return 0;
}

static const struct command *command_find(const char *name)
{
    for (const struct command *c = COMMANDS + 1; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

/* --help and --version come before everything else, wherever they stand before "--". */
static int early(int argc, char **argv, const struct command *command)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--version") == 0)
            return 1 + say_version();
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            struct buf text;

            buf_init(&text, 1 << 16);
            options_help(&text, command->name[0] ? command : NULL);
            fputs(text.p, stdout);
            buf_free(&text);
            return 1 + (fflush(stdout) == 0 ? 0 : 2);
        }
    }
    return 0;
}

/* One option at argv[*i]; moves *i over its value. */
static int parse_option(int argc, char **argv, int *i, struct options *out)
{
    const char *word = argv[*i], *value = NULL;
    const struct option_row *row = NULL;

    if (word[1] == '-') {
        const char *equals = strchr(word, '=');

        row = option_find(word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2));
        value = equals ? equals + 1 : NULL;
    } else {
        for (size_t k = 0; k < N_OPTIONS; k++)
            if (OPTIONS[k].letter && OPTIONS[k].letter == word[1])
                row = &OPTIONS[k];
        value = word[2] ? word + 2 : NULL;
    }
    if (!row)
        return usage(word, "unknown option");
    if (!option_is_for(row, out->command))
        return usage(word, "does not belong to this command");
    if (!row->argument)
        return value ? usage(word, "takes no value") : apply(out, row, NULL);
    if (!value) {
        if (*i + 1 >= argc)
            return usage(word, "needs a value");
        value = argv[++*i];
    }
    return apply(out, row, value);
}

int options_parse(int argc, char **argv, struct options *out)
{
    const char **paths = calloc((size_t)argc + 1, sizeof *paths);
    bool only_paths = false;
    int first = 1, rc;

    *out = (struct options){.command = COMMANDS};
    if (!paths) {
        tell("out of memory");
        return 1 + 2;
    }
    out->paths = paths;
    if (argc > 1 && argv[1][0] != '-' && command_find(argv[1])) {
        out->command = command_find(argv[1]);
        first = 2;
    }
    rc = early(argc, argv, out->command);
    for (int i = first; rc == 0 && i < argc; i++) {
        if (only_paths || argv[i][0] != '-' || argv[i][1] == '\0')
            paths[out->n_paths++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            only_paths = true;
        else
            rc = parse_option(argc, argv, &i, out);
    }
    return rc;
}
