/* Known-different prompts. See healthcheck.h. */
#include "core/exports/healthcheck.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/exports/healthcheck_parts.h"
#include "core/facts/model_outputs.h"

enum { PREFIX_WORDS = 8 };

static const double ALIKE = 0.9;    /* outputs that alike tell nothing of the adapter */

/* ---- From outputs of both models ---- */

static int by_difference(const void *a, const void *b)
{
    const struct output_pair *const *left = a, *const *right = b;

    if ((*left)->jaccard != (*right)->jaccard)
        return (*left)->jaccard < (*right)->jaccard ? -1 : 1;
    return ((*left)->line > (*right)->line) - ((*left)->line < (*right)->line);
}

static struct str as_user_message(struct str prompt, struct arena *arena)
{
    struct buf text;

    buf_init(&text, (size_t)16 << 20);
    buf_puts(&text, "[{\"role\": \"user\", \"content\": ");
    json_write_string(&text, prompt);
    buf_puts(&text, "}]");
    struct str copy = arena_str(arena, buf_view(&text));
    buf_free(&text);
    return copy;
}

static void take_pair(struct health *health, const struct output_pair *pair)
{
    struct health_prompt *out = &health->prompts[health->n++];

    *out = (struct health_prompt){
        .row = pair->b->row,
        .messages = as_user_message(pair->prompt, health->arena),
        .expect_prefix = health_first_words(pair->b_text, PREFIX_WORDS),
        .base_output = pair->a_text,
        .why = arena_printf(health->arena,
                            "the outputs of both models share %.0f %% of their words",
                            100.0 * pair->jaccard),
    };
}

/* Of the first comparison with the base that has such prompts. */
static void choose_pairs(struct health *health)
{
    const struct model_outputs *outputs = facts_model_outputs(health->facts);

    for (size_t i = 0; outputs && i < outputs->n && health->n == 0; i++) {
        const struct output_comparison *item = &outputs->items[i];
        const struct output_pair **list = arena_array(health->arena, item->n + 1, sizeof *list);
        size_t n = 0;

        for (size_t k = 0; item->a_is_base && list && k < item->n; k++)
            if (item->pairs[k].prompt.p && item->pairs[k].b_text.p && !item->pairs[k].is_short &&
                item->pairs[k].jaccard < ALIKE)
                list[n++] = &item->pairs[k];
        if (n)
            qsort(list, n, sizeof *list, by_difference);
        for (size_t k = 0; k < n && health->n < HEALTHCHECK_PROMPTS; k++)
            take_pair(health, list[k]);
    }
    health->is_verified = health->n > 0;
}

/* ---- Files ---- */

static void put_member(struct buf *out, const char *name, struct str text)
{
    buf_printf(out, ", \"%s\": ", name);
    if (text.p)
        json_write_string(out, text);
    else
        buf_puts(out, "null");
}

static int write_prompts(const struct health *health, const struct made_folder *folder,
                         struct error *err)
{
    struct buf text;

    buf_init(&text, (size_t)64 << 20);
    for (size_t i = 0; i < health->n; i++) {
        const struct health_prompt *prompt = &health->prompts[i];

        buf_printf(&text, "{\"id\": %zu, \"messages\": ", i + 1);
        buf_str(&text, prompt->messages);
        put_member(&text, "rendered", prompt->rendered);
        put_member(&text, "expect_prefix", prompt->expect_prefix);
        put_member(&text, "base_output", prompt->base_output);
        put_member(&text, "why", str_of(prompt->why));
        buf_puts(&text, "}\n");
    }
    int rc = made_file_write(folder, "prompts.jsonl", &text,
                             arena_printf(health->arena, "%zu prompts", health->n), err);
    buf_free(&text);
    return rc;
}

static int write_readme(const struct health *health, const struct made_folder *folder,
                        struct error *err)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    buf_printf(&text,
               "# Is the adapter loaded?\n\n"
               "`prompts.jsonl` has %zu prompts; `healthcheck.sh` asks them of the server and looks whether "
               "the answers are those of the tuned model.\n\n"
               "    sh healthcheck.sh http://localhost:8000 MODEL [BASE_MODEL]\n\n"
               "MODEL is the name under which the adapter is served, BASE_MODEL the name of the base on the "
               "same server. It needs curl and prints a line a prompt. Exit status: 0 at least one answer "
               "begins as expected or differs from the base's, 1 all are the base's (the adapter is not "
               "loaded), 2 no answer, or nothing to compare with.\n\n"
               "The answers are added to `healthcheck.out.jsonl`; put it beside the run and look at it with "
               "`flatline check RUN healthcheck.out.jsonl`.\n",
               health->n);
    if (!health->is_verified)
        buf_puts(&text, "\nNot verified: the prompts are training rows whose answers a base model would "
                        "hardly give. Run it once with BASE_MODEL to see that they tell the two apart.\n");
    int rc = made_file_write(folder, "README.md", &text, "what to do", err);
    buf_free(&text);
    return rc;
}

int make_healthcheck(const struct run_facts *facts, const struct made_folder *folder,
                     struct error *err)
{
    struct health health = {.facts = facts, .arena = arena_open(ARENA_CHECK_BYTES)};
    int rc = health.arena ? OK : error_set(err, E_NOMEM, "choosing prompts");

    if (rc == OK)
        choose_pairs(&health);
    if (rc == OK && health.n == 0)
        rc = health_choose_rows(&health, err);
    if (rc == OK && health.n == 0)
        rc = error_set(err, E_NOTFOUND,
                       "no prompts that tell the models apart: import generations of both models "
                       "(generations.jsonl), or training rows with answers of 8 to 40 tokens");
    if (rc == OK && arena_failed(health.arena))
        rc = error_set(err, E_NOMEM, "choosing prompts");
    if (rc == OK)
        rc = made_folder_open(folder, err);
    if (rc == OK)
        rc = write_prompts(&health, folder, err);
    if (rc == OK)
        rc = health_write_script(&health, folder, err);
    if (rc == OK)
        rc = write_readme(&health, folder, err);
    arena_close(health.arena);
    return rc;
}
