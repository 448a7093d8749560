/* The checklist of one run: rows in registry order, marked by explains.h, with stages, roots and
 * the headline of CHECKS.md 1.3. Reads results; decides nothing about the run itself. */
#include "core/checks/verdicts.h"

#include <string.h>

#include "core/checks/explains.h"
#include "core/checks/registry.h"
#include "core/store/store.h"

static void fill_row(struct verdict_row *row, const struct check *check,
                     const struct check_result *results, size_t n)
{
    *row = (struct verdict_row){.check = check};
    for (size_t i = 0; i < n; i++)
        if (results[i].check_id && strcmp(results[i].check_id, check->id) == 0) {
            row->result = results[i];
            row->result.check_id = check->id;
            return;
        }
    row->result = (struct check_result){.check_id = check->id,
                                        .check_version = 0,     /* never ran */
                                        .verdict = VERDICT_UNKNOWN,
                                        .finding = "not run yet",
                                        .branch = "",
                                        .from_step = NONE};
}

static void fill_ticks(struct verdict_row *row, const struct tick *ticks, size_t n_ticks)
{
    for (size_t i = 0; i < n_ticks; i++) {
        if (!ticks[i].check_id || !ticks[i].state || strcmp(ticks[i].check_id, row->check->id) != 0)
            continue;
        if (strcmp(ticks[i].state, "dismissed") == 0)
            row->dismissed = ticks[i].reason ? ticks[i].reason : "";
        else
            row->is_seen = true;
    }
}

static bool is_fired(const struct verdict_row *row)
{
    return row->result.verdict >= VERDICT_WARN && !row->dismissed;
}

static bool is_row(const struct verdict_row *row, const char *id)
{
    return strcmp(row->check->id, id) == 0;
}

/* A hyperparameter is no matter while something cheaper is broken (CHECKS.md, stage 7): the checks
 * on them wait. The stored result stays as it is; it is shown again once the fault is mended or
 * dismissed. */
static void put_off(struct verdict_row *rows, size_t n, struct arena *arena)
{
    static const char *const WAITING[] = {"hyperparams-first", "many-knobs", "hyperparams-range"};
    const char *open = NULL;

    for (size_t i = 0; i < n && !open; i++)
        if (rows[i].check->stage <= STAGE_SUPERVISED && !rows[i].dismissed &&
            rows[i].result.verdict == VERDICT_FAIL)
            open = rows[i].check->id;
    for (size_t i = 0; open && i < n; i++)
        for (size_t k = 0; k < sizeof WAITING / sizeof *WAITING; k++) {
            struct check_result *r = &rows[i].result;
            if (!is_row(&rows[i], WAITING[k]) || r->verdict == VERDICT_NOT_APPLICABLE)
                continue;
            *r = (struct check_result){.check_id = r->check_id,
                                       .check_version = r->check_version,
                                       .verdict = VERDICT_NOT_APPLICABLE,
                                       .branch = "",
                                       .from_step = NONE,
                                       .finding = arena_printf(
                                           arena, "not yet: %s fails, settle it first", open)};
        }
}

static void mark(struct verdict_row *rows, size_t n, struct arena *arena)
{
    struct check_result *results = arena_array(arena, n, sizeof *results);
    bool *is_dismissed = arena_array(arena, n, sizeof *is_dismissed);
    ptrdiff_t *explained_by = arena_array(arena, n, sizeof *explained_by);
    bool *is_folded = arena_array(arena, n, sizeof *is_folded);

    if (!results || !is_dismissed || !explained_by || !is_folded)
        return;
    for (size_t i = 0; i < n; i++) {
        results[i] = rows[i].result;
        is_dismissed[i] = rows[i].dismissed != NULL;
    }
    explains_mark(results, is_dismissed, n, explained_by, is_folded);
    for (size_t i = 0; i < n; i++) {
        rows[i].explained_by = explained_by[i] >= 0 ? rows[explained_by[i]].check->id : NULL;
        rows[i].is_folded = is_folded[i];
    }
}

static void fill_stages(struct verdicts *out)
{
    for (int s = 0; s < N_STAGES; s++) {
        struct stage_row *stage = &out->stages[s];
        *stage = (struct stage_row){.stage = (enum stage)s, .verdict = VERDICT_NOT_APPLICABLE};
        for (size_t i = 0; i < out->n_rows; i++) {
            const struct verdict_row *row = &out->rows[i];
            if ((int)row->check->stage != s)
                continue;
            if (stage->n++ == 0)
                stage->first = i;
            if (!row->dismissed && row->result.verdict > stage->verdict)
                stage->verdict = row->result.verdict;
        }
    }
}

static void fill_roots(struct verdicts *out, struct arena *arena)
{
    size_t *roots = arena_array(arena, out->n_rows, sizeof *roots);

    for (size_t i = 0; roots && i < out->n_rows; i++)
        if (is_fired(&out->rows[i]) && !out->rows[i].explained_by)
            roots[out->n_roots++] = i;
    out->roots = roots;
}

/* A setting outside its usual range is a likely cause only when nothing else fired and somebody
 * or an evaluation says that the outcome is unsatisfactory; a rise of the held-out loss that it
 * explains is such an evaluation. */
static bool may_head(const struct verdicts *v, size_t i, bool is_disappointing)
{
    const struct verdict_row *row = &v->rows[i];
    bool explains_something = false;

    if (!is_row(row, "hyperparams-range"))
        return true;
    for (size_t k = 0; k < v->n_rows; k++)
        if (v->rows[k].explained_by && is_fired(&v->rows[k]) &&
            strcmp(v->rows[k].explained_by, row->check->id) == 0)
            explains_something = true;
    if (explains_something)
        return true;
    return v->n_roots == 1 &&
           (is_disappointing || strcmp(row->result.branch, "unsatisfactory") == 0);
}

