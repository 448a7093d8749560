/* Carries a plan out: every file that is not in the store yet is read by its importer. A file's
 * failure is its own; only the database's and a cancellation stop the rest. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/read/source.h"
#include "importers/file_ends.h"
#include "importers/folder.h"

#define PROCESSES_MAX   4096 /* looked at for files that are being written */
#define DESCRIPTORS_MAX 256  /* of one process */
#define WRITTEN_MAX     1024
#define FRESH_S         600  /* a record so young is one of a run that goes on (CHECKS.md C0.1) */

struct written { /* a file that some process has open for writing */
    uint64_t device, inode;
};

struct progress {
    const struct import_hooks *hooks;
    int64_t done, total; /* done: without the file that is being read */
};

struct importing {
    struct sink *sink;
    const struct import_hooks *hooks;
    struct arena *arena;
    struct progress progress;
    struct written *written;
    size_t n_written;
    bool reimport;
    bool grows; /* the file that is being read: it grew between two looks */
};

/* ---- Which files are being written ---- */

static bool opens_for_writing(const char *process, const char *descriptor)
{
    char path[320], text[256];
    unsigned flags = 0;
    int n = snprintf(path, sizeof path, "/proc/%s/fdinfo/%s", process, descriptor);

    if (n < 0 || (size_t)n >= sizeof path)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0)
        return false;
    text[got] = '\0';
    const char *at = strstr(text, "flags:");
    return at && sscanf(at, "flags: %o", &flags) == 1 && (flags & O_ACCMODE) != O_RDONLY;
}

static void look_at_process(struct importing *importing, const char *process)
{
    char path[320];
    struct stat st;
    int n = snprintf(path, sizeof path, "/proc/%s/fd", process);
    DIR *dir = n > 0 && (size_t)n < sizeof path ? opendir(path) : NULL;
    struct dirent *entry;

    for (int i = 0; dir && (entry = readdir(dir)) && i < DESCRIPTORS_MAX; i++) {
        if (*entry->d_name == '.' || importing->n_written == WRITTEN_MAX)
            continue;
        n = snprintf(path, sizeof path, "/proc/%s/fd/%s", process, entry->d_name);
        if (n < 0 || (size_t)n >= sizeof path || stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
            !opens_for_writing(process, entry->d_name))
            continue;
        importing->written[importing->n_written++] =
            (struct written){(uint64_t)st.st_dev, (uint64_t)st.st_ino};
    }
    if (dir)
        closedir(dir);
}

/* A date proves nothing (a copy has one too); a process that holds the log open does. */
static void find_written(struct importing *importing)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    char own[32];

    importing->written = calloc(WRITTEN_MAX, sizeof *importing->written);
    snprintf(own, sizeof own, "%ld", (long)getpid());
    for (int i = 0; dir && importing->written && (entry = readdir(dir)) && i < PROCESSES_MAX;)
        if (*entry->d_name >= '0' && *entry->d_name <= '9' && strcmp(entry->d_name, own) != 0) {
            look_at_process(importing, entry->d_name);
            i++;
        }
    if (dir)
        closedir(dir);
}

static bool is_written(const struct importing *importing, const struct source *source)
{
    for (size_t i = 0; i < importing->n_written; i++)
        if (importing->written[i].device == (uint64_t)source->device &&
            importing->written[i].inode == (uint64_t)source->inode)
            return true;
    return false;
}

/* ---- One file ---- */

static void report_progress(void *ctx, int64_t bytes_done)
{
    struct progress *progress = ctx;

    if (progress->hooks && progress->hooks->progress)
        progress->hooks->progress(progress->hooks->ctx, progress->done + bytes_done,
                                  progress->total);
}

static bool is_cancelled(const struct importing *importing)
{
    return importing->hooks && importing->hooks->cancel && atomic_load(importing->hooks->cancel);
}

static int describe(const struct plan_file *file, struct source *out, struct error *err)
{
    struct source_stat st;
    int rc = source_stat_path(file->path, &st, err);

    if (rc == OK)
        *out = (struct source){.path = file->path,
                               .importer = file->importer->id,
                               .importer_version = file->importer->version,
                               .size = st.is_regular ? st.size : 0,
                               .mtime_ns = st.mtime_ns,
                               .device = st.device,
                               .inode = st.inode,
                               .role = file->role};
    return rc;
}

