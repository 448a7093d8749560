/* Unsloth (MASKS.md section 2): its tokens, and train_on_responses_only on their ids. Without markers the
 * labels are TRL's. */
#include <stdlib.h>

#include "core/text/labels_parts.h"

/* ---- Markers ---- */

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for the markers");
}

static size_t common_start(const struct id_list *a, const struct tokens *b)
{
    size_t n = a->n < b->n ? a->n : b->n, k = 0;

    while (k < n && a->ids[k] == b->ids[k])
        k++;
    return k;
}

static size_t common_end(const struct id_list *a, const struct tokens *b)
{
    size_t n = a->n < b->n ? a->n : b->n, k = 0;

    while (k < n && a->ids[a->n - 1 - k] == b->ids[b->n - 1 - k])
        k++;
    return k;
}

/* The part of the ids that stays whatever character touches the marker. */
static int stable_edges(struct labeller *l, struct str text, const struct id_list *ids,
                        size_t edges[2], struct error *err)
{
    static const char PROBES[] = "\\{aA1(.<}>";
    size_t start = 0, end = ids->n;

    for (size_t i = 0; PROBES[i]; i++) {
        buf_clear(&l->text);
        buf_str(&l->text, text);
        buf_putc(&l->text, PROBES[i]);
        int rc = tokenizer_encode(l->tokenizer, l->scratch, buf_view(&l->text), false, &l->extra,
                                  err);
        if (rc != OK)
            return rc;
        size_t k = common_start(ids, &l->extra);
        end = k < end ? k : end;
        buf_clear(&l->text);
        buf_putc(&l->text, PROBES[i]);
        buf_str(&l->text, text);
        rc = tokenizer_encode(l->tokenizer, l->scratch, buf_view(&l->text), false, &l->extra, err);
        if (rc != OK)
            return rc;
        k = ids->n - common_end(ids, &l->extra);
        start = k > start ? k : start;
    }
    edges[0] = start;
    edges[1] = end;
    return OK;
}

static bool has_added(const struct labeller *l, const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (tokenizer_is_added(l->tokenizer, ids[i]) &&
            str_trim(tokenizer_token(l->tokenizer, ids[i])).n > 0)
            return true;
    return false;
}

static int open_marker(struct labeller *l, const struct marker *marker, const struct id_list *ids,
                       struct unsloth_marker *out, struct error *err)
{
    size_t edges[2] = {0, ids->n};

    out->whole.n = ids->n;
    out->whole.ids = malloc((ids->n ? ids->n : 1) * sizeof *ids->ids);
    if (!out->whole.ids)
        return no_memory(err);
    if (ids->n)
        memcpy(out->whole.ids, ids->ids, ids->n * sizeof *ids->ids);
    out->core = 0;
    out->right = ids->n;
    if (!l->policy.stops_at_end_tokens || marker->ids)
        return OK;
    int rc = stable_edges(l, marker->text, ids, edges, err);
    if (rc != OK)
        return rc;
    if (edges[1] > edges[0] && has_added(l, ids->ids + edges[0], edges[1] - edges[0])) {
        out->core = edges[0];
        out->right = edges[1];
    }
    return OK;
}

static bool core_is_prefix(const struct unsloth_marker *a, const struct unsloth_marker *b)
{
    size_t n = a->right - a->core, m = b->right - b->core;

    return n <= m && memcmp(a->whole.ids + a->core, b->whole.ids + b->core,
                            n * sizeof *a->whole.ids) == 0;
}

/* The special tokens that both markers begin with open every turn, of whatever role. */
static int find_message_start(struct labeller *l, struct error *err)
{
    const struct unsloth_marker *q = &l->instruction_edges, *a = &l->response_edges;
    size_t n = 0, most_q = q->right - q->core, most_a = a->right - a->core;
    const uint32_t *qs = q->whole.ids + q->core, *as = a->whole.ids + a->core;
    bool has_text = false;

    while (n < most_q && n < most_a && qs[n] == as[n]) {
        bool is_attribute = (int64_t)qs[n] == l->policy.bos_id || (int64_t)qs[n] == l->eos_id ||
                            (int64_t)qs[n] == l->policy.pad_id;
        bool is_added = tokenizer_is_added(l->tokenizer, qs[n]);

        if (!tokenizer_is_special(l->tokenizer, qs[n]) && !is_attribute)
            return OK;
        has_text |= is_added && str_trim(tokenizer_token(l->tokenizer, qs[n])).n > 0;
        n++;
    }
    if (!has_text)
        return OK;
    l->message_start = malloc(n * sizeof *l->message_start);
    if (!l->message_start)
        return no_memory(err);
    memcpy(l->message_start, qs, n * sizeof *qs);
    l->n_message_start = n;
    return OK;
}

