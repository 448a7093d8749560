/* See data_scan.h. */
#include "views/data_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/unicode.h"
#include "core/facts/data_words.h"
#include "core/similar/normal.h"
#include "core/text/row_parts.h"
#include "views/row_text.h"

#define SCRATCH_BYTES ((size_t)128 << 20)
enum { STEP_ROWS = 1000, STEP_BYTES = 1 << 19, SHOWN_BYTES = 120, NESTED = 64 };

/* ---- Walking ---- */

struct walker {
    /* False: no memory. tree NULL: the row cannot be read. */
    bool (*row)(void *ctx, const struct json *tree, struct arena *scratch, size_t row);
    void *ctx;
};

static void walk_close(struct row_walk *walk)
{
    rows_close(walk->rows);
    arena_close(walk->scratch);
    walk->rows = NULL;
    walk->scratch = NULL;
}

static bool walk_ends(struct row_walk *walk, const char *trouble)
{
    if (trouble)
        snprintf(walk->trouble, sizeof walk->trouble, "%.199s", trouble);
    walk->is_done = true;
    walk_close(walk);
    return false;
}

static bool walk_step(struct row_walk *walk, const char *path, const struct walker *walker)
{
    struct error bad, why = {0};
    int64_t bytes = 0;

    if (walk->is_done)
        return false;
    if (!walk->is_begun) {
        walk->is_begun = true;
        walk->scratch = arena_open(SCRATCH_BYTES);
        if (!walk->scratch || rows_open(&walk->rows, path, &why) != OK)
            return walk_ends(walk, walk->scratch ? why.message : "no memory");
    }
    for (size_t i = 0; i < STEP_ROWS && bytes < STEP_BYTES; i++) {
        const struct json *tree = NULL;
        struct row_place place;

        arena_reset(walk->scratch);
        int rc = walk->next < walk->n ? rows_next(walk->rows, walk->scratch, &tree, &place, &bad, &why) : 0;
        if (rc < 0)
            return walk_ends(walk, why.message);
        if (rc == 0)
            return walk_ends(walk, walk->next < walk->n ? "the file has fewer rows than when it was imported"
                                                        : NULL);
        if (!walker->row(walker->ctx, tree, walk->scratch, walk->next))
            return walk_ends(walk, "no memory");
        bytes += place.length > 0 ? place.length : 1 << 8;
        walk->next++;
    }
    return true;
}

/* ---- Texts and columns ---- */

void data_scan_close(struct data_scan *scan)
{
    walk_close(&scan->walk);
    free(scan->path);
    free(scan->texts);
    free(scan->text_at);
    free(scan->input_words);
    free(scan->target_words);
    *scan = (struct data_scan){0};
}

bool data_scan_begin(struct data_scan *scan, const char *path, size_t n, const struct column_names *names)
{
    data_scan_close(scan);
    scan->walk.n = n;
    scan->names = *names;
    scan->path = strdup(path);
    scan->text_at = calloc(n + 1, sizeof *scan->text_at);
    scan->input_words = calloc(n + 1, sizeof *scan->input_words);
    scan->target_words = calloc(n + 1, sizeof *scan->target_words);
    if (scan->path && scan->text_at && scan->input_words && scan->target_words)
        return true;
    data_scan_close(scan);
    scan->walk.is_done = true;
    return false;
}

static uint32_t words_of(struct str text, struct arena *scratch)
{
    char *room = arena_alloc(scratch, text.n + 1);
    size_t n, words = 0;
    struct buf clean, normal;
    struct error ignored;

    if (room && data_normal_ascii(text, room, &n, &words))
        return words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
    buf_init(&clean, SCRATCH_BYTES);
    buf_init(&normal, SCRATCH_BYTES);
    data_without_special(text, &clean);
    if (normal_text(buf_view(&clean), &normal, &ignored) == OK)
        words = data_count_words(buf_view(&normal));
    buf_free(&clean);
    buf_free(&normal);
    return words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
}

static bool add_text(struct data_scan *scan, struct str text)
{
    size_t need = scan->n_text_bytes + text.n + 1;

    if (need > scan->text_capacity) {
        size_t capacity = scan->text_capacity ? 2 * scan->text_capacity : 1 << 16;

        capacity = capacity < need ? need : capacity;
        char *room = realloc(scan->texts, capacity);
        if (!room)
            return false;
        scan->texts = room;
        scan->text_capacity = capacity;
    }
    memcpy(scan->texts + scan->n_text_bytes, text.p, text.n);
    scan->n_text_bytes += text.n;
    scan->texts[scan->n_text_bytes++] = '\n';
    return true;
}

