/* WordPiece: the longest token first, all others with the prefix; a word with a part that is not
 * there is unknown as a whole. */
#include "core/base/unicode.h"
#include "core/text/tokenizer/models.h"

static int read_most_chars(struct wordpiece *wordpiece, const struct json *settings,
                           struct error *err)
{
    const struct json *most = json_get(settings, "max_input_chars_per_word");

    if (!json_is(most, JSON_NUMBER) || !most->is_integer || most->number < 0)
        return error_set(err, E_PARSE, "model.max_input_chars_per_word: expected a whole number");
    wordpiece->most_chars =
        most->number < (double)LONGEST_PIECE ? (size_t)most->number : LONGEST_PIECE;
    return OK;
}

static int need_text(const struct json *settings, const char *name, struct str *out,
                     struct error *err)
{
    int rc = setting_text(settings, name, out, err);

    if (rc == OK && !out->p)
        return error_set(err, E_PARSE, "model.%s: expected a text", name);
    return rc;
}

int wordpiece_open(struct tok_model *model, const struct model_parts *parts, struct error *err)
{
    struct wordpiece *wordpiece = &model->wordpiece;
    int rc = need_text(parts->settings, "unk_token", &model->unk_token, err);

    if (rc == OK)
        rc = need_text(parts->settings, "continuing_subword_prefix", &wordpiece->prefix, err);
    if (rc == OK)
        rc = read_most_chars(wordpiece, parts->settings, err);
    if (rc == OK && !parts->vocab.n)
        rc = error_set(err, E_PARSE, "model: a WordPiece without vocab");
    if (rc == OK)
        rc = vocab_read(&model->vocab, parts->vocab, err);
    if (rc == OK)
        rc = trie_build(&wordpiece->trie, &model->vocab, err);
    if (rc != OK)
        return rc;
    wordpiece->unk = (uint32_t)vocab_id(&model->vocab, model->unk_token);
    for (size_t i = 0; i < wordpiece->prefix.n && wordpiece->prefix_node != NO_ID; i++)
        wordpiece->prefix_node = trie_step(&wordpiece->trie, wordpiece->prefix_node,
                                           (unsigned char)wordpiece->prefix.p[i]);
    return OK;
}

/* More than `most` characters? */
static bool is_too_long(struct str piece, size_t most)
{
    size_t n = 0;

    if (piece.n <= most)
        return false;
    for (size_t i = 0; i < piece.n && n <= most; i++)
        n += ((unsigned char)piece.p[i] & 0xC0) != 0x80;
    return n > most;
}

/* The longest token from `at` on: where it ends, 0 when there is none. */
static size_t longest(const struct wordpiece *wordpiece, struct str piece, size_t at, uint32_t *id)
{
    uint32_t node = at ? wordpiece->prefix_node : 0;
    size_t end = 0;

    for (size_t i = at; i < piece.n && node != NO_ID;) {
        node = trie_step(&wordpiece->trie, node, (unsigned char)piece.p[i++]);
        if (node != NO_ID && wordpiece->trie.nodes[node].id != TRIE_NO_ID) {
            *id = wordpiece->trie.nodes[node].id;
            end = i;
        }
    }
    return end;
}

int wordpiece_encode(const struct tok_model *model, struct str piece, struct tokens *out,
                     struct error *err)
{
    const struct wordpiece *wordpiece = &model->wordpiece;
    bool is_bad = is_too_long(piece, wordpiece->most_chars);
    size_t first = out->n;
    int rc = OK;

    for (size_t at = 0, end = 0; !is_bad && rc == OK && at < piece.n; at = end) {
        uint32_t id = 0;

        end = longest(wordpiece, piece, at, &id);
        if (end == 0)
            is_bad = true;
        else
            rc = tokens_push(out, id, (uint32_t)at, (uint32_t)end, err);
    }
    if (rc != OK || !is_bad)
        return rc;
    out->n = first;
    if (wordpiece->unk == NO_ID)
        return error_set(err, E_PARSE, "unk_token is not in the vocabulary, and a text needs it");
    return tokens_push(out, wordpiece->unk, 0, (uint32_t)piece.n, err);
}
