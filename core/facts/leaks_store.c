/* Leaks as a text of the cache, and back. Numbers of shingles are kept, no quotients. */
#include <string.h>

#include "core/facts/leaks_parts.h"

/* ---- Writing ---- */

static void put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, "\"%s\":", name);
    json_write_string(out, str_of(text ? text : ""));
    buf_putc(out, ',');
}

static void put_pairs(struct buf *out, const struct leak_set *set)
{
    buf_puts(out, "\"pairs\":[");
    for (size_t i = 0; i < set->n_pairs; i++) {
        const struct leak_pair *pair = &set->pairs[i];

        buf_printf(out, "%s[%lld,%lld,%lld,%lld,%d,%d,%d,%u", i ? "," : "",
                   (long long)pair->test->id, (long long)pair->row,
                   (long long)(pair->train ? pair->train->id : 0), (long long)pair->train_row,
                   pair->n_row, pair->n_train, pair->n_shared, pair->flags);
        if (pair->id) {
            buf_putc(out, ',');
            json_write_string(out, str_of(pair->id));
        }
        buf_putc(out, ']');
    }
    buf_puts(out, "],\"places\":[");
    for (size_t i = 0; leaks_dataset_is_facts(set->dataset) && i < set->n_pairs; i++) {
        const struct form_place *test = &set->pairs[i].place, *train = &set->pairs[i].train_place;

        buf_printf(out, "%s[%d,%lld,%lld,%d,%lld,%lld]", i ? "," : "", test->file + 1,
                   (long long)test->at, (long long)test->row, train->file + 1,
                   (long long)train->at, (long long)train->row);
    }
    buf_puts(out, "],\"leaked\":[");
    for (int64_t i = 0; i < set->n_leaked; i++)
        buf_printf(out, "%s%lld", i ? "," : "", (long long)set->leaked[i]);
    buf_putc(out, ']');
}

static void put_column(struct buf *out, const struct leak_column *column)
{
    buf_putc(out, '{');
    put_text(out, "name", column->name);
    buf_printf(out, "\"numbers\":[%d,%lld,%lld,%lld,%lld,%lld,%lld],\"expected\":",
               column->is_key_by_name, (long long)column->n_values, (long long)column->n_rows,
               (long long)column->n_test_groups, (long long)column->n_shared_groups,
               (long long)column->n_test_rows, (long long)column->n_shared_rows);
    json_write_number(out, column->expected);
    buf_puts(out, ",\"largest\":[");
    for (size_t i = 0; i < column->n_largest; i++) {
        buf_puts(out, i ? ",[" : "[");
        json_write_string(out, str_of(column->largest[i].value));
        buf_printf(out, ",%lld,%lld]", (long long)column->largest[i].n_train,
                   (long long)column->largest[i].n_test);
    }
    buf_puts(out, "]}");
}

static void put_set(struct buf *out, const struct leak_set *set)
{
    buf_printf(out, "{\"numbers\":[%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld],",
               (long long)set->dataset->id, (long long)set->n_rows, (long long)set->n_unreadable,
               (long long)set->n_short, (long long)set->n_short_exact, (long long)set->n_compared,
               (long long)set->n_not_compared, (long long)set->n_exact, (long long)set->n_near,
               (long long)set->n_contained, (long long)set->n_leaked, (long long)set->n_clustered);
    if (set->n_long)
        buf_printf(out, "\"overlap\":[%lld,%lld],", (long long)set->n_long,
                   (long long)set->n_overlap);
    buf_puts(out, "\"files\":[");
    for (size_t i = 0; i < set->n_files; i++)
        buf_printf(out, "%s[%lld,%lld]", i ? "," : "", (long long)set->files[i].dataset->id,
                   (long long)set->files[i].n_rows);
    buf_puts(out, "],");
    put_pairs(out, set);
    buf_puts(out, ",\"columns\":[");
    for (size_t i = 0; i < set->n_columns; i++) {
        if (i)
            buf_putc(out, ',');
        put_column(out, &set->columns[i]);
    }
    buf_puts(out, "]}");
}

