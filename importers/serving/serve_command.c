/* A file with the command that starts an inference server: a shell script, a systemd unit, a
 * Dockerfile. The words are taken apart here; what they mean is server_command.c. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/read/source.h"
#include "importers/peek.h"
#include "importers/serving/server_command.h"

#define FILE_BYTES    ((size_t)4 << 20)
#define SHELLS_MAX    4
#define MOST_SETTINGS 500       /* variables that are remembered */

enum form { FORM_SCRIPT, FORM_UNIT, FORM_DOCKERFILE, FORM_NONE };

static enum form form_of_name(const struct peek *peek)
{
    if (peek_name_ends(peek, ".service"))
        return FORM_UNIT;
    if (peek_name_is(peek, "dockerfile") || peek_name_starts(peek, "dockerfile.") ||
        peek_name_ends(peek, ".dockerfile") || peek_name_is(peek, "containerfile"))
        return FORM_DOCKERFILE;
    bool is_script = peek_name_ends(peek, ".sh") || peek_name_ends(peek, ".bash") ||
                     peek_name_ends(peek, ".zsh") || peek_name_ends(peek, ".slurm") ||
                     peek_name_ends(peek, ".sbatch") || peek_name_is(peek, "cmd.txt") ||
                     peek_name_is(peek, "command.txt") || peek_name_ends(peek, ".cmd") ||
                     peek_name_starts(peek, "procfile");
    return is_script || str_starts(peek->head, "#!") ? FORM_SCRIPT : FORM_NONE;
}

/* A script that trains too says more of the training. */
static bool trains(struct str head)
{
    static const char *const WORDS[] = {"torchrun", "accelerate launch", "llamafactory-cli train",
                                        "axolotl train", "swift sft", "trl sft", "trl dpo",
                                        "deepspeed ", "--learning_rate", "--output_dir"};

    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (str_find(head, WORDS[i]) >= 0)
            return true;
    return false;
}

static int probe(const struct peek *peek)
{
    enum form form = form_of_name(peek);

    if (form == FORM_NONE || !server_is_named(peek->head))
        return 0;
    return trains(peek->head) ? 40 : 75;
}

/* ---- What is read of a file ---- */

struct variable {
    struct str name;
    const char *value;
    int64_t line;
};

struct reading {
    struct import *import;
    struct error *err;
    struct server_settings *settings;
    enum server server;
    struct variable *variables;
    size_t n_variables, capacity;
    int64_t n_commands, n_others;
    int depth;          /* of shells in shells */
    bool is_choosing;   /* the first pass only finds the command that is read */
    int64_t chosen;     /* the first with an adapter where several start servers; 0: the first */
};

static bool is_name(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!isalnum((unsigned char)text.p[i]) && text.p[i] != '_')
            return false;
    return text.n > 0 && !isdigit((unsigned char)text.p[0]);
}

/* NAME=value; false: another word. */
static bool take_variable(struct reading *r, const struct shell_word *word)
{
    const char *equals = strchr(word->text, '=');
    struct str name = str_from(word->text, equals ? (size_t)(equals - word->text) : 0);

    if (!equals || !is_name(name))
        return false;
    if (r->n_variables < MOST_SETTINGS) {
        struct variable *room = arena_room(r->import->arena, r->variables, r->n_variables,
                                           &r->capacity, sizeof *room);
        if (room) {
            r->variables = room;
            r->variables[r->n_variables++] = (struct variable){name, equals + 1, word->line};
        }
    }
    return true;
}

/* Assignments before a command, behind export, env and docker's -e. */
static void take_variables(struct reading *r, const struct shell_word *words, size_t n)
{
    bool is_before = true;

    for (size_t i = 0; i < n; i++) {
        const char *text = words[i].text;
        bool is_flag = strcmp(text, "-e") == 0 || strcmp(text, "--env") == 0;

        if (is_before && (strcmp(text, "export") == 0 || strcmp(text, "env") == 0))
            continue;
        if (is_flag && i + 1 < n) {
            (void)take_variable(r, &words[++i]);
            continue;
        }
        if (strncmp(text, "--env=", 6) == 0) {
            struct shell_word word = {text + 6, words[i].line, words[i].has_variable};

            (void)take_variable(r, &word);
            continue;
        }
        if (!is_before || !take_variable(r, &words[i]))
            is_before = false;
    }
}

