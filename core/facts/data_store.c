/* Facts of rows as the store keeps them: one JSON text. See data_facts.h. */
#include <string.h>

#include "core/facts/data_parts.h"
#include "core/read/json.h"

/* ---- Members that are numbers ---- */

struct count_member {
    const char *name;
    size_t at;
};
#define AT(member) offsetof(struct data_facts, member)
static const struct count_member COUNTS[] = {
    {"n_rows", AT(n_rows)},
    {"n_file_rows", AT(n_file_rows)},
    {"n_unreadable", AT(n_unreadable)},
    {"n_degenerate", AT(n_degenerate)},
    {"n_no_target", AT(n_no_target)},
    {"n_no_input", AT(n_no_input)},
    {"n_not_grouped", AT(n_not_grouped)},
    {"n_preference", AT(n_preference)},
    {"n_kto", AT(n_kto)},
    {"first_unreadable", AT(first_unreadable)},
    {"first_degenerate", AT(first_degenerate)},
    {"n_groups", AT(n_groups)},
    {"n_group_rows", AT(n_group_rows)},
    {"n_best_rows", AT(n_best_rows)},
    {"n_contradictory", AT(n_contradictory)},
    {"n_contradictory_rows", AT(n_contradictory_rows)},
    {"n_free", AT(n_free)},
    {"n_free_rows", AT(n_free_rows)},
    {"n_duplicates", AT(n_duplicates)},
    {"n_not_compared", AT(n_not_compared)},
    {"n_classes", AT(n_classes)},
    {"n_span_rows", AT(spans.n_rows)},
    {"n_span_words", AT(spans.n_words)},
    {"n_span_constant", AT(spans.n_constant)},
    {"n_class_rows", AT(n_class_rows)},
    {"n_distinct_targets", AT(n_distinct_targets)},
    {"n_shared_words", AT(n_shared_words)},
};
enum { N_COUNTS = sizeof COUNTS / sizeof *COUNTS };

static int64_t *count_of(struct data_facts *data, size_t i)
{
    return (int64_t *)(void *)((char *)data + COUNTS[i].at);
}

static int64_t number_of(const struct json *value)
{
    return json_is(value, JSON_NUMBER) && value->number > -9e15 && value->number < 9e15
               ? (int64_t)value->number
               : NONE;
}

static const char *text_of(const struct json *value, struct arena *arena)
{
    return json_is(value, JSON_STRING) ? arena_strndup(arena, value->text.p, value->text.n) : NULL;
}

static const struct json *items(const struct json *list)
{
    return json_is(list, JSON_ARRAY) ? list->child : NULL;
}

static size_t count_items(const struct json *list)
{
    return json_is(list, JSON_ARRAY) ? list->n : 0;
}

/* ---- Writing ---- */

static void put_text(struct buf *out, const char *name, const char *text)
{
    if (!text)
        return;
    buf_printf(out, ",\"%s\":", name);
    json_write_string(out, str_of(text));
}

static void put_number(struct buf *out, const char *name, int64_t n)
{
    buf_printf(out, ",\"%s\":%lld", name, (long long)n);
}

static void put_files(struct buf *out, const struct data_facts *data)
{
    buf_puts(out, ",\"files\":[");
    for (size_t i = 0; i < data->n_files; i++) {
        buf_printf(out, "%s{\"first_row\":%lld,\"n_rows\":%lld", i ? "," : "",
                   (long long)data->files[i].first_row, (long long)data->files[i].n_rows);
        put_text(out, "path", data->files[i].path);
        put_text(out, "split", data->files[i].split);
        buf_putc(out, '}');
    }
    buf_putc(out, ']');
}

static void put_target(struct buf *out, const struct data_target *target)
{
    buf_printf(out, "{\"count\":%lld", (long long)target->count);
    put_text(out, "text", target->text);
    buf_puts(out, ",\"rows\":[");
    for (size_t i = 0; i < target->n_rows; i++)
        buf_printf(out, "%s[%lld,%lld,%lld]", i ? "," : "", (long long)target->rows[i].file,
                   (long long)target->rows[i].row, (long long)target->rows[i].at);
    buf_puts(out, "]}");
}

static void put_groups(struct buf *out, const struct data_facts *data)
{
    buf_puts(out, ",\"groups\":[");
    for (size_t i = 0; i < data->n_shown; i++) {
        const struct data_group *group = &data->groups[i];

        buf_printf(out, "%s{\"key\":\"%016llx\",\"kind\":%d,\"n_rows\":%lld,\"n_more\":%lld,"
                        "\"jaccard\":%.9g",
                   i ? "," : "", (unsigned long long)group->key, (int)group->kind,
                   (long long)group->n_rows, (long long)group->n_more, group->jaccard);
        put_text(out, "input", group->input);
        buf_puts(out, ",\"targets\":[");
        for (size_t k = 0; k < group->n_targets; k++) {
            if (k)
                buf_putc(out, ',');
            put_target(out, &group->targets[k]);
        }
        buf_puts(out, "]}");
    }
    buf_putc(out, ']');
}

