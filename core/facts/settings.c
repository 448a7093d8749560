/* Which statement of a setting counts. Knows the order of trust of the sources, not their formats.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/checkpoint_name.h"
#include "core/facts/facts_cache.h"
#include "core/facts/rank_name.h"
#include "core/facts/other_runs.h"
#include "core/read/json.h"

#define MAX_LIST_ITEMS 10000

/* ---- Trust ---- */

struct importer_trust {
    const char *importer;
    int trust; /* smaller is more trusted */
};

/* What the process recorded, then what it printed, then what a file asked for. */
static const struct importer_trust TRUST[] = {
    {"hf_training_args", 0}, {"hf_trainer_state", 1}, {"peft_adapter", 1},  {"hf_model", 1},
    {"tokenizer", 1},        {"chat_template", 1},    {"trainer_log", 2},   {"hf_results", 2},
    {"tensorboard", 2},      {"wandb", 2},            {"mlflow_files", 2},  {"mlflow_db", 2},
    {"console_log", 3},      {"notebook", 3},         {"llamafactory", 4},  {"settings_file", 5},
    {"side_files", 5},       {"deepspeed", 6},        {"environment", 7},   {"model_card", 8},
    {"ms_swift", 1},         {"axolotl", 4},          {"torchtune", 4},     {"litgpt", 4},
    {"nemo", 4},             {"unsloth", 4},          {"accelerate", 6},    {"trackio", 2},
    /* of the serving side, in the order of serving.h */
    {"openai_request", 0},   {"server_log", 1},       {"serve_command", 2},
    {"ollama_modelfile", 3}, {"serve_config", 4},     {"gguf", 9},
};
#define TRUST_UNKNOWN 6

static int importer_trust_of(const char *importer)
{
    for (size_t i = 0; i < sizeof TRUST / sizeof *TRUST; i++)
        if (strcmp(TRUST[i].importer, importer) == 0)
            return TRUST[i].trust;
    return TRUST_UNKNOWN;
}

/* A model's own configuration: the base says what was loaded; a tokenizer's and the generation
 * settings: the run's own come first, what is served last. */
static int role_trust(enum side side, const char *role)
{
    static const char *const MODEL_ORDER[] = {"base", "trained", "checkpoint", "merged", "served"};
    static const char *const OWN_ORDER[] = {"trained", "checkpoint", "base", "merged", "served"};
    const char *const *order = side == SIDE_MODEL ? MODEL_ORDER : OWN_ORDER;

    if (!role)
        return 3;
    for (int i = 0; i < 5; i++)
        if (strcmp(order[i], role) == 0)
            return i;
    return 3;
}

int64_t facts_checkpoint_step(const struct run_facts *facts, const char *path)
{
    size_t below = facts->run.folder ? strlen(facts->run.folder) : 0, end;
    struct checkpoint_name name;

    if (!path)
        return NONE;
    if (below && strncmp(path, facts->run.folder, below) != 0)
        below = 0; /* not below the run's folder: look at the whole path */
    return checkpoint_name_find(path, below, &end, &name) && path[end] == '/' ? name.step : NONE;
}

int64_t facts_rank(const struct run_facts *facts, const char *path)
{
    const char *folder = facts->run.folder;
    const char *slash = folder ? strrchr(folder, '/') : NULL;
    struct rank_name name;

    if (!path)
        return 0;
    /* the run's folder may itself be that of rank 0, beside the others' */
    size_t below = slash && strncmp(path, folder, (size_t)(slash - folder)) == 0
                       ? (size_t)(slash - folder)
                       : 0;
    return rank_name_find(path, below, &name) ? name.rank : 0;
}

/* transformers writes "<EOS_TOKEN>" for eos_token wherever it hands its arguments to a logger: a value
 * that was kept back, whatever it is. */
