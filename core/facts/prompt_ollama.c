/* The prompt that Ollama builds from a Modelfile's TEMPLATE: with its SYSTEM where the messages have none
 * and its MESSAGE turns before them. */
#include <string.h>

#include "core/facts/prompt_pair_parts.h"
#include "core/text/go/ollama_prompt.h"

#define OLLAMA_ARENA_BYTES ((size_t)64 << 20)
#define PROMPT_BYTES       ((size_t)16 << 20)

static void fail_with(const struct prompt_maker *maker, const struct template_place *place,
                      const struct go_failure *failure, const struct error *why,
                      struct prompt_record *record)
{
    const char *message = failure->message[0] ? failure->message : why->message;

    if (failure->line > 0)
        record->failure = arena_printf(maker->arena, "%s, line %d: %s", place->about, failure->line,
                                       message);
    else
        record->failure = arena_printf(maker->arena, "%s: %s", place->about, message);
}

static const struct json *examples_of(const struct prompt_maker *maker)
{
    const struct setting *stated =
        facts_setting_on(maker->facts, SIDE_SERVE, "example_messages");
    const struct json *list = NULL;
    struct error ignored = {0};

    if (!stated || !stated->value ||
        json_parse(str_of(stated->value), false, maker->arena, &list, NULL, &ignored) != OK)
        return NULL;
    return json_is(list, JSON_ARRAY) ? list : NULL;
}

static int think_of(const struct prompt_maker *maker)
{
    const struct json *think = json_get(maker->request, "think");

    return json_is(think, JSON_TRUE) ? 1 : json_is(think, JSON_FALSE) ? 0 : -1;
}

bool prompt_by_ollama(const struct prompt_maker *maker, const struct template_place *place,
                      const struct json *messages, const struct json *tools,
                      struct prompt_record *record)
{
    const struct setting *system = facts_setting_on(maker->facts, SIDE_SERVE, "system");
    struct ollama_request request = {
        .template_text = place->text,
        .system = str_of(system && system->value && system->type != VALUE_NULL ? system->value : ""),
        .examples = examples_of(maker),
        .messages = messages,
        .tools = tools,
        .think = think_of(maker),
        .clock = {.now = maker->facts->run.started_at > 0 ? maker->facts->run.started_at : 0},
    };
    struct arena *arena = arena_open(OLLAMA_ARENA_BYTES);
    struct go_failure failure = {0};
    struct error why = {0};
    struct buf text;
    int rc;

    buf_init(&text, PROMPT_BYTES);
    rc = arena ? ollama_prompt(&request, arena, &text, NULL, &failure, &why)
               : error_set(&why, E_NOMEM, "no memory for a prompt");
    if (rc == OK)
        record->side.text = arena_str(maker->arena, buf_view(&text));
    else
        fail_with(maker, place, &failure, &why, record);
    buf_free(&text);
    arena_close(arena);
    return rc == OK;
}