static int take_command(struct reading *r, const struct server_command *command, int64_t line)
{
    bool is_other = r->settings ? command->server != r->server || r->server != SERVER_OLLAMA
                                : r->n_commands + 1 < r->chosen;
    int rc = OK;

    r->n_commands++;
    if (r->is_choosing) {
        if (r->chosen == 0 && server_command_adapts(command))
            r->chosen = r->n_commands;
        return OK;
    }
    if (is_other) {
        r->n_others++;
        return sink_note(r->import->sink, NOTE_INFO, line, NONE, r->err,
                         r->chosen ? "another server is started here, of the file the first one with "
                                     "an adapter was read"
                                   : "another server is started here, of the file the first one was "
                                     "read");
    }
    if (!r->settings)
        rc = server_settings_open(&r->settings, r->import, command->server, r->err);
    r->server = command->server;
    return rc == OK ? server_settings_command(r->settings, command, r->err) : rc;
}

static int read_script(struct reading *r, struct str text, int64_t line);

/* `bash -c "exec vllm serve …"`: what the inner shell reads; NULL: another command. It is shorter than
 * its own line, so that one in the other comes to an end. */
static const struct shell_word *inner_script(const struct shell_word *words, size_t n)
{
    const char *slash = strrchr(words[0].text, '/');
    const char *name = slash ? slash + 1 : words[0].text;
    bool is_shell = strcmp(name, "sh") == 0 || strcmp(name, "bash") == 0 || strcmp(name, "zsh") == 0 ||
                    strcmp(name, "dash") == 0;

    for (size_t i = 1; is_shell && i + 1 < n; i++)
        if (strcmp(words[i].text, "-c") == 0 || strcmp(words[i].text, "-lc") == 0)
            return &words[i + 1];
    return NULL;
}

static int take_words(struct reading *r, const struct shell_word *words, size_t n)
{
    const struct shell_word *inner = n ? inner_script(words, n) : NULL;
    struct server_command command;

    if (inner && r->depth < SHELLS_MAX) {
        r->depth++;
        int rc = read_script(r, str_of(inner->text), inner->line);
        r->depth--;
        return rc;
    }
    if (!r->is_choosing)
        take_variables(r, words, n);
    if (n == 0 || !server_command_find(words, n, &command))
        return OK;
    return take_command(r, &command, words[0].line);
}

/* ---- Forms ---- */

static int read_script(struct reading *r, struct str text, int64_t line)
{
    struct shell_reader reader = {.text = text, .line = line};
    struct shell_command command;
    int rc = OK;

    while (rc == OK && shell_next(&reader, r->import->arena, &command))
        rc = take_words(r, command.words, command.n);
    return rc;
}

/* The next line with those that a backslash joins to it, in the arena. */
static bool next_joined(struct str *rest, struct arena *arena, int64_t *line, struct str *out)
{
    struct buf text;
    struct str part;
    bool goes_on = true, has_any = false;

    buf_init(&text, FILE_BYTES);
    while (goes_on && str_split(rest, '\n', &part)) {
        has_any = true;
        ++*line;
        part = str_ends(part, "\r") ? str_first(part, part.n - 1) : part;
        goes_on = str_ends(part, "\\");
        buf_str(&text, goes_on ? str_first(part, part.n - 1) : part);
        if (goes_on)
            buf_putc(&text, ' ');
    }
    *out = arena_str(arena, buf_view(&text));
    buf_free(&text);
    return has_any;
}

static int read_unit(struct reading *r, struct str text)
{
    int64_t line = 0;
    struct str one;
    int rc = OK;

    while (rc == OK) {
        int64_t at = line + 1;

        if (!next_joined(&text, r->import->arena, &line, &one))
            break;
        one = str_trim(one);
        if (str_starts(one, "ExecStart=")) {
            one = str_trim(str_skip(one, 10));
            while (one.n && strchr("-@:+!", one.p[0]))
                one = str_skip(one, 1);
            rc = read_script(r, one, at);
        } else if (str_starts(one, "Environment=")) {
            rc = read_script(r, str_skip(one, 12), at);
        }
    }
    return rc;
}

/* ["a", "b"], or words as a shell reads them. */
static struct shell_command words_of(struct reading *r, struct str text, int64_t line)
{
    struct shell_command out = {0};
    const struct json *list = NULL;
    struct error ignored = {0};

    if (str_starts(text, "[") &&
        json_parse(text, false, r->import->arena, &list, NULL, &ignored) == OK) {
        struct shell_word *words = arena_array(r->import->arena, list->n + 1, sizeof *words);

        for (const struct json *item = words ? list->child : NULL; item; item = item->next)
            if (item->type == JSON_STRING)
                words[out.n++] = (struct shell_word){
                    arena_strndup(r->import->arena, item->text.p, item->text.n), line, false};
        out.words = words;
        return out;
    }
    struct shell_reader reader = {.text = text, .line = line};
    if (!shell_next(&reader, r->import->arena, &out))
        out = (struct shell_command){0};
    return out;
}

struct image {
    enum server server;
    struct shell_command entry, command;
    int64_t line;
};

