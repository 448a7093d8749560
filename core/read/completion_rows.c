/* Logged completions of several trainers. See completion_rows.h. */
#include "core/read/completion_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/model.h"
#include "core/read/rows.h"

#define ROW_ARENA      ((size_t)256 << 20)
#define DOCUMENT_ARENA ((size_t)768 << 20)
#define JOINED_BYTES   ((size_t)8 << 20)

enum { TABLE_COLUMNS = 128 };

struct reading {
    const struct completion_handler *handler;
    struct error *err;
    int64_t file_step;
    struct buf prompt, text;    /* of messages */
};

static bool is_one_of(struct str name, const char *const *names)
{
    for (; *names; names++)
        if (str_is(name, *names))
            return true;
    return false;
}

static const char *const STEPS[] = {"step", "gen_step", "global_step", NULL};
static const char *const PROMPTS[] = {"prompt", "input", "messages", "query", NULL};
static const char *const TEXTS[] = {"completion", "output", "response", NULL};
static const char *const ADVANTAGES[] = {"advantage", "advantages", NULL};

/* ---- Values ---- */

/* Rewards are numbers; verl once wrote all as texts; a check of right or wrong may be a boolean. */
static bool take_number(const struct json *value, double *out)
{
    *out = NAN;
    if (json_is(value, JSON_NUMBER))
        *out = value->number;
    else if (json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE))
        *out = value->type == JSON_TRUE;
    else if (!json_is(value, JSON_STRING) || !number_parse_any(str_trim(value->text), out))
        return false;
    return isfinite(*out);
}

static int64_t take_step(const struct json *value)
{
    double number;

    return take_number(value, &number) && number >= 0.0 && number < 9e15 ? (int64_t)number : NONE;
}

/* The texts of the assistant's messages; of others all that is text. */
static void join_messages(const struct json *list, struct buf *out)
{
    buf_clear(out);
    for (const struct json *message = list->child; message; message = message->next) {
        const struct json *content = json_get(message, "content");

        if (json_is(message, JSON_STRING))
            content = message;
        if (!json_is(content, JSON_STRING))
            continue;
        if (out->n)
            buf_putc(out, '\n');
        buf_str(out, content->text);
    }
}

static bool take_text(const struct json *value, struct buf *room, struct str *out)
{
    if (json_is(value, JSON_STRING)) {
        *out = value->text;
        return true;
    }
    if (!json_is(value, JSON_ARRAY))
        return false;
    join_messages(value, room);
    *out = buf_view(room);
    return !room->failed;
}

static void take_prompt(const struct json *value, struct buf *room, struct str *out)
{
    if (json_is(value, JSON_STRING)) {
        *out = value->text;
    } else if (json_is(value, JSON_ARRAY) || json_is(value, JSON_OBJECT)) {
        buf_clear(room);
        json_write(room, value);
        if (!room->failed)
            *out = buf_view(room);
    }
}

/* ---- One row ---- */

static void take_member(struct reading *reading, struct str name, const struct json *value,
                        struct completion_row *row)
{
    double number;

    if (is_one_of(name, STEPS)) {
        int64_t step = take_step(value);
        row->step = step == NONE ? row->step : step;
    } else if (is_one_of(name, PROMPTS)) {
        if (!row->prompt.p)
            take_prompt(value, &reading->prompt, &row->prompt);
    } else if (is_one_of(name, TEXTS)) {
        if (!row->text.p)
            (void)take_text(value, &reading->text, &row->text);
    } else if (is_one_of(name, ADVANTAGES)) {
        if (take_number(value, &number))
            row->advantage = number;
    } else if (row->n_values < COMPLETION_VALUES && take_number(value, &number)) {
        row->values[row->n_values++] = (struct completion_value){name, number};
    }
}

static void begin_row(const struct reading *reading, int64_t line, struct completion_row *row)
{
    row->line = line;
    row->step = reading->file_step;
    row->prompt = row->text = (struct str){0};
    row->advantage = NAN;
    row->n_values = 0;
}

static int give_row(struct reading *reading, const struct completion_row *row)
{
    const struct completion_handler *handler = reading->handler;

    if (!row->text.p)
        return handler->bad(handler->ctx, row->line, "a row without a completion that is a text",
                            reading->err);
    return handler->row(handler->ctx, row, reading->err);
}

static int give_object(struct reading *reading, const struct json *object, int64_t line)
{
    struct completion_row row;

    begin_row(reading, line, &row);
    for (const struct json *member = object->child; member; member = member->next)
        take_member(reading, member->key, member, &row);
    return give_row(reading, &row);
}

/* ---- A line that holds columns ---- */

static bool holds_columns(const struct json *object)
{
    const struct json *text = json_get(object, "completion"), *step = json_get(object, "step");

    if (!step)
        step = json_get(object, "gen_step");
    return json_is(text, JSON_ARRAY) && json_is(step, JSON_ARRAY);
}

