/* Runs with other seeds as one result. See eval_pool.h. */
#include "core/facts/eval_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/number.h"
#include "core/facts/facts_cache.h"

/* ---- What was decoded with ---- */

static struct str key_of(struct str token)
{
    ptrdiff_t at = str_find(token, "=");

    return at < 0 ? str_of("") : str_first(token, (size_t)at);
}

static bool find_token(const char *frozen, struct str key, struct str *out)
{
    struct str rest = str_of(frozen ? frozen : "");

    while (str_split(&rest, ' ', out))
        if (out->n > 0 && str_eq(key_of(*out), key))
            return true;
    return false;
}

double eval_frozen_number(const char *frozen, const char *key)
{
    struct str token;
    double number;

    if (!find_token(frozen, str_of(key), &token))
        return NAN;
    return number_parse(str_skip(token, strlen(key) + 1), &number) ? number : NAN;
}

/* What a samples file without its results file cannot state. */
static bool may_be_left_out(struct str key)
{
    return str_is(key, "shots") || str_is(key, "version") || str_is(key, "temperature") ||
           str_is(key, "seed") || str_is(key, "scorer");
}

/* The first of a's tokens that b has otherwise, or not at all. */
static const char *first_other(const char *a, const char *b, bool turned, struct arena *arena)
{
    struct str rest = str_of(a), token, other;

    while (str_split(&rest, ' ', &token)) {
        struct str key = key_of(token);
        bool is_there = token.n == 0 || find_token(b, key, &other);

        if (token.n == 0 || (!is_there && may_be_left_out(key)) || (is_there && str_eq(token, other)))
            continue;
        if (key.n == 0)
            return "the hash of the suite";
        if (!is_there)
            return arena_printf(arena, "%.*s is stated of one alone", (int)key.n, key.p);
        struct str first = turned ? other : token, second = turned ? token : other;
        return arena_printf(arena, "%.*s and %.*s", (int)first.n, first.p, (int)second.n, second.p);
    }
    return NULL;
}

const char *eval_frozen_differs(const char *a, const char *b, struct arena *arena)
{
    if (!a || !b || strcmp(a, b) == 0)
        return NULL;
    const char *what = first_other(a, b, false, arena);
    return what ? what : first_other(b, a, true, arena);
}

/* Equal but for the seed, and the seeds are two. */
static bool differ_in_seed(const char *a, const char *b)
{
    struct str ra = str_of(a ? a : ""), rb = str_of(b ? b : ""), x, y, key;
    bool has_other_seed = false;

    for (;;) {
        bool more_a = str_split(&ra, ' ', &x), more_b = str_split(&rb, ' ', &y);

        if (!more_a || !more_b)
            return more_a == more_b && has_other_seed;
        if (str_eq(x, y))
            continue;
        key = key_of(x);
        if (!str_is(key, "seed") || !str_eq(key, key_of(y)))
            return false;
        has_other_seed = true;
    }
}

/* ---- One suite ---- */

bool eval_suite_counts(const struct eval_suite *suite)
{
    return strcmp(suite->metric, "correct") == 0;
}

bool eval_suite_is_known(const struct eval_suite *suite)
{
    return suite->n > 0 && isfinite(suite->n_correct) &&
           (!eval_suite_counts(suite) ||
            (suite->n_correct >= 0.0 && suite->n_correct <= (double)suite->n));
}

