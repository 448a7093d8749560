/* What no part of flatline stores or shows: keys, tokens, passwords among the settings of a file. */
#ifndef CORE_FACTS_SECRETS_H
#define CORE_FACTS_SECRETS_H

#include <stdbool.h>

#include "core/read/json.h"

/* By the last part of a setting's name ("env.HF_TOKEN"). `bos_token` is none. */
bool secret_name(const char *key);
/* The whole value begins as a key of a known service does. */
bool secret_value(const char *value);
/* Somewhere inside a list or an object. */
bool secret_in_tree(const struct json *value);
/* A word of the text is a key of a known service, or stands behind a secret's name. */
bool secret_in_text(struct str text);

#endif
