/* Trees of JSON values in a text that may be a window of a longer one: the nested rows of
 * json_stream.c and jsonl.c. Whole documents are json.c. See json_scan.h. */
#include "core/read/json_scan.h"

#include <stdlib.h>

#include "core/base/hash.h"

#define FEW_MEMBERS 12 /* so many are compared with each other */

static int scan_value(struct json_cursor *cursor, int depth, struct json *out);

static int no_room(struct json_cursor *cursor)
{
    return json_fail(cursor, cursor->p, E_LIMIT, "the document does not fit into its memory");
}

static int own(struct json_cursor *cursor, const struct json_scalar *scalar, struct str *out)
{
    *out = scalar->is_borrowed ? arena_str(cursor->arena, scalar->text) : scalar->text;
    return arena_failed(cursor->arena) ? no_room(cursor) : OK;
}

/* ---- duplicate keys: the last counts, at the place of the first ---- */

static void replace_value(struct json *first, const struct json *last)
{
    struct str key = first->key;
    struct json *next = first->next;

    *first = *last;
    first->key = key;
    first->next = next;
}

/* The member before `until` that has the key, or NULL. */
static struct json *find_before(const struct json *object, const struct json *until)
{
    for (struct json *member = object->child; member != until; member = member->next)
        if (str_eq(member->key, until->key))
            return member;
    return NULL;
}

/* The member of the key in an open table, which gets `member` when there was none. */
static struct json *find_or_put(struct json **table, size_t mask, struct json *member)
{
    size_t at = (size_t)hash_bytes(member->key.p, member->key.n) & mask;

    while (table[at] && !str_eq(table[at]->key, member->key))
        at = (at + 1) & mask;
    if (table[at])
        return table[at];
    table[at] = member;
    return NULL;
}

int json_merge_members(struct json *object, int *n_merged)
{
    struct json **table = NULL;
    size_t mask = 0;

    if (object->n > FEW_MEMBERS) {
        for (mask = 64; mask < 2 * object->n; mask *= 2)
            ;
        table = calloc(mask--, sizeof(struct json *));
        if (!table)
            return E_NOMEM;
    }
    for (struct json *member = object->child, *previous = NULL; member; member = member->next) {
        struct json *first = table ? find_or_put(table, mask, member) : find_before(object, member);

        if (!first) {
            previous = member;
            continue;
        }
        replace_value(first, member);
        previous->next = member->next;
        object->n--;
        ++*n_merged;
    }
    free(table);
    return OK;
}

int json_merge_duplicates(struct json_cursor *cursor, struct json *object)
{
    return json_merge_members(object, &cursor->n_repairs) == OK
               ? OK
               : json_fail(cursor, cursor->p, E_NOMEM, "no memory for %zu members", object->n);
}

/* ---- values ---- */

static int scan_key(struct json_cursor *cursor, struct str *key)
{
    struct json_scalar scalar;
    char c;
    int rc = json_peek(cursor, &c, "an object");

    if (rc != OK)
        return rc;
    if (c != '"')
        return json_fail(cursor, cursor->p, E_PARSE, "expected a key in double quotes");
    rc = json_scan_string(cursor, &scalar);
    if (rc == OK)
        rc = own(cursor, &scalar, key);
    if (rc == OK)
        rc = json_skip_blanks(cursor);
    if (rc == OK)
        rc = json_peek(cursor, &c, "an object");
    if (rc != OK)
        return rc;
    if (c != ':')
        return json_fail(cursor, cursor->p, E_PARSE, "no ':' after a key");
    cursor->p++;
    return json_skip_blanks(cursor);
}

static int scan_child(struct json_cursor *cursor, int depth, struct json *parent,
                      struct json ***tail)
{
    struct json *child = arena_alloc(cursor->arena, sizeof *child);
    int rc = OK;

    if (!child)
        return no_room(cursor);
    if (parent->type == JSON_OBJECT)
        rc = scan_key(cursor, &child->key);
    if (rc == OK)
        rc = scan_value(cursor, depth + 1, child);
    if (rc != OK)
        return rc;
    **tail = child;
    *tail = &child->next;
    parent->n++;
    return json_skip_blanks(cursor);
}

/* An object or array, at its bracket. */
static int scan_children(struct json_cursor *cursor, int depth, struct json *out)
{
    const char *what = out->type == JSON_OBJECT ? "an object" : "an array";
    char close = out->type == JSON_OBJECT ? '}' : ']';
    struct json **tail = &out->child;
    char c = ',';
    int rc;

    if (depth >= JSON_MAX_DEPTH)
        return json_fail(cursor, cursor->p, E_LIMIT, "nested more than %d deep", JSON_MAX_DEPTH);
    cursor->p++;
    rc = json_skip_blanks(cursor);
    if (rc == OK && cursor->p < cursor->end && *cursor->p == close)
        c = close;
    while (rc == OK && c != close) {
        rc = scan_child(cursor, depth, out, &tail);
        if (rc == OK)
            rc = json_peek(cursor, &c, what);
        if (rc != OK)
            return rc;
        if (c == close)
            break;
        if (c != ',')
            return json_fail(cursor, cursor->p, E_PARSE, "no ',' or '%c' after a value", close);
        cursor->p++;
        rc = json_skip_blanks(cursor);
    }
    if (rc != OK)
        return rc;
    cursor->p++;
    return out->type == JSON_OBJECT && out->n > 1 ? json_merge_duplicates(cursor, out) : OK;
}

static int scan_value(struct json_cursor *cursor, int depth, struct json *out)
{
    struct json_scalar scalar;
    char c;
    int rc = json_peek(cursor, &c, "the document");

    if (rc != OK)
        return rc;
    out->line = cursor->line;
    if (c == '{' || c == '[') {
        out->type = c == '{' ? JSON_OBJECT : JSON_ARRAY;
        return scan_children(cursor, depth, out);
    }
    rc = json_scan_scalar(cursor, &scalar);
    if (rc != OK)
        return rc;
    out->type = scalar.type;
    if (scalar.type != JSON_STRING && scalar.type != JSON_NUMBER)
        return OK;
    out->is_integer = scalar.is_integer;
    if (scalar.type == JSON_NUMBER)
        out->number = scalar.number;
    return own(cursor, &scalar, &out->text);
}

int json_scan_tree(struct json_cursor *cursor, struct json *out)
{
    struct str key = out->key;

    *out = (struct json){.key = key};
    return scan_value(cursor, 0, out);
}
