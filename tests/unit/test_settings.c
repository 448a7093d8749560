/* Which statement of a setting counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/facts/facts_cache.h"

#define MAX 16

static struct source sources[MAX];
static struct setting settings[MAX];
static struct answer answers[MAX];
static struct facts_memory memory;
static struct run_facts *facts;

static int set_up(void **state)
{
    (void)state;
    memset(&memory, 0, sizeof memory);
    memory.lists.sources = sources;
    memory.lists.settings = settings;
    memory.lists.answers = answers;
    memory.lists.run.folder = "/x/run";
    facts = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    run_facts_close(facts);
    return 0;
}

static int64_t add_source(const char *path, const char *importer, const char *role)
{
    size_t n = memory.lists.n_sources++;

    sources[n] =
        (struct source){.id = (int64_t)n + 1, .path = path, .importer = importer, .role = role};
    return sources[n].id;
}

static void add(int64_t source, enum side side, const char *name, const char *value,
                enum value_type type)
{
    settings[memory.lists.n_settings++] = (struct setting){.source_id = source,
                                                           .side = side,
                                                           .raw_name = name,
                                                           .name = name,
                                                           .value = value,
                                                           .type = type,
                                                           .line = NONE};
}

static void open_facts(void)
{
    struct error err;

    assert_int_equal(run_facts_from_memory(&facts, &memory, &err), OK);
}

static void what_the_process_recorded_beats_the_config_file(void **state)
{
    (void)state;
    int64_t yaml = add_source("/x/train.yaml", "settings_file", "config");
    int64_t log = add_source("/x/console.log", "console_log", "log");
    int64_t args = add_source("/x/run/training_args.bin", "hf_training_args", "args");

    add(yaml, SIDE_TRAIN, "learning_rate", "1e-3", VALUE_FLOAT);
    add(log, SIDE_TRAIN, "learning_rate", "2e-3", VALUE_FLOAT);
    add(log, SIDE_TRAIN, "max_length", "512", VALUE_INT);
    add(yaml, SIDE_TRAIN, "max_length", "1024", VALUE_INT);
    add(args, SIDE_TRAIN, "learning_rate", "3e-3", VALUE_FLOAT);
    open_facts();
    assert_string_equal(facts_text(facts, "learning_rate"), "3e-3");
    assert_string_equal(facts_text(facts, "max_length"), "512");
    assert_null(facts_setting(facts, "seed"));
}

static void the_users_answer_beats_everything(void **state)
{
    (void)state;
    int64_t args = add_source("/x/run/training_args.bin", "hf_training_args", "args");

    add(args, SIDE_TRAIN, "seed", "1", VALUE_INT);
    answers[0] = (struct answer){"seed", "7"};
    answers[1] = (struct answer){"split:data/a.jsonl", "test"};
    memory.lists.n_answers = 2;
    open_facts();
    assert_string_equal(facts_text(facts, "seed"), "7");
    assert_int_equal(facts_setting(facts, "seed")->source_id, 0);
    assert_string_equal(facts_answer(facts, "seed"), "7");
    assert_null(facts_answer(facts, "kind"));
}

static void null_and_auto_give_way_to_a_value(void **state)
{
    (void)state;
    int64_t args = add_source("/x/run/training_args.bin", "hf_training_args", "args");
    int64_t yaml = add_source("/x/train.yaml", "settings_file", "config");
    int64_t deepspeed = add_source("/x/ds.json", "deepspeed", "config");

    add(args, SIDE_TRAIN, "max_length", "null", VALUE_NULL);
    add(yaml, SIDE_TRAIN, "max_length", "2048", VALUE_INT);
    add(deepspeed, SIDE_TRAIN, "bf16", "auto", VALUE_TEXT);
    add(yaml, SIDE_TRAIN, "bf16", "true", VALUE_BOOL);
    add(args, SIDE_TRAIN, "packing", "null", VALUE_NULL);
    open_facts();
    assert_string_equal(facts_text(facts, "max_length"), "2048");
    assert_int_equal(facts_bool(facts, "bf16"), 1);
    assert_non_null(facts_setting(facts, "packing"));
    assert_null(facts_text(facts, "packing"));
    assert_int_equal(facts_bool(facts, "packing"), -1);
}

/* What a logger got of transformers' arguments: every key that ends with _token is masked. */
static void a_value_that_was_kept_back_says_nothing(void **state)
{
    (void)state;
    int64_t args = add_source("/x/run/training_args.bin", "hf_training_args", "args");
    int64_t events = add_source("/x/run/events.out.tfevents.1.host", "tensorboard", "log");

    add(args, SIDE_TRAIN, "eos_token", "null", VALUE_NULL);
    add(events, SIDE_TRAIN, "eos_token", "<EOS_TOKEN>", VALUE_TEXT);
    add(events, SIDE_TRAIN, "pad_token", "<PAD_TOKEN>", VALUE_TEXT);
    add(events, SIDE_TRAIN, "image_token", "<IMAGE>", VALUE_TEXT);
    open_facts();
    assert_null(facts_text(facts, "eos_token"));
    assert_null(facts_text(facts, "pad_token"));
    assert_string_equal(facts_text(facts, "image_token"), "<IMAGE>");
}

