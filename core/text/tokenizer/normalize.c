/* Normalizers: what happens to a text before it is split. See pipeline.h; their settings are read
 * in normalize_read.c. Most texts are plain and nothing happens to them: each normalizer looks
 * first whether there is anything to do. */
#include "core/base/unicode.h"
#include "core/base/unicode_class.h"
#include "core/text/tokenizer/pipeline.h"

struct normalizing {
    const struct normalizer *normalizer;
    struct tokenizer_scratch *scratch;
    struct piece *piece;
    struct error *err;
};

/* The buffer that the piece does not lie in. */
static struct work *other_work(const struct normalizing *n)
{
    struct work *works = n->scratch->normal;

    return n->piece->at && n->piece->p == works[0].p ? &works[1] : &works[0];
}

/* The steps in the scratch become the piece. */
static int transform(const struct normalizing *n, size_t n_removed)
{
    struct work *work = other_work(n);
    int rc = work_transform(work, n->piece, &n->scratch->steps, n_removed, n->err);

    if (rc == OK)
        *n->piece = work_piece(work, n->piece);
    return rc;
}

static int push(const struct normalizing *n, int32_t c, int32_t change)
{
    return unicode_steps_push(&n->scratch->steps, c, change, n->err);
}

static int form(const struct normalizing *n, enum unicode_form wanted)
{
    if (!piece_begins_empty(n->piece) && !unicode_may_change(piece_text(n->piece), wanted))
        return OK;

    int rc = unicode_normalize(piece_text(n->piece), wanted, &n->scratch->steps, n->err);

    return rc == OK ? transform(n, 0) : rc;
}

/* Drops characters. A kept one tells how many after it are gone. */
static int filter(const struct normalizing *n, bool (*is_dropped)(int32_t c))
{
    struct str text = piece_text(n->piece);
    struct unicode_steps *steps = &n->scratch->steps;
    size_t n_first = 0;
    bool any = piece_begins_empty(n->piece);

    steps->n = 0;
    while (text.n) {
        int32_t c;

        text = str_skip(text, unicode_next(text, &c));
        if (!is_dropped(c)) {
            int rc = push(n, c, 0);

            if (rc != OK)
                return rc;
        } else if (steps->n) {
            steps->items[steps->n - 1].change--;
            any = true;
        } else {
            n_first++;
            any = true;
        }
    }
    return any ? transform(n, n_first) : OK;
}

static int map(const struct normalizing *n, int32_t (*to)(int32_t c))
{
    struct str text = piece_text(n->piece);
    bool any = piece_begins_empty(n->piece);

    n->scratch->steps.n = 0;
    while (text.n) {
        int32_t c;

        text = str_skip(text, unicode_next(text, &c));

        int32_t mapped = to(c);
        int rc = push(n, mapped, 0);

        if (rc != OK)
            return rc;
        any |= mapped != c;
    }
    return any ? transform(n, 0) : OK;
}

static int lowercase(const struct normalizing *n)
{
    struct str text = piece_text(n->piece);
    bool any = piece_begins_empty(n->piece);
    int rc = OK;

    n->scratch->steps.n = 0;
    while (rc == OK && text.n) {
        int32_t c;

        text = str_skip(text, unicode_next(text, &c));

        int32_t lower = char_lower(c);

        rc = push(n, lower, 0);
        if (rc == OK && c == 0x130)
            rc = push(n, 0x307, 1);
        any |= lower != c;
    }
    return rc != OK || !any ? rc : transform(n, 0);
}

