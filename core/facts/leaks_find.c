/* All test rows against all training rows, in three passes: what the training rows have in common;
 * the test rows into an index; each training row against it. See leaks.h. */
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/unicode.h"
#include "core/facts/leaks_parts.h"

#define NO_ROW    UINT32_MAX
#define IDS_BYTES ((size_t)128 << 20)
#define ID_BYTES  256

struct test_row {
    uint32_t text;          /* number of its stripped text in `texts`; NO_ROW: not to be compared */
    uint32_t exact;         /* number of its own text; NO_ROW: not readable */
    uint32_t id;            /* place of its own name in `ids` + 1; 0: none */
    bool is_short, is_left; /* is_left: more than memory holds */
};

/* What was found of a text, the first of equals. */
struct near {
    int32_t train;
    int64_t row;
    uint32_t n_train, n_shared;
};

struct text_facts {
    uint32_t n; /* shingles */
    struct near best, contained;
};

struct exact_facts {
    int32_t train; /* -1: none */
    int64_t row;
};

struct test_file {
    struct test_row *rows;
    size_t n, capacity;
};

struct finder {
    struct leak_reader *reader;
    const struct leak_files *files;
    struct arena *arena;
    struct leaks *out;
    struct common *common;
    struct common_text stripped;
    struct similar_index *index;
    struct leak_spill *spill;
    struct leak_overlap *overlap; /* NULL: of facts there are no words */
    struct id_map texts, exacts;
    struct text_facts *text_facts;
    size_t text_capacity;
    struct exact_facts *exact_facts;
    size_t exact_capacity;
    struct test_file test[256];
    struct buf ids;
    struct leak_columns *columns[LEAK_MAX_SETS];
    bool is_full;
    int32_t file; /* that is read */
};

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for comparing test and training rows");
}

/* ---- Words ---- */

/* CJK, kana and Hangul are written without blanks. */
static bool is_word_alone(int32_t c)
{
    return (c >= 0x3040 && c <= 0x30ff) || (c >= 0x3400 && c <= 0x9fff) ||
           (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0x20000 && c <= 0x3ffff);
}

/* Bytes of a JSON string that the text begins with; *is_name: a member's name, which is no value.
 */
static size_t skip_string(struct str text, bool *is_name)
{
    size_t n = 1;

    while (n < text.n && text.p[n] != '"')
        n += text.p[n] == '\\' && n + 1 < text.n ? 2 : 1;
    n += n < text.n;
    const struct str rest = str_trim(str_skip(text, n));
    *is_name = rest.n > 0 && rest.p[0] == ':';
    return n;
}

/* At most LEAK_SHORT_WORDS words: each CJK character and each value of JSON is one. */
static bool is_short(struct str text)
{
    size_t n = 0, depth = 0, used;
    bool is_in = false;

    for (; text.n > 0 && n <= LEAK_SHORT_WORDS; text = str_skip(text, used)) {
        int32_t c;

        used = unicode_next(text, &c);
        depth += c == '{' || c == '[';
        depth -= depth > 0 && (c == '}' || c == ']');
        if (depth > 0 && c == '"') {
            bool is_name;

            used = skip_string(text, &is_name);
            n += !is_name;
            is_in = false;
        } else if (is_word_alone(c)) {
            n++;
            is_in = false;
        } else {
            bool is_apart = c == ' ' || (c > 0 && c < 0x80 && strchr("{}[]:,\"", (int)c));

            n += !is_apart && !is_in;
            is_in = !is_apart;
        }
    }
    return n <= LEAK_SHORT_WORDS;
}

/* ---- First pass ---- */

static int take_text(void *ctx, const struct dataset *dataset, int64_t number, struct leak_row *row,
                     struct error *err)
{
    struct finder *f = ctx;

    (void)dataset;
    (void)number;
    return row->line ? common_add(f->common, buf_view(&row->text), err) : OK;
}

/* ---- Second pass: test rows ---- */

static int grow(void *list, size_t *capacity, size_t n, size_t item_bytes, struct error *err)
{
    size_t wanted = *capacity ? *capacity * 2 : 1024;
    void *grown;

    if (n < *capacity)
        return OK;
    memcpy(&grown, list, sizeof grown);
    grown = realloc(grown, wanted * item_bytes);
    if (!grown)
        return no_memory(err);
    memcpy(list, &grown, sizeof grown);
    *capacity = wanted;
    return OK;
}

