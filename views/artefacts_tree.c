/* The tree of the artefacts pane: a line a file or record, in the order base, trained, evaluated, merged,
 * served; under it the link that leads to it, the layers an adapter covers, and its norms. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/facts/measure.h"
#include "views/artefacts_parts.h"

enum { ROLE, FILE_NAME, HASH, STEP, WHAT };

#define HASH_DIGITS   10
#define LAYERS_A_LINE 40

static const double NO_KEY = NAN;

static struct artefact_row *add(struct artefact_rows *rows)
{
    struct artefact_row *row = &rows->items[rows->n++];

    *row = (struct artefact_row){0};
    for (int i = 0; i < ARTEFACT_COLUMNS; i++) {
        row->cells[i] = "";
        row->style[i] = STYLE_TEXT;
        row->keys[i] = NO_KEY;
    }
    return row;
}

/* ---- A file or a record ---- */

static const char *what_of(const struct view *view, const struct lineage_node *node)
{
    const char *form = node->form == FORM_UNKNOWN ? "" : lineage_form_name(node->form);
    const char *quantisation = node->quantisation ? node->quantisation : "";
    const char *base = node->base ? arena_printf(view->arena, "of %s", node->base) : "";

    return arena_printf(view->arena, "%s%s%s%s%s%s", form, *form && *quantisation ? ", " : "",
                        quantisation, (*form || *quantisation) && *base ? ", " : "", base,
                        node->is_record && !node->artefact ? " (said, not here)" : "");
}

static void add_node(const struct view *view, struct artefact_rows *rows,
                     const struct lineage_node *node)
{
    struct artefact_row *row = add(rows);
    const char *file = facts_file_name(view->desk->facts, node->source_id);

    row->cells[ROLE] = lineage_role_name(node->role);
    row->style[ROLE] = STYLE_STRONG;
    row->cells[FILE_NAME] = node->name && node->name[0] ? node->name
                            : node->line != NONE
                                ? arena_printf(view->arena, "%s:%lld", file, (long long)node->line)
                                : file;
    row->cells[HASH] = node->sha256 ? arena_strndup(view->arena, node->sha256,
                                                    strnlen(node->sha256, HASH_DIGITS))
                                    : "-";
    if (node->step != NONE)
        row->cells[STEP] = arena_printf(view->arena, "%lld", (long long)node->step);
    row->cells[WHAT] = what_of(view, node);
    row->style[WHAT] = STYLE_DIM;
    row->artefact = node->artefact;
}

/* ---- Links ---- */

static void add_link(const struct view *view, struct artefact_rows *rows,
                     const struct lineage *lineage, const struct lineage_link *link)
{
    static const struct {
        const char *word;
        enum style_role style;
    } STATES[] = {
        [LINK_SAME] = {"same", STYLE_PASS},
        [LINK_LIKELY] = {"likely", STYLE_TEXT},
        [LINK_UNKNOWN] = {"?", STYLE_DIM},
        [LINK_BROKEN] = {"BROKEN", STYLE_FAIL},
    };
    const struct lineage_node *from = &lineage->nodes[link->from];
    struct artefact_row *row = add(rows);

    row->cells[ROLE] = arena_printf(view->arena, "  %s", STATES[link->state].word);
    row->style[ROLE] = STATES[link->state].style;
    row->cells[FILE_NAME] = arena_printf(view->arena, "as %s: %s", lineage_role_name(from->role),
                                         link->why ? link->why : "");
    row->style[FILE_NAME] = link->state == LINK_BROKEN ? STYLE_FAIL : STYLE_DIM;
}

/* The link to a node that matters most; the others say the same of more records. */
static const struct lineage_link *link_to(const struct lineage *lineage, size_t node)
{
    static const int RANK[] = {
        [LINK_BROKEN] = 3, [LINK_SAME] = 2, [LINK_LIKELY] = 1, [LINK_UNKNOWN] = 0};
    const struct lineage_link *best = NULL;

    for (size_t i = 0; i < lineage->n_links; i++)
        if (lineage->links[i].to == node &&
            (!best || RANK[lineage->links[i].state] > RANK[best->state]))
            best = &lineage->links[i];
    return best;
}

/* ---- What an adapter holds ---- */

