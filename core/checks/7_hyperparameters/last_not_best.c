/* C7.2: is the kept checkpoint the best one? Kept is what is deployed, what was loaded at the end,
 * or the last one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/checks/checkpoint_evidence.h"
#include "core/checks/suite_evidence.h"
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
    const struct artefact *best; /* NULL: none of them is it */
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

static struct folders find_folders(const struct run_facts *facts, const struct eval_points *points,
                                   size_t best)
{
    int64_t best_step = points->step[best];
    struct folders folders = {.is_one_file = is_one_file(facts)};
    double limit = 0.0;

    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *a = &facts->artefacts[i];
        if (!artefact_is_checkpoint(a))
            continue;
        ptrdiff_t row = checkpoint_row(facts, points, a);
        if (a->step == NONE && row < 0)
            continue; /* of an epoch whose end is not known */
        folders.n++;
        if (row == (ptrdiff_t)best)
            folders.best = a;
    }
    bool is_limited = facts_bool(facts, "load_best_model_at_end") != 1 &&
                      facts_number(facts, "save_total_limit", &limit) && limit >= 1.0 &&
                      limit <= saves_after(facts, best_step);
    folders.is_gone = folders.n > 0 && !folders.best && (folders.n >= 2 || is_limited);
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
        if (artefact_is_checkpoint(&facts->artefacts[i]))
            evidence_add(ctx, "artefact", "%s is there, the checkpoint of step %lld is not",
                         checkpoint_shown(&facts->artefacts[i]), (long long)e->step[best])
                ->source_id = facts->artefacts[i].source_id;
    evidence_setting(ctx, facts_setting(facts, "load_best_model_at_end"));
    evidence_setting(ctx, facts_setting(facts, "save_total_limit"));
    if (folders->best)
        check_fix(ctx, "export %s", checkpoint_shown(folders->best));
    else if (!folders->is_gone)
        check_fix(ctx, "export checkpoint-%lld", (long long)e->step[best]);
    check_fix(ctx, "load_best_model_at_end=True, metric_for_best_model=\"eval_loss\", and save at "
                   "the steps of the evaluation");
    check_fix(ctx, "save_total_limit of 3 or more (the best one is kept when "
                   "load_best_model_at_end is on)");
}

struct judged {
    struct eval_points points;
    struct kept kept;
    struct folders folders;
    size_t best, at;    /* of the points: the best, and what was kept */
    double d, level;    /* how much worse, the best value */
    enum verdict verdict;
    bool is_by_absence; /* the best would not matter, were its folder still there */
};

static void judge(const struct run_facts *facts, struct judged *j)
{
    const struct eval_points *e = &j->points;

    j->best = 0;
    for (size_t i = 1; i < e->n; i++)
        if (e->value[i] < e->value[j->best])
            j->best = i;
    j->kept = find_kept(facts, e, e->step[j->best]);
    j->folders = find_folders(facts, e, j->best);
    j->at = j->kept.is_loaded ? j->best : nearest(e, j->kept.step);
    double sigma = e->n >= 5 ? stat_noise(e->value, e->n) : 0.0;
    j->d = e->value[j->at] - e->value[j->best];
    j->level = fabs(e->value[j->best]);
    j->verdict = VERDICT_PASS;
    if (j->d >= 0.05 * j->level && j->d > 0.0) {
        j->verdict = VERDICT_FAIL;
    } else if (j->folders.is_gone && j->d > 0.01 * j->level) {
        j->verdict = VERDICT_FAIL;
        j->is_by_absence = true;
    } else if (j->d > fmax(0.01 * j->level, 2.0 * sigma)) {
        j->verdict = VERDICT_WARN;
    }
}

static bool is_worse(const struct judged *a, const struct judged *b)
{
    if (a->verdict != b->verdict)
        return a->verdict > b->verdict;
    return a->d * b->level > b->d * a->level;
}

