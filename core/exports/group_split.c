/* `flatline make group-split`: which rows go to which side when a group stays together. A row is a
 * test row when SHA-256 of its group, as a number, mod 100 is below the share. See clean_split.h.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/sha256.h"
#include "core/exports/clean_split.h"
#include "core/facts/leaks.h"
#include "core/facts/leaks_clusters.h"
#include "core/read/rows.h"

#define ROW_ARENA ((size_t)256 << 20)

struct splitting {
    const struct run_facts *facts;
    const char *column; /* NULL: by clusters */
    struct leak_clusters clusters;
    int share; /* of 100 */
    FILE *out, *files;
    struct arena *arena;
    struct sha256 *hash;
    int64_t n_rows, n_test, n_without;
};

/* The column of the largest share of groups on both sides, a key by its name first. */
static const struct leak_column *key_of(const struct leaks *leaks)
{
    const struct leak_column *best = NULL;

    for (size_t i = 0; i < leaks->n_sets; i++)
        for (size_t k = 0; k < leaks->sets[i].n_columns; k++) {
            const struct leak_column *column = &leaks->sets[i].columns[k];

            if (!best || (column->is_key_by_name && !best->is_key_by_name))
                best = column;
        }
    return best;
}

static int share_of(const struct leaks *leaks)
{
    int64_t n_test = 0;

    for (size_t i = 0; i < leaks->n_sets; i++)
        n_test += leaks->sets[i].n_rows;
    int64_t n = n_test + leaks->n_train;
    int share = n ? (int)((100 * n_test + n / 2) / n) : 0;
    return share < 1 ? 1 : share > 99 ? 99 : share;
}

static const struct json *member(const struct json *object, struct str name)
{
    for (const struct json *value = json_is(object, JSON_OBJECT) ? object->child : NULL; value;
         value = value->next)
        if (str_eq(value->key, name))
            return value;
    return NULL;
}

/* "metadata.user" may be a member of an object; p NULL: the row has no such value. */
static struct str group_of(const struct json *row, const char *column)
{
    const char *dot = strchr(column, '.');
    const struct json *value = member(row, str_of(column));

    if (!value && dot)
        value = member(member(row, str_from(column, (size_t)(dot - column))), str_of(dot + 1));
    return json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER) ? value->text
                                                                      : (struct str){NULL, 0};
}

/* The row's value, or the number of its cluster's first row. */
static struct str group_at(const struct splitting *s, const struct json *row, char *number,
                           size_t n)
{
    if (s->column)
        return row ? group_of(row, s->column) : (struct str){NULL, 0};
    if (!row || (size_t)s->n_rows >= s->clusters.n)
        return (struct str){NULL, 0};
    snprintf(number, n, "%u", s->clusters.of[s->n_rows]);
    return str_of(number);
}

static bool is_test(struct splitting *s, struct str group)
{
    uint8_t digest[32];
    int rest = 0;

    sha256_add(s->hash, group.p ? group.p : "", group.n);
    sha256_finish(s->hash, digest, NULL);
    for (size_t i = 0; i < sizeof digest; i++)
        rest = (rest * 256 + digest[i]) % 100;
    return rest < s->share;
}

static void put_quoted(FILE *file, struct str text)
{
    fputc('"', file);
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"')
            fputc('"', file);
        fputc(text.p[i], file);
    }
    fputc('"', file);
}

static int split_rows(struct splitting *s, struct rows *rows, struct error *err)
{
    for (;;) {
        struct row_place place;
        struct error why;
        const struct json *row = NULL;

        arena_reset(s->arena);
        int more = rows_next(rows, s->arena, &row, &place, &why, err);
        if (more != 1)
            return more;
        char number[32];
        struct str group = group_at(s, row, number, sizeof number);
        bool to_test = group.p && is_test(s, group);
        fprintf(s->out, "%lld,", (long long)s->n_rows++);
        put_quoted(s->out, group);
        fprintf(s->out, ",%s\n", to_test ? "test" : "train");
        s->n_test += to_test;
        s->n_without += !group.p;
    }
}

