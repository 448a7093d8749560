/* Two tables: lines of 64 bytes for words, slots into a ring for the rest. See piece_cache.h. */
#include "core/text/tokenizer/piece_cache.h"

#include <stdlib.h>

#define LINES      (UINT32_C(1) << 15)
#define SLOTS      (UINT32_C(1) << 15)
#define RING_BYTES (UINT32_C(4) << 20)
#define LINE_PIECE 20
#define LINE_IDS   7

struct line {
    uint32_t tag;
    uint8_t n_bytes;            /* 0: free */
    uint8_t n_ids;
    uint8_t ends[LINE_IDS];
    char piece[LINE_PIECE];
    uint32_t ids[LINE_IDS];
};

struct slot {
    uint64_t hash;
    uint32_t at;                /* in the ring: ids, ends, then the piece */
    uint16_t n_bytes, n_ids;    /* n_bytes 0: free */
};

struct piece_cache {
    struct line *lines;
    struct slot *slots;
    char *ring;
    uint32_t ring_n;
};

int piece_cache_open(struct piece_cache **out, struct error *err)
{
    struct piece_cache *cache = calloc(1, sizeof *cache);

    if (cache) {
        cache->lines = aligned_alloc(64, LINES * sizeof *cache->lines);
        cache->slots = calloc(SLOTS, sizeof *cache->slots);
        cache->ring = malloc(RING_BYTES);
    }
    if (!cache || !cache->lines || !cache->slots || !cache->ring) {
        piece_cache_close(cache);
        return error_set(err, E_NOMEM, "a cache of pieces");
    }
    memset(cache->lines, 0, LINES * sizeof *cache->lines);
    *out = cache;
    return OK;
}

void piece_cache_close(struct piece_cache *cache)
{
    if (!cache)
        return;
    free(cache->lines);
    free(cache->slots);
    free(cache->ring);
    free(cache);
}

void piece_cache_clear(struct piece_cache *cache)
{
    memset(cache->lines, 0, LINES * sizeof *cache->lines);
    memset(cache->slots, 0, SLOTS * sizeof *cache->slots);
    cache->ring_n = 0;
}

/* Most of what runs here is a copy of two to three ids. */
static int give_line(const struct line *line, struct tokens *out, struct error *err)
{
    size_t n = out->n, begin = 0;

    if (out->capacity - n < LINE_IDS) {
        int rc = tokens_reserve(out, LINE_IDS, err);

        if (rc != OK)
            return rc;
    }
    for (unsigned i = 0; i < line->n_ids; i++) {
        out->ids[n + i] = line->ids[i];
        out->begin[n + i] = (uint32_t)begin;
        out->end[n + i] = line->ends[i];
        begin = line->ends[i];
    }
    out->n = n + line->n_ids;
    return 1;
}

static int give_slot(const struct piece_cache *cache, const struct slot *slot, struct tokens *out,
                     struct error *err)
{
    int rc = tokens_reserve(out, slot->n_ids, err);
    const char *p = cache->ring + slot->at;
    size_t bytes = slot->n_ids * sizeof(uint32_t);

    if (rc != OK)
        return rc;
    memcpy(out->ids + out->n, p, bytes);
    memcpy(out->begin + out->n, p + bytes, bytes);
    memcpy(out->end + out->n, p + 2 * bytes, bytes);
    out->n += slot->n_ids;
    return 1;
}

int piece_cache_find(struct piece_cache *cache, struct str piece, uint64_t hash,
                     struct tokens *out, struct error *err)
{
    if (piece.n <= LINE_PIECE) {
        const struct line *line = &cache->lines[hash & (LINES - 1)];

        if (line->tag == (uint32_t)(hash >> 32) && line->n_bytes == piece.n &&
            memcmp(line->piece, piece.p, piece.n) == 0 && piece.n)
            return give_line(line, out, err);
    }
    if (piece.n > CACHED_PIECE_BYTES)
        return 0;

    const struct slot *slot = &cache->slots[hash & (SLOTS - 1)];

    if (slot->hash != hash || slot->n_bytes != piece.n || piece.n == 0 ||
        memcmp(cache->ring + slot->at + slot->n_ids * 3 * sizeof(uint32_t), piece.p, piece.n) != 0)
        return 0;
    return give_slot(cache, slot, out, err);
}

/* False: it does not fit a line. */
static bool keep_line(struct piece_cache *cache, struct str piece, uint64_t hash,
                      const struct tokens *tokens, size_t first)
{
    struct line *line = &cache->lines[hash & (LINES - 1)];
    size_t n = tokens->n - first, begin = 0;

    if (n > LINE_IDS)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (tokens->begin[first + i] != begin || tokens->end[first + i] > UINT8_MAX)
            return false;
        begin = tokens->end[first + i];
    }
    line->tag = (uint32_t)(hash >> 32);
    line->n_bytes = (uint8_t)piece.n;
    line->n_ids = (uint8_t)n;
    memcpy(line->piece, piece.p, piece.n);
    for (size_t i = 0; i < n; i++) {
        line->ids[i] = tokens->ids[first + i];
        line->ends[i] = (uint8_t)tokens->end[first + i];
    }
    return true;
}

static void keep_slot(struct piece_cache *cache, struct str piece, uint64_t hash,
                      const struct tokens *tokens, size_t first)
{
    size_t n = tokens->n - first, bytes = n * sizeof(uint32_t), whole = 3 * bytes + piece.n;

    if (n > UINT16_MAX || whole > RING_BYTES / 16)
        return;
    whole = (whole + 7) & ~(size_t)7;
    if (cache->ring_n + whole > RING_BYTES) {
        memset(cache->slots, 0, SLOTS * sizeof *cache->slots);
        cache->ring_n = 0;
    }

    char *p = cache->ring + cache->ring_n;

    memcpy(p, tokens->ids + first, bytes);
    memcpy(p + bytes, tokens->begin + first, bytes);
    memcpy(p + 2 * bytes, tokens->end + first, bytes);
    memcpy(p + 3 * bytes, piece.p, piece.n);
    cache->slots[hash & (SLOTS - 1)] =
        (struct slot){hash, cache->ring_n, (uint16_t)piece.n, (uint16_t)n};
    cache->ring_n += (uint32_t)whole;
}

void piece_cache_keep(struct piece_cache *cache, struct str piece, uint64_t hash,
                      const struct tokens *tokens, size_t first)
{
    if (piece.n == 0 || piece.n > CACHED_PIECE_BYTES)
        return;
    if (piece.n <= LINE_PIECE && keep_line(cache, piece, hash, tokens, first))
        return;
    if (tokens->n > first)
        keep_slot(cache, piece, hash, tokens, first);
}
