/* all_results.json, train_results.json, eval_results.json, predict_results.json: flat objects of
 * final numbers, kept as settings "results.<file>.<key>" of the evaluation side. No series: they
 * have no steps. */
#include <stdio.h>
#include <string.h>

#include "core/checks/check.h"
#include "importers/importer.h"
#include "importers/peek.h"

static const char *const names[] = {"all_results.json", "train_results.json", "eval_results.json",
                                    "predict_results.json", "test_results.json"};

static int probe(const struct peek *peek)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (peek_name_is(peek, names[i])) {
            return peek_first(peek) == '['                        ? 0
                   : peek_is_lines(peek) && !peek_is_object(peek) ? 0
                                                                  : 95;
        }
    }
    return 0;
}

/* "eval_results" of ".../eval_results.json" */
static struct str stem_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct str name = str_of(slash != NULL ? slash + 1 : path);
    return str_ends(name, ".json") ? str_first(name, name.n - 5) : name;
}

static int run(struct import *import, struct error *err)
{
    const struct json *top;
    import->n_rows_are = "values";
    import->state = SOURCE_WHOLE;
    int rc = import_json(import, &top, err);
    if (rc != OK || top == NULL) {
        return rc;
    }
    if (top->type != JSON_OBJECT) {
        import->state = SOURCE_DAMAGED;
        return sink_note(import->sink, NOTE_ERROR, 1, 0, err,
                         "results are expected to be one object");
    }
    struct str stem = stem_of(import->path);
    import->n_rows = (int64_t)top->n;
    for (const struct json *value = top->child; value != NULL && rc == OK; value = value->next) {
        char name[300];
        snprintf(name, sizeof name, "results.%.*s.%.*s", (int)stem.n, stem.p, (int)value->key.n,
                 value->key.p);
        rc = import_own_setting(import, SIDE_EVAL, name, value, err);
    }
    return rc;
}

const struct importer importer_hf_results = {
    .id = "hf_results",
    .title = "final results of transformers",
    .hint = "all_results.json, train_results.json, eval_results.json",
    .supplies = 0,
    .version = 1,
    .role = "results",
    .probe = probe,
    .run = run,
};
