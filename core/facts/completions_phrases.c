/* Phrases of one to five words that more completions hold in the last quarter than in the first.
 *
 * What is counted is whether a completion holds the phrase, not how often, and the units of the test are
 * groups (the completions of one prompt at one step), since completions of one prompt are no independent
 * witnesses: shares are means over groups, the test is Fisher's exact one on them, rounded against the
 * rise, its p times the number of phrases tested. A group whose prompt holds the phrase does not count
 * for it. Reward with and without a phrase is compared inside groups alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/facts/completions_parts.h"
#include "core/stats/fisher.h"

#define BUCKETS ((size_t)1 << 21)
#define SLOTS   ((size_t)1 << 19)

enum { MOST_WORDS = 1500, LONGEST_WORDS = 16, FEWEST_GROUPS = 3, RANKED = 4000 };

static const double SIGNIFICANT = 0.05, SUPPORT = 0.05, ALIKE = 0.75, ALMOST = 1e-9;

struct gram {                   /* a phrase that enough groups of the last quarter hold */
    uint64_t key;               /* 0: the slot is free */
    const char *p;              /* where it stands first */
    uint32_t n, in_text;        /* bytes; which of the texts */
    uint32_t text_mark, group_mark, prompt_mark;    /* number + 1 of the last that had it */
    uint32_t in_group, words;
    double with;                /* sum of rewards in the group */
    int64_t n_first, n_last, groups_last, out_first, out_last, n_gain, n_gain_up;
    double share_first, share_last, gain;
};

struct at {                     /* what is being looked through */
    const struct phrase_group *group;
    uint32_t group_mark, text_mark;
    double reward;
};

struct search {
    const struct phrase_input *input;
    struct at here;
    struct completions *out;
    uint32_t *marks, *groups_of;    /* by bucket */
    struct gram *slots, **touched;
    size_t n_grams, n_touched;
    int64_t n_first, n_last;        /* groups */
    bool is_full;
};

/* ---- n-grams of a text ---- */

static uint64_t word_hash(struct str word)
{
    char low[64] = {0};
    size_t n = word.n < sizeof low ? word.n : sizeof low;

    for (size_t i = 0; i < n; i++)
        low[i] = word.p[i] >= 'A' && word.p[i] <= 'Z' ? (char)(word.p[i] + 32) : word.p[i];
    uint64_t hash = hash_bytes(low, n);
    return word.n > n ? hash_more(hash, word.p + n, word.n - n) : hash;
}

/* Of the words, the last one first: so the phrases that end with one word share their beginning. */
static uint64_t key_of(const uint64_t *hashes, size_t n)
{
    uint64_t key = 0;

    for (size_t k = 0; k < n; k++)
        key = hash_more(key + k + 1, &hashes[n - 1 - k], sizeof *hashes);
    return key ? key : 1;
}

struct place {
    uint64_t key;
    const char *p;
    uint32_t n, words;
};

/* Calls `see` for each phrase of the text, as often as it stands there. */
static void each_gram(struct str text, void (*see)(struct search *, const struct place *),
                      struct search *search)
{
    struct str rest = text, word, words[COMPLETION_WORDS];
    uint64_t hashes[COMPLETION_WORDS];
    size_t n = 0;

    while (n < MOST_WORDS && completion_next_word(&rest, &word)) {
        size_t held = n < COMPLETION_WORDS ? n : COMPLETION_WORDS - 1;

        if (n >= COMPLETION_WORDS) {
            memmove(words, words + 1, (COMPLETION_WORDS - 1) * sizeof *words);
            memmove(hashes, hashes + 1, (COMPLETION_WORDS - 1) * sizeof *hashes);
        }
        words[held] = word;
        hashes[held] = word_hash(word);
        n++;
        uint64_t key = 0;
        for (size_t k = 0; k <= held; k++) { /* the phrases that end with this word */
            const struct str *first = &words[held - k];

            key = hash_more(key + k + 1, &hashes[held - k], sizeof *hashes);
            const struct place place = {key ? key : 1, first->p,
                                        (uint32_t)(word.p + word.n - first->p), (uint32_t)k + 1};
            see(search, &place);
        }
    }
}

