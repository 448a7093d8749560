/* The walk over the arguments. Knows no importer; folder.c decides what is read. */
#include "importers/walk.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "importers/folder.h"

#define FOLDER_MAX_ENTRIES 100000 /* of one folder: more are data shards, not a run */

struct files {
    struct walk_file *list;
    size_t n, capacity;
};

struct walker {
    struct arena *arena;
    struct files files;
    struct walk_skipped *skipped;
    size_t n_skipped, skipped_capacity;
    size_t below; /* bytes of the argument's path and its slash */
    size_t n_all; /* over all arguments */
    bool is_full;
};

/* ---- Lists ---- */

static const char *shown_of(const struct walker *walker, const char *path)
{
    return strlen(path) > walker->below ? path + walker->below : path;
}

static void skip(struct walker *walker, const char *path, const char *reason)
{
    walker->skipped = arena_room(walker->arena, walker->skipped, walker->n_skipped,
                                 &walker->skipped_capacity, sizeof *walker->skipped);
    if (!walker->skipped)
        return;
    const char *kept = arena_strdup(walker->arena, path);
    walker->skipped[walker->n_skipped++] =
        (struct walk_skipped){.path = kept, .shown = shown_of(walker, kept), .reason = reason};
}

static void add(struct walker *walker, const char *folder, const char *path, int64_t size)
{
    struct files *files = &walker->files;

    if (walker->n_all >= WALK_MAX_FILES) {
        if (!walker->is_full)
            skip(walker, path, "more than 200,000 files: this and the rest were not looked at");
        walker->is_full = true;
        return;
    }
    files->list = arena_room(walker->arena, files->list, files->n, &files->capacity,
                             sizeof *files->list);
    if (!files->list)
        return;
    const char *kept = arena_strdup(walker->arena, path);
    const char *slash = strrchr(kept, '/');
    files->list[files->n++] = (struct walk_file){.path = kept,
                                                 .shown = shown_of(walker, kept),
                                                 .name = slash ? slash + 1 : kept,
                                                 .folder = folder,
                                                 .size = size};
    walker->n_all++;
}

/* ---- One folder ---- */

static bool is_skipped_name(const char *name)
{
    static const char *const NAMES[] = {".git",         ".hg",           ".svn",
                                        "node_modules", ".venv",         "venv",
                                        "__pycache__",  "site-packages", ".ipynb_checkpoints"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(name, NAMES[i]) == 0)
            return true;
    return false;
}

/* Why a folder is told of that holds runs which nobody here reads; NULL: it is none. */
static const char *foreign_store(const char *name)
{
    if (strcmp(name, ".aim") == 0)
        return "a store of Aim (RocksDB), which is not read: write its metrics to metrics.csv or "
               ".parquet by dataframe() of Aim's Run or of query_metrics(), with step and loss as "
               "columns";
    return NULL;
}

static bool is_virtual_environment(const char *path)
{
    char mark[PATH_MAX];
    struct stat st;
    int n = snprintf(mark, sizeof mark, "%s/pyvenv.cfg", path);

    return n > 0 && (size_t)n < sizeof mark && lstat(mark, &st) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
    char **list;
    size_t n, capacity;
    const char *rest; /* why there may be more of them, or NULL */
};

static bool add_name(struct names *names, const char *name)
{
    if (names->n == names->capacity) {
        size_t more = names->capacity ? names->capacity * 2 : 64;
        char **grown = realloc(names->list, more * sizeof *grown);

        if (!grown)
            return false;
        names->list = grown;
        names->capacity = more;
    }
    names->list[names->n] = strdup(name);
    if (!names->list[names->n])
        return false;
    names->n++;
    return true;
}

/* Names of a folder, sorted; the caller frees. False: it cannot be read, errno says why. */
static bool list_folder(const char *path, struct names *out)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (!dir)
        return false;
    while (!out->rest && (errno = 0, entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (out->n == FOLDER_MAX_ENTRIES)
            out->rest = "more than 100,000 entries in one folder: the rest was not looked at";
        else if (!add_name(out, entry->d_name))
            out->rest = "no memory for its entries: the rest was not looked at";
    }
    if (!out->rest && errno)
        out->rest = "its entries cannot all be read: the rest was not looked at";
    closedir(dir);
    if (out->n)
        qsort(out->list, out->n, sizeof *out->list, by_name);
    return true;
}

static void walk_folder(struct walker *walker, const char *folder, int depth);

static void visit(struct walker *walker, const char *folder, const char *name, int depth)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);

    if (n < 0 || (size_t)n >= sizeof path) {
        skip(walker, folder, "holds a path longer than the system can open");
        return;
    }
    if (lstat(path, &st) != 0) {
        skip(walker, path, "could not be looked at");
    } else if (S_ISLNK(st.st_mode)) {
        skip(walker, path, "a link, not followed");
    } else if (S_ISREG(st.st_mode)) {
        add(walker, folder, path, (int64_t)st.st_size);
    } else if (!S_ISDIR(st.st_mode)) {
        skip(walker, path, "not a regular file");
    } else if (foreign_store(name)) {
        skip(walker, path, foreign_store(name));
    } else if (is_skipped_name(name) || is_virtual_environment(path)) {
        skip(walker, path, "a folder that holds no runs");
    } else if (depth >= WALK_MAX_DEPTH) {
        skip(walker, path, "deeper than 6 folders");
    } else {
        walk_folder(walker, arena_strdup(walker->arena, path), depth + 1);
    }
}

