/* A file read in bounded pieces, with places. See source.h.
 *
 * A file, bytes in memory and a reader differ only in source_at(); everything above works on one
 * window of bytes. */
#include "core/read/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct source_file {
    char *path;
    int fd; /* -1: bytes in memory */
    const char *bytes;
    struct source_reader reader; /* read_at NULL: a file or bytes */
    struct source_stat opened;
    char *window;
    size_t capacity, filled, at;
    int64_t base;      /* offset of window[0] */
    int64_t line;      /* number of the last line given */
    struct buf joined; /* a line that crosses the end of the window */
};

static int io_error(struct error *err, const char *path, const char *what)
{
    int code = errno;
    int rc = error_set(err, code == ENOENT || code == ENOTDIR ? E_NOTFOUND : E_IO, "%s: %s", what,
                       strerror(code));

    error_at(err, path, NONE, NONE);
    return rc;
}

static struct source_stat stat_of(const struct stat *st)
{
    return (struct source_stat){
        .size = st->st_size,
        .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .device = (int64_t)st->st_dev,
        .inode = (int64_t)st->st_ino,
        .is_regular = S_ISREG(st->st_mode),
    };
}

static const char *kind_of(mode_t mode)
{
    if (S_ISDIR(mode))
        return "a folder";
    if (S_ISFIFO(mode))
        return "a pipe";
    return S_ISSOCK(mode) ? "a socket" : "a device";
}

int source_stat_path(const char *path, struct source_stat *out, struct error *err)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return io_error(err, path, "stat");
    *out = stat_of(&st);
    return OK;
}

static int refuse_odd(const struct stat *st, const char *path, struct error *err)
{
    if (S_ISREG(st->st_mode))
        return OK;

    int rc = error_set(err, E_UNSUPPORTED, "%s, expected a regular file", kind_of(st->st_mode));

    error_at(err, path, NONE, NONE);
    return rc;
}

static int make(struct source_file **out, const char *path, struct error *err)
{
    struct source_file *file = calloc(1, sizeof *file);

    if (file) {
        file->fd = -1;
        file->path = strdup(path);
        file->window = malloc(SOURCE_BUFFER_BYTES);
        file->capacity = SOURCE_BUFFER_BYTES;
        buf_init(&file->joined, SIZE_MAX / 2);
    }
    if (!file || !file->path || !file->window) {
        source_close(file);
        return error_set(err, E_NOMEM, "no memory to open a file");
    }
    *out = file;
    return OK;
}

/* Looked at before it is opened (opening a device may do something), and again after, since it may
 * have been replaced in between. */
static int open_regular(struct source_file *file, struct error *err)
{
    struct stat st;
    int rc;

    if (stat(file->path, &st) != 0)
        return io_error(err, file->path, "open");
    rc = refuse_odd(&st, file->path, err);
    if (rc != OK)
        return rc;
    file->fd = open(file->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &st) != 0)
        return io_error(err, file->path, "open");
    file->opened = stat_of(&st);
    return refuse_odd(&st, file->path, err);
}

int source_open(struct source_file **out, const char *path, struct error *err)
{
    struct source_file *file;
    int rc = make(&file, path, err);

    if (rc != OK)
        return rc;
    rc = open_regular(file, err);
    if (rc != OK) {
        source_close(file);
        return rc;
    }
    *out = file;
    return OK;
}

int source_open_bytes(struct source_file **out, const char *name, const void *bytes, size_t n,
                      struct error *err)
{
    struct source_file *file;
    int rc = make(&file, name, err);

    if (rc != OK)
        return rc;
    file->bytes = bytes;
    file->opened = (struct source_stat){.size = (int64_t)n, .is_regular = true};
    *out = file;
    return OK;
}

int source_open_reader(struct source_file **out, const char *name,
                       const struct source_reader *reader, struct error *err)
{
    struct source_file *file;
    int rc = make(&file, name, err);

    if (rc != OK) {
        reader->close(reader->ctx);
        return rc;
    }
    file->reader = *reader;
    file->opened = (struct source_stat){.size = NONE};
    *out = file;
    return OK;
}

