/* How the values of a pickle are shown as settings: what a few well-known calls mean (enums, paths,
 * devices, containers), the rest as module.name(…). Walks what pickle.c built, runs nothing. */

#include "core/base/number.h"
#include "core/read/json.h"
#include "core/read/pickle.h"

#define TEXT_MAX_DEPTH 200

static void show(struct buf *out, const struct pickle_value *value, bool quoted, int depth);

static bool is_global(const struct pickle_value *value, const char *text)
{
    return value && value->type == PICKLE_GLOBAL && str_is(value->text, text);
}

static bool is_name(const struct pickle_value *value, const char *name)
{
    ptrdiff_t blank;

    if (!value || value->type != PICKLE_GLOBAL)
        return false;
    blank = str_find(value->text, " ");
    return blank >= 0 && str_is(str_skip(value->text, (size_t)blank + 1), name);
}

static const struct pickle_value *argument(const struct pickle_value *call, size_t i)
{
    const struct pickle_value *arguments = call->arguments;

    return arguments && arguments->type == PICKLE_TUPLE && i < arguments->n ? arguments->items[i]
                                                                            : NULL;
}

static bool is_text(const struct pickle_value *value)
{
    return value && value->type == PICKLE_TEXT;
}

static void add_text(struct buf *out, struct str text, bool quoted)
{
    if (quoted)
        json_write_string(out, text);
    else
        buf_str(out, text);
}

static void add_lower(struct buf *out, struct str text, bool quoted)
{
    char lower[256];
    size_t n = text.n < sizeof lower ? text.n : sizeof lower;

    for (size_t i = 0; i < n; i++)
        lower[i] = text.p[i] >= 'A' && text.p[i] <= 'Z' ? (char)(text.p[i] | 32) : text.p[i];
    add_text(out, str_from(lower, n), quoted);
}

/* "torch bfloat16" as torch.bfloat16. */
static void add_dotted(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        buf_putc(out, text.p[i] == ' ' ? '.' : text.p[i]);
}

static void show_items(struct buf *out, const struct pickle_value *value, int depth)
{
    buf_putc(out, '[');
    for (size_t i = 0; i < value->n && !out->failed; i++) {
        if (i)
            buf_putc(out, ',');
        show(out, value->items[i], true, depth + 1);
    }
    buf_putc(out, ']');
}

/* Only plain keys are shown: a key that holds containers would be a bomb, and Python has none. */
static void show_key(struct buf *out, const struct pickle_value *key)
{
    struct buf text;
    bool is_plain = key->type == PICKLE_NONE || key->type == PICKLE_BOOL ||
                    key->type == PICKLE_INT || key->type == PICKLE_FLOAT ||
                    key->type == PICKLE_GLOBAL || key->type == PICKLE_BYTES;

    if (is_text(key)) {
        json_write_string(out, key->text);
        return;
    }
    buf_init(&text, 4096);
    if (is_plain)
        show(&text, key, false, 0);
    json_write_string(out, is_plain ? buf_view(&text) : str_of("(…)"));
    buf_free(&text);
}

static void show_pairs(struct buf *out, const struct pickle_value *value, int depth)
{
    buf_putc(out, '{');
    for (size_t i = 0; i + 1 < value->n && !out->failed; i += 2) {
        if (i)
            buf_putc(out, ',');
        show_key(out, value->items[i]);
        buf_putc(out, ':');
        show(out, value->items[i + 1], true, depth + 1);
    }
    buf_putc(out, '}');
}

/* PosixPath('/', 'data', 'run') */
static void show_path(struct buf *out, const struct pickle_value *call, bool quoted)
{
    struct buf path;

    buf_init(&path, 65536);
    for (size_t i = 0; call->arguments && i < call->arguments->n; i++) {
        const struct pickle_value *part = argument(call, i);

        if (!is_text(part))
            break;
        if (path.n && path.p[path.n - 1] != '/')
            buf_putc(&path, '/');
        buf_str(&path, part->text);
    }
    add_text(out, buf_view(&path), quoted);
    buf_free(&path);
}

static void show_device(struct buf *out, const struct pickle_value *call, bool quoted)
{
    const struct pickle_value *kind = argument(call, 0), *index = argument(call, 1);
    struct buf text;

    buf_init(&text, 256);
    if (is_text(kind))
        buf_str(&text, kind->text);
    if (index && index->type == PICKLE_INT)
        buf_printf(&text, ":%lld", (long long)index->integer);
    add_text(out, buf_view(&text), quoted);
    buf_free(&text);
}

