/* The rules of the label mask on rows made by hand: what real runs show seldom. Rows that a chat template
 * renders are test_labels_rendered.c, whole rows of real trainers test_labels_real.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/harness/word_labels.h"

/* ---- Texts and pairs ---- */

static void a_pair_trains_its_completion_and_the_eos_that_is_added(void **state)
{
    struct label_policy policy = word_policy(MASK_TRL);

    (void)state;
    policy.appends_eos = true;
    policy.boundary_is_prefix = true;
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, "{\"prompt\":\"a b\",\"completion\":\" c\"}");
    assert_labels(&row, "9- 10- 11+ 1+");
    assert_sides(&row, "uuaa");
    assert_int_equal(row.n_prompt, 2);
    assert_true(row.has_sides);
    row = label(labeller, "{\"prompt\":\"a\",\"completion\":\" c </s>\"}");
    assert_labels(&row, "9- 11+ 1+");
    labeller_close(labeller);
}

static void without_completion_only_the_prompt_is_trained_too(void **state)
{
    struct label_policy policy = word_policy(MASK_TRL);

    (void)state;
    policy.completion_only = NO;
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, "{\"prompt\":\"a b\",\"completion\":\" c\"}");
    assert_labels(&row, "9+ 10+ 11+");
    assert_int_equal(row.n_prompt, 2);
    labeller_close(labeller);
}

static void the_prefix_boundary_and_the_prompts_length_part_where_tokens_merge(void **state)
{
    struct label_policy policy = word_policy(MASK_TRL);
    const char *text = "{\"prompt\":\"a b\",\"completion\":\"x c\"}";

    (void)state;
    policy.boundary_is_prefix = true;   /* "b" and "x" become one unknown word */
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, text);
    assert_labels(&row, "9- 5+ 11+");
    labeller_close(labeller);
    policy.boundary_is_prefix = false;
    labeller = word_labeller(&policy);
    row = label(labeller, text);
    assert_labels(&row, "9- 5- 11+");
    labeller_close(labeller);
}

static void a_cut_that_leaves_no_answer_drops_the_row(void **state)
{
    struct label_policy policy = word_policy(MASK_TRL);
    const char *text = "{\"prompt\":\"a b c\",\"completion\":\" d\"}";

    (void)state;
    policy.max_length = 3;
    policy.drops_masked = true;
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, text);
    assert_true(row.is_dropped);
    assert_string_equal(row.drop_reason, "no supervised token");
    assert_int_equal(row.n, 4);
    labeller_close(labeller);
    policy.cut_keeps_end = true;
    labeller = word_labeller(&policy);
    row = label(labeller, text);
    assert_false(row.is_dropped);
    assert_labels(&row, "10- 11- 12+");
    labeller_close(labeller);
    policy.packs = true;    /* packed rows are never dropped; bfd keeps the start, wrapped all */
    policy.packs_whole = true;
    labeller = word_labeller(&policy);
    row = label(labeller, text);
    assert_false(row.is_dropped);
    assert_labels(&row, "9- 10- 11-");
    labeller_close(labeller);
    policy.packs_whole = false;
    labeller = word_labeller(&policy);
    row = label(labeller, text);
    assert_labels(&row, "9- 10- 11- 12+");
    labeller_close(labeller);
}

static void the_old_trainer_appends_the_eos_id_and_trains_everything(void **state)
{
    struct label_policy policy = word_policy(MASK_TRL_OLD);

    (void)state;
    policy.appends_eos_id = true;
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, "{\"prompt\":\"a b\",\"completion\":\" c\"}");
    assert_labels(&row, "9+ 10+ 11+ 1+");
    assert_sides(&row, "uuaa");
    row = label(labeller, "{\"text\":\"a </s>\"}");
    assert_labels(&row, "9+ 1+");
    labeller_close(labeller);
}

static void a_row_of_another_form_is_refused_by_its_name(void **state)
{
    struct label_policy policy = word_policy(MASK_TRL);
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, "{\"instruction\":\"a\",\"output\":\"b\"}");

    (void)state;
    assert_non_null(row.refused);
    assert_non_null(strstr(row.refused, "alpaca"));
    assert_int_equal(row.n, 0);
    labeller_close(labeller);
}

