/* Inputs that stand in several rows: which of them have targets that contradict each other (CHECKS.md
 * F13), by hashes first and by the texts where the hashes differ; and the groups that are shown. */
#include <stdlib.h>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/unicode.h"
#include "core/facts/data_parts.h"
#include "core/facts/data_words.h"
#include "core/similar/normal.h"

enum { MOST_TARGETS = 64, MOST_EDGES = 4096, ROWS_KEPT = 200, INPUT_BYTES = 16 << 10,
       TARGET_BYTES = 4 << 10, COMPARED_BYTES = 64 << 10, SEED = 20 };

/* ---- Sorting ---- */

/* By the hash, of equal ones by row as they are given: eight passes of one byte each. */
void data_sort_keys(struct data_key *keys, size_t n, struct data_key *scratch)
{
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t at[257] = {0};

        for (size_t i = 0; i < n; i++)
            at[((keys[i].hash >> shift) & 255) + 1]++;
        for (int b = 0; b < 256; b++)
            at[b + 1] += at[b];
        for (size_t i = 0; i < n; i++)
            scratch[at[(keys[i].hash >> shift) & 255]++] = keys[i];
        struct data_key *other = keys;
        keys = scratch;
        scratch = other;
    }
}

/* ---- Groups ---- */

struct found {                  /* one group: keys[first … first + n) are its rows, by target */
    size_t first, n;
    uint64_t key;
    float jaccard;
    uint8_t kind;               /* enum data_group_kind */
    bool has_several;           /* targets, whose texts have to be compared */
};

struct search {
    struct data_pass *pass;
    struct data_key *keys, *scratch;    /* rows by input; inside of a group by target */
    size_t n_keys;
    struct found *groups;
    size_t n_groups, capacity;
    struct arena *texts;
};

static bool is_grouped(const struct data_row *row)
{
    return (row->flags & DATA_ROW_TARGET) &&
           !(row->flags & (DATA_ROW_UNREADABLE | DATA_ROW_DEGENERATE | DATA_ROW_PART_UNKNOWN |
                            DATA_ROW_HALF));
}

static const struct data_row *row_of(const struct search *s, size_t i)
{
    return &s->pass->rows[s->keys[i].row];
}

/* What makes a row the same as another one. */
static uint64_t answer_of(const struct data_row *row)
{
    return row->flags & DATA_ROW_PREFERENCE
               ? hash_more(row->target, &row->other, sizeof row->other)
               : row->target;
}

static struct found *add_group(struct search *s, size_t first, size_t n)
{
    if (s->n_groups == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 256;
        struct found *groups = realloc(s->groups, capacity * sizeof *groups);

        if (!groups)
            return NULL;
        s->groups = groups;
        s->capacity = capacity;
    }
    struct found *group = &s->groups[s->n_groups++];
    *group = (struct found){.first = first, .n = n, .key = row_of(s, first)->key, .jaccard = 1.0f};
    return group;
}

/* ---- Preference: rankings that cannot both hold ---- */

struct edge {
    uint64_t better, worse;
};

static int by_better(const void *pa, const void *pb)
{
    const struct edge *a = pa, *b = pb;

    return a->better < b->better ? -1 : a->better > b->better;
}

static size_t first_from(const struct edge *edges, size_t n, uint64_t better)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (edges[middle].better < better)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What beats nobody that is left is taken away, again and again; what remains stands in a circle. */
static bool has_circle(struct edge *edges, struct edge *scratch, size_t n)
{
    qsort(edges, n, sizeof *edges, by_better);
    while (n) {
        size_t kept = 0;

        for (size_t i = 0; i < n; i++) {
            size_t at = first_from(edges, n, edges[i].worse);

            if (at < n && edges[at].better == edges[i].worse && edges[i].better != edges[i].worse)
                scratch[kept++] = edges[i];
        }
        if (kept == n)
            return true;
        struct edge *other = edges;
        edges = scratch;
        scratch = other;
        n = kept;
    }
    return false;
}

