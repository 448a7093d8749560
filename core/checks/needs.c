/* Which kinds of data a run has. Presence only: whether they suffice is the rule's question. */
#include "core/checks/needs.h"

#include <string.h>

static const char *const HINTS[N_NEEDS] = {
    "the console log of the run (stdout and stderr as text)",
    ("metric rows of the training (trainer_state.json, trainer_log.jsonl, metrics.jsonl or a "
     "console log)"),
    "metric rows of an evaluation (trainer_state.json or a console log with eval_loss)",
    "the training arguments (training_args.bin, training_args.json or the framework's YAML)",
    "config.json of the base model",
    "the tokenizer folder (tokenizer.json, tokenizer_config.json)",
    "the chat template (chat_template.jinja or tokenizer_config.json)",
    "the training data (JSONL, JSON, CSV, Parquet or Arrow)",
    "the test or evaluation data (JSONL, JSON, CSV, Parquet or Arrow)",
    "rows with labels (labels_sample.jsonl with input_ids and labels)",
    "token lengths of the rows (lengths.csv)",
    "the checkpoint folders",
    "adapter_model.safetensors of the run",
    "generations.jsonl of the base and the fine-tuned model",
    "scored items of an evaluation (eval_results.jsonl)",
    "judgements (judge.jsonl)",
    "the serving side (serve.json or deploy.json)",
    "a captured request (prompt_infer.txt)",
    "the git history of the configuration",
};

const char *need_hint(enum need need)
{
    for (unsigned i = 0; i < N_NEEDS; i++)
        if ((unsigned)need == 1u << i)
            return HINTS[i];
    return "more of the run's files";
}

static unsigned needs_of_series(const struct run_facts *facts)
{
    unsigned met = 0;

    for (size_t i = 0; i < facts->n_series; i++) {
        const char *name =
            facts->series[i].name ? facts->series[i].name : facts->series[i].raw_name;
        if (!name)
            continue;
        met |= strncmp(name, "eval_", 5) == 0 ? NEEDS_EVAL_SERIES : NEEDS_TRAIN_SERIES;
    }
    return met;
}

static unsigned needs_of_settings(const struct run_facts *facts)
{
    static const unsigned BY_SIDE[] = {
        [SIDE_TRAIN] = NEEDS_SETTINGS,
        [SIDE_EVAL] = 0,
        [SIDE_SERVE] = NEEDS_SERVING,
        [SIDE_MODEL] = NEEDS_MODEL_CONFIG,
        [SIDE_ADAPTER] = 0,
        [SIDE_TOKENIZER] = NEEDS_TOKENIZER,
        [SIDE_GENERATION] = 0,
    };
    unsigned met = 0;

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *setting = &facts->settings[i];
        /* What the rows say of themselves is no training argument. */
        if (!setting->raw_name || strncmp(setting->raw_name, "rows.", 5) != 0)
            met |= BY_SIDE[setting->side];
        if (setting->side == SIDE_TOKENIZER && setting->name &&
            strcmp(setting->name, "chat_template") == 0)
            met |= NEEDS_TEMPLATE;
    }
    return met;
}

static unsigned needs_of_artefacts(const struct run_facts *facts)
{
    unsigned met = 0;

    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *artefact = &facts->artefacts[i];
        size_t n = 0;
        if (strcmp(artefact->kind, "tokenizer") == 0)
            met |= NEEDS_TOKENIZER;
        else if (strcmp(artefact->kind, "template") == 0)
            met |= NEEDS_TEMPLATE;
        else if (strcmp(artefact->kind, "checkpoint") == 0)
            met |= NEEDS_CHECKPOINTS;
        else if (strcmp(artefact->kind, "adapter") == 0) {
            (void)facts_tensors(facts, artefact, &n);
            met |= n > 0 ? NEEDS_ADAPTER_TENSORS : 0u;
        }
    }
    return met;
}

static unsigned needs_of_datasets(const struct run_facts *facts)
{
    unsigned met = 0;
    size_t n = 0;

    for (size_t i = 0; i < facts->n_datasets; i++) {
        const char *form = facts->datasets[i].form ? facts->datasets[i].form : "";
        const char *split = facts->datasets[i].split ? facts->datasets[i].split : "";
        if (strcmp(form, "tokens") == 0)
            met |= NEEDS_LABELS;
        else if (strcmp(form, "lengths") == 0)
            met |= NEEDS_LENGTHS;
        else if (strcmp(split, "test") == 0 || strcmp(split, "eval") == 0)
            met |= NEEDS_TEST_DATASET;
        else
            met |= NEEDS_DATASET;
    }
    if (facts_lengths(facts, &n, NULL) && n > 0)
        met |= NEEDS_LENGTHS;
    return met;
}

unsigned needs_met(const struct run_facts *facts)
{
    unsigned met = needs_of_series(facts) | needs_of_settings(facts) | needs_of_artefacts(facts) |
                   needs_of_datasets(facts);
    size_t n = 0;

    if (facts->n_events > 0)
        met |= NEEDS_LOG;
    for (size_t i = 0; i < facts->n_sources; i++)
        if (facts->sources[i].importer && strncmp(facts->sources[i].importer, "console", 7) == 0)
            met |= NEEDS_LOG;
    if (facts->n_generations > 0)
        met |= NEEDS_GENERATIONS;
    if (facts->n_eval_suites > 0)
        met |= NEEDS_EVAL_ITEMS;
    if (facts_judgements(facts, &n) && n > 0)
        met |= NEEDS_JUDGEMENTS;
    return met;
}
