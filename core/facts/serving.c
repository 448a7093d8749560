/* How the model is served, joined from the records that tell of it. See serving.h for their order, which
 * is also the order of trust in settings.c. */
#include "core/facts/serving.h"

#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/facts_cache.h"
#include "core/read/json.h"

#define STOPS_MAX    256
#define ADAPTERS_MAX 1000

const char *serving_engine_name(enum serving_engine engine)
{
    static const char *const NAMES[] = {"none",  "other",     "vllm",  "sglang",
                                        "tgi",   "llama.cpp", "ollama"};

    return (size_t)engine < sizeof NAMES / sizeof *NAMES ? NAMES[engine] : "none";
}

/* ---- Records ---- */

enum { RANK_REQUEST = 0, RANK_LOG = 1, RANK_CONFIG = 4, RANK_SIDE = 5, RANK_GGUF = 6 };

/* Smaller is nearer to what happens; -1: no source. */
static int record_rank(const struct source *source)
{
    static const char *const ORDER[] = {"openai_request", "server_log",   "serve_command",
                                        "ollama_modelfile", "serve_config", "side_files",
                                        "gguf"};

    for (int i = 0; source && i < (int)(sizeof ORDER / sizeof *ORDER); i++)
        if (strcmp(source->importer, ORDER[i]) == 0)
            return i;
    return source ? RANK_SIDE : -1;
}

/* Stated on the serving side by the record of the best rank between two. */
static const struct setting *stated(const struct run_facts *facts, const char *name, int from, int to)
{
    const struct setting *found = NULL;
    int best = to + 1;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        int rank;

        if (s->side != SIDE_SERVE || !s->name || strcmp(s->name, name) != 0 || !s->value ||
            s->type == VALUE_NULL)
            continue;
        rank = record_rank(facts_source(facts, s->source_id));
        if (rank >= from && rank < best) {
            best = rank;
            found = s;
        }
    }
    return found;
}

/* The user's word before all. */
static const struct setting *of_server(const struct run_facts *facts, const char *name)
{
    const struct setting *any = facts_setting_on(facts, SIDE_SERVE, name);

    return any && any->source_id == 0 ? any : stated(facts, name, RANK_LOG, RANK_SIDE);
}

static enum serving_engine engine_of(const struct run_facts *facts, const struct source **leads)
{
    const struct setting *engine = stated(facts, "engine", RANK_REQUEST, RANK_GGUF);
    int best = RANK_GGUF + 1;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        const struct source *source = facts_source(facts, s->source_id);
        int rank = s->side == SIDE_SERVE ? record_rank(source) : -1;

        if (rank >= 0 && rank < best) {
            best = rank;
            *leads = source;
        }
    }
    if (engine)
        *leads = facts_source(facts, engine->source_id);
    for (int e = SERVING_VLLM; engine && e <= SERVING_OLLAMA; e++)
        if (strcmp(engine->value, serving_engine_name((enum serving_engine)e)) == 0)
            return (enum serving_engine)e;
    return *leads ? SERVING_OTHER : SERVING_NONE;
}

/* ---- Files that a record names ---- */

static struct str without_dots(const char *value)
{
    struct str name = str_of(value);

    while (str_starts(name, "./"))
        name = str_skip(name, 2);
    while (name.n > 1 && name.p[name.n - 1] == '/')
        name.n--;
    return name;
}

/* 2 the path or its folder ends so, 1 the last components agree, 0 neither. */
static int path_match(const char *path, const char *value)
{
    struct str name = without_dots(value), whole = str_of(path), last = name, folder = whole;

    if (name.n == 0 || !path)
        return 0;
    while (folder.n && folder.p[folder.n - 1] != '/')
        folder.n--;
    folder.n -= folder.n > 1;
    for (int i = 0; i < 2; i++) {
        struct str place = i == 0 ? whole : folder;

        if (place.n >= name.n && str_eq(str_skip(place, place.n - name.n), name) &&
            (place.n == name.n || name.p[0] == '/' || place.p[place.n - name.n - 1] == '/'))
            return 2;
    }
    for (size_t i = name.n; i > 0; i--)
        if (name.p[i - 1] == '/') {
            last = str_skip(name, i);
            break;
        }
    for (int i = 0; i < 2; i++) {
        struct str place = i == 0 ? whole : folder, end = place;

        for (size_t k = place.n; k > 0; k--)
            if (place.p[k - 1] == '/') {
                end = str_skip(place, k);
                break;
            }
        if (last.n && str_eq(end, last))
            return 1;
    }
    return 0;
}