/* The column is looked for behind the one that was found last: rows have their columns in one order. */
static void see_column(struct data_scan *scan, struct str object, struct str key, size_t *after)
{
    char name[80];
    int n = object.n ? snprintf(name, sizeof name, "%.*s.%.*s", (int)object.n, object.p, (int)key.n, key.p)
                     : snprintf(name, sizeof name, "%.*s", (int)key.n, key.p);

    if (n <= 0 || n >= (int)sizeof name)
        return;
    for (size_t i = 0; i < scan->n_columns; i++) {
        size_t at = (*after + i) % scan->n_columns;

        if (strcmp(scan->columns[at].name, name) != 0)
            continue;
        scan->columns[at].n++;
        *after = at + 1;
        return;
    }
    if (scan->n_columns == SCAN_MOST_COLUMNS) {
        scan->has_more_columns = true;
        return;
    }
    memcpy(scan->columns[scan->n_columns].name, name, sizeof name);
    scan->columns[scan->n_columns++].n = 1;
    *after = scan->n_columns;
}

static void see_columns(struct data_scan *scan, const struct json *tree)
{
    size_t after = 0;

    if (!json_is(tree, JSON_OBJECT))
        return;
    for (const struct json *value = tree->child; value; value = value->next) {
        size_t k = 0;

        see_column(scan, str_of(""), value->key, &after);
        for (const struct json *own = json_is(value, JSON_OBJECT) ? value->child : NULL; own && k < NESTED;
             own = own->next, k++)
            see_column(scan, value->key, own->key, &after);
    }
}

static bool scan_row(void *ctx, const struct json *tree, struct arena *scratch, size_t row)
{
    struct data_scan *scan = ctx;
    struct conversation conversation;
    struct row_parts parts = {.input = str_of(""), .target = str_of("")};
    struct error ignored;
    bool is_read = tree && conversation_of_row(tree, &scan->names, scratch, &conversation, &ignored) == OK &&
                   row_parts_of(&conversation, scratch, &parts, &ignored) == OK;

    if (is_read) {
        see_columns(scan, tree);
        scan->has_input = scan->has_input || parts.input.n;
        scan->has_target = scan->has_target || parts.has_target;
        scan->input_words[row] = words_of(parts.input, scratch);
        scan->target_words[row] = words_of(parts.target, scratch);
    }
    if (scan->n_texts == row && scan->n_text_bytes < SCAN_TEXT_BYTES) {
        struct row_text text = {.fields = str_of("")};

        if (is_read)
            row_text_beside(&conversation, &parts, scratch, &text);
        if (!add_text(scan, parts.input) || !add_text(scan, parts.target) ||
            (text.rejected.p && !add_text(scan, text.rejected)) || !add_text(scan, text.fields))
            return false;
        scan->n_texts = row + 1;
    }
    scan->text_at[row + 1] = scan->n_text_bytes;
    return true;
}

bool data_scan_step(struct data_scan *scan)
{
    const struct walker walker = {scan_row, scan};

    return walk_step(&scan->walk, scan->path, &walker);
}

struct str data_scan_text(const struct data_scan *scan, size_t row)
{
    if (row >= scan->n_texts)
        return str_of("");
    return str_from(scan->texts + scan->text_at[row], scan->text_at[row + 1] - scan->text_at[row]);
}

/* ---- Values ---- */

void value_count_close(struct value_count *count)
{
    walk_close(&count->walk);
    for (size_t i = 0; i < count->n_values; i++)
        free(count->values[i].text);
    free(count->values);
    free(count->path);
    free(count->slots);
    free(count->of_row);
    free(count->order);
    *count = (struct value_count){0};
}

bool value_count_begin(struct value_count *count, const char *path, size_t n,
                       const struct column_names *names, const char *column)
{
    value_count_close(count);
    count->walk.n = n;
    count->names = *names;
    count->path = strdup(path);
    count->n_slots = (size_t)1 << 19;
    count->slots = calloc(count->n_slots, sizeof *count->slots);
    count->of_row = malloc((n + 1) * sizeof *count->of_row);
    snprintf(count->column, sizeof count->column, "%s", column);
    if (!count->path || !count->slots || !count->of_row) {
        value_count_close(count);
        count->walk.is_done = true;
        return false;
    }
    for (size_t i = 0; i <= n; i++)
        count->of_row[i] = SCAN_NO_VALUE;
    return true;
}

static const char *kind_name(const struct json *value)
{
    static const char *const NAMES[] = {[JSON_NULL] = "null",        [JSON_FALSE] = "true or false",
                                        [JSON_TRUE] = "true or false", [JSON_NUMBER] = "number",
                                        [JSON_STRING] = "text",      [JSON_ARRAY] = "list",
                                        [JSON_OBJECT] = "object"};

    return value ? NAMES[value->type] : "absent";
}

