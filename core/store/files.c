/* Where the databases lie. See files.h. */
#include "core/store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ASIDE 1000

static const char *const BESIDE[] = {"-wal", "-shm", "-journal"};
#define N_BESIDE (sizeof BESIDE / sizeof BESIDE[0])

char *files_join(const char *folder, const char *name)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);

    if (path)
        snprintf(path, n, "%s/%s", folder, name);
    return path;
}

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for a path");
}

/* ---- Default places ------------------------------------------------------------------------- */

/* Relative values of the XDG variables are to be ignored. */
static int below_home(char **path, const char *variable, const char *below, const char *name,
                      struct error *err)
{
    const char *base = getenv(variable);
    const char *home = getenv("HOME");
    char text[PATH_MAX];
    int n;

    if (base && base[0] == '/')
        n = snprintf(text, sizeof text, "%s/flatline/%s", base, name);
    else if (home && home[0] == '/')
        n = snprintf(text, sizeof text, "%s/%s/flatline/%s", home, below, name);
    else
        return error_set(err, E_NOTFOUND, "neither %s nor HOME is an absolute path", variable);
    if (n >= (int)sizeof text)
        return error_set(err, E_LIMIT, "the path of %s is too long", name);
    *path = strdup(text);
    return *path ? OK : no_memory(err);
}

int files_default_cache(char **path, struct error *err)
{
    return below_home(path, "XDG_CACHE_HOME", ".cache", "cache.db", err);
}

int files_default_kept(char **path, struct error *err)
{
    return below_home(path, "XDG_STATE_HOME", ".local/state", "triage.db", err);
}

/* ---- Making --------------------------------------------------------------------------------- */

static int make_folders(const char *path, struct error *err)
{
    char *copy = strdup(path);
    int rc = OK;

    if (!copy)
        return no_memory(err);
    for (char *slash = strchr(copy + 1, '/'); slash && rc == OK; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0700) != 0 && errno != EEXIST) {
            rc = error_set(err, E_IO, "the folder cannot be made: %s", strerror(errno));
            error_at(err, copy, NONE, NONE);
        }
        *slash = '/';
    }
    free(copy);
    return rc;
}

/* SQLite needs to make -wal and -shm beside the file. */
static int check_folder(const char *path, struct error *err)
{
    char *copy = strdup(path);

    if (!copy)
        return no_memory(err);

    char *slash = strrchr(copy, '/');

    if (slash)
        *(slash == copy ? slash + 1 : slash) = '\0';

    int bad = access(slash ? copy : ".", W_OK | X_OK) != 0 ? errno : 0;

    free(copy);
    if (bad)
        return error_set(err, E_IO, "its folder cannot be written: %s", strerror(bad));
    return OK;
}

int files_prepare(const char *path, struct error *err)
{
    struct stat st;
    int rc = make_folders(path, err);

    if (rc != OK)
        return rc;
    /* A FIFO would block, a device would be written to. */
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        rc = error_set(err, E_IO, "not a file");
    } else {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);

        if (fd < 0)
            rc = error_set(err, E_IO, "cannot be opened for writing: %s", strerror(errno));
        else
            close(fd);
    }
    if (rc == OK)
        rc = check_folder(path, err);
    if (rc != OK)
        error_at(err, path, NONE, NONE);
    return rc;
}

/* ---- Moving and removing -------------------------------------------------------------------- */

int files_rename(const char *from, const char *to, struct error *err)
{
    if (rename(from, to) == 0)
        return OK;

    int rc = error_set(err, E_IO, "cannot be renamed to %s: %s", to, strerror(errno));

    error_at(err, from, NONE, NONE);
    return rc;
}

static char *with_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path) + strlen(suffix) + 1;
    char *out = malloc(n);

    if (out)
        snprintf(out, n, "%s%s", path, suffix);
    return out;
}

/* The log goes first: a log left beside a fresh database would be taken for its own. */
static int move_with_log(const char *path, const char *aside, struct error *err)
{
    for (size_t i = 0; i < N_BESIDE; i++) {
        char *from = with_suffix(path, BESIDE[i]);
        char *to = with_suffix(aside, BESIDE[i]);
        int rc = !from || !to ? no_memory(err) : OK;

        if (rc == OK && access(from, F_OK) == 0)
            rc = files_rename(from, to, err);
        free(from);
        free(to);
        if (rc != OK)
            return rc;
    }
    return files_rename(path, aside, err);
}

int files_move_aside(const char *path, char **aside, struct error *err)
{
    for (int i = 1; i <= MAX_ASIDE; i++) {
        char suffix[32];
        struct stat st;

        snprintf(suffix, sizeof suffix, ".aside-%d", i);

        char *to = with_suffix(path, suffix);

        if (!to)
            return no_memory(err);
        if (lstat(to, &st) == 0) {
            free(to);
            continue;
        }

        int rc = move_with_log(path, to, err);

        if (rc == OK)
            *aside = to;
        else
            free(to);
        return rc;
    }

    int rc = error_set(err, E_LIMIT, "%d databases were moved aside here already", MAX_ASIDE);

    error_at(err, path, NONE, NONE);
    return rc;
}

void files_remove(const char *path)
{
    for (size_t i = 0; i < N_BESIDE; i++) {
        char *beside = with_suffix(path, BESIDE[i]);

        if (beside)
            unlink(beside);
        free(beside);
    }
    unlink(path);
}

int files_private_folder(char **folder, struct error *err)
{
    const char *base = getenv("TMPDIR");
    char *path = files_join(base && base[0] == '/' ? base : "/tmp", "flatline-XXXXXX");

    if (!path)
        return no_memory(err);
    if (!mkdtemp(path)) {
        int rc = error_set(err, E_IO, "no temporary folder can be made: %s", strerror(errno));

        error_at(err, path, NONE, NONE);
        free(path);
        return rc;
    }
    *folder = path;
    return OK;
}

void files_remove_private_folder(const char *folder)
{
    static const char *const NAMES[] = {"cache.db", "triage.db"};

    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        char *path = files_join(folder, NAMES[i]);

        if (path)
            files_remove(path);
        free(path);
    }
    rmdir(folder);
}
