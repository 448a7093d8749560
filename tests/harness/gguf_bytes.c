/* Small GGUF files for tests. See gguf_bytes.h. */
#include "tests/harness/gguf_bytes.h"

#include <string.h>

#define FILE_BYTES ((size_t)16 << 20)
#define ALIGNMENT  32

void gguf_bytes_init(struct gguf_bytes *g)
{
    *g = (struct gguf_bytes){0};
    buf_init(&g->keys, FILE_BYTES);
    buf_init(&g->tensors, FILE_BYTES);
    buf_init(&g->data, FILE_BYTES);
}

void gguf_bytes_free(struct gguf_bytes *g)
{
    buf_free(&g->keys);
    buf_free(&g->tensors);
    buf_free(&g->data);
}

void gguf_put_raw(struct buf *out, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_putc(out, (char)(value >> (8 * i)));
}

static void put_string(struct buf *out, const char *text)
{
    gguf_put_raw(out, strlen(text), 8);
    buf_puts(out, text);
}

static void put_key(struct gguf_bytes *g, const char *key, enum gguf_type type)
{
    put_string(&g->keys, key);
    gguf_put_raw(&g->keys, type, 4);
    g->n_keys++;
}

void gguf_put_text(struct gguf_bytes *g, const char *key, const char *text)
{
    put_key(g, key, GGUF_STRING);
    put_string(&g->keys, text);
}

void gguf_put_u32(struct gguf_bytes *g, const char *key, uint32_t value)
{
    put_key(g, key, GGUF_U32);
    gguf_put_raw(&g->keys, value, 4);
}

void gguf_put_bool(struct gguf_bytes *g, const char *key, bool value)
{
    put_key(g, key, GGUF_BOOL);
    gguf_put_raw(&g->keys, value, 1);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void gguf_put_float(struct gguf_bytes *g, const char *key, float value)
{
    put_key(g, key, GGUF_F32);
    gguf_put_raw(&g->keys, bits_of(value), 4);
}

static void put_array(struct gguf_bytes *g, const char *key, enum gguf_type element, size_t n)
{
    put_key(g, key, GGUF_ARRAY);
    gguf_put_raw(&g->keys, element, 4);
    gguf_put_raw(&g->keys, n, 8);
}

void gguf_put_texts(struct gguf_bytes *g, const char *key, const char *const *texts, size_t n)
{
    put_array(g, key, GGUF_STRING, n);
    for (size_t i = 0; i < n; i++)
        put_string(&g->keys, texts[i]);
}

void gguf_put_ints(struct gguf_bytes *g, const char *key, const int32_t *numbers, size_t n)
{
    put_array(g, key, GGUF_I32, n);
    for (size_t i = 0; i < n; i++)
        gguf_put_raw(&g->keys, (uint32_t)numbers[i], 4);
}

void gguf_put_floats(struct gguf_bytes *g, const char *key, const float *numbers, size_t n)
{
    put_array(g, key, GGUF_F32, n);
    for (size_t i = 0; i < n; i++)
        gguf_put_raw(&g->keys, bits_of(numbers[i]), 4);
}

static void pad(struct buf *out)
{
    while (out->n % ALIGNMENT != 0)
        buf_putc(out, '\0');
}

void gguf_put_tensor(struct gguf_bytes *g, const char *name, int type, uint64_t n_in, uint64_t n_out,
                     size_t n_bytes)
{
    put_string(&g->tensors, name);
    gguf_put_raw(&g->tensors, n_out ? 2 : 1, 4);
    gguf_put_raw(&g->tensors, n_in, 8);
    if (n_out)
        gguf_put_raw(&g->tensors, n_out, 8);
    gguf_put_raw(&g->tensors, (uint32_t)type, 4);
    gguf_put_raw(&g->tensors, g->data.n, 8);
    buf_repeat(&g->data, '\0', n_bytes);
    pad(&g->data);
    g->n_tensors++;
}

void gguf_bytes_write(const struct gguf_bytes *g, struct buf *out)
{
    buf_puts(out, "GGUF");
    gguf_put_raw(out, 3, 4);
    gguf_put_raw(out, g->n_tensors, 8);
    gguf_put_raw(out, g->n_keys, 8);
    buf_str(out, buf_view(&g->keys));
    buf_str(out, buf_view(&g->tensors));
    pad(out);
    buf_str(out, buf_view(&g->data));
}
