/* Data sets that lie in several files: train-00000-of-00004.parquet and its like are one set, whose rows
 * are numbered through in the order of the shards. Each shard stays the data set that its file is; what is
 * asked of the whole is asked here. Shards that were not imported are not counted: is_whole says so. */
#ifndef CORE_FACTS_DATASET_SHARDS_H
#define CORE_FACTS_DATASET_SHARDS_H

#include "core/base/arena.h"
#include "core/facts/run_facts.h"

struct shard_name {
    size_t stem;            /* bytes before the number: "train" */
    int64_t index, total;   /* 0 of 4 */
};

struct shard {
    const struct dataset *dataset;
    int64_t index, first_row; /* of the whole set */
};

struct shard_set {
    const struct shard *shards; /* in the order of their numbers */
    size_t n;
    int64_t total, n_rows; /* n_rows: of those that are there */
    bool is_whole;
};

/* False: not the name of a shard. */
bool shard_name_read(const char *name, struct shard_name *out);
/* The set that a data set of the run is a shard of. False: it is none, or there is no memory. */
bool shard_set_of(const struct run_facts *facts, const struct dataset *dataset, struct arena *arena,
                  struct shard_set *out);
/* The shard that holds row `row` of the set; NULL: beyond its end. */
const struct shard *shard_of_row(const struct shard_set *set, int64_t row);

#endif
