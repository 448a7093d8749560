/* The prompt that Ollama builds (FORMATS.md B21, after its server and template package 0.17): either
 * one execution over .Messages, or one for each turn with .System, .Prompt and .Response, the last of
 * them cut behind .Response. */
#include "core/text/go/ollama_prompt.h"

#include <stdio.h>

#include "core/text/go/ollama_parts.h"

/* ---- the template ---- */

static int open_unchanged(struct str text, struct go_template **out, struct go_failure *failure,
                         struct error *err)
{
    struct go_template *tmpl;
    int rc = go_template_open(&tmpl, text, failure, err);

    if (rc != OK)
        return rc;
    if (go_template_has_bare_call(tmpl)) {
        ollama_refuse(failure, GO_SYNTAX,
                      "{{template}} without a value: Ollama takes no such template");
        go_template_close(tmpl);
        return error_set(err, E_PARSE, "%s", failure->message);
    }
    *out = tmpl;
    return OK;
}

/* As Ollama opens one: {{ .Response }} is appended where nothing names it. */
static int open_template(struct str text, struct go_template **out, struct go_failure *failure,
                         struct error *err)
{
    int rc = open_unchanged(text, out, failure, err);

    if (rc != OK || go_template_names(*out, "messages") || go_template_names(*out, "response"))
        return rc;
    rc = go_template_append_response(*out, err);
    if (rc != OK)
        go_template_close(*out);
    return rc;
}

/* ---- one render ---- */

struct rendering {
    const struct ollama_request *request;
    struct arena *arena;
    const struct go_template *tmpl;
    struct ollama_messages messages;
    bool think, is_think_set;
    struct buf text;
    struct go_failure *failure;
    struct error *err;
};

/* The turn that waits to be written. */
struct turn {
    struct str system, prompt, response;
};

static struct go_field field(const char *name, struct go_value value)
{
    return (struct go_field){.name = name, .value = value};
}

static struct go_field text_field(const char *name, struct str text)
{
    return field(name, (struct go_value){.type = GO_STRING, .text = text});
}

static struct go_field bool_field(const char *name, bool value)
{
    return field(name, (struct go_value){.type = GO_BOOL, .boolean = value});
}

static struct go_field level_field(const struct rendering *r)
{
    return text_field("ThinkLevel", str_of(r->think ? "medium" : ""));
}

static int refuse_data(const struct rendering *r)
{
    if (r->failure->message[0])
        return error_set(r->err, r->failure->kind == GO_UNSUPPORTED ? E_UNSUPPORTED : E_PARSE, "%s",
                         r->failure->message);
    return error_set(r->err, E_NOMEM, "no memory for a prompt");
}

static struct str joined_system(const struct rendering *r)
{
    struct buf text;
    size_t n = 0;

    buf_init(&text, GO_OUTPUT_BYTES);
    for (size_t i = 0; i < r->messages.n; i++)
        if (str_is(r->messages.items[i].role, "system")) {
            buf_puts(&text, n++ ? "\n\n" : "");
            buf_str(&text, r->messages.items[i].content);
        }
    struct str system = arena_str(r->arena, buf_view(&text));

    buf_free(&text);
    return system;
}

static int render_messages(struct rendering *r)
{
    struct go_value messages = ollama_message_values(&r->messages), tools;

    if (!ollama_tool_values(r->arena, r->request->tools, &tools, r->failure) || arena_failed(r->arena))
        return refuse_data(r);
    const struct go_field fields[] = {
        text_field("System", joined_system(r)), field("Messages", messages),
        field("Tools", tools),                  text_field("Response", str_of("")),
        bool_field("Think", r->think),          level_field(r),
        bool_field("IsThinkSet", r->is_think_set),
    };
    const struct go_value data = {.type = GO_MAP, .fields = fields, .n = 7};

    return go_template_render(r->tmpl, &data, &r->request->clock, &r->text, r->failure, r->err);
}

static int render_turn(struct rendering *r, struct turn *turn, bool is_last)
{
    const struct go_field fields[] = {
        text_field("System", turn->system),     text_field("Prompt", turn->prompt),
        text_field("Response", turn->response), bool_field("Think", r->think),
        level_field(r),                         bool_field("IsThinkSet", r->is_think_set),
    };
    const struct go_value data = {.type = GO_MAP, .fields = fields, .n = 6};

    *turn = (struct turn){{"", 0}, {"", 0}, {"", 0}};
    return (is_last ? go_template_render_until_response : go_template_render)(
        r->tmpl, &data, &r->request->clock, &r->text, r->failure, r->err);
}

