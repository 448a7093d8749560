/* The evals pane: a row for each suite and candidate, its difference to the base with the 95 % interval
 * drawn as a whisker around 0, what that many items can show, and on Enter the power curve and the items
 * that flipped. Where the pane is narrow the whisker stands under the names. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/facts/eval_suites.h"
#include "core/facts/judgements.h"
#include "core/stats/paired.h"
#include "views/length_bars.h"
#include "views/power_curve.h"
#include "views/registry.h"
#include "views/scroll.h"

enum { ACT_OPEN, ACT_LEFT, ACT_RIGHT };

static const struct action ACTIONS[] = {
    {ACT_OPEN, "flips", "Enter", "the power curve, and the items that only one of the two got right"},
    MOTION_ACTIONS,
    {ACT_LEFT, "scroll-left", "Left", "sideways to the left"},
    {ACT_RIGHT, "scroll-right", "Right", "sideways to the right"},
    {0, NULL, NULL, NULL},
};

enum { MIN_WHISKER = 11, GOOD_WHISKER = 31, MAX_WHISKER = 81, MAX_FLIPS = 2000, NUMBERS = 26, BOUNDS = 14,
       NARROW_NUMBERS = 21, SHORT = 70 };

/* One difference with its interval, of a suite or of judgements. */
struct effect {
    const char *suite, *model, *why_not;
    int64_t n;
    double base, tuned, d, low, high;   /* shares; NaN: not known */
    const struct eval_pair *pair;       /* or judged */
    const struct judged_pair *judged;
};

struct line {
    const char *text;
    enum style_role style;
    size_t effect;
};

struct state {
    struct table table;         /* first: table_view_… */
    struct table_column column;
    struct effect *effects;
    size_t n_effects;
    struct line *lines;
    size_t n_lines, capacity;
    ptrdiff_t open;             /* whose flips are shown, -1 none */
    double range;               /* of the whiskers: -range to range */
    int suite_cells, model_cells;
    bool is_narrow;             /* names and numbers on a line of their own */
    int whisker;                /* cells, odd: 0 stands in the middle */
    bool is_loaded;
    size_t n_alone;             /* suites without the other side */
};

/* ---- Effects ---- */

static void add_pair(struct state *state, const struct eval_pair *pair)
{
    bool is_known = !pair->why_not;

    state->effects[state->n_effects++] = (struct effect){
        .suite = pair->candidate->suite,
        .model = pair->candidate->model,
        .why_not = pair->why_not,
        .n = pair->n_candidate,
        .base = pair->p_base,
        .tuned = pair->p_candidate,
        .d = pair->d,
        .low = is_known ? pair->interval.low : NAN,
        .high = is_known ? pair->interval.high : NAN,
        .pair = pair,
    };
}

static void add_judged(struct state *state, const struct judged_pair *judged)
{
    state->effects[state->n_effects++] = (struct effect){
        .suite = "judged",
        .model = judged->candidate,
        .n = judged->n,
        .base = 1.0 - judged->rate,
        .tuned = judged->rate,
        .d = 2.0 * judged->rate - 1.0,
        .low = 2.0 * judged->interval.low - 1.0,
        .high = 2.0 * judged->interval.high - 1.0,
        .judged = judged,
    };
}

static double range_of(const struct state *state)
{
    double range = 0.05;

    for (size_t i = 0; i < state->n_effects; i++) {
        const struct effect *e = &state->effects[i];

        range = fmax(range, fabs(e->d));
        if (isfinite(e->low))
            range = fmax(range, fmax(fabs(e->low), fabs(e->high)));
    }
    return fmin(2.0, ceil(range * 20.0) / 20.0);
}

static bool read_effects(struct view *view)
{
    struct state *state = view->state;
    const struct run_facts *facts = view->desk->facts;
    struct eval_pair *pairs = NULL;
    struct judged_pair *judged = NULL;
    size_t n = 0, n_judged = 0;

    if (!eval_pairs_read(facts, view->arena, &pairs, &n) ||
        !judged_pairs_read(facts, view->arena, &judged, &n_judged))
        return false;
    state->effects = arena_array(view->arena, n + n_judged + 1, sizeof *state->effects);
    if (!state->effects)
        return false;
    for (size_t i = 0; i < n; i++)
        add_pair(state, &pairs[i]);
    for (size_t i = 0; i < n_judged; i++)
        add_judged(state, &judged[i]);
    for (size_t i = 0; i < facts->n_eval_suites; i++)
        state->n_alone += !eval_is_paired(pairs, n, &facts->eval_suites[i]);
    state->range = range_of(state);
    return true;
}