static int state_curve(struct check_ctx *ctx, const struct judged *j)
{
    const struct eval_points *e = &j->points;
    const char *name = e->curve->name;
    double worse = j->level > 0.0 ? 100.0 * j->d / j->level : 0.0;
    const char *branch = j->folders.is_gone                                        ? "gone"
                         : j->folders.is_one_file                                  ? "one-file"
                         : j->kept.is_deployed && j->kept.step != e->step[j->best] ? "deployed"
                                                                                   : "";
    if (j->verdict == VERDICT_PASS) {
        state_checkpoints(ctx, e, false);
        return check_pass(ctx, CONFIDENCE_STRONG,
                          "%s of what was kept (%s) is within %.2f %% of the best", name,
                          j->kept.why, worse);
    }
    if (j->is_by_absence)
        check_fail(ctx, CONFIDENCE_STRONG, branch,
                   "the best checkpoint (step %lld, %s %.4g) does not exist any more; kept is %.4g "
                   "(+%.1f %%)",
                   (long long)e->step[j->best], name, e->value[j->best], e->value[j->at], worse);
    else if (j->verdict == VERDICT_FAIL)
        check_fail(ctx, CONFIDENCE_STRONG, branch,
                   "%s is %.4g at step %lld, which is %s, and %.4g at step %lld (+%.1f %%)", name,
                   e->value[j->at], (long long)e->step[j->at], j->kept.why, e->value[j->best],
                   (long long)e->step[j->best], worse);
    else
        check_warn(ctx, CONFIDENCE_LIKELY, branch,
                   "%s is %.4g at step %lld, which is %s, and %.4g at step %lld (+%.1f %%)", name,
                   e->value[j->at], (long long)e->step[j->at], j->kept.why, e->value[j->best],
                   (long long)e->step[j->best], worse);
    show(ctx, e, j->best, j->at, &j->folders);
    state_checkpoints(ctx, e, true);
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

    return metric && *metric && !str_ends(str_of(metric), "loss") ? metric : NULL;
}

static const struct curve *metric_curve(struct check_ctx *ctx, const char *metric)
{
    const char *name =
        strncmp(metric, "eval_", 5) == 0 ? metric : arena_printf(ctx->arena, "eval_%s", metric);

    return name ? facts_curve(ctx->facts, name) : NULL;
}

/* The items of both checkpoints say whether the kept one is worse by more than chance (F15): the first
 * suite that was scored item by item at both steps. False: there is none. */
static bool judge_items(struct check_ctx *ctx, int64_t best, int64_t kept)
{
    const struct run_facts *facts = ctx->facts;

    for (size_t i = 0; i < facts->n_eval_suites; i++)
        for (size_t k = 0; k < facts->n_eval_suites; k++) {
            const struct eval_suite *a = &facts->eval_suites[i], *b = &facts->eval_suites[k];
            struct eval_pair pair;

            if (a->step != best || b->step != kept || strcmp(a->suite, b->suite) != 0 ||
                strcmp(a->metric, b->metric) != 0)
                continue;
            eval_compare(facts, ctx->arena, a, b, &pair);
            if (!pair.is_paired || pair.why_not)
                continue;
            evidence_pair(ctx, &pair);
            if (pair_fell(&pair))
                check_fail(ctx, CONFIDENCE_STRONG, "",
                           "on the same items of %s the kept checkpoint of step %lld reaches %.1f %%, "
                           "that of step %lld %.1f %%",
                           a->suite, (long long)kept, 100.0 * pair.p_candidate, (long long)best,
                           100.0 * pair.p_base);
            else
                check_pass(ctx, CONFIDENCE_LIKELY,
                           "on the same items of %s the checkpoints of step %lld and step %lld cannot be "
                           "told apart",
                           a->suite, (long long)kept, (long long)best);
            return true;
        }
    return false;
}

/* By a metric of the task the kept one is the best, or the items have to say whether the
 * difference is more than chance. */
