/* The prompts of a run as evidence. See prompt_evidence.h. */
#include "core/checks/prompt_evidence.h"

#include <string.h>

#include "core/base/unicode.h"

#define AROUND 48 /* bytes shown before and behind a difference */

bool prompts_apply(const struct run_facts *facts, const char **reason)
{
    if (facts->run.kind == KIND_CLASSIFICATION || facts->run.kind == KIND_REWARD_MODEL) {
        *reason = "the model is not prompted for text";
        return false;
    }
    *reason = "plain text: there are no turns to render";
    return facts->run.kind != KIND_PRETRAINING;
}

bool prompts_are_known(const struct prompt_pair *pair)
{
    return pair->train.origin != PROMPT_ABSENT && pair->serve.origin != PROMPT_ABSENT;
}

bool prompt_is_captured(const struct prompt_record *record)
{
    return record->origin == PROMPT_RECORDED || record->origin == PROMPT_REQUEST;
}

enum confidence prompts_confidence(const struct prompt_pair *pair)
{
    bool is_direct = prompt_is_captured(&pair->serve) && pair->train.origin != PROMPT_RENDERED;

    if (pair->serve.is_assumed)
        return CONFIDENCE_LIKELY;
    return is_direct ? CONFIDENCE_CERTAIN : CONFIDENCE_STRONG;
}

static void tell_absent(struct check_ctx *ctx, const struct prompt_record *record, const char *side)
{
    if (record->origin != PROMPT_ABSENT)
        return;
    if (record->failure)
        check_unknown(ctx, "the %s prompt: %s", side, record->failure);
    else
        check_unknown(ctx, "the %s prompt: %s", side, record->missing ? record->missing : "");
}

int prompts_unknown(struct check_ctx *ctx, const struct prompt_pair *pair)
{
    tell_absent(ctx, &pair->train, "training");
    tell_absent(ctx, &pair->serve, "serving");
    if (prompts_are_known(pair))
        check_unknown(ctx, "a prompt with turn markers on both sides: %s %s",
                      pair->train.side.shape.family == FAMILY_NONE ? pair->train.about
                                                                   : pair->serve.about,
                      "has none that are known");
    return OK;
}

const char *prompt_text(struct check_ctx *ctx, struct str text, size_t most)
{
    struct buf visible;
    bool is_cut = text.n > most;

    buf_init(&visible, most * 8 + 64);
    unicode_visible(&visible, unicode_cut(text, most), false);
    if (is_cut)
        buf_puts(&visible, "…");
    const char *copy = arena_strndup(ctx->arena, visible.n ? visible.p : "", visible.n);
    buf_free(&visible);
    return copy;
}

/* The bytes around a place, at code points. */
static struct str around(struct str text, size_t at)
{
    size_t begin = at > AROUND ? at - AROUND : 0;

    while (begin > 0 && begin < text.n && ((unsigned char)text.p[begin] & 0xC0) == 0x80)
        begin--;
    return str_skip(str_first(text, at + AROUND), begin);
}

static void show_side(struct check_ctx *ctx, const struct prompt_record *record, const char *side,
                      size_t byte, ptrdiff_t token)
{
    struct evidence *e;

    if (record->origin == PROMPT_ABSENT)
        return;
    struct str text = record->side.text;
    const char *shown = prompt_text(ctx, around(text, byte < text.n ? byte : text.n), 4 * AROUND);
    if (token >= 0)
        e = evidence_add(ctx, "file", "%s (%s), byte %zu of %zu, token %td: %s", side,
                         record->about, byte, text.n, token, shown);
    else
        e = evidence_add(ctx, "file", "%s (%s), byte %zu of %zu: %s", side, record->about, byte,
                         text.n, shown);
    e->source_id = record->source ? record->source->id : 0;
    e->row = record->row;
    e->token = token >= 0 ? token : NONE;
}

void prompts_show(struct check_ctx *ctx, const struct prompt_pair *pair)
{
    const struct prompt_comparison *c = &pair->comparison;

    show_side(ctx, &pair->train, "training", c->train_byte, c->train_token);
    show_side(ctx, &pair->serve, "serving", c->serve_byte, c->serve_token);
}