/* ---- Lines ---- */

static void add_line(struct view *view, size_t effect, enum style_role style, const char *text)
{
    struct state *state = view->state;
    struct line *room = arena_room(view->arena, state->lines, state->n_lines, &state->capacity,
                                   sizeof *room);

    if (!room)
        return;
    state->lines = room;
    state->lines[state->n_lines++] = (struct line){text, style, effect};
}

/* Cut or filled up to that many cells. */
static void put_cell(const struct view *view, struct buf *out, const char *text, int cells)
{
    struct str cut = canvas_cut(view->canvas, str_of(text), cells);

    buf_str(out, cut);
    buf_repeat(out, ' ', (size_t)(cells - canvas_width(view->canvas, cut) + 1));
}

static int cell_of(const struct state *state, double value)
{
    double at = (value + state->range) / (2.0 * state->range) * (double)(state->whisker - 1);

    return (int)fmax(0.0, fmin((double)(state->whisker - 1), round(at)));
}

static void put_whisker(const struct view *view, struct buf *out, const struct effect *e)
{
    static const char *const PLAIN[] = {" ", "|", "-", "[", "]", "*"},
                      *const DRAWN[] = {" ", "\xe2\x94\x82", "\xe2\x94\x80", "\xe2\x94\x9c",
                                        "\xe2\x94\xa4", "\xe2\x97\x8f"};
    const char *const *glyph = view->desk->ascii ? PLAIN : DRAWN;
    const struct state *state = view->state;
    bool has_interval = isfinite(e->low);
    int zero = cell_of(state, 0.0), at = cell_of(state, e->d);
    int low = has_interval ? cell_of(state, e->low) : -1;
    int high = has_interval ? cell_of(state, e->high) : -1;

    if (e->low > 0.0) { /* one that leaves 0 out is seen to do so */
        low = low > zero ? low : zero + 1;
        at = at > low ? at : low;
        high = high > at ? high : at;
    } else if (e->high < 0.0) {
        high = high < zero ? high : zero - 1;
        at = at < high ? at : high;
        low = low < at ? low : at;
    }
    for (int i = 0; i < state->whisker; i++) {
        int which = i == at                ? 5
                    : i == low             ? 3
                    : i == high            ? 4
                    : i == zero            ? 1
                    : i > low && i < high  ? 2
                                           : 0;
        buf_puts(out, glyph[which]);
    }
}

static enum style_role style_of(const struct effect *e)
{
    if (!isfinite(e->low))
        return STYLE_UNKNOWN;
    if (e->low > 0.0)
        return STYLE_PASS;
    return e->high < 0.0 ? STYLE_FAIL : e->d > 0.0 ? STYLE_WARN : STYLE_TEXT;
}

static const char *finished(struct view *view, struct buf *out)
{
    const char *text = arena_strndup(view->arena, out->p ? out->p : "", out->n);

    buf_free(out);
    return text;
}

/* Of a path the checkpoint, or whatever it ends with. */
static const char *short_name(const char *model)
{
    const char *slash = strrchr(model, '/');

    return slash && slash[1] ? slash + 1 : model;
}

static void put_interval(const struct view *view, struct buf *out, const struct effect *e)
{
    put_whisker(view, out, e);
    if (isfinite(e->low))
        buf_printf(out, " %+.1f %+.1f", 100.0 * e->low, 100.0 * e->high);
}

static void add_effect(struct view *view, size_t i)
{
    const struct state *state = view->state;
    const struct effect *e = &state->effects[i];
    struct buf out;

    buf_init(&out, 1 << 14);
    if (state->is_narrow) {
        int room = view->columns - state->model_cells - 14;

        buf_str(&out, canvas_cut(view->canvas, str_of(e->suite), room));
        buf_puts(&out, "  ");
        buf_str(&out, canvas_cut(view->canvas, str_of(short_name(e->model)), state->model_cells));
        buf_printf(&out, "  %lld %s", (long long)e->n, e->judged ? "judged" : "items");
        add_line(view, i, style_of(e), finished(view, &out));
        buf_init(&out, 1 << 14);
        buf_printf(&out, "  %5.1f %5.1f %+6.1f ", 100.0 * e->base, 100.0 * e->tuned, 100.0 * e->d);
    } else {
        put_cell(view, &out, e->suite, state->suite_cells);
        put_cell(view, &out, short_name(e->model), state->model_cells);
        buf_printf(&out, "%6lld %5.1f %5.1f %+6.1f ", (long long)e->n, 100.0 * e->base,
                   100.0 * e->tuned, 100.0 * e->d);
    }
    put_interval(view, &out, e);
    add_line(view, i, style_of(e), finished(view, &out));
}

