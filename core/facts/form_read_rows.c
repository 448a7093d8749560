/* Rows and candidates of a folder of facts, file after file by name, each checked. See form_read.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/form_read_parts.h"
#include "core/read/rows.h"

#define ROW_ARENA ((size_t)512 << 20)
#define MOST_WORDS INT32_MAX
#define NEAR_ROWS  64

struct form_reader {
    const struct form_folder *folder;   /* NULL: one file alone, at `path` */
    const char *path;
    enum form_part part;
    unsigned want;
    struct rows *rows;          /* of the file that is read; NULL: the next one comes */
    size_t file;
    size_t open_file;           /* which `rows` are, for form_read_at */
    int64_t next_row;           /* of it; NONE: not known */
    struct arena *scratch;
    struct form_row row;
    uint64_t *seen[FORM_MOST_SPLITS];   /* a bit a row */
    int64_t n_words[FORM_MOST_SPLITS], n_seen[FORM_MOST_SPLITS];
    size_t counted;             /* splits whose count was compared at the end */
    char name[512];
};

void form_reader_close(struct form_reader *reader)
{
    if (!reader)
        return;
    rows_close(reader->rows);
    arena_close(reader->scratch);
    for (size_t i = 0; i < FORM_MOST_SPLITS; i++)
        free(reader->seen[i]);
    free(reader);
}

static int open_reader(struct form_reader **out, enum form_part part, unsigned want,
                       struct error *err)
{
    struct form_reader *reader = calloc(1, sizeof *reader);

    if (reader)
        reader->scratch = arena_open(ROW_ARENA);
    if (!reader || !reader->scratch) {
        form_reader_close(reader);
        return error_set(err, E_NOMEM, "no memory for the rows of facts");
    }
    reader->part = part;
    reader->want = want;
    *out = reader;
    return OK;
}

int form_reader_open(struct form_reader **out, const struct form_folder *folder,
                     enum form_part part, unsigned want, struct error *err)
{
    int rc = open_reader(out, part, want, err);

    if (rc == OK)
        (*out)->folder = folder;
    return rc;
}

int form_reader_open_file(struct form_reader **out, const char *path, enum form_part part,
                          struct error *err)
{
    int rc = open_reader(out, part, FORM_ALL, err);

    if (rc == OK)
        (*out)->path = path;
    return rc;
}

/* ---- Files ---- */

static size_t n_files(const struct form_reader *reader)
{
    return reader->folder ? reader->folder->files[reader->part].n : 1;
}

static const char *name_of(const struct form_reader *reader, size_t file)
{
    if (reader->folder)
        return reader->folder->files[reader->part].names[file];
    const char *slash = strrchr(reader->path, '/');
    return slash ? slash + 1 : reader->path;
}

/* Bands are two thirds of a row's bytes: in Parquet columns that nobody wants are not read. */
static bool is_wanted(void *ctx, const struct json *example)
{
    const struct form_reader *reader = ctx;

    if (str_is(example->key, "bands"))
        return reader->want & FORM_BANDS;
    if (str_is(example->key, "opening"))
        return reader->want & FORM_OPENING;
    return !str_is(example->key, "groups") || reader->want & FORM_KEYS;
}

static int open_file(struct form_reader *reader, size_t file, struct error *why)
{
    char path[4096];
    struct buf text;

    rows_close(reader->rows);
    reader->rows = NULL;
    reader->open_file = file;
    reader->next_row = 0;
    if (!reader->folder) {
        strncpy(path, reader->path, sizeof path - 1);
        path[sizeof path - 1] = '\0';
    } else {
        buf_init(&text, sizeof path);
        buf_printf(&text, "%s/%s", reader->folder->path, name_of(reader, file));
        bool fits = !text.failed;
        if (fits)
            memcpy(path, text.p, text.n + 1);
        buf_free(&text);
        if (!fits)
            return error_set(why, E_LIMIT, "a path of more than %zu bytes", sizeof path - 1);
    }
    int rc = rows_open(&reader->rows, path, why);
    if (rc == OK && rows_is_table(reader->rows))
        rows_choose_columns(reader->rows, is_wanted, reader);
    return rc;
}

/* ---- Members ---- */

static int bad_member(struct error *why, const char *name, const char *expected)
{
    return error_set(why, E_PARSE, "\"%s\" is missing or something else, expected %s", name,
                     expected);
}

