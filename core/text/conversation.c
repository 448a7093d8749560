/* Rows of data sets in one shape: which form a row has and where its parts are. See conversation.h;
 * the turns themselves are turns.c.
 *
 * The order of forms is that of TRL, where a row has the columns of several: ids that are there
 * are used, then prompt and completion, then turns, then text. A column whose value is null counts
 * only when no other form is there (rows of mixed schemas are filled up with nulls). */
#include "core/text/conversation.h"

#include "core/text/turns.h"

const char *row_form_name(enum row_form form)
{
    static const char *const NAMES[] = {
        [ROW_OTHER] = "other",
        [ROW_MESSAGES] = "messages",
        [ROW_SHAREGPT] = "sharegpt",
        [ROW_PROMPT_COMPLETION] = "prompt-completion",
        [ROW_PREFERENCE] = "preference",
        [ROW_KTO] = "kto",
        [ROW_ALPACA] = "alpaca",
        [ROW_TEXT] = "text",
        [ROW_QA] = "qa",
        [ROW_TOKENS] = "tokens",
    };

    return (size_t)form < sizeof NAMES / sizeof *NAMES ? NAMES[form] : "other";
}

static const char *const TURN_COLUMNS[] = {"messages", "conversations", "conversation", NULL};
static const char *const QUESTION_COLUMNS[] = {"question", "query", "problem", "prompt", NULL};
static const char *const ANSWER_COLUMNS[] = {"answer", "response", "output", NULL};
static const char *const OUTPUT_COLUMNS[] = {"output", "response", NULL};

/* ---- Columns ---- */

struct columns {
    const struct json *row;
    const struct column_names *names;
    bool nulls_count; /* a column whose value is null is there */
};

static const struct json *column(const struct columns *columns, const char *name)
{
    const struct json *value = json_get(columns->row, name);

    return value && (columns->nulls_count || value->type != JSON_NULL) ? value : NULL;
}

static const struct json *first_of(const struct columns *columns, const char *const *names)
{
    const struct json *value = NULL;

    for (size_t i = 0; names[i] && !value; i++)
        value = column(columns, names[i]);
    return value;
}

static const char *or_usual(const char *set, const char *usual)
{
    return set ? set : usual;
}

static const char *prompt_name(const struct columns *columns)
{
    return or_usual(columns->names ? columns->names->prompt : NULL, "prompt");
}

static const char *completion_name(const struct columns *columns)
{
    return or_usual(columns->names ? columns->names->completion : NULL, "completion");
}

static const char *text_name(const struct columns *columns)
{
    return or_usual(columns->names ? columns->names->text : NULL, "text");
}

static const char *chosen_name(const struct columns *columns)
{
    return or_usual(columns->names ? columns->names->chosen : NULL, "chosen");
}

static const char *rejected_name(const struct columns *columns)
{
    return or_usual(columns->names ? columns->names->rejected : NULL, "rejected");
}

static bool text_is_named(const struct columns *columns)
{
    return columns->names && columns->names->text && !str_is(str_of("text"), columns->names->text);
}

static const struct json *turn_column(const struct columns *columns)
{
    return columns->names && columns->names->messages ? column(columns, columns->names->messages)
                                                      : first_of(columns, TURN_COLUMNS);
}

/* ---- Form ---- */

static enum row_form pair_form(const struct columns *columns)
{
    const char *name = or_usual(columns->names ? columns->names->label : NULL, "label");
    const struct json *label = column(columns, name);

    return json_is(label, JSON_TRUE) || json_is(label, JSON_FALSE) ? ROW_KTO
                                                                   : ROW_PROMPT_COMPLETION;
}

static enum row_form form_of(const struct columns *columns)
{
    const struct json *turns = turn_column(columns);

