/* The compact form: a model from disk gives what the model that was kept gives, and what was
 * changed, cut or of another file is not used. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/read/source.h"
#include "core/text/tokenizer/tokenizer_parts.h"
#include "tests/harness/tempdir.h"

static const char *const files[] = {
    "{\"version\":\"1.0\",\"added_tokens\":[],\"model\":{\"type\":\"BPE\",\"unk_token\":\"<u>\","
    "\"end_of_word_suffix\":\"</w>\",\"byte_fallback\":true,\"vocab\":{\"a\":0,\"b</w>\":1,"
    "\"ab</w>\":2,\"<u>\":3,\"b\":4},\"merges\":[\"a b</w>\"]}}",
    "{\"version\":\"1.0\",\"added_tokens\":[],\"model\":{\"type\":\"Unigram\",\"unk_id\":0,"
    "\"vocab\":[[\"<u>\",0],[\"a\",-1.5],[\"ab\",-2.25],[\"b\",-1]]}}",
    "{\"version\":\"1.0\",\"added_tokens\":[],\"model\":{\"type\":\"WordPiece\",\"unk_token\":"
    "\"[UNK]\",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,"
    "\"vocab\":{\"a\":0,\"##b\":1,\"[UNK]\":2,\"ab\":9}}}",
    "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":2,\"content\":\"<x>\",\"single_word\":false,"
    "\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":true}],\"model\":{\"type\":"
    "\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"ab\":0,\"u\":1}}}",
};

static const char *const texts[] = {"ab", "aab", "xab", "b", "<x>"};

struct fixture {
    char *folder;
    struct tokenizer_scratch *scratch;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    fixture->folder = tempdir_make();
    *state = fixture;
    return tokenizer_scratch_open(&fixture->scratch, NULL);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    tokenizer_scratch_close(fixture->scratch);
    tempdir_remove(fixture->folder);
    free(fixture);
    return 0;
}

static void ids_of(struct fixture *fixture, const char *cache, char out[512])
{
    struct tokenizer *tokenizer = NULL;
    struct tokens tokens = {0};
    struct error err;
    size_t n = 0;

    if (tokenizer_load(&tokenizer, tempdir_path(fixture->folder, "tokenizer.json"), cache, &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(tokenizer_encode(tokenizer, fixture->scratch, str_of(texts[i]), true,
                                          &tokens, &err),
                         OK);
        for (size_t k = 0; k < tokens.n; k++)
            n += (size_t)snprintf(out + n, 512 - n, "%u:%u ", tokens.ids[k], tokens.end[k]);
        n += (size_t)snprintf(out + n, 512 - n, "| ");
    }
    tokens_free(&tokens);
    tokenizer_close(tokenizer);
}

/* The name of the one file in the cache, "" when there is none. */
static void kept_name(const char *cache, char out[512])
{
    char folder[512];
    DIR *list;

    out[0] = '\0';
    snprintf(folder, sizeof folder, "%s/tokenizers", cache);
    list = opendir(folder);
    for (const struct dirent *entry; list && (entry = readdir(list));)
        if (entry->d_name[0] != '.')
            snprintf(out, 512, "%s/%s", "cache/tokenizers", entry->d_name);
    if (list)
        closedir(list);
}

static void a_kept_model_gives_the_same_ids(void **state)
{
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char cache[512], plain[512], first[512], second[512];

        snprintf(cache, sizeof cache, "%s/cache%zu", fixture->folder, i);
        tempdir_write_text(fixture->folder, "tokenizer.json", files[i]);
        ids_of(fixture, NULL, plain);
        ids_of(fixture, cache, first);
        ids_of(fixture, cache, second);
        assert_string_equal(first, plain);
        assert_string_equal(second, plain);
    }
}

static void a_damaged_file_is_made_again(void **state)
{
    struct fixture *fixture = *state;
    char cache[512], name[512], plain[512], again[512];
    char *bytes = NULL;
    size_t n = 0;
    struct error err;

    snprintf(cache, sizeof cache, "%s/cache", fixture->folder);
    tempdir_write_text(fixture->folder, "tokenizer.json", files[0]);
    ids_of(fixture, cache, plain);
    kept_name(cache, name);
    assert_true(name[0] != '\0');
    assert_int_equal(
        source_slurp(tempdir_path(fixture->folder, name), 1 << 20, &bytes, &n, &err), OK);
    for (size_t at = 0; at < n; at += at < 200 ? 7 : 613) {
        bytes[at] ^= 0x40;
        tempdir_write(fixture->folder, name, bytes, n);
        ids_of(fixture, cache, again);
        assert_string_equal(again, plain);
        bytes[at] ^= 0x40;
    }
    for (size_t cut = 0; cut < n; cut += 97) {
        tempdir_write(fixture->folder, name, bytes, cut);
        ids_of(fixture, cache, again);
        assert_string_equal(again, plain);
    }
    free(bytes);
}

/* A file under the right name and with a right hash, but of another text. */
static void another_texts_file_is_not_used(void **state)
{
    struct fixture *fixture = *state;
    char cache[512], name[512], plain[512], again[512];
    char *bytes = NULL;
    size_t n = 0;
    struct error err;

    snprintf(cache, sizeof cache, "%s/cache", fixture->folder);
    tempdir_write_text(fixture->folder, "tokenizer.json", files[1]);
    ids_of(fixture, cache, again);
    kept_name(cache, name);
    assert_int_equal(
        source_slurp(tempdir_path(fixture->folder, name), 1 << 20, &bytes, &n, &err), OK);
    remove(tempdir_path(fixture->folder, name));
    tempdir_write_text(fixture->folder, "tokenizer.json", files[0]);
    ids_of(fixture, cache, plain);
    kept_name(cache, name);
    tempdir_write(fixture->folder, name, bytes, n);
    ids_of(fixture, cache, again);
    assert_string_equal(again, plain);
    free(bytes);
}

static void a_cache_that_cannot_be_written_hinders_nothing(void **state)
{
    struct fixture *fixture = *state;
    char plain[512], again[512];

    tempdir_write_text(fixture->folder, "tokenizer.json", files[2]);
    ids_of(fixture, NULL, plain);
    ids_of(fixture, "/proc/no such folder", again);
    assert_string_equal(again, plain);
    ids_of(fixture, tempdir_path(fixture->folder, "tokenizer.json"), again);
    assert_string_equal(again, plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_kept_model_gives_the_same_ids, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_made_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_texts_file_is_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cache_that_cannot_be_written_hinders_nothing, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
