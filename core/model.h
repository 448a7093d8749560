/* The plain data of flatline: read this first, it explains the program.
 *
 * A run is what one training process (with its restarts) left behind. Importers read files
 * into sources, settings, series, events, artefacts and datasets; `core/facts` merges them;
 * checks turn facts into results with evidence; views and exports show those.
 *
 * All texts are UTF-8, NUL-terminated, borrowed from an arena; NULL means "not stated".
 * Counts, lines, steps, rows that are not stated are NONE (-1). Lines and columns count from 1,
 * rows, bytes and tokens from 0. */
#ifndef CORE_MODEL_H
#define CORE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

/* ---- Runs ------------------------------------------------------------------------------- */

/* What kind of training it was (CHECKS.md 2.1), in the order in which it is decided. */
enum run_kind {
    KIND_UNKNOWN,
    KIND_GRPO,
    KIND_PPO,
    KIND_DPO,
    KIND_REWARD_MODEL,
    KIND_CLASSIFICATION,
    KIND_SEQ2SEQ,
    KIND_PRETRAINING,
    KIND_SFT
};

enum run_mark {
    MARK_TEN_ROW_TEST = 1,      /* few rows, many epochs: the deliberate memorisation test */
    MARK_EVAL_ONLY = 2          /* nothing was trained */
};

enum outcome { OUTCOME_UNKNOWN, OUTCOME_FINISHED, OUTCOME_CRASHED, OUTCOME_STOPPED, OUTCOME_RUNNING };

struct run {
    int64_t id;                 /* in the cache database */
    const char *key;            /* stable over re-imports: hash of folder and the run's own id */
    const char *folder;         /* real path of the run root */
    const char *name;           /* shown; unique among the runs of one argument */
    const char *project;        /* real path of the argument it was found under */
    const char *framework;      /* "transformers 5.2.0"; NULL when not known */
    enum run_kind kind;
    unsigned marks;             /* enum run_mark */
    enum outcome outcome;
    int64_t started_at, ended_at;   /* seconds since 1970, or NONE */
};

/* ---- Sources: one file as read by one importer -------------------------------------------- */

enum source_state { SOURCE_WHOLE, SOURCE_GROWING, SOURCE_DAMAGED, SOURCE_GONE };

struct source {
    int64_t id;
    const char *path;           /* real path */
    const char *importer;       /* id of the importer */
    int importer_version;
    int64_t size, mtime_ns, device, inode;
    int64_t read_to;            /* bytes read */
    enum source_state state;
    const char *role;           /* B0 rule 8: "trained", "base", "served", "log", ... or NULL */
    /* Seconds since 1970 of its earliest and latest record, by what the records say; 0 or NONE: they
     * do not. */
    int64_t first_wall, last_wall;
    /* Of a file that is only ever written at its end: what its first bytes and those before
     * `hashed_to` came to (importers/file_ends.h). hashed_to 0: not kept. */
    int64_t hashed_to, head_hash, tail_hash;
};

/* Does the importer of that id read what a process printed (console_log, notebook)? */
bool importer_is_log(const char *importer_id);

enum note_severity { NOTE_INFO, NOTE_WARN, NOTE_ERROR };

/* An importer's remark on a place in a file. Not an error: the import goes on. */
struct note {
    int64_t source_id;          /* 0: about no imported file, see path */
    const char *path;
    enum note_severity severity;
    int64_t line, byte;
    const char *message;
};

/* ---- Settings ----------------------------------------------------------------------------- */

enum side { SIDE_TRAIN, SIDE_EVAL, SIDE_SERVE, SIDE_MODEL, SIDE_ADAPTER, SIDE_TOKENIZER, SIDE_GENERATION };

enum value_type { VALUE_NULL, VALUE_BOOL, VALUE_INT, VALUE_FLOAT, VALUE_TEXT, VALUE_LIST, VALUE_OBJECT };

/* One configuration key as one file states it. */
struct setting {
    int64_t source_id;          /* 0: the user said it (`:set`, --set) */
    enum side side;
    const char *raw_name;       /* as the file spells it; nested keys joined by '.' */
    const char *name;           /* canonical (core/facts/config_names.h), or NULL */
    const char *value;          /* text; "true"/"false"; lists and objects as compact JSON */
    enum value_type type;
    int64_t line;
};

