/* The passes over a data set, one after the other. See form_write.h. */
#include "core/facts/form_write.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/facts/form_common.h"
#include "core/facts/form_folder.h"
#include "core/facts/form_names.h"
#include "core/facts/form_pairs.h"

#define HEAD_BYTES ((size_t)1 << 30)

struct writing {
    const struct form_options *options;
    struct form_walker *walker;
    struct form_folder folder;
    struct form_common *common;
    struct common_text text;
    struct form_pairs *pairs;
    struct form_names columns[PARALLEL_MAX], groups[PARALLEL_MAX]; /* of each thread */
    int64_t *n_rows; /* of each split */
    int64_t first;   /* number over all splits of the split's first row */
    struct form_written *out;
};

/* ---- The common text ---- */

static int make_text(void *ctx, int worker, struct form_scratch *scratch, struct form_slot *slot,
                     struct error *err)
{
    struct str text;
    int rc = form_row_text(slot->line, scratch, &text, &slot->is_readable, err);

    (void)ctx;
    (void)worker;
    if (rc == OK)
        buf_str(&slot->text, text);
    return rc == OK && slot->text.failed ? error_set(err, E_NOMEM, "no memory for a row") : rc;
}

static int take_text(void *ctx, const struct form_slot *slot, struct error *err)
{
    struct writing *w = ctx;

    return slot->is_readable ? form_common_add(w->common, buf_view(&slot->text), err) : OK;
}

static bool is_train(const struct form_data *data)
{
    return str_is(str_of(data->split), "train");
}

static int find_common(struct writing *w, struct error *err)
{
    const struct form_pass pass = {make_text, take_text, w};
    bool needs_more = true;
    int64_t n_rows;
    int rc = form_common_open(&w->common, w->options->part_bytes, err);

    while (rc == OK && needs_more) {
        for (size_t i = 0; rc == OK && i < w->options->n_data; i++) {
            const struct form_data *data = &w->options->data[i];

            if (is_train(data))
                rc = form_walk(w->walker, data->split, data->paths, data->n_paths, &pass,
                               "looking for common text, row", &n_rows, err);
        }
        if (rc == OK)
            rc = form_common_end_pass(w->common, &needs_more, err);
    }
    return rc == OK ? form_common_find(w->common, &w->text, err) : rc;
}

/* ---- Rows ---- */

static int add_names(struct writing *w, int worker, const struct json *line,
                     const struct form_row *row, struct error *err)
{
    int rc = OK;

    for (const struct json *value = line->child; rc == OK && value; value = value->next)
        rc = form_names_add(&w->columns[worker], value->key, err);
    for (size_t i = 0; rc == OK && i < row->n_groups; i++)
        rc = form_names_add(&w->groups[worker], row->groups[i].column, err);
    return rc;
}

static int make_row(void *ctx, int worker, struct form_scratch *scratch, struct form_slot *slot,
                    struct error *err)
{
    struct writing *w = ctx;
    struct form_row *row = &slot->facts;
    int rc = form_row_of(slot->line, &w->text, w->options->tokenizer, scratch, row, err);

    row->split = slot->split;
    row->row = slot->row;
    slot->is_readable = !(row->flags & ROW_NOT_READABLE);
    if (rc == OK && slot->is_readable)
        rc = add_names(w, worker, slot->line, row, err);
    if (rc == OK)
        form_row_write(row, &slot->text);
    return rc == OK && slot->text.failed ? error_set(err, E_NOMEM, "no memory for a row") : rc;
}

static int take_row(void *ctx, const struct form_slot *slot, struct error *err)
{
    struct writing *w = ctx;
    int rc = form_lines_put(&w->folder.rows, buf_view(&slot->text), err);

    w->out->n_unreadable += !slot->is_readable;
    return rc == OK ? form_pairs_add(w->pairs, &slot->facts, slot->row == 0, err) : rc;
}

static int write_rows(struct writing *w, struct error *err)
{
    const struct form_pass pass = {make_row, take_row, w};
    int rc = form_pairs_open(&w->pairs, w->folder.made, w->options->pairs_memory, err);

    for (size_t i = 0; rc == OK && i < w->options->n_data; i++) {
        const struct form_data *data = &w->options->data[i];

        rc = form_walk(w->walker, data->split, data->paths, data->n_paths, &pass, "reading row",
                       &w->n_rows[i], err);
        w->out->n_rows += w->n_rows[i];
    }
    return rc;
}

/* ---- Candidates ---- */

static int make_candidate(void *ctx, int worker, struct form_scratch *scratch,
                          struct form_slot *slot, struct error *err)
{
    const struct writing *w = ctx;
    struct row_parts parts;

    (void)worker;
    if (!form_pairs_has(w->pairs, w->first + slot->row))
        return OK;
    int rc = form_row_parts(slot->line, scratch, &parts, err);
    if (rc != OK)
        return rc;
    form_candidate_write(&(struct form_candidate){slot->split, slot->row, parts.input, parts.target},
                         &slot->text);
    return slot->text.failed ? error_set(err, E_NOMEM, "no memory for the texts of a row") : OK;
}

static int take_candidate(void *ctx, const struct form_slot *slot, struct error *err)
{
    struct writing *w = ctx;

    return slot->text.n ? form_lines_put(&w->folder.candidates, buf_view(&slot->text), err) : OK;
}

static bool has_candidates(const struct writing *w, int64_t n_rows)
{
    for (int64_t i = 0; i < n_rows; i++)
        if (form_pairs_has(w->pairs, w->first + i))
            return true;
    return false;
}