static bool stops_everything(int rc)
{
    return rc == E_CANCELLED || rc == E_DB;
}

/* What a later look has to know of the file; *age: seconds since its latest record, NaN: it has no times. */
static int mark(struct importing *importing, const struct source *before, double *age,
                struct error *err)
{
    struct source marks = *before;
    double first, last;

    sink_times(importing->sink, &first, &last);
    *age = (double)clock_now() - last;
    marks.first_wall = isnan(first) ? NONE : (int64_t)first;
    marks.last_wall = isnan(last) ? NONE : (int64_t)last;
    marks.hashed_to = 0;
    if (file_is_appended(before->importer, before->path))
        file_ends_read(&marks);
    return sink_mark(importing->sink, &marks, err);
}

/* A date of a file proves nothing (a copy has one too); the time in its own records does. */
static int keep_fresh(struct importing *importing, double age, struct import *import,
                      struct error *err)
{
    if (import->state == SOURCE_WHOLE)
        import->state = SOURCE_GROWING;
    return sink_note(importing->sink, NOTE_INFO, NONE, NONE, err,
                     "its last record was %.0f s old when it was read: the run may be going on",
                     age > 0 ? age : 0.0);
}

/* It grew, shrank or was replaced while it was read, or a process is still writing it. */
static int settle(struct importing *importing, const struct source *before, struct import *import,
                  const struct plan_file *file, struct error *err)
{
    struct source after;
    double age;
    int rc = mark(importing, before, &age, err);

    if (rc != OK)
        return rc;
    if (describe(file, &after, NULL) != OK || after.inode != before->inode)
        return sink_note(importing->sink, NOTE_WARN, NONE, NONE, err,
                         "the file was removed or replaced while it was read");
    if (after.size != before->size || after.mtime_ns != before->mtime_ns) {
        import->state = SOURCE_GROWING;
        rc = sink_note(importing->sink, NOTE_INFO, NONE, NONE, err,
                       "the file changed while it was read: %lld bytes, then %lld",
                       (long long)before->size, (long long)after.size);
    } else if (importing->grows || is_written(importing, before)) {
        if (import->state == SOURCE_WHOLE)
            import->state = SOURCE_GROWING;
        rc = sink_note(importing->sink, NOTE_INFO, NONE, NONE, err, "%s",
                       importing->grows ? "the file grew between two looks"
                                        : "another process has the file open for writing");
    } else if (fabs(age) <= FRESH_S && !import->is_over) {
        rc = keep_fresh(importing, age, import, err);
    } else if (import->state == SOURCE_GROWING) {
        import->state = SOURCE_DAMAGED; /* half a row, and nobody there to finish it */
    }
    return rc;
}

/* Stopped by the user: what was read so far stays, and is never taken for the whole. */
static int keep_part(struct importing *importing, const struct error *why, struct error *err)
{
    int rc = sink_note(importing->sink, NOTE_WARN, NONE, NONE, err,
                       "reading was stopped: what follows in the file is not known");

    if (rc == OK)
        rc = sink_end(importing->sink, 0, SOURCE_GROWING, err);
    else
        sink_abort(importing->sink);
    if (rc == OK && err)
        *err = *why;
    return rc == OK ? E_CANCELLED : rc;
}

/* The importer gave up: its note stays, its rows do not. */
static int give_up(struct importing *importing, int rc, const struct error *why, struct error *err)
{
    if (rc == E_CANCELLED)
        return keep_part(importing, why, err);
    if (stops_everything(rc)) {
        sink_abort(importing->sink);
        if (err)
            *err = *why;
        return rc;
    }
    log_line("import: %s: %s", why->path, why->message);
    int noted =
        sink_note(importing->sink, NOTE_ERROR, why->line, why->byte, err, "%s", why->message);
    sink_abort(importing->sink);
    return stops_everything(noted) ? noted : OK;
}

