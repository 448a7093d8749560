/* adapter-file-empty (CHECKS.md C1.3): does the adapter's file hold trained tensors? Some ways of saving
 * write a file without tensors, or with tensors of no values, and say nothing. */
#include <math.h>
#include <string.h>

#include "core/checks/adapter_evidence.h"
#include "core/checks/registry.h"
#include "core/facts/adapter_facts.h"
#include "core/facts/lineage.h"

enum { SMALLEST_BIN = 10240 };  /* bytes; torch's zip alone takes some hundreds */
#define LEAST_SHARE 0.1         /* of two bytes a parameter */

static bool applies(const struct run_facts *facts, const char **reason)
{
    *reason = "a full fine-tune: there is no adapter";
    return facts_is_adapter_run(facts, NULL) != 0;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "DeepSpeed ZeRO-3: stage3_gather_16bit_weights_on_model_save: true, save through the "
                   "trainer's or accelerator's state dict, or use ZeRO-2");
    check_fix(ctx, "save again from the live model");
    check_fix(ctx, "newer peft and accelerate");
}

/* Files that are judged: the run's and the served ones. */
static bool is_judged(const struct artefact *a)
{
    return strcmp(a->kind, "adapter") == 0 && artefact_is_weights(a) &&
           (!a->role || strcmp(a->role, "base") != 0);
}

/* A later one of the same run stands for it: the root, or a later checkpoint. */
static bool is_superseded(const struct run_facts *facts, const struct artefact *a)
{
    if (a->step == NONE || (a->role && strcmp(a->role, "served") == 0))
        return false;
    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *other = &facts->artefacts[i];

        if (other != a && is_judged(other) && (other->step == NONE || other->step > a->step))
            return true;
    }
    return false;
}

static void state(struct check_ctx *ctx, const struct artefact *a, const char *branch, const char *what)
{
    struct evidence *e = evidence_add(ctx, "artefact", "%s: %lld bytes, %s",
                                      artefact_shown(ctx->facts, a), (long long)a->size, what);

    e->source_id = a->source_id;
    e->step = a->step;
    evidence_setting(ctx, facts_setting(ctx->facts, "zero_stage"));
    if (is_superseded(ctx->facts, a))
        (void)check_warn(ctx, CONFIDENCE_STRONG, branch, "an earlier adapter file is empty: %s, %s",
                         artefact_shown(ctx->facts, a), what);
    else
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, branch, "the adapter file %s holds nothing trained: %s",
                         artefact_shown(ctx->facts, a), what);
}

/* Parameters that should be in it: by the banner of the log, else by rank and targets. */
static double expected_parameters(const struct run_facts *facts, const struct adapter_facts *adapter)
{
    struct trainable_banner banner;

    trainable_banner(facts, &banner);
    if (banner.event && banner.trainable > 0.0)
        return banner.trainable;
    return adapter->n_expected != NONE ? (double)adapter->n_expected : NAN;
}

static bool is_complete(const struct adapter_facts *adapter, double expected)
{
    return adapter->n_pairs > 0 && adapter->n_halves == 0 && adapter->n_empty == 0 &&
           (isnan(expected) || (double)adapter->n_values >= LEAST_SHARE * expected);
}

static size_t n_empty_lora(const struct adapter_facts *adapter)
{
    size_t n = 0;

    for (size_t i = 0; i < adapter->n_pairs; i++) {
        const struct lora_pair *pair = &adapter->pairs[i];

        n += (pair->a && pair->a->n_values == 0) || (pair->b && pair->b->n_values == 0);
    }
    return n;
}

/* Whether the file was looked at whole. */
static bool judge_tensors(struct check_ctx *ctx, const struct artefact *a,
                          const struct adapter_facts *adapter, bool *is_whole)
{
    double expected = expected_parameters(ctx->facts, adapter);
    double bytes = 2.0 * expected;
    size_t n_empty = n_empty_lora(adapter);

    if (n_empty > 0)
        state(ctx, a, "no-values", arena_printf(ctx->arena, "%zu of %zu LoRA pairs have no values", n_empty,
                                                adapter->n_pairs));
    else if (a->size >= 0 && (double)a->size < LEAST_SHARE * bytes && adapter->n_values != NONE &&
             (double)adapter->n_values < LEAST_SHARE * expected) {
        evidence_number(ctx, (double)a->size, LEAST_SHARE * bytes,
                        "%.0f trained parameters need %.0f bytes in 16 bit", expected, bytes);
        state(ctx, a, "small", arena_printf(ctx->arena, "%lld values of %.0f", (long long)adapter->n_values,
                                            expected));
    } else if (adapter->n_halves > 0) {
        evidence_add(ctx, "artefact", "%s: %zu of %zu pairs are halves, first %s",
                     artefact_shown(ctx->facts, a), adapter->n_halves, adapter->n_pairs,
                     adapter->first_half)
            ->source_id = a->source_id;
        (void)check_warn(ctx, CONFIDENCE_STRONG, "half",
                         "the adapter file is half saved: of %zu of %zu modules only lora_A or lora_B is "
                         "there", adapter->n_halves, adapter->n_pairs);
    }
    *is_whole = is_complete(adapter, expected) || (adapter->n_pairs == 0 && adapter->n_others > 0);
    return true;
}

