/* safetensors files: 8 bytes of length, a JSON header, then the tensors' bytes. */
#include "core/read/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/json.h"
#include "core/read/source.h"
#include "core/read/tensor_values.h"

#define HEADER_MAX_BYTES   ((int64_t)32 << 20)
#define HEADER_ARENA_BYTES ((size_t)512 << 20)
#define MAX_TENSORS        200000
#define MAX_DIMENSIONS     16

struct reading {
    struct source_file *file;
    int64_t size, data_at; /* of the file; where the tensors begin */
    struct arena *arena;
    struct weight_tensor *tensors;
    size_t n;
    struct weights *out;
};

/* ---- Header ---- */

/* A whole number of at most 2^53, which no offset of a real file passes. */
static bool whole(const struct json *value, int64_t *out)
{
    if (!json_is(value, JSON_NUMBER) || !value->is_integer || !(value->number >= 0) ||
        value->number > 9007199254740992.0)
        return false;
    *out = (int64_t)value->number;
    return true;
}

static bool read_shape(const struct json *shape, struct arena *arena, struct tensor *out)
{
    struct buf text;
    int64_t product = 1, side;

    if (!json_is(shape, JSON_ARRAY) || shape->n > MAX_DIMENSIONS)
        return false;
    for (const struct json *item = shape->child; item; item = item->next)
        if (!whole(item, &side) || __builtin_mul_overflow(product, side, &product))
            return false;
    buf_init(&text, 1024);
    json_write(&text, shape);
    out->shape = arena_strdup(arena, text.p ? text.p : "");
    buf_free(&text);
    out->n_values = product;
    return true;
}

static bool read_entry(const struct json *entry, struct arena *arena,
                       struct weight_tensor *out)
{
    const struct json *dtype = json_get(entry, "dtype");
    const struct json *offsets = json_get(entry, "data_offsets");
    int64_t bits;

    if (!json_is(entry, JSON_OBJECT) || !json_is(dtype, JSON_STRING) ||
        !json_is(offsets, JSON_ARRAY) || offsets->n != 2 || !whole(offsets->child, &out->begin) ||
        !whole(offsets->child->next, &out->end) || out->begin > out->end)
        return false;
    if (!read_shape(json_get(entry, "shape"), arena, &out->facts))
        return false;
    out->facts.name = arena_strndup(arena, entry->key.p, entry->key.n);
    out->facts.dtype = arena_strndup(arena, dtype->text.p, dtype->text.n < 16 ? dtype->text.n : 16);
    out->facts.norm = out->facts.delta_norm = NAN;
    out->facts.n_nonzero = out->facts.n_nonfinite = NONE;
    int n_bits = tensor_dtype_bits(out->facts.dtype);
    return n_bits && !__builtin_mul_overflow(out->facts.n_values, (int64_t)n_bits, &bits) &&
           bits % 8 == 0 && bits / 8 == out->end - out->begin;
}

static int by_offset(const void *a, const void *b)
{
    const struct weight_tensor *left = a, *right = b;

    if (left->begin != right->begin)
        return left->begin < right->begin ? -1 : 1;
    if (left->end != right->end)
        return left->end < right->end ? -1 : 1;
    return strcmp(left->facts.name, right->facts.name);
}

static int read_entries(struct reading *reading, const struct json *header, struct error *err)
{
    struct weights *out = reading->out;

    if (!json_is(header, JSON_OBJECT))
        return error_set(err, E_PARSE, "the header is not a JSON object");
    if (header->n > MAX_TENSORS)
        return error_set(err, E_LIMIT, "%zu tensors, at most %d are read", header->n, MAX_TENSORS);
    reading->tensors =
        arena_array(reading->arena, header->n ? header->n : 1, sizeof *reading->tensors);
    if (!reading->tensors)
        return error_set(err, E_NOMEM, "%zu tensors", header->n);
    for (const struct json *entry = header->child; entry; entry = entry->next) {
        if (str_is(entry->key, "__metadata__"))
            continue;
        if (read_entry(entry, reading->arena, &reading->tensors[reading->n])) {
            reading->n++;
            continue;
        }
        if (out->n_bad++ == 0)
            out->first_bad = arena_strndup(reading->arena, entry->key.p, entry->key.n);
        memset(&reading->tensors[reading->n], 0, sizeof *reading->tensors);
    }
    if (arena_failed(reading->arena))
        return error_set(err, E_NOMEM, "%zu tensors", header->n);
    qsort(reading->tensors, reading->n, sizeof *reading->tensors, by_offset);
    return OK;
}

