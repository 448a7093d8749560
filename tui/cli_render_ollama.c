/* See cli_render_ollama.h. */
#include "tui/cli_render_ollama.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/source.h"
#include "core/text/go/modelfile.h"
#include "core/text/go/ollama_prompt.h"

static struct str last_component(const char *path)
{
    const char *slash = strrchr(path, '/');

    return str_of(slash ? slash + 1 : path);
}

static bool is_modelfile(struct str name)
{
    return str_is_ignoring_case(str_first(name, 9), "modelfile")
               ? name.n == 9 || strchr(".-_", name.p[9])
               : name.n > 10 && str_is_ignoring_case(str_skip(name, name.n - 10), ".modelfile");
}

bool ollama_source_is(const char *path)
{
    struct str name = last_component(path);

    return is_modelfile(name) || str_ends(name, ".gotmpl");
}

/* MESSAGE turns as the messages of a request. */
static int read_examples(const struct modelfile *file, struct arena *arena,
                         struct ollama_source *out, struct error *err)
{
    struct buf text;
    size_t n = 0;
    int rc = OK;

    buf_init(&text, MODELFILE_BYTES * 2);
    buf_putc(&text, '[');
    for (size_t i = 0; i < file->n; i++) {
        if (strcmp(file->items[i].name, "message") != 0)
            continue;
        buf_printf(&text, "%s{\"role\": \"%s\", \"content\": ", n++ ? ", " : "", file->items[i].key);
        json_write_string(&text, file->items[i].value);
        buf_putc(&text, '}');
    }
    buf_putc(&text, ']');
    if (n > 0)
        rc = json_parse_exact(arena_str(arena, buf_view(&text)), arena, &out->examples, err);
    buf_free(&text);
    return rc;
}

static int take_modelfile(struct str text, struct arena *arena, struct ollama_source *out,
                          struct error *err)
{
    const struct modelfile_instruction *found;
    struct modelfile file;
    int rc = modelfile_read(text, arena, &file, err);

    if (rc != OK)
        return rc;
    if (file.n_complaints > 0) {
        error_set(err, E_PARSE, "%s", file.complaints[0].message);
        error_at(err, NULL, file.complaints[0].line, NONE);
        return E_PARSE;
    }
    found = modelfile_last(&file, "renderer");
    if (found)
        return error_set(err, E_UNSUPPORTED,
                         "RENDERER %s: Ollama builds the prompt itself, not by a TEMPLATE",
                         found->value.p);
    found = modelfile_last(&file, "template");
    if (!found)
        return error_set(err, E_NOTFOUND,
                         "no TEMPLATE: Ollama takes one from the model (ollama show --modelfile)");
    out->named.text = found->value;
    out->named.line = found->line;
    found = modelfile_last(&file, "system");
    out->system = found ? found->value : str_of("");
    return read_examples(&file, arena, out, err);
}

int ollama_source_read(const char *path, struct arena *arena, struct ollama_source *out,
                       struct error *err)
{
    char *text = NULL;
    size_t n = 0;
    int rc = source_slurp(path, MODELFILE_BYTES, &text, &n, err);

    *out = (struct ollama_source){.named = {.name = "default", .path = path, .line = 1}};
    if (rc == OK && is_modelfile(last_component(path)))
        rc = take_modelfile(str_from(text, n), arena, out, err);
    else if (rc == OK)
        out->named.text = arena_str(arena, str_from(text, n));
    if (rc != OK && err->path[0] == '\0')
        error_at(err, path, err->line, err->byte);
    free(text);
    return rc;
}

static enum jinja_fault fault_of(enum go_fault fault)
{
    return fault == GO_LIMIT ? JINJA_LIMIT : fault == GO_RUNTIME ? JINJA_RUNTIME : JINJA_SYNTAX;
}

int ollama_source_render(const struct ollama_source *source, const struct json *question,
                         const struct jinja_settings *clock, struct arena *arena, struct buf *out,
                         struct jinja_failure *failure, struct error *err)
{
    const struct json *think = json_get(question, "think");
    const struct ollama_request request = {
        .template_text = source->named.text,
        .system = source->system,
        .examples = source->examples,
        .messages = json_get(question, "messages"),
        .tools = json_get(question, "tools"),
        .think = json_is(think, JSON_TRUE) ? 1 : json_is(think, JSON_FALSE) ? 0 : -1,
        .clock = {.now = clock->now, .utc_offset = clock->utc_offset},
    };
    struct go_failure why = {.line = 0};
    int rc = ollama_prompt(&request, arena, out, NULL, &why, err);

    if (rc != OK && why.message[0]) {
        failure->kind = fault_of(why.kind);
        failure->line = why.line;
        snprintf(failure->message, sizeof failure->message, "%s%s",
                 why.kind == GO_UNSUPPORTED ? "not supported here: " : "", why.message);
    }
    return rc;
}
