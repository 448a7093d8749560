/* Facts of data sets that stay where they are (FORMATS.md B25, core/facts/form.h): a folder with facts.json,
 * rows-* and candidates-*. facts.json makes a data set of each split, of form "facts": its rows are not here.
 * The files of rows and candidates belong to it and are no data sets of their own; they are read once to
 * tell what is wrong in them. */
#include <string.h>

#include "core/base/str.h"
#include "core/checks/check.h"
#include "core/facts/form_read.h"
#include "importers/importer.h"
#include "importers/peek.h"
#include "importers/split_name.h"

enum { MAX_BAD_NOTES = 20, COLUMNS_BYTES = 1 << 20 };

/* ---- Probe ---- */

static bool has_keys(const struct peek *peek, const char *const *names)
{
    for (size_t i = 0; names[i]; i++)
        if (!peek_has_key(peek, names[i]))
            return false;
    return true;
}

static int probe(const struct peek *peek)
{
    static const char *const ROWS[] = {"split", "row", "exact", "input", "n_shingles", "bands", NULL};
    static const char *const CANDIDATES[] = {"split", "row", "input", "target", NULL};
    bool is_rows = peek_name_starts(peek, "rows-");

    if (peek_name_is(peek, FORM_NAME))
        return peek_has_key(peek, "format") && str_find(peek->head, "flatline-facts") >= 0 ? 98 : 0;
    if (!is_rows && !peek_name_starts(peek, "candidates-"))
        return 0;
    if (!peek_name_ends(peek, ".jsonl"))
        return 0;
    return has_keys(peek, is_rows ? ROWS : CANDIDATES) ? 96 : 0;
}

/* ---- facts.json ---- */

/* By its name, or by what the user says: "test", or of several splits "holdout:test,more:train". */
static const char *side_of(const struct import *import, const char *name)
{
    const char *said = import->role ? import->role : "";
    struct str rest = str_of(said), part;

    if (strcmp(said, "train") == 0 || strcmp(said, "test") == 0 || strcmp(said, "eval") == 0)
        return said;
    while (str_split(&rest, ',', &part)) {
        size_t n = strlen(name);

        if (str_starts(part, name) && part.n > n && part.p[n] == ':')
            return arena_strndup(import->arena, part.p + n + 1, part.n - n - 1);
    }
    return split_by_name(name);
}

static const char *columns_of(const struct import *import, const struct form_head *head)
{
    struct buf text;

    buf_init(&text, COLUMNS_BYTES);
    for (size_t i = 0; i < head->n_columns; i++)
        buf_printf(&text, "%s%s", i ? "," : "", head->columns[i]);
    const char *columns = arena_strdup(import->arena, text.p ? text.p : "");
    buf_free(&text);
    return columns;
}

static int put_splits(struct import *import, const struct form_head *head, struct error *err)
{
    const char *columns = columns_of(import, head);
    int rc = OK;

    for (size_t i = 0; rc == OK && i < head->n_splits; i++) {
        const struct form_split *split = &head->splits[i];
        const struct dataset dataset = {.name = split->name,
                                        .split = side_of(import, split->name),
                                        .form = "facts",
                                        .columns = columns,
                                        .n_rows = split->n_rows,
                                        .n_unreadable = 0};
        int64_t id;

        rc = sink_dataset(import->sink, &dataset, &id, err);
        if (rc == OK)
            rc = sink_dataset_done(import->sink, id, "facts", columns, split->n_rows, 0, err);
        import->n_rows += split->n_rows;
    }
    return rc;
}

static int note_missing_files(struct import *import, const struct form_folder *folder,
                              struct error *err)
{
    static const char *const WANTED[] = {[FORM_ROWS] = "rows-*.jsonl or rows-*.parquet",
                                         [FORM_CANDIDATES] = "candidates-*.jsonl or "
                                                             "candidates-*.parquet"};
    int rc = OK;

    for (int part = 0; rc == OK && part < 2; part++)
        if (form_n_files(folder, (enum form_part)part) == 0)
            rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err, "no %s beside it",
                           WANTED[part]);
    return rc;
}

static int read_head(struct import *import, struct error *err)
{
    struct form_folder *folder;
    struct error why;
    int rc = form_open(&folder, import->path, &why);

    if (rc != OK)
        return import_note_error(import, &why, err);
    rc = put_splits(import, form_head_of(folder), err);
    if (rc == OK)
        rc = note_missing_files(import, folder, err);
    import->n_rows_are =
        arena_printf(import->arena, "rows in facts of %zu split%s, made by %s",
                     form_head_of(folder)->n_splits, form_head_of(folder)->n_splits == 1 ? "" : "s",
                     form_head_of(folder)->made_by);
    form_close(folder);
    return rc;
}

/* ---- Rows and candidates ---- */

static int note_bad(struct import *import, const struct error *why, int64_t *n_bad, struct error *err)
{
    import->state = SOURCE_DAMAGED;
    if ((*n_bad)++ >= MAX_BAD_NOTES)
        return OK;
    return sink_note(import->sink, NOTE_WARN, why->line, NONE, err, "%s", why->message);
}

static int read_items(struct import *import, struct form_reader *reader, struct error *err)
{
    struct form_item item;
    struct error why;
    int64_t n_bad = 0;
    bool is_plain = str_ends(str_of(import->path), ".jsonl"); /* places are bytes of the file */
    int rc;

    while ((rc = form_next(reader, &item, &why, err)) == 1) {
        if (item.is_damage && note_bad(import, &why, &n_bad, err) != OK)
            return err->status;
        import->n_rows += !item.is_damage;
        if (is_plain && import->progress && import->n_rows % 256 == 0)
            import->progress(import->progress_ctx, item.place.at);
        if (import->n_rows % 256 == 0 && import_is_cancelled(import))
            return error_set(err, E_CANCELLED, "cancelled");
    }
    if (rc == OK && n_bad > MAX_BAD_NOTES)
        rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                       "%lld places are wrong, the first %d are named", (long long)n_bad,
                       MAX_BAD_NOTES);
    return rc;
}

static int run(struct import *import, struct error *err)
{
    const char *slash = strrchr(import->path, '/'), *name = slash ? slash + 1 : import->path;
    int part = form_part_of_name(name);
    struct form_reader *reader;
    bool is_odd = false;
    int rc = import_oddity(import, &is_odd, err);

    if (rc != OK || is_odd)
        return rc;
    if (part < 0)
        return read_head(import, err);
    rc = form_reader_open_file(&reader, import->path, (enum form_part)part, err);
    if (rc != OK)
        return rc;
    rc = read_items(import, reader, err);
    form_reader_close(reader);
    import->n_rows_are = part == FORM_ROWS ? "rows of facts" : "candidates of facts";
    return rc;
}

const struct importer importer_dataset_facts = {
    .id = "dataset_facts",
    .title = "facts of a data set",
    .hint = "a folder with facts.json, rows-* and candidates-* (flatline facts, or importers/facts_spark.py "
            "and facts_duckdb.py beside the data)",
    .supplies = NEEDS_DATASET | NEEDS_TEST_DATASET,
    .version = 1,
    .role = "dataset",
    .reads_packed = true,
    .reads_tables = true,
    .probe = probe,
    .run = run,
};
