/* Data sets as JSON lines, one JSON array, CSV or TSV, plain or packed, and Parquet and Arrow: how many
 * rows, which columns, which form, which split. Read once in bounded memory; the texts stay in the file,
 * each row's place is kept (of the unpacked text, of a table its number; see core/read/rows.h). */
#include <string.h>
#include <strings.h>

#include "core/base/unicode.h"
#include "core/checks/check.h"
#include "core/read/csv.h"
#include "core/read/decompress.h"
#include "core/read/jsonl.h"
#include "core/read/rows.h"
#include "core/read/rows_parts.h"
#include "core/read/source.h"
#include "importers/dataset/class_blocks.h"
#include "importers/dataset/column_rows.h"
#include "importers/dataset/columns.h"
#include "importers/dataset/id_range.h"
#include "importers/dataset/preference_rows.h"
#include "importers/dataset/row_facts.h"
#include "importers/dataset/token_rows.h"
#include "importers/importer.h"
#include "importers/peek.h"
#include "importers/split_name.h"

#define MAX_ROW_FIELDS MAX_COLUMNS
#define MAX_BAD_NOTES  20
#define KEY_BYTES      64

/* ---- Probe ---- */

/* Columns of rows that one trains on. */
static const char *const DATA_KEYS[] = {
    "messages",    "conversations", "conversation", "instruction", "prompt",     "completion",
    "chosen",      "rejected",      "text",         "input_ids",   "question",   "query",
    "response",    "sentence",      "sentence1",    "premise",     "hypothesis", "ner_tags",
    "source",      "target",        "document",     "summary",     "translation", "dialogue",
    "label",       "labels",        "answer",       "tokens",
};
/* Keys of rows that are results, judgements or metrics. */
static const char *const OTHER_KEYS[] = {"suite",   "winner", "loss",        "learning_rate", "step",
                                         "grad_norm", "epoch", "global_step", "current_steps",
                                         "finish_reason", "norm", "artefact"};
static const char *const DATA_NAMES[] = {"train", "eval", "test", "valid", "val",
                                         "dev",   "data", "dpo",  "sft",   "pref"};

static size_t count_keys(const struct peek *peek, const char *const *keys, size_t n)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += peek_has_key(peek, keys[i]);
    return found;
}

static bool is_data_name(const struct peek *peek)
{
    for (size_t i = 0; i < sizeof DATA_NAMES / sizeof *DATA_NAMES; i++)
        if (peek_name_starts(peek, DATA_NAMES[i]))
            return true;
    return false;
}

static int probe_json(const struct peek *peek)
{
    size_t n_data = count_keys(peek, DATA_KEYS, sizeof DATA_KEYS / sizeof *DATA_KEYS);
    size_t n_other = count_keys(peek, OTHER_KEYS, sizeof OTHER_KEYS / sizeof *OTHER_KEYS);

    /* Columns like "source" or "epoch" may stand beside the text; two data columns outweigh one. */
    if (n_data && n_other < n_data)
        return n_data >= 2 || is_data_name(peek) ? 75 : 65;
    return n_other == 0 && is_data_name(peek) ? 40 : 0;
}

static bool header_has(struct str header, const char *word)
{
    struct str cell;
    char separator = str_find(header, "\t") >= 0 ? '\t' : ',';

    while (str_split(&header, separator, &cell)) {
        cell = str_trim(cell);
        if (cell.n >= 2 && cell.p[0] == '"')
            cell = str_from(cell.p + 1, cell.n - 2);
        if (str_is_ignoring_case(cell, word))
            return true;
    }
    return false;
}

