/* axolotl's `type: alpaca` and kin, `completion` and `input_output` (MASKS.md section 4). */
#include "core/text/labels_parts.h"
#include "core/text/labels_prompt_style.h"

static const struct wording {
    const char *name;
    const char *system_open, *system_close;
    const char *before, *between, *behind;      /* with an input */
    const char *alone_behind;                   /* without one */
} WORDINGS[N_STYLES] = {
    [STYLE_INSTRUCT] = {"instruct", "", "\n\n", "### Instruction:\n", "\n\n### Input:\n",
                        "\n\n### Response:\n", "\n\n### Response:\n"},
    [STYLE_CHAT] = {"chat", "SYSTEM: ", "\n", "USER: ", "\n", "\nASSISTANT:", "\nASSISTANT:"},
    [STYLE_CHATML] = {"chatml", "<|im_start|>system\n", "<|im_end|>\n", "<|im_start|>user\n", "\n",
                      "<|im_end|>\n<|im_start|>assistant\n",
                      "<|im_end|>\n<|im_start|>assistant\n"},
    [STYLE_PHI] = {"phi", "<|system|>\n", "<|end|>\n", "<|user|>\n", "<|end|>", "<|assistant|>",
                   "<|end|>\n<|assistant|>\n"},
};

enum prompt_style prompt_style_of(const char *name)
{
    if (!name || strcmp(name, "alpaca") == 0)
        return STYLE_INSTRUCT;
    if (strcmp(name, "default") == 0 || strcmp(name, "none") == 0)
        return STYLE_NONE;
    for (int style = 0; style < STYLE_NONE; style++)
        if (strcmp(WORDINGS[style].name, name) == 0)
            return (enum prompt_style)style;
    return N_STYLES;
}

void prompt_style_write(struct buf *out, enum prompt_style style, struct str instruction,
                        struct str input)
{
    const struct wording *wording = &WORDINGS[style];

    if (style >= STYLE_NONE) {
        buf_str(out, instruction);
        return;
    }
    buf_puts(out, wording->system_open);
    buf_puts(out, "Below is an instruction that describes a task");
    buf_puts(out, input.n ? ", paired with an input that provides further context. " : ". ");
    buf_puts(out, "Write a response that appropriately completes the request.");
    buf_puts(out, wording->system_close);
    buf_puts(out, wording->before);
    buf_str(out, instruction);
    if (input.n) {
        buf_puts(out, wording->between);
        buf_str(out, input);
    }
    buf_puts(out, input.n ? wording->behind : wording->alone_behind);
}

static int append_eos(struct labeller *l, size_t begin, struct error *err)
{
    size_t n = l->row.n - begin;
    bool fits = l->policy.max_length == NONE || (int64_t)n < l->policy.max_length;

    if (n == 0 || l->eos_id == NONE || !fits || l->row.ids[l->row.n - 1] == l->eos_id)
        return OK;
    return labels_append_id(l, (uint32_t)l->eos_id, err);
}

/* The answer's own BOS is taken off; its text stays. */
static void drop_bos(struct labeller *l, size_t begin)
{
    if (begin >= l->row.n || l->policy.bos_id == NONE || l->row.ids[begin] != l->policy.bos_id)
        return;
    size_t n = l->row.n - begin - 1;

    memmove(l->row.ids + begin, l->row.ids + begin + 1, n * sizeof *l->row.ids);
    memmove(l->row.begin + begin, l->row.begin + begin + 1, n * sizeof *l->row.begin);
    memmove(l->row.end + begin, l->row.end + begin + 1, n * sizeof *l->row.end);
    l->row.n--;
}

int labels_axolotl_prompt(struct labeller *l, const struct conversation *row, struct error *err)
{
    enum prompt_style style = prompt_style_of(l->policy.prompt_style);
    struct str question = row->instruction.p ? row->instruction : row->prompt;
    struct buf prompt;

    if (style == N_STYLES)
        return error_set(err, E_UNSUPPORTED, "axolotl's prompt style \"%.60s\" is not known",
                         l->policy.prompt_style);
    if (!question.p || !row->completion.p)
        return labels_refuse(l, "%s", row->oddity ? row->oddity : "no instruction and output");
    buf_init(&prompt, LABELS_TEXT_BYTES);
    prompt_style_write(&prompt, style, question, row->input.p ? row->input : str_of(""));
    int rc = prompt.failed ? labels_refuse(l, "longer than %zu bytes", LABELS_TEXT_BYTES)
                           : labels_append(l, buf_view(&prompt), true, err);
    buf_free(&prompt);
    size_t boundary = l->row.n;
    if (rc == OK && !l->is_refused && row->completion.n)
        rc = labels_append(l, row->completion, true, err);
    if (rc == OK && !l->is_refused) {
        rc = append_eos(l, boundary, err);
        drop_bos(l, boundary);
    }
    if (rc == OK && !l->is_refused)
        rc = labels_begin(l, err);
    if (rc != OK || l->is_refused)
        return rc;
    labels_sides_split(l, boundary);
    if (l->policy.train_on_inputs != YES)
        labels_mask(l, 0, boundary, WHY_PROMPT);
    return OK;
}

int labels_axolotl_text(struct labeller *l, const struct conversation *row, struct error *err)
{
    if (!row->text.p)
        return labels_refuse(l, "%s", row->oddity ? row->oddity : "the row has no text");
    int rc = row->text.n ? labels_append(l, row->text, true, err) : OK;
    if (rc == OK && !l->is_refused && l->row.n && l->eos_id != NONE &&
        l->row.ids[l->row.n - 1] != l->eos_id)
        rc = labels_append_id(l, (uint32_t)l->eos_id, err);
    if (rc == OK && !l->is_refused)
        rc = labels_begin(l, err);
    l->has_no_cut = true;       /* cut into pieces, all of them kept */
    return rc;
}

int labels_axolotl_segments(struct labeller *l, const struct conversation *row, struct error *err)
{
    const struct json *segments = json_get(row->row, "segments");
    size_t n_prompt = SIZE_MAX;

    if (!json_is(segments, JSON_ARRAY))
        return labels_refuse(l, "the row has no list of segments");
    int rc = labels_begin(l, err);
    for (const struct json *segment = segments->child; segment && rc == OK;
         segment = segment->next) {
        const struct json *text = json_get(segment, "text"), *label = json_get(segment, "label");
        bool is_trained = json_is(label, JSON_TRUE) || l->policy.train_on_inputs == YES;
        size_t at = l->row.n;

        if (!json_is(text, JSON_STRING))
            return labels_refuse(l, "a segment has no text");
        rc = labels_append(l, text->text, false, err);
        if (rc == OK && !l->is_refused)
            rc = labels_reserve(l, l->row.n, err);
        if (rc != OK || l->is_refused)
            return rc;
        l->n = l->row.n;
        for (size_t i = at; i < l->n; i++) {
            l->trained[i] = is_trained;
            l->why[i] = is_trained ? WHY_TRAINED : WHY_PROMPT;
            l->side[i] = json_is(label, JSON_TRUE) ? SIDE_OF_ASSISTANT : SIDE_OF_USER;
        }
        if (json_is(label, JSON_TRUE) && n_prompt == SIZE_MAX)
            n_prompt = at;
    }
    l->has_sides = true;
    l->n_prompt = n_prompt == SIZE_MAX ? l->n : n_prompt;
    return rc;
}
