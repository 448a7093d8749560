/* TRL's SFTTrainer (MASKS.md section 1): which text, which tokens, completion and assistant masks; and
 * 0.16 and older, where prompt and completion are one text. The cut and the drop are labels.c's, TRL's
 * own variants of templates labels_patched.c's. */
#include "core/text/labels_parts.h"
#include "core/text/tokenizer/tokenizer_parts.h"

/* ---- Turns ---- */

/* TRL renames from and value and leaves the roles as they are written. */
static const struct json *raw_turns(struct labeller *l, const struct conversation *row)
{
    const struct json *list = NULL;

    for (const struct json *column = row->row ? row->row->child : NULL; column && !list;
         column = column->next)
        if (str_is(column->key, "conversations") && json_is(column, JSON_ARRAY))
            list = column;
    if (!list)
        return row->messages;
    const struct json *copy = labels_joined(l, list, NULL);
    for (struct json *turn = copy ? copy->child : NULL; turn; turn = turn->next) {
        struct json *members = NULL, *last = NULL;

        for (const struct json *member = turn->child; member; member = member->next) {
            struct json *renamed = arena_alloc(l->arena, sizeof *renamed);
            if (!renamed)
                return NULL;
            *renamed = *member;
            renamed->next = NULL;
            if (str_is(member->key, "from"))
                renamed->key = str_of("role");
            if (str_is(member->key, "value"))
                renamed->key = str_of("content");
            if (last)
                last->next = renamed;
            else
                members = renamed;
            last = renamed;
        }
        turn->child = members;
    }
    return copy;
}

static struct chat_request request_of(const struct conversation *row, const struct json *messages)
{
    return (struct chat_request){
        .messages = messages, .tools = row->tools, .kwargs = row->kwargs};
}

/* ---- The assistant mask ---- */

/* transformers' one pass: spans and offsets are both in order. */
static bool mask_by_spans(struct labeller *l)
{
    const struct jinja_span *spans = l->render.generation;
    size_t n = l->render.n_generation, at = 0;
    bool has_any = false;

    for (size_t i = 0; i < l->n; i++) {
        while (at < n && l->row.begin[i] >= spans[at].end)
            at++;
        bool is_in = at < n && l->row.end[i] > spans[at].begin;
        if (!is_in)
            labels_mask(l, i, i + 1, WHY_PROMPT);
        has_any |= is_in;
    }
    return has_any;
}

static bool has_trained(const struct labeller *l)
{
    return l->n > 0 && memchr(l->trained, 1, l->n) != NULL;
}

static void mask_assistant(struct labeller *l)
{
    bool has_any;

    if (l->policy.template_is_patched) {
        labels_patched_spans(l);
        has_any = has_trained(l);
    } else {
        has_any = mask_by_spans(l);
    }
    if (!has_any)
        labels_mask(l, 0, l->n, WHY_NO_SPAN);
    else
        labels_explain(l);
}

/* ---- Rows of turns ---- */

static int encode_turns(struct labeller *l, const struct conversation *row,
                        const struct json *messages, bool add_special, struct error *err)
{
    struct chat_request request = request_of(row, messages);
    int rc = labels_render(l, &request, &l->render, err);

    if (rc != OK || l->is_refused)
        return rc;
    rc = labels_encode(l, buf_view(&l->render.text), add_special, err);
    if (rc != OK || l->is_refused)
        return rc;
    rc = labels_begin(l, err);
    return rc == OK ? labels_sides_rendered(l, messages, &l->render, err) : rc;
}

static int turns_row(struct labeller *l, const struct conversation *row, struct error *err)
{
    const struct json *messages = row->form == ROW_SHAREGPT ? raw_turns(l, row) : row->messages;
    int rc = encode_turns(l, row, messages, false, err);

    if (rc != OK || l->is_refused)
        return rc;
    if (l->policy.assistant_only == YES)
        mask_assistant(l);
    return OK;
}

/* ---- Prompt and completion ---- */

