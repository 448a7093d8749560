/* Members of a zip by libzip. Sizes come from the central directory and are checked against what is
 * really inflated; nothing is written to disk and names are never used as paths. */
#include "core/read/zip.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <zip.h>

#include "core/base/str.h"
#include "core/read/decompress_block.h"

struct zip_file_reader {
    zip_t *zip;
    size_t n;
    zip_file_t *part; /* the member that zip_reader_part read last; NULL: none */
    size_t part_index;
    int64_t part_at;
};

static int status_of(int zip_code)
{
    if (zip_code == ZIP_ER_MEMORY)
        return E_NOMEM;
    bool is_io = zip_code == ZIP_ER_OPEN || zip_code == ZIP_ER_READ || zip_code == ZIP_ER_NOENT;

    return is_io ? E_IO : E_PARSE;
}

int zip_reader_open(struct zip_file_reader **out, const char *path, struct error *err)
{
    int code = 0;
    int rc = OK;
    zip_t *zip = zip_open(path, ZIP_RDONLY, &code);

    if (!zip) {
        zip_error_t why;

        zip_error_init_with_code(&why, code);
        /* The directory stands at the end: a download that stopped has none. */
        rc = code == ZIP_ER_NOZIP
                 ? error_set(err, E_PARSE, "zip: cut, or no zip: its directory at the end is missing")
                 : error_set(err, status_of(code), "zip: %s", zip_error_strerror(&why));
        error_at(err, path, NONE, NONE);
        zip_error_fini(&why);
        return rc;
    }
    struct zip_file_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        zip_discard(zip);
        return error_set(err, E_NOMEM, "zip reader");
    }
    zip_int64_t n = zip_get_num_entries(zip, 0);
    reader->zip = zip;
    reader->n = n < 0 ? 0 : (size_t)n;
    *out = reader;
    return OK;
}

void zip_reader_close(struct zip_file_reader *reader)
{
    if (!reader)
        return;
    if (reader->part)
        zip_fclose(reader->part);
    zip_discard(reader->zip);
    free(reader);
}

size_t zip_reader_count(const struct zip_file_reader *reader)
{
    return reader->n;
}

const char *zip_reader_name(const struct zip_file_reader *reader, size_t i)
{
    const char *name = zip_get_name(reader->zip, i, ZIP_FL_ENC_RAW);

    return name ? name : "";
}

/* Reads `size` bytes and sees that the member ends there. */
static int inflate_member(zip_file_t *member, const char *name, char *text, size_t size,
                          struct error *err)
{
    size_t n = 0;
    char more;

    while (n < size) {
        zip_int64_t got = zip_fread(member, text + n, size - n);

        if (got <= 0)
            return error_set(err, E_PARSE, "zip member %s ends after %zu of %zu bytes", name, n,
                             size);
        n += (size_t)got;
    }
    if (zip_fread(member, &more, 1) > 0)
        return error_set(err, E_LIMIT, "zip member %s is longer than the %zu bytes it states", name,
                         size);
    return OK;
}

/* A method which libzip may not know: the packed bytes are unpacked here. */
#define METHOD_ZSTD 93
#define MAX_PACKED  ((zip_uint64_t)256 << 20)

static int unpack_zstd(struct zip_file_reader *reader, size_t i, const zip_stat_t *stat, char *text,
                       struct error *err)
{
    const char *name = zip_reader_name(reader, i);
    size_t n = stat->valid & ZIP_STAT_COMP_SIZE && stat->comp_size <= MAX_PACKED
                   ? (size_t)stat->comp_size
                   : 0;
    zip_file_t *member = n ? zip_fopen_index(reader->zip, i, ZIP_FL_COMPRESSED) : NULL;
    char *packed = member ? malloc(n) : NULL;
    int rc = packed ? OK : error_set(err, E_PARSE, "zip member %s cannot be read", name);

    if (rc == OK && zip_fread(member, packed, n) != (zip_int64_t)n)
        rc = error_set(err, E_PARSE, "zip member %s ends before its %zu packed bytes", name, n);
    if (rc == OK)
        rc = block_unpack(BLOCK_ZSTD, str_from(packed, n), text, (size_t)stat->size, err);
    free(packed);
    if (member)
        zip_fclose(member);
    return rc;
}

static int unpack(struct zip_file_reader *reader, size_t i, const zip_stat_t *stat, char *text,
                  struct error *err)
{
    const char *name = zip_reader_name(reader, i);
    zip_file_t *member = zip_fopen_index(reader->zip, i, 0);