static bool is_weights(const struct artefact *artefact, bool is_adapter)
{
    if (!artefact->kind || !artefact->path)
        return false;
    bool is_lora = strcmp(artefact->kind, "adapter") == 0;
    if (is_adapter)
        return is_lora || strcmp(artefact->kind, "gguf") == 0;
    return strcmp(artefact->kind, "gguf") == 0 || strcmp(artefact->kind, "base") == 0 ||
           strcmp(artefact->kind, "merged") == 0;
}

static const struct artefact *named(const struct run_facts *facts, const char *value,
                                    bool is_adapter)
{
    const struct artefact *found = NULL;
    int best = 0;

    for (size_t i = 0; value && i < facts->n_artefacts; i++) {
        const struct artefact *a = &facts->artefacts[i];
        int match = is_weights(a, is_adapter) ? path_match(a->path, value) : 0;

        if (match > best) {
            best = match;
            found = a;
        }
    }
    return found;
}

static const char *role_of(const struct run_facts *facts, const struct artefact *artefact)
{
    const struct source *source = facts_source(facts, artefact->source_id);

    return artefact->role ? artefact->role : source ? source->role : NULL;
}

static bool is_lora_gguf(const struct run_facts *facts, const struct artefact *artefact)
{
    size_t n;
    const struct setting *const *settings = facts_settings_of(facts, artefact->source_id, &n);

    for (size_t i = 0; i < n; i++)
        if (settings[i]->value && strcmp(settings[i]->raw_name, "general.type") == 0)
            return strcmp(settings[i]->value, "adapter") == 0;
    return false;
}

/* What lies in serve/ or is a GGUF file, where nothing is named; the first of several. */
static const struct artefact *lies_served(const struct run_facts *facts)
{
    const struct artefact *found = NULL;

    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *a = &facts->artefacts[i];
        const char *role = is_weights(a, false) ? role_of(facts, a) : NULL;

        if (!role || strcmp(role, "served") != 0 || is_lora_gguf(facts, a))
            continue;
        if (!found || (strcmp(a->kind, "gguf") == 0 && strcmp(found->kind, "gguf") != 0))
            found = a;
    }
    return found;
}

/* ---- Adapters ---- */

struct adapter_list {
    const struct run_facts *facts;
    struct arena *arena;
    struct served_adapter *items;
    size_t n, capacity;
    const struct setting *setting;
};

static const char *text_member(struct adapter_list *list, const struct json *object, const char *key)
{
    const struct json *value = json_get(object, key);

    return json_is(value, JSON_STRING) ? arena_strndup(list->arena, value->text.p, value->text.n)
                                       : NULL;
}

static void add(struct adapter_list *list, struct served_adapter adapter)
{
    struct served_adapter *room;

    if (list->n >= ADAPTERS_MAX)
        return;
    room = arena_room(list->arena, list->items, list->n, &list->capacity, sizeof *room);
    if (!room)
        return;
    adapter.setting = list->setting;
    adapter.artefact = named(list->facts, adapter.path, true);
    list->items = room;
    list->items[list->n++] = adapter;
}

static void add_object(struct adapter_list *list, const struct json *object)
{
    const struct json *scale = json_get(object, "scale");

    add(list, (struct served_adapter){
                  .name = text_member(list, object, "name"),
                  .path = text_member(list, object, "path"),
                  .scale = json_is(scale, JSON_NUMBER) ? scale->number : NAN,
                  .is_applied = !json_is(json_get(object, "applied"), JSON_FALSE)});
}

