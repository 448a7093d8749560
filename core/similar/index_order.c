/* The order of the index's lists, and what was told of its rows: how near a match has to be, which
 * sets a posting can still reach. See index_parts.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/similar/index_parts.h"

/* Lists up to here need no new order; the time after which the longer ones get it, and the time in
 * crowds after which those are not followed any more (nanoseconds, about). */
enum { SHORT_LIST = 16, LEAST_PASSED = 1 << 20 };
#define MOST_SPENT ((size_t)200 << 30)

/* ---- Bounds ---- */

static size_t at_least(double x)
{
    return (size_t)ceil(x - 1e-9);
}

static bool asks_contained(const struct similar_index *index, uint32_t row, size_t n_row)
{
    return index->options.containment > 0 && n_row >= CONTAINED_SHINGLES &&
           !(index->told && index->told[row].contained == UINT32_MAX);
}

static size_t least_contained(const struct similar_index *index, uint32_t row, size_t n_row)
{
    const size_t least = at_least(index->options.containment * (double)n_row);
    const size_t more = index->told ? (size_t)index->told[row].contained + 1 : 0;

    return more > least ? more : least;
}

/* Nearer than what was told: shared / (n_row + n - shared) above it. */
static size_t least_nearer(const struct told *told, size_t n_row, size_t n)
{
    return told->n_other ? (size_t)((uint64_t)told->n_shared * (n_row + n) /
                                    ((uint64_t)n_row + told->n_other)) + 1
                         : 0;
}

size_t least_of_pair(const struct similar_index *index, uint32_t row, size_t n)
{
    const double t = index->options.jaccard;
    const size_t n_row = index->sets.places[row].n;
    const size_t few = n_row < n ? n_row : n, many = n_row < n ? n : n_row;
    size_t least = SIZE_MAX;

    if ((double)few >= t * (double)many - 1e-9) {
        const size_t more = index->told ? least_nearer(&index->told[row], n_row, n) : 0;

        least = at_least(t / (1.0 + t) * (double)(n_row + n));
        least = more > least ? more : least;
        if (least > few)
            least = SIZE_MAX;
    }
    if (asks_contained(index, row, n_row)) {
        size_t contained = least_contained(index, row, n_row);

        if (contained <= few && contained < least)
            least = contained;
    }
    return least == 0 ? 1 : least;
}

static uint32_t at_most(double x)
{
    return x < 1.0 ? 0 : x >= MOST_REACH ? MOST_REACH : (uint32_t)x;
}

uint32_t reach_of(const struct similar_index *index, uint32_t row, uint16_t rest)
{
    const double t = index->options.jaccard;
    const uint64_t n_row = index->sets.places[row].n;
    const struct told *told = index->told ? &index->told[row] : NULL;
    const uint64_t n_left = rest < MOST_REACH ? rest : n_row;

    if (asks_contained(index, row, n_row) && n_left >= least_contained(index, row, n_row))
        return MOST_REACH;
    uint32_t reach = at_most((double)n_left * (1.0 + t) / t - (double)n_row + 1e-6);
    if (!told || !told->n_other || !told->n_shared)
        return reach;
    const uint64_t sum = n_row + told->n_other;
    const uint64_t most = (n_left * sum - 1) / told->n_shared; /* of both sets together */
    const uint64_t least = told->n_shared * n_row / (sum - told->n_shared) + 1;
    const uint64_t nearer = most > n_row && most - n_row >= least ? most - n_row : 0;
    return nearer < reach ? (uint32_t)nearer : reach;
}

/* ---- Order ---- */

struct entry {
    uint64_t posting;
    uint16_t rest;
};

static int by_posting(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return x->posting < y->posting ? -1 : x->posting > y->posting;
}

static void sort_entries(struct entry *entries, size_t n)
{
    if (n > SHORT_LIST) {
        qsort(entries, n, sizeof *entries, by_posting);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct entry entry = entries[i];
        size_t at = i;

        for (; at > 0 && entries[at - 1].posting > entry.posting; at--)
            entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

static void order_bucket(struct similar_index *index, size_t from, size_t end, struct entry *room)
{
    for (size_t i = from; i < end; i++) {
        const uint64_t posting = index->postings[i];
        const uint64_t reach = reach_of(index, (uint32_t)posting, index->rests[i]);

        room[i - from] = (struct entry){(posting & ~((uint64_t)UINT16_MAX << 32)) |
                                            (MOST_REACH - reach) << 32,
                                        index->rests[i]};
    }
    sort_entries(room, end - from);
    for (size_t i = from; i < end; i++) {
        index->postings[i] = room[i - from].posting;
        index->rests[i] = room[i - from].rest;
    }
}

/* Rows that are found by a crowded key of the bucket. */
static void mark_crowds(struct similar_index *index, size_t from, size_t end, uint8_t *is_crowded)
{
    const uint64_t *p = index->postings;

    for (size_t i = from, next; i < end; i = next) {
        for (next = i; next < end && p[next] >> 48 == p[i] >> 48; next++)
            ;
        for (size_t k = i; next - i > index->options.crowd && k < next; k++) {
            index->n_crowded += !is_crowded[(uint32_t)p[k]];
            is_crowded[(uint32_t)p[k]] = 1;
        }
    }
}

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for an index of rows");
}

static int count_crowds(struct similar_index *index, struct error *err)
{
    uint8_t *is_crowded = calloc(index->sets.n + 1, 1);

    if (!is_crowded)
        return no_memory(err);
    index->n_crowded = 0;
    for (size_t i = 0, from = 0; i < (size_t)1 << index->bits; from = index->ends[i++])
        if (index->ends[i] - from > index->options.crowd)
            mark_crowds(index, from, index->ends[i], is_crowded);
    free(is_crowded);
    return OK;
}

int order_buckets(struct similar_index *index, size_t least, struct error *err)
{
    const size_t n = (size_t)1 << index->bits;
    size_t widest = 0;

    for (size_t i = 0, from = 0; i < n; from = index->ends[i++])
        widest = index->ends[i] - from > widest ? index->ends[i] - from : widest;
    struct entry *room = malloc((widest + 1) * sizeof *room);
    if (!room)
        return no_memory(err);
    for (size_t i = 0, from = 0; i < n; from = index->ends[i++])
        if (index->ends[i] - from > least)
            order_bucket(index, from, index->ends[i], room);
    free(room);
    return index->told && !index->is_spent ? OK : count_crowds(index, err);
}

/* ---- Telling ---- */

void similar_tell(struct similar_index *index, const struct similar_match *nearest, uint32_t n_other,
                  uint32_t contained)
{
    if (index->told)
        index->told[nearest->row] = (struct told){nearest->n_shared, n_other, contained};
}

int similar_settle(struct similar_index *index, struct similar_asker *askers, size_t n,
                   struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        index->n_passed += askers[i].n_passed;
        index->n_spent += askers[i].n_spent;
        askers[i].n_passed = askers[i].n_spent = 0;
    }
    const bool was_spent = index->is_spent;
    index->is_spent = index->n_spent > MOST_SPENT;
    if (!index->told || (index->n_passed < LEAST_PASSED + index->n_postings &&
                         index->is_spent == was_spent))
        return OK;
    index->n_passed = 0;
    return order_buckets(index, SHORT_LIST, err);
}
