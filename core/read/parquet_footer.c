/* The footer of a Parquet file: its place, its schema, its row groups. It stays in memory as it is;
 * of the groups only rows and place are kept, since a footer may be tens of MiB. */
#include <stdlib.h>

#include "core/read/parquet_parts.h"

#define MAGIC_BYTES 4
#define TAIL_BYTES  8
#define CHUNK_SLACK 128 /* some writers leave the header of the dictionary out of the size */

static int wrong_footer(const struct source_file *file, int64_t at, struct error *err,
                        const char *what)
{
    int rc = error_set(err, E_PARSE, "the footer of a Parquet file: %s", what);

    error_at(err, source_path(file), NONE, at);
    return rc;
}

static int find(struct parquet_footer *footer, struct source_file *file, struct error *err)
{
    int64_t size = source_size(file), tail_at = size - TAIL_BYTES;
    unsigned char tail[TAIL_BYTES];
    size_t got = 0;

    if (size < MAGIC_BYTES + TAIL_BYTES)
        return wrong_footer(file, 0, err, "the file ends before it");
    int rc = source_at(file, tail_at, tail, sizeof tail, &got, err);
    if (rc != OK)
        return rc;
    if (got == sizeof tail && memcmp(tail + 4, "PARE", MAGIC_BYTES) == 0)
        return error_set(err, E_UNSUPPORTED, "an encrypted Parquet file");
    if (got < sizeof tail || memcmp(tail + 4, "PAR1", MAGIC_BYTES) != 0)
        return wrong_footer(file, tail_at, err,
                            "no \"PAR1\" at the end of the file: it is cut, or still written");
    footer->n = (size_t)tail[0] | (size_t)tail[1] << 8 | (size_t)tail[2] << 16 |
                (size_t)tail[3] << 24;
    if ((int64_t)footer->n > tail_at - MAGIC_BYTES)
        return wrong_footer(file, tail_at, err, "it is longer than the file");
    if (footer->n > PARQUET_FOOTER_BYTES)
        return error_set(err, E_LIMIT, "a Parquet file with a footer of %zu bytes", footer->n);
    footer->at = tail_at - (int64_t)footer->n;
    return OK;
}

static int load(struct parquet_footer *footer, struct source_file *file, struct error *err)
{
    size_t got = 0;
    int rc = find(footer, file, err);

    if (rc != OK)
        return rc;
    footer->bytes = malloc(footer->n + 1);
    if (!footer->bytes)
        return error_set(err, E_NOMEM, "no memory for a footer of %zu bytes", footer->n);
    rc = source_at(file, footer->at, footer->bytes, footer->n, &got, err);
    if (rc == OK && got < footer->n)
        return wrong_footer(file, footer->at, err, "the file ends inside it");
    return rc;
}

/* ---- Row groups ---- */

static int64_t rows_of_group(struct thrift *in)
{
    struct thrift_field field = {0};
    int64_t n_rows = -1;

    while (thrift_next(in, &field)) {
        if (field.id == 3)
            n_rows = thrift_int(in, &field);
        else
            thrift_skip(in, &field);
    }
    return n_rows;
}

static int read_groups(struct parquet_footer *footer, struct thrift *in,
                       const struct thrift_field *list, int64_t file_bytes, struct error *err)
{
    size_t n = thrift_list(in, list, THRIFT_STRUCT);
    int64_t most = TABLE_FREE_ROWS + file_bytes * TABLE_ROWS_PER_BYTE;

    free(footer->groups);
    footer->groups = calloc(n + 1, sizeof *footer->groups);
    if (!footer->groups)
        return error_set(err, E_NOMEM, "no memory for %zu row groups", n);
    footer->n_groups = 0;
    footer->n_rows = 0;
    for (size_t i = 0; i < n && !in->wrong; i++) {
        struct row_group *group = &footer->groups[footer->n_groups++];

        group->at = (size_t)(in->p - in->begin);
        group->first_row = footer->n_rows;
        group->n_rows = rows_of_group(in);
        if (in->wrong)
            break;
        if (group->n_rows < 0 || group->n_rows > most - footer->n_rows)
            return error_set(err, E_LIMIT,
                             "a Parquet file of %lld bytes that claims %lld rows in row group %zu",
                             (long long)file_bytes, (long long)group->n_rows, i);
        footer->n_rows += group->n_rows;
    }
    return OK;
}

/* ---- Columns of a row group ---- */

