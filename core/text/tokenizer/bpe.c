/* Encoding by BPE: pieces to symbols, symbols merged by rank. See models.h. */
#include <stdlib.h>

#include "core/base/unicode.h"
#include "core/text/tokenizer/byte_letters.h"
#include "core/text/tokenizer/models.h"

#define SHORT_PIECE 64          /* symbols up to which a plain scan beats the heap */

static inline const struct merge *find_merge(const struct bpe *bpe, uint32_t left, uint32_t right)
{
    uint64_t mask = bpe->n_merges - 1, at = pair_hash(left, right) & mask;

    for (;; at = (at + 1) & mask) {
        const struct merge *merge = &bpe->merges[at];

        if (merge->left == left && merge->right == right)
            return merge;
        if (merge->left == NO_ID)
            return NULL;
    }
}

/* ---- few symbols: look for the lowest rank each time ---- */

struct part {
    uint32_t rank, id, end, merged;
};

static inline void set_rank(const struct bpe *bpe, struct part *parts, size_t i, size_t n)
{
    const struct merge *merge =
        i + 1 < n ? find_merge(bpe, parts[i].id, parts[i + 1].id) : NULL;

    parts[i].rank = merge ? merge->rank : UINT32_MAX;
    parts[i].merged = merge ? merge->id : NO_ID;
}

static size_t merge_few(const struct bpe *bpe, struct part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        set_rank(bpe, parts, i, n);
    for (;;) {
        size_t best = 0;

        for (size_t i = 1; i < n; i++)
            if (parts[i].rank < parts[best].rank)
                best = i;
        if (parts[best].rank == UINT32_MAX)
            return n;
        parts[best].id = parts[best].merged;
        parts[best].end = parts[best + 1].end;
        n--;
        memmove(&parts[best + 1], &parts[best + 2], (n - best - 1) * sizeof *parts);
        set_rank(bpe, parts, best, n);
        if (best > 0)
            set_rank(bpe, parts, best - 1, n);
    }
}

/* ---- many: a heap of candidates ---- */

