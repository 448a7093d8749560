/* Test rows against training rows: what is counted, what is kept of it, and the files made of it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/exports/clean_split.h"
#include "core/facts/leaks_clusters.h"
#include "core/facts/leaks_parts.h"
#include "tests/harness/imported_run.h"

static int set_up(void **state)
{
    *state = imported_run_new();
    return 0;
}

static int tear_down(void **state)
{
    imported_run_free(*state);
    return 0;
}

/* ---- Rows ---- */

/* n words that no other number begins with. */
static void put_words(struct buf *out, uint64_t seed, int n)
{
    struct random random;

    random_seed(&random, seed);
    for (int i = 0; i < n; i++)
        buf_printf(out, "%sw%llx", i ? " " : "",
                   (unsigned long long)random_below(&random, 1 << 30));
}

static void put_row(struct buf *out, const char *more, const char *prompt)
{
    buf_printf(out, "{%s\"prompt\": \"%s\", \"completion\": \"yes\"}\n", more, prompt);
}

static void put_random(struct buf *out, uint64_t seed, const char *more)
{
    struct buf words;

    buf_init(&words, 1 << 16);
    put_words(&words, seed, 20);
    put_row(out, more, words.p);
    buf_free(&words);
}

static void write_file(struct imported_run *run, const char *name, struct buf *rows)
{
    tempdir_write(run->folder, name, rows->p, rows->n);
    buf_free(rows);
}

static void write_train(struct imported_run *run)
{
    struct buf rows;

    buf_init(&rows, 1 << 20);
    for (uint64_t i = 0; i < 30; i++)
        put_random(&rows, i, "");
    put_row(&rows, "", "one");
    write_file(run, "train.jsonl", &rows);
}

/* Rows 0 to 4 clean, 5 a copy of training row 7 but for its case, 6 begins as training row 8, 7 is
 * the first half of training row 9, 8 is short, 9 cannot be read. */
static void write_test(struct imported_run *run)
{
    struct buf rows, words;

    buf_init(&rows, 1 << 20);
    buf_init(&words, 1 << 16);
    for (uint64_t i = 0; i < 5; i++)
        put_random(&rows, 100 + i, "");
    put_words(&words, 7, 20);
    for (size_t i = 0; i < words.n; i++)
        words.p[i] = words.p[i] == 'w' ? 'W' : words.p[i];
    put_row(&rows, "", words.p);
    buf_clear(&words);
    put_words(&words, 8, 19);
    put_row(&rows, "", words.p);
    buf_clear(&words);
    put_words(&words, 9, 14);
    buf_printf(&rows, "{\"prompt\": \"%s\", \"completion\": \"\"}\n", words.p);
    put_row(&rows, "", "one");
    buf_puts(&rows, "{\"prompt\": \n");
    buf_free(&words);
    write_file(run, "test.jsonl", &rows);
}

static const struct leaks *compare(struct imported_run *run, const struct audit_hooks *hooks)
{
    imported_run_read(run);
    assert_int_equal(leaks_refresh(run->facts, run->store, hooks, &run->err), OK);
    return facts_leaks(run->facts);
}

