/* The history pane: the configuration over git. A commit with what it changed, the runs that were made
 * under it, the one that this run used, and first what is not committed. */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/exports/history_report.h"
#include "views/registry.h"
#include "views/scroll.h"
#include "views/verdict_words.h"

enum { ACT_MARK, ACT_NEXT, ACT_PREVIOUS, ACT_LEFT, ACT_RIGHT };

static const struct action ACTIONS[] = {
    {ACT_MARK, "mark-effect", "Enter",
     "on the curves: when the commit took effect, the run before it beside"},
    {ACT_NEXT, "next-commit", "n", "the next older commit"},
    {ACT_PREVIOUS, "previous-commit", "N", "the next younger commit"},
    MOTION_ACTIONS,
    {ACT_LEFT, "scroll-left", "Left", "sideways to the left"},
    {ACT_RIGHT, "scroll-right", "Right", "sideways to the right"},
    {0, NULL, NULL, NULL},
};

static const struct table_column COLUMNS[] = {{"", false, 1}, {"commit   age        subject", false, 0}};

struct item {
    const struct config_history *history;
    ptrdiff_t revision;         /* -1: of none */
    bool is_head;               /* the line of the commit itself */
    enum style_role style;
    const char *text;
};

struct state {
    struct table table;         /* first: table_view_… */
    struct item *items;
    size_t capacity;
    const struct history_run *runs;     /* of the first history */
    size_t n_runs;
    const struct config_history *first;
    const char *heading;
    char said[160];             /* what Enter found */
};

/* ---- Lines ---- */

static void add(struct view *view, const struct item *item)
{
    struct state *state = view->state;
    struct item *items =
        arena_room(view->arena, state->items, state->table.n_rows, &state->capacity, sizeof *items);

    if (!items)
        return;
    state->items = items;
    items[state->table.n_rows++] = *item;
}

static void add_text(struct view *view, const struct config_history *h, ptrdiff_t revision,
                     enum style_role style, const char *text)
{
    add(view, &(struct item){h, revision, false, style, text});
}

static void age_text(char out[40], int64_t time)
{
    static const struct { int64_t seconds; const char *one, *many; } UNITS[] = {
        {365 * 86400, "year", "years"}, {30 * 86400, "month", "months"}, {86400, "day", "days"},
        {3600, "hour", "hours"}, {60, "minute", "minutes"}};
    int64_t age = clock_now() - time;

    snprintf(out, 40, "%s", age < 0 ? "later" : "now");
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
        if (age >= UNITS[i].seconds) {
            int64_t n = age / UNITS[i].seconds;

            snprintf(out, 40, "%lld %s", (long long)n, n == 1 ? UNITS[i].one : UNITS[i].many);
            return;
        }
}

static void add_change(struct view *view, const struct config_history *h, ptrdiff_t revision,
                       const char *before, const struct config_change *change)
{
    enum style_role style = !change->old_value   ? STYLE_ADDED
                            : !change->new_value ? STYLE_REMOVED
                                                 : STYLE_TEXT;
    struct buf text;

    buf_init(&text, 4096);
    buf_puts(&text, before);
    history_change_text(&text, change, view->desk->ascii);
    add_text(view, h, revision, style, arena_strdup(view->arena, text.p));
    buf_free(&text);
}

static void add_summary(struct view *view, const struct config_history *h, size_t i)
{
    const struct revision *r = &h->revisions[i];
    struct buf text;

    buf_init(&text, 4096);
    buf_puts(&text, "  ");
    history_summary_text(&text, r);
    if (text.n > 2)
        add_text(view, h, (ptrdiff_t)i, STYLE_DIM, arena_strdup(view->arena, text.p));
    buf_free(&text);
    for (size_t k = 0; k < r->n_changes; k++)
        add_change(view, h, (ptrdiff_t)i, "  ", &r->changes[k]);
    if (r->n_more)
        add_text(view, h, (ptrdiff_t)i, STYLE_DIM,
                 arena_printf(view->arena, "  and %lld more", (long long)r->n_more));
}

