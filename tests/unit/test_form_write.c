/* Facts of whole data sets: what DuckDB and Spark wrote is written again, and how the folder comes
 * about. Single rows: test_form_row.c. */
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
#include "core/facts/form_common.h"
#include "core/facts/form_write.h"
#include "tests/harness/tempdir.h"

#define ENGINES "tests/engines/facts/"

struct fixture {
    char *folder;
    struct form_options how;
    struct form_written written;
    struct error err;
    char out[512];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = tempdir_make();
    snprintf(f->out, sizeof f->out, "%s/facts", f->folder);
    f->how = (struct form_options){.folder = f->out, .version = "1", .made_by = "test", .n_threads = 1};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    tempdir_remove(f->folder);
    free(f);
    return 0;
}

static char *slurp(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct buf text;
    char piece[4096];

    buf_init(&text, (size_t)64 << 20);
    assert_non_null(file);
    for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;)
        buf_add(&text, piece, n);
    fclose(file);
    buf_putc(&text, '\n');
    return buf_steal(&text);
}

static char *made_file(const struct fixture *f, const char *name)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/%s", f->out, name);
    return slurp(path);
}

static void write_data(struct fixture *f, const struct form_data *data, size_t n)
{
    f->how.data = data;
    f->how.n_data = n;
    assert_int_equal(form_write(&f->how, &f->written, &f->err), OK);
}

/* One training file and one test file, from texts. */
static int write_texts(struct fixture *f, const char *train, const char *test)
{
    const char *paths[2];
    struct form_data data[2] = {{"train", &paths[0], 1}, {"test", &paths[1], 1}};

    tempdir_write_text(f->folder, "train.jsonl", train);
    tempdir_write_text(f->folder, "test.jsonl", test);
    paths[0] = tempdir_path(f->folder, "train.jsonl");
    paths[1] = tempdir_path(f->folder, "test.jsonl");
    f->how.data = data;
    f->how.n_data = 2;
    return form_write(&f->how, &f->written, &f->err);
}

/* ---- What the engines wrote ---- */

static void assert_same_file(const struct fixture *f, const char *kept, const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/facts/%s", kept, name);
    char *ours = made_file(f, name), *theirs = slurp(path);
    if (strcmp(name, "facts.json") == 0) { /* who wrote it, and its version, come before */
        assert_non_null(strstr(ours, "\"splits\""));
        assert_non_null(strstr(theirs, "\"splits\""));
        assert_string_equal(strstr(ours, "\"splits\""), strstr(theirs, "\"splits\""));
    } else {
        assert_string_equal(ours, theirs);
    }
    free(ours);
    free(theirs);
}

static void assert_as_kept(struct fixture *f, const char *kept, const char *first, const char *second)
{
    char a[256], b[256], test[256];
    const char *const train[] = {a, b}, *const tests[] = {test};
    const struct form_data data[] = {{"train", train, 2}, {"test", tests, 1}};

    snprintf(a, sizeof a, "%s/%s", kept, first);
    snprintf(b, sizeof b, "%s/%s", kept, second);
    snprintf(test, sizeof test, "%s/test.jsonl", kept);
    write_data(f, data, 2);
    assert_same_file(f, kept, "rows-00000.jsonl");
    assert_same_file(f, kept, "candidates-00000.jsonl");
    assert_same_file(f, kept, "facts.json");
}

static void a_small_set_is_written_as_engines_did(void **state)
{
    struct fixture *f = *state;

    assert_as_kept(f, ENGINES "small", "train-00000-of-00002.jsonl", "train-00001-of-00002.jsonl");
    assert_true(f->written.n_candidates > 0 && f->written.n_prefix > 0);
    assert_int_equal(f->written.n_unreadable, 1);
}

static void odd_rows_are_written_as_engines_did(void **state)
{
    assert_as_kept(*state, ENGINES "odd", "train-0.jsonl", "train-1.jsonl");
}

static void threads_parts_and_memory_do_not_show(void **state)
{
    struct fixture *f = *state;

    f->how.n_threads = 4;
    f->how.part_bytes = 1000;
    f->how.pairs_memory = 500;
    assert_as_kept(f, ENGINES "odd", "train-0.jsonl", "train-1.jsonl");
    f->how.force = true;
    assert_as_kept(f, ENGINES "small", "train-00000-of-00002.jsonl", "train-00001-of-00002.jsonl");
}

/* ---- Common text ---- */

/* Rows that share a way with some of the others. */
static void random_text(struct random *random, char *out, size_t n)
{
    static const char *const WORDS[] = {"a", "b", "c"};
    size_t n_words = random_below(random, 7), at = 0;
    uint64_t skew = random_below(random, 3);

    out[0] = '\0';
    for (size_t i = 0; i < n_words && at + 4 < n; i++)
        at += (size_t)snprintf(out + at, n - at, "%s%s", i ? " " : "",
                               WORDS[skew ? 0 : random_below(random, 3)]);
}

