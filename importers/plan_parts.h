/* The stations between a walk and a plan; for folder.c and the files beside it only.
 *
 *   probe.c   which importer wants a file, or why nobody does
 *   roots.c   which folders are run roots (B0 rules 2, 4, 5); logged_roots.c: those of loggers
 *   rows.c    the loss rows of a file, and whether two files tell of one run (rule 6)
 *   roles.c   splits and roles (rules 7, 8)
 *   assign.c  which run a file belongs to (rules 3, 4)
 *   assign_files.c  the runs with their files
 *   assign_serving.c  which run a serving record names
 *   disagree.c  where files of one run tell different losses (rule 6)
 *   names.c   what the runs are called (rule 9) */
#ifndef IMPORTERS_PLAN_PARTS_H
#define IMPORTERS_PLAN_PARTS_H

#include "core/read/source.h"
#include "importers/folder.h"
#include "importers/walk.h"

/* A file with what probing said. */
struct found {
    const struct walk_file *file;
    const struct importer *importer; /* NULL: nobody reads it */
    const char *reason;
    bool is_unreadable; /* by its name a record, by its content none: LFS, empty */
    const char *part;   /* id of one of the runs that the file holds; NULL: it holds one */
    bool trains;        /* assign.c: beside folders of runs, and the log of a training of its own */
};

enum record {                   /* why a folder is a root, strongest first */
              RECORD_STATE = 1, /* trainer_state.json, checkpoint-N, trainer_log.jsonl */
              RECORD_TABLE = 2, /* a metric table with steps and a loss */
              RECORD_ARGS = 4,  /* arguments and results: also written beside copies of a model */
              RECORD_EVENTS = 8 /* files of loggers: event files, .wandb, MLflow */
};

struct root {
    const char *folder;
    const char *id;          /* tells runs that share a folder apart; "" */
    const char *reason;      /* "holds trainer_state.json" */
    unsigned records;        /* enum record */
    size_t joined;           /* index of the root it is the same run as; its own index: none */
    const struct found *log; /* a run that is one log without a root, else NULL */
    bool is_whole_argument;  /* everything under the argument is this run */
    bool has_no_record;      /* nothing in the argument tells of a training */
    bool is_lone_data; /* a folder beside the runs of a project that is none and belongs to none */
};

struct scene { /* one argument */
    const struct walk_argument *argument;
    struct found *found; /* in the order of the walk */
    size_t n_found;
    struct root *roots;
    size_t n_roots;
    const struct plan_options *options;
    struct arena *arena;
};

/* ---- probe.c ---- */
MUST_CHECK int probe_files(struct scene *scene, struct error *err);
/* --set WHAT:PATH=…; PATH as shown, whole, or the last component. NULL: not said. */
const struct answer *plan_answer(const struct plan_options *options, const char *what,
                                 const struct walk_file *file);

/* ---- roots.c ---- */
MUST_CHECK int find_roots(struct scene *scene, struct error *err);
/* Is `path` the folder or below it? */
bool path_is_below(const char *path, const char *folder);
/* "job.out" and "job.err", "rank0.log" and "rank1.log" of one folder. */
bool logs_are_streams(const struct found *a, const struct found *b);
/* The part of a path before the first component checkpoint-N below `top`; NULL: there is none. */
const char *folder_of_checkpoint(struct arena *arena, const char *path, const char *top);
const char *last_component(const char *path);
const char *parent_folder(struct arena *arena, const char *path);

/* ---- rows.c ---- */
struct loss_rows {
    size_t n;
    double *step, *epoch, *loss; /* NaN: not stated */
    bool is_training;            /* a training marker or a loss was seen */
    int decimals, digits;        /* the most with which a loss is printed */
};
#define LOSS_ROWS_MAX 3000
/* What cannot be read has no rows; only E_NOMEM is an error. */
MUST_CHECK int rows_read(const struct found *found, struct arena *arena, struct loss_rows *out,
                         struct error *err);
/* At least 20 common places with an equal loss (all, but 3 at least, when there are fewer) and
 * none that differs. */
bool rows_are_same(const struct loss_rows *a, const struct loss_rows *b);
/* How many rows of b stand at a place that a has too, and at how many of them the loss differs. */
void rows_compare(const struct loss_rows *a, const struct loss_rows *b, size_t *common,
                  size_t *differing);
/* Does a text file contain one of the words? Bounded; false when it cannot be read. */
bool file_mentions(const char *path, const char *const *words, size_t n);

/* ---- assign_files.c ---- */
/* The runs of the scene with their files, and what is ignored. */
struct assigned {
    struct plan_run *runs;
    size_t n_runs;
};
MUST_CHECK int assign_files(struct scene *scene, struct assigned *out, struct error *err);

/* ---- assign_serving.c ---- */
/* Is the file a record of how a model is served (a command, a config, a Modelfile, a server's log)? */
bool is_serving_record(const struct found *found);
/* Does that record hold the name as a component of a path? Bounded; false for other files. */
bool serving_names(const struct found *found, const char *name);

/* ---- disagree.c ---- */
/* Puts a note on files of one run whose loss differs from that of the most trusted one. */
MUST_CHECK int note_disagreements(struct scene *scene, struct plan_file *files, size_t n,
                                  size_t n_runs, struct error *err);

/* ---- roles.c ---- */
/* Split of a data set, role of an artefact, else the importer's own. */
const char *file_role(const struct scene *scene, const struct found *found);

/* ---- names.c ---- */
/* Makes names unique by putting parent folders in front. */
void name_runs(struct plan_run *runs, size_t n, struct arena *arena);

#endif
