/* core/facts/serving: what each engine's records say of the serving side, joined. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/facts/serving.h"
#include "tests/harness/gguf_bytes.h"
#include "tests/harness/imported_run.h"

static int set_up(void **state)
{
    *state = imported_run_new();
    return 0;
}

static int tear_down(void **state)
{
    imported_run_free(*state);
    return 0;
}

static void put(struct imported_run *run, const char *name, const char *text)
{
    tempdir_write_text(run->folder, name, text);
}

static const struct serving *read_serving(struct imported_run *run)
{
    put(run, "trainer_state.json", "{\"log_history\": [{\"loss\": 1.5, \"step\": 1}]}");
    imported_run_read(run);
    const struct serving *s = facts_serving(run->facts);

    assert_non_null(s);
    assert_ptr_equal(s, facts_serving(run->facts));
    return s;
}

static void write_gguf(struct imported_run *run, const char *name, const char *chat_template)
{
    static const char *const tokens[] = {"a", "<|im_end|>", "<s>"};
    static const int32_t types[] = {1, 3, 3};
    struct gguf_bytes g;
    struct buf file;

    gguf_bytes_init(&g);
    buf_init(&file, 1 << 20);
    gguf_put_text(&g, "general.architecture", "qwen2");
    gguf_put_u32(&g, "qwen2.context_length", 32768);
    gguf_put_text(&g, "tokenizer.ggml.model", "gpt2");
    gguf_put_texts(&g, "tokenizer.ggml.tokens", tokens, 3);
    gguf_put_ints(&g, "tokenizer.ggml.token_type", types, 3);
    gguf_put_u32(&g, "tokenizer.ggml.eos_token_id", 1);
    if (chat_template)
        gguf_put_text(&g, "tokenizer.chat_template", chat_template);
    gguf_put_tensor(&g, "token_embd.weight", 0, 8, 3, 96);
    gguf_bytes_write(&g, &file);
    tempdir_write(run->folder, name, file.p, file.n);
    buf_free(&file);
    gguf_bytes_free(&g);
}

static void nothing_is_known_without_a_record(void **state)
{
    const struct serving *s = read_serving(*state);

    assert_int_equal(s->engine, SERVING_NONE);
    assert_null(s->source);
    assert_null(s->model);
    assert_int_equal(s->n_adapters, 0);
    assert_int_equal(s->allows_adapters, -1);
    assert_int_equal(s->context, NONE);
    assert_null(s->truncates);
}

static void vllm_with_modules_and_a_request_for_the_base(void **state)
{
    struct imported_run *run = *state;

    put(run, "serve.sh",
        "vllm serve org/base --enable-lora --max-lora-rank 32 --max-model-len 4096 "
        "--served-model-name chat --lora-modules support=/srv/support sql=/srv/sql\n");
    put(run, "request.json",
        "{\"model\": \"chat\", \"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], "
        "\"max_tokens\": 10, \"stop\": [\"###\"]}");
    const struct serving *s = read_serving(run);
    assert_int_equal(s->engine, SERVING_VLLM);
    assert_string_equal(s->model->value, "org/base");
    assert_int_equal(s->n_adapters, 2);
    assert_string_equal(s->adapters[0].name, "support");
    assert_string_equal(s->adapters[1].path, "/srv/sql");
    assert_true(isnan(s->adapters[0].scale));
    assert_true(s->adapters[0].is_applied);
    assert_int_equal(s->allows_adapters, 1);
    assert_int_equal(s->max_lora_rank, 32);
    assert_int_equal(s->context, 4096);
    assert_string_equal(s->truncates, "refuses");
    assert_int_equal(s->n_names, 1);
    assert_string_equal(s->names[0], "chat");
    assert_string_equal(s->requested->value, "chat");
    assert_false(s->request_asks_adapter);
    assert_int_equal(s->n_stops, 1);
    assert_string_equal(s->stops[0], "###");
}

static void a_request_by_the_modules_name_asks_for_the_adapter(void **state)
{
    struct imported_run *run = *state;

    put(run, "serve.sh", "vllm serve org/base --enable-lora --lora-modules support=/srv/support\n");
    put(run, "request.json",
        "{\"model\": \"support\", \"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], "
        "\"max_tokens\": 10}");
    assert_true(read_serving(run)->request_asks_adapter);
}

static void vllm_without_the_switch_takes_no_adapter(void **state)
{
    struct imported_run *run = *state;

    put(run, "serve.sh", "vllm serve org/base --max-model-len 4096\n");
    const struct serving *s = read_serving(run);
    assert_int_equal(s->allows_adapters, 0);
    assert_int_equal(s->n_adapters, 0);
}

static void what_the_log_says_beats_the_command_line(void **state)
{
    struct imported_run *run = *state;

    put(run, "serve.sh", "vllm serve org/base --max-model-len 4096\n");
    put(run, "server.log",
        "INFO 05-01 12:00:00 [api_server.py:1] vLLM API server version 0.9.1\n"
        "INFO 05-01 12:00:00 [cli_args.py:309] non-default args: {'model': 'org/other', "
        "'max_model_len': 2048, 'enable_lora': True, 'lora_modules': [LoRAModulePath(name='a', "
        "path='/srv/a', base_model_name=None)]}\n");
    const struct serving *s = read_serving(run);
    assert_string_equal(s->model->value, "org/other");
    assert_int_equal(s->context, 2048);
    assert_int_equal(s->n_adapters, 1);
    assert_string_equal(s->adapters[0].path, "/srv/a");
}

static void sglang_picks_the_adapter_behind_a_colon(void **state)
{
    struct imported_run *run = *state;

    put(run, "launch.sh",
        "python -m sglang.launch_server --model-path org/base --context-length 8192 "
        "--lora-paths support=/srv/support --allow-auto-truncate\n");
    put(run, "request.json",
        "{\"model\": \"org/base:support\", \"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], "
        "\"max_tokens\": 10}");
    const struct serving *s = read_serving(run);
    assert_int_equal(s->engine, SERVING_SGLANG);
    assert_int_equal(s->allows_adapters, 1);
    assert_true(s->request_asks_adapter);
    assert_int_equal(s->context, 8192);
    assert_string_equal(s->truncates, "right");
}

static void tgi_by_its_environment(void **state)
{
    struct imported_run *run = *state;

    put(run, "docker-compose.yml",
        "services:\n  llm:\n    image: ghcr.io/huggingface/text-generation-inference:3.0\n"
        "    environment:\n      MODEL_ID: org/base\n      MAX_TOTAL_TOKENS: 4096\n"
        "      LORA_ADAPTERS: support=/data/support\n");
    const struct serving *s = read_serving(run);
    assert_int_equal(s->engine, SERVING_TGI);
    assert_string_equal(s->model->value, "org/base");
    assert_int_equal(s->context, 4096);
    assert_int_equal(s->n_adapters, 1);
    assert_string_equal(s->truncates, "refuses");
}

static void llama_cpp_with_a_gguf_and_loaded_adapters(void **state)
{
    struct imported_run *run = *state;

    write_gguf(run, "models/bot.gguf", "{{ messages }}");
    put(run, "server.sh",
        "llama-server -m models/bot.gguf -c 0 --lora-scaled tone.gguf:0.5 --lora-init-without-apply "
        "--no-context-shift\n");
    const struct serving *s = read_serving(run);
    assert_int_equal(s->engine, SERVING_LLAMA_CPP);
    assert_true(s->has_gguf);
    assert_non_null(s->artefact);
    assert_string_equal(s->artefact->kind, "gguf");
    assert_int_equal(s->n_adapters, 1);
    assert_true(s->adapters[0].scale == 0.5);
    assert_false(s->adapters[0].is_applied);
    assert_int_equal(s->context, 32768);        /* 0: the model's */
    assert_string_equal(s->truncates, "refuses");
    assert_int_equal(s->n_stop_ids, 1);
    assert_int_equal(s->stop_ids[0], 1);
}

