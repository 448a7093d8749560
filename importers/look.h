/* The look at a file that probes are asked about: its first bytes and its last ones, unpacked where
 * the file is packed, and of a table of typed columns (Parquet, Arrow) one row as it might be. */
#ifndef IMPORTERS_LOOK_H
#define IMPORTERS_LOOK_H

#include "core/read/decompress.h"
#include "importers/importer.h"

#define LOOK_NAME_BYTES 512

struct look {
    struct peek peek; /* borrows from here, and the path; folder_name is "" */
    enum packing packing;
    char name[LOOK_NAME_BYTES]; /* without .gz or .zst; of a table with .jsonl */
    char head[PEEK_HEAD_BYTES], tail[PEEK_TAIL_BYTES];
};

/* Of a packed file the tail is empty, since it would have to be unpacked whole. */
MUST_CHECK int look_at(struct look *look, const char *path, struct error *err);

#endif
