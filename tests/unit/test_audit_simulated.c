/* The audit of rows that are labelled here, as their trainer does it: what is counted in them, and what is
 * said when they cannot be. Rows whose labels were recorded are test_audit.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/store/store.h"
#include "tests/harness/audited.h"

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

static void write(const struct imported_run *run, const char *name, const char *text)
{
    tempdir_write_text(run->folder, name, text);
}

/* One id a word; </s> ends a completion. */
static void write_words(const struct imported_run *run)
{
    write(run, "out/tokenizer.json",
          "{\"added_tokens\": [{\"id\": 2, \"content\": \"</s>\", \"special\": true,"
          " \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false}],"
          " \"normalizer\": null, \"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"},"
          " \"post_processor\": null, \"decoder\": null,"
          " \"model\": {\"type\": \"WordLevel\", \"unk_token\": \"<unk>\", \"vocab\":"
          " {\"<unk>\": 0, \"<pad>\": 1, \"</s>\": 2, \"a\": 3, \"b\": 4, \"c\": 5, \"d\": 6}}}");
    write(run, "out/tokenizer_config.json", "{\"eos_token\": \"</s>\", \"pad_token\": \"<pad>\"}");
    write(run, "pip_freeze.txt", "trl==1.16.0\ntransformers==5.24.0\n");
}

static void write_trl(const struct imported_run *run, int max_length)
{
    char text[256];

    snprintf(text, sizeof text,
             "{\"completion_only_loss\": true, \"max_length\": %d, \"learning_rate\": 0.001}",
             max_length);
    write_words(run);
    write(run, "training_args.json", text);
}

static const struct audit *simulated(struct imported_run *run, const char *rows,
                                     const struct audit_hooks *hooks)
{
    write(run, "train.jsonl", rows);
    imported_run_audit(run, hooks);
    return facts_audit(run->facts, "train");
}

static const char THREE_ROWS[] = "{\"prompt\": \"a b\", \"completion\": \" c\"}\n"
                                 "{\"prompt\": \"a b d\", \"completion\": \" c\"}\n"
                                 "{\"prompt\": \"a\", \"completion\": \" c\"}\n";

static void rows_are_labelled_as_their_trainer_does_it(void **state)
{
    struct imported_run *run = *state;

    write_trl(run, 3);
    const struct audit *audit = simulated(run, THREE_ROWS, NULL);

    assert_non_null(audit);
    if (audit->basis != AUDIT_SIMULATED)
        fail_msg("%s", audit->missing);
    assert_null(audit->assumption);
    assert_int_equal(audit->n_rows, 3);
    assert_int_equal(audit->max_length, 3);
    assert_int_equal(audit->eos_id, 2);
    assert_int_equal(audit->rows[0].n_tokens, 4);
    assert_int_equal(audit->rows[0].n_prompt, 2);
    assert_int_equal(audit->rows[0].n_trained, 1);
    assert_true(audit->rows[0].flags & AUDIT_CUT_ANSWER);
    assert_true(audit->rows[1].flags & AUDIT_CUT_TO_NOTHING);
    assert_true(audit->rows[1].flags & AUDIT_PROMPT_FILLS);
    assert_true(audit->rows[1].flags & AUDIT_DROPPED);
    assert_int_equal(audit->rows[2].n_trained, 2);
    assert_true(audit->rows[2].flags & AUDIT_END_TRAINED);
    assert_false(audit->is_sampled);
}

static void counted_tokens_stand_in_for_estimated_ones(void **state)
{
    struct imported_run *run = *state;
    const struct dataset *of = NULL;
    size_t n;

    write_trl(run, 3);
    const struct audit *audit = simulated(run, THREE_ROWS, NULL);
    const struct sample *samples = facts_samples(run->facts, audit->dataset, &n);

    assert_int_equal(n, 3);
    assert_int_equal(samples[1].n_tokens, 5);
    assert_int_equal(samples[1].n_prompt_tokens, 3);
    assert_int_equal(samples[1].n_trained, 0);
    assert_false(samples[1].flags & SAMPLE_ESTIMATED);
    assert_non_null(facts_lengths(run->facts, &n, &of));
    assert_int_equal(n, 3);
    assert_int_equal(of->id, audit->dataset->id);
}

/* Each such row costs the whole of what a template may use. */
static void a_template_that_never_ends_is_tried_in_a_few_rows(void **state)
{
    struct imported_run *run = *state;
    struct buf rows;

    buf_init(&rows, 1 << 20);
    for (int i = 0; i < 2000; i++)
        buf_puts(&rows, "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}\n");
    write_trl(run, 9);
    write(run, "out/chat_template.jinja",
          "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}");
    const struct audit *audit = simulated(run, rows.p, NULL);

    assert_non_null(strstr(audit->missing, "too much"));
    assert_true(audit->is_partial);
    assert_int_equal(audit->n_rows, 8);
    assert_int_equal(audited_flagged(audit, AUDIT_REFUSED), 8);
    buf_free(&rows);
}

