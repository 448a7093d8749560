/* What opening the cache (store.c) and the kept database (kept.c) share. Private to core/store. */
#ifndef CORE_STORE_OPEN_H
#define CORE_STORE_OPEN_H

#include "core/store/db.h"

/* A sentence for store_notices. */
void open_notice(struct store *store, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Replaces *path; the old one is freed. */
MUST_CHECK int open_set_path(char **path, const char *text, struct error *err);
/* The same file for a second connection, wherever the process goes. */
MUST_CHECK int open_absolute_path(char **path, struct error *err);
/* A file in a folder of this store alone, removed on closing. */
MUST_CHECK int open_private_path(struct store *store, char **path, const char *name,
                                 struct error *err);

MUST_CHECK int kept_attach_for_writing(struct store *store, const struct store_options *options,
                                       struct error *err);
MUST_CHECK int kept_attach_for_reading(struct store *store, const char *path, struct error *err);

#endif
