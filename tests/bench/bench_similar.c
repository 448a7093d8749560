/* Near-duplicates among the lines of a file: seconds of processor, rows, pairs.
 *
 *     bench_similar LINES JACCARD [--banded] [--pairs] [--bands] [--containment C] [--memory MIB]
 *                   [--nearest OTHER]
 *
 * Each line is a row. --pairs prints "i j shared" a pair (i < j) instead, --bands the 42 bands a row:
 * for similar_peers.py, which counts the same by brute force. --nearest: of each row the nearest line
 * of another file is asked for, as the comparison of test and training rows does; with --pairs "row
 * shared shingles-of-the-other". */
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

/* In batches, as rows come from a file. */
static int ask_other(struct work *work, const char *path, bool is_listing, size_t *n_found,
                     size_t *n_asked, struct error *err)
{
    struct similar_asker asker = {0};
    struct similar_match *best = calloc(work->n_rows + 1, sizeof *best);
    uint32_t *n_other = calloc(work->n_rows + 1, sizeof *n_other);
    struct buf text;
    struct str line;
    int rc = OK;

    buf_init(&text, (size_t)4 << 30);
    if (!best || !n_other || !read_all(path, &text))
        rc = error_set(err, E_IO, "%s cannot be read", path);
    struct str rest = buf_view(&text);
    for (size_t i = 1; rc == OK && rest.n > 0 && str_split(&rest, '\n', &line); i++) {
        ++*n_asked;
        rc = set_of(work, line, err);
        if (rc == OK)
            rc = similar_ask(work->index, &asker, work->set.items, work->set.n, SIZE_MAX, err);
        for (size_t k = 0; rc == OK && k < asker.n_matches; k++) {
            const struct similar_match *m = &asker.matches[k];

            if (n_other[m->row] &&
                (uint64_t)m->n_shared * (m->n_row + n_other[m->row]) <=
                    (uint64_t)best[m->row].n_shared * (m->n_row + work->set.n))
                continue;
            *n_found += !n_other[m->row];
            best[m->row] = *m;
            n_other[m->row] = (uint32_t)work->set.n;
            similar_tell(work->index, m, n_other[m->row], UINT32_MAX);
        }
        if (rc == OK && (i % 512 == 0 || (i < 512 && (i & (i - 1)) == 0)))
            rc = similar_settle(work->index, &asker, 1, err);
    }
    for (size_t row = 0; rc == OK && is_listing && row < work->n_rows; row++)
        if (n_other[row])
            printf("%zu %u %u\n", row, best[row].n_shared, n_other[row]);
    similar_asker_free(&asker);
    buf_free(&text);
    free(best);
    free(n_other);
    return rc;
}

int main(int argc, char **argv)
{
    const char *other = NULL;
    struct work work = {0};
    struct similar_options options = {.jaccard = argc > 2 ? strtod(argv[2], NULL) : 0.8};
    bool is_listing = false, with_bands = false;
    struct error err;
    size_t n_pairs = 0, n_asked = 0;

    for (int i = 3; i < argc; i++) {
        options.banded = options.banded || strcmp(argv[i], "--banded") == 0;
        is_listing = is_listing || strcmp(argv[i], "--pairs") == 0;
        with_bands = with_bands || strcmp(argv[i], "--bands") == 0;
        if (strcmp(argv[i], "--containment") == 0 && i + 1 < argc)
            options.containment = strtod(argv[++i], NULL);
        else if (strcmp(argv[i], "--memory") == 0 && i + 1 < argc)
            options.memory = (size_t)strtoul(argv[++i], NULL, 10) << 20;
        else if (strcmp(argv[i], "--nearest") == 0 && i + 1 < argc)
            other = argv[++i];
    }
    options.nearest = other != NULL;
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
    if (rc == OK && other)
        rc = ask_other(&work, other, is_listing, &n_pairs, &n_asked, &err);
    else if (rc == OK && !with_bands)
        rc = ask_rows(&work, is_listing, &n_pairs, &err);
    if (rc != OK)
        fprintf(stderr, "bench_similar: %s\n", err.message);
    else if (!is_listing && !with_bands)
        printf("%.3f %zu %zu %zu %.3f %zu\n", processor_s() - begin, work.n_rows + n_asked, n_pairs,
               similar_bytes(work.index) >> 20, built - begin, similar_n_crowded(work.index));
    similar_close(work.index);
    shingles_free(&work.set);
    buf_free(&work.normal);
    buf_free(&work.text);
    return rc == OK ? 0 : 1;
}
