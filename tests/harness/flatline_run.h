/* The whole program in a child process: command line in, exit status and both outputs back. For
 * the tests of hostile input: a child that crashes, hangs or eats all memory fails its test and no
 * other. */
#ifndef TESTS_HARNESS_FLATLINE_RUN_H
#define TESTS_HARNESS_FLATLINE_RUN_H

#include <stdbool.h>
#include <stddef.h>

struct flatline_run {
    int status;                 /* exit status; 128 + the signal that ended it */
    char *out, *err;            /* NUL-terminated */
    size_t n_out, n_err;
};

/* Called in the child before the program starts; NULL allowed. */
typedef void flatline_setup(void *ctx);

/* The words are separated by blanks; "@" stands for `folder`. The program gets a fixed environment
 * with a home of its own inside `home` (NULL: none, for --no-cache), at most 120 s of processor
 * time, and without sanitizers at most 1 GiB of memory. */
void flatline_run(const char *folder, const char *home, const char *words, flatline_setup *setup,
                  void *ctx, struct flatline_run *out);
void flatline_run_free(struct flatline_run *run);

/* Fails the test unless the program ended with 0, 1 or 2 by itself, both outputs are valid UTF-8
 * without anything that a terminal obeys, and an error (2) is explained on stderr. */
void flatline_run_is_sound(const struct flatline_run *run, const char *what);
/* check (text, json, md, tsv), report, import, curves, memory over the folder, all sound, the JSON
 * readable. Gives the JSON, which the caller frees. */
char *flatline_run_all(const char *folder);

#endif
