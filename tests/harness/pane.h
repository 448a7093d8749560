/* A pane without the frame: a desk with a run and a checklist made by hand, drawn into text.
 *
 *     struct pane *pane = pane_new(&view_triage);
 *     pane_check(pane, STAGE_FINISHED, "nan-onset", VERDICT_FAIL)->result.finding = "…";
 *     pane_checklist(pane);
 *     pane_load(pane, 18, 25);
 *     pane_act(pane, "down");
 *     golden_compare("views/x.txt", pane_drawn(pane, false));
 *     pane_free(pane);
 *
 * The checks are the test's own, so that what is drawn does not change with the registry. */
#ifndef TESTS_HARNESS_PANE_H
#define TESTS_HARNESS_PANE_H

#include "core/checks/verdicts.h"
#include "tests/harness/fake_run.h"
#include "views/view.h"

#define PANE_CHECKS 48

struct pane {
    struct fake_run *run;
    struct desk desk;
    struct view view;
    struct verdicts verdicts;
    struct verdict_row rows[PANE_CHECKS];
    struct check checks[PANE_CHECKS];
    size_t roots[PANE_CHECKS];
    struct canvas *measure;
    struct buf text;
};

struct pane *pane_new(const struct view_ops *ops);
void pane_free(struct pane *pane);
/* In the order of the stages; the row may be filled in freely. */
struct verdict_row *pane_check(struct pane *pane, enum stage stage, const char *id,
                               enum verdict verdict);
/* Counts what was added and gives it to the desk: stages, roots, the first root at FAIL (else at
 * WARN) as the headline. */
void pane_checklist(struct pane *pane);
/* Fifteen checks with everything a checklist can have: nan-onset leads, loss-flat and
 * run-incomplete follow, flat-all-masked is not decided, overfit is dismissed. */
void pane_usual_checklist(struct pane *pane);
/* The index of a check in the checklist. */
ptrdiff_t pane_index(const struct pane *pane, const char *id);
/* The run's facts stand on the desk from here on, as the frame would have it. */
void pane_facts(struct pane *pane);

void pane_load(struct pane *pane, int rows, int columns);
/* As the frame does it: reloads when the pane wants it or the desk changed. Fails on an unknown
 * name or an action that is not used. */
void pane_act(struct pane *pane, const char *action);
/* The size of the last load; valid until the next call. */
const char *pane_drawn(struct pane *pane, bool with_styles);
/* Loads, draws and acts at every small size: nothing may crash. */
void pane_small_sizes(struct pane *pane);
/* The first line of the pane's search that holds the text, -1 when there is none. */
ptrdiff_t pane_search(struct pane *pane, const char *text);

#endif
