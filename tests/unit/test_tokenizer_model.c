/* The four models on small vocabularies; ids and offsets are those of the tokenizers library 0.23. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/text/tokenizer/tokenizer_parts.h"

struct source {
    const char *settings, *vocab, *merges;
};

static int open_model(struct tok_model **out, const struct source *source, struct error *err)
{
    struct arena *arena = arena_open(1 << 20);
    const struct json *settings = NULL;

    assert_non_null(arena);
    assert_int_equal(json_parse_exact(str_of(source->settings), arena, &settings, err), OK);

    struct model_parts parts = {settings, str_of(source->vocab), str_of(source->merges)};
    int rc = model_open(out, &parts, err);

    arena_close(arena);
    return rc;
}

static void write_tokens(const struct tokens *tokens, char out[512])
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < tokens->n && n < 480; i++)
        n += (size_t)snprintf(out + n, 512 - n, "%s%u:%u:%u", i ? " " : "", tokens->ids[i],
                              tokens->begin[i], tokens->end[i]);
}

struct expected {
    struct source source;
    const char *texts[4], *tokens[4];
};

#define BYTES_OF_E9 "\"<0xC3>\":4,\"<0xA9>\":5,\"<0xE2>\":6"

static const struct expected table[] = {
    {{"{\"type\":\"BPE\",\"unk_token\":\"<unk>\"}",
      "{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"abc\":4,\"bc\":5,\"\\u00e9\":6,\"<unk>\":7}",
      "[\"a b\",\"b c\",\"ab c\"]"},
     {"abcbc", "a\xC3\xA9" "bxx", "cab"},
     {"4:0:3 5:3:5", "0:0:1 6:1:3 1:3:4 7:4:5 7:5:6", "2:0:1 3:1:3"}},
    {{"{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true}",
      "{\"a\":0,\"b\":1,\"ab\":2,\"<unk>\":3}", "[[\"a\",\"b\"]]"},
     {"axy\xC3\xA9" "b", "xab"},
     {"0:0:1 3:1:5 1:5:6", "3:0:1 2:1:3"}},
    /* letters that are dropped do not part what stands around them */
    {{"{\"type\":\"BPE\"}", "{\"a\":0,\"b\":1,\"ab\":2}", "[\"a b\"]"}, {"axb"}, {"2:0:2"}},
    {{"{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,\"byte_fallback\":true}",
      "{\"a\":0,\"\xE2\x96\x81\":1,\"\xE2\x96\x81" "a\":2,\"<unk>\":3," BYTES_OF_E9 "}",
      "[\"\xE2\x96\x81 a\"]"},
     {"a\xC3\xA9\xE2\x96\x81" "a", "\xE5\xA5\xBD\xC3\xA9" "a",
      "\xE2\x96\x81" "a\xE2\x96\x81" "a\xE2\x96\x81\xE2\x96\x81" "a"},
     {"0:0:1 4:1:2 5:2:3 2:3:7", "4:0:1 5:1:2 3:2:5 0:5:6", "2:0:4 2:4:8 1:8:11 2:11:15"}},
    {{"{\"type\":\"BPE\",\"continuing_subword_prefix\":\"##\"}",
      "{\"a\":0,\"##b\":1,\"##c\":2,\"ab\":3,\"##bc\":4,\"abc\":5}",
      "[\"a ##b\",\"##b ##c\",\"ab ##c\"]"},
     {"abc", "abb"},
     {"5:0:3", "3:0:2 1:2:3"}},
    {{"{\"type\":\"BPE\",\"end_of_word_suffix\":\"</w>\"}",
      "{\"a\":0,\"b\":1,\"b</w>\":2,\"ab</w>\":3,\"c</w>\":4}", "[\"a b</w>\"]"},
     {"ab", "aab", "bc"},
     {"3:0:2", "0:0:1 3:1:3", "1:0:1 4:1:2"}},
    {{"{\"type\":\"BPE\",\"ignore_merges\":true}",
      "{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"abc\":4,\"bc\":5}", "[\"b c\"]"},
     {"abc", "abcabc"},
     {"4:0:3", "0:0:1 5:1:3 0:3:4 5:4:6"}},
    {{"{\"type\":\"BPE\",\"dropout\":1.0}", "{\"a\":0,\"b\":1,\"ab\":2}", "[\"a b\"]"},
     {"ab"},
     {"0:0:1 1:1:2"}},
    {{"{\"type\":\"BPE\"}", "{\"a\":0,\"aa\":1,\"aaa\":2}", "[\"a a\",\"aa a\",\"a aa\"]"},
     {"aaa", "aaaa", "aaaaaaa"},
     {"2:0:3", "1:0:2 1:2:4", "1:0:2 1:2:4 2:4:7"}},
    {{"{\"type\":\"Unigram\",\"unk_id\":0}",
      "[[\"<unk>\",0],[\"a\",-1],[\"b\",-2],[\"ab\",-2.5],[\"\xC3\xA9\",-3]]", ""},
     {"ab\xC3\xA9", "xya", "ax<unk>yb"},
     {"3:0:2 4:2:4", "0:0:2 1:2:3", "1:0:1 0:1:8 2:8:9"}},
    /* of equal sums the one found first */
    {{"{\"type\":\"Unigram\",\"unk_id\":0}",
      "[[\"<unk>\",-9],[\"a\",-1],[\"aa\",-2],[\"aaa\",-3]]", ""},
     {"aaa", "aaaa"},
     {"3:0:3", "1:0:1 3:1:4"}},
    {{"{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true}",
      "[[\"<unk>\",0],[\"a\",-1],[\"<0xC3>\",-2],[\"<0xA9>\",-2]]", ""},
     {"a\xC3\xA9" "a", "\xE5\xA5\xBD"},
     {"1:0:1 2:1:3 3:1:3 1:3:4", "0:0:3"}},
    {{"{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","
      "\"max_input_chars_per_word\":10}",
      "{\"un\":0,\"##aff\":1,\"##able\":2,\"aff\":3,\"able\":4,\"[UNK]\":5,\"##\xC3\xA9\":6}", ""},
     {"unaffable", "unaff\xC3\xA9", "unx", "affaffaffaff"},
     {"0:0:2 1:2:5 2:5:9", "0:0:2 1:2:5 6:5:7", "5:0:3", "5:0:12"}},
    {{"{\"type\":\"WordLevel\",\"unk_token\":\"[UNK]\"}", "{\"a\":5,\"[UNK]\":1}", ""},
     {"a", "b"},
     {"5:0:1", "1:0:1"}},
};

