/* The kind of a run, its marks and its framework (CHECKS.md 2.1). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/facts/facts_cache.h"
#include "core/facts/run_kind.h"
#include "tests/harness/tempdir.h"

#define MAX 16

static struct source sources[MAX];
static struct setting settings[MAX];
static struct series series[MAX];
static struct dataset datasets[MAX];
static struct event events[MAX];
static struct answer answers[MAX];
static struct facts_memory memory;
static struct run_facts *facts;

static int set_up(void **state)
{
    (void)state;
    memset(&memory, 0, sizeof memory);
    memory.lists.sources = sources;
    memory.lists.settings = settings;
    memory.lists.series = series;
    memory.lists.datasets = datasets;
    memory.lists.events = events;
    memory.lists.answers = answers;
    memory.lists.run.folder = "/x/run";
    memory.lists.last_step = memory.lists.max_steps = NONE;
    memory.lists.planned_epochs = memory.lists.last_epoch = NAN;
    facts = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    run_facts_close(facts);
    return 0;
}

static void source(const char *path, const char *importer)
{
    size_t n = memory.lists.n_sources++;

    sources[n] = (struct source){.id = (int64_t)n + 1, .path = path, .importer = importer};
}

static void setting(enum side side, const char *name, const char *value, enum value_type type)
{
    settings[memory.lists.n_settings++] = (struct setting){.source_id = 1,
                                                           .side = side,
                                                           .raw_name = name,
                                                           .name = name,
                                                           .value = value,
                                                           .type = type,
                                                           .line = NONE};
}

static void metric(const char *name)
{
    series[memory.lists.n_series++] =
        (struct series){.source_id = 1, .name = name, .raw_name = name, .n_points = 3};
}

static void rows(const char *form, const char *columns, int64_t n)
{
    datasets[memory.lists.n_datasets++] = (struct dataset){.source_id = 1,
                                                           .name = "train",
                                                           .split = "train",
                                                           .form = form,
                                                           .columns = columns,
                                                           .n_rows = n};
}

static enum run_kind decide(void)
{
    struct error err;

    assert_int_equal(run_facts_from_memory(&facts, &memory, &err), OK);
    run_kind_decide(facts);
    return facts->run.kind;
}

static void reward_and_its_spread_are_grpo(void **state)
{
    (void)state;
    metric("loss");
    metric("reward");
    metric("reward_std");
    metric("rewards/chosen");
    assert_int_equal(decide(), KIND_GRPO);
}

static void a_grpo_config_is_grpo_before_any_row(void **state)
{
    (void)state;
    setting(SIDE_TRAIN, "num_generations", "8", VALUE_INT);
    assert_int_equal(decide(), KIND_GRPO);
}

static void ppo_is_known_by_its_keys(void **state)
{
    (void)state;
    metric("ppo/mean_scores");
    assert_int_equal(decide(), KIND_PPO);
}

static void pairs_in_the_data_are_dpo(void **state)
{
    (void)state;
    setting(SIDE_TRAIN, "learning_rate", "5e-6", VALUE_FLOAT);
    rows("preference", "prompt,chosen,rejected", 900);
    assert_int_equal(decide(), KIND_DPO);
}

static void held_out_pairs_tell_the_kind_where_no_training_rows_are(void **state)
{
    (void)state;
    rows("preference", "prompt,chosen,rejected", 90);
    datasets[0].split = "eval";
    assert_int_equal(decide(), KIND_DPO);
}

static void pairs_with_a_reward_stage_are_a_reward_model(void **state)
{
    (void)state;
    setting(SIDE_TRAIN, "stage", "rm", VALUE_TEXT);
    rows("preference", "prompt,chosen,rejected", 900);
    assert_int_equal(decide(), KIND_REWARD_MODEL);
}

static void a_classification_head_is_classification(void **state)
{
    (void)state;
    setting(SIDE_MODEL, "architectures", "[\"RobertaForSequenceClassification\"]", VALUE_LIST);
    metric("loss");
    assert_int_equal(decide(), KIND_CLASSIFICATION);
}

static void an_encoder_with_a_decoder_is_seq2seq(void **state)
{
    (void)state;
    setting(SIDE_MODEL, "architectures", "[\"T5ForConditionalGeneration\"]", VALUE_LIST);
    setting(SIDE_MODEL, "is_encoder_decoder", "true", VALUE_BOOL);
    assert_int_equal(decide(), KIND_SEQ2SEQ);
}

static void a_vision_model_is_no_seq2seq_for_its_name(void **state)
{
    (void)state;
    setting(SIDE_MODEL, "architectures", "[\"Qwen2_5_VLForConditionalGeneration\"]", VALUE_LIST);
    metric("loss");
    assert_int_equal(decide(), KIND_SFT);
}

static void llamafactorys_seq2seq_arguments_say_nothing(void **state)
{
    (void)state;
    source("/x/run/trainer_log.jsonl", "trainer_log");
    setting(SIDE_TRAIN, "args_class", "transformers.training_args_seq2seq.Seq2SeqTrainingArguments",
            VALUE_TEXT);
    metric("loss");
    assert_int_equal(decide(), KIND_SFT);
}

static void seq2seq_arguments_alone_are_seq2seq(void **state)
{
    (void)state;
    source("/x/run/trainer_state.json", "hf_trainer_state");
    setting(SIDE_TRAIN, "args_class", "transformers.training_args_seq2seq.Seq2SeqTrainingArguments",
            VALUE_TEXT);
    metric("loss");
    assert_int_equal(decide(), KIND_SEQ2SEQ);
}

static void ms_swifts_seq2seq_arguments_say_nothing(void **state)
{
    (void)state;
    setting(SIDE_TRAIN, "args_class", "swift.trainers.arguments.Seq2SeqTrainingArguments",
            VALUE_TEXT);
    setting(SIDE_TRAIN, "learning_rate", "1e-4", VALUE_FLOAT);
    rows("messages", "messages", 100);
    assert_int_equal(decide(), KIND_SFT);
}

static void a_stated_kind_counts_more_than_the_defaults_of_another(void **state)
{
    (void)state;
    source("/x/run/args.json", "ms_swift");
    setting(SIDE_TRAIN, "rl", "dpo", VALUE_TEXT);
    setting(SIDE_TRAIN, "num_generations", "8", VALUE_INT);
    setting(SIDE_TRAIN, "init_kl_coef", "0.05", VALUE_FLOAT);
    assert_int_equal(decide(), KIND_DPO);
}

static void plain_text_rows_are_pretraining_but_rendered_turns_are_not(void **state)
{
    char *folder = tempdir_make();

    (void)state;
    tempdir_write_text(folder, "plain.jsonl", "{\"text\": \"The river rises in spring.\"}\n");
    tempdir_write_text(folder, "turns.jsonl",
                       "{\"text\": \"<|im_start|>user\\nHi<|im_end|>\\n\"}\n");
    source(tempdir_path(folder, "plain.jsonl"), "dataset_rows");
    metric("loss");
    rows("text", "text", 900);
    assert_int_equal(decide(), KIND_PRETRAINING);
    run_facts_close(facts);
    sources[0].path = tempdir_path(folder, "turns.jsonl");
    assert_int_equal(decide(), KIND_SFT);
    assert_false(facts->kind_is_assumed);
    tempdir_remove(folder);
}

static void rows_with_a_loss_alone_are_assumed_to_be_sft(void **state)
{
    (void)state;
    metric("loss");
    assert_int_equal(decide(), KIND_SFT);
    assert_true(facts->kind_is_assumed);
}

static void a_data_set_alone_is_no_run(void **state)
{
    (void)state;
    rows("messages", "messages", 900);
    assert_int_equal(decide(), KIND_UNKNOWN);
}

static void the_users_answer_decides(void **state)
{
    (void)state;
    metric("loss");
    answers[0] = (struct answer){"kind", "pretraining"};
    memory.lists.n_answers = 1;
    assert_int_equal(decide(), KIND_PRETRAINING);
    assert_false(facts->kind_is_assumed);
}

static void few_rows_and_many_epochs_are_the_ten_row_test(void **state)
{
    (void)state;
    metric("loss");
    rows("messages", "messages", 10);
    memory.lists.planned_epochs = 40;
    decide();
    assert_int_equal(facts->run.marks, MARK_TEN_ROW_TEST);
    run_facts_close(facts);
    memory.lists.planned_epochs = 3;
    decide();
    assert_int_equal(facts->run.marks, 0);
}

static void prediction_without_training_is_marked(void **state)
{
    (void)state;
    setting(SIDE_TRAIN, "do_predict", "true", VALUE_BOOL);
    decide();
    assert_int_equal(facts->run.marks, MARK_EVAL_ONLY);
    run_facts_close(facts);
    metric("loss");
    decide();
    assert_int_equal(facts->run.marks, 0);
}

static void a_crash_before_the_first_row_is_not_eval_only(void **state)
{
    (void)state;
    setting(SIDE_TRAIN, "do_train", "false", VALUE_BOOL);
    setting(SIDE_TRAIN, "args_class", "trl.trainer.sft_config.SFTConfig", VALUE_TEXT);
    assert_int_equal(decide(), KIND_SFT);
    assert_int_equal(facts->run.marks, 0);
}

static void the_framework_is_named_as_the_files_allow(void **state)
{
    (void)state;
    setting(SIDE_TRAIN, "args_class", "trl.trainer.sft_config.SFTConfig", VALUE_TEXT);
    setting(SIDE_MODEL, "transformers_version", "5.24.0", VALUE_TEXT);
    decide();
    struct arena *arena = arena_open(4096);
    assert_string_equal(run_framework(facts, arena), "TRL, transformers 5.24.0");
    run_facts_close(facts);
    settings[0].value = "transformers.training_args.TrainingArguments";
    decide();
    assert_string_equal(run_framework(facts, arena), "transformers 5.24.0");
    arena_close(arena);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void a_settings_file_tells_the_framework(void **state)
{
    static const struct {
        const char *importer, *framework;
    } cases[] = {{"axolotl", "axolotl"}, {"unsloth", "Unsloth"},     {"ms_swift", "ms-swift"},
                 {"nemo", "NeMo"},       {"torchtune", "torchtune"}, {"litgpt", "LitGPT"}};
    struct arena *arena = arena_open(4096);

    (void)state;
    source("/x/run/config.yaml", "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sources[0].importer = cases[i].importer;
        decide();
        assert_string_equal(run_framework(facts, arena), cases[i].framework);
        run_facts_close(facts);
        facts = NULL;
    }
    sources[0].importer = "accelerate"; /* every trainer can be started with it */
    decide();
    assert_null(run_framework(facts, arena));
    arena_close(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(reward_and_its_spread_are_grpo),
        CASE(a_grpo_config_is_grpo_before_any_row),
        CASE(ppo_is_known_by_its_keys),
        CASE(pairs_in_the_data_are_dpo),
        CASE(held_out_pairs_tell_the_kind_where_no_training_rows_are),
        CASE(pairs_with_a_reward_stage_are_a_reward_model),
        CASE(a_classification_head_is_classification),
        CASE(an_encoder_with_a_decoder_is_seq2seq),
        CASE(a_vision_model_is_no_seq2seq_for_its_name),
        CASE(llamafactorys_seq2seq_arguments_say_nothing),
        CASE(seq2seq_arguments_alone_are_seq2seq),
        CASE(plain_text_rows_are_pretraining_but_rendered_turns_are_not),
        CASE(rows_with_a_loss_alone_are_assumed_to_be_sft),
        CASE(a_data_set_alone_is_no_run),
        CASE(the_users_answer_decides),
        CASE(few_rows_and_many_epochs_are_the_ten_row_test),
        CASE(prediction_without_training_is_marked),
        CASE(a_crash_before_the_first_row_is_not_eval_only),
        CASE(the_framework_is_named_as_the_files_allow),
        CASE(a_settings_file_tells_the_framework),
        CASE(ms_swifts_seq2seq_arguments_say_nothing),
        CASE(a_stated_kind_counts_more_than_the_defaults_of_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
