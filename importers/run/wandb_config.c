/* What W&B keeps beside the history: config, run, environment and summary, as records of the log
 * and as files of files/ (FORMATS.md B5). Names of people and their addresses are not kept. */
#include <stdio.h>
#include <string.h>

#include "core/read/protobuf.h"
#include "importers/run/wandb.h"

#define NAME_BYTES 512

/* ---- Items ---- */

static struct str join(struct arena *arena, struct str name, struct str part)
{
    const char *text = arena_printf(arena, "%.*s.%.*s", (int)name.n, name.p, (int)part.n, part.p);

    return str_of(text);
}

bool wandb_item_of(struct str bytes, struct arena *arena, struct wandb_item *out)
{
    enum { KEY = 1, NESTED = 2, JSON = 16 };
    struct protobuf in = protobuf_of(bytes);
    struct protobuf_field field;
    struct str nested = {0};
    int rc;

    *out = (struct wandb_item){0};
    while ((rc = protobuf_next(&in, &field, NULL)) == 1) {
        if (field.wire != WIRE_BYTES)
            continue;
        if (field.number == KEY)
            out->name = field.bytes;
        else if (field.number == NESTED)
            nested = nested.n ? join(arena, nested, field.bytes) : field.bytes;
        else if (field.number == JSON)
            out->json = field.bytes;
    }
    if (nested.n)
        out->name = nested;
    return rc == 0 && out->name.n > 0;
}

static bool is_hidden(struct str name)
{
    return str_is(name, "_wandb") || str_starts(name, "_wandb.");
}

static const char *text_of(struct str bytes, char out[NAME_BYTES])
{
    size_t n = bytes.n < NAME_BYTES - 1 ? bytes.n : 0;

    if (n && memchr(bytes.p, '\0', n))
        n = 0;
    if (n)
        memcpy(out, bytes.p, n);
    out[n] = '\0';
    return out;
}

/* ---- Config ---- */

static int take_value(struct import *import, const char *name, const struct json *value,
                      struct error *err)
{
    if (json_is(value, JSON_OBJECT) && value->child)
        return import_settings_tree(import, SIDE_TRAIN, name, value, err);
    return import_json_setting(import, SIDE_TRAIN, name, value, err);
}

static int take_update(struct import *import, struct str bytes, struct error *err)
{
    struct arena *arena = import->arena;
    const struct json *value;
    struct wandb_item item;
    struct error why = {0};
    char name[NAME_BYTES];

    arena_reset(arena);
    if (!wandb_item_of(bytes, arena, &item) || is_hidden(item.name) || !*text_of(item.name, name))
        return OK;
    if (json_parse(item.json, false, arena, &value, NULL, &why) != OK)
        return why.status == E_NOMEM ? error_set(err, E_NOMEM, "%s", why.message)
                                     : sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                                                 "config %s: %s", name, why.message);
    return take_value(import, name, value, err);
}

int wandb_take_config(struct import *import, struct str record, struct error *err)
{
    struct protobuf in = protobuf_of(record);
    struct protobuf_field field;
    int rc = OK;

    while (rc == OK && protobuf_next(&in, &field, NULL) == 1)
        if (field.number == 1 && field.wire == WIRE_BYTES)
            rc = take_update(import, field.bytes, err);
    return rc;
}

/* ---- Run ---- */

static int own(struct import *import, const char *name, struct str value, struct error *err)
{
    char text[NAME_BYTES];
    struct setting setting = {.side = SIDE_TRAIN,
                              .raw_name = name,
                              .name = name,
                              .value = text_of(value, text),
                              .type = VALUE_TEXT,
                              .line = NONE};

    return *text && !import_is_secret(name) ? sink_setting(import->sink, &setting, err) : OK;
}

static int take_git(struct import *import, struct str bytes, struct error *err)
{
    struct protobuf in = protobuf_of(bytes);
    struct protobuf_field field;
    int rc = OK;

    while (rc == OK && protobuf_next(&in, &field, NULL) == 1)
        if (field.number == 2 && field.wire == WIRE_BYTES)
            rc = own(import, "wandb.git_commit", field.bytes, err);
    return rc;
}

int wandb_take_run(struct import *import, struct str record, struct error *err)
{
    enum { ID = 1, PROJECT = 3, CONFIG = 4, GROUP = 6, DISPLAY = 8, SWEEP = 12, GIT = 21 };
    struct protobuf in = protobuf_of(record);
    struct protobuf_field field;
    int rc = OK;

    while (rc == OK && protobuf_next(&in, &field, NULL) == 1) {
        if (field.wire != WIRE_BYTES)
            continue;
        if (field.number == ID)
            rc = own(import, "wandb.run_id", field.bytes, err);
        else if (field.number == PROJECT)
            rc = own(import, "wandb.project", field.bytes, err);
        else if (field.number == GROUP)
            rc = own(import, "wandb.group", field.bytes, err);
        else if (field.number == DISPLAY)
            rc = own(import, "wandb.display_name", field.bytes, err);
        else if (field.number == SWEEP)
            rc = own(import, "wandb.sweep_id", field.bytes, err);
        else if (field.number == CONFIG)
            rc = wandb_take_config(import, field.bytes, err);
        else if (field.number == GIT)
            rc = take_git(import, field.bytes, err);
    }
    return rc;
}

/* ---- Environment ---- */

/* "--learning_rate" "1e-4", "--learning_rate=1e-4", "--bf16" */
struct arguments {
    struct import *import;
    char name[NAME_BYTES]; /* waits for its value; "" */
};

