/* Names of the columns of a chart that was downloaded as CSV: W&B writes "run-name - train/loss" and
 * "…__MIN", TensorBoard "Wall time,Step,Value" with the tag in the file's name. */
#ifndef IMPORTERS_RUN_EXPORTED_TABLE_H
#define IMPORTERS_RUN_EXPORTED_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

/* The name that a column has without what the exporter put around it; empty: a column that says
 * nothing of its own (the least and the greatest of the points that were thinned out). */
struct str exported_column(struct str column);
/* "Training Loss" of a table made for people becomes training_loss; other names stay. */
struct str exported_plain(struct str name, char *out, size_t size);
/* Is this TensorBoard's header? */
bool exported_is_scalar(const struct str *columns, size_t n);
/* What a file of that name holds under TensorBoard's "Value"; NULL: nothing that is known. */
const char *exported_tag(const char *file_name);

#endif
