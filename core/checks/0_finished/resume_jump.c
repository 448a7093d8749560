/* resume-jump (CHECKS.md C0.20): did resuming continue the same run? Looks at the boundaries where
 * a run was taken up again; stairs at epoch ends are no boundaries and no concern of this check. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/checks/registry.h"
#include "core/stats/robust.h"

enum { ROWS_BESIDE = 5, MAX_BOUNDARIES = 64 };

struct curves {
    const struct curve *loss, *rate, *epoch;
    double peak; /* of the rate */
};

struct boundary {
    size_t row;                /* first loss row after it */
    const struct event *event; /* or NULL */
    const char *sign;
};

struct boundaries {
    struct boundary at[MAX_BOUNDARIES];
    size_t n;
    const struct event *unplaced; /* a restart whose row is not known */
};

struct jump {
    size_t before[ROWS_BESIDE]; /* rows before, nearest first */
    size_t n_before;
    double median, loss_ratio;
    bool loss_rose, loss_fell;
    bool knows_rate, rate_broke;
    double expected, found;
};

static bool value_at(const struct curve *curve, const struct curve *loss, size_t i, double *value)
{
    if (!curve)
        return false;
    if (curve_on_row(curve, loss, i, value))
        return true;
    ptrdiff_t at = loss->step[i] == NONE ? -1 : curve_at_step(curve, loss->step[i]);
    if (at < 0 || curve->step[at] != loss->step[i])
        return false;
    *value = curve->value[at];
    return true;
}

/* ---- Where are the boundaries? ---- */

static void add(struct boundaries *list, size_t row, const struct event *event, const char *sign)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].row == row) {
            if (!list->at[i].event)
                list->at[i].event = event;
            return;
        }
    if (row > 0 && list->n < MAX_BOUNDARIES)
        list->at[list->n++] = (struct boundary){row, event, sign};
}

static size_t row_after_step(const struct curve *loss, int64_t step)
{
    for (size_t i = 0; i < loss->n; i++)
        if (loss->step[i] > step)
            return i;
    return loss->n;
}

static size_t row_after_line(const struct curve *loss, const struct event *event)
{
    for (size_t i = 0; i < loss->n; i++)
        if (curve_source(loss, i) == event->source_id && loss->line[i] > event->line)
            return i;
    return loss->n;
}

static void find_in_rows(const struct run_facts *facts, const struct curves *c,
                         struct boundaries *list)
{
    const struct curve *tokens = facts_curve(facts, "num_tokens");
    double last = -INFINITY, last_epoch = -INFINITY, value;

    for (size_t i = 0; i < c->loss->n; i++) {
        if (i > 0 && c->loss->segment && c->loss->segment[i] != c->loss->segment[i - 1])
            add(list, i, NULL,
                curve_source(c->loss, i) != curve_source(c->loss, i - 1) ? "a new file of the run"
                                                                        : "the step goes back");
        if (value_at(tokens, c->loss, i, &value)) {
            if (value < last)
                add(list, i, NULL, "num_tokens begins again");
            last = value;
        }
        if (value_at(c->epoch, c->loss, i, &value)) {
            if (value < last_epoch)
                add(list, i, NULL, "the epoch goes back");
            last_epoch = value;
        }
    }
}

/* The step that a resume line names: the checkpoint it goes on from. */
static bool named_step(const struct event *event, int64_t *step)
{
    int group = 0;

    if (event->pattern && strcmp(event->pattern, "resume-continue") == 0)
        group = 1;
    else if (event->pattern && strcmp(event->pattern, "resume-banner") == 0)
        group = 2;
    return group > 0 && number_parse_int(str_of(event_capture(event, group)), step);
}

/* A restart goes back to the last checkpoint at or before the step that was reached. */
static int64_t checkpoint_before(const struct run_facts *facts, int64_t step)
{
    int64_t best = NONE;

    for (size_t i = 0; i < facts->n_artefacts; i++)
        if (strcmp(facts->artefacts[i].kind, "checkpoint") == 0 &&
            facts->artefacts[i].step <= step && facts->artefacts[i].step > best)
            best = facts->artefacts[i].step;
    return best == NONE ? step : best;
}