static void add_runs(struct view *view, const struct config_history *h, size_t i)
{
    const struct state *state = view->state;

    for (size_t k = 0; h == state->first && k < state->n_runs; k++) {
        const struct history_run *run = &state->runs[k];

        if (run->used_at == (ptrdiff_t)i)
            add_text(view, h, (ptrdiff_t)i, verdict_style(run->verdict),
                     arena_printf(view->arena, "  run %s: %s, %s", run->run.name,
                                  outcome_name(run->run.outcome), history_run_word(run)));
    }
}

static void add_revision(struct view *view, const struct config_history *h, size_t i)
{
    const struct revision *r = &h->revisions[i];
    char age[40];

    age_text(age, r->author_time);
    add(view, &(struct item){h, (ptrdiff_t)i, true,
                             h->used_at == (ptrdiff_t)i ? STYLE_TITLE : STYLE_STRONG,
                             arena_printf(view->arena, "%.7s  %-9s  %s", r->commit, age, r->subject)});
    add_summary(view, h, i);
    add_runs(view, h, i);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void add_dirty(struct view *view, const struct config_history *h)
{
    if (h->dirty_from && h->is_dirty)
        add_text(view, h, -1, STYLE_WARN,
                 arena_printf(view->arena, "%s differs from %s%s", name_of(h->run_file), h->dirty_from,
                              h->n_dirty ? ": not committed" : ", though no setting does"));
    for (size_t i = 0; h->is_dirty && i < h->n_dirty; i++)
        add_change(view, h, -1, "  ~ ", &h->dirty[i]);
    if (h->is_uncommitted)
        add_text(view, h, -1, STYLE_WARN,
                 arena_printf(view->arena, "%s of the work tree differs from HEAD%s", name_of(h->path),
                              h->n_uncommitted ? ": not committed" : ", though no setting does"));
    for (size_t i = 0; i < h->n_uncommitted; i++)
        add_change(view, h, -1, "  ~ ", &h->uncommitted[i]);
}

static void add_history(struct view *view, const struct config_history *h, bool is_named)
{
    struct arena *arena = view->arena;

    if (is_named || h->problem)
        add_text(view, h, -1, STYLE_DIM,
                 arena_printf(arena, "%s in %s", h->path ? h->path : "no file", h->repository));
    if (h->problem)
        add_text(view, h, -1, STYLE_UNKNOWN, arena_printf(arena, "cannot be read: %s", h->problem));
    for (size_t i = 0; i < h->n_notes; i++)
        add_text(view, h, -1, STYLE_DIM, arena_printf(arena, "note: %s", h->notes[i]));
    add_dirty(view, h);
    for (size_t i = 0; i < h->n_revisions; i++)
        add_revision(view, h, i);
    if (h->n_all > (int64_t)h->n_revisions)
        add_text(view, h, -1, STYLE_DIM,
                 arena_printf(arena, "and %lld older ones", (long long)(h->n_all - (int64_t)h->n_revisions)));
    if (!h->problem && !h->is_whole)
        add_text(view, h, -1, STYLE_DIM, "more is being read");
}

/* ---- The pane ---- */

static struct str cell(const void *context, size_t row, size_t column, enum style_role *style)
{
    const struct state *state = context;
    const struct item *item = &state->items[row];

    *style = item->style;
    if (column == 1)
        return str_of(item->text);
    return str_of(item->is_head && item->history->used_at == item->revision ? "*" : "");
}

static const char *make_heading(struct view *view, const struct config_history *h)
{
    return h->used ? arena_printf(view->arena, "run used %.7s%s, %s", h->used,
                                  h->is_dirty && strcmp(h->dirty_from, "HEAD") != 0 ? " + dirty" : "",
                                  history_use_name(h->use))
                   : NULL;
}

static int add_healthy(struct view *view, const struct config_history *h, struct error *err)
{
    const struct state *state = view->state;
    struct history_healthy healthy;
    struct buf text;

    if (!history_last_healthy(h, state->runs, state->n_runs, view->desk->run_id, view->arena, &healthy))
        return error_set(err, E_NOMEM, "the last healthy run");
    if (healthy.at < 0) {
        if (state->n_runs > 1 && history_run_broke(state->runs, state->n_runs, view->desk->run_id))
            add_text(view, h, -1, STYLE_DIM, "no run under this commit or an older one was healthy");
        return OK;
    }
    buf_init(&text, 4096);
    history_healthy_text(&text, h, &healthy);
    add_text(view, h, healthy.at, STYLE_STRONG, arena_strdup(view->arena, text.p));
    buf_free(&text);
    for (size_t i = 0; i < healthy.n_changes; i++)
        add_change(view, h, -1, "  ", &healthy.changes[i]);
    if (healthy.is_rough)
        add_text(view, h, -1, STYLE_DIM, "  on more than one branch, or by lines: see each commit");
    return OK;
}

/* What one looks here for stands first: the commit of the run, and what changed since all was well. */
static int add_answer(struct view *view, const struct config_history *h, struct error *err)
{
    struct state *state = view->state;

    state->heading = make_heading(view, h);
    add_text(view, h, h->used_at, h->used ? STYLE_STRONG : STYLE_UNKNOWN,
             state->heading ? state->heading : "which commit the run used is not known");
    if (h->because)
        add_text(view, h, h->used_at, STYLE_DIM, arena_printf(view->arena, "  %s", h->because));
    return add_healthy(view, h, err);
}

static int load(struct view *view, struct error *err)
{
    struct state *state = view->state;
    const struct run_facts *facts = view->desk->facts;
    size_t n = 0;
    const struct config_history *const *list = facts ? facts_histories(facts, &n) : NULL;
    int rc = OK;

    state->table.columns = COLUMNS;
    state->table.n_columns = 2;
    state->table.cell = cell;
    state->table.context = state;
    state->table.sorted_by = -1;
    state->table.n_rows = state->capacity = state->n_runs = 0;
    state->items = NULL;
    state->heading = NULL;
    state->said[0] = '\0';
    state->first = facts ? facts_history(facts) : NULL;
    if (state->first && view->desk->store)
        rc = config_history_runs(view->desk->store, state->first, view->arena, &state->runs,
                                 &state->n_runs, err);
    if (rc == OK && state->first)
        rc = add_answer(view, state->first, err);
    for (size_t i = 0; rc == OK && i < n; i++)
        add_history(view, list[i], n > 1);
    if (rc == OK && arena_failed(view->arena))
        rc = error_set(err, E_NOMEM, "%zu lines of history", state->table.n_rows);
    if (rc != OK)
        state->table.n_rows = 0;
    table_go(&state->table, state->table.selected, view->rows > 1 ? view->rows : 2);
    return rc;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;
    struct table table = state->table;

    if (!view->desk->facts || table.n_rows == 0) {
        canvas_puts(canvas, 0, 0, STYLE_UNKNOWN,
                    view->desk->facts ? "no git repository around the configuration,"
                                      : "no run chosen");
        if (view->desk->facts)
            canvas_puts(canvas, 1, 0, STYLE_UNKNOWN, "and no bundle beside the run");
        return;
    }
    table.match = view->desk->search;
    table_draw(&table, canvas, view->has_focus);
}

static const struct item *selected(const struct state *state)
{
    return state->table.selected < state->table.n_rows ? &state->items[state->table.selected] : NULL;
}

static void go_to_commit(struct view *view, int by)
{
    struct state *state = view->state;
    ptrdiff_t i = (ptrdiff_t)state->table.selected;

    do
        i += by;
    while (i >= 0 && i < (ptrdiff_t)state->table.n_rows && !state->items[i].is_head);
    if (i >= 0 && i < (ptrdiff_t)state->table.n_rows)
        table_go(&state->table, (size_t)i, view->rows);
}

/* The other run of the two that the commit parts stands beside this one on the curves. */
static void set_beside(struct desk *desk, const struct history_effect *effect)
{
    const struct history_run *beside = effect->kind == HISTORY_EFFECT_OTHER ? effect->with
                                       : effect->kind == HISTORY_EFFECT_HERE ? effect->before
                                                                             : NULL;

    if (beside && beside->run.id != desk->run_id && beside->run.id != desk->baseline_id) {
        desk->baseline_id = beside->run.id;
        desk->changed |= DESK_BASELINE;
    }
}

static void say_effect(struct state *state, const char *commit, const struct history_effect *effect)
{
    size_t n = sizeof state->said;

    switch (effect->kind) {
    case HISTORY_EFFECT_UNKNOWN:
        snprintf(state->said, n, "no run is known that was made under or after %.7s", commit);
        break;
    case HISTORY_EFFECT_RESUMED:
        snprintf(state->said, n, "%.7s took effect at step %lld, where this run was resumed", commit,
                 (long long)effect->step);
        break;
    case HISTORY_EFFECT_HERE:
        snprintf(state->said, n, "%.7s took effect here%s%.60s", commit,
                 effect->before ? "; before: " : "", effect->before ? effect->before->run.name : "");
        break;
    case HISTORY_EFFECT_OTHER:
        snprintf(state->said, n, "%.7s took effect with %.60s, beside", commit,
                 effect->with->run.name);
        break;
    }
}

/* Where it took effect stands on the curves: a mark on the rail and the cursor, or the run it began with. */
static void mark_effect(struct view *view)
{
    struct state *state = view->state;
    const struct item *item = selected(state);
    struct desk *desk = view->desk;

    if (!item || item->revision < 0 || item->history != state->first) {
        snprintf(state->said, sizeof state->said, "no commit stands here; n goes to the next one");
        return;
    }
    const char *commit = item->history->revisions[item->revision].commit;
    const struct history_effect effect =
        history_effect_of(item->history, state->runs, state->n_runs, desk->facts, item->revision);
    say_effect(state, commit, &effect);
    snprintf(desk->effect_said, sizeof desk->effect_said, "%s", state->said);
    desk->has_effect_step = effect.step != NONE;
    desk->effect_step = effect.step;
    /* At its first step a run has little to show: the cursor stays where the fault is. */
    if (effect.kind == HISTORY_EFFECT_RESUMED)
        desk_choose_step(desk, effect.step);
    desk->changed |= DESK_EFFECT;
    set_beside(desk, &effect);
    if (effect.kind != HISTORY_EFFECT_UNKNOWN)
        desk->open_view = "curves";
    desk->open_stays = true;
}

static bool act(struct view *view, int action)
{
    struct state *state = view->state;

    if (motion_table(&state->table, action, view->rows)) {
        state->said[0] = '\0';
        return true;
    }
    switch (action) {
    case ACT_LEFT:
    case ACT_RIGHT:
        table_scroll(&state->table, action == ACT_LEFT ? -8 : 8);
        return true;
    case ACT_NEXT:
    case ACT_PREVIOUS:
        go_to_commit(view, action == ACT_NEXT ? 1 : -1);
        return true;
    case ACT_MARK:
        mark_effect(view);
        return true;
    default:
        return false;
    }
}

static size_t n_lines(const struct view *view)
{
    const struct state *state = view->state;
    return state->table.n_rows;
}

static struct str line(const struct view *view, size_t i)
{
    const struct state *state = view->state;
    return str_of(i < state->table.n_rows ? state->items[i].text : "");
}

static void status(const struct view *view, struct buf *out)
{
    const struct state *state = view->state;
    const struct item *item = selected(state);

    if (state->said[0]) {
        buf_puts(out, state->said);
        return;
    }
    if (!item || item->revision < 0)
        return;
    const struct revision *r = &item->history->revisions[item->revision];
    buf_printf(out, "%s  ", r->commit);
    history_time_text(out, r->author_time, r->author_offset);
    buf_printf(out, "  %s  %s", r->author ? r->author : "", r->path);
}

static const char *heading(const struct view *view)
{
    const struct state *state = view->state;
    return state->heading;
}

const struct view_ops view_history = {
    .id = "history",
    .title = "config history",
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
    .status = status,
    .heading = heading,
    .depends_on = DESK_RUN,
};
