/* The rows of a dataset, loaded when a check asks for them, with the numbers of their audit. */
#include "core/facts/audit_parts.h"
#include "core/facts/facts_cache.h"
#include "core/store/store.h"

static const struct sample *samples_from_memory(const struct facts_memory *memory, int64_t id,
                                                size_t *n)
{
    for (size_t i = 0; i < memory->n_sample_sets; i++)
        if (memory->samples[i].dataset_id == id) {
            *n = memory->samples[i].n;
            return memory->samples[i].samples;
        }
    return NULL;
}

static bool load(const struct run_facts *facts, const struct dataset *dataset,
                 struct facts_sample_list *list)
{
    struct facts_cache *cache = facts->cache;
    struct error err;

    if (cache->memory) {
        list->samples = samples_from_memory(cache->memory, dataset->id, &list->n);
        return list->samples != NULL;
    }
    if (store_samples(cache->store, dataset->id, cache->arena, &list->samples, &list->n, &err) !=
        OK) {
        facts_fail(facts, &err);
        return false;
    }
    return true;
}

const struct sample *facts_samples(const struct run_facts *facts, const struct dataset *dataset,
                                   size_t *n)
{
    struct facts_cache *cache = facts->cache;

    *n = 0;
    if (!dataset)
        return NULL;
    for (struct facts_sample_list *known = cache->samples; known; known = known->next)
        if (known->dataset_id == dataset->id) {
            *n = known->n;
            return known->samples;
        }
    struct facts_sample_list *list = arena_alloc(cache->arena, sizeof *list);
    if (!list || !load(facts, dataset, list))
        return NULL;
    list->samples = audit_samples(facts, dataset, list->samples, list->n);
    list->dataset_id = dataset->id;
    list->next = cache->samples;
    cache->samples = list;
    *n = list->n;
    return list->samples;
}
