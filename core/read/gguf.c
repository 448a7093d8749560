/* GGUF files: a header of counts, keys with values, a table of tensors; then the tensors' bytes, which
 * are not read. One pass forwards in a window of fixed size: an array that nobody wants costs its bytes
 * of reading and nothing else. */
#include "core/read/gguf.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/source.h"

#define WINDOW_BYTES      65536
#define KEY_MAX_BYTES     65535
#define NAME_MAX_BYTES    4096
#define NESTING_MAX       4
#define LEAST_KEY_BYTES   13    /* length, type, one byte of value */
#define LEAST_TENSOR_BYTES 24   /* length, dimensions, type, offset */
#define ALIGNMENT_DEFAULT 32
#define ALIGNMENT_MAX     ((int64_t)1 << 20)

struct reading {
    struct source_file *file;
    struct arena *arena;
    struct error *err;
    int64_t size, at;           /* of the file; of the next byte */
    unsigned char window[WINDOW_BYTES];
    int64_t window_at;
    size_t window_n;
};

/* ---- Bytes ---- */

static int64_t left_of(const struct reading *r)
{
    return r->size - r->at;
}

static int fails(const struct reading *r, int status, int64_t at, const char *what)
{
    int rc = error_set(r->err, status, "%s", what);

    if (r->err)
        error_at(r->err, NULL, NONE, at);
    return rc;
}

static int ends_in(const struct reading *r, const char *what, uint64_t wanted)
{
    int rc = error_set(r->err, E_PARSE, "the file ends inside of %s: %llu bytes were expected, %lld are "
                                        "left",
                       what, (unsigned long long)wanted, (long long)left_of(r));

    if (r->err)
        error_at(r->err, NULL, NONE, r->at);
    return rc;
}

static int take(struct reading *r, void *out, size_t n, const char *what)
{
    unsigned char *to = out;

    if ((uint64_t)left_of(r) < n)
        return ends_in(r, what, n);
    while (n > 0) {
        int64_t from = r->at - r->window_at;

        if (from < 0 || from >= (int64_t)r->window_n) {
            size_t got = 0;
            int rc = source_at(r->file, r->at, r->window, sizeof r->window, &got, r->err);

            if (rc != OK)
                return rc;
            if (got == 0)
                return ends_in(r, what, n);     /* it became shorter meanwhile */
            r->window_at = r->at;
            r->window_n = got;
            from = 0;
        }
        size_t part = r->window_n - (size_t)from;
        if (part > n)
            part = n;
        if (to) {
            memcpy(to, r->window + from, part);
            to += part;
        }
        r->at += (int64_t)part;
        n -= part;
    }
    return OK;
}

static int skip(struct reading *r, uint64_t n, const char *what)
{
    if (n > (uint64_t)left_of(r))
        return ends_in(r, what, n);
    r->at += (int64_t)n;
    return OK;
}

static uint64_t little(const unsigned char *bytes, size_t n)
{
    uint64_t value = 0;

    while (n-- > 0)
        value = value << 8 | bytes[n];
    return value;
}

static int take_whole(struct reading *r, size_t n, uint64_t *out, const char *what)
{
    unsigned char bytes[8];
    int rc = take(r, bytes, n, what);

    if (rc == OK)
        *out = little(bytes, n);
    return rc;
}

/* A text of a stated length, NUL-terminated, in the arena. */
static int take_string(struct reading *r, uint64_t most, struct str *out, const char *what)
{
    int64_t at = r->at;
    uint64_t n = 0;
    int rc = take_whole(r, 8, &n, what);

    if (rc != OK)
        return rc;
    if (n > (uint64_t)left_of(r))
        return ends_in(r, what, n);
    if (n > most) {
        rc = error_set(r->err, E_LIMIT, "%s of %llu bytes, expected at most %llu", what,
                       (unsigned long long)n, (unsigned long long)most);
        if (r->err)
            error_at(r->err, NULL, NONE, at);
        return rc;
    }
    char *text = arena_alloc(r->arena, (size_t)n + 1);
    if (!text)
        return fails(r, E_LIMIT, at, "more texts than fit into memory");
    rc = take(r, text, (size_t)n, what);
    *out = str_from(text, (size_t)n);
    return rc;
}

