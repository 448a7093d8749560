/* The index: by which keys a row is found, and asking. See index.h.
 *
 * A key is a shingle or a band. Its high bits choose a bucket, its low 32 bits stand in the posting
 * before the row; that two keys may be equal there costs a verification and nothing else. */
#include "core/similar/index.h"

#include <math.h>
#include <stdlib.h>

#include "core/similar/index_parts.h"

enum { MIN_BITS = 8, MAX_BITS = 30, KEY_BYTES = 16 }; /* a posting and its share of the buckets */

struct similar_index {
    struct similar_options options;
    struct set_list sets;
    uint64_t *postings; /* key's low half << 32 | row, by bucket, ascending in it */
    uint32_t *ends;     /* of each bucket; begins where the one before ends */
    int bits;
    size_t n_exact, n_bands; /* postings by either kind of key */
    size_t n_postings, n_crowded;
    bool is_banded;
    uint16_t *counts; /* rows by the high bits of a shingle, while it is built */
    int count_bits;
};

int similar_open(struct similar_index **out, const struct similar_options *options,
                 struct error *err)
{
    struct similar_index *index = calloc(1, sizeof *index);

    if (!index)
        return error_set(err, E_NOMEM, "no memory for an index of rows");
    index->options = *options;
    if (!index->options.memory)
        index->options.memory = SIMILAR_MEMORY;
    if (!index->options.crowd)
        index->options.crowd = SIMILAR_CROWD;
    *out = index;
    return OK;
}

void similar_close(struct similar_index *index)
{
    if (!index)
        return;
    set_list_free(&index->sets);
    free(index->postings);
    free(index->ends);
    free(index->counts);
    free(index);
}

size_t similar_n_rows(const struct similar_index *index)
{
    return index->sets.n;
}

size_t similar_n_crowded(const struct similar_index *index)
{
    return index->n_crowded;
}

bool similar_is_banded(const struct similar_index *index)
{
    return index->is_banded;
}

bool similar_is_spilled(const struct similar_index *index)
{
    return index->sets.is_spilled;
}

size_t similar_bytes(const struct similar_index *index)
{
    return index->sets.n_held + index->sets.capacity * sizeof *index->sets.places +
           index->n_postings * sizeof *index->postings +
           (index->ends ? sizeof *index->ends << index->bits : 0);
}

/* ---- Bounds ---- */

/* The least whole number that is not below x, where x may be a whole number off by rounding. */
static size_t at_least(double x)
{
    return (size_t)ceil(x - 1e-9);
}

/* Shared shingles that any match of an indexed row of n has. */
static size_t least_of_row(const struct similar_options *options, size_t n)
{
    double share = options->jaccard;

    if (options->containment > 0 && n >= CONTAINED_SHINGLES && options->containment < share)
        share = options->containment;
    size_t least = at_least(share * (double)n);
    return least ? least : 1;
}

/* Shared shingles that make a match of these two; SIZE_MAX: they cannot be one. */
static size_t least_of_pair(const struct similar_options *options, size_t n_row, size_t n)
{
    const double t = options->jaccard;
    const size_t few = n_row < n ? n_row : n, many = n_row < n ? n : n_row;
    size_t least = SIZE_MAX;

    if ((double)few >= t * (double)many - 1e-9)
        least = at_least(t / (1.0 + t) * (double)(n_row + n));
    if (options->containment > 0 && n_row >= CONTAINED_SHINGLES) {
        size_t contained = at_least(options->containment * (double)n_row);

        if (contained <= n && contained < least)
            least = contained;
    }
    return least == 0 ? 1 : least;
}

/* ---- Keys of a row ---- */

static size_t bucket_of(const struct similar_index *index, uint64_t key)
{
    return (size_t)(key >> (64 - index->bits));
}

static uint16_t *count_of(const struct similar_index *index, uint64_t shingle)
{
    return &index->counts[shingle >> (64 - index->count_bits)];
}

static size_t n_prefix(const struct similar_index *index, size_t n)
{
    return n ? n - least_of_row(&index->options, n) + 1 : 0;
}

/* Postings and buckets stay in memory, whatever is given away. */
static bool fits(const struct similar_index *index, size_t n)
{
    size_t n_exact = index->n_exact + n_prefix(index, n);
    size_t n_bands = index->n_bands + (n ? MINHASH_BANDS : 0);
    size_t n_keys = index->options.banded || n_bands < n_exact ? n_bands : n_exact;

    return n_keys * KEY_BYTES <= index->options.memory / 4 * 3;
}

