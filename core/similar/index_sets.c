/* Sets in blocks, which are given away where memory ends. See index_parts.h. */
#include <stdlib.h>

#include "core/similar/index_parts.h"

enum { BLOCK_ITEMS = 1 << 15 };

void set_list_free(struct set_list *list)
{
    for (size_t i = 0; i < list->n_blocks; i++)
        free(list->blocks[i].items);
    free(list->blocks);
    free(list->places);
    *list = (struct set_list){0};
}

static int no_memory(struct error *err)
{
    return error_set(err, E_NOMEM, "no memory for the shingles of rows");
}

static int make_room(struct set_list *list, struct error *err)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 256;
        struct set_place *places = realloc(list->places, capacity * sizeof *places);

        if (!places)
            return no_memory(err);
        list->places = places;
        list->capacity = capacity;
    }
    if (list->n_blocks == list->blocks_capacity) {
        size_t capacity = list->blocks_capacity ? list->blocks_capacity * 2 : 16;
        struct set_block *blocks = realloc(list->blocks, capacity * sizeof *blocks);

        if (!blocks)
            return no_memory(err);
        list->blocks = blocks;
        list->blocks_capacity = capacity;
    }
    return OK;
}

static int give_away(struct set_list *list, const struct similar_spill *spill, struct error *err)
{
    uint32_t i = (uint32_t)(list->n_blocks - 1);
    struct set_block *block = &list->blocks[i];
    int rc = spill->put(spill->ctx, i, block->items, block->n * sizeof *block->items, err);

    if (rc != OK)
        return rc;
    free(block->items);
    block->items = NULL;
    list->n_held -= block->capacity * sizeof *block->items;
    list->is_spilled = true;
    return OK;
}

/* A full block goes as soon as the next one would not fit. */
static int new_block(struct set_list *list, const struct similar_options *options, size_t n,
                     struct error *err)
{
    size_t capacity = n > BLOCK_ITEMS ? n : BLOCK_ITEMS;
    size_t bytes = capacity * sizeof(uint64_t);
    /* Half is for what is built of the sets. */
    bool is_too_much = list->n_held + bytes + list->n * 64 > options->memory / 2;

    if (is_too_much && !options->spill)
        return error_set(err, E_LIMIT, "the shingles of %zu rows fill the memory of %zu MB",
                         list->n, options->memory >> 20);
    if (is_too_much && list->n_blocks && list->blocks[list->n_blocks - 1].items) {
        int rc = give_away(list, options->spill, err);

        if (rc != OK)
            return rc;
    }
    struct set_block *block = &list->blocks[list->n_blocks];
    *block = (struct set_block){.items = malloc(bytes), .capacity = capacity};
    if (!block->items)
        return no_memory(err);
    list->n_blocks++;
    list->n_held += bytes;
    return OK;
}

int set_list_add(struct set_list *list, const struct similar_options *options, const uint64_t *set,
                 size_t n, struct error *err)
{
    if (list->n >= UINT32_MAX - 1 || n >= UINT32_MAX)
        return error_set(err, E_LIMIT, "more rows than an index has numbers for");
    int rc = make_room(list, err);
    const struct set_block *last = list->n_blocks ? &list->blocks[list->n_blocks - 1] : NULL;
    if (rc == OK && (!last || last->capacity - last->n < n))
        rc = new_block(list, options, n, err);
    if (rc != OK)
        return rc;
    struct set_block *block = &list->blocks[list->n_blocks - 1];
    list->places[list->n++] = (struct set_place){
        .block = (uint32_t)(list->n_blocks - 1), .at = (uint32_t)block->n, .n = (uint32_t)n};
    if (n)
        memcpy(block->items + block->n, set, n * sizeof *set);
    block->n += n;
    list->n_items += n;
    list->longest = n > list->longest ? n : list->longest;
    return OK;
}

int set_list_get(const struct set_list *list, const struct similar_spill *spill,
                 struct similar_asker *asker, size_t row, const uint64_t **set, struct error *err)
{
    const struct set_place *place = &list->places[row];
    const struct set_block *block = &list->blocks[place->block];

    if (block->items) {
        *set = block->items + place->at;
        return OK;
    }
    if (asker->block_capacity < block->n) {
        uint64_t *grown = realloc(asker->block, block->n * sizeof *grown);

        if (!grown)
            return no_memory(err);
        asker->block = grown;
        asker->block_capacity = block->n;
        asker->block_number = UINT32_MAX;
    }
    if (asker->block_number != place->block) {
        int rc = spill->get(spill->ctx, place->block, asker->block, block->n * sizeof *asker->block,
                            err);

        if (rc != OK)
            return rc;
        asker->block_number = place->block;
    }
    *set = asker->block + place->at;
    return OK;
}
