/* The model card (README.md): its front matter as "card.<key>", as "card.note" the words of its free
 * text that say what the run was for, and the packages that a trainer lists as "package.<name>". A
 * note is never the sole evidence of anything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/read/source.h"
#include "core/read/yaml.h"
#include "importers/importer.h"
#include "importers/peek.h"

#define CARD_MAX_BYTES ((size_t)8 << 20)

static const char *const KEYS[] = {
    "base_model", "base_model_relation", "tags",      "library_name", "datasets", "license",
    "language",   "pipeline_tag",        "model_name"};

/* Both words in one line. */
struct phrase {
    const char *first, *second, *meaning;
};

static const struct phrase PHRASES[] = {
    {"ten-row", "", "ten-row"},
    {"ten row", "", "ten-row"},
    {"10-row", "", "ten-row"},
    {"overfit", "test", "overfit test"},
    {"memoris", "test", "overfit test"},
    {"memoriz", "test", "overfit test"},
    {"shorter", "answer", "shorter answers"},
    {"shorter", "response", "shorter answers"},
    {"longer", "answer", "longer answers"},
    {"longer", "response", "longer answers"},
};

static int probe(const struct peek *peek)
{
    return peek_name_is(peek, "README.md") || peek_name_is(peek, "README") ||
                   peek_name_is(peek, "README.txt")
               ? 85
               : 0;
}

static int import_front_matter(struct import *import, struct str text, struct error *err)
{
    const struct json *card = NULL;
    struct error why = {0};
    char name[64];
    int rc = yaml_front_matter(text, import->arena, &card, &why);

    if (rc == E_NOTFOUND)
        return OK;
    if (rc == E_NOMEM && arena_failed(import->arena)) {
        arena_reset(import->arena);
        why.status = error_set(&why, E_LIMIT, "front matter of too many values");
    }
    if (rc != OK)
        return import_note_error(import, &why, err);
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS && rc == OK; i++) {
        const struct json *value = json_get(card, KEYS[i]);

        snprintf(name, sizeof name, "card.%s", KEYS[i]);
        import->n_rows += value != NULL;
        rc = import_json_setting(import, SIDE_MODEL, name, value, err);
    }
    return rc;
}

static int import_phrases(struct import *import, struct str text, struct error *err)
{
    struct buf found;
    struct str line;
    int64_t number = 0, first = NONE;
    int rc = OK;

    buf_init(&found, 4096);
    while (str_split(&text, '\n', &line)) {
        number++;
        for (size_t i = 0; i < sizeof PHRASES / sizeof *PHRASES; i++) {
            if (!str_has_ignoring_case(line, PHRASES[i].first) ||
                (*PHRASES[i].second && !str_has_ignoring_case(line, PHRASES[i].second)) ||
                str_find(buf_view(&found), PHRASES[i].meaning) >= 0)
                continue;
            if (found.n)
                buf_puts(&found, ", ");
            buf_puts(&found, PHRASES[i].meaning);
            first = first == NONE ? number : first;
        }
    }
    if (found.n)
        rc = import_setting(import, SIDE_MODEL, "card.note", found.p, VALUE_TEXT, first, err);
    buf_free(&found);
    return rc;
}

/* "- Transformers 4.40.2" or "- TRL: 0.15.0" below the heading "Framework versions", which trainers
 * write: the packages of the training. */
static int import_versions(struct import *import, struct str text, struct error *err)
{
    static const struct {
        const char *shown, *package;
    } PACKAGES[] = {{"Transformers", "transformers"}, {"TRL", "trl"},
                    {"PEFT", "peft"},                 {"Pytorch", "torch"},
                    {"Tokenizers", "tokenizers"},     {"Datasets", "datasets"}};
    struct str line;
    bool is_inside = false;
    int64_t number = 0;
    int rc = OK;

    while (rc == OK && str_split(&text, '\n', &line)) {
        number++;
        line = str_trim(line);
        if (str_starts(line, "#")) {
            is_inside = str_has_ignoring_case(line, "framework versions");
            continue;
        }
        if (!is_inside || !str_starts(line, "- "))
            continue;
        line = str_skip(line, 2);
        for (size_t i = 0; i < sizeof PACKAGES / sizeof *PACKAGES; i++) {
            size_t n = strlen(PACKAGES[i].shown);
            struct str version = str_skip(line, n);
            if (!str_is_ignoring_case(str_first(line, n), PACKAGES[i].shown) || version.n < 2 ||
                (version.p[0] != ' ' && version.p[0] != ':'))
                continue;
            version = str_trim(str_skip(version, 1));
            if (version.n == 0 || version.n > 40 || version.p[0] < '0' || version.p[0] > '9')
                continue;
            char name[64], value[48];
            snprintf(name, sizeof name, "package.%s", PACKAGES[i].package);
            snprintf(value, sizeof value, "%.*s", (int)version.n, version.p);
            rc = import_setting(import, SIDE_MODEL, name, value, VALUE_TEXT, number, err);
        }
    }
    return rc;
}

static int run(struct import *import, struct error *err)
{
    char *text = NULL;
    size_t n = 0;
    struct error why = {0};
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "keys";
    if (rc != OK || is_odd)
        return rc;
    rc = source_slurp(import->path, CARD_MAX_BYTES, &text, &n, &why);
    if (rc != OK)
        return import_note_error(import, &why, err);
    rc = import_front_matter(import, str_from(text, n), err);
    if (rc == OK)
        rc = import_phrases(import, str_from(text, n), err);
    if (rc == OK)
        rc = import_versions(import, str_from(text, n), err);
    free(text);
    return rc;
}

const struct importer importer_model_card = {
    .id = "model_card",
    .title = "a model card",
    .hint = "README.md",
    .supplies = 0,
    .version = 1,
    .role = "card",
    .probe = probe,
    .run = run,
};
