/* The variables of apply_chat_template, the choice among named templates, and a message that is
 * continued. See chat_template.h. Where templates lie in files is chat_template_find.c. */
#include "core/text/chat_template.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/unicode_case.h"

#define CONTINUE_TAG "CONTINUE_FINAL_MESSAGE_TAG "

struct chat_template {
    struct jinja_program *program;
    bool has_content_word; /* the text says "content" somewhere */
};

const struct named_template *chat_template_choose(const struct chat_template_set *set,
                                                  bool has_tools)
{
    const struct named_template *chosen = set->n == 1 ? &set->items[0] : NULL;

    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->items[i].name, "default") == 0)
            chosen = &set->items[i];
    for (size_t i = 0; has_tools && i < set->n; i++)
        if (strcmp(set->items[i].name, "tool_use") == 0)
            chosen = &set->items[i];
    return chosen;
}

int chat_template_open(struct chat_template **out, struct str text, struct jinja_failure *failure,
                       struct error *err)
{
    struct chat_template *made;
    int rc;

    if (text.n > CHAT_TEMPLATE_BYTES) {
        if (failure)
            *failure = (struct jinja_failure){JINJA_LIMIT, 0, "the template is too long"};
        return error_set(err, E_LIMIT, "a template of %zu bytes, expected at most %zu", text.n,
                         CHAT_TEMPLATE_BYTES);
    }
    made = calloc(1, sizeof *made);
    if (!made)
        return error_set(err, E_NOMEM, "no memory for a template");
    rc = jinja_compile(&made->program, text, failure, err);
    if (rc != OK) {
        free(made);
        return rc;
    }
    made->has_content_word = str_find(text, "content") >= 0;
    *out = made;
    return OK;
}

void chat_template_close(struct chat_template *chat_template)
{
    if (!chat_template)
        return;
    jinja_close(chat_template->program);
    free(chat_template);
}

const struct jinja_program *chat_template_program(const struct chat_template *chat_template)
{
    return chat_template->program;
}

/* ---- the context ---- */

struct context {
    struct arena *arena;
    struct json *object, **tail;
};

/* Later ones of a name count: an argument, then kwargs over it. */
static void add_member(struct context *c, struct str key, const struct json *value)
{
    struct json *member = NULL;

    for (struct json *known = c->object->child; known; known = known->next)
        if (str_eq(known->key, key))
            member = known;
    if (!member) {
        member = arena_alloc(c->arena, sizeof *member);
        if (!member)
            return;
        *c->tail = member;
        c->tail = &member->next;
        c->object->n++;
    }

    struct json *next = member->next;

    *member = *value;
    member->key = key;
    member->next = next;
}

static void add_flag(struct context *c, const char *key, bool is_set)
{
    struct json value = {.type = is_set ? JSON_TRUE : JSON_FALSE};

    add_member(c, str_of(key), &value);
}

static void add_or_none(struct context *c, const char *key, const struct json *value)
{
    static const struct json none = {.type = JSON_NULL};

    add_member(c, str_of(key), value ? value : &none);
}

static void add_all(struct context *c, const struct json *object)
{
    if (object && object->type == JSON_OBJECT)
        for (const struct json *member = object->child; member; member = member->next)
            add_member(c, member->key, member);
}

/* ---- a final message that goes on ---- */

static int refuse(struct jinja_failure *failure, struct error *err, const char *message)
{
    if (failure) {
        *failure = (struct jinja_failure){.kind = JINJA_RUNTIME};
        memcpy(failure->message, message, strlen(message) + 1);
    }
    return error_set(err, E_PARSE, "%s", message);
}

static struct json *copy_node(struct arena *arena, const struct json *from)
{
    struct json *out = arena_alloc(arena, sizeof *out);

    if (out)
        *out = *from;
    return out;
}

/* The children anew, the values below them shared. */
static struct json *copy_children(struct arena *arena, const struct json *from)
{
    struct json *out = copy_node(arena, from);
    struct json **tail = out ? &out->child : NULL;

    for (const struct json *child = from->child; out && child; child = child->next) {
        *tail = copy_node(arena, child);
        if (!*tail)
            return NULL;
        tail = &(*tail)->next;
    }
    return out;
}

static struct json *last_child(struct json *parent)
{
    struct json *child = parent->child;

    while (child && child->next)
        child = child->next;
    return child;
}

static struct json *member_of(struct json *object, const char *key)
{
    struct json *child = object->type == JSON_OBJECT ? object->child : NULL;

    while (child && !str_is(child->key, key))
        child = child->next;
    return child;
}

static bool append_tag(struct arena *arena, struct json *text)
{
    size_t n = text->text.n + strlen(CONTINUE_TAG);
    char *out = arena_alloc(arena, n + 1);

    if (!out)
        return false;
    if (text->text.n)
        memcpy(out, text->text.p, text->text.n);
    memcpy(out + text->text.n, CONTINUE_TAG, strlen(CONTINUE_TAG));
    text->text = str_from(out, n);
    return true;
}

