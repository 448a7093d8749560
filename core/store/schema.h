/* The tables of the two databases as ordered migrations. Private to core/store. */
#ifndef CORE_STORE_SCHEMA_H
#define CORE_STORE_SCHEMA_H

#include <sqlite3.h>

#define CACHE_APPLICATION_ID 0x666c6174     /* "flat" */
#define KEPT_APPLICATION_ID  0x666c6b74     /* "flkt" */

/* Number of migrations: the newest user_version. */
int schema_cache_version(void);
int schema_kept_version(void);
/* Brings `main` (the cache) or the attached `kept` from version `from` to the newest, each
 * migration in a transaction of its own. Returns SQLite's code. */
int schema_migrate_cache(sqlite3 *db, int from);
int schema_migrate_kept(sqlite3 *db, int from);

#endif
