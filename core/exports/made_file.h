/* Files that flatline makes for the user: a folder that is made when missing, files that are not
 * overwritten unless asked. */
#ifndef CORE_EXPORTS_MADE_FILE_H
#define CORE_EXPORTS_MADE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/base/str.h"

struct made_folder {
    const char *path;
    bool force;             /* overwrite existing files */
    struct buf *said;       /* one line a file, for the user */
};

/* Makes the folder itself, not those above it. E_IO with the path. */
MUST_CHECK int made_folder_open(const struct made_folder *folder, struct error *err);
/* For what is too large for one text: open, write, close. E_IO naming the file when it exists and force
 * is false, or when a write failed; rc is what the writing came to, which close gives on. */
MUST_CHECK int made_file_open(const struct made_folder *folder, const char *name, FILE **out,
                              struct error *err);
MUST_CHECK int made_file_close(FILE *file, int rc, const char *name, struct error *err);
/* Writes a whole file and says `about` of it (NULL: nothing). E_LIMIT when the text is a buf that
 * failed. */
MUST_CHECK int made_file_write(const struct made_folder *folder, const char *name,
                               const struct buf *text, const char *about, struct error *err);

#endif
