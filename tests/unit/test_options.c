/* The command line: what is accepted, what is refused and how, and what is made from the table. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/tempdir.h"
#include "tui/cli.h"
#include "tui/options.h"

#define MAX_WORDS 16

struct spoken {
    struct options options;
    char words[MAX_WORDS][200];
    char *argv[MAX_WORDS + 1];
    int argc, rc;
    char out[65536], err[4096];
};

static struct spoken spoken;
static char *folder;

static int setup(void **state)
{
    (void)state;
    folder = tempdir_make();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tempdir_remove(folder);
    return 0;
}

static void forget(void)
{
    for (size_t i = 0; i < spoken.options.n_answers; i++)
        free((void *)(uintptr_t)spoken.options.answers[i].name);
    free((void *)(uintptr_t)spoken.options.answers);
    free((void *)(uintptr_t)spoken.options.paths);
    spoken.options = (struct options){0};
}

static int forget_all(void **state)
{
    (void)state;
    forget();
    return 0;
}

/* Points a stream at a file and gives the old place back. */
static int redirect(FILE *stream, const char *name)
{
    int old = dup(fileno(stream));

    fflush(stream);
    assert_non_null(freopen(tempdir_path(folder, name), "w", stream));
    return old;
}

static void restore(FILE *stream, int old)
{
    fflush(stream);
    dup2(old, fileno(stream));
    close(old);
}

static void read_back(const char *name, char *out, size_t size)
{
    FILE *file = fopen(tempdir_path(folder, name), "r");
    size_t n;

    assert_non_null(file);
    n = fread(out, 1, size - 1, file);
    out[n] = '\0';
    fclose(file);
}

/* Parses "flatline" and the words, which are separated by '|'. */
static int parse(const char *words)
{
    struct str rest = str_of(words), word;
    int old_out, old_err;

    forget();
    spoken.argc = 0;
    snprintf(spoken.words[0], sizeof spoken.words[0], "flatline");
    spoken.argv[spoken.argc++] = spoken.words[0];
    while (words[0] && str_split(&rest, '|', &word)) {
        assert_true(spoken.argc < MAX_WORDS && word.n < sizeof spoken.words[0]);
        snprintf(spoken.words[spoken.argc], sizeof spoken.words[0], "%.*s", (int)word.n, word.p);
        spoken.argv[spoken.argc] = spoken.words[spoken.argc];
        spoken.argc++;
    }
    spoken.argv[spoken.argc] = NULL;
    old_out = redirect(stdout, "out");
    old_err = redirect(stderr, "err");
    spoken.rc = options_parse(spoken.argc, spoken.argv, &spoken.options);
    restore(stdout, old_out);
    restore(stderr, old_err);
    read_back("out", spoken.out, sizeof spoken.out);
    read_back("err", spoken.err, sizeof spoken.err);
    return spoken.rc;
}

/* Bad use: status 2, nothing on stdout, one line on stderr that has the word and points to help. */
static void assert_refused(const char *words, const char *named)
{
    if (parse(words) != 1 + 2)
        fail_msg("%s: status %d", words, spoken.rc - 1);
    assert_string_equal(spoken.out, "");
    assert_true(strncmp(spoken.err, "flatline: ", 10) == 0);
    if (!strstr(spoken.err, named))
        fail_msg("%s: %s does not name %s", words, spoken.err, named);
    assert_non_null(strstr(spoken.err, "--help"));
    assert_ptr_equal(strchr(spoken.err, '\n'), spoken.err + strlen(spoken.err) - 1);
}

static void without_words_the_screen_opens_here(void **state)
{
    (void)state;
    assert_int_equal(parse(""), 0);
    assert_string_equal(spoken.options.command->name, "");
    assert_int_equal(spoken.options.n_paths, 0);
    assert_int_equal(spoken.options.color, 0);
    assert_string_equal(spoken.out, "");
    assert_string_equal(spoken.err, "");
}

static void the_first_word_names_the_command(void **state)
{
    (void)state;
    for (const struct command *c = options_commands() + 1; c->name; c++) {
        char words[64];

        snprintf(words, sizeof words, "%s|x", c->name);
        assert_int_equal(parse(words), 0);
        assert_string_equal(spoken.options.command->name, c->name);
        assert_int_equal(spoken.options.n_paths, 1);
    }
    assert_int_equal(parse("runs/a|check"), 0);         /* no command: a path */
    assert_string_equal(spoken.options.command->name, "");
    assert_int_equal(spoken.options.n_paths, 2);
}

