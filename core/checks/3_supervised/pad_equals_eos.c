/* pad-equals-eos (CHECKS.md C3.13): is the EOS masked as if it were padding? Pad and EOS being one
 * token is harmless where the labels keep it. */
#include <string.h>

#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"

#define LEAST_ROWS 3
#define PASS_SHARE 0.9

static bool applies(const struct run_facts *facts, const char **reason)
{
    return labels_apply(facts, reason);
}

/* 1 pad is the EOS or the turn's end, 0 it is another token, -1 not known. */
static int is_same(const struct run_facts *facts, const struct audit *audit)
{
    const struct setting *pad = facts_setting(facts, "pad_token");
    const struct setting *eos = facts_setting_on(facts, SIDE_TOKENIZER, "eos_token");

    if (audit && audit->pad_id != NONE && audit->eos_id != NONE)
        return audit->pad_id == audit->eos_id || audit->pad_id == audit->turn_end_id;
    if (!pad || pad->type == VALUE_NULL || !pad->value || !pad->value[0])
        pad = facts_setting_on(facts, SIDE_TOKENIZER, "pad_token");
    if (pad && pad->value && pad->value[0] && eos && eos->value && eos->value[0])
        return strcmp(pad->value, eos->value) == 0;
    return -1;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "a pad token of its own: <|finetune_right_pad_id|>, <unk>, a reserved token");
    check_fix(ctx, "mask the padding by attention_mask, not by its id");
    check_fix(ctx, "axolotl: special_tokens: pad_token; Unsloth's loader sets one by itself");
}

static void show_settings(struct check_ctx *ctx)
{
    evidence_setting(ctx, facts_setting(ctx->facts, "pad_token"));
    evidence_setting(ctx, facts_setting_on(ctx->facts, SIDE_TOKENIZER, "pad_token"));
    evidence_setting(ctx, facts_setting_on(ctx->facts, SIDE_TOKENIZER, "eos_token"));
}

static int by_labels(struct check_ctx *ctx, const struct audit *audit)
{
    int64_t has = labels_count(audit, AUDIT_HAS_PAD_EOS);
    int64_t trained = labels_count(audit, AUDIT_PAD_EOS_TRAINED);
    const char *name = labels_token(ctx, audit->pad_id, audit->eos_text);

    labels_tell(ctx, audit);
    if (has == 0)
        return check_unknown(ctx,
                             "rows that hold the EOS: pad and EOS are one token (%s), and none of "
                             "%lld rows holds it",
                             name, (long long)labels_seen(audit));
    if (trained == 0) {
        for (int64_t i = 0, shown = 0; i < audit->n_rows && shown < LABEL_ROWS_SHOWN; i++)
            if (labels_row_has(&audit->rows[i], AUDIT_HAS_PAD_EOS, 0)) {
                labels_row(ctx, audit, i, NONE, "it holds %s, with label -100 throughout", name);
                shown++;
            }
        show_settings(ctx);
        add_fixes(ctx);
        if (has < LEAST_ROWS && !labels_are_all(audit))
            return check_warn(
                ctx, CONFIDENCE_LIKELY, "labels",
                "pad and EOS are one token (%s), and it is supervised in none of the %lld "
                "rows that hold it",
                name, (long long)has);
        if (audit->assumption)
            return check_warn(
                ctx, CONFIDENCE_LIKELY, "labels",
                "pad and EOS are one token (%s); by simulation it is supervised in none "
                "of %lld rows",
                name, (long long)has);
        return check_fail(
            ctx, labels_confidence(audit), "labels",
            "pad and EOS are one token (%s), and it is supervised in none of the %lld "
            "rows that hold it",
            name, (long long)has);
    }
    if ((double)trained >= PASS_SHARE * (double)has)
        return check_pass(
            ctx, labels_confidence(audit),
            "pad and EOS are one token (%s), and it is supervised in %lld of %lld rows "
            "that hold it",
            name, (long long)trained, (long long)has);
    return check_unknown(
        ctx,
        "labels of more rows: the EOS (%s) is supervised in %lld of %lld rows that "
        "hold it",
        name, (long long)trained, (long long)has);
}

/* What masks pads by their id, without rows to look at. */
static bool collator_masks_pads(const struct run_facts *facts, const char **name)
{
    static const char *const NAMES[] = {"data_collator", "collator"};

    for (size_t i = 0; i < 2; i++) {
        *name = facts_text(facts, NAMES[i]);
        if (*name && (strstr(*name, "ForLanguageModeling") || strstr(*name, "CompletionOnly")))
            return true;
    }
    if (facts_text(facts, "response_template")) {
        *name = "the response-template collator";
        return true;
    }
    return false;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct audit *audit = labels_of(ctx->facts, "train");
    const struct event *event = facts_event(ctx->facts, "pad-equals-eos", NULL);
    int same = is_same(ctx->facts, audit);
    const char *collator = NULL;

    (void)err;
    if (same == 1 && audit && audit->pad_id != NONE)
        return by_labels(ctx, audit);
    if (same == 0 && !event) {
        const struct setting *pad = facts_setting_on(ctx->facts, SIDE_TOKENIZER, "pad_token");

        return check_pass(ctx, CONFIDENCE_CERTAIN, "pad and EOS are different tokens%s%s",
                          pad && pad->value ? ": pad is " : "",
                          pad && pad->value ? pad->value : "");
    }
    if (event) {
        evidence_event(ctx, event);
        show_settings(ctx);
        add_fixes(ctx);
        return check_warn(
            ctx, CONFIDENCE_LIKELY, "message",
            "the EOS token %s is the pad token too (%s:%lld); whether the labels keep it "
            "is not known",
            event_capture(event, 1), facts_file_name(ctx->facts, event->source_id),
            (long long)event->line);
    }
    if (same < 0)
        return check_unknown(ctx, "%s (which tokens are pad and EOS?)", need_hint(NEEDS_TOKENIZER));
    if (collator_masks_pads(ctx->facts, &collator)) {
        show_settings(ctx);
        evidence_setting(ctx, facts_setting(ctx->facts, "response_template"));
        add_fixes(ctx);
        return check_warn(ctx, CONFIDENCE_LIKELY, "collator",
                          "pad and EOS are one token, and %s masks every pad id", collator);
    }
    check_info(ctx, "pad and EOS are one token");
    return labels_unknown(ctx, "train");
}

const struct check check_pad_equals_eos = {
    .id = "pad-equals-eos",
    .version = 1,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_MISLEADS,
    .title = "EOS is not masked as padding",
    .why =
        "Where padding is masked by its id and pad is the EOS, the end of every answer is masked "
        "too, and the model never learns to stop.",
    .applies = applies,
    .run = run,
};
