/* Every N-th allocation and every N-th write fails, over opening, import, results and a remark.
 * After each the databases are sound and hold all or nothing of a batch, what was reported as
 * done is there, nothing was moved aside, and the next import works.
 *
 * With FAULT_EVERY in the environment really every one, which takes minutes; else of the many
 * allocations, and of the writes on top of a cache, every few.
 *
 * Writes fail in a VFS that stands before SQLite's own. Allocations fail in our own malloc; under
 * the address sanitizer, which has its own, only in SQLite's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "core/store/sink.h"
#include "core/store/store.h"
#include "tests/harness/tempdir.h"

#define MANY_EVENTS 2500        /* more than a batch */
#define FIRST_BATCH 1999        /* events in it, of 2,000 records: the first is the series */
#define FEW_EVENTS  20          /* allocations are many, and most of them are alike */

/* The N-th call from now fails (1: the next); 0: none does. */
struct fault {
    long countdown;
    bool stays;                 /* all later ones fail too */
    bool has_fired;
    int code;
};
static struct fault write_fault, memory_fault;
static int n_events_told;

static bool fires(struct fault *fault)
{
    if (fault->countdown <= 0)
        return false;
    if (--fault->countdown > 0)
        return false;
    fault->has_fired = true;
    if (fault->stays)
        fault->countdown = 1;
    return true;
}

/* ---- Memory --------------------------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__
static sqlite3_mem_methods real_memory;

static void *failing_malloc(int n)
{
    return fires(&memory_fault) ? NULL : real_memory.xMalloc(n);
}

static void *failing_realloc(void *p, int n)
{
    return fires(&memory_fault) ? NULL : real_memory.xRealloc(p, n);
}

static void put_memory_before_sqlite(void)
{
    sqlite3_mem_methods methods;

    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory), SQLITE_OK);
    methods = real_memory;
    methods.xMalloc = failing_malloc;
    methods.xRealloc = failing_realloc;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
}
#else
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
    if (fires(&memory_fault)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    if (fires(&memory_fault)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    if (fires(&memory_fault)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(p, n);
}

static void put_memory_before_sqlite(void)
{
}
#endif

/* ---- Writes --------------------------------------------------------------------------------- */

struct file {
    sqlite3_file base;
    sqlite3_file *real;
};

static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct file *)file)->real;
}

static int file_close(sqlite3_file *f)
{
    return real_of(f)->pMethods->xClose(real_of(f));
}
static int file_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    return real_of(f)->pMethods->xRead(real_of(f), to, n, at);
}
static int file_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    if (fires(&write_fault)) {
        /* A full disk takes a part of it. */
        (void)real_of(f)->pMethods->xWrite(real_of(f), from, n / 2, at);
        return write_fault.code;
    }
    return real_of(f)->pMethods->xWrite(real_of(f), from, n, at);
}
static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    return fires(&write_fault) ? SQLITE_IOERR_TRUNCATE
                               : real_of(f)->pMethods->xTruncate(real_of(f), size);
}
/* Waiting for the disk proves nothing here and takes long. */
static int file_sync(sqlite3_file *f, int flags)
{
    (void)f;
    (void)flags;
    return fires(&write_fault) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}
static int file_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return real_of(f)->pMethods->xFileSize(real_of(f), size);
}
static int file_lock(sqlite3_file *f, int lock)
{
    return real_of(f)->pMethods->xLock(real_of(f), lock);
}
static int file_unlock(sqlite3_file *f, int lock)
{
    return real_of(f)->pMethods->xUnlock(real_of(f), lock);
}
static int file_check_lock(sqlite3_file *f, int *is_held)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), is_held);
}
static int file_control(sqlite3_file *f, int op, void *argument)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), op, argument);
}
static int file_sector(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}
static int file_traits(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}
static int shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, out);
}
static int shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}
static void shm_barrier(sqlite3_file *f)
{
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}
static int shm_unmap(sqlite3_file *f, int remove)
{
    return real_of(f)->pMethods->xShmUnmap(real_of(f), remove);
}

static const sqlite3_io_methods FILE_METHODS = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

static int vfs_open(sqlite3_vfs *self, const char *name, sqlite3_file *f, int flags, int *out)
{
    struct file *file = (struct file *)f;

    (void)self;
    file->real = (sqlite3_file *)(file + 1);
    file->base.pMethods = NULL;

    int code = real_vfs->xOpen(real_vfs, name, file->real, flags, out);

    if (file->real->pMethods)
        file->base.pMethods = &FILE_METHODS;
    return code;
}

