/* The configuration of a run over git: which repository, which file, which commit, what is not committed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/exports/history_report.h"
#include "core/facts/config_history.h"
#include "tests/harness/git_repo.h"
#include "tests/harness/imported_run.h"
#include "views/registry.h"

#define CONFIG(lr, epochs) "learning_rate: " lr "\nnum_train_epochs: " epochs \
                           "\nlora_r: 8\nseed: 1\npacking: true\nwarmup_steps: 10\n"

struct fixture {
    struct imported_run *run;
    struct git_repo *repo;
    char where[4096];
};

static int set_up(void **state)
{
    static struct fixture f;

    f.run = imported_run_new();
    f.repo = NULL;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    if (f->repo)
        git_repo_free(f->repo);
    imported_run_free(f->run);
    return 0;
}

static void make_repo(struct fixture *f, const char *folder)
{
    snprintf(f->where, sizeof f->where, "%s", folder);
    f->repo = git_repo_new(f->where);
}

static void write_state(struct fixture *f)
{
    tempdir_write_text(f->run->folder, "trainer_state.json",
                       "{\"global_step\": 2, \"max_steps\": 2, \"log_history\": ["
                       "{\"step\": 1, \"loss\": 2.0}, {\"step\": 2, \"loss\": 1.0}]}");
}

static const struct config_history *history_of(struct fixture *f)
{
    imported_run_read(f->run);
    assert_int_equal(histories_refresh(f->run->facts, f->run->store, NULL, &f->run->err), OK);
    return facts_history(f->run->facts);
}

static void three_versions(struct fixture *f, const char *path)
{
    git_repo_put(f->repo, path, CONFIG("1e-5", "3"));
    git_repo_commit(f->repo, "first config");
    git_repo_put(f->repo, path, CONFIG("2e-4", "3"));
    git_repo_commit(f->repo, "raise lr");
    git_repo_put(f->repo, path, CONFIG("2e-4", "4"));
    git_repo_commit(f->repo, "one more epoch");
}

static void a_tracked_configuration_has_its_commits_setting_by_setting(void **state)
{
    struct fixture *f = *state;

    make_repo(f, f->run->folder);
    three_versions(f, "train.yaml");
    git_repo_checkout(f->repo);
    write_state(f);
    const struct config_history *h = history_of(f);
    assert_non_null(h);
    assert_string_equal(h->path, "train.yaml");
    assert_int_equal(h->n_revisions, 3);
    assert_string_equal(h->revisions[1].subject, "raise lr");
    assert_int_equal(h->revisions[1].n_changes, 1);
    assert_string_equal(h->revisions[1].changes[0].name, "learning_rate");
    assert_string_equal(h->revisions[1].changes[0].old_value, "1e-5");
    assert_string_equal(h->revisions[1].changes[0].new_value, "2e-4");
    assert_int_equal(h->revisions[2].n_changes, 0);
    assert_int_equal(h->revisions[2].n_settings, 6);
    assert_false(h->is_dirty);
    assert_int_equal(h->use, HISTORY_USE_CONTENT);
    assert_int_equal(h->used_at, 0);
}

static void what_is_not_committed_is_named(void **state)
{
    struct fixture *f = *state;

    make_repo(f, f->run->folder);
    three_versions(f, "train.yaml");
    tempdir_write_text(f->run->folder, "train.yaml", CONFIG("3e-4", "4"));
    write_state(f);
    const struct config_history *h = history_of(f);
    assert_non_null(h);
    assert_true(h->is_dirty);
    assert_string_equal(h->dirty_from, "HEAD");
    assert_int_equal(h->n_dirty, 1);
    assert_string_equal(h->dirty[0].new_value, "3e-4");
}

static void a_copy_is_found_in_a_bundle_by_its_content(void **state)
{
    struct fixture *f = *state;
    char path[4096];

    snprintf(path, sizeof path, "%s", tempdir_path(f->run->root, "elsewhere"));
    make_repo(f, path);
    git_repo_put(f->repo, "other.yaml", "a: 1\nb: 2\n");
    three_versions(f, "configs/sft.yaml");
    git_repo_bundle(f->repo, tempdir_path(f->run->folder, "history.bundle"));
    tempdir_write_text(f->run->folder, "train.yaml", CONFIG("2e-4", "3"));
    write_state(f);
    const struct config_history *h = history_of(f);
    assert_non_null(h);
    assert_string_equal(h->path, "configs/sft.yaml");
    assert_int_equal(h->use, HISTORY_USE_CONTENT);
    assert_int_equal(h->used_at, 1);
    assert_false(h->is_dirty);
}

/* 400 files are compared with the run's; the one behind them is not seen, and that is said. */
static void a_search_that_ended_early_is_told(void **state)
{
    struct fixture *f = *state;
    char path[4096];
    size_t n = 0;

    snprintf(path, sizeof path, "%s", tempdir_path(f->run->root, "elsewhere"));
    make_repo(f, path);
    for (int i = 0; i < 400; i++) {
        snprintf(path, sizeof path, "a/%03d.yaml", i);
        git_repo_put(f->repo, path, "a: 1\nb: 2\n");
    }
    three_versions(f, "configs/sft.yaml");
    git_repo_bundle(f->repo, tempdir_path(f->run->folder, "history.bundle"));
    tempdir_write_text(f->run->folder, "own.yaml", CONFIG("3e-4", "3"));
    write_state(f);
    assert_null(history_of(f));
    const struct config_history *const *list = facts_histories(f->run->facts, &n);
    assert_int_equal(n, 1);
    assert_non_null(list[0]->problem);
    assert_non_null(strstr(list[0]->problem, "among the first files"));
}

