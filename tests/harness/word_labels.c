/* See word_labels.h. */
#include "tests/harness/word_labels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Words are tokens; markers of a few families are added tokens. The ids count up from 0. */
#define ADDED(id, text)                                                                            \
    "{\"id\":" id ",\"content\":\"" text "\",\"single_word\":false,\"lstrip\":false,"                     \
    "\"rstrip\":false,\"normalized\":false,\"special\":true}"

static const char WORDS[] =
    "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":["
    ADDED("0", "<s>") "," ADDED("1", "</s>") "," ADDED("2", "<pad>") ","
    ADDED("3", "<|im_start|>") "," ADDED("4", "<|im_end|>") "],"
    "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},\"post_processor\":null,"
    "\"decoder\":{\"type\":\"Fuse\"},"
    "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"<s>\":0,\"</s>\":1,\"<pad>\":2,"
    "\"<|im_start|>\":3,\"<|im_end|>\":4,\"?\":5,\"user\":6,\"assistant\":7,\"system\":8,\"a\":9,"
    "\"b\":10,\"c\":11,\"d\":12,\"Q:\":13,\"A:\":14,\"e\":15,\"user\\n\":16,"
    "\"assistant\\n\":17}}}";

static struct tokenizer *words;
static struct arena *arena;

int word_labels_open(void **state)
{
    struct error err;

    (void)state;
    arena = arena_open(ARENA_RENDER_BYTES);
    if (tokenizer_load_text(&words, str_of(WORDS), &err) != OK)
        fail_msg("%s", err.message);
    return 0;
}

int word_labels_close(void **state)
{
    (void)state;
    tokenizer_close(words);
    arena_close(arena);
    return 0;
}

struct tokenizer *word_tokenizer(void)
{
    return words;
}

struct label_policy word_policy(enum mask_rule rule)
{
    return (struct label_policy){.rule = rule,
                                 .completion_only = AUTO,
                                 .assistant_only = AUTO,
                                 .train_on_prompt = AUTO,
                                 .mask_history = AUTO,
                                 .efficient_eos = AUTO,
                                 .enable_thinking = AUTO,
                                 .train_on_inputs = AUTO,
                                 .last_response_only = AUTO,
                                 .max_length = NONE,
                                 .pad_id = 2,
                                 .eos_id = 1,
                                 .bos_id = 0,
                                 .eos_text = {"</s>", 4},
                                 .bos_text = {"<s>", 3}};
}

struct labeller *word_labeller(const struct label_policy *policy)
{
    struct labeller_parts parts = {.policy = policy, .tokenizer = words};
    struct labeller *labeller;
    struct error err;

    if (labeller_open(&labeller, &parts, &err) != OK)
        fail_msg("%s", err.message);
    return labeller;
}

struct conversation word_row(const char *text)
{
    struct conversation row;
    const struct json *tree;
    struct error err;

    assert_int_equal(json_parse_exact(str_of(text), arena, &tree, &err), OK);
    assert_int_equal(conversation_of_row(tree, NULL, arena, &row, &err), OK);
    return row;
}

struct labelled_row label(struct labeller *labeller, const char *text)
{
    struct conversation row = word_row(text);
    struct labelled_row out;
    struct error err;

    if (label_row(labeller, &row, &out, &err) != OK)
        fail_msg("%s", err.message);
    return out;
}

void assert_labels(const struct labelled_row *row, const char *expected)
{
    struct buf shown;

    buf_init(&shown, 1 << 16);
    for (size_t i = row->first_kept; i < row->end_kept; i++)
        buf_printf(&shown, "%s%u%c", shown.n ? " " : "", row->ids[i], row->trained[i] ? '+' : '-');
    assert_string_equal(shown.p, expected);
    buf_free(&shown);
}

void assert_sides(const struct labelled_row *row, const char *expected)
{
    char shown[256] = "";

    assert_true(row->n < sizeof shown);
    for (size_t i = 0; i < row->n; i++)
        shown[i] = "-suath"[row->side[i]];
    assert_string_equal(shown, expected);
}
