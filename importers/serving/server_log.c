/* What an inference server printed: the arguments it was started with, as it understood them, and the
 * messages of console_patterns.tsv that tell of prompts and adapters. A server trains nothing, so that
 * its log is no run, and its crash is none of the training's. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/check.h"
#include "core/read/repr.h"
#include "core/read/source.h"
#include "importers/peek.h"
#include "importers/run/console_events.h"
#include "importers/run/console_patterns.h"
#include "importers/run/console_split.h"
#include "importers/serving/server_command.h"
#include "importers/serving/server_prompts.h"

#define LINE_BYTES  ((size_t)1 << 20)
#define ARENA_BYTES ((size_t)64 << 20)
#define PATH_BYTES  1024

/* ---- Whose log ---- */

static const struct {
    const char *text;
    enum server server;
} MARKERS[] = {
    {"vLLM API server version", SERVER_VLLM},
    {"args: Namespace(", SERVER_VLLM},
    {"server_args=ServerArgs(", SERVER_SGLANG},
    {"text_generation_launcher: Args {", SERVER_TGI},
    {"text_generation_launcher", SERVER_TGI},
    {"msg=\"starting runner\"", SERVER_OLLAMA},
    {"msg=\"starting llama server\"", SERVER_OLLAMA},
    {"msg=\"starting ollama engine\"", SERVER_OLLAMA},
    {"source=routes.go", SERVER_OLLAMA},
    {"llama_model_loader: loaded meta data", SERVER_LLAMA_CPP},
    {"main: server is listening", SERVER_LLAMA_CPP},
    {"srv  load_model:", SERVER_LLAMA_CPP},
    {"srv    load_model:", SERVER_LLAMA_CPP},
};

static enum server server_of(struct str text)
{
    for (size_t i = 0; i < sizeof MARKERS / sizeof *MARKERS; i++)
        if (str_find(text, MARKERS[i].text) >= 0)
            return MARKERS[i].server;
    return SERVER_NONE;
}

/* A trainer may run vLLM inside of itself: then the log is the training's. */
static bool trains(struct str head)
{
    static const char *const WORDS[] = {"***** Running", "trainable params", "{'loss'", "'train_loss'",
                                        "'train_runtime'", "output_dir", "learning_rate",
                                        "| epoch"};

    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (str_find(head, WORDS[i]) >= 0)
            return true;
    return false;
}

static int probe(const struct peek *peek)
{
    static const char *const OTHERS[] = {".py",   ".sh",   ".md",  ".json", ".jsonl", ".yaml",
                                         ".yml",  ".html", ".cpp", ".h",    ".rs",    ".go",
                                         ".ipynb", ".service", ".toml", ".rst", ".gguf"};

    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (peek_name_ends(peek, OTHERS[i]))
            return 0;
    return server_of(peek->head) != SERVER_NONE && !trains(peek->head) ? 93 : 0;
}

/* ---- Reading ---- */

/* What goes on over several lines. */
enum block {
    BLOCK_NONE,
    BLOCK_ARGUMENTS,            /* TGI's, up to a brace alone */
    BLOCK_LLAMA_TEMPLATE,       /* up to ", example_format: '" */
    BLOCK_VLLM_TEMPLATE         /* up to the next line of the logger */
};

struct reading {
    struct import *import;
    struct error *err;
    struct arena *arena;                /* of one line */
    struct server_settings *settings;
    enum server server;
    struct console_patterns *patterns;
    struct console_events events;
    struct buf plain, block;            /* a line without colours; a form over several lines */
    enum block block_kind;
    int64_t block_line, block_last;     /* its first line, and the last one so far */
    int64_t context, slots;             /* llama.cpp: all slots together, and how many; NONE */
    int64_t slot_context, default_context;
    int64_t context_line;
    bool has_prompt;
};

/* ---- Events ---- */

/* Of the stages that a server's log can decide. */
static bool is_wanted(const struct console_pattern *pattern)
{
    static const char *const KINDS[] = {"double-bos",         "truncation-mismatch",
                                        "adapter-not-loaded", "template-mismatch",
                                        "wrong-adapter",      "merged-into-quantised",
                                        "multiple-adapters",  "padding-side",
                                        "eos-config-mismatch"};

    for (size_t k = 0; k < pattern->n_kinds; k++)
        for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
            if (strcmp(pattern->kinds[k], KINDS[i]) == 0)
                return true;
    return false;
}

