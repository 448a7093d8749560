/* A git repository made by a test, through libgit2: commits of whole lists of files, at given times.
 *
 *     struct git_repo *repo = git_repo_new(folder);
 *     git_repo_put(repo, "configs/sft.yaml", "lr: 1e-5\n");
 *     git_repo_commit(repo, "first config");
 *
 * Each commit holds what was put until then. Any failure aborts the test. */
#ifndef TESTS_HARNESS_GIT_REPO_H
#define TESTS_HARNESS_GIT_REPO_H

#include <stdint.h>

struct git_repo;

struct git_repo *git_repo_new(const char *folder);
void git_repo_free(struct git_repo *repo);
void git_repo_put(struct git_repo *repo, const char *path, const char *text);
void git_repo_remove(struct git_repo *repo, const char *path);
/* A commit on HEAD a minute after the last one; its hash, valid until the eighth next call. */
const char *git_repo_commit(struct git_repo *repo, const char *subject);
/* On another branch: the parents are named by hash (NULL: none), the branch is moved there. */
const char *git_repo_commit_on(struct git_repo *repo, const char *branch, const char *parent,
                               const char *second, const char *subject);
/* The next commit has this time. */
void git_repo_time(struct git_repo *repo, int64_t seconds);
/* All objects that a commit needs, as a bundle. */
void git_repo_bundle(struct git_repo *repo, const char *path);
/* HEAD's files into the folder. */
void git_repo_checkout(struct git_repo *repo);

#endif
