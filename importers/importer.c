/* What all importers share: settings with their canonical names, secrets, metric points, reading a
 * small document, and notes. Knows no file format. */
#include "importers/importer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/unicode.h"
#include "core/facts/config_names.h"
#include "core/facts/config_values.h"
#include "core/facts/secrets.h"
#include "core/read/source.h"
#include "core/read/yaml.h"

#define SETTING_MAX_BYTES      ((size_t)64 << 10) /* longer values are texts, not settings */
#define SETTING_NAME_MAX_BYTES ((size_t)1 << 10)
#define VALUE_MAX_BYTES        (1 << 20)
#define SETTINGS_MAX           20000 /* of one tree; more is data, not configuration */

bool import_is_secret(const char *key)
{
    return secret_name(key);
}

/* ---- Settings ---- */

/* The last step before the store: what is kept is valid UTF-8. */
static int put_setting(struct import *import, const struct setting *setting, struct error *err)
{
    struct setting clean = *setting;
    struct buf name, value;

    if (unicode_is_valid(str_of(setting->raw_name)) && unicode_is_valid(str_of(setting->value)))
        return sink_setting(import->sink, setting, err);
    buf_init(&name, SETTING_NAME_MAX_BYTES * 4);
    buf_init(&value, SETTING_MAX_BYTES * 4);
    unicode_valid(&name, str_of(setting->raw_name));
    unicode_valid(&value, str_of(setting->value));
    clean.raw_name = name.p;
    if (setting->name == setting->raw_name)
        clean.name = name.p;
    if (setting->value)
        clean.value = value.p;
    int rc = name.failed || value.failed ? error_set(err, E_NOMEM, "a setting")
                                         : sink_setting(import->sink, &clean, err);
    buf_free(&name);
    buf_free(&value);
    return rc;
}

/* The row that holds the meaning where the file's own word means the opposite. */
static int put_inverted(struct import *import, struct setting setting, struct error *err)
{
    char name[SETTING_NAME_MAX_BYTES + 8];
    bool is_true = strcasecmp(setting.value, "true") == 0 || strcmp(setting.value, "1") == 0;
    bool is_false = strcasecmp(setting.value, "false") == 0 || strcmp(setting.value, "0") == 0;
    struct setting raw = setting;
    int rc;

    raw.name = NULL;
    rc = put_setting(import, &raw, err);
    if (rc != OK || (!is_true && !is_false))
        return rc;
    snprintf(name, sizeof name, "not %s", setting.raw_name);
    setting.raw_name = name;
    setting.value = is_true ? "false" : "true";
    setting.type = VALUE_BOOL;
    return put_setting(import, &setting, err);
}

/* What a value of several meanings implies: precision "bf16-mixed" says that bf16 is on. */
static int put_implied(struct import *import, const struct setting *setting, struct error *err)
{
    const char *value;
    enum value_type type;
    const char *name;
    char raw_name[SETTING_NAME_MAX_BYTES + 32];

    for (size_t i = 0; (name = config_implied(setting->raw_name, setting->value, i, &value, &type));
         i++) {
        struct setting implied = *setting;

        snprintf(raw_name, sizeof raw_name, "%s (%s)", setting->raw_name, name);
        implied.raw_name = raw_name;
        implied.name = name;
        implied.value = value;
        implied.type = type;
        int rc = put_setting(import, &implied, err);
        if (rc != OK)
            return rc;
    }
    return OK;
}

int import_setting(struct import *import, enum side side, const char *raw_name, const char *value,
                   enum value_type type, int64_t line, struct error *err)
{
    bool inverts = false;
    struct setting setting = {.side = side, .raw_name = raw_name, .type = type, .line = line};

