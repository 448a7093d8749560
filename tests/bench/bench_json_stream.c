/* How fast a long JSON document is read: megabytes and rows a second, best of five.
 *   bench_json_stream FILE [ARRAY_KEY]      (the key is log_history when not given, - for none) */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/read/json.h"
#include "core/read/source.h"

struct total {
    size_t n_rows, n_numbers;
    double sum;
};

static int count_row(void *ctx, const struct json_row *row, struct error *err)
{
    struct total *total = ctx;

    (void)err;
    total->n_rows++;
    for (size_t i = 0; i < row->n; i++)
        if (row->fields[i].is_number) {
            total->n_numbers++;
            total->sum += row->fields[i].number;
        }
    return OK;
}

static int read_once(const char *path, const char *key, struct total *total, double *seconds)
{
    struct json_stream handler = {.array_key = key, .row = count_row, .ctx = total};
    struct source_file *file;
    struct error err;
    char message[1600];
    bool cut;
    int64_t start = clock_ticks_ns();
    int rc = source_open(&file, path, &err);

    if (rc == OK) {
        rc = json_stream(file, &handler, &cut, &err);
        source_close(file);
    }
    *seconds = (double)(clock_ticks_ns() - start) / 1e9;
    if (rc != OK) {
        error_format(&err, message, sizeof message);
        fprintf(stderr, "bench_json_stream: %s\n", message);
    }
    return rc;
}

int main(int argc, char **argv)
{
    const char *key = argc > 2 ? argv[2] : "log_history";
    struct source_stat stat;
    struct error err;
    double best = 1e9;
    struct total total = {0, 0, 0};

    if (argc < 2 || source_stat_path(argv[1], &stat, &err) != OK) {
        fprintf(stderr, "usage: bench_json_stream FILE [ARRAY_KEY]\n");
        return 2;
    }
    for (int i = 0; i < 5; i++) {
        double seconds;

        total = (struct total){0, 0, 0};
        if (read_once(argv[1], strcmp(key, "-") == 0 ? NULL : key, &total, &seconds) != OK)
            return 1;
        best = seconds < best ? seconds : best;
    }
    printf("%.0f MB/s, %.3f s, %zu rows, %zu numbers (sum %.17g)\n", (double)stat.size / 1e6 / best,
           best, total.n_rows, total.n_numbers, total.sum);
    return 0;
}