static void find_in_events(const struct run_facts *facts, const struct curves *c,
                           struct boundaries *list)
{
    const struct event *event = NULL;
    int64_t step;

    while ((event = facts_event(facts, "resume-jump", event)))
        if (named_step(event, &step))
            add(list, row_after_step(c->loss, step), event, "a resume line");
    while ((event = facts_event(facts, "training-restart", event))) {
        size_t row = row_after_line(c->loss, event);
        if (row == c->loss->n && number_parse_int(str_of(event_capture(event, 1)), &step) &&
            step > 0)
            row = row_after_step(c->loss, checkpoint_before(facts, step));
        if (row < c->loss->n)
            add(list, row, event, "training starts again");
        else
            list->unplaced = event;
    }
    while ((event = facts_event(facts, "start-marker", event))) {
        size_t row = row_after_line(c->loss, event);
        if (row > 0 && row < c->loss->n)
            add(list, row, event, "a second start marker");
        else if (row == c->loss->n)
            list->unplaced = event;
    }
}

/* ---- What happened there? ---- */

/* Rows at smaller steps than the first row after it, nearest first: a resume goes back to a
 * checkpoint, so the rows printed last may lie beyond it. */
static void find_rows_before(const struct curve *loss, size_t row, struct jump *jump)
{
    int64_t limit = loss->step[row];

    for (size_t i = row; i-- > 0 && jump->n_before < ROWS_BESIDE;) {
        if (loss->step[i] >= limit || !isfinite(loss->value[i]))
            continue;
        jump->before[jump->n_before++] = i;
        limit = loss->step[i];
    }
}

static bool restarts_by_design(const struct run_facts *facts)
{
    const char *scheduler = facts_text(facts, "lr_scheduler_type");

    return scheduler && (str_has_ignoring_case(str_of(scheduler), "restart") ||
                         str_has_ignoring_case(str_of(scheduler), "wsd") ||
                         str_has_ignoring_case(str_of(scheduler), "warmup_stable") ||
                         str_has_ignoring_case(str_of(scheduler), "cyclic"));
}

/* The rate after the boundary against the line through the two rows before it. How much that line
 * bends (a cosine logged in few rows) widens the 5 %. */
static void judge_rate(const struct curves *c, size_t row, struct jump *jump)
{
    double r0, r1, r2;
    size_t b0 = jump->before[0], b1 = jump->before[1];

    if (jump->n_before < 2 || !value_at(c->rate, c->loss, row, &jump->found) ||
        !value_at(c->rate, c->loss, b0, &r0) || !value_at(c->rate, c->loss, b1, &r1))
        return;
    double gap = (double)(c->loss->step[b0] - c->loss->step[b1]);
    double ahead = (double)(c->loss->step[row] - c->loss->step[b0]);
    if (!(gap > 0.0) || !(ahead > 0.0))
        return;
    jump->knows_rate = true;
    jump->expected = r0 + (r0 - r1) * ahead / gap;
    double bend = 0.0;
    if (jump->n_before >= 3 && value_at(c->rate, c->loss, jump->before[2], &r2)) {
        double widen = ahead / gap;
        bend = fabs(r0 - 2.0 * r1 + r2) * widen * (widen + 1.0);
    }
    double slack = 0.05 * fabs(jump->expected) + bend;
    if (r0 > r1)
        jump->rate_broke = jump->found > jump->expected + slack || jump->found < 0.5 * r0;
    else if (jump->expected > 0.02 * c->peak)
        jump->rate_broke = fabs(jump->found - jump->expected) > slack;
    else
        jump->rate_broke = jump->found > 1.05 * r0 + 0.02 * c->peak;
}

