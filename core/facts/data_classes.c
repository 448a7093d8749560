/* One class a row: which openings and which lengths give it away (CHECKS.md F19); and the lengths of all
 * rows. */
#include <stdlib.h>

#include "core/base/unicode.h"
#include "core/facts/data_parts.h"
#include "core/facts/data_words.h"
#include "core/similar/normal.h"

enum { FEWEST_OF_CLASS = 5, MANY_ANSWERS = 20, MANY_CLASSES = 1024, NAME_BYTES = 64,
       SHOWN_OPENINGS_BYTES = 4096, FEWEST_FOR_LENGTH = 20 };

struct search {
    struct data_pass *pass;
    struct data_key *keys, *scratch;    /* rows by class */
    size_t n_keys;
    uint32_t *class_of;                 /* of a row; UINT32_MAX: none */
    size_t *first;                      /* of a class, among the keys; n_classes + 1 of them */
    size_t n_classes;
};

/* ---- Classes ---- */

static bool has_class(const struct data_row *row)
{
    return (row->flags & DATA_ROW_TARGET) && (row->flags & DATA_ROW_SHORT) &&
           !(row->flags & (DATA_ROW_UNREADABLE | DATA_ROW_DEGENERATE | DATA_ROW_FRACTION));
}

/* Are they classes at all: a label column, or few answers that recur. */
static bool are_classes(const struct data_pass *pass)
{
    size_t n_labels = 0, n_with = 0;

    for (size_t i = 0; i < pass->n; i++) {
        n_labels += (pass->rows[i].flags & DATA_ROW_LABEL) != 0;
        n_with += has_class(&pass->rows[i]);
        if (pass->rows[i].flags & (DATA_ROW_PREFERENCE | DATA_ROW_KTO))
            return false;
    }
    pass->out->has_labels = n_labels > 0 && 10 * n_labels >= 9 * pass->n;
    return pass->openings && n_with > 0 && (pass->out->has_labels || 100 * n_with >= 99 * pass->n);
}

static size_t count_classes(struct search *s, size_t *n_small)
{
    size_t n = 0, from = 0;

    *n_small = 0;
    for (size_t i = 0; i <= s->n_keys; i++) {
        if (i < s->n_keys && s->keys[i].hash == s->keys[from].hash)
            continue;
        n++;
        *n_small += i - from < FEWEST_OF_CLASS;
        from = i;
    }
    return n;
}

/* Those with enough rows, the rest of the rows belong to none. */
static void number_classes(struct search *s)
{
    size_t kept = 0, from = 0;

    for (size_t i = 0; i < s->pass->n; i++)
        s->class_of[i] = UINT32_MAX;
    for (size_t i = 1; i <= s->n_keys; i++) {
        if (i < s->n_keys && s->keys[i].hash == s->keys[from].hash)
            continue;
        if (i - from >= FEWEST_OF_CLASS && s->n_classes < MANY_CLASSES) {
            s->first[s->n_classes] = kept;
            for (size_t k = from; k < i; k++) {
                s->class_of[s->keys[k].row] = (uint32_t)s->n_classes;
                s->keys[kept++] = s->keys[k];
            }
            s->n_classes++;
        }
        from = i;
    }
    s->first[s->n_classes] = kept;
    s->n_keys = kept;
}

static size_t rows_of(const struct search *s, size_t c)
{
    return s->first[c + 1] - s->first[c];
}

/* ---- Openings ---- */

/* The commonest opening of k words of the keys: its hash, how often, and a row that has it. */
static uint32_t commonest(struct search *s, size_t from, size_t end, int k, size_t *n, uint32_t *row)
{
    size_t m = 0, same = 0;
    struct data_key *list = s->scratch, *other = s->scratch + (end - from);
    uint32_t best = 0;

    for (size_t i = from; i < end; i++) {
        uint32_t hash = s->pass->openings[s->keys[i].row].hashes[k];
        if (hash)
            list[m++] = (struct data_key){hash, s->keys[i].row};
    }
    data_sort_keys(list, m, other);
    *n = 0;
    for (size_t i = 0; i < m; i++) {
        same = i && list[i].hash == list[i - 1].hash ? same + 1 : 1;
        if (same <= *n)
            continue;
        *n = same;
        best = (uint32_t)list[i].hash;
        *row = list[i].row;
    }
    return best;
}

