/* Damaged and hostile contents under every name that an importer wants, through the whole program:
 * plan, import, checks, reports. What must hold: it ends by itself, in bounded time and memory,
 * with 0, 1 or 2, and nothing raw is printed. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/str.h"
#include "tests/harness/flatline_run.h"
#include "tests/harness/tempdir.h"

static const char *const NAMES[] = {
    "train.log",          "trainer_state.json",  "config.json",       "adapter_config.json",
    "tokenizer.json",     "training_args.bin",   "training_args.json", "all_results.json",
    "trainer_log.jsonl",  "metrics.csv",         "data.jsonl",        "config.yaml",
    "adapter_model.safetensors", "README.md",    "ds_config.json",    "generation_config.json",
    "tokenizer_config.json", "model.safetensors.index.json", "chat_template.jinja", "lengths.csv",
    "generated_predictions.jsonl", "run.sh",     "nvidia_smi.txt",    "pip_freeze.txt",
};

static const char STATE[] =
    "{\"log_history\": [{\"loss\": 2.0, \"step\": 1}, {\"loss\": 1.5, \"step\": 2}],"
    " \"global_step\": 2, \"max_steps\": 4}";

/* The same bytes under every name, beside a sound run. */
static char *folder_of(const void *bytes, size_t n)
{
    char *folder = tempdir_make();

    tempdir_write_text(folder, "sound/trainer_state.json", STATE);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        char name[100];

        snprintf(name, sizeof name, "run/%s", NAMES[i]);
        tempdir_write(folder, name, bytes, n);
    }
    return folder;
}

/* Every command over them; gives the JSON of check. */
static char *under_all_names(const void *bytes, size_t n)
{
    char *folder = folder_of(bytes, n), *json = flatline_run_all(folder);

    tempdir_remove(folder);
    return json;
}

static void repeated(const char *begin, const char *piece, size_t times, const char *end)
{
    size_t n_piece = strlen(piece), n = strlen(begin) + n_piece * times + strlen(end);
    char *text = malloc(n + 1), *at = text;

    assert_non_null(text);
    memcpy(at, begin, strlen(begin));
    at += strlen(begin);
    for (size_t i = 0; i < times; i++, at += n_piece)
        memcpy(at, piece, n_piece);
    memcpy(at, end, strlen(end));
    char *folder = folder_of(text, n);
    struct flatline_run run;

    flatline_run(folder, NULL, "check --no-cache @", NULL, NULL, &run);
    flatline_run_is_sound(&run, piece);
    flatline_run_free(&run);
    tempdir_remove(folder);
    free(text);
}

