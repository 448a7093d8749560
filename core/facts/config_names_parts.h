/* The tables of config_names.c: single words there, whole nested keys and words that one framework
 * uses in its own sense in config_keys.c. Private to both. */
#ifndef CORE_FACTS_CONFIG_NAMES_PARTS_H
#define CORE_FACTS_CONFIG_NAMES_PARTS_H

#include <stddef.h>

#include "core/model.h"

enum { SHARED = 1, WHOLE_ONLY = 2, INVERTS = 4 };

struct spelling {
    const char *raw,
        *name; /* name NULL: it is no setting that others have, whatever its last part */
    unsigned flags;
};

/* A framework's own word, as the whole key only. */
struct own_spelling {
    const char *framework;
    struct spelling spelling;
};

const struct spelling *config_nested_keys(size_t *n);
const struct own_spelling *config_own_words(size_t *n);
/* The canonical name of a key of a model, an adapter or a serving record; most often the key itself. */
const char *config_other_side(enum side side, const char *raw_name);

#endif
