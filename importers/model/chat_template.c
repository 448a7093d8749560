/* Chat templates in files of their own: *.jinja, and chat_template.json of processors. */
#include <stdlib.h>

#include "core/checks/check.h"
#include "core/read/source.h"
#include "importers/importer.h"
#include "importers/model/template_facts.h"
#include "importers/model/weight_file.h"
#include "importers/peek.h"

#define TEMPLATE_MAX_BYTES ((size_t)4 << 20)

static int probe(const struct peek *peek)
{
    if (peek_name_ends(peek, ".jinja") || peek_name_ends(peek, ".jinja2"))
        return 90;
    return peek_name_is(peek, "chat_template.json") ? 95 : 0;
}

static int run_text(struct import *import, struct error *err)
{
    char *text = NULL;
    size_t n = 0;
    struct error why = {0};
    int rc = source_slurp(import->path, TEMPLATE_MAX_BYTES, &text, &n, &why);

    rc = rc == OK ? template_import(import, str_from(text, n), 1, err)
                  : import_note_error(import, &why, err);
    free(text);
    return rc;
}

static int run_json(struct import *import, struct error *err)
{
    const struct json *tree, *text;
    int rc = import_json(import, &tree, err);

    if (rc != OK || !tree)
        return rc;
    text = json_get(tree, "chat_template");
    if (!json_is(text, JSON_STRING))
        return sink_note(import->sink, NOTE_WARN, NONE, NONE, err, "no text under chat_template");
    return template_import(import, text->text, text->line, err);
}

static int run(struct import *import, struct error *err)
{
    bool is_odd;
    int64_t id;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows = 1;
    import->n_rows_are = "templates";
    if (rc == OK)
        rc = weight_artefact(import, "template", true, &id, err);
    if (rc != OK || is_odd)
        return rc;
    return str_ends(str_of(import->path), ".json") ? run_json(import, err) : run_text(import, err);
}

const struct importer importer_chat_template = {
    .id = "chat_template",
    .title = "a chat template",
    .hint = "chat_template.jinja",
    .supplies = NEEDS_TEMPLATE,
    .version = 1,
    .role = "template",
    .probe = probe,
    .run = run,
};
