/* `flatline make longest-first`: files that make a memory fault show in the first batch. See
 * longest_first.h. Rows are copied byte for byte from the training file. */
#include "core/exports/longest_first.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/memory_facts.h"
#include "core/read/json.h"
#include "core/read/source.h"

struct row {
    int64_t row, tokens;
};

static int by_length(const void *a, const void *b)
{
    const struct row *left = a, *right = b;

    if (left->tokens != right->tokens)
        return left->tokens > right->tokens ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

/* The rows, longest first. In the arena of nobody: the caller frees. */
static struct row *sorted_rows(const struct sample *samples, size_t n)
{
    struct row *rows = calloc(n ? n : 1, sizeof *rows);

    if (!rows)
        return NULL;
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct row){(int64_t)i, samples[i].n_tokens};
    qsort(rows, n, sizeof *rows, by_length);
    return rows;
}

static int write_order(const struct made_folder *folder, const struct row *rows, size_t n,
                       struct error *err)
{
    FILE *file;
    int rc = made_file_open(folder, "order.csv", &file, err);

    if (rc != OK)
        return rc;
    fprintf(file, "position,row,tokens\n");
    for (size_t i = 0; i < n; i++)
        fprintf(file, "%zu,%lld,%lld\n", i, (long long)rows[i].row, (long long)rows[i].tokens);
    return made_file_close(file, OK, "order.csv", err);
}

/* ---- The training file: one JSON value a line ---- */

struct places {
    int64_t *at, *length;
    size_t n, capacity;
};

static int add_place(struct places *places, const struct source_line *line, struct error *err)
{
    if (places->n == places->capacity) {
        size_t capacity = places->capacity ? places->capacity * 2 : 1024;
        int64_t *at = realloc(places->at, capacity * sizeof *at);
        int64_t *length = at ? realloc(places->length, capacity * sizeof *length) : NULL;

        if (at)
            places->at = at;
        if (length)
            places->length = length;
        if (!at || !length)
            return error_set(err, E_NOMEM, "%zu rows", capacity);
        places->capacity = capacity;
    }
    places->at[places->n] = line->byte;
    places->length[places->n++] = (int64_t)line->text.n;
    return OK;
}

static int find_rows(struct source_file *file, struct places *places, struct error *err)
{
    struct source_line line;
    int rc;

    while ((rc = source_next_line(file, 0, &line, err)) == 1) {
        if (str_trim(line.text).n == 0)
            continue;
        if (line.cut)
            return error_set(err, E_LIMIT, "row longer than %zu bytes", SOURCE_LINE_BYTES);
        rc = add_place(places, &line, err);
        if (rc != OK)
            return rc;
    }
    return rc;
}

static int copy_row(FILE *out, struct source_file *file, int64_t at, int64_t length,
                    struct error *err)
{
    char piece[8192];

    while (length > 0) {
        size_t want = length < (int64_t)sizeof piece ? (size_t)length : sizeof piece, got;
        int rc = source_at(file, at, piece, want, &got, err);

        if (rc != OK)
            return rc;
        if (got != want)
            return error_set(err, E_IO, "the training file became shorter while it was read");
        fwrite(piece, 1, got, out);
        at += (int64_t)got;
        length -= (int64_t)got;
    }
    fputc('\n', out);
    return OK;
}

static int copy_rows(FILE *out, struct source_file *file, const struct places *places,
                     const struct row *rows, size_t n_first, struct error *err)
{
    bool *is_first = calloc(places->n ? places->n : 1, sizeof *is_first);
    int rc = is_first ? OK : error_set(err, E_NOMEM, "%zu rows", places->n);

    for (size_t i = 0; rc == OK && i < n_first; i++) {
        is_first[rows[i].row] = true;
        rc = copy_row(out, file, places->at[rows[i].row], places->length[rows[i].row], err);
    }
    for (size_t i = 0; rc == OK && i < places->n; i++)
        if (!is_first[i])
            rc = copy_row(out, file, places->at[i], places->length[i], err);
    free(is_first);
    return rc;
}

static int write_rows(const struct made_folder *folder, const char *path, const struct row *rows,
                      const size_t counts[2], struct error *err)
{
    struct places places = {0};
    struct source_file *file = NULL;
    FILE *out = NULL;
    int rc = source_open(&file, path, err);

    if (rc == OK)
        rc = find_rows(file, &places, err);
    if (rc == OK && places.n != counts[0])
        rc = error_set(err, E_PARSE,
                       "%zu rows here, but %zu lengths: the lengths are not of this file", places.n,
                       counts[0]);
    if (rc != OK)
        error_at(err, path, NONE, NONE);
    if (rc == OK)
        rc = made_file_open(folder, "train.jsonl", &out, err);
    if (rc == OK) {
        rc = copy_rows(out, file, &places, rows, counts[1], err);
        rc = made_file_close(out, rc, "train.jsonl", err);
    }
    source_close(file);
    free(places.at);
    free(places.length);
    return rc;
}

/* ---- Settings and text ---- */

