/* Weight files as artefacts with tensors. A torch file's pickle is read as values (names, shapes
 * and which storage), its storages as plain bytes. */
#include "importers/model/weight_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sha256.h"
#include "core/base/unicode.h"
#include "core/read/pickle.h"
#include "core/read/safetensors.h"
#include "core/read/source.h"
#include "core/read/zip.h"

#define PICKLE_ARENA_BYTES ((size_t)512 << 20)
#define STORAGE_MAX_BYTES  ((size_t)128 << 20)
#define TENSOR_NAME_BYTES  2048

/* ---- Artefacts ---- */

static int hash_file(const char *path, char hex[65], struct error *err)
{
    struct sha256 *hash = NULL;
    struct source_file *file = NULL;
    struct str chunk;
    int rc = source_open(&file, path, err);

    if (rc == OK)
        rc = sha256_open(&hash, err);
    while (rc == OK) {
        rc = source_chunk(file, &chunk, err);
        if (rc != OK || chunk.n == 0)
            break;
        sha256_add(hash, chunk.p, chunk.n);
    }
    if (rc == OK) {
        uint8_t digest[32];

        sha256_finish(hash, digest, hex);
    }
    sha256_close(hash);
    source_close(file);
    return rc;
}

int weight_artefact(struct import *import, const char *kind, bool with_hash, int64_t *id,
                    struct error *err)
{
    struct source_stat stat;
    struct error why = {0};
    char hex[65];
    struct artefact artefact = {.kind = kind, .path = import->path, .size = NONE, .step = NONE};

    if (source_stat_path(import->path, &stat, &why) == OK)
        artefact.size = stat.size;
    if (with_hash && artefact.size >= 0 && artefact.size <= WEIGHT_VALUES_BYTES &&
        hash_file(import->path, hex, &why) == OK)
        artefact.sha256 = hex;
    return sink_artefact(import->sink, &artefact, id, err);
}

static int put_tensor(struct import *import, int64_t artefact, const struct tensor *tensor,
                      struct error *err)
{
    struct tensor clean = *tensor;
    struct buf name;
    int rc;

    import->n_rows++;
    if (unicode_is_valid(str_of(tensor->name)))
        return sink_tensor(import->sink, artefact, tensor, err);
    buf_init(&name, TENSOR_NAME_BYTES * 4);
    unicode_valid(&name, str_of(tensor->name));
    clean.name = name.p ? name.p : "";
    rc = sink_tensor(import->sink, artefact, &clean, err);
    buf_free(&name);
    return rc;
}

int weight_name(struct import *import, int64_t artefact, struct str name, double norm,
                struct error *err)
{
    char text[TENSOR_NAME_BYTES];
    struct tensor tensor = {.name = text,
                            .dtype = "",
                            .shape = "",
                            .n_values = NONE,
                            .norm = norm,
                            .n_nonzero = NONE,
                            .n_nonfinite = NONE};

    if (name.n == 0 || name.n >= sizeof text)
        return OK;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    return put_tensor(import, artefact, &tensor, err);
}

/* ---- safetensors ---- */

static int note_safetensors(struct import *import, const struct safetensors *file,
                            struct error *err)
{
    int rc = OK;

    if (file->is_cut) {
        import->state = SOURCE_DAMAGED;
        rc = sink_note(import->sink, NOTE_ERROR, NONE, NONE, err,
                       "cut: %lld bytes are missing at the end", (long long)file->missing_bytes);
    }
    if (rc == OK && file->n_bad)
        rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                       "%zu tensors were left out, their shape, dtype and offsets do not agree, "
                       "first %s",
                       file->n_bad, file->first_bad);
    if (rc == OK && file->is_overlapping)
        rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                       "tensors overlap in the file, no values were read");
    if (rc == OK && file->n == 0)
        rc = sink_note(import->sink, NOTE_WARN, NONE, NONE, err, "holds no tensors");
    return rc;
}

static int note_empty_tensors(struct import *import, const struct safetensors *file,
                              struct error *err)
{
    size_t n_empty = 0;
    const char *first = NULL;