int similar_add(struct similar_index *index, const uint64_t *set, size_t n, struct error *err)
{
    if (!fits(index, n))
        return error_set(err, E_LIMIT, "the index of %zu rows fills the memory of %zu MB",
                         index->sets.n, index->options.memory >> 20);
    int rc = set_list_add(&index->sets, &index->options, set, n, err);
    if (rc == OK) {
        index->n_exact += n_prefix(index, n);
        index->n_bands += n ? MINHASH_BANDS : 0;
    }
    return rc;
}

struct keys {
    uint64_t *items, *order, *scratch;
    struct similar_asker asker; /* for its block alone */
};

/* The rarest shingles; of equally rare ones the smallest. */
static size_t keys_of(const struct similar_index *index, const uint64_t *set, size_t n,
                      struct keys *keys)
{
    size_t n_keys = n_prefix(index, n);

    if (n == 0)
        return 0;
    if (index->is_banded) {
        minhash_bands(set, n, keys->items);
        return MINHASH_BANDS;
    }
    for (size_t i = 0; i < n; i++)
        keys->order[i] = (uint64_t)*count_of(index, set[i]) << 32 | i;
    shingles_sort(keys->order, n, keys->scratch);
    for (size_t i = 0; i < n_keys; i++)
        keys->items[i] = set[keys->order[i] & UINT32_MAX];
    return n_keys;
}

typedef void key_fn(struct similar_index *index, uint32_t row, uint64_t key);

static void count_key(struct similar_index *index, uint32_t row, uint64_t key)
{
    (void)row;
    index->ends[bucket_of(index, key)]++;
}

/* From the end of the bucket downwards: afterwards `ends` are the beginnings. */
static void put_key(struct similar_index *index, uint32_t row, uint64_t key)
{
    index->postings[--index->ends[bucket_of(index, key)]] = key << 32 | row;
}

static int each_key(struct similar_index *index, struct keys *keys, key_fn *fn, struct error *err)
{
    for (size_t row = 0; row < index->sets.n; row++) {
        const uint64_t *set;
        int rc = set_list_get(&index->sets, index->options.spill, &keys->asker, row, &set, err);

        if (rc != OK)
            return rc;
        size_t n = keys_of(index, set, index->sets.places[row].n, keys);
        for (size_t i = 0; i < n; i++)
            fn(index, (uint32_t)row, keys->items[i]);
    }
    return OK;
}

/* ---- Building ---- */

static int bits_for(size_t n)
{
    int bits = MIN_BITS;

    while (bits < MAX_BITS && ((size_t)1 << bits) < n)
        bits++;
    return bits;
}

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for an index of rows");
}

static int count_shingles(struct similar_index *index, struct keys *keys, struct error *err)
{
    index->count_bits = bits_for(index->sets.n_items);
    index->counts = calloc((size_t)1 << index->count_bits, sizeof *index->counts);
    if (!index->counts)
        return no_memory(err);
    for (size_t row = 0; row < index->sets.n; row++) {
        const uint64_t *set;
        int rc = set_list_get(&index->sets, index->options.spill, &keys->asker, row, &set, err);

        if (rc != OK)
            return rc;
        for (size_t i = 0; i < index->sets.places[row].n; i++) {
            uint16_t *count = count_of(index, set[i]);

            *count = (uint16_t)(*count + (*count < UINT16_MAX));
        }
    }
    return OK;
}

static void choose_keys(struct similar_index *index)
{
    bool is_too_much = index->n_exact * KEY_BYTES > index->options.memory / 2;

    index->is_banded = index->options.banded || (is_too_much && index->n_bands < index->n_exact);
    index->n_postings = index->is_banded ? index->n_bands : index->n_exact;
    index->bits = bits_for(index->n_postings);
}

static bool sum_buckets(struct similar_index *index)
{
    size_t sum = 0;

    for (size_t i = 0; i < (size_t)1 << index->bits; i++) {
        sum += index->ends[i];
        index->ends[i] = (uint32_t)sum;
    }
    return sum <= UINT32_MAX;
}