static double discordance_of(const struct effect *e)
{
    return e->pair ? eval_discordance(e->pair) : 1.0;
}

/* As many independent ones tell as much, where items or questions go together. */
static double alone_of(const struct effect *e)
{
    double alone = e->pair ? e->pair->n_alone : e->judged ? e->judged->n_alone : NAN;

    return isnan(alone) ? (double)e->n : alone;
}

static void add_power(struct view *view, size_t i)
{
    const struct state *state = view->state;
    const struct effect *e = &state->effects[i];
    double share = discordance_of(e);
    double visible = smallest_effect(alone_of(e), share);
    double need = ceil(items_needed(e->d, share) * (double)e->n / alone_of(e));
    const char *more = "", *what = e->judged ? "judgements" : "items";

    if (e->why_not) {
        add_line(view, i, STYLE_UNKNOWN, arena_printf(view->arena, "  not compared: %s", e->why_not));
        return;
    }
    if (e->pair && e->pair->is_variant) {
        add_line(view, i, STYLE_DIM, "  another measure of the same items: not counted again");
        return;
    }
    bool is_short = view->columns < SHORT;
    if (isfinite(need) && e->low <= 0.0 && e->high >= 0.0)
        more = arena_printf(view->arena, is_short ? "; %.1f need %.0f" : "; %.1f points need %.0f",
                            fabs(100.0 * e->d), need);
    if (is_short) {
        add_line(view, i, STYLE_DIM,
                 arena_printf(view->arena, "  %s see %.1f points%s%s", what, 100.0 * visible, more,
                              e->pair && !e->pair->is_paired ? "; not paired" : ""));
        return;
    }
    add_line(view, i, STYLE_DIM,
             arena_printf(view->arena, "  %lld %s see %.1f points or more%s%s", (long long)e->n, what,
                          100.0 * visible, more, e->pair && !e->pair->is_paired ? "; not paired" : ""));
}

/* The curve with this run on it, and what its marks are. */
static void add_curve(struct view *view, size_t i)
{
    const struct state *state = view->state;
    const struct effect *e = &state->effects[i];
    const struct power_curve curve = {alone_of(e), e->d, discordance_of(e)};
    double visible = smallest_effect(curve.n, curve.discordance);
    double need = ceil(items_needed(curve.d, curve.discordance) * (double)e->n / alone_of(e));
    bool ascii = view->desk->ascii;
    const char *row, *what = e->judged ? "judgements" : "items";

    if (e->why_not || !power_curve_row(&curve, 0, view->columns - 1, ascii, view->arena))
        return;
    add_line(view, i, STYLE_STRONG, "points that can be seen (80 % power) by items");
    for (int k = 0; k < POWER_ROWS; k++)
        if ((row = power_curve_row(&curve, k, view->columns - 1, ascii, view->arena)) != NULL)
            add_line(view, i, STYLE_TEXT, row);
    if (e->d != 0.0)
        add_line(view, i, STYLE_TEXT,
                 arena_printf(view->arena, "%s this run: %lld %s, %+.1f points%s",
                              ascii ? "#" : "\xe2\x97\x86", (long long)e->n, what, 100.0 * e->d,
                              fabs(e->d) < visible ? ", below the curve" : ""));
    if (isfinite(need))
        add_line(view, i, STYLE_TEXT,
                 arena_printf(view->arena, "%s %.1f points need %.0f", ascii ? "o" : "\xe2\x97\x8b",
                              fabs(100.0 * e->d), need));
    add_line(view, i, STYLE_DIM,
             arena_printf(view->arena, "%s %lld %s see %.1f points or more", ascii ? "*" : "\xe2\x80\xa2",
                          (long long)e->n, what, 100.0 * visible));
}

/* ---- Flips ---- */

static void add_flips_of(struct view *view, size_t i, bool lost)
{
    const struct state *state = view->state;
    const struct eval_pair *pair = state->effects[i].pair;
    size_t n_base = 0, n_tuned = 0, n_shown = 0;
    const struct eval_item *base = facts_eval_items(view->desk->facts, pair->base, &n_base);
    const struct eval_item *tuned = facts_eval_items(view->desk->facts, pair->candidate, &n_tuned);

    for (size_t a = 0, b = 0; a < n_base && b < n_tuned && n_shown < MAX_FLIPS;) {
        int order = strcmp(base[a].item, tuned[b].item);
        double d = order == 0 ? tuned[b].score - base[a].score : 0.0;

        if (lost ? d < 0.0 : d > 0.0) {
            add_line(view, i, lost ? STYLE_REMOVED : STYLE_ADDED,
                     arena_printf(view->arena, "  %s %s  %.3g to %.3g", lost ? "- lost  " : "+ gained",
                                  base[a].item, base[a].score, tuned[b].score));
            n_shown++;
        }
        a += order <= 0;
        b += order >= 0;
    }
}

