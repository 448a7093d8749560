/* Which trainer's mask rules are chosen for a run, by what its files prove. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/facts/mask_policy.h"
#include "tests/harness/fake_run.h"
#include "tests/harness/imported_run.h"

/* ---- Runs made by hand ---- */

static const struct mask_policy *chosen(struct fake_run *run)
{
    static struct mask_policy policy;

    mask_policy_choose(fake_facts(run), fake_arena(run), &policy);
    return &policy;
}

static struct fake_run *trl_run(const char *version)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    fake_setting(run, "args_class", "trl.trainer.sft_config.SFTConfig");
    fake_setting(run, "max_length", "2048");
    if (version)
        fake_setting_on(run, SIDE_MODEL, "trl_version", version);
    return run;
}

static void versions_of_trl_choose_their_own_behaviour(void **state)
{
    static const struct {
        const char *version;
        enum mask_rule rule;
        bool is_prefix, drops, appends, appends_id;
    } CASES[] = {
        {"1.16.0", MASK_TRL, true, true, true, false},
        {"1.15", MASK_TRL, true, true, true, false},
        {"1.14.2", MASK_TRL, false, true, true, false},
        {"1.8.0", MASK_TRL, false, false, true, false},
        {"0.17.0", MASK_TRL, false, false, true, false},
        {"0.16.1", MASK_TRL_OLD, false, false, false, true},
        {"0.15.2", MASK_TRL_OLD, false, false, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct fake_run *run = trl_run(CASES[i].version);
        const struct mask_policy *p = chosen(run);

        assert_true(p->is_known);
        assert_false(p->has_other);
        assert_null(p->version_assumption);
        assert_int_equal(p->policy.rule, CASES[i].rule);
        assert_int_equal(p->policy.boundary_is_prefix, CASES[i].is_prefix);
        assert_int_equal(p->policy.drops_masked, CASES[i].drops);
        assert_int_equal(p->policy.appends_eos, CASES[i].appends);
        assert_int_equal(p->policy.appends_eos_id, CASES[i].appends_id);
        fake_run_free(run);
    }
}

static void an_unknown_version_leaves_two_rules_open(void **state)
{
    struct fake_run *run = trl_run(NULL);
    const struct mask_policy *p = chosen(run);

    (void)state;
    assert_true(p->is_known && p->has_other);
    assert_true(p->policy.boundary_is_prefix);
    assert_false(p->other.boundary_is_prefix);
    assert_string_equal(p->version_assumption, "TRL 1.15 or later");
    assert_non_null(p->missing);
    fake_run_free(run);
}

static void a_line_of_the_log_narrows_the_version(void **state)
{
    struct fake_run *run = trl_run(NULL);

    (void)state;
    fake_event(run, "template-mismatch", "prompt-not-prefix", NONE, "The tokenized prompt is not");
    const struct mask_policy *p = chosen(run);
    assert_true(p->policy.boundary_is_prefix && p->policy.drops_masked);
    assert_false(p->has_other);
    fake_run_free(run);
}

static void limits_are_the_stated_ones(void **state)
{
    struct fake_run *run = trl_run("1.16.0");

    (void)state;
    assert_int_equal(chosen(run)->policy.max_length, 2048);
    assert_null(chosen(run)->length_assumption);
    fake_run_free(run);

    run = fake_run_new(KIND_SFT);
    fake_setting(run, "args_class", "trl.trainer.sft_config.SFTConfig");
    fake_setting_on(run, SIDE_MODEL, "trl_version", "1.16.0");
    assert_int_equal(chosen(run)->policy.max_length, 1024);
    assert_non_null(chosen(run)->length_assumption);
    fake_run_free(run);
}

static void a_rewards_run_is_not_simulated(void **state)
{
    struct fake_run *run = fake_run_new(KIND_DPO);

    (void)state;
    fake_setting(run, "args_class", "trl.trainer.dpo_config.DPOConfig");
    assert_false(chosen(run)->is_known);
    assert_non_null(strstr(chosen(run)->missing, "labels_sample.jsonl"));
    fake_run_free(run);
}

static void a_trainer_with_rules_of_its_own_is_named_and_not_simulated(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_source(run, "torchtune_config.yaml", "torchtune");
    fake_setting_on(run, SIDE_MODEL, "trl_version", "1.16.0"); /* installed, not used */
    const struct mask_policy *p = chosen(run);
    assert_string_equal(p->framework, "torchtune");
    assert_false(p->is_known);
    assert_non_null(strstr(p->missing, "labels of torchtune are not simulated"));
    fake_run_free(run);
}

static void rows_alone_prove_no_trainer(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_dataset(run, "train", "messages", 10);
    assert_false(chosen(run)->is_known);
    assert_non_null(chosen(run)->missing);
    fake_run_free(run);
}

static void a_word_that_any_script_may_use_proves_no_trainer(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_setting(run, "dataset_dir", "data");
    fake_setting(run, "template", "llama3");
    assert_false(chosen(run)->is_known);
    fake_run_free(run);
}

static void plain_trainer_arguments_leave_the_labels_to_the_run(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_setting(run, "args_class", "transformers.training_args.TrainingArguments");
    fake_setting_on(run, SIDE_MODEL, "trl_version", "1.16.0");
    const struct mask_policy *p = chosen(run);
    assert_false(p->is_known);
    assert_string_equal(p->framework, "transformers' Trainer");
    fake_run_free(run);
}

static void llamafactory_needs_its_template(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_setting(run, "neat_packing", "false");
    fake_setting(run, "max_length", "512");
    assert_false(chosen(run)->is_known);
    fake_run_free(run);

    run = fake_run_new(KIND_SFT);
    fake_setting(run, "neat_packing", "false");
    fake_setting(run, "template", "llama3");
    fake_setting(run, "mask_history", "true");
    const struct mask_policy *p = chosen(run);
    assert_true(p->is_known);
    assert_int_equal(p->policy.rule, MASK_LLAMAFACTORY);
    assert_string_equal(p->policy.llamafactory_template, "llama3");
    assert_int_equal(p->policy.mask_history, YES);
    assert_int_equal(p->policy.max_length, 2048);
    fake_run_free(run);
}

static void axolotl_is_told_by_the_type_of_its_data(void **state)
{
    static const struct {
        const char *datasets;
        bool is_known;
        enum mask_rule rule;
    } CASES[] = {
        {"[{\"path\":\"a.jsonl\",\"type\":\"chat_template\"}]", true, MASK_AXOLOTL_CHAT},
        {"[{\"path\":\"a.jsonl\",\"type\":\"alpaca\"}]", true, MASK_AXOLOTL_PROMPT},
        {"[{\"path\":\"a.jsonl\",\"type\":\"completion\"}]", true, MASK_AXOLOTL_TEXT},
        {"[{\"path\":\"a.jsonl\",\"type\":\"input_output\"}]", true, MASK_AXOLOTL_SEGMENTS},
        {"[{\"path\":\"a.jsonl\",\"type\":\"sharegpt_of_mine\"}]", false, 0},
        {"[{\"path\":\"a.jsonl\"}]", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct fake_run *run = fake_run_new(KIND_SFT);

        fake_setting(run, "train_on_eos", "turn");
        fake_setting(run, "roles_to_train", "[\"assistant\"]");
        fake_setting(run, "datasets", CASES[i].datasets);
        const struct mask_policy *p = chosen(run);
        assert_int_equal(p->is_known, CASES[i].is_known);
        if (p->is_known) {
            assert_int_equal(p->policy.rule, CASES[i].rule);
            assert_int_equal(p->policy.n_roles, 1);
            assert_true(p->policy.drops_long);
            assert_int_equal(p->policy.max_length, 512);
        }
        fake_run_free(run);
    }
}

static void unsloth_reads_the_markers_of_its_log_line(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_event(run, "info", "unsloth-mask-markers", NONE, "Unsloth: Auto-detected");
    fake_capture(run, 1, "'<|im_start|>user\\n'");
    fake_capture(run, 2, "'<|im_start|>assistant\\n'");
    const struct mask_policy *p = chosen(run);
    assert_true(p->is_known);
    assert_int_equal(p->policy.rule, MASK_UNSLOTH);
    assert_true(str_is(p->policy.response.text, "<|im_start|>assistant\n"));
    assert_true(str_is(p->policy.instruction.text, "<|im_start|>user\n"));
    assert_true(p->policy.stops_at_end_tokens);
    fake_run_free(run);
}

static void unsloth_without_markers_is_not_known(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_event(run, "info", "unsloth-banner", NONE, "Unsloth 2026.10");
    assert_false(chosen(run)->is_known);
    assert_non_null(strstr(chosen(run)->missing, "instruction_part"));
    fake_run_free(run);
}

static void a_response_template_may_be_given_as_ids(void **state)
{
    struct fake_run *run = fake_run_new(KIND_SFT);

    (void)state;
    fake_setting(run, "response_template", "[33706, 25]");
    fake_setting(run, "instruction_template", "### Human:");
    const struct mask_policy *p = chosen(run);
    assert_true(p->is_known);
    assert_int_equal(p->policy.rule, MASK_RESPONSE_TEMPLATE);
    assert_null(p->policy.response.text.p);
    assert_int_equal(p->policy.response.n_ids, 2);
    assert_int_equal(p->policy.response.ids[1], 25);
    assert_true(str_is(p->policy.instruction.text, "### Human:"));
    assert_true(p->policy.masks_pad_id);
    fake_run_free(run);
}

static void an_option_beside_a_loss_setting_is_no_collator(void **state)
{
    struct fake_run *run = trl_run("1.16.0");

    (void)state;
    fake_setting(run, "assistant_only_loss", "true");
    fake_setting(run, "response_template", "<|im_start|>assistant");
    const struct mask_policy *p = chosen(run);
    assert_int_equal(p->policy.rule, MASK_TRL);
    assert_int_equal(p->policy.assistant_only, YES);
    fake_run_free(run);
}

/* ---- Files ---- */

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

static const struct mask_policy *of_folder(struct imported_run *run)
{
    static struct mask_policy policy;

    imported_run_read(run);
    mask_policy_choose(run->facts, run->arena, &policy);
    return &policy;
}

static bool ends(const char *path, const char *end)
{
    return path && str_ends(str_of(path), end);
}

static void the_saved_tokenizer_comes_before_the_base_model(void **state)
{
    struct imported_run *run = *state;

    tempdir_write_text(run->folder, "base/tokenizer.json", "{\"model\": {\"vocab\": {\"a\": 0}}}");
    tempdir_write_text(run->folder, "base/chat_template.jinja", "{{ messages }}");
    tempdir_write_text(run->folder, "training_args.json", "{\"learning_rate\": 0.1}");
    assert_true(ends(of_folder(run)->tokenizer_path, "/base"));
    assert_true(ends(of_folder(run)->template_path, "/base/chat_template.jinja"));

    tempdir_write_text(run->folder, "out/tokenizer.json", "{\"model\": {\"vocab\": {\"a\": 0}}}");
    tempdir_write_text(run->folder, "out/tokenizer_config.json",
                       "{\"eos_token\": \"a\", \"chat_template\": \"{{ messages }}\"}");
    assert_true(ends(of_folder(run)->tokenizer_path, "/out"));
    assert_true(ends(of_folder(run)->template_path, "/out/tokenizer_config.json"));
}

static void what_is_served_is_not_what_was_trained_with(void **state)
{
    struct imported_run *run = *state;

    tempdir_write_text(run->folder, "serve/tokenizer.json", "{\"model\": {\"vocab\": {\"a\": 0}}}");
    tempdir_write_text(run->folder, "serve/chat_template.jinja", "{{ messages }}");
    tempdir_write_text(run->folder, "training_args.json", "{\"learning_rate\": 0.1}");
    assert_null(of_folder(run)->tokenizer_path);
    assert_null(of_folder(run)->template_path);
}

static void a_config_without_a_vocabulary_is_no_tokenizer(void **state)
{
    struct imported_run *run = *state;

    tempdir_write_text(run->folder, "tokenizer_config.json", "{\"eos_token\": \"a\"}");
    tempdir_write_text(run->folder, "training_args.json", "{\"learning_rate\": 0.1}");
    assert_null(of_folder(run)->tokenizer_path);
    tempdir_write_text(run->folder, "vocab.txt", "a\nb\n");
    assert_non_null(of_folder(run)->tokenizer_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_of_trl_choose_their_own_behaviour),
        cmocka_unit_test(an_unknown_version_leaves_two_rules_open),
        cmocka_unit_test(a_line_of_the_log_narrows_the_version),
        cmocka_unit_test(limits_are_the_stated_ones),
        cmocka_unit_test(a_rewards_run_is_not_simulated),
        cmocka_unit_test(a_trainer_with_rules_of_its_own_is_named_and_not_simulated),
        cmocka_unit_test(rows_alone_prove_no_trainer),
        cmocka_unit_test(a_word_that_any_script_may_use_proves_no_trainer),
        cmocka_unit_test(plain_trainer_arguments_leave_the_labels_to_the_run),
        cmocka_unit_test(llamafactory_needs_its_template),
        cmocka_unit_test(axolotl_is_told_by_the_type_of_its_data),
        cmocka_unit_test(unsloth_reads_the_markers_of_its_log_line),
        cmocka_unit_test(unsloth_without_markers_is_not_known),
        cmocka_unit_test(a_response_template_may_be_given_as_ids),
        cmocka_unit_test(an_option_beside_a_loss_setting_is_no_collator),
        cmocka_unit_test_setup_teardown(the_saved_tokenizer_comes_before_the_base_model, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_served_is_not_what_was_trained_with, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_config_without_a_vocabulary_is_no_tokenizer, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