static void help_is_printed_whatever_else_stands_there(void **state)
{
    static const char *const lines[] = {"--help", "-h", "check|--help", "check|--frob|--help",
                                        "--at|x|--help"};

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(parse(lines[i]), 1 + 0);
        assert_true(strlen(spoken.out) > 100);
        assert_string_equal(spoken.err, "");
    }
}

static void help_names_every_command_and_a_commands_help_its_options_only(void **state)
{
    (void)state;
    assert_int_equal(parse("--help"), 1);
    for (const struct command *c = options_commands() + 1; c->name; c++) {
        char line[64];

        snprintf(line, sizeof line, "flatline %s", c->name);
        assert_non_null(strstr(spoken.out, line));
        assert_non_null(strstr(spoken.out, c->help));
    }
    assert_int_equal(parse("check|--help"), 1);
    assert_non_null(strstr(spoken.out, "--fail-on LEVEL"));
    assert_non_null(strstr(spoken.out, "--db FILE"));
    assert_null(strstr(spoken.out, "--dismiss"));
    assert_null(strstr(spoken.out, "--script"));
}

static void no_line_of_help_is_wider_than_a_screen(void **state)
{
    (void)state;
    for (const struct command *c = options_commands(); c->name; c++) {
        struct buf text;
        struct str rest, line;

        buf_init(&text, 1u << 16);
        options_help(&text, c->name[0] ? c : NULL);
        rest = buf_view(&text);
        while (str_split(&rest, '\n', &line))
            if (line.n > 110)
                fail_msg("%s: %.*s", c->name, (int)line.n, line.p);
        assert_false(text.failed);
        buf_free(&text);
    }
}

static void the_version_is_printed(void **state)
{
    (void)state;
    assert_int_equal(parse("--version"), 1 + 0);
    assert_true(strncmp(spoken.out, "flatline " FLATLINE_VERSION "\n",
                        strlen("flatline " FLATLINE_VERSION "\n")) == 0);
    assert_int_equal(parse("check|--nonsense|--version"), 1 + 0);
}

static void an_unknown_option_is_named(void **state)
{
    (void)state;
    assert_refused("--frobnicate", "--frobnicate");
    assert_refused("check|--frobnicate=3", "--frobnicate");
    assert_refused("check|x|-z", "-z");
    assert_refused("--forma|json", "--forma");          /* no abbreviations */
    assert_refused("--formatx", "--formatx");
}

static void an_option_of_another_command_is_refused(void **state)
{
    (void)state;
    assert_refused("import|x|--format|json", "--format");
    assert_refused("check|x|--script|k", "--script");
    assert_refused("x|--dismiss", "--dismiss");
    assert_refused("check|x|-o|f", "-o");
    assert_refused("report|x|--fail-on|warn", "--fail-on");
    assert_refused("forget|x|--force", "--force");
}

static void a_missing_or_needless_value_is_refused(void **state)
{
    (void)state;
    assert_refused("check|x|--format", "--format");
    assert_refused("report|x|-o", "-o");
    assert_refused("--ascii=yes", "--ascii");
    assert_refused("--color|sometimes", "sometimes");
    assert_refused("--set|kind", "kind");
    assert_refused("--set|=dpo", "=dpo");
    assert_refused("memory|x|--gpu|large", "large");
    assert_refused("memory|x|--gpu=-5G", "-5G");
    assert_refused("memory|x|--gpu=0", "0");
    assert_refused("--set|gpu=24X", "gpu=24X");
    assert_int_equal(parse("memory|x|--gpu|A100-80GB"), 0);
    assert_int_equal(parse("memory|x|--set|gpu=16"), 0);
}

static void values_stand_behind_or_beside_their_option(void **state)
{
    (void)state;
    assert_int_equal(parse("check|a|--format|json|b|--only=x,y|--ascii"), 0);
    assert_string_equal(spoken.options.format, "json");
    assert_string_equal(spoken.options.only, "x,y");
    assert_true(spoken.options.ascii);
    assert_int_equal(spoken.options.n_paths, 2);
    assert_string_equal(spoken.options.paths[0], "a");
    assert_string_equal(spoken.options.paths[1], "b");

    assert_int_equal(parse("report|a|-o|out.md"), 0);
    assert_string_equal(spoken.options.output, "out.md");
    assert_int_equal(parse("report|a|-oout.md"), 0);
    assert_string_equal(spoken.options.output, "out.md");
    assert_int_equal(parse("report|a|--output=out=1.md"), 0);
    assert_string_equal(spoken.options.output, "out=1.md");
    assert_int_equal(parse("report|a|--output="), 0);
    assert_string_equal(spoken.options.output, "");
    assert_int_equal(parse("report|-|-o|-"), 0);
    assert_string_equal(spoken.options.output, "-");
    assert_string_equal(spoken.options.paths[0], "-");
}