int labels_open_unsloth(struct labeller *l, struct error *err)
{
    const struct label_policy *policy = &l->policy;

    if (!policy->response.text.p && !policy->response.ids)
        return OK;      /* TRL's labels */
    if (l->response.n == 0 || l->instruction.n == 0)
        return error_set(err, E_UNSUPPORTED,
                         "instruction_part and response_part are not both known, import the "
                         "training script or the console log");
    int rc = open_marker(l, &policy->response, &l->response, &l->response_edges, err);
    if (rc == OK)
        rc = open_marker(l, &policy->instruction, &l->instruction, &l->instruction_edges, err);
    if (rc != OK)
        return rc;
    struct unsloth_marker *a = &l->response_edges, *q = &l->instruction_edges;
    if (core_is_prefix(a, q))
        a->right = a->whole.n;
    if (core_is_prefix(q, a))
        q->right = q->whole.n;
    return policy->stops_at_end_tokens ? find_message_start(l, err) : OK;
}

/* ---- Spans ---- */

struct scan {
    struct labeller *l;
    const uint32_t *ids;
    size_t n;
    size_t j, k;            /* the place, and the last place a marker's end was reckoned */
    size_t begin;           /* of the last span found, begin > n: none */
    size_t end;
};

static bool core_at(const struct scan *scan, const struct unsloth_marker *marker, size_t at)
{
    size_t n = marker->right - marker->core;

    return scan->n - at >= n && memcmp(scan->ids + at, marker->whole.ids + marker->core,
                                       n * sizeof *scan->ids) == 0;
}

/* Over the optional ids on both sides of a core: j goes back, k goes on. */
static void extend(struct scan *scan, const struct unsloth_marker *marker)
{
    const uint32_t *ids = marker->whole.ids;

    for (size_t i = marker->core; i > 0 && scan->j >= 1 && scan->ids[scan->j - 1] == ids[i - 1];
         i--)
        scan->j--;
    for (size_t i = marker->right;
         i < marker->whole.n && scan->k < scan->n && scan->ids[scan->k] == ids[i]; i++)
        scan->k++;
}

static bool message_starts_at(const struct scan *scan, size_t at)
{
    const struct labeller *l = scan->l;

    return l->n_message_start > 0 && scan->n - at >= l->n_message_start &&
           memcmp(scan->ids + at, l->message_start, l->n_message_start * sizeof *scan->ids) == 0;
}

/* EOS ends a response and belongs to it; BOS, a new message or another response end it before them. */
static bool ends_at(struct scan *scan, size_t *end)
{
    const struct labeller *l = scan->l;
    int64_t token = scan->ids[scan->j];

    if (!l->policy.stops_at_end_tokens)
        return false;
    if (token == l->eos_id) {
        *end = scan->j + 1;
        return true;
    }
    if (token != l->policy.bos_id && !message_starts_at(scan, scan->j) &&
        !core_at(scan, &l->response_edges, scan->j))
        return false;
    *end = scan->j;
    scan->j--;      /* seen again, so that a response that follows is not passed over */
    return true;
}

/* An instruction marker, or the last token of the row. As in the original, the last token counts as a marker
 * whose end was reckoned before. */
static bool instruction_at(struct scan *scan, size_t *end)
{
    const struct unsloth_marker *marker = &scan->l->instruction_edges;

    if (scan->j != scan->n - 1) {
        if (scan->ids[scan->j] != marker->whole.ids[marker->core])
            return false;
        scan->k = scan->j + (marker->right - marker->core);
        if (!core_at(scan, marker, scan->j))
            return false;
    }
    extend(scan, marker);
    *end = scan->j;
    if (scan->j == scan->n - 1)
        *end = scan->n;
    else
        scan->j = scan->l->policy.stops_at_end_tokens ? scan->k - 1 : scan->k;
    return true;
}

