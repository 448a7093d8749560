/* padding-side (CHECKS.md C2.6): does batched generation pad on the left? Right padding is what
 * training wants, so only what was said or done at generation counts. */
#include <string.h>

#include "core/checks/label_evidence.h"
#include "core/checks/registry.h"
#include "core/facts/serving.h"

#define LEAST_COMPARED 3 /* prompts answered both alone and in a batch */

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.kind == KIND_SEQ2SEQ) {
        *reason = "encoder and decoder: the decoder's side is not padded by the prompt";
        return false;
    }
    *reason = "no text is generated";
    return facts->run.kind != KIND_CLASSIFICATION && facts->run.kind != KIND_REWARD_MODEL;
}

/* What is known of the batches of the outputs. */
struct batches {
    size_t n_one, n_more;
    const struct generation *first_more;
    /* The same prompt, alone and in a batch. */
    size_t n_compared, n_differ;
    const struct generation *first_alone, *first_batched;
};

static void compare(const struct run_facts *facts, const struct generation *batched,
                    struct batches *b)
{
    for (size_t i = 0; i < facts->n_generations; i++) {
        const struct generation *alone = &facts->generations[i];

        if (alone->batch != 1 || alone->prompt_hash != batched->prompt_hash ||
            !alone->output_hash || strcmp(alone->model, batched->model) != 0)
            continue;
        b->n_compared++;
        if (alone->output_hash != batched->output_hash && b->n_differ++ == 0) {
            b->first_alone = alone;
            b->first_batched = batched;
        }
        return;
    }
}

static void read_batches(const struct run_facts *facts, struct batches *b)
{
    enum { MOST_COMPARED = 2000 };

    *b = (struct batches){0};
    for (size_t i = 0; i < facts->n_generations; i++) {
        const struct generation *made = &facts->generations[i];

        b->n_one += made->batch == 1;
        if (made->batch <= 1)
            continue;
        if (b->n_more++ == 0)
            b->first_more = made;
        if (made->prompt_hash && made->output_hash && b->n_compared < MOST_COMPARED)
            compare(facts, made, b);
    }
}

/* What pads at generation: the server's own word, else the tokenizer that is served. */
static const struct setting *side_at_inference(const struct run_facts *facts)
{
    const struct setting *served = facts_setting_on(facts, SIDE_SERVE, "padding_side");

    if (served)
        return served;
    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];
        const struct source *source = facts_source(facts, s->source_id);

        if (s->side == SIDE_TOKENIZER && s->raw_name && s->value &&
            strcmp(s->raw_name, "padding_side") == 0 && source && source->role &&
            strcmp(source->role, "served") == 0)
            return s;
    }
    return facts_setting_on(facts, SIDE_TOKENIZER, "padding_side");
}

static bool is_side(const struct setting *setting, const char *side)
{
    return setting && setting->value && strcmp(setting->value, side) == 0;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "tokenizer.padding_side = \"left\" before generation; leave training as it is");
}

static void show_output(struct check_ctx *ctx, const struct generation *made, const char *what)
{
    if (!made)
        return;
    struct evidence *e = evidence_add(ctx, "dataset", "%s", what);
    e->source_id = made->source_id;
    e->row = made->row != NONE ? made->row : made->ord;
}

static void say_batches(struct check_ctx *ctx, const struct batches *b)
{
    if (b->n_more > 0)
        show_output(ctx, b->first_more,
                    arena_printf(ctx->arena, "%zu outputs were made in batches of more than one",
                                 b->n_more));
    if (b->n_differ > 0)
        show_output(ctx, b->first_batched,
                    arena_printf(ctx->arena,
                                 "%zu of %zu prompts are answered otherwise in a batch than alone",
                                 b->n_differ, b->n_compared));
}

static int warned(struct check_ctx *ctx, const struct event *event, const struct batches *b)
{
    const struct setting *side = side_at_inference(ctx->facts);

    if (b->n_one > 0 && b->n_more == 0) {
        check_info(ctx,
                   "right padding was seen at generation (%s:%lld), but every batch holds one row, "
                   "which is not padded",
                   facts_file_name(ctx->facts, event->source_id), (long long)event->line);
        return check_pass(ctx, CONFIDENCE_STRONG, "all %zu outputs were made one by one", b->n_one);
    }
    evidence_event(ctx, event);
    evidence_setting(ctx, side);
    say_batches(ctx, b);
    add_fixes(ctx);
    return check_fail(ctx, b->n_more > 0 ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY, "message",
                      b->n_more > 0
                          ? "generation padded batches on the right (%s:%lld)"
                          : "generation saw right padding (%s:%lld); how large its batches "
                            "were is not known",
                      facts_file_name(ctx->facts, event->source_id), (long long)event->line);
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct event *event = facts_event(ctx->facts, "padding-side", NULL);
    const struct setting *side = side_at_inference(ctx->facts);
    struct batches b;

    (void)err;
    read_batches(ctx->facts, &b);
    if (event)
        return warned(ctx, event, &b);
    if (is_side(side, "right") && b.n_compared >= LEAST_COMPARED &&
        2 * b.n_differ >= b.n_compared) {
        evidence_setting(ctx, side);
        say_batches(ctx, &b);
        show_output(ctx, b.first_alone, "the same prompt alone");
        add_fixes(ctx);
        return check_warn(ctx, CONFIDENCE_LIKELY, "outputs",
                          "the tokenizer pads on the right, and %zu of %zu prompts are answered "
                          "otherwise in a batch than alone",
                          b.n_differ, b.n_compared);
    }
    if (is_side(side, "left"))
        return check_pass(ctx, CONFIDENCE_STRONG, "%s = left (%s)", side->raw_name,
                          facts_file_name(ctx->facts, side->source_id));
    if (b.n_one > 0 && b.n_more == 0)
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "all %zu outputs were made one by one: nothing is "
                          "padded",
                          b.n_one);
    if (b.n_compared >= LEAST_COMPARED && b.n_differ == 0)
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "%zu prompts are answered alike in a batch and alone", b.n_compared);
    const struct serving *serving = facts_serving(ctx->facts);
    if (serving && serving->engine >= SERVING_VLLM)
        return check_pass(ctx, CONFIDENCE_STRONG, "%s serves, which pads nothing",
                          serving_engine_name(serving->engine));
    if (is_side(side, "right"))
        check_info(ctx, "padding_side is right in the saved tokenizer, as training wants it");
    return check_unknown(ctx, "the output of a batched generation (infer.log), or serve.json with "
                              "padding_side");
}

const struct check check_padding_side = {
    .id = "padding-side",
    .version = 2,
    .stage = STAGE_PROMPTS,
    .severity = SEVERITY_MISLEADS,
    .title = "Batched generation pads on the left",
    .why = "Padded on the right, a decoder continues from padding: shorter prompts of a batch get "
           "gibberish, while single prompts look fine.",
    .applies = applies,
    .run = run,
};
