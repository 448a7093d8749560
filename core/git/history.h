/* The commits that changed one file, newest first: what `git log --follow -- FILE` lists, in its order.
 *
 * A walk of our own, since libgit2's fails in shallow clones: by commit time over all parents; a commit
 * with one parent (or none) is a row when the file's id or mode differs from its parent's; a merge is none;
 * where the file is not in the parent, its origin is looked for (rename.h) and the path followed from there
 * on is the origin's. As in git, the path is one for the whole walk, not one a branch.
 *
 * A shallow clone ends at its boundary, as git shows it. A commit that is missing elsewhere ends its branch
 * and is counted. Rows come one by one, so that the first can be shown at once; memory is some bytes a
 * commit walked over. */
#ifndef CORE_GIT_HISTORY_H
#define CORE_GIT_HISTORY_H

#include "core/git/repository.h"
#include "core/git/tree.h"

enum history_status { HISTORY_ADDED, HISTORY_MODIFIED, HISTORY_RENAMED, HISTORY_COPIED, HISTORY_DELETED };

struct history_row {                    /* texts live until the next call */
    struct git_id commit, parent;       /* parent: none for a root */
    enum history_status status;
    const char *path;                   /* in this commit */
    const char *old_path;               /* of a rename or copy: in the parent; else NULL */
    int similarity;                     /* percent, of a rename or copy */
    struct tree_entry entry, old_entry; /* mode 0: not there */
    int64_t author_time, commit_time;
    int author_offset;                  /* minutes */
    const char *author, *subject;       /* valid UTF-8 */
};

struct history_options {
    const struct git_id *from;          /* NULL: HEAD */
    /* Every 256 commits; what it gives ends the walk when it is not OK. NULL: none. */
    int (*step)(void *ctx, int64_t n_commits, struct error *err);
    void *ctx;
    int64_t max_commits;                /* 0: HISTORY_MAX_COMMITS */
    /* A commit from which the rest is known: the walk ends there when all that is left lies behind it and
     * the path is still the first one, so that the rest would be the same. NULL: none. */
    const struct git_id *until;
};
#define HISTORY_MAX_COMMITS 2000000

struct history;

/* `path`: below the top of the tree. The repository must outlive the history. */
MUST_CHECK int history_open(struct history **out, struct repository *repository, const char *path,
                            const struct history_options *options, struct error *err);
void history_close(struct history *history);            /* NULL allowed */
/* 1 a row, 0 the end, negative: error. */
MUST_CHECK int history_next(struct history *history, struct history_row *row, struct error *err);

struct history_sum {
    int64_t n_commits;                  /* walked over */
    int64_t n_missing_commits;          /* not there, or damaged: their branch ended */
    int64_t n_missing_contents;         /* not fetched, so not compared in looking for an origin */
    bool ends_shallow;                  /* reached the boundary of a shallow clone */
    bool is_cut;                        /* more commits than max_commits */
    bool reached_until;                 /* ended at options.until; it is not counted */
    bool is_bounded;                    /* an origin was looked for among some files only */
    const char *first_problem;          /* of a damaged object; NULL */
};
void history_sum(const struct history *history, struct history_sum *out);

const char *history_status_name(enum history_status status);    /* "added" … */

#endif
