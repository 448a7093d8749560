/* Pre-tokenizers: cutting a normalised text into the pieces that the model sees. See pipeline.h;
 * their settings are read in split_read.c. Each piece goes on at once, so that a pre-tokenizer that
 * changes the text needs one buffer. */
#include "core/base/unicode.h"
#include "core/base/unicode_class.h"
#include "core/text/tokenizer/pipeline.h"
#include "core/text/tokenizer/scripts.h"

/* Takes the matches of a pattern, and what is between them, and makes pieces by the behaviour. */
struct cutter {
    struct encoding *encoding;
    const struct piece *piece;
    size_t stage; /* of the cutting; pieces go to the one after it */
    enum split_behaviour behaviour;
    bool invert, was_match, has_pending, raw;
    size_t begin, end; /* of the pending piece */
};

static int pass(const struct cutter *cutter, size_t begin, size_t end)
{
    struct piece slice;

    if (begin == end)
        return OK;
    slice = piece_slice(cutter->piece, begin, end);
    if (cutter->raw)
        return encode_piece(cutter->encoding, &slice, true);
    return split_piece(cutter->encoding, cutter->stage + 1, &slice);
}

static int flush(struct cutter *cutter)
{
    int rc = cutter->has_pending ? pass(cutter, cutter->begin, cutter->end) : OK;

    cutter->has_pending = false;
    return rc;
}

static int pend(struct cutter *cutter, size_t begin, size_t end)
{
    int rc = flush(cutter);

    cutter->begin = begin;
    cutter->end = end;
    cutter->has_pending = true;
    return rc;
}

/* Joins with the pending piece where there is one. */
static int join(struct cutter *cutter, size_t begin, size_t end)
{
    if (!cutter->has_pending)
        return pend(cutter, begin, end);
    cutter->end = end;
    return OK;
}

static int cut(struct cutter *cutter, size_t begin, size_t end, bool is_match)
{
    bool was_match = cutter->was_match;

    is_match ^= cutter->invert;
    cutter->was_match = is_match;
    switch (cutter->behaviour) {
    case SPLIT_REMOVED:
        return is_match ? OK : pass(cutter, begin, end);
    case SPLIT_ISOLATED:
        return pass(cutter, begin, end);
    case SPLIT_CONTIGUOUS:
        return is_match == was_match ? join(cutter, begin, end) : pend(cutter, begin, end);
    case SPLIT_WITH_PREVIOUS:
        return is_match && !was_match ? join(cutter, begin, end) : pend(cutter, begin, end);
    case SPLIT_WITH_NEXT: /* only a match is ever pending */
        if (is_match)
            return pend(cutter, begin, end);
        if (!cutter->has_pending)
            return pass(cutter, begin, end);
        cutter->has_pending = false;
        return pass(cutter, cutter->begin, end);
    }
    return OK;
}

static int cut_by_pattern(struct cutter *cutter, const struct splitter *splitter)
{
    struct encoding *encoding = cutter->encoding;
    size_t stage = (size_t)(splitter - encoding->tokenizer->splitters);
    struct pattern_search search =
        pattern_begin(splitter->pattern, encoding->scratch->pattern, piece_text(cutter->piece),
                      &encoding->scratch->rooms[stage]);
    size_t done = 0, begin, end;
    int rc;

    while ((rc = pattern_next(&search, &begin, &end, encoding->err)) == 1) {
        rc = begin > done ? cut(cutter, done, begin, false) : OK;
        if (rc == OK)
            rc = cut(cutter, begin, end, true);
        if (rc != OK)
            return rc;
        done = end;
    }
    if (rc == OK && done < cutter->piece->n)
        rc = cut(cutter, done, cutter->piece->n, false);
    return rc == OK ? flush(cutter) : rc;
}

static int cut_by_class(struct cutter *cutter, bool (*is_in)(int32_t c, int32_t wanted),
                        int32_t wanted)
{
    struct str text = piece_text(cutter->piece);
    size_t done = 0;
    int rc = OK;

    for (size_t i = 0; rc == OK && i < text.n;) {
        int32_t c;
        size_t n = unicode_next(str_skip(text, i), &c);

        if (is_in(c, wanted)) {
            rc = i > done ? cut(cutter, done, i, false) : OK;
            if (rc == OK)
                rc = cut(cutter, i, i + n, true);
            done = i + n;
        }
        i += n;
    }
    if (rc == OK && done < text.n)
        rc = cut(cutter, done, text.n, false);
    return rc == OK ? flush(cutter) : rc;
}

