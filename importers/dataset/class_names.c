/* See class_names.h. */
#include "importers/dataset/class_names.h"

#include <stdlib.h>
#include <string.h>

#include "core/read/source.h"

enum { MAX_TRIES = 8 }; /* each may be as long as what was read */

/* The JSON object that `text` begins with; empty: its end is not there. */
static struct str object_of(struct str text)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
            continue;
        }
        in_string = c == '"';
        depth += c == '{';
        if (c == '}' && --depth == 0)
            return str_from(text.p, i + 1);
    }
    return str_of(NULL);
}

static const struct json *find_features(struct str bytes, struct arena *arena)
{
    static const char MARK[] = "{\"info\":";
    ptrdiff_t at;

    for (int tries = 0; tries < MAX_TRIES && (at = str_find(bytes, MARK)) >= 0; tries++) {
        const struct json *tree = NULL;
        struct str text = object_of(str_skip(bytes, (size_t)at));

        if (text.n && json_parse(text, false, arena, &tree, NULL, NULL) == OK) {
            const struct json *features = json_get(json_get(tree, "info"), "features");
            if (json_is(features, JSON_OBJECT))
                return features;
        }
        bytes = str_skip(bytes, (size_t)at + sizeof MARK - 1);
    }
    return NULL;
}

static const struct json *look_at(struct source_file *file, int64_t offset, char *bytes,
                                  struct arena *arena)
{
    size_t n = 0;

    return source_at(file, offset, bytes, CLASS_NAMES_BYTES, &n, NULL) == OK
               ? find_features(str_from(bytes, n), arena)
               : NULL;
}

const struct json *class_names_features(const char *path, struct arena *arena)
{
    const struct json *features = NULL;
    struct source_file *file = NULL;
    char *bytes = malloc(CLASS_NAMES_BYTES);

    if (bytes && source_open(&file, path, NULL) == OK) {
        int64_t size = source_size(file), n = (int64_t)CLASS_NAMES_BYTES;

        features = look_at(file, size > n ? size - n : 0, bytes, arena);
        if (!features && size > n)
            features = look_at(file, 0, bytes, arena);
    }
    source_close(file);
    free(bytes);
    return features;
}

struct str class_name_of(const struct json *features, const char *column, int64_t value)
{
    const struct json *names = json_get(json_get(features, column), "names");
    const struct json *name = json_is(names, JSON_ARRAY) ? names->child : NULL;

    for (; name && value > 0; value--)
        name = name->next;
    return value == 0 && json_is(name, JSON_STRING) ? name->text : str_of(NULL);
}