static int probe_table(const struct peek *peek)
{
    struct str rest = peek->head, header;
    size_t n_data = 0, n_other = 0;

    if (!str_split(&rest, '\n', &header))
        return 0;
    if (str_starts(header, "\xef\xbb\xbf"))
        header = str_skip(header, 3);
    for (size_t i = 0; i < sizeof DATA_KEYS / sizeof *DATA_KEYS; i++)
        n_data += strcmp(DATA_KEYS[i], "tokens") != 0 && header_has(header, DATA_KEYS[i]);
    for (size_t i = 0; i < sizeof OTHER_KEYS / sizeof *OTHER_KEYS; i++)
        n_other += header_has(header, OTHER_KEYS[i]);
    if (n_data && n_other < n_data)
        return 70;
    return n_other == 0 && is_data_name(peek) && str_find(header, ",") >= 0 ? 35 : 0;
}

static bool is_array_of_objects(const struct peek *peek)
{
    struct str head = str_trim(peek->head);

    return peek_first(peek) == '[' &&
           str_starts(str_trim(str_skip(head, (size_t)str_find(head, "[") + 1)), "{");
}

static bool holds_rows(const struct peek *peek)
{
    struct array_place place =
        find_array(peek->head, (int64_t)peek->head.n >= peek->size, peek_name_ends(peek, ".jsonl"));

    return place.is_array && place.key.n > 0;
}

static int probe(const struct peek *peek)
{
    if (peek_name_ends(peek, ".csv") || peek_name_ends(peek, ".tsv"))
        return probe_table(peek);
    if (!peek_name_ends(peek, ".jsonl") && !peek_name_ends(peek, ".json") &&
        !peek_name_ends(peek, ".ndjson"))
        return 0;
    if (peek_is_lines(peek) || is_array_of_objects(peek))
        return probe_json(peek);
    if (holds_rows(peek)) { /* a name alone does not make a document a data set */
        int sure = probe_json(peek);
        return sure >= 65 ? sure : 0;
    }
    /* An empty or damaged file of that name is still the data set. */
    return peek_name_ends(peek, ".jsonl") && is_data_name(peek) && peek_first(peek) != '{' ? 30 : 0;
}

/* ---- Reading ---- */

struct reading {
    struct import *import;
    struct source_file *file;
    enum packing packing;
    int64_t id;                 /* of the data set in the sink */
    struct columns columns;
    int64_t n_rows, n_unreadable;
    bool is_header;             /* the next CSV row is the header */
    bool is_full;               /* max_rows reached */
    bool is_table;              /* Parquet, Arrow */
    struct str array_key;       /* of the member that holds the rows; empty: the document does */
    struct id_range range;
    struct class_blocks blocks;
    struct preference_rows pairs;
};

static int after_row(struct reading *reading, int64_t byte, struct error *err)
{
    struct import *import = reading->import;

    reading->n_rows++;
    if (reading->n_rows % 256 == 0) {
        if (import_is_cancelled(import))
            return error_set(err, E_CANCELLED, "cancelled");
        if (reading->packing != PACKING_NONE)
            byte = source_packed_tell(reading->file);
        if (import->progress && byte >= 0)
            import->progress(import->progress_ctx, byte);
    }
    return OK;
}

static int put_facts(struct reading *reading, struct sample *facts, int64_t byte, int64_t length,
                     struct error *err)
{
    facts->at = byte;
    facts->length = length;
    int rc = sink_sample(reading->import->sink, reading->id, facts, err);
    return rc == OK ? after_row(reading, byte, err) : rc;
}

/* A line of token ids may be a batch of rows, which have the same place. */
static int put_batch(struct reading *reading, const struct json_row *row, struct error *err)
{
    const struct json *labels = json_get(row->tree, "labels");
    struct token_rows rows = token_rows_of(json_get(row->tree, "input_ids"),
                                           json_is(labels, JSON_ARRAY) ? labels : NULL);
    struct sample facts;
    int rc = OK;

    while (rc == OK && token_rows_next(&rows, &facts))
        rc = put_facts(reading, &facts, row->byte, (int64_t)row->raw.n, err);
    return rc;
}

static bool is_batch(const struct json *row)
{
    const struct json *ids = json_get(row, "input_ids");

    return json_is(ids, JSON_ARRAY) && json_is(ids->child, JSON_ARRAY);
}

