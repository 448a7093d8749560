/* The index: by which keys a row is found. See index.h; asking: index_ask.c.
 *
 * A key is a shingle or a band. Its high bits choose a bucket, its low 16 bits stand in the posting
 * before the row; that two keys may be equal there costs a verification and nothing else. */
#include "core/similar/index.h"

#include <math.h>
#include <stdlib.h>

#include "core/similar/index_parts.h"

enum { MIN_BITS = 8, MAX_BITS = 30, KEY_BYTES = 18 }; /* a posting and its share of the buckets */

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
    free(index->rests);
    free(index->told);
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
           index->n_postings * (sizeof *index->postings + sizeof *index->rests) +
           (index->told ? index->sets.n * sizeof *index->told : 0) +
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

/* ---- Keys of a row ---- */

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

typedef void key_fn(struct similar_index *index, uint32_t row, uint64_t key, uint16_t rest);

static void count_key(struct similar_index *index, uint32_t row, uint64_t key, uint16_t rest)
{
    (void)row;
    (void)rest;
    index->ends[bucket_of(index, key)]++;
}

/* From the end of the bucket downwards: afterwards `ends` are the beginnings. */
static void put_key(struct similar_index *index, uint32_t row, uint64_t key, uint16_t rest)
{
    const uint32_t at = --index->ends[bucket_of(index, key)];

    index->postings[at] = key << 48 | row; /* the reach comes with the order */
    index->rests[at] = rest;
}

/* Shingles of the row that its i-th key and those behind it are. */
static uint16_t rest_at(const struct similar_index *index, size_t n, size_t i)
{
    return index->is_banded || n - i >= MOST_REACH ? MOST_REACH : (uint16_t)(n - i);
}

static int each_key(struct similar_index *index, struct keys *keys, key_fn *fn, struct error *err)
{
    for (size_t row = 0; row < index->sets.n; row++) {
        const uint64_t *set;
        int rc = set_list_get(&index->sets, index->options.spill, &keys->asker, row, &set, err);

        if (rc != OK)
            return rc;
        size_t n_set = index->sets.places[row].n, n = keys_of(index, set, n_set, keys);
        for (size_t i = 0; i < n; i++)
            fn(index, (uint32_t)row, keys->items[i], rest_at(index, n_set, i));
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

/* Beginnings back to ends. */
static void end_buckets(struct similar_index *index)
{
    const size_t n = (size_t)1 << index->bits;

    for (size_t i = 0; i + 1 < n; i++)
        index->ends[i] = index->ends[i + 1];
    index->ends[n - 1] = (uint32_t)index->n_postings;
}

static int fill(struct similar_index *index, struct keys *keys, struct error *err)
{
    index->ends = calloc((size_t)1 << index->bits, sizeof *index->ends);
    index->postings = malloc((index->n_postings + 1) * sizeof *index->postings);
    index->rests = malloc((index->n_postings + 1) * sizeof *index->rests);
    index->told = index->options.nearest ? calloc(index->sets.n + 1, sizeof *index->told) : NULL;
    if (!index->ends || !index->postings || !index->rests ||
        (index->options.nearest && !index->told))
        return no_memory(err);
    int rc = each_key(index, keys, count_key, err);
    if (rc != OK)
        return rc;
    if (!sum_buckets(index))
        return error_set(err, E_LIMIT, "more shingles than an index has numbers for");
    rc = each_key(index, keys, put_key, err);
    if (rc != OK)
        return rc;
    end_buckets(index);
    return order_buckets(index, 0, err);
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
