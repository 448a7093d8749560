/* See torch_file.h. A zip member is found by the key of its storage; torch stores members unpacked, so
 * a piece of one can be read at its place. */
#include "core/read/torch_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/read/pickle.h"
#include "core/read/source.h"
#include "core/read/tensor_values.h"
#include "core/read/zip.h"

#define SCRATCH_BYTES     ((size_t)512 << 20)
#define TENSOR_NAME_BYTES 2048
#define KEY_BYTES         64

/* Of the old format, where they follow the pickles; a view shares one with another. */
struct storage {
    struct str key;
    int64_t bytes;
};

struct reading {
    struct zip_file_reader *zip; /* NULL: the old format */
    struct arena *arena;         /* of the result */
    struct weights *out;
    struct storage *storages;    /* as many as tensors; of the pickle's memory */
    size_t n_storages;
    int64_t size;                /* of the file */
};

struct dtype_name {
    const char *global, *dtype;
};

/* "torch FloatStorage"; before 0.4 "torch.cuda FloatStorage". */
static const struct dtype_name STORAGES[] = {
    {" DoubleStorage", "F64"}, {" BFloat16Storage", "BF16"}, {" FloatStorage", "F32"},
    {" HalfStorage", "F16"},   {" LongStorage", "I64"},      {" IntStorage", "I32"},
    {" ShortStorage", "I16"},  {" CharStorage", "I8"},       {" ByteStorage", "U8"},
    {" BoolStorage", "BOOL"},  {" ComplexFloatStorage", "C64"},
};

/* The kinds that have no storage class of their own: _rebuild_tensor_v3 names the dtype. */
static const struct dtype_name DTYPES[] = {
    {" float8_e4m3fn", "F8_E4M3"},       {" float8_e5m2", "F8_E5M2"},
    {" float8_e4m3fnuz", "F8_E4M3FNUZ"}, {" float8_e5m2fnuz", "F8_E5M2FNUZ"},
    {" float8_e8m0fnu", "F8_E8M0"},      {" uint16", "U16"},
    {" uint32", "U32"},                  {" uint64", "U64"},
};

/* "": none of ours. */
static const char *dtype_in(const struct dtype_name *names, size_t n, const struct pickle_value *global)
{
    for (size_t i = 0; global && global->type == PICKLE_GLOBAL && i < n; i++)
        if (str_ends(global->text, names[i].global))
            return names[i].dtype;
    return "";
}

static const char *dtype_of(const struct pickle_value *arguments, const struct pickle_value *storage)
{
    const char *dtype = dtype_in(STORAGES, sizeof STORAGES / sizeof *STORAGES, storage);

    for (size_t i = 4; *dtype == '\0' && i < arguments->n && i < 8; i++)
        dtype = dtype_in(DTYPES, sizeof DTYPES / sizeof *DTYPES, arguments->items[i]);
    return dtype;
}

static const struct pickle_value *item(const struct pickle_value *list, size_t i)
{
    bool is_list = list && (list->type == PICKLE_TUPLE || list->type == PICKLE_LIST);

    return is_list && i < list->n ? list->items[i] : NULL;
}

/* _rebuild_parameter(tensor, …) wraps; _rebuild_tensor_v2(storage, offset, size, stride, …). */
static const struct pickle_value *rebuild_arguments(const struct pickle_value *value)
{
    for (int depth = 0; depth < 4 && value && value->type == PICKLE_CALL; depth++) {
        const struct pickle_value *first = item(value->arguments, 0);

        if (first && first->type == PICKLE_PERSISTENT)
            return value->arguments;
        value = first;
    }
    return NULL;
}

/* Row-major and whole: only then are the values one run of bytes. */
static bool is_contiguous(const struct pickle_value *size, const struct pickle_value *stride)
{
    int64_t expected = 1;

    if (!size || !stride || size->n != stride->n)
        return false;
    for (size_t i = size->n; i-- > 0;) {
        if (size->items[i]->integer != 1 && stride->items[i]->integer != expected)
            return false;
        if (__builtin_mul_overflow(expected, size->items[i]->integer, &expected))
            return false;
    }
    return true;
}

/* "[3,4]" as safetensors has it. */
static bool read_shape(const struct pickle_value *size, struct arena *arena, struct tensor *out)
{
    struct buf text;

    if (!size || size->type != PICKLE_TUPLE || size->n > 16)
        return false;
    out->n_values = 1;
    for (size_t i = 0; i < size->n; i++)
        if (size->items[i]->type != PICKLE_INT || size->items[i]->integer < 0 ||
            __builtin_mul_overflow(out->n_values, size->items[i]->integer, &out->n_values))
            return false;
    buf_init(&text, 1024);
    pickle_text(&text, size);
    out->shape = arena_strdup(arena, text.p ? text.p : "");
    buf_free(&text);
    return true;
}

