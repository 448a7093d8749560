/* The serving prompt of a run by engine: what vLLM, SGLang, TGI, llama.cpp and Ollama render, and what is
 * said where that cannot be known. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/checks/registry.h"
#include "core/checks/runner.h"
#include "core/facts/prompt_pair.h"
#include "tests/harness/imported_run.h"
#include "tests/harness/served_files.h"

#define CHATML                                                                                     \
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + " \
    "'\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
#define VICUNA                                                                                     \
    "{% for m in messages %}{% if m['role'] == 'user' %}USER: {{ m['content'] }} {% else %}"        \
    "ASSISTANT: {{ m['content'] }}</s>{% endif %}{% endfor %}"                                      \
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
#define GO_CHATML                                                                                  \
    "FROM ./bot.gguf\nTEMPLATE \"\"\"{{ if .System }}<|im_start|>system\n{{ .System }}<|im_end|>\n" \
    "{{ end }}{{ if .Prompt }}<|im_start|>user\n{{ .Prompt }}<|im_end|>\n{{ end }}"                 \
    "<|im_start|>assistant\n{{ .Response }}<|im_end|>\n\"\"\"\n"
#define ROW                                                                                        \
    "{\"messages\": [{\"role\": \"user\", \"content\": \"Where?\"}, "                               \
    "{\"role\": \"assistant\", \"content\": \"Here.\"}]}\n"

static void put(struct imported_run *run, const char *name, const char *text)
{
    tempdir_write_text(run->folder, name, text);
}

/* A run that trains ChatML rows. */
static int set_up(void **state)
{
    struct imported_run *run = imported_run_new();

    put(run, "trainer_state.json", "{\"log_history\": [{\"loss\": 1.5, \"step\": 1}]}");
    put(run, "train.jsonl", ROW ROW ROW);
    put(run, "chat_template.jinja", CHATML);
    *state = run;
    return 0;
}

static int tear_down(void **state)
{
    imported_run_free(*state);
    return 0;
}

static const struct prompt_pair *read_pair(struct imported_run *run)
{
    imported_run_read(run);
    const struct prompt_pair *pair = facts_prompt_pair(run->facts);

    assert_non_null(pair);
    return pair;
}

static void expect_text(const struct prompt_record *record, const char *text)
{
    if (record->failure)
        fail_msg("%s", record->failure);
    if (!record->side.text.p)
        fail_msg("no prompt: %s", record->missing);
    char *got = strndup(record->side.text.p, record->side.text.n);
    assert_string_equal(got, text);
    free(got);
}

static void expect_missing(const struct prompt_pair *pair, const char *part)
{
    assert_int_equal(pair->serve.origin, PROMPT_ABSENT);
    assert_non_null(pair->serve.missing);
    if (!strstr(pair->serve.missing, part))
        fail_msg("missing is: %s", pair->serve.missing);
}

#define SERVED_CHATML "<|im_start|>user\nWhere?<|im_end|>\n<|im_start|>assistant\n"

/* ---- GGUF and llama.cpp ---- */

static const struct served_gguf CHATML_GGUF = {.chat_template = CHATML, .eos = "<|im_end|>",
                                               .adds_bos = -1};
static const struct served_gguf VICUNA_GGUF = {.chat_template = VICUNA, .adds_bos = -1};
static const struct served_gguf BARE_GGUF = {.adds_bos = -1};

static void the_template_of_a_gguf_is_rendered(void **state)
{
    struct imported_run *run = *state;

    served_gguf_write(run->folder, "bot.gguf", &CHATML_GGUF);
    const struct prompt_pair *pair = read_pair(run);
    expect_text(&pair->serve, SERVED_CHATML);
    assert_non_null(strstr(pair->serve.about, "bot.gguf"));
    assert_int_equal(pair->comparison.difference, PROMPTS_EQUAL);
}

static void another_template_in_a_gguf_is_another_family(void **state)
{
    struct imported_run *run = *state;

    served_gguf_write(run->folder, "bot.gguf", &VICUNA_GGUF);
    const struct prompt_pair *pair = read_pair(run);
    assert_int_equal(pair->comparison.difference, PROMPTS_OTHER_FAMILY);
}

static void a_gguf_without_a_template_is_bare(void **state)
{
    struct imported_run *run = *state;

    served_gguf_write(run->folder, "bot.gguf", &BARE_GGUF);
    const struct prompt_pair *pair = read_pair(run);
    assert_non_null(pair->bare_serve);
    assert_string_equal(pair->bare_serve->importer, "gguf");
}

