/* safetensors: header and tensor ranges, and streamed facts about small tensors. FORMATS.md B13. */
#ifndef CORE_READ_SAFETENSORS_H
#define CORE_READ_SAFETENSORS_H

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/model.h"

struct safetensors_tensor {
    struct tensor facts; /* norm and counts filled when values were read */
    int64_t begin, end;  /* bytes in the file */
};

struct safetensors {
    const struct safetensors_tensor *tensors; /* by offset */
    size_t n;
    bool is_cut; /* the file ends before the last tensor */
    int64_t missing_bytes;
    size_t n_bad;          /* entries left out: no dtype, shape or offsets that agree */
    const char *first_bad; /* name of the first of them */
    bool is_overlapping;   /* ranges overlap: then no values are read */
};

/* Values of F32, F16, BF16 and F64 tensors are streamed for norms when the file is at most
 * `values_up_to` bytes; 0 reads the header only. */
MUST_CHECK int safetensors_read(const char *path, int64_t values_up_to, struct arena *arena,
                                struct safetensors *out, struct error *err);

/* Norm and counts of n bytes of values of facts->dtype; false for a dtype without values of ours
 * or when the bytes are not whole values. */
bool safetensors_measure(struct tensor *facts, const void *bytes, size_t n);

#endif
