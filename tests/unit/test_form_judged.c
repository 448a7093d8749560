/* What is counted of facts made elsewhere is what is counted of the rows: repeated inputs, classes and
 * lengths (stage 5), test rows that training has seen and the keys on both sides (stage 6). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/random.h"
#include "core/exports/clean_split.h"
#include "core/facts/data_facts.h"
#include "core/facts/form_write.h"
#include "core/facts/leaks.h"
#include "tests/harness/imported_run.h"

/* The same data as rows in one run and as facts in another. */
struct both {
    struct imported_run *rows, *form;
};

static int set_up(void **state)
{
    struct both *both = calloc(1, sizeof *both);

    assert_non_null(both);
    both->rows = imported_run_new();
    both->form = imported_run_new();
    *state = both;
    return 0;
}

static int tear_down(void **state)
{
    struct both *both = *state;

    imported_run_free(both->rows);
    imported_run_free(both->form);
    free(both);
    return 0;
}

static const char *facts_path(const struct both *both, const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/facts/%s", both->form->folder, name);
    return path;
}

/* Facts of the files that the run of rows has. */
static void make_facts(const struct both *both, bool has_test)
{
    char train[512], test[512], folder[512];
    const char *const trains[] = {train}, *const tests[] = {test};
    const struct form_data data[] = {{"train", trains, 1}, {"test", tests, 1}};
    struct form_written written;
    struct error err;

    snprintf(train, sizeof train, "%s/train.jsonl", both->rows->folder);
    snprintf(test, sizeof test, "%s/test.jsonl", both->rows->folder);
    snprintf(folder, sizeof folder, "%s/facts", both->form->folder);
    const struct form_options options = {.data = data,
                                         .n_data = has_test ? 2 : 1,
                                         .folder = folder,
                                         .version = "1",
                                         .made_by = "a test",
                                         .n_threads = 1};
    if (form_write(&options, &written, &err) != OK)
        fail_msg("%s", err.message);
}

static void read_both(struct both *both, bool has_test)
{
    make_facts(both, has_test);
    imported_run_read(both->rows);
    imported_run_read(both->form);
}

static void write_file(const struct both *both, const char *name, struct buf *text)
{
    assert_false(text->failed);
    tempdir_write(both->rows->folder, name, text->p, text->n);
    buf_free(text);
}

static const struct data_facts *data_of(const struct imported_run *run)
{
    const struct data_facts *data = NULL;
    struct error err;

    if (data_facts_now(run->facts, &data, &err) != OK)
        fail_msg("%s", err.message);
    return data;
}

static const struct leaks *leaks_of(const struct imported_run *run)
{
    const struct leaks *leaks = NULL;
    struct error err;

    if (leaks_now(run->facts, &leaks, &err) != OK)
        fail_msg("%s", err.message);
    return leaks;
}

/* ---- Rows ---- */

static void put_words(struct buf *out, struct random *random, int n, int n_different)
{
    for (int i = 0; i < n; i++)
        buf_printf(out, "%sw%llx", i ? " " : "",
                   (unsigned long long)random_below(random, (uint64_t)n_different));
}

static void put_pair(struct buf *out, int user, const char *prompt, const char *completion)
{
    buf_printf(out, "{\"user_id\": \"u%d\", \"prompt\": \"%s\", \"completion\": \"%s\"}\n", user, prompt,
               completion);
}

/* ---- Stage 5 ---- */

static void same_data(const struct data_facts *a, const struct data_facts *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->n_file_rows, b->n_file_rows);
    assert_int_equal(a->is_partial, b->is_partial);
    assert_int_equal(a->n_unreadable, b->n_unreadable);
    assert_int_equal(a->n_degenerate, b->n_degenerate);
    assert_int_equal(a->first_degenerate, b->first_degenerate);
    assert_int_equal(a->n_groups, b->n_groups);
    assert_int_equal(a->n_group_rows, b->n_group_rows);
    assert_int_equal(a->n_best_rows, b->n_best_rows);
    assert_int_equal(a->n_contradictory, b->n_contradictory);
    assert_int_equal(a->n_contradictory_rows, b->n_contradictory_rows);
    assert_int_equal(a->n_free, b->n_free);
    assert_int_equal(a->n_duplicates, b->n_duplicates);
    assert_int_equal(a->n_not_compared, b->n_not_compared);
    assert_int_equal(a->n_shown, b->n_shown);
    assert_int_equal(a->has_classes, b->has_classes);
    assert_int_equal(a->n_classes, b->n_classes);
    assert_int_equal(a->n_shared_words, b->n_shared_words);
    assert_string_equal(a->form, b->form);
    assert_null(a->limits);
    assert_non_null(b->limits);
}

