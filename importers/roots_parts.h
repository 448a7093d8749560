/* The parts of roots.c; for roots.c and logged_roots.c only. */
#ifndef IMPORTERS_ROOTS_PARTS_H
#define IMPORTERS_ROOTS_PARTS_H

#include "importers/plan_parts.h"

#define ROOTS_MAX 2000

/* The enum record that a file is; 0: none. */
unsigned root_record_of(const struct found *found);
/* The folder around the folders that loggers make. */
const char *root_climb_loggers(struct arena *arena, const char *folder, const char *top);
void root_add_record(struct scene *scene, const char *folder, const char *id, unsigned record,
                     const char *what);

/* ---- logged_roots.c ---- */
/* Roots of the files that loggers keep, once the stronger ones are known. */
MUST_CHECK int root_add_logged(struct scene *scene, struct error *err);

#endif
