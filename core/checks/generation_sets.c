/* Sets of generations. See generation_sets.h. */
#include "core/checks/generation_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/eval_suites.h"

/* ---- Sets ---- */

static struct generation_set *set_of(struct check_ctx *ctx, struct generation_set *sets, size_t *n,
                                     const struct generation *g)
{
    const char *model = g->model ? g->model : "";

    for (size_t i = 0; i < *n; i++)
        if (strcmp(sets[i].model, model) == 0 && sets[i].step == g->step)
            return &sets[i];
    if (*n == MAX_GENERATION_SETS)
        return NULL;
    struct generation_set *set = &sets[*n];
    *set = (struct generation_set){.model = model,
                                   .step = g->step,
                                   .is_base = eval_model_is_base(ctx->facts, model)};
    size_t room = ctx->facts->n_generations < GENERATION_SET_ROWS ? ctx->facts->n_generations
                                                                   : GENERATION_SET_ROWS;
    set->items = arena_array(ctx->arena, room, sizeof *set->items);
    if (!set->items)
        return NULL;
    ++*n;
    return set;
}

size_t generation_sets_read(struct check_ctx *ctx, struct generation_set out[MAX_GENERATION_SETS])
{
    size_t n = 0;

    for (size_t i = 0; i < ctx->facts->n_generations; i++) {
        const struct generation *g = &ctx->facts->generations[i];

        if (!(g->flags & GENERATION_HAS_TEXT) && g->n_tokens < 0)
            continue;
        struct generation_set *set = set_of(ctx, out, &n, g);
        if (set && set->n < GENERATION_SET_ROWS)
            set->items[set->n++] = g;
    }
    return n;
}

const struct generation_set *generation_set_before(const struct generation_set *sets, size_t n,
                                                   const struct generation_set *own)
{
    const struct generation_set *first = NULL;

    for (size_t i = 0; i < n; i++)
        if (sets[i].is_base && &sets[i] != own && !own->is_base)
            return &sets[i];
    for (size_t i = 0; i < n; i++)
        if (strcmp(sets[i].model, own->model) == 0 && sets[i].step != NONE &&
            sets[i].step < own->step && (!first || sets[i].step < first->step))
            first = &sets[i];
    return first;
}

bool generation_set_is_last(const struct generation_set *sets, size_t n,
                            const struct generation_set *own)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(sets[i].model, own->model) == 0 && sets[i].step > own->step)
            return false;
    return true;
}

/* ---- By prompt ---- */

struct keyed {
    int64_t key;                /* of the prompt; rows of a file without one by their number */
    const struct generation *of;
};

static int by_key(const void *pa, const void *pb)
{
    const struct keyed *a = pa, *b = pb;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->of->source_id != b->of->source_id)
        return a->of->source_id < b->of->source_id ? -1 : 1;
    return (a->of->ord > b->of->ord) - (a->of->ord < b->of->ord);
}

static struct keyed *sorted(struct check_ctx *ctx, const struct generation_set *set, size_t *n)
{
    struct keyed *list = arena_array(ctx->arena, set->n + 1, sizeof *list);

    *n = 0;
    for (size_t i = 0; list && i < set->n; i++) {
        const struct generation *g = set->items[i];
        int64_t key = g->prompt_hash ? g->prompt_hash : g->row == NONE ? 0 : g->row + 1;
        if (key)
            list[(*n)++] = (struct keyed){key, g};
    }
    if (*n > 1)
        qsort(list, *n, sizeof *list, by_key);
    return list;
}

/* ---- Lengths ---- */

static bool all_have_tokens(const struct generation_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->items[i]->n_tokens < 0)
            return false;
    return set->n > 0;
}

/* Sum and count of the prompt that begins at `from`; one past its end. */
static size_t prompt_length(const struct keyed *list, size_t n, size_t from, bool in_tokens,
                            double *mean)
{
    size_t i = from;
    double sum = 0.0;

    for (; i < n && list[i].key == list[from].key; i++)
        sum += (double)(in_tokens ? list[i].of->n_tokens : list[i].of->n_words);
    *mean = sum / (double)(i - from);
    return i;
}

bool generation_lengths(struct check_ctx *ctx, const struct generation_set *before,
                        const struct generation_set *after, struct length_ratio *out)
{
    size_t n_a, n_b;
    struct keyed *a = sorted(ctx, before, &n_a), *b = sorted(ctx, after, &n_b);
    double sum_a = 0.0, sum_b = 0.0;

    *out = (struct length_ratio){.in_tokens = all_have_tokens(before) && all_have_tokens(after)};
    for (size_t i = 0, k = 0; a && b && i < n_a && k < n_b;) {
        double own_a, own_b;

        if (a[i].key != b[k].key) {
            *(a[i].key < b[k].key ? &i : &k) += 1;
            continue;
        }
        i = prompt_length(a, n_a, i, out->in_tokens, &own_a);
        k = prompt_length(b, n_b, k, out->in_tokens, &own_b);
        sum_a += own_a;
        sum_b += own_b;
        out->n++;
    }
    if (out->n == 0 || sum_a <= 0.0)
        return false;
    out->before = sum_a / (double)out->n;
    out->after = sum_b / (double)out->n;
    out->ratio = out->after / out->before;
    return true;
}

/* ---- All alike ---- */

static int compare_numbers(const void *pa, const void *pb)
{
    const int64_t *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

/* The value that stands most often in a sorted list; 0 is none. */
static size_t most_often(const int64_t *sorted_list, size_t n, int64_t *value)
{
    size_t best = 0;

    for (size_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && sorted_list[k] == sorted_list[i];)
            k++;
        if (sorted_list[i] != 0 && k - i > best) {
            best = k - i;
            *value = sorted_list[i];
        }
    }
    return best;
}

struct alike generation_alike(struct check_ctx *ctx, const struct generation_set *set)
{
    struct alike out = {0};
    size_t n;
    struct keyed *list = sorted(ctx, set, &n);
    int64_t *same = arena_array(ctx->arena, n + 1, sizeof *same),
            *opening = arena_array(ctx->arena, n + 1, sizeof *opening), best = 0, first = 0;

    if (!list || !same || !opening)
        return out;
    for (size_t i = 0; i < n; i++) {
        /* one output a prompt; a word or two may well be right for many */
        if ((i > 0 && list[i].key == list[i - 1].key) || !list[i].of->output_hash ||
            list[i].of->flags & (GENERATION_IS_SHORT | GENERATION_IS_EMPTY))
            continue;
        same[out.n_prompts] = list[i].of->output_hash;
        opening[out.n_prompts++] = list[i].of->opening_hash;
    }
    qsort(same, out.n_prompts, sizeof *same, compare_numbers);
    qsort(opening, out.n_prompts, sizeof *opening, compare_numbers);
    out.n_same = most_often(same, out.n_prompts, &best);
    out.n_opening = most_often(opening, out.n_prompts, &first);
    for (size_t i = n; i-- > 0;) {
        if (list[i].of->output_hash == best)
            out.same = list[i].of;
        if (first && list[i].of->opening_hash == first)
            out.opening = list[i].of;
    }
    return out;
}
