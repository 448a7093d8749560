/* The checkpoint set in words. */
#include "core/checks/checkpoint_evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* "2.1 h", "14 min" */
static const char *time_text(double seconds, char out[32])
{
    if (seconds >= 5400.0)
        (void)snprintf(out, 32, "%.1f h", seconds / 3600.0);
    else
        (void)snprintf(out, 32, "%.0f min", fmax(1.0, seconds / 60.0));
    return out;
}

static const char *kept_steps(const struct check_ctx *ctx, const struct checkpoint_set *set)
{
    const char *text = "";

    for (size_t i = 0; text && i < set->n_kept && i < 8; i++)
        text = arena_printf(ctx->arena, "%s%scheckpoint-%lld", text, i ? ", " : "",
                            (long long)set->kept[i]->step);
    if (text && set->n_kept > 8)
        text = arena_printf(ctx->arena, "%s and %zu more", text, set->n_kept - 8);
    return text ? text : "";
}

static void inform_folders(struct check_ctx *ctx, const struct checkpoint_set *set, bool with_evidence)
{
    if (set->n_folders == 0) {
        check_info(ctx, "no checkpoint folder was imported: which of them are still there is not known");
        return;
    }
    if (!set->keep) {
        if (set->nearest)
            check_info(ctx, "none of these was found on disk; the best evaluated one that was is "
                            "checkpoint-%lld (%.4g)",
                       (long long)set->nearest->step, set->nearest_value);
        else
            check_info(ctx, "none of these was found on disk");
        return;
    }
    check_info(ctx, "of these on disk: %s; keep checkpoint-%lld", kept_steps(ctx, set),
               (long long)set->keep->step);
    if (!with_evidence)
        return;
    struct evidence *e = evidence_add(ctx, "artefact", "checkpoint-%lld is there: the one to keep",
                                      (long long)set->keep->step);
    e->source_id = set->keep->source_id;
    e->step = set->keep->step;
}

void inform_checkpoints(struct check_ctx *ctx, const struct eval_points *points, bool with_evidence)
{
    struct checkpoint_set set;
    char time[32];

    if (!checkpoint_set_read(ctx->facts, points, ctx->arena, &set))
        return;
    check_info(ctx, "not to be told from the best %s, %.4g, by more than %.2g: step%s %s",
               points->curve->name, points->value[set.best], set.bound, set.n_rows == 1 ? "" : "s",
               checkpoint_steps(&set, points, ctx->arena));
    inform_folders(ctx, &set, with_evidence);
    if (!(set.share_after > 0.0))
        return;
    bool has_time = isfinite(set.seconds_after);
    check_info(ctx, "%.0f %% of the steps%s%s came after the best", 100.0 * set.share_after,
               has_time ? ", about " : "", has_time ? time_text(set.seconds_after, time) : "");
    if (!with_evidence)
        return;
    struct evidence *e = evidence_add(ctx, "number", "%.0f %% of the steps came after the best of step %lld",
                                      100.0 * set.share_after, (long long)points->step[set.best]);
    e->value = 100.0 * set.share_after;
    e->has_value = true;
    e->step = points->step[set.best];
}
