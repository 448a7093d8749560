/* Writes small GGUF files for tests: what a converter would leave. */
#ifndef TESTS_HARNESS_GGUF_BYTES_H
#define TESTS_HARNESS_GGUF_BYTES_H

#include "core/base/str.h"
#include "core/read/gguf.h"

struct gguf_bytes {
    struct buf keys, tensors, data;
    uint64_t n_keys, n_tensors;
};

void gguf_bytes_init(struct gguf_bytes *g);
void gguf_bytes_free(struct gguf_bytes *g);
void gguf_put_text(struct gguf_bytes *g, const char *key, const char *text);
void gguf_put_u32(struct gguf_bytes *g, const char *key, uint32_t value);
void gguf_put_bool(struct gguf_bytes *g, const char *key, bool value);
void gguf_put_float(struct gguf_bytes *g, const char *key, float value);
void gguf_put_texts(struct gguf_bytes *g, const char *key, const char *const *texts, size_t n);
void gguf_put_ints(struct gguf_bytes *g, const char *key, const int32_t *numbers, size_t n);
void gguf_put_floats(struct gguf_bytes *g, const char *key, const float *numbers, size_t n);
/* A tensor of one or two dimensions (n_out 0: one) behind the others; its bytes are zero. */
void gguf_put_tensor(struct gguf_bytes *g, const char *name, int type, uint64_t n_in, uint64_t n_out,
                     size_t n_bytes);
/* Numbers of n bytes, little-endian, for what is written by hand. */
void gguf_put_raw(struct buf *out, uint64_t value, size_t n);
/* The whole file; version 3. Appended to `out`. */
void gguf_bytes_write(const struct gguf_bytes *g, struct buf *out);

#endif
