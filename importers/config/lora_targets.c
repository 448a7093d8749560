/* Switches of LoRA as target_modules (lora_targets.h). The keys themselves stay settings of the file. */
#include "importers/config/lora_targets.h"

#include <stdio.h>
#include <string.h>

#define TEXT_BYTES ((size_t)16 << 10)

/* A switch and the modules that it trains, by the names of transformers' Llama. */
struct lora_switch {
    const char *framework, *section, *key;
    const char *modules[3];
};

static const struct lora_switch SWITCHES[] = {
    {"litgpt", NULL, "lora_query", {"q_proj"}},
    {"litgpt", NULL, "lora_key", {"k_proj"}},
    {"litgpt", NULL, "lora_value", {"v_proj"}},
    {"litgpt", NULL, "lora_projection", {"o_proj"}},
    {"litgpt", NULL, "lora_mlp", {"gate_proj", "up_proj", "down_proj"}},
    {"litgpt", NULL, "lora_head", {"lm_head"}},
    {"torchtune", "model", "lora_attn_modules", {NULL}}, /* a list: its own names */
    {"torchtune", "model", "apply_lora_to_mlp", {"gate_proj", "up_proj", "down_proj"}},
    {"torchtune", "model", "apply_lora_to_output", {"lm_head"}},
};

struct targets_text {
    struct buf modules, keys; /* "["q_proj","v_proj"", "lora_query, lora_value" */
    size_t n_modules;
    int64_t line;
    bool has_any;
};

static void add_module(struct targets_text *text, struct str module)
{
    /* torchtune's name of what the others call o_proj */
    struct str name = str_is(module, "output_proj") ? str_of("o_proj") : module;

    buf_puts(&text->modules, text->n_modules++ ? "," : "[");
    json_write_string(&text->modules, name);
}

static void add_key(struct targets_text *text, const struct lora_switch *from, int64_t line)
{
    if (text->keys.n)
        buf_puts(&text->keys, ", ");
    else
        text->line = line;
    if (from->section)
        buf_printf(&text->keys, "%s.", from->section);
    buf_puts(&text->keys, from->key);
}

static void take(struct targets_text *text, const struct lora_switch *from,
                 const struct json *value)
{
    text->has_any = true;
    if (value->type == JSON_TRUE || (value->type == JSON_ARRAY && value->child))
        add_key(text, from, value->line);
    for (size_t i = 0; value->type == JSON_TRUE && i < 3 && from->modules[i]; i++)
        add_module(text, str_of(from->modules[i]));
    for (const struct json *item = value->type == JSON_ARRAY ? value->child : NULL; item;
         item = item->next)
        if (item->type == JSON_STRING)
            add_module(text, item->text);
}

static int put(struct import *import, struct targets_text *text, struct error *err)
{
    char name[512];

    if (text->n_modules == 0)
        buf_puts(&text->modules, "[");
    buf_puts(&text->modules, "]");
    if (text->modules.failed || text->keys.failed)
        return sink_note(import->sink, NOTE_INFO, text->line, NONE, err,
                         "the modules of LoRA are more than %zu bytes of names", TEXT_BYTES);
    (void)snprintf(name, sizeof name, "target_modules (%.400s)",
                   text->keys.n ? text->keys.p : "none");
    const struct setting setting = {.side = SIDE_TRAIN,
                                    .raw_name = name,
                                    .name = "target_modules",
                                    .value = text->modules.p,
                                    .type = VALUE_LIST,
                                    .line = text->keys.n ? text->line : NONE};
    return sink_setting(import->sink, &setting, err);
}

int lora_targets(struct import *import, const char *framework, const struct json *document,
                 struct error *err)
{
    struct targets_text text = {.line = NONE};
    int rc = OK;

    buf_init(&text.modules, TEXT_BYTES);
    buf_init(&text.keys, TEXT_BYTES);
    for (size_t i = 0; framework && i < sizeof SWITCHES / sizeof *SWITCHES; i++) {
        const struct lora_switch *from = &SWITCHES[i];
        const struct json *section = from->section ? json_get(document, from->section) : document;
        const struct json *value =
            strcmp(from->framework, framework) == 0 && json_is(section, JSON_OBJECT)
                ? json_get(section, from->key)
                : NULL;

        if (value)
            take(&text, from, value);
    }
    if (text.has_any)
        rc = put(import, &text, err);
    buf_free(&text.modules);
    buf_free(&text.keys);
    return rc;
}