/* ---- Markers ---- */

static struct label_policy response_policy(const char *response, const char *instruction)
{
    struct label_policy policy = word_policy(MASK_RESPONSE_TEMPLATE);

    policy.masks_pad_id = true;
    policy.response.text = str_of(response);
    if (instruction)
        policy.instruction.text = str_of(instruction);
    return policy;
}

static void the_last_response_template_decides(void **state)
{
    struct label_policy policy = response_policy("A:", NULL);
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, "{\"text\":\"Q: a A: b Q: c A: d </s>\"}");

    (void)state;
    assert_labels(&row, "13- 9- 14- 10- 13- 11- 14- 12+ 1+");
    assert_int_equal(row.why[6], WHY_HEADER);
    labeller_close(labeller);
}

static void with_an_instruction_template_every_answer_is_trained(void **state)
{
    struct label_policy policy = response_policy("A:", "Q:");
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, "{\"text\":\"Q: a A: b Q: c A: d\"}");

    (void)state;
    assert_labels(&row, "13- 9- 14- 10+ 13- 11- 14- 12+");
    row = label(labeller, "{\"text\":\"A: b Q: c A: d Q: e\"}");    /* begins with an answer */
    assert_labels(&row, "14- 10+ 13- 11- 14- 12+ 13- 15-");
    labeller_close(labeller);
}

static void a_missing_marker_masks_the_row_and_shows_what_comes_nearest(void **state)
{
    struct label_policy policy = response_policy("<|im_start|> assistant b", NULL);
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row =
        label(labeller, "{\"text\":\"a <|im_start|> user c <|im_start|> assistant d\"}");
    size_t n;

    (void)state;
    assert_labels(&row, "9- 3- 6- 11- 3- 7- 12-");
    assert_int_equal(row.why[0], WHY_NO_MARKER);
    assert_true(row.marker_missing);
    assert_int_equal(row.marker_near, 4);
    assert_int_equal(row.marker_near_n, 3);
    assert_int_equal(labeller_marker_ids(labeller, &n)[1], 7);
    assert_int_equal(n, 3);
    labeller_close(labeller);
}

static void a_marker_behind_the_cut_is_not_missing_but_trains_nothing(void **state)
{
    struct label_policy policy = response_policy("A:", NULL);

    (void)state;
    policy.max_length = 2;
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, "{\"text\":\"Q: a A: b\"}");
    assert_labels(&row, "13- 9-");
    assert_false(row.marker_missing);
    assert_true(row.trained[3]);    /* it would have been, but for the cut */
    labeller_close(labeller);
}

static void pad_ids_are_masked_by_value_and_a_marker_with_one_is_never_met(void **state)
{
    struct label_policy policy = response_policy("<pad> A:", NULL);

    (void)state;
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, "{\"text\":\"Q: a <pad> A: b\"}");
    assert_labels(&row, "13- 9- 2- 14- 10-");
    labeller_close(labeller);
    policy = response_policy("A:", NULL);
    policy.pad_id = 1;
    labeller = word_labeller(&policy);
    row = label(labeller, "{\"text\":\"Q: a A: b </s>\"}");
    assert_labels(&row, "13- 9- 14- 10+ 1-");
    assert_int_equal(row.why[4], WHY_PAD);
    labeller_close(labeller);
}

static struct label_policy unsloth_policy(void)
{
    struct label_policy policy = word_policy(MASK_UNSLOTH);

    policy.response.text = str_of("<|im_start|>assistant\n");
    policy.instruction.text = str_of("<|im_start|>user\n");
    policy.eos_id = 4;
    policy.stops_at_end_tokens = true;
    policy.drops_masked = true;
    return policy;
}

