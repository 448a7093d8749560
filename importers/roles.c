/* What a file is for: the split of a data set (FORMATS.md B0 rule 7) and the role of an artefact
 * (rule 8), by where it lies and by what the user says. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "importers/plan_parts.h"

/* ---- Splits ---- */

static const char *split_of_component(const char *name, size_t n)
{
    static const struct {
        const char *word, *split;
    } WORDS[] = {
        {"test", "test"},       {"eval", "eval"},      {"evaluation", "eval"}, {"valid", "eval"},
        {"validation", "eval"}, {"val", "eval"},       {"dev", "eval"},        {"heldout", "eval"},
        {"train", "train"},     {"training", "train"},
    };
    const char *split = NULL;

    for (size_t i = 0; i < n && !split;) {
        size_t from = i;

        while (i < n && isalpha((unsigned char)name[i]))
            i++;
        for (size_t k = 0; k < sizeof WORDS / sizeof *WORDS && i > from; k++)
            if (str_is_ignoring_case(str_from(name + from, i - from), WORDS[k].word))
                split = WORDS[k].split;
        i += i == from;
    }
    return split;
}

/* The file's own name decides, else the nearest folder below the argument, else it is training. */
static const char *split_of(const struct walk_file *file)
{
    size_t end = strlen(file->shown);

    while (end > 0) {
        size_t from = end;

        while (from > 0 && file->shown[from - 1] != '/')
            from--;
        const char *split = split_of_component(file->shown + from, end - from);
        if (split)
            return split;
        end = from > 0 ? from - 1 : 0;
    }
    return "train";
}

/* ---- Roles ---- */

static bool has_component(const char *shown, const char *const *words)
{
    const char *at = shown;

    for (const char *slash; (slash = strchr(at, '/')); at = slash + 1)
        for (size_t i = 0; words[i]; i++) {
            size_t n = strlen(words[i]);

            if ((size_t)(slash - at) >= n && strncasecmp(at, words[i], n) == 0 &&
                !isalpha((unsigned char)at[n]))
                return true;
        }
    return false;
}

static bool is_artefact(const struct importer *importer)
{
    static const char *const IDS[] = {"peft_adapter", "hf_model", "tokenizer", "chat_template"};

    for (size_t i = 0; i < sizeof IDS / sizeof *IDS; i++)
        if (strcmp(importer->id, IDS[i]) == 0)
            return true;
    return false;
}

static const char *artefact_role(const struct walk_file *file)
{
    static const char *const BASE[] = {"base", "base_model", "pretrained", NULL};
    static const char *const SERVED[] = {"serve",  "served",     "serving",  "release",
                                         "deploy", "deployment", "deployed", NULL};
    static const char *const MERGED[] = {"merged", "merge", NULL};

    if (has_component(file->shown, SERVED))
        return "served";
    if (has_component(file->shown, MERGED))
        return "merged";
    if (has_component(file->shown, BASE))
        return "base";
    return "trained";
}

const char *file_role(const struct scene *scene, const struct found *found)
{
    const struct answer *answer = plan_answer(scene->options, "role", found->file);
    const struct answer *split = plan_answer(scene->options, "split", found->file);

    if (found->part)
        return arena_printf(scene->arena, "run %s", found->part);
    if (answer)
        return answer->value;
    if (strcmp(found->importer->id, "dataset_rows") == 0)
        return split ? split->value : split_of(found->file);
    if (split && strcmp(found->importer->id, "dataset_facts") == 0)
        return split->value; /* its splits have names of their own */
    /* A GGUF file is made to be served, wherever it lies, unless it is the base. */
    if (strcmp(found->importer->id, "gguf") == 0)
        return strcmp(artefact_role(found->file), "base") == 0 ? "base" : "served";
    return is_artefact(found->importer) ? artefact_role(found->file) : found->importer->role;
}
