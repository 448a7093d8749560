/* The commits of one file: order, renames, merges, and repositories that are odd, damaged or hostile. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/git/history.h"
#include "tests/harness/git_repo.h"
#include "tests/harness/tempdir.h"

#define CONFIG_1 "learning_rate: 1e-5\nepochs: 3\nlora_r: 8\nseed: 1\npacking: true\nwarmup: 10\n"
#define CONFIG_2 "learning_rate: 2e-4\nepochs: 3\nlora_r: 8\nseed: 1\npacking: true\nwarmup: 10\n"
#define CONFIG_3 "learning_rate: 2e-4\nepochs: 4\nlora_r: 8\nseed: 1\npacking: true\nwarmup: 10\n"

struct fixture {
    char *folder, *top;
    struct git_repo *repo;
    struct buf rows;            /* "subject:status\n" a row */
    struct history_sum sum;
    struct error err;
    int status;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f)
        return -1;
    f->folder = tempdir_make();
    f->top = strdup(tempdir_path(f->folder, "repo"));
    f->repo = git_repo_new(f->top);
    buf_init(&f->rows, 1 << 20);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    git_repo_free(f->repo);
    buf_free(&f->rows);
    free(f->top);
    tempdir_remove(f->folder);
    free(f);
    return 0;
}

static const char *below(const struct fixture *f, const char *name)
{
    return tempdir_path(f->top, name);
}

static void put_row(struct fixture *f, const struct history_row *row)
{
    buf_printf(&f->rows, "%s:%s", row->subject, history_status_name(row->status));
    if (row->old_path)
        buf_printf(&f->rows, " %s", row->old_path);
    buf_putc(&f->rows, '\n');
}

/* All rows as text; "" and f->status when it fails. */
static const char *rows_of(struct fixture *f, const char *where, const char *path)
{
    struct repository *repository = NULL;
    struct history *history = NULL;
    struct history_row row;

    buf_clear(&f->rows);
    f->sum = (struct history_sum){0};
    f->status = repository_open(&repository, where, NULL, &f->err);
    if (f->status == OK)
        f->status = history_open(&history, repository, path, NULL, &f->err);
    while (f->status == OK && (f->status = history_next(history, &row, &f->err)) == 1) {
        put_row(f, &row);
        f->status = OK;
    }
    if (history)
        history_sum(history, &f->sum);
    history_close(history);
    repository_close(repository);
    return f->rows.p ? f->rows.p : "";
}

static void three_commits(struct fixture *f)
{
    git_repo_put(f->repo, "configs/sft.yaml", CONFIG_1);
    git_repo_put(f->repo, "README.md", "hello\n");
    git_repo_commit(f->repo, "first");
    git_repo_put(f->repo, "README.md", "hello you\n");
    git_repo_commit(f->repo, "docs");
    git_repo_put(f->repo, "configs/sft.yaml", CONFIG_2);
    git_repo_commit(f->repo, "raise lr\n\nmore text");
}

static void commits_that_changed_the_file_stand_newest_first(void **state)
{
    struct fixture *f = *state;

    three_commits(f);
    assert_string_equal(rows_of(f, f->top, "configs/sft.yaml"), "raise lr:modified\nfirst:added\n");
    assert_int_equal(f->sum.n_commits, 3);
    assert_string_equal(rows_of(f, f->top, "no/such.yaml"), "");
    assert_int_equal(f->status, OK);
}

static void a_repository_is_found_from_a_file_deep_inside(void **state)
{
    struct fixture *f = *state;

    three_commits(f);
    tempdir_write_text(f->top, "a/b/c/x.yaml", "lr: 1\n");
    assert_string_equal(rows_of(f, below(f, "a/b/c/x.yaml"), "configs/sft.yaml"),
                        "raise lr:modified\nfirst:added\n");
    assert_string_equal(rows_of(f, f->folder, "configs/sft.yaml"), "");
    assert_int_equal(f->status, E_NOTFOUND);
}

static void a_rename_with_an_edit_is_followed(void **state)
{
    struct fixture *f = *state;

    three_commits(f);
    git_repo_remove(f->repo, "configs/sft.yaml");
    git_repo_put(f->repo, "train/new.yaml", CONFIG_3);
    git_repo_commit(f->repo, "move");
    git_repo_put(f->repo, "train/new.yaml", CONFIG_1);
    git_repo_commit(f->repo, "back");
    assert_string_equal(rows_of(f, f->top, "train/new.yaml"),
                        "back:modified\nmove:renamed configs/sft.yaml\nraise lr:modified\nfirst:added\n");
}

