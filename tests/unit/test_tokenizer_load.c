/* Files that are refused, each by what is wrong with it, and what a tokenizer says about itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/read/source.h"
#include "core/text/tokenizer/tokenizer.h"
#include "tests/harness/tempdir.h"

#define MODEL                                                                                      \
    "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"<unk>\":0,\"a\":1,\"aa\":2},"                  \
    "\"unk_token\":\"<unk>\"}"

static struct error err;

static struct tokenizer *load(const char *text)
{
    struct tokenizer *tokenizer = NULL;

    if (tokenizer_load_text(&tokenizer, str_of(text), &err) != OK)
        fail_msg("%s", err.message);
    return tokenizer;
}

static void assert_refused(const char *text, int status, const char *said)
{
    struct tokenizer *tokenizer = NULL;
    int rc = tokenizer_load_text(&tokenizer, str_of(text), &err);

    if (rc != status || !strstr(err.message, said))
        fail_msg("%.200s\n  status %d, \"%s\"; expected %d, \"%s\"", text, rc, err.message, status,
                 said);
    assert_null(tokenizer);
}

static void assert_part_refused(const char *part, int status, const char *said)
{
    char text[4096];

    snprintf(text, sizeof text, "{%s," MODEL "}", part);
    assert_refused(text, status, said);
}

static void unknown_parts_are_refused_by_name(void **state)
{
    (void)state;
    assert_part_refused("\"normalizer\":{\"type\":\"Rot13\"}", E_UNSUPPORTED, "normalizer Rot13");
    assert_part_refused("\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":"
                        "[{\"type\":\"Wavelet\"}]}",
                        E_UNSUPPORTED, "pre-tokenizer Wavelet");
    assert_part_refused("\"post_processor\":{\"type\":\"X\"}", E_UNSUPPORTED, "post-processor X");
    assert_part_refused("\"decoder\":{\"type\":\"Y\"}", E_UNSUPPORTED, "decoder Y");
    assert_part_refused("\"version\":\"2.0\"", E_UNSUPPORTED, "version");
    assert_part_refused("\"normalizer\":{\"strip_left\":true}", E_PARSE, "type");
    assert_refused("{\"model\":{\"type\":\"Markov\",\"vocab\":{}}}", E_UNSUPPORTED, "Markov");
}

static void missing_settings_are_named(void **state)
{
    (void)state;
    assert_part_refused("\"normalizer\":{\"type\":\"Strip\",\"strip_left\":true}", E_PARSE,
                        "strip_right");
    assert_part_refused("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},"
                        "\"behavior\":\"Isolated\"}",
                        E_PARSE, "invert");
    assert_part_refused("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},"
                        "\"behavior\":\"Doubled\",\"invert\":false}",
                        E_UNSUPPORTED, "behavior Doubled");
    assert_part_refused("\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":0}", E_PARSE,
                        "length");
    assert_part_refused("\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"__\"}",
                        E_PARSE, "replacement");
    assert_part_refused("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":"
                        "[{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}}],\"pair\":[],"
                        "\"special_tokens\":{}}",
                        E_PARSE, "<s>");
    assert_part_refused("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":"
                        "[{\"Sequence\":{\"id\":\"B\",\"type_id\":0}}],\"pair\":[],"
                        "\"special_tokens\":{}}",
                        E_UNSUPPORTED, "$B");
    assert_part_refused("\"added_tokens\":[{\"id\":3,\"content\":\"x\"}]", E_PARSE, "single_word");
    assert_part_refused("\"added_tokens\":{}", E_PARSE, "added_tokens");
    assert_refused("{}", E_PARSE, "no model");
    assert_refused("{\"model\":[]}", E_PARSE, "no model");
    assert_refused("{" MODEL "," MODEL "}", E_PARSE, "one model");
}

static void assert_pattern_refused(const char *pattern, int status, const char *said)
{
    char part[1024];

    snprintf(part, sizeof part,
             "\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"%s\"},"
             "\"behavior\":\"Isolated\",\"invert\":false}",
             pattern);
    assert_part_refused(part, status, said);
}

static void patterns_that_mean_something_else_in_pcre2_are_refused(void **state)
{
    (void)state;
    assert_pattern_refused("[a-z&&[^b]]", E_UNSUPPORTED, "&&");
    assert_pattern_refused("[[:alpha:]]", E_UNSUPPORTED, "POSIX");
    assert_pattern_refused("[a[^b]]", E_UNSUPPORTED, "negated class in a class");
    assert_pattern_refused("(?~a)", E_UNSUPPORTED, "group");
    assert_pattern_refused("(?P<n>a)", E_UNSUPPORTED, "group");
    assert_pattern_refused("\\\\p{Emoji}", E_UNSUPPORTED, "property");
    assert_pattern_refused("\\\\Ga", E_UNSUPPORTED, "escape");
    assert_pattern_refused("\\\\xE9", E_UNSUPPORTED, "\\x");
    assert_pattern_refused("a{2}?", E_UNSUPPORTED, "{n}?");
}

static void patterns_that_do_not_compile_tell_where(void **state)
{
    (void)state;
    assert_pattern_refused("(a", E_PARSE, "not closed");
    assert_pattern_refused("a)", E_PARSE, "closes nothing");
    assert_pattern_refused("[a", E_PARSE, "without its end");
    assert_pattern_refused("*a", E_PARSE, "at byte 0");
    assert_pattern_refused("(?<=a+)b", E_PARSE, "at byte");
    assert_pattern_refused("a\\\\", E_UNSUPPORTED, "backslash at the end");
}

/* Exact copies, so that a read beyond the end is seen by the sanitizer. */
static void a_file_cut_anywhere_is_an_error_with_its_place(void **state)
{
    static const char *const FILES[] = {"bpe_llama2_style", "bytelevel_llama3_style",
                                        "unigram_t5_style", "wordpiece_bert_style"};

    (void)state;
    for (size_t f = 0; f < 4; f++) {
        char path[128], *bytes;
        size_t n;

        snprintf(path, sizeof path, "tests/engines/tokenizers/%s.json", FILES[f]);
        assert_int_equal(source_slurp(path, (size_t)1 << 20, &bytes, &n, &err), OK);
        while (n && bytes[n - 1] == '\n')
            n--;
        for (size_t cut = 0; cut < n; cut += 7) {
            struct tokenizer *tokenizer = NULL;
            char *copy = malloc(cut + 1);

            assert_non_null(copy);
            memcpy(copy, bytes, cut);
            assert_int_equal(tokenizer_load_text(&tokenizer, str_from(copy, cut), &err), E_PARSE);
            assert_true(err.byte != NONE && err.byte <= (int64_t)cut);
            free(copy);
        }
        free(bytes);
    }
}

