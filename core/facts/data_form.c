/* Rows of facts made elsewhere (form.h) as the rows that stage 5 groups and counts, and their texts from
 * the candidates. What a row says together with others is judged where rows of files are; this file only
 * says what each row is, and what facts leave out of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/facts/data_parts.h"
#include "core/facts/data_words.h"
#include "core/facts/form_read.h"
#include "core/similar/normal.h"

#define FORM_ARENA ((size_t)64 << 20)

enum { CLASS_SLOTS = 4096, MOST_CLASSES = 2048, ROWS_BETWEEN = 1024 };

struct data_form {
    struct form_folder *folder;         /* of the file that is read */
    struct form_reader *candidates;     /* for single texts, of file `of` */
    size_t of;
    struct arena *arena;
    uint64_t hashes[CLASS_SLOTS];       /* of targets that may be classes */
    const char *texts[CLASS_SLOTS];     /* NULL: the slot is empty */
    size_t n_classes;
    enum row_form rows;                 /* what the rows were, by their columns */
    uint32_t flags;                     /* that all rows have */
};

void data_form_close(struct data_form *form)
{
    if (!form)
        return;
    form_reader_close(form->candidates);
    form_close(form->folder);
    arena_close(form->arena);
    free(form);
}

uint64_t data_form_hash(const struct run_facts *facts, uint64_t hash)
{
    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *source = &facts->sources[i];
        const int64_t numbers[] = {source->importer_version, source->size, source->mtime_ns};

        if (!source->importer || strcmp(source->importer, "dataset_facts") != 0)
            continue;
        hash = hash_more(hash, source->path, strlen(source->path) + 1);
        hash = hash_more(hash, numbers, sizeof numbers);
    }
    return hash;
}

/* ---- What the rows were ---- */

/* A row of these columns, each with a text: its form is that of the rows. */
static enum row_form form_of_columns(const struct form_head *head, struct arena *arena)
{
    struct json *members = arena_array(arena, head->n_columns + 1, sizeof *members);
    struct json row = {.type = JSON_OBJECT, .n = head->n_columns};

    for (size_t i = 0; members && i < head->n_columns; i++) {
        members[i] = (struct json){.type = JSON_STRING,
                                   .key = str_of(head->columns[i]),
                                   .text = str_of("x"),
                                   .next = i + 1 < head->n_columns ? &members[i + 1] : NULL};
        row.child = members;
    }
    return form_of_row(&row, NULL);
}

static bool has_column(const struct form_head *head, const char *name)
{
    for (size_t i = 0; i < head->n_columns; i++)
        if (strcmp(head->columns[i], name) == 0)
            return true;
    return false;
}

static const char *context_of(const struct form_head *head)
{
    for (size_t i = 0; i < head->n_columns; i++)
        if (data_is_context(str_of(head->columns[i])))
            return head->columns[i];
    return NULL;
}

/* Rows whose facts are not all that a question, or a judgement, has. */
static void find_limits(struct data_pass *pass, const struct form_head *head)
{
    struct data_form *form = pass->form;
    struct data_facts *out = pass->out;
    const char *context = context_of(head);

    form->rows = form_of_columns(head, form->arena);
    form->flags = 0;
    if (form->rows == ROW_PREFERENCE) {
        form->flags = DATA_ROW_PREFERENCE | DATA_ROW_HALF;
        out->not_grouped = "of pairs the facts hold the prompt and the chosen text alone";
    } else if (form->rows == ROW_PROMPT_COMPLETION && has_column(head, "label")) {
        form->flags = DATA_ROW_HALF;
        out->not_grouped = "the facts do not hold the label beside the answer";
    } else if (context) {
        form->flags = DATA_ROW_PART_UNKNOWN;
        out->not_grouped = arena_printf(pass->arena, "the facts of an input leave out column %s",
                                        context);
    }
    if (!out->limits)
        out->limits = arena_printf(
            pass->arena, "from facts (made by %s): equal inputs are found, nearly equal ones are not "
                         "looked at; words are counted by blanks",
            *head->made_by ? head->made_by : "another program");
}

/* ---- Classes ---- */

static size_t class_slot(const struct data_form *form, uint64_t target)
{
    size_t at = target % CLASS_SLOTS;

    while (form->texts[at] && form->hashes[at] != target)
        at = (at + 1) % CLASS_SLOTS;
    return at;
}

