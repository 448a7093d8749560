/* A JSON value as a setting whose raw name is its canonical name, too ("state.global_step"). */
#ifndef IMPORTERS_RUN_JSON_SETTING_H
#define IMPORTERS_RUN_JSON_SETTING_H

#include "importers/importer.h"

/* null is not stated: nothing is written. */
MUST_CHECK int json_setting(struct import *import, enum side side, const char *name,
                            const struct json *value, struct error *err);

#endif
