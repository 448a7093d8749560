/* Messages of a request as Ollama takes them in: its own form and OpenAI's, where each part of a
 * content is a message of its own. Then what it does to them before the template sees them. */
#include <stdio.h>

#include "core/text/go/ollama_parts.h"

bool ollama_refuse(struct go_failure *failure, enum go_fault kind, const char *fmt, ...)
{
    char message[sizeof failure->message];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    *failure = (struct go_failure){.kind = kind};
    snprintf(failure->message, sizeof failure->message, "%s", message);
    return false;
}

/* ---- reading ---- */

static struct str text_of(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, key);

    return json_is(value, JSON_STRING) ? value->text : str_of("");
}

static struct str lower(struct arena *arena, struct str text)
{
    char *copy = arena_alloc(arena, text.n + 1);

    if (!copy)
        return text;
    for (size_t i = 0; i < text.n; i++)
        copy[i] = text.p[i] >= 'A' && text.p[i] <= 'Z' ? (char)(text.p[i] + 32) : text.p[i];
    return str_from(copy, text.n);
}

static struct ollama_message *add(struct ollama_messages *messages, struct str role)
{
    struct ollama_message *items = arena_room(messages->arena, messages->items, messages->n,
                                              &messages->capacity, sizeof *items);

    if (!items)
        return NULL;
    messages->items = items;
    items[messages->n] = (struct ollama_message){.role = role};
    return &items[messages->n++];
}

/* The call of this id in a message. Only OpenAI's form, whose arguments are a text, is looked up so. */
static const struct json *call_of(const struct json *message, struct str id)
{
    const struct json *calls = json_get(message, "tool_calls");

    for (const struct json *call = json_is(calls, JSON_ARRAY) ? calls->child : NULL; call;
         call = call->next)
        if (str_eq(text_of(call, "id"), id) &&
            json_is(json_get(json_get(call, "function"), "arguments"), JSON_STRING))
            return call;
    return NULL;
}

/* The function that a call of this id asked for; the last message counts. */
static struct str called_name(const struct json *list, struct str id)
{
    struct str name = str_of("");

    for (const struct json *message = list->child; message; message = message->next) {
        const struct json *call = call_of(message, id);

        if (call)
            name = text_of(json_get(call, "function"), "name");
    }
    return name;
}

static struct str tool_name(const struct json *list, const struct json *message, struct str role)
{
    struct str name = text_of(message, "tool_name"), id = text_of(message, "tool_call_id");

    if (name.n > 0 || !str_is(role, "tool"))
        return name;
    name = text_of(message, "name");
    return name.n == 0 && id.n > 0 ? called_name(list, id) : name;
}

/* A text has to be the JSON of an object: Ollama refuses the request otherwise. */
static bool check_calls(struct ollama_messages *messages, const struct json *calls)
{
    for (const struct json *call = json_is(calls, JSON_ARRAY) ? calls->child : NULL; call;
         call = call->next) {
        const struct json *arguments = json_get(json_get(call, "function"), "arguments");
        struct error err;

        if (json_is(arguments, JSON_STRING) &&
            json_parse_exact(arguments->text, messages->arena, &arguments, &err) != OK)
            return ollama_refuse(messages->failure, GO_RUNTIME,
                                 "the arguments of a tool call are no JSON");
        if (arguments && arguments->type != JSON_OBJECT && arguments->type != JSON_NULL)
            return ollama_refuse(messages->failure, GO_RUNTIME,
                                 "the arguments of a tool call are no object");
    }
    return true;
}

static void fill(struct ollama_message *to, const struct json *list, const struct json *message)
{
    const struct json *calls = json_get(message, "tool_calls");

    to->thinking = text_of(message, "thinking");
    if (to->thinking.n == 0)
        to->thinking = text_of(message, "reasoning");
    to->tool_calls = json_is(calls, JSON_ARRAY) && calls->n > 0 ? calls : NULL;
    to->tool_name = tool_name(list, message, to->role);
    to->tool_call_id = text_of(message, "tool_call_id");
}