static void the_last_value_counts(void **state)
{
    (void)state;
    assert_int_equal(parse("check|x|--format|md|--format|tsv|--color|never|--color=always"), 0);
    assert_string_equal(spoken.options.format, "tsv");
    assert_int_equal(spoken.options.color, 1);
    assert_int_equal(parse("--color=never"), 0);
    assert_int_equal(spoken.options.color, -1);
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    assert_int_equal(parse("check|--ascii|--|--format|-x|--help|--"), 0);
    assert_true(spoken.options.ascii);
    assert_null(spoken.options.format);
    assert_int_equal(spoken.options.n_paths, 4);
    assert_string_equal(spoken.options.paths[0], "--format");
    assert_string_equal(spoken.options.paths[2], "--help");
    assert_string_equal(spoken.options.paths[3], "--");
    assert_string_equal(spoken.out, "");

    assert_int_equal(parse("--|check"), 0);             /* a folder of that name */
    assert_string_equal(spoken.options.command->name, "");
    assert_string_equal(spoken.options.paths[0], "check");
}

static void answers_keep_their_order_and_paths_with_signs_in_them(void **state)
{
    static const struct {
        const char *words, *name, *value;
    } cases[] = {
        {"--set|kind=dpo", "kind", "dpo"},
        {"--set=kind=dpo", "kind", "dpo"},
        {"--set|gpu=", "gpu", ""},
        {"--set|goal=a=b", "goal", "a=b"},
        {"--set|split:lr=2e-5/test.jsonl=test", "split:lr=2e-5/test.jsonl", "test"},
        {"--set|role:a=b/c=d/=served", "role:a=b/c=d/", "served"},
        {"--set|importer:x:y=z.log=console_log", "importer:x:y=z.log", "console_log"},
        {"--set|goal=reply as a:b=c", "goal", "reply as a:b=c"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(parse(cases[i].words), 0);
        assert_int_equal(spoken.options.n_answers, 1);
        assert_string_equal(spoken.options.answers[0].name, cases[i].name);
        assert_string_equal(spoken.options.answers[0].value, cases[i].value);
    }
    assert_int_equal(parse("check|x|--set|a=1|--set|b=2|--set|a=3"), 0);
    assert_int_equal(spoken.options.n_answers, 3);
    assert_string_equal(spoken.options.answers[1].name, "b");
    assert_string_equal(spoken.options.answers[2].value, "3");
}

static void completions_know_every_command_and_option(void **state)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    struct buf text;

    (void)state;
    buf_init(&text, 1u << 16);
    for (size_t i = 0; i < 3; i++) {
        buf_clear(&text);
        options_completions(&text, shells[i]);
        for (const struct command *c = options_commands() + 1; c->name; c++)
            assert_non_null(strstr(text.p, c->name));
        assert_non_null(strstr(text.p, "no-redact"));
        assert_non_null(strstr(text.p, "fail-on"));
        /* an odd number of quotes would break the user's shell */
        size_t n_quotes = 0;
        for (const char *p = text.p; *p; p++)
            n_quotes += *p == '\'';
        assert_int_equal(n_quotes % 2, 0);
    }
    buf_clear(&text);
    options_completions(&text, "csh");
    assert_int_equal(text.n, 0);
    buf_free(&text);
}

/* What bash offers for the words, separated by blanks, the last one being typed; '|' behind each. */
static void offered(const char *words, char *out, size_t size)
{
    char script[300], line[1000];
    struct buf text;
    FILE *pipe;
    size_t n;

    snprintf(script, sizeof script, "%s", tempdir_path(folder, "completion"));
    buf_init(&text, 1u << 16);
    options_completions(&text, "bash");
    tempdir_write_text(folder, "completion", text.p);
    buf_free(&text);
    snprintf(line, sizeof line,
             "cd '%s' && bash -uc '. \"$0\"; COMP_WORDS=(flatline \"$@\"); COMP_CWORD=$#; _flatline; "
             "printf \"%%s|\" \"${COMPREPLY[@]}\"' '%s' %s",
             folder, script, words);
    pipe = popen(line, "r");
    assert_non_null(pipe);
    n = fread(out, 1, size - 1, pipe);
    out[n] = '\0';
    assert_int_equal(pclose(pipe), 0);
}

