/* Where the databases lie: default places, private modes, moving aside. Knows no SQL. Private to
 * core/store. Paths given out are malloc'ed and the caller's. */
#ifndef CORE_STORE_FILES_H
#define CORE_STORE_FILES_H

#include <stdbool.h>

#include "core/base/error.h"

/* $XDG_CACHE_HOME/flatline/cache.db and $XDG_STATE_HOME/flatline/triage.db, with the defaults of
 * the XDG specification below $HOME. E_NOTFOUND without a home. */
MUST_CHECK int files_default_cache(char **path, struct error *err);
MUST_CHECK int files_default_kept(char **path, struct error *err);

/* Makes the folders of the path (0700) and the file (0600) where missing, and makes sure that
 * both can be written. E_IO says why not. */
MUST_CHECK int files_prepare(const char *path, struct error *err);

/* Renames a database and its -wal and -shm to PATH.aside-N, the first N that is free. */
MUST_CHECK int files_move_aside(const char *path, char **aside, struct error *err);
/* Renames onto `to`, which is replaced. */
MUST_CHECK int files_rename(const char *from, const char *to, struct error *err);
/* Removes a database and its -wal, -shm and -journal. */
void files_remove(const char *path);

/* A new folder below $TMPDIR that only this user can enter. */
MUST_CHECK int files_private_folder(char **folder, struct error *err);
/* Removes the databases in it (cache.db, triage.db) and the folder. */
void files_remove_private_folder(const char *folder);

/* "FOLDER/NAME", or NULL without memory. */
char *files_join(const char *folder, const char *name);

#endif
