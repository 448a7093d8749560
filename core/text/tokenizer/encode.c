/* Encoding: a text cut at added tokens, normalised, split, handed to the model, and finished. See
 * pipeline.h for the steps. */
#include <stdlib.h>

#include "core/base/unicode.h"
#include "core/base/unicode_class.h"
#include "core/text/tokenizer/pipeline.h"

int tokenizer_scratch_open(struct tokenizer_scratch **out, struct error *err)
{
    struct tokenizer_scratch *scratch = calloc(1, sizeof *scratch);
    int rc;

    if (!scratch)
        return error_set(err, E_NOMEM, "no memory for encoding");
    for (size_t i = 0; i < PIPELINE_PARTS; i++)
        buf_init(&scratch->rooms[i], PIPELINE_TEXT_BYTES);
    rc = model_scratch_open(&scratch->model, err);
    if (rc == OK)
        rc = pattern_scratch_open(&scratch->pattern, err);
    if (rc == OK)
        *out = scratch;
    else
        tokenizer_scratch_close(scratch);
    return rc;
}

void tokenizer_scratch_close(struct tokenizer_scratch *scratch)
{
    if (!scratch)
        return;
    model_scratch_close(scratch->model);
    pattern_scratch_close(scratch->pattern);
    work_free(&scratch->valid);
    work_free(&scratch->normal[0]);
    work_free(&scratch->normal[1]);
    for (size_t i = 0; i < sizeof scratch->split / sizeof *scratch->split; i++)
        work_free(&scratch->split[i]);
    for (size_t i = 0; i < PIPELINE_PARTS; i++)
        buf_free(&scratch->rooms[i]);
    unicode_steps_free(&scratch->steps);
    free(scratch->blanks.items);
    free(scratch->order_blanks.items);
    tokens_free(&scratch->order);
    free(scratch);
}

/* ---- Blanks of a token's text, for the trimming of offsets ---- */

static bool is_blank(int32_t c)
{
    return c == 0x120 || char_is_space(c); /* the blank of the byte alphabet */
}

static struct token_blanks blanks_of(struct str text)
{
    struct token_blanks blanks = {0, 0};
    bool leads = true;

    while (text.n) {
        int32_t c;

        text = str_skip(text, unicode_next(text, &c));
        if (is_blank(c)) {
            blanks.leading += leads;
            blanks.trailing++;
        } else {
            leads = false;
            blanks.trailing = 0;
        }
    }
    return blanks;
}

static bool may_have_blanks(struct str text)
{
    static const char MAYBE[256] = {
        ['\t'] = 1, ['\n'] = 1, ['\v'] = 1, ['\f'] = 1, ['\r'] = 1, [' '] = 1,
        [0xC4] = 1, [0xC2] = 1, [0xE1] = 1, [0xE2] = 1, [0xE3] = 1};

    /* The last byte of U+0120 and of the white space beyond ASCII is a tail byte. */
    return text.n &&
           (MAYBE[(unsigned char)text.p[0]] || (unsigned char)text.p[text.n - 1] >= 0x80 ||
            MAYBE[(unsigned char)text.p[text.n - 1]]);
}

static int keep_blanks(struct encoding *encoding, struct str text)
{
    struct blank_list *list = &encoding->scratch->blanks;
    int rc = blank_list_add(list, 1, encoding->err);

    if (rc == OK && may_have_blanks(text))
        list->items[list->n - 1] = blanks_of(text);
    return rc;
}

/* ---- Pieces ---- */

