/* The preference pane: whether reward, KL, margin and length tell one story. Twin curves on one axis
 * (reward over KL, or both by step), the length of the outputs, the knee as a line through all of them;
 * below what the numbers say, the parts of the reward, and the lengths of the pairs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/checks/preference_series.h"
#include "core/facts/preference_facts.h"
#include "views/plot.h"
#include "views/preference_parts.h"
#include "views/registry.h"
#include "views/scroll.h"

#define MAX_PANELS  3
#define PANEL_ROWS  7           /* its title and a plot that can be read */
#define TEXT_ROWS   3           /* kept for the text */
#define GUTTER      11

enum { SWITCH_AXIS };

static const struct action ACTIONS[] = {
    {SWITCH_AXIS, "switch-axis", "x", "reward over KL, or by step"},
    MOTION_ACTIONS,
    {0, NULL, NULL, NULL},
};

struct panel {
    const char *title;
    struct plot_series series;
    struct plot_prepared prepared;
    double x_low, x_high, knee; /* knee NaN: none */
    const char *x_name;
};

struct state {
    struct scroll scroll;       /* first: scroll_view_… */
    bool has_facts, by_step;
    struct panel panels[MAX_PANELS];
    size_t n_panels;
    struct kl kl;
    ptrdiff_t knee;             /* index of kl.values, -1 none */
    struct values reward, lengths, margins, chosen;
    const char *length_unit;    /* "tokens", "words" */
};

/* ---- Panels ---- */

struct xy {
    double x, y;
};

static int by_x(const void *pa, const void *pb)
{
    const struct xy *a = pa, *b = pb;

    return (a->x > b->x) - (a->x < b->x);
}

static int add_panel(struct view *view, const char *title, struct xy *points, size_t n,
                     struct error *err)
{
    struct state *state = view->state;
    struct panel *panel = &state->panels[state->n_panels];
    double *x = arena_array(view->arena, n + 1, sizeof *x),
           *y = arena_array(view->arena, n + 1, sizeof *y);

    if (!x || !y)
        return error_set(err, E_NOMEM, "no memory for a curve of %zu points", n);
    qsort(points, n, sizeof *points, by_x);
    for (size_t i = 0; i < n; i++) {
        x[i] = points[i].x;
        y[i] = points[i].y;
    }
    *panel = (struct panel){.title = title,
                            .series = {.n = n, .x = x, .y = y, .style = STYLE_CURVE_A},
                            .x_low = x[0],
                            .x_high = x[n - 1],
                            .knee = NAN,
                            .x_name = "step"};
    if (!(panel->x_high > panel->x_low))
        panel->x_high = panel->x_low + 1.0;
    int rc = plot_prepare(&panel->prepared, &panel->series, view->arena, err);
    panel->series.prepared = &panel->prepared;
    state->n_panels += rc == OK;
    return rc;
}

static int add_curve(struct view *view, const char *title, const struct values *values,
                     struct error *err)
{
    struct xy *points = arena_array(view->arena, values->n + 1, sizeof *points);

    if (values->n < 2)
        return OK;
    if (!points)
        return error_set(err, E_NOMEM, "no memory for a curve of %zu points", values->n);
    for (size_t i = 0; i < values->n; i++) {
        int64_t step = values_step(values, i);
        points[i] = (struct xy){step == NONE ? (double)(i + 1) : (double)step, values->y[i]};
    }
    return add_panel(view, title, points, values->n, err);
}

static int add_reward_over_kl(struct view *view, struct error *err)
{
    struct state *state = view->state;
    const struct values *kl = &state->kl.values;
    struct xy *points = arena_array(view->arena, kl->n + 1, sizeof *points);
    size_t n = 0;

    for (size_t i = 0; points && i < kl->n; i++) {
        double reward;
        if (curve_on_row(state->reward.curve, kl->curve, kl->at[i], &reward) && isfinite(reward))
            points[n++] = (struct xy){kl->y[i], reward};
    }
    if (n < 2)
        return OK;
    int rc = add_panel(view, "reward", points, n, err);
    if (rc != OK)
        return rc;
    struct panel *panel = &state->panels[state->n_panels - 1];
    panel->x_name = state->kl.is_sequence ? "KL per sequence" : "KL per token";
    if (state->knee >= 0)
        panel->knee = kl->y[state->knee];
    return OK;
}

