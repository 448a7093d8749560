/* Options of inference servers. See server_options.h.
 *
 * To teach an option: add its line. Switches have to be listed, since an unknown option takes the next
 * word for its value. Forms are those of vLLM 0.4–0.11, SGLang 0.4–0.5, TGI 1–3, llama.cpp and
 * llama-cpp-python. */
#include "importers/serving/server_options.h"

#include <ctype.h>
#include <string.h>

#define V   SERVER_VLLM
#define S   SERVER_SGLANG
#define T   SERVER_TGI
#define L   SERVER_LLAMA_CPP
#define ALL (V | S | T | L)

static const struct server_option OPTIONS[] = {
    /* What is served */
    {V | L, "model m", "model", OPTION_VALUE},
    {S, "model-path model", "model_path", OPTION_VALUE},
    {T, "model-id", "model_id", OPTION_VALUE},
    {L, "hf-repo hfr hf", "hf_repo", OPTION_VALUE},
    {L, "hf-file hff", "hf_file", OPTION_VALUE},
    {L, "model-url mu", "model_url", OPTION_VALUE},
    {V, "served-model-name", "served_model_name", OPTION_LIST},
    {S | T, "served-model-name", "served_model_name", OPTION_VALUE},
    {L, "alias a model-alias", "alias", OPTION_VALUE},
    {V, "tokenizer", "tokenizer", OPTION_VALUE},
    {S, "tokenizer-path", "tokenizer_path", OPTION_VALUE},
    {T, "tokenizer-config-path", "tokenizer_config_path", OPTION_VALUE},
    {V | S | T, "revision", "revision", OPTION_VALUE},
    {V | S | T, "dtype", "dtype", OPTION_VALUE},
    {V | S, "quantization q", "quantization", OPTION_VALUE},
    {T, "quantize", "quantize", OPTION_VALUE},
    {V | S, "load-format", "load_format", OPTION_VALUE},
    {V | S, "config", "config", OPTION_VALUE},
    /* Adapters */
    {V, "lora-modules", "lora_modules", OPTION_ADAPTERS},
    {S, "lora-paths", "lora_paths", OPTION_ADAPTERS},
    {T, "lora-adapters", "lora_adapters", OPTION_ADAPTERS},
    {L, "lora lora-path", "lora", OPTION_ADAPTERS},
    {L, "lora-scaled", "lora_scaled", OPTION_SCALED},
    {L, "lora-init-without-apply", "lora_init_without_apply", OPTION_SWITCH},
    {V | S, "enable-lora", "enable_lora", OPTION_SWITCH},
    {V | S, "no-enable-lora", "enable_lora", OPTION_OFF},
    {V | S, "max-lora-rank", "max_lora_rank", OPTION_VALUE},
    {V | S, "lora-target-modules", "lora_target_modules", OPTION_LIST},
    {V, "max-loras", "max_loras", OPTION_VALUE},
    {S, "max-loras-per-batch", "max_loras", OPTION_VALUE},
    {V, "fully-sharded-loras", "fully_sharded_loras", OPTION_SWITCH},
    /* Prompt */
    {V | S | L, "chat-template", "chat_template", OPTION_VALUE},
    {L, "chat-template-file", "chat_template_file", OPTION_VALUE},
    {L, "chat-format", "chat_format", OPTION_VALUE},
    {L, "chat-template-kwargs", "chat_template_kwargs", OPTION_VALUE},
    {V, "default-chat-template-kwargs", "chat_template_kwargs", OPTION_VALUE},
    {V, "chat-template-content-format", "chat_template_content_format", OPTION_VALUE},
    {V, "response-role", "response_role", OPTION_VALUE},
    {L, "jinja", "jinja", OPTION_SWITCH},
    {L, "no-jinja", "jinja", OPTION_OFF},
    {L, "system-prompt sys", "system", OPTION_VALUE},
    {L, "override-kv", "override_kv", OPTION_OVERRIDE},
    /* Lengths */
    {V, "max-model-len", "max_model_len", OPTION_LENGTH},
    {S, "context-length", "context_length", OPTION_LENGTH},
    {T, "max-total-tokens", "max_total_tokens", OPTION_LENGTH},
    {T, "max-input-tokens max-input-length", "max_input_tokens", OPTION_LENGTH},
    {L, "ctx-size c n-ctx", "ctx_size", OPTION_LENGTH},
    {L, "predict n n-predict", "n_predict", OPTION_VALUE},
    {L, "parallel np", "parallel", OPTION_VALUE},
    {L, "keep", "keep", OPTION_VALUE},
    {L, "context-shift", "context_shift", OPTION_SWITCH},
    {L, "no-context-shift", "context_shift", OPTION_OFF},
    {S, "allow-auto-truncate", "allow_auto_truncate", OPTION_SWITCH},
    /* Generation */
    {V, "generation-config", "generation_config", OPTION_VALUE},
    {V, "override-generation-config", "override_generation_config", OPTION_VALUE},
    {S, "sampling-defaults", "sampling_defaults", OPTION_VALUE},
    {V | L, "seed s", "seed", OPTION_VALUE},
    {S, "random-seed", "seed", OPTION_VALUE},
    /* Switches, so that they take no value */
    {V | S | T, "trust-remote-code", "trust_remote_code", OPTION_SWITCH},
    {V | S, "skip-tokenizer-init", "skip_tokenizer_init", OPTION_SWITCH},
    {V, "enforce-eager", "enforce_eager", OPTION_SWITCH},
    {V, "enable-prefix-caching", "enable_prefix_caching", OPTION_SWITCH},
    {V, "no-enable-prefix-caching", "enable_prefix_caching", OPTION_OFF},
    {V, "enable-chunked-prefill", "enable_chunked_prefill", OPTION_SWITCH},
    {V, "enable-auto-tool-choice", "enable_auto_tool_choice", OPTION_SWITCH},
    {V, "enable-reasoning", "enable_reasoning", OPTION_SWITCH},
    {V, "enable-expert-parallel", "enable_expert_parallel", OPTION_SWITCH},
    {V, "disable-log-requests", "disable_log_requests", OPTION_SWITCH},
    {V, "disable-log-stats", "disable_log_stats", OPTION_SWITCH},
    {V, "disable-frontend-multiprocessing", "disable_frontend_multiprocessing", OPTION_SWITCH},
    {V, "disable-sliding-window", "disable_sliding_window", OPTION_SWITCH},
    {S, "enable-torch-compile", "enable_torch_compile", OPTION_SWITCH},
    {S, "enable-metrics", "enable_metrics", OPTION_SWITCH},
    {S, "enable-p2p-check", "enable_p2p_check", OPTION_SWITCH},
    {S, "enable-dp-attention", "enable_dp_attention", OPTION_SWITCH},
    {S, "enable-mixed-chunk", "enable_mixed_chunk", OPTION_SWITCH},
    {S, "disable-radix-cache", "disable_radix_cache", OPTION_SWITCH},
    {S, "disable-cuda-graph", "disable_cuda_graph", OPTION_SWITCH},
    {S, "disable-overlap-schedule", "disable_overlap_schedule", OPTION_SWITCH},
    {S, "is-embedding", "is_embedding", OPTION_SWITCH},
    {S, "log-requests", "log_requests", OPTION_SWITCH},
    {T, "disable-custom-kernels", "disable_custom_kernels", OPTION_SWITCH},
    {T, "disable-grammar-support", "disable_grammar_support", OPTION_SWITCH},
    {T, "json-output", "json_output", OPTION_SWITCH},
    {L, "cont-batching cb", "cont_batching", OPTION_SWITCH},
    {L, "no-cont-batching nocb", "cont_batching", OPTION_OFF},
    {L, "mlock", "mlock", OPTION_SWITCH},
    {L, "no-mmap", "mmap", OPTION_OFF},
    {L, "no-kv-offload nkvo", "kv_offload", OPTION_OFF},
    {L, "no-webui", "webui", OPTION_OFF},
    {L, "no-warmup", "warmup", OPTION_OFF},
    {L, "no-perf", "perf", OPTION_OFF},
    {L, "metrics", "metrics", OPTION_SWITCH},
    {L, "props", "props", OPTION_SWITCH},
    {L, "slots", "slots", OPTION_SWITCH},
    {L, "embedding embeddings", "embedding", OPTION_SWITCH},
    {L, "reranking rerank", "reranking", OPTION_SWITCH},
    {L, "verbose v log-verbose", "verbose", OPTION_SWITCH},
    {L, "conversation cnv", "conversation", OPTION_SWITCH},
    {L, "no-conversation no-cnv", "conversation", OPTION_OFF},
    {L, "interactive i", "interactive", OPTION_SWITCH},
    {L, "interactive-first if", "interactive_first", OPTION_SWITCH},
    {L, "color co", "color", OPTION_SWITCH},
    {L, "escape e", "escape", OPTION_SWITCH},
    {L, "ignore-eos", "ignore_eos", OPTION_SWITCH},
    {L, "swa-full", "swa_full", OPTION_SWITCH},
    {L, "single-turn st", "single_turn", OPTION_SWITCH},
};