static int judge_rankings(struct search *s, struct found *group)
{
    size_t n = group->n < MOST_EDGES ? group->n : MOST_EDGES;
    struct edge *edges = malloc(2 * n * sizeof *edges);

    if (!edges)
        return E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct data_row *row = row_of(s, group->first + i);
        edges[i] = (struct edge){row->target, row->other};
    }
    if (has_circle(edges, edges + n, n))
        group->kind = DATA_RANKED_BOTH_WAYS;
    s->pass->out->n_not_compared += group->n > n;
    free(edges);
    return OK;
}

static void judge_labels(struct search *s, struct found *group)
{
    for (size_t i = group->first; i + 1 < group->first + group->n; i++) {
        const struct data_row *a = row_of(s, i), *b = row_of(s, i + 1);

        if (a->target == b->target && (a->flags & DATA_ROW_LIKED) != (b->flags & DATA_ROW_LIKED))
            group->kind = DATA_BOTH_LABELS;
    }
}

/* ---- Counting ---- */

/* The rows of the run, sorted by target; how many targets, and the rows of the commonest one. */
static size_t count_targets(struct search *s, size_t first, size_t n, size_t *most)
{
    size_t n_targets = 0, same = 0;

    for (size_t i = first; i < first + n; i++)
        s->keys[i].hash = answer_of(&s->pass->rows[s->keys[i].row]);
    data_sort_keys(&s->keys[first], n, s->scratch);
    *most = 0;
    for (size_t i = first; i < first + n; i++) {
        bool is_new = i == first || s->keys[i].hash != s->keys[i - 1].hash;

        n_targets += is_new;
        same = is_new ? 1 : same + 1;
        *most = same > *most ? same : *most;
    }
    return n_targets;
}

static int take_run(struct search *s, size_t first, size_t n)
{
    struct data_facts *out = s->pass->out;
    const struct data_row *row = row_of(s, first);
    size_t most, n_targets = count_targets(s, first, n, &most);

    out->n_duplicates += (int64_t)(n - n_targets);
    if (!(row->flags & DATA_ROW_INPUT))
        return OK;
    struct found *group = add_group(s, first, n);
    if (!group)
        return E_NOMEM;
    out->n_groups++;
    out->n_group_rows += (int64_t)n;
    out->n_best_rows += (int64_t)most;
    if (row->flags & DATA_ROW_PREFERENCE)
        return judge_rankings(s, group);
    if (row->flags & DATA_ROW_KTO)
        judge_labels(s, group);
    else
        group->has_several = n_targets > 1;
    return OK;
}

static int find_runs(struct search *s)
{
    int rc = OK;

    for (size_t i = 0, end; rc == OK && i < s->n_keys; i = end) {
        uint64_t hash = s->keys[i].hash;

        for (end = i + 1; end < s->n_keys && s->keys[end].hash == hash; end++)
            ;
        if (end - i > 1)
            rc = take_run(s, i, end - i);
    }
    return rc;
}

static void take_keys(struct search *s)
{
    for (size_t i = 0; i < s->pass->n; i++) {
        const struct data_row *row = &s->pass->rows[i];

        if (!is_grouped(row))
            continue;
        uint64_t hash = row->flags & DATA_ROW_INPUT ? row->key : ~row->target;
        s->keys[s->n_keys++] = (struct data_key){hash, (uint32_t)i};
    }
    data_sort_keys(s->keys, s->n_keys, s->scratch);
}

/* ---- Comparing texts ---- */

struct wanted {                 /* the first row of each target of a group with several */
    uint32_t row, group, slot;
};

struct texts {
    struct wanted *items;
    size_t n;
    struct str *of;             /* normal texts, by slot */
};

static int by_row(const void *pa, const void *pb)
{
    const struct wanted *a = pa, *b = pb;

    return a->row < b->row ? -1 : a->row > b->row;
}

