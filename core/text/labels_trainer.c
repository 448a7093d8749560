/* transformers' Trainer on texts, torchtune and litgpt (MASKS.md section 5). Rows of ids are
 * labels_recorded.c. */
#include <stdio.h>

#include "core/text/labels_parts.h"
#include "core/text/labels_prompt_style.h"

int labels_trainer(struct labeller *l, const struct conversation *row, struct error *err)
{
    if (!row->text.p)
        return labels_refuse(l, "a row of the form %s needs the script's own function, which is not known",
                             row_form_name(row->form));
    int rc = labels_encode(l, row->text, true, err);
    if (rc == OK && !l->is_refused)
        rc = labels_begin(l, err);
    if (rc != OK || l->is_refused)
        return rc;
    if (l->policy.max_length != NONE && !l->policy.packs)
        labels_truncate(l, (size_t)l->policy.max_length);
    return labels_sides_by_markers(l, err);
}

/* ---- torchtune ---- */

/* Which of its tokenizers: by the special tokens of the vocabulary. */
struct tune {
    int64_t open, close, end;       /* around a header, and the end of a turn */
    bool is_llama3;
};

static struct tune tune_of(const struct labeller *l)
{
    struct tune tune = {.open = tokenizer_id(l->tokenizer, str_of("<|start_header_id|>")),
                        .close = tokenizer_id(l->tokenizer, str_of("<|end_header_id|>")),
                        .end = tokenizer_id(l->tokenizer, str_of("<|eot_id|>")),
                        .is_llama3 = true};

    if (tune.open != NONE && tune.close != NONE && tune.end != NONE)
        return tune;
    return (struct tune){.open = tokenizer_id(l->tokenizer, str_of("<|im_start|>")),
                         .close = NONE,
                         .end = tokenizer_id(l->tokenizer, str_of("<|im_end|>"))};
}

int labels_open_torchtune(struct labeller *l, struct error *err)
{
    struct tune tune = tune_of(l);

    if (tune.open == NONE || tune.end == NONE)
        return error_set(err, E_UNSUPPORTED,
                         "torchtune's tokenizer for this vocabulary is not simulated, import "
                         "labels_sample.jsonl");
    return OK;
}

static int add_header(struct labeller *l, const struct tune *tune, struct str role,
                      struct error *err)
{
    int rc = labels_append_id(l, (uint32_t)tune->open, err);

    if (rc == OK && tune->is_llama3) {
        rc = labels_append(l, str_trim(role), false, err);
        if (rc == OK)
            rc = labels_append_id(l, (uint32_t)tune->close, err);
        return rc == OK ? labels_append(l, str_of("\n\n"), false, err) : rc;
    }
    char line[128];
    snprintf(line, sizeof line, "%.*s\n", (int)(role.n < 100 ? role.n : 100), role.p);
    return rc == OK ? labels_append(l, str_of(line), false, err) : rc;
}

static int add_message(struct labeller *l, const struct tune *tune, struct str role,
                       struct str content, bool is_last, struct error *err)
{
    bool is_assistant = str_is(role, "assistant");
    bool is_masked = !is_assistant && l->policy.train_on_inputs != YES;
    size_t at = l->row.n;
    int rc = add_header(l, tune, role, err);
    size_t behind = l->row.n;

    if (rc == OK)
        rc = labels_append(l, tune->is_llama3 ? str_trim(content) : content, false, err);
    if (rc == OK && !l->is_refused && (tune->is_llama3 || !is_assistant || !is_last))
        rc = labels_append_id(l, (uint32_t)tune->end, err);
    if (rc == OK && !l->is_refused && !tune->is_llama3 && (!is_assistant || !is_last))
        rc = labels_append(l, str_of("\n"), false, err);
    if (rc == OK && !l->is_refused)
        rc = labels_reserve(l, l->row.n, err);
    if (rc != OK || l->is_refused)
        return rc;
    l->n = l->row.n;
    memset(l->trained + at, 1, l->n - at);
    memset(l->why + at, WHY_TRAINED, l->n - at);
    labels_set_side(l, at, l->n, labels_side_of_role(role));
    if (is_assistant) {
        labels_set_side(l, at, behind, SIDE_OF_HEADER);
        l->n_prompt = l->n_prompt == SIZE_MAX ? behind : l->n_prompt;
    }
    if (is_masked)
        labels_mask(l, at, l->n, WHY_PROMPT);
    return OK;
}

static int add_alone(struct labeller *l, int64_t id, bool is_trained, struct error *err)
{
    if (id == NONE)
        return OK;
    int rc = labels_append_id(l, (uint32_t)id, err);
    if (rc == OK)
        rc = labels_reserve(l, l->row.n, err);
    if (rc != OK)
        return rc;
    l->n = l->row.n;
    l->trained[l->n - 1] = is_trained;
    l->why[l->n - 1] = is_trained ? WHY_TRAINED : WHY_END;
    l->side[l->n - 1] = SIDE_OF_NOBODY;
    return OK;
}