static void a_copy_of_a_file_that_stays_is_followed_too(void **state)
{
    struct fixture *f = *state;

    three_commits(f);
    git_repo_put(f->repo, "b.yaml", CONFIG_2);
    git_repo_commit(f->repo, "copy");
    assert_string_equal(rows_of(f, f->top, "b.yaml"),
                        "copy:copied configs/sft.yaml\nraise lr:modified\nfirst:added\n");
}

static void an_unlike_file_is_no_origin(void **state)
{
    struct fixture *f = *state;

    three_commits(f);
    git_repo_put(f->repo, "b.yaml", "nothing: of\nthat: kind\nis: here\n");
    git_repo_commit(f->repo, "other");
    assert_string_equal(rows_of(f, f->top, "b.yaml"), "other:added\n");
}

static void a_file_that_went_and_came_back_shows_both(void **state)
{
    struct fixture *f = *state;

    three_commits(f);
    git_repo_remove(f->repo, "configs/sft.yaml");
    git_repo_commit(f->repo, "gone");
    git_repo_put(f->repo, "configs/sft.yaml", CONFIG_3);
    git_repo_commit(f->repo, "again");
    assert_string_equal(rows_of(f, f->top, "configs/sft.yaml"),
                        "again:added\ngone:deleted\nraise lr:modified\nfirst:added\n");
}

static void a_merge_is_no_row_and_its_branches_are(void **state)
{
    struct fixture *f = *state;
    char base[64], side[64], trunk[64];

    git_repo_put(f->repo, "a.yaml", CONFIG_1);
    snprintf(base, sizeof base, "%s", git_repo_commit(f->repo, "first"));
    git_repo_put(f->repo, "a.yaml", CONFIG_2);
    snprintf(side, sizeof side, "%s", git_repo_commit_on(f->repo, "side", base, NULL, "on the side"));
    git_repo_put(f->repo, "a.yaml", CONFIG_1);
    git_repo_put(f->repo, "b.txt", "b\n");
    snprintf(trunk, sizeof trunk, "%s", git_repo_commit_on(f->repo, "main", base, NULL, "trunk"));
    git_repo_put(f->repo, "a.yaml", CONFIG_2);
    git_repo_commit_on(f->repo, "main", trunk, side, "merge");
    assert_string_equal(rows_of(f, f->top, "a.yaml"), "on the side:modified\nfirst:added\n");
    assert_int_equal(f->sum.n_commits, 4);
}

static void a_shallow_clone_ends_at_its_boundary(void **state)
{
    struct fixture *f = *state;
    char line[64];

    three_commits(f);
    git_repo_put(f->repo, "configs/sft.yaml", CONFIG_3);
    snprintf(line, sizeof line, "%s\n", git_repo_commit(f->repo, "epochs"));
    git_repo_put(f->repo, "configs/sft.yaml", CONFIG_1);
    git_repo_commit(f->repo, "last");
    tempdir_write_text(f->top, ".git/shallow", line);
    assert_string_equal(rows_of(f, f->top, "configs/sft.yaml"), "last:modified\nepochs:added\n");
    assert_true(f->sum.ends_shallow);
    assert_int_equal(f->sum.n_missing_commits, 0);
}

static void object_path(const struct fixture *f, const char *hash, char out[4096])
{
    snprintf(out, 4096, "%s/.git/objects/%.2s/%s", f->top, hash, hash + 2);
}

static void a_missing_commit_ends_its_branch_and_is_told(void **state)
{
    struct fixture *f = *state;
    char path[4096], hash[64];

    git_repo_put(f->repo, "a.yaml", CONFIG_1);
    snprintf(hash, sizeof hash, "%s", git_repo_commit(f->repo, "first"));
    git_repo_put(f->repo, "a.yaml", CONFIG_2);
    git_repo_commit(f->repo, "second");
    git_repo_put(f->repo, "a.yaml", CONFIG_3);
    git_repo_commit(f->repo, "third");
    object_path(f, hash, path);
    assert_int_equal(unlink(path), 0);
    assert_string_equal(rows_of(f, f->top, "a.yaml"), "third:modified\nsecond:added\n");
    assert_int_equal(f->sum.n_missing_commits, 1);
    assert_non_null(f->sum.first_problem);
}

