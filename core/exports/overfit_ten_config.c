/* The run's own config, changed for the ten-row run (CHECKS.md 7.1). See overfit_ten.h.
 *
 * The file the run was configured with is written again key by key with the few changes, under the
 * framework's own names; where only recorded arguments are there, they are written under
 * transformers' or TRL's names. A JSON value is a YAML value too. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/exports/overfit_ten_parts.h"
#include "core/read/yaml.h"

#define CONFIG_BYTES ((size_t)8 << 20)

enum framework { TRANSFORMERS, LLAMAFACTORY, AXOLOTL, TRL, N_FRAMEWORKS };

/* Where a setting is only changed, not added: its default is right, and not every version or script has
 * it under this name. */
#define ONLY_CHANGED(framework) (1u << (framework))
#define ONLY_CHANGED_BY_ALL     ((1u << N_FRAMEWORKS) - 1)

/* What is set, under each framework's name ("" where it has none; TRL's are transformers' but for the
 * data). The value is JSON, or NULL for one that is computed. */
enum computed { FIXED, MICRO_BATCH, RATE, SAVE_STEPS, DATA, DATA_DIR, OUTPUT };
static const struct {
    const char *name[TRL];
    const char *value;
    enum computed computed;
    unsigned only_changed;
} CHANGES[] = {
    {{"train_file", "dataset", "datasets"}, NULL, DATA, 0},
    {{"", "dataset_dir", ""}, NULL, DATA_DIR, 0},
    {{"output_dir", "output_dir", "output_dir"}, NULL, OUTPUT, 0},
    {{"num_train_epochs", "num_train_epochs", "num_epochs"}, "40", FIXED, 0},
    {{"per_device_train_batch_size", "per_device_train_batch_size", "micro_batch_size"},
     NULL,
     MICRO_BATCH,
     0},
    {{"gradient_accumulation_steps", "gradient_accumulation_steps", "gradient_accumulation_steps"},
     "1",
     FIXED, 0},
    {{"learning_rate", "learning_rate", "learning_rate"}, NULL, RATE, 0},
    {{"lr_scheduler_type", "lr_scheduler_type", "lr_scheduler"}, "\"constant\"", FIXED, 0},
    {{"warmup_steps", "warmup_steps", "warmup_steps"}, "0", FIXED, 0},
    {{"weight_decay", "weight_decay", "weight_decay"}, "0.0", FIXED, 0},
    {{"lora_dropout", "lora_dropout", "lora_dropout"}, "0.0", FIXED, ONLY_CHANGED(TRANSFORMERS)},
    {{"label_smoothing_factor", "label_smoothing_factor", ""}, "0.0", FIXED, 0},
    {{"packing", "packing", "sample_packing"}, "false", FIXED, ONLY_CHANGED(TRANSFORMERS)},
    {{"logging_steps", "logging_steps", "logging_steps"}, "1", FIXED, 0},
    {{"logging_nan_inf_filter", "logging_nan_inf_filter", ""}, "false", FIXED, 0},
    {{"report_to", "report_to", "wandb_mode"}, NULL, FIXED, 0},
    {{"eval_strategy", "eval_strategy", "eval_strategy"}, "\"no\"", FIXED, ONLY_CHANGED_BY_ALL},
    {{"evaluation_strategy", "evaluation_strategy", "evaluation_strategy"},
     "\"no\"",
     FIXED,
     ONLY_CHANGED_BY_ALL},
    {{"", "val_size", "val_set_size"}, "0", FIXED, 0},
    {{"save_strategy", "save_strategy", "save_strategy"}, "\"steps\"", FIXED, 0},
    {{"save_steps", "save_steps", "save_steps"}, NULL, SAVE_STEPS, 0},
    {{"seed", "seed", "seed"}, "42", FIXED, 0},
};
#define N_CHANGES (sizeof CHANGES / sizeof *CHANGES)

/* Settings that must not stand in such a run: other data or a part of it (tokenized_path is read instead of
 * the data set), evaluation and what needs it, loggers, a run to go on from, a schedule's own details. */