static int add_messages(struct labeller *l, const struct conversation *row, const struct tune *tune,
                        struct error *err)
{
    int rc = OK;

    for (const struct json *message = row->messages->child; message && rc == OK && !l->is_refused;
         message = message->next) {
        struct str content = turn_text(message, l->arena);

        rc = add_message(l, tune, turn_role(message), content.p ? content : str_of(""),
                         message->next == NULL, err);
    }
    return rc;
}

/* An instruction is put into words as alpaca does. */
static int add_pair(struct labeller *l, const struct conversation *row, const struct tune *tune,
                    struct error *err)
{
    struct buf prompt;

    buf_init(&prompt, LABELS_TEXT_BYTES);
    if (row->form == ROW_ALPACA)
        prompt_style_write(&prompt, STYLE_INSTRUCT, row->instruction,
                           row->input.p ? row->input : str_of(""));
    else
        buf_str(&prompt, row->prompt);
    int rc = add_message(l, tune, str_of("user"), buf_view(&prompt), false, err);
    buf_free(&prompt);
    if (rc != OK || l->is_refused)
        return rc;
    return add_message(l, tune, str_of("assistant"), row->completion, true, err);
}

int labels_torchtune(struct labeller *l, const struct conversation *row, struct error *err)
{
    struct tune tune = tune_of(l);
    bool has_turns = row->messages && row->form != ROW_ALPACA;
    int64_t limit = l->policy.max_length;
    int rc = OK;

    if (!has_turns && (!row->prompt.p || !row->completion.p))
        return labels_refuse(l, "%s", row->oddity ? row->oddity : "no turns and no answer");
    l->n_prompt = SIZE_MAX;
    if (tune.is_llama3)
        rc = add_alone(l, l->policy.bos_id, false, err);
    if (rc == OK)
        rc = has_turns ? add_messages(l, row, &tune, err) : add_pair(l, row, &tune, err);
    if (rc != OK || l->is_refused || l->n == 0)
        return rc;
    rc = add_alone(l, l->eos_id, !tune.is_llama3 && l->trained[l->n - 1], err);
    l->has_sides = true;
    l->n_prompt = l->n_prompt == SIZE_MAX ? l->n : l->n_prompt;
    if (rc != OK || limit == NONE || (int64_t)l->n <= limit || limit == 0)
        return rc;
    l->n_kept = (size_t)limit;      /* the last token that is kept becomes EOS, masked */
    if (l->eos_id != NONE && l->row.ids[limit - 1] != l->eos_id) {
        l->row.ids[limit - 1] = (uint32_t)l->eos_id;
        labels_mask(l, (size_t)limit - 1, (size_t)limit, WHY_END);
    }
    return OK;
}

/* ---- litgpt ---- */

/* Its tokenizer adds BOS when the tokenizer's own file does, and one EOS on request. */
static int append_litgpt(struct labeller *l, struct str text, bool wants_bos, bool wants_eos,
                         struct error *err)
{
    int64_t bos = l->policy.bos_id;
    bool uses_bos = bos != NONE && tokenizer_first_added(l->tokenizer) == bos;
    size_t at = l->row.n;
    int rc = OK;

    if (wants_bos && uses_bos)
        rc = labels_append_id(l, (uint32_t)bos, err);
    if (rc == OK)
        rc = labels_append(l, text, false, err);
    if (rc != OK || l->is_refused || l->eos_id == NONE)
        return rc;
    bool ends_with_eos = l->row.n > at && l->row.ids[l->row.n - 1] == l->eos_id;
    if (wants_eos && !ends_with_eos)
        return labels_append_id(l, (uint32_t)l->eos_id, err);
    if (ends_with_eos)
        l->row.n--;     /* also where it was asked for and stood there already */
    return OK;
}

int labels_litgpt(struct labeller *l, const struct conversation *row, struct error *err)
{
    enum prompt_style style = prompt_style_of(l->policy.prompt_style);
    struct str question = row->instruction.p ? row->instruction : row->prompt;
    struct buf prompt;

    if (style == N_STYLES)
        return error_set(err, E_UNSUPPORTED, "litgpt's prompt style \"%.60s\" is not simulated",
                         l->policy.prompt_style);
    if (!question.p || !row->completion.p)
        return labels_refuse(l, "%s", row->oddity ? row->oddity : "no instruction and output");
    buf_init(&prompt, LABELS_TEXT_BYTES);
    prompt_style_write(&prompt, style, question, row->input.p ? row->input : str_of(""));
    int rc = append_litgpt(l, buf_view(&prompt), true, false, err);
    buf_free(&prompt);
    size_t boundary = l->row.n;
    if (rc == OK && !l->is_refused)
        rc = append_litgpt(l, row->completion, false, true, err);
    if (rc == OK && !l->is_refused)
        rc = labels_begin(l, err);
    if (rc != OK || l->is_refused)
        return rc;
    labels_sides_split(l, boundary);
    if (l->policy.train_on_prompt == NO)
        labels_mask(l, 0, boundary, WHY_PROMPT);
    return OK;
}
