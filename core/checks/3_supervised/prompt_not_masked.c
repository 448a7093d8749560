/* prompt-not-masked (CHECKS.md C3.12): is it the prompt that is being learned? p is the share of
 * the supervised tokens that lie in system, user, tool turns or headers. Where nobody marks the
 * borders but every token is supervised, the characters of the same rows stand in for p. */
#include <math.h>
#include <string.h>

#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"

#define FAIL_SHARE    0.80
#define HALF          0.50 /* with a setting off its default */
#define WARN_SHARE    0.30
#define ECHOES        0.50 /* of the outputs begin with their prompt */
#define LEAST_OUTPUTS 3
#define LEAST_ROWS    30 /* of a sample, for PASS */

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.kind == KIND_PRETRAINING) {
        *reason = "plain text: everything is trained by design";
        return false;
    }
    return labels_apply(facts, reason);
}

static bool has_form(const struct run_facts *facts, const char *form)
{
    for (size_t i = 0; i < facts->n_datasets; i++)
        if (facts->datasets[i].form && strcmp(facts->datasets[i].form, form) == 0 &&
            facts->datasets[i].split && strcmp(facts->datasets[i].split, "train") == 0)
            return true;
    return false;
}

/* A setting off its default that says that prompts are trained on, or NULL. */
static const struct setting *says_so(const struct run_facts *facts)
{
    const struct setting *inputs = facts_setting(facts, "train_on_inputs");
    const struct setting *completion = facts_setting(facts, "completion_only_loss");

    if (setting_bool(inputs) == 1)
        return inputs;
    return setting_bool(completion) == 0 && has_form(facts, "prompt-completion") ? completion
                                                                                 : NULL;
}

/* 1 the prompt is masked by a setting, 0 nothing says so. */
static bool is_masked_by_setting(const struct run_facts *facts)
{
    static const char *const MASKS[] = {"completion_only_loss", "assistant_only_loss",
                                        "train_on_responses_only"};

    for (size_t i = 0; i < 3; i++)
        if (facts_bool(facts, MASKS[i]) == 1)
            return true;
    return facts_text(facts, "response_template") || facts_text(facts, "response_part") ||
           facts_bool(facts, "train_on_inputs") == 0;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(
        ctx,
        "TRL: prompt/completion data (completion_only_loss is on then), or assistant_only_loss");
    check_fix(ctx, "axolotl: train_on_inputs: false, roles_to_train: [\"assistant\"]");
    check_fix(ctx, "LLaMA-Factory: train_on_prompt: false");
    check_fix(ctx, "Unsloth: train_on_responses_only");
}

/* ---- Outputs ---- */

static void by_outputs(struct check_ctx *ctx)
{
    const struct generation *first;
    size_t n_known, n = outputs_count(ctx->facts, GENERATION_HAS_TEXT | GENERATION_HAS_PROMPT,
                                      GENERATION_ECHOES_PROMPT, &n_known, &first);

    if (n_known < LEAST_OUTPUTS || (double)n < ECHOES * (double)n_known)
        return;
    struct evidence *e = evidence_add(
        ctx, "dataset", "%zu of %zu outputs begin with their prompt, first:", n, n_known);
    e->source_id = first->source_id;
    e->row = first->row != NONE ? first->row : first->ord;
    (void)check_fail(ctx, CONFIDENCE_STRONG, "echo",
                     "%zu of %zu outputs begin with their own prompt: the prompt was learned", n,
                     n_known);
}

/* ---- Rows ---- */

/* Characters (or estimated tokens) of the prompt's side over the training rows; NaN: not known. */
static double prompt_side_of_rows(const struct run_facts *facts, const struct dataset **dataset)
{
    size_t n = 0;
    double prompt = 0.0, all = 0.0;

    *dataset = NULL;
    (void)facts_train_rows(facts, dataset);
    const struct sample *samples = facts_samples(facts, *dataset, &n);
    for (size_t i = 0; i < n; i++)
        if (samples[i].n_tokens > 0 && samples[i].n_prompt_tokens >= 0) {
            prompt += samples[i].n_prompt_tokens;
            all += samples[i].n_tokens;
        }
    return all > 0.0 ? prompt / all : NAN;
}

struct share {
    double p;         /* NaN: not known */
    bool all_trained; /* every token that is no padding is supervised, in all rows */
    bool is_by_characters;
    const struct dataset *characters_of;
};

/* Tokens of the rows whose borders are known. */
static double share_of_sides(const struct audit *audit)
{
    double prompt = 0.0, all = 0.0;

    for (int64_t i = 0; i < audit->n_rows; i++) {
        const struct audit_row *row = &audit->rows[i];

        if (!labels_row_has(row, AUDIT_HAS_SIDES, AUDIT_DROPPED) || row->n_trained <= 0)
            continue;
        prompt += row->n_trained_prompt > 0 ? row->n_trained_prompt : 0;
        all += row->n_trained;
    }
    return all > 0.0 ? prompt / all : NAN;
}

