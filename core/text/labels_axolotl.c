/* axolotl's `type: chat_template` (MASKS.md section 4): the content of each trainable turn, found by
 * rendering the row again with placeholders in its place, and the end tokens behind it. The other types are
 * labels_axolotl_prompt.c. */
#include <stdlib.h>

#include "core/text/labels_axolotl.h"

enum { END_DISTANCE = 3 };      /* tokens between a turn and its end token */

/* ---- Opening ---- */

static bool is_in_template(const struct labeller *l, const char *token)
{
    return !l->template_text.p || str_find(l->template_text, token) >= 0;
}

int labels_open_axolotl(struct labeller *l, struct error *err)
{
    const struct label_policy *policy = &l->policy;
    size_t n = policy->eot_tokens ? policy->n_eot_tokens : 1;

    l->eot_ids = malloc((n ? n : 1) * sizeof *l->eot_ids);
    if (!l->eot_ids)
        return error_set(err, E_NOMEM, "no memory for the end tokens");
    if (!policy->eot_tokens) {
        if (l->eos_id != NONE)
            l->eot_ids[l->n_eot_ids++] = (uint32_t)l->eos_id;
        return OK;
    }
    for (size_t i = 0; i < n; i++) {
        const char *token = policy->eot_tokens[i];
        bool is_eos_alone = n == 1 && policy->eos_text.p && str_is(policy->eos_text, token);

        if (!is_eos_alone && !is_in_template(l, token))
            continue;
        int rc =
            tokenizer_encode(l->tokenizer, l->scratch, str_of(token), false, &l->extra, err);
        if (rc != OK)
            return rc;
        if (l->extra.n == 1)
            l->eot_ids[l->n_eot_ids++] = l->extra.ids[0];
    }
    return OK;
}

/* ---- Turns as axolotl hands them to the template ---- */

struct axo {
    struct labeller *l;
    const struct json *tools;
    struct json *turns;         /* array of objects, ours */
    const struct json **trains; /* of each turn: its own training field, or NULL */
    struct details *details;    /* of each turn */
    size_t n;                   /* turns read so far */
    struct error *err;
};

static struct json *new_node(struct labeller *l, enum json_type type, const char *key)
{
    struct json *node = arena_alloc(l->arena, sizeof *node);

    if (!node)
        return NULL;
    node->type = type;
    node->key = str_of(key);
    return node;
}

static void add_child(struct json *parent, struct json **last, struct json *child)
{
    if (*last)
        (*last)->next = child;
    else
        parent->child = child;
    *last = child;
    parent->n++;
}

static struct json *text_node(struct labeller *l, const char *key, struct str text)
{
    struct json *node = new_node(l, JSON_STRING, key);

    if (node)
        node->text = text;
    return node;
}

static struct str mapped_role(struct str role)
{
    if (str_is(role, "human"))
        return str_of("user");
    return str_is(role, "gpt") ? str_of("assistant") : role;
}

/* Arguments that are a text become what the text says; others are as they are. */
static struct json *parsed_call(struct axo *axo, const struct json *value)
{
    struct labeller *l = axo->l;
    struct json *copy = arena_alloc(l->arena, sizeof *copy);
    struct json *last = NULL;

    if (!copy)
        return NULL;
    *copy = *value;
    copy->next = NULL;
    if (value->type == JSON_STRING && str_is(value->key, "arguments")) {
        const struct json *parsed;
        struct error why;

        if (json_parse_exact(value->text, l->arena, &parsed, &why) != OK) {
            (void)labels_refuse(l, "arguments of a call are no JSON");
            return copy;
        }
        struct str key = copy->key;
        *copy = *parsed;
        copy->key = key;
        copy->next = NULL;
        return copy;
    }
    if (value->type != JSON_ARRAY && value->type != JSON_OBJECT)
        return copy;
    copy->child = NULL;
    copy->n = 0;
    for (const struct json *item = value->child; item; item = item->next) {
        struct json *child = parsed_call(axo, item);
        if (!child)
            return NULL;
        add_child(copy, &last, child);
    }
    return copy;
}

