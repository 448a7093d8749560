/* Rows of a Parquet file as JSON objects: the columns of one row group are read side by side, each a
 * page at a time, and every row is put together from their levels. What is damaged costs the rest of
 * its row group. See parquet_parts.h and table.h. */
#include <stdlib.h>

#include "core/read/parquet_parts.h"

#define NO_GROUP SIZE_MAX

struct parquet {
    struct table table; /* first: a table is one of these */
    struct source_file *file;
    struct parquet_footer footer;
    struct leaf *leaves;
    struct chunk *chunks;
    size_t n_memory;
    const struct json *example;
    int64_t row;   /* the next to give */
    size_t group;  /* the one that is open */
    int64_t at;    /* row at which its columns stand */
    bool is_broken; /* the rest of the group cannot be read: `why` */
    struct error why;
    uint64_t stamp; /* of the row that is put together */
    struct table_batch batch; /* of rows by columns; without columns: not made yet */
    bool has_no_batch;        /* a column that is wanted cannot be given as numbers */
    size_t by_rows;           /* the group of which the rest has to be read by rows */
};

/* The row that is put together. */
struct making {
    struct parquet *parquet;
    struct table_row row;
    int rc; /* once it is not OK nothing more is read */
    struct error *err;
    const char *wrong; /* with a value; the columns are read on */
    const struct leaf *wrong_leaf;
};

static bool is_failure(int rc)
{
    return rc == E_NOMEM || rc == E_IO;
}

/* ---- Values by levels ---- */

/* The definition level that is next in a column, at the repetition level that must be there. */
static bool next_level(struct making *making, struct leaf *leaf, unsigned rep, unsigned *def)
{
    if (leaf->at_level == leaf->n_batch) {
        int rc = leaf_fill(leaf, making->err);

        if (rc == 0)
            rc = leaf_error(leaf, E_PARSE, making->err, "it has fewer rows than its group");
        if (rc < 0) {
            making->rc = rc;
            return false;
        }
    }
    *def = leaf->def[leaf->at_level];
    if (leaf->rep[leaf->at_level] != rep) {
        making->rc = leaf_error(leaf, E_PARSE, making->err,
                                "its lists are of another length than those of its neighbours");
        return false;
    }
    return true;
}

static void drop_level(struct leaf *leaf)
{
    leaf->at_value += leaf->def[leaf->at_level] == leaf->type->max_def;
    leaf->at_level++;
}

/* What is not there takes one level in each column below it. */
static void drop_all(struct making *making, const struct node *node, unsigned rep)
{
    unsigned def;

    for (size_t i = 0; i < node->n_leaves; i++) {
        struct leaf *leaf = &making->parquet->leaves[node->leaf + i];

        if (!next_level(making, leaf, rep, &def))
            return;
        drop_level(leaf);
    }
}

static void make(struct making *making, struct node *node, unsigned rep, struct json *out);

static void make_leaf(struct making *making, struct leaf *leaf, unsigned rep, struct json *out)
{
    unsigned def;

    *out = (struct json){.type = JSON_NULL};
    if (!next_level(making, leaf, rep, &def))
        return;
    if (def == leaf->type->max_def) {
        const char *wrong =
            value_json(making->row.arena, &leaf->type->value, leaf->value[leaf->at_value], out);

        leaf->at_value++;
        if (wrong && !making->wrong) {
            making->wrong = wrong;
            making->wrong_leaf = leaf;
        }
    }
    leaf->at_level++;
}

/* `make` writes the whole value; the key and the line come behind it. */
static struct json *add_member(struct making *making, struct json *parent, struct json *last,
                               struct node *node, unsigned rep)
{
    struct json *child = table_row_add(&making->row, parent, last);

    make(making, node, rep, child);
    child->key = table_row_key(&making->row, &node->name);
    child->line = making->row.line;
    return child;
}

static void make_members(struct making *making, struct node *first, unsigned rep, struct json *out)
{
    struct json *last = NULL;

    *out = (struct json){.type = JSON_OBJECT, .line = making->row.line};
    for (struct node *node = first; node && making->rc == OK; node = node->next)
        if (node->is_wanted)
            last = add_member(making, out, last, node, rep);
}

static void make_struct(struct making *making, struct node *node, unsigned rep, struct json *out)
{
    unsigned def;

    *out = (struct json){.type = JSON_NULL};
    if (!next_level(making, &making->parquet->leaves[node->leaf], rep, &def))
        return;
    if (def < node->def)
        drop_all(making, node, rep);
    else
        make_members(making, node->child, rep, out);
}