static void a_damaged_commit_is_told_and_not_fatal(void **state)
{
    struct fixture *f = *state;
    char path[4096], hash[64];

    git_repo_put(f->repo, "a.yaml", CONFIG_1);
    snprintf(hash, sizeof hash, "%s", git_repo_commit(f->repo, "first"));
    git_repo_put(f->repo, "a.yaml", CONFIG_2);
    git_repo_commit(f->repo, "second");
    object_path(f, hash, path);
    assert_int_equal(chmod(path, 0600), 0);
    for (size_t n = 0; n < 40; n += 3) {
        tempdir_write(f->top, path + strlen(f->top) + 1, "x\x9cgarbage\0\0\0garbagegarbagegarbagegarbage", n);
        assert_string_equal(rows_of(f, f->top, "a.yaml"), "second:added\n");
        assert_int_equal(f->sum.n_missing_commits, 1);
    }
}

static void head_may_be_detached_packed_unborn_or_nonsense(void **state)
{
    struct fixture *f = *state;
    char text[200], hash[64];

    assert_string_equal(rows_of(f, f->top, "a.yaml"), "");
    assert_int_equal(f->status, E_NOTFOUND);
    git_repo_put(f->repo, "a.yaml", CONFIG_1);
    snprintf(hash, sizeof hash, "%s", git_repo_commit(f->repo, "first"));
    snprintf(text, sizeof text, "%s\n", hash);
    tempdir_write_text(f->top, ".git/HEAD", text);
    assert_string_equal(rows_of(f, f->top, "a.yaml"), "first:added\n");
    snprintf(text, sizeof text, "# pack-refs with: peeled\n%s refs/heads/packed\n", hash);
    tempdir_write_text(f->top, ".git/packed-refs", text);
    tempdir_write_text(f->top, ".git/HEAD", "ref: refs/heads/packed\n");
    assert_string_equal(rows_of(f, f->top, "a.yaml"), "first:added\n");
    static const char *const ODD[] = {"ref: refs/heads/../../../../etc/passwd\n", "ref: HEAD\n", "nonsense",
                                      "", "ref: refs/heads/.invalid\n", "ref:", "\xff\xfe"};
    for (size_t i = 0; i < sizeof ODD / sizeof *ODD; i++) {
        tempdir_write_text(f->top, ".git/HEAD", ODD[i]);
        assert_string_equal(rows_of(f, f->top, "a.yaml"), "");
        assert_int_equal(f->status, E_GIT);
    }
    tempdir_write_text(f->top, ".git/HEAD", "0123456789012345678901234567890123456789\n");
    (void)rows_of(f, f->top, "a.yaml");
    assert_true(f->status < 0);
}

static void formats_that_cannot_be_read_are_named(void **state)
{
    struct fixture *f = *state;

    three_commits(f);
    tempdir_write_text(f->top, ".git/config",
                       "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n");
    (void)rows_of(f, f->top, "configs/sft.yaml");
    assert_int_equal(f->status, E_UNSUPPORTED);
    assert_non_null(strstr(f->err.message, "SHA-256"));
    tempdir_write_text(f->top, ".git/config", "[extensions]\n\trefStorage = reftable\n");
    (void)rows_of(f, f->top, "configs/sft.yaml");
    assert_int_equal(f->status, E_UNSUPPORTED);
    assert_non_null(strstr(f->err.message, "reftable"));
}

static void a_hostile_configuration_starts_nothing(void **state)
{
    struct fixture *f = *state;
    char text[2048];

    three_commits(f);
    const char *mark = below(f, "started");
    snprintf(text, sizeof text,
             "[core]\n\tfsmonitor = touch %s\n\thooksPath = /tmp\n\tsshCommand = touch %s\n\tworktree = /\n"
             "[include]\n\tpath = fifo\n[filter \"x\"]\n\tsmudge = touch %s\n\tprocess = touch %s\n"
             "[extensions]\n\tworktreeConfig = true\n", mark, mark, mark, mark);
    tempdir_write_text(f->top, ".git/config", text);
    assert_int_equal(mkfifo(below(f, ".git/fifo"), 0600), 0);
    tempdir_write_text(f->top, ".gitattributes", "* filter=x\n");
    tempdir_write_text(f->top, ".git/objects/info/alternates", "/\n../../../..\n/no/such/place\n");
    assert_string_equal(rows_of(f, f->top, "configs/sft.yaml"), "raise lr:modified\nfirst:added\n");
    assert_int_not_equal(access(mark, F_OK), 0);
}

