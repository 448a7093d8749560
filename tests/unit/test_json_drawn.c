/* Drawn and damaged documents: cJSON, our own writer and the reader of lines are the oracles. The
 * cases that somebody thought of are test_json.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/read/json.h"
#include "core/read/jsonl.h"

struct fixture {
    struct arena *arena;
    const struct json *top;
    int n_repairs;
    struct error err;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->arena = arena_open((size_t)64 << 20);
    *state = f;
    return f->arena ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    arena_close(f->arena);
    free(f);
    return 0;
}

static int parse(struct fixture *f, struct str text)
{
    f->top = NULL;
    f->n_repairs = 0;
    return json_parse(text, false, f->arena, &f->top, &f->n_repairs, &f->err);
}

static const struct json *parsed(struct fixture *f, const char *text)
{
    if (parse(f, str_of(text)) != OK)
        fail_msg("%s: %s", text, f->err.message);
    return f->top;
}

/* ---- against cJSON ---- */

static void draw_value(struct buf *out, struct random *random, int depth);

static void draw_string(struct buf *out, struct random *random)
{
    static const char *const parts[] = {
        "a",       "loss",           " ", "\xC3\xA4", "\xF0\x9F\x98\x80", "\\n",    "\\\"", "\\\\",
        "\\u00e9", "\\ud83d\\ude00", "/", "0.5",      "twelve bytes",     "\\u20ac"};
    size_t n = random_below(random, 5);

    buf_putc(out, '"');
    for (size_t i = 0; i < n; i++)
        buf_puts(out, parts[random_below(random, sizeof parts / sizeof parts[0])]);
    buf_putc(out, '"');
}

static void draw_children(struct buf *out, struct random *random, int depth, bool is_object)
{
    static const char *const blanks[] = {"", " ", "\n", "\t", "\r\n  "};
    size_t n = random_below(random, 6);

    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_putc(out, ',');
        buf_puts(out, blanks[random_below(random, 5)]);
        if (is_object)
            buf_printf(out, "\"k%zu\"%s:", i, blanks[random_below(random, 5)]);
        draw_value(out, random, depth + 1);
        buf_puts(out, blanks[random_below(random, 5)]);
    }
}

static void draw_value(struct buf *out, struct random *random, int depth)
{
    static const char *const words[] = {"null", "true", "false"};

    switch (random_below(random, depth > 5 ? 4 : 7)) {
    case 0:
        buf_puts(out, words[random_below(random, 3)]);
        break;
    case 1:
        draw_string(out, random);
        break;
    case 2:
        buf_printf(out, "%.*g", (int)random_below(random, 18), random_unit(random) * 1e6);
        break;
    case 3:
        buf_printf(out, "%d", (int)random_below(random, 100000) - 50000);
        break;
    case 4:
        buf_putc(out, '[');
        draw_children(out, random, depth, false);
        buf_putc(out, ']');
        break;
    default:
        buf_putc(out, '{');
        draw_children(out, random, depth, true);
        buf_putc(out, '}');
        break;
    }
}

static void assert_same_tree(const struct json *ours, const cJSON *theirs)
{
    static const int types[] = {cJSON_NULL,   cJSON_False, cJSON_True,  cJSON_Number,
                                cJSON_String, cJSON_Array, cJSON_Object};
    const cJSON *their_child = theirs->child;

    assert_int_equal(theirs->type & 0xFF, types[ours->type]);
    if (ours->type == JSON_NUMBER)
        assert_true(ours->number == theirs->valuedouble);
    if (ours->type == JSON_STRING)
        assert_true(str_is(ours->text, theirs->valuestring));
    for (const struct json *child = ours->child; child; child = child->next) {
        assert_non_null(their_child);
        if (ours->type == JSON_OBJECT)
            assert_true(str_is(child->key, their_child->string));
        assert_same_tree(child, their_child);
        their_child = their_child->next;
    }
    assert_null(their_child);
}

static void drawn_documents_are_read_as_cjson_reads_them(void **state)
{
    struct fixture *f = *state;
    struct random random;
    struct buf text;

    random_seed(&random, 5);
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 3000; i++) {
        buf_clear(&text);
        draw_value(&text, &random, 0);
        arena_reset(f->arena);
        if (parse(f, buf_view(&text)) != OK)
            fail_msg("%s: %s", text.p, f->err.message);

        cJSON *theirs = cJSON_ParseWithLength(text.p, text.n);

        assert_non_null(theirs);
        assert_same_tree(f->top, theirs);
        cJSON_Delete(theirs);
    }
    buf_free(&text);
}