static void the_runs_own_arguments_beat_a_checkpoints_and_a_late_one_an_early_one(void **state)
{
    (void)state;
    int64_t early = add_source("/x/run/checkpoint-9/training_args.bin", "hf_training_args", "args");
    int64_t late = add_source("/x/run/checkpoint-10/training_args.bin", "hf_training_args", "args");
    int64_t own = add_source("/x/run/training_args.bin", "hf_training_args", "args");

    add(early, SIDE_TRAIN, "learning_rate", "9", VALUE_INT);
    add(late, SIDE_TRAIN, "learning_rate", "10", VALUE_INT);
    add(early, SIDE_TRAIN, "seed", "9", VALUE_INT);
    add(late, SIDE_TRAIN, "seed", "10", VALUE_INT);
    add(own, SIDE_TRAIN, "seed", "11", VALUE_INT);
    open_facts();
    assert_string_equal(facts_text(facts, "learning_rate"), "10");
    assert_string_equal(facts_text(facts, "seed"), "11");
}

static void the_adapters_config_answers_where_the_arguments_are_silent(void **state)
{
    (void)state;
    int64_t args = add_source("/x/train.yaml", "llamafactory", "config");
    int64_t adapter = add_source("/x/run/adapter_config.json", "peft_adapter", "trained");

    add(adapter, SIDE_ADAPTER, "lora_r", "8", VALUE_INT);
    add(adapter, SIDE_ADAPTER, "lora_alpha", "16", VALUE_INT);
    add(args, SIDE_TRAIN, "lora_alpha", "32", VALUE_INT);
    open_facts();
    assert_string_equal(facts_text(facts, "lora_r"), "8");
    assert_string_equal(facts_text(facts, "lora_alpha"), "32");
    assert_string_equal(facts_setting_on(facts, SIDE_ADAPTER, "lora_alpha")->value, "16");
    assert_int_equal(facts_is_adapter_run(facts, NULL), 1);
}

static void the_base_speaks_for_the_model_and_the_run_for_the_tokenizer(void **state)
{
    (void)state;
    int64_t run = add_source("/x/run/config.json", "hf_model", "trained");
    int64_t base = add_source("/x/base/config.json", "hf_model", "base");

    add(run, SIDE_MODEL, "torch_dtype", "float16", VALUE_TEXT);
    add(base, SIDE_MODEL, "torch_dtype", "bfloat16", VALUE_TEXT);
    add(base, SIDE_TOKENIZER, "eos_token", "a", VALUE_TEXT);
    add(run, SIDE_TOKENIZER, "eos_token", "b", VALUE_TEXT);
    open_facts();
    assert_string_equal(facts_setting_on(facts, SIDE_MODEL, "torch_dtype")->value, "bfloat16");
    assert_string_equal(facts_setting_on(facts, SIDE_TOKENIZER, "eos_token")->value, "b");
}