/* The vocabulary is cut out before the rest is read; places are told as in the file. */
static void a_mistake_after_the_vocabulary_is_told_where_it_stands(void **state)
{
    const char *text = "{\"model\":{\"vocab\":{\"a\":0,\"b\":1,\"c\":2},\"type\":\"WordLevel\","
                       "\"unk_token\":\"a\"}, \"decoder\": nul }";
    struct tokenizer *tokenizer = NULL;

    (void)state;
    assert_int_equal(tokenizer_load_text(&tokenizer, str_of(text), &err), E_PARSE);
    assert_in_range(err.byte, (int64_t)(strstr(text, "nul") - text) - 1,
                    (int64_t)(strstr(text, "nul") - text) + 4);
}

static void many_parts_and_deep_sequences_end_in_an_error(void **state)
{
    struct tokenizer *tokenizer = NULL;
    struct buf text;

    (void)state;
    buf_init(&text, (size_t)1 << 20);
    buf_puts(&text, "{" MODEL ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[");
    for (int i = 0; i < 100; i++)
        buf_puts(&text, i ? ",{\"type\":\"NFC\"}" : "{\"type\":\"NFC\"}");
    buf_puts(&text, "]}}");
    assert_int_equal(tokenizer_load_text(&tokenizer, buf_view(&text), &err), E_LIMIT);

    buf_clear(&text);
    buf_puts(&text, "{" MODEL ",\"decoder\":");
    for (int i = 0; i < 5000; i++)
        buf_puts(&text, "{\"type\":\"Sequence\",\"decoders\":[");
    for (int i = 0; i < 5000; i++)
        buf_puts(&text, "]}");
    buf_puts(&text, "}");
    assert_int_equal(tokenizer_load_text(&tokenizer, buf_view(&text), &err), E_LIMIT);
    buf_free(&text);
}

static int encode(const struct tokenizer *tokenizer, struct str text, struct tokens *tokens)
{
    struct tokenizer_scratch *scratch = NULL;

    assert_int_equal(tokenizer_scratch_open(&scratch, &err), OK);

    int rc = tokenizer_encode(tokenizer, scratch, text, true, tokens, &err);

    tokenizer_scratch_close(scratch);
    return rc;
}

static void a_pattern_that_backtracks_for_ever_is_given_up(void **state)
{
    struct tokenizer *tokenizer =
        load("{" MODEL ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":"
             "\"(a+a+)+b\"},\"behavior\":\"Isolated\",\"invert\":false}}");
    struct tokens tokens = {0};
    char text[4000];

    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 2, "cb", 2);
    assert_int_equal(encode(tokenizer, str_from(text, sizeof text), &tokens), E_LIMIT);
    assert_non_null(strstr(err.message, "pattern"));
    tokens_free(&tokens);
    tokenizer_close(tokenizer);
}

/* Thousands of tokens with one long beginning, and a text of it. */
static void long_added_tokens_that_begin_alike_come_to_an_end(void **state)
{
    struct tokenizer *tokenizer = NULL;
    struct tokens tokens = {0};
    struct buf text, run;

    (void)state;
    buf_init(&text, (size_t)16 << 20);
    buf_init(&run, (size_t)1 << 20);
    buf_repeat(&run, 'z', 100000);
    buf_puts(&text, "{" MODEL ",\"added_tokens\":[");
    for (int i = 0; i < 4; i++) {
        buf_puts(&text, i ? ",{\"id\":3,\"content\":\"" : "{\"id\":3,\"content\":\"");
        buf_str(&text, buf_view(&run));
        buf_printf(&text,
                   "%d\",\"single_word\":false,\"lstrip\":true,\"rstrip\":true,"
                   "\"normalized\":false,\"special\":false}",
                   i);
    }
    buf_puts(&text, "]}");
    assert_int_equal(tokenizer_load_text(&tokenizer, buf_view(&text), &err), OK);
    assert_int_equal(encode(tokenizer, buf_view(&run), &tokens), E_LIMIT);
    assert_non_null(strstr(err.message, "added tokens"));
    tokens_free(&tokens);
    tokenizer_close(tokenizer);
    buf_free(&text);
    buf_free(&run);
}

static void broken_bytes_are_read_as_the_replacement_and_keep_their_places(void **state)
{
    struct tokenizer *tokenizer =
        load("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"<unk>\":0,\"a\":1,\"\\ufffd\":2},"
             "\"unk_token\":\"<unk>\"},\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":1}}");
    struct tokens tokens = {0};
    static const uint32_t IDS[] = {1, 2, 2, 1, 2}, BEGIN[] = {0, 1, 2, 3, 4};

    (void)state;
    assert_int_equal(encode(tokenizer,
                            str_of("a\xE6\x97"
                                   "a\xFF"),
                            &tokens),
                     OK);
    assert_int_equal(tokens.n, 5);
    assert_memory_equal(tokens.ids, IDS, sizeof IDS);
    assert_memory_equal(tokens.begin, BEGIN, sizeof BEGIN);
    assert_int_equal(tokens.end[4], 5);
    tokens_free(&tokens);
    tokenizer_close(tokenizer);
}

