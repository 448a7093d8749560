/* The first and the last quarter of the steps against each other: which completions are looked at, their
 * texts read again, what is alike in them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/completions_parts.h"
#include "core/read/completion_rows.h"

#define TEXTS_ARENA  ((size_t)192 << 20)
#define TEXT_BYTES   ((size_t)6000)     /* of one completion or prompt */
#define QUOTED_BYTES ((size_t)200)

struct chosen {                 /* a row to be read again */
    int32_t file;
    int64_t ord;
    size_t text;                /* of quarters.texts */
    size_t group;               /* of quarters.groups; its prompt too where it is the first of it */
};

struct quarters {
    struct completion_pass *pass;
    struct arena *arena;        /* texts */
    struct phrase_group *groups;
    struct phrase_text *texts;
    struct chosen *chosen;
    size_t n_groups, n_texts;
};

/* ---- Which rows ---- */

static size_t end_of_group(const struct completion_pass *pass, size_t from)
{
    const struct completion_fact *rows = pass->rows;
    size_t k = from + 1;

    while (k < pass->n && rows[k].step == rows[from].step && rows[k].prompt == rows[from].prompt &&
           rows[from].prompt != 0)
        k++;
    return k;
}

/* The rows of the steps from … to, which stand together. */
static void rows_of(const struct completion_pass *pass, int64_t from, int64_t to, size_t *first,
                    size_t *end)
{
    size_t i = 0;

    while (i < pass->n && pass->rows[i].step < from)
        i++;
    *first = i;
    while (i < pass->n && pass->rows[i].step <= to)
        i++;
    *end = i;
}

static size_t count_groups(const struct completion_pass *pass, size_t first, size_t end)
{
    size_t n = 0;

    for (size_t i = first; i < end; i = end_of_group(pass, i))
        n++;
    return n;
}

/* Whole groups, every k-th, so that no more completions are read than COMPLETION_TEXTS (one group
 * more at most). */
static void choose(struct quarters *q, bool is_last, int64_t from, int64_t to,
                   struct completion_quarter *out)
{
    const struct completion_pass *pass = q->pass;
    size_t first, end, number = 0;

    rows_of(pass, from, to, &first, &end);
    size_t n_groups = count_groups(pass, first, end), n = end - first;
    size_t wanted = n > COMPLETION_TEXTS ? n_groups * COMPLETION_TEXTS / n : n_groups;

    wanted = wanted ? wanted : 1;
    *out = (struct completion_quarter){.first_step = from, .last_step = to, .n_all = (int64_t)n};
    for (size_t i = first, k; i < end; i = k, number++) {
        k = end_of_group(pass, i);
        if (number * wanted / n_groups == (number + 1) * wanted / n_groups)
            continue;
        if (out->n >= COMPLETION_TEXTS) /* groups of very different sizes */
            break;
        struct phrase_group *group = &q->groups[q->n_groups];
        *group = (struct phrase_group){.first = q->n_texts, .is_last = is_last};
        for (size_t j = i; j < k && group->n < COMPLETION_TEXTS; j++, group->n++) {
            q->texts[q->n_texts] = (struct phrase_text){.row = j, .reward = pass->rows[j].reward};
            q->chosen[q->n_texts] = (struct chosen){pass->rows[j].file, pass->rows[j].ord,
                                                    q->n_texts, q->n_groups};
            q->n_texts++;
        }
        q->n_groups++;
        out->n += (int64_t)group->n;
        out->n_groups++;
    }
}

/* ---- Their texts ---- */

struct again {
    struct quarters *q;
    size_t at, end;             /* of chosen: those of this file */
    int64_t ord;
};

static struct str cut(struct str text)
{
    text = str_first(text, TEXT_BYTES);
    while (text.n && text.n == TEXT_BYTES && (text.p[text.n - 1] & '\xc0') == '\x80')
        text.n--;
    return text;
}

static int take_again(void *ctx, const struct completion_row *row, struct error *err)
{
    struct again *again = ctx;
    struct quarters *q = again->q;
    int64_t ord = again->ord++;

    while (again->at < again->end && q->chosen[again->at].ord == ord) {
        const struct chosen *chosen = &q->chosen[again->at++];
        struct phrase_group *group = &q->groups[chosen->group];

        q->texts[chosen->text].text = arena_str(q->arena, cut(row->text));
        if (row->prompt.p && !group->prompt.p)
            group->prompt = arena_str(q->arena, cut(row->prompt));
    }
    if (again->at == again->end)
        return error_set(err, E_CANCELLED, "all that was wanted");
    return arena_failed(q->arena) ? error_set(err, E_NOMEM, "no memory for completions") : OK;
}

static int pass_over(void *ctx, int64_t line, const char *why, struct error *err)
{
    struct again *again = ctx;

    (void)line, (void)why, (void)err;
    again->ord++;
    return OK;
}

static int by_file(const void *pa, const void *pb)
{
    const struct chosen *a = pa, *b = pb;

    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return (a->ord > b->ord) - (a->ord < b->ord);
}