static void the_user_may_trust_the_owner_of_a_named_repository(void **state)
{
    static const struct repository_options trusting = {.trusts_owner = true};
    struct fixture *f = *state;
    const struct config_history *list;
    struct error err;
    size_t n;

    make_repo(f, f->run->folder);
    three_versions(f, "train.yaml");
    if (geteuid() != 0 || chown(tempdir_path(f->run->folder, ".git"), 12345, 12345) != 0)
        skip();
    struct arena *arena = arena_open((size_t)64 << 20);
    assert_int_equal(config_histories_of_path(f->run->folder, NULL, arena, &list, &n, &err),
                     E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "git-owner=any"));
    assert_int_equal(config_histories_of_path(f->run->folder, &trusting, arena, &list, &n, &err), OK);
    assert_int_equal(n, 1);
    assert_int_equal(list[0].n_revisions, 3);
    arena_close(arena);
}

static void a_recorded_hash_comes_first(void **state)
{
    struct fixture *f = *state;
    char text[300], hash[64];

    make_repo(f, f->run->folder);
    git_repo_put(f->repo, "train.yaml", CONFIG("1e-5", "3"));
    snprintf(hash, sizeof hash, "%s", git_repo_commit(f->repo, "first"));
    git_repo_put(f->repo, "train.yaml", CONFIG("2e-4", "3"));
    git_repo_commit(f->repo, "second");
    git_repo_checkout(f->repo);
    snprintf(text, sizeof text, "{\"git_hash\": \"%.10s\", \"learning_rate\": 1e-5, \"seed\": 1, "
             "\"_commit_hash\": \"0123456789abcdef0123456789abcdef01234567\"}", hash);
    tempdir_write_text(f->run->folder, "run_args.json", text);
    write_state(f);
    const struct config_history *h = history_of(f);
    assert_non_null(h);
    assert_int_equal(h->use, HISTORY_USE_RECORDED);
    assert_string_equal(h->used, hash);
    assert_int_equal(h->used_at, 1);
}

static void without_a_repository_there_is_no_history(void **state)
{
    struct fixture *f = *state;
    size_t n = 1;

    tempdir_write_text(f->run->folder, "train.yaml", CONFIG("1e-5", "3"));
    write_state(f);
    assert_null(history_of(f));
    (void)facts_histories(f->run->facts, &n);
    assert_int_equal(n, 0);
}

static void what_cannot_be_read_says_why(void **state)
{
    struct fixture *f = *state;
    size_t n = 0;

    make_repo(f, f->run->folder);
    three_versions(f, "train.yaml");
    git_repo_checkout(f->repo);
    tempdir_write_text(f->run->folder, ".git/config", "[extensions]\nobjectformat = sha256\n");
    write_state(f);
    assert_null(history_of(f));
    const struct config_history *const *list = facts_histories(f->run->facts, &n);
    assert_int_equal(n, 1);
    assert_non_null(strstr(list[0]->problem, "SHA-256"));
}