static void same_groups(const struct data_facts *a, const struct data_facts *b)
{
    for (size_t i = 0; i < a->n_shown; i++) {
        const struct data_group *x = &a->groups[i], *y = &b->groups[i];

        assert_int_equal(x->key, y->key);
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->n_rows, y->n_rows);
        assert_int_equal(x->n_targets, y->n_targets);
        for (size_t k = 0; k < x->n_targets; k++) {
            assert_int_equal(x->targets[k].count, y->targets[k].count);
            assert_int_equal(x->targets[k].rows[0].row, y->targets[k].rows[0].row);
        }
        if (x->n_targets < 2)
            continue;           /* its texts are not among the candidates */
        assert_string_equal(x->input, y->input);
        for (size_t k = 0; k < x->n_targets; k++)
            assert_string_equal(x->targets[k].text, y->targets[k].text);
    }
}

static void same_lengths(const struct data_lengths *a, const struct data_lengths *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->median, b->median);
    assert_int_equal(a->p95, b->p95);
    assert_int_equal(a->longest, b->longest);
    assert_int_equal(a->longest_row, b->longest_row);
    assert_memory_equal(a->bins, b->bins, sizeof a->bins);
}

/* Repeated inputs that agree, that contradict, in long answers; rows without an answer. */
static void write_questions(const struct both *both)
{
    struct random random;
    struct buf out;

    random_seed(&random, 5);
    buf_init(&out, 1 << 20);
    for (int i = 0; i < 300; i++) {
        char prompt[64], answer[64];

        snprintf(prompt, sizeof prompt, "What colour is comb %d",
                 (int)random_below(&random, 120));
        snprintf(answer, sizeof answer, "it is colour %d", (int)random_below(&random, 3));
        put_pair(&out, i, prompt, i % 50 == 7 ? "" : answer);
    }
    for (int i = 0; i < 12; i++) {
        struct buf answer;

        buf_init(&answer, 1 << 16);
        put_words(&answer, &random, 40, 100000);
        put_pair(&out, i, i % 2 ? "Tell me of the sea" : "Tell me of the land", answer.p);
        buf_free(&answer);
    }
    write_file(both, "train.jsonl", &out);
}

static void repeated_inputs_are_grouped_as_those_of_rows(void **state)
{
    struct both *both = *state;

    write_questions(both);
    read_both(both, false);
    const struct data_facts *rows = data_of(both->rows), *form = data_of(both->form);
    assert_true(rows->n_contradictory > 20);
    assert_true(rows->n_degenerate > 0);
    same_data(rows, form);
    same_groups(rows, form);
    same_lengths(&rows->input, &form->input);
    same_lengths(&rows->target, &form->target);
    assert_string_equal(form->files[0].split, "train");
}

static void openings_and_lengths_give_classes_away_as_in_rows(void **state)
{
    struct both *both = *state;
    struct random random;
    struct buf out;

    random_seed(&random, 6);
    buf_init(&out, 1 << 20);
    for (int i = 0; i < 60; i++) {
        bool is_spam = i % 2;

        buf_printf(&out, "{\"text\": \"%s ", is_spam ? "heads up" : "quick note");
        put_words(&out, &random, is_spam ? 5 : 9, 1000);
        buf_printf(&out, "\", \"label\": \"%s\"}\n", is_spam ? "spam" : "ham");
    }
    write_file(both, "train.jsonl", &out);
    read_both(both, false);
    const struct data_facts *rows = data_of(both->rows), *form = data_of(both->form);
    same_data(rows, form);
    assert_true(form->has_labels);
    assert_int_equal(form->n_kept_classes, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(rows->classes[i].name, form->classes[i].name);
        assert_int_equal(rows->classes[i].n_rows, form->classes[i].n_rows);
        assert_int_equal(rows->classes[i].openings[1].n_in, 30);
        assert_int_equal(form->classes[i].openings[1].n_in, 30);
        assert_int_equal(form->classes[i].openings[1].n_out, 0);
    }
    assert_int_equal(form->length_rule.n_right, 60);
    assert_int_equal(rows->length_rule.threshold, form->length_rule.threshold);
    assert_string_equal(rows->length_rule.below, form->length_rule.below);
}

