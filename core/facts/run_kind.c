/* What kind of training a run was, from the keys it logged, the settings and the rows. */
#include "core/facts/run_kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/facts_cache.h"
#include "core/read/source.h"

#define TEN_ROW_MAX_ROWS   20
#define TEN_ROW_MIN_EPOCHS 10
#define TEXT_HEAD_BYTES    ((size_t)64 << 10)

/* ---- Small questions ---- */

static bool has_series(const struct run_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->n_series; i++)
        if (strcmp(facts->series[i].name, name) == 0 ||
            strcmp(facts->series[i].raw_name, name) == 0)
            return true;
    return false;
}

static bool has_series_beginning(const struct run_facts *facts, const char *prefix)
{
    for (size_t i = 0; i < facts->n_series; i++)
        if (strncmp(facts->series[i].raw_name, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

static bool contains(const char *text, const char *word)
{
    return text && str_has_ignoring_case(str_of(text), word);
}

static bool is_word(const char *text, const char *const *words)
{
    for (; text && *words; words++)
        if (str_is_ignoring_case(str_trim(str_of(text)), *words))
            return true;
    return false;
}

static bool is_stated(const struct run_facts *facts, const char *name)
{
    return facts_text(facts, name) != NULL;
}

/* "trl.trainer.sft_config.SFTConfig", or the trainer's own name where a file gives it. */
static const char *args_class(const struct run_facts *facts)
{
    const char *class = facts_text(facts, "args_class");

    return class ? class : facts_text(facts, "trainer");
}

static bool has_columns(const struct dataset *dataset, const char *const *names)
{
    for (; *names; names++) {
        struct str rest = str_of(dataset->columns), part; /* NULL: no columns known */
        bool found = false;

        while (!found && str_split(&rest, ',', &part))
            found = str_is(str_trim(part), *names);
        if (!found)
            return false;
    }
    return true;
}

static bool is_form(const struct dataset *dataset, const char *const *forms)
{
    return is_word(dataset->form, forms);
}

static bool trains_on(const struct dataset *dataset)
{
    return !dataset->split || strcmp(dataset->split, "train") == 0;
}

static bool any_training_form(const struct run_facts *facts, const char *const *forms)
{
    for (size_t i = 0; i < facts->n_datasets; i++)
        if (trains_on(&facts->datasets[i]) && is_form(&facts->datasets[i], forms))
            return true;
    return false;
}

/* One of the model's architectures ends with the word. */
static bool architecture_ends(const struct run_facts *facts, const char *end)
{
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        const char *const *items;

        if (s->side != SIDE_MODEL || !s->name || strcmp(s->name, "architectures") != 0)
            continue;
        size_t n = setting_list(s, facts, &items);
        for (size_t k = 0; k < n; k++)
            if (str_ends(str_of(items[k]), end))
                return true;
    }
    return false;
}

static bool task_type_is(const struct run_facts *facts, const char *const *words)
{
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];

        if ((s->side == SIDE_ADAPTER || s->side == SIDE_TRAIN) && s->name &&
            strcmp(s->name, "task_type") == 0 && is_word(s->value, words))
            return true;
    }
    return false;
}

static bool has_importer(const struct run_facts *facts, const char *importer)
{
    for (size_t i = 0; i < facts->n_sources; i++)
        if (strcmp(facts->sources[i].importer, importer) == 0)
            return true;
    return false;
}

/* ---- The kinds, in the order of CHECKS.md 2.1 ---- */

/* A word for the kind ("dpo") counts more than settings of another one: some trainers record the
 * defaults of all. */
static bool is_grpo(const struct run_facts *facts)
{
    static const char *const RL[] = {"grpo", "rloo", "dapo", NULL};
    const char *class = args_class(facts);

    return (has_series(facts, "reward") && has_series(facts, "reward_std")) ||
           (is_stated(facts, "num_generations") && !facts_text(facts, "rl")) ||
           contains(class, "GRPO") || contains(class, "RLOO") ||
           is_word(facts_text(facts, "rl"), RL) || /* verl, without a critic */
           (has_series(facts, "actor/pg_loss") && !has_series(facts, "critic/vf_loss"));
}

