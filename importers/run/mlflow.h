/* What MLflow's two stores, folders and a database, have in common. For mlflow*.c only, but for
 * mlflow_db_runs. */
#ifndef IMPORTERS_RUN_MLFLOW_H
#define IMPORTERS_RUN_MLFLOW_H

#include "importers/importer.h"

/* ---- mlflow.c ---- */

/* One metric. MLflow knows no rows: the values of one step are taken as one. */
struct mlflow_metric {
    struct import *import;
    int handle;
    bool has_steps; /* else all are 0, since none was given: then there are none */
    int64_t n, last_step;
    int32_t segment;
};
MUST_CHECK int mlflow_metric_begin(struct mlflow_metric *metric, struct import *import,
                                   const char *key, bool has_steps, struct error *err);
/* milliseconds may be NONE. */
MUST_CHECK int mlflow_metric_add(struct mlflow_metric *metric, int64_t milliseconds, double value,
                                 int64_t step, struct error *err);
/* A parameter as Python's str() wrote it: True, None, 1e-05. */
MUST_CHECK int mlflow_param(struct import *import, const char *key, const char *value,
                            struct error *err);
/* A tag, or a field of the run ("status"); names of people are left out. */
MUST_CHECK int mlflow_tag(struct import *import, const char *key, const char *value,
                          struct error *err);
/* The event "logger-exit": 1 the status. None while it is RUNNING. */
MUST_CHECK int mlflow_status(struct import *import, const char *status, struct error *err);

/* ---- mlflow_db.c ---- */

/* The ids of the runs in a database, the latest first, at most `most`. What cannot be read has
 * none. */
MUST_CHECK int mlflow_db_runs(const char *path, size_t most, struct arena *arena,
                              const char *const **ids, size_t *n, struct error *err);

#endif