static void pairs_of_facts_are_not_grouped(void **state)
{
    struct both *both = *state;

    tempdir_write_text(both->rows->folder, "train.jsonl",
                       "{\"prompt\": \"p\", \"chosen\": \"a\", \"rejected\": \"b\"}\n"
                       "{\"prompt\": \"p\", \"chosen\": \"b\", \"rejected\": \"a\"}\n");
    read_both(both, false);
    assert_int_equal(data_of(both->rows)->n_contradictory, 1);
    const struct data_facts *form = data_of(both->form);
    assert_non_null(form->not_grouped);
    assert_int_equal(form->n_preference, 2);
    assert_int_equal(form->n_groups, 0);
    assert_null(form->pair_rule.of);
}

static void questions_about_passages_are_not_grouped(void **state)
{
    struct both *both = *state;

    tempdir_write_text(both->rows->folder, "train.jsonl",
                       "{\"prompt\": \"who\", \"completion\": \"he\", \"context\": \"one\"}\n"
                       "{\"prompt\": \"who\", \"completion\": \"she\", \"context\": \"two\"}\n");
    read_both(both, false);
    assert_int_equal(data_of(both->rows)->n_contradictory, 0);
    assert_non_null(strstr(data_of(both->form)->not_grouped, "context"));
    assert_int_equal(data_of(both->form)->n_groups, 0);
}

/* ---- Stage 6 ---- */

/* Training rows of users; test rows that are copies, changed in a word, or new, of users of both. */
static void write_splits(const struct both *both)
{
    struct random random;
    struct buf train, test;

    random_seed(&random, 7);
    buf_init(&train, 1 << 20);
    buf_init(&test, 1 << 20);
    for (int i = 0; i < 200; i++) {
        struct buf words;

        buf_init(&words, 1 << 16);
        put_words(&words, &random, 45, 1 << 30);
        put_pair(&train, i % 40, words.p, "yes");
        if (i % 10 == 0)
            put_pair(&test, i % 40, words.p, "yes");
        if (i % 10 == 1) {
            words.p[0] = 'x';
            put_pair(&test, 100 + i, words.p, "yes");
        }
        buf_free(&words);
    }
    for (int i = 0; i < 100; i++) {
        struct buf words;

        buf_init(&words, 1 << 16);
        put_words(&words, &random, 45, 1 << 30);
        put_pair(&test, i % 50, words.p, "no");
        buf_free(&words);
    }
    put_pair(&train, 1, "ok", "no");
    put_pair(&test, 1, "ok", "no");
    write_file(both, "train.jsonl", &train);
    write_file(both, "test.jsonl", &test);
}

static void same_sets(const struct leak_set *a, const struct leak_set *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->n_unreadable, b->n_unreadable);
    assert_int_equal(a->n_short, b->n_short);
    assert_int_equal(a->n_short_exact, b->n_short_exact);
    assert_int_equal(a->n_compared, b->n_compared);
    assert_int_equal(a->n_exact, b->n_exact);
    assert_int_equal(a->n_near, b->n_near);
    assert_int_equal(a->n_contained, b->n_contained);
    assert_int_equal(a->n_leaked, b->n_leaked);
    assert_int_equal(a->n_clustered, b->n_clustered);
    assert_memory_equal(a->leaked, b->leaked, (size_t)a->n_leaked * sizeof *a->leaked);
    assert_int_equal(a->n_pairs, b->n_pairs);
    for (size_t i = 0; i < a->n_pairs; i++) {
        assert_int_equal(a->pairs[i].row, b->pairs[i].row);
        assert_int_equal(a->pairs[i].train_row, b->pairs[i].train_row);
        assert_int_equal(a->pairs[i].flags, b->pairs[i].flags);
        assert_int_equal(a->pairs[i].n_shared, b->pairs[i].n_shared);
    }
    assert_int_equal(a->n_columns, b->n_columns);
    for (size_t i = 0; i < a->n_columns; i++) {
        assert_string_equal(a->columns[i].name, b->columns[i].name);
        assert_int_equal(a->columns[i].n_values, b->columns[i].n_values);
        assert_int_equal(a->columns[i].n_test_groups, b->columns[i].n_test_groups);
        assert_int_equal(a->columns[i].n_shared_groups, b->columns[i].n_shared_groups);
        assert_int_equal(a->columns[i].n_shared_rows, b->columns[i].n_shared_rows);
    }
}