static void empty_binary_and_pointer_files_are_told(void **state)
{
    static const char LFS[] = "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n";
    static const char BYTES[] = "\x7F\x45\x4C\x46\x00\x01\xFF\xFE\x80\x00\x00\x1B[31m\x9B";
    char *json;

    (void)state;
    json = under_all_names("", 0);
    assert_non_null(strstr(json, "an empty file"));
    free(json);
    json = under_all_names(LFS, sizeof LFS - 1);
    assert_non_null(strstr(json, "Git LFS pointer"));
    free(json);
    free(under_all_names(BYTES, sizeof BYTES - 1));
    free(under_all_names("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16));
    free(under_all_names("\xFF\xFE{\0}\0", 6));
}

static void documents_of_the_wrong_kind_do_no_harm(void **state)
{
    static const char *const TEXTS[] = {
        "[1, 2, 3]", "\"x\"", "null", "{}", "{\"log_history\": 5}", "{\"log_history\": [[], 1, \"a\"]}",
        "{\"model_type\": [], \"vocab_size\": {}, \"r\": [1], \"target_modules\": {\"a\": 1}}",
        "{\"loss\": {}, \"step\": []}\n[]\n5\n", "a: &a\n  b: *a\n", "- 1\n- {a: b}\n", "%|\r%|\r",
    };

    (void)state;
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        free(under_all_names(TEXTS[i], strlen(TEXTS[i])));
}

static void every_cut_of_a_state_is_read(void **state)
{
    char *folder = tempdir_make();

    (void)state;
    for (size_t n = 0; n < sizeof STATE; n += 7) {
        struct flatline_run run;

        tempdir_write(folder, "trainer_state.json", STATE, n);
        flatline_run(folder, NULL, "check --no-cache @", NULL, NULL, &run);
        flatline_run_is_sound(&run, "a cut state");
        flatline_run_free(&run);
    }
    tempdir_remove(folder);
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    repeated("", "[", 100000, "");
    repeated("{\"log_history\": ", "{\"a\":", 100000, "");
    repeated("{'loss': ", "[", 100000, "");
    repeated("a: ", "{a: ", 50000, "");
    repeated("", "- ", 50000, "");
    repeated("", "(", 100000, "");
}

static void aliases_do_not_multiply(void **state)
{
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_puts(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 30; i++) {
        buf_printf(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 9; k++)
            buf_printf(&text, "%s*a%d", k ? ", " : "", i - 1);
        buf_puts(&text, "]\n");
    }
    free(under_all_names(text.p, text.n));
    buf_free(&text);
}

static void long_runs_of_one_thing_take_linear_time(void **state)
{
    static const char *const PIECES[] = {
        " ", "x", "1", "\n", "\r", "-", "{", "{'", "\"", "loss ", "loss=1 ", "'loss': ", "1/",
        "100%|", "Error: ", "CUDA out of memory ", "Tried to allocate ", "File \"", "a.", "/a",
        "[rank0]: ", "of size ", "MiB ", "a: ", "\t", ",", "\"a,", "nan ",
    };

    (void)state;
    for (size_t i = 0; i < sizeof PIECES / sizeof *PIECES; i++)
        repeated("", PIECES[i], 150000 / strlen(PIECES[i]), "\n");
}

static void many_tracebacks_are_counted_not_kept(void **state)
{
    char *folder = tempdir_make(), *json;
    struct buf text;

    (void)state;
    buf_init(&text, (size_t)64 << 20);
    buf_puts(&text, "{'loss': 1.5, 'learning_rate': 0.001, 'epoch': 0.1}\n");
    for (int i = 0; i < 100000; i++)
        buf_printf(&text, "Traceback (most recent call last):\n  File \"a.py\", line %d, in f\n"
                          "    x()\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n", i);
    tempdir_write(folder, "train.log", text.p, text.n);
    buf_free(&text);
    json = flatline_run_all(folder);
    assert_true(strlen(json) < 1 << 20);
    free(json);
    tempdir_remove(folder);
}

/* A hole that is one line: 1 GiB of log, the others shorter; all shorter under sanitizers. */
static void a_line_of_a_gibibyte_needs_no_memory(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    const off_t log_size = (off_t)1 << 27;
#else
    const off_t log_size = (off_t)1 << 30;
#endif
    static const char *const SPARSE[] = {"train.log", "data.jsonl", "metrics.csv", "config.json"};
    char *folder = tempdir_make();

    (void)state;
    for (size_t i = 0; i < sizeof SPARSE / sizeof *SPARSE; i++) {
        struct flatline_run run;
        int fd;

        tempdir_write_text(folder, SPARSE[i], "{'loss': 1.5, 'epoch': 0.1}\n{\"loss\": 1, \"a");
        fd = open(tempdir_path(folder, SPARSE[i]), O_WRONLY);
        assert_int_equal(ftruncate(fd, i == 0 ? log_size : (off_t)1 << 26), 0);
        close(fd);
        flatline_run(folder, NULL, "check --no-cache @", NULL, NULL, &run);
        flatline_run_is_sound(&run, SPARSE[i]);
        flatline_run_free(&run);
        unlink(tempdir_path(folder, SPARSE[i]));
    }
    tempdir_remove(folder);
}

static void wide_tables_and_rows_are_read(void **state)
{
    char *folder = tempdir_make();
    struct buf text;

    (void)state;
    buf_init(&text, (size_t)64 << 20);
    buf_puts(&text, "step,loss");
    for (int i = 0; i < 100000; i++)
        buf_printf(&text, ",c%d", i);
    for (int row = 1; row < 4; row++) {
        buf_printf(&text, "\n%d,1.5", row);
        for (int i = 0; i < 100000; i++)
            buf_puts(&text, ",1");
    }
    tempdir_write(folder, "table/metrics.csv", text.p, text.n);
    buf_clear(&text);
    buf_puts(&text, "{\"log_history\": [");
    for (int row = 1; row < 4; row++) {
        buf_printf(&text, "%s{\"loss\": 1.5, \"step\": %d", row > 1 ? "," : "", row);
        for (int i = 0; i < 10000; i++)
            buf_printf(&text, ", \"k%d_%d\": 1", row, i);
        buf_puts(&text, "}");
    }
    buf_puts(&text, "]}");
    tempdir_write(folder, "state/trainer_state.json", text.p, text.n);
    buf_free(&text);
    free(flatline_run_all(folder));
    tempdir_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_binary_and_pointer_files_are_told),
        cmocka_unit_test(documents_of_the_wrong_kind_do_no_harm),
        cmocka_unit_test(every_cut_of_a_state_is_read),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(aliases_do_not_multiply),
        cmocka_unit_test(long_runs_of_one_thing_take_linear_time),
        cmocka_unit_test(many_tracebacks_are_counted_not_kept),
        cmocka_unit_test(a_line_of_a_gibibyte_needs_no_memory),
        cmocka_unit_test(wide_tables_and_rows_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
