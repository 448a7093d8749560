/* Flags of one output. Knows the usual turn headers by their text; which template a run uses is not
 * its question. */
#include "importers/outputs/output_facts.h"

#include <string.h>

#include "core/base/hash.h"

#define TEXT_BYTES  65536 /* of a prompt or an output that are compared */
#define LEAST_BYTES 10    /* of a user text: a greeting begins many honest answers */

/* Headers that open a turn, and marks that close one (is_end). */
struct turn_mark {
    const char *text;
    bool is_user, is_end;
};

static const struct turn_mark MARKS[] = {
    {"<|im_start|>user", true, false},
    {"<|im_start|>assistant", false, false},
    {"<|im_start|>system", false, false},
    {"<|im_start|>tool", false, false},
    {"<|start_header_id|>user<|end_header_id|>", true, false},
    {"<|start_header_id|>assistant<|end_header_id|>", false, false},
    {"<|start_header_id|>system<|end_header_id|>", false, false},
    {"<start_of_turn>user", true, false},
    {"<start_of_turn>model", false, false},
    {"<|start|>user<|message|>", true, false},
    {"<|start|>assistant", false, false},
    {"<|user|>", true, false},
    {"<|assistant|>", false, false},
    {"<|system|>", false, false},
    {"<｜User｜>", true, false},
    {"<｜Assistant｜>", false, false},
    {"[INST]", true, false},
    {"[/INST]", false, false},
    {"### Instruction:", true, false},
    {"### Input:", true, false},
    {"### Response:", false, false},
    {"USER:", true, false},
    {"ASSISTANT:", false, false},
    {"Human:", true, false},
    {"Assistant:", false, false},
    {"<|im_end|>", false, true},
    {"<|eot_id|>", false, true},
    {"<end_of_turn>", false, true},
    {"<|end_of_text|>", false, true},
    {"<|endoftext|>", false, true},
    {"<|begin_of_text|>", false, true},
    {"<|end|>", false, true},
    {"<｜end▁of▁sentence｜>", false, true},
    {"</s>", false, true},
    {"<s>", false, true},
};
enum { N_MARKS = sizeof MARKS / sizeof MARKS[0] };

static const struct turn_mark *mark_at(struct str text)
{
    for (int i = 0; i < N_MARKS; i++)
        if (str_starts(text, MARKS[i].text))
            return &MARKS[i];
    return NULL;
}

static bool can_begin_mark(char c)
{
    return c && strchr("<[#UAH", c) != NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Appends without marks, in lower case, runs of white space as one blank. */
static void put_plain(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n;) {
        const struct turn_mark *mark =
            can_begin_mark(text.p[i]) ? mark_at(str_skip(text, i)) : NULL;
        char c = text.p[i];

        if (mark) {
            i += strlen(mark->text);
            c = ' ';
        } else {
            i++;
        }
        if (is_blank(c)) {
            if (out->n && out->p[out->n - 1] != ' ')
                buf_putc(out, ' ');
        } else {
            buf_putc(out, c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c);
        }
    }
}

static bool begins_with(struct str output, struct str text)
{
    struct buf a, b;

    buf_init(&a, TEXT_BYTES);
    buf_init(&b, TEXT_BYTES);
    put_plain(&a, str_from(output.p, output.n < TEXT_BYTES / 2 ? output.n : TEXT_BYTES / 2));
    put_plain(&b, str_from(text.p, text.n < TEXT_BYTES / 2 ? text.n : TEXT_BYTES / 2));
    struct str plain = b.p ? str_trim(str_from(b.p, b.n)) : (struct str){0};
    bool begins = !a.failed && !b.failed && a.p && plain.n >= LEAST_BYTES && a.n >= plain.n &&
                  memcmp(a.p, plain.p, plain.n) == 0;
    buf_free(&a);
    buf_free(&b);
    return begins;
}

/* Texts behind the user headers of a rendered prompt: the last of each kind of header counts, since
 * an instruction and its input are both the user's. */