/* ---- Which phrases ---- */

static struct gram *slot_of(const struct search *search, uint64_t key)
{
    size_t i = (size_t)(key >> 20) & (SLOTS - 1);

    while (search->slots[i].key && search->slots[i].key != key)
        i = (i + 1) & (SLOTS - 1);
    return &search->slots[i];
}

static uint32_t now(const struct search *search, const struct phrase_group *group)
{
    return (uint32_t)(group - search->input->groups) + 1;
}

static void count_bucket(struct search *search, const struct place *place)
{
    size_t i = (size_t)place->key & (BUCKETS - 1);

    if (search->marks[i] == search->here.group_mark)
        return;
    search->marks[i] = search->here.group_mark;
    search->groups_of[i]++;
}

static void keep_frequent(struct search *search, const struct place *place)
{
    if ((int64_t)search->groups_of[(size_t)place->key & (BUCKETS - 1)] < search->out->min_groups ||
        search->is_full)
        return;
    struct gram *gram = slot_of(search, place->key);
    if (gram->key)
        return;
    if (search->n_grams == SLOTS / 2) {
        search->is_full = true;
        return;
    }
    *gram = (struct gram){.key = place->key, .p = place->p, .n = place->n, .words = place->words,
                          .in_text = search->here.text_mark - 1};
    search->n_grams++;
}

static void each_text(struct search *search, bool only_last,
                      void (*see)(struct search *, const struct place *))
{
    for (size_t i = 0; i < search->input->n_groups; i++) {
        const struct phrase_group *group = &search->input->groups[i];

        search->here = (struct at){.group = group, .group_mark = now(search, group)};
        for (size_t k = 0; k < group->n && (group->is_last || !only_last); k++) {
            search->here.text_mark = (uint32_t)(group->first + k) + 1;
            each_gram(search->input->texts[group->first + k].text, see, search);
        }
    }
}

/* With more phrases than there is room for, those of more groups. */
static void choose_phrases(struct search *search)
{
    int64_t support = (int64_t)ceil(SUPPORT * (double)search->n_last);

    search->out->min_groups = support > FEWEST_GROUPS ? support : FEWEST_GROUPS;
    each_text(search, true, count_bucket);
    for (;;) {
        search->is_full = false;
        search->n_grams = 0;
        memset(search->slots, 0, SLOTS * sizeof *search->slots);
        each_text(search, true, keep_frequent);
        if (!search->is_full)
            return;
        search->out->min_groups *= 2;
    }
}

/* ---- Counting them ---- */

static void mark_prompt(struct search *search, const struct place *place)
{
    struct gram *gram = slot_of(search, place->key);

    if (!gram->key || gram->prompt_mark == search->here.group_mark)
        return;
    gram->prompt_mark = search->here.group_mark;
    *(search->here.group->is_last ? &gram->out_last : &gram->out_first) += 1;
}

static void count_gram(struct search *search, const struct place *place)
{
    struct gram *gram = slot_of(search, place->key);

    if (!gram->key || gram->text_mark == search->here.text_mark ||
        gram->prompt_mark == search->here.group_mark)
        return;
    gram->text_mark = search->here.text_mark;
    if (gram->group_mark != search->here.group_mark) {
        gram->group_mark = search->here.group_mark;
        gram->in_group = 0;
        gram->with = 0.0;
        search->touched[search->n_touched++] = gram;
    }
    gram->in_group++;
    gram->with += search->here.reward;
}

/* sum: of the rewards of the group, NaN where one is not known. */
static void close_group(struct search *search, const struct phrase_group *group, double sum)
{
    for (size_t i = 0; i < search->n_touched; i++) {
        struct gram *gram = search->touched[i];
        double share = (double)gram->in_group / (double)group->n;

        *(group->is_last ? &gram->n_last : &gram->n_first) += gram->in_group;
        *(group->is_last ? &gram->share_last : &gram->share_first) += share;
        gram->groups_last += group->is_last;
        if (isnan(sum) || gram->in_group == group->n)
            continue;
        double without = (sum - gram->with) / (double)(group->n - gram->in_group);
        double gain = gram->with / (double)gram->in_group - without;

        gram->gain += gain;
        gram->n_gain++;
        gram->n_gain_up += gain > ALMOST;
    }
    search->n_touched = 0;
}

