/* Trees: what stands at a path, and all files of one. */
#ifndef CORE_GIT_TREE_H
#define CORE_GIT_TREE_H

#include "core/git/objects.h"

#define TREE_MAX_BYTES ((size_t)64 << 20)

enum { MODE_KIND = 0170000, MODE_FOLDER = 0040000, MODE_FILE = 0100000, MODE_LINK = 0120000,
       MODE_SUBMODULE = 0160000 };

struct tree_entry {
    struct git_id id;
    unsigned mode;                  /* as git shows it: 0100644, 0100755, … 0: nothing is there */
};

bool tree_entry_is(const struct tree_entry *a, const struct tree_entry *b);

/* Remembers what stood in which tree, since neighbouring commits share nearly all of them. */
struct path_cache;
MUST_CHECK int path_cache_open(struct path_cache **out, const char *path, struct error *err);
void path_cache_close(struct path_cache *cache);        /* NULL allowed */
/* What the commit's tree has at the path of the cache; a folder there counts as nothing. E_NOTFOUND: a
 * tree is missing. */
MUST_CHECK int path_cache_find(struct path_cache *cache, struct objects *objects,
                               const struct git_id *tree, struct tree_entry *out, struct error *err);
/* The same without memory, at any path. */
MUST_CHECK int tree_find(struct objects *objects, const struct git_id *tree, const char *path,
                         struct tree_entry *out, struct error *err);

/* All files, links and submodules of a tree in git's order. */
struct tree_file {
    const char *path;               /* borrowed until the call returns */
    struct tree_entry entry;
};
typedef int tree_file_fn(void *ctx, const struct tree_file *file, struct error *err);
/* E_LIMIT: more than max_files; what `fn` gives when it is not OK. */
MUST_CHECK int tree_files(struct objects *objects, const struct git_id *tree, size_t max_files,
                          tree_file_fn *fn, void *ctx, struct error *err);

#endif