static void show_unknown_call(struct buf *out, const struct pickle_value *call, bool quoted)
{
    struct buf text;

    buf_init(&text, 4096);
    if (call->callee && call->callee->type == PICKLE_GLOBAL)
        add_dotted(&text, call->callee->text);
    else
        buf_puts(&text, "object");
    buf_puts(&text, "(…)");
    add_text(out, buf_view(&text), quoted);
    buf_free(&text);
}

/* set([…]), OrderedDict(), frozenset(…): what they hold. */
static bool show_container(struct buf *out, const struct pickle_value *call, int depth)
{
    static const char *const lists[] = {"set", "frozenset", "list", "tuple", "deque"};
    const struct pickle_value *first = argument(call, 0);

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (!is_name(call->callee, lists[i]))
            continue;
        if (first && first->type != PICKLE_CALL)
            show(out, first, true, depth + 1);
        else
            show_items(out, call, depth);
        return true;
    }
    if (!is_name(call->callee, "OrderedDict") && !is_name(call->callee, "dict") &&
        !is_name(call->callee, "defaultdict"))
        return false;
    show_pairs(out, call, depth);
    return true;
}

static void show_call(struct buf *out, const struct pickle_value *call, bool quoted, int depth)
{
    const struct pickle_value *first = argument(call, 0), *second = argument(call, 1);
    bool is_named = call->callee && call->callee->type == PICKLE_GLOBAL;

    if (is_named && (is_name(call->callee, "PosixPath") || is_name(call->callee, "WindowsPath") ||
                     is_name(call->callee, "PurePosixPath")))
        show_path(out, call, quoted);
    else if (is_global(call->callee, "torch device"))
        show_device(out, call, quoted);
    else if (is_name(call->callee, "getattr") && first && first->type == PICKLE_GLOBAL &&
             is_text(second))
        add_lower(out, second->text, quoted);
    else if (is_global(call->callee, "_codecs encode") && is_text(first))
        add_text(out, first->text, quoted);
    else if (show_container(out, call, depth))
        return;
    else if (is_named && is_text(first) && call->arguments->n == 1 && !call->state)
        add_lower(out, first->text, quoted); /* IntervalStrategy('steps') */
    else
        show_unknown_call(out, call, quoted);
}

static void show_int(struct buf *out, const struct pickle_value *value, bool quoted)
{
    if (value->text.p && value->text.n)
        add_text(out, value->text, quoted);
    else
        buf_printf(out, "%lld", (long long)value->integer);
}

static void show(struct buf *out, const struct pickle_value *value, bool quoted, int depth)
{
    char text[32];

    if (out->failed)
        return;
    if (depth > TEXT_MAX_DEPTH) {
        add_text(out, str_of("…"), quoted);
        return;
    }
    switch (value->type) {
    case PICKLE_NONE:
        buf_puts(out, "null");
        break;
    case PICKLE_BOOL:
        buf_puts(out, value->boolean ? "true" : "false");
        break;
    case PICKLE_INT:
        show_int(out, value, quoted);
        break;
    case PICKLE_FLOAT:
        number_repr(text, value->number);
        if (quoted)
            json_write_number(out, value->number);
        else
            buf_puts(out, text);
        break;
    case PICKLE_TEXT:
    case PICKLE_BYTES:
        add_text(out, value->text, quoted);
        break;
    case PICKLE_LIST:
    case PICKLE_TUPLE:
    case PICKLE_SET:
        show_items(out, value, depth);
        break;
    case PICKLE_DICT:
        show_pairs(out, value, depth);
        break;
    case PICKLE_GLOBAL:
        if (quoted)
            buf_putc(out, '"');
        add_dotted(out, value->text);
        if (quoted)
            buf_putc(out, '"');
        break;
    case PICKLE_CALL:
        show_call(out, value, quoted, depth);
        break;
    case PICKLE_PERSISTENT:
        add_text(out, str_of("stored tensor data"), quoted);
        break;
    }
}

void pickle_text(struct buf *out, const struct pickle_value *value)
{
    show(out, value, false, 0);
}

const struct pickle_value *pickle_attributes(const struct pickle_value *object)
{
    const struct pickle_value *state = object && object->type == PICKLE_CALL ? object->state : NULL;

    /* (dict, slots) of classes with slots */
    if (state && state->type == PICKLE_TUPLE && state->n == 2)
        state = state->items[0]->type == PICKLE_DICT ? state->items[0] : state->items[1];
    return state && state->type == PICKLE_DICT ? state : NULL;
}
