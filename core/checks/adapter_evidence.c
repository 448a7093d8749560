/* Lists of keys, adapters as evidence. See adapter_evidence.h. */
#include "core/checks/adapter_evidence.h"

#include <ctype.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/lineage.h"
#include "core/facts/trainable.h"

#define KEPT_BYTES 1990 /* of a line: an event's text is cut at 2,000 */

static bool has_part(const char *key, const char *const *parts)
{
    for (; *parts; parts++) {
        size_t n = strlen(*parts);

        for (const char *at = key; (at = strstr(at, *parts)); at++)
            if ((at == key || at[-1] == '.') && (at[n] == '.' || at[n] == '\0'))
                return true;
    }
    return false;
}

bool key_is_head(const char *key)
{
    static const char *const PARTS[] = {
        "score",        "classifier",      "qa_outputs", "lm_head",  "cls",        "pooler",
        "v_head",       "value_head",      "summary",    "seq_relationship",       "pre_classifier",
        "classification_head", "regression_head", "reward_head", "embed_out",  "logits_proj",
        "sequence_summary",    "output_layer",    "head",        NULL};

    return has_part(key, PARTS);
}

bool key_is_buffer(const char *key)
{
    static const char *const PARTS[] = {"position_ids", "masked_bias",    "inv_freq", "token_type_ids",
                                        "rotary_emb",   "relative_position_index",    "num_batches_tracked",
                                        "attn.bias",    "attention.bias", NULL};

    return has_part(key, PARTS);
}

static int64_t layer_in(const char *key)
{
    for (const char *at = key; (at = strchr(at, '.')); at++) {
        size_t n = strspn(at + 1, "0123456789");
        int64_t layer;

        if (n && at[1 + n] == '.' && number_parse_int(str_from(at + 1, n), &layer))
            return layer;
    }
    return NONE;
}

static void take(const char *key, struct key_list *out)
{
    bool is_lora_a = strstr(key, "lora_A") || strstr(key, "lora_embedding_A");
    bool is_lora_b = strstr(key, "lora_B") || strstr(key, "lora_embedding_B");
    int64_t layer = layer_in(key);

    out->n++;
    out->n_lora_a += is_lora_a;
    out->n_lora_b += is_lora_b;
    out->n_heads += key_is_head(key);
    out->n_buffers += key_is_buffer(key);
    if (layer > out->last_layer)
        out->last_layer = layer;
    if (!out->first && !key_is_head(key) && !key_is_buffer(key))
        out->first = key;
}

static bool is_name(unsigned char c)
{
    return isalnum(c) || strchr("._-{}", c);
}

void key_list_read(const char *text, struct arena *arena, struct key_list *out)
{
    size_t n = strlen(text);

    *out = (struct key_list){.last_layer = NONE, .is_cut = n >= KEPT_BYTES};
    for (size_t i = 0; i < n;) {
        size_t from = i;

        while (i < n && text[i] && is_name((unsigned char)text[i]))
            i++;
        if (i > from && memchr(text + from, '.', i - from) && !(out->is_cut && i == n))
            take(arena_strndup(arena, text + from, i - from), out);
        i += i == from;
    }
}

void evidence_of_loading(struct check_ctx *ctx, const struct event *event)
{
    const struct event *raised = NULL, *last = NULL;

    while ((raised = facts_event(ctx->facts, "exception", raised)))
        if (raised->source_id == event->source_id && raised->line <= event->line && raised->text &&
            strstr(raised->text, "state_dict"))
            last = raised;
    if (last)
        evidence_event(ctx, last);
}

const struct artefact *adapter_of_run(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *a = &facts->artefacts[i];

        if (strcmp(a->kind, "adapter") == 0 && a->role && strcmp(a->role, "served") == 0 &&
            artefact_is_weights(a))
            return a;
    }
    return trained_adapter(facts);
}

const char *artefact_shown(const struct run_facts *facts, const struct artefact *artefact)
{
    const char *const roots[] = {facts->run.project, facts->run.folder};
    const char *path = artefact && artefact->path ? artefact->path : "";

    for (size_t i = 0; i < 2; i++) {
        size_t n = roots[i] ? strlen(roots[i]) : 0;

        if (n && strncmp(path, roots[i], n) == 0 && path[n] == '/')
            return path + n + 1;
    }
    return path;
}
