/* What is known about one run, merged from all its sources, each value with its source.
 *
 * Loaded from the store in one go (lists) and on demand (points, tensors, samples). Everything is
 * borrowed from the facts and lives until run_facts_close. Order of trust for settings: what the
 * process recorded (training_args.bin, W&B, TensorBoard text, log) before what a config file
 * says, before what is only a default; the user's answers beat all. A contradiction is kept: the
 * setting returned is the most trusted one, facts_settings gives all. */
#ifndef CORE_FACTS_RUN_FACTS_H
#define CORE_FACTS_RUN_FACTS_H

#include "core/base/arena.h"
#include "core/model.h"
#include "core/store/store.h"

struct audit;       /* core/facts/audit.h */
struct data_facts;  /* core/facts/data_facts.h */
struct leaks;       /* core/facts/leaks.h */
struct completions; /* core/facts/completions.h */

/* One metric of the run after F1 hygiene: one source (the most trusted one that has it), the later
 * row wins for the same step inside a segment, in file order. Values may be NaN or infinite.
 * Where a less trusted source agrees with it on the shared steps and goes on beyond its last step
 * (the console after the last checkpoint's state), those points are appended and `source` says for
 * each point where it is from; the points of the main source come first. seq, line and the rows of
 * curve_on_row belong to that source. */
struct curve {
    const char *name;
    int64_t source_id;
    size_t n;
    const double *value;
    const int64_t *step, *seq, *line;
    const int32_t *segment;
    int32_t n_segments;
    const int64_t *source;      /* NULL: all points are from source_id */
    bool steps_rise;            /* all are stated, each above the one before; false: not known */
};

/* The source of point i. */
int64_t curve_source(const struct curve *curve, size_t i);

struct run_facts {
    struct run run;             /* kind, marks, outcome, framework as decided here */
    bool kind_is_assumed;       /* sft only because nothing says otherwise (CHECKS.md 2.1) */
    int64_t last_step, max_steps;       /* NONE when not known */
    double last_epoch, planned_epochs;  /* NaN when not known */
    bool has_end_marker;        /* train_runtime, train_loss row, should_training_stop */
    bool has_training_log;      /* a log with a training marker or metric rows */
    bool has_final_state;       /* a trainer_state.json outside checkpoint folders */
    const char *outcome_reason; /* one clause: "exception at console.log:210" */

    const struct source *sources;       size_t n_sources;
    const struct note *notes;           size_t n_notes;
    const struct setting *settings;     size_t n_settings;
    const struct series *series;        size_t n_series;
    const struct event *events;         size_t n_events;
    const struct artefact *artefacts;   size_t n_artefacts;
    const struct dataset *datasets;     size_t n_datasets;
    const struct generation *generations; size_t n_generations;
    const struct eval_suite *eval_suites; size_t n_eval_suites;
    const struct answer *answers;       size_t n_answers;
    const struct tick *ticks;           size_t n_ticks;

    uint64_t inputs_hash;       /* of all sources and answers: results older than it are stale */
    uint64_t serial;            /* of this opening, never 0: what was made of it is of no other */
    struct facts_cache *cache;  /* private: points and tensors loaded so far */
};

MUST_CHECK int run_facts_open(struct run_facts **out, struct store *store, int64_t run_id,
                              struct error *err);
void run_facts_close(struct run_facts *facts);
/* Nothing that the facts were made of has changed in the store since they were opened. */
bool run_facts_are_current(const struct run_facts *facts, struct store *store);
/* The first failure of a load on demand (points, tensors, samples), which itself only gives NULL:
 * OK when there was none. Asked once after the checks of a run. */
MUST_CHECK int run_facts_status(const struct run_facts *facts, struct error *err);

/* A run without a store, for tests and tools. The lists in `lists`, the curves and the lengths are
 * borrowed and must outlive the facts; nothing is decided anew: kind, outcome, last_step … stay as
 * given. Every question below is answered as for an imported run; facts_tensors finds the set of
 * the artefact's id. */
struct facts_tensor_set {
    int64_t artefact_id;
    const struct tensor *tensors;
    size_t n;
};
struct facts_sample_set {
    int64_t dataset_id;
    const struct sample *samples;
    size_t n;
};
struct facts_item_set {
    int64_t suite_id;
    const struct eval_item *items;
    size_t n;
};
struct facts_memory {
    struct run_facts lists;                 /* its cache is ignored */
    const struct curve *curves;             size_t n_curves;
    const struct facts_tensor_set *tensors; size_t n_tensor_sets;
    const struct sample *lengths;           size_t n_lengths;
    const struct dataset *lengths_of;       /* the dataset of the lengths, or NULL */
    const struct facts_sample_set *samples; size_t n_sample_sets;
    const struct facts_item_set *items;     size_t n_item_sets;
    const struct audit *const *audits;      size_t n_audits;
    const struct data_facts *data;          /* or NULL */
    const struct judgement *judgements;     size_t n_judgements;
    const struct leaks *leaks;              /* core/facts/leaks.h, or NULL */
    const struct completions *completions;  /* core/facts/completions.h, or NULL */
};
MUST_CHECK int run_facts_from_memory(struct run_facts **out, const struct facts_memory *memory,
                                     struct error *err);

