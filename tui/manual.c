/* The manual pages that are made from tables: flatline(1) from the commands and options,
 * flatline-checks(7) from the registry. Roff text to stdout. flatline-config(5) is written by hand. */
#include <stdio.h>
#include <string.h>

#include "core/checks/registry.h"
#include "tui/cli.h"

/* Text for roff: backslashes and leading dots are escaped, dashes of options kept as they are. */
static void roff(struct buf *out, const char *text)
{
    if (text[0] == '.' || text[0] == '\'')
        buf_puts(out, "\\&");
    for (; *text; text++) {
        if (*text == '\\')
            buf_puts(out, "\\e");
        else if (*text == '-')
            buf_puts(out, "\\-");
        else
            buf_putc(out, *text);
    }
}

static void page_flatline(struct buf *out)
{
    buf_puts(out, ".TH FLATLINE 1 \"\" \"flatline " FLATLINE_VERSION "\"\n"
                  ".SH NAME\nflatline \\- why did this fine\\-tuning run go wrong?\n"
                  ".SH SYNOPSIS\n");
    for (const struct command *c = options_commands(); c->name; c++) {
        buf_puts(out, ".B flatline\n");
        roff(out, c->name);
        buf_putc(out, ' ');
        roff(out, c->arguments);
        buf_puts(out, "\n.br\n");
    }
    buf_puts(out, ".SH DESCRIPTION\nReads what a fine\\-tuning run left behind "
                  "(trainer_state.json, console log, arguments, adapter, configuration), walks an "
                  "ordered checklist from the cheapest question to the dearest, and shows the "
                  "likely cause with its evidence by file and line. Nothing is sent anywhere, "
                  "nothing from a file is executed, nothing is written beside the run.\n"
                  ".SH COMMANDS\n");
    for (const struct command *c = options_commands(); c->name; c++) {
        buf_puts(out, ".TP\n.B flatline ");
        roff(out, c->name);
        buf_putc(out, '\n');
        roff(out, c->help);
        buf_putc(out, '\n');
    }
    buf_puts(out, ".SH OPTIONS\n");
    options_each(out, roff);
    buf_puts(out, ".SH EXIT STATUS\n0 nothing wrong found, 1 findings at the level of "
                  "\\-\\-fail\\-on, 2 cannot tell or bad use.\n"
                  ".SH ENVIRONMENT\nNO_COLOR, TERM, LC_ALL, XDG_CONFIG_HOME, XDG_STATE_HOME, "
                  "XDG_CACHE_HOME, VISUAL, EDITOR, SOURCE_DATE_EPOCH.\n"
                  ".SH SEE ALSO\n.BR flatline\\-config (5),\n.BR flatline\\-checks (7)\n");
}

static void page_checks(struct buf *out)
{
    enum stage stage = N_STAGES;

    buf_puts(out, ".TH FLATLINE\\-CHECKS 7 \"\" \"flatline " FLATLINE_VERSION "\"\n.SH NAME\n"
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
    if (text.n)
        status = cli_write("-", buf_view(&text), false) ? 0 : 2;
    else
        fprintf(stderr, "flatline: manual: expected flatline or checks\n");
    buf_free(&text);
    return status;
}
