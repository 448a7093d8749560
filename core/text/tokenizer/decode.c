/* Decoding: ids to tokens, the decoders over the list of tokens, and the join. See pipeline.h; the
 * settings of decoders are read in decode_read.c. */
#include <stdlib.h>

#include "core/base/unicode.h"
#include "core/text/tokenizer/pipeline.h"

#define DECODED_BYTES ((size_t)1 << 30)

/* Texts one behind the other. */
struct texts {
    struct buf bytes;
    size_t *ends, n, capacity;
    bool failed;
};

static void texts_init(struct texts *texts)
{
    *texts = (struct texts){0};
    buf_init(&texts->bytes, DECODED_BYTES);
}

static void texts_free(struct texts *texts)
{
    buf_free(&texts->bytes);
    free(texts->ends);
}

static void texts_clear(struct texts *texts)
{
    buf_clear(&texts->bytes);
    texts->n = 0;
}

/* What was appended since the last one becomes a text. */
static void end_text(struct texts *texts)
{
    if (texts->n == texts->capacity) {
        size_t capacity = texts->capacity ? texts->capacity * 2 : 64;
        size_t *ends = realloc(texts->ends, capacity * sizeof *ends);

        if (!ends) {
            texts->failed = true;
            return;
        }
        texts->ends = ends;
        texts->capacity = capacity;
    }
    texts->ends[texts->n++] = texts->bytes.n;
}

static void add_text(struct texts *texts, struct str text)
{
    buf_str(&texts->bytes, text);
    end_text(texts);
}

static struct str text_at(const struct texts *texts, size_t i)
{
    size_t begin = i ? texts->ends[i - 1] : 0;

    return str_from(texts->bytes.p + begin, texts->ends[i] - begin);
}

/* ---- Replacing ---- */

/* As Rust's replace: an empty word stands before each character and at the end. */
static void replace_empty(struct buf *out, struct str text, struct str with)
{
    while (text.n) {
        int32_t c;
        size_t n = unicode_next(text, &c);

        buf_str(out, with);
        buf_add(out, text.p, n);
        text = str_skip(text, n);
    }
    buf_str(out, with);
}

static void replace_all(struct buf *out, struct str text, struct str word, struct str with)
{
    if (word.n == 0) {
        replace_empty(out, text, with);
        return;
    }
    for (;;) {
        const char *found = text.n >= word.n ? memmem(text.p, text.n, word.p, word.n) : NULL;

        if (!found)
            break;
        buf_add(out, text.p, (size_t)(found - text.p));
        buf_str(out, with);
        text = str_skip(text, (size_t)(found - text.p) + word.n);
    }
    buf_str(out, text);
}

/* Blanks that WordPiece put before marks and shortened words. */
static void clean_up(struct buf *out, struct str text)
{
    static const char *const PAIRS[][2] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    struct buf work[2];

    if (!text.n || !memchr(text.p, ' ', text.n)) {
        buf_str(out, text);
        return;
    }
    buf_init(&work[0], DECODED_BYTES);
    buf_init(&work[1], DECODED_BYTES);
    buf_str(&work[0], text);
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++) {
        struct buf *from = &work[i % 2], *to = &work[1 - i % 2];

        buf_clear(to);
        replace_all(to, buf_view(from), str_of(PAIRS[i][0]), str_of(PAIRS[i][1]));
        if (from->failed)
            to->failed = true;
    }
    buf_str(out, buf_view(&work[1]));
    out->failed |= work[1].failed;
    buf_free(&work[0]);
    buf_free(&work[1]);
}

/* ---- Decoders ---- */

struct decoding {
    const struct decoder *decoder;
    const struct texts *in;
    struct texts *out;
    struct pattern_scratch *pattern;
    struct error *err;
};

/* Appends bytes; each longest beginning of a character that is not finished becomes one U+FFFD. */
static void add_lossy(struct buf *out, struct str bytes)
{
    size_t from = 0, i = 0;

    while (i < bytes.n) {
        int32_t c;
        size_t n = unicode_next(str_skip(bytes, i), &c);

        if (c >= 0) {
            i += n;
            continue;
        }

        unsigned char first = (unsigned char)bytes.p[i];
        unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
        unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
        size_t wanted = first < 0xC2 || first > 0xF4 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;

        buf_add(out, bytes.p + from, i - from);
        buf_puts(out, "\xEF\xBF\xBD");
        for (n = 1; n < wanted && i + n < bytes.n; n++) {
            unsigned char next = (unsigned char)bytes.p[i + n];

            if (next < (n == 1 ? low : 0x80) || next > (n == 1 ? high : 0xBF))
                break;
        }
        i += n;
        from = i;
    }
    buf_add(out, bytes.p + from, bytes.n - from);
}

