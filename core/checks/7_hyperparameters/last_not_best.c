/* C7.2: is the kept checkpoint the best one? Kept is what is deployed, what was loaded at the end,
 * or the last one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/checks/check.h"
#include "core/facts/eval_points.h"
#include "core/stats/curve.h"
#include "core/stats/robust.h"

struct kept {
    int64_t step;
    const char *why; /* "deployed", "loaded at the end", "the last one" */
    bool is_deployed, is_loaded;
};

struct folders {
    size_t n;
    bool has_best;
    bool is_gone;     /* the best one is not there any more */
    bool is_one_file; /* every save went to the same file */
};

static bool applies(const struct run_facts *facts, const char **reason)
{
    if (facts->run.kind == KIND_GRPO || facts->run.kind == KIND_PPO) {
        *reason = "the evaluation loss of RL is not a learning curve";
        return false;
    }
    *reason = "a ten-row test is meant to memorise";
    return !(facts->run.marks & MARK_TEN_ROW_TEST);
}

static const struct event *find_pattern(const struct run_facts *facts, const char *name,
                                        const struct event *previous)
{
    for (const struct event *e = facts_event(facts, NULL, previous); e;
         e = facts_event(facts, NULL, e))
        if (e->pattern && strcmp(e->pattern, name) == 0)
            return e;
    return NULL;
}

static struct kept find_kept(const struct run_facts *facts, const struct eval_points *e,
                             int64_t best_step)
{
    double step = 0.0;
    int loads = facts_bool(facts, "load_best_model_at_end");
    const char *best = facts_text(facts, "best_model_checkpoint");
    int64_t last = e->step[e->n - 1] > facts->last_step ? e->step[e->n - 1] : facts->last_step;

    if (setting_number(facts_setting_on(facts, SIDE_SERVE, "step"), &step) && step >= 0.0 &&
        step < 1e15)
        return (struct kept){(int64_t)step, "deployed", true, false};
    /* The best is loaded when training ends, not before. */
    bool is_over = facts->has_end_marker || facts->run.outcome == OUTCOME_FINISHED;
    if (find_pattern(facts, "best-model-loaded", NULL) ||
        (loads == 1 && ((best && *best) || is_over)))
        return (struct kept){best_step, "loaded at the end", false, true};
    return (struct kept){last, "the last one", false, false};
}

static size_t nearest(const struct eval_points *e, int64_t step)
{
    size_t at = e->n - 1;

    for (size_t i = e->n; i-- > 0;)
        if (llabs((long long)(e->step[i] - step)) < llabs((long long)(e->step[at] - step)))
            at = i;
    return at;
}

/* Saves after the best step, by save_steps; 0 when that is not known. */
static double saves_after(const struct run_facts *facts, int64_t best_step)
{
    double every = 0.0, last = (double)facts->last_step;

    if (!facts_number(facts, "save_steps", &every) || every < 1.0 || facts->last_step < best_step)
        return 0.0;
    return floor(last / every) - floor((double)best_step / every) + (fmod(last, every) > 0.0);
}

static bool is_one_file(const struct run_facts *facts)
{
    const struct event *first = find_pattern(facts, "mlx-saved", NULL);
    size_t n = 0;

    for (const struct event *e = first; e; e = find_pattern(facts, "mlx-saved", e)) {
        if (strcmp(event_capture(e, 2), event_capture(first, 2)) != 0)
            return false;
        n++;
    }
    return n >= 2;
}

static struct folders find_folders(const struct run_facts *facts, int64_t best_step)
{
    struct folders folders = {.is_one_file = is_one_file(facts)};
    double limit = 0.0;

    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *a = &facts->artefacts[i];
        if (strcmp(a->kind, "checkpoint") != 0 || a->step == NONE)
            continue;
        folders.n++;
        folders.has_best = folders.has_best || a->step == best_step;
    }
    bool is_limited = facts_bool(facts, "load_best_model_at_end") != 1 &&
                      facts_number(facts, "save_total_limit", &limit) && limit >= 1.0 &&
                      limit <= saves_after(facts, best_step);
    folders.is_gone = folders.n > 0 && !folders.has_best && (folders.n >= 2 || is_limited);
    return folders;
}

static void show(struct check_ctx *ctx, const struct eval_points *e, size_t best, size_t at,
                 const struct folders *folders)
{
    const struct run_facts *facts = ctx->facts;

    check_begins(ctx, e->step[best]);
    evidence_point(ctx, e->curve, e->at[best], "the best %s", e->curve->name);
    struct evidence *kept =
        evidence_point(ctx, e->curve, e->at[at], "%s nearest to what was kept", e->curve->name);
    kept->bound = 1.05 * e->value[best];
    kept->has_bound = true;
    for (size_t i = 0; i < facts->n_artefacts && folders->is_gone; i++)
        if (strcmp(facts->artefacts[i].kind, "checkpoint") == 0)
            evidence_add(ctx, "artefact",
                         "checkpoint of step %lld is there, that of step %lld is "
                         "not",
                         (long long)facts->artefacts[i].step, (long long)e->step[best])
                ->source_id = facts->artefacts[i].source_id;
    evidence_setting(ctx, facts_setting(facts, "load_best_model_at_end"));
    evidence_setting(ctx, facts_setting(facts, "save_total_limit"));
    if (!folders->is_gone)
        check_fix(ctx, "export checkpoint-%lld", (long long)e->step[best]);
    check_fix(ctx, "load_best_model_at_end=True, metric_for_best_model=\"eval_loss\", and save at "
                   "the steps of the evaluation");
    check_fix(ctx, "save_total_limit of 3 or more (the best one is kept when "
                   "load_best_model_at_end is on)");
}