/* The next span from scan->j on. */
static bool next_span(struct scan *scan)
{
    const struct unsloth_marker *marker = &scan->l->response_edges;

    for (; scan->j < scan->n; scan->j++) {
        if (!core_at(scan, marker, scan->j))
            continue;
        scan->k = scan->j + (marker->right - marker->core);
        extend(scan, marker);
        scan->begin = scan->k;
        for (scan->j = scan->k; scan->j < scan->n; scan->j++)
            if (ends_at(scan, &scan->end) || instruction_at(scan, &scan->end)) {
                scan->j++;
                return true;
            }
        scan->j++;
    }
    return false;
}

struct range {
    size_t begin, end;
};

static void keep_span(struct labeller *l, struct range rows, const struct scan *scan,
                      struct range only)
{
    for (size_t i = scan->begin; i < scan->end; i++) {
        size_t at = rows.begin + i;

        if (at < only.begin || at >= only.end || !l->spare[at])
            continue;
        l->trained[at] = 1;
        l->why[at] = WHY_TRAINED;
    }
}

/* Spans among `rows` are trained, as far as they lie in `only`. */
static bool train_spans(struct labeller *l, struct range rows, struct range only)
{
    struct scan scan = {.l = l, .ids = l->row.ids + rows.begin, .n = rows.end - rows.begin};
    struct scan last = scan;
    bool is_found = false;

    while (next_span(&scan)) {
        is_found = true;
        last = scan;
        if (l->policy.last_response_only != YES)
            keep_span(l, rows, &scan, only);
    }
    if (is_found && l->policy.last_response_only == YES)
        keep_span(l, rows, &last, only);
    return is_found;
}

/* A token that was masked before (by the data set's labels, by a completion mask) stays masked. */
static void mask_before_spans(struct labeller *l)
{
    for (size_t i = 0; i < l->n; i++) {
        l->spare[i] = l->trained[i];
        if (!l->trained[i])
            continue;
        l->trained[i] = 0;
        l->why[i] = l->side[i] == SIDE_OF_HEADER      ? WHY_HEADER
                    : l->side[i] == SIDE_OF_ASSISTANT ? WHY_END
                                                      : WHY_PROMPT;
    }
}

static void train_on_responses(struct labeller *l)
{
    struct range whole = {0, l->n}, kept;
    bool is_cut = labels_cut_ends(l, &kept.begin, &kept.end);

    mask_before_spans(l);
    bool is_found = train_spans(l, kept, kept);
    if (is_cut || kept.begin > 0) {
        is_found |= train_spans(l, whole, (struct range){0, kept.begin});
        is_found |= train_spans(l, whole, (struct range){kept.end, whole.end});
    }
    if (is_found)
        return;
    l->marker_missing = true;
    for (size_t i = 0; i < l->n; i++)
        if (l->spare[i])
            l->why[i] = WHY_NO_MARKER;
    labels_find_nearest(l, &l->response);
}

/* ---- Tokens ---- */

/* The second BOS is left out: the row or the template prints one already. */
static bool adds_special(const struct labeller *l, struct str text)
{
    const struct label_policy *policy = &l->policy;
    struct str bos = policy->bos_text;

    if (!bos.p || bos.n == 0)
        return true;
    if (text.n >= bos.n && memcmp(text.p, bos.p, bos.n) == 0)
        return false;
    return !l->template_text.p ||
           memmem(l->template_text.p, l->template_text.n, bos.p, bos.n) == NULL;
}

static int text_row(struct labeller *l, struct str text, struct error *err)
{
    int rc = labels_encode(l, text, adds_special(l, text), err);

    if (rc == OK && !l->is_refused)
        rc = labels_begin(l, err);
    if (rc != OK || l->is_refused)
        return rc;
    int64_t limit = l->policy.max_length;
    if (limit != NONE && (int64_t)l->n > limit) {       /* also where rows are packed afterwards */
        labels_truncate(l, (size_t)limit);
        l->n_kept = (size_t)limit;
    }
    return labels_sides_by_markers(l, err);
}

int labels_unsloth(struct labeller *l, const struct conversation *row, struct error *err)
{
    bool is_text = row->form == ROW_TEXT && row->text.p;
    int rc = is_text ? text_row(l, row->text, err) : labels_trl(l, row, err);

    if (rc != OK || l->is_refused)
        return rc;
    if (l->response.n && l->n)
        train_on_responses(l);
    return OK;
}
