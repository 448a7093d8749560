/* `overfit-ten`: which rows, their bytes, their prompts and targets, and the config in each framework's own
 * names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/exports/overfit_ten.h"
#include "core/read/json.h"
#include "tests/harness/byte_tokenizer.h"
#include "tests/harness/imported_run.h"

#define AXOLOTL                                                                                    \
    "base_model: ./base\nadapter: lora\nlora_r: 16\nlora_dropout: 0.05\nsequence_len: 4096\n"      \
    "sample_packing: true\ndatasets:\n  - path: my/rows\n    split: train\n"                       \
    "    type: chat_template\n    field_messages: messages\nchat_template: tokenizer_default\n"    \
    "val_set_size: 0.05\nmicro_batch_size: 16\ngradient_accumulation_steps: 4\nnum_epochs: 3\n"    \
    "learning_rate: 0.002\nevals_per_epoch: 4\nwarmup_ratio: 0.1\n"

#define LLAMAFACTORY                                                                               \
    "model_name_or_path: ./base\nstage: sft\nfinetuning_type: full\ndataset: mine\n"               \
    "dataset_dir: data\ntemplate: qwen\ncutoff_len: 4096\ntokenized_path: cache/rows\n"            \
    "val_size: 0.1\nper_device_train_batch_size: 2\nlearning_rate: 1.0e-3\n"                       \
    "adam_epsilon: 1.0e-8\nevaluation_strategy: steps\neval_steps: 50\ndo_predict: true\n"

#define TRL                                                                                        \
    "model_name_or_path: ./base\ndataset_name: me/rows\nuse_peft: true\nlora_r: 16\n"              \
    "assistant_only_loss: true\nmax_length: 4096\nlearning_rate: 1.0e-4\npacking: true\n"

struct fixture {
    struct imported_run *run;
    struct buf rows, said, text;
    char out[4096];
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){.run = imported_run_new()};
    buf_init(&f.rows, 1 << 20);
    buf_init(&f.said, 1 << 16);
    buf_init(&f.text, 1 << 20);
    byte_tokenizer_write(f.run->folder);
    snprintf(f.out, sizeof f.out, "%s/made", f.run->root);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    imported_run_free(f->run);
    buf_free(&f->rows);
    buf_free(&f->said);
    buf_free(&f->text);
    return 0;
}

/* A conversation whose answer is this letter n times. The tokenizer is one of bytes: longer rows have more
 * tokens. */
static void row(struct fixture *f, char letter, int n)
{
    buf_printf(&f->rows, "{\"messages\":  [{\"role\": \"user\", \"content\": \"Say %c\"}, "
                         "{\"role\": \"assistant\", \"content\": \"", letter);
    for (int i = 0; i < n; i++)
        buf_putc(&f->rows, letter);
    buf_puts(&f->rows, "\"}]}\n");
}

/* Rows 0 … n - 1, each one token longer than the one before. */
static void rows_of_rising_length(struct fixture *f, int n)
{
    for (int i = 0; i < n; i++)
        row(f, 'a', i + 1);
}

static void import(struct fixture *f, const char *config)
{
    tempdir_write_text(f->run->folder, "train.jsonl", f->rows.p);
    if (config)
        tempdir_write_text(f->run->folder, "config.yaml", config);
    imported_run_audit(f->run, NULL);
}

static int make(struct fixture *f, int n, bool force, struct error *err)
{
    const struct made_folder folder = {.path = f->out, .force = force, .said = &f->said};

    buf_clear(&f->said);
    return make_overfit_ten(f->run->facts, &folder, n, err);
}

static void make_well(struct fixture *f, int n)
{
    struct error err;

    if (make(f, n, false, &err) != OK)
        fail_msg("%s: %s", err.path, err.message);
}

static const char *made(struct fixture *f, const char *name)
{
    char path[8192], piece[4096];
    size_t n;

    snprintf(path, sizeof path, "%s/%s", f->out, name);
    FILE *file = fopen(path, "rb");
    buf_clear(&f->text);
    if (!file)
        return NULL;
    while ((n = fread(piece, 1, sizeof piece, file)) > 0)
        buf_add(&f->text, piece, n);
    fclose(file);
    return f->text.p;
}