static inline bool is_tail(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* The model counts bytes of the piece; a part of a character counts for all of it. */
static void place(struct tokens *out, size_t from, const struct piece *piece)
{
    for (size_t i = from; i < out->n; i++) {
        uint32_t begin = out->begin[i], end = out->end[i];

        if (begin >= end || end > piece->n) {
            out->begin[i] = piece->origin + begin;
            out->end[i] = piece->origin + end;
        } else if (piece->at) {
            out->begin[i] = piece->at[begin].from;
            out->end[i] = piece->at[end - 1].to;
        } else {
            while (begin > 0 && is_tail(piece->p[begin]))
                begin--;
            while (end < piece->n && is_tail(piece->p[end]))
                end++;
            out->begin[i] = piece->origin + begin;
            out->end[i] = piece->origin + end;
        }
    }
}

static bool is_byte(struct str token)
{
    return token.n == 6 && str_starts(token, "<0x") && token.p[5] == '>';
}

/* What a token is called in the library's encoding: the entry of the vocabulary, but for Unigram's
 * unknown pieces, which keep their text. Bytes that Unigram falls back to are no such pieces. */
static int keep_blanks_of(struct encoding *encoding, size_t from, const struct piece *piece)
{
    const struct tokenizer *tokenizer = encoding->tokenizer;
    const struct tokens *out = encoding->out;
    bool is_text = model_kind(tokenizer->model) == MODEL_UNIGRAM;
    int rc = OK;

    for (size_t i = from; rc == OK && i < out->n; i++) {
        size_t begin = out->begin[i], end = out->end[i];

        struct str token = model_token(tokenizer->model, out->ids[i]);

        if (is_text && begin <= end && end <= piece->n && !is_byte(token))
            token = str_from(piece->p + begin, end - begin);
        rc = keep_blanks(encoding, token);
    }
    return rc;
}

int encode_piece(struct encoding *encoding, const struct piece *piece, bool is_raw)
{
    const struct tokenizer *tokenizer = encoding->tokenizer;
    struct tokens *out = encoding->out;
    size_t from = out->n;
    int rc = is_raw ? model_encode_bytes(tokenizer->model, encoding->scratch->model,
                                         piece_text(piece), out, encoding->err)
                    : model_encode(tokenizer->model, encoding->scratch->model, piece_text(piece),
                                   out, encoding->err);

    if (rc == OK && tokenizer->trims_offsets)
        rc = keep_blanks_of(encoding, from, piece);
    if (rc == OK)
        place(out, from, piece);
    return rc;
}

/* ---- Sections between added tokens ---- */

static int put_added(struct encoding *encoding, const struct piece *piece,
                     const struct added_match *match)
{
    const struct piece slice = piece_slice(piece, match->begin, match->end);
    int rc =
        tokens_push(encoding->out, match->token->id, slice.origin, slice.origin_end, encoding->err);

    if (rc == OK && encoding->tokenizer->trims_offsets)
        rc = keep_blanks(encoding, piece_text(&slice));
    return rc;
}

static int encode_section(struct encoding *encoding, const struct piece *piece, bool normalized);

/* What is between added tokens goes to the next step. */
static int encode_rest(struct encoding *encoding, const struct piece *piece, size_t begin,
                       size_t end, bool normalized)
{
    const struct tokenizer *tokenizer = encoding->tokenizer;
    struct piece rest;
    int rc;

    if (begin >= end)
        return OK;
    rest = piece_slice(piece, begin, end);
    if (normalized)
        return split_piece(encoding, 0, &rest);
    rc = normalize_piece(tokenizer->normalizers, tokenizer->n_normalizers, encoding->scratch, &rest,
                         encoding->err);
    return rc == OK ? encode_section(encoding, &rest, true) : rc;
}

/* Cuts at the added tokens that stand as they are, or, in normalised text, at the normalised ones.
 */
static int encode_section(struct encoding *encoding, const struct piece *piece, bool normalized)
{
    const struct added_tokens *added = encoding->tokenizer->added;
    struct added_search search = {
        .added = added, .text = piece_text(piece), .normalized = normalized};
    struct added_match match;
    size_t done = 0;
    int rc = 0;

    if (!added_has(added, normalized))
        return encode_rest(encoding, piece, 0, piece->n, normalized);
    while ((rc = added_next(&search, &match, encoding->err)) == 1) {
        rc = encode_rest(encoding, piece, done, match.begin, normalized);
        if (rc == OK && match.begin < match.end) /* else the one before swallowed it */
            rc = put_added(encoding, piece, &match);
        if (rc != OK)
            return rc;
        done = match.end;
    }
    return rc < 0 ? rc : encode_rest(encoding, piece, done, piece->n, normalized);
}

/* Broken bytes are read as U+FFFD; where they stand is kept. */
static int make_valid(struct encoding *encoding, struct piece *piece)
{
    struct work *work = &encoding->scratch->valid;
    struct str text = encoding->text;
    int rc;

    work->n = 0;
    rc = work_reserve(work, text.n * 3, encoding->err);
    for (size_t i = 0; rc == OK && i < text.n;) {
        int32_t c;
        size_t n = unicode_next(str_skip(text, i), &c);
        struct span at = {(uint32_t)i, (uint32_t)(i + n)};

        if (c < 0)
            work_put(work, "\xEF\xBF\xBD", 3, at);
        else
            work_put(work, text.p + i, n, at);
        i += n;
    }
    if (rc == OK)
        *piece = work_piece(work, piece);
    return rc;
}

int tokenizer_encode(const struct tokenizer *tokenizer, struct tokenizer_scratch *scratch,
                     struct str text, bool add_special, struct tokens *out, struct error *err)
{
    struct encoding encoding = {tokenizer, scratch, out, text, err};
    struct piece piece = {.p = text.p, .n = text.n, .origin_end = (uint32_t)text.n};
    int rc = OK;

    out->n = scratch->blanks.n = 0;
    pattern_scratch_begin(scratch->pattern);
    if (text.n > PIPELINE_TEXT_BYTES / 4)
        return error_set(err, E_LIMIT, "text of %zu bytes, expected at most %zu", text.n,
                         PIPELINE_TEXT_BYTES / 4);
    if (!unicode_is_valid(text))
        rc = make_valid(&encoding, &piece);
    if (rc == OK && piece.n)
        rc = encode_section(&encoding, &piece, false);
    return rc == OK ? post_process(&encoding, add_special) : rc;
}
