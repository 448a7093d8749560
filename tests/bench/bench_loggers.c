/* Writes what loggers write, at a size that shows their readers' speed:
 *     bench_loggers tensorboard N PATH     an event file of N scalars, four tags a step
 *     bench_loggers wandb N PATH           a .wandb log of N rows of the history, five items each
 *     bench_loggers rows N PATH            N rows of a trainer as JSON lines, about 220 bytes each
 * tests/bench/loggers.sh times the import. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/read/crc32.h"

#define BLOCK 32768

struct writer {
    FILE *out;
    struct crc32_table crc;
    size_t at;
    struct buf item, message, record, row;
};

static void put_number(struct buf *out, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        buf_putc(out, (char)((value >> (8 * i)) & 0xFF));
}

static void put_varint(struct buf *out, uint64_t value)
{
    for (; value > 127; value >>= 7)
        buf_putc(out, (char)((value & 127) | 128));
    buf_putc(out, (char)value);
}

static void put_bytes(struct buf *out, unsigned number, struct str bytes)
{
    put_varint(out, (uint64_t)number << 3 | 2);
    put_varint(out, bytes.n);
    buf_str(out, bytes);
}

static void put_double(struct buf *out, unsigned number, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    put_varint(out, (uint64_t)number << 3 | 1);
    put_number(out, bits, 8);
}

/* ---- TensorBoard ---- */

static void write_event(struct writer *w)
{
    buf_clear(&w->record);
    put_number(&w->record, w->message.n, 8);
    put_number(&w->record, crc32_masked(&w->crc, w->record.p, 8), 4);
    buf_str(&w->record, buf_view(&w->message));
    put_number(&w->record, crc32_masked(&w->crc, w->message.p, w->message.n), 4);
    fwrite(w->record.p, 1, w->record.n, w->out);
}

static void write_scalar(struct writer *w, const char *tag, long step, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    buf_clear(&w->item);
    put_bytes(&w->item, 1, str_of(tag));
    put_varint(&w->item, 2 << 3 | 5);
    put_number(&w->item, bits, 4);
    buf_clear(&w->row);
    put_bytes(&w->row, 1, buf_view(&w->item));
    buf_clear(&w->message);
    put_double(&w->message, 1, 1700000000 + (double)step);
    put_varint(&w->message, 2 << 3);
    put_varint(&w->message, (uint64_t)step);
    put_bytes(&w->message, 5, buf_view(&w->row));
    write_event(w);
}

static void write_tensorboard(struct writer *w, long n)
{
    static const char *const TAGS[] = {"train/loss", "train/grad_norm", "train/learning_rate",
                                       "train/epoch"};

    crc32_make_table(&w->crc, CRC32C_POLYNOMIAL);
    put_double(&w->message, 1, 1700000000);
    put_bytes(&w->message, 3, str_of("brain.Event:2"));
    write_event(w);
    for (long i = 0; i < n; i++)
        write_scalar(w, TAGS[i % 4], i / 4 + 1, 3.0f / (float)(1 + i % 997) + (float)(i % 4));
}

/* ---- W&B ---- */

static void write_chunks(struct writer *w, struct str data)
{
    bool is_first = true, is_last = false;

    while (!is_last) {
        size_t left = BLOCK - w->at % BLOCK;
        struct str piece = str_first(data, left < 7 ? 0 : left - 7);

        buf_clear(&w->record);
        if (left < 7) {
            buf_repeat(&w->record, '\0', left);
            fwrite(w->record.p, 1, left, w->out);
            w->at += left;
            continue;
        }
        is_last = piece.n == data.n;
        buf_putc(&w->record, (char)(is_first ? is_last ? 1 : 2 : is_last ? 4 : 3));
        buf_str(&w->record, piece);
        buf_clear(&w->row);
        put_number(&w->row, crc32_of(&w->crc, w->record.p, w->record.n), 4);
        put_number(&w->row, piece.n, 2);
        fwrite(w->row.p, 1, w->row.n, w->out);
        fwrite(w->record.p, 1, w->record.n, w->out);
        w->at += w->row.n + w->record.n;
        data = str_skip(data, piece.n);
        is_first = false;
    }
}

static void add_item(struct writer *w, const char *name, double value)
{
    char json[40];

    snprintf(json, sizeof json, "%.17g", value);
    buf_clear(&w->row);
    put_bytes(&w->row, 2, str_of(name));
    put_bytes(&w->row, 16, str_of(json));
    put_bytes(&w->item, 1, buf_view(&w->row));
}

static void write_wandb(struct writer *w, long n)
{
    crc32_make_table(&w->crc, CRC32_POLYNOMIAL);
    w->at = fwrite(":W&B\xE1\xBE\0", 1, 7, w->out);
    for (long i = 1; i <= n; i++) {
        buf_clear(&w->item);
        add_item(w, "train/loss", 3.0 / (double)(1 + i % 997));
        add_item(w, "train/grad_norm", 0.5123456789);
        add_item(w, "train/global_step", (double)i);
        add_item(w, "_step", (double)(i - 1));
        add_item(w, "_timestamp", 1700000000.5 + (double)i);
        buf_clear(&w->message);
        put_varint(&w->message, 1 << 3);
        put_varint(&w->message, (uint64_t)i);
        put_bytes(&w->message, 2, buf_view(&w->item));
        write_chunks(w, buf_view(&w->message));
    }
}

/* ---- Rows of a trainer ---- */

/* Digits as json.dumps has them of doubles that came out of float32 sums: mostly 15 to 17. */
static void write_rows(struct writer *w, long n)
{
    for (long i = 1; i <= n; i++) {
        long a = i * 7919 % 9973, b = i * 104729 % 9929, c = i % 9907;

        fprintf(w->out,
                "{\"loss\": %.4f, \"grad_norm\": %.16g, \"learning_rate\": %.17g, "
                "\"entropy\": %.16g, \"num_tokens\": %ld.0, \"mean_token_accuracy\": %.16g, "
                "\"epoch\": %.16g, \"step\": %ld}\n",
                1.2 + (double)a / 9973, 0.5 + (double)b / 1013,
                2e-4 * (1 - (double)i / (double)(n + 1)), 1.1 + (double)c / 9907, 1711 * i,
                0.7 + (double)a / 99730, 3 * (double)i / (double)n, i);
    }
}

int main(int argc, char **argv)
{
    struct writer w = {.out = argc == 4 ? fopen(argv[3], "wb") : NULL};
    struct buf *const all[] = {&w.item, &w.message, &w.record, &w.row};
    long n = argc == 4 ? strtol(argv[2], NULL, 10) : 0;

    if (!w.out || n <= 0) {
        fprintf(stderr, "usage: bench_loggers tensorboard|wandb|rows N PATH\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_init(all[i], (size_t)BLOCK * 2);
    if (strcmp(argv[1], "wandb") == 0)
        write_wandb(&w, n);
    else if (strcmp(argv[1], "rows") == 0)
        write_rows(&w, n);
    else
        write_tensorboard(&w, n);
    bool failed = false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        failed |= all[i]->failed;
        buf_free(all[i]);
    }
    return fclose(w.out) == 0 && !failed ? 0 : 1;
}