static bool is_kept_back(const struct setting *setting)
{
    const char *name = setting->raw_name, *part = name;
    struct str value = setting->value ? str_of(setting->value) : str_from("", 0);

    if (!name || !str_ends(value, "_TOKEN>"))
        return false;
    for (; *part; part++)
        name = *part == '.' || *part == '/' ? part + 1 : name;
    return value.n == strlen(name) + 2 && value.p[0] == '<' &&
           str_is_ignoring_case(str_from(value.p + 1, value.n - 2), name);
}

struct ranked {
    const struct setting *setting;
    int is_null, is_other, trust, role; /* is_other: of another run in the same folder */
    int is_outside;         /* a file of the project beside the run's folder, which goes on changing */
    int64_t checkpoint; /* INT64_MAX: of the run itself */
    size_t order;
};

static bool is_outside(const struct run_facts *facts, const struct source *source)
{
    size_t n = facts->run.folder ? strlen(facts->run.folder) : 0;

    return n && source && source->path &&
           (strncmp(source->path, facts->run.folder, n) != 0 || source->path[n] != '/');
}

static struct ranked rank_setting(const struct run_facts *facts, size_t i)
{
    const struct setting *setting = &facts->settings[i];
    const struct source *source = facts_source(facts, setting->source_id);
    int64_t step = source ? facts_checkpoint_step(facts, source->path) : NONE;
    bool is_null = setting->type == VALUE_NULL || !setting->value;

    /* DeepSpeed's "auto" defers to the arguments: it states nothing. */
    if (setting->value && (strcmp(setting->value, "auto") == 0 || is_kept_back(setting)))
        is_null = true;
    return (struct ranked){
        .setting = setting,
        .is_null = is_null,
        .is_other = other_runs_has(facts, setting->source_id),
        .trust = source ? importer_trust_of(source->importer) : -1,
        .is_outside = is_outside(facts, source),
        .role = source ? role_trust(setting->side, source->role) : 0,
        .checkpoint = step == NONE ? INT64_MAX : step,
        .order = i,
    };
}

static int compare_int(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_trust(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    int c = compare_int(a->setting->side, b->setting->side);

    if (c == 0)
        c = strcmp(a->setting->name, b->setting->name);
    if (c == 0)
        c = compare_int(a->is_null, b->is_null);
    if (c == 0)
        c = compare_int(a->is_other, b->is_other);
    if (c == 0)
        c = compare_int(a->trust, b->trust);
    if (c == 0 && (a->setting->side == SIDE_TRAIN || a->setting->side == SIDE_EVAL))
        c = compare_int(a->is_outside, b->is_outside);
    if (c == 0)
        c = compare_int(a->role, b->role);
    if (c == 0)
        c = compare_int(b->checkpoint, a->checkpoint);
    return c ? c : (a->order > b->order) - (a->order < b->order);
}

static int add_answers(struct run_facts *facts, struct arena *arena, struct error *err);

static int by_source(const void *pa, const void *pb)
{
    const struct setting *a = *(const struct setting *const *)pa;
    const struct setting *b = *(const struct setting *const *)pb;
    int c = compare_int(a->source_id, b->source_id);

    return c ? c : (a > b) - (a < b);
}

static int index_sources(struct run_facts *facts, struct error *err)
{
    const struct setting **list =
        arena_array(facts->cache->arena, facts->n_settings, sizeof(void *));

    if (!list)
        return error_set(err, E_NOMEM, "no memory for %zu settings", facts->n_settings);
    for (size_t i = 0; i < facts->n_settings; i++)
        list[i] = &facts->settings[i];
    qsort(list, facts->n_settings, sizeof(void *), by_source);
    facts->cache->by_source = list;
    return OK;
}

int facts_rank_settings(struct run_facts *facts, struct error *err)
{
    struct facts_cache *cache = facts->cache;

    if (facts->n_settings == 0)
        return OK;
    struct ranked *ranked = calloc(facts->n_settings, sizeof *ranked);
    const struct setting **list = arena_array(cache->arena, facts->n_settings, sizeof(void *));
    size_t n = 0;

    if (!ranked || !list) {
        free(ranked);
        return error_set(err, E_NOMEM, "no memory for %zu settings", facts->n_settings);
    }
    for (size_t i = 0; i < facts->n_settings; i++)
        if (facts->settings[i].name)
            ranked[n++] = rank_setting(facts, i);
    qsort(ranked, n, sizeof *ranked, by_trust);
    for (size_t i = 0; i < n; i++)
        list[i] = ranked[i].setting;
    free(ranked);
    cache->by_trust = list;
    cache->n_by_trust = n;
    return OK;
}

int facts_index_settings(struct run_facts *facts, struct error *err)
{
    int rc = add_answers(facts, facts->cache->arena, err);

    if (rc == OK)
        rc = facts_rank_settings(facts, err);
    return rc == OK && facts->n_settings > 0 ? index_sources(facts, err) : rc;
}

const struct setting *const *facts_settings_of(const struct run_facts *facts, int64_t source_id,
                                               size_t *n)
{
    const struct setting **list = facts->cache->by_source;
    size_t low = 0, high = list ? facts->n_settings : 0, end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list[middle]->source_id < source_id)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; list && end < facts->n_settings && list[end]->source_id == source_id;)
        end++;
    *n = end - low;
    return list ? list + low : NULL;
}

