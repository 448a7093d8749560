/* What the curves pane shows for the opened check: which metric, and where the fault begins. */
#include <string.h>

#include "core/facts/metric_names.h"
#include "views/curves_parts.h"
#include "views/view.h"

static const struct verdict_row *opened(const struct view *view)
{
    const struct desk *desk = view->desk;
    if (!desk->verdicts || desk->check < 0 || desk->check >= (ptrdiff_t)desk->verdicts->n_rows)
        return NULL;
    return &desk->verdicts->rows[desk->check];
}

bool curves_has_metric(const struct curves_state *state, const char *name)
{
    for (size_t i = 0; name && i < state->n_names; i++)
        if (strcmp(state->names[i], name) == 0)
            return true;
    return false;
}

const char *curves_metric_of_evidence(const struct view *view)
{
    const struct curves_state *state = view->state;
    const struct verdict_row *row = opened(view);
    const struct check_result *result = row ? &row->result : NULL;

    for (size_t k = 0; result && k < result->n_evidence; k++) {
        size_t i = (view->desk->evidence + k) % result->n_evidence;
        if (curves_has_metric(state, result->evidence[i].series))
            return result->evidence[i].series;
    }
    return NULL;
}

/* Where the evidence names none: by check, then by stage. */
static const char *metric_of_check(const struct curves_state *state, const struct check *check)
{
    static const struct {
        const char *check, *metric;
    } fitting[] = {
        {"lr-zero", "learning_rate"},
        {"grpo-completions-clipped", "completions/clipped_ratio"},
        {"grpo-no-signal", "frac_reward_zero_std"},
        {"grpo-no-signal", "reward_std"},
        {"kl-too-high", "kl"},
        {"negative-kl", "kl"},
    };
    for (size_t i = 0; i < sizeof fitting / sizeof *fitting; i++)
        if (strcmp(check->id, fitting[i].check) == 0 && curves_has_metric(state, fitting[i].metric))
            return fitting[i].metric;
    if (check->stage == STAGE_PREFERENCE)
        return curves_has_metric(state, "reward") ? "reward" : curves_has_metric(state, "kl") ? "kl" : NULL;
    return NULL;
}

const char *curves_fitting_metric(const struct view *view)
{
    const struct curves_state *state = view->state;
    const struct verdict_row *row = opened(view);
    const char *name = curves_metric_of_evidence(view);

    if (!name && row)
        name = metric_of_check(state, row->check);
    /* An eval loss is seen best against the training loss. */
    if (name && metric_is_eval_loss(name) && curves_has_metric(state, "loss"))
        name = "loss";
    if (!name)
        name = curves_has_metric(state, "loss") ? "loss" : state->n_names ? state->names[0] : NULL;
    return name;
}

int64_t curves_fault_step(const struct view *view)
{
    const struct verdict_row *row = opened(view);

    if (!row)
        return view->desk->step;
    if (view->desk->evidence < row->result.n_evidence &&
        row->result.evidence[view->desk->evidence].step != NONE)
        return row->result.evidence[view->desk->evidence].step;
    if (row->result.from_step != NONE)
        return row->result.from_step;
    for (size_t i = 0; i < row->result.n_evidence; i++)
        if (row->result.evidence[i].step != NONE)
            return row->result.evidence[i].step;
    return view->desk->step;
}
