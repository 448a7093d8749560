/* One row of a data set labelled as the run's trainer does it: its numbers, what stands where the
 * marker was looked for. Touches nothing that another worker does. */
#include "core/facts/audit_parts.h"
#include "core/text/labels.h"

#define MAX_MARKER 64 /* ids of a marker that are told */

/* ---- One row ---- */

static bool says_nothing(struct str text)
{
    return str_trim(text).n == 0;
}

static bool has_calls(const struct json *message)
{
    const struct json *calls = json_get(message, "tool_calls");

    return calls && calls->type != JSON_NULL && calls->n > 0;
}

static uint32_t flags_of_turns(const struct json *messages, struct arena *arena)
{
    uint32_t flags = AUDIT_NO_ASSISTANT;

    for (const struct json *m = messages->child; m; m = m->next) {
        if (!str_is(turn_role(m), "assistant"))
            continue;
        flags &= ~(uint32_t)AUDIT_NO_ASSISTANT;
        if (says_nothing(turn_text(m, arena)) && !has_calls(m))
            flags |= AUDIT_EMPTY_ANSWER;
    }
    return flags;
}

static uint32_t flags_of_conversation(const struct conversation *row, struct arena *arena)
{
    if (row->completion_messages)
        return flags_of_turns(row->completion_messages, arena);
    if (row->completion.p)
        return says_nothing(row->completion) ? AUDIT_EMPTY_ANSWER : 0u;
    if (row->messages)
        return flags_of_turns(row->messages, arena);
    return row->text.p && says_nothing(row->text) ? AUDIT_EMPTY_ANSWER : 0u;
}

static void count(const struct audit_ids *ids, const struct labelled_row *labelled,
                  struct audit_row *out)
{
    const struct audit_tokens tokens = {
        .n = labelled->n,
        .ids = labelled->ids,
        .trained = labelled->trained,
        .side = labelled->has_sides ? labelled->side : NULL,
        .first_kept = labelled->first_kept,
        .end_kept = labelled->end_kept,
        .n_prompt = labelled->n_prompt < labelled->n || labelled->has_sides
                        ? (int64_t)labelled->n_prompt
                        : NONE,
    };

    audit_row_count(ids, &tokens, out);
    if (labelled->is_dropped)
        out->flags |= AUDIT_DROPPED;
    if (labelled->marker_missing)
        out->flags |= AUDIT_NO_MARKER;
}

/* ---- The marker ---- */

static const char *ids_as_text(struct label_worker *w, const uint32_t *ids, size_t n)
{
    struct buf text;
    const char *kept;

    buf_init(&text, 4096);
    buf_putc(&text, '[');
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s%u", i ? ", " : "", ids[i]);
    buf_putc(&text, ']');
    kept = arena_strdup(w->arena, text.p ? text.p : "");
    buf_free(&text);
    return kept;
}

static const char *decoded(struct label_worker *w, const uint32_t *ids, size_t n)
{
    struct buf text;
    const char *kept = NULL;

    buf_init(&text, 4096);
    if (tokenizer_decode(w->job->engine->tokenizer, ids, n, false, &text, NULL) == OK && text.n)
        kept = arena_strndup(w->arena, text.p, text.n);
    buf_free(&text);
    return kept;
}

static void tell_marker(struct label_worker *w, const struct labelled_row *row,
                        struct label_result *out)
{
    size_t n;
    const uint32_t *ids = labeller_marker_ids(w->labeller, &n);

    if (w->has_told_marker || n == 0 || n > MAX_MARKER)
        return;
    w->has_told_marker = true;
    out->marker_ids = ids_as_text(w, ids, n);
    out->marker = decoded(w, ids, n);
    if (row->marker_near_n == 0 || row->marker_near_n > MAX_MARKER)
        return;
    out->nearest_ids = ids_as_text(w, row->ids + row->marker_near, row->marker_near_n);
    out->nearest_text = decoded(w, row->ids + row->marker_near, row->marker_near_n);
}

/* ---- The worker ---- */

static int label_by_other(struct label_worker *w, const struct conversation *row,
                          struct label_result *out, struct error *err)
{
    struct labelled_row labelled;

    out->second = (struct audit_row){.n_tokens = -1};
    if (!w->other)
        return OK;
    int rc = label_row(w->other, row, &labelled, err);
    if (rc == OK && !labelled.refused)
        count(w->ids, &labelled, &out->second);
    return rc;
}

static int label(struct label_worker *w, const struct json *line, struct label_result *out,
                 struct error *err)
{
    struct conversation row;
    struct labelled_row labelled = {0};
    int rc = conversation_of_row(line, &w->job->policy->policy.columns, w->scratch, &row, err);

    if (rc == OK)
        rc = label_row(w->labeller, &row, &labelled, err);
    if (rc != OK)
        return rc;
    if (labelled.refused) {
        out->refused = arena_strdup(w->arena, labelled.refused);
        out->is_too_much = labelled.is_too_much;
        return OK;
    }
    count(w->ids, &labelled, &out->row);
    audit_seen_of(w->ids, labelled.ids, labelled.n, &out->seen);
    if (out->row.flags & AUDIT_NO_MARKER)
        tell_marker(w, &labelled, out);
    rc = label_by_other(w, &row, out, err);
    out->row.flags |= flags_of_conversation(&row, w->scratch);
    return rc;
}

void label_worker_row(struct label_worker *worker, const struct json *line,
                      struct label_result *out)
{
    struct error why = {0};

    *out = (struct label_result){.seen = {.max_id = NONE}};
    out->rc = label(worker, line, out, &why);
    if (out->rc != OK)
        out->why = arena_strdup(worker->arena, why.message);
    arena_reset(worker->scratch);
}

int label_worker_open(struct label_worker *worker, struct audit_job *job,
                      const struct audit_ids *ids, struct error *err)
{
    const struct mask_policy *policy = job->policy;
    int rc = OK;

    *worker = (struct label_worker){.job = job,
                                    .ids = ids,
                                    .arena = arena_open(ARENA_VIEW_BYTES),
                                    .scratch = arena_open(AUDIT_ROW_ARENA)};
    if (!worker->arena || !worker->scratch)
        rc = error_set(err, E_NOMEM, "no memory to label rows");
    if (rc == OK)
        rc = audit_engine_labeller(job->engine, &policy->policy, &worker->labeller, err);
    if (rc == OK && policy->has_other)
        rc = audit_engine_labeller(job->engine, &policy->other, &worker->other, err);
    if (rc != OK)
        label_worker_close(worker);
    return rc;
}

void label_worker_close(struct label_worker *worker)
{
    labeller_close(worker->labeller);
    labeller_close(worker->other);
    arena_close(worker->arena);
    arena_close(worker->scratch);
    *worker = (struct label_worker){0};
}
