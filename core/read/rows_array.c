/* The elements of one JSON array, found by brackets and quotes; what they say is parsed elsewhere. So
 * one element that is wrong costs itself and not the rest. See rows_parts.h. */
#include <string.h>

#include "core/read/rows_parts.h"

/* ---- The end of a value ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool ends_scalar(char c)
{
    return c == ',' || c == ']' || c == '}' || c == ':' || is_blank(c);
}

/* Inside a string: bytes up to and with its closing quote, or all. */
static size_t pass_string(struct value_scan *scan, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (scan->is_escaped) {
            scan->is_escaped = false;
        } else if (p[i] == '\\') {
            scan->is_escaped = true;
        } else if (p[i] == '"') {
            scan->in_string = false;
            return i + 1;
        }
    }
    return n;
}

static size_t begin(struct value_scan *scan, char c)
{
    scan->is_begun = true;
    scan->in_string = c == '"';
    scan->depth = c == '{' || c == '[';
    scan->is_scalar = !scan->in_string && !scan->depth;
    return 1;
}

size_t value_scan(struct value_scan *scan, struct str chunk, bool *done)
{
    size_t i = 0;

    *done = false;
    if (!scan->is_begun && chunk.n)
        i = begin(scan, chunk.p[0]);
    while (i < chunk.n) {
        char c = chunk.p[i];

        if (scan->is_scalar) {
            if (ends_scalar(c)) {
                *done = true;
                return i;
            }
            i++;
            continue;
        }
        if (scan->in_string)
            i += pass_string(scan, chunk.p + i, chunk.n - i);
        else {
            scan->in_string = c == '"';
            scan->depth += (c == '{' || c == '[') - (c == '}' || c == ']');
            i++;
        }
        if (scan->depth <= 0 && !scan->in_string) {
            *done = true;
            return i;
        }
    }
    return i;
}

/* ---- Where the array begins ---- */

/* Members that hold the rows of a document; not columns of rows, which hold lists too. */
static bool is_container(struct str key)
{
    static const char *const NAMES[] = {"data",     "rows",       "train", "training", "test",
                                        "eval",     "validation", "valid", "val",      "dev",
                                        "examples", "instances",  "items", "samples",  "records",
                                        "dataset",  "entries"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is_ignoring_case(key, NAMES[i]))
            return true;
    return false;
}

static size_t pass_blanks(struct str text, size_t i)
{
    while (i < text.n && is_blank(text.p[i]))
        i++;
    return i;
}

static bool is_array_of_objects(struct str text, size_t i)
{
    if (i >= text.n || text.p[i] != '[')
        return false;
    i = pass_blanks(text, i + 1);
    return i < text.n && text.p[i] == '{';
}

/* The first member of an object that is a container. */
static struct array_place find_member(struct str text, size_t i)
{
    static const struct array_place NO = {.is_array = false, .at = NONE};

    for (i = pass_blanks(text, i + 1); i < text.n && text.p[i] == '"';
         i = pass_blanks(text, i + 1)) {
        struct value_scan scan = {.depth = 0};
        bool done;
        size_t n = value_scan(&scan, str_skip(text, i), &done);
        struct str key = str_from(text.p + i + 1, n > 2 ? n - 2 : 0);

        i = pass_blanks(text, i + n);
        if (!done || i >= text.n || text.p[i] != ':')
            return NO;
        i = pass_blanks(text, i + 1);
        if (is_container(key) && is_array_of_objects(text, i))
            return (struct array_place){.is_array = true, .at = (int64_t)i, .key = key};
        scan = (struct value_scan){.depth = 0};
        i = pass_blanks(text, i + value_scan(&scan, str_skip(text, i), &done));
        if (!done || i >= text.n || text.p[i] != ',')
            return NO;
    }
    return NO;
}

/* An object that is the whole document, not the first of several lines. */
static bool is_document(struct str head, size_t i, bool is_all, bool is_lines_name)
{
    struct value_scan scan = {.depth = 0};
    bool done;
    size_t n = value_scan(&scan, str_skip(head, i), &done);

    if (memchr(head.p + i, '\n', n)) /* a row has no line ends inside */
        return true;
    return !is_lines_name && (done ? pass_blanks(head, i + n) == head.n && is_all : true);
}

struct array_place find_array(struct str head, bool is_all, bool is_lines_name)
{
    size_t i = str_starts(head, "\xef\xbb\xbf") ? 3 : 0;

