/* Between the files of assign.c: the runs, and which of them the file at hand belongs to. */
#ifndef IMPORTERS_ASSIGN_PARTS_H
#define IMPORTERS_ASSIGN_PARTS_H

#include "importers/plan_parts.h"

struct assigning {
    struct scene *scene;
    const struct root **runs; /* the roots that are runs */
    size_t n_runs;
    bool *belongs;          /* n_runs flags for the file at hand */
    struct loss_rows *rows; /* of each run, read when a log asks */
    bool *rows_known;
};

/* ---- assign.c ---- */

/* Marks the logs beside folders of runs that tell of a training of their own. */
MUST_CHECK int assign_find_trainings(struct scene *scene, struct error *err);
/* Runs of logs, and of data or evaluations, that no root has (rules 4 and 5). */
MUST_CHECK int assign_add_lone_logs(struct assigning *a, struct error *err);
MUST_CHECK int assign_add_lone_data(struct assigning *a, struct error *err);
/* Fills a->belongs for one file. */
MUST_CHECK int assign_one(struct assigning *a, const struct found *found, struct error *err);

#endif
