/* JSONL of metric rows: shared by trainer_log.c and metrics_table.c. */
#ifndef IMPORTERS_RUN_METRIC_LINES_H
#define IMPORTERS_RUN_METRIC_LINES_H

#include "importers/run/metric_rows.h"

/* Reads import->path; rows is begun and has its options set. Notes oddities, bad lines and a half
 * last line; only failures of ours come out. */
MUST_CHECK int metric_lines_read(struct metric_rows *rows, struct error *err);
const char *metric_lines_number(char out[32], int64_t value);

#endif