static void a_fifo_in_the_place_of_an_object_is_refused(void **state)
{
    struct fixture *f = *state;

    three_commits(f);
    assert_int_equal(mkdir(below(f, ".git/objects/00"), 0700) == 0 || access(below(f,
            ".git/objects/00"), F_OK) == 0, 1);
    assert_int_equal(mkfifo(below(f, ".git/objects/00/00000000000000000000000000000000000000"), 0600), 0);
    (void)rows_of(f, f->top, "configs/sft.yaml");
    assert_int_equal(f->status, E_UNSUPPORTED);
}

/* Each stands for a folder that is looked through, and each of those for as many again. */
static void alternates_that_multiply_are_refused(void **state)
{
    struct fixture *f = *state;
    struct buf text;

    three_commits(f);
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 2000; i++)
        buf_puts(&text, "../other\n");
    tempdir_write_text(f->top, ".git/other/info/alternates", "../third\n");
    tempdir_write_text(f->top, ".git/objects/info/alternates", text.p);
    (void)rows_of(f, f->top, "configs/sft.yaml");
    assert_int_equal(f->status, E_UNSUPPORTED);
    buf_free(&text);
}

static void fifos_in_the_place_of_files_of_git_do_not_hang(void **state)
{
    static const char *const NAMES[] = {".git/HEAD", ".git/packed-refs", ".git/shallow", ".git/config",
                                        ".git/objects/info/alternates"};
    struct fixture *f = *state;

    three_commits(f);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        char kept[4200], path[4096];

        snprintf(path, sizeof path, "%s", below(f, NAMES[i]));
        snprintf(kept, sizeof kept, "%s.kept", path);
        (void)rename(path, kept);
        assert_int_equal(mkfifo(path, 0600), 0);
        (void)rows_of(f, f->top, "configs/sft.yaml");
        assert_int_equal(unlink(path), 0);
        (void)rename(kept, path);
    }
    assert_string_equal(rows_of(f, f->top, "configs/sft.yaml"), "raise lr:modified\nfirst:added\n");
}

static void worktrees_submodules_and_links_lead_to_their_repository(void **state)
{
    struct fixture *f = *state;
    char text[4200];

    three_commits(f);
    /* a linked worktree */
    tempdir_write_text(f->top, ".git/worktrees/w/commondir", "../..\n");
    tempdir_write_text(f->top, ".git/worktrees/w/HEAD", "ref: refs/heads/main\n");
    snprintf(text, sizeof text, "gitdir: %s/.git/worktrees/w\n", f->top);
    tempdir_write_text(f->folder, "linked/.git", text);
    assert_string_equal(rows_of(f, tempdir_path(f->folder, "linked"), "configs/sft.yaml"),
                        "raise lr:modified\nfirst:added\n");
    /* a submodule: a relative path */
    tempdir_write_text(f->folder, "sub/.git", "gitdir: ../repo/.git\n");
    assert_string_equal(rows_of(f, tempdir_path(f->folder, "sub"), "configs/sft.yaml"),
                        "raise lr:modified\nfirst:added\n");
    /* a symbolic link */
    tempdir_write_text(f->folder, "third/x", "x\n");
    assert_int_equal(symlink("../repo/.git", tempdir_path(f->folder, "third/.git")), 0);
    assert_string_equal(rows_of(f, tempdir_path(f->folder, "third"), "configs/sft.yaml"),
                        "raise lr:modified\nfirst:added\n");
    /* bare, and what leads to nowhere */
    assert_string_equal(rows_of(f, below(f, ".git"), "configs/sft.yaml"), "raise lr:modified\nfirst:added\n");
    static const char *const ODD[] = {"gitdir: /no/such\n", "gitdir: .\n", "nonsense\n", "", "gitdir:\n"};
    for (size_t i = 0; i < sizeof ODD / sizeof *ODD; i++) {
        tempdir_write_text(f->folder, "odd/.git", ODD[i]);
        (void)rows_of(f, tempdir_path(f->folder, "odd"), "configs/sft.yaml");
        assert_int_equal(f->status, E_GIT);
    }
}