/* The bytes of the values in their storage; left unknown for views that are no run of bytes. */
static void find_bytes(struct reading *reading, const struct pickle_value *arguments, struct str key,
                       struct weight_tensor *out)
{
    const struct pickle_value *offset = item(arguments, 1);
    int64_t width = tensor_dtype_bits(out->facts.dtype) / 8;

    if (!reading->zip || width == 0 || key.n == 0 || key.n > KEY_BYTES || !offset ||
        offset->type != PICKLE_INT || offset->integer < 0 || out->facts.n_values < 0 ||
        !is_contiguous(item(arguments, 2), item(arguments, 3)) ||
        __builtin_mul_overflow(offset->integer, width, &out->begin) ||
        __builtin_mul_overflow(out->facts.n_values, width, &out->end) ||
        __builtin_add_overflow(out->begin, out->end, &out->end)) {
        out->begin = out->end = 0;
        return;
    }
    out->member = arena_printf(reading->arena, "/data/%.*s", (int)key.n, key.p);
}

static void keep_storage(struct reading *reading, const struct pickle_value *count, struct str key,
                         const char *dtype)
{
    struct storage *storage = &reading->storages[reading->n_storages];

    if (reading->zip || !count || count->type != PICKLE_INT || count->integer < 0 ||
        __builtin_mul_overflow(count->integer, (int64_t)tensor_dtype_bits(dtype) / 8, &storage->bytes) ||
        __builtin_add_overflow(storage->bytes, 8 + (int64_t)key.n + 2, &storage->bytes))
        return;
    storage->key = key;
    reading->n_storages++;
}

static void read_tensor(struct reading *reading, const struct pickle_value *key,
                        const struct pickle_value *value)
{
    const struct pickle_value *arguments = rebuild_arguments(value);
    const struct pickle_value *id = arguments ? item(arguments, 0)->arguments : NULL;
    const struct pickle_value *type = item(id, 1), *member = item(id, 2);
    struct weight_tensor *out = &reading->out->tensors[reading->out->n];

    if (key->type != PICKLE_TEXT || key->text.n == 0 || key->text.n >= TENSOR_NAME_BYTES || !type ||
        !member || member->type != PICKLE_TEXT) {
        if (reading->out->n_bad++ == 0 && key->type == PICKLE_TEXT)
            reading->out->first_bad = arena_strndup(reading->arena, key->text.p, key->text.n);
        return;
    }
    *out = (struct weight_tensor){.facts = {.shape = "",
                                            .n_values = NONE,
                                            .norm = NAN,
                                            .n_nonzero = NONE,
                                            .n_nonfinite = NONE,
                                            .delta_norm = NAN}};
    out->facts.name = arena_strndup(reading->arena, key->text.p, key->text.n);
    out->facts.dtype = dtype_of(arguments, type);
    if (!read_shape(item(arguments, 2), reading->arena, &out->facts)) {
        out->facts.shape = "";
        out->facts.n_values = NONE;
    }
    find_bytes(reading, arguments, member->text, out);
    keep_storage(reading, item(id, 4), member->text, out->facts.dtype);
    reading->out->n++;
}

static int by_key(const void *a, const void *b)
{
    const struct storage *left = a, *right = b;

    return str_compare(left->key, right->key);
}

/* Behind the pickles stands one of the keys, then each storage: its count in 8 bytes, its values. */
static void see_end(struct reading *reading, int64_t pickles)
{
    struct weights *out = reading->out;
    int64_t needed = pickles;

    if (reading->n_storages)
        qsort(reading->storages, reading->n_storages, sizeof *reading->storages, by_key);
    for (size_t i = 0; i < reading->n_storages; i++)
        if ((i == 0 || by_key(&reading->storages[i - 1], &reading->storages[i]) != 0) &&
            __builtin_add_overflow(needed, reading->storages[i].bytes, &needed))
            return;
    out->is_cut = needed > reading->size;
    out->missing_bytes = out->is_cut ? needed - reading->size : 0;
}

/* Of an OrderedDict only its items are there, so an empty one is told by its class. */
static bool is_dict(const struct pickle_value *value)
{
    return value->type == PICKLE_DICT ||
           (value->type == PICKLE_CALL &&
            (value->n > 0 || (value->callee && value->callee->type == PICKLE_GLOBAL &&
                              str_ends(value->callee->text, "OrderedDict"))));
}

/* What trainers of their own write: {"model_state_dict": {…}, "optimizer": …, "epoch": 3}. */
static const struct pickle_value *state_dict_in(const struct pickle_value *top)
{
    static const char *const NAMES[] = {"state_dict", "model_state_dict", "model", "module"};

    for (size_t i = 0; top->type == PICKLE_DICT && i + 1 < top->n; i += 2)
        for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
            const struct pickle_value *inner = top->items[i + 1];

            if (top->items[i]->type == PICKLE_TEXT && str_is(top->items[i]->text, NAMES[k]) &&
                inner != top && inner->n > 0 && is_dict(inner))
                return inner;
        }
    return top;
}

