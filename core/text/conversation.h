/* One row of a data set in the one shape that all code uses.
 *
 * The form is found by the columns (`form_of_columns`, the same names as struct dataset.form), the
 * texts are borrowed from the row's JSON tree, what has to be made lies in the arena. ShareGPT's
 * from/value become role/content (human → user, gpt → assistant, others as they are); Alpaca rows
 * get a prompt and a completion, and messages for trainers that want turns. */
#ifndef CORE_TEXT_CONVERSATION_H
#define CORE_TEXT_CONVERSATION_H

#include "core/base/arena.h"
#include "core/read/json.h"

enum row_form {
    ROW_OTHER,              /* columns that no trainer knows, or a prompt alone (GRPO) */
    ROW_MESSAGES,           /* messages: [{role, content}] */
    ROW_SHAREGPT,           /* conversations: [{from, value}] */
    ROW_PROMPT_COMPLETION,  /* texts, or both lists of messages */
    ROW_PREFERENCE,         /* prompt, chosen, rejected (or chosen and rejected alone) */
    ROW_KTO,                /* prompt, completion, label */
    ROW_ALPACA,             /* instruction, input, output, system, history */
    ROW_TEXT,               /* text, or the column that dataset_text_field names */
    ROW_QA,                 /* question/answer, query/response: a prompt and an answer by other names */
    ROW_TOKENS              /* input_ids, with or without labels */
};

const char *row_form_name(enum row_form form);              /* "prompt-completion" as in struct dataset */

/* Column names that a setting changed; NULL members: the usual names. */
struct column_names {
    const char *messages, *text, *prompt, *completion, *system, *role, *content;
    const char *input;              /* is joined to the prompt by a line feed */
    const char *chosen, *rejected, *label;
    const char *user, *assistant;   /* what a turn's role is called */
};

struct conversation {
    enum row_form form;
    const struct json *row;         /* the whole row */
    const struct json *messages;    /* array of {role, content …}; NULL when the row has no turns */
    /* prompt/completion and preference rows: either the arrays or the texts are set. */
    const struct json *prompt_messages, *completion_messages, *chosen_messages, *rejected_messages;
    struct str prompt, completion, chosen, rejected;    /* p NULL: absent or null */
    struct str text;                /* ROW_TEXT */
    struct str instruction, input, system;              /* ROW_ALPACA; system also of others */
    const struct json *history;     /* ROW_ALPACA: [[question, answer], …] */
    const struct json *tools;       /* array, also where the row has it as a JSON text; or NULL */
    const struct json *documents;
    const struct json *kwargs;      /* chat_template_kwargs of the row, or NULL */
    const struct json *input_ids, *labels, *attention_mask; /* ROW_TOKENS */
    const char *oddity;             /* what is wrong with the row, one clause, or NULL: "messages is
                                       not a list", "turn 3 has no role", "content is a number" */
};

enum row_form form_of_row(const struct json *row, const struct column_names *names);
/* Always fills *out; E_NOMEM only. What is wrong with the row is its `oddity`. */
MUST_CHECK int conversation_of_row(const struct json *row, const struct column_names *names,
                                   struct arena *arena, struct conversation *out,
                                   struct error *err);
/* A token dump may hold a batch in one row (ids nested one level): how many rows, 0 when it is none;
 * and the i-th of them with its own ids, labels and mask. */
size_t conversation_batch(const struct conversation *row);
void conversation_batch_row(const struct conversation *batch, size_t i, struct conversation *out);
/* "system", "user", "assistant", "tool", or the role as written; "" when there is none. */
struct str turn_role(const struct json *message);
/* The text of a turn: content as text, or the texts of its parts joined. p NULL: none. */
struct str turn_text(const struct json *message, struct arena *arena);

#endif
