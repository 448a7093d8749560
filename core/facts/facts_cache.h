/* What run_facts keeps behind its back; for the files of core/facts/ only. */
#ifndef CORE_FACTS_FACTS_CACHE_H
#define CORE_FACTS_FACTS_CACHE_H

#include "core/facts/run_facts.h"

#define FACTS_BYTES ((size_t)2 << 30) /* points: 28 bytes a row, 8 a metric of it */

struct facts_name { /* a curve that was asked for; curve NULL: there is none */
    const char *name;
    const struct curve *curve;
    struct facts_name *next;
};

struct facts_points { /* the first series of that length that was loaded from a source */
    int64_t source_id;
    struct point_columns columns;
    struct facts_points *next;
};

struct facts_tensor_list {
    int64_t artefact_id;
    const struct tensor *tensors;
    size_t n;
    struct facts_tensor_list *next;
};

struct facts_sample_list {
    int64_t dataset_id;
    const struct sample *samples;
    size_t n;
    struct facts_sample_list *next;
};

struct facts_item_list {
    int64_t suite_id;
    const struct eval_item *items;
    size_t n;
    struct facts_item_list *next;
};

struct facts_cache {
    struct arena *arena;
    struct store *store;               /* NULL: from memory */
    const struct facts_memory *memory; /* NULL: from a store */

    const struct setting **by_trust; /* by side, name, trust */
    size_t n_by_trust;
    const struct setting **by_source; /* all, by source, in their order */
    const struct other_run *other_runs; /* other_runs.c: files that tell of another run */
    struct facts_name *curves;
    struct facts_points *points;
    const struct loss_zero *loss_zero; /* loss_zero.c: read once */
    const struct prompt_pair *prompt_pair; /* prompt_pair.c: made once */
    const struct serving *serving;         /* serving.c: made once */
    const struct lineage *lineage;         /* lineage.c: made once */
    const struct model_outputs *outputs;   /* model_outputs.c: made once */
    const struct curve *const *eval_losses;
    size_t n_eval_losses;
    bool eval_losses_known;
    struct facts_tensor_list *tensors;
    struct facts_sample_list *samples;
    struct facts_item_list *items;
    const struct judgement *judgements; /* judgements.c: loaded once */
    size_t n_judgements;
    bool judgements_known;
    const struct sample *lengths;
    size_t n_lengths;
    const struct dataset *lengths_of;
    bool lengths_known;
    const struct stored_audit *stored_audits; /* heads and keys, as they were on opening */
    size_t n_stored_audits;
    const struct audit *const *audits;        /* audit.c: loaded once */
    size_t n_audits;
    bool audits_known;
    struct stored_text stored_data;           /* data_facts.c, as it was on opening */
    const struct data_facts *data;            /* data_facts.c: read once */
    bool data_known;
    const struct run_history *stored_histories; /* as they were on opening */
    size_t n_stored_histories;
    const struct config_history *const *histories; /* config_history.c: loaded once */
    size_t n_histories;
    bool histories_known;
    const struct leaks *leaks; /* leaks.c: loaded once */
    uint64_t leaks_key;
    bool leaks_known;
    const struct completions *completions; /* completions.c: loaded once */
    uint64_t completions_hash;
    bool completions_known;
    struct error failure; /* the first failure of a load on demand */
};

/* Remembers the first failure of a load that has no error of its own. */
void facts_fail(const struct run_facts *facts, const struct error *why);

/* settings.c: sorts the settings by trust; E_NOMEM. */
MUST_CHECK int facts_index_settings(struct run_facts *facts, struct error *err);
/* Sorts them anew by trust, after it has become known which files tell of another run. */
MUST_CHECK int facts_rank_settings(struct run_facts *facts, struct error *err);
/* The settings of one source, in their order. A run may have as many states as checkpoints: who asks
 * each of them must not look through all settings. */
const struct setting *const *facts_settings_of(const struct run_facts *facts, int64_t source_id,
                                               size_t *n);
/* N of the nearest folder checkpoint-N around the file, or NONE. */
int64_t facts_checkpoint_step(const struct run_facts *facts, const char *path);
/* Which process of several wrote the file, by its name below the run's folder or beside it; 0: not said. */
int64_t facts_rank(const struct run_facts *facts, const char *path);
/* The importer that read the source is this one; false for 0 and unknown ids. */
bool facts_source_is(const struct run_facts *facts, int64_t source_id, const char *importer);

#endif
