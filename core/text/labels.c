/* The labeller: opening it, taking a row through its rule, cutting and dropping. The rules themselves
 * are labels_*.c, what a policy is called labels_about.c. */
#include "core/text/labels.h"

#include <stdlib.h>

#include "core/text/labels_parts.h"

/* ---- Memory of a row ---- */

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for the labels of a row");
}

static bool grown(void *place, size_t bytes)
{
    void **p = place;
    void *bigger = realloc(*p, bytes);

    if (!bigger)
        return false;
    *p = bigger;
    return true;
}

int labels_reserve(struct labeller *l, size_t n, struct error *err)
{
    if (n <= l->capacity)
        return OK;
    size_t capacity = n + n / 2 + 256;

    if (!grown(&l->trained, capacity) || !grown(&l->why, capacity) || !grown(&l->side, capacity) ||
        !grown(&l->label_id, capacity * sizeof *l->label_id) ||
        !grown(&l->spare, capacity * sizeof *l->spare))
        return no_memory(err);
    l->capacity = capacity;
    return OK;
}

int labels_begin(struct labeller *l, struct error *err)
{
    int rc = labels_reserve(l, l->row.n, err);

    if (rc != OK)
        return rc;
    l->n = l->row.n;
    l->n_prompt = l->n;
    if (l->n == 0)
        return OK;
    memset(l->trained, 1, l->n);
    memset(l->why, WHY_TRAINED, l->n);
    memset(l->side, SIDE_OF_NOBODY, l->n);
    return OK;
}

void labels_mask(struct labeller *l, size_t begin, size_t end, enum label_why why)
{
    if (end > l->n)
        end = l->n;
    if (begin >= end)
        return;
    memset(l->trained + begin, 0, end - begin);
    memset(l->why + begin, why, end - begin);
}

int labels_refuse(struct labeller *l, const char *fmt, ...)
{
    va_list args;

    buf_clear(&l->refusal);
    va_start(args, fmt);
    buf_vprintf(&l->refusal, fmt, args);
    va_end(args);
    l->is_refused = true;
    return OK;
}

/* ---- The cut ---- */

bool labels_cut_ends(const struct labeller *l, size_t *first, size_t *end)
{
    const struct label_policy *policy = &l->policy;
    bool is_cut = !l->has_no_cut && policy->max_length != NONE && !policy->drops_long &&
                  (!policy->packs || policy->packs_whole);

    *first = 0;
    *end = l->n_kept < l->n ? l->n_kept : l->n;
    if (l->n_kept != SIZE_MAX || !is_cut || (int64_t)l->n <= policy->max_length)
        return *end < l->n;
    if (policy->cut_keeps_end && !policy->packs)
        *first = l->n - (size_t)policy->max_length;
    else
        *end = (size_t)policy->max_length;
    return true;
}

static void move_ids(struct labeller *l, uint32_t *values, size_t kept, size_t limit)
{
    size_t n_cut = l->n - limit, n_added = l->n_added;

    memcpy(l->spare, values + kept, n_cut * sizeof *values);
    memmove(values + kept, values + l->n - n_added, n_added * sizeof *values);
    memcpy(values + limit, l->spare, n_cut * sizeof *values);
}

void labels_truncate(struct labeller *l, size_t limit)
{
    if (l->n <= limit || l->n_added == 0 || l->n_added >= limit)
        return;
    size_t kept = limit - l->n_added;

    move_ids(l, l->row.ids, kept, limit);
    move_ids(l, l->row.begin, kept, limit);
    move_ids(l, l->row.end, kept, limit);
    l->n_kept = limit;
}

/* ---- A marker that is not there ---- */

static size_t run_of(const struct labeller *l, const struct id_list *marker, size_t i, size_t m)
{
    size_t n = 0;

    while (i + n < l->n && m + n < marker->n && l->row.ids[i + n] == marker->ids[m + n])
        n++;
    return n;
}

/* The window around the longest run of the marker's ids. */
void labels_find_nearest(struct labeller *l, const struct id_list *marker)
{
    size_t best = 0;

    for (size_t i = 0; i < l->n; i++)
        for (size_t m = 0; m < marker->n; m++) {
            size_t run = run_of(l, marker, i, m);

            if (run <= best)
                continue;
            best = run;
            l->marker_near = i > m ? i - m : 0;
            l->marker_near_n = marker->n;
        }
    if (l->marker_near + l->marker_near_n > l->n)
        l->marker_near_n = l->n - l->marker_near;
}

/* ---- Rows ---- */

static void reset_row(struct labeller *l)
{
    arena_reset(l->arena);
    buf_clear(&l->text);
    l->shown = str_of("");
    l->row.n = 0;
    l->n = 0;
    l->n_kept = SIZE_MAX;
    l->n_added = 0;
    l->n_prompt = 0;
    l->n_places = 0;
    l->n_sources = 0;
    l->has_sides = l->has_label_ids = l->is_refused = l->has_no_cut = false;
    l->is_too_much = false;
    l->marker_missing = false;
    l->marker_near = l->marker_near_n = 0;
}

