/* Input and target of a row of any form; see row_parts.h. How a row is rendered as a prompt is
 * chat_template.c's. */
#include "core/text/row_parts.h"

struct filling {
    struct arena *arena;
    struct row_parts *out;
    struct buf input;
    bool has_input; /* the form has one: a text alone has not */
};

enum { MAX_INPUT = 64 << 20 };

static bool is_blank(struct str text)
{
    return str_trim(text).n == 0;
}

static void add_input(struct filling *filling, struct str text)
{
    filling->has_input = true;
    if (!text.p || text.n == 0)
        return;
    if (filling->input.n)
        buf_putc(&filling->input, '\n');
    buf_str(&filling->input, text);
}

static void set_target(struct filling *filling, struct str text)
{
    filling->out->has_target = true;
    if (text.p)
        filling->out->target = text;
    else
        filling->out->flags |= ROW_NULL_FIELD;
}

/* ---- Turns ---- */

/* An answer that only calls tools has no text: that is no empty target. */
static bool calls_tools(const struct json *turn)
{
    const struct json *calls = json_get(turn, "tool_calls");

    return (json_is(calls, JSON_ARRAY) && calls->n > 0) ||
           json_is(json_get(turn, "function_call"), JSON_OBJECT);
}

static void add_turn(struct filling *filling, const struct json *turn)
{
    struct str text = turn_text(turn, filling->arena);

    if (!text.p && !calls_tools(turn))
        filling->out->flags |= ROW_NULL_FIELD;
    add_input(filling, text);
}

static const struct json *last_answer(const struct json *turns)
{
    const struct json *last = NULL;

    for (const struct json *turn = turns->child; turn; turn = turn->next)
        if (str_is(turn_role(turn), "assistant"))
            last = turn;
    return last;
}

static void put_answer(struct filling *filling, const struct json *turn)
{
    struct str text = turn_text(turn, filling->arena);

    if ((!text.p || is_blank(text)) && calls_tools(turn))
        return;
    set_target(filling, text);
}

/* Turns up to the last answer; without one all of them are input. */
static void put_turns(struct filling *filling, const struct json *turns)
{
    const struct json *answer = last_answer(turns);

    for (const struct json *turn = turns->child; turn && turn != answer; turn = turn->next)
        add_turn(filling, turn);
    filling->has_input = true;
    if (answer)
        put_answer(filling, answer);
}

static bool starts_with_system(const struct json *turns)
{
    return turns->child && str_is(turn_role(turns->child), "system");
}

static void put_conversation(struct filling *filling, const struct conversation *row)
{
    filling->has_input = true;
    if (!row->messages) {
        filling->out->flags |= ROW_NULL_FIELD;
        return;
    }
    if (row->system.n && !starts_with_system(row->messages))
        add_input(filling, row->system);
    put_turns(filling, row->messages);
}

/* ---- Pairs ---- */

/* The prompt may stand as turns, with its system text, or as a text. */
static void put_prompt(struct filling *filling, const struct conversation *row)
{
    if (row->system.n && !(row->prompt_messages && starts_with_system(row->prompt_messages)))
        add_input(filling, row->system);
    for (const struct json *turn = row->prompt_messages ? row->prompt_messages->child : NULL; turn;
         turn = turn->next)
        add_turn(filling, turn);
    if (!row->prompt_messages && !row->prompt.p && row->form != ROW_PREFERENCE)
        filling->out->flags |= ROW_NULL_FIELD;
    if (!row->prompt_messages)
        add_input(filling, row->prompt);
}

static void put_answer_side(struct filling *filling, const struct json *turns, struct str text)
{
    if (turns)
        put_turns(filling, turns);
    else
        set_target(filling, text);
}

/* The question of pairs that call it otherwise. */
static void put_question(struct filling *filling, const struct conversation *row)
{
    static const char *const NAMES[] = {"instruction", "question", "query", "problem", "input"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const struct json *value = json_get(row->row, NAMES[i]);

        if (json_is(value, JSON_STRING) && value->text.n)
            add_input(filling, value->text);
    }
}

/* Preference rows without a prompt have nothing before the answers. */
static void put_preference(struct filling *filling, const struct conversation *row)
{
    put_prompt(filling, row);
    if (!row->prompt_messages && !row->prompt.p)
        put_question(filling, row);
    filling->has_input = row->prompt_messages || row->prompt.p || filling->input.n;
    put_answer_side(filling, row->chosen_messages, row->chosen);
}

