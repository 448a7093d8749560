/* One JSON value a line. See jsonl.h. */
#include "core/read/jsonl.h"

#include "core/read/json_scan.h"

struct reader {
    const struct jsonl_handler *handler;
    struct arena *arena;
    struct json_fields fields;
};

static struct json_cursor cursor_on(struct str text, struct arena *arena, struct error *err)
{
    const char *p = text.n ? text.p : "";

    return (struct json_cursor){
        .begin = p,
        .p = p,
        .end = p + text.n,
        .line = 1,
        .is_final = true,
        .arena = arena,
        .err = err,
    };
}

static int expect_end(struct json_cursor *cursor)
{
    int rc = json_skip_blanks(cursor);

    if (rc == OK && cursor->p != cursor->end)
        rc = json_fail(cursor, cursor->p, E_PARSE, "text after the end of the value");
    return rc;
}

/* 1 flat with the rest of the line blank, 0 not flat, negative: wrong. */
static int scan_flat_line(struct json_cursor *cursor, struct json_fields *fields)
{
    int rc = json_skip_blanks(cursor);

    if (rc != OK)
        return rc;
    if (cursor->p == cursor->end || *cursor->p != '{')
        return 0;
    rc = json_scan_flat(cursor, fields);
    if (rc == 1 && expect_end(cursor) != OK)
        return E_PARSE;
    return rc;
}

static int scan_tree_line(struct json_cursor *cursor, struct json *tree)
{
    int rc = json_skip_blanks(cursor);

    if (rc == OK)
        rc = json_scan_tree(cursor, tree);
    return rc == OK ? expect_end(cursor) : rc;
}

static void count_repairs(const struct reader *reader, const struct json_cursor *cursor)
{
    if (reader->handler->n_repairs)
        *reader->handler->n_repairs += cursor->n_repairs;
}

static int parse_line(struct reader *reader, const struct source_line *line, struct json *tree,
                      struct json_row *row, struct error *why)
{
    struct json_cursor cursor = cursor_on(line->text, reader->arena, why);
    int rc = 0;

    cursor.line = line->number;
    cursor.byte = line->byte;
    *row = (struct json_row){.line = line->number, .byte = line->byte, .raw = line->text};
    if (!reader->handler->always_tree) {
        rc = scan_flat_line(&cursor, &reader->fields);
        if (rc == 1) {
            row->fields = reader->fields.items;
            row->n = reader->fields.n;
            row->shape = reader->fields.shape;
            count_repairs(reader, &cursor);
        }
        if (rc != 0)
            return rc < 0 ? rc : OK;
        cursor.p = cursor.begin;
        cursor.n_repairs = 0;
        arena_reset(reader->arena);
    }
    row->tree = tree;
    rc = scan_tree_line(&cursor, tree);
    if (rc == OK)
        count_repairs(reader, &cursor);
    return rc;
}

static int give_line(struct reader *reader, const struct source_line *line, struct error *err)
{
    const struct jsonl_handler *handler = reader->handler;
    struct json tree = {.type = JSON_NULL};
    struct json_row row;
    struct error why;
    int rc;

    arena_reset(reader->arena);
    if (line->cut)
        rc = error_set(&why, E_LIMIT, "a line longer than %zu bytes", SOURCE_LINE_BYTES);
    else
        rc = parse_line(reader, line, &tree, &row, &why);
    if (rc == OK)
        return handler->row(handler->ctx, &row, err);
    return handler->bad ? handler->bad(handler->ctx, line, !line->whole, &why, err) : OK;
}

static int read_lines(struct source_file *file, struct reader *reader, struct error *err)
{
    struct source_line line;
    int rc;

    while ((rc = source_next_line(file, 0, &line, err)) == 1) {
        if (line.byte == 0 && str_starts(line.text, "\xEF\xBB\xBF")) {
            line.text = str_skip(line.text, 3);
            line.byte = 3;
        }
        if (line.text.n == 0 || (line.text.p[0] != '{' && str_trim(line.text).n == 0))
            continue;
        rc = give_line(reader, &line, err);
        if (rc != OK)
            return rc;
    }
    return rc;
}

int jsonl_read(struct source_file *file, const struct jsonl_handler *handler, struct error *err)
{
    struct reader reader = {.handler = handler, .arena = arena_open(ARENA_RENDER_BYTES)};
    int rc;

    if (reader.arena)
        rc = read_lines(file, &reader, err);
    else
        rc = error_set(err, E_NOMEM, "no memory to read lines");
    json_fields_free(&reader.fields);
    arena_close(reader.arena);
    return rc;
}
