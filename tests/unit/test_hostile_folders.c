/* Folders that are no plain folders of plain files, and a system that does not cooperate: links,
 * pipes, sockets, devices, very many files and checkpoints, long names, pickles that want to run
 * something, full disks, damaged caches, pipes that close, signals. Through the whole program. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/str.h"
#include "core/store/store.h"
#include "tests/harness/flatline_run.h"
#include "tests/harness/tempdir.h"

static const char STATE[] =
    "{\"log_history\": [{\"loss\": 2.0, \"step\": 1}, {\"loss\": 1.5, \"step\": 2}],"
    " \"global_step\": 2, \"max_steps\": 4}";

static void run_ends(const char *folder, const char *home, const char *words, int status)
{
    struct flatline_run run;

    flatline_run(folder, home, words, NULL, NULL, &run);
    flatline_run_is_sound(&run, words);
    if (status >= 0 && run.status != status)
        fail_msg("%s: status %d, expected %d\n%s", words, run.status, status, run.err);
    flatline_run_free(&run);
}

static void nothing_in_a_folder_blocks(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *folder = tempdir_make();
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    tempdir_write_text(folder, "trainer_state.json", STATE);
    assert_int_equal(symlink(".", tempdir_path(folder, "loop")), 0);
    assert_int_equal(symlink("a", tempdir_path(folder, "b")), 0);
    assert_int_equal(symlink("b", tempdir_path(folder, "a")), 0);
    assert_int_equal(symlink("/etc", tempdir_path(folder, "outside")), 0);
    assert_int_equal(symlink("/dev/zero", tempdir_path(folder, "zero.log")), 0);
    assert_int_equal(symlink("/nonexistent", tempdir_path(folder, "config.json")), 0);
    assert_int_equal(mkfifo(tempdir_path(folder, "train.log"), 0600), 0);
    assert_int_equal(mkfifo(tempdir_path(folder, "data.jsonl"), 0600), 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/console.log", folder);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    free(flatline_run_all(folder));
    run_ends(tempdir_path(folder, "train.log"), NULL, "check --no-cache @", 2);
    run_ends("/dev/zero", NULL, "check --no-cache @", 2);
    run_ends("/proc/self", NULL, "check --no-cache @", -1);
    close(fd);
    tempdir_remove(folder);
}

static void very_many_files_and_checkpoints_are_read(void **state)
{
    char *folder = tempdir_make(), name[60];

    (void)state;
    tempdir_write_text(folder, "trainer_state.json", STATE);
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "checkpoint-%d/trainer_state.json", i);
        tempdir_write_text(folder, name, STATE);
    }
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "x/f%d.txt", i);
        tempdir_write_text(folder, name, "x");
    }
    run_ends(folder, NULL, "check --no-cache @", -1);
    tempdir_remove(folder);
}

static void long_names_and_deep_paths_are_told(void **state)
{
    char *folder = tempdir_make(), name[300];
    struct buf path;

    (void)state;
    memset(name, 'n', 251);
    memcpy(name + 251, ".log", 5);
    tempdir_write_text(folder, name, "{'loss': 1.0, 'epoch': 0.1}\n");
    memset(name, 'd', 250);
    name[250] = '\0';
    buf_init(&path, 4000);
    for (int i = 0; i < 14; i++)
        buf_printf(&path, "%s/", name);
    buf_puts(&path, "trainer_state.json");
    tempdir_write_text(folder, path.p, STATE);
    free(flatline_run_all(folder));
    buf_free(&path);
    tempdir_remove(folder);
}

/* A pickle whose loading would make a file. */
static void a_pickle_is_never_run(void **state)
{
    char *folder = tempdir_make(), mark[200], *json;
    struct buf pickle;

    (void)state;
    snprintf(mark, sizeof mark, "%s/it-ran", folder);
    buf_init(&pickle, 1000);
    buf_add(&pickle, "\x80\x02}X\x03\0\0\0bad", 11);
    buf_printf(&pickle, "cposix\nsystem\n(X%c", (int)(strlen(mark) + 6));
    buf_add(&pickle, "\0\0\0", 3);
    buf_printf(&pickle, "touch %stRs.", mark);
    tempdir_write(folder, "training_args.bin", pickle.p, pickle.n);
    tempdir_write_text(folder, "trainer_state.json", STATE);
    json = flatline_run_all(folder);
    assert_int_equal(access(mark, F_OK), -1);
    assert_non_null(strstr(json, "posix"));
    free(json);
    buf_free(&pickle);
    tempdir_remove(folder);
}

static void pickle_bombs_are_refused(void **state)
{
    static const struct {
        const char *begin, *piece;
        size_t n_begin, n_piece, times;
    } BOMBS[] = {
        {"\x80\x02X\xFF\xFF\xFF\x7F" "abc.", "", 10, 0, 0},
        {"\x80\x04\x8D\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F.", "", 12, 0, 0},
        {"\x80\x02]r\xFF\xFF\xFF\x7F.", "", 9, 0, 0},
        {"\x80\x02", "]", 2, 1, 200000},
        {"\x80\x02", "(", 2, 1, 1500000},
        {"\x80\x02]", "2", 3, 1, 1500000},
        {"\x80\x02]q\x00", "(h\x00h\x00h\x00h\x00t]q\x00", 5, 13, 1000},
        {"\x80\x02]q\x00h\x00" "a}q\x01h\x00h\x01s.", "", 15, 0, 0},
    };
    char *folder = tempdir_make();

    (void)state;
    tempdir_write_text(folder, "trainer_state.json", STATE);
    for (size_t i = 0; i < sizeof BOMBS / sizeof *BOMBS; i++) {
        struct buf text;

        buf_init(&text, 1 << 24);
        buf_add(&text, BOMBS[i].begin, BOMBS[i].n_begin);
        for (size_t k = 0; k < BOMBS[i].times; k++)
            buf_add(&text, BOMBS[i].piece, BOMBS[i].n_piece);
        buf_puts(&text, ".");
        tempdir_write(folder, "training_args.bin", text.p, text.n);
        run_ends(folder, NULL, "check --no-cache @", -1);
        buf_free(&text);
    }
    tempdir_remove(folder);
}