/* The source rows of rows.csv in their order: "1 3 5 ". */
static const char *chosen(struct fixture *f)
{
    static char list[256];
    size_t n = 0;

    list[0] = '\0';
    for (const char *line = made(f, "rows.csv"); line && (line = strchr(line, '\n')) && line[1];) {
        int64_t position, source_row;

        line++;
        assert_int_equal(sscanf(line, "%" SCNd64 ",%" SCNd64, &position, &source_row), 2);
        n += (size_t)snprintf(list + n, sizeof list - n, "%" PRId64 " ", source_row);
    }
    return list;
}

static void assert_has(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text ? text : "(no file)");
}

static void assert_has_not(const char *text, const char *part)
{
    if (!text || strstr(text, part))
        fail_msg("\"%s\" is in:\n%s", part, text ? text : "(no file)");
}

/* ---- Rows ---- */

/* 21 rows by length, the quantiles 0.05, 0.15 … of places 0 to 20. */
static void rows_stand_at_the_quantiles_of_length(void **state)
{
    struct fixture *f = *state;

    rows_of_rising_length(f, 21);
    import(f, AXOLOTL);
    make_well(f, 10);
    assert_string_equal(chosen(f), "1 3 5 7 9 11 13 15 17 19 ");
}

static void length_is_sorted_before_it_is_divided(void **state)
{
    struct fixture *f = *state;

    for (int i = 9; i > 0; i -= 2)
        row(f, 'a', i);
    import(f, AXOLOTL);
    make_well(f, 2);
    assert_string_equal(chosen(f), "3 1 "); /* 1 3 5 7 9 tokens: the quarters are 3 and 7 */
}

static void no_two_rows_have_one_target(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 6; i++)
        row(f, 'a', 3);
    row(f, 'b', 3);
    import(f, AXOLOTL);
    make_well(f, 10);
    assert_string_equal(chosen(f), "0 6 ");
    assert_has(made(f, "README.md"), "Only 2 of 10 rows");
}

static void rows_are_copied_byte_for_byte(void **state)
{
    struct fixture *f = *state;

    buf_puts(&f->rows, "  {\"messages\":[{\"content\":\"\\u00e4 ?\",\"role\":\"user\"},"
                       "{\"role\":\"assistant\", \"content\":\"\xc3\xa4\"}],  \"x\":1.50}\r\n");
    import(f, AXOLOTL);
    make_well(f, 10);
    assert_has(made(f, "train.jsonl"), "{\"messages\":[{\"content\":\"\\u00e4 ?\",\"role\":\"user\"},"
                                       "{\"role\":\"assistant\", \"content\":\"\xc3\xa4\"}],  "
                                       "\"x\":1.50}\n");
}

/* A line that is no JSON counts as a row but has no place: the rows behind it are still themselves. */
static void a_row_behind_a_broken_line_is_the_one_that_is_copied(void **state)
{
    struct fixture *f = *state;

    row(f, 'a', 3);
    buf_puts(&f->rows, "{broken\n");
    row(f, 'b', 4);
    row(f, 'c', 5);
    import(f, AXOLOTL);
    make_well(f, 1);
    assert_string_equal(chosen(f), "2 ");
    assert_has(made(f, "train.jsonl"), "Say b");
    assert_has_not(made(f, "train.jsonl"), "Say c");
    assert_has(made(f, "prompts.jsonl"), "\"row\": 2");
    assert_has(made(f, "prompts.jsonl"), "\"target\": \"bbbb\"");
}

static void an_array_stays_an_array(void **state)
{
    struct fixture *f = *state;
    struct arena *arena = arena_open(1 << 20);
    const struct json *tree;
    struct error err;

    row(f, 'a', 3);
    f->rows.p[f->rows.n - 1] = ',';
    row(f, 'b', 4);
    buf_puts(&f->text, "[");
    buf_str(&f->text, buf_view(&f->rows));
    buf_puts(&f->text, "]");
    tempdir_write_text(f->run->folder, "train.json", f->text.p);
    tempdir_write_text(f->run->folder, "config.yaml", AXOLOTL);
    imported_run_audit(f->run, NULL);
    make_well(f, 2);
    assert_non_null(made(f, "train.json"));
    assert_int_equal(json_parse(buf_view(&f->text), false, arena, &tree, NULL, &err), OK);
    assert_true(json_is(tree, JSON_ARRAY));
    assert_int_equal(tree->n, 2);
    arena_close(arena);
}

/* ---- Prompts ---- */