static ptrdiff_t first_warning(const struct verdicts *v, bool is_disappointing)
{
    ptrdiff_t first = -1;

    for (size_t r = 0; r < v->n_roots; r++)
        if (first < 0 && may_head(v, v->roots[r], is_disappointing))
            first = (ptrdiff_t)v->roots[r];
    if (first < 0 || !is_row(&v->rows[first], "run-incomplete"))
        return first;
    /* A log that just stops is most often an excerpt: any other warning says more. */
    for (size_t r = 0; r < v->n_roots; r++) {
        const struct verdict_row *row = &v->rows[v->roots[r]];
        if (!is_row(row, "run-incomplete") && row->check->stage != STAGE_HYPERPARAMETERS)
            return (ptrdiff_t)v->roots[r];
    }
    return first;
}

static void find_headline(struct verdicts *v, bool is_disappointing)
{
    v->headline = -1;
    for (size_t r = 0; r < v->n_roots && v->headline < 0; r++)
        if (v->rows[v->roots[r]].result.verdict == VERDICT_FAIL)
            v->headline = (ptrdiff_t)v->roots[r];
    if (v->headline >= 0)
        return;
    v->headline = first_warning(v, is_disappointing);
    v->headline_is_warning = v->headline >= 0;
}

static void fill_totals(struct verdicts *v)
{
    v->verdict = VERDICT_NOT_APPLICABLE;
    v->is_complete = true;
    for (size_t i = 0; i < v->n_rows; i++) {
        const struct verdict_row *row = &v->rows[i];
        if (row->dismissed)
            continue;
        if (row->result.verdict > v->verdict)
            v->verdict = row->result.verdict;
        if (row->result.verdict != VERDICT_UNKNOWN)
            continue;
        if (row->check->stage <= STAGE_SUPERVISED)
            v->is_complete = false;
        if (!v->cheapest_import && row->result.n_missing > 0)
            v->cheapest_import = row->result.missing[0];
    }
    for (int s = 0; s <= STAGE_SUPERVISED; s++)
        if (v->stages[s].n == 0)
            v->is_complete = false;
}

static void make(const struct run *run, const struct check_result *results, size_t n,
                 const struct tick *ticks, size_t n_ticks, struct arena *arena,
                 bool is_disappointing, struct verdicts *out)
{
    size_t n_rows = check_count();
    struct verdict_row *rows = arena_array(arena, n_rows, sizeof *rows);

    *out =
        (struct verdicts){.run = *run, .headline = -1, .rows = rows, .n_rows = rows ? n_rows : 0};
    for (size_t i = 0; i < out->n_rows; i++) {
        fill_row(&rows[i], check_at(i), results, n);
        fill_ticks(&rows[i], ticks, n_ticks);
    }
    put_off(rows, out->n_rows, arena);
    mark(rows, out->n_rows, arena);
    fill_stages(out);
    fill_roots(out, arena);
    find_headline(out, is_disappointing);
    fill_totals(out);
}

void verdicts_make(const struct run *run, const struct check_result *results, size_t n,
                   const struct tick *ticks, size_t n_ticks, struct arena *arena,
                   struct verdicts *out)
{
    make(run, results, n, ticks, n_ticks, arena, false, out);
}

int verdicts_load(struct store *store, int64_t run_id, struct arena *arena, struct verdicts *out,
                  struct error *err)
{
    const struct check_result *results = NULL;
    const struct tick *ticks = NULL;
    const struct answer *answers = NULL;
    size_t n = 0, n_ticks = 0, n_answers = 0;
    uint64_t inputs_hash = 0;
    bool is_disappointing = false;
    struct run run;

    int rc = store_run_by_id(store, run_id, arena, &run, err);
    if (rc == OK)
        rc = store_results(store, run_id, arena, &results, &n, &inputs_hash, err);
    if (rc == OK)
        rc = store_ticks(store, run.key, arena, &ticks, &n_ticks, err);
    if (rc == OK)
        rc = store_answers(store, run.key, arena, &answers, &n_answers, err);
    if (rc != OK)
        return rc;
    for (size_t i = 0; i < n_answers; i++)
        if (strcmp(answers[i].name, "outcome") == 0 &&
            strcmp(answers[i].value, "disappointing") == 0)
            is_disappointing = true;
    make(&run, results, n, ticks, n_ticks, arena, is_disappointing, out);
    return arena_failed(arena) ? error_set(err, E_NOMEM, "verdicts: out of memory") : OK;
}

static ptrdiff_t row_of(const struct verdicts *verdicts, const char *id)
{
    for (size_t i = 0; i < verdicts->n_rows; i++)
        if (strcmp(verdicts->rows[i].check->id, id) == 0)
            return (ptrdiff_t)i;
    return -1;
}

/* Does the chain of causes of row k pass through row i? The table has no cycles; the count is a
 * belt against one. */
static bool leads_to(const struct verdicts *verdicts, size_t k, size_t i)
{
    ptrdiff_t at = (ptrdiff_t)k;

    for (size_t n = 0; n < verdicts->n_rows && at >= 0 && verdicts->rows[at].explained_by; n++) {
        at = row_of(verdicts, verdicts->rows[at].explained_by);
        if (at == (ptrdiff_t)i)
            return true;
    }
    return false;
}

size_t verdicts_explained(const struct verdicts *verdicts, size_t i, struct arena *arena,
                          const size_t **out)
{
    size_t *list = arena_array(arena, verdicts->n_rows, sizeof *list);
    size_t n = 0;

    for (size_t k = 0; list && k < verdicts->n_rows; k++)
        if (leads_to(verdicts, k, i))
            list[n++] = k;
    *out = list;
    return n;
}
