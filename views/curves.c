/* The curves pane: which metric, which part of it, where the cursor is. Reading the data is in
 * curves_data.c, what suits a check in curves_choice.c, drawing in curves_draw.c, the list of marks in
 * curves_marks.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/facts/metric_names.h"
#include "views/curves_parts.h"
#include "views/registry.h"

#define DENSE          80               /* points a cell from which a chosen step is zoomed to */
#define ZOOMED_POINTS  20               /* points a cell then */
#define LONG_POINTS    200000           /* of all metrics */
#define USUAL_COLUMNS  50               /* before the first drawing */
#define PAGE_POINTS    20

static const double SMOOTHING[4] = {0, 0.6, 0.9, 0.99};

enum {
    ACT_LEFT, ACT_RIGHT, ACT_PAGE_LEFT, ACT_PAGE_RIGHT, ACT_FIRST, ACT_LAST, ACT_NEXT_MARK,
    ACT_PREVIOUS_MARK, ACT_ZOOM_IN, ACT_ZOOM_OUT, ACT_ZOOM_ALL, ACT_X, ACT_LOG, ACT_SMOOTH, ACT_CLIP,
    ACT_MARKS, ACT_NEXT_SERIES, ACT_PREVIOUS_SERIES
};

static const struct action ACTIONS[] = {
    {ACT_LEFT, "previous-sample", "Left", "cursor to the sample before"},
    {ACT_RIGHT, "next-sample", "Right", "cursor to the next sample"},
    {ACT_PAGE_LEFT, "previous-samples", "PgUp", "20 samples back"},
    {ACT_PAGE_RIGHT, "next-samples", "PgDn", "20 samples on"},
    {ACT_FIRST, "first-sample", "g Home", "cursor to the first sample"},
    {ACT_LAST, "last-sample", "G End", "cursor to the last sample"},
    {ACT_NEXT_MARK, "next-mark", "C-Right )", "cursor to the next mark: NaN, spike, resume, checkpoint"},
    {ACT_PREVIOUS_MARK, "previous-mark", "C-Left (", "cursor to the mark before"},
    {ACT_ZOOM_IN, "zoom-in", "+", "half of the axis around the cursor"},
    {ACT_ZOOM_OUT, "zoom-out", "-", "twice as much of the axis"},
    {ACT_ZOOM_ALL, "zoom-all", "=", "the whole axis"},
    {ACT_X, "x-axis", "x", "x: step, epoch, step on a log axis"},
    {ACT_LOG, "log-y", "L", "logarithmic y; 0 and less go to the rail"},
    {ACT_SMOOTH, "smoothing", "S",
     "ema 0, .6, .9, .99: it trails by about w/(1-w) samples; the raw band stays"},
    {ACT_CLIP, "clip-spikes", "o", "clip lone spikes (each marked ! on the rail) or show them whole"},
    {ACT_MARKS, "marks", "m", "list of marks"},
    {ACT_NEXT_SERIES, "next-series", "j Down", "next metric"},
    {ACT_PREVIOUS_SERIES, "previous-series", "k Up", "metric before"},
    {0, NULL, NULL, NULL},
};

/* ---- Cursor and zoom ---- */

ptrdiff_t curves_cursor(const struct view *view)
{
    const struct curves_state *state = view->state;
    const struct curve *curve = state->picture.curve;
    int64_t step = view->desk->step;

    if (!state->has_picture)
        return -1;
    bool is_valid = state->cursor >= 0 && (size_t)state->cursor < curve->n;
    if (step == NONE)
        return is_valid ? state->cursor : -1;
    if (is_valid && (curve->step[state->cursor] == step || curve->step[state->cursor] == NONE))
        return state->cursor;
    return picture_point_at(&state->picture, step);
}

static void show_all(struct curves_state *state)
{
    state->x_low = 1;
    state->x_high = 0;
}

static bool is_zoomed(const struct curves_state *state)
{
    return state->x_low < state->x_high;
}

