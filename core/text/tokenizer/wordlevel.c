/* WordLevel: a piece is a token, or unknown. */
#include "core/text/tokenizer/models.h"

int wordlevel_open(struct tok_model *model, const struct model_parts *parts, struct error *err)
{
    int rc = setting_text(parts->settings, "unk_token", &model->unk_token, err);

    if (rc == OK && !model->unk_token.p)
        rc = error_set(err, E_PARSE, "model.unk_token: expected a text");
    if (rc == OK && !parts->vocab.n)
        rc = error_set(err, E_PARSE, "model: a WordLevel without vocab");
    return rc == OK ? vocab_read(&model->vocab, parts->vocab, err) : rc;
}

int wordlevel_encode(const struct tok_model *model, struct str piece, struct tokens *out,
                     struct error *err)
{
    int64_t id = vocab_id(&model->vocab, piece);

    if (id == NONE)
        id = vocab_id(&model->vocab, model->unk_token);
    if (id == NONE)
        return error_set(err, E_PARSE, "unk_token is not in the vocabulary, and a text needs it");
    return tokens_push(out, (uint32_t)id, 0, (uint32_t)piece.n, err);
}
