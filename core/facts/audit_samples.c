/* The numbers of an audit put in the place of estimated ones, so that every check that asks for the
 * rows of a data set or for token lengths works with what was counted. */
#include <string.h>

#include "core/facts/audit_parts.h"
#include "core/facts/facts_cache.h"

static const struct audit *audit_of(const struct run_facts *facts, const struct dataset *dataset)
{
    size_t n;
    const struct audit *const *audits = facts_audits(facts, &n);

    for (size_t i = 0; i < n; i++)
        if (audits[i]->dataset->id == dataset->id && audits[i]->rows)
            return audits[i];
    return NULL;
}

static void put_numbers(const struct audit *audit, const struct audit_row *row,
                        struct sample *sample)
{
    if (row->n_tokens < 0)
        return; /* refused: what was estimated stays, and says so */
    sample->n_tokens = row->n_tokens;
    sample->n_prompt_tokens = row->n_prompt;
    sample->flags &= ~(uint32_t)SAMPLE_ESTIMATED;
    if (!audit->assumption)
        sample->n_trained = row->n_trained;
}

const struct sample *audit_samples(const struct run_facts *facts, const struct dataset *dataset,
                                   const struct sample *samples, size_t n)
{
    const struct audit *audit = n > 0 ? audit_of(facts, dataset) : NULL;
    struct sample *own = audit ? arena_array(facts->cache->arena, n, sizeof *own) : NULL;
    size_t k = 0;

    if (!own)
        return samples;
    memcpy(own, samples, n * sizeof *own);
    for (int64_t i = 0; i < audit->n_rows && k < n; i++)
        if (!(audit->rows[i].flags & AUDIT_UNREADABLE)) /* the importer kept no row of these */
            put_numbers(audit, &audit->rows[i], &own[k++]);
    return own;
}