/* A file that has become unreadable since leaves texts empty. */
static int read_texts(struct quarters *q, struct error *err)
{
    if (q->n_texts)
        qsort(q->chosen, q->n_texts, sizeof *q->chosen, by_file);
    for (size_t i = 0, k; i < q->n_texts; i = k) {
        struct again again = {.q = q, .at = i};
        struct completion_handler handler = {take_again, pass_over, &again};
        struct error why = {0};

        for (k = i; k < q->n_texts && q->chosen[k].file == q->chosen[i].file;)
            k++;
        again.end = k;
        int rc = completion_rows_read(q->pass->files->paths[q->chosen[i].file], &handler, &why);
        if (rc == E_NOMEM) {
            *err = why;
            return rc;
        }
    }
    return OK;
}

/* ---- Alike ---- */

struct keyed {
    uint64_t key;
    size_t text;
};

static int by_key(const void *pa, const void *pb)
{
    const struct keyed *a = pa, *b = pb;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->text > b->text) - (a->text < b->text);
}

/* The key that most have; 0 is none. The list becomes sorted. */
static int64_t most(struct keyed *list, size_t n, size_t *text)
{
    int64_t best = 0;

    if (n)
        qsort(list, n, sizeof *list, by_key);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i; k < n && list[k].key == list[i].key;)
            k++;
        if (list[i].key && (int64_t)(k - i) > best) {
            best = (int64_t)(k - i);
            *text = list[i].text;
        }
    }
    return best;
}

static struct str opening_of(struct str text)
{
    struct str rest = text, word;
    int n = 0;

    while (n < GENERATION_OPENING_WORDS && completion_next_word(&rest, &word))
        n++;
    return str_trim(str_first(text, text.n - rest.n));
}

/* One completion of each prompt, the first; the same prompt at a later step is no other prompt. */
static size_t one_each(const struct quarters *q, bool is_last, struct keyed *list)
{
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < q->n_groups; i++) {
        const struct phrase_group *group = &q->groups[i];
        const struct completion_fact *row = &q->pass->rows[q->texts[group->first].row];

        if (group->is_last == is_last && row->prompt && row->output)
            list[n++] = (struct keyed){row->prompt, group->first};
    }
    if (n)
        qsort(list, n, sizeof *list, by_key);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || list[i].key != list[i - 1].key)
            list[kept++] = list[i];
    return kept;
}

static int find_alike(struct quarters *q, bool is_last, struct completion_alike *out,
                      struct error *err)
{
    struct arena *keep = q->pass->arena;
    struct keyed *list = arena_array(q->arena, q->n_groups + 1, sizeof *list);
    size_t same = 0, opening = 0;

    *out = (struct completion_alike){.same = "", .opening = ""};
    if (!list)
        return error_set(err, E_NOMEM, "no memory for %zu groups of completions", q->n_groups);
    size_t n = one_each(q, is_last, list);
    out->n_prompts = (int64_t)n;
    for (size_t i = 0; i < n; i++)
        list[i].key = q->pass->rows[q->texts[list[i].text].row].opening;
    out->n_opening = most(list, n, &opening);
    for (size_t i = 0; i < n; i++)
        list[i].key = q->pass->rows[q->texts[list[i].text].row].output;
    out->n_same = most(list, n, &same);
    if (out->n_same) {
        struct str text = str_first(q->texts[same].text, QUOTED_BYTES);
        out->same = arena_strndup(keep, text.p ? text.p : "", text.n);
    }
    if (out->n_opening) {
        struct str text = str_first(opening_of(q->texts[opening].text), QUOTED_BYTES);
        out->opening = arena_strndup(keep, text.p ? text.p : "", text.n);
    }
    return OK;
}

/* ---- The two quarters ---- */

static int compare(struct quarters *q, struct error *err)
{
    struct completions *out = q->pass->out;
    size_t k = out->n_steps / 4;

    choose(q, false, out->steps[0].step, out->steps[k - 1].step, &out->first);
    choose(q, true, out->steps[out->n_steps - k].step, out->steps[out->n_steps - 1].step, &out->last);
    int rc = read_texts(q, err);
    if (rc == OK)
        rc = find_alike(q, false, &out->first.alike, err);
    if (rc == OK)
        rc = find_alike(q, true, &out->last.alike, err);
    if (rc != OK)
        return rc;
    const struct phrase_input input = {q->groups, q->n_groups, q->texts};
    return completions_find_phrases(&input, q->pass->arena, out, err);
}

int completions_compare_quarters(struct completion_pass *pass, struct error *err)
{
    const size_t most_texts = 2 * (2 * COMPLETION_TEXTS + 1);
    struct quarters q = {.pass = pass};
    int rc = OK;

    if (pass->out->n_steps < 4)
        return OK;
    q.arena = arena_open(TEXTS_ARENA);
    if (q.arena) {
        q.groups = arena_array(q.arena, most_texts, sizeof *q.groups);
        q.texts = arena_array(q.arena, most_texts, sizeof *q.texts);
        q.chosen = arena_array(q.arena, most_texts, sizeof *q.chosen);
    }
    if (!q.groups || !q.texts || !q.chosen)
        rc = error_set(err, E_NOMEM, "no memory for the texts of completions");
    else
        rc = compare(&q, err);
    arena_close(q.arena);
    return rc;
}
