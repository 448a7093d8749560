/* Tokenizers without a tokenizer.json; ids are those of the tokenizers that the converters of
 * transformers make of the same files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/text/tokenizer/tokenizer.h"
#include "tests/harness/tempdir.h"

#define MARK "\xE2\x96\x81"

/* ---- small sentencepiece models ---- */

struct piece {
    const char *text;
    float score;
    int type;
};

static void put_field(struct buf *out, unsigned number, struct str bytes)
{
    buf_putc(out, (char)(number << 3 | 2));
    buf_putc(out, (char)bytes.n);       /* under 128 bytes */
    buf_str(out, bytes);
}

static void put_piece(struct buf *out, const struct piece *piece)
{
    struct buf inner;

    buf_init(&inner, 200);
    put_field(&inner, 1, str_of(piece->text));
    buf_putc(&inner, 2 << 3 | 5);
    buf_add(&inner, &piece->score, 4);
    if (piece->type != 1) {
        buf_putc(&inner, 3 << 3);
        buf_putc(&inner, (char)piece->type);
    }
    put_field(out, 1, buf_view(&inner));
    buf_free(&inner);
}

static void put_model(struct buf *out, const struct piece *pieces, size_t n, int model_type)
{
    const char trainer[] = {3 << 3, (char)model_type};

    buf_init(out, 1 << 16);
    for (size_t i = 0; i < n; i++)
        put_piece(out, &pieces[i]);
    put_field(out, 2, str_from(trainer, sizeof trainer));
}

static const struct piece merged[] = {
    {"<unk>", 0, 2},     {"<s>", 0, 3},   {"</s>", 0, 3}, {"<0x0A>", 0, 6},
    {"<x>", 0, 4},       {MARK "a", 0, 1}, {"ab", -1, 1},  {MARK "ab", -2, 1},
    {"ba", -3, 1},       {MARK, -4, 1},   {"a", -5, 1},   {"b", -6, 1}};
static const struct piece scored[] = {
    {"<unk>", 0, 2}, {"<s>", 0, 3},      {"</s>", 0, 3},     {MARK "a", -1.1f, 1},
    {"b", -2.3f, 1}, {MARK, -3.7f, 1},   {"ab", -2.05f, 1},  {"a", -4.25f, 1}};

/* ---- what comes out ---- */

static void expect(const char *path, const char *const texts[], const char *const ids[])
{
    struct tokenizer *tokenizer = NULL;
    struct tokenizer_scratch *scratch = NULL;
    struct tokens tokens = {0};
    struct error err;

    if (tokenizer_load(&tokenizer, path, NULL, &err) != OK)
        fail_msg("%s", err.message);
    assert_int_equal(tokenizer_scratch_open(&scratch, &err), OK);
    for (size_t i = 0; texts[i]; i++) {
        char text[256] = "";
        size_t n = 0;

        assert_int_equal(tokenizer_encode(tokenizer, scratch, str_of(texts[i]), true, &tokens, &err),
                         OK);
        for (size_t k = 0; k < tokens.n; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, k ? " %u" : "%u", tokens.ids[k]);
        assert_string_equal(text, ids[i]);
    }
    tokens_free(&tokens);
    tokenizer_scratch_close(scratch);
    tokenizer_close(tokenizer);
}

static void refuse(const char *path, int rc, const char *says)
{
    struct tokenizer *tokenizer = NULL;
    struct error err = {0};

    if (tokenizer_load(&tokenizer, path, NULL, &err) != rc || !strstr(err.message, says))
        fail_msg("%d %s", err.status, err.message);
    assert_null(tokenizer);
}

static void write_model(const char *folder, const struct piece *pieces, size_t n, int model_type,
                        const char *config)
{
    struct buf model;

    put_model(&model, pieces, n, model_type);
    tempdir_write(folder, "tokenizer.model", model.p, model.n);
    tempdir_write_text(folder, "tokenizer_config.json", config);
    buf_free(&model);
}

static void a_llama_model_of_sentencepiece_is_converted(void **state)
{
    static const char *const texts[] = {"ab", "abab ba", "<x>ab", "a</s> b", "c\n", "", NULL};
    static const char *const old[] = {"1 7", "1 7 6 9 8", "1 4 7", "1 5 2 9 9 11", "1 9 3 0", "1"};
    static const char *const new[] = {"1 7", "1 7 6 9 8", "1 4 6", "1 5 2 9 11", "1 9 3 0", "1"};
    char *folder = tempdir_make();

    (void)state;
    /* "c" is unknown, and comes behind the byte of the newline: the library's order */
    write_model(folder, merged, sizeof merged / sizeof *merged, 2,
                "{\"tokenizer_class\":\"LlamaTokenizer\"}");
    expect(folder, texts, old);
    write_model(folder, merged, sizeof merged / sizeof *merged, 2,
                "{\"tokenizer_class\":\"LlamaTokenizerFast\",\"legacy\":false}");
    expect(folder, texts, new);
    expect(tempdir_path(folder, "tokenizer.model"), texts, new);
    tempdir_remove(folder);
}