static void judge(const struct run_facts *facts, const struct curves *c, size_t row,
                  struct jump *jump)
{
    double values[ROWS_BESIDE];

    *jump = (struct jump){.median = NAN, .loss_ratio = NAN};
    find_rows_before(c->loss, row, jump);
    if (jump->n_before == 0)
        return;
    for (size_t i = 0; i < jump->n_before; i++)
        values[i] = c->loss->value[jump->before[i]];
    jump->median = stat_median(values, jump->n_before);
    if (jump->median > 0.0) {
        jump->loss_ratio = c->loss->value[row] / jump->median;
        jump->loss_rose = jump->loss_ratio > 1.3;
        jump->loss_fell = jump->loss_ratio < 0.7;
    }
    judge_rate(c, row, jump);
    if (restarts_by_design(facts))
        jump->rate_broke = false;
}

/* The epoch does not go on with the steps. */
static bool epoch_is_inconsistent(const struct curves *c, size_t row, const struct jump *jump)
{
    double e, e0, e1;

    if (jump->n_before < 2 || !value_at(c->epoch, c->loss, row, &e) ||
        !value_at(c->epoch, c->loss, jump->before[0], &e0) ||
        !value_at(c->epoch, c->loss, jump->before[1], &e1))
        return false;
    double gap = (double)(c->loss->step[jump->before[0]] - c->loss->step[jump->before[1]]);
    double expected =
        e0 + (e0 - e1) * (double)(c->loss->step[row] - c->loss->step[jump->before[0]]) / gap;
    return gap > 0.0 && e0 > e1 && fabs(e - expected) > 0.5 * (e0 - e1) + 0.05 * expected;
}

static void show(struct check_ctx *ctx, const struct curves *c, const struct boundary *b,
                 const struct jump *jump)
{
    const struct curve *loss = c->loss;
    size_t first = jump->before[jump->n_before - 1], last = jump->before[0];
    size_t end = b->row + ROWS_BESIDE - 1 < loss->n ? b->row + ROWS_BESIDE - 1 : loss->n - 1;
    const struct event *event = NULL;

    evidence_point(ctx, loss, b->row, "first row after the boundary (%s): loss %.4g", b->sign,
                   loss->value[b->row]);
    evidence_range(ctx, loss, first, last, "%zu rows before: median loss %.4g", jump->n_before,
                   jump->median);
    evidence_range(ctx, loss, b->row, end, "the rows after: loss %.4g … %.4g", loss->value[b->row],
                   loss->value[end]);
    if (jump->knows_rate)
        evidence_number(ctx, jump->found, jump->expected,
                        "rate %.4g, expected %.4g by the rows before", jump->found, jump->expected);
    if (b->event)
        evidence_event(ctx, b->event);
    while ((event = facts_event(ctx->facts, "resume-jump", event)))
        if (event->pattern && (strcmp(event->pattern, "resume-keys") == 0 ||
                               strcmp(event->pattern, "resume-arguments-differ") == 0))
            evidence_event(ctx, event);
    check_begins(ctx, loss->step[b->row]);
    check_fix(ctx, "resume_from_checkpoint instead of loading the weights into a new trainer");
    check_fix(ctx, "keep optimizer.pt, scheduler.pt, scaler.pt and rng_state.pth with the weights");
    check_fix(ctx, "resume with the same arguments and data order");
}