    if (!member)
        return error_set(err, E_UNSUPPORTED, "zip member %s: %s", name, zip_strerror(reader->zip));
    int rc = inflate_member(member, name, text, (size_t)stat->size, err);
    zip_fclose(member);
    return rc;
}

static int read_member(struct zip_file_reader *reader, size_t i, size_t limit, char **out,
                       size_t *n, struct error *err)
{
    zip_stat_t stat;
    const char *name = zip_reader_name(reader, i);
    int rc = OK;

    if (zip_stat_index(reader->zip, i, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_SIZE))
        return error_set(err, E_PARSE, "zip member %s states no size", name);
    if ((stat.valid & ZIP_STAT_ENCRYPTION_METHOD) && stat.encryption_method != ZIP_EM_NONE)
        return error_set(err, E_UNSUPPORTED, "zip member %s is encrypted", name);
    if (stat.size > limit)
        return error_set(err, E_LIMIT, "zip member %s of %llu bytes, at most %zu are read", name,
                         (unsigned long long)stat.size, limit);
    char *text = malloc((size_t)stat.size + 1);
    if (!text)
        return error_set(err, E_NOMEM, "zip member %s", name);
    if ((stat.valid & ZIP_STAT_COMP_METHOD) && stat.comp_method == METHOD_ZSTD)
        rc = unpack_zstd(reader, i, &stat, text, err);
    else
        rc = unpack(reader, i, &stat, text, err);
    if (rc != OK)
        goto out;
    text[stat.size] = '\0';
    *out = text;
    *n = (size_t)stat.size;
    text = NULL;
out:
    free(text);
    return rc;
}

int zip_reader_read(struct zip_file_reader *reader, size_t i, size_t limit, char **out, size_t *n,
                    struct error *err)
{
    if (i >= reader->n)
        return error_set(err, E_NOTFOUND, "no zip member %zu of %zu", i, reader->n);
    return read_member(reader, i, limit, out, n, err);
}

int zip_reader_member(struct zip_file_reader *reader, const char *suffix, size_t limit, char **out,
                      size_t *n, struct error *err)
{
    for (size_t i = 0; i < reader->n; i++)
        if (str_ends(str_of(zip_reader_name(reader, i)), suffix))
            return read_member(reader, i, limit, out, n, err);
    return error_set(err, E_NOTFOUND, "no zip member that ends with %s", suffix);
}

static int open_part(struct zip_file_reader *reader, size_t i, struct error *err)
{
    zip_stat_t stat;
    const char *name = zip_reader_name(reader, i);

    if (reader->part && reader->part_index == i)
        return OK;
    if (reader->part)
        zip_fclose(reader->part);
    reader->part = NULL;
    if (zip_stat_index(reader->zip, i, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_COMP_METHOD) ||
        stat.comp_method != ZIP_CM_STORE)
        return error_set(err, E_UNSUPPORTED, "zip member %s is packed", name);
    reader->part = zip_fopen_index(reader->zip, i, 0);
    reader->part_index = i;
    reader->part_at = 0;
    return reader->part ? OK
                        : error_set(err, E_PARSE, "zip member %s: %s", name,
                                    zip_strerror(reader->zip));
}

int zip_reader_part(struct zip_file_reader *reader, const char *suffix, int64_t offset, void *out,
                    size_t n, size_t *got, struct error *err)
{
    size_t i = reader->n, n_seen = 0;

    /* Members are asked for in about their order: the search goes on from the last one. */
    *got = 0;
    for (; n_seen < reader->n; n_seen++) {
        i = (reader->part_index + n_seen) % reader->n;
        if (str_ends(str_of(zip_reader_name(reader, i)), suffix))
            break;
    }
    if (n_seen == reader->n)
        return error_set(err, E_NOTFOUND, "no zip member that ends with %s", suffix);
    int rc = open_part(reader, i, err);
    if (rc != OK)
        return rc;
    if (reader->part_at != offset && zip_fseek(reader->part, offset, SEEK_SET) != 0)
        return error_set(err, E_PARSE, "zip member %s has no byte %lld", suffix, (long long)offset);
    reader->part_at = offset;
    while (*got < n) {
        zip_int64_t some = zip_fread(reader->part, (char *)out + *got, n - *got);

        if (some <= 0)
            break;
        *got += (size_t)some;
    }
    reader->part_at += (int64_t)*got;
    return OK;
}
