/* Two texts by their words: how alike the sets are, whether only a date differs, and equality but for
 * blanks. Scripts that write no blanks count a code point as a word. */
#include <ctype.h>
#include <string.h>

#include "core/text/prompt_parts.h"

#define WORDS_MAX 4096 /* of one text */

bool prompt_same_but_blanks(struct str a, struct str b)
{
    for (;;) {
        a = str_skip(a, prompt_blanks(a));
        b = str_skip(b, prompt_blanks(b));
        if (a.n == 0 || b.n == 0)
            return a.n == b.n;
        if (a.p[0] != b.p[0])
            return false;
        a = str_skip(a, 1);
        b = str_skip(b, 1);
    }
}

static size_t word_bytes(struct str text)
{
    size_t n = 0;
    unsigned char first = (unsigned char)text.p[0];

    if (first >= 0xE3)      /* scripts that write no blanks: a code point is a word */
        return first >= 0xF0 && text.n >= 4 ? 4 : text.n >= 3 ? 3 : text.n;
    while (n < text.n && (isalnum((unsigned char)text.p[n]) || (unsigned char)text.p[n] >= 0x80) &&
           (unsigned char)text.p[n] < 0xE3)
        n++;
    return n;
}

static bool same_word(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (tolower((unsigned char)a.p[i]) != tolower((unsigned char)b.p[i]))
            return false;
    return true;
}

static size_t words_of(struct str text, struct str *out)
{
    size_t n = 0;

    while (text.n && n < WORDS_MAX) {
        size_t bytes = word_bytes(text);
        struct str word = str_first(text, bytes ? bytes : 1);
        bool is_new = bytes > 0;

        for (size_t i = 0; i < n && is_new; i++)
            is_new = !same_word(out[i], word);
        if (is_new)
            out[n++] = word;
        text = str_skip(text, word.n);
    }
    return n;
}

double prompt_word_likeness(struct str a, struct str b, struct arena *arena)
{
    struct str *x = arena_array(arena, WORDS_MAX, sizeof *x);
    struct str *y = arena_array(arena, WORDS_MAX, sizeof *y);

    if (!x || !y)
        return 1.0;
    size_t n = words_of(a, x), m = words_of(b, y), common = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++)
            if (same_word(x[i], y[k])) {
                common++;
                break;
            }
    return n + m == 0 ? 1.0 : (double)common / (double)(n + m - common);
}

static bool is_date_word(struct str word)
{
    static const char *const MONTHS[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                         "aug", "sep", "oct", "nov", "dec", "mon", "tue",
                                         "wed", "thu", "fri", "sat", "sun"};

    if (word.n && isdigit((unsigned char)word.p[0]))
        return true;
    for (size_t i = 0; i < sizeof MONTHS / sizeof MONTHS[0] && word.n >= 3; i++)
        if (str_is_ignoring_case(str_first(word, 3), MONTHS[i]))
            return true;
    return false;
}

static struct str next_word(struct str *text)
{
    while (text->n) {
        size_t n = word_bytes(*text);

        if (n) {
            struct str word = str_first(*text, n);

            *text = str_skip(*text, n);
            return word;
        }
        *text = str_skip(*text, 1);
    }
    return *text;
}

/* The same words in the same order, but for words of a date. */
bool prompt_only_dates_differ(struct str a, struct str b)
{
    bool is_date = false;

    for (;;) {
        struct str x = next_word(&a), y = next_word(&b);

        if (x.n == 0 || y.n == 0)
            return is_date && x.n == y.n;
        if (str_eq(x, y))
            continue;
        if (!is_date_word(x) || !is_date_word(y))
            return false;
        is_date = true;
    }
}

void prompt_system_compare(struct str train, struct str serve, struct arena *arena,
                           struct prompt_system_texts *out)
{
    out->are_equal = prompt_same_but_blanks(train, serve);
    out->only_dates_differ = !out->are_equal && prompt_only_dates_differ(train, serve);
    out->jaccard = out->are_equal ? 1.0 : prompt_word_likeness(train, serve, arena);
}
