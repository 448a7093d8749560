/* A git repository, found and read without git: where it is, whose it is, its HEAD, its refs.
 *
 * Read-only, and nothing in it can start a program: of its configuration only three words are looked at
 * (the object format, the ref storage, whether it is a partial clone), by a reader of our own; hooks,
 * filters, fsmonitor, includes and helpers are never seen. A repository of another user is refused, as git
 * does. SHA-256 repositories and reftables are refused by name: libgit2 cannot read them.
 *
 * A bundle is a repository too: its pack is indexed into a private temporary folder, which is removed on
 * closing. */
#ifndef CORE_GIT_REPOSITORY_H
#define CORE_GIT_REPOSITORY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/git/objects.h"

/* "1.5.1" into at least 16 bytes: libgit2. */
void repository_library_version(char out[16]);

struct repository_ref {
    const char *name;                   /* "refs/heads/main", "HEAD" */
    struct git_id id;
};

struct commit_graph;

struct repository {
    struct objects *objects;
    struct commit_graph *graph;         /* NULL: none, or the clone is shallow and it is not to be used */
    char *path;                         /* what was found: the work tree, the bare folder, the bundle */
    char *work_folder;                  /* NULL: bare, or a bundle */
    char *git_folder, *common_folder;   /* equal but for a linked worktree; NULL for a bundle */
    bool is_bundle, is_shallow, is_partial, is_worktree;
    struct git_id *shallow;             /* commits whose parents are not here; sorted */
    size_t n_shallow;
    struct repository_ref *refs;        /* of a bundle */
    size_t n_refs;
    char *temporary;                    /* folder of a bundle's pack */
};

struct repository_options {
    bool trusts_owner;                  /* the user said that another's repository may be read */
};

/* `path` is a bundle, a git folder, or something inside a work tree: looked for upwards, not beyond the
 * file system nor the folders of GIT_CEILING_DIRECTORIES. E_NOTFOUND: no repository there. E_UNSUPPORTED:
 * one that cannot be read, err says what it is and what to do. E_GIT: damaged. options NULL: none. */
MUST_CHECK int repository_open(struct repository **out, const char *path,
                               const struct repository_options *options, struct error *err);
void repository_close(struct repository *repository);   /* NULL allowed */

/* The commit of HEAD, or of a bundle's HEAD, main, master, newest. `name` (NULL, or 256 bytes) gets
 * "main", or "" when detached. E_NOTFOUND: no commit yet. */
MUST_CHECK int repository_head(struct repository *repository, struct git_id *out, char *name,
                               struct error *err);
/* The tree of a commit. */
MUST_CHECK int repository_tree(struct repository *repository, const struct git_id *commit,
                               struct git_id *out, struct error *err);
/* The commit that a hash names, which may be cut down to 7 digits. E_NOTFOUND: not here, or two. */
MUST_CHECK int repository_commit(struct repository *repository, struct str hex, struct git_id *out,
                                 struct error *err);
/* Is the commit one whose parents were not fetched? */
bool repository_is_shallow_at(const struct repository *repository, const struct git_id *commit);
/* The path below the work folder, borrowed from `path` (a real path), or NULL when it is not below. */
const char *repository_path_of(const struct repository *repository, const char *path);
/* Whether the file begins as a bundle does. */
bool repository_is_bundle_file(const char *path);

#endif
