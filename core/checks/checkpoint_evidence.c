/* The checkpoint set in words. */
#include "core/checks/checkpoint_evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAMED = 8 };

struct saying {
    struct check_ctx *ctx;
    bool is_finding;
};

/* A record of evidence, or a line of information and NULL. */
static struct evidence *say(const struct saying *saying, const char *kind, const char *text)
{
    if (saying->is_finding)
        return evidence_add(saying->ctx, kind, "%s", text ? text : "");
    check_info(saying->ctx, "%s", text ? text : "");
    return NULL;
}

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

    for (size_t i = 0; text && i < set->n_kept && i < NAMED; i++)
        text = arena_printf(ctx->arena, "%s%s%s", text, i ? ", " : "",
                            checkpoint_shown(set->kept[i]));
    if (text && set->n_kept > NAMED)
        text = arena_printf(ctx->arena, "%s and %zu more", text, set->n_kept - NAMED);
    return text ? text : "";
}

static void say_set(const struct saying *saying, const struct eval_points *points,
                    const struct checkpoint_set *set)
{
    struct arena *arena = saying->ctx->arena;
    const char *steps = checkpoint_steps(set, points, arena);
    const char *text =
        set->n_rows == 1
            ? arena_printf(arena, "no other evaluation lies within %.2g of the best %s", set->bound,
                           points->curve->name)
            : arena_printf(arena, "%s of the steps %s cannot be told from the best (within %.2g)",
                           points->curve->name, steps, set->bound);
    struct evidence *e = say(saying, "number", text);

    if (!e)
        return;
    e->value = (double)set->n_rows;
    e->has_value = true;
}

static void say_folders(const struct saying *saying, const struct checkpoint_set *set)
{
    struct arena *arena = saying->ctx->arena;
    const char *text;

    if (set->n_folders == 0)
        return;
    if (set->keep)
        text = arena_printf(arena, "on disk: %s; keep %s", kept_steps(saying->ctx, set),
                            checkpoint_shown(set->keep));
    else if (set->nearest)
        text = arena_printf(arena, "of these none was found on disk; the best evaluated one that was is "
                                   "%s (%.4g)",
                            checkpoint_shown(set->nearest), set->nearest_value);
    else
        text = "of these none was found on disk";
    const struct artefact *shown = set->keep ? set->keep : set->nearest;
    struct evidence *e = say(saying, "artefact", text);
    if (!e || !shown)
        return;
    e->source_id = shown->source_id;
    e->step = shown->step;
}

static void say_rest(const struct saying *saying, const struct checkpoint_set *set)
{
    bool has_time = isfinite(set->seconds_after);
    char time[32];

    if (!(set->share_after > 0.0))
        return;
    struct evidence *e =
        say(saying, "number",
            arena_printf(saying->ctx->arena, "%.0f %% of the steps%s%s came after the best",
                         100.0 * set->share_after, has_time ? ", about " : "",
                         has_time ? time_text(set->seconds_after, time) : ""));
    if (!e)
        return;
    e->value = 100.0 * set->share_after;
    e->has_value = true;
}

void state_checkpoints(struct check_ctx *ctx, const struct eval_points *points, bool is_finding)
{
    const struct saying saying = {ctx, is_finding};
    struct checkpoint_set set;

    if (!checkpoint_set_read(ctx->facts, points, ctx->arena, &set))
        return;
    say_set(&saying, points, &set);
    say_folders(&saying, &set);
    say_rest(&saying, &set);
}
