/* How much of the model trains. See trainable.h. */
#include "core/facts/trainable.h"

#include <math.h>
#include <string.h>

#include "core/base/regex.h"
#include "core/base/number.h"
#include "core/memory/memory_model.h"

/* "4,194,304", "4_194_304", "1.2" with a unit K, M or B. */
static bool parse_count(const char *text, const char *unit, double *out)
{
    char digits[64];
    size_t n = 0;

    for (; *text && n + 1 < sizeof digits; text++)
        if (*text != ',' && *text != '_')
            digits[n++] = *text;
    digits[n] = '\0';
    if (!number_parse(str_from(digits, n), out))
        return false;
    *out *= unit[0] == 'K' ? 1e3 : unit[0] == 'M' ? 1e6 : unit[0] == 'B' ? 1e9 : 1.0;
    return true;
}

static bool is_before(const struct event *event, const struct event *end)
{
    return !end || event->source_id != end->source_id || event->seq < end->seq;
}

void trainable_banner(const struct run_facts *facts, struct trainable_banner *out)
{
    const struct event *event = NULL;
    const struct event *end = facts_event(facts, "end-marker", NULL);

    *out = (struct trainable_banner){.all = NAN};
    while ((event = facts_event(facts, "flat-zero-trainable", event))) {
        bool is_lightning = event->pattern && strcmp(event->pattern, "trainable-params-lightning") == 0;
        double trainable, all;

        if (!parse_count(event_capture(event, 1), is_lightning ? event_capture(event, 2) : "",
                         &trainable))
            continue;
        if (out->event && !is_before(event, end))
            continue;
        out->event = event;
        out->trainable = trainable;
        if (!is_lightning && parse_count(event_capture(event, 2), "", &all))
            out->all = all;
    }
}

static bool has_role(const struct artefact *artefact, const char *role)
{
    return artefact->role && strcmp(artefact->role, role) == 0;
}

const struct artefact *trained_adapter(const struct run_facts *facts)
{
    const struct artefact *best = NULL;

    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *artefact = &facts->artefacts[i];
        size_t n;

        if (strcmp(artefact->kind, "adapter") != 0 || has_role(artefact, "served") ||
            has_role(artefact, "base"))
            continue;
        (void)facts_tensors(facts, artefact, &n);
        if (n == 0)
            continue;
        /* the folder of the run before its checkpoints, a later checkpoint before an earlier one */
        if (!best || (best->step != NONE && (artefact->step == NONE || artefact->step > best->step)))
            best = artefact;
    }
    return best;
}

void lora_b_count(const struct run_facts *facts, const struct artefact *adapter,
                  struct lora_b *out)
{
    size_t n;
    const struct tensor *tensors = facts_tensors(facts, adapter, &n);

    *out = (struct lora_b){0};
    for (size_t i = 0; i < n; i++) {
        const struct tensor *tensor = &tensors[i];

        if (!strstr(tensor->name, "lora_B") && !strstr(tensor->name, "lora_embedding_B"))
            continue;
        out->n++;
        if (isnan(tensor->norm))
            continue;
        out->n_measured++;
        /* NaNs are left out of the norm: such a tensor was trained, to its ruin. */
        if (tensor->norm == 0.0 && tensor->n_nonfinite <= 0) {
            out->n_zero++;
            if (!out->first_zero)
                out->first_zero = tensor->name;
        }
    }
}

/* Number after "layers." or "h." or "block." in a tensor's path, -1: none. */
static int64_t layer_of(const char *name)
{
    static const char *const marks[] = {"layers.", "h.", "layer.", "block.", "blocks."};

    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *at = strstr(name, marks[i]);
        int64_t layer;

        if (!at || (at != name && at[-1] != '.'))
            continue;
        at += strlen(marks[i]);
        if (number_parse_int(str_from(at, strspn(at, "0123456789")), &layer) && layer >= 0)
            return layer;
    }
    return -1;
}

/* ---- Module names ---- */