static bool is_ppo(const struct run_facts *facts)
{
    static const char *const PPO[] = {"ppo", NULL};
    const char *class = args_class(facts);

    return has_series(facts, "objective/kl") || has_series(facts, "env/reward_mean") ||
           has_series_beginning(facts, "ppo/") || has_series(facts, "critic/vf_loss") ||
           /* OpenRLHF */
           (has_series(facts, "train/policy_loss") && has_series(facts, "train/return")) ||
           (is_stated(facts, "init_kl_coef") && !facts_text(facts, "rl")) ||
           contains(class, "PPOConfig") || contains(class, "PPOTrainer") ||
           facts_event(facts, "negative-kl", NULL) ||
           is_word(facts_text(facts, "stage"), PPO) || is_word(facts_text(facts, "rl"), PPO);
}

static bool is_reward_model_by_name(const struct run_facts *facts)
{
    static const char *const RM[] = {"rm", "reward", NULL};
    const char *class = args_class(facts);

    return is_word(facts_text(facts, "stage"), RM) || is_word(facts_text(facts, "rl"), RM) ||
           contains(class, "RewardConfig") || contains(class, "RewardTrainer");
}

/* Without training rows, pairs that are held out tell the kind as well. */
static bool has_training_rows(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_datasets; i++)
        if (trains_on(&facts->datasets[i]))
            return true;
    return false;
}

/* chosen and rejected side by side; the form alone is not enough, since KTO rows have neither. */
static bool has_pairs(const struct run_facts *facts)
{
    static const char *const PAIR[] = {"chosen", "rejected", NULL};
    static const char *const FORMS[] = {"preference", "kto", NULL};

    for (size_t i = 0; i < facts->n_datasets; i++)
        if ((trains_on(&facts->datasets[i]) || !has_training_rows(facts)) &&
            (is_form(&facts->datasets[i], FORMS) ||
             (facts->datasets[i].columns && has_columns(&facts->datasets[i], PAIR))))
            return true;
    return false;
}

static bool is_dpo(const struct run_facts *facts)
{
    static const char *const RL[] = {"dpo", "ipo", "orpo", "cpo", "simpo", "kto", NULL};
    static const char *const CLASSES[] = {"DPOConfig", "DPOTrainer", "KTO",       "ORPO",
                                          "CPOConfig", "CPOTrainer", "OnlineDPO", NULL};
    const char *class = args_class(facts);

    if (has_series(facts, "rewards/chosen") || has_series(facts, "rewards/margins") ||
        is_stated(facts, "pref_loss") || is_word(facts_text(facts, "rl"), RL) ||
        is_word(facts_text(facts, "stage"), RL))
        return true;
    for (size_t i = 0; CLASSES[i]; i++)
        if (contains(class, CLASSES[i]))
            return true;
    return has_pairs(facts) && !is_reward_model_by_name(facts) &&
           !architecture_ends(facts, "ForSequenceClassification");
}

static bool is_reward_model(const struct run_facts *facts)
{
    return is_reward_model_by_name(facts) || has_pairs(facts);
}

/* The first bytes of the file that the rows are from; free() it. NULL: not readable any more. */
static char *head_of(const struct run_facts *facts, const struct dataset *dataset, size_t *n)
{
    const struct source *source = facts_source(facts, dataset->source_id);
    struct source_file *file = NULL;
    char *head = malloc(TEXT_HEAD_BYTES);

    *n = 0;
    if (head && source && source_open(&file, source->path, NULL) == OK &&
        source_at(file, 0, head, TEXT_HEAD_BYTES, n, NULL) != OK)
        *n = 0;
    source_close(file);
    return head;
}

static bool has_class_labels(const struct run_facts *facts)
{
    static const char *const LABEL[] = {"label", NULL}, *const LABELS[] = {"labels", NULL};
    static const char *const PLAIN[] = {"other", "text", NULL};

    for (size_t i = 0; i < facts->n_datasets; i++) {
        const struct dataset *d = &facts->datasets[i];

        if (trains_on(d) && is_form(d, PLAIN) && d->columns &&
            (has_columns(d, LABEL) || has_columns(d, LABELS)))
            return true;
    }
    return false;
}