static int skip_string(struct reading *r, const char *what)
{
    uint64_t n = 0;
    int rc = take_whole(r, 8, &n, what);

    return rc == OK ? skip(r, n, what) : rc;
}

/* ---- Values ---- */

/* Bytes of a value of that type; 0: no fixed number. */
static size_t width_of(uint64_t type)
{
    switch (type) {
    case GGUF_U8:
    case GGUF_I8:
    case GGUF_BOOL:
        return 1;
    case GGUF_U16:
    case GGUF_I16:
        return 2;
    case GGUF_U32:
    case GGUF_I32:
    case GGUF_F32:
        return 4;
    case GGUF_U64:
    case GGUF_I64:
    case GGUF_F64:
        return 8;
    default:
        return 0;
    }
}

static int64_t sign_extended(uint64_t bits, size_t width)
{
    uint64_t sign = (uint64_t)1 << (8 * width - 1);

    return width < 8 && (bits & sign) ? (int64_t)(bits | ~(sign * 2 - 1)) : (int64_t)bits;
}

static void set_number(uint64_t type, uint64_t bits, int64_t *integer, double *number)
{
    uint32_t half = (uint32_t)bits;
    float single;

    switch (type) {
    case GGUF_F32:
        memcpy(&single, &half, sizeof single);
        *number = single;
        break;
    case GGUF_F64:
        memcpy(number, &bits, sizeof *number);
        break;
    case GGUF_I8:
    case GGUF_I16:
    case GGUF_I32:
    case GGUF_I64:
        *integer = sign_extended(bits, width_of(type));
        *number = (double)*integer;
        return;
    case GGUF_BOOL:
        *integer = bits != 0;
        *number = (double)*integer;
        return;
    default:
        *integer = bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
        *number = (double)bits;
        return;
    }
    bool fits = isfinite(*number) && fabs(*number) < 9e18;
    *integer = fits ? (int64_t)*number : 0;
}

static int unknown_type(const struct reading *r, uint64_t type, int64_t at)
{
    int rc = error_set(r->err, E_PARSE, "a value of type %llu, expected 0 to 12",
                       (unsigned long long)type);

    if (r->err)
        error_at(r->err, NULL, NONE, at);
    return rc;
}

/* ---- Arrays ---- */

static bool is_wanted(struct str key)
{
    static const char *const KEYS[] = {"tokenizer.ggml.tokens", "tokenizer.ggml.scores",
                                       "tokenizer.ggml.token_type", "tokenizer.ggml.merges",
                                       "tokenizer.ggml.added_tokens"};

    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (str_is(key, KEYS[i]))
            return true;
    return false;
}

/* The element type and count of an array, which the rest of the file has room for. */
static int take_array_head(struct reading *r, uint64_t *element, uint64_t *n)
{
    int64_t at = r->at;
    int rc = take_whole(r, 4, element, "an array");

    if (rc == OK && *element > GGUF_F64)
        return unknown_type(r, *element, at);
    if (rc == OK)
        rc = take_whole(r, 8, n, "an array");
    if (rc != OK)
        return rc;
    if (*n > GGUF_MAX_ELEMENTS) {
        rc = error_set(r->err, E_LIMIT, "an array of %llu elements, expected at most %d",
                       (unsigned long long)*n, GGUF_MAX_ELEMENTS);
        if (r->err)
            error_at(r->err, NULL, NONE, at + 4);
        return rc;
    }
    size_t width = width_of(*element);
    uint64_t least = *n * (width ? width : *element == GGUF_STRING ? 8 : 12);
    return least > (uint64_t)left_of(r) ? ends_in(r, "an array", least) : OK;
}