static int say(struct reading *r, const struct console_pattern *pattern, struct str line,
               const struct regex_match *match, const struct console_piece *piece)
{
    struct console_said said = {.pattern = pattern->name,
                                .step = NONE,
                                .line = piece->line,
                                .byte = piece->byte,
                                .text = line};
    int rc = OK;

    for (int i = 1; i < match->n_groups && said.n_captures < EVENT_MAX_CAPTURES; i++)
        said.captures[said.n_captures++] = match->group[i];
    for (size_t k = 0; k < pattern->n_kinds && rc == OK; k++) {
        said.kind = pattern->kinds[k];
        rc = console_events_add(&r->events, &said, r->err);
    }
    return rc;
}

static int match_patterns(struct reading *r, struct str line, const struct console_piece *piece)
{
    struct console_set set = {0};
    int rc = OK;

    console_filter_line(r->patterns->filter, line, &set);
    for (size_t i = 0; set.any && i < r->patterns->n && rc == OK; i++) {
        struct console_pattern *pattern = &r->patterns->all[i];
        struct regex_match match;

        if (console_set_has(&set, i) && pattern->use == CONSOLE_EVENT && is_wanted(pattern) &&
            console_pattern_match(pattern, line, &match) == 1)
            rc = say(r, pattern, line, &match, piece);
    }
    return rc;
}

/* ---- Arguments ---- */

/* Of all options, most of them defaults, those are kept that say something. */
static int take_members(struct reading *r, const struct json *tree, int64_t line)
{
    int rc = OK;

    for (struct json *m = tree->child; m && rc == OK; m = m->next) {
        const char *name = arena_strndup(r->arena, m->key.p ? m->key.p : "", m->key.n);

        m->line = line;
        if (m->key.n == 0 || !(server_option_find(r->server, m->key) ||
                               strcmp(name, "model_tag") == 0))
            continue;
        bool is_empty = (m->type == JSON_STRING && m->text.n == 0) ||
                        (m->type == JSON_ARRAY && m->n == 0);
        if (!is_empty)
            rc = server_settings_member(r->settings, name, m, r->err);
    }
    return rc;
}

static int take_repr(struct reading *r, struct str text, int64_t line)
{
    const struct json *tree = NULL;
    struct error why = {0};
    size_t used;

    if (repr_parse(text, r->arena, &tree, &used, &why) != OK)
        return sink_note(r->import->sink, NOTE_INFO, line, NONE, r->err,
                         "the server's arguments could not be read: %s", why.message);
    return tree->type == JSON_OBJECT ? take_members(r, tree, line) : OK;
}

static struct str behind(struct str line, const char *mark)
{
    ptrdiff_t at = str_find(line, mark);

    return at < 0 ? (struct str){NULL, 0} : str_skip(line, (size_t)at + strlen(mark));
}

static struct str until(struct str text, const char *end)
{
    ptrdiff_t at = str_find(text, end);

    return at < 0 ? (struct str){NULL, 0} : str_first(text, (size_t)at);
}

static int put_template(struct reading *r, struct str text)
{
    struct json value = {.type = JSON_STRING, .text = str_trim(text), .line = r->block_line};

    return value.text.n ? server_settings_member(r->settings, "chat_template", &value, r->err) : OK;
}

/* vLLM's processes put their name before every line: "(APIServer pid=7) ". */
static struct str without_process(struct str line)
{
    ptrdiff_t end = str_starts(line, "(") ? str_find(line, ") ") : -1;

    return end > 0 && str_find(str_first(line, (size_t)end), " pid=") > 0
               ? str_skip(line, (size_t)end + 2)
               : line;
}

static bool begins_a_record(struct str line)
{
    static const char *const LEVELS[] = {"INFO ", "WARNING ", "ERROR ", "DEBUG ", "INFO:", "WARNING:"};

    for (size_t i = 0; i < sizeof LEVELS / sizeof *LEVELS; i++)
        if (str_starts(line, LEVELS[i]))
            return true;
    return false;
}

static void begin_block(struct reading *r, enum block kind, int64_t line, struct str first)
{
    r->block_kind = kind;
    r->block_line = r->block_last = line;
    buf_clear(&r->block);
    buf_str(&r->block, first);
}

