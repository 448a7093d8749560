/* A pane without the frame. See pane.h. */
#include "tests/harness/pane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LOADS 8

struct pane *pane_new(const struct view_ops *ops)
{
    struct pane *pane = calloc(1, sizeof *pane);

    assert_non_null(pane);
    setlocale(LC_CTYPE, "C.UTF-8");
    pane->run = fake_run_new(KIND_SFT);
    pane->desk = (struct desk){.check = -1, .step = NONE, .row = NONE, .search = "", .run_id = 1,
                                 .ascii = true};
    pane->view = (struct view){.ops = ops, .desk = &pane->desk, .has_focus = true,
                               .arena = arena_open(ARENA_VIEW_BYTES)};
    pane->view.state = calloc(1, ops->state_size);
    assert_non_null(pane->view.state);
    assert_non_null(pane->view.arena);
    assert_int_equal(canvas_open(&pane->measure, 1, 1, true, NULL), OK);
    pane->view.canvas = pane->measure;
    buf_init(&pane->text, (size_t)1 << 20);
    pane->verdicts.headline = -1;
    return pane;
}

void pane_free(struct pane *pane)
{
    if (pane->view.ops->close)
        pane->view.ops->close(&pane->view);
    free(pane->view.state);
    arena_close(pane->view.arena);
    canvas_close(pane->measure);
    buf_free(&pane->text);
    fake_run_free(pane->run);
    free(pane);
}

struct verdict_row *pane_check(struct pane *pane, enum stage stage, const char *id,
                               enum verdict verdict)
{
    size_t i = pane->verdicts.n_rows++;
    struct verdict_row *row = &pane->rows[i];

    assert_true(i < PANE_CHECKS);
    pane->checks[i] = (struct check){.id = id, .version = 1, .stage = stage, .title = "it is well",
                                     .why = "because it would be bad", .severity = SEVERITY_BLOCKS};
    *row = (struct verdict_row){.check = &pane->checks[i]};
    row->result = (struct check_result){.check_id = id, .check_version = 1, .verdict = verdict,
                                        .branch = "", .from_step = NONE};
    return row;
}

static void count_stages(struct pane *pane)
{
    for (int s = 0; s < N_STAGES; s++) {
        struct stage_row *stage = &pane->verdicts.stages[s];

        *stage = (struct stage_row){.stage = (enum stage)s, .verdict = VERDICT_NOT_APPLICABLE};
        for (size_t i = 0; i < pane->verdicts.n_rows; i++) {
            const struct verdict_row *row = &pane->rows[i];

            if ((int)row->check->stage != s)
                continue;
            if (stage->n++ == 0)
                stage->first = i;
            if (!row->dismissed && row->result.verdict > stage->verdict)
                stage->verdict = row->result.verdict;
        }
        if (stage->n == 0)
            stage->verdict = VERDICT_UNKNOWN;
    }
}

void pane_checklist(struct pane *pane)
{
    struct verdicts *v = &pane->verdicts;

    count_stages(pane);
    v->rows = pane->rows;
    v->roots = pane->roots;
    v->n_roots = 0;
    v->headline = -1;
    for (size_t i = 0; i < v->n_rows; i++)
        if (!pane->rows[i].dismissed && !pane->rows[i].explained_by &&
            pane->rows[i].result.verdict >= VERDICT_WARN)
            pane->roots[v->n_roots++] = i;
    for (int level = VERDICT_FAIL; level >= VERDICT_WARN && v->headline < 0; level--)
        for (size_t i = 0; i < v->n_roots && v->headline < 0; i++)
            if ((int)pane->rows[v->roots[i]].result.verdict == level)
                v->headline = (ptrdiff_t)v->roots[i];
    v->headline_is_warning =
        v->headline >= 0 && pane->rows[v->headline].result.verdict == VERDICT_WARN;
    pane->desk.verdicts = v;
}

