/* Walks the list of importers: by place, by id, and by what they say to a file. */
#include "importers/registry.h"

#include <string.h>

static const struct importer *const ALL[] = {
#define IMPORTER_ENTRY(name) &importer_##name,
    IMPORTERS(IMPORTER_ENTRY)
#undef IMPORTER_ENTRY
};

size_t importer_count(void)
{
    return sizeof ALL / sizeof *ALL;
}

const struct importer *importer_at(size_t i)
{
    return i < importer_count() ? ALL[i] : NULL;
}

const struct importer *importer_by_id(const char *id)
{
    for (size_t i = 0; i < importer_count(); i++)
        if (strcmp(ALL[i]->id, id) == 0)
            return ALL[i];
    return NULL;
}

const struct importer *importer_probe(const struct peek *peek, int *score,
                                      const struct importer **second)
{
    const struct importer *best = NULL;
    const struct importer *equal = NULL;
    int highest = 0;

    for (size_t i = 0; i < importer_count(); i++) {
        int sure = peek->is_table && !ALL[i]->reads_tables ? 0 : ALL[i]->probe(peek);

        if (sure > highest) {
            highest = sure;
            best = ALL[i];
            equal = NULL;
        } else if (sure == highest && best && !equal) {
            equal = ALL[i];
        }
    }
    *score = highest;
    if (second)
        *second = equal;
    return best;
}
