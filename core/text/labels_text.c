/* From a row to text and tokens, for all rules: rendering, encoding, joining pieces that a trainer
 * encodes one by one. No masks here. */
#include "core/text/labels_parts.h"
#include "core/text/tokenizer/tokenizer_parts.h"

int labels_render(struct labeller *l, const struct chat_request *request, struct jinja_output *out,
                  struct error *err)
{
    struct chat_request full = *request;
    struct jinja_failure failure = {.kind = JINJA_RUNTIME};
    struct error why = {.status = OK};

    if (!l->chat_template)
        return error_set(err, E_UNSUPPORTED,
                         "the row has turns and no chat template is known, import one");
    if (!json_is(request->messages, JSON_ARRAY) || request->messages->n == 0)
        return labels_refuse(l, "the row has no messages");
    full.special_tokens = l->special_tokens;
    int rc = chat_template_render(l->chat_template, &full, &l->jinja, l->arena, out, &failure, &why);
    if (rc == OK)
        return OK;
    if (rc == E_NOMEM) {
        if (err)
            *err = why;
        return rc;
    }
    l->is_too_much = failure.kind == JINJA_LIMIT;
    if (rc != E_PARSE)
        return labels_refuse(l, "template: %s", why.message);
    if (failure.line > 0)
        return labels_refuse(l, "template line %d: %s", failure.line, failure.message);
    return labels_refuse(l, "template: %s", failure.message);
}

static int encode(struct labeller *l, struct str text, bool add_special, struct tokens *out,
                  struct error *err)
{
    struct error why = {.status = OK};
    int rc = tokenizer_encode(l->tokenizer, l->scratch, text, add_special, out, &why);

    if (rc == E_NOMEM || rc == OK) {
        if (err && rc != OK)
            *err = why;
        return rc;
    }
    l->is_too_much = rc == E_LIMIT;
    return labels_refuse(l, "cannot be tokenised: %s", why.message);
}

static void count_added(struct labeller *l)
{
    int64_t last = tokenizer_last_added(l->tokenizer);

    l->n_added = 0;
    while (last != NONE && l->n_added < l->row.n) {
        size_t i = l->row.n - 1 - l->n_added;

        if (l->row.ids[i] != last || l->row.begin[i] != l->row.end[i])
            return;
        l->n_added++;
    }
}

int labels_encode(struct labeller *l, struct str text, bool add_special, struct error *err)
{
    l->shown = text;
    int rc = encode(l, text, add_special, &l->row, err);
    if (rc != OK || l->is_refused)
        return rc;
    if (add_special)
        count_added(l);
    return OK;
}

int labels_append(struct labeller *l, struct str text, bool add_special, struct error *err)
{
    uint32_t at = (uint32_t)l->text.n;
    int rc = encode(l, text, add_special, &l->extra, err);

    if (rc != OK || l->is_refused)
        return rc;
    buf_str(&l->text, text);
    l->shown = buf_view(&l->text);
    if (l->text.failed)
        return labels_refuse(l, "longer than %zu bytes", LABELS_TEXT_BYTES);
    for (size_t i = 0; rc == OK && i < l->extra.n; i++)
        rc = tokens_push(&l->row, l->extra.ids[i], l->extra.begin[i] + at, l->extra.end[i] + at,
                         err);
    return rc;
}

int labels_append_id(struct labeller *l, uint32_t id, struct error *err)
{
    size_t at = l->text.n;
    struct str spelling = tokenizer_token(l->tokenizer, id);

    if (spelling.p)
        buf_str(&l->text, spelling);
    l->shown = buf_view(&l->text);
    if (l->text.failed)
        return labels_refuse(l, "longer than %zu bytes", LABELS_TEXT_BYTES);
    return tokens_push(&l->row, id, (uint32_t)at, (uint32_t)l->text.n, err);
}

static struct json *copies_behind(struct labeller *l, struct json *list, struct json *last,
                                  const struct json *from)
{
    for (const struct json *item = from ? from->child : NULL; item; item = item->next) {
        struct json *copy = arena_alloc(l->arena, sizeof *copy);

        if (!copy)
            return last;
        *copy = *item;
        copy->next = NULL;
        if (last)
            last->next = copy;
        else
            list->child = copy;
        last = copy;
        list->n++;
    }
    return last;
}

const struct json *labels_joined(struct labeller *l, const struct json *a, const struct json *b)
{
    struct json *list = arena_alloc(l->arena, sizeof *list);

    if (!list)
        return NULL;
    list->type = JSON_ARRAY;
    struct json *last = copies_behind(l, list, NULL, a);
    (void)copies_behind(l, list, last, b);
    return list;
}
