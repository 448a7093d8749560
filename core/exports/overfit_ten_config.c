/* The run's own config, changed for the ten-row run (CHECKS.md 7.1). See overfit_ten.h.
 *
 * The file the run was configured with is written again key by key with the few changes, under the
 * framework's own names; where only recorded arguments are there, they are written under
 * transformers' names. A JSON value is a YAML value too. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/exports/overfit_ten_parts.h"
#include "core/read/yaml.h"

#define CONFIG_BYTES ((size_t)8 << 20)

enum framework { TRANSFORMERS, LLAMAFACTORY, AXOLOTL, N_FRAMEWORKS };

/* What is set, under each framework's name ("" where it has none). The value is JSON, or NULL for one
 * that is computed. */
enum computed { FIXED, MICRO_BATCH, RATE, SAVE_STEPS, DATA, DATA_DIR, OUTPUT };
static const struct {
    const char *name[N_FRAMEWORKS];
    const char *value;
    enum computed computed;
} CHANGES[] = {
    {{"train_file", "dataset", "datasets"}, NULL, DATA},
    {{"", "dataset_dir", ""}, NULL, DATA_DIR},
    {{"output_dir", "output_dir", "output_dir"}, NULL, OUTPUT},
    {{"num_train_epochs", "num_train_epochs", "num_epochs"}, "40", FIXED},
    {{"per_device_train_batch_size", "per_device_train_batch_size", "micro_batch_size"}, NULL, MICRO_BATCH},
    {{"gradient_accumulation_steps", "gradient_accumulation_steps", "gradient_accumulation_steps"},
     "1",
     FIXED},
    {{"learning_rate", "learning_rate", "learning_rate"}, NULL, RATE},
    {{"lr_scheduler_type", "lr_scheduler_type", "lr_scheduler"}, "\"constant\"", FIXED},
    {{"warmup_steps", "warmup_steps", "warmup_steps"}, "0", FIXED},
    {{"weight_decay", "weight_decay", "weight_decay"}, "0.0", FIXED},
    {{"lora_dropout", "lora_dropout", "lora_dropout"}, "0.0", FIXED},
    {{"label_smoothing_factor", "label_smoothing_factor", "label_smoothing_factor"}, "0.0", FIXED},
    {{"packing", "packing", "sample_packing"}, "false", FIXED},
    {{"logging_steps", "logging_steps", "logging_steps"}, "1", FIXED},
    {{"logging_nan_inf_filter", "logging_nan_inf_filter", ""}, "false", FIXED},
    {{"report_to", "report_to", "wandb_mode"}, NULL, FIXED},
    {{"eval_strategy", "eval_strategy", "eval_strategy"}, "\"no\"", FIXED},
    {{"", "val_size", "val_set_size"}, "0", FIXED},
    {{"save_strategy", "save_strategy", "save_strategy"}, "\"steps\"", FIXED},
    {{"save_steps", "save_steps", "save_steps"}, NULL, SAVE_STEPS},
    {{"seed", "seed", "seed"}, "42", FIXED},
};
#define N_CHANGES (sizeof CHANGES / sizeof *CHANGES)

/* Settings that must not stand in such a run. */
static const char *const LEFT_OUT[] = {
    "max_steps", "warmup_ratio", "neftune_noise_alpha", "noisy_embedding_alpha", "neat_packing",
    "eval_dataset", "test_datasets", "eval_steps", "evals_per_epoch", "evaluation_strategy", "do_eval",
    "load_best_model_at_end", "metric_for_best_model", "max_samples", "max_train_samples",
    "resume_from_checkpoint", "save_total_limit", "saves_per_epoch", "early_stopping_patience",
    "eval_sample_packing", "val_file", "validation_file", "overwrite_cache", "dataset_name", "dataset_config",
    "dataset_prepared_path", "wandb_project", "hub_model_id", "push_to_hub", "run_name", "logging_dir",
};

static bool is_left_out(struct str key)
{
    for (size_t i = 0; i < sizeof LEFT_OUT / sizeof *LEFT_OUT; i++)
        if (str_is(key, LEFT_OUT[i]))
            return true;
    return false;
}

static int change_of(enum framework framework, struct str key)
{
    for (size_t i = 0; i < N_CHANGES; i++)
        if (CHANGES[i].name[framework][0] && str_is(key, CHANGES[i].name[framework]))
            return (int)i;
    return -1;
}

/* ---- Computed values ----------------------------------------------------------------------------- */