static int judge_metric(struct check_ctx *ctx, const char *metric)
{
    bool is_greater_better = facts_bool(ctx->facts, "greater_is_better") != 0;
    struct eval_points e;
    size_t best = 0;

    evidence_setting(ctx, facts_setting(ctx->facts, "metric_for_best_model"));
    if (!eval_points_read(metric_curve(ctx, metric), ctx->arena, &e) || e.step[0] == NONE)
        return check_unknown(ctx, "metric rows with eval_%s, by which the best model is chosen",
                             strncmp(metric, "eval_", 5) == 0 ? metric + 5 : metric);
    for (size_t i = 1; i < e.n; i++)
        if (is_greater_better ? e.value[i] > e.value[best] : e.value[i] < e.value[best])
            best = i;
    struct kept kept = find_kept(ctx->facts, &e, e.step[best]);
    size_t at = kept.is_loaded ? best : nearest(&e, kept.step);
    if (e.value[at] == e.value[best])
        return check_pass(ctx, CONFIDENCE_STRONG, "%s of what was kept (%s) is the best, %.4g",
                          e.curve->name, kept.why, e.value[best]);
    evidence_point(ctx, e.curve, e.at[best], "the best %s", e.curve->name);
    evidence_point(ctx, e.curve, e.at[at], "%s nearest to what was kept", e.curve->name);
    if (judge_items(ctx, e.step[best], e.step[at]))
        return OK;
    return check_unknown(ctx,
                         "scored items of the checkpoints of step %lld (%s %.4g) and step %lld "
                         "(%.4g, %s): whether they differ by more than chance",
                         (long long)e.step[best], e.curve->name, e.value[best],
                         (long long)e.step[at], e.value[at], kept.why);
}

/* ---- Without a curve: a suite that was scored item by item at several steps ---- */

static bool is_measured(const struct run_facts *facts, const struct eval_suite *suite)
{
    return suite->n_items > 0 && suite->n > 0 && suite->step != NONE &&
           !eval_model_is_base(facts, suite->model) && !eval_suite_is_variant(facts, suite);
}

static double mean_of(const struct eval_suite *suite)
{
    return suite->n_correct / (double)suite->n;
}

struct measured {
    const struct eval_suite *best, *kept;
    size_t n;                   /* checkpoints */
};

/* The checkpoints of one model on one suite, the first of them given; kept is the deployed step's, else the
 * last one's. */
static struct measured find_measured(const struct run_facts *facts, size_t first)
{
    const struct eval_suite *head = &facts->eval_suites[first];
    struct measured m = {.best = head, .kept = head};
    double deployed = NAN;

    (void)setting_number(facts_setting_on(facts, SIDE_SERVE, "step"), &deployed);
    for (size_t i = 0; i < facts->n_eval_suites; i++) {
        const struct eval_suite *own = &facts->eval_suites[i];

        if (!is_measured(facts, own) || !eval_same_model(own->model, head->model) ||
            strcmp(own->suite, head->suite) != 0 || strcmp(own->metric, head->metric) != 0)
            continue;
        m.n++;
        if (mean_of(own) > mean_of(m.best))
            m.best = own;
        bool is_deployed = (double)own->step == deployed, was = (double)m.kept->step == deployed;
        if ((is_deployed && !was) || (is_deployed == was && own->step > m.kept->step))
            m.kept = own;
    }
    return m;
}

/* The best of n is picked: its lead has to hold among the n - 1 that it is held against (Holm's first
 * step). False: nothing was measured at two steps. */