/* Moves the shown part so that the cursor is in it. */
static void follow_cursor(struct curves_state *state)
{
    if (!is_zoomed(state) || state->cursor < 0)
        return;
    double x = state->picture.x[state->cursor], width = state->x_high - state->x_low;
    if (x >= state->x_low && x <= state->x_high)
        return;
    state->x_low = x - width / 2;
    state->x_high = x + width / 2;
}

static void set_cursor(struct view *view, ptrdiff_t point)
{
    struct curves_state *state = view->state;
    const struct curve *curve = state->picture.curve;

    if (curve->n == 0)
        return;
    state->cursor = point < 0 ? 0 : point >= (ptrdiff_t)curve->n ? (ptrdiff_t)curve->n - 1 : point;
    if (curve->step[state->cursor] != NONE)
        desk_choose_step(view->desk, curve->step[state->cursor]);
    follow_cursor(state);
}

/* In a long run the fault would be a dot: show its neighbourhood, more of what came before. */
static void zoom_to_fault(const struct view *view, struct curves_state *state)
{
    const struct picture *picture = &state->picture;
    size_t n = picture->curve->n;
    size_t columns = view->columns > 20 ? (size_t)view->columns : USUAL_COLUMNS;

    show_all(state);
    if (state->cursor < 0 || n <= DENSE * columns)
        return;
    size_t before = ZOOMED_POINTS * columns * 2 / 3, after = ZOOMED_POINTS * columns / 3;
    size_t at = (size_t)state->cursor, from = at > before ? at - before : 0;
    size_t to = n - 1 - at > after ? at + after : n - 1;
    double low = picture->x[from], high = picture->x[to];
    if (low < high) {
        state->x_low = low;
        state->x_high = high;
    }
}

static void zoom(struct view *view, double factor)
{
    struct curves_state *state = view->state;
    const struct picture *picture = &state->picture;
    double low = is_zoomed(state) ? state->x_low : picture->x_low;
    double high = is_zoomed(state) ? state->x_high : picture->x_high;
    ptrdiff_t cursor = curves_cursor(view);
    double middle = cursor >= 0 ? picture->x[cursor] : low + (high - low) / 2;
    double width = (high - low) * factor;

    middle = middle < low ? low : middle > high ? high : middle;
    double share = high > low ? (middle - low) / (high - low) : 0.5;
    low = middle - width * share;
    low = low < picture->x_low ? picture->x_low : low;
    high = low + width;
    if (high >= picture->x_high) {
        high = picture->x_high;
        low = high - width > picture->x_low ? high - width : picture->x_low;
    }
    if (low <= picture->x_low && high >= picture->x_high)
        show_all(state);
    else if (high - low > 1e-9 * (fabs(high) + 1) && low < high) {
        state->x_low = low;
        state->x_high = high;
    }
}

/* ---- Loading ---- */

static const char *const STRIPS[] = {"grad_norm", "learning_rate"};
enum { N_STRIPS = sizeof STRIPS / sizeof *STRIPS };

/* Each step of reading a long curve leaves the keyboard alone for less than a key may wait. */
static bool is_long(const struct run_facts *facts)
{
    int64_t n_points = 0;

    for (size_t i = 0; i < facts->n_series; i++)
        n_points += facts->series[i].n_points;
    return n_points > LONG_POINTS;
}

/* False: all that the pictures are made of is there. */
static bool loads_curve(const struct curves_state *state, const struct run_facts *facts)
{
    const char *const needed[] = {state->metric, "grad_norm", "learning_rate", "epoch",
                                  "num_tokens"}; /* the last: where a resume began anew */

    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!facts_curve_is_loaded(facts, needed[i])) {
            (void)facts_curve(facts, needed[i]);
            return true;
        }
    return false;
}

static int make_strip(struct view *view, const char *name, struct error *err)
{
    struct curves_state *state = view->state;
    struct picture *strip = &state->strips[state->n_strips];

    if (strcmp(name, state->metric) == 0 || !curves_has_metric(state, name))
        return OK;
    int rc = picture_make_strip(strip, view->desk->facts, name, state->x, state->pictures, err);
    if (rc == OK && strcmp(strip->x_name, state->picture.x_name) == 0)
        state->n_strips++;
    return rc;
}