static void pieces_become_the_librarys_ids_and_offsets(void **state)
{
    struct model_scratch *scratch = NULL;
    struct tokens tokens = {0};
    struct error err;

    (void)state;
    assert_int_equal(model_scratch_open(&scratch, &err), OK);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct tok_model *model = NULL;

        assert_int_equal(open_model(&model, &table[i].source, &err), OK);
        /* twice: the second time the cache gives them */
        for (int round = 0; round < 2; round++) {
            for (int k = 0; k < 4 && table[i].texts[k]; k++) {
                char text[512];

                tokens.n = 0;
                assert_int_equal(
                    model_encode(model, scratch, str_of(table[i].texts[k]), &tokens, &err), OK);
                write_tokens(&tokens, text);
                assert_string_equal(text, table[i].tokens[k]);
            }
        }
        model_close(model);
    }
    tokens_free(&tokens);
    model_scratch_close(scratch);
}

/* What the library refuses is refused, and what it takes is taken. */
static void wrong_models_are_refused_in_words(void **state)
{
    static const struct {
        struct source source;
        int rc;
        const char *says;
    } wrong[] = {
        {{"{\"type\":\"BPE\"}", "{\"a\":0,\"b\":1}", "[\"a c\"]"}, E_PARSE, "merge 1"},
        {{"{\"type\":\"BPE\"}", "{\"a\":0,\"b\":1}", "[\"a b\"]"}, E_PARSE, "ab"},
        {{"{\"type\":\"BPE\"}", "{\"a\":0}", "[\"a  a\"]"}, E_PARSE, "two parts"},
        {{"{\"type\":\"BPE\"}", "{\"a\":0}", "[\"a\"]"}, E_PARSE, "two parts"},
        {{"{\"type\":\"BPE\"}", "{\"a\":0,\"aa\":1}", "[[\"a\",\"a\"],\"a a\"]"}, E_PARSE, "'['"},
        {{"{\"type\":\"BPE\"}", "{\"a\":0}", "[[\"a\",\"a\",\"a\"]]"}, E_PARSE, "']'"},
        {{"{\"type\":\"BPE\"}", "{\"a\":0}", "null"}, E_PARSE, "'['"},
        {{"{\"type\":\"BPE\"}", "{\"a\":0}", ""}, E_PARSE, "without merges"},
        {{"{\"type\":\"BPE\"}", "{\"a\":4294967296}", "[]"}, E_PARSE, "whole number"},
        {{"{\"type\":\"BPE\"}", "{\"a\":-1}", "[]"}, E_PARSE, "whole number"},
        {{"{\"type\":\"BPE\"}", "{\"a\":1.0}", "[]"}, E_PARSE, "whole number"},
        {{"{\"type\":\"BPE\"}", "{\"a\":0", "[]"}, E_PARSE, "','"},
        {{"{\"type\":\"BPE\"}", "{\"a", "[]"}, E_PARSE, "end of a string"},
        {{"{\"type\":\"BPE\"}", "{\"a\\", "[]"}, E_PARSE, "escape"},
        {{"{\"type\":\"BPE\"}", "{\"\\ud800\":0}", "[]"}, E_PARSE, "surrogate"},
        {{"{\"type\":\"BPE\"}", "{\"\\udc00\":0}", "[]"}, E_PARSE, "surrogate"},
        {{"{\"type\":\"BPE\"}", "{\"\xFF\":0}", "[]"}, E_PARSE, "UTF-8"},
        {{"{\"type\":\"BPE\"}", "{\"a\tb\":0}", "[]"}, E_PARSE, "end of a string"},
        {{"{\"type\":\"BPE\"}", "{} x", "[]"}, E_PARSE, "nothing more"},
        {{"{\"type\":\"BPE\",\"dropout\":2}", "{}", "[]"}, E_PARSE, "dropout"},
        {{"{\"type\":\"BPE\",\"dropout\":0.1}", "{}", "[]"}, E_UNSUPPORTED, "dropout"},
        {{"{\"type\":\"BPE\",\"continuing_subword_prefix\":\"##\"}", "{\"a\":0,\"aa\":1}",
          "[\"a a\"]"},
         E_PARSE, "prefix"},
        {{"{\"type\":\"Unigram\"}", "[[\"a\",NaN]]", ""}, E_PARSE, "number"},
        {{"{\"type\":\"Unigram\"}", "[[\"a\",1e999]]", ""}, E_PARSE, "double"},
        {{"{\"type\":\"Unigram\"}", "[[\"a\",null]]", ""}, E_PARSE, "number"},
        {{"{\"type\":\"Unigram\"}", "[[\"a\",1,2]]", ""}, E_PARSE, "']'"},
        {{"{\"type\":\"Unigram\",\"unk_id\":1}", "[[\"a\",1]]", ""}, E_PARSE, "unk_id"},
        {{"{\"type\":\"Unigram\",\"unk_id\":-1}", "[[\"a\",1]]", ""}, E_PARSE, "unk_id"},
        {{"{\"type\":\"WordPiece\",\"unk_token\":\"a\"}", "{\"a\":0}", ""}, E_PARSE, "prefix"},
        {{"{\"type\":\"WordLevel\"}", "{\"a\":0}", ""}, E_PARSE, "unk_token"},
        {{"{\"type\":\"Other\"}", "{\"a\":0}", ""}, E_UNSUPPORTED, "Other"},
        {{"{}", "{\"a\":0}", ""}, E_PARSE, "unk_token"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct tok_model *model = NULL;
        struct error err = {0};

        if (open_model(&model, &wrong[i].source, &err) != wrong[i].rc ||
            !strstr(err.message, wrong[i].says))
            fail_msg("model %zu: %d %s", i, err.status, err.message);
        assert_null(model);
    }
}

static void a_model_without_a_type_is_the_first_kind_that_reads_it(void **state)
{
    static const struct {
        struct source source;
        enum model_kind kind;
    } old[] = {
        {{"{}", "{\"a\":0,\"aa\":1}", "[\"a a\"]"}, MODEL_BPE},
        {{"{\"unk_token\":\"a\"}", "{\"a\":0}", ""}, MODEL_WORDLEVEL},
        {{"{\"unk_token\":\"a\"}", "{\"a\":0}", "[\"a b\"]"}, MODEL_WORDLEVEL},
        {{"{\"unk_token\":\"a\",\"continuing_subword_prefix\":\"##\","
          "\"max_input_chars_per_word\":9}",
          "{\"a\":0}", ""},
         MODEL_WORDPIECE},
        {{"{}", "[[\"a\",-1]]", ""}, MODEL_UNIGRAM},
    };

    (void)state;
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        struct tok_model *model = NULL;
        struct error err;

        assert_int_equal(open_model(&model, &old[i].source, &err), OK);
        assert_int_equal(model_kind(model), old[i].kind);
        model_close(model);
    }
}

