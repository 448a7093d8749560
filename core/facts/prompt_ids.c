/* The ids of both prompts, by the tokenizer of each side: the run's own for training, the served folder's
 * for serving where it brings one. Without a tokenizer the pair has bytes alone. */
#include <string.h>

#include "core/facts/audit_parts.h"
#include "core/facts/facts_cache.h"
#include "core/facts/prompt_pair_parts.h"
#include "core/facts/serving.h"
#include "core/read/request.h"
#include "core/store/store.h"

#define TEXT_BYTES ((size_t)1 << 20) /* of a longer prompt no ids are made */

static void keep(const struct prompt_maker *maker, const struct tokens *tokens,
                 struct prompt_side *side)
{
    uint32_t *all = arena_array(maker->arena, 3 * tokens->n + 1, sizeof *all);
    size_t bytes = tokens->n * sizeof *all;

    if (!all || tokens->n == 0)
        return;
    memcpy(all, tokens->ids, bytes);
    memcpy(all + tokens->n, tokens->begin, bytes);
    memcpy(all + 2 * tokens->n, tokens->end, bytes);
    side->ids = all;
    side->begin = all + tokens->n;
    side->end = all + 2 * tokens->n;
    side->n_ids = tokens->n;
}

/* Rendered texts hold their special tokens, so none are added; a server adds them to a prompt that is
 * sent as text. */
static void encode(const struct prompt_maker *maker, const struct tokenizer *tokenizer,
                   bool adds_special, struct prompt_side *side)
{
    struct tokenizer_scratch *scratch = NULL;
    struct tokens tokens = {0};
    struct error ignored = {0};

    if (!tokenizer || side->n_ids || side->text.n == 0 || side->text.n > TEXT_BYTES)
        return;
    if (tokenizer_scratch_open(&scratch, &ignored) == OK &&
        tokenizer_encode(tokenizer, scratch, side->text, adds_special, &tokens, &ignored) == OK)
        keep(maker, &tokens, side);
    tokens_free(&tokens);
    tokenizer_scratch_close(scratch);
}

static bool is_folder_of(const char *folder, const char *tokenizer_path)
{
    size_t n = strlen(folder);

    return tokenizer_path && strncmp(tokenizer_path, folder, n) == 0 &&
           (tokenizer_path[n] == '\0' || (tokenizer_path[n] == '/' && !strchr(tokenizer_path + n + 1, '/')));
}

/* A completion request to a server that uses the Hugging Face tokenizer: add_special_tokens is true
 * unless the body says otherwise. */
static bool server_adds_special(const struct prompt_maker *maker)
{
    const struct serving *serving = facts_serving(maker->facts);
    bool is_hf = serving && (serving->engine == SERVING_VLLM || serving->engine == SERVING_SGLANG ||
                             serving->engine == SERVING_TGI);
    const struct json *said = json_get(maker->request, "add_special_tokens");

    return is_hf && maker->request && request_prompt_of(maker->request) &&
           maker->pair->serve.source == maker->request_source && !json_is(said, JSON_FALSE);
}

void prompt_tokenise(struct prompt_maker *maker, const struct template_place *serve)
{
    struct prompt_pair *pair = maker->pair;
    struct mask_policy policy = {0};
    struct audit_engine engine = {0};
    struct tokenizer *own = NULL;
    struct error ignored = {0};
    const struct store *store = maker->facts->cache->store;

    if (pair->train.origin == PROMPT_ABSENT || pair->serve.origin == PROMPT_ABSENT)
        return;
    mask_policy_choose(maker->facts, maker->arena, &policy);
    policy.template_path = NULL;
    bool has_engine = audit_engine_open(&engine, maker->facts, &policy,
                                        store ? store_cache_path(store) : NULL, &ignored) == OK;
    if (serve->folder && !is_folder_of(serve->folder, policy.tokenizer_path) &&
        tokenizer_load(&own, serve->folder, NULL, &ignored) != OK)
        own = NULL;
    if (has_engine)
        encode(maker, engine.tokenizer, false, &pair->train.side);
    if (own || has_engine)
        encode(maker, own ? own : engine.tokenizer, server_adds_special(maker), &pair->serve.side);
    tokenizer_close(own);
    if (has_engine)
        audit_engine_close(&engine);
}
