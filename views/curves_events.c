/* What happened along a curve, as marks of the rail: checkpoints (folders on disk and what the log says
 * it saved), resumes (steps that fall back and what the log says), the end of a run that did not
 * finish. See curves_data.h. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "views/curves_data.h"

#define MAX_RECOUNTS 64         /* of a token count; and the end */

struct marks {
    struct plot_mark *list;
    size_t n, most;
};

static void add(struct marks *marks, enum plot_mark_kind kind, double x)
{
    if (isnan(x) || marks->n == marks->most)
        return;
    for (size_t i = 0; i < marks->n; i++)
        if (marks->list[i].kind == kind && marks->list[i].x == x)
            return;
    marks->list[marks->n++] = (struct plot_mark){kind, x};
}

/* x of a step on the picture's axis, NaN when it cannot be told. */
static double x_at_step(const struct picture *picture, int64_t step)
{
    if (step == NONE)
        return NAN;
    if (strcmp(picture->x_name, "step") == 0)
        return (double)step;
    if (strcmp(picture->x_name, "epoch") != 0)
        return NAN;
    ptrdiff_t i = curve_at_step(picture->curve, step);
    return i < 0 ? NAN : picture->x[i];
}

/* N of a text that ends in "checkpoint-N", NONE: not such a text. */
static int64_t step_of_path(const char *path)
{
    const char *dash = strrchr(path, '-');
    int64_t step;

    return dash && number_parse_int(str_of(dash + 1), &step) && step >= 0 ? step : NONE;
}

static void add_checkpoints(struct marks *marks, const struct picture *picture,
                            const struct run_facts *facts)
{
    const struct event *event = NULL;

    for (size_t i = 0; i < facts->n_artefacts; i++)
        if (facts->artefacts[i].kind && strcmp(facts->artefacts[i].kind, "checkpoint") == 0)
            add(marks, PLOT_MARK_CHECKPOINT, x_at_step(picture, facts->artefacts[i].step));
    while ((event = facts_event(facts, "checkpoint-saved", event))) {
        int64_t step = step_of_path(event_capture(event, 1));

        add(marks, PLOT_MARK_CHECKPOINT, x_at_step(picture, step == NONE ? event->step : step));
    }
}

/* The step that a resume says it goes on from. */
static int64_t resumed_from(const struct event *event)
{
    int64_t step;

    if (event->pattern && strcmp(event->pattern, "resume-continue") == 0 &&
        number_parse_int(str_of(event_capture(event, 1)), &step))
        return step;
    if (event->pattern && strcmp(event->pattern, "resume-banner") == 0 &&
        number_parse_int(str_of(event_capture(event, 2)), &step))
        return step;
    return NONE;
}

static void add_resumes(struct marks *marks, const struct picture *picture,
                        const struct run_facts *facts)
{
    const struct curve *curve = picture->curve;
    const struct event *event = NULL;

    for (size_t i = 1; i < curve->n; i++)
        if (curve->segment[i] != curve->segment[i - 1])
            add(marks, PLOT_MARK_RESUME, picture->x[i]);
    if (curve->n_segments > 1)          /* the rows tell it themselves */
        return;
    while ((event = facts_event(facts, "resume-jump", event)))
        add(marks, PLOT_MARK_RESUME, x_at_step(picture, resumed_from(event)));
    /* TRL counts tokens anew after a resume */
    const struct curve *tokens = facts_curve(facts, "num_tokens");
    for (size_t i = 1; tokens && i < tokens->n; i++)
        if (tokens->value[i] < tokens->value[i - 1])
            add(marks, PLOT_MARK_RESUME, x_at_step(picture, tokens->step[i]));
}

static void add_end(struct marks *marks, const struct picture *picture,
                    const struct run_facts *facts)
{
    double last = facts->last_step > 0 ? x_at_step(picture, facts->last_step) : NAN;

    if (picture->curve->n > 0 &&
        (facts->run.outcome == OUTCOME_CRASHED || facts->run.outcome == OUTCOME_STOPPED))
        add(marks, PLOT_MARK_END, isfinite(last) ? last : picture->x_last);
}

int picture_add_marks(struct picture *picture, const struct run_facts *facts, struct arena *arena,
                      struct error *err)
{
    size_t segments = picture->curve->n_segments > 0 ? (size_t)picture->curve->n_segments : 0;
    struct marks marks = {.most = facts->n_artefacts + facts->n_events + segments + MAX_RECOUNTS};

    marks.list = arena_array(arena, marks.most + 1, sizeof *marks.list);
    if (!marks.list)
        return error_set(err, E_NOMEM, "marks of a curve");
    add_checkpoints(&marks, picture, facts);
    add_resumes(&marks, picture, facts);
    add_end(&marks, picture, facts);
    picture->marks = marks.list;
    picture->n_marks = picture->n_own_marks = marks.n;
    return OK;
}

void picture_mark_commit(struct picture *picture, int64_t step)
{
    double x = x_at_step(picture, step);

    picture->n_marks = picture->n_own_marks;
    if (!isnan(x) && picture->marks)
        picture->marks[picture->n_marks++] = (struct plot_mark){PLOT_MARK_COMMIT, x};
}