static bool is_absent(const struct json *value)
{
    return !value || value->type == JSON_NULL;
}

static int take_hashes(const struct json *tree, struct form_row *row, struct error *why)
{
    if (!form_u64(json_get(tree, "exact"), &row->exact))
        return bad_member(why, "exact", "an unsigned 64-bit number");
    if (!form_u64(json_get(tree, "input"), &row->input))
        return bad_member(why, "input", "an unsigned 64-bit number");
    if (!form_u64(json_get(tree, "target"), &row->target))
        return bad_member(why, "target", "an unsigned 64-bit number");
    return OK;
}

static int take_counts(const struct json *tree, struct form_row *row, struct error *why)
{
    static const char *const NAMES[] = {"n_words", "n_target_words", "n_shingles", "n_bytes"};
    int64_t *const counts[] = {&row->n_words, &row->n_target_words, &row->n_shingles, &row->n_bytes};
    const struct json *tokens = json_get(tree, "n_tokens");
    int64_t flags;

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (!form_count(json_get(tree, NAMES[i]), MOST_WORDS, counts[i]))
            return bad_member(why, NAMES[i], "a count");
    row->n_tokens = NONE;
    if (!is_absent(tokens) && !form_count(tokens, MOST_WORDS, &row->n_tokens))
        return bad_member(why, "n_tokens", "a count or null");
    if (!form_count(json_get(tree, "flags"), 15, &flags))
        return bad_member(why, "flags", "0 to 15");
    row->flags = (unsigned)flags;
    return OK;
}

static int take_class(const struct json *tree, struct form_row *row, struct error *why)
{
    const struct json *value = json_get(tree, "class");

    row->class_name = (struct str){NULL, 0};
    if (is_absent(value))
        return OK;
    if (value->type != JSON_STRING || value->text.n > FORM_CLASS)
        return bad_member(why, "class", "a text of at most 64 bytes or null");
    row->class_name = value->text;
    return OK;
}

static int take_opening(const struct json *tree, struct form_row *row, struct error *why)
{
    const struct json *list = json_get(tree, "opening");

    row->n_opening = 0;
    if (is_absent(list))
        return OK;
    if (list->type != JSON_ARRAY || list->n > FORM_OPENINGS)
        return bad_member(why, "opening", "a list of at most 12 hashes");
    for (const struct json *item = list->child; item; item = item->next)
        if (!form_u64(item, &row->opening[row->n_opening++]))
            return bad_member(why, "opening", "a list of unsigned 64-bit numbers");
    return OK;
}

static int take_bands(const struct json *tree, struct form_row *row, struct error *why)
{
    const struct json *list = json_get(tree, "bands");
    size_t n = 0;

    row->has_bands = !is_absent(list);
    if (!row->has_bands)
        return row->n_shingles ? error_set(why, E_PARSE, "no bands of %lld shingles",
                                           (long long)row->n_shingles)
                               : OK;
    if (list->type != JSON_ARRAY || list->n != MINHASH_BANDS)
        return error_set(why, E_PARSE, "%zu bands, expected %d",
                         list->type == JSON_ARRAY ? list->n : 0, MINHASH_BANDS);
    for (const struct json *item = list->child; item; item = item->next)
        if (!form_u64(item, &row->bands[n++]))
            return bad_member(why, "bands", "a list of unsigned 64-bit numbers");
    return OK;
}

static int take_groups(const struct json *tree, struct form_row *row, struct error *why)
{
    const struct json *groups = json_get(tree, "groups");

    row->n_groups = 0;
    if (is_absent(groups))
        return OK;
    /* A map without any entry may come as an empty list. */
    if ((groups->type != JSON_OBJECT && groups->n) || groups->n > FORM_GROUPS)
        return bad_member(why, "groups", "at most 64 columns with their hashes");
    for (const struct json *item = groups->child; item; item = item->next) {
        struct form_group *group = &row->groups[row->n_groups++];

        group->column = item->key;
        if (!form_u64(item, &group->value))
            return bad_member(why, "groups", "unsigned 64-bit numbers");
    }
    return OK;
}