    if (import_is_secret(raw_name) || (value && secret_value(value)))
        return OK;
    if (strlen(raw_name) > SETTING_NAME_MAX_BYTES)
        return sink_note(import->sink, NOTE_WARN, line, NONE, err,
                         "a name of %zu bytes is not a setting", strlen(raw_name));
    if (value && strlen(value) > SETTING_MAX_BYTES)
        return sink_note(import->sink, NOTE_INFO, line, NONE, err,
                         "%s: a value of %zu bytes was not kept", raw_name, strlen(value));
    setting.name = config_name_of(import->framework, side, raw_name, &inverts);
    setting.value = setting.name ? config_value(setting.name, value, &setting.type) : value;
    if (setting.name && setting.value &&
        config_value_is_open(setting.name, setting.value, setting.type))
        setting.name = NULL;
    if (inverts && setting.value)
        return put_inverted(import, setting, err);
    int rc = put_setting(import, &setting, err);
    return rc == OK && setting.name && setting.value && side == SIDE_TRAIN
               ? put_implied(import, &setting, err)
               : rc;
}

struct tree_walk {
    struct import *import;
    enum side side;
    struct buf value;
    size_t n;
};

static enum value_type type_of(const struct json *value)
{
    switch (value->type) {
    case JSON_NULL:
        return VALUE_NULL;
    case JSON_FALSE:
    case JSON_TRUE:
        return VALUE_BOOL;
    case JSON_NUMBER:
        return value->is_integer ? VALUE_INT : VALUE_FLOAT;
    case JSON_STRING:
        return VALUE_TEXT;
    case JSON_ARRAY:
        return VALUE_LIST;
    case JSON_OBJECT:
        return VALUE_OBJECT;
    }
    return VALUE_NULL;
}

/* NULL: not to be kept, for a secret in it or for its length (out->failed). */
static const char *text_of(const struct json *value, struct buf *out)
{
    buf_clear(out);
    switch (value->type) {
    case JSON_NULL:
        return "null";
    case JSON_FALSE:
        return "false";
    case JSON_TRUE:
        return "true";
    case JSON_NUMBER:
    case JSON_STRING:
        buf_str(out, value->text);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        if (secret_in_tree(value))
            return NULL;
        json_write(out, value);
        break;
    }
    return out->failed ? NULL : out->p;
}

static int note_long_value(struct import *import, const char *name, const struct json *value,
                           struct error *err)
{
    return sink_note(import->sink, NOTE_INFO, value->line, NONE, err,
                     "%s: a value longer than %d bytes was not kept", name, VALUE_MAX_BYTES);
}

static int put_value(struct tree_walk *walk, const char *name, const struct json *value,
                     struct error *err)
{
    const char *text = text_of(value, &walk->value);

    if (walk->value.failed)
        return note_long_value(walk->import, name, value, err);
    return text ? import_setting(walk->import, walk->side, name, text, type_of(value), value->line,
                                 err)
                : OK;
}

static int walk_member(struct tree_walk *walk, const char *name, const struct json *value,
                       struct error *err);

static int walk_object(struct tree_walk *walk, const char *prefix, const struct json *object,
                       struct error *err)
{
    struct buf name;
    int rc = OK;

    buf_init(&name, SETTING_NAME_MAX_BYTES);
    for (const struct json *child = object->child; child && rc == OK; child = child->next) {
        buf_clear(&name);
        if (*prefix)
            buf_printf(&name, "%s.", prefix);
        buf_str(&name, child->key);
        if (name.failed || name.n == 0)
            continue; /* an endless or empty key says nothing */
        rc = walk_member(walk, name.p, child, err);
    }
    buf_free(&name);
    return rc;
}

static int walk_member(struct tree_walk *walk, const char *name, const struct json *value,
                       struct error *err)
{
    if (value->type == JSON_OBJECT && value->child)
        return import_is_secret(name) ? OK : walk_object(walk, name, value, err);
    if (walk->n++ == SETTINGS_MAX)
        return sink_note(walk->import->sink, NOTE_WARN, value->line, NONE, err,
                         "only the first %d settings were kept", SETTINGS_MAX);
    if (walk->n > SETTINGS_MAX)
        return OK;
    return put_value(walk, name, value, err);
}

