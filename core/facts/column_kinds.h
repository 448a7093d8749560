/* What the name of a column says of it: content, a key, or a group that is meant to recur (CHECKS.md
 * C6.2). Names alone; what stands in the columns is for others. */
#ifndef CORE_FACTS_COLUMN_KINDS_H
#define CORE_FACTS_COLUMN_KINDS_H

#include <stdbool.h>

#include "core/base/str.h"

/* Input, target or conversation, by the names that trainers know. */
bool column_is_content(struct str name);
/* "language", "source" …, also as a member ("metadata.language"): a group that both sides may have. */
bool column_is_meant_to_recur(struct str name);
bool column_is_key_name(struct str name); /* "user_id", "doc" … stands in it */

#endif