static const char *const LEFT_OUT[] = {
    "auto_resume_from_checkpoints", "batch_flattening", "batch_size", "buffer_size", "dataset_config",
    "dataset_mixer", "dataset_name", "dataset_prepared_path", "dataset_shard_idx", "dataset_shard_num",
    "dataset_streaming", "dataset_test_split", "dataset_train_split", "do_bench_eval", "do_causal_lm_eval",
    "do_eval", "do_predict", "early_stopping_patience", "early_stopping_steps", "eval_dataset",
    "eval_on_start", "eval_sample_packing", "eval_steps", "evals_per_epoch", "hub_model_id",
    "interleave_probs", "load_best_model_at_end", "logging_dir", "lr_scheduler_kwargs", "max_samples",
    "max_steps", "max_train_samples", "metric_for_best_model", "mix_strategy", "neat_packing",
    "neftune_noise_alpha", "noisy_embedding_alpha", "overwrite_cache", "predict_with_generate", "push_to_hub",
    "resume_from_checkpoint", "run_name", "save_total_limit", "saves_per_epoch", "streaming",
    "test_datasets", "test_file", "tokenized_path", "use_comet", "use_mlflow", "use_swanlab", "use_trackio",
    "val_file", "validation_file", "wandb_project", "warmup_ratio",
};

static bool is_left_out(struct str key)
{
    for (size_t i = 0; i < sizeof LEFT_OUT / sizeof *LEFT_OUT; i++)
        if (str_is(key, LEFT_OUT[i]))
            return true;
    return false;
}

static const char *name_of(enum framework framework, size_t change)
{
    if (framework != TRL)
        return CHANGES[change].name[framework];
    return CHANGES[change].computed == DATA ? "datasets" : CHANGES[change].name[TRANSFORMERS];
}

static int change_of(enum framework framework, struct str key)
{
    for (size_t i = 0; i < N_CHANGES; i++)
        if (name_of(framework, i)[0] && str_is(key, name_of(framework, i)))
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
    double set;
    int is_adapter = facts_is_adapter_run(ten->facts, NULL);
    double low = is_adapter == 1 ? 5e-5 : 1e-5;     /* not known: between the two */
    double high = is_adapter == 0 ? 5e-5 : 5e-4;

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

/* With a point: PyYAML takes 5e-05 for a text. */
static void put_number(double value, struct buf *out)
{
    char number[32];

    number_repr(number, value);
    size_t n = strcspn(number, "e");
    buf_add(out, number, n);
    buf_puts(out, number[n] && !memchr(number, '.', n) ? ".0" : "");
    buf_puts(out, number + n);
}

static void put_data(const struct ten *ten, enum framework framework, const struct json *tree,
                     struct buf *out)
{
    if (framework == AXOLOTL) {
        put_axolotl_data(ten, tree, out);
    } else if (framework == TRL) {
        buf_puts(out, "[{\"path\": \"json\", \"data_files\": ");
        json_write_string(out, str_of(ten->data_name));
        buf_puts(out, "}]");
    } else {
        json_write_string(out, str_of(framework == LLAMAFACTORY ? "overfit10" : ten->data_name));
    }
}

static void put_value(const struct ten *ten, enum framework framework, size_t change, const struct json *tree,
                      struct buf *out)
{
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
        put_number(rate(ten), out);
        break;
    case SAVE_STEPS:
        buf_printf(out, "%.0f", 40.0 * ceil((double)ten->n / micro_batch(ten)));
        break;
    case DATA:
        put_data(ten, framework, tree, out);
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
    put_key(writer, str_of(name_of(writer->framework, change)));
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
            if (json_is(member, JSON_NUMBER) && !member->is_integer && isfinite(member->number))
                put_number(member->number, &writer->text);
            else
                json_write(&writer->text, member);
            end_value(writer);
        }
    }
}

