/* Prints the texts that the patterns of a console log are looked for by, one a line: what a plain
 * search (grep -F -f) needs to find the same candidates. Per pattern the longest text, or all of
 * them where any may occur. */
#include <stdio.h>

#include "importers/run/console_patterns.h"

int main(void)
{
    struct console_patterns *patterns;
    struct error err;

    if (console_patterns_open(&patterns, &err) != OK) {
        fprintf(stderr, "bench_literals: %s\n", err.message);
        return 1;
    }
    for (size_t i = 0; i < patterns->n; i++) {
        const struct console_pattern *pattern = &patterns->all[i];

        for (size_t k = 0; pattern->use != CONSOLE_SKIP && k < pattern->n_literals; k++)
            printf("%.*s\n", (int)pattern->literals[k].n, pattern->literals[k].p);
    }
    console_patterns_close(patterns);
    return 0;
}
