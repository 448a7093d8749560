/* One table of sub-commands and options: --help, completions and the man page come from it. */
#ifndef TUI_OPTIONS_H
#define TUI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/model.h"

struct options;

struct command {
    const char *name;           /* "": the UI */
    const char *arguments;      /* "PATH…" */
    const char *help;
    int (*run)(const struct options *options);   /* exit status */
    const char *words;          /* what the first argument can be, blank-separated; NULL: a path */
};

struct options {
    const struct command *command;
    const char *const *paths;   /* positional arguments */
    size_t n_paths;
    const struct answer *answers;   /* --set NAME=VALUE */
    size_t n_answers;
    const char *format;         /* text md json tsv; NULL: default */
    const char *only, *output, *db, *at, *series, *size, *theme, *script, *record, *log, *check, *row, *n;
    const char *fail_on, *gpu, *tokenizer, *context, *now;
    bool no_cache, redact, no_redact, anonymous, unicode, force, ascii, no_follow, remarks,
        dismiss, batch, ids, all, lint;
    int color;                  /* -1 never, 0 auto, 1 always */
};

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_SET, OPTION_COLOR, OPTION_HELP, OPTION_VERSION };

/* What a value can be, for completion: words of its own, or one of these. */
#define VALUE_FREE ""           /* nothing can be offered */
#define VALUE_CHECK "@"         /* the id of a check */

struct option_row {
    const char *name;
    char letter;                /* 0: none */
    enum option_kind kind;
    const char *argument;       /* name of the value; NULL: none */
    size_t field;               /* offset in struct options */
    const char *commands;       /* blank-separated; "" every command, "ui" the UI */
    const char *help;
    const char *values;         /* blank-separated words, VALUE_FREE, VALUE_CHECK; NULL: a file */
};

/* Parses argv. Returns 0 go on, else 1 + exit status after --help, --version (printed to stdout)
 * or bad usage (one line to stderr that names the option, status 2). Memory lives until exit. */
int options_parse(int argc, char **argv, struct options *out);
void options_help(struct buf *out, const struct command *command /* NULL: all */);
const struct command *options_commands(void);   /* the first is the UI; ends with name NULL */
const struct option_row *options_table(size_t *n);
bool option_is_for(const struct option_row *row, const struct command *command);
/* A completion script for bash, zsh or fish; nothing for another shell. (completions.c) */
void options_completions(struct buf *out, const char *shell);

#endif
