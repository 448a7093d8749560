/* Names of the enums of model.h, as the command line, the store and the screens spell them. */
#include "core/model.h"

#include <string.h>

static const char *const RUN_KINDS[] = {
    [KIND_UNKNOWN] = "unknown",           [KIND_GRPO] = "grpo",
    [KIND_PPO] = "ppo",                   [KIND_DPO] = "dpo",
    [KIND_REWARD_MODEL] = "reward-model", [KIND_CLASSIFICATION] = "classification",
    [KIND_SEQ2SEQ] = "seq2seq",           [KIND_PRETRAINING] = "pretraining",
    [KIND_SFT] = "sft",
};
static const char *const OUTCOMES[] = {
    [OUTCOME_UNKNOWN] = "unknown", [OUTCOME_FINISHED] = "finished", [OUTCOME_CRASHED] = "crashed",
    [OUTCOME_STOPPED] = "stopped", [OUTCOME_RUNNING] = "running",
};
static const char *const SIDES[] = {
    [SIDE_TRAIN] = "train",     [SIDE_EVAL] = "eval",
    [SIDE_SERVE] = "serve",     [SIDE_MODEL] = "model",
    [SIDE_ADAPTER] = "adapter", [SIDE_TOKENIZER] = "tokenizer",
    [SIDE_GENERATION] = "generation",
};
static const char *const VERDICTS[] = {
    [VERDICT_NOT_APPLICABLE] = "not-applicable", [VERDICT_PASS] = "pass",
    [VERDICT_UNKNOWN] = "unknown",               [VERDICT_WARN] = "warn",
    [VERDICT_FAIL] = "fail",
};
static const char *const SEVERITIES[] = {
    [SEVERITY_BLOCKS] = "blocks",
    [SEVERITY_MISLEADS] = "misleads",
    [SEVERITY_WASTES] = "wastes",
};
static const char *const CONFIDENCES[] = {
    [CONFIDENCE_NONE] = NULL,       [CONFIDENCE_POSSIBLE] = "possible",
    [CONFIDENCE_LIKELY] = "likely", [CONFIDENCE_STRONG] = "strong",
    [CONFIDENCE_CERTAIN] = "certain",
};
static const char *const SOURCE_STATES[] = {
    [SOURCE_WHOLE] = "whole",
    [SOURCE_GROWING] = "growing",
    [SOURCE_DAMAGED] = "damaged",
    [SOURCE_GONE] = "gone",
};

/* key, name on screen, question */
static const char *const STAGES[N_STAGES][3] = {
    [STAGE_FINISHED] = {"0", "finished & finite", "Did it run to the end, with finite numbers?"},
    [STAGE_ADAPTER] = {"1", "adapter", "Is the adapter loaded, and is it the right one?"},
    [STAGE_PROMPTS] = {"2", "prompts", "Do training and serving prompts render identically?"},
    [STAGE_SUPERVISED] = {"3", "supervised", "Was anything actually supervised?"},
    [STAGE_EVAL_POWER] = {"4", "eval power", "Can the evaluation resolve the expected effect?"},
    [STAGE_DATA] = {"5", "data", "Is the training data self-consistent?"},
    [STAGE_LEAK] = {"6", "leak", "Did the split leak?"},
    [STAGE_PREFERENCE] = {"P", "preference",
                          "Do reward, KL, margin and length tell one story?"},
    [STAGE_HYPERPARAMETERS] = {"7", "hyperparameters",
                               "Only now: hyperparameters, one at a time"},
};

static int find(const char *const *names, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (names[i] && strcmp(names[i], text) == 0)
            return (int)i;
    return -1;
}

const char *run_kind_name(enum run_kind kind)
{
    return RUN_KINDS[kind];
}

bool run_kind_parse(const char *text, enum run_kind *out)
{
    int i = find(RUN_KINDS, sizeof RUN_KINDS / sizeof RUN_KINDS[0], text);

    if (i >= 0)
        *out = (enum run_kind)i;
    return i >= 0;
}

const char *outcome_name(enum outcome outcome)
{
    return OUTCOMES[outcome];
}

const char *side_name(enum side side)
{
    return SIDES[side];
}

bool side_parse(const char *text, enum side *out)
{
    int i = find(SIDES, sizeof SIDES / sizeof SIDES[0], text);

    if (i >= 0)
        *out = (enum side)i;
    return i >= 0;
}

const char *verdict_name(enum verdict verdict)
{
    return VERDICTS[verdict];
}

bool verdict_parse(const char *text, enum verdict *out)
{
    int i = find(VERDICTS, sizeof VERDICTS / sizeof VERDICTS[0], text);

    if (i >= 0)
        *out = (enum verdict)i;
    return i >= 0;
}

const char *severity_name(enum severity severity)
{
    return SEVERITIES[severity];
}

const char *confidence_name(enum confidence confidence)
{
    return CONFIDENCES[confidence];
}

const char *stage_key(enum stage stage)
{
    return STAGES[stage][0];
}

const char *stage_name(enum stage stage)
{
    return STAGES[stage][1];
}

const char *stage_question(enum stage stage)
{
    return STAGES[stage][2];
}

const char *source_state_name(enum source_state state)
{
    return SOURCE_STATES[state];
}

bool source_state_parse(const char *text, enum source_state *out)
{
    int i = find(SOURCE_STATES, sizeof SOURCE_STATES / sizeof SOURCE_STATES[0], text);

    if (i >= 0)
        *out = (enum source_state)i;
    return i >= 0;
}

bool importer_is_log(const char *importer_id)
{
    return strcmp(importer_id, "console_log") == 0 || strcmp(importer_id, "notebook") == 0;
}
