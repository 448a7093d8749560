/* What the checks of prompts make of the serving side: stops of runners, their windows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/checks/registry.h"
#include "tests/harness/judged.h"

enum { TURN_END = 260, ROWS = 8 };

static struct check_result result;

static void expect(struct fake_run *run, const struct check *check, enum verdict verdict)
{
    judged_expect(run, check, verdict, &result);
}

/* Rows that end with <|im_end|>, a special token. */
static struct fake_run *trained(void)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    struct audit_row rows[ROWS];

    for (size_t i = 0; i < ROWS; i++)
        rows[i] = (struct audit_row){
            .n_tokens = 100, .n_prompt = 40, .n_trained = 60, .last_id = TURN_END};
    struct audit *audit = fake_audit(run, "train", AUDIT_RECORDED, rows, ROWS);
    audit->last_id = TURN_END;
    audit->n_last_id = ROWS;
    audit->last_text = "<|im_end|>";
    audit->last_is_special = true;
    audit->eos_id = TURN_END;
    audit->eos_text = "<|im_end|>";
    return run;
}

static void serve(struct fake_run *run, const char *name, const char *value)
{
    fake_setting_on(run, SIDE_SERVE, name, value);
}

/* ---- eos-config-mismatch ---- */

static void a_stop_text_of_the_modelfile_counts(void **state)
{
    struct fake_run *run = trained();

    (void)state;
    serve(run, "engine", "ollama");
    serve(run, "stop", "[\"<|im_end|>\",\"User:\"]");
    expect(run, &check_eos_config_mismatch, VERDICT_PASS);
    fake_run_free(run);
}

static void a_token_that_ends_the_gguf_counts(void **state)
{
    struct fake_run *run = trained();

    (void)state;
    serve(run, "engine", "llama.cpp");
    serve(run, "model", "bot.gguf");
    serve(run, "gguf.stop_ids", "[5]");
    serve(run, "gguf.stop_tokens", "[\"<|im_end|>\"]");
    expect(run, &check_eos_config_mismatch, VERDICT_PASS);
    fake_run_free(run);
}

static void a_gguf_that_ends_elsewhere_fails(void **state)
{
    struct fake_run *run = trained();

    (void)state;
    serve(run, "engine", "llama.cpp");
    serve(run, "model", "bot.gguf");
    serve(run, "gguf.stop_ids", "[261]");
    serve(run, "gguf.stop_tokens", "[\"<|endoftext|>\"]");
    expect(run, &check_eos_config_mismatch, VERDICT_FAIL);
    assert_non_null(strstr(result.finding, "<|im_end|>"));
    assert_non_null(strstr(result.finding, "<|endoftext|>"));
    assert_true(judged_offers(&result, "PARAMETER stop"));
    fake_run_free(run);
}

static void ollama_without_the_gguf_is_open(void **state)
{
    struct fake_run *run = trained();

    (void)state;
    serve(run, "engine", "ollama");
    serve(run, "stop", "[\"User:\"]");
    expect(run, &check_eos_config_mismatch, VERDICT_UNKNOWN);
    fake_run_free(run);
}

static void a_stop_of_the_request_makes_up_for_the_config(void **state)
{
    struct fake_run *run = trained();

    (void)state;
    fake_setting_on(run, SIDE_GENERATION, "eos_token_id", "261");
    serve(run, "engine", "vllm");
    serve(run, "stop", "[\"<|im_end|>\"]");
    expect(run, &check_eos_config_mismatch, VERDICT_PASS);
    fake_run_free(run);
}

static void without_that_stop_the_config_fails_as_ever(void **state)
{
    struct fake_run *run = trained();

    (void)state;
    fake_setting_on(run, SIDE_GENERATION, "eos_token_id", "261");
    serve(run, "engine", "vllm");
    expect(run, &check_eos_config_mismatch, VERDICT_FAIL);
    fake_run_free(run);
}

/* ---- truncation-mismatch ---- */

static struct fake_run *long_rows(void)
{
    struct fake_run *run = fake_run_new(KIND_SFT);
    int32_t tokens[20];

    for (int i = 0; i < 20; i++)
        tokens[i] = 900;
    fake_lengths(run, tokens, 20);
    fake_setting(run, "max_length", "1024");
    return run;
}

static void a_small_window_of_ollama_leaves_out_the_oldest(void **state)
{
    struct fake_run *run = long_rows();

    (void)state;
    serve(run, "engine", "ollama");
    serve(run, "max_model_len", "512");
    expect(run, &check_truncation_mismatch, VERDICT_WARN);
    assert_true(judged_informs(&result, "oldest messages"));
    fake_run_free(run);
}

static void a_window_that_is_not_stated_is_asked_for_by_engine(void **state)
{
    struct fake_run *run = long_rows();

    (void)state;
    serve(run, "engine", "ollama");
    expect(run, &check_truncation_mismatch, VERDICT_UNKNOWN);
    assert_true(result.n_missing > 0 && strstr(result.missing[0], "num_ctx"));
    fake_run_free(run);
}

/* ---- padding-side ---- */

static void a_server_that_pads_nothing_passes(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_setting_on(run, SIDE_TOKENIZER, "padding_side", "right");
    serve(run, "engine", "vllm");
    expect(run, &check_padding_side, VERDICT_PASS);
    fake_run_free(run);
}

static void a_record_without_an_engine_says_nothing_of_padding(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_setting_on(run, SIDE_TOKENIZER, "padding_side", "right");
    serve(run, "model", "org/base");
    expect(run, &check_padding_side, VERDICT_UNKNOWN);
    fake_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_text_of_the_modelfile_counts),
        cmocka_unit_test(a_token_that_ends_the_gguf_counts),
        cmocka_unit_test(a_gguf_that_ends_elsewhere_fails),
        cmocka_unit_test(ollama_without_the_gguf_is_open),
        cmocka_unit_test(a_stop_of_the_request_makes_up_for_the_config),
        cmocka_unit_test(without_that_stop_the_config_fails_as_ever),
        cmocka_unit_test(a_small_window_of_ollama_leaves_out_the_oldest),
        cmocka_unit_test(a_window_that_is_not_stated_is_asked_for_by_engine),
        cmocka_unit_test(a_server_that_pads_nothing_passes),
        cmocka_unit_test(a_record_without_an_engine_says_nothing_of_padding),
    };

    return cmocka_run_group_tests_name("checks_serving", tests, NULL, NULL);
}