/* ---- Settings ---- */

/* The most trusted statement of a canonical name on a side, or NULL: not stated. A null and
 * DeepSpeed's "auto" give way to any other statement. Of several config.json the base model's comes
 * first, of several tokenizers and generation configs the run's own; of several checkpoints the
 * last one, after the run's own folder. */
const struct setting *facts_setting_on(const struct run_facts *facts, enum side side,
                                       const char *name);
/* The same on SIDE_TRAIN. What the training side does not state is answered by SIDE_ADAPTER
 * (lora_r, target_modules … of adapter_config.json). */
const struct setting *facts_setting(const struct run_facts *facts, const char *name);
bool setting_number(const struct setting *setting, double *out);   /* false: NULL or no number */
int setting_bool(const struct setting *setting);                   /* 1, 0, -1: not known */
bool facts_number(const struct run_facts *facts, const char *name, double *out);
int facts_bool(const struct run_facts *facts, const char *name);   /* 1, 0, -1: not stated */
const char *facts_text(const struct run_facts *facts, const char *name);   /* NULL: not stated */
/* Splits the value of a list setting (or a text "a,b") into texts. */
size_t setting_list(const struct setting *setting, const struct run_facts *facts,
                    const char *const **items);
/* The trainer's whole argument object was recorded (training_args.bin): a key that is not in it does
 * not exist in this trainer. */
bool facts_has_whole_arguments(const struct run_facts *facts);
/* Version of an installed package as recorded (pip freeze, config.json's transformers_version,
 * log), or NULL. */
const char *facts_package(const struct run_facts *facts, const char *name);
/* -1, 0, 1 by dotted numbers; a missing part counts as 0. */
int version_compare(const char *a, const char *b);
/* The user's answer, or NULL. */
const char *facts_answer(const struct run_facts *facts, const char *name);
/* 1 LoRA or another adapter, 0 full fine-tune, -1 not known; *setting (may be NULL) gets what
 * decided. */
int facts_is_adapter_run(const struct run_facts *facts, const struct setting **setting);
/* Bytes of one GPU, 0 when not known; *name may be NULL. */
double facts_gpu_bytes(const struct run_facts *facts, const char **name);
/* "24G", "24 GiB", "A100-80GB", "16" (GiB): bytes, 0 when it is no size. */
double gpu_bytes_of_text(const char *text);

/* ---- Series ---- */

/* The metric was logged; does not load it. */
bool facts_has_curve(const struct run_facts *facts, const char *name);
/* The metrics by canonical name; one that several files have stands there as often. */
size_t facts_metric_count(const struct run_facts *facts);
const char *facts_metric_name(const struct run_facts *facts, size_t i);
/* facts_curve gives it at once. */
bool facts_curve_is_loaded(const struct run_facts *facts, const char *name);
/* NULL when the metric was not logged. */
const struct curve *facts_curve(const struct run_facts *facts, const char *name);
/* The curves of eval_loss and eval_<name>_loss; *n may be 0. */
const struct curve *const *facts_eval_losses(const struct run_facts *facts, size_t *n);
/* The value of `curve` on the row (source, seq) of another curve's point; false: not on that row. */
bool curve_on_row(const struct curve *curve, const struct curve *other, size_t i, double *value);
/* Index of the last point at or before the step in file order, or -1. */
ptrdiff_t curve_at_step(const struct curve *curve, int64_t step);

/* ---- Events ---- */

/* The next event of a kind after `previous` (NULL: the first), or NULL. kind NULL: any. */
const struct event *facts_event(const struct run_facts *facts, const char *kind,
                                const struct event *previous);
size_t facts_count_events(const struct run_facts *facts, const char *kind);
const char *event_capture(const struct event *event, int group);   /* group 1 …; "" when absent */
const struct source *facts_source(const struct run_facts *facts, int64_t source_id);
/* Last component of the source's path, "" for 0. */
const char *facts_file_name(const struct run_facts *facts, int64_t source_id);

/* ---- Artefacts, rows ---- */

const struct tensor *facts_tensors(const struct run_facts *facts, const struct artefact *artefact,
                                   size_t *n);
/* Token lengths of the training rows (lengths.csv, later simulated), or NULL. */
const struct sample *facts_lengths(const struct run_facts *facts, size_t *n,
                                   const struct dataset **dataset);
/* The rows of any dataset in file order, or NULL; loaded once. */
const struct sample *facts_samples(const struct run_facts *facts, const struct dataset *dataset,
                                   size_t *n);
/* The items of a suite by name, or NULL; loaded once. */
const struct eval_item *facts_eval_items(const struct run_facts *facts,
                                         const struct eval_suite *suite, size_t *n);
/* What judges preferred, in the order of the files; NULL: nothing. Loaded once. */
const struct judgement *facts_judgements(const struct run_facts *facts, size_t *n);
/* Rows of the training files, NONE when not known; *dataset may be NULL. */
int64_t facts_train_rows(const struct run_facts *facts, const struct dataset **dataset);

#endif