static void ids_may_have_holes_and_keys_may_come_twice(void **state)
{
    static const struct source source = {
        "{\"type\":\"BPE\"}",
        "{\"b\":4294967294,\"a\":7,\"\":3,\"a\":2147483648,\"\\u0000\\\"\\ud83d\\ude00\":5}", "[]"};
    struct tok_model *model = NULL;
    struct error err;

    (void)state;
    assert_int_equal(open_model(&model, &source, &err), OK);
    assert_int_equal(model_size(model), UINT32_MAX);
    assert_int_equal(model_count(model), 4);
    assert_int_equal(model_id(model, str_of("a")), INT64_C(2147483648));
    assert_true(str_is(model_token(model, UINT32_C(2147483648)), "a"));
    assert_null(model_token(model, 7).p);
    assert_null(model_token(model, UINT32_MAX).p);
    assert_int_equal(model_id(model, str_of("")), 3);
    assert_true(str_eq(model_token(model, 5), str_from("\0\"\xF0\x9F\x98\x80", 6)));
    assert_int_equal(model_id(model, str_of("c")), NONE);
    model_close(model);
}

static void scores_are_read_in_every_notation(void **state)
{
    static const struct source source = {
        "{\"type\":\"Unigram\",\"unk_id\":0}",
        "[[\"<unk>\",0],[\"a\",-5E-1],[\"b\",-0.5],[\"ab\",-100000000000000000000e-20],[\"c\",0e5]]",
        ""};
    struct tok_model *model = NULL;
    struct model_scratch *scratch = NULL;
    struct tokens tokens = {0};
    struct error err;

    (void)state;
    assert_int_equal(open_model(&model, &source, &err), OK);
    assert_int_equal(model_scratch_open(&scratch, &err), OK);
    assert_int_equal(model_encode(model, scratch, str_of("ab"), &tokens, &err), OK);
    assert_int_equal(tokens.n, 1);      /* equal sums: the longer one was found first */
    tokens_free(&tokens);
    model_scratch_close(scratch);
    model_close(model);
}