static bool is_changed_here(const char *name)
{
    static const char *const names[] = {"max_steps",     "train_sampling_strategy", "group_by_length",
                                        "eval_strategy", "evaluation_strategy",     "do_eval"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void write_value(struct buf *out, const struct setting *setting)
{
    if (setting->type == VALUE_TEXT)
        json_write_string(out, str_of(setting->value));
    else
        buf_puts(out, setting->type == VALUE_NULL ? "null" : setting->value);
}

/* The run's own settings by their canonical names, with the few changes of CHECKS.md 7.3. */
static int write_config(const struct run_facts *facts, const struct made_folder *folder,
                        struct error *err)
{
    struct buf text;
    FILE *file;
    int rc = made_file_open(folder, "config.json", &file, err);

    if (rc != OK)
        return rc;
    buf_init(&text, (size_t)8 << 20);
    buf_puts(&text, "{\n");
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *setting = &facts->settings[i];

        if (setting->side != SIDE_TRAIN || !setting->name || strchr(setting->name, '.') ||
            is_changed_here(setting->name) || facts_setting(facts, setting->name) != setting)
            continue;
        buf_puts(&text, "  ");
        json_write_string(&text, str_of(setting->name));
        buf_puts(&text, ": ");
        write_value(&text, setting);
        buf_puts(&text, ",\n");
    }
    buf_puts(&text, "  \"train_sampling_strategy\": \"sequential\",\n"
                    "  \"eval_strategy\": \"no\",\n  \"max_steps\": 3\n}\n");
    fwrite(text.p, 1, text.n, file);
    rc = text.failed ? error_set(err, E_LIMIT, "settings larger than 8 MiB") : OK;
    buf_free(&text);
    return made_file_close(file, rc, "config.json", err);
}

static int write_readme(const struct run_facts *facts, const struct made_folder *folder,
                        const struct row *rows, const size_t counts[2], struct error *err)
{
    struct memory_facts memory;
    struct memory_estimate estimate;
    char peak[32], cap[32];
    double longest;
    FILE *file;
    int rc = made_file_open(folder, "README.md", &file, err);

    if (rc != OK)
        return rc;
    memory_facts_read(facts, &memory);
    if (counts[0])
        memory.settings.sequence = (double)rows[0].tokens;
    memory_estimate(&memory.shape, &memory.settings, &estimate);
    longest = memory_longest_sequence(&memory.shape, &memory.settings, 1.0,
                                      0.90 * memory.ladder.capacity);
    fprintf(file,
            "# Longest batch first\n\n"
            "`train.jsonl` holds the %zu longest rows first, then the others in file order; "
            "`order.csv` lists all rows by length. Train three steps on it with the run's own "
            "settings and a sequential sampler (`config.json` has them by transformers' names):\n\n"
            "- it fails at once: it was the longest batch; cap `max_length` or drop those rows;\n"
            "- it survives three steps: the longest batch fits, look for growth over time instead.\n\n",
            counts[1]);
    fprintf(file, "The longest row has %lld tokens. ", counts[0] ? (long long)rows[0].tokens : 0LL);
    if (estimate.is_known) {
        number_bytes(peak, estimate.peak_bytes);
        fprintf(file, "Estimated peak at that length: %s. ", peak);
    }
    if (longest > 0.0 && memory.ladder.capacity > 0.0) {
        number_bytes(cap, memory.ladder.capacity);
        fprintf(file, "Estimated longest sequence that fits %s: %.0f tokens. ", cap, longest);
    }
    fprintf(file, "\n\nAfterwards import the log beside this folder: `flatline check FOLDER`.\n");
    return made_file_close(file, OK, "README.md", err);
}

/* micro batch * world size * 3, as CHECKS.md 7.3 asks. */
static size_t first_rows(const struct run_facts *facts, size_t n)
{
    double micro = 1.0, world = 1.0;

    (void)facts_number(facts, "per_device_train_batch_size", &micro);
    (void)facts_number(facts, "world_size", &world);
    if (!(micro >= 1.0))
        micro = 1.0;
    if (!(world >= 1.0))
        world = 1.0;
    return 3.0 * micro * world < (double)n ? (size_t)(3.0 * micro * world) : n;
}

static int write_all(const struct run_facts *facts, const struct made_folder *folder,
                     const struct row *rows, size_t n, struct error *err)
{
    const struct dataset *dataset = NULL;
    const size_t counts[2] = {n, first_rows(facts, n)};
    const struct source *source;
    const char *path = NULL;
    int rc;

    (void)facts_train_rows(facts, &dataset);
    source = dataset ? facts_source(facts, dataset->source_id) : NULL;
    if (source && str_ends(str_of(source->path), ".jsonl"))
        path = source->path;
    rc = write_order(folder, rows, n, err);
    if (rc == OK)
        buf_printf(folder->said, "%s/order.csv: %zu rows, longest first\n", folder->path, n);
    if (rc == OK && path) {
        rc = write_rows(folder, path, rows, counts, err);
        if (rc == OK)
            buf_printf(folder->said, "%s/train.jsonl: the %zu longest rows first\n", folder->path, counts[1]);
    } else if (rc == OK) {
        buf_printf(folder->said, "no train.jsonl: the training rows are not an imported JSONL file; "
                         "order.csv has their order\n");
    }
    if (rc == OK)
        rc = write_config(facts, folder, err);
    if (rc == OK)
        rc = write_readme(facts, folder, rows, counts, err);
    if (rc == OK)
        buf_printf(folder->said, "%s/config.json, %s/README.md\n", folder->path, folder->path);
    return rc;
}

int make_longest_first(const struct run_facts *facts, const struct made_folder *folder,
                       struct error *err)
{
    size_t n;
    const struct sample *samples = facts_lengths(facts, &n, NULL);
    struct row *rows;
    int rc;

    if (!samples || n == 0)
        return error_set(err, E_NOTFOUND,
                         "the token length of the rows is not known; import lengths.csv (header "
                         "row,tokens) beside the run");
    rc = made_folder_open(folder, err);
    if (rc != OK)
        return rc;
    rows = sorted_rows(samples, n);
    if (!rows)
        return error_set(err, E_NOMEM, "%zu rows", n);
    rc = write_all(facts, folder, rows, n, err);
    free(rows);
    return rc;
}
