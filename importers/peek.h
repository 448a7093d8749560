/* What probes ask of the first bytes of a file. Pure looks at text: no parsing, no side effects. */
#ifndef IMPORTERS_PEEK_H
#define IMPORTERS_PEEK_H

#include "importers/importer.h"

bool peek_name_is(const struct peek *peek, const char *name);       /* ASCII case ignored */
bool peek_name_ends(const struct peek *peek, const char *suffix);   /* likewise */
bool peek_name_starts(const struct peek *peek, const char *prefix); /* likewise */
/* The first byte that is no blank and no byte order mark; 0 for an empty or binary head. */
char peek_first(const struct peek *peek);
/* One JSON object (not JSON lines: a second value begins a line). */
bool peek_is_object(const struct peek *peek);
/* A JSON object a line: two lines of them, or one line that is the whole file. */
bool peek_is_lines(const struct peek *peek);
bool peek_is_yaml_name(const struct peek *peek);
/* "key": anywhere in the head (JSON), or key: at the beginning of a line (YAML). */
bool peek_has_key(const struct peek *peek, const char *key);
/* Calls `key` for each key seen in the head until it returns false. */
void peek_keys(const struct peek *peek, bool (*key)(void *ctx, const char *name), void *ctx);
/* How many different settings of training the head names (core/facts/config_names.h). */
size_t peek_known_settings(const struct peek *peek);

#endif
