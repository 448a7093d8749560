/* The chat templates that TRL 1.1 and later renders with a variant of its own, and which spans of the
 * ORIGINAL render that variant trains (the table of MASKS.md section 1). A family is known by markers of
 * its template; TRL itself compares byte for byte. Where the variant prints another text the spans are an
 * approximation, and labels_patched_kind says so. */
#include "core/text/labels_parts.h"

struct family {
    const char *name;
    const char *has[3];         /* all of these texts stand in the template … */
    const char *lacks;          /* … and this one does not */
    const char *header;         /* the span begins behind it … */
    const char *ends[3];        /* … and goes through the first of these */
    bool trains_header;         /* … or begins with it */
    bool takes_newline;         /* a line end behind the end belongs to the span */
    bool trains_last_eos;       /* EOS at the end of the row is trained too */
    bool changes_text;
};

#define CHATML_HEADER "<|im_start|>assistant\n"

/* The first that fits; the more particular ones stand first. */
static const struct family FAMILIES[] = {
    {.name = "Nemotron 3", .has = {"<|im_start|>", "truncate_history_thinking"},
     .header = CHATML_HEADER, .ends = {"<|im_end|>"}, .takes_newline = true},
    {.name = "Qwen3.8", .has = {"<|im_start|>", "add_vision_id", "Reasoning effort"},
     .header = CHATML_HEADER, .ends = {"<|im_end|>"}, .takes_newline = true},
    {.name = "Qwen3.5", .has = {"<|im_start|>", "add_vision_id", "enable_thinking"},
     .header = CHATML_HEADER, .ends = {"<|im_end|>"}, .takes_newline = true, .changes_text = true},
    {.name = "Qwen3", .has = {"<|im_start|>", "enable_thinking", "<tool_call>"},
     .header = CHATML_HEADER, .ends = {"<|im_end|>"}, .takes_newline = true, .changes_text = true},
    {.name = "Qwen3-VL", .has = {"<|im_start|>", "<|vision_start|>", "<tool_call>"},
     .header = CHATML_HEADER, .ends = {"<|im_end|>"}, .takes_newline = true},
    {.name = "Qwen2.5-VL", .has = {"<|im_start|>", "add_vision_id"},
     .header = CHATML_HEADER, .ends = {"<|im_end|>"}, .takes_newline = true},
    {.name = "Qwen2.5", .has = {"<|im_start|>", "You are Qwen", "<tool_call>"},
     .header = "<|im_start|>assistant", .ends = {"<|im_end|>"}, .takes_newline = true},
    {.name = "Qwen3-Instruct-2507", .has = {"<|im_start|>", "<tool_call>"}, .lacks = "<think>",
     .header = CHATML_HEADER, .ends = {"<|im_end|>"}, .takes_newline = true},
    {.name = "LFM2", .has = {"<|im_start|>", "<|tool_list_start|>"}, .lacks = "<think>",
     .header = CHATML_HEADER, .ends = {"<|im_end|>"}, .takes_newline = true},
    {.name = "SmolVLM", .has = {"<end_of_utterance>"},
     .header = "Assistant:", .ends = {"<end_of_utterance>"}, .takes_newline = true},
    {.name = "Llama 3", .has = {"<|start_header_id|>", "<|eot_id|>"}, .lacks = "Cutting Knowledge",
     .header = "<|start_header_id|>assistant<|end_header_id|>\n\n", .ends = {"<|eot_id|>"}},
    {.name = "Gemma", .has = {"<start_of_turn>", "<end_of_turn>"},
     .header = "<start_of_turn>model\n", .ends = {"<end_of_turn>"}, .takes_newline = true},
    {.name = "Phi-3", .has = {"<|assistant|>", "<|end|>"},
     .header = "<|assistant|>\n", .ends = {"<|end|>"}, .takes_newline = true,
     .trains_last_eos = true},
    {.name = "DeepSeek", .has = {"<｜Assistant｜>", "<｜end▁of▁sentence｜>"},
     .header = "<｜Assistant｜>", .ends = {"<｜end▁of▁sentence｜>"}, .trains_header = true},
    {.name = "gpt-oss", .has = {"<|start|>", "<|channel|>", "<|message|>"},
     .header = "<|start|>assistant", .ends = {"<|end|>", "<|return|>", "<|call|>"},
     .trains_header = true},
    {.name = "Cohere 2", .has = {"<|START_OF_TURN_TOKEN|>", "<|END_RESPONSE|>"},
     .header = "<|CHATBOT_TOKEN|><|START_RESPONSE|>", .ends = {"<|END_OF_TURN_TOKEN|>"}},
    {.name = "Cohere", .has = {"<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>"},
     .header = "<|CHATBOT_TOKEN|>", .ends = {"<|END_OF_TURN_TOKEN|>"}},
    {.name = "GLM-4 MoE", .has = {"[gMASK]", "<|assistant|>", "<think>"},
     .header = "<|assistant|>", .ends = {"<|user|>", "<|observation|>", "<|system|>"},
     .changes_text = true},
};
enum { N_FAMILIES = sizeof FAMILIES / sizeof FAMILIES[0] };

