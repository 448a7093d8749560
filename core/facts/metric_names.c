/* One name per metric, whatever logged it.
 *
 * A name that says the same thing in another spelling becomes the spelling of transformers and
 * TRL. What is only similar keeps its own name: the mean `train_loss` of a finished run is no
 * `loss` (importers/run/metrics_table.c decides it for tables that have no other loss), and the
 * per-sequence KL of PPO (`objective/kl`) is no per-token `kl`. */
#include "core/facts/metric_names.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *raw, *name;
} synonyms[] = {
    {"train/loss", "loss"},
    {"training_loss", "loss"},
    {"train/train_loss", "train_loss"},
    {"lm loss", "loss"},
    {"lm_loss", "loss"},
    {"train_loss_step", "loss"},
    {"train/loss_step", "loss"},
    {"step_loss", "loss"}, /* of the bars of accelerate's scripts */
    {"gpt_loss", "loss"},  /* of OpenRLHF's */

    {"val_loss", "eval_loss"},
    {"valid_loss", "eval_loss"},
    {"validation_loss", "eval_loss"},
    {"test_loss", "eval_loss"},
    {"eval/loss", "eval_loss"},
    {"val/loss", "eval_loss"},
    {"valid/loss", "eval_loss"},
    {"validation/loss", "eval_loss"},
    {"eval/eval_loss", "eval_loss"},
    {"val_loss_epoch", "eval_loss"},
    {"eval_loss_epoch", "eval_loss"},

    {"lr", "learning_rate"},
    {"train/lr", "learning_rate"},
    {"train/learning_rate", "learning_rate"},
    {"learning rate", "learning_rate"},
    {"lr-AdamW", "learning_rate"},
    {"lr-Adam", "learning_rate"},
    {"learning_rate_step", "learning_rate"},

    {"grad", "grad_norm"},
    {"gradnorm", "grad_norm"},
    {"gradient_norm", "grad_norm"},
    {"grad norm", "grad_norm"},
    {"train/grad_norm", "grad_norm"},
    {"train/gradient_norm", "grad_norm"},
    {"grad_norm/total", "grad_norm"},
    {"total_grad_norm", "grad_norm"},
    {"global_grad_norm", "grad_norm"},

    {"train/epoch", "epoch"},
    {"train/reward", "reward"},
    {"env/reward_mean", "reward"},
    {"objective/scores", "reward"},
    {"reward/mean", "reward"},
    {"rewards/mean", "reward"},
    {"reward_mean", "reward"},
    {"mean_reward", "reward"},
    {"env/reward_std", "reward_std"},
    {"train/reward_std", "reward_std"},
    {"train/kl", "kl"},
    {"eval/reward", "eval_reward"},
    {"eval/rewards/chosen", "eval_rewards/chosen"},
    {"eval/rewards/rejected", "eval_rewards/rejected"},
    {"eval/rewards/margins", "eval_rewards/margins"},
    {"eval/rewards/accuracies", "eval_rewards/accuracies"},
    /* verl: the score of the reward function or model, as objective/scores; critic/rewards is that less
     * the KL penalty. Its KL against the reference is a mean over tokens. actor/ppo_kl is none: it is
     * against the policy that sampled; actor/kl_loss is scaled by how a batch was cut. */
    {"critic/score/mean", "reward"},
    {"critic/kl", "kl"},
    {"actor/reward_kl_penalty", "kl"},
    {"actor/grad_norm", "grad_norm"},
    {"actor/lr", "learning_rate"},
    {"actor/entropy", "entropy"},
    {"response_length/mean", "completions/mean_length"},
    {"response_length/clip_ratio", "completions/clipped_ratio"},
    /* OpenRLHF */
    {"train/response_length", "completions/mean_length"},
    /* prime-rl */
    {"completion_len/mean", "completions/mean_length"},
    {"decode_len/mean", "completions/mean_length"},
    {"train/step_time", "step_time"},

    {"completion_length", "completions/mean_length"},
    {"completions/length", "completions/mean_length"},
    {"completion/mean_length", "completions/mean_length"},
    {"train/completions/mean_length", "completions/mean_length"},
    {"train/completion_length", "completions/mean_length"},
    {"clipped_ratio", "completions/clipped_ratio"},
    {"completion/clipped_ratio", "completions/clipped_ratio"},
    {"completions/clip_ratio", "completions/clipped_ratio"},
    {"train/completions/clipped_ratio", "completions/clipped_ratio"},
    {"train/frac_reward_zero_std", "frac_reward_zero_std"},

    {"reward_margin", "rewards/margins"},
    {"rewards/margin", "rewards/margins"},
    {"rewards/accuracy", "rewards/accuracies"},
    {"rewards/reward_margins", "rewards/margins"},
    {"rewards_train/chosen", "rewards/chosen"},
    {"rewards_train/rejected", "rewards/rejected"},
    {"rewards_train/margins", "rewards/margins"},
    {"rewards_train/accuracies", "rewards/accuracies"},
    {"logps_train/chosen", "logps/chosen"},
    {"logps_train/rejected", "logps/rejected"},

    {"token_accuracy", "mean_token_accuracy"},
    {"train/mean_token_accuracy", "mean_token_accuracy"},
    {"train/entropy", "entropy"},
    {"train/num_tokens", "num_tokens"},
    {"train/loss_scale", "loss_scale"},
    {"loss scale", "loss_scale"},
};

const char *metric_name(const char *raw_name)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        if (strcmp(raw_name, synonyms[i].raw) == 0) {
            return synonyms[i].name;
        }
    }
    /* TensorBoard and W&B put the part of the run before the trainer's own names. */
    if (strncmp(raw_name, "train/", 6) == 0) {
        const char *rest = raw_name + 6;
        if (strncmp(rest, "rewards/", 8) == 0 || strncmp(rest, "logps/", 6) == 0 ||
            strncmp(rest, "logits/", 7) == 0 || strncmp(rest, "completions/", 12) == 0 ||
            strncmp(rest, "objective/", 10) == 0 ||
            strncmp(rest, "clip_ratio/", 11) == 0) {
            return metric_name(rest);
        }
    }
    return raw_name;
}

bool metric_is_eval_loss(const char *name)
{
    size_t n = strlen(name);
    if (strcmp(name, "eval_loss") == 0) {
        return true;
    }
    return n > 10 && strncmp(name, "eval_", 5) == 0 && strcmp(name + n - 5, "_loss") == 0;
}

bool metric_is_step(const char *raw_name)
{
    static const char *const names[] = {
        "step",
        "global_step",
        "current_steps",
        "iter",
        "iteration",
        "_step",
        "total_steps",
        "steps",
        "train_step",
        "trainer/global_step",
        "train/global_step",
        "max_steps",
        "global_steps",
        "iterations",
        "global_step/max_steps",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(raw_name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}