static void put_alpaca(struct filling *filling, const struct conversation *row)
{
    add_input(filling, row->system);
    for (const struct json *pair = row->history ? row->history->child : NULL; pair;
         pair = pair->next)
        for (const struct json *text = pair->child; text; text = text->next)
            if (text->type == JSON_STRING)
                add_input(filling, text->text);
    if (!row->instruction.p)
        filling->out->flags |= ROW_NULL_FIELD;
    add_input(filling, row->instruction);
    add_input(filling, row->input);
    set_target(filling, row->completion);
}

/* ---- Rows with a class ---- */

/* One class a row: a list has one of each token. */
static const struct json *class_of(const struct json *row)
{
    static const char *const NAMES[] = {"label",  "labels",  "class",    "category",
                                        "intent", "emotion", "sentiment"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const struct json *value = json_get(row, NAMES[i]);

        if (value && value->type != JSON_ARRAY && value->type != JSON_OBJECT)
            return value;
    }
    return NULL;
}

static struct str class_text(const struct json *value)
{
    if (value->type == JSON_TRUE || value->type == JSON_FALSE)
        return str_of(value->type == JSON_TRUE ? "true" : "false");
    return value->type == JSON_NULL ? (struct str){NULL, 0} : value->text;
}

/* Columns that name a row instead of saying something. */
static bool is_name(struct str key)
{
    static const char *const NAMES[] = {"id",         "idx",   "index",   "uid", "uuid",
                                        "guid",       "split", "source",  "url", "label_text",
                                        "label_name", "lang",  "language"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_is(key, NAMES[i]))
            return true;
    return str_ends(key, "_id");
}

/* Its text, or the texts of all its columns: "premise" and "hypothesis", "sentence1" and so on. */
static void put_class(struct filling *filling, const struct conversation *row,
                      const struct json *label)
{
    filling->has_input = true;
    if (row->form == ROW_TEXT) {
        add_input(filling, row->text);
    } else if (row->prompt_messages || row->prompt.p) {
        put_prompt(filling, row);
    } else {
        for (const struct json *value = row->row->child; value; value = value->next)
            if (value != label && value->type == JSON_STRING && !is_name(value->key))
                add_input(filling, value->text);
    }
    set_target(filling, class_text(label));
}

/* ---- All forms ---- */

static void put_text(struct filling *filling, const struct conversation *row)
{
    const struct json *label = class_of(row->row);

    if (label)
        put_class(filling, row, label);
    else
        set_target(filling, row->text);
}

static void put_other(struct filling *filling, const struct conversation *row)
{
    const struct json *label = class_of(row->row);

    if (label)
        put_class(filling, row, label);
    else if (row->prompt_messages || row->prompt.p)
        put_prompt(filling, row);
}

static void put_row(struct filling *filling, const struct conversation *row)
{
    switch (row->form) {
    case ROW_MESSAGES:
    case ROW_SHAREGPT:
        put_conversation(filling, row);
        break;
    case ROW_PROMPT_COMPLETION:
    case ROW_KTO:
    case ROW_QA:
        put_prompt(filling, row);
        put_answer_side(filling, row->completion_messages, row->completion);
        break;
    case ROW_PREFERENCE:
        put_preference(filling, row);
        break;
    case ROW_ALPACA:
        put_alpaca(filling, row);
        break;
    case ROW_TEXT:
        put_text(filling, row);
        break;
    case ROW_OTHER:
        put_other(filling, row);
        break;
    case ROW_TOKENS:
        break;
    }
}

int row_parts_of(const struct conversation *row, struct arena *arena, struct row_parts *out,
                 struct error *err)
{
    struct filling filling = {.arena = arena, .out = out};

    *out = (struct row_parts){.input = str_of(""), .target = str_of("")};
    if (!json_is(row->row, JSON_OBJECT)) {
        out->flags = ROW_NOT_READABLE;
        return OK;
    }
    buf_init(&filling.input, MAX_INPUT);
    put_row(&filling, row);
    bool has_failed = filling.input.failed;
    out->input = arena_str(arena, buf_view(&filling.input));
    buf_free(&filling.input);
    if (has_failed || arena_failed(arena))
        return error_set(err, E_NOMEM, "no memory for the parts of a row");
    if (filling.has_input && is_blank(out->input))
        out->flags |= ROW_EMPTY_INPUT;
    if (out->has_target && is_blank(out->target))
        out->flags |= ROW_EMPTY_TARGET;
    return OK;
}
