/* The user's findings and remarks, and the program's findings: what an export will hold. */
#include "views/registry.h"
#include "views/scroll.h"
#include "views/verdict_words.h"

enum { ACT_OPEN, ACT_LEFT, ACT_RIGHT };

static const struct action ACTIONS[] = {
    {ACT_OPEN, "open", "Enter", "open its evidence"},
    MOTION_ACTIONS,
    {ACT_LEFT, "left", "Left", "scroll to the left"},
    {ACT_RIGHT, "right", "Right", "scroll to the right"},
    {0, NULL, NULL, NULL},
};

static const struct table_column COLUMNS[] = {
    {"", false, 0}, {"check", false, 26}, {"finding", false, 0}, {"by", false, 0}};

struct item {
    const char *who, *check_id, *text;
    enum verdict verdict;
    const char *word;           /* of the verdict, or what else it is */
    bool is_quiet;              /* dismissed, or a consequence of another */
};

struct state {
    struct table table;         /* first: table_view_… */
    const struct item *items;
    size_t n_items;
};

static struct str cell(const void *context, size_t row, size_t column, enum style_role *style)
{
    const struct item *item = &((const struct state *)context)->items[row];

    switch (column) {
    case 0:
        *style = item->is_quiet ? STYLE_DIM : verdict_style(item->verdict);
        return str_of(item->word);
    case 1:
        return str_of(item->check_id ? item->check_id : "");
    case 2:
        *style = item->is_quiet ? STYLE_DIM : STYLE_TEXT;
        return str_of(item->text ? item->text : "");
    default:
        *style = STYLE_DIM;
        return str_of(item->who);
    }
}

static int load(struct view *view, struct error *err)
{
    const struct desk *desk = view->desk;
    struct state *state = view->state;
    size_t n_rows = desk->verdicts ? desk->verdicts->n_rows : 0;
    size_t n_max = desk->n_user_findings + desk->n_remarks + n_rows;
    struct item *items = arena_array(view->arena, n_max + 1, sizeof *items);
    size_t n = 0;

    if (!items)
        return error_set(err, E_NOMEM, "list of findings");
    for (size_t i = 0; i < desk->n_user_findings; i++) {
        const struct user_finding *finding = &desk->user_findings[i];
        enum verdict verdict = VERDICT_WARN;

        if (finding->verdict)
            (void)verdict_parse(finding->verdict, &verdict);
        items[n++] = (struct item){finding->exported ? "you, exported" : "you", finding->check_id,
                                   finding->sentence, verdict, "yours", false};
    }
    for (size_t i = 0; i < desk->n_remarks; i++)
        items[n++] = (struct item){"you", desk->remarks[i].check_id, desk->remarks[i].text,
                                   VERDICT_NOT_APPLICABLE, "note", false};
    for (size_t i = 0; i < n_rows; i++) {
        const struct verdict_row *row = &desk->verdicts->rows[i];

        if (row->dismissed)
            items[n++] = (struct item){"you: not a problem", row->check->id, row->dismissed,
                                       row->result.verdict, "off", true};
        else if (row->result.verdict >= VERDICT_WARN)
            items[n++] = (struct item){row->explained_by ? "follows from another"
                                                         : "flatline",
                                       row->check->id, row->result.finding, row->result.verdict,
                                       verdict_word(row->result.verdict), row->explained_by};
    }
    state->items = items;
    state->n_items = n;
    state->table.columns = COLUMNS;
    state->table.n_columns = sizeof COLUMNS / sizeof COLUMNS[0];
    state->table.n_rows = n;
    state->table.cell = cell;
    state->table.context = state;
    state->table.match = desk->search;
    state->table.sorted_by = -1;
    if (state->table.selected >= n)
        state->table.selected = n ? n - 1 : 0;
    return OK;
}

static void draw(const struct view *view, struct canvas *canvas)
{
    const struct state *state = view->state;

    if (state->n_items == 0)
        canvas_puts(canvas, 0, 0, STYLE_DIM, "no findings yet; f makes one from the evidence");
    else
        table_draw(&state->table, canvas, view->has_focus);
}

static void open_item(struct view *view)
{
    const struct state *state = view->state;
    const struct verdicts *verdicts = view->desk->verdicts;
    const char *id = state->n_items ? state->items[state->table.selected].check_id : NULL;

    for (size_t i = 0; id && verdicts && i < verdicts->n_rows; i++)
        if (str_is(str_of(id), verdicts->rows[i].check->id)) {
            desk_choose_check(view->desk, (ptrdiff_t)i);
            view->desk->open_view = "evidence";
        }
}

static bool act(struct view *view, int action)
{
    struct state *state = view->state;

    if (motion_table(&state->table, action, view->rows))
        return true;
    switch (action) {
    case ACT_OPEN:
        open_item(view);
        return true;
    case ACT_LEFT:
        table_scroll(&state->table, -8);
        return true;
    case ACT_RIGHT:
        table_scroll(&state->table, 8);
        return true;
    default:
        return false;
    }
}

static size_t n_lines(const struct view *view)
{
    return ((const struct state *)view->state)->n_items;
}

static struct str line_text(const struct view *view, size_t i)
{
    const struct item *item = &((const struct state *)view->state)->items[i];

    return str_of(arena_printf(view->arena, "%s %s", item->check_id ? item->check_id : "",
                               item->text ? item->text : ""));
}

const struct view_ops view_findings = {
    .id = "findings",
    .title = "findings",
    .state_size = sizeof(struct state),
    .actions = ACTIONS,
    .load = load,
    .draw = draw,
    .act = act,
    .n_lines = n_lines,
    .line = line_text,
    .go = table_view_go,
    .at = table_view_at,
    .position = table_view_position,
    .depends_on = DESK_RUN | DESK_CHECK,
};
