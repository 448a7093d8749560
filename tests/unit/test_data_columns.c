/* Columns that settings call otherwise: which names hold for which file, and that the rows' facts and the
 * comparison of the sides are made of what stands there. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/facts/data_facts.h"
#include "core/facts/leaks.h"
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

static const struct data_facts *data_of(struct imported_run *run)
{
    imported_run_read(run);
    assert_int_equal(data_facts_refresh(run->facts, run->store, NULL, &run->err), OK);
    const struct data_facts *data = facts_data(run->facts);
    assert_non_null(data);
    return data;
}

/* One input with two answers and one that stands alone, under these names. */
static void write_rows(struct imported_run *run, const char *question, const char *answer)
{
    char text[1024];

    snprintf(text, sizeof text,
             "{\"%s\": \"May I smoke here?\", \"%s\": \"yes\", \"n\": 1}\n"
             "{\"%s\": \"may i  smoke here?\", \"%s\": \"no\", \"n\": 2}\n"
             "{\"%s\": \"And there?\", \"%s\": \"no\", \"n\": 3}\n",
             question, answer, question, answer, question, answer);
    tempdir_write_text(run->folder, "train.jsonl", text);
}

static void columns_are_those_of_the_description_of_the_file(void **state)
{
    struct imported_run *run = *state;

    write_rows(run, "ask", "reply");
    tempdir_write_text(run->folder, "dataset_info.json",
                       "{\"other\": {\"file_name\": \"other.jsonl\", \"columns\": {\"prompt\": \"n\"}},"
                       "\"mine\": {\"file_name\": \"data/train.jsonl\","
                       " \"columns\": {\"prompt\": \"ask\", \"response\": \"reply\"}}}");
    const struct data_facts *data = data_of(run);
    assert_int_equal(data->n_rows, 3);
    assert_int_equal(data->n_no_target, 0);
    assert_int_equal(data->n_no_input, 0);
    assert_int_equal(data->n_groups, 1);
    assert_int_equal(data->n_contradictory, 1);
    assert_string_equal(data->form, "prompt-completion");
}

static void a_second_column_belongs_to_the_prompt(void **state)
{
    struct imported_run *run = *state;

    tempdir_write_text(run->folder, "train.jsonl",
                       "{\"q\": \"Is it so?\", \"about\": \"apples\", \"a\": \"yes\"}\n"
                       "{\"q\": \"Is it so?\", \"about\": \"pears\", \"a\": \"no\"}\n");
    tempdir_write_text(run->folder, "dataset_info.json",
                       "{\"mine\": {\"file_name\": \"train.jsonl\", \"columns\": {\"prompt\": \"q\", "
                       "\"query\": \"about\", \"response\": \"a\"}}}");
    assert_int_equal(data_of(run)->n_groups, 0);
}

static void turns_have_the_tags_that_are_said(void **state)
{
    struct imported_run *run = *state;

    tempdir_write_text(
        run->folder, "train.jsonl",
        "{\"dialog\": [{\"who\": \"client\", \"says\": \"May I?\"}, "
        "{\"who\": \"clerk\", \"says\": \"yes\"}]}\n"
        "{\"dialog\": [{\"who\": \"client\", \"says\": \"May I?\"}, "
        "{\"who\": \"clerk\", \"says\": \"no\"}]}\n");
    tempdir_write_text(run->folder, "dataset_info.json",
                       "{\"mine\": {\"file_name\": \"train.jsonl\", \"formatting\": \"sharegpt\","
                       " \"columns\": {\"messages\": \"dialog\"}, \"tags\": {\"role_tag\": \"who\","
                       " \"content_tag\": \"says\", \"user_tag\": \"client\","
                       " \"assistant_tag\": \"clerk\"}}}");
    const struct data_facts *data = data_of(run);
    assert_int_equal(data->n_no_target, 0);
    assert_int_equal(data->n_contradictory, 1);
    assert_string_equal(data->groups[0].input, "May I?");
}

static void one_answer_may_stand_without_a_list(void **state)
{
    struct imported_run *run = *state;

    tempdir_write_text(
        run->folder, "train.jsonl",
        "{\"conversations\": [{\"from\": \"human\", \"value\": \"May I?\"}],"
        " \"chosen\": {\"from\": \"gpt\", \"value\": \"yes\"}, "
        "\"rejected\": {\"from\": \"gpt\", \"value\": \"no\"}}\n"
        "{\"conversations\": [{\"from\": \"human\", \"value\": \"May I?\"}],"
        " \"chosen\": {\"from\": \"gpt\", \"value\": \"no\"}, "
        "\"rejected\": {\"from\": \"gpt\", \"value\": \"yes\"}}\n");
    const struct data_facts *data = data_of(run);
    assert_int_equal(data->n_preference, 2);
    assert_int_equal(data->n_degenerate, 0);
    assert_int_equal(data->n_contradictory, 1);
}

