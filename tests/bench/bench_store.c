/* Speed of the store: points written through a sink, points of one series read back, opening.
 * Usage: bench_store [N_ROWS]. Prints one line a measurement. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/store/sink.h"
#include "core/store/store.h"

#define N_SERIES 8

static void must(int rc, const struct error *err)
{
    char text[2048];

    if (rc == OK)
        return;
    error_format(err, text, sizeof text);
    fprintf(stderr, "bench_store: %s\n", text);
    exit(1);
}

static double seconds_since(int64_t start)
{
    return (double)(clock_ticks_ns() - start) / 1e9;
}

static long resident_kib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void write_points(struct store *store, int64_t n_rows)
{
    const struct run run = {.key = "bench", .folder = "/bench", .name = "bench"};
    const struct source source = {.path = "/bench/log", .importer = "bench", .size = 1};
    struct sink *sink = NULL;
    struct error err;
    int handles[N_SERIES];

    must(sink_open_store(&sink, store, &err), &err);
    must(sink_begin(sink, &run, &source, &err), &err);
    for (int s = 0; s < N_SERIES; s++) {
        char name[32];

        snprintf(name, sizeof name, "metric/%d", s);
        must(sink_series(sink, name, NULL, &handles[s], &err), &err);
    }
    for (int64_t row = 0; row < n_rows; row++)
        for (int s = 0; s < N_SERIES; s++) {
            struct point point = {.seq = row, .step = row * 10, .line = row + 1,
                                  .value = 1.0 / (double)(row + s + 1), .wall = NAN};

            must(sink_point(sink, handles[s], &point, &err), &err);
        }
    must(sink_end(sink, 1, SOURCE_WHOLE, &err), &err);
    sink_close(sink);
}

static void read_points(struct store *store)
{
    struct arena *arena = arena_open(ARENA_CHECK_BYTES);
    const struct run *runs = NULL;
    const struct series *series = NULL;
    struct point_columns points = {0};
    size_t n = 0;
    struct error err;

    must(store_runs(store, arena, &runs, &n, &err), &err);

    int64_t start = clock_ticks_ns();

    must(store_series(store, runs[0].id, arena, &series, &n, &err), &err);
    printf("list of %zu series        %8.2f ms\n", n, seconds_since(start) * 1e3);
    for (int i = 0; i < 2; i++) {
        start = clock_ticks_ns();
        must(store_points(store, series[i].id, arena, &points, &err), &err);
        printf("load %zu points    %8.2f ms\n", points.n, seconds_since(start) * 1e3);
    }
    arena_close(arena);
}

int main(int argc, char **argv)
{
    int64_t n_rows = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000000;
    char folder[] = "/tmp/flatline-bench-XXXXXX";
    char cache[64], kept[64];
    struct store *store = NULL;
    struct stat st;
    struct error err;

    if (!mkdtemp(folder))
        return 1;
    snprintf(cache, sizeof cache, "%s/cache.db", folder);
    snprintf(kept, sizeof kept, "%s/triage.db", folder);

    struct store_options options = {.cache_path = cache, .kept_path = kept};
    int64_t start = clock_ticks_ns();

    must(store_open(&store, &options, &err), &err);
    printf("open a new store         %8.2f ms\n", seconds_since(start) * 1e3);
    start = clock_ticks_ns();
    write_points(store, n_rows);

    double took = seconds_since(start);

    printf("write %lld points   %8.2f s, %.1f million points/s, at most %ld MiB resident\n",
           (long long)n_rows * N_SERIES, took, (double)n_rows * N_SERIES / took / 1e6,
           resident_kib() / 1024);
    start = clock_ticks_ns();
    write_points(store, n_rows);
    took = seconds_since(start);
    printf("write them again         %8.2f s, %.1f million points/s\n", took,
           (double)n_rows * N_SERIES / took / 1e6);
    start = clock_ticks_ns();
    store_close(store);
    printf("close                    %8.2f ms\n", seconds_since(start) * 1e3);
    start = clock_ticks_ns();
    must(store_open(&store, &options, &err), &err);
    printf("open the full store      %8.2f ms", seconds_since(start) * 1e3);
    printf(" (%.1f MiB)\n", stat(cache, &st) == 0 ? (double)st.st_size / 1048576 : NAN);
    read_points(store);
    store_close(store);
    unlink(cache);
    unlink(kept);
    rmdir(folder);
    return 0;
}
