/* Which chat template a server renders with, by its engine (FORMATS.md B21, B22): what it was told on its
 * command line or in a Modelfile, what the model that it names brings, or one of its own that only its
 * name is known of. What cannot be rendered here is said with its reason. */
#include <string.h>
#include <strings.h>

#include "core/facts/facts_cache.h"
#include "core/facts/prompt_pair_parts.h"
#include "core/facts/serving.h"

/* ---- Stated ---- */

static bool is_text_of_template(const char *value)
{
    return strstr(value, "{%") || strstr(value, "{{");
}

static void take_text(const struct prompt_maker *maker, const struct setting *setting,
                      struct template_place *out)
{
    out->text = str_of(setting->value);
    out->source = facts_source(maker->facts, setting->source_id);
    out->about = arena_printf(maker->arena, "%s in %s", setting->raw_name,
                              facts_file_name(maker->facts, setting->source_id));
}

/* The imported file of that name; one of the usual name has to lie at the stated place. */
static bool take_file(const struct prompt_maker *maker, const char *value, const char *importer,
                      struct template_place *out)
{
    const struct run_facts *facts = maker->facts;
    const char *name = prompt_name_of(value);
    struct str place = str_of(value);
    bool is_usual = strcmp(name, "chat_template.jinja") == 0 ||
                    strcmp(name, "tokenizer_config.json") == 0;

    while (str_starts(place, "./"))
        place = str_skip(place, 2);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < facts->n_sources; i++) {
            const struct source *source = &facts->sources[i];
            struct str path = str_of(source->path);
            bool ends_so = path.n >= place.n &&
                           str_eq(str_skip(path, path.n - place.n), place);

            if (!prompt_is_importer(source, importer) ||
                strcmp(prompt_name_of(source->path), name) != 0 ||
                (round == 0 || is_usual ? !ends_so : false))
                continue;
            prompt_take(maker, source, out);
            return true;
        }
    return false;
}

static const char *engine_word(const struct serving *s)
{
    return s->engine == SERVING_OTHER || s->engine == SERVING_NONE ? "the server"
                                                                    : serving_engine_name(s->engine);
}

/* A template in the serving record: the text itself, a file that was imported, or a name. */
static bool find_stated(const struct prompt_maker *maker, const struct serving *s,
                        struct template_place *out)
{
    const struct setting *stated = facts_setting_on(maker->facts, SIDE_SERVE, "chat_template");
    const char *value = stated && stated->type != VALUE_NULL ? stated->value : NULL;

    if (!value || !value[0] || strcmp(value, "auto") == 0)
        return false;
    if (is_text_of_template(value)) {
        take_text(maker, stated, out);
        return true;
    }
    if (take_file(maker, value, "chat_template", out))
        return true;
    bool is_file = strchr(value, '/') || strstr(value, ".jinja") || strstr(value, ".json");
    out->source = facts_source(maker->facts, stated->source_id);
    out->about = arena_printf(maker->arena, "%s in %s", stated->raw_name,
                              facts_file_name(maker->facts, stated->source_id));
    if (is_file) {
        out->unknown = arena_printf(maker->arena, "%s, the template that is served", value);
        return true;
    }
    out->named = prompt_family_by_name(value);
    out->unknown = arena_printf(maker->arena,
                                "a captured prompt (prompt_infer.txt): '%s' is a template of %s's own, "
                                "whose text is not known here",
                                value, engine_word(s));
    if (out->named == FAMILY_NONE && s->engine == SERVING_OTHER)
        *out = (struct template_place){0};      /* a word in a record that says nothing */
    return out->source != NULL;
}

/* TGI takes the template of a tokenizer_config.json that it is given. */
static bool find_config(const struct prompt_maker *maker, struct template_place *out)
{
    const struct setting *config =
        facts_setting_on(maker->facts, SIDE_SERVE, "tokenizer_config_path");

    if (!config || !config->value || !config->value[0] || config->type == VALUE_NULL)
        return false;
    if (take_file(maker, config->value, "tokenizer", out)) {
        if (prompt_states_template(maker->facts, out->source) == 1)
            return true;
        const struct source *bare = out->source;
        *out = (struct template_place){.bare = bare};
        return true;
    }
    out->source = facts_source(maker->facts, config->source_id);
    out->unknown = arena_printf(maker->arena, "%s, whose template is served", config->value);
    return true;
}

/* ---- GGUF ---- */

static const struct source *gguf_of(const struct prompt_maker *maker, const struct serving *s)
{
    const struct source *source =
        s->artefact ? facts_source(maker->facts, s->artefact->source_id) : NULL;

    return source && prompt_is_importer(source, "gguf") ? source : NULL;
}

