/* How LLaMA-Factory shares cutoff_len out among the pairs of a row, and the labels of what is left
 * (MASKS.md section 3, rules 3 and 4). */
#include "core/text/labels_llamafactory.h"


static void share_out(size_t n_source, size_t n_target, size_t budget, size_t kept[2])
{
    size_t most;

    if (n_target * 2 < budget)
        most = budget;
    else if (n_source * 2 < budget)
        most = budget - n_source;
    else
        most = (size_t)((double)budget * ((double)n_target / (double)(n_source + n_target)));
    kept[1] = most < n_target ? most : n_target;
    size_t left = budget > kept[1] ? budget - kept[1] : 0;
    kept[0] = left < n_source ? left : n_source;
}

struct cut {
    size_t *kept;               /* tokens kept of each part */
    size_t total;
};

static struct cut cut_pairs(struct llf *llf)
{
    struct labeller *l = llf->l;
    size_t n_pairs = llf->n_turns / 2, total = llf_has_efficient_eos(l);
    struct cut cut = {.kept = arena_array(l->arena, llf->n_turns, sizeof(size_t))};
    int64_t limit = l->policy.max_length;

    for (size_t k = 0; cut.kept && k < n_pairs; k++) {
        size_t pair = l->policy.mask_history == YES ? n_pairs - 1 - k : k;
        const struct part *parts = &llf->parts[2 * pair];
        size_t n_source = parts[0].end - parts[0].begin, n_target = parts[1].end - parts[1].begin;
        size_t *kept = &cut.kept[2 * pair];

        if (limit == NONE) {
            kept[0] = n_source;
            kept[1] = n_target;
        } else if (total >= (size_t)limit) {
            break;
        } else {
            share_out(n_source, n_target, (size_t)limit - total, kept);
        }
        total += kept[0] + kept[1];
    }
    cut.total = total;
    return cut;
}

static void label_pairs(struct llf *llf, const struct cut *cut)
{
    struct labeller *l = llf->l;
    bool is_efficient = llf_has_efficient_eos(l), history = l->policy.mask_history == YES;
    size_t n_pairs = llf->n_turns / 2;

    for (size_t pair = 0; pair < n_pairs; pair++) {
        const struct part *source = &llf->parts[2 * pair], *target = source + 1;
        bool is_later = history ? pair + 1 < n_pairs : pair > 0;

        if (l->policy.train_on_prompt != YES) {
            for (size_t i = source->begin; i < source->end; i++)
                labels_mask(l, i, i + 1,
                            l->side[i] == SIDE_OF_HEADER ? WHY_HEADER : WHY_PROMPT);
            if (is_efficient && is_later && cut->kept[2 * pair] > 0 && l->eos_id != NONE) {
                l->trained[source->begin] = 1;
                l->why[source->begin] = WHY_TRAINED;
                l->label_id[source->begin] = (uint32_t)l->eos_id;
                l->has_label_ids = true;
            }
        }
        if (history && pair + 1 < n_pairs)
            labels_mask(l, target->begin, target->end, WHY_HISTORY);
    }
}

/* What is kept moves to the front, in order; the rest behind it. `order` holds the old places. */
static void move_row(struct labeller *l, const uint32_t *order)
{
    uint32_t *const wide[] = {l->row.ids, l->row.begin, l->row.end, l->label_id};
    uint8_t *const narrow[] = {l->trained, l->why, l->side};

    for (size_t a = 0; a < sizeof wide / sizeof wide[0]; a++) {
        for (size_t i = 0; i < l->n; i++)
            l->spare[i] = wide[a][order[i]];
        memcpy(wide[a], l->spare, l->n * sizeof *l->spare);
    }
    for (size_t a = 0; a < sizeof narrow / sizeof narrow[0]; a++) {
        for (size_t i = 0; i < l->n; i++)
            l->spare[i] = narrow[a][order[i]];
        for (size_t i = 0; i < l->n; i++)
            narrow[a][i] = (uint8_t)l->spare[i];
    }
}

static int keep_front(struct llf *llf, const struct cut *cut)
{
    struct labeller *l = llf->l;
    uint32_t *order = arena_array(l->arena, l->n + 1, sizeof *order);
    size_t n = 0;

    if (!order)
        return error_set(llf->err, E_NOMEM, "no memory to cut a row");
    for (int is_rest = 0; is_rest < 2; is_rest++) {
        for (size_t p = 0; p < llf->n_turns; p++) {
            const struct part *part = &llf->parts[p];
            size_t border = part->begin + cut->kept[p];

            for (size_t i = is_rest ? border : part->begin; i < (is_rest ? part->end : border);
                 i++)
                order[n++] = (uint32_t)i;
        }
        for (size_t i = llf->parts[llf->n_turns - 1].end; !is_rest && i < l->n; i++)
            order[n++] = (uint32_t)i;   /* the EOS of efficient_eos */
    }
    move_row(l, order);
    l->n_kept = cut->total;
    return OK;
}

int llf_end_row(struct llf *llf)
{
    struct labeller *l = llf->l;
    struct cut cut = cut_pairs(llf);
    int rc = OK;

    if (!cut.kept)
        return error_set(llf->err, E_NOMEM, "no memory to cut a row");
    if (llf_has_efficient_eos(l) && l->eos_id != NONE)
        rc = labels_append_id(l, (uint32_t)l->eos_id, llf->err);
    if (rc == OK)
        rc = labels_reserve(l, l->row.n, llf->err);
    if (rc != OK)
        return rc;
    size_t n_sided = llf->parts[llf->n_turns - 1].end;
    l->n = l->row.n;
    memset(l->trained, 1, l->n);
    memset(l->why, WHY_TRAINED, l->n);
    labels_set_side(l, n_sided, l->n, SIDE_OF_ASSISTANT);
    memcpy(l->label_id, l->row.ids, l->n * sizeof *l->label_id);
    l->has_sides = true;
    l->n_prompt = llf->parts[0].end;
    label_pairs(llf, &cut);
    l->has_no_cut = true;
    if (cut.total < l->n)
        rc = keep_front(llf, &cut);
    return rc;
}