static void unsloth_ends_a_response_with_eos_and_before_any_new_message(void **state)
{
    struct label_policy policy = unsloth_policy();

    (void)state;
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(
        labeller, "{\"text\":\"<|im_start|>user\\na<|im_end|>\\n<|im_start|>assistant\\nb<|im_end|>\\n"
                  "<|im_start|>system\\nc <|im_start|>assistant\\nd <|im_start|>system\\ne\"}");
    assert_labels(&row, "3- 6- 9- 4- 3- 7- 10+ 4+ 3- 8- 11- 3- 7- 12+ 3- 8- 15-");
    assert_sides(&row, "uuuuhhaa" "sssh" "ha" "sss");
    labeller_close(labeller);
    policy.stops_at_end_tokens = false;     /* older: on to the next instruction or the end */
    labeller = word_labeller(&policy);
    row = label(labeller, "{\"text\":\"<|im_start|>assistant\\nb<|im_end|>\\n<|im_start|>user\\na\"}");
    assert_labels(&row, "3- 7- 10+ 4+ 3- 6- 9-");
    labeller_close(labeller);
}

static void unsloth_drops_a_row_without_a_response(void **state)
{
    struct label_policy policy = unsloth_policy();

    (void)state;
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, "{\"text\":\"<|im_start|>user\\na\"}");
    assert_true(row.is_dropped);
    assert_true(row.marker_missing);
    policy.last_response_only = YES;
    labeller_close(labeller);
    labeller = word_labeller(&policy);
    row = label(labeller, "{\"text\":\"<|im_start|>assistant\\nb<|im_end|>\\n<|im_start|>user\\na "
                          "<|im_start|>assistant\\nd\"}");
    assert_labels(&row, "3- 7- 10- 4- 3- 6- 9- 3- 7- 12+");
    labeller_close(labeller);
}

/* ---- LLaMA-Factory ---- */

static void llamafactory_needs_a_template_it_knows(void **state)
{
    struct label_policy policy = word_policy(MASK_LLAMAFACTORY);
    struct labeller_parts parts = {.policy = &policy, .tokenizer = word_tokenizer()};
    struct labeller *labeller;
    struct error err;

    (void)state;
    assert_int_equal(labeller_open(&labeller, &parts, &err), E_UNSUPPORTED);
    policy.llamafactory_template = "no such";
    assert_int_equal(labeller_open(&labeller, &parts, &err), E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "no such"));
    assert_non_null(llamafactory_template("qwen"));
    assert_null(llamafactory_template("no such"));
    assert_null(llamafactory_template(NULL));
}

static void llamafactory_drops_rows_whose_turns_do_not_alternate(void **state)
{
    struct label_policy policy = word_policy(MASK_LLAMAFACTORY);

    (void)state;
    policy.llamafactory_template = "default";
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(
        labeller, "{\"conversations\":[{\"from\":\"gpt\",\"value\":\"a\"},"
                  "{\"from\":\"human\",\"value\":\"b\"}]}");
    assert_non_null(strstr(row.refused, "invalid role tag"));
    row = label(labeller, "{\"conversations\":[{\"from\":\"human\",\"value\":\"b\"}]}");
    assert_non_null(strstr(row.refused, "invalid message count"));
    labeller_close(labeller);
}

static void what_llamafactory_cuts_off_stands_behind_what_it_keeps(void **state)
{
    struct label_policy policy = word_policy(MASK_LLAMAFACTORY);

    (void)state;
    policy.llamafactory_template = "empty";
    policy.max_length = 4;
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(
        labeller, "{\"instruction\":\"a b c d e\",\"output\":\"e d c b a\"}");
    assert_int_equal(row.n, 10);
    assert_labels(&row, "9- 10- 15+ 12+");
    assert_int_equal(row.ids[4], 11);
    assert_int_equal(row.n_prompt, 5);
    labeller_close(labeller);
}

/* ---- Others ---- */

static void torchtune_masks_messages_as_a_whole_and_ends_a_cut_with_eos(void **state)
{
    struct label_policy policy = word_policy(MASK_TORCHTUNE);
    const char *text = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
                       "{\"role\":\"assistant\",\"content\":\"b c\"}]}";

    (void)state;
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, text);
    assert_labels(&row, "3- 6- 9- 4- 3+ 7+ 10+ 11+ 1+");
    labeller_close(labeller);
    policy.max_length = 7;
    labeller = word_labeller(&policy);
    row = label(labeller, text);
    assert_labels(&row, "3- 6- 9- 4- 3+ 7+ 1-");
    labeller_close(labeller);
}