static void what_is_written_is_read_back_the_same(void **state)
{
    struct fixture *f = *state;
    struct random random;
    struct buf text, once, twice;

    random_seed(&random, 6);
    buf_init(&text, 1 << 20);
    buf_init(&once, 1 << 20);
    buf_init(&twice, 1 << 20);
    for (int i = 0; i < 1000; i++) {
        buf_clear(&text);
        buf_clear(&once);
        buf_clear(&twice);
        draw_value(&text, &random, 0);
        arena_reset(f->arena);
        json_write(&once, parsed(f, text.p));
        json_write(&twice, parsed(f, once.p));
        assert_string_equal(once.p, twice.p);
    }
    buf_free(&text);
    buf_free(&once);
    buf_free(&twice);
}

/* One byte changed or the end cut off: never a crash, and what is accepted can be written. */
static void damaged_documents_do_no_harm(void **state)
{
    static const char bytes[] = "{}[]\",:\\0-eE.\n/u\x80\xFF"
                                "nN";
    struct fixture *f = *state;
    struct random random;
    struct buf text, out;

    random_seed(&random, 7);
    buf_init(&text, 1 << 20);
    buf_init(&out, 1 << 20);
    for (int i = 0; i < 20000; i++) {
        buf_clear(&text);
        draw_value(&text, &random, 3);
        text.p[random_below(&random, text.n)] = bytes[random_below(&random, sizeof bytes)];

        /* Exactly as long as the text, so that the sanitizer sees a step too far. */
        size_t n = random_below(&random, text.n + 1);
        char *exact = malloc(n + 1);

        memcpy(exact, text.p, n);
        exact = realloc(exact, n ? n : 1);
        arena_reset(f->arena);
        if (parse(f, str_from(exact, n)) == OK) {
            buf_clear(&out);
            json_write(&out, f->top);
            assert_false(out.failed);
        }
        free(exact);
    }
    buf_free(&text);
    buf_free(&out);
}

/* ---- documents against rows: two ways to the same tree ---- */

static int write_row(void *ctx, const struct json_row *row, struct error *err)
{
    (void)err;
    json_write(ctx, row->tree);
    return OK;
}

static int write_bad(void *ctx, const struct source_line *line, bool is_last,
                     const struct error *why, struct error *err)
{
    (void)line, (void)is_last, (void)err;
    assert_int_equal(why->status, E_PARSE);
    buf_puts(ctx, "bad");
    return OK;
}

static void assert_same_as_a_line(struct fixture *f, struct str text, struct buf *as_line)
{
    struct jsonl_handler handler = {write_row, write_bad, as_line, true, NULL};
    struct source_file *file;
    struct buf as_document;

    buf_init(&as_document, 1 << 20);
    buf_clear(as_line);
    arena_reset(f->arena);
    if (parse(f, text) == OK)
        json_write(&as_document, f->top);
    else
        buf_puts(&as_document, "bad");
    assert_int_equal(source_open_bytes(&file, "line", text.p, text.n, NULL), OK);
    assert_int_equal(jsonl_read(file, &handler, NULL), OK);
    source_close(file);
    if (strcmp(as_line->p, as_document.p) != 0)
        fail_msg("'%.*s'\nline: %s\ndocument: %s", (int)text.n, text.p, as_line->p, as_document.p);
    buf_free(&as_document);
}

static void documents_and_lines_agree_also_when_damaged(void **state)
{
    static const char bytes[] = "{}[]\",:\\0-eE. /u\x80\xFFnN17";
    struct random random;
    struct buf text, as_line;

    random_seed(&random, 9);
    buf_init(&text, 1 << 20);
    buf_init(&as_line, 1 << 20);
    for (int i = 0; i < 3000; i++) {
        buf_clear(&text);
        buf_puts(&text, "[");
        draw_value(&text, &random, 3);
        buf_puts(&text, "]");
        if (i % 4)
            text.p[random_below(&random, text.n)] = bytes[random_below(&random, sizeof bytes)];
        for (size_t at = 0; at < text.n; at++)
            if (text.p[at] == '\n')
                text.p[at] = ' ';
        assert_same_as_a_line(*state, buf_view(&text), &as_line);
    }
    buf_free(&text);
    buf_free(&as_line);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(drawn_documents_are_read_as_cjson_reads_them),
        TEST(what_is_written_is_read_back_the_same),
        TEST(damaged_documents_do_no_harm),
        TEST(documents_and_lines_agree_also_when_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