static int put_row_facts(struct reading *reading, const struct json_row *row, struct error *err)
{
    struct str names[MAX_ROW_FIELDS], texts[MAX_ROW_FIELDS];
    size_t n = row->n < MAX_ROW_FIELDS ? row->n : MAX_ROW_FIELDS;
    struct sample facts;

    for (size_t i = 0; i < n; i++) {
        bool is_null = !row->fields[i].is_quoted && str_is(row->fields[i].text, "null");
        names[i] = row->fields[i].key;
        texts[i] = is_null ? str_of(NULL) : row->fields[i].text;
    }
    if (row->tree)
        row_facts_of_tree(row->tree, &facts);
    else
        row_facts_of_texts(names, texts, n, &facts);
    return put_facts(reading, &facts, row->byte, (int64_t)row->raw.n, err);
}

static int put_cell_facts(struct reading *reading, const struct csv_row *row, struct error *err)
{
    struct str names[MAX_ROW_FIELDS];
    const struct column *columns = reading->columns.list;
    size_t n = row->n < reading->columns.n ? row->n : reading->columns.n;
    struct sample facts;

    for (size_t i = 0; i < n; i++) {
        names[i] = str_of(columns[i].name);
        id_range_cell(&reading->range, columns[i].name, row->cells[i], row->line);
        class_blocks_value(&reading->blocks, names[i], row->cells[i], reading->n_rows);
    }
    preference_rows_cells(&reading->pairs, names, row->cells, n, row->line, reading->n_rows);
    row_facts_of_texts(names, row->cells, n, &facts);
    return put_facts(reading, &facts, row->byte, row->length, err);
}

static bool is_full(struct reading *reading)
{
    if (reading->import->max_rows && reading->n_rows >= reading->import->max_rows)
        reading->is_full = true;
    return reading->is_full;
}

/* What Python opens as text must be UTF-8; a trainer would not get past such a row. */
#define NOT_UTF8 "a row that is not UTF-8"

static int bad_row(struct reading *reading, int64_t line, int64_t byte, const char *what,
                   struct error *err)
{
    if (reading->n_unreadable++ >= MAX_BAD_NOTES)
        return OK;
    return sink_note(reading->import->sink, NOTE_WARN, line, byte, err, "%s", what);
}

static int on_row(void *ctx, const struct json_row *row, struct error *err)
{
    struct reading *reading = ctx;

    if (is_full(reading))
        return OK;
    if (row->tree && row->tree->type != JSON_OBJECT)
        return bad_row(reading, row->line, row->byte, "a row that is no JSON object", err);
    if (row->raw.n && !unicode_is_valid(row->raw))
        return bad_row(reading, row->line, row->byte, NOT_UTF8, err);
    if (row->tree)
        for (const struct json *member = row->tree->child; member; member = member->next)
            columns_see_member(&reading->columns, member);
    for (size_t i = 0; i < row->n; i++)
        columns_see_field(&reading->columns, &row->fields[i]);
    id_range_row(&reading->range, row);
    class_blocks_row(&reading->blocks, row, reading->n_rows);
    preference_rows_row(&reading->pairs, row, reading->n_rows);
    return row->tree && is_batch(row->tree) ? put_batch(reading, row, err)
                                            : put_row_facts(reading, row, err);
}

static int on_bad(void *ctx, const struct source_line *line, bool is_last, const struct error *why,
                  struct error *err)
{
    struct reading *reading = ctx;

    if (is_last)
        reading->import->state = SOURCE_GROWING;
    return bad_row(reading, line->number, line->byte, why->message, err);
}

