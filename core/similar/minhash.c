/* MinHash in bands, to the byte as FORMATS.md B25 says. See shingles.h. */
#include <pthread.h>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/similar/shingles.h"

static uint32_t factor[MINHASH_N], summand[MINHASH_N];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_constants(void)
{
    struct random random;

    random_seed(&random, 1);
    for (int i = 0; i < MINHASH_N; i++) {
        factor[i] = (uint32_t)random_u64(&random) | 1;
        summand[i] = (uint32_t)random_u64(&random);
    }
}

/* Four shingles at a time, so that a minimum is loaded and stored once for them. */
static void lower(uint32_t *least, const uint32_t *x)
{
    const uint32_t x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];

    for (int i = 0; i < MINHASH_N; i++) {
        const uint32_t a = factor[i], b = summand[i];
        const uint32_t h0 = a * x0 + b, h1 = a * x1 + b, h2 = a * x2 + b, h3 = a * x3 + b;
        const uint32_t h01 = h0 < h1 ? h0 : h1, h23 = h2 < h3 ? h2 : h3;
        const uint32_t h = h01 < h23 ? h01 : h23;

        least[i] = h < least[i] ? h : least[i];
    }
}

static uint64_t hash_band(const uint32_t *least, int band)
{
    unsigned char bytes[4 * MINHASH_ROWS];

    for (int i = 0; i < MINHASH_ROWS; i++) {
        uint32_t m = least[MINHASH_ROWS * band + i];

        for (int k = 0; k < 4; k++)
            bytes[4 * i + k] = (unsigned char)(m >> (8 * k));
    }
    return hash_more((uint64_t)band, bytes, sizeof bytes);
}

void minhash_bands(const uint64_t *items, size_t n, uint64_t bands[MINHASH_BANDS])
{
    uint32_t least[MINHASH_N];

    pthread_once(&once, make_constants);
    for (int i = 0; i < MINHASH_N; i++)
        least[i] = UINT32_MAX;
    for (size_t i = 0; i < n; i += 4) {
        uint32_t x[4];

        for (size_t k = 0; k < 4; k++) /* the last one again: a minimum does not change by it */
            x[k] = (uint32_t)items[i + k < n ? i + k : n - 1];
        lower(least, x);
    }
    for (int band = 0; band < MINHASH_BANDS; band++)
        bands[band] = hash_band(least, band);
}
