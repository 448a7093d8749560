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
    {"torch_dtype", "bf16", "bfloat16"},
    {"torch_dtype", "fp16", "float16"},
    {"torch_dtype", "fp32", "float32"},
    {"gradient_checkpointing", "full", "true"},
    {"gradient_checkpointing", "selective", "true"},
    {"gradient_checkpointing", "offload", "true"},
    {"gradient_checkpointing", "offload_disk", "true"},
    {"greater_is_better", "min", "false"},
    {"greater_is_better", "max", "true"},
    {"lr_scheduler_type", "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup",
     "cosine"},
    {"lr_scheduler_type", "torchtune.modules.get_cosine_schedule_with_warmup", "cosine"},
    {"lr_scheduler_type", "CosineAnnealing", "cosine"},
    {"lr_scheduler_type", "WarmupLR", "constant_with_warmup"},
    {"lr_scheduler_type", "WarmupDecayLR", "linear"},
    {"lr_scheduler_type", "WarmupCosineLR", "cosine"},
    {"optim", "torch.optim.AdamW", "adamw_torch"},
    {"optim", "torch.optim.SGD", "sgd"},
    {"optim", "bitsandbytes.optim.AdamW8bit", "adamw_bnb_8bit"},
    {"optim", "bitsandbytes.optim.PagedAdamW8bit", "paged_adamw_8bit"},
    {"optim", "bitsandbytes.optim.PagedAdamW", "paged_adamw_32bit"},
    {"bf16", "null", "false"},
    {"fp16", "null", "false"},
};

static bool is_switch(const char *value)
{
    return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
}

const char *config_value(const char *name, const char *value, enum value_type *type)
{
    if (!value || *type == VALUE_LIST || *type == VALUE_OBJECT)
        return value;
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++)
        if (strcmp(VALUES[i].name, name) == 0 && strcasecmp(VALUES[i].raw, value) == 0) {
            *type = is_switch(VALUES[i].value) ? VALUE_BOOL : VALUE_TEXT;
            return VALUES[i].value;
        }
    return value;
}

/* "${output_dir}": what another setting, or a variable, says. */
static bool is_reference(const char *value)
{
    size_t n = strlen(value);

    return n > 3 && strncmp(value, "${", 2) == 0 && strchr(value, '}') == value + n - 1;
}

bool config_value_is_open(const char *name, const char *value, enum value_type type)
{
    if (type == VALUE_TEXT && (*value == '\0' || strcasecmp(value, "auto") == 0))
        return true;
    if (type == VALUE_TEXT && is_reference(value))
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
    {"quant_bits", "4", "load_in_4bit", "true", VALUE_BOOL},
    {"quant_bits", "8", "load_in_8bit", "true", VALUE_BOOL},
    {"quantize", "bnb.nf4", "load_in_4bit", "true", VALUE_BOOL},
    {"quantize", "bnb.nf4-dq", "load_in_4bit", "true", VALUE_BOOL},
    {"quantize", "bnb.fp4", "load_in_4bit", "true", VALUE_BOOL},
    {"quantize", "bnb.fp4-dq", "load_in_4bit", "true", VALUE_BOOL},
    {"quantize", "bnb.int8-training", "load_in_8bit", "true", VALUE_BOOL},
    {"dtype", "bf16", "bf16", "true", VALUE_BOOL}, /* where dtype is the precision */
    {"sdp_attention", "true", "attn_implementation", "sdpa", VALUE_TEXT},
    {"flex_attention", "true", "attn_implementation", "flex_attention", VALUE_TEXT},
    {"eager_attention", "true", "attn_implementation", "eager", VALUE_TEXT},
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