static void find_in_parts(struct random *random, size_t n_rows, size_t part_bytes)
{
    struct form_common *parts;
    struct common *whole;
    struct common_text a, b;
    struct error err;
    char (*texts)[64] = calloc(n_rows, sizeof *texts);
    bool needs_more = true;

    assert_int_equal(form_common_open(&parts, part_bytes, &err), OK);
    assert_int_equal(common_open(&whole, 0, &err), OK);
    for (size_t i = 0; i < n_rows; i++)
        random_text(random, texts[i], sizeof texts[i]);
    for (int pass = 0; needs_more; pass++) {
        assert_true(pass < 3);
        for (size_t i = 0; i < n_rows; i++)
            assert_int_equal(form_common_add(parts, str_of(texts[i]), &err), OK);
        assert_int_equal(form_common_end_pass(parts, &needs_more, &err), OK);
    }
    for (size_t i = 0; i < n_rows; i++)
        assert_int_equal(common_add(whole, str_of(texts[i]), &err), OK);
    assert_int_equal(form_common_find(parts, &a, &err), OK);
    assert_int_equal(common_find(whole, &b, &err), OK);
    assert_string_equal(a.prefix, b.prefix);
    assert_string_equal(a.suffix, b.suffix);
    assert_int_equal(a.n_prefix, b.n_prefix);
    assert_int_equal(a.n_suffix, b.n_suffix);
    common_text_free(&a);
    common_text_free(&b);
    common_close(whole);
    form_common_close(parts);
    free(texts);
}

static void text_common_to_parts_is_that_of_all_rows(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 1);
    for (int i = 0; i < 3000; i++)
        find_in_parts(&random, random_below(&random, 24), 1 + random_below(&random, 60));
}

static void a_half_that_ties_goes_by_bytes_whatever_the_parts(void **state)
{
    static const char *const ROWS[] = {"b x", "a x", "b y", "c y"};
    struct form_common *common;
    struct common_text out;
    struct error err;
    bool needs_more = true;

    (void)state;
    assert_int_equal(form_common_open(&common, 6, &err), OK); /* two rows a part */
    while (needs_more) {
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(form_common_add(common, str_of(ROWS[i]), &err), OK);
        assert_int_equal(form_common_end_pass(common, &needs_more, &err), OK);
    }
    assert_int_equal(form_common_find(common, &out, &err), OK);
    assert_string_equal(out.prefix, "b"); /* in each part another word ties with it */
    assert_string_equal(out.suffix, "x"); /* "x" and "y" have half of the rows each */
    common_text_free(&out);
    form_common_close(common);
}

static void only_training_rows_have_a_say_in_the_common_text(void **state)
{
    struct fixture *f = *state;
    char *head;

    assert_int_equal(write_texts(f, "{\"text\":\"one a\"}\n{\"text\":\"one b\"}\n{\"text\":\"one c\"}\n",
                                 "{\"text\":\"two a\"}\n{\"text\":\"two b\"}\n{\"text\":\"two c\"}\n"),
                     OK);
    head = made_file(f, "facts.json");
    assert_non_null(strstr(head, "\"prefix\": [\"one\"]"));
    free(head);
}

/* ---- Candidates ---- */

static void inputs_with_two_targets_are_candidates_but_not_empty_ones(void **state)
{
    struct fixture *f = *state;
    char *texts;

    assert_int_equal(write_texts(f, "{\"prompt\":\"q 1\",\"completion\":\"a\"}\n"
                                    "{\"prompt\":\"Q  1\",\"completion\":\"b\"}\n"
                                    "{\"prompt\":\"q 2\",\"completion\":\"a\"}\n"
                                    "{\"prompt\":\"q 2\",\"completion\":\"A \"}\n"
                                    "{\"text\":\"first\"}\n{\"text\":\"second\"}\n"
                                    "{\"prompt\":\" \",\"completion\":\"a\"}\nbroken\nbroken\n", ""), OK);
    assert_int_equal(f->written.n_candidates, 2);
    assert_int_equal(f->written.n_unreadable, 2);
    texts = made_file(f, "candidates-00000.jsonl");
    assert_string_equal(texts, "{\"split\":\"train\",\"row\":0,\"input\":\"q 1\",\"target\":\"a\"}\n"
                               "{\"split\":\"train\",\"row\":1,\"input\":\"Q  1\",\"target\":\"b\"}\n\n");
    free(texts);
}

static void rows_of_one_split_alone_are_no_pair(void **state)
{
    struct fixture *f = *state;
    static const char ROW[] = "{\"text\":\"the quick brown fox jumps over it\"}\n";
    char train[256];

    snprintf(train, sizeof train, "%s%s{\"text\":\"1 2 3 4 5 6\"}\n{\"text\":\"2 3 4 5 6 7\"}\n"
                                  "{\"text\":\"6 5 4 3 2 1\"}\n", ROW, ROW);
    assert_int_equal(write_texts(f, train, "{\"text\":\"9 8 7 6 5 4\"}\n"), OK);
    assert_int_equal(f->written.n_candidates, 0);
    f->how.force = true;
    assert_int_equal(write_texts(f, train, ROW), OK);
    assert_int_equal(f->written.n_candidates, 3);
}

