/* Files of weights as a table of tensors, whatever their format: safetensors, or a state dict that
 * torch.save wrote. Header and table always; values (norms, counts, hashes, LoRA products) on
 * request, streamed: a file of 16 GB needs no more memory than a small one, but for the two matrices
 * of one LoRA pair (16 MiB each at most). FORMATS.md A5, B13. */
#ifndef CORE_READ_WEIGHTS_H
#define CORE_READ_WEIGHTS_H

#include <stdatomic.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/model.h"

struct weight_tensor {
    struct tensor facts;    /* norm, counts, hash, delta_norm filled when values were read */
    int64_t begin, end;     /* bytes, in what the format counts from */
    const char *member;     /* torch: which storage; NULL: in the file itself, or not to be had */
};

struct weights {
    struct weight_tensor *tensors; /* safetensors: by offset; torch: in the order of the dict */
    size_t n;
    bool is_cut; /* the file ends before the last tensor */
    int64_t missing_bytes;
    size_t n_bad;          /* entries left out: no dtype, shape or offsets that agree; of a pickle:
                              what is no tensor that is read (numbers, sparse and nested ones) */
    const char *first_bad; /* name of the first of them */
    int64_t unclaimed_bytes; /* safetensors: between and behind the tensors; loaders refuse the file */
    bool is_overlapping;   /* ranges overlap: then no values are read */
    bool is_pickle;        /* torch.save wrote it */
    bool is_no_state_dict; /* a pickle of something else */
    const char *const *foreign; /* "posix system": named by a pickle, not known to be harmless */
    size_t n_foreign;
};

/* What is read besides the table. Zero, or NULL for the whole: nothing. */
struct weight_options {
    int64_t values_up_to;   /* norms, counts and hashes, when the file has at most so many bytes */
    int64_t products_up_to; /* ‖B·A‖ of the LoRA pairs, as long as they cost at most so many products
                               together (rank² · (n_in + n_out) a pair); in the order of the file */
    const atomic_bool *cancel;                 /* may be NULL: E_CANCELLED */
    void (*progress)(void *ctx, int64_t bytes); /* bytes of values read so far; may be NULL */
    void *ctx;
};

/* By what the file begins with. Everything lives in the arena. E_PARSE, E_LIMIT, E_IO, E_UNSUPPORTED,
 * with the path. */
MUST_CHECK int weights_read(const char *path, const struct weight_options *options,
                            struct arena *arena, struct weights *out, struct error *err);

/* ---- For the formats ---- */

/* n bytes of a tensor from `offset` of it. */
struct weight_reader {
    int (*read)(void *ctx, const struct weight_tensor *tensor, int64_t offset, void *out, size_t n,
                size_t *got, struct error *err);
    void *ctx;
};
MUST_CHECK int weights_measure(const struct weights *weights, const struct weight_reader *reader,
                               const struct weight_options *options, struct error *err);

#endif
