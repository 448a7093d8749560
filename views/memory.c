/* The memory pane: what the GPU holds in each phase of a step against its capacity, and the ladder
 * of what to change, at what price. Estimates by formula F20; numbers that are not known are
 * named, never guessed. */
#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/memory_facts.h"
#include "core/facts/oom_events.h"
#include "views/registry.h"
#include "views/scroll.h"

#define BAR_LEFT   18                   /* behind the name of the phase */
#define BAR_RIGHT  12                   /* before the number */
#define MAX_BAR    120

static const struct action ACTIONS[] = {MOTION_ACTIONS, {0, NULL, NULL, NULL}};

struct state {
    struct scroll scroll;       /* first: scroll_view_… */
    bool has_facts;
    struct memory_facts facts;
    struct memory_estimate estimate;
    struct ladder ladder;
    const char *gpu;
};

/* The letters of the bars; without colour they are all there is. */
static const struct {
    size_t offset;
    char letter;
    const char *name;
    enum style_role style;
} PARTS[] = {
    {offsetof(struct memory_parts, weights), 'W', "weights", STYLE_CURVE_A},
    {offsetof(struct memory_parts, gradients), 'G', "gradients", STYLE_CURVE_B},
    {offsetof(struct memory_parts, optimiser), 'O', "optimiser", STYLE_EVAL_POINT},
    {offsetof(struct memory_parts, activations), 'A', "activations", STYLE_WARN},
    {offsetof(struct memory_parts, logits), 'L', "logits", STYLE_TRAINED},
    {offsetof(struct memory_parts, predictions), 'P', "predictions", STYLE_MATCH},
    {offsetof(struct memory_parts, kv_cache), 'K', "kv cache", STYLE_STRONG},
};
#define N_PARTS (sizeof PARTS / sizeof *PARTS)

static double part_of(const struct memory_parts *parts, size_t i)
{
    double value;
    memcpy(&value, (const char *)parts + PARTS[i].offset, sizeof value);
    return isfinite(value) && value > 0 ? value : 0;
}

/* ---- Loading ---- */

static int read_facts(struct view *view, struct error *err)
{
    struct state *state = view->state;
    const struct run_facts *facts = view->desk->facts;
    struct oom_events events;

    oom_events_read(facts, view->arena, &events);
    if (arena_failed(view->arena))
        return error_set(err, E_NOMEM, "out-of-memory events");
    memory_facts_read(facts, &state->facts);
    if (events.n)
        state->facts.ladder.measured = events.events[0].allocated + events.events[0].asked;
    facts_gpu_bytes(facts, &state->gpu);
    memory_estimate(&state->facts.shape, &state->facts.settings, &state->estimate);
    oom_ladder(&state->facts.shape, &state->facts.settings, &state->facts.ladder,
               state->facts.dialect, &state->ladder);
    return OK;
}

/* ---- Text ---- */

static void say_size(struct textflow *flow, enum style_role style, const char *before, double bytes)
{
    char text[32];
    number_bytes(text, bytes);
    flow_printf(flow, style, "%s%s", before, text);
}

static void say_headline(struct textflow *flow, const struct state *state)
{
    const struct ladder_facts *known = &state->facts.ladder;

    if (state->estimate.is_known) {
        double peak = state->ladder.before > 0 ? state->ladder.before : state->estimate.peak_bytes;
        bool fits = known->capacity <= 0 || peak <= 0.9 * known->capacity;
        say_size(flow, fits ? STYLE_STRONG : STYLE_FAIL, "peak ", peak);
        flow_printf(flow, STYLE_TEXT, " in %s", memory_phase_name(state->estimate.peak));
    } else {
        flow_puts(flow, STYLE_UNKNOWN, "peak not known");
    }
    if (known->capacity > 0) {
        say_size(flow, STYLE_TEXT, ", capacity ", known->capacity);
        if (state->gpu)
            flow_printf(flow, STYLE_DIM, " (%s)", state->gpu);
    } else {
        flow_puts(flow, STYLE_TEXT, ", capacity not known: say it with :set gpu=24G");
    }
    flow_break(flow);
    if (known->measured > 0) {
        say_size(flow, STYLE_TEXT, "measured at the out-of-memory error: ", known->measured);
        if (state->ladder.scale != 1)
            flow_printf(flow, STYLE_DIM, "; estimates times %.2f to agree with it",
                        state->ladder.scale);
        flow_break(flow);
    }
}

