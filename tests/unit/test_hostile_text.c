/* Escape sequences, bidi controls, NUL bytes and invalid UTF-8 wherever a file can put them: names
 * of files and folders, keys, values, messages, cells. Nothing of them may be printed raw, in any
 * format, and no number may do harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "core/base/str.h"
#include "tests/harness/flatline_run.h"
#include "tests/harness/tempdir.h"

/* Colour, title, CSI as one character, right-to-left override, an overlong form, a lone byte. */
#define RAW  "\x1B[31m\x1B]0;x\x07\xC2\x9B" "31m\xE2\x80\xAE\xC0\x80\xFF"
#define JSON "\\u001b[31m\\u009b\\u202e\\u0000\\ud800\\r"

static void nothing_raw_comes_out_of(const char *folder)
{
    free(flatline_run_all(folder));
}

static void hostile_json_is_made_visible(void **state)
{
    char *folder = tempdir_make();
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_puts(&text, "{\"log_history\": [");
    for (int i = 1; i < 60; i++)
        buf_printf(&text, "%s{\"loss\": %d.5, \"step\": %d, \"" JSON "\": 1.5, \"eval_" JSON "\": 2}",
                   i > 1 ? "," : "", i % 3, i);
    buf_puts(&text, "], \"global_step\": 59, \"best_model_checkpoint\": \"" JSON
                    "\", \"trial_name\": \"" JSON "\", \"" JSON "\": \"" JSON "\"}");
    tempdir_write(folder, "trainer_state.json", text.p, text.n);
    tempdir_write_text(folder, "config.json",
                       "{\"model_type\": \"" JSON "\", \"architectures\": [\"" JSON "\"],"
                       " \"torch_dtype\": \"" JSON "\", \"vocab_size\": \"" JSON "\"}");
    tempdir_write_text(folder, "adapter_config.json",
                       "{\"peft_type\": \"LORA\", \"target_modules\": [\"" JSON "\"], \"r\": \"" JSON
                       "\", \"base_model_name_or_path\": \"" JSON "\", \"" JSON "\": 1}");
    tempdir_write_text(folder, "train.jsonl",
                       "{\"messages\": [{\"role\": \"" JSON "\", \"content\": \"" JSON "\"}], \"" JSON
                       "\": \"" JSON "\"}\n");
    tempdir_write_text(folder, "config.yaml",
                       "model_name_or_path: \"\\e[31m\\u202e\"\nlearning_rate: \"\\e[31m\"\n"
                       "\"k\\e[31m\": 1\ndataset: \"\\e]0;x\\a\"\nstage: sft\n");
    nothing_raw_comes_out_of(folder);
    buf_free(&text);
    tempdir_remove(folder);
}

static void hostile_logs_and_tables_are_made_visible(void **state)
{
    char *folder = tempdir_make();
    struct buf text;

    (void)state;
    tempdir_write_text(folder, "a/train.log",
                       "Loading " RAW "\n{'loss': 1.0, 'learning_rate': 0.001, 'epoch': 0.1}\n"
                       "{'loss': 1.0, '" RAW "': 0.001, 'epoch': 0.2}\n"
                       "GPU 0: Tesla V100-SXM2-32GB " RAW "\n"
                       "Traceback (most recent call last):\n  File \"" RAW "\", line 1, in " RAW
                       "\n    " RAW "\nRuntimeError: CUDA error: device-side assert triggered " RAW "\n");
    tempdir_write_text(folder, "b/train.log",
                       "{'loss': 1.0, 'learning_rate': 0.001, 'epoch': 0.1}\n"
                       "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate " RAW
                       " 2.00 GiB. GPU 0 has a total capacity of 23.00 GiB " RAW "\n");
    tempdir_write_text(folder, "c/nohup.out", RAW "\nslurmstepd: error: " RAW "\nKilled " RAW "\n");
    buf_init(&text, 1 << 16);
    buf_puts(&text, "step,loss," RAW "\n");
    for (int i = 1; i < 30; i++)
        buf_printf(&text, "%d,1.0," RAW "\n", i);
    tempdir_write(folder, "d/metrics.csv", text.p, text.n);
    nothing_raw_comes_out_of(folder);
    buf_free(&text);
    tempdir_remove(folder);
}

