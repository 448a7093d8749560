/* IMPORTERS: the one list. The order decides ties of probe. */
#ifndef IMPORTERS_REGISTRY_H
#define IMPORTERS_REGISTRY_H

#include "importers/importer.h"

#define IMPORTERS(X)     \
    X(hf_trainer_state)  \
    X(hf_results)        \
    X(hf_training_args)  \
    X(llamafactory)      \
    X(trainer_log)       \
    X(tensorboard)       \
    X(wandb)             \
    X(mlflow_files)      \
    X(mlflow_db)         \
    X(trackio)           \
    X(deepspeed)         \
    X(axolotl)           \
    X(torchtune)         \
    X(litgpt)            \
    X(ms_swift)          \
    X(nemo)              \
    X(unsloth)           \
    X(accelerate)        \
    X(peft_adapter)      \
    X(hf_model)          \
    X(model_card)        \
    X(tokenizer)         \
    X(chat_template)     \
    X(side_files)        \
    X(rendered_prompts)  \
    X(openai_request)    \
    X(ollama_modelfile)  \
    X(gguf)              \
    X(serve_command)     \
    X(serve_config)      \
    X(server_log)        \
    X(completions)       \
    X(generations)       \
    X(eval_results)      \
    X(judge)             \
    X(lm_eval)           \
    X(eval_logs)         \
    X(eval_tables)       \
    X(dataset_facts)     \
    X(dataset_rows)      \
    X(metrics_table)     \
    X(environment)       \
    X(settings_file)     \
    X(console_log)       \
    X(notebook)          \
    X(checkpoints)

#define IMPORTER_DECLARE(name) extern const struct importer importer_##name;
IMPORTERS(IMPORTER_DECLARE)
#undef IMPORTER_DECLARE

size_t importer_count(void);
const struct importer *importer_at(size_t i);
const struct importer *importer_by_id(const char *id);
/* The surest importer for a file and its score; NULL when nobody wants it. `second` (may be NULL)
 * gets the next one when it is as sure. */
const struct importer *importer_probe(const struct peek *peek, int *score,
                                      const struct importer **second);

#endif