static void the_file_on_llama_cpps_command_line_beats_the_gguf(void **state)
{
    struct imported_run *run = *state;

    served_gguf_write(run->folder, "bot.gguf", &VICUNA_GGUF);
    put(run, "templates/mine.jinja", CHATML);
    put(run, "server.sh", "llama-server -m bot.gguf --chat-template-file templates/mine.jinja\n");
    expect_text(&read_pair(run)->serve, SERVED_CHATML);
}

static void without_jinja_only_the_family_is_known(void **state)
{
    struct imported_run *run = *state;

    served_gguf_write(run->folder, "bot.gguf", &VICUNA_GGUF);
    put(run, "server.sh", "llama-server -m bot.gguf --no-jinja\n");
    const struct prompt_pair *pair = read_pair(run);
    expect_missing(pair, "--no-jinja");
    assert_int_equal(pair->serve_template, FAMILY_VICUNA);
}

static void a_name_of_llama_cpps_own_says_the_family(void **state)
{
    struct imported_run *run = *state;

    served_gguf_write(run->folder, "bot.gguf", &CHATML_GGUF);
    put(run, "server.sh", "llama-server -m bot.gguf --chat-template llama2\n");
    const struct prompt_pair *pair = read_pair(run);
    expect_missing(pair, "'llama2'");
    assert_int_equal(pair->serve_template, FAMILY_INST);
}

/* ---- vLLM, SGLang, TGI ---- */

static void vllms_template_file_is_taken(void **state)
{
    struct imported_run *run = *state;

    put(run, "serve/vicuna.jinja", VICUNA);
    put(run, "serve.sh", "vllm serve org/base --chat-template ./serve/vicuna.jinja\n");
    expect_text(&read_pair(run)->serve, "USER: Where? ASSISTANT:");
}

static void a_template_file_that_is_not_here_is_asked_for(void **state)
{
    struct imported_run *run = *state;

    put(run, "serve.sh", "vllm serve org/base --chat-template /srv/their.jinja\n");
    expect_missing(read_pair(run), "/srv/their.jinja");
}

static void vllm_takes_the_template_of_the_model_that_it_names(void **state)
{
    struct imported_run *run = *state;

    put(run, "export/support-bot/tokenizer_config.json",
        "{\"chat_template\": \"{% for m in messages %}USER: {{ m.content }} {% endfor %}ASSISTANT:\"}");
    put(run, "serve.sh", "vllm serve /srv/models/support-bot\n");
    expect_text(&read_pair(run)->serve, "USER: Where? ASSISTANT:");
}

static void sglangs_own_templates_are_known_by_name_only(void **state)
{
    struct imported_run *run = *state;

    put(run, "launch.sh",
        "python -m sglang.launch_server --model-path org/base --chat-template vicuna_v1.1\n");
    const struct prompt_pair *pair = read_pair(run);
    expect_missing(pair, "vicuna_v1.1");
    assert_int_equal(pair->serve_template, FAMILY_VICUNA);
}

static void tgi_takes_the_config_that_it_is_given(void **state)
{
    struct imported_run *run = *state;

    put(run, "tgi/tokenizer_config.json",
        "{\"chat_template\": \"{% for m in messages %}USER: {{ m.content }} {% endfor %}ASSISTANT:\"}");
    put(run, "run.sh",
        "text-generation-launcher --model-id org/base --tokenizer-config-path "
        "tgi/tokenizer_config.json\n");
    expect_text(&read_pair(run)->serve, "USER: Where? ASSISTANT:");
}

/* ---- Ollama ---- */

static void ollamas_template_is_rendered(void **state)
{
    struct imported_run *run = *state;

    put(run, "Modelfile", GO_CHATML);
    const struct prompt_pair *pair = read_pair(run);
    expect_text(&pair->serve, SERVED_CHATML);
    assert_int_equal(pair->comparison.difference, PROMPTS_EQUAL);
}

static void ollamas_system_stands_before_the_prompt(void **state)
{
    struct imported_run *run = *state;

    put(run, "Modelfile", GO_CHATML "SYSTEM You help.\n");
    const struct prompt_pair *pair = read_pair(run);
    expect_text(&pair->serve, "<|im_start|>system\nYou help.<|im_end|>\n" SERVED_CHATML);
    assert_true(pair->serve.inserts_system);
    assert_int_equal(pair->comparison.difference, PROMPTS_SYSTEM_ONE_SIDE);
}