/* The first k words of the row's question, as they are written but in small letters. */
static const char *opening_text(struct search *s, struct data_reader *reader, uint32_t row, int k)
{
    struct data_pass *pass = s->pass;

    if (pass->files[pass->rows[row].file].split)
        return data_form_opening(pass, row, k);
    struct arena *arena = arena_open(1 << 20);
    struct buf text;
    struct str normal, word;
    struct error ignored;

    buf_init(&text, SHOWN_OPENINGS_BYTES);
    if (arena) {
        struct str raw = data_read_text(pass, reader, row, 3, SHOWN_OPENINGS_BYTES, arena);
        buf_clear(&pass->clean);
        data_without_special(raw, &pass->clean);
        if (normal_text(buf_view(&pass->clean), &pass->normal, &ignored) == OK) {
            normal = buf_view(&pass->normal);
            for (int i = 0; i <= k && data_next_word(&normal, &word); i++) {
                if (i)
                    buf_putc(&text, ' ');
                buf_str(&text, word);
            }
        }
    }
    const char *kept = arena_strdup(pass->arena, text.p ? text.p : "");
    buf_free(&text);
    arena_close(arena);
    return kept;
}

static int64_t rows_that_begin(const struct search *s, uint32_t hash, int k)
{
    int64_t n = 0;

    for (size_t i = 0; i < s->n_keys; i++)
        n += s->pass->openings[s->keys[i].row].hashes[k] == hash;
    return n;
}

static void find_opening(struct search *s, struct data_reader *reader, size_t c, int k,
                         struct data_opening *out)
{
    size_t n;
    uint32_t row = 0, hash = commonest(s, s->first[c], s->first[c + 1], k, &n, &row);

    if (hash)
        *out = (struct data_opening){.text = opening_text(s, reader, row, k),
                                     .n_in = (int64_t)n,
                                     .n_out = rows_that_begin(s, hash, k) - (int64_t)n};
}

/* An instruction that stands before nearly all rows is no cue: how many words it has. Two words behind
 * it have to be left to look at. */
static int count_shared_words(struct search *s)
{
    int shared = 0;

    for (int k = 0; k < DATA_OPENINGS - 2; k++) {
        size_t n;
        uint32_t row = 0;

        if (!commonest(s, 0, s->n_keys, k, &n, &row) || 20 * n < 19 * s->n_keys)
            break;
        shared = k + 1;
    }
    return shared;
}

/* Two words decide; the others are looked at where those are common. */
static void find_openings(struct search *s, struct data_reader *reader, size_t c,
                          struct data_class *out)
{
    int two = (int)s->pass->out->n_shared_words + 1;

    find_opening(s, reader, c, two, &out->openings[two]);
    if (2 * out->openings[two].n_in < out->n_rows)
        return;
    for (int k = 0; k < DATA_OPENINGS; k++)
        if (k != two)
            find_opening(s, reader, c, k, &out->openings[k]);
}

/* ---- One threshold on the length ---- */

struct length {
    uint32_t n, class;
};

static int by_length(const void *pa, const void *pb)
{
    const struct length *a = pa, *b = pb;

    return a->n < b->n ? -1 : a->n > b->n;
}

/* right[i]: the most rows of one class among list[i …], class_right[i]: of which. */
static void sweep_right(const struct length *list, size_t n, size_t *counts, uint32_t *best,
                        uint32_t *best_class)
{
    uint32_t most = 0, class = 0;

    best[n] = 0;
    best_class[n] = 0;
    for (size_t i = n; i-- > 0;) {
        if (++counts[list[i].class] > most) {
            most = (uint32_t)counts[list[i].class];
            class = list[i].class;
        }
        best[i] = most;
        best_class[i] = class;
    }
}

struct split {
    size_t at, n_right;         /* list[0 … at) on the one side */
    uint32_t below, above;
};

static struct split best_split(const struct length *list, size_t n, size_t *counts,
                               size_t n_classes, const uint32_t *best, const uint32_t *best_class)
{
    struct split found = {0};
    size_t most = 0;
    uint32_t class = 0;

    memset(counts, 0, n_classes * sizeof *counts);
    for (size_t i = 1; i < n; i++) {
        if (++counts[list[i - 1].class] > most) {
            most = counts[list[i - 1].class];
            class = list[i - 1].class;
        }
        if (list[i].n != list[i - 1].n && class != best_class[i] && most + best[i] > found.n_right)
            found = (struct split){i, most + best[i], class, best_class[i]};
    }
    return found;
}

