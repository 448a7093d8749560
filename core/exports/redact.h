/* Masks secrets (tokens, keys, passwords in arguments, logs, URLs) and, when anonymous, folders,
 * users and hosts. Works on any text that leaves the program. */
#ifndef CORE_EXPORTS_REDACT_H
#define CORE_EXPORTS_REDACT_H

#include <stdbool.h>

#include "core/base/str.h"

struct redact {
    bool secrets;               /* on by default */
    bool anonymous;
};

void redact_text(struct buf *out, struct str text, const struct redact *redact);

#endif
