/* Two shell commands, alternately, so that a busy machine slows both:
 *   bench_versus ROUNDS OURS [THEIRS]
 * Prints for each the least processor time in seconds (user and system) and the greatest resident
 * memory in MiB: "0.24 14.1 0.37 9.8". Output goes to a file, since some tools stop early when
 * they write to /dev/null. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct cost {
    double seconds, mib;
};

static void run_child(const char *command, int out)
{
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* Exit status 1 is an answer (grep without a hit, check with a finding), above it is none. */
static int measure(const char *command, struct cost *cost)
{
    FILE *out = tmpfile();
    struct rusage usage;
    int status;

    if (!out)
        return -1;
    pid_t child = fork();
    if (child == 0)
        run_child(command, fileno(out));
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        return -1;
    fclose(out);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
        fprintf(stderr, "bench_versus: %s: status %d\n", command, status);
        return -1;
    }
    double seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    cost->seconds = fmin(cost->seconds, seconds);
    cost->mib = fmax(cost->mib, (double)usage.ru_maxrss / 1024);
    return 0;
}

int main(int argc, char **argv)
{
    struct cost costs[2] = {{INFINITY, 0}, {INFINITY, 0}};
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0, n = argc - 2;

    if (rounds < 1 || n < 1 || n > 2) {
        fprintf(stderr, "usage: bench_versus ROUNDS OURS [THEIRS]\n");
        return 2;
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < n; i++)
            if (measure(argv[2 + i], &costs[i]) != 0)
                return 1;
    for (int i = 0; i < n; i++)
        printf("%s%.4f %.1f", i ? " " : "", costs[i].seconds, costs[i].mib);
    printf("\n");
    return 0;
}