static void count_phrases(struct search *search)
{
    for (size_t i = 0; i < search->input->n_groups; i++) {
        const struct phrase_group *group = &search->input->groups[i];
        double sum = 0.0;

        search->here = (struct at){.group = group, .group_mark = now(search, group)};
        each_gram(group->prompt, mark_prompt, search);
        for (size_t k = 0; k < group->n; k++) {
            const struct phrase_text *text = &search->input->texts[group->first + k];

            search->here.text_mark = (uint32_t)(group->first + k) + 1;
            search->here.reward = isnan(text->reward) ? 0.0 : text->reward;
            sum += text->reward;
            each_gram(text->text, count_gram, search);
        }
        close_group(search, group, sum);
    }
}

/* ---- What rose ---- */

struct ranked {
    const struct gram *gram;
    struct str whole;           /* of those that are kept */
    struct completion_phrase phrase;
};

static bool judge(const struct search *search, const struct gram *gram, struct ranked *out)
{
    double n1 = (double)(search->n_first - gram->out_first),
           n2 = (double)(search->n_last - gram->out_last);

    if (n1 < 1.0 || n2 < 1.0)
        return false;
    double first = gram->share_first / n1, last = gram->share_last / n2;
    double gain = gram->n_gain ? gram->gain / (double)gram->n_gain : NAN;
    if (last <= first || gain <= 0.0)
        return false;
    int64_t k1 = (int64_t)ceil(gram->share_first - ALMOST), k2 = (int64_t)floor(gram->share_last + ALMOST);
    double p = fisher_rise_p(k1, (int64_t)n1, k2, (int64_t)n2) * (double)search->out->n_tested;
    if (!(p < SIGNIFICANT))
        return false;
    out->gram = gram;
    out->phrase = (struct completion_phrase){
        .n_first = gram->n_first,
        .n_last = gram->n_last,
        .first = first,
        .last = last,
        .times = (gram->share_last + 0.5) / (n2 + 1.0) / ((gram->share_first + 0.5) / (n1 + 1.0)),
        .p = p,
        .gain = gain,
        .n_gain = gram->n_gain,
        .n_gain_up = gram->n_gain_up,
    };
    return true;
}

/* Equal rises: the longer phrase says more; then the one that stands first. */
static int by_rise(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;

    if (fabs(a->phrase.times - b->phrase.times) > ALMOST * b->phrase.times)
        return a->phrase.times > b->phrase.times ? -1 : 1;
    if (a->gram->words != b->gram->words)
        return a->gram->words > b->gram->words ? -1 : 1;
    if (a->gram->in_text != b->gram->in_text)
        return a->gram->in_text < b->gram->in_text ? -1 : 1;
    return (a->gram->p > b->gram->p) - (a->gram->p < b->gram->p);
}

/* The whole text that the phrase is a piece of: word by word as long as what is added is as frequent. */
static struct str whole_of(const struct search *search, const struct gram *gram)
{
    struct str text = search->input->texts[gram->in_text].text, word;
    struct str words[LONGEST_WORDS], rest = str_from(gram->p, (size_t)(text.p + text.n - gram->p));
    uint64_t hashes[LONGEST_WORDS];
    size_t n = 0;

    while (n < LONGEST_WORDS && completion_next_word(&rest, &word)) {
        words[n] = word;
        hashes[n++] = word_hash(word);
        if (n <= gram->words)
            continue;
        size_t from = n < COMPLETION_WORDS ? 0 : n - COMPLETION_WORDS;
        const struct gram *next = slot_of(search, key_of(hashes + from, n - from));
        if (!next->key || (double)next->n_last < ALIKE * (double)gram->n_last) {
            n--;
            break;
        }
    }
    return str_from(gram->p, n ? (size_t)(words[n - 1].p + words[n - 1].n - gram->p) : 0);
}