static void read_column_data(struct thrift *in, struct chunk *chunk)
{
    struct thrift_field field = {0};
    int64_t data_at = -1, dictionary_at = 0, n_bytes = -1;

    while (thrift_next(in, &field)) {
        if (field.id == 1)
            chunk->type = (enum parquet_type)thrift_int(in, &field);
        else if (field.id == 4)
            chunk->codec = (int)thrift_int(in, &field);
        else if (field.id == 5)
            chunk->n_values = thrift_int(in, &field);
        else if (field.id == 7)
            n_bytes = thrift_int(in, &field);
        else if (field.id == 9)
            data_at = thrift_int(in, &field);
        else if (field.id == 11)
            dictionary_at = thrift_int(in, &field);
        else
            thrift_skip(in, &field);
    }
    chunk->begin = dictionary_at > 0 && dictionary_at < data_at ? dictionary_at : data_at;
    chunk->end = n_bytes >= 0 && chunk->begin >= 0 && n_bytes <= INT64_MAX - CHUNK_SLACK - chunk->begin
                     ? chunk->begin + n_bytes + CHUNK_SLACK
                     : -1;
}

static void read_column(struct thrift *in, struct chunk *chunk)
{
    struct thrift_field field = {0};

    *chunk = (struct chunk){.begin = -1, .n_values = -1};
    while (thrift_next(in, &field)) {
        if (field.id == 1)
            chunk->is_elsewhere = thrift_bytes(in, &field).n > 0;
        else if (field.id == 3 && thrift_struct(in, &field))
            read_column_data(in, chunk);
        else {
            chunk->is_encrypted |= field.id == 8 || field.id == 9;
            thrift_skip(in, &field);
        }
    }
}

static const char *check_chunk(const struct parquet_footer *footer, struct chunk *chunk)
{
    if (chunk->is_encrypted || chunk->is_elsewhere)
        return NULL; /* told with the column's name */
    if (chunk->n_values < 0)
        return "a column without values";
    if (chunk->begin < MAGIC_BYTES || chunk->begin > footer->at || chunk->end < chunk->begin)
        return "a column outside the file";
    if (chunk->end > footer->at)
        chunk->end = footer->at;
    return NULL;
}

int parquet_group_read(const struct parquet_footer *footer, size_t group, struct chunk *chunks,
                       struct error *err)
{
    struct thrift in = thrift_of(str_from(footer->bytes, footer->n));
    struct thrift_field field = {0};
    size_t n = 0;
    const char *wrong = NULL;

    in.p += footer->groups[group].at;
    while (!wrong && thrift_next(&in, &field)) {
        if (field.id != 1) {
            thrift_skip(&in, &field);
            continue;
        }
        n = thrift_list(&in, &field, THRIFT_STRUCT);
        if (n != footer->n_leaves)
            break;
        for (size_t i = 0; i < n && !wrong; i++) {
            read_column(&in, &chunks[i]);
            wrong = in.wrong ? in.wrong : check_chunk(footer, &chunks[i]);
        }
    }
    if (!wrong && n != footer->n_leaves)
        wrong = "another number of columns than the schema has";
    if (wrong || in.wrong) {
        int rc = error_set(err, E_PARSE, "row group %zu: %s", group, wrong ? wrong : in.wrong);
        error_at(err, NULL, NONE, footer->at + (int64_t)footer->groups[group].at);
        return rc;
    }
    return OK;
}

/* ---- The whole ---- */

int parquet_footer_read(struct parquet_footer *footer, struct source_file *file,
                        struct arena *arena, struct error *err)
{
    struct thrift_field field = {0};
    int rc = load(footer, file, err);

    if (rc != OK)
        return rc;
    struct thrift in = thrift_of(str_from(footer->bytes, footer->n));
    while (rc == OK && thrift_next(&in, &field)) {
        if (field.id == 2 && !footer->leaves)
            rc = parquet_schema_read(footer, &in, &field, arena, err);
        else if (field.id == 4)
            rc = read_groups(footer, &in, &field, source_size(file), err);
        else
            thrift_skip(&in, &field);
    }
    if (rc == OK && in.wrong)
        return wrong_footer(file, footer->at + (in.p - in.begin), err, in.wrong);
    if (rc == OK && !footer->leaves)
        return wrong_footer(file, footer->at, err, "no schema");
    if (rc != OK && rc != E_NOMEM)
        error_at(err, source_path(file), NONE, footer->at);
    return rc;
}

void parquet_footer_free(struct parquet_footer *footer)
{
    free(footer->bytes);
    free(footer->groups);
}
