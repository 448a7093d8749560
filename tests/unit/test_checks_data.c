/* The checks of stage 5 on facts that no small folder has: rows that were not all read, many groups, one
 * contradiction among many, curves alone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>

#include "core/checks/registry.h"
#include "core/checks/runner.h"
#include "core/facts/data_facts.h"
#include "tests/harness/judged.h"
#include "tests/harness/tempdir.h"

static struct arena *arena;
static char *folder;

static int setup(void **state)
{
    (void)state;
    arena = arena_open((size_t)64 << 20);
    folder = tempdir_make();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_close(arena);
    tempdir_remove(folder);
    return 0;
}

static struct check_result judge(const struct check *check, const struct data_facts *data)
{
    static const struct dataset ROWS = {.id = 1, .split = "train", .form = "prompt-completion", .n_rows = 9};
    struct facts_memory memory = {.data = data};
    struct run_facts *facts;
    struct check_result out;
    struct error err;

    memory.lists.run.kind = KIND_SFT;
    memory.lists.datasets = &ROWS;
    memory.lists.n_datasets = 1;
    assert_int_equal(run_facts_from_memory(&facts, &memory, &err), OK);
    struct check_ctx ctx = {.facts = facts, .arena = arena};
    assert_int_equal(check_run_one(check, &ctx, &out, &err), OK);
    run_facts_close(facts);
    return out;
}

static struct data_facts clean(int64_t n_groups)
{
    return (struct data_facts){.n_rows = 100, .n_file_rows = 100, .n_groups = n_groups,
                               .n_group_rows = 2 * n_groups, .n_best_rows = 2 * n_groups};
}

static void part_of_the_rows_never_passes_and_gives_the_bound(void **state)
{
    struct data_facts data = clean(20);

    (void)state;
    assert_int_equal(judge(&check_contradictory_targets, &data).verdict, VERDICT_PASS);
    data.is_partial = true;
    data.n_file_rows = 1000;
    data.missing = "stopped by the user";
    struct check_result r = judge(&check_contradictory_targets, &data);
    assert_int_equal(r.verdict, VERDICT_UNKNOWN);
    assert_non_null(strstr(r.missing[0], "100 of 1000"));
    assert_non_null(strstr(r.information[0], "at most 13.9 %"));
    data.n_contradictory = 3;
    data.n_contradictory_rows = 6;
    assert_int_equal(judge(&check_contradictory_targets, &data).verdict, VERDICT_FAIL);
}

static void five_per_cent_of_the_groups_and_two_of_them_fail(void **state)
{
    struct data_facts data = clean(40);

    (void)state;
    data.n_contradictory = 2;
    assert_int_equal(judge(&check_contradictory_targets, &data).verdict, VERDICT_FAIL);
    data = clean(41);
    data.n_contradictory = 2;
    assert_int_equal(judge(&check_contradictory_targets, &data).verdict, VERDICT_WARN);
    data = clean(2);
    data.n_contradictory = 1;
    assert_int_equal(judge(&check_contradictory_targets, &data).verdict, VERDICT_WARN);
}

static void free_texts_are_possible_only(void **state)
{
    struct data_facts data = clean(10);

    (void)state;
    data.n_free = 2;
    data.n_free_rows = 5;
    struct check_result r = judge(&check_contradictory_targets, &data);
    assert_int_equal(r.verdict, VERDICT_WARN);
    assert_int_equal(r.confidence, CONFIDENCE_POSSIBLE);
    data.n_free_rows = 4;
    assert_int_equal(judge(&check_contradictory_targets, &data).verdict, VERDICT_PASS);
}

static void a_stopped_pass_says_how_far_it_came(void **state)
{
    static atomic_bool cancel;
    const struct audit_hooks hooks = {.cancel = &cancel};
    struct data_file file = {.path = arena_strdup(arena, tempdir_path(folder, "train.jsonl")),
                             .n_rows = 1000};
    struct data_facts data;
    struct buf rows;
    struct error err;

    (void)state;
    buf_init(&rows, 1 << 20);
    for (int i = 0; i < 1000; i++)
        buf_printf(&rows, "{\"prompt\": \"p %d\", \"completion\": \"c\"}\n", i % 100);
    tempdir_write_text(folder, "train.jsonl", rows.p);
    buf_free(&rows);
    atomic_store(&cancel, true);
    assert_int_equal(data_facts_make(&file, 1, &hooks, arena, &data, &err), OK);
    assert_true(data.is_partial);
    assert_int_equal(data.n_rows, 256);
    assert_int_equal(data.n_file_rows, 1000);
    assert_int_equal(data.n_groups, 100);
    assert_int_equal(judge(&check_contradictory_targets, &data).verdict, VERDICT_UNKNOWN);
}

static void nothing_about_rows_is_unknown(void **state)
{
    (void)state;
    assert_int_equal(judge(&check_contradictory_targets, NULL).verdict, VERDICT_UNKNOWN);
    assert_int_equal(judge(&check_trivial_task, NULL).verdict, VERDICT_UNKNOWN);
}

static struct data_facts two_classes(int64_t n_in, int64_t n_out)
{
    static struct data_class classes[2];
    struct data_facts data = {.n_rows = 200, .n_file_rows = 200, .has_classes = true, .has_labels = true,
                              .n_classes = 2, .n_class_rows = 200, .classes = classes,
                              .n_kept_classes = 2};

    classes[0] = (struct data_class){.name = "a", .n_rows = 100};
    classes[1] = (struct data_class){.name = "b", .n_rows = 100};
    classes[0].openings[1] = (struct data_opening){.text = "heads up", .n_in = n_in, .n_out = n_out};
    return data;
}

static void openings_are_held_to_95_80_and_5_per_cent(void **state)
{
    static const struct {
        int64_t in, out;
        enum verdict verdict;
    } CASES[] = {{95, 5, VERDICT_FAIL},  {94, 5, VERDICT_WARN}, {80, 5, VERDICT_WARN},
                 {79, 0, VERDICT_PASS},  {100, 6, VERDICT_PASS}, {100, 100, VERDICT_PASS}};

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct data_facts data = two_classes(CASES[i].in, CASES[i].out);

        assert_int_equal(judge(&check_trivial_task, &data).verdict, CASES[i].verdict);
    }
}

static void lengths_are_held_to_95_per_cent_above_the_majority(void **state)
{
    struct data_facts data = two_classes(0, 0);

    (void)state;
    data.length_rule = (struct data_length_rule){.of = "words", .threshold = 9, .n_right = 190,
                                                 .n_rows = 200, .n_majority = 100, .below = "a",
                                                 .above = "b"};
    assert_int_equal(judge(&check_trivial_task, &data).verdict, VERDICT_FAIL);
    data.length_rule.n_right = 189;
    assert_int_equal(judge(&check_trivial_task, &data).verdict, VERDICT_PASS);
    data.length_rule.n_right = 200;
    data.length_rule.n_majority = 161;
    assert_int_equal(judge(&check_trivial_task, &data).verdict, VERDICT_PASS);
}

static void format_words_in_the_answers_are_a_note_and_no_finding(void **state)
{
    struct data_facts data = {.n_rows = 100, .n_file_rows = 100};

    (void)state;
    data.spans = (struct data_spans){.n_rows = 100, .n_words = 1000, .n_constant = 300,
                                     .longest = "the unit is"};
    struct check_result told = judge(&check_trivial_task, &data);
    assert_int_equal(told.verdict, VERDICT_NOT_APPLICABLE);
    assert_true(judged_informs(&told, "flattered by format tokens: 30 %"));
    assert_true(judged_informs(&told, "the unit is"));
    data.spans.n_constant = 299;
    told = judge(&check_trivial_task, &data);
    assert_false(judged_informs(&told, "flattered"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(format_words_in_the_answers_are_a_note_and_no_finding),
        cmocka_unit_test(part_of_the_rows_never_passes_and_gives_the_bound),
        cmocka_unit_test(five_per_cent_of_the_groups_and_two_of_them_fail),
        cmocka_unit_test(free_texts_are_possible_only),
        cmocka_unit_test(a_stopped_pass_says_how_far_it_came),
        cmocka_unit_test(nothing_about_rows_is_unknown),
        cmocka_unit_test(openings_are_held_to_95_80_and_5_per_cent),
        cmocka_unit_test(lengths_are_held_to_95_per_cent_above_the_majority),
    };

    return cmocka_run_group_tests_name("checks_data", tests, setup, teardown);
}
