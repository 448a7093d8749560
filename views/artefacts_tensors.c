/* The tensors of one file in the artefacts pane. */
#include <math.h>
#include <string.h>

#include "views/artefacts_parts.h"

enum { NORM, CHANGE, ZEROS, SHAPE, DTYPE, NAME };

static const char PREFIX[] = "base_model.model.";
static const double PERCENT = 100.0;

const char *tensor_filter_name(enum tensor_filter filter)
{
    static const char *const NAMES[N_TENSOR_FILTERS] = {
        [TENSORS_ALL] = "all",
        [TENSORS_ODD] = "not finite or empty",
        [TENSORS_ZERO] = "all zero",
        [TENSORS_UNMATCHED] = "fits no module of the base",
    };

    return NAMES[filter];
}

static const struct lora_pair *pair_of(const struct adapter_facts *adapter, const struct tensor *tensor)
{
    for (size_t i = 0; i < adapter->n_pairs; i++)
        if (adapter->pairs[i].b == tensor || adapter->pairs[i].a == tensor)
            return &adapter->pairs[i];
    return NULL;
}

static bool is_shown(const struct tensor *tensor, const struct lora_pair *pair,
                     enum tensor_filter filter)
{
    switch (filter) {
    case TENSORS_ODD:
        return tensor->n_nonfinite > 0 || tensor->n_values == 0;
    case TENSORS_ZERO:
        return tensor->n_values > 0 && tensor->n_nonzero == 0;
    case TENSORS_UNMATCHED:
        return pair && !pair->matches_base;
    case TENSORS_ALL:
    case N_TENSOR_FILTERS:
        break;
    }
    return true;
}

static void fill(const struct view *view, const struct tensor *tensor, const struct lora_pair *pair,
                 struct artefact_row *row)
{
    struct arena *arena = view->arena;

    for (int i = 0; i < ARTEFACT_COLUMNS; i++) {
        row->cells[i] = "";
        row->style[i] = STYLE_TEXT;
        row->keys[i] = NAN;
    }
    /* What PEFT puts before every name says nothing. */
    row->cells[NAME] = strncmp(tensor->name, PREFIX, sizeof PREFIX - 1) == 0
                           ? tensor->name + sizeof PREFIX - 1
                           : tensor->name;
    row->style[NAME] = pair && !pair->matches_base ? STYLE_WARN : STYLE_TEXT;
    row->cells[SHAPE] = tensor->shape ? tensor->shape : "";
    row->keys[SHAPE] = (double)tensor->n_values;
    row->cells[DTYPE] = tensor->dtype ? tensor->dtype : "";
    if (!isnan(tensor->norm)) {
        row->cells[NORM] = arena_printf(arena, "%.4g", tensor->norm);
        row->keys[NORM] = tensor->norm;
        row->style[NORM] = tensor->norm == 0.0 ? STYLE_WARN : STYLE_TEXT;
    }
    if (pair && pair->b == tensor && !isnan(pair->delta_norm)) {
        row->cells[CHANGE] = arena_printf(arena, "%.4g", pair->delta_norm);
        row->keys[CHANGE] = pair->delta_norm;
    }
    if (tensor->n_nonfinite > 0) {
        row->cells[ZEROS] = arena_printf(arena, "%lld not finite", (long long)tensor->n_nonfinite);
        row->style[ZEROS] = STYLE_FAIL;
    } else if (tensor->n_nonzero != NONE && tensor->n_values > 0) {
        double share = 1.0 - (double)tensor->n_nonzero / (double)tensor->n_values;

        row->cells[ZEROS] = arena_printf(arena, "%.3g %%", PERCENT * share);
        row->keys[ZEROS] = share;
    } else if (tensor->n_values == 0) {
        row->cells[ZEROS] = "empty";
        row->style[ZEROS] = STYLE_FAIL;
    }
}

bool artefacts_tensors(const struct view *view, const struct artefact *artefact,
                       enum tensor_filter filter, struct artefact_rows *out)
{
    static const struct table_column COLUMNS[] = {
        {"norm", true, 10},  {"change", true, 10}, {"zeros", true, 16},
        {"shape", true, 16}, {"dtype", false, 10}, {"tensor", false, 0}};
    struct adapter_facts adapter = {0};
    const struct tensor *tensors;
    size_t n = 0;

    tensors = facts_tensors(view->desk->facts, artefact, &n);
    out->items = arena_array(view->arena, n + 1, sizeof *out->items);
    if (!out->items)
        return false;
    memcpy(out->columns, COLUMNS, sizeof COLUMNS);
    out->n_columns = sizeof COLUMNS / sizeof *COLUMNS;
    (void)adapter_facts_read(view->desk->facts, artefact, view->arena, &adapter);
    for (size_t i = 0; i < n; i++) {
        const struct lora_pair *pair = pair_of(&adapter, &tensors[i]);

        if (is_shown(&tensors[i], pair, filter))
            fill(view, &tensors[i], pair, &out->items[out->n++]);
    }
    const char *slash = artefact->path ? strrchr(artefact->path, '/') : NULL;
    out->heading = arena_printf(view->arena, "%s, %zu of %zu tensors%s%s",
                                slash ? slash + 1 : artefact->path ? artefact->path : artefact->kind,
                                out->n, n, filter == TENSORS_ALL ? "" : ": ",
                                filter == TENSORS_ALL ? "" : tensor_filter_name(filter));
    return true;
}
