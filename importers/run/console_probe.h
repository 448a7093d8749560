/* How sure it is that a file is a console log. */
#ifndef IMPORTERS_RUN_CONSOLE_PROBE_H
#define IMPORTERS_RUN_CONSOLE_PROBE_H

#include "importers/importer.h"

int console_probe(const struct peek *peek);

#endif