static int judge_curve(struct check_ctx *ctx, const struct eval_points *e)
{
    size_t best = 0;

    for (size_t i = 1; i < e->n; i++)
        if (e->value[i] < e->value[best])
            best = i;
    int64_t step = e->step[best];
    struct kept kept = find_kept(ctx->facts, e, step);
    struct folders folders = find_folders(ctx->facts, step);
    size_t at = kept.is_loaded ? best : nearest(e, kept.step);
    double sigma = e->n >= 5 ? stat_noise(e->value, e->n) : 0.0;
    double d = e->value[at] - e->value[best], level = fabs(e->value[best]);
    const char *branch = folders.is_gone                         ? "gone"
                         : folders.is_one_file                   ? "one-file"
                         : kept.is_deployed && kept.step != step ? "deployed"
                                                                 : "";
    if (d >= 0.05 * level && d > 0.0)
        check_fail(ctx, CONFIDENCE_STRONG, branch,
                   "%s is %.4g at step %lld, which is %s, and %.4g at step %lld (+%.1f %%)",
                   e->curve->name, e->value[at], (long long)e->step[at], kept.why, e->value[best],
                   (long long)step, 100.0 * d / level);
    else if (folders.is_gone && d > 0.01 * level)
        check_fail(ctx, CONFIDENCE_STRONG, branch,
                   "the best checkpoint (step %lld, %s %.4g) does not exist any more; kept is %.4g "
                   "(+%.1f %%)",
                   (long long)step, e->curve->name, e->value[best], e->value[at],
                   100.0 * d / level);
    else if (d > fmax(0.01 * level, 2.0 * sigma))
        check_warn(ctx, CONFIDENCE_LIKELY, branch,
                   "%s is %.4g at step %lld, which is %s, and %.4g at step %lld (+%.1f %%)",
                   e->curve->name, e->value[at], (long long)e->step[at], kept.why, e->value[best],
                   (long long)step, 100.0 * d / level);
    else
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "%s of what was kept (%s) is within %.2f %% of the best", e->curve->name,
                          kept.why, level > 0.0 ? 100.0 * d / level : 0.0);
    show(ctx, e, best, at, &folders);
    return OK;
}

static void judge_warnings(struct check_ctx *ctx)
{
    static const struct {
        const char *pattern, *sentence;
    } WARNINGS[] = {
        {"early-stopping-no-metric", "early stopping was off, since its metric was not found"},
        {"best-model-missing",
         "the best model could not be located at the end: the last one was kept"},
    };
    for (size_t i = 0; i < sizeof WARNINGS / sizeof *WARNINGS; i++) {
        const struct event *event = find_pattern(ctx->facts, WARNINGS[i].pattern, NULL);
        if (!event)
            continue;
        check_warn(ctx, CONFIDENCE_CERTAIN, "", "%s", WARNINGS[i].sentence);
        check_begins(ctx, event->step);
        evidence_event(ctx, event);
        check_fix(ctx, "metric_for_best_model with a name that the evaluation logs (eval_loss)");
    }
}

/* A metric that is none of the loss, chosen on purpose. */
static const char *task_metric(const struct run_facts *facts)
{
    const char *metric = facts_text(facts, "metric_for_best_model");

    return metric && *metric && strcmp(metric, "loss") != 0 && strcmp(metric, "eval_loss") != 0
               ? metric
               : NULL;
}

static int run(struct check_ctx *ctx, struct error *err)
{
    size_t n = 0;
    const struct curve *const *curves = facts_eval_losses(ctx->facts, &n);
    const struct curve *curve = facts_curve(ctx->facts, "eval_loss");
    const char *metric = task_metric(ctx->facts);
    struct eval_points points;

    (void)err;
    judge_warnings(ctx);
    if (!curve && n > 0)
        curve = curves[0];
    if (!eval_points_read(curve, ctx->arena, &points))
        return check_unknown(ctx, "evaluation during training (eval_loss)");
    if (metric) {
        evidence_setting(ctx, facts_setting(ctx->facts, "metric_for_best_model"));
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "the best model is chosen by %s on purpose, not by "
                          "the loss",
                          metric);
    }
    if (points.n < 2)
        return check_unknown(ctx, "a second evaluation during training");
    if (points.step[0] == NONE)
        return check_unknown(ctx, "the steps of the evaluations");
    return judge_curve(ctx, &points);
}

const struct check check_last_not_best = {
    .id = "last-not-best",
    .version = 1,
    .stage = STAGE_HYPERPARAMETERS,
    .severity = SEVERITY_WASTES,
    .title = "The kept checkpoint is the best one",
    .why =
        "The last checkpoint is kept by default; when an earlier one was better, the better model "
        "was trained and thrown away.",
    .applies = applies,
    .run = run,
};
