/* What the files of the sink that writes to the cache share: the sink itself, its batches, and the rows
 * that are written at once. Private to core/store/sink_store*.c. */
#ifndef CORE_STORE_SINK_STORE_PARTS_H
#define CORE_STORE_SINK_STORE_PARTS_H

#include "core/store/blocks.h"
#include "core/store/db.h"
#include "core/store/sink_backend.h"

struct store_sink {
    struct store *store;
    int64_t source_id;
    struct point_block *series;
    int n_series, series_capacity;
    struct sample_block *datasets;
    int n_datasets, datasets_capacity;
    size_t n_gathered;              /* rows in all of them */
    int64_t next_tensor;
    size_t batch_rows, batch_bytes;
};

/* ---- Batches (sink_store.c) ---- */

int sink_no_memory(struct error *err);
/* After a record was written. */
MUST_CHECK int sink_wrote(struct store_sink *sink, size_t bytes, struct error *err);
MUST_CHECK int sink_prepare(struct store_sink *sink, const char *sql, sqlite3_stmt **out,
                            struct error *err);
/* Runs the statement, which writes one record. */
MUST_CHECK int sink_insert(struct store_sink *sink, sqlite3_stmt *statement, struct error *err);

/* ---- Members of the backend (sink_store_rows.c) ---- */

MUST_CHECK int row_setting(void *self, const struct setting *set, struct error *err);
MUST_CHECK int row_event(void *self, const struct event *said, struct error *err);
MUST_CHECK int row_artefact(void *self, const struct artefact *found, int64_t *id,
                            struct error *err);
MUST_CHECK int row_tensor(void *self, int64_t artefact_id, const struct tensor *of,
                          struct error *err);
MUST_CHECK int row_generation(void *self, const struct generation *made, struct error *err);
MUST_CHECK int row_eval_suite(void *self, const struct eval_suite *suite, int64_t *id,
                              struct error *err);
MUST_CHECK int row_eval_item(void *self, int64_t suite_id, const struct eval_item *item,
                             struct error *err);
MUST_CHECK int row_judgement(void *self, const struct judgement *said, struct error *err);
MUST_CHECK int row_note(void *self, const struct note *said, struct error *err);

#endif
