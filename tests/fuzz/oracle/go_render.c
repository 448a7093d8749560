/* What core/text/go makes of the JSON lines of ollama_prompt.go. By hand:
 *
 *     make B=build asan && cc -std=c11 -D_GNU_SOURCE -DFLATLINE_ARENA_MALLOC -I. \
 *         -fsanitize=address,undefined -o ours tests/fuzz/oracle/go_render.c \
 *         build/asan/libflatline.a $(pkg-config --libs …)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/text/go/modelfile.h"
#include "core/text/go/ollama_parts.h"

#define ARENA_BYTES ((size_t)256 << 20)

static struct str text_of(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, key);

    return json_is(value, JSON_STRING) ? value->text : str_of("");
}

/* name, \x1f, arguments, \x1e for each instruction. */
static int instructions(struct str text, struct arena *arena, struct buf *out,
                        struct go_failure *failure, struct error *err)
{
    struct modelfile file;
    int rc = modelfile_read(text, arena, &file, err);

    if (rc == OK && file.n_complaints > 0) {
        ollama_refuse(failure, GO_SYNTAX, "%s", file.complaints[0].message);
        failure->line = (int)file.complaints[0].line;
        return E_PARSE;
    }
    for (size_t i = 0; rc == OK && i < file.n; i++) {
        const struct modelfile_instruction *item = &file.items[i];
        bool is_parameter = strcmp(item->name, "parameter") == 0;

        buf_puts(out, is_parameter                    ? item->key
                      : strcmp(item->name, "from") == 0 ? "model"
                                                        : item->name);
        buf_putc(out, 0x1f);
        if (item->key && !is_parameter)
            buf_printf(out, "%s: ", item->key);
        buf_str(out, item->value);
        buf_putc(out, 0x1e);
    }
    return rc;
}

static int plain(const struct json *question, const struct go_settings *clock, struct arena *arena,
                 struct buf *out, struct go_failure *failure, struct error *err)
{
    struct go_value data = ollama_any(arena, json_get(question, "data"));
    struct go_template *tmpl = NULL;
    int rc = go_template_open(&tmpl, text_of(question, "template"), failure, err);

    if (rc == OK)
        rc = go_template_render(tmpl, &data, clock, out, failure, err);
    go_template_close(tmpl);
    return rc;
}

static int prompt(const struct json *question, const struct go_settings *clock, struct arena *arena,
                  struct buf *out, struct go_failure *failure, struct error *err)
{
    const struct json *openai = json_get(question, "openai"), *think = json_get(question, "think");
    const struct ollama_request request = {
        .template_text = text_of(question, "template"),
        .system = text_of(question, "system"),
        .examples = json_get(question, "examples"),
        .messages = json_get(openai ? openai : question, "messages"),
        .tools = json_get(openai ? openai : question, "tools"),
        .think = json_is(think, JSON_TRUE) ? 1 : json_is(think, JSON_FALSE) ? 0 : -1,
        .clock = *clock,
    };

    return ollama_prompt(&request, arena, out, NULL, failure, err);
}

static void answer(struct str line, struct arena *arena)
{
    const struct go_settings clock = {.now = time(NULL)};
    struct go_failure failure = {.line = 0};
    struct error err = {0};
    const struct json *question;
    struct buf out;
    int rc = json_parse_exact(line, arena, &question, &err);

    buf_init(&out, ARENA_BYTES);
    if (rc == OK && json_get(question, "modelfile"))
        rc = instructions(text_of(question, "modelfile"), arena, &out, &failure, &err);
    else if (rc == OK && json_get(question, "data"))
        rc = plain(question, &clock, arena, &out, &failure, &err);
    else if (rc == OK)
        rc = prompt(question, &clock, arena, &out, &failure, &err);
    printf("{\"hex\": \"");
    for (size_t i = 0; i < out.n; i++)
        printf("%02x", (unsigned)(unsigned char)out.p[i]);
    printf("\"");
    if (rc != OK) {
        buf_clear(&out);
        json_write_string(&out, str_of(failure.message[0] ? failure.message : err.message));
        printf(", \"rc\": %d, \"kind\": %d, \"line\": %d, \"error\": %s", rc, (int)failure.kind,
               failure.line, out.p);
    }
    printf("}\n");
    buf_free(&out);
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;

    while ((n = getline(&line, &capacity, stdin)) > 0) {
        struct arena *arena = arena_open(ARENA_BYTES);

        answer(str_from(line, (size_t)n), arena);
        arena_close(arena);
    }
    free(line);
    return 0;
}
