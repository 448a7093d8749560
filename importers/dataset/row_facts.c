/* Facts of a row, from its tree or its flat fields. Forms are those of model.h (dataset.form); a
 * row of an unknown form has no facts. */
#include "importers/dataset/row_facts.h"

#include "core/text/text_size.h"
#include "importers/dataset/token_rows.h"

struct part {
    bool is_there; /* the field exists */
    bool is_blank; /* null, "", white space only */
    struct text_size size;
};

static void add_text(struct str text, struct part *part)
{
    struct text_size size = text_size_of(text);

    part->is_blank = part->is_blank && size.words == 0;
    part->size = text_size_sum(part->size, size);
}

/* ---- A value as text: a string, or parts of a multimodal message ---- */

static struct part part_of(const struct json *value)
{
    struct part part = {.is_there = value != NULL, .is_blank = true};

    if (!value)
        return part;
    if (value->type == JSON_STRING)
        add_text(value->text, &part);
    else if (value->type == JSON_NUMBER || value->type == JSON_TRUE || value->type == JSON_FALSE)
        part.is_blank = false;
    else if (value->type == JSON_ARRAY || value->type == JSON_OBJECT)
        for (const struct json *item = value->child; item; item = item->next) {
            const struct json *text = json_is(item, JSON_OBJECT) ? json_get(item, "text") : item;
            if (json_is(text, JSON_STRING))
                add_text(text->text, &part);
            else
                part.is_blank = false; /* an image, a structure: not empty */
        }
    return part;
}

/* ---- Conversations ---- */

enum speaker { SPEAKER_OTHER, SPEAKER_USER, SPEAKER_ASSISTANT };

static enum speaker speaker_of(const struct json *turn)
{
    static const char *const ASSISTANT[] = {"assistant", "gpt", "model", "bot", "chatgpt"};
    static const char *const USER[] = {"user", "human"};
    const struct json *role = json_get(turn, "role");

    if (!json_is(role, JSON_STRING))
        role = json_get(turn, "from");
    if (!json_is(role, JSON_STRING))
        return SPEAKER_OTHER;
    for (size_t i = 0; i < sizeof ASSISTANT / sizeof ASSISTANT[0]; i++)
        if (str_is_ignoring_case(role->text, ASSISTANT[i]))
            return SPEAKER_ASSISTANT;
    for (size_t i = 0; i < sizeof USER / sizeof USER[0]; i++)
        if (str_is_ignoring_case(role->text, USER[i]))
            return SPEAKER_USER;
    return SPEAKER_OTHER;
}

static bool calls_tools(const struct json *turn)
{
    static const char *const NAMES[] = {"tool_calls", "function_call"};

    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        const struct json *calls = json_get(turn, NAMES[i]);
        if (calls && calls->type != JSON_NULL && (calls->n > 0 || json_is(calls, JSON_STRING)))
            return true;
    }
    return false;
}

struct talk {
    uint32_t flags;
    bool has_assistant;
    struct text_size all, before_answer;
};

static bool is_talk(const struct json *value)
{
    return json_is(value, JSON_ARRAY) && json_is(value->child, JSON_OBJECT);
}

static void read_turn(const struct json *turn, struct talk *talk)
{
    const struct json *content = json_get(turn, "content");
    enum speaker speaker = speaker_of(turn);

    if (!content)
        content = json_get(turn, "value");
    struct part part = part_of(content);
    if (speaker == SPEAKER_ASSISTANT) {
        talk->has_assistant = true;
        if (part.is_blank && !calls_tools(turn))
            talk->flags |= SAMPLE_EMPTY_ANSWER;
    } else if (speaker == SPEAKER_USER && part.is_blank) {
        talk->flags |= SAMPLE_EMPTY_PROMPT;
    }
    talk->all = text_size_sum(talk->all, part.size);
    if (!talk->has_assistant)
        talk->before_answer = text_size_sum(talk->before_answer, part.size);
}

static struct talk read_talk(const struct json *turns)
{
    struct talk talk = {.flags = 0};

    for (const struct json *turn = turns->child; turn; turn = turn->next)
        if (json_is(turn, JSON_OBJECT))
            read_turn(turn, &talk);
    return talk;
}

/* ---- Forms ---- */

/* What the two sides of a free form are called, the surest name first. */
static const char *const PROMPT_NAMES[] = {"prompt", "question", "query", "problem", NULL};
static const char *const ANSWER_NAMES[] = {"completion", "response", "answer",
                                           "output",     "target",   NULL};

static const struct json *member_named(const struct json *row, const char *const *names)
{
    for (size_t i = 0; names[i]; i++)
        if (json_get(row, names[i]))
            return json_get(row, names[i]);
    return NULL;
}

static void nothing_known(struct sample *out)
{
    out->flags = 0;
    out->n_tokens = out->n_prompt_tokens = out->n_trained = -1;
}

static void put_lengths(struct sample *out, struct text_size prompt, struct text_size all)
{
    out->flags |= SAMPLE_ESTIMATED;
    out->n_prompt_tokens = text_size_tokens(prompt);
    out->n_tokens = text_size_tokens(all);
}

static void conversation(const struct json *turns, struct sample *out)
{
    struct talk talk = read_talk(turns);

    out->flags = talk.flags | (talk.has_assistant ? 0u : (uint32_t)SAMPLE_NO_ASSISTANT);
    put_lengths(out, talk.before_answer, talk.all);
}

