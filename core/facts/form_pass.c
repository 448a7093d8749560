/* See form_pass.h. */
#include "core/facts/form_pass.h"

#include <stdlib.h>

#include "core/read/rows.h"

#define BATCH_BYTES ((size_t)32 << 20) /* of trees, unless one row alone is larger */
#define TREE_BYTES  ((size_t)512 << 20)
#define SLOT_BYTES  ((size_t)256 << 20)

struct form_walker {
    struct parallel *parallel;
    struct form_scratch scratch[PARALLEL_MAX];
    int n_scratch;
    struct arena *trees;
    struct form_slot slots[FORM_BATCH];
    size_t n;
    const struct form_pass *pass;
    struct form_hooks hooks;
    int64_t n_rows; /* of the walk */
};

int form_walker_open(struct form_walker **out, const struct tokenizer *tokenizer, int n_threads,
                     const struct form_hooks *hooks, struct error *err)
{
    struct form_walker *walker = calloc(1, sizeof *walker);
    int rc = walker ? OK : error_set(err, E_NOMEM, "no memory for the facts of rows");

    if (rc == OK) {
        walker->hooks = hooks ? *hooks : (struct form_hooks){0};
        walker->trees = arena_open(TREE_BYTES);
        if (!walker->trees)
            rc = error_set(err, E_NOMEM, "no memory for the facts of rows");
        for (size_t i = 0; i < FORM_BATCH; i++)
            buf_init(&walker->slots[i].text, SLOT_BYTES);
    }
    if (rc == OK)
        rc = parallel_open(&walker->parallel, n_threads, err);
    while (rc == OK && walker->n_scratch < parallel_workers(walker->parallel))
        rc = form_scratch_open(&walker->scratch[walker->n_scratch++], tokenizer != NULL, err);
    if (rc == OK)
        *out = walker;
    else
        form_walker_close(walker);
    return rc;
}

void form_walker_close(struct form_walker *walker)
{
    if (!walker)
        return;
    parallel_close(walker->parallel);
    for (int i = 0; i < walker->n_scratch; i++)
        form_scratch_close(&walker->scratch[i]);
    for (size_t i = 0; i < FORM_BATCH; i++)
        buf_free(&walker->slots[i].text);
    arena_close(walker->trees);
    free(walker);
}

int form_walker_threads(const struct form_walker *walker)
{
    return parallel_workers(walker->parallel);
}

static void work(void *ctx, int worker, size_t i)
{
    struct form_walker *walker = ctx;
    struct form_slot *slot = &walker->slots[i];
    const struct form_pass *pass = walker->pass;

    slot->rc = pass->work(pass->ctx, worker, &walker->scratch[worker], slot, &slot->err);
}

/* As rows_next: 1 more may come, 0 the end. */
static int read_batch(struct form_walker *walker, struct rows *rows, struct str split,
                      struct error *err)
{
    struct row_place place;
    struct error why;
    int rc = 1;

    arena_reset(walker->trees);
    for (walker->n = 0;
         rc == 1 && walker->n < FORM_BATCH && arena_used(walker->trees) < BATCH_BYTES;) {
        struct form_slot *slot = &walker->slots[walker->n];

        rc = rows_next(rows, walker->trees, &slot->line, &place, &why, err);
        if (rc != 1)
            break;
        slot->split = split;
        slot->row = walker->n_rows + (int64_t)walker->n++;
        slot->is_readable = slot->line != NULL;
        buf_clear(&slot->text);
    }
    return rc;
}

static int give(struct form_walker *walker, struct error *err)
{
    const struct form_pass *pass = walker->pass;
    int rc = OK;

    parallel_run(walker->parallel, walker->n, work, walker);
    for (size_t i = 0; rc == OK && i < walker->n; i++) {
        rc = walker->slots[i].rc;
        if (rc != OK)
            *err = walker->slots[i].err;
        else
            rc = pass->take(pass->ctx, &walker->slots[i], err);
    }
    walker->n_rows += (int64_t)walker->n;
    return rc;
}

static int go_on(const struct form_walker *walker, const char *what, struct error *err)
{
    const struct form_hooks *hooks = &walker->hooks;

    if (hooks->progress)
        hooks->progress(hooks->ctx, what, walker->n_rows);
    return hooks->cancel && atomic_load(hooks->cancel) ? error_set(err, E_CANCELLED, "interrupted")
                                                       : OK;
}

static void tell_notes(const struct form_walker *walker, const struct rows *rows)
{
    const struct form_hooks *hooks = &walker->hooks;

    for (size_t i = 0; hooks->notice && rows_note(rows, i); i++)
        hooks->notice(hooks->ctx, rows_note(rows, i));
}

static int walk_file(struct form_walker *walker, struct str split, const char *path,
                     const char *what, struct error *err)
{
    struct rows *rows = NULL;
    int rc = rows_open(&rows, path, err), more = 1;

    if (rc == OK)
        tell_notes(walker, rows);
    while (rc == OK && more == 1) {
        rc = go_on(walker, what, err);
        if (rc == OK)
            more = read_batch(walker, rows, split, err);
        if (rc == OK && more < 0)
            rc = more;
        if (rc == OK)
            rc = give(walker, err);
    }
    rows_close(rows);
    if (rc != OK && rc != E_CANCELLED && err && !err->path[0])
        error_at(err, path, NONE, NONE);
    return rc;
}

int form_walk(struct form_walker *walker, const char *split, const char *const *paths,
              size_t n_paths, const struct form_pass *pass, const char *what, int64_t *n_rows,
              struct error *err)
{
    int rc = OK;

    walker->pass = pass;
    walker->n_rows = 0;
    for (size_t i = 0; rc == OK && i < n_paths; i++)
        rc = walk_file(walker, str_of(split), paths[i], what, err);
    *n_rows = walker->n_rows;
    return rc;
}
