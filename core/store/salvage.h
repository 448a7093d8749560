/* Copies what is readable of a triage.db into a fresh one. Private to core/store. */
#ifndef CORE_STORE_SALVAGE_H
#define CORE_STORE_SALVAGE_H

#include "core/base/error.h"

/* `to` must not exist; it is made with the newest schema. Rows that cannot be read are left out;
 * *n_rows is what was copied. A `from` of which nothing can be read gives 0 and OK. */
MUST_CHECK int salvage_kept(const char *from, const char *to, int *n_rows, struct error *err);

#endif