static int make_strips(struct view *view, struct error *err)
{
    struct curves_state *state = view->state;
    int rc = OK;

    while (rc == OK && state->strips_tried < N_STRIPS) {
        rc = make_strip(view, STRIPS[state->strips_tried++], err);
        view->wants_load = state->strips_tried < N_STRIPS && is_long(view->desk->facts);
        if (view->wants_load)
            return rc;
    }
    return rc;
}

static bool is_made(const struct curves_state *state, const struct run_facts *facts)
{
    return state->made_of == facts->serial && strcmp(state->made_metric, state->metric) == 0 &&
           state->made_x == state->x && state->made_smoothing == state->smoothing;
}

static void drop_pictures(struct curves_state *state)
{
    state->made_of = 0;
    state->n_strips = state->strips_tried = state->n_marks = 0;
}

/* A million rows take a while, and another check is mostly about the same curve. */
static int make_pictures(struct view *view, struct error *err)
{
    struct curves_state *state = view->state;
    const struct run_facts *facts = view->desk->facts;

    if (is_made(state, facts))
        return OK;
    drop_pictures(state);
    if (!state->pictures)
        state->pictures = arena_open(ARENA_CHECK_BYTES);
    if (!state->pictures)
        return error_set(err, E_NOMEM, "no memory for a curve");
    arena_reset(state->pictures);
    int rc = picture_make(&state->picture, facts, state->metric, state->x,
                          SMOOTHING[state->smoothing], state->pictures, err);
    if (rc == OK)
        rc = curves_add_other(view, err);
    if (rc == OK)
        rc = curves_list_marks(&state->picture, state->pictures, &state->marks, &state->n_marks,
                               err);
    if (rc != OK)
        return rc;
    state->made_of = facts->serial;
    snprintf(state->made_metric, sizeof state->made_metric, "%s", state->metric);
    state->made_x = state->x;
    state->made_smoothing = state->smoothing;
    state->made_points = state->picture.curve->n;
    state->made_last = state->made_points ? state->picture.curve->step[state->made_points - 1] : NONE;
    return OK;
}

/* The cursor is on the last point, and the run may go on: then it goes with it. */
static bool stands_last(const struct view *view)
{
    const struct curves_state *state = view->state;
    int64_t step = view->desk->step;

    return state->made_points > 0 && state->cursor == (ptrdiff_t)state->made_points - 1 &&
           strcmp(state->made_metric, state->metric) == 0 &&
           (step == NONE || step == state->made_last);
}

static int make_picture(struct view *view, struct error *err)
{
    struct curves_state *state = view->state;
    const struct run_facts *facts = view->desk->facts;
    const char *wanted = curves_metric_of_evidence(view);
    int rc = make_pictures(view, err);

    /* The eval loss on a scale of its own, where the check is about it. */
    if (rc == OK && state->picture.other_scale && wanted && metric_is_eval_loss(wanted) &&
        !state->has_started) {
        snprintf(state->metric, sizeof state->metric, "%s", wanted);
        rc = make_pictures(view, err);
    }
    if (rc != OK)
        return rc;
    picture_mark_commit(&state->picture, view->desk->has_effect_step ? view->desk->effect_step : NONE);
    state->has_picture = true;
    state->lr = facts_curve(facts, "learning_rate");
    state->grad_norm = facts_curve(facts, "grad_norm");
    state->epoch = facts_curve(facts, "epoch");
    return OK;
}

static bool looks_elsewhere(const struct view *view)
{
    const struct curves_state *state = view->state;
    return !state->has_started || state->run_seen != view->desk->run_id ||
           state->check_seen != view->desk->check || state->evidence_seen != view->desk->evidence;
}

static void remember_place(struct view *view)
{
    struct curves_state *state = view->state;
    state->has_started = true;
    state->run_seen = view->desk->run_id;
    state->check_seen = view->desk->check;
    state->evidence_seen = view->desk->evidence;
}

