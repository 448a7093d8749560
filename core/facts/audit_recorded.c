/* Rows as a user saved them from a collator (labels_sample.jsonl, token dumps): ids, labels,
 * perhaps an attention mask. Padding is told apart from the row; what was cut is told by the
 * length. */
#include "core/facts/audit_parts.h"

#define IGNORED_LABEL (-100)

/* ---- One row ---- */

static const struct json *list_of(const struct json *line, const char *name)
{
    const struct json *value = json_get(line, name);

    return json_is(value, JSON_ARRAY) ? value : NULL;
}

static bool is_nested(const struct json *list)
{
    return list && json_is(list->child, JSON_ARRAY);
}

/* What stands at a place of a batch, if it is a list. */
static const struct json *as_list(const struct json *value)
{
    return json_is(value, JSON_ARRAY) ? value : NULL;
}

static bool is_whole(const struct json *value)
{
    return json_is(value, JSON_NUMBER) && value->number > INT32_MIN && value->number < INT32_MAX &&
           value->number == (double)(int64_t)value->number;
}

static bool is_id(const struct json *value)
{
    return is_whole(value) && value->number >= 0;
}

static const char *fill_ids(const struct json *ids, struct recorded_row *row)
{
    size_t i = 0;

    for (const struct json *id = ids->child; id; id = id->next) {
        if (!is_id(id))
            return "a token id that is no whole number, or below 0";
        row->ids[i++] = (uint32_t)id->number;
    }
    return NULL;
}

static const char *fill_labels(const struct json *labels, bool has_ids, struct recorded_row *row)
{
    size_t i = 0;

    for (const struct json *label = labels->child; label; label = label->next, i++) {
        if (!is_whole(label))
            return "a label that is no whole number";
        row->trained[i] = label->number != IGNORED_LABEL;
        if (!has_ids)
            row->ids[i] = row->trained[i] && is_id(label) ? (uint32_t)label->number : AUDIT_NO_ID;
    }
    return NULL;
}

static void keep_part(struct recorded_row *row, size_t from, size_t end)
{
    row->ids += from;
    if (row->trained)
        row->trained += from;
    row->n = end - from;
}

static bool is_masked_pad(const struct recorded_row *row, size_t i, int64_t pad)
{
    return row->ids[i] == pad && !(row->trained && row->trained[i]);
}

/* Where the pad token ends a turn as well, the first of the last ones is the row's own end, unless
 * a supervised one stands before it. */
static void drop_padding(struct recorded_row *row, const struct json *mask,
                         const struct audit_ids *ids)
{
    size_t from = 0, end = row->n;

    if (mask && mask->n == row->n) {
        const struct json *bit = mask->child;
        size_t first = row->n, last = 0;

        for (size_t i = 0; bit; i++, bit = bit->next)
            if (json_is(bit, JSON_TRUE) || (json_is(bit, JSON_NUMBER) && bit->number != 0)) {
                first = i < first ? i : first;
                last = i + 1;
            }
        if (last)
            keep_part(row, first, last);
        return;
    }
    if (ids->pad == NONE)
        return;
    while (end > 0 && is_masked_pad(row, end - 1, ids->pad))
        end--;
    if (audit_ids_is_stop(ids, ids->pad) && end < row->n &&
        !(end > 0 && row->ids[end - 1] == ids->pad))
        end++;
    while (from < end && is_masked_pad(row, from, ids->pad))
        from++;
    if (from > 0 && ids->pad == ids->bos)
        from--;
    if (from < end)
        keep_part(row, from, end);
}

/* The lists of one row. */
struct lists {
    const struct json *ids, *labels, *mask; /* NULL: none */
};

/* What is wrong with it, or NULL. */
static const char *read_row(const struct lists *lists, const struct audit_ids *ids,
                            struct arena *arena, struct recorded_row *out)
{
    const struct json *any = lists->ids ? lists->ids : lists->labels;

    *out = (struct recorded_row){0};
    if (!any)
        return "a row without input_ids and labels";
    if (lists->ids && lists->labels && lists->ids->n != lists->labels->n)
        return "input_ids and labels have different lengths";
    if (any->n > AUDIT_MAX_TOKENS)
        return "more tokens than one row can have";
    out->n = any->n;
    out->ids = arena_array(arena, out->n + 1, sizeof *out->ids);
    out->trained = lists->labels ? arena_array(arena, out->n + 1, 1) : NULL;
    if (!out->ids || (lists->labels && !out->trained))
        return "more tokens than memory allows";

    const char *why = lists->ids ? fill_ids(lists->ids, out) : NULL;
    if (!why && lists->labels)
        why = fill_labels(lists->labels, lists->ids != NULL, out);
    if (!why)
        drop_padding(out, lists->mask, ids);
    return why;
}

/* ---- All rows ---- */

static int64_t first_trained(const struct recorded_row *row)
{
    for (size_t i = 0; row->trained && i < row->n; i++)
        if (row->trained[i])
            return (int64_t)i;
    return NONE;
}

