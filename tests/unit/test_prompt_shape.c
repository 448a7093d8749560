/* The shape of a rendered prompt in every family, and where two of them part. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/arena.h"
#include "core/base/random.h"
#include "core/text/prompt.h"

static struct arena *arena;

static int open_arena(void **state)
{
    (void)state;
    arena = arena_open((size_t)64 << 20);
    return arena ? 0 : -1;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(arena);
    return 0;
}

static struct prompt_side side_of(const char *text)
{
    struct prompt_side side = {.text = str_of(text)};

    prompt_shape_of(side.text, NULL, 0, arena, &side.shape);
    return side;
}

static struct prompt_comparison compare(const char *train, const char *serve)
{
    struct prompt_side a = side_of(train), b = side_of(serve);
    struct prompt_comparison comparison;

    prompt_compare(&a, &b, arena, &comparison);
    return comparison;
}

static void expect(const char *train, const char *serve, enum prompt_difference difference)
{
    struct prompt_comparison comparison = compare(train, serve);

    if (comparison.difference != difference)
        fail_msg("%d instead of %d: %s | %s", comparison.difference, difference, train, serve);
}

/* ---- Shapes ---- */

static const struct {
    enum marker_family family;
    const char *text;       /* a whole conversation with one system, user and assistant turn */
    const char *prompt_end; /* where the answer begins */
    bool has_system;
} FAMILIES[] = {
    {FAMILY_CHATML,
     "<|im_start|>system\nBe short.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
     "<|im_start|>assistant\nYes<|im_end|>\n",
     "Yes", true},
    {FAMILY_LLAMA3,
     "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe short.<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\nYes<|eot_id|>",
     "Yes", true},
    {FAMILY_INST, "<s>[INST] <<SYS>>\nBe short.\n<</SYS>>\n\nHi [/INST] Yes </s>", " Yes", true},
    {FAMILY_INST, "<s>[SYSTEM_PROMPT]Be short.[/SYSTEM_PROMPT][INST]Hi[/INST]Yes</s>", "Yes", true},
    {FAMILY_GEMMA,
     "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYes<end_of_turn>\n", "Yes",
     false},
    {FAMILY_ZEPHYR, "<|system|>\nBe short.</s>\n<|user|>\nHi</s>\n<|assistant|>\nYes</s>\n", "Yes",
     true},
    {FAMILY_ZEPHYR, "<|user|>\nHi<|end|>\n<|assistant|>\nYes<|end|>\n<|endoftext|>", "Yes", false},
    {FAMILY_DEEPSEEK,
     "<｜begin▁of▁sentence｜>Be short.<｜User｜>Hi<｜Assistant｜>Yes<｜end▁of▁sentence｜>", "Yes",
     true},
    {FAMILY_ALPACA,
     "Below is an instruction.\n\n### Instruction:\nSay\n\n### Input:\nHi\n\n### Response:\nYes", "Yes",
     false},
    {FAMILY_VICUNA, "A chat with a helper. USER: Hi ASSISTANT: Yes</s>", " Yes", true},
    {FAMILY_HUMAN, "\n\nHuman: Hi\n\nAssistant: Yes", " Yes", false},
    {FAMILY_HUMAN, "### Human: Hi\n### Assistant: Yes", " Yes", false},
    {FAMILY_CHATGLM, "[gMASK]<sop><|system|>\nBe short.<|user|>\nHi<|assistant|>\nYes", "\nYes",
     true},
    {FAMILY_OTHER,
     "<|start|>system<|message|>Be short.<|end|><|start|>user<|message|>Hi<|end|>"
     "<|start|>assistant<|channel|>final<|message|>Yes<|return|>",
     "Yes", true},
    {FAMILY_OTHER,
     "<|im_system|>system<|im_middle|>Be short.<|im_end|><|im_user|>user<|im_middle|>Hi<|im_end|>"
     "<|im_assistant|>assistant<|im_middle|>Yes<|im_end|>",
     "Yes", true},
    {FAMILY_OTHER,
     "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>Hi<|END_OF_TURN_TOKEN|>"
     "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>Yes<|END_OF_TURN_TOKEN|>",
     "Yes", false},
    {FAMILY_OTHER,
     "<|system_start|>Be short.<|system_end|><|user_start|>Hi<|user_end|>"
     "<|assistant_start|>Yes<|assistant_end|>",
     "Yes", true},
    {FAMILY_OTHER,
     "<|start_of_role|>user<|end_of_role|>Hi<|end_of_text|>\n"
     "<|start_of_role|>assistant<|end_of_role|>Yes<|end_of_text|>\n",
     "Yes", false},
};
enum { N_FAMILIES = sizeof FAMILIES / sizeof FAMILIES[0] };