/* A new system text or question writes what waits. Other roles are not seen. */
static int render_turns(struct rendering *r)
{
    struct turn turn = {{"", 0}, {"", 0}, {"", 0}};
    int rc = OK;

    for (size_t i = 0; i < r->messages.n && rc == OK; i++) {
        const struct ollama_message *message = &r->messages.items[i];
        bool is_system = str_is(message->role, "system"), is_user = str_is(message->role, "user");

        if ((is_system && (turn.prompt.n > 0 || turn.response.n > 0)) ||
            (is_user && turn.response.n > 0))
            rc = render_turn(r, &turn, false);
        if (is_system)
            turn.system = message->content;
        else if (is_user)
            turn.prompt = message->content;
        else if (str_is(message->role, "assistant"))
            turn.response = message->content;
    }
    return rc == OK ? render_turn(r, &turn, true) : rc;
}

/* ---- the request ---- */

/* SYSTEM stands first unless the request itself begins with a system message; the Modelfile's own
 * turns come before the request's. */
static bool gather(struct rendering *r)
{
    const struct ollama_request *request = r->request;
    const struct json *first = request->messages ? request->messages->child : NULL;
    const struct json *role = first ? json_get(first, "role") : NULL;
    bool has_system = json_is(role, JSON_STRING) && str_is_ignoring_case(role->text, "system");
    struct ollama_message *items = arena_array(r->arena, 8, sizeof *items);

    if (!items)
        return false;
    r->messages.items = items;
    r->messages.capacity = 8;
    if (!has_system && request->system.n > 0)
        items[r->messages.n++] =
            (struct ollama_message){.role = str_of("system"), .content = request->system};
    return ollama_read_messages(&r->messages, request->examples) &&
           ollama_read_messages(&r->messages, request->messages) && ollama_collate(&r->messages);
}

/* A model whose template shows thinking thinks unless it is told not to. */
static void decide_thinking(struct rendering *r)
{
    struct str opening, closing;
    bool can_think = go_template_thinking_tags(r->tmpl, &opening, &closing);

    r->is_think_set = r->request->think >= 0 || can_think;
    r->think = r->request->think > 0 || (r->request->think < 0 && can_think);
}

int ollama_prompt(const struct ollama_request *request, struct arena *arena, struct buf *out,
                  bool *uses_messages, struct go_failure *failure, struct error *err)
{
    struct go_template *tmpl;
    int rc = open_template(request->template_text, &tmpl, failure, err);

    if (rc != OK)
        return rc;
    bool has_messages = go_template_names(tmpl, "messages");
    struct rendering r = {.request = request,
                          .arena = arena,
                          .tmpl = tmpl,
                          .messages = {.arena = arena, .failure = failure},
                          .failure = failure,
                          .err = err};

    *failure = (struct go_failure){.kind = GO_RUNTIME};
    buf_init(&r.text, GO_OUTPUT_BYTES * 2);
    decide_thinking(&r);
    if (!gather(&r))
        rc = refuse_data(&r);
    else
        rc = has_messages ? render_messages(&r) : render_turns(&r);
    if (rc == OK) {
        buf_clear(out);
        buf_str(out, buf_view(&r.text));
        if (uses_messages)
            *uses_messages = has_messages;
        if (out->failed)
            rc = error_set(err, E_LIMIT, "the prompt is larger than %zu bytes", out->limit);
    }
    buf_free(&r.text);
    go_template_close(tmpl);
    return rc;
}

int ollama_template_look(struct str template_text, struct ollama_template_facts *out,
                         struct go_failure *failure, struct error *err)
{
    struct go_template *tmpl;
    int rc = open_unchanged(template_text, &tmpl, failure, err);

    if (rc != OK)
        return rc;
    *out = (struct ollama_template_facts){
        .uses_messages = go_template_names(tmpl, "messages"),
        .uses_system = go_template_names(tmpl, "system"),
        .uses_prompt = go_template_names(tmpl, "prompt"),
        .uses_response = go_template_names(tmpl, "response"),
        .uses_tools = go_template_names(tmpl, "tools"),
    };
    go_template_close(tmpl);
    return OK;
}
