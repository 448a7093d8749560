/* The array behind CHECKS, and nothing else. */
#include "core/checks/registry.h"

#include <string.h>

#define CHECK_ENTRY(name) &check_##name,
static const struct check *const ALL[] = {CHECKS(CHECK_ENTRY)};
#undef CHECK_ENTRY

size_t check_count(void)
{
    return sizeof ALL / sizeof ALL[0];
}

const struct check *check_at(size_t i)
{
    return i < check_count() ? ALL[i] : NULL;
}

const struct check *check_by_id(const char *id)
{
    for (size_t i = 0; id && i < check_count(); i++)
        if (strcmp(ALL[i]->id, id) == 0)
            return ALL[i];
    return NULL;
}
