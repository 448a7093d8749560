/* Folders of facts: what is read of them, and that each damage is told with its place. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/facts/form_read.h"
#include "tests/harness/tempdir.h"

#define HEAD(splits)                                                                              \
    "{\"format\": \"flatline-facts/1\", \"version\": \"1\", \"made_by\": \"a test\", \"splits\": " \
    "[" splits "], \"prefix\": [\"dear\", \"sir\"], \"suffix\": [], \"columns\": [\"text\"], "     \
    "\"group_columns\": [\"user_id\"], \"crowded\": [{\"band\": 2, \"hash\": \"7\", \"rows\": "    \
    "10001}]}\n"
#define TRAIN(rows) "{\"name\": \"train\", \"rows\": " rows ", \"files\": [\"train.jsonl\"]}"

static int set_up(void **state)
{
    *state = tempdir_make();
    return 0;
}

static int tear_down(void **state)
{
    tempdir_remove(*state);
    return 0;
}

static void put_row(struct buf *out, int row, const char *exact, int n_bands)
{
    buf_printf(out,
               "{\"split\":\"train\",\"row\":%d,\"exact\":%s,\"input\":\"8\",\"target\":\"5\",\"n_words\":12,"
               "\"n_target_words\":3,\"n_shingles\":8,\"n_bytes\":77,\"n_tokens\":null,\"class\":\"spam\","
               "\"opening\":[\"1\",\"2\"],\"bands\":[",
               row, exact);
    for (int i = 0; i < n_bands; i++)
        buf_printf(out, "%s\"%d\"", i ? "," : "", i);
    buf_puts(out, "],\"groups\":{\"user_id\":\"9\"},\"flags\":0}\n");
}

static void write_rows(const char *folder, struct buf *rows)
{
    assert_false(rows->failed);
    tempdir_write(folder, "rows-00000.jsonl", rows->p ? rows->p : "", rows->n);
    buf_free(rows);
}

static struct form_folder *open_folder(const char *folder)
{
    struct form_folder *out = NULL;
    struct error err;

    if (form_open(&out, tempdir_path(folder, FORM_NAME), &err) != OK)
        fail_msg("%s", err.message);
    return out;
}

/* The first thing that is wrong with the rows, or candidates; "" when nothing is. */
static const char *first_damage(const char *path, enum form_part part)
{
    static char text[512];
    struct form_folder *folder = open_folder(path);
    struct form_reader *reader;
    struct form_item item;
    struct error why, err;
    int rc;

    text[0] = '\0';
    assert_int_equal(form_reader_open(&reader, folder, part, FORM_ALL, &err), OK);
    while ((rc = form_next(reader, &item, &why, &err)) == 1)
        if (item.is_damage && !text[0])
            snprintf(text, sizeof text, "%s", why.message);
    assert_int_equal(rc, 0);
    form_reader_close(reader);
    form_close(folder);
    return text;
}

/* ---- Whole folders ---- */

static void what_facts_json_says_is_read(void **state)
{
    tempdir_write_text(*state, FORM_NAME, HEAD(TRAIN("3")));
    tempdir_write_text(*state, "rows-00001.jsonl", "");
    tempdir_write_text(*state, "rows-00000.jsonl.gz", "");
    tempdir_write_text(*state, "candidates-00000.parquet", "");
    tempdir_write_text(*state, "rows.txt", "");
    struct form_folder *folder = open_folder(*state);
    const struct form_head *head = form_head_of(folder);

    assert_int_equal(head->n_splits, 1);
    assert_string_equal(head->splits[0].name, "train");
    assert_int_equal(head->splits[0].n_rows, 3);
    assert_string_equal(head->splits[0].files[0], "train.jsonl");
    assert_int_equal(head->n_prefix, 2);
    assert_string_equal(head->prefix[1], "sir");
    assert_int_equal(head->n_suffix, 0);
    assert_int_equal(head->crowded[0].hash, 7);
    assert_int_equal(head->crowded[0].n_rows, 10001);
    assert_int_equal(form_n_files(folder, FORM_ROWS), 2);
    assert_int_equal(form_n_files(folder, FORM_CANDIDATES), 1);
    assert_int_equal(form_split_at(head, str_of("train")), 0);
    assert_int_equal(form_split_at(head, str_of("tra")), SIZE_MAX);
    form_close(folder);
}

