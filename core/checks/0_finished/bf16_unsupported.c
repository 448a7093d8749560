/* bf16-unsupported (CHECKS.md C0.9): can the GPU do bf16 or tf32? */
#include <ctype.h>
#include <string.h>

#include "core/checks/registry.h"

/* Names of GPUs below compute capability 8.0, as nvidia-smi and torch print them. RTX 2050 and RTX 2000 Ada
 * are newer than their numbers look. */
static const char *const OLD_GPUS[] = {
    "K80",     "K40",     "P100",      "P40",        "P4",       "V100",      "T4",
    "M40",     "M60",     "GTX 9",     "GTX 10",     "GTX 16",   "GTX TITAN", "RTX 206",
    "RTX 207", "RTX 208", "TITAN V",   "TITAN X",    "TITAN RTX", "QUADRO RTX", "QUADRO P",
    "QUADRO GV",
};

static bool has_name(const char *gpu, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = gpu; *at; at++) {
        bool begins = at == gpu || !isalnum((unsigned char)at[-1]);
        /* "GTX 10" has to match "GTX 1080", "P4" not "P40", "T4" not "T400". */
        bool ends = strchr(name, ' ') || !isalnum((unsigned char)at[n <= strlen(at) ? n : 0]);
        if (begins && ends && strncasecmp(at, name, n) == 0)
            return true;
    }
    return false;
}

static bool is_old_gpu(const char *gpu)
{
    for (size_t i = 0; gpu && i < sizeof OLD_GPUS / sizeof OLD_GPUS[0]; i++)
        if (has_name(gpu, OLD_GPUS[i]))
            return true;
    return false;
}

static const struct setting *asked_for(const struct run_facts *facts)
{
    static const char *const NAMES[] = {"bf16", "tf32"};
    const struct setting *precision = facts_setting(facts, "precision");

    for (size_t i = 0; i < 2; i++)
        if (facts_bool(facts, NAMES[i]) == 1)
            return facts_setting(facts, NAMES[i]);
    if (precision && precision->value && strncmp(precision->value, "bf16", 4) == 0)
        return precision;
    return NULL;
}

static const struct event *banner_without_bf16(const struct run_facts *facts)
{
    const struct event *event = NULL;

    while ((event = facts_event(facts, NULL, event)))
        if (event->pattern && strcmp(event->pattern, "unsloth-bf16") == 0 &&
            strcmp(event_capture(event, 1), "FALSE") == 0)
            return event;
    return NULL;
}

static void add_fixes(struct check_ctx *ctx)
{
    check_fix(ctx, "fp16 instead; where the base was pretrained in bf16: a lower rate and "
                   "max_grad_norm=1.0 (see nan-fp16-overflow)");
    check_fix(ctx, "fp32, and tf32 off");
    check_fix(ctx, "an Ampere or newer GPU");
}

static int run(struct check_ctx *ctx, struct error *err)
{
    const struct run_facts *facts = ctx->facts;
    const struct event *error = facts_event(facts, "bf16-unsupported", NULL);
    const struct setting *asked = asked_for(facts);
    const struct event *banner = banner_without_bf16(facts);
    const struct curve *loss = facts_curve(facts, "loss");
    bool has_trained = loss && loss->n > 0;
    const char *gpu = NULL;

    (void)err;
    facts_gpu_bytes(facts, &gpu);
    if (error) {
        evidence_event(ctx, error);
        evidence_setting(ctx, asked);
        if (gpu)
            evidence_add(ctx, "number", "GPU: %s", gpu);
        add_fixes(ctx);
        return check_fail(ctx, CONFIDENCE_CERTAIN, "error",
                          "the GPU cannot do the precision asked for (%s:%lld)",
                          facts_file_name(facts, error->source_id), (long long)error->line);
    }
    if (asked && (is_old_gpu(gpu) || banner)) {
        evidence_setting(ctx, asked);
        if (banner)
            evidence_event(ctx, banner);
        evidence_add(ctx, "number", "GPU: %s", gpu ? gpu : "without bf16, by the banner");
        add_fixes(ctx);
        if (has_trained)
            return check_warn(ctx, CONFIDENCE_LIKELY, "emulated",
                              "%s is on and the GPU (%s) has no bf16 units: it was emulated, "
                              "slowly, or the run used another GPU",
                              asked->raw_name, gpu ? gpu : "by the banner");
        return check_fail(ctx, CONFIDENCE_STRONG, "gpu", "%s is on and the GPU (%s) cannot do it",
                          asked->raw_name, gpu ? gpu : "by the banner");
    }
    if (gpu && !is_old_gpu(gpu))
        return check_pass(ctx, CONFIDENCE_STRONG, "the GPU (%s) can do bf16", gpu);
    if (has_trained)
        return check_pass(ctx, CONFIDENCE_STRONG, "the run trained in the precision asked for");
    if (!asked && facts_setting(facts, "bf16"))
        return check_pass(ctx, CONFIDENCE_CERTAIN, "neither bf16 nor tf32 was asked for");
    return check_unknown(ctx, "the training arguments and the GPU's name (nvidia_smi.txt)");
}

const struct check check_bf16_unsupported = {
    .id = "bf16-unsupported",
    .version = 2,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_BLOCKS,
    .title = "The GPU can do the precision asked for",
    .why = "bf16 and tf32 need an Ampere GPU or newer; older ones refuse or emulate slowly.",
    .run = run,
};
