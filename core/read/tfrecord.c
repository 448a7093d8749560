/* Framing of TFRecord files, with a search for the next record where one is damaged. Knows nothing
 * of what is in the records. See tfrecord.h. */
#include "core/read/tfrecord.h"

#include <stdlib.h>

#include "core/read/crc32.h"
#include "core/read/source.h"

#define HEADER 12 /* u64 length, u32 checksum of it */
#define FOOTER 4  /* u32 checksum of the data */
#define WINDOW (TFRECORD_MAX_BYTES + ((size_t)64 << 10))
/* Bytes of which the checksum was made and found wrong. Lengths that lie could otherwise have the
 * same bytes summed up again and again. */
#define WRONG_MAX_BYTES ((size_t)512 << 20)

struct tfrecord_reader {
    struct source_file *file;
    int64_t base; /* offset of window[0] */
    size_t at, filled;
    bool is_at_end; /* the file ends behind window[filled - 1] */
    struct error failure; /* of the file, told behind what came before it; OK: none */
    size_t n_wrong; /* bytes; from WRONG_MAX_BYTES on nothing is searched for any more */
    struct crc32_table crc;
    unsigned char *window;
};

int tfrecord_open(struct tfrecord_reader **out, struct source_file *file, struct error *err)
{
    struct tfrecord_reader *reader = calloc(1, sizeof *reader);

    if (reader)
        reader->window = malloc(WINDOW);
    if (!reader || !reader->window) {
        free(reader);
        return error_set(err, E_NOMEM, "no memory to read records");
    }
    reader->file = file;
    reader->failure.status = OK;
    crc32_make_table(&reader->crc, CRC32C_POLYNOMIAL);
    *out = reader;
    return OK;
}

void tfrecord_close(struct tfrecord_reader *reader)
{
    if (reader)
        free(reader->window);
    free(reader);
}

/* ---- The window ---- */

static int64_t place(const struct tfrecord_reader *reader)
{
    return reader->base + (int64_t)reader->at;
}

static size_t left(const struct tfrecord_reader *reader)
{
    return reader->filled - reader->at;
}

/* A packed file that is cut ends there; failures of ours are told at once. */
static int fail_behind(struct tfrecord_reader *reader, int rc, struct error *err)
{
    if (rc != E_PARSE && rc != E_LIMIT)
        return rc;
    if (err)
        reader->failure = *err;
    reader->failure.status = rc;
    reader->is_at_end = true;
    return OK;
}

/* n bytes from the current place on are in the window, or all there are. */
static int want(struct tfrecord_reader *reader, size_t n, struct error *err)
{
    size_t got;

    if (left(reader) >= n || reader->is_at_end)
        return OK;
    memmove(reader->window, reader->window + reader->at, left(reader));
    reader->base += (int64_t)reader->at;
    reader->filled -= reader->at;
    reader->at = 0;
    while (reader->filled < WINDOW && !reader->is_at_end) {
        int rc = source_at(reader->file, reader->base + (int64_t)reader->filled,
                           reader->window + reader->filled, WINDOW - reader->filled, &got, err);

        if (rc != OK)
            return fail_behind(reader, rc, err);
        /* Of a packed file what is whole comes first; only the next reading says what is wrong. */
        reader->is_at_end = got == 0 || (source_size(reader->file) != NONE &&
                                         got < WINDOW - reader->filled);
        reader->filled += got;
    }
    return OK;
}

static void go_to(struct tfrecord_reader *reader, int64_t offset)
{
    int64_t inside = offset - reader->base;

    if (inside >= 0 && inside <= (int64_t)reader->filled) {
        reader->at = (size_t)inside;
        return;
    }
    reader->base = offset;
    reader->at = reader->filled = 0;
    reader->is_at_end = false;
}

/* ---- Records ---- */

static uint64_t number(const unsigned char *p, int n)
{
    uint64_t value = 0;

    while (n-- > 0)
        value = value << 8 | p[n];
    return value;
}

static bool is_header(const struct crc32_table *crc, const unsigned char *p, uint64_t *length)
{
    *length = number(p, 8);
    return *length < (uint64_t)1 << 40 && crc32_masked(crc, p, 8) == number(p + 8, 4);
}

bool tfrecord_begins(struct str head)
{
    struct crc32_table crc;
    uint64_t length;

    if (head.n < HEADER)
        return false;
    crc32_make_table(&crc, CRC32C_POLYNOMIAL);
    return is_header(&crc, (const unsigned char *)head.p, &length);
}

enum look { LOOK_WHOLE, LOOK_LONG, LOOK_WRONG, LOOK_SHORT, LOOK_NONE };