static void each_measure_finds_its_row(void **state)
{
    struct imported_run *run = *state;

    write_train(run);
    write_test(run);
    const struct leaks *leaks = compare(run, NULL);
    assert_non_null(leaks);
    assert_int_equal(leaks->n_sets, 1);
    assert_int_equal(leaks->n_train, 31);
    assert_string_equal(leaks->suffix, "yes");
    const struct leak_set *set = &leaks->sets[0];
    assert_int_equal(set->n_rows, 10);
    assert_int_equal(set->n_unreadable, 1);
    assert_int_equal(set->n_short, 1);
    assert_int_equal(set->n_short_exact, 1);
    assert_int_equal(set->n_compared, 8);
    assert_int_equal(set->n_exact, 1);
    assert_int_equal(set->n_near, 2);
    assert_int_equal(set->n_leaked, 3);
    assert_int_equal(set->n_pairs, 3);
    assert_int_equal(set->pairs[0].row, 5);
    assert_int_equal(set->pairs[0].train_row, 7);
    assert_true(set->pairs[0].flags & LEAK_EXACT);
    assert_float_equal(leak_jaccard(&set->pairs[0]), 1.0, 0.0);
    assert_int_equal(set->pairs[1].row, 6);
    assert_int_equal(set->pairs[1].train_row, 8);
    assert_float_equal(leak_jaccard(&set->pairs[1]), 15.0 / 16.0, 1e-12);
    assert_int_equal(set->pairs[2].row, 7);
    assert_int_equal(set->pairs[2].train_row, 9);
    assert_true(set->pairs[2].flags == LEAK_CONTAINED);
    assert_float_equal(leak_jaccard(&set->pairs[2]), 10.0 / 16.0, 1e-12);
    assert_float_equal(leak_containment(&set->pairs[2]), 1.0, 0.0);
    assert_int_equal(set->leaked[2], 7);
    assert_int_equal(set->n_clustered, 3);
    /* all nine but the short one; the copy, the one that ends otherwise and the first half */
    assert_int_equal(set->n_long, 8);
    assert_int_equal(set->n_overlap, 3);
}

static void thirteen_words_in_a_row_are_counted_and_no_leak(void **state)
{
    static const char WORDS[] = "a b c d e f g h i j k l";
    struct imported_run *run = *state;
    struct buf rows;

    buf_init(&rows, 1 << 16);
    put_random(&rows, 1, "");
    put_random(&rows, 2, "");
    buf_printf(&rows, "{\"prompt\": \"%s m and then all else is other than it was there\", "
                      "\"completion\": \"x\"}\n", WORDS);
    write_file(run, "train.jsonl", &rows);
    buf_init(&rows, 1 << 16);
    for (int i = 0; i < 2; i++) {
        buf_printf(&rows, "{\"prompt\": \"%s %c", WORDS, "mn"[i]);
        for (int k = 0; k < 40; k++)
            buf_printf(&rows, " other%d", k + 100 * i);
        buf_puts(&rows, "\", \"completion\": \"y\"}\n");
    }
    buf_puts(&rows, "{\"prompt\": \"too few words of its own\", \"completion\": \"z\"}\n");
    write_file(run, "test.jsonl", &rows);
    const struct leak_set *set = &compare(run, NULL)->sets[0];
    assert_int_equal(set->n_compared, 3);
    assert_int_equal(set->n_leaked, 0);
    assert_int_equal(set->n_long, 2);
    assert_int_equal(set->n_overlap, 1);
}

static void rows_of_one_side_alone_are_not_compared(void **state)
{
    struct imported_run *run = *state;

    write_train(run);
    assert_null(compare(run, NULL));
    assert_int_equal(facts_leaks_hash(run->facts), 0);
    assert_true(leaks_have_side(run->facts, "train"));
    assert_false(leaks_have_side(run->facts, "test"));
}

/* ---- Kept ---- */

static void count_calls(void *ctx, int64_t done, int64_t total)
{
    (void)done;
    (void)total;
    ++*(int *)ctx;
}

static void an_unchanged_run_is_not_compared_again(void **state)
{
    struct imported_run *run = *state;
    int n = 0;
    const struct audit_hooks hooks = {.progress = count_calls, .ctx = &n};

    write_train(run);
    write_test(run);
    assert_non_null(compare(run, &hooks));
    assert_true(n > 0);
    uint64_t hash = facts_leaks_hash(run->facts);
    n = 0;
    assert_non_null(compare(run, &hooks));
    assert_int_equal(n, 0);
    assert_true(facts_leaks_hash(run->facts) == hash);
    struct buf rows;
    buf_init(&rows, 1 << 16);
    put_random(&rows, 3, "");
    write_file(run, "test.jsonl", &rows);
    const struct leaks *leaks = compare(run, &hooks);
    assert_true(n > 0);
    assert_int_equal(leaks->sets[0].n_exact, 1);
    assert_true(facts_leaks_hash(run->facts) != hash);
}