static void keep_class(struct data_form *form, uint64_t target, struct str text)
{
    size_t at = class_slot(form, target);

    if (form->texts[at] || form->n_classes == MOST_CLASSES)
        return;
    form->texts[at] = arena_strndup(form->arena, text.p, text.n);
    form->hashes[at] = target;
    form->n_classes++;
}

/* ---- One row ---- */

static uint32_t flags_of(const struct data_form *form, const struct form_row *row)
{
    const uint64_t empty = hash_bytes("", 0);
    uint32_t flags = form->flags;

    if (row->flags & ROW_NOT_READABLE)
        return DATA_ROW_UNREADABLE;
    if (row->flags)
        flags |= DATA_ROW_DEGENERATE;
    if (row->target != empty || row->flags & ROW_EMPTY_TARGET)
        flags |= DATA_ROW_TARGET;
    if (row->input != empty)
        flags |= DATA_ROW_INPUT;
    if (flags & DATA_ROW_TARGET && (row->class_name.p || row->target == empty))
        flags |= DATA_ROW_SHORT;
    if (flags & DATA_ROW_TARGET && flags & DATA_ROW_INPUT &&
        (form->rows == ROW_TEXT || form->rows == ROW_OTHER))
        flags |= DATA_ROW_LABEL |
                 (row->class_name.p && data_is_fraction(row->class_name) ? DATA_ROW_FRACTION : 0u);
    return flags;
}

static void take_openings(const struct form_row *row, struct data_openings *out)
{
    *out = (struct data_openings){{0}};
    for (size_t k = 0; k < row->n_opening && k < DATA_OPENINGS; k++)
        out->hashes[k] = (uint32_t)row->opening[k] ? (uint32_t)row->opening[k] : 1u;
}

static void take_row(struct data_pass *pass, const struct form_row *row, struct data_row *out)
{
    struct data_form *form = pass->form;
    int64_t n_class = row->class_name.p ? (int64_t)row->class_name.n : 0;

    out->flags = flags_of(form, row);
    if (out->flags & DATA_ROW_UNREADABLE)
        return;
    pass->forms[form->rows]++;
    out->key = hash_more(row->input, &pass->set, sizeof pass->set);
    out->target = row->target;
    out->n_words = (uint32_t)row->n_words;
    out->n_target = (uint32_t)row->n_target_words;
    out->n_bytes = (uint32_t)(row->n_bytes > n_class ? row->n_bytes - n_class : 0);
    if (!pass->openings || !(out->flags & DATA_ROW_SHORT) ||
        out->flags & (DATA_ROW_PREFERENCE | DATA_ROW_KTO))
        return;
    take_openings(row, &pass->openings[out - pass->rows]);
    if (row->class_name.p)
        keep_class(form, row->target, row->class_name);
    data_see_target(pass, row->target);
}

/* ---- All rows ---- */

/* Rows that do not come, of those before the last one, count as not readable. */
static int make_room(struct data_pass *pass, size_t n, size_t file, struct error *err)
{
    size_t capacity = pass->capacity ? pass->capacity : 1024;

    if (n > DATA_MOST_ROWS)
        return E_LIMIT;
    while (capacity < n)
        capacity *= 2;
    if (capacity > pass->capacity) {
        struct data_row *rows = realloc(pass->rows, capacity * sizeof *rows);
        struct data_openings *openings = NULL;

        pass->rows = rows ? rows : pass->rows;
        if (rows && (pass->openings || pass->capacity == 0))
            openings = realloc(pass->openings, capacity * sizeof *openings);
        pass->openings = openings ? openings : pass->openings;
        if (!rows || (!openings && (pass->openings || pass->capacity == 0)))
            return error_set(err, E_NOMEM, "no more than %zu rows are held in memory", pass->n);
        pass->capacity = capacity;
    }
    for (; pass->n < n; pass->n++) {
        pass->rows[pass->n] =
            (struct data_row){.file = (uint32_t)file, .flags = DATA_ROW_UNREADABLE};
        if (pass->openings)
            pass->openings[pass->n] = (struct data_openings){{0}};
    }
    return OK;
}

