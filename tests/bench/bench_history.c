/* The history of one file: processor and wall time to the first row and to the last.
 *
 *     bench_history REPOSITORY PATH [--list]
 *
 * --list prints a commit a line, to be compared with `git log --follow --raw --no-abbrev --format=%H
 * -- PATH`. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/git/history.h"

static double processor_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* As git log --raw --no-abbrev has it, in one line. */
static void print_row(const struct history_row *row)
{
    static const char STATUS[] = "AMRCD";
    char hex[GIT_ID_HEX + 1], old[GIT_ID_HEX + 1], new[GIT_ID_HEX + 1];

    git_id_hex(&row->commit, hex);
    git_id_hex(&row->old_entry.id, old);
    git_id_hex(&row->entry.id, new);
    printf("%s :%06o %06o %s %s %c", hex, row->old_entry.mode, row->entry.mode, old, new,
           STATUS[row->status]);
    if (row->old_path)
        printf("%03d\t%s\t%s\n", row->similarity, row->old_path, row->path);
    else
        printf("\t%s\n", row->path);
}

static int run(const char *folder, const char *path, bool is_listing, struct error *err)
{
    int64_t began = clock_ticks_ns(), first = 0, n = 0;
    struct repository *repository = NULL;
    struct history *history = NULL;
    struct history_sum sum = {0};
    struct history_row row;
    int rc = repository_open(&repository, folder, NULL, err);

    if (rc == OK)
        rc = history_open(&history, repository, path, NULL, err);
    while (rc == OK && (rc = history_next(history, &row, err)) == 1) {
        if (n++ == 0)
            first = clock_ticks_ns() - began;
        if (is_listing)
            print_row(&row);
        rc = OK;
    }
    if (rc == OK)
        history_sum(history, &sum);
    history_close(history);
    repository_close(repository);
    if (rc == OK && !is_listing)
        printf("history\t%lld rows of %lld commits\tfirst %.1f ms\tall %.1f ms\tprocessor %.1f ms\n",
               (long long)n, (long long)sum.n_commits, (double)first / 1e6,
               (double)(clock_ticks_ns() - began) / 1e6, processor_ms());
    return rc;
}

int main(int argc, char **argv)
{
    struct error err;

    if (argc < 3) {
        fprintf(stderr, "usage: bench_history REPOSITORY PATH [--list]\n");
        return 2;
    }
    if (run(argv[1], argv[2], argc > 3 && strcmp(argv[3], "--list") == 0, &err) == OK)
        return 0;
    fprintf(stderr, "bench_history: %s\n", err.message);
    return 1;
}