/* The rows of a bucket in order, and those that are found by a crowded key. */
static size_t order_bucket(struct similar_index *index, size_t from, size_t end, uint64_t *scratch,
                           uint8_t *is_crowded)
{
    uint64_t *postings = index->postings;
    size_t n_crowded = 0;

    shingles_sort(postings + from, end - from, scratch);
    if (end - from <= index->options.crowd)
        return 0;
    for (size_t i = from, j; i < end; i = j) {
        for (j = i; j < end && postings[j] >> 32 == postings[i] >> 32; j++)
            ;
        for (size_t k = i; j - i > index->options.crowd && k < j; k++) {
            uint32_t row = (uint32_t)postings[k];

            n_crowded += !is_crowded[row];
            is_crowded[row] = 1;
        }
    }
    return n_crowded;
}

static int order_buckets(struct similar_index *index, struct error *err)
{
    size_t n = (size_t)1 << index->bits, widest = 0;

    for (size_t i = 0; i < n; i++) { /* beginnings back to ends */
        size_t end = i + 1 < n ? index->ends[i + 1] : index->n_postings;

        widest = end - index->ends[i] > widest ? end - index->ends[i] : widest;
    }
    uint64_t *scratch = malloc((widest + 1) * sizeof *scratch);
    uint8_t *is_crowded = calloc(index->sets.n + 1, 1);
    for (size_t i = 0; scratch && is_crowded && i < n; i++) {
        size_t end = i + 1 < n ? index->ends[i + 1] : index->n_postings;

        index->n_crowded += order_bucket(index, index->ends[i], end, scratch, is_crowded);
        index->ends[i] = (uint32_t)end;
    }
    bool is_done = scratch && is_crowded;
    free(scratch);
    free(is_crowded);
    return is_done ? OK : no_memory(err);
}

static int fill(struct similar_index *index, struct keys *keys, struct error *err)
{
    index->ends = calloc((size_t)1 << index->bits, sizeof *index->ends);
    index->postings = malloc((index->n_postings + 1) * sizeof *index->postings);
    if (!index->ends || !index->postings)
        return no_memory(err);
    int rc = each_key(index, keys, count_key, err);
    if (rc != OK)
        return rc;
    if (!sum_buckets(index))
        return error_set(err, E_LIMIT, "more shingles than an index has numbers for");
    rc = each_key(index, keys, put_key, err);
    return rc == OK ? order_buckets(index, err) : rc;
}

int similar_build(struct similar_index *index, struct error *err)
{
    size_t n = index->sets.longest + MINHASH_BANDS;
    struct keys keys = {.items = malloc(n * sizeof *keys.items),
                        .order = malloc(n * sizeof *keys.order),
                        .scratch = malloc(n * sizeof *keys.scratch),
                        .asker = {.block_number = UINT32_MAX}};
    int rc = keys.items && keys.order && keys.scratch ? OK : no_memory(err);

    choose_keys(index);
    if (rc == OK && !index->is_banded)
        rc = count_shingles(index, &keys, err);
    if (rc == OK)
        rc = fill(index, &keys, err);
    free(index->counts);
    index->counts = NULL;
    free(keys.items);
    free(keys.order);
    free(keys.scratch);
    similar_asker_free(&keys.asker);
    return rc;
}

/* ---- Asking ---- */

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

/* Rows that the key finds and that the lengths allow. They are verified afterwards, by row. */
static int gather(const struct similar_index *index, struct similar_asker *asker, uint64_t key,
                  size_t n, size_t end, struct error *err)
{
    const uint64_t *p = index->postings, low = key & UINT32_MAX;
    const size_t bucket = bucket_of(index, key);
    size_t from = bucket ? index->ends[bucket - 1] : 0, to = index->ends[bucket], last;
    int rc = OK;

    while (to - from > 16) { /* few buckets are as wide */
        size_t middle = from + (to - from) / 2;

        if (p[middle - 1] >> 32 >= low)
            to = middle;
        else
            from = middle;
    }
    for (to = index->ends[bucket]; from < to && p[from] >> 32 < low; from++)
        ;
    for (last = from; last < to && p[last] >> 32 == low; last++)
        if (last - from >= index->options.crowd)
            return OK;
    for (; rc == OK && from < last; from++) {
        uint32_t row = (uint32_t)p[from];
        uint32_t n_row = index->sets.places[row].n;

        if (row >= end || asker->seen[row] == asker->serial)
            continue;
        asker->seen[row] = asker->serial;
        size_t least = least_of_pair(&index->options, n_row, n);
        if (least != SIZE_MAX)
            rc = add_match(asker, (struct similar_match){row, n_row, (uint32_t)least}, err);
    }
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
