/* Rows of data files: every kind, places, going back, and what is wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/read/rows.h"
#include "core/read/source.h"
#include "tests/harness/packing.h"
#include "tests/harness/tempdir.h"

struct scene {
    char *folder;
    struct arena *arena;
    struct rows *rows;
};

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);

    scene->folder = tempdir_make();
    scene->arena = arena_open(ARENA_RENDER_BYTES);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;

    rows_close(scene->rows);
    arena_close(scene->arena);
    tempdir_remove(scene->folder);
    free(scene);
    return 0;
}

static void open_bytes(struct scene *scene, const char *name, const void *bytes, size_t n)
{
    struct error err = {0};

    tempdir_write(scene->folder, name, bytes, n);
    rows_close(scene->rows);
    scene->rows = NULL;
    if (rows_open(&scene->rows, tempdir_path(scene->folder, name), &err) != OK)
        fail_msg("%s: %s", name, err.message);
}

static void open_text(struct scene *scene, const char *name, const char *text)
{
    open_bytes(scene, name, text, strlen(text));
}

/* All rows as "row@at+length line JSON" lines, then what the end was. */
static char *all_rows(struct scene *scene)
{
    struct buf out;
    struct row_place place;
    const struct json *row;
    struct error why, err = {0};
    int rc;

    buf_init(&out, 1 << 24);
    arena_reset(scene->arena);
    while ((rc = rows_next(scene->rows, scene->arena, &row, &place, &why, &err)) == 1) {
        buf_printf(&out, "%d@%d+%d %d ", (int)place.row, (int)place.at, (int)place.length,
                   (int)place.line);
        if (row)
            json_write(&out, row);
        else
            buf_printf(&out, "bad: %s", why.message);
        buf_putc(&out, '\n');
        arena_reset(scene->arena);
    }
    if (rc != 0)
        buf_printf(&out, "error %d: %s\n", rc, err.message);
    return buf_steal(&out);
}

static void assert_rows(struct scene *scene, const char *expected)
{
    char *got = all_rows(scene);

    assert_string_equal(got ? got : "", expected);
    free(got);
}

static void lines_are_rows_with_their_places(void **state)
{
    open_text(*state, "a.jsonl", "\xEF\xBB\xBF{\"a\": 1}\r\n\n  {\"b\": [1.50, \"x\"]}\n{\"c\":NaN}");
    assert_rows(*state, "0@3+8 1 {\"a\":1}\n"
                        "1@14+20 3 {\"b\":[1.5,\"x\"]}\n"
                        "2@35+9 4 {\"c\":NaN}\n");
}

static void a_bad_line_is_counted_and_the_next_one_is_read(void **state)
{
    open_text(*state, "a.jsonl", "{\"a\": 1}\n{\"a\": \n[1]\n{\"t\": \"\xff\"}\n{\"a\": 2}\n");
    assert_rows(*state, "0@0+8 1 {\"a\":1}\n"
                        "1@9+6 2 bad: the text breaks off\n"
                        "2@16+3 3 bad: a row that is no JSON object\n"
                        "3@20+10 4 bad: not UTF-8: byte 0xff at byte 7 of the row\n"
                        "4@31+8 5 {\"a\":2}\n");
}

static void an_array_is_read_element_by_element(void **state)
{
    open_text(*state, "a.json", " [\n{\"a\": \"]}\\\"\"},\n 7 ,{\"b\": {\"c\": []}}\n, {\"d\": }]\n ");
    assert_rows(*state, "0@3+13 2 {\"a\":\"]}\\\"\"}\n"
                        "1@19+1 3 bad: a row that is no JSON object\n"
                        "2@22+16 3 {\"b\":{\"c\":[]}}\n"
                        "3@41+7 4 bad: expected a value\n");
    assert_int_equal(rows_kind(((struct scene *)*state)->rows), ROWS_JSON_ARRAY);
}