static bool find_gguf(const struct prompt_maker *maker, const struct serving *s,
                      struct template_place *out)
{
    const struct source *source = gguf_of(maker, s);
    int states = source ? prompt_states_template(maker->facts, source) : -1;

    if (states == 0)
        out->bare = source;
    if (states == 1)
        prompt_take(maker, source, out);
    return states >= 0;
}

/* ---- Engines ---- */

/* Without a TEMPLATE Ollama looks for the one of its own list that is nearest to the file's. */
static void of_ollama(const struct prompt_maker *maker, const struct serving *s,
                      struct template_place *out)
{
    const struct setting *text = facts_setting_on(maker->facts, SIDE_SERVE, "go_template");
    const struct setting *renderer = facts_setting_on(maker->facts, SIDE_SERVE, "renderer");

    if (renderer && renderer->value && renderer->value[0]) {
        out->source = s->source;
        out->about = arena_printf(maker->arena, "Ollama's RENDERER %s", renderer->value);
        out->unknown = "a captured prompt (prompt_infer.txt): a RENDERER builds the prompt inside of "
                       "Ollama, not by the TEMPLATE";
        return;
    }
    if (text && text->value && text->value[0]) {
        take_text(maker, text, out);
        out->about = arena_printf(maker->arena, "TEMPLATE in %s",
                                  facts_file_name(maker->facts, text->source_id));
        out->is_go = true;
        const struct source *gguf = gguf_of(maker, s);
        if (gguf)
            out->folder = gguf->path;
        return;
    }
    if (find_gguf(maker, s, out) && out->bare)
        return;
    *out = (struct template_place){0};
    out->source = s->source;
    out->about = "Ollama's own template";
    out->unknown = "the output of `ollama show --modelfile` for the served model: without a TEMPLATE "
                   "Ollama takes one of its own list or that of the model it is made FROM";
}

static void of_llama_cpp(const struct prompt_maker *maker, const struct serving *s,
                         struct template_place *out)
{
    const struct setting *jinja = facts_setting_on(maker->facts, SIDE_SERVE, "jinja");

    if (!find_stated(maker, s, out))
        (void)find_gguf(maker, s, out);
    if (setting_bool(jinja) != 0 || out->named != FAMILY_NONE || out->unknown || !out->source)
        return;
    out->is_near = true;
    out->unknown = "a captured prompt (prompt_infer.txt): with --no-jinja llama.cpp renders its own "
                   "form of the nearest known template, not the template";
}

static bool same_last_part(const char *a, const char *b)
{
    return strcasecmp(prompt_name_of(a), prompt_name_of(b)) == 0;
}

/* The tokenizer of the model that is named; LoRA modules do not bring one of their own. */
static bool find_named_model(const struct prompt_maker *maker, const struct serving *s,
                             struct template_place *out)
{
    const struct setting *tokenizer = facts_setting_on(maker->facts, SIDE_SERVE, "tokenizer");
    const char *base = facts_text(maker->facts, "model_name_or_path");
    const char *value = tokenizer && tokenizer->value && tokenizer->type == VALUE_TEXT
                            ? tokenizer->value
                        : s->model ? s->model->value
                                   : NULL;

    if (!value || !value[0])
        return false;
    if (prompt_find_by_name(maker, value, out))
        return true;
    return base && same_last_part(base, value) && prompt_find_by_role(maker, "base", out);
}

/* vLLM, SGLang, TGI, and records that name no engine. */
static void of_transformers(const struct prompt_maker *maker, const struct serving *s,
                            struct template_place *out)
{
    bool is_engine = s->engine != SERVING_OTHER && s->engine != SERVING_NONE;

    if (find_stated(maker, s, out) || find_config(maker, out))
        return;
    if (s->has_gguf && find_gguf(maker, s, out))
        return;
    if (is_engine && find_named_model(maker, s, out))
        return;
    if (prompt_find_by_role(maker, "served", out) || out->bare)
        return;
    if (!is_engine)
        (void)find_named_model(maker, s, out);
}

void prompt_template_of_serving(const struct prompt_maker *maker, struct template_place *out)
{
    const struct serving *s = facts_serving(maker->facts);
    const struct json *own = json_get(maker->request, "chat_template");

    if (!s)
        return;
    if (json_is(own, JSON_STRING) && own->text.n) {
        out->text = own->text;
        out->source = maker->request_source;
        out->about = "the template that the request brings";
        return;
    }
    if (s->engine == SERVING_OLLAMA)
        of_ollama(maker, s, out);
    else if (s->engine == SERVING_LLAMA_CPP)
        of_llama_cpp(maker, s, out);
    else
        of_transformers(maker, s, out);
}
