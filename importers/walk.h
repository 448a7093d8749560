/* Lists the files below the arguments (CLI.md): bounded, in the order of their names, no link
 * followed, so that a loop is impossible. Reads no file.
 *
 * Everything lives in the arena. What was not looked at is listed with the reason. */
#ifndef IMPORTERS_WALK_H
#define IMPORTERS_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/error.h"

struct walk_file {
    const char *path;   /* real path */
    const char *shown;  /* below the argument */
    const char *name;   /* last component */
    const char *folder; /* real path of the folder it is in */
    int64_t size;
};

struct walk_skipped {
    const char *path, *shown, *reason;
};

/* A folder that was named, or the files that were named one by one. */
struct walk_argument {
    const char *folder; /* real path; of named files: the folder they have in common */
    bool is_files;      /* named one by one */
    const struct walk_file *files;
    size_t n_files;
};

struct walk {
    const struct walk_argument *arguments;
    size_t n_arguments;
    const struct walk_skipped *skipped;
    size_t n_skipped;
};

MUST_CHECK int walk_paths(const char *const *paths, size_t n_paths, struct arena *arena,
                          struct walk *out, struct error *err);

#endif