/* Text and images each become a message; calls hang on the last one. */
static bool read_parts(struct ollama_messages *messages, const struct json *list,
                       const struct json *message, struct str role)
{
    const struct json *parts = json_get(message, "content"), *calls = json_get(message, "tool_calls");
    struct ollama_message *to = NULL;

    for (const struct json *part = parts->child; part; part = part->next) {
        struct str type = text_of(part, "type");
        bool is_text = str_is(type, "text") && json_is(json_get(part, "text"), JSON_STRING);

        if (!is_text && !str_is(type, "image_url"))
            return ollama_refuse(messages->failure, GO_RUNTIME,
                                 "a part of a message's content is neither text nor image_url");
        to = add(messages, role);
        if (!to)
            return false;
        to->content = is_text ? text_of(part, "text") : str_of("");
        to->n_images = !is_text;
    }
    if (to && json_is(calls, JSON_ARRAY) && calls->n > 0)
        fill(to, list, message);
    return true;
}

static bool read_message(struct ollama_messages *messages, const struct json *list,
                         const struct json *message)
{
    const struct json *content = json_get(message, "content"), *images;
    struct str role = lower(messages->arena, text_of(message, "role"));
    struct ollama_message *to;

    if (message->type != JSON_OBJECT)
        return ollama_refuse(messages->failure, GO_RUNTIME, "a message is no object");
    if (!check_calls(messages, json_get(message, "tool_calls")))
        return false;
    if (json_is(content, JSON_ARRAY))
        return read_parts(messages, list, message, role);
    if (content && content->type != JSON_STRING && content->type != JSON_NULL)
        return ollama_refuse(messages->failure, GO_RUNTIME, "a message's content is no text");
    to = add(messages, role);
    if (!to)
        return false;
    images = json_get(message, "images");
    to->content = text_of(message, "content");
    to->n_images = json_is(images, JSON_ARRAY) ? images->n : 0;
    fill(to, list, message);
    return true;
}

bool ollama_read_messages(struct ollama_messages *messages, const struct json *list)
{
    if (!json_is(list, JSON_ARRAY))
        return true;
    for (const struct json *message = list->child; message; message = message->next)
        if (!read_message(messages, list, message))
            return false;
    return true;
}

/* ---- before the template ---- */

/* [img-0], [img-1] …: in the place of an [img] of the text, else in front of it. */
static bool tag_images(struct ollama_messages *messages, struct ollama_message *message,
                       size_t *n_tagged)
{
    struct buf prefix, text;

    buf_init(&prefix, GO_OUTPUT_BYTES);
    buf_init(&text, GO_OUTPUT_BYTES);
    for (size_t i = 0; i < message->n_images; i++) {
        ptrdiff_t at = str_find(message->content, "[img]");

        if (at < 0) {
            buf_printf(&prefix, "[img-%zu]", (*n_tagged)++);
            continue;
        }
        buf_clear(&text);
        buf_str(&text, str_first(message->content, (size_t)at));
        buf_printf(&text, "[img-%zu]", (*n_tagged)++);
        buf_str(&text, str_skip(message->content, (size_t)at + 5));
        message->content = arena_str(messages->arena, buf_view(&text));
    }
    buf_str(&prefix, message->content);
    if (message->n_images > 0)
        message->content = arena_str(messages->arena, buf_view(&prefix));
    bool is_good = !prefix.failed && !text.failed;

    buf_free(&prefix);
    buf_free(&text);
    return is_good;
}

static struct str joined(struct arena *arena, struct str a, struct str b)
{
    char *text = arena_alloc(arena, a.n + b.n + 3);

    if (!text)
        return a;
    if (a.n)
        memcpy(text, a.p, a.n);
    memcpy(text + a.n, "\n\n", 2);
    if (b.n)
        memcpy(text + a.n + 2, b.p, b.n);
    return str_from(text, a.n + 2 + b.n);
}

/* What a merged message had besides its text is lost: so it is in Ollama. */
bool ollama_collate(struct ollama_messages *messages)
{
    size_t n = 0, n_tagged = 0;

    for (size_t i = 0; i < messages->n; i++)
        if (!tag_images(messages, &messages->items[i], &n_tagged))
            return false;
    for (size_t i = 0; i < messages->n; i++) {
        struct ollama_message *last = n ? &messages->items[n - 1] : NULL;
        const struct ollama_message *message = &messages->items[i];

        if (last && str_eq(last->role, message->role) && !str_is(message->role, "tool"))
            last->content = joined(messages->arena, last->content, message->content);
        else
            messages->items[n++] = *message;
    }
    messages->n = n;
    return !arena_failed(messages->arena);
}
