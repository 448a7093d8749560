/* The records of a .wandb file: LevelDB's log format with a header of its own and plain CRC-32.
 *
 * Reads on over damage from the next block. Memory does not depend on the file. */
#ifndef CORE_READ_WANDB_LOG_H
#define CORE_READ_WANDB_LOG_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/str.h"

#define WANDB_LOG_MAX_BYTES ((size_t)16 << 20) /* of a record put together from several blocks */

enum wandb_log_kind {
    WANDB_LOG_DATA,
    WANDB_LOG_LONG,    /* a record that is longer: stepped over */
    WANDB_LOG_DAMAGED, /* bytes that are no record, or one with a wrong checksum */
    WANDB_LOG_CUT      /* the last record, not whole: the end of a file that is being written */
};

struct wandb_log_record {
    enum wandb_log_kind kind;
    struct str data; /* of WANDB_LOG_DATA, borrowed until the next call */
    int64_t byte;    /* where it begins */
    int64_t end;     /* offset behind it */
    const char *why; /* of damage: what was found */
};

struct source_file;
struct wandb_log;

/* The file stays the caller's. */
MUST_CHECK int wandb_log_open(struct wandb_log **out, struct source_file *file, struct error *err);
void wandb_log_close(struct wandb_log *log); /* NULL allowed */
/* 1 a record, 0 the end. */
MUST_CHECK int wandb_log_next(struct wandb_log *log, struct wandb_log_record *out,
                              struct error *err);
/* Does a file that begins with these bytes say that it is such a log? */
bool wandb_log_begins(struct str head);

#endif
