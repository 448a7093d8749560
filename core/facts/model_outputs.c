/* Outputs of two models, prompt by prompt. See model_outputs.h. */
#include "core/facts/model_outputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/eval_suites.h"
#include "core/facts/facts_cache.h"
#include "core/facts/lineage.h"
#include "core/read/generation_row.h"
#include "core/read/jsonl.h"

enum {
    MAX_OUTPUTS = 50000,        /* of all files; the rest is left out */
    MAX_MODELS = 32,
    MAX_COMPARISONS = 64
};
#define MAX_FILE_BYTES ((int64_t)64 << 20) /* read again */

/* One generation, with its text where that could be read again. */
struct output {
    const struct generation *of;
    size_t model;               /* index of the models */
    int64_t key;                /* equal for the outputs of one prompt; 0: by position */
    int64_t position;           /* among the outputs of its model in its file */
    struct str prompt, text;
    int64_t line;
    bool is_short, has_words;   /* has_words: is_short is known */
};

struct model {
    const char *name;
    int64_t step;
    bool is_base;
};

struct reading {
    const struct run_facts *facts;
    struct arena *arena;
    struct output *outputs;
    size_t n, capacity;         /* capacity: as many as the store has, MAX_OUTPUTS at most */
    struct model models[MAX_MODELS];
    size_t n_models;
    int64_t source_id;          /* of the file being read again */
    int64_t ord;
    size_t first;               /* of its outputs */
};

/* ---- Which models ---- */

static bool is_base(const struct run_facts *facts, const char *name)
{
    const char *base = facts_text(facts, "base_model_name_or_path");

    return eval_model_is_base(facts, name) ||
           (base && *name && base_names_agree(name, base) == 1);
}

static size_t model_of(struct reading *r, const struct generation *g)
{
    const char *name = g->model ? g->model : "";

    for (size_t i = 0; i < r->n_models; i++)
        if (strcmp(r->models[i].name, name) == 0 && r->models[i].step == g->step)
            return i;
    if (r->n_models == MAX_MODELS)
        return MAX_MODELS;
    r->models[r->n_models] =
        (struct model){.name = name, .step = g->step, .is_base = is_base(r->facts, name)};
    return r->n_models++;
}

static void take_generations(struct reading *r)
{
    const struct run_facts *facts = r->facts;
    int64_t positions[MAX_MODELS] = {0}, source = 0;

    for (size_t i = 0; i < facts->n_generations && r->n < r->capacity; i++) {
        const struct generation *g = &facts->generations[i];
        size_t model = model_of(r, g);

        if (g->source_id != source)
            memset(positions, 0, sizeof positions);
        source = g->source_id;
        if (model == MAX_MODELS || !(g->flags & GENERATION_HAS_TEXT))
            continue;
        r->outputs[r->n++] = (struct output){
            .of = g,
            .model = model,
            .key = g->prompt_hash,
            .position = positions[model]++,
            .line = NONE,
        };
    }
}

/* ---- The texts ---- */

/* Pipelines give the prompt back before the output. */
static struct str without_prompt(struct str text, struct str prompt)
{
    return prompt.n && text.n > prompt.n && memcmp(text.p, prompt.p, prompt.n) == 0
               ? str_trim(str_skip(text, prompt.n))
               : text;
}

static void take_text(struct reading *r, struct output *output, struct str text, struct str prompt)
{
    output->prompt = arena_str(r->arena, str_trim(prompt));
    output->text = without_prompt(output_normal(arena_str(r->arena, text), r->arena), output->prompt);
    output->is_short = output_words(output->text) < OUTPUT_FEWEST_WORDS;
    output->has_words = true;
}

static struct output *output_at(struct reading *r, int64_t ord)
{
    for (; r->first < r->n; r->first++) { /* both are in the order of the file */
        struct output *output = &r->outputs[r->first];

        if (output->of->source_id == r->source_id && output->of->ord >= ord)
            return output->of->ord == ord ? output : NULL;
    }
    return NULL;
}

