/* Numbers for hashes. See leaks_parts.h. */
#include <stdlib.h>
#include <string.h>

#include "core/facts/leaks_parts.h"

void id_map_free(struct id_map *map)
{
    free(map->keys);
    free(map->slots);
    *map = (struct id_map){0};
}

/* Where the key stands or may be put. The keys are hashes already. */
static size_t slot_of(const struct id_map *map, uint64_t key)
{
    size_t at = (size_t)(key ^ key >> 32) & (map->n_slots - 1);

    while (map->slots[at] && map->keys[map->slots[at] - 1] != key)
        at = (at + 1) & (map->n_slots - 1);
    return at;
}

static int grow(struct id_map *map, struct error *err)
{
    size_t n = map->n_slots ? map->n_slots * 2 : 256;
    uint32_t *slots = calloc(n, sizeof *slots);
    uint64_t *keys = realloc(map->keys, n / 2 * sizeof *keys);

    if (keys)
        map->keys = keys;
    if (!slots || !keys || n > UINT32_MAX) {
        free(slots);
        return error_set(err, E_NOMEM, "no memory for %zu rows", map->n);
    }
    free(map->slots);
    map->slots = slots;
    map->n_slots = n;
    map->capacity = n / 2;
    for (size_t i = 0; i < map->n; i++)
        map->slots[slot_of(map, map->keys[i])] = (uint32_t)i + 1;
    return OK;
}

int id_map_add(struct id_map *map, uint64_t key, uint32_t *id, bool *is_new, struct error *err)
{
    int rc = map->n < map->capacity ? OK : grow(map, err);

    if (rc != OK)
        return rc;
    size_t at = slot_of(map, key);
    *is_new = map->slots[at] == 0;
    if (*is_new) {
        map->keys[map->n++] = key;
        map->slots[at] = (uint32_t)map->n;
    }
    *id = map->slots[at] - 1;
    return OK;
}

bool id_map_find(const struct id_map *map, uint64_t key, uint32_t *id)
{
    size_t at = map->n ? slot_of(map, key) : 0;

    if (!map->n || !map->slots[at])
        return false;
    *id = map->slots[at] - 1;
    return true;
}