static bool is_same(int32_t c, int32_t wanted)
{
    return c == wanted;
}

static bool is_number(int32_t c, int32_t wanted)
{
    (void)wanted;
    return char_is_number(c);
}

static bool is_punctuation(int32_t c, int32_t wanted)
{
    (void)wanted;
    return char_is_punctuation(c);
}

static bool is_space(int32_t c, int32_t wanted)
{
    (void)wanted;
    return char_is_space(c);
}

/* Runs of word characters and runs of the others that are no white space. */
static int cut_words(struct cutter *cutter)
{
    struct str text = piece_text(cutter->piece);
    size_t begin = 0;
    int kind = 0, rc = OK; /* 1 word, 2 other, 0 white space */

    for (size_t i = 0; rc == OK && i < text.n;) {
        int32_t c;
        size_t n = unicode_next(str_skip(text, i), &c);
        int its = char_is_word(c) ? 1 : char_is_space(c) ? 0 : 2;

        if (its != kind) {
            rc = kind ? pass(cutter, begin, i) : OK;
            begin = i;
            kind = its;
        }
        i += n;
    }
    return rc == OK && kind ? pass(cutter, begin, text.n) : rc;
}

static int cut_lengths(struct cutter *cutter, uint64_t length)
{
    struct str text = piece_text(cutter->piece);
    size_t begin = 0;
    uint64_t n_chars = 0;
    int rc = OK;

    for (size_t i = 0; rc == OK && i < text.n;) {
        int32_t c;

        i += unicode_next(str_skip(text, i), &c);
        if (++n_chars == length || i == text.n) {
            rc = pass(cutter, begin, i);
            begin = i;
            n_chars = 0;
        }
    }
    return rc;
}

/* A new piece where the script changes; SCRIPT_ANY goes with what is before it. What stands before
 * the first character of a script is lost, as in the library. */
static int cut_scripts(struct cutter *cutter)
{
    struct str text = piece_text(cutter->piece);
    size_t begin = SIZE_MAX;
    int last = -1, rc = OK;

    for (size_t i = 0; rc == OK && i < text.n;) {
        int32_t c;
        size_t n = unicode_next(str_skip(text, i), &c);
        int script = script_of(c);

        if (script != SCRIPT_ANY) {
            if (script != last) {
                rc = begin != SIZE_MAX ? pass(cutter, begin, i) : OK;
                begin = i;
            }
            last = script;
        }
        i += n;
    }
    return rc == OK && begin != SIZE_MAX ? pass(cutter, begin, text.n) : rc;
}

/* ---- Pre-tokenizers that change the text ---- */

static bool starts_with_char(const struct piece *piece, int32_t c)
{
    char bytes[5] = {0};

    return unicode_put(bytes, c) > 0 && piece->n && str_starts(piece_text(piece), bytes);
}

/* Blanks become the replacement, one more stands before the piece where the scheme says so. */
static int metaspace(struct encoding *encoding, size_t stage, const struct piece *piece)
{
    const struct splitter *splitter = &encoding->tokenizer->splitters[stage];
    struct work *work = &encoding->scratch->split[stage];
    char mark[4];
    size_t n_mark = unicode_put(mark, splitter->character), n_blanks = 0;

    for (size_t i = 0; i < piece->n; i++)
        n_blanks += piece->p[i] == ' ';
    work->n = 0;

    int rc = work_reserve(work, piece->n + (n_blanks + 1) * n_mark, encoding->err);

    if (rc != OK)
        return rc;
    if (splitter->scheme != PREPEND_NEVER &&
        (splitter->scheme == PREPEND_ALWAYS || piece->origin == 0) && piece->p[0] != ' ' &&
        !starts_with_char(piece, splitter->character))
        work_put(work, mark, n_mark, piece_span(piece, 0));
    for (size_t i = 0; i < piece->n;) {
        const char *blank = memchr(piece->p + i, ' ', piece->n - i);
        size_t end = blank ? (size_t)(blank - piece->p) : piece->n;

        work_copy(work, piece, i, end);
        if (blank)
            work_put(work, mark, n_mark, piece_span(piece, end));
        i = end + (blank != NULL);
    }

    struct piece changed = work_piece(work, piece);
    struct cutter cutter = {
        .encoding = encoding, .piece = &changed, .stage = stage, .behaviour = SPLIT_WITH_NEXT};

    return splitter->cuts ? cut_by_class(&cutter, is_same, splitter->character)
                          : split_piece(encoding, stage + 1, &changed);
}