static int on_row(void *ctx, const struct json_row *line, struct error *err)
{
    struct reading *r = ctx;
    struct row_output outputs[GENERATION_ROW_OUTPUTS];

    (void)err;
    if (!json_is(line->tree, JSON_OBJECT))
        return OK;
    size_t n = generation_row_outputs(line->tree, outputs);
    for (size_t i = 0; i < n; i++) {
        struct output *output = output_at(r, r->ord++);

        if (!output || !outputs[i].text)
            continue;
        output->line = line->line;
        take_text(r, output, outputs[i].text->text, generation_row_prompt(line->tree));
    }
    return OK;
}

static int skip_bad(void *ctx, const struct source_line *line, bool is_last, const struct error *why,
                    struct error *err)
{
    (void)ctx, (void)line, (void)is_last, (void)why, (void)err;
    return OK;
}

static void read_again(struct reading *r, const struct source *source)
{
    const struct jsonl_handler handler = {
        .row = on_row, .bad = skip_bad, .ctx = r, .always_tree = true};
    struct source_file *file = NULL;
    struct error why = {0};

    r->source_id = source->id;
    r->ord = 0;
    r->first = 0;
    if (source_open(&file, source->path, &why) == OK && source_size(file) == source->size &&
        source->size <= MAX_FILE_BYTES)
        (void)!jsonl_read(file, &handler, &why); /* what came is what there is */
    source_close(file);
}

static void read_texts(struct reading *r)
{
    for (size_t i = 0; r->n > 0 && i < r->facts->n_sources; i++)
        if (strcmp(r->facts->sources[i].importer, "generations") == 0)
            read_again(r, &r->facts->sources[i]);
}

/* ---- Pairs ---- */

static int by_model_and_key(const void *pa, const void *pb)
{
    const struct output *a = pa, *b = pb;

    if (a->model != b->model)
        return a->model < b->model ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->of->row != b->of->row)
        return a->of->row < b->of->row ? -1 : 1;
    return (a->position > b->position) - (a->position < b->position);
}

/* The same question: by its text, by the number of its row, else by its place. */
static int compare_place(const struct output *a, const struct output *b)
{
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->of->row != b->of->row && (a->key == 0 || (a->of->row != NONE && b->of->row != NONE)))
        return a->of->row < b->of->row ? -1 : 1;
    if (a->key != 0 || a->of->row != NONE)
        return 0;
    return (a->position > b->position) - (a->position < b->position);
}

static size_t first_of(const struct reading *r, size_t model)
{
    size_t i = 0;

    while (i < r->n && r->outputs[i].model != model)
        i++;
    return i;
}

static struct output_pair pair_of(struct reading *r, const struct output *a, const struct output *b)
{
    struct output_pair pair = {
        .a = a->of,
        .b = b->of,
        .prompt = b->prompt,
        .a_text = a->text,
        .b_text = b->text,
        .is_identical = a->of->output_hash == b->of->output_hash,
        .is_short = b->has_words ? b->is_short : (b->of->flags & GENERATION_IS_SHORT) != 0,
        .jaccard = NAN,
        .source_id = b->of->source_id,
        .line = b->line,
    };

    if (a->has_words && b->has_words) {
        pair.is_identical = str_eq(a->text, b->text);
        pair.jaccard = pair.is_identical ? 1.0 : output_jaccard(a->text, b->text, r->arena);
        pair.differs = !pair.is_identical && pair.jaccard < OUTPUT_ALIKE;
    } else {
        pair.differs = !pair.is_identical && !pair.is_short && !(a->of->flags & GENERATION_IS_SHORT);
    }
    return pair;
}

static void count(struct output_comparison *out)
{
    out->most_different = -1;
    for (size_t i = 0; i < out->n; i++) {
        const struct output_pair *pair = &out->pairs[i];

        out->n_long += !pair->is_short;
        out->n_identical += pair->is_identical;
        out->n_identical_long += pair->is_identical && !pair->is_short;
        out->n_differ += pair->differs;
        if (!pair->is_short && !isnan(pair->jaccard) &&
            (out->most_different < 0 ||
             pair->jaccard < out->pairs[out->most_different].jaccard))
            out->most_different = (ptrdiff_t)i;
    }
}

