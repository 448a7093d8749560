/* The arguments object of transformers and TRL as the training process saved it: a pickle in a
 * torch zip, the form of before torch 1.6, or plain JSON. The pickle is read as values, never run;
 * it has no lines. */
#include <stdlib.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/read/pickle.h"
#include "core/read/source.h"
#include "core/read/zip.h"
#include "importers/importer.h"
#include "importers/peek.h"

#define ARGS_MAX_DEPTH   4
#define ARGS_ARENA_BYTES ((size_t)512 << 20)

static int probe(const struct peek *peek)
{
    bool is_named = peek_name_starts(peek, "training_args");

    if (is_named && peek_name_ends(peek, ".bin"))
        return 95;
    if (is_named && peek_name_ends(peek, ".json"))
        return peek_first(peek) == '{' ? 95 : 60;
    return 0;
}

static enum value_type type_of(const struct pickle_value *value)
{
    switch (value->type) {
    case PICKLE_NONE:
        return VALUE_NULL;
    case PICKLE_BOOL:
        return VALUE_BOOL;
    case PICKLE_INT:
        return VALUE_INT;
    case PICKLE_FLOAT:
        return VALUE_FLOAT;
    case PICKLE_LIST:
    case PICKLE_TUPLE:
    case PICKLE_SET:
        return VALUE_LIST;
    case PICKLE_DICT:
        return VALUE_OBJECT;
    case PICKLE_TEXT:
    case PICKLE_BYTES:
    case PICKLE_GLOBAL:
    case PICKLE_CALL:
    case PICKLE_PERSISTENT:
        break;
    }
    return VALUE_TEXT;
}

static int import_value(struct import *import, const char *name, const struct pickle_value *value,
                        int depth, struct error *err);

static int import_dict(struct import *import, const char *prefix, const struct pickle_value *dict,
                       int depth, struct error *err)
{
    struct buf name;
    int rc = OK;

    buf_init(&name, 1024);
    for (size_t i = 0; i + 1 < dict->n && rc == OK; i += 2) {
        buf_clear(&name);
        if (*prefix)
            buf_printf(&name, "%s.", prefix);
        pickle_text(&name, dict->items[i]);
        if (dict->items[i]->type == PICKLE_TEXT && !name.failed && name.n)
            rc = import_value(import, name.p, dict->items[i + 1], depth, err);
    }
    buf_free(&name);
    return rc;
}

/* The numbers of arguments are few; objects in them (AcceleratorConfig) come by their attributes.
 */
static int import_value(struct import *import, const char *name, const struct pickle_value *value,
                        int depth, struct error *err)
{
    const struct pickle_value *attributes = pickle_attributes(value);
    struct buf text;
    int rc;

    if (value->type == PICKLE_DICT && value->n)
        attributes = value;
    if (attributes && depth < ARGS_MAX_DEPTH)
        return import_is_secret(name) ? OK : import_dict(import, name, attributes, depth + 1, err);
    buf_init(&text, (size_t)1 << 20);
    pickle_text(&text, value);
    import->n_rows++;
    enum value_type type = type_of(value);
    if (value->type == PICKLE_CALL && text.n) /* set([…]), OrderedDict(…) */
        type = text.p[0] == '[' ? VALUE_LIST : text.p[0] == '{' ? VALUE_OBJECT : type;
    rc = text.failed
             ? sink_note(import->sink, NOTE_INFO, NONE, NONE, err,
                         "%s: a value of more than 1 MiB was not kept", name)
             : import_setting(import, SIDE_TRAIN, name, text.p ? text.p : "", type, NONE, err);
    buf_free(&text);
    return rc;
}

static int import_class(struct import *import, const struct pickle_value *object, struct error *err)
{
    char name[512];
    const struct pickle_value *callee = object->callee;

    if (!callee || callee->type != PICKLE_GLOBAL || callee->text.n >= sizeof name)
        return OK;
    memcpy(name, callee->text.p, callee->text.n);
    name[callee->text.n] = '\0';
    for (char *p = name; *p; p++)
        if (*p == ' ')
            *p = '.';
    return import_setting(import, SIDE_TRAIN, "args_class", name, VALUE_TEXT, NONE, err);
}

