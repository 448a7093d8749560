/* Data sets as JSON lines, one JSON array, CSV or TSV: how many rows, which columns, which form,
 * which split. Read once in bounded memory; the texts stay in the file. */
#include <string.h>

#include "core/base/unicode.h"
#include "core/checks/check.h"
#include "core/read/csv.h"
#include "core/read/jsonl.h"
#include "core/read/source.h"
#include "importers/dataset/id_range.h"
#include "importers/dataset/row_facts.h"
#include "importers/importer.h"
#include "importers/peek.h"
#include "importers/split_name.h"

#define MAX_COLUMNS 64
#define MAX_ROW_FIELDS MAX_COLUMNS
#define COLUMN_BYTES 64
#define MAX_BAD_NOTES 20

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

static int probe(const struct peek *peek)
{
    if (peek_name_ends(peek, ".csv") || peek_name_ends(peek, ".tsv"))
        return probe_table(peek);
    if (!peek_name_ends(peek, ".jsonl") && !peek_name_ends(peek, ".json") &&
        !peek_name_ends(peek, ".ndjson"))
        return 0;
    if (peek_is_lines(peek) || is_array_of_objects(peek))
        return probe_json(peek);
    /* An empty or damaged file of that name is still the data set. */
    return peek_name_ends(peek, ".jsonl") && is_data_name(peek) && peek_first(peek) != '{' ? 30 : 0;
}

/* ---- Reading ---- */

struct column {
    char name[COLUMN_BYTES];
    bool is_bool, is_list;      /* of the first value that was not null */
    bool is_known;
};

struct reading {
    struct import *import;
    int64_t id;                 /* of the data set in the sink */
    struct column columns[MAX_COLUMNS];
    size_t n_columns;
    int64_t n_rows, n_unreadable;
    bool is_header;             /* the next CSV row is the header */
    bool is_full;               /* max_rows reached */
    struct id_range range;
};

static struct column *column_of(struct reading *reading, struct str name)
{
    struct column *column;

    if (name.n == 0)
        return NULL;
    name = unicode_cut(name, COLUMN_BYTES - 1);
    for (size_t i = 0; i < reading->n_columns; i++)
        if (str_is(name, reading->columns[i].name))
            return &reading->columns[i];
    if (reading->n_columns == MAX_COLUMNS || !unicode_is_valid(name))
        return NULL;
    column = &reading->columns[reading->n_columns++];
    memcpy(column->name, name.p, name.n);
    column->name[name.n] = '\0';
    for (char *p = column->name; *p; p++)
        if (*p == ',')
            *p = ' ';       /* the list of columns is joined by commas */
    return column;
}

static void see_member(struct reading *reading, const struct json *member)
{
    struct column *column = column_of(reading, member->key);

    if (!column || column->is_known || member->type == JSON_NULL)
        return;
    column->is_known = true;
    column->is_bool = member->type == JSON_TRUE || member->type == JSON_FALSE;
    column->is_list = member->type == JSON_ARRAY;
}

static void see_field(struct reading *reading, const struct json_field *field)
{
    struct column *column = column_of(reading, field->key);

    if (!column || column->is_known || (!field->is_quoted && str_is(field->text, "null")))
        return;
    column->is_known = true;
    column->is_bool = !field->is_quoted && !field->is_number &&
                      (str_is(field->text, "true") || str_is(field->text, "false"));
}

static int after_row(struct reading *reading, int64_t byte, struct error *err)
{
    struct import *import = reading->import;

    reading->n_rows++;
    if (reading->n_rows % 256 == 0) {
        if (import_is_cancelled(import))
            return error_set(err, E_CANCELLED, "cancelled");
        if (import->progress && byte >= 0)
            import->progress(import->progress_ctx, byte);
    }
    return OK;
}

static int put_facts(struct reading *reading, struct sample *facts, int64_t byte,
                     struct error *err)
{
    facts->at = byte;
    facts->length = NONE;
    return sink_sample(reading->import->sink, reading->id, facts, err);
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
    return put_facts(reading, &facts, row->byte, err);
}

static int put_cell_facts(struct reading *reading, const struct csv_row *row, struct error *err)
{
    struct str names[MAX_ROW_FIELDS];
    size_t n = row->n < reading->n_columns ? row->n : reading->n_columns;
    struct sample facts;

    n = n < MAX_ROW_FIELDS ? n : MAX_ROW_FIELDS;
    for (size_t i = 0; i < n; i++)
        names[i] = str_of(reading->columns[i].name);
    for (size_t i = 0; i < n; i++)
        id_range_cell(&reading->range, reading->columns[i].name, row->cells[i], row->line);
    row_facts_of_texts(names, row->cells, n, &facts);
    return put_facts(reading, &facts, NONE, err);
}

static bool is_full(struct reading *reading)
{
    if (reading->import->max_rows && reading->n_rows >= reading->import->max_rows)
        reading->is_full = true;
    return reading->is_full;
}

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
    if (row->tree)
        for (const struct json *member = row->tree->child; member; member = member->next)
            see_member(reading, member);
    for (size_t i = 0; i < row->n; i++)
        see_field(reading, &row->fields[i]);
    id_range_row(&reading->range, row);
    int rc = put_row_facts(reading, row, err);
    return rc == OK ? after_row(reading, row->byte, err) : rc;
}

