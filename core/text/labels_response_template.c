/* DataCollatorForCompletionOnlyLM: everything up to the response template is masked (MASKS.md section 1).
 * It works on the ids of rows that are cut already. Which tokens a row has is TRL's affair (labels_trl.c). */
#include "core/text/labels_parts.h"

/* The collator compares with the labels, where pad ids are masked: a marker with a pad id is never met. */
static bool stands_at(const struct labeller *l, const struct id_list *marker, size_t at, size_t end)
{
    const struct label_policy *policy = &l->policy;

    if (marker->n == 0 || end - at < marker->n)
        return false;
    for (size_t i = 0; i < marker->n; i++) {
        if (l->row.ids[at + i] != marker->ids[i])
            return false;
        if (policy->masks_pad_id && policy->pad_id == marker->ids[i])
            return false;
    }
    return true;
}

static size_t next_of(const struct labeller *l, const struct id_list *marker, size_t from, size_t end)
{
    while (from < end && !stands_at(l, marker, from, end))
        from++;
    return from;
}

struct range {
    size_t begin, end;
};

/* Masks tokens of `only` alone: the rule is applied once to what the cut leaves and once to the whole. */
static void mask(struct labeller *l, struct range only, size_t begin, size_t end,
                 enum label_why why)
{
    labels_mask(l, begin > only.begin ? begin : only.begin, end < only.end ? end : only.end, why);
}

/* The last response marker decides. */
static bool apply_last(struct labeller *l, struct range rows, struct range only)
{
    size_t last = rows.end, at = next_of(l, &l->response, rows.begin, rows.end);

    while (at < rows.end) {
        last = at;
        at = next_of(l, &l->response, at + 1, rows.end);
    }
    if (last == rows.end) {
        mask(l, only, rows.begin, rows.end, WHY_NO_MARKER);
        return false;
    }
    mask(l, only, rows.begin, last, WHY_PROMPT);
    mask(l, only, last, last + l->response.n, WHY_HEADER);
    return true;
}

static size_t count_of(const struct labeller *l, const struct id_list *marker, struct range rows)
{
    size_t n = 0;

    for (size_t at = next_of(l, marker, rows.begin, rows.end); at < rows.end;
         at = next_of(l, marker, at + 1, rows.end))
        n++;
    return n;
}

static size_t last_of(const struct labeller *l, const struct id_list *marker, struct range rows)
{
    size_t last = rows.begin;

    for (size_t at = next_of(l, marker, rows.begin, rows.end); at < rows.end;
         at = next_of(l, marker, at + 1, rows.end))
        last = at;
    return last;
}

/* Instruction starts and response ends are paired in order; a row that begins with a response has an
 * instruction at its start. */
static bool apply_pairs(struct labeller *l, struct range rows, struct range only)
{
    size_t n_r = count_of(l, &l->response, rows), n_h = count_of(l, &l->instruction, rows);

    if (n_r == 0 || n_h == 0) {
        mask(l, only, rows.begin, rows.end, WHY_NO_MARKER);
        return false;
    }
    size_t h = next_of(l, &l->instruction, rows.begin, rows.end);
    size_t last_h = last_of(l, &l->instruction, rows);
    size_t r = next_of(l, &l->response, rows.begin, rows.end);
    bool is_shifted = h > r + l->response.n;
    n_h += is_shifted;
    size_t n = n_r < n_h ? n_r : n_h;
    for (size_t i = 0; i < n; i++) {
        size_t start = i == 0 ? rows.begin : h;

        mask(l, only, start, r, WHY_PROMPT);
        mask(l, only, start > r ? start : r, r + l->response.n, WHY_HEADER);
        r = next_of(l, &l->response, r + 1, rows.end);
        if (i > 0 || !is_shifted)
            h = next_of(l, &l->instruction, h + 1, rows.end);
    }
    if (n_r < n_h)
        mask(l, only, last_h, rows.end, WHY_PROMPT);
    return true;
}

static bool apply(struct labeller *l, struct range rows, struct range only)
{
    return l->instruction.n ? apply_pairs(l, rows, only) : apply_last(l, rows, only);
}

static bool has_response(const struct labeller *l)
{
    return next_of(l, &l->response, 0, l->n) < l->n;
}

int labels_response_template(struct labeller *l, const struct conversation *row, struct error *err)
{
    struct range whole = {0, 0}, kept;
    int rc = l->policy.appends_eos ? labels_trl(l, row, err) : labels_trl_old(l, row, err);

    if (rc != OK || l->is_refused)
        return rc;
    whole.end = l->n;
    if (l->n == 0)
        return OK;
    memset(l->trained, 1, l->n);
    memset(l->why, WHY_TRAINED, l->n);
    bool is_cut = labels_cut_ends(l, &kept.begin, &kept.end);
    bool is_found = apply(l, kept, kept);
    if (is_cut || kept.begin > 0) {
        is_found |= apply(l, whole, (struct range){0, kept.begin});
        is_found |= apply(l, whole, (struct range){kept.end, whole.end});
    }
    l->marker_missing = !is_found;
    if (!is_found)
        labels_find_nearest(l, has_response(l) ? &l->instruction : &l->response);
    return OK;
}
