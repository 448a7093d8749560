/* GGUF: header, metadata and tensor table (FORMATS.md B21). The tensors' bytes are not read here.
 *
 * Everything lives in the arena (texts are NUL-terminated). Arrays longer than GGUF_KEEP_ELEMENTS are
 * skipped over unless their key is one of the wanted ones (tokenizer.ggml.tokens, .scores,
 * .token_type, .merges, .added_tokens): `n` tells how long they are, `texts` and `numbers` are NULL.
 * Errors: E_PARSE with the byte, E_UNSUPPORTED for version 1 and big-endian files (said so), E_LIMIT,
 * E_IO. A file that ends before its tensors do is no error: is_cut. */
#ifndef CORE_READ_GGUF_H
#define CORE_READ_GGUF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/str.h"

#define GGUF_MAX_KEYS      100000
#define GGUF_MAX_TENSORS   1000000
#define GGUF_STRING_BYTES  ((size_t)64 << 20)
#define GGUF_MAX_ELEMENTS  10000000
#define GGUF_KEEP_ELEMENTS 256

enum gguf_type {
    GGUF_U8, GGUF_I8, GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32, GGUF_F32, GGUF_BOOL, GGUF_STRING,
    GGUF_ARRAY, GGUF_U64, GGUF_I64, GGUF_F64
};

struct gguf_value {
    struct str key;
    enum gguf_type type;
    int64_t integer;                    /* all whole types and bool; u64 above INT64_MAX is cut to it */
    double number;                      /* floats, and the whole ones as well */
    struct str text;
    enum gguf_type element;             /* GGUF_ARRAY */
    size_t n;
    const struct str *texts;            /* array of strings; NULL: skipped, or no strings */
    const double *numbers;              /* array of numbers; NULL: skipped, or no numbers */
    int64_t at;                         /* byte of the value in the file */
};

struct gguf_tensor {
    const char *name;
    int type;                           /* ggml type number */
    int n_dims;
    int64_t dims[8];                    /* as the file has them: the fastest first */
    int64_t n_values, offset, n_bytes;  /* offset in the file; n_bytes NONE for an unknown type */
};

struct gguf {
    int version;
    int64_t alignment, data_at;
    const struct gguf_value *values; size_t n_values;
    const struct gguf_tensor *tensors; size_t n_tensors;
    bool is_cut; int64_t missing_bytes;
    size_t n_bad; const char *first_bad;        /* tensors that overlap, leave a hole, are not aligned */
    int shard, n_shards;                /* by the name …-00001-of-00009.gguf; 0: not sharded */
};

MUST_CHECK int gguf_read(const char *path, struct arena *arena, struct gguf *out, struct error *err);
/* The same on an open file (bytes in memory: tests and fuzzers). */
struct source_file;
MUST_CHECK int gguf_read_file(struct source_file *file, struct arena *arena, struct gguf *out,
                              struct error *err);
const struct gguf_value *gguf_get(const struct gguf *gguf, const char *key);    /* NULL: absent */
struct ggml_type {
    int type;
    const char *name;
    int block, bytes;                   /* values of a block, and its bytes */
};
const struct ggml_type *ggml_type_of(int type); /* NULL: unknown */
const char *ggml_type_name(int type);           /* "Q4_K"; NULL: unknown */
const char *gguf_file_type_name(int64_t type);  /* "Q4_K_M"; NULL: unknown */

#endif