static bool has_text_keys(const struct parquet *parquet, const struct node *map)
{
    return map->n_children == 2 && map->child->kind == NODE_LEAF &&
           parquet->footer.leaves[map->child->leaf].value.kind == VALUE_TEXT;
}

/* A member named by the entry's key. */
static void make_entry(struct making *making, struct node *map, unsigned rep, struct json *out)
{
    struct json key;

    make(making, map->child, rep, &key);
    if (making->rc == OK)
        make(making, map->child->next, rep, out);
    out->key = key.text.p ? key.text : str_of("");
}

static void make_item(struct making *making, struct node *node, unsigned rep, struct json *out)
{
    if (node->kind == NODE_MAP && has_text_keys(making->parquet, node))
        make_entry(making, node, rep, out);
    else if (node->kind == NODE_MAP && node->n_children == 2)
        make_members(making, node->child, rep, out);
    else
        make(making, node->child, rep, out);
    out->line = making->row.line;
}

/* Is the next level one of another item of this list? */
static bool has_more(struct making *making, const struct node *node)
{
    struct leaf *leaf = &making->parquet->leaves[node->leaf];

    if (making->rc != OK)
        return false;
    if (leaf->at_level == leaf->n_batch) {
        int rc = leaf_fill(leaf, making->err);

        if (rc < 0)
            making->rc = rc;
        if (rc <= 0)
            return false;
    }
    return leaf->rep[leaf->at_level] == node->rep;
}

static void make_list(struct making *making, struct node *node, unsigned rep, struct json *out)
{
    struct json *last = NULL;
    unsigned def;

    *out = (struct json){.type = JSON_NULL};
    if (!next_level(making, &making->parquet->leaves[node->leaf], rep, &def))
        return;
    if (def >= node->def)
        out->type = node->kind == NODE_MAP && has_text_keys(making->parquet, node) ? JSON_OBJECT
                                                                                   : JSON_ARRAY;
    if (def < node->item_def) {
        drop_all(making, node, rep);
        return;
    }
    do {
        last = table_row_add(&making->row, out, last);
        make_item(making, node, rep, last);
        rep = node->rep;
    } while (has_more(making, node));
}

static void make(struct making *making, struct node *node, unsigned rep, struct json *out)
{
    if (node->kind == NODE_LEAF)
        make_leaf(making, &making->parquet->leaves[node->leaf], rep, out);
    else if (node->kind == NODE_STRUCT)
        make_struct(making, node, rep, out);
    else
        make_list(making, node, rep, out);
}

/* ---- Row groups ---- */

