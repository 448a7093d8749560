/* Test and training rows of a folder of facts made elsewhere (form.h): equal rows by their hashes, near
 * ones among the candidates, whose texts are verified against the hashes and then compared exactly as rows
 * of files are. Judged is in leaks_find.c; see leaks_parts.h.
 *
 * Memory: 9 bytes a row of all splits that are compared, 24 more a test row, and the index of the test
 * rows' candidates. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/facts/leaks_parts.h"
#include "core/similar/normal.h"

#define MOST_ROWS  ((size_t)1 << 28) /* of all splits */
#define TEXT_BYTES ((size_t)64 << 20)

enum { ROWS_BETWEEN = 1024, NEVER_SHORT = 8 };

enum state { IS_READABLE = 1, IS_SHORT = 2, IS_CROWDED = 4 }; /* 0: it did not come */

struct table { /* of a split that is compared */
    const struct dataset *dataset;
    size_t file; /* among the test files, or the training files */
    bool is_test, is_used;
    uint64_t *exact;
    unsigned char *state; /* enum state */
    size_t n, capacity;
};

struct passes {
    const struct leak_form *form;
    struct form_folder *folder;
    const struct form_head *head;
    struct table tables[FORM_MOST_SPLITS]; /* by split of the folder */
    size_t n_rows;
    int64_t n_read;
    bool is_full;
    struct leak_row row; /* of one text */
    struct similar_asker asker;
};

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for comparing test and training rows");
}

static void tell_trouble(struct leak_reader *reader, const char *why)
{
    struct str cut = str_first(str_of(why), sizeof reader->trouble - 1);

    if (reader->trouble[0])
        return;
    memcpy(reader->trouble, cut.p, cut.n);
    reader->trouble[cut.n] = '\0';
}

static void set_trouble(const struct passes *p, const char *why)
{
    tell_trouble(p->form->reader, why);
}

static bool goes_on(struct passes *p)
{
    struct leak_reader *reader = p->form->reader;
    const struct audit_hooks *hooks = reader->hooks;
    struct error ignored;

    if (!hooks || p->n_read++ % ROWS_BETWEEN)
        return !reader->is_stopped;
    if (hooks->progress)
        hooks->progress(hooks->ctx, p->n_read, reader->n_total);
    if (hooks->cancel && atomic_load(hooks->cancel))
        reader->is_stopped = true;
    else if (hooks->yield && hooks->yield(hooks->ctx, &ignored) != OK)
        reader->is_stopped = true;
    return !reader->is_stopped;
}

/* ---- Splits ---- */

static void find_tables(struct passes *p, const struct dataset *const *files, size_t n, bool is_test)
{
    for (size_t i = 0; i < n; i++) {
        size_t split = form_split_at(p->head, str_of(files[i]->name));

        if (split == SIZE_MAX)
            set_trouble(p, "a split of the run is not in " FORM_NAME " any more");
        else
            p->tables[split] = (struct table){
                .dataset = files[i], .file = i, .is_test = is_test, .is_used = true};
    }
}

/* Rows may come in any order. */
static int make_room(struct passes *p, struct table *table, size_t n, struct error *err)
{
    size_t capacity = table->capacity ? table->capacity : 1024;

    if (n > table->n) {
        p->n_rows += n - table->n;
        table->n = n;
    }
    if (n <= table->capacity)
        return OK;
    while (capacity < n)
        capacity *= 2;
    uint64_t *exact = realloc(table->exact, capacity * sizeof *exact);
    table->exact = exact ? exact : table->exact;
    unsigned char *state = realloc(table->state, capacity);
    table->state = state ? state : table->state;
    if (!exact || !state)
        return no_memory(err);
    memset(state + table->capacity, 0, capacity - table->capacity);
    table->capacity = capacity;
    return OK;
}

/* ---- Rows ---- */