static int apply_rule(struct labeller *l, const struct conversation *row, struct error *err)
{
    static int (*const RULES[N_MASK_RULES])(struct labeller *, const struct conversation *,
                                            struct error *) = {
        [MASK_TRL] = labels_trl,
        [MASK_TRL_OLD] = labels_trl_old,
        [MASK_RESPONSE_TEMPLATE] = labels_response_template,
        [MASK_UNSLOTH] = labels_unsloth,
        [MASK_LLAMAFACTORY] = labels_llamafactory,
        [MASK_AXOLOTL_CHAT] = labels_axolotl_chat,
        [MASK_AXOLOTL_PROMPT] = labels_axolotl_prompt,
        [MASK_AXOLOTL_TEXT] = labels_axolotl_text,
        [MASK_AXOLOTL_SEGMENTS] = labels_axolotl_segments,
        [MASK_TRAINER] = labels_trainer,
        [MASK_TORCHTUNE] = labels_torchtune,
        [MASK_LITGPT] = labels_litgpt,
    };

    bool works_on_ids = l->policy.rule == MASK_RESPONSE_TEMPLATE || l->policy.rule == MASK_UNSLOTH;
    if (row->form == ROW_TOKENS && !works_on_ids)
        return labels_of_ids(l, row, err);
    return RULES[l->policy.rule](l, row, err);
}

static void mask_pads(struct labeller *l)
{
    const struct label_policy *policy = &l->policy;

    if (!policy->masks_pad_id || policy->pad_id == NONE)
        return;
    for (size_t i = 0; i < l->n; i++)
        if (l->row.ids[i] == policy->pad_id && l->trained[i]) {
            l->trained[i] = 0;
            l->why[i] = WHY_PAD;
        }
}

static bool is_dropping_masked(const struct label_policy *policy)
{
    if (!policy->drops_masked)
        return false;
    return policy->rule != MASK_TRL || (policy->max_length != NONE && !policy->packs);
}

static void decide_drop(struct labeller *l, struct labelled_row *out)
{
    const struct label_policy *policy = &l->policy;
    bool is_axolotl = policy->rule == MASK_AXOLOTL_CHAT || policy->rule == MASK_AXOLOTL_PROMPT ||
                      policy->rule == MASK_AXOLOTL_SEGMENTS;

    if (policy->drops_long && policy->max_length != NONE && !l->has_no_cut &&
        (int64_t)l->n > policy->max_length && l->n_kept == SIZE_MAX) {
        out->is_dropped = true;
        out->drop_reason =
            arena_printf(l->arena, "longer than %lld", (long long)policy->max_length);
        return;
    }
    if (is_axolotl && l->n < 2) {
        out->is_dropped = true;
        out->drop_reason = "shorter than 2";
        return;
    }
    if (!is_dropping_masked(policy))
        return;
    for (size_t i = out->first_kept; i < out->end_kept; i++)
        if (l->trained[i])
            return;
    out->is_dropped = true;
    out->drop_reason = "no supervised token";
}

static void hand_out(struct labeller *l, struct labelled_row *out)
{
    *out = (struct labelled_row){
        .text = l->shown,
        .n = l->n,
        .ids = l->row.ids,
        .begin = l->row.begin,
        .end = l->row.end,
        .trained = l->trained,
        .why = l->why,
        .side = l->side,
        .label_id = l->has_label_ids ? l->label_id : NULL,
        .has_sides = l->has_sides,
        .n_prompt = l->n_prompt,
        .marker_missing = l->marker_missing,
        .marker_near = l->marker_near,
        .marker_near_n = l->marker_near_n,
    };
    (void)labels_cut_ends(l, &out->first_kept, &out->end_kept);
}

static int finish_row(struct labeller *l, int rc, struct labelled_row *out, struct error *err)
{
    if (rc != OK)
        return rc;
    if (arena_failed(l->arena))
        return no_memory(err);
    if (l->is_refused) {
        *out = (struct labelled_row){
            .text = str_of(""), .refused = l->refusal.p, .is_too_much = l->is_too_much};
        return OK;
    }
    mask_pads(l);
    hand_out(l, out);
    return OK;
}

int label_row(struct labeller *l, const struct conversation *row, struct labelled_row *out,
              struct error *err)
{
    reset_row(l);
    int rc = finish_row(l, apply_rule(l, row, err), out, err);
    if (rc == OK && !out->refused)
        decide_drop(l, out);
    return rc;
}

int label_recorded(struct labeller *l, const struct conversation *row, struct labelled_row *out,
                   struct error *err)
{
    reset_row(l);
    l->has_no_cut = true;
    int rc = labels_of_ids(l, row, err);
    bool masks = l->policy.masks_pad_id;
    l->policy.masks_pad_id = false;     /* what was recorded is what was */
    rc = finish_row(l, rc, out, err);
    l->policy.masks_pad_id = masks;
    return rc;
}

/* ---- Opening ---- */