static void walk_folder(struct walker *walker, const char *folder, int depth)
{
    struct names names = {0};

    if (!list_folder(folder, &names)) {
        skip(walker, folder,
             errno == EACCES ? "a folder that may not be read" : "a folder that cannot be read");
        return;
    }
    if (names.rest)
        skip(walker, folder, names.rest);
    for (size_t i = 0; i < names.n; i++) {
        if (!walker->is_full && !arena_failed(walker->arena))
            visit(walker, folder, names.list[i], depth);
        free(names.list[i]);
    }
    free(names.list);
}

/* ---- Arguments ---- */

static const char *folder_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == path ? "/" : arena_strndup(arena, path, slash ? (size_t)(slash - path) : 0);
}

/* Is `path` the folder itself or below it? */
static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 &&
           (path[n] == '\0' || path[n] == '/' || strcmp(folder, "/") == 0);
}

static const char *common_folder(struct arena *arena, const struct files *files)
{
    const char *common = files->list[0].folder;

    for (size_t i = 1; i < files->n; i++)
        while (!is_below(files->list[i].folder, common))
            common = folder_of(arena, common);
    return common;
}

struct named {
    const char *path;
    int64_t size;
    bool is_folder;
};

static bool resolve(struct walker *walker, const char *path, struct named *out)
{
    char real[PATH_MAX];
    struct stat st;

    walker->below = 0;
    if (!realpath(path, real) || stat(real, &st) != 0) {
        skip(walker, path, errno == ENOENT ? "no such file or folder" : "cannot be read");
        return false;
    }
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
        skip(walker, path, "neither a file nor a folder");
        return false;
    }
    *out = (struct named){.path = arena_strdup(walker->arena, real),
                          .size = (int64_t)st.st_size,
                          .is_folder = S_ISDIR(st.st_mode)};
    return true;
}

/* A path within a folder that is named too would be found twice. */
static bool is_within_another(const struct named *named, size_t n, size_t i)
{
    for (size_t k = 0; k < n; k++) {
        if (k == i || !is_below(named[i].path, named[k].path))
            continue;
        if (strcmp(named[i].path, named[k].path) == 0 ? k < i : named[k].is_folder)
            return true;
    }
    return false;
}

static void walk_named_folder(struct walker *walker, const char *path, struct walk_argument *out)
{
    const char *why = foreign_store(strrchr(path, '/') ? strrchr(path, '/') + 1 : path);

    walker->files = (struct files){0};
    walker->below = 0;
    if (why) {
        skip(walker, path, why);
    } else {
        walker->below = strcmp(path, "/") == 0 ? 1 : strlen(path) + 1;
        walk_folder(walker, path, 0);
    }
    *out = (struct walk_argument){
        .folder = path, .files = walker->files.list, .n_files = walker->files.n};
}

static bool walk_named_files(struct walker *walker, const struct named *named, size_t n,
                             struct walk_argument *out)
{
    walker->files = (struct files){0};
    walker->below = 0;
    for (size_t i = 0; i < n; i++)
        if (!named[i].is_folder && !is_within_another(named, n, i))
            add(walker, folder_of(walker->arena, named[i].path), named[i].path, named[i].size);
    if (walker->files.n == 0 || arena_failed(walker->arena))
        return false;
    const char *common = common_folder(walker->arena, &walker->files);
    walker->below = strcmp(common, "/") == 0 ? 1 : strlen(common) + 1;
    for (size_t i = 0; i < walker->files.n; i++)
        walker->files.list[i].shown = shown_of(walker, walker->files.list[i].path);
    *out = (struct walk_argument){.folder = common,
                                  .is_files = true,
                                  .files = walker->files.list,
                                  .n_files = walker->files.n};
    return true;
}

int walk_paths(const char *const *paths, size_t n_paths, struct arena *arena, struct walk *out,
               struct error *err)
{
    struct walker walker = {.arena = arena};
    struct named *named = arena_array(arena, n_paths + 1, sizeof *named);
    struct walk_argument *arguments = arena_array(arena, n_paths + 1, sizeof *arguments);
    size_t n_named = 0, n = 0;

    if (!named || !arguments)
        return error_set(err, E_NOMEM, "no memory for %zu paths", n_paths);
    for (size_t i = 0; i < n_paths; i++)
        if (resolve(&walker, paths[i], &named[n_named]))
            n_named++;
    for (size_t i = 0; i < n_named; i++)
        if (named[i].is_folder && !is_within_another(named, n_named, i))
            walk_named_folder(&walker, named[i].path, &arguments[n++]);
    if (walk_named_files(&walker, named, n_named, &arguments[n]))
        n++;
    if (arena_failed(arena))
        return error_set(err, E_NOMEM, "no memory for the list of %zu files", walker.n_all);
    *out = (struct walk){.arguments = arguments,
                         .n_arguments = n,
                         .skipped = walker.skipped,
                         .n_skipped = walker.n_skipped};
    return OK;
}
