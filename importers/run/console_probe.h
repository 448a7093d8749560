/* How sure it is that a file is a console log. */
#ifndef IMPORTERS_RUN_CONSOLE_PROBE_H
#define IMPORTERS_RUN_CONSOLE_PROBE_H

#include "importers/importer.h"

int console_probe(const struct peek *peek);
/* As import_oddity, but UTF-16 is let through. */
MUST_CHECK int console_look_whether_odd(struct import *import, bool *is_odd, struct error *err);

#endif