/* One setting that differs between two versions of a configuration. */
struct config_change {
    const char *name;           /* canonical, or as it is spelled; "line 12" when compared by lines */
    const char *old_value, *new_value;  /* NULL: not there */
    int64_t line;               /* in the new text, else in the old one; NONE */
};

/* A commit that changed a configuration. */
struct revision {
    const char *commit;         /* 40 hex digits */
    int64_t author_time, commit_time;   /* seconds since 1970 */
    int author_offset;          /* minutes east of Greenwich */
    const char *author, *subject;
    const char *path, *old_path;        /* old_path: of a rename or copy, else NULL */
    const char *status;         /* added modified renamed copied deleted */
    int similarity;             /* percent, of a rename or copy */
    const char *blob;           /* id of the file's content in it; NULL: deleted */
    int64_t n_settings;         /* of the version */
    const struct config_change *changes; size_t n_changes;
    int64_t n_more;             /* changes that were not kept */
    const char *by_lines;       /* why it was not compared setting by setting; NULL: it was */
};

/* ---- Series ------------------------------------------------------------------------------- */

/* One logged number. NaN and infinities are in `value` as they are. */
struct point {
    int64_t seq;                /* number of the row in its file; equal for the numbers of a row */
    int32_t segment;            /* rises by 1 where the step falls back (resume, restart) */
    int64_t step;               /* NONE when the row has none */
    double value;
    int64_t line;               /* NONE when unknown */
    double wall;                /* seconds since 1970, NaN when unknown */
};

struct series {
    int64_t id, source_id;
    const char *name;           /* canonical metric name (core/facts/metric_names.h) */
    const char *raw_name;
    const char *unit;           /* or NULL */
    int64_t n_points;
    /* What decides how far a run came, without its points. */
    bool is_summed;             /* the two below are known */
    int64_t max_step;           /* NONE: no point has a step */
    double last_value;          /* the last that is no NaN, in file order; NaN: none */
};

/* ---- Events: what a log said ---------------------------------------------------------------- */

#define EVENT_MAX_CAPTURES 16

/* `kind` is the id or word of column 3 of console_patterns.tsv, or one of the kinds that the
 * importer makes itself (importers/run/console_log.h lists them: "exception", "last-line" …). */
struct event {
    int64_t id, source_id;
    int64_t seq;                /* order in its file */
    const char *kind;
    const char *pattern;        /* name of the pattern (column 1), or NULL */
    int64_t step;               /* by CHECKS.md 2.4 rule 9, or NONE */
    int64_t line, byte;
    const char *text;           /* the line, cut to 2,000 bytes, ANSI removed */
    int n_captures;             /* captures[0] is group 1 */
    const char *captures[EVENT_MAX_CAPTURES];   /* "" when the group did not take part */
};

/* ---- Artefacts, datasets, outputs ------------------------------------------------------------- */

struct artefact {
    int64_t id, source_id;
    const char *kind;           /* base adapter merged checkpoint tokenizer template modules */
    const char *role;           /* trained evaluated served base, or NULL */
    const char *path;
    int64_t size;               /* bytes, of all files of a folder */
    int64_t step;               /* of a checkpoint */
    const char *sha256;         /* hex, or NULL */
};

struct tensor {
    const char *name;
    const char *dtype;          /* "F32", "BF16"; "" when only the name is known */
    const char *shape;          /* "[4096,16]"; "" when only the name is known */
    int64_t n_values;           /* product of the shape; NONE */
    double norm;                /* Frobenius; NaN when not read */
    int64_t n_nonzero;          /* NONE when not read */
    int64_t n_nonfinite;        /* NONE when not read */
    double delta_norm;          /* of a lora_B: Frobenius norm of B·A, unscaled; NaN when not read */
    int64_t content_hash;       /* of its bytes: equal for equal tensors; 0 when not read */
};