/* Rows of the same stripped text are one row of the index. */
static int index_text(struct finder *f, const struct leak_row *row, struct test_row *out,
                      struct error *err)
{
    uint64_t hash = hash_bytes(row->stripped.p, row->stripped.n);
    bool is_new;
    int rc;

    if (f->is_full && !id_map_find(&f->texts, hash, &out->text)) {
        out->is_left = true;
        return OK;
    }
    if (f->is_full)
        return OK;
    rc = grow(&f->text_facts, &f->text_capacity, f->texts.n, sizeof *f->text_facts, err);
    if (rc == OK && !id_map_find(&f->texts, hash, &out->text)) {
        rc = similar_add(f->index, row->set.items, row->set.n, err);
        if (rc == E_LIMIT) {
            f->is_full = out->is_left = true;
            return OK;
        }
        if (rc == OK)
            rc = id_map_add(&f->texts, hash, &out->text, &is_new, err);
        if (rc == OK)
            f->text_facts[out->text] = (struct text_facts){
                .n = (uint32_t)row->set.n, .best.train = -1, .contained.train = -1};
        if (rc == OK && f->overlap)
            rc = leak_overlap_add(f->overlap, row->stripped, err);
    }
    return rc;
}

/* By what name items of an evaluation may call the row. */
static uint32_t keep_id(struct finder *f, const struct json *line)
{
    static const char *const NAMES[] = {"id",  "item_id",     "doc_id",  "idx", "index",
                                        "uid", "question_id", "task_id", "qid", "uuid"};
    const uint32_t at = (uint32_t)f->ids.n + 1;

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const struct json *id = json_get(line, NAMES[i]);

        if ((!json_is(id, JSON_STRING) && !json_is(id, JSON_NUMBER)) || id->text.n == 0 ||
            id->text.n > ID_BYTES || f->ids.n + id->text.n + 1 > IDS_BYTES)
            continue;
        buf_str(&f->ids, id->text);
        buf_putc(&f->ids, '\0');
        return f->ids.failed ? 0 : at;
    }
    return 0;
}

static int take_test(void *ctx, const struct dataset *dataset, int64_t number, struct leak_row *row,
                     struct error *err)
{
    struct finder *f = ctx;
    struct test_file *file = &f->test[f->file];
    struct test_row of = {.text = NO_ROW, .exact = NO_ROW};
    bool is_new;
    int rc = grow(&file->rows, &file->capacity, file->n, sizeof *file->rows, err);

    (void)dataset;
    (void)number;
    if (rc == OK && row->line) {
        rc = leak_columns_add(f->columns[f->files->set_of[f->file]], row->line, true, err);
        if (rc == OK)
            rc =
                grow(&f->exact_facts, &f->exact_capacity, f->exacts.n, sizeof *f->exact_facts, err);
        if (rc == OK)
            rc = id_map_add(&f->exacts, row->exact, &of.exact, &is_new, err);
        if (rc == OK && is_new)
            f->exact_facts[of.exact] = (struct exact_facts){-1, 0};
        of.id = keep_id(f, row->line);
        of.is_short = is_short(row->stripped);
        if (rc == OK && !of.is_short)
            rc = index_text(f, row, &of, err);
    }
    if (rc == OK)
        file->rows[file->n++] = of;
    return rc;
}

/* ---- Third pass: training rows ---- */

static double jaccard_of(const struct text_facts *text, const struct near *near)
{
    return near->train < 0 ? 0.0 : shingles_jaccard(text->n, near->n_train, near->n_shared);
}

static bool is_nearer(const struct text_facts *text, const struct near *than, uint32_t n_shared,
                      uint32_t n_train)
{
    if (than->train < 0)
        return true;
    /* n_shared / (n + n_train - n_shared) grows with n_shared / (n + n_train). */
    return (uint64_t)n_shared * (text->n + (uint64_t)than->n_train) >
           (uint64_t)than->n_shared * (text->n + (uint64_t)n_train);
}

static void take_match(struct finder *f, const struct similar_match *match, uint32_t n_train,
                       int64_t number)
{
    struct text_facts *text = &f->text_facts[match->row];
    const struct near near = {f->file, number, n_train, match->n_shared};

    if (is_nearer(text, &text->best, match->n_shared, n_train))
        text->best = near;
    if (text->contained.train < 0 || match->n_shared > text->contained.n_shared)
        text->contained = near;
    /* Near rows are contained too. */
    const bool is_near = jaccard_of(text, &text->best) >= LEAK_NEAR_JACCARD;
    const struct similar_match best = {match->row, text->n, text->best.n_shared};
    similar_tell(f->index, &best, text->best.n_train,
                 is_near ? UINT32_MAX : text->contained.n_shared);
}

