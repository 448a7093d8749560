/* One document of settings, JSON or YAML. Which framework wrote it is the importers' matter. */
#include "importers/config/settings_document.h"

#include "importers/config/lora_targets.h"

size_t settings_count_keys(const struct peek *peek, struct key_list list)
{
    size_t found = 0;

    for (size_t i = 0; i < list.n; i++)
        found += peek_has_key(peek, list.keys[i]);
    return found;
}

static bool is_json_name(struct str name)
{
    return str_ends(name, ".json") || str_ends(name, ".jsonc");
}

bool settings_is_document(const struct peek *peek)
{
    if (is_json_name(str_of(peek->name)))
        return peek_is_object(peek);
    return peek_is_yaml_name(peek) && peek_first(peek) != '[';
}

int settings_document(struct import *import, const char *framework, struct error *err)
{
    const struct json *tree;
    bool is_json = is_json_name(str_of(import->path));
    int rc = is_json ? import_json(import, &tree, err) : import_yaml(import, &tree, err);

    import->n_rows_are = "settings";
    import->framework = framework;
    if (rc != OK || !tree)
        return rc;
    if (!json_is(tree, JSON_OBJECT))
        return sink_note(import->sink, NOTE_WARN, tree->line, NONE, err,
                         "not a mapping of settings");
    import->n_rows = (int64_t)tree->n;
    rc = lora_targets(import, framework, tree, err);
    if (rc != OK)
        return rc;
    return import_settings_tree(import, SIDE_TRAIN, "", tree, err);
}
