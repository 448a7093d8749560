/* Where a file that a commit brought in came from: the file of the parent that it equals or resembles
 * most, as `git log --follow` decides it (a copy counts as well as a rename). */
#ifndef CORE_GIT_RENAME_H
#define CORE_GIT_RENAME_H

#include "core/git/tree.h"

#define RENAME_MAX_SCORE 60000          /* all of it is the same */

struct rename_origin {
    char *path;                         /* malloc'ed; NULL: none resembles it */
    struct tree_entry entry;
    int score;                          /* of RENAME_MAX_SCORE; at least half */
    bool is_copy;                       /* the origin is still there */
    size_t n_missing;                   /* contents that were not fetched: not compared */
    bool is_bounded;                    /* not every file was compared: too many, or too much */
};

/* `parent`, `child`: trees; `path`: in the child's tree, where `entry` stands. */
MUST_CHECK int rename_find(struct objects *objects, const struct git_id *parent,
                           const struct git_id *child, const char *path,
                           const struct tree_entry *entry, struct rename_origin *out,
                           struct error *err);

#endif