const struct source_reader *source_reader_of(const struct source_file *file)
{
    return file->reader.read_at ? &file->reader : NULL;
}

void source_close(struct source_file *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        close(file->fd);
    if (file->reader.close)
        file->reader.close(file->reader.ctx);
    if (file->window)
        buf_free(&file->joined);
    free(file->window);
    free(file->path);
    free(file);
}

const char *source_path(const struct source_file *file)
{
    return file->path;
}

int64_t source_size(const struct source_file *file)
{
    return file->opened.size;
}

int64_t source_tell(const struct source_file *file)
{
    return file->base + (int64_t)file->at;
}

size_t source_buffer_bytes(const struct source_file *file)
{
    return file->capacity;
}

void source_set_buffer_bytes(struct source_file *file, size_t n)
{
    if (n == 0 || n > SOURCE_BUFFER_BYTES)
        BUG("a buffer of %zu bytes", n);
    file->base = source_tell(file);
    file->at = file->filled = 0;
    file->capacity = n;
}

int source_has_changed(const struct source_file *file)
{
    struct stat st;
    struct source_stat now;

    if (file->fd < 0)
        return 0;
    if (stat(file->path, &st) != 0)
        return 1;
    now = stat_of(&st);
    return now.device != file->opened.device || now.inode != file->opened.inode ||
           now.size < file->opened.size || now.mtime_ns != file->opened.mtime_ns;
}

static int read_bytes(const struct source_file *file, int64_t offset, char *out, size_t n,
                      size_t *got)
{
    size_t left = offset < file->opened.size ? (size_t)(file->opened.size - offset) : 0;

    *got = n < left ? n : left;
    if (*got)
        memcpy(out, file->bytes + offset, *got);
    return OK;
}

int source_at(struct source_file *file, int64_t offset, void *out, size_t n, size_t *got,
              struct error *err)
{
    size_t done = 0;

    if (offset < 0)
        return error_set(err, E_LIMIT, "offset %lld before the start", (long long)offset);
    if (file->reader.read_at)
        return file->reader.read_at(file->reader.ctx, offset, out, n, got, err);
    if (file->fd < 0)
        return read_bytes(file, offset, out, n, got);
    while (done < n) {
        ssize_t once = pread(file->fd, (char *)out + done, n - done, (off_t)offset + (off_t)done);

        if (once < 0 && errno == EINTR)
            continue;
        if (once < 0)
            return io_error(err, file->path, "read");
        if (once == 0)
            break;
        done += (size_t)once;
    }
    *got = done;
    return OK;
}

static int refill(struct source_file *file, struct error *err)
{
    size_t got;
    int rc = source_at(file, file->base + (int64_t)file->filled, file->window, file->capacity, &got,
                       err);

    if (rc != OK)
        return rc;
    file->base += (int64_t)file->filled;
    file->filled = got;
    file->at = 0;
    return OK;
}

int source_chunk(struct source_file *file, struct str *chunk, struct error *err)
{
    if (file->at == file->filled) {
        int rc = refill(file, err);

        if (rc != OK)
            return rc;
    }
    *chunk = str_from(file->window + file->at, file->filled - file->at);
    file->at = file->filled;
    return OK;
}

int source_seek(struct source_file *file, int64_t offset, struct error *err)
{
    if (offset < 0)
        return error_set(err, E_LIMIT, "offset %lld before the start", (long long)offset);
    file->base = offset;
    file->at = file->filled = 0;
    file->line = 0;
    return OK;
}

/* Takes the carriage return off a whole line, and what is over the limit. */
static void finish_line(struct source_file *file, struct str text, size_t limit,
                        struct source_line *line)
{
    if (line->whole && text.n && text.p[text.n - 1] == '\r')
        text.n--;
    line->cut = line->cut || text.n > limit;
    line->text = str_first(text, limit);
    line->number = ++file->line;
}

/* The line goes on after the window: gathers up to limit + 2 bytes (one over, and the carriage
 * return), and passes over the rest. */