static bool is_classification(const struct run_facts *facts)
{
    static const char *const ENDS[] = {"ForSequenceClassification", "ForTokenClassification",
                                       "ForMultipleChoice", NULL};
    static const char *const TASKS[] = {"SEQ_CLS", "TOKEN_CLS", NULL};

    for (size_t i = 0; ENDS[i]; i++)
        if (architecture_ends(facts, ENDS[i]))
            return true;
    return task_type_is(facts, TASKS) ||
           (has_class_labels(facts) && !architecture_ends(facts, "ForCausalLM"));
}

/* Its arguments are a class of its own, named after transformers' Seq2SeqTrainingArguments. */
static bool is_ms_swift(const struct run_facts *facts)
{
    return has_importer(facts, "ms_swift") || contains(args_class(facts), "swift.");
}

static bool is_llamafactory(const struct run_facts *facts)
{
    const char *class = args_class(facts);

    return has_importer(facts, "llamafactory") || has_importer(facts, "trainer_log") ||
           contains(class, "llamafactory") || contains(class, "llmtuner");
}

/* Encoder and decoder: Qwen2-VL and its like end with ForConditionalGeneration, too. */
static bool has_encoder(const struct run_facts *facts)
{
    static const char *const FAMILIES[] = {"t5",         "mt5",    "umt5",    "bart",       "mbart",
                                           "pegasus",    "marian", "m2m_100", "longt5",     "led",
                                           "nllb",       "byt5",   "whisper", "blenderbot", "fsmt",
                                           "prophetnet", NULL};
    const struct setting *type = facts_setting_on(facts, SIDE_MODEL, "model_type");

    return setting_bool(facts_setting_on(facts, SIDE_MODEL, "is_encoder_decoder")) == 1 ||
           (type && is_word(type->value, FAMILIES));
}

static bool is_seq2seq(const struct run_facts *facts)
{
    static const char *const TASKS[] = {"SEQ_2_SEQ_LM", NULL};
    static const char *const OTHER[] = {"CAUSAL_LM", NULL};

    if (task_type_is(facts, TASKS))
        return true;
    if ((architecture_ends(facts, "ForConditionalGeneration") ||
         architecture_ends(facts, "MTModel") || architecture_ends(facts, "MarianMTModel")) &&
        has_encoder(facts))
        return true;
    return contains(args_class(facts), "Seq2Seq") && !is_llamafactory(facts) &&
           !is_ms_swift(facts) &&
           !task_type_is(facts, OTHER) && !has_importer(facts, "peft_adapter") &&
           !facts_setting_on(facts, SIDE_MODEL, "architectures");
}

/* A text column that was rendered before training still shows its turns: a mark of a template, or
 * two words that answer each other. */
static bool text_has_turns(const struct run_facts *facts, const struct dataset *dataset)
{
    static const struct {
        const char *mark, *answer; /* answer NULL: the mark is enough */
    } MARKS[] = {
        {"<|im_start|>", NULL},
        {"[INST]", NULL},
        {"### ", NULL},
        {"<|user|>", NULL},
        {"<|assistant|>", NULL},
        {"<start_of_turn>", NULL},
        {"<|start_header_id|>", NULL},
        {"USER:", "ASSISTANT:"},
        {"User:", "Assistant:"},
        {"Human:", "Assistant:"},
        {"Question:", "Answer:"},
        {"Q:", "A:"},
        {"Instruction:", "Response:"},
        {"Input:", "Output:"},
    };
    size_t n;
    char *head = head_of(facts, dataset, &n);
    struct str text = str_from(head, n);
    bool found = false;

    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS && n && !found; i++)
        found = str_find(text, MARKS[i].mark) >= 0 &&
                (!MARKS[i].answer || str_find(text, MARKS[i].answer) >= 0);
    free(head);
    return found;
}

