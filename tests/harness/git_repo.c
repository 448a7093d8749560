/* Making repositories for tests. See git_repo.h. */
#include "tests/harness/git_repo.h"

#include <git2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILES 512

struct git_repo {
    git_repository *repository;
    char *folder;
    char *paths[MAX_FILES], *texts[MAX_FILES];
    size_t n;
    int64_t time;
    char hashes[8][GIT_OID_HEXSZ + 1];
    int next;
};

static void must(int code, const char *what)
{
    if (code >= 0)
        return;
    fprintf(stderr, "git_repo: %s: %s\n", what, git_error_last() ? git_error_last()->message : "?");
    abort();
}

struct git_repo *git_repo_new(const char *folder)
{
    struct git_repo *repo = calloc(1, sizeof *repo);
    git_repository_init_options how;

    if (!repo)
        abort();
    must(git_libgit2_init(), "init");
    git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
    must(git_repository_init_options_init(&how, GIT_REPOSITORY_INIT_OPTIONS_VERSION), "options");
    how.flags = GIT_REPOSITORY_INIT_MKPATH;
    how.initial_head = "main";
    must(git_repository_init_ext(&repo->repository, folder, &how), "init");
    repo->folder = strdup(folder);
    repo->time = 1700000000;
    return repo;
}

void git_repo_free(struct git_repo *repo)
{
    for (size_t i = 0; i < repo->n; i++) {
        free(repo->paths[i]);
        free(repo->texts[i]);
    }
    git_repository_free(repo->repository);
    free(repo->folder);
    free(repo);
    git_libgit2_shutdown();
}

void git_repo_time(struct git_repo *repo, int64_t seconds)
{
    repo->time = seconds - 60;
}

void git_repo_remove(struct git_repo *repo, const char *path)
{
    for (size_t i = 0; i < repo->n; i++)
        if (strcmp(repo->paths[i], path) == 0) {
            free(repo->paths[i]);
            free(repo->texts[i]);
            repo->n--;
            repo->paths[i] = repo->paths[repo->n];
            repo->texts[i] = repo->texts[repo->n];
            return;
        }
}

void git_repo_put(struct git_repo *repo, const char *path, const char *text)
{
    git_repo_remove(repo, path);
    if (repo->n == MAX_FILES)
        abort();
    repo->paths[repo->n] = strdup(path);
    repo->texts[repo->n++] = strdup(text);
}

static void make_tree(struct git_repo *repo, git_oid *out)
{
    git_index *index;

    must(git_index_new(&index), "index");
    for (size_t i = 0; i < repo->n; i++) {
        git_index_entry entry = {.mode = GIT_FILEMODE_BLOB, .path = repo->paths[i]};

        must(git_blob_create_from_buffer(&entry.id, repo->repository, repo->texts[i],
                                         strlen(repo->texts[i])), "blob");
        must(git_index_add(index, &entry), "index");
    }
    must(git_index_write_tree_to(out, index, repo->repository), "tree");
    git_index_free(index);
}

static git_commit *commit_of(struct git_repo *repo, const char *hash)
{
    git_commit *commit;
    git_oid id;

    must(git_oid_fromstr(&id, hash), "hash");
    must(git_commit_lookup(&commit, repo->repository, &id), "parent");
    return commit;
}

const char *git_repo_commit_on(struct git_repo *repo, const char *branch, const char *parent,
                               const char *second, const char *subject)
{
    const git_commit *parents[2];
    git_commit *own[2] = {NULL, NULL};
    git_signature *who;
    git_tree *tree;
    git_oid tree_id, id;
    git_reference *ref;
    size_t n = 0;
    char name[256];

    if (parent)
        parents[n] = own[n] = commit_of(repo, parent), n++;
    if (second)
        parents[n] = own[n] = commit_of(repo, second), n++;
    repo->time += 60;
    must(git_signature_new(&who, "Dev", "dev@example.com", repo->time, 60), "signature");
    make_tree(repo, &tree_id);
    must(git_tree_lookup(&tree, repo->repository, &tree_id), "tree");
    must(git_commit_create(&id, repo->repository, NULL, who, who, NULL, subject, tree, n, parents), "commit");
    snprintf(name, sizeof name, "refs/heads/%s", branch);
    must(git_reference_create(&ref, repo->repository, name, &id, 1, NULL), "ref");
    git_reference_free(ref);
    git_tree_free(tree);
    git_signature_free(who);
    git_commit_free(own[0]);
    git_commit_free(own[1]);
    char *hex = repo->hashes[repo->next++ % 8];
    git_oid_tostr(hex, GIT_OID_HEXSZ + 1, &id);
    return hex;
}

const char *git_repo_commit(struct git_repo *repo, const char *subject)
{
    char head[GIT_OID_HEXSZ + 1];
    git_oid id;
    bool has_head = git_reference_name_to_id(&id, repo->repository, "refs/heads/main") == 0;

    git_oid_tostr(head, sizeof head, &id);
    return git_repo_commit_on(repo, "main", has_head ? head : NULL, NULL, subject);
}

static int write_piece(void *bytes, size_t n, void *file)
{
    return fwrite(bytes, 1, n, file) == n ? 0 : -1;
}

void git_repo_bundle(struct git_repo *repo, const char *path)
{
    git_packbuilder *builder;
    git_revwalk *walk;
    char head[GIT_OID_HEXSZ + 1];
    git_oid id;
    FILE *file = fopen(path, "wb");

    must(file ? 0 : -1, "bundle");
    must(git_reference_name_to_id(&id, repo->repository, "refs/heads/main"), "main");
    git_oid_tostr(head, sizeof head, &id);
    fprintf(file, "# v2 git bundle\n%s refs/heads/main\n%s HEAD\n\n", head, head);
    must(git_packbuilder_new(&builder, repo->repository), "pack");
    must(git_revwalk_new(&walk, repo->repository), "walk");
    must(git_revwalk_push(walk, &id), "walk");
    must(git_packbuilder_insert_walk(builder, walk), "pack");
    must(git_packbuilder_foreach(builder, write_piece, file), "pack");
    git_revwalk_free(walk);
    git_packbuilder_free(builder);
    fclose(file);
}

void git_repo_checkout(struct git_repo *repo)
{
    git_checkout_options how;

    must(git_checkout_options_init(&how, GIT_CHECKOUT_OPTIONS_VERSION), "options");
    how.checkout_strategy = GIT_CHECKOUT_FORCE;
    must(git_checkout_head(repo->repository, &how), "checkout");
}
