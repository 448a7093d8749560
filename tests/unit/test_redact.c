/* What leaves the program holds no secret, and in an anonymous report no place of the user. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/exports/redact.h"

static char shown[4096];

static const char *redacted(const char *text, bool secrets, bool anonymous)
{
    struct redact redact = {.secrets = secrets, .anonymous = anonymous};
    struct buf out;

    buf_init(&out, sizeof shown - 1);
    redact_text(&out, str_of(text), &redact);
    snprintf(shown, sizeof shown, "%s", out.p);
    buf_free(&out);
    return shown;
}

struct pair {
    const char *text, *expected;
};

static void secrets_are_masked_where_their_shape_or_their_name_tells(void **state)
{
    static const struct pair pairs[] = {
        {"token hf_abcdefghijklmnopqrstuvwx12 used", "token [masked] used"},
        {"HF_TOKEN=hf_abcdefghijklmnopqrstuvwx12", "HF_TOKEN=[masked]"},
        {"HF_TOKEN=short-but-secret", "HF_TOKEN=[masked]"},
        {"WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "WANDB_API_KEY=[masked]"},
        {"WANDB_API_KEY: 'abcd1234'", "WANDB_API_KEY: '[masked]'"},
        {"{\"api_key\": \"abcd1234\", \"lr\": 0.1}", "{\"api_key\": \"[masked]\", \"lr\": 0.1}"},
        {"{'hub_token': 'abcd1234'}", "{'hub_token': '[masked]'}"},
        {"--hub-token abcd1234 --lr 2e-5", "--hub-token [masked] --lr 2e-5"},
        {"--hub_token=abcd1234 --lr 2e-5", "--hub_token=[masked] --lr 2e-5"},
        {"Authorization: Bearer abcdef.ghi", "Authorization: [masked]"},
        {"'Authorization': 'Basic dXNlcjpwYXNz'", "'Authorization': '[masked]'"},
        {"password=hunter22", "password=[masked]"},
        {"AWS_SECRET_ACCESS_KEY=abc/def+ghi", "AWS_SECRET_ACCESS_KEY=[masked]"},
        {"id AKIAIOSFODNN7EXAMPLE.", "id [masked]"},
        {"key sk-proj-abcdefghijklmnop1234", "key [masked]"},
        {"ghp_abcdefghijklmnopqrst1234 and ghp_zyxwvutsrqponmlkjihg9876", "[masked] and [masked]"},
        {"git clone https://me:s3cret@host.example/x.git",
         "git clone https://[masked]@host.example/x.git"},
        {"mysql://root:pw@db/x and redis://:pw2@cache", "mysql://[masked]@db/x and redis://[masked]@cache"},
        {"url=hf_abcdefghijklmnopqrstuvwx12", "url=[masked]"},
        {"https://x.example/?token=1&access_token=abcd1234&n=2",
         "https://x.example/?token=1&access_token=[masked]&n=2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_string_equal(redacted(pairs[i].text, true, false), pairs[i].expected);
}

static void words_of_the_field_are_no_secrets(void **state)
{
    static const char *const texts[] = {
        "pad_token = '<|endoftext|>'",
        "\"eos_token\": \"<|im_end|>\"",
        "bos_token_id: 128000",
        "max_new_tokens=2048",
        "tokens 4096",
        "token 17 of 41: <|im_start|>",
        "hub_token: None",
        "use_auth_token: true",
        "hub_token=null,",
        "loss hf_ is no token",
        "sk-learn 1.4.0",
        "see https://host.example/a@b/c",
        "https://host.example/path?x=1",
        "step 40: loss nan, grad_norm 71",
        "",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_string_equal(redacted(texts[i], true, false), texts[i]);
}

static void nothing_is_masked_when_it_is_not_asked_for(void **state)
{
    const char *text = "HF_TOKEN=hf_abcdefghijklmnopqrstuvwx12 /home/me/run me@host";

    (void)state;
    assert_string_equal(redacted(text, false, false), text);
}

static void an_anonymous_text_names_no_folder_user_or_host(void **state)
{
    static const struct pair pairs[] = {
        {"/home/alice/runs/qwen/train.log", "…/train.log"},
        {"file /home/alice/x.json, line 3", "file …/x.json, line 3"},
        {"\"/data/alice/x.json\"", "\"…/x.json\""},
        {"(/data/alice/x.json)", "(…/x.json)"},
        {"alice@gpu-17 started", "[user@host] started"},
        {"--output_dir=/home/alice/out", "--output_dir=…/out"},
        {"train.log:42", "train.log:42"},
        {"loss 1/2 of it", "loss 1/2 of it"},
        {"/", "/"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_string_equal(redacted(pairs[i].text, true, true), pairs[i].expected);
}

/* A text that ends anywhere in a secret or in its name must not be read beyond its end. */
static void every_prefix_of_a_text_is_handled(void **state)
{
    const char *text = "\"Authorization\" : \"Bearer hf_abcdefghijklmnopqrstuvwx12\" https://u:p@h/x "
                       "/home/a/b api_key = 'zzzzzz'";
    struct redact redact = {.secrets = true, .anonymous = true};
    char piece[256];

    (void)state;
    for (size_t n = 0; n <= strlen(text); n++) {
        struct buf out;

        memcpy(piece, text, n);
        piece[n] = '!';                 /* not a NUL: the end is the length */
        buf_init(&out, 4096);
        redact_text(&out, str_from(piece, n), &redact);
        assert_false(out.failed);
        assert_null(strchr(out.p, '!'));
        buf_free(&out);
    }
}

static void a_nul_byte_is_an_ordinary_byte(void **state)
{
    struct redact redact = {.secrets = true, .anonymous = true};
    struct buf out;

    (void)state;
    buf_init(&out, 64);
    redact_text(&out, str_from("password\0\0abcd", 14), &redact);
    assert_int_equal(out.n, 14);
    assert_memory_equal(out.p, "password\0\0abcd", 14);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_masked_where_their_shape_or_their_name_tells),
        cmocka_unit_test(words_of_the_field_are_no_secrets),
        cmocka_unit_test(nothing_is_masked_when_it_is_not_asked_for),
        cmocka_unit_test(an_anonymous_text_names_no_folder_user_or_host),
        cmocka_unit_test(every_prefix_of_a_text_is_handled),
        cmocka_unit_test(a_nul_byte_is_an_ordinary_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