static int load(struct view *view, struct error *err)
{
    struct curves_state *state = view->state;
    bool is_new = looks_elsewhere(view);

    state->goes_along |= !is_new && view->desk->facts && !is_made(state, view->desk->facts) &&
                         stands_last(view);
    if (!state->has_started && state->smoothing == 0)
        state->smoothing = 1;
    state->has_picture = false;
    state->problem = NULL;
    state->n_names = 0;
    if (!view->desk->facts || view->desk->facts->serial != state->made_of ||
        state->made_baseline != view->desk->baseline_id)
        drop_pictures(state);
    if (!view->desk->facts)
        return OK;
    int rc = picture_names(view->desk->facts, view->arena, &state->names, &state->n_names, err);
    if (rc != OK)
        return rc;
    if (state->n_names == 0) {
        state->problem = "no metrics were logged: import a trainer_state.json or a console log";
        return OK;
    }
    if (is_new || !curves_has_metric(state, state->metric)) {
        state->has_started = false;
        snprintf(state->metric, sizeof state->metric, "%s", curves_fitting_metric(view));
    }
    bool is_first_look = !is_made(state, view->desk->facts) && is_long(view->desk->facts);
    if (is_first_look && loads_curve(state, view->desk->facts)) {
        state->problem = "a long curve is being read";
        view->wants_load = true;
        return OK;
    }
    rc = make_picture(view, err);
    if (rc != OK)
        return rc;
    if (is_new) {
        int64_t step = curves_fault_step(view);
        state->cursor = step == NONE ? -1 : picture_point_at(&state->picture, step);
        if (state->cursor >= 0 && state->picture.curve->step[state->cursor] != NONE)
            desk_choose_step(view->desk, state->picture.curve->step[state->cursor]);
        zoom_to_fault(view, state);
    } else if (state->goes_along) {
        set_cursor(view, (ptrdiff_t)state->picture.curve->n - 1);
    }
    state->goes_along = false;
    remember_place(view);
    view->wants_load = is_first_look;
    return is_first_look ? OK : make_strips(view, err);
}

/* Makes the picture again after a change of metric, smoothing or axis. */
static void remake(struct view *view)
{
    struct curves_state *state = view->state;
    struct error err;

    arena_reset(view->arena);
    state->has_picture = false;
    if (load(view, &err) == OK)
        return;
    state->has_picture = false;
    state->problem = "not enough memory for this curve";
}

/* ---- Actions ---- */

static void choose_series(struct view *view, int by)
{
    struct curves_state *state = view->state;
    size_t at = 0;

    while (at < state->n_names && strcmp(state->names[at], state->metric) != 0)
        at++;
    at = (at + state->n_names + (size_t)(by + (int)state->n_names)) % state->n_names;
    snprintf(state->metric, sizeof state->metric, "%s", state->names[at]);
    state->cursor = -1;
    remake(view);
    if (state->has_picture && view->desk->step != NONE)
        state->cursor = picture_point_at(&state->picture, view->desk->step);
}

/* A long run is not read again for it, unless the arena has no room beside the old line. */
static void next_smoothing(struct view *view)
{
    struct curves_state *state = view->state;
    struct picture *picture = &state->picture;

    state->smoothing = (state->smoothing + 1) % 4;
    if (!picture->is_smoothable)
        return;
    picture->series[0].smoothing = SMOOTHING[state->smoothing];
    if (plot_smooth_again(&picture->prepared[0], &picture->series[0], view->arena, NULL) != OK)
        remake(view);
}

static void next_x(struct view *view)
{
    struct curves_state *state = view->state;

    show_all(state);
    if (state->log_x) {
        state->log_x = false;
        return;
    }
    if (state->x == PICTURE_STEP) {
        state->x = PICTURE_EPOCH;
        remake(view);
        if (state->has_picture && strcmp(state->picture.x_name, "epoch") == 0)
            return;
    }
    state->x = PICTURE_STEP;
    state->log_x = true;
    remake(view);
}

