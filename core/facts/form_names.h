/* A set of column names, sorted by bytes; of more than FORM_COLUMNS the first. The same names give the
 * same set in any order, and sets of parts can be put together. */
#ifndef CORE_FACTS_FORM_NAMES_H
#define CORE_FACTS_FORM_NAMES_H

#include "core/facts/form.h"

struct form_names {
    char **items; /* owned */
    size_t n, capacity;
};
void form_names_free(struct form_names *names);
/* A name of more than FORM_GROUP_BYTES, or with a NUL, is left out. E_NOMEM. */
MUST_CHECK int form_names_add(struct form_names *names, struct str name, struct error *err);
MUST_CHECK int form_names_join(struct form_names *names, const struct form_names *more,
                               struct error *err);

#endif