struct dataset {
    int64_t id, source_id;
    const char *name;
    const char *split;          /* train eval test */
    const char *form;           /* messages sharegpt prompt-completion preference kto alpaca text
                                   tokens lengths other */
    const char *columns;        /* names joined by ',', in order of first use */
    int64_t n_rows, n_unreadable;
};

/* What is wrong with a row, and how its numbers were got. */
enum sample_flag {
    SAMPLE_EMPTY_ANSWER = 1 << 0,   /* an assistant, completion, chosen, rejected or text field is
                                       empty, null or blank (not: tool calls without content) */
    SAMPLE_EMPTY_PROMPT = 1 << 1,   /* a user or prompt field is empty or null (not: a blank system
                                       message, Alpaca's empty input) */
    SAMPLE_NO_ASSISTANT = 1 << 2,   /* a conversation without any assistant turn */
    SAMPLE_ESTIMATED = 1 << 3       /* n_tokens, n_prompt_tokens by CHECKS.md F-LEN, no tokenizer */
};

/* Per-row facts; the text stays in the file. */
struct sample {
    int64_t at, length;         /* place in the file */
    uint32_t flags;             /* enum sample_flag */
    int32_t n_tokens, n_prompt_tokens, n_trained;   /* -1 when not known */
};

/* What an output shows of itself; its text stays in the file. */
enum generation_flag {
    GENERATION_HAS_TEXT = 1 << 0,           /* the output was in the file: the next ones are known */
    GENERATION_IS_EMPTY = 1 << 1,           /* nothing, or white space */
    GENERATION_HAS_PROMPT = 1 << 2,         /* its prompt too: GENERATION_ECHOES_PROMPT is known */
    GENERATION_ECHOES_PROMPT = 1 << 3,      /* begins with the prompt or its last user text, markers left
                                               out, case and white space ignored */
    GENERATION_STARTS_WITH_HEADER = 1 << 4, /* begins with a whole turn header: marker and role */
    GENERATION_RUNS_ON = 1 << 5,            /* a turn ends inside of it, and text follows */
    GENERATION_IS_SHORT = 1 << 6            /* fewer than four words */
};

struct generation {
    int64_t source_id, ord, row, step;
    const char *model;          /* "base", "finetuned", …; "" when not named */
    const char *finish_reason;  /* or NULL */
    int64_t n_tokens, max_new_tokens, batch;
    int exact;                  /* 1 reproduced the target, 0 not, -1 not known */
    unsigned flags;             /* enum generation_flag */
    int64_t prompt_hash, output_hash;   /* equal for equal texts (white space at the ends left out);
                                           0: not known */
    int64_t opening_hash;       /* of its first GENERATION_OPENING_WORDS words; 0: it has fewer */
    int64_t n_words;            /* of the output; 0: none, or not known */
};
#define GENERATION_OPENING_WORDS 8

/* What one model reached on one suite: a summary row, or the items of it. */
struct eval_suite {
    int64_t id, source_id;
    const char *model, *suite;  /* as the rows name them */
    const char *metric;         /* "correct" (0 or 1 an item) or "score" */
    int64_t step;               /* of the checkpoint, or NONE */
    int64_t n;                  /* items, or NONE */
    double n_correct;           /* sum of the scores; NaN when not known */
    int64_t n_items;            /* stored one by one; 0: a summary only */
    const char *artefact, *sha256;  /* what was evaluated, or NULL */
    const char *frozen;         /* the suite's hash and how was decoded: equal texts may be compared;
                                   NULL: not stated */
    int64_t line;
};

struct eval_item {
    const char *item;           /* its name: pairs the items of two models */
    double score;
    const char *cluster;        /* items of one group are not independent; NULL: none */
    int64_t prompt_hash;        /* 0: not stated */
};

/* Two answers to one question, and which of them a judge preferred. */
struct judgement {
    int64_t source_id, ord;     /* ord: order in its file */
    const char *item;           /* name of the question, or NULL */
    const char *base, *candidate;   /* the models, as the file names them */
    int64_t length_base, length_candidate;  /* of the answers, in one unit; NONE: not known */
    double score;               /* of the candidate: 1 won, 0 lost, 0.5 a tie, between: a weighted
                                   preference */
    int64_t step;               /* of the candidate's checkpoint, or NONE */
    int64_t line;
};

