/* A text through one importer, and what has to stand in the dump of the sink. For unit tests of
 * importers: one folder and one dump at a time. */
#ifndef TESTS_HARNESS_DUMPED_H
#define TESTS_HARNESS_DUMPED_H

#include <stddef.h>

#include "importers/importer.h"

/* Set-up and tear-down of cmocka. */
int dumped_set_up(void **state);
int dumped_tear_down(void **state);
/* Writes the file and imports it; the test fails when that does not end well. */
void dumped_read(const struct importer *importer, const char *name, const void *bytes, size_t n);
void dumped_read_text(const struct importer *importer, const char *name, const char *text);
/* The dump of the last reading. */
const char *dumped_text(void);
void dumped_has(const char *part);
void dumped_has_not(const char *part);
size_t dumped_count(const char *part);
/* How sure the importer is of a file with this name and beginning. */
int dumped_probe(const struct importer *importer, const char *name, const char *text);

#endif