static void hashes_are_read_to_their_last_bit(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } HASHES[] = {{"\"18446744073709551615\"", UINT64_MAX},
                  {"18446744073709551615", UINT64_MAX},
                  {"-1", UINT64_MAX},
                  {"-9223372036854775808", (uint64_t)1 << 63},
                  {"\"13\"", 13}};
    struct buf rows;
    struct form_reader *reader;
    struct form_item item;
    struct error why, err;

    tempdir_write_text(*state, FORM_NAME, HEAD(TRAIN("5")));
    buf_init(&rows, 1 << 20);
    for (int i = 0; i < 5; i++)
        put_row(&rows, i, HASHES[i].text, MINHASH_BANDS);
    write_rows(*state, &rows);
    struct form_folder *folder = open_folder(*state);
    assert_int_equal(form_reader_open(&reader, folder, FORM_ROWS, FORM_ALL, &err), OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(form_next(reader, &item, &why, &err), 1);
        assert_false(item.is_damage);
        assert_int_equal(item.row->exact, HASHES[i].value);
        assert_int_equal(item.row->row, i);
        assert_int_equal(item.row->n_opening, 2);
        assert_int_equal(item.row->bands[41], 41);
        assert_true(str_is(item.row->groups[0].column, "user_id"));
        assert_int_equal(item.row->groups[0].value, 9);
        assert_true(str_is(item.row->class_name, "spam"));
        assert_int_equal(item.row->n_tokens, NONE);
    }
    assert_int_equal(form_next(reader, &item, &why, &err), 0);
    form_reader_close(reader);
    form_close(folder);
}

static void a_row_with_a_crowded_band_is_told(void **state)
{
    struct form_row row = {.has_bands = true};

    tempdir_write_text(*state, FORM_NAME, HEAD(TRAIN("0")));
    struct form_folder *folder = open_folder(*state);
    assert_false(form_is_crowded(form_head_of(folder), &row));
    row.bands[2] = 7;
    assert_true(form_is_crowded(form_head_of(folder), &row));
    row.bands[2] = 0;
    row.bands[3] = 7;
    assert_false(form_is_crowded(form_head_of(folder), &row));
    form_close(folder);
}

static void a_candidate_is_read_again_at_its_place(void **state)
{
    struct form_reader *reader;
    struct form_item item;
    struct form_place places[2];
    struct form_candidate again;
    struct error why, err;

    tempdir_write_text(*state, FORM_NAME, HEAD(TRAIN("9")));
    tempdir_write_text(*state, "candidates-00000.jsonl",
                       "{\"split\":\"train\",\"row\":4,\"input\":\"a\",\"target\":\"b\"}\n");
    tempdir_write_text(*state, "candidates-00001.jsonl",
                       "{\"split\":\"train\",\"row\":6,\"input\":\"c\",\"target\":\"d\"}\n");
    struct form_folder *folder = open_folder(*state);
    assert_int_equal(form_reader_open(&reader, folder, FORM_CANDIDATES, 0, &err), OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(form_next(reader, &item, &why, &err), 1);
        places[i] = item.place;
    }
    assert_int_equal(form_next(reader, &item, &why, &err), 0);
    assert_true(form_read_at(reader, &places[0], &again));
    assert_int_equal(again.row, 4);
    assert_true(str_is(again.target, "b"));
    assert_true(form_read_at(reader, &places[1], &again));
    assert_true(str_is(again.input, "c"));
    places[1].file = 2;
    assert_false(form_read_at(reader, &places[1], &again));
    form_reader_close(reader);
    form_close(folder);
}

/* ---- What is wrong ---- */

static void facts_of_another_version_are_refused(void **state)
{
    struct form_folder *folder;
    struct error err;

    tempdir_write_text(*state, FORM_NAME, "{\"format\": \"flatline-facts/2\"}");
    assert_int_equal(form_open(&folder, tempdir_path(*state, FORM_NAME), &err), E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "flatline-facts/2"));
    assert_non_null(strstr(err.message, "flatline-facts/1"));
}

