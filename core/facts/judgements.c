/* Judgements gathered by pair of models. */
#include "core/facts/judgements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/facts_cache.h"

static const double MATCHED = 0.10; /* of the base's length */

const struct judgement *facts_judgements(const struct run_facts *facts, size_t *n)
{
    struct facts_cache *cache = facts->cache;
    struct error err;

    if (!cache->judgements_known && cache->memory) {
        cache->judgements = cache->memory->judgements;
        cache->n_judgements = cache->memory->n_judgements;
    } else if (!cache->judgements_known &&
               store_judgements(cache->store, facts->run.id, cache->arena, &cache->judgements,
                                &cache->n_judgements, &err) != OK) {
        facts_fail(facts, &err);
        cache->n_judgements = 0;
    }
    cache->judgements_known = true;
    *n = cache->n_judgements;
    return *n > 0 ? cache->judgements : NULL;
}

static bool belongs(const struct judged_pair *pair, const struct judgement *j)
{
    return pair->source_id == j->source_id && pair->step == j->step &&
           strcmp(pair->base, j->base) == 0 && strcmp(pair->candidate, j->candidate) == 0;
}

/* Mostly the last one. */
static size_t find(const struct judged_pair *pairs, size_t n, const struct judgement *j)
{
    for (size_t i = n; i > 0; i--)
        if (belongs(&pairs[i - 1], j))
            return i - 1;
    return n;
}

static void count(struct judged_pair *pair, const struct judgement *j)
{
    pair->n++;
    pair->wins += j->score;
    pair->n_ties += j->score == 0.5;
    pair->n_lengths += j->length_base >= 0 && j->length_candidate >= 0;
}

/* Both arrays of lengths and the scores have been made. */
static void add_lengths(struct judged_pair *pair, const struct judgement *j)
{
    double base = (double)j->length_base, candidate = (double)j->length_candidate;

    if (base < 0.0 || candidate < 0.0)
        return;
    pair->length_base[pair->n_lengths] = base;
    pair->length_candidate[pair->n_lengths] = candidate;
    pair->score[pair->n_lengths++] = j->score;
    pair->mean_base += base;
    pair->mean_candidate += candidate;
    if (fabs(candidate - base) <= MATCHED * base) {
        pair->n_matched++;
        pair->matched_wins += j->score;
    }
}

static bool make_room(struct judged_pair *pair, struct arena *arena)
{
    size_t n = (size_t)pair->n_lengths + 1;

    pair->length_base = arena_array(arena, n, sizeof *pair->length_base);
    pair->length_candidate = arena_array(arena, n, sizeof *pair->length_candidate);
    pair->score = arena_array(arena, n, sizeof *pair->score);
    pair->n_lengths = 0;
    return pair->length_base && pair->length_candidate && pair->score;
}

static void conclude(struct judged_pair *pair)
{
    double n = (double)pair->n_lengths;

    double share = pair->n_alone / (double)pair->n; /* 1 without repeats */

    pair->interval = wilson_of_share(pair->rate, pair->n_alone);
    pair->mean_base = n > 0.0 ? pair->mean_base / n : NAN;
    pair->mean_candidate = n > 0.0 ? pair->mean_candidate / n : NAN;
    pair->ratio = pair->mean_base > 0.0 ? pair->mean_candidate / pair->mean_base : NAN;
    double n_matched = (double)pair->n_matched;
    pair->matched = wilson_of_share(pair->matched_wins / fmax(1.0, n_matched),
                                    fmax(fmin(1.0, n_matched), share * n_matched));
}

enum { MAX_PAIRS = 256 };

struct asked {
    size_t pair;
    const char *item;
    double over;                /* the score, less the rate of its pair */
};

static int by_question(const void *a, const void *b)
{
    const struct asked *x = a, *y = b;

    return x->pair != y->pair ? (x->pair > y->pair) - (x->pair < y->pair) : strcmp(x->item, y->item);
}

/* Of judgements in order of their questions. */
static void weigh_repeats(struct judged_pair *pairs, const struct asked *asked, size_t n, double *squares)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        struct judged_pair *pair = &pairs[asked[i].pair];

        sum += asked[i].over;
        if (i + 1 < n && by_question(&asked[i], &asked[i + 1]) == 0) {
            pair->n_repeats++;
            continue;
        }
        squares[asked[i].pair] += sum * sum;
        pair->n_questions++;
        sum = 0.0;
    }
}

