/* Two rows side by side with what differs marked: repeated inputs with several targets, test rows with the
 * training row that is nearest. */
#include <stdio.h>
#include <string.h>

#include "core/facts/data_facts.h"
#include "core/facts/leaks.h"
#include "core/text/diff.h"
#include "views/registry.h"
#include "views/row_text.h"
#include "views/scroll.h"

enum { ACT_NEXT, ACT_PREVIOUS, ACT_NEXT_GROUP, ACT_PREVIOUS_GROUP };
enum { WIDE = 76, GAP = 3, TEXT_BYTES = 16 << 10 };

static const struct action ACTIONS[] = {
    {ACT_NEXT, "next-pair", ". Right", "next pair"},
    {ACT_PREVIOUS, "previous-pair", ", Left", "pair before"},
    {ACT_NEXT_GROUP, "next-group", "n", "first pair of the next input, or of the next test set"},
    {ACT_PREVIOUS_GROUP, "previous-group", "N", "first pair of the input or test set before"},
    MOTION_ACTIONS,
    {0, NULL, NULL, NULL},
};

struct pair_side {
    const char *title;
    struct str input, target;
};

struct state {
    struct scroll scroll;       /* first: scroll_view_…; the left side, or both */
    struct textflow right;
    bool is_wide;
    size_t at, n;               /* pair shown, of so many */
    size_t group, n_groups;
    int64_t run_id;
    ptrdiff_t check;            /* whose evidence was followed, and which */
    size_t evidence;
    struct row_reader reader;
    char heading[200];
};

/* ---- Which pair ---- */

static size_t pairs_of_group(const struct data_group *group)
{
    return group->n_targets > 1 ? group->n_targets - 1 : 0;
}

struct place {
    const struct data_group *group; /* with target `other` against the commonest; or NULL */
    size_t other;
    const struct leak_set *set;
    const struct leak_pair *pair;
    size_t first;               /* number of the first pair of its group */
    size_t group_number;
};

/* Walks over all pairs; fills the place of pair `at`. Returns how many there are. */
static size_t find_pair(const struct run_facts *facts, size_t at, struct place *out, size_t *n_groups)
{
    const struct data_facts *data = facts_data(facts);
    const struct leaks *leaks = facts_leaks(facts);
    size_t n = 0;

    *out = (struct place){0};
    *n_groups = 0;
    for (size_t g = 0; data && g < data->n_shown; g++) {
        size_t k = pairs_of_group(&data->groups[g]);

        if (k && at >= n && at < n + k)
            *out = (struct place){&data->groups[g], at - n + 1, NULL, NULL, n, *n_groups};
        *n_groups += k > 0;
        n += k;
    }
    for (size_t s = 0; leaks && s < leaks->n_sets; s++) {
        const struct leak_set *set = &leaks->sets[s];

        if (set->n_pairs && at >= n && at < n + set->n_pairs)
            *out = (struct place){NULL, 0, set, &set->pairs[at - n], n, *n_groups};
        *n_groups += set->n_pairs > 0;
        n += set->n_pairs;
    }
    return n;
}

/* ---- Its two sides ---- */

static const char *last_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path ? path : "";
}

static const char *target_title(struct arena *arena, const struct data_facts *data,
                                const struct data_target *target)
{
    int64_t file = target->n_rows ? target->rows[0].file : -1;
    const char *name = file >= 0 && (size_t)file < data->n_files ? last_name(data->files[file].path) : "";
    const char *text = arena_printf(arena, "%s row%s", name, target->count == 1 ? "" : "s");

    for (size_t i = 0; i < target->n_rows && i < 6; i++)
        text = arena_printf(arena, "%s%s %lld", text, i ? "," : "", (long long)target->rows[i].row);
    return target->count > 6 ? arena_printf(arena, "%s and %lld more", text, (long long)target->count - 6)
                             : text;
}

static void sides_of_group(const struct view *view, const struct place *place, struct pair_side sides[2])
{
    const struct data_facts *data = facts_data(view->desk->facts);

    for (int i = 0; i < 2; i++) {
        const struct data_target *target = &place->group->targets[i ? place->other : 0];

        sides[i] = (struct pair_side){target_title(view->arena, data, target), str_of(place->group->input),
                                 str_of(target->text)};
    }
}

static struct pair_side side_of_row(const struct view *view, const struct dataset *dataset, int64_t row,
                               const char *what)
{
    struct state *state = view->state;
    const struct run_facts *facts = view->desk->facts;
    const struct source *source = facts_source(facts, dataset->source_id);
    struct pair_side side = {arena_printf(view->arena, "%s row %lld: %s",
                                     source ? last_name(source->path) : "", (long long)row, what),
                        str_of(""), str_of("the row cannot be read any more")};
    struct row_text text;
    size_t n;
    const struct sample *samples = facts_samples(facts, dataset, &n);

    if (source && samples && row >= 0 && (size_t)row < n &&
        row_text_read(&state->reader, source->path, samples[row].at, row, TEXT_BYTES, false, view->arena,
                      &text)) {
        side.input = text.input;
        side.target = text.target;
    }
    return side;
}

