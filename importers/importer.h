/* What an importer is.
 *
 * An importer knows what one kind of file means. `probe` looks at a name, the first 64 KiB and the
 * last 64 bytes and says how sure it is (0 … 100) without side effects; the highest wins. `run`
 * reads the file and tells the sink what it says. A damaged file yields what is readable plus
 * notes; it fails only for failures of ours (memory, database) or E_CANCELLED.
 * Secrets (import_is_secret) are dropped here and never stored. */
#ifndef IMPORTERS_IMPORTER_H
#define IMPORTERS_IMPORTER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/model.h"
#include "core/read/json.h"
#include "core/store/sink.h"

#define PEEK_HEAD_BYTES 65536
#define PEEK_TAIL_BYTES 64

struct peek {
    const char *path;        /* whole */
    const char *name;        /* last component */
    const char *folder_name; /* component before it */
    struct str head, tail;
    int64_t size;
    bool is_table; /* Parquet, Arrow: the head is one row as it might be, the name ends in .jsonl */
};

struct import {
    const char *path;
    const struct run *run;
    const char *role; /* by the plan: split of a data set, role of an artefact */
    struct sink *sink;
    struct arena *arena;                             /* batch: the importer resets it as it likes */
    const atomic_bool *cancel;                       /* looked at every 256 rows; may be NULL */
    void (*progress)(void *ctx, int64_t bytes_done); /* may be NULL */
    void *progress_ctx;
    int64_t max_rows; /* 0: all */
    /* Set by the importer before its settings: whose words they are (config_names.h), or NULL. */
    const char *framework;
    /* Set by the importer for the import summary. */
    int64_t n_rows;         /* metric rows, dataset rows, events … */
    const char *n_rows_are; /* "metric rows" */
    int64_t read_to;
    enum source_state state;
    bool is_over; /* its records say that the process ended: a young one is no sign of a live run */
};

struct importer {
    const char *id;    /* file name without .c: "hf_trainer_state" */
    const char *title; /* "trainer_state.json of transformers" */
    const char *hint;  /* which files to point it at */
    unsigned supplies; /* enum need bits it can supply, for UNKNOWN hints */
    int version;       /* raise when the same file would be read differently */
    const char *role;  /* default role of the source: "state" "log" "args" "config" … */
    bool reads_packed; /* gzip and zstd too: the head and the name it is probed with are unpacked */
    bool reads_tables; /* Parquet and Arrow too (rows.h), probed by what their columns are */
    bool is_folder;    /* reads a folder, whose date does not tell of all that happens below it */
    int (*probe)(const struct peek *peek);
    int (*run)(struct import *import, struct error *err);
};

/* ---- Shared by importers (importers/importer.c) ---- */

/* A setting with its canonical name looked up and secrets dropped. raw_name and value as text. */
MUST_CHECK int import_setting(struct import *import, enum side side, const char *raw_name,
                              const char *value, enum value_type type, int64_t line,
                              struct error *err);
/* All members of an object, nested ones joined by '.', lists whole. prefix may be "". */
MUST_CHECK int import_settings_tree(struct import *import, enum side side, const char *prefix,
                                    const struct json *object, struct error *err);
/* One value of a tree under a name of its own; lists and objects whole. NULL value: nothing. */
MUST_CHECK int import_json_setting(struct import *import, enum side side, const char *raw_name,
                                   const struct json *value, struct error *err);
/* What a trainer's own file states under a name that no framework shares: the raw name is the
 * canonical one ("state.global_step"). null is not stated, nor is a NULL value. */
MUST_CHECK int import_own_setting(struct import *import, enum side side, const char *name,
                                  const struct json *value, struct error *err);
bool import_is_secret(const char *key);
bool import_is_cancelled(const struct import *import);
/* The whole file as a tree in import->arena (JSON with comments, or YAML). *out is NULL when the
 * file is damaged: the note is written and the state set, and the result is still OK. */
MUST_CHECK int import_json(struct import *import, const struct json **out, struct error *err);
MUST_CHECK int import_yaml(struct import *import, const struct json **out, struct error *err);
/* All documents: a list where they are several. */
MUST_CHECK int import_yaml_documents(struct import *import, const struct json **out, struct error *err);
/* Notes an empty file, a Git LFS pointer or UTF-16 and sets *is_odd; sets read_to to the size. */
MUST_CHECK int import_oddity(struct import *import, bool *is_odd, struct error *err);
/* `why` as a note, and the source as damaged. A failure of ours (memory, database, cancelled) is
 * not a note: it is returned in err. */
MUST_CHECK int import_note_error(struct import *import, const struct error *why, struct error *err);

#endif
