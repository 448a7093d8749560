/* What TensorBoard files say of the settings (FORMATS.md B4): the texts in which transformers keeps
 * its arguments and its model's configuration, tables in Markdown, and hparams. */
#include <stdlib.h>

#include "core/facts/config_names.h"
#include "core/read/protobuf.h"
#include "importers/run/tensorboard.h"

#define NAME_BYTES 512
#define MIN_KNOWN  2 /* so many of its keys have to be settings that are known */

/* ---- Texts ---- */

struct text_kind {
    const char *tag;
    enum side side;
};

static const struct text_kind KINDS[] = {
    {"args", SIDE_TRAIN},
    {"model_config", SIDE_MODEL},
    {"peft_config", SIDE_ADAPTER},
};

/* torch writes "/text_summary" behind the name it was given. */
static struct str plain_tag(struct str tag)
{
    static const char SUFFIX[] = "/text_summary";

    return str_ends(tag, SUFFIX) ? str_first(tag, tag.n - (sizeof SUFFIX - 1)) : tag;
}

static const struct text_kind *kind_of(struct str tag)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (str_is(plain_tag(tag), KINDS[i].tag))
            return &KINDS[i];
    return NULL;
}

static bool is_known(struct str key)
{
    char name[NAME_BYTES];
    bool inverts;

    if (key.n >= sizeof name)
        return false;
    memcpy(name, key.p, key.n);
    name[key.n] = '\0';
    return config_name(SIDE_TRAIN, name, &inverts) != NULL;
}

static bool names_settings(const struct json *object)
{
    size_t n = 0;

    for (const struct json *child = object->child; child && n < MIN_KNOWN; child = child->next)
        n += is_known(child->key);
    return n >= MIN_KNOWN;
}

static int take_json(struct import *import, const struct text_kind *kind, struct str text,
                     struct error *err)
{
    const struct json *tree;
    struct error why = {0};
    struct arena *arena = arena_open(ARENA_BATCH_BYTES);
    int rc = OK;

    if (!arena)
        return error_set(err, E_NOMEM, "no memory for the settings of an event file");
    rc = json_parse(text, false, arena, &tree, NULL, &why);
    if (rc != OK && why.status == E_NOMEM)
        rc = error_set(err, E_NOMEM, "%s", why.message);
    else if (rc != OK)
        rc = kind ? sink_note(import->sink, NOTE_WARN, NONE, NONE, err, "the text %s: %s",
                              kind->tag, why.message)
                  : OK;
    else if (json_is(tree, JSON_OBJECT) && (kind || names_settings(tree)))
        rc = import_settings_tree(import, kind ? kind->side : SIDE_TRAIN, "", tree, err);
    arena_close(arena);
    return rc;
}

/* "|learning_rate|0.0003|": a row of two cells. */
static bool table_row(struct str line, struct str *key, struct str *value)
{
    line = str_trim(line);
    if (line.n < 3 || line.p[0] != '|')
        return false;
    line = str_skip(line, 1);
    if (!str_split(&line, '|', key) || line.n == 0)
        return false;
    if (line.p[line.n - 1] == '|')
        line.n--;
    *key = str_trim(*key);
    *value = str_trim(line);
    return key->n > 0 && key->p[0] != '-' && key->n < NAME_BYTES &&
           memchr(line.p, '|', line.n) == NULL;
}

static int take_table(struct import *import, struct str text, bool is_asked, size_t *n_known,
                      struct error *err)
{
    struct str line, key, value;
    bool is_header = true;
    int rc = OK;

    *n_known = 0;
    while (rc == OK && str_split(&text, '\n', &line)) {
        char name[NAME_BYTES], content[NAME_BYTES];

        if (!table_row(line, &key, &value))
            continue;
        if (is_header || value.n >= sizeof content) {
            is_header = false;
            continue;
        }
        memcpy(name, key.p, key.n);
        name[key.n] = '\0';
        memcpy(content, value.p, value.n);
        content[value.n] = '\0';
        *n_known += is_known(key);
        if (!is_asked && strlen(name) == key.n)
            rc = import_setting(import, SIDE_TRAIN, name, content, VALUE_TEXT, NONE, err);
    }
    return rc;
}

int tensorboard_take_text(struct import *import, struct str tag, struct str text, struct error *err)
{
    size_t n_known;

    text = str_trim(text);
    if (text.n == 0 || memchr(text.p, '\0', text.n))
        return OK;
    if (text.p[0] == '{')
        return take_json(import, kind_of(tag), text, err);
    if (text.p[0] != '|')
        return OK;
    int rc = take_table(import, text, true, &n_known, err);
    return rc == OK && n_known >= MIN_KNOWN ? take_table(import, text, false, &n_known, err) : rc;
}

/* ---- hparams ---- */

/* A google.protobuf.Value as text; false for lists, structs and null. */
static bool value_of(struct str bytes, struct buf *out, enum value_type *type)
{
    struct protobuf in = protobuf_of(bytes);
    struct protobuf_field field;
    bool has = false;

    while (protobuf_next(&in, &field, NULL) == 1) {
        double number;

        buf_clear(out);
        if (field.number == 2 && field.wire == WIRE_64) {
            memcpy(&number, &field.value, sizeof number);
            *type = VALUE_FLOAT;
            json_write_number(out, number);
        } else if (field.number == 3 && field.wire == WIRE_BYTES) {
            *type = VALUE_TEXT;
            buf_str(out, field.bytes);
        } else if (field.number == 4 && field.wire == WIRE_VARINT) {
            *type = VALUE_BOOL;
            buf_puts(out, field.value ? "true" : "false");
        } else {
            continue;
        }
        has = true;
    }
    return has && !out->failed && strlen(out->p) == out->n;
}

static int take_hparam(struct import *import, struct str entry, struct error *err)
{
    struct protobuf in = protobuf_of(entry);
    struct protobuf_field field;
    struct str key = {0}, value = {0};
    enum value_type type = VALUE_TEXT;
    char name[NAME_BYTES];
    struct buf text;
    int rc = OK;

    while (protobuf_next(&in, &field, NULL) == 1) {
        if (field.number == 1 && field.wire == WIRE_BYTES)
            key = field.bytes;
        else if (field.number == 2 && field.wire == WIRE_BYTES)
            value = field.bytes;
    }
    if (key.n == 0 || key.n >= sizeof name || memchr(key.p, '\0', key.n))
        return OK;
    memcpy(name, key.p, key.n);
    name[key.n] = '\0';
    buf_init(&text, (size_t)1 << 16);
    if (value_of(value, &text, &type))
        rc = import_setting(import, SIDE_TRAIN, name, text.p, type, NONE, err);
    buf_free(&text);
    return rc;
}

int tensorboard_take_hparams(struct import *import, struct str content, struct error *err)
{
    struct protobuf in = protobuf_of(content), start;
    struct protobuf_field field;
    int rc = OK;

    while (rc == OK && protobuf_next(&in, &field, NULL) == 1) {
        if (field.number != 3 || field.wire != WIRE_BYTES)
            continue;
        start = protobuf_of(field.bytes);
        while (rc == OK && protobuf_next(&start, &field, NULL) == 1)
            if (field.number == 1 && field.wire == WIRE_BYTES)
                rc = take_hparam(import, field.bytes, err);
    }
    return rc;
}
