/* `flatline facts`: the facts form of a data set (form.h), written from its files. Goes through the
 * training rows for their common text (once; two or three times where they fill more than 64 MiB and
 * may share one), through all rows for their facts, and through the files with candidates for their
 * texts. Rows are never all in memory; what is, form_common.h and form_pairs.h say. */
#ifndef CORE_FACTS_FORM_WRITE_H
#define CORE_FACTS_FORM_WRITE_H

#include "core/facts/form_pass.h"

struct form_data { /* the files of one split, in their order */
    const char *split;
    const char *const *paths;
    size_t n_paths;
};

struct form_options {
    const struct form_data *data; /* "train" first */
    size_t n_data;
    const char *folder, *version, *made_by;
    bool force;                        /* over facts that are there */
    const struct tokenizer *tokenizer; /* NULL: n_tokens is null */
    int n_threads;                     /* below 1: as many as the machine has */
    size_t part_bytes, pairs_memory;   /* 0: the usual; for tests */
    struct form_hooks hooks;
};

struct form_written {
    int64_t n_rows, n_unreadable, n_candidates;
    size_t n_crowded, n_prefix, n_suffix;
};

/* E_IO, E_PARSE with the file that cannot be read to its end, E_NOMEM, E_LIMIT, E_CANCELLED: then
 * nothing is left behind. */
MUST_CHECK int form_write(const struct form_options *options, struct form_written *out,
                          struct error *err);

#endif