MUST_CHECK static int labels_marker(struct labeller *l, const struct marker *marker,
                                    struct id_list *out, struct error *err)
{
    const uint32_t *ids = marker->ids;
    size_t n = marker->n_ids;

    if (!ids && !marker->text.p)
        return OK;
    if (!ids) {
        int rc = tokenizer_encode(l->tokenizer, l->scratch, marker->text, false, &l->extra, err);
        if (rc != OK)
            return rc;
        ids = l->extra.ids;
        n = l->extra.n;
    }
    out->ids = malloc((n ? n : 1) * sizeof *out->ids);
    if (!out->ids)
        return no_memory(err);
    if (n)
        memcpy(out->ids, ids, n * sizeof *ids);
    out->n = n;
    return OK;
}

static int open_rule(struct labeller *l, struct error *err)
{
    const struct label_policy *policy = &l->policy;

    switch (policy->rule) {
    case MASK_RESPONSE_TEMPLATE:
    case MASK_UNSLOTH: {
        int rc = labels_marker(l, &policy->response, &l->response, err);
        if (rc == OK)
            rc = labels_marker(l, &policy->instruction, &l->instruction, err);
        if (rc == OK && policy->rule == MASK_UNSLOTH)
            rc = labels_open_unsloth(l, err);
        if (rc == OK && policy->rule == MASK_RESPONSE_TEMPLATE && l->response.n == 0)
            rc = error_set(err, E_UNSUPPORTED,
                           "the response template is not known, import the training script");
        return rc;
    }
    case MASK_LLAMAFACTORY:
        return labels_open_llamafactory(l, err);
    case MASK_AXOLOTL_CHAT:
        return labels_open_axolotl(l, err);
    case MASK_TORCHTUNE:
        return labels_open_torchtune(l, err);
    case MASK_TRL:
    case MASK_TRL_OLD:
    case MASK_AXOLOTL_PROMPT:
    case MASK_AXOLOTL_TEXT:
    case MASK_AXOLOTL_SEGMENTS:
    case MASK_TRAINER:
    case MASK_LITGPT:
    case N_MASK_RULES:
        break;
    }
    return OK;
}

static int open_parts(struct labeller *l, struct error *err)
{
    buf_init(&l->text, LABELS_TEXT_BYTES);
    buf_init(&l->refusal, 2048);
    buf_init(&l->header, 4096);
    l->arena = arena_open(ARENA_CHECK_BYTES);
    if (!l->arena)
        return no_memory(err);
    return l->tokenizer ? tokenizer_scratch_open(&l->scratch, err) : OK;
}

int labeller_open(struct labeller **out, const struct labeller_parts *parts, struct error *err)
{
    if (!parts->tokenizer)
        return error_set(err, E_UNSUPPORTED, "the labels need a tokenizer, import tokenizer.json");
    if (parts->policy->rule == MASK_AXOLOTL_CHAT && !parts->chat_template)
        return error_set(err, E_UNSUPPORTED,
                         "the labels need the chat template, import the run's tokenizer folder");
    struct labeller *l = calloc(1, sizeof *l);
    if (!l)
        return no_memory(err);
    l->policy = *parts->policy;
    l->eos_id = l->policy.eos_id;
    l->tokenizer = parts->tokenizer;
    l->chat_template = parts->chat_template;
    l->special_tokens = parts->special_tokens;
    l->jinja = parts->jinja;
    l->jinja.wants_pieces = true;
    l->template_text = parts->template_text;
    int rc = open_parts(l, err);
    if (rc == OK)
        rc = open_rule(l, err);
    if (rc != OK) {
        labeller_close(l);
        return rc;
    }
    *out = l;
    return OK;
}

int labeller_open_recorded(struct labeller **out, const struct tokenizer *tokenizer,
                           struct error *err)
{
    struct labeller *l = calloc(1, sizeof *l);

    if (!l)
        return no_memory(err);
    l->policy = (struct label_policy){
        .rule = MASK_TRAINER, .max_length = NONE, .pad_id = NONE, .eos_id = NONE, .bos_id = NONE};
    l->eos_id = NONE;
    l->tokenizer = tokenizer;
    int rc = open_parts(l, err);
    if (rc != OK) {
        labeller_close(l);
        return rc;
    }
    *out = l;
    return OK;
}

void labeller_close(struct labeller *l)
{
    if (!l)
        return;
    tokenizer_scratch_close(l->scratch);
    arena_close(l->arena);
    jinja_output_free(&l->render);
    jinja_output_free(&l->other);
    tokens_free(&l->row);
    tokens_free(&l->extra);
    buf_free(&l->text);
    buf_free(&l->refusal);
    buf_free(&l->header);
    void *owned[] = {l->trained,       l->why,         l->side,
                     l->label_id,      l->spare,       l->places,
                     l->sources,       l->specials,    l->response.ids,
                     l->instruction.ids, l->response_edges.whole.ids,
                     l->instruction_edges.whole.ids, l->message_start, l->eot_ids};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
    free(l);
}

const uint32_t *labeller_marker_ids(const struct labeller *l, size_t *n)
{
    *n = l->response.n;
    return l->response.ids;
}