static bool has_plain_text_rows(const struct run_facts *facts)
{
    static const char *const PLAIN[] = {"text", NULL};
    static const char *const LABEL[] = {"label", NULL};
    static const char *const TURNS[] = {
        "messages", "sharegpt", "prompt-completion", "preference", "alpaca", "kto", NULL};
    bool found = false;

    if (any_training_form(facts, TURNS))
        return false;
    for (size_t i = 0; i < facts->n_datasets; i++) {
        const struct dataset *d = &facts->datasets[i];

        if (!trains_on(d) || !is_form(d, PLAIN) || has_columns(d, LABEL))
            continue;
        if (text_has_turns(facts, d))
            return false;
        found = true;
    }
    return found;
}

static bool is_pretraining(const struct run_facts *facts)
{
    static const char *const STAGE[] = {"pt", "pretrain", "pretraining", NULL};

    if (is_word(facts_text(facts, "stage"), STAGE))
        return true;
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        const char *dot = strrchr(s->raw_name, '.');

        /* axolotl: datasets[].type: completion */
        if (s->side == SIDE_TRAIN && s->value && strcmp(dot ? dot + 1 : s->raw_name, "type") == 0 &&
            strcmp(s->value, "completion") == 0)
            return true;
        if (s->side == SIDE_TRAIN && s->type == VALUE_LIST && s->value &&
            strcmp(s->raw_name, "datasets") == 0 && strstr(s->value, "\"type\":\"completion\""))
            return true;
    }
    /* A mask that looks for the answer says that there is one. */
    return !facts_text(facts, "stage") && !is_stated(facts, "response_template") &&
           !is_stated(facts, "completion_only_loss") && has_plain_text_rows(facts);
}

static bool has_training_signs(const struct run_facts *facts)
{
    static const char *const SFT_FORMS[] = {
        "messages", "sharegpt", "prompt-completion", "alpaca", "text", "tokens", NULL};
    static const char *const TASK[] = {"CAUSAL_LM", NULL};
    static const char *const SFT[] = {"sft", NULL};
    /* Rows alone are a data set, not a run: something has to say that there was training. */
    bool was_training = args_class(facts) || is_stated(facts, "learning_rate") ||
                        is_stated(facts, "num_train_epochs") || has_series(facts, "loss") ||
                        has_importer(facts, "console_log");

    return is_word(facts_text(facts, "stage"), SFT) || contains(args_class(facts), "SFT") ||
           task_type_is(facts, TASK) ||
           (was_training &&
            (architecture_ends(facts, "ForCausalLM") || architecture_ends(facts, "LMHeadModel") ||
             any_training_form(facts, SFT_FORMS)));
}

static enum run_kind decide(const struct run_facts *facts)
{
    static const struct {
        bool (*is)(const struct run_facts *facts);
        enum run_kind kind;
    } ORDER[] = {
        {is_grpo, KIND_GRPO},
        {is_ppo, KIND_PPO},
        {is_dpo, KIND_DPO},
        {is_reward_model, KIND_REWARD_MODEL},
        {is_classification, KIND_CLASSIFICATION},
        {is_seq2seq, KIND_SEQ2SEQ},
        {is_pretraining, KIND_PRETRAINING},
        {has_training_signs, KIND_SFT},
    };

    for (size_t i = 0; i < sizeof ORDER / sizeof *ORDER; i++)
        if (ORDER[i].is(facts))
            return ORDER[i].kind;
    return KIND_UNKNOWN;
}

/* ---- Marks ---- */

static bool was_trained(const struct run_facts *facts)
{
    return has_series(facts, "loss") || has_series(facts, "train_loss") ||
           has_series(facts, "train_runtime") || has_series(facts, "learning_rate") ||
           has_series(facts, "reward") || facts->last_step > 0;
}

static bool is_eval_only(const struct run_facts *facts)
{
    if (was_trained(facts))
        return false;
    if (facts_bool(facts, "do_train") == 1)
        return false;
    /* do_train false alone says nothing: the Trainer never sets it, only the example scripts do. */
    if (facts_bool(facts, "do_predict") == 1 || has_series_beginning(facts, "predict_"))
        return true;
    return facts_event(facts, "eval-marker", NULL) && !facts_event(facts, "start-marker", NULL) &&
           !facts_event(facts, "last-progress", NULL);
}