/* A row without its text: nothing but what is common to all, or three words at most, and no script whose
 * characters are words. Of a row that is a candidate its text decides. */
static bool seems_short(const struct form_row *row)
{
    return row->n_shingles == 0 || (row->n_words + row->n_target_words <= LEAK_SHORT_WORDS &&
                                    row->n_bytes <= row->n_shingles + NEVER_SHORT);
}

static int add_groups(const struct passes *p, const struct table *table, const struct form_row *row,
                      struct error *err)
{
    const struct leak_form *form = p->form;
    int rc = OK;

    for (size_t i = 0; rc == OK && i < row->n_groups; i++)
        for (size_t set = 0; rc == OK && set < form->files->n_sets; set++)
            if (!table->is_test || form->files->set_of[table->file] == set)
                rc = leak_columns_add_hash(form->columns[set], &row->groups[i], table->is_test,
                                           row->row, err);
    return rc;
}

static int take_row(struct passes *p, struct table *table, const struct form_row *row,
                    struct error *err)
{
    size_t at = (size_t)row->row;
    bool is_readable = !(row->flags & 8u);

    if (p->n_rows >= MOST_ROWS || at >= MOST_ROWS) {
        p->is_full = true;
        return OK;
    }
    int rc = make_room(p, table, at + 1, err);
    if (rc != OK)
        return rc;
    table->exact[at] = row->exact;
    table->state[at] = (unsigned char)((is_readable ? IS_READABLE : 0) |
                                       (is_readable && seems_short(row) ? IS_SHORT : 0) |
                                       (table->is_test && form_is_crowded(p->head, row) ? IS_CROWDED : 0));
    return is_readable ? add_groups(p, table, row, err) : OK;
}

static int read_rows(struct passes *p, struct error *err)
{
    unsigned want = FORM_KEYS | (p->head->n_crowded ? FORM_BANDS : 0u);
    struct form_reader *reader;
    struct form_item item;
    struct error why;
    int rc = form_reader_open(&reader, p->folder, FORM_ROWS, want, err);

    if (rc != OK)
        return rc;
    while ((rc = form_next(reader, &item, &why, err)) == 1 && goes_on(p) && !p->is_full) {
        if (item.is_damage)
            set_trouble(p, why.message);
        else if (p->tables[item.split].is_used)
            rc = take_row(p, &p->tables[item.split], item.row, err);
        if (rc < 0)
            break;
    }
    form_reader_close(reader);
    if (p->is_full)
        set_trouble(p, "more rows of facts than are held in memory: the others were not compared");
    return rc < 0 ? rc : OK;
}

/* ---- Told to the finder ---- */

static int tell_tests(struct passes *p, struct error *err)
{
    int rc = OK;

    for (size_t s = 0; s < p->head->n_splits; s++) {
        const struct table *table = &p->tables[s];

        for (size_t i = 0; rc == OK && table->is_test && i < table->n; i++)
            rc = leak_find_test(p->form->finder, table->file,
                                table->state[i] & IS_READABLE ? &table->exact[i] : NULL,
                                table->state[i] & IS_SHORT, err);
    }
    return rc;
}

/* In the order of the training files: of equal rows the first counts. */
static void tell_trainings(struct passes *p)
{
    struct leaks *out = p->form->out;

    for (size_t file = 0; file < p->form->files->n_train; file++)
        for (size_t s = 0; s < p->head->n_splits; s++) {
            const struct table *table = &p->tables[s];

            if (!table->is_used || table->is_test || table->file != file)
                continue;
            out->n_train += (int64_t)table->n;
            for (size_t i = 0; i < table->n; i++) {
                if (table->state[i] & IS_READABLE)
                    leak_find_train(p->form->finder, file, (int64_t)i, table->exact[i]);
                else
                    out->n_train_unreadable++;
            }
        }
}

/* ---- Texts ---- */

