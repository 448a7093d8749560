/* The tree of the artefacts pane: a paragraph a file or record, in the order base, trained, evaluated,
 * merged, served; under it the link that leads to it, what an adapter holds, the layers it covers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/facts/measure.h"
#include "views/artefacts_parts.h"

enum { ROLE, SAID };

#define HASH_DIGITS  12
#define ROLE_CELLS   11     /* of the first column, with the blank behind it */
#define FEWEST_CELLS 24     /* a narrower text is not wrapped but cut */

struct tree {
    const struct view *view;
    const struct lineage *lineage;
    struct artefact_rows *rows;
    size_t capacity;
};

/* The rows are counted before they are made: what is beyond them is not shown. */
static void add(struct tree *tree, const char *role, enum style_role role_style,
                enum style_role style, const char *text, const struct artefact *artefact)
{
    struct artefact_row *row = &tree->rows->items[tree->rows->n];

    if (tree->rows->n == tree->capacity)
        return;
    tree->rows->n++;
    *row = (struct artefact_row){.artefact = artefact};
    for (int i = 0; i < ARTEFACT_COLUMNS; i++) {
        row->cells[i] = "";
        row->style[i] = STYLE_TEXT;
        row->keys[i] = NAN;
    }
    row->cells[ROLE] = role;
    row->style[ROLE] = role_style;
    row->cells[SAID] = text;
    row->style[SAID] = style;
}

/* A sentence over as many rows as it takes. */
static void add_wrapped(struct tree *tree, const char *role, enum style_role role_style,
                        enum style_role style, const char *text)
{
    const struct view *view = tree->view;
    int width = view->columns - ROLE_CELLS;
    struct str rest = str_of(text);

    while (view->canvas && width >= FEWEST_CELLS && canvas_width(view->canvas, rest) > width) {
        struct str part = canvas_cut(view->canvas, rest, width);
        size_t n = part.n;

        while (n > 0 && part.p[n - 1] != ' ')
            n--;
        n = n ? n : part.n;
        if (n == 0)
            break;
        add(tree, role, role_style, style, arena_strndup(view->arena, rest.p, n), NULL);
        role = "";
        rest = str_skip(rest, n);
    }
    add(tree, role, role_style, style, arena_strndup(view->arena, rest.p, rest.n), NULL);
}

/* ---- A file or a record ---- */

/* "7236126675  step 260  an adapter, of base" */
static const char *details_of(const struct tree *tree, const struct lineage_node *node)
{
    struct arena *arena = tree->view->arena;
    struct buf text;

    buf_init(&text, 4096);
    if (node->sha256)
        buf_printf(&text, "  %.*s", HASH_DIGITS, node->sha256);
    if (node->step != NONE)
        buf_printf(&text, "  step %lld", (long long)node->step);
    if (node->form != FORM_UNKNOWN)
        buf_printf(&text, "  %s", lineage_form_name(node->form));
    if (node->quantisation)
        buf_printf(&text, "  %s", node->quantisation);
    if (node->base)
        buf_printf(&text, "  of %s", node->base);
    if (node->is_record && !node->artefact)
        buf_puts(&text, "  (not here)");
    const char *copy = arena_strdup(arena, text.n > 2 ? text.p + 2 : "");
    buf_free(&text);
    return copy;
}

static const char *name_of(const struct tree *tree, const struct lineage_node *node)
{
    const char *file = facts_file_name(tree->view->desk->facts, node->source_id);

    if (node->name && node->name[0])
        return node->name;
    return node->line != NONE
               ? arena_printf(tree->view->arena, "%s:%lld", file, (long long)node->line)
               : file;
}

/* Name and details in one row where they fit, else in two. */
static void add_node(struct tree *tree, const struct lineage_node *node)
{
    const struct view *view = tree->view;
    const char *name = name_of(tree, node), *details = details_of(tree, node);
    const char *both = arena_printf(view->arena, "%s  %s", name, details);
    const char *role = lineage_role_name(node->role);

    if (!view->canvas || canvas_width(view->canvas, str_of(both)) <= view->columns - ROLE_CELLS) {
        add(tree, role, STYLE_STRONG, STYLE_TEXT, both, node->artefact);
        return;
    }
    add(tree, role, STYLE_STRONG, STYLE_TEXT, name, node->artefact);
    if (details[0])
        add(tree, "", STYLE_TEXT, STYLE_DIM, details, NULL);
}