static void every_field_of_facts_json_is_needed(void **state)
{
    static const char *const NAMES[] = {"format",  "version",       "made_by", "splits", "prefix", "suffix",
                                        "columns", "group_columns", "crowded", "rows",   "files",  "name"};
    static const char HEAD_TEXT[] = HEAD(TRAIN("3"));
    struct form_folder *folder;
    struct error err;
    char text[sizeof HEAD_TEXT], key[32];

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        memcpy(text, HEAD_TEXT, sizeof text);
        snprintf(key, sizeof key, "\"%s\"", NAMES[i]);
        char *at = strstr(text, key);
        assert_non_null(at);
        at[1] = 'X';
        tempdir_write_text(*state, FORM_NAME, text);
        if (form_open(&folder, tempdir_path(*state, FORM_NAME), &err) == OK)
            fail_msg("facts.json without %s is read", NAMES[i]);
        assert_int_equal(err.status, E_PARSE);
        assert_non_null(strstr(err.message, NAMES[i]));
    }
}

static void a_split_stands_in_facts_json_once(void **state)
{
    struct form_folder *folder;
    struct error err;

    tempdir_write_text(*state, FORM_NAME, HEAD(TRAIN("3") "," TRAIN("4")));
    assert_int_equal(form_open(&folder, tempdir_path(*state, FORM_NAME), &err), E_PARSE);
    assert_non_null(strstr(err.message, "twice"));
}

static void rows_with_other_than_42_bands_are_told_by_line(void **state)
{
    struct buf rows;

    tempdir_write_text(*state, FORM_NAME, HEAD(TRAIN("2")));
    buf_init(&rows, 1 << 20);
    put_row(&rows, 0, "\"1\"", MINHASH_BANDS);
    put_row(&rows, 1, "\"1\"", MINHASH_BANDS - 1);
    write_rows(*state, &rows);
    assert_string_equal(first_damage(*state, FORM_ROWS),
                        "rows-00000.jsonl line 2: 41 bands, expected 42");
}

static void a_row_that_comes_again_is_told(void **state)
{
    struct buf rows;

    tempdir_write_text(*state, FORM_NAME, HEAD(TRAIN("2")));
    buf_init(&rows, 1 << 20);
    put_row(&rows, 1, "\"1\"", MINHASH_BANDS);
    put_row(&rows, 0, "\"1\"", MINHASH_BANDS);
    put_row(&rows, 1, "\"1\"", MINHASH_BANDS);
    write_rows(*state, &rows);
    assert_string_equal(first_damage(*state, FORM_ROWS),
                        "rows-00000.jsonl line 3: row 1 of split \"train\" again");
}

static void rows_that_facts_json_does_not_count_are_told(void **state)
{
    struct buf rows;

    tempdir_write_text(*state, FORM_NAME, HEAD(TRAIN("2")));
    buf_init(&rows, 1 << 20);
    put_row(&rows, 2, "\"1\"", MINHASH_BANDS);
    write_rows(*state, &rows);
    assert_string_equal(first_damage(*state, FORM_ROWS),
                        "rows-00000.jsonl line 1: row 2 of split \"train\", which has 2");
}

static void rows_that_are_not_there_are_counted(void **state)
{
    struct buf rows;

    tempdir_write_text(*state, FORM_NAME, HEAD(TRAIN("3")));
    buf_init(&rows, 1 << 20);
    put_row(&rows, 0, "\"1\"", MINHASH_BANDS);
    put_row(&rows, 2, "\"1\"", MINHASH_BANDS);
    write_rows(*state, &rows);
    assert_string_equal(first_damage(*state, FORM_ROWS),
                        "facts.json: 3 rows of split \"train\", its files have 2");
}

static void a_candidate_of_a_split_that_is_not_named_is_told(void **state)
{
    tempdir_write_text(*state, FORM_NAME, HEAD(TRAIN("3")));
    tempdir_write_text(*state, "candidates-00000.jsonl",
                       "{\"split\":\"test\",\"row\":0,\"input\":\"a\",\"target\":\"b\"}\n");
    assert_string_equal(first_damage(*state, FORM_CANDIDATES),
                        "candidates-00000.jsonl line 1: split \"test\", which facts.json does not name");
}

