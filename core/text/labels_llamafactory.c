/* LLaMA-Factory (MASKS.md section 3): the named template's slots, each encoded alone, and the thoughts. How
 * the budget of cutoff_len is shared out among pairs is labels_llamafactory_cut.c. What tools and calls look
 * like in its tool formats is not here: such rows are refused. */
#include "core/text/labels_llamafactory.h"
#include "core/text/tokenizer/tokenizer_parts.h"

#define PLACEHOLDER "{{content}}"

enum { MAX_TURNS = 4096 };

/* ---- What the template says ---- */

static const struct json *slots_of(const struct labeller *l, const char *name)
{
    return json_get(l->named, name);
}

static bool flag_of(const struct labeller *l, const char *name)
{
    return json_is(json_get(l->named, name), JSON_TRUE);
}

static struct str text_of(const struct labeller *l, const char *name)
{
    const struct json *value = json_get(l->named, name);

    return json_is(value, JSON_STRING) ? value->text : str_of("");
}

static bool is_class(const struct labeller *l, const char *name)
{
    return str_is(text_of(l, "class"), name);
}

bool llf_has_efficient_eos(const struct labeller *l)
{
    return l->policy.efficient_eos == AUTO ? flag_of(l, "efficient_eos")
                                           : l->policy.efficient_eos == YES;
}

static struct str thought_word(const struct labeller *l, bool is_end)
{
    const struct json *words = json_get(l->named, "thought_words");
    const struct json *word = words ? words->child : NULL;

    if (word && is_end)
        word = word->next;
    return json_is(word, JSON_STRING) ? word->text : str_of("");
}

/* The text of an empty thought: both words, or the one that the template states. */
static struct str empty_thought(struct labeller *l)
{
    const struct json *stated = json_get(l->named, "empty_thought");
    struct str a = thought_word(l, false), b = thought_word(l, true);

    if (json_is(stated, JSON_STRING))
        return stated->text;
    char *both = arena_alloc(l->arena, a.n + b.n + 1);
    if (!both)
        return str_of("");
    memcpy(both, a.p, a.n);
    memcpy(both + a.n, b.p, b.n);
    return str_from(both, a.n + b.n);
}

/* ---- Opening ---- */

static int check_tokens(struct labeller *l, const struct json *slots, struct error *err)
{
    for (const struct json *slot = slots ? slots->child : NULL; slot; slot = slot->next) {
        const struct json *token = json_is(slot, JSON_OBJECT) ? json_get(slot, "token") : NULL;

        if (token && tokenizer_id(l->tokenizer, token->text) == NONE)
            return error_set(err, E_UNSUPPORTED,
                             "LLaMA-Factory's template %s needs the token %.*s, which the "
                             "tokenizer has not",
                             l->policy.llamafactory_template,
                             (int)(token->text.n < 60 ? token->text.n : 60), token->text.p);
    }
    return OK;
}

int labels_open_llamafactory(struct labeller *l, struct error *err)
{
    static const char *const LISTS[] = {"prefix",    "system",      "user",
                                        "assistant", "observation", "function"};
    const char *name = l->policy.llamafactory_template;

    if (!name)
        return error_set(err, E_UNSUPPORTED,
                         "LLaMA-Factory's `template` is not known, import its configuration");
    l->named = llamafactory_template(name);
    if (!l->named)
        return error_set(err, E_UNSUPPORTED,
                         "LLaMA-Factory's template \"%.60s\" is none of the known ones", name);
    for (size_t i = 0; i < sizeof LISTS / sizeof LISTS[0]; i++) {
        int rc = check_tokens(l, slots_of(l, LISTS[i]), err);
        if (rc != OK)
            return rc;
    }
    const struct json *stop = json_get(l->named, "stop_words");
    if (flag_of(l, "replace_eos") && stop && json_is(stop->child, JSON_STRING)) {
        int64_t id = tokenizer_id(l->tokenizer, stop->child->text);
        l->eos_id = id != NONE ? id : l->eos_id;
    }
    return OK;
}

/* ---- Rows ---- */

static enum token_side side_of(struct str role, bool *is_call)
{
    *is_call = str_is(role, "function_call") || str_is(role, "function");
    if (*is_call || str_is(role, "assistant") || str_is(role, "gpt"))
        return SIDE_OF_ASSISTANT;
    if (str_is(role, "user") || str_is(role, "human"))
        return SIDE_OF_USER;
    if (str_is(role, "observation") || str_is(role, "tool"))
        return SIDE_OF_TOOL;
    return SIDE_OF_NOBODY;
}

