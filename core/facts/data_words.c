/* See data_words.h. */
#include "core/facts/data_words.h"

#include <stdlib.h>

#include "core/base/hash.h"
#include "core/base/unicode.h"
#include "core/base/unicode_case.h"

/* ---- Special tokens ---- */

enum { LONGEST_TOKEN = 48 };

static size_t named_token(struct str text)
{
    static const char *const NAMES[] = {"<s>",   "</s>",    "<bos>",  "<eos>",   "<pad>",
                                        "<unk>", "[INST]",  "[/INST]", "<<SYS>>", "<</SYS>>",
                                        "[CLS]", "[SEP]",   "[PAD]",  "<start_of_turn>",
                                        "<end_of_turn>"};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_starts(text, NAMES[i]))
            return strlen(NAMES[i]);
    return 0;
}

/* "<|im_end|>" and the full-width form of it. */
static size_t barred_token(struct str text)
{
    bool is_plain = str_starts(text, "<|"), is_wide = str_starts(text, "<\xef\xbd\x9c");
    struct str rest = str_first(text, LONGEST_TOKEN);

    if (!is_plain && !is_wide)
        return 0;
    for (size_t i = 2; i < rest.n && rest.p[i] != '\n'; i++)
        if (rest.p[i] == '>')
            return rest.p[i - 1] == '|' || (is_wide && (unsigned char)rest.p[i - 1] == 0x9c)
                       ? i + 1
                       : 0;
    return 0;
}

void data_without_special(struct str text, struct buf *out)
{
    size_t from = 0;

    for (size_t i = 0; i < text.n;) {
        size_t n = text.p[i] == '<' || text.p[i] == '[' ? named_token(str_skip(text, i)) : 0;

        if (!n && text.p[i] == '<')
            n = barred_token(str_skip(text, i));
        if (!n) {
            i++;
            continue;
        }
        buf_add(out, text.p + from, i - from);
        buf_putc(out, ' ');
        i += n;
        from = i;
    }
    buf_add(out, text.p + from, text.n - from);
}

/* ---- Words ---- */

static bool is_ascii_word(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Scripts that are written without blanks: Han, kana, Thai, Lao, Burmese, Khmer. */
static bool stands_alone(int32_t c)
{
    return (c >= 0x0e00 && c <= 0x0eff) || (c >= 0x1000 && c <= 0x109f) ||
           (c >= 0x1780 && c <= 0x17ff) || (c >= 0x3040 && c <= 0x30ff) ||
           (c >= 0x31f0 && c <= 0x31ff) || (c >= 0x3400 && c <= 0x4dbf) ||
           (c >= 0x4e00 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0x20000 && c <= 0x3ffff);
}

bool data_next_word(struct str *rest, struct str *word)
{
    size_t at = 0, from = 0;
    bool is_open = false;

    while (at < rest->n) {
        unsigned char byte = (unsigned char)rest->p[at];
        int32_t c = byte;
        size_t n = byte < 0x80 ? 1 : unicode_next(str_skip(*rest, at), &c);
        bool is_alone = byte >= 0x80 && stands_alone(c);
        bool is_word = byte < 0x80 ? is_ascii_word(byte) : unicode_is_word(c);

        if (is_open && (!is_word || is_alone))
            break;
        if (is_word && !is_open)
            from = at;
        is_open = is_word;
        at += n;
        if (is_word && is_alone)
            break;
    }
    if (!is_open)
        return false;
    *word = str_from(rest->p + from, at - from);
    *rest = str_skip(*rest, at);
    return true;
}

size_t data_count_words(struct str normal)
{
    struct str word;
    size_t n = 0;

    while (data_next_word(&normal, &word))
        n++;
    return n;
}

/* ---- Most texts ---- */

/* 1: a letter or digit, 3: a capital letter, 2: white space as str.split has it. */
static const unsigned char CLASS[128] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2,
    2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0,
    0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0,
    0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0,
};

static bool is_plain(struct str text)
{
    unsigned char all = 0;

    for (size_t i = 0; i < text.n; i++)
        all |= (unsigned char)text.p[i];
    return all < 0x80 && !memchr(text.p, '<', text.n) && !memchr(text.p, '[', text.n);
}

bool data_normal_ascii(struct str text, char *room, size_t *n, size_t *n_words)
{
    unsigned last = 2;
    size_t at = 0, words = 0;

    if (text.n == 0 || !is_plain(text)) {
        *n = *n_words = 0;
        return text.n == 0;
    }
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        unsigned class = CLASS[c & 127];

        words += class & ~last & 1;
        room[at] = (char)(class == 2 ? ' ' : c | (class & 2) << 4);
        at += !(class == 2 && last == 2);
        last = class;
    }
    *n = at > 0 && room[at - 1] == ' ' ? at - 1 : at;
    *n_words = words;
    return true;
}

