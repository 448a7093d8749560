/* prompt_train.txt and prompt_infer.txt: one rendered prompt each, byte for byte. The text stays in its
 * file, where core/facts reads it again; kept are its size and hash under "rendered_prompt" on the
 * side that it is of. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/checks/check.h"
#include "core/read/source.h"
#include "importers/importer.h"
#include "importers/peek.h"

#define PROMPT_MAX_BYTES ((size_t)4 << 20)

/* A word of the name that is `word`, ASCII case ignored. */
static bool has_word(const char *name, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = name; *at; at++) {
        bool is_first = at == name || !isalpha((unsigned char)at[-1]);

        if (is_first && str_is_ignoring_case(str_first(str_of(at), n), word) &&
            !isalpha((unsigned char)at[n]))
            return true;
    }
    return false;
}

static bool has_any(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (has_word(name, *words))
            return true;
    return false;
}

static const char *const TRAINING[] = {"train", "training", "trained", NULL};
static const char *const SERVING[] = {"infer",  "inference", "serve",   "served", "serving",
                                      "server", "deploy",    "generate", NULL};

static int probe(const struct peek *peek)
{
    bool is_prompt = has_word(peek->name, "prompt") || has_word(peek->name, "prompts") ||
                     has_word(peek->name, "rendered");
    bool is_text = peek_name_ends(peek, ".txt") || peek_name_ends(peek, ".prompt");
    bool is_train = has_any(peek->name, TRAINING), is_serve = has_any(peek->name, SERVING);

    return is_prompt && is_text && is_train != is_serve ? 95 : 0;
}

static int put(struct import *import, enum side side, struct str text, struct error *err)
{
    char value[64];

    snprintf(value, sizeof value, "%016" PRIx64, hash_bytes(text.n ? text.p : "", text.n));
    int rc = import_setting(import, side, "rendered_prompt", value, VALUE_TEXT, 1, err);
    if (rc != OK)
        return rc;
    snprintf(value, sizeof value, "%zu", text.n);
    return import_setting(import, side, "rendered_prompt.bytes", value, VALUE_INT, 1, err);
}

static int run(struct import *import, struct error *err)
{
    const char *slash = strrchr(import->path, '/');
    const char *name = slash ? slash + 1 : import->path;
    enum side side = has_any(name, TRAINING) ? SIDE_TRAIN : SIDE_SERVE;
    char *text = NULL;
    size_t n = 0;
    struct error why = {0};
    bool is_odd;
    int rc = import_oddity(import, &is_odd, err);

    import->n_rows_are = "prompts";
    if (rc != OK || is_odd)
        return rc;
    rc = source_slurp(import->path, PROMPT_MAX_BYTES, &text, &n, &why);
    if (rc != OK)
        return import_note_error(import, &why, err);
    import->n_rows = 1;
    rc = put(import, side, str_from(text, n), err);
    free(text);
    return rc;
}

const struct importer importer_rendered_prompts = {
    .id = "rendered_prompts",
    .title = "a rendered prompt",
    .hint = "prompt_train.txt, prompt_infer.txt",
    .supplies = NEEDS_REQUEST,
    .version = 1,
    .role = "prompt",
    .probe = probe,
    .run = run,
};