static void a_prompt_ends_with_the_header_and_a_target_before_the_end_of_turn(void **state)
{
    struct fixture *f = *state;

    row(f, 'a', 5);
    import(f, AXOLOTL);
    make_well(f, 10);
    assert_string_equal(made(f, "prompts.jsonl"),
                        "{\"row\": 0, \"prompt\": \"<|im_start|>user\\nSay a<|im_end|>\\n"
                        "<|im_start|>assistant\\n\", \"target\": \"aaaaa\", "
                        "\"max_new_tokens\": 16}\n");
}

/* TRL without assistant_only_loss learns the prompt too; the model is asked for the answer. */
static void where_the_prompt_is_trained_the_target_is_still_the_answer(void **state)
{
    struct fixture *f = *state;

    row(f, 'a', 5);
    import(f, "model_name_or_path: ./base\nassistant_only_loss: false\nmax_length: 4096\n");
    make_well(f, 10);
    assert_has(made(f, "rows.csv"), "\n0,0,31,31\n"); /* every token */
    assert_has(made(f, "prompts.jsonl"), "assistant\\n\", \"target\": \"aaaaa\"");
}

static void an_answer_that_is_cut_is_asked_for_up_to_the_cut(void **state)
{
    struct fixture *f = *state;

    row(f, 'a', 90);
    import(f, "model_name_or_path: ./base\nstage: sft\nfinetuning_type: lora\ndataset: mine\n"
              "template: qwen\ncutoff_len: 80\n");
    make_well(f, 10);
    const char *target = strstr(made(f, "prompts.jsonl"), "\"target\": \"");
    char limit[64];

    assert_non_null(target);
    int n = (int)strspn(target + strlen("\"target\": \""), "a");
    assert_in_range(n, 1, 79);
    snprintf(limit, sizeof limit, "\", \"max_new_tokens\": %d}", n);
    assert_has(target, limit);
}

static void without_a_tokenizer_rows_are_chosen_and_the_lack_is_said(void **state)
{
    struct fixture *f = *state;

    row(f, 'a', 5);
    assert_int_equal(remove(tempdir_path(f->run->folder, "tokenizer.json")), 0);
    import(f, AXOLOTL);
    make_well(f, 10);
    assert_string_equal(chosen(f), "0 ");
    assert_null(made(f, "prompts.jsonl"));
    assert_has(f->said.p, "no prompts.jsonl: it needs the run's tokenizer");
    assert_has(made(f, "README.md"), "Lengths are estimated");
}

/* ---- The config ---- */

static void axolotl_keeps_its_names_and_the_type_of_its_data(void **state)
{
    struct fixture *f = *state;

    rows_of_rising_length(f, 12);
    import(f, AXOLOTL);
    make_well(f, 10);
    const char *config = made(f, "config.yaml");

    assert_has(config, "datasets: [{\"path\": \"train.jsonl\", \"ds_type\": \"json\", "
                       "\"type\": \"chat_template\", \"field_messages\": \"messages\"}]\n");
    assert_has(config, "\nmicro_batch_size: 10\n");
    assert_has(config, "\ngradient_accumulation_steps: 1\n");
    assert_has(config, "\nnum_epochs: 40\n");
    assert_has(config, "\nlr_scheduler: \"constant\"\n");
    assert_has(config, "\nlearning_rate: 0.0005\n");
    assert_has(config, "\nlora_dropout: 0.0\n");
    assert_has(config, "\nlora_r: 16\n");
    assert_has(config, "\nsample_packing: false\n");
    assert_has(config, "\nval_set_size: 0\n");
    assert_has_not(config, "evals_per_epoch");
    assert_has_not(config, "warmup_ratio");
    assert_has_not(config, "num_train_epochs");
}

static void llamafactory_gets_an_entry_of_its_data_and_no_cached_tokens(void **state)
{
    struct fixture *f = *state;

    rows_of_rising_length(f, 12);
    import(f, LLAMAFACTORY);
    make_well(f, 10);
    const char *config = made(f, "config.yaml");

    assert_has(config, "\ndataset: \"overfit10\"\ndataset_dir: \".\"\n");
    assert_has(config, "\nper_device_train_batch_size: 2\n");
    assert_has(config, "\nval_size: 0\n");
    assert_has(config, "\nevaluation_strategy: \"no\"\n"); /* the name that the run's version knows */
    assert_has_not(config, "eval_strategy");
    assert_has_not(config, "tokenized_path");
    assert_has_not(config, "do_predict");
    assert_has_not(config, "eval_steps");
    assert_has(made(f, "dataset_info.json"), "\"overfit10\": {\"file_name\": \"train.jsonl\", "
                                             "\"formatting\": \"sharegpt\"");
}