static void a_template_that_fails_says_where(void **state)
{
    struct imported_run *run = *state;

    put(run, "Modelfile", "FROM ./bot.gguf\nTEMPLATE \"\"\"a\n{{ .Nope | nothing }}\n\"\"\"\n");
    const struct prompt_pair *pair = read_pair(run);
    assert_int_equal(pair->serve.origin, PROMPT_ABSENT);
    assert_non_null(pair->serve.failure);
    assert_non_null(strstr(pair->serve.failure, "TEMPLATE in Modelfile"));
}

static void a_renderer_of_ollamas_own_is_not_the_template(void **state)
{
    struct imported_run *run = *state;

    put(run, "Modelfile", GO_CHATML "RENDERER qwen3-coder\n");
    expect_missing(read_pair(run), "a RENDERER builds the prompt inside of Ollama");
}

static void without_a_template_ollama_show_is_asked_for(void **state)
{
    struct imported_run *run = *state;

    served_gguf_write(run->folder, "bot.gguf", &CHATML_GGUF);
    put(run, "Modelfile", "FROM ./bot.gguf\n");
    expect_missing(read_pair(run), "ollama show --modelfile");
}

static void a_modelfile_and_a_gguf_without_any_template_are_bare(void **state)
{
    struct imported_run *run = *state;

    served_gguf_write(run->folder, "bot.gguf", &BARE_GGUF);
    put(run, "Modelfile", "FROM ./bot.gguf\n");
    assert_non_null(read_pair(run)->bare_serve);
}

/* ---- What the checks make of it ---- */

static void judge(struct imported_run *run, const char *id, struct check_result *result)
{
    struct check_ctx ctx = {.facts = run->facts, .arena = run->arena};
    struct error err = {0};

    assert_int_equal(check_run_one(check_by_id(id), &ctx, result, &err), OK);
}

static void expect_verdict(struct imported_run *run, const char *id, enum verdict verdict,
                           const char *part)
{
    struct check_result result = {0};

    judge(run, id, &result);
    const char *said = result.finding ? result.finding : "";
    if (result.verdict != verdict || !strstr(said, part))
        fail_msg("%s: %s, %s", id, verdict_name(result.verdict), said);
}

static void a_bos_of_the_template_and_the_runner_are_two(void **state)
{
    struct imported_run *run = *state;
    const struct served_gguf gguf = {.chat_template = "{{ bos_token }}" CHATML, .bos = "<s>",
                                     .eos = "<|im_end|>", .adds_bos = 1};

    served_gguf_write(run->folder, "bot.gguf", &gguf);
    put(run, "server.sh", "llama-server -m bot.gguf\n");
    (void)read_pair(run);
    expect_verdict(run, "double-bos", VERDICT_WARN, "<s>");
}

static void the_command_line_may_take_the_runners_bos_away(void **state)
{
    struct imported_run *run = *state;
    const struct served_gguf gguf = {.chat_template = "{{ bos_token }}" CHATML, .bos = "<s>",
                                     .eos = "<|im_end|>", .adds_bos = 1};
    struct check_result result = {0};

    served_gguf_write(run->folder, "bot.gguf", &gguf);
    put(run, "server.sh",
        "llama-server -m bot.gguf --override-kv tokenizer.ggml.add_bos_token=bool:false\n");
    (void)read_pair(run);
    judge(run, "double-bos", &result);
    assert_int_not_equal(result.verdict, VERDICT_WARN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_template_of_a_gguf_is_rendered),
        TEST(another_template_in_a_gguf_is_another_family),
        TEST(a_gguf_without_a_template_is_bare),
        TEST(the_file_on_llama_cpps_command_line_beats_the_gguf),
        TEST(without_jinja_only_the_family_is_known),
        TEST(a_name_of_llama_cpps_own_says_the_family),
        TEST(vllms_template_file_is_taken),
        TEST(a_template_file_that_is_not_here_is_asked_for),
        TEST(vllm_takes_the_template_of_the_model_that_it_names),
        TEST(sglangs_own_templates_are_known_by_name_only),
        TEST(tgi_takes_the_config_that_it_is_given),
        TEST(ollamas_template_is_rendered),
        TEST(ollamas_system_stands_before_the_prompt),
        TEST(a_template_that_fails_says_where),
        TEST(a_renderer_of_ollamas_own_is_not_the_template),
        TEST(without_a_template_ollama_show_is_asked_for),
        TEST(a_modelfile_and_a_gguf_without_any_template_are_bare),
        TEST(a_bos_of_the_template_and_the_runner_are_two),
        TEST(the_command_line_may_take_the_runners_bos_away),
    };

    return cmocka_run_group_tests_name("prompt_serving", tests, NULL, NULL);
}