/* ---- Verdicts ----------------------------------------------------------------------------------- */

enum stage {
    STAGE_FINISHED,
    STAGE_ADAPTER,
    STAGE_PROMPTS,
    STAGE_SUPERVISED,
    STAGE_EVAL_POWER,
    STAGE_DATA,
    STAGE_LEAK,
    STAGE_PREFERENCE,
    STAGE_HYPERPARAMETERS,
    N_STAGES
};

enum verdict { VERDICT_NOT_APPLICABLE, VERDICT_PASS, VERDICT_UNKNOWN, VERDICT_WARN, VERDICT_FAIL };
/* (ordered so that the worst verdict of a stage is the maximum) */

enum severity { SEVERITY_BLOCKS, SEVERITY_MISLEADS, SEVERITY_WASTES };

enum confidence {
    CONFIDENCE_NONE,            /* UNKNOWN and n.a. */
    CONFIDENCE_POSSIBLE,
    CONFIDENCE_LIKELY,
    CONFIDENCE_STRONG,
    CONFIDENCE_CERTAIN
};

/* A pointer to what was seen, not a copy. */
struct evidence {
    const char *kind;           /* log rows setting file number artefact dataset */
    int64_t source_id;          /* 0: none */
    int64_t line, step, row, token;
    int64_t last_step;          /* end of a range of steps, or NONE */
    const char *series;         /* canonical metric name for kind "rows" */
    const char *commit;
    double value, bound;        /* NaN with has_… false when not stated */
    bool has_value, has_bound;
    const char *text;           /* one line; from the file or about it */
};

/* What one check says of one run. */
struct check_result {
    const char *check_id;
    int check_version;
    enum verdict verdict;
    enum confidence confidence;
    const char *finding;        /* one sentence with the numbers that decided (WARN, FAIL), else
                                   the reason of PASS, UNKNOWN or n.a. */
    const char *branch;         /* which branch of the rule decided, for the explains relation; "" */
    int64_t from_step;          /* where the fault begins in the run, or NONE */
    const struct evidence *evidence;
    size_t n_evidence;
    const char *const *fixes;   /* cheapest first */
    size_t n_fixes;
    const char *const *missing; /* what to import to decide */
    size_t n_missing;
    const char *const *information;
    size_t n_information;
};

/* ---- What the user wrote (triage.db) --------------------------------------------------------------- */

struct tick {                   /* a mark on a check */
    const char *check_id;
    const char *state;          /* "seen" or "dismissed" */
    const char *reason;         /* of a dismissal */
    int64_t set_at;
};

struct remark {
    int64_t id;
    const char *check_id;       /* or NULL: about the run */
    const char *place;          /* "step 1212", "train.log:42", or NULL */
    const char *text;
    int64_t written_at;
};

struct user_finding {
    int64_t id;
    const char *check_id;
    const char *verdict;        /* "fail", "warn" */
    const char *sentence;
    const char *path;
    int64_t line, step;
    const char *commit;
    bool exported;
    int64_t made_at;
};

struct answer {                 /* kind=dpo, goal=shorter, gpu=24G … */
    const char *name, *value;
};

/* ---- Names of the enums (core/model.c) --------------------------------------------------------------- */

const char *run_kind_name(enum run_kind kind);              /* "sft", "reward-model" … (CLI.md) */
bool run_kind_parse(const char *text, enum run_kind *out);
const char *outcome_name(enum outcome outcome);
const char *side_name(enum side side);
bool side_parse(const char *text, enum side *out);
const char *verdict_name(enum verdict verdict);             /* "fail", "not-applicable" (CLI.md) */
bool verdict_parse(const char *text, enum verdict *out);
const char *severity_name(enum severity severity);
const char *confidence_name(enum confidence confidence);    /* NULL for NONE */
const char *stage_key(enum stage stage);                    /* "0" … "6", "P", "7" */
const char *stage_name(enum stage stage);                   /* "finished & finite" … (TUI.md) */
const char *stage_question(enum stage stage);               /* CHECKS.md section 3 */
const char *source_state_name(enum source_state state);
bool source_state_parse(const char *text, enum source_state *out);

#endif
