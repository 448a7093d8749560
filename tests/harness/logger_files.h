/* Small files of loggers, byte by byte: event files and .wandb logs for tests that need them in
 * shapes that no writer makes. */
#ifndef TESTS_HARNESS_LOGGER_FILES_H
#define TESTS_HARNESS_LOGGER_FILES_H

#include <stdint.h>

#include "core/base/str.h"

/* ---- TensorBoard ---- */
void logger_put_header(struct buf *file, uint64_t length); /* with its checksum */
void logger_put_record(struct buf *file, struct str data);
void logger_begin_events(struct buf *file);
void logger_put_scalar(struct buf *file, const char *tag, int64_t step, double wall, double value);

/* ---- W&B ---- */
void logger_begin_wandb(struct buf *file);
void logger_put_wandb(struct buf *file, struct str data);
/* A row of the history: the metric, and the trainer's step. */
void logger_put_history(struct buf *file, const char *name, int64_t step, double value);

/* ---- Protocol buffers ---- */
void logger_put_varint(struct buf *out, uint64_t value);
void logger_put_bytes(struct buf *out, unsigned number, struct str bytes);

#endif