static int put_argument(struct arguments *arguments, const char *value, struct error *err)
{
    int rc = import_setting(arguments->import, SIDE_TRAIN, arguments->name, value,
                            strcmp(value, "true") == 0 ? VALUE_BOOL : VALUE_TEXT, NONE, err);

    arguments->name[0] = '\0';
    return rc;
}

static int take_argument(struct arguments *arguments, struct str text, struct error *err)
{
    char value[NAME_BYTES];
    bool is_name = str_starts(text, "--") && text.n > 2;
    int rc = OK;

    if (arguments->name[0])
        rc = put_argument(arguments, is_name ? "true" : text_of(text, value), err);
    else if (!is_name)
        return OK;
    if (rc != OK || !is_name)
        return rc;
    struct str rest = str_skip(text, 2), name;
    if (str_split(&rest, '=', &name))
        text_of(name, arguments->name);
    if (arguments->name[0] && name.n + 2 < text.n)
        rc = put_argument(arguments, text_of(rest, value), err);
    return rc;
}

static int end_arguments(struct arguments *arguments, struct error *err)
{
    return arguments->name[0] ? put_argument(arguments, "true", err) : OK;
}

int wandb_take_environment(struct import *import, struct str record, struct error *err)
{
    enum { PYTHON = 2, ARGUMENT = 5, PROGRAM = 6, GIT = 9, GPU = 18, CUDA = 25 };
    struct arguments arguments = {.import = import};
    struct protobuf in = protobuf_of(record);
    struct protobuf_field field;
    int rc = OK;

    while (rc == OK && protobuf_next(&in, &field, NULL) == 1) {
        if (field.wire != WIRE_BYTES)
            continue;
        if (field.number == PYTHON)
            rc = own(import, "wandb.python", field.bytes, err);
        else if (field.number == ARGUMENT)
            rc = take_argument(&arguments, field.bytes, err);
        else if (field.number == PROGRAM)
            rc = own(import, "wandb.program", field.bytes, err);
        else if (field.number == GIT)
            rc = take_git(import, field.bytes, err);
        else if (field.number == GPU)
            rc = own(import, "wandb.gpu", field.bytes, err);
        else if (field.number == CUDA)
            rc = own(import, "wandb.cuda", field.bytes, err);
    }
    return rc == OK ? end_arguments(&arguments, err) : rc;
}

/* ---- Files ---- */

static int not_an_object(struct import *import, struct error *err)
{
    import->state = SOURCE_DAMAGED;
    return sink_note(import->sink, NOTE_ERROR, 1, 0, err, "one object was expected");
}

int wandb_read_config_file(struct import *import, struct error *err)
{
    const struct json *top;
    char name[NAME_BYTES];
    int rc = import_yaml(import, &top, err);

    if (rc != OK || !top)
        return rc;
    if (!json_is(top, JSON_OBJECT))
        return not_an_object(import, err);
    for (const struct json *member = top->child; member && rc == OK; member = member->next) {
        const struct json *value = json_is(member, JSON_OBJECT) ? json_get(member, "value") : NULL;

        if (is_hidden(member->key) || !value || !*text_of(member->key, name))
            continue;
        rc = take_value(import, name, value, err);
        import->n_rows++;
    }
    return rc;
}

int wandb_read_metadata_file(struct import *import, struct error *err)
{
    static const struct {
        const char *key, *name;
    } KEYS[] = {{"python", "wandb.python"},    {"program", "wandb.program"},
                {"gpu", "wandb.gpu"},          {"gpu_count", "wandb.gpu_count"},
                {"cudaVersion", "wandb.cuda"}, {"startedAt", "wandb.started_at"},
                {"git", "wandb.git_commit"}};
    struct arguments arguments = {.import = import};
    const struct json *top;
    int rc = import_json(import, &top, err);

    if (rc != OK || !top)
        return rc;
    if (!json_is(top, JSON_OBJECT))
        return not_an_object(import, err);
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS && rc == OK; i++) {
        const struct json *value = json_get(top, KEYS[i].key);

        if (value && value->type == JSON_OBJECT)
            value = json_get(value, "commit");
        if (!value || (value->type != JSON_STRING && value->type != JSON_NUMBER))
            continue;
        rc = import_own_setting(import, SIDE_TRAIN, KEYS[i].name, value, err);
        import->n_rows++;
    }
    const struct json *list = json_get(top, "args");
    for (const struct json *one = json_is(list, JSON_ARRAY) ? list->child : NULL; one && rc == OK;
         one = one->next)
        if (one->type == JSON_STRING)
            rc = take_argument(&arguments, one->text, err);
    return rc == OK ? end_arguments(&arguments, err) : rc;
}

int wandb_read_summary_file(struct import *import, struct error *err)
{
    const struct json *top;
    int rc = import_json(import, &top, err);

    if (rc != OK || !top)
        return rc;
    if (!json_is(top, JSON_OBJECT))
        return not_an_object(import, err);
    for (const struct json *value = top->child; value && rc == OK; value = value->next) {
        char name[NAME_BYTES + 32], key[NAME_BYTES];
        bool is_plain = value->type != JSON_OBJECT && value->type != JSON_ARRAY;

        if (is_hidden(value->key) || !is_plain || !*text_of(value->key, key))
            continue;
        snprintf(name, sizeof name, "results.wandb-summary.%s", key);
        rc = import_own_setting(import, SIDE_EVAL, name, value, err);
        import->n_rows++;
    }
    return rc;
}