/* One piece of many letters, which a quadratic merge would not end with. */
static void a_long_piece_is_merged_in_time(void **state)
{
    static const struct source source = {
        "{\"type\":\"BPE\"}",
        "{\"a\":0,\"aa\":1,\"aaaa\":2,\"b\":3,\"ab\":4,\"baa\":5}",
        "[\"a a\",\"aa aa\",\"a b\",\"b aa\"]"};
    size_t n = (size_t)2 << 20;
    char *text = malloc(n);
    struct tok_model *model = NULL;
    struct model_scratch *scratch = NULL;
    struct tokens tokens = {0};
    struct error err;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < n; i++)
        text[i] = i % 7 == 3 ? 'b' : 'a';
    assert_int_equal(open_model(&model, &source, &err), OK);
    assert_int_equal(model_scratch_open(&scratch, &err), OK);
    assert_int_equal(model_encode(model, scratch, str_from(text, n), &tokens, &err), OK);
    assert_true(tokens.n > n / 4);
    assert_int_equal(tokens.end[tokens.n - 1], n);
    for (size_t i = 1; i < tokens.n; i++)
        assert_int_equal(tokens.begin[i], tokens.end[i - 1]);
    tokens_free(&tokens);
    model_scratch_close(scratch);
    model_close(model);
    free(text);
}