static bool has_flags(const struct json *parts)
{
    for (const struct json *part = parts->child; part; part = part->next)
        if (json_get(part, "train") || json_get(part, "weight"))
            return true;
    return false;
}

static struct str joined_parts(struct labeller *l, const struct json *parts)
{
    struct buf *out = &l->text;
    size_t begin = out->n;

    for (const struct json *part = parts->child; part; part = part->next)
        buf_str(out, axolotl_part_text(part));
    return arena_str(l->arena, str_from(out->p + begin, out->n - begin));
}

static struct json *member_of_turn(struct axo *axo, const struct json *member)
{
    struct labeller *l = axo->l;

    if (member->type == JSON_NULL)
        return NULL;
    if (str_is(member->key, "role") && member->type == JSON_STRING)
        return text_node(l, "role", mapped_role(member->text));
    bool is_text = str_is(member->key, "content") || str_is(member->key, "reasoning_content");
    if (is_text && member->type == JSON_ARRAY) {
        bool has_own = has_flags(member);

        if (has_own && !str_is(member->key, "content"))
            (void)labels_refuse(l, "thoughts with train or weight are not simulated");
        else if (has_own &&
                 axolotl_details_of_parts(l, member, &axo->details[axo->n], axo->err) != OK)
            return NULL;
        struct json *node = text_node(l, "", joined_parts(l, member));
        if (node)
            node->key = member->key;
        return node;
    }
    if (str_is(member->key, "tool_calls"))
        return parsed_call(axo, member);
    struct json *copy = arena_alloc(l->arena, sizeof *copy);
    if (copy) {
        *copy = *member;
        copy->next = NULL;
    }
    return copy;
}

static struct json *turn_of(struct axo *axo, const struct json *message)
{
    struct json *turn = new_node(axo->l, JSON_OBJECT, ""), *last = NULL;

    for (const struct json *member = message->child; turn && member; member = member->next) {
        struct json *copy = member_of_turn(axo, member);
        if (copy)
            add_child(turn, &last, copy);
    }
    return turn;
}

static int read_turns(struct axo *axo, const struct conversation *row)
{
    struct labeller *l = axo->l;
    const char *field = l->policy.field_training;
    const char *detail_field = l->policy.field_training_detail;
    struct json *last = NULL;

    if (!row->messages)
        return labels_refuse(l, "%s", row->oddity ? row->oddity : "the row has no messages");
    axo->turns = new_node(l, JSON_ARRAY, "");
    axo->trains = arena_array(l->arena, row->messages->n + 2, sizeof *axo->trains);
    axo->details = arena_array(l->arena, row->messages->n + 2, sizeof *axo->details);
    if (!axo->turns || !axo->trains || !axo->details)
        return error_set(axo->err, E_NOMEM, "no memory for the turns of a row");
    const struct json *first = row->messages->child;
    if (first && row->system.p && !str_is(turn_role(first), "system")) {
        struct json *turn = new_node(l, JSON_OBJECT, ""), *end = NULL;
        struct json *role = text_node(l, "role", str_of("system"));
        struct json *content = text_node(l, "content", row->system);

        if (!turn || !role || !content)
            return error_set(axo->err, E_NOMEM, "no memory for the turns of a row");
        add_child(turn, &end, role);
        add_child(turn, &end, content);
        add_child(axo->turns, &last, turn);
        axo->n++;
    }
    for (const struct json *message = first; message; message = message->next, axo->n++) {
        struct json *turn = turn_of(axo, message);
        const struct json *trains = field ? json_get(message, field) : NULL;
        const struct json *detail = detail_field ? json_get(message, detail_field) : NULL;

        if (!turn)
            return error_set(axo->err, E_NOMEM, "no memory for the turns of a row");
        axo->trains[axo->n] = trains && trains->type != JSON_NULL ? trains : NULL;
        if (detail && detail->type != JSON_NULL && !axo->details[axo->n].items) {
            int rc = axolotl_details_of_field(l, detail, &axo->details[axo->n], axo->err);
            if (rc != OK)
                return rc;
        }
        add_child(axo->turns, &last, turn);
    }
    axo->tools = row->tools;
    return OK;
}

