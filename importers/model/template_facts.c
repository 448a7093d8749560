/* The two facts about a chat template that need no rendering. */
#include "importers/model/template_facts.h"

#include <string.h>

static struct str skip_any(struct str text, const char *bytes)
{
    while (text.n && text.p[0] && strchr(bytes, text.p[0]))
        text = str_skip(text, 1);
    return text;
}

/* {% generation %} with any white space and trimming marks. */
static bool has_generation(struct str text)
{
    ptrdiff_t at;

    while ((at = str_find(text, "{%")) >= 0) {
        text = str_skip(text, (size_t)at + 2);
        struct str rest = skip_any(skip_any(text, "-+"), " \t\r\n");

        if (str_starts(rest, "generation")) {
            rest = skip_any(skip_any(str_skip(rest, 10), " \t\r\n"), "-+");
            if (str_starts(rest, "%}"))
                return true;
        }
    }
    return false;
}

int template_import(struct import *import, struct str text, int64_t line, struct error *err)
{
    bool is_there = str_trim(text).n > 0;
    int rc = import_setting(import, SIDE_TOKENIZER, "has_chat_template",
                            is_there ? "true" : "false", VALUE_BOOL, line, err);

    if (rc != OK || !is_there)
        return rc;
    return import_setting(import, SIDE_TOKENIZER, "chat_template_has_generation",
                          has_generation(text) ? "true" : "false", VALUE_BOOL, line, err);
}