static int add_panels(struct view *view, struct error *err)
{
    struct state *state = view->state;
    bool has_kl = state->kl.values.n > 1 && state->reward.n > 1;
    int rc = OK;

    if (has_kl && !state->by_step)
        rc = add_reward_over_kl(view, err);
    else if (state->reward.n > 1)
        rc = add_curve(view, "reward", &state->reward, err);
    if (rc == OK && state->kl.values.n > 1)
        rc = add_curve(view, "KL", &state->kl.values, err);
    if (rc == OK && state->n_panels == 0 && state->margins.n > 1)
        rc = add_curve(view, "margin between chosen and rejected", &state->margins, err);
    if (rc == OK && state->n_panels < 2 && state->chosen.n > 1)
        rc = add_curve(view, "log-probability of the chosen answers", &state->chosen, err);
    if (rc == OK && state->n_panels < MAX_PANELS)
        rc = add_curve(view, strcmp(state->length_unit, "words") == 0
                                 ? "mean length of the outputs in words"
                                 : "mean length of the outputs",
                       &state->lengths, err);
    for (size_t i = 0; i < state->n_panels && state->knee >= 0; i++)
        if (strcmp(state->panels[i].x_name, "step") == 0)
            state->panels[i].knee = (double)values_step(&state->kl.values, (size_t)state->knee);
    return rc;
}

/* ---- Text ---- */

static void say_change(struct textflow *flow, const char *name, const struct values *values)
{
    struct movement movement;

    if (!values_move(values, &movement))
        return;
    flow_printf(flow, STYLE_TEXT, "%s  %.4g to %.4g", name, movement.first, movement.last);
    flow_puts(flow, STYLE_DIM,
              movement.rose   ? "  rose"
              : movement.fell ? "  fell"
                              : "  level");
    flow_break(flow);
}

static void say_knee(struct textflow *flow, const struct state *state)
{
    const struct values *kl = &state->kl.values;
    double reward = NAN;

    if (kl->n < 8)
        return;
    if (state->knee < 0) {
        flow_puts(flow, STYLE_TEXT, "no knee: the last KL is below 5 times the first");
    } else {
        if (state->reward.curve)
            (void)curve_on_row(state->reward.curve, kl->curve, kl->at[state->knee], &reward);
        flow_printf(flow, STYLE_STRONG, "knee at step %lld",
                    (long long)values_step(kl, (size_t)state->knee));
        flow_printf(flow, STYLE_TEXT,
                    ": KL %.3g %s, five times that of the first half; reward there %.4g, at the "
                    "end %.4g",
                    kl->y[state->knee], kl_unit(&state->kl), reward,
                    state->reward.n ? values_quarter(&state->reward, 3) : NAN);
    }
    flow_break(flow);
}

static void say_pairs(struct textflow *flow, const struct run_facts *facts)
{
    struct preference_facts pairs;

    if (!preference_facts_read(facts, flow->arena, &pairs) || pairs.n == 0)
        return;
    flow_printf(flow, STYLE_TEXT,
                "%lld pairs: chosen %.1f words, rejected %.1f",
                (long long)pairs.n, pairs.mean_chosen, pairs.mean_rejected);
    if (isfinite(pairs.d)) /* else all are equally long */
        flow_printf(flow, STYLE_TEXT, " (d %.2f)", pairs.d);
    flow_printf(flow, STYLE_TEXT, ", chosen longer in %lld, shorter in %lld, equal text in %lld",
                (long long)pairs.n_longer, (long long)pairs.n_shorter, (long long)pairs.n_equal);
    flow_break(flow);
    if (pairs.n_scored == 0)
        return;
    flow_printf(flow, STYLE_TEXT, "%s contradicts the columns in %lld of %lld rows", pairs.score,
                (long long)pairs.n_contradicting, (long long)pairs.n_scored);
    flow_break(flow);
}

static void write_flow(struct view *view, struct check_ctx *ctx)
{
    struct state *state = view->state;
    struct textflow *flow = &state->scroll.flow;
    struct reward_part *parts = arena_array(view->arena, MAX_REWARD_PARTS, sizeof *parts);
    size_t n = parts ? reward_parts_read(ctx, parts) : 0;

    say_knee(flow, state);
    say_change(flow, "reward", &state->reward);
    for (size_t i = 0; i < n; i++)
        say_change(flow, parts[i].name, &parts[i].values);
    say_change(flow, "margin", &state->margins);
    say_change(flow, "logps/chosen", &state->chosen);
    say_change(flow, "length", &state->lengths);
    preference_say_completions(flow, ctx);
    say_pairs(flow, view->desk->facts);
    if (state->n_panels == 0)
        flow_puts(flow, STYLE_UNKNOWN,
                  "no reward, KL or margin was logged: import the metric rows of a preference run");
}

