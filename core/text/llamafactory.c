/* LLaMA-Factory's named templates, compiled in (llamafactory_templates.jsonl: one a line). What is made
 * of them is labels_llamafactory.c. */
#include <pthread.h>

#include "core/text/labels.h"

extern const unsigned char embedded_llamafactory_templates[];
extern const size_t embedded_llamafactory_templates_bytes;

#define TEMPLATES_BYTES ((size_t)8 << 20)
#define MAX_TEMPLATES   512

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct json *templates[MAX_TEMPLATES];
static size_t n_templates;

/* Parsed once and kept: the tables are part of the program. */
static void parse_all(void)
{
    const void *bytes = embedded_llamafactory_templates;
    struct str rest = str_from(bytes, embedded_llamafactory_templates_bytes), line;
    static struct arena *arena;

    arena = arena_open(TEMPLATES_BYTES);
    if (!arena)
        return;
    while (n_templates < MAX_TEMPLATES && str_split(&rest, '\n', &line)) {
        const struct json *parsed;

        if (str_trim(line).n == 0)
            continue;
        if (json_parse(line, false, arena, &parsed, NULL, NULL) != OK)
            BUG("a line of llamafactory_templates.jsonl is no JSON");
        templates[n_templates++] = parsed;
    }
}

const struct json *llamafactory_template(const char *name)
{
    if (!name || pthread_once(&once, parse_all) != 0)
        return NULL;
    for (size_t i = 0; i < n_templates; i++) {
        const struct json *own = json_get(templates[i], "name");

        if (own && str_is(own->text, name))
            return templates[i];
    }
    return NULL;
}
