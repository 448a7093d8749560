/* Turns of a conversation, whatever their keys are called: from/value, role/content, or what a
 * setting says. Knows nothing of columns but their values. See turns.h. */
#include "core/text/turns.h"

#include <string.h>

#define LIST_DEPTH   64 /* of what is compared: more is different */
#define SMALL_OBJECT 64 /* above it members in another order count as different */

/* ---- Lists that are made ---- */

struct list_end list_begin(struct arena *arena)
{
    struct list_end end = {.list = arena_alloc(arena, sizeof *end.list)};

    if (end.list)
        end.list->type = JSON_ARRAY;
    return end;
}

void turns_add(struct list_end *end, struct json *item)
{
    item->next = NULL;
    if (end->last)
        end->last->next = item;
    else
        end->list->child = item;
    end->last = item;
    end->list->n++;
}

struct json *copy_of(const struct json *value, struct arena *arena)
{
    struct json *copy = arena_alloc(arena, sizeof *copy);

    if (!copy)
        return NULL;
    *copy = *value;
    copy->next = NULL;
    return copy;
}

static struct json *text_member(const char *key, struct str text, struct arena *arena)
{
    struct json *member = arena_alloc(arena, sizeof *member);

    if (!member)
        return NULL;
    *member = (struct json){.type = JSON_STRING, .key = str_of(key), .text = text};
    if (!text.p)
        member->type = JSON_NULL;
    return member;
}

bool turns_add_turn(struct list_end *end, const char *role, struct str content, struct arena *arena)
{
    struct list_end turn = list_begin(arena);
    struct json *who = text_member("role", str_of(role), arena);
    struct json *what = text_member("content", content, arena);

    if (!turn.list || !who || !what)
        return false;
    turn.list->type = JSON_OBJECT;
    turns_add(&turn, who);
    turns_add(&turn, what);
    turns_add(end, turn.list);
    return true;
}

/* ---- Lists that are there ---- */

const struct json *turns_of_value(const struct json *value, struct arena *arena)
{
    const struct json *parsed;
    struct error why;

    if (json_is(value, JSON_ARRAY))
        return value;
    if (!json_is(value, JSON_STRING) || !str_starts(str_trim(value->text), "["))
        return NULL;
    if (json_parse_exact(value->text, arena, &parsed, &why) != OK)
        return NULL;
    return json_is(parsed, JSON_ARRAY) ? parsed : NULL;
}

static bool same_number(const struct json *a, const struct json *b)
{
    return a->number == b->number && (!a->is_integer || !b->is_integer || str_eq(a->text, b->text));
}

static const struct json *member_like(const struct json *object, const struct json *at,
                                      const struct json *like)
{
    if (at && str_eq(at->key, like->key))
        return at; /* the usual case: both were written by the same program */
    if (object->n > SMALL_OBJECT)
        return NULL;
    for (at = object->child; at && !str_eq(at->key, like->key); at = at->next)
        ;
    return at;
}

static bool same_within(const struct json *a, const struct json *b, int depth)
{
    if (a->type != b->type || a->n != b->n || depth == LIST_DEPTH)
        return false;
    if (a->type == JSON_STRING)
        return str_eq(a->text, b->text);
    if (a->type == JSON_NUMBER)
        return same_number(a, b);
    const struct json *other = b->child;
    for (const struct json *item = a->child; item; item = item->next) {
        const struct json *like = a->type == JSON_OBJECT ? member_like(b, other, item) : other;
        if (!like || !same_within(item, like, depth + 1))
            return false;
        other = other ? other->next : NULL;
    }
    return true;
}

bool json_same(const struct json *a, const struct json *b)
{
    return same_within(a, b, 0);
}

/* ---- One turn ---- */

struct keys {
    const char *role, *content;
};

static struct keys keys_of(const struct json *turn, const struct column_names *names)
{
    struct keys keys = {"role", "content"};

    if (names && names->role)
        keys.role = names->role;
    else if (!json_get(turn, "role") && json_get(turn, "from"))
        keys.role = "from";
    if (names && names->content)
        keys.content = names->content;
    else if (!json_get(turn, "content") && json_get(turn, "value"))
        keys.content = "value";
    return keys;
}

static struct str usual_role(struct str role)
{
    if (str_is(role, "human"))
        return str_of("user");
    return str_is(role, "gpt") ? str_of("assistant") : role;
}

/* A setting may call them otherwise. */
static struct str role_of(struct str role, const char *key, const struct column_names *names)
{
    if (names && names->user && str_is(role, names->user))
        return str_of("user");
    if (names && names->assistant && str_is(role, names->assistant))
        return str_of("assistant");
    return strcmp(key, "from") == 0 ? usual_role(role) : role;
}

/* The turn with `role` and `content` at the end, as when the old keys are taken out and the new ones
 * put in. */
static struct json *renamed(const struct json *turn, const struct column_names *names,
                            struct arena *arena)
{
    const struct keys keys = keys_of(turn, names);
    struct list_end out = list_begin(arena);
    const char *const old[] = {keys.role, keys.content};
    static const char *const NEW[] = {"role", "content"};

    if (!out.list)
        return NULL;
    out.list->type = JSON_OBJECT;
    out.list->line = turn->line;
    for (const struct json *member = turn->child; member; member = member->next) {
        if (str_is(member->key, old[0]) || str_is(member->key, old[1]) ||
            str_is(member->key, NEW[0]) || str_is(member->key, NEW[1]))
            continue;
        struct json *copy = copy_of(member, arena);
        if (!copy)
            return NULL;
        turns_add(&out, copy);
    }
    for (size_t i = 0; i < 2; i++) {
        const struct json *value = json_get(turn, old[i]);
        struct json *copy = value ? copy_of(value, arena) : NULL;

        if (value && !copy)
            return NULL;
        if (!copy)
            continue;
        copy->key = str_of(NEW[i]);
        if (i == 0 && copy->type == JSON_STRING)
            copy->text = role_of(copy->text, old[0], names);
        turns_add(&out, copy);
    }
    return out.list;
}

