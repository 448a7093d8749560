/* The checklist of one run as everybody shows it: results in order, folded and explained
 * (CHECKS.md 1.3 to 1.5), stages, the headline. Views, exports and the command line read this and
 * nothing else about verdicts. */
#ifndef CORE_CHECKS_VERDICTS_H
#define CORE_CHECKS_VERDICTS_H

#include "core/checks/check.h"

struct verdict_row {
    const struct check *check;
    struct check_result result;         /* UNKNOWN "not run yet", version 0, when the store has none */
    const char *dismissed;              /* the user's reason, or NULL */
    bool is_seen;
    const char *explained_by;           /* check id of the cause or of the group's leader; NULL: a root */
    bool is_folded;                     /* explained_by leads the same-fault group */
};

struct stage_row {
    enum stage stage;
    enum verdict verdict;               /* the worst of its checks */
    size_t first, n;                    /* its rows */
};

struct verdicts {
    struct run run;
    const struct verdict_row *rows;     /* in checklist order, one per check of the registry */
    size_t n_rows;
    struct stage_row stages[N_STAGES];  /* in checklist order */
    ptrdiff_t headline;                 /* index of the likely cause, or -1 */
    bool headline_is_warning;           /* "possible cause" */
    enum verdict verdict;               /* the worst, dismissed ones left out */
    bool is_complete;                   /* every required check of stages 0-3 was decided */
    const char *cheapest_import;        /* what to import first when nothing fired, or NULL */
    const size_t *roots;                /* roots at WARN or FAIL in order, the headline among them */
    size_t n_roots;
};

/* Everything lives in the arena. */
MUST_CHECK int verdicts_load(struct store *store, int64_t run_id, struct arena *arena,
                             struct verdicts *out, struct error *err);
/* The same from results in memory (tests, fresh runs). */
void verdicts_make(const struct run *run, const struct check_result *results, size_t n,
                   const struct tick *ticks, size_t n_ticks, struct arena *arena,
                   struct verdicts *out);
/* Indices of the rows that `i` explains, directly or through others (consequences and folded
 * members), in checklist order. */
size_t verdicts_explained(const struct verdicts *verdicts, size_t i, struct arena *arena,
                          const size_t **out);

#endif
