/* LLaMA-Factory and axolotl: trainers that are told what to do by a file of settings (MASKS.md 3
 * and 4). */
#include <string.h>

#include "core/facts/facts_cache.h"
#include "core/facts/mask_policy_parts.h"

#define LLAMAFACTORY_LENGTH 2048
#define AXOLOTL_LENGTH      512

static const struct setting *raw_named(const struct policy_maker *maker, const char *name)
{
    const char *const names[] = {name, NULL};

    return policy_raw(maker, names);
}

static const char *text_named(const struct policy_maker *maker, const char *name)
{
    const struct setting *setting = raw_named(maker, name);

    return setting && setting->value && *setting->value ? setting->value : NULL;
}

static enum tri tri_named(const struct policy_maker *maker, const char *name)
{
    int is = setting_bool(raw_named(maker, name));

    return is == 1 ? YES : is == 0 ? NO : AUTO;
}

/* ---- LLaMA-Factory ---- */

void policy_llamafactory(struct policy_maker *maker)
{
    static const char *const PRETRAINING[] = {"pt", "pretrain", "pretraining"};
    struct mask_policy *out = maker->out;
    const char *stage = facts_text(maker->facts, "stage");
    const char *name = facts_text(maker->facts, "template");
    bool is_stated;
    int64_t limit = policy_max_length(maker, LLAMAFACTORY_LENGTH, &is_stated);
    struct label_policy policy = policy_of(maker, MASK_LLAMAFACTORY, limit);

    for (size_t i = 0; stage && i < sizeof PRETRAINING / sizeof *PRETRAINING; i++)
        if (strcmp(stage, PRETRAINING[i]) == 0) {
            out->missing = "labels_sample.jsonl (pretraining rows are joined to blocks)";
            return;
        }
    if (!name && !policy_event(maker, "llf-template-missing")) {
        out->missing = "the configuration with LLaMA-Factory's template name";
        return;
    }
    policy.llamafactory_template = name ? name : "empty";
    policy.train_on_prompt = policy_tri(maker, "train_on_inputs");
    policy.mask_history = policy_tri(maker, "mask_history");
    policy.efficient_eos = tri_named(maker, "efficient_eos");
    policy.enable_thinking = tri_named(maker, "enable_thinking");
    policy.default_system = text_named(maker, "default_system");
    policy.drops_long = policy.packs;
    out->policy = policy;
    out->is_known = true;
    if (!name)
        policy_assume(maker, &out->assumption, "the template \"empty\", since none was stated");
    if (!is_stated)
        out->length_assumption = "cutoff_len left at its default of 2048";
}

/* ---- axolotl ---- */

/* `type` of the first data set: a name, or an object of field names, which is an Alpaca of its own.
 */
static const char *dataset_type(const struct policy_maker *maker)
{
    const struct run_facts *facts = maker->facts;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        const struct json *list;

        if (s->side != SIDE_TRAIN || !s->value || strcmp(s->raw_name, "datasets") != 0 ||
            json_parse(str_of(s->value), false, maker->arena, &list, NULL, NULL) != OK ||
            !json_is(list, JSON_ARRAY))
            continue;
        const struct json *type = json_get(list->child, "type");
        if (json_is(type, JSON_STRING))
            return arena_strndup(maker->arena, type->text.p, type->text.n);
        if (json_is(type, JSON_OBJECT))
            return "";
    }
    return NULL;
}

/* A member of the first data set, for the settings that axolotl reads there. */
static const char *of_dataset(const struct policy_maker *maker, const char *name)
{
    const struct run_facts *facts = maker->facts;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        const struct json *list;

        if (s->side != SIDE_TRAIN || !s->value || strcmp(s->raw_name, "datasets") != 0 ||
            json_parse(str_of(s->value), false, maker->arena, &list, NULL, NULL) != OK)
            continue;
        const struct json *value = list ? json_get(list->child, name) : NULL;
        if (json_is(value, JSON_STRING))
            return arena_strndup(maker->arena, value->text.p, value->text.n);
    }
    return NULL;
}

static bool rule_of_type(const char *type, struct label_policy *policy)
{
    static const struct {
        const char *prefix;
        enum mask_rule rule;
        const char *style;
    } TYPES[] = {
        {"chat_template", MASK_AXOLOTL_CHAT, NULL},    {"alpaca_chat", MASK_AXOLOTL_PROMPT, "chat"},
        {"alpaca", MASK_AXOLOTL_PROMPT, NULL},         {"completion", MASK_AXOLOTL_TEXT, NULL},
        {"input_output", MASK_AXOLOTL_SEGMENTS, NULL},
    };

    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (strncmp(type, TYPES[i].prefix, strlen(TYPES[i].prefix)) == 0) {
            policy->rule = TYPES[i].rule;
            policy->prompt_style = TYPES[i].style;
            return true;
        }
    return false;
}

void policy_axolotl(struct policy_maker *maker)
{
    struct mask_policy *out = maker->out;
    const char *type = dataset_type(maker), *excess = text_named(maker, "excess_length_strategy");
    bool is_stated;
    struct label_policy policy =
        policy_of(maker, MASK_AXOLOTL_CHAT, policy_max_length(maker, AXOLOTL_LENGTH, &is_stated));

    if (!type || !rule_of_type(type, &policy)) {
        out->missing = type ? "labels_sample.jsonl (this type of data set is not simulated)"
                            : "axolotl's configuration with the type of its data set";
        return;
    }
    policy.train_on_inputs = policy_tri(maker, "train_on_inputs");
    policy.drops_masked = true;
    policy.drops_long = !excess || strcmp(excess, "truncate") != 0;
    policy.train_on_eos = text_named(maker, "train_on_eos");
    policy.train_on_eot = text_named(maker, "train_on_eot");
    policy.field_training = of_dataset(maker, "message_field_training");
    policy.n_roles =
        setting_list(raw_named(maker, "roles_to_train"), maker->facts, &policy.roles_to_train);
    policy.n_eot_tokens =
        setting_list(raw_named(maker, "eot_tokens"), maker->facts, &policy.eot_tokens);
    out->policy = policy;
    out->is_known = true;
    if (!is_stated)
        out->length_assumption = "sequence_len left at its default of 512";
}