static int join_line(struct source_file *file, size_t limit, struct source_line *line,
                     struct error *err)
{
    buf_clear(&file->joined);
    for (;;) {
        const char *from = file->window + file->at;
        size_t n = file->filled - file->at;
        const char *end = n ? memchr(from, '\n', n) : NULL;
        size_t part = end ? (size_t)(end - from) : n;
        size_t room = limit + 2 - file->joined.n;

        buf_add(&file->joined, from, part < room ? part : room);
        line->cut = line->cut || part > room;
        file->at += end ? part + 1 : part;
        line->whole = end != NULL;
        if (file->joined.failed)
            return error_set(err, E_NOMEM, "no memory for a line of %zu bytes", limit);
        if (end)
            break;

        int rc = refill(file, err);

        if (rc != OK)
            return rc;
        if (file->filled == 0)
            break;
    }
    if (line->cut)
        file->joined.n = limit + 1; /* its last byte is not the end of the line */
    finish_line(file, buf_view(&file->joined), limit, line);
    return 1;
}

int source_next_line(struct source_file *file, size_t limit, struct source_line *line,
                     struct error *err)
{
    int rc;

    if (limit == 0)
        limit = SOURCE_LINE_BYTES;
    if (file->at == file->filled) {
        rc = refill(file, err);
        if (rc != OK)
            return rc;
        if (file->filled == 0)
            return 0;
    }
    *line = (struct source_line){.byte = source_tell(file)};

    const char *from = file->window + file->at;
    const char *end = memchr(from, '\n', file->filled - file->at);

    if (!end)
        return join_line(file, limit, line, err);
    line->whole = true;
    file->at += (size_t)(end - from) + 1;
    finish_line(file, str_from(from, (size_t)(end - from)), limit, line);
    return 1;
}

int source_slurp(const char *path, size_t limit, char **out, size_t *n, struct error *err)
{
    struct source_file *file;
    struct buf text;
    struct str chunk;
    int rc = source_open(&file, path, err);

    if (rc != OK)
        return rc;
    buf_init(&text, limit);
    do {
        rc = source_chunk(file, &chunk, err);
        if (rc != OK)
            goto out;
        if (chunk.n > limit - text.n) {
            rc = error_set(err, E_LIMIT, "larger than %zu bytes", limit);
            error_at(err, path, NONE, NONE);
            goto out;
        }
        buf_str(&text, chunk);
    } while (chunk.n);

    size_t length = text.n;
    char *whole = buf_steal(&text);

    if (!whole) {
        rc = error_set(err, E_NOMEM, "no memory for %zu bytes", length);
        goto out;
    }
    *n = length;
    *out = whole;
out:
    buf_free(&text);
    source_close(file);
    return rc;
}

/* ASCII in UTF-16 without a mark has a zero in every second byte. */
static bool is_bare_utf16(struct str bytes)
{
    size_t n = bytes.n < 64 ? bytes.n : 64;
    size_t zeros[2] = {0, 0};

    for (size_t i = 0; i < n; i++)
        zeros[i & 1] += bytes.p[i] == '\0';
    return n >= 8 && (zeros[0] == 0) != (zeros[1] == 0) && zeros[0] + zeros[1] >= n / 2 - 1;
}

enum source_oddity source_oddity(struct str first_bytes)
{
    if (first_bytes.n == 0)
        return ODDITY_EMPTY;
    if (str_starts(first_bytes, "version https://git-lfs.github.com/spec/"))
        return ODDITY_LFS_POINTER;
    if (str_starts(first_bytes, "\xFF\xFE") || str_starts(first_bytes, "\xFE\xFF") ||
        is_bare_utf16(first_bytes))
        return ODDITY_UTF16;
    return memchr(first_bytes.p, '\0', first_bytes.n) ? ODDITY_BINARY : ODDITY_NONE;
}

const char *source_oddity_name(enum source_oddity oddity)
{
    switch (oddity) {
    case ODDITY_NONE:
        return "text";
    case ODDITY_EMPTY:
        return "an empty file";
    case ODDITY_LFS_POINTER:
        return "a Git LFS pointer, not the file itself (git lfs pull fetches it)";
    case ODDITY_BINARY:
        return "binary data, not text";
    case ODDITY_UTF16:
        return "UTF-16 or UTF-32 text, expected UTF-8";
    }
    return "?";
}