/* ---- Looking up ---- */

static const struct setting *find_on(const struct run_facts *facts, enum side side,
                                     const char *name)
{
    const struct facts_cache *cache = facts->cache;
    size_t low = 0, high = cache->n_by_trust;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct setting *s = cache->by_trust[middle];
        int c = compare_int(s->side, side);

        if (c == 0)
            c = strcmp(s->name, name);
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == cache->n_by_trust)
        return NULL;
    const struct setting *found = cache->by_trust[low];
    return found->side == side && strcmp(found->name, name) == 0 ? found : NULL;
}

/* The user's word about a setting becomes a setting with source 0, on every side that is asked. */
static int add_answers(struct run_facts *facts, struct arena *arena, struct error *err)
{
    if (facts->n_answers == 0)
        return OK;
    size_t n = facts->n_settings;
    struct setting *all = arena_array(arena, n + facts->n_answers, sizeof *all);

    if (!all)
        return error_set(err, E_NOMEM, "no memory for %zu settings", n);
    if (n)
        memcpy(all, facts->settings, n * sizeof *all);
    for (size_t i = 0; i < facts->n_answers; i++)
        if (!strchr(facts->answers[i].name, ':'))
            all[n++] = (struct setting){.side = SIDE_TRAIN,
                                        .raw_name = facts->answers[i].name,
                                        .name = facts->answers[i].name,
                                        .value = facts->answers[i].value,
                                        .type = VALUE_TEXT,
                                        .line = NONE};
    facts->settings = all;
    facts->n_settings = n;
    return OK;
}

static bool is_stated(const struct setting *setting)
{
    return setting && setting->type != VALUE_NULL && setting->value && !is_kept_back(setting);
}

const struct setting *facts_setting_on(const struct run_facts *facts, enum side side,
                                       const char *name)
{
    const struct setting *own = find_on(facts, side, name);
    const struct setting *other = NULL;

    if (side == SIDE_TRAIN) {
        if (is_stated(own) && own->source_id == 0)
            return own; /* the user's answer */
        /* adapter_config.json is what PEFT trained with, wherever the arguments are silent. */
        other = find_on(facts, SIDE_ADAPTER, name);
        return !is_stated(own) && is_stated(other) ? other : own ? own : other;
    }
    other = facts_answer(facts, name) ? find_on(facts, SIDE_TRAIN, name) : NULL;
    return other && other->source_id == 0 ? other : own;
}

const struct setting *facts_setting(const struct run_facts *facts, const char *name)
{
    return facts_setting_on(facts, SIDE_TRAIN, name);
}

/* ---- Values ---- */

bool setting_number(const struct setting *setting, double *out)
{
    return is_stated(setting) && number_parse_any(str_trim(str_of(setting->value)), out);
}

