/* In which precision did the run train, and in which was its base pretrained: for the checks of
 * fp16 (CHECKS.md C0.14). Declared in onset.h. */
#include <string.h>

#include "core/base/str.h"
#include "core/facts/onset.h"

static bool text_has(const char *text, const char *needle)
{
    return text && str_has_ignoring_case(str_of(text), needle);
}

static void give(const struct setting **decided, const struct setting *setting)
{
    if (decided)
        *decided = setting;
}

/* "16", "fp16", "16-mixed", "16-true", "float16", "half": 1; other stated precisions: 0. */
static int reads_as_fp16(const char *value)
{
    if (!value || value[0] == '\0')
        return -1;
    if (text_has(value, "bf") || text_has(value, "32") || text_has(value, "64") ||
        text_has(value, "8") || strcmp(value, "no") == 0)
        return 0;
    return text_has(value, "16") || text_has(value, "half") ? 1 : -1;
}

/* Pure float16: the run's own model says so although no mixed precision is on. */
static const struct setting *own_float16(const struct run_facts *facts)
{
    const struct setting *asked = facts_setting(facts, "torch_dtype");

    if (asked && reads_as_fp16(asked->value) == 1)
        return asked;
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *setting = &facts->settings[i];
        const struct source *source = facts_source(facts, setting->source_id);
        const char *role = source ? source->role : NULL;
        if (setting->side == SIDE_MODEL && setting->name &&
            strcmp(setting->name, "torch_dtype") == 0 && role &&
            (strcmp(role, "trained") == 0 || strcmp(role, "checkpoint") == 0) &&
            reads_as_fp16(setting->value) == 1)
            return setting;
    }
    return NULL;
}

int precision_is_fp16(const struct run_facts *facts, const struct setting **decided)
{
    const struct setting *fp16 = facts_setting(facts, "fp16");
    const struct setting *bf16 = facts_setting(facts, "bf16");
    const struct setting *precision = facts_setting(facts, "precision");

    give(decided, NULL);
    if (setting_bool(fp16) == 1) {
        give(decided, fp16);
        return 1;
    }
    if (setting_bool(bf16) == 1) {
        give(decided, bf16);
        return 0;
    }
    int by_name = precision ? reads_as_fp16(precision->value) : -1;
    if (by_name == 1 || (by_name == 0 && strcmp(precision->value, "no") != 0)) {
        give(decided, precision);
        return by_name;
    }
    const struct setting *own = own_float16(facts);
    if (own) {
        give(decided, own);
        return 1;
    }
    if (!fp16 && !precision)
        return -1;
    give(decided, fp16 ? fp16 : precision);
    return 0;
}

/* Families whose public weights were pretrained in bfloat16, by config.json's model_type; T5's
 * configs do not say so, the others do, so that a stated other dtype wins there. */
static bool is_bf16_family(const char *model_type, bool *says_dtype)
{
    static const char *const SILENT[] = {"t5", "mt5", "umt5", "longt5"};
    static const char *const STATING[] = {"gemma", "qwen2", "qwen3", "baichuan", "falcon", "phi3"};

    *says_dtype = false;
    for (size_t i = 0; model_type && i < sizeof SILENT / sizeof SILENT[0]; i++)
        if (strcmp(model_type, SILENT[i]) == 0)
            return true;
    *says_dtype = true;
    for (size_t i = 0; model_type && i < sizeof STATING / sizeof STATING[0]; i++)
        if (strncmp(model_type, STATING[i], strlen(STATING[i])) == 0)
            return true;
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "llama-3" is in "Llama-3-8B", not in "llama-30b"; "t5-" is in "t5-11b". */
static bool has_version(const char *name, const char *needle)
{
    size_t n = strlen(needle);

    for (; *name; name++)
        if (strncasecmp(name, needle, n) == 0 && !(is_digit(needle[n - 1]) && is_digit(name[n])))
            return true;
    return false;
}

/* Names say what model_type "llama" does not: Llama-2 or later. The T5 names are for runs without
 * a config. */
static bool is_bf16_name(const char *name)
{
    static const char *const NAMES[] = {
        "llama-2",  "llama2", "llama-3", "llama3", "llama-4", "llama4", "gemma",   "qwen2", "qwen3",
        "baichuan", "falcon", "phi-3",   "phi3",   "mt5-",    "umt5",   "flan-t5", "t5-",
    };

    for (size_t i = 0; name && i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (has_version(name, NAMES[i]))
            return true;
    return false;
}

static const struct setting *base_name(const struct run_facts *facts)
{
    const struct setting *name = facts_setting(facts, "model_name_or_path");

    if (!name)
        name = facts_setting_on(facts, SIDE_ADAPTER, "base_model_name_or_path");
    if (!name)
        name = facts_setting_on(facts, SIDE_MODEL, "model_name_or_path");
    return name;
}

int base_is_bf16(const struct run_facts *facts, const struct setting **decided)
{
    const struct setting *dtype = facts_setting_on(facts, SIDE_MODEL, "torch_dtype");
    const struct setting *type = facts_setting_on(facts, SIDE_MODEL, "model_type");
    const struct setting *name = base_name(facts);
    bool says_dtype = true;

    give(decided, dtype);
    if (dtype && text_has(dtype->value, "bfloat16"))
        return 1;
    bool is_family = is_bf16_family(type ? type->value : NULL, &says_dtype);
    /* The dtype of the run's own checkpoint is what it trained in, not what the base was. */
    const struct source *source = dtype ? facts_source(facts, dtype->source_id) : NULL;
    bool is_own = source && source->role &&
                  (strcmp(source->role, "trained") == 0 || strcmp(source->role, "checkpoint") == 0);
    bool is_stated = dtype && text_has(dtype->value, "float") && !is_own;
    if (is_family && (!says_dtype || !is_stated)) {
        give(decided, type);
        return 1;
    }
    if (is_stated)
        return 0;
    if (name && is_bf16_name(name->value)) {
        give(decided, name);
        return 1;
    }
    give(decided, type);
    return type && strcmp(type->value, "llama") != 0 ? 0 : -1;
}
