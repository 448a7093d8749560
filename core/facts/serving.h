/* How the model is served, read from whatever says so: a server's command line or config (vLLM,
 * SGLang, TGI, llama.cpp), an Ollama Modelfile, a GGUF file, serve.json or deploy.json, captured
 * requests, a server's log (FORMATS.md B21–B23). Readings, no verdicts.
 *
 * The importers of importers/serving/ state settings on SIDE_SERVE under the canonical names below;
 * this module joins them. Where several records say something, the order is: what a request asks
 * for, what the server's own log says it uses, its command line, its config file, serve.json or
 * deploy.json, what the served files themselves hold (GGUF, generation_config.json).
 *
 *   engine               "vllm" "sglang" "tgi" "llama.cpp" "ollama" "openai"
 *   model                path or hub id that is served      served_model_name   list of names
 *   adapter              list of {"name","path","scale","applied"} as compact JSON
 *   enable_lora, max_lora_rank, lora_target_modules         adapter switches
 *   chat_template        Jinja text, file, or a built-in name
 *   go_template          text of an Ollama TEMPLATE          system       its SYSTEM
 *   example_messages     MESSAGE turns, a JSON array
 *   max_model_len, max_tokens, truncation_side, padding_side
 *   stop                 list of texts                       eos_token_id, bos_token_id
 *   add_bos_token        of the runner (GGUF, --override-kv)
 *   quantization, dtype, revision, artefact, sha256, step
 *   other_servers        how many more the same file starts, that were not read
 */
#ifndef CORE_FACTS_SERVING_H
#define CORE_FACTS_SERVING_H

#include "core/facts/run_facts.h"

enum serving_engine {
    SERVING_NONE,               /* nothing says how it is served */
    SERVING_OTHER,              /* a record without an engine: serve.json, a request */
    SERVING_VLLM,
    SERVING_SGLANG,
    SERVING_TGI,
    SERVING_LLAMA_CPP,
    SERVING_OLLAMA
};
const char *serving_engine_name(enum serving_engine engine);

struct served_adapter {
    const char *name, *path;            /* as stated; NULL: not stated */
    double scale;                       /* NaN: not stated */
    bool is_applied;                    /* false: loaded only (llama.cpp's --lora-init-without-apply) */
    const struct artefact *artefact;    /* the imported files at that path, or NULL */
    const struct setting *setting;      /* what states it */
};

struct serving {
    enum serving_engine engine;
    const struct source *source;        /* the record that leads, or NULL */
    const struct setting *model;        /* NULL: not stated */
    const struct artefact *artefact;    /* the served weights where they were imported, or NULL */
    const struct served_adapter *adapters; size_t n_adapters;
    int allows_adapters;                /* 1 enable_lora, 0 off or impossible, -1 not known */
    int64_t max_lora_rank;              /* NONE: not stated (vLLM's default is 16) */
    const struct setting *lora_targets; /* a limit on target modules, or NULL */
    const char *const *names; size_t n_names;   /* served_model_name */
    const struct setting *requested;    /* `model` of the captured request, or NULL */
    bool request_asks_adapter;          /* it names one of the adapters */
    int64_t context;                    /* tokens; NONE */
    const struct setting *context_setting;
    const char *truncates;              /* "oldest messages", "left", "right", "refuses"; NULL unknown */
    const char *const *stops; size_t n_stops;   /* texts at which it stops besides EOS */
    const int64_t *stop_ids; size_t n_stop_ids;
    bool has_gguf;                      /* the served weights are a GGUF file */
};

/* Made once for the facts; never NULL unless memory ran out (run_facts_status). */
const struct serving *facts_serving(const struct run_facts *facts);

#endif