static void say_missing(struct textflow *flow, const struct state *state)
{
    const struct memory_shape *shape = &state->facts.shape;
    const struct memory_settings *settings = &state->facts.settings;
    const struct {
        double value;
        const char *name;
    } needed[] = {
        {shape->n_parameters, "parameters"},       {shape->n_trainable, "trainable parameters"},
        {shape->layers, "layers"},                 {shape->hidden, "hidden size"},
        {shape->vocabulary, "vocabulary"},         {settings->micro_batch, "batch size per device"},
        {settings->sequence, "sequence length"},
    };
    size_t n = 0;

    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!(needed[i].value > 0))
            flow_printf(flow, STYLE_UNKNOWN, "%s%s", n++ ? ", " : "not known: ", needed[i].name);
    if (n) {
        flow_puts(flow, STYLE_TEXT, ". Import the model's config.json and the training arguments");
        flow_break(flow);
    }
}

/* ---- Bars ---- */

/* Which part covers the middle of cell i; rounding of small parts never hides a greater one. */
static size_t part_at(const struct memory_parts *parts, double bytes)
{
    double sum = 0;
    for (size_t i = 0; i < N_PARTS; i++) {
        sum += part_of(parts, i);
        if (bytes < sum)
            return i;
    }
    return N_PARTS;
}

static void say_bar(struct textflow *flow, const struct memory_parts *parts, double full,
                    double capacity, int cells)
{
    for (int i = 0; i < cells; i++) {
        double from = full * i / cells, to = full * (i + 1) / cells;
        size_t part = part_at(parts, (from + to) / 2);
        bool is_limit = capacity > 0 && capacity >= from && capacity < to;
        if (is_limit)
            flow_puts(flow, STYLE_STRONG, "|");
        else if (part == N_PARTS)
            flow_puts(flow, STYLE_DIM, ".");
        else
            flow_printf(flow, PARTS[part].style, "%c", PARTS[part].letter);
    }
}

static void say_phases(struct textflow *flow, const struct state *state, int columns)
{
    double scale = state->ladder.scale > 0 ? state->ladder.scale : 1;
    double capacity = state->facts.ladder.capacity / scale, full = capacity;
    int cells = columns - BAR_LEFT - BAR_RIGHT;

    cells = cells < 10 ? 10 : cells > MAX_BAR ? MAX_BAR : cells;
    for (int i = 0; i < N_PHASES; i++)
        full = state->estimate.phases[i].total > full ? state->estimate.phases[i].total : full;
    if (!(full > 0) || !isfinite(full))
        return;
    flow->no_wrap = true;
    for (int i = 0; i < N_PHASES; i++) {
        const struct memory_parts *parts = &state->estimate.phases[i];
        bool is_peak = i == (int)state->estimate.peak;
        flow_printf(flow, is_peak ? STYLE_STRONG : STYLE_TEXT, "%c%-*s", is_peak ? '>' : ' ',
                    BAR_LEFT - 1, memory_phase_name((enum memory_phase)i));
        say_bar(flow, parts, full * 1.02, capacity, cells);
        say_size(flow, capacity > 0 && parts->total > capacity ? STYLE_FAIL : STYLE_TEXT, "  ",
                 parts->total * scale);
        flow_break(flow);
    }
    flow->no_wrap = false;
    flow_indent(flow, columns > 2 * BAR_LEFT ? BAR_LEFT : 0, columns > 2 * BAR_LEFT ? BAR_LEFT : 0);
    for (size_t i = 0; i < N_PARTS; i++) {
        double most = 0;
        for (int k = 0; k < N_PHASES; k++)
            most = fmax(most, part_of(&state->estimate.phases[k], i));
        if (most <= 0)
            continue;
        char size[32];
        number_bytes(size, most * scale);
        /* one piece: between two the line may break */
        flow_printf(flow, PARTS[i].style, "%c=%s", PARTS[i].letter, size);
        flow_printf(flow, STYLE_DIM, " %s  ", PARTS[i].name);
    }
    if (capacity > 0)
        flow_puts(flow, STYLE_DIM, "|=capacity");
    flow_break(flow);
    flow_indent(flow, 0, 0);
}

