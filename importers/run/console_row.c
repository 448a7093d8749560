/* Reads the dicts that trainers print without building a tree: bare or quoted numbers, nan, inf,
 * None, booleans, tensor(1.5), np.float64(1.5). Nested dicts go through python_literal. */
#include "importers/run/console_row.h"

#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/read/python_literal.h"

#define MAX_NESTING 6

static struct str skip_space(struct str text)
{
    while (text.n > 0 && (text.p[0] == ' ' || text.p[0] == '\t')) {
        text = str_skip(text, 1);
    }
    return text;
}

/* A quoted string at the start: its contents as they stand. Returns the bytes used, 0: none. */
static size_t read_string(struct str text, struct str *out)
{
    if (text.n < 2 || (text.p[0] != '\'' && text.p[0] != '"')) {
        return 0;
    }
    size_t i = 1;
    while (i < text.n && text.p[i] != text.p[0]) {
        i += text.p[i] == '\\' ? 2 : 1;
    }
    if (i >= text.n) {
        return 0;
    }
    *out = str_from(text.p + 1, i - 1);
    return i + 1;
}

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

/* nan, inf, None, True, tensor(1.5, device='cuda:0'): bytes used, 0 when it is none of these. */
static size_t read_word(struct str text, struct console_field *field)
{
    size_t n = text.p[0] == '-' || text.p[0] == '+' ? 1 : 0;
    while (n < text.n && is_word_byte(text.p[n])) {
        n++;
    }
    field->text = str_first(text, n);
    if (number_parse_any(field->text, &field->value)) {
        field->is_number = true;
        return n;
    }
    static const char *const words[] = {"None", "True", "False", "null", "true", "false"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (str_is(field->text, words[i])) {
            return n;
        }
    }
    if (n == 0 || n >= text.n || text.p[n] != '(') {
        return 0;
    }
    const char *close = memchr(text.p + n, ')', text.n - n);
    if (close == NULL) {
        return 0;
    }
    struct str inside = str_from(text.p + n + 1, (size_t)(close - text.p) - n - 1), first;
    if (!str_split(&inside, ',', &first)) {
        return 0;
    }
    field->text = str_trim(first);
    field->is_number = number_parse_any(field->text, &field->value);
    return (size_t)(close - text.p) + 1;
}

/* Bytes of the value, 0 when it is none that a flat row has. */
static size_t read_value(struct str text, struct console_field *field)
{
    if (text.n == 0) {
        return 0;
    }
    size_t used = read_string(text, &field->text);
    if (used > 0) {
        field->is_number = number_parse_any(str_trim(field->text), &field->value);
        return used;
    }
    used = number_prefix(text, &field->value);
    if (used > 0 && (used == text.n || !is_word_byte(text.p[used]))) {
        field->text = str_first(text, used);
        field->is_number = true;
        return used;
    }
    return read_word(text, field);
}

/* "'key': value" and what divides it from the next one. 1 more follow, 0 the end, -1 not flat. */
static int read_member(struct str *text, struct console_row *row)
{
    if (row->n == CONSOLE_MAX_FIELDS) {
        return -1;
    }
    struct console_field *field = &row->fields[row->n];
    *field = (struct console_field){.value = NAN};
    struct str rest = skip_space(*text);
    size_t used = read_string(rest, &field->key);
    rest = skip_space(str_skip(rest, used));
    if (used == 0 || rest.n == 0 || rest.p[0] != ':') {
        return -1;
    }
    rest = skip_space(str_skip(rest, 1));
    used = read_value(rest, field);
    rest = skip_space(str_skip(rest, used));
    if (used == 0 || rest.n == 0 || (rest.p[0] != ',' && rest.p[0] != '}')) {
        return -1;
    }
    row->n++;
    *text = str_skip(rest, 1);
    return rest.p[0] == ',';
}

static void flatten(const struct json *object, const char *prefix, struct arena *arena,
                    struct console_row *row, int depth)
{
    for (const struct json *child = object->child; child != NULL; child = child->next) {
        const char *key = arena_printf(arena, "%s%s%.*s", prefix, prefix[0] != '\0' ? "/" : "",
                                       (int)child->key.n, child->key.p);
        if (child->type == JSON_OBJECT && depth < MAX_NESTING) {
            flatten(child, key, arena, row, depth + 1);
        } else if (row->n < CONSOLE_MAX_FIELDS) {
            struct console_field *field = &row->fields[row->n++];
            *field = (struct console_field){.key = str_of(key), .text = child->text, .value = NAN};
            if (child->type == JSON_NUMBER) {
                field->value = child->number;
                field->is_number = true;
            } else if (child->type == JSON_STRING) {
                field->is_number = number_parse_any(str_trim(child->text), &field->value);
            }
        }
    }
}

