/* `flatline render`: a chat template on a conversation (CLI.md). With --batch a JSON object a line
 * is answered by one; without, the text of one context. The time stands still: --now, else
 * SOURCE_DATE_EPOCH, else the clock's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/unicode.h"
#include "core/read/source.h"
#include "core/text/template_lint.h"
#include "tui/cli.h"
#include "tui/cli_render_ollama.h"
#include "tui/tell.h"

#define CONTEXT_BYTES ((size_t)256 << 20)

/* What one line after the other needs; memory is used again. */
struct rendering {
    struct chat_template_set set;
    struct ollama_source ollama;
    bool is_ollama;
    struct chat_template *by_name[2]; /* without tools, with tools */
    const struct named_template *named[2];
    struct arena *templates, *arena;
    struct jinja_settings settings;
    struct jinja_output output;
    struct jinja_failure failure;
    struct buf answer;
    struct error err;
};

/* ---- time ---- */

static bool parse_now(const char *text, int64_t *out)
{
    struct tm tm = {0};
    char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

    if (!end) {
        tm = (struct tm){0};
        end = strptime(text, "%Y-%m-%d", &tm);
    }
    if (!end || *end)
        return false;
    *out = timegm(&tm);
    return true;
}

static bool set_time(struct rendering *r, const struct options *options)
{
    time_t now = (time_t)clock_now();
    struct tm local;

    r->settings.now = now;
    if (options->now) {
        if (parse_now(options->now, &r->settings.now))
            return true;
        tell("--now %s: expected a time such as 2026-01-15T00:00:00", options->now);
        return false;
    }
    if (!getenv("SOURCE_DATE_EPOCH") && localtime_r(&now, &local))
        r->settings.utc_offset = local.tm_gmtoff;
    return true;
}

/* ---- one render ---- */

static int open_template(struct rendering *r, bool has_tools, struct chat_template **out)
{
    const struct named_template *chosen = chat_template_choose(&r->set, has_tools);
    int rc;

    if (!chosen)
        return error_set(&r->err, E_NOTFOUND,
                         "several templates and none is called default: none can be chosen");
    if (!r->by_name[has_tools] || r->named[has_tools] != chosen) {
        rc = chat_template_open(&r->by_name[has_tools], chosen->text, &r->failure, &r->err);
        if (rc != OK)
            return rc;
        r->named[has_tools] = chosen;
    }
    *out = r->by_name[has_tools];
    return OK;
}

static bool is_true(const struct json *value)
{
    return json_is(value, JSON_TRUE);
}

/* The keys of a line of --batch. */
static int render_object(struct rendering *r, const struct json *question)
{
    const struct json *tools = json_get(question, "tools");
    bool has_tools = tools && tools->type != JSON_NULL;
    struct chat_template *chat_template = NULL;
    struct chat_request request = {
        .messages = json_get(question, "messages"),
        .tools = tools,
        .documents = json_get(question, "documents"),
        .kwargs = json_get(question, "kwargs"),
        .special_tokens = json_get(question, "special_tokens"),
        .add_generation_prompt = is_true(json_get(question, "add_generation_prompt")),
        .continue_final_message = is_true(json_get(question, "continue_final_message")),
    };
    int rc;

    if (r->is_ollama)
        return ollama_source_render(&r->ollama, question, &r->settings, r->arena, &r->output.text,
                                    &r->failure, &r->err);
    rc = open_template(r, has_tools, &chat_template);
    if (rc != OK)
        return rc;
    return chat_template_render(chat_template, &request, &r->settings, r->arena, &r->output,
                                &r->failure, &r->err);
}

static int render_line(struct rendering *r, struct str line)
{
    const struct json *question = NULL;
    int rc;

    arena_reset(r->arena);
    r->failure = (struct jinja_failure){.kind = JINJA_RUNTIME};
    rc = json_parse_exact(line, r->arena, &question, &r->err);
    if (rc == OK && question->type != JSON_OBJECT)
        rc = error_set(&r->err, E_PARSE, "expected an object");
    return rc == OK ? render_object(r, question) : rc;
}

/* ---- answers ---- */