/* Last parts of the linears by model_type, for when nothing lists the modules. */
static const struct {
    const char *model_type;
    const char *names[10];
} FAMILIES[] = {
    {"chatglm", {"query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"}},
    {"baichuan", {"W_pack", "o_proj", "gate_proj", "up_proj", "down_proj"}},
    {"qwen", {"c_attn", "c_proj", "w1", "w2"}},
    {"gpt2", {"c_attn", "c_proj", "c_fc"}},
    {"falcon", {"query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"}},
    {"bloom", {"query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"}},
    {"gpt_neox", {"query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"}},
    {"phi3", {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"}},
    {"phi", {"q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2"}},
    {"opt", {"q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2"}},
    {"mpt", {"Wqkv", "out_proj", "up_proj", "down_proj"}},
    {"t5", {"q", "k", "v", "o", "wi", "wo", "wi_0", "wi_1"}},
    {"mt5", {"q", "k", "v", "o", "wi", "wo", "wi_0", "wi_1"}},
    {"bert", {"query", "key", "value", "dense"}},
    {"roberta", {"query", "key", "value", "dense"}},
    {"llama", {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}},
    {"mistral", {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}},
    {"qwen2", {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}},
    {"qwen3", {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}},
    {"gemma", {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}},
    {"gemma2", {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}},
};

static bool from_family(const char *model_type, struct arena *arena, struct module_names *out)
{
    for (size_t i = 0; i < sizeof FAMILIES / sizeof FAMILIES[0]; i++) {
        if (strcmp(FAMILIES[i].model_type, model_type) != 0)
            continue;
        out->names = FAMILIES[i].names;
        out->n = 0;
        while (out->n < 10 && FAMILIES[i].names[out->n])
            out->n++;
        out->from = arena_printf(arena, "the built-in table for %s", model_type);
        return true;
    }
    return false;
}

static bool from_table(const struct run_facts *facts, struct arena *arena,
                       struct module_names *out)
{
    const struct setting *type = facts_setting_on(facts, SIDE_MODEL, "model_type");

    return type && type->value && from_family(type->value, arena, out);
}

/* Words in the names of public models whose family they leave no doubt of, the longer ones first. */
static const struct {
    const char *word, *model_type;
} NAMED_FAMILIES[] = {
    {"chatglm2", "chatglm"}, {"chatglm3", "chatglm"}, {"chatglm-6b", "chatglm"},
    {"baichuan", "baichuan"}, {"qwen1.5", "qwen2"},   {"qwen2", "qwen2"},
    {"qwen3", "qwen3"},       {"tinyllama", "llama"}, {"llama-2", "llama"},
    {"llama-3", "llama"},     {"mistral-7b", "mistral"}, {"falcon-7b", "falcon"},
    {"falcon-40b", "falcon"}, {"bloom", "bloom"},     {"pythia", "gpt_neox"},
    {"gpt2", "gpt2"},
};

bool module_names_by_base(const struct run_facts *facts, struct arena *arena,
                          struct module_names *out)
{
    const char *base = facts_text(facts, "base_model_name_or_path");

    if (!base)
        base = facts_text(facts, "model_name_or_path");
    *out = (struct module_names){0};
    for (size_t i = 0; base && i < sizeof NAMED_FAMILIES / sizeof NAMED_FAMILIES[0]; i++)
        if (str_has_ignoring_case(str_of(base), NAMED_FAMILIES[i].word))
            return from_family(NAMED_FAMILIES[i].model_type, arena, out);
    return false;
}

/* Path of the module that a tensor belongs to: without ".weight", ".bias". */
static const char *module_of_tensor(struct arena *arena, const char *tensor)
{
    const char *dot = strrchr(tensor, '.');

    return dot && (strcmp(dot, ".weight") == 0 || strcmp(dot, ".bias") == 0)
               ? arena_strndup(arena, tensor, (size_t)(dot - tensor))
               : tensor;
}

static bool from_artefact(const struct run_facts *facts, const char *kind, struct arena *arena,
                          struct module_names *out)
{
    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *artefact = &facts->artefacts[i];
        const char **names;
        size_t n;
        const struct tensor *tensors;

        if (strcmp(artefact->kind, kind) != 0)
            continue;
        tensors = facts_tensors(facts, artefact, &n);
        names = n ? arena_array(arena, n, sizeof *names) : NULL;
        if (!names)
            continue;

        bool has_layers = false;
        for (size_t k = 0; k < n; k++) {
            names[k] = module_of_tensor(arena, tensors[k].name);
            has_layers |= layer_of(tensors[k].name) >= 0;
        }
        if (!has_layers)        /* an excerpt: what it does not list may well be there */
            continue;
        out->names = names;
        out->n = n;
        out->source_id = artefact->source_id;
        out->from = facts_file_name(facts, artefact->source_id);
        return true;
    }
    return false;
}

bool module_names_read(const struct run_facts *facts, struct arena *arena,
                       struct module_names *out)
{
    *out = (struct module_names){0};
    return from_artefact(facts, "modules", arena, out) || from_artefact(facts, "base", arena, out) ||
           from_table(facts, arena, out);
}

static bool is_end_of(const char *name, const char *target)
{
    size_t whole = strlen(name), length = strlen(target);

    return whole >= length && strcmp(name + whole - length, target) == 0 &&
           (whole == length || name[whole - length - 1] == '.');
}

size_t module_matches(const struct module_names *modules, const char *target)
{
    const char *dot = strrchr(target, '.');
    size_t n = 0, n_last = 0;

    for (size_t i = 0; i < modules->n; i++) {
        n += is_end_of(modules->names[i], target);
        n_last += dot && is_end_of(modules->names[i], dot + 1);
    }
    /* a whole path may be spelt from another root (wrappers, vision towers): its last part counts */
    return n ? n : n_last;
}

ptrdiff_t module_regex_matches(const struct module_names *modules, const char *pattern,
                               struct arena *arena)
{
    const char *whole = arena_printf(arena, "^(?:%s)$", pattern);
    struct regex *regex = NULL;
    struct regex_match match;
    ptrdiff_t n = 0;

    if (!whole || regex_compile(&regex, str_of(whole), NULL) != OK)
        return -1;
    for (size_t i = 0; i < modules->n && n >= 0; i++) {
        int found = regex_search(regex, str_of(modules->names[i]), &match);
        n = found < 0 ? -1 : n + found;
    }
    regex_close(regex);
    return n;
}

/* Levenshtein over at most 63 bytes each. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b), m = strlen(a);

    if (n > 63 || m > 63)
        return 64;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]), best = row[j] + 1;

            diagonal = row[j];
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = change < best ? change : best;
        }
    }
    return row[n];
}

const char *module_nearest(const struct module_names *modules, const char *target,
                           struct arena *arena)
{
    const char *best = NULL;
    size_t least = 64;

    for (size_t i = 0; i < modules->n; i++) {
        const char *dot = strrchr(modules->names[i], '.');
        const char *last = dot ? dot + 1 : modules->names[i];
        size_t distance = edit_distance(target, last);

        if (last[0] && distance < least) {
            least = distance;
            best = last;
        }
    }
    return arena_strdup(arena, best);
}

/* ---- Targets ---- */

static bool is_regex(const char *text)
{
    return strpbrk(text, "*\\|()[]^$+?") != NULL;
}

void targets_read(const struct run_facts *facts, struct arena *arena, struct targets *out)
{
    const struct setting *setting = facts_setting(facts, "target_modules");
    const char *const *items;

    (void)arena;
    *out = (struct targets){.setting = setting};
    if (!setting || !setting->value || setting->type == VALUE_NULL)
        return;
    if (strcmp(setting->value, "all-linear") == 0 || strcmp(setting->value, "all") == 0) {
        out->form = TARGETS_ALL;
        return;
    }
    if (setting->type == VALUE_TEXT && is_regex(setting->value)) {
        out->form = TARGETS_REGEX;
        return;
    }
    out->n = setting_list(setting, facts, &items);
    out->names = items;
    out->form = out->n ? TARGETS_LIST : TARGETS_UNKNOWN;
    for (size_t i = 0; i < out->n; i++)
        if (strcmp(items[i], "all-linear") == 0 || strcmp(items[i], "all") == 0)
            out->form = TARGETS_ALL;
}

static double config_number(const struct run_facts *facts, const char *name)
{
    double value;

    return setting_number(facts_setting_on(facts, SIDE_MODEL, name), &value) ? value : 0.0;
}

static double linear_parameters(const char *name, double rank, const double sizes[4], bool is_dora)
{
    double hidden = sizes[0], kv = sizes[1], wide = sizes[2], heads = sizes[3];

    if (strcmp(name, "q_proj") == 0)
        return lora_parameters(rank, hidden, heads, is_dora);
    if (strcmp(name, "o_proj") == 0)
        return lora_parameters(rank, heads, hidden, is_dora);
    if (strcmp(name, "k_proj") == 0 || strcmp(name, "v_proj") == 0)
        return lora_parameters(rank, hidden, kv, is_dora);
    if (strcmp(name, "gate_proj") == 0 || strcmp(name, "up_proj") == 0)
        return lora_parameters(rank, hidden, wide, is_dora);
    if (strcmp(name, "down_proj") == 0)
        return lora_parameters(rank, wide, hidden, is_dora);
    return 0.0;
}

static bool has_llama_shape(const struct run_facts *facts)
{
    static const char *const types[] = {"llama",  "mistral", "qwen2", "qwen3",  "gemma",
                                        "gemma2", "smollm3", "olmo2", "granite"};
    const struct setting *type = facts_setting_on(facts, SIDE_MODEL, "model_type");

    for (size_t i = 0; type && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i], type->value) == 0)
            return true;
    return false;
}