/* Questions that a pair of models was judged on more than once, such as in both orders. */
static bool count_repeats(struct judged_pair *pairs, size_t n_pairs, const struct judgement *all,
                          size_t n_all)
{
    struct asked *asked = calloc(n_all + 1, sizeof *asked);
    double squares[MAX_PAIRS] = {0};
    size_t n = 0;

    if (!asked)
        return false;
    for (size_t i = 0; i < n_all; i++) {
        size_t pair = find(pairs, n_pairs, &all[i]);

        if (pair == n_pairs)
            continue;
        double over = all[i].score - pairs[pair].rate;
        if (all[i].item) {
            asked[n++] = (struct asked){pair, all[i].item, over};
        } else {
            squares[pair] += over * over;
            pairs[pair].n_questions++;
        }
    }
    qsort(asked, n, sizeof *asked, by_question);
    weigh_repeats(pairs, asked, n, squares);
    for (size_t i = 0; i < n_pairs; i++)
        pairs[i].n_alone = pairs[i].n_repeats == 0
                               ? (double)pairs[i].n
                               : independent_items(pairs[i].rate, (double)pairs[i].n, squares[i],
                                                   (double)pairs[i].n_questions);
    free(asked);
    return true;
}

bool judged_pairs_read(const struct run_facts *facts, struct arena *arena,
                       struct judged_pair **pairs, size_t *n)
{
    size_t n_all = 0, n_pairs = 0;
    const struct judgement *all = facts_judgements(facts, &n_all);
    struct judged_pair *list = arena_array(arena, MAX_PAIRS, sizeof *list);

    *n = 0;
    *pairs = list;
    if (!list)
        return false;
    for (size_t i = 0; i < n_all; i++) {
        size_t at = find(list, n_pairs, &all[i]);

        if (at == n_pairs && n_pairs == MAX_PAIRS)
            continue;
        if (at == n_pairs)
            list[n_pairs++] = (struct judged_pair){.base = all[i].base,
                                                   .candidate = all[i].candidate,
                                                   .source_id = all[i].source_id,
                                                   .step = all[i].step,
                                                   .line = all[i].line};
        count(&list[at], &all[i]);
    }
    for (size_t i = 0; i < n_pairs; i++) {
        list[i].rate = list[i].wins / (double)list[i].n;
        if (!make_room(&list[i], arena))
            return false;
    }
    if (!count_repeats(list, n_pairs, all, n_all))
        return false;
    for (size_t i = 0; i < n_all; i++) {
        size_t at = find(list, n_pairs, &all[i]);
        if (at < n_pairs)
            add_lengths(&list[at], &all[i]);
    }
    for (size_t i = 0; i < n_pairs; i++)
        conclude(&list[i]);
    *n = n_pairs;
    return true;
}

struct length_bins judged_length_bins(const struct judged_pair *pair)
{
    struct length_bins bins = {.from = {0.0, 0.5, 0.9, 1.1, 1.5, 2.0, 3.0}};

    for (int64_t i = 0; i < pair->n_lengths; i++) {
        double base = pair->length_base[i], ratio = base > 0.0 ? pair->length_candidate[i] / base : INFINITY;
        int bin = LENGTH_BINS - 1;

        if (base == 0.0 && pair->length_candidate[i] == 0.0)
            ratio = 1.0;
        while (bin > 0 && ratio < bins.from[bin])
            bin--;
        bins.n[bin]++;
        bins.wins[bin] += pair->score[i];
    }
    return bins;
}

/* By so much in the logit as fewer independent judgements leave. */
static double farther(double at, double from, double factor)
{
    if (!(at > 0.0 && at < 1.0 && from > 0.0 && from < 1.0))
        return at;
    double z = log(from / (1.0 - from));
    z += factor * (log(at / (1.0 - at)) - z);
    return 1.0 / (1.0 + exp(-z));
}

bool judged_controlled(const struct judged_pair *pair, struct length_controlled *out)
{
    if (!length_controlled(pair->length_base, pair->length_candidate, pair->score,
                           (size_t)pair->n_lengths, out))
        return false;
    if (pair->n_repeats > 0) {
        double factor = sqrt((double)pair->n / pair->n_alone);
        out->interval.low = farther(out->interval.low, out->rate, factor);
        out->interval.high = farther(out->interval.high, out->rate, factor);
    }
    return true;
}
