/* See modelfile.h. One character after the other moves a small machine; a value ends with the first
 * line at whose end its quotes are closed. */
#include "core/text/go/modelfile.h"

#include <stdio.h>

#include "core/base/unicode.h"
#include "core/base/unicode_case.h"

static const char *const INSTRUCTIONS[] = {
    "from",     "license", "template",  "system",  "adapter",
    "renderer", "parser",  "parameter", "message", "requires",
};

enum place { BETWEEN, IN_NAME, IN_KEY, IN_VALUE, IN_COMMENT, IN_LOST_LINE };

struct reader {
    struct arena *arena;
    enum place place;
    int64_t line;
    struct buf text;            /* of the word or value that is read */
    struct modelfile_instruction now;
    struct modelfile_instruction *items;
    size_t n, capacity;
    struct modelfile_complaint *complaints;
    size_t n_complaints;
};

static const char *instruction_of(struct str word)
{
    for (size_t i = 0; i < sizeof INSTRUCTIONS / sizeof *INSTRUCTIONS; i++)
        if (str_is_ignoring_case(word, INSTRUCTIONS[i]))
            return INSTRUCTIONS[i];
    return NULL;
}

bool modelfile_is_instruction(struct str word)
{
    return instruction_of(word) != NULL;
}

static bool is_space(int32_t c)
{
    return c == ' ' || c == '\t';
}

static bool is_newline(int32_t c)
{
    return c == '\r' || c == '\n';
}