/* A text of the candidate, with what is common stripped. *is_right false: not what was hashed. */
static int make_text(struct passes *p, const struct form_candidate *text, uint64_t exact,
                     bool *is_right, struct error *err)
{
    struct leak_row *row = &p->row;
    int rc = normal_text(text->input, &row->input, err);

    *is_right = false;
    if (rc == OK)
        rc = normal_text(text->target, &row->target, err);
    if (rc == E_LIMIT) /* longer than any text that is compared */
        return OK;
    if (rc != OK)
        return rc;
    leak_row_join(row);
    if (row->text.failed)
        return no_memory(err);
    *is_right = row->exact == exact;
    if (!*is_right)
        return OK;
    row->stripped = common_strip(p->form->stripped, buf_view(&row->text));
    return shingles_of(row->stripped, &row->set, err);
}

static int take_text(struct passes *p, const struct table *table, const struct form_candidate *text,
                     struct error *err)
{
    struct similar_index *index = *p->form->index;
    size_t at = (size_t)text->row;
    bool is_right;
    char why[256];

    if (at >= table->n || !(table->state[at] & IS_READABLE)) {
        snprintf(why, sizeof why, "a candidate is row %lld of split %s, which is not among the rows",
                 (long long)text->row, table->dataset->name);
        set_trouble(p, why);
        return OK;
    }
    int rc = make_text(p, text, table->exact[at], &is_right, err);
    if (rc != OK)
        return rc;
    if (!is_right) {
        snprintf(why, sizeof why,
                 "the texts of the candidate that is row %lld of split %s are not those that its "
                 "facts were made of",
                 (long long)text->row, table->dataset->name);
        set_trouble(p, why);
        return OK;
    }
    if (table->is_test)
        return leak_find_text(p->form->finder, table->file, text->row, &p->row, err);
    rc = similar_ask(index, &p->asker, p->row.set.items, p->row.set.n, SIZE_MAX, err);
    if (rc == OK)
        leak_find_matches(p->form->finder, table->file, text->row, p->row.set.n, &p->asker);
    return rc == E_LIMIT ? OK : rc;
}

static int read_texts(struct passes *p, bool is_test, struct error *err)
{
    struct form_reader *reader;
    struct form_item item;
    struct error why;
    int rc = form_reader_open(&reader, p->folder, FORM_CANDIDATES, 0, err);

    if (rc != OK)
        return rc;
    while ((rc = form_next(reader, &item, &why, err)) == 1 && goes_on(p)) {
        const struct table *table = &p->tables[item.split];

        if (item.is_damage)
            set_trouble(p, why.message);
        else if (table->is_used && table->is_test == is_test)
            rc = take_text(p, table, &item.candidate, err);
        if (rc < 0)
            break;
    }
    form_reader_close(reader);
    return rc < 0 ? rc : OK;
}

/* ---- What is common to all ---- */

static char *join_words(const char *const *words, size_t n)
{
    struct buf text;

    buf_init(&text, TEXT_BYTES);
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i ? " " : "", words[i]);
    char *joined = text.failed ? NULL : strdup(text.p ? text.p : "");
    buf_free(&text);
    return joined;
}

static int take_common(const struct passes *p, struct error *err)
{
    struct common_text *stripped = p->form->stripped;

    *stripped = (struct common_text){.prefix = join_words(p->head->prefix, p->head->n_prefix),
                                     .suffix = join_words(p->head->suffix, p->head->n_suffix),
                                     .n_prefix = p->head->n_prefix,
                                     .n_suffix = p->head->n_suffix};
    return stripped->prefix && stripped->suffix ? OK : no_memory(err);
}

/* ---- All of it ---- */

/* Candidates leave out rows that share nothing but crowded bands: of a copy the hash tells, of a near
 * copy nothing does. */
static void count_crowded(const struct passes *p)
{
    for (size_t s = 0; s < p->head->n_splits; s++)
        for (size_t i = 0; p->tables[s].is_test && i < p->tables[s].n; i++)
            p->form->out->n_crowded += (p->tables[s].state[i] & IS_CROWDED) != 0;
}