/* l->extra holds the prompt's ids, l->row those of both. */
static size_t boundary_of(const struct labeller *l)
{
    size_t n = l->extra.n < l->row.n ? l->extra.n : l->row.n, at = 0;

    if (!l->policy.boundary_is_prefix)
        return n;
    while (at < n && l->extra.ids[at] == l->row.ids[at])
        at++;
    return at;
}

static void mask_prompt(struct labeller *l, size_t boundary)
{
    if (l->policy.completion_only != NO)
        labels_mask(l, 0, boundary, WHY_PROMPT);
    l->n_prompt = boundary;
}

/* What the template prints between the prompt's header and the answer is the answer's. */
static void settle_boundary(struct labeller *l, size_t boundary)
{
    if (boundary == 0 || boundary > l->n || l->side[boundary - 1] != SIDE_OF_HEADER)
        return;
    for (size_t i = boundary; i < l->n && l->side[i] == SIDE_OF_HEADER; i++)
        l->side[i] = SIDE_OF_ASSISTANT;
}

static int encode_prompt(struct labeller *l, const struct conversation *row, struct error *err)
{
    struct chat_request request = request_of(row, row->prompt_messages);
    struct error why = {.status = OK};

    request.add_generation_prompt = true;
    int rc = labels_render(l, &request, &l->other, err);
    if (rc != OK || l->is_refused)
        return rc;
    rc = tokenizer_encode(l->tokenizer, l->scratch, buf_view(&l->other.text), false, &l->extra,
                          &why);
    if (rc == E_NOMEM && err)
        *err = why;
    if (rc == OK || rc == E_NOMEM)
        return rc;
    return labels_refuse(l, "the prompt cannot be tokenised: %s", why.message);
}

static int turns_pair(struct labeller *l, const struct conversation *row, struct error *err)
{
    const struct json *both = labels_joined(l, row->prompt_messages, row->completion_messages);
    int rc = encode_turns(l, row, both, false, err);

    if (rc == OK && !l->is_refused)
        rc = encode_prompt(l, row, err);
    if (rc != OK || l->is_refused)
        return rc;
    size_t boundary = boundary_of(l);
    settle_boundary(l, boundary);
    if (l->policy.assistant_only == YES)
        mask_assistant(l);
    mask_prompt(l, boundary);
    return OK;
}

static void add_eos(struct labeller *l, struct str text)
{
    struct str eos = l->policy.eos_text;
    bool has_it = eos.n == 0 || (text.n >= eos.n &&
                                 memcmp(text.p + text.n - eos.n, eos.p, eos.n) == 0);

    buf_str(&l->text, text);
    if (l->policy.appends_eos && eos.p && !has_it)
        buf_str(&l->text, eos);
}

static int encode_built(struct labeller *l, struct error *err)
{
    if (l->text.failed)
        return labels_refuse(l, "longer than %zu bytes", LABELS_TEXT_BYTES);
    int rc = labels_encode(l, buf_view(&l->text), true, err);
    return rc != OK || l->is_refused ? rc : labels_begin(l, err);
}

static int text_pair(struct labeller *l, const struct conversation *row, struct error *err)
{
    struct error why = {.status = OK};

    buf_str(&l->text, row->prompt);
    add_eos(l, row->completion);
    int rc = encode_built(l, err);
    if (rc != OK || l->is_refused)
        return rc;
    rc = tokenizer_encode(l->tokenizer, l->scratch, row->prompt, true, &l->extra, &why);
    if (rc == E_NOMEM) {
        if (err)
            *err = why;
        return rc;
    }
    if (rc != OK)
        return labels_refuse(l, "the prompt cannot be tokenised: %s", why.message);
    size_t boundary = boundary_of(l);
    labels_sides_split(l, boundary);
    mask_prompt(l, boundary);
    return OK;
}

static int text_row(struct labeller *l, const struct conversation *row, struct error *err)
{
    add_eos(l, row->text);
    int rc = encode_built(l, err);
    return rc != OK || l->is_refused ? rc : labels_sides_by_markers(l, err);
}

