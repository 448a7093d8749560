/* VIEWS: the one list of panes. */
#include "views/registry.h"

#include <string.h>

#define VIEW_ENTRY(name) &view_##name,
static const struct view_ops *const ALL[] = {VIEWS(VIEW_ENTRY)};
#undef VIEW_ENTRY

size_t view_count(void)
{
    return sizeof ALL / sizeof ALL[0];
}

const struct view_ops *view_at(size_t i)
{
    return ALL[i];
}

const struct view_ops *view_by_id(const char *id)
{
    for (size_t i = 0; i < view_count(); i++)
        if (strcmp(ALL[i]->id, id) == 0)
            return ALL[i];
    return NULL;
}