static int split_file(struct splitting *s, const struct dataset *dataset, struct error *err)
{
    const struct source *source = facts_source(s->facts, dataset->source_id);
    struct rows *rows;
    int64_t first = s->n_rows;

    if (!source)
        return error_set(err, E_NOTFOUND, "%s is not there any more", dataset->name);
    int rc = rows_open(&rows, source->path, err);
    if (rc != OK)
        return rc;
    rc = split_rows(s, rows, err);
    rows_close(rows);
    put_quoted(s->files, str_of(dataset->name));
    fprintf(s->files, ",%lld,%lld\n", (long long)first, (long long)(s->n_rows - first));
    return rc;
}

/* The training files first, then those of the other splits. */
static int split_all(struct splitting *s, struct error *err)
{
    int rc = OK;

    fputs("row,group,split\n", s->out);
    fputs("file,first_row,rows\n", s->files);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; rc == OK && i < s->facts->n_datasets; i++) {
            const struct dataset *dataset = &s->facts->datasets[i];

            if (leaks_dataset_is(dataset, side == 1) && !leaks_dataset_is_facts(dataset))
                rc = split_file(s, dataset, err);
        }
    return rc;
}

static void put_rule(const struct splitting *s, struct buf *text)
{
    if (s->column)
        buf_printf(text,
                   "# A split by %s\n\n"
                   "A row is a test row when SHA-256 of its %s, read as a number, mod 100 is below "
                   "%d: all rows of one %s go to one side, and a new row needs no list to find its "
                   "side.\n\n",
                   s->column, s->column, s->share, s->column);
    else
        buf_printf(text,
                   "# A split by families of rows\n\n"
                   "No column tells which rows belong together, so rows that are near (Jaccard >= "
                   "%.1f of their 5-word shingles) and what is near to one of them form a family, "
                   "named by its first row. A family goes to the test set when SHA-256 of that "
                   "number, as text, read as a number, mod 100 is below %d. A column with the key "
                   "is better: a new row may join two families.\n\n",
                   LEAK_CLUSTER_JACCARD, s->share);
}

static int write_readme(const struct splitting *s, const struct made_folder *folder,
                        struct error *err)
{
    struct buf text;

    buf_init(&text, 1 << 16);
    put_rule(s, &text);
    buf_printf(&text,
               "`split.csv`: row (from 0, counted through the files of `files.csv`), group, split. "
               "%lld of %lld rows are test rows; %lld rows have no group and stay in training.\n",
               (long long)s->n_test, (long long)s->n_rows, (long long)s->n_without);
    int rc = made_file_write(folder, "README.md", &text, "the rule", err);
    buf_free(&text);
    return rc;
}

static int write_split(struct splitting *s, const struct made_folder *folder, struct error *err)
{
    int rc = made_folder_open(folder, err);

    if (rc == OK)
        rc = made_file_open(folder, "split.csv", &s->out, err);
    if (rc != OK)
        return rc;
    rc = made_file_open(folder, "files.csv", &s->files, err);
    if (rc == OK) {
        rc = split_all(s, err);
        rc = made_file_close(s->files, rc, "files.csv", err);
    }
    rc = made_file_close(s->out, rc, "split.csv", err);
    if (rc == OK)
        buf_printf(folder->said, "%s/split.csv: %lld rows by %s, %lld of them for the test set\n",
                   folder->path, (long long)s->n_rows,
                   s->column ? s->column : "families of near rows", (long long)s->n_test);
    return rc == OK ? write_readme(s, folder, err) : rc;
}

int make_group_split(const struct run_facts *facts, const struct made_folder *folder,
                     struct error *err)
{
    struct splitting s = {.facts = facts};
    const struct leaks *leaks;
    int rc = leaks_now(facts, &leaks, err);

    if (rc != OK)
        return rc;
    const struct leak_column *key = key_of(leaks);
    if (leaks->limits)
        return error_set(err, E_NOTFOUND,
                         "only the facts of the rows are known: split where the data is, a row is a test "
                         "row if SHA-256 of its %s mod 100 is below %d, or import the rows themselves",
                         key ? key->name : "key", share_of(leaks));
    s.column = key ? key->name : NULL;
    rc = key ? OK : leak_clusters_find(facts, &s.clusters, err);
    if (rc != OK)
        return rc;
    s.share = share_of(leaks);
    s.arena = arena_open(ROW_ARENA);
    rc = s.arena ? sha256_open(&s.hash, err)
                 : error_set(err, E_NOMEM, "no memory for the rows of a split");
    if (rc == OK)
        rc = write_split(&s, folder, err);
    sha256_close(s.hash);
    arena_close(s.arena);
    leak_clusters_free(&s.clusters);
    return rc;
}
