/* JSON documents. See json.h. Long ones are json_stream.c, writing is json_write.c.
 *
 * cJSON decides what a document is and how it hangs together. It cannot be given what Python
 * writes (NaN, lone surrogates, \u0000, 1000 digits), and would lose what we need of it (the digits
 * of a number, the line, the last of duplicate keys). So the scanner reads each string, number and
 * word first, exactly, into the nodes of our tree, and leaves a stand-in of the same length in a
 * private copy, the frame; cJSON parses the frame, and our nodes are then hung as its nodes are. */
#include "core/read/json.h"

#include <cJSON.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/json_scan.h"
#include "core/read/source.h"

struct document {
    struct json_cursor cursor;
    char *frame;                /* as long as the text */
    struct json *first, **tail; /* the nodes in the order of the text */
    struct str key;             /* of the value that comes next */
    int depth;
    char last; /* the last bracket, comma or colon; '\0' after a value */
};

static int no_room(struct document *document)
{
    return json_fail(&document->cursor, document->cursor.p, E_LIMIT,
                     "the document does not fit into its memory");
}

/* ---- before cJSON: words into nodes, the rest into the frame ---- */

static struct json *add_node(struct document *document, enum json_type type)
{
    struct json *node = arena_alloc(document->cursor.arena, sizeof *node);

    if (!node)
        return NULL;
    node->type = type;
    node->key = document->key;
    node->line = document->cursor.line;
    document->key = str_from(NULL, 0);
    *document->tail = node;
    document->tail = &node->next;
    return node;
}

static int own(struct document *document, const struct json_scalar *scalar, struct str *out)
{
    struct arena *arena = document->cursor.arena;

    *out = scalar->is_borrowed ? arena_str(arena, scalar->text) : scalar->text;
    return arena_failed(arena) ? no_room(document) : OK;
}

/* What may follow a number or word: else "01" and "truex" would pass as two. */
static bool is_delimiter(const struct json_cursor *cursor)
{
    return cursor->p == cursor->end || (*cursor->p && strchr(" \t\r\n,:]}/", *cursor->p));
}

static int take_scalar(struct document *document)
{
    struct json_cursor *cursor = &document->cursor;
    struct json_scalar scalar;
    int64_t line = cursor->line;
    int rc = json_scan_scalar(cursor, &scalar);

    if (rc != OK)
        return rc;
    if (!is_delimiter(cursor))
        return json_fail(cursor, cursor->p, E_PARSE, "no ',' or closing bracket after a value");

    struct json *node = add_node(document, scalar.type);

    if (!node)
        return no_room(document);
    node->line = line;
    if (scalar.type != JSON_STRING && scalar.type != JSON_NUMBER)
        return OK;
    node->is_integer = scalar.is_integer;
    node->number = scalar.type == JSON_NUMBER ? scalar.number : 0;
    return own(document, &scalar, &node->text);
}

/* A string: the key of what follows when a colon comes next. */
static int take_string(struct document *document)
{
    struct json_cursor *cursor = &document->cursor;
    struct json_scalar scalar;
    int64_t line = cursor->line;
    struct str text;
    int rc = json_scan_string(cursor, &scalar);

    if (rc == OK)
        rc = own(document, &scalar, &text);
    if (rc == OK)
        rc = json_skip_blanks(cursor);
    if (rc != OK)
        return rc;
    if (cursor->p < cursor->end && *cursor->p == ':') {
        document->key = text;
        return OK;
    }

    struct json *node = add_node(document, JSON_STRING);

    if (!node)
        return no_room(document);
    node->line = line;
    node->text = text;
    return OK;
}

static int take_bracket(struct document *document, char c)
{
    struct json_cursor *cursor = &document->cursor;

    if (document->last == ',' && (c == '}' || c == ']'))
        return json_fail(cursor, cursor->p, E_PARSE, "'%c' after a comma, expected a value", c);
    document->depth += c == '{' || c == '[' ? 1 : -1;
    if (document->depth > JSON_MAX_DEPTH)
        return json_fail(cursor, cursor->p, E_LIMIT, "nested more than %d deep", JSON_MAX_DEPTH);
    if (c == '{' || c == '[')
        if (!add_node(document, c == '{' ? JSON_OBJECT : JSON_ARRAY))
            return no_room(document);
    document->last = c;
    cursor->p++;
    return OK;
}

static int take_word(struct document *document)
{
    struct json_cursor *cursor = &document->cursor;
    char *stand_in = document->frame + (cursor->p - cursor->begin);
    char c = *cursor->p;

    switch (c) {
    case '{':
    case '}':
    case '[':
    case ']':
        *stand_in = c;
        return take_bracket(document, c);
    case ',':
    case ':':
        *stand_in = c;
        document->last = c;
        cursor->p++;
        return OK;
    case '"':
        document->last = '\0';
        stand_in[0] = '"';
        stand_in[1] = '"'; /* before the end of the text, else take_string fails */
        return take_string(document);
    default:
        *stand_in = '0';
        document->last = '\0';
        return take_scalar(document);
    }
}

static int make_frame(struct document *document)
{
    struct json_cursor *cursor = &document->cursor;
    int rc;

    json_skip_mark(cursor);
    for (;;) {
        rc = json_skip_blanks(cursor);
        if (rc != OK || cursor->p == cursor->end)
            return rc;
        rc = take_word(document);
        if (rc != OK)
            return rc;
    }
}