static int end_block(struct reading *r, enum block kind, struct str text)
{
    r->block_kind = BLOCK_NONE;
    return kind == BLOCK_ARGUMENTS ? take_repr(r, text, r->block_line) : put_template(r, text);
}

static bool is_end_of_block(const struct reading *r, struct str line, size_t *keeps)
{
    ptrdiff_t at;

    *keeps = 0;
    switch (r->block_kind) {
    case BLOCK_ARGUMENTS:
        *keeps = line.n;
        return str_is(str_trim(line), "}") && line.p[0] == '}';
    case BLOCK_LLAMA_TEMPLATE:
        at = str_find(line, ", example_format: '");
        *keeps = at > 0 ? (size_t)at : 0;
        return at >= 0;
    case BLOCK_VLLM_TEMPLATE:
        return begins_a_record(line);
    case BLOCK_NONE:
        break;
    }
    return true;
}

/* Empty lines are not told one by one: the numbers of the lines tell how many there were. *is_over: the
 * line stands behind the block and says something of its own. */
static int take_block(struct reading *r, struct str line, int64_t number, bool *is_over)
{
    enum block kind = r->block_kind;
    size_t keeps = 0;

    if (kind == BLOCK_VLLM_TEMPLATE)
        line = without_process(line);
    bool is_end = is_end_of_block(r, line, &keeps);
    *is_over = is_end && kind == BLOCK_VLLM_TEMPLATE;
    if (!is_end || keeps > 0)
        buf_repeat(&r->block, '\n', number > r->block_last ? (size_t)(number - r->block_last) : 1);
    r->block_last = number;
    buf_str(&r->block, is_end ? str_first(line, keeps) : line);
    if (r->block.n > LINE_BYTES)
        r->block_kind = BLOCK_NONE;     /* no such block: its end was never printed */
    return is_end && r->block_kind != BLOCK_NONE ? end_block(r, kind, buf_view(&r->block)) : OK;
}

static int take_arguments(struct reading *r, struct str line, int64_t number)
{
    struct str rest = behind(line, "args: Namespace");

    if (!rest.p)
        rest = behind(line, "non-default args: ");
    if (!rest.p && r->server == SERVER_SGLANG)
        rest = behind(line, "server_args=ServerArgs");
    if (rest.p)
        return take_repr(r, rest, number);
    rest = r->server == SERVER_TGI ? behind(line, "Args {") : rest;
    if (!rest.p)
        return OK;
    if (str_find(rest, "}") >= 0)       /* all on one line */
        return take_repr(r, str_from(rest.p - 1, rest.n + 1), number);
    begin_block(r, BLOCK_ARGUMENTS, number, str_of("{"));
    return OK;
}

/* ---- llama.cpp ---- */

static bool number_behind(struct str line, const char *mark, int64_t *out)
{
    struct str rest = behind(line, mark);
    size_t n = 0;

    while (rest.n && (isspace((unsigned char)rest.p[0]) || rest.p[0] == '='))
        rest = str_skip(rest, 1);
    while (n < rest.n && isdigit((unsigned char)rest.p[n]))
        n++;
    return n > 0 && number_parse_int(str_first(rest, n), out);
}

static int put_text(struct reading *r, const char *name, struct str text, int64_t line)
{
    struct json value = {.type = JSON_STRING, .text = text, .line = line};

    return text.n && text.n < PATH_BYTES ? server_settings_member(r->settings, name, &value, r->err)
                                         : OK;
}

/* The template that the server says it uses, on one line or many. */
static int begin_template(struct reading *r, struct str line, int64_t number)
{
    struct str llama = behind(line, "chat template, chat_template: ");
    struct str vllm = behind(line, "Using supplied chat template:");

    if (llama.p && str_find(llama, ", example_format: '") >= 0) {
        r->block_line = number;
        return put_template(r, until(llama, ", example_format: '"));
    }
    if (llama.p)
        begin_block(r, BLOCK_LLAMA_TEMPLATE, number, llama);
    if (vllm.p && r->server == SERVER_VLLM)
        begin_block(r, BLOCK_VLLM_TEMPLATE, number, str_trim(vllm));
    return OK;
}

