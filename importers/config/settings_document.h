/* One document of settings, JSON or YAML: what the importers of frameworks share. */
#ifndef IMPORTERS_CONFIG_SETTINGS_DOCUMENT_H
#define IMPORTERS_CONFIG_SETTINGS_DOCUMENT_H

#include "importers/importer.h"
#include "importers/peek.h"

struct key_list {
    const char *const *keys;
    size_t n;
};

/* How many of the keys the head has, at any depth. */
size_t settings_count_keys(const struct peek *peek, struct key_list list);
/* A mapping by its name and first byte: JSON object or YAML. */
bool settings_is_document(const struct peek *peek);
/* Every member of the document as a setting of training, in the words of `framework`
 * (config_names.h; NULL: no words of its own). JSON by the file's name, else YAML. */
MUST_CHECK int settings_document(struct import *import, const char *framework, struct error *err);

#endif