double lora_expected(const struct run_facts *facts, const struct targets *targets)
{
    static const char *const all[] = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                      "gate_proj", "up_proj", "down_proj"};
    double layers = config_number(facts, "num_hidden_layers");
    double hidden = config_number(facts, "hidden_size");
    double heads = config_number(facts, "num_attention_heads");
    double kv_heads = config_number(facts, "num_key_value_heads");
    double wide = config_number(facts, "intermediate_size"), rank = 0.0, sum = 0.0;
    double head = config_number(facts, "head_dim");
    const struct setting *subset = facts_setting_on(facts, SIDE_ADAPTER, "layers_to_transform");
    bool is_dora = facts_bool(facts, "use_dora") == 1;
    size_t n = targets->form == TARGETS_ALL ? sizeof all / sizeof all[0] : targets->n;

    if (!has_llama_shape(facts) || !facts_number(facts, "lora_r", &rank) || rank <= 0.0 ||
        layers <= 0.0 || hidden <= 0.0 || heads <= 0.0 || wide <= 0.0 ||
        (subset && subset->type != VALUE_NULL) || targets->form == TARGETS_REGEX)
        return 0.0;
    if (kv_heads <= 0.0)
        kv_heads = heads;

    if (head <= 0.0)
        head = hidden / heads;

    const double sizes[4] = {hidden, head * kv_heads, wide, head * heads};

    for (size_t i = 0; i < n; i++)
        sum += linear_parameters(targets->form == TARGETS_ALL ? all[i] : targets->names[i], rank,
                                 sizes, is_dora);
    return layers * sum;
}

double layer_coverage(const struct run_facts *facts, const struct artefact *adapter,
                      struct arena *arena, size_t *n_layers)
{
    double layers = config_number(facts, "num_hidden_layers");
    size_t n, covered = 0;
    const struct tensor *tensors = facts_tensors(facts, adapter, &n);
    bool *seen;

    if (!(layers >= 1.0) || layers > 10000.0)
        return NAN;
    *n_layers = (size_t)layers;
    seen = arena_array(arena, *n_layers, sizeof *seen);
    for (size_t i = 0; seen && i < n; i++) {
        int64_t layer = strstr(tensors[i].name, "lora_") ? layer_of(tensors[i].name) : -1;

        if (layer >= 0 && (size_t)layer < *n_layers && !seen[layer]) {
            seen[layer] = true;
            covered++;
        }
    }
    return seen && covered ? (double)covered / layers : NAN;
}
