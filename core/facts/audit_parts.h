/* What the files of an audit share; for core/facts/audit*.c only. */
#ifndef CORE_FACTS_AUDIT_PARTS_H
#define CORE_FACTS_AUDIT_PARTS_H

#include "core/facts/audit.h"
#include "core/read/rows.h"

#define AUDIT_ROW_ARENA ((size_t)512 << 20)     /* the tree of one row and what is made of it */
#define AUDIT_MAX_TOKENS ((size_t)16 << 20)     /* of one recorded row */
#define AUDIT_NO_ID UINT32_MAX                  /* labels were recorded without their ids */

/* ---- Special ids and names (audit_ids.c) ---- */

/* A vocabulary that was loaded; audit_engine.c makes it of a tokenizer, tests of a list. */
struct audit_vocabulary {
    const void *of;
    int64_t (*id)(const void *of, const char *text);            /* NONE: unknown */
    struct str (*text)(const void *of, uint32_t id);            /* p NULL: no such id */
    bool (*is_special)(const void *of, uint32_t id);            /* added tokens too */
    bool (*is_newline)(const void *of, uint32_t id);            /* nothing but newlines */
};

struct audit_ids {
    const struct run_facts *facts;
    const struct audit_vocabulary *vocabulary;  /* NULL: names come from the side files */
    int64_t pad, eos, bos, turn_end;    /* NONE */
    const char *eos_text, *bos_text, *pad_text, *turn_end_text;
    int64_t stops[16];                  /* where an answer may end */
    size_t n_stops;
    int64_t first_new;                  /* ids from here on the base's vocabulary has not; NONE */
    int64_t n_vocab;                    /* rows of the model's embedding; NONE */
    int64_t max_length;                 /* of the policy or the settings; NONE */
    bool cut_keeps_end;
};

/* `turn_end_text`: what the template prints behind an answer, or NULL. Texts live in the arena. */
void audit_ids_find(const struct run_facts *facts, const struct audit_vocabulary *vocabulary,
                    const char *turn_end_text, struct arena *arena, struct audit_ids *out);
bool audit_ids_is_stop(const struct audit_ids *ids, int64_t id);
/* Its text is newlines alone; false when the vocabulary is not there. */
bool audit_ids_is_newline(const struct audit_ids *ids, uint32_t id);
/* The spelling, or NULL; in the arena. */
const char *audit_ids_text(const struct audit_ids *ids, int64_t id, struct arena *arena);
bool audit_ids_is_special(const struct audit_ids *ids, int64_t id);

/* ---- Counting (audit_rows.c) ---- */

struct audit_tokens {                   /* a row as either way of reading gives it */
    size_t n;
    const uint32_t *ids;
    const uint8_t *trained;             /* NULL: the labels are not known */
    const uint8_t *side;                /* enum token_side; NULL: not known */
    size_t first_kept, end_kept;
    int64_t n_prompt;                   /* NONE: not known */
};
void audit_row_count(const struct audit_ids *ids, const struct audit_tokens *tokens,
                     struct audit_row *out);

struct audit_list {                     /* the rows so far; malloc'ed */
    struct audit_row *rows;
    size_t n, capacity;
};
MUST_CHECK int audit_list_add(struct audit_list *list, const struct audit_row *row,
                              struct error *err);
void audit_list_free(struct audit_list *list);
/* Totals, the last id of most rows. */
MUST_CHECK int audit_sum(struct audit *audit, const struct audit_ids *ids, struct arena *arena,
                         struct error *err);

/* ---- What rows are read with (audit_engine.c) ---- */

struct audit_engine {
    struct arena *arena;
    struct tokenizer *tokenizer;            /* NULL: there is none, or `no_tokenizer` */
    const char *no_tokenizer;               /* why one that is there could not be loaded */
    struct chat_template *chat_template;    /* NULL likewise */
    const char *no_template;
    struct str template_text;
    const struct json *special_tokens;      /* as a template sees them */
    const char *turn_end_text;              /* what the template prints behind an answer, or NULL */
    struct audit_vocabulary vocabulary;
    struct jinja_settings jinja;
};

/* Loads what the policy names; what is missing or cannot be loaded stays NULL. E_NOMEM only. */
MUST_CHECK int audit_engine_open(struct audit_engine *engine, const struct run_facts *facts,
                                 const struct mask_policy *policy, const char *cache_path,
                                 struct error *err);