static bool judge_suites(struct check_ctx *ctx)
{
    const struct run_facts *facts = ctx->facts;
    struct measured m = {0};
    struct eval_pair pair;

    for (size_t i = 0; i < facts->n_eval_suites && m.n < 2; i++)
        if (is_measured(facts, &facts->eval_suites[i]))
            m = find_measured(facts, i);
    if (m.n < 2)
        return false;
    long long best = (long long)m.best->step, kept = (long long)m.kept->step;
    if (m.best == m.kept || mean_of(m.best) == mean_of(m.kept))
        return check_pass(ctx, CONFIDENCE_LIKELY, "%s of step %lld, which is kept, is the best of %zu "
                                                  "checkpoints: %.1f %%",
                          m.kept->suite, kept, m.n, 100.0 * mean_of(m.kept)) == OK;
    eval_compare(facts, ctx->arena, m.best, m.kept, &pair);
    if (!pair.is_paired || pair.why_not)
        return check_unknown(ctx, "%s of the checkpoints of step %lld and step %lld on the same items%s%s",
                             m.kept->suite, best, kept, pair.why_not ? ": " : "",
                             pair.why_not ? pair.why_not : "") == OK;
    evidence_pair(ctx, &pair);
    if (!pair_fell(&pair) || !(pair.p < 0.05 / (double)(m.n - 1)))
        return check_pass(ctx, CONFIDENCE_LIKELY,
                          "%s of step %lld, which is kept, cannot be told from step %lld, the best of %zu "
                          "checkpoints (p %.2g)",
                          m.kept->suite, kept, best, m.n, pair.p) == OK;
    check_begins(ctx, m.best->step);
    check_fix(ctx, "export checkpoint-%lld", best);
    check_fix(ctx, "load_best_model_at_end=True with the metric of the suite, and save at the steps of the "
                   "evaluation");
    return check_fail(ctx, pair.p < 0.01 ? CONFIDENCE_STRONG : CONFIDENCE_LIKELY, "items",
                      "on the same items of %s the kept checkpoint of step %lld reaches %.1f %%, that of "
                      "step %lld %.1f %% (p %.2g, the best of %zu)",
                      m.kept->suite, kept, 100.0 * pair.p_candidate, best, 100.0 * pair.p_base, pair.p,
                      m.n) == OK;
}

/* Evaluations that gave no number are no points of a curve: it is said how many there were. */
static void say_missing(struct check_ctx *ctx, const struct eval_points *e)
{
    if (e->n_missing > 0)
        check_info(ctx, "%zu of %zu evaluations of %s gave no number (NaN), the first at %s: they are left "
                        "out",
                   e->n_missing, e->curve->n, e->curve->name,
                   curve_place(e->curve, e->first_missing, ctx->arena));
}

static int run(struct check_ctx *ctx, struct error *err)
{
    size_t n = 0;
    const struct curve *const *curves = facts_eval_losses(ctx->facts, &n);
    const char *metric = task_metric(ctx->facts);
    struct judged worst = {.verdict = VERDICT_NOT_APPLICABLE};
    bool has_points = false, has_steps = false;

    (void)err;
    judge_warnings(ctx);
    if (metric)
        return judge_metric(ctx, metric);
    for (size_t i = 0; i < n; i++) {
        struct judged j = {.verdict = VERDICT_UNKNOWN};
        bool has_any = eval_points_read(curves[i], ctx->arena, &j.points);
        if (j.points.curve)
            say_missing(ctx, &j.points);
        if (!has_any)
            continue;
        has_steps = has_steps || j.points.step[0] != NONE;
        has_points = true;
        if (j.points.n < 2 || j.points.step[0] == NONE)
            continue;
        judge(ctx->facts, &j);
        if (worst.verdict == VERDICT_NOT_APPLICABLE || is_worse(&j, &worst))
            worst = j;
    }
    if (worst.verdict != VERDICT_NOT_APPLICABLE)
        return state_curve(ctx, &worst);
    if (judge_suites(ctx))
        return OK;
    if (!has_points)
        return check_unknown(ctx, "evaluation during training (eval_loss)");
    return check_unknown(ctx, has_steps ? "a second evaluation during training"
                                        : "the steps of the evaluations");
}

const struct check check_last_not_best = {
    .id = "last-not-best",
    .version = 4,
    .stage = STAGE_HYPERPARAMETERS,
    .severity = SEVERITY_WASTES,
    .title = "The kept checkpoint is the best one",
    .why =
        "The last checkpoint is kept by default; when an earlier one was better, the better model "
        "was trained and thrown away.",
    .applies = applies,
    .run = run,
};
