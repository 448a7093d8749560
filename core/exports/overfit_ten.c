/* Ten rows to memorise. See overfit_ten.h.
 *
 * Rows with a supervised token and a target of their own, nearest to the quantiles 0.05, 0.15 … of
 * length, so that short and long ones are there; copied byte for byte. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/exports/overfit_ten_parts.h"
#include "core/facts/audit.h"
#include "core/read/rows.h"

#define ROW_BYTES ((size_t)64 << 20)

struct candidate {
    int64_t row, n_tokens, n_trained;
};

static int by_length(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;

    if (left->n_tokens != right->n_tokens)
        return left->n_tokens < right->n_tokens ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

/* ---- Which rows -------------------------------------------------------------------------------- */

/* The audit whose rows are those of the training file. */
static const struct audit *rows_audit(const struct run_facts *facts)
{
    size_t n;
    const struct audit *const *audits = facts_audits(facts, &n);

    for (size_t i = 0; i < n; i++)
        if (audits[i]->basis == AUDIT_SIMULATED && audits[i]->rows && audits[i]->dataset &&
            strcmp(audits[i]->dataset->split, "train") == 0)
            return audits[i];
    return NULL;
}

static struct candidate *measured(const struct audit *audit, struct arena *arena, size_t *n)
{
    struct candidate *list = arena_array(arena, (size_t)audit->n_rows, sizeof *list);

    *n = 0;
    for (int64_t i = 0; list && i < audit->n_rows; i++)
        if (audit->rows[i].n_trained > 0 && !(audit->rows[i].flags & AUDIT_DROPPED))
            list[(*n)++] = (struct candidate){i, audit->rows[i].n_tokens, audit->rows[i].n_trained};
    return list;
}

static struct candidate *estimated(const struct run_facts *facts, const struct dataset *dataset,
                                   struct arena *arena, size_t *n)
{
    size_t n_samples;
    const struct sample *samples = facts_samples(facts, dataset, &n_samples);
    struct candidate *list = arena_array(arena, n_samples, sizeof *list);

    *n = 0;
    for (size_t i = 0; list && i < n_samples; i++)
        if (!(samples[i].flags & (SAMPLE_EMPTY_ANSWER | SAMPLE_NO_ASSISTANT)))
            list[(*n)++] = (struct candidate){(int64_t)i, samples[i].n_tokens, NONE};
    return list;
}

/* False: the target stands among the chosen ones already. */
static bool is_new_target(const struct ten *ten, const struct ten_row *row)
{
    for (size_t i = 0; i < ten->n; i++)
        if (ten->rows[i].row == row->row ||
            (row->text.target.p && ten->rows[i].text.target.p &&
             str_eq(ten->rows[i].text.target, row->text.target)))
            return false;
    return true;
}

static int try_row(struct ten *ten, const struct candidate *candidate, bool *is_taken,
                   struct error *err)
{
    struct ten_row row = {.row = candidate->row, .n_tokens = candidate->n_tokens,
                          .n_trained = candidate->n_trained};
    int rc = OK;

    if (ten->window) {
        const struct labelled_row *labelled;

        rc = audit_window_row(ten->window, candidate->row, &labelled, NULL, err);
        if (rc == OK && !labelled->refused)
            row_prompt_of(labelled, audit_window_tokenizer(ten->window), ten->arena, &row.text);
    }
    *is_taken = rc == OK && is_new_target(ten, &row);
    if (*is_taken)
        ten->rows[ten->n++] = row;
    return rc;
}

/* For each quantile the nearest row whose target is not there yet: at the place, then above and below by
 * turns. Once none is left for one quantile there is none for the others: targets that repeat in all rows
 * cost one walk over them. */
static int choose(struct ten *ten, const struct candidate *list, size_t n, int n_wanted,
                  struct error *err)
{
    bool is_taken = true;

    for (int k = 0; k < n_wanted && ten->n < n && is_taken; k++) {
        double quantile = (k + 0.5) / n_wanted;
        int64_t at = (int64_t)floor(quantile * (double)(n - 1) + 0.5);

        is_taken = false;

        for (int64_t step = 0; !is_taken && step < (int64_t)n; step++) {
            int64_t places[2] = {at - step, at + step};

            for (int i = 0; !is_taken && i < (step ? 2 : 1); i++) {
                int rc = OK;

                if (places[i] >= 0 && places[i] < (int64_t)n)
                    rc = try_row(ten, &list[places[i]], &is_taken, err);
                if (rc != OK)
                    return rc;
            }
        }
    }
    return OK;
}