int64_t eval_missing(const struct eval_suite *suite)
{
    return suite->n_items > suite->n ? suite->n_items - suite->n : 0;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_same_run(const struct eval_suite *a, const struct eval_suite *b)
{
    return strcmp(a->model, b->model) == 0 && strcasecmp(a->suite, b->suite) == 0 &&
           strcmp(a->metric, b->metric) == 0 && a->step == b->step &&
           same_text(a->artefact, b->artefact) && same_text(a->sha256, b->sha256) &&
           (a->n_items > 0) == (b->n_items > 0);
}

/* ---- Several runs ---- */

struct scored {
    const struct eval_item *item;
    size_t run;
};

static int by_name(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    int order = strcmp(x->item->item, y->item->item);

    return order ? order : (x->run > y->run) - (x->run < y->run);
}

static void append_list(struct facts_cache *cache, struct facts_item_list *list)
{
    list->next = cache->items;
    cache->items = list;
}

/* The mean of each item over the runs, kept with the facts under the suite's id. */
static bool pool_items(const struct run_facts *facts, const struct eval_suite *const *runs, size_t n,
                       struct eval_suite *pooled)
{
    struct facts_cache *cache = facts->cache;
    size_t n_all = 0, n_items = 0, at = 0;

    for (size_t i = 0; i < n; i++)
        n_all += (size_t)runs[i]->n_items;
    struct scored *all = calloc(n_all + 1, sizeof *all);
    struct eval_item *items = arena_array(cache->arena, n_all + 1, sizeof *items);
    struct facts_item_list *list = arena_alloc(cache->arena, sizeof *list);
    bool is_made = all && items && list;

    for (size_t i = 0; i < n && is_made; i++) {
        size_t own = 0;
        const struct eval_item *each = facts_eval_items(facts, runs[i], &own);

        for (size_t k = 0; k < own && at < n_all; k++)
            all[at++] = (struct scored){&each[k], i};
    }
    if (is_made)
        qsort(all, at, sizeof *all, by_name);
    for (size_t i = 0; i < at && is_made;) {
        double sum = 0.0, count = 0.0;
        size_t first = i;

        for (; i < at && strcmp(all[i].item->item, all[first].item->item) == 0; i++)
            if (isfinite(all[i].item->score)) {
                sum += all[i].item->score;
                count += 1.0;
            }
        items[n_items] = *all[first].item;
        items[n_items++].score = count > 0.0 ? sum / count : NAN;
    }
    free(all);
    if (!is_made)
        return false;
    *list = (struct facts_item_list){.suite_id = pooled->id, .items = items, .n = n_items};
    append_list(cache, list);
    return true;
}

static struct eval_spread spread_of(const struct eval_suite *const *runs, size_t n)
{
    struct eval_spread spread = {n, INFINITY, -INFINITY, NAN};
    double sum = 0.0, squares = 0.0;

    for (size_t i = 0; i < n; i++) {
        double mean = runs[i]->n_correct / (double)runs[i]->n;

        sum += mean;
        spread.low = fmin(spread.low, mean);
        spread.high = fmax(spread.high, mean);
    }
    for (size_t i = 0; i < n; i++) {
        double d = runs[i]->n_correct / (double)runs[i]->n - sum / (double)n;
        squares += d * d;
    }
    if (n > 1)
        spread.sd = sqrt(squares / (double)(n - 1));
    return spread;
}

/* NULL without memory. */
static const struct eval_suite *pool(const struct run_facts *facts, struct arena *arena,
                                     const struct eval_suite *const *runs, size_t n)
{
    struct eval_suite *pooled = arena_alloc(arena, sizeof *pooled);
    size_t n_items = 0;

    if (!pooled)
        return NULL;
    *pooled = *runs[0];
    pooled->id = -1 - runs[0]->id;
    if (runs[0]->n_items == 0) {
        double sum = 0.0;

        for (size_t i = 0; i < n; i++)
            sum += runs[i]->n_correct / (double)runs[i]->n;
        pooled->n_correct = sum / (double)n * (double)pooled->n;
        return pooled;
    }
    bool is_kept = false;
    for (struct facts_item_list *known = facts->cache->items; known; known = known->next)
        is_kept |= known->suite_id == pooled->id;
    if (!is_kept && !pool_items(facts, runs, n, pooled))
        return NULL;
    const struct eval_item *items = facts_eval_items(facts, pooled, &n_items);
    pooled->n = 0;
    pooled->n_correct = 0.0;
    pooled->n_items = (int64_t)n_items;
    for (size_t i = 0; i < n_items; i++)
        if (isfinite(items[i].score)) {
            pooled->n++;
            pooled->n_correct += items[i].score;
        }
    return pooled;
}

bool eval_pools_read(const struct run_facts *facts, struct arena *arena, struct eval_pool **out, size_t *n)
{
    size_t n_all = facts->n_eval_suites;
    struct eval_pool *pools = arena_array(arena, n_all + 1, sizeof *pools);
    bool *is_used = arena_array(arena, n_all + 1, sizeof *is_used);
    const struct eval_suite **runs = arena_array(arena, n_all + 1, sizeof *runs);

    *n = 0;
    *out = pools;
    if (!pools || !is_used || !runs)
        return false;
    memset(is_used, 0, (n_all + 1) * sizeof *is_used);
    for (size_t i = 0; i < n_all; i++) {
        const struct eval_suite *own = &facts->eval_suites[i];
        size_t n_runs = 1;

        if (is_used[i] || !eval_suite_is_known(own))
            continue;
        runs[0] = own;
        for (size_t k = i + 1; k < n_all && isfinite(eval_frozen_number(own->frozen, "seed")); k++) {
            const struct eval_suite *other = &facts->eval_suites[k];

            if (is_used[k] || !eval_suite_is_known(other) || !is_same_run(own, other) ||
                !differ_in_seed(own->frozen, other->frozen))
                continue;
            runs[n_runs++] = other;
            is_used[k] = true;
        }
        const struct eval_suite *suite = n_runs > 1 ? pool(facts, arena, runs, n_runs) : own;
        if (!suite)
            return false;
        pools[(*n)++] = (struct eval_pool){suite, spread_of(runs, n_runs), i};
    }
    return true;
}