static int by_file(const void *pa, const void *pb)
{
    const struct output_pair *a = pa, *b = pb;

    if (a->source_id != b->source_id)
        return a->source_id < b->source_id ? -1 : 1;
    return (a->b->ord > b->b->ord) - (a->b->ord < b->b->ord);
}

/* Both lists are sorted; of several outputs of one prompt the first ones are paired. */
static bool compare_models(struct reading *r, size_t a, size_t b, struct output_comparison *out)
{
    size_t i = first_of(r, a), k = first_of(r, b), n = 0;
    struct output_pair *pairs = arena_array(r->arena, r->n + 1, sizeof *pairs);

    while (pairs && i < r->n && k < r->n && r->outputs[i].model == a && r->outputs[k].model == b) {
        int order = compare_place(&r->outputs[i], &r->outputs[k]);

        if (order == 0)
            pairs[n++] = pair_of(r, &r->outputs[i], &r->outputs[k]);
        i += order <= 0;
        k += order >= 0;
    }
    if (n == 0)
        return false;
    qsort(pairs, n, sizeof *pairs, by_file);
    *out = (struct output_comparison){.a = r->models[a].name,
                                      .b = r->models[b].name,
                                      .b_step = r->models[b].step,
                                      .a_is_base = r->models[a].is_base,
                                      .pairs = pairs,
                                      .n = n};
    count(out);
    return true;
}

static bool is_health_check(const struct reading *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (strncmp(facts_file_name(r->facts, r->outputs[i].of->source_id), "healthcheck", 11) != 0)
            return false;
    return r->n > 0;
}

static void compare_all(struct reading *r, struct model_outputs *out)
{
    struct output_comparison *items = arena_array(r->arena, MAX_COMPARISONS, sizeof *items);
    bool has_base = false;

    for (size_t a = 0; a < r->n_models; a++)
        has_base |= r->models[a].is_base;
    for (int pass = 0; items && pass < 2; pass++) /* those with the base first */
        for (size_t a = 0; a < r->n_models; a++)
            for (size_t b = 0; b < r->n_models && out->n < MAX_COMPARISONS; b++) {
                bool with_base = r->models[a].is_base;

                if (a == b || r->models[b].is_base || with_base != (pass == 0) ||
                    (!with_base && b < a) || !compare_models(r, a, b, &items[out->n]))
                    continue;
                /* its script asks a model and its base, under whatever names they are served */
                items[out->n].is_assumed = !has_base && r->n_models == 2 && is_health_check(r);
                out->n++;
            }
    out->items = items;
}

static struct model_outputs *make(const struct run_facts *facts)
{
    struct arena *arena = facts->cache->arena;
    struct model_outputs *out = arena_alloc(arena, sizeof *out);
    struct reading *r = arena_alloc(arena, sizeof *r);

    if (!out || !r)
        return NULL;
    r->facts = facts;
    r->arena = arena;
    r->capacity = facts->n_generations < MAX_OUTPUTS ? facts->n_generations : MAX_OUTPUTS;
    r->outputs = arena_array(arena, r->capacity + 1, sizeof *r->outputs);
    if (!r->outputs)
        return NULL;
    take_generations(r);
    read_texts(r);
    qsort(r->outputs, r->n, sizeof *r->outputs, by_model_and_key);
    compare_all(r, out);
    return out;
}

const struct model_outputs *facts_model_outputs(const struct run_facts *facts)
{
    struct facts_cache *cache = facts->cache;

    if (!cache->outputs)
        cache->outputs = make(facts);
    return cache->outputs;
}

const struct output_comparison *outputs_of(const struct model_outputs *outputs, const char *a,
                                           const char *b)
{
    for (size_t i = 0; outputs && i < outputs->n; i++) {
        const struct output_comparison *c = &outputs->items[i];

        if ((strcmp(c->a, a) == 0 && strcmp(c->b, b) == 0) ||
            (strcmp(c->a, b) == 0 && strcmp(c->b, a) == 0))
            return c;
    }
    return NULL;
}