/* What a record says of the run that is no argument: names of ours, what transformers finds out itself, and
 * the words that it writes in the place of tokens ("<EOS_TOKEN>"). */
static bool is_no_argument(const struct setting *setting)
{
    static const char *const NAMES[] = {"args_class", "local_rank", "n_gpu", "precision", "world_size"};
    struct str value = str_of(setting->value ? setting->value : "");

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strcmp(setting->name, NAMES[i]) == 0)
            return true;
    return str_starts(value, "<") && str_ends(value, "_TOKEN>");
}

static bool is_kept(const struct writer *writer, const struct setting *setting)
{
    return setting->side == SIDE_TRAIN && setting->name && !strchr(setting->name, '.') &&
           change_of(writer->framework, str_of(setting->name)) < 0 &&
           !is_left_out(str_of(setting->name)) && !is_no_argument(setting) &&
           facts_setting(writer->ten->facts, setting->name) == setting;
}

static void put_settings(struct writer *writer)
{
    const struct run_facts *facts = writer->ten->facts;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *setting = &facts->settings[i];

        if (!is_kept(writer, setting))
            continue;
        put_key(writer, str_of(setting->name));
        if (setting->type == VALUE_TEXT)
            json_write_string(&writer->text, str_of(setting->value));
        else
            buf_puts(&writer->text, setting->type == VALUE_NULL ? "null" : setting->value);
    }
}

/* One that is only changed stands in the tree, where it is done by now, or among what was recorded. */
static bool is_wanted(const struct writer *writer, size_t change)
{
    const char *name = name_of(writer->framework, change);

    if (writer->is_done[change] || !name[0])
        return false;
    return !(CHANGES[change].only_changed & ONLY_CHANGED(writer->framework)) ||
           (!writer->tree && facts_setting(writer->ten->facts, name));
}

static void put_rest(struct writer *writer)
{
    for (size_t i = 0; i < N_CHANGES; i++)
        if (is_wanted(writer, i))
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

        if (strcmp(source->importer, "llamafactory") != 0 && strcmp(source->importer, "axolotl") != 0 &&
            strcmp(source->importer, "settings_file") != 0)
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

static bool has_any(const struct json *tree, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (json_get(tree, names[i]))
            return true;
    return false;
}

/* By settings that only one of them has. */
static enum framework framework_of(const struct json *tree)
{
    static const char *const axolotl[] = {"micro_batch_size", "sequence_len"};
    static const char *const llamafactory[] = {"finetuning_type", "cutoff_len"};
    static const char *const trl[] = {"assistant_only_loss", "completion_only_loss", "dataset_text_field",
                                      "dataset_train_split", "lora_r",           "lora_target_modules",
                                      "max_seq_length",      "use_peft"};

    if (has_any(tree, axolotl, 2))
        return AXOLOTL;
    if (has_any(tree, llamafactory, 2))
        return LLAMAFACTORY;
    return !json_get(tree, "train_file") && has_any(tree, trl, sizeof trl / sizeof *trl) ? TRL
                                                                                        : TRANSFORMERS;
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

/* Of recorded arguments: by their class. */
static enum framework framework_of_settings(const struct run_facts *facts)
{
    const char *class = facts_text(facts, "args_class");

    return class && str_starts(str_of(class), "trl.") ? TRL : TRANSFORMERS;
}

int ten_write_config(const struct ten *ten, const struct made_folder *folder, const char **name,
                     struct error *err)
{
    struct writer writer = {.ten = ten};
    const struct source *source = find_config(ten, &writer.tree);
    const char *about;
    int rc = OK;

    writer.framework = writer.tree ? framework_of(writer.tree) : framework_of_settings(ten->facts);
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
                   : "no config file of LLaMA-Factory, axolotl or TRL: the recorded arguments by "
                     "transformers' names, changed for the ten-row run";
    rc = made_file_write(folder, *name, &writer.text, about, err);
    buf_free(&writer.text);
    return rc == OK && writer.framework == LLAMAFACTORY ? write_dataset_info(ten, folder, err) : rc;
}
