/* Runs the checks of stages 0 to 3 for those of stage 7. */
#include "core/checks/gate.h"

#include <string.h>

#include "core/checks/registry.h"
#include "core/checks/runner.h"

static bool is_dismissed(const struct run_facts *facts, const char *id)
{
    for (size_t i = 0; i < facts->n_ticks; i++)
        if (facts->ticks[i].check_id && strcmp(facts->ticks[i].check_id, id) == 0 &&
            facts->ticks[i].state && strcmp(facts->ticks[i].state, "dismissed") == 0)
            return true;
    return false;
}

static size_t count_gating(void)
{
    size_t n = 0;

    for (size_t i = 0; i < check_count(); i++)
        n += check_at(i)->stage <= STAGE_SUPERVISED;
    return n;
}

void gate_see(struct gate *gate, const struct run_facts *facts, const struct check *check,
              enum verdict verdict)
{
    if (check->stage > STAGE_SUPERVISED)
        return;
    if (verdict == VERDICT_FAIL && !gate->failed && !is_dismissed(facts, check->id))
        gate->failed = check;
    gate->is_known = ++gate->n_seen == count_gating();
}

static int find(struct check_ctx *ctx, const struct check **failed, struct error *err)
{
    for (size_t i = 0; i < check_count(); i++) {
        const struct check *check = check_at(i);
        struct check_ctx inner = {.facts = ctx->facts,
                                  .others = ctx->others,
                                  .n_others = ctx->n_others,
                                  .arena = ctx->arena};
        struct check_result result;

        if (check->stage > STAGE_SUPERVISED || is_dismissed(ctx->facts, check->id))
            continue;
        int rc = check_run_one(check, &inner, &result, err);
        if (rc != OK)
            return rc;
        if (result.verdict == VERDICT_FAIL) {
            *failed = check;
            return OK;
        }
    }
    return OK;
}

int gate_failure(struct check_ctx *ctx, const struct check **failed, struct error *err)
{
    *failed = NULL;
    if (ctx->gate && ctx->gate->is_known) {
        *failed = ctx->gate->failed;
        return OK;
    }
    int rc = find(ctx, failed, err);
    if (rc == OK && ctx->gate)
        *ctx->gate = (struct gate){.is_known = true, .failed = *failed};
    return rc;
}
