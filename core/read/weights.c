/* Values of tensors by whichever reader has their bytes. See weights.h. */
#include "core/read/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/read/safetensors.h"
#include "core/read/source.h"
#include "core/read/tensor_values.h"
#include "core/read/torch_file.h"

#define SCRATCH_BYTES  ((size_t)256 << 20)
#define PAIR_MAX_RANK  4096
#define PAIR_MAX_BYTES ((int64_t)16 << 20)

/* ---- Values ---- */

struct measuring {
    const struct weights *weights;
    const struct weight_reader *reader;
    const struct weight_options *options;
    int64_t done, products_left;
};

static int look_up(struct measuring *m, int64_t bytes, struct error *err)
{
    m->done += bytes;
    if (m->options->progress)
        m->options->progress(m->options->ctx, m->done);
    return m->options->cancel && atomic_load(m->options->cancel)
               ? error_set(err, E_CANCELLED, "cancelled while reading tensors")
               : OK;
}

static int read_values(struct measuring *m, struct weight_tensor *tensor, unsigned char *piece,
                       struct error *err)
{
    struct tensor_sums sums = {0};
    int64_t size = tensor->end - tensor->begin;
    size_t got = 0;

    if (tensor->facts.n_values < 0 || (tensor->facts.n_values > 0) != (size > 0))
        return OK; /* a view that is no run of bytes: no values, which is not values of zero */
    for (int64_t at = 0; at < size; at += (int64_t)got) {
        size_t n = size - at < (int64_t)TENSOR_PIECE_BYTES ? (size_t)(size - at) : TENSOR_PIECE_BYTES;
        int rc = m->reader->read(m->reader->ctx, tensor, at, piece, n, &got, err);

        if (rc == OK)
            rc = look_up(m, (int64_t)got, err);
        if (rc != OK)
            return rc;
        if (got < n)
            return OK; /* cut, or the file shrank meanwhile: not read */
        tensor_sums_add(&sums, tensor->facts.dtype, piece, n);
    }
    tensor_sums_done(&sums, &tensor->facts);
    return OK;
}

static int read_all_values(struct measuring *m, struct error *err)
{
    unsigned char *piece = malloc(TENSOR_PIECE_BYTES);
    int rc = piece ? OK : error_set(err, E_NOMEM, "reading tensors");

    for (size_t i = 0; i < m->weights->n && rc == OK; i++)
        rc = read_values(m, &m->weights->tensors[i], piece, err);
    free(piece);
    return rc;
}

/* ---- LoRA pairs ---- */

static int by_name(const void *a, const void *b)
{
    const struct weight_tensor *const *left = a, *const *right = b;

    return strcmp((*left)->facts.name, (*right)->facts.name);
}

/* "….lora_B.weight" -> "….lora_A.weight", also "lora_embedding_B"; NULL: no lora_B. */
static const char *name_of_a(const char *name_of_b, struct arena *arena)
{
    const char *at = strstr(name_of_b, ".lora_");

    if (!at)
        return NULL;
    at += strncmp(at, ".lora_embedding_", 16) == 0 ? 16 : 6;
    if (at[0] != 'B' || (at[1] != '.' && at[1] != '\0'))
        return NULL;
    return arena_printf(arena, "%.*sA%s", (int)(at - name_of_b), name_of_b, at + 1);
}

static bool read_floats(const struct measuring *m, const struct weight_tensor *tensor, float *out)
{
    size_t n = (size_t)(tensor->end - tensor->begin), got = 0;
    unsigned char *bytes = malloc(n + 1);
    struct error err = {0};
    bool is_read = bytes &&
                   m->reader->read(m->reader->ctx, tensor, 0, bytes, n, &got, &err) == OK &&
                   got == n &&
                   tensor_floats(tensor->facts.dtype, bytes, (size_t)tensor->facts.n_values, out);

    free(bytes);
    return is_read;
}

/* The sides of a pair that fit each other; false: no matrices. */
static bool pair_sides(const struct weight_tensor *a, const struct weight_tensor *b,
                       int64_t *rank, int64_t *n_in, int64_t *n_out)
{
    int64_t sides_a[8], sides_b[8];

    if (tensor_sides(a->facts.shape, sides_a) < 2 || tensor_sides(b->facts.shape, sides_b) < 2 ||
        sides_a[0] < 1 || sides_b[0] < 1)
        return false;
    *rank = sides_a[0];
    *n_in = a->facts.n_values / *rank;
    *n_out = sides_b[0];
    return b->facts.n_values / *n_out == *rank && *n_in > 0;
}

