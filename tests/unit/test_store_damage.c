/* Damaged, foreign and newer databases: moved aside and told, what the user wrote is saved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "core/store/sink.h"
#include "core/store/store.h"
#include "tests/harness/tempdir.h"

#define N_POINTS  5000
#define N_REMARKS 400

struct fixture {
    char *folder, *cache, *kept, *aside, *kept_aside;
    struct store *store;
    struct arena *arena;
    struct error err;
};

static const struct run RUN = {.key = "k", .folder = "/run", .name = "run"};
static const struct source SOURCE = {.path = "/run/log", .importer = "log", .size = 1};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = tempdir_make();
    assert_int_equal(mkdir(tempdir_path(f->folder, "flatline"), 0700), 0);
    f->cache = strdup(tempdir_path(f->folder, "flatline/cache.db"));
    f->aside = strdup(tempdir_path(f->folder, "flatline/cache.db.aside-1"));
    f->kept = strdup(tempdir_path(f->folder, "triage.db"));
    f->kept_aside = strdup(tempdir_path(f->folder, "triage.db.aside-1"));
    f->arena = arena_open(ARENA_CHECK_BYTES);
    setenv("TMPDIR", f->folder, 1);
    setenv("XDG_CACHE_HOME", f->folder, 1);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    store_close(f->store);
    arena_close(f->arena);
    tempdir_remove(f->folder);
    free(f->cache);
    free(f->aside);
    free(f->kept);
    free(f->kept_aside);
    free(f);
    return 0;
}

/* The cache in its default place. */
static void open_store(struct fixture *f)
{
    struct store_options options = {.kept_path = f->kept};

    assert_int_equal(store_open(&f->store, &options, &f->err), OK);
}

static void close_store(struct fixture *f)
{
    store_close(f->store);
    f->store = NULL;
}

static void exec(const char *path, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static char *slurp(const char *path, size_t *n)
{
    struct stat st;
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);

    char *bytes = malloc((size_t)st.st_size + 1);

    assert_int_equal(fread(bytes, 1, (size_t)st.st_size, file), st.st_size);
    fclose(file);
    *n = (size_t)st.st_size;
    return bytes;
}

static void spit(const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

/* One run with a series, an event and a note. */
static void fill(struct fixture *f)
{
    struct event event = {.kind = "k", .text = "said", .step = NONE, .line = 1, .byte = NONE};
    struct sink *sink;
    int handle;

    assert_int_equal(sink_open_store(&sink, f->store, &f->err), OK);
    assert_int_equal(sink_begin(sink, &RUN, &SOURCE, &f->err), OK);
    assert_int_equal(sink_series(sink, "loss", NULL, &handle, &f->err), OK);
    for (int i = 0; i < N_POINTS; i++) {
        struct point point = {.seq = i, .step = i, .line = i, .value = sqrt(i), .wall = NAN};

        assert_int_equal(sink_point(sink, handle, &point, &f->err), OK);
    }
    assert_int_equal(sink_event(sink, &event, &f->err), OK);
    assert_int_equal(sink_note(sink, NOTE_INFO, 1, 1, &f->err, "noted"), OK);
    assert_int_equal(sink_end(sink, 1, SOURCE_WHOLE, &f->err), OK);
    sink_close(sink);
}

/* Everything is right, or an error; never something else. */
static int read_all(struct fixture *f)
{
    const struct run *runs;
    const struct series *series;
    const struct event *events;
    const struct note *notes;
    struct point_columns points;
    size_t n;
    int rc = store_runs(f->store, f->arena, &runs, &n, &f->err);

    if (rc != OK)
        return rc;
    if (n == 0)
        return E_NOTFOUND;

    int64_t run_id = runs[0].id;

    rc = store_series(f->store, run_id, f->arena, &series, &n, &f->err);
    if (rc == OK && n == 1)
        rc = store_points(f->store, series[0].id, f->arena, &points, &f->err);
    if (rc == OK && n == 1)
        for (size_t i = 0; i < points.n; i++) {
            assert_true(points.value[i] == sqrt((double)i));
            assert_int_equal(points.step[i], i);
        }
    if (rc == OK)
        rc = store_events(f->store, run_id, f->arena, &events, &n, &f->err);
    if (rc == OK)
        rc = store_notes(f->store, run_id, f->arena, &notes, &n, &f->err);
    return rc;
}

static void is_fresh_and_told(struct fixture *f, const char *what)
{
    assert_non_null(store_notices(f->store)[0]);
    if (!strstr(store_notices(f->store)[0], what))
        fail_msg("%s", store_notices(f->store)[0]);
    assert_non_null(strstr(store_notices(f->store)[0], f->aside));
    assert_int_equal(access(f->aside, F_OK), 0);
    assert_int_equal(read_all(f), E_NOTFOUND);
    fill(f);
    assert_int_equal(read_all(f), OK);
}

/* ---- The cache ------------------------------------------------------------------------------ */

static void bytes_that_are_no_database_are_moved_aside(void **state)
{
    struct fixture *f = *state;
    char garbage[5000], *bytes;
    size_t n;

    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char)(i * 7919 >> 3);
    spit(f->cache, garbage, sizeof garbage);
    open_store(f);
    is_fresh_and_told(f, "no database");
    bytes = slurp(f->aside, &n);
    assert_int_equal(n, sizeof garbage);
    assert_memory_equal(bytes, garbage, n);
    free(bytes);
}