static int choose_rows(struct ten *ten, int n_wanted, struct error *err)
{
    const struct audit *audit = rows_audit(ten->facts);
    struct candidate *list;
    size_t n;
    int rc = OK;

    ten->is_measured = audit != NULL;
    if (audit)
        ten->dataset = audit->dataset;
    else
        (void)facts_train_rows(ten->facts, &ten->dataset);
    if (ten->dataset && ten->dataset->form && strcmp(ten->dataset->form, "facts") == 0)
        return error_set(err, E_NOTFOUND, "only the facts of %s are known: import the rows themselves",
                         ten->dataset->name);
    if (!ten->dataset)
        return error_set(err, E_NOTFOUND, "no training rows; import the data set the run was trained on");
    list = audit ? measured(audit, ten->arena, &n) : estimated(ten->facts, ten->dataset, ten->arena, &n);
    ten->rows = arena_array(ten->arena, (size_t)n_wanted, sizeof *ten->rows);
    if (!list || !ten->rows)
        return error_set(err, E_NOMEM, "choosing rows to memorise");
    if (!n)
        return error_set(err, E_NOTFOUND, "no row of %s has a supervised token: settle flat-all-masked first",
                         ten->dataset->name);
    qsort(list, n, sizeof *list, by_length);
    if (audit)
        rc = audit_window_open(&ten->window, ten->facts, audit, err);
    return rc == OK ? choose(ten, list, n, n_wanted, err) : rc;
}

/* ---- Files --------------------------------------------------------------------------------------- */

/* The rows of an audit count those that the importer could not read and has no place of: the window finds
 * them. */
static int copy_raw(struct ten *ten, struct rows *rows, int64_t row, struct str *out, struct error *err)
{
    struct row_place place;
    const struct json *tree;
    struct error why;
    size_t n;
    const struct sample *samples = facts_samples(ten->facts, ten->dataset, &n);

    if (ten->window)
        return audit_window_raw(ten->window, row, ROW_BYTES, ten->arena, out, err);
    if (row >= (int64_t)n || samples[row].at < 0)
        return error_set(err, E_NOTFOUND, "row %" PRId64 " has no place in the data file", row);
    int rc = rows_seek(rows, samples[row].at, row, err);
    if (rc == OK)
        rc = rows_next(rows, ten->arena, &tree, &place, &why, err);
    if (rc == 0)
        return error_set(err, E_IO, "row %" PRId64 " is not there any more: the file changed", row);
    return rc < 0 ? rc : rows_raw(rows, &place, ROW_BYTES, ten->arena, out, err);
}

static int add_rows(struct ten *ten, struct rows *rows, struct buf *out, struct error *err)
{
    bool is_array = rows_kind(rows) == ROWS_JSON_ARRAY;

    buf_puts(out, is_array ? "[\n" : "");
    for (size_t i = 0; i < ten->n; i++) {
        struct str raw;
        int rc = copy_raw(ten, rows, ten->rows[i].row, &raw, err);

        if (rc != OK)
            return rc;
        while (raw.n && (raw.p[raw.n - 1] == '\n' || raw.p[raw.n - 1] == '\r'))
            raw.n--;
        buf_str(out, raw);
        buf_puts(out, is_array && i + 1 < ten->n ? ",\n" : "\n");
    }
    buf_puts(out, is_array ? "]\n" : "");
    return OK;
}

static int write_data(struct ten *ten, const struct made_folder *folder, struct error *err)
{
    const struct source *source = facts_source(ten->facts, ten->dataset->source_id);
    struct rows *rows = NULL;
    struct buf text;
    int rc = source ? rows_open(&rows, source->path, err)
                    : error_set(err, E_NOTFOUND, "the file of the training rows is not known");

    buf_init(&text, (size_t)1 << 30);
    if (rc == OK && (rows_kind(rows) == ROWS_CSV || rows_kind(rows) == ROWS_TSV))
        rc = error_set(err, E_UNSUPPORTED, "rows of a table cannot be copied one by one; convert it to "
                                           "JSONL");
    ten->data_name = rc == OK && rows_kind(rows) == ROWS_JSON_ARRAY ? "train.json" : "train.jsonl";
    if (rc == OK)
        rc = add_rows(ten, rows, &text, err);
    rows_close(rows);
    if (rc != OK && source)
        error_at(err, source->path, NONE, NONE);
    if (rc == OK)
        rc = made_file_write(folder, ten->data_name, &text,
                             arena_printf(ten->arena, "%zu rows as they stand in %s", ten->n,
                                          ten->dataset->name),
                             err);
    buf_free(&text);
    return rc;
}

