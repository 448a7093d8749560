/* The first and the last bytes of a file that is only ever written at its end, as hashes: whether the file
 * that is there now is the one that was read before, gone on. A file that was cut and has grown beyond its
 * old size since has the same inode and a larger size; its bytes tell.
 *
 * Reads FILE_END_BYTES at two places, whatever the size. A file whose ends are rewritten as it goes (a
 * state, a table with a header that gains columns) is none of these. */
#ifndef IMPORTERS_FILE_ENDS_H
#define IMPORTERS_FILE_ENDS_H

#include <stdbool.h>

#include "core/model.h"

#define FILE_END_BYTES 4096

/* Is a file of this importer and name written at its end only? */
bool file_is_appended(const char *importer, const char *path);
/* Fills hashed_to (source->size), head_hash and tail_hash; hashed_to 0 where it cannot be read. */
void file_ends_read(struct source *source);
/* Does the file still begin, and end at hashed_to, as it did? True where nothing was kept. */
bool file_ends_hold(const struct source *stored);

#endif