/* What stands beside the rows in a document that holds them in a member. */
static int on_member(void *ctx, const struct json *value, struct error *err)
{
    struct reading *reading = ctx;
    struct sink *sink = reading->import->sink;

    if (reading->array_key.n == 0) /* a document that is no array */
        return bad_row(reading, value->line, NONE, "an element that is no JSON object", err);
    if (value->type != JSON_ARRAY || !json_is(value->child, JSON_OBJECT))
        return OK;
    return sink_note(sink, NOTE_WARN, value->line, NONE, err,
                     "only the rows of \"%.*s\" were read, \"%.*s\" holds %zu more",
                     (int)reading->array_key.n, reading->array_key.p,
                     (int)unicode_cut(value->key, KEY_BYTES).n, value->key.p, value->n);
}

static bool is_valid_cells(const struct csv_row *row)
{
    for (size_t i = 0; i < row->n; i++)
        if (row->cells[i].n && !unicode_is_valid(row->cells[i]))
            return false;
    return true;
}

static int on_cells(void *ctx, const struct csv_row *row, struct error *err)
{
    struct reading *reading = ctx;

    if (reading->is_header) {
        reading->is_header = false;
        for (size_t i = 0; i < row->n; i++)
            (void)columns_add(&reading->columns, row->cells[i]);
        return OK;
    }
    if (is_full(reading))
        return OK;
    if (row->is_unclosed)
        return bad_row(reading, row->line, row->byte, "a quote that is never closed", err);
    if (row->n > reading->columns.n && reading->columns.n < MAX_COLUMNS)
        return bad_row(reading, row->line, NONE, "a row of more cells than the header has", err);
    if (!is_valid_cells(row))
        return bad_row(reading, row->line, row->byte, NOT_UTF8, err);
    for (size_t i = 0; i < row->n && i < reading->columns.n; i++)
        reading->columns.list[i].is_known |= row->cells[i].n > 0;
    return put_cell_facts(reading, row, err);
}

/* ---- The file ---- */

/* "1200 rows, form preference (columns chosen and rejected)" in the import summary. */
static const char *summary(const struct reading *reading, const char *form, const char *by)
{
    const char *rows = reading->n_rows == 1 ? "row" : "rows";

    if (!by[0])
        return arena_printf(reading->import->arena, "%s of no form that is known", rows);
    if (strcmp(form, "other") == 0)
        return arena_printf(reading->import->arena, "%s of prompts without answers (column %s)",
                            rows, by);
    return arena_printf(reading->import->arena, "%s, form %s (%s %s)", rows, form,
                        strchr(by, ' ') ? "columns" : "column", by);
}

static int finish(struct reading *reading, struct error *err)
{
    struct buf columns;
    char by[FORM_BY_BYTES];
    const char *form = columns_form(&reading->columns, by);

    buf_init(&columns, MAX_COLUMNS * COLUMN_BYTES * 2);
    columns_join(&reading->columns, &columns);
    int rc = sink_dataset_done(reading->import->sink, reading->id, form, columns.p ? columns.p : "",
                               reading->n_rows, reading->n_unreadable, err);
    if (rc == OK)
        rc = id_range_put(&reading->range, reading->import, err);
    if (rc == OK)
        rc = class_blocks_put(&reading->blocks, reading->import, err);
    if (rc == OK)
        rc = preference_rows_put(&reading->pairs, reading->import, err);
    if (rc == OK && reading->is_table && reading->n_unreadable > 1)
        rc = sink_note(reading->import->sink, NOTE_WARN, NONE, NONE, err,
                       "%lld rows could not be read", (long long)reading->n_unreadable);
    else if (rc == OK && reading->n_unreadable > MAX_BAD_NOTES)
        rc = sink_note(reading->import->sink, NOTE_WARN, NONE, NONE, err,
                       "%lld rows could not be read, the first %d are named",
                       (long long)reading->n_unreadable, MAX_BAD_NOTES);
    buf_free(&columns);
    reading->import->n_rows = reading->n_rows;
    reading->import->n_rows_are = summary(reading, form, by);
    return rc;
}

/* A stream of JSON that ends too early may end so because the packed file does, which is what has to
 * be said. */
