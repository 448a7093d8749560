/* What the runs are called (FORMATS.md B0 rule 9): the folder, with folders around it in front
 * where that alone says nothing or is not unique. */
#include <string.h>
#include <strings.h>

#include "core/facts/rank_name.h"
#include "importers/plan_parts.h"

static bool is_generic(const char *name)
{
    static const char *const NAMES[] = {
        "run",        "out",   "output", "outputs", "results",        "result", "checkpoints",
        "checkpoint", "model", "models", "logs",    "trained_models", "save",   "saves"};

    struct rank_name rank; /* rank_0: one process of a run */

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcasecmp(name, NAMES[i]) == 0)
            return true;
    return rank_name_find(name, 0, &rank);
}

/* The last `parts` components of the folder, and the id of a run that shares it. */
static const char *name_with(struct arena *arena, const char *folder, int parts, const char *id)
{
    const char *at = folder + strlen(folder);

    while (parts > 0 && at > folder) {
        at--;
        parts -= *at == '/';
    }
    at += *at == '/';
    if (!*at)
        at = folder;
    return *id ? arena_printf(arena, "%s/%s", at, id) : arena_strdup(arena, at);
}

static bool is_unique(const struct plan_run *runs, size_t n, size_t i)
{
    for (size_t k = 0; k < n; k++)
        if (k != i && strcmp(runs[k].run.name, runs[i].run.name) == 0)
            return false;
    return true;
}

void name_runs(struct plan_run *runs, size_t n, struct arena *arena)
{
    const char **ids = arena_array(arena, n + 1, sizeof *ids);
    int *parts = arena_array(arena, n + 1, sizeof *parts);

    if (!ids || !parts)
        return;
    for (size_t i = 0; i < n; i++) {
        ids[i] = runs[i].run.name;
        parts[i] = is_generic(last_component(runs[i].run.folder)) ? 2 : 1;
        runs[i].run.name = name_with(arena, runs[i].run.folder, parts[i], ids[i]);
    }
    /* Every round lengthens what is still the same; folders differ, so it ends. */
    for (int round = 0; round < 40; round++) {
        bool changed = false;

        for (size_t i = 0; i < n; i++)
            if (!is_unique(runs, n, i)) {
                parts[i]++;
                changed = true;
            }
        for (size_t i = 0; i < n && changed; i++)
            runs[i].run.name = name_with(arena, runs[i].run.folder, parts[i], ids[i]);
        if (!changed)
            return;
    }
}
