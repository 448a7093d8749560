/* no-generation-markers (CHECKS.md C3.4): assistant-only loss needs {% generation %} in the chat
 * template. Newer TRL swaps in patched templates, so labels and the loss decide before settings. */
#include <math.h>
#include <string.h>

#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"

static int wants_markers(const struct run_facts *facts, const struct setting **setting)
{
    static const char *const names[] = {"assistant_only_loss", "return_assistant_tokens_mask"};
    int answer = -1;

    *setting = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct setting *found = facts_setting(facts, names[i]);
        int value = setting_bool(found);

        if (value >= 0 && value > answer) {
            answer = value;
            *setting = found;
        }
    }
    return answer;
}

static bool applies(const struct run_facts *facts, const char **reason)
{
    const struct setting *setting;

    *reason = "assistant-only loss is off";
    if (facts_event(facts, "no-generation-markers", NULL))
        return true;

    int wants = wants_markers(facts, &setting);

    return wants == 1 || (wants < 0 && !facts_has_whole_arguments(facts));
}

static bool something_was_supervised(const struct run_facts *facts)
{
    const struct curve *loss = facts_curve(facts, "loss");

    for (size_t i = 0; loss && i < loss->n; i++)
        if (isfinite(loss->value[i]) && loss->value[i] != 0.0)
            return true;
    return false;
}

/* The training side's template: 1 it has the markers, 0 it lacks them, -1 not known. */
static int template_has_markers(const struct run_facts *facts, const struct setting **setting)
{
    *setting = facts_setting_on(facts, SIDE_TOKENIZER, "chat_template_has_generation");
    return setting_bool(*setting);
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "use a newer TRL: it swaps in a patched template for the stock ones");
    check_fix(
        ctx, "train with a template that has {%% generation %%} … {%% endgeneration %%} around the "
             "assistant's text and its end token (chat_template_path)");
    check_fix(ctx, "or prompt/completion data with completion_only_loss");
    check_fix(ctx, "or Unsloth's train_on_responses_only");
}

/* The error blames the template for them. */
static int64_t rows_without_answer(struct check_ctx *ctx)
{
    const struct dataset *dataset = NULL;
    int64_t found = 0;
    size_t n = 0;

    (void)facts_train_rows(ctx->facts, &dataset);
    const struct sample *samples = facts_samples(ctx->facts, dataset, &n);
    for (size_t i = 0; i < n; i++) {
        if (!(samples[i].flags & SAMPLE_NO_ASSISTANT) || found++ >= LABEL_ROWS_SHOWN)
            continue;
        struct evidence *e = evidence_add(ctx, "dataset", "row %zu: there is no assistant turn", i);
        e->source_id = dataset->source_id;
        e->row = (int64_t)i;
    }
    return found;
}

static bool read_log(struct check_ctx *ctx, int has_markers)
{
    const struct event *event = facts_event(ctx->facts, "no-generation-markers", NULL);

    if (!event)
        return false;
    evidence_event(ctx, event);
    check_begins(ctx, event->step);
    if (has_markers == 1 && rows_without_answer(ctx) > 0) {
        (void)check_pass(
            ctx, CONFIDENCE_LIKELY,
            "the template has the markers: the message is about rows without an assistant "
            "turn");
        return true;
    }
    if (has_markers == 1) {
        (void)check_unknown(ctx, "the training rows: the template has the markers, so the message "
                                 "points to rows without an assistant turn");
        return true;
    }
    (void)check_fail(ctx, CONFIDENCE_CERTAIN, "message",
                     "the framework stopped or warned: no assistant tokens are marked in the chat "
                     "template");
    return true;
}

/* The setting is on and the template has no markers; `audit`: all rows of it are masked, or NULL.
 */
static int lacks_markers(struct check_ctx *ctx, const struct audit *audit)
{
    if (!audit && something_was_supervised(ctx->facts))
        return check_unknown(
            ctx, "labels_sample.jsonl (a few rows of input_ids and labels): the loss is "
                 "not 0, so the trainer may have used another template");
    add_fixes(ctx);
    if (!audit)
        return check_warn(
            ctx, CONFIDENCE_LIKELY, "settings",
            "assistant-only loss is on, and the chat template has no {%% generation %%}");
    (void)labels_show_rows(ctx, audit, AUDIT_ALL_MASKED, 0, "has no supervised token");
    return check_fail(
        ctx, labels_confidence(audit), "labels",
        "assistant-only loss is on, the template has no {%% generation %%}, and %s are all "
        "-100",
        labels_words(ctx, audit, labels_seen(audit)));
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct setting *wanted, *template;
    const struct audit *audit = labels_of(ctx->facts, "train");
    int wants = wants_markers(ctx->facts, &wanted);
    int has_markers = template_has_markers(ctx->facts, &template);

    (void)err;
    if (read_log(ctx, has_markers)) {
        evidence_setting(ctx, wanted);
        evidence_setting(ctx, template);
        add_fixes(ctx);
        return OK;
    }
    if (wants < 0)
        return check_unknown(ctx, "training_args.bin or the config (is assistant_only_loss on?)");
    if (audit && audit->assumption)
        audit = NULL; /* whether the mask found anything would itself be assumed */
    labels_tell(ctx, audit);
    if (audit && labels_count(audit, AUDIT_ALL_MASKED) < labels_seen(audit))
        return check_pass(
            ctx, labels_confidence(audit), "%s have supervised tokens",
            labels_words(ctx, audit, labels_seen(audit) - labels_count(audit, AUDIT_ALL_MASKED)));
    if (has_markers == 1)
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "the chat template has {%% generation %%} markers");
    if (has_markers < 0)
        return check_unknown(ctx, "the run's chat template (chat_template.jinja or "
                                  "tokenizer_config.json)");
    evidence_setting(ctx, wanted);
    evidence_setting(ctx, template);
    return lacks_markers(ctx, audit);
}

const struct check check_no_generation_markers = {
    .id = "no-generation-markers",
    .version = 2,
    .stage = STAGE_SUPERVISED,
    .severity = SEVERITY_BLOCKS,
    .title = "Assistant-only masking has the markers it needs",
    .why = "Without {% generation %} in the chat template the assistant mask is empty, and every "
           "label becomes -100.",
    .applies = applies,
    .run = run,
};