static int take_train(void *ctx, const struct dataset *dataset, int64_t number,
                      struct leak_row *row, struct error *err)
{
    struct finder *f = ctx;
    uint32_t id;
    int rc = OK;

    (void)dataset;
    f->out->n_train++;
    f->out->n_train_unreadable += !row->line;
    if (!row->line)
        return OK;
    for (size_t i = 0; rc == OK && i < f->files->n_sets; i++)
        rc = leak_columns_add(f->columns[i], row->line, false, err);
    if (id_map_find(&f->exacts, row->exact, &id) && f->exact_facts[id].train < 0)
        f->exact_facts[id] = (struct exact_facts){f->file, number};
    for (size_t i = 0; i < row->n_matches; i++)
        take_match(f, &row->matches[i], (uint32_t)row->set.n, number);
    return rc == OK ? leak_overlap_mark(f->overlap, row, err) : rc;
}

/* ---- Rows of facts, which come otherwise ---- */

int leak_find_test(struct finder *f, size_t number, const uint64_t *exact, bool is_row_short,
                   struct error *err)
{
    struct test_file *file = &f->test[number];
    struct test_row of = {.text = NO_ROW, .exact = NO_ROW, .is_short = is_row_short};
    bool is_new = false;
    int rc = grow(&file->rows, &file->capacity, file->n, sizeof *file->rows, err);

    if (rc == OK && exact)
        rc = grow(&f->exact_facts, &f->exact_capacity, f->exacts.n, sizeof *f->exact_facts, err);
    if (rc == OK && exact)
        rc = id_map_add(&f->exacts, *exact, &of.exact, &is_new, err);
    if (rc == OK && is_new)
        f->exact_facts[of.exact] = (struct exact_facts){-1, 0};
    if (rc == OK)
        file->rows[file->n++] = of;
    return rc;
}

void leak_find_train(struct finder *f, size_t file, int64_t number, uint64_t exact)
{
    uint32_t id;

    if (id_map_find(&f->exacts, exact, &id) && f->exact_facts[id].train < 0)
        f->exact_facts[id] = (struct exact_facts){(int32_t)file, number};
}

int leak_find_text(struct finder *f, size_t file, int64_t number, const struct leak_row *row,
                   struct error *err)
{
    struct test_row *of = &f->test[file].rows[number];

    of->is_short = is_short(row->stripped);
    return of->is_short ? OK : index_text(f, row, of, err);
}

void leak_find_matches(struct finder *f, size_t file, int64_t number, size_t n_shingles,
                       const struct similar_asker *found)
{
    f->file = (int32_t)file;
    for (size_t i = 0; i < found->n_matches; i++)
        take_match(f, &found->matches[i], (uint32_t)n_shingles, number);
}

/* ---- The passes ---- */

static int run_side(struct finder *f, bool is_test, const struct leak_pass *pass, struct error *err)
{
    size_t n = is_test ? f->files->n_test : f->files->n_train;
    int rc = OK;

    for (size_t i = 0; rc == OK && i < n && !f->reader->is_stopped; i++) {
        f->file = (int32_t)i;
        rc =
            leak_reader_run(f->reader, is_test ? f->files->test[i] : f->files->train[i], pass, err);
    }
    return rc;
}

static struct leak_form form_of(struct finder *f)
{
    return (struct leak_form){.finder = f,
                              .reader = f->reader,
                              .files = f->files,
                              .columns = f->columns,
                              .stripped = &f->stripped,
                              .index = &f->index,
                              .spill = leak_spill_calls(f->spill),
                              .arena = f->arena,
                              .out = f->out};
}