static int vfs_delete(sqlite3_vfs *self, const char *name, int sync_folder)
{
    (void)self;
    (void)sync_folder;
    return real_vfs->xDelete(real_vfs, name, 0);
}

static int before_all(void **state)
{
    (void)state;
    put_memory_before_sqlite();
    assert_int_equal(sqlite3_initialize(), SQLITE_OK);
    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs;
    vfs.zName = "faults";
    vfs.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
    vfs.xOpen = vfs_open;
    vfs.xDelete = vfs_delete;
    return sqlite3_vfs_register(&vfs, 1) == SQLITE_OK ? 0 : -1;
}

/* ---- The story ------------------------------------------------------------------------------ */

static const struct run RUN = {.key = "k", .folder = "/run", .name = "run"};
static const struct source SOURCE = {.path = "/run/log", .importer = "log", .size = 1};

struct story {
    char *folder, *cache, *kept;
    bool is_here;               /* the databases are those in the folder, not private ones */
    int open, import, results, remark;
};

static int import(struct store *store)
{
    struct event event = {.kind = "k", .text = "some text of some length", .step = NONE,
                          .line = NONE, .byte = NONE};
    struct setting setting = {.raw_name = "lr", .value = "1", .type = VALUE_INT, .line = NONE};
    struct sink *sink = NULL;
    int handle = 0;
    int rc = sink_open_store(&sink, store, NULL);

    if (rc != OK)
        return rc;
    rc = sink_begin(sink, &RUN, &SOURCE, NULL);
    if (rc == OK)
        rc = sink_series(sink, "loss", NULL, &handle, NULL);
    for (int i = 0; i < n_events_told && rc == OK; i++) {
        struct point point = {.seq = i, .step = i, .line = NONE, .value = i, .wall = NAN};

        rc = sink_point(sink, handle, &point, NULL);
        event.seq = i;
        if (rc == OK)
            rc = sink_event(sink, &event, NULL);
    }
    if (rc == OK)
        rc = sink_setting(sink, &setting, NULL);
    if (rc == OK)
        rc = sink_end(sink, 1, SOURCE_WHOLE, NULL);
    sink_close(sink);
    return rc;
}

static int put_results(struct store *store)
{
    static const char *const FIXES[] = {"one", "two"};
    struct evidence evidence[3];
    struct check_result results[2];
    struct arena *arena = arena_open(ARENA_CHECK_BYTES);
    struct run run;

    if (!arena)
        return E_NOMEM;
    memset(evidence, 0, sizeof evidence);
    memset(results, 0, sizeof results);
    for (int i = 0; i < 3; i++)
        evidence[i].kind = "log";
    for (int i = 0; i < 2; i++) {
        results[i].check_id = i ? "b" : "a";
        results[i].verdict = VERDICT_FAIL;
        results[i].evidence = evidence;
        results[i].n_evidence = 3;
        results[i].fixes = FIXES;
        results[i].n_fixes = 2;
    }

    int rc = store_run_find(store, "k", arena, &run, NULL);

    if (rc == OK)
        rc = store_results_put(store, run.id, results, 2, 7, NULL);
    arena_close(arena);
    return rc;
}

static void tell(struct story *story)
{
    struct store_options options = {
        .cache_path = story->cache, .kept_path = story->kept, .busy_timeout_ms = 1};
    struct remark remark = {.text = "remember"};
    struct store *store = NULL;
    int64_t id;

    story->import = story->results = story->remark = E_DB;
    story->open = store_open(&store, &options, NULL);
    if (story->open != OK)
        return;
    story->is_here = strcmp(store_cache_path(store), story->cache) == 0;
    story->import = import(store);
    story->results = put_results(store);
    story->remark = store_remark_put(store, "k", &remark, &id, NULL);
    if (strcmp(store_kept_path(store), story->kept) != 0)
        story->remark = E_DB;
    store_close(store);
}

/* ---- What must hold afterwards -------------------------------------------------------------- */

static int number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int n = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        n = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return n;
}

static bool is_sound(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    bool is_good = sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL) ==
                       SQLITE_OK &&
                   sqlite3_step(statement) == SQLITE_ROW &&
                   strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;

    sqlite3_finalize(statement);
    return is_good;
}

