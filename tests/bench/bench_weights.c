/* Weight files for `make bench`: makes them, and reads values from memory and from a file.
 *   bench_weights make N_MIB FILE         a safetensors file of BF16 tensors of 16 MiB
 *   bench_weights shards N FOLDER         an index of N shards with 100 tensors each
 *   bench_weights norms FILE|memory MIB   prints MiB a second of CPU time */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/read/tensor_values.h"
#include "core/read/weights.h"

#define TENSOR_BYTES ((size_t)16 << 20)

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* BF16 values of about 0.01, none of them special. */
static void fill(unsigned char *bytes, size_t n)
{
    uint32_t seed = 1;

    for (size_t i = 0; i + 1 < n; i += 2) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(seed >> 24);
        bytes[i + 1] = (unsigned char)(0x3b | (seed >> 16 & 0x80));
    }
}

static void put_header(FILE *out, const struct buf *header)
{
    for (int i = 0; i < 8; i++)
        fputc((int)(header->n >> (8 * i) & 255), out);
    fwrite(header->p, 1, header->n, out);
}

static int make(size_t mib, const char *path)
{
    unsigned char *bytes = malloc(TENSOR_BYTES);
    FILE *out = fopen(path, "wb");
    struct buf header;
    size_t n = (mib << 20) / TENSOR_BYTES;

    if (!out || !bytes)
        return 1;
    buf_init(&header, 1 << 20);
    for (size_t i = 0; i < n; i++)
        buf_printf(&header,
                   "%s\"model.layers.%zu.mlp.up_proj.weight\":{\"dtype\":\"BF16\",\"shape\":[2048,4096],"
                   "\"data_offsets\":[%zu,%zu]}",
                   i ? "," : "{", i, i * TENSOR_BYTES, (i + 1) * TENSOR_BYTES);
    buf_putc(&header, '}');
    put_header(out, &header);
    fill(bytes, TENSOR_BYTES);
    for (size_t i = 0; i < n; i++)
        fwrite(bytes, 1, TENSOR_BYTES, out);
    buf_free(&header);
    free(bytes);
    return fclose(out) != 0;
}

static int make_shards(size_t n, const char *folder)
{
    struct buf index;

    buf_init(&index, 64 << 20);
    buf_puts(&index, "{\"metadata\":{\"total_size\":0},\"weight_map\":{");
    for (size_t shard = 0; shard < n; shard++) {
        char path[4096];
        struct buf header;
        FILE *out;

        buf_init(&header, 1 << 20);
        for (int i = 0; i < 100; i++) {
            buf_printf(&header, "%s\"model.layers.%zu.t%d.weight\":{\"dtype\":\"BF16\",\"shape\":[0],"
                                "\"data_offsets\":[0,0]}",
                       i ? "," : "{", shard, i);
            buf_printf(&index, "%s\"model.layers.%zu.t%d.weight\":\"model-%05zu-of-%05zu.safetensors\"",
                       shard || i ? "," : "", shard, i, shard + 1, n);
        }
        buf_putc(&header, '}');
        snprintf(path, sizeof path, "%s/model-%05zu-of-%05zu.safetensors", folder, shard + 1, n);
        out = fopen(path, "wb");
        if (!out)
            return 1;
        put_header(out, &header);
        buf_free(&header);
        if (fclose(out) != 0)
            return 1;
    }
    buf_puts(&index, "}}");
    char path[4096];
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    FILE *out = fopen(path, "wb");
    if (!out)
        return 1;
    fwrite(index.p, 1, index.n, out);
    buf_free(&index);
    return fclose(out) != 0;
}

static double norms_of_memory(size_t mib)
{
    unsigned char *bytes = malloc(TENSOR_BYTES);
    struct tensor_sums sums = {0};

    if (!bytes)
        return 0;
    fill(bytes, TENSOR_BYTES);
    double began = cpu_seconds();
    for (size_t done = 0; done < mib << 20; done += TENSOR_PIECE_BYTES)
        tensor_sums_add(&sums, "BF16", bytes + done % TENSOR_BYTES, TENSOR_PIECE_BYTES);
    double seconds = cpu_seconds() - began;
    free(bytes);
    return sums.squares > 0 ? seconds : 0;
}

static double norms_of_file(const char *path)
{
    const struct weight_options options = {.values_up_to = INT64_MAX};
    struct arena *arena = arena_open((size_t)64 << 20);
    struct weights weights;
    struct error err = {0};
    double began = cpu_seconds();
    int rc = weights_read(path, &options, arena, &weights, &err);
    double seconds = cpu_seconds() - began;

    if (rc != OK)
        fprintf(stderr, "%s\n", err.message);
    arena_close(arena);
    return rc == OK ? seconds : 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "make") == 0)
        return make(strtoul(argv[2], NULL, 10), argv[3]);
    if (argc == 4 && strcmp(argv[1], "shards") == 0)
        return make_shards(strtoul(argv[2], NULL, 10), argv[3]);
    if (argc == 4 && strcmp(argv[1], "norms") == 0) {
        size_t mib = strtoul(argv[3], NULL, 10);
        double seconds = strcmp(argv[2], "memory") == 0 ? norms_of_memory(mib)
                                                        : norms_of_file(argv[2]);

        printf("%.0f\n", seconds > 0 ? (double)mib / seconds : 0);
        return seconds > 0 ? 0 : 1;
    }
    fprintf(stderr, "bench_weights make|shards|norms …\n");
    return 2;
}