static void the_cache_answers_until_head_moves(void **state)
{
    struct fixture *f = *state;

    make_repo(f, f->run->folder);
    three_versions(f, "train.yaml");
    git_repo_checkout(f->repo);
    write_state(f);
    assert_int_equal(history_of(f)->n_revisions, 3);
    uint64_t before = facts_histories_hash(f->run->facts);
    /* without a commit that can be read, only the cache knows */
    assert_int_equal(rename(tempdir_path(f->run->folder, ".git/objects"),
            tempdir_path(f->run->folder, "kept")), 0);
    assert_int_equal(mkdir(tempdir_path(f->run->folder, ".git/objects"), 0700), 0);
    assert_int_equal(rmdir(tempdir_path(f->run->folder, ".git/objects")), 0);
    assert_int_equal(rename(tempdir_path(f->run->folder, "kept"), tempdir_path(f->run->folder,
            ".git/objects")), 0);
    assert_int_equal(histories_refresh(f->run->facts, f->run->store, NULL, &f->run->err), OK);
    assert_true(before == facts_histories_hash(f->run->facts));
    git_repo_put(f->repo, "train.yaml", CONFIG("5e-4", "4"));
    git_repo_commit(f->repo, "again");
    assert_int_equal(histories_refresh(f->run->facts, f->run->store, NULL, &f->run->err), OK);
    assert_int_equal(facts_history(f->run->facts)->n_revisions, 4);
    assert_true(before != facts_histories_hash(f->run->facts));
}

/* The file of the work tree is what there is now: the run's own copy says what it used. */
static void a_copy_of_the_run_outdoes_the_work_tree(void **state)
{
    struct fixture *f = *state;

    make_repo(f, f->run->folder);
    three_versions(f, "configs/sft.yaml");
    tempdir_write_text(f->run->folder, "configs/sft.yaml", CONFIG("9e-4", "4"));
    tempdir_write_text(f->run->folder, "training_args.yaml", CONFIG("2e-4", "3"));
    write_state(f);
    const struct config_history *h = history_of(f);
    assert_non_null(h);
    assert_string_equal(h->path, "configs/sft.yaml");
    assert_int_equal(h->use, HISTORY_USE_CONTENT);
    assert_int_equal(h->used_at, 1);
    assert_false(h->is_dirty);
    assert_true(h->is_uncommitted);
    assert_int_equal(h->n_uncommitted, 1);
    assert_string_equal(h->uncommitted[0].new_value, "9e-4");
}

/* … and so do the checks: the configuration of the project may have changed since. */
static void a_copy_in_the_run_outdoes_the_configuration_of_the_project(void **state)
{
    struct fixture *f = *state;

    tempdir_write_text(f->run->folder, "configs/sft.yaml",
                       "stage: sft\nfinetuning_type: lora\ntemplate: qwen\ndataset: d\n" CONFIG("9e-4", "4"));
    tempdir_write_text(f->run->folder, "runs/sft-01/training_args.yaml",
                       "stage: sft\nfinetuning_type: lora\ntemplate: qwen\ndataset: d\n" CONFIG("2e-4", "3"));
    tempdir_write_text(f->run->folder, "runs/sft-01/trainer_state.json",
                       "{\"global_step\": 2, \"max_steps\": 2, \"log_history\": ["
                       "{\"step\": 1, \"loss\": 2.0}, {\"step\": 2, \"loss\": 1.0}]}");
    imported_run_read(f->run);
    assert_string_equal(facts_text(f->run->facts, "learning_rate"), "2e-4");
}

static void the_arguments_that_a_run_noted_find_its_commit(void **state)
{
    struct fixture *f = *state;

    make_repo(f, f->run->folder);
    three_versions(f, "train.yaml");
    git_repo_checkout(f->repo);
    tempdir_write_text(f->run->folder, "run_args.json",
                       "{\"learning_rate\": 1e-05, \"num_train_epochs\": 3.0, \"seed\": 1,"
                       " \"warmup_steps\": 10}");
    write_state(f);
    const struct config_history *h = history_of(f);
    assert_non_null(h);
    assert_int_equal(h->use, HISTORY_USE_SETTINGS);
    assert_int_equal(h->used_at, 2);
}

/* An object of git, away. */
static void lose_commit(struct fixture *f, const char *hash)
{
    char path[100];

    snprintf(path, sizeof path, ".git/objects/%.2s/%s", hash, hash + 2);
    assert_int_equal(unlink(tempdir_path(f->run->folder, path)), 0);
}

