/* Words, characters, estimated tokens; no tokenizer is asked. */
#include "core/text/text_size.h"

#include <math.h>

static bool is_space(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct text_size text_size_of(struct str text)
{
    struct text_size size = {0, 0};
    bool in_word = false;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool is_blank = is_space(c);

        size.characters += (c & 0xC0) != 0x80;
        size.words += !is_blank && !in_word;
        in_word = !is_blank;
    }
    return size;
}

struct text_size text_size_sum(struct text_size a, struct text_size b)
{
    return (struct text_size){a.words + b.words, a.characters + b.characters};
}

int32_t text_size_tokens(struct text_size size)
{
    double tokens = fmax(ceil(1.3 * size.words), ceil(size.characters / 4.0));

    return tokens > 2147483647.0 ? INT32_MAX : (int32_t)tokens;
}