/* Sorts the list. False: no memory. */
static bool split_lengths(struct length *list, size_t n, size_t n_classes, struct split *out)
{
    size_t *counts = calloc(n_classes + 1, sizeof *counts);
    uint32_t *best = calloc(2 * (n + 1), sizeof *best);
    bool has_room = counts && best;

    if (has_room && n) {
        qsort(list, n, sizeof *list, by_length);
        sweep_right(list, n, counts, best, best + n + 1);
        *out = best_split(list, n, counts, n_classes, best, best + n + 1);
    }
    free(counts);
    free(best);
    return has_room;
}

static int find_length_rule(struct search *s, const char *const *names, struct error *err)
{
    struct data_length_rule *rule = &s->pass->out->length_rule;
    struct length *list = calloc(s->n_keys + 1, sizeof *list);
    bool has_room = list;

    rule->n_rows = (int64_t)s->n_keys;
    for (size_t c = 0; c < s->n_classes; c++)
        if ((int64_t)rows_of(s, c) > rule->n_majority)
            rule->n_majority = (int64_t)rows_of(s, c);
    for (int of = 0; has_room && of < 2; of++) {
        struct split split = {0};

        for (size_t i = 0; i < s->n_keys; i++) {
            const struct data_row *row = &s->pass->rows[s->keys[i].row];
            list[i] = (struct length){of ? row->n_bytes : row->n_words, s->class_of[s->keys[i].row]};
        }
        has_room = split_lengths(list, s->n_keys, s->n_classes, &split);
        if ((int64_t)split.n_right <= rule->n_right || s->n_keys < FEWEST_FOR_LENGTH)
            continue;
        rule->of = of ? "bytes" : "words";
        rule->threshold = list[split.at - 1].n;
        rule->n_right = (int64_t)split.n_right;
        rule->below = names[split.below];
        rule->above = names[split.above];
    }
    free(list);
    return has_room ? OK : error_set(err, E_NOMEM, "no memory for the lengths of %zu rows", s->n_keys);
}

/* ---- All of it ---- */

static const char *class_name(struct search *s, struct data_reader *reader, size_t c)
{
    struct arena *arena = arena_open(1 << 16);
    struct buf valid;

    buf_init(&valid, 4 * NAME_BYTES);
    if (arena)
        unicode_valid(&valid, data_read_text(s->pass, reader, s->keys[s->first[c]].row, 1, NAME_BYTES,
                                             arena));
    const char *name = arena_strdup(s->pass->arena, valid.p ? valid.p : "");
    buf_free(&valid);
    arena_close(arena);
    return name;
}