static void put_classes(struct buf *out, const struct data_facts *data)
{
    buf_puts(out, ",\"classes\":[");
    for (size_t i = 0; i < data->n_kept_classes; i++) {
        const struct data_class *class = &data->classes[i];

        buf_printf(out, "%s{\"n_rows\":%lld", i ? "," : "", (long long)class->n_rows);
        put_text(out, "name", class->name);
        buf_puts(out, ",\"openings\":[");
        for (int k = 0; k < DATA_OPENINGS; k++) {
            const struct data_opening *opening = &class->openings[k];

            buf_printf(out, "%s{\"n_in\":%lld,\"n_out\":%lld", k ? "," : "", (long long)opening->n_in,
                       (long long)opening->n_out);
            put_text(out, "text", opening->text);
            buf_putc(out, '}');
        }
        buf_puts(out, "]}");
    }
    buf_putc(out, ']');
}

static void put_rule(struct buf *out, const char *name, const struct data_length_rule *rule)
{
    buf_printf(out, ",\"%s\":{\"threshold\":%lld", name, (long long)rule->threshold);
    put_number(out, "n_right", rule->n_right);
    put_number(out, "n_rows", rule->n_rows);
    put_number(out, "n_majority", rule->n_majority);
    put_text(out, "of", rule->of);
    put_text(out, "below", rule->below);
    put_text(out, "above", rule->above);
    buf_putc(out, '}');
}

static void put_lengths(struct buf *out, const char *name, const struct data_lengths *lengths)
{
    buf_printf(out, ",\"%s\":[%lld,%lld,%lld,%lld,%lld", name, (long long)lengths->n,
               (long long)lengths->median, (long long)lengths->p95, (long long)lengths->longest,
               (long long)lengths->longest_row);
    for (int i = 0; i < DATA_BINS; i++)
        buf_printf(out, ",%lld", (long long)lengths->bins[i]);
    buf_putc(out, ']');
}

void data_put_head(const struct data_facts *source, struct buf *head)
{
    struct data_facts data = *source;

    buf_printf(head, "{\"is_partial\":%d,\"has_classes\":%d,\"has_labels\":%d", data.is_partial,
               data.has_classes, data.has_labels);
    for (size_t i = 0; i < N_COUNTS; i++)
        put_number(head, COUNTS[i].name, *count_of(&data, i));
    put_text(head, "missing", data.missing);
    put_text(head, "limits", data.limits);
    put_text(head, "not_grouped", data.not_grouped);
    put_text(head, "form", data.form);
    put_text(head, "span", data.spans.longest);
    put_files(head, &data);
    put_groups(head, &data);
    put_classes(head, &data);
    put_rule(head, "length_rule", &data.length_rule);
    put_rule(head, "pair_rule", &data.pair_rule);
    put_lengths(head, "input", &data.input);
    put_lengths(head, "target", &data.target);
    buf_putc(head, '}');
}

/* ---- Reading ---- */

static void take_files(const struct json *list, struct arena *arena, struct data_facts *out)
{
    struct data_file *files = arena_array(arena, count_items(list) + 1, sizeof *files);

    for (const struct json *item = files ? items(list) : NULL; item; item = item->next) {
        const char *path = text_of(json_get(item, "path"), arena);

        files[out->n_files++] = (struct data_file){.path = path ? path : "",
                                                   .split = text_of(json_get(item, "split"), arena),
                                                   .first_row = number_of(json_get(item, "first_row")),
                                                   .n_rows = number_of(json_get(item, "n_rows"))};
    }
    out->files = files;
}

static struct data_target take_target(const struct json *item, struct arena *arena)
{
    const struct json *list = json_get(item, "rows");
    struct data_place *rows = arena_array(arena, count_items(list) + 1, sizeof *rows);
    const char *text = text_of(json_get(item, "text"), arena);
    struct data_target out = {.text = text ? text : "", .count = number_of(json_get(item, "count"))};

    for (const struct json *place = rows ? items(list) : NULL; place; place = place->next) {
        const struct json *file = items(place), *row = file ? file->next : NULL;

        rows[out.n_rows++] = (struct data_place){number_of(file), number_of(row),
                                                 number_of(row ? row->next : NULL)};
    }
    out.rows = rows;
    return out;
}