static void a_scratch_serves_one_model_after_another(void **state)
{
    static const struct source first = {"{\"type\":\"BPE\"}", "{\"a\":0,\"aa\":1}", "[\"a a\"]"};
    static const struct source second = {"{\"type\":\"BPE\"}", "{\"a\":9,\"aa\":8}", "[\"a a\"]"};
    struct model_scratch *scratch = NULL;
    struct tokens tokens = {0};
    struct error err;

    (void)state;
    assert_int_equal(model_scratch_open(&scratch, &err), OK);
    for (int i = 0; i < 4; i++) {
        struct tok_model *model = NULL;

        assert_int_equal(open_model(&model, i % 2 ? &second : &first, &err), OK);
        tokens.n = 0;
        assert_int_equal(model_encode(model, scratch, str_of("aa"), &tokens, &err), OK);
        assert_int_equal(tokens.n, 1);
        assert_int_equal(tokens.ids[0], i % 2 ? 8 : 1);
        model_close(model);
    }
    tokens_free(&tokens);
    model_scratch_close(scratch);
}

static void a_letter_without_an_unknown_token_is_an_error(void **state)
{
    static const struct source sources[] = {
        {"{\"type\":\"Unigram\"}", "[[\"a\",-1]]", ""},
        {"{\"type\":\"BPE\",\"unk_token\":\"zz\"}", "{\"a\":0}", "[]"},
        {"{\"type\":\"WordLevel\",\"unk_token\":\"zz\"}", "{\"a\":0}", ""},
        {"{\"type\":\"WordPiece\",\"unk_token\":\"zz\",\"continuing_subword_prefix\":\"##\","
         "\"max_input_chars_per_word\":100}",
         "{\"a\":0}", ""}};
    struct model_scratch *scratch = NULL;
    struct tokens tokens = {0};
    struct error err;

    (void)state;
    assert_int_equal(model_scratch_open(&scratch, &err), OK);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct tok_model *model = NULL;

        assert_int_equal(open_model(&model, &sources[i], &err), OK);
        assert_int_equal(model_encode(model, scratch, str_of("a"), &tokens, &err), OK);
        assert_int_equal(model_encode(model, scratch, str_of("ab"), &tokens, &err), E_PARSE);
        model_close(model);
    }
    tokens_free(&tokens);
    model_scratch_close(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_become_the_librarys_ids_and_offsets),
        cmocka_unit_test(wrong_models_are_refused_in_words),
        cmocka_unit_test(a_model_without_a_type_is_the_first_kind_that_reads_it),
        cmocka_unit_test(ids_may_have_holes_and_keys_may_come_twice),
        cmocka_unit_test(scores_are_read_in_every_notation),
        cmocka_unit_test(a_long_piece_is_merged_in_time),
        cmocka_unit_test(a_scratch_serves_one_model_after_another),
        cmocka_unit_test(a_letter_without_an_unknown_token_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