    if (column(columns, chosen_name(columns)) && column(columns, rejected_name(columns)))
        return ROW_PREFERENCE;
    if (column(columns, "input_ids"))
        return ROW_TOKENS;
    if (column(columns, prompt_name(columns)) && column(columns, completion_name(columns)))
        return pair_form(columns);
    if (turns)
        return str_starts(turns->key, "conversation") ? ROW_SHAREGPT : ROW_MESSAGES;
    if (text_is_named(columns) && column(columns, text_name(columns)))
        return ROW_TEXT;
    if (column(columns, "instruction") && first_of(columns, OUTPUT_COLUMNS))
        return ROW_ALPACA;
    if (column(columns, text_name(columns)))
        return ROW_TEXT;
    /* A class beside the question makes it a task of another kind. */
    if (json_get(columns->row, "label") || json_get(columns->row, "labels"))
        return ROW_OTHER;
    return first_of(columns, QUESTION_COLUMNS) && first_of(columns, ANSWER_COLUMNS) ? ROW_QA
                                                                                    : ROW_OTHER;
}

static struct columns columns_of(const struct json *row, const struct column_names *names)
{
    struct columns columns = {.row = row, .names = names};

    columns.nulls_count = form_of(&columns) == ROW_OTHER;
    return columns;
}

enum row_form form_of_row(const struct json *row, const struct column_names *names)
{
    struct columns columns = columns_of(row, names);

    return form_of(&columns);
}

/* ---- Parts ---- */

struct filling {
    struct columns columns;
    struct arena *arena;
    struct conversation *out;
};

static void odd(struct filling *filling, const char *what)
{
    if (what && !filling->out->oddity)
        filling->out->oddity = what;
}

static const char *kind_of(const struct json *value)
{
    static const char *const KINDS[] = {
        [JSON_NULL] = "null",       [JSON_FALSE] = "a boolean", [JSON_TRUE] = "a boolean",
        [JSON_NUMBER] = "a number", [JSON_STRING] = "a text",   [JSON_ARRAY] = "a list",
        [JSON_OBJECT] = "an object"};

    return value ? KINDS[value->type] : "absent";
}

/* A column that should be a text: p NULL and an oddity when it is something else. */
static struct str text_of(struct filling *filling, const struct json *value, bool is_needed)
{
    if (json_is(value, JSON_STRING))
        return value->text;
    if (value && (is_needed || value->type != JSON_NULL))
        odd(filling, arena_printf(filling->arena, "%.*s is %s, not a text",
                                  (int)(value->key.n < 64 ? value->key.n : 64), value->key.p,
                                  kind_of(value)));
    return (struct str){NULL, 0};
}

/* One turn that stands without a list. */
static const struct json *list_of_one(const struct json *turn, struct arena *arena)
{
    struct list_end out = list_begin(arena);
    struct json *copy = out.list ? copy_of(turn, arena) : NULL;

    if (!copy)
        return NULL;
    turns_add(&out, copy);
    return out.list;
}

static bool is_turn(const struct json *value)
{
    return json_is(value, JSON_OBJECT) &&
           (json_get(value, "content") || json_get(value, "value"));
}

/* A side of a row: a text, a list of turns or one turn. */
static void side_of(struct filling *filling, const struct json *value, struct str *text,
                    const struct json **turns)
{
    const char *name = value ? arena_strndup(filling->arena, value->key.p, value->key.n) : NULL;

    if (is_turn(value))
        value = list_of_one(value, filling->arena);
    if (!json_is(value, JSON_ARRAY)) {
        *text = text_of(filling, value, true);
        return;
    }
    struct turns made = turns_of(value, name, filling->columns.names, filling->arena);
    *turns = made.list;
    odd(filling, made.oddity);
}

static void fill_turns(struct filling *filling)
{
    const struct json *value = turn_column(&filling->columns);

    if (!value)
        return;
    const char *name = arena_strndup(filling->arena, value->key.p, value->key.n);
    struct turns made = turns_of(value, name, filling->columns.names, filling->arena);
    filling->out->messages = made.list;
    if (filling->out->form == ROW_MESSAGES || filling->out->form == ROW_SHAREGPT)
        odd(filling, made.oddity);
}