static size_t group_of(const struct parquet *parquet, int64_t row)
{
    size_t low = 0, high = parquet->footer.n_groups;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (parquet->footer.groups[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Calls for each leaf of the columns that are wanted. */
static int each_leaf(struct parquet *parquet, int (*take)(struct parquet *, struct leaf *, void *),
                     void *ctx)
{
    int rc = OK;

    for (struct node *node = parquet->footer.columns; node && rc == OK; node = node->next)
        for (size_t i = 0; node->is_wanted && i < node->n_leaves && rc == OK; i++)
            rc = take(parquet, &parquet->leaves[node->leaf + i], ctx);
    return rc;
}

static int open_leaf(struct parquet *parquet, struct leaf *leaf, void *ctx)
{
    return leaf_open(leaf, &parquet->chunks[leaf - parquet->leaves], ctx);
}

struct skipping {
    int64_t n_rows;
    struct error *err;
};

static int skip_leaf(struct parquet *parquet, struct leaf *leaf, void *ctx)
{
    struct skipping *skipping = ctx;

    (void)parquet;
    return leaf_skip(leaf, skipping->n_rows, skipping->err);
}

static int open_group(struct parquet *parquet, size_t group, struct error *err)
{
    parquet->group = group;
    parquet->at = parquet->footer.groups[group].first_row;
    parquet->is_broken = false;
    int rc = parquet_group_read(&parquet->footer, group, parquet->chunks, err);
    if (rc != OK && err->path[0] == '\0')
        error_at(err, source_path(parquet->file), NONE, err->byte);
    return rc == OK ? each_leaf(parquet, open_leaf, err) : rc;
}

/* Brings the columns to the row that is next. */
static int go_to_row(struct parquet *parquet, struct error *err)
{
    size_t group = group_of(parquet, parquet->row);
    int rc = OK;

    if (group != parquet->group || parquet->row < parquet->at)
        rc = open_group(parquet, group, err);
    else if (parquet->is_broken)
        return OK;
    if (rc == OK && parquet->row > parquet->at) {
        struct skipping skipping = {parquet->row - parquet->at, err};

        rc = each_leaf(parquet, skip_leaf, &skipping);
    }
    parquet->at = parquet->row;
    return rc;
}

static int row_is_wrong(const struct making *making, struct error *why)
{
    if (making->wrong)
        return leaf_error(making->wrong_leaf, E_PARSE, why, "%s", making->wrong);
    return error_set(why, E_LIMIT, "a row that does not fit into its memory");
}

static int next(struct table *table, struct arena *arena, const struct json **row,
                struct error *why, struct error *err)
{
    struct parquet *parquet = (struct parquet *)table;
    struct making making = {.parquet = parquet, .row = {.arena = arena}, .err = &parquet->why};

    *row = NULL;
    if (parquet->row >= parquet->footer.n_rows)
        return 0;
    making.rc = go_to_row(parquet, &parquet->why);
    struct json *out = arena_alloc(arena, sizeof *out);
    making.row.line = parquet->row + 1;
    making.row.stamp = ++parquet->stamp;
    if (making.rc == OK && !parquet->is_broken)
        make_members(&making, parquet->footer.columns, 0, out ? out : &making.row.spare);
    parquet->row++;
    if (is_failure(making.rc)) {
        parquet->group = NO_GROUP;
        *err = parquet->why;
        return making.rc;
    }
    if (making.rc != OK)
        parquet->is_broken = true;
    else
        parquet->at = parquet->row;
    if (parquet->is_broken)
        *why = parquet->why;
    else if (making.wrong || arena_failed(arena))
        (void)row_is_wrong(&making, why);
    else
        *row = out;
    return 1;
}

static int seek(struct table *table, int64_t row, struct error *err)
{
    struct parquet *parquet = (struct parquet *)table;

    if (row < 0)
        return error_set(err, E_NOTFOUND, "row %lld", (long long)row);
    parquet->row = row;
    return OK;
}

/* ---- Rows by columns ---- */

static int make_batch(struct parquet *parquet, struct error *err)
{
    enum table_column_kind kind;
    size_t n = 0;

    for (struct node *node = parquet->footer.columns; node; node = node->next) {
        n += node->is_wanted;
        if (node->is_wanted && !parquet_column_fits(&parquet->footer, node, &kind))
            parquet->has_no_batch = true;
    }
    if (parquet->has_no_batch || n == 0 || n > TABLE_BATCH_COLUMNS) {
        parquet->has_no_batch = true;
        return OK;
    }
    int rc = table_batch_make(&parquet->batch, n, err);
    struct table_column *column = parquet->batch.columns;

    for (struct node *node = parquet->footer.columns; rc == OK && node; node = node->next)
        if (node->is_wanted) {
            column->name = node->name.text;
            (void)parquet_column_fits(&parquet->footer, node, &column->kind);
            column++;
        }
    return rc;
}

/* The lists first, since they decide how many rows there are; then the others. */
static bool fill_batch(struct parquet *parquet, struct column_limits *limits, bool are_lists)
{
    struct table_column *column = parquet->batch.columns;

    for (struct node *node = parquet->footer.columns; node; node = node->next) {
        if (!node->is_wanted || (column->kind == COLUMN_INT_LISTS) != are_lists) {
            column += node->is_wanted;
            continue;
        }
        size_t n = parquet_column_fill(column, node, &parquet->leaves[node->leaf], limits,
                                       &parquet->why);
        if (n < limits->rows && (!are_lists || column->n_items < limits->items))
            return false;
        limits->rows = n;
        limits->items = SIZE_MAX;
        column++;
    }
    return true;
}

static int64_t rows_left(const struct parquet *parquet)
{
    const struct row_group *group = &parquet->footer.groups[parquet->group];

    return group->first_row + group->n_rows - parquet->row;
}

/* Whatever is wrong is left to the way by rows, which tells it of the row that has it. */
static int next_columns(struct table *table, const struct table_batch **out, struct error *err)
{
    struct parquet *parquet = (struct parquet *)table;
    struct column_limits limits = {TABLE_BATCH_ROWS, TABLE_BATCH_ITEMS};
    int rc = parquet->batch.columns || parquet->has_no_batch ? OK : make_batch(parquet, err);

    if (rc != OK || parquet->has_no_batch || parquet->row >= parquet->footer.n_rows ||
        group_of(parquet, parquet->row) == parquet->by_rows)
        return rc;
    rc = go_to_row(parquet, &parquet->why);
    if (rc == OK && parquet->is_broken)
        return 0;
    int64_t left = rc == OK ? rows_left(parquet) : 0;
    limits.rows = left < TABLE_BATCH_ROWS ? (size_t)left : TABLE_BATCH_ROWS;
    if (rc != OK || left <= 0 || !fill_batch(parquet, &limits, true) ||
        !fill_batch(parquet, &limits, false)) {
        parquet->by_rows = group_of(parquet, parquet->row);
        parquet->group = NO_GROUP;
        return 0;
    }
    parquet->row += (int64_t)limits.rows;
    parquet->at = parquet->row;
    parquet->batch.n = limits.rows;
    *out = &parquet->batch;
    return 1;
}

/* ---- The form of a row ---- */

static void example_of(const struct parquet *parquet, const struct node *node, struct arena *arena,
                       struct json *out);

static void example_members(const struct parquet *parquet, const struct node *first,
                            struct arena *arena, struct json *out)
{
    struct json **last = &out->child;

    *out = (struct json){.type = JSON_OBJECT};
    for (const struct node *node = first; node; node = node->next) {
        struct json *child = arena_alloc(arena, sizeof *child);

        if (!child)
            return;
        example_of(parquet, node, arena, child);
        child->key = node->name.text;
        *last = child;
        last = &child->next;
        out->n++;
    }
}

static void example_of(const struct parquet *parquet, const struct node *node, struct arena *arena,
                       struct json *out)
{
    if (node->kind == NODE_LEAF) {
        value_example(&parquet->footer.leaves[node->leaf].value, out);
    } else if (node->kind == NODE_STRUCT) {
        example_members(parquet, node->child, arena, out);
    } else if (node->kind == NODE_MAP) {
        *out = (struct json){.type = has_text_keys(parquet, node) ? JSON_OBJECT : JSON_ARRAY};
    } else {
        *out = (struct json){.type = JSON_ARRAY, .n = 1};
        out->child = arena_alloc(arena, sizeof *out->child);
        if (out->child)
            example_of(parquet, node->child, arena, out->child);
    }
}

static const struct json *example(struct table *table)
{
    return ((struct parquet *)table)->example;
}

static void choose(struct table *table, bool (*is_wanted)(void *ctx, const struct json *example),
                   void *ctx)
{
    struct parquet *parquet = (struct parquet *)table;
    const struct json *member = parquet->example->child;

    for (struct node *node = parquet->footer.columns; node && member;
         node = node->next, member = member->next)
        node->is_wanted = is_wanted(ctx, member);
    parquet->group = parquet->by_rows = NO_GROUP;
    table_batch_free(&parquet->batch);
    parquet->has_no_batch = false;
}

/* ---- Opening ---- */

static void close_parquet(struct table *table)
{
    struct parquet *parquet = (struct parquet *)table;

    for (size_t i = 0; parquet->leaves && i < parquet->footer.n_leaves; i++)
        leaf_close(&parquet->leaves[i]);
    free(parquet->leaves);
    free(parquet->chunks);
    table_batch_free(&parquet->batch);
    parquet_footer_free(&parquet->footer);
    arena_close(table->arena);
    free(parquet);
}

static const struct table_ops OPS = {
    .next = next, .next_columns = next_columns, .seek = seek,
    .example = example, .choose = choose, .close = close_parquet};

static int prepare(struct parquet *parquet, struct error *err)
{
    size_t n = parquet->footer.n_leaves;
    struct json *top = arena_alloc(parquet->table.arena, sizeof *top);

    parquet->leaves = calloc(n + 1, sizeof *parquet->leaves);
    parquet->chunks = calloc(n + 1, sizeof *parquet->chunks);
    if (top)
        example_members(parquet, parquet->footer.columns, parquet->table.arena, top);
    if (!parquet->leaves || !parquet->chunks || arena_failed(parquet->table.arena))
        return error_set(err, E_NOMEM, "no memory for a table of %zu columns", n);
    for (size_t i = 0; i < n; i++)
        parquet->leaves[i] = (struct leaf){.type = &parquet->footer.leaves[i],
                                           .file = parquet->file,
                                           .n_memory = &parquet->n_memory};
    parquet->example = top;
    parquet->group = parquet->by_rows = NO_GROUP;
    return OK;
}

int parquet_open(struct table **out, struct source_file *file, struct error *err)
{
    struct parquet *parquet = calloc(1, sizeof *parquet);

    if (!parquet)
        return error_set(err, E_NOMEM, "no memory for a table");
    parquet->table = (struct table){.ops = &OPS, .arena = arena_open(TABLE_MEMORY_BYTES)};
    parquet->file = file;
    int rc = parquet->table.arena
                 ? parquet_footer_read(&parquet->footer, file, parquet->table.arena, err)
                 : error_set(err, E_NOMEM, "no memory for a table");
    if (rc == OK)
        rc = prepare(parquet, err);
    if (rc != OK) {
        close_parquet(&parquet->table);
        return rc;
    }
    *out = &parquet->table;
    return OK;
}
