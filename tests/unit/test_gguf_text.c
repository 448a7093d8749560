/* What a GGUF file brings for texts: its tokenizer and its chat templates. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/text/chat_template.h"
#include "core/text/tokenizer/tokenizer.h"
#include "tests/harness/gguf_bytes.h"
#include "tests/harness/served_files.h"
#include "tests/harness/tempdir.h"

struct fixture {
    char *folder;
    const char *path;
    struct tokenizer *tokenizer;
    struct arena *arena;
    struct error err;
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){.folder = tempdir_make(), .arena = arena_open((size_t)16 << 20)};
    f.path = arena_strdup(f.arena, tempdir_path(f.folder, "m.gguf"));
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    tokenizer_close(f->tokenizer);
    arena_close(f->arena);
    tempdir_remove(f->folder);
    return 0;
}

static void expect_ids(struct fixture *f, const char *text, bool special, const uint32_t *ids,
                       size_t n)
{
    struct tokenizer_scratch *scratch = NULL;
    struct tokens tokens = {0};

    assert_int_equal(tokenizer_scratch_open(&scratch, &f->err), OK);
    assert_int_equal(
        tokenizer_encode(f->tokenizer, scratch, str_of(text), special, &tokens, &f->err), OK);
    assert_int_equal(tokens.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(tokens.ids[i], ids[i]);
    tokens_free(&tokens);
    tokenizer_scratch_close(scratch);
}

static void byte_level_bpe_with_merges_and_special_tokens(void **state)
{
    struct fixture *f = *state;
    const struct served_gguf gguf = {.adds_bos = -1};
    static const uint32_t ids[] = {259, 256, 257, '.', 260};

    served_gguf_write(f->folder, "m.gguf", &gguf);
    assert_int_equal(tokenizer_load(&f->tokenizer, f->path, NULL, &f->err), OK);
    expect_ids(f, "<|im_start|>Here.<|im_end|>", true, ids, 5);
    assert_true(tokenizer_is_special(f->tokenizer, 260));
    assert_int_equal(tokenizer_id(f->tokenizer, str_of("<|im_end|>")), 260);
    assert_non_null(strstr(tokenizer_about(f->tokenizer), "m.gguf"));
}

static void the_file_says_whether_a_bos_is_added(void **state)
{
    struct fixture *f = *state;
    const struct served_gguf gguf = {.adds_bos = 1, .bos = "<s>"};
    static const uint32_t with[] = {258, 256}, without[] = {256};

    served_gguf_write(f->folder, "m.gguf", &gguf);
    assert_int_equal(tokenizer_load(&f->tokenizer, f->path, NULL, &f->err), OK);
    expect_ids(f, "He", true, with, 2);
    expect_ids(f, "He", false, without, 1);
}

static void a_pre_tokenizer_that_is_not_known_is_refused_by_name(void **state)
{
    struct fixture *f = *state;
    const struct served_gguf gguf = {.adds_bos = -1, .pre = "bailingmoe"};

    served_gguf_write(f->folder, "m.gguf", &gguf);
    assert_int_equal(tokenizer_load(&f->tokenizer, f->path, NULL, &f->err), E_UNSUPPORTED);
    assert_non_null(strstr(f->err.message, "bailingmoe"));
}

static void write_pieces(struct fixture *f, const char *model)
{
    static const char *const tokens[] = {"<unk>", "<s>", "</s>", "\xE2\x96\x81", "h", "i",
                                         "hi",    "\xE2\x96\x81hi"};
    static const float scores[] = {0, 0, 0, -5, -6, -7, -2, -1};
    static const int32_t types[] = {2, 3, 3, 1, 1, 1, 1, 1};
    struct gguf_bytes g;
    struct buf file;

    gguf_bytes_init(&g);
    buf_init(&file, 1 << 20);
    gguf_put_text(&g, "tokenizer.ggml.model", model);
    gguf_put_texts(&g, "tokenizer.ggml.tokens", tokens, 8);
    gguf_put_floats(&g, "tokenizer.ggml.scores", scores, 8);
    gguf_put_ints(&g, "tokenizer.ggml.token_type", types, 8);
    gguf_put_u32(&g, "tokenizer.ggml.bos_token_id", 1);
    gguf_put_u32(&g, "tokenizer.ggml.eos_token_id", 2);
    gguf_bytes_write(&g, &file);
    tempdir_write(f->folder, "m.gguf", file.p, file.n);
    buf_free(&file);
    gguf_bytes_free(&g);
}

static void sentencepiece_merges_by_score(void **state)
{
    struct fixture *f = *state;
    static const uint32_t ids[] = {1, 7, 6};

    write_pieces(f, "llama");
    assert_int_equal(tokenizer_load(&f->tokenizer, f->path, NULL, &f->err), OK);
    expect_ids(f, "hihi", true, ids, 3);
}

static void other_models_are_refused_by_name(void **state)
{
    struct fixture *f = *state;

    write_pieces(f, "t5");
    assert_int_equal(tokenizer_load(&f->tokenizer, f->path, NULL, &f->err), E_UNSUPPORTED);
    assert_non_null(strstr(f->err.message, "'t5'"));
}

static void templates_are_found_by_name(void **state)
{
    struct fixture *f = *state;
    const struct served_gguf gguf = {.chat_template = "{{ bos_token }}hi", .bos = "<s>",
                                     .eos = "<|im_end|>", .adds_bos = -1};
    struct chat_template_set set;
    const struct json *tokens;

    served_gguf_write(f->folder, "m.gguf", &gguf);
    assert_int_equal(chat_template_find(f->path, f->arena, &set, &f->err), OK);
    assert_int_equal(set.n, 1);
    assert_string_equal(set.items[0].name, "default");
    assert_true(str_is(set.items[0].text, "{{ bos_token }}hi"));
    assert_int_equal(chat_special_tokens(f->path, f->arena, &tokens, &f->err), OK);
    assert_true(str_is(json_get(tokens, "bos_token")->text, "<s>"));
    assert_true(str_is(json_get(tokens, "eos_token")->text, "<|im_end|>"));
}

static void a_file_without_templates_is_told_so(void **state)
{
    struct fixture *f = *state;
    const struct served_gguf gguf = {.adds_bos = -1};
    struct chat_template_set set;

    served_gguf_write(f->folder, "m.gguf", &gguf);
    assert_int_equal(chat_template_find(f->path, f->arena, &set, &f->err), E_NOTFOUND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(byte_level_bpe_with_merges_and_special_tokens),
        TEST(the_file_says_whether_a_bos_is_added),
        TEST(a_pre_tokenizer_that_is_not_known_is_refused_by_name),
        TEST(sentencepiece_merges_by_score),
        TEST(other_models_are_refused_by_name),
        TEST(templates_are_found_by_name),
        TEST(a_file_without_templates_is_told_so),
    };

    return cmocka_run_group_tests_name("gguf_text", tests, NULL, NULL);
}