static void hostile_names_are_made_visible(void **state)
{
    static const char LOG[] = "{'loss': 1.0, 'learning_rate': 0.001, 'epoch': 0.1}\n"
                              "Traceback (most recent call last):\nValueError: x\n";
    static const char *const NAMES[] = {
        "\x1B[31mred.log", "\xFF\xFE.log", "new\nline.log", "\xE2\x80\xAE" "gnp.log",
        "\xC2\x9B" "31m.log", "`a`|b*_<i>.log", "[a](javascript:x).log", "tab\t.log",
    };
    char *folder = tempdir_make(), name[300];

    (void)state;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        tempdir_write_text(folder, NAMES[i], LOG);
        snprintf(name, sizeof name, "%s.d/train.log", NAMES[i]);
        tempdir_write_text(folder, name, LOG);
        snprintf(name, sizeof name, "%s.e/data.jsonl", NAMES[i]);
        tempdir_write_text(folder, name, "{\"text\": \"x\"}\n");
    }
    nothing_raw_comes_out_of(folder);
    tempdir_remove(folder);
}

static void hostile_words_of_the_command_line_are_made_visible(void **state)
{
    static const char *const WORDS[] = {
        "check --no-cache \x1B[31m", "check \xC2\x9B", "\x1B[31m", "--\x1B[31m", "check --\x1B",
        "check --no-cache --only \x1B[31m @", "check --no-cache --only , @",
        "check --no-cache --format \x1B @", "check --no-cache --set \x1B=\x1B @",
        "check --no-cache --set kind=\x1B @", "check --no-cache --set = @", "curves --size \x1B @",
        "curves --no-cache --size 99999999999x9 @", "curves --no-cache --size -5x-5 @",
        "curves --no-cache --size 1000x1000 @", "curves --no-cache --series \x1B @",
        "memory --no-cache --gpu 1e999G @", "memory --no-cache --gpu nan @",
        "memory --no-cache --gpu -1 @", "make \x1B @", "completions \x1B", "forget \x1B",
        "remark \x1B \x1B", "report --no-cache @ -o /dev/\x1B", "check --db /dev/null @",
        "check --db /dev/full @", "report --no-cache @ -o /dev/full --force",
    };
    char *folder = tempdir_make(), *home = tempdir_make();

    (void)state;
    tempdir_write_text(folder, "trainer_state.json",
                       "{\"log_history\": [{\"loss\": 2.0, \"step\": 1}], \"global_step\": 1}");
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        struct flatline_run run;

        flatline_run(folder, home, WORDS[i], NULL, NULL, &run);
        flatline_run_is_sound(&run, WORDS[i]);
        flatline_run_free(&run);
    }
    tempdir_remove(folder);
    tempdir_remove(home);
}

