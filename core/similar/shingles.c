/* Making the sets and comparing two of them. See shingles.h. */
#include "core/similar/shingles.h"

#include <stdlib.h>

#include "core/base/hash.h"

enum { INSERTION_MAX = 64, LEAST_CAPACITY = 64 };

void shingles_free(struct shingles *set)
{
    free(set->items);
    free(set->scratch);
    *set = (struct shingles){0};
}

static int grow(uint64_t **items, size_t *capacity, size_t n, struct error *err)
{
    size_t wanted = *capacity ? *capacity : LEAST_CAPACITY;

    if (n <= *capacity)
        return OK;
    while (wanted < n)
        wanted *= 2;
    uint64_t *grown = realloc(*items, wanted * sizeof *grown);
    if (!grown)
        return error_set(err, E_NOMEM, "no memory for %zu shingles", n);
    *items = grown;
    *capacity = wanted;
    return OK;
}

static int add(struct shingles *set, const char *p, size_t n, struct error *err)
{
    int rc = set->n < set->capacity ? OK : grow(&set->items, &set->capacity, set->n + 1, err);

    if (rc == OK)
        set->items[set->n++] = hash_bytes(p, n);
    return rc;
}

/* ---- Sorting ---- */

static void sort_few(uint64_t *items, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t item = items[i];
        size_t at = i;

        for (; at > 0 && items[at - 1] > item; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* By bytes, lowest first; no worst case. */
void shingles_sort(uint64_t *items, size_t n, uint64_t *scratch)
{
    if (n <= INSERTION_MAX) {
        sort_few(items, n);
        return;
    }
    for (int shift = 0; shift < 64; shift += 8) {
        size_t start[256] = {0}, sum = 0;

        for (size_t i = 0; i < n; i++)
            start[items[i] >> shift & 0xff]++;
        for (int digit = 0; digit < 256; digit++) {
            size_t count = start[digit];

            start[digit] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            scratch[start[items[i] >> shift & 0xff]++] = items[i];
        uint64_t *swap = items;
        items = scratch;
        scratch = swap;
    }
}

static int make_set(struct shingles *set, struct error *err)
{
    int rc = set->n > INSERTION_MAX ? grow(&set->scratch, &set->scratch_capacity, set->n, err) : OK;
    size_t n = 0;

    if (rc != OK)
        return rc;
    shingles_sort(set->items, set->n, set->scratch);
    for (size_t i = 0; i < set->n; i++)
        if (n == 0 || set->items[n - 1] != set->items[i])
            set->items[n++] = set->items[i];
    set->n = n;
    return OK;
}

/* ---- Making ---- */

/* The last SHINGLE_WORDS beginnings of words are enough. */
static int of_words(struct str text, struct shingles *set, size_t *n_words, struct error *err)
{
    size_t begins[SHINGLE_WORDS] = {0}, n = 0;
    int rc = OK;

    for (size_t at = 0; rc == OK && at < text.n;) {
        const char *blank = memchr(text.p + at, ' ', text.n - at);
        size_t end = blank ? (size_t)(blank - text.p) : text.n;

        begins[n++ % SHINGLE_WORDS] = at;
        if (n >= SHINGLE_WORDS) {
            size_t from = begins[n % SHINGLE_WORDS];

            rc = add(set, text.p + from, end - from, err);
        }
        at = end + 1;
    }
    *n_words = n;
    return rc;
}

static size_t next_codepoint(struct str text, size_t at)
{
    for (at++; at < text.n && ((unsigned char)text.p[at] & 0xc0) == 0x80; at++)
        ;
    return at;
}

static int of_codepoints(struct str text, struct shingles *set, struct error *err)
{
    size_t begins[SHINGLE_CODEPOINTS] = {0}, n = 0;
    int rc = OK;

    for (size_t at = 0; rc == OK && at < text.n;) {
        size_t end = next_codepoint(text, at);

        begins[n++ % SHINGLE_CODEPOINTS] = at;
        if (n >= SHINGLE_CODEPOINTS) {
            size_t from = begins[n % SHINGLE_CODEPOINTS];

            rc = add(set, text.p + from, end - from, err);
        }
        at = end;
    }
    return rc == OK && n > 0 && n < SHINGLE_CODEPOINTS ? add(set, text.p, text.n, err) : rc;
}

int shingles_of(struct str normal, struct shingles *set, struct error *err)
{
    size_t n_words;

    set->n = 0;
    int rc = of_words(normal, set, &n_words, err);
    if (rc == OK && n_words < SHINGLE_WORDS)
        rc = of_codepoints(normal, set, err);
    return rc == OK ? make_set(set, err) : rc;
}

/* ---- Comparing ---- */

size_t shingles_shared(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b, size_t least)
{
    size_t i = 0, j = 0, n = 0;

    while (i < n_a && j < n_b) {
        uint64_t x = a[i], y = b[j];

        n += x == y;
        i += x <= y;
        j += y <= x;
        if (n + (n_a - i) < least || n + (n_b - j) < least)
            return SIZE_MAX;
    }
    return n < least ? SIZE_MAX : n;
}

double shingles_jaccard(size_t n_a, size_t n_b, size_t n_shared)
{
    size_t n_all = n_a + n_b - n_shared;

    return n_all ? (double)n_shared / (double)n_all : 0.0;
}
