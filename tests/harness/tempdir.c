/* A fresh folder for one test. See tempdir.h. */
#include "tests/harness/tempdir.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void stop(const char *what, const char *path)
{
    fprintf(stderr, "test harness: %s %s\n", what, path);
    abort();
}

char *tempdir_make(void)
{
    char *path = strdup("/tmp/flatline-test.XXXXXX");

    if (!path || !mkdtemp(path))
        stop("cannot make", "a temporary folder");
    return path;
}

static int drop(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
    (void)st;
    (void)walk;
    if (flag == FTW_DNR)
        chmod(path, 0700);
    return remove(path);
}

void tempdir_remove(char *path)
{
    if (!path)
        return;
    nftw(path, drop, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}

const char *tempdir_path(const char *folder, const char *name)
{
    static char paths[4][4096];
    static unsigned next;
    char *out = paths[next++ % 4];

    snprintf(out, sizeof paths[0], "%s/%s", folder, name);
    return out;
}

void tempdir_write(const char *folder, const char *name, const void *bytes, size_t n)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }

    FILE *file = fopen(path, "wb");

    if (!file || fwrite(bytes, 1, n, file) != n || fclose(file) != 0)
        stop("cannot write", path);
}

void tempdir_write_text(const char *folder, const char *name, const char *text)
{
    tempdir_write(folder, name, text, strlen(text));
}