/* Behind the head of an array. */
static int skip_elements(struct reading *r, uint64_t element, uint64_t n, int depth)
{
    size_t width = width_of(element);
    int rc = OK;

    if (width)
        return skip(r, n * width, "an array");
    for (uint64_t i = 0; rc == OK && i < n; i++) {
        uint64_t inner = 0, inner_n = 0;

        if (element == GGUF_STRING) {
            rc = skip_string(r, "a text of an array");
            continue;
        }
        if (depth >= NESTING_MAX)
            return fails(r, E_LIMIT, r->at, "arrays nested more than 4 deep");
        rc = take_array_head(r, &inner, &inner_n);
        if (rc == OK)
            rc = skip_elements(r, inner, inner_n, depth + 1);
    }
    return rc;
}

static int take_texts(struct reading *r, uint64_t n, const struct str **out)
{
    struct str *texts = arena_array(r->arena, (size_t)n + 1, sizeof *texts);
    int rc = texts ? OK : fails(r, E_LIMIT, r->at, "more texts than fit into memory");

    for (uint64_t i = 0; rc == OK && i < n; i++)
        rc = take_string(r, GGUF_STRING_BYTES, &texts[i], "a text of an array");
    if (rc == OK)
        *out = texts;
    return rc;
}

static int take_numbers(struct reading *r, uint64_t element, uint64_t n, const double **out)
{
    double *numbers = arena_array(r->arena, (size_t)n + 1, sizeof *numbers);
    int rc = numbers ? OK : fails(r, E_LIMIT, r->at, "more numbers than fit into memory");

    for (uint64_t i = 0; rc == OK && i < n; i++) {
        uint64_t bits = 0;
        int64_t integer;

        rc = take_whole(r, width_of(element), &bits, "an array");
        if (rc == OK)
            set_number(element, bits, &integer, &numbers[i]);
    }
    if (rc == OK)
        *out = numbers;
    return rc;
}

static int take_array(struct reading *r, struct gguf_value *value)
{
    uint64_t element = 0, n = 0;
    int rc = take_array_head(r, &element, &n);

    if (rc != OK)
        return rc;
    value->element = (enum gguf_type)element;
    value->n = (size_t)n;
    bool is_kept = n <= GGUF_KEEP_ELEMENTS || is_wanted(value->key);
    if (is_kept && element == GGUF_STRING)
        return take_texts(r, n, &value->texts);
    if (is_kept && width_of(element))
        return take_numbers(r, element, n, &value->numbers);
    return skip_elements(r, element, n, 1);
}

static int take_value(struct reading *r, struct gguf_value *value)
{
    uint64_t type = 0, bits = 0;
    int64_t at;
    int rc = take_string(r, KEY_MAX_BYTES, &value->key, "a key");

    at = r->at;
    if (rc == OK)
        rc = take_whole(r, 4, &type, "a value's type");
    if (rc != OK)
        return rc;
    if (type > GGUF_F64)
        return unknown_type(r, type, at);
    value->type = (enum gguf_type)type;
    value->at = r->at;
    if (type == GGUF_ARRAY)
        return take_array(r, value);
    if (type == GGUF_STRING)
        return take_string(r, GGUF_STRING_BYTES, &value->text, "a text");
    rc = take_whole(r, width_of(type), &bits, "a value");
    if (rc == OK)
        set_number(type, bits, &value->integer, &value->number);
    return rc;
}

/* ---- The table of tensors ---- */

static int take_dims(struct reading *r, struct gguf_tensor *tensor)
{
    uint64_t n = 0;
    int64_t at = r->at, product = 1;
    int rc = take_whole(r, 4, &n, "the table of tensors");

    if (rc == OK && n > sizeof tensor->dims / sizeof *tensor->dims)
        return fails(r, E_PARSE, at, "a tensor of more than 8 dimensions");
    tensor->n_dims = (int)n;
    for (uint64_t i = 0; rc == OK && i < n; i++) {
        uint64_t side = 0;

        at = r->at;
        rc = take_whole(r, 8, &side, "the table of tensors");
        if (rc == OK && (side > INT64_MAX ||
                         __builtin_mul_overflow(product, (int64_t)side, &product)))
            return fails(r, E_PARSE, at, "a tensor whose dimensions multiply to more than 2^63");
        tensor->dims[i] = (int64_t)side;
    }
    tensor->n_values = product;
    return rc;
}