static void add_path(struct adapter_list *list, struct str path)
{
    path = str_trim(path);
    if (path.n && !str_is_ignoring_case(path, "none") && !str_is_ignoring_case(path, "null"))
        add(list, (struct served_adapter){.path = arena_strndup(list->arena, path.p, path.n),
                                          .scale = NAN,
                                          .is_applied = true});
}

static void read_adapters(struct adapter_list *list)
{
    const struct setting *setting = list->setting;
    const struct json *json = NULL;
    struct error ignored = {0};

    if (!setting || !setting->value || setting->type == VALUE_NULL)
        return;
    struct str text = str_trim(str_of(setting->value));
    bool is_json = (str_starts(text, "[") || str_starts(text, "{")) &&
                   json_parse(text, false, list->arena, &json, NULL, &ignored) == OK;
    if (!is_json) {
        if (setting->type != VALUE_BOOL)
            add_path(list, text);
        return;
    }
    if (json->type == JSON_OBJECT) {
        add_object(list, json);
        return;
    }
    for (const struct json *item = json->child; item; item = item->next) {
        if (item->type == JSON_OBJECT)
            add_object(list, item);
        else if (item->type == JSON_STRING)
            add_path(list, item->text);
    }
}

static int allows(const struct run_facts *facts, const struct serving *s)
{
    const struct setting *enable = of_server(facts, "enable_lora");
    bool is_told = stated(facts, "engine", RANK_LOG, RANK_CONFIG) != NULL;

    if (enable && setting_bool(enable) >= 0)
        return setting_bool(enable);
    switch (s->engine) {
    case SERVING_VLLM:
        return is_told ? 0 : -1;        /* also with modules: it refuses to start, or ignores them */
    case SERVING_SGLANG:
    case SERVING_TGI:
        return s->n_adapters > 0 ? 1 : is_told ? 0 : -1;
    case SERVING_LLAMA_CPP:
    case SERVING_OLLAMA:
        return 1;
    case SERVING_NONE:
    case SERVING_OTHER:
        break;
    }
    return -1;
}

/* ---- Requests ---- */

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* `model` is the adapter's name; SGLang also base:adapter, lora_path; TGI adapter_id. */
static bool asks_adapter(const struct run_facts *facts, const struct serving *s)
{
    static const char *const NAMES[] = {"model", "lora_path", "adapter_id"};

    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
        const struct setting *asked = stated(facts, NAMES[k], RANK_REQUEST, RANK_REQUEST);
        const char *colon = asked ? strrchr(asked->value, ':') : NULL;

        for (size_t i = 0; asked && i < s->n_adapters; i++) {
            const struct served_adapter *a = &s->adapters[i];

            if (same(asked->value, a->name) || same(asked->value, a->path) ||
                (k == 0 && colon && same(colon + 1, a->name)))
                return true;
        }
    }
    return false;
}

/* ---- Lengths and stops ---- */

static bool whole_number(const struct setting *setting, int64_t *out)
{
    double value;

    if (!setting_number(setting, &value) || value < 0.0 || value > 1e12)
        return false;
    *out = (int64_t)value;
    return true;
}

static void read_context(const struct run_facts *facts, struct serving *s)
{
    /* a request to Ollama may bring a num_ctx of its own */
    const struct setting *asked = stated(facts, "max_model_len", RANK_REQUEST, RANK_REQUEST);
    const struct setting *stated_length = asked ? asked : of_server(facts, "max_model_len");
    int64_t n = NONE;

    s->context = NONE;
    s->context_setting = stated_length;
    if (whole_number(stated_length, &n) && n > 0) {
        s->context = n;
        return;
    }
    /* llama.cpp's 0: as long as the model was made for */
    if (n == 0 && s->engine == SERVING_LLAMA_CPP) {
        s->context_setting = stated(facts, "gguf.context_length", RANK_GGUF, RANK_GGUF);
        if (whole_number(s->context_setting, &n) && n > 0)
            s->context = n;
    }
}