/* A prompt or an answer that may be a text or turns; its blankness and its size. */
static struct part side(const struct json *value, bool is_answer)
{
    if (!is_talk(value))
        return part_of(value);
    struct talk talk = read_talk(value);
    uint32_t bad = is_answer ? SAMPLE_EMPTY_ANSWER : SAMPLE_EMPTY_PROMPT;
    return (struct part){.is_there = true, .is_blank = (talk.flags & bad) != 0, .size = talk.all};
}

static void with_answers(struct part prompt, const struct part *answers, size_t n,
                         struct sample *out)
{
    struct text_size all = prompt.size, longest = {0, 0};

    out->flags = prompt.is_there && prompt.is_blank ? SAMPLE_EMPTY_PROMPT : 0u;
    for (size_t i = 0; i < n; i++) {
        if (answers[i].is_there && answers[i].is_blank)
            out->flags |= SAMPLE_EMPTY_ANSWER;
        if (answers[i].size.characters > longest.characters)
            longest = answers[i].size;
    }
    all = text_size_sum(all, longest);
    put_lengths(out, prompt.size, all);
}

/* The row as its named parts, whatever it was read from. */
struct row {
    struct part prompt, completion, chosen, rejected, instruction, input, output, text;
};

static void decide(const struct row *row, struct sample *out)
{
    const struct part pair[2] = {row->chosen, row->rejected};
    struct part asked = row->instruction;

    if (row->chosen.is_there && row->rejected.is_there) {
        with_answers(row->prompt, pair, 2, out);
    } else if (row->prompt.is_there && row->completion.is_there) {
        with_answers(row->prompt, &row->completion, 1, out);
    } else if (row->instruction.is_there && row->output.is_there) {
        /* Either of instruction and input may be empty, not both. */
        asked.size = text_size_sum(asked.size, row->input.size);
        asked.is_blank = asked.is_blank && (!row->input.is_there || row->input.is_blank);
        with_answers(asked, &row->output, 1, out);
    } else if (row->text.is_there) {
        out->flags = row->text.is_blank ? SAMPLE_EMPTY_ANSWER : 0u;
        put_lengths(out, (struct text_size){0, 0}, row->text.size);
    } else if (row->prompt.is_there) {
        with_answers(row->prompt, NULL, 0, out);
    }
}

void row_facts_of_tree(const struct json *row, struct sample *out)
{
    static const char *const TALKS[] = {"messages", "conversations", "conversation"};
    const struct json *ids = json_get(row, "input_ids");
    struct row parts;

    nothing_known(out);
    if (json_get(row, "chosen") && json_get(row, "rejected")) {
        const struct json *chosen = json_get(row, "chosen"), *rejected = json_get(row, "rejected");
        parts = (struct row){.prompt = side(json_get(row, "prompt"), false),
                             .chosen = side(chosen, true),
                             .rejected = side(rejected, true)};
        decide(&parts, out);
        return;
    }
    if (json_is(ids, JSON_ARRAY)) {
        const struct json *labels = json_get(row, "labels");
        token_row_facts(ids, json_is(labels, JSON_ARRAY) ? labels : NULL, out);
        return;
    }
    for (size_t i = 0; i < sizeof TALKS / sizeof TALKS[0]; i++)
        if (json_is(json_get(row, TALKS[i]), JSON_ARRAY)) {
            conversation(json_get(row, TALKS[i]), out);
            return;
        }
    const struct json *output = json_get(row, "output");
    parts = (struct row){
        .prompt = side(member_named(row, PROMPT_NAMES), false),
        .completion = side(member_named(row, ANSWER_NAMES), true),
        .instruction = part_of(json_get(row, "instruction")),
        .input = part_of(json_get(row, "input")),
        .output = part_of(output ? output : json_get(row, "response")),
        .text = part_of(json_get(row, "text")),
    };
    decide(&parts, out);
}

static struct part text_named(const struct str *names, const struct str *texts, size_t n,
                              const char *name)
{
    struct part part = {.is_there = false, .is_blank = true};

    for (size_t i = 0; i < n; i++) {
        if (!str_is(names[i], name))
            continue;
        part.is_there = true;
        add_text(texts[i], &part);
        return part;
    }
    return part;
}

static struct part first_named(const struct str *names, const struct str *texts, size_t n,
                               const char *const *wanted)
{
    struct part part = {.is_there = false, .is_blank = true};

    for (size_t i = 0; wanted[i] && !part.is_there; i++)
        part = text_named(names, texts, n, wanted[i]);
    return part;
}

void row_facts_of_texts(const struct str *names, const struct str *texts, size_t n,
                        struct sample *out)
{
    struct row parts = {
        .prompt = first_named(names, texts, n, PROMPT_NAMES),
        .completion = first_named(names, texts, n, ANSWER_NAMES),
        .chosen = text_named(names, texts, n, "chosen"),
        .rejected = text_named(names, texts, n, "rejected"),
        .instruction = text_named(names, texts, n, "instruction"),
        .input = text_named(names, texts, n, "input"),
        .output = text_named(names, texts, n, "output"),
        .text = text_named(names, texts, n, "text"),
    };

    if (!parts.output.is_there)
        parts.output = text_named(names, texts, n, "response");
    nothing_known(out);
    decide(&parts, out);
}