/* Were the old commits walked again, the lost one would end the history early. */
static void when_head_moves_only_new_commits_are_walked(void **state)
{
    struct fixture *f = *state;
    char first[64];

    make_repo(f, f->run->folder);
    git_repo_put(f->repo, "train.yaml", CONFIG("1e-6", "3"));
    snprintf(first, sizeof first, "%s", git_repo_commit(f->repo, "the first of all"));
    three_versions(f, "train.yaml");
    git_repo_checkout(f->repo);
    write_state(f);
    assert_int_equal(history_of(f)->n_revisions, 4);
    lose_commit(f, first);
    git_repo_put(f->repo, "README", "no configuration\n");
    git_repo_commit(f->repo, "no change of it");
    git_repo_put(f->repo, "train.yaml", CONFIG("5e-4", "4"));
    git_repo_commit(f->repo, "again");
    assert_int_equal(histories_refresh(f->run->facts, f->run->store, NULL, &f->run->err), OK);
    const struct config_history *h = facts_history(f->run->facts);
    assert_int_equal(h->n_revisions, 5);
    assert_int_equal(h->n_all, 5);
    assert_int_equal(h->n_notes, 0);
    assert_int_equal(h->n_walked, 6);
    assert_true(h->is_whole);
    assert_string_equal(h->revisions[0].subject, "again");
    assert_string_equal(h->revisions[0].changes[0].new_value, "5e-4");
    assert_string_equal(h->revisions[1].subject, "one more epoch");
    assert_string_equal(h->revisions[1].changes[0].name, "num_train_epochs");
    assert_string_equal(h->revisions[4].subject, "the first of all");
}

/* A branch that was merged stands between old commits: the list is made anew, in git's order. */
static void a_merge_of_older_commits_is_walked_whole(void **state)
{
    struct fixture *f = *state;
    char base[64], side[64], main_tip[64];

    make_repo(f, f->run->folder);
    git_repo_put(f->repo, "train.yaml", CONFIG("1e-6", "3"));
    snprintf(base, sizeof base, "%s", git_repo_commit(f->repo, "base"));
    git_repo_put(f->repo, "train.yaml", CONFIG("1e-6", "5"));
    snprintf(side, sizeof side, "%s", git_repo_commit_on(f->repo, "side", base, NULL, "on the side"));
    git_repo_put(f->repo, "train.yaml", CONFIG("2e-6", "3"));
    snprintf(main_tip, sizeof main_tip, "%s", git_repo_commit(f->repo, "on main"));
    git_repo_checkout(f->repo);
    write_state(f);
    assert_int_equal(history_of(f)->n_revisions, 2);
    git_repo_put(f->repo, "train.yaml", CONFIG("2e-6", "5"));
    git_repo_commit_on(f->repo, "main", main_tip, side, "merge side");
    assert_int_equal(histories_refresh(f->run->facts, f->run->store, NULL, &f->run->err), OK);
    const struct config_history *h = facts_history(f->run->facts);
    assert_int_equal(h->n_revisions, 3);
    assert_string_equal(h->revisions[1].subject, "on the side");
}

/* Of another run the list is not made again when HEAD moves: what is kept of it is the commit. */
static void the_commit_of_another_run_stays_when_newer_ones_come(void **state)
{
    struct fixture *f = *state;
    const struct history_run *runs;
    struct revision longer[4] = {{.commit = "ffffffffffffffffffffffffffffffffffffffff"}};
    size_t n;

    make_repo(f, f->run->folder);
    three_versions(f, "train.yaml");
    git_repo_checkout(f->repo);
    write_state(f);
    struct config_history h = *history_of(f);
    assert_int_equal(h.used_at, 0);
    memcpy(longer + 1, h.revisions, 3 * sizeof *longer);
    h.revisions = longer;
    h.n_revisions = 4;
    assert_int_equal(config_history_runs(f->run->store, &h, f->run->arena, &runs, &n, &f->run->err), OK);
    assert_int_equal(n, 1);
    assert_int_equal(runs[0].used_at, 1);
}

static int n_batches;

static void on_batch(void *ctx, int64_t run_id)
{
    (void)ctx;
    (void)run_id;
    n_batches++;
}

static void first_revisions_are_kept_before_the_rest(void **state)
{
    const struct audit_hooks hooks = {.batch = on_batch};
    struct fixture *f = *state;
    char text[400];

    make_repo(f, f->run->folder);
    for (int i = 0; i < 130; i++) {
        snprintf(text, sizeof text, "learning_rate: %d\nseed: 1\nlora_r: 8\n", i);
        git_repo_put(f->repo, "train.yaml", text);
        git_repo_commit(f->repo, "step");
    }
    git_repo_checkout(f->repo);
    write_state(f);
    imported_run_read(f->run);
    n_batches = 0;
    assert_int_equal(histories_refresh(f->run->facts, f->run->store, &hooks, &f->run->err), OK);
    assert_int_equal(n_batches, 1);
    assert_int_equal(facts_history(f->run->facts)->n_revisions, 130);
}