static void members_of_another_type_are_told_by_name(void **state)
{
    static const struct {
        const char *from, *to, *name;
    } CHANGES[] = {
        {"\"exact\":\"1\"", "\"exact\":\"1x\"", "exact"},
        {"\"exact\":\"1\"", "\"exact\":\"18446744073709551616\"", "exact"},
        {"\"input\":\"8\"", "\"input\":null", "input"},
        {"\"n_words\":12", "\"n_words\":-1", "n_words"},
        {"\"n_tokens\":null", "\"n_tokens\":\"4\"", "n_tokens"},
        {"\"class\":\"spam\"", "\"class\":4", "class"},
        {"\"flags\":0", "\"flags\":16", "flags"},
        {"[\"1\",\"2\"]", "[\"1\",true]", "opening"},
        {"{\"user_id\":\"9\"}", "{\"user_id\":\"\"}", "groups"},
        {"\"split\":\"train\"", "\"split\":3", "split"},
        {"\"row\":0", "\"row\":0.5", "row"},
    };

    tempdir_write_text(*state, FORM_NAME, HEAD(TRAIN("1")));
    for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; i++) {
        struct buf row, changed;
        char name[64];

        buf_init(&row, 1 << 16);
        buf_init(&changed, 1 << 16);
        put_row(&row, 0, "\"1\"", MINHASH_BANDS);
        const char *at = strstr(row.p, CHANGES[i].from);
        assert_non_null(at);
        buf_printf(&changed, "%.*s%s%s", (int)(at - row.p), row.p, CHANGES[i].to,
                   at + strlen(CHANGES[i].from));
        write_rows(*state, &changed);
        buf_free(&row);
        snprintf(name, sizeof name, "rows-00000.jsonl line 1: \"%s\"", CHANGES[i].name);
        const char *damage = first_damage(*state, FORM_ROWS);
        if (!strstr(damage, name))
            fail_msg("%s: \"%s\"", CHANGES[i].to, damage);
    }
}

/* Any bytes do no more harm than to be told. */
static void hostile_folders_do_no_harm(void **state)
{
    static const char HEAD_TEXT[] = HEAD(TRAIN("2"));
    struct random random;
    struct buf rows;

    random_seed(&random, 25);
    for (int i = 0; i < 300; i++) {
        struct form_folder *folder;
        struct form_reader *reader;
        struct form_item item;
        struct error why, err;
        char head[sizeof HEAD_TEXT];

        memcpy(head, HEAD_TEXT, sizeof head);
        if (i % 2)
            head[random_below(&random, sizeof head - 2)] = (char)random_below(&random, 256);
        tempdir_write(*state, FORM_NAME, head, sizeof head - 1);
        buf_init(&rows, 1 << 20);
        put_row(&rows, 0, "\"1\"", MINHASH_BANDS);
        put_row(&rows, 1, "\"1\"", MINHASH_BANDS);
        for (int k = 0; k < 4; k++)
            rows.p[random_below(&random, rows.n)] = (char)random_below(&random, 256);
        rows.n -= random_below(&random, rows.n / 2);
        write_rows(*state, &rows);
        if (form_open(&folder, tempdir_path(*state, FORM_NAME), &err) != OK)
            continue;
        assert_int_equal(form_reader_open(&reader, folder, FORM_ROWS, FORM_ALL, &err), OK);
        for (int k = 0; k < 1000 && form_next(reader, &item, &why, &err) == 1; k++)
            ;
        form_reader_close(reader);
        form_close(folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_facts_json_says_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hashes_are_read_to_their_last_bit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_with_a_crowded_band_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_candidate_is_read_again_at_its_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(facts_of_another_version_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_field_of_facts_json_is_needed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_split_stands_in_facts_json_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_with_other_than_42_bands_are_told_by_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_that_comes_again_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_that_facts_json_does_not_count_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_that_are_not_there_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_candidate_of_a_split_that_is_not_named_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(members_of_another_type_are_told_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_folders_do_no_harm, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
