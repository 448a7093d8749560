/* A file read in bounded pieces, with places.
 *
 * Reads by pread into one buffer of fixed size (SOURCE_BUFFER_BYTES); never maps a file, since a
 * file that shrinks while mapped is a SIGBUS. Memory does not depend on the size of the file.
 * Understands that the file may grow, shrink or be replaced while it is read. */
#ifndef CORE_READ_SOURCE_H
#define CORE_READ_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/str.h"

#define SOURCE_BUFFER_BYTES ((size_t)1 << 20)
#define SOURCE_LINE_BYTES   ((size_t)64 << 20) /* longest line that source_line gives whole */

struct source_file;

struct source_stat {
    int64_t size, mtime_ns, device, inode;
    bool is_regular;
};

MUST_CHECK int source_stat_path(const char *path, struct source_stat *out, struct error *err);

/* A regular file, opened without following a final link loop, never blocking (a fifo or device is
 * E_UNSUPPORTED). */
MUST_CHECK int source_open(struct source_file **out, const char *path, struct error *err);
/* The same interface on bytes in memory (borrowed), for tests, fuzzers and zip members. */
MUST_CHECK int source_open_bytes(struct source_file **out, const char *name, const void *bytes,
                                 size_t n, struct error *err);
/* The same interface over something that gives bytes by their offset (unpacked text). read_at is as
 * source_at; `ctx` is given away, also when this fails, and closed with the file. The size is NONE. */
struct source_reader {
    int (*read_at)(void *ctx, int64_t offset, void *out, size_t n, size_t *got, struct error *err);
    void (*close)(void *ctx);
    void *ctx;
};
MUST_CHECK int source_open_reader(struct source_file **out, const char *name,
                                  const struct source_reader *reader, struct error *err);
const struct source_reader *source_reader_of(const struct source_file *file); /* NULL: a file */
void source_close(struct source_file *file);
const char *source_path(const struct source_file *file);
int64_t source_size(const struct source_file *file); /* at opening; NONE: not known before the end */
int64_t source_tell(const struct source_file *file); /* offset of the next byte */
/* 1 the file changed since it was opened (shrank, was replaced, other mtime), 0 not. */
int source_has_changed(const struct source_file *file);

/* Reads on from the current place: *chunk is borrowed until the next call, empty at the end.
 * Chunks are at most SOURCE_BUFFER_BYTES. */
MUST_CHECK int source_chunk(struct source_file *file, struct str *chunk, struct error *err);
/* n bytes from an offset into the caller's memory; short only at the end of the file. */
MUST_CHECK int source_at(struct source_file *file, int64_t offset, void *out, size_t n, size_t *got,
                         struct error *err);
MUST_CHECK int source_seek(struct source_file *file, int64_t offset, struct error *err);

/* The next line without its end ("\n" or "\r\n"), borrowed until the next call.
 * Returns 1 a line, 0 the end, negative: error. line->whole is false for a last line without
 * newline; line->cut is true when it was longer than `limit` (0: SOURCE_LINE_BYTES) and only the
 * first `limit` bytes are given (the rest is skipped). */
struct source_line {
    struct str text;
    int64_t number; /* from 1, counted from the last source_seek */
    int64_t byte;   /* offset of its first byte */
    bool whole, cut;
};
MUST_CHECK int source_next_line(struct source_file *file, size_t limit, struct source_line *line,
                                struct error *err);

/* Reads a whole small file; *out NUL-terminated, the caller frees. E_LIMIT when larger. */
MUST_CHECK int source_slurp(const char *path, size_t limit, char **out, size_t *n,
                            struct error *err);

/* The size of the window in use, and setting it (1 … SOURCE_BUFFER_BYTES) so that tests can show
 * that it changes nothing. */
size_t source_buffer_bytes(const struct source_file *file);
void source_set_buffer_bytes(struct source_file *file, size_t n);

/* What a file is that should have been something else. */
enum source_oddity { ODDITY_NONE, ODDITY_EMPTY, ODDITY_LFS_POINTER, ODDITY_BINARY, ODDITY_UTF16 };
enum source_oddity source_oddity(struct str first_bytes);
const char *source_oddity_name(enum source_oddity oddity); /* "a Git LFS pointer, not the file …" */

#endif
