/* Targets of Go's templates and of Modelfiles. See fuzz_targets.h. */
#include <stdlib.h>

#include "core/text/go/modelfile.h"
#include "core/text/go/ollama_parts.h"
#include "tests/harness/fuzz_targets.h"

#define ARENA_BYTES ((size_t)256 << 20)

static const char REQUEST[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"s\"}, {\"role\": \"user\", \"content\": "
    "\"a\\u00e9 <b>\"}, {\"role\": \"assistant\", \"content\": \"\", \"thinking\": \"t\", "
    "\"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\": {\"k\": [1, null, \"<\"]}}}]}, "
    "{\"role\": \"tool\", \"content\": \"r\"}], \"tools\": [{\"type\": \"function\", \"function\": "
    "{\"name\": \"f\", \"parameters\": {\"properties\": {\"p\": {\"type\": [\"string\", \"null\"], "
    "\"enum\": [1]}}}}}]}";

static void render_prompt(struct str text, struct arena *arena, const struct json *request)
{
    const struct ollama_request asked = {.template_text = text,
                                         .system = str_of("sys"),
                                         .messages = json_get(request, "messages"),
                                         .tools = json_get(request, "tools"),
                                         .think = -1};
    struct ollama_template_facts facts;
    struct go_failure failure;
    struct error err;
    struct buf out;

    buf_init(&out, ARENA_BYTES);
    if (ollama_prompt(&asked, arena, &out, NULL, &failure, &err) != OK && !failure.message[0])
        abort(); /* a failure says why */
    (void)!ollama_template_look(text, &facts, &failure, &err);
    buf_free(&out);
}

/* As a prompt, and on the request itself as plain data. */
void fuzz_go_template(const uint8_t *bytes, size_t n)
{
    const struct go_settings settings = {.now = 1768435200};
    struct str text = str_from((const char *)bytes, n);
    struct arena *arena = arena_open(ARENA_BYTES);
    const struct json *request;
    struct go_template *tmpl;
    struct go_failure failure;
    struct error err;
    struct buf out;

    if (!arena || json_parse_exact(str_of(REQUEST), arena, &request, &err) != OK)
        abort();
    render_prompt(text, arena, request);
    buf_init(&out, ARENA_BYTES);
    if (go_template_open(&tmpl, text, &failure, &err) == OK) {
        struct go_value data = ollama_any(arena, request);

        (void)!go_template_render(tmpl, &data, &settings, &out, &failure, &err);
        go_template_close(tmpl);
    }
    buf_free(&out);
    arena_close(arena);
}

void fuzz_modelfile(const uint8_t *bytes, size_t n)
{
    struct arena *arena = arena_open(ARENA_BYTES);
    struct modelfile file;
    struct error err;

    if (!arena)
        abort();
    if (modelfile_read(str_from((const char *)bytes, n), arena, &file, &err) == OK)
        for (size_t i = 0; i < file.n; i++)
            if (!file.items[i].name || file.items[i].line < 1 || file.items[i].value.n > n * 3)
                abort();
    arena_close(arena);
}
