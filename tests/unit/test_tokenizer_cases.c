/* What the pipeline makes of small settings and texts, as the tokenizers library does:
 * tests/engines/tokenizers/cases.jsonl, written by tests/fuzz/oracle/tokenizers_cases.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/read/json.h"
#include "core/read/source.h"
#include "core/text/tokenizer/tokenizer.h"

#define FOLDER     "tests/engines/tokenizers"
#define FILE_BYTES ((size_t)16 << 20)

struct reader {
    struct arena *arena;
    char *bytes;
    struct str rest;
    struct tokenizer_scratch *scratch;
    struct tokens tokens;
    struct error err;
};

static void open_reader(struct reader *reader, const char *path)
{
    size_t n;

    *reader = (struct reader){.arena = arena_open((size_t)64 << 20)};
    assert_non_null(reader->arena);
    assert_int_equal(source_slurp(path, FILE_BYTES, &reader->bytes, &n, &reader->err), OK);
    reader->rest = str_from(reader->bytes, n);
    assert_int_equal(tokenizer_scratch_open(&reader->scratch, &reader->err), OK);
}

static void close_reader(struct reader *reader)
{
    tokenizer_scratch_close(reader->scratch);
    tokens_free(&reader->tokens);
    free(reader->bytes);
    arena_close(reader->arena);
}

static const struct json *parse(struct reader *reader, struct str text)
{
    const struct json *value = NULL;

    if (json_parse_exact(text, reader->arena, &value, &reader->err) != OK)
        fail_msg("%s", reader->err.message);
    return value;
}

/* A tokenizer.json of the parts that a case names. */
static struct tokenizer *tokenizer_of(struct reader *reader, const struct json *models,
                                      const struct json *one)
{
    static const char *const PARTS[] = {"added_tokens", "normalizer", "pre_tokenizer",
                                        "post_processor", "decoder"};
    const struct json *name = json_get(one, "model"), *model = NULL;
    struct tokenizer *tokenizer = NULL;
    struct buf text;

    for (const struct json *m = models->child; m; m = m->next)
        if (str_eq(m->key, name->text))
            model = m;
    assert_non_null(model);
    buf_init(&text, FILE_BYTES);
    buf_puts(&text, "{");
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (json_get(one, PARTS[i])) {
            buf_printf(&text, "\"%s\": ", PARTS[i]);
            json_write(&text, json_get(one, PARTS[i]));
            buf_puts(&text, ", ");
        }
    buf_puts(&text, "\"model\": ");
    json_write(&text, model);
    buf_puts(&text, "}");
    if (tokenizer_load_text(&tokenizer, buf_view(&text), &reader->err) != OK)
        fail_msg("%.*s: %s", (int)json_get(one, "name")->text.n, json_get(one, "name")->text.p,
                 reader->err.message);
    buf_free(&text);
    return tokenizer;
}

static void say_encoded(struct buf *out, const struct tokens *tokens)
{
    buf_puts(out, "{\"ids\":[");
    for (size_t i = 0; i < tokens->n; i++)
        buf_printf(out, "%s%u", i ? "," : "", (unsigned)tokens->ids[i]);
    buf_puts(out, "],\"offsets\":[");
    for (size_t i = 0; i < tokens->n; i++)
        buf_printf(out, "%s[%u,%u]", i ? "," : "", (unsigned)tokens->begin[i],
                   (unsigned)tokens->end[i]);
    buf_puts(out, "]}");
}

static int decode_case(struct reader *reader, const struct tokenizer *tokenizer,
                       const struct json *one, struct buf *out)
{
    const struct json *ids = json_get(one, "ids");
    uint32_t list[64];
    size_t n = 0;
    struct buf text;
    int rc;

    for (const struct json *id = ids->child; id && n < 64; id = id->next)
        list[n++] = (uint32_t)id->number;
    buf_init(&text, FILE_BYTES);
    rc = tokenizer_decode(tokenizer, list, n, json_is(json_get(one, "skip_special"), JSON_TRUE),
                          &text, &reader->err);
    buf_puts(out, "{\"text\":");
    json_write(out, &(struct json){.type = JSON_STRING, .text = buf_view(&text)});
    buf_puts(out, "}");
    buf_free(&text);
    return rc;
}