/* ---- The pane ---- */

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    struct check_ctx ctx = {.facts = view->desk->facts, .arena = view->arena};

    scroll_begin(&state->scroll, view);
    state->has_facts = view->desk->facts;
    state->n_panels = 0;
    state->knee = -1;
    if (!state->has_facts)
        return OK;
    state->kl = (struct kl){0};
    if (kl_read(&ctx, &state->kl))
        state->knee = kl_knee(&state->kl);
    (void)values_read(&ctx, "reward", &state->reward);
    (void)values_read(&ctx, "rewards/margins", &state->margins);
    (void)values_read(&ctx, "logps/chosen", &state->chosen);
    (void)lengths_read_any(&ctx, &state->lengths, &state->length_unit);
    if (arena_failed(view->arena))
        return error_set(err, E_NOMEM, "no memory for the curves of a preference run");
    int rc = add_panels(view, err);
    if (rc != OK)
        return rc;
    write_flow(view, &ctx);
    scroll_end(&state->scroll, view);
    return OK;
}

static void draw_panel(const struct view *view, const struct panel *panel, struct canvas *canvas,
                       struct area area)
{
    struct plot_said said = {0};
    struct area at = {area.top + 1, area.left, area.rows - 1, area.columns};
    const struct plot plot = {.series = &panel->series,
                              .n_series = 1,
                              .x_low = panel->x_low,
                              .x_high = panel->x_high,
                              .line = view->desk->line,
                              .cursor_x = panel->knee,
                              .has_axis = true,
                              .x_name = panel->x_name,
                              .gutter = GUTTER};

    int column = canvas_puts(canvas, area.top, area.left, STYLE_STRONG, panel->title);
    column = canvas_printf(canvas, area.top, column, STYLE_DIM, ", by %s", panel->x_name);
    if (!isnan(panel->knee))
        canvas_puts(canvas, area.top, column + 2, STYLE_DIM, "| knee");
    plot_draw(&plot, canvas, &at, &said);
}

/* A third of a high pane where there is so much to say. */
static int text_rows(const struct state *state, int rows)
{
    int lines = state->scroll.flow.n_lines < 1000 ? (int)state->scroll.flow.n_lines : 1000;
    int most = rows / 3 > TEXT_ROWS ? rows / 3 : TEXT_ROWS;

    return lines < TEXT_ROWS ? TEXT_ROWS : lines < most ? lines : most;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;
    struct area all = canvas_area(canvas);
    int room = all.rows - text_rows(state, all.rows);
    int n = room / PANEL_ROWS;

    if (!state->has_facts) {
        canvas_puts(canvas, 0, 0, STYLE_UNKNOWN, "no run chosen");
        return;
    }
    n = n < 0 ? 0 : n > (int)state->n_panels ? (int)state->n_panels : n;
    int rows = n > 0 ? room / n : 0;
    rows = rows > 2 * PANEL_ROWS ? 2 * PANEL_ROWS : rows;
    for (int i = 0; i < n; i++)
        draw_panel(view, &state->panels[i], canvas,
                   (struct area){i * rows, 0, rows, all.columns});
    struct area text = {all.top + n * rows, all.left, all.rows - n * rows, all.columns};
    canvas_clip(canvas, &text);
    scroll_draw(&state->scroll, canvas);
    canvas_clip(canvas, &all);
}

static bool act(struct view *view, int action)
{
    struct state *state = view->state;

    if (action != SWITCH_AXIS)
        return scroll_act(&state->scroll, action, TEXT_ROWS);
    state->by_step = !state->by_step;
    view->wants_load = true;
    return true;
}

const struct view_ops view_preference = {
    .id = "preference",
    .title = "preference",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .n_lines = scroll_view_lines,
    .line = scroll_view_line,
    .go = scroll_view_go,
    .at = scroll_view_at,
    .position = scroll_view_position,
    .depends_on = DESK_RUN,
};