static void a_database_of_another_program_is_moved_aside(void **state)
{
    struct fixture *f = *state;

    exec(f->cache, "CREATE TABLE runs (x); INSERT INTO runs VALUES (1)");
    open_store(f);
    is_fresh_and_told(f, "another program");
    exec(f->aside, "SELECT x FROM runs");
    close_store(f);
    exec(f->cache, "PRAGMA application_id = 77");
    open_store(f);
    assert_non_null(strstr(store_notices(f->store)[0], "aside-2"));
}

static void a_named_file_that_is_no_cache_is_refused_and_left(void **state)
{
    struct fixture *f = *state;
    const struct store_options options = {.cache_path = f->cache, .kept_path = f->kept};
    static const char TEXT[] = "notes of the user";
    size_t n;

    spit(f->cache, TEXT, sizeof TEXT);
    assert_int_equal(store_open(&f->store, &options, &f->err), E_DB);
    assert_string_equal(f->err.path, f->cache);
    assert_non_null(strstr(f->err.message, "is no database"));

    char *bytes = slurp(f->cache, &n);

    assert_int_equal(n, sizeof TEXT);
    assert_memory_equal(bytes, TEXT, n);
    free(bytes);
    unlink(f->cache);
    exec(f->cache, "CREATE TABLE runs (x); INSERT INTO runs VALUES (1)");
    assert_int_equal(store_open(&f->store, &options, &f->err), E_DB);
    assert_non_null(strstr(f->err.message, "another program"));
    exec(f->cache, "SELECT x FROM runs");
    assert_int_equal(access(f->aside, F_OK), -1);
}

