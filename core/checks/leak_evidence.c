/* See leak_evidence.h. */
#include "core/checks/leak_evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/unicode.h"
#include "core/stats/intervals.h"

enum { SHOWN_BYTES = 80 };

double leak_share(int64_t part, int64_t of)
{
    return of > 0 ? (double)part / (double)of : 0.0;
}

int leak_unknown(struct check_ctx *ctx)
{
    if (!leaks_have_side(ctx->facts, "test"))
        return check_unknown(ctx, "a test split as rows of texts (a file or folder with the word "
                                  "test or eval, or --set split:PATH=test)");
    if (!leaks_have_side(ctx->facts, "train"))
        return check_unknown(ctx,
                             "the training rows as texts (token ids alone cannot be compared)");
    for (size_t i = 0; i < ctx->facts->n_datasets; i++)
        if (leaks_dataset_is_facts(&ctx->facts->datasets[i]))
            return check_unknown(ctx, "both sides as rows, or the facts of both made in one go: rows and "
                                      "facts, or facts of two folders, cannot be compared");
    return check_unknown(ctx, "test rows compared to the training rows: run the checks again");
}

bool leak_is_whole(const struct leaks *leaks, const struct leak_set *set)
{
    return !leaks->is_partial && !leaks->trouble && leaks->n_crowded == 0 &&
           set->n_not_compared == 0 && set->n_unreadable == 0 && leaks->n_train_unreadable == 0;
}

static const char *visible(struct check_ctx *ctx, const char *text)
{
    struct buf out;

    buf_init(&out, 4096);
    unicode_visible(&out, unicode_cut(str_of(text), SHOWN_BYTES), false);
    const char *kept = arena_strndup(ctx->arena, out.p ? out.p : "", out.n);
    buf_free(&out);
    return kept;
}

static void tell_limits(struct check_ctx *ctx, const struct leaks *leaks,
                        const struct leak_set *set)
{
    if (leaks->is_partial)
        check_info(ctx, "stopped before all rows were compared: %lld training rows were",
                   (long long)leaks->n_train);
    if (leaks->trouble)
        check_info(ctx, "%s", visible(ctx, leaks->trouble));
    if (set->n_not_compared)
        check_info(ctx,
                   "%lld test rows are more than memory holds and were compared as whole texts "
                   "alone",
                   (long long)set->n_not_compared);
    if (leaks->limits)
        check_info(ctx, "%s", leaks->limits);
    if (leaks->n_crowded)
        check_info(ctx,
                   "%lld test rows have phrases that more than 10,000 others share: not each of "
                   "their candidates was looked at",
                   (long long)leaks->n_crowded);
    if (set->n_unreadable || leaks->n_train_unreadable)
        check_info(ctx, "%lld test rows and %lld training rows cannot be read",
                   (long long)set->n_unreadable, (long long)leaks->n_train_unreadable);
}

void leak_tell(struct check_ctx *ctx, const struct leaks *leaks, const struct leak_set *set)
{
    check_info(ctx, "%lld rows of %s against %lld training rows, %s", (long long)set->n_rows,
               set->name, (long long)leaks->n_train,
               leaks->is_banded ? "by 42 x 6 bands, each candidate verified on its shingles"
                                : "each with each, exactly");
    if (leaks->prefix[0] || leaks->suffix[0])
        check_info(ctx, "text that half of the training rows share was left out: \"%s\" ... \"%s\"",
                   visible(ctx, leaks->prefix), visible(ctx, leaks->suffix));
    if (set->n_long)
        check_info(ctx,
                   "%lld of %lld test rows of 13 words or more share 13 words in a row with a training "
                   "row (shown, not tested)",
                   (long long)set->n_overlap, (long long)set->n_long);
    if (set->n_short)
        check_info(ctx,
                   "%lld test rows of three words or fewer are counted apart, %lld of them are "
                   "in training too",
                   (long long)set->n_short, (long long)set->n_short_exact);
    tell_limits(ctx, leaks, set);
}

/* ---- Scores ---- */