static bool read_nested(struct str text, struct arena *arena, struct console_row *row)
{
    const struct json *top;
    size_t used;
    row->n = 0;
    if (python_literal_parse(text, arena, &top, &used, NULL) != OK || !json_is(top, JSON_OBJECT)) {
        return false;
    }
    flatten(top, "", arena, row, 0);
    row->used = used;
    return row->n > 0 && !arena_failed(arena);
}

bool console_row_read(struct str text, struct arena *arena, struct console_row *row)
{
    row->n = 0;
    if (text.n < 6 || text.p[0] != '{') {
        return false;
    }
    struct str rest = str_skip(text, 1);
    int more;
    do {
        more = read_member(&rest, row);
    } while (more == 1);
    if (more == 0) {
        row->used = text.n - rest.n;
        return true;
    }
    return row->n > 0 || str_find(text, ": {") > 0 ? read_nested(text, arena, row) : false;
}

bool console_row_read_pairs(struct str text, struct console_row *row)
{
    row->n = 0;
    struct str rest = text, part;
    while (row->n < CONSOLE_MAX_FIELDS && str_split(&rest, ',', &part)) {
        struct str value = str_trim(part), key;
        if (!str_split(&value, '=', &key)) {
            continue;
        }
        struct console_field *field = &row->fields[row->n];
        *field =
            (struct console_field){.key = str_trim(key), .text = str_trim(value), .value = NAN};
        field->is_number = number_parse_any(field->text, &field->value);
        row->n += field->key.n > 0;
    }
    row->used = text.n;
    return row->n > 0;
}

static bool is_metric_key(struct str key)
{
    static const char *const names[] = {"loss",          "train_loss",   "reward",
                                        "learning_rate", "lr",           "grad_norm",
                                        "train_runtime", "kl",           "eval_loss",
                                        "val_loss",      "objective/kl", "current_steps"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (str_is(key, names[i])) {
            return true;
        }
    }
    return str_starts(key, "eval_") || str_starts(key, "rewards/") || str_ends(key, "/loss") ||
           str_ends(key, "_loss") || str_ends(key, "_loss_step") || str_ends(key, "_loss_epoch");
}

bool console_row_is_metric(const struct console_row *row)
{
    size_t n_numbers = 0;
    bool is_metric = false;
    for (size_t i = 0; i < row->n; i++) {
        n_numbers += row->fields[i].is_number;
        is_metric |= row->fields[i].is_number && is_metric_key(row->fields[i].key);
    }
    return is_metric && n_numbers * 2 >= row->n;
}

/* "786K", "1.2M", "n/a" */
bool console_row_amount(struct str text, double *out)
{
    static const char units[] = "KMBT";
    double factor = 1;
    const char *unit = text.n > 0 ? strchr(units, text.p[text.n - 1]) : NULL;
    if (unit != NULL && *unit != '\0') {
        text.n--;
        for (const char *p = units; p <= unit; p++) {
            factor *= 1000;
        }
    }
    if (!number_parse_any(text, out)) {
        return false;
    }
    *out *= factor;
    return true;
}

/* Lightning counts batches inside an epoch. */
void console_row_count_batches(struct console_row *row)
{
    double epoch = 0, total = 0;
    struct console_field *batch = NULL, *batches = NULL;
    for (size_t i = 0; i < row->n; i++) {
        struct str key = row->fields[i].key;
        epoch = str_is(key, "epoch") ? row->fields[i].value : epoch;
        if (str_is(key, "total")) {
            batches = &row->fields[i];
            total = batches->value;
        }
        batch = str_is(key, "batch") ? &row->fields[i] : batch;
    }
    if (batch != NULL) {
        batch->key = str_of("step");
        batch->value += epoch * total;
    }
    if (batch != NULL && batches != NULL) {
        batches->is_number = false; /* of one epoch: not the plan */
    }
}
