/* A PEFT adapter: adapter_config.json as settings; its weights, or lists of its keys and norms, as
 * an artefact "adapter" with tensors; module_names.txt as an artefact "modules". */
#include <math.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/read/jsonl.h"
#include "core/read/source.h"
#include "importers/importer.h"
#include "importers/model/weight_file.h"
#include "importers/peek.h"

#define NAME_LINE_BYTES ((size_t)4096)
#define MAX_NAMES       200000

enum part {
    PART_CONFIG,
    PART_SAFETENSORS,
    PART_BIN,
    PART_NORMS,
    PART_KEYS,
    PART_MODULES,
    PART_NONE
};

static enum part part_of_name(const struct peek *peek)
{
    if (peek_name_is(peek, "adapter_config.json"))
        return PART_CONFIG;
    if (peek_name_starts(peek, "adapter_model") && peek_name_ends(peek, ".safetensors"))
        return PART_SAFETENSORS;
    if (peek_name_starts(peek, "adapter_model") && peek_name_ends(peek, ".bin"))
        return PART_BIN;
    if (peek_name_is(peek, "adapter_norms.jsonl"))
        return PART_NORMS;
    if (peek_name_is(peek, "adapter_keys.txt"))
        return PART_KEYS;
    return peek_name_is(peek, "module_names.txt") ? PART_MODULES : PART_NONE;
}

/* What another name hides. */
static enum part part_of_content(const struct peek *peek)
{
    if (peek_name_ends(peek, ".json") && peek_is_object(peek) && peek_has_key(peek, "peft_type"))
        return PART_CONFIG;
    if (peek_name_ends(peek, ".safetensors") &&
        (str_find(peek->head, ".lora_A.") >= 0 || str_find(peek->head, "\"base_model.model.") >= 0))
        return PART_SAFETENSORS;
    return PART_NONE;
}

static int probe(const struct peek *peek)
{
    if (part_of_name(peek) != PART_NONE)
        return 96;
    return part_of_content(peek) != PART_NONE ? 92 : 0;
}

static int run_config(struct import *import, struct error *err)
{
    const struct json *tree;
    int rc = import_json(import, &tree, err);

    import->n_rows_are = "settings";
    if (rc != OK || !tree)
        return rc;
    import->n_rows = (int64_t)tree->n;
    return import_settings_tree(import, SIDE_ADAPTER, "", tree, err);
}

/* ---- Lists of names ---- */

struct names {
    struct import *import;
    int64_t artefact, n;
};

static int on_norm(void *ctx, const struct json_row *row, struct error *err)
{
    struct names *names = ctx;
    struct str key = {0};
    double norm = NAN;

    for (size_t i = 0; i < row->n; i++) {
        if (str_is(row->fields[i].key, "key") || str_is(row->fields[i].key, "name"))
            key = row->fields[i].text;
        else if (str_is(row->fields[i].key, "norm") && row->fields[i].is_number)
            norm = row->fields[i].number;
    }
    if (names->n++ >= MAX_NAMES)
        return OK;
    return weight_name(names->import, names->artefact, key, norm, err);
}

static int on_bad(void *ctx, const struct source_line *line, bool is_last, const struct error *why,
                  struct error *err)
{
    struct names *names = ctx;

    if (is_last) {
        names->import->state = SOURCE_GROWING;
        return OK;
    }
    return sink_note(names->import->sink, NOTE_WARN, line->number, line->byte, err, "%s",
                     why->message);
}

static int read_norms(struct names *names, struct source_file *file, struct error *err)
{
    struct jsonl_handler handler = {.row = on_norm, .bad = on_bad, .ctx = names};

    return jsonl_read(file, &handler, err);
}

/* "layer.0.attn" or, as print() shows them, "'layer.0.attn'," */
static struct str bare_name(struct str line)
{
    line = str_trim(line);
    while (line.n && strchr("'\"[", line.p[0]))
        line = str_skip(line, 1);
    while (line.n && strchr("'\",]", line.p[line.n - 1]))
        line = str_first(line, line.n - 1);
    return line;
}

static int read_names(struct names *names, struct source_file *file, struct error *err)
{
    struct source_line line;
    int got;

    while ((got = source_next_line(file, NAME_LINE_BYTES, &line, err)) > 0) {
        if (names->n++ >= MAX_NAMES || line.cut)
            continue;
        int rc = weight_name(names->import, names->artefact, bare_name(line.text), NAN, err);
        if (rc != OK)
            return rc;
    }
    return got;
}

static int run_list(struct import *import, enum part part, struct error *err)
{
    struct names names = {.import = import};
    struct source_file *file = NULL;
    struct error why = {0};
    int rc = weight_artefact(import, part == PART_MODULES ? "modules" : "adapter", false,
                             &names.artefact, err);

    if (rc != OK)
        return rc;
    rc = source_open(&file, import->path, &why);
    if (rc == OK)
        rc = part == PART_NORMS ? read_norms(&names, file, &why) : read_names(&names, file, &why);
    source_close(file);
    if (rc != OK)
        return import_note_error(import, &why, err);
    return names.n > MAX_NAMES
               ? sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                           "%lld names, only the first %d were kept", (long long)names.n, MAX_NAMES)
               : OK;
}

static int run(struct import *import, struct error *err)
{
    const char *slash = strrchr(import->path, '/');
    struct peek peek = {.name = slash ? slash + 1 : import->path};
    enum part part = part_of_name(&peek);
    bool is_odd;

    if (part == PART_NONE)
        part = peek_name_ends(&peek, ".json") ? PART_CONFIG : PART_SAFETENSORS;
    if (part == PART_CONFIG)
        return run_config(import, err);
    int rc = import_oddity(import, &is_odd, err);
    import->n_rows_are = part == PART_MODULES ? "module names" : "tensors";
    if (rc != OK)
        return rc;
    if (is_odd) {
        int64_t id; /* an empty or missing adapter is a fact about the adapter */

        return weight_artefact(import, part == PART_MODULES ? "modules" : "adapter", false, &id,
                               err);
    }
    if (part == PART_SAFETENSORS || part == PART_BIN)
        return weight_tensors(import, "adapter", WEIGHT_VALUES_BYTES, err);
    return run_list(import, part, err);
}

const struct importer importer_peft_adapter = {
    .id = "peft_adapter",
    .title = "a PEFT adapter",
    .hint = "adapter_config.json and adapter_model.safetensors",
    .supplies = NEEDS_ADAPTER_TENSORS,
    .version = 2,
    .role = "adapter",
    .probe = probe,
    .run = run,
};