static unsigned decide_marks(const struct run_facts *facts)
{
    unsigned marks = is_eval_only(facts) ? MARK_EVAL_ONLY : 0;
    int64_t rows = facts_train_rows(facts, NULL);
    double epochs = facts->planned_epochs;

    if (isnan(epochs) || facts->last_epoch > epochs)
        epochs = facts->last_epoch;
    if (rows > 0 && rows <= TEN_ROW_MAX_ROWS && epochs >= TEN_ROW_MIN_EPOCHS)
        marks |= MARK_TEN_ROW_TEST;
    return marks;
}

void run_kind_decide(struct run_facts *facts)
{
    const char *answer = facts_answer(facts, "kind");
    enum run_kind kind;

    facts->kind_is_assumed = false;
    facts->run.kind = decide(facts);
    if (facts->run.kind == KIND_UNKNOWN && (has_series(facts, "loss") || args_class(facts) ||
                                            (facts->has_training_log && facts->last_step > 0))) {
        facts->run.kind = KIND_SFT;
        facts->kind_is_assumed = true;
    }
    if (answer && run_kind_parse(answer, &kind)) {
        facts->run.kind = kind;
        facts->kind_is_assumed = false;
    }
    facts->run.marks = decide_marks(facts);
}

/* ---- Framework ---- */

static const char *named(const struct run_facts *facts, struct arena *arena, const char *shown,
                         const char *package)
{
    const char *version = facts_package(facts, package);

    return version ? arena_printf(arena, "%s %s", shown, version) : shown;
}

static bool has_pattern(const struct run_facts *facts, const char *prefix)
{
    for (size_t i = 0; i < facts->n_events; i++)
        if (facts->events[i].pattern &&
            strncmp(facts->events[i].pattern, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

const char *run_framework(const struct run_facts *facts, struct arena *arena)
{
    const char *class = args_class(facts);
    const char *transformers = facts_package(facts, "transformers");

    if (is_llamafactory(facts))
        return named(facts, arena, "LLaMA-Factory", "llamafactory");
    if (has_pattern(facts, "axolotl-") || has_importer(facts, "axolotl"))
        return named(facts, arena, "axolotl", "axolotl");
    if (has_pattern(facts, "unsloth-") || contains(class, "unsloth") ||
        has_importer(facts, "unsloth"))
        return named(facts, arena, "Unsloth", "unsloth");
    if (is_ms_swift(facts))
        return named(facts, arena, "ms-swift", "ms-swift");
    if (has_importer(facts, "nemo"))
        return named(facts, arena, "NeMo", "nemo-toolkit");
    if (contains(class, "trl.") || contains(class, "SFTConfig") || contains(class, "DPOConfig") ||
        contains(class, "GRPOConfig") ||
        (facts_package(facts, "trl") && !contains(class, "TrainingArguments"))) {
        const char *trl = named(facts, arena, "TRL", "trl");

        return transformers && strcmp(trl, "TRL") == 0
                   ? arena_printf(arena, "TRL, transformers %s", transformers)
                   : trl;
    }
    if (has_pattern(facts, "metric-lightning") || has_pattern(facts, "trainable-params-lightning"))
        return named(facts, arena, "Lightning", "lightning");
    if (has_pattern(facts, "metric-litgpt") || has_importer(facts, "litgpt"))
        return named(facts, arena, "LitGPT", "litgpt");
    if (has_pattern(facts, "metric-torchtune") || has_importer(facts, "torchtune"))
        return named(facts, arena, "torchtune", "torchtune");
    if (has_pattern(facts, "metric-mlx"))
        return named(facts, arena, "MLX", "mlx-lm");
    if (transformers)
        return arena_printf(arena, "transformers %s", transformers);
    if (class || has_importer(facts, "hf_trainer_state") || has_pattern(facts, "train-runtime"))
        return "transformers";
    return NULL;
}
