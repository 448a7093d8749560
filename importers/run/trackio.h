/* Which runs a database of Trackio holds. */
#ifndef IMPORTERS_RUN_TRACKIO_H
#define IMPORTERS_RUN_TRACKIO_H

#include "importers/importer.h"

/* Their ids (before Trackio had any: their names), the latest first, at most `most`. What cannot be
 * read has none. */
MUST_CHECK int trackio_runs(const char *path, size_t most, struct arena *arena,
                            const char *const **ids, size_t *n, struct error *err);

#endif
