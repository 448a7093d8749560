/* The parts of the reader of W&B's files; for wandb*.c only,
 * but for the history of trackio.c.
 *
 *   wandb.c          which file it is, and the .wandb log: records and notes
 *   wandb_history.c  a row of the history
 *   wandb_config.c   settings: config, run, environment, summary; as records and as files */
#ifndef IMPORTERS_RUN_WANDB_H
#define IMPORTERS_RUN_WANDB_H

#include "importers/importer.h"
#include "importers/run/metric_rows.h"

/* ---- wandb_history.c ---- */
#define WANDB_ROW_FIELDS 4096

struct wandb_history {
    struct metric_rows rows;
    struct json_field *fields; /* WANDB_ROW_FIELDS */
    size_t n_fields;
    struct arena *arena;      /* of one row */
    bool has_own_step;        /* a training step of the trainer's own was seen */
    struct str own_step_name; /* of the row at hand */
    int64_t n_damaged, n_left_out;
};
MUST_CHECK int wandb_history_begin(struct wandb_history *history, struct import *import,
                                   struct error *err);
void wandb_history_end(struct wandb_history *history);
/* 1: import->max_rows are read. */
MUST_CHECK int wandb_history_add(struct wandb_history *history, struct str record,
                                 struct error *err);
/* A row as one JSON object, as Trackio keeps it, which speaks W&B's words. step: the count of calls;
 * wall: seconds since 1970, or NaN. */
MUST_CHECK int wandb_history_add_json(struct wandb_history *history, struct str text, int64_t step,
                                      double wall, struct error *err);

/* ---- wandb_config.c ---- */
/* An item's name (nested ones joined by '.') and its value as JSON text. */
struct wandb_item {
    struct str name, json;
};
/* false: damaged, or without a name. `arena` holds joined names. */
bool wandb_item_of(struct str bytes, struct arena *arena, struct wandb_item *out);
MUST_CHECK int wandb_take_config(struct import *import, struct str record, struct error *err);
MUST_CHECK int wandb_take_run(struct import *import, struct str record, struct error *err);
MUST_CHECK int wandb_take_environment(struct import *import, struct str record, struct error *err);
MUST_CHECK int wandb_read_config_file(struct import *import, struct error *err);
MUST_CHECK int wandb_read_metadata_file(struct import *import, struct error *err);
MUST_CHECK int wandb_read_summary_file(struct import *import, struct error *err);

#endif