static void every_family_is_told_by_its_markers(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FAMILIES; i++) {
        struct prompt_side side = side_of(FAMILIES[i].text);
        const struct prompt_shape *shape = &side.shape;

        if (shape->family != FAMILIES[i].family)
            fail_msg("%s is taken for %s", FAMILIES[i].text, marker_family_name(shape->family));
        const char *rest = FAMILIES[i].text + shape->prompt_end;
        if (strncmp(rest, FAMILIES[i].prompt_end, strlen(FAMILIES[i].prompt_end)) != 0)
            fail_msg("the prompt ends before '%s', expected before '%s'", rest, FAMILIES[i].prompt_end);
        assert_int_equal(shape->system < shape->n, FAMILIES[i].has_system);
        assert_false(shape->ends_with_header);
        if (FAMILIES[i].has_system)
            assert_int_equal(shape->segments[shape->system].part, PART_CONTENT);
    }
}

static void segments_cover_the_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FAMILIES; i++) {
        struct prompt_side side = side_of(FAMILIES[i].text);
        size_t at = 0;

        for (size_t k = 0; k < side.shape.n; k++) {
            assert_int_equal(side.shape.segments[k].begin, at);
            at = side.shape.segments[k].end;
        }
        assert_int_equal(at, side.text.n);
    }
}

static void the_prompt_up_to_the_header_equals_its_training_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FAMILIES; i++) {
        struct prompt_side side = side_of(FAMILIES[i].text);
        const char *prompt = arena_strndup(arena, FAMILIES[i].text, side.shape.prompt_end);

        expect(FAMILIES[i].text, prompt, PROMPTS_EQUAL);
        assert_true(side_of(prompt).shape.ends_with_header);
    }
}

static void two_families_are_never_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FAMILIES; i++)
        for (size_t k = 0; k < N_FAMILIES; k++)
            if (FAMILIES[i].family != FAMILIES[k].family)
                expect(FAMILIES[i].text, FAMILIES[k].text, PROMPTS_OTHER_FAMILY);
    expect(FAMILIES[13].text, FAMILIES[14].text, PROMPTS_OTHER_FAMILY);
}

