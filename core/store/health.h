/* What a database file is. Private to core/store. */
#ifndef CORE_STORE_HEALTH_H
#define CORE_STORE_HEALTH_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum health {
    HEALTH_GOOD,
    HEALTH_EMPTY,
    HEALTH_FOREIGN,
    HEALTH_NO_DATABASE,                 /* any bytes, or ours with its first page gone */
    HEALTH_NEWER,
    HEALTH_DAMAGED
};

/* "is damaged" … for the four bad ones. */
const char *health_clause(enum health health);

struct health_expected {
    const char *schema;                 /* "main" or "kept" */
    int64_t application_id, version;    /* the newest user_version that we know */
};

/* Looks at an open or attached database. Returns SQLite's code for anything but damage. */
int health_examine(sqlite3 *db, const struct health_expected *expected, enum health *health,
                   int64_t *version);
/* SQLite's code says that the file is damaged or no database. */
bool health_is_damage(int code);
int health_pragma(sqlite3 *db, const char *schema, const char *name, int64_t *out);

#endif