static void count(struct audit_job *job, const struct recorded_row *row, struct audit_row *out)
{
    const struct audit_tokens tokens = {.n = row->n,
                                        .ids = row->ids,
                                        .trained = row->trained,
                                        .end_kept = row->n,
                                        .n_prompt = first_trained(row)};

    struct seen_ids seen;

    audit_seen_of(job->ids, row->ids, row->n, &seen);
    audit_add_seen(job, &seen);
    audit_row_count(job->ids, &tokens, out);
}

static int add_row(struct audit_job *job, struct audit *audit, const struct lists *lists,
                   struct arena *arena, struct error *err)
{
    struct recorded_row recorded;
    struct audit_row row;
    const char *why = read_row(lists, job->ids, arena, &recorded);

    if (why)
        return audit_refuse(job, audit, AUDIT_UNREADABLE, why, err);
    count(job, &recorded, &row);
    return audit_list_add(&job->list, &row, err);
}

/* A row, or a batch of rows: ids, labels and mask nested one level. */
static int add_line(struct audit_job *job, struct audit *audit, const struct json *line,
                    struct arena *arena, struct error *err)
{
    struct lists all = {.ids = list_of(line, "input_ids"),
                        .labels = list_of(line, "labels"),
                        .mask = list_of(line, "attention_mask")};
    int rc = OK;

    if (!is_nested(all.ids) && !is_nested(all.labels))
        return add_row(job, audit, &all, arena, err);

    const struct json *ids = all.ids ? all.ids->child : NULL;
    const struct json *labels = all.labels ? all.labels->child : NULL;
    const struct json *mask = is_nested(all.mask) ? all.mask->child : NULL;

    while (rc == OK && (as_list(ids) || as_list(labels))) {
        const struct lists one = {as_list(ids), as_list(labels), as_list(mask)};

        rc = add_row(job, audit, &one, arena, err);
        ids = ids ? ids->next : NULL;
        labels = labels ? labels->next : NULL;
        mask = mask ? mask->next : NULL;
    }
    return rc;
}

/* The limit that was stated, or the longest length that two rows share. */
static int64_t limit_of(const struct audit_ids *ids, const struct audit_list *list)
{
    int64_t longest = NONE;
    int32_t top = -1;
    size_t n_top = 0;

    if (ids->max_length != NONE)
        return ids->max_length;
    for (size_t i = 0; i < list->n; i++) {
        if (list->rows[i].n_tokens > top) {
            top = list->rows[i].n_tokens;
            n_top = 0;
        }
        n_top += list->rows[i].n_tokens == top;
    }
    if (n_top >= 2)
        longest = top;
    return longest;
}

/* A row as long as the limit was cut there when nothing of its answer, or no end of it, is left.
 * False: no row was. */
static bool mark_cut(const struct audit_ids *ids, struct audit_list *list, int64_t limit)
{
    bool found = false;

    for (size_t i = 0; i < list->n && limit > 0; i++) {
        struct audit_row *row = &list->rows[i];

        if (row->n_tokens < limit || row->n_trained < 0)
            continue;
        if (row->flags & AUDIT_ALL_MASKED)
            row->flags |= AUDIT_CUT | AUDIT_CUT_ANSWER | AUDIT_CUT_TO_NOTHING |
                          (ids->cut_keeps_end ? 0u : (uint32_t)AUDIT_PROMPT_FILLS);
        else if (ids->max_length != NONE && ids->n_stops && !(row->flags & AUDIT_END_TRAINED))
            row->flags |= AUDIT_CUT | AUDIT_CUT_ANSWER;
        found = found || (row->flags & AUDIT_CUT);
    }
    return found;
}

static int read_rows(struct audit_job *job, struct audit *audit, struct rows *rows,
                     struct error *err)
{
    struct arena *arena = arena_open(AUDIT_ROW_ARENA);
    const struct json *line;
    struct row_place place;
    struct error why;
    int rc = arena ? 1 : error_set(err, E_NOMEM, "no memory for a row");

    while (rc == 1) {
        rc = rows_next(rows, arena, &line, &place, &why, err);
        if (rc != 1)
            break;
        int added = json_is(line, JSON_OBJECT)
                        ? add_line(job, audit, line, arena, err)
                        : audit_refuse(job, audit, AUDIT_UNREADABLE,
                                       line ? "no JSON object" : why.message, err);
        arena_reset(arena);
        if (added != OK)
            rc = added;
        else if (job->list.n % 256 == 0 && !audit_goes_on(job, (int64_t)job->list.n))
            rc = 0;
    }
    arena_close(arena);
    return rc;
}

int audit_recorded(struct audit_job *job, struct audit *audit, struct error *err)
{
    struct rows *rows = NULL;
    struct error why = {0};
    int rc = rows_open(&rows, job->source->path, &why);

    audit->basis = AUDIT_RECORDED;
    audit->policy = "recorded labels";
    audit->because = facts_file_name(job->facts, job->source->id);
    if (rc == OK)
        rc = read_rows(job, audit, rows, &why);
    rows_close(rows);
    if (rc == E_NOMEM) {
        *err = why;
        return rc;
    }
    if (rc != OK) { /* what can be read of the file was */
        audit->missing = arena_strdup(job->arena, why.message);
        audit->is_partial = true;
    }
    int64_t limit = limit_of(job->ids, &job->list);
    if (mark_cut(job->ids, &job->list, limit))
        audit->max_length = limit;
    return OK;
}