    for (size_t i = 0; i < file->n; i++)
        if (file->tensors[i].facts.n_values == 0 && n_empty++ == 0)
            first = file->tensors[i].facts.name;
    return n_empty
               ? sink_note(import->sink, NOTE_WARN, NONE, NONE, err,
                           "%zu of %zu tensors have no values, first %s", n_empty, file->n, first)
               : OK;
}

int weight_safetensors(struct import *import, const char *kind, int64_t values_up_to,
                       struct error *err)
{
    struct safetensors file;
    struct error why = {0};
    struct arena *arena = arena_open(PICKLE_ARENA_BYTES);
    int64_t id = 0;
    int rc = arena ? weight_artefact(import, kind, true, &id, err)
                   : error_set(err, E_NOMEM, "reading tensors");

    if (rc == OK) {
        rc = safetensors_read(import->path, values_up_to, arena, &file, &why);
        if (rc != OK) {
            rc = import_note_error(import, &why, err);
            goto out;
        }
        rc = note_safetensors(import, &file, err);
        if (rc == OK)
            rc = note_empty_tensors(import, &file, err);
        for (size_t i = 0; i < file.n && rc == OK; i++)
            rc = put_tensor(import, id, &file.tensors[i].facts, err);
    }
out:
    arena_close(arena);
    return rc;
}

/* ---- torch zips ---- */

struct torch_file {
    struct import *import;
    struct zip_file_reader *zip;
    bool with_values;
    int64_t artefact;
};

struct storage {
    const char *suffix, *dtype;
};

static const struct storage STORAGES[] = {
    {"DoubleStorage", "F64"}, {"BFloat16Storage", "BF16"}, {"FloatStorage", "F32"},
    {"HalfStorage", "F16"},   {"LongStorage", "I64"},      {"IntStorage", "I32"},
    {"ShortStorage", "I16"},  {"CharStorage", "I8"},       {"ByteStorage", "U8"},
    {"BoolStorage", "BOOL"},
};

static const char *storage_dtype(const struct pickle_value *type)
{
    if (type->type != PICKLE_GLOBAL)
        return "";
    for (size_t i = 0; i < sizeof STORAGES / sizeof *STORAGES; i++)
        if (str_find(type->text, STORAGES[i].suffix) >= 0)
            return STORAGES[i].dtype;
    return "";
}