/* What stands at the current place. */
static int look(struct tfrecord_reader *reader, uint64_t *length, enum look *out, struct error *err)
{
    int rc = want(reader, HEADER, err);

    *length = 0;
    if (rc != OK)
        return rc;
    if (left(reader) < HEADER) {
        *out = LOOK_SHORT;
        return OK;
    }
    if (!is_header(&reader->crc, reader->window + reader->at, length)) {
        *out = LOOK_NONE;
        return OK;
    }
    int64_t size = source_size(reader->file);
    if (*length > TFRECORD_MAX_BYTES) {
        bool is_short = size != NONE && (int64_t)*length > size - place(reader) - HEADER - FOOTER;

        *out = is_short ? LOOK_SHORT : LOOK_LONG;
        return OK;
    }
    rc = want(reader, HEADER + *length + FOOTER, err);
    if (rc != OK)
        return rc;
    const unsigned char *data = reader->window + reader->at + HEADER;
    if (left(reader) < HEADER + *length + FOOTER)
        *out = LOOK_SHORT;
    else
        *out = crc32_masked(&reader->crc, data, *length) == number(data + *length, FOOTER)
                   ? LOOK_WHOLE
                   : LOOK_WRONG;
    reader->n_wrong += *out == LOOK_WRONG ? *length : 0;
    return OK;
}

/* Goes to the next place that holds a whole record; false: there is none up to the end. */
static int search(struct tfrecord_reader *reader, bool *found, struct error *err)
{
    uint64_t length;
    enum look what;

    *found = false;
    for (;;) {
        int rc = want(reader, HEADER, err);

        if (rc != OK || left(reader) < HEADER || reader->n_wrong > WRONG_MAX_BYTES)
            return rc;
        while (left(reader) >= HEADER &&
               !is_header(&reader->crc, reader->window + reader->at, &length))
            reader->at++;
        if (left(reader) < HEADER)
            continue;
        rc = look(reader, &length, &what, err);
        if (rc != OK)
            return rc;
        if (what == LOOK_WHOLE || what == LOOK_LONG) {
            *found = true;
            return OK;
        }
        reader->at++;
    }
}

/* The place behind a record of a right length and wrong data: the next record, or the end? */
static int goes_on(struct tfrecord_reader *reader, int64_t behind, bool *does, struct error *err)
{
    uint64_t length;

    go_to(reader, behind);
    int rc = want(reader, HEADER, err);
    *does = rc == OK &&
            (left(reader) == 0 || (left(reader) >= HEADER &&
                                   is_header(&reader->crc, reader->window + reader->at, &length)));
    return rc;
}

static int go_to_end(struct tfrecord_reader *reader, struct error *err)
{
    int rc = OK;

    reader->at = reader->filled;
    while (rc == OK && !reader->is_at_end) {
        rc = want(reader, 1, err);
        reader->at = reader->filled;
    }
    return rc;
}

/* Sets what was damaged and stands behind it. A tail without another record is one that is still
 * being written when it began well. */
static int skip_damage(struct tfrecord_reader *reader, enum look what, uint64_t length,
                       struct tfrecord *out, struct error *err)
{
    bool found = false;
    int rc = OK;

    if (what == LOOK_WRONG) {
        rc = goes_on(reader, out->byte + HEADER + (int64_t)length + FOOTER, &found, err);
        if (rc == OK && !found)
            go_to(reader, out->byte);
    }
    if (rc == OK && !found) {
        rc = want(reader, 1, err);
        reader->at += left(reader) > 0;
        rc = rc == OK ? search(reader, &found, err) : rc;
        if (rc == OK && !found)
            rc = go_to_end(reader, err);
    }
    out->kind = what == LOOK_SHORT && !found ? TFRECORD_CUT : TFRECORD_DAMAGED;
    out->end = place(reader);
    return rc;
}

int tfrecord_next(struct tfrecord_reader *reader, struct tfrecord *out, struct error *err)
{
    uint64_t length;
    enum look what;
    int rc = want(reader, 1, err);

    if (rc == OK && left(reader) == 0 && reader->failure.status != OK && err)
        *err = reader->failure;
    if (rc != OK || left(reader) == 0)
        return rc != OK ? rc : reader->failure.status;
    rc = look(reader, &length, &what, err);
    if (rc != OK)
        return rc;
    *out = (struct tfrecord){.byte = place(reader)};
    if (what != LOOK_WHOLE && what != LOOK_LONG) {
        rc = skip_damage(reader, what, length, out, err);
        return rc == OK ? 1 : rc;
    }
    if (what == LOOK_LONG) {
        out->kind = TFRECORD_LONG;
        out->end = out->byte + HEADER + (int64_t)length + FOOTER;
        go_to(reader, out->end);
        return 1;
    }
    out->kind = TFRECORD_DATA;
    out->data = str_from((const char *)reader->window + reader->at + HEADER, length);
    reader->at += HEADER + length + FOOTER;
    out->end = place(reader);
    return 1;
}