/* Calls for each target of a group, at most MOST_TARGETS, the index of its first key. */
static size_t targets_of(const struct search *s, const struct found *group, size_t first[MOST_TARGETS],
                         size_t *n_more)
{
    size_t n = 0;

    *n_more = 0;
    for (size_t i = group->first; i < group->first + group->n; i++) {
        if (i > group->first && s->keys[i].hash == s->keys[i - 1].hash)
            continue;
        if (n < MOST_TARGETS)
            first[n++] = i;
        else
            ++*n_more;
    }
    return n;
}

static int list_wanted(struct search *s, struct texts *texts, struct error *err)
{
    size_t first[MOST_TARGETS], n_more, n = 0;

    for (size_t g = 0; g < s->n_groups; g++)
        if (s->groups[g].has_several)
            n += targets_of(s, &s->groups[g], first, &n_more);
    texts->items = calloc(n + 1, sizeof *texts->items);
    texts->of = calloc(n + 1, sizeof *texts->of);
    if (!texts->items || !texts->of)
        return error_set(err, E_NOMEM, "no memory for %zu targets", n);
    for (size_t g = 0; g < s->n_groups; g++) {
        if (!s->groups[g].has_several)
            continue;
        size_t k = targets_of(s, &s->groups[g], first, &n_more);
        for (size_t i = 0; i < k; i++, texts->n++)
            texts->items[texts->n] = (struct wanted){s->keys[first[i]].row, (uint32_t)g,
                                                     (uint32_t)texts->n};
    }
    qsort(texts->items, texts->n, sizeof *texts->items, by_row);
    return OK;
}

static int read_texts(struct search *s, struct texts *texts, struct error *err)
{
    struct data_reader reader = {0};
    struct arena *raw = arena_open(DATA_TEXT_BYTES);
    int rc = raw ? OK : error_set(err, E_NOMEM, "no memory for targets");

    for (size_t i = 0; rc == OK && i < texts->n; i++) {
        const struct wanted *item = &texts->items[i];

        arena_reset(raw);
        if (s->pass->hooks && s->pass->hooks->cancel && i % 256 == 0 &&
            atomic_load(s->pass->hooks->cancel)) {
            s->pass->out->is_partial = true;
            s->pass->out->missing = "stopped by the user";
            break;
        }
        struct str text = data_read_text(s->pass, &reader, item->row, 1, COMPARED_BYTES, raw);
        if (!text.p)
            continue;
        buf_clear(&s->pass->clean);
        data_without_special(text, &s->pass->clean);
        rc = normal_text(buf_view(&s->pass->clean), &s->pass->normal, err);
        struct str normal = buf_view(&s->pass->normal);
        if (rc == OK && arena_used(s->texts) + normal.n < DATA_TEXT_BYTES)
            texts->of[item->slot] = arena_str(s->texts, normal);
    }
    data_reader_close(&reader);
    arena_close(raw);
    return rc;
}

/* Not all of its texts are there: nothing is said of it. */
static void judge_texts(struct search *s, struct found *group, const struct str *texts, size_t n)
{
    group->kind = DATA_AGREES;
    for (size_t i = 0; i < n; i++)
        if (!texts[i].p) {
            s->pass->out->n_not_compared++;
            return;
        }
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            double jaccard;
            enum data_difference difference = data_compare(texts[i], texts[k], &jaccard);

            if (jaccard < (double)group->jaccard)
                group->jaccard = (float)jaccard;
            if (difference == DATA_CONTRADICTS)
                group->kind = DATA_CONTRADICTORY;
            if (difference == DATA_OTHER_TEXT && group->kind == DATA_AGREES)
                group->kind = DATA_FREE_TEXT;
        }
}