static void drop(struct labeller *l, const char *why)
{
    (void)labels_refuse(l, "dropped as an invalid example: %s", why);
}

/* User or observation, then assistant or function, in turns, and an even number of them. */
static size_t turns_of_messages(struct llf *llf, const struct json *messages, struct turn *turns)
{
    struct labeller *l = llf->l;
    const struct json *message = messages->child;
    size_t n = 0;

    if (message && str_is(turn_role(message), "system")) {
        struct str system = turn_text(message, l->arena);
        llf->system = system.p ? system : str_of("");
        message = message->next;
    }
    for (; message; message = message->next, n++) {
        bool is_call;
        enum token_side side = side_of(turn_role(message), &is_call);
        struct str text = turn_text(message, l->arena);

        if ((side == SIDE_OF_ASSISTANT) != (n % 2 == 1) || side == SIDE_OF_NOBODY) {
            drop(l, "invalid role tag");
            return 0;
        }
        if (is_call || json_get(message, "tool_calls")) {
            (void)labels_refuse(l, "turn %zu is a call, tool formats are not simulated", n);
            return 0;
        }
        if (!text.p) {
            (void)labels_refuse(l, "turn %zu has no content", n);
            return 0;
        }
        turns[n] = (struct turn){.text = text, .side = side};
    }
    if (n % 2 != 0)
        drop(l, "invalid message count");
    return n;
}

static int read_turns(struct llf *llf, const struct conversation *row)
{
    struct labeller *l = llf->l;
    const struct json *messages = row->messages;

    llf->system = row->system.p ? row->system : str_of("");
    if (row->tools && row->tools->n)
        return labels_refuse(l, "the row has tools, tool formats are not simulated");
    if (!messages && row->prompt_messages)
        messages = labels_joined(l, row->prompt_messages, row->completion_messages);
    size_t room = messages ? messages->n : 2;
    if (room > MAX_TURNS)
        return labels_refuse(l, "more than %d turns", MAX_TURNS);
    struct turn *turns = arena_array(l->arena, room + 1, sizeof *turns);
    llf->parts = arena_array(l->arena, room + 1, sizeof *llf->parts);
    if (!turns || !llf->parts)
        return error_set(llf->err, E_NOMEM, "no memory for the turns of a row");
    llf->turns = turns;
    if (messages) {
        llf->n_turns = turns_of_messages(llf, messages, turns);
        if (!l->is_refused && llf->n_turns == 0)
            drop(l, "no messages");
        return OK;
    }
    if (!row->prompt.p || !row->completion.p)
        return labels_refuse(l, "%s", row->oddity ? row->oddity : "no turns and no answer");
    turns[0] = (struct turn){.text = row->prompt, .side = SIDE_OF_USER};
    turns[1] = (struct turn){.text = row->completion, .side = SIDE_OF_ASSISTANT};
    llf->n_turns = 2;
    return OK;
}

/* ---- Thoughts ---- */

static struct str without_thoughts(struct labeller *l, struct str text)
{
    struct str open = thought_word(l, false), close = thought_word(l, true);
    char *out = arena_alloc(l->arena, text.n + 1);
    size_t n = 0, at = 0;

    if (!out || open.n == 0 || close.n == 0)
        return text;
    while (at < text.n) {
        const char *a = memmem(text.p + at, text.n - at, open.p, open.n);
        size_t begin = a ? (size_t)(a - text.p) : text.n;
        size_t behind = begin + open.n;
        const char *b = a ? memmem(text.p + behind, text.n - behind, close.p, close.n) : NULL;

        if (!b)
            begin = text.n;
        memcpy(out + n, text.p + at, begin - at);
        n += begin - at;
        at = b ? (size_t)(b - text.p) + close.n : text.n;
    }
    struct str left = str_from(out, n);
    while (left.n && left.p[0] == '\n')
        left = str_skip(left, 1);
    return left;
}

static bool has_thought(struct labeller *l, struct str text)
{
    struct str words[] = {str_trim(thought_word(l, false)), str_trim(thought_word(l, true))};

    for (size_t i = 0; i < 2; i++)
        if (words[i].n == 0 || memmem(text.p, text.n, words[i].p, words[i].n))
            return true;
    return false;
}

static void remove_thoughts(struct llf *llf, struct turn *turns)
{
    struct labeller *l = llf->l;
    bool all = l->policy.enable_thinking == NO, history = l->policy.mask_history == YES;

    for (size_t i = 1; i < llf->n_turns; i += 2)
        if (all || (history && i + 1 < llf->n_turns))
            turns[i].text = without_thoughts(l, turns[i].text);
}

