/* Which rows were in which batch. The generator is MT19937 (Matsumoto and Nishimura 1998), the
 * shuffle that of torch.randperm on CPU: swap place i with place i + x mod (n − i). */
#include "core/stats/replay.h"

#include <stdlib.h>

enum { STATE = 624, SHIFT = 397 };

/* Above this torch draws 64 bits a place (2^32 − 1 over 20). */
static const int64_t MAX_ROWS = 214748364;

struct twister {
    uint32_t word[STATE];
    unsigned next;
};

static void twister_seed(struct twister *t, uint32_t seed)
{
    t->word[0] = seed;
    for (uint32_t i = 1; i < STATE; i++)
        t->word[i] = 1812433253u * (t->word[i - 1] ^ (t->word[i - 1] >> 30)) + i;
    t->next = STATE;
}

static void twister_turn(struct twister *t)
{
    for (unsigned i = 0; i < STATE; i++) {
        uint32_t x = (t->word[i] & 0x80000000u) | (t->word[(i + 1) % STATE] & 0x7fffffffu);
        t->word[i] = t->word[(i + SHIFT) % STATE] ^ (x >> 1) ^ (x & 1u ? 0x9908b0dfu : 0u);
    }
    t->next = 0;
}

static uint32_t twister_draw(struct twister *t)
{
    if (t->next >= STATE)
        twister_turn(t);
    uint32_t x = t->word[t->next++];
    x ^= x >> 11;
    x ^= (x << 7) & 0x9d2c5680u;
    x ^= (x << 15) & 0xefc60000u;
    return x ^ (x >> 18);
}

int replay_randperm(uint64_t seed, int64_t n, int64_t *order, struct error *err)
{
    struct twister twister;

    if (n < 0 || n > MAX_ROWS)
        return error_set(err, E_LIMIT, "a permutation of %lld rows, expected at most %lld",
                         (long long)n, (long long)MAX_ROWS);
    twister_seed(&twister, (uint32_t)seed);
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = 0; i + 1 < n; i++) {
        int64_t j = i + (int64_t)(twister_draw(&twister) % (uint64_t)(n - i));
        int64_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    return OK;
}

static bool is_sound(const struct replay *r)
{
    return r->n_rows >= 1 && r->n_rows <= MAX_ROWS && r->micro_batch >= 1 &&
           r->micro_batch <= MAX_ROWS && r->accumulation >= 1 && r->accumulation <= MAX_ROWS &&
           r->world >= 1 && r->world <= 1000000;
}

/* Rows of one optimiser step; 0 when that is more than any epoch can hold. */
static int64_t rows_per_step(const struct replay *r)
{
    int64_t rows = r->micro_batch;

    if (r->accumulation > INT64_MAX / rows)
        return INT64_MAX;
    rows *= r->accumulation;
    return r->world > INT64_MAX / rows ? INT64_MAX : rows * r->world;
}

int replay_step_rows(const struct replay *replay, int64_t step, int64_t *rows, size_t capacity,
                     size_t *n, struct error *err)
{
    int rc = OK;

    *n = 0;
    if (step < 1 || !is_sound(replay))
        return OK;
    int64_t per_step = rows_per_step(replay);
    int64_t steps = replay->n_rows / per_step + (replay->n_rows % per_step != 0);
    int64_t epoch = (step - 1) / steps, first = (step - 1) % steps * per_step;
    int64_t left = replay->n_rows - first, count = left < per_step ? left : per_step;
    if ((uint64_t)count > capacity)
        return error_set(err, E_LIMIT, "a step of %lld rows, room for %zu", (long long)count,
                         capacity);
    int64_t *order = NULL;
    if (!replay->is_sequential) {
        order = malloc((size_t)replay->n_rows * sizeof *order);
        if (!order)
            return error_set(err, E_NOMEM, "a permutation of %lld rows", (long long)replay->n_rows);
        rc = replay_randperm(replay->seed + (uint64_t)epoch, replay->n_rows, order, err);
        if (rc != OK)
            goto out;
    }
    for (int64_t i = 0; i < count; i++)
        rows[i] = order ? order[first + i] : first + i;
    *n = (size_t)count;
out:
    free(order);
    return rc;
}