static struct str joined(struct arena *arena, struct str a, struct str b)
{
    if (a.n == 0 || b.n == 0)
        return a.n ? a : b.p ? b : a;
    char *out = arena_alloc(arena, a.n + 1 + b.n + 1);
    if (!out)
        return (struct str){NULL, 0};
    memcpy(out, a.p, a.n);
    out[a.n] = '\n';
    memcpy(out + a.n + 1, b.p, b.n);
    return str_from(out, a.n + 1 + b.n);
}

/* The prompt, and what a second column adds to it. */
static void fill_prompt(struct filling *filling, const struct json *prompt)
{
    const struct column_names *names = filling->columns.names;
    struct conversation *out = filling->out;

    side_of(filling, prompt, &out->prompt, &out->prompt_messages);
    const struct json *input = names && names->input ? json_get(out->row, names->input) : NULL;
    if (!out->prompt_messages && json_is(input, JSON_STRING))
        out->prompt = joined(filling->arena, out->prompt, input->text);
}

static void fill_pair(struct filling *filling, const struct json *prompt,
                      const struct json *completion)
{
    struct conversation *out = filling->out;

    fill_prompt(filling, prompt);
    side_of(filling, completion, &out->completion, &out->completion_messages);
    /* What a reward compares with is a text beside turns; that is no fault. */
    if (out->form != ROW_QA && !out->prompt_messages != !out->completion_messages)
        odd(filling, "one of prompt and completion is a list of turns, the other is not");
}

/* ---- Preference ---- */

static struct json *from_turn(const struct json *list, size_t first, size_t end,
                              struct arena *arena)
{
    struct list_end out = list_begin(arena);
    size_t i = 0;

    for (const struct json *turn = list->child; out.list && turn && i < end;
         turn = turn->next, i++) {
        struct json *copy = i >= first ? copy_of(turn, arena) : NULL;
        if (i >= first && !copy)
            return NULL;
        if (copy)
            turns_add(&out, copy);
    }
    return out.list;
}

/* Two whole conversations: what they have in common is the prompt. Each keeps one turn at least. */
static void split_common(struct filling *filling)
{
    struct conversation *out = filling->out;
    const struct json *a = out->chosen_messages->child, *b = out->rejected_messages->child;
    size_t n = 0;

    while (a && b && a->next && b->next && json_same(a, b)) {
        a = a->next;
        b = b->next;
        n++;
    }
    if (n == 0)
        return;
    out->prompt_messages = from_turn(out->chosen_messages, 0, n, filling->arena);
    out->chosen_messages = from_turn(out->chosen_messages, n, SIZE_MAX, filling->arena);
    out->rejected_messages = from_turn(out->rejected_messages, n, SIZE_MAX, filling->arena);
}

/* Two answers, before which the row's turns stand. */
static bool is_one_turn(const struct json *turns)
{
    return turns && turns->n == 1;
}

static bool ends_with_answer(const struct json *turns)
{
    const struct json *last = turns->child;

    while (last && last->next)
        last = last->next;
    return last && str_is(turn_role(last), "assistant");
}

static void fill_preference(struct filling *filling)
{
    const struct columns *columns = &filling->columns;
    struct conversation *out = filling->out;
    const struct json *prompt = column(columns, prompt_name(columns));

    if (prompt)
        fill_prompt(filling, prompt);
    side_of(filling, column(columns, chosen_name(columns)), &out->chosen, &out->chosen_messages);
    side_of(filling, column(columns, rejected_name(columns)), &out->rejected,
            &out->rejected_messages);
    if (!prompt && out->messages && is_one_turn(out->chosen_messages) &&
        is_one_turn(out->rejected_messages) && !ends_with_answer(out->messages))
        out->prompt_messages = out->messages;
    if (!out->chosen_messages != !out->rejected_messages)
        odd(filling, "one of chosen and rejected is a list of turns, the other is not");
    else if (out->chosen_messages && !out->prompt_messages)
        split_common(filling); /* also beside a prompt that is a text, which the turns repeat */
}

