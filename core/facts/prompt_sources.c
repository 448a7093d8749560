/* Which of a run's files are the prompts and templates of which side (FORMATS.md B0 rule 8): by the role
 * that the plan or the user gave, and by what a serving record or a request names. */
#include <string.h>

#include "core/facts/prompt_pair_parts.h"

bool prompt_is_importer(const struct source *source, const char *id)
{
    return source->importer && strcmp(source->importer, id) == 0;
}

static bool has_role(const struct source *source, const char *role)
{
    return source->role && strcmp(source->role, role) == 0;
}

const char *prompt_name_of(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path ? path : "";
}

/* ---- Captures ---- */

static enum side side_of_recorded(const struct run_facts *facts, const struct source *source)
{
    if (has_role(source, "served"))
        return SIDE_SERVE;
    if (has_role(source, "trained"))
        return SIDE_TRAIN;
    for (size_t i = 0; i < facts->n_settings; i++)
        if (facts->settings[i].source_id == source->id &&
            strcmp(facts->settings[i].raw_name, "rendered_prompt") == 0)
            return facts->settings[i].side;
    return SIDE_MODEL;
}

const struct source *prompt_recorded(const struct run_facts *facts, enum side side)
{
    const struct source *found = NULL;

    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *source = &facts->sources[i];

        if (prompt_is_importer(source, "rendered_prompts") && source->state != SOURCE_GONE &&
            side_of_recorded(facts, source) == side &&
            (!found || source->mtime_ns > found->mtime_ns))
            found = source;
    }
    return found;
}

const struct source *prompt_request(const struct run_facts *facts)
{
    const struct source *found = NULL;

    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *source = &facts->sources[i];

        if (prompt_is_importer(source, "openai_request") && source->state != SOURCE_GONE &&
            (!found || source->mtime_ns > found->mtime_ns))
            found = source;
    }
    return found;
}

/* ---- Templates ---- */

static bool is_template(const struct source *source)
{
    return (prompt_is_importer(source, "chat_template") || prompt_is_importer(source, "tokenizer")) &&
           source->state != SOURCE_GONE;
}

static bool is_checkpoint(const struct source *source)
{
    return strstr(source->path, "/checkpoint-") != NULL;
}

/* 1 the file holds a template, 0 it says that there is none, -1 it does not say. */
int prompt_states_template(const struct run_facts *facts, const struct source *source)
{
    for (size_t i = 0; i < facts->n_settings; i++)
        if (facts->settings[i].source_id == source->id &&
            strcmp(facts->settings[i].raw_name, "has_chat_template") == 0)
            return setting_bool(&facts->settings[i]);
    return -1;
}

static struct str folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return str_from(path, slash ? (size_t)(slash - path) : 0);
}

/* A custom name is loaded as the file that it is; a usual one by its folder, which has the rest. */
void prompt_take(const struct prompt_maker *maker, const struct source *source,
                 struct template_place *out)
{
    struct str folder = folder_of(source->path), parent = folder;
    const char *name = prompt_name_of(source->path);
    bool is_usual = strcmp(name, "chat_template.jinja") == 0 ||
                    strcmp(name, "tokenizer_config.json") == 0 ||
                    strcmp(name, "chat_template.json") == 0;

    while (parent.n && parent.p[parent.n - 1] != '/')
        parent.n--;
    out->source = source;
    out->bare = NULL;
    out->folder = arena_strndup(maker->arena, folder.p, folder.n);
    out->path = is_usual ? out->folder : source->path;
    if (prompt_is_importer(source, "gguf"))
        out->path = out->folder = source->path; /* it brings its tokenizer itself */
    out->about = arena_printf(maker->arena, "%.*s/%s", (int)(folder.n - parent.n),
                              folder.p + parent.n, name);
}

/* The template of the first role that has one; one in a checkpoint only when none is outside. */
bool prompt_find_by_role(const struct prompt_maker *maker, const char *role,
                         struct template_place *out)
{
    const struct run_facts *facts = maker->facts;
    const struct source *best = NULL;

    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *source = &facts->sources[i];