static const char *truncates(const struct run_facts *facts, const struct serving *s)
{
    const struct setting *side = facts_setting_on(facts, SIDE_SERVE, "truncation_side");
    bool cuts_left = stated(facts, "truncate_prompt_tokens", RANK_REQUEST, RANK_REQUEST) ||
                     stated(facts, "truncate", RANK_REQUEST, RANK_REQUEST);

    if (side && same(side->value, "left"))
        return "left";
    if (side && same(side->value, "right"))
        return "right";
    switch (s->engine) {
    case SERVING_VLLM:
    case SERVING_TGI:
        return cuts_left ? "left" : "refuses";
    case SERVING_SGLANG:
        return setting_bool(of_server(facts, "allow_auto_truncate")) == 1 ? "right" : "refuses";
    case SERVING_OLLAMA:
        return "oldest messages";
    case SERVING_LLAMA_CPP:
        return setting_bool(of_server(facts, "context_shift")) == 0 ? "refuses" : NULL;
    case SERVING_NONE:
    case SERVING_OTHER:
        break;
    }
    return NULL;
}

static void read_stops(const struct run_facts *facts, struct arena *arena, struct serving *s)
{
    static const char *const IDS[] = {"stop_token_ids", "gguf.stop_ids"};
    const struct setting *stop = facts_setting_on(facts, SIDE_SERVE, "stop");
    const char *const *items = NULL;
    int64_t *ids = arena_array(arena, STOPS_MAX, sizeof *ids);

    if (stop && stop->type == VALUE_TEXT && stop->value[0] != '[') {
        const char **one = arena_alloc(arena, sizeof *one);     /* one text, commas and all */

        if (one)
            *one = stop->value;
        s->stops = one;
        s->n_stops = one ? 1 : 0;
    } else {
        s->n_stops = setting_list(stop, facts, &s->stops);
    }
    for (size_t k = 0; ids && k < sizeof IDS / sizeof *IDS; k++) {
        const struct setting *list = facts_setting_on(facts, SIDE_SERVE, IDS[k]);
        size_t n = setting_list(list, facts, &items);

        if (k == 1 && !s->has_gguf)
            continue;
        for (size_t i = 0; i < n && s->n_stop_ids < STOPS_MAX; i++)
            if (number_parse_int(str_of(items[i]), &ids[s->n_stop_ids]))
                s->n_stop_ids++;
    }
    s->stop_ids = ids;
}

/* ---- Joining ---- */

static bool model_is_gguf(const struct serving *s)
{
    return s->model && s->model->value && str_ends(str_of(s->model->value), ".gguf");
}

static void read_all(const struct run_facts *facts, struct arena *arena, struct serving *s)
{
    struct adapter_list list = {.facts = facts, .arena = arena};

    s->engine = engine_of(facts, &s->source);
    s->model = of_server(facts, "model");
    s->artefact = named(facts, s->model ? s->model->value : NULL, false);
    if (!s->artefact && !s->model)
        s->artefact = lies_served(facts);
    s->has_gguf = (s->artefact && same(s->artefact->kind, "gguf")) || model_is_gguf(s);
    list.setting = of_server(facts, "adapter");
    read_adapters(&list);
    s->adapters = list.items;
    s->n_adapters = list.n;
    s->allows_adapters = allows(facts, s);
    s->max_lora_rank = NONE;
    (void)whole_number(of_server(facts, "max_lora_rank"), &s->max_lora_rank);
    s->lora_targets = of_server(facts, "lora_target_modules");
    s->n_names = setting_list(of_server(facts, "served_model_name"), facts, &s->names);
    s->requested = stated(facts, "model", RANK_REQUEST, RANK_REQUEST);
    s->request_asks_adapter = asks_adapter(facts, s);
    read_context(facts, s);
    s->truncates = truncates(facts, s);
    read_stops(facts, arena, s);
}

const struct serving *facts_serving(const struct run_facts *facts)
{
    struct facts_cache *cache = facts->cache;

    if (cache->serving)
        return cache->serving;
    struct serving *s = arena_alloc(cache->arena, sizeof *s);
    if (s)
        read_all(facts, cache->arena, s);
    if (!s || arena_failed(cache->arena)) {
        struct error why;

        (void)error_set(&why, E_NOMEM, "joining what is known of the serving side");
        facts_fail(facts, &why);
        return NULL;
    }
    cache->serving = s;
    return s;
}