static void take_instruction(struct reading *r, struct str one, int64_t at, struct image *image)
{
    struct str name = one, rest;
    size_t n = 0;

    while (n < one.n && !isspace((unsigned char)one.p[n]))
        n++;
    name = str_first(one, n);
    rest = str_trim(str_skip(one, n));
    if (str_is_ignoring_case(name, "FROM")) {
        *image = (struct image){
            .server = server_of_image(arena_strndup(r->import->arena, rest.p, rest.n)),
            .line = at};
    } else if (str_is_ignoring_case(name, "ENTRYPOINT")) {
        image->entry = words_of(r, rest, at);
        image->line = at;
    } else if (str_is_ignoring_case(name, "CMD")) {
        image->command = words_of(r, rest, at);
        image->line = at;
    } else if (str_is_ignoring_case(name, "ENV")) {
        struct shell_command words = words_of(r, rest, at);

        /* ENV NAME value, the old form */
        if (words.n == 2 && !strchr(words.words[0].text, '=')) {
            struct shell_word word = {
                arena_printf(r->import->arena, "%s=%s", words.words[0].text, words.words[1].text),
                at, false};
            (void)take_variable(r, &word);
            return;
        }
        for (size_t i = 0; i < words.n; i++)
            (void)take_variable(r, &words.words[i]);
    }
}

static int read_dockerfile(struct reading *r, struct str text)
{
    struct image image = {0};
    int64_t line = 0;
    struct str one;

    for (;;) {
        int64_t at = line + 1;

        if (!next_joined(&text, r->import->arena, &line, &one))
            break;
        one = str_trim(one);
        if (one.n && one.p[0] != '#')
            take_instruction(r, one, at, &image);
    }
    size_t n = image.entry.n + image.command.n;
    struct shell_word *words = arena_array(r->import->arena, n + 1, sizeof *words);
    struct server_command command;
    if (!words)
        return OK;
    for (size_t i = 0; i < n; i++)
        words[i] = i < image.entry.n ? image.entry.words[i] : image.command.words[i - image.entry.n];
    if (server_command_find(words, n, &command))
        return take_command(r, &command, image.line);
    if (image.server == SERVER_NONE)
        return OK;
    command = (struct server_command){image.server, words, image.server == SERVER_OLLAMA ? 0 : n};
    return take_command(r, &command, image.line);
}

/* ---- The importer ---- */

static int finish(struct reading *r)
{
    int rc = OK;

    if (!r->settings)
        return sink_note(r->import->sink, NOTE_INFO, NONE, NONE, r->err,
                         "no command that starts a known server");
    for (size_t i = 0; i < r->n_variables && rc == OK; i++)
        rc = server_settings_variable(r->settings, r->variables[i].name, r->variables[i].value,
                                      r->variables[i].line, r->err);
    if (rc == OK)
        rc = server_put_others(r->import, r->n_others, r->err);
    return rc == OK ? server_settings_end(r->settings, r->err) : rc;
}

static int read_text(struct reading *r, enum form form, struct str text)
{
    return form == FORM_UNIT         ? read_unit(r, text)
           : form == FORM_DOCKERFILE ? read_dockerfile(r, text)
                                     : read_script(r, text, 1);
}

/* An image starts one server. */
static int read_chosen(struct reading *r, enum form form, struct str text)
{
    int rc = OK;

    r->is_choosing = form != FORM_DOCKERFILE;
    if (r->is_choosing)
        rc = read_text(r, form, text);
    r->is_choosing = false;
    r->n_commands = 0;
    return rc == OK ? read_text(r, form, text) : rc;
}

static int run(struct import *import, struct error *err)
{
    struct reading r = {.import = import, .err = err};
    const char *slash = strrchr(import->path, '/');
    struct peek peek = {.name = slash ? slash + 1 : import->path};
    struct error why = {0};
    char *text = NULL;
    size_t n = 0;
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "settings";
    if (rc != OK || is_odd)
        return rc;
    if (source_slurp(import->path, FILE_BYTES, &text, &n, &why) != OK)
        return import_note_error(import, &why, err);
    rc = read_chosen(&r, form_of_name(&peek), str_from(text, n));
    if (rc == OK)
        rc = finish(&r);
    if (rc == OK && arena_failed(import->arena)) {
        arena_reset(import->arena);
        rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                       "too many words, the rest of the file was not read");
    }
    server_settings_close(r.settings);
    free(text);
    return rc;
}

const struct importer importer_serve_command = {
    .id = "serve_command",
    .title = "a command that starts a server",
    .hint = "the script, unit or Dockerfile that starts vLLM, SGLang, TGI, llama.cpp or Ollama",
    .supplies = NEEDS_SERVING,
    .version = 1,
    .role = "served",
    .probe = probe,
    .run = run,
};
