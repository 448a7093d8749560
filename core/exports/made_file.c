/* Writing files that the user asked for. See made_file.h. */
#include "core/exports/made_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096

int made_folder_open(const struct made_folder *folder, struct error *err)
{
    int rc;

    if (mkdir(folder->path, 0777) == 0 || errno == EEXIST)
        return OK;
    rc = error_set(err, E_IO, "folder: %s", strerror(errno));
    error_at(err, folder->path, NONE, NONE);
    return rc;
}

int made_file_open(const struct made_folder *folder, const char *name, FILE **out, struct error *err)
{
    char path[PATH_BYTES];
    int rc;

    if (snprintf(path, sizeof path, "%s/%s", folder->path, name) >= (int)sizeof path)
        return error_set(err, E_LIMIT, "%s: the path is longer than %d bytes", name, PATH_BYTES - 1);
    *out = fopen(path, folder->force ? "wb" : "wbx");
    if (*out)
        return OK;
    rc = error_set(err, E_IO, errno == EEXIST ? "exists already; --force overwrites it" : "open: %s",
                   strerror(errno));
    error_at(err, path, NONE, NONE);
    return rc;
}

int made_file_close(FILE *file, int rc, const char *name, struct error *err)
{
    bool is_bad = ferror(file) != 0;

    if (fclose(file) != 0 || is_bad)
        return rc == OK ? error_set(err, E_IO, "%s: write: %s", name, strerror(errno)) : rc;
    return rc;
}

int made_file_write(const struct made_folder *folder, const char *name, const struct buf *text,
                    const char *about, struct error *err)
{
    FILE *file;
    int rc;

    if (text->failed)
        return error_set(err, E_LIMIT, "%s: its text is larger than %zu bytes", name, text->limit);
    rc = made_file_open(folder, name, &file, err);
    if (rc != OK)
        return rc;
    fwrite(text->p, 1, text->n, file);
    rc = made_file_close(file, OK, name, err);
    if (rc == OK && about)
        buf_printf(folder->said, "%s/%s: %s\n", folder->path, name, about);
    return rc;
}
