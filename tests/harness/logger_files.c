/* See logger_files.h. */
#include "tests/harness/logger_files.h"

#include "core/read/crc32.h"

#define BLOCK 32768
#define SMALL ((size_t)1 << 20)

static void put_little_endian(struct buf *out, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        buf_putc(out, (char)((value >> (8 * i)) & 0xFF));
}

void logger_put_varint(struct buf *out, uint64_t value)
{
    for (; value > 127; value >>= 7)
        buf_putc(out, (char)((value & 127) | 128));
    buf_putc(out, (char)value);
}

void logger_put_bytes(struct buf *out, unsigned number, struct str bytes)
{
    logger_put_varint(out, (uint64_t)number << 3 | 2);
    logger_put_varint(out, bytes.n);
    buf_str(out, bytes);
}

/* ---- TensorBoard ---- */

static void put_masked(struct buf *file, size_t from)
{
    struct crc32_table table;

    crc32_make_table(&table, CRC32C_POLYNOMIAL);
    put_little_endian(file, crc32_masked(&table, file->p + from, file->n - from), 4);
}

void logger_put_header(struct buf *file, uint64_t length)
{
    size_t from = file->n;

    put_little_endian(file, length, 8);
    put_masked(file, from);
}

void logger_put_record(struct buf *file, struct str data)
{
    logger_put_header(file, data.n);
    size_t from = file->n;
    buf_str(file, data);
    put_masked(file, from);
}

static void put_double(struct buf *out, unsigned number, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    logger_put_varint(out, (uint64_t)number << 3 | 1);
    put_little_endian(out, bits, 8);
}

void logger_begin_events(struct buf *file)
{
    struct buf event;

    buf_init(&event, SMALL);
    put_double(&event, 1, 1700000000);
    logger_put_bytes(&event, 3, str_of("brain.Event:2"));
    logger_put_record(file, buf_view(&event));
    buf_free(&event);
}

void logger_put_scalar(struct buf *file, const char *tag, int64_t step, double wall, double value)
{
    struct buf item, summary, event;
    float number = (float)value;
    uint32_t bits;

    buf_init(&item, SMALL);
    buf_init(&summary, SMALL);
    buf_init(&event, SMALL);
    memcpy(&bits, &number, sizeof bits);
    logger_put_bytes(&item, 1, str_of(tag));
    logger_put_varint(&item, 2 << 3 | 5);
    put_little_endian(&item, bits, 4);
    logger_put_bytes(&summary, 1, buf_view(&item));
    put_double(&event, 1, wall);
    logger_put_varint(&event, 2 << 3);
    logger_put_varint(&event, (uint64_t)step);
    logger_put_bytes(&event, 5, buf_view(&summary));
    logger_put_record(file, buf_view(&event));
    buf_free(&item);
    buf_free(&summary);
    buf_free(&event);
}

/* ---- W&B ---- */

void logger_begin_wandb(struct buf *file)
{
    buf_add(file, ":W&B\xE1\xBE\0", 7);
}

static void put_chunk(struct buf *file, char type, struct str data)
{
    struct crc32_table table;
    struct buf summed;

    buf_init(&summed, SMALL);
    buf_putc(&summed, type);
    buf_str(&summed, data);
    crc32_make_table(&table, CRC32_POLYNOMIAL);
    put_little_endian(file, crc32_of(&table, summed.p, summed.n), 4);
    put_little_endian(file, data.n, 2);
    buf_str(file, buf_view(&summed));
    buf_free(&summed);
}

void logger_put_wandb(struct buf *file, struct str data)
{
    enum { FULL = 1, FIRST, MIDDLE, LAST };
    bool is_first = true, is_last = false;

    while (!is_last) {
        size_t left = BLOCK - file->n % BLOCK;

        if (left < 7) {
            buf_repeat(file, '\0', left);
            left = BLOCK;
        }
        struct str piece = str_first(data, left - 7);
        is_last = piece.n == data.n;
        put_chunk(file, (char)(is_first ? is_last ? FULL : FIRST : is_last ? LAST : MIDDLE), piece);
        data = str_skip(data, piece.n);
        is_first = false;
    }
}

static void put_item(struct buf *history, const char *name, const char *json)
{
    struct buf item;

    buf_init(&item, SMALL);
    logger_put_bytes(&item, 2, str_of(name));
    logger_put_bytes(&item, 16, str_of(json));
    logger_put_bytes(history, 1, buf_view(&item));
    buf_free(&item);
}

void logger_put_history(struct buf *file, const char *name, int64_t step, double value)
{
    struct buf history, record, json;

    buf_init(&history, SMALL);
    buf_init(&record, SMALL);
    buf_init(&json, SMALL);
    buf_printf(&json, "%.17g", value);
    put_item(&history, name, json.p);
    buf_clear(&json);
    buf_printf(&json, "%lld", (long long)step);
    put_item(&history, "train/global_step", json.p);
    logger_put_bytes(&record, 2, buf_view(&history));
    logger_put_wandb(file, buf_view(&record));
    buf_free(&history);
    buf_free(&record);
    buf_free(&json);
}