static void litgpt_trains_the_prompt_unless_told_otherwise(void **state)
{
    struct label_policy policy = word_policy(MASK_LITGPT);
    const char *text = "{\"instruction\":\"a b\",\"output\":\"c\"}";

    (void)state;
    policy.prompt_style = "default";
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, text);
    assert_labels(&row, "9+ 10+ 11+ 1+");
    labeller_close(labeller);
    policy.train_on_prompt = NO;
    labeller = word_labeller(&policy);
    row = label(labeller, text);
    assert_labels(&row, "9- 10- 11+ 1+");
    labeller_close(labeller);
}

static void axolotl_completions_are_trained_whole_and_never_dropped(void **state)
{
    struct label_policy policy = word_policy(MASK_AXOLOTL_TEXT);

    (void)state;
    policy.max_length = 2;
    policy.drops_long = policy.drops_masked = true;
    struct labeller *labeller = word_labeller(&policy);
    struct labelled_row row = label(labeller, "{\"text\":\"a b c\"}");
    assert_labels(&row, "9+ 10+ 11+ 1+");
    assert_false(row.is_dropped);
    labeller_close(labeller);
}

/* ---- Recorded rows ---- */

static struct labelled_row recorded(struct labeller *labeller, const char *text)
{
    struct conversation row = word_row(text);
    struct labelled_row out;
    struct error err;

    assert_int_equal(label_recorded(labeller, &row, &out, &err), OK);
    return out;
}

static void recorded_labels_are_taken_as_they_are(void **state)
{
    struct labeller *labeller;
    struct error err;

    (void)state;
    assert_int_equal(labeller_open_recorded(&labeller, word_tokenizer(), &err), OK);
    struct labelled_row row = recorded(
        labeller, "{\"input_ids\":[3,16,9,4,3,17,10,4,2,2],\"labels\":[-100,-100,-100,-100,-100,-100,10,4,"
                  "-100,-100],\"attention_mask\":[1,1,1,1,1,1,1,1,0,0]}");
    assert_labels(&row, "3- 16- 9- 4- 3- 17- 10+ 4+");
    assert_int_equal(row.why[0], WHY_RECORDED);
    assert_true(row.has_sides);
    assert_sides(&row, "uuuuhhaa");
    assert_null(row.label_id);
    assert_int_equal(row.n_prompt, 6);
    row = recorded(labeller, "{\"input_ids\":[9,10],\"labels\":[-100,7]}");
    assert_non_null(row.label_id);
    assert_int_equal(row.label_id[1], 7);
    row = recorded(labeller, "{\"input_ids\":[9,-1],\"labels\":[1,2]}");
    assert_non_null(row.refused);
    row = recorded(labeller, "{\"input_ids\":[9],\"labels\":[1,2]}");
    assert_non_null(row.refused);
    labeller_close(labeller);
}

static void recorded_rows_need_no_tokenizer(void **state)
{
    struct labeller *labeller;
    struct error err;

    (void)state;
    assert_int_equal(labeller_open_recorded(&labeller, NULL, &err), OK);
    struct labelled_row row =
        recorded(labeller, "{\"input_ids\":[9,10],\"labels\":[-100,10]}");
    assert_labels(&row, "9- 10+");
    assert_int_equal(row.text.n, 0);
    assert_false(row.has_sides);
    row = recorded(labeller, "{\"input_ids\":[],\"labels\":[]}");
    assert_int_equal(row.n, 0);
    assert_null(row.refused);
    labeller_close(labeller);
}

/* ---- Names ---- */