static double micro_batch(const struct ten *ten)
{
    double micro;

    if (!facts_number(ten->facts, "per_device_train_batch_size", &micro) || !(micro >= 1.0))
        micro = 1.0;
    return fmin(floor(micro), (double)ten->n);
}

static double rate(const struct ten *ten)
{
    double set, low = 5e-5, high = 5e-4;

    if (facts_is_adapter_run(ten->facts, NULL) == 0) {
        low = 1e-5;
        high = 5e-5;
    }
    if (!facts_number(ten->facts, "learning_rate", &set) || !(set > 0.0))
        set = low;
    return fmin(fmax(set, low), high);
}

/* The first of axolotl's data sets with the path changed, so that its type and columns stay. */
static void put_axolotl_data(const struct ten *ten, const struct json *tree, struct buf *out)
{
    const struct json *first = json_get(tree, "datasets");

    buf_puts(out, "[{\"path\": ");
    json_write_string(out, str_of(ten->data_name));
    buf_puts(out, ", \"ds_type\": \"json\"");
    first = json_is(first, JSON_ARRAY) ? first->child : NULL;
    for (const struct json *member = json_is(first, JSON_OBJECT) ? first->child : NULL; member;
         member = member->next) {
        if (str_is(member->key, "path") || str_is(member->key, "ds_type") || str_is(member->key, "split") ||
            str_is(member->key, "name") || str_is(member->key, "data_files"))
            continue;
        buf_puts(out, ", ");
        json_write_string(out, member->key);
        buf_puts(out, ": ");
        json_write(out, member);
    }
    buf_puts(out, "}]");
}

static void put_value(const struct ten *ten, enum framework framework, size_t change, const struct json *tree,
                      struct buf *out)
{
    char number[32];

    switch (CHANGES[change].computed) {
    case FIXED:
        if (CHANGES[change].value)
            buf_puts(out, CHANGES[change].value);
        else
            buf_puts(out, framework == AXOLOTL ? "\"disabled\"" : "\"none\"");
        break;
    case MICRO_BATCH:
        buf_printf(out, "%.0f", micro_batch(ten));
        break;
    case RATE:
        number_repr(number, rate(ten));
        buf_puts(out, number);
        break;
    case SAVE_STEPS:
        buf_printf(out, "%.0f", 40.0 * ceil((double)ten->n / micro_batch(ten)));
        break;
    case DATA:
        if (framework == AXOLOTL)
            put_axolotl_data(ten, tree, out);
        else
            json_write_string(out, str_of(framework == LLAMAFACTORY ? "overfit10" : ten->data_name));
        break;
    case DATA_DIR:
        buf_puts(out, "\".\"");
        break;
    case OUTPUT:
        buf_puts(out, "\"overfit10-out\"");
        break;
    }
}

/* ---- Writing ----------------------------------------------------------------------------------------- */

struct writer {
    const struct ten *ten;
    enum framework framework;
    const struct json *tree;    /* of the config file; NULL: from recorded settings */
    bool is_yaml;
    struct buf text;
    bool is_done[N_CHANGES];
};

static void put_key(struct writer *writer, struct str key)
{
    if (!writer->is_yaml) {
        buf_puts(&writer->text, writer->text.n > 2 ? ",\n  " : "  ");
        json_write_string(&writer->text, key);
        buf_puts(&writer->text, ": ");
        return;
    }
    buf_str(&writer->text, key);
    buf_puts(&writer->text, ": ");
}

static void end_value(struct writer *writer)
{
    if (writer->is_yaml)
        buf_putc(&writer->text, '\n');
}

static void put_change(struct writer *writer, size_t change)
{
    writer->is_done[change] = true;
    put_key(writer, str_of(CHANGES[change].name[writer->framework]));
    put_value(writer->ten, writer->framework, change, writer->tree, &writer->text);
    end_value(writer);
}

static void put_tree(struct writer *writer)
{
    for (const struct json *member = writer->tree->child; member; member = member->next) {
        int change = change_of(writer->framework, member->key);

        if (change >= 0) {
            put_change(writer, (size_t)change);
        } else if (!is_left_out(member->key)) {
            put_key(writer, member->key);
            json_write(&writer->text, member);
            end_value(writer);
        }
    }
}

