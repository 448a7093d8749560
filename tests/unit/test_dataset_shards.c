/* Data sets in several files: which belong together, and where a row of the whole lies. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/facts/dataset_shards.h"
#include "importers/dataset/class_names.h"
#include "tests/harness/imported_run.h"
#include "tests/harness/tempdir.h"

static void shards_are_known_by_their_names(void **state)
{
    static const char *const OTHERS[] = {"train.parquet", "train-00000.parquet", "of-5", "1-of-x",
                                         "train-1-of_4.jsonl", "proof-of-concept.jsonl", "-0-of-"};
    struct shard_name name;

    (void)state;
    assert_true(shard_name_read("train-00001-of-00004.parquet", &name));
    assert_int_equal(name.index, 1);
    assert_int_equal(name.total, 4);
    assert_int_equal(name.stem, 5);
    assert_true(shard_name_read("list-of-words_3_of_12.jsonl", &name));
    assert_int_equal(name.index, 3);
    assert_int_equal(name.total, 12);
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        assert_false(shard_name_read(OTHERS[i], &name));
}

static void rows_of_the_whole_lead_to_file_and_row(void **state)
{
    struct imported_run *run = imported_run_new();
    struct shard_set set;

    (void)state;
    tempdir_write_text(run->folder, "metrics.jsonl",
                       "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\": 1.5}\n");
    tempdir_write_text(run->folder, "train-00000-of-00003.jsonl",
                       "{\"text\": \"a\", \"label\": 0}\n{\"text\": \"b\", \"label\": 0}\n");
    tempdir_write_text(run->folder, "train-00002-of-00003.jsonl",
                       "{\"text\": \"c\", \"label\": 1}\n{\"text\": \"d\", \"label\": 1}\n");
    tempdir_write_text(run->folder, "other-00001-of-00003.jsonl", "{\"text\": \"e\", \"label\": 1}\n");
    imported_run_read(run);
    assert_int_equal(run->facts->n_datasets, 3);
    const struct dataset *own = NULL;
    for (size_t i = 0; i < run->facts->n_datasets; i++)
        if (strcmp(run->facts->datasets[i].name, "train-00002-of-00003.jsonl") == 0)
            own = &run->facts->datasets[i];
    assert_non_null(own);
    struct arena *arena = arena_open(ARENA_CHECK_BYTES);
    assert_true(shard_set_of(run->facts, own, arena, &set));
    assert_int_equal(set.n, 2);
    assert_int_equal(set.n_rows, 4);
    assert_false(set.is_whole);
    assert_ptr_equal(shard_of_row(&set, 3)->dataset, own);
    assert_int_equal(shard_of_row(&set, 3)->first_row, 2);
    assert_ptr_not_equal(shard_of_row(&set, 1)->dataset, own);
    assert_null(shard_of_row(&set, 4));
    assert_null(shard_of_row(&set, -1));
    arena_close(arena);
    imported_run_free(run);
}

/* As datasets writes its features into the metadata of a table, between other bytes. */
static void classes_have_the_names_of_the_features(void **state)
{
    static const char META[] =
        "PAR1\x15\x04{\"info\": broken}\x01huggingface\x02"
        "{\"info\": {\"features\": {\"text\": {\"dtype\": \"string\"}, \"label\": "
        "{\"names\": [\"neg }\", \"pos\"], \"_type\": \"ClassLabel\"}}}}\x03\x04PAR1";
    struct arena *arena = arena_open(ARENA_CHECK_BYTES);
    char *folder = tempdir_make();

    (void)state;
    tempdir_write(folder, "train.parquet", META, sizeof META - 1);
    const struct json *features = class_names_features(tempdir_path(folder, "train.parquet"), arena);
    assert_non_null(features);
    assert_true(str_is(class_name_of(features, "label", 0), "neg }"));
    assert_true(str_is(class_name_of(features, "label", 1), "pos"));
    assert_int_equal(class_name_of(features, "label", 2).n, 0);
    assert_int_equal(class_name_of(features, "label", -1).n, 0);
    assert_int_equal(class_name_of(features, "text", 0).n, 0);
    tempdir_write(folder, "cut.parquet", META, sizeof META - 40);
    assert_null(class_names_features(tempdir_path(folder, "cut.parquet"), arena));
    assert_null(class_names_features(tempdir_path(folder, "none.parquet"), arena));
    tempdir_remove(folder);
    arena_close(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_known_by_their_names),
        cmocka_unit_test(rows_of_the_whole_lead_to_file_and_row),
        cmocka_unit_test(classes_have_the_names_of_the_features),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