static int compare_texts(struct search *s, struct error *err)
{
    struct texts texts = {0};
    int rc = list_wanted(s, &texts, err);
    size_t slot = 0;

    if (rc == OK && texts.n)
        rc = read_texts(s, &texts, err);
    for (size_t g = 0; rc == OK && g < s->n_groups; g++) {
        size_t first[MOST_TARGETS], n_more;

        if (!s->groups[g].has_several)
            continue;
        size_t n = targets_of(s, &s->groups[g], first, &n_more);
        judge_texts(s, &s->groups[g], &texts.of[slot], n);
        slot += n;
    }
    free(texts.items);
    free(texts.of);
    return rc;
}

/* ---- What is shown ---- */

static bool is_bad(const struct found *group)
{
    return group->kind >= DATA_CONTRADICTORY;
}

static void count_kinds(struct search *s)
{
    struct data_facts *out = s->pass->out;

    for (size_t g = 0; g < s->n_groups; g++) {
        int64_t n = (int64_t)s->groups[g].n;

        if (is_bad(&s->groups[g])) {
            out->n_contradictory++;
            out->n_contradictory_rows += n;
        } else if (s->groups[g].kind == DATA_FREE_TEXT) {
            out->n_free++;
            out->n_free_rows += n;
        }
    }
}

/* CHECKS.md 7.4: all contradictory ones, or 20 drawn of more; then others. Groups are in order of their
 * keys. */
static size_t choose(const struct search *s, size_t chosen[DATA_GROUPS])
{
    size_t n_bad = (size_t)s->pass->out->n_contradictory, n = 0, seen = 0;
    struct random random;

    random_seed(&random, SEED);
    for (size_t g = 0; g < s->n_groups && n < DATA_GROUPS; g++) {
        if (!is_bad(&s->groups[g]))
            continue;
        size_t left = n_bad - seen++, open = DATA_GROUPS - n;
        if (left <= open || random_below(&random, left) < open)
            chosen[n++] = g;
    }
    for (int pass = 0; pass < 2; pass++)
        for (size_t g = 0; g < s->n_groups && n < DATA_GROUPS; g++)
            if (!is_bad(&s->groups[g]) && (s->groups[g].kind == DATA_FREE_TEXT) == (pass == 0))
                chosen[n++] = g;
    return n;
}

struct data_place data_place_of(const struct data_pass *pass, size_t row)
{
    const struct data_row *of = &pass->rows[row];

    return (struct data_place){of->file, (int64_t)row - pass->files[of->file].first_row, of->at};
}

static const char *shown_text(struct search *s, struct data_reader *reader, size_t i, size_t limit,
                              int which)
{
    struct arena *arena = s->pass->arena;
    struct buf valid;

    struct str text = data_read_text(s->pass, reader, s->keys[i].row, which, limit, s->texts);
    if (!text.p)
        text = str_of("(not among the candidates of the facts)");
    buf_init(&valid, 4 * limit + 64);
    unicode_valid(&valid, unicode_cut(text, limit));
    const char *kept = arena_strdup(arena, valid.p ? valid.p : "");
    buf_free(&valid);
    return kept;
}

static int by_count(const void *pa, const void *pb)
{
    const struct data_target *a = pa, *b = pb;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    if (a->n_rows && b->n_rows && a->rows[0].file != b->rows[0].file)
        return a->rows[0].file < b->rows[0].file ? -1 : 1;
    if (a->n_rows && b->n_rows && a->rows[0].row != b->rows[0].row)
        return a->rows[0].row < b->rows[0].row ? -1 : 1;
    return strcmp(a->text, b->text);
}