static int take_place(const struct json *tree, struct str *split, int64_t *row, struct error *why)
{
    const struct json *name = json_get(tree, "split");

    if (!json_is(name, JSON_STRING))
        return bad_member(why, "split", "the name of a split");
    *split = name->text;
    return form_count(json_get(tree, "row"), FORM_MOST_ROWS - 1, row)
               ? OK
               : bad_member(why, "row", "the number of a row, from 0");
}

static int take_row(struct form_reader *reader, const struct json *tree, struct error *why)
{
    struct form_row *row = &reader->row;
    int rc = take_place(tree, &row->split, &row->row, why);

    row->n_opening = row->n_groups = 0;
    row->has_bands = false;
    if (rc == OK)
        rc = take_hashes(tree, row, why);
    if (rc == OK)
        rc = take_counts(tree, row, why);
    if (rc == OK)
        rc = take_class(tree, row, why);
    if (rc == OK && reader->want & FORM_OPENING)
        rc = take_opening(tree, row, why);
    if (rc == OK && reader->want & FORM_BANDS)
        rc = take_bands(tree, row, why);
    return rc == OK && reader->want & FORM_KEYS ? take_groups(tree, row, why) : rc;
}

static int take_candidate(const struct json *tree, struct form_candidate *out, struct error *why)
{
    const struct json *input = json_get(tree, "input"), *target = json_get(tree, "target");
    int rc = take_place(tree, &out->split, &out->row, why);

    if (rc == OK && !json_is(input, JSON_STRING))
        return bad_member(why, "input", "a text");
    if (rc == OK && !json_is(target, JSON_STRING))
        return bad_member(why, "target", "a text");
    if (rc == OK) {
        out->input = input->text;
        out->target = target->text;
    }
    return rc;
}

/* ---- Splits and numbers ---- */

/* Not seen before; E_NOMEM. */
static int see(struct form_reader *reader, size_t split, int64_t row, struct error *why)
{
    int64_t word = row / 64;
    uint64_t bit = (uint64_t)1 << (row % 64);

    if (word >= reader->n_words[split]) {
        int64_t n = word < 512 ? 1024 : 2 * (word + 1);
        uint64_t *seen = realloc(reader->seen[split], (size_t)n * sizeof *seen);

        if (!seen)
            return error_set(why, E_NOMEM, "no memory for the numbers of rows");
        memset(seen + reader->n_words[split], 0,
               (size_t)(n - reader->n_words[split]) * sizeof *seen);
        reader->seen[split] = seen;
        reader->n_words[split] = n;
    }
    if (reader->seen[split][word] & bit)
        return error_set(why, E_PARSE, "row %lld of split \"%s\" again", (long long)row,
                         reader->folder->head.splits[split].name);
    reader->seen[split][word] |= bit;
    reader->n_seen[split]++;
    return OK;
}

static int find_split(struct form_reader *reader, struct str name, int64_t row, size_t *split,
                      struct error *why)
{
    if (!reader->folder) {
        *split = 0;
        return OK;
    }
    const struct form_head *head = &reader->folder->head;
    *split = form_split_at(head, name);
    if (*split == SIZE_MAX)
        return error_set(why, E_PARSE, "split \"%.*s\", which " FORM_NAME " does not name",
                         (int)str_first(name, 64).n, name.p);
    if (row >= head->splits[*split].n_rows)
        return error_set(why, E_PARSE, "row %lld of split \"%s\", which has %lld", (long long)row,
                         head->splits[*split].name, (long long)head->splits[*split].n_rows);
    return see(reader, *split, row, why);
}

/* ---- One after the other ---- */

static int take_item(struct form_reader *reader, const struct json *tree, struct form_item *out,
                     struct error *why)
{
    if (!json_is(tree, JSON_OBJECT))
        return error_set(why, E_PARSE, "no JSON object");
    if (reader->part == FORM_CANDIDATES) {
        int rc = take_candidate(tree, &out->candidate, why);

        return rc == OK ? find_split(reader, out->candidate.split, out->candidate.row, &out->split,
                                     why)
                        : rc;
    }
    int rc = take_row(reader, tree, why);
    out->row = &reader->row;
    return rc == OK ? find_split(reader, reader->row.split, reader->row.row, &out->split, why) : rc;
}