/* PyYAML takes 5e-05 for a text. */
static void numbers_stay_numbers_for_every_reader_of_yaml(void **state)
{
    struct fixture *f = *state;

    row(f, 'a', 5);
    import(f, LLAMAFACTORY);
    make_well(f, 10);
    assert_has(made(f, "config.yaml"), "\nlearning_rate: 5.0e-05\n");
    assert_has(made(f, "config.yaml"), "\nadam_epsilon: 1.0e-08\n");
}

static void trl_reads_the_rows_as_a_data_set_of_its_own(void **state)
{
    struct fixture *f = *state;

    row(f, 'a', 5);
    import(f, TRL);
    make_well(f, 10);
    const char *config = made(f, "config.yaml");

    assert_has(config, "\ndatasets: [{\"path\": \"json\", \"data_files\": \"train.jsonl\"}]\n");
    assert_has(config, "\nlearning_rate: 0.0001\n");
    assert_has(config, "\npacking: false\n");
    assert_has(config, "\nassistant_only_loss: true\n");
    assert_has_not(config, "dataset_name");
    assert_has_not(config, "train_file");
}

static void without_a_config_file_the_names_are_said_to_be_those_of_transformers(void **state)
{
    struct fixture *f = *state;

    row(f, 'a', 5);
    import(f, NULL);
    make_well(f, 10);
    assert_has(made(f, "config.json"), "\"num_train_epochs\": 40,\n");
    assert_has(f->said.p, "config.json: no config file of LLaMA-Factory, axolotl or TRL");
}

/* ---- Refusals ---- */

static void files_that_exist_are_kept(void **state)
{
    struct fixture *f = *state;
    struct error err;

    row(f, 'a', 5);
    import(f, AXOLOTL);
    make_well(f, 10);
    assert_int_equal(make(f, 10, false, &err), E_IO);
    assert_has(err.message, "exists already");
    assert_int_equal(make(f, 10, true, &err), OK);
}

static void a_run_without_rows_says_what_to_import(void **state)
{
    struct fixture *f = *state;
    struct error err;

    tempdir_write_text(f->run->folder, "config.yaml", AXOLOTL);
    imported_run_audit(f->run, NULL);
    assert_int_equal(make(f, 10, false, &err), E_NOTFOUND);
    assert_has(err.message, "import the data set");
}

static void rows_without_an_answer_are_no_rows_to_memorise(void **state)
{
    struct fixture *f = *state;
    struct error err;

    buf_puts(&f->rows, "{\"messages\": [{\"role\": \"user\", \"content\": \"Hello?\"}]}\n");
    import(f, AXOLOTL);
    assert_int_equal(make(f, 10, false, &err), E_NOTFOUND);
    assert_has(err.message, "no row of train.jsonl has a supervised token");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_stand_at_the_quantiles_of_length),
        TEST(length_is_sorted_before_it_is_divided),
        TEST(no_two_rows_have_one_target),
        TEST(rows_are_copied_byte_for_byte),
        TEST(a_row_behind_a_broken_line_is_the_one_that_is_copied),
        TEST(an_array_stays_an_array),
        TEST(a_prompt_ends_with_the_header_and_a_target_before_the_end_of_turn),
        TEST(where_the_prompt_is_trained_the_target_is_still_the_answer),
        TEST(an_answer_that_is_cut_is_asked_for_up_to_the_cut),
        TEST(without_a_tokenizer_rows_are_chosen_and_the_lack_is_said),
        TEST(axolotl_keeps_its_names_and_the_type_of_its_data),
        TEST(llamafactory_gets_an_entry_of_its_data_and_no_cached_tokens),
        TEST(numbers_stay_numbers_for_every_reader_of_yaml),
        TEST(trl_reads_the_rows_as_a_data_set_of_its_own),
        TEST(without_a_config_file_the_names_are_said_to_be_those_of_transformers),
        TEST(files_that_exist_are_kept),
        TEST(a_run_without_rows_says_what_to_import),
        TEST(rows_without_an_answer_are_no_rows_to_memorise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