static void without_a_tokenizer_it_says_what_to_import(void **state)
{
    struct imported_run *run = *state;

    write(run, "pip_freeze.txt", "trl==1.16.0\n");
    write(run, "training_args.json", "{\"completion_only_loss\": true, \"learning_rate\": 0.001}");
    const struct audit *audit = simulated(run, THREE_ROWS, NULL);

    assert_int_equal(audit->basis, AUDIT_NONE);
    assert_non_null(strstr(audit->missing, "tokenizer"));
    assert_null(audit->rows);
    assert_int_equal(audit->n_rows, 0);
}

static void a_version_that_changes_nothing_is_not_assumed(void **state)
{
    struct imported_run *run = *state;

    write_trl(run, 9);
    write(run, "pip_freeze.txt", "transformers==5.24.0\n");
    const struct audit *audit = simulated(run, THREE_ROWS, NULL);

    assert_int_equal(audit->basis, AUDIT_SIMULATED);
    assert_null(audit->assumption);
}

static void a_broken_tokenizer_is_named(void **state)
{
    struct imported_run *run = *state;

    write_trl(run, 9);
    write(run, "out/tokenizer.json", "{\"model\": {\"type\": \"Riddle\", \"vocab\": {}}}");
    const struct audit *audit = simulated(run, THREE_ROWS, NULL);

    assert_int_equal(audit->basis, AUDIT_NONE);
    assert_non_null(audit->missing);
}

static void any_number_of_threads_counts_the_same(void **state)
{
    struct imported_run *run = *state;
    const struct audit_hooks hooks = {.n_threads = 4};
    struct buf text;

    buf_init(&text, 1 << 20);
    for (int i = 0; i < 1000; i++)
        buf_printf(&text, "{\"prompt\": \"a%s\", \"completion\": \" %s\"}\n",
                   i % 3 == 0 ? " b"
                   : i % 7    ? ""
                              : " b d c",
                   i % 5 ? "c" : "c d");
    write_trl(run, 4);
    write(run, "train.jsonl", text.p);
    imported_run_audit(run, NULL);
    const struct audit *one = facts_audit(run->facts, "train");
    struct audit_row *rows = arena_array(run->arena, 1000, sizeof *rows);
    memcpy(rows, one->rows, 1000 * sizeof *rows);
    write(run, "training_args.json",
          "{\"completion_only_loss\": true, \"max_length\": 4, \"learning_rate\": 0.002}");
    assert_int_equal(store_audit_drop(run->store, audited_id(run), &run->err), OK);
    imported_run_audit(run, &hooks);
    const struct audit *four = facts_audit(run->facts, "train");
    buf_free(&text);

    assert_int_equal(four->n_rows, 1000);
    assert_memory_equal(four->rows, rows, 1000 * sizeof *rows);
}

/* ---- One row again ---- */

static void a_window_shows_the_row_of_the_audit(void **state)
{
    struct imported_run *run = *state;
    struct audit_window *window = NULL;
    const struct labelled_row *row;
    struct str raw;

    write_trl(run, 3);
    const struct audit *audit = simulated(run,
                                          "{\"prompt\": \"a b\", \"completion\": \" c\"}\n"
                                          "{\"prompt\": \n"
                                          "{\"prompt\": \"d\", \"completion\": \" c\"}\n",
                                          NULL);
    assert_int_equal(audit->n_rows, 3);
    assert_int_equal(audit_window_open(&window, run->facts, audit, &run->err), OK);
    assert_non_null(audit_window_tokenizer(window));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(audit_window_row(window, 2, &row, &raw, &run->err), OK);
        assert_int_equal(row->n, 3);
        assert_int_equal(row->ids[0], 6);
        assert_int_equal(row->trained[0], 0);
        assert_int_equal(row->trained[1], 1);
        assert_true(str_is(raw, "{\"prompt\": \"d\", \"completion\": \" c\"}"));
        assert_int_equal(audit_window_row(window, 0, &row, NULL, &run->err), OK);
        assert_int_equal(row->ids[0], 3);
        assert_int_equal(audit_window_row(window, 1, &row, &raw, &run->err), OK);
        assert_non_null(row->refused);
    }
    assert_int_equal(audit_window_row(window, 3, &row, NULL, &run->err), E_NOTFOUND);
    audit_window_close(window);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_labelled_as_their_trainer_does_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(counted_tokens_stand_in_for_estimated_ones, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_template_that_never_ends_is_tried_in_a_few_rows, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_a_tokenizer_it_says_what_to_import, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_version_that_changes_nothing_is_not_assumed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_broken_tokenizer_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_number_of_threads_counts_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_window_shows_the_row_of_the_audit, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
