/* Facts of token rows. See token_rows.h. */
#include "importers/dataset/token_rows.h"

#include "importers/outputs/side_files.h"

#define IGNORED_LABEL (-100.0)

static int32_t bounded(size_t n)
{
    return n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

static bool same_number(const struct json *a, const struct json *b)
{
    return json_is(a, JSON_NUMBER) && json_is(b, JSON_NUMBER) && a->number == b->number;
}

void token_row_facts(const struct json *ids, const struct json *labels, struct sample *out)
{
    size_t n_trained = 0;

    out->flags = 0;
    out->n_tokens = bounded(ids ? ids->n : labels ? labels->n : 0);
    out->n_prompt_tokens = out->n_trained = -1;
    if (labels) {
        for (const struct json *label = labels->child; label; label = label->next)
            n_trained += json_is(label, JSON_NUMBER) && label->number != IGNORED_LABEL;
        out->n_trained = bounded(n_trained);
        if (n_trained == 0)
            out->flags |= TOKEN_ROW_ALL_MASKED;
    }
    if (ids && ids->n >= 2 && same_number(ids->child, ids->child->next))
        out->flags |= TOKEN_ROW_FIRST_TWICE;
}

void token_list_facts(const int64_t *ids, size_t n_ids, const int64_t *labels, size_t n_labels,
                      struct sample *out)
{
    size_t n_trained = 0;

    out->flags = 0;
    out->n_tokens = bounded(n_ids);
    out->n_prompt_tokens = out->n_trained = -1;
    for (size_t i = 0; labels && i < n_labels; i++)
        n_trained += labels[i] != (int64_t)IGNORED_LABEL;
    if (labels)
        out->n_trained = bounded(n_trained);
    if (labels && n_trained == 0)
        out->flags |= TOKEN_ROW_ALL_MASKED;
    if (n_ids >= 2 && ids[0] == ids[1])
        out->flags |= TOKEN_ROW_FIRST_TWICE;
}

static bool is_nested(const struct json *list)
{
    return list && json_is(list->child, JSON_ARRAY);
}

struct token_rows token_rows_of(const struct json *ids, const struct json *labels)
{
    if (!is_nested(ids) && !is_nested(labels))
        return (struct token_rows){.ids = ids, .labels = labels};
    return (struct token_rows){.ids = ids ? ids->child : NULL,
                               .labels = labels ? labels->child : NULL,
                               .is_batch = true};
}

bool token_rows_next(struct token_rows *rows, struct sample *out)
{
    const struct json *ids = json_is(rows->ids, JSON_ARRAY) ? rows->ids : NULL;
    const struct json *labels = json_is(rows->labels, JSON_ARRAY) ? rows->labels : NULL;

    if (rows->is_done || (!ids && !labels))
        return false;
    token_row_facts(ids, labels, out);
    rows->is_done = !rows->is_batch;
    if (rows->is_batch) {
        rows->ids = ids ? ids->next : NULL;
        rows->labels = labels ? labels->next : NULL;
    }
    return true;
}
