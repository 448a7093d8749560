/* Asking the index: candidates by their keys, each verified on its shingles. See index.h. */
#include <stdlib.h>
#include <string.h>

#include "core/similar/index_parts.h"

/* What a candidate costs beside a posting that is passed over. */
enum { CANDIDATE_COST = 64 };

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for an index of rows");
}

void similar_asker_free(struct similar_asker *asker)
{
    free(asker->matches);
    free(asker->seen);
    free(asker->block);
    free(asker->own);
    *asker = (struct similar_asker){.block_number = UINT32_MAX};
}

static int ready(const struct similar_index *index, struct similar_asker *asker, struct error *err)
{
    asker->n_matches = 0;
    if (!asker->seen) {
        asker->seen = calloc(index->sets.n + 1, sizeof *asker->seen);
        asker->block_number = UINT32_MAX;
        asker->serial = 0;
        if (!asker->seen)
            return no_memory(err);
    }
    if (++asker->serial == 0) { /* once in four thousand million questions */
        memset(asker->seen, 0, (index->sets.n + 1) * sizeof *asker->seen);
        asker->serial = 1;
    }
    return OK;
}

static int add_match(struct similar_asker *asker, struct similar_match match, struct error *err)
{
    if (asker->n_matches == asker->capacity) {
        size_t capacity = asker->capacity ? asker->capacity * 2 : 64;
        struct similar_match *matches = realloc(asker->matches, capacity * sizeof *matches);

        if (!matches)
            return no_memory(err);
        asker->matches = matches;
        asker->capacity = capacity;
    }
    asker->matches[asker->n_matches++] = match;
    return OK;
}

/* The first posting of the key in its bucket. */
static size_t find_key(const struct similar_index *index, uint64_t low, size_t from, size_t end)
{
    const uint64_t *p = index->postings;

    while (end - from > 16) { /* few buckets are as wide */
        size_t middle = from + (end - from) / 2;

        if (p[middle - 1] >> 48 >= low)
            end = middle;
        else
            from = middle;
    }
    while (from < end && p[from] >> 48 < low)
        from++;
    return from;
}

static bool is_crowded(const struct similar_index *index, uint64_t low, size_t from, size_t end)
{
    const size_t crowd = index->options.crowd;

    return end - from > crowd && index->postings[from + crowd] >> 48 == low;
}

/* Rows that the key finds and that the lengths allow. They are verified afterwards, by row. */
static int gather(const struct similar_index *index, struct similar_asker *asker, uint64_t key,
                  size_t n, size_t end_row, struct error *err)
{
    const uint64_t *p = index->postings, low = key & UINT16_MAX;
    const uint64_t n_reached = n < MOST_REACH ? n : MOST_REACH;
    const size_t bucket = bucket_of(index, key), end = index->ends[bucket];
    const size_t first = find_key(index, low, bucket ? index->ends[bucket - 1] : 0, end);
    const size_t n_before = asker->n_matches;
    size_t at = first;
    int rc = OK;

    const bool is_crowd = is_crowded(index, low, first, end);
    if (is_crowd && (!index->told || index->is_spent))
        return OK;
    for (; rc == OK && at < end && p[at] >> 48 == low; at++) {
        const uint32_t row = (uint32_t)p[at];

        if (MOST_REACH - (p[at] >> 32 & UINT16_MAX) < n_reached)
            break;
        if (row >= end_row || asker->seen[row] == asker->serial)
            continue;
        asker->seen[row] = asker->serial;
        size_t least = least_of_pair(index, row, n);
        if (least != SIZE_MAX)
            rc = add_match(asker,
                           (struct similar_match){row, index->sets.places[row].n, (uint32_t)least},
                           err);
    }
    const size_t cost = at - first + CANDIDATE_COST * (asker->n_matches - n_before);
    asker->n_passed += cost;
    asker->n_spent += is_crowd ? cost : 0;
    return rc;
}

static int by_row(const void *a, const void *b)
{
    const struct similar_match *x = a, *y = b;

    return x->row < y->row ? -1 : x->row > y->row;
}

static int verify(const struct similar_index *index, struct similar_asker *asker,
                  const uint64_t *set, size_t n, struct error *err)
{
    size_t n_matches = 0;

    if (asker->n_matches > 1)
        qsort(asker->matches, asker->n_matches, sizeof *asker->matches, by_row);
    for (size_t i = 0; i < asker->n_matches; i++) {
        struct similar_match match = asker->matches[i];
        const uint64_t *row;
        int rc = set_list_get(&index->sets, index->options.spill, asker, match.row, &row, err);

        if (rc != OK)
            return rc;
        size_t n_shared = shingles_shared(row, match.n_row, set, n, match.n_shared);
        if (n_shared == SIZE_MAX)
            continue;
        match.n_shared = (uint32_t)n_shared;
        asker->matches[n_matches++] = match;
    }
    asker->n_matches = n_matches;
    return OK;
}

int similar_ask(const struct similar_index *index, struct similar_asker *asker, const uint64_t *set,
                size_t n, size_t end, struct error *err)
{
    uint64_t bands[MINHASH_BANDS];
    const uint64_t *keys = set;
    size_t n_keys = n;
    int rc = ready(index, asker, err);

    if (rc != OK || n == 0)
        return rc;
    if (index->is_banded) {
        minhash_bands(set, n, bands);
        keys = bands;
        n_keys = MINHASH_BANDS;
    }
    for (size_t i = 0; rc == OK && i < n_keys; i++)
        rc = gather(index, asker, keys[i], n, end, err);
    return rc == OK ? verify(index, asker, set, n, err) : rc;
}

/* The block of a set that was given away makes room for those of its candidates. */
static int keep_own(const struct similar_index *index, struct similar_asker *asker, size_t n,
                    const uint64_t **set, struct error *err)
{
    if (!asker->own)
        asker->own = malloc((index->sets.longest + 1) * sizeof *asker->own);
    if (!asker->own)
        return no_memory(err);
    if (n)
        memcpy(asker->own, *set, n * sizeof **set);
    *set = asker->own;
    return OK;
}

int similar_ask_own(const struct similar_index *index, struct similar_asker *asker, size_t row,
                    struct error *err)
{
    const size_t n = index->sets.places[row].n;
    const uint64_t *set = NULL;
    int rc = ready(index, asker, err);

    if (rc == OK)
        rc = set_list_get(&index->sets, index->options.spill, asker, row, &set, err);
    if (rc == OK && index->sets.is_spilled)
        rc = keep_own(index, asker, n, &set, err);
    return rc == OK ? similar_ask(index, asker, set, n, row, err) : rc;
}
