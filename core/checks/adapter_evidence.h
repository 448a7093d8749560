/* What the checks of stage 1 say in common: lists of keys in log lines, adapters as evidence. */
#ifndef CORE_CHECKS_ADAPTER_EVIDENCE_H
#define CORE_CHECKS_ADAPTER_EVIDENCE_H

#include "core/checks/check.h"

/* A list of parameter names as a loader prints it: "['a.weight', 'b.weight']", with or without quotes. */
struct key_list {
    size_t n, n_lora_a, n_lora_b;
    size_t n_heads;             /* of a head that a new task brings (score, classifier, lm_head, pooler …) */
    size_t n_buffers;           /* masks, positions, rotary tables: computed, not trained */
    int64_t last_layer;         /* the highest layer number, or NONE */
    bool is_cut;                /* the line was longer than what is kept of it */
    const char *first;          /* the first that is neither a head nor a buffer, or NULL */
};
void key_list_read(const char *text, struct arena *arena, struct key_list *out);
/* One name alone. */
bool key_is_head(const char *key);
bool key_is_buffer(const char *key);

/* The exception of the loader that lists this line among what does not fit, as evidence: it ended the log. */
void evidence_of_loading(struct check_ctx *ctx, const struct event *event);

/* The adapter that is judged: the served one when there is one, else the one that was trained; a file,
 * not a list of names. NULL: none was imported. */
const struct artefact *adapter_of_run(const struct run_facts *facts);
/* "run/adapter_model.safetensors" below the project. */
const char *artefact_shown(const struct run_facts *facts, const struct artefact *artefact);

#endif
