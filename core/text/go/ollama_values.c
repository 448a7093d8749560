/* Messages and tools as values of the types that Ollama gives its templates: their fields, what their
 * JSON leaves out, how they print. */
#include <stdio.h>

#include "core/text/go/ollama_parts.h"

static const struct go_class MESSAGES = {"[]*template.templateMessage", GO_FORM_PLAIN, NULL};
static const struct go_class MESSAGE = {"template.templateMessage", GO_FORM_PLAIN, NULL};
static const struct go_class IMAGES = {"[]api.ImageData", GO_FORM_PLAIN, NULL};
static const struct go_class IMAGE = {"api.ImageData", GO_FORM_OPAQUE, NULL};
static const struct go_class CALLS = {"[]template.templateToolCall", GO_FORM_PLAIN, NULL};
static const struct go_class CALL = {"template.templateToolCall", GO_FORM_PLAIN, NULL};
static const struct go_class CALLED = {"template.templateToolCallFunction", GO_FORM_PLAIN, NULL};
static const struct go_class ARGUMENTS = {"template.templateArgs", GO_FORM_JSON, NULL};
static const struct go_class TOOLS = {"template.templateTools", GO_FORM_JSON, NULL};
static const struct go_class TOOL = {"template.templateTool", GO_FORM_PLAIN, NULL};
static const struct go_class FUNCTION = {"template.templateToolFunction", GO_FORM_PLAIN, NULL};
static const struct go_class PARAMETERS = {"template.templateToolFunctionParameters", GO_FORM_PLAIN,
                                           NULL};
static const struct go_class TEXTS = {"[]string", GO_FORM_PLAIN, NULL};
static const struct go_class ANYTHINGS = {"[]interface {}", GO_FORM_PLAIN, NULL};
static const struct go_class TYPES = {"api.PropertyType", GO_FORM_TYPES, NULL};
static const struct go_class PROPERTY = {"api.ToolProperty", GO_FORM_PROPERTY, NULL};
static const struct go_class PROPERTY_LIST = {"[]api.ToolProperty", GO_FORM_PLAIN, NULL};
static const struct go_class ORDERED = {"api.ToolPropertiesMap", GO_FORM_ORDERED, NULL};

/* What a property that a tool has not looks like: all of it empty. */
static const struct go_field NO_FIELDS[] = {
    {"AnyOf", "anyOf", true, false, {.type = GO_LIST, .is_nil = true, .class = &PROPERTY_LIST}},
    {"Type", "type", true, false, {.type = GO_LIST, .is_nil = true, .class = &TYPES}},
    {"Items", "items", true, true, {.type = GO_NIL}},
    {"Description", "description", true, false, {.type = GO_STRING, .text = {"", 0}}},
    {"Enum", "enum", true, false, {.type = GO_LIST, .is_nil = true, .class = &ANYTHINGS}},
    {"Properties", "properties", true, false,
     {.type = GO_STRUCT, .is_nil = true, .is_pointer = true, .class = &ORDERED}},
};
static const struct go_value NO_PROPERTY = {
    .type = GO_STRUCT, .fields = NO_FIELDS, .n = 6, .class = &PROPERTY};
static const struct go_class PROPERTIES = {"template.templateProperties", GO_FORM_JSON, &NO_PROPERTY};

/* ---- building ---- */

/* A struct under way. */
struct shape {
    struct go_field *fields;
    size_t n;
};

static struct go_field *add(struct shape *shape, const char *name, struct go_value value)
{
    if (!shape->fields)
        return NULL;
    shape->fields[shape->n] = (struct go_field){.name = name, .value = value};
    return &shape->fields[shape->n++];
}

/* With its name in JSON; empty ones are left out there when `omits`. */
static void add_json(struct shape *shape, const char *name, const char *json_name, bool omits,
                     struct go_value value)
{
    struct go_field *field = add(shape, name, value);

    if (!field)
        return;
    field->json_name = json_name;
    field->omits_empty = omits;
    field->is_any = strcmp(json_name, "items") == 0 || strcmp(json_name, "$defs") == 0;
}