/* ---- Ladder ---- */

static void say_rung(struct textflow *flow, const struct ladder *ladder, size_t i)
{
    const struct rung *rung = &ladder->rungs[i];
    bool is_proposed = (ptrdiff_t)i == ladder->proposal;
    bool has_change = rung->change && *rung->change;
    char size[32];

    if (rung->is_taken && !has_change)
        return;
    flow_indent(flow, 0, 5);
    flow_printf(flow, is_proposed ? STYLE_STRONG : STYLE_TEXT, "%c%-3s ", is_proposed ? '>' : ' ',
                rung->id ? rung->id : "");
    flow_puts(flow, rung->is_taken ? STYLE_DIM : is_proposed ? STYLE_STRONG : STYLE_TEXT,
              has_change ? rung->change : "");
    if (rung->is_taken) {
        flow_puts(flow, STYLE_DIM, "  already on");
    } else if (rung->estimate > 0) {
        number_bytes(size, rung->estimate);
        flow_printf(flow, rung->fits ? STYLE_PASS : STYLE_TEXT, "  -> %s%s", size,
                    rung->fits ? " fits" : "");
        if (rung->alone > 0) {
            number_bytes(size, rung->alone);
            flow_printf(flow, STYLE_DIM, " (alone %s)", size);
        }
    }
    flow_break(flow);
    if (rung->is_taken)
        return;
    flow_indent(flow, 5, 5);
    if (rung->setting && *rung->setting)
        flow_printf(flow, STYLE_DIM, "%s", rung->setting);
    if (rung->price && *rung->price)
        flow_printf(flow, STYLE_DIM, "  price: %s", rung->price);
    flow_break(flow);
}

static void say_ladder(struct textflow *flow, const struct state *state)
{
    const struct ladder *ladder = &state->ladder;

    if (ladder->n == 0)
        return;
    flow_indent(flow, 0, 0);
    flow_break(flow);
    flow_puts(flow, STYLE_STRONG, "what to change, cheapest first");
    flow_puts(flow, STYLE_DIM, ladder->proposal < 0 ? "" : ladder->proposal_is_single
                                                        ? "  > alone is enough"
                                                        : "  all up to > are needed");
    flow_break(flow);
    for (size_t i = 0; i < ladder->n; i++)
        say_rung(flow, ladder, i);
}

static void write_flow(struct textflow *flow, const struct state *state, int columns)
{
    say_headline(flow, state);
    say_missing(flow, state);
    if (state->estimate.is_known) {
        flow_break(flow);
        say_phases(flow, state, columns);
    }
    say_ladder(flow, state);
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    int rc;

    scroll_begin(&state->scroll, view);
    state->has_facts = view->desk->facts;
    if (!state->has_facts)
        return OK;
    rc = read_facts(view, err);
    if (rc != OK)
        return rc;
    write_flow(&state->scroll.flow, state, view->columns);
    scroll_end(&state->scroll, view);
    return OK;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;

    if (!state->has_facts)
        canvas_puts(canvas, 0, 0, STYLE_UNKNOWN, "no run chosen");
    else
        scroll_draw(&state->scroll, canvas);
}

static bool act(struct view *view, int action)
{
    return scroll_act(&((struct state *)view->state)->scroll, action, view->rows);
}

const struct view_ops view_memory = {
    .id = "memory",
    .title = "memory",
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
