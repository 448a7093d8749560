/* The names of the classes that a column of numbers stands for: ClassLabel of Hugging Face's datasets, which
 * writes its features as JSON into the metadata of Parquet and Arrow files. Looks for that text in the first
 * and the last CLASS_NAMES_BYTES of the file, where both formats keep their metadata. */
#ifndef IMPORTERS_DATASET_CLASS_NAMES_H
#define IMPORTERS_DATASET_CLASS_NAMES_H

#include "core/base/arena.h"
#include "core/read/json.h"

#define CLASS_NAMES_BYTES ((size_t)256 << 10)

/* The features of the file by column, in the arena; NULL: there are none, or they cannot be read. */
const struct json *class_names_features(const char *path, struct arena *arena);
/* Name of class `value` of a column; empty: none. */
struct str class_name_of(const struct json *features, const char *column, int64_t value);

#endif
