/* Drop lists and clean test sets. See clean_split.h; a split by groups: group_split.c. */
#include "core/exports/clean_split.h"

#include <stdlib.h>
#include <string.h>

#include "core/facts/leaks.h"
#include "core/read/rows.h"

#define ROW_ARENA ((size_t)256 << 20)
#define RAW_BYTES ((size_t)64 << 20)

static bool has_leaks(const struct leaks *leaks)
{
    for (size_t i = 0; i < leaks->n_sets; i++)
        if (leaks->sets[i].n_leaked > 0)
            return true;
    return false;
}

static int load(const struct run_facts *facts, const struct leaks **leaks, struct error *err)
{
    int rc = leaks_now(facts, leaks, err);

    if (rc == OK && !has_leaks(*leaks))
        return error_set(err, E_NOTFOUND,
                         "no test row is a copy of a training row or near one: "
                         "there is nothing to drop");
    return rc;
}

/* ---- drop-rows ---- */

/* "test", or the file's name where several files have that split; of facts the name that they give it. */
static const char *split_name(const struct leaks *leaks, const struct dataset *dataset)
{
    size_t n = leaks_dataset_is_facts(dataset) ? 2 : 0;

    for (size_t i = 0; i < leaks->n_sets; i++)
        for (size_t k = 0; k < leaks->sets[i].n_files; k++)
            n += strcmp(leaks->sets[i].files[k].dataset->split, dataset->split) == 0;
    return n > 1 ? dataset->name : dataset->split;
}