static int why_it_ends(struct reading *reading, int rc, struct error *why)
{
    struct error packed = {0};
    char byte;
    size_t n;

    if (reading->packing == PACKING_NONE ||
        source_at(reading->file, INT64_MAX - 1, &byte, 1, &n, &packed) == OK)
        return rc;
    *why = packed;
    return packed.status;
}

static int read_array(struct reading *reading, struct error *err)
{
    char key[KEY_BYTES] = "";
    struct json_stream stream = {.member = on_member, .row = on_row, .ctx = reading};
    bool cut = false;

    if (reading->array_key.n && reading->array_key.n < sizeof key) {
        memcpy(key, reading->array_key.p, reading->array_key.n);
        stream.array_key = key;
    }
    int rc = json_stream(reading->file, &stream, &cut, err);
    if (rc != OK && cut) {
        rc = why_it_ends(reading, rc, err);
        if (reading->packing == PACKING_NONE)
            reading->import->state = SOURCE_GROWING;
    }
    return rc;
}

/* ---- Tables ---- */

/* A row of Parquet or Arrow that cannot be read; what is wrong with many is said once. */
static int bad_table_row(struct reading *reading, const struct row_place *place,
                         const struct error *why, char last[sizeof why->message],
                         struct error *err)
{
    if (strcmp(last, why->message) == 0) {
        reading->n_unreadable++;
        return OK;
    }
    memcpy(last, why->message, sizeof why->message);
    return bad_row(reading, place->line, NONE, why->message, err);
}

static int note_table(struct reading *reading, const struct rows *rows, struct error *err)
{
    const char *note;
    int rc = OK;

    for (size_t i = 0; rc == OK && (note = rows_note(rows, i)) != NULL; i++)
        rc = sink_note(reading->import->sink, NOTE_WARN, NONE, NONE, err, "%s", note);
    return rc;
}

/* Rows of token ids, whose values need no tree. */
static int put_columns(struct reading *reading, const struct column_rows *rows,
                       const struct row_place *place, struct arena *arena, struct error *err)
{
    const struct column_sights sights = {&reading->columns, &reading->range, &reading->blocks};
    struct sample facts;
    int rc = OK;

    for (size_t i = 0; rc == OK && i < rows->batch->n && !is_full(reading); i++) {
        struct json_row row = {.line = place->line + (int64_t)i, .byte = place->at + (int64_t)i};

        if (column_rows_has(rows, i)) {
            column_rows_see(rows, i, row.line, reading->n_rows, &sights);
            column_rows_facts(rows, i, &facts);
            rc = put_facts(reading, &facts, row.byte, 0, err);
            continue;
        }
        row.tree = table_batch_row(rows->batch, i, row.line, arena);
        rc = row.tree ? on_row(reading, &row, err)
                      : bad_row(reading, row.line, NONE, "a row that does not fit into its memory",
                                err);
        arena_reset(arena);
    }
    return rc;
}

static int read_table_rows(struct reading *reading, struct rows *rows, struct arena *arena,
                           struct error *err)
{
    char last[sizeof err->message] = "";
    const struct json *row;
    struct row_place place;
    struct error why;
    bool by_columns = column_rows_fit(rows_example(rows));
    int rc = note_table(reading, rows, err);

    reading->is_table = true;
    while (rc == OK && !is_full(reading)) {
        const struct table_batch *batch;
        int got = by_columns ? rows_next_columns(rows, &batch, &place, err) : 0;

        if (got == 1) {
            const struct column_rows columns = column_rows_of(batch);

            rc = put_columns(reading, &columns, &place, arena, err);
            continue;
        }
        got = got < 0 ? got : rows_next(rows, arena, &row, &place, &why, err);
        if (got == 0)
            return OK;
        if (got < 0) { /* a stream without its end is one that is still written */
            if (got == E_PARSE && rows_kind(rows) == ROWS_ARROW)
                reading->import->state = SOURCE_GROWING;
            return got;
        }
        const struct json_row as_row = {.line = place.line, .byte = place.at, .tree = row};
        rc = row ? on_row(reading, &as_row, err)
                 : bad_table_row(reading, &place, &why, last, err);
        arena_reset(arena);
    }
    return rc;
}

