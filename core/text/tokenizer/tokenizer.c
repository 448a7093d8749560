/* What a tokenizer is asked about its tokens, and its end. See tokenizer.h. */
#include <stdlib.h>

#include "core/text/tokenizer/pipeline.h"

void tokenizer_close(struct tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    normalizers_close(tokenizer->normalizers, tokenizer->n_normalizers);
    splitters_close(tokenizer->splitters, tokenizer->n_splitters);
    decoders_close(tokenizer->decoders, tokenizer->n_decoders);
    added_tokens_close(tokenizer->added);
    model_close(tokenizer->model);
    arena_close(tokenizer->arena);
    free(tokenizer->text);
    free(tokenizer);
}

int64_t tokenizer_id(const struct tokenizer *tokenizer, struct str token)
{
    const struct added_token *added = added_by_content(tokenizer->added, token);

    return added ? (int64_t)added->id : model_id(tokenizer->model, token);
}

struct str tokenizer_token(const struct tokenizer *tokenizer, uint32_t id)
{
    const struct added_token *added = added_by_id(tokenizer->added, id);

    return added ? added->content : model_token(tokenizer->model, id);
}

bool tokenizer_is_added(const struct tokenizer *tokenizer, uint32_t id)
{
    return added_by_id(tokenizer->added, id) != NULL;
}

bool tokenizer_is_special(const struct tokenizer *tokenizer, uint32_t id)
{
    const struct added_token *added = added_by_id(tokenizer->added, id);

    return added && added->special;
}

uint32_t tokenizer_size(const struct tokenizer *tokenizer)
{
    uint32_t of_model = model_size(tokenizer->model), of_added = added_size(tokenizer->added);

    return of_model > of_added ? of_model : of_added;
}

int64_t tokenizer_first_added(const struct tokenizer *tokenizer)
{
    return tokenizer->first_added;
}

int64_t tokenizer_last_added(const struct tokenizer *tokenizer)
{
    return tokenizer->last_added;
}

const char *tokenizer_about(const struct tokenizer *tokenizer)
{
    return tokenizer->about;
}
