/* Suites of the base and of its candidates, side by side. */
#include "core/facts/eval_suites.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/log.h"
#include "core/facts/facts_cache.h"
#include "core/stats/paired.h"

/* ---- Items, loaded when they are asked for ---- */

static bool load(const struct run_facts *facts, const struct eval_suite *suite,
                 struct facts_item_list *list)
{
    struct facts_cache *cache = facts->cache;
    struct error err;

    for (size_t i = 0; cache->memory && i < cache->memory->n_item_sets; i++)
        if (cache->memory->items[i].suite_id == suite->id) {
            list->items = cache->memory->items[i].items;
            list->n = cache->memory->items[i].n;
        }
    if (cache->memory)
        return true;
    if (store_eval_items(cache->store, suite->id, cache->arena, &list->items, &list->n, &err) ==
        OK)
        return true;
    facts_fail(facts, &err);
    return false;
}

const struct eval_item *facts_eval_items(const struct run_facts *facts,
                                         const struct eval_suite *suite, size_t *n)
{
    struct facts_cache *cache = facts->cache;

    *n = 0;
    if (!suite || suite->n_items <= 0)
        return NULL;
    for (struct facts_item_list *known = cache->items; known; known = known->next)
        if (known->suite_id == suite->id) {
            *n = known->n;
            return known->items;
        }
    struct facts_item_list *list = arena_alloc(cache->arena, sizeof *list);
    if (!list || !load(facts, suite, list))
        return NULL;
    list->suite_id = suite->id;
    list->next = cache->items;
    cache->items = list;
    *n = list->n;
    return list->items;
}

/* ---- Names ---- */

static bool is_word(const char *text, const char *word)
{
    size_t n = strlen(word);

    return strncasecmp(text, word, n) == 0 && !isalnum((unsigned char)text[n]);
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* What the run says that it started from; a base that bears the name of the run's own folder tells
 * nothing. */
static bool is_what_was_tuned(const struct run_facts *facts, const char *model)
{
    static const char *const NAMES[] = {"base_model_name_or_path", "model_name_or_path"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const char *base = facts_text(facts, NAMES[i]);

        if (base && base[0] && (strcmp(base, model) == 0 ||
                     (strchr(base, '/') && strcasecmp(last_component(base), last_component(model)) == 0)))
            return true;
    }
    return false;
}

bool eval_model_is_base(const struct run_facts *facts, const char *model)
{
    static const char *const NAMES[] = {"base", "ref", "reference", "before"};
    bool is_preference = facts->run.kind == KIND_DPO || facts->run.kind == KIND_GRPO ||
                         facts->run.kind == KIND_PPO || facts->run.kind == KIND_REWARD_MODEL;

    if (is_preference && strcasecmp(model, "sft") == 0)
        return true;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcasecmp(model, NAMES[i]) == 0)
            return true;
    return strcasecmp(model, "base_model") == 0 || strcasecmp(model, "base-model") == 0 ||
           is_what_was_tuned(facts, model);
}