/* The file could be read to its end; *why else. */
static bool is_readable(const struct run_facts *facts, const struct artefact *a, const char **why)
{
    const struct source *source = facts_source(facts, a->source_id);

    *why = NULL;
    for (size_t i = 0; source && i < facts->n_notes; i++)
        if (facts->notes[i].source_id == source->id && facts->notes[i].severity == NOTE_ERROR)
            *why = facts->notes[i].message;
    return !source || source->state == SOURCE_WHOLE;
}

/* True when the file decided something (or is sound). */
static bool judge(struct check_ctx *ctx, const struct artefact *a, const char **unreadable)
{
    struct adapter_facts adapter;
    const char *why;
    bool is_bin = str_ends(str_of(a->path), ".bin"), is_whole = false;

    if (a->size == 0) {
        evidence_add(ctx, "artefact", "%s: 0 bytes", artefact_shown(ctx->facts, a))->source_id =
            a->source_id;
        return check_warn(ctx, CONFIDENCE_LIKELY, "no-bytes", "the adapter file %s has no bytes at all",
                          artefact_shown(ctx->facts, a)) == OK;
    }
    if (!is_readable(ctx->facts, a, &why)) {
        *unreadable = arena_printf(ctx->arena, "%s again: %s", artefact_shown(ctx->facts, a),
                                   why ? why : "it could not be read to its end");
        return false;
    }
    bool has_tensors = adapter_facts_read(ctx->facts, a, ctx->arena, &adapter);
    if (has_tensors)
        (void)judge_tensors(ctx, a, &adapter, &is_whole);
    else
        state(ctx, a, "no-tensors", "no tensors");
    if (is_bin && has_tensors && !is_whole && a->size >= 0 && a->size < SMALLEST_BIN &&
        check_verdict(ctx) < VERDICT_WARN)
        state(ctx, a, "small", "fewer than 10 kB and not complete");
    return true;
}

static void by_message(struct check_ctx *ctx)
{
    const struct event *event = NULL;

    while ((event = facts_event(ctx->facts, NULL, event))) {
        const char *name = event_capture(event, 1), *saved = event_capture(event, 2);

        if (!event->pattern || strcmp(event->pattern, "size-mismatch") != 0 || strcmp(saved, "[0]") != 0)
            continue;
        evidence_event(ctx, event);
        evidence_of_loading(ctx, event);
        (void)check_fail(ctx, CONFIDENCE_CERTAIN, "message",
                         "the adapter file holds a tensor without values: %s is [0] in it", name);
        return;
    }
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const char *unreadable = NULL;
    size_t n = 0;

    (void)err;
    by_message(ctx);
    for (size_t i = 0; i < ctx->facts->n_artefacts; i++)
        if (is_judged(&ctx->facts->artefacts[i]))
            n += judge(ctx, &ctx->facts->artefacts[i], &unreadable);
    if (check_verdict(ctx) >= VERDICT_WARN) {
        add_fixes(ctx);
        return OK;
    }
    if (unreadable)
        return check_unknown(ctx, "%s", unreadable);
    if (n > 0)
        return check_pass(ctx, CONFIDENCE_CERTAIN, "each of %zu adapter files holds its tensors", n);
    return check_unknown(ctx, "the adapter's weights (adapter_model.safetensors)");
}

const struct check check_adapter_file_empty = {
    .id = "adapter-file-empty",
    .version = 1,
    .stage = STAGE_ADAPTER,
    .severity = SEVERITY_BLOCKS,
    .title = "The adapter file holds trained tensors",
    .why = "A file of a header alone loads without an error and changes nothing: what was trained is lost.",
    .applies = applies,
    .run = run,
};