static int on_bad(void *ctx, const struct source_line *line, bool is_last, const struct error *why,
                  struct error *err)
{
    struct reading *reading = ctx;

    if (is_last)
        reading->import->state = SOURCE_GROWING;
    return bad_row(reading, line->number, line->byte, why->message, err);
}

/* Elements of one array that are no objects come as members. */
static int on_member(void *ctx, const struct json *value, struct error *err)
{
    return bad_row(ctx, value->line, NONE, "an element that is no JSON object", err);
}

static int on_cells(void *ctx, const struct csv_row *row, struct error *err)
{
    struct reading *reading = ctx;

    if (reading->is_header) {
        reading->is_header = false;
        for (size_t i = 0; i < row->n; i++)
            (void)column_of(reading, row->cells[i]);
        return OK;
    }
    if (is_full(reading))
        return OK;
    if (row->n > reading->n_columns && reading->n_columns < MAX_COLUMNS)
        return bad_row(reading, row->line, NONE, "a row of more cells than the header has", err);
    int rc = put_cell_facts(reading, row, err);
    return rc == OK ? after_row(reading, NONE, err) : rc;
}

/* ---- Form ---- */

static const struct column *find(const struct reading *reading, const char *name)
{
    for (size_t i = 0; i < reading->n_columns; i++)
        if (strcmp(reading->columns[i].name, name) == 0)
            return &reading->columns[i];
    return NULL;
}

static const char *form_of(const struct reading *reading)
{
    const struct column *label = find(reading, "label");
    bool has_prompt = find(reading, "prompt") != NULL;

    if (find(reading, "chosen") && find(reading, "rejected"))
        return "preference";
    if (find(reading, "input_ids"))
        return "tokens";
    if (find(reading, "messages"))
        return "messages";
    if (find(reading, "conversations") || find(reading, "conversation"))
        return "sharegpt";
    if (has_prompt && find(reading, "completion"))
        return label && label->is_bool ? "kto" : "prompt-completion";
    if (find(reading, "instruction") && (find(reading, "output") || find(reading, "response")))
        return "alpaca";
    return find(reading, "text") ? "text" : "other";
}

static int finish(struct reading *reading, struct error *err)
{
    struct buf columns;
    int rc;

    buf_init(&columns, MAX_COLUMNS * COLUMN_BYTES * 2);
    for (size_t i = 0; i < reading->n_columns; i++) {
        if (i)
            buf_putc(&columns, ',');
        buf_puts(&columns, reading->columns[i].name);
    }
    rc = sink_dataset_done(reading->import->sink, reading->id, form_of(reading),
                           columns.p ? columns.p : "", reading->n_rows, reading->n_unreadable, err);
    if (rc == OK)
        rc = id_range_put(&reading->range, reading->import, err);
    if (rc == OK && reading->n_unreadable > MAX_BAD_NOTES)
        rc = sink_note(reading->import->sink, NOTE_WARN, NONE, NONE, err,
                       "%lld rows could not be read, the first %d are named",
                       (long long)reading->n_unreadable, MAX_BAD_NOTES);
    buf_free(&columns);
    reading->import->n_rows = reading->n_rows;
    return rc;
}

static int read_array(struct reading *reading, struct source_file *file, struct error *err)
{
    struct json_stream stream = {.member = on_member, .row = on_row, .ctx = reading};
    bool cut = false;
    int rc = json_stream(file, &stream, &cut, err);

    if (rc != OK && cut)
        reading->import->state = SOURCE_GROWING;
    return rc;
}

static int read_rows(struct reading *reading, struct source_file *file, struct error *err)
{
    struct jsonl_handler lines = {.row = on_row, .bad = on_bad, .ctx = reading};
    struct csv_handler cells = {.row = on_cells, .ctx = reading};
    struct str path = str_of(reading->import->path);
    char head[4096];
    size_t n = 0;
    int rc = source_at(file, 0, head, sizeof head, &n, err);

    if (rc != OK)
        return rc;
    if (str_ends(path, ".csv") || str_ends(path, ".tsv") || str_ends(path, ".CSV")) {
        reading->is_header = true;
        return csv_read_rows(file, 0, &cells, err);
    }
    struct peek peek = {.name = "", .head = str_from(head, n)};
    return peek_first(&peek) == '[' ? read_array(reading, file, err) : jsonl_read(file, &lines, err);
}

static int run(struct import *import, struct error *err)
{
    struct reading reading = {.import = import};
    struct source_file *file = NULL;
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
    rc = source_open(&file, import->path, &why);
    if (rc == OK)
        rc = read_rows(&reading, file, &why);
    source_close(file);
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
    .hint = "the training, evaluation and test files (JSONL, JSON, CSV, TSV)",
    .supplies = NEEDS_DATASET | NEEDS_TEST_DATASET,
    .version = 1,
    .role = "data",
    .probe = probe,
    .run = run,
};