static void add_lengths(struct view *view, size_t i)
{
    const struct state *state = view->state;
    const struct judged_pair *judged = state->effects[i].judged;
    struct length_controlled fit;

    if (!isfinite(judged->ratio)) {
        add_line(view, i, STYLE_UNKNOWN, "  the lengths of the answers are not known");
        return;
    }
    add_line(view, i, STYLE_TEXT,
             arena_printf(view->arena, "  answers %.2f times as long (mean %.0f and %.0f)",
                          judged->ratio, judged->mean_candidate, judged->mean_base));
    struct length_bins bins = judged_length_bins(judged);
    for (int k = 0; k < LENGTH_BINS; k++) {
        const char *bar = length_bar(&bins, k, view->columns, view->desk->ascii, view->arena);
        if (bar)
            add_line(view, i, STYLE_TEXT, bar);
    }
    add_line(view, i, STYLE_TEXT,
             arena_printf(view->arena, "  equally long: %.3g of %lld won (95 %%: %.1f to %.1f %%)",
                          judged->matched_wins, (long long)judged->n_matched,
                          100.0 * judged->matched.low, 100.0 * judged->matched.high));
    if (judged_controlled(judged, &fit))
        add_line(view, i, STYLE_TEXT,
                 arena_printf(view->arena, "  at equal length %.1f %% (95 %%: %.1f to %.1f)",
                              100.0 * fit.rate, 100.0 * fit.interval.low, 100.0 * fit.interval.high));
}

static void add_runs(struct view *view, size_t i, const struct eval_suite *suite,
                     const struct eval_spread *runs)
{
    if (runs->n > 1)
        add_line(view, i, STYLE_TEXT,
                 arena_printf(view->arena, "  %s: %zu seeds, %.1f to %.1f %%, SD %.1f points",
                              short_name(suite->model), runs->n, 100.0 * runs->low, 100.0 * runs->high,
                              100.0 * runs->sd));
    if (eval_missing(suite) > 0)
        add_line(view, i, STYLE_WARN,
                 arena_printf(view->arena, "  %s: %lld items without a result (NaN, null)",
                              short_name(suite->model), (long long)eval_missing(suite)));
}

static void add_details(struct view *view, size_t i)
{
    const struct state *state = view->state;
    const struct effect *e = &state->effects[i];

    add_curve(view, i);
    if (e->pair) {
        add_runs(view, i, e->pair->base, &e->pair->base_runs);
        add_runs(view, i, e->pair->candidate, &e->pair->candidate_runs);
    }
    if (e->judged) {
        add_lengths(view, i);
        return;
    }
    if (!e->pair->is_paired) {
        add_line(view, i, STYLE_DIM,
                 view->columns < SHORT ? "  flips need item_id and correct of each"
                                       : "  no items of both models: flips need item_id and correct of each");
        return;
    }
    add_line(view, i, STYLE_STRONG,
             arena_printf(view->arena, "  %lld lost, %lld gained of %lld", (long long)e->pair->lost,
                          (long long)e->pair->gained, (long long)e->n));
    add_flips_of(view, i, true);
    add_flips_of(view, i, false);
}

/* ---- The pane ---- */

static struct str cell(const void *context, size_t row, size_t column, enum style_role *style)
{
    const struct state *state = context;

    (void)column;
    *style = state->lines[row].style;
    return str_of(state->lines[row].text);
}

/* The head says the scale of the whiskers. */
static const char *head_of(struct view *view)
{
    const struct state *state = view->state;
    struct buf out;
    char left[16], right[16];

    snprintf(left, sizeof left, "-%.0f", 100.0 * state->range);
    snprintf(right, sizeof right, "+%.0f", 100.0 * state->range);
    buf_init(&out, 1 << 12);
    if (state->is_narrow) {
        buf_puts(&out, "   base   now points ");
    } else {
        put_cell(view, &out, "suite", state->suite_cells);
        put_cell(view, &out, "candidate", state->model_cells);
        buf_puts(&out, "     n  base   now points ");
    }
    size_t middle = (size_t)state->whisker / 2;
    buf_puts(&out, left);
    buf_repeat(&out, ' ', middle - strlen(left));
    buf_putc(&out, '0');
    buf_repeat(&out, ' ', middle - strlen(right));
    buf_puts(&out, right);
    buf_puts(&out, " 95 %");
    return finished(view, &out);
}