static int strip(const struct normalizing *n)
{
    struct str text = piece_text(n->piece), kept;
    size_t n_left = 0;
    int rc = OK;

    for (int32_t c; n->normalizer->left && text.n; n_left++) {
        size_t used = unicode_next(text, &c);

        if (!char_is_space(c))
            break;
        text = str_skip(text, used);
    }
    kept = text;
    for (struct str rest = text; n->normalizer->right && rest.n;) {
        int32_t c;

        if (rest.p == text.p)
            kept.n = 0;
        rest = str_skip(rest, unicode_next(rest, &c));
        if (!char_is_space(c))
            kept.n = (size_t)(rest.p - text.p);
    }
    if (n_left == 0 && kept.n == text.n)
        return OK;
    n->scratch->steps.n = 0;
    while (rc == OK && kept.n) {
        int32_t c;

        kept = str_skip(kept, unicode_next(kept, &c));
        rc = push(n, c, 0);
    }
    return rc == OK ? transform(n, n_left) : rc;
}

static int replace(const struct normalizing *n)
{
    const struct piece *piece = n->piece;
    struct str content = n->normalizer->content;
    struct work *work = other_work(n);
    struct pattern_search search = pattern_begin(n->normalizer->pattern, n->scratch->pattern,
                                                 piece_text(piece), &n->scratch->rooms[0]);
    size_t done = 0, begin, end;
    bool any = false;
    int rc;

    if (piece->n == 0)
        return OK;
    work->n = 0;
    while ((rc = pattern_next(&search, &begin, &end, n->err)) == 1) {
        struct span at = {piece->origin, piece->origin};

        rc = work_reserve(work, begin - done + content.n, n->err);
        if (rc != OK)
            return rc;
        if (end > 0)
            at = piece_span(piece, end - 1);
        work_copy(work, piece, done, begin);
        work_put(work, content.p, content.n, at);
        done = end;
        any = true;
    }
    if (rc < 0 || !any)
        return rc;
    rc = work_reserve(work, piece->n - done, n->err);
    if (rc != OK)
        return rc;
    work_copy(work, piece, done, piece->n);
    *n->piece = work_piece(work, piece);
    return OK;
}

static int prepend(const struct normalizing *n)
{
    const struct piece *piece = n->piece;
    struct str content = n->normalizer->content;
    struct work *work = other_work(n);
    int32_t c;

    if (piece->n == 0)
        return OK;
    work->n = 0;

    int rc = work_reserve(work, content.n + piece->n, n->err);

    if (rc != OK)
        return rc;
    work_put(work, content.p, content.n, piece_span(piece, 0));
    work_copy(work, piece, 0, piece->n);
    if (content.n == 0) /* the library then takes the first character for inserted, too */
        for (size_t i = unicode_next(piece_text(piece), &c); i-- > 0;)
            work->at[i] = (struct span){piece->origin, piece->origin};
    *n->piece = work_piece(work, piece);
    return OK;
}

static int byte_level(const struct normalizing *n)
{
    struct str text = piece_text(n->piece);
    int rc = OK;

    n->scratch->steps.n = 0;
    for (size_t i = 0; rc == OK && i < text.n; i++)
        rc =
            push(n, byte_char((unsigned char)text.p[i]), ((unsigned char)text.p[i] & 0xC0) == 0x80);
    return rc == OK && text.n ? transform(n, 0) : rc;
}

/* ---- Precompiled ---- */

/* What the library does to the changes when a chunk becomes another text. */
static int put_mapped(const struct normalizing *n, struct str old, struct str mapped)
{
    struct unicode_steps *steps = &n->scratch->steps;
    size_t n_old = unicode_count(old), n_new = unicode_count(mapped);

    while (mapped.n) {
        int32_t c;

        mapped = str_skip(mapped, unicode_next(mapped, &c));

        int rc = push(n, c, 0);

        if (rc != OK)
            return rc;
    }
    for (size_t i = n_old; i < n_new; i++)
        steps->items[steps->n - 1 - (i - n_old)].change = 1;
    if (n_new < n_old && steps->n)
        steps->items[steps->n - 1].change -= (int32_t)(n_old - n_new);
    return OK;
}