static char *shown_text(struct str text)
{
    struct str cut = unicode_cut(text, SHOWN_BYTES);
    char *copy = malloc(cut.n + 4);

    if (!copy)
        return NULL;
    for (size_t i = 0; i < cut.n; i++) {
        char c = cut.p[i];

        copy[i] = c == '\n' || c == '\r' || c == '\t' || c == '\0' ? ' ' : c;
    }
    snprintf(copy + cut.n, 4, "%s", cut.n < text.n ? ".." : "");
    return copy;
}

static bool add_value(struct value_count *count, struct str text, const char *kind, uint64_t hash, size_t row)
{
    if (count->n_values == count->capacity) {
        size_t capacity = count->capacity ? 2 * count->capacity : 64;
        struct scan_value *room = realloc(count->values, capacity * sizeof *room);

        if (!room)
            return false;
        count->values = room;
        count->capacity = capacity;
    }
    char *shown = shown_text(text);
    if (!shown)
        return false;
    count->values[count->n_values++] = (struct scan_value){hash, shown, kind, 1, row};
    return true;
}

static bool take_value(struct value_count *count, struct str text, const char *kind, size_t row)
{
    uint64_t hash = hash_more(hash_bytes(kind, strlen(kind)), text.p, text.n);
    size_t slot = hash & (count->n_slots - 1);

    while (count->slots[slot] && count->values[count->slots[slot] - 1].hash != hash)
        slot = (slot + 1) & (count->n_slots - 1);
    if (count->slots[slot]) {
        count->values[count->slots[slot] - 1].n++;
    } else if (count->n_values < SCAN_MOST_VALUES) {
        if (!add_value(count, text, kind, hash, row))
            return false;
        count->slots[slot] = (uint32_t)count->n_values;
    } else {
        count->n_other++;
        count->of_row[row] = SCAN_OTHER_VALUE;
        return true;
    }
    count->of_row[row] = count->slots[slot] - 1;
    return true;
}

/* A column, or a member of one where the name has a dot that no column's name explains. */
static const struct json *member_of(const struct json *tree, const char *name)
{
    const struct json *value = json_is(tree, JSON_OBJECT) ? json_get(tree, name) : NULL;
    const char *dot = strchr(name, '.');
    char object[80];

    if (value || !dot || !json_is(tree, JSON_OBJECT))
        return value;
    snprintf(object, sizeof object, "%.*s", (int)(dot - name), name);
    value = json_get(tree, object);
    return json_is(value, JSON_OBJECT) ? json_get(value, dot + 1) : NULL;
}

static bool count_part(struct value_count *count, const struct json *tree, struct arena *scratch, size_t row)
{
    struct conversation conversation;
    struct row_parts parts = {.input = str_of(""), .target = str_of("")};
    struct error ignored;

    if (!tree || conversation_of_row(tree, &count->names, scratch, &conversation, &ignored) != OK ||
        row_parts_of(&conversation, scratch, &parts, &ignored) != OK)
        return take_value(count, str_of(""), "absent", row);
    bool is_input = strcmp(count->column, SCAN_INPUT) == 0;

    return take_value(count, is_input ? parts.input : parts.target,
                      is_input || parts.has_target ? "text" : "absent", row);
}

static bool count_row(void *ctx, const struct json *tree, struct arena *scratch, size_t row)
{
    struct value_count *count = ctx;

    if (strcmp(count->column, SCAN_INPUT) == 0 || strcmp(count->column, SCAN_TARGET) == 0)
        return count_part(count, tree, scratch, row);
    const struct json *value = member_of(tree, count->column);
    if (value && (value->type == JSON_STRING || (value->type == JSON_NUMBER && value->text.n)))
        return take_value(count, value->text, kind_name(value), row);
    struct buf text;
    buf_init(&text, SCRATCH_BYTES);
    if (value)
        json_write(&text, value);
    bool is_taken = take_value(count, text.n ? buf_view(&text) : str_of(""), kind_name(value), row);
    buf_free(&text);
    return is_taken;
}

struct ranked {
    size_t n, at;
};

static int by_count(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;

    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Many of them are sorted at the end alone. */
static void order_values(struct value_count *count)
{
    struct ranked *ranked;

    if (!count->walk.is_done && count->n_values > STEP_ROWS)
        return;
    size_t *room = realloc(count->order, (count->n_values + 1) * sizeof *room);
    if (!room)
        return;
    count->order = room;
    ranked = malloc((count->n_values + 1) * sizeof *ranked);
    if (!ranked)
        return;
    for (size_t i = 0; i < count->n_values; i++)
        ranked[i] = (struct ranked){count->values[i].n, i};
    qsort(ranked, count->n_values, sizeof *ranked, by_count);
    for (size_t i = 0; i < count->n_values; i++)
        room[i] = ranked[i].at;
    count->n_ordered = count->n_values;
    free(ranked);
}

bool value_count_step(struct value_count *count)
{
    const struct walker walker = {count_row, count};
    bool goes_on = walk_step(&count->walk, count->path, &walker);

    order_values(count);
    return goes_on;
}
