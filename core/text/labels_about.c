/* What a mask policy and the reasons of a label are called. No rules here. */
#include <inttypes.h>

#include "core/text/labels.h"

const char *label_why_text(enum label_why why)
{
    static const char *const TEXTS[N_LABEL_WHYS] = {
        [WHY_TRAINED] = "supervised",
        [WHY_PROMPT] = "prompt, or a turn that is not trained",
        [WHY_HEADER] = "header or marker outside of the trained span",
        [WHY_END] = "end token that the rule leaves out",
        [WHY_PAD] = "equals the pad id",
        [WHY_NO_MARKER] = "response marker not found in the row",
        [WHY_NO_SPAN] = "no assistant span in the row",
        [WHY_HISTORY] = "earlier turn",
        [WHY_RECORDED] = "-100 as recorded",
    };

    return (unsigned)why < N_LABEL_WHYS ? TEXTS[why] : "";
}

static void about_marker(struct buf *out, const char *name, const struct marker *marker)
{
    if (!marker->ids && !marker->text.p)
        return;
    buf_printf(out, ", %s ", name);
    if (!marker->ids) {
        json_write_string(out, marker->text);
        return;
    }
    for (size_t i = 0; i < marker->n_ids && i < 16; i++)
        buf_printf(out, "%s%" PRIu32, i ? "," : "[", marker->ids[i]);
    buf_puts(out, marker->n_ids > 16 ? ",…]" : "]");
}

static void about_trl(struct buf *out, const struct label_policy *policy)
{
    static const char *const COMPLETION[] = {
        "whole sequence", "completion only", "completion only where rows have prompt and completion"};

    if (policy->assistant_only == YES)
        buf_puts(out, policy->template_is_patched
                          ? ", assistant turns by TRL's variant of the template"
                          : ", assistant turns by {% generation %} spans");
    if (policy->assistant_only != YES || policy->completion_only == YES)
        buf_printf(out, ", %s",
                   COMPLETION[policy->completion_only == AUTO ? 2 : policy->completion_only]);
    if (policy->completion_only != NO)
        buf_puts(out, policy->boundary_is_prefix ? ", boundary at the common prefix"
                                                 : ", boundary at the prompt's length");
    if (policy->appends_eos)
        buf_puts(out, ", EOS appended to plain text");
}

static void about_unsloth(struct buf *out, const struct label_policy *policy)
{
    if (!policy->response.text.p && !policy->response.ids) {
        about_trl(out, policy);
        return;
    }
    buf_puts(out, ", train_on_responses_only");
    about_marker(out, "instruction part", &policy->instruction);
    about_marker(out, "response part", &policy->response);
    if (policy->last_response_only == YES)
        buf_puts(out, ", last response only");
    buf_puts(out, policy->stops_at_end_tokens ? ", a response ends with EOS"
                                              : ", a response ends at the next instruction");
}

static void about_llamafactory(struct buf *out, const struct label_policy *policy)
{
    buf_printf(out, ", template %s",
               policy->llamafactory_template ? policy->llamafactory_template : "not stated");
    if (policy->train_on_prompt == YES)
        buf_puts(out, ", prompt trained");
    if (policy->mask_history == YES)
        buf_puts(out, ", last answer only");
    if (policy->efficient_eos == YES)
        buf_puts(out, ", efficient_eos");
    if (policy->enable_thinking == NO)
        buf_puts(out, ", thoughts removed");
}

static void about_axolotl(struct buf *out, const struct label_policy *policy)
{
    buf_puts(out, ", roles ");
    if (!policy->roles_to_train)
        buf_puts(out, "assistant");
    for (size_t i = 0; policy->roles_to_train && i < policy->n_roles; i++)
        buf_printf(out, "%s%s", i ? "+" : "", policy->roles_to_train[i]);
    buf_printf(out, ", train_on_eos %s", policy->train_on_eos ? policy->train_on_eos : "turn");
    if (policy->train_on_eot)
        buf_printf(out, ", train_on_eot %s", policy->train_on_eot);
}

static void about_length(struct buf *out, const struct label_policy *policy)
{
    if (policy->max_length == NONE)
        buf_puts(out, ", never cut");
    else if (policy->drops_long)
        buf_printf(out, ", rows above %" PRId64 " dropped", policy->max_length);
    else if (policy->packs && !policy->packs_whole)
        buf_printf(out, ", joined into blocks of %" PRId64, policy->max_length);
    else
        buf_printf(out, ", max_length %" PRId64 " keeps the %s", policy->max_length,
                   policy->cut_keeps_end && !policy->packs ? "end" : "start");
    if (policy->packs && policy->packs_whole)
        buf_puts(out, ", packed");
    if (policy->masks_pad_id && policy->pad_id != NONE)
        buf_puts(out, ", pad id masked by value");
    if (policy->drops_masked)
        buf_puts(out, ", rows without a supervised token dropped");
}

static void about_rule(struct buf *out, const struct label_policy *policy)
{
    switch (policy->rule) {
    case MASK_TRL:
        about_trl(out, policy);
        break;
    case MASK_TRL_OLD:
        buf_puts(out, ", prompt and completion as one text, all supervised");
        if (policy->appends_eos_id)
            buf_puts(out, ", EOS id appended");
        break;
    case MASK_RESPONSE_TEMPLATE:
        about_marker(out, "response template", &policy->response);
        about_marker(out, "instruction template", &policy->instruction);
        break;
    case MASK_UNSLOTH:
        about_unsloth(out, policy);
        break;
    case MASK_LLAMAFACTORY:
        about_llamafactory(out, policy);
        break;
    case MASK_AXOLOTL_CHAT:
        about_axolotl(out, policy);
        break;
    case MASK_AXOLOTL_PROMPT:
    case MASK_AXOLOTL_TEXT:
    case MASK_AXOLOTL_SEGMENTS:
    case MASK_TRAINER:
    case MASK_TORCHTUNE:
    case MASK_LITGPT:
    case N_MASK_RULES:
        break;
    }
    if (policy->train_on_inputs == YES)
        buf_puts(out, ", inputs trained");
}

void label_policy_about(const struct label_policy *policy, struct buf *out)
{
    static const char *const NAMES[N_MASK_RULES] = {
        [MASK_TRL] = "TRL SFTTrainer",
        [MASK_TRL_OLD] = "TRL SFTTrainer of 0.16 or older",
        [MASK_RESPONSE_TEMPLATE] = "DataCollatorForCompletionOnlyLM",
        [MASK_UNSLOTH] = "Unsloth",
        [MASK_LLAMAFACTORY] = "LLaMA-Factory",
        [MASK_AXOLOTL_CHAT] = "axolotl chat_template",
        [MASK_AXOLOTL_PROMPT] = "axolotl prompt and answer",
        [MASK_AXOLOTL_TEXT] = "axolotl completion, all supervised",
        [MASK_AXOLOTL_SEGMENTS] = "axolotl input_output",
        [MASK_TRAINER] = "transformers Trainer",
        [MASK_TORCHTUNE] = "torchtune",
        [MASK_LITGPT] = "litgpt",
    };

    buf_puts(out, NAMES[policy->rule]);
    about_rule(out, policy);
    about_length(out, policy);
}
