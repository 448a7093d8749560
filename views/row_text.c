/* See row_text.h. */
#include "views/row_text.h"

#include <stdio.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/read/decompress.h"
#include "core/read/source.h"
#include "core/text/row_parts.h"

#define SCRATCH_BYTES ((size_t)128 << 20)
#define COUNTED_BYTES ((int64_t)64 << 20)   /* of lines before a row: 30 ms */
enum { SHORT_FIELD = 60, MANY_FIELDS = 24 };

void row_reader_close(struct row_reader *reader)
{
    rows_close(reader->rows);
    arena_close(reader->scratch);
    *reader = (struct row_reader){.names = reader->names};
}

static bool open_file(struct row_reader *reader, const char *path)
{
    struct error ignored;

    if (reader->rows && strcmp(reader->path, path) == 0)
        return true;
    row_reader_close(reader);
    if (snprintf(reader->path, sizeof reader->path, "%s", path) >= (int)sizeof reader->path)
        return false;
    reader->scratch = arena_open(SCRATCH_BYTES);
    return reader->scratch && rows_open(&reader->rows, path, &ignored) == OK;
}

static struct str rejected_of(const struct conversation *row, struct arena *arena)
{
    struct str last = {NULL, 0};

    if (row->form != ROW_PREFERENCE)
        return last;
    for (const struct json *turn = row->rejected_messages ? row->rejected_messages->child : NULL; turn;
         turn = turn->next)
        if (str_is(turn_role(turn), "assistant"))
            last = turn_text(turn, arena);
    return row->rejected_messages ? last : row->rejected;
}

/* Numbers, names and classes: no texts that are shown by themselves. */
static bool is_short_field(const struct json *value, const struct row_parts *parts, struct str rejected)
{
    if (json_is(value, JSON_NUMBER) || json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE))
        return true;
    return json_is(value, JSON_STRING) && value->text.n > 0 && value->text.n <= SHORT_FIELD &&
           !str_eq(value->text, parts->target) && !str_eq(value->text, parts->input) &&
           !(rejected.p && str_eq(value->text, rejected));
}

static struct str fields_of(const struct json *row, const struct row_parts *parts, struct str rejected,
                            struct arena *arena)
{
    const char *text = "";
    struct buf written;
    size_t n = 0;

    if (!json_is(row, JSON_OBJECT))
        return str_of("");
    for (const struct json *value = row->child; value && n < MANY_FIELDS; value = value->next) {
        if (!is_short_field(value, parts, rejected) || value->key.n > SHORT_FIELD)
            continue;
        buf_init(&written, 1 << 12);
        if (json_is(value, JSON_STRING))
            buf_str(&written, value->text);
        else
            json_write(&written, value);
        text = arena_printf(arena, "%s%s%.*s %.*s", text, n++ ? "  " : "", (int)value->key.n, value->key.p,
                            (int)written.n, written.p ? written.p : "");
        buf_free(&written);
    }
    return str_of(text);
}

void row_text_beside(const struct conversation *row, const struct row_parts *parts, struct arena *arena,
                     struct row_text *out)
{
    out->rejected = rejected_of(row, arena);
    out->fields = fields_of(row->row, parts, out->rejected, arena);
}

static struct str cut(struct row_text *out, struct str text, size_t limit, struct arena *arena)
{
    out->is_cut = out->is_cut || text.n > limit;
    return arena_str(arena, unicode_cut(text, limit));
}

bool row_text_read(struct row_reader *reader, const char *path, int64_t at, int64_t row, size_t limit,
                   bool with_raw, struct arena *arena, struct row_text *out)
{
    const struct json *tree = NULL;
    struct row_place place;
    struct conversation conversation = {0};
    struct row_parts parts = {.input = str_of(""), .target = str_of("")};
    struct error bad, ignored;

    *out = (struct row_text){.input = str_of(""), .target = str_of(""), .fields = str_of(""),
                             .raw = str_of("")};
    if (!open_file(reader, path))
        return false;
    arena_reset(reader->scratch);
    if (rows_seek(reader->rows, at, row, &ignored) != OK ||
        rows_next(reader->rows, reader->scratch, &tree, &place, &bad, &ignored) != 1)
        return false;
    if (tree && (conversation_of_row(tree, &reader->names, reader->scratch, &conversation, &ignored) != OK ||
                 row_parts_of(&conversation, reader->scratch, &parts, &ignored) != OK))
        return false;
    out->input = cut(out, parts.input, limit, arena);
    out->target = cut(out, parts.target, limit, arena);
    if (tree)
        row_text_beside(&conversation, &parts, arena, out);
    if (out->rejected.p)
        out->rejected = cut(out, out->rejected, limit, arena);
    if (with_raw && rows_raw(reader->rows, &place, limit, arena, &out->raw, &ignored) != OK)
        out->raw = str_of("");
    out->is_cut = out->is_cut || (with_raw && place.length > (int64_t)limit);
    return true;
}

int64_t row_text_line(const char *path, int64_t at)
{
    struct rows *rows = NULL;
    struct source_file *file = NULL;
    enum packing packing;
    struct error ignored;
    struct str chunk;
    int64_t line = 1, read = 0;
    bool has_lines = at <= COUNTED_BYTES && rows_open(&rows, path, &ignored) == OK && !rows_is_table(rows);

    rows_close(rows);
    if (!has_lines || source_open_unpacked(&file, &packing, path, &ignored) != OK)
        return NONE;
    while (read < at) {
        if (source_chunk(file, &chunk, &ignored) != OK || chunk.n == 0) {
            line = NONE;
            break;
        }
        size_t n = (int64_t)chunk.n < at - read ? chunk.n : (size_t)(at - read);

        for (const char *p = chunk.p; (p = memchr(p, '\n', n - (size_t)(p - chunk.p))) != NULL; p++)
            line++;
        read += (int64_t)n;
    }
    source_close(file);
    return line;
}
