/* Which process of a run of several wrote a file, by its path: "rank0.log", "metrics_rank1.jsonl",
 * "rank_1/metrics.csv", "train.log.rank3", "torchelastic_x/attempt_0/1/stdout.log". Reads names only.
 *
 * "lora_rank8" and "rank_16" are settings of other runs: that a number is that of a process is certain only
 * where its neighbour 0 exists, which the caller looks for. */
#ifndef CORE_FACTS_RANK_NAME_H
#define CORE_FACTS_RANK_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rank_name {
    int64_t rank;
    size_t at, n; /* its digits in the path */
};

/* The last such component of `path` behind its first `below` bytes. False: there is none. */
bool rank_name_find(const char *path, size_t below, struct rank_name *out);
/* Two paths that differ in the rank only: the folders before it are the same and, where it stands in the
 * name of a file, the rest of that name too. */
bool rank_names_are_beside(const char *a, const char *b);

#endif