/* The window that the engine made of the model's own: vLLM's max_seq_len, SGLang's context_len. */
static int take_window(struct reading *r, struct str line, int64_t number)
{
    int64_t n;

    if ((r->server == SERVER_VLLM && str_find(line, "engine") >= 0 &&
         number_behind(line, "max_seq_len=", &n)) ||
        (r->server == SERVER_SGLANG && str_find(line, "max_total_num_tokens=") >= 0 &&
         number_behind(line, "context_len=", &n))) {
        r->context = n;
        r->context_line = number;
    }
    return OK;
}

static int take_llama(struct reading *r, struct str line, int64_t number)
{
    struct str loaded = behind(line, "llama_model_loader: loaded meta data with ");
    struct str adapter = behind(line, "loading lora adapter from '");
    int64_t n;
    int rc = OK;

    if (number_behind(line, "n_ctx_slot", &n))
        r->slot_context = n;
    bool is_context = str_find(line, "llama_context: n_ctx ") >= 0 ||
                      str_find(line, "llama_new_context_with_model: n_ctx ") >= 0;
    if (is_context && number_behind(line, ": n_ctx", &n)) {
        r->context = n;
        r->context_line = number;
    }
    if (str_find(line, "llama_context: n_seq_max") >= 0 && number_behind(line, "n_seq_max", &n))
        r->slots = n;
    if (loaded.p && r->server == SERVER_LLAMA_CPP)
        rc = put_text(r, "model", until(behind(loaded, " from "), " (version"), number);
    if (rc == OK && adapter.p)
        rc = put_text(r, "lora", until(adapter, "'"), number);
    return rc;
}

/* ---- Ollama ---- */

/* A model of Ollama lies under the SHA-256 of its GGUF file. */
static int put_blob(struct reading *r, const char *path, int64_t line)
{
    struct str hash = behind(str_of(path), "sha256-");

    if (hash.n != 64)
        return OK;
    for (size_t i = 0; i < hash.n; i++)
        if (!isxdigit((unsigned char)hash.p[i]))
            return OK;
    return import_setting(r->import, SIDE_SERVE, "sha256", hash.p, VALUE_TEXT, line, r->err);
}

static int take_runner(struct reading *r, struct str command, int64_t line)
{
    struct shell_reader reader = {.text = command, .line = line};
    struct shell_command words;
    int rc = OK;

    if (!shell_next(&reader, r->arena, &words))
        return OK;
    for (size_t i = 0; i + 1 < words.n && rc == OK; i++) {
        const char *name = words.words[i].text, *value = words.words[i + 1].text;
        int64_t n;

        if (strcmp(name, "--model") == 0) {
            rc = put_blob(r, value, line);
        } else if (strcmp(name, "--lora") == 0) {
            struct json path = {.type = JSON_STRING, .text = str_of(value), .line = line};

            rc = server_settings_member(r->settings, "lora", &path, r->err);
        } else if (strcmp(name, "--ctx-size") == 0 && number_parse_int(str_of(value), &n)) {
            r->context = n;
            r->context_line = line;
        } else if (strcmp(name, "--parallel") == 0 && number_parse_int(str_of(value), &n)) {
            r->slots = n;
        }
    }
    return rc;
}

static int take_ollama(struct reading *r, struct str line, int64_t number)
{
    bool starts = str_find(line, "msg=\"starting ") >= 0;
    struct str command = behind(line, "cmd=\"");
    int64_t n;

    if (number_behind(line, "OLLAMA_CONTEXT_LENGTH:", &n))
        r->default_context = n;
    return starts && command.p ? take_runner(r, until(command, "\""), number) : OK;
}

/* ---- Lines ---- */

static int take_line(struct reading *r, const struct console_piece *piece)
{
    struct str line = piece->text;
    int rc;

    if (piece->has_escape) {
        buf_clear(&r->plain);
        console_strip(&r->plain, line);
        line = buf_view(&r->plain);
    }
    if (r->block_kind != BLOCK_NONE) {
        bool is_over = false;

        rc = take_block(r, line, piece->line, &is_over);
        if (rc != OK || !is_over)
            return rc;
    }
    rc = match_patterns(r, line, piece);
    if (rc == OK)
        rc = take_arguments(r, line, piece->line);
    if (rc == OK)
        rc = begin_template(r, line, piece->line);
    if (rc == OK)
        rc = take_window(r, line, piece->line);
    if (rc == OK && r->server == SERVER_VLLM)
        rc = server_prompt_take(r->import, r->arena, line, piece->line, &r->has_prompt, r->err);
    if (rc == OK && (r->server == SERVER_LLAMA_CPP || r->server == SERVER_OLLAMA))
        rc = take_llama(r, line, piece->line);
    if (rc == OK && r->server == SERVER_OLLAMA)
        rc = take_ollama(r, line, piece->line);
    return rc;
}

