/* Suites of the base and of its candidates, side by side. */
#include "core/facts/eval_suites.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/log.h"
#include "core/facts/checkpoint_name.h"
#include "core/facts/eval_pool.h"
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

/* An evaluation that loaded an adapter names what it put it on. */
static bool carried_an_adapter(const struct run_facts *facts, struct str model)
{
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *peft = &facts->settings[i];
        size_t n = 0;

        if (peft->side != SIDE_EVAL || strcmp(peft->raw_name, "lm_eval.peft") != 0)
            continue;
        const struct setting *const *beside = facts_settings_of(facts, peft->source_id, &n);
        for (size_t k = 0; k < n; k++)
            if (strcmp(beside[k]->raw_name, "lm_eval.pretrained") == 0 && beside[k]->value &&
                str_is(model, beside[k]->value))
                return true;
    }
    return false;
}

/* What the run says that it started from; a base that bears the name of the run's own folder tells
 * nothing. */
static bool is_what_was_tuned(const struct run_facts *facts, const char *model)
{
    static const char *const NAMES[] = {"base_model_name_or_path", "model_name_or_path"};
    const char *revision = strrchr(model, '@');
    struct str plain = revision ? str_from(model, (size_t)(revision - model)) : str_of(model);
    const char *name = last_component(model);
    struct str last = str_from(name, plain.n - (size_t)(name - model));

    if (revision && revision < name)
        return false;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const char *base = facts_text(facts, NAMES[i]);

        if (base && base[0] && (str_is(plain, base) ||
                     (strchr(base, '/') && str_is_ignoring_case(last, last_component(base)))))
            return true;
    }
    return carried_an_adapter(facts, plain);
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

/* Without the checkpoint that it ends with. */
static struct str model_stem(const char *model)
{
    struct str text = str_of(model);
    struct checkpoint_name checkpoint;

    while (text.n > 1 && text.p[text.n - 1] == '/')
        text = str_first(text, text.n - 1);
    size_t from = text.n;
    while (from > 0 && text.p[from - 1] != '/' && text.p[from - 1] != '@')
        from--;
    bool is_checkpoint = from > 1 && checkpoint_name_read(str_skip(text, from), &checkpoint);
    return is_checkpoint ? str_first(text, from - 1) : text;
}

bool eval_same_model(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || str_eq(model_stem(a), model_stem(b));
}

bool eval_suite_is_variant(const struct run_facts *facts, const struct eval_suite *suite)
{
    struct str name = str_of(suite->suite);
    ptrdiff_t at = str_find(name, " (");

    if (at <= 0 || !str_ends(name, ")"))
        return false;
    name = str_first(name, (size_t)at);
    for (size_t i = 0; i < facts->n_eval_suites; i++)
        if (facts->eval_suites[i].source_id == suite->source_id &&
            strcmp(facts->eval_suites[i].model, suite->model) == 0 &&
            str_is(name, facts->eval_suites[i].suite))
            return true;
    return false;
}

bool eval_is_paired(const struct eval_pair *pairs, size_t n, const struct eval_suite *suite)
{
    for (size_t i = 0; i < n; i++) {
        const struct eval_suite *base = pairs[i].base, *own = pairs[i].candidate;

        if (strcasecmp(own->suite, suite->suite) == 0 &&
            (strcmp(own->model, suite->model) == 0 || strcmp(base->model, suite->model) == 0))
            return true;
    }
    return false;
}

/* How well a base fits a candidate's suite; negative: not at all. Of the same measure first, decoded the
 * same way, of the same file. */
static int fit(const struct eval_suite *base, const struct eval_suite *candidate, struct arena *arena)
{
    if (strcasecmp(base->suite, candidate->suite) != 0)
        return -1;
    return 4 * (strcmp(base->metric, candidate->metric) == 0) +
           2 * (eval_frozen_differs(base->frozen, candidate->frozen, arena) == NULL) +
           (base->source_id == candidate->source_id);
}