static void what_was_stopped_is_kept_and_made_anew(void **state)
{
    struct imported_run *run = *state;
    atomic_bool cancel = true;
    const struct audit_hooks hooks = {.cancel = &cancel};

    write_train(run);
    write_test(run);
    const struct leaks *leaks = compare(run, &hooks);
    assert_non_null(leaks);
    assert_true(leaks->is_partial);
    assert_int_equal(leaks->n_train, 0);
    atomic_store(&cancel, false);
    leaks = compare(run, &hooks);
    assert_false(leaks->is_partial);
    assert_int_equal(leaks->sets[0].n_leaked, 3);
}

static void any_number_of_threads_gives_the_same(void **state)
{
    struct imported_run *run = *state;
    struct audit_hooks hooks = {.n_threads = 1};
    struct buf rows;
    uint64_t hash;

    buf_init(&rows, 1 << 22);
    for (uint64_t i = 0; i < 1500; i++)
        put_random(&rows, i % 700, "");
    write_file(run, "train.jsonl", &rows);
    buf_init(&rows, 1 << 22);
    for (uint64_t i = 0; i < 600; i++)
        put_random(&rows, 400 + i, "");
    write_file(run, "test.jsonl", &rows);
    const struct leaks *leaks = compare(run, &hooks);
    assert_int_equal(leaks->sets[0].n_exact, 300);
    assert_int_equal(leaks->sets[0].pairs[0].train_row, 400);
    hash = facts_leaks_hash(run->facts);
    hooks.n_threads = 4;
    tempdir_write_text(run->folder, "test.jsonl.md", ""); /* another key is not enough: */
    assert_int_equal(store_derived_put(run->store, run->facts->run.id, "leaks",
                                       &(struct stored_text){1, "{}"}, &run->err),
                     OK);
    assert_non_null(compare(run, &hooks));
    assert_true(facts_leaks_hash(run->facts) == hash);
}

static void a_text_that_is_no_record_of_leaks_is_none(void **state)
{
    static const char *const TEXTS[] = {"",
                                        "{}",
                                        "[",
                                        "{\"numbers\":[1,2,0,0,0]}",
                                        "{\"numbers\":[1,2,0,0],\"sets\":[]}",
                                        "{\"numbers\":[1,2,0,0,0],\"sets\":[{}]}",
                                        "{\"numbers\":[1,2,0,0,0],\"sets\":[{\"numbers\":[1,1,0,0,"
                                        "0,1,0,0,0,0,1,0],\"leaked\":[]}]}",
                                        "{\"numbers\":[1,2,0,-1,0],\"sets\":[]}"};
    struct imported_run *run = *state;
    struct leaks leaks;

    write_train(run);
    imported_run_read(run);
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        assert_false(leaks_read(run->facts, TEXTS[i], run->arena, &leaks));
}

static void pairs_know_the_name_of_the_row(void **state)
{
    struct imported_run *run = *state;
    struct buf rows;

    write_train(run);
    buf_init(&rows, 1 << 16);
    put_random(&rows, 900, "\"id\": \"clean\", ");
    put_random(&rows, 3, "\"id\": \"q 3\", ");
    put_random(&rows, 4, "\"doc_id\": 44, ");
    put_random(&rows, 5, "");
    write_file(run, "test.jsonl", &rows);
    const struct leak_set *set = &compare(run, NULL)->sets[0];
    assert_int_equal(set->n_pairs, 3);
    assert_string_equal(set->pairs[0].id, "q 3");
    assert_string_equal(set->pairs[1].id, "44");
    assert_null(set->pairs[2].id);
}

