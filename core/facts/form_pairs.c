/* Bands and inputs of all rows, column by column through a file. See form_pairs.h. */
#include "core/facts/form_pairs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/hash.h"

/* A block has for each column the values of its rows, one after the other. */
enum { COL_INPUT = MINHASH_BANDS, COL_TARGET, N_COLUMNS, BLOCK_ROWS = 8192 };
#define COLUMN_BYTES (BLOCK_ROWS * sizeof(uint64_t))
#define BLOCK_BYTES  (N_COLUMNS * COLUMN_BYTES)

enum { MOST_SPLITS = 4096 };

struct key {
    uint64_t hash, other; /* of an input: its target */
    int64_t row;
};

struct bits {
    uint64_t *words;
    size_t capacity;
};

struct form_pairs {
    int file;
    uint64_t (*block)[BLOCK_ROWS]; /* of N_COLUMNS */
    int64_t n_rows, n_candidates;
    int64_t first[MOST_SPLITS]; /* rows */
    size_t n_splits, memory;
    struct bits has_bands, has_input, is_candidate;
    struct form_crowd *crowded;
    size_t n_crowded, crowded_capacity;
    struct key *keys, *scratch;
    size_t n_keys, keys_capacity, scratch_capacity;
};

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for comparing rows");
}

static int open_file(struct form_pairs *pairs, const char *folder, struct error *err)
{
    char path[4096];

    if (snprintf(path, sizeof path, "%s/bands-XXXXXX", folder) >= (int)sizeof path)
        return error_set(err, E_LIMIT, "%s: the path is too long", folder);
    pairs->file = mkostemp(path, O_CLOEXEC);
    if (pairs->file < 0)
        return error_set(err, E_IO, "%s: a file beside the facts: %s", folder, strerror(errno));
    unlink(path);
    return OK;
}

int form_pairs_open(struct form_pairs **out, const char *folder, size_t memory, struct error *err)
{
    struct form_pairs *pairs = calloc(1, sizeof *pairs);

    if (!pairs)
        return no_memory(err);
    pairs->memory = memory ? memory : FORM_PAIRS_MEMORY;
    pairs->block = malloc(BLOCK_BYTES);
    pairs->file = -1;
    int rc = pairs->block ? open_file(pairs, folder, err) : no_memory(err);
    if (rc == OK)
        *out = pairs;
    else
        form_pairs_close(pairs);
    return rc;
}

void form_pairs_close(struct form_pairs *pairs)
{
    if (!pairs)
        return;
    if (pairs->file >= 0)
        close(pairs->file);
    free(pairs->block);
    free(pairs->has_bands.words);
    free(pairs->has_input.words);
    free(pairs->is_candidate.words);
    free(pairs->crowded);
    free(pairs->keys);
    free(pairs->scratch);
    free(pairs);
}

/* ---- Bits ---- */

static int bits_reserve(struct bits *bits, int64_t n, struct error *err)
{
    size_t needed = (size_t)n / 64 + 1, capacity = bits->capacity ? bits->capacity : 1024;

    if (needed <= bits->capacity)
        return OK;
    while (capacity < needed)
        capacity *= 2;
    uint64_t *words = realloc(bits->words, capacity * sizeof *words);
    if (!words)
        return no_memory(err);
    memset(words + bits->capacity, 0, (capacity - bits->capacity) * sizeof *words);
    bits->words = words;
    bits->capacity = capacity;
    return OK;
}

static void bits_set(struct bits *bits, int64_t i)
{
    bits->words[i / 64] |= UINT64_C(1) << (i % 64);
}

static bool bits_has(const struct bits *bits, int64_t i)
{
    return bits->words[i / 64] >> (i % 64) & 1;
}

/* ---- The file ---- */

static int write_block(struct form_pairs *pairs, struct error *err)
{
    const char *p = (const char *)pairs->block;
    size_t n = BLOCK_BYTES;

    while (n > 0) {
        ssize_t written = write(pairs->file, p, n);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return error_set(err, E_IO, "hashes of rows beside the facts: %s", strerror(errno));
        p += written;
        n -= (size_t)written;
    }
    return OK;
}