static void what_the_file_says_of_ids_is_not_looked_at(void **state)
{
    struct tokenizer *tokenizer =
        load("{" MODEL ",\"added_tokens\":["
             "{\"id\":77,\"content\":\"<x>\",\"single_word\":false,\"lstrip\":false,"
             "\"rstrip\":false,\"normalized\":false,\"special\":true},"
             "{\"id\":5,\"content\":\"aa\",\"single_word\":false,\"lstrip\":false,"
             "\"rstrip\":false,\"normalized\":false,\"special\":false}]}");

    (void)state;
    assert_int_equal(tokenizer_id(tokenizer, str_of("<x>")), 3);
    assert_int_equal(tokenizer_id(tokenizer, str_of("aa")), 2);
    assert_int_equal(tokenizer_id(tokenizer, str_of("none")), NONE);
    assert_true(str_is(tokenizer_token(tokenizer, 3), "<x>"));
    assert_null(tokenizer_token(tokenizer, 4).p);
    assert_true(tokenizer_is_special(tokenizer, 3));
    assert_false(tokenizer_is_special(tokenizer, 2));
    assert_true(tokenizer_is_added(tokenizer, 2));
    assert_false(tokenizer_is_added(tokenizer, 1));
    assert_int_equal(tokenizer_size(tokenizer), 4);
    assert_string_equal(tokenizer_about(tokenizer), "WordLevel, 4 tokens, tokenizer.json");
    tokenizer_close(tokenizer);
}

static void what_stands_around_a_text_is_known(void **state)
{
    struct tokenizer *plain = load("{" MODEL "}");
    struct tokenizer *bert = load("{" MODEL ",\"post_processor\":{\"type\":\"BertProcessing\","
                                  "\"sep\":[\"s\",9],\"cls\":[\"c\",8]}}");

    (void)state;
    assert_int_equal(tokenizer_first_added(plain), NONE);
    assert_int_equal(tokenizer_last_added(plain), NONE);
    assert_int_equal(tokenizer_first_added(bert), 8);
    assert_int_equal(tokenizer_last_added(bert), 9);
    tokenizer_close(plain);
    tokenizer_close(bert);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_parts_are_refused_by_name),
        cmocka_unit_test(missing_settings_are_named),
        cmocka_unit_test(patterns_that_mean_something_else_in_pcre2_are_refused),
        cmocka_unit_test(patterns_that_do_not_compile_tell_where),
        cmocka_unit_test(a_file_cut_anywhere_is_an_error_with_its_place),
        cmocka_unit_test(a_mistake_after_the_vocabulary_is_told_where_it_stands),
        cmocka_unit_test(many_parts_and_deep_sequences_end_in_an_error),
        cmocka_unit_test(a_pattern_that_backtracks_for_ever_is_given_up),
        cmocka_unit_test(long_added_tokens_that_begin_alike_come_to_an_end),
        cmocka_unit_test(broken_bytes_are_read_as_the_replacement_and_keep_their_places),
        cmocka_unit_test(what_the_file_says_of_ids_is_not_looked_at),
        cmocka_unit_test(what_stands_around_a_text_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