static void a_crowded_band_is_counted_and_gives_no_candidates(void **state)
{
    struct fixture *f = *state;
    struct buf rows;
    char *head;

    buf_init(&rows, 4 << 20);
    for (int i = 0; i < 10000; i++)
        buf_puts(&rows, "{\"text\":\"the quick brown fox jumps\"}\n");
    for (int i = 0; i < 10002; i++) /* so that the text is not common to all */
        buf_printf(&rows, "{\"text\":\"%d %d\"}\n", i, i * 7);
    assert_int_equal(write_texts(f, rows.p, "{\"text\":\"the quick brown fox jumps\"}\n"), OK);
    assert_int_equal(f->written.n_crowded, 42);
    head = made_file(f, "facts.json");
    assert_non_null(strstr(head, "\"crowded\": [{\"band\": 0, "));
    assert_non_null(strstr(head, "\"rows\": 10001}"));
    free(head);
    char *texts = made_file(f, "candidates-00000.jsonl");
    assert_null(strstr(texts, "quick"));
    free(texts);
    buf_free(&rows);
}

/* ---- The folder ---- */

static void other_files_in_the_folder_are_left_alone(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->folder, "facts/notes.txt", "mine");
    f->how.force = true;
    assert_int_equal(write_texts(f, "{\"text\":\"a\"}\n", ""), E_IO);
    assert_non_null(strstr(f->err.message, "holds other files"));
    char *notes = made_file(f, "notes.txt");
    assert_string_equal(notes, "mine\n");
    free(notes);
}

static void facts_that_are_there_are_replaced_only_by_force(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(write_texts(f, "{\"text\":\"a\"}\n", ""), OK);
    assert_int_equal(write_texts(f, "{\"text\":\"a\"}\n{\"text\":\"b\"}\n", ""), E_IO);
    assert_non_null(strstr(f->err.message, "--force"));
    f->how.force = true;
    assert_int_equal(write_texts(f, "{\"text\":\"a\"}\n{\"text\":\"b\"}\n", ""), OK);
    char *head = made_file(f, "facts.json");
    assert_non_null(strstr(head, "\"rows\": 2"));
    free(head);
}

static void an_empty_folder_is_taken(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(mkdir(f->out, 0777), 0);
    assert_int_equal(write_texts(f, "", ""), OK);
    char *texts = made_file(f, "candidates-00000.jsonl");
    assert_string_equal(texts, "\n"); /* there, and empty */
    free(texts);
}

static void assert_nothing_made(const struct fixture *f)
{
    char partial[1024];

    snprintf(partial, sizeof partial, "%s.partial", f->out);
    assert_int_not_equal(access(partial, F_OK), 0);
    assert_int_not_equal(access(f->out, F_OK), 0);
}

static void a_file_that_breaks_off_leaves_nothing_behind(void **state)
{
    struct fixture *f = *state;
    static const unsigned char GZ[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0x56};
    const char *paths[1];
    const struct form_data data[] = {{"train", paths, 1}};

    tempdir_write(f->folder, "train.jsonl.gz", GZ, sizeof GZ);
    paths[0] = tempdir_path(f->folder, "train.jsonl.gz");
    f->how.data = data;
    f->how.n_data = 1;
    assert_int_not_equal(form_write(&f->how, &f->written, &f->err), OK);
    assert_non_null(strstr(f->err.path, "train.jsonl.gz"));
    assert_nothing_made(f);
}

static void an_interrupted_writing_leaves_nothing_behind(void **state)
{
    struct fixture *f = *state;
    const atomic_bool is_interrupted = true;

    f->how.hooks.cancel = &is_interrupted;
    assert_int_equal(write_texts(f, "{\"text\":\"a\"}\n", ""), E_CANCELLED);
    assert_nothing_made(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_small_set_is_written_as_engines_did, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_rows_are_written_as_engines_did, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_parts_and_memory_do_not_show, set_up, tear_down),
        cmocka_unit_test(text_common_to_parts_is_that_of_all_rows),
        cmocka_unit_test(a_half_that_ties_goes_by_bytes_whatever_the_parts),
        cmocka_unit_test_setup_teardown(only_training_rows_have_a_say_in_the_common_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(inputs_with_two_targets_are_candidates_but_not_empty_ones,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_of_one_split_alone_are_no_pair, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_crowded_band_is_counted_and_gives_no_candidates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_files_in_the_folder_are_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(facts_that_are_there_are_replaced_only_by_force, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_folder_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_breaks_off_leaves_nothing_behind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_interrupted_writing_leaves_nothing_behind, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
