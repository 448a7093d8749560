/* A database of SQLite that a logger keeps: opened, read, and what is odd about it said. Which run, which
 * tables, which values: mlflow_db.c and trackio.c. */
#ifndef IMPORTERS_RUN_DATABASE_H
#define IMPORTERS_RUN_DATABASE_H

#include "core/read/sqlite_file.h"
#include "importers/importer.h"

/* What is wrong with the file is a note at its source; the status is the sink's. `read` gets the open
 * file, which is closed behind it. */
MUST_CHECK int database_import(struct import *import,
                               int (*read)(void *ctx, struct sqlite_file *file, struct error *err),
                               void *ctx, struct error *err);

#endif