static int write_candidates(struct writing *w, struct error *err)
{
    const struct form_pass pass = {make_candidate, take_candidate, w};
    const struct form_hooks *hooks = &w->options->hooks;
    int64_t n_rows;

    if (hooks->progress)
        hooks->progress(hooks->ctx, "comparing rows,", w->out->n_rows);
    int rc = form_pairs_find(w->pairs, hooks->cancel, err);
    w->first = 0;
    for (size_t i = 0; rc == OK && i < w->options->n_data; i++) {
        const struct form_data *data = &w->options->data[i];

        if (has_candidates(w, w->n_rows[i]))
            rc = form_walk(w->walker, data->split, data->paths, data->n_paths, &pass,
                           "keeping texts, row", &n_rows, err);
        w->first += w->n_rows[i];
    }
    w->out->n_candidates = form_pairs_n_candidates(w->pairs);
    if (rc == OK && w->folder.candidates.n_lines != w->out->n_candidates)
        rc = error_set(err, E_IO, "the data changed while it was read: %" PRId64 " rows to keep, "
                                  "%" PRId64 " found again", w->out->n_candidates,
                       w->folder.candidates.n_lines);
    return rc;
}

/* ---- facts.json ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static const char *const *words_of(struct arena *arena, const char *text, size_t n)
{
    const char **words = arena_array(arena, n + 1, sizeof *words);
    struct str rest = str_of(text), word;

    for (size_t i = 0; words && i < n && str_split(&rest, ' ', &word); i++)
        words[i] = arena_strndup(arena, word.p, word.n);
    return words;
}

static const struct form_split *splits_of(const struct writing *w, struct arena *arena)
{
    struct form_split *splits = arena_array(arena, w->options->n_data + 1, sizeof *splits);

    for (size_t i = 0; splits && i < w->options->n_data; i++) {
        const struct form_data *data = &w->options->data[i];
        const char **files = arena_array(arena, data->n_paths + 1, sizeof *files);

        for (size_t k = 0; files && k < data->n_paths; k++)
            files[k] = base_name(data->paths[k]);
        splits[i] = (struct form_split){data->split, w->n_rows[i], files, files ? data->n_paths : 0};
    }
    return splits;
}

static int commit(struct writing *w, struct error *err)
{
    struct arena *arena = arena_open(HEAD_BYTES);
    struct form_names *columns = &w->columns[0], *groups = &w->groups[0];
    struct buf text;
    int rc = arena ? OK : error_set(err, E_NOMEM, "no memory for facts.json");

    for (int i = 1; rc == OK && i < PARALLEL_MAX; i++) {
        rc = form_names_join(columns, &w->columns[i], err);
        if (rc == OK)
            rc = form_names_join(groups, &w->groups[i], err);
    }
    if (rc != OK) {
        arena_close(arena);
        return rc;
    }
    struct form_head head = {.version = w->options->version,
                             .made_by = w->options->made_by,
                             .splits = splits_of(w, arena),
                             .n_splits = w->options->n_data,
                             .prefix = words_of(arena, w->text.prefix, w->text.n_prefix),
                             .suffix = words_of(arena, w->text.suffix, w->text.n_suffix),
                             .n_prefix = w->text.n_prefix,
                             .n_suffix = w->text.n_suffix,
                             .columns = (const char *const *)columns->items,
                             .n_columns = columns->n,
                             .group_columns = (const char *const *)groups->items,
                             .n_group_columns = groups->n};
    head.crowded = form_pairs_crowded(w->pairs, &head.n_crowded);
    buf_init(&text, HEAD_BYTES);
    if (!arena_failed(arena))
        form_head_write(&head, &text);
    rc = arena_failed(arena) || text.failed ? error_set(err, E_NOMEM, "no memory for facts.json")
                                            : form_folder_commit(&w->folder, buf_view(&text), err);
    w->out->n_crowded = head.n_crowded;
    buf_free(&text);
    arena_close(arena);
    return rc;
}

/* ---- All ---- */

static void close_all(struct writing *w)
{
    form_walker_close(w->walker);
    form_common_close(w->common);
    common_text_free(&w->text);
    form_pairs_close(w->pairs);
    for (int i = 0; i < PARALLEL_MAX; i++) {
        form_names_free(&w->columns[i]);
        form_names_free(&w->groups[i]);
    }
    free(w->n_rows);
    form_folder_close(&w->folder);
}

int form_write(const struct form_options *options, struct form_written *out, struct error *err)
{
    struct form_written written = {0};
    struct writing w = {.options = options, .out = &written};
    int rc = form_folder_open(&w.folder, options->folder, options->force, err);

    w.n_rows = calloc(options->n_data + 1, sizeof *w.n_rows);
    if (rc == OK && !w.n_rows)
        rc = error_set(err, E_NOMEM, "no memory for the facts of rows");
    if (rc == OK)
        rc = form_walker_open(&w.walker, options->tokenizer, options->n_threads, &options->hooks, err);
    if (rc == OK)
        rc = find_common(&w, err);
    if (rc == OK)
        rc = write_rows(&w, err);
    if (rc == OK)
        rc = write_candidates(&w, err);
    if (rc == OK)
        rc = commit(&w, err);
    written.n_prefix = w.text.n_prefix;
    written.n_suffix = w.text.n_suffix;
    if (rc == OK)
        *out = written;
    close_all(&w);
    return rc;
}
