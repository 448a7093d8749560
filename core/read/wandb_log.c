/* Blocks, chunks and records of .wandb files (FORMATS.md B5). Knows nothing of what is in the
 * records. See wandb_log.h. */
#include "core/read/wandb_log.h"

#include <stdlib.h>

#include "core/read/crc32.h"
#include "core/read/source.h"

#define FILE_HEADER 7 /* ":W&B", 0xBEE1, version 0 */
#define HEADER      7 /* u32 checksum, u16 length, u8 type */
#define BLOCK       ((size_t)32768)
#define WINDOW      (BLOCK * 32)

enum chunk_type { CHUNK_ZERO, CHUNK_FULL, CHUNK_FIRST, CHUNK_MIDDLE, CHUNK_LAST };

struct wandb_log {
    struct source_file *file;
    int64_t base;      /* offset of window[0], at the start of a block */
    size_t at, filled; /* in the window */
    bool is_at_end;    /* the file ends behind window[filled - 1] */
    bool has_begun;
    struct crc32_table crc;
    struct buf joined; /* a record of several chunks */
    unsigned char *window;
};

bool wandb_log_begins(struct str head)
{
    return head.n >= FILE_HEADER && memcmp(head.p, ":W&B\xE1\xBE", 6) == 0;
}

int wandb_log_open(struct wandb_log **out, struct source_file *file, struct error *err)
{
    struct wandb_log *log = calloc(1, sizeof *log);

    if (log)
        log->window = malloc(WINDOW);
    if (!log || !log->window) {
        free(log);
        return error_set(err, E_NOMEM, "no memory to read a log of W&B");
    }
    log->file = file;
    buf_init(&log->joined, WANDB_LOG_MAX_BYTES);
    crc32_make_table(&log->crc, CRC32_POLYNOMIAL);
    *out = log;
    return OK;
}

void wandb_log_close(struct wandb_log *log)
{
    if (!log)
        return;
    buf_free(&log->joined);
    free(log->window);
    free(log);
}

/* ---- Blocks ---- */

static int64_t place(const struct wandb_log *log)
{
    return log->base + (int64_t)log->at;
}

static size_t block_end(const struct wandb_log *log)
{
    size_t end = (log->at / BLOCK + 1) * BLOCK;

    return end < log->filled ? end : log->filled;
}

/* The next blocks once those in the window are used up. */
static int fill(struct wandb_log *log, struct error *err)
{
    size_t got;

    if (log->at < log->filled || log->is_at_end)
        return OK;
    log->base += (int64_t)log->filled;
    log->at = log->filled = 0;
    int rc = source_at(log->file, log->base, log->window, WINDOW, &got, err);
    if (rc != OK)
        return rc;
    log->filled = got;
    log->is_at_end = got < WINDOW;
    return OK;
}

/* ---- Chunks ---- */

struct chunk {
    enum chunk_type type;
    struct str data;
    bool is_cut;     /* the file ends inside of it */
    const char *why; /* NULL: it is whole and right */
};

static bool are_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static void wrong(struct wandb_log *log, struct chunk *out, const char *why)
{
    out->why = why;
    log->at = block_end(log); /* nothing tells where the next chunk of the block begins */
}

static void cut(struct wandb_log *log, struct chunk *out)
{
    out->is_cut = true;
    log->at = log->filled;
}

