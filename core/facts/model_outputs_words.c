/* Two outputs by their words (F-DIFF). See model_outputs.h. */
#include <math.h>
#include <stdlib.h>

#include "core/base/hash.h"
#include "core/base/unicode.h"
#include "core/base/unicode_norm.h"
#include "core/facts/model_outputs.h"

#define MAX_TEXT_BYTES ((size_t)1 << 20) /* of one output that is compared by its words */

struct str output_normal(struct str text, struct arena *arena)
{
    struct unicode_steps steps = {0};
    struct buf out;

    text = str_trim(text);
    if (text.n > MAX_TEXT_BYTES || !unicode_is_valid(text) || !unicode_may_change(text, UNICODE_NFC))
        return text;
    buf_init(&out, text.n * 4 + 16);
    if (unicode_normalize(text, UNICODE_NFC, &steps, NULL) == OK) {
        for (size_t i = 0; i < steps.n; i++) {
            char bytes[4];

            buf_add(&out, bytes, unicode_put(bytes, steps.items[i].codepoint));
        }
        if (!out.failed)
            text = arena_str(arena, buf_view(&out));
    }
    unicode_steps_free(&steps);
    buf_free(&out);
    return text;
}

/* Bytes of the word at the beginning: up to a blank, or one code point of a script that writes none. */
static size_t word_bytes(struct str text)
{
    size_t n = 0;

    if ((unsigned char)text.p[0] >= 0xE3)
        return text.n < 3 ? text.n : (unsigned char)text.p[0] >= 0xF0 && text.n >= 4 ? 4 : 3;
    while (n < text.n && (unsigned char)text.p[n] > ' ' && (unsigned char)text.p[n] < 0xE3)
        n++;
    return n;
}

static bool next_word(struct str *text, struct str *word)
{
    while (text->n && (unsigned char)text->p[0] <= ' ')
        *text = str_skip(*text, 1);
    if (text->n == 0)
        return false;
    *word = str_first(*text, word_bytes(*text));
    *text = str_skip(*text, word->n);
    return true;
}

size_t output_words(struct str text)
{
    struct str word;
    size_t n = 0;

    while (next_word(&text, &word))
        n++;
    return n;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The hashes of the words, each once and sorted. */
static uint64_t *word_set(struct str text, struct arena *arena, size_t *n)
{
    size_t most = output_words(text), kept = 0;
    uint64_t *set = arena_array(arena, most + 1, sizeof *set);
    struct str word;

    *n = 0;
    for (size_t i = 0; set && i < most && next_word(&text, &word); i++)
        set[i] = hash_bytes(word.p, word.n);
    if (!set)
        return NULL;
    qsort(set, most, sizeof *set, by_value);
    for (size_t i = 0; i < most; i++)
        if (kept == 0 || set[kept - 1] != set[i])
            set[kept++] = set[i];
    *n = kept;
    return set;
}

double output_jaccard(struct str a, struct str b, struct arena *arena)
{
    size_t n_a, n_b, i = 0, k = 0, both = 0;
    const uint64_t *x = word_set(a, arena, &n_a), *y = word_set(b, arena, &n_b);

    if (!x || !y)
        return NAN;
    while (i < n_a && k < n_b) {
        int order = by_value(&x[i], &y[k]);

        both += order == 0;
        i += order <= 0;
        k += order >= 0;
    }
    return n_a + n_b == both ? 1.0 : (double)both / (double)(n_a + n_b - both);
}