/* Rows i … end have one target. */
static void show_target(struct search *s, struct data_reader *reader, const struct found *group,
                        size_t i, size_t end, struct data_target *out)
{
    struct arena *arena = s->pass->arena;
    size_t n = end - i < ROWS_KEPT ? end - i : ROWS_KEPT;
    struct data_place *rows = arena_array(arena, n, sizeof *rows);
    const struct data_row *row = row_of(s, i);

    out->text = shown_text(s, reader, i, TARGET_BYTES, 1);
    if (group->kind == DATA_BOTH_LABELS)
        out->text = arena_printf(arena, "%s: %s", row->flags & DATA_ROW_LIKED ? "liked" : "disliked",
                                 out->text);
    else if (row->flags & DATA_ROW_PREFERENCE)
        out->text = arena_printf(arena, "chosen: %s\nrejected: %s", out->text,
                                 shown_text(s, reader, i, TARGET_BYTES, 2));
    out->count = (int64_t)(end - i);
    for (size_t k = 0; rows && k < n; k++)
        rows[k] = data_place_of(s->pass, s->keys[i + k].row);
    out->rows = rows;
    out->n_rows = rows ? n : 0;
}

/* KTO: one answer with two labels is shown as two. */
static void part_by_label(struct search *s, const struct found *group)
{
    for (size_t i = group->first; i < group->first + group->n; i++) {
        const struct data_row *row = row_of(s, i);
        uint32_t liked = row->flags & DATA_ROW_LIKED;

        s->keys[i].hash = hash_more(row->target, &liked, sizeof liked);
    }
    data_sort_keys(&s->keys[group->first], group->n, s->scratch);
}

static size_t first_of(const struct search *s, const struct found *group)
{
    size_t first = group->first;

    for (size_t i = group->first; i < group->first + group->n; i++)
        if (s->keys[i].row < s->keys[first].row)
            first = i;
    return first;
}

static void show_group(struct search *s, struct data_reader *reader, const struct found *group,
                       struct data_group *out)
{
    struct data_target *targets = arena_array(s->pass->arena, MOST_TARGETS, sizeof *targets);

    *out = (struct data_group){.key = group->key,
                               .kind = (enum data_group_kind)group->kind,
                               .n_rows = (int64_t)group->n,
                               .jaccard = (double)group->jaccard,
                               .input = shown_text(s, reader, first_of(s, group), INPUT_BYTES, 0),
                               .targets = targets};
    if (group->kind == DATA_BOTH_LABELS)
        part_by_label(s, group);
    for (size_t i = group->first, end; targets && i < group->first + group->n; i = end) {
        for (end = i + 1; end < group->first + group->n && s->keys[end].hash == s->keys[i].hash;
             end++)
            ;
        if (out->n_targets < MOST_TARGETS)
            show_target(s, reader, group, i, end, &targets[out->n_targets++]);
        else
            out->n_more++;
    }
    if (out->n_targets)
        qsort(targets, out->n_targets, sizeof *targets, by_count);
}

static void show_groups(struct search *s)
{
    struct data_facts *out = s->pass->out;
    struct data_reader reader = {0};
    size_t chosen[DATA_GROUPS], n = choose(s, chosen);
    struct data_group *groups = arena_array(s->pass->arena, n + 1, sizeof *groups);

    for (size_t i = 0; groups && i < n; i++) {
        arena_reset(s->texts);
        show_group(s, &reader, &s->groups[chosen[i]], &groups[i]);
    }
    out->groups = groups;
    out->n_shown = groups ? n : 0;
    data_reader_close(&reader);
}

int data_find_groups(struct data_pass *pass, struct error *err)
{
    struct search s = {.pass = pass,
                       .keys = calloc(pass->n + 1, sizeof *s.keys),
                       .scratch = calloc(pass->n + 1, sizeof *s.scratch),
                       .texts = arena_open(DATA_TEXT_BYTES + (1 << 20))};
    int rc = s.keys && s.scratch && s.texts ? OK : E_NOMEM;

    if (rc == OK) {
        take_keys(&s);
        rc = find_runs(&s);
    }
    if (rc == E_NOMEM)
        rc = error_set(err, E_NOMEM, "no memory to group %zu rows", pass->n);
    if (rc == OK)
        rc = compare_texts(&s, err);
    if (rc == OK) {
        count_kinds(&s);
        show_groups(&s);
    }
    free(s.keys);
    free(s.scratch);
    free(s.groups);
    arena_close(s.texts);
    return rc;
}