static int longest(const struct view *view, bool is_suite, int least)
{
    const struct state *state = view->state;
    int most = least;

    for (size_t i = 0; i < state->n_effects; i++) {
        const struct effect *e = &state->effects[i];
        int n = canvas_width(view->canvas, str_of(is_suite ? e->suite : short_name(e->model)));

        most = n > most ? n : most;
    }
    return most;
}

/* One line for each where the whisker has room beside the names, else two; the whisker has the rest. */
static void set_width(struct view *view)
{
    struct state *state = view->state;
    int suite = longest(view, true, 5), model = longest(view, false, 9);
    int rest = view->columns - suite - model - 2 - NUMBERS - BOUNDS;

    state->is_narrow = rest < GOOD_WHISKER;
    state->suite_cells = suite;
    state->model_cells = state->is_narrow && model > view->columns / 3 ? view->columns / 3 : model;
    if (state->is_narrow)
        rest = view->columns - NARROW_NUMBERS - BOUNDS;
    rest = rest < MIN_WHISKER ? MIN_WHISKER : rest > MAX_WHISKER ? MAX_WHISKER : rest;
    state->whisker = rest % 2 ? rest : rest - 1;
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    ptrdiff_t open = state->is_loaded ? state->open : -1;
    size_t selected = state->table.selected, top = state->table.top;
    int left = state->table.left;

    *state = (struct state){.open = open, .is_loaded = true};
    state->table = (struct table){.columns = &state->column, .n_columns = 1, .cell = cell,
                                  .context = state, .top = top, .left = left, .sorted_by = -1};
    if (!view->desk->facts)
        return OK;
    if (!read_effects(view))
        return error_set(err, E_NOMEM, "no memory for the results of an evaluation");
    set_width(view);
    for (size_t i = 0; i < state->n_effects; i++) {
        add_effect(view, i);
        add_power(view, i);
        if (state->open == (ptrdiff_t)i)
            add_details(view, i);
    }
    if (state->n_alone > 0)
        add_line(view, 0, STYLE_UNKNOWN,
                 arena_printf(view->arena, "%zu %s without a result of the other side", state->n_alone,
                              state->n_alone == 1 ? "suite stands" : "suites stand"));
    state->column.title = head_of(view);
    state->table.n_rows = state->n_lines;
    state->table.selected = selected < state->n_lines ? selected : 0;
    return arena_failed(view->arena) ? error_set(err, E_NOMEM, "no memory for an evaluation") : OK;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;

    if (!view->desk->facts) {
        canvas_puts(canvas, 0, 0, STYLE_UNKNOWN, "no run chosen");
    } else if (state->n_lines == 0) {
        canvas_puts(canvas, 0, 0, STYLE_UNKNOWN, "no results of an evaluation");
        canvas_puts(canvas, 1, 0, STYLE_TEXT, "the key a imports eval_results.jsonl, judge.jsonl");
        canvas_puts(canvas, 2, 0, STYLE_TEXT, "or lm-eval's samples of both models");
    } else {
        struct table table = state->table;

        table.match = view->desk->search;
        table_draw(&table, canvas, view->has_focus);
    }
}

static bool act(struct view *view, int action)
{
    struct state *state = view->state;

    if (motion_table(&state->table, action, view->rows))
        return true;
    switch (action) {
    case ACT_OPEN: {
        if (state->table.selected >= state->n_lines)
            return false;
        ptrdiff_t at = (ptrdiff_t)state->lines[state->table.selected].effect;

        while (state->table.selected > 0 &&
               state->lines[state->table.selected - 1].effect == (size_t)at)
            state->table.selected--; /* its first line, which stays where it is */
        state->open = state->open == at ? -1 : at;
        view->wants_load = true;
        return true;
    }
    case ACT_LEFT:
    case ACT_RIGHT:
        table_scroll(&state->table, action == ACT_LEFT ? -8 : 8);
        return true;
    default:
        return false;
    }
}

static size_t n_lines(const struct view *view)
{
    return ((const struct state *)view->state)->n_lines;
}

static struct str line(const struct view *view, size_t i)
{
    const struct state *state = view->state;

    return str_of(i < state->n_lines ? state->lines[i].text : "");
}

const struct view_ops view_evals = {
    .id = "evals",
    .title = "evals",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .n_lines = n_lines,
    .line = line,
    .go = table_view_go,
    .at = table_view_at,
    .position = table_view_position,
    .depends_on = DESK_RUN,
};