static bool is_letter(int32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void put(struct buf *out, int32_t c)
{
    char bytes[4];

    buf_add(out, bytes, unicode_put(bytes, c < 0 ? 0xFFFD : c));
}

static void put_printable(struct buf *out, int32_t c)
{
    if (c < 0 || unicode_is_printable(c))
        put(out, c);
}

static void complain(struct reader *r, int64_t line, const char *message)
{
    if (!r->complaints)
        r->complaints = arena_array(r->arena, MODELFILE_COMPLAINTS, sizeof *r->complaints);
    if (r->complaints && r->n_complaints < MODELFILE_COMPLAINTS)
        r->complaints[r->n_complaints++] = (struct modelfile_complaint){line, message};
}

/* ---- values ---- */

/* Without its quotes; false: they are open. */
static bool unquote(struct str value, struct str *out)
{
    size_t n = str_starts(value, "\"\"\"") ? 3 : str_starts(value, "\"") ? 1 : 0;
    const char *quotes = n == 3 ? "\"\"\"" : "\"";

    if (n > 0 && (value.n < 2 * n || !str_ends(value, quotes)))
        return false;
    *out = str_from(value.p + n, value.n - 2 * n);
    return true;
}

/* false: the value goes on. */
static bool finish_value(struct reader *r)
{
    struct str value;
    struct modelfile_instruction *items;

    if (!unquote(str_trim(buf_view(&r->text)), &value))
        return false;
    items = arena_room(r->arena, r->items, r->n, &r->capacity, sizeof *items);
    if (items) {
        r->items = items;
        r->now.value = str_from(arena_strndup(r->arena, value.p, value.n), value.n);
        items[r->n++] = r->now;
    }
    r->place = BETWEEN;
    return true;
}

/* ---- words ---- */

static void begin_value(struct reader *r)
{
    buf_clear(&r->text);
    r->place = IN_VALUE;
}

static void lose_line(struct reader *r, int32_t c, const char *message)
{
    complain(r, r->now.line, message);
    r->place = is_newline(c) ? BETWEEN : IN_LOST_LINE;
}

static void finish_name(struct reader *r, int32_t c)
{
    const char *name = instruction_of(buf_view(&r->text));

    if (!name || !is_space(c)) {
        lose_line(r, c,
                  name ? arena_printf(r->arena, "%s without a value", name)
                       : "no instruction: expected FROM, PARAMETER, TEMPLATE, SYSTEM, ADAPTER, "
                         "MESSAGE, LICENSE, RENDERER, PARSER or REQUIRES");
        return;
    }
    r->now.name = name;
    r->now.key = NULL;
    begin_value(r);
    if (strcmp(name, "parameter") == 0 || strcmp(name, "message") == 0)
        r->place = IN_KEY;
}

static bool is_role(struct str word)
{
    return str_is(word, "system") || str_is(word, "user") || str_is(word, "assistant");
}

static void finish_key(struct reader *r, int32_t c)
{
    struct str word = buf_view(&r->text);
    bool is_message = strcmp(r->now.name, "message") == 0;

    if (!is_space(c))
        lose_line(r, c,
                  is_message ? "message: expected a role and a text"
                             : "parameter: expected a name and a value");
    else if (is_message && !is_role(word))
        lose_line(r, c, "message: the role is none of system, user and assistant");
    else if (word.n == 0)
        lose_line(r, c, "parameter: expected a name behind one blank");
    else {
        r->now.key = arena_strndup(r->arena, word.p, word.n);
        begin_value(r);
    }
}

/* ---- the machine ---- */

static void step_between(struct reader *r, int32_t c)
{
    if (is_space(c) || is_newline(c))
        return;
    buf_clear(&r->text);
    put_printable(&r->text, c);
    r->now.line = r->line;
    r->place = c == '#' ? IN_COMMENT : IN_NAME;
}

static void step(struct reader *r, int32_t c)
{
    switch (r->place) {
    case BETWEEN:
        step_between(r, c);
        break;
    case IN_NAME:
        if (is_letter(c))
            put(&r->text, c);
        else
            finish_name(r, c);
        break;
    case IN_KEY:
        if (is_letter(c) || (strcmp(r->now.name, "parameter") == 0 &&
                             (c == '_' || (c >= '0' && c <= '9'))))
            put(&r->text, c);
        else
            finish_key(r, c);
        break;
    case IN_VALUE:
        if (is_newline(c) && finish_value(r))
            break;
        if (is_newline(c) || is_space(c))
            put(&r->text, c);
        else
            put_printable(&r->text, c);
        break;
    case IN_COMMENT:
    case IN_LOST_LINE:
        if (is_newline(c))
            r->place = BETWEEN;
        break;
    }
}

static void finish(struct reader *r)
{
    if (r->place == IN_VALUE && !finish_value(r))
        complain(r, r->now.line,
                 arena_printf(r->arena, "%s: its quotes are not closed at the end of the file",
                              r->now.name));
    else if (r->place == IN_NAME || r->place == IN_KEY)
        complain(r, r->now.line, "the file ends inside of an instruction");
    const struct modelfile made = {.items = r->items, .n = r->n};

    if (!modelfile_last(&made, "from"))
        complain(r, NONE, "no FROM: Ollama takes no such file");
}

int modelfile_read(struct str text, struct arena *arena, struct modelfile *out, struct error *err)
{
    struct reader r = {.arena = arena, .line = 1};

    if (text.n > MODELFILE_BYTES)
        return error_set(err, E_LIMIT, "a Modelfile of %zu bytes", text.n);
    buf_init(&r.text, MODELFILE_BYTES * 3 + 16);
    if (str_starts(text, "\xEF\xBB\xBF"))
        text = str_skip(text, 3);
    while (text.n > 0) {
        int32_t c;
        size_t n = unicode_next(text, &c);

        step(&r, c);
        r.line += c == '\n';
        text = str_skip(text, n);
    }
    finish(&r);
    bool failed = r.text.failed || arena_failed(arena);

    buf_free(&r.text);
    if (failed)
        return error_set(err, E_NOMEM, "no memory for a Modelfile");
    *out = (struct modelfile){r.items, r.n, r.complaints, r.n_complaints};
    return OK;
}

const struct modelfile_instruction *modelfile_last(const struct modelfile *file, const char *name)
{
    for (size_t i = file->n; i-- > 0;)
        if (strcmp(file->items[i].name, name) == 0)
            return &file->items[i];
    return NULL;
}