static int answer(struct reader *reader, const struct tokenizer *tokenizer, const struct json *one,
                  struct buf *out)
{
    const struct json *text = json_get(one, "text");

    if (!text)
        return decode_case(reader, tokenizer, one, out);

    int rc = tokenizer_encode(tokenizer, reader->scratch, text->text,
                              json_is(json_get(one, "special"), JSON_TRUE), &reader->tokens,
                              &reader->err);

    say_encoded(out, &reader->tokens);
    return rc;
}

static bool judge(struct reader *reader, const struct json *models, const struct json *one)
{
    struct tokenizer *tokenizer = tokenizer_of(reader, models, one);
    struct buf got, want;
    bool is_right;

    buf_init(&got, FILE_BYTES);
    buf_init(&want, FILE_BYTES);
    json_write(&want, json_get(one, "want"));
    if (answer(reader, tokenizer, one, &got) != OK) {
        buf_clear(&got);
        buf_puts(&got, reader->err.message);
    }
    is_right = str_eq(buf_view(&got), buf_view(&want));
    if (!is_right) {
        struct buf said;

        buf_init(&said, FILE_BYTES);
        json_write(&said, one);
        print_error("%s\n  got %s\n", said.p, got.p);
        buf_free(&said);
    }
    buf_free(&got);
    buf_free(&want);
    tokenizer_close(tokenizer);
    return is_right;
}

static void every_case_is_what_the_library_makes_of_it(void **state)
{
    struct reader reader;
    struct str line;
    size_t n = 0, n_wrong = 0;

    (void)state;
    open_reader(&reader, FOLDER "/cases.jsonl");
    assert_true(str_split(&reader.rest, '\n', &line));

    const struct json *models = json_get(parse(&reader, line), "models");

    while (str_split(&reader.rest, '\n', &line))
        if (line.n) {
            n_wrong += !judge(&reader, models, parse(&reader, line));
            n++;
        }
    assert_true(n > 100);
    assert_int_equal(n_wrong, 0);
    close_reader(&reader);
}

/* ---- Small files in the style of known models ---- */

static bool judge_golden(struct reader *reader, const struct tokenizer *tokenizer,
                         const struct json *one)
{
    const struct json *text = json_get(one, "text"), *ids = json_get(one, "ids");
    struct buf got, want, decoded;
    bool is_right;

    buf_init(&got, FILE_BYTES);
    buf_init(&want, FILE_BYTES);
    buf_init(&decoded, FILE_BYTES);
    assert_int_equal(tokenizer_encode(tokenizer, reader->scratch, text->text, true, &reader->tokens,
                                      &reader->err),
                     OK);
    assert_int_equal(tokenizer_decode(tokenizer, reader->tokens.ids, reader->tokens.n, true,
                                      &decoded, &reader->err),
                     OK);
    say_encoded(&got, &reader->tokens);
    buf_puts(&want, "{\"ids\":");
    json_write(&want, ids);
    is_right = str_eq(str_first(buf_view(&got), want.n), buf_view(&want)) &&
               str_eq(buf_view(&decoded), json_get(one, "decoded")->text);
    if (!is_right)
        print_error("%.*s: %s, %s\n", (int)text->text.n, text->text.p, got.p, decoded.p);
    buf_free(&got);
    buf_free(&want);
    buf_free(&decoded);
    return is_right;
}

static void small_files_in_the_style_of_known_models_agree(void **state)
{
    struct reader reader;
    size_t n_wrong = 0, n = 0;

    (void)state;
    open_reader(&reader, FOLDER "/goldens.json");
    for (const struct json *style = parse(&reader, reader.rest)->child; style;
         style = style->next) {
        struct tokenizer *tokenizer = NULL;
        char path[256];

        snprintf(path, sizeof path, FOLDER "/%.*s.json", (int)style->key.n, style->key.p);
        if (tokenizer_load(&tokenizer, path, NULL, &reader.err) != OK)
            fail_msg("%s: %s", path, reader.err.message);
        for (const struct json *one = style->child; one; one = one->next, n++)
            n_wrong += !judge_golden(&reader, tokenizer, one);
        tokenizer_close(tokenizer);
    }
    assert_true(n > 20);
    assert_int_equal(n_wrong, 0);
    close_reader(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_what_the_library_makes_of_it),
        cmocka_unit_test(small_files_in_the_style_of_known_models_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
