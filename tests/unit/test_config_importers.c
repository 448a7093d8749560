/* Which framework a settings file belongs to, and what is no settings file of any. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "importers/registry.h"

static const char *taker_of(const char *name, const char *text)
{
    struct peek peek = {.path = name,
                        .name = name,
                        .folder_name = "",
                        .head = str_of(text),
                        .tail = str_of(text),
                        .size = (int64_t)strlen(text)};
    int score = 0;
    const struct importer *importer = importer_probe(&peek, &score, NULL);

    return importer ? importer->id : "nobody";
}

static void each_framework_takes_its_own_words(void **state)
{
    (void)state;
    assert_string_equal(taker_of("config.yml", "base_model: a\nsequence_len: 1024\nadapter: lora\n"
                                               "micro_batch_size: 2\n"),
                        "axolotl");
    assert_string_equal(taker_of("train.yaml", "stage: sft\nfinetuning_type: lora\n"
                                               "cutoff_len: 10\n"),
                        "llamafactory");
    assert_string_equal(taker_of("mine.yaml", "model: a\ntrain_type: lora\nfreeze_vit: true\n"
                                              "dataset: b\nlearning_rate: 1e-4\n"),
                        "ms_swift");
    assert_string_equal(taker_of("a.yaml", "compute_environment: LOCAL_MACHINE\n"
                                           "distributed_type: MULTI_GPU\nnum_processes: 2\n"),
                        "accelerate");
}

static void a_framework_is_not_taken_for_another(void **state)
{
    (void)state;
    /* DeepSpeed's settings inside a trainer's */
    assert_string_equal(taker_of("args.json", "{\"output_dir\": \"a\", \"learning_rate\": 1e-5,\n"
                                              "\"zero_optimization\": {\"stage\": 2}}"),
                        "settings_file");
    /* words of axolotl without its model */
    assert_string_equal(taker_of("a.yaml", "sequence_len: 10\nlearning_rate: 1e-4\n"
                                           "micro_batch_size: 2\nnum_epochs: 3\n"),
                        "settings_file");
    assert_string_equal(taker_of("a.yaml", "trainer:\n  max_epochs: 3\n  devices: 1\nmodel:\n"
                                           "  learning_rate: 1e-3\ndata:\n  num_workers: 2\n"),
                        "settings_file");
}

static void what_trains_nothing_is_not_taken(void **state)
{
    static const char *const texts[] = {
        "services:\n  trainer:\n    image: a\nvolumes:\n  data: {}\n",
        "model:\n  _component_: torchtune.models.llama2.llama2_7b\ncheckpointer:\n"
        "  _component_: torchtune.training.FullModelHFCheckpointer\n  output_dir: a\n"
        "tokenizer:\n  max_seq_len: 10\ntasks: [a]\nbatch_size: 8\n",
        "name: ci\non: push\njobs:\n  train:\n    steps: []\n",
        "openapi: 3.0.0\ninfo:\n  title: training\npaths: {}\n",
        "model: a\ndataset: b\ntemplate: c\n",
        "trainer: ann\nmodel: bike\n",
        "",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(taker_of("file.yaml", texts[i]), "nobody");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_framework_takes_its_own_words),
        cmocka_unit_test(a_framework_is_not_taken_for_another),
        cmocka_unit_test(what_trains_nothing_is_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