static int note_foreign(struct import *import, const struct pickle *pickle, struct error *err)
{
    for (size_t i = 0; i < pickle->n_foreign; i++) {
        int rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err, "holds code: %s, not run",
                           pickle->foreign[i]);
        if (rc != OK)
            return rc;
    }
    return OK;
}

static int import_pickle(struct import *import, const void *bytes, size_t n, struct error *err)
{
    struct pickle pickle;
    struct error why = {0};
    struct arena *arena = arena_open(ARGS_ARENA_BYTES);
    int rc = arena ? pickle_parse(bytes, n, arena, &pickle, &why)
                   : error_set(err, E_NOMEM, "reading a pickle");

    if (arena && rc == E_NOMEM)
        why.status = error_set(&why, E_LIMIT, "a pickle that needs too much memory");
    if (arena && rc != OK)
        rc = import_note_error(import, &why, err);
    else if (rc == OK) {
        const struct pickle_value *attributes = pickle_attributes(pickle.top);

        rc = note_foreign(import, &pickle, err);
        if (rc == OK && attributes)
            rc = import_class(import, pickle.top, err);
        if (rc == OK && !attributes && pickle.top->type == PICKLE_DICT)
            attributes = pickle.top;
        if (rc == OK && attributes)
            rc = import_dict(import, "", attributes, 0, err);
        else if (rc == OK)
            rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                           "a pickle of something that has no attributes, not training arguments");
    }
    arena_close(arena);
    return rc;
}

/* data.pkl lies in one folder named after the file. */
static int read_zip(const char *path, char **out, size_t *n, struct error *err)
{
    struct zip_file_reader *zip = NULL;
    int rc = zip_reader_open(&zip, path, err);

    if (rc == OK)
        rc = zip_reader_member(zip, "data.pkl", PICKLE_MAX_BYTES, out, n, err);
    zip_reader_close(zip);
    return rc;
}

static int run_json(struct import *import, struct error *err)
{
    const struct json *tree;
    int rc = import_json(import, &tree, err);

    if (rc != OK || !tree)
        return rc;
    import->n_rows = (int64_t)tree->n;
    return import_settings_tree(import, SIDE_TRAIN, "", tree, err);
}

static int run(struct import *import, struct error *err)
{
    struct error why = {0};
    struct source_file *file = NULL;
    char head[16], *bytes = NULL;
    size_t n_head = 0, n = 0;
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "settings";
    if (rc != OK || is_odd)
        return rc;
    rc = source_open(&file, import->path, &why);
    if (rc == OK)
        rc = source_at(file, 0, head, sizeof head, &n_head, &why);
    source_close(file);
    struct str start = str_trim(str_from(head, n_head));
    if (rc == OK && (str_starts(start, "{") || str_starts(start, "\xef\xbb\xbf")))
        return run_json(import, err);
    if (rc == OK && str_starts(start, "PK"))
        rc = read_zip(import->path, &bytes, &n, &why);
    else if (rc == OK && n_head && (unsigned char)head[0] == 0x80)
        rc = source_slurp(import->path, PICKLE_MAX_BYTES, &bytes, &n, &why);
    else if (rc == OK)
        rc = error_set(&why, E_PARSE, "neither a torch zip nor a pickle nor JSON");
    rc = rc == OK ? import_pickle(import, bytes, n, err) : import_note_error(import, &why, err);
    free(bytes);
    return rc;
}

const struct importer importer_hf_training_args = {
    .id = "hf_training_args",
    .title = "training arguments of transformers and TRL",
    .hint = "training_args.bin or training_args.json",
    .supplies = NEEDS_SETTINGS,
    .version = 1,
    .role = "args",
    .probe = probe,
    .run = run,
};