static void booleans_are_read_as_people_write_them(void **state)
{
    static const struct {
        const char *value;
        int is;
    } CASES[] = {{"true", 1},  {"True", 1}, {"yes", 1}, {"1", 1},      {"unsloth", 1}, {"false", 0},
                 {"False", 0}, {"off", 0},  {"0", 0},   {"maybe", -1}, {"", -1}};

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct setting s = {.value = CASES[i].value, .type = VALUE_TEXT};

        assert_int_equal(setting_bool(&s), CASES[i].is);
    }
    assert_int_equal(setting_bool(NULL), -1);
}

static void lists_are_json_or_stand_between_commas(void **state)
{
    static const char *const CASES[] = {"[\"q_proj\",\"v_proj\"]", "q_proj,v_proj",
                                        "['q_proj', 'v_proj']", " q_proj , v_proj "};
    const char *const *items;

    (void)state;
    open_facts();
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct setting s = {.value = CASES[i], .type = VALUE_TEXT};

        assert_int_equal(setting_list(&s, facts, &items), 2);
        assert_string_equal(items[0], "q_proj");
        assert_string_equal(items[1], "v_proj");
    }
    struct setting one = {.value = "all-linear", .type = VALUE_TEXT};
    assert_int_equal(setting_list(&one, facts, &items), 1);
    assert_string_equal(items[0], "all-linear");
    assert_int_equal(setting_list(NULL, facts, &items), 0);
}

static void versions_compare_by_their_numbers(void **state)
{
    (void)state;
    assert_int_equal(version_compare("4.9", "4.10"), -1);
    assert_int_equal(version_compare("5.0", "4.57.1"), 1);
    assert_int_equal(version_compare("5", "5.0.0"), 0);
    assert_int_equal(version_compare("2.1.0+cu121", "2.1"), 0);
    assert_int_equal(version_compare("99999999999999999999", "1"), 1);
}

static void packages_are_found_whatever_the_separator(void **state)
{
    (void)state;
    int64_t pip = add_source("/x/pip_freeze.txt", "environment", "environment");
    int64_t config = add_source("/x/base/config.json", "hf_model", "base");

    add(pip, SIDE_TRAIN, "package.flash-attn", "2.5.0", VALUE_TEXT);
    add(pip, SIDE_TRAIN, "package.trl", ">=0.9", VALUE_TEXT);
    add(config, SIDE_MODEL, "transformers_version", "5.24.0", VALUE_TEXT);
    open_facts();
    assert_string_equal(facts_package(facts, "flash_attn"), "2.5.0");
    assert_string_equal(facts_package(facts, "transformers"), "5.24.0");
    assert_null(facts_package(facts, "trl"));
}

static void the_gpu_is_what_the_user_says_or_what_was_captured(void **state)
{
    const char *name = NULL;

    (void)state;
    int64_t smi = add_source("/x/nvidia_smi.txt", "environment", "environment");
    add(smi, SIDE_TRAIN, "gpu.0.name", "Tesla T4", VALUE_TEXT);
    add(smi, SIDE_TRAIN, "gpu.0.memory_total_mib", "15360", VALUE_INT);
    open_facts();
    assert_true(facts_gpu_bytes(facts, &name) == 15360.0 * 1048576);
    assert_string_equal(name, "Tesla T4");
    run_facts_close(facts);
    answers[0] = (struct answer){"gpu", "24G"};
    memory.lists.n_answers = 1;
    open_facts();
    assert_true(facts_gpu_bytes(facts, NULL) == 24.0 * (1 << 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_the_process_recorded_beats_the_config_file, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_users_answer_beats_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(null_and_auto_give_way_to_a_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_value_that_was_kept_back_says_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            the_runs_own_arguments_beat_a_checkpoints_and_a_late_one_an_early_one, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(the_adapters_config_answers_where_the_arguments_are_silent,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_base_speaks_for_the_model_and_the_run_for_the_tokenizer,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(booleans_are_read_as_people_write_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_are_json_or_stand_between_commas, set_up, tear_down),
        cmocka_unit_test_setup_teardown(versions_compare_by_their_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(packages_are_found_whatever_the_separator, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_gpu_is_what_the_user_says_or_what_was_captured, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
