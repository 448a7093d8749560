/* Rows of one family, over all rows of training and of the test sets: what a split has to keep
 * together where no column tells it. Rows are joined at Jaccard LEAK_CLUSTER_JACCARD, and what is
 * joined to one of them. Made when it is asked for, not kept. */
#ifndef CORE_FACTS_LEAKS_CLUSTERS_H
#define CORE_FACTS_LEAKS_CLUSTERS_H

#include "core/facts/leaks.h"

struct leak_clusters {
    uint32_t *of; /* of each row: the first row of its cluster; itself when it is alone */
    size_t
        n; /* rows, counted through the training files, then through the others, in their order */
};
void leak_clusters_free(struct leak_clusters *clusters);
/* E_NOTFOUND, when there is nothing to compare; E_LIMIT, when the rows are more than memory holds.
 */
MUST_CHECK int leak_clusters_find(const struct run_facts *facts, struct leak_clusters *out,
                                  struct error *err);

#endif