void audit_engine_close(struct audit_engine *engine);
/* Ids that only the vocabulary tells, for the policy's rules. */
void audit_complete_policy(struct mask_policy *policy, const struct audit_ids *ids);
/* A labeller of the engine's parts; E_UNSUPPORTED with what is missing. */
MUST_CHECK int audit_engine_labeller(const struct audit_engine *engine,
                                     const struct label_policy *policy, struct labeller **out,
                                     struct error *err);

/* ---- One maker a kind ---- */

struct audit_job {
    struct run_facts *facts;
    const struct dataset *dataset;
    const struct source *source;        /* of the data set */
    const struct mask_policy *policy;
    const struct audit_engine *engine;
    const struct audit_ids *ids;
    const struct audit_hooks *hooks;
    struct arena *arena;                /* texts of the audit */
    struct audit_list list;
    int64_t max_id, max_id_row;
    struct audit_new_id *new_ids;       /* AUDIT_MAX_NEW_IDS, in the arena */
    size_t n_new_ids;
    bool is_stopped;                    /* the user said so */
};

/* Which ids stand in a row, and the row that is added next has these. */
struct seen_ids {
    int64_t max_id;                     /* NONE: no ids */
    int64_t new_ids[AUDIT_MAX_NEW_IDS]; /* each once */
    size_t n_new_ids;
};
void audit_seen_of(const struct audit_ids *ids, const uint32_t *of, size_t n,
                   struct seen_ids *out);
void audit_add_seen(struct audit_job *job, const struct seen_ids *seen);
/* Between some rows: progress, cancel, yield; false: stop here. */
bool audit_goes_on(struct audit_job *job, int64_t n_rows);
/* Fills the audit but for its totals. */
MUST_CHECK int audit_recorded(struct audit_job *job, struct audit *audit, struct error *err);
/* One row under the rules of the policy, by one of several workers (audit_label.c). */
struct label_worker {
    struct audit_job *job;
    const struct audit_ids *ids;        /* with the policy's limit */
    struct labeller *labeller, *other;  /* other NULL: one rule */
    struct arena *arena, *scratch;      /* texts of results until they are merged; of one row */
    bool has_told_marker;
};
struct label_result {
    int rc;                             /* E_NOMEM and the like: why */
    const char *why;
    const char *refused;                /* the row cannot be rendered: nothing else is known */
    bool is_too_much;                   /* refused at a limit of time or memory */
    bool is_left;                       /* not looked at: too many rows before it were too much */
    struct audit_row row, second;       /* by either rule; second.n_tokens -1: not known */
    struct seen_ids seen;
    /* of the worker's first row without its marker, else NULL */
    const char *marker, *marker_ids, *nearest_ids, *nearest_text;
};
MUST_CHECK int label_worker_open(struct label_worker *worker, struct audit_job *job,
                                 const struct audit_ids *ids, struct error *err);
void label_worker_close(struct label_worker *worker);
void label_worker_row(struct label_worker *worker, const struct json *line,
                      struct label_result *out);
MUST_CHECK int audit_simulated(struct audit_job *job, struct audit *audit, struct error *err);
/* A row that cannot be read or rendered: counted, the first one named. */
MUST_CHECK int audit_refuse(struct audit_job *job, struct audit *audit, enum audit_flag flag,
                            const char *why, struct error *err);
/* A recorded row's numbers. */
struct recorded_row {
    uint32_t *ids;
    uint8_t *trained;                   /* NULL: no labels */
    size_t n;                           /* without padding */
};

/* ---- Kept (audit_store.c) ---- */

MUST_CHECK int audit_put(struct store *store, int64_t run_id, const struct audit *audit,
                         uint64_t key, struct error *err);
/* The rows with the audit's numbers instead of estimated ones, in the facts' arena; the rows as they
 * are when there is no audit of that data set. */
const struct sample *audit_samples(const struct run_facts *facts, const struct dataset *dataset,
                                   const struct sample *samples, size_t n);
/* Fills cache->audits from cache->stored_audits, with their rows. */
MUST_CHECK int audit_load(const struct run_facts *facts, struct error *err);

#endif
