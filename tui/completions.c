/* Completion scripts for bash, zsh and fish, made from the tables of commands and options. */
#include <stdio.h>
#include <string.h>

#include "core/checks/registry.h"
#include "tui/options.h"

static void put_checks(struct buf *out)
{
    for (size_t i = 0; i < check_count(); i++)
        buf_printf(out, "%s%s", i ? " " : "", check_at(i)->id);
}

static void put_words(struct buf *out, const char *words)
{
    if (strcmp(words, VALUE_CHECK) == 0)
        put_checks(out);
    else
        buf_puts(out, words);
}

/* The commands that take the option, or those that do not; the UI, which has no name, is left out.
 * Returns how many. */
static size_t put_takers(struct buf *out, const struct option_row *row, bool taking)
{
    size_t n = 0;

    for (const struct command *c = options_commands() + 1; c->name; c++)
        if (option_is_for(row, c) == taking)
            buf_printf(out, "%s%s", n++ ? " " : "", c->name);
    return n;
}

static void put_commands(struct buf *out)
{
    static const struct option_row any = {.commands = ""};

    put_takers(out, &any, true);
}

/* ---- bash ---- */

static void bash_option_names(struct buf *out, const struct command *command)
{
    const struct option_row *rows;
    size_t n;

    rows = options_table(&n);
    for (size_t i = 0; i < n; i++)
        if (option_is_for(&rows[i], command))
            buf_printf(out, " --%s", rows[i].name);
}

static void bash_values(struct buf *out)
{
    const struct option_row *rows;
    size_t n;

    rows = options_table(&n);
    buf_puts(out, "    case $prev in\n");
    for (size_t i = 0; i < n; i++) {
        if (!rows[i].argument)
            continue;
        buf_printf(out, "    --%s", rows[i].name);
        if (rows[i].letter)
            buf_printf(out, " | -%c", rows[i].letter);
        buf_puts(out, ") ");
        if (!rows[i].values)
            buf_puts(out, "_flatline_files; ");
        else if (rows[i].values[0]) {
            buf_puts(out, "_flatline_words \"");
            put_words(out, rows[i].values);
            buf_puts(out, "\"; ");
        }
        buf_puts(out, "return ;;\n");
    }
    buf_puts(out, "    esac\n");
}

static void bash_arguments(struct buf *out)
{
    buf_puts(out, "    if ((COMP_CWORD == 1)); then\n        _flatline_files\n"
                  "        COMPREPLY+=($(compgen -W \"");
    put_commands(out);
    buf_puts(out, "\" -- \"$cur\"))\n        return\n    fi\n"
                  "    case $COMP_CWORD:${COMP_WORDS[1]} in\n");
    for (const struct command *c = options_commands() + 1; c->name; c++)
        if (c->words)
            buf_printf(out, "    2:%s) _flatline_words \"%s\" ;;\n", c->name, c->words);
    buf_puts(out, "    *) _flatline_files ;;\n    esac\n");
}

static void bash(struct buf *out)
{
    /* names with blanks stay whole: an array is read by lines; "--name=value" comes as three words */
    buf_puts(out, "_flatline_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
                  "_flatline_files() {\n"
                  "    compopt -o filenames 2>/dev/null\n"
                  "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n}\n"
                  "_flatline() {\n"
                  "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                  "    COMPREPLY=()\n"
                  "    if [[ $cur == = ]]; then cur=\n"
                  "    elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n");
    bash_values(out);
    buf_puts(out, "    if [[ $cur == -* ]]; then\n        case ${COMP_WORDS[1]} in\n");
    for (const struct command *c = options_commands() + 1; c->name; c++) {
        buf_printf(out, "        %s) _flatline_words \"", c->name);
        bash_option_names(out, c);
        buf_puts(out, "\" ;;\n");
    }
    buf_puts(out, "        *) _flatline_words \"");
    bash_option_names(out, options_commands());
    buf_puts(out, "\" ;;\n        esac\n        return\n    fi\n");
    bash_arguments(out);
    buf_puts(out, "}\ncomplete -F _flatline flatline\n");
}

/* ---- zsh ---- */

static void zsh_option(struct buf *out, const struct option_row *row, const char *name)
{
    buf_printf(out, " '%s[%s]", name, row->help);
    if (row->argument) {
        buf_printf(out, ":%s:", row->argument);
        if (!row->values)
            buf_puts(out, "_files");
        else if (row->values[0]) {
            buf_putc(out, '(');
            put_words(out, row->values);
            buf_putc(out, ')');
        } else
            buf_putc(out, ' ');
    }
    buf_putc(out, '\'');
}

static void zsh_options(struct buf *out, const struct command *command)
{
    const struct option_row *rows;
    size_t n;

    rows = options_table(&n);
    for (size_t i = 0; i < n; i++) {
        char name[64];

        if (!option_is_for(&rows[i], command))
            continue;
        snprintf(name, sizeof name, "--%s%s", rows[i].name, rows[i].argument ? "=" : "");
        zsh_option(out, &rows[i], name);
        snprintf(name, sizeof name, "-%c", rows[i].letter);
        if (rows[i].letter)
            zsh_option(out, &rows[i], name);
    }
}

static void zsh(struct buf *out)
{
    buf_puts(out, "#compdef flatline\nlocal -a options\nlocal second=_files\ncase $words[2] in\n");
    for (const struct command *c = options_commands() + 1; c->name; c++) {
        buf_printf(out, "%s)", c->name);
        if (c->words)
            buf_printf(out, " second='(%s)';", c->words);
        buf_puts(out, " options=(");
        zsh_options(out, c);
        buf_puts(out, ") ;;\n");
    }
    buf_puts(out, "*) options=(");
    zsh_options(out, options_commands());
    buf_puts(out, ") ;;\nesac\n"
                  "_arguments $options '1: : _alternative \"commands:command:(");
    put_commands(out);
    buf_puts(out, ")\" \"paths:path:_files\"' \"2: :$second\" '*: :_files'\n");
}

/* ---- fish ---- */

static void fish_option(struct buf *out, const struct option_row *row)
{
    bool is_for_ui = option_is_for(row, options_commands());

    buf_puts(out, "complete -c flatline");
    if (row->commands[0]) {
        buf_printf(out, " -n '%s__fish_seen_subcommand_from ", is_for_ui ? "not " : "");
        put_takers(out, row, !is_for_ui);
        buf_putc(out, '\'');
    }
    buf_printf(out, " -l %s", row->name);
    if (row->letter)
        buf_printf(out, " -s %c", row->letter);
    if (row->argument)
        buf_puts(out, row->values ? " -x" : " -r");
    if (row->values && row->values[0]) {
        buf_puts(out, " -a '");
        put_words(out, row->values);
        buf_putc(out, '\'');
    }
    buf_printf(out, " -d '%s'\n", row->help);
}

static void fish(struct buf *out)
{
    const struct option_row *rows;
    size_t n;

    for (const struct command *c = options_commands() + 1; c->name; c++) {
        buf_printf(out, "complete -c flatline -n __fish_use_subcommand -a %s -d '%s'\n", c->name,
                   c->help);
        if (c->words)
            buf_printf(out, "complete -c flatline -n '__fish_seen_subcommand_from %s' -f -a '%s'\n",
                       c->name, c->words);
    }
    rows = options_table(&n);
    for (size_t i = 0; i < n; i++)
        fish_option(out, &rows[i]);
}

void options_completions(struct buf *out, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        bash(out);
    else if (strcmp(shell, "zsh") == 0)
        zsh(out);
    else if (strcmp(shell, "fish") == 0)
        fish(out);
}
