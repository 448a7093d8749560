/* From the tokens of a row to its numbers, and from the rows to the totals of an audit. Knows
 * neither files nor trainers. */
#include <stdlib.h>
#include <string.h>

#include "core/facts/audit_parts.h"

#define FIRST_ROWS 256

/* ---- One row ---- */

static uint32_t count_labels(const struct audit_tokens *t, struct audit_row *out)
{
    size_t n_all = 0, n_kept = 0, n_prompt = 0;
    bool is_cut = t->first_kept > 0 || t->end_kept < t->n;
    uint32_t flags = t->side ? AUDIT_HAS_SIDES : 0u;

    for (size_t i = 0; i < t->n; i++) {
        if (!t->trained[i])
            continue;
        n_all++;
        if (i < t->first_kept || i >= t->end_kept)
            continue;
        n_kept++;
        n_prompt += t->side && (t->side[i] == SIDE_OF_SYSTEM || t->side[i] == SIDE_OF_USER ||
                                t->side[i] == SIDE_OF_TOOL || t->side[i] == SIDE_OF_HEADER);
    }
    out->n_trained = (int32_t)n_kept;
    out->n_trained_prompt = (int32_t)n_prompt;
    if (n_kept == 0)
        flags |= AUDIT_ALL_MASKED;
    if (n_kept == t->end_kept - t->first_kept && n_kept > 0)
        flags |= AUDIT_ALL_TRAINED;
    if (is_cut && n_kept < n_all)
        flags |= AUDIT_CUT_ANSWER | (n_kept == 0 ? AUDIT_CUT_TO_NOTHING : 0u);
    return flags;
}

/* Where the vocabulary is not there, one token behind the end of a turn is taken for the newline
 * that templates print. */
static bool is_passed_over(const struct audit_ids *ids, const struct audit_tokens *t, size_t i,
                           bool is_first)
{
    if (ids->vocabulary)
        return audit_ids_is_newline(ids, t->ids[i]);
    return is_first && i > t->first_kept && t->trained[i - 1] &&
           !audit_ids_is_special(ids, t->ids[i]) && audit_ids_is_stop(ids, t->ids[i - 1]);
}

static uint32_t find_last(const struct audit_ids *ids, const struct audit_tokens *t,
                          struct audit_row *out)
{
    bool is_first = true;

    for (size_t i = t->end_kept; i-- > t->first_kept;) {
        if (!t->trained[i])
            continue;
        if (is_passed_over(ids, t, i, is_first)) {
            is_first = false;
            continue;
        }
        out->last_id = (int32_t)t->ids[i];
        return audit_ids_is_stop(ids, t->ids[i]) ? AUDIT_END_TRAINED : 0u;
    }
    return 0;
}

static bool is_pad_eos(const struct audit_ids *ids, uint32_t id)
{
    return ids->pad == (int64_t)id && (ids->pad == ids->eos || ids->pad == ids->turn_end);
}

static uint32_t look_at_ids(const struct audit_ids *ids, const struct audit_tokens *t)
{
    uint32_t flags = 0;

    if (t->n >= 2 && t->ids[0] == t->ids[1] && t->ids[0] != AUDIT_NO_ID) {
        flags |= AUDIT_STARTS_TWICE;
        if (ids->bos == (int64_t)t->ids[0])
            flags |= AUDIT_TWO_BOS;
    }
    for (size_t i = t->first_kept; i < t->end_kept; i++) {
        if (t->ids[i] == AUDIT_NO_ID)
            continue;
        if (is_pad_eos(ids, t->ids[i])) {
            flags |= AUDIT_HAS_PAD_EOS;
            if (t->trained && t->trained[i])
                flags |= AUDIT_PAD_EOS_TRAINED;
        }
        if (ids->first_new != NONE && t->ids[i] >= ids->first_new)
            flags |= AUDIT_HAS_NEW_ID;
        if (ids->n_vocab != NONE && t->ids[i] >= ids->n_vocab)
            flags |= AUDIT_BAD_ID;
    }
    return flags;
}

void audit_row_count(const struct audit_ids *ids, const struct audit_tokens *tokens,
                     struct audit_row *out)
{
    *out = (struct audit_row){.n_tokens = (int32_t)tokens->n,
                              .n_prompt = (int32_t)tokens->n_prompt,
                              .n_trained = -1,
                              .last_id = -1};
    out->flags = look_at_ids(ids, tokens);
    if (tokens->first_kept > 0 || tokens->end_kept < tokens->n)
        out->flags |= AUDIT_CUT;
    if (ids->max_length != NONE && !ids->cut_keeps_end && tokens->n_prompt != NONE &&
        tokens->n_prompt >= ids->max_length)
        out->flags |= AUDIT_PROMPT_FILLS;
    if (tokens->trained) {
        out->flags |= count_labels(tokens, out);
        out->flags |= find_last(ids, tokens, out);
    }
}