static void numbers_beyond_all_bounds_do_no_harm(void **state)
{
    static const char *const NUMBERS[] = {
        "1e999", "-1e999", "-0", "1e-400", "1234567890123456789012345678901234567890", "NaN",
        "Infinity", "-Infinity", "\"nan\"", "null", "true", "1e308", "-1e308", "1000000000000000000",
        "9223372036854775807", "9223372036854775808", "-9223372036854775809", "4.9e-324", "[]",
    };
    enum { N = sizeof NUMBERS / sizeof *NUMBERS };
    static const char *const KEYS[] = {
        "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "max_steps",
        "intermediate_size", "max_position_embeddings", "num_key_value_heads", "head_dim", "r",
        "per_device_train_batch_size", "gradient_accumulation_steps", "max_seq_length",
        "num_train_epochs", "learning_rate", "warmup_steps", "lora_alpha", "eval_steps",
    };
    char *folder = tempdir_make(), name[60];
    struct buf state_text, settings;

    (void)state;
    buf_init(&state_text, 1 << 20);
    buf_init(&settings, 1 << 20);
    for (int i = 0; i < N; i++) {
        const char *x = NUMBERS[i];

        buf_clear(&state_text);
        buf_puts(&state_text, "{\"log_history\": [");
        for (int k = 0; k < 3 * N; k++)
            buf_printf(&state_text, "%s{\"loss\": %s, \"grad_norm\": %s, \"step\": %s, \"epoch\": %s,"
                                    " \"eval_loss\": %s}", k ? "," : "", k % 2 ? NUMBERS[k % N] : x,
                       NUMBERS[k % N], k % 3 ? x : NUMBERS[k % N], x, NUMBERS[(k + i) % N]);
        buf_printf(&state_text, "], \"global_step\": %s, \"max_steps\": %s, \"epoch\": %s}", x, x, x);
        snprintf(name, sizeof name, "%02d/trainer_state.json", i);
        tempdir_write(folder, name, state_text.p, state_text.n);
        buf_clear(&settings);
        for (size_t k = 0; k < sizeof KEYS / sizeof *KEYS; k++)
            buf_printf(&settings, "%s\"%s\": %s", k ? ", " : "{\"model_type\": \"llama\", ", KEYS[k], x);
        buf_puts(&settings, "}");
        snprintf(name, sizeof name, "%02d/config.json", i);
        tempdir_write(folder, name, settings.p, settings.n);
        snprintf(name, sizeof name, "%02d/training_args.json", i);
        tempdir_write(folder, name, settings.p, settings.n);
    }
    nothing_raw_comes_out_of(folder);
    for (int i = 0; i < N; i++) {
        static const char *const WORDS[] = {"memory --no-cache --gpu 24G @", "curves --no-cache @"};

        snprintf(name, sizeof name, "%02d", i);
        for (size_t k = 0; k < 2; k++) {
            struct flatline_run run;

            flatline_run(tempdir_path(folder, name), NULL, WORDS[k], NULL, NULL, &run);
            flatline_run_is_sound(&run, WORDS[k]);
            flatline_run_free(&run);
        }
    }
    buf_free(&state_text);
    buf_free(&settings);
    tempdir_remove(folder);
}

/* Each row a new segment: everything that looks at segments must look at each row once. */
static void a_segment_a_row_takes_linear_time(void **state)
{
    char *folder = tempdir_make();
    struct flatline_run run;
    struct buf text;

    (void)state;
    buf_init(&text, (size_t)64 << 20);
    buf_puts(&text, "{\"log_history\": [");
    for (int i = 0; i < 60000; i++)
        buf_printf(&text, "%s{\"loss\": %d.5, \"step\": %d}", i ? "," : "", i % 7, 60000 - i);
    buf_puts(&text, "], \"global_step\": 1}");
    tempdir_write(folder, "trainer_state.json", text.p, text.n);
    buf_free(&text);
    flatline_run(folder, NULL, "check --no-cache @", NULL, NULL, &run);
    flatline_run_is_sound(&run, "segments");
    flatline_run_free(&run);
    flatline_run(folder, NULL, "curves --no-cache @", NULL, NULL, &run);
    flatline_run_is_sound(&run, "curves of segments");
    flatline_run_free(&run);
    tempdir_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_json_is_made_visible),
        cmocka_unit_test(hostile_logs_and_tables_are_made_visible),
        cmocka_unit_test(hostile_names_are_made_visible),
        cmocka_unit_test(hostile_words_of_the_command_line_are_made_visible),
        cmocka_unit_test(numbers_beyond_all_bounds_do_no_harm),
        cmocka_unit_test(a_segment_a_row_takes_linear_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
