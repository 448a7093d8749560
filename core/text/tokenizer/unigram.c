/* Unigram: the best path through a piece by the sum of scores, as the library's encode_optimized
 * finds it: sums in doubles from left to right, of equal sums the one found first. */
#include <math.h>
#include <stdlib.h>

#include "core/base/unicode.h"
#include "core/text/tokenizer/models.h"

#define UNK_PENALTY 10.0

static int read_unk(struct unigram *unigram, const struct json *settings, uint64_t n,
                    struct error *err)
{
    const struct json *unk = json_get(settings, "unk_id");

    unigram->unk = NO_ID;
    if (!unk || json_is(unk, JSON_NULL))
        return OK;
    if (!json_is(unk, JSON_NUMBER) || !unk->is_integer || unk->number < 0)
        return error_set(err, E_PARSE, "model.unk_id: expected a place in the vocabulary");
    if (!(unk->number < (double)n))
        return error_set(err, E_PARSE, "model.unk_id is %.0f, but the vocabulary has %llu tokens",
                         unk->number, (unsigned long long)n);
    unigram->unk = (uint32_t)unk->number;
    return OK;
}

int unigram_open(struct tok_model *model, const struct model_parts *parts, struct error *err)
{
    struct unigram *unigram = &model->unigram;
    double least = INFINITY;

    if (!parts->vocab.n)
        return error_set(err, E_PARSE, "model: a Unigram without vocab");

    int rc = vocab_read_scored(&model->vocab, &unigram->scores, parts->vocab, err);

    if (rc == OK)
        rc = read_unk(unigram, parts->settings, model->vocab.n_entries, err);
    if (rc == OK)
        rc = setting_flag(parts->settings, "byte_fallback", false, &unigram->byte_fallback, err);
    if (rc == OK)
        rc = trie_build(&unigram->trie, &model->vocab, err);
    if (rc != OK)
        return rc;
    for (uint64_t i = 0; i < model->vocab.n_entries; i++)
        if (unigram->scores[i] < least)
            least = unigram->scores[i];
    unigram->unk_score = least - UNK_PENALTY;
    find_byte_tokens(&model->vocab, unigram->bytes);
    return OK;
}

static inline void reach(struct viterbi_node *node, double score, size_t begin, uint32_t id)
{
    if (node->begin != NO_ID && !(score > node->score))
        return;
    *node = (struct viterbi_node){score, (uint32_t)begin, id};
}

static int find_paths(const struct unigram *unigram, struct viterbi_node *nodes, struct str piece,
                      struct error *err)
{
    const unsigned char *p = (const unsigned char *)piece.p;

    for (size_t at = 0, letter = 0; at < piece.n; at += letter) {
        int32_t codepoint;
        double till_here = nodes[at].score;
        bool has_letter = false;
        uint32_t node = 0;

        letter = p[at] < 0x80 ? 1 : unicode_next(str_skip(piece, at), &codepoint);
        for (size_t end = at; end < piece.n;) {
            node = trie_step(&unigram->trie, node, p[end++]);
            if (node == NO_ID)
                break;

            uint32_t id = unigram->trie.nodes[node].id;

            if (id == TRIE_NO_ID)
                continue;
            reach(&nodes[end], unigram->scores[id] + till_here, at, id);
            has_letter = has_letter || end - at == letter;
        }
        if (has_letter)
            continue;
        if (unigram->unk == NO_ID && (nodes[at + letter].begin == NO_ID ||
                                      unigram->unk_score + till_here > nodes[at + letter].score))
            return error_set(err, E_PARSE, "a letter is not in the vocabulary, and the model has no unk_id");
        reach(&nodes[at + letter], unigram->unk_score + till_here, at, unigram->unk);
    }
    return OK;
}

/* A run of unknown letters. */
static int give_unknown(const struct tok_model *model, struct str text, uint32_t begin,
                        struct tokens *out, struct error *err)
{
    const struct unigram *unigram = &model->unigram;
    int64_t id = vocab_id(&model->vocab, text);
    uint32_t end = begin + (uint32_t)text.n;
    bool has_all = id == NONE && unigram->byte_fallback;
    int rc = OK;

    for (size_t i = 0; has_all && i < text.n; i++)
        has_all = unigram->bytes[(unsigned char)text.p[i]] != NO_ID;
    for (size_t i = 0; has_all && rc == OK && i < text.n; i++)
        rc = tokens_push(out, unigram->bytes[(unsigned char)text.p[i]], begin, end, err);
    if (has_all)
        return rc;
    return tokens_push(out, id != NONE ? (uint32_t)id : unigram->unk, begin, end, err);
}

/* The path back from the end: each node's `begin` becomes the end of what follows it. */
static void turn_path(struct viterbi_node *nodes, size_t n)
{
    uint32_t end = (uint32_t)n, next = NO_ID, id = NO_ID;

    while (end > 0) {
        uint32_t begin = nodes[end].begin, own = nodes[end].id;

        nodes[end].begin = next;        /* where the piece after this one ends */
        nodes[end].id = id;
        next = end;
        id = own;
        end = begin;
    }
    nodes[0].begin = next;
    nodes[0].id = id;
}

static int give_path(const struct tok_model *model, const struct viterbi_node *nodes,
                     struct str piece, struct tokens *out, struct error *err)
{
    uint32_t unk = model->unigram.unk;
    int rc = OK;

    for (uint32_t at = 0; rc == OK && at < piece.n;) {
        uint32_t end = nodes[at].begin, id = nodes[at].id;

        if (unk == NO_ID || id != unk) {
            rc = tokens_push(out, id, at, end, err);
        } else {
            while (end < piece.n && nodes[end].id == unk)
                end = nodes[end].begin;
            rc = give_unknown(model, str_from(piece.p + at, end - at), at, out, err);
        }
        at = end;
    }
    return rc;
}

int unigram_encode(const struct tok_model *model, struct model_scratch *scratch, struct str piece,
                   struct tokens *out, struct error *err)
{
    uint64_t hash = piece.n <= CACHED_PIECE_BYTES ? piece_hash(piece.p, piece.n) : 0;
    int rc = piece_cache_find(scratch->cache, piece, hash, out, err);
    size_t first = out->n;

    if (rc != 0)
        return rc < 0 ? rc : OK;
    rc = scratch_room(&scratch->nodes, &scratch->nodes_capacity, piece.n + 1,
                      sizeof *scratch->nodes, err);
    if (rc != OK)
        return rc;
    scratch->nodes[0] = (struct viterbi_node){0, 0, 0};
    for (size_t i = 1; i <= piece.n; i++)
        scratch->nodes[i].begin = NO_ID;
    rc = find_paths(&model->unigram, scratch->nodes, piece, err);
    if (rc != OK)
        return rc;
    turn_path(scratch->nodes, piece.n);
    rc = give_path(model, scratch->nodes, piece, out, err);
    if (rc == OK)
        piece_cache_keep(scratch->cache, piece, hash, out, first);
    return rc;
}
