/* One file through one importer into the text sink, as tests/importers compares it. */
#ifndef TESTS_HARNESS_IMPORTING_H
#define TESTS_HARNESS_IMPORTING_H

#include "importers/importer.h"
#include "importers/look.h"

struct looked_at {
    struct peek peek;
    struct look *bytes; /* owner of head and tail */
};

/* The first 64 KiB and the last 64 bytes; false when the file cannot be read. Free `bytes`. */
bool importing_look(const char *path, struct looked_at *out);
/* Appends what the importer says of the file. `folder` is the run's: paths are shown below it.
 * Returns the status of the import. */
int importing_dump(const struct importer *importer, const char *folder, const char *path,
                   struct buf *out, struct error *err);

#endif
