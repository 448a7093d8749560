/* Stats of the files of a run from look to look. See follow.h. */
#include "tui/follow.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/read/source.h"

#define MAX_SHRUNK 64
#define MAX_LARGE  64

struct watched {
    char *path;
    struct source_stat seen;
    bool is_there;
};

struct large {
    uint64_t path;              /* hash */
    int64_t took, at;           /* ns of its last reading, and when that ended */
};

struct follow {
    char *run_key;
    struct watched *watched;
    size_t n_watched;
    uint64_t shrunk[MAX_SHRUNK];        /* hashes of paths that were shorter at the last look */
    size_t n_shrunk, n_waiting;
    struct large large[MAX_LARGE];
    size_t n_large;
    bool has_rows;
    int64_t n_rows, first_rows;         /* of the longest series */
    int64_t newest, first_newest;       /* dates of files, by the clock of who writes them */
    int64_t alive_at;                   /* by our clock */
};

int follow_open(struct follow **out, struct error *err)
{
    struct follow *follow = calloc(1, sizeof *follow);

    if (follow)
        follow->watched = calloc(FOLLOW_MAX_PATHS, sizeof *follow->watched);
    if (!follow || !follow->watched) {
        free(follow);
        return error_set(err, E_NOMEM, "no memory to follow a run");
    }
    *out = follow;
    return OK;
}

void follow_close(struct follow *follow)
{
    if (!follow)
        return;
    follow_watch_begin(follow);
    free(follow->watched);
    free(follow->run_key);
    free(follow);
}

void follow_reset(struct follow *follow, const char *run_key)
{
    struct watched *watched = follow->watched;

    follow_watch_begin(follow);
    free(follow->run_key);
    *follow = (struct follow){.watched = watched, .run_key = strdup(run_key)};
}

bool follow_is_of(const struct follow *follow, const char *run_key)
{
    return follow->run_key && strcmp(follow->run_key, run_key) == 0;
}

/* ---- Which files changed ---- */

void follow_watch_begin(struct follow *follow)
{
    for (size_t i = 0; i < follow->n_watched; i++)
        free(follow->watched[i].path);
    follow->n_watched = 0;
}

static bool look_at_path(struct watched *watched)
{
    struct source_stat now;
    bool is_there = source_stat_path(watched->path, &now, NULL) == OK;
    bool is_same = is_there == watched->is_there;

    /* a folder's size says nothing that its date does not */
    if (is_same && is_there)
        is_same = now.mtime_ns == watched->seen.mtime_ns && now.inode == watched->seen.inode &&
                  now.device == watched->seen.device &&
                  (!now.is_regular || now.size == watched->seen.size);
    watched->is_there = is_there;
    if (is_there)
        watched->seen = now;
    return !is_same;
}

static bool is_watched(const struct follow *follow, const char *path)
{
    for (size_t i = follow->n_watched; i-- > 0;)
        if (strcmp(follow->watched[i].path, path) == 0)
            return true;
    return false;
}

void follow_watch(struct follow *follow, const char *path)
{
    struct watched *watched = &follow->watched[follow->n_watched];

    if (follow->n_watched == FOLLOW_MAX_PATHS || is_watched(follow, path))
        return;
    *watched = (struct watched){.path = strdup(path)};
    if (!watched->path)
        return;
    (void)look_at_path(watched);
    follow->n_watched++;
}

size_t follow_n_watched(const struct follow *follow)
{
    return follow->n_watched;
}

size_t follow_look(struct follow *follow)
{
    size_t n = 0;

    for (size_t i = 0; i < follow->n_watched; i++)
        n += look_at_path(&follow->watched[i]);
    follow->n_waiting = 0;
    return n;
}

/* ---- What a file becomes ---- */

static bool is_same_file(const struct source *a, const struct source *b)
{
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->device == b->device &&
           a->inode == b->inode;
}

static bool is_read_alike(const struct source *a, const struct source *b)
{
    return a->importer_version == b->importer_version &&
           strcmp(a->role ? a->role : "", b->role ? b->role : "") == 0;
}

static bool was_shrunk(struct follow *follow, const char *path, bool forget)
{
    uint64_t hash = hash_bytes(path, strlen(path));

    for (size_t i = 0; i < follow->n_shrunk; i++)
        if (follow->shrunk[i] == hash) {
            if (forget)
                follow->shrunk[i] = follow->shrunk[--follow->n_shrunk];
            return true;
        }
    return false;
}