static struct shape shape_of(struct arena *arena, size_t n)
{
    return (struct shape){arena_array(arena, n, sizeof(struct go_field)), 0};
}

static struct go_value made(const struct shape *shape, const struct go_class *class)
{
    return (struct go_value){
        .type = GO_STRUCT, .fields = shape->fields, .n = shape->n, .class = class};
}

static struct go_value text(struct str value)
{
    return (struct go_value){.type = GO_STRING, .text = value};
}

static struct go_value nil_list(const struct go_class *class)
{
    return (struct go_value){.type = GO_LIST, .is_nil = true, .class = class};
}

static struct go_value text_member(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, key);

    return text(json_is(value, JSON_STRING) ? value->text : str_of(""));
}

/* ---- any JSON ---- */

static struct go_value any_list(struct arena *arena, const struct json *list)
{
    struct go_value value = {.type = GO_LIST};
    struct go_value *items = arena_array(arena, list->n + 1, sizeof *items);

    for (const struct json *item = items ? list->child : NULL; item; item = item->next)
        items[value.n++] = ollama_any(arena, item);
    value.items = items;
    return value;
}

static struct go_value any_map(struct arena *arena, const struct json *object)
{
    struct go_value value = {.type = GO_MAP};
    struct go_field *fields = arena_array(arena, object->n + 1, sizeof *fields);

    for (const struct json *item = fields ? object->child : NULL; item; item = item->next)
        fields[value.n++] =
            (struct go_field){.name = arena_strndup(arena, item->key.p, item->key.n),
                              .value = ollama_any(arena, item)};
    value.fields = fields;
    return value;
}

struct go_value ollama_any(struct arena *arena, const struct json *value)
{
    switch (value ? value->type : JSON_NULL) {
    case JSON_FALSE:
    case JSON_TRUE:
        return (struct go_value){.type = GO_BOOL, .boolean = value->type == JSON_TRUE};
    case JSON_NUMBER:
        return (struct go_value){.type = GO_FLOAT, .number = value->number};
    case JSON_STRING:
        return text(value->text);
    case JSON_ARRAY:
        return any_list(arena, value);
    case JSON_OBJECT:
        return any_map(arena, value);
    case JSON_NULL:
        break;
    }
    return (struct go_value){.type = GO_NIL};
}

/* ---- messages ---- */

/* Arguments of a call: an object, or its JSON as a text (OpenAI's form), which was checked. */
static struct go_value argument_values(struct arena *arena, const struct json *arguments)
{
    struct go_value value = {.type = GO_MAP, .is_nil = true, .class = &ARGUMENTS};
    struct error err;

    if (json_is(arguments, JSON_STRING) &&
        json_parse_exact(arguments->text, arena, &arguments, &err) != OK)
        return value;
    if (!json_is(arguments, JSON_OBJECT))
        return value;
    value = any_map(arena, arguments);
    value.class = &ARGUMENTS;
    return value;
}

static struct go_value call_value(struct arena *arena, const struct json *call)
{
    const struct json *function = json_get(call, "function"), *index = json_get(function, "index");
    struct shape outer = shape_of(arena, 2), inner = shape_of(arena, 3);

    add(&inner, "Index", (struct go_value){.type = GO_INT});
    if (inner.fields && index && index->type == JSON_NUMBER && index->is_integer)
        inner.fields[0].value.integer = (int64_t)index->number;
    add(&inner, "Name", text_member(function, "name"));
    add(&inner, "Arguments", argument_values(arena, json_get(function, "arguments")));
    add(&outer, "ID", text_member(call, "id"));
    add(&outer, "Function", made(&inner, &CALLED));
    return made(&outer, &CALL);
}

static struct go_value call_values(struct arena *arena, const struct json *calls)
{
    struct go_value value = nil_list(&CALLS);
    struct go_value *items = calls ? arena_array(arena, calls->n + 1, sizeof *items) : NULL;

    if (!items)
        return value;
    value.is_nil = false;
    value.items = items;
    for (const struct json *call = calls->child; call; call = call->next)
        items[value.n++] = call_value(arena, call);
    return value;
}

