/* Names under which a trainer hands its metrics to a logger: "train/…", "eval/…". */
#ifndef IMPORTERS_RUN_LOGGED_NAME_H
#define IMPORTERS_RUN_LOGGED_NAME_H

#include <stddef.h>

#define LOGGED_NAME_BYTES 256

/* The canonical name of a logged metric: a constant, raw_name itself, or built in `out`. */
const char *logged_name(const char *raw_name, char out[LOGGED_NAME_BYTES]);

#endif
