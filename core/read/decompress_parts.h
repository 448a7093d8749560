/* Under decompress.c: what a packing must be able to do. Not for others. */
#ifndef CORE_READ_DECOMPRESS_PARTS_H
#define CORE_READ_DECOMPRESS_PARTS_H

#include "core/read/decompress.h"

/* A place to go on from. */
struct restart {
    int64_t at, packed_at;  /* in the unpacked text, in the file */
    unsigned char *window;  /* what was unpacked before; NULL: a member or frame begins here */
    unsigned window_bytes, bits, first_byte; /* bits of the byte before that are still to be read */
};

struct unpacker {
    struct source_file *packed;
    enum packing packing;
    const struct codec *codec;
    void *state;
    int64_t at;             /* of the next byte in the unpacked text */
    struct str in;          /* read, not yet unpacked */
    int64_t in_at;          /* offset of its first byte in the file */
    struct restart *restarts;
    size_t n_restarts;
    int64_t distance;       /* between restarts */
    int64_t end;            /* of the unpacked text, NONE: not reached yet */
    int64_t failed_at;      /* where it cannot be unpacked further, NONE: nowhere yet */
    struct error failure;
    char *skipped;          /* room for what is passed over */
};

struct codec {
    int (*open)(struct unpacker *unpacker, struct error *err);
    void (*close)(struct unpacker *unpacker);
    /* Up to n bytes into out, *got of them; *at_end with got 0 at the end of the text. */
    int (*step)(struct unpacker *unpacker, char *out, size_t n, size_t *got, bool *at_end,
                struct error *err);
    int (*restart)(struct unpacker *unpacker, const struct restart *from, struct error *err);
};
extern const struct codec codec_zlib, codec_zstd;

/* More of the file into `in` when it is empty; it stays empty at the end. */
MUST_CHECK int unpacker_fetch(struct unpacker *unpacker, struct error *err);
void unpacker_take(struct unpacker *unpacker, size_t n);
/* E_PARSE at the byte of the file that is next. */
int unpacker_fail(struct unpacker *unpacker, struct error *err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Is a restart wanted at this place of the text? */
bool unpacker_wants_restart(const struct unpacker *unpacker, int64_t at);
/* Takes the window over. Without memory there is one restart less. */
void unpacker_add_restart(struct unpacker *unpacker, struct restart restart);

#endif
