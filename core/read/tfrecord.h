/* The records of a TFRecord file (TensorBoard's event files): length, checksum, data, checksum.
 *
 * Reads on over damage: bytes that are no record are skipped up to the next place where a length
 * and its checksum agree, and are told with their place. Memory does not depend on the file. */
#ifndef CORE_READ_TFRECORD_H
#define CORE_READ_TFRECORD_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/str.h"

/* Longer records (graphs, pictures) are stepped over without being read. */
#define TFRECORD_MAX_BYTES ((size_t)1 << 20)

enum tfrecord_kind {
    TFRECORD_DATA,    /* a record whose checksums are right */
    TFRECORD_LONG,    /* one that was stepped over */
    TFRECORD_DAMAGED, /* bytes that are no record, or one with a wrong checksum */
    TFRECORD_CUT      /* the last record, not whole: the end of a file that is being written */
};

struct tfrecord {
    enum tfrecord_kind kind;
    struct str data; /* of TFRECORD_DATA, borrowed until the next call */
    int64_t byte;    /* where it begins */
    int64_t end;     /* offset behind it */
};

struct source_file;
struct tfrecord_reader;

/* The file stays the caller's. */
MUST_CHECK int tfrecord_open(struct tfrecord_reader **out, struct source_file *file,
                             struct error *err);
void tfrecord_close(struct tfrecord_reader *reader); /* NULL allowed */
/* 1 a record, 0 the end. */
MUST_CHECK int tfrecord_next(struct tfrecord_reader *reader, struct tfrecord *out,
                             struct error *err);
/* Does a file that begins with these bytes hold records? */
bool tfrecord_begins(struct str head);

#endif