static int write_list(const struct ten *ten, const struct made_folder *folder, struct error *err)
{
    struct buf text;
    int rc;

    buf_init(&text, 1 << 20);
    buf_puts(&text, "position,source_row,tokens,supervised_tokens\n");
    for (size_t i = 0; i < ten->n; i++) {
        buf_printf(&text, "%zu,%" PRId64 ",%" PRId64 ",", i, ten->rows[i].row, ten->rows[i].n_tokens);
        if (ten->rows[i].n_trained != NONE)
            buf_printf(&text, "%" PRId64, ten->rows[i].n_trained);
        buf_puts(&text, "\n");
    }
    rc = made_file_write(folder, "rows.csv", &text, "which rows they are", err);
    buf_free(&text);
    return rc;
}

/* Half as many tokens again and 8, so that an answer that goes on is seen; one that was cut has learned no
 * end. */
static int64_t most_new_tokens(const struct ten_row *row)
{
    return row->text.is_cut ? row->text.n_target : (3 * row->text.n_target + 1) / 2 + 8;
}

static int write_prompts(struct ten *ten, const struct made_folder *folder, struct error *err)
{
    struct buf text;
    int rc = OK;

    buf_init(&text, (size_t)256 << 20);
    for (size_t i = 0; i < ten->n; i++) {
        const struct ten_row *row = &ten->rows[i];

        if (!row->text.target.p)
            continue;
        ten->n_prompts++;
        buf_printf(&text, "{\"row\": %" PRId64 ", \"prompt\": ", row->row);
        json_write_string(&text, row->text.prompt);
        buf_puts(&text, ", \"target\": ");
        json_write_string(&text, row->text.target);
        buf_printf(&text, ", \"max_new_tokens\": %" PRId64 "}\n", most_new_tokens(row));
    }
    if (ten->n_prompts)
        rc = made_file_write(folder, "prompts.jsonl", &text,
                             arena_printf(ten->arena, "prompt and target of %zu of %zu rows",
                                          ten->n_prompts, ten->n),
                             err);
    else
        buf_puts(folder->said, ten->window
                                   ? "no prompts.jsonl: the rows do not show where their answers begin\n"
                                   : "no prompts.jsonl: it needs the run's tokenizer and chat template\n");
    buf_free(&text);
    return rc;
}

static int write_readme(const struct ten *ten, const struct made_folder *folder, int n_wanted,
                        const char *config, struct error *err)
{
    struct buf text;
    int rc;

    buf_init(&text, 1 << 20);
    buf_printf(&text,
               "# Can the pipeline memorise %zu rows?\n\n"
               "`%s` holds %zu rows of the training data, short and long ones (`rows.csv`: which). `%s` is "
               "the run's own config for 40 epochs on them at a constant rate, without regularisers, "
               "evaluation or packing; model, targets, template, masking and lengths are as they were.\n\n"
               "1. Train with `%s`; write the console to `train.log`.\n",
               ten->n, ten->data_name, ten->n, config, config);
    buf_puts(&text, ten->n_prompts ? "2. Generate greedily from each prompt of `prompts.jsonl` with the "
                                     "trained model (encode it without special tokens)"
                                   : "2. Generate greedily from the prompt of each row with the trained "
                                     "model");
    buf_puts(&text,
             " and write `generations.jsonl`: one line a row with `row`, `target` "
             "as given, and `output`.\n"
             "3. Put the output folder, `train.log` and `generations.jsonl` together: `flatline check "
             "FOLDER`. A loss of 0.1 or less and every row reproduced: the plumbing is sound, look at data "
             "and evaluation. Otherwise `overfit-ten-failed` says what to look at first.\n");
    if ((int)ten->n < n_wanted)
        buf_printf(&text, "\nOnly %zu of %d rows were there with a supervised token and a target of their "
                          "own.\n",
                   ten->n, n_wanted);
    if (!ten->is_measured)
        buf_puts(&text, "\nLengths are estimated and whether a row has supervised tokens was not checked: "
                        "that needs the run's tokenizer and chat template.\n");
    rc = made_file_write(folder, "README.md", &text, "what to do", err);
    buf_free(&text);
    return rc;
}

int make_overfit_ten(const struct run_facts *facts, const struct made_folder *folder, int n_rows,
                     struct error *err)
{
    struct ten ten = {.facts = facts, .arena = arena_open(ARENA_CHECK_BYTES)};
    const char *config = "config.json";
    int rc = ten.arena ? choose_rows(&ten, n_rows, err) : error_set(err, E_NOMEM, "choosing rows");

    if (rc == OK)
        rc = made_folder_open(folder, err);
    if (rc == OK)
        rc = write_data(&ten, folder, err);
    if (rc == OK)
        rc = write_list(&ten, folder, err);
    if (rc == OK)
        rc = write_prompts(&ten, folder, err);
    if (rc == OK)
        rc = ten_write_config(&ten, folder, &config, err);
    if (rc == OK)
        rc = write_readme(&ten, folder, n_rows, config, err);
    audit_window_close(ten.window);
    arena_close(ten.arena);
    return rc;
}
