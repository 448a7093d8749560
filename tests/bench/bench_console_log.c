/* How fast a console log is imported: bench_console_log MIB PATH writes a Trainer's log of that
 * size to PATH (unless it is there), imports it into nothing and prints MB/s and the peak of
 * resident memory. The log is what a Trainer prints: a bar per step by carriage returns, a dict of
 * four numbers every ten steps. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "core/read/source.h"
#include "importers/importer.h"
#include "importers/registry.h"

#define LOG_EVERY 10

static void put_bar(FILE *out, long step, long total)
{
    static const char full[] = "\xE2\x96\x88";
    int percent = (int)(100 * step / total);
    fprintf(out, "\r%3d%%|", percent);
    for (int i = 0; i < 10; i++) {
        fputs(i < percent / 10 ? full : " ", out);
    }
    long seconds = step * 3 / 2, left = (total - step) * 3 / 2;
    fprintf(out, "| %ld/%ld [%ld:%02ld:%02ld<%ld:%02ld:%02ld,  1.%02ldit/s]", step, total,
            seconds / 3600, seconds / 60 % 60, seconds % 60, left / 3600, left / 60 % 60, left % 60,
            step * 7 % 100);
}

static int write_log(const char *path, double bytes)
{
    FILE *out = fopen(path, "wb");
    if (out == NULL) {
        fprintf(stderr, "bench_console_log: %s: %s\n", path, strerror(errno));
        return 1;
    }
    fputs("***** Running training *****\n  Num examples = 1,000,000\n", out);
    long total = (long)(bytes / 86);
    for (long step = 1; (double)ftell(out) < bytes; step++) {
        put_bar(out, step, total);
        if (step % LOG_EVERY == 0) {
            double t = (double)step / (double)total;
            fprintf(out,
                    "\r%60s\r{'loss': %.4f, 'grad_norm': %.16g, 'learning_rate': %.16g, "
                    "'epoch': %.2f}\n",
                    "", 2.5 * exp(-3 * t) + 0.4, 0.3 + 0.1 * sin((double)step), 2e-4 * (1 - t),
                    3 * t);
            put_bar(out, step, total);
        }
    }
    return fclose(out) == 0 ? 0 : 1;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int import_once(const char *path, struct import *import, struct error *err)
{
    const struct importer *importer = importer_by_id("console_log");
    const struct run run = {.key = "bench", .folder = "/", .name = "bench", .project = "/"};
    const struct source source = {
        .path = path, .importer = importer->id, .importer_version = importer->version};
    struct sink *sink;
    if (sink_open_null(&sink, err) != OK) {
        return 1;
    }
    *import = (struct import){.path = path, .run = &run, .sink = sink};
    import->arena = arena_open(ARENA_BATCH_BYTES);
    int rc = import->arena != NULL ? sink_begin(sink, &run, &source, err) : E_NOMEM;
    rc = rc == OK ? importer->run(import, err) : rc;
    rc = rc == OK ? sink_end(sink, import->read_to, import->state, err) : rc;
    arena_close(import->arena);
    sink_close(sink);
    return rc != OK;
}

int main(int argc, char **argv)
{
    struct source_stat stat;
    struct error err = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: bench_console_log MIB PATH\n");
        return 2;
    }
    if (source_stat_path(argv[2], &stat, &err) != OK) {
        if (write_log(argv[2], atof(argv[1]) * 1048576) != 0 ||
            source_stat_path(argv[2], &stat, &err) != OK) {
            return 1;
        }
    }
    double best = INFINITY;
    struct import import;
    for (int round = 0; round < 3; round++) {
        double begin = seconds_now();
        if (import_once(argv[2], &import, &err) != 0) {
            fprintf(stderr, "bench_console_log: %s\n", err.message);
            return 1;
        }
        double took = seconds_now() - begin;
        best = took < best ? took : best;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("console_log\t%.1f MB\t%.3f s\t%.0f MB/s\t%lld rows\tpeak %.1f MiB\n",
           (double)stat.size / 1e6, best, (double)stat.size / 1e6 / best, (long long)import.n_rows,
           (double)usage.ru_maxrss / 1024);
    return 0;
}