    i = pass_blanks(head, i);
    if (i < head.n && head.p[i] == '[')
        return (struct array_place){.is_array = true, .at = (int64_t)i};
    if (i < head.n && head.p[i] == '{' && is_document(head, i, is_all, is_lines_name))
        return find_member(head, i);
    return (struct array_place){.is_array = false, .at = NONE};
}

/* ---- Elements ---- */

void elements_init(struct elements *elements, struct source_file *file, bool is_top)
{
    *elements = (struct elements){.file = file, .is_top = is_top, .line = 1};
    buf_init(&elements->text, SOURCE_LINE_BYTES);
}

void elements_free(struct elements *elements)
{
    buf_free(&elements->text);
}

int elements_seek(struct elements *elements, int64_t at, bool is_start, struct error *err)
{
    int rc = source_seek(elements->file, at, err);

    elements->chunk = str_from(NULL, 0);
    elements->at = at;
    elements->line = 1;
    elements->state = is_start ? AT_START : AT_VALUE;
    return rc;
}

static void take(struct elements *elements, size_t n)
{
    const char *p = elements->chunk.p, *end = p + n;

    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
        elements->line++;
        p++;
    }
    elements->at += (int64_t)n;
    elements->chunk = str_skip(elements->chunk, n);
}

static int broken(struct elements *elements, struct error *err, const char *what)
{
    int rc = error_set(err, E_PARSE, "%s", what);

    error_at(err, source_path(elements->file), elements->line, elements->at);
    return rc;
}

/* *c is the next byte that is no blank; '\0' with *at_end at the end. It is not taken. */
static int peek(struct elements *elements, char *c, bool *at_end, struct error *err)
{
    for (;;) {
        size_t n = pass_blanks(elements->chunk, 0);

        if (n)
            take(elements, n);
        *at_end = false;
        if (elements->chunk.n) {
            *c = elements->chunk.p[0];
            return OK;
        }
        int rc = source_chunk(elements->file, &elements->chunk, err);
        if (rc != OK)
            return rc;
        if (elements->chunk.n == 0) {
            *c = '\0';
            *at_end = true;
            return OK;
        }
    }
}

static int gather(struct elements *elements, struct element *out, struct error *err)
{
    struct value_scan scan = {.depth = 0};
    bool done = false;

    buf_clear(&elements->text);
    *out = (struct element){.at = elements->at, .line = elements->line};
    while (!done) {
        if (elements->chunk.n == 0) {
            int rc = source_chunk(elements->file, &elements->chunk, err);
            if (rc != OK)
                return rc;
        }
        if (elements->chunk.n == 0)
            return broken(elements, err, "the text breaks off inside a row of the array");
        size_t n = value_scan(&scan, elements->chunk, &done);
        size_t room = SOURCE_LINE_BYTES - elements->text.n;

        buf_add(&elements->text, elements->chunk.p, n < room ? n : room);
        if (elements->text.failed)
            return error_set(err, E_NOMEM, "no memory for a row");
        out->is_cut = out->is_cut || n > room;
        take(elements, n);
    }
    out->length = elements->at - out->at;
    out->text = buf_view(&elements->text);
    elements->state = BEHIND_VALUE;
    return 1;
}

static int finish(struct elements *elements, struct error *err)
{
    char c;
    bool at_end;

    take(elements, 1);
    elements->state = AT_END;
    if (!elements->is_top)
        return 0;
    int rc = peek(elements, &c, &at_end, err);
    if (rc != OK)
        return rc;
    return at_end ? 0 : broken(elements, err, "text after the end of the array");
}

int elements_next(struct elements *elements, struct element *out, struct error *err)
{
    bool at_end, is_first = elements->state == AT_START;
    char c;

    if (elements->state == AT_END)
        return 0;
    int rc = peek(elements, &c, &at_end, err);
    if (rc == OK && is_first && c == '[') {
        take(elements, 1);
        elements->state = AT_VALUE;
        rc = peek(elements, &c, &at_end, err);
    } else if (rc == OK && elements->state == BEHIND_VALUE && c == ',') {
        take(elements, 1);
        elements->state = AT_VALUE;
        rc = peek(elements, &c, &at_end, err);
    }
    if (rc != OK)
        return rc;
    if (at_end)
        return broken(elements, err, "the text breaks off inside the array of rows");
    if (c == ']' && (is_first || elements->state == BEHIND_VALUE))
        return finish(elements, err);
    if (elements->state != AT_VALUE)
        return broken(elements, err, "no ',' or ']' after a row");
    if (c == ']' || c == ',' || c == '}' || c == ':')
        return broken(elements, err, "no row where one must stand");
    return gather(elements, out, err);
}