static void an_array_that_breaks_off_gives_what_is_whole(void **state)
{
    open_text(*state, "a.json", "[{\"a\": 1}, {\"b\": \"");
    assert_rows(*state, "0@1+8 1 {\"a\":1}\n"
                        "error -3: the text breaks off inside a row of the array\n");
    open_text(*state, "b.json", "[{\"a\": 1}");
    assert_rows(*state, "0@1+8 1 {\"a\":1}\n"
                        "error -3: the text breaks off inside the array of rows\n");
    open_text(*state, "c.json", "[{\"a\": 1} {\"a\": 2}]");
    assert_rows(*state, "0@1+8 1 {\"a\":1}\nerror -3: no ',' or ']' after a row\n");
    open_text(*state, "d.json", "[{\"a\": 1}] x");
    assert_rows(*state, "0@1+8 1 {\"a\":1}\nerror -3: text after the end of the array\n");
    open_text(*state, "e.json", "[{\"a\": 1},]");
    assert_rows(*state, "0@1+8 1 {\"a\":1}\nerror -3: no row where one must stand\n");
    open_text(*state, "f.json", "[]");
    assert_rows(*state, "");
}

static void rows_may_stand_in_a_member_of_one_object(void **state)
{
    open_text(*state, "a.json",
              "{\"version\": {\"n\": [1]}, \"data\": [{\"a\": 1}, {\"a\": 2}], \"more\": 3}\n");
    assert_rows(*state, "0@33+8 1 {\"a\":1}\n1@43+8 1 {\"a\":2}\n");
    /* One row whose messages are a list is a row. */
    open_text(*state, "b.json", "{\"messages\": [{\"role\": \"user\"}]}\n");
    assert_rows(*state, "0@0+32 1 {\"messages\":[{\"role\":\"user\"}]}\n");
    open_text(*state, "c.jsonl", "{\"data\": [{\"a\": 1}]}\n");
    assert_rows(*state, "0@0+20 1 {\"data\":[{\"a\":1}]}\n");
}

static void tables_become_objects_of_texts(void **state)
{
    open_text(*state, "a.csv", "prompt,completion\r\n\"a\r\nb, \"\"c\"\"\",1\r\nx,\r\ny\r\n1,2,3\r\n"
                               "last,\"\"");
    assert_rows(*state,
                "0@19+15 2 {\"prompt\":\"a\\r\\nb, \\\"c\\\"\",\"completion\":\"1\"}\n"
                "1@36+2 4 {\"prompt\":\"x\",\"completion\":null}\n"
                "2@40+1 5 {\"prompt\":\"y\",\"completion\":null}\n"
                "3@43+5 6 bad: a row of 3 cells, the header has 2\n"
                "4@50+7 7 {\"prompt\":\"last\",\"completion\":\"\"}\n");
    open_text(*state, "b.tsv", "a\tb\n1\t\"2\n3\n");
    assert_rows(*state, "0@4+7 2 bad: a quote that is never closed\n");
    open_text(*state, "c.csv", "");
    assert_rows(*state, "");
}

/* Every row again, last to first, by its place. */
static void assert_goes_back(struct scene *scene, int n_rows)
{
    struct row_place places[64], place;
    char *texts[64];
    const struct json *row;
    struct error why, err;
    struct str raw;
    int n = 0;

    assert_true(n_rows <= 64);
    while (rows_next(scene->rows, scene->arena, &row, &places[n], &why, &err) == 1) {
        struct buf text;
        buf_init(&text, 1 << 20);
        json_write(&text, row);
        texts[n++] = buf_steal(&text);
    }
    assert_int_equal(n, n_rows);
    while (n-- > 0) {
        struct buf text;
        assert_int_equal(rows_seek(scene->rows, places[n].at, places[n].row, &err), OK);
        assert_int_equal(rows_next(scene->rows, scene->arena, &row, &place, &why, &err), 1);
        assert_int_equal(place.at, places[n].at);
        assert_int_equal(place.length, places[n].length);
        assert_int_equal(place.row, n);
        assert_int_equal(place.line, NONE);
        buf_init(&text, 1 << 20);
        json_write(&text, row);
        assert_string_equal(text.p, texts[n]);
        buf_free(&text);
        free(texts[n]);
        assert_int_equal(rows_raw(scene->rows, &place, 5, scene->arena, &raw, &err), OK);
        assert_int_equal(raw.n, 5);
        assert_int_equal(rows_raw(scene->rows, &place, 1000, scene->arena, &raw, &err), OK);
        assert_int_equal(raw.n, (size_t)place.length);
    }
}