/* ---- Where the content of a turn stands ---- */

static bool is_inside_code_point(struct str text, size_t at)
{
    return at < text.n && ((unsigned char)text.p[at] & 0xC0) == 0x80;
}

static void differing(struct str full, struct str dummy, size_t span[2])
{
    size_t limit = full.n < dummy.n ? full.n : dummy.n, start = 0, behind = 0;

    while (start < limit && full.p[start] == dummy.p[start])
        start++;
    while (start > 0 && (is_inside_code_point(full, start) || is_inside_code_point(dummy, start)))
        start--;
    while (behind < limit - start && full.p[full.n - 1 - behind] == dummy.p[dummy.n - 1 - behind])
        behind++;
    while (behind > 0 && (is_inside_code_point(full, full.n - behind) ||
                          is_inside_code_point(dummy, dummy.n - behind)))
        behind--;
    span[0] = start;
    span[1] = full.n - behind;
}

static int render_with(struct axo *axo, struct json *turn, const char *placeholder,
                       bool keeps_thought)
{
    struct labeller *l = axo->l;
    struct json *whole = turn->child, *last = NULL;
    size_t n = turn->n;
    const struct json *role = json_get(turn, "role");
    struct json *dummy_role = text_node(l, "role", role ? role->text : str_of(""));
    struct json *content = text_node(l, "content", str_of(placeholder));
    struct chat_request request = {.messages = axo->turns, .tools = axo->tools};

    if (!dummy_role || !content)
        return error_set(axo->err, E_NOMEM, "no memory for the turns of a row");
    const struct json *thought = keeps_thought ? json_get(turn, "reasoning_content") : NULL;
    struct json *kept = thought ? arena_alloc(l->arena, sizeof *kept) : NULL;
    if (kept) {
        *kept = *thought;
        kept->next = NULL;
    }
    turn->child = NULL;
    turn->n = 0;
    add_child(turn, &last, dummy_role);
    add_child(turn, &last, content);
    if (kept)
        add_child(turn, &last, kept);
    l->jinja.wants_pieces = false;
    int rc = labels_render(l, &request, &l->other, axo->err);
    l->jinja.wants_pieces = true;
    turn->child = whole;
    turn->n = n;
    return rc;
}