static void a_stopped_walk_is_made_anew(void **state)
{
    atomic_bool cancel = true;
    const struct audit_hooks hooks = {.cancel = &cancel};
    struct fixture *f = *state;

    make_repo(f, f->run->folder);
    three_versions(f, "train.yaml");
    git_repo_checkout(f->repo);
    write_state(f);
    imported_run_read(f->run);
    assert_int_equal(histories_refresh(f->run->facts, f->run->store, &hooks, &f->run->err), OK);
    assert_null(facts_history(f->run->facts));
    assert_int_equal(histories_refresh(f->run->facts, f->run->store, NULL, &f->run->err), OK);
    assert_int_equal(facts_history(f->run->facts)->n_revisions, 3);
    assert_true(facts_history(f->run->facts)->is_whole);
}

static void hostile_names_reach_no_report_raw(void **state)
{
    static const struct history_report_options how = {.ascii = true};
    struct fixture *f = *state;
    struct buf text;

    make_repo(f, f->run->folder);
    git_repo_put(f->repo, "train.yaml", CONFIG("1e-5", "3"));
    git_repo_commit(f->repo, "\x1b[31mred\x1b[0m \xff\xfe \xe2\x80\xae reversed");
    git_repo_put(f->repo, "train.yaml", CONFIG("\"\\e[2J\"", "3"));
    git_repo_commit(f->repo, "");
    git_repo_checkout(f->repo);
    write_state(f);
    const struct config_history *h = history_of(f);
    assert_non_null(h);
    buf_init(&text, 1 << 20);
    history_report(&text, h, NULL, 0, &how);
    assert_null(strchr(text.p, '\x1b'));
    assert_null(strstr(text.p, "\xe2\x80\xae"));
    assert_non_null(strstr(text.p, "red"));
    buf_free(&text);
}

static void the_pane_shows_commits_and_goes_through_them(void **state)
{
    struct fixture *f = *state;
    struct canvas *canvas = NULL;
    struct desk desk = {.store = f->run->store, .check = -1, .step = NONE, .search = ""};
    struct view view = {.ops = &view_history, .desk = &desk, .rows = 12, .columns = 60};
    struct buf text;

    make_repo(f, f->run->folder);
    three_versions(f, "train.yaml");
    tempdir_write_text(f->run->folder, "train.yaml", CONFIG("3e-4", "4"));
    write_state(f);
    assert_non_null(history_of(f));
    desk.facts = f->run->facts;
    desk.run_id = f->run->facts->run.id;
    view.arena = f->run->arena;
    view.state = arena_alloc(view.arena, view_history.state_size);
    assert_int_equal(canvas_open(&canvas, 12, 60, false, &f->run->err), OK);
    assert_int_equal(view_history.load(&view, &f->run->err), OK);
    view_history.draw(&view, canvas);
    buf_init(&text, 1 << 16);
    canvas_dump(canvas, false, &text);
    assert_non_null(strstr(text.p, "train.yaml differs from HEAD"));
    assert_non_null(strstr(text.p, "one more epoch"));
    assert_non_null(strstr(text.p, "learning_rate  1e-5"));
    assert_true(view_history.act(&view, 1));    /* the next commit */
    buf_clear(&text);
    view_history.status(&view, &text);
    assert_non_null(strstr(text.p, "train.yaml"));
    assert_true(view_history.act(&view, 0));    /* the newest is the one that the run may have used */
    buf_clear(&text);
    view_history.status(&view, &text);
    assert_non_null(strstr(text.p, "no run is known that was made under or after"));
    buf_free(&text);
    canvas_close(canvas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_tracked_configuration_has_its_commits_setting_by_setting, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_committed_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_copy_is_found_in_a_bundle_by_its_content, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_recorded_hash_comes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_repository_there_is_no_history, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_says_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_cache_answers_until_head_moves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_copy_of_the_run_outdoes_the_work_tree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_copy_in_the_run_outdoes_the_configuration_of_the_project, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_arguments_that_a_run_noted_find_its_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(when_head_moves_only_new_commits_are_walked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_merge_of_older_commits_is_walked_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_commit_of_another_run_stays_when_newer_ones_come, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(first_revisions_are_kept_before_the_rest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stopped_walk_is_made_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_search_that_ended_early_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_user_may_trust_the_owner_of_a_named_repository, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(hostile_names_reach_no_report_raw, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_pane_shows_commits_and_goes_through_them, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
