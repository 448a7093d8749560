/* Compiles chat templates and renders a request with each: for bench and profiles.
 *   bench_render REQUESTS MILLISECONDS OUT_FOLDER|- TEMPLATE...
 * REQUESTS: a JSON object a line with the arguments of apply_chat_template and special_tokens; a
 * template renders the first one that it takes. One line each, as tabs: template, which request (from
 * 0, -1: none), processor microseconds to compile and to render, the least of several rounds.
 * OUT_FOLDER: the texts by number, to be compared with what another program renders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/read/json.h"
#include "core/read/source.h"
#include "core/text/chat_template.h"

#define MAX_REQUESTS 8
#define ROUNDS       3

struct requests {
    const struct json *trees[MAX_REQUESTS];
    size_t n;
};

struct bench {
    struct requests requests;
    struct arena *arena; /* of one render */
    struct jinja_output output;
    double budget; /* seconds of a round */
    const char *out_folder;
    int64_t now; /* of templates that print the date */
};

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int render(struct bench *bench, const struct chat_template *chat_template,
                  const struct json *tree)
{
    const struct json *prompt = json_get(tree, "add_generation_prompt");
    const struct chat_request request = {
        .messages = json_get(tree, "messages"),
        .special_tokens = json_get(tree, "special_tokens"),
        .add_generation_prompt = prompt && prompt->type == JSON_TRUE,
    };
    const struct jinja_settings settings = {.now = bench->now};
    struct jinja_failure failure;

    arena_reset(bench->arena);
    return chat_template_render(chat_template, &request, &settings, bench->arena, &bench->output,
                                &failure, NULL);
}

static double render_time(struct bench *bench, const struct chat_template *chat_template,
                          const struct json *tree)
{
    double least = 1e9;

    for (int round = 0; round < ROUNDS; round++) {
        double begun = seconds(), spent = 0;
        size_t n = 0;

        while (spent < bench->budget) {
            for (int i = 0; i < 20; i++)
                if (render(bench, chat_template, tree) != OK)
                    return 0;
            n += 20;
            spent = seconds() - begun;
        }
        least = spent / (double)n < least ? spent / (double)n : least;
    }
    return least;
}

static double compile_time(struct str text, struct chat_template **out)
{
    double least = 1e9;

    *out = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        struct jinja_failure failure;
        double begun = seconds();

        chat_template_close(*out);
        *out = NULL;
        if (chat_template_open(out, text, &failure, NULL) != OK) {
            *out = NULL;
            return 0;
        }
        double spent = seconds() - begun;
        least = spent < least ? spent : least;
    }
    return least;
}

static int keep_text(const struct bench *bench, int number, struct error *err)
{
    char path[4096];
    FILE *file;

    if (strcmp(bench->out_folder, "-") == 0)
        return OK;
    snprintf(path, sizeof path, "%s/%d", bench->out_folder, number);
    file = fopen(path, "wb");
    size_t written = file ? fwrite(bench->output.text.p, 1, bench->output.text.n, file) : 0;
    if (!file || fclose(file) != 0 || written != bench->output.text.n)
        return error_set(err, E_IO, "writing %s", path);
    return OK;
}

static int one(struct bench *bench, const char *path, int number, struct error *err)
{
    struct chat_template *chat_template = NULL;
    char *text = NULL;
    size_t n = 0;
    int chosen = -1, rc = source_slurp(path, CHAT_TEMPLATE_BYTES, &text, &n, err);

    if (rc != OK)
        return rc;
    double compiling = compile_time(str_from(text, n), &chat_template), rendering = 0;
    for (size_t i = 0; chat_template && chosen < 0 && i < bench->requests.n; i++)
        if (render(bench, chat_template, bench->requests.trees[i]) == OK)
            chosen = (int)i;
    if (chosen >= 0) {
        rc = keep_text(bench, number, err);
        rendering = render_time(bench, chat_template, bench->requests.trees[chosen]);
    }
    printf("%s\t%d\t%.1f\t%.3f\n", path, chosen, compiling * 1e6, rendering * 1e6);
    chat_template_close(chat_template);
    free(text);
    return rc;
}

static int read_requests(struct requests *out, struct str text, struct arena *arena,
                         struct error *err)
{
    struct str line;
    int rc = OK;

    while (rc == OK && out->n < MAX_REQUESTS && str_split(&text, '\n', &line))
        if (line.n)
            rc = json_parse_exact(line, arena, &out->trees[out->n++], err);
    return rc;
}

static int run(int n, char **args, struct error *err)
{
    struct bench bench = {.arena = arena_open(ARENA_RENDER_BYTES),
                          .budget = strtod(args[2], NULL) / 1e3,
                          .out_folder = args[3],
                          .now = (int64_t)time(NULL)};
    struct arena *trees = arena_open(ARENA_RENDER_BYTES);
    char *text = NULL;
    size_t n_bytes = 0;
    int rc = bench.arena && trees ? source_slurp(args[1], (size_t)64 << 20, &text, &n_bytes, err)
                                  : error_set(err, E_NOMEM, "no memory");

    if (rc == OK)
        rc = read_requests(&bench.requests, str_from(text, n_bytes), trees, err);
    for (int i = 4; rc == OK && i < n; i++)
        rc = one(&bench, args[i], i - 4, err);
    jinja_output_free(&bench.output);
    arena_close(bench.arena);
    arena_close(trees);
    free(text);
    return rc;
}

int main(int n, char **args)
{
    struct error err;

    if (n < 5) {
        fprintf(stderr, "usage: bench_render REQUESTS MILLISECONDS OUT_FOLDER|- TEMPLATE...\n");
        return 2;
    }
    if (run(n, args, &err) == OK)
        return 0;

    char message[2048];

    error_format(&err, message, sizeof message);
    fprintf(stderr, "%s\n", message);
    return 1;
}