/* ---- Text ---- */

static void put_marked(struct textflow *flow, struct str text, const struct diff *diff, bool is_right)
{
    for (size_t i = 0; i < diff->n; i++) {
        const struct diff_part *part = &diff->parts[i];
        size_t begin = is_right ? part->b_begin : part->a_begin;
        size_t end = is_right ? part->b_end : part->a_end;
        struct str piece = str_from(text.p + begin, end - begin);

        if (piece.n == 0)
            continue;
        if (part->kind == DIFF_EQUAL) {
            flow_text(flow, STYLE_TEXT, piece);
            continue;
        }
        enum style_role style = is_right ? STYLE_ADDED : STYLE_REMOVED;
        flow_puts(flow, style, is_right ? "{+" : "[-");
        flow_text(flow, style, piece);
        flow_puts(flow, style, is_right ? "+}" : "-]");
    }
    flow_break(flow);
}

static int put_part(struct textflow *flow, const struct pair_side sides[2], bool is_target, bool is_right,
                    struct error *err)
{
    struct str a = is_target ? sides[0].target : sides[0].input;
    struct str b = is_target ? sides[1].target : sides[1].input;
    struct diff diff;
    int rc = diff_texts(a, b, DIFF_WORDS, NULL, 0, NULL, 0, flow->arena, &diff, err);

    if (rc != OK)
        return rc;
    flow_puts(flow, STYLE_DIM, is_target ? "target" : "input");
    flow_break(flow);
    flow_indent(flow, 2, 2);
    put_marked(flow, is_right ? b : a, &diff, is_right);
    flow_indent(flow, 0, 0);
    return OK;
}

static int put_side(struct textflow *flow, const struct pair_side sides[2], bool is_right, struct error *err)
{
    flow_puts(flow, STYLE_STRONG, sides[is_right].title);
    flow_break(flow);
    int rc = sides[0].input.n || sides[1].input.n ? put_part(flow, sides, false, is_right, err) : OK;
    return rc == OK ? put_part(flow, sides, true, is_right, err) : rc;
}

static int put_sides(struct view *view, const struct pair_side sides[2], struct error *err)
{
    struct state *state = view->state;
    struct textflow *flow = &state->scroll.flow;
    int half = (view->columns - GAP) / 2;

    state->is_wide = view->columns >= WIDE;
    if (state->is_wide) {
        flow->columns = half;
        flow_begin(&state->right, view->arena, view->canvas, half);
    }
    int rc = put_side(flow, sides, false, err);
    if (!state->is_wide)
        flow_break(flow);
    if (rc == OK)
        rc = put_side(state->is_wide ? &state->right : flow, sides, true, err);
    for (size_t i = 0; state->is_wide && i < 10000 && flow->n_lines < state->right.n_lines; i++)
        flow_break(flow);
    return rc;
}

static const char *kind_text(enum data_group_kind kind)
{
    switch (kind) {
    case DATA_CONTRADICTORY:
        return "contradictory";
    case DATA_RANKED_BOTH_WAYS:
        return "ranked both ways";
    case DATA_BOTH_LABELS:
        return "both labels";
    case DATA_FREE_TEXT:
        return "free texts";
    case DATA_AGREES:
        return "same but for style";
    }
    return "";
}

static void put_heading(struct state *state, const struct place *place)
{
    if (place->group)
        snprintf(state->heading, sizeof state->heading, "%zu of %zu, %s, Jaccard %.2f",
                 state->at + 1, state->n, kind_text(place->group->kind), place->group->jaccard);
    else if (place->pair)
        snprintf(state->heading, sizeof state->heading, "%zu of %zu, training and test, %s %.2f",
                 state->at + 1, state->n, place->pair->flags & LEAK_EXACT ? "equal," : "Jaccard",
                 leak_jaccard(place->pair));
}

/* ---- The pane ---- */

static void say_nothing(struct textflow *flow, const struct run_facts *facts)
{
    flow_puts(flow, STYLE_UNKNOWN,
              !facts                 ? "no run chosen"
              : facts_data(facts)    ? "no input stands in several rows with different targets, and no "
                                       "test row is near a training row"
                                     : "no training rows: import them (JSONL, JSON, CSV, Parquet or Arrow)");
}

/* The evidence that the pane follows, NULL when no check is open. */
static const struct evidence *opened_evidence(const struct desk *desk)
{
    if (!desk->verdicts || desk->check < 0 || (size_t)desk->check >= desk->verdicts->n_rows)
        return NULL;
    const struct check_result *result = &desk->verdicts->rows[desk->check].result;
    return desk->evidence < result->n_evidence ? &result->evidence[desk->evidence] : NULL;
}