static int read_state_dict(struct reading *reading, const struct pickle *pickle, struct error *err)
{
    const struct pickle_value *top = state_dict_in(pickle->top);
    struct weights *out = reading->out;
    const char **foreign = arena_array(reading->arena, pickle->n_foreign + 1, sizeof *foreign);

    if (!foreign)
        return error_set(err, E_NOMEM, "reading a state dict");
    for (size_t i = 0; i < pickle->n_foreign; i++)
        foreign[i] = arena_strdup(reading->arena, pickle->foreign[i]);
    out->foreign = foreign;
    out->n_foreign = pickle->n_foreign;
    out->is_no_state_dict = !is_dict(top);
    if (out->is_no_state_dict)
        return OK;
    out->tensors = arena_array(reading->arena, top->n / 2 + 1, sizeof *out->tensors);
    reading->storages = arena_array(reading->arena, top->n / 2 + 1, sizeof *reading->storages);
    if (!out->tensors || !reading->storages)
        return error_set(err, E_NOMEM, "%zu tensors", top->n / 2);
    for (size_t i = 0; i + 1 < top->n; i += 2)
        read_tensor(reading, top->items[i], top->items[i + 1]);
    if (!reading->zip)
        see_end(reading, (int64_t)pickle->n_read);
    return arena_failed(reading->arena) ? error_set(err, E_NOMEM, "%zu tensors", top->n / 2) : OK;
}

static int read_pickle(struct reading *reading, const char *bytes, size_t n, struct error *err)
{
    struct arena *scratch = arena_open(SCRATCH_BYTES);
    struct pickle pickle;
    int rc = scratch ? pickle_parse(bytes, n, scratch, &pickle, err)
                     : error_set(err, E_NOMEM, "reading a state dict");

    if (rc == E_NOMEM && scratch && arena_failed(scratch))
        rc = error_set(err, E_LIMIT, "a pickle that needs too much memory");
    if (rc == OK)
        rc = read_state_dict(reading, &pickle, err);
    arena_close(scratch);
    return rc;
}

static int read_part(void *ctx, const struct weight_tensor *tensor, int64_t offset, void *out,
                     size_t n, size_t *got, struct error *err)
{
    struct reading *reading = ctx;
    struct error why = {0};

    *got = 0;
    if (!tensor->member)
        return OK;
    int rc = zip_reader_part(reading->zip, tensor->member, tensor->begin + offset, out, n, got, &why);
    if (rc == E_NOMEM)
        return error_set(err, E_NOMEM, "%s", why.message);
    return OK; /* what cannot be read stays unknown */
}

/* The pickles at the head of the old format; its storages follow them and are not read. */
static int read_head(struct source_file *file, char **out, size_t *n, struct error *err)
{
    int64_t size = source_size(file);
    size_t limit = size < (int64_t)PICKLE_MAX_BYTES ? (size_t)size : PICKLE_MAX_BYTES;

    *out = malloc(limit + 1);
    return *out ? source_at(file, 0, *out, limit, n, err)
                : error_set(err, E_NOMEM, "no memory for %zu bytes", limit);
}

/* The pickle's bytes; reading->zip when they are from a zip. */
static int open_pickle(struct reading *reading, const char *path, int64_t *size, char **bytes,
                       size_t *n, struct error *err)
{
    struct source_file *file = NULL;
    char head[2] = {0};
    size_t got = 0;
    int rc = source_open(&file, path, err);

    if (rc == OK)
        rc = source_at(file, 0, head, sizeof head, &got, err);
    if (rc == OK)
        *size = source_size(file);
    if (rc == OK && got == 2 && head[0] == 'P' && head[1] == 'K') {
        rc = zip_reader_open(&reading->zip, path, err);
        if (rc == OK)
            rc = zip_reader_member(reading->zip, "data.pkl", PICKLE_MAX_BYTES, bytes, n, err);
    } else if (rc == OK) {
        rc = read_head(file, bytes, n, err);
    }
    source_close(file);
    return rc;
}

int torch_file_read(const char *path, const struct weight_options *options, struct arena *arena,
                    struct weights *out, struct error *err)
{
    struct weights found = {.is_pickle = true};
    struct reading reading = {.arena = arena, .out = &found};
    struct weight_reader reader = {.read = read_part, .ctx = &reading};
    char *bytes = NULL;
    size_t n = 0;
    int rc = open_pickle(&reading, path, &reading.size, &bytes, &n, err);

    if (rc == OK)
        rc = read_pickle(&reading, bytes, n, err);
    if (rc == OK && reading.zip && options && reading.size <= options->values_up_to)
        rc = weights_measure(&found, &reader, options, err);
    zip_reader_close(reading.zip);
    free(bytes);
    if (rc != OK) {
        error_at(err, path, NONE, NONE);
        return rc;
    }
    *out = found;
    return OK;
}
