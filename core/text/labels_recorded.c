/* Rows that are ids already: labels as they were recorded, the text made from the ids token by token. */
#include "core/text/labels_parts.h"
#include "core/text/tokenizer/tokenizer_parts.h"

enum { WINDOW = 8 };    /* tokens before a piece that decide how it is spelled */

static bool number_of(const struct json *value, double low, double high, int64_t *out)
{
    if (!json_is(value, JSON_NUMBER) || !(value->number >= low && value->number <= high))
        return false;
    *out = (int64_t)value->number;
    return (double)*out == value->number;
}

/* ---- Text ---- */

static bool ends_broken(struct str text)
{
    return str_ends(text, "\xEF\xBF\xBD");
}

struct decoding {
    struct labeller *l;
    struct buf window;
    size_t first, read;     /* ids of the window: [first, read) is spelled already */
    size_t n_read;          /* bytes of that */
};

static int decode(struct decoding *decoding, size_t begin, size_t end, struct error *err)
{
    struct labeller *l = decoding->l;

    buf_clear(&decoding->window);
    return tokenizer_decode(l->tokenizer, l->row.ids + begin, end - begin, false,
                            &decoding->window, err);
}

/* Tokens [read, end) got their text; pieces of one character share it. */
static void settle(struct decoding *decoding, size_t end)
{
    struct labeller *l = decoding->l;
    struct str text = buf_view(&decoding->window);
    size_t begin = l->text.n;

    buf_str(&l->text, str_skip(text, decoding->n_read));
    for (size_t i = decoding->read; i < end; i++) {
        l->row.begin[i] = (uint32_t)begin;
        l->row.end[i] = (uint32_t)l->text.n;
    }
}

/* A piece of a character waits for the rest; a window in front keeps what decoders do at a start (the blank
 * that Metaspace drops) away from the middle. */
static int decode_row(struct labeller *l, struct error *err)
{
    struct decoding decoding = {.l = l};
    int rc = OK;

    buf_init(&decoding.window, LABELS_TEXT_BYTES);
    for (size_t i = 0; i < l->row.n && rc == OK; i++) {
        bool is_last = i + 1 == l->row.n || i - decoding.read >= WINDOW;

        rc = decode(&decoding, decoding.first, i + 1, err);
        if (rc != OK || (ends_broken(buf_view(&decoding.window)) && !is_last))
            continue;
        settle(&decoding, i + 1);
        decoding.read = i + 1;
        decoding.first = i + 1 > WINDOW ? i + 1 - WINDOW / 2 : 0;
        rc = decode(&decoding, decoding.first, decoding.read, err);
        decoding.n_read = decoding.window.n;
    }
    buf_free(&decoding.window);
    l->shown = buf_view(&l->text);
    if (l->text.failed)
        return labels_refuse(l, "longer than %zu bytes", LABELS_TEXT_BYTES);
    return rc;
}

/* ---- Ids and labels ---- */

static int read_ids(struct labeller *l, const struct json *ids, struct error *err)
{
    int rc = OK;

    for (const struct json *id = ids->child; id && rc == OK; id = id->next) {
        int64_t value;

        if (!number_of(id, 0, UINT32_MAX, &value))
            return labels_refuse(l, "input_ids hold something that is no id, at %zu", l->row.n);
        rc = tokens_push(&l->row, (uint32_t)value, 0, 0, err);
    }
    return rc;
}

static bool is_zero(const struct json *value)
{
    return json_is(value, JSON_FALSE) || (json_is(value, JSON_NUMBER) && value->number == 0);
}

/* Labels where the row has them: -100 is masked, another id than the token's own is kept. */
static int read_labels(struct labeller *l, const struct json *labels)
{
    size_t i = 0;

    memcpy(l->label_id, l->row.ids, l->n * sizeof *l->label_id);
    for (const struct json *label = labels->child; label && i < l->n; label = label->next, i++) {
        int64_t value;

        if (!number_of(label, INT32_MIN, UINT32_MAX, &value))
            return labels_refuse(l, "labels hold something that is no label, at %zu", i);
        if (value < 0) {
            labels_mask(l, i, i + 1, WHY_RECORDED);
            continue;
        }
        l->has_label_ids |= value != l->row.ids[i];
        l->label_id[i] = (uint32_t)value;
    }
    labels_mask(l, i, l->n, WHY_RECORDED);
    return OK;
}

static void mask_column(struct labeller *l, const struct json *mask, enum label_why why)
{
    size_t i = 0;

    for (const struct json *bit = mask ? mask->child : NULL; bit && i < l->n; bit = bit->next, i++)
        if (is_zero(bit))
            labels_mask(l, i, i + 1, why);
}

/* The padding at both ends is no part of the row. */
static void drop_padding(struct labeller *l, const struct json *attention)
{
    size_t first = SIZE_MAX, end = 0, i = 0;

    for (const struct json *bit = attention->child; bit && i < l->n; bit = bit->next, i++) {
        if (is_zero(bit))
            continue;
        first = first == SIZE_MAX ? i : first;
        end = i + 1;
    }
    if (first == SIZE_MAX)
        first = end = 0;
    if (first == 0 && end == l->n)
        return;
    l->n = l->row.n = end - first;
    memmove(l->row.ids, l->row.ids + first, l->n * sizeof *l->row.ids);
    memmove(l->label_id, l->label_id + first, l->n * sizeof *l->label_id);
    memmove(l->trained, l->trained + first, l->n);
    memmove(l->why, l->why + first, l->n);
}

int labels_of_ids(struct labeller *l, const struct conversation *row, struct error *err)
{
    const struct json *labels = row->labels;

    if (!row->input_ids || (labels && labels->n != row->input_ids->n))
        return labels_refuse(l, "%s", row->oddity ? row->oddity : "no input_ids");
    int rc = read_ids(l, row->input_ids, err);
    if (rc == OK && !l->is_refused)
        rc = labels_begin(l, err);
    if (rc != OK || l->is_refused || l->n == 0)
        return rc;
    if (labels)
        rc = read_labels(l, labels);
    else
        memcpy(l->label_id, l->row.ids, l->n * sizeof *l->label_id);
    if (rc != OK || l->is_refused)
        return rc;
    if (!labels && l->policy.rule != MASK_TRAINER) {
        if (l->policy.completion_only != NO)
            mask_column(l, json_get(row->row, "completion_mask"), WHY_PROMPT);
        mask_column(l, json_get(row->row, "assistant_masks"), WHY_PROMPT);
    }
    if (row->attention_mask)
        drop_padding(l, row->attention_mask);
    l->n_prompt = l->n;
    if (!l->tokenizer)
        return OK;
    rc = decode_row(l, err);
    return rc == OK && !l->is_refused ? labels_sides_by_markers(l, err) : rc;
}