static void the_repository_of_another_user_is_refused(void **state)
{
    static const struct repository_options trusting = {.trusts_owner = true};
    struct fixture *f = *state;
    struct repository *repository = NULL;

    three_commits(f);
    if (geteuid() != 0 || chown(below(f, ".git"), 12345, 12345) != 0)
        skip();
    (void)rows_of(f, f->top, "configs/sft.yaml");
    assert_int_equal(f->status, E_UNSUPPORTED);
    assert_non_null(strstr(f->err.message, "another user"));
    assert_int_equal(repository_open(&repository, f->top, &trusting, &f->err), OK);
    repository_close(repository);
}

static void a_bundle_is_a_repository(void **state)
{
    struct fixture *f = *state;

    three_commits(f);
    git_repo_bundle(f->repo, tempdir_path(f->folder, "x.bundle"));
    assert_string_equal(rows_of(f, tempdir_path(f->folder, "x.bundle"), "configs/sft.yaml"),
                        "raise lr:modified\nfirst:added\n");
}

static void a_bundle_cut_or_odd_is_told(void **state)
{
    struct fixture *f = *state;
    char bytes[8192];
    size_t n;

    three_commits(f);
    git_repo_bundle(f->repo, tempdir_path(f->folder, "x.bundle"));
    FILE *file = fopen(tempdir_path(f->folder, "x.bundle"), "rb");
    assert_non_null(file);
    n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_in_range(n, 200, sizeof bytes - 1);
    for (size_t i = 16; i < n; i += i < 150 ? 1 : 13) {
        tempdir_write(f->folder, "cut.bundle", bytes, i);
        (void)rows_of(f, tempdir_path(f->folder, "cut.bundle"), "configs/sft.yaml");
        assert_true(f->status < 0);
    }
    for (size_t i = 16; i < n; i += 17) {
        bytes[i] ^= 0x20;
        tempdir_write(f->folder, "cut.bundle", bytes, n);
        (void)rows_of(f, tempdir_path(f->folder, "cut.bundle"), "configs/sft.yaml");
        bytes[i] ^= 0x20;
    }
    tempdir_write_text(f->folder, "new.bundle", "# v3 git bundle\n@object-format=sha256\n\nPACK");
    (void)rows_of(f, tempdir_path(f->folder, "new.bundle"), "a");
    assert_int_equal(f->status, E_UNSUPPORTED);
    assert_non_null(strstr(f->err.message, "SHA-256"));
}

static uint64_t sum;

static int add_file(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    int64_t numbers[3] = {st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec};
    char bytes[4096];
    FILE *file = kind == FTW_F ? fopen(path, "rb") : NULL;
    size_t n;

    (void)ftw;
    sum = hash_more(sum, path, strlen(path));
    sum = hash_more(sum, numbers, sizeof numbers);
    while (file && (n = fread(bytes, 1, sizeof bytes, file)) > 0)
        sum = hash_more(sum, bytes, n);
    if (file)
        fclose(file);
    return 0;
}

static uint64_t state_of(const char *folder)
{
    sum = 0;
    assert_int_equal(nftw(folder, add_file, 16, FTW_PHYS), 0);
    return sum;
}

static void nothing_is_written_to_the_repository(void **state)
{
    struct fixture *f = *state;

    three_commits(f);
    uint64_t before = state_of(f->top);
    (void)rows_of(f, f->top, "configs/sft.yaml");
    assert_int_equal(f->status, OK);
    assert_true(before == state_of(f->top));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(commits_that_changed_the_file_stand_newest_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_repository_is_found_from_a_file_deep_inside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_rename_with_an_edit_is_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_copy_of_a_file_that_stays_is_followed_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unlike_file_is_no_origin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_went_and_came_back_shows_both, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_merge_is_no_row_and_its_branches_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_shallow_clone_ends_at_its_boundary, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_commit_ends_its_branch_and_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_commit_is_told_and_not_fatal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(head_may_be_detached_packed_unborn_or_nonsense, set_up, tear_down),
        cmocka_unit_test_setup_teardown(formats_that_cannot_be_read_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_hostile_configuration_starts_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_fifo_in_the_place_of_an_object_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(alternates_that_multiply_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fifos_in_the_place_of_files_of_git_do_not_hang, set_up, tear_down),
        cmocka_unit_test_setup_teardown(worktrees_submodules_and_links_lead_to_their_repository, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_repository_of_another_user_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bundle_is_a_repository, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_bundle_cut_or_odd_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_written_to_the_repository, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
