/* YAML (libyaml) as the tree of json.h.
 *
 * Scalars are typed as config loaders mean them: 2e-5 is a number, yes/no/on/off booleans, ~ null,
 * .nan .inf numbers, everything quoted text. Anchors, aliases and merge keys `<<` are resolved
 * with a cap on the nodes (100,000) and the depth (64); tags are text, never executed; duplicate
 * keys: the last wins. Several documents: the first. Tree and texts live in the arena. */
#ifndef CORE_READ_YAML_H
#define CORE_READ_YAML_H

#include "core/read/json.h"

MUST_CHECK int yaml_parse(struct str text, struct arena *arena, const struct json **out,
                          struct error *err);
MUST_CHECK int yaml_read_file(const char *path, struct arena *arena, const struct json **out,
                              struct error *err);
/* All documents of a file: the tree of a single one, a list of them where they are more (Kubernetes). */
MUST_CHECK int yaml_read_documents(const char *path, struct arena *arena, const struct json **out,
                                   struct error *err);
/* The YAML front matter of a Markdown file (between two lines "---"); E_NOTFOUND when none. */
MUST_CHECK int yaml_front_matter(struct str text, struct arena *arena, const struct json **out,
                                 struct error *err);

#endif
