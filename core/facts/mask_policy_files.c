/* Which tokenizer and which chat template the rows were read with: those that the run saved first,
 * then the last checkpoint's, then the base model's. What is served or merged is not asked. */
#include <stdio.h>
#include <string.h>

#include "core/facts/facts_cache.h"
#include "core/facts/mask_policy_parts.h"
#include "core/read/source.h"

/* Smaller is better; -1: not a training side. */
static int64_t rank_of(const struct run_facts *facts, const struct source *source)
{
    int64_t step = facts_checkpoint_step(facts, source->path);
    const char *role = source->role ? source->role : "";

    if (strcmp(role, "served") == 0 || strcmp(role, "merged") == 0)
        return -1;
    if (strcmp(role, "base") == 0)
        return INT64_MAX;
    return step == NONE ? 0 : step >= INT64_MAX / 2 ? INT64_MAX / 2 : INT64_MAX / 2 - step;
}

static bool is_named(const struct source *source, const char *name)
{
    const char *slash = strrchr(source->path, '/');

    return strcmp(slash ? slash + 1 : source->path, name) == 0;
}

static const char *folder_of(const struct policy_maker *maker, const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? arena_strndup(maker->arena, path, (size_t)(slash - path)) : ".";
}

/* ---- Tokenizer ---- */

/* A tokenizer of another layout lies beside its tokenizer_config.json without being imported. */
static bool has_model_file(const char *folder)
{
    static const char *const NAMES[] = {"tokenizer.json", "tokenizer.model", "vocab.json",
                                        "vocab.txt", "spiece.model"};
    char path[4096];
    struct source_stat stat;
    struct error ignored;

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        int n = snprintf(path, sizeof path, "%s/%s", folder, NAMES[i]);

        if (n > 0 && (size_t)n < sizeof path && source_stat_path(path, &stat, &ignored) == OK)
            return true;
    }
    return false;
}

static bool is_tokenizer(const struct policy_maker *maker, const struct source *source)
{
    if (strcmp(source->importer, "tokenizer") != 0)
        return false;
    if (is_named(source, "tokenizer.json"))
        return source->state == SOURCE_WHOLE;
    return is_named(source, "tokenizer_config.json") &&
           has_model_file(folder_of(maker, source->path));
}

/* ---- Template ---- */

static bool states(const struct run_facts *facts, int64_t source_id, const char *name,
                   const char *value)
{
    size_t n;
    const struct setting *const *settings = facts_settings_of(facts, source_id, &n);

    for (size_t i = 0; i < n; i++)
        if (settings[i]->name && strcmp(settings[i]->name, name) == 0 && settings[i]->value &&
            strcmp(settings[i]->value, value) == 0)
            return true;
    return false;
}

static bool is_template(const struct policy_maker *maker, const struct source *source)
{
    bool is_file = strcmp(source->importer, "chat_template") == 0;
    bool is_config =
        strcmp(source->importer, "tokenizer") == 0 && is_named(source, "tokenizer_config.json");

    return (is_file || is_config) && states(maker->facts, source->id, "has_chat_template", "true");
}

/* chat_template.jinja, then chat_template.json, then the configuration. */
static int kind_of_template(const struct source *source)
{
    return is_named(source, "chat_template.jinja")      ? 0
           : strcmp(source->importer, "tokenizer") == 0 ? 2
                                                        : 1;
}

/* ---- Choosing ---- */

static const struct source *best(const struct policy_maker *maker,
                                 bool (*is)(const struct policy_maker *, const struct source *),
                                 int (*kind)(const struct source *))
{
    const struct run_facts *facts = maker->facts;
    const struct source *found = NULL;
    int64_t found_rank = 0;

    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *source = &facts->sources[i];
        int64_t rank = is(maker, source) ? rank_of(facts, source) : -1;

        if (rank < 0 || source->state == SOURCE_GONE)
            continue;
        if (found &&
            (rank > found_rank || (rank == found_rank && (!kind || kind(source) >= kind(found)))))
            continue;
        found = source;
        found_rank = rank;
    }
    return found;
}

bool policy_template_has_markers(const struct policy_maker *maker)
{
    const struct source *source = maker->out->template_source;

    return source && states(maker->facts, source->id, "chat_template_has_generation", "true");
}

void policy_find_files(struct policy_maker *maker)
{
    struct mask_policy *out = maker->out;

    out->tokenizer_source = best(maker, is_tokenizer, NULL);
    if (out->tokenizer_source)
        out->tokenizer_path = folder_of(maker, out->tokenizer_source->path);
    out->template_source = best(maker, is_template, kind_of_template);
    if (out->template_source)
        out->template_path = out->template_source->path;
}
