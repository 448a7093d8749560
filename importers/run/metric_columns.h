/* Do the columns of a table say that it holds metrics of a run? */
#ifndef IMPORTERS_RUN_METRIC_COLUMNS_H
#define IMPORTERS_RUN_METRIC_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

#define METRIC_COLUMNS      512 /* that are looked at */
#define METRIC_COLUMN_BYTES 200

struct metric_columns {
    bool has_step, has_epoch, has_metric, has_loss, has_text;
    size_t n;
};

/* One name; `ctx` is a struct metric_columns. False: no more need be seen. */
bool metric_columns_see(void *ctx, const char *name);
/* The header of a CSV, also of one that was downloaded as a chart. */
void metric_columns_header(struct str line, const char *file_name, struct metric_columns *columns);

#endif
