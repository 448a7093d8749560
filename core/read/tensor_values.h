/* The values of tensors: what a dtype's bytes mean, and sums over them as they are streamed.
 *
 * F64, F32, F16, BF16, the 8-bit floats of safetensors and whole numbers up to 64 bits are
 * measured; packed ones (F4, F6), BOOL and C64 have a width and no values of ours. Bytes are
 * little-endian. The norm is the Frobenius norm in double precision; what is not finite stays out of it
 * and is counted. */
#ifndef CORE_READ_TENSOR_VALUES_H
#define CORE_READ_TENSOR_VALUES_H

#include "core/base/error.h"
#include "core/model.h"

/* Bits of one value of a safetensors dtype; 0: unknown. */
int tensor_dtype_bits(const char *dtype);
/* Bytes of one value that can be measured; 0: none of ours. */
size_t tensor_value_bytes(const char *dtype);

/* "[4096,16]" as a file states it, or "(4096, 16)" of a pickle: the sides, at most 8. The count, or
 * -1: not a shape. */
int tensor_sides(const char *shape, int64_t sides[8]);

struct tensor_sums {
    double squares;             /* of the finite values */
    int64_t n, n_nonzero, n_nonfinite;
    uint64_t hash;              /* over the pieces in which the bytes came: see tensor_sums_add */
};

/* Adds a piece: whole values. All pieces of a tensor but the last have TENSOR_PIECE_BYTES, so that
 * equal tensors come to equal hashes. */
#define TENSOR_PIECE_BYTES ((size_t)64 << 10)
void tensor_sums_add(struct tensor_sums *sums, const char *dtype, const void *bytes, size_t n);
/* Fills norm, n_nonzero, n_nonfinite (where the dtype has values) and content_hash. */
void tensor_sums_done(const struct tensor_sums *sums, struct tensor *out);

/* The values as floats; false for a dtype without values. */
MUST_CHECK bool tensor_floats(const char *dtype, const void *bytes, size_t n_values, float *out);

/* ‖B·A‖ of a LoRA pair: A is rank × n_in, B is n_out × rank, both row by row. From the Gram matrices
 * BᵀB and A·Aᵀ, rank² · (n_in + n_out) products and never the product itself. NaN when a value is
 * not finite or there is no memory. */
double tensor_delta_norm(const float *a, const float *b, int64_t rank, int64_t n_in, int64_t n_out);

#endif
