/* Columns and form of a data set. See columns.h. */
#include "importers/dataset/columns.h"

#include <stdio.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/text/conversation.h"

struct column *columns_add(struct columns *columns, struct str name)
{
    struct column *column;

    if (name.n == 0)
        return NULL;
    name = unicode_cut(name, COLUMN_BYTES - 1);
    for (size_t i = 0; i < columns->n; i++)
        if (str_is(name, columns->list[i].name))
            return &columns->list[i];
    if (columns->n == MAX_COLUMNS || !unicode_is_valid(name))
        return NULL;
    column = &columns->list[columns->n++];
    memcpy(column->name, name.p, name.n);
    column->name[name.n] = '\0';
    for (char *p = column->name; *p; p++)
        if (*p == ',')
            *p = ' '; /* the list of columns is joined by commas */
    return column;
}

void columns_see_member(struct columns *columns, const struct json *member)
{
    struct column *column = columns_add(columns, member->key);

    if (!column || column->is_known || member->type == JSON_NULL)
        return;
    column->is_known = true;
    column->is_bool = member->type == JSON_TRUE || member->type == JSON_FALSE;
    column->is_list = member->type == JSON_ARRAY;
}

void columns_see_field(struct columns *columns, const struct json_field *field)
{
    struct column *column = columns_add(columns, field->key);

    if (!column || column->is_known || (!field->is_quoted && str_is(field->text, "null")))
        return;
    column->is_known = true;
    column->is_bool = !field->is_quoted && !field->is_number &&
                      (str_is(field->text, "true") || str_is(field->text, "false"));
}

void columns_join(const struct columns *columns, struct buf *out)
{
    for (size_t i = 0; i < columns->n; i++) {
        if (i)
            buf_putc(out, ',');
        buf_puts(out, columns->list[i].name);
    }
}

/* ---- Form ---- */

static const struct column *find(const struct columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->n; i++)
        if (strcmp(columns->list[i].name, name) == 0)
            return &columns->list[i];
    return NULL;
}

/* A column of nulls alone does not make a form where another one does. */
static bool has(const struct columns *columns, const char *name, bool nulls_count)
{
    const struct column *column = find(columns, name);

    return column && (nulls_count || column->is_known);
}

static bool is_bool(const struct columns *columns, const char *name)
{
    const struct column *column = find(columns, name);

    return column && column->is_bool;
}

/* In the order of TRL, as in core/text/conversation.c. */
static const struct form_rule {
    enum row_form form;
    const char *first, *second; /* both must be there; second may be NULL */
} RULES[] = {
    {ROW_PREFERENCE, "chosen", "rejected"},
    {ROW_TOKENS, "input_ids", NULL},
    {ROW_PROMPT_COMPLETION, "prompt", "completion"},
    {ROW_MESSAGES, "messages", NULL},
    {ROW_SHAREGPT, "conversations", NULL},
    {ROW_SHAREGPT, "conversation", NULL},
    {ROW_ALPACA, "instruction", "output"},
    {ROW_ALPACA, "instruction", "response"},
    {ROW_TEXT, "text", NULL},
};

static bool both(const struct columns *columns, const char *first, const char *second,
                 bool nulls_count, char by[FORM_BY_BYTES])
{
    if (!has(columns, first, nulls_count) || (second && !has(columns, second, nulls_count)))
        return false;
    (void)snprintf(by, FORM_BY_BYTES, "%s%s%s", first, second ? " and " : "", second ? second : "");
    return true;
}

static bool is_question_and_answer(const struct columns *columns, bool nulls_count,
                                   char by[FORM_BY_BYTES])
{
    static const char *const QUESTIONS[] = {"question", "query", "problem", "prompt"};
    static const char *const ANSWERS[] = {"answer", "response", "output"};

    /* A class beside the question makes it a task of another kind. */
    if (find(columns, "label") || find(columns, "labels"))
        return false;
    for (size_t i = 0; i < sizeof QUESTIONS / sizeof *QUESTIONS; i++)
        for (size_t k = 0; k < sizeof ANSWERS / sizeof *ANSWERS; k++)
            if (both(columns, QUESTIONS[i], ANSWERS[k], nulls_count, by))
                return true;
    return false;
}

static enum row_form form_among(const struct columns *columns, bool nulls_count,
                                char by[FORM_BY_BYTES])
{
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++) {
        if (!both(columns, RULES[i].first, RULES[i].second, nulls_count, by))
            continue;
        if (RULES[i].form != ROW_PROMPT_COMPLETION || !is_bool(columns, "label"))
            return RULES[i].form;
        (void)snprintf(by, FORM_BY_BYTES, "prompt, completion and label");
        return ROW_KTO;
    }
    return is_question_and_answer(columns, nulls_count, by) ? ROW_QA : ROW_OTHER;
}

const char *columns_form(const struct columns *columns, char by[FORM_BY_BYTES])
{
    by[0] = '\0';
    enum row_form form = form_among(columns, false, by);

    if (form == ROW_OTHER)
        form = form_among(columns, true, by);
    if (form == ROW_OTHER && find(columns, "prompt"))
        (void)snprintf(by, FORM_BY_BYTES, "prompt");
    return row_form_name(form);
}