static void check_cache(const struct story *story)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(story->cache, &db), SQLITE_OK);
    assert_true(is_sound(db));
    if (number(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'result_text'") == 1) {
        int n_events = number(db, "SELECT count(*) FROM event");
        int n_whole = number(db, "SELECT count(*) FROM source WHERE state = 'whole'");
        int n_results = number(db, "SELECT count(*) FROM check_result");

        if (n_whole) {
            assert_int_equal(n_events, n_events_told);
            assert_int_equal(number(db, "SELECT sum(n) FROM point_block"), n_events_told);
            assert_int_equal(number(db, "SELECT n_points FROM series"), n_events_told);
        } else {
            assert_true(n_events == 0 || n_events == FIRST_BATCH);
        }
        assert_int_equal(
            number(db, "SELECT count(*) FROM source WHERE state = 'damaged' AND EXISTS"
                       " (SELECT 1 FROM event)"),
            0);
        assert_true(n_results == 0 || n_results == 2);
        assert_int_equal(number(db, "SELECT count(*) FROM evidence"), n_results * 3);
        assert_int_equal(number(db, "SELECT count(*) FROM result_text"), n_results * 2);
        if (story->is_here && story->import == OK)
            assert_int_equal(n_whole, 1);
        if (story->is_here && story->results == OK)
            assert_int_equal(n_results, 2);
    } else {
        assert_true(!story->is_here || story->import != OK);
    }
    sqlite3_close(db);
}

static void check_kept(const struct story *story)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(story->kept, &db), SQLITE_OK);
    assert_true(is_sound(db));
    if (story->remark == OK)
        assert_true(number(db, "SELECT count(*) FROM remark WHERE text = 'remember'") >= 1);
    sqlite3_close(db);
}

static void check_afterwards(struct story *story)
{
    struct story again = *story;

    assert_int_not_equal(access(tempdir_path(story->folder, "cache.db.aside-1"), F_OK), 0);
    assert_int_not_equal(access(tempdir_path(story->folder, "triage.db.aside-1"), F_OK), 0);
    check_cache(story);
    check_kept(story);
    n_events_told = FEW_EVENTS;
    tell(&again);
    assert_int_equal(again.open, OK);
    assert_int_equal(again.import, OK);
    assert_int_equal(again.results, OK);
    assert_int_equal(again.remark, OK);
    assert_true(again.is_here);
}

struct plan {
    struct fault *fault;
    bool stays;
    int code;
    bool has_cache;             /* on top of databases that are there already */
    int n_events;
    int stride;
};

/* Tells the story with the fault at 1, 1 + stride … until it is not met any more. */
static void fail_each(const struct plan *plan)
{
    int stride = getenv("FAULT_EVERY") ? 1 : plan->stride;
    long n_told = 0;

    for (long n = 1;; n += stride) {
        struct story story = {.folder = tempdir_make()};

        story.cache = strdup(tempdir_path(story.folder, "cache.db"));
        story.kept = strdup(tempdir_path(story.folder, "triage.db"));
        setenv("TMPDIR", story.folder, 1);
        n_events_told = plan->n_events;
        if (plan->has_cache)
            tell(&story);
        *plan->fault =
            (struct fault){.countdown = n, .stays = plan->stays, .code = plan->code};
        tell(&story);

        bool has_fired = plan->fault->has_fired;

        *plan->fault = (struct fault){0};
        if (has_fired)
            check_afterwards(&story);
        else
            assert_int_equal(story.remark, OK);
        free(story.cache);
        free(story.kept);
        tempdir_remove(story.folder);
        if (!has_fired)
            break;
        n_told++;
    }
    assert_true(n_told > 10);
}

static void each_write_fails_once(void **state)
{
    (void)state;
    fail_each(&(struct plan){&write_fault, false, SQLITE_IOERR_WRITE, false, MANY_EVENTS, 1});
}

static void the_disk_is_full_from_each_write_on(void **state)
{
    (void)state;
    fail_each(&(struct plan){&write_fault, true, SQLITE_FULL, false, MANY_EVENTS, 1});
}

static void the_disk_is_full_on_top_of_a_cache(void **state)
{
    (void)state;
    fail_each(&(struct plan){&write_fault, true, SQLITE_FULL, true, MANY_EVENTS, 3});
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    fail_each(&(struct plan){&memory_fault, false, 0, false, FEW_EVENTS, 7});
}

static void memory_is_gone_from_each_allocation_on(void **state)
{
    (void)state;
    fail_each(&(struct plan){&memory_fault, true, 0, true, FEW_EVENTS, 11});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_write_fails_once),
        cmocka_unit_test(the_disk_is_full_from_each_write_on),
        cmocka_unit_test(the_disk_is_full_on_top_of_a_cache),
        cmocka_unit_test(each_allocation_fails_once),
        cmocka_unit_test(memory_is_gone_from_each_allocation_on),
    };

    return cmocka_run_group_tests(tests, before_all, NULL);
}