static int precompiled(const struct normalizing *n)
{
    const struct charsmap *charsmap = n->normalizer->charsmap;
    struct str text = piece_text(n->piece);
    bool any = false;
    int rc = OK;

    n->scratch->steps.n = 0;
    while (rc == OK && text.n) {
        struct str chunk = str_first(text, unicode_grapheme(text));
        struct str found = chunk.n < 6 ? charsmap_find(charsmap, chunk) : str_from(NULL, 0);

        text = str_skip(text, chunk.n);
        if (found.p) {
            rc = put_mapped(n, chunk, found);
            any = true;
            continue;
        }
        while (rc == OK && chunk.n) {
            int32_t c;
            struct str one = str_first(chunk, unicode_next(chunk, &c));

            chunk = str_skip(chunk, one.n);
            found = charsmap_find(charsmap, one);
            rc = found.p ? put_mapped(n, one, found) : push(n, c, 0);
            any |= found.p != NULL;
        }
    }
    return rc == OK && any ? transform(n, 0) : rc;
}

/* ---- The parts of BertNormalizer, and Nmt ---- */

static bool is_no_text(int32_t c)
{
    return c == 0 || c == 0xFFFD || (c != '\t' && c != '\n' && c != '\r' && char_is_other(c));
}

static int32_t plain_space(int32_t c)
{
    return char_is_space(c) ? ' ' : c;
}

static int chinese(const struct normalizing *n)
{
    struct str text = piece_text(n->piece);
    bool any = piece_begins_empty(n->piece);
    int rc = OK;

    n->scratch->steps.n = 0;
    while (rc == OK && text.n) {
        int32_t c;

        text = str_skip(text, unicode_next(text, &c));
        if (!char_is_chinese(c)) {
            rc = push(n, c, 0);
            continue;
        }
        any = true;
        rc = push(n, ' ', 0);
        if (rc == OK)
            rc = push(n, c, 1);
        if (rc == OK)
            rc = push(n, ' ', 1);
    }
    return rc == OK && any ? transform(n, 0) : rc;
}

static bool is_nmt_control(int32_t c)
{
    return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
           c == 0x9F;
}

static int32_t nmt_space(int32_t c)
{
    if (c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
        c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD)
        return ' ';
    return c;
}

static int filter_and_map(const struct normalizing *n, bool (*is_dropped)(int32_t c),
                          int32_t (*to)(int32_t c))
{
    int rc = filter(n, is_dropped);

    return rc == OK ? map(n, to) : rc;
}

static int normalize_by(const struct normalizing *n)
{
    int rc;

    switch (n->normalizer->kind) {
    case NORMALIZE_FORM:
        return form(n, n->normalizer->form);
    case NORMALIZE_STRIP:
        return strip(n);
    case NORMALIZE_STRIP_ACCENTS:
        return filter(n, char_is_mark);
    case NORMALIZE_LOWERCASE:
        return lowercase(n);
    case NORMALIZE_NMT:
        return filter_and_map(n, is_nmt_control, nmt_space);
    case NORMALIZE_REPLACE:
        return replace(n);
    case NORMALIZE_PREPEND:
        return prepend(n);
    case NORMALIZE_BYTE_LEVEL:
        return byte_level(n);
    case NORMALIZE_PRECOMPILED:
        return precompiled(n);
    case NORMALIZE_CLEAN_TEXT:
        return filter_and_map(n, is_no_text, plain_space);
    case NORMALIZE_CHINESE:
        return chinese(n);
    case NORMALIZE_BERT_ACCENTS:
        rc = form(n, UNICODE_NFD);
        return rc == OK ? filter(n, char_is_nonspacing) : rc;
    }
    return OK;
}

int normalize_piece(const struct normalizer *normalizers, size_t n,
                    struct tokenizer_scratch *scratch, struct piece *piece, struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct normalizing one = {&normalizers[i], scratch, piece, err};
        int rc = normalize_by(&one);

        if (rc != OK)
            return rc;
    }
    return OK;
}
