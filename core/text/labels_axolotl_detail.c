/* axolotl's training_detail: parts of one content that are trained or masked by character (MASKS.md section
 * 4). The content is encoded alone and its tokens are laid over those of the turn one by one, as axolotl
 * does it. */
#include "core/base/unicode.h"
#include "core/text/labels_axolotl.h"

struct str axolotl_part_text(const struct json *part)
{
    static const char *const KEYS[] = {"text", "content", "value"};

    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        const struct json *text = json_get(part, KEYS[i]);

        if (json_is(text, JSON_STRING) && text->text.n)
            return text->text;
    }
    return str_of("");
}

static bool is_true(const struct json *value)
{
    return json_is(value, JSON_TRUE) || (json_is(value, JSON_NUMBER) && value->number != 0);
}

static bool part_is_trained(const struct json *part)
{
    const struct json *train = json_get(part, "train"), *weight = json_get(part, "weight");

    if (train && train->type != JSON_NULL)
        return is_true(train);
    return !weight || weight->type == JSON_NULL || is_true(weight);
}

static int make_room(struct labeller *l, size_t n, struct details *out, struct error *err)
{
    out->n = 0;
    out->items = arena_array(l->arena, n + 1, sizeof *out->items);
    return out->items ? OK : error_set(err, E_NOMEM, "no memory for the parts of a turn");
}

int axolotl_details_of_parts(struct labeller *l, const struct json *parts, struct details *out,
                             struct error *err)
{
    int64_t at = 0;
    int rc = make_room(l, parts->n, out, err);

    if (rc != OK)
        return rc;
    for (const struct json *part = parts->child; part; part = part->next) {
        int64_t n = (int64_t)unicode_count(axolotl_part_text(part));

        if (n == 0)
            continue;
        out->items[out->n++] = (struct detail){
            .begin = at, .end = at + n - 1, .is_trained = part_is_trained(part)};
        at += n;
    }
    return OK;
}

static bool whole_number(const struct json *value, int64_t *out)
{
    if (!json_is(value, JSON_NUMBER) || !(value->number > -1e15 && value->number < 1e15))
        return false;
    *out = (int64_t)value->number;
    return true;
}

int axolotl_details_of_field(struct labeller *l, const struct json *field, struct details *out,
                             struct error *err)
{
    if (!json_is(field, JSON_ARRAY))
        return labels_refuse(l, "training_detail is not a list");
    int rc = make_room(l, field->n, out, err);
    if (rc != OK)
        return rc;
    for (const struct json *item = field->child; item; item = item->next) {
        struct detail *detail = &out->items[out->n];

        if (!whole_number(json_get(item, "begin_offset"), &detail->begin) ||
            !whole_number(json_get(item, "end_offset"), &detail->end))
            return labels_refuse(l, "training_detail lacks an offset");
        detail->is_trained = is_true(json_get(item, "train"));
        out->n++;
    }
    return OK;
}

/* ---- Over tokens ---- */

/* Each token reaches up to the next one's begin, in code points. */
struct reach {
    int64_t begin, end;
};

static struct reach *reaches_of(struct labeller *l, struct str content)
{
    struct reach *out = arena_array(l->arena, l->extra.n + 1, sizeof *out);
    size_t byte = 0;
    int64_t at = 0;

    for (size_t i = 0; out && i < l->extra.n; i++) {
        size_t begin = l->extra.begin[i];

        while (begin > 0 && begin < content.n && ((unsigned char)content.p[begin] & 0xC0) == 0x80)
            begin--;            /* a piece of a character begins where the character does */
        if (begin > byte) {
            at += (int64_t)unicode_count(str_from(content.p + byte, begin - byte));
            byte = begin;
        }
        out[i].begin = at;
        if (i > 0)
            out[i - 1].end = at - 1;
    }
    if (out && l->extra.n)
        out[l->extra.n - 1].end = (int64_t)unicode_count(content) - 1;
    return out;
}

/* Moved to the borders of tokens: out over the token that a border falls into. */
static bool adjusted(const struct reach *reaches, size_t n, struct detail *detail)
{
    size_t first = 0, last = n;

    while (first < n && reaches[first].begin < detail->begin)
        first++;
    if (first > 0 && reaches[first - 1].end > detail->begin)
        first--;
    while (last > 0 && reaches[last - 1].end > detail->end)
        last--;                 /* `last` is one behind the token that is meant */
    if (last < n && reaches[last].begin < detail->end)
        last++;
    if (last == 0 || first >= last)
        return false;
    detail->begin = reaches[first].begin;
    detail->end = reaches[last - 1].end;
    return true;
}

int axolotl_train_details(struct labeller *l, struct str content, const struct details *details,
                          size_t first, struct error *err)
{
    struct error why = {.status = OK};
    int rc = tokenizer_encode(l->tokenizer, l->scratch, content, false, &l->extra, &why);

    if (rc != OK) {
        if (rc == E_NOMEM && err)
            *err = why;
        return rc == E_NOMEM ? rc : labels_refuse(l, "a turn cannot be tokenised: %s", why.message);
    }
    struct reach *reaches = reaches_of(l, content);
    if (!reaches)
        return error_set(err, E_NOMEM, "no memory for the parts of a turn");
    for (size_t d = 0; d < details->n; d++) {
        struct detail detail = details->items[d];

        if (!adjusted(reaches, l->extra.n, &detail) || !detail.is_trained)
            continue;
        for (size_t i = 0; i < l->extra.n && first + i < l->n; i++) {
            if (reaches[i].begin < detail.begin || reaches[i].end > detail.end)
                continue;
            l->trained[first + i] = 1;
            l->why[first + i] = WHY_TRAINED;
        }
    }
    return OK;
}