static int64_t bytes_of(const struct gguf_tensor *tensor)
{
    const struct ggml_type *type = ggml_type_of(tensor->type);
    int64_t row = tensor->n_dims ? tensor->dims[0] : 1, bytes;

    if (!type || row % type->block != 0 ||
        __builtin_mul_overflow(tensor->n_values / type->block, (int64_t)type->bytes, &bytes))
        return NONE;
    return bytes;
}

/* The offset stays relative to the data part until that is known. */
static int take_tensor(struct reading *r, struct gguf_tensor *tensor)
{
    struct str name;
    uint64_t type = 0, offset = 0;
    int64_t at;
    int rc = take_string(r, NAME_MAX_BYTES, &name, "a tensor's name");

    if (rc == OK)
        rc = take_dims(r, tensor);
    if (rc == OK)
        rc = take_whole(r, 4, &type, "the table of tensors");
    at = r->at;
    if (rc == OK)
        rc = take_whole(r, 8, &offset, "the table of tensors");
    if (rc != OK)
        return rc;
    if (offset > INT64_MAX / 2)
        return fails(r, E_PARSE, at, "a tensor's offset is beyond any file");
    tensor->name = name.p;
    tensor->type = type > INT32_MAX ? INT32_MAX : (int)type;
    tensor->offset = (int64_t)offset;
    tensor->n_bytes = bytes_of(tensor);
    return OK;
}

static int64_t aligned(int64_t n, int64_t alignment)
{
    int64_t rest = n % alignment;

    return rest ? n + (alignment - rest) : n;
}