static bool goes_on(struct data_pass *pass, int64_t n_read)
{
    const struct audit_hooks *hooks = pass->hooks;
    struct error ignored;
    bool stays = true;

    if (!hooks || n_read % ROWS_BETWEEN)
        return true;
    if (hooks->progress)
        hooks->progress(hooks->ctx, (int64_t)pass->n, pass->out->n_file_rows);
    if (hooks->cancel && atomic_load(hooks->cancel))
        stays = false;
    else if (hooks->yield)
        stays = hooks->yield(hooks->ctx, &ignored) == OK;
    if (!stays)
        data_stop(pass, "stopped by the user");
    return stays;
}

static int read_rows(struct data_pass *pass, struct form_reader *reader, size_t file, size_t split,
                     struct error *err)
{
    size_t first = pass->n;
    struct form_item item;
    struct error why;
    int64_t n_read = 0;
    int rc;

    while ((rc = form_next(reader, &item, &why, err)) == 1 && goes_on(pass, n_read++)) {
        if (item.is_damage)
            data_stop(pass, why.message);
        if (item.is_damage || item.split != split)
            continue;
        size_t at = first + (size_t)item.row->row;
        rc = make_room(pass, at + 1, file, err);
        if (rc == E_LIMIT) {
            data_stop(pass, arena_printf(pass->arena, "no more than %zu rows are held in memory",
                                         DATA_MOST_ROWS));
            return OK;
        }
        if (rc != OK)
            return rc;
        take_row(pass, item.row, &pass->rows[at]);
    }
    return rc < 0 ? rc : OK;
}

/* ---- Candidates ---- */

/* Is the text the one that was hashed? */
static int has_hash(struct data_pass *pass, struct str text, uint64_t hash, bool *out,
                    struct error *err)
{
    int rc = normal_text(text, &pass->normal, err);

    if (rc == E_LIMIT) {        /* longer than any text that is compared */
        *out = false;
        return OK;
    }
    *out = rc == OK && hash_bytes(pass->normal.p, pass->normal.n) == hash;
    return rc;
}

static void keep_place(struct data_row *row, const struct form_place *place)
{
    row->at = place->at;
    if (place->row < (int64_t)1 << 40 && place->file < 1 << 23)
        row->spare = (uint64_t)(place->file + 1) << 40 | (uint64_t)place->row;
}

static int take_candidate(struct data_pass *pass, const struct form_item *item, struct error *err)
{
    size_t first = (size_t)pass->files[pass->form->of].first_row;
    size_t at = first + (size_t)item->candidate.row;
    struct data_row *row = at < pass->n ? &pass->rows[at] : NULL;
    struct form_candidate text = item->candidate;
    bool is_target = true, is_input = false;

    if (!row || row->flags & DATA_ROW_UNREADABLE) {
        if (!pass->out->is_partial)
            data_stop(pass, arena_printf(pass->arena, "a candidate is row %lld of split %s, which is not "
                                                      "among the rows",
                                         (long long)text.row, pass->files[pass->form->of].split));
        return OK;
    }
    int rc = has_hash(pass, text.target, row->target, &is_target, err);
    if (rc == OK)
        rc = normal_text(text.input, &pass->normal, err);
    if (rc == OK)
        is_input = hash_more(hash_bytes(pass->normal.p, pass->normal.n), &pass->set,
                             sizeof pass->set) == row->key;
    if (rc == OK && is_input && is_target)
        keep_place(row, &item->place);
    else if (rc == OK || rc == E_LIMIT)
        data_stop(pass, arena_printf(pass->arena, "the texts of the candidate that is row %lld of split "
                                                  "%s are not those that its facts were made of",
                                     (long long)text.row, pass->files[pass->form->of].split));
    return rc == E_LIMIT ? OK : rc;
}

static int read_candidates(struct data_pass *pass, size_t split, struct error *err)
{
    struct form_reader *reader;
    struct form_item item;
    struct error why;
    int64_t n_read = 0;
    int rc = form_reader_open(&reader, pass->form->folder, FORM_CANDIDATES, 0, err);

    if (rc != OK)
        return rc;
    while ((rc = form_next(reader, &item, &why, err)) == 1 && goes_on(pass, n_read++)) {
        if (item.is_damage)
            data_stop(pass, why.message);
        else if (item.split == split)
            rc = take_candidate(pass, &item, err);
        if (rc < 0)
            break;
    }
    form_reader_close(reader);
    return rc < 0 ? rc : OK;
}

/* ---- A split ---- */