static void add_layers(const struct view *view, struct artefact_rows *rows,
                       const struct adapter_facts *adapter)
{
    const char *on = view->desk->ascii ? "#" : "\xe2\x96\xa0", *off = view->desk->ascii ? "." : "\xc2\xb7";

    for (int64_t first = 0; first < adapter->n_layers; first += LAYERS_A_LINE) {
        struct artefact_row *row = add(rows);
        struct buf marks;

        buf_init(&marks, 1024);
        for (int64_t i = first; i < adapter->n_layers && i < first + LAYERS_A_LINE; i++)
            buf_puts(&marks, adapter->layers[i] ? on : off);
        row->cells[ROLE] = first == 0 ? "  layers" : "";
        row->style[ROLE] = STYLE_DIM;
        row->cells[FILE_NAME] = arena_strdup(view->arena, marks.p ? marks.p : "");
        if (first == 0) {
            row->cells[WHAT] = arena_printf(view->arena, "%lld of %lld adapted",
                                            (long long)adapter->n_covered, (long long)adapter->n_layers);
            row->style[WHAT] = adapter->n_covered < adapter->n_layers ? STYLE_WARN : STYLE_DIM;
        }
        buf_free(&marks);
    }
}

/* Smallest and greatest norm of the pairs' change, and what is wrong with the tensors. */
static void add_pairs(const struct view *view, struct artefact_rows *rows,
                      const struct adapter_facts *adapter)
{
    double low = INFINITY, high = 0;
    size_t n_zero = 0, n_known = 0;
    struct artefact_row *row;

    for (size_t i = 0; i < adapter->n_pairs; i++) {
        const struct lora_pair *pair = &adapter->pairs[i];

        n_zero += pair->b && pair->b->norm == 0.0;
        if (isnan(pair->delta_norm))
            continue;
        n_known++;
        low = fmin(low, pair->delta_norm);
        high = fmax(high, pair->delta_norm);
    }
    row = add(rows);
    row->cells[ROLE] = "  tensors";
    row->style[ROLE] = STYLE_DIM;
    row->cells[FILE_NAME] = arena_printf(
        view->arena, "%zu, %zu pairs%s%s%s", adapter->n_tensors, adapter->n_pairs,
        n_zero ? arena_printf(view->arena, ", lora_B zero in %zu", n_zero) : "",
        adapter->n_unmatched
            ? arena_printf(view->arena, ", %zu fit no module of the base", adapter->n_unmatched)
            : "",
        adapter->n_empty ? arena_printf(view->arena, ", %zu empty", adapter->n_empty) : "");
    row->style[FILE_NAME] = n_zero || adapter->n_unmatched || adapter->n_empty ? STYLE_WARN : STYLE_DIM;
    if (n_known)
        row->cells[WHAT] = arena_printf(view->arena, "change per module %.3g to %.3g", low, high);
    row->style[WHAT] = STYLE_DIM;
}

static void add_adapter(const struct view *view, struct artefact_rows *rows,
                        const struct artefact *artefact)
{
    struct adapter_facts adapter;

    if (!artefact || strcmp(artefact->kind, "adapter") != 0 ||
        !adapter_facts_read(view->desk->facts, artefact, view->arena, &adapter))
        return;
    add_pairs(view, rows, &adapter);
    if (adapter.n_layers > 0 && adapter.layers)
        add_layers(view, rows, &adapter);
}

/* ---- All of it ---- */

static size_t most_rows(const struct lineage *lineage)
{
    /* a node, its link, its tensors, and layers of the deepest model there is */
    return lineage->n_nodes * (3 + 2048 / LAYERS_A_LINE) + 2;
}

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

static void add_unmeasured(const struct view *view, struct artefact_rows *rows)
{
    struct unmeasured what;
    struct artefact_row *row;

    facts_unmeasured(view->desk->facts, &what);
    if (what.n == 0)
        return;
    row = add(rows);
    row->cells[ROLE] = "not read";
    row->style[ROLE] = STYLE_DIM;
    row->cells[FILE_NAME] = arena_printf(view->arena, "values or hash of %zu files, %.1f GiB; M reads them",
                                         what.n, (double)what.bytes / (1 << 30));
    row->style[FILE_NAME] = STYLE_DIM;
}

bool artefacts_tree(const struct view *view, struct artefact_rows *out)
{
    static const struct table_column COLUMNS[] = {
        {"", false, 10}, {"file or record", false, 0}, {"sha256", false, 12},
        {"step", true, 9}, {"", false, 0}};
    const struct lineage *lineage = facts_lineage(view->desk->facts);

    out->items = lineage ? arena_array(view->arena, most_rows(lineage), sizeof *out->items) : NULL;
    if (!out->items)
        return false;
    memcpy(out->columns, COLUMNS, sizeof COLUMNS);
    out->n_columns = sizeof COLUMNS / sizeof *COLUMNS;
    for (size_t i = 0; i < lineage->n_nodes; i++) {
        const struct lineage_node *node = &lineage->nodes[i];
        const struct lineage_link *link = link_to(lineage, i);

        add_node(view, out, node);
        if (link)
            add_link(view, out, lineage, link);
        if (node->role != LINEAGE_BASE && !node->is_record)
            add_adapter(view, out, node->artefact);
    }
    add_unmeasured(view, out);
    make_heading(view, lineage, out);
    return true;
}
