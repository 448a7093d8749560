/* Members of the small objects in a tokenizer.json. See pipeline.h. What the library demands is
 * demanded here, so that a file that it refuses is not read as something else. */
#include "core/base/unicode.h"
#include "core/text/tokenizer/pipeline.h"

static int missing(const char *what, const char *key, const char *expected, struct error *err)
{
    return error_set(err, E_PARSE, "%s: %s is missing or not %s", what, key, expected);
}

int part_text(const struct json *object, const char *what, const char *key, struct str *out,
              struct error *err)
{
    const struct json *value = json_get(object, key);

    if (!json_is(value, JSON_STRING))
        return missing(what, key, "a text", err);
    if (!unicode_is_valid(value->text))
        return error_set(err, E_PARSE, "%s: %s is no valid text", what, key);
    *out = value->text;
    return OK;
}

int part_char(const struct json *object, const char *what, const char *key, int32_t *out,
              struct error *err)
{
    struct str text;
    int rc = part_text(object, what, key, &text, err);

    if (rc == OK && (text.n == 0 || unicode_next(text, out) != text.n))
        return missing(what, key, "one character", err);
    return rc;
}

int part_flag(const struct json *object, const char *what, const char *key, bool *out,
              struct error *err)
{
    const struct json *value = json_get(object, key);

    if (!json_is(value, JSON_TRUE) && !json_is(value, JSON_FALSE))
        return missing(what, key, "true or false", err);
    *out = value->type == JSON_TRUE;
    return OK;
}

int part_flag_or(const struct json *object, const char *what, const char *key, bool otherwise,
                 bool *out, struct error *err)
{
    const struct json *value = json_get(object, key);

    *out = otherwise;
    return !value || value->type == JSON_NULL ? OK : part_flag(object, what, key, out, err);
}

int part_count(const struct json *object, const char *what, const char *key, uint64_t *out,
               struct error *err)
{
    const struct json *value = json_get(object, key);

    if (!json_is(value, JSON_NUMBER) || !value->is_integer || !(value->number >= 0) ||
        value->number > 4294967295.0)
        return missing(what, key, "a whole number", err);
    *out = (uint64_t)value->number;
    return OK;
}

int part_pattern(const struct json *object, const char *what, struct pattern **out,
                 struct error *err)
{
    const struct json *pattern = json_get(object, "pattern");
    const struct json *text = json_get(pattern, "String"), *regex = json_get(pattern, "Regex");
    const struct json *value = text ? text : regex;

    if (!json_is(pattern, JSON_OBJECT) || pattern->n != 1 || !json_is(value, JSON_STRING))
        return missing(what, "pattern", "a String or a Regex", err);
    return pattern_compile(out, value->text, text != NULL, err);
}

int part_behaviour(const struct json *object, const char *what, enum split_behaviour *out,
                   struct error *err)
{
    static const char *const NAMES[] = {"Removed", "Isolated", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    struct str name;
    int rc = part_text(object, what, "behavior", &name, err);

    for (size_t i = 0; rc == OK && i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(name, NAMES[i])) {
            *out = (enum split_behaviour)i;
            return OK;
        }
    return rc == OK ? part_unknown("behavior", name, err) : rc;
}

int part_type(const struct json *object, const char *what, struct str *out, struct error *err)
{
    if (!json_is(object, JSON_OBJECT))
        return error_set(err, E_PARSE, "%s: expected an object", what);
    return part_text(object, what, "type", out, err);
}

int part_unknown(const char *what, struct str type, struct error *err)
{
    struct str shown = unicode_cut(type, 80);

    return error_set(err, E_UNSUPPORTED, "%s %.*s", what, (int)shown.n, shown.p);
}

int part_parts(const struct json *object, const char *what, const char *members,
               int (*each)(void *ctx, const struct json *part, struct error *err), void *ctx,
               struct error *err)
{
    struct str type;
    int rc;

    if (!object || object->type == JSON_NULL)
        return OK;
    rc = part_type(object, what, &type, err);
    if (rc != OK)
        return rc;
    if (!str_is(type, "Sequence"))
        return each(ctx, object, err);

    const struct json *list = json_get(object, members);

    if (!json_is(list, JSON_ARRAY))
        return missing(what, members, "a list", err);
    /* As deep as the reader of the tree allows. */
    for (const struct json *part = list->child; rc == OK && part; part = part->next)
        rc = part->type == JSON_NULL ? error_set(err, E_PARSE, "%s: null in a sequence", what)
                                     : part_parts(part, what, members, each, ctx, err);
    return rc;
}