static int open_form(struct data_pass *pass, size_t file, struct error *err)
{
    struct data_form *form = pass->form;

    if (!form) {
        form = pass->form = calloc(1, sizeof *form);
        if (form)
            form->arena = arena_open(FORM_ARENA);
        if (!form || !form->arena)
            return error_set(err, E_NOMEM, "no memory for the facts of rows");
    }
    form_reader_close(form->candidates);
    form->candidates = NULL;
    form_close(form->folder);
    form->folder = NULL;
    form->of = file;
    return form_open(&form->folder, pass->files[file].path, err);
}

/* Another folder than the last one is opened for a text: its splits may have several. */
static int read_split(struct data_pass *pass, size_t file, struct error *err)
{
    const struct form_head *head = form_head_of(pass->form->folder);
    size_t split = form_split_at(head, str_of(pass->files[file].split));
    struct form_reader *reader;

    if (split == SIZE_MAX) {
        data_stop(pass, arena_printf(pass->arena, FORM_NAME " has no split %s",
                                     pass->files[file].split));
        return OK;
    }
    find_limits(pass, head);
    int rc = form_reader_open(&reader, pass->form->folder, FORM_ROWS, FORM_OPENING, err);
    if (rc != OK)
        return rc;
    rc = read_rows(pass, reader, file, split, err);
    form_reader_close(reader);
    return rc == OK ? read_candidates(pass, split, err) : rc;
}

int data_form_read(struct data_pass *pass, size_t file, struct error *err)
{
    struct error why;

    pass->files[file].first_row = (int64_t)pass->n;
    pass->set = (int64_t)file;
    int rc = open_form(pass, file, &why);
    if (rc == OK)
        rc = read_split(pass, file, err);
    else if (why.status == E_NOMEM)
        rc = error_set(err, E_NOMEM, "%s", why.message);
    else
        rc = (data_stop(pass, why.message), OK);
    pass->files[file].n_rows = (int64_t)pass->n - pass->files[file].first_row;
    return rc;
}

/* ---- Texts ---- */

static bool find_text(struct data_pass *pass, size_t row, struct form_candidate *out)
{
    const struct data_row *of = &pass->rows[row];
    struct data_form *form = pass->form;
    struct error ignored;

    if (!of->spare)
        return false;
    if (form->of != of->file && open_form(pass, of->file, &ignored) != OK)
        return false;
    if (!form->candidates && form_reader_open(&form->candidates, form->folder, FORM_CANDIDATES, 0,
                                              &ignored) != OK)
        return false;
    const struct form_place place = {(int32_t)(of->spare >> 40) - 1, of->at,
                                     (int64_t)(of->spare & (((uint64_t)1 << 40) - 1))};
    return form_read_at(form->candidates, &place, out);
}

struct str data_form_text(struct data_pass *pass, size_t row, int which, size_t limit,
                          struct arena *arena)
{
    const struct data_form *form = pass->form;
    const struct data_row *of = &pass->rows[row];
    struct form_candidate text;

    if (find_text(pass, row, &text))
        return arena_str(arena, str_first(which == 1 ? text.target : text.input, limit));
    size_t at = class_slot(form, of->target);
    if (which == 1 && form->texts[at])
        return arena_str(arena, str_first(str_of(form->texts[at]), limit));
    return (struct str){NULL, 0};
}

/* Of any row that begins so: most rows are no candidates. */
static bool find_beginning(struct data_pass *pass, size_t row, int k, struct form_candidate *out)
{
    uint32_t hash = pass->openings[row].hashes[k];

    for (size_t i = 0; i < pass->n; i++)
        if (pass->openings[i].hashes[k] == hash && pass->rows[i].spare && find_text(pass, i, out))
            return true;
    return false;
}

const char *data_form_opening(struct data_pass *pass, size_t row, int k)
{
    struct form_candidate text;
    struct error ignored;
    size_t n = 0;
    int words = 0;

    if (!find_beginning(pass, row, k, &text) ||
        normal_text(text.input, &pass->normal, &ignored) != OK)
        return arena_printf(pass->arena, "(as %s row %lld)",
                            pass->files[pass->rows[row].file].split,
                            (long long)row - (long long)pass->files[pass->rows[row].file].first_row);
    const struct str normal = buf_view(&pass->normal);
    while (n < normal.n && (normal.p[n] != ' ' || ++words <= k))
        n++;
    return arena_strndup(pass->arena, normal.p, n);
}