static const char LINES[] = "{\"a\": \"one\"}\n{\"a\": \"two\"}\n{\"a\": \"three\"}\n";

static void a_row_is_read_again_by_its_place(void **state)
{
    open_text(*state, "a.jsonl", LINES);
    assert_goes_back(*state, 3);
    open_text(*state, "a.json", "[{\"a\": \"one\"}, {\"a\": \"two\"}]");
    assert_goes_back(*state, 2);
    open_text(*state, "a.csv", "a,b\n\"1\n1\",2222\n3333,4444\n5555,6666");
    assert_goes_back(*state, 3);
}

static void a_packed_file_gives_the_same_rows_and_places(void **state)
{
    struct buf packed;

    buf_init(&packed, 1 << 20);
    pack_gzip(&packed, LINES, 20);
    pack_gzip(&packed, LINES + 20, sizeof LINES - 1 - 20);
    open_bytes(*state, "a.jsonl.gz", packed.p, packed.n);
    assert_rows(*state, "0@0+12 1 {\"a\":\"one\"}\n1@13+12 2 {\"a\":\"two\"}\n"
                        "2@26+14 3 {\"a\":\"three\"}\n");
    open_bytes(*state, "a.jsonl.gz", packed.p, packed.n);
    assert_goes_back(*state, 3);
    buf_clear(&packed);
    pack_zstd(&packed, "a,b\n1,2\n", 8);
    pack_zstd(&packed, "33,4444\n", 8);
    open_bytes(*state, "b.csv.zst", packed.p, packed.n);
    assert_rows(*state, "0@4+3 2 {\"a\":\"1\",\"b\":\"2\"}\n1@8+7 3 {\"a\":\"33\",\"b\":\"4444\"}\n");
    buf_free(&packed);
}

static void a_cut_gzip_file_gives_its_whole_rows_and_says_where_it_ends(void **state)
{
    struct buf packed;
    char *got;

    buf_init(&packed, 1 << 20);
    pack_gzip(&packed, LINES, sizeof LINES - 1);
    size_t whole = packed.n;
    pack_gzip(&packed, LINES, sizeof LINES - 1);
    open_bytes(*state, "a.jsonl.gz", packed.p, whole + 4);
    got = all_rows(*state);
    assert_non_null(strstr(got, "2@26+14 3 {\"a\":\"three\"}\n"));
    assert_non_null(strstr(got, "error -3: the packed file is cut inside its gzip data"));
    free(got);
    buf_free(&packed);
}

static void a_row_above_the_limit_is_bad_and_the_next_one_is_read(void **state)
{
    size_t n = SOURCE_LINE_BYTES + 100;
    char *text = malloc(n + 64);
    char *got;

    memset(text, 'x', n);
    memcpy(text, "{\"a\": \"", 7);
    memcpy(text + n - 2, "\"}\n{\"b\": 2}\n", 12);
    open_bytes(*state, "a.jsonl", text, n + 10);
    got = all_rows(*state);
    assert_non_null(strstr(got, "bad: a row of "));
    assert_non_null(strstr(got, " 2 {\"b\":2}\n"));
    free(got);
    memmove(text + 1, text, n + 10);
    text[0] = '[';
    text[n + 1] = ',';
    text[n + 10] = ']';
    open_bytes(*state, "a.json", text, n + 11);
    got = all_rows(*state);
    assert_non_null(strstr(got, "bad: a row of "));
    assert_non_null(strstr(got, "{\"b\":2}\n"));
    free(got);
    free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lines_are_rows_with_their_places),
        TEST(a_bad_line_is_counted_and_the_next_one_is_read),
        TEST(an_array_is_read_element_by_element),
        TEST(an_array_that_breaks_off_gives_what_is_whole),
        TEST(rows_may_stand_in_a_member_of_one_object),
        TEST(tables_become_objects_of_texts),
        TEST(a_row_is_read_again_by_its_place),
        TEST(a_packed_file_gives_the_same_rows_and_places),
        TEST(a_cut_gzip_file_gives_its_whole_rows_and_says_where_it_ends),
        TEST(a_row_above_the_limit_is_bad_and_the_next_one_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
