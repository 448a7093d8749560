/* See look.h. */
#include "importers/look.h"

#include <stdio.h>
#include <string.h>

#include "core/read/rows.h"

static int read_ends(struct look *look, struct source_file *file, struct error *err)
{
    size_t n_head = 0, n_tail = 0;
    int rc = source_at(file, 0, look->head, sizeof look->head, &n_head, err);

    if (rc == OK && look->packing == PACKING_NONE) {
        int64_t size = source_size(file);

        rc = source_at(file, size > PEEK_TAIL_BYTES ? size - PEEK_TAIL_BYTES : 0, look->tail,
                       sizeof look->tail, &n_tail, err);
        look->peek.size = size;
    } else {
        /* Its length unpacked is not known, but whether the head is all of it. */
        look->peek.size = (int64_t)n_head + (n_head == sizeof look->head);
    }
    look->peek.head = str_from(look->head, n_head);
    look->peek.tail = str_from(look->tail, n_tail);
    return rc;
}

/* The columns of a table as a line of JSON: who knows rows by their keys knows these too. */
static int read_table(struct look *look, const char *path, struct error *err)
{
    struct rows *rows = NULL;
    struct buf line;
    const char *dot = strrchr(look->name, '.');
    size_t stem = dot ? (size_t)(dot - look->name) : strlen(look->name);
    int rc = rows_open(&rows, path, err);

    if (rc != OK)
        return rc;
    buf_init(&line, SOURCE_LINE_BYTES);
    json_write(&line, rows_example(rows));
    size_t n = line.n < sizeof look->head ? line.n : sizeof look->head;
    memcpy(look->head, line.p, n);
    buf_free(&line);
    rows_close(rows);
    if (stem > sizeof look->name - sizeof ".jsonl")
        stem = sizeof look->name - sizeof ".jsonl";
    memcpy(look->name + stem, ".jsonl", sizeof ".jsonl");
    look->peek.head = str_from(look->head, n);
    look->peek.tail = str_of("");
    look->peek.size = (int64_t)n;
    look->peek.is_table = true;
    return OK;
}

int look_at(struct look *look, const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct source_file *file = NULL;
    int rc = source_open_unpacked(&file, &look->packing, path, err);

    if (rc != OK)
        return rc;
    struct str shown = look->packing == PACKING_NONE ? str_of(name) : packing_inner_name(name);
    (void)snprintf(look->name, sizeof look->name, "%.*s", (int)shown.n, shown.p);
    look->peek = (struct peek){.path = path, .name = look->name, .folder_name = ""};
    rc = read_ends(look, file, err);
    source_close(file);
    if (rc == OK && look->packing == PACKING_NONE && rows_are_table(look->peek.head))
        rc = read_table(look, path, err);
    return rc;
}