/* A record of a file that stands in the list itself. */
static bool is_repeated(const struct tree *tree, const struct lineage_node *node)
{
    for (size_t i = 0; node->is_record && node->artefact && i < tree->lineage->n_nodes; i++) {
        const struct lineage_node *other = &tree->lineage->nodes[i];

        if (other != node && other->role == node->role && other->artefact == node->artefact &&
            !other->is_record)
            return true;
    }
    return false;
}

/* ---- Links ---- */

static const struct {
    const char *word;
    enum style_role style;
    int rank;
} LINKS[] = {
    [LINK_SAME] = {"  same", STYLE_PASS, 2},
    [LINK_LIKELY] = {"  likely", STYLE_TEXT, 1},
    [LINK_UNKNOWN] = {"  ?", STYLE_DIM, 0},
    [LINK_BROKEN] = {"  BROKEN", STYLE_FAIL, 3},
};

/* The link to a node that matters most; the others say the same of more records. That a file names its
 * base is told only where it is the wrong one. */
static const struct lineage_link *link_to(const struct lineage *lineage, size_t node)
{
    const struct lineage_link *best = NULL;

    for (size_t i = 0; i < lineage->n_links; i++) {
        const struct lineage_link *link = &lineage->links[i];

        if (link->to != node || (link->state != LINK_BROKEN &&
                                 lineage->nodes[link->from].role == LINEAGE_BASE))
            continue;
        if (!best || LINKS[link->state].rank > LINKS[best->state].rank)
            best = link;
    }
    return best;
}

static void add_link(struct tree *tree, const struct lineage_link *link)
{
    if (link->state == LINK_BROKEN && !tree->rows->start)
        tree->rows->start = tree->rows->n;
    add_wrapped(tree, LINKS[link->state].word, LINKS[link->state].style,
                link->state == LINK_BROKEN ? STYLE_FAIL : STYLE_DIM,
                arena_printf(tree->view->arena, "as %s: %s",
                             lineage_role_name(tree->lineage->nodes[link->from].role),
                             link->why ? link->why : ""));
}

/* ---- What an adapter holds ---- */

static void add_layers(struct tree *tree, const struct adapter_facts *adapter)
{
    const struct view *view = tree->view;
    const char *on = view->desk->ascii ? "#" : "\xe2\x96\xa0", *off = view->desk->ascii ? "." : "\xc2\xb7";
    int64_t a_line = view->columns - ROLE_CELLS > FEWEST_CELLS ? view->columns - ROLE_CELLS : FEWEST_CELLS;
    bool is_whole = adapter->n_covered == adapter->n_layers;

    for (int64_t first = 0; first < adapter->n_layers; first += a_line) {
        struct buf marks;

        buf_init(&marks, 8192);
        for (int64_t i = first; i < adapter->n_layers && i < first + a_line; i++)
            buf_puts(&marks, adapter->layers[i] ? on : off);
        add(tree, first == 0 ? "  layers" : "", STYLE_DIM, is_whole ? STYLE_DIM : STYLE_WARN,
            arena_strdup(view->arena, marks.p ? marks.p : ""), NULL);
        buf_free(&marks);
    }
    add(tree, "", STYLE_DIM, is_whole ? STYLE_DIM : STYLE_WARN,
        arena_printf(view->arena, "%lld of %lld layers adapted", (long long)adapter->n_covered,
                     (long long)adapter->n_layers),
        NULL);
}