static void test_rows_of_facts_are_compared_as_rows_are(void **state)
{
    struct both *both = *state;

    write_splits(both);
    read_both(both, true);
    const struct leaks *rows = leaks_of(both->rows), *form = leaks_of(both->form);
    assert_int_equal(rows->n_train, form->n_train);
    assert_string_equal(rows->prefix, form->prefix);
    assert_string_equal(rows->suffix, form->suffix);
    assert_null(form->trouble);
    assert_non_null(form->limits);
    assert_true(form->is_banded);
    assert_int_equal(form->n_crowded, 0);
    assert_int_equal(rows->sets[0].n_exact, 20);
    assert_int_equal(rows->sets[0].n_near, 40);
    assert_int_equal(rows->sets[0].n_columns, 1);
    same_sets(&rows->sets[0], &form->sets[0]);
}

static void texts_of_pairs_are_read_from_the_candidates(void **state)
{
    struct both *both = *state;
    struct form_candidate test, train;

    write_splits(both);
    read_both(both, true);
    const struct leak_set *set = &leaks_of(both->form)->sets[0];
    for (size_t i = 0; i < set->n_pairs; i++) {
        const struct leak_pair *pair = &set->pairs[i];

        assert_true(leak_pair_texts(both->form->facts, pair->test, &pair->place, 4096,
                                    both->form->arena, &test));
        assert_true(leak_pair_texts(both->form->facts, pair->train, &pair->train_place, 4096,
                                    both->form->arena, &train));
        assert_int_equal(test.row, pair->row);
        assert_int_equal(train.row, pair->train_row);
        assert_true(str_eq(str_skip(test.input, 1), str_skip(train.input, 1)));
    }
}

static void a_changed_candidate_is_told_and_not_compared(void **state)
{
    struct both *both = *state;
    char path[512];

    write_splits(both);
    make_facts(both, true);
    snprintf(path, sizeof path, "%s", facts_path(both, "candidates-00000.jsonl"));
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    char line[65536];
    assert_non_null(fgets(line, sizeof line, file));
    char *at = strstr(line, "\"input\":\"");
    assert_non_null(at);
    assert_int_equal(fseek(file, at - line + 10, SEEK_SET), 0);
    fputs("zzz", file);
    fclose(file);
    imported_run_read(both->form);
    const struct leaks *leaks = leaks_of(both->form);
    assert_non_null(leaks->trouble);
    assert_non_null(strstr(leaks->trouble, "are not those that its facts were made of"));
    assert_int_equal(leaks->sets[0].n_exact, 20); /* the hashes of the rows stand */
}

static void rows_that_are_missing_make_it_partial(void **state)
{
    struct both *both = *state;
    char path[512];

    write_questions(both);
    make_facts(both, false);
    snprintf(path, sizeof path, "%s", facts_path(both, "rows-00000.jsonl"));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), st.st_size / 2), 0);
    fclose(file);
    imported_run_read(both->form);
    const struct data_facts *data = data_of(both->form);
    assert_true(data->is_partial);
    assert_true(data->n_rows > 100 && data->n_rows < 200);
    assert_int_equal(data->n_file_rows, 312);
    assert_non_null(strstr(data->missing, "rows-00000.jsonl"));
}

/* One side as rows, the other as facts: nothing is compared. */
static void rows_and_facts_are_not_mixed(void **state)
{
    struct both *both = *state;
    const struct leaks *leaks;
    struct error err;

    write_splits(both);
    make_facts(both, false);
    tempdir_write_text(both->form->folder, "test.jsonl",
                       "{\"prompt\": \"one two three four five\", \"completion\": \"no\"}\n");
    imported_run_read(both->form);
    assert_int_equal(leaks_now(both->form->facts, &leaks, &err), E_NOTFOUND);
}