static void completion_offers_what_fits_the_place(void **state)
{
    static const struct {
        const char *words, *offers;
    } cases[] = {
        {"che", "check|"},
        {"check --fo", "--format|"},            /* not --force, which is another command's */
        {"check --format ''", "text|md|json|tsv|"},
        {"check --format = j", "json|"},        /* as bash cuts --format=j */
        {"check --size ''", "|"},               /* nothing can be known */
        {"completions ''", "bash|zsh|fish|"},
        {"make lo", "longest-first|"},
        {"remark run --check nan-on", "nan-onset|"},
        {"check a", "a run|"},                  /* a name with a blank stays one */
        {"report -o a", "a run|"},
    };
    char offers[4096];

    (void)state;
    tempdir_write_text(folder, "a run", "");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        offered(cases[i].words, offers, sizeof offers);
        if (strcmp(offers, cases[i].offers) != 0)
            fail_msg("%s: %s, expected %s", cases[i].words, offers, cases[i].offers);
    }
}

static void the_written_page_is_in_the_program(void **state)
{
    struct options page = {.paths = (const char *const[]){"config"}, .n_paths = 1};
    int old = redirect(stdout, "out"), status = cli_manual(&page);

    (void)state;
    restore(stdout, old);
    assert_int_equal(status, 0);
    read_back("out", spoken.out, sizeof spoken.out);
    assert_non_null(strstr(spoken.out, ".TH FLATLINE\\-CONFIG 5 "));
    assert_non_null(strstr(spoken.out, "triage.db"));
}

static void the_manual_is_plain_roff_and_names_every_command_and_option(void **state)
{
    struct options page = {.paths = (const char *const[]){"flatline"}, .n_paths = 1};
    const struct option_row *rows;
    int old = redirect(stdout, "out"), status = cli_manual(&page);
    size_t n;

    (void)state;
    restore(stdout, old);
    assert_int_equal(status, 0);
    read_back("out", spoken.out, sizeof spoken.out);
    for (const char *p = spoken.out; *p; p++) {
        assert_true((unsigned char)*p < 0x80);
        assert_false(*p == '\n' && (p[1] == ' ' || p[1] == '\n'));
    }
    rows = options_table(&n);
    for (size_t i = 0; i < n; i++)
        assert_non_null(strstr(spoken.out, rows[i].argument ? rows[i].argument : ".B "));
    for (const struct command *c = options_commands() + 1; c->name; c++) {
        const char *dash = strchr(c->name, '-');
        char line[80];

        if (dash)               /* a dash that is typed, not a hyphen */
            snprintf(line, sizeof line, ".B flatline %.*s\\%s\n", (int)(dash - c->name), c->name, dash);
        else
            snprintf(line, sizeof line, ".B flatline %s\n", c->name);
        assert_non_null(strstr(spoken.out, line));
    }
    assert_non_null(strstr(spoken.out, "\\-o, \\-\\-output FILE\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(without_words_the_screen_opens_here, forget_all),
        cmocka_unit_test_teardown(the_first_word_names_the_command, forget_all),
        cmocka_unit_test_teardown(help_is_printed_whatever_else_stands_there, forget_all),
        cmocka_unit_test_teardown(help_names_every_command_and_a_commands_help_its_options_only,
                                  forget_all),
        cmocka_unit_test_teardown(no_line_of_help_is_wider_than_a_screen, forget_all),
        cmocka_unit_test_teardown(the_version_is_printed, forget_all),
        cmocka_unit_test_teardown(an_unknown_option_is_named, forget_all),
        cmocka_unit_test_teardown(an_option_of_another_command_is_refused, forget_all),
        cmocka_unit_test_teardown(a_missing_or_needless_value_is_refused, forget_all),
        cmocka_unit_test_teardown(values_stand_behind_or_beside_their_option, forget_all),
        cmocka_unit_test_teardown(the_last_value_counts, forget_all),
        cmocka_unit_test_teardown(two_dashes_end_the_options, forget_all),
        cmocka_unit_test_teardown(answers_keep_their_order_and_paths_with_signs_in_them, forget_all),
        cmocka_unit_test_teardown(completions_know_every_command_and_option, forget_all),
        cmocka_unit_test(completion_offers_what_fits_the_place),
        cmocka_unit_test(the_written_page_is_in_the_program),
        cmocka_unit_test(the_manual_is_plain_roff_and_names_every_command_and_option),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