/* What the tensors are, how far they move a module, and what is wrong with them. */
static void add_tensors(struct tree *tree, const struct adapter_facts *adapter, size_t n_zero)
{
    double low = INFINITY, high = 0;
    size_t n_known = 0;
    struct buf text;

    buf_init(&text, 4096);
    for (size_t i = 0; i < adapter->n_pairs; i++) {
        const struct lora_pair *pair = &adapter->pairs[i];

        if (isnan(pair->delta_norm))
            continue;
        n_known++;
        low = fmin(low, pair->delta_norm);
        high = fmax(high, pair->delta_norm);
    }
    buf_printf(&text, "%zu, %zu pairs", adapter->n_tensors, adapter->n_pairs);
    if (n_zero)
        buf_printf(&text, ", lora_B zero in %zu", n_zero);
    if (adapter->n_unmatched)
        buf_printf(&text, ", %zu fit no module of the base", adapter->n_unmatched);
    if (adapter->n_empty)
        buf_printf(&text, ", %zu empty", adapter->n_empty);
    if (n_known)
        buf_printf(&text, ", change of a module %.3g to %.3g", low, high);
    add_wrapped(tree, "  tensors", STYLE_DIM,
                n_zero || adapter->n_unmatched || adapter->n_empty ? STYLE_WARN : STYLE_DIM,
                text.p ? text.p : "");
    buf_free(&text);
}

static size_t zero_pairs(const struct adapter_facts *adapter)
{
    size_t n = 0;

    for (size_t i = 0; i < adapter->n_pairs; i++)
        n += adapter->pairs[i].b && adapter->pairs[i].b->norm == 0.0;
    return n;
}

/* Of checkpoints only what is wrong: they hold what the run's own file holds. */
static void add_adapter(struct tree *tree, const struct artefact *artefact, bool is_first)
{
    const struct view *view = tree->view;
    struct adapter_facts adapter;

    if (!artefact || strcmp(artefact->kind, "adapter") != 0 ||
        !adapter_facts_read(view->desk->facts, artefact, view->arena, &adapter))
        return;
    size_t n_zero = zero_pairs(&adapter);
    bool is_odd = n_zero || adapter.n_unmatched || adapter.n_empty;

    if (is_first || is_odd)
        add_tensors(tree, &adapter, n_zero);
    if (is_first && adapter.n_layers > 0 && adapter.layers)
        add_layers(tree, &adapter);
}

/* ---- All of it ---- */

static void make_heading(const struct view *view, const struct lineage *lineage,
                         struct artefact_rows *out)
{
    for (size_t i = 0; i < lineage->n_links; i++)
        if (lineage->links[i].state == LINK_BROKEN) {
            out->heading = arena_printf(
                view->arena, "%s and %s are not the same",
                lineage_role_name(lineage->nodes[lineage->links[i].from].role),
                lineage_role_name(lineage->nodes[lineage->links[i].to].role));
            return;
        }
}

static void add_unmeasured(struct tree *tree)
{
    struct unmeasured what;

    facts_unmeasured(tree->view->desk->facts, &what);
    if (what.n)
        add_wrapped(tree, "not read", STYLE_DIM, STYLE_DIM,
                    arena_printf(tree->view->arena,
                                 "values or hash of %zu %s, %.1f GiB; M reads them", what.n,
                                 what.n == 1 ? "file" : "files",
                                 (double)what.bytes / (double)(1 << 30)));
}

bool artefacts_tree(const struct view *view, struct artefact_rows *out)
{
    static const struct table_column COLUMNS[] = {{"", false, ROLE_CELLS - 1},
                                                  {"file or record", false, 0}};
    const struct lineage *lineage = facts_lineage(view->desk->facts);
    struct tree tree = {.view = view, .lineage = lineage, .rows = out};
    bool was_trained = false;

    if (!lineage)
        return false;
    /* a node in two rows, its link and tensors wrapped, its layers */
    tree.capacity = lineage->n_nodes * 128 + 16;
    out->items = arena_array(view->arena, tree.capacity + 1, sizeof *out->items);
    if (!out->items)
        return false;
    memcpy(out->columns, COLUMNS, sizeof COLUMNS);
    out->n_columns = sizeof COLUMNS / sizeof *COLUMNS;
    for (size_t i = 0; i < lineage->n_nodes; i++) {
        const struct lineage_node *node = &lineage->nodes[i];
        const struct lineage_link *link = link_to(lineage, i);

        if (is_repeated(&tree, node))
            continue;
        add_node(&tree, node);
        if (link)
            add_link(&tree, link);
        if (node->role == LINEAGE_TRAINED && !node->is_record) {
            add_adapter(&tree, node->artefact, !was_trained);
            was_trained = true;
        } else if (node->role == LINEAGE_SERVED) {
            add_adapter(&tree, node->artefact, false);
        }
    }
    add_unmeasured(&tree);
    make_heading(view, lineage, out);
    return true;
}