static bool comes_before(const struct candidate *a, const struct candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void sift_down(struct candidate *heap, size_t n, size_t at)
{
    struct candidate moving = heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= n)
            break;
        if (child + 1 < n && comes_before(&heap[child + 1], &heap[child]))
            child++;
        if (!comes_before(&heap[child], &moving))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static int push_candidate(struct model_scratch *scratch, struct candidate candidate,
                          struct error *err)
{
    if (scratch->heap_n == scratch->heap_capacity) {
        int rc = scratch_room(&scratch->heap, &scratch->heap_capacity, scratch->heap_n + 1,
                              sizeof *scratch->heap, err);

        if (rc != OK)
            return rc;
    }

    size_t at = scratch->heap_n++;

    while (at > 0 && comes_before(&candidate, &scratch->heap[(at - 1) / 2])) {
        scratch->heap[at] = scratch->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    scratch->heap[at] = candidate;
    return OK;
}

static int fill_heap(const struct bpe *bpe, struct model_scratch *scratch, size_t n,
                     struct error *err)
{
    int rc = scratch_room(&scratch->heap, &scratch->heap_capacity, n, sizeof *scratch->heap, err);

    if (rc != OK)
        return rc;
    scratch->heap_n = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        const struct merge *merge =
            find_merge(bpe, scratch->symbols[i].id, scratch->symbols[i + 1].id);

        if (merge)
            scratch->heap[scratch->heap_n++] =
                (struct candidate){merge->rank, (uint32_t)i, merge->id};
    }
    for (size_t i = scratch->heap_n / 2; i-- > 0;)
        sift_down(scratch->heap, scratch->heap_n, i);
    return OK;
}

/* A pair that a merge has just made at symbol i. */
static int offer(const struct bpe *bpe, struct model_scratch *scratch, int32_t i,
                 struct error *err)
{
    int32_t after = i < 0 ? -1 : scratch->symbols[i].after;
    const struct merge *merge =
        after < 0 ? NULL : find_merge(bpe, scratch->symbols[i].id, scratch->symbols[after].id);

    return merge ? push_candidate(scratch,
                                  (struct candidate){merge->rank, (uint32_t)i, merge->id}, err)
                 : OK;
}

static int merge_many(const struct bpe *bpe, struct model_scratch *scratch, size_t n,
                      struct error *err)
{
    struct symbol *symbols = scratch->symbols;
    int rc = fill_heap(bpe, scratch, n, err);

    for (size_t i = 0; i < n; i++) {
        symbols[i].before = (int32_t)i - 1;
        symbols[i].after = i + 1 < n ? (int32_t)i + 1 : -1;
    }
    while (rc == OK && scratch->heap_n) {
        struct candidate top = scratch->heap[0];
        struct symbol *left = &symbols[top.at];

        scratch->heap[0] = scratch->heap[--scratch->heap_n];
        sift_down(scratch->heap, scratch->heap_n, 0);
        if (left->n == 0 || left->after < 0)
            continue;

        struct symbol *right = &symbols[left->after];
        const struct merge *merge = find_merge(bpe, left->id, right->id);

        /* The library compares the result and not the pair: so do we. */
        if (!merge || merge->id != top.id)
            continue;
        left->id = top.id;
        left->n += right->n;
        left->after = right->after;
        right->n = 0;
        if (left->after >= 0)
            symbols[left->after].before = (int32_t)top.at;
        rc = offer(bpe, scratch, left->before, err);
        if (rc == OK)
            rc = offer(bpe, scratch, (int32_t)top.at, err);
    }
    return rc;
}

static int give_symbols(const struct model_scratch *scratch, size_t n, struct tokens *out,
                        struct error *err)
{
    uint32_t at = 0;
    int rc = OK;

    for (size_t i = 0; rc == OK && i < n; i++) {
        uint32_t end = at + scratch->symbols[i].n;

        if (end > at)
            rc = tokens_push(out, scratch->symbols[i].id, at, end, err);
        at = end;
    }
    return rc;
}

static int give_few(const struct bpe *bpe, const struct model_scratch *scratch, size_t n,
                    struct tokens *out, struct error *err)
{
    struct part parts[SHORT_PIECE];
    uint32_t at = 0;
    int rc = OK;

    for (size_t i = 0; i < n; i++) {
        at += scratch->symbols[i].n;
        parts[i].id = scratch->symbols[i].id;
        parts[i].end = at;
    }
    n = merge_few(bpe, parts, n);
    at = 0;
    for (size_t i = 0; rc == OK && i < n; i++) {
        rc = tokens_push(out, parts[i].id, at, parts[i].end, err);
        at = parts[i].end;
    }
    return rc;
}

/* Merges the n symbols of the scratch to the end, and appends them. */
MUST_CHECK static int bpe_merge(const struct bpe *bpe, struct model_scratch *scratch, size_t n,
                                struct tokens *out, struct error *err)
{
    if (n <= 1 || bpe->no_merges)
        return give_symbols(scratch, n, out, err);
    if (n <= SHORT_PIECE && bpe->is_plain)
        return give_few(bpe, scratch, n, out, err);

    int rc = merge_many(bpe, scratch, n, err);

    return rc == OK ? give_symbols(scratch, n, out, err) : rc;
}

/* ---- letters of a text ---- */

struct spelling {
    const struct tok_model *model;
    struct model_scratch *scratch;
    size_t n;                   /* symbols */
    uint32_t unk_n;             /* bytes of unknown letters that wait for their symbol */
    struct error *err;
};

static int add_symbol(struct spelling *spelling, uint32_t id, size_t bytes)
{
    struct model_scratch *scratch = spelling->scratch;

    if (spelling->n >= INT32_MAX)
        return error_set(spelling->err, E_LIMIT, "a piece of 2^31 symbols");
    if (spelling->n == scratch->symbols_capacity) {
        int rc = scratch_room(&scratch->symbols, &scratch->symbols_capacity, spelling->n + 1,
                              sizeof *scratch->symbols, spelling->err);

        if (rc != OK)
            return rc;
    }
    scratch->symbols[spelling->n++] = (struct symbol){id, (uint32_t)bytes, 0, 0};
    return OK;
}

static int flush_unknown(struct spelling *spelling)
{
    size_t n = spelling->unk_n;

    spelling->unk_n = 0;
    return n ? add_symbol(spelling, spelling->model->bpe.unk, n) : OK;
}

/* A letter that is not in the vocabulary. With byte fallback what waits goes on waiting, and comes
 * behind the bytes: the library's order. */
static int add_unknown(struct spelling *spelling, struct str text, size_t bytes)
{
    const struct bpe *bpe = &spelling->model->bpe;
    bool has_all = bpe->byte_fallback;
    int rc = OK;

    for (size_t i = 0; has_all && i < text.n; i++)
        has_all = bpe->bytes[(unsigned char)text.p[i]] != NO_ID;
    for (size_t i = 0; has_all && rc == OK && i < text.n; i++)
        rc = add_symbol(spelling, bpe->bytes[(unsigned char)text.p[i]], 1);
    if (has_all || !bpe->has_unk)
        return rc;
    if (bpe->unk == NO_ID)
        return error_set(spelling->err, E_PARSE, "unk_token is not in the vocabulary, and a text needs it");
    if (!bpe->fuse_unk)
        rc = flush_unknown(spelling);
    spelling->unk_n += (uint32_t)bytes;
    return rc;
}

static struct str spell(struct spelling *spelling, struct str letter, bool is_first, bool is_last)
{
    const struct bpe *bpe = &spelling->model->bpe;
    struct buf *text = &spelling->scratch->text;

    if ((is_first || !bpe->prefix.n) && (!is_last || !bpe->suffix.n))
        return letter;
    buf_clear(text);
    if (!is_first)
        buf_str(text, bpe->prefix);
    buf_str(text, letter);
    if (is_last)
        buf_str(text, bpe->suffix);
    return buf_view(text);
}

static int encode_letters(struct spelling *spelling, struct str piece, struct tokens *out)
{
    int rc = OK;

    for (size_t at = 0, n = 0; rc == OK && at < piece.n; at += n) {
        int32_t codepoint;

        n = unicode_next(str_skip(piece, at), &codepoint);

        struct str text = spell(spelling, str_from(piece.p + at, n), at == 0, at + n == piece.n);
        int64_t id = vocab_id(&spelling->model->vocab, text);

        if (spelling->scratch->text.failed)
            return error_set(spelling->err, E_NOMEM, "a letter with its prefix and suffix");
        if (id == NONE) {
            rc = add_unknown(spelling, text, n);
            continue;
        }
        rc = flush_unknown(spelling);
        if (rc == OK)
            rc = add_symbol(spelling, (uint32_t)id, n);
    }
    if (rc == OK)
        rc = flush_unknown(spelling);
    return rc == OK ? bpe_merge(&spelling->model->bpe, spelling->scratch, spelling->n, out,
                                spelling->err)
                    : rc;
}

static int encode_piece(const struct tok_model *model, struct model_scratch *scratch,
                        struct str piece, struct tokens *out, struct error *err)
{
    struct spelling spelling = {model, scratch, 0, 0, err};
    uint64_t hash = piece.n <= CACHED_PIECE_BYTES ? piece_hash(piece.p, piece.n) : 0;
    int rc = piece_cache_find(scratch->cache, piece, hash, out, err);
    size_t first = out->n;

    if (rc != 0)
        return rc < 0 ? rc : OK;

    int64_t id = model->bpe.ignore_merges && !model->bpe.no_merges
                     ? vocab_id(&model->vocab, piece)
                     : NONE;

    rc = id != NONE ? tokens_push(out, (uint32_t)id, 0, (uint32_t)piece.n, err)
                    : encode_letters(&spelling, piece, out);
    if (rc == OK)
        piece_cache_keep(scratch->cache, piece, hash, out, first);
    return rc;
}

/* ---- pieces without a pre-tokenizer: parts that no merge can join ---- */

static bool is_glued(const struct bpe *bpe, const char *begin, const char *p)
{
    const char *letter = p;
    int32_t codepoint;

    while (letter > begin && ((unsigned char)*--letter & 0xC0) == 0x80)
        continue;
    unicode_next(str_from(letter, (size_t)(p - letter)), &codepoint);
    if (codepoint == 0x2581)
        return true;
    for (uint32_t i = 0; i < bpe->n_glue; i++)
        if (bpe->glue[i] == codepoint)
            return true;
    return false;
}

/* Where the part that begins at p ends: before the next mark that nothing joins to its left. */
static const char *part_end(const struct bpe *bpe, const char *p, const char *end)
{
    const char *begin = p;

    for (p++; end - p >= 3; p++) {
        p = memchr(p, 0xE2, (size_t)(end - p));
        if (!p || end - p < 3)
            break;
        if (p[1] == '\x96' && p[2] == '\x81' && !is_glued(bpe, begin, p))
            return p;
    }
    return end;
}

static int encode_parts(const struct tok_model *model, struct model_scratch *scratch,
                        struct str piece, struct tokens *out, struct error *err)
{
    const char *end = piece.p + piece.n;
    int rc = OK;

    for (const char *p = piece.p, *stop; rc == OK && p < end; p = stop) {
        size_t first = out->n;
        uint32_t before = (uint32_t)(p - piece.p);

        stop = part_end(&model->bpe, p, end);
        rc = encode_piece(model, scratch, str_from(p, (size_t)(stop - p)), out, err);
        for (size_t i = first; rc == OK && i < out->n; i++) {
            out->begin[i] += before;
            out->end[i] += before;
        }
    }
    return rc;
}

int bpe_encode(const struct tok_model *model, struct model_scratch *scratch, struct str piece,
               struct tokens *out, struct error *err)
{
    return model->bpe.splits_at_mark ? encode_parts(model, scratch, piece, out, err)
                                     : encode_piece(model, scratch, piece, out, err);
}

/* ---- bytes ---- */

static int64_t id_of_bytes(const struct tok_model *model, struct model_scratch *scratch,
                           struct str piece)
{
    struct buf *text = &scratch->text;

    buf_clear(text);
    for (size_t i = 0; i < piece.n; i++) {
        char letter[4];

        buf_add(text, letter, unicode_put(letter, byte_letter((unsigned char)piece.p[i])));
    }
    return text->failed ? NONE : vocab_id(&model->vocab, buf_view(text));
}

static int merge_bytes(const struct tok_model *model, struct model_scratch *scratch,
                       struct str piece, struct tokens *out, struct error *err)
{
    const struct bpe *bpe = &model->bpe;
    int rc = scratch_room(&scratch->symbols, &scratch->symbols_capacity, piece.n,
                          sizeof *scratch->symbols, err);

    if (rc != OK)
        return rc;
    for (size_t i = 0; i < piece.n; i++)
        scratch->symbols[i] = (struct symbol){bpe->letters[(unsigned char)piece.p[i]], 1, 0, 0};
    scratch->symbols[piece.n - 1].id = bpe->last_letters[(unsigned char)piece.p[piece.n - 1]];
    return bpe_merge(bpe, scratch, piece.n, out, err);
}

int bpe_encode_bytes(const struct tok_model *model, struct model_scratch *scratch,
                     struct str piece, struct tokens *out, struct error *err)
{
    uint64_t hash = piece.n <= CACHED_PIECE_BYTES ? piece_hash(piece.p, piece.n) : 0;
    int rc = piece_cache_find(scratch->cache, piece, hash, out, err);
    size_t first = out->n;

    if (rc != 0)
        return rc < 0 ? rc : OK;

    int64_t id = model->bpe.ignore_merges && !model->bpe.no_merges && piece.n <= model->bpe.longest
                     ? id_of_bytes(model, scratch, piece)
                     : NONE;

    rc = id != NONE ? tokens_push(out, (uint32_t)id, 0, (uint32_t)piece.n, err)
                    : merge_bytes(model, scratch, piece, out, err);
    if (rc == OK)
        piece_cache_keep(scratch->cache, piece, hash, out, first);
    return rc;
}
