/* What rows say together against reading them: writes so many rows of 40 words, then times both.
 *
 *     bench_data FILE ROWS
 *
 * Prints "seconds of parsing, seconds of the pass". A twentieth of the inputs repeats. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/random.h"
#include "core/facts/data_facts.h"
#include "core/read/rows.h"

static double processor_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool write_rows(const char *path, long n)
{
    FILE *file = fopen(path, "w");
    struct random random;

    if (!file)
        return false;
    random_seed(&random, 7);
    for (long i = 0; i < n; i++) {
        fprintf(file, "{\"prompt\": \"question %ld:", i % 20 ? i : i / 2);
        for (int k = 0; k < 20; k++)
            fprintf(file, " w%llu", (unsigned long long)random_below(&random, 5000));
        fprintf(file, "\", \"completion\": \"Answer");
        for (int k = 0; k < 18; k++)
            fprintf(file, " v%llu", (unsigned long long)random_below(&random, 5000));
        fprintf(file, "\"}\n");
    }
    return fclose(file) == 0;
}

static long parse_rows(const char *path)
{
    struct arena *arena = arena_open((size_t)64 << 20);
    struct rows *rows = NULL;
    const struct json *tree;
    struct row_place place;
    struct error why, err;
    long n = 0;

    if (!arena || rows_open(&rows, path, &err) != OK)
        return -1;
    while (arena_reset(arena), rows_next(rows, arena, &tree, &place, &why, &err) > 0)
        n++;
    rows_close(rows);
    arena_close(arena);
    return n;
}

int main(int argc, char **argv)
{
    long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    struct arena *arena = arena_open((size_t)256 << 20);
    struct data_file file = {.path = argc > 1 ? argv[1] : "", .n_rows = NONE};
    struct data_facts data;
    struct error err;

    if (argc < 3 || !arena || !write_rows(argv[1], n)) {
        fprintf(stderr, "usage: bench_data FILE ROWS\n");
        return 2;
    }
    double begin = processor_s();
    if (parse_rows(argv[1]) != n)
        return 2;
    double parsed = processor_s();
    if (data_facts_make(&file, 1, NULL, arena, &data, &err) != OK || data.n_rows != n) {
        fprintf(stderr, "bench_data: %s\n", err.message);
        return 2;
    }
    printf("%.3f %.3f\n", parsed - begin, processor_s() - parsed);
    arena_close(arena);
    return 0;
}