static void a_cache_found_damaged_late_is_renewed_and_told(void **state)
{
    struct fixture *f = *state;
    const struct store_options options = {.kept_path = f->kept};
    const struct series *series;
    struct point_columns points;
    size_t n;

    open_store(f);
    fill(f);
    close_store(f);
    exec(f->cache, "UPDATE point_block SET value_bits = zeroblob(length(value_bits))");
    open_store(f);
    assert_null(store_notices(f->store)[0]);
    assert_int_equal(store_series(f->store, 1, f->arena, &series, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_int_equal(store_points(f->store, series[0].id, f->arena, &points, &f->err), E_DB);
    assert_true(store_is_damaged(f->store));
    assert_int_equal(store_renew(&f->store, &options, &f->err), OK);
    assert_false(store_is_damaged(f->store));
    is_fresh_and_told(f, "damaged");
}

static void a_newer_cache_is_moved_aside(void **state)
{
    struct fixture *f = *state;

    open_store(f);
    fill(f);
    close_store(f);
    exec(f->cache, "PRAGMA user_version = 1000");
    open_store(f);
    is_fresh_and_told(f, "newer");
}

/* As a build between two releases may leave it: the last step was done, the version says not. */
static void a_cache_whose_tables_are_not_its_versions_is_moved_aside(void **state)
{
    struct fixture *f = *state;

    open_store(f);
    fill(f);
    close_store(f);
    exec(f->cache, "PRAGMA user_version = 3");
    open_store(f);
    is_fresh_and_told(f, "damaged");
}

static void a_cut_cache_is_moved_aside(void **state)
{
    struct fixture *f = *state;
    size_t n;

    open_store(f);
    fill(f);
    close_store(f);

    char *bytes = slurp(f->cache, &n);

    spit(f->cache, bytes, n / 2 + 100);
    free(bytes);
    open_store(f);
    is_fresh_and_told(f, "damaged");
}

static void an_empty_file_is_a_fresh_cache(void **state)
{
    struct fixture *f = *state;

    spit(f->cache, "", 0);
    open_store(f);
    assert_null(store_notices(f->store)[0]);
    fill(f);
    assert_int_equal(read_all(f), OK);
}

static void a_whole_log_beside_a_bad_cache_brings_it_back(void **state)
{
    struct fixture *f = *state;
    size_t n;

    open_store(f);
    fill(f);

    char *log = slurp(tempdir_path(f->folder, "flatline/cache.db-wal"), &n);

    close_store(f);
    assert_true(n > 4096);
    spit(f->cache, "no database at all, but with a log beside it", 44);
    spit(tempdir_path(f->folder, "flatline/cache.db-wal"), log, n);
    free(log);
    open_store(f);
    assert_null(store_notices(f->store)[0]);
    assert_int_equal(read_all(f), OK);
}

/* Garbage anywhere: found on opening, or an error on reading, or harmless; and the next start but
 * one works in any case. */
static void garbage_anywhere_is_never_read_as_truth(void **state)
{
    struct fixture *f = *state;
    size_t n, step = 3001;
    int n_found = 0;

    open_store(f);
    fill(f);
    close_store(f);

    char *good = slurp(f->cache, &n);
    char *bad = malloc(n);

    for (size_t at = 0; at < n; at += step) {
        memcpy(bad, good, n);
        for (size_t i = at; i < at + 40 && i < n; i++)
            bad[i] = (char)(bad[i] ^ (0x5a + (i & 3)));
        spit(f->cache, bad, n);
        open_store(f);

        bool is_told = store_notices(f->store)[0] != NULL;
        int rc = read_all(f);

        if (!is_told && rc != OK) {
            assert_true(rc == E_DB || rc == E_NOTFOUND || rc == E_NOMEM);
            assert_true(rc != E_DB || store_is_damaged(f->store));
        }
        n_found += is_told || rc != OK;
        close_store(f);
        open_store(f);
        if (!is_told && rc == E_DB)
            assert_int_equal(read_all(f), E_NOTFOUND);      /* fresh */
        close_store(f);
        unlink(f->aside);
        arena_reset(f->arena);
    }
    assert_true(n_found > 10);
    free(good);
    free(bad);
}

/* ---- The kept file -------------------------------------------------------------------------- */

static void write_remarks(struct fixture *f)
{
    open_store(f);
    for (int i = 0; i < N_REMARKS; i++) {
        char text[256];
        struct remark remark = {.text = text};
        int64_t id;

        snprintf(text, sizeof text, "remark %d %0200d", i, i);
        assert_int_equal(store_remark_put(f->store, "k", &remark, &id, &f->err), OK);
    }
    assert_int_equal(store_tick_set(f->store, "k", "a", "dismissed", "why", &f->err), OK);
    assert_int_equal(store_answer_set(f->store, "k", "kind", "dpo", &f->err), OK);
    close_store(f);
}

static size_t count_remarks(struct fixture *f)
{
    const struct remark *remarks;
    size_t n;

    assert_int_equal(store_remarks(f->store, "k", f->arena, &remarks, &n, &f->err), OK);
    for (size_t i = 0; i < n; i++) {
        char text[256];

        snprintf(text, sizeof text, "remark %d %0200d", (int)remarks[i].id - 1,
                 (int)remarks[i].id - 1);
        assert_string_equal(remarks[i].text, text);
    }
    return n;
}

static void remarks_of_a_damaged_file_are_saved(void **state)
{
    struct fixture *f = *state;
    const struct tick *ticks;
    const struct answer *answers;
    size_t n;

    write_remarks(f);

    char *bytes = slurp(f->kept, &n);

    memset(bytes + n / 2 / 4096 * 4096, 0xa5, 4096);        /* one page in the middle */
    spit(f->kept, bytes, n);
    free(bytes);
    open_store(f);
    assert_non_null(strstr(store_notices(f->store)[0], "were saved"));
    assert_non_null(strstr(store_notices(f->store)[0], f->kept_aside));
    assert_int_equal(access(f->kept_aside, F_OK), 0);

    size_t saved = count_remarks(f);

    assert_true(saved > N_REMARKS / 2 && saved < N_REMARKS);
    assert_int_equal(store_ticks(f->store, "k", f->arena, &ticks, &n, &f->err), OK);
    assert_int_equal(n, 1);
    assert_int_equal(store_answers(f->store, "k", f->arena, &answers, &n, &f->err), OK);
    assert_int_equal(n, 1);
    close_store(f);
    open_store(f);                          /* saved for good, told once */
    assert_null(store_notices(f->store)[0]);
    assert_int_equal(count_remarks(f), saved);
}

static void a_kept_file_of_garbage_is_moved_aside(void **state)
{
    struct fixture *f = *state;
    struct remark remark = {.text = "new"};
    int64_t id;

    spit(f->kept, "this is not a database, whatever its name says", 46);
    open_store(f);
    assert_non_null(strstr(store_notices(f->store)[0], "damaged"));
    assert_int_equal(access(f->kept_aside, F_OK), 0);
    assert_int_equal(store_remark_put(f->store, "k", &remark, &id, &f->err), OK);
}

static void a_kept_file_of_another_program_is_moved_aside(void **state)
{
    struct fixture *f = *state;

    exec(f->kept, "CREATE TABLE remark (x)");
    open_store(f);
    assert_non_null(strstr(store_notices(f->store)[0], "another program"));
    assert_int_equal(access(f->kept_aside, F_OK), 0);
    assert_int_equal(count_remarks(f), 0);
}

static void a_newer_kept_file_is_read_and_left_alone(void **state)
{
    struct fixture *f = *state;
    struct remark remark = {.text = "lost"};
    size_t n, n_after;
    int64_t id;

    write_remarks(f);
    exec(f->kept, "PRAGMA user_version = 1000");

    char *before = slurp(f->kept, &n);

    open_store(f);
    assert_non_null(strstr(store_notices(f->store)[0], "lost at exit"));
    assert_non_null(strstr(store_notices(f->store)[0], "newer"));
    assert_int_equal(count_remarks(f), N_REMARKS);
    assert_int_equal(store_remark_put(f->store, "x", &remark, &id, &f->err), OK);
    close_store(f);

    char *after = slurp(f->kept, &n_after);

    assert_int_equal(n, n_after);
    assert_memory_equal(before, after, n);
    assert_int_not_equal(access(f->kept_aside, F_OK), 0);
    free(before);
    free(after);
}

static void remarks_that_cannot_be_written_can_still_be_read(void **state)
{
    struct fixture *f = *state;
    struct remark remark = {.text = "lost"};
    int64_t id;

    if (geteuid() == 0)
        skip();                             /* root may write anywhere */
    write_remarks(f);
    assert_int_equal(chmod(f->kept, 0400), 0);
    open_store(f);
    assert_non_null(strstr(store_notices(f->store)[0], "lost at exit"));
    assert_int_equal(count_remarks(f), N_REMARKS);
    assert_int_equal(store_remark_put(f->store, "x", &remark, &id, &f->err), OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_that_are_no_database_are_moved_aside),
        TEST(a_database_of_another_program_is_moved_aside),
        TEST(a_named_file_that_is_no_cache_is_refused_and_left),
        TEST(a_cache_found_damaged_late_is_renewed_and_told),
        TEST(a_newer_cache_is_moved_aside),
        TEST(a_cache_whose_tables_are_not_its_versions_is_moved_aside),
        TEST(a_cut_cache_is_moved_aside),
        TEST(an_empty_file_is_a_fresh_cache),
        TEST(a_whole_log_beside_a_bad_cache_brings_it_back),
        TEST(garbage_anywhere_is_never_read_as_truth),
        TEST(remarks_of_a_damaged_file_are_saved),
        TEST(a_kept_file_of_garbage_is_moved_aside),
        TEST(a_kept_file_of_another_program_is_moved_aside),
        TEST(a_newer_kept_file_is_read_and_left_alone),
        TEST(remarks_that_cannot_be_written_can_still_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