bool eval_suite_is_general(const struct run_facts *facts, const char *suite)
{
    static const char *const BEGINNINGS[] = {"retention", "general", "mmlu", "math"};
    static const char *const WORDS[] = {
        "arc",      "hellaswag", "winogrande", "piqa",   "boolq", "truthfulqa",
        "gsm8k",    "humaneval", "mbpp",       "ifeval", "bbh",   "triviaqa",
        "drop",     "gpqa",      "mt-bench"};
    char name[160];
    size_t n = strlen(suite);

    if (n < 120) {
        memcpy(name, "suite:", 6);
        memcpy(name + 6, suite, n + 1);
        const char *answer = facts_answer(facts, name);
        if (answer)
            return strcmp(answer, "general") == 0;
    }
    for (size_t i = 0; i < sizeof BEGINNINGS / sizeof *BEGINNINGS; i++)
        if (strncasecmp(suite, BEGINNINGS[i], strlen(BEGINNINGS[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (is_word(suite, WORDS[i]) || (strcmp(WORDS[i], "truthfulqa") == 0 &&
                                         strncasecmp(suite, "truthfulqa", 10) == 0))
            return true;
    return false;
}

/* ---- Pairs ---- */

static bool is_known(const struct eval_suite *suite)
{
    return suite->n > 0 && isfinite(suite->n_correct);
}

static bool is_binary(const struct eval_suite *suite)
{
    return strcmp(suite->metric, "correct") == 0;
}

/* The base on that suite: of the same file first, then of the fewest steps. */
static const struct eval_suite *base_of(const struct run_facts *facts,
                                        const struct eval_suite *candidate)
{
    const struct eval_suite *best = NULL;

    for (size_t i = 0; i < facts->n_eval_suites; i++) {
        const struct eval_suite *suite = &facts->eval_suites[i];

        if (!is_known(suite) || !eval_model_is_base(facts, suite->model) ||
            strcasecmp(suite->suite, candidate->suite) != 0 ||
            strcmp(suite->metric, candidate->metric) != 0)
            continue;
        bool is_near = suite->source_id == candidate->source_id,
             best_near = best && best->source_id == candidate->source_id;
        if (!best || (is_near && !best_near) ||
            (is_near == best_near && suite->n_items > best->n_items))
            best = suite;
    }
    return best;
}

static bool is_said_before(const struct run_facts *facts, size_t at)
{
    const struct eval_suite *own = &facts->eval_suites[at];

    for (size_t i = 0; i < at; i++) {
        const struct eval_suite *other = &facts->eval_suites[i];

        if (strcmp(other->model, own->model) == 0 && strcasecmp(other->suite, own->suite) == 0 &&
            other->step == own->step && other->n == own->n && other->n_correct == own->n_correct)
            return true;
    }
    return false;
}

/* Both lists are in order of the items' names. */
struct matched {
    double *d;
    int64_t *cluster;
    size_t n;
    int64_t lost, gained;
    double sum_base, sum_candidate;
    bool has_clusters, has_other_prompts;
};

static void match(const struct eval_item *base, size_t n_base, const struct eval_item *tuned,
                  size_t n_tuned, struct matched *m)
{
    for (size_t i = 0, k = 0; i < n_base && k < n_tuned;) {
        int order = strcmp(base[i].item, tuned[k].item);

        if (order == 0 && isfinite(base[i].score) && isfinite(tuned[k].score)) {
            double d = tuned[k].score - base[i].score;

            m->has_other_prompts |= base[i].prompt_hash && tuned[k].prompt_hash &&
                                    base[i].prompt_hash != tuned[k].prompt_hash;
            m->has_clusters |= base[i].cluster != NULL;
            m->sum_base += base[i].score;
            m->sum_candidate += tuned[k].score;
            m->lost += d < 0.0;
            m->gained += d > 0.0;
            m->cluster[m->n] = (int64_t)i; /* the row of its base, until sorted by group */
            m->d[m->n++] = d;
        }
        i += order <= 0;
        k += order >= 0;
    }
}

struct grouped {
    const char *group;          /* NULL: an item without one, which is its own */
    int64_t row;
    double d;
};

static int by_group(const void *a, const void *b)
{
    const struct grouped *x = a, *y = b;
    int order = strcmp(x->group ? x->group : "", y->group ? y->group : "");

    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Items of one group beside each other, groups numbered. False without memory. */
static bool sort_by_group(struct matched *m, const struct eval_item *base, struct arena *arena)
{
    struct grouped *list = arena_array(arena, m->n, sizeof *list);
    int64_t number = 0;

    if (!list)
        return false;
    for (size_t i = 0; i < m->n; i++)
        list[i] = (struct grouped){base[m->cluster[i]].cluster, m->cluster[i], m->d[i]};
    qsort(list, m->n, sizeof *list, by_group);
    for (size_t i = 0; i < m->n; i++) {
        const char *own = list[i].group, *last = i > 0 ? list[i - 1].group : NULL;

        number += !own || !last || strcmp(own, last) != 0;
        m->d[i] = list[i].d;
        m->cluster[i] = number;
    }
    return true;
}

/* Paired when at least half of the smaller side are the same items. */
static bool pair_items(const struct run_facts *facts, struct arena *arena, struct eval_pair *pair)
{
    size_t n_base = 0, n_tuned = 0;
    const struct eval_item *base = facts_eval_items(facts, pair->base, &n_base);
    const struct eval_item *tuned = facts_eval_items(facts, pair->candidate, &n_tuned);
    size_t n = n_base < n_tuned ? n_base : n_tuned;
    struct matched m = {.d = arena_array(arena, n, sizeof *m.d),
                        .cluster = arena_array(arena, n, sizeof *m.cluster)};

    if (n == 0 || !m.d || !m.cluster)
        return false;
    match(base, n_base, tuned, n_tuned, &m);
    if (m.n < 2 || m.n * 2 < n)
        return false;
    if (m.has_other_prompts)
        pair->why_not = "the prompts of the items differ";
    pair->is_paired = true;
    pair->n_base = pair->n_candidate = (int64_t)m.n;
    pair->lost = m.lost;
    pair->gained = m.gained;
    pair->p_base = m.sum_base / (double)m.n;
    pair->p_candidate = m.sum_candidate / (double)m.n;
    pair->d = pair->p_candidate - pair->p_base;
    if (pair->is_binary && !m.has_clusters) {
        pair->interval = paired_binary(m.lost, m.gained, (int64_t)m.n);
        pair->p = mcnemar_p(m.lost, m.gained);
        return true;
    }
    if (m.has_clusters && !sort_by_group(&m, base, arena))
        return false;
    struct paired_scores scores = paired_scores(m.d, m.has_clusters ? m.cluster : NULL, m.n);
    pair->interval = scores.interval;
    pair->p = scores.p;
    return true;
}

static void compare(const struct run_facts *facts, struct arena *arena, struct eval_pair *pair)
{
    const struct eval_suite *a = pair->base, *b = pair->candidate;

    pair->is_general = eval_suite_is_general(facts, b->suite);
    pair->is_binary = is_binary(a) && is_binary(b);
    if (a->frozen && b->frozen && strcmp(a->frozen, b->frozen) != 0)
        pair->why_not = "the suite or the decoding differs";
    if (pair_items(facts, arena, pair))
        return;
    pair->n_base = a->n;
    pair->n_candidate = b->n;
    pair->p_base = a->n_correct / (double)a->n;
    pair->p_candidate = b->n_correct / (double)b->n;
    pair->d = pair->p_candidate - pair->p_base;
    if (!pair->is_binary) {
        pair->why_not = pair->why_not ? pair->why_not : "scores need their items to be compared";
        return;
    }
    int64_t k1 = llround(a->n_correct), k2 = llround(b->n_correct);
    pair->interval = newcombe(k1, a->n, k2, b->n);
    pair->p = newcombe_p(k1, a->n, k2, b->n);
}

void eval_compare(const struct run_facts *facts, struct arena *arena, const struct eval_suite *a,
                  const struct eval_suite *b, struct eval_pair *out)
{
    *out = (struct eval_pair){.base = a, .candidate = b, .lost = NONE, .gained = NONE,
                              .interval = {NAN, NAN}, .p = NAN};
    compare(facts, arena, out);
}

bool eval_pairs_read(const struct run_facts *facts, struct arena *arena, struct eval_pair **pairs,
                     size_t *n)
{
    struct eval_pair *list = arena_array(arena, facts->n_eval_suites, sizeof *list);

    *n = 0;
    *pairs = list;
    if (!list)
        return facts->n_eval_suites == 0;
    for (size_t i = 0; i < facts->n_eval_suites; i++) {
        const struct eval_suite *own = &facts->eval_suites[i];
        const struct eval_suite *base;

        if (!is_known(own) || eval_model_is_base(facts, own->model) || is_said_before(facts, i) ||
            !(base = base_of(facts, own)))
            continue;
        eval_compare(facts, arena, base, own, &list[(*n)++]);
    }
    return true;
}

const char *eval_reached(const struct eval_suite *suite, struct arena *arena)
{
    const char *text =
        is_binary(suite)
            ? arena_printf(arena, "%.0f of %lld", suite->n_correct, (long long)suite->n)
            : arena_printf(arena, "%.4g over %lld items", suite->n_correct / (double)suite->n,
                           (long long)suite->n);
    return text ? text : "";
}

double eval_discordance(const struct eval_pair *pair)
{
    double share = pair->is_paired && pair->is_binary
                       ? (double)(pair->lost + pair->gained) / (double)pair->n_base
                       : 0.2;

    return share >= 0.05 ? share : 0.2; /* too few that differ to tell how many */
}

double eval_visible(const struct eval_pair *pair)
{
    double n = (double)(pair->n_base < pair->n_candidate ? pair->n_base : pair->n_candidate);

    return smallest_effect(n, eval_discordance(pair));
}
