/* By which names the columns of a data set are read: what the run's settings and the trainer's own
 * description of its data say (dataset_text_field; columns and tags of LLaMA-Factory's dataset_info.json;
 * fields of axolotl's data sets; input_key and its like). What is not said keeps its usual name.
 * How rows are read with them is core/text/conversation.h's. */
#ifndef CORE_FACTS_DATA_COLUMNS_H
#define CORE_FACTS_DATA_COLUMNS_H

#include "core/facts/run_facts.h"
#include "core/text/conversation.h"

/* Texts live in the facts or in the arena. */
struct column_names data_columns_of(const struct run_facts *facts, const struct dataset *dataset,
                                    struct arena *arena);
uint64_t data_columns_hash(uint64_t hash, const struct column_names *names);

#endif
