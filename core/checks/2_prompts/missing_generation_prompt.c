/* missing-generation-prompt (CHECKS.md C2.2): does the inference prompt end with the assistant's header? */
#include <string.h>

#include "core/checks/label_evidence.h"
#include "core/checks/prompt_evidence.h"
#include "core/checks/registry.h"

#define MISSING_BYTES 200

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "apply_chat_template(…, add_generation_prompt=True)");
    check_fix(ctx, "in the request \"add_generation_prompt\": true");
    check_fix(ctx, "training side (prompt and completion): render the prompt part with the header, so "
                   "that it is masked");
}

static bool by_prompts(struct check_ctx *ctx, const struct prompt_pair *pair)
{
    const struct prompt_comparison *c = &pair->comparison;

    if (c->difference != PROMPTS_NO_HEADER)
        return false;
    prompts_show(ctx, pair);
    check_fail(ctx, prompts_confidence(pair), "prefix",
               "the inference prompt stops %zu bytes before the answer: %s is missing",
               c->missing.n, prompt_text(ctx, c->missing, MISSING_BYTES));
    return true;
}

/* The model writes the header itself: half of the outputs, or more. */
static bool by_outputs(struct check_ctx *ctx, const struct prompt_pair *pair)
{
    size_t n_known = 0;
    const struct generation *first = NULL;
    size_t n = outputs_count(ctx->facts, GENERATION_HAS_TEXT, GENERATION_STARTS_WITH_HEADER,
                             &n_known, &first);

    if (n_known == 0 || 2 * n < n_known)
        return false;
    struct evidence *e = evidence_number(ctx, (double)n / (double)n_known, 0.5,
                                         "%zu of %zu outputs begin with a turn header", n, n_known);
    if (first)
        e->source_id = first->source_id;
    if (prompts_are_known(pair) && pair->serve.side.shape.ends_with_header &&
        prompt_is_captured(&pair->serve))
        check_info(ctx, "the captured prompt ends with the header: the outputs are of another prompt");
    check_warn(ctx, CONFIDENCE_LIKELY, "outputs",
               "%zu of %zu outputs begin with a whole turn header, which the prompt should have held", n,
               n_known);
    return true;
}

static int pass(struct check_ctx *ctx, const struct prompt_pair *pair)
{
    const struct prompt_record *serve = &pair->serve;
    const struct prompt_shape *shape = &serve->side.shape;

    if (serve->origin == PROMPT_ABSENT)
        return prompts_unknown(ctx, pair);
    if (shape->family == FAMILY_INST && shape->assistant < shape->n)
        return check_pass(ctx, prompts_confidence(pair),
                          "the format has no assistant header: its prompt ends with [/INST]");
    if (shape->assistant < shape->n && (shape->ends_with_header || pair->train.origin != PROMPT_ABSENT)) {
        if (pair->comparison.note)
            check_info(ctx, "%s", pair->comparison.note);
        return check_pass(ctx, prompts_confidence(pair),
                          "the inference prompt has the assistant's header (%s)", serve->about);
    }
    if (pair->comparison.difference == PROMPTS_OTHER_FAMILY)
        return check_unknown(ctx, "a training and a serving prompt of one format (they render other "
                                  "formats: see template-mismatch)");
    if (pair->comparison.difference == PROMPTS_SYSTEM_ONE_SIDE && shape->assistant == shape->n)
        return check_unknown(ctx, "a serving prompt with the same turns as in training");
    return prompts_unknown(ctx, pair);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct prompt_pair *pair = facts_prompt_pair(ctx->facts);

    (void)err;
    if (!pair)
        return OK;
    bool fired = by_prompts(ctx, pair);
    fired |= by_outputs(ctx, pair);
    if (!fired)
        return pass(ctx, pair);
    add_fixes(ctx);
    return OK;
}

const struct check check_missing_generation_prompt = {
    .id = "missing-generation-prompt",
    .version = 1,
    .stage = STAGE_PROMPTS,
    .severity = SEVERITY_MISLEADS,
    .title = "The inference prompt ends with the assistant header",
    .why = "Without the header the model goes on as the user, or writes the header itself, and what "
           "follows is not what was trained.",
    .applies = prompts_apply,
    .run = run,
};