/* ---- Slots ---- */

/* The first placeholder of a slot with two texts in its place. */
static struct str filled(struct labeller *l, struct str slot, struct str before, struct str content)
{
    ptrdiff_t at = str_find(slot, PLACEHOLDER);

    if (at < 0)
        return slot;
    struct str tail = str_skip(slot, (size_t)at + strlen(PLACEHOLDER));
    struct str parts[] = {str_first(slot, (size_t)at), before, content, tail};
    char *joined = arena_alloc(l->arena, slot.n + before.n + content.n + 1);
    size_t n = 0;

    for (size_t i = 0; joined && i < 4; i++) {
        if (parts[i].n)
            memcpy(joined + n, parts[i].p, parts[i].n);
        n += parts[i].n;
    }
    return str_from(joined ? joined : "", joined ? n : 0);  /* labels.c sees the failed arena */
}

static int add_slots(struct llf *llf, const struct json *slots, struct str before,
                     struct str content)
{
    struct labeller *l = llf->l;
    int rc = OK;

    for (const struct json *slot = slots ? slots->child : NULL; slot && rc == OK && !l->is_refused;
         slot = slot->next) {
        const struct json *special = json_get(slot, "special"), *token = json_get(slot, "token");

        if (json_is(special, JSON_STRING)) {
            int64_t id = str_is(special->text, "bos") ? l->policy.bos_id : l->eos_id;
            if (id != NONE)
                rc = labels_append_id(l, (uint32_t)id, llf->err);
            continue;
        }
        if (json_is(token, JSON_STRING)) {
            rc = labels_append_id(l, (uint32_t)tokenizer_id(l->tokenizer, token->text), llf->err);
            continue;
        }
        if (!json_is(slot, JSON_STRING))
            continue;
        struct str text = filled(l, slot->text, before, content);
        if (text.n)
            rc = labels_append(l, text, false, llf->err);
    }
    return rc;
}

/* The header of the answer stands at the end of the source: behind the content's last token. */
static void set_source_sides(struct llf *llf, size_t begin, size_t content_end,
                             enum token_side side)
{
    struct labeller *l = llf->l;
    size_t end = l->row.n, i = begin;

    while (i < end && l->row.begin[i] < content_end)
        i++;
    /* the end of the turn and the blanks behind it are the user's */
    while (i < end) {
        struct str text = str_from(l->shown.p + l->row.begin[i], l->row.end[i] - l->row.begin[i]);
        bool is_end = tokenizer_is_added(l->tokenizer, l->row.ids[i]) &&
                      (str_has_ignoring_case(text, "end") || str_has_ignoring_case(text, "eot")) &&
                      !str_has_ignoring_case(text, "header");

        if (!is_end && str_trim(text).n > 0 && l->row.ids[i] != l->eos_id)
            break;
        i++;
    }
    labels_set_side(l, begin, i, side);
    labels_set_side(l, i, end, SIDE_OF_HEADER);
}

static size_t bytes_behind_content(const struct json *slots)
{
    size_t n = 0;
    bool is_behind = false;

    for (const struct json *slot = slots ? slots->child : NULL; slot; slot = slot->next) {
        if (!json_is(slot, JSON_STRING))
            continue;
        ptrdiff_t at = str_find(slot->text, PLACEHOLDER);
        if (at >= 0) {
            is_behind = true;
            n = slot->text.n - (size_t)at - strlen(PLACEHOLDER);
        } else if (is_behind) {
            n += slot->text.n;
        }
    }
    return n;
}

/* The class that has the system text inside of the first user's: its first slot alone. */
static struct str fused_system(struct llf *llf)
{
    const struct json *slots = slots_of(llf->l, "system"), *first = slots ? slots->child : NULL;

    if (!json_is(first, JSON_STRING) || llf->system.n == 0)
        return str_of("");
    return filled(llf->l, first->text, str_of(""), llf->system);
}

static int add_empty_thought(struct llf *llf)
{
    struct str text = empty_thought(llf->l);

    return text.n ? labels_append(llf->l, text, false, llf->err) : OK;
}

static int reserve_sides(struct llf *llf, size_t begin, enum token_side side)
{
    int rc = labels_reserve(llf->l, llf->l->row.n, llf->err);

    if (rc == OK)
        labels_set_side(llf->l, begin, llf->l->row.n, side);
    return rc;
}