static void read_share(const struct run_facts *facts, const struct audit *audit, struct share *out)
{
    *out = (struct share){.p = share_of_sides(audit)};
    out->all_trained = labels_count(audit, AUDIT_ALL_TRAINED) == labels_seen(audit);
    if (!isnan(out->p) || !out->all_trained)
        return;
    out->p = prompt_side_of_rows(facts, &out->characters_of);
    out->is_by_characters = !isnan(out->p);
}

static void show_rows(struct check_ctx *ctx, const struct audit *audit, const struct share *share)
{
    for (int64_t i = 0, shown = 0; i < audit->n_rows && shown < LABEL_ROWS_SHOWN; i++) {
        const struct audit_row *row = &audit->rows[i];

        if (!labels_row_has(row, 0, 0) || row->n_trained <= 0)
            continue;
        if (row->flags & AUDIT_HAS_SIDES && row->n_trained_prompt > 0)
            labels_row(ctx, audit, i, 0, "%d of %d supervised tokens belong to the prompt",
                       row->n_trained_prompt, row->n_trained);
        else if (row->flags & AUDIT_ALL_TRAINED)
            labels_row(ctx, audit, i, 0, "all %d tokens are supervised", row->n_trained);
        else
            continue;
        shown++;
    }
    if (share->is_by_characters && share->characters_of)
        evidence_add(ctx, "dataset", "the prompt's side is %.0f %% of the rows' text",
                     100.0 * share->p)
            ->source_id = share->characters_of->source_id;
    evidence_number(ctx, share->p, FAIL_SHARE, "share of supervised tokens in the prompt: %.2f",
                    share->p);
}

static int judge(struct check_ctx *ctx, const struct audit *audit, const struct share *share)
{
    const struct setting *setting = says_so(ctx->facts);
    const char *how = share->is_by_characters ? " (by characters: every token is supervised)" : "";
    enum confidence confidence =
        share->is_by_characters ? CONFIDENCE_LIKELY : labels_confidence(audit);
    bool fails = share->p >= FAIL_SHARE || (share->p >= HALF && share->all_trained && setting);

    if (share->p < WARN_SHARE)
        return OK;
    show_rows(ctx, audit, share);
    evidence_setting(ctx, setting);
    /* With two rules possible the mask itself is assumed. */
    if (fails && !audit->assumption)
        return check_fail(ctx, confidence, "labels",
                          "%.0f %% of the supervised tokens belong to the prompt%s",
                          100.0 * share->p, how);
    return check_warn(ctx, confidence < CONFIDENCE_STRONG ? confidence : CONFIDENCE_STRONG,
                      "labels", "%.0f %% of the supervised tokens belong to the prompt%s",
                      100.0 * share->p, how);
}

/* No rows with labels: masking is off by a setting, and the prompts are most of the text. */
static void by_settings(struct check_ctx *ctx)
{
    const struct setting *setting = says_so(ctx->facts);
    const struct dataset *dataset;
    double share = prompt_side_of_rows(ctx->facts, &dataset);

    if (!setting || isnan(share) || share < FAIL_SHARE)
        return;
    evidence_setting(ctx, setting);
    evidence_add(ctx, "dataset", "the prompt's side is %.0f %% of the rows' text", 100.0 * share)
        ->source_id = dataset ? dataset->source_id : 0;
    (void)check_warn(ctx, CONFIDENCE_LIKELY, "settings",
                     "prompts are trained on (%s = %s), and they are %.0f %% of the text",
                     setting->raw_name, setting->value, 100.0 * share);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct audit *audit = labels_of(ctx->facts, "train");
    struct share share = {.p = NAN};

    (void)err;
    by_outputs(ctx);
    if (audit) {
        labels_tell(ctx, audit);
        read_share(ctx->facts, audit, &share);
    }
    if (!isnan(share.p))
        (void)judge(ctx, audit, &share);
    else
        by_settings(ctx);
    if (check_verdict(ctx) >= VERDICT_WARN) {
        evidence_setting(ctx, says_so(ctx->facts));
        add_fixes(ctx);
        return OK;
    }
    if (isnan(share.p) && has_form(ctx->facts, "text") && !says_so(ctx->facts))
        return check_skip(ctx, "plain text rows: nothing tells the prompt from the answer");
    if (isnan(share.p) && audit)
        return check_unknown(ctx,
                             "the chat template and the training data beside the labels: where the "
                             "prompt ends is not known");
    if (isnan(share.p))
        return labels_unknown(ctx, "train");
    if (share.is_by_characters || (!labels_are_all(audit) && labels_seen(audit) < LEAST_ROWS &&
                                   !is_masked_by_setting(ctx->facts)))
        return check_unknown(
            ctx,
            "the labels of all rows: by those seen %.0f %% of the supervised tokens "
            "belong to the prompt",
            100.0 * share.p);
    return check_pass(ctx, labels_confidence(audit),
                      "%.0f %% of the supervised tokens belong to the prompt (bound %.0f %%)",
                      100.0 * share.p, 100.0 * WARN_SHARE);
}

const struct check check_prompt_not_masked = {
    .id = "prompt-not-masked",
    .version = 1,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_MISLEADS,
    .title = "The prompt is not what is being learned",
    .why = "Where prompts are supervised they are most of the loss: the model learns to write "
           "questions, "
           "and a falling loss says little about the answers.",
    .applies = applies,
    .run = run,
};