static void take_chunk(struct wandb_log *log, struct chunk *out)
{
    const unsigned char *p = log->window + log->at;
    size_t left = block_end(log) - log->at;
    size_t length = (size_t)p[4] | (size_t)p[5] << 8;
    uint32_t crc =
        (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    bool is_last = log->is_at_end && block_end(log) == log->filled;

    if (HEADER + length > BLOCK - log->at % BLOCK) {
        wrong(log, out, "a length that passes the end of the block");
    } else if (HEADER + length > left) {
        if (is_last)
            cut(log, out);
        else
            wrong(log, out, "a length that passes the end of the block");
    } else if (p[6] < CHUNK_FULL || p[6] > CHUNK_LAST) {
        wrong(log, out, "a chunk of no known type");
    } else if (crc32_of(&log->crc, p + 6, length + 1) != crc) {
        out->why = "a wrong checksum";
        log->at += HEADER + length; /* if the length lies, the next chunk tells */
    } else {
        out->type = (enum chunk_type)p[6];
        out->data = str_from((const char *)p + HEADER, length);
        log->at += HEADER + length;
    }
}

/* 1 a chunk, 0 the end. */
static int next_chunk(struct wandb_log *log, struct chunk *out, int64_t *byte, struct error *err)
{
    for (;;) {
        int rc = fill(log, err);

        if (rc != OK || log->at == log->filled)
            return rc;
        size_t left = block_end(log) - log->at;
        bool is_padding = left < HEADER && (log->at + left) % BLOCK == 0;

        *out = (struct chunk){.type = CHUNK_ZERO};
        *byte = place(log);
        if (is_padding) {
            log->at += left;
        } else if (left < HEADER) {
            cut(log, out);
            return 1;
        } else if (are_zero(log->window + log->at, HEADER)) {
            log->at = block_end(log); /* made longer beforehand, or a crash of the machine */
        } else {
            take_chunk(log, out);
            return 1;
        }
    }
}

/* ---- Records ---- */

static int begin(struct wandb_log *log, struct wandb_log_record *out, struct error *err)
{
    int rc = fill(log, err);

    log->has_begun = true;
    if (rc != OK || log->filled == 0)
        return rc;
    if (wandb_log_begins(str_from((const char *)log->window, log->filled))) {
        log->at = FILE_HEADER;
        return OK;
    }
    log->at = block_end(log);
    *out = (struct wandb_log_record){.kind = WANDB_LOG_DAMAGED,
                                     .end = place(log),
                                     .why = "the header of a .wandb file was expected"};
    return 1;
}

/* The chunks of one record. *chunk is the first one. */
static int join(struct wandb_log *log, struct chunk *chunk, struct wandb_log_record *out,
                struct error *err)
{
    int64_t byte;
    bool is_long = false;

    buf_clear(&log->joined);
    buf_str(&log->joined, chunk->data);
    for (;;) {
        int rc = next_chunk(log, chunk, &byte, err);

        if (rc < 0)
            return rc;
        if (rc == 0 || chunk->is_cut) {
            out->kind = WANDB_LOG_CUT;
            return 1;
        }
        if (chunk->why || (chunk->type != CHUNK_MIDDLE && chunk->type != CHUNK_LAST)) {
            out->kind = WANDB_LOG_DAMAGED;
            out->why = chunk->why ? chunk->why : "a record without an end";
            if (!chunk->why)
                log->at = (size_t)(byte - log->base); /* here begins a record that may be whole */
            return 1;
        }
        buf_str(&log->joined, chunk->data);
        if (log->joined.failed)
            is_long = true;
        if (chunk->type == CHUNK_LAST)
            break;
    }
    out->kind = is_long ? WANDB_LOG_LONG : WANDB_LOG_DATA;
    out->data = buf_view(&log->joined);
    return 1;
}

static int next_record(struct wandb_log *log, struct wandb_log_record *out, struct error *err)
{
    struct chunk chunk;
    int64_t byte = 0;
    int rc = next_chunk(log, &chunk, &byte, err);

    if (rc != 1)
        return rc;
    *out = (struct wandb_log_record){.byte = byte, .kind = WANDB_LOG_DATA, .data = chunk.data};
    if (chunk.is_cut) {
        out->kind = WANDB_LOG_CUT;
    } else if (chunk.why) {
        out->kind = WANDB_LOG_DAMAGED;
        out->why = chunk.why;
    } else if (chunk.type == CHUNK_FIRST) {
        return join(log, &chunk, out, err);
    } else if (chunk.type != CHUNK_FULL) {
        out->kind = WANDB_LOG_DAMAGED;
        out->why = "a record without a beginning";
    }
    return 1;
}

int wandb_log_next(struct wandb_log *log, struct wandb_log_record *out, struct error *err)
{
    int rc = log->has_begun ? OK : begin(log, out, err);

    if (rc != OK)
        return rc;
    rc = next_record(log, out, err);
    if (rc == 1)
        out->end = place(log);
    return rc;
}
