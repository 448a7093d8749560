/* What frameworks write for a value of a setting, and what one setting says of another. See
 * config_values.h; the names are config_names.c. */
#include "core/facts/config_values.h"

#include <string.h>
#include <strings.h>

struct value_spelling {
    const char *name, *raw, *value;
};

static const struct value_spelling VALUES[] = {
    {"attn_implementation", "fa2", "flash_attention_2"},
    {"attn_implementation", "flash_attn", "flash_attention_2"},
    {"attn_implementation", "fa3", "flash_attention_3"},
    {"attn_implementation", "true", "flash_attention_2"},
    {"attn_implementation", "disabled", "eager"},
    {"target_modules", "all", "all-linear"},
    {"torch_dtype", "torch.bfloat16", "bfloat16"},
    {"torch_dtype", "torch.float16", "float16"},
    {"torch_dtype", "torch.float32", "float32"},
    {"bf16", "null", "false"},
    {"fp16", "null", "false"},
};

const char *config_value(const char *name, const char *value, enum value_type *type)
{
    if (!value || *type == VALUE_LIST || *type == VALUE_OBJECT)
        return value;
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++)
        if (strcmp(VALUES[i].name, name) == 0 && strcasecmp(VALUES[i].raw, value) == 0) {
            *type = *type == VALUE_NULL ? VALUE_BOOL : VALUE_TEXT;
            return VALUES[i].value;
        }
    return value;
}

bool config_value_is_open(const char *name, const char *value, enum value_type type)
{
    if (type == VALUE_TEXT && (*value == '\0' || strcasecmp(value, "auto") == 0))
        return true;
    /* "no flash attention" does not say which other one */
    return strcmp(name, "attn_implementation") == 0 && strcasecmp(value, "false") == 0;
}

struct implication {
    const char *raw, *value, *name, *implied;
    enum value_type type;
};

static const struct implication IMPLICATIONS[] = {
    {"precision", "bf16-mixed", "bf16", "true", VALUE_BOOL},
    {"precision", "bf16-true", "bf16", "true", VALUE_BOOL},
    {"precision", "bf16", "bf16", "true", VALUE_BOOL},
    {"precision", "16", "fp16", "true", VALUE_BOOL},
    {"precision", "16-mixed", "fp16", "true", VALUE_BOOL},
    {"precision", "16-true", "fp16", "true", VALUE_BOOL},
    {"precision", "fp16", "fp16", "true", VALUE_BOOL},
    {"mixed_precision", "bf16", "bf16", "true", VALUE_BOOL},
    {"mixed_precision", "fp16", "fp16", "true", VALUE_BOOL},
    {"train_sampling_strategy", "group_by_length", "group_by_length", "true", VALUE_BOOL},
    {"group_by_length", "true", "train_sampling_strategy", "group_by_length", VALUE_TEXT},
    {"lora_target_linear", "true", "target_modules", "all-linear", VALUE_TEXT},
    {"quantization_bit", "4", "load_in_4bit", "true", VALUE_BOOL},
    {"quantization_bit", "8", "load_in_8bit", "true", VALUE_BOOL},
    {"adapter", "qlora", "load_in_4bit", "true", VALUE_BOOL},
};

const char *config_implied(const char *raw_name, const char *value, size_t i, const char **implied,
                           enum value_type *type)
{
    const char *dot = strrchr(raw_name, '.');
    const char *part = dot ? dot + 1 : raw_name;

    for (size_t k = 0; k < sizeof IMPLICATIONS / sizeof *IMPLICATIONS; k++) {
        const struct implication *row = &IMPLICATIONS[k];

        if (strcmp(row->raw, part) != 0 || strcasecmp(row->value, value) != 0 || i-- != 0)
            continue;
        *implied = row->implied;
        *type = row->type;
        return row->name;
    }
    return NULL;
}