const char *server_engine(enum server server)
{
    switch (server) {
    case SERVER_VLLM:
        return "vllm";
    case SERVER_SGLANG:
        return "sglang";
    case SERVER_TGI:
        return "tgi";
    case SERVER_LLAMA_CPP:
        return "llama.cpp";
    case SERVER_OLLAMA:
        return "ollama";
    case SERVER_NONE:
        break;
    }
    return NULL;
}

static char dashed(char c)
{
    return c == '_' ? '-' : c;
}

/* '_' for '-', case aside where it is a variable's name. */
static bool is_word(struct str a, struct str b, bool ignores_case)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        char x = dashed(a.p[i]), y = dashed(b.p[i]);

        if (ignores_case) {
            x = (char)tolower((unsigned char)x);
            y = (char)tolower((unsigned char)y);
        }
        if (x != y)
            return false;
    }
    return true;
}

static const struct server_option *find(enum server server, struct str word, bool is_variable)
{
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++) {
        struct str rest = str_of(OPTIONS[i].words), form;

        if (!(OPTIONS[i].servers & server))
            continue;
        while (str_split(&rest, ' ', &form))
            if (is_word(form, word, is_variable) && (!is_variable || form.n > 2))
                return &OPTIONS[i];
    }
    return NULL;
}

const struct server_option *server_option_find(enum server server, struct str word)
{
    return find(server, word, false);
}

const struct server_option *server_option_of_variable(enum server server, struct str variable)
{
    static const char LLAMA[] = "LLAMA_ARG_";

    if (server == SERVER_LLAMA_CPP) {
        if (!str_starts(variable, LLAMA))
            return NULL;
        variable = str_skip(variable, sizeof LLAMA - 1);
    } else if (server != SERVER_TGI) {
        return NULL;
    }
    for (size_t i = 0; i < variable.n; i++)
        if (islower((unsigned char)variable.p[i]))
            return NULL;
    return find(server, variable, true);
}