static int read_column(const struct form_pairs *pairs, int64_t block, int column, uint64_t *out,
                       struct error *err)
{
    char *p = (char *)out;
    size_t n = COLUMN_BYTES;
    off_t at = (off_t)block * (off_t)BLOCK_BYTES + (off_t)column * (off_t)COLUMN_BYTES;

    while (n > 0) {
        ssize_t got = pread(pairs->file, p, n, at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_set(err, E_IO, "hashes of rows beside the facts: %s",
                             got < 0 ? strerror(errno) : "cut off");
        p += got;
        n -= (size_t)got;
        at += got;
    }
    return OK;
}

int form_pairs_add(struct form_pairs *pairs, const struct form_row *row, bool is_first,
                   struct error *err)
{
    const int64_t number = pairs->n_rows;
    const size_t at = (size_t)(number % BLOCK_ROWS);
    int rc = bits_reserve(&pairs->has_bands, number, err);

    if (rc == OK)
        rc = bits_reserve(&pairs->has_input, number, err);
    if (rc == OK && (is_first || number == 0)) {
        if (pairs->n_splits == MOST_SPLITS)
            return error_set(err, E_LIMIT, "more than %d splits", MOST_SPLITS);
        pairs->first[pairs->n_splits++] = number;
    }
    if (rc != OK)
        return rc;
    for (int band = 0; band < MINHASH_BANDS; band++)
        pairs->block[band][at] = row->bands[band];
    pairs->block[COL_INPUT][at] = row->input;
    pairs->block[COL_TARGET][at] = row->target;
    if (row->has_bands)
        bits_set(&pairs->has_bands, number);
    if (row->n_words > 0)
        bits_set(&pairs->has_input, number);
    pairs->n_rows++;
    return at + 1 == BLOCK_ROWS ? write_block(pairs, err) : OK;
}

/* ---- Sorting ---- */

static int keys_reserve(struct key **keys, size_t *capacity, size_t n, struct error *err)
{
    size_t wanted = *capacity ? *capacity : BLOCK_ROWS;

    if (n <= *capacity)
        return OK;
    while (wanted < n)
        wanted *= 2;
    struct key *grown = realloc(*keys, wanted * sizeof *grown);
    if (!grown)
        return no_memory(err);
    *keys = grown;
    *capacity = wanted;
    return OK;
}

/* By the hash, of equal ones by row, as they came: eight passes of one byte each. */
static void sort_keys(struct key *keys, size_t n, struct key *scratch)
{
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t at[257] = {0};

        for (size_t i = 0; i < n; i++)
            at[(keys[i].hash >> shift & 255) + 1]++;
        for (int b = 0; b < 256; b++)
            at[b + 1] += at[b];
        for (size_t i = 0; i < n; i++)
            scratch[at[keys[i].hash >> shift & 255]++] = keys[i];
        struct key *other = keys;
        keys = scratch;
        scratch = other;
    }
}

/* ---- One column ---- */

struct range {
    uint64_t part, n_parts; /* of the hashes' upper halves */
};

static bool is_in(const struct range *range, uint64_t hash)
{
    return (hash >> 32) * range->n_parts >> 32 == range->part;
}

static int take_block(struct form_pairs *pairs, int column, int64_t block, const struct range *range,
                      struct error *err)
{
    const struct bits *bits = column == COL_INPUT ? &pairs->has_input : &pairs->has_bands;
    const int64_t first = block * BLOCK_ROWS;
    uint64_t *hashes = pairs->block[0], *others = pairs->block[1];
    int rc = read_column(pairs, block, column, hashes, err);

    if (rc == OK && column == COL_INPUT)
        rc = read_column(pairs, block, COL_TARGET, others, err);
    if (rc == OK)
        rc = keys_reserve(&pairs->keys, &pairs->keys_capacity, pairs->n_keys + BLOCK_ROWS, err);
    for (int64_t i = 0; rc == OK && i < BLOCK_ROWS && first + i < pairs->n_rows; i++)
        if (bits_has(bits, first + i) && is_in(range, hashes[i]))
            pairs->keys[pairs->n_keys++] = (struct key){
                hashes[i], column == COL_INPUT ? others[i] : 0, first + i};
    return rc;
}