static void say(struct check_ctx *ctx, const struct curves *c, const struct boundary *b,
                const struct jump *jump)
{
    long long step = (long long)c->loss->step[b->row];

    if (jump->loss_rose && jump->rate_broke)
        check_fail(
            ctx,
            b->event || strcmp(b->sign, "the rate starts again") != 0 ? CONFIDENCE_STRONG
                                                                      : CONFIDENCE_LIKELY,
            "both",
            "at the boundary before step %lld the loss rises to %.3g times its level and the "
            "rate is %.3g instead of %.3g",
            step, jump->loss_ratio, jump->found, jump->expected);
    else if (jump->rate_broke)
        check_warn(
            ctx, CONFIDENCE_LIKELY, "rate",
            "at the boundary before step %lld the rate is %.3g instead of %.3g: the schedule "
            "was not resumed",
            step, jump->found, jump->expected);
    else if (jump->loss_rose)
        check_warn(ctx, CONFIDENCE_LIKELY, "loss",
                   "at the boundary before step %lld the loss rises to %.3g times its level", step,
                   jump->loss_ratio);
    else
        check_warn(
            ctx, CONFIDENCE_LIKELY, "epoch",
            "at the boundary before step %lld the loss falls to %.3g times its level and the "
            "epoch does not go on: rows are seen again",
            step, jump->loss_ratio);
}

static void judge_boundary(struct check_ctx *ctx, const struct curves *c, const struct boundary *b)
{
    struct jump jump;

    judge(ctx->facts, c, b->row, &jump);
    if (jump.n_before == 0)
        return;
    if (!jump.loss_rose && !jump.rate_broke &&
        !(jump.loss_fell && epoch_is_inconsistent(c, b->row, &jump)))
        return;
    show(ctx, c, b, &jump);
    say(ctx, c, b, &jump);
}

/* A restart that no row is tied to, or none that was logged at all: a schedule that falls and then
 * begins again near its peak is a new trainer; without a logged restart the loss has to jump too.
 */
static void judge_hidden_restart(struct check_ctx *ctx, const struct curves *c,
                                 const struct event *unplaced)
{
    for (size_t i = 2; c->rate && i < c->loss->n; i++) {
        struct boundary b = {i, unplaced, "the rate starts again"};
        struct jump jump;
        double before;
        judge(ctx->facts, c, i, &jump);
        if (!jump.rate_broke || !value_at(c->rate, c->loss, jump.before[0], &before) ||
            jump.expected > before || jump.found < 1.1 * before || jump.found < 0.8 * c->peak ||
            (!unplaced && !jump.loss_rose))
            continue;
        show(ctx, c, &b, &jump);
        say(ctx, c, &b, &jump);
        return;
    }
}

static int run(struct check_ctx *ctx, struct error *err)
{
    struct curves c = {facts_curve(ctx->facts, "loss"), facts_curve(ctx->facts, "learning_rate"),
                       facts_curve(ctx->facts, "epoch"), 0.0};
    struct boundaries list = {.n = 0};

    (void)err;
    if (!c.loss || c.loss->n == 0)
        return check_unknown(ctx, "%s", need_hint(NEEDS_TRAIN_SERIES));
    for (size_t i = 0; c.rate && i < c.rate->n; i++)
        c.peak = fmax(c.peak, c.rate->value[i]);
    find_in_rows(ctx->facts, &c, &list);
    find_in_events(ctx->facts, &c, &list);
    for (size_t i = 0; i < list.n; i++)
        if (list.at[i].row < c.loss->n)
            judge_boundary(ctx, &c, &list.at[i]);
    if (check_verdict(ctx) < VERDICT_WARN)
        judge_hidden_restart(ctx, &c, list.unplaced);
    if (check_verdict(ctx) >= VERDICT_WARN)
        return OK;
    if (list.n == 0)
        return check_pass(ctx, CONFIDENCE_STRONG, "the run was not resumed");
    if (!c.rate)
        check_info(ctx, "the learning rate was not logged: only the loss was compared");
    return check_pass(ctx, c.rate ? CONFIDENCE_STRONG : CONFIDENCE_LIKELY,
                      "%zu boundaries, loss and rate go on at each", list.n);
}

const struct check check_resume_jump = {
    .id = "resume-jump",
    .version = 2,
    .stage = STAGE_FINISHED,
    .severity = SEVERITY_MISLEADS,
    .title = "Resuming continued the same run",
    .why = "Reloading weights without optimizer and schedule is a new run on used data: the rate "
           "jumps back and part of what was learned is lost.",
    .run = run,
};