static int read_table(struct reading *reading, struct error *err)
{
    struct arena *arena = arena_open(ARENA_RENDER_BYTES);
    struct rows *rows = NULL;
    int rc = arena ? rows_open(&rows, reading->import->path, err)
                   : error_set(err, E_NOMEM, "no memory for the rows of a table");

    if (rc == OK)
        rc = read_table_rows(reading, rows, arena, err);
    rows_close(rows);
    arena_close(arena);
    return rc;
}

/* ---- Any ---- */

static bool name_ends(struct str name, const char *suffix)
{
    size_t n = strlen(suffix);

    return name.n >= n && strncasecmp(name.p + name.n - n, suffix, n) == 0;
}

static int read_rows(struct reading *reading, struct error *err)
{
    struct jsonl_handler lines = {.row = on_row, .bad = on_bad, .ctx = reading};
    struct csv_handler cells = {.row = on_cells, .ctx = reading};
    struct str path = packing_inner_name(reading->import->path);
    char *head = arena_alloc(reading->import->arena, PEEK_HEAD_BYTES);
    size_t n = 0;

    if (!head)
        return error_set(err, E_NOMEM, "no memory to look at a file");
    int rc = source_at(reading->file, 0, head, PEEK_HEAD_BYTES, &n, err);
    if (rc != OK)
        return rc;
    if (reading->packing == PACKING_NONE && rows_are_table(str_from(head, n)))
        return read_table(reading, err);
    enum source_oddity oddity = source_oddity(str_from(head, n));
    if (oddity != ODDITY_NONE && oddity != ODDITY_BINARY)
        return error_set(err, E_PARSE, "%s", source_oddity_name(oddity));
    if (name_ends(path, ".csv") || name_ends(path, ".tsv")) {
        reading->is_header = true;
        return csv_read_rows(reading->file, 0, &cells, err);
    }
    struct array_place place =
        find_array(str_from(head, n), n < PEEK_HEAD_BYTES,
                   name_ends(path, ".jsonl") || name_ends(path, ".ndjson"));
    reading->array_key = place.key;
    return place.is_array ? read_array(reading, err) : jsonl_read(reading->file, &lines, err);
}

static int run(struct import *import, struct error *err)
{
    struct reading reading = {.import = import};
    struct error why = {0};
    const char *slash = strrchr(import->path, '/');
    struct dataset dataset = {.name = slash ? slash + 1 : import->path,
                              .split = split_by_name(import->path),
                              .n_rows = NONE,
                              .n_unreadable = NONE};
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "rows";
    if (rc != OK || is_odd)
        return rc;
    rc = sink_dataset(import->sink, &dataset, &reading.id, err);
    if (rc != OK)
        return rc;
    rc = source_open_unpacked(&reading.file, &reading.packing, import->path, &why);
    if (rc == OK)
        rc = read_rows(&reading, &why);
    source_close(reading.file);
    if (rc != OK) {
        enum source_state before = import->state;

        rc = import_note_error(import, &why, err);
        if (before == SOURCE_GROWING)
            import->state = before;
    }
    return rc == OK ? finish(&reading, err) : rc;
}

const struct importer importer_dataset_rows = {
    .id = "dataset_rows",
    .title = "a data set of rows",
    .hint = "the training, evaluation and test files (JSONL, JSON, CSV, TSV, also .gz and .zst; "
            "Parquet, Arrow)",
    .supplies = NEEDS_DATASET | NEEDS_TEST_DATASET,
    .version = 6,
    .role = "data",
    .reads_packed = true,
    .reads_tables = true,
    .probe = probe,
    .run = run,
};