static void sets_go_into_a_file_without_a_name(void **state)
{
    struct imported_run *run = *state;
    struct leak_spill *spill;
    uint64_t back[3] = {0};

    assert_int_equal(leak_spill_open(&spill, "", &run->err), OK);
    assert_null(spill); /* a cache in memory */
    assert_null(leak_spill_calls(spill));
    assert_int_equal(leak_spill_open(&spill, tempdir_path(run->root, "cache.db"), &run->err), OK);
    const struct similar_spill *calls = leak_spill_calls(spill);
    assert_int_equal(calls->put(calls->ctx, 0, "0123456789abcdef", 16, &run->err), OK);
    assert_int_equal(calls->put(calls->ctx, 70, "abcdefgh", 8, &run->err), OK);
    assert_int_equal(calls->get(calls->ctx, 70, back, 8, &run->err), OK);
    assert_memory_equal(back, "abcdefgh", 8);
    assert_int_equal(calls->get(calls->ctx, 0, back, 16, &run->err), OK);
    assert_memory_equal(back, "0123456789abcdef", 16);
    assert_int_equal(calls->get(calls->ctx, 70, back, 16, &run->err), E_IO);
    leak_spill_close(spill);
    assert_int_equal(leak_spill_open(&spill, "/nowhere/at/all/cache.db", &run->err), OK);
    calls = leak_spill_calls(spill);
    assert_int_equal(calls->put(calls->ctx, 0, "a", 1, &run->err), E_IO);
    leak_spill_close(spill);
}

/* ---- Columns ---- */

static void write_groups(struct imported_run *run, const char *name, uint64_t from, uint64_t to)
{
    struct buf rows;
    char more[160];

    buf_init(&rows, 1 << 20);
    for (uint64_t i = from; i < to; i++) {
        snprintf(more, sizeof more,
                 "\"thread\": \"t%d\", \"id\": \"r%d\", \"length\": %d, \"language\": \"l%d\", "
                 "\"kind_of\": \"k%d\", ",
                 (int)(i % 30), (int)i, (int)(i % 25), (int)(i % 23), (int)(i % 5));
        put_random(&rows, 1000 + i, more);
    }
    write_file(run, name, &rows);
}

static void columns_that_may_be_keys_are_found(void **state)
{
    struct imported_run *run = *state;

    write_groups(run, "train.jsonl", 0, 90);
    write_groups(run, "test.jsonl", 90, 105);
    const struct leak_set *set = &compare(run, NULL)->sets[0];
    assert_int_equal(set->n_columns, 1); /* no ids, no measure, no language, no label */
    const struct leak_column *column = &set->columns[0];
    assert_string_equal(column->name, "thread");
    assert_true(column->is_key_by_name);
    assert_int_equal(column->n_values, 30);
    assert_int_equal(column->n_test_groups, 15);
    assert_int_equal(column->n_shared_groups, 15);
    assert_int_equal(column->n_shared_rows, 15);
    assert_true(column->expected > 0.8 && column->expected <= 1.0);
    assert_int_equal(column->n_largest, LEAK_MAX_GROUPS);
    assert_int_equal(column->largest[0].n_train, 3);
    assert_string_equal(column->largest[0].value, "t0");
}

/* ---- Files ---- */

static struct made_folder folder_of(struct imported_run *run, struct buf *said)
{
    buf_init(said, 1 << 16);
    return (struct made_folder){.path = tempdir_path(run->root, "made"), .said = said};
}