static void plain_text_has_no_family(void **state)
{
    static const char *const texts[] = {
        "",
        "The user: wrote. Assistant: none here",
        "A table of USER: names",
        "He said <|nothing|> of it, [and] <tag> stays",
        "A line\nUser: name\nPassword: secret\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(side_of(texts[i]).shape.family, FAMILY_NONE);
    expect("plain", FAMILIES[0].text, PROMPTS_UNKNOWN);
    expect(FAMILIES[0].text, "plain", PROMPTS_UNKNOWN);
    expect("", "", PROMPTS_UNKNOWN);
    expect("Q: a\nA: b", "Q: a\nA:", PROMPTS_EQUAL);
}

static void special_tokens_of_the_tokenizer_make_a_family(void **state)
{
    const char *text = "[|system|]Be short.[|endofturn|]\n[|user|]Hi\n[|assistant|]Yes[|endofturn|]";
    const struct str special[] = {str_of("[|system|]"), str_of("[|user|]"), str_of("[|assistant|]"),
                                  str_of("[|endofturn|]")};
    struct prompt_shape shape;

    (void)state;
    assert_int_equal(side_of(text).shape.family, FAMILY_NONE);
    prompt_shape_of(str_of(text), special, 4, arena, &shape);
    assert_int_equal(shape.family, FAMILY_OTHER);
    assert_string_equal(shape.segments[shape.system].role, "system");
    assert_memory_equal(text + shape.prompt_end, "Yes", 3);
}

static void of_several_turns_the_last_header_ends_the_prompt(void **state)
{
    const char *text = "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n"
                       "<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\nd<|im_end|>\n";

    (void)state;
    assert_memory_equal(text + side_of(text).shape.prompt_end, "d<|", 3);
    expect(text,
           "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n"
           "<|im_start|>user\nc<|im_end|>\n",
           PROMPTS_NO_HEADER);
    expect(text, "<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n", PROMPTS_OTHER_TEXT);
}

/* ---- Differences ---- */

#define U "<|im_start|>user\nHi<|im_end|>\n"
#define A "<|im_start|>assistant\n"
#define END "<|im_end|>\n"
#define SYS(text) "<|im_start|>system\n" text "<|im_end|>\n"

static void a_missing_header_is_named_byte_by_byte(void **state)
{
    struct prompt_comparison c = compare(U A "Yes" END, U);

    (void)state;
    assert_int_equal(c.difference, PROMPTS_NO_HEADER);
    assert_true(str_is(c.missing, A));
    assert_int_equal(c.serve_byte, strlen(U));
    c = compare(U A "Yes" END, "<|im_start|>user\nOther<|im_end|>\n");
    assert_int_equal(c.difference, PROMPTS_NO_HEADER);
    assert_true(str_is(c.missing, A));
}

static void the_inst_family_has_no_header_to_miss(void **state)
{
    (void)state;
    expect("<s>[INST] Hi [/INST] Yes </s>", "<s>[INST] Hi [/INST]", PROMPTS_EQUAL);
    expect("<s>[INST] Hi [/INST] Yes </s>", "[INST] Hello [/INST]", PROMPTS_OTHER_TEXT);
    expect("<s>[INST] Hi [/INST] Yes </s>", "<s>[INST] Hi ", PROMPTS_OTHER_BYTES);
    expect("<s>[INST] Hi [/INST] Yes </s>", "<s>[INST]Hi[/INST]", PROMPTS_OTHER_BYTES);
}

static void a_system_turn_on_one_side_comes_before_a_missing_header(void **state)
{
    (void)state;
    expect(SYS("Be short.") U A "Yes" END, U A, PROMPTS_SYSTEM_ONE_SIDE);
    expect(U A "Yes" END, SYS("You are a helpful assistant.") U A, PROMPTS_SYSTEM_ONE_SIDE);
    expect(U A "Yes" END, SYS("") U A, PROMPTS_SYSTEM_ONE_SIDE);
    expect(SYS("Be short.") U A "Yes" END, U, PROMPTS_SYSTEM_ONE_SIDE);
}

static void other_system_texts_are_measured_by_their_words(void **state)
{
    struct prompt_comparison c =
        compare(SYS("Answer for the shop desk in one sentence.") U A "Yes" END,
                SYS("You are a helpful assistant.") U A);

    (void)state;
    assert_true(c.system_differs);
    assert_true(c.system_jaccard < 0.1);
    assert_string_equal(c.system_serve, "You are a helpful assistant.");
    c = compare(SYS("Be short and kind.") U A "Yes" END, SYS("be Short, and kind") U A);
    assert_false(c.system_differs);
}

static void a_date_in_the_system_text_is_a_note(void **state)
{
    struct prompt_comparison c =
        compare(SYS("Cutting Knowledge. Today Date: 26 Jul 2024") U A "Yes" END,
                SYS("Cutting Knowledge. Today Date: 05 Nov 2025") U A);

    (void)state;
    assert_int_equal(c.difference, PROMPTS_EQUAL);
    assert_false(c.system_differs);
    assert_non_null(strstr(c.note, "date"));
}

static void bytes_between_markers_differ(void **state)
{
    (void)state;
    expect(U A "Yes" END, "<|im_start|>user\nHi<|im_end|><|im_start|>assistant\n",
           PROMPTS_OTHER_BYTES);
    expect(U A "Yes" END, U "<|im_start|>assistant", PROMPTS_OTHER_BYTES);
    expect(U A "Yes" END, U "<|im_start|>assistant\n\n", PROMPTS_OTHER_BYTES);
    expect(U A "Yes" END, U "<|im_start|>assistant ", PROMPTS_OTHER_BYTES);
    expect(U A "Yes" END, "<|im_start|>user Hi<|im_end|>\n" A, PROMPTS_OTHER_BYTES);
    expect("<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
           "<|start_header_id|>assistant<|end_header_id|>\n\nYes<|eot_id|>",
           "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
           "<|start_header_id|>assistant<|end_header_id|>\n",
           PROMPTS_OTHER_BYTES);
    expect("### Instruction:\nHi\n\n### Response:\nYes", "### Instruction:\nHi\n### Response:\n",
           PROMPTS_OTHER_BYTES);
    expect("Below is it.\n\n### Instruction:\nHi\n\n### Response:\nYes",
           "### Instruction:\nHi\n\n### Response:\n", PROMPTS_OTHER_BYTES);
    struct prompt_comparison c = compare(U A "Yes" END, U "<|im_start|>assistant\n\n");
    assert_int_equal(c.train_byte, strlen(U A));
    assert_int_equal(c.serve_byte, strlen(U A));
}

static void a_blank_before_the_first_word_of_an_answer_is_the_answers(void **state)
{
    (void)state;
    expect("USER: Hi ASSISTANT: Yes</s>", "USER: Hi ASSISTANT:", PROMPTS_EQUAL);
    expect("Human: Hi\n\nAssistant: Yes", "Human: Hi\n\nAssistant: ", PROMPTS_EQUAL);
    expect("[gMASK]<sop><|user|>\nHi<|assistant|>\nYes", "[gMASK]<sop><|user|>\nHi<|assistant|>",
           PROMPTS_EQUAL);
    expect("### Instruction:\nHi\n\n### Response:Yes", "### Instruction:\nHi\n\n### Response:",
           PROMPTS_EQUAL);
}

static void thinking_behind_the_header_is_a_note(void **state)
{
    struct prompt_comparison c =
        compare(U A "<think>\n\n</think>\n\nYes" END, U A);

    (void)state;
    assert_int_equal(c.difference, PROMPTS_EQUAL);
    assert_non_null(strstr(c.note, "training only"));
    c = compare(U A "Yes" END, U A "<think>\n\n</think>\n\n");
    assert_int_equal(c.difference, PROMPTS_EQUAL);
    assert_non_null(strstr(c.note, "serving only"));
    expect(U A "<think>\nso\n</think>\nYes" END, U A "<think>\n", PROMPTS_EQUAL);
    assert_true(side_of(U A "<think>\n").shape.ends_with_header);
}

static void a_run_of_special_tokens_may_stop_behind_the_role(void **state)
{
    (void)state;
    expect("<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>",
           "<|start|>user<|message|>Hi<|end|><|start|>assistant", PROMPTS_EQUAL);
    expect("<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>",
           "<|start|>user<|message|>Hi<|end|>", PROMPTS_NO_HEADER);
}

static void blanks_of_contents_are_a_note(void **state)
{
    struct prompt_comparison c =
        compare("<|im_start|>user\n  Hi there.\n<|im_end|>\n" A "Yes" END,
                "<|im_start|>user\nHi there.<|im_end|>\n" A);

    (void)state;
    assert_int_equal(c.difference, PROMPTS_CONTENT_BLANKS);
    assert_non_null(c.note);
}

static void a_content_that_speaks_of_markers_makes_no_family(void **state)
{
    (void)state;
    assert_int_equal(side_of("<|im_start|>user\n[INST] and ### Response:\n<|im_end|>\n" A)
                         .shape.family,
                     FAMILY_CHATML);
    expect("<|im_start|>user\nWhat is\nHuman: x\nAssistant: y<|im_end|>\n" A "Yes" END,
           "<|im_start|>user\nWhat is\nHuman: x\nAssistant: y<|im_end|>\n" A, PROMPTS_EQUAL);
}

static void other_ids_over_equal_bytes(void **state)
{
    static const uint32_t a[] = {5, 6, 7}, b[] = {5, 9}, begin[] = {0, 6, 16}, end[] = {6, 16, 17};
    struct prompt_side train = side_of("Human: Hi\n\nAssistant: Yes");
    struct prompt_side serve = side_of("Human: Hi\n\nAssistant:");
    struct prompt_comparison c;

    (void)state;
    train.ids = a;
    serve.ids = b;
    train.begin = serve.begin = begin;
    train.end = serve.end = end;
    train.n_ids = 3;
    serve.n_ids = 2;
    prompt_compare(&train, &serve, arena, &c);
    assert_int_equal(c.difference, PROMPTS_OTHER_IDS);
    assert_int_equal(c.train_token, 1);
    assert_int_equal(c.serve_byte, 6);
    serve.ids = a;
    prompt_compare(&train, &serve, arena, &c);
    assert_int_equal(c.difference, PROMPTS_EQUAL);
}

static void any_mixture_of_markers_is_cut_without_harm(void **state)
{
    static const char *const pieces[] = {
        "<|im_start|>", "user", "assistant", "\n", "<|im_end|>", "[INST]", "[/INST]", "<<SYS>>",
        "<</SYS>>", "### Response:", "USER:", "ASSISTANT:", "Human:", "<think>", "</think>", " ",
        "<|start_header_id|>", "<|end_header_id|>", "<|", "|>", "<start_of_turn>", "\xff", "x",
        "<｜User｜>", "<｜Assistant｜>", "[gMASK]", "<|user|>", "<|assistant|>", "</s>", "system"};
    struct random random;

    (void)state;
    random_seed(&random, 3);
    for (int round = 0; round < 4000; round++) {
        struct buf text[2];
        struct prompt_side side[2];
        struct prompt_comparison c;

        for (int i = 0; i < 2; i++) {
            buf_init(&text[i], 4096);
            for (uint64_t n = random_below(&random, 14); n > 0; n--)
                buf_puts(&text[i],
                         pieces[random_below(&random, sizeof pieces / sizeof pieces[0])]);
            /* a copy of its own size, so that a byte too many is seen */
            side[i] = (struct prompt_side){.text = arena_str(arena, buf_view(&text[i]))};
            prompt_shape_of(side[i].text, NULL, 0, arena, &side[i].shape);
            size_t at = 0;
            for (size_t k = 0; k < side[i].shape.n; k++) {
                assert_int_equal(side[i].shape.segments[k].begin, at);
                at = side[i].shape.segments[k].end;
            }
            assert_int_equal(at, side[i].text.n);
        }
        prompt_compare(&side[0], &side[1], arena, &c);
        assert_true(c.train_byte <= side[0].text.n && c.serve_byte <= side[1].text.n);
        prompt_compare(&side[0], &side[0], arena, &c);
        assert_int_not_equal(c.difference, PROMPTS_OTHER_FAMILY);
        buf_free(&text[0]);
        buf_free(&text[1]);
        arena_reset(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_is_told_by_its_markers),
        cmocka_unit_test(segments_cover_the_text),
        cmocka_unit_test(the_prompt_up_to_the_header_equals_its_training_text),
        cmocka_unit_test(two_families_are_never_the_same),
        cmocka_unit_test(plain_text_has_no_family),
        cmocka_unit_test(special_tokens_of_the_tokenizer_make_a_family),
        cmocka_unit_test(of_several_turns_the_last_header_ends_the_prompt),
        cmocka_unit_test(a_missing_header_is_named_byte_by_byte),
        cmocka_unit_test(the_inst_family_has_no_header_to_miss),
        cmocka_unit_test(a_system_turn_on_one_side_comes_before_a_missing_header),
        cmocka_unit_test(other_system_texts_are_measured_by_their_words),
        cmocka_unit_test(a_date_in_the_system_text_is_a_note),
        cmocka_unit_test(bytes_between_markers_differ),
        cmocka_unit_test(a_blank_before_the_first_word_of_an_answer_is_the_answers),
        cmocka_unit_test(thinking_behind_the_header_is_a_note),
        cmocka_unit_test(a_run_of_special_tokens_may_stop_behind_the_role),
        cmocka_unit_test(blanks_of_contents_are_a_note),
        cmocka_unit_test(a_content_that_speaks_of_markers_makes_no_family),
        cmocka_unit_test(other_ids_over_equal_bytes),
        cmocka_unit_test(any_mixture_of_markers_is_cut_without_harm),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