static int refuse_form(struct labeller *l, const struct conversation *row)
{
    if (row->oddity)
        return labels_refuse(l, "%s", row->oddity);
    if (row->form == ROW_PREFERENCE)
        return labels_refuse(l, "the tensors of preference rows are not simulated");
    return labels_refuse(l, "a row of the form %s needs a formatting function, which is not known",
                         row_form_name(row->form));
}

int labels_trl(struct labeller *l, const struct conversation *row, struct error *err)
{
    bool is_pair = row->form == ROW_PROMPT_COMPLETION || row->form == ROW_KTO;

    if (row->form == ROW_TOKENS)
        return labels_of_ids(l, row, err);
    if (is_pair && row->prompt_messages && row->completion_messages)
        return turns_pair(l, row, err);
    if (is_pair && row->prompt.p && row->completion.p)
        return text_pair(l, row, err);
    if ((row->form == ROW_MESSAGES || row->form == ROW_SHAREGPT) && row->messages)
        return turns_row(l, row, err);
    if (row->form == ROW_TEXT && row->text.p)
        return text_row(l, row, err);
    return refuse_form(l, row);
}

/* ---- 0.16 and older ---- */

static size_t token_at(const struct labeller *l, size_t byte)
{
    size_t i = 0;

    while (i < l->n && (l->row.begin[i] < byte || l->row.end[i] == 0))
        i++;
    return i;
}

/* 0.16 appends the id before the cut; older versions cut while encoding, which keeps what the tokenizer
 * itself adds at the end. */
static int end_old(struct labeller *l, struct error *err)
{
    if (l->policy.appends_eos_id && l->eos_id != NONE && l->row.n > 0 &&
        l->row.ids[l->row.n - 1] != l->eos_id) {
        uint32_t at = (uint32_t)l->shown.n;
        int rc = tokens_push(&l->row, (uint32_t)l->eos_id, at, at, err);

        if (rc == OK)
            rc = labels_reserve(l, l->row.n, err);
        if (rc != OK)
            return rc;
        l->trained[l->n] = 1;
        l->why[l->n] = WHY_TRAINED;
        l->side[l->n] = l->has_sides ? SIDE_OF_ASSISTANT : SIDE_OF_NOBODY;
        if (l->n_prompt == l->n)
            l->n_prompt++;
        l->n++;
    }
    if (!l->policy.appends_eos_id && l->policy.max_length != NONE && !l->policy.packs)
        labels_truncate(l, (size_t)l->policy.max_length);
    return OK;
}

static int turns_old(struct labeller *l, const struct conversation *row,
                     const struct json *messages, struct error *err)
{
    int rc = encode_turns(l, row, messages, true, err);

    return rc != OK || l->is_refused ? rc : end_old(l, err);
}

int labels_trl_old(struct labeller *l, const struct conversation *row, struct error *err)
{
    bool is_pair = row->form == ROW_PROMPT_COMPLETION || row->form == ROW_KTO;

    if (row->form == ROW_TOKENS)
        return labels_of_ids(l, row, err);
    if (is_pair && row->prompt_messages && row->completion_messages)
        return turns_old(l, row, labels_joined(l, row->prompt_messages, row->completion_messages),
                         err);
    if ((row->form == ROW_MESSAGES || row->form == ROW_SHAREGPT) && row->messages)
        return turns_old(l, row, row->form == ROW_SHAREGPT ? raw_turns(l, row) : row->messages,
                         err);
    bool is_plain_pair = is_pair && row->prompt.p && row->completion.p;
    if (!is_plain_pair && !(row->form == ROW_TEXT && row->text.p))
        return refuse_form(l, row);
    buf_str(&l->text, is_plain_pair ? row->prompt : row->text);
    if (is_plain_pair)
        buf_str(&l->text, row->completion);
    int rc = encode_built(l, err);
    if (rc != OK || l->is_refused)
        return rc;
    if (is_plain_pair)
        labels_sides_split(l, token_at(l, row->prompt.n));
    else
        rc = labels_sides_by_markers(l, err);
    return rc == OK ? end_old(l, err) : rc;
}