/* One piece in the byte alphabet, sent on. */
static int to_alphabet(struct encoding *encoding, size_t stage, const struct piece *piece)
{
    struct tokenizer_scratch *scratch = encoding->scratch;
    struct work *work = &scratch->split[PIPELINE_PARTS + stage];
    struct piece changed;
    int rc;

    if (piece_begins_empty(piece)) {
        scratch->steps.n = 0;
        rc = OK;
        for (size_t i = 0; rc == OK && i < piece->n; i++)
            rc = unicode_steps_push(&scratch->steps, byte_char((unsigned char)piece->p[i]),
                                    ((unsigned char)piece->p[i] & 0xC0) == 0x80, encoding->err);
        if (rc == OK)
            rc = work_transform(work, piece, &scratch->steps, 0, encoding->err);
    } else {
        work->n = 0;
        rc = work_reserve(work, piece->n * 2, encoding->err);
        for (size_t i = 0; rc == OK && i < piece->n; i++) {
            char bytes[4];
            size_t n = unicode_put(bytes, byte_char((unsigned char)piece->p[i]));

            work_put(work, bytes, n, piece_span(piece, i));
        }
    }
    if (rc != OK)
        return rc;
    changed = work_piece(work, piece);
    return split_piece(encoding, stage + 1, &changed);
}

static int byte_level(struct encoding *encoding, size_t stage, const struct piece *given)
{
    const struct tokenizer *tokenizer = encoding->tokenizer;
    const struct splitter *splitter = &tokenizer->splitters[stage];
    struct work *work = &encoding->scratch->split[stage];
    bool is_last = tokenizer->raw_bytes && stage + 1 == tokenizer->n_splitters;
    struct piece piece = *given;

    if (splitter->add_prefix_space && piece.p[0] != ' ') {
        int rc;

        work->n = 0;
        rc = work_reserve(work, piece.n + 1, encoding->err);
        if (rc != OK)
            return rc;
        work_put(work, " ", 1, piece_span(&piece, 0));
        work_copy(work, given, 0, given->n);
        piece = work_piece(work, given);
    }

    bool raw = is_last && !piece_begins_empty(&piece);
    /* Pieces that become the alphabet go to the stage itself again, by way of to_alphabet. */
    struct cutter cutter = {.encoding = encoding,
                            .piece = &piece,
                            .stage = PIPELINE_PARTS + stage - 1,
                            .behaviour = SPLIT_ISOLATED,
                            .raw = raw};

    if (splitter->pattern)
        return cut_by_pattern(&cutter, splitter);
    return raw ? encode_piece(encoding, &piece, true) : to_alphabet(encoding, stage, &piece);
}

int split_piece(struct encoding *encoding, size_t stage, const struct piece *piece)
{
    const struct tokenizer *tokenizer = encoding->tokenizer;

    if (stage >= PIPELINE_PARTS)
        return to_alphabet(encoding, stage - PIPELINE_PARTS, piece);
    if (stage == tokenizer->n_splitters)
        return encode_piece(encoding, piece, false);
    if (piece->n == 0)
        return OK;

    const struct splitter *splitter = &tokenizer->splitters[stage];
    struct cutter cutter = {.encoding = encoding,
                            .piece = piece,
                            .stage = stage,
                            .behaviour = splitter->behaviour,
                            .invert = splitter->invert};

    switch (splitter->kind) {
    case SPLIT_PATTERN:
        return cut_by_pattern(&cutter, splitter);
    case SPLIT_BYTE_LEVEL:
        return byte_level(encoding, stage, piece);
    case SPLIT_METASPACE:
        return metaspace(encoding, stage, piece);
    case SPLIT_DELIMITER:
        return cut_by_class(&cutter, is_same, splitter->character);
    case SPLIT_DIGITS:
        return cut_by_class(&cutter, is_number, 0);
    case SPLIT_PUNCTUATION:
        return cut_by_class(&cutter, is_punctuation, 0);
    case SPLIT_SPACE:
        return cut_by_class(&cutter, is_space, 0);
    case SPLIT_WORDS:
        return cut_words(&cutter);
    case SPLIT_LENGTH:
        return cut_lengths(&cutter, splitter->length);
    case SPLIT_SCRIPTS:
        return cut_scripts(&cutter);
    }
    return OK;
}