static bool has_row(const struct run_facts *facts, const struct place *place, int64_t row, int64_t source)
{
    const struct data_facts *data = facts_data(facts);

    if (place->pair)
        return place->pair->row == row && place->pair->test->source_id == source;
    const struct data_target *target = &place->group->targets[place->other];
    for (size_t k = 0; k < target->n_rows; k++)
        if (target->rows[k].row == row && target->rows[k].file >= 0 &&
            (size_t)target->rows[k].file < data->n_files &&
            data->files[target->rows[k].file].source_id == source)
            return true;
    return false;
}

/* Evidence of a repeated input, or of a leaked row, opens its pair: once, then the keys decide. */
static void follow_evidence(struct view *view)
{
    struct state *state = view->state;
    const struct desk *desk = view->desk;
    const struct evidence *evidence = opened_evidence(desk);

    if (!evidence || (state->check == desk->check && state->evidence == desk->evidence))
        return;
    state->check = desk->check;
    state->evidence = desk->evidence;
    for (size_t i = 0; evidence->row != NONE && i < state->n; i++) {
        struct place place;
        size_t ignored;

        find_pair(desk->facts, i, &place, &ignored);
        if (!has_row(desk->facts, &place, evidence->row, evidence->source_id))
            continue;
        state->at = i;
        state->scroll.top = 0;
        return;
    }
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    const struct run_facts *facts = view->desk->facts;
    struct place place;
    struct pair_side sides[2];
    int rc = OK;

    scroll_begin(&state->scroll, view);
    state->is_wide = false;
    state->heading[0] = '\0';
    if (state->run_id != view->desk->run_id) {
        state->at = 0;
        state->check = -1;
    }
    state->run_id = view->desk->run_id;
    state->n = facts ? find_pair(facts, state->at, &place, &state->n_groups) : 0;
    if (state->n)
        follow_evidence(view);
    if (state->at >= state->n)
        state->at = 0;
    if (state->n == 0) {
        say_nothing(&state->scroll.flow, facts);
    } else {
        find_pair(facts, state->at, &place, &state->n_groups);
        state->group = place.group_number;
        put_heading(state, &place);
        if (place.group) {
            sides_of_group(view, &place, sides);
        } else {
            sides[0] = side_of_row(view, place.pair->train, place.pair->train_row, "training");
            sides[1] = side_of_row(view, place.pair->test, place.pair->row, "test");
        }
        rc = put_sides(view, sides, err);
    }
    scroll_end(&state->scroll, view);
    return rc;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;
    struct area area = canvas_area(canvas);
    int half = (area.columns - GAP) / 2;

    if (!state->is_wide) {
        scroll_draw(&state->scroll, canvas);
        return;
    }
    struct area left = {area.top, area.left, area.rows, half};
    struct area right = {area.top, area.left + half + GAP, area.rows, area.columns - half - GAP};
    for (int row = 0; row < area.rows; row++)
        canvas_put(canvas, row, half + 1, STYLE_FRAME, '|');
    canvas_clip(canvas, &left);
    scroll_draw(&state->scroll, canvas);
    canvas_clip(canvas, &right);
    flow_draw(&state->right, canvas, state->scroll.top, 0);
    canvas_clip(canvas, &area);
}

static void go_to(struct view *view, size_t at)
{
    struct state *state = view->state;

    state->at = at;
    state->scroll.top = 0;
    view->wants_load = true;
}

/* The first pair of the group `by` groups away. */
static void go_group(struct view *view, int by)
{
    struct state *state = view->state;

    for (size_t i = 0; i < state->n; i++) {
        struct place place;
        size_t n;

        find_pair(view->desk->facts, i, &place, &n);
        if ((ptrdiff_t)place.group_number != (ptrdiff_t)state->group + by)
            continue;
        go_to(view, i);
        return;
    }
}

static bool act(struct view *view, int action)
{
    struct state *state = view->state;

    if (scroll_act(&state->scroll, action, view->rows))
        return true;
    switch (action) {
    case ACT_NEXT:
        if (state->at + 1 < state->n)
            go_to(view, state->at + 1);
        return true;
    case ACT_PREVIOUS:
        if (state->at > 0)
            go_to(view, state->at - 1);
        return true;
    case ACT_NEXT_GROUP:
        go_group(view, 1);
        return true;
    case ACT_PREVIOUS_GROUP:
        go_group(view, -1);
        return true;
    default:
        return false;
    }
}

static void close_pane(struct view *view)
{
    row_reader_close(&((struct state *)view->state)->reader);
}

static const char *heading(const struct view *view)
{
    const struct state *state = view->state;

    return state->heading[0] ? state->heading : NULL;
}

const struct view_ops view_pairs = {
    .id = "pairs",
    .title = "pairs",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .close = close_pane,
    .n_lines = scroll_view_lines,
    .line = scroll_view_line,
    .go = scroll_view_go,
    .at = scroll_view_at,
    .position = scroll_view_position,
    .heading = heading,
    .depends_on = DESK_RUN | DESK_CHECK | DESK_EVIDENCE,
};