/* ---- Comparing ---- */

static int by_hash(const void *pa, const void *pb)
{
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

    return a < b ? -1 : a > b;
}

void data_words_of(struct str normal, uint64_t *room, struct data_words *out)
{
    struct str word;

    *out = (struct data_words){.hashes = room, .sorted = room + DATA_MAX_WORDS};
    while (out->n < DATA_MAX_WORDS && data_next_word(&normal, &word))
        out->hashes[out->n++] = hash_bytes(word.p, word.n);
    if (out->n == 0)
        return;
    memcpy(out->sorted, out->hashes, out->n * sizeof *out->sorted);
    qsort(out->sorted, out->n, sizeof *out->sorted, by_hash);
    for (size_t i = 0; i < out->n; i++)
        if (i == 0 || out->sorted[i] != out->sorted[out->n_distinct - 1])
            out->sorted[out->n_distinct++] = out->sorted[i];
}

static size_t shared_words(const struct data_words *a, const struct data_words *b)
{
    size_t i = 0, k = 0, n = 0;

    while (i < a->n_distinct && k < b->n_distinct) {
        if (a->sorted[i] == b->sorted[k])
            n++, i++, k++;
        else if (a->sorted[i] < b->sorted[k])
            i++;
        else
            k++;
    }
    return n;
}

double data_words_jaccard(const struct data_words *a, const struct data_words *b)
{
    size_t shared = shared_words(a, b), all = a->n_distinct + b->n_distinct - shared;

    return all ? (double)shared / (double)all : 1.0;
}

static bool is_same_order(const struct data_words *a, const struct data_words *b)
{
    return a->n == b->n &&
           (a->n == 0 || memcmp(a->hashes, b->hashes, a->n * sizeof *a->hashes) == 0);
}

/* Equal but for at most two words at the same places. */
static bool is_same_frame(const struct data_words *a, const struct data_words *b)
{
    size_t n_other = 0;

    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        n_other += a->hashes[i] != b->hashes[i];
    return n_other >= 1 && n_other <= 2;
}

static struct str without_marks(struct str text)
{
    static const char MARKS[] = " .,!?;:\"'`*_()[]{}";

    while (text.n && strchr(MARKS, text.p[0]) && text.p[0])
        text = str_skip(text, 1);
    while (text.n && text.p[text.n - 1] && strchr(MARKS, text.p[text.n - 1]))
        text.n--;
    return text;
}

static bool has_digit(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] >= '0' && text.p[i] <= '9')
            return true;
    return false;
}

/* The same words: only signs inside of numbers ("-1", "1.5"), or texts of signs alone, can tell the
 * answers apart. */
static bool signs_differ(struct str a, struct str b, size_t n_words)
{
    if (n_words == 0)
        return !str_eq(a, b);
    a = without_marks(a);
    b = without_marks(b);
    return has_digit(a) && !str_eq(a, b);
}

/* Has the longer one all words of the shorter one: the same answer in a sentence. */
static bool is_contained(const struct data_words *a, const struct data_words *b)
{
    size_t least = a->n_distinct < b->n_distinct ? a->n_distinct : b->n_distinct;

    return least > 0 && shared_words(a, b) == least;
}

enum data_difference data_compare(struct str a, struct str b, double *jaccard)
{
    uint64_t room_a[2 * DATA_MAX_WORDS], room_b[2 * DATA_MAX_WORDS];
    struct data_words x, y;

    data_words_of(a, room_a, &x);
    data_words_of(b, room_b, &y);
    *jaccard = data_words_jaccard(&x, &y);
    bool is_short = x.n <= DATA_SHORT_WORDS && y.n <= DATA_SHORT_WORDS;
    if (is_same_order(&x, &y))
        return is_short && signs_differ(a, b, x.n) ? DATA_CONTRADICTS : DATA_SAME;
    if (!is_short)
        return *jaccard < 0.5 ? DATA_OTHER_TEXT : DATA_SAME;
    if (x.n <= DATA_SHORTEST && y.n <= DATA_SHORTEST)
        return DATA_CONTRADICTS;
    if (is_same_frame(&x, &y))
        return DATA_CONTRADICTS;
    return *jaccard < 0.5 && !is_contained(&x, &y) ? DATA_CONTRADICTS : DATA_SAME;
}