/* ---- A system that does not cooperate ---- */

static void small_files_only(void *ctx)
{
    (void)ctx;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){20000, 20000});
}

static void stdout_is_full(void *ctx)
{
    (void)ctx;
    dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
}

static void stdout_is_a_closed_pipe(void *ctx)
{
    int ends[2];

    (void)ctx;
    if (pipe(ends) == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
    }
}

static void a_full_disk_is_told(void **state)
{
    static flatline_setup *const SETUPS[] = {stdout_is_full, stdout_is_a_closed_pipe};
    static const char *const WORDS[] = {"check --no-cache @", "check --no-cache --format json @",
                                        "report --no-cache @", "import --no-cache @",
                                        "curves --no-cache @", "--help", "--version"};
    char *folder = tempdir_make(), *home = tempdir_make();
    struct flatline_run run;

    (void)state;
    tempdir_write_text(folder, "trainer_state.json", STATE);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof WORDS / sizeof *WORDS; k++) {
            flatline_run(folder, NULL, WORDS[k], SETUPS[i], NULL, &run);
            /* a full disk is a failure, a reader who leaves is none */
            if (SETUPS[i] == stdout_is_full ? run.status != 2 : run.status > 2)
                fail_msg("%s: status %d", WORDS[k], run.status);
            flatline_run_free(&run);
        }
    run_ends(folder, NULL, "report --no-cache --force -o /dev/full @", 2);
    flatline_run(folder, home, "check @", small_files_only, NULL, &run);
    flatline_run_is_sound(&run, "no room for a cache");
    flatline_run_free(&run);
    run_ends(folder, home, "check @", -1); /* and the cache is sound afterwards */
    tempdir_remove(home);
    tempdir_remove(folder);
}

static void a_damaged_cache_is_told_and_replaced(void **state)
{
    static const char *const PLACES[] = {".cache/flatline/cache.db", ".local/state/flatline/triage.db"};
    char *folder = tempdir_make(), *home = tempdir_make();

    (void)state;
    tempdir_write_text(folder, "trainer_state.json", STATE);
    run_ends(folder, home, "check @", -1);
    for (size_t i = 0; i < 2; i++) {
        run_ends(folder, home, "remark @ kept", 0);
        tempdir_write_text(home, PLACES[i], "this is no database, but it is long enough to be read");
        run_ends(folder, home, "check @", -1);
        run_ends(folder, home, "runs", 0);
        tempdir_write_text(home, PLACES[i], "");
        run_ends(folder, home, "check @", -1);
    }
    tempdir_remove(home);
    tempdir_remove(folder);
}

/* Ended by a signal after that much work; whenever that is, the cache must be sound. */
static void ends_after(void *ctx)
{
    const struct itimerval timer = {.it_value = {.tv_usec = *(const int *)ctx}};

    setitimer(ITIMER_PROF, &timer, NULL);
}

static void an_import_that_is_ended_leaves_a_sound_cache(void **state)
{
    char *folder = tempdir_make(), *home = tempdir_make();
    struct buf text;

    (void)state;
    buf_init(&text, (size_t)16 << 20);
    buf_puts(&text, "{\"log_history\": [");
    for (int i = 1; i < 20000; i++)
        buf_printf(&text, "%s{\"loss\": 1.5, \"grad_norm\": 1.0, \"step\": %d}", i > 1 ? "," : "", i);
    buf_puts(&text, "], \"global_step\": 1}");
    tempdir_write(folder, "trainer_state.json", text.p, text.n);
    for (int microseconds = 4000; microseconds < 500000; microseconds *= 2) {
        struct flatline_run run;

        flatline_run(folder, home, "import @", ends_after, &microseconds, &run);
        assert_true(run.status == 0 || run.status == 128 + SIGPROF);
        flatline_run_free(&run);
        run_ends(folder, home, "check @", -1);
    }
    buf_free(&text);
    tempdir_remove(home);
    tempdir_remove(folder);
}

static void two_at_once_share_a_cache(void **state)
{
    char *folder = tempdir_make(), *home = tempdir_make();
    pid_t children[3];

    (void)state;
    tempdir_write_text(folder, "trainer_state.json", STATE);
    for (size_t i = 0; i < 3; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            struct flatline_run run;

            flatline_run(folder, home, "check @", NULL, NULL, &run);
            _exit(run.status);
        }
    }
    for (size_t i = 0; i < 3; i++) {
        int status;

        waitpid(children[i], &status, 0);
        assert_true(WIFEXITED(status));
        assert_true(WEXITSTATUS(status) <= 1);
    }
    run_ends(folder, home, "runs", 0);
    tempdir_remove(home);
    tempdir_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_a_folder_blocks),
        cmocka_unit_test(very_many_files_and_checkpoints_are_read),
        cmocka_unit_test(long_names_and_deep_paths_are_told),
        cmocka_unit_test(a_pickle_is_never_run),
        cmocka_unit_test(pickle_bombs_are_refused),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(a_damaged_cache_is_told_and_replaced),
        cmocka_unit_test(an_import_that_is_ended_leaves_a_sound_cache),
        cmocka_unit_test(two_at_once_share_a_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
