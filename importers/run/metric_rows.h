/* Rows of numbers, from whatever file, as points: one place for steps, segments and names. */
#ifndef IMPORTERS_RUN_METRIC_ROWS_H
#define IMPORTERS_RUN_METRIC_ROWS_H

#include "importers/importer.h"

#define METRIC_ROWS_KEYS      512
#define METRIC_ROWS_KEY_BYTES 200
#define METRIC_ROWS_FOUND     64
#define METRIC_ROWS_SHAPES    4
#define METRIC_ROWS_AT_ONCE   64

/* What a key means, kept: rows look alike, so it is most often the one behind the last. */
struct metric_key {
    char name[METRIC_ROWS_KEY_BYTES];
    size_t n;
    int handle; /* of the series; -1: none was begun yet */
    bool is_step, is_total, is_wall, is_loss;
    bool is_place; /* of the first three */
};

/* The keys behind the first fields of the rows of one shape (struct json_row); NULL: not known yet. */
struct metric_shape {
    uint64_t number;
    struct metric_key *keys[METRIC_ROWS_FOUND];
};

struct metric_rows {
    struct import *import;
    bool train_loss_is_loss; /* a table without `loss`: its train_loss is the curve */
    bool is_logged;          /* names went through a logger: "train/loss" (logged_name.h) */
    bool row_is_step;        /* no step column: the number of the row stands for it */
    int64_t n_rows;
    int64_t n_without_step;
    int64_t last_step, last_total; /* NONE */
    int64_t last_line;
    int32_t segment;
    struct metric_key *keys;
    size_t n_keys, at;       /* at: where the next key is expected */
    struct metric_key spare; /* for keys beyond METRIC_ROWS_KEYS */
    struct metric_shape shapes[METRIC_ROWS_SHAPES];
    struct metric_shape *found;                    /* of the row */
    struct metric_shape without;                   /* of rows that have no shape */
    int handles[METRIC_ROWS_AT_ONCE];              /* numbers of the row, on their way to the sink */
    double values[METRIC_ROWS_AT_ONCE];
    size_t n_ready;
};

MUST_CHECK int metric_rows_begin(struct metric_rows *rows, struct import *import,
                                 struct error *err);
void metric_rows_end(struct metric_rows *rows);
/* One row; E_CANCELLED when the user wants no more, 1 when import->max_rows are read. */
MUST_CHECK int metric_rows_add(struct metric_rows *rows, const struct json_row *row,
                               struct error *err);

#endif
