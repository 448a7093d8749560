/* Settings that a trainer's own files state under names that no framework shares. */
#include "importers/run/json_setting.h"

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
        break;
    }
    return VALUE_OBJECT;
}

int json_setting(struct import *import, enum side side, const char *name, const struct json *value,
                 struct error *err)
{
    struct buf text;
    if (value->type == JSON_NULL || import_is_secret(name)) {
        return OK;
    }
    buf_init(&text, JSON_MAX_BYTES);
    if (value->type == JSON_STRING || value->type == JSON_NUMBER) {
        buf_str(&text, value->text);
    } else {
        json_write(&text, value);
    }
    int rc = text.failed ? error_set(err, E_NOMEM, "no memory for the value of %s", name) : OK;
    if (rc == OK) {
        struct setting setting = {.side = side,
                                  .raw_name = name,
                                  .name = name,
                                  .value = text.p != NULL ? text.p : "",
                                  .type = type_of(value),
                                  .line = value->line};
        rc = sink_setting(import->sink, &setting, err);
    }
    buf_free(&text);
    return rc;
}
