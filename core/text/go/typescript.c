/* A tool's property as TypeScript would name its type: what Ollama's toTypeScriptType gives. */
#include "core/text/go/go_parts.h"

static const char *name_of(struct str json_type)
{
    static const char *const NAMES[][2] = {
        {"string", "string"},   {"number", "number"}, {"integer", "number"},
        {"boolean", "boolean"}, {"array", "any[]"},   {"object", "Record<string, any>"},
        {"null", "null"},
    };

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(json_type, NAMES[i][0]))
            return NAMES[i][1];
    return "any";
}

/* Data of this class always has the two lists. */
void go_types_text(const struct go_value *property, struct buf *out)
{
    const struct go_value *any_of = go_member(property, str_of("AnyOf"));
    const struct go_value *types = go_member(property, str_of("Type"));

    for (size_t i = 0; any_of && i < any_of->n; i++) {
        buf_puts(out, i > 0 ? " | " : "");
        go_types_text(&any_of->items[i], out);
    }
    if (any_of && any_of->n > 0)
        return;
    if (!types || types->n == 0)
        buf_puts(out, "any");
    for (size_t i = 0; types && i < types->n; i++) {
        buf_puts(out, i > 0 ? " | " : "");
        buf_puts(out, name_of(types->items[i].text));
    }
}
