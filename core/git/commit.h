/* One commit, parsed: what the walk and a row of the history need. */
#ifndef CORE_GIT_COMMIT_H
#define CORE_GIT_COMMIT_H

#include "core/git/objects.h"

#define COMMIT_MAX_BYTES   ((size_t)4 << 20)
#define COMMIT_MAX_PARENTS 64           /* an octopus has fewer; what is more is not followed */

struct commit {
    struct object object;               /* owner of the texts below */
    struct git_id tree;
    struct git_id parents[COMMIT_MAX_PARENTS];
    size_t n_parents;
    int64_t author_time, committer_time;    /* seconds since 1970 */
    int author_offset;                  /* minutes east of Greenwich */
    struct str author;                  /* "Name <address>", bytes as they are */
    struct str encoding;                /* empty: UTF-8 */
    struct str message;
};

/* E_NOTFOUND, E_GIT. Free with commit_free. */
MUST_CHECK int commit_read(struct objects *objects, const struct git_id *id, struct commit *out,
                           struct error *err);
void commit_free(struct commit *commit);
/* The commit that an id stands for: itself, or what a tag leads to. */
MUST_CHECK int commit_peel(struct objects *objects, const struct git_id *id, struct git_id *out,
                           struct error *err);
/* The first paragraph of the message as one line of valid UTF-8. */
void commit_subject(const struct commit *commit, struct buf *out);
/* The author's name alone, in valid UTF-8. */
void commit_author(const struct commit *commit, struct buf *out);

#endif
