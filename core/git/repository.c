/* Finding a repository and reading what stands in its files beside the objects. See repository.h. */
#include "core/git/repository.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/number.h"
#include "core/git/bundle.h"
#include "core/git/commit.h"
#include "core/git/commit_graph.h"
#include "core/read/source.h"

#define MAX_UP          64                  /* folders upwards */
#define SMALL_BYTES     ((size_t)4 << 10)   /* HEAD, a ref, a .git file */
#define CONFIG_BYTES    ((size_t)1 << 20)
#define SHALLOW_BYTES   ((size_t)16 << 20)
#define PACKED_BYTES    ((size_t)64 << 20)
#define MAX_SYMREFS     5

void repository_library_version(char out[16])
{
    objects_library_version(out);
}

/* ---- Small files ---- */

/* The first line without blanks at its ends, malloc'ed; NULL when the file is not there or odd. */
static char *first_line(const char *folder, const char *name)
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t n = 0;
    struct str rest, line = {NULL, 0};

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ||
        source_slurp(path, SMALL_BYTES, &text, &n, NULL) != OK)
        return NULL;
    rest = str_from(text, n);
    if (!str_split(&rest, '\n', &line))
        line = rest;
    line = str_trim(line);
    char *copy = memchr(line.p ? line.p : "", '\0', line.n) ? NULL : strndup(line.p ? line.p : "", line.n);
    free(text);
    return copy;
}

static bool exists(const char *folder, const char *name, mode_t kind)
{
    char path[PATH_MAX];
    struct stat st;

    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
           stat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

/* `path` as seen from `folder`, without links and dots; malloc'ed, NULL when it is not there. */
static char *resolve(const char *folder, const char *path)
{
    char whole[PATH_MAX];

    if (path[0] == '/')
        return realpath(path, NULL);
    if (snprintf(whole, sizeof whole, "%s/%s", folder, path) >= (int)sizeof whole)
        return NULL;
    return realpath(whole, NULL);
}

/* ---- Finding ---- */

/* Where objects and refs are: the folder itself, or what a linked worktree's `commondir` names. */
static char *common_of(const char *git_folder)
{
    char *line = first_line(git_folder, "commondir");
    char *common = line ? resolve(git_folder, line) : strdup(git_folder);

    free(line);
    return common;
}

static bool is_git_folder(const char *folder)
{
    if (!exists(folder, "HEAD", S_IFREG))
        return false;
    char *common = common_of(folder);
    bool is_one = common && exists(common, "objects", S_IFDIR) && exists(common, "refs", S_IFDIR);

    free(common);
    return is_one;
}

/* What `.git` of a folder is: a folder, or a file that names one (submodule, worktree). NULL: neither.
 * *is_broken: it names something that is no repository. */
static char *git_folder_in(const char *folder, bool *is_broken)
{
    char *found = NULL, *line;

    *is_broken = false;
    if (exists(folder, ".git", S_IFDIR)) {
        found = resolve(folder, ".git");
    } else if (exists(folder, ".git", S_IFREG)) {
        line = first_line(folder, ".git");
        if (line && strncmp(line, "gitdir:", 7) == 0)
            found = resolve(folder, line + 7 + strspn(line + 7, " \t"));
        free(line);
        *is_broken = !found;
    } else {
        return NULL;
    }
    if (found && !is_git_folder(found)) {
        free(found);
        found = NULL;
        *is_broken = true;
    }
    return found;
}

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "a repository");
}

static int not_found(const char *path, struct error *err)
{
    return error_set(err, E_NOTFOUND, "%s: not inside a git repository", path);
}

static int broken(const char *folder, struct error *err)
{
    int rc = error_set(err, E_GIT, ".git names no git folder that is there");

    error_at(err, folder, NONE, NONE);
    return rc;
}

/* GIT_CEILING_DIRECTORIES, as git has it: not looked into, nor above. */
static bool is_ceiling(const char *folder)
{
    struct str rest = str_of(getenv("GIT_CEILING_DIRECTORIES")), part;

    while (rest.n && str_split(&rest, ':', &part))
        if (part.n && str_is(part, folder))
            return true;
    return false;
}