static void a_policy_says_what_it_does_in_one_line(void **state)
{
    struct label_policy policy = word_policy(MASK_TRL);
    struct buf out;

    (void)state;
    buf_init(&out, 1 << 12);
    policy.completion_only = YES;
    policy.boundary_is_prefix = true;
    policy.max_length = 1024;
    label_policy_about(&policy, &out);
    assert_string_equal(out.p, "TRL SFTTrainer, completion only, boundary at the common prefix, "
                               "max_length 1024 keeps the start");
    buf_clear(&out);
    policy = response_policy("A:\n", NULL);
    label_policy_about(&policy, &out);
    assert_non_null(strstr(out.p, "response template \"A:\\n\""));
    for (int rule = 0; rule < N_MASK_RULES; rule++) {
        policy = word_policy((enum mask_rule)rule);
        buf_clear(&out);
        label_policy_about(&policy, &out);
        assert_true(out.n > 0 && !out.failed);
    }
    for (int why = 0; why < N_LABEL_WHYS; why++)
        assert_true(label_why_text((enum label_why)why)[0] != '\0');
    buf_free(&out);
}

static void patched_templates_are_told_by_their_markers(void **state)
{
    static const struct {
        const char *text, *family;
        bool changes;
    } CASES[] = {
        {"<|start_header_id|> <|eot_id|>", "Llama 3", false},
        {"<|start_header_id|> <|eot_id|> Cutting Knowledge Date", NULL, false},
        {"<|im_start|> You are Qwen <tool_call>", "Qwen2.5", false},
        {"<|im_start|> enable_thinking <tool_call>", "Qwen3", true},
        {"<start_of_turn> <end_of_turn>", "Gemma", false},
        {"<|assistant|> <|end|>", "Phi-3", false},
        {"<|im_start|> <|im_end|>", NULL, false},
        {"", NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct patched_template out;
        bool is_known = labels_patched_kind(str_of(CASES[i].text), &out);

        assert_int_equal(is_known, CASES[i].family != NULL);
        if (!is_known)
            continue;
        assert_string_equal(out.family, CASES[i].family);
        assert_int_equal(out.changes_text, CASES[i].changes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_trains_its_completion_and_the_eos_that_is_added),
        cmocka_unit_test(without_completion_only_the_prompt_is_trained_too),
        cmocka_unit_test(the_prefix_boundary_and_the_prompts_length_part_where_tokens_merge),
        cmocka_unit_test(a_cut_that_leaves_no_answer_drops_the_row),
        cmocka_unit_test(the_old_trainer_appends_the_eos_id_and_trains_everything),
        cmocka_unit_test(a_row_of_another_form_is_refused_by_its_name),
        cmocka_unit_test(the_last_response_template_decides),
        cmocka_unit_test(with_an_instruction_template_every_answer_is_trained),
        cmocka_unit_test(a_missing_marker_masks_the_row_and_shows_what_comes_nearest),
        cmocka_unit_test(a_marker_behind_the_cut_is_not_missing_but_trains_nothing),
        cmocka_unit_test(pad_ids_are_masked_by_value_and_a_marker_with_one_is_never_met),
        cmocka_unit_test(unsloth_ends_a_response_with_eos_and_before_any_new_message),
        cmocka_unit_test(unsloth_drops_a_row_without_a_response),
        cmocka_unit_test(llamafactory_needs_a_template_it_knows),
        cmocka_unit_test(llamafactory_drops_rows_whose_turns_do_not_alternate),
        cmocka_unit_test(what_llamafactory_cuts_off_stands_behind_what_it_keeps),
        cmocka_unit_test(torchtune_masks_messages_as_a_whole_and_ends_a_cut_with_eos),
        cmocka_unit_test(litgpt_trains_the_prompt_unless_told_otherwise),
        cmocka_unit_test(axolotl_completions_are_trained_whole_and_never_dropped),
        cmocka_unit_test(recorded_labels_are_taken_as_they_are),
        cmocka_unit_test(recorded_rows_need_no_tokenizer),
        cmocka_unit_test(a_policy_says_what_it_does_in_one_line),
        cmocka_unit_test(patched_templates_are_told_by_their_markers),
    };

    return cmocka_run_group_tests(tests, word_labels_open, word_labels_close);
}