static int run_passes(struct passes *p, struct error *err)
{
    const struct similar_options options = {.jaccard = LEAK_CLUSTER_JACCARD,
                                            .containment = LEAK_CONTAINMENT,
                                            .nearest = true,
                                            .spill = p->form->spill};
    int rc = take_common(p, err);

    if (form_n_files(p->folder, FORM_CANDIDATES) == 0)
        set_trouble(p, "no candidates-* beside " FORM_NAME ": only equal rows were looked for");
    if (rc == OK)
        rc = read_rows(p, err);
    if (rc == OK)
        rc = tell_tests(p, err);
    if (rc == OK)
        rc = similar_open(p->form->index, &options, err);
    if (rc == OK)
        rc = read_texts(p, true, err);
    if (rc == OK)
        rc = similar_build(*p->form->index, err);
    if (rc != OK)
        return rc;
    tell_trainings(p);
    count_crowded(p);
    return read_texts(p, false, err);
}

static void close_passes(struct passes *p)
{
    for (size_t s = 0; s < FORM_MOST_SPLITS; s++) {
        free(p->tables[s].exact);
        free(p->tables[s].state);
    }
    form_close(p->folder);
    buf_free(&p->row.input);
    buf_free(&p->row.target);
    buf_free(&p->row.text);
    shingles_free(&p->row.set);
    similar_asker_free(&p->asker);
    free(p);
}

static const char *limits_of(const struct leak_form *form, const struct form_head *head)
{
    return arena_printf(form->arena,
                        "from facts (made by %s): near rows are looked for among rows that share a "
                        "band, which at Jaccard 0.8 all do, at 0.5 half of them and at 0.3 3 %%, so that "
                        "a row inside a much longer one, and most of a family, may be missed",
                        *head->made_by ? head->made_by : "another program");
}

/* facts.json cannot be read: nothing was compared, which is said. */
static int without_head(struct passes *p, const struct error *why, struct error *err)
{
    char text[1200];

    if (why->status == E_NOMEM)
        return no_memory(err);
    error_format(why, text, sizeof text);
    set_trouble(p, text);
    return similar_open(p->form->index, &(const struct similar_options){.jaccard = 1.0}, err);
}

int leak_form_passes(struct leak_form *form, struct error *err)
{
    struct passes *p = calloc(1, sizeof *p);
    struct error why;

    if (!p)
        return no_memory(err);
    p->form = form;
    buf_init(&p->row.input, TEXT_BYTES);
    buf_init(&p->row.target, TEXT_BYTES);
    buf_init(&p->row.text, 2 * TEXT_BYTES);
    int rc = form_open(&p->folder, form->files->form, &why);
    if (rc != OK) {
        rc = without_head(p, &why, err);
        if (rc == OK)
            rc = (form->stripped->prefix = strdup(""), form->stripped->suffix = strdup(""), OK);
        close_passes(p);
        return rc;
    }
    p->head = form_head_of(p->folder);
    form->out->limits = limits_of(form, p->head);
    find_tables(p, form->files->train, form->files->n_train, false);
    find_tables(p, form->files->test, form->files->n_test, true);
    rc = run_passes(p, err);
    close_passes(p);
    return rc;
}

/* ---- Texts of the pairs that are shown ---- */

struct wanted {
    size_t split;
    int64_t row;
    struct form_place *place;
};