/* Unknown stays unknown: too large, not whole, not finite, no memory for it. */
static void measure_pair(struct measuring *m, const struct weight_tensor *a, struct weight_tensor *b)
{
    int64_t rank, n_in, n_out, cost;

    if (!pair_sides(a, b, &rank, &n_in, &n_out) || rank > PAIR_MAX_RANK ||
        a->end - a->begin > PAIR_MAX_BYTES || b->end - b->begin > PAIR_MAX_BYTES ||
        isnan(a->facts.norm) || isnan(b->facts.norm))
        return;
    cost = rank * rank * (n_in + n_out);
    if (m->products_left < cost)
        return;
    m->products_left -= cost;
    float *values = malloc((size_t)(a->facts.n_values + b->facts.n_values) * sizeof *values);
    if (values && read_floats(m, a, values) && read_floats(m, b, values + a->facts.n_values))
        b->facts.delta_norm =
            tensor_delta_norm(values, values + a->facts.n_values, rank, n_in, n_out);
    free(values);
}

static int measure_pairs(struct measuring *m, struct error *err)
{
    const struct weights *weights = m->weights;
    struct arena *scratch = arena_open(SCRATCH_BYTES);
    struct weight_tensor **names =
        scratch ? arena_array(scratch, weights->n + 1, sizeof *names) : NULL;
    int rc = names ? OK : error_set(err, E_NOMEM, "%zu tensors", weights->n);

    for (size_t i = 0; i < weights->n && names; i++)
        names[i] = &weights->tensors[i];
    if (names)
        qsort(names, weights->n, sizeof *names, by_name);
    for (size_t i = 0; i < weights->n && rc == OK; i++) {
        struct weight_tensor key, *as_key = &key, **a;
        const char *name = name_of_a(weights->tensors[i].facts.name, scratch);

        if (!name)
            continue;
        key.facts.name = name;
        a = bsearch(&as_key, names, weights->n, sizeof *names, by_name);
        if (a)
            measure_pair(m, *a, &weights->tensors[i]);
        rc = look_up(m, 0, err);
    }
    arena_close(scratch);
    return rc;
}

int weights_measure(const struct weights *weights, const struct weight_reader *reader,
                    const struct weight_options *options, struct error *err)
{
    struct measuring m = {.weights = weights,
                          .reader = reader,
                          .options = options,
                          .products_left = options->products_up_to};
    int rc = read_all_values(&m, err);

    return rc == OK && options->products_up_to > 0 ? measure_pairs(&m, err) : rc;
}

/* ---- Any file ---- */

/* PROTO 2 to 5; as the length of a safetensors header it would be longer than any. */
static bool is_pickle(const unsigned char head[8])
{
    uint64_t length = 0;

    for (int i = 8; i-- > 0;)
        length = length << 8 | head[i];
    return head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 && length > 100000000;
}

int weights_read(const char *path, const struct weight_options *options, struct arena *arena,
                 struct weights *out, struct error *err)
{
    static const unsigned char ZIP[] = {'P', 'K', 3, 4}, PICKLE[] = {0x80, 2, 0x8a, 0x0a, 0x6c, 0xfc};
    struct source_file *file = NULL;
    unsigned char head[8] = {0};
    size_t n = 0;
    int rc = source_open(&file, path, err);

    if (rc == OK)
        rc = source_at(file, 0, head, sizeof head, &n, err);
    source_close(file);
    if (rc != OK)
        return rc;
    if (is_pickle(head) && memcmp(head, PICKLE, sizeof PICKLE) != 0) {
        rc = error_set(err, E_UNSUPPORTED, "a pickle that torch.save did not write");
        error_at(err, path, NONE, NONE);
        return rc;
    }
    return memcmp(head, ZIP, sizeof ZIP) == 0 || memcmp(head, PICKLE, sizeof PICKLE) == 0
               ? torch_file_read(path, options, arena, out, err)
               : safetensors_read(path, options, arena, out, err);
}