static void put_settings(struct writer *writer)
{
    const struct run_facts *facts = writer->ten->facts;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *setting = &facts->settings[i];

        if (setting->side != SIDE_TRAIN || !setting->name || strchr(setting->name, '.') ||
            change_of(TRANSFORMERS, str_of(setting->name)) >= 0 || is_left_out(str_of(setting->name)) ||
            facts_setting(facts, setting->name) != setting)
            continue;
        put_key(writer, str_of(setting->name));
        if (setting->type == VALUE_TEXT)
            json_write_string(&writer->text, str_of(setting->value));
        else
            buf_puts(&writer->text, setting->type == VALUE_NULL ? "null" : setting->value);
    }
}

static void put_rest(struct writer *writer)
{
    for (size_t i = 0; i < N_CHANGES; i++)
        if (!writer->is_done[i] && CHANGES[i].name[writer->framework][0])
            put_change(writer, i);
}

/* The file that the run was configured with, as a tree; NULL when there is none that can be read. */
static const struct source *find_config(const struct ten *ten, const struct json **tree)
{
    const struct run_facts *facts = ten->facts;

    for (size_t i = 0; i < facts->n_sources; i++) {
        const struct source *source = &facts->sources[i];
        struct str path = str_of(source->path);
        struct error why;

        if (strcmp(source->importer, "llamafactory") != 0 && strcmp(source->importer, "settings_file") != 0)
            continue;
        if ((str_ends(path, ".yaml") || str_ends(path, ".yml")) &&
            yaml_read_file(source->path, ten->arena, tree, &why) == OK && json_is(*tree, JSON_OBJECT))
            return source;
        if (str_ends(path, ".json") &&
            json_read_file(source->path, false, ten->arena, tree, NULL, &why) == OK &&
            json_is(*tree, JSON_OBJECT))
            return source;
    }
    *tree = NULL;
    return NULL;
}

static enum framework framework_of(const struct json *tree)
{
    if (json_get(tree, "micro_batch_size") || json_get(tree, "sequence_len"))
        return AXOLOTL;
    return json_get(tree, "finetuning_type") || json_get(tree, "cutoff_len") ? LLAMAFACTORY : TRANSFORMERS;
}

/* LLaMA-Factory finds data by name: the entry of the run's data set under a new one. */
static int write_dataset_info(const struct ten *ten, const struct made_folder *folder, struct error *err)
{
    static const char *const sharegpt[] = {"messages", "sharegpt"};
    struct buf text;
    int rc;
    bool is_sharegpt = false;

    for (size_t i = 0; i < 2; i++)
        is_sharegpt |= strcmp(ten->dataset->form, sharegpt[i]) == 0;
    buf_init(&text, 1 << 16);
    buf_puts(&text, "{\"overfit10\": {\"file_name\": ");
    json_write_string(&text, str_of(ten->data_name));
    if (is_sharegpt)
        buf_puts(&text, ", \"formatting\": \"sharegpt\"");
    if (strcmp(ten->dataset->form, "messages") == 0)
        buf_puts(&text, ", \"columns\": {\"messages\": \"messages\"}, \"tags\": {\"role_tag\": \"role\", "
                        "\"content_tag\": \"content\", \"user_tag\": \"user\", \"assistant_tag\": "
                        "\"assistant\", \"system_tag\": \"system\"}");
    buf_puts(&text, "}}\n");
    rc = made_file_write(folder, "dataset_info.json", &text,
                         "the rows under the name overfit10; copy column names of your own into it", err);
    buf_free(&text);
    return rc;
}

int ten_write_config(const struct ten *ten, const struct made_folder *folder, const char **name,
                     struct error *err)
{
    struct writer writer = {.ten = ten};
    const struct source *source = find_config(ten, &writer.tree);
    const char *about;
    int rc = OK;

    writer.framework = writer.tree ? framework_of(writer.tree) : TRANSFORMERS;
    writer.is_yaml = source && !str_ends(str_of(source->path), ".json");
    *name = writer.is_yaml ? "config.yaml" : "config.json";
    buf_init(&writer.text, CONFIG_BYTES);
    buf_puts(&writer.text, writer.is_yaml ? "" : "{\n");
    if (writer.tree)
        put_tree(&writer);
    else
        put_settings(&writer);
    put_rest(&writer);
    buf_puts(&writer.text, writer.is_yaml ? "" : "\n}\n");
    about = source ? arena_printf(ten->arena, "%s with the changes of the ten-row run",
                                  facts_file_name(ten->facts, source->id))
                   : "the recorded arguments by transformers' names, changed for the ten-row run";
    rc = made_file_write(folder, *name, &writer.text, about, err);
    buf_free(&writer.text);
    return rc == OK && writer.framework == LLAMAFACTORY ? write_dataset_info(ten, folder, err) : rc;
}
