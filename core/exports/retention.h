/* `flatline make retention` (CHECKS.md 7.5): a frozen suite of twenty general items, the form of the
 * record of what each model answered, and how to make it. */
#ifndef CORE_EXPORTS_RETENTION_H
#define CORE_EXPORTS_RETENTION_H

#include "core/exports/made_file.h"

#define RETENTION_ITEMS 20

/* suite.jsonl, record.jsonl, README.md. The same bytes each time. */
MUST_CHECK int make_retention(const struct made_folder *folder, struct error *err);

#endif