/* Python's bisect over the ends and the begins of the tokens. */
static size_t first_ending_behind(const struct labeller *l, size_t at)
{
    size_t low = 0, high = l->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (at < l->row.end[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static size_t first_beginning_at(const struct labeller *l, size_t at)
{
    size_t low = 0, high = l->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (l->row.begin[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Tokens of the content; span[0] = SIZE_MAX: the turn is empty or not in the text. Two placeholders: a letter
 * that the template puts beside the content may hide one edge of one of them. */
static int find_turn(struct axo *axo, struct json *turn, bool keeps_thought, size_t span[2])
{
    static const char *const PLACEHOLDERS[] = {"[[dummy_message]]", "zzdummymessagezz"};
    struct labeller *l = axo->l;
    size_t begin = SIZE_MAX, end = 0;

    span[0] = span[1] = SIZE_MAX;
    for (size_t i = 0; i < 2; i++) {
        size_t part[2];
        int rc = render_with(axo, turn, PLACEHOLDERS[i], keeps_thought);

        if (rc != OK || l->is_refused)
            return rc;
        differing(l->shown, buf_view(&l->other.text), part);
        begin = part[0] < begin ? part[0] : begin;
        end = part[1] > end ? part[1] : end;
    }
    if (end <= begin)
        return OK;
    size_t first = first_ending_behind(l, begin), behind = first_beginning_at(l, end);
    if (first >= l->n || behind <= first)
        return OK;
    span[0] = first;
    span[1] = behind;
    return OK;
}

/* ---- Labels ---- */

static bool is_role_trained(const struct labeller *l, struct str role)
{
    const struct label_policy *policy = &l->policy;

    if (policy->train_on_inputs == YES)
        return true;
    if (!policy->roles_to_train)
        return str_is(role, "assistant");
    for (size_t i = 0; i < policy->n_roles; i++)
        if (str_eq(role, mapped_role(str_of(policy->roles_to_train[i]))))
            return true;
    return false;
}

static const char *eos_option(const struct label_policy *policy)
{
    return policy->train_on_eos ? policy->train_on_eos : "turn";
}

static const char *eot_option(const struct label_policy *policy)
{
    return policy->train_on_eot ? policy->train_on_eot : eos_option(policy);
}

static bool is_end_id(const struct labeller *l, uint32_t id, bool is_eot)
{
    if (!is_eot)
        return (int64_t)id == l->eos_id;
    for (size_t i = 0; i < l->n_eot_ids; i++)
        if (l->eot_ids[i] == id)
            return true;
    return false;
}

/* The first end token behind a turn when it stands near; SIZE_MAX: none. A turn without a place is looked for
 * from the last token on, as Python's index -1 does. */
static size_t end_behind(const struct labeller *l, size_t from, bool is_eot)
{
    size_t start = from == SIZE_MAX ? 0 : from;

    if (from == SIZE_MAX && l->n && is_end_id(l, l->row.ids[l->n - 1], is_eot))
        return SIZE_MAX;
    for (size_t i = start; i < l->n; i++)
        if (is_end_id(l, l->row.ids[i], is_eot)) {
            size_t distance = from == SIZE_MAX ? i + 1 : i - from;
            return distance <= END_DISTANCE ? i : SIZE_MAX;
        }
    return SIZE_MAX;
}

static void train(struct labeller *l, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        l->trained[i] = 1;
        l->why[i] = WHY_TRAINED;
    }
}

static void label_ends(struct labeller *l, size_t behind, bool is_trained, size_t last[2])
{
    for (int is_eot = 0; is_eot < 2; is_eot++) {
        const char *option = is_eot ? eot_option(&l->policy) : eos_option(&l->policy);
        size_t at = end_behind(l, behind, is_eot);

        if (at == SIZE_MAX)
            continue;
        last[is_eot] = at;
        if (strcmp(option, "all") == 0 || (strcmp(option, "turn") == 0 && is_trained))
            train(l, at, at + 1);
    }
}

/* What the turn itself says, then what its parts say, then its role. */
static bool turn_is_trained(const struct axo *axo, const struct json *turn, size_t i)
{
    const struct json *own = axo->trains[i];

    if (own)
        return own->type == JSON_TRUE || (own->type == JSON_NUMBER && own->number != 0);
    if (axo->details[i].items)
        return axo->details[i].n > 0;
    return is_role_trained(axo->l, turn_role(turn));
}

static int label_turns(struct axo *axo)
{
    struct labeller *l = axo->l;
    const struct label_policy *policy = &l->policy;
    bool wants_all =
        strcmp(eos_option(policy), "all") == 0 || strcmp(eot_option(policy), "all") == 0;
    size_t last[2] = {SIZE_MAX, SIZE_MAX}, i = 0;

    for (struct json *turn = axo->turns->child; turn; turn = turn->next, i++) {
        size_t span[2];
        const struct details *details = &axo->details[i];
        bool is_trained = turn_is_trained(axo, turn, i);

        if (!is_trained && !wants_all)
            continue;
        int rc = find_turn(axo, turn, details->items != NULL, span);
        if (rc != OK || l->is_refused)
            return rc;
        if (is_trained && span[0] != SIZE_MAX && details->n)
            rc = axolotl_train_details(l, turn_text(turn, l->arena), details, span[0], axo->err);
        else if (is_trained && span[0] != SIZE_MAX)
            train(l, span[0], span[1]);
        if (rc != OK || l->is_refused)
            return rc;
        label_ends(l, span[1], is_trained, last);
    }
    for (int is_eot = 0; is_eot < 2; is_eot++)
        if (last[is_eot] != SIZE_MAX &&
            strcmp(is_eot ? eot_option(policy) : eos_option(policy), "last") == 0)
            train(l, last[is_eot], last[is_eot] + 1);
    return OK;
}

static int encode_turns(struct axo *axo, const struct json *turns, bool is_prompt,
                        struct tokens *out)
{
    struct labeller *l = axo->l;
    struct jinja_output *render = is_prompt ? &l->other : &l->render;
    struct chat_request request = {
        .messages = turns, .tools = axo->tools, .add_generation_prompt = is_prompt};
    struct error why = {.status = OK};
    int rc = labels_render(l, &request, render, axo->err);

    if (rc != OK || l->is_refused)
        return rc;
    if (!is_prompt)
        l->shown = buf_view(&render->text);
    rc = tokenizer_encode(l->tokenizer, l->scratch, buf_view(&render->text), false, out, &why);
    if (rc == E_NOMEM && axo->err)
        *axo->err = why;
    if (rc == OK || rc == E_NOMEM)
        return rc;
    return labels_refuse(l, "cannot be tokenised: %s", why.message);
}

/* The old way, when all settings are set to nothing: everything before the last turn is masked. */
static bool is_old_way(const struct label_policy *policy)
{
    return policy->roles_to_train && policy->n_roles == 0 && policy->train_on_eos &&
           policy->train_on_eos[0] == '\0' && !policy->field_training &&
           (!policy->train_on_eot || policy->train_on_eot[0] == '\0');
}

static int label_last_turn(struct axo *axo)
{
    struct labeller *l = axo->l;
    struct json *before = arena_alloc(l->arena, sizeof *before);

    if (!before)
        return error_set(axo->err, E_NOMEM, "no memory for the turns of a row");
    const struct json *prompt = labels_joined(l, axo->turns, NULL);
    if (!prompt || prompt->n < 2)
        return labels_refuse(l, "the row has fewer than two turns");
    *before = *prompt;
    before->n--;
    struct json *item = before->child;
    for (size_t i = 1; i < before->n; i++)
        item = item->next;
    item->next = NULL;
    int rc = encode_turns(axo, before, true, &l->extra);
    if (rc != OK || l->is_refused)
        return rc;
    size_t n = l->extra.n < l->n ? l->extra.n : l->n;
    memcpy(l->row.ids, l->extra.ids, n * sizeof *l->row.ids);
    if (l->policy.train_on_inputs != YES)
        labels_mask(l, 0, l->extra.n, WHY_PROMPT);
    l->n_prompt = n;
    return OK;
}

int labels_axolotl_chat(struct labeller *l, const struct conversation *row, struct error *err)
{
    struct axo axo = {.l = l, .err = err};
    int rc = read_turns(&axo, row);

    if (rc != OK || l->is_refused)
        return rc;
    rc = encode_turns(&axo, axo.turns, false, &l->row);
    if (rc == OK && !l->is_refused)
        rc = labels_begin(l, err);
    if (rc == OK && !l->is_refused)
        rc = labels_sides_rendered(l, axo.turns, &l->render, err);
    if (rc != OK || l->is_refused)
        return rc;
    if (is_old_way(&l->policy)) {
        rc = label_last_turn(&axo);
    } else {
        labels_mask(l, 0, l->n, WHY_PROMPT);
        rc = label_turns(&axo);
    }
    if (rc == OK && !l->is_refused)
        labels_explain(l);
    return rc;
}