static void put_quoted(FILE *file, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void put_reason(FILE *file, const struct leak_pair *pair)
{
    char reason[512];

    if (pair->flags & LEAK_EXACT)
        snprintf(reason, sizeof reason, "copy of row %lld of %s", (long long)pair->train_row,
                 pair->train->name);
    else if (pair->flags & LEAK_NEAR)
        snprintf(reason, sizeof reason, "Jaccard %.4f with row %lld of %s", leak_jaccard(pair),
                 (long long)pair->train_row, pair->train->name);
    else
        snprintf(reason, sizeof reason, "containment %.4f in row %lld of %s",
                 leak_containment(pair), (long long)pair->train_row, pair->train->name);
    put_quoted(file, reason);
    fputc('\n', file);
}

/* The file of a row that is counted through the files of its set; *row becomes its number there. */
static const struct dataset *file_of(const struct leak_set *set, int64_t *row)
{
    size_t i = 0;

    for (; i + 1 < set->n_files && *row >= set->files[i].n_rows; i++)
        *row -= set->files[i].n_rows;
    return set->files[i].dataset;
}

/* Pairs are kept of the first rows alone. */
static void put_set(FILE *file, const struct leaks *leaks, const struct leak_set *set)
{
    for (int64_t i = 0; i < set->n_leaked; i++) {
        int64_t row = set->leaked[i];
        const struct dataset *dataset = file_of(set, &row);

        put_quoted(file, split_name(leaks, dataset));
        fprintf(file, ",%lld,", (long long)row);
        if ((size_t)i < set->n_pairs)
            put_reason(file, &set->pairs[i]);
        else
            fputs("copy of a training row or near one\n", file);
    }
}

/* Which training row it is, is kept of the first rows of each set. */
static void tell_unnamed(const struct made_folder *folder, const struct leaks *leaks)
{
    for (size_t i = 0; i < leaks->n_sets; i++)
        if (leaks->sets[i].n_leaked > (int64_t)leaks->sets[i].n_pairs)
            buf_printf(folder->said,
                       "%s: all %lld rows are listed, the training row is named for the first %zu\n",
                       leaks->sets[i].name, (long long)leaks->sets[i].n_leaked,
                       leaks->sets[i].n_pairs);
}

static void tell_partial(const struct made_folder *folder, const struct leaks *leaks)
{
    if (leaks->is_partial || leaks->trouble)
        buf_printf(folder->said, "not all rows were compared: %s\n",
                   leaks->trouble ? leaks->trouble : "the comparison was stopped");
}

int make_drop_rows(const struct run_facts *facts, const struct made_folder *folder,
                   struct error *err)
{
    const struct leaks *leaks;
    FILE *file;
    int64_t n = 0;
    int rc = load(facts, &leaks, err);

    if (rc == OK)
        rc = made_folder_open(folder, err);
    if (rc == OK)
        rc = made_file_open(folder, "drop-rows.csv", &file, err);
    if (rc != OK)
        return rc;
    fputs("split,row,reason\n", file);
    for (size_t i = 0; i < leaks->n_sets; i++) {
        put_set(file, leaks, &leaks->sets[i]);
        n += leaks->sets[i].n_leaked;
    }
    rc = made_file_close(file, OK, "drop-rows.csv", err);
    if (rc == OK)
        buf_printf(folder->said,
                   "%s/drop-rows.csv: %lld test rows that training has seen (rows from 0)\n",
                   folder->path, (long long)n);
    tell_unnamed(folder, leaks);
    tell_partial(folder, leaks);
    return rc;
}

/* ---- clean-test ---- */

struct copying {
    FILE *out;
    struct arena *arena;
    const struct leak_set *set;
    int64_t next, through; /* place in the set's leaked rows; rows of the files before */
    int64_t n_kept, n_unreadable;
};

/* A row of JSONL byte for byte, of another file as JSON. */
static int put_row(struct copying *c, struct rows *rows, const struct row_place *place,
                   const struct json *row, struct error *err)
{
    struct str raw = {NULL, 0};
    struct buf text;
    int rc = OK;

    buf_init(&text, RAW_BYTES);
    if (rows_kind(rows) == ROWS_JSONL)
        rc = rows_raw(rows, place, RAW_BYTES, c->arena, &raw, err);
    if (rc == OK && !raw.p) {
        json_write(&text, row);
        raw = buf_view(&text);
    }
    if (rc == OK && (text.failed || arena_failed(c->arena)))
        rc = error_set(err, E_LIMIT, "row %lld is larger than %zu MB", (long long)place->row,
                       RAW_BYTES >> 20);
    if (rc == OK) {
        raw = str_trim(raw);
        fwrite(raw.p, 1, raw.n, c->out);
        fputc('\n', c->out);
        c->n_kept++;
    }
    buf_free(&text);
    return rc;
}

static int copy_rows(struct copying *c, struct rows *rows, struct error *err)
{
    const struct leak_set *set = c->set;
    struct row_place place;
    struct error why;
    int rc = OK, more;

    for (int64_t i = 0; rc == OK; i++) {
        const struct json *row = NULL;
        int64_t number = c->through + i;

        arena_reset(c->arena);
        more = rows_next(rows, c->arena, &row, &place, &why, err);
        if (more != 1)
            return more;
        if (c->next < set->n_leaked && set->leaked[c->next] == number)
            c->next++;
        else if (!row)
            c->n_unreadable++;
        else
            rc = put_row(c, rows, &place, row, err);
    }
    return rc;
}

static int copy_file(struct copying *c, const struct run_facts *facts, const struct leak_file *file,
                     struct error *err)
{
    const struct source *source = facts_source(facts, file->dataset->source_id);
    struct rows *rows;

    if (!source)
        return error_set(err, E_NOTFOUND, "%s is not there any more", file->dataset->name);
    int rc = rows_open(&rows, source->path, err);
    if (rc != OK)
        return rc;
    rc = copy_rows(c, rows, err);
    rows_close(rows);
    c->through += file->n_rows;
    return rc;
}

static void name_of(const struct leaks *leaks, size_t i, char *out, size_t n)
{
    if (leaks->n_sets == 1)
        snprintf(out, n, "clean-test.jsonl");
    else
        snprintf(out, n, "clean-test-%zu.jsonl", i + 1);
}

static int copy_set(const struct run_facts *facts, const struct leaks *leaks, size_t i,
                    const struct made_folder *folder, struct error *err)
{
    const struct leak_set *set = &leaks->sets[i];
    struct copying c = {.set = set, .arena = arena_open(ROW_ARENA)};
    char name[64];
    int rc = c.arena ? OK : error_set(err, E_NOMEM, "no memory for the rows of %s", set->name);

    name_of(leaks, i, name, sizeof name);
    if (rc == OK)
        rc = made_file_open(folder, name, &c.out, err);
    if (rc == OK) {
        for (size_t k = 0; rc == OK && k < set->n_files; k++)
            rc = copy_file(&c, facts, &set->files[k], err);
        rc = made_file_close(c.out, rc, name, err);
    }
    arena_close(c.arena);
    if (rc == OK)
        buf_printf(folder->said, "%s/%s: %lld rows of %s, %lld left out%s\n", folder->path, name,
                   (long long)c.n_kept, set->name, (long long)(set->n_leaked + c.n_unreadable),
                   c.n_unreadable ? ", some of them because they cannot be read" : "");
    return rc;
}

int make_clean_test(const struct run_facts *facts, const struct made_folder *folder,
                    struct error *err)
{
    const struct leaks *leaks;
    int rc = load(facts, &leaks, err);

    if (rc == OK && leaks->limits)
        rc = error_set(err, E_NOTFOUND,
                       "only the facts of the test rows are known: take the rows that flatline make "
                       "drop-rows lists out where the data is, or import the rows themselves");
    if (rc == OK)
        rc = made_folder_open(folder, err);
    for (size_t i = 0; rc == OK && i < leaks->n_sets; i++)
        rc = copy_set(facts, leaks, i, folder, err);
    if (rc == OK)
        tell_partial(folder, leaks);
    return rc;
}
