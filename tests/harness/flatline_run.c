/* See flatline_run.h. */
#include "tests/harness/flatline_run.h"

#include <fcntl.h>
#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/unicode.h"
#include "core/read/json.h"
#include "tui/options.h"
#include "tui/tell.h"

#define MAX_WORDS         40
#define PROCESSOR_SECONDS 120
#define MEMORY_BYTES      ((rlim_t)1 << 30)

static void limit(int resource, rlim_t value)
{
    setrlimit(resource, &(struct rlimit){value, value});
}

static void set_environment(const char *home)
{
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("TERM", "dumb", 1);
    setenv("HOME", home ? home : "/dev/null", 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_CONFIG_HOME");
    setlocale(LC_CTYPE, "");
}

static void child(int argc, char **argv, const char *home)
{
    static struct options options;

    set_environment(home);
    limit(RLIMIT_CPU, PROCESSOR_SECONDS);
    limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__
    limit(RLIMIT_AS, MEMORY_BYTES);
#endif
    signal(SIGPIPE, SIG_IGN);
    int stop = options_parse(argc, argv, &options);
    int status = tell_end(stop ? stop - 1 : options.command->run(&options));

    fflush(stderr);
    _exit(status);
}

static char *read_back(FILE *file, size_t *n)
{
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    char *text = malloc((size_t)size + 1);

    assert_non_null(text);
    rewind(file);
    *n = fread(text, 1, (size_t)size, file);
    text[*n] = '\0';
    fclose(file);
    return text;
}

static int split(char *words, const char *folder, char **argv)
{
    int argc = 0;

    argv[argc++] = (char *)(uintptr_t)"flatline";
    while (words && *words && argc < MAX_WORDS) {
        char *blank = strchr(words, ' ');

        if (blank)
            *blank = '\0';
        argv[argc++] = strcmp(words, "@") == 0 ? (char *)(uintptr_t)folder : words;
        words = blank ? blank + 1 : NULL;
    }
    argv[argc] = NULL;
    return argc;
}

void flatline_run(const char *folder, const char *home, const char *words, flatline_setup *setup,
                  void *ctx, struct flatline_run *out)
{
    FILE *files[2] = {tmpfile(), tmpfile()};
    char *argv[MAX_WORDS + 1], *copy = strdup(words);
    int argc = split(copy, folder, argv), wait_status;

    assert_true(files[0] && files[1]);
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
        dup2(fileno(files[0]), STDOUT_FILENO);
        dup2(fileno(files[1]), STDERR_FILENO);
        if (setup)
            setup(ctx);
        child(argc, argv, home);
    }
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    out->status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
    out->out = read_back(files[0], &out->n_out);
    out->err = read_back(files[1], &out->n_err);
    free(copy);
}

void flatline_run_free(struct flatline_run *run)
{
    free(run->out);
    free(run->err);
}

static void is_harmless(const char *text, size_t n, const char *what)
{
    for (size_t i = 0; i < n;) {
        int32_t codepoint;
        size_t bytes = unicode_next(str_from(text + i, n - i), &codepoint);

        if (codepoint != '\n' && codepoint != '\t' && unicode_is_hostile(codepoint)) {
            size_t from = i > 60 ? i - 60 : 0;
            fail_msg("%s: byte %zu is 0x%02X, raw, after: %.*s", what, i, (unsigned char)text[i],
                     (int)(i - from), text + from);
        }
        i += bytes;
    }
}

void flatline_run_is_sound(const struct flatline_run *run, const char *what)
{
    if (run->status < 0 || run->status > 2)
        fail_msg("%s: status %d\n%s", what, run->status, run->err);
    if (run->status == 2 && run->n_err == 0)
        fail_msg("%s: status 2 without a word", what);
    is_harmless(run->out, run->n_out, what);
    is_harmless(run->err, run->n_err, what);
}

static void is_json(const struct flatline_run *run, const char *what)
{
    struct arena *arena = arena_open((size_t)1 << 30);
    const struct json *tree;
    struct error err = {0};

    if (run->n_out > 0 &&
        json_parse(str_from(run->out, run->n_out), false, arena, &tree, NULL, &err) != OK)
        fail_msg("%s: no JSON: %s", what, err.message);
    arena_close(arena);
}

char *flatline_run_all(const char *folder)
{
    static const char *const WORDS[] = {
        "check --no-cache --format json @", "check --no-cache @",
        "check --no-cache --format md @",   "check --no-cache --format tsv @",
        "report --no-cache --unicode @",    "import --no-cache @",
        "curves --no-cache @",              "memory --no-cache --gpu 24G @",
    };
    char *json = NULL;

    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        struct flatline_run run;

        flatline_run(folder, NULL, WORDS[i], NULL, NULL, &run);
        flatline_run_is_sound(&run, WORDS[i]);
        if (i == 0) {
            is_json(&run, WORDS[i]);
            json = strdup(run.out);
        }
        flatline_run_free(&run);
    }
    assert_non_null(json);
    return json;
}