static void a_t5_model_of_sentencepiece_is_converted(void **state)
{
    static const char *const texts[] = {"ab", "a  ab ", "xab", "<extra_id_1>b", NULL};
    static const char *const ids[] = {"3 4 2", "3 3 4 2", "5 0 6 2", "5 8 4 2"};
    char *folder = tempdir_make();

    (void)state;
    write_model(folder, scored, sizeof scored / sizeof *scored, 1,
                "{\"tokenizer_class\":\"T5Tokenizer\",\"extra_ids\":2,\"pad_token\":null}");
    expect(folder, texts, ids);
    tempdir_remove(folder);
}

static void vocab_json_and_merges_are_read(void **state)
{
    static const char *const texts[] = {"ab ab", "ab<|endoftext|>", "<n>b", NULL};
    static const char *const ids[] = {"3 4", "3 6", "7 1"};
    char *folder = tempdir_make();

    (void)state;
    tempdir_write_text(folder, "vocab.json",
                       " {\"a\":0,\"b\":1,\"\\u0120\":2,\"ab\":3,\"\\u0120ab\":4,\"\\u0120a\":5}\n");
    tempdir_write_text(folder, "merges.txt",
                       "#version: 0.2\na b\n\xC4\xA0 ab\n\xC4\xA0 a\n\n");
    tempdir_write_text(folder, "tokenizer_config.json",
                       "{\"tokenizer_class\":\"GPT2Tokenizer\",\"added_tokens_decoder\":{\"7\":"
                       "{\"content\":\"<n>\",\"special\":false},\"6\":{\"content\":"
                       "\"<|endoftext|>\",\"special\":true}}}");
    expect(folder, texts, ids);
    expect(tempdir_path(folder, "vocab.json"), texts, ids);
    tempdir_remove(folder);
}

static void lines_of_vocab_txt_are_wordpieces(void **state)
{
    static const char *const texts[] = {"Unable", "un[MASK]able x", NULL};
    static const char *const ids[] = {"2 5 6 3", "2 5 4 7 1 3"};
    char *folder = tempdir_make();

    (void)state;
    tempdir_write_text(folder, "vocab.txt",
                       "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##able\r\nable\n");
    expect(folder, texts, ids);
    tempdir_remove(folder);
}

static void ranks_of_tiktoken_are_merged_by_rank(void **state)
{
    static const char *const texts[] = {"ab", "abc", "<s>a", NULL};
    static const char *const ids[] = {"3", "3 2", "5 0"};
    char *folder = tempdir_make();

    (void)state;
    tempdir_write_text(folder, "tokenizer.model", "YQ== 0\nYg== 1\nYw== 2\nYWI= 3\nYmM= 4\n");
    tempdir_write_text(folder, "tokenizer_config.json",
                       "{\"tokenizer_class\":\"PreTrainedTokenizerFast\",\"added_tokens_decoder\":"
                       "{\"5\":{\"content\":\"<s>\",\"special\":true}}}");
    expect(folder, texts, ids);
    tempdir_write_text(folder, "tokenizer.model", "YQ== 0\nY*== 1\n");
    refuse(folder, E_PARSE, "base64");
    tempdir_remove(folder);
}

static void what_is_not_read_is_refused_by_name(void **state)
{
    char *folder = tempdir_make();

    (void)state;
    refuse(folder, E_NOTFOUND, "vocab.txt");
    write_model(folder, scored, sizeof scored / sizeof *scored, 1,
                "{\"tokenizer_class\":\"XLNetTokenizer\"}");
    refuse(folder, E_UNSUPPORTED, "XLNetTokenizer");
    write_model(folder, scored, sizeof scored / sizeof *scored, 3,
                "{\"tokenizer_class\":\"LlamaTokenizer\"}");
    refuse(folder, E_UNSUPPORTED, "type 3");
    write_model(folder, NULL, 0, 2, "{\"tokenizer_class\":\"LlamaTokenizer\"}");
    refuse(folder, E_PARSE, "without pieces");
    write_model(folder, scored, sizeof scored / sizeof *scored, 1,
                "{\"tokenizer_class\":\"BertTokenizer\"}");
    refuse(folder, E_UNSUPPORTED, "BertTokenizer");
    tempdir_remove(folder);
}

/* Any answer but a crash; what loads must encode. */
static void models_that_are_cut_anywhere_are_survived(void **state)
{
    char *folder = tempdir_make();
    struct buf model;

    (void)state;
    put_model(&model, merged, sizeof merged / sizeof *merged, 2);
    tempdir_write_text(folder, "tokenizer_config.json", "{\"tokenizer_class\":\"LlamaTokenizer\"}");
    for (size_t n = 0; n < model.n; n++) {
        struct tokenizer *tokenizer = NULL;
        struct error err;

        tempdir_write(folder, "tokenizer.model", model.p, n);
        if (tokenizer_load(&tokenizer, folder, NULL, &err) == OK)
            tokenizer_close(tokenizer);
        else
            assert_true(err.message[0] != '\0');
    }
    buf_free(&model);
    tempdir_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_llama_model_of_sentencepiece_is_converted),
        cmocka_unit_test(a_t5_model_of_sentencepiece_is_converted),
        cmocka_unit_test(vocab_json_and_merges_are_read),
        cmocka_unit_test(lines_of_vocab_txt_are_wordpieces),
        cmocka_unit_test(ranks_of_tiktoken_are_merged_by_rank),
        cmocka_unit_test(what_is_not_read_is_refused_by_name),
        cmocka_unit_test(models_that_are_cut_anywhere_are_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
