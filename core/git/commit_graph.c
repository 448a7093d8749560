/* Reading a commit-graph file. See commit_graph.h.
 *
 * The file is mapped: git replaces it by a new one and never changes it in place. */
#include "core/git/commit_graph.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES  8u
#define ROW_BYTES     12u               /* of the table of chunks */
#define FAN_OUT_BYTES (256u * 4u)
#define DATA_BYTES    36u               /* of a commit */
#define NO_PARENT     0x70000000u
#define MORE_PARENTS  0x80000000u
#define MAX_BYTES     ((off_t)2 << 30)

struct commit_graph {
    const unsigned char *bytes;
    size_t n_bytes;
    const unsigned char *fan_out, *ids, *data;
    uint32_t n;
};

static uint32_t word(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t long_word(const unsigned char *p)
{
    return (uint64_t)word(p) << 32 | word(p + 4);
}

/* The chunk of that name when it has at least so many bytes, else NULL. */
static const unsigned char *chunk(const struct commit_graph *g, const char *name, uint64_t need)
{
    unsigned n_chunks = g->bytes[6];

    for (unsigned i = 0; i < n_chunks; i++) {
        const unsigned char *row = g->bytes + HEADER_BYTES + i * ROW_BYTES;
        uint64_t begin = long_word(row + 4), end = long_word(row + ROW_BYTES + 4);

        if (memcmp(row, name, 4) == 0)
            return begin <= end && end <= g->n_bytes && end - begin >= need ? g->bytes + begin : NULL;
    }
    return NULL;
}

static bool take_chunks(struct commit_graph *g)
{
    if (g->n_bytes < HEADER_BYTES || memcmp(g->bytes, "CGPH\1\1", 6) != 0 || g->bytes[7] != 0 ||
        g->n_bytes < HEADER_BYTES + (g->bytes[6] + 1u) * ROW_BYTES)
        return false;
    g->fan_out = chunk(g, "OIDF", FAN_OUT_BYTES);
    if (!g->fan_out)
        return false;
    g->n = word(g->fan_out + 255 * 4);
    g->ids = chunk(g, "OIDL", (uint64_t)g->n * GIT_ID_BYTES);
    g->data = chunk(g, "CDAT", (uint64_t)g->n * DATA_BYTES);
    return g->ids && g->data;
}

static void *map(const char *path, size_t *n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    void *bytes = MAP_FAILED;

    if (fd < 0)
        return MAP_FAILED;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size < MAX_BYTES) {
        *n = (size_t)st.st_size;
        bytes = mmap(NULL, *n, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    return bytes;
}

struct commit_graph *commit_graph_open(const char *objects_folder)
{
    struct commit_graph *graph = calloc(1, sizeof *graph);
    char path[4096];

    if (!graph)
        return NULL;
    snprintf(path, sizeof path, "%s/info/commit-graph", objects_folder);
    void *bytes = map(path, &graph->n_bytes);
    if (bytes == MAP_FAILED) {
        free(graph);
        return NULL;
    }
    graph->bytes = bytes;
    if (!take_chunks(graph)) {
        commit_graph_close(graph);
        return NULL;
    }
    return graph;
}

void commit_graph_close(struct commit_graph *graph)
{
    if (!graph)
        return;
    munmap((void *)(uintptr_t)graph->bytes, graph->n_bytes);
    free(graph);
}

/* The place in the list, or graph->n. */
static uint32_t place_of(const struct commit_graph *g, const struct git_id *id)
{
    uint32_t low = id->b[0] ? word(g->fan_out + (id->b[0] - 1) * 4) : 0;
    uint32_t high = word(g->fan_out + id->b[0] * 4);

    if (low > high || high > g->n)
        return g->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int c = memcmp(g->ids + (size_t)middle * GIT_ID_BYTES, id->b, GIT_ID_BYTES);

        if (c == 0)
            return middle;
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return g->n;
}

static bool take_parent(const struct commit_graph *g, uint32_t place, struct graph_commit *out)
{
    if (place == NO_PARENT)
        return true;
    if (place >= g->n)
        return false;
    memcpy(out->parents[out->n_parents++].b, g->ids + (size_t)place * GIT_ID_BYTES, GIT_ID_BYTES);
    return true;
}

bool commit_graph_find(const struct commit_graph *graph, const struct git_id *id,
                       struct graph_commit *out)
{
    uint32_t place = place_of(graph, id);

    if (place == graph->n)
        return false;
    const unsigned char *row = graph->data + (size_t)place * DATA_BYTES;
    uint32_t second = word(row + 24);
    *out = (struct graph_commit){.time = (int64_t)((uint64_t)(word(row + 28) & 3) << 32 | word(row + 32))};
    memcpy(out->tree.b, row, GIT_ID_BYTES);
    return take_parent(graph, word(row + 20), out) &&
           ((second & MORE_PARENTS) == 0 && take_parent(graph, second, out));
}