static bool fits(const struct family *family, struct str text)
{
    for (size_t i = 0; i < 3 && family->has[i]; i++)
        if (str_find(text, family->has[i]) < 0)
            return false;
    return !family->lacks || str_find(text, family->lacks) < 0;
}

static const struct family *family_of(struct str text)
{
    for (size_t i = 0; text.p && i < N_FAMILIES; i++)
        if (fits(&FAMILIES[i], text))
            return &FAMILIES[i];
    return NULL;
}

bool labels_patched_kind(struct str template_text, struct patched_template *out)
{
    const struct family *family = family_of(template_text);

    if (!family)
        return false;
    *out = (struct patched_template){.family = family->name, .changes_text = family->changes_text};
    return true;
}

/* ---- Spans ---- */

static size_t end_of_span(const struct family *family, struct str text, size_t from)
{
    size_t best = text.n;
    size_t n = 0;

    for (size_t i = 0; i < 3 && family->ends[i]; i++) {
        ptrdiff_t at = str_find(str_skip(text, from), family->ends[i]);

        if (at >= 0 && from + (size_t)at < best) {
            best = from + (size_t)at;
            n = strlen(family->ends[i]);
        }
    }
    best += n;
    if (n && family->takes_newline && best < text.n && text.p[best] == '\n')
        best++;
    return best;
}

/* Tokens that overlap [begin, end) are trained; *at goes on from there. */
static void train_span(struct labeller *l, size_t begin, size_t end, size_t *at)
{
    while (*at < l->n && l->row.end[*at] <= begin)
        labels_mask(l, *at, *at + 1, WHY_PROMPT), (*at)++;
    while (*at < l->n && l->row.begin[*at] < end)
        (*at)++;
}

static void spans_of_family(struct labeller *l, const struct family *family)
{
    struct str text = l->shown, eos = l->policy.eos_text;
    size_t from = 0, at = 0;

    for (;;) {
        ptrdiff_t header = str_find(str_skip(text, from), family->header);

        if (header < 0)
            break;
        size_t begin = from + (size_t)header, behind = begin + strlen(family->header);
        size_t end = end_of_span(family, text, behind);

        train_span(l, family->trains_header ? begin : behind, end, &at);
        from = end > behind ? end : behind;
    }
    if (family->trains_last_eos && from > 0 && eos.n && text.n >= from + eos.n &&
        memcmp(text.p + text.n - eos.n, eos.p, eos.n) == 0)
        train_span(l, text.n - eos.n, text.n, &at);
    labels_mask(l, at, l->n, WHY_PROMPT);
}

void labels_patched_spans(struct labeller *l)
{
    const struct family *family = family_of(l->template_text);

    if (family) {
        spans_of_family(l, family);
        return;
    }
    /* Any other that TRL knows: content and end of turn are trained, the header is not. */
    for (size_t i = 0; i < l->n; i++)
        if (l->side[i] != SIDE_OF_ASSISTANT)
            labels_mask(l, i, i + 1, WHY_PROMPT);
}