static void a_modelfile_names_adapter_window_and_stops(void **state)
{
    struct imported_run *run = *state;

    put(run, "Modelfile",
        "FROM ./bot.gguf\nADAPTER ./lora.gguf\nPARAMETER num_ctx 2048\n"
        "PARAMETER stop \"<|im_end|>\"\nPARAMETER stop \"User:\"\nSYSTEM You help.\n");
    const struct serving *s = read_serving(run);
    assert_int_equal(s->engine, SERVING_OLLAMA);
    assert_true(s->has_gguf);
    assert_string_equal(s->model->value, "./bot.gguf");
    assert_int_equal(s->n_adapters, 1);
    assert_string_equal(s->adapters[0].path, "./lora.gguf");
    assert_int_equal(s->context, 2048);
    assert_string_equal(s->truncates, "oldest messages");
    assert_int_equal(s->n_stops, 2);
    assert_string_equal(s->stops[1], "User:");
    assert_int_equal(s->allows_adapters, 1);
}

static void ollamas_log_tells_the_window_of_a_conversation(void **state)
{
    struct imported_run *run = *state;

    put(run, "ollama.log",
        "time=2025 level=INFO source=server.go:405 msg=\"starting llama server\" cmd=\"/bin/ollama "
        "runner --model /m/blobs/sha256-"
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef --ctx-size 8192 "
        "--parallel 4\"\n");
    const struct serving *s = read_serving(run);
    assert_int_equal(s->engine, SERVING_OLLAMA);
    assert_int_equal(s->context, 2048);
    assert_string_equal(facts_setting_on(run->facts, SIDE_SERVE, "sha256")->value,
                        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
}

static void a_record_of_no_engine_is_other(void **state)
{
    struct imported_run *run = *state;

    put(run, "serve.json",
        "{\"model\": \"org/base\", \"adapter\": \"out/adapter\", \"max_model_len\": 8192, "
        "\"truncation_side\": \"left\"}");
    const struct serving *s = read_serving(run);
    assert_int_equal(s->engine, SERVING_OTHER);
    assert_int_equal(s->n_adapters, 1);
    assert_string_equal(s->adapters[0].path, "out/adapter");
    assert_null(s->adapters[0].name);
    assert_int_equal(s->context, 8192);
    assert_string_equal(s->truncates, "left");
    assert_int_equal(s->allows_adapters, -1);
}

static void an_adapter_that_is_null_is_none(void **state)
{
    struct imported_run *run = *state;

    put(run, "serve.json", "{\"model\": \"org/base\", \"adapter\": null}");
    assert_int_equal(read_serving(run)->n_adapters, 0);
}

static void a_gguf_alone_is_what_is_served(void **state)
{
    struct imported_run *run = *state;

    write_gguf(run, "bot.gguf", NULL);
    const struct serving *s = read_serving(run);
    assert_int_equal(s->engine, SERVING_OTHER);
    assert_true(s->has_gguf);
    assert_int_equal(s->context, NONE);         /* what the model was made for is no window */
}

static void adapters_are_found_among_the_imported_files(void **state)
{
    struct imported_run *run = *state;

    put(run, "adapter/adapter_config.json", "{\"peft_type\": \"LORA\", \"r\": 8}");
    put(run, "adapter/adapter_keys.txt", "base_model.model.q_proj.lora_A.weight\n");
    put(run, "serve.sh", "vllm serve org/base --enable-lora --lora-modules support=./adapter\n");
    const struct serving *s = read_serving(run);
    assert_int_equal(s->n_adapters, 1);
    assert_non_null(s->adapters[0].artefact);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_known_without_a_record),
        TEST(vllm_with_modules_and_a_request_for_the_base),
        TEST(a_request_by_the_modules_name_asks_for_the_adapter),
        TEST(vllm_without_the_switch_takes_no_adapter),
        TEST(what_the_log_says_beats_the_command_line),
        TEST(sglang_picks_the_adapter_behind_a_colon),
        TEST(tgi_by_its_environment),
        TEST(llama_cpp_with_a_gguf_and_loaded_adapters),
        TEST(a_modelfile_names_adapter_window_and_stops),
        TEST(ollamas_log_tells_the_window_of_a_conversation),
        TEST(a_record_of_no_engine_is_other),
        TEST(an_adapter_that_is_null_is_none),
        TEST(a_gguf_alone_is_what_is_served),
        TEST(adapters_are_found_among_the_imported_files),
    };

    return cmocka_run_group_tests_name("serving", tests, NULL, NULL);
}