static int read_file(struct importing *importing, const struct plan_run *run,
                     const struct plan_file *file, const struct source *source,
                     struct import_event *event, struct error *err)
{
    struct error why = {0};
    struct import import = {.path = file->path,
                            .run = &run->run,
                            .role = file->role,
                            .sink = importing->sink,
                            .arena = importing->arena,
                            .cancel = importing->hooks ? importing->hooks->cancel : NULL,
                            .progress = report_progress,
                            .progress_ctx = &importing->progress,
                            .n_rows_are = "",
                            .read_to = source->size,
                            .state = SOURCE_WHOLE};
    int rc = sink_begin(importing->sink, &run->run, source, err);

    if (rc != OK)
        return rc;
    arena_reset(importing->arena);
    rc = file->importer->run(&import, &why);
    if (rc != OK) {
        event->state = SOURCE_DAMAGED;
        return give_up(importing, rc, &why, err);
    }
    rc = settle(importing, source, &import, file, err);
    if (rc == OK && file->note)
        rc = sink_note(importing->sink, NOTE_WARN, NONE, NONE, err, "%s", file->note);
    if (rc == OK)
        rc = sink_end(importing->sink, import.read_to, import.state, err);
    else
        sink_abort(importing->sink);
    event->n_rows = import.n_rows;
    event->n_rows_are = import.n_rows_are;
    event->state = import.state;
    return rc;
}

/* A folder is looked at each time, which costs little. */
static bool is_current(struct importing *importing, const struct plan_run *run,
                       const struct plan_file *file, const struct source *source)
{
    enum import_choice choice = IMPORT_AS_EVER;

    if (importing->hooks && importing->hooks->choose)
        choice = importing->hooks->choose(importing->hooks->ctx, file, source);
    importing->grows = choice == IMPORT_GROWING;
    if (choice != IMPORT_AS_EVER)
        return choice == IMPORT_LEAVE;
    return !importing->reimport && !file->importer->is_folder &&
           !is_written(importing, source) && sink_is_current(importing->sink, &run->run, source);
}

static int import_file(struct importing *importing, const struct plan_run *run,
                       const struct plan_file *file, struct source *source, struct error *err)
{
    struct import_event event = {.run = run, .file = file, .n_rows_are = "", .state = SOURCE_WHOLE};
    int rc = describe(file, source, NULL);

    if (rc != OK)
        event.state = SOURCE_GONE;
    else if (is_current(importing, run, file, source))
        event.was_current = true;
    else {
        rc = read_file(importing, run, file, source, &event, err);
        if (rc != OK)
            return rc;
    }
    importing->progress.done += file->size;
    report_progress(&importing->progress, 0);
    if (importing->hooks && importing->hooks->file_done)
        importing->hooks->file_done(importing->hooks->ctx, &event);
    return OK;
}

/* ---- All ---- */

static int import_run(struct importing *importing, const struct plan_run *run, struct error *err)
{
    struct source *keep = calloc(run->n_files + 1, sizeof *keep);
    size_t n = 0;
    int rc = keep ? OK : error_set(err, E_NOMEM, "no memory for %zu files", run->n_files);

    for (size_t i = 0; i < run->n_files && rc == OK; i++) {
        if (is_cancelled(importing)) {
            rc = error_set(err, E_CANCELLED, "the import was cancelled");
            break;
        }
        keep[n].path = NULL;
        rc = import_file(importing, run, &run->files[i], &keep[n], err);
        n += keep[n].path != NULL;
    }
    if (rc == OK && !(importing->hooks && importing->hooks->choose))
        rc = sink_keep_only(importing->sink, &run->run, keep, n, err);
    free(keep);
    if (rc == OK && importing->hooks && importing->hooks->run_done)
        importing->hooks->run_done(importing->hooks->ctx, run);
    return rc;
}

int plan_import(const struct plan *plan, struct sink *sink, bool reimport,
                const struct import_hooks *hooks, struct error *err)
{
    struct importing importing = {.sink = sink,
                                  .hooks = hooks,
                                  .arena = arena_open(ARENA_BATCH_BYTES),
                                  .progress = {.hooks = hooks, .total = plan->total_bytes},
                                  .reimport = reimport};
    int rc = importing.arena ? OK : error_set(err, E_NOMEM, "no memory for an import");

    if (rc == OK)
        find_written(&importing);
    for (size_t i = 0; i < plan->n_runs && rc == OK; i++)
        rc = import_run(&importing, &plan->runs[i], err);
    free(importing.written);
    arena_close(importing.arena);
    return rc;
}