static enum import_choice choose_shorter(struct follow *follow, const struct follow_file *file,
                                         bool *is_cut)
{
    const char *path = file->now->path;

    if (!was_shrunk(follow, path, true) && follow->n_shrunk < MAX_SHRUNK) {
        follow->shrunk[follow->n_shrunk++] = hash_bytes(path, strlen(path));
        follow->n_waiting++;
        return IMPORT_LEAVE;
    }
    *is_cut = file->has_rows;
    return file->has_rows ? IMPORT_GROWING : IMPORT_AS_EVER;
}

enum import_choice follow_choose(struct follow *follow, const struct follow_file *file,
                                 bool *is_cut)
{
    const struct source *stored = file->stored, *now = file->now;

    *is_cut = false;
    if (!stored || stored->state == SOURCE_GONE)
        return IMPORT_AS_EVER;
    if (is_same_file(stored, now)) {
        (void)was_shrunk(follow, now->path, true);
        return (file->is_settling && stored->state == SOURCE_GROWING) || !is_read_alike(stored, now)
                   ? IMPORT_AS_EVER
                   : IMPORT_LEAVE;
    }
    if (now->size < stored->size)
        return choose_shorter(follow, file, is_cut);
    (void)was_shrunk(follow, now->path, true);
    if (file->is_rewritten)
        *is_cut = file->has_rows;
    return file->has_rows && now->size > stored->size ? IMPORT_GROWING : IMPORT_AS_EVER;
}

/* ---- Large files ---- */

static struct large *find_large(struct follow *follow, const char *path)
{
    uint64_t hash = hash_bytes(path, strlen(path));

    for (size_t i = 0; i < follow->n_large; i++)
        if (follow->large[i].path == hash)
            return &follow->large[i];
    return NULL;
}

void follow_was_read(struct follow *follow, const char *path, int64_t took, int64_t now)
{
    struct large *large = find_large(follow, path);

    if (!large && follow->n_large < MAX_LARGE)
        large = &follow->large[follow->n_large++];
    if (large)
        *large = (struct large){hash_bytes(path, strlen(path)), took, now};
}

bool follow_rests(struct follow *follow, const struct source *stored, int64_t size, int64_t now)
{
    const struct large *large = find_large(follow, stored->path);

    if (!large || size < FOLLOW_LARGE || size < stored->size ||
        size - stored->size > stored->size / FOLLOW_GROWTH ||
        now - large->at >= FOLLOW_REST * large->took)
        return false;
    follow->n_waiting++;
    return true;
}

bool follow_waits(const struct follow *follow)
{
    return follow->n_waiting > 0;
}

/* ---- How it lives ---- */

void follow_rows(struct follow *follow, int64_t n_rows, int64_t newest, int64_t now)
{
    if (!follow->has_rows) {
        follow->has_rows = true;
        follow->first_rows = n_rows;
        follow->first_newest = newest;
        follow->alive_at = newest < now ? newest : now;
    } else if (n_rows != follow->n_rows || newest != follow->newest) {
        follow->alive_at = now;
    }
    follow->n_rows = n_rows;
    follow->newest = newest;
}

int64_t follow_silence(struct follow *follow, int64_t now)
{
    if (!follow->has_rows)
        return 0;
    if (now < follow->alive_at)
        follow->alive_at = now;
    return now - follow->alive_at;
}

int64_t follow_silent_minutes(struct follow *follow, int64_t now)
{
    return follow_silence(follow, now) / 60;
}

/* Seconds between two rows, 0 not known. */
static double row_seconds(const struct follow *follow)
{
    int64_t rows = follow->n_rows - follow->first_rows;
    int64_t seconds = follow->newest - follow->first_newest;

    return rows > 0 && seconds > 0 ? (double)seconds / (double)rows : 0;
}

bool follow_is_silent(struct follow *follow, int64_t now)
{
    double silence = (double)follow_silence(follow, now);

    return silence >= FOLLOW_SILENT_S && silence >= FOLLOW_ROWS * row_seconds(follow);
}

static void say_seconds(double seconds, char *out, size_t n)
{
    if (seconds < 120)
        snprintf(out, n, "%.3g s", seconds);
    else if (seconds < 7200)
        snprintf(out, n, "%.0f min", seconds / 60);
    else if (seconds < 172800)
        snprintf(out, n, "%.0f h", seconds / 3600);
    else
        snprintf(out, n, "%.0f days", seconds / 86400);
}

void follow_say_silence(struct follow *follow, int64_t now, bool is_held_open, char *out, size_t n)
{
    double pace = row_seconds(follow);
    char silence[40], each[40], came[64] = "";

    say_seconds((double)follow_silence(follow, now), silence, sizeof silence);
    say_seconds(pace, each, sizeof each);
    if (pace > 0)
        snprintf(came, sizeof came, ", rows came every %s", each);
    snprintf(out, n, "no new row for %s%s: %s", silence, came,
             is_held_open ? "a process has the log open still, it may hang" : "probably dead");
}
