/* See row_prompt.h. */
#include "core/exports/row_prompt.h"

#define PROMPT_BYTES ((size_t)64 << 20)

/* Where all is trained, the prompt is too: the answer is what the assistant says of it. */
static bool is_answer(const struct labelled_row *row, size_t i)
{
    return row->trained[i] && (!row->has_sides || row->side[i] == SIDE_OF_ASSISTANT);
}

/* The text before the answer; tokens that the tokenizer puts before it (BOS) by their names, since it is
 * encoded without special tokens. */
static struct str prompt_before(const struct labelled_row *row, const struct tokenizer *tokenizer,
                                size_t from, struct arena *arena)
{
    size_t i = row->first_kept;
    struct buf text;

    buf_init(&text, PROMPT_BYTES);
    for (; i < from && row->begin[i] == row->end[i]; i++)
        if (tokenizer)
            buf_str(&text, tokenizer_token(tokenizer, row->ids[i]));
    buf_str(&text, str_from(row->text.p + row->begin[i], row->begin[from] - row->begin[i]));
    struct str prompt = arena_str(arena, buf_view(&text));
    buf_free(&text);
    return prompt;
}

static bool ends_a_text(const struct tokenizer *tokenizer, const struct labelled_row *row, size_t i)
{
    struct str text = str_from(row->text.p + row->begin[i], row->end[i] - row->begin[i]);

    return str_trim(text).n == 0 || (tokenizer && tokenizer_is_special(tokenizer, row->ids[i]));
}

void row_prompt_of(const struct labelled_row *row, const struct tokenizer *tokenizer,
                   struct arena *arena, struct row_prompt *out)
{
    size_t from = row->first_kept, to, end;

    while (from < row->end_kept && !is_answer(row, from))
        from++;
    for (to = from; to < row->end_kept && is_answer(row, to); to++)
        ;
    for (end = to; end > from && ends_a_text(tokenizer, row, end - 1); end--)
        ;
    if (from >= end || !row->text.n || row->begin[from] == row->begin[row->first_kept])
        return;
    out->prompt = prompt_before(row, tokenizer, from, arena);
    out->target = arena_str(
        arena, str_from(row->text.p + row->begin[from], row->end[end - 1] - row->begin[from]));
    out->n_target = (int64_t)(end - from);
    out->is_cut = to == row->end_kept && to < row->n;
}