static size_t split_of(const struct form_pairs *pairs, int64_t row)
{
    size_t low = 0, high = pairs->n_splits;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (pairs->first[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int add_crowd(struct form_pairs *pairs, struct form_crowd crowd, struct error *err)
{
    if (pairs->n_crowded == pairs->crowded_capacity) {
        size_t capacity = pairs->crowded_capacity ? pairs->crowded_capacity * 2 : 64;
        struct form_crowd *crowded = realloc(pairs->crowded, capacity * sizeof *crowded);

        if (!crowded)
            return no_memory(err);
        pairs->crowded = crowded;
        pairs->crowded_capacity = capacity;
    }
    pairs->crowded[pairs->n_crowded++] = crowd;
    return OK;
}

static bool has_other(const struct key *keys, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (keys[i].other != keys[0].other)
            return true;
    return false;
}

/* Rows with one hash, ascending. */
static int take_run(struct form_pairs *pairs, int column, const struct key *keys, size_t n,
                    struct error *err)
{
    bool is_chosen;

    if (column != COL_INPUT && n > FORM_CROWD)
        return add_crowd(pairs, (struct form_crowd){column, keys[0].hash, (int64_t)n}, err);
    is_chosen = column == COL_INPUT
                    ? has_other(keys, n)
                    : split_of(pairs, keys[0].row) != split_of(pairs, keys[n - 1].row);
    for (size_t i = 0; is_chosen && i < n; i++) {
        pairs->n_candidates += !bits_has(&pairs->is_candidate, keys[i].row);
        bits_set(&pairs->is_candidate, keys[i].row);
    }
    return OK;
}

static int find_in_range(struct form_pairs *pairs, int column, const struct range *range,
                         struct error *err)
{
    const int64_t n_blocks = (pairs->n_rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    int rc = OK;

    pairs->n_keys = 0;
    for (int64_t block = 0; rc == OK && block < n_blocks; block++)
        rc = take_block(pairs, column, block, range, err);
    if (rc == OK)
        rc = keys_reserve(&pairs->scratch, &pairs->scratch_capacity, pairs->n_keys, err);
    if (rc == OK)
        sort_keys(pairs->keys, pairs->n_keys, pairs->scratch);
    for (size_t i = 0, end; rc == OK && i < pairs->n_keys; i = end) {
        for (end = i + 1; end < pairs->n_keys && pairs->keys[end].hash == pairs->keys[i].hash; end++)
            ;
        if (end - i > 1)
            rc = take_run(pairs, column, &pairs->keys[i], end - i, err);
    }
    return rc;
}

int form_pairs_find(struct form_pairs *pairs, const atomic_bool *cancel, struct error *err)
{
    const uint64_t bytes = (uint64_t)pairs->n_rows * 2 * sizeof(struct key);
    struct range range = {.n_parts = bytes / pairs->memory + 1};
    int rc = pairs->n_rows % BLOCK_ROWS ? write_block(pairs, err) : OK;

    if (rc == OK)
        rc = bits_reserve(&pairs->is_candidate, pairs->n_rows, err);
    for (int column = 0; rc == OK && column <= COL_INPUT; column++)
        for (range.part = 0; rc == OK && range.part < range.n_parts; range.part++) {
            if (cancel && atomic_load(cancel))
                return error_set(err, E_CANCELLED, "interrupted");
            rc = find_in_range(pairs, column, &range, err);
        }
    free(pairs->keys);
    free(pairs->scratch);
    pairs->keys = pairs->scratch = NULL;
    pairs->keys_capacity = pairs->scratch_capacity = 0;
    return rc;
}

/* ---- Answers ---- */

bool form_pairs_has(const struct form_pairs *pairs, int64_t row)
{
    return row < pairs->n_rows && bits_has(&pairs->is_candidate, row);
}

int64_t form_pairs_n_candidates(const struct form_pairs *pairs)
{
    return pairs->n_candidates;
}

const struct form_crowd *form_pairs_crowded(const struct form_pairs *pairs, size_t *n)
{
    *n = pairs->n_crowded;
    return pairs->crowded;
}
