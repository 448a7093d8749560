/* Loads a tokenizer and encodes a text in chunks of 40 lines: for bench and profiles.
 *   bench_tokenizer TOKENIZER CACHE_FOLDER|- TEXT [IDS]
 * Prints load time in processor ms, the least of three encodings in processor seconds, bytes and tokens.
 * IDS: the ids as 32-bit numbers, to be compared with what another program writes. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/read/source.h"
#include "core/text/tokenizer/tokenizer.h"

#define CHUNK_LINES 40

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct str take_chunk(struct str *rest)
{
    const char *end = rest->p + rest->n, *p = rest->p;

    for (int i = 0; i < CHUNK_LINES && p < end; i++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));

        p = newline ? newline + 1 : end;
    }

    struct str chunk = str_from(rest->p, (size_t)(p - rest->p));

    *rest = str_skip(*rest, chunk.n);
    if (rest->n)
        chunk.n--;              /* the newline between chunks belongs to none */
    return chunk;
}

static int encode(const struct tokenizer *tokenizer, struct str text, FILE *ids, size_t *n,
                  struct error *err)
{
    struct tokenizer_scratch *scratch = NULL;
    struct tokens tokens = {0};
    int rc = tokenizer_scratch_open(&scratch, err);

    *n = 0;
    while (rc == OK && text.n) {
        struct str chunk = take_chunk(&text);

        rc = tokenizer_encode(tokenizer, scratch, chunk, false, &tokens, err);
        *n += tokens.n;
        if (rc == OK && ids && fwrite(tokens.ids, sizeof *tokens.ids, tokens.n, ids) != tokens.n)
            rc = error_set(err, E_IO, "writing the ids");
    }
    tokens_free(&tokens);
    tokenizer_scratch_close(scratch);
    return rc;
}

static int run(char **args, struct error *err)
{
    struct tokenizer *tokenizer = NULL;
    char *text = NULL;
    size_t n_bytes = 0, n_tokens = 0;
    const char *cache = strcmp(args[2], "-") == 0 ? NULL : args[2];
    double least = 1e9, loading = seconds(CLOCK_PROCESS_CPUTIME_ID);
    int rc = tokenizer_load(&tokenizer, args[1], cache, err);

    loading = seconds(CLOCK_PROCESS_CPUTIME_ID) - loading;
    if (rc == OK)
        rc = source_slurp(args[3], (size_t)1 << 30, &text, &n_bytes, err);
    for (int i = 0; rc == OK && i < 3; i++) {
        double begun = seconds(CLOCK_PROCESS_CPUTIME_ID);

        rc = encode(tokenizer, str_from(text, n_bytes), NULL, &n_tokens, err);
        begun = seconds(CLOCK_PROCESS_CPUTIME_ID) - begun;
        least = begun < least ? begun : least;
    }
    if (rc == OK && args[4]) {
        FILE *ids = fopen(args[4], "wb");

        rc = ids ? encode(tokenizer, str_from(text, n_bytes), ids, &n_tokens, err)
                 : error_set(err, E_IO, "open: %s", args[4]);
        if (ids && fclose(ids) != 0 && rc == OK)
            rc = error_set(err, E_IO, "writing the ids");
    }
    if (rc == OK)
        printf("%.1f %.3f %zu %zu\n", loading * 1e3, least, n_bytes, n_tokens);
    free(text);
    tokenizer_close(tokenizer);
    return rc;
}

int main(int n, char **args)
{
    struct error err;

    if (n < 4 || n > 5) {
        fprintf(stderr, "usage: bench_tokenizer TOKENIZER CACHE_FOLDER|- TEXT [IDS]\n");
        return 2;
    }
    if (run(args, &err) == OK)
        return 0;

    char message[2048];

    error_format(&err, message, sizeof message);
    fprintf(stderr, "%s\n", message);
    return 1;
}