static int run_passes(struct finder *f, struct error *err)
{
    const struct similar_options options = {.jaccard = LEAK_CLUSTER_JACCARD,
                                            .containment = LEAK_CONTAINMENT,
                                            .nearest = true,
                                            .spill = leak_spill_calls(f->spill)};
    struct leak_pass pass = {.row = take_text, .ctx = f};

    if (f->files->form) {
        struct leak_form form = form_of(f);
        return leak_form_passes(&form, err);
    }
    int rc = common_open(&f->common, 0, err);
    if (rc == OK)
        rc = run_side(f, false, &pass, err);
    if (rc == OK)
        rc = common_find(f->common, &f->stripped, err);
    if (rc == OK)
        rc = similar_open(&f->index, &options, err);
    pass = (struct leak_pass){LEAK_SETS, &f->stripped, NULL, take_test, f, NULL};
    if (rc == OK)
        rc = run_side(f, true, &pass, err);
    if (rc == OK)
        rc = similar_build(f->index, err);
    pass = (struct leak_pass){LEAK_MATCHES, &f->stripped, f->index, take_train, f, f->overlap};
    return rc == OK ? run_side(f, false, &pass, err) : rc;
}

/* ---- What came of it ---- */

static double share(uint32_t part, uint64_t of)
{
    return of ? (double)part / (double)of : 0.0;
}

static unsigned flags_of(const struct finder *f, const struct test_row *row)
{
    const struct text_facts *text = row->text == NO_ROW ? NULL : &f->text_facts[row->text];
    unsigned flags = 0;

    if (row->exact != NO_ROW && f->exact_facts[row->exact].train >= 0)
        flags |= LEAK_EXACT | LEAK_CLUSTERED;
    if (!text)
        return flags;
    if (jaccard_of(text, &text->best) >= LEAK_NEAR_JACCARD)
        flags |= LEAK_NEAR;
    if (jaccard_of(text, &text->best) >= LEAK_CLUSTER_JACCARD)
        flags |= LEAK_CLUSTERED;
    if (text->contained.train >= 0 && text->n >= CONTAINED_SHINGLES &&
        share(text->contained.n_shared, text->n) >= LEAK_CONTAINMENT)
        flags |= LEAK_CONTAINED;
    return flags;
}

static struct leak_pair pair_of(const struct finder *f, size_t file, int64_t number,
                                const struct test_row *row, unsigned flags)
{
    struct leak_pair pair = {.test = f->files->test[file],
                             .row = number,
                             .flags = flags & LEAK_ANY,
                             .id = row->id ? arena_strdup(f->arena, f->ids.p + row->id - 1) : NULL};
    const struct text_facts *text = row->text == NO_ROW ? NULL : &f->text_facts[row->text];
    const struct near *near = NULL;

    if (text)
        near = flags & (LEAK_NEAR | LEAK_EXACT) || !(flags & LEAK_CONTAINED) ? &text->best
                                                                             : &text->contained;
    if (near && near->train >= 0) {
        pair.n_row = (int32_t)text->n;
        pair.n_train = (int32_t)near->n_train;
        pair.n_shared = (int32_t)near->n_shared;
        pair.train = f->files->train[near->train];
        pair.train_row = near->row;
    }
    if (flags &
        LEAK_EXACT) { /* the copy itself, before another that is equal once it is stripped */
        pair.train = f->files->train[f->exact_facts[row->exact].train];
        pair.train_row = f->exact_facts[row->exact].row;
    }
    return pair;
}

struct set_lists {
    struct leak_pair *pairs;
    int64_t *leaked;
};

static void count_overlap(const struct finder *f, const struct test_row *row, struct leak_set *set)
{
    bool is_shared;

    if (!f->overlap || row->text == NO_ROW || !leak_overlap_has(f->overlap, row->text, &is_shared))
        return;
    set->n_long++;
    set->n_overlap += is_shared;
}

static void count_row(const struct finder *f, size_t file, int64_t number, struct leak_set *set,
                      struct set_lists *lists)
{
    const struct test_row *row = &f->test[file].rows[number];
    unsigned flags = flags_of(f, row);

    set->n_rows++;
    set->n_unreadable += row->exact == NO_ROW;
    set->n_not_compared += row->is_left;
    set->n_short += row->is_short;
    set->n_short_exact += row->is_short && flags & LEAK_EXACT;
    if (row->exact == NO_ROW || row->is_short || (row->is_left && !(flags & LEAK_EXACT)))
        return;
    set->n_compared++;
    count_overlap(f, row, set);
    set->n_exact += (flags & LEAK_EXACT) != 0;
    set->n_near += (flags & (LEAK_NEAR | LEAK_EXACT)) != 0;
    set->n_contained += (flags & (LEAK_CONTAINED | LEAK_EXACT)) != 0;
    set->n_clustered += (flags & LEAK_CLUSTERED) != 0;
    if (!(flags & LEAK_ANY))
        return;
    if (set->n_pairs < LEAK_MAX_PAIRS)
        lists->pairs[set->n_pairs++] = pair_of(f, file, number, row, flags);
    lists->leaked[set->n_leaked++] = set->n_rows - 1;
}