/* The base on that suite; of those that fit as well the one with most items. */
static const struct eval_pool *base_of(const struct run_facts *facts, struct arena *arena,
                                       const struct eval_pool *pools, size_t n,
                                       const struct eval_suite *candidate)
{
    const struct eval_pool *best = NULL;
    int best_fit = -1;

    for (size_t i = 0; i < n; i++) {
        int own = eval_model_is_base(facts, pools[i].suite->model) ? fit(pools[i].suite, candidate, arena)
                                                                   : -1;

        if (own > best_fit ||
            (own >= 0 && own == best_fit && pools[i].suite->n_items > best->suite->n_items)) {
            best = &pools[i];
            best_fit = own;
        }
    }
    return best;
}

static bool is_said_before(const struct eval_pool *pools, size_t at)
{
    const struct eval_suite *own = pools[at].suite;

    for (size_t i = 0; i < at; i++) {
        const struct eval_suite *other = pools[i].suite;

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
    size_t n, n_groups;
    int64_t lost, gained;
    int64_t groups_lost, groups_gained;
    double sum_base, sum_candidate, max_base, max_candidate;
    bool has_clusters, has_other_prompts, has_parts;
};

static void match_one(const struct eval_item *base, const struct eval_item *tuned, size_t row,
                      struct matched *m)
{
    double d = tuned->score - base->score;

    m->has_other_prompts |=
        base->prompt_hash && tuned->prompt_hash && base->prompt_hash != tuned->prompt_hash;
    m->has_clusters |= base->cluster != NULL;
    m->has_parts |= (base->score != 0.0 && base->score != 1.0) ||
                    (tuned->score != 0.0 && tuned->score != 1.0);
    m->sum_base += base->score;
    m->sum_candidate += tuned->score;
    m->max_base = fmax(m->max_base, fabs(base->score));
    m->max_candidate = fmax(m->max_candidate, fabs(tuned->score));
    m->lost += d < 0.0;
    m->gained += d > 0.0;
    m->cluster[m->n] = (int64_t)row; /* the row of its base, until sorted by group */
    m->d[m->n++] = d;
}

static void match(const struct eval_item *base, size_t n_base, const struct eval_item *tuned,
                  size_t n_tuned, struct matched *m)
{
    for (size_t i = 0, k = 0; i < n_base && k < n_tuned;) {
        int order = strcmp(base[i].item, tuned[k].item);

        if (order == 0 && isfinite(base[i].score) && isfinite(tuned[k].score))
            match_one(&base[i], &tuned[k], i, m);
        i += order <= 0;
        k += order >= 0;
    }
}

struct grouped {
    const char *group;          /* an item without one is its own, and that of its repeats */
    int64_t row;
    double d;
};

static int by_group(const void *a, const void *b)
{
    const struct grouped *x = a, *y = b;
    int order = strcmp(x->group, y->group);

    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Items of one group beside each other, groups numbered and counted. False without memory. */
static bool sort_by_group(struct matched *m, const struct eval_item *base, struct arena *arena)
{
    struct grouped *list = arena_array(arena, m->n, sizeof *list);
    double sum = 0.0;

    if (!list)
        return false;
    for (size_t i = 0; i < m->n; i++) {
        const struct eval_item *item = &base[m->cluster[i]];
        list[i] = (struct grouped){item->cluster ? item->cluster : item->item, m->cluster[i], m->d[i]};
    }
    qsort(list, m->n, sizeof *list, by_group);
    for (size_t i = 0; i < m->n; i++) {
        bool is_last = i + 1 == m->n || strcmp(list[i].group, list[i + 1].group) != 0;

        m->d[i] = list[i].d;
        m->cluster[i] = (int64_t)m->n_groups + 1;
        sum += list[i].d;
        if (!is_last)
            continue;
        m->n_groups++;
        m->groups_lost += sum < 0.0;
        m->groups_gained += sum > 0.0;
        sum = 0.0;
    }
    return true;
}

enum { FEW = 20 }; /* differences whose mean is far from normal */

/* The test of the matched items. Below FEW the signs have to agree with the mean. */
static void test(struct eval_pair *pair, const struct matched *m)
{
    size_t n_alone = m->has_clusters ? m->n_groups : m->n;

    if (!m->has_clusters && pair->is_binary) {
        pair->interval = paired_binary(m->lost, m->gained, (int64_t)m->n);
        pair->p = mcnemar_p(m->lost, m->gained);
        return;
    }
    if (n_alone < 2) {
        pair->why_not = pair->why_not ? pair->why_not : "all items are of one group";
        return;
    }
    struct paired_scores scores = paired_scores(m->d, m->has_clusters ? m->cluster : NULL, m->n);
    pair->interval = scores.interval;
    pair->p = scores.p;
    if (m->has_clusters && m->n_groups < m->n && scores.se > 0.0) {
        double se = paired_scores(m->d, NULL, m->n).se;
        pair->n_alone = (double)m->n * fmin(1.0, se * se / (scores.se * scores.se));
    }
    if (n_alone < FEW)
        pair->p = fmax(pair->p, m->has_clusters ? mcnemar_p(m->groups_lost, m->groups_gained)
                                                : mcnemar_p(m->lost, m->gained));
}

/* Scores above 1 are per cent; of one side alone they cannot be compared. */
static void scale(struct eval_pair *pair, struct matched *m)
{
    bool is_more = m->max_base > 1.0, other = m->max_candidate > 1.0;

    if (!is_more && !other)
        return;
    if (m->max_base > 100.0 || m->max_candidate > 100.0)
        pair->why_not = "scores above 100 are no shares";
    else if (is_more != other)
        pair->why_not = "the scores of one side are shares and those of the other are not (per cent?)";
    m->sum_base /= 100.0;
    m->sum_candidate /= 100.0;
    for (size_t i = 0; i < m->n; i++)
        m->d[i] /= 100.0;
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
    if (m.has_clusters && !sort_by_group(&m, base, arena))
        return false;
    scale(pair, &m);
    pair->is_binary = pair->is_binary && !m.has_parts;
    pair->is_paired = true;
    pair->n_base = pair->n_candidate = (int64_t)m.n;
    if (m.has_clusters && m.n_groups < m.n)
        pair->n_groups = (int64_t)m.n_groups;
    pair->lost = m.lost;
    pair->gained = m.gained;
    pair->p_base = m.sum_base / (double)m.n;
    pair->p_candidate = m.sum_candidate / (double)m.n;
    pair->d = pair->p_candidate - pair->p_base;
    test(pair, &m);
    return true;
}

/* As many independent items tell as much as those of a suite of which some go together; n where none do. */
static double items_alone(const struct run_facts *facts, struct arena *arena,
                          const struct eval_suite *suite, double p)
{
    size_t n = 0, n_known = 0, n_groups = 0;
    bool has_clusters = false;
    const struct eval_item *items = facts_eval_items(facts, suite, &n);
    struct grouped *list = n ? arena_array(arena, n, sizeof *list) : NULL;
    double squares = 0.0, sum = 0.0;

    for (size_t i = 0; list && i < n; i++) {
        if (!isfinite(items[i].score))
            continue;
        has_clusters |= items[i].cluster != NULL;
        list[n_known++] = (struct grouped){items[i].cluster ? items[i].cluster : items[i].item, (int64_t)i,
                                           items[i].score - p};
    }
    if (!has_clusters)
        return (double)suite->n;
    qsort(list, n_known, sizeof *list, by_group);
    for (size_t i = 0; i < n_known; i++) {
        sum += list[i].d;
        if (i + 1 < n_known && strcmp(list[i].group, list[i + 1].group) == 0)
            continue;
        squares += sum * sum;
        sum = 0.0;
        n_groups++;
    }
    return n_groups < n_known ? independent_items(p, (double)n_known, squares, (double)n_groups)
                              : (double)suite->n;
}

/* Two samples; of items that go together by as many as tell as much alone. */
static void compare_samples(const struct run_facts *facts, struct arena *arena, struct eval_pair *pair)
{
    double before = items_alone(facts, arena, pair->base, pair->p_base);
    double after = items_alone(facts, arena, pair->candidate, pair->p_candidate);

    if (isnan(before) || isnan(after)) {
        pair->why_not = pair->why_not ? pair->why_not : "all items are of one group";
        return;
    }
    if (before < (double)pair->n_base || after < (double)pair->n_candidate)
        pair->n_alone = fmin(before, after);
    pair->interval = newcombe_of_shares(pair->p_base, before, pair->p_candidate, after);
    pair->p = newcombe_p_of_shares(pair->p_base, before, pair->p_candidate, after);
}

static void compare(const struct run_facts *facts, struct arena *arena, struct eval_pair *pair)
{
    const struct eval_suite *a = pair->base, *b = pair->candidate;
    const char *differs = eval_frozen_differs(a->frozen, b->frozen, arena);

    pair->is_general = eval_suite_is_general(facts, b->suite);
    pair->is_variant = eval_suite_is_variant(facts, b);
    pair->is_binary = eval_suite_counts(a) && eval_suite_counts(b);
    if (differs)
        pair->why_not = arena_printf(arena, "the suite or the decoding differs (%s)", differs);
    else if (strcmp(a->metric, b->metric) != 0)
        pair->why_not = "one side counts right items, the other has scores";
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
    compare_samples(facts, arena, pair);
}

void eval_compare(const struct run_facts *facts, struct arena *arena, const struct eval_suite *a,
                  const struct eval_suite *b, struct eval_pair *out)
{
    double before = eval_frozen_number(a->frozen, "temperature");
    double after = eval_frozen_number(b->frozen, "temperature");

    *out = (struct eval_pair){.base = a, .candidate = b, .lost = NONE, .gained = NONE, .n_groups = NONE,
                              .base_runs = {1, NAN, NAN, NAN}, .candidate_runs = {1, NAN, NAN, NAN},
                              .n_alone = NAN, .temperature = fmax(before, after),
                              .interval = {NAN, NAN}, .p = NAN};
    compare(facts, arena, out);
}

bool eval_pairs_read(const struct run_facts *facts, struct arena *arena, struct eval_pair **pairs,
                     size_t *n)
{
    struct eval_pair *list = arena_array(arena, facts->n_eval_suites + 1, sizeof *list);
    struct eval_pool *pools = NULL;
    size_t n_pools = 0;

    *n = 0;
    *pairs = list;
    if (!list || !eval_pools_read(facts, arena, &pools, &n_pools))
        return false;
    for (size_t i = 0; i < n_pools; i++) {
        const struct eval_suite *own = pools[i].suite;
        const struct eval_pool *base;

        if (eval_model_is_base(facts, own->model) || is_said_before(pools, i) ||
            !(base = base_of(facts, arena, pools, n_pools, own)))
            continue;
        eval_compare(facts, arena, base->suite, own, &list[*n]);
        list[*n].base_runs = base->runs;
        list[(*n)++].candidate_runs = pools[i].runs;
    }
    return true;
}

const char *eval_reached(const struct eval_suite *suite, struct arena *arena)
{
    double sum = suite->n_correct;
    const char *text =
        eval_suite_counts(suite)
            ? arena_printf(arena, "%.*f of %lld", sum == floor(sum) ? 0 : 1, sum, (long long)suite->n)
            : arena_printf(arena, "%.4g over %lld items", sum / (double)suite->n, (long long)suite->n);

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

    return smallest_effect(isnan(pair->n_alone) ? n : pair->n_alone, eval_discordance(pair));
}