static void take_group(const struct json *item, struct arena *arena, struct data_group *out)
{
    const struct json *list = json_get(item, "targets"), *key = json_get(item, "key");
    const struct json *jaccard = json_get(item, "jaccard");
    struct data_target *targets = arena_array(arena, count_items(list) + 1, sizeof *targets);
    const char *input = text_of(json_get(item, "input"), arena);

    *out = (struct data_group){.kind = (enum data_group_kind)number_of(json_get(item, "kind")),
                               .n_rows = number_of(json_get(item, "n_rows")),
                               .n_more = number_of(json_get(item, "n_more")),
                               .jaccard = json_is(jaccard, JSON_NUMBER) ? jaccard->number : 1.0,
                               .input = input ? input : "",
                               .targets = targets};
    for (size_t i = 0; json_is(key, JSON_STRING) && i < key->text.n && i < 16; i++) {
        char c = key->text.p[i];
        out->key = out->key << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    for (const struct json *target = targets ? items(list) : NULL; target; target = target->next)
        targets[out->n_targets++] = take_target(target, arena);
}

static void take_groups(const struct json *list, struct arena *arena, struct data_facts *out)
{
    struct data_group *groups = arena_array(arena, count_items(list) + 1, sizeof *groups);

    for (const struct json *item = groups ? items(list) : NULL; item; item = item->next)
        take_group(item, arena, &groups[out->n_shown++]);
    out->groups = groups;
}

static void take_classes(const struct json *list, struct arena *arena, struct data_facts *out)
{
    struct data_class *classes = arena_array(arena, count_items(list) + 1, sizeof *classes);

    for (const struct json *item = classes ? items(list) : NULL; item; item = item->next) {
        struct data_class *class = &classes[out->n_kept_classes++];
        const char *name = text_of(json_get(item, "name"), arena);
        int k = 0;

        class->name = name ? name : "";
        class->n_rows = number_of(json_get(item, "n_rows"));
        for (const struct json *o = items(json_get(item, "openings")); o && k < DATA_OPENINGS;
             o = o->next)
            class->openings[k++] = (struct data_opening){.text = text_of(json_get(o, "text"), arena),
                                                         .n_in = number_of(json_get(o, "n_in")),
                                                         .n_out = number_of(json_get(o, "n_out"))};
    }
    out->classes = classes;
}

static struct data_length_rule take_rule(const struct json *item, struct arena *arena)
{
    return (struct data_length_rule){.of = text_of(json_get(item, "of"), arena),
                                     .threshold = number_of(json_get(item, "threshold")),
                                     .n_right = number_of(json_get(item, "n_right")),
                                     .n_rows = number_of(json_get(item, "n_rows")),
                                     .n_majority = number_of(json_get(item, "n_majority")),
                                     .below = text_of(json_get(item, "below"), arena),
                                     .above = text_of(json_get(item, "above"), arena)};
}

static struct data_lengths take_lengths(const struct json *list)
{
    struct data_lengths out = {0};
    int64_t *const heads[] = {&out.n, &out.median, &out.p95, &out.longest, &out.longest_row};
    int i = 0;

    for (const struct json *item = items(list); item && i < 5 + DATA_BINS; item = item->next, i++)
        *(i < 5 ? heads[i] : &out.bins[i - 5]) = number_of(item);
    return out;
}

bool data_take_head(const char *head, struct arena *arena, struct data_facts *out)
{
    const struct json *tree;

    *out = (struct data_facts){0};
    if (json_parse(str_of(head), false, arena, &tree, NULL, NULL) != OK)
        return false;
    out->is_partial = number_of(json_get(tree, "is_partial")) == 1;
    out->has_classes = number_of(json_get(tree, "has_classes")) == 1;
    out->has_labels = number_of(json_get(tree, "has_labels")) == 1;
    for (size_t i = 0; i < N_COUNTS; i++)
        *count_of(out, i) = number_of(json_get(tree, COUNTS[i].name));
    out->missing = text_of(json_get(tree, "missing"), arena);
    out->limits = text_of(json_get(tree, "limits"), arena);
    out->not_grouped = text_of(json_get(tree, "not_grouped"), arena);
    out->form = text_of(json_get(tree, "form"), arena);
    out->spans.longest = text_of(json_get(tree, "span"), arena);
    take_files(json_get(tree, "files"), arena, out);
    take_groups(json_get(tree, "groups"), arena, out);
    take_classes(json_get(tree, "classes"), arena, out);
    out->length_rule = take_rule(json_get(tree, "length_rule"), arena);
    out->pair_rule = take_rule(json_get(tree, "pair_rule"), arena);
    out->input = take_lengths(json_get(tree, "input"));
    out->target = take_lengths(json_get(tree, "target"));
    if (out->n_shared_words < 0 || out->n_shared_words > DATA_OPENINGS - 2)
        out->n_shared_words = 0;
    return out->n_rows >= 0 && !arena_failed(arena);
}