int setting_bool(const struct setting *setting)
{
    static const char *const YES[] = {"true", "yes", "on", "1", "1.0", "unsloth"};
    static const char *const NO[] = {"false", "no", "off", "0", "0.0"};

    if (!is_stated(setting))
        return -1;
    struct str value = str_trim(str_of(setting->value));
    for (size_t i = 0; i < sizeof YES / sizeof *YES; i++)
        if (str_is_ignoring_case(value, YES[i]))
            return 1;
    for (size_t i = 0; i < sizeof NO / sizeof *NO; i++)
        if (str_is_ignoring_case(value, NO[i]))
            return 0;
    return -1;
}

bool facts_number(const struct run_facts *facts, const char *name, double *out)
{
    return setting_number(facts_setting(facts, name), out);
}

int facts_bool(const struct run_facts *facts, const char *name)
{
    return setting_bool(facts_setting(facts, name));
}

const char *facts_text(const struct run_facts *facts, const char *name)
{
    const struct setting *setting = facts_setting(facts, name);

    return is_stated(setting) ? setting->value : NULL;
}

const char *facts_answer(const struct run_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->n_answers; i++)
        if (strcmp(facts->answers[i].name, name) == 0)
            return facts->answers[i].value;
    return NULL;
}

/* ---- Lists ---- */

static size_t list_of_json(struct arena *arena, const struct json *list, const char ***items)
{
    size_t n = 0;

    *items = arena_array(arena, list->n + 1, sizeof **items);
    if (!*items)
        return 0;
    for (const struct json *item = list->child; item && n < MAX_LIST_ITEMS; item = item->next) {
        struct buf text;

        if (item->type == JSON_STRING) {
            (*items)[n++] = arena_strndup(arena, item->text.p, item->text.n);
            continue;
        }
        buf_init(&text, 4096);
        json_write(&text, item);
        (*items)[n++] = arena_strndup(arena, text.p, text.n);
        buf_free(&text);
    }
    return n;
}

/* "a, b", "['a', 'b']" and "a": what stands between commas, without brackets and quotes. */
static size_t list_of_text(struct arena *arena, struct str rest, const char ***items)
{
    size_t n = 0, commas = 0;
    struct str part;

    for (size_t i = 0; i < rest.n; i++)
        commas += rest.p[i] == ',';
    if (commas >= MAX_LIST_ITEMS)
        return 0;
    *items = arena_array(arena, commas + 1, sizeof **items);
    while (*items && str_split(&rest, ',', &part)) {
        while (part.n && strchr(" \t[]()'\"", part.p[0]))
            part = str_skip(part, 1);
        while (part.n && strchr(" \t[]()'\"", part.p[part.n - 1]))
            part.n--;
        if (part.n)
            (*items)[n++] = arena_strndup(arena, part.p, part.n);
    }
    return n;
}

size_t setting_list(const struct setting *setting, const struct run_facts *facts,
                    const char *const **items)
{
    struct arena *arena = facts->cache->arena;
    const char **list = NULL;
    const struct json *json = NULL;
    size_t n;

    *items = NULL;
    if (!is_stated(setting))
        return 0;
    struct str text = str_trim(str_of(setting->value));
    if (str_starts(text, "[") && json_parse(text, false, arena, &json, NULL, NULL) == OK &&
        json_is(json, JSON_ARRAY))
        n = list_of_json(arena, json, &list);
    else
        n = list_of_text(arena, text, &list);
    *items = list;
    return list ? n : 0;
}

/* ---- Versions ---- */

int version_compare(const char *a, const char *b)
{
    while (*a || *b) {
        size_t na = strspn(a, "0123456789"), nb = strspn(b, "0123456789");
        int64_t va = 0, vb = 0;

        if (na && !number_parse_int(str_from(a, na), &va))
            va = INT64_MAX;
        if (nb && !number_parse_int(str_from(b, nb), &vb))
            vb = INT64_MAX;
        if (va != vb)
            return va < vb ? -1 : 1;
        a += na;
        b += nb;
        if ((*a && *a != '.') || (*b && *b != '.'))
            break; /* "rc1", "+cu121": the numbers before it decided */
        a += *a == '.';
        b += *b == '.';
    }
    return 0;
}
