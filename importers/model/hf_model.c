/* A model folder of transformers: config.json and generation_config.json as settings, weights as an
 * artefact "base" with names and shapes. Which role it plays is the folder's to decide. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/read/source.h"
#include "importers/importer.h"
#include "importers/model/weight_file.h"
#include "importers/peek.h"

enum part { PART_CONFIG, PART_GENERATION, PART_INDEX, PART_SAFETENSORS, PART_BIN, PART_NONE };

static enum part part_of_name(const struct peek *peek)
{
    if (peek_name_is(peek, "config.json"))
        return PART_CONFIG;
    if (peek_name_is(peek, "generation_config.json"))
        return PART_GENERATION;
    if (peek_name_ends(peek, ".safetensors.index.json") || peek_name_ends(peek, ".bin.index.json"))
        return PART_INDEX;
    if (peek_name_ends(peek, ".safetensors"))
        return PART_SAFETENSORS;
    return peek_name_starts(peek, "pytorch_model") && peek_name_ends(peek, ".bin") ? PART_BIN
                                                                                   : PART_NONE;
}

static int probe(const struct peek *peek)
{
    enum part part = part_of_name(peek);

    switch (part) {
    case PART_CONFIG:
        /* "config.json" alone says little: other programs write one too. */
        if (peek_has_key(peek, "model_type") || peek_has_key(peek, "architectures"))
            return 95;
        return peek_first(peek) == '{' ? 0 : 50;
    case PART_GENERATION:
    case PART_INDEX:
        return 95;
    case PART_SAFETENSORS:
    case PART_BIN:
        return 85;
    case PART_NONE:
        break;
    }
    return peek_name_ends(peek, ".json") && peek_is_object(peek) &&
                   peek_has_key(peek, "architectures") && peek_has_key(peek, "model_type")
               ? 80
               : 0;
}

/* num_labels is written as id2label; the names themselves may be thousands. */
static int import_labels(struct import *import, const struct json *config, struct error *err)
{
    const struct json *labels = json_get(config, "id2label");
    char text[32];

    if (!json_is(labels, JSON_OBJECT) || json_get(config, "num_labels"))
        return OK;
    snprintf(text, sizeof text, "%zu", labels->n);
    return import_setting(import, SIDE_MODEL, "num_labels", text, VALUE_INT, labels->line, err);
}

static int run_config(struct import *import, enum side side, struct error *err)
{
    const struct json *tree;
    int rc = import_json(import, &tree, err);

    import->n_rows_are = "settings";
    if (rc != OK || !tree)
        return rc;
    if (!json_is(tree, JSON_OBJECT))
        return sink_note(import->sink, NOTE_WARN, tree->line, NONE, err, "not a JSON object");
    import->n_rows = (int64_t)tree->n;
    rc = import_settings_tree(import, side, "", tree, err);
    return rc == OK && side == SIDE_MODEL ? import_labels(import, tree, err) : rc;
}

/* ---- Index of shards ---- */

struct shards {
    struct import *import;
    size_t n_missing, n_odd;
    const char *first_missing, *first_odd, *last; /* last: of a tensor before, most often the same */
};

/* A shard lies beside its index and nowhere else. */
static void see_shard(struct shards *shards, const struct json *shard)
{
    struct arena *arena = shards->import->arena;
    const char *slash = strrchr(shards->import->path, '/');
    struct source_stat stat;

    if (!json_is(shard, JSON_STRING) || (shards->last && str_is(shard->text, shards->last)))
        return;
    shards->last = arena_strndup(arena, shard->text.p, shard->text.n);
    if (shard->text.n == 0 || str_find(shard->text, "/") >= 0 || str_find(shard->text, "..") >= 0) {
        if (shards->n_odd++ == 0)
            shards->first_odd = shards->last;
        return;
    }
    const char *path = arena_printf(arena, "%.*s%s",
                                    slash ? (int)(slash + 1 - shards->import->path) : 0,
                                    shards->import->path, shards->last);
    if (path && source_stat_path(path, &stat, NULL) != OK && shards->n_missing++ == 0)
        shards->first_missing = shards->last;
}

static int note_shards(const struct shards *shards, struct error *err)
{
    struct sink *sink = shards->import->sink;
    int rc = OK;

    if (shards->n_odd)
        rc = sink_note(sink, NOTE_WARN, NONE, NONE, err,
                       "shard names that are no plain file names, first %s: not looked for",
                       shards->first_odd);
    if (rc == OK && shards->n_missing)
        rc = sink_note(sink, NOTE_ERROR, NONE, NONE, err,
                       "shards are missing beside the index, first %s", shards->first_missing);
    return rc;
}

/* Names of all tensors without their shapes: the shards' headers have those. */
static int run_index(struct import *import, struct error *err)
{
    const struct json *tree, *map, *metadata;
    struct shards shards = {.import = import};
    int64_t id;
    int rc = import_json(import, &tree, err);

    import->n_rows_are = "tensors";
    if (rc != OK || !tree)
        return rc;
    map = json_get(tree, "weight_map");
    metadata = json_get(tree, "metadata");
    if (!json_is(map, JSON_OBJECT))
        return sink_note(import->sink, NOTE_WARN, NONE, NONE, err, "no weight_map");
    rc = import_settings_tree(import, SIDE_MODEL, "index", metadata, err);
    if (rc == OK)
        rc = weight_artefact(import, "base", false, &id, err);
    for (const struct json *tensor = map->child; tensor && rc == OK; tensor = tensor->next)
        rc = weight_name(import, id, tensor->key, NAN, err);
    for (const struct json *tensor = map->child; tensor && rc == OK; tensor = tensor->next)
        see_shard(&shards, tensor);
    return rc == OK ? note_shards(&shards, err) : rc;
}

static int run(struct import *import, struct error *err)
{
    const char *slash = strrchr(import->path, '/');
    struct peek peek = {.name = slash ? slash + 1 : import->path};
    enum part part = part_of_name(&peek);
    int64_t id;
    bool is_odd;

    if (part == PART_CONFIG || part == PART_GENERATION || part == PART_NONE)
        return run_config(import, part == PART_GENERATION ? SIDE_GENERATION : SIDE_MODEL, err);
    if (part == PART_INDEX)
        return run_index(import, err);
    int rc = import_oddity(import, &is_odd, err);
    import->n_rows_are = "tensors";
    if (rc != OK)
        return rc;
    if (is_odd)
        return weight_artefact(import, "base", false, &id, err);
    return weight_tensors(import, "base", 0, err);
}

const struct importer importer_hf_model = {
    .id = "hf_model",
    .title = "a model folder of transformers",
    .hint = "the folder with config.json and model.safetensors",
    .supplies = NEEDS_MODEL_CONFIG,
    .version = 2,
    .role = "model",
    .probe = probe,
    .run = run,
};