static int by_rows(const void *pa, const void *pb)
{
    const struct data_class *a = pa, *b = pb;

    if (a->n_rows != b->n_rows)
        return a->n_rows > b->n_rows ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* How much a class is given away by its first two words. */
static bool is_kept(const struct data_facts *data, const struct data_class *class, size_t i)
{
    const struct data_opening *two = &class->openings[data->n_shared_words + 1];

    return i < DATA_CLASSES || 5 * two->n_in >= 4 * class->n_rows;
}

static int describe(struct search *s, struct error *err)
{
    struct data_facts *out = s->pass->out;
    struct data_class *classes = arena_array(s->pass->arena, s->n_classes + 1, sizeof *classes);
    const char **names = arena_array(s->pass->arena, s->n_classes + 1, sizeof *names);
    struct data_reader reader = {0};
    size_t kept = 0;

    if (!classes || !names)
        return error_set(err, E_NOMEM, "no memory for %zu classes", s->n_classes);
    out->n_shared_words = count_shared_words(s);
    for (size_t c = 0; c < s->n_classes; c++) {
        classes[c].name = names[c] = class_name(s, &reader, c);
        classes[c].n_rows = (int64_t)rows_of(s, c);
        out->n_class_rows += classes[c].n_rows;
        find_openings(s, &reader, c, &classes[c]);
    }
    data_reader_close(&reader);
    int rc = find_length_rule(s, names, err);
    qsort(classes, s->n_classes, sizeof *classes, by_rows);
    for (size_t c = 0; c < s->n_classes; c++)
        if (kept < DATA_CLASSES && is_kept(out, &classes[c], c))
            classes[kept++] = classes[c];
    out->classes = classes;
    out->n_kept_classes = kept;
    out->n_classes = (int64_t)s->n_classes;
    out->has_classes = true;
    return rc;
}

static int find_pair_rule(struct data_pass *pass, struct error *err)
{
    struct data_length_rule *rule = &pass->out->pair_rule;
    struct length *list = calloc(2 * pass->n + 1, sizeof *list);
    struct split split = {0};
    size_t n = 0;
    bool has_room = list;

    for (size_t i = 0; has_room && i < pass->n; i++) {
        const struct data_row *row = &pass->rows[i];

        if (!(row->flags & DATA_ROW_PREFERENCE) ||
            row->flags & (DATA_ROW_UNREADABLE | DATA_ROW_DEGENERATE | DATA_ROW_HALF))
            continue;
        list[n++] = (struct length){row->n_target, 0};
        list[n++] = (struct length){row->n_other, 1};
    }
    has_room = has_room && split_lengths(list, n, 2, &split);
    if (split.n_right)
        *rule = (struct data_length_rule){.of = "words",
                                          .threshold = list[split.at - 1].n,
                                          .n_right = (int64_t)split.n_right,
                                          .n_rows = (int64_t)n,
                                          .n_majority = (int64_t)n / 2,
                                          .below = split.below ? "rejected" : "chosen",
                                          .above = split.above ? "rejected" : "chosen"};
    free(list);
    return has_room ? OK : error_set(err, E_NOMEM, "no memory for the lengths of %zu pairs", pass->n);
}

static int find_in(struct search *s, struct error *err)
{
    size_t n_small, n;

    for (size_t i = 0; i < s->pass->n; i++)
        if (has_class(&s->pass->rows[i]))
            s->keys[s->n_keys++] = (struct data_key){s->pass->rows[i].target, (uint32_t)i};
    data_sort_keys(s->keys, s->n_keys, s->scratch);
    n = count_classes(s, &n_small);
    s->pass->out->n_distinct_targets = (int64_t)n;
    if (!s->pass->out->has_labels && (n > MANY_ANSWERS || n_small > 0))
        return OK;
    number_classes(s);
    return s->n_classes >= 2 ? describe(s, err) : OK;
}

int data_find_classes(struct data_pass *pass, struct error *err)
{
    struct search s = {.pass = pass};
    int rc = OK;

    if (pass->out->n_preference)
        return find_pair_rule(pass, err);
    if (!are_classes(pass))
        return OK;
    s.keys = calloc(pass->n + 1, sizeof *s.keys);
    s.scratch = calloc(2 * pass->n + 2, sizeof *s.scratch);
    s.class_of = calloc(pass->n + 1, sizeof *s.class_of);
    s.first = calloc(MANY_CLASSES + 2, sizeof *s.first);
    rc = s.keys && s.scratch && s.class_of && s.first
             ? find_in(&s, err)
             : error_set(err, E_NOMEM, "no memory for the classes of %zu rows", pass->n);
    free(s.keys);
    free(s.scratch);
    free(s.class_of);
    free(s.first);
    return rc;
}

/* ---- Lengths ---- */

static int bin_of(uint32_t n)
{
    int bin = 0;

    for (; n && bin < DATA_BINS - 1; n >>= 1)
        bin++;
    return bin;
}

/* Quantiles by counting: lengths above the last slot are as long as it. */
static void find_length(struct data_pass *pass, bool is_target, uint32_t *slots, size_t n_slots,
                        struct data_lengths *out)
{
    *out = (struct data_lengths){.longest = NONE, .longest_row = NONE, .median = NONE, .p95 = NONE};
    memset(slots, 0, n_slots * sizeof *slots);
    for (size_t i = 0; i < pass->n; i++) {
        const struct data_row *row = &pass->rows[i];
        uint32_t n = is_target ? row->n_target : row->n_words;

        if (!(row->flags & (is_target ? DATA_ROW_TARGET : DATA_ROW_INPUT)))
            continue;
        out->n++;
        out->bins[bin_of(n)]++;
        slots[n < n_slots ? n : n_slots - 1]++;
        if ((int64_t)n > out->longest) {
            out->longest = n;
            out->longest_row = (int64_t)i;
        }
    }
    int64_t seen = 0;
    for (size_t n = 0; n < n_slots && out->n; n++) {
        seen += slots[n];
        if (out->median == NONE && 2 * seen >= out->n)
            out->median = (int64_t)n;
        if (out->p95 == NONE && 20 * seen >= 19 * out->n)
            out->p95 = (int64_t)n;
    }
}

void data_find_lengths(struct data_pass *pass)
{
    enum { SLOTS = 1 << 17 };
    uint32_t *slots = calloc(SLOTS, sizeof *slots);

    if (slots) {
        find_length(pass, false, slots, SLOTS, &pass->out->input);
        find_length(pass, true, slots, SLOTS, &pass->out->target);
    }
    free(slots);
}
