/* CHECKS: the one ordered list. The order is triage order (0 … 6, P, 7) and inside a stage the
 * order of CHECKS.md section 3; it is the order of the checklist everywhere. */
#ifndef CORE_CHECKS_REGISTRY_H
#define CORE_CHECKS_REGISTRY_H

#include "core/checks/check.h"

#define CHECKS(X)                        \
    /* 0 finished & finite */            \
    X(run_incomplete)                    \
    X(oom_memory_held)                   \
    X(oom_eval)                          \
    X(oom_longest_sequence)              \
    X(oom_train)                         \
    X(max_length_oversized)              \
    X(host_oom_killed)                   \
    X(no_grad_graph)                     \
    X(bf16_unsupported)                  \
    X(vocab_mismatch)                    \
    X(nan_label_out_of_range)            \
    X(nan_hidden_in_log)                 \
    X(nan_onset)                         \
    X(nan_fp16_overflow)                 \
    X(nan_high_lr)                       \
    X(nan_all_masked_rows)               \
    X(nan_bad_data)                      \
    X(loss_scale_overflow)               \
    X(diverged)                          \
    X(resume_jump)                       \
    X(grad_accum_loss_scale)             \
    /* 1 adapter */                      \
    X(adapter_not_loaded)                \
    X(wrong_adapter)                     \
    X(adapter_file_empty)                \
    X(multiple_adapters)                 \
    X(wrong_artefact)                    \
    X(merged_into_quantised)             \
    X(tied_embeddings_saved)             \
    /* 2 prompts */                      \
    X(template_mismatch)                 \
    X(missing_generation_prompt)         \
    X(system_prompt_mismatch)            \
    X(truncation_mismatch)               \
    X(double_bos)                        \
    X(padding_side)                      \
    X(eos_config_mismatch)               \
    /* 3 supervised */                   \
    X(flat_zero_trainable)               \
    X(flat_target_modules_mismatch)      \
    X(flat_wrong_label_column)           \
    X(no_generation_markers)             \
    X(truncation_cuts_answer)            \
    X(flat_all_masked)                   \
    X(loss_zero_all_masked)              \
    X(flat_no_grad)                      \
    X(lr_zero)                           \
    X(loss_flat)                         \
    X(overfit_ten_failed)                \
    X(prompt_not_masked)                 \
    X(pad_equals_eos)                    \
    X(never_stops)                       \
    X(new_tokens_untrained)              \
    X(dropped_rows)                      \
    X(packing_cross_contamination)       \
    /* 4 evaluation */                   \
    X(gain_within_ci)                    \
    X(length_only_gain)                  \
    X(general_regression)                \
    X(catastrophic_forgetting)           \
    /* 5 data */                         \
    X(contradictory_targets)             \
    X(trivial_task)                      \
    X(dataset_unshuffled)                \
    /* 6 leak */                         \
    X(leak_near_duplicate)               \
    X(row_split)                         \
    /* P preference */                   \
    X(grpo_completions_clipped)          \
    X(grpo_no_signal)                    \
    X(chosen_rejected_swapped)           \
    X(reward_hacking)                    \
    X(kl_too_low)                        \
    X(kl_too_high)                       \
    X(negative_kl)                       \
    X(dpo_length_exploitation)           \
    X(off_policy_drift)                  \
    /* 7 hyperparameters */              \
    X(overfit)                           \
    X(last_not_best)                     \
    X(hyperparams_first)                 \
    X(many_knobs)                        \
    X(hyperparams_range)

#define CHECK_DECLARE(name) extern const struct check check_##name;
CHECKS(CHECK_DECLARE)
#undef CHECK_DECLARE

size_t check_count(void);
const struct check *check_at(size_t i);                     /* in checklist order */
const struct check *check_by_id(const char *id);            /* NULL: unknown */
/* "metric rows (trainer_state.json, a console log …)": what to import for a need. */
const char *need_hint(enum need need);

#endif
