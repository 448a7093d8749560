/* The facts of single rows, and the lines that hold them. Whole data sets: test_form_write.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/facts/form_row.h"

struct fixture {
    struct arena *arena;
    struct form_scratch scratch;
    struct form_row row;
    struct buf line;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct error err;

    f->arena = arena_open(1 << 20);
    assert_int_equal(form_scratch_open(&f->scratch, false, &err), OK);
    buf_init(&f->line, FORM_LINE_BYTES);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    form_scratch_close(&f->scratch);
    arena_close(f->arena);
    buf_free(&f->line);
    free(f);
    return 0;
}

static const struct form_row *facts_of(struct fixture *f, const char *json)
{
    static char front[] = "common front", back[] = "the end";
    const struct common_text common = {front, back, 2, 2, false};
    const struct json *line = NULL;
    struct error err;

    if (json)
        assert_int_equal(json_parse_exact(str_of(json), f->arena, &line, &err), OK);
    assert_int_equal(form_row_of(line, &common, NULL, &f->scratch, &f->row, &err), OK);
    return &f->row;
}

static uint64_t hash(const char *text)
{
    return hash_bytes(text, strlen(text));
}

static void a_row_is_counted_and_hashed_by_its_normal_text(void **state)
{
    const struct form_row *row = facts_of(*state, "{\"prompt\":\" Common  FRONT a b c\","
                                                  "\"completion\":\"d e f The End\"}");

    assert_true(row->input == hash("common front a b c"));
    assert_true(row->target == hash("d e f the end"));
    assert_true(row->exact == hash("common front a b c\nd e f the end"));
    assert_int_equal(row->n_words, 5);
    assert_int_equal(row->n_target_words, 5);
    assert_int_equal(row->n_bytes, 20 + 13);
    assert_int_equal(row->n_shingles, 2); /* of "a b c d e f": the common text is off */
    assert_int_equal(row->n_tokens, NONE);
    assert_true(row->has_bands);
    assert_int_equal(row->n_opening, 5);
    assert_true(row->opening[1] == hash("common front"));
    assert_true(row->opening[4] == row->input);
    assert_int_equal(row->flags, 0);
}

static void an_opening_has_twelve_words_at_most(void **state)
{
    const struct form_row *row =
        facts_of(*state, "{\"prompt\":\"1 2 3 4 5 6 7 8 9 10 11 12 13\",\"completion\":\"\"}");

    assert_int_equal(row->n_opening, FORM_OPENINGS);
    assert_true(row->opening[11] == hash("1 2 3 4 5 6 7 8 9 10 11 12"));
    assert_int_equal(row->flags, ROW_EMPTY_TARGET);
}

static void a_row_that_is_all_common_text_has_no_bands(void **state)
{
    const struct form_row *row =
        facts_of(*state, "{\"prompt\":\"common front\",\"completion\":\"the end\"}");

    assert_int_equal(row->n_shingles, 0);
    assert_false(row->has_bands);
}

static void what_is_no_row_is_flagged_and_nothing_else(void **state)
{
    static const char *const LINES[] = {NULL, "[1]", "\"text\"", "null"};

    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        const struct form_row *row = facts_of(*state, LINES[i]);

        assert_int_equal(row->flags, ROW_NOT_READABLE);
        assert_true(row->exact == 0 && row->input == 0 && row->target == 0);
        assert_null(row->class_name.p);
        assert_int_equal(row->n_opening + row->n_groups, 0);
        assert_false(row->has_bands);
    }
}

static void a_class_is_a_short_target_as_it_stands(void **state)
{
    static const struct {
        const char *target, *expected;
    } CASES[] = {
        {" Spam\\n", "Spam"},
        {"", NULL},
        {" ", NULL},
        {"0123456789012345678901234567890123456789012345678901234567890123",
         "0123456789012345678901234567890123456789012345678901234567890123"},
        {"01234567890123456789012345678901234567890123456789012345678901234", NULL},
        {"half \\ud800", NULL},
    };

    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char json[256];

        snprintf(json, sizeof json, "{\"prompt\":\"x\",\"completion\":\"%s\"}", CASES[i].target);
        const struct form_row *row = facts_of(*state, json);
        if (CASES[i].expected)
            assert_true(str_is(row->class_name, CASES[i].expected));
        else
            assert_null(row->class_name.p);
    }
}

static void assert_groups(const struct form_row *row, const char *const *names, size_t n)
{
    assert_int_equal(row->n_groups, n);
    for (size_t i = 0; i < n; i++)
        assert_true(str_is(row->groups[i].column, names[i]));
}

static void groups_are_texts_and_numbers_of_keys(void **state)
{
    static const char *const NAMES[] = {"user_id", "metadata.thread", "metadata.colour", "colour"};
    const struct form_row *row = facts_of(
        *state, "{\"text\":\"x\",\"user_id\":17,\"length\":17,\"width\":\"3.5e2\","
                "\"Language\":\"en\",\"metadata\":{\"thread\":\"t1\",\"language\":\"en\","
                "\"colour\":\"red\",\"n\":3},\"empty\":\"\",\"flag\":true,\"colour\":\"blue\","
                "\"Label\":\"x\"}");

    assert_groups(row, NAMES, 4);
    assert_true(row->groups[0].value == hash("17"));
    assert_true(row->groups[1].value == hash("t1"));
}