void pane_usual_checklist(struct pane *pane)
{
    static const char *const quiet[] = {"oom-train", "oom-eval",     "no-grad-graph", "diverged",
                                        "nan-bad-data", "resume-jump", "bf16-unsupported"};
    static const char *const missing[] = {"the training rows (train.jsonl)"};
    struct verdict_row *row = pane_check(pane, STAGE_FINISHED, "run-incomplete", VERDICT_WARN);

    row->result.finding = "1240 of 3000 steps";
    row->explained_by = "nan-onset";
    row = pane_check(pane, STAGE_FINISHED, "nan-onset", VERDICT_FAIL);
    row->result.finding = "the loss is NaN from step 1212 on, 29 of 1240 rows";
    row->result.confidence = CONFIDENCE_CERTAIN;
    for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++)
        pane_check(pane, STAGE_FINISHED, quiet[i], i < 5 ? VERDICT_PASS : VERDICT_NOT_APPLICABLE);
    row = pane_check(pane, STAGE_SUPERVISED, "flat-all-masked", VERDICT_UNKNOWN);
    row->result.missing = missing;
    row->result.n_missing = 1;
    row->result.finding = "no rows were imported";
    row = pane_check(pane, STAGE_SUPERVISED, "loss-flat", VERDICT_FAIL);
    row->result.finding = "the loss does not go down";
    row->explained_by = "nan-onset";
    pane_check(pane, STAGE_PREFERENCE, "kl-too-high", VERDICT_NOT_APPLICABLE);
    row = pane_check(pane, STAGE_HYPERPARAMETERS, "overfit", VERDICT_WARN);
    row->dismissed = "it is a demo";
    row = pane_check(pane, STAGE_HYPERPARAMETERS, "last-not-best", VERDICT_PASS);
    row->is_seen = true;
    pane_checklist(pane);
    pane->verdicts.cheapest_import = missing[0];
}

ptrdiff_t pane_index(const struct pane *pane, const char *id)
{
    for (size_t i = 0; i < pane->verdicts.n_rows; i++)
        if (strcmp(pane->rows[i].check->id, id) == 0)
            return (ptrdiff_t)i;
    fail_msg("no check %s", id);
    return -1;
}

void pane_facts(struct pane *pane)
{
    pane->desk.facts = fake_facts(pane->run);
}

static void reload(struct pane *pane)
{
    struct error err;

    pane->desk.changed = 0;
    for (int i = 0; i < MOST_LOADS; i++) { /* what takes long is announced, and loaded at the next call */
        arena_reset(pane->view.arena);
        pane->view.wants_load = false;
        if (pane->view.ops->load(&pane->view, &err) != OK)
            fail_msg("%s: %s", pane->view.ops->id, err.message);
        if (!pane->view.wants_load)
            return;
    }
}

void pane_load(struct pane *pane, int rows, int columns)
{
    pane->view.rows = rows;
    pane->view.columns = columns;
    reload(pane);
}

void pane_act(struct pane *pane, const char *action)
{
    for (const struct action *a = pane->view.ops->actions; a->name; a++)
        if (strcmp(a->name, action) == 0) {
            if (!pane->view.ops->act(&pane->view, a->id))
                fail_msg("%s: %s was not used", pane->view.ops->id, action);
            if (pane->view.wants_load || (pane->desk.changed & pane->view.ops->depends_on))
                reload(pane);
            return;
        }
    fail_msg("%s: no action %s", pane->view.ops->id, action);
}

const char *pane_drawn(struct pane *pane, bool with_styles)
{
    struct canvas *canvas;

    assert_int_equal(canvas_open(&canvas, pane->view.rows, pane->view.columns, pane->desk.ascii,
                                 NULL), OK);
    pane->view.ops->draw(&pane->view, canvas);
    buf_clear(&pane->text);
    canvas_dump(canvas, with_styles, &pane->text);
    canvas_close(canvas);
    return pane->text.p;
}

void pane_small_sizes(struct pane *pane)
{
    static const int sizes[] = {1, 2, 3, 5, 9, 17};

    for (size_t r = 0; r < sizeof sizes / sizeof sizes[0]; r++)
        for (size_t c = 0; c < sizeof sizes / sizeof sizes[0]; c++) {
            pane_load(pane, sizes[r], sizes[c]);
            (void)pane_drawn(pane, true);
            for (const struct action *a = pane->view.ops->actions; a->name; a++) {
                (void)pane->view.ops->act(&pane->view, a->id);
                if (pane->view.wants_load || (pane->desk.changed & pane->view.ops->depends_on))
                    reload(pane);
                (void)pane_drawn(pane, false);
                buf_clear(&pane->text);
                if (pane->view.ops->status)
                    pane->view.ops->status(&pane->view, &pane->text);
                if (pane->view.ops->position)
                    pane->view.ops->position(&pane->view, &pane->text);
            }
        }
}

ptrdiff_t pane_search(struct pane *pane, const char *text)
{
    const struct view_ops *ops = pane->view.ops;

    for (size_t i = 0; i < ops->n_lines(&pane->view); i++)
        if (str_has_ignoring_case(ops->line(&pane->view, i), text))
            return (ptrdiff_t)i;
    return -1;
}
