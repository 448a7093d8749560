/* A console log as pieces: what stands between newlines and carriage returns.
 *
 * Empty pieces are left out. A line number counts newlines only, as an editor does, so several
 * pieces may share a line. */
#ifndef IMPORTERS_RUN_CONSOLE_SPLIT_H
#define IMPORTERS_RUN_CONSOLE_SPLIT_H

#include "core/base/str.h"
#include "core/read/source.h"

struct console_piece {
    struct str text; /* borrowed until the next call */
    int64_t line, byte;
    bool has_escape; /* holds an ESC or NUL: strip before reading */
    bool is_cut;     /* longer than CONSOLE_LINE_BYTES */
};

struct console_split {
    struct source_file *file;
    struct str chunk;   /* not yet read part of the current one */
    int64_t line, byte; /* of the first byte of chunk (or of carry when it is not empty) */
    struct buf carry;   /* a piece that began in an earlier chunk */
    bool carry_is_out, carry_has_escape, carry_is_cut;
    int64_t carry_bytes; /* of the piece, also those that were dropped */
};

void console_split_open(struct console_split *split, struct source_file *file);
void console_split_close(struct console_split *split);
/* 1 a piece, 0 the end, negative: error. */
MUST_CHECK int console_split_next(struct console_split *split, struct console_piece *piece,
                                  struct error *err);

/* Offset of the first \n or \r, or n; *has_escape: an ESC or NUL stands before it. */
size_t console_piece_end(const char *p, size_t n, bool *has_escape);
/* Appends the text without ANSI sequences and NULs. */
void console_strip(struct buf *out, struct str text);

#endif
