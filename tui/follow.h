/* What a run that is followed looks like from outside: which of its files and folders changed since
 * the last look, what a changed file is (grown, cut, replaced, gone), and how long it has been
 * silent. Only stat is asked, so that it works where nobody tells of changes (NFS); reads no file,
 * knows no store and no screen, and takes the time from its caller. */
#ifndef TUI_FOLLOW_H
#define TUI_FOLLOW_H

#include "core/model.h"
#include "importers/folder.h"

#define FOLLOW_LOOK_S    15     /* between two looks */
#define FOLLOW_SHARE     10     /* a look that took long is not repeated before this many times that */
#define FOLLOW_SILENT_S  600    /* a run that shows nothing new for so long is called dead */
#define FOLLOW_ROWS      5      /* … but not before so many of its own rows should have come */
#define FOLLOW_MAX_PATHS 4096

/* A changed file is read again from its beginning: what a row means depends on all before it (columns,
 * segments, the bar of a console), and a whole reading is the only one that cannot differ from a fresh
 * import. What that costs is bounded. A file below FOLLOW_LARGE is read at each look: 16 MiB of rows take
 * about 0.1 s. A larger one whose reading took t seconds is left alone for FOLLOW_REST * t, unless it grew
 * by 1 / FOLLOW_GROWTH of what was read: at most 2 % of the time goes into a file that grows slowly, and
 * at most 1 + FOLLOW_GROWTH times its final size is ever read of one that grows fast. 1 GB of JSON lines
 * (3 to 4 s) shows new rows every 3 minutes. What the run says once it is silent is read without delay. */
#define FOLLOW_LARGE  (16 << 20)
#define FOLLOW_REST   50
#define FOLLOW_GROWTH 16

struct follow;

MUST_CHECK int follow_open(struct follow **out, struct error *err);
void follow_close(struct follow *follow);                   /* NULL allowed */
/* Another run, or the same from the beginning: nothing is known of it. */
void follow_reset(struct follow *follow, const char *run_key);
bool follow_is_of(const struct follow *follow, const char *run_key);

/* ---- Which files changed ---- */

/* Starts a new list of paths; follow_watch takes each as it is now. Twice the same is one. */
void follow_watch_begin(struct follow *follow);
void follow_watch(struct follow *follow, const char *path);
size_t follow_n_watched(const struct follow *follow);
/* Looks at all: how many are not what they were at the look before. */
size_t follow_look(struct follow *follow);

/* ---- What a file becomes ---- */

struct follow_file {
    const struct source *stored;    /* NULL: new */
    const struct source *now;
    bool has_rows;                  /* metric rows or the lines of a log came from it */
    bool is_settling;               /* the run is silent: nothing counts as growing */
    bool is_rewritten;              /* a file that grows at its end only begins or goes on differently */
};
/* *is_cut: it is shorter than what was read, at two looks: what was read is to be kept beside it. A
 * file that is shorter for the first time is left alone, since it may be on its way to be written. One that
 * is rewritten was cut and has grown since. */
enum import_choice follow_choose(struct follow *follow, const struct follow_file *file,
                                 bool *is_cut);
/* A large file was read by now (monotonic ns), which took so long. */
void follow_was_read(struct follow *follow, const char *path, int64_t took, int64_t now);
/* Is it too early to read the file, `grown` bytes longer, again? It is then left for a later look. */
bool follow_rests(struct follow *follow, const struct source *stored, int64_t size, int64_t now);
/* Something was left for the next look. */
bool follow_waits(const struct follow *follow);

/* ---- How it lives ---- */

/* After each look that read something: rows of the longest series and the newest date of a file with
 * rows (seconds since 1970). */
void follow_rows(struct follow *follow, int64_t n_rows, int64_t newest, int64_t now);
/* Seconds without anything new; 0 where the clock went back. */
int64_t follow_silence(struct follow *follow, int64_t now);
bool follow_is_silent(struct follow *follow, int64_t now);
/* Whole minutes without anything new. */
int64_t follow_silent_minutes(struct follow *follow, int64_t now);
/* "no new row for 34 min, rows came every 12 s: probably dead" */
void follow_say_silence(struct follow *follow, int64_t now, bool is_held_open, char *out, size_t n);

#endif