/* Columns of unequal length: rows end with the completions, what is missing is not stated. */
static int give_columns(struct reading *reading, const struct json *object, int64_t line)
{
    const struct json *at[TABLE_COLUMNS];
    struct str names[TABLE_COLUMNS];
    size_t n = 0, n_rows = json_get(object, "completion")->n;
    int rc = OK;

    for (const struct json *member = object->child; member && n < TABLE_COLUMNS;
         member = member->next) {
        names[n] = member->key;
        if (member->type == JSON_ARRAY)
            at[n++] = member->child;
    }
    for (size_t i = 0; i < n_rows && rc == OK; i++) {
        struct completion_row row;

        begin_row(reading, line, &row);
        for (size_t k = 0; k < n; k++) {
            if (!at[k])
                continue;
            take_member(reading, names[k], at[k], &row);
            at[k] = at[k]->next;
        }
        rc = give_row(reading, &row);
    }
    return rc;
}

/* ---- Files ---- */

static int read_rows(struct reading *reading, const char *path)
{
    struct rows *rows = NULL;
    struct arena *arena = arena_open(ROW_ARENA);
    int rc = arena ? rows_open(&rows, path, reading->err)
                   : error_set(reading->err, E_NOMEM, "no memory for the rows of completions");

    while (rc == OK) {
        const struct json *object = NULL;
        struct row_place place = {.line = NONE};
        struct error why = {0};

        arena_reset(arena);
        rc = rows_next(rows, arena, &object, &place, &why, reading->err);
        if (rc != 1)
            break;
        if (!object || object->type != JSON_OBJECT)
            rc = reading->handler->bad(reading->handler->ctx, place.line,
                                       object ? "a row that is no JSON object" : why.message,
                                       reading->err);
        else if (holds_columns(object))
            rc = give_columns(reading, object, place.line);
        else
            rc = give_object(reading, object, place.line);
    }
    rows_close(rows);
    arena_close(arena);
    return rc;
}

static size_t column_names(const struct json *columns, struct str names[TABLE_COLUMNS])
{
    size_t n = 0;

    for (const struct json *name = json_is(columns, JSON_ARRAY) ? columns->child : NULL;
         name && n < TABLE_COLUMNS; name = name->next)
        names[n++] = json_is(name, JSON_STRING) ? name->text : (struct str){"", 0};
    return n;
}

static int give_table(struct reading *reading, const char *path, const struct json *top)
{
    const struct json *data = json_get(top, "data");
    struct str names[TABLE_COLUMNS];
    size_t n = column_names(json_get(top, "columns"), names);
    int64_t number = 0;
    int rc = OK;

    if (n == 0 || !json_is(data, JSON_ARRAY)) {
        rc = error_set(reading->err, E_PARSE, "a table without columns and data");
        error_at(reading->err, path, 1, 0);
        return rc;
    }
    for (const struct json *cells = data->child; cells && rc == OK; cells = cells->next) {
        struct completion_row row;
        const struct json *cell = json_is(cells, JSON_ARRAY) ? cells->child : NULL;

        begin_row(reading, ++number, &row);
        for (size_t i = 0; i < n && cell; i++, cell = cell->next)
            take_member(reading, names[i], cell, &row);
        rc = give_row(reading, &row);
    }
    return rc;
}

static int read_table(struct reading *reading, const char *path)
{
    struct arena *arena = arena_open(DOCUMENT_ARENA);
    const struct json *top = NULL;
    int rc = arena ? json_read_file(path, false, arena, &top, NULL, reading->err)
                   : error_set(reading->err, E_NOMEM, "no memory for a table of completions");

    if (rc == OK)
        rc = give_table(reading, path, top);
    arena_close(arena);
    return rc;
}

int completion_rows_read(const char *path, const struct completion_handler *handler,
                         struct error *err)
{
    struct reading reading = {
        .handler = handler, .err = err, .file_step = completion_name_step(path)};

    buf_init(&reading.prompt, JOINED_BYTES);
    buf_init(&reading.text, JOINED_BYTES);
    int rc = str_ends(str_of(path), ".table.json") ? read_table(&reading, path)
                                                   : read_rows(&reading, path);
    buf_free(&reading.prompt);
    buf_free(&reading.text);
    return rc;
}

int64_t completion_name_step(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct str name = str_of(slash ? slash + 1 : path);
    size_t n = 0, digits = 0;
    int64_t step;

    while (n < name.n && name.p[n] != '.')
        n++;
    while (digits < n && name.p[n - digits - 1] >= '0' && name.p[n - digits - 1] <= '9')
        digits++;
    return digits && number_parse_int(str_from(name.p + n - digits, digits), &step) ? step : NONE;
}