static struct go_value image_values(struct arena *arena, size_t n)
{
    struct go_value value = nil_list(&IMAGES);
    struct go_value *items = n ? arena_array(arena, n, sizeof *items) : NULL;

    if (!items)
        return value;
    for (; value.n < n; value.n++)
        items[value.n] = (struct go_value){.type = GO_LIST, .n = 1, .class = &IMAGE};
    value.items = items;
    value.is_nil = false;
    return value;
}

static struct go_value message_value(struct arena *arena, const struct ollama_message *message)
{
    struct shape shape = shape_of(arena, 7);
    struct go_value value;

    add(&shape, "Role", text(message->role));
    add(&shape, "Content", text(message->content));
    add(&shape, "Thinking", text(message->thinking));
    add(&shape, "Images", image_values(arena, message->n_images));
    add(&shape, "ToolCalls", call_values(arena, message->tool_calls));
    add(&shape, "ToolName", text(message->tool_name));
    add(&shape, "ToolCallID", text(message->tool_call_id));
    value = made(&shape, &MESSAGE);
    value.is_pointer = true;
    return value;
}

struct go_value ollama_message_values(const struct ollama_messages *messages)
{
    struct go_value value = nil_list(&MESSAGES);
    struct go_value *items = arena_array(messages->arena, messages->n + 1, sizeof *items);

    if (!items)
        return value;
    value.is_nil = messages->n == 0;
    value.items = items;
    for (; value.n < messages->n; value.n++)
        items[value.n] = message_value(messages->arena, &messages->items[value.n]);
    return value;
}

/* ---- tools ---- */

struct tools {
    struct arena *arena;
    struct go_failure *failure;
};

static bool property_value(const struct tools *tools, const struct json *property,
                           struct go_value *out);

static bool text_list(const struct tools *tools, const struct json *list,
                      const struct go_class *class, struct go_value *out)
{
    struct go_value *items = arena_array(tools->arena, list ? list->n + 1 : 1, sizeof *items);
    bool is_text = class == &TYPES && json_is(list, JSON_STRING);

    *out = nil_list(class);
    if (!list || list->type == JSON_NULL || !items)
        return items != NULL;
    if (list->type != JSON_ARRAY && !is_text)
        return ollama_refuse(tools->failure, GO_RUNTIME, "a tool's %.*s is no list of texts",
                             (int)list->key.n, list->key.p);
    out->is_nil = false;
    out->items = items;
    if (is_text)
        items[out->n++] = text(list->text);
    for (const struct json *item = list->child; item; item = item->next) {
        if (item->type != JSON_STRING)
            return ollama_refuse(tools->failure, GO_RUNTIME, "a tool's %.*s is no list of texts",
                                 (int)list->key.n, list->key.p);
        items[out->n++] = text(item->text);
    }
    return true;
}

static bool property_list(const struct tools *tools, const struct json *list, struct go_value *out)
{
    struct go_value *items =
        arena_array(tools->arena, json_is(list, JSON_ARRAY) ? list->n + 1 : 1, sizeof *items);

    *out = nil_list(&PROPERTY_LIST);
    if (!json_is(list, JSON_ARRAY) || !items)
        return items != NULL;
    out->is_nil = false;
    out->items = items;
    for (const struct json *item = list->child; item; item = item->next)
        if (!property_value(tools, item, &items[out->n++]))
            return false;
    return true;
}

/* Properties by name: as a map, or inside of a property as a struct that keeps their order. */
static bool property_map(const struct tools *tools, const struct json *object, struct go_value *out)
{
    struct shape shape = shape_of(tools->arena, json_is(object, JSON_OBJECT) ? object->n + 1 : 1);

    out->is_nil = !json_is(object, JSON_OBJECT);
    if (!shape.fields || out->is_nil)
        return shape.fields != NULL;
    for (const struct json *item = object->child; item; item = item->next) {
        struct go_value value;

        if (!property_value(tools, item, &value))
            return false;
        add(&shape, arena_strndup(tools->arena, item->key.p, item->key.n), value);
    }
    out->fields = shape.fields;
    out->n = shape.n;
    return true;
}