/* Goes up from `folder` (a real path, changed). */
static int find_up(struct repository *r, char *folder, struct error *err)
{
    struct stat first, st;
    bool is_broken = false;

    if (stat(folder, &first) != 0)
        return not_found(folder, err);
    for (int i = 0; i < MAX_UP; i++) {
        if (stat(folder, &st) != 0 || st.st_dev != first.st_dev || (i && is_ceiling(folder)))
            break;
        r->git_folder = git_folder_in(folder, &is_broken);
        if (r->git_folder)
            r->work_folder = strdup(folder);
        else if (is_broken)
            return broken(folder, err);
        else if (is_git_folder(folder))
            r->git_folder = strdup(folder);
        if (r->git_folder)
            return OK;
        char *slash = strrchr(folder, '/');
        if (!slash || !folder[1])
            break;
        slash[slash == folder] = '\0';
    }
    return error_set(err, E_NOTFOUND, "not inside a git repository");
}

/* ---- Whose it is ---- */

static bool is_ours(const struct stat *st)
{
    const char *sudo = getenv("SUDO_UID");
    int64_t uid;

    if (st->st_uid == geteuid())
        return true;
    return geteuid() == 0 && sudo && number_parse_int(str_of(sudo), &uid) && uid == (int64_t)st->st_uid;
}

static int check_owner(const char *path, struct error *err)
{
    struct stat st;

    if (lstat(path, &st) != 0 || is_ours(&st))
        return OK;
    int rc = error_set(err, E_UNSUPPORTED, "the repository belongs to another user (uid %u), whose "
                       "content is not trusted; copy it, or say --set git-owner=any",
                       (unsigned)st.st_uid);
    error_at(err, path, NONE, NONE);
    return rc;
}

static int check_owners(const struct repository *r, struct error *err)
{
    char path[PATH_MAX];
    int rc = check_owner(r->git_folder, err);

    if (rc == OK)
        rc = check_owner(r->common_folder, err);
    if (rc != OK || !r->work_folder)
        return rc;
    rc = check_owner(r->work_folder, err);
    if (rc == OK && snprintf(path, sizeof path, "%s/.git", r->work_folder) < (int)sizeof path)
        rc = check_owner(path, err);
    return rc;
}

/* ---- The three words of its configuration ---- */

struct config_walk {
    bool in_extensions, in_remote;
    struct repository *repository;
};

static int refuse_format(const char *what, struct error *err)
{
    return error_set(err, E_UNSUPPORTED, "%s, which libgit2 cannot read; git can: "
                     "git log --follow -p -- FILE", what);
}

static int take_setting(struct config_walk *walk, struct str key, struct str value, struct error *err)
{
    if (walk->in_remote)
        walk->repository->is_partial |=
            str_is_ignoring_case(key, "promisor") && str_is_ignoring_case(value, "true");
    if (!walk->in_extensions)
        return OK;
    if (str_is_ignoring_case(key, "objectformat") && !str_is_ignoring_case(value, "sha1"))
        return refuse_format(str_is_ignoring_case(value, "sha256") ? "a SHA-256 repository"
                                                                   : "a repository of an unknown object "
                                                                     "format", err);
    if (str_is_ignoring_case(key, "refstorage") && !str_is_ignoring_case(value, "files"))
        return refuse_format("a repository whose refs are a reftable", err);
    walk->repository->is_partial |= str_is_ignoring_case(key, "partialclone");
    return OK;
}

static int take_config_line(struct config_walk *walk, struct str line, struct error *err)
{
    struct str key, value;

    line = str_trim(line);
    if (line.n == 0 || line.p[0] == '#' || line.p[0] == ';')
        return OK;
    if (line.p[0] == '[') {
        walk->in_extensions = str_has_ignoring_case(str_first(line, 12), "[extensions]");
        walk->in_remote = str_has_ignoring_case(str_first(line, 8), "[remote ");
        return OK;
    }
    value = line;
    if (!str_split(&value, '=', &key))
        return OK;
    value = str_trim(value);
    if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"')
        value = str_from(value.p + 1, value.n - 2);
    return take_setting(walk, str_trim(key), value, err);
}

static int read_config(struct repository *r, struct error *err)
{
    struct config_walk walk = {.repository = r};
    char path[PATH_MAX];
    char *text = NULL;
    size_t n = 0;
    struct str rest, line;
    struct error why;

    if (!exists(r->common_folder, "config", S_IFREG))
        return OK;
    snprintf(path, sizeof path, "%s/config", r->common_folder);
    int rc = source_slurp(path, CONFIG_BYTES, &text, &n, &why);
    if (rc != OK)
        return error_set(err, E_GIT, "config: %s", why.message);
    for (rest = str_from(text, n); rc == OK && str_split(&rest, '\n', &line);)
        rc = take_config_line(&walk, line, err);
    free(text);
    return rc;
}

/* ---- Shallow ---- */

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, GIT_ID_BYTES);
}

