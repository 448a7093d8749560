/* Names of the style roles, for themes and dumps. What they look like is the theme's. */
#include "views/style.h"

#include <string.h>

static const char *const names[] = {
#define STYLE_NAME(name, text) text,
    STYLE_ROLES(STYLE_NAME)
#undef STYLE_NAME
};

const char *style_name(enum style_role role)
{
    return (unsigned)role < N_STYLES ? names[role] : "text";
}

int style_by_name(const char *name)
{
    for (int i = 0; i < N_STYLES; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}
