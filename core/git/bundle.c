/* A bundle's header, and its pack indexed in a private folder. See bundle.h. */
#include "core/git/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/read/source.h"

#define MAX_REFS       20000
#define MAX_PACK_BYTES ((int64_t)4 << 30)
#define LINE_BYTES     4096

static const char MARK_2[] = "# v2 git bundle", MARK_3[] = "# v3 git bundle";

bool repository_is_bundle_file(const char *path)
{
    struct source_file *file = NULL;
    char head[sizeof MARK_2];
    size_t n = 0;
    bool is_bundle = false;

    if (source_open(&file, path, NULL) == OK && source_at(file, 0, head, sizeof head, &n, NULL) == OK)
        is_bundle = n == sizeof head && head[n - 1] == '\n' &&
                    (memcmp(head, MARK_2, n - 1) == 0 || memcmp(head, MARK_3, n - 1) == 0);
    source_close(file);
    return is_bundle;
}

struct header {
    struct repository *repository;
    size_t n_lines, n_missing, n_shallow, capacity;
    char missing[GIT_ID_HEX + 1];       /* a commit that the bundle rests on */
};

static int take_capability(struct header *header, struct str word, struct error *err)
{
    if (str_starts(word, "object-format=")) {
        if (!str_is(word, "object-format=sha1"))
            return error_set(err, E_UNSUPPORTED, "a bundle of a SHA-256 repository, which libgit2 cannot "
                             "read; run: git bundle unbundle, then git log --follow -p");
        return OK;
    }
    if (str_starts(word, "filter=")) {
        header->repository->is_partial = true;
        return OK;
    }
    return error_set(err, E_UNSUPPORTED, "a bundle with the capability %.*s, which is not known",
                     (int)(word.n < 60 ? word.n : 60), word.p);
}

static int take_ref(struct header *header, struct str line, struct error *err)
{
    struct repository *r = header->repository;
    struct git_id id;

    if (line.n < GIT_ID_HEX + 2 || line.p[GIT_ID_HEX] != ' ' ||
        !git_id_parse(str_first(line, GIT_ID_HEX), &id))
        return error_set(err, E_GIT, "line %zu of the bundle is no ref", header->n_lines);
    if (r->n_refs == MAX_REFS)
        return error_set(err, E_LIMIT, "a bundle of more than %d refs", MAX_REFS);
    if (r->n_refs == header->capacity) {
        header->capacity = header->capacity ? header->capacity * 2 : 16;
        struct repository_ref *refs = realloc(r->refs, header->capacity * sizeof *refs);

        if (!refs)
            return error_set(err, E_NOMEM, "the refs of a bundle");
        r->refs = refs;
    }
    struct str name = str_skip(line, GIT_ID_HEX + 1);
    char *copy = strndup(name.p, name.n);
    if (!copy)
        return error_set(err, E_NOMEM, "the refs of a bundle");
    r->refs[r->n_refs++] = (struct repository_ref){copy, id};
    return OK;
}

static int take_line(struct header *header, struct str line, struct error *err)
{
    if (line.p[0] == '@')
        return take_capability(header, str_skip(line, 1), err);
    if (line.p[0] != '-')
        return take_ref(header, line, err);
    if (header->n_missing++ == 0)
        snprintf(header->missing, sizeof header->missing, "%.*s", GIT_ID_HEX, line.p + 1);
    return OK;
}

static int read_header(struct header *header, struct source_file *file, int64_t *pack_at,
                       struct error *err)
{
    struct source_line line;
    int rc;

    while ((rc = source_next_line(file, LINE_BYTES, &line, err)) == 1) {
        if (line.cut || !line.whole || header->n_lines > MAX_REFS)
            return error_set(err, E_GIT, "the bundle's header does not end");
        header->n_lines++;
        if (header->n_lines == 1)
            continue;
        if (line.text.n == 0) {
            *pack_at = line.byte + 1;
            return OK;
        }
        rc = take_line(header, line.text, err);
        if (rc != OK)
            return rc;
    }
    return rc == OK ? error_set(err, E_GIT, "the bundle breaks off in its header") : rc;
}

struct piece {
    struct source_file *file;
    int64_t at;
};

static int read_piece(void *ctx, void *out, size_t n, size_t *got, struct error *err)
{
    struct piece *piece = ctx;
    int rc = source_at(piece->file, piece->at, out, n, got, err);

    if (rc == OK)
        piece->at += (int64_t)*got;
    return rc;
}

static int make_folder(struct repository *repository, char pack[4096], struct error *err)
{
    const char *top = getenv("TMPDIR");
    char path[3000];

    snprintf(path, sizeof path, "%s/flatline-bundle-XXXXXX", top && top[0] == '/' ? top : "/tmp");
    if (!mkdtemp(path))
        return error_set(err, E_IO, "no folder for the bundle's pack: %s", strerror(errno));
    repository->temporary = strdup(path);
    if (!repository->temporary) {
        rmdir(path);
        return error_set(err, E_NOMEM, "a bundle");
    }
    snprintf(pack, 4096, "%s/pack", path);
    return mkdir(pack, 0700) == 0 ? OK
                                  : error_set(err, E_IO, "no folder for the bundle's pack: %s",
                                              strerror(errno));
}

static int index_pack(struct header *header, struct source_file *file, int64_t at, struct error *err)
{
    struct piece piece = {file, at};
    const struct pack_source source = {read_piece, &piece};
    char pack[4096];
    int rc = make_folder(header->repository, pack, err);

    if (rc == OK)
        rc = objects_index_pack(pack, &source, err);
    if (rc == E_GIT && header->n_missing)
        return error_set(err, E_UNSUPPORTED, "the bundle rests on commit %.12s, which it does not hold; "
                         "make one with git bundle create FILE --all", header->missing);
    return rc;
}

int bundle_unpack(struct repository *repository, const char *path, struct error *err)
{
    struct header header = {.repository = repository};
    struct source_file *file = NULL;
    int64_t at = 0;
    int rc = source_open(&file, path, err);

    if (rc == OK)
        rc = read_header(&header, file, &at, err);
    if (rc == OK && source_size(file) - at > MAX_PACK_BYTES)
        rc = error_set(err, E_LIMIT, "a bundle of more than %lld GiB is not unpacked",
                       (long long)(MAX_PACK_BYTES >> 30));
    if (rc == OK)
        rc = index_pack(&header, file, at, err);
    if (rc == OK)
        rc = objects_open(&repository->objects, repository->temporary, err);
    if (rc == OK)
        repository->is_shallow = header.n_missing > 0;
    source_close(file);
    return rc;
}

static void empty_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    char path[4096];

    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            unlink(path);
    if (dir)
        closedir(dir);
    rmdir(folder);
}

void bundle_remove(const char *folder)
{
    char pack[4096];

    snprintf(pack, sizeof pack, "%s/pack", folder);
    empty_folder(pack);
    empty_folder(folder);
}