/* A text exactly: lone surrogates and what is not UTF-8 as \u escapes, the rest as it is. */
static void put_text(struct buf *out, struct str s)
{
    buf_putc(out, '"');
    while (s.n) {
        size_t n = 0, used;
        int32_t codepoint;

        while (n < s.n && (unsigned char)s.p[n] >= 0x20 && (unsigned char)s.p[n] < 0x7F &&
               s.p[n] != '"' && s.p[n] != '\\')
            n++;
        buf_add(out, s.p, n);
        s = str_skip(s, n);
        if (s.n == 0)
            break;
        used = unicode_next(s, &codepoint);
        if (codepoint < 0 && s.n >= 3 && (unsigned char)s.p[0] == 0xED &&
            ((unsigned char)s.p[1] & 0xE0) == 0xA0 && ((unsigned char)s.p[2] & 0xC0) == 0x80) {
            codepoint = 0xD000 | (s.p[1] & 0x3F) << 6 | (s.p[2] & 0x3F);
            buf_printf(out, "\\u%04x", (unsigned)codepoint);
            used = 3;
        } else if (codepoint < 0) {
            buf_puts(out, "\\ufffd");
        } else if (codepoint == '"' || codepoint == '\\') {
            buf_putc(out, '\\');
            buf_putc(out, (char)codepoint);
        } else if (codepoint == '\n') {
            buf_puts(out, "\\n");
        } else if (unicode_is_hostile(codepoint) && codepoint < 0x10000) {
            buf_printf(out, "\\u%04x", (unsigned)codepoint);
        } else {
            buf_add(out, s.p, used);
        }
        s = str_skip(s, used);
    }
    buf_putc(out, '"');
}

static void put_failure(struct rendering *r, int rc)
{
    buf_clear(&r->answer);
    buf_puts(&r->answer, "{\"error\": ");
    put_text(&r->answer, str_of(r->failure.message[0] ? r->failure.message : r->err.message));
    buf_printf(&r->answer, ", \"kind\": \"%s\"",
               rc == E_LIMIT && !r->failure.message[0] ? "limit"
                                                       : jinja_fault_name(r->failure.kind));
    if (r->failure.line > 0)
        buf_printf(&r->answer, ", \"line\": %d", r->failure.line);
    buf_puts(&r->answer, "}\n");
}

static void put_answer(struct rendering *r)
{
    buf_clear(&r->answer);
    buf_puts(&r->answer, "{\"text\": ");
    put_text(&r->answer, buf_view(&r->output.text));
    buf_puts(&r->answer, ", \"generation\": [");
    for (size_t i = 0; i < r->output.n_generation; i++)
        buf_printf(&r->answer, "%s[%zu, %zu]", i ? ", " : "", r->output.generation[i].begin,
                   r->output.generation[i].end);
    buf_puts(&r->answer, "]}\n");
}

static int batch(struct rendering *r)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;

    while ((n = getline(&line, &capacity, stdin)) > 0) {
        struct str text = str_from(line, (size_t)n);
        int rc;

        if (str_trim(text).n == 0)
            continue;
        rc = render_line(r, text);
        if (rc == OK)
            put_answer(r);
        else
            put_failure(r, rc);
        fwrite(r->answer.p, 1, r->answer.n, stdout);
    }
    free(line);
    return 0;
}

/* ---- one context ---- */

/* Where the template's line is in its file: only a .jinja file's lines are the template's. */
static void complain(const struct rendering *r)
{
    const struct named_template *named = r->set.n ? &r->set.items[0] : NULL;
    bool is_own_file = named && (str_ends(str_of(named->path), ".jinja") ||
                                 str_ends(str_of(named->path), ".gotmpl"));

    if (!r->failure.message[0] || !named)
        cli_complain(&r->err);
    else if (r->failure.line > 0 && is_own_file)
        tell("%s:%d: %s (%s)", named->path, r->failure.line, r->failure.message,
             jinja_fault_name(r->failure.kind));
    else
        tell("%s: line %d of the template: %s (%s)", named->path, r->failure.line,
             r->failure.message, jinja_fault_name(r->failure.kind));
}

static int read_context(struct rendering *r, const char *path, char **text, size_t *n)
{
    if (strcmp(path, "-") != 0)
        return source_slurp(path, CONTEXT_BYTES, text, n, &r->err);

    size_t capacity = 0;
    ssize_t length = getdelim(text, &capacity, EOF, stdin);

    *n = length > 0 ? (size_t)length : 0;
    return OK;
}

/* Without a context: what the template makes of a small conversation; some refuse a system turn. */
static int render_sample(struct rendering *r)
{
    static const char SYSTEM[] = "{\"role\": \"system\", \"content\": \"Answer in one word.\"}, ";
    static const char TURNS[] = "{\"role\": \"user\", \"content\": \"The capital of Peru?\"}, "
                                "{\"role\": \"assistant\", \"content\": \"Lima\"}, "
                                "{\"role\": \"user\", \"content\": \"And of Chile?\"}";
    int rc = OK;

    for (int with_system = 1; with_system >= 0; with_system--) {
        char text[512];

        snprintf(text, sizeof text, "{\"messages\": [%s%s], \"add_generation_prompt\": true}",
                 with_system ? SYSTEM : "", TURNS);
        rc = render_line(r, str_of(text));
        if (rc == OK || !r->failure.message[0])
            break;
    }
    if (rc == OK)
        tell("a conversation of flatline's own; --context FILE renders yours");
    return rc;
}

