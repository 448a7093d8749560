/* One check on one run: does it apply, is there what it needs, what does its rule say. Apart from
 * runner.c, so that a test of one check links neither the store nor the other checks. */
#include "core/checks/runner.h"

#include "core/checks/draft.h"
#include "core/checks/needs.h"

static void state_missing(struct check_ctx *ctx, unsigned missing)
{
    for (unsigned i = 0; i < N_NEEDS; i++)
        if (missing & (1u << i))
            check_unknown(ctx, "%s", need_hint((enum need)(1u << i)));
}

/* A run of unknown kind may be one that the check is about (CHECKS.md 2.1). */
static bool depends_on_kind(const struct check *check, const struct run_facts *facts)
{
    static const enum run_kind KINDS[] = {KIND_GRPO, KIND_PPO, KIND_DPO, KIND_CLASSIFICATION,
                                          KIND_SFT};
    struct run_facts other = *facts;
    const char *reason = NULL;

    for (size_t i = 0; facts->run.kind == KIND_UNKNOWN && i < sizeof KINDS / sizeof *KINDS; i++) {
        other.run.kind = KINDS[i];
        if (check->applies(&other, &reason))
            return true;
    }
    return false;
}

int check_run_one(const struct check *check, struct check_ctx *ctx, struct check_result *out,
                  struct error *err)
{
    struct check_draft draft = {.from_step = NONE};
    const char *reason = NULL;
    int rc = OK;

    ctx->draft = &draft;
    unsigned missing = check->needs & ~needs_met(ctx->facts);
    bool applies = !check->applies || check->applies(ctx->facts, &reason);
    if (!applies && depends_on_kind(check, ctx->facts))
        check_unknown(ctx, "the kind of run: training arguments or metric rows, or --set kind=sft "
                           "(dpo, grpo, ppo, classification)");
    else if (!applies)
        check_skip(ctx, "%s", reason ? reason : "this kind of run has no such question");
    else if (missing)
        state_missing(ctx, missing);
    else
        rc = check->run(ctx, err);
    if (rc == OK && !draft.is_stated)
        check_unknown(ctx, "a rule of %s that covers this run", check->id);
    if (rc == OK && arena_failed(ctx->arena))
        rc = error_set(err, E_NOMEM, "%s: out of memory", check->id);
    if (rc == OK)
        draft_finish(ctx, check, out);
    ctx->draft = NULL;
    return rc;
}