/* ---- cJSON, and after it: the nodes hung as in its tree ---- */

/* cJSON gives NULL for a wrong text and for want of memory alike; its allocator tells which. */
static _Thread_local bool has_no_memory;
static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;

static void *allocate(size_t n)
{
    void *out = malloc(n);

    has_no_memory = has_no_memory || !out;
    return out;
}

static void set_hooks(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){allocate, free});
}

static struct json *next_node(struct document *document)
{
    struct json *node = document->first;

    if (!node)
        BUG("a frame with more values than its text");
    document->first = node->next;
    node->next = NULL;
    return node;
}

static int hang(struct document *document, const cJSON *theirs, struct json **out)
{
    struct json *node = next_node(document);
    struct json **tail = &node->child;
    const cJSON *child;

    cJSON_ArrayForEach(child, theirs)
    {
        int rc = hang(document, child, tail);

        if (rc != OK)
            return rc;
        tail = &(*tail)->next;
        node->n++;
    }
    *out = node;
    return node->type == JSON_OBJECT && node->n > 1 ? json_merge_duplicates(&document->cursor, node)
                                                    : OK;
}

/* Where cJSON stopped is where the text is wrong, since the frame is as long as the text. */
static int out_of_place(struct document *document, const char *stop)
{
    struct json_cursor *cursor = &document->cursor;

    cursor->p = cursor->begin + (stop - document->frame);
    while (cursor->p < cursor->end && document->frame[cursor->p - cursor->begin] == ' ')
        cursor->p++;
    cursor->line = 1;
    for (const char *p = cursor->begin; p < cursor->p; p++)
        cursor->line += *p == '\n';
    if (cursor->p == cursor->end)
        return json_broken_off(cursor, "the document");
    return json_fail(cursor, cursor->p, E_PARSE, "'%c' is out of place", *cursor->p);
}

static int parse_frame(struct document *document, struct json **out)
{
    size_t n = (size_t)(document->cursor.end - document->cursor.begin);
    const char *stop = document->frame;

    pthread_once(&hooks_once, set_hooks);
    has_no_memory = false;

    cJSON *theirs = cJSON_ParseWithLengthOpts(document->frame, n + 1, &stop, true);

    if (!theirs && has_no_memory)
        return error_set(document->cursor.err, E_NOMEM, "no memory for a document of %zu bytes", n);
    if (!theirs)
        return out_of_place(document, stop);

    int rc = hang(document, theirs, out);

    cJSON_Delete(theirs);
    return rc;
}

int json_parse(struct str text, bool allow_comments, struct arena *arena, const struct json **out,
               int *n_repairs, struct error *err)
{
    struct document document = {
        .cursor =
            {
                .line = 1,
                .is_final = true,
                .allow_comments = allow_comments,
                .arena = arena,
                .err = err,
            },
        .tail = &document.first,
    };
    struct json *top;
    int rc;

    document.cursor.begin = document.cursor.p = text.n ? text.p : "";
    document.cursor.end = document.cursor.begin + text.n;
    document.frame = malloc(text.n + 2);
    if (!document.frame)
        return error_set(err, E_NOMEM, "no memory for a document of %zu bytes", text.n);
    memset(document.frame, ' ', text.n + 1);
    document.frame[text.n] = '\0';
    rc = make_frame(&document);
    if (rc == OK)
        rc = parse_frame(&document, &top);
    free(document.frame);
    if (rc != OK)
        return rc;
    if (n_repairs)
        *n_repairs += document.cursor.n_repairs;
    *out = top;
    return OK;
}

static int read_document(const char *path, struct str text, bool allow_comments,
                         struct arena *arena, const struct json **out, int *n_repairs,
                         struct error *err)
{
    enum source_oddity oddity = source_oddity(text);

    if (oddity == ODDITY_LFS_POINTER || oddity == ODDITY_UTF16 || oddity == ODDITY_EMPTY) {
        int rc = error_set(err, oddity == ODDITY_EMPTY ? E_PARSE : E_UNSUPPORTED,
                           "%s, expected JSON", source_oddity_name(oddity));

        error_at(err, path, NONE, NONE);
        return rc;
    }

    int rc = json_parse(text, allow_comments, arena, out, n_repairs, err);

    if (rc != OK && err)
        error_at(err, path, err->line, err->byte);
    return rc;
}

int json_read_file(const char *path, bool allow_comments, struct arena *arena,
                   const struct json **out, int *n_repairs, struct error *err)
{
    char *text;
    size_t n;
    int rc = source_slurp(path, JSON_MAX_BYTES, &text, &n, err);

    if (rc != OK)
        return rc;
    rc = read_document(path, str_from(text, n), allow_comments, arena, out, n_repairs, err);
    free(text);
    return rc;
}

const struct json *json_get(const struct json *object, const char *key)
{
    if (!object || object->type != JSON_OBJECT)
        return NULL;
    for (const struct json *member = object->child; member; member = member->next)
        if (str_is(member->key, key))
            return member;
    return NULL;
}

bool json_is(const struct json *value, enum json_type type)
{
    return value && value->type == type;
}
