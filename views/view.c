/* The desk: what all panes look at. Views change it only through these. */
#include "views/view.h"

void desk_choose_check(struct desk *desk, ptrdiff_t check)
{
    if (desk->check == check)
        return;
    desk->check = check;
    desk->evidence = 0;
    desk->changed |= DESK_CHECK | DESK_EVIDENCE;
}

void desk_choose_evidence(struct desk *desk, size_t evidence)
{
    if (desk->evidence == evidence)
        return;
    desk->evidence = evidence;
    desk->changed |= DESK_EVIDENCE;
}

void desk_choose_step(struct desk *desk, int64_t step)
{
    if (desk->step == step)
        return;
    desk->step = step;
    desk->changed |= DESK_STEP;
}

void desk_choose_run(struct desk *desk, int64_t run_id)
{
    if (desk->run_id == run_id)
        return;
    desk->run_id = run_id;
    desk->check = -1;
    desk->evidence = 0;
    desk->step = NONE;
    desk->effect_said[0] = '\0';
    desk->has_effect_step = false;
    if (desk->baseline_id == run_id) {          /* no run beside itself */
        desk->baseline_id = 0;
        desk->changed |= DESK_BASELINE;
    }
    desk->changed |= DESK_RUN | DESK_CHECK | DESK_EVIDENCE | DESK_STEP;
}