static int make_set(const struct finder *f, size_t i, struct leak_set *set, struct error *err)
{
    size_t n = 0;
    struct set_lists lists;

    for (size_t file = 0; file < f->files->n_test; file++)
        n += f->files->set_of[file] == i ? f->test[file].n : 0;
    lists.leaked = arena_array(f->arena, n + 1, sizeof *lists.leaked);
    lists.pairs =
        arena_array(f->arena, (n < LEAK_MAX_PAIRS ? n : LEAK_MAX_PAIRS) + 1, sizeof *lists.pairs);
    struct leak_file *own = arena_array(f->arena, f->files->n_test, sizeof *own);
    if (!lists.leaked || !lists.pairs || !own)
        return no_memory(err);
    for (size_t file = 0; file < f->files->n_test; file++) {
        if (f->files->set_of[file] != i)
            continue;
        own[set->n_files++] = (struct leak_file){f->files->test[file], (int64_t)f->test[file].n};
        for (size_t row = 0; row < f->test[file].n; row++)
            count_row(f, file, (int64_t)row, set, &lists);
    }
    set->files = own;
    set->dataset = own[0].dataset;
    set->name = set->dataset->name;
    set->pairs = lists.pairs;
    set->leaked = lists.leaked;
    return leak_columns_find(f->columns[i], f->arena, &set->columns, &set->n_columns, err);
}

static int make_leaks(struct finder *f, struct error *err)
{
    struct leaks *out = f->out;
    struct leak_set *sets = arena_array(f->arena, f->files->n_sets + 1, sizeof *sets);
    int rc = sets ? OK : no_memory(err);

    for (size_t i = 0; rc == OK && i < f->files->n_sets; i++)
        rc = make_set(f, i, &sets[i], err);
    const struct leak_form form = form_of(f);
    if (rc == OK && f->files->form)
        rc = leak_form_places(&form, sets, f->files->n_sets, err);
    out->sets = sets;
    out->n_sets = f->files->n_sets;
    out->prefix = arena_strdup(f->arena, f->stripped.prefix);
    out->suffix = arena_strdup(f->arena, f->stripped.suffix);
    out->is_banded = f->files->form || similar_is_banded(f->index);
    out->n_crowded += (int64_t)similar_n_crowded(f->index);
    out->is_partial = f->reader->is_stopped;
    out->trouble = f->reader->trouble[0] ? arena_strdup(f->arena, f->reader->trouble) : NULL;
    return rc;
}

static void close_finder(struct finder *f)
{
    common_close(f->common);
    common_text_free(&f->stripped);
    similar_close(f->index);
    leak_spill_close(f->spill);
    leak_overlap_close(f->overlap);
    id_map_free(&f->texts);
    id_map_free(&f->exacts);
    buf_free(&f->ids);
    free(f->text_facts);
    free(f->exact_facts);
    for (size_t i = 0; i < sizeof f->test / sizeof *f->test; i++)
        free(f->test[i].rows);
    for (size_t i = 0; i < LEAK_MAX_SETS; i++)
        leak_columns_close(f->columns[i]);
    free(f);
}

int leaks_find(struct leak_reader *reader, const struct leak_files *files, struct arena *arena,
               struct leaks *out, struct error *err)
{
    struct finder *f = calloc(1, sizeof *f);
    int rc = OK;

    *out = (struct leaks){0};
    if (!f)
        return no_memory(err);
    *f = (struct finder){.reader = reader, .files = files, .arena = arena, .out = out};
    buf_init(&f->ids, IDS_BYTES);
    for (size_t i = 0; rc == OK && i < files->n_sets; i++)
        rc = leak_columns_open(&f->columns[i], err);
    if (rc == OK)
        rc = leak_spill_open(&f->spill, reader->cache, err);
    if (rc == OK && !files->form)
        rc = leak_overlap_open(&f->overlap, err);
    if (rc == OK)
        rc = run_passes(f, err);
    if (rc == OK)
        rc = make_leaks(f, err);
    close_finder(f);
    return rc;
}