int import_settings_tree(struct import *import, enum side side, const char *prefix,
                         const struct json *object, struct error *err)
{
    struct tree_walk walk = {.import = import, .side = side};

    if (!json_is(object, JSON_OBJECT))
        return OK;
    buf_init(&walk.value, VALUE_MAX_BYTES);
    int rc = walk_object(&walk, prefix, object, err);
    buf_free(&walk.value);
    return rc;
}

int import_json_setting(struct import *import, enum side side, const char *raw_name,
                        const struct json *value, struct error *err)
{
    struct tree_walk walk = {.import = import, .side = side};

    if (!value)
        return OK;
    buf_init(&walk.value, VALUE_MAX_BYTES);
    int rc = put_value(&walk, raw_name, value, err);
    buf_free(&walk.value);
    return rc;
}

int import_own_setting(struct import *import, enum side side, const char *name,
                       const struct json *value, struct error *err)
{
    struct setting setting = {.side = side, .raw_name = name, .name = name};
    struct buf text;
    int rc = OK;

    if (!value || value->type == JSON_NULL || import_is_secret(name))
        return OK;
    setting.type = type_of(value);
    setting.line = value->line;
    buf_init(&text, VALUE_MAX_BYTES);
    setting.value = text_of(value, &text);
    if (text.failed)
        rc = note_long_value(import, name, value, err);
    else if (setting.value)
        rc = sink_setting(import->sink, &setting, err);
    buf_free(&text);
    return rc;
}

/* ---- Documents and notes ---- */

bool import_is_cancelled(const struct import *import)
{
    return import->cancel && atomic_load(import->cancel);
}

static bool is_ours(int status)
{
    return status == E_NOMEM || status == E_DB || status == E_CANCELLED;
}

int import_note_error(struct import *import, const struct error *why, struct error *err)
{
    if (is_ours(why->status)) {
        if (err && err != why)
            *err = *why;
        return why->status;
    }
    import->state = SOURCE_DAMAGED;
    return sink_note(import->sink, NOTE_ERROR, why->line, why->byte, err, "%s", why->message);
}

int import_oddity(struct import *import, bool *is_odd, struct error *err)
{
    struct source_file *file = NULL;
    struct error why = {0};
    char head[512];
    size_t n = 0;
    int rc = source_open(&file, import->path, &why);

    *is_odd = true;
    if (rc == OK)
        rc = source_at(file, 0, head, sizeof head, &n, &why);
    if (rc == OK)
        import->read_to = source_size(file);
    source_close(file);
    if (rc != OK)
        return import_note_error(import, &why, err);
    enum source_oddity oddity = source_oddity(str_from(head, n));
    if (oddity == ODDITY_NONE || oddity == ODDITY_BINARY) {
        *is_odd = false; /* whether bytes are wanted is the importer's to know */
        return OK;
    }
    import->state = SOURCE_DAMAGED;
    return sink_note(import->sink, NOTE_ERROR, NONE, 0, err, "%s", source_oddity_name(oddity));
}

static int read_document(struct import *import, const struct json **out, struct error *err,
                         int (*read)(const char *path, struct arena *arena, const struct json **out,
                                     struct error *err))
{
    struct error why = {0};
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    *out = NULL;
    if (rc != OK || is_odd)
        return rc;
    rc = read(import->path, import->arena, out, &why);
    if (rc == OK)
        return OK;
    *out = NULL;
    if (rc == E_NOMEM && arena_failed(import->arena)) {
        /* A tree beyond the batch's limit is the file's fault, not the system's. */
        arena_reset(import->arena);
        error_set(&why, E_LIMIT, "more values than a settings file may have");
    }
    return import_note_error(import, &why, err);
}

static int read_json(const char *path, struct arena *arena, const struct json **out,
                     struct error *err)
{
    return json_read_file(path, true, arena, out, NULL, err);
}

int import_json(struct import *import, const struct json **out, struct error *err)
{
    return read_document(import, out, err, read_json);
}

int import_yaml(struct import *import, const struct json **out, struct error *err)
{
    return read_document(import, out, err, yaml_read_file);
}

int import_yaml_documents(struct import *import, const struct json **out, struct error *err)
{
    return read_document(import, out, err, yaml_read_documents);
}
