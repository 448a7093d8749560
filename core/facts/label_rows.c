/* Recorded label rows. See label_rows.h. */
#include "core/facts/label_rows.h"

#include <string.h>

void label_rows_read(const struct run_facts *facts, const char *split, struct label_rows *out)
{
    *out = (struct label_rows){.first_masked = NONE};
    for (size_t i = 0; i < facts->n_datasets && !out->dataset; i++) {
        const struct dataset *dataset = &facts->datasets[i];

        if (strcmp(dataset->form, "tokens") != 0 || strcmp(dataset->split, split) != 0)
            continue;

        size_t n;
        const struct sample *samples = facts_samples(facts, dataset, &n);

        for (size_t k = 0; k < n; k++) {
            if (samples[k].n_trained < 0)
                continue;
            out->n++;
            if (samples[k].n_trained > 0)
                continue;
            out->n_all_masked++;
            if (out->first_masked == NONE)
                out->first_masked = (int64_t)k;
        }
        if (out->n)
            out->dataset = dataset;
    }
}