/* Facts of the rows that are here, in shards or not, say less than they and count no row twice. */
static void rows_that_are_here_are_judged_before_their_facts(void **state)
{
    struct both *both = *state;
    char path[512];

    write_questions(both);
    make_facts(both, false);
    snprintf(path, sizeof path, "%s/train.jsonl", both->rows->folder);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    struct buf halves[2];
    char line[65536];
    buf_init(&halves[0], 1 << 20);
    buf_init(&halves[1], 1 << 20);
    for (int i = 0; fgets(line, sizeof line, in); i++)
        buf_puts(&halves[i % 2], line);
    fclose(in);
    tempdir_write(both->form->folder, "train-00000-of-00002.jsonl", halves[0].p, halves[0].n);
    tempdir_write(both->form->folder, "train-00001-of-00002.jsonl", halves[1].p, halves[1].n);
    buf_free(&halves[0]);
    buf_free(&halves[1]);
    imported_run_read(both->form);
    const struct data_facts *data = data_of(both->form);
    assert_null(data->limits);
    assert_int_equal(data->n_rows, 312);
    assert_int_equal(facts_train_rows(both->form->facts, NULL), 312);
}

/* Without the texts nothing is compared, and that is no clean bill. */
static void facts_without_candidates_are_not_whole(void **state)
{
    struct both *both = *state;

    write_splits(both);
    make_facts(both, true);
    assert_int_equal(remove(facts_path(both, "candidates-00000.jsonl")), 0);
    imported_run_read(both->form);
    const struct leaks *leaks = leaks_of(both->form);
    assert_non_null(strstr(leaks->trouble, "candidates"));
    assert_int_equal(leaks->sets[0].n_exact, 20);
    assert_int_equal(leaks->sets[0].n_near, 20);
}

static void candidates_that_are_cut_are_told(void **state)
{
    struct both *both = *state;
    char line[65536];

    write_splits(both);
    make_facts(both, true);
    FILE *file = fopen(facts_path(both, "candidates-00000.jsonl"), "r+");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_non_null(fgets(line, sizeof line, file));
    assert_int_equal(ftruncate(fileno(file), ftell(file)), 0);
    fclose(file);
    imported_run_read(both->form);
    assert_non_null(strstr(leaks_of(both->form)->trouble, "not among the candidates"));
}

static void change_a_byte(const struct both *both, const char *name, struct random *random)
{
    FILE *file = fopen(facts_path(both, name), "r+");

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long n = ftell(file);
    assert_true(n > 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fseek(file, (long)random_below(random, (uint64_t)n), SEEK_SET), 0);
        fputc((int)random_below(random, 256), file);
    }
    fclose(file);
}

/* Whatever stands in the files: what is left is judged, and nothing breaks. */
static void hostile_facts_do_no_harm(void **state)
{
    static const char *const NAMES[] = {"rows-00000.jsonl", "candidates-00000.jsonl", "facts.json"};
    struct both *both = *state;
    struct random random;

    random_seed(&random, 9);
    write_splits(both);
    make_facts(both, true);
    for (int i = 0; i < 40; i++) {
        const struct data_facts *data;
        const struct leaks *leaks;
        struct error err;

        change_a_byte(both, NAMES[i < 15 ? 0 : i < 30 ? 1 : 2], &random);
        imported_run_read(both->form);
        (void)!data_facts_now(both->form->facts, &data, &err);
        (void)!leaks_now(both->form->facts, &leaks, &err);
    }
}

static void what_needs_the_rows_says_so(void **state)
{
    struct both *both = *state;
    struct buf said;
    struct error err;
    char folder[512];

    write_splits(both);
    read_both(both, true);
    snprintf(folder, sizeof folder, "%s/made", both->form->root);
    buf_init(&said, 1 << 16);
    const struct made_folder made = {.path = folder, .said = &said};
    assert_int_equal(make_clean_test(both->form->facts, &made, &err), E_NOTFOUND);
    assert_non_null(strstr(err.message, "rows themselves"));
    assert_int_equal(make_group_split(both->form->facts, &made, &err), E_NOTFOUND);
    assert_non_null(strstr(err.message, "rows themselves"));
    assert_int_equal(make_drop_rows(both->form->facts, &made, &err), OK);
    buf_free(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(repeated_inputs_are_grouped_as_those_of_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(openings_and_lengths_give_classes_away_as_in_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pairs_of_facts_are_not_grouped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(questions_about_passages_are_not_grouped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rows_of_facts_are_compared_as_rows_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_of_pairs_are_read_from_the_candidates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_candidate_is_told_and_not_compared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_that_are_missing_make_it_partial, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_and_facts_are_not_mixed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_that_are_here_are_judged_before_their_facts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(facts_without_candidates_are_not_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(candidates_that_are_cut_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_facts_do_no_harm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_needs_the_rows_says_so, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