        if (!is_template(source) || !has_role(source, role))
            continue;
        int states = prompt_states_template(facts, source);
        if (states == 0 && strcmp(prompt_name_of(source->path), "tokenizer_config.json") == 0 &&
            !is_checkpoint(source))
            out->bare = source;
        if (states != 1)
            continue;
        bool is_better = !best || (is_checkpoint(best) && !is_checkpoint(source)) ||
                         (is_checkpoint(best) == is_checkpoint(source) &&
                          prompt_is_importer(source, "chat_template") &&
                          !prompt_is_importer(best, "chat_template"));
        if (is_better)
            best = source;
    }
    if (!best)
        return false;
    prompt_take(maker, best, out);
    return true;
}

/* The value names the folder: its last component, or a path that ends so. */
static bool folder_is_named(const struct source *source, const char *value)
{
    struct str folder = folder_of(source->path);
    struct str name = str_of(value);

    while (str_starts(name, "./"))
        name = str_skip(name, 2);
    while (name.n && name.p[name.n - 1] == '/')
        name.n--;
    if (name.n == 0 || name.n > folder.n)
        return false;
    struct str end = str_skip(folder, folder.n - name.n);
    return str_eq(end, name) && (folder.n == name.n || folder.p[folder.n - name.n - 1] == '/' ||
                                 name.p[0] == '/');
}

/* Folders whose names say nothing of what is in them. */
static bool is_generic(struct str name)
{
    static const char *const NAMES[] = {"model",  "models", "output", "outputs", "out",   "final",
                                        "merged", "base",   "adapter", "weights", "data", "results",
                                        "served", "latest", "checkpoint"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is_ignoring_case(name, NAMES[i]))
            return true;
    return name.n == 0 || str_is(name, ".") || str_is(name, "..");
}

static struct str last_part(struct str path)
{
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    for (size_t i = path.n; i > 0; i--)
        if (path.p[i - 1] == '/')
            return str_skip(path, i);
    return path;
}

/* On another machine the folder lies elsewhere: its own name is what both share. */
static bool folder_is_called(const struct source *source, const char *value)
{
    struct str name = last_part(str_of(value));

    return !is_generic(name) && str_eq(last_part(folder_of(source->path)), name);
}

bool prompt_find_by_name(const struct prompt_maker *maker, const char *value,
                         struct template_place *out)
{
    const struct run_facts *facts = maker->facts;

    for (int round = 0; round < 2 && !out->source && !out->bare; round++)
        for (size_t i = 0; i < facts->n_sources; i++) {
            const struct source *source = &facts->sources[i];

            if (!is_template(source) || is_checkpoint(source) ||
                !(round == 0 ? folder_is_named(source, value) : folder_is_called(source, value)))
                continue;
            int states = prompt_states_template(facts, source);
            if (states == 1) {
                prompt_take(maker, source, out);
                return true;
            }
            if (states == 0 && strcmp(prompt_name_of(source->path), "tokenizer_config.json") == 0)
                out->bare = source;
        }
    return out->bare != NULL;
}

/* LLaMA-Factory and axolotl know templates by name; the tokenizer's own is not what they render then. */
static enum marker_family trained_by_name(const struct run_facts *facts)
{
    static const char *const NAMES[] = {"template", "chat_template"};

    for (size_t i = 0; i < 2; i++) {
        const char *name = facts_text(facts, NAMES[i]);
        bool is_text = name && (strchr(name, '{') || strchr(name, '/') || strchr(name, '.'));

        if (name && !is_text && prompt_family_by_name(name) != FAMILY_NONE)
            return prompt_family_by_name(name);
    }
    return FAMILY_NONE;
}

void prompt_template_of(const struct prompt_maker *maker, enum side side,
                        struct template_place *out)
{
    const struct run_facts *facts = maker->facts;

    *out = (struct template_place){0};
    if (side != SIDE_TRAIN) {
        prompt_template_of_serving(maker, out);
        return;
    }
    if (!prompt_find_by_role(maker, "trained", out))
        (void)prompt_find_by_role(maker, "base", out);
    out->named = trained_by_name(facts);
}
