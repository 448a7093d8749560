/* The manual pages that are made from tables: flatline(1) from the commands and options,
 * flatline-checks(7) from the registry. Roff text to stdout. flatline-config(5) is written by hand
 * (tui/man) and compiled in. */
#include <stdio.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/checks/registry.h"
#include "tui/cli.h"

extern const unsigned char embedded_config_page[];
extern const size_t embedded_config_page_bytes;

#define PAGE_DATE "2026-11-30" /* of the last change to what stands here */
#define ELLIPSIS 0x2026

/* Text for roff: backslashes and leading dots are escaped, dashes of options kept as they are. What
 * is not ASCII is named by its code point, since groff reads its input as Latin-1. */
static void roff(struct buf *out, const char *text)
{
    struct str rest = str_of(text);

    if (text[0] == '.' || text[0] == '\'')
        buf_puts(out, "\\&");
    while (rest.n) {
        int32_t code;

        rest = str_skip(rest, unicode_next(rest, &code));
        if (code == ELLIPSIS) /* which a terminal in the C locale could not show */
            buf_puts(out, "...");
        else if (code == '\\')
            buf_puts(out, "\\e");
        else if (code == '-')
            buf_puts(out, "\\-");
        else if (code >= 0x80)
            buf_printf(out, "\\[u%04X]", (unsigned)code);
        else if (code >= 0)
            buf_putc(out, (char)code);
    }
}

/* "flatline NAME": the UI is the command without a name. */
static void command_name(struct buf *out, const struct command *command)
{
    buf_puts(out, command->name[0] ? ".B flatline " : ".B flatline");
    roff(out, command->name);
    buf_putc(out, '\n');
}

static void synopsis(struct buf *out)
{
    for (const struct command *c = options_commands(); c->name; c++) {
        command_name(out, c);
        if (c->arguments[0]) {
            roff(out, c->arguments);
            buf_putc(out, '\n');
        }
        if (c[1].name)
            buf_puts(out, ".br\n");
    }
}

/* "-o, --output FILE", what it does, and the commands that take it. */
static void option(struct buf *out, const struct option_row *row)
{
    char name[80];

    snprintf(name, sizeof name, "%s%.1s%s--%s%s%s", row->letter ? "-" : "", &row->letter,
             row->letter ? ", " : "", row->name, row->argument ? " " : "",
             row->argument ? row->argument : "");
    buf_puts(out, ".TP\n.B ");
    roff(out, name);
    buf_putc(out, '\n');
    roff(out, row->help);
    if (strcmp(row->commands, "ui") == 0)
        buf_puts(out, "\n(on the screen)");
    else if (row->commands[0])
        buf_printf(out, "\n(%s)", row->commands);
    buf_putc(out, '\n');
}

static void page_flatline(struct buf *out)
{
    const struct option_row *rows;
    size_t n;

    buf_puts(out, ".TH FLATLINE 1 " PAGE_DATE " \"flatline " FLATLINE_VERSION "\"\n"
                  ".SH NAME\nflatline \\- why did this fine\\-tuning run go wrong?\n"
                  ".SH SYNOPSIS\n");
    synopsis(out);
    buf_puts(out, ".SH DESCRIPTION\n"
                  "Reads what a fine\\-tuning run left behind (trainer_state.json, console log,\n"
                  "arguments, adapter, configuration), walks an ordered checklist from the\n"
                  "cheapest question to the dearest, and shows the likely cause with its\n"
                  "evidence by file and line. Nothing is sent anywhere, nothing from a file is\n"
                  "executed, nothing is written beside the run.\n"
                  ".SH COMMANDS\n");
    for (const struct command *c = options_commands(); c->name; c++) {
        buf_puts(out, ".TP\n");
        command_name(out, c);
        roff(out, c->help);
        buf_putc(out, '\n');
    }
    buf_puts(out, ".SH OPTIONS\nBehind each stand the commands that take it; without a list all "
                  "do.\n");
    rows = options_table(&n);
    for (size_t i = 0; i < n; i++)
        option(out, &rows[i]);
    buf_puts(out, ".SH EXIT STATUS\n0 nothing wrong found, 1 findings at the level of\n"
                  "\\-\\-fail\\-on (check), 2 cannot tell or bad use.\n"
                  ".SH ENVIRONMENT\nNO_COLOR, TERM, COLORTERM, LC_ALL, LANG, XDG_CONFIG_HOME,\n"
                  "XDG_STATE_HOME, XDG_CACHE_HOME, VISUAL, EDITOR, SOURCE_DATE_EPOCH.\n"
                  ".SH SEE ALSO\n.BR flatline\\-config (5),\n.BR flatline\\-checks (7)\n");
}

static void page_checks(struct buf *out)
{
    enum stage stage = N_STAGES;

    buf_puts(out, ".TH FLATLINE\\-CHECKS 7 " PAGE_DATE " \"flatline " FLATLINE_VERSION "\"\n"
                  ".SH NAME\n"
                  "flatline\\-checks \\- what flatline checks, in the order of its checklist\n");
    for (size_t i = 0; i < check_count(); i++) {
        const struct check *check = check_at(i);

        if (check->stage != stage) {
            stage = check->stage;
            buf_printf(out, ".SH \"%s ", stage_key(stage));
            roff(out, stage_name(stage));
            buf_puts(out, "\"\n");
            roff(out, stage_question(stage));
            buf_putc(out, '\n');
        }
        buf_puts(out, ".TP\n.B ");
        roff(out, check->id);
        buf_puts(out, "\n");
        roff(out, check->title);
        buf_puts(out, ". ");
        roff(out, check->why);
        buf_printf(out, " (%s)\n", severity_name(check->severity));
    }
}

int cli_manual(const struct options *options)
{
    const char *page = options->n_paths == 1 ? options->paths[0] : "";
    struct buf text;
    int status = 2;

    buf_init(&text, (size_t)1 << 20);
    if (strcmp(page, "flatline") == 0)
        page_flatline(&text);
    else if (strcmp(page, "checks") == 0)
        page_checks(&text);
    else if (strcmp(page, "config") == 0)
        buf_add(&text, embedded_config_page, embedded_config_page_bytes);
    if (text.n)
        status = cli_write("-", buf_view(&text), false) ? 0 : 2;
    else
        fprintf(stderr, "flatline: manual: expected flatline, checks or config\n");
    buf_free(&text);
    return status;
}