static int by_row(const void *pa, const void *pb)
{
    const struct wanted *a = pa, *b = pb;

    if (a->split != b->split)
        return a->split < b->split ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* The pairs are copied: those of the sets are not to be changed. */
static size_t list_wanted(const struct form_head *head, const struct leak_set *sets, size_t n_sets,
                          struct leak_pair *pairs, struct wanted *list)
{
    size_t n = 0;

    for (size_t s = 0; s < n_sets; s++)
        for (size_t i = 0; i < sets[s].n_pairs; i++) {
            struct leak_pair *pair = &pairs[n / 2];

            *pair = sets[s].pairs[i];
            pair->place.file = pair->train_place.file = -1;
            list[n++] = (struct wanted){form_split_at(head, str_of(pair->test->name)), pair->row,
                                        &pair->place};
            list[n++] = (struct wanted){form_split_at(head, str_of(pair->train->name)),
                                        pair->train_row, &pair->train_place};
        }
    if (n)
        qsort(list, n, sizeof *list, by_row);
    return n;
}

/* Several pairs may have one training row. */
static void fill_places(struct wanted *list, size_t n, const struct form_item *item)
{
    const struct wanted key = {item->split, item->candidate.row, NULL};
    const struct wanted *at = bsearch(&key, list, n, sizeof key, by_row);

    if (!at)
        return;
    while (at > list && by_row(at - 1, &key) == 0)
        at--;
    for (; at < list + n && by_row(at, &key) == 0; at++)
        *at->place = item->place;
}

static int find_places(const struct form_folder *folder, struct wanted *list, size_t n,
                       struct error *err)
{
    struct form_reader *reader;
    struct form_item item;
    struct error why;
    int rc = form_reader_open(&reader, folder, FORM_CANDIDATES, 0, err);

    if (rc != OK)
        return rc;
    while ((rc = form_next(reader, &item, &why, err)) == 1)
        if (!item.is_damage)
            fill_places(list, n, &item);
    form_reader_close(reader);
    return rc;
}

int leak_form_places(const struct leak_form *form, struct leak_set *sets, size_t n,
                     struct error *err)
{
    struct form_folder *folder;
    struct error ignored;
    size_t n_pairs = 0;

    for (size_t s = 0; s < n; s++)
        n_pairs += sets[s].n_pairs;
    if (n_pairs == 0 || form_open(&folder, form->files->form, &ignored) != OK)
        return OK;
    struct wanted *list = calloc(2 * n_pairs, sizeof *list);
    struct leak_pair *pairs = arena_array(form->arena, n_pairs, sizeof *pairs);
    int rc = list && pairs ? OK : no_memory(err);
    if (rc == OK)
        rc = find_places(folder, list, list_wanted(form_head_of(folder), sets, n, pairs, list), err);
    /* Copies share all of their bands: they are candidates, unless a band is crowded. */
    for (size_t i = 0; rc == OK && form_head_of(folder)->n_crowded == 0 && i < n_pairs; i++)
        if (pairs[i].place.file < 0 || pairs[i].train_place.file < 0)
            tell_trouble(form->reader, "rows that are copies are not among the candidates, which are not "
                                       "all there");
    for (size_t s = 0; rc == OK && s < n; pairs += sets[s++].n_pairs)
        sets[s].pairs = pairs;
    free(list);
    form_close(folder);
    return rc;
}

bool leak_pair_texts(const struct run_facts *facts, const struct dataset *dataset,
                     const struct form_place *place, size_t limit, struct arena *arena,
                     struct form_candidate *out)
{
    const struct source *source = facts_source(facts, dataset->source_id);
    struct form_folder *folder;
    struct form_reader *reader = NULL;
    struct error ignored;
    bool is_found = false;

    if (!source || place->file < 0 || form_open(&folder, source->path, &ignored) != OK)
        return false;
    if (form_reader_open(&reader, folder, FORM_CANDIDATES, 0, &ignored) == OK)
        is_found = form_read_at(reader, place, out);
    if (is_found) {
        out->split = arena_str(arena, out->split);
        out->input = arena_str(arena, str_first(out->input, limit));
        out->target = arena_str(arena, str_first(out->target, limit));
    }
    form_reader_close(reader);
    form_close(folder);
    return is_found;
}
