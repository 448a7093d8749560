/* Building the double array, level by level over the sorted tokens. See trie.h. */
#include "core/text/tokenizer/trie.h"

#include <stdlib.h>

#define BLOCK      256u
#define MOST_NODES (UINT32_C(1) << 28)
#define ROOT_PARENT (UINT32_MAX - 1)   /* neither free nor a child, not even its own */
#define MOST_TRIES 64           /* free nodes looked at before a new block is taken */

struct key {
    const unsigned char *p;
    uint32_t n, id;
};

/* Tokens first … end share `depth` bytes, which lead to the node. */
struct span {
    uint32_t first, end, depth, node;
};

struct building {
    struct trie_node *nodes;
    uint32_t *next_free, *previous_free;        /* a ring through node 0 of all free nodes */
    uint64_t n_nodes;
    struct key *keys;
    struct span *spans;
    size_t n_spans, capacity;
    struct error *err;
};

static int by_bytes(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    uint32_t n = left->n < right->n ? left->n : right->n;
    int order = n ? memcmp(left->p, right->p, n) : 0;

    return order ? order : (left->n > right->n) - (left->n < right->n);
}

static int add_block(struct building *building)
{
    uint64_t n = building->n_nodes + BLOCK;
    struct trie_node *nodes;
    uint32_t *next, *previous;

    if (n > MOST_NODES)
        return error_set(building->err, E_LIMIT, "vocabulary of more than %u letters", MOST_NODES);
    if (n > 2 * BLOCK && (building->n_nodes & (building->n_nodes - 1)) != 0) {
        nodes = building->nodes;
        next = building->next_free;
        previous = building->previous_free;
    } else {                            /* at powers of two the arrays double */
        nodes = realloc(building->nodes, 2 * n * sizeof *nodes);
        building->nodes = nodes ? nodes : building->nodes;
        next = realloc(building->next_free, 2 * n * sizeof *next);
        building->next_free = next ? next : building->next_free;
        previous = realloc(building->previous_free, 2 * n * sizeof *previous);
        building->previous_free = previous ? previous : building->previous_free;
        if (!nodes || !next || !previous)
            return error_set(building->err, E_NOMEM, "the trie of a vocabulary");
    }
    if (building->n_nodes == 0)
        next[0] = previous[0] = 0;
    for (uint32_t i = (uint32_t)building->n_nodes; i < n; i++) {
        nodes[i] = (struct trie_node){0, UINT32_MAX, TRIE_NO_ID};
        if (i == 0)
            continue;
        previous[i] = previous[0];
        next[i] = 0;
        next[previous[0]] = i;
        previous[0] = i;
    }
    building->n_nodes = n;
    return OK;
}

static void take_node(struct building *building, uint32_t node, uint32_t parent)
{
    building->next_free[building->previous_free[node]] = building->next_free[node];
    building->previous_free[building->next_free[node]] = building->previous_free[node];
    building->nodes[node].parent = parent;
}

static bool fits(const struct building *building, uint32_t base, const unsigned char *bytes,
                 unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if ((base ^ bytes[i]) == 0 || building->nodes[base ^ bytes[i]].parent != UINT32_MAX)
            return false;
    return true;
}

/* A base under which all children have free nodes. */
static int find_base(struct building *building, const unsigned char *bytes, unsigned n,
                     uint32_t *out)
{
    uint32_t node = building->previous_free[0];
    int rc;

    /* From the youngest block back: the old ones are full but for crumbs. */
    for (int i = 0; node != 0 && i < MOST_TRIES; i++, node = building->previous_free[node]) {
        if (fits(building, node ^ bytes[0], bytes, n)) {
            *out = node ^ bytes[0];
            return OK;
        }
    }
    *out = (uint32_t)building->n_nodes;
    rc = add_block(building);
    return rc;
}

static int push_span(struct building *building, struct span span)
{
    if (building->n_spans == building->capacity) {
        size_t capacity = building->capacity ? building->capacity * 2 : 256;
        struct span *spans = realloc(building->spans, capacity * sizeof *spans);

        if (!spans)
            return error_set(building->err, E_NOMEM, "the trie of a vocabulary");
        building->spans = spans;
        building->capacity = capacity;
    }
    building->spans[building->n_spans++] = span;
    return OK;
}

static int expand(struct building *building, struct span span)
{
    unsigned char bytes[256];
    uint32_t firsts[257];
    unsigned n = 0;
    uint32_t i = span.first;

    for (; i < span.end && building->keys[i].n == span.depth; i++)
        building->nodes[span.node].id = building->keys[i].id;
    for (; i < span.end; i++) {
        unsigned char c = building->keys[i].p[span.depth];

        if (n == 0 || bytes[n - 1] != c) {
            bytes[n] = c;
            firsts[n++] = i;
        }
    }
    if (n == 0)
        return OK;
    firsts[n] = span.end;

    uint32_t base;
    int rc = find_base(building, bytes, n, &base);

    if (rc != OK)
        return rc;
    building->nodes[span.node].base = base;
    for (unsigned k = 0; k < n; k++)
        take_node(building, base ^ bytes[k], span.node);
    for (unsigned k = n; rc == OK && k-- > 0;)
        rc = push_span(building, (struct span){firsts[k], firsts[k + 1], span.depth + 1,
                                               base ^ bytes[k]});
    return rc;
}

static int collect_keys(struct building *building, const struct vocab *vocab)
{
    building->keys = malloc((vocab->n_entries + 1) * sizeof *building->keys);
    if (!building->keys)
        return error_set(building->err, E_NOMEM, "the trie of a vocabulary");
    for (uint64_t i = 0; i < vocab->n_entries; i++) {
        struct str token = str_from(vocab->bytes + vocab->entries[i].at, vocab->entries[i].n);

        building->keys[i] = (struct key){(const unsigned char *)token.p, (uint32_t)token.n,
                                         (uint32_t)vocab_id(vocab, token)};
    }
    qsort(building->keys, vocab->n_entries, sizeof *building->keys, by_bytes);
    return OK;
}

int trie_build(struct trie *out, const struct vocab *vocab, struct error *err)
{
    struct building building = {.err = err};
    int rc = collect_keys(&building, vocab);

    if (rc == OK)
        rc = add_block(&building);
    if (rc == OK) {
        building.nodes[0].parent = ROOT_PARENT;
        rc = push_span(&building, (struct span){0, (uint32_t)vocab->n_entries, 0, 0});
    }
    while (rc == OK && building.n_spans)
        rc = expand(&building, building.spans[--building.n_spans]);
    free(building.keys);
    free(building.spans);
    free(building.next_free);
    free(building.previous_free);
    if (rc == OK)
        *out = (struct trie){building.nodes, building.n_nodes};
    else
        free(building.nodes);
    return rc;
}

void trie_free(struct trie *trie)
{
    free(trie->nodes);
    *trie = (struct trie){0};
}