static bool property_value(const struct tools *tools, const struct json *property,
                           struct go_value *out)
{
    struct shape shape = shape_of(tools->arena, 6);
    const struct json *items = json_get(property, "items"), *values = json_get(property, "enum");
    struct go_value any_of, types, choices = nil_list(&ANYTHINGS),
                    inner = {.type = GO_STRUCT, .is_pointer = true, .class = &ORDERED};

    if (property->type != JSON_OBJECT)
        return ollama_refuse(tools->failure, GO_RUNTIME, "a tool's property is no object");
    if (json_is(values, JSON_ARRAY))
        choices = any_list(tools->arena, values);
    if (!property_list(tools, json_get(property, "anyOf"), &any_of) ||
        !text_list(tools, json_get(property, "type"), &TYPES, &types) ||
        !property_map(tools, json_get(property, "properties"), &inner))
        return false;
    add_json(&shape, "AnyOf", "anyOf", true, any_of);
    add_json(&shape, "Type", "type", true, types);
    add_json(&shape, "Items", "items", true, ollama_any(tools->arena, items));
    add_json(&shape, "Description", "description", true, text_member(property, "description"));
    add_json(&shape, "Enum", "enum", true, choices);
    add_json(&shape, "Properties", "properties", true, inner);
    *out = made(&shape, &PROPERTY);
    return true;
}

static bool parameter_values(const struct tools *tools, const struct json *parameters,
                             struct go_value *out)
{
    struct shape shape = shape_of(tools->arena, 5);
    struct go_value required, properties = {.type = GO_MAP, .class = &PROPERTIES};

    if (!text_list(tools, json_get(parameters, "required"), &TEXTS, &required) ||
        !property_map(tools, json_get(parameters, "properties"), &properties))
        return false;
    add_json(&shape, "Type", "type", false, text_member(parameters, "type"));
    add_json(&shape, "Defs", "$defs", true, ollama_any(tools->arena, json_get(parameters, "$defs")));
    add_json(&shape, "Items", "items", true, ollama_any(tools->arena, json_get(parameters, "items")));
    add_json(&shape, "Required", "required", true, required);
    add_json(&shape, "Properties", "properties", false, properties);
    *out = made(&shape, &PARAMETERS);
    return true;
}

static bool tool_value(const struct tools *tools, const struct json *tool, struct go_value *out)
{
    const struct json *function = json_get(tool, "function");
    struct shape outer = shape_of(tools->arena, 3), inner = shape_of(tools->arena, 3);
    struct go_value parameters;

    if (tool->type != JSON_OBJECT)
        return ollama_refuse(tools->failure, GO_RUNTIME, "a tool is no object");
    if (!parameter_values(tools, json_get(function, "parameters"), &parameters))
        return false;
    add_json(&inner, "Name", "name", false, text_member(function, "name"));
    add_json(&inner, "Description", "description", false, text_member(function, "description"));
    add_json(&inner, "Parameters", "parameters", false, parameters);
    add_json(&outer, "Type", "type", false, text_member(tool, "type"));
    add_json(&outer, "Items", "items", true, ollama_any(tools->arena, json_get(tool, "items")));
    add_json(&outer, "Function", "function", false, made(&inner, &FUNCTION));
    *out = made(&outer, &TOOL);
    return true;
}

bool ollama_tool_values(struct arena *arena, const struct json *list, struct go_value *out,
                        struct go_failure *failure)
{
    const struct tools tools = {arena, failure};
    struct go_value *items =
        arena_array(arena, json_is(list, JSON_ARRAY) ? list->n + 1 : 1, sizeof *items);

    *out = nil_list(&TOOLS);
    if (!json_is(list, JSON_ARRAY) || !items)
        return items != NULL;
    out->is_nil = false;
    out->items = items;
    for (const struct json *tool = list->child; tool; tool = tool->next)
        if (!tool_value(&tools, tool, &items[out->n++]))
            return false;
    return true;
}
