/* Near-duplicates among the lines of a file: seconds of processor, rows, pairs.
 *
 *     bench_similar LINES JACCARD [--banded] [--pairs] [--bands] [--containment C] [--memory MIB]
 *
 * Each line is a row. --pairs prints "i j shared" a pair (i < j) instead, --bands the 42 bands a
 * row: for similar_peers.py, which counts the same by brute force. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/similar/index.h"
#include "core/similar/normal.h"

struct work {
    struct buf text, normal;
    struct shingles set;
    struct similar_index *index;
    size_t n_rows;
};

static double processor_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool read_all(const char *path, struct buf *out)
{
    FILE *file = fopen(path, "rb");
    char chunk[65536];
    size_t n;

    if (!file)
        return false;
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0)
        buf_add(out, chunk, n);
    fclose(file);
    return !out->failed;
}

static int set_of(struct work *work, struct str line, struct error *err)
{
    int rc = normal_text(line, &work->normal, err);

    return rc == OK ? shingles_of(buf_view(&work->normal), &work->set, err) : rc;
}

static int add_rows(struct work *work, bool with_bands, struct error *err)
{
    struct str rest = buf_view(&work->text), line;
    int rc = OK;

    for (; rc == OK && rest.n > 0 && str_split(&rest, '\n', &line); work->n_rows++) {
        rc = set_of(work, line, err);
        if (rc == OK && with_bands) {
            uint64_t bands[MINHASH_BANDS];

            minhash_bands(work->set.items, work->set.n, bands);
            for (int i = 0; i < MINHASH_BANDS; i++)
                printf("%llu%c", (unsigned long long)bands[i], i + 1 < MINHASH_BANDS ? ' ' : '\n');
        }
        if (rc == OK)
            rc = similar_add(work->index, work->set.items, work->set.n, err);
    }
    return rc == OK ? similar_build(work->index, err) : rc;
}

static int ask_rows(struct work *work, bool is_listing, size_t *n_pairs, struct error *err)
{
    struct similar_asker asker = {0};
    int rc = OK;

    for (size_t row = 0; rc == OK && row < work->n_rows; row++) {
        rc = similar_ask_own(work->index, &asker, row, err);
        *n_pairs += rc == OK ? asker.n_matches : 0;
        for (size_t i = 0; is_listing && rc == OK && i < asker.n_matches; i++)
            printf("%u %zu %u\n", asker.matches[i].row, row, asker.matches[i].n_shared);
    }
    similar_asker_free(&asker);
    return rc;
}

int main(int argc, char **argv)
{
    struct work work = {0};
    struct similar_options options = {.jaccard = argc > 2 ? strtod(argv[2], NULL) : 0.8};
    bool is_listing = false, with_bands = false;
    struct error err;
    size_t n_pairs = 0;

    for (int i = 3; i < argc; i++) {
        options.banded = options.banded || strcmp(argv[i], "--banded") == 0;
        is_listing = is_listing || strcmp(argv[i], "--pairs") == 0;
        with_bands = with_bands || strcmp(argv[i], "--bands") == 0;
        if (strcmp(argv[i], "--containment") == 0 && i + 1 < argc)
            options.containment = strtod(argv[++i], NULL);
        else if (strcmp(argv[i], "--memory") == 0 && i + 1 < argc)
            options.memory = (size_t)strtoul(argv[++i], NULL, 10) << 20;
    }
    buf_init(&work.text, (size_t)4 << 30);
    buf_init(&work.normal, (size_t)64 << 20);
    if (argc < 3 || !read_all(argv[1], &work.text)) {
        fprintf(stderr, "usage: bench_similar LINES JACCARD [--banded] [--pairs] [--bands]\n");
        return 2;
    }
    double begin = processor_s();
    int rc = similar_open(&work.index, &options, &err);
    if (rc == OK)
        rc = add_rows(&work, with_bands, &err);
    double built = processor_s();
    if (rc == OK && !with_bands)
        rc = ask_rows(&work, is_listing, &n_pairs, &err);
    if (rc != OK)
        fprintf(stderr, "bench_similar: %s\n", err.message);
    else if (!is_listing && !with_bands)
        printf("%.3f %zu %zu %zu %.3f %zu\n", processor_s() - begin, work.n_rows, n_pairs,
               similar_bytes(work.index) >> 20, built - begin, similar_n_crowded(work.index));
    similar_close(work.index);
    shingles_free(&work.set);
    buf_free(&work.normal);
    buf_free(&work.text);
    return rc == OK ? 0 : 1;
}