static int read_shallow(struct repository *r, struct error *err)
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t n = 0;
    struct str rest, line;
    struct error why;

    if (!exists(r->common_folder, "shallow", S_IFREG))
        return OK;
    snprintf(path, sizeof path, "%s/shallow", r->common_folder);
    if (source_slurp(path, SHALLOW_BYTES, &text, &n, &why) != OK)
        return error_set(err, E_GIT, "shallow: %s", why.message);
    r->shallow = calloc(n / GIT_ID_HEX + 1, sizeof *r->shallow);
    for (rest = str_from(text, n); r->shallow && str_split(&rest, '\n', &line);)
        r->n_shallow += git_id_parse(str_trim(line), &r->shallow[r->n_shallow]);
    free(text);
    if (!r->shallow)
        return no_memory(err);
    qsort(r->shallow, r->n_shallow, sizeof *r->shallow, compare_ids);
    r->is_shallow = r->n_shallow > 0;
    return OK;
}

bool repository_is_shallow_at(const struct repository *repository, const struct git_id *commit)
{
    return repository->n_shallow && bsearch(commit, repository->shallow, repository->n_shallow,
                                            sizeof *repository->shallow, compare_ids);
}

/* ---- Opening ---- */

static int open_found(struct repository *r, const struct repository_options *options,
                      struct error *err)
{
    char objects[PATH_MAX];
    int rc = OK;

    r->common_folder = common_of(r->git_folder);
    if (!r->common_folder)
        return error_set(err, E_GIT, "commondir names no folder that is there");
    r->is_worktree = strcmp(r->common_folder, r->git_folder) != 0;
    r->path = strdup(r->work_folder ? r->work_folder : r->git_folder);
    if (!r->path)
        return no_memory(err);
    if (!options || !options->trusts_owner)
        rc = check_owners(r, err);
    if (rc == OK)
        rc = read_config(r, err);
    if (rc == OK)
        rc = read_shallow(r, err);
    if (rc == OK && snprintf(objects, sizeof objects, "%s/objects", r->common_folder) >= (int)sizeof objects)
        rc = error_set(err, E_LIMIT, "the path is too long");
    if (rc == OK)
        rc = objects_open(&r->objects, objects, err);
    if (rc == OK && !r->is_shallow)
        r->graph = commit_graph_open(objects);
    return rc;
}

static int open_at(struct repository *r, char *real, const struct repository_options *options,
                   struct error *err)
{
    struct stat st;
    int rc;

    if (stat(real, &st) != 0)
        return not_found(real, err);
    if (S_ISREG(st.st_mode) && repository_is_bundle_file(real)) {
        r->is_bundle = true;
        r->path = strdup(real);
        return r->path ? bundle_unpack(r, real, err) : no_memory(err);
    }
    if (!S_ISDIR(st.st_mode)) {
        char *slash = strrchr(real, '/');

        slash[slash == real] = '\0';
    }
    rc = find_up(r, real, err);
    return rc == OK ? open_found(r, options, err) : rc;
}

int repository_open(struct repository **out, const char *path,
                    const struct repository_options *options, struct error *err)
{
    struct repository *r = calloc(1, sizeof *r);
    char *real = realpath(path, NULL);
    int rc;

    if (!r || (!real && errno == ENOMEM))
        rc = no_memory(err);
    else if (!real)
        rc = error_set(err, E_NOTFOUND, "%s: %s", path, strerror(errno));
    else
        rc = open_at(r, real, options, err);
    free(real);
    if (rc == OK)
        *out = r;
    else
        repository_close(r);
    return rc;
}

void repository_close(struct repository *repository)
{
    if (!repository)
        return;
    commit_graph_close(repository->graph);
    objects_close(repository->objects);
    for (size_t i = 0; i < repository->n_refs; i++)
        free((void *)(uintptr_t)repository->refs[i].name);
    free(repository->refs);
    free(repository->shallow);
    free(repository->path);
    free(repository->work_folder);
    free(repository->git_folder);
    free(repository->common_folder);
    if (repository->temporary)
        bundle_remove(repository->temporary);
    free(repository->temporary);
    free(repository);
}

const char *repository_path_of(const struct repository *repository, const char *path)
{
    const char *folder = repository->work_folder;
    size_t n = folder ? strlen(folder) : 0;

    if (!folder || strncmp(path, folder, n) != 0)
        return NULL;
    if (n == 1)
        return path + 1;        /* the work tree is / itself */
    return path[n] == '/' && path[n + 1] ? path + n + 1 : NULL;
}