/* ---- Alpaca ---- */

/* [[question, answer], …] before the row's own turn. */
static void add_history(struct filling *filling, struct list_end *turns)
{
    const struct json *history = filling->out->history;
    size_t number = 1;

    for (const struct json *pair = history ? history->child : NULL; pair;
         pair = pair->next, number++) {
        const struct json *answer = pair->child ? pair->child->next : NULL;

        if (!json_is(pair, JSON_ARRAY) || pair->n != 2 || !json_is(pair->child, JSON_STRING) ||
            !json_is(answer, JSON_STRING)) {
            odd(filling, arena_printf(filling->arena,
                                      "entry %zu of history is not a question and an answer",
                                      number));
            return;
        }
        if (!turns_add_turn(turns, "user", pair->child->text, filling->arena) ||
            !turns_add_turn(turns, "assistant", answer->text, filling->arena))
            return;
    }
}

static void make_turns(struct filling *filling)
{
    struct conversation *out = filling->out;
    struct list_end turns = list_begin(filling->arena);

    if (!turns.list)
        return;
    if (out->system.n && !turns_add_turn(&turns, "system", out->system, filling->arena))
        return;
    add_history(filling, &turns);
    if (turns_add_turn(&turns, "user", out->prompt, filling->arena) &&
        turns_add_turn(&turns, "assistant", out->completion, filling->arena))
        out->messages = turns.list;
}

static void fill_alpaca(struct filling *filling)
{
    const struct columns *columns = &filling->columns;
    struct conversation *out = filling->out;
    const struct json *history = json_get(columns->row, "history");

    out->instruction = text_of(filling, column(columns, "instruction"), true);
    out->input = text_of(filling, json_get(columns->row, "input"), false);
    out->completion = text_of(filling, first_of(columns, OUTPUT_COLUMNS), true);
    out->prompt = joined(filling->arena, out->instruction, out->input);
    out->history = turns_of_value(history, filling->arena);
    if (history && !out->history && history->type != JSON_NULL &&
        !(history->type == JSON_STRING && str_trim(history->text).n == 0))
        odd(filling, "history is not a list");
    if (!out->messages)
        make_turns(filling);
}

/* ---- Tokens ---- */

static void fill_tokens(struct filling *filling)
{
    const struct json *row = filling->columns.row;
    struct conversation *out = filling->out;

    out->input_ids = turns_of_value(json_get(row, "input_ids"), filling->arena);
    out->labels = turns_of_value(json_get(row, "labels"), filling->arena);
    out->attention_mask = turns_of_value(json_get(row, "attention_mask"), filling->arena);
    if (out->form != ROW_TOKENS)
        return;
    if (!out->input_ids)
        odd(filling, "input_ids is not a list");
    else if (out->labels && out->labels->n != out->input_ids->n)
        odd(filling, "input_ids and labels have different lengths");
    else if (out->attention_mask && out->attention_mask->n != out->input_ids->n)
        odd(filling, "input_ids and attention_mask have different lengths");
}

static const struct json *nth(const struct json *list, size_t i)
{
    const struct json *item = list ? list->child : NULL;

    while (item && i-- > 0)
        item = item->next;
    return json_is(item, JSON_ARRAY) ? item : NULL;
}

size_t conversation_batch(const struct conversation *row)
{
    return row->input_ids && json_is(row->input_ids->child, JSON_ARRAY) ? row->input_ids->n : 0;
}

void conversation_batch_row(const struct conversation *batch, size_t i, struct conversation *out)
{
    *out = *batch;
    out->input_ids = nth(batch->input_ids, i);
    out->labels = nth(batch->labels, i);
    out->attention_mask = nth(batch->attention_mask, i);
    out->oddity = NULL;
    if (!out->input_ids)
        out->oddity = "a row of the batch is not a list";
    else if (out->labels && out->labels->n != out->input_ids->n)
        out->oddity = "input_ids and labels have different lengths";
}

