/* See look.h. */
#include "importers/look.h"

#include <stdio.h>
#include <string.h>

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
    return rc;
}
