/* What the user wrote: kept by run key, whatever happens to the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/store/store.h"
#include "tests/harness/tempdir.h"

struct fixture {
    char *folder, *kept;
    struct store *store;
    struct arena *arena;
    struct error err;
};

static void open_store(struct fixture *f)
{
    struct store_options options = {.in_memory = true, .kept_path = f->kept};

    assert_int_equal(store_open(&f->store, &options, &f->err), OK);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = tempdir_make();
    f->kept = strdup(tempdir_path(f->folder, "triage.db"));
    f->arena = arena_open(ARENA_CHECK_BYTES);
    open_store(f);
    clock_fix(1000);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    clock_fix(-1);
    store_close(f->store);
    arena_close(f->arena);
    tempdir_remove(f->folder);
    free(f->kept);
    free(f);
    return 0;
}

/* A new cache, the same kept file. */
static void reopen(struct fixture *f)
{
    store_close(f->store);
    open_store(f);
}

static void marks_are_set_changed_and_undone(void **state)
{
    struct fixture *f = *state;
    const struct tick *ticks;
    size_t n;

    assert_int_equal(store_tick_set(f->store, "k", "b", "seen", NULL, &f->err), OK);
    assert_int_equal(store_tick_set(f->store, "k", "a", "seen", NULL, &f->err), OK);
    clock_fix(1001);
    assert_int_equal(store_tick_set(f->store, "k", "a", "dismissed", "meant so", &f->err), OK);
    assert_int_equal(store_tick_set(f->store, "other", "a", "seen", NULL, &f->err), OK);
    reopen(f);
    assert_int_equal(store_ticks(f->store, "k", f->arena, &ticks, &n, &f->err), OK);
    assert_int_equal(n, 2);
    assert_string_equal(ticks[0].check_id, "a");
    assert_string_equal(ticks[0].state, "dismissed");
    assert_string_equal(ticks[0].reason, "meant so");
    assert_int_equal(ticks[0].set_at, 1001);
    assert_null(ticks[1].reason);
    assert_int_equal(ticks[1].set_at, 1000);
    assert_int_equal(store_tick_set(f->store, "k", "a", NULL, NULL, &f->err), OK);
    assert_int_equal(store_ticks(f->store, "k", f->arena, &ticks, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_string_equal(ticks[0].check_id, "b");
    assert_int_equal(store_tick_set(f->store, "k", "a", "odd", NULL, &f->err), E_DB);
    assert_non_null(strstr(f->err.path, "triage.db"));
}

static void remarks_are_written_changed_and_deleted(void **state)
{
    struct fixture *f = *state;
    struct remark remark = {.check_id = "a", .place = "step 12", .text = "why \xe2\x80\xa6?\n`x`"};
    struct remark plain = {.text = "about the run"};
    const struct remark *remarks;
    int64_t first = 0, second = 0, same = 0;
    size_t n;

    assert_int_equal(store_remark_put(f->store, "k", &remark, &first, &f->err), OK);
    assert_int_equal(store_remark_put(f->store, "k", &plain, &second, &f->err), OK);
    assert_true(first > 0 && second > first);
    reopen(f);
    assert_int_equal(store_remarks(f->store, "k", f->arena, &remarks, &n, &f->err), OK);
    assert_int_equal(n, 2);
    assert_int_equal(remarks[0].id, first);
    assert_string_equal(remarks[0].check_id, "a");
    assert_string_equal(remarks[0].place, "step 12");
    assert_string_equal(remarks[0].text, "why \xe2\x80\xa6?\n`x`");
    assert_int_equal(remarks[0].written_at, 1000);
    assert_null(remarks[1].check_id);
    assert_null(remarks[1].place);
    remark.id = first;
    remark.text = "found";
    assert_int_equal(store_remark_put(f->store, "k", &remark, &same, &f->err), OK);
    assert_int_equal(same, first);
    plain.id = second;
    plain.text = "";
    assert_int_equal(store_remark_put(f->store, "k", &plain, &same, &f->err), OK);
    assert_int_equal(store_remarks(f->store, "k", f->arena, &remarks, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_string_equal(remarks[0].text, "found");
}

static void a_remark_of_another_run_is_not_touched(void **state)
{
    struct fixture *f = *state;
    struct remark remark = {.text = "mine"};
    const struct remark *remarks;
    int64_t id, other;
    size_t n;

    assert_int_equal(store_remark_put(f->store, "k", &remark, &id, &f->err), OK);
    remark.id = id;
    remark.text = "theirs";
    assert_int_equal(store_remark_put(f->store, "other", &remark, &other, &f->err), E_NOTFOUND);
    remark.text = "";
    assert_int_equal(store_remark_put(f->store, "other", &remark, &other, &f->err), OK);
    assert_int_equal(store_remarks(f->store, "k", f->arena, &remarks, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_string_equal(remarks[0].text, "mine");
}

static void own_findings_are_kept_and_marked_as_exported(void **state)
{
    struct fixture *f = *state;
    struct user_finding full = {.check_id = "a", .verdict = "fail", .sentence = "rate too high",
                                .path = "/run/log", .line = 3, .step = 0, .commit = "abc"};
    struct user_finding plain = {.verdict = "warn", .sentence = "odd", .line = NONE,
                                 .step = NONE};
    const struct user_finding *got;
    int64_t first, second, same;
    size_t n;

    assert_int_equal(store_user_finding_put(f->store, "k", &full, &first, &f->err), OK);
    assert_int_equal(store_user_finding_put(f->store, "k", &plain, &second, &f->err), OK);
    reopen(f);
    assert_int_equal(store_user_findings(f->store, "k", f->arena, &got, &n, &f->err), OK);
    assert_int_equal(n, 2);
    assert_string_equal(got[0].check_id, "a");
    assert_string_equal(got[0].verdict, "fail");
    assert_string_equal(got[0].sentence, "rate too high");
    assert_string_equal(got[0].path, "/run/log");
    assert_int_equal(got[0].line, 3);
    assert_int_equal(got[0].step, 0);
    assert_string_equal(got[0].commit, "abc");
    assert_int_equal(got[0].made_at, 1000);
    assert_false(got[0].exported);
    assert_null(got[1].check_id);
    assert_int_equal(got[1].line, NONE);
    assert_int_equal(store_user_findings_exported(f->store, "k", &f->err), OK);
    plain.id = second;
    plain.sentence = "";
    assert_int_equal(store_user_finding_put(f->store, "k", &plain, &same, &f->err), OK);
    assert_int_equal(store_user_findings(f->store, "k", f->arena, &got, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_true(got[0].exported);
}

static void answers_are_one_for_each_name(void **state)
{
    struct fixture *f = *state;
    const struct answer *answers;
    size_t n;

    assert_int_equal(store_answer_set(f->store, "k", "kind", "sft", &f->err), OK);
    assert_int_equal(store_answer_set(f->store, "k", "kind", "dpo", &f->err), OK);
    assert_int_equal(store_answer_set(f->store, "k", "gpu", "24G", &f->err), OK);
    assert_int_equal(store_answer_set(f->store, "k", "goal", "", &f->err), OK);
    reopen(f);
    assert_int_equal(store_answers(f->store, "k", f->arena, &answers, &n, &f->err), OK);
    assert_int_equal(n, 3);
    assert_string_equal(answers[0].name, "goal");
    assert_string_equal(answers[0].value, "");
    assert_string_equal(answers[1].value, "24G");
    assert_string_equal(answers[2].value, "dpo");
    assert_int_equal(store_answer_set(f->store, "k", "gpu", NULL, &f->err), OK);
    assert_int_equal(store_answers(f->store, "k", f->arena, &answers, &n, &f->err), OK);
    assert_int_equal(n, 2);
}

static void dropping_takes_all_of_one_run(void **state)
{
    struct fixture *f = *state;
    struct remark remark = {.text = "x"};
    const struct remark *remarks;
    const struct tick *ticks;
    const struct answer *answers;
    int64_t id;
    size_t n;

    assert_int_equal(store_remark_put(f->store, "k", &remark, &id, &f->err), OK);
    assert_int_equal(store_remark_put(f->store, "other", &remark, &id, &f->err), OK);
    assert_int_equal(store_tick_set(f->store, "k", "a", "seen", NULL, &f->err), OK);
    assert_int_equal(store_answer_set(f->store, "k", "gpu", "24G", &f->err), OK);
    assert_int_equal(store_remarks_drop(f->store, "k", &f->err), OK);
    assert_int_equal(store_remarks(f->store, "k", f->arena, &remarks, &n, &f->err), OK);
    assert_int_equal(n, 0);
    assert_int_equal(store_ticks(f->store, "k", f->arena, &ticks, &n, &f->err), OK);
    assert_int_equal(n, 0);
    assert_int_equal(store_answers(f->store, "k", f->arena, &answers, &n, &f->err), OK);
    assert_int_equal(n, 0);
    assert_int_equal(store_remarks(f->store, "other", f->arena, &remarks, &n, &f->err), OK);
    assert_int_equal(n, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(marks_are_set_changed_and_undone),
        TEST(remarks_are_written_changed_and_deleted),
        TEST(a_remark_of_another_run_is_not_touched),
        TEST(own_findings_are_kept_and_marked_as_exported),
        TEST(answers_are_one_for_each_name),
        TEST(dropping_takes_all_of_one_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
