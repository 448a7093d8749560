/* See row_text.h. */
#include "views/row_text.h"

#include <stdio.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/text/row_parts.h"

#define SCRATCH_BYTES ((size_t)128 << 20)

void row_reader_close(struct row_reader *reader)
{
    rows_close(reader->rows);
    arena_close(reader->scratch);
    *reader = (struct row_reader){0};
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

bool row_text_read(struct row_reader *reader, const char *path, int64_t at, int64_t row, size_t limit,
                   bool with_raw, struct arena *arena, struct row_text *out)
{
    const struct json *tree = NULL;
    struct row_place place;
    struct conversation conversation;
    struct row_parts parts = {.input = str_of(""), .target = str_of("")};
    struct error bad, ignored;

    *out = (struct row_text){str_of(""), str_of(""), str_of("")};
    if (!open_file(reader, path))
        return false;
    arena_reset(reader->scratch);
    if (rows_seek(reader->rows, at, row, &ignored) != OK ||
        rows_next(reader->rows, reader->scratch, &tree, &place, &bad, &ignored) != 1)
        return false;
    if (tree && (conversation_of_row(tree, NULL, reader->scratch, &conversation, &ignored) != OK ||
                 row_parts_of(&conversation, reader->scratch, &parts, &ignored) != OK))
        return false;
    out->input = arena_str(arena, unicode_cut(parts.input, limit));
    out->target = arena_str(arena, unicode_cut(parts.target, limit));
    if (with_raw && rows_raw(reader->rows, &place, limit, arena, &out->raw, &ignored) != OK)
        out->raw = str_of("");
    return true;
}