void leaks_write(const struct leaks *leaks, struct buf *out)
{
    buf_printf(out, "{\"numbers\":[%lld,%lld,%d,%lld,%d],", (long long)leaks->n_train,
               (long long)leaks->n_train_unreadable, leaks->is_banded, (long long)leaks->n_crowded,
               leaks->is_partial);
    put_text(out, "prefix", leaks->prefix);
    put_text(out, "suffix", leaks->suffix);
    if (leaks->trouble)
        put_text(out, "trouble", leaks->trouble);
    if (leaks->limits)
        put_text(out, "limits", leaks->limits);
    buf_puts(out, "\"sets\":[");
    for (size_t i = 0; i < leaks->n_sets; i++) {
        if (i)
            buf_putc(out, ',');
        put_set(out, &leaks->sets[i]);
    }
    buf_puts(out, "]}");
}

/* ---- Reading ---- */

/* False: not as many numbers, or none that are counts. */
static bool take_numbers(const struct json *list, int64_t *out, size_t n)
{
    const struct json *item = json_is(list, JSON_ARRAY) ? list->child : NULL;

    for (size_t i = 0; i < n; i++, item = item->next) {
        if (!json_is(item, JSON_NUMBER) || !(item->number >= 0.0 && item->number < 9e15))
            return false;
        out[i] = (int64_t)item->number;
    }
    return true;
}

static const struct dataset *dataset_of(const struct run_facts *facts, int64_t id)
{
    for (size_t i = 0; i < facts->n_datasets; i++)
        if (facts->datasets[i].id == id)
            return &facts->datasets[i];
    return NULL;
}

static const char *text_of(const struct json *value, struct arena *arena)
{
    return json_is(value, JSON_STRING) ? arena_strndup(arena, value->text.p, value->text.n) : "";
}

/* Of pairs of facts: theirs, in their order. */
static bool take_places(const struct json *list, struct leak_pair *pairs, size_t n_pairs)
{
    size_t i = 0;

    for (const struct json *item = json_is(list, JSON_ARRAY) ? list->child : NULL; item;
         item = item->next) {
        int64_t n[6];

        if (i == n_pairs || !take_numbers(item, n, 6))
            return false;
        pairs[i].place = (struct form_place){(int32_t)(n[0] - 1), n[1], n[2]};
        pairs[i++].train_place = (struct form_place){(int32_t)(n[3] - 1), n[4], n[5]};
    }
    return true;
}

static bool take_pairs(const struct run_facts *facts, const struct json *item_of, struct arena *arena,
                       struct leak_set *set)
{
    const struct json *list = json_get(item_of, "pairs");
    struct leak_pair *pairs = list ? arena_array(arena, list->n + 1, sizeof *pairs) : NULL;

    for (const struct json *item = pairs ? list->child : NULL; item; item = item->next) {
        const struct json *id = item->child;
        int64_t n[8];

        if (!take_numbers(item, n, 8))
            return false;
        for (int i = 0; i < 8; i++)
            id = id->next;
        pairs[set->n_pairs++] = (struct leak_pair){.test = dataset_of(facts, n[0]),
                                                   .row = n[1],
                                                   .train = dataset_of(facts, n[2]),
                                                   .train_row = n[3],
                                                   .n_row = (int32_t)n[4],
                                                   .n_train = (int32_t)n[5],
                                                   .n_shared = (int32_t)n[6],
                                                   .flags = (unsigned)n[7],
                                                   .id = id ? text_of(id, arena) : NULL};
        if (!pairs[set->n_pairs - 1].test || !pairs[set->n_pairs - 1].train)
            return false;
    }
    set->pairs = pairs;
    return pairs && take_places(json_get(item_of, "places"), pairs, set->n_pairs);
}

static bool take_files(const struct run_facts *facts, const struct json *list, struct arena *arena,
                       struct leak_set *set)
{
    struct leak_file *files = list ? arena_array(arena, list->n + 1, sizeof *files) : NULL;

    for (const struct json *item = files ? list->child : NULL; item; item = item->next) {
        int64_t n[2];

        if (!take_numbers(item, n, 2) || !dataset_of(facts, n[0]))
            return false;
        files[set->n_files++] = (struct leak_file){dataset_of(facts, n[0]), n[1]};
    }
    set->files = files;
    return set->n_files > 0;
}