static size_t dtype_width(const char *dtype)
{
    if (strcmp(dtype, "F64") == 0)
        return 8;
    if (strcmp(dtype, "F32") == 0)
        return 4;
    return strcmp(dtype, "F16") == 0 || strcmp(dtype, "BF16") == 0 ? 2 : 0;
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

static int measure_storage(struct torch_file *torch, const struct pickle_value *arguments,
                           struct str key, struct tensor *tensor, struct error *err)
{
    char suffix[128];
    char *bytes = NULL;
    size_t n = 0, width = dtype_width(tensor->dtype);
    const struct pickle_value *offset = item(arguments, 1);
    struct error why = {0};

    if (!torch->with_values || width == 0 || key.n == 0 || key.n > 64 || !offset ||
        offset->type != PICKLE_INT || offset->integer < 0 || tensor->n_values < 0 ||
        !is_contiguous(item(arguments, 2), item(arguments, 3)))
        return OK;
    snprintf(suffix, sizeof suffix, "/data/%.*s", (int)key.n, key.p);
    int rc = zip_reader_member(torch->zip, suffix, STORAGE_MAX_BYTES, &bytes, &n, &why);
    if (rc == E_NOMEM)
        return error_set(err, E_NOMEM, "%s", why.message);
    if (rc != OK)
        return OK; /* the values stay unknown */
    uint64_t begin, length;
    if (!__builtin_mul_overflow((uint64_t)offset->integer, (uint64_t)width, &begin) &&
        !__builtin_mul_overflow((uint64_t)tensor->n_values, (uint64_t)width, &length) &&
        begin <= n && length <= n - begin)
        (void)safetensors_measure(tensor, bytes + begin, (size_t)length);
    free(bytes);
    return OK;
}

static bool shape_of(const struct pickle_value *size, struct buf *text, int64_t *product)
{
    if (!size || size->type != PICKLE_TUPLE || size->n > 16)
        return false;
    *product = 1;
    for (size_t i = 0; i < size->n; i++)
        if (size->items[i]->type != PICKLE_INT || size->items[i]->integer < 0 ||
            __builtin_mul_overflow(*product, size->items[i]->integer, product))
            return false;
    pickle_text(text, size);
    return !text->failed;
}

static int import_tensor(struct torch_file *torch, const struct pickle_value *key,
                         const struct pickle_value *value, struct error *err)
{
    const struct pickle_value *arguments = rebuild_arguments(value);
    const struct pickle_value *id = arguments ? item(arguments, 0)->arguments : NULL;
    const struct pickle_value *type = item(id, 1), *member = item(id, 2);
    char name[TENSOR_NAME_BYTES];
    struct buf shape;
    struct tensor tensor = {.name = name,
                            .shape = "",
                            .n_values = NONE,
                            .norm = NAN,
                            .n_nonzero = NONE,
                            .n_nonfinite = NONE};
    int rc = OK;

    if (key->type != PICKLE_TEXT || key->text.n == 0 || key->text.n >= sizeof name || !type ||
        !member || member->type != PICKLE_TEXT)
        return OK;
    memcpy(name, key->text.p, key->text.n);
    name[key->text.n] = '\0';
    tensor.dtype = storage_dtype(type);
    buf_init(&shape, 1024);
    if (shape_of(item(arguments, 2), &shape, &tensor.n_values))
        tensor.shape = shape.p;
    else
        tensor.n_values = NONE;
    rc = measure_storage(torch, arguments, member->text, &tensor, err);
    if (rc == OK)
        rc = put_tensor(torch->import, torch->artefact, &tensor, err);
    buf_free(&shape);
    return rc;
}

static int import_state_dict(struct torch_file *torch, const struct pickle *pickle,
                             struct error *err)
{
    const struct pickle_value *top = pickle->top;
    int rc = OK;

    for (size_t i = 0; i < pickle->n_foreign && rc == OK; i++)
        rc = sink_note(torch->import->sink, NOTE_WARN, NONE, NONE, err, "holds code: %s, not run",
                       pickle->foreign[i]);
    if (rc == OK && top->type != PICKLE_DICT && top->type != PICKLE_CALL)
        return sink_note(torch->import->sink, NOTE_WARN, NONE, NONE, err,
                         "a pickle of something that is no state dict");
    for (size_t i = 0; i + 1 < top->n && rc == OK; i += 2)
        rc = import_tensor(torch, top->items[i], top->items[i + 1], err);
    if (rc == OK && top->n == 0)
        rc = sink_note(torch->import->sink, NOTE_WARN, NONE, NONE, err, "holds no tensors");
    return rc;
}

int weight_torch_zip(struct import *import, const char *kind, int64_t values_up_to,
                     struct error *err)
{
    struct torch_file torch = {.import = import};
    struct error why = {0};
    struct pickle pickle;
    struct source_stat stat = {0};
    char *bytes = NULL;
    size_t n = 0;
    struct arena *arena = arena_open(PICKLE_ARENA_BYTES);
    int rc = arena ? weight_artefact(import, kind, true, &torch.artefact, err)
                   : error_set(err, E_NOMEM, "reading tensors");

    if (rc != OK)
        goto out;
    rc = source_stat_path(import->path, &stat, &why);
    torch.with_values = stat.size <= values_up_to;
    if (rc == OK)
        rc = zip_reader_open(&torch.zip, import->path, &why);
    if (rc == OK)
        rc = zip_reader_member(torch.zip, "data.pkl", PICKLE_MAX_BYTES, &bytes, &n, &why);
    if (rc == OK)
        rc = pickle_parse(bytes, n, arena, &pickle, &why);
    if (rc == E_NOMEM && arena_failed(arena))
        why.status = error_set(&why, E_LIMIT, "a pickle that needs too much memory");
    rc = rc == OK ? import_state_dict(&torch, &pickle, err) : import_note_error(import, &why, err);
out:
    zip_reader_close(torch.zip);
    free(bytes);
    arena_close(arena);
    return rc;
}
