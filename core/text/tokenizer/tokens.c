/* The growing list of tokens that an encoding is written into. */
#include <stdlib.h>

#include "core/text/tokenizer/tokenizer_parts.h"

int tokens_reserve(struct tokens *tokens, size_t more, struct error *err)
{
    size_t wanted = tokens->n + more;
    size_t capacity = tokens->capacity ? tokens->capacity : 64;

    if (wanted <= tokens->capacity)
        return OK;
    if (wanted < more || wanted > SIZE_MAX / 8)
        return error_set(err, E_NOMEM, "%zu tokens", more);
    while (capacity < wanted)
        capacity *= 2;

    uint32_t **lists[] = {&tokens->ids, &tokens->begin, &tokens->end};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        uint32_t *grown = realloc(*lists[i], capacity * sizeof **lists[i]);

        if (!grown)
            return error_set(err, E_NOMEM, "%zu tokens", capacity);
        *lists[i] = grown;
    }
    tokens->capacity = capacity;
    return OK;
}

int tokens_push(struct tokens *tokens, uint32_t id, uint32_t begin, uint32_t end,
                struct error *err)
{
    int rc = tokens->n < tokens->capacity ? OK : tokens_reserve(tokens, 1, err);

    if (rc != OK)
        return rc;
    tokens->ids[tokens->n] = id;
    tokens->begin[tokens->n] = begin;
    tokens->end[tokens->n++] = end;
    return OK;
}

void tokens_free(struct tokens *tokens)
{
    free(tokens->ids);
    free(tokens->begin);
    free(tokens->end);
    *tokens = (struct tokens){0};
}