/* ---- HEAD ---- */

/* A name that stays below the folder. */
static bool is_ref_name(const char *name)
{
    return strncmp(name, "refs/", 5) == 0 && !strstr(name, "..") && !strstr(name, "//") &&
           strlen(name) < 1024;
}

static bool packed_ref(const struct repository *r, const char *name, struct git_id *out)
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t n = 0;
    struct str rest, line;
    bool is_found = false;

    snprintf(path, sizeof path, "%s/packed-refs", r->common_folder);
    if (source_slurp(path, PACKED_BYTES, &text, &n, NULL) != OK)
        return false;
    for (rest = str_from(text, n); !is_found && str_split(&rest, '\n', &line);)
        is_found = line.n > GIT_ID_HEX + 1 && line.p[GIT_ID_HEX] == ' ' &&
                   str_is(str_trim(str_skip(line, GIT_ID_HEX + 1)), name) &&
                   git_id_parse(str_first(line, GIT_ID_HEX), out);
    free(text);
    return is_found;
}

static int unborn(const char *name, struct error *err)
{
    return error_set(err, E_NOTFOUND, "HEAD stands on %.200s, which has no commit", name);
}

/* Follows HEAD to an id; `name` keeps the last ref. */
static int follow_head(const struct repository *r, struct git_id *out, char name[1024], struct error *err)
{
    char *line = first_line(r->git_folder, "HEAD");

    name[0] = '\0';
    for (int i = 0; line && i <= MAX_SYMREFS; i++) {
        if (git_id_parse(str_of(line), out)) {
            free(line);
            return OK;
        }
        const char *target = strncmp(line, "ref:", 4) == 0 ? line + 4 + strspn(line + 4, " \t") : "";
        if (!is_ref_name(target) || strstr(target, ".invalid"))
            break;
        snprintf(name, 1024, "%s", target);
        free(line);
        line = first_line(r->common_folder, name);
        if (!line)
            return packed_ref(r, name, out) ? OK : unborn(name, err);
    }
    free(line);
    return error_set(err, E_GIT, "HEAD is neither a commit nor the name of a ref");
}

static const char *short_name(const char *ref)
{
    return strncmp(ref, "refs/heads/", 11) == 0 ? ref + 11 : ref;
}

static int newest_ref(struct repository *r, struct git_id *out, const char **name, struct error *err)
{
    int64_t best = INT64_MIN;
    struct commit commit;

    for (size_t i = 0; i < r->n_refs; i++) {
        struct git_id id;

        if (commit_peel(r->objects, &r->refs[i].id, &id, NULL) != OK ||
            commit_read(r->objects, &id, &commit, NULL) != OK)
            continue;
        if (commit.committer_time > best) {
            best = commit.committer_time;
            *out = id;
            *name = r->refs[i].name;
        }
        commit_free(&commit);
    }
    return best == INT64_MIN ? error_set(err, E_NOTFOUND, "the bundle has no commit that can be read") : OK;
}

static int bundle_head(struct repository *r, struct git_id *out, const char **name, struct error *err)
{
    static const char *const NAMES[] = {"HEAD", "refs/heads/main", "refs/heads/master"};

    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++)
        for (size_t i = 0; i < r->n_refs; i++)
            if (strcmp(r->refs[i].name, NAMES[k]) == 0) {
                *name = NAMES[k];
                *out = r->refs[i].id;
                return OK;
            }
    return newest_ref(r, out, name, err);
}

int repository_head(struct repository *repository, struct git_id *out, char *name, struct error *err)
{
    char ref[1024];
    const char *found = ref;
    struct git_id id;
    int rc = repository->is_bundle ? bundle_head(repository, &id, &found, err)
                                   : follow_head(repository, &id, ref, err);

    if (rc == OK)
        rc = commit_peel(repository->objects, &id, out, err);
    if (rc == OK && name)
        snprintf(name, 256, "%s", strcmp(found, "HEAD") == 0 ? "" : short_name(found));
    return rc;
}

int repository_tree(struct repository *repository, const struct git_id *commit, struct git_id *out,
                    struct error *err)
{
    struct commit c;
    int rc = commit_read(repository->objects, commit, &c, err);

    if (rc != OK)
        return rc;
    *out = c.tree;
    commit_free(&c);
    return OK;
}

int repository_commit(struct repository *repository, struct str hex, struct git_id *out,
                      struct error *err)
{
    struct git_id id;
    int rc = objects_expand(repository->objects, hex, &id, err);

    return rc == OK ? commit_peel(repository->objects, &id, out, err) : rc;
}