static void go_to_mark(struct view *view, bool is_forward)
{
    const struct curves_state *state = view->state;
    ptrdiff_t cursor = curves_cursor(view), best = -1;

    for (size_t i = 0; i < state->n_marks; i++) {
        ptrdiff_t point = (ptrdiff_t)state->marks[i].point;
        if (is_forward && point > cursor) {
            best = point;
            break;
        }
        if (!is_forward && point < cursor)
            best = point;
    }
    if (best >= 0)
        set_cursor(view, best);
}

static bool move(struct view *view, int action)
{
    const struct curves_state *state = view->state;
    ptrdiff_t cursor = curves_cursor(view), last = (ptrdiff_t)state->picture.curve->n - 1;
    bool has_cursor = cursor >= 0;

    switch (action) {
    case ACT_LEFT:
        set_cursor(view, has_cursor ? cursor - 1 : last);
        return true;
    case ACT_RIGHT:
        set_cursor(view, has_cursor ? cursor + 1 : 0);
        return true;
    case ACT_PAGE_LEFT:
        set_cursor(view, has_cursor ? cursor - PAGE_POINTS : last);
        return true;
    case ACT_PAGE_RIGHT:
        set_cursor(view, has_cursor ? cursor + PAGE_POINTS : 0);
        return true;
    case ACT_FIRST:
        set_cursor(view, 0);
        return true;
    case ACT_LAST:
        set_cursor(view, last);
        return true;
    case ACT_NEXT_MARK:
    case ACT_PREVIOUS_MARK:
        go_to_mark(view, action == ACT_NEXT_MARK);
        return true;
    default:
        return false;
    }
}

static bool act(struct view *view, int action)
{
    struct curves_state *state = view->state;

    if (!state->has_picture)
        return false;
    if (move(view, action))
        return true;
    switch (action) {
    case ACT_ZOOM_IN:
        zoom(view, 0.5);
        return true;
    case ACT_ZOOM_OUT:
        zoom(view, 2);
        return true;
    case ACT_ZOOM_ALL:
        show_all(state);
        return true;
    case ACT_X:
        next_x(view);
        return true;
    case ACT_LOG:
        state->log_y = !state->log_y;
        return true;
    case ACT_SMOOTH:
        next_smoothing(view);
        return true;
    case ACT_CLIP:
        state->keeps_spikes = !state->keeps_spikes;
        return true;
    case ACT_MARKS:
        state->lists_marks = !state->lists_marks;
        return true;
    case ACT_NEXT_SERIES:
    case ACT_PREVIOUS_SERIES:
        choose_series(view, action == ACT_NEXT_SERIES ? 1 : -1);
        return true;
    default:
        return false;
    }
}

static void close_view(struct view *view)
{
    struct curves_state *state = view->state;

    arena_close(state->pictures);
    run_facts_close(state->other);
}

/* ---- Search goes over the marks ---- */

static size_t n_lines(const struct view *view)
{
    const struct curves_state *state = view->state;
    return state->n_marks;
}

static struct str line(const struct view *view, size_t i)
{
    const struct curves_state *state = view->state;
    return i < state->n_marks ? str_of(state->marks[i].text) : str_of("");
}

static void go(struct view *view, size_t i)
{
    const struct curves_state *state = view->state;
    if (i < state->n_marks)
        set_cursor(view, (ptrdiff_t)state->marks[i].point);
}

static const char *heading(const struct view *view)
{
    return view->desk->effect_said[0] ? view->desk->effect_said : NULL;
}

const struct view_ops view_curves = {
    .id = "curves",
    .title = "curves",
    .state_size = sizeof(struct curves_state),
    .actions = ACTIONS,
    .load = load,
    .draw = curves_draw,
    .act = act,
    .close = close_view,
    .n_lines = n_lines,
    .line = line,
    .go = go,
    .status = curves_status,
    .heading = heading,
    .depends_on = DESK_RUN | DESK_CHECK | DESK_EVIDENCE | DESK_BASELINE | DESK_EFFECT,
};