/* ---- What stands beside the texts ---- */

/* A list or an object, also where the row has it as a JSON text. */
static const struct json *structure(struct filling *filling, const char *name, enum json_type type)
{
    const struct json *value = json_get(filling->columns.row, name), *parsed;
    struct error why;

    if (!value || value->type == JSON_NULL)
        return NULL;
    if (value->type == type)
        return value;
    if (value->type == JSON_STRING) {
        if (str_trim(value->text).n == 0)
            return NULL;
        if (json_parse_exact(value->text, filling->arena, &parsed, &why) == OK) {
            if (parsed->type == type)
                return parsed;
            if (parsed->type == JSON_NULL)
                return NULL;
        }
    }
    odd(filling, arena_printf(filling->arena, "%s is %s, not %s", name,
                              value->type == JSON_STRING ? "a text that holds no such JSON"
                                                         : kind_of(value),
                              type == JSON_ARRAY ? "a list" : "an object"));
    return NULL;
}

static void fill_others(struct filling *filling)
{
    struct conversation *out = filling->out;
    const struct column_names *names = filling->columns.names;
    const char *system = or_usual(names ? names->system : NULL, "system");
    const struct json *text = column(&filling->columns, text_name(&filling->columns));

    if (json_is(text, JSON_STRING))
        out->text = text->text;
    const struct json *value = json_get(filling->columns.row, system);
    if (json_is(value, JSON_STRING))
        out->system = value->text;
    out->tools = structure(filling, "tools", JSON_ARRAY);
    out->documents = structure(filling, "documents", JSON_ARRAY);
    out->kwargs = structure(filling, "chat_template_kwargs", JSON_OBJECT);
}

/* What reinforcement learning trains on has no answers. */
static void fill_prompt_alone(struct filling *filling)
{
    struct conversation *out = filling->out;
    const struct json *prompt = column(&filling->columns, prompt_name(&filling->columns));

    if (prompt)
        side_of(filling, prompt, &out->prompt, &out->prompt_messages);
    odd(filling, prompt ? "a prompt without an answer" : "no column that a trainer knows");
}

static void fill_form(struct filling *filling)
{
    const struct columns *columns = &filling->columns;
    struct conversation *out = filling->out;

    switch (out->form) {
    case ROW_PROMPT_COMPLETION:
    case ROW_KTO:
        fill_pair(filling, column(columns, prompt_name(columns)),
                  column(columns, completion_name(columns)));
        break;
    case ROW_QA:
        fill_pair(filling, first_of(columns, QUESTION_COLUMNS), first_of(columns, ANSWER_COLUMNS));
        break;
    case ROW_PREFERENCE:
        fill_preference(filling);
        break;
    case ROW_ALPACA:
        fill_alpaca(filling);
        break;
    case ROW_TEXT:
        out->text = text_of(filling, column(columns, text_name(columns)), true);
        break;
    case ROW_OTHER:
        fill_prompt_alone(filling);
        break;
    case ROW_MESSAGES:
    case ROW_SHAREGPT:
    case ROW_TOKENS:
        break;
    }
}

int conversation_of_row(const struct json *row, const struct column_names *names,
                        struct arena *arena, struct conversation *out, struct error *err)
{
    struct filling filling = {.arena = arena, .out = out};

    *out = (struct conversation){.form = ROW_OTHER, .row = row};
    if (!json_is(row, JSON_OBJECT)) {
        out->oddity = "the row is no JSON object";
        return OK;
    }
    filling.columns = columns_of(row, names);
    out->form = form_of(&filling.columns);
    fill_turns(&filling);
    fill_tokens(&filling);
    fill_others(&filling);
    fill_form(&filling);
    if (arena_failed(arena))
        return error_set(err, E_NOMEM, "no memory for the parts of a row");
    return OK;
}