static int one(struct rendering *r, const char *path)
{
    char *text = NULL;
    size_t n = 0;
    int rc = path ? read_context(r, path, &text, &n) : render_sample(r);

    if (rc == OK && path)
        rc = render_line(r, str_from(text, n));
    if (rc == OK)
        fwrite(r->output.text.p ? r->output.text.p : "", 1, r->output.text.n, stdout);
    else if (r->failure.message[0] || !path)
        complain(r);
    else {
        error_at(&r->err, path, r->err.line, r->err.byte);
        cli_complain(&r->err);
    }
    free(text);
    return rc == OK ? 0 : 2;
}

/* ---- lint ---- */

/* The special tokens that stand beside the template, or NULL. */
static const struct json *tokens_beside(struct rendering *r, const char *path)
{
    struct str folder = str_of(path);
    const struct json *tokens = NULL;

    if (str_ends(folder, ".gguf"))
        folder = str_of(path);          /* it brings its tokens itself */
    while (folder.n && folder.p[folder.n - 1] != '/' && !str_ends(folder, ".gguf"))
        folder.n--;
    if (chat_special_tokens(folder.n ? arena_strndup(r->templates, folder.p, folder.n) : ".", r->templates,
                            &tokens, &r->err) != OK)
        return NULL;
    return tokens && tokens->n ? tokens : NULL;
}

static int lint(struct rendering *r)
{
    static const char *const words[] = {
        [LINT_OK] = "ok", [LINT_FAILS] = "FAIL", [LINT_NOTE] = "note", [LINT_NOT_APPLICABLE] = "n/a"};
    bool fails = false;

    for (size_t i = 0; i < r->set.n; i++) {
        const struct named_template *named = &r->set.items[i];
        struct lint found;

        if (template_lint(named->text, tokens_beside(r, named->path), r->arena, &found, &r->err) != OK) {
            cli_complain(&r->err);
            return 2;
        }
        if (r->set.n > 1) {
            buf_clear(&r->answer);
            unicode_visible(&r->answer, str_of(named->name), false);
            printf("%s%s\n", i ? "\n" : "", r->answer.p);
        }
        for (size_t k = 0; k < N_LINT_PROPERTIES; k++)
            printf("%-4s  %-18s%s%s%s\n", words[found.lines[k].verdict], found.lines[k].name,
                   found.lines[k].shape ? found.lines[k].shape : "", found.lines[k].shape ? ": " : "",
                   found.lines[k].text);
        fails |= found.fails;
        arena_reset(r->arena);
    }
    return fails ? 1 : 0;
}

static int run_ollama(struct rendering *r, const struct options *options)
{
    if (ollama_source_read(options->paths[0], r->templates, &r->ollama, &r->err) != OK) {
        cli_complain(&r->err);
        return 2;
    }
    if (options->lint) {
        tell("--lint: %s is no Jinja template", options->paths[0]);
        return 2;
    }
    r->is_ollama = true;
    r->set = (struct chat_template_set){1, &r->ollama.named};
    buf_init(&r->output.text, JINJA_OUTPUT_BYTES);
    return options->batch ? batch(r) : one(r, options->context);
}

static int run(struct rendering *r, const struct options *options)
{
    if (ollama_source_is(options->paths[0]))
        return run_ollama(r, options);
    if (chat_template_find(options->paths[0], r->templates, &r->set, &r->err) != OK) {
        cli_complain(&r->err);
        return 2;
    }
    if (options->lint)
        return lint(r);
    return options->batch ? batch(r) : one(r, options->context);
}

int cli_render(const struct options *options)
{
    struct rendering r = {.templates = arena_open(CONTEXT_BYTES),
                          .arena = arena_open(CONTEXT_BYTES)};
    int status = 2;

    buf_init(&r.answer, CONTEXT_BYTES);
    if (options->n_paths != 1)
        tell("render: expected one TEMPLATE, found %zu", options->n_paths);
    else if (!r.templates || !r.arena)
        tell("render: no memory");
    else if (set_time(&r, options))
        status = run(&r, options);
    chat_template_close(r.by_name[0]);
    chat_template_close(r.by_name[1]);
    jinja_output_free(&r.output);
    buf_free(&r.answer);
    arena_close(r.arena);
    arena_close(r.templates);
    return tell_end(status);
}