struct part {
    int64_t n;
    double score;
    bool is_binary;
    int64_t n_missing;          /* of n: items without a result */
};

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static bool is_leaked(const struct leak_set *set, int64_t row)
{
    return bsearch(&row, set->leaked, (size_t)set->n_leaked, sizeof row, by_number) != NULL;
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

/* The names of the leaked rows, sorted; NULL: not each is known. */
static const char **leaked_ids(struct check_ctx *ctx, const struct leak_set *set)
{
    const char **ids = arena_array(ctx->arena, set->n_pairs + 1, sizeof *ids);

    if (!ids || (int64_t)set->n_pairs != set->n_leaked)
        return NULL;
    for (size_t i = 0; i < set->n_pairs; i++) {
        if (!set->pairs[i].id)
            return NULL;
        ids[i] = set->pairs[i].id;
    }
    qsort(ids, set->n_pairs, sizeof *ids, by_text);
    return ids;
}

/* Items named by the numbers of the set's rows, one each: from 0, or from 1. False: by something
 * else. */
static bool first_number(const struct eval_item *items, size_t n, const struct leak_set *set,
                         int64_t *first)
{
    int64_t least = INT64_MAX, most = -1;

    for (size_t i = 0; i < n; i++) {
        int64_t number;

        if (!number_parse_int(str_of(items[i].item), &number) || number < 0)
            return false;
        least = number < least ? number : least;
        most = number > most ? number : most;
    }
    *first = least >= 1 && most == set->n_rows ? 1 : 0;
    return (int64_t)n == set->n_rows && most - *first < set->n_rows;
}

static void add_item(struct part *part, double score)
{
    part->n++;
    if (!isfinite(score)) {
        part->n_missing++;
        return;
    }
    part->score += score;
    part->is_binary = part->is_binary && (score == 0.0 || score == 1.0);
}

struct parts {
    struct part clean, leaked;
};

static bool part_by_number(const struct leak_set *set, const struct eval_item *items, size_t n,
                           struct parts *parts)
{
    int64_t first, number = 0;

    *parts = (struct parts){{.is_binary = true}, {.is_binary = true}};
    if (!first_number(items, n, set, &first))
        return false;
    for (size_t i = 0; i < n; i++)
        if (number_parse_int(str_of(items[i].item), &number))
            add_item(is_leaked(set, number - first) ? &parts->leaked : &parts->clean,
                     items[i].score);
    return parts->clean.n && parts->leaked.n;
}

/* Every leaked row is one of the items, and there are no more items than rows. */
static bool part_by_id(struct check_ctx *ctx, const struct leak_set *set,
                       const struct eval_item *items, size_t n, struct parts *parts)
{
    const char **ids = leaked_ids(ctx, set);

    *parts = (struct parts){{.is_binary = true}, {.is_binary = true}};
    for (size_t i = 0; ids && i < n; i++) {
        bool is_in = bsearch(&items[i].item, ids, set->n_pairs, sizeof *ids, by_text) != NULL;

        add_item(is_in ? &parts->leaked : &parts->clean, items[i].score);
    }
    return ids && (int64_t)n <= set->n_rows && parts->leaked.n == set->n_leaked &&
           parts->clean.n > 0;
}

static const char *words_of(struct check_ctx *ctx, const struct part *part)
{
    int64_t n = part->n - part->n_missing;
    double mean = n > 0 ? part->score / (double)n : NAN;
    struct interval interval = wilson_of_share(mean, (double)n);

    if (n == 0)
        return "no result";
    if (part->is_binary)
        return arena_printf(ctx->arena, "%lld of %lld right, %.1f %% (%.1f to %.1f)",
                            (long long)part->score, (long long)n, 100.0 * mean, 100.0 * interval.low,
                            100.0 * interval.high);
    return arena_printf(ctx->arena, "mean score %.4g of %lld", mean, (long long)n);
}

static void score_of(struct check_ctx *ctx, const struct leak_set *set,
                     const struct eval_suite *suite)
{
    struct parts parts;
    size_t n;
    const struct eval_item *items = facts_eval_items(ctx->facts, suite, &n);

    if (!items || n == 0 ||
        (!part_by_id(ctx, set, items, n, &parts) && !part_by_number(set, items, n, &parts)))
        return;
    struct evidence *e = evidence_add(
        ctx, "dataset", "%s on %s: %s on the clean rows, %s on the leaked rows", suite->model,
        suite->suite, words_of(ctx, &parts.clean), words_of(ctx, &parts.leaked));
    e->source_id = suite->source_id;
}

void leak_scores(struct check_ctx *ctx, const struct leak_set *set)
{
    for (size_t i = 0; i < ctx->facts->n_eval_suites; i++)
        if (ctx->facts->eval_suites[i].n_items > 0)
            score_of(ctx, set, &ctx->facts->eval_suites[i]);
}