static int read_lines(struct reading *r, struct source_file *file, struct error *why)
{
    struct console_split split;
    struct console_piece piece;
    int64_t n = 0;
    int rc = 0;

    console_split_open(&split, file);
    while (rc == OK && (rc = console_split_next(&split, &piece, why)) == 1) {
        arena_reset(r->arena);
        rc = n++ % 256 == 0 && import_is_cancelled(r->import)
                 ? error_set(why, E_CANCELLED, "cancelled")
                 : take_line(r, &piece);
    }
    console_split_close(&split);
    return rc;
}

/* ---- The end ---- */

/* The window of one conversation: slots share the context. */
static int put_context(struct reading *r)
{
    int64_t n = r->slot_context;
    char text[24];

    if (n == NONE && r->context != NONE)
        n = r->slots > 1 ? r->context / r->slots : r->context;
    if (n == NONE && r->default_context > 0)
        n = r->default_context;
    if (n == NONE)
        return OK;
    snprintf(text, sizeof text, "%lld", (long long)n);
    return import_setting(r->import, SIDE_SERVE, "n_ctx", text, VALUE_INT, r->context_line, r->err);
}

static int read_all(struct reading *r, struct source_file *file)
{
    struct error why = {0};
    int rc = console_patterns_open(&r->patterns, r->err);

    if (rc == OK)
        rc = console_events_open(&r->events, r->import->sink, r->err);
    if (rc == OK)
        rc = server_settings_open(&r->settings, r->import, r->server, r->err);
    if (rc != OK)
        return rc;
    rc = read_lines(r, file, &why);
    if (why.status != OK)
        rc = import_note_error(r->import, &why, r->err);
    if (rc == OK)
        rc = console_events_finish(&r->events, r->err);
    if (rc == OK)
        rc = put_context(r);
    return rc == OK ? server_settings_end(r->settings, r->err) : rc;
}

static enum server server_of_file(struct source_file *file, struct error *why, int *rc)
{
    char *head = malloc(PEEK_HEAD_BYTES);
    enum server server = SERVER_NONE;
    size_t n = 0;

    *rc = head ? source_at(file, 0, head, PEEK_HEAD_BYTES, &n, why)
               : error_set(why, E_NOMEM, "the head of a log");
    if (*rc == OK)
        server = server_of(str_from(head, n));
    free(head);
    return server;
}

static int run(struct import *import, struct error *err)
{
    struct reading r = {.import = import, .err = err, .context = NONE, .slots = NONE,
                        .slot_context = NONE, .default_context = NONE, .context_line = NONE};
    struct source_file *file = NULL;
    struct error why = {0};
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "settings";
    if (rc != OK || is_odd)
        return rc;
    if (source_open(&file, import->path, &why) != OK)
        return import_note_error(import, &why, err);
    r.server = server_of_file(file, &why, &rc);
    r.arena = arena_open(ARENA_BYTES);
    buf_init(&r.plain, 2 * LINE_BYTES);
    buf_init(&r.block, 4 * LINE_BYTES);
    if (rc != OK)
        rc = import_note_error(import, &why, err);
    else if (!r.arena)
        rc = error_set(err, E_NOMEM, "reading a server's log");
    else
        rc = read_all(&r, file);
    server_settings_close(r.settings);
    console_events_close(&r.events);
    console_patterns_close(r.patterns);
    buf_free(&r.plain);
    buf_free(&r.block);
    arena_close(r.arena);
    source_close(file);
    return rc;
}

const struct importer importer_server_log = {
    .id = "server_log",
    .title = "the log of an inference server",
    .hint = "what vLLM, SGLang, TGI, llama.cpp or Ollama printed when it started",
    .supplies = NEEDS_SERVING,
    .version = 2,
    .role = "served",
    .probe = probe,
    .run = run,
};
