/* flatline labels and flatline prompts as commands: what they print, and what they say when they cannot. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/harness/byte_tokenizer.h"
#include "tests/harness/flatline_run.h"
#include "tests/harness/tempdir.h"

static char *folder;

static int set_up(void **state)
{
    (void)state;
    folder = tempdir_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tempdir_remove(folder);
    return 0;
}

static void write_run(void)
{
    struct buf rows;

    buf_init(&rows, 1 << 20);
    byte_tokenizer_write(folder);
    byte_row(&rows, "{user\nWhere?}\n{assistant\nHere.}\n", 25, 31);
    byte_row(&rows, "{user\nAnd where is it now?}\n{assistant\nGone.}\n", 0, 0);
    tempdir_write_text(folder, "labels_sample.jsonl", rows.p);
    buf_free(&rows);
    tempdir_write_text(folder, "prompt_train.txt",
                       "<|im_start|>user\nA?<|im_end|>\n<|im_start|>assistant\nB");
    tempdir_write_text(folder, "prompt_infer.txt", "<|im_start|>user\nA?<|im_end|>\n");
}

/* The status and a text that stands in one of the outputs. */
static void call(const char *words, int status, const char *out, const char *err)
{
    struct flatline_run run;

    flatline_run(folder, NULL, words, NULL, NULL, &run);
    flatline_run_is_sound(&run, words);
    if (run.status != status || !strstr(run.out, out) || !strstr(run.err, err))
        fail_msg("%s: status %d\n%s\n%s", words, run.status, run.out, run.err);
    flatline_run_free(&run);
}

static void labels_prints_counts_and_rows(void **state)
{
    (void)state;
    write_run();
    call("labels --no-cache @", 0, "labels_sample.jsonl: 2 rows\n", "");
    call("labels --no-cache @", 0, "FAULT: no supervised token\n", "");
    call("labels --no-cache --ascii --all @", 0, "  [[Here.<|im_end|>]]\\n\n", "");
    call("labels --no-cache --row 0 @", 0, "source: {\"input_ids\"", "");
}

static void labels_says_what_it_cannot_do(void **state)
{
    (void)state;
    write_run();
    call("labels --no-cache --row 2 @", 2, "", "there is no row 2");
    call("labels --no-cache --row x @", 2, "", "expected the number of a row, from 0");
    call("labels --no-cache --row -1 @", 2, "", "row");
    call("labels", 2, "", "labels needs one run");
}

static void prompts_prints_both_sides_and_where_they_part(void **state)
{
    (void)state;
    write_run();
    call("prompts --no-cache @", 0, "- <|im_start|>assistant\\n\n", "");
    call("prompts --no-cache @", 0, "verdict   serving stops before the assistant's header", "");
    call("prompts", 2, "", "prompts needs one run");
}

static void a_run_without_rows_or_prompts_is_told_what_to_import(void **state)
{
    (void)state;
    tempdir_write_text(folder, "trainer_state.json", "{\"global_step\": 1, \"log_history\": []}");
    call("labels --no-cache @", 2, "", "no labels to show, missing: ");
    call("prompts --no-cache @", 2, "", "no prompt to show, missing: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(labels_prints_counts_and_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(labels_says_what_it_cannot_do, set_up, tear_down),
        cmocka_unit_test_setup_teardown(prompts_prints_both_sides_and_where_they_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_without_rows_or_prompts_is_told_what_to_import, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