static bool begins_with_user_text(struct str output, struct str prompt)
{
    struct str last[N_MARKS] = {{0}};
    ptrdiff_t open = -1;
    size_t begin = 0;

    for (size_t i = 0; i <= prompt.n;) {
        const struct turn_mark *mark =
            i < prompt.n && can_begin_mark(prompt.p[i]) ? mark_at(str_skip(prompt, i)) : NULL;

        if ((mark || i == prompt.n) && open >= 0) {
            last[open] = str_from(prompt.p + begin, i - begin);
            open = -1;
        }
        if (mark && mark->is_user) {
            open = mark - MARKS;
            begin = i + strlen(mark->text);
        }
        i += mark ? strlen(mark->text) : 1;
    }
    for (int i = 0; i < N_MARKS; i++)
        if (last[i].n && begins_with(output, last[i]))
            return true;
    return false;
}

/* A turn ends inside the output and something other than blanks follows. */
static bool runs_on(struct str output)
{
    for (size_t i = 0; i < output.n; i++) {
        const struct turn_mark *mark =
            can_begin_mark(output.p[i]) ? mark_at(str_skip(output, i)) : NULL;

        if (mark && i > 0 && output.p[i] == '<' &&
            str_trim(str_skip(output, i + strlen(mark->text))).n > 0)
            return true;
    }
    return false;
}

/* Up to a blank, or one code point of a script that writes none. */
static bool has_four_words(struct str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n && n < 4;) {
        unsigned char c = (unsigned char)text.p[i];
        bool is_alone = c >= 0xE3;

        n += is_alone || (c > ' ' && (i == 0 || (unsigned char)text.p[i - 1] <= ' '));
        i += is_alone ? (c >= 0xF0 ? 4 : 3) : 1;
    }
    return n >= 4;
}

unsigned output_facts(struct str output, struct str prompt, struct str last_user)
{
    unsigned flags = GENERATION_HAS_TEXT;

    if (prompt.n && output.n > prompt.n && memcmp(output.p, prompt.p, prompt.n) == 0)
        for (size_t i = 0; i < prompt.n; i++)
            if (can_begin_mark(prompt.p[i]) && mark_at(str_skip(prompt, i))) {
                output = str_skip(output, prompt.n);
                break;
            }
    struct str text = str_trim(output);
    const struct turn_mark *mark = text.n ? mark_at(text) : NULL;

    if (text.n == 0)
        flags |= GENERATION_IS_EMPTY;
    if (!has_four_words(text))
        flags |= GENERATION_IS_SHORT;
    if (mark && !mark->is_end)
        flags |= GENERATION_STARTS_WITH_HEADER;
    if (runs_on(text))
        flags |= GENERATION_RUNS_ON;
    if (prompt.n || last_user.n)
        flags |= GENERATION_HAS_PROMPT;
    if ((prompt.n && (begins_with(text, prompt) || begins_with_user_text(text, prompt))) ||
        (last_user.n && begins_with(text, last_user)))
        flags |= GENERATION_ECHOES_PROMPT;
    return flags;
}

/* The next word, as has_four_words counts them; empty at the end. */
static struct str next_word(struct str *text)
{
    size_t from = 0, to;

    while (from < text->n && (unsigned char)text->p[from] <= ' ')
        from++;
    for (to = from; to < text->n && (unsigned char)text->p[to] > ' '; to++)
        if ((unsigned char)text->p[to] >= 0xE3) {
            to = to > from ? to : to + ((unsigned char)text->p[to] >= 0xF0 ? 4 : 3);
            break;
        }
    to = to < text->n ? to : text->n;
    struct str word = str_from(text->p + from, to - from);
    *text = str_skip(*text, to);
    return word;
}

int64_t output_opening(struct str output, struct str prompt, int64_t *n_words)
{
    uint64_t hash = 0;
    struct str word;

    if (prompt.n && output.n > prompt.n && memcmp(output.p, prompt.p, prompt.n) == 0)
        output = str_skip(output, prompt.n);
    for (*n_words = 0; (word = next_word(&output)).n > 0; ++*n_words)
        if (*n_words < GENERATION_OPENING_WORDS)
            hash = hash_more(hash_more(hash, word.p, word.n), " ", 1);
    return *n_words >= GENERATION_OPENING_WORDS ? (int64_t)hash : 0;
}
