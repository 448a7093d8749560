/* Serving records among the files of a project: a record that names the folder of a run says how that run
 * is served, and no other. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "importers/plan_parts.h"

#define RECORD_BYTES ((size_t)1 << 20)

bool is_serving_record(const struct found *found)
{
    static const char *const IDS[] = {"serve_command", "serve_config", "server_log",
                                      "ollama_modelfile"};

    for (size_t i = 0; found->importer && i < sizeof IDS / sizeof *IDS; i++)
        if (strcmp(found->importer->id, IDS[i]) == 0)
            return true;
    return false;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* The name as a whole component of some path in the text. */
static bool has_component(struct str text, const char *name)
{
    size_t n = strlen(name);
    ptrdiff_t at;

    for (size_t from = 0; (at = str_find(str_skip(text, from), name)) >= 0;
         from += (size_t)at + 1) {
        size_t begin = from + (size_t)at, end = begin + n;
        bool is_path = begin > 0 && text.p[begin - 1] == '/';
        bool goes_on = end < text.n && text.p[end] == '/';

        if ((is_path || goes_on) && (begin == 0 || !is_word(text.p[begin - 1])) &&
            (end == text.n || !is_word(text.p[end])))
            return true;
    }
    return false;
}

bool serving_names(const struct found *found, const char *name)
{
    char *text = NULL;
    size_t n = 0;
    bool is_named = false;

    if (!name[0] || !is_serving_record(found) ||
        source_slurp(found->file->path, RECORD_BYTES, &text, &n, NULL) != OK)
        return false;
    is_named = has_component(str_from(text, n), name);
    free(text);
    return is_named;
}
