/* Rows of a Parquet file by columns, from the same pages as parquet_rows.c, which goes on where this
 * cannot. See table_columns.h. */
#include "core/read/parquet_parts.h"

/* A whole number that 63 bits hold. */
static bool is_int(const struct value_type *type)
{
    return type->kind == VALUE_INT || (type->kind == VALUE_UINT && type->bits <= 32);
}

bool parquet_column_fits(const struct parquet_footer *footer, const struct node *node,
                         enum table_column_kind *kind)
{
    const struct leaf_type *type = &footer->leaves[node->leaf];

    if (node->kind == NODE_LEAF && type->max_rep == 0) {
        *kind = is_int(&type->value) ? COLUMN_INTS : COLUMN_FLOATS;
        return is_int(&type->value) || type->value.kind == VALUE_FLOAT;
    }
    *kind = COLUMN_INT_LISTS;
    return node->kind == NODE_LIST && node->child->kind == NODE_LEAF && type->max_rep == 1 &&
           is_int(&type->value);
}

static int64_t mask_of(const struct value_type *type)
{
    return type->kind == VALUE_UINT ? (int64_t)(UINT64_MAX >> (64 - type->bits)) : -1;
}

/* ---- Flat columns ---- */

static void take_ints(struct table_column *out, size_t at, const struct leaf *leaf, size_t n)
{
    const union table_value *from = leaf->value + leaf->at_value;
    int64_t mask = mask_of(&leaf->type->value);

    for (size_t i = 0; i < n; i++)
        out->ints[at + i] = from[i].i & mask;
}

static void take_floats(struct table_column *out, size_t at, const struct leaf *leaf, size_t n)
{
    const union table_value *from = leaf->value + leaf->at_value;

    for (size_t i = 0; i < n; i++)
        out->floats[at + i] = from[i].d;
}

/* Values where some are missing, one at a time. */
static void take_with_gaps(struct table_column *out, size_t at, struct leaf *leaf, size_t n)
{
    if (!out->has_nulls)
        memset(out->is_there, 1, at);
    out->has_nulls = true;
    for (size_t i = 0; i < n; i++) {
        bool is_there = leaf->def[leaf->at_level + i] == leaf->type->max_def;

        out->is_there[at + i] = is_there;
        if (!is_there)
            continue;
        if (out->kind == COLUMN_INTS)
            take_ints(out, at + i, leaf, 1);
        else
            take_floats(out, at + i, leaf, 1);
        leaf->at_value++;
    }
}

/* Of a batch of levels, n of them. */
static void take_flat(struct table_column *out, size_t at, struct leaf *leaf, size_t n)
{
    if (leaf->n_missing || out->has_nulls) {
        take_with_gaps(out, at, leaf, n);
    } else {
        if (out->kind == COLUMN_INTS)
            take_ints(out, at, leaf, n);
        else
            take_floats(out, at, leaf, n);
        leaf->at_value += n;
    }
    leaf->at_level += n;
}

static size_t fill_flat(struct table_column *out, struct leaf *leaf, size_t n_rows,
                        struct error *err)
{
    size_t at = 0;

    while (at < n_rows && leaf_fill(leaf, err) == 1) {
        size_t n = leaf->n_batch - leaf->at_level;

        n = n < n_rows - at ? n : n_rows - at;
        take_flat(out, at, leaf, n);
        at += n;
    }
    return at;
}

/* ---- Lists ---- */

/* How many levels from the one at hand on are items of the same list. */
static size_t count_items(const struct leaf *leaf, size_t at)
{
    size_t from = at;

    while (at < leaf->n_batch && leaf->rep[at] != 0)
        at++;
    return at - from;
}

static bool take_items(struct table_column *out, struct leaf *leaf, size_t n)
{
    if (leaf->n_missing)
        for (size_t i = 0; i < n; i++)
            if (leaf->def[leaf->at_level + i] != leaf->type->max_def)
                return false;
    if (!table_column_room(out, out->n_items + n))
        return false;
    take_ints(out, out->n_items, leaf, n);
    out->n_items += n;
    leaf->at_level += n;
    leaf->at_value += n;
    return true;
}

/* One list, at its first level. False: only the way by rows can read it, or tell what is wrong. */
static bool take_list(struct table_column *out, size_t row, const struct node *node,
                      struct leaf *leaf, struct error *err)
{
    unsigned def = leaf->def[leaf->at_level];

    if (leaf->rep[leaf->at_level] != 0)
        return false;
    if (out->has_nulls || def < node->def) {
        if (!out->has_nulls)
            memset(out->is_there, 1, row);
        out->has_nulls = true;
        out->is_there[row] = def >= node->def;
    }
    if (def < node->item_def)
        leaf->at_level++;
    else if (!take_items(out, leaf, 1 + count_items(leaf, leaf->at_level + 1)))
        return false;
    while (def >= node->item_def && leaf->at_level == leaf->n_batch) {
        int rc = leaf_fill(leaf, err);
        size_t n = rc == 1 ? count_items(leaf, leaf->at_level) : 0;

        if (rc < 0)
            return false;
        if (n == 0)
            break;
        if (!take_items(out, leaf, n))
            return false;
    }
    out->ends[row] = out->n_items;
    return true;
}

static size_t fill_lists(struct table_column *out, const struct node *node, struct leaf *leaf,
                         const struct column_limits *limits, struct error *err)
{
    size_t row = 0;

    while (row < limits->rows && out->n_items < limits->items && leaf_fill(leaf, err) == 1 &&
           take_list(out, row, node, leaf, err))
        row++;
    return row;
}

/* ---- All ---- */

size_t parquet_column_fill(struct table_column *out, const struct node *node, struct leaf *leaf,
                           const struct column_limits *limits, struct error *err)
{
    out->has_nulls = false;
    out->n_items = 0;
    if (out->kind == COLUMN_INT_LISTS)
        return fill_lists(out, node, leaf, limits, err);
    return fill_flat(out, leaf, limits->rows, err);
}