static void a_value_of_more_than_512_bytes_is_no_group(void **state)
{
    char json[1200];
    static const char *const NAMES[] = {"page"};

    for (int n = 512; n <= 513; n++) {
        snprintf(json, sizeof json, "{\"page\":\"%0*d\"}", n, 0);
        assert_groups(facts_of(*state, json), NAMES, n == 512);
    }
}

static void a_column_counts_before_a_member_of_the_same_name(void **state)
{
    static const char *const NAMES[] = {"a.user"};
    const struct form_row *row =
        facts_of(*state, "{\"a.user\":\"first\",\"a\":{\"user\":\"second\"}}");

    assert_groups(row, NAMES, 1);
    assert_true(row->groups[0].value == hash("first"));
}

static void of_many_groups_the_first_64_are_kept(void **state)
{
    struct buf json;

    buf_init(&json, 1 << 16);
    for (int i = 0; i < 80; i++)
        buf_printf(&json, "%s\"page%d\":\"x\"", i ? "," : "{", i);
    buf_puts(&json, "}");
    const struct form_row *row = facts_of(*state, json.p);
    assert_int_equal(row->n_groups, FORM_GROUPS);
    assert_true(str_is(row->groups[63].column, "page63"));
    buf_free(&json);
}

static void a_lone_surrogate_counts_three_bytes_and_is_written_as_three_marks(void **state)
{
    struct fixture *f = *state;
    const struct form_row *row = facts_of(f, "{\"prompt\":\"a \\ud800\",\"completion\":\"b\"}");

    assert_int_equal(row->n_bytes, 2 + 3 + 1);
    assert_true(row->input == hash("a \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"));
    form_candidate_write(&(struct form_candidate){str_of("train"), 3, str_of("a \xED\xA0\x80"),
                                                  str_of("b\n\"\\\x01\x7f")}, &f->line);
    assert_string_equal(f->line.p, "{\"split\":\"train\",\"row\":3,"
                                   "\"input\":\"a \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\","
                                   "\"target\":\"b\\n\\\"\\\\\\u0001\x7f\"}\n");
}

static void a_line_has_the_keys_in_their_order(void **state)
{
    struct fixture *f = *state;
    struct form_row row = {.split = str_of("train"), .row = 7, .exact = UINT64_MAX, .input = 8,
                           .target = 5, .n_words = 12, .n_target_words = 3, .n_shingles = 0,
                           .n_bytes = 77, .n_tokens = 20, .class_name = str_of("spam"),
                           .opening = {1, 2}, .n_opening = 2, .flags = 5};

    row.groups[row.n_groups++] = (struct form_group){str_of("user"), 9};
    form_row_write(&row, &f->line);
    assert_string_equal(f->line.p,
                        "{\"split\":\"train\",\"row\":7,\"exact\":\"18446744073709551615\","
                        "\"input\":\"8\",\"target\":\"5\",\"n_words\":12,\"n_target_words\":3,"
                        "\"n_shingles\":0,\"n_bytes\":77,\"n_tokens\":20,\"class\":\"spam\","
                        "\"opening\":[\"1\",\"2\"],\"bands\":null,\"groups\":{\"user\":\"9\"},"
                        "\"flags\":5}\n");
}

static void the_head_is_one_line_with_blanks(void **state)
{
    struct fixture *f = *state;
    static const char *const FILES[] = {"a.jsonl", "b.jsonl"}, *const WORDS[] = {"you", "are"};
    const struct form_split splits[] = {{"train", 10, FILES, 2}};
    const struct form_crowd crowd = {3, UINT64_MAX, 10001};

    form_head_write(&(struct form_head){.version = "1", .made_by = "me", .splits = splits,
                                        .n_splits = 1, .prefix = WORDS, .n_prefix = 2,
                                        .crowded = &crowd, .n_crowded = 1}, &f->line);
    assert_string_equal(f->line.p,
                        "{\"format\": \"flatline-facts/1\", \"version\": \"1\", \"made_by\": \"me\", "
                        "\"splits\": [{\"name\": \"train\", \"rows\": 10, \"files\": [\"a.jsonl\", "
                        "\"b.jsonl\"]}], \"prefix\": [\"you\", \"are\"], \"suffix\": [], "
                        "\"columns\": [], \"group_columns\": [], \"crowded\": [{\"band\": 3, "
                        "\"hash\": \"18446744073709551615\", \"rows\": 10001}]}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_row_is_counted_and_hashed_by_its_normal_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_opening_has_twelve_words_at_most, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_that_is_all_common_text_has_no_bands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_row_is_flagged_and_nothing_else, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_class_is_a_short_target_as_it_stands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_are_texts_and_numbers_of_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_value_of_more_than_512_bytes_is_no_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_column_counts_before_a_member_of_the_same_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_many_groups_the_first_64_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lone_surrogate_counts_three_bytes_and_is_written_as_three_marks,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_has_the_keys_in_their_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_head_is_one_line_with_blanks, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