static void see_ranges(struct reading *reading)
{
    struct weights *out = reading->out;
    int64_t end = 0;

    for (size_t i = 0; i < reading->n; i++) {
        const struct weight_tensor *tensor = &reading->tensors[i];

        if (tensor->begin < end && tensor->begin < tensor->end)
            out->is_overlapping = true;
        if (tensor->begin > end)
            out->unclaimed_bytes += tensor->begin - end;
        if (tensor->end > end)
            end = tensor->end;
    }
    out->missing_bytes = reading->data_at + end - reading->size;
    out->is_cut = out->missing_bytes > 0;
    if (!out->is_cut) {
        out->unclaimed_bytes += reading->size - reading->data_at - end;
        out->missing_bytes = 0;
    }
}

static int read_header(struct reading *reading, struct error *err)
{
    unsigned char length_bytes[8];
    size_t got = 0;
    uint64_t length = 0;
    int rc = source_at(reading->file, 0, length_bytes, sizeof length_bytes, &got, err);

    if (rc != OK)
        return rc;
    if (got < sizeof length_bytes)
        return error_set(err, E_PARSE, "%zu bytes are no safetensors file", got);
    for (int i = 8; i-- > 0;)
        length = length << 8 | length_bytes[i];
    if (length > 100000000)
        return error_set(err, E_PARSE, "not a safetensors file: it states a header of %llu bytes",
                         (unsigned long long)length);
    if ((int64_t)length > HEADER_MAX_BYTES)
        return error_set(err, E_LIMIT, "a header of %llu bytes", (unsigned long long)length);
    reading->data_at = 8 + (int64_t)length;
    if (reading->data_at > reading->size)
        return error_set(err, E_PARSE, "cut inside the header: %lld of %lld bytes",
                         (long long)reading->size, (long long)reading->data_at);
    char *text = malloc((size_t)length + 1);
    struct arena *scratch = arena_open(HEADER_ARENA_BYTES);
    const struct json *header = NULL;
    rc = text && scratch ? source_at(reading->file, 8, text, (size_t)length, &got, err)
                         : error_set(err, E_NOMEM, "the header");
    if (rc == OK)
        rc = json_parse(str_trim(str_from(text, got)), false, scratch, &header, NULL, err);
    if (rc == OK)
        rc = read_entries(reading, header, err);
    arena_close(scratch);
    free(text);
    return rc;
}

/* ---- Values ---- */

static int read_part(void *ctx, const struct weight_tensor *tensor, int64_t offset, void *out,
                     size_t n, size_t *got, struct error *err)
{
    struct reading *reading = ctx;

    *got = 0;
    return reading->data_at + tensor->end > reading->size
               ? OK
               : source_at(reading->file, reading->data_at + tensor->begin + offset, out, n, got,
                           err);
}

int safetensors_read(const char *path, const struct weight_options *options, struct arena *arena,
                     struct weights *out, struct error *err)
{
    struct weights found = {0};
    struct reading reading = {.arena = arena, .out = &found};
    struct weight_reader reader = {.read = read_part, .ctx = &reading};
    int rc = source_open(&reading.file, path, err);

    if (rc != OK)
        return rc;
    reading.size = source_size(reading.file);
    rc = read_header(&reading, err);
    if (rc == OK)
        see_ranges(&reading);
    found.tensors = reading.tensors;
    found.n = reading.n;
    if (rc == OK && !found.is_overlapping && options && reading.size <= options->values_up_to)
        rc = weights_measure(&found, &reader, options, err);
    source_close(reading.file);
    if (rc != OK) {
        error_at(err, path, NONE, NONE);
        return rc;
    }
    *out = found;
    return OK;
}