/* The most words in a row that both have. */
static size_t common_run(struct str a, struct str b)
{
    struct str word;
    uint64_t x[LONGEST_WORDS] = {0}, y[LONGEST_WORDS] = {0};
    size_t n = 0, m = 0, best = 0;

    while (n < LONGEST_WORDS && completion_next_word(&a, &word))
        x[n++] = word_hash(word);
    while (m < LONGEST_WORDS && completion_next_word(&b, &word))
        y[m++] = word_hash(word);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++) {
            size_t run = 0;
            while (i + run < n && k + run < m && x[i + run] == y[k + run])
                run++;
            best = run > best ? run : best;
        }
    return best;
}

/* A part of one that is kept, or a shifted piece of the same text, with about the same counts. */
static bool says_the_same(const struct ranked *a, const struct ranked *kept)
{
    double most = fmax(a->phrase.last, kept->phrase.last);

    return fabs(a->phrase.last - kept->phrase.last) <= (1.0 - ALIKE) * most &&
           2 * common_run(str_from(a->gram->p, a->gram->n), kept->whole) >= a->gram->words;
}

static const char *shown(struct arena *arena, struct str rest)
{
    struct str word;
    const char *text = "";

    while (completion_next_word(&rest, &word))
        text = arena_printf(arena, "%s%s%.*s", text, *text ? " " : "",
                            (int)(word.n < 80 ? word.n : 80), word.p);
    return text;
}

static int keep_phrases(struct search *search, struct ranked *list, size_t n, struct arena *arena,
                        struct error *err)
{
    struct completion_phrase *phrases = arena_array(arena, COMPLETION_PHRASES, sizeof *phrases);
    struct ranked *kept[COMPLETION_PHRASES];
    size_t n_kept = 0;

    if (!phrases)
        return error_set(err, E_NOMEM, "no memory for phrases");
    for (size_t i = 0; i < n && i < RANKED && n_kept < COMPLETION_PHRASES; i++) {
        bool is_new = true;

        for (size_t k = 0; k < n_kept && is_new; k++)
            is_new = !says_the_same(&list[i], kept[k]);
        if (!is_new)
            continue;
        kept[n_kept] = &list[i];
        list[i].whole = whole_of(search, list[i].gram);
        phrases[n_kept] = list[i].phrase;
        phrases[n_kept++].text = shown(arena, list[i].whole);
    }
    search->out->phrases = phrases;
    search->out->n_phrases = n_kept;
    return OK;
}

static int rank(struct search *search, struct arena *arena, struct error *err)
{
    struct ranked *list = malloc((search->n_grams + 1) * sizeof *list);
    size_t n = 0;

    if (!list)
        return error_set(err, E_NOMEM, "no memory for %zu phrases", search->n_grams);
    for (size_t i = 0; i < SLOTS; i++)
        search->out->n_tested += search->slots[i].groups_last >= search->out->min_groups;
    for (size_t i = 0; i < SLOTS; i++)
        if (search->slots[i].groups_last >= search->out->min_groups)
            n += judge(search, &search->slots[i], &list[n]);
    search->out->n_inflated = (int64_t)n;
    qsort(list, n, sizeof *list, by_rise);
    int rc = keep_phrases(search, list, n, arena, err);
    free(list);
    return rc;
}

int completions_find_phrases(const struct phrase_input *input, struct arena *arena,
                             struct completions *out, struct error *err)
{
    struct search search = {.input = input,
                            .out = out,
                            .marks = calloc(BUCKETS, sizeof *search.marks),
                            .groups_of = calloc(BUCKETS, sizeof *search.groups_of),
                            .slots = malloc(SLOTS * sizeof *search.slots),
                            .touched = malloc(SLOTS / 2 * sizeof *search.touched)};
    int rc = OK;

    for (size_t i = 0; i < input->n_groups; i++)
        *(input->groups[i].is_last ? &search.n_last : &search.n_first) += 1;
    if (!search.marks || !search.groups_of || !search.slots || !search.touched) {
        rc = error_set(err, E_NOMEM, "no memory for the phrases of completions");
    } else {
        choose_phrases(&search);
        count_phrases(&search);
        rc = rank(&search, arena, err);
    }
    free(search.marks);
    free(search.groups_of);
    free(search.slots);
    free(search.touched);
    return rc;
}