/* ---- Which ids ---- */

static bool has_id(const struct seen_ids *seen, int64_t id)
{
    for (size_t i = 0; i < seen->n_new_ids; i++)
        if (seen->new_ids[i] == id)
            return true;
    return false;
}

void audit_seen_of(const struct audit_ids *ids, const uint32_t *of, size_t n, struct seen_ids *out)
{
    out->max_id = NONE;
    out->n_new_ids = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t id = of[i];

        if (of[i] == AUDIT_NO_ID)
            continue;
        if (id > out->max_id)
            out->max_id = id;
        if (ids->first_new != NONE && id >= ids->first_new && out->n_new_ids < AUDIT_MAX_NEW_IDS &&
            !has_id(out, id))
            out->new_ids[out->n_new_ids++] = id;
    }
}

void audit_add_seen(struct audit_job *job, const struct seen_ids *seen)
{
    if (seen->max_id > job->max_id) {
        job->max_id = seen->max_id;
        job->max_id_row = (int64_t)job->list.n;
    }
    for (size_t i = 0; i < seen->n_new_ids && job->new_ids; i++) {
        size_t k = 0;

        while (k < job->n_new_ids && job->new_ids[k].id != seen->new_ids[i])
            k++;
        if (k == AUDIT_MAX_NEW_IDS)
            continue;
        if (k == job->n_new_ids)
            job->new_ids[job->n_new_ids++].id = seen->new_ids[i];
        job->new_ids[k].n_rows++;
    }
}

/* ---- All rows ---- */

int audit_list_add(struct audit_list *list, const struct audit_row *row, struct error *err)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : FIRST_ROWS;
        struct audit_row *rows = capacity < SIZE_MAX / sizeof *rows
                                     ? realloc(list->rows, capacity * sizeof *rows)
                                     : NULL;

        if (!rows)
            return error_set(err, E_NOMEM, "no memory for %zu audited rows", capacity);
        list->rows = rows;
        list->capacity = capacity;
    }
    list->rows[list->n++] = *row;
    return OK;
}

void audit_list_free(struct audit_list *list)
{
    free(list->rows);
    *list = (struct audit_list){0};
}

static int by_value(const void *pa, const void *pb)
{
    int32_t a = *(const int32_t *)pa, b = *(const int32_t *)pb;

    return (a > b) - (a < b);
}

/* The last id of most rows; of two the smaller one. */
static int find_mode(struct audit *audit, struct error *err)
{
    int32_t *last = malloc((size_t)(audit->n_rows + 1) * sizeof *last);
    size_t n = 0;

    if (!last)
        return error_set(err, E_NOMEM, "no memory for the last ids of %lld rows",
                         (long long)audit->n_rows);
    for (int64_t i = 0; i < audit->n_rows; i++)
        if (audit->rows[i].last_id >= 0)
            last[n++] = audit->rows[i].last_id;
    qsort(last, n, sizeof *last, by_value);
    for (size_t i = 0, from = 0; i < n; i++) {
        if (last[i] != last[from])
            from = i;
        if ((int64_t)(i - from + 1) > audit->n_last_id) {
            audit->n_last_id = (int64_t)(i - from + 1);
            audit->last_id = last[i];
        }
    }
    free(last);
    return OK;
}

int audit_sum(struct audit *audit, const struct audit_ids *ids, struct arena *arena,
              struct error *err)
{
    for (int64_t i = 0; i < audit->n_rows; i++) {
        const struct audit_row *row = &audit->rows[i];

        for (int flag = 0; flag < AUDIT_N_FLAGS; flag++)
            audit->n_flagged[flag] += (row->flags >> flag) & 1;
        if (row->n_tokens > 0)
            audit->n_tokens += row->n_tokens;
        if (row->n_trained > 0)
            audit->n_trained += row->n_trained;
        audit->n_trained_prompt += row->n_trained_prompt;
        audit->n_with_sides += (row->flags & AUDIT_HAS_SIDES) != 0;
    }
    audit->last_id = NONE;
    int rc = find_mode(audit, err);
    if (rc != OK)
        return rc;
    audit->last_text = audit_ids_text(ids, audit->last_id, arena);
    audit->last_is_special = audit_ids_is_special(ids, audit->last_id);
    return OK;
}