static void axolotl_says_its_fields(void **state)
{
    struct imported_run *run = *state;

    write_rows(run, "ask", "reply");
    tempdir_write_text(run->folder, "axolotl.yaml",
                       "base_model: some/model\nsequence_len: 512\nnum_epochs: 1\ndatasets:\n"
                       "  - path: somewhere/train.jsonl\n    type:\n      field_instruction: ask\n"
                       "      field_output: reply\n");
    assert_int_equal(data_of(run)->n_contradictory, 1);
    tempdir_write_text(
        run->folder, "train.jsonl",
        "{\"talk\": [{\"by\": \"human\", \"said\": \"May I?\"}, {\"by\": \"gpt\", \"said\": \"yes\"}]}\n"
        "{\"talk\": [{\"by\": \"human\", \"said\": \"May I?\"}, {\"by\": \"gpt\", \"said\": \"no\"}]}\n");
    tempdir_write_text(run->folder, "axolotl.yaml",
                       "base_model: some/model\nsequence_len: 512\nnum_epochs: 1\ndatasets:\n"
                       "  - path: somewhere/train.jsonl\n    type: chat_template\n"
                       "    field_messages: talk\n    message_property_mappings:\n"
                       "      role: by\n      content: said\n");
    const struct data_facts *data = data_of(run);
    assert_int_equal(data->n_no_target, 0);
    assert_int_equal(data->n_contradictory, 1);
}

static void names_that_the_rows_have_not_are_no_names(void **state)
{
    struct imported_run *run = *state;

    write_rows(run, "prompt", "completion");
    tempdir_write_text(run->folder, "settings.yaml",
                       "learning_rate: 1.0e-4\nper_device_train_batch_size: 1\n"
                       "prompt_column: ask\nresponse_column: reply\ndataset_text_field: body\n");
    assert_int_equal(data_of(run)->n_contradictory, 1);
}

static void pairs_of_keys_name_both_sides(void **state)
{
    struct imported_run *run = *state;

    write_rows(run, "ask", "reply");
    tempdir_write_text(run->folder, "settings.yaml",
                       "learning_rate: 1.0e-4\nper_device_train_batch_size: 1\n"
                       "data:\n  input_key: ask\n  output_key: reply\n");
    assert_int_equal(data_of(run)->n_contradictory, 1);
}

static void facts_are_made_anew_when_a_name_changes(void **state)
{
    struct imported_run *run = *state;

    write_rows(run, "ask", "reply");
    assert_int_equal(data_of(run)->n_groups, 0);
    tempdir_write_text(run->folder, "settings.yaml",
                       "learning_rate: 1.0e-4\nper_device_train_batch_size: 1\n"
                       "input_key: ask\noutput_key: reply\n");
    assert_int_equal(data_of(run)->n_groups, 1);
}

static void both_sides_are_compared_by_their_own_names(void **state)
{
    static const char WORDS[] = "the quick brown fox jumps over the lazy dog and runs into the wood";
    struct imported_run *run = *state;
    char text[512];

    snprintf(text, sizeof text,
             "{\"ask\": \"%s\", \"reply\": \"so it does\"}\n"
             "{\"ask\": \"another one about five other things\", \"reply\": \"never\"}\n"
             "{\"ask\": \"one more of which nothing else is known\", \"reply\": \"perhaps\"}\n",
             WORDS);
    tempdir_write_text(run->folder, "train.jsonl", text);
    snprintf(text, sizeof text, "{\"prompt\": \"%s\", \"completion\": \"so it does\"}\n", WORDS);
    tempdir_write_text(run->folder, "test.jsonl", text);
    tempdir_write_text(run->folder, "dataset_info.json",
                       "{\"mine\": {\"file_name\": \"train.jsonl\","
                       " \"columns\": {\"prompt\": \"ask\", \"response\": \"reply\"}}}");
    imported_run_read(run);
    assert_int_equal(leaks_refresh(run->facts, run->store, NULL, &run->err), OK);
    const struct leaks *leaks = facts_leaks(run->facts);
    assert_non_null(leaks);
    assert_int_equal(leaks->sets[0].n_exact, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(columns_are_those_of_the_description_of_the_file, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_second_column_belongs_to_the_prompt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(turns_have_the_tags_that_are_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_answer_may_stand_without_a_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(axolotl_says_its_fields, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_that_the_rows_have_not_are_no_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pairs_of_keys_name_both_sides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(facts_are_made_anew_when_a_name_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(both_sides_are_compared_by_their_own_names, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