static bool take_column(const struct json *item, struct arena *arena, struct leak_column *out)
{
    const struct json *expected = json_get(item, "expected"), *list = json_get(item, "largest");
    int64_t n[7];

    if (!take_numbers(json_get(item, "numbers"), n, 7) || !json_is(expected, JSON_NUMBER))
        return false;
    *out = (struct leak_column){.name = text_of(json_get(item, "name"), arena),
                                .is_key_by_name = n[0] == 1,
                                .n_values = n[1],
                                .n_rows = n[2],
                                .n_test_groups = n[3],
                                .n_shared_groups = n[4],
                                .n_test_rows = n[5],
                                .n_shared_rows = n[6],
                                .expected = expected->number};
    for (const struct json *group = json_is(list, JSON_ARRAY) ? list->child : NULL;
         group && out->n_largest < LEAK_MAX_GROUPS; group = group->next) {
        const struct json *train = group->child ? group->child->next : NULL;

        if (!json_is(train, JSON_NUMBER) || !json_is(train->next, JSON_NUMBER))
            return false;
        out->largest[out->n_largest++] = (struct leak_group){
            text_of(group->child, arena), (int64_t)train->number, (int64_t)train->next->number};
    }
    return true;
}

static bool take_columns(const struct json *list, struct arena *arena, struct leak_set *set)
{
    struct leak_column *columns = list ? arena_array(arena, list->n + 1, sizeof *columns) : NULL;

    for (const struct json *item = columns ? list->child : NULL; item; item = item->next)
        if (!take_column(item, arena, &columns[set->n_columns++]))
            return false;
    set->columns = columns;
    return columns != NULL;
}

static bool take_set(const struct run_facts *facts, const struct json *item, struct arena *arena,
                     struct leak_set *out)
{
    const struct json *leaked = json_get(item, "leaked");
    int64_t n[12];

    if (!take_numbers(json_get(item, "numbers"), n, 12) || !json_is(leaked, JSON_ARRAY))
        return false;
    *out = (struct leak_set){.dataset = dataset_of(facts, n[0]),
                             .n_rows = n[1],
                             .n_unreadable = n[2],
                             .n_short = n[3],
                             .n_short_exact = n[4],
                             .n_compared = n[5],
                             .n_not_compared = n[6],
                             .n_exact = n[7],
                             .n_near = n[8],
                             .n_contained = n[9],
                             .n_leaked = n[10],
                             .n_clustered = n[11]};
    int64_t *rows = arena_array(arena, leaked->n + 1, sizeof *rows);
    if (!out->dataset || !rows || (size_t)out->n_leaked != leaked->n ||
        !take_numbers(leaked, rows, leaked->n))
        return false;
    const struct json *overlap = json_get(item, "overlap");
    if (overlap && !take_numbers(overlap, n, 2))
        return false;
    out->n_long = overlap ? n[0] : 0;
    out->n_overlap = overlap ? n[1] : 0;
    out->name = out->dataset->name;
    out->leaked = rows;
    return take_files(facts, json_get(item, "files"), arena, out) &&
           take_pairs(facts, item, arena, out) &&
           take_columns(json_get(item, "columns"), arena, out);
}

bool leaks_read(const struct run_facts *facts, const char *text, struct arena *arena,
                struct leaks *out)
{
    const struct json *tree, *list, *trouble;
    int64_t n[5];

    *out = (struct leaks){0};
    if (json_parse_exact(str_of(text), arena, &tree, NULL) != OK ||
        !take_numbers(json_get(tree, "numbers"), n, 5))
        return false;
    list = json_get(tree, "sets");
    trouble = json_get(tree, "trouble");
    const struct json *limits = json_get(tree, "limits");
    struct leak_set *sets = list ? arena_array(arena, list->n + 1, sizeof *sets) : NULL;
    if (!sets)
        return false;
    for (const struct json *item = list->child; item; item = item->next)
        if (!take_set(facts, item, arena, &sets[out->n_sets++]))
            return false;
    out->sets = sets;
    out->n_train = n[0];
    out->n_train_unreadable = n[1];
    out->is_banded = n[2] == 1;
    out->n_crowded = n[3];
    out->is_partial = n[4] == 1;
    out->prefix = text_of(json_get(tree, "prefix"), arena);
    out->suffix = text_of(json_get(tree, "suffix"), arena);
    out->trouble = trouble ? text_of(trouble, arena) : NULL;
    out->limits = limits ? text_of(limits, arena) : NULL;
    return true;
}
