/* See dataset_shards.h. */
#include "core/facts/dataset_shards.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/facts/facts_cache.h"

enum { MAX_SHARDS = 100000, MAX_DIGITS = 9 };

static size_t digits_of(const char *text)
{
    return strspn(text, "0123456789");
}

/* "-00000-of-00004", at the last place where it stands. */
bool shard_name_read(const char *name, struct shard_name *out)
{
    for (const char *of = name; (of = strstr(of, "of")); of++) {
        const char *end = of, *begin;
        size_t n = digits_of(of + 3);

        if (of == name || (of[-1] != '-' && of[-1] != '_') || of[2] != of[-1] || n == 0 ||
            n > MAX_DIGITS)
            continue;
        for (begin = --end; begin > name && begin[-1] >= '0' && begin[-1] <= '9'; begin--)
            ;
        if (begin == end || begin == name || (begin[-1] != '-' && begin[-1] != '_') ||
            !number_parse_int(str_from(begin, (size_t)(end - begin)), &out->index) ||
            !number_parse_int(str_from(of + 3, n), &out->total) || out->total > MAX_SHARDS)
            continue;
        out->stem = (size_t)(begin - 1 - name);
        return true;
    }
    return false;
}

static const char *name_of(const struct source *source)
{
    const char *slash = strrchr(source->path, '/');

    return slash ? slash + 1 : source->path;
}

/* Up to the number the paths are the same, and they count to the same total. */
static bool is_beside(const struct source *a, const struct shard_name *in_a, const struct source *b,
                      struct shard_name *in_b)
{
    size_t n = (size_t)(name_of(a) - a->path) + in_a->stem;

    return shard_name_read(name_of(b), in_b) && in_b->total == in_a->total &&
           in_b->stem == in_a->stem && strncmp(a->path, b->path, n) == 0;
}

static int by_index(const void *a, const void *b)
{
    const struct shard *x = a, *y = b;

    return x->index < y->index ? -1 : x->index > y->index;
}

bool shard_set_of(const struct run_facts *facts, const struct dataset *dataset, struct arena *arena,
                  struct shard_set *out)
{
    const struct source *source = facts_source(facts, dataset->source_id);
    struct shard_name own, other;

    if (!source || !shard_name_read(name_of(source), &own))
        return false;
    struct shard *shards = arena_array(arena, facts->n_datasets + 1, sizeof *shards);
    if (!shards)
        return false;
    *out = (struct shard_set){.shards = shards, .total = own.total};
    for (size_t i = 0; i < facts->n_datasets; i++) {
        const struct source *s = facts_source(facts, facts->datasets[i].source_id);

        if (s && is_beside(source, &own, s, &other))
            shards[out->n++] = (struct shard){.dataset = &facts->datasets[i], .index = other.index};
    }
    if (out->n)
        qsort(shards, out->n, sizeof *shards, by_index);
    for (size_t i = 0; i < out->n; i++) {
        shards[i].first_row = out->n_rows;
        out->n_rows += shards[i].dataset->n_rows > 0 ? shards[i].dataset->n_rows : 0;
    }
    out->is_whole = (int64_t)out->n == own.total;
    return true;
}

const struct shard *shard_of_row(const struct shard_set *set, int64_t row)
{
    const struct shard *found = NULL;

    if (row < 0 || row >= set->n_rows)
        return NULL;
    for (size_t i = 0; i < set->n; i++)
        if (set->shards[i].first_row <= row)
            found = &set->shards[i];
    return found;
}