static const char *const TYPE_NAMES[] = {
    [JSON_NULL] = "null",       [JSON_FALSE] = "a boolean", [JSON_TRUE] = "a boolean",
    [JSON_NUMBER] = "a number", [JSON_STRING] = "a text",   [JSON_ARRAY] = "a list",
    [JSON_OBJECT] = "an object"};

static bool calls_tools(const struct json *turn)
{
    static const char *const NAMES[] = {"tool_calls", "function_call"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const struct json *calls = json_get(turn, NAMES[i]);
        if (calls && calls->type != JSON_NULL && (calls->n || calls->type == JSON_STRING))
            return true;
    }
    return false;
}

/* What is wrong with a turn that has the usual keys, or NULL. */
static const char *oddity_of(const struct json *turn, size_t number, struct arena *arena)
{
    const struct json *role = json_get(turn, "role"), *content = json_get(turn, "content");

    if (!role)
        return arena_printf(arena, "turn %zu has no role", number);
    if (role->type != JSON_STRING)
        return arena_printf(arena, "the role of turn %zu is %s", number, TYPE_NAMES[role->type]);
    if ((!content || content->type == JSON_NULL) && calls_tools(turn))
        return NULL;
    if (!content)
        return arena_printf(arena, "turn %zu has no content", number);
    if (content->type != JSON_STRING && content->type != JSON_ARRAY)
        return arena_printf(arena, "the content of turn %zu is %s", number,
                            TYPE_NAMES[content->type]);
    return NULL;
}

static bool is_usual(const struct json *list, const struct column_names *names)
{
    for (const struct json *turn = list->child; turn; turn = turn->next) {
        struct keys keys = keys_of(turn, names);
        if (strcmp(keys.role, "role") != 0 || strcmp(keys.content, "content") != 0)
            return false;
    }
    return !names || (!names->user && !names->assistant);
}

/* ---- A list of turns ---- */

static const char *refuse(const struct json *value, const char *name, struct arena *arena)
{
    size_t number = 1;

    if (!json_is(value, JSON_ARRAY))
        return arena_printf(arena, "%s is %s, not a list", name, TYPE_NAMES[value->type]);
    if (value->n == 0)
        return arena_printf(arena, "%s is an empty list", name);
    for (const struct json *turn = value->child; turn; turn = turn->next, number++)
        if (turn->type != JSON_OBJECT)
            return arena_printf(arena, "turn %zu of %s is %s, not an object", number, name,
                                TYPE_NAMES[turn->type]);
    return NULL;
}

static const struct json *rename_all(const struct json *list, const struct column_names *names,
                                     struct arena *arena)
{
    struct list_end out = list_begin(arena);

    for (const struct json *turn = list->child; out.list && turn; turn = turn->next) {
        struct json *usual = renamed(turn, names, arena);
        if (!usual)
            return NULL;
        turns_add(&out, usual);
    }
    return out.list;
}

struct turns turns_of(const struct json *value, const char *name, const struct column_names *names,
                      struct arena *arena)
{
    const struct json *list = turns_of_value(value, arena);
    struct turns out = {.oddity = refuse(list ? list : value, name, arena)};
    size_t number = 1;

    /* An empty list is a conversation without turns; a template decides about it. */
    if (out.oddity && !(list && list->n == 0))
        return out;
    out.list = is_usual(list, names) ? list : rename_all(list, names, arena);
    for (const struct json *turn = out.list ? out.list->child : NULL; turn && !out.oddity;
         turn = turn->next)
        out.oddity = oddity_of(turn, number++, arena);
    return out;
}

/* ---- What readers of turns ask ---- */

struct str turn_role(const struct json *message)
{
    static const char *const ASSISTANTS[] = {"gpt", "model", "bot", "chatgpt"};
    const struct json *role = json_get(message, "role");

    if (!json_is(role, JSON_STRING))
        role = json_get(message, "from");
    if (!json_is(role, JSON_STRING))
        return str_of("");
    for (size_t i = 0; i < sizeof ASSISTANTS / sizeof *ASSISTANTS; i++)
        if (str_is(role->text, ASSISTANTS[i]))
            return str_of("assistant");
    return usual_role(role->text);
}

static struct str text_of_part(const struct json *part)
{
    const struct json *text = json_is(part, JSON_OBJECT) ? json_get(part, "text") : part;

    return json_is(text, JSON_STRING) ? text->text : (struct str){NULL, 0};
}

static struct str joined(const struct json *parts, struct arena *arena)
{
    size_t n = 0, at = 0, n_texts = 0;
    struct str only = {NULL, 0};

    for (const struct json *part = parts->child; part; part = part->next) {
        struct str text = text_of_part(part);
        if (text.p && n_texts++ == 0)
            only = text;
        n += text.p ? text.n : 0;
    }
    if (n_texts <= 1)
        return only;
    char *out = arena_alloc(arena, n + 1);
    for (const struct json *part = parts->child; out && part; part = part->next) {
        struct str text = text_of_part(part);
        if (text.n)
            memcpy(out + at, text.p, text.n);
        at += text.n;
    }
    return (struct str){out, out ? n : 0};
}

struct str turn_text(const struct json *message, struct arena *arena)
{
    const struct json *content = json_get(message, "content");

    if (!content)
        content = json_get(message, "value");
    if (json_is(content, JSON_STRING))
        return content->text;
    return json_is(content, JSON_ARRAY) ? joined(content, arena) : (struct str){NULL, 0};
}
