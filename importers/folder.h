/* From paths to runs (FORMATS.md B0): walks, probes, decides which files belong to which run and
 * which role each has, then imports. Every decision is kept with its reason for the summary. */
#ifndef IMPORTERS_FOLDER_H
#define IMPORTERS_FOLDER_H

#include "importers/importer.h"

#define WALK_MAX_DEPTH 6
#define WALK_MAX_FILES 200000

struct plan_file {
    const char *path;           /* real path */
    const char *shown;          /* below the argument, else absolute */
    const struct importer *importer;    /* NULL: ignored */
    const char *role;
    const char *reason;         /* why this importer, this run, or why it is ignored */
    int64_t size;
    const char *note;           /* on the file beside others of its run, or NULL; told when it is read */
};

struct plan_run {
    struct run run;             /* key, folder, name, project */
    const struct plan_file *files;
    size_t n_files;
    const char *reason;         /* "holds trainer_state.json" */
};

struct plan {
    const struct plan_run *runs;
    size_t n_runs;
    const struct plan_file *ignored;    /* unreadable, unknown, LFS pointers … with reasons */
    size_t n_ignored;
    int64_t total_bytes;        /* to read */
    bool nothing_readable;      /* no path could be read at all: exit status 2 */
};

/* --set split:PATH=…, role:PATH=…, importer:PATH=… */
struct plan_options {
    const struct answer *answers;
    size_t n_answers;
};

/* Everything lives in the arena. A path that does not exist or cannot be read is listed in
 * `ignored`; only failures of ours are errors. */
MUST_CHECK int plan_make(const char *const *paths, size_t n_paths,
                         const struct plan_options *options, struct arena *arena,
                         struct plan *out, struct error *err);

/* One line of the import summary, told as it happens. */
struct import_event {
    const struct plan_run *run;
    const struct plan_file *file;
    bool was_current;           /* not read again */
    int64_t n_rows;
    const char *n_rows_are;
    enum source_state state;
};

/* What becomes of a file of a run that is followed. */
enum import_choice {
    IMPORT_AS_EVER,             /* read, unless it is current */
    IMPORT_GROWING,             /* read; it grew between two looks: a run that is going on */
    IMPORT_LEAVE                /* what the store holds of it stays */
};

struct import_hooks {
    void (*progress)(void *ctx, int64_t done, int64_t total);       /* bytes */
    void (*file_done)(void *ctx, const struct import_event *event);
    void (*run_done)(void *ctx, const struct plan_run *run);        /* all files of a run are in */
    /* Asked for every file of a run that is followed: then nothing is dropped either, since what was
     * shown stays. NULL: a plain import. */
    enum import_choice (*choose)(void *ctx, const struct plan_file *file,
                                 const struct source *now);
    void *ctx;
    const atomic_bool *cancel;
};

/* Imports every file that is not current, drops sources that are gone. `reimport` reads all again. */
MUST_CHECK int plan_import(const struct plan *plan, struct sink *sink, bool reimport,
                           const struct import_hooks *hooks, struct error *err);

#endif