/* The same tree below `child`, with a copy of it and of what is above it. */
static struct json *replace_last(struct arena *arena, struct json *parent, struct json **slot)
{
    struct json *last = last_child(parent);
    struct json *copy = last ? copy_children(arena, last) : NULL;

    if (!copy)
        return NULL;
    for (struct json **at = &parent->child; *at; at = &(*at)->next)
        if (!(*at)->next) {
            *at = copy;
            *slot = copy;
            break;
        }
    return copy;
}

/* The last part of a list of contents that has a text. */
static struct json *last_text_part(struct arena *arena, struct json *content)
{
    struct json *found = NULL, *part = NULL;

    for (struct json *child = content->child; child; child = child->next)
        if (member_of(child, "text"))
            found = child;
    if (!found)
        return NULL;
    part = copy_children(arena, found);
    for (struct json **at = &content->child; part && *at; at = &(*at)->next)
        if (*at == found) {
            part->next = found->next;
            *at = part;
            break;
        }
    return part ? member_of(part, "text") : NULL;
}

/* The messages with the tag behind the last one's text; NULL when it has none. */
static const struct json *with_tag(struct arena *arena, const struct json *messages)
{
    struct json *copy = copy_children(arena, messages);
    struct json *last = NULL, *content;

    if (!copy || !replace_last(arena, copy, &last))
        return NULL;
    content = member_of(last, "content");
    if (!content)
        return NULL;
    if (content->type == JSON_ARRAY) {
        struct json *parts = copy_children(arena, content);

        if (!parts)
            return NULL;
        content->child = parts->child;
        content = last_text_part(arena, content);
    }
    if (!content || content->type != JSON_STRING || !append_tag(arena, content))
        return NULL;
    return copy;
}

static ptrdiff_t find_last(struct str text, struct str part)
{
    for (size_t at = text.n >= part.n ? text.n - part.n + 1 : 0; at > 0; at--)
        if (text.p[at - 1] == part.p[0] && memcmp(text.p + at - 1, part.p, part.n) == 0)
            return (ptrdiff_t)(at - 1);
    return -1;
}

static void cut_output(struct jinja_output *output, size_t n)
{
    output->text.n = n;
    output->text.p[n] = '\0';
    for (size_t i = 0; i < output->n_generation; i++) {
        struct jinja_span *span = &output->generation[i];

        span->end = span->end < n ? span->end : n;
        span->begin = span->begin < n ? span->begin : n;
    }
    while (output->n_pieces && output->pieces[output->n_pieces - 1].begin >= n)
        output->n_pieces--;
    if (output->n_pieces && output->pieces[output->n_pieces - 1].end > n)
        output->pieces[output->n_pieces - 1].end = n;
}

/* Cut where the tag is; a template that trimmed it has trimmed the message, too. */
static int cut_at_tag(struct jinja_output *output, struct jinja_failure *failure, struct error *err)
{
    struct str tag = str_of(CONTINUE_TAG);
    struct str text = buf_view(&output->text);
    ptrdiff_t at = find_last(text, str_first(tag, tag.n - 1));

    if (at < 0)
        return refuse(failure, err,
                      "continue_final_message is set but the final message does not appear in the "
                      "chat after applying the chat template");

    struct str head = str_first(text, (size_t)at);

    if (!str_starts(str_skip(text, (size_t)at), CONTINUE_TAG))
        head = unicode_strip_right(head);
    cut_output(output, head.n);
    return OK;
}

int chat_template_render(const struct chat_template *chat_template,
                         const struct chat_request *request, const struct jinja_settings *settings,
                         struct arena *arena, struct jinja_output *output,
                         struct jinja_failure *failure, struct error *err)
{
    struct context c = {arena, arena_alloc(arena, sizeof(struct json)), NULL};
    const struct json *messages = request->messages;
    int rc;

    if (!c.object)
        return error_set(err, E_NOMEM, "no memory for the variables of a template");
    c.object->type = JSON_OBJECT;
    c.tail = &c.object->child;
    if (request->continue_final_message) {
        if (request->add_generation_prompt)
            return refuse(failure, err,
                          "continue_final_message and add_generation_prompt are not compatible");
        if (!chat_template->has_content_word)
            return refuse(failure, err,
                          "continue_final_message is set but the template says nothing of content");
        messages = messages && messages->type == JSON_ARRAY ? with_tag(arena, messages) : NULL;
        if (!messages && !arena_failed(arena))
            return refuse(failure, err,
                          "continue_final_message is set but the final message has no text");
    }
    add_all(&c, request->special_tokens);
    if (messages) {
        add_member(&c, str_of("messages"), messages);
        add_or_none(&c, "tools", request->tools);
        add_or_none(&c, "documents", request->documents);
        add_flag(&c, "add_generation_prompt", request->add_generation_prompt);
    }
    add_all(&c, request->kwargs);
    if (arena_failed(arena))
        return error_set(err, E_NOMEM, "no memory for the variables of a template");
    rc = jinja_render(chat_template->program, c.object, settings, output, failure, err);
    if (rc == OK && request->continue_final_message)
        rc = cut_at_tag(output, failure, err);
    return rc;
}