/* "rows-00000.jsonl line 7: …", as the place and, of a folder, in the words. */
static int damage(const struct form_reader *reader, int64_t line, struct form_item *out,
                  struct error *why)
{
    char message[sizeof why->message];
    const char *unit = reader->rows && rows_is_table(reader->rows) ? "row" : "line";
    int status = why->status;

    snprintf(message, sizeof message, "%s", why->message);
    if (!reader->folder)
        error_set(why, status, "%s", message);
    else if (line == NONE)
        error_set(why, status, "%s: %s", name_of(reader, reader->open_file), message);
    else
        error_set(why, status, "%s %s %lld: %s", name_of(reader, reader->open_file), unit,
                  (long long)line, message);
    error_at(why, NULL, line, NONE);
    *out = (struct form_item){.is_damage = true};
    return 1;
}

/* What facts.json counts and no file has. */
static int count_splits(struct form_reader *reader, struct form_item *out, struct error *why)
{
    const struct form_head *head = reader->folder ? &reader->folder->head : NULL;

    while (head && reader->part == FORM_ROWS && reader->counted < head->n_splits) {
        size_t i = reader->counted++;

        if (reader->n_seen[i] == head->splits[i].n_rows)
            continue;
        error_set(why, E_PARSE, FORM_NAME ": %lld rows of split \"%s\", its files have %lld",
                  (long long)head->splits[i].n_rows, head->splits[i].name,
                  (long long)reader->n_seen[i]);
        out->is_damage = true;
        return 1;
    }
    return 0;
}

static int next_of_file(struct form_reader *reader, struct form_item *out, struct error *why,
                        struct error *err)
{
    const struct json *tree = NULL;
    struct row_place place;
    struct error bad;

    arena_reset(reader->scratch);
    int rc = rows_next(reader->rows, reader->scratch, &tree, &place, why, &bad);
    reader->next_row = NONE;
    if (rc == 1) {
        out->place = (struct form_place){(int32_t)reader->open_file, place.at, place.row};
        if (tree)
            rc = take_item(reader, tree, out, why);
        else
            rc = why->status = why->status ? why->status : E_PARSE;
        if (rc == E_NOMEM)
            return error_set(err, E_NOMEM, "%s", why->message);
        return rc == OK ? 1 : damage(reader, place.line, out, why);
    }
    if (rc == E_NOMEM)
        return error_set(err, E_NOMEM, "%s", bad.message);
    if (rc < 0) {
        *why = bad;
        rc = damage(reader, NONE, out, why);
    }
    rows_close(reader->rows);
    reader->rows = NULL;
    return rc;
}

int form_next(struct form_reader *reader, struct form_item *out, struct error *why,
              struct error *err)
{
    int rc = 0;

    while (rc == 0) {
        *out = (struct form_item){0};
        *why = (struct error){.line = NONE, .byte = NONE};
        if (!reader->rows && reader->file == n_files(reader))
            return count_splits(reader, out, why);
        if (!reader->rows && open_file(reader, reader->file++, why) != OK)
            return why->status == E_NOMEM ? error_set(err, E_NOMEM, "%s", why->message)
                                          : damage(reader, NONE, out, why);
        rc = next_of_file(reader, out, why, err);
    }
    return rc;
}

/* Most texts are asked for in the order of the file: what lies between two is passed over, since going
 * to a place costs a read of its own. */
bool form_read_at(struct form_reader *reader, const struct form_place *place,
                  struct form_candidate *out)
{
    const struct json *tree = NULL;
    struct row_place where;
    struct error why, err;

    if (place->file < 0 || (size_t)place->file >= n_files(reader))
        return false;
    if ((!reader->rows || reader->open_file != (size_t)place->file) &&
        open_file(reader, (size_t)place->file, &why) != OK)
        return false;
    bool is_near = reader->next_row != NONE && place->row >= reader->next_row &&
                   place->row - reader->next_row <= NEAR_ROWS;
    int64_t n = is_near ? place->row - reader->next_row : 0;
    reader->next_row = NONE;
    if (!is_near && rows_seek(reader->rows, place->at, place->row, &err) != OK)
        return false;
    do {
        arena_reset(reader->scratch);
        if (rows_next(reader->rows, reader->scratch, &tree, &where, &why, &err) != 1)
            return false;
    } while (n-- > 0);
    reader->next_row = place->row + 1;
    return json_is(tree, JSON_OBJECT) && take_candidate(tree, out, &why) == OK;
}