static void holds(struct imported_run *run, const char *name, const char *expected)
{
    char path[1024], text[16384];

    snprintf(path, sizeof path, "%s/made/%s", run->root, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    if (!strstr(text, expected))
        print_error("%s: %s\n", name, text);
    assert_non_null(strstr(text, expected));
}

static void seen_rows_are_listed_and_left_out(void **state)
{
    struct imported_run *run = *state;
    struct buf said;
    struct made_folder folder = folder_of(run, &said);

    write_train(run);
    write_test(run);
    imported_run_read(run);
    assert_int_equal(make_drop_rows(run->facts, &folder, &run->err), OK);
    holds(run, "drop-rows.csv",
          "split,row,reason\ntest,5,copy of row 7 of train.jsonl\n"
          "test,6,Jaccard 0.9375 with row 8 of train.jsonl\n"
          "test,7,containment 1.0000 in row 9 of train.jsonl\n");
    assert_int_equal(make_drop_rows(run->facts, &folder, &run->err), E_IO);
    assert_int_equal(make_clean_test(run->facts, &folder, &run->err), OK);
    holds(run, "clean-test.jsonl", "{\"prompt\": \"one\", \"completion\": \"yes\"}\n");
    assert_non_null(strstr(said.p, "6 rows of test.jsonl, 4 left out, some of them because"));
    buf_free(&said);
}

static void without_seen_rows_there_is_nothing_to_drop(void **state)
{
    struct imported_run *run = *state;
    struct buf said;
    struct made_folder folder = folder_of(run, &said);

    write_train(run);
    imported_run_read(run);
    assert_int_equal(make_drop_rows(run->facts, &folder, &run->err), E_NOTFOUND);
    write_groups(run, "test.jsonl", 0, 5);
    imported_run_read(run);
    assert_int_equal(make_clean_test(run->facts, &folder, &run->err), E_NOTFOUND);
    buf_free(&said);
}

/* Families of three near rows, one of which joins the other two. */
static void rows_of_one_family_are_one_cluster(void **state)
{
    struct imported_run *run = *state;
    struct leak_clusters clusters;
    struct buf rows, words, said;
    struct made_folder folder = folder_of(run, &said);

    buf_init(&rows, 1 << 20);
    buf_init(&words, 1 << 16);
    for (uint64_t i = 0; i < 12; i++) {
        buf_clear(&words);
        put_words(&words, i % 4, 30);
        words.n -= i < 4 ? 0 : i < 8 ? 40 : 90;
        words.p[words.n] = '\0';
        buf_puts(&words, " ");
        put_words(&words, 50 + i, i < 4 ? 1 : 2);
        put_row(&rows, "", words.p);
        if (i == 7)
            write_file(run, "train.jsonl", &rows);
        if (i == 7)
            buf_init(&rows, 1 << 20);
    }
    buf_puts(&rows, "no row\n");
    write_file(run, "test.jsonl", &rows);
    buf_free(&words);
    imported_run_read(run);
    assert_int_equal(leak_clusters_find(run->facts, &clusters, &run->err), OK);
    assert_int_equal(clusters.n, 13);
    for (uint32_t i = 0; i < 12; i++)
        assert_int_equal(clusters.of[i], i % 4);
    assert_int_equal(clusters.of[12], 12);
    leak_clusters_free(&clusters);
    assert_int_equal(make_group_split(run->facts, &folder, &run->err), OK);
    holds(run, "README.md", "A split by families of rows");
    holds(run, "split.csv", "12,\"\",train\n");
    buf_free(&said);
}

static void a_group_goes_to_one_side(void **state)
{
    struct imported_run *run = *state;
    struct buf said;
    struct made_folder folder = folder_of(run, &said);
    int side[30] = {0}, n_test = 0, row, number;
    char line[256], split[16], path[1024];

    write_groups(run, "train.jsonl", 0, 90);
    write_groups(run, "test.jsonl", 90, 120);
    imported_run_read(run);
    assert_int_equal(make_group_split(run->facts, &folder, &run->err), OK);
    holds(run, "files.csv", "\"train.jsonl\",0,90\n\"test.jsonl\",90,30\n");
    holds(run, "README.md", "mod 100 is below 25");
    snprintf(path, sizeof path, "%s/made/split.csv", run->root);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    for (int i = 0; i < 120; i++) {
        assert_non_null(fgets(line, sizeof line, file));
        assert_int_equal(sscanf(line, "%d,\"t%d\",%15s", &row, &number, split), 3);
        assert_int_equal(row, i);
        int is_test = strcmp(split, "test") == 0 ? 1 : 2;
        assert_true(side[number] == 0 || side[number] == is_test);
        side[number] = is_test;
        n_test += is_test == 1;
    }
    fclose(file);
    assert_true(n_test > 0 && n_test < 120);
    buf_free(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(thirteen_words_in_a_row_are_counted_and_no_leak, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_measure_finds_its_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_of_one_side_alone_are_not_compared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unchanged_run_is_not_compared_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_stopped_is_kept_and_made_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_number_of_threads_gives_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_text_that_is_no_record_of_leaks_is_none, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(pairs_know_the_name_of_the_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sets_go_into_a_file_without_a_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(columns_that_may_be_keys_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(seen_rows_are_listed_and_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_seen_rows_there_is_nothing_to_drop, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(rows_of_one_family_are_one_cluster, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_group_goes_to_one_side, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