/* False, and nothing appended, when a character is none of the byte alphabet. */
static bool add_bytes(struct buf *out, struct str token)
{
    size_t n = out->n;

    while (token.n) {
        int32_t c;
        int byte;

        token = str_skip(token, unicode_next(token, &c));
        byte = char_byte(c);
        if (byte < 0) {
            out->n = n;
            return false;
        }
        buf_putc(out, (char)byte);
    }
    return true;
}

static void byte_level(const struct decoding *d)
{
    struct buf bytes;

    buf_init(&bytes, DECODED_BYTES);
    for (size_t i = 0; i < d->in->n; i++)
        if (!add_bytes(&bytes, text_at(d->in, i)))
            buf_str(&bytes, text_at(d->in, i));
    add_lossy(&d->out->bytes, buf_view(&bytes));
    d->out->bytes.failed |= bytes.failed;
    end_text(d->out);
    buf_free(&bytes);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* <0xNN>; -1: another token. A sign may stand for the first digit, as Rust reads numbers. */
static int fallback_byte(struct str token)
{
    if (token.n != 6 || !str_starts(token, "<0x") || token.p[5] != '>')
        return -1;

    int high = token.p[3] == '+' ? 0 : hex(token.p[3]), low = hex(token.p[4]);

    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static void flush_bytes(const struct decoding *d, struct buf *bytes)
{
    if (bytes->n == 0)
        return;
    if (unicode_is_valid(buf_view(bytes)))
        add_text(d->out, buf_view(bytes));
    else
        for (size_t i = 0; i < bytes->n; i++)
            add_text(d->out, str_of("\xEF\xBF\xBD"));
    buf_clear(bytes);
}

static void byte_fallback(const struct decoding *d)
{
    struct buf bytes;

    buf_init(&bytes, DECODED_BYTES);
    for (size_t i = 0; i < d->in->n; i++) {
        int byte = fallback_byte(text_at(d->in, i));

        if (byte >= 0) {
            buf_putc(&bytes, (char)byte);
            continue;
        }
        flush_bytes(d, &bytes);
        add_text(d->out, text_at(d->in, i));
    }
    flush_bytes(d, &bytes);
    buf_free(&bytes);
}

static void bpe(const struct decoding *d)
{
    for (size_t i = 0; i < d->in->n; i++) {
        replace_all(&d->out->bytes, text_at(d->in, i), d->decoder->content,
                    str_of(i + 1 == d->in->n ? "" : " "));
        end_text(d->out);
    }
}

static void wordpiece(const struct decoding *d)
{
    struct str prefix = d->decoder->content;
    struct buf word;

    buf_init(&word, DECODED_BYTES);
    for (size_t i = 0; i < d->in->n; i++) {
        struct str token = text_at(d->in, i);

        buf_clear(&word);
        if (i > 0 && str_eq(str_first(token, prefix.n), prefix))
            token = str_skip(token, prefix.n);
        else if (i > 0)
            buf_putc(&word, ' ');
        buf_str(&word, token);
        if (d->decoder->cleanup)
            clean_up(&d->out->bytes, buf_view(&word));
        else
            buf_str(&d->out->bytes, buf_view(&word));
        end_text(d->out);
    }
    buf_free(&word);
}

static void metaspace(const struct decoding *d)
{
    for (size_t i = 0; i < d->in->n; i++) {
        for (struct str rest = text_at(d->in, i); rest.n;) {
            int32_t c;
            size_t n = unicode_next(rest, &c);

            if (c != d->decoder->character)
                buf_add(&d->out->bytes, rest.p, n);
            else if (i > 0 || d->decoder->keeps_first)
                buf_putc(&d->out->bytes, ' ');
            rest = str_skip(rest, n);
        }
        end_text(d->out);
    }
}

static void ctc(const struct decoding *d)
{
    struct buf word, clean;

    buf_init(&word, DECODED_BYTES);
    buf_init(&clean, DECODED_BYTES);
    for (size_t i = 0; i < d->in->n; i++) {
        size_t before = d->out->bytes.n;

        if (i > 0 && str_eq(text_at(d->in, i), text_at(d->in, i - 1)))
            continue;
        buf_clear(&word);
        buf_clear(&clean);
        replace_all(&word, text_at(d->in, i), d->decoder->content, str_of(""));
        if (d->decoder->cleanup) {
            clean_up(&clean, buf_view(&word));
            replace_all(&d->out->bytes, buf_view(&clean), d->decoder->delimiter, str_of(" "));
        } else {
            buf_str(&d->out->bytes, buf_view(&word));
        }
        if (d->out->bytes.n > before)
            end_text(d->out);
    }
    buf_free(&word);
    buf_free(&clean);
}

static int replace_one(const struct decoding *d, struct str text, struct buf *room)
{
    struct pattern_search search = pattern_begin(d->decoder->pattern, d->pattern, text, room);
    size_t done = 0, begin, end;
    int rc = OK;

    while (text.n && (rc = pattern_next(&search, &begin, &end, d->err)) == 1) {
        buf_add(&d->out->bytes, text.p + done, begin - done);
        buf_str(&d->out->bytes, d->decoder->content);
        done = end;
    }
    buf_str(&d->out->bytes, str_skip(text, done));
    end_text(d->out);
    return rc;
}

static int replace(const struct decoding *d)
{
    struct buf room;
    int rc = OK;

    buf_init(&room, DECODED_BYTES);
    for (size_t i = 0; rc == OK && i < d->in->n; i++)
        rc = replace_one(d, text_at(d->in, i), &room);
    buf_free(&room);
    return rc;
}

static struct str strip_one(struct str text, const struct decoder *decoder)
{
    int32_t c;

    for (uint64_t i = 0; i < decoder->start && text.n; i++) {
        size_t n = unicode_next(text, &c);

        if (c != decoder->character)
            break;
        text = str_skip(text, n);
    }
    for (uint64_t i = 0; i < decoder->stop && text.n; i++) {
        size_t last = text.n - 1;

        while (last > 0 && ((unsigned char)text.p[last] & 0xC0) == 0x80)
            last--;
        (void)unicode_next(str_skip(text, last), &c);
        if (c != decoder->character)
            break;
        text.n = last;
    }
    return text;
}

static int decode_by(const struct decoding *d)
{
    switch (d->decoder->kind) {
    case DECODE_BPE:
        bpe(d);
        break;
    case DECODE_BYTE_LEVEL:
        byte_level(d);
        break;
    case DECODE_WORDPIECE:
        wordpiece(d);
        break;
    case DECODE_METASPACE:
        metaspace(d);
        break;
    case DECODE_CTC:
        ctc(d);
        break;
    case DECODE_REPLACE:
        return replace(d);
    case DECODE_FUSE:
        add_text(d->out, buf_view(&d->in->bytes));
        break;
    case DECODE_STRIP:
        for (size_t i = 0; i < d->in->n; i++)
            add_text(d->out, strip_one(text_at(d->in, i), d->decoder));
        break;
    case DECODE_BYTE_FALLBACK:
        byte_fallback(d);
        break;
    }
    return OK;
}

/* ---- Ids ---- */

static void take_tokens(const struct tokenizer *tokenizer, const uint32_t *ids, size_t n,
                        bool skip_special, struct texts *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct added_token *added = added_by_id(tokenizer->added, ids[i]);
        struct str token = added ? added->pattern : model_token(tokenizer->model, ids[i]);

        if (token.p && !(skip_special && added && added->is_skipped))
            add_text(out, token);
    }
}

static int decode_all(const struct tokenizer *tokenizer, struct texts lists[2], size_t *last,
                      struct error *err)
{
    struct pattern_scratch *pattern = NULL;
    int rc = OK;

    *last = 0;
    for (size_t i = 0; rc == OK && i < tokenizer->n_decoders; i++) {
        const struct decoder *decoder = &tokenizer->decoders[i];
        struct texts *in = &lists[*last], *out = &lists[1 - *last];

        if (decoder->pattern && !pattern)
            rc = pattern_scratch_open(&pattern, err);
        texts_clear(out);
        const struct decoding decoding = {decoder, in, out, pattern, err};

        if (rc == OK)
            rc = decode_by(&decoding);
        out->bytes.failed |= in->bytes.failed;
        *last = 1 - *last;
    }
    pattern_scratch_close(pattern);
    return rc;
}

int tokenizer_decode(const struct tokenizer *tokenizer, const uint32_t *ids, size_t n,
                     bool skip_special, struct buf *out, struct error *err)
{
    struct texts lists[2];
    size_t last;
    int rc;

    texts_init(&lists[0]);
    texts_init(&lists[1]);
    take_tokens(tokenizer, ids, n, skip_special, &lists[0]);
    rc = decode_all(tokenizer, lists, &last, err);
    if (rc == OK && (lists[last].bytes.failed || lists[0].failed || lists[1].failed))
        rc = error_set(err, E_LIMIT, "decoded text of more than %zu bytes", DECODED_BYTES);
    for (size_t i = 0; rc == OK && i < lists[last].n; i++) {
        if (!tokenizer->has_decoder && i > 0)
            buf_putc(out, ' ');
        buf_str(out, text_at(&lists[last], i));
    }
    texts_free(&lists[0]);
    texts_free(&lists[1]);
    return rc == OK && out->failed ? error_set(err, E_LIMIT, "decoded text is too long") : rc;
}