static int by_offset(const void *pa, const void *pb)
{
    const struct gguf_tensor *const *a = pa, *const *b = pb;

    if ((*a)->offset != (*b)->offset)
        return (*a)->offset < (*b)->offset ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

/* Tensors lie one behind the other: one that does not is named, and says nothing of how long the file
 * should be. */
static int place_tensors(struct reading *r, struct gguf *out, struct gguf_tensor *tensors)
{
    size_t n = out->n_tensors;
    int64_t expected = 0, needed = out->data_at;
    struct gguf_tensor **order = arena_array(r->arena, n + 1, sizeof *order);

    if (!order)
        return fails(r, E_LIMIT, r->at, "more tensors than fit into memory");
    for (size_t i = 0; i < n; i++)
        order[i] = &tensors[i];
    qsort(order, n, sizeof *order, by_offset);
    for (size_t i = 0; i < n; i++) {
        struct gguf_tensor *tensor = order[i];
        int64_t at = tensor->offset;
        bool is_sized = tensor->n_bytes != NONE && tensor->n_bytes < INT64_MAX / 4;
        bool is_bad = at % out->alignment != 0 || (expected != NONE && at != expected) ||
                      (tensor->n_bytes == NONE && ggml_type_of(tensor->type));

        if (is_bad && out->n_bad++ == 0)
            out->first_bad = tensor->name;
        tensor->offset += out->data_at;
        expected = is_sized ? aligned(at + tensor->n_bytes, out->alignment) : NONE;
        if (!is_bad && is_sized && tensor->offset + tensor->n_bytes > needed)
            needed = tensor->offset + tensor->n_bytes;
    }
    out->missing_bytes = needed > r->size ? needed - r->size : 0;
    out->is_cut = out->missing_bytes > 0;
    out->tensors = tensors;
    return OK;
}

/* ---- The file ---- */

static int take_head(struct reading *r, struct gguf *out, uint64_t *n_tensors, uint64_t *n_values)
{
    unsigned char magic[4];
    uint64_t version = 0;
    int rc = take(r, magic, sizeof magic, "the header");

    if (rc == OK && memcmp(magic, "GGUF", 4) != 0)
        return fails(r, E_PARSE, 0, "no GGUF file: it does not begin with GGUF");
    if (rc == OK)
        rc = take_whole(r, 4, &version, "the header");
    if (rc != OK)
        return rc;
    if (version != 0 && (version & 0xFFFF) == 0)
        return fails(r, E_UNSUPPORTED, 4, "a big-endian GGUF file, expected a little-endian one");
    if (version != 2 && version != 3) {
        rc = error_set(r->err, E_UNSUPPORTED, "GGUF version %llu, expected 2 or 3",
                       (unsigned long long)version);
        if (r->err)
            error_at(r->err, NULL, NONE, 4);
        return rc;
    }
    out->version = (int)version;
    rc = take_whole(r, 8, n_tensors, "the header");
    if (rc == OK)
        rc = take_whole(r, 8, n_values, "the header");
    if (rc != OK)
        return rc;
    if (*n_values > GGUF_MAX_KEYS || *n_values * LEAST_KEY_BYTES > (uint64_t)left_of(r))
        return fails(r, E_LIMIT, 16, "more keys are stated than the file or 100000 can hold");
    if (*n_tensors > GGUF_MAX_TENSORS ||
        *n_tensors * LEAST_TENSOR_BYTES > (uint64_t)left_of(r))
        return fails(r, E_LIMIT, 8, "more tensors are stated than the file or 1000000 can hold");
    return OK;
}

static int take_alignment(const struct reading *r, struct gguf *out)
{
    const struct gguf_value *stated = gguf_get(out, "general.alignment");

    out->alignment = ALIGNMENT_DEFAULT;
    if (!stated)
        return OK;
    if (!width_of(stated->type) || stated->integer <= 0 || stated->integer > ALIGNMENT_MAX)
        return fails(r, E_PARSE, stated->at, "general.alignment is no size");
    out->alignment = stated->integer;
    return OK;
}

static int read_all(struct reading *r, struct gguf *out)
{
    uint64_t n_tensors = 0, n_values = 0;
    int rc = take_head(r, out, &n_tensors, &n_values);

    if (rc != OK)
        return rc;
    struct gguf_value *values = arena_array(r->arena, (size_t)n_values + 1, sizeof *values);
    struct gguf_tensor *tensors = arena_array(r->arena, (size_t)n_tensors + 1, sizeof *tensors);
    if (!values || !tensors)
        return fails(r, E_LIMIT, r->at, "more keys and tensors than fit into memory");
    for (uint64_t i = 0; rc == OK && i < n_values; i++)
        rc = take_value(r, &values[i]);
    out->values = values;
    out->n_values = (size_t)n_values;
    if (rc == OK)
        rc = take_alignment(r, out);
    for (uint64_t i = 0; rc == OK && i < n_tensors; i++)
        rc = take_tensor(r, &tensors[i]);
    if (rc != OK)
        return rc;
    out->n_tensors = (size_t)n_tensors;
    out->data_at = aligned(r->at, out->alignment);
    return place_tensors(r, out, tensors);
}

/* …-00002-of-00009.gguf */
static void read_shard(const char *path, struct gguf *out)
{
    static const char FORM[] = "-00000-of-00000.gguf";
    size_t n = strlen(path), form = sizeof FORM - 1;
    const char *end = path + n - form;

    if (n < form)
        return;
    for (size_t i = 0; i < form; i++)
        if (FORM[i] == '0' ? !isdigit((unsigned char)end[i]) : end[i] != FORM[i])
            return;
    for (size_t i = 0; i < 5; i++) {
        out->shard = out->shard * 10 + (end[1 + i] - '0');
        out->n_shards = out->n_shards * 10 + (end[10 + i] - '0');
    }
}

int gguf_read_file(struct source_file *file, struct arena *arena, struct gguf *out, struct error *err)
{
    struct gguf read = {0};
    struct reading *r = calloc(1, sizeof *r);

    if (!r)
        return error_set(err, E_NOMEM, "no memory to read a GGUF file");
    if (source_size(file) < 0) {
        free(r);
        return error_set(err, E_UNSUPPORTED, "a GGUF file of unknown length");
    }
    r->file = file;
    r->arena = arena;
    r->err = err;
    r->size = source_size(file);
    int rc = read_all(r, &read);
    free(r);
    if (rc != OK) {
        if (err)
            error_at(err, source_path(file), NONE, err->byte);
        return rc;
    }
    read_shard(source_path(file), &read);
    *out = read;
    return OK;
}