static int add_source(struct llf *llf, size_t i, bool gets_thought)
{
    struct labeller *l = llf->l;
    const struct turn *turn = &llf->turns[i];
    const struct json *slots =
        slots_of(l, turn->side == SIDE_OF_TOOL ? "observation" : "user");
    struct str before = str_of("");
    int rc = OK;

    llf->parts[i].begin = l->row.n;
    if (i == 0) {
        rc = add_slots(llf, slots_of(l, "prefix"), str_of(""), str_of(""));
        if (rc == OK)
            rc = reserve_sides(llf, 0, SIDE_OF_NOBODY);
        size_t at = l->row.n;
        if (rc == OK && is_class(l, "system-in-first-user"))
            before = fused_system(llf);
        else if (rc == OK && llf->system.n)
            rc = add_slots(llf, slots_of(l, "system"), str_of(""), llf->system);
        if (rc == OK)
            rc = reserve_sides(llf, at, SIDE_OF_SYSTEM);
    }
    size_t at = l->row.n;
    if (rc == OK && !l->is_refused)
        rc = add_slots(llf, slots, before, turn->text);
    if (rc == OK && !l->is_refused)
        rc = labels_reserve(l, l->row.n, llf->err);
    if (rc != OK || l->is_refused)
        return rc;
    size_t behind = bytes_behind_content(slots);
    set_source_sides(llf, at, l->text.n > behind ? l->text.n - behind : 0, turn->side);
    at = l->row.n;
    if (gets_thought)
        rc = add_empty_thought(llf);
    if (rc == OK)
        rc = reserve_sides(llf, at, SIDE_OF_HEADER);
    llf->parts[i].end = l->row.n;
    return rc;
}

static int add_target(struct llf *llf, size_t i, bool gets_thought)
{
    struct labeller *l = llf->l;
    int rc = OK;

    llf->parts[i].begin = l->row.n;
    if (gets_thought)
        rc = add_empty_thought(llf);
    if (rc == OK && !l->is_refused)
        rc = add_slots(llf, slots_of(l, "assistant"), str_of(""), llf->turns[i].text);
    if (rc == OK)
        rc = reserve_sides(llf, llf->parts[i].begin, SIDE_OF_ASSISTANT);
    llf->parts[i].end = l->row.n;
    return rc;
}

static int encode_pairs(struct llf *llf)
{
    struct labeller *l = llf->l;
    bool is_reasoning = is_class(l, "reasoning");
    bool is_masked = l->policy.enable_thinking == NO;

    for (size_t i = 0; i < llf->n_turns; i += 2) {
        bool is_asked = l->policy.mask_history != YES || i + 2 == llf->n_turns;
        bool is_empty = is_reasoning && is_asked && !has_thought(l, llf->turns[i + 1].text);
        int rc = add_source(llf, i, is_empty && is_masked);

        if (rc == OK && !l->is_refused)
            rc = add_target(llf, i + 1, is_empty && !is_masked);
        if (rc != OK || l->is_refused)
            return rc;
    }
    return OK;
}

/* stage: pt. Text and EOS, joined and cut into blocks: every token is trained. */
static int pretraining_row(struct labeller *l, struct str text, struct error *err)
{
    bool is_llama3 = l->policy.llamafactory_template &&
                     strcmp(l->policy.llamafactory_template, "llama3") == 0;

    buf_str(&l->text, text);
    buf_str(&l->text, is_llama3 ? str_of("<|end_of_text|>") : l->policy.eos_text);
    int rc = labels_encode(l, buf_view(&l->text), false, err);
    if (rc == OK && !l->is_refused)
        rc = labels_begin(l, err);
    return rc;
}

int labels_llamafactory(struct labeller *l, const struct conversation *row, struct error *err)
{
    struct llf llf = {.l = l, .err = err};

    if (row->form == ROW_TEXT && row->text.p)
        return pretraining_row(l, row->text, err);
    int rc = read_turns(&llf, row);

    if (rc != OK || l->is_refused)
        return rc;
    if (llf.system.n == 0)
        llf.system = l->policy.default_system ? str_of(l->policy.default_system)
                                              : text_of(l, "default_system");
    if (is_class(l, "reasoning")) {
        struct turn *turns = arena_array(l->arena, llf.n_turns, sizeof *turns);
        if (!turns)
            return error_set(err, E_NOMEM, "no memory for the turns of a row");
        memcpy(turns, llf.turns, llf.n_turns * sizeof *turns);
        llf.turns = turns;
        remove_thoughts(&llf, turns);
    }
    rc = encode_pairs(&llf);
    return rc == OK && !l->is_refused ? llf_end_row(&llf) : rc;
}
