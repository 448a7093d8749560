/* See form_folder.h. */
#include "core/facts/form_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/facts/form.h"

#define FILE_BUFFER ((size_t)1 << 20)

static bool is_numbered(const char *name, const char *stem)
{
    size_t n = strlen(stem);

    if (strncmp(name, stem, n) != 0)
        return false;
    name += n;
    n = strspn(name, "0123456789");
    return n > 0 && (strcmp(name + n, ".jsonl") == 0 || strcmp(name + n, ".parquet") == 0);
}

static bool is_ours(const char *name)
{
    return strcmp(name, "facts.json") == 0 || is_numbered(name, "rows-") ||
           is_numbered(name, "candidates-");
}

static int failed(struct error *err, const char *path, const char *what)
{
    int rc = error_set(err, E_IO, "%s: %s", what, strerror(errno));

    error_at(err, path, NONE, NONE);
    return rc;
}

enum contents { NOTHING, FACTS, OTHERS };

static int look_into(const char *path, enum contents *out, struct error *err)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;

    *out = NOTHING;
    if (!folder)
        return failed(err, path, "cannot be opened as a folder");
    while ((entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            *out = !is_ours(entry->d_name) ? OTHERS : *out == OTHERS ? OTHERS : FACTS;
    closedir(folder);
    return OK;
}

/* Our files and the folder, when nothing else is in it. */
static int remove_folder(const char *path, struct error *err)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;

    if (!folder)
        return errno == ENOENT ? OK : failed(err, path, "cannot be opened as a folder");
    while ((entry = readdir(folder)))
        if (is_ours(entry->d_name))
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    return rmdir(path) == 0 ? OK : failed(err, path, "cannot be removed");
}

static int check_place(const struct form_folder *folder, struct error *err)
{
    enum contents contents;
    struct stat st;
    int rc;

    if (lstat(folder->path, &st) != 0)
        return errno == ENOENT ? OK : failed(err, folder->path, "cannot be looked at");
    rc = look_into(folder->path, &contents, err);
    if (rc != OK || contents == NOTHING || (contents == FACTS && folder->force))
        return rc;
    rc = error_set(err, E_IO, contents == FACTS ? "holds facts already; --force replaces them"
                                                : "holds other files; expected a new folder");
    error_at(err, folder->path, NONE, NONE);
    return rc;
}

int form_folder_open(struct form_folder *out, const char *path, bool force, struct error *err)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    *out = (struct form_folder){.force = force};
    if (n == 0 || n >= sizeof out->path)
        return error_set(err, E_LIMIT, "-o: expected the path of a folder");
    memcpy(out->path, path, n);
    snprintf(out->made, sizeof out->made, "%s.partial", out->path);
    out->rows = (struct form_lines){.folder = out->made, .stem = "rows"};
    out->candidates = (struct form_lines){.folder = out->made, .stem = "candidates"};
    int rc = check_place(out, err);
    if (rc == OK)
        rc = remove_folder(out->made, err);
    if (rc == OK && mkdir(out->made, 0777) != 0)
        rc = failed(err, out->made, "cannot be made");
    out->is_made = rc == OK;
    return rc;
}

/* ---- Lines ---- */

static int close_file(struct form_lines *lines, struct error *err)
{
    FILE *file = lines->file;

    lines->file = NULL;
    if (!file)
        return OK;
    bool is_bad = ferror(file);
    return fclose(file) == 0 && !is_bad ? OK : failed(err, lines->folder, "facts cannot be written");
}

static int next_file(struct form_lines *lines, struct error *err)
{
    char path[4200];
    int rc = close_file(lines, err);

    if (rc != OK)
        return rc;
    snprintf(path, sizeof path, "%s/%s-%05d.jsonl", lines->folder, lines->stem, lines->n_files++);
    lines->file = fopen(path, "wbxe");
    if (!lines->file)
        return failed(err, path, "cannot be made");
    (void)setvbuf(lines->file, NULL, _IOFBF, FILE_BUFFER);
    return OK;
}

int form_lines_put(struct form_lines *lines, struct str line, struct error *err)
{
    int rc = lines->n_lines % FORM_FILE_ROWS == 0 ? next_file(lines, err) : OK;

    if (rc != OK)
        return rc;
    lines->n_lines++;
    if (fwrite(line.p, 1, line.n, lines->file) == line.n)
        return OK;
    return failed(err, lines->folder, "facts cannot be written");
}

/* ---- The end ---- */

static int end_lines(struct form_lines *lines, struct error *err)
{
    int rc = lines->n_files == 0 ? next_file(lines, err) : OK;

    return rc == OK ? close_file(lines, err) : rc;
}

static int write_head(const struct form_folder *folder, struct str head, struct error *err)
{
    char path[4200];

    snprintf(path, sizeof path, "%s/facts.json", folder->made);
    FILE *file = fopen(path, "wbxe");
    if (!file)
        return failed(err, path, "cannot be made");
    bool is_good = fwrite(head.p, 1, head.n, file) == head.n;
    return fclose(file) == 0 && is_good ? OK : failed(err, path, "cannot be written");
}

int form_folder_commit(struct form_folder *folder, struct str head, struct error *err)
{
    int rc = end_lines(&folder->rows, err);

    if (rc == OK)
        rc = end_lines(&folder->candidates, err);
    if (rc == OK)
        rc = write_head(folder, head, err);
    if (rc == OK)
        rc = check_place(folder, err); /* it may have been filled in the meantime */
    if (rc == OK)
        rc = remove_folder(folder->path, err);
    if (rc == OK && rename(folder->made, folder->path) != 0)
        rc = failed(err, folder->path, "the facts cannot be moved there");
    if (rc == OK)
        folder->is_made = false;
    return rc;
}

void form_folder_close(struct form_folder *folder)
{
    struct error ignored;

    if (close_file(&folder->rows, &ignored) != OK || close_file(&folder->candidates, &ignored) != OK)
        folder->rows.file = NULL;
    if (folder->is_made && remove_folder(folder->made, &ignored) != OK)
        folder->is_made = false;
}
